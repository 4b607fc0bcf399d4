//! The corpus with its precision and recall, and properties of any text.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const SECRETS: &str = include_str!("corpus/secrets.txt");
const ORDINARY: &str = include_str!("corpus/ordinary.txt");

/// The lines of a corpus, unescaped; see the head of the file.
fn lines(corpus: &str) -> impl Iterator<Item = String> {
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| line.replace('¦', "").replace('↵', "\n"))
}

/// The text without its marks, and the text with every marked part removed.
fn marked(line: &str) -> (String, String) {
    let (mut plain, mut cut, mut inside) = (String::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '⟦' => (inside, cut) = (true, cut + MARK),
            '⟧' => inside = false,
            _ => {
                plain.push(c);
                cut.extend((!inside).then_some(c));
            }
        }
    }
    (plain, cut)
}

#[test]
fn corpus_precision_and_recall() {
    let scrubber = Scrubber::default();
    let (mut secrets, mut found, mut wrong) = (0, 0, vec![]);
    for line in lines(SECRETS) {
        let (plain, expected) = marked(&line);
        let marks = line.matches('⟦').count();
        assert!(marks > 0, "nothing marked: {line}");
        secrets += marks;
        let out = scrubber.text(&plain, How::All);
        if out == expected {
            found += marks;
        } else {
            wrong.push(format!("{expected}\n    became {out}"));
        }
        // The result is the same inside a longer text and as a JSON string.
        let around = |text: &str| format!("ordinary line\n{text}\nanother line");
        if scrubber.text(&around(&plain), How::All) != around(&out) {
            wrong.push(format!("between other lines: {plain}"));
        }
        let mut value = json!({"text": plain});
        if (scrubber.value(&mut value, How::All), &value["text"]) != (1, &json!(out)) {
            wrong.push(format!("as a value: {value}"));
        }
    }
    let (mut ordinary, mut kept) = (0, 0);
    for line in lines(ORDINARY) {
        let (text, how) = line.strip_prefix("digest| ").map_or((line.as_str(), How::All), |text| (text, How::Digests));
        ordinary += 1;
        let out = scrubber.text(text, how);
        let mut value: Value = serde_json::from_str(text).unwrap_or_else(|_| json!([text]));
        let inside = scrubber.value(&mut value, how) == 0;
        // And as JSON within JSON.
        let escaped = json!({"content": text}).to_string();
        if out == text && inside && scrubber.text(&escaped, how) == escaped {
            kept += 1;
        } else {
            wrong.push(format!("ordinary: {text}\n    became {out}, {}", scrubber.text(&escaped, how)));
        }
    }
    let precision = found as f64 / (found + ordinary - kept) as f64;
    let recall = found as f64 / secrets as f64;
    println!("{secrets} secrets, {found} found; {ordinary} ordinary lines, {kept} kept");
    println!("precision {precision:.3}, recall {recall:.3}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(secrets >= 120 && ordinary >= 400);
}

#[test]
fn json_of_the_corpus_stays_json() {
    let whole = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    let checked = lines(SECRETS).map(|line| marked(&line).0).filter(|text| whole(text)).inspect(|text| {
        let out = Scrubber::default().text(text, How::All).into_owned();
        assert!(whole(&out), "{out}");
    });
    assert!(checked.count() >= 20);
}

#[test]
fn digests_keep_long_hex_and_nothing_else() {
    let scrubber = Scrubber::default();
    let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    assert_eq!(scrubber.text(hex, How::All), MARK);
    assert_eq!(scrubber.text(hex, How::Digests), hex);
    assert_eq!(scrubber.text("password=hunter2", How::Digests), "password=[REDACTED]");
    scrubber.add(hex);
    assert_eq!(scrubber.text(hex, How::Digests), MARK);
}

#[test]
fn registered_values_in_every_form() {
    let scrubber = Scrubber::default();
    let value = "gärten & \"Zäune\"/42?";
    scrubber.set("config-center", [value.to_owned()]);
    let rows = [
        ("a gärten & \"Zäune\"/42? b", "a [REDACTED] b"),
        ("xgärten & \"Zäune\"/42?x", "x[REDACTED]x"),
        (r#"{"x":"gärten & \"Zäune\"/42?"}"#, r#"{"x":"[REDACTED]"}"#),
        (r#"{"x":"gärten & \"Zäune\"\/42?"}"#, r#"{"x":"[REDACTED]"}"#),
        (r#"{"x":"g\u00e4rten & \"Z\u00e4une\"/42?"}"#, r#"{"x":"[REDACTED]"}"#),
        ("?q=g%C3%A4rten%20%26%20%22Z%C3%A4une%22%2F42%3F&x=1", "?q=[REDACTED]&x=1"),
        ("?q=g%c3%a4rten%20%26%20%22Z%c3%a4une%22%2f42%3f&x=1", "?q=[REDACTED]&x=1"),
        ("?q=g%C3%A4rten+%26+%22Z%C3%A4une%22%2F42%3F&x=1", "?q=[REDACTED]&x=1"),
        ("<b>gärten &amp; &quot;Zäune&quot;/42?</b>", "<b>[REDACTED]</b>"),
        ("Z8OkcnRlbiAmICJaw6R1bmUiLzQyPw==.", "[REDACTED]."),
        ("Z8OkcnRlbiAmICJaw6R1bmUiLzQyPw.", "[REDACTED]."),
        ("67c3a47274656e202620225ac3a4756e65222f34323f!", "[REDACTED]!"),
        ("67C3A47274656E202620225AC3A4756E65222F34323F!", "[REDACTED]!"),
        ("gärten & \"Zäune\"", "gärten & \"Zäune\""),
    ];
    for (text, expected) in rows {
        assert_eq!(scrubber.text(text, How::All), expected);
    }
    // base64 of `user:` and of `ab` before the value: the other two offsets.
    scrubber.set("config-center", ["correcthorse".to_owned()]);
    for (text, expected) in [
        ("X2NvcnJlY3Rob3JzZQ==", "X[REDACTED]"),
        ("YWJjb3JyZWN0aG9yc2U=", "YW[REDACTED]"),
        ("Y29ycmVjdGhvcnNl", "[REDACTED]"),
        ("Y29ycmVjdGhvcnNlIGFuZCBtb3Jl", "[REDACTED]IGFuZCBtb3Jl"),
    ] {
        assert_eq!(scrubber.text(text, How::All), expected);
    }
}

#[test]
fn registered_values_short_long_and_overlapping() {
    let scrubber = Scrubber::default();
    scrubber.set(
        "a",
        ["abc", "anna", "garden", "gardenparty2026", "party2026july", "[REDACTED]", "  ", "EDAC"].map(String::from),
    );
    for (text, expected) in [
        ("abc", "abc"),
        ("anna annabelle hanna anna_x Ännanna", "[REDACTED] annabelle hanna anna_x Ännanna"),
        ("(anna) über-anna-", "([REDACTED]) über-[REDACTED]-"),
        ("YW5uYQ== is base64, xYW5uYQ== is not hers", "[REDACTED] is base64, xYW5uYQ== is not hers"),
        ("the garden, the gardener", "the [REDACTED], the gardener"),
        ("gardenparty2026july!", "[REDACTED]!"),
        ("[REDACTED]", "[REDACTED]"),
    ] {
        assert_eq!(scrubber.text(text, How::All), expected);
    }
    let long = "k1".repeat(2000);
    scrubber.add(format!(" {long}\n"));
    assert_eq!(scrubber.text(&format!("{long}."), How::All), "[REDACTED].");
    let begins = "k1".repeat(1999) + "k";
    assert_eq!(scrubber.text(&begins, How::All), begins);
}

#[test]
fn sources_come_and_go_and_clones_share_them() {
    let scrubber = Scrubber::default();
    let clone = scrubber.clone();
    let text = |expected: &str| assert_eq!(clone.text("blue-lamp green-lamp", How::All), expected);
    text("blue-lamp green-lamp");
    scrubber.set("a", ["blue-lamp".to_owned()]);
    scrubber.add("green-lamp");
    text("[REDACTED] [REDACTED]");
    scrubber.set("a", ["other-lamp".to_owned()]);
    text("blue-lamp [REDACTED]");
    scrubber.forget("run-time");
    text("blue-lamp green-lamp");
}

#[test]
fn without_an_automaton_the_same_is_found() {
    let values = ["gardenparty2026".to_owned(), "anna".to_owned()];
    let mut finder = values::Finder::new(values.iter());
    let text = "gardenparty2026 annabelle anna Z2FyZGVucGFydHkyMDI2";
    let with = scrub(text, How::All, &finder).into_owned();
    finder.forget_automaton();
    assert_eq!(scrub(text, How::All, &finder), with);
    assert_eq!(with, "[REDACTED] annabelle [REDACTED] [REDACTED]");
}

#[test]
fn values_of_json() {
    let scrubber = Scrubber::default();
    scrubber.add("blue-lamp");
    let mut value = json!({
        "api_key": "xyz", "base_url": "https://a.example/?password=abc&x=1", "n": 3, "none": null, "password": null,
        "pwd": 12345678, "max_tokens": 4096, "tokens": ["Hello", "world"], "passwords": ["a", "bc"],
        "headers": [{"name": "X-Api-Key", "value": "abc"}, {"name": "Accept", "value": "*/*"}],
        "Authorization": "Bearer abcd1234", "token": "swordfish", "blue-lamp": "a blue-lamp",
        "nested": "{\"password\":\"x\",\"y\":1}", "properties": {"password": {"type": "string"}},
        "nextPageToken": "CAUQAAab12cd34EF56", "secret": "", "logprobs": [{"token": "Hello", "logprob": -0.1}],
    });
    let changed = scrubber.value(&mut value, How::All);
    assert_eq!(
        value,
        json!({
            "api_key": MARK, "base_url": "https://a.example/?password=[REDACTED]&x=1", "n": 3, "none": null, "password": null,
            "pwd": MARK, "max_tokens": 4096, "tokens": ["Hello", "world"], "passwords": [MARK, MARK],
            "headers": [{"name": "X-Api-Key", "value": MARK}, {"name": "Accept", "value": "*/*"}],
            "Authorization": "Bearer [REDACTED]", "token": MARK, MARK: "a [REDACTED]",
            "nested": "{\"password\":\"[REDACTED]\",\"y\":1}", "properties": {"password": {"type": "string"}},
            "nextPageToken": "CAUQAAab12cd34EF56", "secret": "", "logprobs": [{"token": "Hello", "logprob": -0.1}],
        })
    );
    assert_eq!((changed, scrubber.value(&mut value, How::All)), (11, 0));
}

thread_local! {
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Count the bytes inspected for pairs of names and values.
pub fn count_work(bytes: usize) {
    WORK.set(WORK.get() + bytes);
}

#[test]
fn the_work_for_a_megabyte_of_pairs_grows_with_its_length_only() {
    let parts = [
        "password: letmein ",
        "password: a ",
        "token=",
        "token: x{",
        "{\"token\":\"a\",",
        "\"token\":\"",
        "secret:a,secret:b;",
        "password='token=\"secret=`",
        "password=\\\"secret: ",
        "key=key=key=",
        "authorization: bearer: ",
        "KEY=a\n",
        "password: a a: password: ",
        "<password>",
    ];
    let holds = |part: &str, length: usize| {
        let work_of = |length: usize| {
            WORK.set(0);
            Scrubber::default().text(&part.repeat(length / part.len()), How::All);
            WORK.get()
        };
        let (quarter, whole) = (work_of(length / 4), work_of(length));
        assert!(whole > 0, "{part}: nothing was counted");
        assert!(whole <= quarter * 5, "{part}: {quarter} for {} bytes, {whole} for {length}", length / 4);
        assert!(whole <= 1000 * length, "{part}: {whole} bytes were looked at");
    };
    // One after the other, and all of them in a megabyte.
    parts.iter().for_each(|part| holds(part, 256 << 10));
    holds(&parts.concat(), 1 << 20);
}

#[test]
fn a_hostile_text_costs_no_square() {
    let scrubber = Scrubber::default();
    scrubber.set("a", (0..50).map(|n| format!("aaaaaaaaaa{n}")));
    let words = tokens::FORMS.iter().map(|(word, _)| *word).chain(names::WORDS.iter().copied());
    let rows =
        words.flat_map(|word| [word.to_owned(), format!("{word}="), format!("\"{word}\":\""), format!("{word}: ")]);
    let more =
        ["a", "f0", "0x", "-----BEGIN PRIVATE KEY-----", "postgres://a:b", "password=\\\"", "\\", "<password>", "é"];
    for part in rows.chain(more.map(String::from)) {
        let text = part.repeat(40_000 / part.len());
        let start = std::time::Instant::now();
        scrubber.text(&text, How::All);
        let ms = start.elapsed().as_millis();
        assert!(ms < 2000, "{part}: {ms} ms for 40 KB");
    }
}

/// Texts made of relevant pieces in any order, with any characters between.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(lines(SECRETS).map(|line| marked(&line).0).collect::<Vec<_>>()),
        prop::sample::select(lines(ORDINARY).collect::<Vec<_>>()),
        prop::sample::select(vec![
            "password",
            "token",
            "=",
            ":",
            "\"",
            "\\\"",
            " ",
            "\n",
            "&",
            "[REDACTED]",
            "REDACTED",
            "Bearer ",
            "://",
            "@",
            "gart",
            "gartenzaun",
            "αβγδ",
            "ab12",
            "-----BEGIN PRIVATE KEY-----",
            "0123456789abcdef",
            "sk-",
            "ß",
            "🔑",
            "'",
            "`",
            "<",
            "%3D",
            "\\n",
        ])
        .prop_map(String::from),
        any::<String>(),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn twice_is_once_and_it_never_grows_beyond(text in texts()) {
        let scrubber = Scrubber::default();
        scrubber.set("a", ["gartenzaun", "αβγδ", "ab12", "D][R", "]=\"x"].map(String::from));
        for how in [How::All, How::Digests] {
            let once = scrubber.text(&text, how).into_owned();
            prop_assert_eq!(&scrubber.text(&once, how), &once);
            // A mark replaces at least one character.
            prop_assert!(once.len() <= text.len() + once.matches(MARK).count() * (MARK.len() - 1));
            if !once.contains(MARK) {
                prop_assert_eq!(&once, &text);
            }
        }
    }

    #[test]
    fn a_registered_value_is_nowhere(value in "\\PC{8,40}", before in texts(), after in texts(), at in 0..4usize) {
        let value = value.trim();
        prop_assume!(value.chars().count() >= 8 && !MARK.contains(value));
        let scrubber = Scrubber::default();
        scrubber.add(value);
        let written = match at {
            0 => value.to_owned(),
            1 => json!(value).to_string(),
            2 => value.bytes().map(|b| format!("{b:02x}")).collect(),
            _ => value.bytes().map(|b| format!("%{b:02X}")).collect(),
        };
        let out = scrubber.text(&format!("{before}{written}{after}"), How::All).into_owned();
        prop_assert!(!out.contains(value), "{}", out);
        prop_assert!(at == 3 || !out.contains(written.trim_matches('"')), "{}", out);
    }

    #[test]
    fn any_text_is_whole_characters(text in any::<String>(), value in any::<String>()) {
        let scrubber = Scrubber::default();
        scrubber.add(value.clone());
        let out = scrubber.text(&text, How::All);
        prop_assert!(out == text || out.contains(MARK));
        let _ = is_secret_name(&value);
    }
}
