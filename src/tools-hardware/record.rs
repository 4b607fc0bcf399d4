//! The stored record of a pin: its name and its settings.

use board::{Direction, Pin, PinKind, PinTable, Pull, Rest};
use serde::{Deserialize, Serialize};
use store::{Key, Level as Reach, Record, order};

pub(crate) const BY_PIN: u8 = 1;
pub(crate) const BY_NAME: u8 = 2;

/// The name and settings of a pin. New fields go last; 0 is a setting that is not made, other choices begin at 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PinName {
    pub pin: u8,
    /// Empty where it has settings and no name.
    pub name: String,
    /// Whether it is only read, such as a door contact.
    pub sensor: bool,
    kind: u8,
    direction: u8,
    pull: u8,
    active_low: u8,
    boot: u8,
    fail_safe: u8,
    interlock_switches: u8,
    /// Times in milliseconds and hertz are stored as one more.
    debounce_ms: u32,
    long_press_ms: u32,
    double_press_ms: u32,
    max_on_seconds: u32,
    interlock: String,
    pwm_hertz: u32,
}

impl Record for PinName {
    const NAME: &'static str = "pin-names";
    const WORD: &'static str = "pin name";
    const LEVEL: Reach = Reach::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        if self.name.is_empty() { format!("pin {}", self.pin) } else { format!("{} (pin {})", self.name, self.pin) }
    }
    fn keys(&self) -> Vec<Key> {
        let by_name = (!self.name.is_empty()).then(|| Key::unique(BY_NAME, order::text(&self.name)));
        [Key::unique(BY_PIN, [self.pin])].into_iter().chain(by_name).collect()
    }
}

const KINDS: [PinKind; 9] = [
    PinKind::Light,
    PinKind::Switch,
    PinKind::Fan,
    PinKind::Cover,
    PinKind::Lock,
    PinKind::Alarm,
    PinKind::Contact,
    PinKind::Sensor,
    PinKind::Button,
];
const DIRECTIONS: [Direction; 2] = [Direction::Input, Direction::Output];
const PULLS: [Pull; 3] = [Pull::Off, Pull::Up, Pull::Down];
const RESTS: [Rest; 3] = [Rest::Keep, Rest::Off, Rest::On];
const ANSWERS: [bool; 2] = [false, true];

fn code<T: PartialEq + Copy>(all: &[T], value: Option<T>) -> u8 {
    value.and_then(|value| all.iter().position(|one| *one == value)).map_or(0, |at| at as u8 + 1)
}

fn of<T: Copy>(all: &[T], code: u8) -> Option<T> {
    all.get(usize::from(code.checked_sub(1)?)).copied()
}

/// Whether a name is that of something that lets somebody in, or water or gas out: "garage door", and not "garage door lamp".
fn is_door(name: &str) -> bool {
    const DOORS: &[&str] = &["door", "gate", "garage", "lock", "latch", "strike", "deadbolt", "valve"];
    const OTHERS: &[&str] = &[
        "lamp", "light", "lantern", "bulb", "led", "fan", "socket", "plug", "outlet", "heater", "heating", "radiator",
        "pump", "bell", "doorbell", "chime", "flasher", "siren", "camera", "radio", "speaker", "sensor", "contact",
        "button",
    ];
    let name = name.to_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).map(|word| word.strip_suffix('s').unwrap_or(word)).collect();
    let door = |word: &&str| DOORS.contains(word) || word.ends_with("door") || word.ends_with("doorlock");
    words.iter().any(door) && !words.iter().any(|word| OTHERS.contains(word))
}

impl PinName {
    pub fn new(pin: u8, name: &str, sensor: bool) -> Self {
        Self { pin, name: name.to_owned(), sensor, ..Self::default() }
    }

    /// The same pin under another name.
    pub fn renamed(self, name: &str, sensor: bool) -> Self {
        Self { name: name.to_owned(), sensor, ..self }
    }

    /// The same pin, not only read.
    pub fn driven(self) -> Self {
        Self { sensor: false, ..self }
    }

    /// A pin of hob.toml.
    pub fn of_file(name: &str, table: &PinTable) -> Self {
        Self { name: name.to_owned(), ..Self::default() }.with(table)
    }

    /// The level that opens, unlocks or disarms something: that of its kind. Without a kind its name says whether it is a door.
    pub fn opens_at(&self) -> Option<bool> {
        match self.kind() {
            Some(kind) => kind.opens_at(),
            None => {
                (!self.sensor && self.direction != code(&DIRECTIONS, Some(Direction::Input)) && is_door(&self.name))
                    .then_some(true)
            }
        }
    }

    /// The settings that are made.
    pub fn table(&self) -> Option<PinTable> {
        let ms = |stored: u32| stored.checked_sub(1);
        Some(PinTable {
            pin: Pin::new(self.pin.into())?,
            kind: of(&KINDS, self.kind),
            direction: of(&DIRECTIONS, self.direction),
            pull: of(&PULLS, self.pull),
            debounce_ms: ms(self.debounce_ms),
            active_low: of(&ANSWERS, self.active_low),
            boot: of(&RESTS, self.boot),
            fail_safe: of(&RESTS, self.fail_safe),
            max_on_seconds: Some(self.max_on_seconds).filter(|seconds| *seconds > 0),
            interlock: Some(self.interlock.clone()).filter(|group| !group.is_empty()),
            interlock_switches: of(&ANSWERS, self.interlock_switches),
            long_press_ms: ms(self.long_press_ms),
            double_press_ms: ms(self.double_press_ms),
            pwm_hertz: ms(self.pwm_hertz),
        })
    }

