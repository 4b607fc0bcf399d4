//! Test fixtures: a call context at a fixed time, and calling a tool by name.

use jiff::Zoned;
use proptest::test_runner::Config;
use std::sync::Arc;
use tool::prelude::Value;
use tool::{Channel, Cx, Family, FixedClock, Output, Ports, Principal, Result, Via};

/// A direct call by the owner, on Friday, 20 November 2026, 14:30 in Vienna.
pub(crate) fn cx() -> Cx {
    let now: Zoned = "2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

/// Call a tool of a family by any of its names; arguments are adapted as in dispatch.
pub(crate) async fn call<S: Clone + Send + Sync + 'static>(
    family: Family<S>,
    cx: &Cx,
    name: &str,
    args: Value,
) -> Result<Output> {
    let tools = family.into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == name || t.aliases.iter().any(|a| &*a.name == name)).unwrap();
    let alias = tool.aliases.iter().find(|a| &*a.name == name);
    let args = alias.and_then(|a| a.adapt).map_or(args.clone(), |adapt| adapt(args));
    (tool.run)(cx.clone(), args).await
}

/// Block on a future in a synchronous test.
pub(crate) fn wait<F: Future>(answer: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(answer)
}

/// A property test configuration with this many cases and no file of failures.
pub(crate) fn cases(n: u32) -> Config {
    Config { failure_persistence: None, ..Config::with_cases(n) }
}
