//! Numbers with a unit, as people write limits: "25 °C", "40 percent", "-3.5°".

/// Units that may follow a number.
const UNITS: &[&str] = &[
    "",
    "%",
    "percent",
    "°",
    "°c",
    "c",
    "degree",
    "degrees",
    "celsius",
    "degrees c",
    "degrees celsius",
    "w",
    "watt",
    "watts",
    "kw",
    "wh",
    "kwh",
    "v",
    "volt",
    "volts",
    "mv",
    "a",
    "amp",
    "amps",
    "ma",
    "lux",
    "lx",
    "ppm",
    "ppb",
    "hpa",
    "mbar",
    "pa",
    "mm",
    "cm",
    "m",
    "km/h",
    "m/s",
    "mph",
    "hz",
    "db",
    "l",
    "litres",
    "liters",
    "kg",
    "g",
    "µg/m³",
    "μg/m³",
    "ug/m3",
];

/// A number with or without a unit; nothing else may follow it.
///
/// # Errors
/// What is wrong with it, to be said after the name of the field.
pub fn measure(text: &str) -> Result<f64, &'static str> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    // "1e3" is a number too.
    if let Some(number) = text.parse::<f64>().ok().filter(|n| n.is_finite()) {
        return Ok(number);
    }
    let number = digits.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or("is no number")?;
    match unit.trim().to_lowercase().as_str() {
        "f" | "°f" | "fahrenheit" | "degrees f" | "degrees fahrenheit" => {
            Err("is in Fahrenheit: write the number in the unit of the sensor, without a unit")
        }
        unit if UNITS.contains(&unit) => Ok(number),
        _ => Err("is a number with more after it, which is no unit: put a second condition into its own entry"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_unit_follows_a_number() {
        for (text, wanted) in [("25", 25.0), ("25 °C", 25.0), ("-3.5°", -3.5), ("40 percent", 40.0), ("1e3", 1000.0)]
        {
            assert_eq!(measure(text), Ok(wanted), "{text}");
        }
        for wrong in ["25 and the window is closed", "25 at night", "77 °F", "warm", "", "25 c and", "nan", "-"] {
            assert!(measure(wrong).is_err(), "{wrong}");
        }
    }
}
