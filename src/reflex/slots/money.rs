//! Sums of money: "12.50", "€12,50", "12 euros 50", "twenty bucks", "50 cents", "5 quid".

use super::number;
use crate::sentence::Sentence;

/// An amount and its ISO 4217 currency, if given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Money {
    pub count: usize,
    pub amount: f64,
    pub currency: Option<&'static str>,
}

/// Currency names and signs.
const CURRENCIES: &[(&str, &str)] = &[
    ("EUR", "€|euro|euros|eur"),
    ("USD", "$|dollar|dollars|usd|buck|bucks"),
    ("GBP", "£|pound|pounds|gbp|quid"),
    ("CHF", "franc|francs|chf|sfr"),
    ("JPY", "¥|yen|jpy"),
    ("CZK", "czk|koruna|korunas|crowns"),
    ("PLN", "pln|zloty|zlotys"),
    ("HUF", "huf|forint|forints"),
    ("SEK", "sek|kronor"),
    ("INR", "₹|rupee|rupees|inr"),
];

/// Names of hundredths.
const CENTS: &[(&str, Option<&str>)] =
    &[("cent", None), ("cents", None), ("pence", Some("GBP")), ("penny", Some("GBP")), ("p", Some("GBP"))];

/// Maximum plausible amount.
const MOST: f64 = 1e12;

/// An amount at `at`; never zero or less.
pub(crate) fn money(s: &Sentence, at: usize) -> Option<Money> {
    let lead = currency_named(s.word(at)).filter(|_| s.word(at + 1).starts_with(|c: char| c.is_ascii_digit()));
    let begin = at + usize::from(lead.is_some());
    let (mut count, mut amount) = digits(s, begin).or_else(|| counted(s, begin))?;
    let signed = lead.or_else(|| sign_beside(s, begin, count));
    if signed.is_none()
        && let Some((_, of)) = CENTS.iter().find(|(word, _)| *word == s.word(begin + count))
    {
        let (amount, currency) = (amount / 100.0, *of);
        return in_bounds(Money { count: begin + count + 1 - at, amount, currency });
    }
    let named = currency_named(s.word(begin + count));
    count += usize::from(named.is_some());
    let currency = signed.or(named);
    // "12 euros 50", "twelve euros and fifty cents"
    if currency.is_some() && amount.fract() == 0.0 {
        let and = usize::from(s.word(begin + count) == "and");
        let hundredths = number::whole(s, begin + count + and).filter(|(_, n)| (1..100).contains(n));
        if let Some((more, n)) = hundredths {
            let cents = CENTS.iter().any(|(word, _)| *word == s.word(begin + count + and + more));
            if cents || (and == 0 && n > 9) && !is_unit_of_time(s.word(begin + count + more)) {
                amount += f64::from(n) / 100.0;
                count += and + more + usize::from(cents);
            }
        }
    }
    in_bounds(Money { count: begin + count - at, amount, currency })
}

fn in_bounds(money: Money) -> Option<Money> {
    (money.amount > 0.0 && money.amount <= MOST).then_some(money)
}

fn is_unit_of_time(word: &str) -> bool {
    ["minutes", "hours", "days", "am", "pm"].contains(&word)
}

/// "12.50", "12,50", and "1.234,50", which comes as two tokens separated only by the comma.
fn digits(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    let first = s.tokens.get(at)?;
    let value: f64 = first.word.parse().ok().filter(|_| first.word.starts_with(|c: char| c.is_ascii_digit()))?;
    // "12h" and "1e30" are something else.
    let tied = s.tokens.get(at + 1).filter(|next| next.start == first.end).map_or("", |next| &next.word);
    let known = currency_named(tied).is_some() || tied == "k" || CENTS.iter().any(|(word, _)| *word == tied);
    if tied.starts_with(char::is_alphabetic) && !known {
        return None;
    }
    let (count, value) = match s.tokens.get(at + 1) {
        Some(next)
            if s.text.get(first.end..next.start) == Some(",")
                && next.word.len() == 2
                && next.word.bytes().all(|b| b.is_ascii_digit()) =>
        {
            // In "1.234,50" the point separates thousands.
            let whole: f64 = if value.fract() == 0.0 { value } else { first.word.replace('.', "").parse().ok()? };
            (2, whole + next.word.parse::<f64>().ok()? / 100.0)
        }
        _ => (1, value),
    };
    Some(match s.word(at + count) {
        "hundred" => (count + 1, value * 1e2),
        "thousand" | "k" => (count + 1, value * 1e3),
        "million" => (count + 1, value * 1e6),
        _ => (count, value),
    })
}

