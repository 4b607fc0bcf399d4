//! Readings in any words: "log a reading of 3.91 in the battery table", "avg of battery", "fastest run so far?".

use super::{Change, Reading};
use crate::{
    sentence::Sentence,
    slots::{date, number, unit},
};
use jiff::Zoned;
use serde_json::{Value, json};

const OTHERS: &[&str] = &[
    "remind",
    "timer",
    "alarm",
    "calendar",
    "list",
    "goal",
    "task",
    "tasks",
    "note",
    "expense",
    "expenses",
    "spent",
    "money",
    "bill",
    "bookmark",
    "create",
    "make",
    "set",
    "delete",
    "remove",
    "event",
    "price",
    "pounds",
    "mountain",
    "building",
    "world",
    "spend",
    "temperature",
];
/// What is asked of readings, and the words for it.
const MEASURES: &[(&str, &[&str])] = &[
    ("average", &["average", "avg", "mean", "averaging"]),
    (
        "highest",
        &[
            "highest", "max", "maximum", "peak", "worst", "wettest", "hottest", "heaviest", "longest", "top",
            "biggest", "record",
        ],
    ),
    (
        "lowest",
        &["lowest", "min", "minimum", "fastest", "coldest", "lightest", "shortest", "smallest", "quickest", "driest"],
    ),
    ("total", &["total", "sum", "altogether"]),
    ("last", &["last", "latest", "newest", "recent"]),
    ("first", &["first", "earliest"]),
];
/// Words of a question that are no part of a table's name.
const SMALL: &[&str] = &[
    "what",
    "whats",
    "is",
    "are",
    "was",
    "were",
    "the",
    "a",
    "an",
    "of",
    "in",
    "on",
    "my",
    "our",
    "for",
    "so",
    "far",
    "has",
    "have",
    "been",
    "it",
    "we",
    "i",
    "me",
    "show",
    "give",
    "tell",
    "reading",
    "readings",
    "entry",
    "entries",
    "value",
    "values",
    "log",
    "logged",
    "table",
    "tables",
    "to",
    "from",
    "most",
    "and",
    "one",
    "ever",
    "had",
    "up",
    "out",
    "do",
    "did",
    "does",
    "at",
    "that",
    "there",
    "according",
    "how",
    "much",
    "many",
    "used",
    "use",
    "since",
    "difference",
    "change",
    "changed",
    "between",
    "this",
    "number",
    "numbers",
    "ones",
    "her",
    "his",
    "their",
    "all",
];

/// A question about the readings in a table.
pub(super) fn asked(s: &Sentence, now: &Zoned) -> Option<Reading> {
    if s.mentions(OTHERS) || s.len() > 14 {
        return None;
    }
    let subject = s.mentions(&["table", "reading", "readings", "entry", "entries", "logged"]);
    let found = (0..s.len()).find_map(|at| {
        MEASURES.iter().find(|(_, words)| words.contains(&s.word(at))).map(|(measure, _)| (at, *measure))
    });
    let since = (0..s.len()).find(|at| s.word(*at) == "since");
    let change = subject && s.mentions(&["since", "difference", "change", "changed", "used"]) && found.is_none();
    let (at, measure) = match found {
        Some(found) => found,
        None if change => (s.len(), "change"),
        None => return None,
    };
    // Without the word "table" or "reading", a sentence is short and begins with what is asked.
    let opens = at == 0
        || (0..at).all(|i| ["what", "is", "whats", "the", "my", "our", "show", "me", "a", "give"].contains(&s.word(i)));
    let sound = match measure {
        "average" => opens,
        "total" => at == 0 && s.len() >= 2 && s.mentions(&["on", "for", "in"]),
        "last" | "first" => {
            opens
                && (number::whole(s, at + 1).is_some() && s.has(at + 2, &["in"])
                    || number::whole(s, at + 1).is_some() && s.word(at + 3) == "in")
        }
        _ => at == 0 && s.len() <= 5 || opens && s.mentions(&["been", "far", "ever"]) && s.len() <= 9,
    };
    if !subject && !sound {
        return None;
    }
    let mut arguments = json!({"measure": measure});
    let mut covered = vec![at];
    if let Some((count, n)) =
        number::whole(s, at + 1).filter(|(_, n)| ["last", "first"].contains(&measure) && (1..=20).contains(n))
    {
        arguments["count"] = json!(n);
        covered.extend(at + 1..at + 1 + count);
    }
    if let Some(at) = since {
        let (count, day) = date::past(s, at + 1, now.date())?;
        arguments["since"] = json!(day.date.to_string());
        covered.extend(at..=at + count);
    }
    // "total hours on hartley": only the records about it.
    if let Some(on) = (at + 2..s.len().saturating_sub(1)).find(|i| ["on", "for", "by"].contains(&s.word(*i))) {
        let words = s.slice(on + 1, s.len());
        if !subject && !SMALL.contains(&s.word(on + 1)) && words.split(' ').count() <= 3 {
            arguments["search"] = json!(words);
            covered.extend(on..s.len());
        }
    }
    let name = |words: &mut dyn Iterator<Item = usize>| -> String {
        let words = words.filter(|at| !covered.contains(at) && !SMALL.contains(&s.word(*at)));
        let words: Vec<String> = words.map(|at| s.word(at).trim_end_matches("'s").to_owned()).collect();
        words.join(" ")
    };
    // The name ends at a comma: "what's the worst my sugar's been, the top one".
    let end = (1..s.len()).find(|i| s.tokens[*i].after_break && *i > at + 1).unwrap_or(s.len());
    let table = name(&mut (0..end));
    (!table.is_empty() && table.split(' ').count() <= 4).then(|| {
        arguments["table"] = json!(table);
        Reading::Call("summarize_readings", arguments)
    })
}

