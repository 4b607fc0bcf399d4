//! Tests of the board with the simulated driver.

use super::*;
use tokio::sync::broadcast::error::TryRecvError;

fn pair(edge: Edge) -> (Pin, bool) {
    (edge.pin, edge.high)
}

fn pin(n: u8) -> Pin {
    Pin::try_from(i64::from(n)).unwrap()
}

#[tokio::test]
async fn a_written_pin_stays_driven_and_unset_pins_read_low() {
    let board = Board::open(BoardKind::Sim);
    assert_eq!(board.read(pin(17)).await.unwrap(), Level { pin: pin(17), high: false, driven: false, pwm: None });
    assert_eq!(board.write(pin(17), true).await.unwrap(), Level { pin: pin(17), high: true, driven: true, pwm: None });
    let other = board.clone();
    assert_eq!(other.read(pin(17)).await.unwrap(), Level { pin: pin(17), high: true, driven: true, pwm: None });
    let levels = other.levels().await.unwrap();
    assert_eq!(levels.len(), 28);
    assert_eq!(levels.iter().filter(|l| l.high).map(|l| l.pin).collect::<Vec<_>>(), [pin(17)]);
    assert_eq!(board.describe().driver, "sim");
    assert_eq!(board.describe().pins.len(), 28);
}

#[tokio::test]
async fn only_changes_are_told() {
    let board = Board::open(BoardKind::Sim);
    let mut changes = board.edges();
    board.levels().await.unwrap();
    for high in [false, true, true, false] {
        board.write(pin(4), high).await.unwrap();
        board.read(pin(4)).await.unwrap();
    }
    assert_eq!(changes.try_recv().map(pair), Ok((pin(4), true)));
    assert_eq!(changes.try_recv().map(pair), Ok((pin(4), false)));
    assert_eq!(changes.try_recv().map(pair), Err(TryRecvError::Empty));
}

#[tokio::test]
async fn without_a_driver_calls_say_why() {
    let board = Board::open(BoardKind::None);
    for error in [
        board.read(pin(1)).await.unwrap_err(),
        board.write(pin(1), true).await.unwrap_err(),
        board.levels().await.unwrap_err(),
    ] {
        assert!(matches!(&error, Error::NoDriver(why) if why.contains("--board none")), "{error}");
    }
    assert_eq!(board.describe().driver, "none");
    assert!(board.describe().pins.is_empty());
}

#[tokio::test]
async fn any_machine_opens() {
    let board = Board::open(BoardKind::Auto);
    let described = board.describe();
    assert!(!described.why.is_empty());
    assert_eq!(described.driver == "none", board.levels().await.is_err());
}

fn over(driver: Box<dyn Driver>) -> Board {
    let alarm = Arc::<Alarm>::default();
    let tracker = Arc::new(Tracker::new(alarm.clone()));
    Board::assemble(Some(driver), "test".into(), PinsConfig::default(), (alarm, tracker), None)
}

/// A driver whose second write fails and whose pin 5 belongs to somebody else.
struct Flaky(u8);
impl Driver for Flaky {
    fn name(&self) -> &'static str {
        "flaky"
    }
    fn has(&self, pin: Pin) -> bool {
        pin.number() < 8
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        if pin.number() == 5 { Err(Error::Failed { pin, what: "busy".into() }) } else { Ok(true) }
    }
    fn write(&mut self, pin: Pin, _: bool) -> Result<()> {
        self.0 += 1;
        if self.0 == 2 { Err(Error::Failed { pin, what: "gone".into() }) } else { Ok(()) }
    }
    fn input(&mut self, _: Pin, _: Option<Pull>) -> Result<bool> {
        Ok(false)
    }
    fn direction(&mut self, _: Pin) -> Option<Direction> {
        None
    }
    fn buses(&self) -> Arc<dyn Buses> {
        Arc::new(buses::LinuxBuses)
    }
}

#[tokio::test]
async fn what_fails_is_not_remembered_as_done() {
    let board = over(Box::new(Flaky(0)));
    let mut changes = board.edges();
    board.write(pin(1), true).await.unwrap();
    assert!(matches!(board.write(pin(2), true).await, Err(Error::Failed { .. })));
    assert_eq!(changes.try_recv().map(pair), Ok((pin(1), true)));
    assert_eq!(changes.try_recv().map(pair), Err(TryRecvError::Empty));
    assert!(matches!(board.write(pin(8), true).await, Err(Error::NoSuchPin(_))));
    let levels = board.levels().await.unwrap();
    assert_eq!(levels.iter().map(|l| l.pin.number()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6, 7]);
    assert_eq!(levels.iter().filter(|l| l.driven).map(|l| l.pin.number()).collect::<Vec<_>>(), [1]);
}

