//! The output of programs: made harmless for terminals, and freed of secrets before anything is cut off.

use process_sandbox::Ended;
use scrub::{How, MARK, Scrubber};

/// The length at which a line without an end is scrubbed and passed on all the same, in bytes.
const LONGEST_LINE: usize = 16 * 1024;
/// The same for a key that began and has not ended.
const LONGEST_KEY: usize = 64 * 1024;
/// The longest sequence that is waited for, in bytes.
const LONGEST_SEQUENCE: usize = 1024;
/// The beginning and the end of a key or certificate, which spans lines.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// The end of a long line that is not passed on yet: more than any secret has.
const HELD_OF_LINE: usize = 8 * 1024;

/// Whether a program that ended so may have been stopped in the middle of a word.
pub fn breaks_off(ended: Ended) -> bool {
    !matches!(ended, Ended::Exited(_) | Ended::Signaled(_))
}

/// How much of what steers a terminal stays in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing: for models, logs and plain text.
    Text,
    /// Colours and movements of the cursor: for a terminal that a person watches.
    Terminal,
}

/// The text without sequences that steer a terminal. Those that set its title, ask it something, or reach the clipboard
/// never stay. A line that was rewritten (`\r`) is its last version.
pub fn harmless(text: &str, keep: Keep) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut line = 0;
    while let Some(c) = rest.chars().next() {
        let next = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' | '\u{9b}' | '\u{90}' | '\u{9d}' | '\u{9e}' | '\u{9f}' | '\u{98}' => {
                let length = sequence(rest);
                if keep == Keep::Terminal && is_display(&rest[..length]) {
                    out.push_str(&rest[..length]);
                }
                &rest[length..]
            }
            '\r' if keep == Keep::Terminal => {
                out.push(c);
                next
            }
            '\r' => {
                // At the end of a line it means nothing.
                let ends = next.trim_start_matches('\r');
                if !(ends.is_empty() || ends.starts_with('\n')) {
                    out.truncate(line);
                }
                next
            }
            '\u{8}' if keep == Keep::Terminal => {
                out.push(c);
                next
            }
            '\u{8}' => {
                if out.len() > line {
                    out.pop();
                }
                next
            }
            '\n' => {
                out.push(c);
                line = out.len();
                next
            }
            '\t' => {
                out.push(c);
                next
            }
            // Marks that reorder what stands around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => next,
            c if c.is_control() => next,
            c => {
                out.push(c);
                next
            }
        };
    }
    out
}

/// The length of the escape sequence at the start of the text, in bytes.
fn sequence(text: &str) -> usize {
    let mut chars = text.char_indices();
    let kind = match chars.next() {
        Some((_, '\u{1b}')) => match chars.next() {
            Some((_, c)) => c,
            None => return text.len(),
        },
        Some((_, '\u{9b}')) => '[',
        Some((_, '\u{9d}')) => ']',
        Some(_) => 'P',
        None => return 0,
    };
    match kind {
        // Parameters, intermediates, one final character.
        '[' => chars
            .find(|(_, c)| !matches!(c, '\u{20}'..='\u{3f}'))
            .map_or(text.len(), |(at, c)| if matches!(c, '\u{40}'..='\u{7e}') { at + 1 } else { at }),
        // A text that ends with BEL, ST or the end of the line.
        ']' | 'P' | 'X' | '^' | '_' => {
            let mut escaped = false;
            for (at, c) in chars {
                match c {
                    '\u{7}' | '\u{9c}' => return at + c.len_utf8(),
                    '\\' if escaped => return at + 1,
                    '\n' => return at,
                    _ => escaped = c == '\u{1b}',
                }
            }
            text.len()
        }
        ' '..='/' => chars.find(|(_, c)| !matches!(c, ' '..='/')).map_or(text.len(), |(at, c)| at + c.len_utf8()),
        c if c.is_control() => 1,
        c => 1 + c.len_utf8(),
    }
}

