//! Reads arguments: texts, tags, dates, pages, batches, filters, and fields that can be cleared.

use jiff::{civil::Date, tz::TimeZone};
use std::borrow::Cow;
use store::order;
use text_kit::{find_part, search_parts};
use tool::{
    Cx, Error, Result, When,
    prelude::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema},
};

/// The most records one call may add.
pub const BATCH: usize = 100;
/// The most tags of a record, and the most characters of one.
const TAGS: usize = 20;
const TAG: usize = 50;
/// The years a date may be in; the calendar library ends soon after.
const YEARS: std::ops::RangeInclusive<i16> = 1700..=9998;

/// A change of a field that null clears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Leaves it as it is.
    #[default]
    Unset,
    /// Clears it.
    Null,
    /// Sets it.
    Set(T),
}

impl<T> Patch<T> {
    /// The new value, or `None` inside to clear the field; `None` for no change.
    pub fn change(&self) -> Option<Option<&T>> {
        match self {
            Self::Unset => None,
            Self::Null => Some(None),
            Self::Set(value) => Some(Some(value)),
        }
    }
}

impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Patch<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(d)?.map_or(Self::Null, Self::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Given_{}", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // `schema_of` takes null out of optional fields; here it has a meaning.
        json_schema!({"oneOf": [generator.subschema_for::<T>(), {"const": null}]})
    }
}

/// Whether a character is invisible, or changes the direction of the text around it.
fn is_invisible_or_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text that must not be empty: trimmed, and without invisible characters.
///
/// # Errors
/// `BadArgs` when it is empty or longer than `most` characters.
pub fn required_text(what: &str, text: &str, most: usize) -> Result<String> {
    let text: String = text.chars().filter(|c| !is_invisible_or_control(*c)).collect();
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::bad_args(format!("the {what} is empty: write something")));
    }
    if text.chars().nth(most).is_some() {
        return Err(Error::bad_args(format!("the {what} is longer than {most} characters: shorten it")));
    }
    Ok(text.to_owned())
}

/// A text that may be left out; an empty one counts as left out.
///
/// # Errors
/// `BadArgs` when it is longer than `most` characters.
pub fn optional_text(what: &str, text: Option<&str>, most: usize) -> Result<Option<String>> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(|text| required_text(what, text, most)).transpose()
}

/// Changes a text that must not be empty, if another is given.
///
/// # Errors
/// As [`required_text`].
pub fn set_required(what: &str, field: &mut String, text: Option<&str>, most: usize) -> Result<()> {
    if let Some(text) = text {
        *field = required_text(what, text, most)?;
    }
    Ok(())
}

/// Changes an optional text, if another is given; an empty one clears it.
///
/// # Errors
/// As [`optional_text`].
pub fn set_optional(what: &str, field: &mut Option<String>, text: Option<&str>, most: usize) -> Result<()> {
    if text.is_some() {
        *field = optional_text(what, text, most)?;
    }
    Ok(())
}

/// Tags, trimmed and without duplicates (in any case).
///
/// # Errors
/// `BadArgs` when there are too many or one is too long.
pub fn tags(given: &[String]) -> Result<Vec<String>> {
    let mut tags: Vec<(Vec<u8>, String)> = vec![];
    for tag in given {
        let Some(tag) = optional_text("tag", Some(tag), TAG)? else { continue };
        let key = order::text(&tag);
        if tags.iter().any(|(other, _)| *other == key) {
            continue;
        }
        if tags.len() == TAGS {
            return Err(Error::bad_args(format!("there are more than {TAGS} tags: leave some out")));
        }
        tags.push((key, tag));
    }
    Ok(tags.into_iter().map(|(_, tag)| tag).collect())
}

/// The offset and the limit of a page; `default` and `most` are limits.
pub fn page_params(offset: Option<u32>, limit: Option<u32>, (default, most): (u32, u32)) -> (usize, usize) {
    (offset.unwrap_or(0) as usize, limit.unwrap_or(default).clamp(1, most) as usize)
}

/// A day or a moment, in the household's zone unless the text names another.
///
/// # Errors
/// `BadArgs` with what is wrong and how to write it.
pub fn read_when(cx: &Cx, what: &str, text: &str) -> Result<When> {
    let when = When::read(text, &cx.ports().clock.zone()).map_err(|e| {
        let text = format!("the {what}: {}", e.message());
        e.with_message(text)
    })?;
    let year = when.day().year();
    if YEARS.contains(&year) {
        return Ok(when);
    }
    let (first, last) = (YEARS.start(), YEARS.end());
    Err(Error::bad_args(format!("the {what} is in the year {year}: give one from {first} to {last}")))
}

/// When it begins, in milliseconds since 1970.
///
/// # Errors
/// `BadArgs` beyond the end of the calendar.
pub fn millis(when: &When, zone: &TimeZone) -> Result<i64> {
    Ok(when.start(zone)?.timestamp().as_millisecond())
}

/// Its day in `zone`.
pub fn day_of(when: &When, zone: &TimeZone) -> Date {
    match when {
        When::Day(day) => *day,
        When::At(at) => at.with_time_zone(zone.clone()).date(),
    }
}

/// Whether one is not after the other; compares by day when either is a whole day.
pub fn same_or_before(one: &When, other: &When, zone: &TimeZone) -> bool {
    match (one, other) {
        (When::At(one), When::At(other)) => one <= other,
        _ => day_of(one, zone) <= day_of(other, zone),
    }
}

