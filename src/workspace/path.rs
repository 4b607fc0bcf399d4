//! Paths within a place: how they are read, and which names do not exist.

use std::{
    ffi::{CString, OsString},
    os::unix::ffi::OsStringExt,
    path::PathBuf,
};
use tool::{Error, Result};
use unicode_normalization::UnicodeNormalization;

/// The maximum length of a path, in bytes.
pub const LONGEST: usize = 4096;
/// The maximum number of names in a path.
pub const DEEPEST: usize = 256;
/// The maximum length of a name, in bytes.
const NAME: usize = 255;
/// The folder of an added place in which its trash and earlier versions are.
pub(crate) const HELD: &str = ".hob-held";

/// A path within a place: names without `.` and `..`. Empty for the place itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct RelPath(Vec<String>);

impl RelPath {
    /// Reads a path; `a/../b` is `b`.
    ///
    /// # Errors
    /// `BadArgs` where it leads out of its place, or is too long.
    pub fn parse(text: &str) -> Result<Self> {
        let shown = || text_kit::truncate(&text.escape_debug().to_string(), 80);
        let wrong = |why: &str| Err(Error::bad_args(format!("the path `{}` {why}", shown())));
        if text.len() > LONGEST {
            return wrong(&format!("is longer than {LONGEST} bytes: begin further down"));
        }
        if text.contains('\0') {
            return wrong("has a zero byte in it: leave it out");
        }
        let mut names: Vec<String> = vec![];
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." if names.pop().is_none() => {
                    return wrong(
                        "leads out of its folder: name a file in the workspace, or begin with a place such as `household:/`",
                    );
                }
                ".." => {}
                name if bytes_of(name).is_none() => {
                    return wrong("has a name with an escape such as `\\xff` that stands for no byte: list the folder");
                }
                name if bytes_of(name).is_some_and(|bytes| bytes.len() > NAME) => {
                    return wrong(&format!("has a name of more than {NAME} bytes: shorten it"));
                }
                name => names.push(name.to_owned()),
            }
        }
        if names.len() > DEEPEST {
            return wrong(&format!("has more than {DEEPEST} levels: use fewer folders"));
        }
        Ok(Self(names))
    }

    pub(crate) fn from_names(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Its names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The last name; none for the place itself.
    pub fn name(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// Whether it is the place itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The folder it is in; `None` for the place itself.
    pub fn parent(&self) -> Option<RelPath> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.to_vec()))
    }

    /// A path below it.
    #[must_use]
    pub fn join(&self, name: &str) -> RelPath {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// Whether it is this folder, or in it.
    pub fn is_in(&self, folder: &RelPath) -> bool {
        self.0.starts_with(&folder.0)
    }

    /// As the disk knows it.
    pub(crate) fn on_disk(&self) -> PathBuf {
        self.0.iter().map(|name| OsString::from_vec(bytes_of(name).unwrap_or_default())).collect()
    }

    /// As a text with `/`.
    pub fn text(&self) -> String {
        self.0.join("/")
    }
}

/// A name of the disk as a text. Bytes that are no text are written as `\xff`, and a backslash that would begin such an escape as
/// `\x5c`, so that two names never look alike.
pub(crate) fn text_of(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find("\\x") {
            text.push_str(&rest[..at]);
            text.push_str(if escaped(&rest.as_bytes()[at..]).is_some() { "\\x5c" } else { "\\" });
            rest = &rest[at + 1..];
        }
        text.push_str(rest);
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// The bytes of a name; `None` for a text that [`text_of`] makes of no name.
fn bytes_of(name: &str) -> Option<Vec<u8>> {
    if !name.contains("\\x") {
        return Some(name.as_bytes().to_vec());
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(name.len()), name.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        match escaped(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    (text_of(&bytes) == name).then_some(bytes)
}

/// The name of the disk.
pub(crate) fn disk_name(name: &str) -> Result<CString> {
    let name = bytes_of(name).and_then(|bytes| CString::new(bytes).ok());
    name.ok_or_else(|| Error::bad_args("a name has an escape in it that stands for no byte: list the folder"))
}

/// The byte of an escape at the beginning: that of a backslash, or one that is no ASCII.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = text else { return None };
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let byte = digit(*high)? << 4 | digit(*low)?;
    (byte == b'\\' || byte >= 0x80).then_some(byte)
}

/// Checks a name that is to be made.
///
/// # Errors
/// `BadArgs` for names that other programs cannot show or open.
pub(crate) fn check_new_name(name: &str) -> Result<()> {
    if let Some(c) = name.chars().find(|c| c.is_control() || is_invisible(*c) || *c == '\\') {
        let name = text_kit::truncate(&name.escape_debug().to_string(), 80);
        let what = if c == '\\' {
            "a backslash".to_owned()
        } else {
            format!("an invisible character (U+{:04X})", u32::from(c))
        };
        return Err(Error::bad_args(format!("the name `{name}` has {what} in it: leave it out")));
    }
    Ok(())
}

/// Characters without a shape, and those that turn the direction of writing. The joiner of emoji is allowed.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180e | 0x200b | 0x200c | 0x200e | 0x200f
        | 0x2028..=0x202f | 0x205f..=0x206f | 0x3164 | 0xfeff | 0xffa0 | 0xfff0..=0xfff8 | 0xe0000..=0xe0fff)
}

