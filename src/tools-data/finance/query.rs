//! Finds expenses and adds them up.

use super::{
    civil_day,
    money::{self, Decimal},
    record::{self, BY_CATEGORY, BY_DAY, Category, Expense},
};
use crate::json_text::{non_empty, run_blocking, search};
use jiff::{ToSpan, civil::Date};
use records::{RecordKind, RecordStore, contains_all_words, counted, join_list, page_params, tags, truncate};
use std::collections::BTreeMap;
use store::{Coded, Entry, Record, Visit, Walk, Words};
use text_kit::{More, day_name, days_words, listing};
use tool::{Label, prelude::*};

/// How many are answered at most, and without a word about it.
pub(crate) const LIMIT: (u32, u32) = (50, 100);

/// A named period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Period {
    Today,
    ThisWeek,
    ThisMonth,
    LastMonth,
    ThisYear,
    All,
}

impl Period {
    /// Its first and its last day; weeks begin on Monday.
    fn days(self, today: Date) -> (Option<Date>, Option<Date>) {
        let month = |of: Date| (Some(of.first_of_month()), Some(of.last_of_month()));
        match self {
            Self::Today => (Some(today), Some(today)),
            Self::ThisWeek => {
                let since = i64::from(today.weekday().to_monday_zero_offset());
                (today.checked_sub(since.days()).ok(), today.checked_add((6 - since).days()).ok())
            }
            Self::ThisMonth => month(today),
            Self::LastMonth => month(today.checked_sub(1.month()).unwrap_or(today)),
            Self::ThisYear => (Some(today.first_of_year()), Some(today.last_of_year())),
            Self::All => (None, None),
        }
    }

    /// Its words after a verb.
    fn phrase(self) -> &'static str {
        match self {
            Self::Today => " today",
            Self::ThisWeek => " this week",
            Self::ThisMonth => " this month",
            Self::LastMonth => " last month",
            Self::ThisYear => " this year",
            Self::All => "",
        }
    }
}

/// The first and the last day of a text: a day itself, or the ends of a month such as `2026-10`.
fn ends(cx: &Cx, what: &str, text: &str) -> Result<(Date, Date)> {
    let text = text.trim();
    let month: Option<Date> =
        Some(text).filter(|text| text.len() == "2026-10".len()).and_then(|text| format!("{text}-01").parse().ok());
    match month {
        Some(first) => Ok((first, first.last_of_month())),
        None => civil_day(cx, what, text).map(|day| (day, day)),
    }
}

/// The filter of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub from: Option<Date>,
    pub to: Option<Date>,
    pub category: Option<Category>,
    pub least: Option<i128>,
    pub most: Option<i128>,
    pub search: Option<String>,
    pub tags: Vec<String>,
    /// Whether it is of money that came in, and not of expenses.
    pub income: bool,
    /// The days in words, after a verb.
    pub when: String,
}

impl Filter {
    /// The expenses of days, inclusive; dates win over a period.
    ///
    /// # Errors
    /// `BadArgs` when a text is no date, or the last day is before the first.
    pub fn of_days(cx: &Cx, start: Option<String>, end: Option<String>, period: Option<Period>) -> Result<Self> {
        let ends = |what, date| non_empty(date).map(|d| ends(cx, what, &d)).transpose();
        let (start, end) = (ends("startDate", start)?.map(|e| e.0), ends("endDate", end)?.map(|e| e.1));
        let today = cx.ports().clock.local().date();
        let (from, to, when) = match (start, end, period) {
            (None, None, period) => {
                let period = period.unwrap_or(Period::All);
                let (from, to) = period.days(today);
                (from, to, period.phrase().to_owned())
            }
            (Some(from), Some(to), _) if from > to => {
                return Err(Error::bad_args(format!("startDate {from} is after endDate {to}: exchange them"))
                    .say("That ends before it begins: say the earlier day first."));
            }
            (Some(from), Some(to), _) => (start, end, format!(" {}", days_words(from, to, today))),
            (Some(from), None, _) => (start, end, format!(" since {}", day_name(from, today))),
            (None, Some(to), _) => (start, end, format!(" until {}", day_name(to, today))),
        };
        Ok(Self { from, to, when, ..Self::default() })
    }

    /// The part of an index that holds them.
    pub fn walk(&self) -> Walk {
        let (first, last) = (self.from.map_or([0; 8], record::day), self.to.map_or([u8::MAX; 8], record::day));
        match self.category {
            None => Walk::between(BY_DAY, first, last),
            Some(category) => {
                let code = [category.code()];
                Walk::between(BY_CATEGORY, [&code[..], &first].concat(), [&code[..], &last].concat())
            }
        }
    }

    /// Whether an expense of that part passes the filter.
    pub fn fits(&self, e: &Expense) -> bool {
        let amount = || money::finest(e.amount, &e.currency);
        let has = |tag: &String| e.tags.iter().any(|t| t.to_lowercase() == *tag);
        self.income == e.income
            && self.least.is_none_or(|least| amount() >= least)
            && self.most.is_none_or(|most| amount() <= most)
            && self.tags.iter().all(has)
            && self.search.as_ref().is_none_or(|search| contains_all_words(search, &[&e.words()]))
    }
}

/// Sums by currency.
#[derive(Debug, Default, Clone)]
pub(super) struct Totals(pub BTreeMap<String, (i128, u64)>);

