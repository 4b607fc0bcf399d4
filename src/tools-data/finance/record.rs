//! The stored form of an expense.

use super::money;
use jiff::civil::Date;
use records::NamedRecord;
use store::{Coded, Key, Level, Record, coded, order};
use tool::prelude::*;

/// The purpose of an expense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Category {
    Food,
    Transport,
    Utilities,
    Entertainment,
    Shopping,
    Health,
    Education,
    Travel,
    Subscription,
    Housing,
    Other,
}

impl Coded for Category {
    const ALL: &'static [Self] = &[
        Self::Food,
        Self::Transport,
        Self::Utilities,
        Self::Entertainment,
        Self::Shopping,
        Self::Health,
        Self::Education,
        Self::Travel,
        Self::Subscription,
        Self::Housing,
        Self::Other,
    ];
    const UNKNOWN: Self = Self::Other;
}

impl Category {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Food => "food",
            Self::Transport => "transport",
            Self::Utilities => "utilities",
            Self::Entertainment => "entertainment",
            Self::Shopping => "shopping",
            Self::Health => "health",
            Self::Education => "education",
            Self::Travel => "travel",
            Self::Subscription => "subscription",
            Self::Housing => "housing",
            Self::Other => "other",
        }
    }
}

/// An expense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expense {
    /// In the minor units of the currency.
    pub(super) amount: i64,
    /// Its ISO 4217 code.
    pub(super) currency: String,
    #[serde(with = "coded")]
    pub(super) category: Category,
    pub(super) description: String,
    /// The day, as `2026-11-20`.
    pub(super) date: String,
    pub(super) payment: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) notes: Option<String>,
    /// Whether it is money that came in: a wage, a refund.
    pub(super) income: bool,
}

/// By day.
pub(super) const BY_DAY: u8 = 1;
/// By category, then by day.
pub(super) const BY_CATEGORY: u8 = 3;

/// A day as an index key.
pub(super) fn day(date: Date) -> [u8; 8] {
    order::int(i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day()))
}

impl Expense {
    /// Its day.
    pub fn day(&self) -> Date {
        self.date.parse().unwrap_or_default()
    }

    /// Amount and currency in words.
    pub fn sum(&self) -> String {
        money::format_amount(self.amount.into(), &self.currency)
    }
}

impl Record for Expense {
    const NAME: &'static str = "expenses";
    const WORD: &'static str = "expense";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        format!("{} ({})", self.description, self.sum())
    }
    // To be raised when the word for a category changes.
    const WORDS: u8 = 1;

    fn words(&self) -> String {
        let more = self.payment.iter().chain(&self.notes).chain(&self.tags).map(String::as_str);
        [self.description.as_str(), self.category.word()].into_iter().chain(more).collect::<Vec<_>>().join("\n")
    }

    fn keys(&self) -> Vec<Key> {
        let day = day(self.day());
        vec![
            Key::many(BY_DAY, day),
            Key::many(Self::BY_NAME, order::text(&self.description)),
            Key::many(BY_CATEGORY, [&[self.category.code()][..], &day].concat()),
        ]
    }
}

impl NamedRecord for Expense {
    const LISTED_BY: &'static str = "query_expenses";
    const BY_NAME: u8 = 2;

    fn name(&self) -> &str {
        &self.description
    }
}
