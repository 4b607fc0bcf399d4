//! Measures in any words: "three foot seven and five eighths in millimetres", "nine stone four, what's that in kilos", "98.6 in
//! celsius", "255 in hex", "gas mark 4".

use super::{Reading, pattern};
use crate::{
    sentence::Sentence,
    slots::{
        number,
        unit::{self, Dimension},
    },
};
use serde_json::json;

const OTHERS: &[&str] = &[
    "remind", "timer", "list", "add", "buy", "log", "alarm", "wake", "table", "note", "shopping", "remember",
    "calendar", "goal", "bought", "spent", "paid", "chart", "track",
];
/// Units that a smaller one may follow without its name: "5 foot 11".
const SMALLER: &[(&str, &str, f64)] = &[
    ("feet", "inches", 12.0),
    ("stone", "lb", 14.0),
    ("lb", "oz", 16.0),
    ("hours", "minutes", 60.0),
    ("minutes", "seconds", 60.0),
    ("kg", "grams", 1000.0),
    ("m", "cm", 100.0),
    ("yards", "feet", 3.0),
    ("litres", "ml", 1000.0),
];
/// What a measure becomes "in new money" and "in metric".
const METRIC: &[(&str, &str)] = &[
    ("fahrenheit", "celsius"),
    ("celsius", "fahrenheit"),
    ("inches", "cm"),
    ("feet", "m"),
    ("yards", "m"),
    ("miles", "km"),
    ("lb", "kg"),
    ("stone", "kg"),
    ("oz", "grams"),
    ("pints", "litres"),
    ("gallons", "litres"),
    ("fluid_ounce", "ml"),
    ("cups", "ml"),
    ("mph", "km/h"),
    ("acres", "hectares"),
];

/// A value and its unit, by the calculator's name.
#[derive(Debug, Clone, PartialEq)]
struct Measure {
    at: usize,
    end: usize,
    value: f64,
    unit: &'static str,
}

pub(super) fn read(s: &Sentence) -> Option<Reading> {
    if s.mentions(OTHERS) {
        return None;
    }
    base(s).or_else(|| gas_mark(s)).or_else(|| box_of(s)).or_else(|| conversion(s))
}

fn convert(value: f64, from: &str, to: &str) -> Option<Reading> {
    let value = (value * 1e9).round() / 1e9;
    Some(Reading::Call("convert_units", json!({"value": number::json(value), "from": from, "to": to})))
}

fn conversion(s: &Sentence) -> Option<Reading> {
    let measures = measures(s);
    let covered = |at: usize| measures.iter().any(|m| (m.at..m.end).contains(&at));
    let targets: Vec<(usize, &'static str)> =
        (0..s.len()).filter(|at| !covered(*at)).filter_map(|at| Some((at, wanted(s, at)?))).collect();
    let asks = s.asks
        || s.text.contains(['=', '?'])
        || s.mentions(&["what", "how", "convert", "is", "=", "in", "into", "to", "change", "many"]);
    if !asks {
        return None;
    }
    // "Is 60°C hotter than 130 fahrenheit": the first as the second is measured.
    if let [a, b] = &measures[..]
        && targets.is_empty()
        && s.mentions(&["than", "or", "as", "same", "equal"])
        && a.unit != b.unit
        && unit::dimension(a.unit) == unit::dimension(b.unit)
        && unit::dimension(a.unit).is_some()
    {
        return convert(a.value, a.unit, b.unit);
    }
    let named = |unit: &'static str, other: &str| match unit {
        // "mil" is a millilitre beside volumes, else a millimetre.
        "mil" if unit::dimension(other) == Some(Dimension::Volume) => "ml",
        "mil" => "mm",
        unit => unit,
    };
    for (at, target) in targets.iter().rev() {
        for measure in &measures {
            let (from, to) = (named(measure.unit, target), named(target, measure.unit));
            let alike = unit::dimension(from).is_some() && unit::dimension(from) == unit::dimension(to);
            let joined = [
                "in", "to", "into", "as", "many", "much", "money", "=", "in", "of", "what", "exact", "decent",
                "proper", "old", "new", "the",
            ]
            .contains(&s.word(at.wrapping_sub(1)))
                || at + 1 == s.len()
                || s.word(at + 1) == "is";
            if alike && from != to && joined && measures.len() == 1 {
                return convert(measure.value, from, to);
            }
        }
    }
    // "98.6 in celsius": the other scale.
    if let (&[(at, target @ ("celsius" | "fahrenheit"))], []) = (&targets[..], &measures[..]) {
        let from = if target == "celsius" { "fahrenheit" } else { "celsius" };
        let mut numbers = (0..s.len()).filter_map(|i| number::number(s, i).map(|(count, n)| (i, count, n)));
        let (begin, count, value) = numbers.next()?;
        let end = begin + count;
        let behind = (end..at)
            .all(|i| ["in", "to", "into", "fan", "oven", "degrees", "what", "is", "that", "it"].contains(&s.word(i)));
        return (end <= at && behind).then(|| convert(value, from, target))?;
    }
    // "28 fahrenheit what's that in new money".
    let money = pattern::any(s, &["_ in|into new|real|modern|old|proper money _", "_ in|into|to metric|imperial _"]);
    if let ([one], [], true) = (&measures[..], &targets[..], money) {
        let (_, to) = METRIC.iter().find(|(from, _)| *from == one.unit)?;
        return convert(one.value, one.unit, to);
    }
    None
}

