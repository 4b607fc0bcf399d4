//! The parts of the home that rules look at: pins, their names, things, and where on Earth it is.

use board::{Board, BoardKind, Pin};
use futures::FutureExt;
use std::sync::Arc;
use text_kit::{join_and, truncate};
use things::{Address, Thing, Things};
use tool::prelude::*;

/// Returns the names of pins: number and name.
pub type PinNames = Arc<dyn Fn() -> Vec<(u8, String)> + Send + Sync>;
/// Returns latitude and longitude in degrees, where they are known.
pub type Place = Arc<dyn Fn() -> Option<(f64, f64)> + Send + Sync>;

/// The highest number of a pin.
const MAX_PIN: u8 = 27;
/// How many similar names an error lists.
const SIMILAR: usize = 5;

/// The home, as rules see it; cheap to clone.
#[derive(Clone)]
pub struct Home {
    /// Its pins.
    pub board: Board,
    /// Its things.
    pub things: Things,
    /// The names of pins.
    pub pins: PinNames,
    /// Its position.
    pub place: Place,
}

impl Default for Home {
    /// A home without pins, things and position.
    fn default() -> Self {
        let (board, things) = (Board::open(BoardKind::None), Things::default());
        Self { board, things, pins: Arc::new(Vec::new), place: Arc::new(|| None) }
    }
}

impl Home {
    /// The pin of a number (`17`, `"17"`, `"pin:17"`, `"GPIO17"`) or of a name.
    ///
    /// # Errors
    /// `BadArgs`, with the names that exist.
    pub(crate) fn pin(&self, which: &Value) -> Result<u8> {
        let wrong = |number: &dyn std::fmt::Display| {
            Error::bad_args(format!("there is no pin {number}: give a BCM number from 0 to {MAX_PIN}"))
        };
        if let Some(number) = which.as_i64() {
            return u8::try_from(number).ok().filter(|pin| *pin <= MAX_PIN).ok_or_else(|| wrong(&number));
        }
        let text = which.as_str().map(str::trim).unwrap_or_default();
        if text.is_empty() {
            return Err(Error::bad_args("name the pin: `\"pin\": 17`, or the name it has"));
        }
        let lower = text.to_lowercase();
        let digits = ["pin:", "pin ", "gpio ", "gpio"].iter().find_map(|lead| lower.strip_prefix(lead));
        if let Ok(number) = digits.unwrap_or(&lower).trim().parse::<i64>() {
            return u8::try_from(number).ok().filter(|pin| *pin <= MAX_PIN).ok_or_else(|| wrong(&number));
        }
        self.named_pin(text).ok_or_else(|| {
            let names: Vec<String> = (self.pins)().into_iter().map(|(pin, name)| format!("{name} ({pin})")).collect();
            let known = match names.is_empty() {
                true => "no pin has a name yet: give its number".to_owned(),
                false => format!("named pins are {}", join_and(&names[..names.len().min(SIMILAR)])),
            };
            Error::bad_args(format!("no pin is called “{}”: {known}", truncate(text, 40)))
        })
    }

    /// The pin of a name.
    pub(crate) fn named_pin(&self, name: &str) -> Option<u8> {
        let wanted = plain_name(name);
        let named = (self.pins)().into_iter().find(|(_, name)| plain_name(name) == wanted).map(|(pin, _)| pin);
        named.or_else(|| {
            let found = self.things.all().into_iter().find(|thing| is_called(thing, &wanted))?;
            (found.address.source == "pin").then(|| found.address.key.parse().ok())?
        })
    }

    /// The name of a pin, or `pin 17`.
    pub(crate) fn pin_name(&self, pin: u8) -> String {
        let named = (self.pins)().into_iter().find(|(number, _)| *number == pin);
        named.map_or_else(|| format!("pin {pin}"), |(_, name)| name)
    }

    /// The level of a pin now; `None` if it cannot be read.
    pub(crate) fn level(&self, pin: u8) -> Option<bool> {
        let pin = Pin::new(i64::from(pin))?;
        // Reading a pin does not wait.
        self.board.read(pin).now_or_never()?.ok().map(|level| level.high)
    }

    /// The thing at an address, or with a name or alias. `None` where it is an address that nothing is known of: its source
    /// may not be connected now.
    ///
    /// # Errors
    /// `BadArgs`, with similar names, where it is a name that nothing has.
    pub(crate) fn thing(&self, which: &str) -> Result<(String, Option<Thing>)> {
        let which = which.trim();
        if which.is_empty() {
            return Err(Error::bad_args("name the thing: `\"thing\": \"hall lamp\"`, or its address such as `pin:17`"));
        }
        if let Ok(address) = which.parse::<Address>() {
            return Ok((address.to_string(), self.things.get(&address)));
        }
        let (wanted, all) = (plain_name(which), self.things.all());
        let found: Vec<&Thing> = all.iter().filter(|thing| is_called(thing, &wanted)).collect();
        match found[..] {
            [one] => Ok((one.address.to_string(), Some(one.clone()))),
            [] => match self.named_pin(which) {
                Some(pin) => Ok((format!("pin:{pin}"), None)),
                None => Err(Error::bad_args(unknown_thing(which, &wanted, &all))),
            },
            ref several => {
                let all: Vec<String> = several.iter().map(|t| format!("`{}` ({})", t.address, t.name)).collect();
                Err(Error::bad_args(format!(
                    "“{which}” may be {}: give the address of one",
                    all[..all.len().min(SIMILAR)].join(" or ")
                )))
            }
        }
    }

    /// The name of a thing by its address.
    pub(crate) fn thing_name(&self, address: &str) -> String {
        let known = address.parse().ok().and_then(|address| self.things.get(&address)).map(|thing| thing.name);
        known.unwrap_or_else(|| match address.strip_prefix("pin:").and_then(|pin| pin.parse().ok()) {
            Some(pin) => self.pin_name(pin),
            None => address.to_owned(),
        })
    }
}

fn unknown_thing(which: &str, wanted: &str, all: &[Thing]) -> String {
    let words: Vec<&str> = wanted.split(' ').collect();
    let similar = all.iter().filter(|thing| {
        let name = plain_name(&thing.name);
        words.iter().any(|word| word.len() > 2 && name.contains(word))
    });
    let names: Vec<String> = similar.take(SIMILAR).map(|thing| format!("“{}”", thing.name)).collect();
    let advice = match names.is_empty() {
        true => "`list_things` shows what there is".to_owned(),
        false => format!("is it {}?", names.join(" or ")),
    };
    format!("nothing here is called “{}”: {advice}", truncate(which, 40))
}

fn is_called(thing: &Thing, wanted: &str) -> bool {
    let in_area = || !thing.area.is_empty() && plain_name(&format!("{} {}", thing.area, thing.name)) == wanted;
    plain_name(&thing.name) == wanted || thing.aliases.iter().any(|alias| plain_name(alias) == wanted) || in_area()
}

/// A name without case, article and repeated spaces.
pub(crate) fn plain_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| c.is_whitespace() || c == '_').filter(|w| !w.is_empty()).collect();
    match words[..] {
        ["the" | "my" | "our" | "a" | "an", ref rest @ ..] if !rest.is_empty() => rest.join(" "),
        ref all => all.join(" "),
    }
}
