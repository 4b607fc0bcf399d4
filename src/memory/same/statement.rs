//! Reads a statement as its meaningful words: synonyms, numbers, dates and times in one form each, names apart.

use super::vocabulary as words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Name,
    /// A number, a date, a time, a weekday or a code.
    Value,
}

/// A meaningful word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    pub kind: Kind,
    /// Its place in the statement.
    pub at: usize,
}

/// A statement as what can be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Statement {
    /// In order, without fillers, denials and markers.
    pub tokens: Vec<Token>,
    pub denies: bool,
    /// Whether it says that something is new.
    pub is_new: bool,
    /// Whether it says that something is over: "no longer".
    pub ends: bool,
    /// Words that it says are wrong: "13 March, not 12".
    pub wrong: Vec<String>,
    /// The place of the word between what it is about and what it says of that.
    pub pivot: Option<usize>,
}

/// A word as it is written.
struct Raw {
    text: String,
    capital: bool,
    /// Whether a comma or a bracket is before it.
    breaks: bool,
}

impl Statement {
    pub fn read(text: &str) -> Self {
        let raw = split(text);
        let german = raw.iter().filter(|w| words::GERMAN.contains(&w.text.as_str())).count() >= 1;
        let mut it = Self::default();
        let (end, wrong) = correction(&raw);
        it.wrong = wrong;
        let mut at = 0;
        while at < end {
            let Some(word) = raw.get(at) else { break };
            let text = word.text.as_str();
            // French denies with two words, of which the second says how.
            if text == "ne" || text == "n" {
                let second = raw.get(at + 1..end).unwrap_or_default().iter().take(4);
                it.denies = true;
                let ends = second.clone().any(|w| w.text == "plus");
                (it.ends, it.is_new) = (it.ends || ends, it.is_new || ends);
                at += 1;
                continue;
            }
            if words::NEGATIONS.contains(&text) {
                it.denies = true;
                at += 1;
                continue;
            }
            if text == "anymore" || text == "mehr" {
                (it.ends, it.is_new) = (true, true);
            }
            if it.pivot.is_none() && at > 0 && words::PIVOTS.contains(&text) {
                it.pivot = Some(at);
            }
            // "New Year" and "New York" are names.
            let marks = words::MARKERS.contains(&text) && !(word.capital && at > 0);
            if marks && (text != "plus" || it.denies) {
                it.is_new = true;
                if !["moved", "umgezogen", "demenage"].contains(&text) {
                    at += 1;
                    continue;
                }
            }
            if let Some((value, used)) = value(&raw, at, end) {
                it.tokens.extend(value.into_iter().map(|text| Token { text, kind: Kind::Value, at }));
                at += used;
                continue;
            }
            at += 1;
            let here = at - 1;
            if words::FILLERS.contains(&text) && !(word.capital && text.len() > 3 && here > 0) {
                continue;
            }
            let name = is_name(&raw, here, german);
            let kind = if name { Kind::Name } else { Kind::Word };
            for text in meanings(text, name, german, raw.get(here + 1)) {
                it.tokens.push(Token { text, kind, at: here });
            }
        }
        it
    }
}

/// Splits a statement into words, without accents, in lower case.
fn split(text: &str) -> Vec<Raw> {
    let plain = fold(text);
    let mut lower = format!(
        " {} ",
        plain.replace('’', "'").to_lowercase().replace("n't", " not").replace("'m ", " am ").replace("'re ", " are ")
    );
    for (phrase, word) in words::PHRASES {
        if lower.contains(phrase) {
            lower = lower.replace(&format!(" {phrase} "), &format!(" {word} "));
        }
    }
    // Capital letters are looked up in the text as written; a replaced phrase has none.
    let capitals: Vec<String> = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.chars().next().is_some_and(char::is_uppercase))
        .map(str::to_lowercase)
        .collect();
    let mut all: Vec<Raw> = vec![];
    let (mut word, mut breaks) = (String::new(), false);
    let mut chars = lower.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        let digits = previous.is_ascii_digit() && next.is_ascii_digit();
        // Within a number, a time, an address and a code such marks belong to the word.
        let inside = matches!(c, '.' | ':' | ',' | '/') && digits
            || matches!(c, '-' | '_' | '@' | '#' | '!' | '$')
                && !word.is_empty()
                && next.is_alphanumeric()
                && is_code(&word, &lower_rest(&chars));
        if c.is_alphanumeric() || inside {
            word.push(c);
        } else {
            if !word.is_empty() {
                let capital = capitals.contains(&word);
                all.push(Raw { text: std::mem::take(&mut word), capital, breaks });
                breaks = false;
            }
            breaks |= matches!(c, ',' | '(' | ';' | '–' | '—');
        }
        previous = c;
    }
    all
}