/// "a bed six foot by four and nine inches deep, how many cubic feet": an area or a volume.
fn box_of(s: &Sentence) -> Option<Reading> {
    let cubic = s.mentions(&["cubic", "volume", "litres", "liters", "cubed"]);
    let square = s.mentions(&["square", "area", "sq", "squared"]);
    if !cubic && !square || !s.mentions(&["by", "x", "deep", "wide", "long", "high", "times"]) {
        return None;
    }
    let mut sides: Vec<(f64, Option<&'static str>)> = vec![];
    let mut at = 0;
    while at < s.len() {
        if let Some(found) = measure(s, at).filter(|m| unit::dimension(m.unit) == Some(Dimension::Length)) {
            sides.push((found.value, Some(found.unit)));
            at = found.end;
        } else if let Some((count, n)) = value(s, at).filter(|_| !["a", "an"].contains(&s.word(at))) {
            sides.push((n, None));
            at += count;
        } else {
            at += 1;
        }
    }
    let first = sides.iter().find_map(|(_, unit)| *unit)?;
    let product: Vec<String> =
        sides.iter().map(|(n, unit)| format!("{} {}", number::json(*n), unit.unwrap_or(first))).collect();
    let named = (0..s.len()).filter(|at| ["cubic", "square", "sq"].contains(&s.word(*at))).find_map(|at| {
        unit::unit(s, at + 1).filter(|(_, name)| unit::dimension(name) == Some(Dimension::Length)).map(|(_, name)| name)
    });
    let (count, power) = if cubic { (3, "3") } else { (2, "2") };
    let target = match named {
        Some(name) => format!("{name}^{power}"),
        None if s.mentions(&["litres", "liters"]) => "litres".to_owned(),
        None => format!("{first}^{power}"),
    };
    (sides.len() == count)
        .then(|| Reading::Call("calculate", json!({"expression": format!("{} to {target}", product.join(" * "))})))
}

/// A unit without a number, as the one that is asked for.
fn wanted(s: &Sentence, at: usize) -> Option<&'static str> {
    if ["mil", "mill", "mils", "mills"].contains(&s.word(at)) {
        return Some("mil");
    }
    let (_, unit) = unit::unit(s, at)?;
    // "in" before "g" or "c" may be anything; a letter alone counts only behind "in", "to" or "=".
    let letter = s.word(at).len() == 1;
    let led = ["in", "to", "into", "=", "many", "as", "what"].contains(&s.word(at.wrapping_sub(1)));
    let equals = s.text.contains(['=', '?']) && at + 1 == s.len();
    (!letter || led || equals).then_some(unit)
}

