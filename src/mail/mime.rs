//! The parts of a message, in the order in which they stand there. The walk has bounds on depth and number; a message within a
//! message is one part.

use crate::{
    decode::{Decoder, Encoding, decoded, text},
    head,
    message::is_hidden,
};
use bytes::Bytes;
use mail_parser::{ContentType, HeaderName, MessageParser};

/// How deep parts may be nested, and how many are read.
const DEPTH: usize = 20;
const PARTS: usize = 200;
/// The longest boundary, in bytes.
const BOUNDARY: usize = 200;
/// How much of a part is decoded at once when it is saved, in bytes.
const BLOCK: usize = 256 * 1024;
/// The longest name of a file, in characters.
const NAME: usize = 100;

/// A part that has no parts of its own.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its media type: `text/plain`.
    pub media_type: String,
    /// The name of its file, as the sender wrote it.
    pub name: Option<String>,
    charset: Option<String>,
    encoding: Encoding,
    body: Bytes,
    /// Whether it is to be shown with the message, and is text.
    is_body: bool,
    /// The alternatives it is one of.
    choice: Option<usize>,
}

/// The parts of a message.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    list: Vec<Part>,
    choices: usize,
    /// Whether there are more, or deeper ones, than are read.
    pub cut: bool,
}

/// The text of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readable {
    /// The text; HTML as Markdown.
    pub text: String,
    /// Whether there is more.
    pub cut: bool,
    /// Whether it hid text from its reader, which is not in `text`.
    pub hidden: bool,
}

impl Parts {
    /// Reads them.
    pub fn read(raw: &Bytes) -> Self {
        let mut parts = Self::default();
        parts.entity(raw, raw, 0, None);
        parts
    }

    /// The files of the message, numbered from 1.
    pub fn attachments(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.list.iter().filter(|part| !part.is_body).enumerate().map(|(at, part)| (at + 1, part))
    }

    /// The text of the message, `most` characters of it at most. Of alternatives the plain one, unless that is empty.
    pub fn text(&self, most: usize) -> Readable {
        let mut all = Readable::default();
        let bodies = || self.list.iter().filter(|part| part.is_body);
        let mut add = |part: &Part| -> bool {
            let left = most.saturating_sub(all.text.chars().count());
            let found = part.readable(left);
            all.hidden |= found.hidden;
            if found.text.trim().is_empty() {
                return false;
            }
            if left == 0 {
                all.cut = true;
                return true;
            }
            if !all.text.is_empty() {
                all.text.push_str("\n\n");
            }
            all.text.push_str(found.text.trim());
            all.cut |= found.cut;
            true
        };
        let mut chosen = vec![];
        for part in bodies() {
            let Some(choice) = part.choice else {
                add(part);
                continue;
            };
            if chosen.contains(&choice) {
                continue;
            }
            chosen.push(choice);
            let of = |html: bool| bodies().filter(move |part| part.choice == Some(choice) && part.is_html() == html);
            let plain = of(false).filter(|part| add(part)).count();
            if plain == 0 {
                for part in of(true) {
                    add(part);
                }
            }
        }
        all
    }

    fn entity(&mut self, whole: &Bytes, raw: &[u8], depth: usize, choice: Option<usize>) {
        if self.list.len() >= PARTS || depth > DEPTH {
            self.cut = true;
            return;
        }
        let (head, body) = head::split(raw);
        // A part may begin with its content.
        let read = MessageParser::new().parse_headers(&head);
        let parts = read.map(|message| message.parts).unwrap_or_default();
        let headers = parts.first().map(|part| &*part.headers).unwrap_or_default();
        let value =
            |name: HeaderName<'static>| headers.iter().rev().find(|header| header.name == name).map(|h| &h.value);
        let kind = value(HeaderName::ContentType).and_then(|value| value.as_content_type());
        let disposition = value(HeaderName::ContentDisposition).and_then(|value| value.as_content_type());
        let media_type = kind.map_or_else(|| "text/plain".to_owned(), media_type_of);
        if media_type.starts_with("multipart/") {
            let boundary = kind.and_then(|kind| kind.attribute("boundary")).map(str::as_bytes);
            if let Some(boundary) = boundary.filter(|b| !b.is_empty() && b.len() <= BOUNDARY) {
                let choice = match (choice, &*media_type) {
                    (None, "multipart/alternative") => {
                        self.choices += 1;
                        Some(self.choices)
                    }
                    (outer, _) => outer,
                };
                for part in Pieces::new(body, boundary) {
                    if self.list.len() >= PARTS {
                        self.cut = true;
                        return;
                    }
                    self.entity(whole, part, depth + 1, choice);
                }
                return;
            }
        }
        let encoding = value(HeaderName::ContentTransferEncoding).and_then(|value| value.as_text());
        let encoding = encoding.map_or(Encoding::Plain, Encoding::named);
        let name = disposition.and_then(|d| d.attribute("filename")).or_else(|| kind?.attribute("name"));
        let name = name.map(str::to_owned).filter(|name| !name.trim().is_empty());
        let attached = disposition.is_some_and(|d| d.ctype().eq_ignore_ascii_case("attachment")) || name.is_some();
        let is_text = matches!(&*media_type, "text/plain" | "text/html") || media_type.starts_with("multipart/");
        self.list.push(Part {
            charset: kind.and_then(|kind| kind.attribute("charset")).map(str::to_owned),
            is_body: is_text && !attached,
            media_type,
            name,
            encoding,
            body: whole.slice_ref(body),
            choice,
        });
    }
}

