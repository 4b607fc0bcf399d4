//! Sums of the expenses of a period: in total, by category, month, day and tag.

use super::{
    money,
    query::{Filter, Period, Totals, scan},
    record::{Category, Expense},
};
use crate::json_text::run_blocking;
use jiff::civil::Date;
use records::{RecordKind, RecordStore};
use std::collections::BTreeMap;
use store::{Entry, Visit};
use text_kit::{counted_one, listing};
use tool::prelude::*;

/// The most of the largest expenses.
const LARGEST: usize = 5;
/// The most groups: the latest months and days, the largest tags.
const MONTHS: usize = 120;
const DAYS: usize = 366;
const TAGS: usize = 50;

/// An additional grouping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum GroupBy {
    Category,
    Month,
    Day,
    Tag,
    /// The largest ones, one by one.
    Largest,
}

/// Add up expenses: totals, shares of categories, months, and the largest expenses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Summary {
    /// First day (ISO), or month; dates win over the period.
    start_date: Option<String>,
    /// Last day (ISO), or month.
    end_date: Option<String>,
    /// The period (default: this_month).
    period: Option<Period>,
    /// Only this category.
    category: Option<Category>,
    /// `day` and `tag` add sums by these, `largest` names the largest expenses.
    group_by: Option<GroupBy>,
}

/// Sums by a key and by currency.
#[derive(Default)]
struct Groups(BTreeMap<String, Totals>);

/// A key, a currency, their sum and their count.
type Group<'a> = (&'a str, &'a str, i128, u64);

impl Groups {
    fn add(&mut self, word: &str, e: &Expense) {
        match self.0.get_mut(word) {
            Some(totals) => totals.add(e),
            None => self.0.entry(word.to_owned()).or_default().add(e),
        }
    }

    /// In the order of their keys.
    fn all(&self) -> impl DoubleEndedIterator<Item = Group<'_>> {
        self.0.iter().flat_map(|(word, totals)| {
            totals.0.iter().map(|(code, (sum, count))| (word.as_str(), code.as_str(), *sum, *count))
        })
    }

    /// The last ones, in order.
    fn latest(&self, called: &str, most: usize) -> Vec<Value> {
        let mut latest: Vec<Value> = self.all().rev().take(most).map(|group| group_json(called, group)).collect();
        latest.reverse();
        latest
    }

    /// The largest first.
    fn greatest(&self) -> Vec<Group<'_>> {
        let mut all: Vec<_> = self.all().collect();
        all.sort_by_key(|(_, code, sum, _)| std::cmp::Reverse(fine(*sum, code)));
        all
    }
}

/// The result for a group.
fn group_json(called: &str, (word, code, sum, count): Group) -> Value {
    json!({called: word, "currency": code, "total": money::number(sum, code), "count": count})
}

/// A sum in the smallest unit of any currency.
fn fine(sum: i128, code: &str) -> i128 {
    sum * money::finest(1, code)
}

/// The totals that a scan of the expenses gathers.
#[derive(Default)]
struct Gathered {
    totals: Totals,
    categories: Groups,
    months: Groups,
    days: Groups,
    tags: Groups,
    largest: Vec<Entry<Expense>>,
    /// Money that came in.
    income: Totals,
    /// The days of the first and the last expense.
    first: String,
    last: String,
}

impl Gathered {
    fn add(&mut self, entry: &Entry<Expense>, by: Option<GroupBy>) {
        let e = &entry.value;
        self.totals.add(e);
        self.categories.add(e.category.word(), e);
        self.months.add(e.date.rsplit_once('-').map_or("", |(month, _)| month), e);
        match by {
            Some(GroupBy::Day) => self.days.add(&e.date, e),
            Some(GroupBy::Tag) => e.tags.iter().for_each(|tag| self.tags.add(&tag.to_lowercase(), e)),
            _ => {}
        }
        let size = |e: &Entry<Expense>| money::finest(e.value.amount, &e.value.currency);
        let at = self.largest.partition_point(|other| size(other) >= size(entry));
        if at < LARGEST {
            self.largest.insert(at, entry.clone());
            self.largest.truncate(LARGEST);
        }
        if self.first.is_empty() {
            self.first.clone_from(&e.date);
        }
        self.last.clone_from(&e.date);
    }

