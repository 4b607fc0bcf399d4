//! Contact details: phone numbers, e-mail and web addresses, from the original text.

use crate::sentence::Sentence;

/// Maximum length of an address.
const MOST: usize = 2048;

/// Number of tokens from `at` that start before `end`.
fn tokens_before(s: &Sentence, at: usize, end: usize) -> usize {
    s.tokens[at..].iter().take_while(|t| t.start < end).count()
}

/// The run of non-blank characters that starts with the token at `at`, without quotation marks and final punctuation.
fn run(s: &Sentence, at: usize) -> Option<(usize, &str)> {
    let start = s.tokens.get(at)?.start;
    let whole = s.text[..start].chars().next_back().is_none_or(|c| c.is_whitespace() || "\"“„(<".contains(c));
    let rest = &s.text[start..];
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let run = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '"', '”', '“', ')', '>', '\'', '’']);
    (whole && !run.is_empty() && run.len() <= MOST).then(|| (tokens_before(s, at, start + run.len()), run))
}

/// "0664 1234567", "+43 (664) 123-45 67": five digits at least; or as it is spoken.
pub(crate) fn phone(s: &Sentence, at: usize) -> Option<(usize, String)> {
    written_phone(s, at).or_else(|| spoken_phone(s, at))
}

/// "oh seven seven double oh nine hundred one two three": seven digits at least, each by its word.
fn spoken_phone(s: &Sentence, at: usize) -> Option<(usize, String)> {
    const DIGITS: &[(&str, &str)] = &[
        ("oh", "0"),
        ("o", "0"),
        ("zero", "0"),
        ("nought", "0"),
        ("naught", "0"),
        ("one", "1"),
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
    ];
    // A number is read from its beginning.
    let within = |at: usize| {
        DIGITS.iter().any(|(word, _)| s.word(at) == *word) || ["double", "triple", "treble"].contains(&s.word(at))
    };
    if at > 0 && within(at - 1) {
        return None;
    }
    let digit = |at: usize| DIGITS.iter().find(|(word, _)| s.word(at) == *word).map(|(_, digit)| *digit);
    let (mut number, mut here) = (String::new(), at);
    loop {
        let times = match s.word(here) {
            "double" => 2,
            "triple" | "treble" => 3,
            _ => 1,
        };
        let lead = usize::from(times > 1);
        if let Some(digit) = digit(here + lead) {
            number.push_str(&digit.repeat(times));
            here += lead + 1;
        } else if s.word(here) == "hundred" && !number.is_empty() {
            number.push_str("00");
            here += 1;
        } else {
            break;
        }
    }
    // "one two three" counts.
    (number.len() >= 7).then_some((here - at, number))
}

fn written_phone(s: &Sentence, at: usize) -> Option<(usize, String)> {
    let token = s.tokens.get(at)?;
    let first = token.word.chars().next()?;
    if !(first.is_ascii_digit() || ["+", "("].contains(&token.word.as_str())) {
        return None;
    }
    // A leading plus sign is not a token of its own.
    let plus = s.text[..token.start].ends_with('+');
    let start = token.start - usize::from(plus);
    let rest = &s.text[start..];
    let end = rest.find(|c: char| !(c.is_ascii_digit() || " +-/().".contains(c))).unwrap_or(rest.len());
    // Directly followed by letters it is something else ("5th").
    let cut = rest[end..].starts_with(char::is_alphanumeric) && !rest[..end].ends_with(' ');
    let mut number = rest[..end].trim_end_matches([' ', '.', '-', '/', '(', '+']);
    if cut {
        number = number.rsplit_once(' ').map_or("", |(before, _)| before);
    }
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let is_date = number.len() == 10 && number.as_bytes()[4] == b'-' || number.matches('.').count() > 1 && digits < 9;
    if !(5..=17).contains(&digits) || is_date {
        return None;
    }
    let told = number.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((tokens_before(s, at, start + number.len()), told))
}

