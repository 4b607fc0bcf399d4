//! Money in any words: what was spent and on what, and what came in.

use super::{Change, Reading, pattern};
use crate::{
    sentence::Sentence,
    slots::{
        date::{self, Reach},
        money, number, terms,
    },
};
use jiff::Zoned;
use serde_json::{Map, Value, json};

const OTHERS: &[&str] =
    &["remind", "timer", "list", "goal", "calendar", "note", "alarm", "table", "remember", "task", "log"];
const SPENDS: &[&str] = &[
    "spent",
    "spend",
    "spending",
    "spends",
    "blow",
    "blown",
    "blew",
    "gone",
    "cost",
    "costs",
    "paid",
    "pay",
    "forked",
    "shelled",
    "splashed",
    "dropped",
    "splurged",
    "expenses",
    "outgoings",
];
/// Words of a question about money that name nothing money was spent on.
const SMALL: &[&str] = &[
    "how",
    "much",
    "what",
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "did",
    "do",
    "does",
    "i",
    "we",
    "us",
    "me",
    "my",
    "our",
    "the",
    "a",
    "an",
    "of",
    "on",
    "for",
    "at",
    "in",
    "to",
    "with",
    "out",
    "all",
    "so",
    "far",
    "total",
    "altogether",
    "money",
    "bad",
    "it",
    "that",
    "this",
    "been",
    "bill",
    "bills",
    "just",
    "and",
    "ever",
    "whatever",
    "now",
    "up",
    "from",
    "like",
    "purse",
    "sieve",
    "quid",
    "pounds",
    "hob",
    "please",
    "any",
    "come",
    "hw",
    "over",
    "during",
    "more",
    "than",
    "or",
    "month",
    "week",
    "year",
    "mtd",
    "ytd",
];

/// The days that a sentence is about, as arguments, and the tokens that name them.
fn days(s: &Sentence, now: &Zoned) -> (Map<String, Value>, Vec<usize>) {
    let mut arguments = Map::new();
    let period = |word: &str, at: usize| (Map::from_iter([("period".to_owned(), json!(word))]), vec![at]);
    if let Some(at) = (0..s.len()).find(|at| ["mtd", "ytd"].contains(&s.word(*at))) {
        return period(if s.word(at) == "mtd" { "this_month" } else { "this_year" }, at);
    }
    for at in 0..s.len() {
        if let Some((count, word)) = terms::period(s, at).filter(|(_, word)| *word != "all") {
            let tokens = (at..at + count).collect();
            return (Map::from_iter([("period".to_owned(), json!(word))]), tokens);
        }
        let named = date::day(s, at, now.date()).filter(|(_, day)| day.reach != Reach::Day || day.date <= now.date());
        if let Some((count, day)) = named {
            arguments.insert("startDate".to_owned(), json!(day.date.to_string()));
            arguments.insert("endDate".to_owned(), json!(day.last.to_string()));
            return (arguments, (at..at + count).collect());
        }
        // "may" is a verb as well.
        let led = ["in", "for", "of", "nov", "october"].contains(&s.word(at.wrapping_sub(1))) || s.len() < 8;
        if let Some((count, month)) = date::month(s, at, now.date()).filter(|_| led && s.word(at) != "may") {
            arguments.insert("startDate".to_owned(), json!(month.to_string()));
            arguments.insert("endDate".to_owned(), json!(month.last_of_month().to_string()));
            return (arguments, (at..at + count).collect());
        }
    }
    (arguments, vec![])
}

