//! Expenses, with exact amounts.

mod export;
mod money;
mod query;
mod record;
mod summary;
#[cfg(test)]
mod tests;

use money::Decimal;
use record::{Category, Expense};
use records::{
    RecordKind, RecordStore, day_of, day_words,
    kind::{add, add_all, delete, update},
    optional_text, quote, read_when, required_text, tags, view,
};
use store::{Entry, Store};
use text_kit::counted_one;
use tool::prelude::*;

/// The most characters of a description, of notes, and of a payment method.
const DESCRIPTION: usize = 300;
const NOTES: usize = 1000;
const PAYMENT: usize = 60;
/// The default currency.
const CURRENCY: &str = "EUR";

/// Expenses of a person.
pub fn family(store: &Store) -> Family<RecordStore<Expense>> {
    Family::new("finance", "Expenses: what was spent, on what and when.", RecordStore::new(store))
        .title("Money")
        .area(Area::Memory)
        .phrases(include_str!("../finance.en"))
        .tool("add_expense", Risk::Write, add)
        .additive()
        .tags("spend spent money cost pay paid buy bought bill receipt budget")
        .tool("batch_add_expenses", Risk::Write, add_all)
        .additive()
        .tags("spend spent money several receipt statement import")
        .tool("query_expenses", Risk::Observe, query::query)
        .page(query::LIMIT)
        .tags("spending money list search find spent paid")
        .tool("expense_summary", Risk::Observe, summary::summary)
        .tags("spending money total sum month category budget report statistics average how much")
        .tool("export_expenses", Risk::Observe, export::export)
        .tags("csv json spreadsheet download money")
        .tool("update_expense", Risk::Write, update)
        .tags("edit change correct money")
        .persists_instructions()
        .tool("delete_expense", Risk::Destroy, delete)
        .tags("remove erase money")
}

/// Record an expense, or money that came in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct New {
    /// How much, more than 0, with no more decimals than the currency has.
    amount: Decimal,
    /// The expense category.
    category: Category,
    /// Short description of the expense.
    description: String,
    /// The day it was spent (ISO); today for a new expense.
    date: Option<String>,
    /// ISO 4217 code, such as EUR; for a new expense that of the household. A new code alone keeps the number of the amount.
    currency: Option<String>,
    /// How it was paid, such as "card".
    payment_method: Option<String>,
    /// All of its tags, for grouping.
    #[serde(default)]
    tags: Vec<String>,
    /// Anything else.
    notes: Option<String>,
    /// Whether the money came in instead: a wage, a pension, a refund (default: false).
    #[serde(default)]
    income: bool,
}

impl RecordKind for Expense {
    type Input = New;
    const ID: &'static str = "expenseId";
    const PLURAL: &'static str = "expenses";
    const TITLE: &'static str = "description";
    fn read(_records: &RecordStore<Self>, cx: &Cx, new: New) -> Result<Self> {
        let currency = new.currency.map_or_else(|| Ok(local_currency(cx).to_owned()), |code| money::currency(&code))?;
        Ok(Self {
            amount: new.amount.minor(&currency)?,
            currency,
            category: new.category,
            description: required_text("description", &new.description, DESCRIPTION)?,
            date: new.date.map_or_else(|| Ok(today(cx)), |date| day(cx, &date))?,
            payment: optional_text("payment method", new.payment_method.as_deref(), PAYMENT)?,
            tags: tags(&new.tags)?,
            notes: optional_text("notes", new.notes.as_deref(), NOTES)?,
            income: new.income,
        })
    }
    fn fields(&self) -> Value {
        json!({
            "amount": money::text(self.amount.into(), &self.currency),
            "currency": self.currency,
            "category": self.category,
            "description": self.description,
            "date": self.date,
            "paymentMethod": self.payment,
            "tags": self.tags,
            "notes": self.notes,
            "income": self.income,
        })
    }
    fn view(cx: &Cx, entry: &Entry<Self>) -> Value {
        let mut view = view(cx, entry, entry.value.fields());
        view["amount"] = money::number(entry.value.amount.into(), &entry.value.currency);
        view
    }
    fn added(&self, cx: &Cx) -> String {
        let when = match day_words(self.day(), cx.ports().clock.local().date()) {
            today if today == "today" => String::new(),
            other => format!(" {other}"),
        };
        let what = if self.income { "of income" } else { "for" };
        format!("I noted {} {what} {}{when}.", self.sum(), quote(&self.description))
    }
    fn all_added(added: &[Entry<Self>]) -> String {
        let mut totals = query::Totals::default();
        added.iter().for_each(|entry| totals.add(&entry.value));
        format!("I noted {}, {} in all.", counted_one(added.len(), "expense"), totals.sentence())
    }
    fn changed(&self) -> String {
        format!("Changed: {} for {}.", self.sum(), quote(&self.description))
    }
    fn deleted(&self) -> String {
        format!("I deleted the expense {} ({}).", quote(&self.description), self.sum())
    }
}

fn today(cx: &Cx) -> String {
    cx.ports().clock.local().date().to_string()
}

/// A day as it is stored; of a time, its day in the household's zone.
fn day(cx: &Cx, text: &str) -> Result<String> {
    Ok(civil_day(cx, "date", text)?.to_string())
}

fn civil_day(cx: &Cx, what: &str, text: &str) -> Result<jiff::civil::Date> {
    Ok(day_of(&read_when(cx, what, text)?, &cx.ports().clock.zone()))
}

/// The currency where the household lives, by its time zone; the euro where that is not known.
fn local_currency(cx: &Cx) -> &'static str {
    const CURRENCIES: &[(&str, &[&str])] = &[
        ("GBP", &["Europe/London", "Europe/Belfast", "Europe/Jersey", "Europe/Guernsey", "Europe/Isle_of_Man"]),
        ("CHF", &["Europe/Zurich", "Europe/Vaduz"]),
        ("SEK", &["Europe/Stockholm"]),
        ("NOK", &["Europe/Oslo"]),
        ("DKK", &["Europe/Copenhagen"]),
        ("PLN", &["Europe/Warsaw"]),
        ("CZK", &["Europe/Prague"]),
        ("HUF", &["Europe/Budapest"]),
        ("JPY", &["Asia/Tokyo"]),
        ("INR", &["Asia/Kolkata", "Asia/Calcutta"]),
        ("NZD", &["Pacific/Auckland"]),
        (
            "USD",
            &[
                "America/New_York",
                "America/Chicago",
                "America/Denver",
                "America/Los_Angeles",
                "America/Phoenix",
                "America/Anchorage",
                "America/Detroit",
                "America/Boise",
                "Pacific/Honolulu",
            ],
        ),
        ("CAD", &["America/Toronto", "America/Vancouver", "America/Edmonton", "America/Winnipeg", "America/Halifax"]),
    ];
    let zone = cx.ports().clock.zone();
    let name = zone.iana_name().unwrap_or_default();
    if name.starts_with("Australia/") {
        return "AUD";
    }
    CURRENCIES.iter().find(|(_, zones)| zones.contains(&name)).map_or(CURRENCY, |(code, _)| *code)
}