/// A reading to be logged.
pub(super) fn changes(s: &Sentence, now: &Zoned) -> Option<Change> {
    const VERBS: &[&str] =
        &["log", "record", "add", "put", "enter", "note", "mark", "stick", "write", "save", "track", "jot"];
    const OTHER: &[&str] = &[
        "remind",
        "timer",
        "alarm",
        "calendar",
        "list",
        "goal",
        "expense",
        "spent",
        "pounds",
        "quid",
        "minus",
        "plus",
        "what",
        "how",
        "average",
        "avg",
        "should",
        "delete",
        "wake",
        "book",
        "reserve",
        "lay",
        "restaurant",
    ];
    if s.asks || s.mentions(OTHER) || s.len() > 24 {
        return None;
    }
    let table = (0..s.len()).find(|at| ["table", "chart"].contains(&s.word(*at)));
    let reading = s.mentions(&["reading", "readings"]);
    let logs = VERBS.contains(&s.word(0));
    let down = s.has(0, &["put"]) && s.mentions(&["down"]);
    if !(table.is_some() && (logs || s.mentions(VERBS) || s.len() <= 7) || reading || s.word(0) == "log" || down) {
        return None;
    }
    let (values, mut covered) = values(s, now)?;
    let day = (0..s.len()).filter(|at| !covered.contains(at)).find_map(|at| {
        date::past(s, at, now.date()).filter(|(_, day)| day.date == day.last).map(|(count, day)| (at, count, day.date))
    });
    let mut arguments = json!({"values": values});
    if let Some((at, count, date)) = day {
        let part = usize::from(["morning", "afternoon", "evening"].contains(&s.word(at + count)));
        covered.extend(at..at + count + part);
        if date != now.date() {
            arguments["date"] = json!(date.to_string());
        }
    }
    const FILLS: &[&str] = &[
        "log", "record", "add", "put", "enter", "note", "mark", "stick", "write", "save", "track", "jot", "a", "an",
        "the", "my", "our", "reading", "readings", "of", "in", "into", "on", "to", "it", "is", "was", "down", "table",
        "chart", "for", "at", "and", "up", "this", "morning", "today", "please", "with", "that", "new", "her", "his",
        "number", "as",
    ];
    let free = |at: usize| at < s.len() && !covered.contains(&at);
    let first_value = covered.first().copied().unwrap_or_default();
    let word_run = |begin: usize, end: usize| -> String {
        let words = (begin..end).filter(|at| free(*at) && !FILLS.contains(&s.word(*at)));
        words.map(|at| s.word(at).to_owned()).collect::<Vec<_>>().join(" ")
    };
    let comma = (1..s.len()).find(|at| s.tokens[*at].after_break && *at > first_value).unwrap_or(s.len());
    let (name, note) = match table {
        // "in the battery table": the words before it; what stands elsewhere is a note.
        Some(at) => {
            let begin = (0..at)
                .rev()
                .find(|i| ["in", "into", "on", "to", "the", "my", "our"].contains(&s.word(*i)) || covered.contains(i))
                .map_or(0, |i| i + 1);
            let name = word_run(begin, at);
            let rest = word_run(0, begin.min(at));
            if name.is_empty() {
                (rest.split(' ').next().unwrap_or_default().to_owned(), String::new())
            } else {
                (name, rest)
            }
        }
        None => (word_run(0, comma), s.slice(comma, s.len()).to_owned()),
    };
    let fits = !name.is_empty() && name.split(' ').count() <= 4;
    if !fits {
        return None;
    }
    arguments["table"] = json!(name);
    if !note.is_empty() && note.split(' ').count() <= 8 {
        arguments["note"] = json!(note);
    }
    if table.is_some() {
        arguments["create"] = json!(true);
    }
    Some(Change { tool: "log_reading", arguments, sure: table.is_some() || reading || s.word(0) == "log" })
}

