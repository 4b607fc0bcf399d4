//! Validate card numbers and IBANs by their check digits.

use super::{Valid, ValidationResult};
use tool::prelude::json;

/// Luhn check digit; the prefix identifies the issuer.
pub(super) fn card(text: &str) -> ValidationResult {
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-')) {
        return Err("it contains other characters than digits".to_owned());
    }
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if !(12..=19).contains(&digits.len()) {
        return Err(format!("it has {} digits, and cards have 12 to 19", digits.len()));
    }
    if digits.iter().all(|d| *d == 0) {
        return Err("it has only zeros".to_owned());
    }
    let doubled = digits.iter().rev().enumerate().map(|(at, digit)| match (at % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) => twice / 10 + twice % 10,
    });
    if doubled.sum::<u32>() % 10 != 0 {
        return Err("its check digit does not fit".to_owned());
    }
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let first = |digits: usize| number.get(..digits).and_then(|n| n.parse::<u32>().ok()).unwrap_or_default();
    let brand = match (first(1), first(2), first(4)) {
        (4, ..) => "Visa",
        (_, 51..=55, _) | (.., 2221..=2720) => "Mastercard",
        (_, 34 | 37, _) => "American Express",
        (_, 65, _) | (.., 6011) => "Discover",
        (_, 36 | 38, _) => "Diners Club",
        (_, 35, _) => "JCB",
        (_, 62, _) => "UnionPay",
        (_, 50 | 56..=59 | 67, _) => "Maestro",
        _ => return Ok(Valid::new(number)),
    };
    Ok(Valid::new(number).with(json!({"brand": brand})))
}

/// ISO 7064 check digits, modulo 97.
pub(super) fn iban(text: &str) -> ValidationResult {
    let iban: String =
        text.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| c.to_ascii_uppercase()).collect();
    if !iban.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err("it contains other characters than letters and digits".to_owned());
    }
    if !(15..=34).contains(&iban.len()) {
        return Err(format!("it has {} characters, and an IBAN has 15 to 34", iban.len()));
    }
    let (head, account) = iban.split_at(4);
    let (country, check) = head.split_at(2);
    if !country.bytes().all(|b| b.is_ascii_uppercase()) || !check.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it does not begin with two letters of a country and two digits".to_owned());
    }
    let rest = account.chars().chain(head.chars()).filter_map(|c| c.to_digit(36)).fold(0_u32, |rest, value| {
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    });
    if rest != 1 {
        return Err("its check digits do not fit".to_owned());
    }
    let country = country.to_owned();
    Ok(Valid::new(iban).with(json!({"country": country})))
}