/// Whether a sequence only changes what is shown: colours, the cursor, erasing, the other screen.
fn is_display(sequence: &str) -> bool {
    let Some(body) = sequence.strip_prefix("\u{1b}[") else { return false };
    let (Some(last), true) = (body.chars().last(), body.len() <= 64) else { return false };
    let parameters = &body[..body.len() - last.len_utf8()];
    let plain = parameters.bytes().all(|b| b.is_ascii_digit() || b == b';');
    match last {
        'm' | 'A'..='H' | 'J' | 'K' | 'L' | 'M' | 'P' | 'S' | 'T' | 'X' | 'd' | 'f' | 'r' | '@' => plain,
        'h' | 'l' => ["?25", "?47", "?1047", "?1049", "?7", "4"].contains(&parameters),
        _ => false,
    }
}

/// A text for a terminal without its secrets, also where what steers the terminal stands within one: then all of that goes.
fn scrubbed(shown: &str, scrubber: &Scrubber) -> String {
    if !shown.contains(['\u{1b}', '\u{8}', '\r']) {
        return scrubber.text(shown, How::All).into_owned();
    }
    // What a person reads, and where each of its bytes comes from.
    let (mut read, mut from) = (String::with_capacity(shown.len()), Vec::with_capacity(shown.len()));
    let mut at = 0;
    while let Some(c) = shown[at..].chars().next() {
        let (length, back) = match c {
            '\u{1b}' => {
                let length = sequence(&shown[at..]);
                (length, steps_back(&shown[at..at + length]))
            }
            '\u{8}' => (1, 1),
            '\r' => (1, 0),
            c => {
                read.push(c);
                from.extend(at..at + c.len_utf8());
                (c.len_utf8(), 0)
            }
        };
        for _ in 0..back {
            match read.pop() {
                Some(c) if c != '\n' => from.truncate(read.len()),
                Some(c) => {
                    read.push(c);
                    break;
                }
                None => break,
            }
        }
        at += length;
    }
    let (mut out, mut done) = (String::with_capacity(shown.len()), 0);
    for span in scrubber.spans(&read, How::All) {
        let (Some(first), Some(last)) = (from.get(span.start), from.get(span.end - 1)) else { continue };
        // What is in one piece is found below.
        if last + 1 - first > span.len() {
            out += &shown[done..*first];
            out += MARK;
            done = last + 1;
        }
    }
    out += &shown[done..];
    scrubber.text(&out, How::All).into_owned()
}

/// How many characters back a sequence moves the cursor.
fn steps_back(sequence: &str) -> usize {
    let count = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('D'));
    count.map_or(0, |count| if count.is_empty() { 1 } else { count.parse().unwrap_or(0) })
}

/// Whether a character ends a word, and is no part of a secret. What steers a terminal may stand within a word.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() && !matches!(c, '\u{1b}' | '\u{8}')
}

/// The whole output of a program that ended: harmless, and without secrets. `cut` says that its end is missing: then a line
/// that broke off goes too, because half a secret is not known as one.
pub fn finished(bytes: &[u8], cut: bool, scrubber: &Scrubber) -> String {
    let text = harmless(&String::from_utf8_lossy(bytes), Keep::Text);
    // First, so that only the end can be half a secret.
    let text = scrubber.text(&text, How::All);
    let kept = match text.rfind('\n') {
        Some(end) if cut => end + 1,
        None if cut => {
            let word = text.rfind(char::is_whitespace).unwrap_or_default();
            let mark = text.rfind(MARK).map_or(0, |at| at + MARK.len());
            word.max(mark).max(text.floor_char_boundary(text.len().saturating_sub(LONGEST_LINE)))
        }
        _ => text.len(),
    };
    text[..kept].to_owned()
}

/// The text in at most `most` bytes: its start and its end, with a note between. Secrets are out of it already.
pub fn shortened(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let (start, end) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    let left = end - start;
    (format!("{}\n[… {left} bytes left out …]\n{}", &text[..start], &text[end..]), true)
}

