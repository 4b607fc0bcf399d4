//! The service with a third kind, which is a payload and two functions.

use crate::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{Entry, Level, Record};
use tool::{AgentId, Bounds, Channel, Error, FixedClock, Ports, Principal, Role, Via};

/// A plan that a person picks a step of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    text: String,
    choice: Option<u32>,
    run: Option<Id>,
    conversation: Option<Id>,
    model_call: String,
    suspends: bool,
    expires_ms: u64,
    expired: bool,
}

impl Record for Plan {
    const NAME: &'static str = "plans";
    const WORD: &'static str = "plan";
    const LEVEL: Level = Level::User;
}

impl Question for Plan {
    const TOPICS: [&'static str; 2] = ["plan:asked", "plan:ended"];
    type View = Entry<Self>;

    fn header(&self) -> Header {
        let state = match (self.choice, self.expired) {
            (Some(_), _) => State::Settled,
            (None, true) => State::Expired,
            (None, false) => State::Pending,
        };
        let (run, conversation, model_call) = (self.run, self.conversation, self.model_call.clone());
        Header { run, conversation, model_call, suspends: self.suspends, expires_ms: self.expires_ms, state }
    }

    fn expire(&mut self, _: u64) {
        self.expired = true;
    }
}

fn plan(cx: &Cx, id: Id, timeouts: Timeouts) -> Plan {
    let Header { run, conversation, model_call, suspends, expires_ms, .. } = Header::new(cx, true, timeouts, id);
    Plan { text: "Which?".into(), choice: None, run, conversation, model_call, suspends, expires_ms, expired: false }
}

struct House {
    store: Store,
    questions: Questions,
    plans: QuestionKind<Plan>,
    cx: Cx,
}

fn house(in_call_seconds: u64, parked_hours: u64) -> House {
    let store = Store::in_memory().unwrap();
    let questions = Questions::new(&store, Timeouts { in_call_seconds, parked_hours });
    let clock = FixedClock("2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap());
    let cx = Cx::root(Ports::unconnected(Arc::new(clock)), Principal::owner(), Via::direct(Channel::Api));
    House { plans: questions.kind().unwrap(), store, questions, cx }
}

impl House {
    fn in_run(&self, run: Id, conversation: Id) -> Cx {
        let bounds = Bounds { model_call: Some("call_1".into()), ..Bounds::default() };
        self.cx.in_run(run, conversation, CancellationToken::new()).bounded(bounds)
    }

    async fn asked(&self, cx: &Cx) -> Result<PendingQuestion<Plan>> {
        let id = Id::new();
        self.plans.ask(cx, id, plan(cx, id, self.questions.timeouts())).await
    }

    /// Asks and waits, for as long as the service says.
    async fn ask(&self, cx: &Cx) -> Result<(Plan, Option<serde_json::Value>)> {
        self.asked(cx).await?.answer(cx, self.questions.timeouts().in_call()).await
    }

    async fn choose(&self, id: Id, choice: u32) -> Result<Option<SuspendedRun>> {
        let decide = |plan: &Plan| match plan.text.is_empty() || choice > 9 {
            true => Err(Error::bad_args("choose 0 to 9")),
            false => Ok((json!(choice), move |_: &store::Tx, plan: &mut Plan| {
                plan.choice = Some(choice);
                Ok(())
            })),
        };
        self.plans.settle(&self.cx, self.cx.user(), id, decide).await.map(|settled| settled.1)
    }

    fn open(&self) -> Vec<Entry<Plan>> {
        self.plans.pending(Some(self.cx.user()), None, 99).unwrap()
    }
}

#[tokio::test]
async fn a_third_kind_is_announced_awaited_and_settled() {
    let house = house(60, 24);
    let run = Id::new();
    let cx = house.in_run(run, Id::new());
    let (heard, mut events) = (Arc::new(AtomicUsize::new(0)), cx.ports().bus.listen(None));
    let hears = heard.clone();
    let listening = house.plans.watch(run, move |shown: &Entry<Plan>| {
        hears.fetch_add(shown.value.text.len(), Ordering::SeqCst);
    });
    let asked = house.asked(&cx).await.unwrap();
    let (id, others) = (asked.view.id, house.asked(&house.in_run(run, Id::new())).await.unwrap());
    assert!(asked.is_new && id != others.view.id, "a kind without an index by run asks anew");
    assert_eq!((heard.load(Ordering::SeqCst), house.open().len()), (12, 2));
    drop((others, listening));
    assert_eq!(house.questions.of_run(cx.user(), run).len(), 1, "a question ends with the call that asks it");
    assert_eq!(house.choose(id, 10).await.unwrap_err().code(), "bad_args");
    // Somebody else has no such question.
    let stranger =
        house.plans.settle(&cx, UserId(Id::new()), id, |_| Ok((json!(1), |_: &store::Tx, _: &mut Plan| Ok(()))));
    assert_eq!(stranger.await.unwrap_err().code(), "not_found");
    let answer = asked.answer(&cx, Duration::from_secs(60));
    let (answered, settled) = tokio::join!(answer, house.choose(id, 7));
    let (ended, answer) = answered.unwrap();
    assert_eq!((ended.choice, answer, settled.unwrap()), (Some(7), Some(json!(7)), None));
    assert!(house.choose(id, 7).await.unwrap_err().to_string().contains("answered already"));
    let mut told = vec![];
    for _ in 0..4 {
        match events.next().await {
            Some(tool::BusEvent::Event(event)) => told.push((event.topic.clone(), event.data["id"] == json!(id))),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((told[0].clone(), told[3].clone()), (("plan:asked".to_owned(), true), ("plan:ended".to_owned(), true)));
}

#[tokio::test]
async fn a_run_is_suspended_and_resumed_also_after_a_restart() {
    let mut house = house(0, 24);
    let (run, conversation) = (Id::new(), Id::new());
    let cx = house.in_run(run, conversation);
    assert!(matches!(house.ask(&cx).await, Err(Error::Parked(_))));
    // A question that only a call waited for ends with the call, and with Hob.
    assert!(house.ask(&house.cx).await.unwrap().0.expired);
    house.questions = Questions::new(&house.store, house.questions.timeouts());
    house.plans = house.questions.kind().unwrap();
    let id = house.open()[0].id;
    assert_eq!((house.open().len(), house.questions.of_run(cx.user(), run)[0].id), (1, id));
    assert_eq!(house.choose(id, 7).await.unwrap(), Some(SuspendedRun { user: cx.user(), run }));
    assert!(house.questions.of_run(cx.user(), run).is_empty());
    // A stopped run and a deleted conversation take their open questions with them.
    assert!(matches!(house.ask(&cx).await, Err(Error::Parked(_))));
    assert!(house.questions.end_run(cx.user(), run) && !house.questions.end_run(cx.user(), run));
    assert!(matches!(house.ask(&cx).await, Err(Error::Parked(_))));
    house.questions.forget_conversation(cx.user(), conversation).await.unwrap();
    assert!(house.open().is_empty());
    assert_eq!(house.plans.list(None, |_| true, None, 9).unwrap().len(), 1);
}

#[tokio::test]
async fn late_questions_expire_in_one_sweep() {
    let house = house(0, 0);
    let run = Id::new();
    let cx = house.in_run(run, Id::new());
    assert!(matches!(house.ask(&cx).await, Err(Error::Parked(_))));
    let id = house.plans.list(None, |plan| plan.expired, None, 9).unwrap()[0].id;
    assert!(house.choose(id, 7).await.unwrap_err().to_string().contains("too long ago"));
    assert!(matches!(house.ask(&cx).await, Err(Error::Parked(_))));
    assert_eq!(house.questions.sweep().unwrap(), [SuspendedRun { user: cx.user(), run }]);
    assert_eq!(house.questions.sweep().unwrap(), []);
}

#[tokio::test]
async fn one_run_and_one_conversation_leave_room_for_others() {
    let house = house(0, 24);
    let (conversation, other) = (Id::new(), Id::new());
    let ask = async |run, conversation| match house.ask(&house.in_run(run, conversation)).await {
        Err(Error::Parked(_)) => String::new(),
        refused => refused.unwrap_err().to_string(),
    };
    for run in [Id::new(), Id::new()] {
        for _ in 0..5 {
            assert_eq!(ask(run, conversation).await, "");
        }
        let refused = ask(run, conversation).await;
        assert!(refused.contains("5 questions of this run wait"), "{refused}");
    }
    let refused = ask(Id::new(), conversation).await;
    assert!(refused.contains("10 questions of this conversation wait"), "{refused}");
    assert_eq!(ask(Id::new(), other).await, "");
    // The household's others have their own limit.
    let ben = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    let ben = Cx::root(house.cx.ports().clone(), ben, Via::direct(Channel::Api));
    assert!(house.ask(&ben).await.unwrap().0.expired);
    for n in 0..39_u8 {
        assert_eq!(ask(Id::from_bytes([n; 16]), Id::from_bytes([100 + n; 16])).await, "");
    }
    let refused = ask(Id::new(), Id::new()).await;
    assert!(refused.contains("50 questions wait for this person"), "{refused}");
}
