//! The messages of Home Assistant's WebSocket API.

use crate::Attributes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap};

/// Any message.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(default)]
    pub id: u64,
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub event: Option<&'a RawValue>,
    #[serde(default)]
    pub error: Option<ErrorBody>,
    /// Why a token is refused.
    #[serde(default)]
    pub message: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    #[serde(default)]
    pub code: serde_json::Value,
    #[serde(default)]
    pub message: String,
}

/// The messages in a frame: one, or several that were joined.
pub(crate) fn read(frame: &str) -> serde_json::Result<Vec<Message<'_>>> {
    match frame.trim_start().starts_with('[') {
        true => serde_json::from_str(frame),
        false => serde_json::from_str(frame).map(|one| vec![one]),
    }
}

/// An event of `subscribe_entities`: entities that are added (the first time all of them), changed and removed.
#[derive(Deserialize, Default)]
pub(crate) struct Entities {
    #[serde(default, rename = "a")]
    pub added: Option<HashMap<String, Added>>,
    #[serde(default, rename = "c")]
    pub changed: Option<HashMap<String, Diff>>,
    #[serde(default, rename = "r")]
    pub removed: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(crate) struct Added {
    #[serde(default, rename = "s")]
    pub state: String,
    #[serde(default, rename = "a")]
    pub attributes: Attributes,
    #[serde(default, rename = "lc")]
    pub changed: f64,
    /// Left out where it is the same.
    #[serde(default, rename = "lu")]
    pub updated: Option<f64>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Diff {
    #[serde(default, rename = "+")]
    pub set: Option<Set>,
    #[serde(default, rename = "-")]
    pub unset: Option<Unset>,
}

#[derive(Deserialize)]
pub(crate) struct Set {
    #[serde(default, rename = "s")]
    pub state: Option<String>,
    #[serde(default, rename = "a")]
    pub attributes: Option<Attributes>,
    #[serde(default, rename = "lc")]
    pub changed: Option<f64>,
    #[serde(default, rename = "lu")]
    pub updated: Option<f64>,
}

#[derive(Deserialize)]
pub(crate) struct Unset {
    #[serde(default, rename = "a")]
    pub attributes: Vec<String>,
}

/// An event of the event bus.
#[derive(Deserialize)]
pub(crate) struct BusEvent<'a> {
    #[serde(borrow)]
    pub event_type: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}
