//! What the tests of this crate share: a call by the owner at a fixed time, and calling a tool by name.

use jiff::Zoned;
use std::sync::Arc;
use tool::prelude::Value;
use tool::{Channel, Cx, Family, FixedClock, Output, Ports, Principal, Result, Via};

/// A direct call by the owner, on Friday, 20 November 2026, 14:30 in Vienna.
pub(crate) fn cx() -> Cx {
    let now: Zoned = "2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

/// Calls a tool of a family by name.
pub(crate) async fn call<S: Clone + Send + Sync + 'static>(
    family: Family<S>,
    cx: &Cx,
    name: &str,
    args: Value,
) -> Result<Output> {
    let (_, _, _, tools) = family.into_parts();
    let tool = tools.into_iter().find(|t| &*t.name == name || t.aliases.iter().any(|a| &*a.name == name)).unwrap();
    (tool.run)(cx.clone(), args).await
}
