//! Money: what was spent, when and on what. Amounts are kept exactly.

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
    RecordStore, batch, day_of, day_words, optional_text, patch_text, quote, read_when, rejected, required_text, tags,
};
use store::{Listing, Store};
use text_kit::counted;
use tool::{Scope, prelude::*};

/// The most characters of a description, of notes, and of a way to pay.
const DESCRIPTION: usize = 300;
const NOTES: usize = 1000;
const PAYMENT: usize = 60;
/// The currency of who never named one.
const CURRENCY: &str = "EUR";

/// What a person spends.
pub fn family(store: &Store) -> Family<RecordStore<Expense>> {
    Family::new("finance", "Note what was spent, and see on what.", RecordStore::new(store))
        .area(Area::Memory)
        .phrases(include_str!("../finance.en"))
        .tool("add_expense", Risk::Write, add)
        .additive()
        .tags("spend spent money cost pay paid buy bought bill receipt budget")
        .tool("batch_add_expenses", Risk::Write, add_all)
        .additive()
        .tags("spend spent money several receipt statement import")
        .tool("query_expenses", Risk::Observe, query::query)
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

/// Note something that money was spent on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct New {
    /// How much, more than 0, with no more decimals than the currency has.
    amount: Decimal,
    /// What it was spent on.
    category: Category,
    /// What it was, in a few words.
    description: String,
    /// The day it was spent (ISO, default: today).
    date: Option<String>,
    /// ISO 4217 code, such as EUR (default: the one used last).
    currency: Option<String>,
    /// How it was paid, such as "card".
    payment_method: Option<String>,
    /// Tags for grouping.
    #[serde(default)]
    tags: Vec<String>,
    /// Anything else.
    notes: Option<String>,
    /// Whether everybody in the household may see it.
    #[serde(default)]
    shared: bool,
}

impl New {
    fn check(self, cx: &Cx, default: &str) -> Result<(Expense, bool)> {
        let currency = self.currency.map_or_else(|| Ok(default.to_owned()), |c| money::currency(&c))?;
        let expense = Expense {
            amount: self.amount.minor(&currency)?,
            currency,
            category: self.category,
            description: required_text("description", &self.description, DESCRIPTION)?,
            date: self.date.map_or_else(|| Ok(today(cx)), |date| day(cx, &date))?,
            payment: optional_text("payment method", self.payment_method.as_deref(), PAYMENT)?,
            tags: tags(&self.tags)?,
            notes: optional_text("notes", self.notes.as_deref(), NOTES)?,
        };
        Ok((expense, self.shared))
    }
}

fn today(cx: &Cx) -> String {
    cx.ports().clock.local().date().to_string()
}

/// A day as it is kept; of a time its day here.
fn day(cx: &Cx, text: &str) -> Result<String> {
    Ok(civil_day(cx, "date", text)?.to_string())
}

fn civil_day(cx: &Cx, what: &str, text: &str) -> Result<jiff::civil::Date> {
    Ok(day_of(&read_when(cx, what, text)?, &cx.ports().clock.zone()))
}

/// The currency this person used last, else one they were shown, else the euro.
fn usual(shelf: &RecordStore<Expense>, cx: &Cx) -> Result<String> {
    let newest = Listing { limit: 1, ..Listing::default() };
    let own = shelf.records().list_in(Scope::User(cx.user()), &newest)?;
    let last = if own.is_empty() { shelf.records().list(cx, &newest)? } else { own };
    Ok(last.into_iter().next().map_or_else(|| CURRENCY.to_owned(), |entry| entry.value.currency))
}

async fn add(shelf: RecordStore<Expense>, cx: Cx, new: New) -> Result<Output> {
    let (expense, shared) = new.check(&cx, &usual(&shelf, &cx)?)?;
    let added = shelf.add(&cx, "add_expense", expense, shared).await?;
    let e = &added.value;
    let when = match day_words(e.day(), cx.ports().clock.local().date()) {
        today if today == "today" => String::new(),
        other => format!(" {other}"),
    };
    let sentence = format!("I noted {} for {}{when}.", e.sum(), quote(&e.description));
    Ok(Output::json(record::to_json(&cx, &added))?.say(sentence))
}

/// Note several expenses at once: all of them, or none when one does not fit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// The expenses, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    expenses: Vec<New>,
}

