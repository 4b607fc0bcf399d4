//! What rules find in a text: amounts of money and account numbers. Addresses, numbers and dates come from `extract_from_text`.

/// The most of a kind.
pub(super) const MOST: usize = 100;

/// Currencies by their signs and names.
const CURRENCIES: &[(&str, &str)] = &[
    ("€", "EUR"),
    ("$", "USD"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("₹", "INR"),
    ("₽", "RUB"),
    ("zł", "PLN"),
    ("kč", "CZK"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("dollars", "USD"),
    ("dollar", "USD"),
    ("pounds", "GBP"),
];
const CODES: &[&str] = &[
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "PLN", "CZK", "SEK", "NOK", "DKK", "HUF", "CAD", "AUD", "NZD",
    "BRL", "TRY", "UAH", "RUB", "RON", "BGN", "ISK", "ILS", "KRW", "MXN", "ZAR", "SGD", "HKD",
];

/// An amount of money.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(super) struct Amount {
    /// As it is written.
    pub text: String,
    pub amount: f64,
    pub currency: String,
}

/// The amounts of money in a text.
pub(super) fn amounts(text: &str) -> Vec<Amount> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at): (Vec<Amount>, usize) = (vec![], 0);
    while at < chars.len() && found.len() < MOST {
        let begins = chars[at].is_ascii_digit()
            && (at == 0 || !chars[at - 1].is_alphanumeric() && !"._,".contains(chars[at - 1]));
        if !begins {
            at += 1;
            continue;
        }
        let end = number_end(&chars, at);
        let number: String = chars[at..end].iter().collect();
        if let Some(amount) = value(&number)
            && let Some((from, to, currency)) = currency_around(&chars, at, end)
        {
            let one = Amount { text: chars[from..to].iter().collect(), amount, currency: currency.to_owned() };
            if !found.contains(&one) {
                found.push(one);
            }
            at = to.max(end);
            continue;
        }
        at = end;
    }
    found
}

/// The end of a number: digits, with separators and spaces of thousands between them.
fn number_end(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while at < chars.len() && at - from < 24 {
        let digit = |n: usize| chars.get(n).is_some_and(char::is_ascii_digit);
        match chars[at] {
            c if c.is_ascii_digit() => {}
            '.' | ',' | '\'' | '’' if digit(at + 1) => {}
            ' ' | '\u{a0}' | '\u{202f}' if (1..=3).all(|n| digit(at + n)) && !digit(at + 4) => {}
            _ => break,
        }
        at += 1;
    }
    at
}

/// A number as people write it; the last separator is decimal unless three digits follow it.
fn value(number: &str) -> Option<f64> {
    let last = number.rfind(['.', ',']);
    let decimals = last.map(|at| number.len() - at - 1);
    let separators = number.chars().filter(|c| ".,".contains(*c)).count();
    let is_decimal = match decimals {
        Some(3) => separators > 1 && number.contains('.') && number.contains(','),
        Some(n) => n <= 2 || separators == 1,
        None => false,
    };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let plain = match last.filter(|_| is_decimal) {
        Some(at) => format!("{}.{}", digits(&number[..at]), digits(&number[at..])),
        None => digits(number),
    };
    plain.parse().ok()
}

/// The currency before or after a number, and where amount and currency begin and end.
fn currency_around(chars: &[char], from: usize, to: usize) -> Option<(usize, usize, &'static str)> {
    let named = |word: &str| {
        let lower = word.to_lowercase();
        let code = CODES.iter().copied().find(|code| *code == word);
        code.or_else(|| CURRENCIES.iter().find(|(name, _)| *name == lower).map(|(_, code)| *code))
    };
    let is_sign = |c: char| CURRENCIES.iter().any(|(sign, _)| sign.chars().eq([c]));
    // After it: a sign or a word.
    let after = (to..chars.len().min(to + 2)).find(|at| !chars[*at].is_whitespace()).filter(|at| *at <= to + 1);
    if let Some(start) = after {
        let end = if is_sign(chars[start]) {
            start + 1
        } else {
            start + chars[start..].iter().take(8).take_while(|c| c.is_alphabetic()).count()
        };
        let word: String = chars[start..end].iter().collect();
        if let Some(currency) = named(&word) {
            return Some((from, end, currency));
        }
    }
    // Before it.
    let end = from - chars[..from].iter().rev().take(1).take_while(|c| c.is_whitespace()).count();
    let start = match chars[..end].last() {
        Some(c) if is_sign(*c) => end - 1,
        _ => end - chars[..end].iter().rev().take(4).take_while(|c| c.is_alphabetic()).count(),
    };
    let word: String = chars[start..end].iter().collect();
    named(&word).map(|currency| (start, to, currency))
}