impl Part {
    /// About how many bytes it has.
    pub fn size(&self) -> usize {
        match self.encoding {
            Encoding::Base64 => self.body.len() / 78 * 57 + self.body.len() % 78 * 3 / 4,
            Encoding::Plain | Encoding::QuotedPrintable => self.body.len(),
        }
    }

    /// Its bytes, in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut decoder = Some(Decoder::new(self.encoding));
        let mut pieces = self.body.chunks(BLOCK);
        std::iter::from_fn(move || match pieces.next() {
            Some(piece) => decoder.as_mut().map(|decoder| decoder.push(piece)),
            None => decoder.take().map(Decoder::finish),
        })
        .filter(|block| !block.is_empty())
    }

    fn is_html(&self) -> bool {
        self.media_type == "text/html"
    }

    fn readable(&self, most: usize) -> Readable {
        let written = text(&decoded(self.encoding, &self.body), self.charset.as_deref(), self.is_html());
        if self.is_html() {
            let options = html_text::Options { main_only: false, max_chars: most.max(1) };
            let page = html_text::markdown(&written, None, options);
            let cut = page.markdown.chars().count() >= most;
            return Readable {
                cut,
                hidden: page.hidden_removed > 0,
                text: text_kit::prefix(&page.markdown, most).to_owned(),
            };
        }
        let mut hidden = false;
        let mut seen = String::with_capacity(written.len().min(most * 4));
        let mut count = 0;
        let mut cut = false;
        for c in written.chars() {
            if is_hidden(c) {
                // A joiner within an emoji hides nothing; a run of tags does.
                hidden |= !matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{ad}');
            } else if !c.is_control() || matches!(c, '\n' | '\t') {
                if count == most {
                    cut = true;
                    break;
                }
                seen.push(c);
                count += 1;
            }
        }
        Readable { text: seen, cut, hidden }
    }
}

fn media_type_of(kind: &ContentType<'_>) -> String {
    let plain =
        |word: &str| word.len() <= 100 && word.bytes().all(|b| b.is_ascii_graphic() && !b"/\"\\<>".contains(&b));
    let (main, sub) = (kind.ctype().to_ascii_lowercase(), kind.subtype().unwrap_or_default().to_ascii_lowercase());
    match plain(&main) && plain(&sub) && !main.is_empty() && !sub.is_empty() {
        true => format!("{main}/{sub}"),
        false if main == "text" => "text/plain".to_owned(),
        false => "application/octet-stream".to_owned(),
    }
}

/// The pieces between boundaries.
struct Pieces<'x> {
    rest: &'x [u8],
    boundary: Vec<u8>,
    /// Whether the first boundary was found.
    begun: bool,
    done: bool,
}

impl<'x> Pieces<'x> {
    fn new(body: &'x [u8], boundary: &[u8]) -> Self {
        Self { rest: body, boundary: [b"--", boundary].concat(), begun: false, done: false }
    }

    /// Where the next boundary begins, where what follows it begins, and whether it is the last.
    fn next_boundary(&self) -> Option<(usize, usize, bool)> {
        let mut start = 0;
        while start < self.rest.len() {
            let end = memchr::memchr(b'\n', &self.rest[start..]).map_or(self.rest.len(), |at| start + at);
            if let Some(after) = self.rest[start..end].strip_prefix(&*self.boundary) {
                let (after, last) = after.strip_prefix(b"--").map_or((after, false), |after| (after, true));
                if after.iter().all(u8::is_ascii_whitespace) {
                    return Some((start, (end + 1).min(self.rest.len()), last));
                }
            }
            start = end + 1;
        }
        None
    }
}

impl<'x> Iterator for Pieces<'x> {
    type Item = &'x [u8];

    fn next(&mut self) -> Option<&'x [u8]> {
        loop {
            if self.done {
                return None;
            }
            let (piece, was_begun) = match self.next_boundary() {
                Some((end, next, last)) => {
                    let piece = &self.rest[..end];
                    self.rest = &self.rest[next..];
                    self.done = last;
                    (piece, std::mem::replace(&mut self.begun, true))
                }
                // A message that was cut ends without a boundary.
                None => {
                    self.done = true;
                    (self.rest, self.begun)
                }
            };
            if was_begun {
                let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
                return Some(piece.strip_suffix(b"\r").unwrap_or(piece));
            }
        }
    }
}

