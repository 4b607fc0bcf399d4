//! Arithmetic and unit conversion in everyday notation.

use crate::arithmetic::{Answer, evaluate};
use board::Device;
use regex::Regex;
use std::sync::LazyLock;
use tool::prelude::*;

/// Evaluate a mathematical expression: + - * / ^ mod, parentheses, sqrt, sin, ln, pi, percentages ("15% of 200") and
/// units.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calculate {
    /// Expression, such as "2 * (3 + 4)".
    expression: String,
    /// Decimal places, 0 to 10.
    #[schemars(range(max = 10))]
    precision: Option<u8>,
}

/// Convert a value between measurement units: length, mass, temperature, volume, area, speed, time, data, energy, ….
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Convert {
    /// Value to convert.
    value: f64,
    /// Unit to convert from, such as "km", "°F" or "cups".
    from: String,
    /// Unit to convert to.
    to: String,
}

pub(crate) async fn calculate(_: Device, _: Cx, Calculate { expression, precision }: Calculate) -> Result<Output> {
    let asked = expression.trim().trim_end_matches(['=', '?']).trim().to_owned();
    let answer = evaluate(to_fend_notation(&asked)).await?;
    let rounded = precision.and_then(|places| Some(round(answer.number()?, usize::from(places.min(10)))));
    let text = rounded.as_deref().unwrap_or(&answer.text);
    let formatted = with_unit(&grouped(text), &answer.unit);
    let exact = !answer.approximate && rounded.as_ref().is_none_or(|r| *r == answer.text);
    let near = answer.number().filter(|n| !exact && rounded.is_none() && n.abs() >= 1.0);
    let said = near.map_or(formatted.clone(), |n| with_unit(&grouped(&spoken(n)), &answer.unit));
    let sentence = format!("{} {} {said}.", as_written(&asked), if exact { "=" } else { "is about" });
    let content = json!({"expression": expression, "result": result(text, &answer), "formatted": formatted});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

pub(crate) async fn convert(_: Device, cx: Cx, Convert { value, from, to }: Convert) -> Result<Output> {
    let imperial = measures_in_imperial(cx.ports().clock.zone().iana_name().unwrap_or_default());
    let fend = |written: &str| unit(written).map(|unit| if imperial { imperial_unit(&unit) } else { unit });
    let (from_unit, to_unit) = (fend(&from)?, fend(&to)?);
    let amount = decimal(value);
    // Units are case-sensitive; lower case is tried only if the original spelling is unknown.
    let tries = [(from_unit.clone(), to_unit.clone()), (from_unit.to_lowercase(), to_unit.to_lowercase())];
    let mut first = None;
    for (from_unit, to_unit) in tries {
        let imperial = to_unit.starts_with('(');
        let joint = if imperial { "/" } else { "to" };
        match evaluate(format!("(({amount}) {from_unit}) {joint} {to_unit}")).await {
            Err(why) => first = first.or(Some(why)),
            Ok(answer) => {
                let exact = answer.text.as_str();
                let measured = if imperial { shown_unit(&to_unit, f64::MAX) } else { answer.unit.clone() };
                let formatted = with_unit(&grouped(exact), &measured);
                let short = answer.number().map_or(exact.to_owned(), spoken);
                let about = if short == exact && !answer.approximate { "is" } else { "is about" };
                let given = with_unit(&grouped(&amount), &shown_unit(&from_unit, value));
                let parts = answer.number().and_then(|n| in_parts(n, &to_unit)).unwrap_or_default();
                let short = with_unit(&grouped(&short), &measured);
                let sentence = format!("{given} {about} {short}{parts}.");
                let result = result(exact, &answer);
                let content = json!({"value": value, "from": from, "to": to, "result": result, "formatted": formatted});
                return Ok(Output { content, ..Output::default() }.say(sentence));
            }
        }
    }
    Err(first.unwrap_or_else(|| Error::failed("the units could not be converted: name them in another way")))
}

/// An expression as people write it: `12 × 12`, `15% of 80`.
fn as_written(expression: &str) -> String {
    let number = |text: &str| text.parse::<f64>().is_ok();
    match expression.split(' ').collect::<Vec<_>>()[..] {
        [percent, "/", "100", "*", of] if number(percent) && number(of) => format!("{percent}% of {of}"),
        _ => expression.replace(" * ", " × ").replace(" / ", " ÷ "),
    }
}

/// The value as a JSON number if possible, else as text.
fn result(text: &str, answer: &Answer) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    let number = Answer { text: text.to_owned(), ..answer.clone() }.number();
    number.map_or_else(|| text.into(), Value::from)
}