/// A number in words; "a fiver", "a tenner".
fn counted(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    match (s.word(at), s.word(at + 1)) {
        ("a", "fiver") => Some((2, 5.0)),
        ("a", "tenner") => Some((2, 10.0)),
        ("a" | "an" | "one", next) if currency_named(next).is_some() => Some((1, 1.0)),
        ("-" | "minus" | "negative", _) => None,
        (word, _) if word.starts_with(|c: char| c.is_ascii_digit()) => None,
        _ => number::number(s, at),
    }
}

fn currency_named(word: &str) -> Option<&'static str> {
    CURRENCIES.iter().find(|(_, names)| names.split('|').any(|name| name == word)).map(|(iso, _)| *iso)
}

/// A currency sign directly before or after the tokens.
fn sign_beside(s: &Sentence, at: usize, count: usize) -> Option<&'static str> {
    let (first, last) = (s.tokens.get(at)?, s.tokens.get(at + count - 1)?);
    let before = s.text.get(..first.start)?.trim_end().chars().next_back();
    let behind = s.text.get(last.end..)?.trim_start().chars().next();
    let sign = |c: Option<char>| c.and_then(|c| currency_named(c.encode_utf8(&mut [0; 4])));
    sign(before).or_else(|| sign(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_currency() {
        for (text, count, amount, currency) in [
            ("12.50 on lunch", 1, 12.5, None),
            ("12,50 on lunch", 1, 12.5, None),
            ("€12.50", 1, 12.5, Some("EUR")),
            ("€ 12,50 for lunch", 1, 12.5, Some("EUR")),
            ("12€", 1, 12.0, Some("EUR")),
            ("12 € for lunch", 1, 12.0, Some("EUR")),
            ("$20", 1, 20.0, Some("USD")),
            ("twenty bucks", 2, 20.0, Some("USD")),
            ("12 euros 50", 3, 12.5, Some("EUR")),
            ("twelve euros and fifty cents for", 5, 12.5, Some("EUR")),
            ("12 euros and 2 beers", 2, 12.0, Some("EUR")),
            ("12 euros 30 minutes ago", 2, 12.0, Some("EUR")),
            ("50 cents", 2, 0.5, None),
            ("80p", 2, 0.8, Some("GBP")),
            ("5 quid", 2, 5.0, Some("GBP")),
            ("a fiver", 2, 5.0, None),
            ("a pound for bread", 2, 1.0, Some("GBP")),
            ("EUR 30", 2, 30.0, Some("EUR")),
            ("1,234.50 dollars", 2, 1234.5, Some("USD")),
            ("1.234,50 €", 2, 1234.5, Some("EUR")),
            ("two hundred francs", 3, 200.0, Some("CHF")),
            ("2k euros", 3, 2000.0, Some("EUR")),
        ] {
            let got = money(&Sentence::read(text), 0);
            assert_eq!(got, Some(Money { count, amount, currency }), "{text}");
        }
        for text in
            ["", "lunch", "0", "minus 5", "-5 euros", "a lunch", "17:30", "2026-11-20", "1e30", "99999999999999"]
        {
            assert_eq!(money(&Sentence::read(text), 0), None, "{text}");
        }
    }
}
