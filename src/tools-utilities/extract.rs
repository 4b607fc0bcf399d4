//! Extract URLs, numbers, dates and other patterns from text.

use crate::{
    bounds::{Deadline, excerpt, run_blocking, short},
    patterns::{MAX_MATCHES, compile},
    statistics::number,
    words::choose,
};
use regex::Regex;
use std::{
    collections::HashSet,
    net::{Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};
use text_kit::counted;
use tool::prelude::*;

/// A built-in pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Urls,
    Emails,
    Phones,
    Numbers,
    Dates,
    Hashtags,
    Mentions,
    Ips,
}

/// The built-in patterns: their names, and a regular expression for candidates.
const KINDS: [(Kind, &[&str], &str); 8] = [
    (Kind::Urls, &["urls", "url", "links", "link"], r#"(?i)\b(?:https?://|www\.)[^\s<>"'`{}|\\^\[\]“”‘’]+"#),
    (Kind::Emails, &["emails", "email"], r"(?i)[\p{L}\d._%+'-]+@[\p{L}\d](?:[\p{L}\d-]*\.)+[\p{L}]{2,24}\b"),
    (Kind::Phones, &["phones", "phone", "phone_numbers"], r"(?:\+|\b|\()\d[\d().\-/\u{a0}\u{2011} ]{5,24}\d\b"),
    (
        Kind::Numbers,
        &["numbers", "number"],
        r"(?:\B[-−])?\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|(?:\B[-−])?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3}\b)?",
    ),
    (
        Kind::Dates,
        &["dates", "date"],
        r"(?ix)\b\d{4}-\d\d-\d\d(?:[T\x20]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b
          |\b\d{1,2}\.\x20?\d{1,2}\.\x20?(?:\d{4}|\d\d)\b|\b\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)\b
          |\b\d{1,2}(?:st|nd|rd|th|\.)?\x20(?:of\x20)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?(?:\x20\d{4})?\b
          |\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\x20\d{1,2}(?:st|nd|rd|th)?\b(?:,?\x20\d{4}\b)?",
    ),
    (Kind::Hashtags, &["hashtags", "hashtag"], r"(?:^|[^\w&/#])(#\w*[\p{L}_]\w*)"),
    (Kind::Mentions, &["mentions", "mention"], r"(?:^|[^\w@/.])(@\w[\w.-]*\w|@\w)"),
    (Kind::Ips, &["ips", "ip", "ip_addresses"], r"(?i)\b\d{1,3}(?:\.\d{1,3}){3}\b|[\da-f]*:[\da-f:.]+"),
];

/// Extract urls, emails, phones, numbers, dates, hashtags, mentions or ips from a text, or the matches of a regular
/// expression (its first group, if it has one).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extract {
    /// Text to search.
    text: String,
    /// urls, emails, phones, numbers, dates, hashtags, mentions, ips, or a regular expression.
    pattern: String,
    /// Return repeated matches only once (default: true, but not for numbers).
    unique: Option<bool>,
}

pub(crate) async fn extract(_: (), _: Cx, Extract { text, pattern, unique }: Extract) -> Result<Output> {
    short("text", &text)?;
    let words: Vec<(Kind, &[&str])> = KINDS.iter().map(|(kind, words, _)| (*kind, *words)).collect();
    let kind = choose(&words, &pattern);
    let regex = match kind {
        Some(kind) => builtin_pattern(kind)?.clone(),
        None => compile(&pattern, "", &text)?,
    };
    let unique = unique.unwrap_or(kind != Some(Kind::Numbers));
    let (matches, truncated) = run_blocking(move |until| find(&regex, kind, &text, unique, until)).await?;
    let pattern_name = kind
        .and_then(|kind| KINDS.iter().find(|(k, ..)| *k == kind))
        .map_or(pattern.as_str(), |(_, words, _)| words[0]);
    let thing = if kind.is_some() { pattern_name.trim_end_matches('s') } else { "match" };
    let first: Vec<String> = matches.iter().take(3).map(display_match).collect();
    let sentence = match matches.len() {
        0 => format!("I found no {thing}."),
        n @ 1..=3 => format!("I found {}: {}.", counted(n, thing), first.join(", ")),
        n => format!("I found {}: {} and {} more.", counted(n, thing), first.join(", "), n - 3),
    };
    let answer = json!({"pattern": pattern_name, "matches": matches, "count": matches.len(), "truncated": truncated});
    Ok(Output::json(answer)?.say(sentence))
}