    /// The same pin with these settings.
    pub fn with(self, table: &PinTable) -> Self {
        let ms = |given: Option<u32>| given.map_or(0, |ms| ms.saturating_add(1));
        let reads = table.kind.map(PinKind::is_input).or(table.direction.map(|one| one == Direction::Input));
        Self {
            pin: table.pin.number(),
            name: self.name,
            sensor: reads.unwrap_or(self.sensor),
            kind: code(&KINDS, table.kind),
            direction: code(&DIRECTIONS, table.direction),
            pull: code(&PULLS, table.pull),
            active_low: code(&ANSWERS, table.active_low),
            boot: code(&RESTS, table.boot),
            fail_safe: code(&RESTS, table.fail_safe),
            interlock_switches: code(&ANSWERS, table.interlock_switches),
            debounce_ms: ms(table.debounce_ms),
            long_press_ms: ms(table.long_press_ms),
            double_press_ms: ms(table.double_press_ms),
            max_on_seconds: table.max_on_seconds.unwrap_or_default(),
            interlock: table.interlock.clone().unwrap_or_default(),
            pwm_hertz: ms(table.pwm_hertz),
        }
    }

    /// At how many hertz it is dimmed, if it is.
    pub fn dims(&self) -> Option<u32> {
        self.pwm_hertz.checked_sub(1).filter(|hertz| *hertz > 0)
    }

    /// Whether it has settings beside its name.
    pub fn has_settings(&self) -> bool {
        let bare = Self::new(self.pin, &self.name, self.sensor);
        *self != bare
    }

    pub fn kind(&self) -> Option<PinKind> {
        of(&KINDS, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_stored_and_read() {
        let table = PinTable {
            kind: Some(PinKind::Button),
            direction: Some(Direction::Input),
            pull: Some(Pull::Up),
            debounce_ms: Some(0),
            active_low: Some(true),
            boot: Some(Rest::Keep),
            fail_safe: Some(Rest::Off),
            max_on_seconds: Some(30),
            interlock: Some("gate".into()),
            interlock_switches: Some(false),
            long_press_ms: Some(900),
            double_press_ms: Some(0),
            pwm_hertz: Some(800),
            ..PinTable::new(Pin::new(4).unwrap())
        };
        let record = PinName::new(4, "Bell", false).with(&table);
        assert_eq!((record.table().unwrap(), record.sensor, record.has_settings()), (table, true, true));
        assert!(!PinName::new(4, "Bell", true).has_settings());
        for kind in KINDS {
            let table = PinTable { kind: Some(kind), ..PinTable::new(Pin::new(5).unwrap()) };
            assert_eq!(PinName::default().with(&table).kind(), Some(kind));
        }
    }

    #[tokio::test]
    async fn a_name_of_an_older_hob_is_read() {
        /// The record before it had settings.
        #[derive(Clone, Serialize, Deserialize)]
        struct Old {
            pin: u8,
            name: String,
            sensor: bool,
        }
        impl Record for Old {
            const NAME: &'static str = PinName::NAME;
            const WORD: &'static str = PinName::WORD;
            const LEVEL: Reach = Reach::Household;
        }
        let store = store::Store::in_memory().unwrap();
        let stamp = store::Stamp::household("test");
        let old = Old { pin: 4, name: "Door".into(), sensor: true };
        let stored = store.collection::<Old>().insert_as(stamp, old).await.unwrap();
        let read = store.collection::<PinName>().get_in(tool::Scope::Household, stored.id).unwrap().unwrap();
        assert_eq!(read.value, PinName::new(4, "Door", true));
    }

    #[test]
    fn a_name_without_a_kind_says_whether_it_is_a_door() {
        let table = |kind| PinTable { kind: Some(kind), ..PinTable::new(Pin::new(4).unwrap()) };
        for (name, sensor, opens) in [
            ("garage door", false, true),
            ("Front-door lock", false, true),
            ("GATE", false, true),
            ("frontdoor", false, true),
            ("water valve", false, true),
            ("garage door", true, false),
            ("garage lamp", false, false),
            ("garage door light", false, false),
            ("door bell", false, false),
            ("clock", false, false),
            ("hall lamp", false, false),
            ("", false, false),
        ] {
            let named = PinName::new(4, name, sensor);
            assert_eq!(named.opens_at(), opens.then_some(true), "{name} {sensor}");
            assert_eq!(named.clone().with(&table(PinKind::Switch)).opens_at(), None, "a person says otherwise: {name}");
            assert_eq!(named.with(&table(PinKind::Alarm)).opens_at(), Some(false));
        }
        let input = PinTable { direction: Some(Direction::Input), ..PinTable::new(Pin::new(4).unwrap()) };
        assert_eq!(PinName::new(4, "door", false).with(&input).opens_at(), None);
    }
}
