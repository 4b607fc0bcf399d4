//! Mails as results show them.

use jiff::Timestamp;
use mail::{EmailId, Fetched, Headers, Person};
use tool::prelude::*;

/// A mail in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    email_id: String,
    from: Option<String>,
    to: Vec<String>,
    subject: String,
    date: Option<String>,
    unread: bool,
    has_attachments: bool,
    size: u64,
}

impl Listed {
    pub fn new(cx: &Cx, id: &EmailId, mail: &Fetched) -> Self {
        let headers = Headers::read(&mail.bytes);
        Self {
            email_id: id.to_string(),
            from: headers.sender().map(Person::shown),
            to: shown(&headers.to[..headers.to.len().min(5)]),
            date: headers.date.and_then(|seconds| date(cx, seconds)),
            unread: !mail.seen,
            has_attachments: headers.is_mixed,
            size: mail.size,
            subject: headers.subject,
        }
    }

    /// As it is told: the sender by name, the subject.
    pub fn line(&self) -> String {
        let from = self.from.as_deref().map_or("somebody", |from| from.split(" <").next().unwrap_or(from));
        let subject = if self.subject.trim().is_empty() { "without a subject" } else { &self.subject };
        let (from, subject) = (text_kit::one_line(from), text_kit::one_line(subject));
        format!(
            "{}: {}{}",
            text_kit::truncate(from.trim().trim_matches('"'), 40),
            text_kit::truncate(&subject, 80),
            if self.unread { " (unread)" } else { "" }
        )
    }
}

pub(crate) fn shown(people: &[Person]) -> Vec<String> {
    people.iter().map(Person::shown).collect()
}

/// A time in the home's zone, with its offset.
pub(crate) fn date(cx: &Cx, seconds: i64) -> Option<String> {
    let at = Timestamp::from_second(seconds).ok()?.to_zoned(cx.ports().clock.zone());
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

/// The mails that were fetched from a folder, the newest first.
pub(crate) fn listed(cx: &Cx, of: &EmailId, mut mails: Vec<Fetched>) -> Vec<Listed> {
    mails.sort_by_key(|mail| std::cmp::Reverse(mail.uid));
    mails.dedup_by_key(|mail| mail.uid);
    mails.iter().map(|mail| Listed::new(cx, &EmailId { uid: mail.uid, ..of.clone() }, mail)).collect()
}
