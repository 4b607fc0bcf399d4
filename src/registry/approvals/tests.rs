//! Questions and answers, with the real registry and store.

use super::*;
use crate::{PerMinute, Registry, Terms};
use questions::Timeouts;
use serde_json::json;
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tool::{
    Bounds, Channel, Family, Label, Output, Owner, Ports, Principal, SystemClock, Via,
    prelude::{Deserialize, JsonSchema, schemars},
};

/// Does something to a thing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Thing {
    /// Which.
    thing: String,
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

async fn act(count: Count, _: Cx, thing: Thing) -> Result<Output> {
    count.0.fetch_add(1, Ordering::SeqCst);
    Ok(Output::text(format!("did {}", thing.thing)))
}

async fn nested(_: Count, cx: Cx, thing: Thing) -> Result<Output> {
    cx.call("wipe", json!({"thing": thing.thing})).await
}

struct House {
    registry: Registry,
    store: Store,
    count: Count,
    cx: Cx,
}

fn house() -> House {
    let store = Store::in_memory().unwrap();
    build(store, Count::default())
}

fn build(store: Store, count: Count) -> House {
    with_hours(store, count, 1)
}

fn with_hours(store: Store, count: Count, parked_hours: u64) -> House {
    let waits = Timeouts { in_call_seconds: 1, parked_hours };
    let terms = Terms { waits, per_minute: PerMinute { calls: 0, session_calls: 0 } };
    let registry = Registry::open(&store, terms, Default::default()).unwrap();
    let family = Family::new("test", "For tests.", count.clone())
        .tool("look", Risk::Observe, act)
        .tool("wipe", Risk::Destroy, act)
        .tool("move", Risk::Actuate, act)
        .tool("post", Risk::Send, act)
        .tool("roundabout", Risk::Observe, nested)
        .timeout(Duration::from_millis(300));
    registry.add(family).unwrap();
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.dispatch = Arc::new(registry.clone());
    let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
    House { registry, store, count, cx }
}

impl House {
    /// The context of a model's call in a run of a conversation.
    fn run(&self) -> Cx {
        let bounds = Bounds { model_call: Some("call_1".into()), provider: "custom".into(), ..Bounds::default() };
        self.cx.in_run(Id::new(), Id::new(), Default::default()).bounded(bounds)
    }

    fn open(&self) -> Vec<Approval> {
        self.registry.approvals().unwrap().list(None, |s| s == State::Pending, None, 100).unwrap()
    }