/// A stream of output on its way to somebody: passes on text that is scrubbed and harmless, and holds back what could be the
/// start of a secret.
pub struct Stream {
    scrubber: Scrubber,
    keep: Keep,
    /// Bytes that are no whole character yet, and text that is not passed on yet.
    bytes: Vec<u8>,
    held: String,
    /// Whether that text is one word that has not ended: it is not looked at anew for each piece.
    is_word: bool,
    /// How many bytes were looked at.
    #[cfg(test)]
    looked: usize,
}

impl Stream {
    pub fn new(scrubber: Scrubber, keep: Keep) -> Self {
        Self {
            scrubber,
            keep,
            bytes: vec![],
            held: String::new(),
            is_word: true,
            #[cfg(test)]
            looked: 0,
        }
    }

    /// More output; returns what can be shown: whole lines.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let before = self.held.len();
        self.take_in(bytes);
        self.is_word &= !self.held[before..].contains(ends_word);
        self.count(self.held.len() - before);
        if self.is_word {
            return if self.held.len() > LONGEST_KEY { self.pass_on_start() } else { String::new() };
        }
        self.count(self.held.len());
        let ready = match open_key(&self.held) {
            Some(key) if self.held.len() - key < LONGEST_KEY => key,
            _ => self.held.rfind('\n').map_or(0, |at| at + 1),
        };
        let ready = if ready == 0 && self.held.len() > LONGEST_LINE { self.before_last_word() } else { ready };
        if ready == 0 && self.held.len() > LONGEST_KEY { self.pass_on_start() } else { self.pass_on(ready) }
    }

    #[cfg(not(test))]
    fn count(&mut self, _bytes: usize) {}

    #[cfg(test)]
    fn count(&mut self, bytes: usize) {
        self.looked += bytes;
    }

    /// Harmless, and without secrets.
    fn clean(&self, text: &str) -> String {
        scrubbed(&harmless(text, self.keep), &self.scrubber)
    }

    /// The start of one endless word. It is scrubbed as a whole first, so that no secret lies across the cut.
    fn pass_on_start(&mut self) -> String {
        self.count(self.held.len());
        // A sequence that has not ended; one that never ends is held no longer.
        let open = self.open_sequence().filter(|at| self.held.len() - at <= LONGEST_SEQUENCE);
        let open = open.map(|at| self.held.split_off(at)).unwrap_or_default();
        let mut clean = self.clean(&self.held);
        let end = clean.floor_char_boundary(clean.len().saturating_sub(HELD_OF_LINE));
        // Not within a mark.
        let near = clean.floor_char_boundary(end.saturating_sub(MARK.len()));
        let mark = clean[near..].find(MARK).map(|at| near + at).filter(|at| *at < end);
        self.held = clean.split_off(mark.unwrap_or(end));
        self.held.push_str(&open);
        self.is_word = !self.held.contains(ends_word);
        clean
    }

    /// The text held back that is no start of a secret, such as a question without a line break; for when the program is silent.
    pub fn quiet(&mut self) -> String {
        let ready = match open_key(&self.held) {
            Some(key) => key,
            None => self.before_last_word(),
        };
        self.pass_on(ready)
    }

    /// The rest, at the end of the stream. `cut` says that the program printed more, which is lost.
    pub fn end(&mut self, cut: bool) -> String {
        let rest = String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned();
        self.held.push_str(&rest);
        if cut {
            let whole = self.held.rfind('\n').map_or(0, |at| at + 1);
            self.held.truncate(whole);
        }
        let rest = std::mem::take(&mut self.held);
        self.clean(&rest)
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // The last character may be half here.
        let whole = match std::str::from_utf8(&self.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.bytes.len(),
        };
        let rest = self.bytes.split_off(whole);
        let whole = std::mem::replace(&mut self.bytes, rest);
        self.held.push_str(&String::from_utf8_lossy(&whole));
    }

    fn pass_on(&mut self, ready: usize) -> String {
        if ready == 0 {
            return String::new();
        }
        let rest = self.held.split_off(ready);
        let text = std::mem::replace(&mut self.held, rest);
        self.is_word = !self.held.contains(ends_word);
        self.count(self.held.len() + text.len());
        self.clean(&text)
    }

    /// The start of the last word, which may go on as a secret. A word that ends a question does not.
    fn before_last_word(&self) -> usize {
        let word = self.held.rfind(ends_word);
        let start = word.map_or(0, |at| at + self.held[at..].chars().next().map_or(1, char::len_utf8));
        let last = harmless(&self.held[start..], Keep::Text);
        let is_open = last.len() >= 4 && !last.ends_with([':', '>', '$', '#', '%', '?', ']', ')']);
        let end = if is_open { start } else { self.held.len() };
        self.open_sequence().map_or(end, |at| end.min(at))
    }

    /// Where a sequence begins that has not ended.
    fn open_sequence(&self) -> Option<usize> {
        self.held.rfind('\u{1b}').filter(|at| sequence(&self.held[*at..]) + at >= self.held.len())
    }
}

