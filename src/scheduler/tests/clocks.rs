//! Clocks that are adjusted, stopped, or were never set; and due times that pass meanwhile.

use super::*;

/// The runs of a schedule every quarter of an hour after seventy minutes in which nothing could run.
async fn missed(policy: Missed) -> Vec<String> {
    let mut life = Life::new();
    let id = life.add_with("quarter", "every 15 minutes", "note", |new| new.missed = policy).await;
    life.forward(70 * 60);
    life.start();
    life.until("something is noted", |l| !l.runs(id).is_empty()).await;
    life.until("all is done", |l| {
        let schedule = l.get(id);
        schedule.running.is_none() && schedule.next_ms > Some(l.clock.now().as_millisecond())
    })
    .await;
    let noted = life.runs(id);
    life.forward(5 * 60);
    life.until("it goes on", |l| l.runs(id).len() > noted.len()).await;
    life.until("it is over", |l| l.get(id).running.is_none()).await;
    life.runs(id)
}

#[tokio::test]
async fn missed_times_are_made_up_for_as_the_schedule_says() {
    assert_eq!(missed(Missed::Once).await, ["ok@15:30 x4", "ok@15:45"]);
    assert_eq!(missed(Missed::Skip).await, ["missed@15:30 x4", "ok@15:45"]);
    assert_eq!(missed(Missed::All).await, ["ok@14:45", "ok@15:00", "ok@15:15", "ok@15:30", "ok@15:45"]);
}

#[tokio::test]
async fn a_short_absence_is_no_absence_and_a_long_one_has_limits() {
    let mut life = Life::new();
    let skip = life.add_with("skip", "every minute", "note", |new| new.missed = Missed::Skip).await;
    let once = life.add_with("once", "in 1 minute", "note", |new| new.missed = Missed::Skip).await;
    life.forward(90);
    life.start();
    // Half a minute late is still in time.
    life.until_runs(skip, &["ok@14:31"]).await;
    life.until_runs(once, &["ok@14:31"]).await;
    life.stop().await;
    let all = life.add_with("all", "every minute", "note", |new| new.missed = Missed::All).await;
    let gone = life.add_with("gone", "in 1 minute", "note", |new| new.missed = Missed::Skip).await;
    life.forward(300 * 60);
    life.start();
    life.until("the others are noted", |l| l.runs(all).first().is_some_and(|r| r == "missed@17:51:30 x200")).await;
    life.until("a hundred are made up for", |l| l.get(all).runs == 100 && l.get(all).running.is_none()).await;
    let made_up = life.runs(all);
    assert_eq!((&*made_up[0], &*made_up[99], made_up.len()), ("ok@17:52:30", "ok@19:31:30", 100));
    life.until_runs(gone, &["missed@14:32:30"]).await;
    let gone = life.get(gone);
    assert!(gone.is_over() && gone.last_status() == Some(Status::Missed));
}

#[tokio::test]
async fn a_clock_put_back_repeats_nothing_and_intervals_go_on() {
    let life = Life::new().started();
    let cron = life.add("cron", "* * * * *", "note").await;
    let every = life.add("every", "every 10 minutes", "note").await;
    for _ in 0..10 {
        life.pass(60, &[cron, every]).await;
    }
    assert_eq!((life.runs(cron).len(), life.runs(every)), (10, vec!["ok@14:40".to_owned()]));
    life.clock.set("2026-11-20T14:10:00+01:00[Europe/Vienna]");
    life.rest().await;
    assert_eq!(life.get(every).next_ms, Some(life.clock.now().as_millisecond() + 600_000), "ten minutes, as ever");
    for _ in 0..29 {
        life.pass(60, &[cron, every]).await;
    }
    life.rest().await;
    assert_eq!(life.runs(cron).len(), 10, "those minutes have had their runs");
    assert_eq!(life.runs(every).len(), 3, "the interval went on");
    life.forward(120);
    life.until("so does the pattern", |l| l.runs(cron).last().is_some_and(|run| run == "ok@14:41")).await;
    assert_eq!(life.runs(cron).len(), 11);
}

