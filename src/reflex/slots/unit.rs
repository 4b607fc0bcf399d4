//! Units of measurement in words, mapped to the calculator's (`fend`) names.

use crate::sentence::Sentence;

/// The unit at `at`: number of tokens and the calculator's name.
pub(crate) fn unit(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    UNITS
        .iter()
        .flat_map(|(spelling, names)| names.split('|').map(move |name| (name, *spelling)))
        .filter(|(name, _)| name.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))
        .map(|(name, spelling)| (name.split(' ').count(), spelling))
        .max_by_key(|(count, _)| *count)
}

/// All unit words.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    UNITS.iter().flat_map(|(_, names)| names.split('|')).filter(|name| !name.contains(' '))
}

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Length,
    Speed,
    Area,
    Volume,
    Mass,
    Temperature,
    Time,
    Power,
    Energy,
    Pressure,
    Data,
    Angle,
}

/// What a unit of [`UNITS`] measures.
pub(crate) fn dimension(name: &str) -> Option<Dimension> {
    use Dimension::{Angle, Area, Data, Energy, Length, Mass, Power, Pressure, Speed, Temperature, Time, Volume};
    Some(match name {
        "km" | "m" | "cm" | "mm" | "miles" | "nautical_mile" | "yards" | "feet" | "inches" | "thou" | "light_year" => {
            Length
        }
        "km/h" | "mph" | "m/s" | "knots" => Speed,
        "m^2" | "km^2" | "cm^2" | "ft^2" | "acres" | "hectares" => Area,
        "m^3" | "litres" | "ml" | "cl" | "dl" | "gallons" | "quarts" | "pints" | "cups" | "fluid_ounce"
        | "tablespoons" | "teaspoons" => Volume,
        "kg" | "grams" | "mg" | "tonnes" | "lb" | "oz" | "stone" => Mass,
        "celsius" | "fahrenheit" | "kelvin" => Temperature,
        "seconds" | "minutes" | "hours" | "days" | "weeks" | "months" | "years" | "milliseconds" => Time,
        "watts" | "kW" | "hp" => Power,
        "joules" | "kJ" | "kWh" | "Wh" | "kcal" => Energy,
        "bar" | "psi" | "Pa" | "hPa" | "atm" => Pressure,
        "bytes" | "kB" | "MB" | "GB" | "TB" | "MiB" | "GiB" => Data,
        "degrees" | "radians" => Angle,
        _ => return None,
    })
}

