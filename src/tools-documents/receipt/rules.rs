//! What a receipt says, by rules: the total, its currency, the day, the shop, how it was paid, and what it was for.

use jiff::civil::Date;

/// What was found. Nothing is made up: what is not in the text is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Receipt {
    /// In hundredths.
    pub amount: Option<u64>,
    /// ISO 4217.
    pub currency: Option<String>,
    pub date: Option<Date>,
    pub shop: Option<String>,
    pub payment: Option<String>,
    pub category: Option<&'static str>,
}

/// The categories of expenses.
pub(crate) const CATEGORIES: [&str; 11] = [
    "food",
    "transport",
    "utilities",
    "entertainment",
    "shopping",
    "health",
    "education",
    "travel",
    "subscription",
    "housing",
    "other",
];

/// Words before a total, the surest first; and words of lines that hold another sum.
const TOTALS: &[&[&str]] = &[
    &[
        "amount due",
        "zu zahlen",
        "zahlbetrag",
        "grand total",
        "total a pagar",
        "à payer",
        "a payer",
        "do zapłaty",
        "balance due",
    ],
    &[
        "total",
        "gesamt",
        "summe",
        "suma",
        "razem",
        "endbetrag",
        "rechnungsbetrag",
        "importe",
        "montant",
        "totale",
        "betrag",
    ],
];
const OTHER_SUMS: &[&str] = &[
    "subtotal",
    "sub-total",
    "sub total",
    "zwischensumme",
    "sous-total",
    "netto",
    "mwst",
    "ust",
    "vat",
    "tax",
    "iva",
    "tva",
    "steuer",
    "rückgeld",
    "change",
    "gegeben",
    "given",
    "rabatt",
    "discount",
    "ersparnis",
    "saved",
    "items",
    "artikel",
    "points",
    "punkte",
];
/// Signs and codes of currencies.
const CURRENCIES: &[(&str, &str)] = &[
    ("€", "EUR"),
    ("EUR", "EUR"),
    ("£", "GBP"),
    ("GBP", "GBP"),
    ("US$", "USD"),
    ("USD", "USD"),
    ("$", "USD"),
    ("CHF", "CHF"),
    ("zł", "PLN"),
    ("PLN", "PLN"),
    ("Kč", "CZK"),
    ("CZK", "CZK"),
    ("SEK", "SEK"),
    ("NOK", "NOK"),
    ("DKK", "DKK"),
];
const PAYMENTS: &[(&str, &str)] = &[
    ("paypal", "PayPal"),
    ("apple pay", "Apple Pay"),
    ("google pay", "Google Pay"),
    ("mastercard", "card"),
    ("visa", "card"),
    ("girocard", "card"),
    ("ec-karte", "card"),
    ("kartenzahlung", "card"),
    ("maestro", "card"),
    ("credit card", "card"),
    ("debit", "card"),
    ("tarjeta", "card"),
    ("carte bancaire", "card"),
    ("karta", "card"),
    ("card", "card"),
    ("cash", "cash"),
    ("bargeld", "cash"),
    ("efectivo", "cash"),
    ("espèces", "cash"),
    ("gotówka", "cash"),
    ("bar ", "cash"),
];
const SUBJECTS: &[(&str, &str)] = &[
    ("supermarket", "food"),
    ("supermarkt", "food"),
    ("supermercado", "food"),
    ("bakery", "food"),
    ("bäckerei", "food"),
    ("restaurant", "food"),
    ("café", "food"),
    ("pizza", "food"),
    ("milk", "food"),
    ("milch", "food"),
    ("bread", "food"),
    ("brot", "food"),
    ("grocer", "food"),
    ("lebensmittel", "food"),
    ("pharmacy", "health"),
    ("apotheke", "health"),
    ("farmacia", "health"),
    ("pharmacie", "health"),
    ("apteka", "health"),
    ("taxi", "transport"),
    ("fuel", "transport"),
    ("diesel", "transport"),
    ("benzin", "transport"),
    ("tankstelle", "transport"),
    ("parking", "transport"),
    ("fahrkarte", "transport"),
    ("railway", "transport"),
    ("hotel", "travel"),
    ("airline", "travel"),
    ("flight", "travel"),
    ("cinema", "entertainment"),
    ("kino", "entertainment"),
    ("theater", "entertainment"),
    ("museum", "entertainment"),
    ("electricity", "utilities"),
    ("strom", "utilities"),
    ("internet", "utilities"),
    ("rent ", "housing"),
    ("miete", "housing"),
    ("hardware", "shopping"),
    ("baumarkt", "shopping"),
    ("clothing", "shopping"),
    ("bookshop", "shopping"),
    ("buchhandlung", "shopping"),
    ("subscription", "subscription"),
    ("abonnement", "subscription"),
    ("course", "education"),
    ("school", "education"),
];
/// Lines that are no shop's name.
const NO_SHOP: &[&str] = &[
    "receipt",
    "invoice",
    "rechnung",
    "quittung",
    "kassenbon",
    "beleg",
    "bon",
    "factura",
    "facture",
    "paragon",
    "page",
    "tel",
    "www",
];
/// The most lines and characters of a line that are looked at.
const LINES: usize = 400;
const WIDTH: usize = 300;