/// A name as file systems that know no case compare it.
pub(crate) fn fold(name: &str) -> String {
    let shaped = name
        .nfkc()
        .filter(|c| !is_invisible(*c) && u32::from(*c) != 0x200d && !matches!(u32::from(*c), 0xfe00..=0xfe0f));
    let folded: String = shaped.collect::<String>().to_lowercase();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Names that do not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeniedNames(Vec<String>);

impl DeniedNames {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(fold).chain([HELD.to_owned()]).collect())
    }

    pub fn has(&self, name: &str) -> bool {
        let dotted = name.starts_with('.') || !name.is_ascii() || self.0.iter().any(|denied| !denied.starts_with('.'));
        dotted && self.0.contains(&fold(name))
    }

    /// Whether nothing but Hob's own folder is denied.
    pub fn is_plain(&self) -> bool {
        self.0.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_their_place() {
        for (text, expected) in [
            ("", Some("")),
            (".", Some("")),
            ("a/b.txt", Some("a/b.txt")),
            ("./a//b/", Some("a/b")),
            ("a/../b", Some("b")),
            ("a/..", Some("")),
            ("/a", Some("a")),
            ("...", Some("...")),
            ("..", None),
            ("a/../../b", None),
            ("a\0b", None),
        ] {
            assert_eq!(RelPath::parse(text).ok().map(|p| p.text()).as_deref(), expected, "{text:?}");
        }
        assert!(RelPath::parse(&"a/".repeat(DEEPEST + 1)).is_err());
        assert!(RelPath::parse(&"x".repeat(256)).is_err());
    }

    #[test]
    fn names_that_are_no_text_have_one_form() {
        for (name, text) in [
            (&b"a.txt"[..], "a.txt"),
            (b"\xffz", "\\xffz"),
            (b"\\xff", "\\x5cxff"),
            (b"\\x5c", "\\x5cx5c"),
            (b"\\x41", "\\x41"),
            (b"\\\xff", "\\\\xff"),
            ("ü\u{fffd}".as_bytes(), "ü\u{fffd}"),
        ] {
            assert_eq!(text_of(name), text);
            assert_eq!(bytes_of(text).as_deref(), Some(name), "{text}");
            assert_eq!(RelPath::parse(text).unwrap().on_disk().into_os_string().into_vec(), name);
        }
        // A denied name is not reached by the bytes of its letters.
        for text in ["\\xc3\\xa9", "\\x5c", "a\\x5cb"] {
            assert!(bytes_of(text).is_none() && RelPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn denied_names_have_no_other_form() {
        let denied = DeniedNames::new([".goclaw", "Private"]);
        for name in [
            ".goclaw",
            ".GoClaw",
            ".goclaw.",
            ".ｇoclaw",
            ".go\u{200b}claw",
            "private",
            "PRIVATE",
            ".hob-held",
            ".HOB-HELD ",
        ] {
            assert!(denied.has(name), "{name:?}");
        }
        for name in ["goclaw", ".goclaw2", "privat", "notes.md"] {
            assert!(!denied.has(name), "{name:?}");
        }
    }

    #[test]
    fn new_names_can_be_seen() {
        for name in ["a\nb", "a\\b", "a\u{202e}b", "a\u{1b}[2J"] {
            assert!(check_new_name(name).is_err(), "{name:?}");
        }
        for name in ["Übersicht 2026.md", "👩‍👧.png", ".env", "a b"] {
            assert!(check_new_name(name).is_ok(), "{name:?}");
        }
    }
}
