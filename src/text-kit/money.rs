//! Amounts of money as people write them.

/// The signs of currencies.
pub const CURRENCY_SIGNS: &[(&str, &str)] = &[("€", "EUR"), ("£", "GBP"), ("$", "USD"), ("¥", "JPY")];

/// A decimal amount with its currency: `€12.50`, `€12`, `500 JPY`.
pub fn money_words(amount: &str, code: &str) -> String {
    let amount = amount.strip_suffix(".00").unwrap_or(amount);
    let amount = match amount.split_once('.') {
        Some((_, decimals)) if decimals.len() == 1 => format!("{amount}0"),
        _ => amount.to_owned(),
    };
    match CURRENCY_SIGNS.iter().find(|(_, c)| *c == code && code != "JPY") {
        Some((sign, _)) => match amount.strip_prefix('-') {
            Some(rest) => format!("-{sign}{rest}"),
            None => format!("{sign}{amount}"),
        },
        None => format!("{amount} {code}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_their_currency() {
        for (amount, code, words) in [
            ("12.50", "EUR", "€12.50"),
            ("12.5", "GBP", "£12.50"),
            ("12.00", "USD", "$12"),
            ("-3.20", "EUR", "-€3.20"),
            ("500", "JPY", "500 JPY"),
            ("1.234", "KWD", "1.234 KWD"),
            ("12", "", "12"),
        ] {
            assert_eq!(money_words(amount, code), words);
        }
    }
}