/// Reads a receipt, on a day of which its own cannot be after.
pub(crate) fn read(text: &str, today: Date) -> Receipt {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.replace('|', " ").trim().chars().take(WIDTH).collect::<String>())
        .filter(|line| !line.is_empty())
        .take(LINES)
        .collect();
    let lower: Vec<String> = lines.iter().map(|line| line.to_lowercase()).collect();
    let all = lower.join("\n");
    let found = |table: &[(&str, &'static str)]| table.iter().find(|(word, _)| all.contains(word)).map(|(_, is)| *is);
    let currency = CURRENCIES.iter().find(|(sign, _)| has_sign(&lines, sign)).map(|(_, code)| (*code).to_owned());
    let american = currency.as_deref() == Some("USD");
    Receipt {
        amount: total(&lower),
        date: lines.iter().find_map(|line| date(line, american).filter(|date| *date <= today)),
        shop: shop(&lines, &lower),
        payment: found(PAYMENTS).map(str::to_owned),
        category: found(SUBJECTS),
        currency,
    }
}

/// A sign anywhere, a code as a word of its own.
fn has_sign(lines: &[String], sign: &str) -> bool {
    let is_code = sign.chars().all(|c| c.is_ascii_uppercase());
    lines.iter().any(|line| match is_code {
        true => line.split(|c: char| !c.is_alphabetic()).any(|word| word == sign),
        false => line.contains(sign),
    })
}

fn total(lower: &[String]) -> Option<u64> {
    let is_other = |line: &str| {
        OTHER_SUMS.iter().any(|word| {
            line.split(|c: char| !c.is_alphanumeric() && c != '-').any(|part| part == *word)
                || word.contains([' ', '-']) && line.contains(word)
        })
    };
    for words in TOTALS {
        // The last one counts: parts come before the whole.
        for (at, line) in lower.iter().enumerate().rev() {
            if !words.iter().any(|word| line.contains(word)) || is_other(line) {
                continue;
            }
            // The sum may stand on the next line.
            let next = lower.get(at + 1).filter(|next| !is_other(next));
            if let Some(amount) = amounts(line).pop().or_else(|| next.and_then(|next| amounts(next).first().copied())) {
                return Some(amount);
            }
        }
    }
    lower.iter().filter(|line| !is_other(line)).flat_map(|line| amounts(line)).max()
}

/// The amounts of a line: numbers with two decimals, in hundredths.
pub(crate) fn amounts(line: &str) -> Vec<u64> {
    let mut all = vec![];
    for word in line.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | '\u{a0}'))) {
        let word = word.trim_matches(['.', ',', '\'', '\u{a0}']);
        let Some(point) = word.rfind(['.', ',']) else { continue };
        let (whole, decimals) = (&word[..point], &word[point + 1..]);
        let is_grouped = {
            let mut groups = whole.split(['.', ',', '\'', '\u{a0}']);
            let first = groups.next().unwrap_or_default();
            (1..=6).contains(&first.len()) && groups.all(|group| group.len() == 3)
        };
        if decimals.len() != 2 || !is_grouped || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        all.extend(digits.parse::<u64>().ok().filter(|amount| *amount > 0 && *amount < 100_000_000_000));
    }
    all
}

/// The first day in a line: 2026-11-27, 27.11.2026, 27/11/26, 11/27/2026.
fn date(line: &str, american: bool) -> Option<Date> {
    for word in line.split(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '.' | '/'))) {
        let parts: Vec<&str> = word.trim_matches(['-', '.', '/']).split(['-', '.', '/']).collect();
        let [a, b, c] = parts[..] else { continue };
        let number = |text: &str| text.parse::<i16>().ok().filter(|_| text.len() <= 4);
        let (Some(x), Some(y), Some(z)) = (number(a), number(b), number(c)) else { continue };
        let (year, month, day) = match (a.len(), c.len()) {
            (4, 1 | 2) => (x, y, z),
            (1 | 2, 4 | 2) => {
                let year = if c.len() == 2 { z + 2000 } else { z };
                let month_first = word.contains('/') && (american || y > 12) && x <= 12;
                if month_first { (year, x, y) } else { (year, y, x) }
            }
            _ => continue,
        };
        let small = |number: i16| i8::try_from(number).unwrap_or(0);
        if let Ok(date) = Date::new(year, small(month), small(day))
            && year >= 2000
        {
            return Some(date);
        }
    }
    None
}

