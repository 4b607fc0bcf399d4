//! The stored form of a contact, and checks of email addresses, phone numbers and birthdays.

use jiff::civil::Date;
use records::{NamedRecord, RecordKind, RecordStore, join_list, names, optional_text, required_text, truncate, view};
use store::{Entry, Key, Level, Record, order};
use tool::prelude::{Cx, Deserialize, Error, JsonSchema, Result, Serialize, Value, json, schemars};

pub(crate) const BY_NAME: u8 = 1;
/// The keys of these indexes end with the name.
pub(crate) const BY_RELATIONSHIP: u8 = 2;
pub(crate) const BY_COMPANY: u8 = 3;
pub(crate) const FAVORITES: u8 = 4;

/// The most characters of a name and other short texts, of an address, and of notes.
pub(crate) const SHORT: usize = 200;
const ADDRESS: usize = 500;
const NOTES: usize = 10_000;
/// The longest email address, domain and part of a domain, in bytes (RFC 5321), and the longest phone number.
const EMAIL: usize = 254;
const PHONE: usize = 50;
/// The first year of a birthday.
const FIRST_YEAR: i16 = 1800;

/// Somebody a person knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(description = "Add somebody to the contacts.")]
pub struct Contact {
    /// The full name.
    pub(crate) name: String,
    /// The email address.
    pub(crate) email: Option<String>,
    /// The phone number.
    pub(crate) phone: Option<String>,
    /// Company or organization.
    pub(crate) company: Option<String>,
    /// Job title.
    pub(crate) job_title: Option<String>,
    /// Relationship to the person: friend, sister, dentist.
    pub(crate) relationship: Option<String>,
    /// 1990-05-14, or --05-14 without the year.
    pub(crate) birthday: Option<String>,
    /// Postal address.
    pub(crate) address: Option<String>,
    /// More about them.
    pub(crate) notes: Option<String>,
    /// Whether they are a favorite.
    #[serde(default)]
    pub(crate) is_favorite: bool,
}

impl Contact {
    /// The texts that a search for words looks in.
    pub(crate) fn searched(&self) -> Vec<&str> {
        let more = [&self.email, &self.phone, &self.company, &self.job_title, &self.relationship];
        more.into_iter().flatten().chain([&self.name]).map(String::as_str).collect()
    }
}

impl Contact {
    /// This contact with what `new` knows more of the same person; `None` if that is nothing, or contradicts what is known.
    pub(crate) fn completed(&self, new: &Self) -> Option<Self> {
        let mut whole = self.clone();
        whole.is_favorite |= new.is_favorite;
        let fields = [
            (&mut whole.email, &new.email),
            (&mut whole.phone, &new.phone),
            (&mut whole.company, &new.company),
            (&mut whole.job_title, &new.job_title),
            (&mut whole.relationship, &new.relationship),
            (&mut whole.birthday, &new.birthday),
            (&mut whole.address, &new.address),
            (&mut whole.notes, &new.notes),
        ];
        for (known, new) in fields {
            match (known.as_deref(), new) {
                (Some(known), Some(new)) if known != new => return None,
                (None, Some(new)) => *known = Some(new.clone()),
                _ => {}
            }
        }
        (whole != *self).then_some(whole)
    }
}

impl Record for Contact {
    const NAME: &'static str = "contacts";
    const WORD: &'static str = "contact";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.name.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        let digits = self.phone.as_deref().map(digits).unwrap_or_default();
        [&self.searched()[..], &[&digits]].concat().join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        let name = order::text(&self.name);
        let under = |index, value: &String| Key::many(index, [&order::text(value)[..], &name].concat());
        let mut keys = vec![Key::many(BY_NAME, &name)];
        keys.extend(self.relationship.iter().map(|relationship| under(BY_RELATIONSHIP, relationship)));
        keys.extend(self.company.iter().map(|company| under(BY_COMPANY, company)));
        keys.extend(self.is_favorite.then(|| Key::many(FAVORITES, &name)));
        keys
    }
}

impl NamedRecord for Contact {
    const LISTED_BY: &'static str = "list_contacts";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.name
    }
}

