//! Sums in prose: "64.80 plus 12.5% service split 3 ways", "forty five pounds and it's thirty percent off, what do I pay", "thirty
//! seven and a half hours at fourteen pounds twenty". Only where every number in the sentence has its place.

use super::{Reading, pattern};
use crate::{
    sentence::Sentence,
    slots::{expr, money, number, unit},
};
use serde_json::json;

const OTHERS: &[&str] = &[
    "remind",
    "timer",
    "alarm",
    "wake",
    "list",
    "note",
    "remember",
    "calendar",
    "goal",
    "table",
    "log",
    "event",
    "book",
    "play",
    "dim",
    "march",
    "january",
    "february",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const ASKS: &[&str] = &[
    "what",
    "how",
    "each",
    "total",
    "altogether",
    "pay",
    "owe",
    "due",
    "=",
    "split",
    "divided",
    "left",
    "work",
    "calculate",
    "check",
    "homework",
    "sum",
    "off",
    "discount",
    "times",
    "plus",
    "minus",
    "whats",
    "equals",
    "need",
    "serves",
    "root",
    "vat",
    "tip",
    "apiece",
    "much",
];

const ADJECTIVES: &[&str] = &[
    "little", "this", "that", "the", "which", "big", "only", "last", "first", "next", "every", "no", "some", "old",
    "new",
];

/// A number in a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amount {
    at: usize,
    end: usize,
    value: f64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Money,
    Percent,
    /// Of people or parts to split among.
    Ways,
}

pub(super) fn read(s: &Sentence) -> Option<Reading> {
    let buys =
        ["spent", "bought", "paid"].iter().any(|word| s.mentions(&[word])) && !s.asks && !s.mentions(&["what", "each"]);
    if s.mentions(OTHERS) || !s.asks && !s.mentions(ASKS) && !s.text.contains(['/', '*', '+', '÷', '×']) || buys {
        return None;
    }
    let amounts = amounts(s);
    let expression = rest_split(s, &amounts)
        .or_else(|| recipe(s, &amounts))
        .or_else(|| doses(s, &amounts))
        .or_else(|| apiece(s, &amounts))
        .or_else(|| rate(s, &amounts))
        .or_else(|| measured(s, &amounts))
        .or_else(|| chain(s, &amounts))
        .or_else(|| checked(s))?;
    Some(Reading::Call("calculate", json!({"expression": expression})))
}

fn amounts(s: &Sentence) -> Vec<Amount> {
    let (mut all, mut at) = (vec![], 0);
    while at < s.len() {
        // "the little one" counts nothing.
        let one = s.word(at) == "one" && at > 0 && ADJECTIVES.contains(&s.word(at - 1));
        let article = one || ["a", "an", "dozen", "the"].contains(&s.word(at));
        let sum = money::money(s, at).filter(|sum| sum.currency.is_some() && !article);
        let found = match sum {
            Some(sum) => Some((at + sum.count, sum.amount, Kind::Money)),
            None if article => None,
            None => number::amount(s, at).map(|(count, n)| (at + count, n, Kind::Plain)),
        };
        let Some((end, value, kind)) = found else {
            at += 1;
            continue;
        };
        let behind = s.word(end);
        let (end, kind) = match behind {
            "percent" => (end + 1, Kind::Percent),
            "per" if s.word(end + 1) == "cent" => (end + 2, Kind::Percent),
            "ways" | "way" | "people" | "persons" | "friends" | "kids" | "children" | "adults" | "mates" | "folk"
                if kind == Kind::Plain && value.fract() == 0.0 && (2.0..100.0).contains(&value) =>
            {
                (end + 1, Kind::Ways)
            }
            "of" if s.word(end + 1) == "us" && kind == Kind::Plain => (end + 2, Kind::Ways),
            _ => (end, kind),
        };
        all.push(Amount { at, end, value, kind });
        at = end;
    }
    all
}

fn shown(value: f64) -> String {
    number::json(value).to_string()
}