fn settings(change: impl FnOnce(&mut PinSettings)) -> PinSettings {
    let mut settings = PinSettings::default();
    change(&mut settings);
    settings
}

async fn next(edges: &mut broadcast::Receiver<Edge>) -> Edge {
    tokio::time::timeout(Duration::from_secs(20), edges.recv()).await.expect("an edge in time").unwrap()
}

#[tokio::test]
async fn edges_of_an_input_come_without_reading() {
    let board = Board::open(BoardKind::Sim);
    let sim = board.simulator().unwrap();
    board.configure(pin(4), settings(|s| s.direction = Some(Direction::Input))).unwrap();
    let mut edges = board.edges();
    sim.set(pin(4), true);
    let edge = next(&mut edges).await;
    assert_eq!((edge.pin, edge.high, edge.driven, edge.coalesced), (pin(4), true, false, 0));
    assert!(edges::now_ns() >= edge.at_ns && edge.wall.elapsed().unwrap() < Duration::from_secs(20));
    // Bounce ends at the other level, which is reported after the debounce time, by no call of anybody.
    sim.bounce(pin(4), false, 3);
    let edge = next(&mut edges).await;
    assert_eq!((edge.high, board.read(pin(4)).await.unwrap().high), (false, false));
    assert!(board.is_watched(pin(4)) && !board.is_watched(pin(5)));
    assert!(board.watch(pin(5)), "a free pin");
    assert!(!board.watch(pin(2)), "an I2C pin stays as it is");
    let why = board.write(pin(4), true).await.unwrap_err();
    assert!(matches!(&why, Error::Refused(text) if text.contains("is an input")), "{why}");
}

#[tokio::test]
async fn active_low_and_pull_up() {
    let board = Board::open(BoardKind::Sim);
    let sim = board.simulator().unwrap();
    let button = settings(|s| (s.direction, s.pull, s.active_low) = (Some(Direction::Input), Some(Pull::Up), true));
    board.configure(pin(4), button).unwrap();
    assert!(!board.read(pin(4)).await.unwrap().high, "released");
    let mut edges = board.edges();
    let held = std::thread::spawn(move || sim.press(pin(4), Duration::from_millis(30)));
    assert_eq!((next(&mut edges).await.high, next(&mut edges).await.high), (true, false));
    held.join().unwrap();
    board.configure(pin(5), settings(|s| s.active_low = true)).unwrap();
    board.write(pin(5), true).await.unwrap();
    let level = board.read(pin(5)).await.unwrap();
    assert!(level.high, "on is low at the pin");
}

#[tokio::test]
async fn a_flapping_line_is_coalesced_and_counted() {
    let board = Board::open(BoardKind::Sim);
    let sim = board.simulator().unwrap();
    board.configure(pin(4), settings(|s| s.direction = Some(Direction::Input))).unwrap();
    let mut edges = board.edges();
    let flapping = std::thread::spawn(move || sim.flap(pin(4), 10_000, Duration::from_millis(1500)));
    let (mut reported, mut coalesced) = (0, 0);
    while !flapping.is_finished() {
        if let Ok(Ok(edge)) = tokio::time::timeout(Duration::from_millis(50), edges.recv()).await {
            (reported, coalesced) = (reported + 1, coalesced + u64::from(edge.coalesced));
        }
    }
    let changes = flapping.join().unwrap();
    assert!(changes > 5_000, "only {changes} changes were simulated");
    assert!((10..200).contains(&reported), "{reported} of {changes} were reported");
    assert!(coalesced > changes / 2 && coalesced + reported <= changes, "{coalesced} of {changes} were counted");
}

#[tokio::test]
async fn two_pins_of_an_interlock_are_never_both_on() {
    let board = Board::open(BoardKind::Sim);
    let locked = |switches| settings(|s| (s.interlock, s.interlock_switches) = ("shutter".into(), switches));
    board.configure(pin(5), locked(false)).unwrap();
    board.configure(pin(6), locked(true)).unwrap();
    board.write(pin(6), true).await.unwrap();
    let why = board.write(pin(5), true).await.unwrap_err();
    assert!(matches!(&why, Error::Refused(text) if text.contains("pin 6 is on") && text.contains("shutter")), "{why}");
    let refused = board.pwm(pin(5), Wave::new(100.0, 50.0)).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "not by PWM either");
    board.write(pin(6), false).await.unwrap();
    board.write(pin(5), true).await.unwrap();
    let mut edges = board.edges();
    board.write(pin(6), true).await.unwrap();
    let order = [pair(edges.try_recv().unwrap()), pair(edges.try_recv().unwrap())];
    assert_eq!(order, [(pin(5), false), (pin(6), true)], "the first goes off before the second goes on");
}

