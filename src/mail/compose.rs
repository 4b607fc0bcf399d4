//! Messages that are sent: headers, text and files.

use crate::{Error, Person, Result};
use mail_builder::{
    MessageBuilder,
    headers::{address::Address, date::Date, message_id::MessageId},
};
use std::fmt::Write;

/// The longest subject, in characters, and text, in bytes.
const SUBJECT: usize = 500;
const TEXT: usize = 512 * 1024;

/// A file in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Its name, without folders.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// A message to be sent. Its recipients were checked by [`crate::parse_people`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub from: Person,
    pub to: Vec<Person>,
    pub cc: Vec<Person>,
    /// They get the message, and nobody sees their addresses in it.
    pub bcc: Vec<Person>,
    pub subject: String,
    pub text: String,
    /// The ids of the messages that it answers, the last of them the one it answers directly.
    pub references: Vec<String>,
    pub attached: Vec<Attached>,
    /// Seconds since 1970.
    pub date: i64,
}

impl Outgoing {
    /// Everybody who gets it.
    pub fn recipients(&self) -> Vec<&str> {
        let all = self.to.iter().chain(&self.cc).chain(&self.bcc);
        let mut addresses: Vec<&str> = all.map(|person| &*person.address).collect();
        let mut seen = std::collections::BTreeSet::new();
        addresses.retain(|address| seen.insert(address.to_lowercase()));
        addresses
    }

    /// The message as it travels, and its id.
    ///
    /// # Errors
    /// `BadArgs` where it has no recipient, or a part of it is too long or has a line break where none may be.
    pub fn written(self) -> Result<(Vec<u8>, String)> {
        let bad = |text: &str| Err(Error::BadArgs(text.to_owned()));
        match self.recipients().len() {
            0 => return bad("the mail has no recipient: pass `to`"),
            n if n > crate::MAX_RECIPIENTS => {
                return bad(&format!("a mail may have {} recipients, and this one has {n}", crate::MAX_RECIPIENTS));
            }
            _ => {}
        }
        if self.subject.chars().any(char::is_control) {
            return bad("the subject has a line break or another control character in it: write it on one line");
        }
        if self.subject.chars().count() > SUBJECT {
            return bad(&format!("the subject is longer than {SUBJECT} characters: shorten it"));
        }
        if self.text.len() > TEXT {
            return bad("the text is longer than 512 KB: attach it as a file");
        }
        let id =
            format!("{}@{}", random_word()?, self.from.address.rsplit_once('@').map_or("localhost", |(_, host)| host));
        let mut builder = MessageBuilder::new()
            .message_id(id.clone())
            .date(Date::new(self.date))
            .from(address(&self.from))
            .to(addresses(&self.to))
            .subject(self.subject.trim());
        if !self.cc.is_empty() {
            builder = builder.cc(addresses(&self.cc));
        }
        if let Some(last) = self.references.last() {
            builder = builder.in_reply_to(last.clone());
            builder = builder.references(MessageId::new_list(self.references.iter().map(String::as_str)));
        }
        builder = builder.text_body(self.text.as_str());
        for file in &self.attached {
            let name = crate::safe_name(Some(&file.name), 1);
            builder = builder.attachment(file.media_type.as_str(), name, file.bytes.as_slice());
        }
        let bytes = builder.write_to_vec();
        Ok((bytes.map_err(|error| Error::Unavailable(format!("the mail could not be written ({error})")))?, id))
    }
}

/// The text of an answer: the new text, then the one it answers with `> ` before each line.
pub fn quoted_text(text: &str, who: &str, when: &str, original: &str) -> String {
    let mut answer = format!("{}\n\nOn {when}, {who} wrote:\n", text.trim_end());
    for line in original.trim().lines() {
        answer.push_str(if line.starts_with('>') || line.trim().is_empty() { ">" } else { "> " });
        answer.push_str(line.trim_end());
        answer.push('\n');
    }
    answer
}

fn address(person: &Person) -> Address<'_> {
    Address::new_address(person.name.as_deref(), person.address.as_str())
}

fn addresses(people: &[Person]) -> Address<'_> {
    Address::new_list(people.iter().map(address).collect())
}

fn random_word() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::Unavailable("the system has no randomness to give".to_owned()))?;
    Ok(bytes.iter().fold(String::new(), |mut word, byte| {
        let _ = write!(word, "{byte:02x}");
        word
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Headers, Parts};

    fn person(name: Option<&str>, address: &str) -> Person {
        Person { name: name.map(str::to_owned), address: address.to_owned() }
    }

    fn mail() -> Outgoing {
        Outgoing {
            from: person(Some("Jürgen, K."), "j@example.org"),
            to: vec![person(None, "a@example.org"), person(Some("B"), "b@example.org")],
            cc: vec![person(None, "A@example.org")],
            bcc: vec![person(None, "secret@example.org")],
            subject: "Grüße aus der Küche".into(),
            text: "Hallo\n.\nÜber morgen".into(),
            references: vec!["first@x".into(), "last@x".into()],
            attached: vec![Attached {
                name: "../Bericht ü.pdf".into(),
                media_type: "application/pdf".into(),
                bytes: b"%PDF-1.7\n\xff".to_vec(),
            }],
            date: 1_795_770_000,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mail = mail();
        assert_eq!(mail.recipients(), ["a@example.org", "b@example.org", "secret@example.org"]);
        let (bytes, id) = mail.clone().written().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("secret@") && text.contains("In-Reply-To: <last@x>"), "{text}");
        let headers = Headers::read(&bytes);
        assert_eq!((&headers.from[0], &headers.to, &*headers.subject), (&mail.from, &mail.to, &*mail.subject));
        assert_eq!((headers.date, headers.message_id.as_deref()), (Some(mail.date), Some(&*id)));
        assert_eq!(headers.references, ["first@x", "last@x"]);
        let parts = Parts::read(&bytes.clone().into());
        assert_eq!(parts.text(1000).text.replace("\r\n", "\n"), mail.text);
        let (_, file) = parts.attachments().next().unwrap();
        assert_eq!((file.name.as_deref(), &*file.media_type), (Some("Bericht ü.pdf"), "application/pdf"));
        assert_eq!(file.blocks().flatten().collect::<Vec<u8>>(), mail.attached[0].bytes);
    }

    #[test]
    fn no_header_is_smuggled_in() {
        for subject in ["a\r\nBcc: x@y.example", "a\nb", "a\0b"] {
            let error = Outgoing { subject: subject.into(), ..mail() }.written().unwrap_err();
            assert!(error.to_string().contains("one line"), "{error}");
        }
        assert!(Outgoing { to: vec![], cc: vec![], bcc: vec![], ..mail() }.written().is_err());
        let to = (0..21).map(|n| person(None, &format!("a{n}@example.org"))).collect();
        assert!(Outgoing { to, ..mail() }.written().unwrap_err().to_string().contains("20"));
        assert!(Outgoing { subject: "s".repeat(501), ..mail() }.written().is_err());
    }

    #[test]
    fn answers_quote() {
        let text = quoted_text("Yes.\n", "Nora <n@x>", "Friday", "Coming?\n> earlier\n\nN");
        assert_eq!(text, "Yes.\n\nOn Friday, Nora <n@x> wrote:\n> Coming?\n>> earlier\n>\n> N\n");
    }
}
