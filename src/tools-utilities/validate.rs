//! Validate and normalize values of common formats.

mod money;
mod net;

use crate::{
    bounds::{excerpt, short, within},
    json::text_of,
    statistics::number,
    words::words,
};
use jiff::tz::TimeZone;
use serde::de::IgnoredAny;
use tool::{When, prelude::*};
use uuid::Uuid;

/// The maximum length of a value other than JSON, in bytes.
const LONGEST: usize = 4096;

words! {
    /// A format.
    Form {
        Email = "email",
        Url = "url" | "uri",
        Phone = "phone",
        Uuid = "uuid",
        Ip = "ip",
        Ipv4 = "ipv4",
        Ipv6 = "ipv6",
        Hostname = "hostname" | "domain",
        Mac = "mac",
        Date = "date" | "datetime",
        Json = "json",
        CreditCard = "credit_card",
        Iban = "iban",
        HexColor = "hex_color",
        Number = "number",
        Integer = "integer",
        Boolean = "boolean",
    }
}

/// Validate the format of an email address, URL, phone number, UUID, IP address, date, JSON, IBAN and others. Returns
/// the reason if it is invalid and its normalized form. Does not check that it exists.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Validate {
    /// Value to validate.
    value: Value,
    /// Expected format.
    #[serde(rename = "type")]
    form: Form,
}

/// A valid value.
pub(super) struct Valid {
    /// The normalized value.
    normalized: Value,
    /// Additional details of the format.
    details: Value,
}

impl Valid {
    fn new(normalized: impl Into<Value>) -> Self {
        Self { normalized: normalized.into(), details: Value::Null }
    }
    fn with(self, details: Value) -> Self {
        Self { details, ..self }
    }
}

/// A valid value, or the reason why it is invalid.
type ValidationResult = std::result::Result<Valid, String>;

pub(crate) async fn validate(_: (), _: Cx, Validate { value, form }: Validate) -> Result<Output> {
    let text = text_of(value);
    match form {
        Form::Json => short("value", &text)?,
        _ => within("value", text.len(), LONGEST, "bytes")?,
    }
    let name = format_name(form);
    // Account and card numbers are not repeated.
    let shown = match form {
        Form::CreditCard | Form::Iban => "this".to_owned(),
        _ => format!("“{}”", excerpt(text.trim())),
    };
    match check(form, text.trim()) {
        Ok(Valid { normalized, details }) => {
            let mut answer = json!({"valid": true, "type": form.word(), "normalized": normalized});
            if !details.is_null() {
                answer["details"] = details;
            }
            Ok(Output::json(answer)?.say(format!("Yes, {shown} is a valid {name}.")))
        }
        Err(reason) => {
            let answer = json!({"valid": false, "type": form.word(), "reason": reason});
            Ok(Output::json(answer)?.say(format!("No, {shown} is not a valid {name}: {reason}.")))
        }
    }
}

fn format_name(form: Form) -> &'static str {
    match form {
        Form::Email => "email address",
        Form::Url => "URL",
        Form::Phone => "phone number",
        Form::Uuid => "UUID",
        Form::Ip => "IP address",
        Form::Ipv4 => "IPv4 address",
        Form::Ipv6 => "IPv6 address",
        Form::Mac => "MAC address",
        Form::Json => "JSON text",
        Form::CreditCard => "card number",
        Form::Iban => "IBAN",
        Form::HexColor => "colour",
        Form::Boolean => "yes or no",
        Form::Hostname | Form::Date | Form::Number | Form::Integer => form.word(),
    }
}

