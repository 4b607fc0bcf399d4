//! Which lines of a chat may be recalled in the next one, and the file they are in.

use scrub::{How, Scrubber};
use std::path::PathBuf;

/// Letters and digits of a claim code, and of any code that is as long.
const CODE: usize = 12;

/// The least length of a key without a known beginning.
const KEY: usize = 20;

/// The file, of this user and for all data folders; `None` without a home folder.
pub fn file() -> Option<PathBuf> {
    let env = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = env("XDG_STATE_HOME").or_else(|| env("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("hob/history"))
}

/// Whether a line contains a password, a key or a code, or is marked as private by a space in front, as in a shell.
pub fn is_private(line: &str) -> bool {
    line.starts_with(' ')
        || Scrubber::default().text(line, How::All) != line
        || memory::masked(line, "") != line
        || line.split_whitespace().any(|word| is_code(word) || is_key(word))
}

/// Capital letters and digits in groups, as a claim code is printed.
fn is_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let letters: Vec<u8> = word.bytes().filter(|b| *b != b'-').collect();
    letters.len() >= CODE
        && letters.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        && letters.iter().any(u8::is_ascii_digit)
}

/// A key, a token or an id: long, of letters and digits without a pattern that people type.
fn is_key(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let known = ["sk-", "hob_", "ghp_", "xai-", "gsk_", "AIza"].iter().any(|prefix| word.starts_with(prefix));
    let fits = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+=".contains(&b));
    fits && (known || word.len() >= KEY && word.bytes().filter(u8::is_ascii_digit).count() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_codes_are_private() {
        let hex = "0f3a5c7e".repeat(8);
        for line in [
            " anything",
            "remember that my password is hunter2",
            "the wifi password is sunshine-7",
            "remember the door code is 4711",
            "claim it with 7K3M-9QXW-2BTR.",
            "my key is sk-short",
            "approve 0197f3a2-4c5e-7000-8000-3a1b2c4d5e6f",
            &format!("the token is hob_{hex}"),
            &format!("use \"{hex}\" for it"),
        ] {
            assert!(is_private(line), "{line}");
        }
        for line in [
            "turn on pin 17",
            "remember that Marta serviced the boiler on 3 October",
            "timer 10 minutes for the pizza",
            "WASHINGTON-HEIGHTS",
            "what is 2^64?",
            "bookmark https://example.org/2026/11/23/a-long-address-1234567890",
            "the supercalifragilisticexpialidocious one",
        ] {
            assert!(!is_private(line), "{line}");
        }
    }
}
