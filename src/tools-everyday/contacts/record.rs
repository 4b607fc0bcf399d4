//! A contact as it is kept, and what an email address, a phone number and a birthday look like.

use jiff::civil::Date;
use records::{NamedRecord, optional_text, required_text};
use serde::{Deserialize, Serialize};
use store::{Key, Level, Record, order};
use tool::{Cx, Error, Result};

pub(crate) const BY_NAME: u8 = 1;
/// Each of these ends with the name.
pub(crate) const BY_RELATIONSHIP: u8 = 2;
pub(crate) const BY_COMPANY: u8 = 3;
pub(crate) const FAVORITES: u8 = 4;

/// The longest email address (RFC 5321) and the longest phone number.
const EMAIL: usize = 254;
const PHONE: usize = 50;
/// The first year somebody was born in.
const FIRST_YEAR: i16 = 1800;

/// Somebody a person knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    pub(crate) name: String,
    pub(crate) email: Option<String>,
    pub(crate) phone: Option<String>,
    pub(crate) company: Option<String>,
    pub(crate) job_title: Option<String>,
    pub(crate) relationship: Option<String>,
    /// `1990-05-14`, or `--05-14` where the year is not known.
    pub(crate) birthday: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) notes: Option<String>,
    pub(crate) favorite: bool,
}

impl Record for Contact {
    const NAME: &'static str = "contacts";
    const WORD: &'static str = "contact";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let name = order::text(&self.name);
        let under = |index, value: &String| Key::many(index, [&order::text(value)[..], &name].concat());
        let mut keys = vec![Key::many(BY_NAME, &name)];
        keys.extend(self.relationship.iter().map(|relationship| under(BY_RELATIONSHIP, relationship)));
        keys.extend(self.company.iter().map(|company| under(BY_COMPANY, company)));
        keys.extend(self.favorite.then(|| Key::many(FAVORITES, &name)));
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

/// An email address. The tool `validate` accepts the same ones.
pub(crate) fn email(text: &str) -> Result<Option<String>> {
    let text = optional_text("email", Some(text), EMAIL)?;
    if let Some(text) = &text
        && text_kit::check_email(text).is_err()
    {
        return Err(Error::bad_args(format!("`{text}` is no email address: write it as ana@example.org")));
    }
    Ok(text)
}

/// A phone number, as people write them: it has digits, and no words but an extension.
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

/// A birthday: `1990-05-14`, or `--05-14` without the year; nobody was born after today.
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
    /// Reads `1990-05-14` or `--05-14`; 29 February is a day.
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
        // A leap year has every day.
        Date::new(year.unwrap_or(2024), month as i8, day as i8).ok()?;
        Some(Self { year, month: month as i8, day: day as i8 })
    }

    /// The next day it is kept, today included; without a 29 February it is kept on the 28th.
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
