//! Helpers that the tests of this family share.

use home_assistant::{Attributes, Entity};
use serde_json::Value;

pub(super) fn entity(id: &str, state: &str, attributes: Value) -> Entity {
    let attributes: Attributes = serde_json::from_value(attributes).unwrap();
    Entity { id: id.into(), state: state.into(), attributes, changed: 1.0, updated: 1.0 }
}
