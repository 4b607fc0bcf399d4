//! Names of mails, and what their headers say.

use crate::{Error, Person, Result, head};
use mail_parser::{Address, HeaderValue, MessageParser};
use std::{fmt, str::FromStr};

/// How much of a header is shown, in characters; how many people of a list; how many earlier messages an answer names.
const SHOWN: usize = 300;
const PEOPLE: usize = 50;
const REFERENCES: usize = 20;

/// The name of a mail: `LABEL/FOLDER:VALIDITY:UID`. A label has no slash in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailId {
    /// The label of its account.
    pub account: String,
    /// Its folder.
    pub folder: String,
    /// The numbering of the folder that its own number belongs to.
    pub validity: u32,
    /// Its number there.
    pub uid: u32,
}

impl fmt::Display for EmailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}:{}", self.account, self.folder, self.validity, self.uid)
    }
}

impl FromStr for EmailId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            let shown = text_kit::truncate(&text_kit::one_line(text), 80);
            Error::BadArgs(format!(
                "`{shown}` is not the id of a mail: list_emails and search_emails give ids, such as default/INBOX:1700000000:42"
            ))
        };
        let (account, rest) = text.trim().split_once('/').ok_or_else(bad)?;
        let mut parts = rest.rsplitn(3, ':');
        let uid = parts.next().and_then(|uid| uid.parse().ok()).ok_or_else(bad)?;
        let validity = parts.next().and_then(|validity| validity.parse().ok()).ok_or_else(bad)?;
        let folder = parts.next().filter(|folder| !folder.is_empty() && folder.len() <= 500).ok_or_else(bad)?;
        Ok(Self { account: account.to_owned(), folder: folder.to_owned(), validity, uid })
    }
}

/// What the headers of a mail say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers {
    pub from: Vec<Person>,
    pub to: Vec<Person>,
    pub cc: Vec<Person>,
    pub reply_to: Vec<Person>,
    pub subject: String,
    /// Seconds since 1970.
    pub date: Option<i64>,
    /// Its own id, without angle brackets.
    pub message_id: Option<String>,
    /// The ids of the messages before it, the first of its thread first.
    pub references: Vec<String>,
    /// Whether it has several parts, as one with attachments has.
    pub is_mixed: bool,
}

impl Headers {
    /// Reads them. Whatever cannot be read counts as missing.
    pub fn read(bytes: &[u8]) -> Self {
        let (head, _) = head::split(bytes);
        let read = MessageParser::new().parse_headers(&head);
        let Some(message) = read.filter(|message| !message.parts.is_empty()) else { return Self::default() };
        let ids = |value: &HeaderValue<'_>| -> Vec<String> {
            let list: Vec<&str> = match value {
                HeaderValue::Text(one) => vec![one],
                HeaderValue::TextList(all) => all.iter().map(|one| &**one).collect(),
                _ => vec![],
            };
            list.into_iter().filter_map(plain_id).collect()
        };
        let mut references = ids(message.references());
        for id in ids(message.in_reply_to()) {
            if !references.contains(&id) {
                references.push(id);
            }
        }
        let more = references.len().saturating_sub(REFERENCES);
        if more > 0 {
            // The first names the thread, and the last are what it answers.
            references.drain(1..=more);
        }
        let kind = message.parts.first().and_then(|part| {
            let value = part.headers.iter().find(|header| header.name().eq_ignore_ascii_case("content-type"))?;
            value.value().as_content_type()
        });
        let is = |kind: &mail_parser::ContentType<'_>| {
            kind.ctype().eq_ignore_ascii_case("multipart")
                && kind.subtype().is_some_and(|sub| sub.eq_ignore_ascii_case("mixed"))
        };
        Self {
            from: people(message.from()),
            to: people(message.to()),
            cc: people(message.cc()),
            reply_to: people(message.reply_to()),
            subject: clean(message.subject().unwrap_or_default(), SHOWN),
            date: message.date().filter(|date| date.is_valid()).map(|date| date.to_timestamp()),
            message_id: message.message_id().and_then(plain_id),
            references,
            is_mixed: kind.is_some_and(is),
        }
    }

    /// The sender, as it is shown.
    pub fn sender(&self) -> Option<&Person> {
        self.from.first()
    }
}