/// The numbers of a reading, and their tokens: "142 over 78", "seven mil", "a hundred and thirty six".
fn values(s: &Sentence, now: &Zoned) -> Option<(Vec<Value>, Vec<usize>)> {
    let (mut found, mut covered, mut at) = (vec![], vec![], 0);
    while at < s.len() {
        let dated = date::day(s, at, now.date()).is_some();
        match number::number(s, at).filter(|_| !(dated || s.word(at) == "one" && at > 0)) {
            Some((count, mut n)) => {
                let mut end = at + count;
                if s.has(end, &["and", "a", "half"]) {
                    (n, end) = (n + 0.5, end + 3);
                }
                if let Some((more, _)) = unit::unit(s, end) {
                    end += more;
                } else if ["mil", "mm", "percent", "hrs"].contains(&s.word(end)) {
                    end += 1;
                }
                // "142 over 78".
                end += usize::from(["over", "/"].contains(&s.word(end)) && number::number(s, end + 1).is_some());
                found.push(number::json(n));
                covered.extend(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    (1..=4).contains(&found.len()).then_some((found, covered))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-23T09:00[Europe/London]".parse().unwrap()
    }

    #[test]
    fn readings_are_asked_about() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("whats the last reading in electric", r#"{"measure":"last","table":"electric"}"#),
            ("fastest run so far?", r#"{"measure":"lowest","table":"run"}"#),
            ("avg of battery", r#"{"measure":"average","table":"battery"}"#),
            ("last three battery readings", r#"{"count":3,"measure":"last","table":"battery"}"#),
            ("total hours on hartley", r#"{"measure":"total","search":"hartley","table":"hours"}"#),
            ("avg weight", r#"{"measure":"average","table":"weight"}"#),
            ("worst resting hr so far?", r#"{"measure":"highest","table":"resting hr"}"#),
            ("show me the last five in long runs", r#"{"count":5,"measure":"last","table":"long runs"}"#),
            (
                "how much have we used since the 1st according to the meter table",
                r#"{"measure":"change","since":"2026-11-01","table":"meter"}"#,
            ),
            ("what is the last thing on the calendar", ""),
            ("who was the first man on the moon", ""),
            ("the highest mountain", ""),
        ] {
            let said = match asked(&Sentence::read(text), &now()) {
                Some(Reading::Call(_, arguments)) => arguments.to_string(),
                _ => String::new(),
            };
            if said != wanted {
                wrong.push(format!("{text}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn readings_are_logged() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("log a reading of 3.91 in the battery table", r#"true {"create":true,"table":"battery","values":[3.91]}"#),
            (
                "log bp 142 over 78, left arm, sitting",
                r#"true {"note":"left arm, sitting","table":"bp","values":[142,78]}"#,
            ),
            (
                "isla 107.5 today height table",
                r#"true {"create":true,"note":"isla","table":"height","values":[107.5]}"#,
            ),
            (
                "put my blood pressure down it's a hundred and thirty six",
                r#"false {"table":"blood pressure","values":[136]}"#,
            ),
            ("meter reading 30541 gas", r#"true {"table":"meter gas","values":[30541]}"#),
            (
                "put seven mil in the rain gauge table for yesterday",
                r#"true {"create":true,"date":"2026-11-22","table":"rain gauge","values":[7]}"#,
            ),
            ("put 2 eggs on the list", ""),
            ("log 8 hrs", ""),
            ("book a table for 4", ""),
        ] {
            let said =
                changes(&Sentence::read(text), &now()).map_or(String::new(), |c| format!("{} {}", c.sure, c.arguments));
            if said != wanted {
                wrong.push(format!("{text}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
