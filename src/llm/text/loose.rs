//! Lenient JSON as models write it: single quotes, trailing commas, Python literals, unquoted keys, raw line breaks.

use serde_json::{Map, Value};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The text ends within the value; more text may complete it.
    Short {
        /// Whether it ends amid a string.
        in_string: bool,
    },
    /// No more text can make a value of it.
    Broken,
}

const SHORT: Fault = Fault::Short { in_string: false };

/// The value at the beginning of a text, and how many bytes it takes.
pub(super) fn value(text: &str) -> Result<(Value, usize), Fault> {
    let mut reader = Reader { text, at: 0, closes: false };
    let value = reader.value(0)?;
    Ok((value, reader.at))
}

/// The value that a whole text is, where no more than brackets are missing at its end or too many there.
pub(super) fn closed(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0, closes: true };
    let value = reader.value(0).ok()?;
    let over = |c: char| c.is_whitespace() || matches!(c, '}' | ']' | ')' | ';' | ',');
    text[reader.at..].chars().all(over).then_some(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Whether brackets that are open where the text ends count as closed.
    closes: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips white space and returns the next character.
    fn after_space(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.peek()
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::Broken);
        }
        match self.after_space().ok_or(SHORT)? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' | '\'' => self.string().map(Value::String),
            c if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            c if c.is_ascii_alphabetic() => match self.word()? {
                "true" | "True" => Ok(Value::Bool(true)),
                "false" | "False" => Ok(Value::Bool(false)),
                "null" | "None" | "undefined" => Ok(Value::Null),
                _ => Err(Fault::Broken),
            },
            _ => Err(Fault::Broken),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut map = Map::new();
        self.next();
        loop {
            match self.after_space() {
                None if self.closes => return Ok(Value::Object(map)),
                None => return Err(SHORT),
                Some('}') => {
                    self.next();
                    return Ok(Value::Object(map));
                }
                Some(_) => {}
            }
            let key = self.key()?;
            match self.after_space() {
                Some(':') => self.next(),
                None => return Err(SHORT),
                Some(_) => return Err(Fault::Broken),
            };
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.comma('}')?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut all = vec![];
        self.next();
        loop {
            match self.after_space() {
                None if self.closes => return Ok(Value::Array(all)),
                None => return Err(SHORT),
                Some(']') => {
                    self.next();
                    return Ok(Value::Array(all));
                }
                Some(_) => all.push(self.value(depth + 1)?),
            }
            self.comma(']')?;
        }
    }

    /// A comma, or the closing bracket, which stays.
    fn comma(&mut self, closing: char) -> Result<(), Fault> {
        match self.after_space() {
            Some(',') => {
                self.next();
                Ok(())
            }
            None if !self.closes => Err(SHORT),
            None => Ok(()),
            Some(c) if c == closing => Ok(()),
            Some(_) => Err(Fault::Broken),
        }
    }

    fn key(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some('"' | '\'') => self.string(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.word().map(str::to_owned),
            _ => Err(Fault::Broken),
        }
    }

    fn word(&mut self) -> Result<&str, Fault> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        if end.is_none() && !self.closes {
            return Err(SHORT);
        }
        let end = end.unwrap_or(rest.len());
        self.at += end;
        Ok(&rest[..end])
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | '.' | 'e' | 'E'));
        if end.is_none() && !self.closes {
            return Err(SHORT);
        }
        let end = end.unwrap_or(rest.len());
        if rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return Err(Fault::Broken);
        }
        let written = rest[..end].trim_start_matches('+');
        let led = if written.starts_with('.') { "0" } else { "" };
        self.at += end;
        serde_json::from_str(&format!("{led}{written}")).map_err(|_| Fault::Broken)
    }

    fn string(&mut self) -> Result<String, Fault> {
        const INSIDE: Fault = Fault::Short { in_string: true };
        let quote = self.next().ok_or(SHORT)?;
        let mut out = String::new();
        loop {
            match self.next().ok_or(INSIDE)? {
                '\\' => self.escape(&mut out)?,
                '\'' if quote == '\'' => {
                    // An apostrophe, unless what follows can follow a string.
                    let after = self.text[self.at..].trim_start().chars().next();
                    match after {
                        None if !self.closes => return Err(SHORT),
                        None | Some(',' | ':' | '}' | ']' | ')') => return Ok(out),
                        Some(_) => out.push('\''),
                    }
                }
                c if c == quote => return Ok(out),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let c = self.next().ok_or(Fault::Short { in_string: true })?;
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\'' | '\\' | '/' | '\n' => out.push(c),
            'u' => {
                let mut units = vec![self.unit()?];
                while (0xd800..0xdc00).contains(&units[units.len() - 1]) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    units.push(self.unit()?);
                }
                out.push_str(&String::from_utf16_lossy(&units));
            }
            // An invalid escape is literal, as in a regular expression.
            _ => out.extend(['\\', c]),
        }
        Ok(())
    }

    fn unit(&mut self) -> Result<u16, Fault> {
        let rest = &self.text[self.at..];
        let Some(digits) = rest.get(..4) else {
            return Err(if rest.len() < 4 { Fault::Short { in_string: true } } else { Fault::Broken });
        };
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| Fault::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_models_write_is_read() {
        for (text, wanted) in [
            (
                r#"{"a": [1, -2.5e3, true, null], "b": {"c": "d\u00e9\n"}}"#,
                json!({"a": [1, -2500.0, true, null], "b": {"c": "dé\n"}}),
            ),
            ("{'a': 'it's fine', 'b': True, 'c': None,}", json!({"a": "it's fine", "b": true, "c": null})),
            ("{a: 1, b_c: [1, 2,], }", json!({"a": 1, "b_c": [1, 2]})),
            ("{\"a\": \"two\nlines\"}", json!({"a": "two\nlines"})),
            (r#"{"a": "\d+ \uD83D\uDE42 \ud83d"}"#, json!({"a": "\\d+ 🙂 \u{fffd}"})),
            ("{\"a\": +.5}", json!({"a": 0.5})),
            ("[]", json!([])),
        ] {
            assert_eq!(value(&format!("{text} rest")), Ok((wanted.clone(), text.len())), "{text}");
            assert_eq!(closed(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_short_may_be_mended_and_what_is_broken_not() {
        for (text, wanted, mended) in [
            ("{\"a\": {\"b\": 1", SHORT, Some(json!({"a": {"b": 1}}))),
            ("{\"a\": [\"x\"", SHORT, Some(json!({"a": ["x"]}))),
            ("{\"a\": 'x'", SHORT, Some(json!({"a": "x"}))),
            ("{\"a\": \"x", Fault::Short { in_string: true }, None),
            ("{\"a\":", SHORT, None),
            ("{\"a\" 1}", Fault::Broken, None),
            ("{\"a\": Vienna}", Fault::Broken, None),
            ("{\"a\": 12b}", Fault::Broken, None),
            ("", SHORT, None),
        ] {
            assert_eq!(value(text), Err(wanted), "{text}");
            assert_eq!(closed(text), mended, "{text}");
        }
        assert_eq!(closed("{\"a\": 1}}} "), Some(json!({"a": 1})));
        assert_eq!(closed("{\"a\": 1} and"), None);
        assert_eq!(value(&"[".repeat(100_000)), Err(Fault::Broken), "no bottomless brackets");
    }
}