#[tokio::test]
async fn a_clock_that_was_hours_ahead_silences_nothing() {
    let life = Life::new().started();
    let often = life.add("often", "*/10 * * * *", "note").await;
    let daily = life.add("daily", "0 22 * * *", "note").await;
    life.forward(600);
    life.until("it runs", |l| l.runs(often) == ["ok@14:40"]).await;
    // Eight hours ahead, and corrected a minute later.
    life.clock.set("2026-11-20T22:40:00+01:00[Europe/Vienna]");
    life.rest().await;
    life.until("both run", |l| l.runs(often).len() == 2 && l.runs(daily).len() == 1).await;
    life.until("they are over", |l| [often, daily].iter().all(|id| l.get(*id).running.is_none())).await;
    life.clock.set("2026-11-20T14:41:00+01:00[Europe/Vienna]");
    life.rest().await;
    let at = |text: &str| Some(text.parse::<Timestamp>().unwrap().as_millisecond());
    life.until("the next one is in ten minutes", |l| l.get(often).next_ms == at("2026-11-20T14:50:00+01:00")).await;
    assert_eq!(life.get(daily).next_ms, at("2026-11-20T22:00:00+01:00"), "today at the right time");
    life.forward(600);
    life.until("it goes on", |l| l.runs(often).last().is_some_and(|run| run == "ok@14:50")).await;
}

#[tokio::test]
async fn a_clock_that_was_years_ahead_silences_nothing() {
    let life = Life::new().started();
    let daily = life.add("daily", "0 7 * * *", "note").await;
    life.clock.set("2031-03-01T06:59:00+01:00[Europe/Vienna]");
    life.rest().await;
    life.until_runs(daily, &["ok@07:00 x1000"]).await;
    life.forward(60);
    life.until("it ran in the future", |l| l.runs(daily).len() == 2).await;
    life.clock.set("2026-11-20T15:00:00+01:00[Europe/Vienna]");
    life.rest().await;
    let tomorrow = "2026-11-21T07:00:00+01:00".parse::<Timestamp>().unwrap().as_millisecond();
    life.until("it is planned for tomorrow", |l| l.get(daily).next_ms == Some(tomorrow)).await;
}

#[tokio::test]
async fn until_the_clock_is_set_only_intervals_run() {
    let mut life = Life::new();
    let cron = life.add("cron", "0 7 * * *", "note").await;
    let once = life.add("once", "tomorrow at 8:00", "note").await;
    let every = life.add("every", "every 10 minutes", "note").await;
    // It boots with an empty battery.
    life.clock.set("1970-01-01T01:00:10+01:00[Europe/Vienna]");
    life.start();
    life.rest().await;
    life.until("the interval is planned anew", |l| l.get(every).next_ms < Some(3_600_000)).await;
    life.forward(600);
    life.until("the interval runs", |l| l.runs(every).len() == 1).await;
    let timer = life.add("timer", "in 5 minutes", "note").await;
    life.forward(60);
    life.rest().await;
    assert_eq!((life.runs(cron).len(), life.runs(once).len()), (0, 0));
    // The network sets the clock a day and a half ahead.
    life.clock.set("2026-11-21T10:00:00+01:00[Europe/Vienna]");
    life.rest().await;
    life.until_runs(cron, &["ok@07:00"]).await;
    life.until_runs(once, &["ok@08:00"]).await;
    assert_eq!(life.runs(timer).len(), 0, "four minutes are left of it");
    life.forward(4 * 60);
    life.until("the timer rings", |l| l.runs(timer) == ["ok@10:04"]).await;
    life.forward(5 * 60);
    life.until("the interval goes on as it went", |l| l.runs(every).last().is_some_and(|run| run == "ok@10:09")).await;
    assert_eq!(life.runs(every).len(), 2);
}

#[tokio::test]
async fn patterns_are_those_of_the_zone_at_both_ends_of_summer() {
    let life = Life::new();
    life.clock.set("2026-10-24T12:00:00+02:00[Europe/Vienna]");
    let life = life.started();
    let at = life.add("at night", "30 2 * * *", "note").await;
    let often = life.add("often", "0,30 * * * *", "note").await;
    for _ in 0..36 {
        life.pass(1800, &[at, often]).await;
    }
    assert_eq!(life.runs(often).len(), 36);
    assert_eq!(life.runs(at), ["ok@02:30"], "it came twice on the wall");
}

#[tokio::test]
async fn what_is_going_on_when_the_clock_is_put_back_is_not_begun_again() {
    let life = Life::new().started();
    let id = life.add("slow", "* * * * *", "slow").await;
    life.forward(60);
    life.until("it runs", |l| l.tools.called("slow").len() == 1).await;
    life.clock.set("2026-11-20T14:29:30+01:00[Europe/Vienna]");
    life.rest().await;
    life.tools.gate.add_permits(1);
    life.until_runs(id, &["ok@14:31"]).await;
    life.forward(120);
    life.rest().await;
    assert_eq!(life.runs(id), ["ok@14:31"], "14:30 and 14:31 have passed before");
    life.forward(30);
    life.until("it goes on", |l| l.runs(id) == ["ok@14:31", "started@14:32"]).await;
}