impl RecordKind for Contact {
    type Input = Self;
    const ID: &'static str = "contactId";
    const PLURAL: &'static str = "contacts";
    const TITLE: &'static str = "name";
    fn read(_: &RecordStore<Self>, cx: &Cx, mut it: Self) -> Result<Self> {
        it.name = required_text("name", &it.name, SHORT)?;
        it.email = email(it.email.as_deref().unwrap_or_default())?;
        it.phone = phone(it.phone.as_deref().unwrap_or_default())?;
        it.company = optional_text("company", it.company.as_deref(), SHORT)?;
        it.job_title = optional_text("jobTitle", it.job_title.as_deref(), SHORT)?;
        it.relationship = optional_text("relationship", it.relationship.as_deref(), SHORT)?;
        it.birthday = birthday(cx, it.birthday.as_deref().unwrap_or_default())?;
        it.address = optional_text("address", it.address.as_deref(), ADDRESS)?;
        it.notes = optional_text("text in notes", it.notes.as_deref(), NOTES)?;
        Ok(it)
    }
    fn view(cx: &Cx, entry: &Entry<Self>) -> Value {
        let next = entry.value.next_birthday(cx.ports().clock.local().date()).map(|day| day.to_string());
        let mut view = view(cx, entry, json!(entry.value));
        view["nextBirthday"] = json!(next);
        view
    }
    fn added(&self, _: &Cx) -> String {
        format!("I added {} to your contacts.", truncate(&self.name, 80))
    }
    fn all_added(added: &[Entry<Self>]) -> String {
        format!("I added {} to your contacts.", join_list(&names(added), false))
    }
}

impl Contact {
    /// The next birthday, if it is known.
    pub(crate) fn next_birthday(&self, today: Date) -> Option<Date> {
        self.birthday.as_deref().and_then(Birthday::read)?.next(today)
    }
}

/// An email address: a local part, one `@` and a host name, not an IP address. The tool `validate` accepts the same addresses.
pub(crate) fn email(text: &str) -> Result<Option<String>> {
    let text = optional_text("email", Some(text), EMAIL)?;
    if let Some(text) = &text
        && text_kit::check_email(text).is_err()
    {
        return Err(Error::bad_args(format!("`{text}` is no email address: write it as ana@example.org")));
    }
    Ok(text)
}

/// A phone number as people write it: digits, and no words except for an extension.
pub(crate) fn phone(text: &str) -> Result<Option<String>> {
    let Some(text) = optional_text("phone", Some(text), PHONE)? else { return Ok(None) };
    let plain = text.to_lowercase().replace("ext", "");
    let fits = plain.chars().all(|c| c.is_ascii_digit() || " +-()./#*,x\u{a0}".contains(c));
    if fits && digits(&plain).len() >= 2 {
        return Ok(Some(text));
    }
    Err(Error::bad_args(format!("`{text}` is no phone number: write it as +43 664 1234567")))
}

/// Its digits alone.
pub(crate) fn digits(phone: &str) -> String {
    phone.chars().filter(char::is_ascii_digit).collect()
}

/// A birthday, not after today: `1990-05-14`, or `--05-14` without the year.
pub(crate) fn birthday(cx: &Cx, text: &str) -> Result<Option<String>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || {
        let text: String = text.chars().take(40).collect();
        Error::bad_args(format!("`{text}` is no birthday: write it as 1990-05-14, or as --05-14 without the year"))
    };
    let born = Birthday::read(text).ok_or_else(wrong)?;
    if let Some(year) = born.year {
        let day = Date::new(year, born.month, born.day).map_err(|_| wrong())?;
        if year < FIRST_YEAR || day > cx.ports().clock.local().date() {
            return Err(Error::bad_args(format!("nobody was born on {text}: give a day from {FIRST_YEAR} to today")));
        }
    }
    required_text("birthday", text, 10).map(Some)
}

/// The parts of a birthday.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Birthday {
    pub year: Option<i16>,
    pub month: i8,
    pub day: i8,
}