/// A question about what was spent or came in.
pub(super) fn asked(s: &Sentence, now: &Zoned) -> Option<Reading> {
    if s.mentions(OTHERS) || s.len() > 20 || s.text.chars().filter(char::is_ascii_digit).count() > 6 {
        return None;
    }
    let (mut arguments, named) = days(s, now);
    let net = pattern::any(
        s,
        &[
            "are|am we|i up or down _",
            "in minus out _",
            "_ net position|income|total|balance _",
            "_ income minus|less|versus|against|vs _",
            "how much|what did|have|has we|i earn|earned|make|made|bring|brought _",
            "how much|what money? has|have? came|come in _",
            "how much|what have? we|i got? paid _",
            "_ money coming|came|come in _",
        ],
    );
    if net {
        return Some(Reading::Call("expense_summary", arguments.into()));
    }
    if pattern::any(
        s,
        &[
            "_ where is|has|does|did all? my|our|the money go|going|gone|went _",
            "where is|has|does|did all? my|our|the money go|going|gone",
        ],
    ) {
        arguments.insert("groupBy".to_owned(), json!("category"));
        return Some(Reading::Call("expense_summary", arguments.into()));
    }
    let dearest = pattern::any(
        s,
        &[
            "_ dearest|priciest thing|things|buy|purchase|expense|item _",
            "_ most expensive|costly thing|things|buy|purchase|expense|item _",
            "_ biggest|largest|highest|top expense|expenses|purchase|purchases|spend|spends|outgoing|outgoings|buy _",
            "_ spent|spend the? most on _",
            "_ spent|spend the? most on",
        ],
    );
    if dearest {
        arguments.insert("groupBy".to_owned(), json!("largest"));
        return Some(Reading::Call("expense_summary", arguments.into()));
    }
    let asks = s.asks
        || ["how", "what", "total", "hw", "whatever"].contains(&s.word(0))
        || s.mentions(&["total"])
        || s.word(s.len() - 1) == "total";
    let bad = s.has(0, &["how", "bad", "is"]) || s.has(0, &["how", "bad", "are"]);
    let noun = s.mentions(&["spend", "spending"]) && s.len() <= 8 && !["i", "we"].contains(&s.word(0));
    // "what did the tyres cost" is answered from what was noted anywhere.
    let costs = s.mentions(&["cost", "costs"]) && (named.is_empty() || s.mentions(&["does", "do"]));
    if costs {
        return None;
    }
    if !(asks && s.mentions(SPENDS) || bad && !named.is_empty() || noun)
        || pattern::any(s, &["_ will|would|does|do it|that|they|this cost _", "_ cost of _", "when _", "who _"])
    {
        return None;
    }
    let open: Vec<usize> = (0..s.len())
        .filter(|at| !named.contains(at) && !SMALL.contains(&s.word(*at)) && !SPENDS.contains(&s.word(*at)))
        .collect();
    let [first, ..] = open[..] else {
        let tool = if named.is_empty() && !s.mentions(&["spent", "spend", "spending", "total"]) {
            return None;
        } else {
            "expense_summary"
        };
        return Some(Reading::Call(tool, arguments.into()));
    };
    // What it was spent on are words in a row.
    let last = open.iter().enumerate().take_while(|(i, at)| first + i == **at).count() + first;
    if last - first > 3 || open.len() > last - first + 1 {
        return None;
    }
    match terms::category(s, first).filter(|(count, _)| first + count == last && GENERAL.contains(&s.word(first))) {
        Some((_, category)) => arguments.insert("category".to_owned(), json!(category)),
        None => arguments.insert("search".to_owned(), json!(singular(s.slice(first, last)))),
    };
    Some(Reading::Call("query_expenses", arguments.into()))
}

/// Words that name a whole category.
const GENERAL: &[&str] = &[
    "food",
    "groceries",
    "grocery",
    "transport",
    "travel",
    "utilities",
    "entertainment",
    "health",
    "education",
    "housing",
    "shopping",
    "subscriptions",
];

/// What is looked for: without a plural, and without "'s".
fn singular(text: &str) -> String {
    let text = text.trim_end_matches(['?', '!']).to_lowercase();
    let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(&text);
    let text = match text {
        "leccy" => "electric",
        text if text.len() > 4 && !text.ends_with("ss") => text.strip_suffix('s').unwrap_or(text),
        text => text,
    };
    text.to_owned()
}