    /// The categories of each currency with their shares in percent.
    fn shares(&self) -> Vec<Value> {
        let mut all = vec![];
        for (code, (total, _)) in &self.totals.0 {
            let of: Vec<Group> = self.categories.greatest().into_iter().filter(|group| group.1 == code).collect();
            let shares = shares(&of.iter().map(|group| group.2).collect::<Vec<_>>(), *total);
            for (group, share) in of.into_iter().zip(shares) {
                let mut json = group_json("category", group);
                json["share"] = json!(share as f64 / 10.0);
                all.push(json);
            }
        }
        all
    }

    fn to_json(&self, cx: &Cx, filter: &Filter, by: Option<GroupBy>) -> Value {
        // An open end is the day of the first or last expense.
        let day = |given: Option<Date>, seen: &String| match given {
            Some(day) => json!(day.to_string()),
            None => Some(seen).filter(|seen| !seen.is_empty()).map_or(Value::Null, |seen| json!(seen)),
        };
        let mut content = json!({
            "period": {"from": day(filter.from, &self.first), "to": day(filter.to, &self.last)},
            "totals": self.totals.to_json(),
            "byCategory": self.shares(),
            "byMonth": self.months.latest("month", MONTHS),
            "income": self.income.to_json(),
            "net": self.net().iter().map(|(code, net)| json!({"currency": code, "net": money::number(*net, code)})).collect::<Vec<_>>(),
            "largest": self.largest.iter().map(|e| Expense::view(cx, e)).collect::<Vec<_>>(),
        });
        match by {
            Some(GroupBy::Day) => content["byDay"] = self.days.latest("day", DAYS).into(),
            Some(GroupBy::Tag) => {
                let tags = self.tags.greatest();
                content["byTag"] = tags.into_iter().take(TAGS).map(|group| group_json("tag", group)).collect();
            }
            _ => {}
        }
        content
    }

    /// The sums of each group as lines, where somebody asked for groups.
    fn lines(&self, by: Option<GroupBy>) -> Vec<String> {
        let month = |key: &str| {
            let day = format!("{key}-01").parse::<Date>();
            day.map_or_else(|_| key.to_owned(), |day| day.strftime("%B %Y").to_string())
        };
        match by {
            Some(GroupBy::Category) => {
                let mut words: Vec<&str> = vec![];
                for (word, ..) in self.categories.greatest() {
                    if !words.contains(&word) {
                        words.push(word);
                    }
                }
                let sum = |word: &str| self.categories.0.get(word).map(Totals::sentence).unwrap_or_default();
                words.into_iter().map(|word| format!("{word}: {}", sum(word))).collect()
            }
            Some(GroupBy::Month) => self
                .months
                .0
                .iter()
                .rev()
                .map(|(key, totals)| format!("{}: {}", month(key), totals.sentence()))
                .collect(),
            Some(GroupBy::Largest) => {
                let day = |e: &Entry<Expense>| e.value.day().strftime("%-d %B").to_string();
                self.largest
                    .iter()
                    .map(|e| format!("{}: {} ({})", e.value.description, e.value.sum(), day(e)))
                    .collect()
            }
            Some(GroupBy::Day | GroupBy::Tag) | None => vec![],
        }
    }

    /// Income less expenses, by currency; empty without income.
    fn net(&self) -> Vec<(String, i128)> {
        let spent = |code: &str| self.totals.0.get(code).map_or(0, |(sum, _)| *sum);
        self.income.0.iter().map(|(code, (sum, _))| (code.clone(), sum - spent(code))).collect()
    }