/// The calculator's name and its synonyms; without "in", which is mostly a preposition.
const UNITS: &[(&str, &str)] = &[
    ("km", "km|kms|kilometer|kilometers|kilometre|kilometres"),
    ("m", "m|meter|meters|metre|metres"),
    ("cm", "cm|cms|centimeter|centimeters|centimetre|centimetres"),
    ("mm", "mm|millimeter|millimeters|millimetre|millimetres|milimetres|milimeters"),
    ("miles", "mile|miles|mi"),
    ("nautical_mile", "nautical mile|nautical miles"),
    ("yards", "yard|yards|yd|yds"),
    ("feet", "foot|feet|ft"),
    ("inches", "inch|inches"),
    ("thou", "thou"),
    ("light_year", "light year|light years|lightyear|lightyears"),
    ("km/h", "km h|kmh|kph|km / h|kilometers per hour|kilometres per hour|kilometers an hour|kilometres an hour"),
    ("mph", "mph|miles per hour|miles an hour"),
    ("m/s", "m s|m / s|meters per second|metres per second|meters a second"),
    ("knots", "knot|knots"),
    ("m^2", "square meter|square meters|square metre|square metres|sqm|m2|m ^ 2|square m"),
    ("km^2", "square kilometer|square kilometers|square kilometre|square kilometres|km2"),
    ("cm^2", "square centimeter|square centimeters|square centimetres|cm2"),
    ("ft^2", "square foot|square feet|sqft|sq ft"),
    ("acres", "acre|acres"),
    ("hectares", "hectare|hectares|ha"),
    ("m^3", "cubic meter|cubic meters|cubic metre|cubic metres|m3"),
    ("kg", "kg|kgs|kilo|kilos|kilogram|kilograms|kilogramme|kilogrammes"),
    ("grams", "g|gram|grams|gramme|grammes"),
    ("mg", "mg|milligram|milligrams"),
    ("tonnes", "tonne|tonnes|metric ton|metric tons"),
    ("lb", "lb|lbs|pound|pounds"),
    ("oz", "oz|ounce|ounces|ozs"),
    ("stone", "stone|stones|st"),
    ("litres", "l|liter|liters|litre|litres"),
    ("ml", "ml|milliliter|milliliters|millilitre|millilitres"),
    ("cl", "cl|centiliter|centiliters|centilitre|centilitres"),
    ("dl", "dl|deciliter|deciliters|decilitre|decilitres"),
    ("gallons", "gallon|gallons|gal"),
    ("quarts", "quart|quarts"),
    ("pints", "pint|pints|pts"),
    ("cups", "cup|cups"),
    ("fluid_ounce", "fluid ounce|fluid ounces|fl oz|floz"),
    ("tablespoons", "tablespoon|tablespoons|tbsp|tbsps|tblsp"),
    ("teaspoons", "teaspoon|teaspoons|tsp|tsps"),
    (
        "celsius",
        "c|celsius|celcius|celsuis|centigrade|degree celsius|degrees celsius|degrees c|degree c|degrees centigrade",
    ),
    (
        "fahrenheit",
        "f|fahrenheit|farenheit|fahrenhiet|farenheight|ferenheit|degree fahrenheit|degrees fahrenheit|degrees f|degree f",
    ),
    ("kelvin", "kelvin|kelvins|degrees kelvin"),
    ("seconds", "second|seconds|sec|secs"),
    ("minutes", "minute|minutes|min|mins"),
    ("hours", "hour|hours|hr|hrs|h"),
    ("days", "day|days"),
    ("weeks", "week|weeks"),
    ("months", "month|months"),
    ("years", "year|years"),
    ("milliseconds", "millisecond|milliseconds|ms"),
    ("watts", "watt|watts|w"),
    ("kW", "kw|kilowatt|kilowatts"),
    ("hp", "hp|horsepower"),
    ("joules", "joule|joules|j"),
    ("kJ", "kj|kilojoule|kilojoules"),
    ("kWh", "kwh|kilowatt hour|kilowatt hours"),
    ("Wh", "wh|watt hour|watt hours"),
    ("kcal", "kcal|kilocalorie|kilocalories|calories|calorie"),
    ("bar", "bar|bars"),
    ("psi", "psi"),
    ("Pa", "pa|pascal|pascals"),
    ("hPa", "hpa|hectopascal|hectopascals|millibar|millibars"),
    ("atm", "atm|atmosphere|atmospheres"),
    ("bytes", "byte|bytes"),
    ("kB", "kb|kilobyte|kilobytes"),
    ("MB", "mb|megabyte|megabytes"),
    ("GB", "gb|gigabyte|gigabytes"),
    ("TB", "tb|terabyte|terabytes"),
    ("MiB", "mib|mebibyte|mebibytes"),
    ("GiB", "gib|gibibyte|gibibytes"),
    ("degrees", "degree|degrees"),
    ("radians", "radian|radians|rad"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_measures_something() {
        for (name, _) in UNITS {
            assert!(dimension(name).is_some(), "{name}");
        }
    }

    #[test]
    fn units_are_read() {
        for (text, wanted) in [
            ("miles per hour", Some((3, "mph"))),
            ("miles", Some((1, "miles"))),
            ("°C", Some((2, "celsius"))),
            ("km/h", Some((2, "km/h"))),
            ("pounds", Some((1, "lb"))),
            ("in", None),
            ("bananas", None),
        ] {
            assert_eq!(unit(&Sentence::read(text), 0), wanted, "{text}");
        }
    }
}