/// The account numbers (IBAN) in a text whose check digits are right, without spaces.
pub(super) fn ibans(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut found: Vec<String> = vec![];
    for at in 0..chars.len() {
        let begins = chars[at].is_ascii_uppercase() && (at == 0 || !chars[at - 1].is_alphanumeric());
        if !begins || found.len() == MOST {
            continue;
        }
        // Up to 34 letters and digits, in groups of four.
        let (mut number, mut lengths) = (String::new(), vec![]);
        for (n, c) in chars[at..].iter().take(46).enumerate() {
            match c {
                c if c.is_ascii_uppercase() || c.is_ascii_digit() => number.push(*c),
                ' ' | '\u{a0}' if n > 0 => lengths.push(number.len()),
                _ => break,
            }
        }
        lengths.push(number.len());
        // The text may go on in capitals: the longest that fits is the number.
        let fits = lengths.into_iter().rev().filter(|length| (15..=34).contains(length));
        if let Some(iban) = fits.map(|length| &number[..length]).find(|number| is_iban(number))
            && !found.iter().any(|other| other == iban)
        {
            found.push(iban.to_owned());
        }
    }
    found
}

/// Whether the check digits are right (ISO 13616): the number modulo 97 is 1.
fn is_iban(text: &str) -> bool {
    let (head, rest) = text.split_at(4);
    let country = head[..2].bytes().all(|b| b.is_ascii_uppercase()) && head[2..].bytes().all(|b| b.is_ascii_digit());
    let remainder = rest.chars().chain(head.chars()).try_fold(0u32, |remainder, c| {
        let digit = c.to_digit(36)?;
        Some((remainder * if digit > 9 { 100 } else { 10 } + digit) % 97)
    });
    country && remainder == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        for (text, expected) in [
            ("It costs 12.50 €.", &[("12.50 €", 12.5, "EUR")][..]),
            ("$1,234.50 or 99 USD", &[("$1,234.50", 1234.5, "USD"), ("99 USD", 99.0, "USD")]),
            ("EUR 1.234,50 and 1 000 Kč", &[("EUR 1.234,50", 1234.5, "EUR"), ("1 000 Kč", 1000.0, "CZK")]),
            ("1.000 euros, CHF 12'000", &[("1.000 euros", 1000.0, "EUR"), ("CHF 12'000", 12000.0, "CHF")]),
            ("£5", &[("£5", 5.0, "GBP")]),
            ("12 apples, room 5, 3.4, 2026-11-27", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = amounts(text).into_iter().map(|a| (a.text, a.amount, a.currency)).collect();
            let expected: Vec<_> =
                expected.iter().map(|(text, amount, code)| (text.to_string(), *amount, code.to_string())).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert!(amounts(&"9".repeat(50_000)).is_empty());
        assert_eq!(amounts(&(0..300).map(|n| format!("{n} EUR ")).collect::<String>()).len(), MOST);
    }

    #[test]
    fn account_numbers_have_right_check_digits() {
        for (text, expected) in [
            ("to AT61 1904 3002 3457 3201, please", &["AT611904300234573201"][..]),
            ("DE89370400440532013000", &["DE89370400440532013000"]),
            ("GB82 WEST 1234 5698 7654 32 THANKS", &["GB82WEST12345698765432"]),
            ("AT61 1904 3002 3457 3202", &[]),
            ("NO9", &[]),
            ("ÄÖ61 1904", &[]),
        ] {
            assert_eq!(ibans(text), expected, "{text}");
        }
        ibans(&"A".repeat(50_000));
    }
}