/// Translate everyday notation to fend's.
fn to_fend_notation(expression: &str) -> String {
    const WORDS: [(&str, &str); 18] = [
        (r"(?i)\b(what is|what's|how much is|calculate|compute)\b", " "),
        (r"(?i)\b(multiplied by|times)\b", "*"),
        (r"(?i)\bdivided by\b", "/"),
        (r"(?i)\b(to the power of|raised to)\b", "^"),
        (r"(?i)\bplus\b", "+"),
        (r"(?i)\bminus\b", "-"),
        (r"(?i)\b(the )?(square )?root of\b", " sqrt "),
        (r"(?i)\bcube root of\b", " cbrt "),
        (r"(?i)\s*\bsquared\b", "^2"),
        (r"(?i)\s*\bcubed\b", "^3"),
        (r"(?i)\s*\bper ?cent\b", "%"),
        (r"(?i)\bmodulo\b", "mod"),
        (r"(\d)\s+[xX]\s+(\d)", "$1 * $2"),
        ("√", " sqrt "),
        ("²", "^2"),
        ("³", "^3"),
        ("[·∙⋅]", "*"),
        ("[−–]", "-"),
    ];
    static RULES: LazyLock<Vec<(Regex, &str)>> =
        LazyLock::new(|| WORDS.iter().filter_map(|(from, to)| Some((Regex::new(from).ok()?, *to))).collect());
    RULES.iter().fold(expression.to_owned(), |text, (from, to)| from.replace_all(&text, *to).into_owned()).trim().into()
}

/// Translate the everyday name of a unit to fend's.
fn unit(written: &str) -> Result<String> {
    let text = written.trim().replace('²', "^2").replace('³', "^3").replace('º', "°");
    let fits = |c: char| c.is_alphanumeric() || " /^*°µ\"'%$€£.-_".contains(c);
    if text.is_empty() || text.chars().count() > 40 || !text.chars().all(fits) {
        return Err(Error::bad_args(format!("`{written}` is not a unit: name one such as km, kg, °C or cups")));
    }
    let lower = text.to_lowercase();
    let known = match lower.trim_start_matches("degrees ").trim_start_matches("degree ") {
        "c" | "°c" | "degc" | "celsius" | "centigrade" => "°C",
        "f" | "°f" | "degf" | "fahrenheit" => "°F",
        "k" | "°k" | "kelvin" | "kelvins" => "K",
        "in" | "\"" => "inches",
        "'" => "feet",
        "fl oz" | "fl. oz." | "fl_oz" | "fluid ounce" | "fluid ounces" => "floz",
        "nautical mile" | "nautical miles" => "nautical_miles",
        "ton" | "tons" | "metric ton" | "metric tons" => "tonnes",
        "short ton" | "short tons" => "short_ton",
        // Bytes, not bits: disk sizes are not given in gigabits.
        "kb" => "kB",
        "mb" if text != "Mb" => "MB",
        "gb" if text != "Gb" => "GB",
        "tb" if text != "Tb" => "TB",
        _ => {
            let words = [("sq ", "square "), ("sq. ", "square "), ("cu ", "cubic "), ("cu. ", "cubic ")];
            let spelled = words.iter().find_map(|(short, long)| Some(format!("{long}{}", lower.strip_prefix(short)?)));
            return Ok(spelled.unwrap_or(text));
        }
    };
    Ok(known.to_owned())
}

/// Whether pints and gallons are the British ones where the household lives.
fn measures_in_imperial(zone: &str) -> bool {
    const THERE: [&str; 6] =
        ["Europe/London", "Europe/Dublin", "Europe/Jersey", "Europe/Guernsey", "Europe/Isle_of_Man", "Europe/Belfast"];
    THERE.contains(&zone) || zone.starts_with("Australia/") || zone == "Pacific/Auckland"
}