fn shop(lines: &[String], lower: &[String]) -> Option<String> {
    let is_name = |(line, lower): &(&String, &String)| {
        let letters = line.chars().filter(|c| c.is_alphabetic()).count();
        let first = lower.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default();
        letters >= 3
            && letters * 2 >= line.chars().filter(|c| !c.is_whitespace()).count()
            && !NO_SHOP.contains(&first)
            && !line.starts_with("---")
    };
    let (line, _) = lines.iter().zip(lower).take(8).find(is_name)?;
    let name = line.trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ' ']);
    Some(text_kit::truncate(&text_kit::one_line(name), 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today() -> Date {
        Date::new(2026, 11, 28).unwrap()
    }

    #[test]
    fn receipts_of_several_countries_are_read() {
        for (text, amount, currency, date, shop, payment, category) in [
            (
                "Bäckerei Sonnig\nHauptstr. 5\nBrot 3,20\nBrötchen 2,10\nZwischensumme 5,30\nSUMME EUR 5,30\nGegeben 10,00\nRückgeld 4,70\nMwSt 7% 0,35\n27.11.2026 08:12",
                Some(530),
                Some("EUR"),
                Some("2026-11-27"),
                Some("Bäckerei Sonnig"),
                None,
                Some("food"),
            ),
            (
                "INVOICE\nCorner Hardware Ltd\nHammer £12.99\nSubtotal £12.99\nVAT 20% £2.60\nTotal: £1,015.59\nPaid by Visa\nDate 03/11/2026",
                Some(101_559),
                Some("GBP"),
                Some("2026-11-03"),
                Some("Corner Hardware Ltd"),
                Some("card"),
                Some("shopping"),
            ),
            (
                "QuickFuel\nDiesel 40.00 gal\nTOTAL\n$ 52.40\nCash $60.00 Change $7.60\n11/27/2026",
                Some(5240),
                Some("USD"),
                Some("2026-11-27"),
                Some("QuickFuel"),
                Some("cash"),
                Some("transport"),
            ),
            (
                "Apteka Pod Lwem\nSuma PLN 48,00\nKarta\n2026-10-01",
                Some(4800),
                Some("PLN"),
                Some("2026-10-01"),
                Some("Apteka Pod Lwem"),
                Some("card"),
                Some("health"),
            ),
            ("Stand am Markt\nÄpfel 4,00\nBirnen 2,50", Some(400), None, None, Some("Stand am Markt"), None, None),
            ("nothing at all", None, None, None, Some("nothing at all"), None, None),
            ("", None, None, None, None, None, None),
        ] {
            let found = read(text, today());
            assert_eq!(
                (
                    found.amount,
                    found.currency.as_deref(),
                    found.date.map(|date| date.to_string()).as_deref(),
                    found.shop.as_deref(),
                    found.payment.as_deref(),
                    found.category
                ),
                (amount, currency, date, shop, payment, category),
                "{text}"
            );
        }
    }

    #[test]
    fn amounts_and_days_are_told_from_other_numbers() {
        for (line, expected) in [
            ("1.234,56", vec![123_456]),
            ("1,234.56 and 7.00", vec![123_456, 700]),
            ("1'234.50", vec![123_450]),
            ("12.345", vec![]),
            ("27.11.2026", vec![]),
            ("27.11.26", vec![]),
            ("0,00", vec![]),
            ("999999999999999999999,99", vec![]),
        ] {
            assert_eq!(amounts(line), expected, "{line}");
        }
        for (line, expected) in [
            ("31.02.2026", None),
            ("1/2/26", Some("2026-02-01")),
            ("12:30", None),
            ("1999-01-01", None),
            ("10.0.0.1", None),
        ] {
            assert_eq!(date(line, false).map(|date| date.to_string()).as_deref(), expected, "{line}");
        }
        assert_eq!(date("1/2/26", true).unwrap().to_string(), "2026-01-02");
        // A day to come is none on which something was bought.
        assert_eq!(read("Shop\n2027-01-01", today()).date, None);
    }
}