#[tokio::test]
async fn a_switch_that_is_too_fast_leaves_the_others_of_its_interlock_alone() {
    let board = Board::open(BoardKind::Sim);
    let locked = || settings(|s| (s.interlock, s.interlock_switches) = ("shutter".into(), true));
    for high in [true, false].into_iter().cycle().take(60) {
        let _ = board.write(pin(6), high).await;
    }
    board.configure(pin(5), locked()).unwrap();
    board.configure(pin(6), locked()).unwrap();
    board.write(pin(5), true).await.unwrap();
    let refused = board.write(pin(6), true).await.unwrap_err();
    assert!(matches!(refused, Error::TooFast { .. }), "{refused}");
    let refused = board.pwm(pin(6), Wave::new(100.0, 50.0)).await;
    assert!(matches!(refused, Err(Error::TooFast { .. })));
    assert!(board.read(pin(5)).await.unwrap().high, "a refused call changes nothing");
}

#[tokio::test]
async fn neither_settings_nor_a_stop_bring_two_of_an_interlock_on() {
    let board = Board::open(BoardKind::Sim);
    let locked = |s: &mut PinSettings| (s.interlock, s.fail_safe) = ("shutter".into(), Some(Rest::On));
    let on = async |n: u8| board.read(pin(n)).await.unwrap().high;
    board.write(pin(5), true).await.unwrap();
    board.write(pin(6), true).await.unwrap();
    board.configure(pin(5), settings(locked)).unwrap();
    assert!(on(5).await && on(6).await);
    board.configure(pin(6), settings(locked)).unwrap();
    assert!(on(5).await && !on(6).await, "one that comes into the group goes off where another is on");
    board.fail_safe();
    assert!(on(5).await != on(6).await, "at a stop only one is on");
    board.write(pin(5), false).await.unwrap();
    board.write(pin(6), false).await.unwrap();
    board.fail_safe();
    assert!(on(5).await != on(6).await);
}

#[tokio::test]
async fn signals_are_no_way_around_the_rate() {
    let board = Board::open(BoardKind::Sim);
    let mut made = 0;
    for n in 0..60 {
        let percent = if n % 2 == 0 { 100.0 } else { 0.0 };
        made += usize::from(board.pwm(pin(17), Wave::new(1000.0, percent)).await.is_ok());
    }
    assert!(made < 60, "{made}");
    // Another brightness is no switch.
    for n in 1..60 {
        board.pwm(pin(12), Wave::new(1000.0, f64::from(n))).await.unwrap();
    }
}

#[tokio::test]
async fn the_board_itself_switches_off_after_the_longest_time() {
    let board = Board::open(BoardKind::Sim);
    let limit = Duration::from_millis(150);
    board.configure(pin(5), settings(|s| s.max_on = Some(limit))).unwrap();
    let mut edges = board.edges();
    let began = Instant::now();
    board.write(pin(5), true).await.unwrap();
    std::thread::sleep(Duration::from_millis(60));
    // Switching on again does not prolong it, and the caller has blocked its thread.
    board.write(pin(5), true).await.unwrap();
    assert_eq!(pair(next(&mut edges).await), (pin(5), true));
    assert_eq!(pair(next(&mut edges).await), (pin(5), false));
    assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
    assert!(!board.read(pin(5)).await.unwrap().high);
    board.pwm(pin(5), Wave::new(50.0, 7.5)).await.unwrap();
    assert_eq!(pair(next(&mut edges).await), (pin(5), true));
    assert_eq!(pair(next(&mut edges).await), (pin(5), false), "PWM is limited, too");
    assert_eq!(board.simulator().unwrap().wave(pin(5)), None);
}

#[tokio::test]
async fn boot_and_fail_safe_states_are_driven() {
    let board = Board::open(BoardKind::Sim);
    let sim = board.simulator().unwrap();
    board.configure(pin(5), settings(|s| s.boot = Some(Rest::On))).unwrap();
    board.configure(pin(6), settings(|s| s.max_on = Some(Duration::from_secs(60)))).unwrap();
    board.configure(pin(7), settings(|s| (s.boot, s.fail_safe) = (Some(Rest::Off), Some(Rest::On)))).unwrap();
    let on = async || -> Vec<u8> {
        let levels = board.levels().await.unwrap();
        levels.iter().filter(|level| level.high).map(|level| level.pin.number()).collect()
    };
    board.boot();
    assert_eq!(on().await, [5]);
    board.write(pin(6), true).await.unwrap();
    board.write(pin(8), true).await.unwrap();
    board.pwm(pin(12), Wave::new(1000.0, 30.0)).await.unwrap();
    board.fail_safe();
    assert_eq!(on().await, [5, 7, 8], "limited off, the one on, PWM ended, the plain ones as they are");
    board.write(pin(6), true).await.unwrap();
    drop(board);
    assert!(sim.clone().wave(pin(12)).is_none());
    let mut driver = sim_driver(&sim);
    assert!(!driver.read(pin(6)).unwrap(), "dropping the board drives them, too");
}