/// The British measures that differ from the American ones of the same name, in litres.
const IMPERIAL: [(&[&str], &str, &str); 4] = [
    (&["gallon", "gallons", "gal"], "(4.54609 litres)", "gallons"),
    (&["quart", "quarts"], "(1.1365225 litres)", "quarts"),
    (&["pint", "pints", "pt"], "(0.56826125 litres)", "pints"),
    (&["floz", "fluid_ounce", "fluid_ounces"], "(0.0284130625 litres)", "fl oz"),
];

/// The British measure of this name.
fn imperial_unit(unit: &str) -> String {
    let lower = unit.to_lowercase();
    let found = IMPERIAL.iter().find(|(names, ..)| names.contains(&lower.as_str()));
    found.map_or_else(|| unit.to_owned(), |(_, size, _)| (*size).to_owned())
}

/// A unit as people read it.
fn shown_unit(unit: &str, value: f64) -> String {
    let named = IMPERIAL.iter().find(|(_, size, _)| *size == unit);
    let name = named.map_or(unit, |(.., name)| *name);
    if named.is_some() && value == 1.0 { name.trim_end_matches('s').to_owned() } else { name.to_owned() }
}

/// "8 stone 1 lb" of 8.06 stone, as people say it.
fn in_parts(value: f64, unit: &str) -> Option<String> {
    let (large, small, times) = match unit {
        "stone" | "stones" => ("stone", "lb", 14.0),
        "feet" | "foot" | "ft" => ("feet", "inches", 12.0),
        _ => return None,
    };
    let all = (value * times).round();
    let (whole, rest) = ((all / times).trunc(), all % times);
    let fits = value.fract() != 0.0 && value > 1.0 && value < 1e6 && rest > 0.0;
    fits.then(|| format!(", that is {whole} {large} {rest} {small}"))
}

/// A float in fend's syntax, without an exponent.
fn decimal(value: f64) -> String {
    format!("{value}")
}

/// Round to this many decimal places.
fn round(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    // Rounding a small negative number leaves a sign on zero.
    if text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) { text.replace('-', "") } else { text }
}