/// The only sum of money in a sentence: where it is, and what it is.
fn sum(s: &Sentence, bare: bool) -> Option<(usize, usize, f64, Option<&'static str>)> {
    let mut found = vec![];
    let mut at = 0;
    while at < s.len() {
        let read = money::money(s, at).filter(|_| {
            !["a", "an", "one"].contains(&s.word(at))
                || ["fiver", "tenner", "hundred", "thousand"].contains(&s.word(at + 1))
        });
        if let Some(sum) = read {
            // "eight fifty" is 8.50.
            let cents = number::whole(s, at + sum.count).filter(|(_, n)| (10..100).contains(n));
            let spoken = !s.word(at).starts_with(|c: char| c.is_ascii_digit());
            let (count, amount) = match cents {
                Some((more, n)) if sum.currency.is_none() && spoken && sum.amount < 100.0 => {
                    (sum.count + more, sum.amount + f64::from(n) / 100.0)
                }
                _ => (sum.count, sum.amount),
            };
            let decimals = s.word(at).split_once('.').is_some_and(|(_, cents)| cents.len() == 2);
            // "we spent 3 hours on the road" is no money.
            let plain = at + count == s.len() || ["on", "for", "at", "in", "to"].contains(&s.word(at + count));
            let slang = ["fiver", "tenner"].contains(&s.word(at + 1));
            if sum.currency.is_some() || decimals || slang || cents.is_some() || bare && plain {
                found.push((at, at + count, amount, sum.currency));
            }
            at += count;
        } else {
            at += 1;
        }
    }
    match found[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// "I paid the taxi eleven pounds not nine" changes what was noted, and notes nothing new.
pub(super) fn correction(s: &Sentence) -> Option<String> {
    let not = (1..s.len()).rev().find(|at| s.word(*at) == "not")?;
    let before =
        number::number(s, not - 1).is_some() || money::money(s, not.checked_sub(2)?).is_some_and(|sum| sum.count == 2);
    let (count, _) =
        money::money(s, not + 1).map(|sum| (sum.count, sum.amount)).or_else(|| number::number(s, not + 1))?;
    let ends = not + 1 + count == s.len();
    (before && ends && s.mentions(&["paid", "spent", "cost", "was", "were"])).then(|| {
        "Which expense is that? Say it like “change the expense lunch to 14.50”: then there is one entry, and not two."
            .to_owned()
    })
}

/// Something spent, or something that came in.
pub(super) fn changes(s: &Sentence, now: &Zoned) -> Option<Change> {
    const CAME: &[&str] = &[
        "_ came|come|coming|gone|went in|through _",
        "_ got|been|get paid _",
        "_ paid|gave|give me|us _",
        "_ paid their|his|her deposit|invoice|bill|rent|share|half _",
        "_ received _",
        "_ income _",
        "_ wages|wage|salary|pension|payday|refund|refunded landed|arrived|paid|in|of|from _",
        "_ earned _",
    ];
    const FIRST: &[&str] = &["i", "we", "just", "spent", "paid", "give", "gave", "dropped", "blew", "put", "forked"];
    const BOUGHT: &[&str] = &[
        "spent", "spend", "paid", "dropped", "blew", "blown", "gave", "give", "bought", "splashed", "shelled", "forked",
    ];
    if s.mentions(&[
        "remind", "timer", "list", "goal", "owe", "owes", "worth", "should", "would", "will", "want", "if", "not",
        "what", "how", "every", "each", "budget", "split",
    ]) || s.asks
    {
        return None;
    }
    let came = pattern::any(s, CAME);
    let bought = s.mentions(BOUGHT) || s.has(0, &["put", "me", "down", "for"]);
    let (begin, end, amount, currency) = sum(s, bought)?;
    let mut arguments = json!({"amount": number::json(amount), "category": "other"});
    if let Some(currency) = currency {
        arguments["currency"] = json!(currency);
    }
    let mut covered: Vec<usize> = (begin..end).collect();
    let day = (0..s.len()).filter(|at| !covered.contains(at)).find_map(|at| {
        date::past(s, at, now.date())
            .filter(|(_, day)| day.reach == Reach::Day)
            .map(|(count, day)| (at, count, day.date))
    });
    if let Some((at, count, date)) = day {
        covered.extend(at..at + count + usize::from(["morning", "afternoon", "evening"].contains(&s.word(at + count))));
        if date != now.date() {
            arguments["date"] = json!(date.to_string());
        }
    }
    let description = description(s, &covered, came)?;
    arguments["description"] = json!(description);
    if came {
        arguments["income"] = json!(true);
        return Some(Change { tool: "add_expense", arguments, sure: true });
    }
    let named = Sentence::whole(&description);
    if let Some((_, category)) = (0..named.len()).find_map(|at| terms::category(&named, at)) {
        arguments["category"] = json!(category);
    }
    // "38.60 tesco" is asked about, "spent 23.40 in aldi" is not.
    let sure = bought && FIRST.contains(&s.word(0));
    let short = s.len() - (end - begin) <= 4 && (begin == 0 || end == s.len());
    (sure || bought || short).then_some(Change { tool: "add_expense", arguments, sure })
}

/// What the sum was for: the words behind "on", "for", "at", "from", else the first ones that say something.
fn description(s: &Sentence, covered: &[usize], came: bool) -> Option<String> {
    const EMPTY: &[&str] = &[
        "i", "we", "just", "spent", "spend", "paid", "pay", "dropped", "blew", "gave", "give", "bought", "splashed",
        "shelled", "forked", "out", "my", "our", "the", "a", "an", "was", "is", "it", "on", "for", "at", "in", "from",
        "to", "cash", "of", "have", "has", "that", "and", "got", "came", "come", "been", "received", "me", "us",
        "their", "put", "down", "quid", "this", "today", "morning", "says", "expense", "income", "earned", "landed",
        "arrived", "with", "by", "well", "oh", "so", "about", "some",
    ];
    let free = |at: usize| at < s.len() && !covered.contains(&at);
    let run = |begin: usize| -> Option<String> {
        let begin = (begin..s.len()).find(|at| free(*at) && !EMPTY.contains(&s.word(*at)))?;
        let mut end = begin;
        while end < s.len()
            && free(end)
            && (end == begin || !s.tokens[end].after_break)
            && !["cash", "i", "because", "and", "so", "not", "paid", "came", "came"].contains(&s.word(end))
        {
            end += 1;
        }
        while end > begin && EMPTY.contains(&s.word(end - 1)) {
            end -= 1;
        }
        (end > begin && end - begin <= 8).then(|| s.slice(begin, end).to_owned())
    };
    let leads: &[&str] = if came { &["from"] } else { &["on", "for", "at", "in"] };
    let led = (0..s.len()).find(|at| leads.contains(&s.word(*at)) && free(*at) && free(at + 1));
    led.and_then(|at| run(at + 1)).or_else(|| run(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-23T09:00[Europe/London]".parse().unwrap()
    }

    #[test]
    fn questions_about_money_are_read() {
        let mut wrong = vec![];
        for (text, wanted) in [
            (
                "what have we blown on sandpaper this month",
                r#"query_expenses {"period":"this_month","search":"sandpaper"}"#,
            ),
            ("How much has gone on Tesco's this month", r#"query_expenses {"period":"this_month","search":"tesco"}"#),
            (
                "what did we blow on takeaways last week",
                r#"query_expenses {"endDate":"2026-11-22","search":"takeaway","startDate":"2026-11-16"}"#,
            ),
            ("how bad is groceries this month", r#"query_expenses {"category":"food","period":"this_month"}"#),
            ("hw much has leccy cost us this month", r#"query_expenses {"period":"this_month","search":"electric"}"#),
            ("electronics spend so far this month", r#"query_expenses {"period":"this_month","search":"electronic"}"#),
            ("where's all our money going", r#"expense_summary {"groupBy":"category"}"#),
            ("dearest thing we bought this month?", r#"expense_summary {"groupBy":"largest","period":"this_month"}"#),
            ("are we up or down for november", r#"expense_summary {"endDate":"2026-11-30","startDate":"2026-11-01"}"#),
            ("in minus out for nov", r#"expense_summary {"endDate":"2026-11-30","startDate":"2026-11-01"}"#),
            ("net position mtd", r#"expense_summary {"period":"this_month"}"#),
            (
                "whatever did I spend last week, my purse is like a sieve",
                r#"expense_summary {"endDate":"2026-11-22","startDate":"2026-11-16"}"#,
            ),
            ("how much will it cost to paint the shed", ""),
            ("what is on this week", ""),
            ("when did we pay the plumber", ""),
        ] {
            let said = match asked(&Sentence::read(text), &now()) {
                Some(Reading::Call(tool, arguments)) => format!("{tool} {arguments}"),
                _ => String::new(),
            };
            if said != wanted {
                wrong.push(format!("{text}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_correction_is_no_new_expense() {
        for (text, wanted) in [
            ("I paid the taxi eleven pounds not nine", true),
            ("the shoes were 119 not 129", true),
            ("I paid the taxi eleven pounds", false),
            ("we were not there", false),
        ] {
            assert_eq!(correction(&Sentence::read(text)).is_some(), wanted, "{text}");
        }
    }

    #[test]
    fn money_spent_and_come_in_is_read() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("spent 23.40 in aldi", r#"true {"amount":23.4,"category":"other","description":"aldi"}"#),
            ("38.60 tesco", r#"false {"amount":38.6,"category":"other","description":"tesco"}"#),
            (
                "got paid!!! 312.80 from greggs",
                r#"true {"amount":312.8,"category":"other","description":"greggs","income":true}"#,
            ),
            (
                "Child benefit came in, £173.20",
                r#"true {"amount":173.2,"category":"other","currency":"GBP","description":"Child benefit","income":true}"#,
            ),
            (
                "bell inn paid their deposit twelve hundred pounds",
                r#"true {"amount":1200,"category":"other","currency":"GBP","description":"bell inn","income":true}"#,
            ),
            (
                "I gave the window cleaner fifteen pounds yesterday cash",
                r#"true {"amount":15,"category":"other","currency":"GBP","date":"2026-11-22","description":"window cleaner"}"#,
            ),
            (
                "just give the skip man a hundred and eighty quid cash",
                r#"true {"amount":180,"category":"other","currency":"GBP","description":"skip man"}"#,
            ),
            (
                "diesel sixty two pound forty",
                r#"false {"amount":62.4,"category":"transport","currency":"GBP","description":"diesel"}"#,
            ),
            ("what is 38.60 plus 5", ""),
            ("remind me to pay 40 pounds", ""),
            ("I want a car for 5000 pounds", ""),
        ] {
            let said =
                changes(&Sentence::read(text), &now()).map_or(String::new(), |c| format!("{} {}", c.sure, c.arguments));
            if said != wanted {
                wrong.push(format!("{text}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
