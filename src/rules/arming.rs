//! Authorises the calls of rules when they are written, with and without placeholders.

use crate::{
    action::Action,
    definition::Definition,
    matching::has_placeholders,
    record::Call,
    steps::{Step, step},
};
use registry::Registry;
use tool::{PreauthorizedCall, prelude::*};

/// The tool that controls things.
pub(crate) const CONTROL: &str = "control_thing";

/// The pre-authorized call of an action, judged for this caller.
///
/// # Errors
/// As [`Registry::arm`]; `BadArgs` where a call that needs approval has placeholders.
pub(crate) async fn arm(
    registry: &Registry,
    cx: &Cx,
    mut action: Action,
    title: &str,
    about: &str,
) -> Result<PreauthorizedCall> {
    // Placeholders are unknown at this point, so they are judged with sample values of the right type.
    let mut places = None;
    if let Action::Tool { name, arguments } = &mut action
        && has_placeholders(arguments)
    {
        let (tool, plain) = registry.plainly(cx, name, arguments.clone())?;
        (*name, *arguments) = (tool.name.to_string(), with_sample_values(&plain, tool.parameters()));
        places = Some(plain);
    }
    let mut armed = action.arm(cx, registry, title, about).await?;
    if armed.consented && (places.is_some() || has_placeholders(&armed.args)) {
        return Err(Error::bad_args(format!(
            "`{}` needs approval of its exact arguments: leave out the `{{{{…}}}}`",
            armed.tool
        )));
    }
    if let Some(places) = places {
        armed.args = places;
    }
    Ok(armed)
}

/// Arguments with sample values of the schema's type in place of placeholders.
fn with_sample_values(arguments: &Value, parameters: &Value) -> Value {
    let mut arguments = arguments.clone();
    for (name, value) in arguments.as_object_mut().into_iter().flatten() {
        let schema = &parameters["properties"][name];
        let is = |wanted: &str| {
            schema["type"] == wanted || schema["type"].as_array().is_some_and(|all| all.iter().any(|t| t == wanted))
        };
        if value.as_str().is_some_and(|text| text.contains("{{")) {
            if is("integer") || is("number") {
                *value = schema.get("minimum").cloned().unwrap_or_else(|| 1.into());
            } else if is("boolean") {
                *value = false.into();
            }
        }
    }
    arguments
}

/// The call of a read-only tool that is asked again and again, judged for this caller.
///
/// # Errors
/// As [`Registry::arm`]; `BadArgs` where the tool changes something.
pub(crate) async fn arm_look(registry: &Registry, cx: &Cx, tool: &str, arguments: &Value) -> Result<Call> {
    let armed = registry.arm(cx, tool, arguments.clone(), "again and again").await?;
    match registry.get(&armed.tool) {
        Some(found) if found.risk == Risk::Observe => Ok(armed.into()),
        _ => Err(Error::bad_args(format!(
            "`{}` changes something: a condition may only call read-only tools",
            armed.tool
        ))),
    }
}

/// The authorised calls of a definition: of its actions, and of the tools it asks.
pub(crate) struct ArmedCalls {
    pub calls: Vec<Call>,
    pub asks: Vec<Call>,
}

/// Authorises all calls of a definition for this caller. `about` says when they are made.
///
/// # Errors
/// As [`arm`], with the number of the action.
pub(crate) async fn arm_all(
    registry: &Registry,
    cx: &Cx,
    definition: &Definition,
    title: &str,
    about: &str,
) -> Result<ArmedCalls> {
    let controls = registry.get(CONTROL).is_some();
    let (mut calls, mut asks) = (vec![], vec![]);
    for (at, action) in definition.actions.iter().enumerate() {
        let armed = match step(action, controls)? {
            Step::Wait(_) => Call::default(),
            Step::Call(call) => {
                let armed = arm(registry, cx, call, title, about).await;
                armed.map(Call::from).map_err(|error| in_action(at, definition.actions.len(), error))?
            }
        };
        calls.push(armed);
    }
    for (tool, arguments) in definition.asks() {
        asks.push(arm_look(registry, cx, tool, arguments).await?);
    }
    Ok(ArmedCalls { calls, asks })
}

fn in_action(at: usize, of: usize, error: Error) -> Error {
    if of == 1 {
        return error;
    }
    let text = format!("action {}: {}", at + 1, error.message());
    error.with_message(text)
}