fn display_match(found: &Value) -> String {
    found.as_str().map_or_else(|| found.to_string(), excerpt)
}

fn builtin_pattern(kind: Kind) -> Result<&'static Regex> {
    static REGEXES: LazyLock<Vec<(Kind, Regex)>> = LazyLock::new(|| {
        KINDS.iter().filter_map(|(kind, _, pattern)| Some((*kind, Regex::new(pattern).ok()?))).collect()
    });
    let found = REGEXES.iter().find(|(k, _)| *k == kind).map(|(_, regex)| regex);
    found.ok_or_else(|| Error::failed("this cannot be searched for: pass a regular expression"))
}

/// The matches, and whether there are more.
fn find(regex: &Regex, kind: Option<Kind>, text: &str, unique: bool, until: &Deadline) -> Result<(Vec<Value>, bool)> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for captures in regex.captures_iter(text) {
        until.check()?;
        let part = captures.get(1).unwrap_or_else(|| captures.get_match()).as_str();
        let Some(value) = (match kind {
            Some(kind) => normalize_match(kind, part),
            None => Some(part.into()),
        }) else {
            continue;
        };
        if unique && !seen.insert(value.to_string()) {
            continue;
        }
        if found.len() == MAX_MATCHES {
            return Ok((found, true));
        }
        found.push(value);
    }
    Ok((found, false))
}

/// The normalized match; `None` for a false candidate.
fn normalize_match(kind: Kind, part: &str) -> Option<Value> {
    let text = match kind {
        Kind::Urls => trim_punctuation(part),
        Kind::Emails => part.trim_matches(|c: char| c == '\'' || c == '.').trim_end_matches('-'),
        Kind::Phones => {
            let part = trim_unbalanced(part);
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let one_group = part.bytes().all(|b| b.is_ascii_digit());
            // Phone numbers have up to fifteen digits; an unseparated short run of digits is more likely an amount.
            if !(7..=15).contains(&digits) || (one_group && digits < 9) || is_date(part) || part.contains("  ") {
                return None;
            }
            part
        }
        Kind::Numbers => {
            let plain = part.replace(',', "").replace('−', "-");
            return plain.parse().ok().filter(|n: &f64| n.is_finite()).map(number);
        }
        Kind::Ips => {
            let part = part.trim_end_matches(['.', ':']);
            let part =
                if part.parse::<Ipv4Addr>().is_ok() || part.parse::<Ipv6Addr>().is_ok() { part } else { return None };
            // `::` alone is more often code than an address.
            if part == "::" {
                return None;
            }
            part
        }
        Kind::Dates => part.trim_end_matches([',', ' ']),
        Kind::Hashtags | Kind::Mentions => part,
    };
    (!text.is_empty()).then(|| text.into())
}

/// A URL without the punctuation of its sentence.
fn trim_punctuation(mut url: &str) -> &str {
    let (open, mut close) = (url.matches('(').count(), url.matches(')').count());
    loop {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '…']);
        match url.strip_suffix(')') {
            Some(inner) if close > open => (url, close) = (inner, close - 1),
            _ => return url,
        }
    }
}

/// A number without unbalanced brackets.
fn trim_unbalanced(part: &str) -> &str {
    let part = if part.starts_with('(') && !part.contains(')') { &part[1..] } else { part };
    match part.find(')') {
        Some(at) if !part[..at].contains('(') => part[..at].trim_end(),
        _ => part,
    }
}