fn measures(s: &Sentence) -> Vec<Measure> {
    let (mut found, mut at) = (vec![], 0);
    while at < s.len() {
        match measure(s, at) {
            Some(measure) => {
                at = measure.end;
                found.push(measure);
            }
            None => at += 1,
        }
    }
    found
}

fn measure(s: &Sentence, at: usize) -> Option<Measure> {
    let (count, value) = value(s, at)?;
    let mut end = at + count;
    let unit = match s.word(end) {
        "mil" | "mill" | "mils" | "mills" => Some((1, "mil")),
        // "180 fan": an oven.
        "fan" => Some((1, "celsius")),
        "degrees" | "degree" if s.word(end + 1) == "fan" => Some((2, "celsius")),
        _ => unit::unit(s, end),
    };
    let (more, unit) = unit?;
    end += more;
    let mut value = value;
    let mut unit = unit;
    if let Some((_, smaller, times)) = SMALLER.iter().find(|(larger, ..)| *larger == unit) {
        let and = usize::from(s.word(end) == "and");
        if let Some((count, rest)) = self::value(s, end + and).filter(|(_, n)| *n < *times && *n >= 0.0)
            && !["a", "an"].contains(&s.word(end + and))
        {
            let behind = end + and + count;
            let named = unit::unit(s, behind);
            // "5 foot 11", "5 foot 11 inches", but not "5 foot by 4".
            let fits = match named {
                Some((_, next)) => next == *smaller,
                None => and == 0 && !["percent", "by", "x", "times"].contains(&s.word(behind)),
            };
            if fits {
                value = value * times + rest;
                unit = smaller;
                end = behind + named.map_or(0, |(count, _)| count);
            }
        }
    }
    Some(Measure { at, end, value, unit })
}

/// A number with its fraction: "seven eighths of an", "seven and five eighths", "point three of a", "5 and a half", "a".
fn value(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    let of = |end: usize| {
        let of = usize::from(s.word(end) == "of");
        end + of + usize::from(["a", "an"].contains(&s.word(end + of)))
    };
    if let Some((end, part)) = part(s, at) {
        return Some((of(end) - at, part));
    }
    if s.word(at) == "point" {
        let decimals: String = (at + 1..at + 4)
            .map_while(|i| number::number(s, i).filter(|(_, n)| *n < 10.0).map(|(_, n)| n.to_string()))
            .collect();
        let value = format!("0.{decimals}").parse().ok().filter(|_| !decimals.is_empty())?;
        return Some((of(at + 1 + decimals.len()) - at, value));
    }
    let (count, whole) = number::amount(s, at)?;
    // "seven and five eighths".
    if s.word(at + count) == "and"
        && let Some((end, part)) = part(s, at + count + 1)
    {
        return Some((end - at, whole + part));
    }
    Some((count, whole))
}

/// "five eighths", "three quarters", "half", "a third": where it ends, and its value.
fn part(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    const PARTS: &[(&str, f64)] = &[
        ("half", 2.0),
        ("halves", 2.0),
        ("third", 3.0),
        ("thirds", 3.0),
        ("quarter", 4.0),
        ("quarters", 4.0),
        ("fifth", 5.0),
        ("fifths", 5.0),
        ("sixth", 6.0),
        ("eighth", 8.0),
        ("eighths", 8.0),
        ("tenth", 10.0),
        ("tenths", 10.0),
        ("sixteenth", 16.0),
        ("sixteenths", 16.0),
        ("thirtysecond", 32.0),
    ];
    let named = |at: usize| PARTS.iter().find(|(word, _)| *word == s.word(at)).map(|(_, n)| *n);
    if let Some(parts) = named(at).filter(|_| s.word(at) == "half" || s.word(at + 1) == "of") {
        return Some((at + 1, 1.0 / parts));
    }
    let (count, n) = match s.word(at) {
        "a" | "an" => (1, 1.0),
        _ => number::whole(s, at).map(|(count, n)| (count, f64::from(n)))?,
    };
    named(at + count).map(|parts| (at + count + 1, n / parts))
}