/// The start of a key that has no end yet.
fn open_key(text: &str) -> Option<usize> {
    let begins = text.rfind(KEY_BEGINS)?;
    let closes = text[begins..].find(KEY_ENDS).and_then(|at| text[begins + at..].find('\n'));
    closes.is_none().then_some(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_for_terminals_go() {
        for (given, text, terminal) in [
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b", "a\u{1b}[31mred\u{1b}[0m b"),
            ("\u{1b}]0;title\u{7}x", "x", "x"),
            ("\u{1b}]52;c;cm0gLXJm\u{1b}\\x", "x", "x"),
            ("\u{1b}P+q544e\u{1b}\\x", "x", "x"),
            ("\u{1b}[6n\u{1b}[c\u{1b}[21tx", "x", "x"),
            ("\u{1b}[?1049h\u{1b}[?2004hx", "x", "\u{1b}[?1049hx"),
            ("\u{9d}0;t\u{9c}x\u{9b}31my", "xy", "xy"),
            ("10 %\r 50 %\r100 %\n", "100 %\n", "10 %\r 50 %\r100 %\n"),
            ("a\r\nb\r\r\nc\r", "a\nb\nc", "a\r\nb\r\r\nc\r"),
            ("ab\u{8}c", "ac", "ab\u{8}c"),
            ("a\u{202e}gnp.exe\u{0}\u{7}\u{7f}", "agnp.exe", "agnp.exe"),
            ("\u{1b}(Bx\u{1b}", "x", "x"),
            ("open \u{1b}]8;;http://x", "open ", "open "),
            ("\u{1b}]8;;http://x\nnext", "\nnext", "\nnext"),
        ] {
            assert_eq!(harmless(given, Keep::Text), text, "{given:?}");
            assert_eq!(harmless(given, Keep::Terminal), terminal, "{given:?}");
        }
    }

    fn scrubber() -> Scrubber {
        let scrubber = Scrubber::default();
        scrubber.add("correct-horse-battery");
        scrubber
    }

    #[test]
    fn a_secret_that_comes_in_two_pieces_is_not_shown() {
        for keep in [Keep::Text, Keep::Terminal] {
            let mut stream = Stream::new(scrubber(), keep);
            let mut seen = stream.push(b"the word is correct-horse");
            seen += &stream.quiet();
            assert_eq!(seen, "the word is ");
            seen += &stream.push(b"-battery\nand ");
            seen += &stream.end(false);
            assert_eq!(seen, "the word is [REDACTED]\nand ");
        }
    }

    #[test]
    fn an_endless_word_is_passed_on_without_its_secrets() {
        let mut stream = Stream::new(scrubber(), Keep::Text);
        let word = "x".repeat(7) + "correct-horse-battery";
        let mut seen = String::new();
        for piece in word.repeat(20_000).as_bytes().chunks(4096) {
            seen += &stream.push(piece);
            assert!(stream.held.len() <= LONGEST_KEY + 4096);
        }
        seen += &stream.end(false);
        assert_eq!(seen, ("x".repeat(7) + "[REDACTED]").repeat(20_000));
    }

    #[test]
    fn an_endless_word_is_looked_at_once() {
        for keep in [Keep::Text, Keep::Terminal] {
            for word in ["x", "\u{1b}[1mx"] {
                let (mut stream, text) = (Stream::new(scrubber(), keep), word.repeat(1 << 20));
                for piece in text.as_bytes().chunks(500) {
                    stream.push(piece);
                }
                assert!(stream.looked < 4 * text.len(), "{} of {}", stream.looked, text.len());
            }
        }
    }

    #[test]
    fn what_steers_a_terminal_hides_no_secret() {
        for within in [
            "correct-horse\u{1b}[1m-battery",
            "\u{1b}[31mc\u{1b}[0morrect-horse-batter\u{1b}[32my",
            "correct-horse\r\u{1b}[13C-battery",
            "correct-horXX\u{8}\u{8}se-battery",
            "correct-horXX\u{1b}[2Dse-battery",
            "correct-horse\u{1b}]0;title\u{7}-battery",
        ] {
            for pieces in [vec![within], within.split_inclusive('-').collect()] {
                let mut stream = Stream::new(scrubber(), Keep::Terminal);
                let mut seen = stream.push(b"\x1b[1mit is\x1b[0m ");
                for piece in pieces {
                    seen += &stream.push(piece.as_bytes());
                }
                seen += &stream.push(b" \x1b[33mthen\n");
                seen += &stream.end(false);
                assert!(seen.contains(MARK) && seen.ends_with(" \u{1b}[33mthen\n"), "{within:?}: {seen:?}");
                assert!(!harmless(&seen, Keep::Text).contains("batter"), "{within:?}: {seen:?}");
            }
        }
    }

    #[test]
    fn a_key_of_several_lines_is_held_back_until_its_end() {
        let mut stream = Stream::new(scrubber(), Keep::Text);
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n";
        assert_eq!(stream.push(b"here:\n"), "here:\n");
        assert_eq!((stream.push(key.as_bytes()), stream.quiet()), (String::new(), String::new()));
        let rest = stream.push(b"AAAA\n-----END PRIVATE KEY-----\nbye\n");
        assert!(!rest.contains("MIIEv") && rest.ends_with("bye\n"), "{rest}");
    }

    #[test]
    fn a_question_without_a_line_break_is_shown_when_the_program_is_silent() {
        let mut stream = Stream::new(scrubber(), Keep::Terminal);
        assert_eq!(stream.push("Größe? [y/N]".as_bytes()), "");
        assert_eq!(stream.quiet(), "Größe? [y/N]");
    }

    #[test]
    fn of_an_output_that_was_cut_no_half_line_stays() {
        let whole = finished(b"a\npassword=correct-horse-batt", false, &scrubber());
        assert!(!whole.contains("correct-horse"), "{whole}");
        assert_eq!(finished(b"a\nit is correct-horse-batt", true, &scrubber()), "a\n");
        let one_line = "correct-horse-battery".repeat(2000);
        let cut = finished(&one_line.as_bytes()[..one_line.len() - 7], true, &scrubber());
        assert!(!cut.contains("corr") && cut.ends_with("[REDACTED]"), "{cut}");
        assert_eq!(finished(b"a half", true, &scrubber()), "a");
        assert_eq!(shortened("abcdef", 4), ("ab\n[… 2 bytes left out …]\nef".into(), true));
    }

    proptest! {
        #[test]
        fn nothing_that_steers_a_terminal_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let clean = harmless(&text, Keep::Text);
            prop_assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
            let _ = harmless(&text, Keep::Terminal);
        }

        #[test]
        fn a_stream_passes_on_all_of_it(text in "[a-z \n]{0,80}", at in 0usize..80) {
            let mut stream = Stream::new(Scrubber::default(), Keep::Text);
            let at = at.min(text.len());
            let mut all = stream.push(&text.as_bytes()[..at]);
            all += &stream.quiet();
            all += &stream.push(&text.as_bytes()[at..]);
            all += &stream.end(false);
            prop_assert_eq!(all, text);
        }
    }
}
