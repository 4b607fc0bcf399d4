//! Joins surrogate pairs that are split across events. A server that counts in UTF-16 may cut an answer within an
//! emoji: one event ends a string with `\ud83d` and the next starts one with `\ude00`, and neither is valid JSON
//! alone.

/// Joins the halves.
#[derive(Default)]
pub(crate) struct Halves {
    /// The high surrogate at the end of the last event.
    first: Option<u16>,
}

impl Halves {
    /// An event with its halves repaired: the character at its second half, and the replacement character for an
    /// unpaired half.
    pub fn joined(&mut self, event: &str) -> String {
        let before = self.first.take();
        let mut text = String::with_capacity(event.len());
        let (mut rest, mut opens) = (event, false);
        while let Some(c) = rest.chars().next() {
            let Some(half) = escape(rest) else {
                // An escaped backslash starts no escape.
                let length =
                    if c == '\\' { 1 + rest[1..].chars().next().map_or(0, char::len_utf8) } else { c.len_utf8() };
                text.push_str(&rest[..length]);
                opens = c == '"';
                rest = &rest[length..];
                continue;
            };
            rest = &rest[ESCAPE..];
            let second = escape(rest).filter(|_| is_first(half)).filter(|second| is_second(*second));
            if let Some(second) = second {
                rest = &rest[ESCAPE..];
                text.extend(char::decode_utf16([half, second]).flatten());
            } else if is_first(half) && rest.starts_with('"') {
                self.first = Some(half);
            } else {
                let pair = before.filter(|_| opens && is_second(half)).map(|first| [first, half]);
                text.push(
                    pair.and_then(|pair| char::decode_utf16(pair).next()?.ok()).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
            opens = false;
        }
        text
    }
}

/// Length of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// The surrogate escaped at the start of the text.
fn escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|code| is_first(*code) || is_second(*code))
}

fn is_first(code: u16) -> bool {
    (0xd800..0xdc00).contains(&code)
}

fn is_second(code: u16) -> bool {
    (0xdc00..0xe000).contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_joined_over_events() {
        let rows = [
            (vec![r#"{"a":"so \ud83d"}"#, r#"{"a":"\ude00!"}"#], vec![r#"{"a":"so "}"#, r#"{"a":"😀!"}"#]),
            (vec![r#"{"a":"\ud83d"}"#, r#"{"a":"x \ude00"}"#], vec![r#"{"a":""}"#, r#"{"a":"x �"}"#]),
            (vec![r#"{"a":"\ud83d and"}"#], vec![r#"{"a":"� and"}"#]),
            (vec![r#"{"a":"\ud83d\ude00 \uDE00"}"#], vec![r#"{"a":"😀 �"}"#]),
            (vec![r#"{"a":"\ud83d\ud83d\ude00"}"#], vec![r#"{"a":"�😀"}"#]),
            (vec![r#"{"a":"\\ud83d \n\" ü \u00e4\ude00"}"#], vec![r#"{"a":"\\ud83d \n\" ü \u00e4�"}"#]),
            (vec![r#"{"a":"\ud8"#, "\\", "\\uü"], vec![r#"{"a":"\ud8"#, "\\", "\\uü"]),
        ];
        for (events, expected) in rows {
            let mut halves = Halves::default();
            let joined: Vec<String> = events.iter().map(|event| halves.joined(event)).collect();
            assert_eq!(joined, expected);
        }
    }
}