fn check(form: Form, text: &str) -> ValidationResult {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    match form {
        Form::Email => net::email(text),
        Form::Url => net::url(text),
        Form::Phone => phone(text),
        Form::Uuid => {
            let id = Uuid::try_parse(text).map_err(|_| "it is not 32 hex digits in groups of 8-4-4-4-12".to_owned())?;
            Ok(Valid::new(id.hyphenated().to_string()).with(json!({"version": id.get_version_num()})))
        }
        Form::Ip => net::ip(text, |_| true),
        Form::Ipv4 => net::ip(text, std::net::IpAddr::is_ipv4),
        Form::Ipv6 => net::ip(text, std::net::IpAddr::is_ipv6),
        Form::Hostname => net::hostname(text).map(Valid::new),
        Form::Mac => net::mac(text),
        Form::Date => {
            let when = When::read(text, &TimeZone::UTC);
            let when = when.map_err(|_| "it is not a date such as 2026-11-20 or 2026-11-20T14:30".to_owned())?;
            // Without a time zone a time stays as written; with one it is normalized to UTC.
            let zoned = text.ends_with(['Z', 'z', ']']) || text.get(10..).is_some_and(|time| time.contains(['+', '-']));
            let written = match &when {
                When::At(at) if !zoned => at.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
                When::At(at) => at.timestamp().to_string(),
                When::Day(day) => day.to_string(),
            };
            let kind = if matches!(when, When::Day(_)) { "date" } else { "datetime" };
            Ok(Valid::new(written).with(json!({"kind": kind})))
        }
        Form::Json => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Ok(Valid::new(Value::Null)),
            Err(why) => Err(why.to_string()),
        },
        Form::CreditCard => money::card(text),
        Form::Iban => money::iban(text),
        Form::HexColor => colour(text),
        Form::Number => {
            let plain = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
            let parsed = text.parse::<f64>().ok().filter(|n| plain && n.is_finite());
            parsed.map(|n| Valid::new(number(n))).ok_or_else(|| "it is not a number such as -12.5 or 3e8".to_owned())
        }
        Form::Integer => integer(text),
        Form::Boolean => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Valid::new(true)),
            "false" | "no" | "off" | "0" => Ok(Valid::new(false)),
            _ => Err("it is not one of true, false, yes, no, on, off, 1 and 0".to_owned()),
        },
    }
}

/// E.164: 7 to 15 digits, with a plus before a country code.
fn phone(text: &str) -> ValidationResult {
    if let Some(strange) = text.chars().find(|c| !c.is_ascii_digit() && !" ()-./+\u{a0}\u{2011}".contains(*c)) {
        return Err(format!("`{strange}` is not allowed in it"));
    }
    if text.rfind('+').is_some_and(|at| at > 0) {
        return Err("a + is only allowed at the start".to_owned());
    }
    // A zero in brackets is dropped after a country code.
    let abroad = text.starts_with('+') || text.starts_with("00");
    let text = if abroad { text.replace("(0)", "") } else { text.to_owned() };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.strip_prefix("00").filter(|_| !text.starts_with('+')).unwrap_or(&digits);
    if !(7..=15).contains(&digits.len()) {
        return Err(format!("it has {} digits, and phone numbers have 7 to 15", digits.len()));
    }
    if abroad && digits.starts_with('0') {
        return Err("no country code begins with 0".to_owned());
    }
    let written = if abroad { format!("+{digits}") } else { digits.to_owned() };
    Ok(Valid::new(written).with(json!({"international": abroad})))
}

fn integer(text: &str) -> ValidationResult {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it is not a whole number such as -12".to_owned());
    }
    // Numbers beyond 64 bits stay text.
    Ok(Valid::new(text.parse::<i64>().map_or_else(|_| Value::from(text.trim_start_matches('+')), Value::from)))
}

