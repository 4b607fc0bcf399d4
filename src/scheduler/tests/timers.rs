//! Timers in the engine: they ring when due, also after a restart and on clocks that are set, and stop by themselves.

use super::*;
use tool::BusEvent;

/// The state of each timer, oldest first: `Pizza running 60`, with the seconds that are left.
fn states(life: &Life) -> Vec<String> {
    let now = life.clock.now().as_millisecond();
    let all = life.scheduler.timers().list(&life.cx()).unwrap();
    let one = |entry: &Entry<Timer>| {
        let timer = &entry.value;
        format!("{} {} {}", timer.name, timer.state.word(), timer.left_ms(now) / 1000)
    };
    all.iter().map(one).collect()
}

async fn until_states(life: &Life, wanted: &[&str]) {
    life.until(&format!("the timers are {wanted:?}"), |l| states(l) == wanted).await;
}

async fn set(life: &Life, name: &str, seconds: i64) -> Id {
    life.scheduler.timers().set(&life.cx(), None, name.into(), 1000 * seconds).await.unwrap().id
}

#[tokio::test]
async fn a_timer_rings_when_due_and_stops_by_itself_with_a_notice() {
    let life = Life::new().started();
    let mut heard = life.scheduler.0.ports.bus.listen(None);
    set(&life, "Pizza", 60).await;
    let paused = set(&life, "Tea", 30).await;
    let now = life.clock.now().as_millisecond();
    let pause = move |timer: &mut Timer| {
        timer.pause(now);
        Ok(())
    };
    life.scheduler.timers().change(&life.cx(), paused, pause).await.unwrap();
    life.forward(59);
    life.rest().await;
    assert_eq!(states(&life), ["Pizza running 1", "Tea paused 30"]);
    life.forward(1);
    until_states(&life, &["Pizza ringing 0", "Tea paused 30"]).await;
    life.forward(599);
    life.rest().await;
    assert_eq!(states(&life), ["Pizza ringing 0", "Tea paused 30"]);
    life.forward(1);
    until_states(&life, &["Tea paused 30"]).await;
    life.until("the person is told", |l| l.tools.called("notify").len() == 1).await;
    let mut seen = vec![];
    while seen.len() < 5 {
        match heard.next().await {
            Some(BusEvent::Event(event)) if event.topic == "timer" => {
                assert_eq!(event.to, None, "everybody hears it");
                seen.push(format!(
                    "{} {}",
                    event.data["name"].as_str().unwrap(),
                    event.data["state"].as_str().unwrap()
                ));
            }
            Some(_) => {}
            None => panic!("the bus is gone"),
        }
    }
    assert_eq!(seen, ["Pizza running", "Tea running", "Tea paused", "Pizza ringing", "Pizza ended"]);
}

#[tokio::test]
async fn a_timer_survives_a_restart_and_rings_at_once_when_it_is_late() {
    let store = Store::in_memory().unwrap();
    let clock = SetClock::new();
    let mut life = Life::over(&store, clock.clone(), Arc::default()).started();
    set(&life, "Pizza", 60).await;
    set(&life, "Roast", 7200).await;
    life.stop().await;
    clock.forward(300);
    let life = Life::over(&store, clock, Arc::default()).started();
    until_states(&life, &["Pizza ringing 0", "Roast running 6900"]).await;
    let pizza = life.scheduler.timers().list(&life.cx()).unwrap().remove(0);
    assert!(pizza.value.is_late());
    let view = life.scheduler.timers().view(&pizza, "ringing");
    assert_eq!((&view["endsAt"], &view["late"]), (&json!("2026-11-20T13:31:00Z"), &json!(true)));
}

#[tokio::test]
async fn a_timer_follows_elapsed_time_and_not_the_clock() {
    let life = Life::new().started();
    set(&life, "Pizza", 600).await;
    life.rest().await;
    // An hour back: ten minutes stay ten minutes.
    life.clock.set("2026-11-20T13:30:00+01:00[Europe/Vienna]");
    life.scheduler.0.changed.notify_one();
    until_states(&life, &["Pizza running 600"]).await;
    life.forward(600);
    until_states(&life, &["Pizza ringing 0"]).await;
}

#[tokio::test]
async fn a_clock_that_is_not_set_yet_lets_timers_run() {
    let store = Store::in_memory().unwrap();
    let clock = SetClock::new();
    let life = Life::over(&store, clock.clone(), Arc::default());
    set(&life, "Pizza", 600).await;
    let (newest, woke) = (life.clock.now().as_millisecond() + 60_000, 40_000);
    clock.set("1970-01-01T01:00:40+01:00[Europe/Vienna]");
    // As the engine does at a start: a minute of the ten had passed when Hob was last running.
    life.scheduler.load_timers(woke, newest, false).await.unwrap();
    assert_eq!(states(&life), ["Pizza running 540"]);
    // And a second start, before the clock is set, takes nothing off.
    life.scheduler.load_timers(woke, newest, false).await.unwrap();
    assert_eq!(states(&life), ["Pizza running 540"]);
}