/// A sum at the beginning, and what is done with it: percent off or on top, parts to split it into.
fn chain(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    const OFF: &[&str] = &[
        "off",
        "discount",
        "discounted",
        "reduced",
        "reduction",
        "less",
        "minus",
        "sale",
        "cheaper",
        "knocked",
        "drop",
    ];
    const ON: &[&str] = &[
        "plus",
        "vat",
        "tax",
        "service",
        "tip",
        "gratuity",
        "extra",
        "top",
        "on",
        "more",
        "commission",
        "increase",
        "rise",
        "up",
    ];
    const SPLIT: &[&str] =
        &["split", "divide", "divided", "share", "shared", "splitting", "between", "among", "amongst"];
    let first = amounts.first()?;
    // "15 percent tip on 62.50", "30% off 45" begin with the share.
    if let [share, of] = amounts
        && share.kind == Kind::Percent
        && of.kind != Kind::Percent
    {
        let between: Vec<&str> = (share.end..of.at).map(|at| s.word(at)).collect();
        let sign = if between.iter().any(|w| ["off", "discount"].contains(w)) {
            return Some(format!("{} * (1 - {} / 100)", shown(of.value), shown(share.value)));
        } else {
            between.iter().any(|w| ["of", "on", "for", "tip", "vat", "from", "in"].contains(w))
        };
        return sign.then(|| format!("{} / 100 * {}", shown(share.value), shown(of.value)));
    }
    let worked = expr::expression(s, first.at);
    let (mut text, mut at, mut atom) = match &worked {
        Some((count, text)) => (text.clone(), first.at + count, false),
        None => (shown(first.value), first.end, true),
    };
    if first.kind == Kind::Percent && worked.is_none() || first.kind == Kind::Ways {
        return None;
    }
    let mut steps = 0;
    let grouped = |text: &str, atom: bool| if atom { text.to_owned() } else { format!("({text})") };
    let end = at;
    for amount in amounts.iter().filter(|amount| amount.at >= end) {
        let before: Vec<&str> = (at..amount.at).map(|at| s.word(at)).collect();
        let next = amounts.iter().map(|a| a.at).filter(|a| *a > amount.at).min().unwrap_or(s.len());
        let behind: Vec<&str> = (amount.end..next.min(amount.end + 4)).map(|at| s.word(at)).collect();
        let any = |words: &[&str]| before.iter().chain(&behind).any(|word| words.contains(word));
        let led = |words: &[&str]| before.iter().any(|word| words.contains(word));
        let step = match amount.kind {
            Kind::Percent if any(OFF) => format!("{} * (1 - {} / 100)", grouped(&text, atom), shown(amount.value)),
            Kind::Percent if any(ON) => format!("{} * (1 + {} / 100)", grouped(&text, atom), shown(amount.value)),
            Kind::Ways => format!("{} / {}", grouped(&text, atom), shown(amount.value)),
            Kind::Plain if led(SPLIT) && amount.value >= 2.0 && amount.value.fract() == 0.0 => {
                format!("{} / {}", grouped(&text, atom), shown(amount.value))
            }
            Kind::Plain | Kind::Money if led(&["plus", "+"]) => {
                format!("{text} + {}", shown(amount.value))
            }
            Kind::Plain | Kind::Money if led(&["minus", "less", "take"]) => format!("{text} - {}", shown(amount.value)),
            Kind::Plain if led(&["times", "x", "multiplied"]) => {
                format!("{} * {}", grouped(&text, atom), shown(amount.value))
            }
            _ => return None,
        };
        (text, at, atom, steps) = (step, amount.end, false, steps + 1);
    }
    // "split that between me and Cal": the people are counted.
    if let Some(people) = people(s, at) {
        (text, steps) = (format!("{} / {people}", grouped(&text, atom)), steps + 1);
    }
    let question =
        s.asks || s.mentions(&["what", "how", "each", "pay", "split", "calculate", "work", "discount", "off", "vat"]);
    (steps > 0 && question || worked.is_some() && question && s.len() <= at - first.at + 8).then_some(text)
}

/// The number of people that something is split between: "me n cal", "Tom, Ana and me".
fn people(s: &Sentence, from: usize) -> Option<usize> {
    let at = (from..s.len()).find(|at| ["between", "among", "amongst"].contains(&s.word(*at)))? + 1;
    if s.word(at) == "us" || number::whole(s, at).is_some() {
        return None;
    }
    let joints = (at..s.len()).filter(|i| {
        ["and", "n", "&"].contains(&s.word(*i))
            || *i > at && s.tokens[*i].after_break && !["and", "n"].contains(&s.word(*i))
    });
    let count = joints.count() + 1;
    ((2..12).contains(&count) && s.len() - at <= 3 * count).then_some(count)
}