fn people(list: Option<&Address<'_>>) -> Vec<Person> {
    let person = |one: &mail_parser::Addr<'_>| {
        let address = clean(one.address()?, 254);
        let name = one.name().map(|name| clean(name, 100)).filter(|name| !name.is_empty());
        (!address.is_empty()).then_some(Person { name, address })
    };
    list.into_iter().flat_map(|list| list.iter()).take(PEOPLE).filter_map(person).collect()
}

/// An id that may stand in a header: without brackets, blanks and control characters.
fn plain_id(id: &str) -> Option<String> {
    let id = id.trim().trim_start_matches('<').trim_end_matches('>');
    let fits = !id.is_empty()
        && id.len() <= 250
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"\\,".contains(&byte));
    fits.then(|| id.to_owned())
}

/// A text of a stranger on one line: without control characters and without those that nobody sees.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let seen: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| !is_hidden(*c)).collect();
    text_kit::truncate(&text_kit::one_line(&seen), most)
}

/// Whether a character is not seen, or turns the direction of others: text can hide in these.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back() {
        for text in ["default/INBOX:17:42", "my: box/Entwürfe/a:b:1:2", "x/[Gmail]/All Mail:1700000000:4294967295"] {
            assert_eq!(text.parse::<EmailId>().unwrap().to_string(), text);
        }
        for text in
            ["", "42", "default/INBOX", "default/INBOX:1", "default/:1:2", "default/INBOX:x:2", "a/b:1:4294967296"]
        {
            assert!(matches!(text.parse::<EmailId>(), Err(Error::BadArgs(_))), "{text}");
        }
    }

    #[test]
    fn headers_are_decoded() {
        let raw = b"From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nTo: a@example.org, \"B, C\" <b@example.org>\r\n\
            Reply-To: r@example.net\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n =?utf-8?B?IPCfmIA=?=\r\n\
            Date: Fri, 27 Nov 2026 10:00:00 +0100\r\nMessage-ID: <1@example.org>\r\nReferences: <a@x> <b@x>\r\n\
            In-Reply-To: <b@x>\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n";
        let headers = Headers::read(raw);
        assert_eq!(headers.sender().unwrap().shown(), "Jürgen <j@example.org>");
        assert_eq!(headers.to.iter().map(Person::shown).collect::<Vec<_>>(), ["a@example.org", "B, C <b@example.org>"]);
        assert_eq!((&*headers.subject, headers.date), ("Grüße 😀", Some(1_795_770_000)));
        assert_eq!((headers.message_id.as_deref(), headers.is_mixed), (Some("1@example.org"), true));
        assert_eq!(headers.references, ["a@x", "b@x"]);
        assert_eq!(headers.reply_to[0].address, "r@example.net");
    }

    #[test]
    fn hostile_headers_stay_short_and_on_one_line() {
        let many = "a@b.example, ".repeat(5000);
        let ids = "<x@y> ".repeat(3000);
        let raw = format!(
            "From: \"a\u{202e}b\\\r\n c\" <a@b.example>\r\nTo: {many}\r\nSubject: {}\u{200b}\u{e0041}\r\nReferences: {ids}\r\n\
             Message-ID: <a b>\r\nDate: Fri, 99 Zzz 99999 99:99:99 +9999\r\n\r\n",
            "s".repeat(9000)
        );
        let headers = Headers::read(raw.as_bytes());
        assert!(headers.to.len() <= PEOPLE && headers.subject.chars().count() <= SHOWN + 1);
        assert!(headers.references.len() <= REFERENCES && headers.message_id.is_none_or(|id| !id.contains(' ')));
        assert!(!headers.from.iter().any(|one| one.shown().contains(|c: char| c.is_control() || is_hidden(c))));
        for odd in [&b""[..], b"\r\n", b"\xff\xfe\x00", b"From", b"From: <<<<(((((", b"Subject: =?utf-8?B?////"] {
            let _ = Headers::read(odd);
        }
        let nested = format!("From: {}a@b.example\r\n\r\n", "(".repeat(15_000));
        let _ = Headers::read(nested.as_bytes());
    }
}