fn lower_rest(chars: &std::iter::Peekable<std::str::Chars<'_>>) -> String {
    chars.clone().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// Whether two parts around a hyphen are one code: one of them has a digit.
fn is_code(before: &str, after: &str) -> bool {
    before.bytes().chain(after.bytes()).any(|b| b.is_ascii_digit())
}

fn fold(text: &str) -> String {
    let plain = |c: char| match c {
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        'Á' | 'À' | 'Â' | 'Ä' => 'A',
        'É' | 'È' | 'Ê' | 'Ë' => 'E',
        'Í' | 'Î' => 'I',
        'Ó' | 'Ô' | 'Ö' => 'O',
        'Ú' | 'Û' | 'Ü' => 'U',
        'Ñ' => 'N',
        'Ç' => 'C',
        c => c,
    };
    text.replace('ß', "ss").chars().map(plain).collect()
}

/// The end of the statement before a correction, and the words that are wrong: "…, not on 12 March".
fn correction(raw: &[Raw]) -> (usize, Vec<String>) {
    const NOT: &[&str] = &["not", "nicht", "no", "pas", "statt"];
    for at in (2..raw.len()).rev() {
        let Some(word) = raw.get(at) else { continue };
        let rest = raw.get(at + 1..).unwrap_or_default();
        let last = rest.len() <= 5 && !rest.is_empty();
        if last && NOT.contains(&word.text.as_str()) && (word.breaks || word.text == "statt") {
            let mut wrong = vec![];
            let mut next = at + 1;
            while next < raw.len() {
                if let Some((values, used)) = value(raw, next, raw.len()) {
                    wrong.extend(values);
                    next += used;
                    continue;
                }
                let text = raw.get(next).map(|w| w.text.clone()).unwrap_or_default();
                if !words::FILLERS.contains(&text.as_str()) {
                    wrong.push(canonical(&text));
                }
                next += 1;
            }
            return (at, wrong);
        }
    }
    (raw.len(), vec![])
}

fn position(lists: &[&[&str]], word: &str) -> Option<usize> {
    lists.iter().position(|list| list.contains(&word))
}

/// The number of a word or of digits: "three", "4th", "12.".
fn number(word: &str) -> Option<u32> {
    if let Some(n) = position(words::NUMBERS, word) {
        return Some(n as u32);
    }
    let digits = ["st", "nd", "rd", "th", "er", "º"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    (digits.len() <= 4).then(|| digits.parse().ok()).flatten()
}

/// The values that begin at a word, in one form, and how many words they are: `12 March` and `March 12` are `date:3-12`.
fn value(raw: &[Raw], at: usize, end: usize) -> Option<(Vec<String>, usize)> {
    let word = |n: usize| raw.get(n).filter(|_| n < end).map_or("", |w| w.text.as_str());
    let here = word(at);
    if let Some(day) = position(words::WEEKDAYS, here) {
        return Some((vec![format!("day:{day}")], 1));
    }
    // "12 de marzo", "4th of June", "12 March 1990".
    let glue = |n: usize| usize::from(["of", "de"].contains(&word(n)));
    if let Some(day) = number(here).filter(|n| (1..=31).contains(n)) {
        let month_at = at + 1 + glue(at + 1);
        if let Some(month) = position(words::MONTHS, word(month_at)) {
            let (year, used) = year(raw, month_at + 1, end);
            return Some((date(month, day, year), month_at + 1 + used - at));
        }
    }
    if let Some(month) = position(words::MONTHS, here) {
        if let Some(day) = number(word(at + 1)).filter(|n| (1..=31).contains(n)) {
            let (year, used) = year(raw, at + 2, end);
            return Some((date(month, day, year), 2 + used));
        }
        // "may" is also a verb.
        return (here != "may" || raw.get(at).is_some_and(|w| w.capital))
            .then(|| (vec![format!("month:{}", month + 1)], 1));
    }
    let parts: Vec<&str> = here.split('.').collect();
    if let [day, month, rest @ ..] = parts.as_slice()
        && let (Some(day), Ok(month)) = (number(day), month.parse::<usize>())
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && rest.len() <= 1
    {
        return Some((date(month - 1, day, rest.first().map(|y| (*y).to_owned())), 1));
    }
    if let Some((minutes, used)) = time(&word, at) {
        return Some((vec![format!("time:{minutes}")], used));
    }
    if let Some(n) = number(here) {
        return Some((vec![n.to_string()], 1));
    }
    here.bytes().any(|b| b.is_ascii_digit()).then(|| (vec![here.to_owned()], 1))
}

fn date(month: usize, day: u32, year: Option<String>) -> Vec<String> {
    let mut all = vec![format!("date:{}-{day}", month + 1)];
    all.extend(year.map(|year| format!("year:{year}")));
    all
}

fn year(raw: &[Raw], at: usize, end: usize) -> (Option<String>, usize) {
    let glue = usize::from(raw.get(at).is_some_and(|w| w.text == "de"));
    let found = raw.get(at + glue).filter(|_| at + glue < end).map(|w| w.text.as_str());
    let year = found.filter(|w| w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit()));
    (year.map(str::to_owned), if year.is_some() { 1 + glue } else { 0 })
}

/// The minutes of a time of day: "7 pm", "19:00", "18 Uhr", "18 h 30", "6 de la tarde".
fn time<'a>(word: &impl Fn(usize) -> &'a str, at: usize) -> Option<(u32, usize)> {
    let here = word(at);
    let clock = |text: &str| -> Option<(u32, u32)> {
        let (hours, minutes) = text.split_once([':', 'h'])?;
        let minutes = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
        Some((hours.parse().ok()?, minutes))
    };
    let (twelve, here) = match (here.strip_suffix("pm"), here.strip_suffix("am")) {
        (Some(hours), _) if !hours.is_empty() => (Some(12), hours),
        (_, Some(hours)) if !hours.is_empty() => (Some(0), hours),
        _ => (None, here),
    };
    let (hours, minutes, marked) = match clock(here) {
        Some((hours, minutes)) => (hours, minutes, true),
        None => (here.parse().ok()?, 0, false),
    };
    let valid = hours < 24 && minutes < 60;
    let half = |half: u32, hours: u32| (if hours == 12 { half } else { hours + half }) * 60 + minutes;
    if !valid {
        return None;
    }
    if let Some(add) = twelve.filter(|_| hours <= 12) {
        return Some((half(add, hours), 1));
    }
    match (word(at + 1), word(at + 2), word(at + 3)) {
        ("pm", ..) if hours <= 12 => Some((half(12, hours), 2)),
        ("am", ..) if hours <= 12 => Some((half(0, hours), 2)),
        ("de", "la", "tarde" | "noche") if hours <= 12 => Some((half(12, hours), 4)),
        ("de", "la", "manana") if hours <= 12 => Some((half(0, hours), 4)),
        ("uhr" | "h" | "heures", ..) => Some((hours * 60 + minutes, 2)),
        _ if marked => Some((hours * 60 + minutes, 1)),
        _ => None,
    }
}