/// "255 in hex", "what's 1011 binary in decimal", "0x1f in decimal", "2026 in roman numerals".
fn base(s: &Sentence) -> Option<Reading> {
    let target = |word: &str| match word {
        "hex" | "hexadecimal" => Some("hex"),
        "binary" => Some("binary"),
        "octal" => Some("octal"),
        "decimal" | "denary" => Some("decimal"),
        "roman" => Some("roman"),
        _ => None,
    };
    let (at, to) = (1..s.len()).rev().find_map(|at| {
        let led = ["in", "to", "into", "as"].contains(&s.word(at - 1));
        target(s.word(at)).filter(|_| led).map(|to| (at, to))
    })?;
    let from = (0..at - 1).find_map(|i| target(s.word(i)));
    let digits = |i: usize, base: u32| {
        let word = s.word(i);
        let word = word.strip_prefix("0x").or_else(|| word.strip_prefix("0b")).unwrap_or(word);
        (!word.is_empty() && word.len() <= 16 && word.chars().all(|c| c.is_digit(base))).then(|| word.to_owned())
    };
    let prefixed = |prefix: &str| (0..at).any(|i| s.word(i).starts_with(prefix));
    let number = match from {
        Some("hex") => (0..at - 1)
            .rev()
            .find_map(|i| digits(i, 16).filter(|w| w.chars().any(|c| c.is_ascii_digit()) || w.len() > 1))
            .map(|n| format!("0x{n}")),
        Some("binary") => (0..at - 1).find_map(|i| digits(i, 2)).map(|n| format!("0b{n}")),
        Some("octal") => (0..at - 1).find_map(|i| digits(i, 8)).map(|n| format!("0o{n}")),
        _ if prefixed("0x") => {
            (0..at).find(|i| s.word(*i).starts_with("0x")).and_then(|i| digits(i, 16)).map(|n| format!("0x{n}"))
        }
        _ => (0..at)
            .find_map(|i| number::number(s, i))
            .filter(|(_, n)| n.fract() == 0.0 && *n >= 0.0)
            .map(|(_, n)| format!("{n}")),
    }?;
    Some(Reading::Call("calculate", json!({"expression": format!("{number} to {to}")})))
}