/// "rent 1485, priya pays 420, split the rest between me n cal".
fn rest_split(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    let at = (0..s.len()).find(|at| ["rest", "remainder", "remaining"].contains(&s.word(*at)))?;
    if !s.mentions(&["split", "divide", "share", "between"]) {
        return None;
    }
    let (before, after): (Vec<&Amount>, Vec<&Amount>) = amounts.iter().partition(|amount| amount.at < at);
    let parts = match after[..] {
        [] => people(s, at)? as f64,
        [one] => one.value,
        _ => return None,
    };
    let [total, taken @ ..] = &before[..] else { return None };
    let less: Vec<String> = taken.iter().map(|amount| format!(" - {}", shown(amount.value))).collect();
    let plain = before.iter().all(|amount| amount.kind != Kind::Percent);
    (plain && !taken.is_empty()).then(|| format!("({}{}) / {}", shown(total.value), less.concat(), shown(parts)))
}

/// "serves 4 uses 350 g rice, need it for 7".
fn recipe(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    let [first, second, third] = amounts else { return None };
    let before = |amount: &Amount, words: &[&str]| {
        (amount.at.saturating_sub(3)..amount.at).any(|at| words.contains(&s.word(at)))
    };
    let serves: &[&str] = &["serves", "serve", "serving", "feeds", "for", "makes"];
    let wants = s.mentions(&["need", "want", "feed", "feeding", "what", "how", "make", "we"]);
    if !wants || !s.mentions(&["serves", "feeds", "recipe", "makes", "serving"]) {
        return None;
    }
    let (people, amount, wanted) = match () {
        () if before(first, serves) && before(third, &["for", "feed", "feeding", "serve", "need", "are"]) => {
            (first, second, third)
        }
        () if before(second, serves) && before(third, &["for", "feed", "feeding", "serve", "need", "are"]) => {
            (second, first, third)
        }
        () => return None,
    };
    Some(format!("{} / {} * {}", shown(amount.value), shown(people.value), shown(wanted.value)))
}

/// "5 millilitres three times daily for ten days".
fn doses(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    let [dose, times, days, ..] = amounts else { return None };
    let daily = s.has(times.end, &["times", "daily"])
        || s.has(times.end, &["times", "a", "day"])
        || s.has(times.end, &["a", "day"]);
    let lasts = ["days", "nights"].contains(&s.word(days.end));
    let weeks = ["weeks", "week"].contains(&s.word(days.end));
    let asks = s.mentions(&["how", "what", "total", "enough", "altogether"]);
    let n = days.value * if weeks { 7.0 } else { 1.0 };
    (daily && (lasts || weeks) && asks)
        .then(|| format!("{} * {} * {}", shown(dose.value), shown(times.value), shown(n)))
}

/// "three children forty pounds each and Poppy gets twenty five, how much is that altogether".
fn apiece(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    if !s.mentions(&["altogether", "total", "how", "what", "all"]) {
        return None;
    }
    let at = (0..amounts.len().checked_sub(1)?).find(|i| {
        let each = &amounts[i + 1];
        (each.end..each.end + 2).any(|at| ["each", "apiece", "per"].contains(&s.word(at)))
    })?;
    let (count, each) = (&amounts[at], &amounts[at + 1]);
    let whole = count.value.fract() == 0.0 && count.kind != Kind::Percent && count.kind != Kind::Money;
    let others: Vec<String> = amounts
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != at && *i != at + 1)
        .map(|(_, amount)| (amount.kind != Kind::Percent).then(|| format!(" + {}", shown(amount.value))))
        .collect::<Option<_>>()?;
    let adds = others.is_empty() || s.mentions(&["and", "plus"]);
    (whole && adds).then(|| format!("{} * {}{}", shown(count.value), shown(each.value), others.concat()))
}

/// "thirty seven and a half hours at fourteen pounds twenty, what's the lad due".
fn rate(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    let [count, each] = amounts else { return None };
    let joins = (count.end..each.at).any(|at| ["at", "@", "for"].contains(&s.word(at))) && each.at - count.end <= 3;
    let at = (count.end..each.at).any(|at| ["at", "@"].contains(&s.word(at)));
    let per = (each.end..each.end + 3).any(|at| ["each", "per", "an", "a"].contains(&s.word(at)));
    let asks = s.mentions(&["what", "how", "due", "owe", "total", "altogether", "come", "cost"]);
    let kinds = count.kind != Kind::Percent && each.kind != Kind::Percent && count.kind != Kind::Money;
    (asks && kinds && joins && (at || per)).then(|| format!("{} * {}", shown(count.value), shown(each.value)))
}

