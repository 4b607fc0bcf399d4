//! Regular expressions from callers, within limits of size, text and time.

use crate::{
    bounds::{Deadline, excerpt, result_sentence, run_blocking, short, within},
    words::words,
};
use regex::{Captures, Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use text_kit::counted;
use tool::prelude::*;

/// The maximum length of a pattern in bytes, and of its compiled form.
const PATTERN: usize = 2000;
const COMPILED: usize = 1 << 20;
/// The maximum cost of a search: positions in the pattern, with repetitions expanded, times bytes of text. Without a
/// bounded automaton each costs some nanoseconds, and a search cannot be interrupted.
const COST: u64 = 200_000_000;
/// The maximum number of returned matches, and of replacements or splits.
pub(crate) const MAX_MATCHES: usize = 1000;
const REPLACED: usize = 100_000;
/// The maximum length of a replacement and of the whole result, in bytes.
const REPLACEMENT: usize = 10_000;
const RESULT: usize = 4 << 20;

words! {
    /// A regex operation.
    RegexOperation {
        Match = "match",
        MatchAll = "match_all",
        Replace = "replace",
        Test = "test",
        Split = "split",
    }
}

/// Apply a regular expression to a text: find the first match or all, replace, test, or split. Look-around and back
/// references are not supported.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseRegex {
    /// Regular expression, such as "(\\w+)@(\\w+)"; groups can be named: (?<user>\\w+).
    pattern: String,
    /// Text to search.
    text: String,
    /// Operation (default: replace with `replacement`, else match_all).
    operation: Option<RegexOperation>,
    /// For replace, which replaces every match: $1 or $<name> is a group, $& the match, $$ a dollar sign.
    replacement: Option<String>,
    /// Flags out of g i m s x: i ignores case, m lets ^ and $ match at each line, s lets . match line breaks, x
    /// allows comments.
    flags: Option<String>,
}

pub(crate) async fn use_regex(_: (), _: Cx, args: UseRegex) -> Result<Output> {
    short("text", &args.text)?;
    let flags = args.flags.unwrap_or_default();
    let pattern = compile(&args.pattern, &flags, &args.text)?;
    let act = match (args.operation, &args.replacement) {
        // `g` means all matches.
        (Some(RegexOperation::Match), _) if flags.contains('g') => RegexOperation::MatchAll,
        (Some(act), _) => act,
        (None, Some(_)) => RegexOperation::Replace,
        (None, None) => RegexOperation::MatchAll,
    };
    let (text, replacement) = (args.text, args.replacement);
    run_blocking(move |until| match act {
        RegexOperation::Test => {
            let matches = pattern.is_match(&text);
            let sentence = if matches { "Yes, it matches." } else { "No, it does not match." };
            Ok(Output::json(json!({"operation": act.word(), "matches": matches}))?.say(sentence))
        }
        RegexOperation::Match => found(&pattern, &text, act, 1, until),
        RegexOperation::MatchAll => found(&pattern, &text, act, MAX_MATCHES, until),
        RegexOperation::Replace => {
            let Some(replacement) = replacement else {
                return Err(Error::bad_args("`replacement` is missing: pass the new text, or \"\" to remove"));
            };
            replaced(&pattern, &text, &replacement, until)
        }
        RegexOperation::Split => parted(&pattern, &text, until),
    })
    .await
}

/// Compile a pattern for one text.
///
/// # Errors
/// `BadArgs` with the fault of the pattern, or if pattern and text together are too costly.
pub(crate) fn compile(pattern: &str, flags: &str, text: &str) -> Result<Regex> {
    within("pattern", pattern.len(), PATTERN, "bytes")?;
    let mut builder = RegexBuilder::new(pattern);
    for flag in flags.chars().filter(|c| !c.is_whitespace()) {
        match flag {
            // All matches are found anyway, and text is Unicode.
            'g' | 'u' => &mut builder,
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            other => return Err(Error::bad_args(format!("`{other}` is not a supported flag: use g, i, m, s and x"))),
        };
    }
    let regex = builder.size_limit(COMPILED).dfa_size_limit(COMPILED).build().map_err(|why| {
        Error::bad_args(match why {
            regex::Error::CompiledTooBig(_) => "the pattern is too large: use fewer or smaller repetitions".to_owned(),
            // The last line is the message; the lines before it show the position.
            other => {
                let why = other.to_string();
                let why = why.lines().last().unwrap_or_default();
                let why = why.trim_start_matches("error: ");
                format!("this is not a valid pattern: {why}")
            }
        })
    })?;
    let syntax = regex_syntax::ParserBuilder::new().ignore_whitespace(flags.contains('x')).build().parse(pattern);
    let places = syntax.map_or(u64::MAX, |hir| places(&hir));
    if places.saturating_mul(text.len() as u64) > COST {
        return Err(Error::bad_args(
            "the pattern has too many repetitions for so long a text: use fewer, or less text",
        ));
    }
    Ok(regex)
}