async fn add_all(shelf: RecordStore<Expense>, cx: Cx, args: Batch) -> Result<Output> {
    let usual = usual(&shelf, &cx)?;
    let checked = batch("expense", args.expenses, |new| new.check(&cx, &usual))?;
    let added = shelf.add_all(&cx, "batch_add_expenses", checked).await?;
    let mut totals = query::Totals::default();
    added.iter().for_each(|entry| totals.add(&entry.value));
    let sentence = format!("I noted {}, {} in all.", counted(added.len(), "expense"), totals.sentence());
    let expenses: Vec<Value> = added.iter().map(|entry| record::to_json(&cx, entry)).collect();
    Ok(Output::json(json!({"added": added.len(), "expenses": expenses}))?.say(sentence))
}

/// Correct an expense; what is not given stays as it is, and an empty text clears an optional field.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// The id of the expense, or its description.
    expense_id: String,
    /// How much.
    amount: Option<Decimal>,
    /// What it was spent on.
    category: Option<Category>,
    /// What it was.
    description: Option<String>,
    /// The day it was spent (ISO).
    date: Option<String>,
    /// ISO 4217 code; the amount stays the same number.
    currency: Option<String>,
    /// How it was paid.
    payment_method: Option<String>,
    /// All of its tags from now on.
    tags: Option<Vec<String>>,
    /// Anything else.
    notes: Option<String>,
    /// Whether everybody in the household may see it.
    shared: Option<bool>,
}

/// What is to be changed, checked.
#[derive(Clone, Default, PartialEq)]
struct Change {
    amount: Option<i64>,
    category: Option<Category>,
    description: Option<String>,
    date: Option<String>,
    currency: Option<String>,
    payment: Option<Option<String>>,
    tags: Option<Vec<String>>,
    notes: Option<Option<String>>,
}

impl Change {
    /// Makes the change in an expense whose currency was `before` when the amount was read.
    fn make(&self, e: &mut Expense, before: &str) -> store::Result<()> {
        let Self { description, date, currency, payment, tags, notes, .. } = self.clone();
        if self.amount.is_some() && e.currency != before {
            return Err(rejected("the expense was changed meanwhile: look at it and try again"));
        }
        let code = currency.unwrap_or_else(|| e.currency.clone());
        e.amount = match self.amount {
            Some(amount) => amount,
            None => money::moved(e.amount, &e.currency, &code).ok_or_else(|| {
                rejected(format!("{} has too many decimals for {code}: give the amount too", e.sum()))
            })?,
        };
        e.currency = code;
        e.category = self.category.unwrap_or(e.category);
        e.description = description.unwrap_or_else(|| e.description.clone());
        e.date = date.unwrap_or_else(|| e.date.clone());
        e.payment = payment.unwrap_or_else(|| e.payment.take());
        e.tags = tags.unwrap_or_else(|| e.tags.clone());
        e.notes = notes.unwrap_or_else(|| e.notes.take());
        Ok(())
    }
}

async fn update(shelf: RecordStore<Expense>, cx: Cx, args: Update) -> Result<Output> {
    let found = shelf.find_own(&cx, &args.expense_id)?;
    let currency = args.currency.map(|c| money::currency(&c)).transpose()?;
    let before = found.value.currency.clone();
    let change = Change {
        amount: args.amount.map(|a| a.minor(currency.as_ref().unwrap_or(&before))).transpose()?,
        category: args.category,
        description: args.description.map(|d| required_text("description", &d, DESCRIPTION)).transpose()?,
        date: args.date.map(|d| day(&cx, &d)).transpose()?,
        currency,
        payment: patch_text("payment method", args.payment_method.as_deref(), PAYMENT)?,
        tags: args.tags.map(|t| tags(&t)).transpose()?,
        notes: patch_text("notes", args.notes.as_deref(), NOTES)?,
    };
    if change == Change::default() && args.shared.is_none() {
        return Err(Error::bad_args(
            "say what to change: amount, category, description, date, currency, paymentMethod, tags, notes or shared",
        ));
    }
    let make = move |expense: &mut Expense| change.make(expense, &before);
    let changed = shelf.change(&cx, &found.id.to_string(), args.shared, make).await?;
    let sentence = format!("I changed it: {} for {}.", changed.value.sum(), quote(&changed.value.description));
    Ok(Output::json(record::to_json(&cx, &changed))?.say(sentence))
}

/// Delete an expense for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// The id of the expense, or its description.
    expense_id: String,
}

async fn delete(shelf: RecordStore<Expense>, cx: Cx, args: Delete) -> Result<Output> {
    let gone = shelf.remove(&cx, &args.expense_id).await?;
    let sentence = format!("I deleted the expense {} ({}).", quote(&gone.value.description), gone.value.sum());
    Ok(Output::json(json!({"deleted": true, "id": gone.id}))?.say(sentence))
}
