//! A pin of the header, by its BCM number.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A header pin: BCM 0 to 27. A value of this type is always one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Pin(u8);

impl Pin {
    /// The highest number.
    pub const MAX: u8 = 27;

    /// All pins in order.
    pub fn all() -> impl Iterator<Item = Pin> {
        (0..=Self::MAX).map(Pin)
    }

    /// The pin of a BCM number; `None` when the header has none.
    pub fn new(number: i64) -> Option<Self> {
        u8::try_from(number).ok().filter(|n| *n <= Self::MAX).map(Pin)
    }

    /// The BCM number.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl From<Pin> for i64 {
    fn from(pin: Pin) -> i64 {
        pin.0.into()
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The level at a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Which pin.
    pub pin: Pin,
    /// Whether it is high (3.3 V) or low (0 V).
    pub high: bool,
    /// Whether Hob drives it.
    pub driven: bool,
    /// The signal it is driven with, where that is pulse width modulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pwm: Option<Wave>,
}

/// A signal that is high for a part of each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// Its period in nanoseconds.
    pub period_ns: u32,
    /// How long it is high in each period, in nanoseconds.
    pub on_ns: u32,
}

impl Wave {
    /// A frequency in hertz, and how much of each period it is high, in percent.
    pub fn new(hertz: f64, percent: f64) -> Self {
        let period = (1e9 / hertz.clamp(0.25, 1e6)).round();
        Self { period_ns: period as u32, on_ns: (period * percent.clamp(0.0, 100.0) / 100.0).round() as u32 }
    }
    /// How much of each period it is high, in percent.
    pub fn percent(self) -> f64 {
        f64::from(self.on_ns) * 100.0 / f64::from(self.period_ns.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_header_pins_are_pins() {
        for (number, good) in [(0, true), (17, true), (27, true), (28, false), (-1, false), (256 + 17, false)] {
            assert_eq!(Pin::try_from(number).is_ok(), good, "{number}");
            assert_eq!(
                Pin::deserialize(serde::de::value::I64Deserializer::<serde::de::value::Error>::new(number)).is_ok(),
                good
            );
        }
    }
}