    /// The one question that comes up.
    async fn question(&self) -> Approval {
        for _ in 0..500 {
            if let [one] = self.open().as_slice() {
                return one.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing was asked: {:?}", self.open())
    }

    async fn settle(&self, id: Id, answer: serde_json::Value) -> Result<(Approval, Option<SuspendedRun>)> {
        self.registry.settle(&self.cx, id, serde_json::from_value(answer).unwrap()).await
    }

    /// Makes a call and answers the question it raises.
    async fn call_and(
        &self,
        cx: &Cx,
        tool: &str,
        args: serde_json::Value,
        answer: serde_json::Value,
    ) -> Result<Output> {
        let call = cx.call(tool, args);
        let answering = async {
            let question = self.question().await;
            self.settle(question.id, answer).await.unwrap();
        };
        tokio::join!(call, answering).0
    }

    /// The answer about the model's call of a run.
    fn reply(&self, run: Id) -> Option<Reply> {
        self.registry.approvals().unwrap().reply_to(self.cx.user(), run, "call_1", Id::default()).unwrap()
    }

    fn made(&self) -> u32 {
        self.count.0.load(Ordering::SeqCst)
    }
}

fn wipe(thing: &str) -> serde_json::Value {
    json!({ "thing": thing })
}

#[tokio::test]
async fn yes_no_and_always() {
    let house = house();
    let run = house.run();
    let once = json!({"decision": "allow_once"});
    assert_eq!(house.call_and(&run, "wipe", wipe("a"), once.clone()).await.unwrap().model_text(), "did a");
    // A facade and an alias of it lead to the same question.
    let through = json!({"tool_name": "wipe", "arguments": {"thing": "a"}});
    house.call_and(&run, "use_tool", through, once.clone()).await.unwrap();
    let no = house.call_and(&run, "wipe", wipe("a"), json!({"decision": "deny"})).await.unwrap_err();
    assert!(matches!(&no, Error::Denied(text) if text.contains("said no")), "{no}");
    assert_eq!(house.made(), 2);

    house.call_and(&run, "wipe", wipe("b"), json!({"decision": "allow_always"})).await.unwrap();
    house.run().call("wipe", wipe("b")).await.unwrap();
    assert_eq!(house.made(), 4);
    house
        .call_and(&run, "wipe", wipe("c"), json!({"decision": "allow_always", "pattern": {"thing": "c*"}}))
        .await
        .unwrap();
    house.run().call("wipe", wipe("cat")).await.unwrap();
    assert!(house.call_and(&run, "wipe", wipe("dog"), json!({"decision": "deny"})).await.is_err());

    let approvals = house.registry.approvals().unwrap();
    let grants = approvals.grants(None);
    assert_eq!(
        grants.iter().map(|g| g.pattern.clone()).collect::<Vec<_>>(),
        [json!({"thing": "c*"}), json!({"thing": "b"})]
    );
    house.registry.take_back(&house.cx, grants[1].id).await.unwrap();
    assert!(house.call_and(&run, "wipe", wipe("b"), json!({"decision": "deny"})).await.is_err());
    // A grant survives a restart; a revoked one does not.
    let again = Registry::open(&house.store, Terms::default(), Default::default()).unwrap();
    assert_eq!(again.approvals().unwrap().grants(None).len(), 1);
}

#[tokio::test]
async fn a_person_needs_no_question_and_looking_none_either() {
    let house = house();
    house.cx.call("wipe", wipe("mine")).await.unwrap();
    house.run().call("look", wipe("around")).await.unwrap();
    assert!(house.open().is_empty() && house.made() == 2);
}

#[tokio::test]
async fn nobody_answers() {
    let house = house();
    let run = house.run();
    run.taint(Label::Outside);
    // A pin is not moved later.
    let late = run.call("move", wipe("arm")).await.unwrap_err();
    assert!(matches!(&late, Error::Denied(text) if text.contains("nobody answered")), "{late}");
    // Any other call suspends the run, which resumes when somebody answers.
    let parked = run.call("wipe", wipe("disk")).await.unwrap_err();
    assert!(matches!(parked, Error::Parked(_)), "{parked}");
    let question = house.question().await;
    assert!(question.tainted && question.tool_call_id.as_deref() == Some("call_1") && question.run_id == run.run());
    let (approval, resume) = house.settle(question.id, json!({"decision": "allow_once"})).await.unwrap();
    let suspended = SuspendedRun { user: house.cx.user(), run: run.run().unwrap() };
    assert_eq!((approval.state, resume), (State::Approved, Some(suspended)));
    let Some(Reply::Yes(consent)) = house.reply(suspended.run) else { panic!("the answer was yes") };
    let bounds = Bounds { consent: Some(consent), ..Bounds::default() };
    let resumed = run.bounded(bounds);
    assert_eq!(house.made(), 0);
    resumed.call("wipe", wipe("disk")).await.unwrap();
    // An approval counts once, and for these arguments.
    assert!(house.call_and(&resumed, "wipe", wipe("disk"), json!({"decision": "deny"})).await.is_err());
    assert_eq!(house.made(), 1);
    // A call from within a tool cannot be resumed later; while a person is asked, the tool's timeout is paused.
    let inside = house.run().call("roundabout", wipe("disk")).await.unwrap_err();
    assert!(matches!(&inside, Error::Denied(text) if text.contains("nobody answered")), "{inside}");
    assert!(house.open().is_empty());
}

#[tokio::test]
async fn only_whom_it_concerns_may_answer() {
    let house = house();
    let run = house.run();
    let asking = tokio::spawn({
        let run = run.clone();
        async move { run.call("post", wipe("letter")).await }
    });
    let question = house.question().await;
    let somebody = |role| Principal { role, user: UserId(Id::new()), ..Principal::owner() };
    let answer = |decision: &str| serde_json::from_value::<Answer>(json!({ "decision": decision })).unwrap();
    let by = |principal| Cx::root(house.cx.ports().clone(), principal, Via::direct(Channel::Api));
    let stranger = house.registry.settle(&by(somebody(Role::Member)), question.id, answer("deny")).await;
    assert!(matches!(stranger, Err(Error::NotFound(_))), "{stranger:?}");
    let viewer = by(Principal { role: Role::Viewer, ..Principal::owner() });
    assert!(matches!(house.registry.settle(&viewer, question.id, answer("allow_once")).await, Err(Error::Denied(_))));
    for (wrong, kind) in [
        (json!({"decision": "allow_once", "nonce": "0000000000000000"}), "unavailable"),
        (json!({"decision": "allow_once", "pattern": "*"}), "bad_args"),
        (json!({"decision": "allow_always", "pattern": 7}), "bad_args"),
    ] {
        assert_eq!(house.settle(question.id, wrong.clone()).await.unwrap_err().code(), kind, "{wrong}");
    }
    assert_eq!(house.open().len(), 1, "a wrong answer leaves the question open");
    let admin = by(somebody(Role::Admin));
    let right = json!({"decision": "allow_once", "nonce": question.nonce});
    house.registry.settle(&admin, question.id, serde_json::from_value(right).unwrap()).await.unwrap();
    assert!(asking.await.unwrap().is_ok());
    assert_eq!(house.settle(question.id, json!({"decision": "deny"})).await.unwrap_err().code(), "unavailable");
    assert_eq!(house.settle(Id::new(), json!({"decision": "deny"})).await.unwrap_err().code(), "not_found");
}

#[tokio::test]
async fn a_tainted_yes_for_good_names_every_value() {
    let house = house();
    let run = house.run();
    run.taint(Label::Outside);
    let asking = tokio::spawn({
        let run = run.clone();
        async move { run.call("post", wipe("letter")).await }
    });
    let question = house.question().await;
    for loose in [json!("*"), json!({"thing": "l*"})] {
        let answer = json!({"decision": "allow_always", "pattern": loose});
        assert_eq!(house.settle(question.id, answer).await.unwrap_err().code(), "bad_args");
    }
    house.settle(question.id, json!({"decision": "allow_always"})).await.unwrap();
    asking.await.unwrap().unwrap();
    run.call("post", wipe("letter")).await.unwrap();
    assert!(house.call_and(&run, "post", wipe("another"), json!({"decision": "deny"})).await.is_err());
}

#[tokio::test]
async fn questions_survive_a_restart_where_a_run_can_go_on() {
    let House { registry, store, count, cx } = house();
    let house = House { registry, store: store.clone(), count: count.clone(), cx };
    assert!(matches!(house.run().call("wipe", wipe("x")).await, Err(Error::Parked(_))));
    // This call still waits when the power fails.
    let lost = house.cx.in_run(Id::new(), None, Default::default());
    let asking = tokio::spawn(async move { lost.call("post", wipe("y")).await });
    while house.open().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let after = build(store.clone(), count);
    store.flush().await.unwrap();
    let question = after.question().await;
    assert_eq!(question.tool, "wipe");
    let (_, resume) = after.settle(question.id, json!({"decision": "deny"})).await.unwrap();
    assert!(matches!(after.reply(resume.unwrap().run), Some(Reply::No)));
    asking.abort();
}

#[tokio::test]
async fn what_nobody_answers_in_its_time_is_over() {
    // With zero hours, a suspended run's question expires at once.
    let house = with_hours(Store::in_memory().unwrap(), Count::default(), 0);
    assert!(matches!(house.run().call("wipe", wipe("x")).await, Err(Error::Parked(_))));
    let question = house.registry.approvals().unwrap().list(None, |_| true, None, 9).unwrap().remove(0);
    let late = house.settle(question.id, json!({"decision": "allow_once"})).await.unwrap_err();
    assert!(matches!(&late, Error::Unavailable(text) if text.contains("too long ago")), "{late}");
    let shown = house.registry.approvals().unwrap().get(&house.cx, question.id).unwrap();
    assert_eq!((shown.state, house.made()), (State::Expired, 0));
    // A sweep removes an expired question that nobody reads, and a start finds none.
    assert!(matches!(house.run().call("wipe", wipe("y")).await, Err(Error::Parked(_))));
    house.registry.questions().unwrap().sweep().unwrap();
    assert!(house.open().is_empty());
    assert!(build(house.store.clone(), Count::default()).open().is_empty());
}

#[tokio::test]
async fn what_waits_when_the_house_closes_rests() {
    let house = house();
    let run = house.run();
    let closing = async {
        house.question().await;
        house.registry.questions().unwrap().suspend_all();
        run.cancel().cancel();
    };
    let rested = tokio::join!(run.call("wipe", wipe("x")), closing).0.unwrap_err();
    assert!(matches!(rested, Error::Parked(_)), "{rested}");
    let again = build(house.store.clone(), house.count.clone());
    let question = again.question().await;
    assert!(again.settle(question.id, json!({"decision": "allow_once"})).await.unwrap().1.is_some());
    // The power fails before the run is resumed: the answer is found after the next start.
    let third = build(house.store.clone(), house.count.clone());
    assert!(matches!(third.reply(run.run().unwrap()), Some(Reply::Yes(_))) && third.open().is_empty());
}

#[tokio::test]
async fn who_stops_is_not_asked_any_more() {
    let house = house();
    let run = house.run();
    let call = run.call("wipe", wipe("x"));
    let stopping = async {
        house.question().await;
        run.cancel().cancel();
    };
    let stopped = tokio::join!(call, stopping).0.unwrap_err();
    assert_eq!(stopped.code(), "unavailable");
    // A caller that disconnects.
    let asking = tokio::spawn({
        let run = house.run();
        async move { run.call("wipe", wipe("x")).await }
    });
    house.store.flush().await.unwrap();
    let question = house.question().await;
    asking.abort();
    let _ = asking.await;
    house.store.flush().await.unwrap();
    assert!(house.open().is_empty());
    assert_eq!(house.settle(question.id, json!({"decision": "allow_once"})).await.unwrap_err().code(), "unavailable");
    assert_eq!(house.made(), 0);
}

#[tokio::test]
async fn a_tool_that_changes_meanwhile_is_not_called() {
    let house = house();
    let mut made = (*house.registry.get("wipe").unwrap()).clone();
    (made.name, made.owner, made.version) = ("made".into(), Owner::Model(house.cx.user()), 1);
    house.registry.add_tool(made.clone()).unwrap();
    let run = house.run();
    let asking = tokio::spawn({
        let run = run.clone();
        async move { run.call("made", wipe("x")).await }
    });
    let question = house.question().await;
    assert_eq!((question.rule.as_str(), question.pattern.clone()), ("model-made", json!("*")));
    house.registry.remove("custom", "made");
    made.version = 2;
    house.registry.add_tool(made).unwrap();
    house.settle(question.id, json!({"decision": "allow_always"})).await.unwrap();
    assert!(matches!(asking.await.unwrap(), Err(Error::Denied(text)) if text.contains("changed")));
    // The approval was for version 1.
    assert!(house.call_and(&run, "made", wipe("x"), json!({"decision": "deny"})).await.is_err());
    assert_eq!(house.made(), 0);
}
