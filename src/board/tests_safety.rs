//! Tests of what the board does at a start, at a stop, and when a driver fails.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn pin(n: u8) -> Pin {
    Pin::try_from(i64::from(n)).unwrap()
}

fn settings(change: impl FnOnce(&mut PinSettings)) -> PinSettings {
    let mut settings = PinSettings::default();
    change(&mut settings);
    settings
}

/// The calls of a driver, and how it answers them.
#[derive(Default)]
struct Told {
    levels: BTreeMap<Pin, bool>,
    held: BTreeMap<Pin, bool>,
    writes: Vec<(Pin, bool)>,
    inputs: Vec<(Pin, Option<Pull>)>,
    /// Pins that another program holds.
    taken: BTreeSet<Pin>,
    lost: Vec<Pin>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Told>>);

impl Recorder {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap()
    }
    fn pins(&self) -> Pins {
        let alarm = Arc::<Alarm>::default();
        let tracker = Arc::new(Tracker::new(alarm.clone()));
        Pins::new(Some(Box::new(self.clone())), "test".into(), &PinsConfig::default(), tracker, alarm)
    }
}

impl Driver for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
    fn has(&self, _: Pin) -> bool {
        true
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        Ok(self.told().levels.get(&pin).copied().unwrap_or_default())
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        let mut told = self.told();
        told.levels.insert(pin, high);
        told.writes.push((pin, high));
        Ok(())
    }
    fn input(&mut self, pin: Pin, pull: Option<Pull>) -> Result<bool> {
        let mut told = self.told();
        if told.taken.contains(&pin) {
            return Err(Error::Failed { pin, what: "busy".into() });
        }
        told.inputs.push((pin, pull));
        Ok(true)
    }
    fn direction(&mut self, _: Pin) -> Option<Direction> {
        Some(Direction::Input)
    }
    fn lost(&mut self) -> Vec<Pin> {
        std::mem::take(&mut self.told().lost)
    }
    fn hold(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.told().held.insert(pin, high);
        self.write(pin, high)
    }
    fn buses(&self) -> Arc<dyn Buses> {
        Arc::new(buses::LinuxBuses)
    }
}

#[tokio::test]
async fn a_stop_ends_a_pulse() {
    let board = Board::open(BoardKind::Sim);
    let mut driver = sim::Sim::over(board.simulator().unwrap());
    board.pulse(pin(5), Duration::from_secs(3000)).await.unwrap();
    board.write(pin(6), true).await.unwrap();
    let limited = settings(|s| (s.max_on, s.fail_safe) = (Some(Duration::from_secs(3000)), Some(Rest::Keep)));
    board.configure(pin(7), limited).unwrap();
    board.write(pin(7), true).await.unwrap();
    assert!(driver.read(pin(5)).unwrap() && driver.read(pin(6)).unwrap() && driver.read(pin(7)).unwrap());
    board.fail_safe();
    assert!(!driver.read(pin(5)).unwrap(), "nobody would end the pulse");
    assert!(driver.read(pin(6)).unwrap(), "a plain pin stays as it is");
    assert!(!driver.read(pin(7)).unwrap(), "nobody would end its time");
}

#[test]
fn a_state_that_is_to_be_kept_is_held() {
    let recorder = Recorder::default();
    let mut pins = recorder.pins();
    pins.configure(pin(5), settings(|s| s.fail_safe = Some(Rest::Keep))).unwrap();
    pins.configure(pin(6), settings(|s| (s.fail_safe, s.active_low) = (Some(Rest::Keep), true))).unwrap();
    for (n, high) in [(4, true), (5, true), (6, true)] {
        pins.write(pin(n), high).unwrap();
    }
    pins.fail_safe();
    let held: Vec<(u8, bool)> = recorder.told().held.iter().map(|(pin, high)| (pin.number(), *high)).collect();
    assert_eq!(held, [(5, true), (6, false)], "at their electrical levels; without a setting the driver decides");
}

#[test]
fn a_start_switches_off_before_it_switches_on() {
    let recorder = Recorder::default();
    let mut pins = recorder.pins();
    let locked = |rest| settings(|s| (s.interlock, s.boot) = ("shutter".into(), Some(rest)));
    pins.configure(pin(5), locked(Rest::On)).unwrap();
    pins.configure(pin(6), locked(Rest::Off)).unwrap();
    // An earlier run left it on.
    recorder.told().levels.insert(pin(6), true);
    pins.boot();
    assert_eq!(recorder.told().writes, [(pin(6), false), (pin(5), true)]);
}

#[test]
fn settings_that_the_driver_refused_are_tried_again() {
    let recorder = Recorder::default();
    let mut pins = recorder.pins();
    let button = || settings(|s| (s.direction, s.pull) = (Some(Direction::Input), Some(Pull::Up)));
    recorder.told().taken.insert(pin(4));
    assert!(matches!(pins.configure(pin(4), button()), Err(Error::Failed { .. })));
    assert!(matches!(pins.configure(pin(4), button()), Err(Error::Failed { .. })), "it is not said to hold");
    assert!(!pins.is_watched(pin(4)));
    recorder.told().taken.clear();
    pins.configure(pin(4), button()).unwrap();
    pins.configure(pin(4), button()).unwrap();
    assert_eq!(recorder.told().inputs, [(pin(4), Some(Pull::Up))], "and once it holds, not again");
    assert!(pins.is_watched(pin(4)));
}

#[test]
fn a_line_whose_edges_stopped_is_read_and_later_watched_again() {
    let recorder = Recorder::default();
    let mut pins = recorder.pins();
    pins.configure(pin(4), settings(|s| s.direction = Some(Direction::Input))).unwrap();
    let now = Instant::now();
    assert!(pins.is_watched(pin(4)) && !pins.read_at(pin(4), now).unwrap().high);
    recorder.told().lost.push(pin(4));
    assert!(!pins.is_watched(pin(4)) && !pins.watch(pin(4)), "it has to be read");
    // A level that is read is reported: the board does not stay with the last edge.
    recorder.told().levels.insert(pin(4), true);
    assert!(pins.read_at(pin(4), now).unwrap().high);
    assert_eq!((pins.last_reported(pin(4)), recorder.told().inputs.len()), (Some(true), 1));
    // The first attempt fails, the next one does not.
    recorder.told().taken.insert(pin(4));
    pins.read_at(pin(4), now + Duration::from_secs(11)).unwrap();
    assert!(!pins.is_watched(pin(4)));
    recorder.told().taken.clear();
    pins.read_at(pin(4), now + Duration::from_secs(12)).unwrap();
    assert!(!pins.is_watched(pin(4)), "not at once");
    pins.read_at(pin(4), now + Duration::from_secs(30)).unwrap();
    assert!(pins.is_watched(pin(4)) && recorder.told().inputs.len() == 2);
}