fn colour(text: &str) -> ValidationResult {
    let digits = text.strip_prefix('#').unwrap_or(text);
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) || ![3, 4, 6, 8].contains(&digits.len()) {
        return Err("it is not 3, 4, 6 or 8 hex digits such as #ffcc00".to_owned());
    }
    let short = digits.len() < 5;
    let full: String =
        digits.chars().flat_map(|c| std::iter::repeat_n(c.to_ascii_lowercase(), if short { 2 } else { 1 })).collect();
    let part = |at: usize| full.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let details = json!({"red": part(0), "green": part(2), "blue": part(4), "alpha": part(6).map(|a| number(f64::from(a) / 255.0))});
    Ok(Valid::new(format!("#{full}")).with(details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx};
    use proptest::prelude::*;

    async fn ask(value: Value, form: &str) -> Output {
        call(crate::text(), &cx(), "validate", json!({"value": value, "type": form})).await.unwrap()
    }

    #[tokio::test]
    async fn well_formed_values_are_written_as_usual() {
        let rows = [
            ("email", json!(" Anna.B+x@Mail.Example.ORG "), json!("Anna.B+x@mail.example.org")),
            ("email", json!("jürgen@müller.example"), json!("jürgen@müller.example")),
            ("url", json!("HTTP://Example.org:80/a b?q=ü"), json!("http://example.org/a%20b?q=%C3%BC")),
            ("phone", json!("+43 (0)664 / 123-4567"), json!("+436641234567")),
            ("phone", json!("0043 664 1234567"), json!("+436641234567")),
            ("phone", json!("(01) 234 56 78"), json!("012345678")),
            ("uuid", json!("{67E55044-10B1-426F-9247-BB680E5FE0C8}"), json!("67e55044-10b1-426f-9247-bb680e5fe0c8")),
            ("ip", json!("2001:DB8:0:0::1"), json!("2001:db8::1")),
            ("ipv4", json!("192.0.2.7"), json!("192.0.2.7")),
            ("ipv6", json!("::ffff:192.0.2.1"), json!("::ffff:192.0.2.1")),
            ("hostname", json!("Kitchen.Local."), json!("kitchen.local")),
            ("mac", json!("B827.EB00.01ff"), json!("b8:27:eb:00:01:ff")),
            ("mac", json!("b8-27-EB-00-01-FF"), json!("b8:27:eb:00:01:ff")),
            ("date", json!("2026-11-20"), json!("2026-11-20")),
            ("date", json!("2026-11-20 14:30"), json!("2026-11-20T14:30:00")),
            ("datetime", json!("2026-11-20T14:30:00-05:00"), json!("2026-11-20T19:30:00Z")),
            ("json", json!("{\"a\": [1]}"), Value::Null),
            ("json", json!({"a": 1}), Value::Null),
            ("credit card", json!("4111 1111-1111 1111"), json!("4111111111111111")),
            ("iban", json!("at61 1904 3002 3457 3201"), json!("AT611904300234573201")),
            ("hex_color", json!("#FC0"), json!("#ffcc00")),
            ("number", json!(" -1.50"), json!(-1.5)),
            ("number", json!(7), json!(7)),
            ("integer", json!("+12"), json!(12)),
            ("integer", json!("99999999999999999999"), json!("99999999999999999999")),
            ("boolean", json!("Yes"), json!(true)),
        ];
        for (form, value, wanted) in rows {
            let answer = ask(value.clone(), form).await.content;
            assert_eq!((&answer["valid"], &answer["normalized"]), (&json!(true), &wanted), "{form} {value}: {answer}");
        }
        let colour = ask(json!("ffcc0080"), "hex_color").await.content;
        assert_eq!(colour["details"], json!({"red": 255, "green": 204, "blue": 0, "alpha": 0.501_960_784_313_725}));
    }

    #[tokio::test]
    async fn malformed_values_are_told_why() {
        let rows = [
            ("email", "anna", "no @"),
            ("email", "a@b@c.de", "more than one @"),
            ("email", ".a@b.de", "dot"),
            ("email", "a..b@b.de", "dot"),
            ("email", "a b@c.de", "` `"),
            ("email", "a@localhost", "no dot"),
            ("email", "a@b-.de", "hyphen"),
            ("email", "a@1.2.3.4", "ends with a number"),
            ("email", "a@b.de.", "dot"),
            ("email", "a€@b.de", "`€`"),
            ("url", "example.org", "http"),
            ("url", "javascript:alert(1)", "javascript"),
            ("url", "http://", "host"),
            ("url", "http://a b/", "host"),
            ("phone", "12345", "5 digits"),
            ("phone", "1234 567x", "`x`"),
            ("phone", "12+345678", "at the start"),
            ("phone", "+0123456789", "begins with 0"),
            ("uuid", "67e55044", "32 hex digits"),
            ("ip", "256.1.1.1", "IP address"),
            ("ipv4", "::1", "other IP version"),
            ("ipv6", "1.2.3.4", "other IP version"),
            ("ipv4", "01.2.3.4", "IP address"),
            ("hostname", "-a.b", "hyphen"),
            ("hostname", "a..b", "empty"),
            ("hostname", "a_b", "`_`"),
            ("mac", "b8:27:eb:00:01", "12 hex digits"),
            ("mac", "b8:27-eb:00:01:ff", "mixes separators"),
            ("date", "2026-02-30", "2026-11-20"),
            ("date", "20.11.2026", "2026-11-20"),
            ("json", "{a:1}", "line 1"),
            ("credit_card", "4111111111111112", "check digit"),
            ("credit_card", "411111", "digits"),
            ("credit_card", "0000000000000000", "zeros"),
            ("iban", "AT611904300234573202", "check digits"),
            ("iban", "1261190430023457", "country"),
            ("iban", "AT61", "15 to 34"),
            ("iban", "ATÄ1190430023457320", "letters and digits"),
            ("hex_color", "#ff", "hex digits"),
            ("number", "inf", "number"),
            ("number", "1e999", "number"),
            ("number", "1,5", "number"),
            ("integer", "1.0", "whole"),
            ("integer", "-", "whole"),
            ("boolean", "maybe", "not one of"),
            ("email", "  ", "empty"),
        ];
        for (form, value, wanted) in rows {
            let answer = ask(json!(value), form).await.content;
            let reason = answer["reason"].as_str().unwrap_or("(valid)").to_owned();
            assert!(answer["valid"] == false && reason.contains(wanted), "{form} {value}: {reason}");
        }
        assert_eq!(
            ask(json!("x"), "integer").await.say.unwrap(),
            "No, “x” is not a valid integer: it is not a whole number such as -12."
        );
        assert_eq!(
            ask(json!("4111111111111111"), "credit_card").await.say.unwrap(),
            "Yes, this is a valid card number."
        );
    }

    #[tokio::test]
    async fn the_old_names_work_and_too_long_is_refused() {
        let email = call(crate::text(), &cx(), "validate_email", json!({"email": "a@example.org"})).await.unwrap();
        assert_eq!(email.content, json!({"valid": true, "type": "email", "normalized": "a@example.org"}));
        assert_eq!(email.say.unwrap(), "Yes, “a@example.org” is a valid email address.");
        let url = call(crate::text(), &cx(), "validate_url", json!({"value": "https://example.org"})).await.unwrap();
        assert_eq!(url.content["normalized"], "https://example.org/");
        let long = json!({"value": "a".repeat(LONGEST + 1), "type": "email"});
        assert!(matches!(call(crate::text(), &cx(), "validate", long).await, Err(Error::BadArgs(_))));
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn no_value_does_harm(text in "[a-zA-Z0-9@.:+#(){}\\[\\]/ _-]{0,40}|\\PC{0,40}") {
            for (form, _) in Form::WORDS {
                if let Ok(found) = check(*form, text.trim()) {
                    // A normalized value is valid.
                    if let Some(written) = found.normalized.as_str() {
                        prop_assert!(check(*form, written).is_ok(), "{} {:?} {}", form.word(), text, written);
                    }
                }
            }
        }
    }
}