fn is_date(part: &str) -> bool {
    builtin_pattern(Kind::Dates).is_ok_and(|dates| dates.find(part).is_some_and(|found| found.start() == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    async fn ask(text: &str, pattern: &str) -> Value {
        let args = json!({"text": text, "pattern": pattern});
        call(crate::text(), &cx(), "extract_from_text", args).await.unwrap().content["matches"].clone()
    }

    #[tokio::test]
    async fn every_form_is_found() {
        let rows = [
            (
                "urls",
                "See https://example.org/a_(b), (http://example.com/x?y=1&z=%20). WWW.example.net! https://example.org/a_(b)",
                json!(["https://example.org/a_(b)", "http://example.com/x?y=1&z=%20", "WWW.example.net"]),
            ),
            (
                "emails",
                "mailto:anna.b+hob@mail.example.org, <ben@müller.example>; not@here, a@b.c 'x@example.com'.",
                json!(["anna.b+hob@mail.example.org", "ben@müller.example", "x@example.com"]),
            ),
            (
                "phones",
                "+43 (0)664 123-4567 or (555) 123-4567, 555.123.4567; on 2026-11-20 it cost 123456 in 1999.",
                json!(["+43 (0)664 123-4567", "(555) 123-4567", "555.123.4567"]),
            ),
            (
                "numbers",
                "5 apples, 5 pears, -3.25 °C, 1,234,567.5 and 6e3; x−2; 3-1; v2 ... 1.",
                json!([5, 5, -3.25, 1_234_567.5, 6000, 2, 3, 1, 2, 1]),
            ),
            (
                "dates",
                "2026-11-20, 2026-11-20T14:30:00Z, 20.11.2026 or 11/20/26, 20 November 2026; Nov 3rd, 2026 and May 5. 3rd of July",
                json!([
                    "2026-11-20",
                    "2026-11-20T14:30:00Z",
                    "20.11.2026",
                    "11/20/26",
                    "20 November 2026",
                    "Nov 3rd, 2026",
                    "May 5",
                    "3rd of July"
                ]),
            ),
            ("hashtags", "#hob and #Küche_2 but not #1, a#b or https://x.org/#top #hob", json!(["#hob", "#Küche_2"])),
            ("mentions", "@anna, (@ben.k) not mail@example.org. @c", json!(["@anna", "@ben.k", "@c"])),
            (
                "ips",
                "10.0.0.1, 300.1.1.1, fe80::1, ::ffff:192.0.2.1, 12:30 and std::vec :: 2001:db8::8a2e:370:7334.",
                json!(["10.0.0.1", "fe80::1", "::ffff:192.0.2.1", "2001:db8::8a2e:370:7334"]),
            ),
            (r"\b[A-Z]{2}\d+", "AB1 and CD23, AB1", json!(["AB1", "CD23"])),
            (r"(\w+)=", "a=1 b=2", json!(["a", "b"])),
        ];
        for (pattern, text, wanted) in rows {
            assert_eq!(ask(text, pattern).await, wanted, "{pattern}");
        }
    }

    #[tokio::test]
    async fn the_old_names_and_other_words_work() {
        let text = "a@example.org wrote 3 mails to https://example.org";
        for (tool, wanted) in [
            ("extract_urls", json!(["https://example.org"])),
            ("extract_emails", json!(["a@example.org"])),
            ("extract_numbers", json!([3])),
        ] {
            let answer = call(crate::text(), &cx(), tool, json!({"text": text})).await.unwrap();
            assert_eq!(answer.content["matches"], wanted, "{tool}");
        }
        assert_eq!(ask(text, "E-Mail").await, json!(["a@example.org"]));
        let args = json!({"text": "a1 b2 c3 d4", "pattern": "numbers"});
        let answer = call(crate::text(), &cx(), "extract_from_text", args).await.unwrap();
        assert_eq!(answer.say.unwrap(), "I found 4 numbers: 1, 2, 3 and 1 more.");
        assert_eq!(answer.content["pattern"], "numbers");
        let none = call(crate::text(), &cx(), "extract_urls", json!({"text": "none"})).await.unwrap();
        assert_eq!(none.say.unwrap(), "I found no url.");
        let bad = call(crate::text(), &cx(), "extract_from_text", json!({"text": "", "pattern": "("})).await;
        assert!(matches!(bad, Err(Error::BadArgs(_))));
    }

    #[tokio::test]
    async fn long_texts_are_searched_in_time() {
        let begun = Instant::now();
        for text in ["a.b-", "1 ", "@a", "::1 ", "((", "1,1", "http://)"].map(|part| part.repeat(200_000)) {
            let text = &text[..text.len().min(1 << 20)];
            for (_, words, _) in KINDS {
                ask(text, words[0]).await;
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn no_text_does_harm(text in "[@#:/.()a-f0-9,+ -]{0,80}|\\PC{0,40}") {
            for (_, words, _) in KINDS {
                wait(ask(&text, words[0]));
            }
        }
    }
}