/// A second driver over the same simulated pins.
fn sim_driver(sim: &Simulator) -> sim::Sim {
    sim::Sim::over(sim.clone())
}

#[tokio::test]
async fn only_allowed_pins_are_driven() {
    let config = PinsConfig { allow: vec![pin(17)], ..PinsConfig::default() };
    let board = Board::with_config(BoardKind::Sim, config, &SimConfig::default());
    board.write(pin(17), true).await.unwrap();
    board.read(pin(18)).await.unwrap();
    for refused in [
        board.write(pin(18), true).await.unwrap_err(),
        board.pwm(pin(18), Wave::new(50.0, 5.0)).await.unwrap_err(),
        board.i2c(1, 0x48, vec![0], 2).await.unwrap_err(),
        board.spi(SpiTransfer { bus: 0, chip_select: 0, hertz: 1000, mode: 0, data: vec![1] }).await.unwrap_err(),
    ] {
        assert!(matches!(&refused, Error::Refused(text) if text.contains("`pins.allow`")), "{refused}");
    }
    assert_eq!(board.i2c_scan(1).await.unwrap(), [0x48, 0x50], "looking is free");
}

#[tokio::test]
async fn pwm_is_read_back_and_ended_by_a_write() {
    let board = Board::open(BoardKind::Sim);
    let wave = Wave::new(50.0, 7.5);
    assert_eq!((wave.period_ns, wave.on_ns, wave.percent()), (20_000_000, 1_500_000, 7.5));
    let (level, source) = board.pwm(pin(18), wave).await.unwrap();
    assert_eq!((level.pwm, level.high, source), (Some(wave), true, PwmSource::Simulated));
    assert_eq!(board.read(pin(18)).await.unwrap(), level);
    assert_eq!(board.write(pin(18), false).await.unwrap().pwm, None);
    assert_eq!(board.simulator().unwrap().wave(pin(18)), None);
    let flaky = over(Box::new(Flaky(0)));
    let why = flaky.pwm(pin(1), wave).await.unwrap_err();
    assert!(matches!(&why, Error::Unsupported(text) if text.contains("only switches lines")), "{why}");
}

#[tokio::test]
async fn a_scenario_is_followed() {
    let file = std::env::temp_dir().join(format!("hob-scenario-{}.txt", std::process::id()));
    std::fs::write(
        &file,
        "# a visitor
wait 50
high 4
nonsense
wait 20
low 4
temperature i2c 30",
    )
    .unwrap();
    let sim = SimConfig { scenario: file.to_str().unwrap().into() };
    let board = Board::with_config(BoardKind::Sim, PinsConfig::default(), &sim);
    let mut edges = board.edges();
    board.configure(pin(4), settings(|s| s.direction = Some(Direction::Input))).unwrap();
    // A late listener still sees the end of it.
    let mut last = next(&mut edges).await;
    while last.high {
        last = next(&mut edges).await;
    }
    let warm = async || board.i2c(1, 0x48, vec![0], 2).await.unwrap() == [30, 0];
    let began = Instant::now();
    while !warm().await && began.elapsed() < Duration::from_secs(20) {
        tokio::task::yield_now().await;
    }
    std::fs::remove_file(&file).unwrap();
    assert!(warm().await);
}

#[tokio::test]
async fn a_pulse_ends_by_itself_and_another_write_ends_it() {
    let board = Board::open(BoardKind::Sim);
    let mut edges = board.edges();
    board.pulse(pin(5), Duration::from_millis(50)).await.unwrap();
    assert_eq!([pair(next(&mut edges).await), pair(next(&mut edges).await)], [(pin(5), true), (pin(5), false)]);
    board.pulse(pin(5), Duration::from_millis(50)).await.unwrap();
    board.write(pin(5), true).await.unwrap();
    board.pulse(pin(6), Duration::from_millis(80)).await.unwrap();
    assert_eq!([pair(next(&mut edges).await), pair(next(&mut edges).await)], [(pin(5), true), (pin(6), true)]);
    assert_eq!(pair(next(&mut edges).await), (pin(6), false), "pin 5 was switched on for good");
    assert!(board.read(pin(5)).await.unwrap().high);
}