/// "ana@example.com", "ana at example dot com".
pub(crate) fn email(s: &Sentence, at: usize) -> Option<(usize, String)> {
    if let Some((count, run)) = run(s, at)
        && let Some((name, host)) = run.split_once('@')
    {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
        let fits = !name.is_empty() && name.chars().all(plain) && is_host(host);
        return fits.then(|| (count, run.to_owned()));
    }
    let (name, host_at) = dotted(s, at)?;
    if s.word(at + name.1) != "at" {
        return None;
    }
    let (host, _) = dotted(s, host_at + 1).filter(|(host, _)| host.0.contains('.') && is_host(&host.0))?;
    Some((name.1 + 1 + host.1, format!("{}@{}", name.0, host.0)))
}

/// "example dot com" as `example.com`: the text, its tokens, and its end.
#[allow(clippy::type_complexity)]
fn dotted(s: &Sentence, at: usize) -> Option<((String, usize), usize)> {
    let word = |i: usize| Some(s.word(i)).filter(|w| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric()));
    let (mut text, mut count) = (word(at)?.to_owned(), 1);
    while count < 12
        && s.word(at + count) == "dot"
        && let Some(next) = word(at + count + 1)
    {
        text = format!("{text}.{next}");
        count += 2;
    }
    Some(((text, count), at + count))
}

/// "https://example.com/a", "www.example.com", "example.com/a", "example dot com".
pub(crate) fn url(s: &Sentence, at: usize) -> Option<(usize, String)> {
    if let Some((count, run)) = run(s, at) {
        let low = run.to_ascii_lowercase();
        if low.starts_with("http://") || low.starts_with("https://") {
            return (run.len() > 10).then(|| (count, run.to_owned()));
        }
        let host = run.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let letters = host.rsplit_once('.').is_some_and(|(_, end)| end.chars().all(|c| c.is_ascii_alphabetic()));
        if is_host(host) && letters && !run.contains('@') {
            return (!is_file(s, host, run)).then(|| (count, format!("https://{run}")));
        }
    }
    let ((host, count), _) = dotted(s, at).filter(|((host, _), _)| host.contains('.') && is_host(host))?;
    if is_file(s, &host, &host) {
        return None;
    }
    (s.word(at + count) != "at").then(|| (count, format!("https://{host}")))
}

/// Endings of files that are no top-level domains.
const FILES: &[&str] = &[
    "apk", "avi", "bak", "bin", "bmp", "cfg", "conf", "cpp", "css", "csv", "db", "deb", "dll", "doc", "docx", "env",
    "epub", "exe", "flac", "gcode", "gif", "gz", "heic", "hex", "htm", "html", "ico", "img", "ini", "ipynb", "iso",
    "jar", "jpeg", "jpg", "js", "json", "key", "kt", "lock", "log", "lua", "m4a", "mkv", "mp3", "mp4", "odp", "ods",
    "odt", "ogg", "old", "opus", "pcb", "pdf", "pem", "php", "png", "ppt", "pptx", "rar", "rb", "rtf", "service",
    "socket", "sql", "sqlite", "step", "stl", "svg", "swp", "tar", "tex", "tmp", "toml", "ts", "tsv", "tsx", "ttf",
    "txt", "uf2", "wasm", "wav", "webm", "webp", "xls", "xlsx", "xml", "xz", "yaml", "yml", "zst",
];
/// Endings of files that are top-level domains too.
const EITHER: &[&str] = &["ai", "cc", "md", "mov", "pl", "ps", "py", "rs", "sh", "so", "zip"];
/// Words that say that an address on the web is meant.
const WEB: &[&str] = &[
    "address",
    "addresses",
    "bookmark",
    "bookmarks",
    "favorite",
    "favorites",
    "favourite",
    "favourites",
    "link",
    "links",
    "page",
    "site",
    "url",
    "web",
    "website",
];

