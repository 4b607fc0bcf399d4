//! Exact money: whole minor units (cents) of a currency, parsed from decimal text and formatted as it, without floats.

use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use text_kit::{CURRENCY_SIGNS, money_words};
use tool::{
    Error, Result,
    prelude::{Value, schemars},
};

/// The most an amount may be, in whole units.
const MOST: i128 = 1_000_000_000_000;
/// More digits than any amount can need.
const DIGITS: usize = 40;
/// The most decimals of any currency.
pub(super) const DECIMALS: u8 = 4;

/// The currencies of ISO 4217 with two decimals, and three that were replaced recently.
const TWO: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD \
    CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD \
    HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU \
    MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK \
    SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG \
    YER ZAR ZMW ZWG";

/// The decimals of a currency that has not two.
fn unusual(code: &str) -> Option<u8> {
    match code {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "UYI" | "VND"
        | "VUV" | "XAF" | "XOF" | "XPF" => Some(0),
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => Some(3),
        "CLF" | "UYW" => Some(DECIMALS),
        _ => None,
    }
}

/// The decimals of a currency; two for an unknown stored one.
pub(super) fn decimals(code: &str) -> u8 {
    unusual(code).unwrap_or(2)
}

/// A currency by its code or its sign, as its code.
///
/// # Errors
/// `BadArgs` when there is no such currency.
pub(super) fn currency(text: &str) -> Result<String> {
    let text = text.trim();
    let code =
        CURRENCY_SIGNS.iter().find(|(sign, _)| *sign == text).map_or_else(|| text.to_ascii_uppercase(), |s| s.1.into());
    if unusual(&code).is_some() || TWO.split_whitespace().any(|known| known == code) {
        return Ok(code);
    }
    let text = records::truncate(text, 40);
    Err(Error::bad_args(format!(
        "`{text}` is no currency: give its three letters by ISO 4217, such as EUR, USD or GBP"
    )))
}

/// A decimal number as it was written, never a float.
#[derive(Debug, Clone)]
pub(super) struct Decimal(String);

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::Number(n) => Ok(Self(n.to_string())),
            Value::String(text) => Ok(Self(text.trim().to_owned())),
            _ => Err(serde::de::Error::custom("expected an amount, such as 12.50")),
        }
    }
}

impl schemars::JsonSchema for Decimal {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "number"})
    }
}

impl Decimal {
    /// The digits as a whole number, and how many of them are decimals, without trailing zeros.
    fn parts(&self) -> Option<(i128, u32)> {
        let (digits, exponent) = match self.0.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok().filter(|e| e.unsigned_abs() < 30)?),
            None => (self.0.as_str(), 0),
        };
        let (negative, digits) = match digits.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, digits.strip_prefix('+').unwrap_or(digits)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all = [whole, part].concat();
        if all.is_empty() || all.len() > DIGITS || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut number: i128 = all.parse().ok()?;
        let mut scale = i32::try_from(part.len()).ok()? - exponent;
        while scale > 0 && number % 10 == 0 {
            (number, scale) = (number / 10, scale - 1);
        }
        if scale < 0 {
            number = number.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?;
        }
        Some((if negative { -number } else { number }, scale.max(0).unsigned_abs()))
    }

    /// A positive amount in minor units, with no more decimals than the currency has.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong.
    pub fn minor(&self, code: &str) -> Result<i64> {
        let amount = self.bound(code)?;
        if amount == 0 {
            return Err(Error::bad_args("the amount is 0: give what was spent"));
        }
        Ok(amount)
    }

    /// The same; 0 is an amount too.
    fn bound(&self, code: &str) -> Result<i64> {
        let shown = records::truncate(&self.0, 40);
        let (number, scale) = self
            .parts()
            .ok_or_else(|| Error::bad_args(format!("`{shown}` is no amount: write it as 12.50, without a currency")))?;
        if number < 0 {
            return Err(Error::bad_args(format!(
                "the amount {shown} is less than nothing: give what was spent as it is"
            )));
        }
        let decimals = decimals(code);
        let Some(missing) = u32::from(decimals).checked_sub(scale) else {
            let most = if decimals == 0 { "no decimals".to_owned() } else { format!("{decimals} decimals") };
            return Err(Error::bad_args(format!("{code} has {most}, and {shown} has {scale}: round it")));
        };
        let minor = number.checked_mul(unit(missing)).filter(|minor| *minor <= MOST * unit(decimals.into()));
        minor
            .and_then(|minor| i64::try_from(minor).ok())
            .ok_or_else(|| Error::bad_args(format!("the amount {shown} is more than {MOST}: is it right?")))
    }

    /// The number in the smallest unit of any currency, to compare amounts with.
    ///
    /// # Errors
    /// `BadArgs` when it is no amount, or has more decimals.
    pub fn finest(&self) -> Result<i128> {
        // CLF has the most decimals there are.
        self.bound("CLF").map(i128::from)
    }
}

fn unit(decimals: u32) -> i128 {
    10_i128.pow(decimals)
}

/// An amount in the smallest unit of any currency; amounts of different currencies compare by number.
pub(super) fn finest(minor: i64, code: &str) -> i128 {
    i128::from(minor) * unit(u32::from(DECIMALS.saturating_sub(decimals(code))))
}

/// An amount as decimal text with all the decimals of its currency: `12.50`.
pub(super) fn text(minor: i128, code: &str) -> String {
    let decimals = decimals(code);
    if decimals == 0 {
        return minor.to_string();
    }
    let (unit, width) = (unit(decimals.into()), usize::from(decimals));
    let sign = if minor < 0 { "-" } else { "" };
    format!("{sign}{}.{:0width$}", (minor / unit).abs(), (minor % unit).abs())
}