impl Totals {
    /// Adds an expense.
    pub fn add(&mut self, e: &Expense) {
        match self.0.get_mut(&e.currency) {
            Some((sum, count)) => (*sum, *count) = (*sum + i128::from(e.amount), *count + 1),
            None => drop(self.0.insert(e.currency.clone(), (e.amount.into(), 1))),
        }
    }

    /// The result, the most used currency first.
    pub fn to_json(&self) -> Vec<Value> {
        let total = |(code, (sum, count)): &(&String, &(i128, u64))| {
            let average = (*sum + i128::from(*count) / 2) / i128::from(*count).max(1);
            json!({"currency": code, "total": money::number(*sum, code), "count": count,
                   "average": money::number(average, code)})
        };
        self.sorted().iter().map(total).collect()
    }

    /// For a sentence: `€12.50 and $3`.
    pub fn sentence(&self) -> String {
        let all: Vec<String> = self.sorted().iter().map(|(code, (sum, _))| money::format_amount(*sum, code)).collect();
        join_list(&all, false)
    }

    fn sorted(&self) -> Vec<(&String, &(i128, u64))> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
        all
    }
}

/// Visits the expenses that pass a filter, in the order of `walk`. They all taint the run, as they are in its sums.
pub(super) fn scan(
    expenses: &RecordStore<Expense>,
    cx: &Cx,
    filter: &Filter,
    walk: &Walk,
    mut each: impl FnMut(&Entry<Expense>) -> Visit,
) -> Result<Vec<Entry<Expense>>> {
    let mut label = Label::Own;
    let words = filter.search.as_deref().map(Words::all);
    let found = expenses.records().search(cx, walk, words.as_ref(), |entry| {
        if cx.cancel().is_cancelled() {
            return Visit::Stop;
        }
        if !filter.fits(&entry.value) {
            return Visit::No;
        }
        label = label.max(entry.label);
        each(entry)
    })?;
    cx.taint(label);
    Ok(found)
}

/// Find expenses, newest day first, with totals over all matches.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Query {
    /// First day (ISO), or month.
    start_date: Option<String>,
    /// Last day (ISO), or month.
    end_date: Option<String>,
    /// A period instead of dates.
    period: Option<Period>,
    /// Only this category.
    category: Option<Category>,
    /// At least this amount.
    min_amount: Option<Decimal>,
    /// At most this amount.
    max_amount: Option<Decimal>,
    /// Words in the description, payment method, tags or notes.
    search: Option<String>,
    /// Only those with all of these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Find money that came in instead (default: false).
    #[serde(default)]
    income: bool,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

pub(super) async fn query(expenses: RecordStore<Expense>, cx: Cx, args: Query) -> Result<Output> {
    let (least, most) =
        (args.min_amount.map(|a| a.finest()).transpose()?, args.max_amount.map(|a| a.finest()).transpose()?);
    if let (Some(least), Some(most)) = (least, most)
        && least > most
    {
        return Err(Error::bad_args("minAmount is more than maxAmount: exchange them"));
    }
    let filter = Filter {
        category: args.category,
        least,
        most,
        search: search(args.search)?,
        income: args.income,
        tags: tags(&args.tags)?.iter().map(|tag| tag.to_lowercase()).collect(),
        ..Filter::of_days(&cx, args.start_date, args.end_date, args.period)?
    };
    let (offset, limit) = page_params(args.offset, args.limit, LIMIT);
    let (here, when) = (cx.clone(), filter.when.clone());
    let income = filter.income;
    let any = filter.category.is_none() && filter.search.is_none() && filter.tags.is_empty();
    let (totals, seen, page) = run_blocking(move || {
        let (mut totals, mut seen) = (Totals::default(), 0);
        let page = scan(&expenses, &here, &filter, &filter.walk().down(), |entry| {
            totals.add(&entry.value);
            seen += 1;
            if seen > offset && seen <= offset.saturating_add(limit) { Visit::Yes } else { Visit::No }
        })?;
        Ok((totals, seen, page))
    })
    .await?;
    let sentence = match page.len() {
        0 if seen > 0 => format!("There are {}, but none at this offset.", counted(seen, "expense")),
        0 if any && income => format!("You noted no income{when}."),
        0 if any => format!("You noted no expenses{when}."),
        0 => format!("I found no expenses like that{when}."),
        _ => {
            let today = cx.ports().clock.local().date();
            let of = |e: &Entry<Expense>| {
                let (it, day) = (&e.value, day_name(e.value.day(), today));
                format!("{}: {} ({day})", truncate(&it.description, 60), it.sum())
            };
            let first: Vec<String> = page.iter().map(of).collect();
            let head = match seen {
                1 if income => format!("I found one income{when}"),
                1 => format!("I found one expense{when}"),
                n if income => format!("I found {}{when}, {} in all", counted(n, "income"), totals.sentence()),
                n => format!("I found {}{when}, {} in all", counted(n, "expense"), totals.sentence()),
            };
            listing(&head, &first, More::Count(seen.saturating_sub(first.len())))
        }
    };
    let found: Vec<Value> = page.iter().map(|entry| Expense::view(&cx, entry)).collect();
    let more = seen > offset.saturating_add(page.len()) && !page.is_empty();
    let content = json!({
        "count": found.len(),
        "expenses": found,
        "hasMore": more,
        "matching": seen,
        "totals": totals.to_json(),
    });
    Ok(Output::json(content)?.say(sentence))
}