/// A rounded value for speech: three decimal places, or four digits below one.
pub(crate) fn spoken(value: f64) -> String {
    let places = if value == 0.0 || value.abs() >= 1.0 { 3 } else { (3 - value.abs().log10().floor() as i32) as usize };
    let text = round(value, places.min(40));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Add thousands separators to a plain number; other text stays.
pub(crate) fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    if whole.len() < 4 || !whole.bytes().chain(fraction.unwrap_or("").bytes()).all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = sign.to_owned();
    for (i, digit) in whole.char_indices() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "" => number.to_owned(),
        "%" => format!("{number}%"),
        _ => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    async fn ask(tool: &str, args: Value) -> (Value, String) {
        match call(crate::utilities(Device::new("/")), &cx(), tool, args).await {
            Ok(output) => (output.content, output.say.unwrap()),
            Err(error) => (Value::Null, error.to_string()),
        }
    }

    #[tokio::test]
    async fn sums_are_answered_in_a_sentence() {
        let table = [
            ("12 * 12", json!(144), "12 × 12 = 144."),
            ("12 times 12", json!(144), "12 times 12 = 144."),
            ("12 x 12 =", json!(144), "12 x 12 = 144."),
            ("what is 15 percent of 200?", json!(30), "what is 15 percent of 200 = 30."),
            ("square root of 16", json!(4), "square root of 16 = 4."),
            ("5 squared plus 3", json!(28), "5 squared plus 3 = 28."),
            ("10 divided by 4", json!(2.5), "10 divided by 4 = 2.5."),
            ("0.1 + 0.2", json!(0.3), "0.1 + 0.2 = 0.3."),
            ("10 / 3", json!(3.333_333_333_3), "10 ÷ 3 is about 3.333."),
            ("15 / 100 * 80", json!(12), "15% of 80 = 12."),
            ("1/3", json!(0.333_333_333_3), "1/3 is about 0.3333333333."),
            ("2^100", json!(1.267_650_600_228_229_4e30), "2^100 = 1,267,650,600,228,229,401,496,703,205,376."),
            ("1234567.5 * -2", json!(-2_469_135), "1234567.5 × -2 = -2,469,135."),
            ("0x10 + 1", json!("0x11"), "0x10 + 1 = 0x11."),
            ("5 km + 300 m", json!(5.3), "5 km + 300 m = 5.3 km."),
        ];
        for (expression, expected, sentence) in table {
            let (content, said) = ask("calculate", json!({"expression": expression})).await;
            assert_eq!((&content["result"], said.as_str()), (&expected, sentence), "{expression}");
            assert_eq!(content["expression"], expression);
        }
    }

    #[test]
    fn pints_are_british_in_britain() {
        for (zone, imperial) in [("Europe/London", true), ("Europe/Vienna", false), ("America/New_York", false)] {
            assert_eq!(measures_in_imperial(zone), imperial, "{zone}");
        }
        assert_eq!(imperial_unit("gallons"), "(4.54609 litres)");
        assert_eq!(imperial_unit("litres"), "litres");
        assert_eq!(shown_unit("(0.56826125 litres)", 1.0), "pint");
        assert_eq!(in_parts(5.9167, "feet").as_deref(), Some(", that is 5 feet 11 inches"));
    }

    #[tokio::test]
    async fn imperial_measures_convert() {
        for (expression, expected) in
            [("((2) (4.54609 litres)) to litres", "9.09218"), ("((1) litres) / (0.56826125 litres)", "1.7597")]
        {
            let answer = evaluate(expression.to_owned()).await.unwrap();
            assert!(answer.text.starts_with(expected), "{expression}: {answer:?}");
        }
    }

    #[tokio::test]
    async fn precision_rounds() {
        let table = [
            ("2/3", 2, json!(0.67), "2/3 is about 0.67."),
            ("2/3", 0, json!(1), "2/3 is about 1."),
            ("100", 2, json!(100.0), "100 is about 100.00."),
            ("-0.001", 1, json!(0.0), "-0.001 is about 0.0."),
        ];
        for (expression, precision, expected, sentence) in table {
            let (content, said) = ask("calculate", json!({"expression": expression, "precision": precision})).await;
            assert_eq!((&content["result"], said.as_str()), (&expected, sentence), "{expression} to {precision}");
        }
    }

    #[tokio::test]
    async fn units_are_understood_as_people_write_them() {
        let table = [
            (20.0, "C", "F", "20 °C is 68 °F."),
            (98.6, "fahrenheit", "celsius", "98.6 °F is 37 °C."),
            (-5.0, "degrees celsius", "K", "-5 °C is 268.15 K."),
            (5.0, "km", "miles", "5 km is about 3.107 miles."),
            (5.0, "KM", "Miles", "5 km is about 3.107 miles."),
            (1.0, "mile", "m", "1 mile is 1,609.344 m."),
            (6.0, "in", "cm", "6 inches is 15.24 cm."),
            (2.0, "cups", "ml", "2 cups is about 473.176 ml."),
            (8.0, "fl oz", "ml", "8 floz is about 236.588 ml."),
            (50.0, "sq m", "sqft", "50 square m is about 538.196 ft^2."),
            (100.0, "km/h", "m/s", "100 km/h is about 27.778 m/s."),
            (1.0, "gb", "MB", "1 GB is 1,000 MB."),
            (2.0, "m³", "liters", "2 m^3 is 2,000 liters."),
            (90.0, "minutes", "hours", "90 minutes is 1.5 hours."),
            (1.0, "nm", "miles", "1 nm is about 0.0000000000006214 miles."),
            (51.2, "kg", "stone", "51.2 kg is about 8.063 stones, that is 8 stone 1 lb."),
            (10.0, "USD", "EUR", "currencies cannot be converted: there are no exchange rates here"),
        ];
        for (value, from, to, expected) in table {
            let (_, said) = ask("convert_units", json!({"value": value, "from": from, "to": to})).await;
            assert_eq!(said, expected, "{value} {from} to {to}");
        }
        let (content, _) = ask("convert_units", json!({"value": 5, "from": "km", "to": "miles"})).await;
        assert_eq!(content["result"], 3.106_855_961_2);
        for (from, to) in [("km", "kg"), ("", "m"), ("km", "m) + (1"), ("blorps", "m"), ("km; 5", "m")] {
            let error = ask("convert_units", json!({"value": 1, "from": from, "to": to})).await;
            assert_eq!(error.0, Value::Null, "{from} to {to}: {error:?}");
        }
    }
}
