//! Test support: a real store, registry and scheduler, a manual clock, and tools that record their calls.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use registry::Registry;
use scheduler::{Scheduler, ToolFacts};
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use tool::{AgentId, Bus, Channel, Clock, Ports, Principal, Role, UserId, Via, prelude::*};

/// A manual clock, in Vienna.
pub(crate) struct SetClock(Mutex<Timestamp>);

impl SetClock {
    pub fn at(text: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(text.parse::<Zoned>().unwrap().timestamp())))
    }
    pub fn forward(&self, seconds: i64) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Timestamp::from_second(now.as_second() + seconds).unwrap();
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn zone(&self) -> TimeZone {
        TimeZone::get("Europe/Vienna").unwrap()
    }
}

/// Recorded calls in order: tool name and arguments.
pub(crate) type Calls = Arc<Mutex<Vec<(String, Value)>>>;

/// The test setup. It is Friday, 20 November 2026, 14:30 in Vienna.
#[derive(Clone)]
pub(crate) struct House {
    pub clock: Arc<SetClock>,
    pub registry: Registry,
    pub scheduler: Scheduler,
    pub ports: Ports,
    pub store: Store,
    pub calls: Calls,
}

impl House {
    pub fn new() -> Self {
        let clock = SetClock::at("2026-11-20T14:30:00+01:00[Europe/Vienna]");
        let store = Store::in_memory().unwrap();
        let registry = Registry::open(&store, Default::default(), Default::default()).unwrap();
        let calls = Calls::default();
        registry.add(family(calls.clone())).unwrap();
        let ports = Ports {
            dispatch: Arc::new(registry.clone()),
            ask: Arc::new(registry.clone()),
            bus: Bus::default(),
            ..Ports::unconnected(clock.clone())
        };
        let tools = registry.clone();
        let scheduler = Scheduler::new(
            &store,
            ports.clone(),
            Arc::new(move |name| ToolFacts {
                idempotent: tools.get(name).is_none_or(|tool| tool.risk <= tool::Risk::Write),
                detached: name == "run_prompt",
            }),
        );
        Self { clock, registry, scheduler, ports, store, calls }
    }

    /// A direct call by the owner.
    pub fn cx(&self) -> Cx {
        Cx::root(self.ports.clone(), Principal::owner(), Via::direct(Channel::Api))
    }

    /// A direct call by another person.
    pub fn other(&self) -> Cx {
        let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
        Cx::root(self.ports.clone(), principal, Via::direct(Channel::Api))
    }

    pub fn called(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().clone()
    }
}

/// Reply to a ping.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ping {
    /// Returned unchanged.
    #[serde(default)]
    n: i64,
}

/// Move something.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    /// The pin.
    pin: u8,
    /// The level.
    #[serde(default)]
    high: bool,
}

/// Always fail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Break {}

/// Notify the person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Notify {
    /// The message.
    text: String,
    /// The title.
    title: Option<String>,
    /// Its addressee.
    person: Option<String>,
}

/// Prompt the agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Prompt {
    /// The prompt.
    prompt: String,
    /// Title of the conversation.
    title: Option<String>,
    /// Id of the conversation.
    conversation_id: Option<Id>,
}

fn note(calls: &Calls, name: &str, args: Value) {
    calls.lock().unwrap().push((name.to_owned(), args));
}

fn family(calls: Calls) -> Family<Calls> {
    Family::new("test", "For tests.", calls)
        .tool("ping", Risk::Observe, async |calls: Calls, _, p: Ping| {
            note(&calls, "ping", json!({"n": p.n}));
            Ok(Output::json(json!({"n": p.n}))?.say("Pong."))
        })
        .tool("move_it", Risk::Actuate, async |calls: Calls, _, m: Move| {
            note(&calls, "move_it", json!({"pin": m.pin, "high": m.high}));
            Ok(m.pin)
        })
        .tool("break_it", Risk::Write, async |calls: Calls, _, Break {}| {
            note(&calls, "break_it", json!({}));
            Err::<u8, _>(Error::failed("it broke"))
        })
        .tool("notify", Risk::Write, async |calls: Calls, _, n: Notify| {
            let mut args = json!({"text": n.text, "title": n.title});
            if let Some(person) = n.person {
                args["person"] = person.into();
            }
            note(&calls, "notify", args);
            Ok(json!({"id": Id::new()}))
        })
        .additive()
        .tool("run_prompt", Risk::Write, async |calls: Calls, _, p: Prompt| {
            note(
                &calls,
                "run_prompt",
                json!({"prompt": p.prompt, "title": p.title, "conversationId": p.conversation_id}),
            );
            Ok(json!({"conversationId": Id::new(), "response": "done"}))
        })
        .additive()
}

/// Calls a tool of a family by name.
pub(crate) async fn call<S: Clone + Send + Sync + 'static>(
    family: Family<S>,
    cx: &Cx,
    name: &str,
    args: Value,
) -> Result<Output> {
    let tools = family.into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == name || t.aliases.iter().any(|a| &*a.name == name)).unwrap();
    (tool.run)(cx.clone(), args).await
}