/// The name of a file that a stranger chose, fit for a folder: its last part, without signs that mean something there.
pub fn safe_name(name: Option<&str>, number: usize) -> String {
    let last = name.unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: &char| !c.is_control() && !is_hidden(*c) && !"/\\:*?\"<>|".contains(*c);
    let name: String = last.chars().filter(plain).take(NAME).collect();
    let name = name.trim().trim_matches('.').trim();
    if name.is_empty() { format!("attachment-{number}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multi(kind: &str, boundary: &str, parts: &[String]) -> String {
        let parts: String = parts.iter().map(|part| format!("--{boundary}\r\n{part}\r\n")).collect();
        format!(
            "Content-Type: multipart/{kind}; boundary=\"{boundary}\"\r\n\r\npreamble\r\n{parts}--{boundary}--\r\nepilogue"
        )
    }

    #[test]
    fn text_and_files_are_told_apart() {
        let raw = multi(
            "mixed",
            "a",
            &[
                multi(
                    "alternative",
                    "b",
                    &[
                        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe"
                            .to_owned(),
                        "Content-Type: text/html\r\n\r\n<p>Greetings</p>".to_owned(),
                    ],
                ),
                "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename*=utf-8''B%C3%A4r.pdf\r\n\
                 Content-Transfer-Encoding: base64\r\n\r\nJVBERg=="
                    .to_owned(),
                "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninner text".to_owned(),
                "\r\nmore text".to_owned(),
            ],
        );
        let parts = Parts::read(&raw.into());
        assert_eq!(parts.text(1000), Readable { text: "Grüße\n\nmore text".into(), ..Readable::default() });
        let files: Vec<_> =
            parts.attachments().map(|(at, part)| (at, &*part.media_type, part.name.as_deref())).collect();
        assert_eq!(files, [(1, "application/pdf", Some("Bär.pdf")), (2, "message/rfc822", None)]);
        let bytes: Vec<u8> = parts.attachments().next().unwrap().1.blocks().flatten().collect();
        assert_eq!(bytes, b"%PDF");
        assert!(parts.text(3).cut && parts.text(3).text == "Grü");
    }

    #[test]
    fn html_counts_where_the_plain_part_is_empty() {
        let html = "Content-Type: text/html\r\n\r\n<p>Hello <b>you</b></p>".to_owned();
        let raw = multi("alternative", "x", &["\r\n  \r\n".to_owned(), html]);
        assert!(Parts::read(&raw.into()).text(1000).text.contains("Hello"));
    }

    #[test]
    fn bombs_are_cut() {
        let many = multi("mixed", "a", &vec!["\r\nx".to_owned(); 10_000]);
        let parts = Parts::read(&many.into());
        assert!(parts.cut && parts.list.len() == PARTS);
        let mut deep = "\r\ninside".to_owned();
        for level in 0..1000 {
            deep = format!("Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n{deep}");
        }
        let parts = Parts::read(&deep.into());
        assert!(parts.cut && parts.list.is_empty());
        let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
        assert_eq!(Parts::read(&nested.into()).list.len(), 1);
        let digest = multi("digest", "a", &["Content-Type: multipart/digest; boundary=a\r\n\r\n".repeat(1000)]);
        assert!(Parts::read(&digest.into()).list.len() <= PARTS);
        let parameters =
            multi("mixed", "a", &[format!("Content-Type: text/plain{}\r\n\r\nx", "; p7*7=x".repeat(50_000))]);
        assert_eq!(Parts::read(&parameters.into()).text(1000).text, "x");
        let headers = "X: y\r\n".repeat(500_000);
        assert_eq!(Parts::read(&headers.into()).list.len(), 1);
    }

    #[test]
    fn odd_messages_are_read_as_well_as_can_be() {
        for (raw, expected) in [
            ("", ""),
            ("Content-Type: multipart/mixed\r\n\r\nno boundary", "no boundary"),
            ("Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n\r\ncut off", "cut off"),
            ("Content-Type: text/plain; charset=x-nonsense\r\n\r\nhello\u{202e}\u{e0041}", "hello"),
            ("Content-Transfer-Encoding: base64\r\n\r\n!!!!aGVsbG8", "hello"),
        ] {
            assert_eq!(Parts::read(&raw.into()).text(1000).text, expected, "{raw}");
        }
        let binary: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
        let _ = Parts::read(&binary.into()).text(1000);
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        for (name, expected) in [
            (Some("../../etc/passwd"), "passwd"),
            (Some("C:\\Windows\\x.exe"), "x.exe"),
            (Some(".bashrc"), "bashrc"),
            (Some("a\u{202e}fdp.exe\r\n"), "afdp.exe"),
            (Some("../.."), "attachment-2"),
            (Some("winmail.dat"), "winmail.dat"),
            (None, "attachment-2"),
        ] {
            assert_eq!(safe_name(name, 2), expected, "{name:?}");
        }
        assert!(safe_name(Some(&"x".repeat(5000)), 1).len() <= NAME);
    }
}
