//! Going on with a number that was just worked out: "add two to that", "and divided by five?", "plus 10 %", "half of it".

use super::{exchange::Exchange, outcome::Outcome};
use crate::{sentence::Sentence, slots::number};
use serde_json::{Value, json};

/// What a sentence does with the result of the exchange before.
pub(crate) fn continued(text: &str, exchanges: &[Exchange]) -> Option<Outcome> {
    let calls = exchanges.first()?.done();
    let call = calls.last()?;
    let result = match call.tool.as_str() {
        "calculate" | "convert_units" | "calculate_percentage" => call.content.get("result")?,
        "expense_summary" => match call.content.get("totals")?.as_array()?.as_slice() {
            [one] => one.get("total")?,
            _ => return None,
        },
        _ => return None,
    };
    let result = result.as_f64().filter(|n| n.is_finite())?;
    let expression = expression(&Sentence::whole(text), &number::json(result))?;
    Some(Outcome::call("calculate", json!({"expression": expression})))
}

const SKIPPED: &[&str] = &[
    "and", "now", "then", "ok", "okay", "please", "so", "what", "is", "but", "can", "you", "could", "also", "about",
    "how", "much", "if", "i",
];
const POINTERS: &[&str] = &["that", "it", "this"];

fn expression(s: &Sentence, result: &Value) -> Option<String> {
    let mut end = s.len();
    while end > 0 && ["please", "then", "instead", "now", "hob"].contains(&s.word(end - 1)) {
        end -= 1;
    }
    let mut at = (0..end).take_while(|at| SKIPPED.contains(&s.word(*at)) && !(s.word(*at) == "is" && *at == 0)).count();
    let pointer = |at: usize| -> usize {
        match s.word(at) {
            word if POINTERS.contains(&word) => 1,
            "the" if ["result", "total", "answer", "sum", "lot", "number"].contains(&s.word(at + 1)) => 2,
            _ => 0,
        }
    };
    let percent = |at: usize| match s.word(at) {
        "percent" => 1,
        "per" if s.word(at + 1) == "cent" => 2,
        _ => 0,
    };
    // A number, and whether it is a share, up to where it ends.
    let value = |at: usize| {
        let (count, n) = number::amount(s, at)?;
        let share = percent(at + count);
        Some((at + count + share, number::json(n), share > 0))
    };
    let whole = |sign: &str, n: &Value, share: bool| match (sign, share) {
        ("+" | "-", true) => format!("{result} {sign} {result} * {n} / 100"),
        (_, true) => format!("{result} {sign} ({n} / 100)"),
        _ => format!("{result} {sign} {n}"),
    };
    let sign_at = |at: usize| -> Option<(usize, &'static str)> {
        Some(match (s.word(at), s.word(at + 1)) {
            ("divided" | "multiplied", "by") => (2, if s.word(at) == "divided" { "/" } else { "*" }),
            ("plus" | "+", _) => (1, "+"),
            ("minus" | "-" | "less", _) => (1, "-"),
            ("times" | "*" | "x" | "×", _) => (1, "*"),
            ("over" | "/" | "÷", _) => (1, "/"),
            _ => return None,
        })
    };
    // "what percent of 150 is that".
    let of = at + percent(at);
    if percent(at) > 0
        && s.word(of) == "of"
        && let Some((ends, n, false)) = value(of + 1)
        && s.word(ends) == "is"
        && end == ends + 1 + pointer(ends + 1)
        && end > ends + 1
    {
        return Some(format!("{result} / {n} * 100"));
    }
    // "that plus 5", "and plus 10 percent", "times 3".
    at += pointer(at);
    if let Some((count, sign)) = sign_at(at) {
        let (ends, n, share) = value(at + count)?;
        return (ends == end).then(|| whole(sign, &n, share));
    }
    // "add two to that", "divide that by 4".
    let verb = s.word(at);
    let sign = match verb {
        "add" => "+",
        "subtract" | "deduct" | "take" | "knock" => "-",
        "multiply" => "*",
        "divide" | "split" => "/",
        "halve" | "double" | "triple" | "half" | "twice" => {
            let next = at + 1 + usize::from(s.word(at + 1) == "of");
            let points = pointer(next);
            let by = match verb {
                "halve" | "half" => "/ 2",
                "triple" => "* 3",
                _ => "* 2",
            };
            return (points > 0 && next + points == end).then(|| format!("{result} {by}"));
        }
        _ => {
            // "20 percent of that".
            let (ends, n, share) = value(at)?;
            let points = if s.word(ends) == "of" { pointer(ends + 1) } else { 0 };
            return (share && points > 0 && ends + 1 + points == end).then(|| format!("{n} / 100 * {result}"));
        }
    };
    at += 1;
    let points = pointer(at);
    if points > 0 {
        at += points;
        let joint = ["by", "between", "among", "into", "with"].contains(&s.word(at));
        let (ends, n, share) = value(at + usize::from(joint))?;
        let tail = ["ways", "people", "of", "us", "parts"];
        let done = (ends..end).all(|at| tail.contains(&s.word(at)));
        return (done && (joint || ends < end || verb == "split")).then(|| whole(sign, &n, share));
    }
    let off = usize::from(["off", "away"].contains(&s.word(at)));
    let (ends, n, share) = value(at + off)?;
    let joint = (ends..end).take_while(|at| ["to", "off", "from", "of", "on", "onto"].contains(&s.word(*at))).count();
    let points = pointer(ends + joint);
    let done = ends + joint + points == end && (points > 0 || joint > 0 || off > 0 || ends == end && verb != "take");
    done.then(|| whole(sign, &n, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_goes_on() {
        for (text, wanted) in [
            ("and divided by five?", Some("144 / 5")),
            ("plus 10 %", Some("144 + 144 * 10 / 100")),
            ("times 3", Some("144 * 3")),
            ("add two to that", Some("144 + 2")),
            ("now take 4 off it", Some("144 - 4")),
            ("divide that by 4", Some("144 / 4")),
            ("split it three ways", Some("144 / 3")),
            ("half of that", Some("144 / 2")),
            ("double it", Some("144 * 2")),
            ("what's 20 percent of that?", Some("20 / 100 * 144")),
            ("what is that minus 7", Some("144 - 7")),
            ("add milk to that", None),
            ("add two eggs to the list", None),
            ("set a timer for 5 minutes", None),
            ("5", None),
        ] {
            assert_eq!(expression(&Sentence::whole(text), &json!(144)).as_deref(), wanted, "{text}");
        }
    }
}