    /// A sentence about expenses and income.
    fn sentence(&self, filter: &Filter, by: Option<GroupBy>) -> String {
        let spent = self.spent(filter, by);
        if self.income.0.is_empty() {
            return spent;
        }
        let net = |(code, net): (String, i128)| match net {
            n if n >= 0 => format!("{} are left over", money::format_amount(n, &code)),
            n => format!("you are {} down", money::format_amount(-n, &code)),
        };
        let left: Vec<String> = self.net().into_iter().map(net).collect();
        format!("{spent} {} came in, so {}.", self.income.sentence(), text_kit::join_and(&left))
    }

    fn spent(&self, filter: &Filter, by: Option<GroupBy>) -> String {
        let when = &filter.when;
        let on = filter.category.map(|c| format!(" on {}", c.word())).unwrap_or_default();
        if self.totals.0.is_empty() {
            return format!("I found no expenses{on}{when}.");
        }
        let count = self.totals.0.values().map(|(_, count)| *count).sum::<u64>();
        let spent = format!("You spent {}{on}{when}", self.totals.sentence());
        let n = counted_one(count, "expense");
        let lines = self.lines(by);
        if !lines.is_empty() {
            let head = if by == Some(GroupBy::Largest) { format!("{spent}, the largest first") } else { spent };
            return listing(&head, &lines, false);
        }
        let plain = filter.category.is_none() && self.totals.0.len() == 1;
        match self.categories.greatest().first().filter(|_| plain) {
            Some((word, code, sum, _)) if self.categories.0.len() > 1 => {
                format!("{spent}, in {n}, most of it on {word}: {}.", money::format_amount(*sum, code))
            }
            Some((word, ..)) => format!("{spent}, in {n}, all on {word}."),
            None => format!("{spent}, in {n}."),
        }
    }
}

/// The shares of a total in tenths of a percent, adding up to 100 %: the largest remainders are rounded up.
fn shares(parts: &[i128], total: i128) -> Vec<i128> {
    const WHOLE: i128 = 1000;
    if total <= 0 {
        return vec![0; parts.len()];
    }
    let mut shares: Vec<i128> = parts.iter().map(|part| part * WHOLE / total).collect();
    let left = usize::try_from(WHOLE - shares.iter().sum::<i128>()).unwrap_or(0);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(parts[*at] * WHOLE % total));
    order.into_iter().take(left).for_each(|at| shares[at] += 1);
    shares
}

pub(super) async fn summary(expenses: RecordStore<Expense>, cx: Cx, args: Summary) -> Result<Output> {
    let period = args.period.unwrap_or(Period::ThisMonth);
    let days = Filter::of_days(&cx, args.start_date, args.end_date, Some(period))?;
    let (filter, by) = (Filter { category: args.category, ..days }, args.group_by);
    run_blocking(move || {
        let mut gathered = Gathered::default();
        scan(&expenses, &cx, &filter, &filter.walk(), |entry| {
            gathered.add(entry, by);
            Visit::No
        })?;
        if filter.category.is_none() {
            let came_in = Filter { income: true, ..filter.clone() };
            scan(&expenses, &cx, &came_in, &came_in.walk(), |entry| {
                gathered.income.add(&entry.value);
                Visit::No
            })?;
        }
        Ok(Output::json(gathered.to_json(&cx, &filter, by))?.say(gathered.sentence(&filter, by)))
    })
    .await
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::testing::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]
        #[test]
        fn shares_add_up_to_the_whole(parts in prop::collection::vec(1_i128..1_000_000_000_000, 1..12)) {
            let total: i128 = parts.iter().sum();
            let shares = shares(&parts, total);
            prop_assert_eq!(shares.iter().sum::<i128>(), 1000);
            for (part, share) in parts.iter().zip(&shares) {
                prop_assert!((part * 1000 - share * total).abs() < total, "{} of {}", share, part);
            }
        }
    }
}