/// An amount as a JSON number without trailing zeros: 12.5.
pub(super) fn number(minor: i128, code: &str) -> Value {
    let text = text(minor, code);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.parse().map_or(Value::Null, Value::Number)
}

/// An amount for a sentence: `€12.50`, `€12`, `500 JPY`.
pub(super) fn format_amount(minor: i128, code: &str) -> String {
    money_words(&text(minor, code), code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cases;
    use proptest::prelude::*;
    use tool::prelude::json;

    fn decimal(value: Value) -> Decimal {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn amounts_are_read_exactly() {
        let rows = [
            (json!(12.5), "EUR", 1250),
            (json!(12), "EUR", 1200),
            (json!("12.50"), "EUR", 1250),
            (json!("12.500"), "EUR", 1250),
            (json!(0.1), "EUR", 10),
            (json!(0.07), "EUR", 7),
            (json!("+.5"), "EUR", 50),
            (json!("5."), "EUR", 500),
            (json!(500), "JPY", 500),
            (json!(500.0), "JPY", 500),
            (json!(1.234), "KWD", 1234),
            (json!("1e3"), "EUR", 100_000),
            (json!("125e-1"), "EUR", 1250),
            (json!(999_999_999_999.99), "EUR", 99_999_999_999_999),
            (json!(1e12), "EUR", 100_000_000_000_000),
            (json!(1e12), "CLF", 10_000_000_000_000_000),
            (json!("0000000000000000000000012.50"), "EUR", 1250),
        ];
        for (given, code, expected) in rows {
            assert_eq!(decimal(given.clone()).minor(code).unwrap(), expected, "{given} {code}");
        }
        let wrong = [
            (json!(0), "EUR", "is 0"),
            (json!("0.00"), "EUR", "is 0"),
            (json!(-5), "EUR", "less than nothing"),
            (json!(12.345), "EUR", "EUR has 2 decimals"),
            (json!(0.5), "JPY", "JPY has no decimals"),
            (json!(1_000_000_000_001_i64), "EUR", "more than"),
            (json!(1e21), "EUR", "more than"),
            (json!(1e300), "EUR", "no amount"),
            (json!(1e-9), "EUR", "decimals"),
            (json!("12,50"), "EUR", "no amount"),
            (json!("€12"), "EUR", "no amount"),
            (json!(""), "EUR", "no amount"),
            (json!("."), "EUR", "no amount"),
            (json!("e5"), "EUR", "no amount"),
            (json!("NaN"), "EUR", "no amount"),
            (json!("1e99999999999"), "EUR", "no amount"),
            (json!("٣"), "EUR", "no amount"),
            (json!("9".repeat(5000)), "EUR", "no amount"),
        ];
        for (given, code, expected) in wrong {
            let error = decimal(given.clone()).minor(code).unwrap_err();
            assert!(error.message().contains(expected), "{given} {code}: {error}");
            assert!(error.message().len() < 300, "{error}");
        }
        assert!(serde_json::from_value::<Decimal>(json!([1])).is_err());
    }

    #[test]
    fn amounts_are_written_with_the_decimals_of_their_currency() {
        let rows = [
            (1250, "EUR", "12.50", json!(12.5), "€12.50"),
            (1200, "EUR", "12.00", json!(12), "€12"),
            (5, "USD", "0.05", json!(0.05), "$0.05"),
            (500, "JPY", "500", json!(500), "500 JPY"),
            (1200, "KWD", "1.200", json!(1.2), "1.200 KWD"),
            (1000, "JPY", "1000", json!(1000), "1000 JPY"),
            (7, "CLF", "0.0007", json!(0.0007), "0.0007 CLF"),
            (1999, "CHF", "19.99", json!(19.99), "19.99 CHF"),
        ];
        for (minor, code, written, as_number, spoken) in rows {
            assert_eq!(
                (text(minor, code), number(minor, code), format_amount(minor, code)),
                (written.into(), as_number, spoken.into())
            );
        }
    }

    #[test]
    fn currencies_are_known_by_code_and_sign() {
        for (given, code) in [("eur", "EUR"), (" Usd ", "USD"), ("€", "EUR"), ("¥", "JPY"), ("kwd", "KWD")] {
            assert_eq!(currency(given).unwrap(), code);
        }
        for wrong in ["", "euro", "XXX", "EU", "EUR USD", "ÄÖÜ", &"E".repeat(10_000)] {
            let error = currency(wrong).unwrap_err();
            assert!(error.message().contains("ISO 4217") && error.message().len() < 250, "{error}");
        }
        let plain = |code: &str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
        assert!(TWO.split_whitespace().all(|code| plain(code) && unusual(code).is_none()));
        assert!(TWO.split_whitespace().is_sorted_by(|a, b| a < b));
        assert_eq!(["EUR", "JPY", "KWD", "CLF", "???"].map(decimals), [2, 0, 3, 4, 2]);
    }

    proptest! {
        #![proptest_config(cases(256))]
        #[test]
        fn what_is_written_is_read_again(minor in 1_i64..=100_000_000_000_000, code in prop::sample::select(vec!["EUR", "USD", "CHF"])) {
            let written = text(minor.into(), code);
            prop_assert_eq!(decimal(json!(written)).minor(code).unwrap(), minor);
            // As a JSON number too, also after it went through text as a whole.
            let again: Value = serde_json::from_str(&number(minor.into(), code).to_string()).unwrap();
            prop_assert_eq!(decimal(again).minor(code).unwrap(), minor);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}|[-+0-9.eE]{0,60}") {
            for code in ["EUR", "JPY", "CLF"] {
                let _ = decimal(json!(text)).minor(code);
            }
            let _ = decimal(json!(text)).finest();
            let _ = currency(&text);
        }
    }
}
