//! Arguments for a program, as callers write them: a list with one for each word, or one text.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use tool::prelude::schemars;

/// Arguments for a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ArgList(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum ListOrText {
    List(Vec<String>),
    Text(String),
}

impl<'de> Deserialize<'de> for ArgList {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match Option::<ListOrText>::deserialize(d)? {
            None => Self::default(),
            Some(ListOrText::List(list)) => Self(list),
            Some(ListOrText::Text(text)) if text.trim().is_empty() => Self::default(),
            Some(ListOrText::Text(text)) => Self(vec![text]),
        })
    }
}

impl JsonSchema for ArgList {
    fn schema_name() -> Cow<'static, str> {
        "ArgList".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}