/// The number of states of a pattern, with repetitions expanded.
fn places(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Capture(group) => places(&group.sub),
        HirKind::Repetition(times) => {
            u64::from(times.max.unwrap_or(times.min).max(1)).saturating_mul(places(&times.sub).max(1))
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => all.iter().map(places).fold(0, u64::saturating_add),
    }
}

/// Positions in a text in characters, queried from left to right.
struct Places<'t> {
    text: &'t str,
    bytes: usize,
    characters: usize,
}

impl Places<'_> {
    fn of(&mut self, byte: usize) -> usize {
        self.characters += self.text[self.bytes..byte].chars().count();
        self.bytes = byte;
        self.characters
    }
}

fn found(pattern: &Regex, text: &str, act: RegexOperation, most: usize, until: &Deadline) -> Result<Output> {
    let mut places = Places { text, bytes: 0, characters: 0 };
    let mut matches = Vec::new();
    let mut truncated = false;
    for found in pattern.captures_iter(text) {
        until.check()?;
        if matches.len() == most {
            truncated = act == RegexOperation::MatchAll;
            break;
        }
        let whole = found.get_match();
        let mut entry = json!({"match": whole.as_str(), "index": places.of(whole.start())});
        if found.len() > 1 {
            entry["groups"] = found.iter().skip(1).map(|group| group.map(|g| g.as_str())).collect::<Vec<_>>().into();
        }
        let named = pattern.capture_names().flatten();
        let named: serde_json::Map<String, Value> =
            named.map(|name| (name.to_owned(), found.name(name).map(|g| g.as_str()).into())).collect();
        if !named.is_empty() {
            entry["named"] = named.into();
        }
        matches.push(entry);
    }
    let sentence = match matches.as_slice() {
        [] => "Nothing matches.".to_owned(),
        [one] => format!("It matches {}.", quoted(&one["match"])),
        several => {
            format!("There are {}; the first is {}.", counted(several.len(), "match"), quoted(&several[0]["match"]))
        }
    };
    let answer = json!({
        "operation": act.word(), "matches": matches, "count": matches.len(), "truncated": truncated
    });
    Ok(Output::json(answer)?.say(sentence))
}

fn quoted(text: &Value) -> String {
    format!("“{}”", excerpt(text.as_str().unwrap_or_default()))
}

fn replaced(pattern: &Regex, text: &str, replacement: &str, until: &Deadline) -> Result<Output> {
    within("replacement", replacement.len(), REPLACEMENT, "bytes")?;
    let too_much = || Error::bad_args("too much would be replaced: split the text first");
    let (mut out, mut end, mut count) = (String::with_capacity(text.len()), 0, 0);
    for found in pattern.captures_iter(text) {
        until.check()?;
        let whole = found.get_match();
        out += &text[end..whole.start()];
        expand(replacement, &found, &mut out);
        (end, count) = (whole.end(), count + 1);
        if count > REPLACED || out.len() > RESULT {
            return Err(too_much());
        }
    }
    out += &text[end..];
    if out.len() > RESULT {
        return Err(too_much());
    }
    let sentence = format!("I replaced {}: {}", counted(count, "match"), result_sentence(&out));
    let answer = json!({"operation": RegexOperation::Replace.word(), "result": out, "count": count});
    Ok(Output::json(answer)?.say(sentence))
}

/// Expand group references in a replacement, as in JavaScript; unknown groups stay as written. Stops when the result
/// is too long.
fn expand(replacement: &str, found: &Captures, out: &mut String) {
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        *out += &rest[..at];
        rest = &rest[at..];
        let (text, length) = reference(rest, found).unwrap_or(("$", 1));
        *out += text;
        rest = &rest[length..];
        if out.len() > RESULT {
            return;
        }
    }
    *out += rest;
}

