//! A search as it was asked, in one form.

use super::{PAGE, QUERY, SearchWeb, settings::Chain};
use jiff::civil::Date;
use text_kit::one_line;
use tool::{Error, Result};

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    pub text: String,
    pub most: usize,
    pub freshness: Option<Freshness>,
    /// Two capital letters.
    pub country: Option<String>,
    /// Two small letters.
    pub language: Option<String>,
}

/// How old pages may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Day,
    Week,
    Month,
    Year,
    Between(Date, Date),
}

impl Freshness {
    fn of(text: &str) -> Result<Self> {
        let plain = text.trim().to_ascii_lowercase();
        Ok(match plain.trim_start_matches("past").trim_start_matches(['_', '-', ' ']) {
            "day" | "d" | "pd" | "24h" | "today" => Self::Day,
            "week" | "w" | "pw" | "7d" => Self::Week,
            "month" | "m" | "pm" | "31d" | "30d" => Self::Month,
            "year" | "y" | "py" => Self::Year,
            range => {
                let dates = range
                    .split_once("to")
                    .and_then(|(from, to)| Some((from.trim().parse::<Date>().ok()?, to.trim().parse::<Date>().ok()?)));
                let Some((from, to)) = dates.filter(|(from, to)| from <= to) else {
                    return Err(Error::bad_args(
                        "`freshness` must be day, week, month, year, or two dates such as 2026-01-01to2026-03-31",
                    ));
                };
                Self::Between(from, to)
            }
        })
    }

    /// Its word, unless it is two dates.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Day => Some("day"),
            Self::Week => Some("week"),
            Self::Month => Some("month"),
            Self::Year => Some("year"),
            Self::Between(..) => None,
        }
    }
}

impl Query {
    pub fn of(args: &SearchWeb, chain: &Chain) -> Result<Self> {
        let text = one_line(&args.query);
        let length = text.chars().count();
        if length == 0 {
            return Err(Error::bad_args("`query` is empty: say what to search for").say("What shall I search for?"));
        }
        if length > QUERY {
            return Err(Error::bad_args(format!("`query` is longer than {QUERY} characters: shorten it")));
        }
        let letters = |name: &str, given: Option<&String>, usual: Option<&String>| {
            let Some(text) = given.or(usual).map(|text| text.trim()).filter(|text| !text.is_empty()) else {
                return Ok(None);
            };
            // `de-DE` and `de_AT` begin with the language.
            let start = text.split(['-', '_']).next().unwrap_or_default();
            match start.len() == 2 && start.chars().all(|c| c.is_ascii_alphabetic()) {
                true => Ok(Some(start.to_ascii_lowercase())),
                false => Err(Error::bad_args(format!("`{name}` must be two letters, such as de"))),
            }
        };
        let freshness = args.freshness.as_deref().filter(|text| !text.trim().is_empty());
        Ok(Self {
            text,
            most: args.max_results.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize,
            freshness: freshness.map(Freshness::of).transpose()?,
            country: letters("country", args.country.as_ref(), chain.country.as_ref())?.map(|text| text.to_uppercase()),
            language: letters("language", args.language.as_ref(), chain.language.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_is_a_word_or_two_dates() {
        for (text, word) in
            [("day", "day"), ("pw", "week"), ("Past month", "month"), ("past_year", "year"), ("24h", "day")]
        {
            assert_eq!(Freshness::of(text).unwrap().word(), Some(word), "{text}");
        }
        let range = Freshness::of("2026-01-01to2026-03-31").unwrap();
        assert_eq!((range.word(), matches!(range, Freshness::Between(from, to) if from < to)), (None, true));
        for text in ["soon", "2026-02-01to2026-01-01", "2026-02-30to2026-03-01", "to"] {
            assert!(Freshness::of(text).is_err(), "{text}");
        }
    }
}