/// "gas mark 4 in celsius": what ovens are marked with.
fn gas_mark(s: &Sentence) -> Option<Reading> {
    const MARKS: &[(u32, u32)] =
        &[(1, 140), (2, 150), (3, 170), (4, 180), (5, 190), (6, 200), (7, 220), (8, 230), (9, 240)];
    let at = (0..s.len()).find(|at| s.has(*at, &["gas", "mark"]))?;
    if let Some((_, mark)) = number::whole(s, at + 2) {
        let (_, celsius) = MARKS.iter().find(|(n, _)| *n == mark)?;
        return Some(Reading::Say(format!(
            "Gas mark {mark} is about {celsius} °C ({} °F), or {} °C with a fan.",
            celsius * 9 / 5 + 32,
            celsius - 20
        )));
    }
    let one = measures(s).into_iter().next();
    let bare = || (0..s.len()).find_map(|at| number::number(s, at)).map(|(_, n)| n);
    let celsius = match &one {
        Some(Measure { unit: "fahrenheit", value, .. }) => (value - 32.0) * 5.0 / 9.0,
        Some(Measure { unit: "celsius", value, .. }) => *value + if s.mentions(&["fan"]) { 20.0 } else { 0.0 },
        _ => bare()?,
    };
    let (mark, _) = MARKS.iter().min_by_key(|(_, at)| (f64::from(*at) - celsius).abs() as u32)?;
    (130.0..250.0).contains(&celsius).then(|| Reading::Say(format!("{celsius:.0} °C is about gas mark {mark}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_converted_in_any_words() {
        let convert = |value: f64, from: &str, to: &str| format!("{value} {from} {to}");
        let mut wrong = vec![];
        for (text, wanted) in [
            ("whats 180 fan in farenheit, american brownie recipe", convert(180.0, "celsius", "fahrenheit")),
            ("8 oz butter = ? g", convert(8.0, "oz", "grams")),
            ("How tall is 3 foot 11 in cm, theme park height thing", convert(47.0, "inches", "cm")),
            (
                "my mother weighed nine stone four all her life what is that in new money kilos",
                convert(130.0, "lb", "kg"),
            ),
            ("seven eighths of an inch in mil", convert(0.875, "inches", "mm")),
            (
                "customers american three foot seven and five eighths whats that in real money millimetres",
                convert(43.625, "inches", "mm"),
            ),
            ("Is 60°C hotter than 130 fahrenheit", convert(60.0, "celsius", "fahrenheit")),
            ("how many thou in point three of a mil", convert(0.3, "mm", "thou")),
            ("how many litres in a two gallon watering can", convert(2.0, "gallons", "litres")),
            ("28 fahrenheit what's that in new money", convert(28.0, "fahrenheit", "celsius")),
            ("What's 98.6 in Celsius, the thermometer over here confuses me", convert(98.6, "fahrenheit", "celsius")),
            ("how many stone is 51.2 kilos, I never can do it in my head", convert(51.2, "kg", "stone")),
            ("I'm 6 foot 2 what's that in metres", convert(74.0, "inches", "m")),
            ("2 lb 3 oz in grams", convert(35.0, "oz", "grams")),
            ("how many pints in two and a half litres", convert(2.5, "litres", "pints")),
            ("set a timer for 5 minutes in the kitchen", String::new()),
            ("add 2 kg of flour to the list", String::new()),
            ("I ran 5 miles in 50 minutes", String::new()),
        ] {
            let said = match read(&Sentence::read(text)) {
                Some(Reading::Call(_, a)) => format!(
                    "{} {} {}",
                    a["value"],
                    a["from"].as_str().unwrap_or_default(),
                    a["to"].as_str().unwrap_or_default()
                )
                .replace(".0 ", " "),
                Some(Reading::Say(say)) => say,
                None => String::new(),
            };
            if said != wanted {
                wrong.push(format!("{text}: {:?}", said));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn areas_and_volumes_are_worked_out() {
        for (text, wanted) in [
            (
                "bed's six foot by four and I want it nine inches deep, how many cubic foot of soil's that",
                "6 feet * 4 feet * 9 inches to feet^3",
            ),
            ("how many square metres is 3.5 m by 4", "3.5 m * 4 m to m^2"),
        ] {
            let Some(Reading::Call(_, arguments)) = read(&Sentence::read(text)) else { panic!("{text}") };
            assert_eq!(arguments["expression"], wanted, "{text}");
        }
    }

    #[test]
    fn bases_and_gas_marks_are_known() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("what's 255 in hex", "255 to hex"),
            ("1011 binary in decimal", "0b1011 to decimal"),
            ("0x1f in decimal", "0x1f to decimal"),
            ("hex ff to decimal", "0xff to decimal"),
            ("42 in binary pls", "42 to binary"),
        ] {
            let Some(Reading::Call(_, arguments)) = read(&Sentence::read(text)) else {
                wrong.push(text.to_owned());
                continue;
            };
            if arguments["expression"] != wanted {
                wrong.push(format!("{text}: {:?}", arguments["expression"]));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let said = |text: &str| match read(&Sentence::read(text)) {
            Some(Reading::Say(say)) => say,
            other => format!("{other:?}"),
        };
        assert_eq!(said("what is gas mark 4 in celsius"), "Gas mark 4 is about 180 °C (356 °F), or 160 °C with a fan.");
        assert_eq!(said("200 degrees what gas mark is that"), "200 °C is about gas mark 6.");
    }
}
