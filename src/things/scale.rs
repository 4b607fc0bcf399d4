//! Scales of temperature: what people say, and what a thing counts in.

use serde::{Deserialize, Serialize};
use tool::prelude::{JsonSchema, schemars};

/// A scale of temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    Celsius,
    Fahrenheit,
}

impl Scale {
    /// The scale of a unit: "°C", "fahrenheit".
    pub fn of(unit: &str) -> Option<Self> {
        match unit.trim().trim_start_matches('°').to_lowercase().as_str() {
            "c" | "celsius" => Some(Self::Celsius),
            "f" | "fahrenheit" => Some(Self::Fahrenheit),
            _ => None,
        }
    }

    /// A temperature of this scale on another, to half a degree Celsius or a degree Fahrenheit, as thermostats are set. On the
    /// same scale it stays as it is.
    pub fn to(self, other: Self, temperature: f64) -> f64 {
        match (self, other) {
            (Self::Fahrenheit, Self::Celsius) => halves((temperature - 32.0) / 1.8),
            (Self::Celsius, Self::Fahrenheit) => (temperature * 1.8 + 32.0).round(),
            _ => temperature,
        }
    }

    /// A difference of this scale on another.
    pub fn difference_to(self, other: Self, degrees: f64) -> f64 {
        match (self, other) {
            (Self::Fahrenheit, Self::Celsius) => halves(degrees / 1.8),
            (Self::Celsius, Self::Fahrenheit) => (degrees * 1.8).round(),
            _ => degrees,
        }
    }
}

fn halves(degrees: f64) -> f64 {
    (degrees * 2.0).round() / 2.0
}

#[cfg(test)]
mod tests {
    use super::Scale::{self, *};

    #[test]
    fn temperatures_are_converted() {
        for (from, to, temperature, wanted) in [
            (Fahrenheit, Celsius, 70.0, 21.0),
            (Fahrenheit, Celsius, 68.0, 20.0),
            (Fahrenheit, Celsius, -40.0, -40.0),
            (Celsius, Fahrenheit, 21.0, 70.0),
            (Celsius, Fahrenheit, 20.5, 69.0),
            (Celsius, Celsius, 20.25, 20.25),
        ] {
            assert_eq!(from.to(to, temperature), wanted, "{temperature} {from:?}");
        }
        assert_eq!((Fahrenheit.difference_to(Celsius, 3.0), Celsius.difference_to(Fahrenheit, -2.0)), (1.5, -4.0));
        for (unit, scale) in
            [("°C", Some(Celsius)), (" °f", Some(Fahrenheit)), ("Fahrenheit", Some(Fahrenheit)), ("%", None)]
        {
            assert_eq!(Scale::of(unit), scale, "{unit}");
        }
    }
}
