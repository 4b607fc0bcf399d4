//! Test support: calls by the owner and by others at a fixed time, and calling a tool by name.

use jiff::Zoned;
use proptest::test_runner::Config;
use std::sync::Arc;
use store::Store;
use tool::prelude::Value;
use tool::{
    AgentId, Channel, Cx, Error, Family, FixedClock, Id, Output, Ports, Principal, Result, Role, Tool, UserId, Via,
};

/// Ports at a local time in Vienna.
fn at(time: &str) -> Ports {
    let now: Zoned = format!("{time}[Europe/Vienna]").parse().unwrap();
    Ports::unconnected(Arc::new(FixedClock(now)))
}

/// A direct call by the owner, on Friday, 20 November 2026, 14:30 in Vienna.
pub(crate) fn cx() -> Cx {
    cx_at("2026-11-20T14:30:00")
}

/// The same at another local time.
pub(crate) fn cx_at(time: &str) -> Cx {
    Cx::root(at(time), Principal::owner(), Via::direct(Channel::Api))
}

/// A direct call by somebody else of the household, at the same time.
pub(crate) fn other() -> Cx {
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    Cx::root(at("2026-11-20T14:30:00"), principal, Via::direct(Channel::Api))
}

fn tools<S: Clone + Send + Sync + 'static>(family: Family<S>) -> Vec<Tool> {
    family.into_parts().tools
}

/// Calls a tool of this crate by name.
pub(crate) async fn ask(store: &Store, cx: &Cx, name: &str, args: Value) -> Result<Output> {
    let all = [
        tools(crate::finance(store)),
        tools(crate::goals(store)),
        tools(crate::state(store)),
        tools(crate::tables(store)),
    ];
    let tool = all.into_iter().flatten().find(|tool| &*tool.name == name).unwrap();
    (tool.run)(cx.clone(), args).await
}

/// Calls a tool as the owner.
pub(crate) async fn ok(store: &Store, tool: &str, args: Value) -> Output {
    ask(store, &cx(), tool, args.clone()).await.unwrap_or_else(|e| panic!("{tool} {args}: {e}"))
}

/// Calls a tool as the owner; its sentence.
pub(crate) async fn said(store: &Store, tool: &str, args: Value) -> String {
    ok(store, tool, args).await.say.unwrap()
}

/// The code and the text of an expected error.
pub(crate) fn fault(result: Result<Output>) -> String {
    let error: Error = result.unwrap_err();
    format!("{}: {error}", error.code())
}

/// This many cases of a property; failures are printed and not written to a file.
pub(crate) fn cases(n: u32) -> Config {
    Config { failure_persistence: None, ..Config::with_cases(n) }
}