impl Birthday {
    /// Reads `1990-05-14` or `--05-14`; accepts 29 February without a year.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (year, rest) = match text.strip_prefix("--") {
            Some(rest) => (None, rest),
            None => (Some(text.get(..4)?), text.get(4..)?.strip_prefix('-')?),
        };
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let (month, day) = rest.split_once('-').filter(|(month, day)| month.len() == 2 && day.len() == 2)?;
        let (month, day) = (number(month)?, number(day)?);
        let year = match year {
            Some(year) => Some(number(year)?),
            None => None,
        };
        // 2024 is a leap year and has every day.
        Date::new(year.unwrap_or(2024), month as i8, day as i8).ok()?;
        Some(Self { year, month: month as i8, day: day as i8 })
    }

    /// The next birthday, today included; 29 February moves to the 28th in other years.
    pub(crate) fn next(self, today: Date) -> Option<Date> {
        let in_year =
            |year| Date::new(year, self.month, self.day).or_else(|_| Date::new(year, self.month, self.day - 1)).ok();
        in_year(today.year()).filter(|day| *day >= today).or_else(|| in_year(today.year().checked_add(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cx;

    #[test]
    fn email_addresses_are_checked() {
        for good in ["ana@example.org", "a.b+c@sub.example.co.uk", "o'neil@x-y.org", "jörg@bücher.example", "1@2.de"]
        {
            assert_eq!(email(&format!(" {good} ")).unwrap().as_deref(), Some(good));
        }
        assert_eq!(email("  ").unwrap(), None);
        let (long, label) = (format!("{}@x.org", "a".repeat(65)), format!("a@{}.org", "b".repeat(64)));
        for bad in [
            "ana",
            "@example.org",
            "ana@",
            "ana@example",
            "ana@@example.org",
            "a b@example.org",
            "ana@exam ple.org",
            "ana@-x.org",
            "ana@x..org",
            "ana@.org",
            ".ana@x.org",
            "a..b@x.org",
            "ana@x.org.",
            "<ana@x.org>",
            "ana@x.org, ben@x.org",
            "ana@x_y.org",
            "a@1.2.3.4",
            "a€@b.de",
            "\u{1f600}@b.de",
            &format!(
                "{}@{}.org",
                "a".repeat(60),
                ["b".repeat(60), "c".repeat(60), "d".repeat(60), "ü".repeat(6)].join(".")
            ),
            &long,
            &label,
            &"a@x.".repeat(100),
        ] {
            assert!(matches!(email(bad), Err(Error::BadArgs(_))), "{bad}");
        }
    }

    #[test]
    fn phone_numbers_are_checked() {
        for good in ["+43 664 1234567", "0664/123 45-67", "(01) 234.56", "112", "*100#", "01 234 ext. 5", "1 2 x3"] {
            assert_eq!(phone(good).unwrap().as_deref(), Some(good));
        }
        for bad in ["call me", "1", "+", "0664 Ben", "١٢٣", &"1".repeat(51), "12\n34"] {
            assert!(matches!(phone(bad), Err(Error::BadArgs(_))), "{bad}");
        }
        assert_eq!((phone(" ").unwrap(), digits("+43 (664) 1")), (None, "436641".into()));
    }

    #[test]
    fn birthdays_come_round() {
        let cx = cx();
        for (text, now, next) in [
            ("1990-05-14", "2026-11-20", "2027-05-14"),
            ("1990-11-20", "2026-11-20", "2026-11-20"),
            ("--11-21", "2026-11-20", "2026-11-21"),
            ("--11-19", "2026-11-20", "2027-11-19"),
            ("2000-02-29", "2026-11-20", "2027-02-28"),
            ("--02-29", "2027-03-01", "2028-02-29"),
            ("--02-29", "2028-02-29", "2028-02-29"),
            ("--12-31", "2027-12-31", "2027-12-31"),
        ] {
            assert_eq!(birthday(&cx, text).unwrap().as_deref(), Some(text));
            let next_day = Birthday::read(text).unwrap().next(now.parse().unwrap()).unwrap();
            assert_eq!(next_day.to_string(), next, "{text} {now}");
        }
        assert_eq!(birthday(&cx, " ").unwrap(), None);
        for (bad, why) in [
            ("14.05.1990", "no birthday"),
            ("1990-5-14", "no birthday"),
            ("1990-13-01", "no birthday"),
            ("2001-02-29", "no birthday"),
            ("--02-30", "no birthday"),
            ("--00-10", "no birthday"),
            ("05-14", "no birthday"),
            ("1990-05-14T00:00", "no birthday"),
            ("1990-+5-14", "no birthday"),
            ("-990-05-14", "no birthday"),
            ("ä990-05-14", "no birthday"),
            ("9999-12-31", "nobody was born"),
            ("2026-11-21", "nobody was born"),
            ("0900-01-01", "nobody was born"),
        ] {
            let error = birthday(&cx, bad).unwrap_err();
            assert!(error.message().contains(why), "{bad}: {error}");
        }
        let last: Date = "9999-12-31".parse().unwrap();
        assert_eq!(Birthday::read("--01-01").unwrap().next(last), None);
    }
}