/// "225 min / 42.195": two numbers with a sign between them, whatever they measure.
fn measured(s: &Sentence, amounts: &[Amount]) -> Option<String> {
    let [a, b] = amounts else { return None };
    // Between a letter and a number a sign is no word.
    let between = &s.text[s.tokens[a.end.checked_sub(1)?].end..s.tokens[b.at].start];
    let sign = ["/", "*", "+"].into_iter().find(|sign| between.trim_end().ends_with(sign))?;
    let unit = unit::unit(s, a.end).is_some_and(|(count, _)| a.end + count >= b.at.saturating_sub(1));
    let ends = b.end == s.len() || unit::unit(s, b.end).is_some_and(|(count, _)| b.end + count == s.len());
    (a.at == 0 && unit && ends).then(|| format!("{} {sign} {}", shown(a.value), shown(b.value)))
}

/// "check ezra's homework: is 3/4 of 600 450", "square root of 1200^2+800^2 please, checking a carcass": the longest sum in it.
fn checked(s: &Sentence) -> Option<String> {
    let asks = s.asks
        || pattern::any(s, &["_ what|how|check|homework|calculate|is|work|equals|=|right|correct|much|answer _"]);
    let roots = (0..s.len()).find(|at| s.has(*at, &["square", "root", "of"]) || s.has(*at, &["root", "of"]));
    if let Some(at) = roots {
        let of = at + if s.word(at) == "square" { 3 } else { 2 };
        let (count, inner) = expr::expression(s, of)?;
        // "the root of a^2 + b^2": of the whole sum, as written together.
        let whole =
            inner.contains('^') && s.text[s.tokens[of].start..s.tokens[of + count - 1].end].split(' ').count() <= 3;
        return whole.then(|| format!("sqrt({inner})"));
    }
    let longest = (0..s.len())
        .filter_map(|at| expr::expression(s, at).map(|(count, text)| (count, at, text)))
        .max_by_key(|(count, at, _)| (*count, usize::MAX - at))?;
    let (count, at, text) = longest;
    let rest = amounts(s).into_iter().filter(|amount| amount.at < at || amount.at >= at + count).count();
    (asks && count >= 3 && rest <= 1 && s.len() <= count + 12).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_prose_are_worked_out() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("64.80 plus 12.5% service split 3 ways", "(64.8 * (1 + 12.5 / 100)) / 3"),
            ("if something's forty five pounds and it's thirty percent off what do I pay", "45 * (1 - 30 / 100)"),
            ("recipe serves 4 uses 350g rice, need it for 7", "350 / 4 * 7"),
            ("check ezras homework: is 3/4 of 600 450", "3 / 4 * 600"),
            ("two thousand four hundred and forty split into three whats each", "2440 / 3"),
            ("one thousand eight hundred and fifty plus the vat at twenty percent", "1850 * (1 + 20 / 100)"),
            ("thirty seven and a half hours at fourteen pounds twenty what's the lad due", "37.5 * 14.2"),
            ("64.99 w 15% student discount", "64.99 * (1 - 15 / 100)"),
            ("rent 1485 pcm, priya has the box room so pays 420, split the rest between me n cal", "(1485 - 420) / 2"),
            (
                "if I give the three children forty pounds each and Poppy gets twenty-five because she's the little one how \
                 much is that altogether out of my purse",
                "3 * 40 + 25",
            ),
            ("She needs 5 milliliters three times daily for ten days - how many mils is that", "5 * 3 * 10"),
            ("leccy bill came, 87 pounds 60, three ways is what each", "87.6 / 3"),
            ("square root of 1200^2+800^2 pls, checking a carcass for square", "sqrt(1200^2 + 800^2)"),
            ("split 60 quid between 4 of us", "60 / 4"),
            ("what's a 15 percent tip on a 62.50 bill", "15 / 100 * 62.5"),
            ("I spent 45 pounds on shoes with 10 percent off", ""),
            ("remind me to pay 45 plus 5 tomorrow", ""),
            ("the meeting is at 3 and I have 4 things", ""),
            ("what is on at 5", ""),
            ("38.60 tesco", ""),
            ("225 min / 42.195", "225 / 42.195"),
            ("bed is six foot by four and I want it nine inches deep, how many cubic foot is that", ""),
        ] {
            let said = match read(&Sentence::read(text)) {
                Some(Reading::Call(_, arguments)) => arguments["expression"].as_str().unwrap_or_default().to_owned(),
                _ => String::new(),
            };
            if said != wanted {
                wrong.push(format!("{text}: {:?}", said));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