/// Checks the items of a batch; an error says which item is wrong.
///
/// # Errors
/// `BadArgs` when there are none or more than [`BATCH`]; the errors of `check`, with the number of the item.
pub fn batch<A, B>(word: &str, items: Vec<A>, mut check: impl FnMut(A) -> Result<B>) -> Result<Vec<B>> {
    if items.is_empty() || items.len() > BATCH {
        return Err(Error::bad_args(format!("give 1 to {BATCH} {word}s at once")));
    }
    let checked = items.into_iter().enumerate().map(|(n, item)| {
        check(item).map_err(|e| {
            let text = format!("{word} {} of the batch: {}; nothing was added", n + 1, e.message());
            e.with_message(text)
        })
    });
    checked.collect()
}

/// Whether two texts have the same key in an index: they may differ in case.
pub fn same_text(one: &str, other: &str) -> bool {
    order::text(one) == order::text(other)
}

/// Whether a field passes a filter that may be left out.
pub fn passes(filter: Option<&str>, field: Option<&str>) -> bool {
    filter.is_none_or(|filter| field.is_some_and(|field| same_text(field, filter)))
}

/// Whether all words and quoted phrases of a search occur in one of the texts. The index of words finds texts for it: see
/// [`store::Words`].
pub fn contains_all_words(search: &str, texts: &[&str]) -> bool {
    let texts = texts.join("\n").to_lowercase();
    search_parts(search).iter().all(|part| find_part(&texts, part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use tool::prelude::{Value, json};

    #[test]
    fn texts_are_trimmed_and_bounded() {
        assert_eq!(required_text("title", "  milk ", 4).unwrap(), "milk");
        assert_eq!(required_text("title", "müsli", 5).unwrap(), "müsli");
        for (text, told) in [("", "is empty"), (" \n ", "is empty"), ("müslis", "longer than 5 characters")] {
            assert!(required_text("title", text, 5).unwrap_err().message().contains(told), "{text:?}");
        }
        assert_eq!(optional_text("note", Some(" "), 5).unwrap(), None);
        for (given, kept) in [(None, Some("old")), (Some(""), None), (Some("x"), Some("x"))] {
            let mut note = Some("old".to_owned());
            set_optional("note", &mut note, given, 5).unwrap();
            assert_eq!(note.as_deref(), kept);
        }
        assert!(set_optional("note", &mut None, Some("xxxxxx"), 5).is_err());
        assert!(set_required("title", &mut String::new(), Some(" "), 5).is_err());
        let many = |n: usize| (0..n).map(|n| format!("t{n}")).collect::<Vec<_>>();
        assert_eq!(tags(&["Car".into(), " car ".into(), "".into(), "red".into()]).unwrap(), ["Car", "red"]);
        assert_eq!(tags(&many(20)).unwrap().len(), 20);
        assert!(tags(&many(21)).is_err() && tags(&["x".repeat(51)]).is_err());
        assert!(
            contains_all_words("MILK oat", &["Oat drink", "like milk"]) && !contains_all_words("milk tea", &["milk"])
        );
        assert!(contains_all_words("\"OAT milk\" buy", &["Buy oat milk"]));
        assert!(!contains_all_words("\"milk oat\" buy", &["Buy oat milk"]));
    }

    #[test]
    fn a_field_is_left_alone_cleared_or_set() {
        #[derive(Deserialize, JsonSchema)]
        #[schemars(crate = "tool::prelude::schemars")]
        struct Change {
            /// When.
            #[serde(default)]
            due: Patch<String>,
        }
        let read = |v: Value| Change::deserialize(v).unwrap().due;
        assert_eq!(read(json!({})), Patch::Unset);
        assert_eq!(read(json!({"due": null})), Patch::Null);
        assert_eq!(read(json!({"due": "x"})), Patch::Set("x".into()));
        let (_, schema) = tool::schema_of::<Change>();
        let due = &schema["properties"]["due"];
        assert_eq!(due["oneOf"], json!([{"type": "string"}, {"const": null}]));
        assert_eq!((&due["description"], &schema["required"]), (&json!("When."), &Value::Null));
    }

    #[test]
    fn days_and_moments_compare() {
        let zone = TimeZone::get("Europe/Vienna").unwrap();
        for (one, other, wanted) in [
            ("2026-11-20", "2026-11-20", true),
            ("2026-11-20T23:59", "2026-11-20", true),
            ("2026-11-21T00:00", "2026-11-20", false),
            ("2026-11-20", "2026-11-20T00:00", true),
            ("2026-11-20T12:00", "2026-11-20T11:59", false),
            ("2026-11-20T23:30:00Z", "2026-11-20", false),
        ] {
            let read = |text: &str| When::read(text, &zone).unwrap();
            assert_eq!(same_or_before(&read(one), &read(other), &zone), wanted, "{one} {other}");
        }
    }

    #[test]
    fn a_window_is_bounded() {
        assert_eq!(page_params(None, None, (20, 50)), (0, 20));
        assert_eq!(page_params(Some(7), Some(0), (20, 50)), (7, 1));
        assert_eq!(page_params(Some(u32::MAX), Some(u32::MAX), (20, 50)), (u32::MAX as usize, 50));
    }
}
