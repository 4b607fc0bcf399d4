//! Tool calls on the wire: valid ids and arguments.

use crate::ToolCall;
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashSet};

/// Overhead counted for each call or block, in bytes, so that empty ones cannot be endless either.
pub(crate) const EACH: usize = 64;

/// OpenAI's maximum id length; others accept more.
const LONGEST_ID: usize = 40;

/// An id every server accepts: another provider's may be too long, or contain dots and colons. Deterministic, so call
/// and result still match.
pub(crate) fn fitting(id: &str, short: bool) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || (!short && "-_".contains(c));
    let long = if short { id.len() != 9 } else { id.is_empty() || id.len() > LONGEST_ID };
    if !long && id.chars().all(plain) {
        return Cow::Borrowed(id);
    }
    let hash = format!("{:016x}", fnv(id.as_bytes()));
    Cow::Owned(if short { hash[..9].to_owned() } else { format!("call_{hash}") })
}

/// Maximum length of a tool name that every server accepts.
const LONGEST_NAME: usize = 64;

/// A tool name every server accepts: a name invented by a model stays in the conversation and may contain anything.
/// Deterministic, so call and result still match.
pub(crate) fn fitting_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.starts_with(begins) && name.len() <= LONGEST_NAME && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let fit: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let first = if fit.starts_with(begins) { "" } else { "_" };
    Cow::Owned(first.chars().chain(fit.chars()).take(LONGEST_NAME).collect())
}

/// FNV-1a hash; stable across versions, unlike the standard library's.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The arguments of a call as an object; invalid JSON becomes an empty object, since many servers reject it in the
/// history.
pub(crate) fn arguments(call: &ToolCall) -> Map<String, Value> {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}

/// The arguments as text, as the model wrote them if valid.
pub(crate) fn arguments_text(call: &ToolCall) -> &str {
    let whole = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    if whole { &call.arguments } else { "{}" }
}

/// Calls with unique ids and non-empty arguments.
pub(crate) fn finished(calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolCall> {
    let mut given = HashSet::new();
    let mend = |(n, mut call): (usize, ToolCall)| {
        if call.id.is_empty() || !given.insert(call.id.clone()) {
            let id = fnv(tool::Id::new().as_bytes());
            call.id = format!("call_{id:016x}_{n}");
        }
        if call.arguments.trim().is_empty() {
            call.arguments = "{}".into();
        }
        call
    };
    calls.into_iter().enumerate().map(mend).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_and_stay_together() {
        for (id, short, same) in [
            ("call_0_calculate", false, true),
            ("toolu_01AbC-x", false, true),
            ("functions.get_weather:0", false, false),
            ("", false, false),
            (&"x".repeat(41), false, false),
            ("abcdefgh9", true, true),
            ("call_1234", true, false),
            ("call_0_calculate", true, false),
        ] {
            let fit = fitting(id, short);
            assert_eq!(fit == id, same, "{id}: {fit}");
            assert_eq!(fit, fitting(id, short));
            assert!(fit.chars().all(|c| c.is_ascii_alphanumeric() || (!short && "-_".contains(c))), "{fit}");
            assert!(if short { fit.len() == 9 } else { (1..=LONGEST_ID).contains(&fit.len()) }, "{fit}");
        }
        assert_ne!(fitting("functions.a:0", true), fitting("functions.a:1", true));
    }

    #[test]
    fn calls_get_what_they_lack() {
        let call =
            |id: &str, arguments: &str| ToolCall { id: id.into(), name: "t".into(), arguments: arguments.into() };
        let done = finished([call("a", "{}"), call("a", " "), call("", "{\"x\"")]);
        assert_eq!(done[0].id, "a");
        assert_eq!(done.iter().map(|c| &c.id).collect::<HashSet<_>>().len(), 3);
        assert_eq!(done.iter().map(|c| c.arguments.as_str()).collect::<Vec<_>>(), ["{}", "{}", "{\"x\""]);
        assert!(done.iter().all(|c| c.id.len() <= LONGEST_ID));
        assert_eq!((arguments(&done[2]), arguments_text(&done[2])), (Map::new(), "{}"));
    }
}