/// Whether a name without `https://`, `www.` and a path is the name of a file: "hob.toml"; "main.rs" too, unless the sentence
/// speaks of the web.
fn is_file(s: &Sentence, host: &str, run: &str) -> bool {
    let low = host.to_lowercase();
    let Some((name, ending)) = low.rsplit_once('.').filter(|(name, _)| *name != "www" && !name.starts_with("www."))
    else {
        return false;
    };
    FILES.contains(&ending) || EITHER.contains(&ending) && host == run && !name.contains('.') && !s.mentions(WEB)
}

/// Dot-separated names, the last of two letters at least.
fn is_host(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    let fits = |part: &&str| {
        !part.is_empty() && !part.starts_with('-') && part.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    parts.len() > 1 && parts.iter().all(fits) && parts.last().is_some_and(|end| end.chars().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reader = fn(&Sentence, usize) -> Option<(usize, String)>;

    /// A sentence, where to read, and the expected number of words and value.
    type Row<'a> = (&'a str, usize, Option<(usize, &'a str)>);

    fn check(read: Reader, rows: &[Row]) {
        for (text, at, wanted) in rows {
            let got = read(&Sentence::whole(text), *at);
            assert_eq!(got, wanted.map(|(count, value)| (count, value.to_owned())), "{text}");
        }
    }

    #[test]
    fn addresses_are_read_as_written() {
        check(
            phone,
            &[
                ("0664 1234567", 0, Some((2, "0664 1234567"))),
                ("add Ben, 0664 1234567.", 2, Some((2, "0664 1234567"))),
                ("+43 (664) 123-45 67 is his", 0, Some((9, "+43 (664) 123-45 67"))),
                ("+436641234567", 0, Some((2, "+436641234567"))),
                ("call 01/234 56 78 now", 1, Some((5, "01/234 56 78"))),
                ("555-0199", 0, Some((3, "555-0199"))),
                ("oh seven seven double oh nine hundred one two three", 0, Some((10, "07700900123"))),
                ("oh one five seven two triple five oh one nine nine", 0, Some((11, "015725550199"))),
                ("one two three", 0, None),
                ("12", 0, None),
                ("2026-11-20", 0, None),
                ("20.11.2026", 0, None),
                ("Ben", 0, None),
            ],
        );
        check(
            email,
            &[
                ("ana@example.com", 0, Some((3, "ana@example.com"))),
                ("write to ana.b@mail.example.org.", 2, Some((5, "ana.b@mail.example.org"))),
                ("ana at example dot com please", 0, Some((5, "ana@example.com"))),
                ("ana at home", 0, None),
                ("ana@", 0, None),
                ("ana", 0, None),
            ],
        );
        check(
            url,
            &[
                ("https://example.com/a?b=c#d", 0, Some((7, "https://example.com/a?b=c#d"))),
                ("save www.example.com/x.", 1, Some((4, "https://www.example.com/x"))),
                ("hob.dev please", 0, Some((2, "https://hob.dev"))),
                ("example dot com", 0, Some((3, "https://example.com"))),
                ("ana@example.com", 0, None),
                ("ana at example dot com", 0, None),
                ("12.50", 0, None),
                ("e.g.", 0, None),
                ("milk", 0, None),
                ("read hob.toml", 1, None),
                ("Report.PDF", 0, None),
                ("backup.tar.gz", 0, None),
                ("hob dot toml", 0, None),
                ("read main.rs", 1, None),
                ("run setup.sh now", 1, None),
                ("bookmark docs.rs", 1, Some((2, "https://docs.rs"))),
                ("save the site lib.rs", 3, Some((2, "https://lib.rs"))),
                ("docs.rs/tokio", 0, Some((3, "https://docs.rs/tokio"))),
                ("example.com/manual.pdf", 0, Some((4, "https://example.com/manual.pdf"))),
                ("https://hob.toml", 0, Some((3, "https://hob.toml"))),
            ],
        );
    }
}
