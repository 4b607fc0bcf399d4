//! Shared by the families of this crate: optional times and filters, bounded JSON, and scans off the event loop.

use records::{iso, optional_text};
use tool::{Cx, Error, Result, prelude::*};

/// The most characters of a search.
const SEARCH: usize = 200;

/// Milliseconds since 1970 as an ISO time; 0 is null.
pub(crate) fn moment(cx: &Cx, ms: u64) -> Value {
    match i64::try_from(ms).unwrap_or(0) {
        0 => Value::Null,
        ms => json!(iso(ms, &cx.ports().clock.zone())),
    }
}

/// A filter, unless it is empty.
pub(crate) fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// The words of a search, few enough to scan many records quickly.
///
/// # Errors
/// `BadArgs` when they are too long.
pub(crate) fn search(words: Option<String>) -> Result<Option<String>> {
    optional_text("search", words.as_deref(), SEARCH)
}

/// A value as JSON text that can be parsed again.
///
/// # Errors
/// `BadArgs` when it is longer than `most` bytes, or nested too deep.
pub(crate) fn bounded_json(what: &str, value: &Value, most: usize) -> Result<String> {
    let text = value.to_string();
    if text.len() > most {
        let (long, most) = (text.len() / 1024 + 1, most / 1024);
        return Err(Error::bad_args(format!(
            "the {what} takes {long} KB as JSON, and {most} KB is the most: shorten it"
        )));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(Error::bad_args(format!("the {what} is nested too deep: flatten it"))),
    }
}

/// Runs what may look through many records where nobody else has to wait for it.
///
/// # Errors
/// The errors of `work`; `Failed` when it panics.
pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tool::blocking("the search", work).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cx;

    #[test]
    fn times_and_filters_may_be_missing() {
        assert_eq!(moment(&cx(), 1_795_181_400_000), "2026-11-20T14:30:00+01:00");
        assert_eq!((moment(&cx(), 0), moment(&cx(), u64::MAX)), (Value::Null, Value::Null));
        assert_eq!((non_empty(Some(" ".into())), non_empty(Some("x".into()))), (None, Some("x".into())));
    }

    #[test]
    fn what_is_kept_can_be_read_again() {
        assert_eq!(bounded_json("value", &json!({"a": [1]}), 9).unwrap(), r#"{"a":[1]}"#);
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        for (value, told) in [(json!("x".repeat(2048)), "takes 3 KB as JSON, and 2 KB"), (deep, "nested too deep")] {
            let error = bounded_json("value", &value, 2048).unwrap_err();
            assert!(error.message().contains(told), "{error}");
        }
        assert_eq!(search(Some("  ".into())).unwrap(), None);
        assert!(search(Some("x".repeat(201))).is_err());
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let failed = run_blocking(|| -> Result<()> { panic!("on purpose") }).await;
        assert!(matches!(failed, Err(Error::Failed(text)) if text.contains("try again")));
    }
}