/// The value and length of a group reference at the start of a text.
fn reference<'t>(text: &str, found: &Captures<'t>) -> Option<(&'t str, usize)> {
    let group = |group: Option<regex::Match<'t>>| group.map_or("", |g| g.as_str());
    let bytes = text.as_bytes();
    match bytes.get(1)? {
        b'$' => Some(("$", 2)),
        b'&' => Some((found.get_match().as_str(), 2)),
        b'0'..=b'9' => {
            let number = |digits: usize| text.get(1..=digits)?.parse().ok().filter(|n: &usize| *n < found.len());
            let (number, digits) = number(2).map(|n| (n, 2)).or_else(|| Some((number(1)?, 1)))?;
            Some((group(found.get(number)), digits + 1))
        }
        open @ (b'<' | b'{') => {
            let close = if *open == b'<' { '>' } else { '}' };
            let end = text.find(close)?;
            let name = &text[2..end];
            let by_number = || name.parse().ok().filter(|n: &usize| *n < found.len()).map(|n| group(found.get(n)));
            let value = found.name(name).map(|g| g.as_str()).or_else(by_number)?;
            Some((value, end + 1))
        }
        _ => None,
    }
}

fn parted(pattern: &Regex, text: &str, until: &Deadline) -> Result<Output> {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split(text) {
        until.check()?;
        if parts.len() == REPLACED {
            return Err(Error::bad_args("there would be too many parts: split the text first"));
        }
        parts.push(part);
    }
    let sentence = format!("It falls into {}.", counted(parts.len(), "part"));
    Ok(Output::json(json!({"operation": RegexOperation::Split.word(), "parts": parts, "count": parts.len()}))?
        .say(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    async fn ask(args: Value) -> Result<Output> {
        call(crate::text(), &cx(), "regex", args).await
    }

    #[tokio::test]
    async fn every_operation_answers_in_its_shape() {
        let text = "Ünal <anna@example.org>, ben@example.com";
        let all = ask(json!({"pattern": r"(?<user>\w+)@(\w+)(\.net)?", "text": text})).await.unwrap();
        assert_eq!(
            all.content,
            json!({
                "operation": "match_all", "count": 2, "truncated": false,
                "matches": [
                    {"match": "anna@example", "index": 6, "groups": ["anna", "example", null], "named": {"user": "anna"}},
                    {"match": "ben@example", "index": 25, "groups": ["ben", "example", null], "named": {"user": "ben"}},
                ]
            })
        );
        assert_eq!(all.say.unwrap(), "There are 2 matches; the first is “anna@example”.");
        let rows = [
            (
                json!({"pattern": "a+", "text": "caat a", "operation": "match"}),
                json!({"operation": "match", "matches": [{"match": "aa", "index": 1}], "count": 1, "truncated": false}),
            ),
            (
                json!({"pattern": "^b$", "text": "a\nB", "operation": "test", "flags": "gim"}),
                json!({"operation": "test", "matches": true}),
            ),
            (
                json!({"pattern": r"(\d+)-(\d+)", "text": "1-2 3-4", "replacement": "$2_$1 $$ $9 $<x> ${1}$&"}),
                json!({"operation": "replace", "result": "2_1 $ $9 $<x> 11-2 4_3 $ $9 $<x> 33-4", "count": 2}),
            ),
            (
                json!({"pattern": r"\s*[,;]\s*", "text": "a , b;c", "operation": "split"}),
                json!({"operation": "split", "parts": ["a", "b", "c"], "count": 3}),
            ),
            (
                json!({"pattern": "z", "text": "abc", "operation": "match", "flags": "g"}),
                json!({"operation": "match_all", "matches": [], "count": 0, "truncated": false}),
            ),
        ];
        for (args, wanted) in rows {
            assert_eq!(ask(args.clone()).await.unwrap().content, wanted, "{args}");
        }
        let legacy = call(crate::text(), &cx(), "test_regex", json!({"pattern": "b", "text": "abc"})).await.unwrap();
        assert_eq!(
            (legacy.content, legacy.say.as_deref()),
            (json!({"operation": "test", "matches": true}), Some("Yes, it matches."))
        );
    }

    #[tokio::test]
    async fn what_is_no_pattern_or_too_much_is_refused() {
        let long = "a".repeat(PATTERN + 1);
        let rows = [
            (json!({"pattern": "(", "text": ""}), "unclosed group"),
            (json!({"pattern": r"(?=x)", "text": ""}), "look-around"),
            (json!({"pattern": r"(a)\1", "text": ""}), "backreferences are not supported"),
            (json!({"pattern": r"\w{1000}{1000}", "text": ""}), "too large"),
            (json!({"pattern": long, "text": ""}), "the maximum is 2000"),
            (json!({"pattern": "a", "text": "", "flags": "iq"}), "`q` is not a supported flag"),
            (json!({"pattern": "a", "text": "", "operation": "replace"}), "`replacement` is missing"),
            (json!({"pattern": "a", "text": "x".repeat((1 << 20) + 1)}), "the maximum is 1048576"),
            (json!({"pattern": "[ab]*a[ab]{3000}c", "text": "ab".repeat(1 << 19)}), "too many repetitions"),
            (json!({"pattern": "", "text": "x".repeat(1000), "replacement": "y".repeat(9999)}), "too much"),
        ];
        for (args, wanted) in rows {
            let error = ask(args).await.unwrap_err();
            assert!(matches!(&error, Error::BadArgs(why) if why.contains(wanted)), "{wanted}: {error}");
        }
        let many = ask(json!({"pattern": "a", "text": "a".repeat(5000)})).await.unwrap().content;
        assert_eq!((&many["count"], &many["truncated"]), (&json!(MAX_MATCHES), &json!(true)));
    }

    #[tokio::test]
    async fn one_match_becomes_no_more_than_a_result_may_be() {
        let text = "a".repeat(1 << 20);
        let pattern = Regex::new("(a+)").unwrap();
        let found = pattern.captures(&text).unwrap();
        for replacement in ["$&".repeat(20), "$1-$<1>".repeat(20)] {
            let mut out = String::new();
            expand(&replacement, &found, &mut out);
            assert!(out.len() > RESULT && out.len() <= RESULT + text.len() + REPLACEMENT, "{}", out.len());
            let error = ask(json!({"pattern": "(a+)", "text": text, "replacement": replacement})).await.unwrap_err();
            assert!(matches!(&error, Error::BadArgs(why) if why.contains("too much would be replaced")), "{error}");
        }
        // Text after the last match counts too.
        let text = format!("{}{}", "a".repeat(1 << 19), "b".repeat(1 << 19));
        let error = ask(json!({"pattern": "a+", "text": text, "replacement": "$&".repeat(8)})).await.unwrap_err();
        assert!(error.message().contains("too much would be replaced"), "{error}");
    }

    #[tokio::test]
    async fn hostile_patterns_end_in_time() {
        // Unordered input that no bounded automaton can handle.
        let mut n = 1_u64;
        let mut next = || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if n >> 40 & 1 == 0 { 'a' } else { 'b' }
        };
        let mixed: String = (0..1 << 20).map(|_| next()).collect();
        let begun = Instant::now();
        let answer = ask(json!({"pattern": "[ab]*a[ab]{180}c", "text": mixed})).await;
        assert!(begun.elapsed() < Duration::from_secs(12), "{:?} {answer:?}", begun.elapsed());
        let text = "a".repeat(1 << 20);
        for pattern in ["(a*)*b", "(a|a)*b", ".*[^a]|[a]", "a{0,150}b", "(?:a?){150}b", r"(\w+\s?)*$", "(?i)(a+)+[^a]"]
        {
            let begun = Instant::now();
            let answer = ask(json!({"pattern": pattern, "text": text, "replacement": "b"})).await;
            assert!(begun.elapsed() < Duration::from_secs(12), "{pattern}: {:?} {answer:?}", begun.elapsed());
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// A literal pattern behaves like string functions.
        #[test]
        fn plain_patterns_do_what_strings_do(text in "[abc]{0,30}", part in "[abc]{1,2}", with in "[xyz$]{0,3}") {
            let of = |args: Value| wait(ask(args)).unwrap().content;
            let literal = with.replace('$', "$$");
            let replaced = of(json!({"pattern": part, "text": text, "replacement": literal}));
            prop_assert_eq!(replaced["result"].as_str().unwrap(), text.replace(&part, &with));
            let split = of(json!({"pattern": part, "text": text, "operation": "split"}));
            prop_assert_eq!(&split["parts"], &json!(text.split(&part).collect::<Vec<_>>()));
            let tested = of(json!({"pattern": part, "text": text, "operation": "test"}));
            prop_assert_eq!(&tested["matches"], &json!(text.contains(&part)));
        }

        #[test]
        fn no_pattern_does_harm(pattern in "\\PC{0,12}|[a-c(){}|*+?.\\[\\]^$\\\\0-9<>:=!,-]{0,20}", with in "[$0-9<>{}&a]{0,8}") {
            let answer = wait(ask(json!({"pattern": pattern, "text": "abcä a1\nb", "replacement": with})));
            prop_assert!(matches!(answer, Ok(_) | Err(Error::BadArgs(_))), "{:?}", answer);
        }
    }
}