/// Whether a word is a name. German writes every noun with a capital letter.
fn is_name(raw: &[Raw], at: usize, german: bool) -> bool {
    let Some(word) = raw.get(at).filter(|w| w.capital && w.text.len() > 1) else { return false };
    let before = at.checked_sub(1).and_then(|n| raw.get(n)).map_or("", |w| w.text.as_str());
    let known = words::SYNONYMS.iter().any(|all| all.contains(&word.text.as_str()));
    !known && !(german && words::DETERMINERS.contains(&before))
}

/// The meanings of a word: one, or the parts of a German compound.
fn meanings(text: &str, name: bool, german: bool, next: Option<&Raw>) -> Vec<String> {
    if position(words::SYNONYMS, text).is_none()
        && let Some((head, front)) = words::HEADS
            .iter()
            .find_map(|head| Some((*head, text.strip_suffix(head)?)))
            .filter(|(_, front)| front.len() >= 3)
    {
        let front = front.strip_suffix("en").or_else(|| front.strip_suffix(['n', 's'])).unwrap_or(front);
        return vec![canonical(front), canonical(head)];
    }
    // "Annas Geburtstag".
    if german && name && next.is_some_and(|w| w.capital && position(words::SYNONYMS, &w.text).is_some()) {
        return vec![text.strip_suffix('s').unwrap_or(text).to_owned()];
    }
    vec![if name { text.to_owned() } else { canonical(text) }]
}

/// The first of a word's synonyms, or its stem.
fn canonical(text: &str) -> String {
    let known = |word: &str| position(words::SYNONYMS, word).and_then(|n| words::SYNONYMS.get(n)?.first().copied());
    if let Some(first) = known(text) {
        return first.to_owned();
    }
    let stem = stem(text);
    known(stem).unwrap_or(stem).to_owned()
}

/// Endings of plurals and cases.
fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] = &["es", "en", "s", "e", "n"];
    if word.bytes().any(|b| b.is_ascii_digit()) {
        return word;
    }
    ENDINGS
        .iter()
        .find_map(|end| word.strip_suffix(end).filter(|s| s.len() >= 4 || *end == "s" && s.len() == 3))
        .unwrap_or(word)
}
