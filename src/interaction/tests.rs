//! Waiting for people, over the real store.

use crate::*;
use questions::{Questions, SuspendedRun, Timeouts};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::{
    AgentId, Bounds, Channel, Consult, Cx, Dispatch, Error, FixedClock, Id, Output, Ports, Principal, Question, Result,
    Role, ToolInfo, Unconnected, UserId, Via,
};

/// Records every call by name and answers with an empty result.
#[derive(Default)]
struct Notes(Mutex<Vec<(String, Value)>>);

impl Dispatch for Notes {
    fn call(&self, _: Cx, name: &str, args: Value) -> futures::future::BoxFuture<'static, Result<Output>> {
        self.0.lock().unwrap().push((name.to_owned(), args));
        Box::pin(async { Ok(Output::default()) })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}

fn ports() -> Ports {
    Ports::unconnected(Arc::new(FixedClock("2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap())))
}

/// A direct call by the owner.
fn cx() -> Cx {
    Cx::root(ports(), Principal::owner(), Via::direct(Channel::Api))
}

fn somebody() -> Cx {
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    Cx::root(ports(), principal, Via::direct(Channel::Api))
}

/// The same caller at a model's call in a run with a conversation.
fn in_run(cx: &Cx, run: Id, call: &str) -> Cx {
    let bounds = Bounds { model_call: Some(call.into()), ..Bounds::default() };
    cx.in_run(run, Id::from_bytes([7; 16]), CancellationToken::new()).bounded(bounds)
}

/// Waits so many seconds in the call; none is as long as a test may take.
fn house(seconds: u64) -> (Store, Interactions) {
    let store = Store::in_memory().unwrap();
    (store.clone(), interactions(&store, seconds, 24))
}

fn interactions(store: &Store, in_call_seconds: u64, parked_hours: u64) -> Interactions {
    let questions = Questions::new(store, Timeouts { in_call_seconds, parked_hours });
    Interactions::open(&questions, scrub::Scrubber::default()).unwrap()
}

/// The open questions of a run.
fn waiting(all: &Interactions, cx: &Cx, run: Id) -> Vec<Id> {
    all.questions().of_run(cx.user(), run).into_iter().map(|q| q.id).collect()
}

fn question(text: &str) -> Request {
    Request::Ask { question: text.into(), options: vec![] }
}

fn asking(all: &Interactions, cx: &Cx, request: Request) -> JoinHandle<Result<Value>> {
    let (all, cx) = (all.clone(), cx.clone());
    tokio::spawn(async move { all.ask(&cx, request).await })
}

/// Those that wait for this person, once there are so many.
async fn open(all: &Interactions, cx: &Cx, count: usize) -> Vec<Interaction> {
    loop {
        let open = all.list(cx, ListFilter::In(State::Pending), None, 100).unwrap();
        if open.len() == count {
            return open;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn call(all: &Interactions, cx: &Cx, name: &str, args: Value) -> Result<Value> {
    let tools = family(all.clone()).into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == name).unwrap();
    (tool.run)(cx.clone(), args).await.map(|o| o.content)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test]
async fn whoever_waits_is_given_the_answer_and_only_its_person_gives_one() {
    let (_store, all) = house(60);
    let (me, other) = (cx(), somebody());
    let asked = asking(&all, &me, Request::Ask { question: " Which? ".into(), options: vec!["A".into(), "B".into()] });
    let shown = open(&all, &me, 1).await.remove(0);
    assert_eq!((shown.question.as_deref(), &shown.options[..]), (Some("Which?"), &["A".to_owned(), "B".into()][..]));
    assert_eq!((shown.kind, shown.state, shown.run_id), (Kind::Ask, State::Pending, None));
    assert!(all.list(&other, ListFilter::All, None, 100).unwrap().is_empty());
    for refused in [
        all.get(&other, shown.id).map(drop),
        all.respond(&other, shown.id, json!({"answer": "A"})).await.map(drop),
        all.dismiss(&other, shown.id).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    }
    for (answer, kind) in [
        (json!("A"), "bad_args"),
        (json!({}), "bad_args"),
        (json!({"answer": 7}), "bad_args"),
        (json!({"answer": "A", "more": 1}), "bad_args"),
        (json!({"answer": "C"}), "failed"),
        (json!({"answer": " "}), "failed"),
        (json!({"answer": "x".repeat(70_000)}), "bad_args"),
    ] {
        let refused = all.respond(&me, shown.id, answer).await.unwrap_err();
        assert_eq!(refused.code(), kind, "{refused}");
    }
    let (ended, wake) = all.respond(&me, shown.id, json!({"answer": "B "})).await.unwrap();
    assert_eq!((ended.state, &ended.answer, wake), (State::Answered, &json!({"answer": "B"}), None));
    assert_eq!(asked.await.unwrap().unwrap(), json!({"answer": "B"}));
    let again = all.respond(&me, shown.id, json!({"answer": "A"})).await;
    assert!(matches!(&again, Err(Error::Unavailable(text)) if text.contains("answered already")), "{again:?}");
    assert_eq!(all.get(&me, shown.id).unwrap(), ended);
    assert_eq!(all.list(&me, ListFilter::Answered, None, 1).unwrap(), [ended]);
}

#[tokio::test]
async fn what_is_put_aside_is_an_answer_to_a_view_and_none_to_a_question() {
    let (_store, all) = house(60);
    let me = cx();
    let text = json!([{"type": "markdown", "content": "x"}]);
    for (name, args, outcome) in [
        ("ask_user", json!({"question": "Which?"}), Err("put the question aside")),
        ("render_blocks", json!({"blocks": text}), Ok(json!({"action": "dismiss"}))),
        ("render_and_wait", json!({"code": "x"}), Ok(json!({"action": "dismiss"}))),
    ] {
        let (house, caller, tool) = (all.clone(), me.clone(), name.to_owned());
        let waits = tokio::spawn(async move { call(&house, &caller, &tool, args).await });
        let shown = open(&all, &me, 1).await.remove(0);
        assert_eq!(all.dismiss(&me, shown.id).await.unwrap().0.state, State::Dismissed);
        match (waits.await.unwrap(), outcome) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer, expected, "{name}"),
            (Err(Error::Denied(told)), Err(part)) => assert!(told.contains(part), "{name}: {told}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn forms_and_components_answer_what_was_sent() {
    let (_store, all) = house(60);
    let me = cx();
    let form = json!({"blocks": [{"type": "form", "submitLabel": "Go", "fields": [
        {"name": "age", "label": "Age", "type": "number", "required": true}]}]});
    for (name, args, wrong, right) in [
        (
            "render_blocks",
            form,
            vec![
                (json!({"action": "submit", "data": {}}), "`age`: this has to be filled in"),
                (json!({"action": "submit", "data": {"age": "7"}}), "`age`: expected a number"),
                (json!({"action": "submit", "data": {"age": 7, "x": 1}}), "`x`: the form has no such field"),
                (json!({"action": "submit"}), "the answer is {\"action\": \"submit\""),
                (json!({"action": "go", "data": {"age": 7}}), "the answer is {\"action\": \"submit\""),
                (json!({"action": "dismiss", "data": {}}), "the answer is"),
            ],
            json!({"action": "submit", "data": {"age": 7}}),
        ),
        (
            "render_blocks",
            json!({"blocks": [{"type": "json", "data": 1}]}),
            vec![(json!({"action": "submit", "data": {}}), "the answer is {\"action\": \"dismiss\"}")],
            json!({"action": "dismiss"}),
        ),
        (
            "render_and_wait",
            json!({"code": "function Component() {}", "props": {"n": 1}, "title": "T"}),
            vec![(json!({"stars": 5}), "a component sends"), (json!({"action": ""}), "a component sends")],
            json!({"action": "rated", "stars": 5}),
        ),
    ] {
        let (house, caller) = (all.clone(), me.clone());
        let waits = tokio::spawn(async move { call(&house, &caller, name, args).await });
        let shown = open(&all, &me, 1).await.remove(0);
        for (answer, why) in wrong {
            let told = message(all.respond(&me, shown.id, answer.clone()).await);
            assert!(told.contains(why), "{answer}: {told}");
        }
        all.respond(&me, shown.id, right.clone()).await.unwrap();
        assert_eq!(waits.await.unwrap().unwrap(), right);
    }
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused_before_anybody_hears_of_it() {
    let (_store, all) = house(60);
    let me = cx();
    let long = "x".repeat(70_000);
    for (name, args, why) in [
        ("ask_user", json!({"question": " "}), "`question`"),
        ("ask_user", json!({"question": "x".repeat(5000)}), "`question`"),
        ("ask_user", json!({"question": "x", "options": ["a", "a"]}), "`options[1]`"),
        ("ask_user", json!({"question": "x", "options": ["a", ""]}), "`options[1]`"),
        ("ask_user", json!({"question": "x", "options": vec!["a"; 21]}), "at most 20"),
        ("send_message", json!({"text": ""}), "`text`"),
        ("send_message", json!({"text": "x".repeat(17_000)}), "`text`"),
        ("render_blocks", json!({"blocks": []}), "`blocks`: 1 to 50"),
        ("render_blocks", json!({"blocks": [{"type": "markdown", "content": long}]}), "at most 65536"),
        ("render_blocks", json!({"blocks": [{"type": "json", "data": 1}], "title": "x".repeat(201)}), "`title`"),
        ("render_and_wait", json!({}), "give `code`"),
        ("render_and_wait", json!({"code": "x", "component": "y"}), "not both"),
        ("render_and_wait", json!({"component": "y"}), "no component `y` is stored"),
        ("render_and_wait", json!({"code": long}), "at most 65536"),
    ] {
        let told = message(call(&all, &me, name, args).await);
        assert!(told.contains(why), "{name}: {told}");
    }
    assert!(all.list(&me, ListFilter::All, None, 100).unwrap().is_empty());
}

#[tokio::test]
async fn nobody_there_ends_a_direct_call_and_parks_a_run() {
    let (_store, all) = house(0);
    let me = cx();
    let told = message(all.ask(&me, question("Which?")).await);
    assert!(told.contains("nobody answered within 0 s"), "{told}");
    assert_eq!(all.list(&me, ListFilter::All, None, 9).unwrap()[0].state, State::Expired);
    let (run, gone) = (Id::new(), all.list(&me, ListFilter::All, None, 9).unwrap()[0].id);
    assert!(matches!(all.respond(&me, gone, json!({"answer": "x"})).await, Err(Error::Unavailable(_))));
    // A call of a run suspends it. Repeated, it waits for the same question; once that is answered, it gets the
    // answer.
    let call = in_run(&me, run, "call_1");
    for _ in 0..2 {
        let parked = all.ask(&call, question("Which?")).await;
        assert!(matches!(parked, Err(Error::Parked(_))), "{parked:?}");
    }
    let waits = open(&all, &me, 1).await.remove(0);
    assert_eq!(waiting(&all, &me, run), [waits.id]);
    let (_, wake) = all.respond(&me, waits.id, json!({"answer": "see https://example.org/mine"})).await.unwrap();
    assert_eq!((wake, waiting(&all, &me, run)), (Some(SuspendedRun { user: me.user(), run }), vec![]));
    assert!(!call.knows("https://example.org/mine"));
    for _ in 0..2 {
        let answer = all.ask(&call, question("Which?")).await.unwrap();
        assert_eq!(answer, json!({"answer": "see https://example.org/mine"}));
    }
    assert!(call.knows("https://example.org/mine"), "the person wrote it");
    // Another question of that call, and that question of another call, are asked.
    for cx in [&in_run(&me, run, "call_2"), &in_run(&me, Id::new(), "call_1")] {
        assert!(matches!(all.ask(cx, question("Which?")).await, Err(Error::Parked(_))));
    }
    assert!(matches!(all.ask(&call, question("What?")).await, Err(Error::Parked(_))));
    assert_eq!(open(&all, &me, 3).await.len(), 3);
    assert!(all.questions().end_run(me.user(), run) && !all.questions().end_run(me.user(), run));
    assert_eq!(open(&all, &me, 1).await.len(), 1);
    all.questions().forget_conversation(me.user(), Id::from_bytes([7; 16])).await.unwrap();
    assert!(open(&all, &me, 0).await.is_empty());
    // A question from within a tool or a batch, or of a run without a conversation, cannot be resumed.
    let inner = in_run(&me, run, "call_3")
        .at_call("batch_use_tool", &tool::Owner::Core)
        .at_call("ask_user", &tool::Owner::Core);
    let kept_elsewhere = me.in_run(run, None, CancellationToken::new());
    for cx in [inner, kept_elsewhere] {
        let refused = all.ask(&cx, question("Which?")).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    }
    // A schedule's run is suspended like any other; one started by a custom tool is not, as its part would be lost.
    for (owner, parks) in [(tool::Owner::Core, true), (tool::Owner::Model(me.user()), false)] {
        let begun = in_run(&me.at_call("run_prompt", &owner), Id::new(), "call_1");
        let parked = all.ask(&begun.at_call("ask_user", &tool::Owner::Core), question("So?")).await;
        assert_eq!(matches!(parked, Err(Error::Parked(_))), parks, "{owner:?}: {parked:?}");
    }
    let by_facade =
        in_run(&me, run, "call_4").at_call("use_tool", &tool::Owner::Core).at_call("ask_user", &tool::Owner::Core);
    assert!(matches!(all.ask(&by_facade, question("Which?")).await, Err(Error::Parked(_))));
}

#[tokio::test]
async fn a_call_that_is_stopped_takes_its_question_along_unless_the_house_closes() {
    let (_store, all) = house(60);
    let me = cx();
    let stop = CancellationToken::new();
    let call = |name: &str| {
        let bounds = Bounds { model_call: Some(name.into()), ..Bounds::default() };
        me.in_run(Id::from_bytes([1; 16]), Id::new(), stop.clone()).bounded(bounds)
    };
    let asked = asking(&all, &call("1"), question("Which?"));
    open(&all, &me, 1).await;
    stop.cancel();
    assert!(matches!(asked.await.unwrap(), Err(Error::Unavailable(_))));
    assert!(open(&all, &me, 0).await.is_empty());
    // A repeated call asks again; dropping a call ends its question.
    let again = in_run(&me, Id::from_bytes([1; 16]), "1");
    let asked = asking(&all, &again, question("Which?"));
    open(&all, &me, 1).await;
    asked.abort();
    open(&all, &me, 0).await;
    let asked = asking(&all, &again, question("Which?"));
    let (direct, other) = (asking(&all, &me, question("Direct?")), in_run(&me, Id::new(), "9"));
    let dropped = asking(&all, &other, question("Dropped?"));
    open(&all, &me, 3).await;
    all.questions().suspend_all();
    dropped.abort();
    assert!(matches!(asked.await.unwrap(), Err(Error::Parked(_))));
    direct.abort();
    let left = open(&all, &me, 2).await;
    assert!(left.iter().all(|i| i.question.as_deref() != Some("Direct?")), "{left:?}");
    assert!(matches!(all.ask(&in_run(&me, Id::new(), "5"), question("Late?")).await, Err(Error::Parked(_))));
}

#[tokio::test]
async fn what_has_a_secret_in_it_waits_in_the_call_alone() {
    let (_store, all) = house(0);
    let (me, key) = (cx(), format!("sk-ant-api03-{}", "aB3dE6gH9jK2mN5pQ8".repeat(4)));
    let props = |name: &str| json!({name: "kX9-vault-77"}).as_object().cloned().unwrap();
    let component = |props| Request::Component { title: None, code: "function Component() {}".into(), props };
    for (n, (request, secret)) in [
        (question(&format!("I made {key}, shall I keep it?")), true),
        // So it came from another tool.
        (question("The key is [REDACTED], shall I keep it?"), true),
        (Request::Ask { question: "Which?".into(), options: vec![key.clone(), "another".into()] }, true),
        (component(props("password")), true),
        (component(props("place")), false),
        (question("Shall I keep it?"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let (shown, run) = (format!("{request:?}"), Id::new());
        let asked = all.ask(&in_run(&me, run, &n.to_string()), request).await;
        match asked {
            Err(Error::Unavailable(told)) if secret => assert!(told.contains("ask again without the secret"), "{told}"),
            Err(Error::Parked(_)) if !secret => {}
            other => panic!("{shown}: {other:?}"),
        }
        assert_eq!(waiting(&all, &me, run).len(), usize::from(!secret), "nobody is asked in vain: {shown}");
    }
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_run_rests_on_outlives_the_daemon() {
    let folder = Folder(std::env::temp_dir().join(format!("hob-interaction-{}", Id::new())));
    let (me, run) = (cx(), Id::new());
    let call = in_run(&me, run, "call_1");
    let life = || {
        let store = Store::open(&folder.0).unwrap();
        let all = interactions(&store, 60, 24);
        (tokio::runtime::Runtime::new().unwrap(), store, all)
    };
    // Killed while two calls wait, one of a run.
    let (runtime, store, all) = life();
    let id = runtime.block_on(async {
        let asked = asking(&all, &call, question("Which?"));
        let id = open(&all, &me, 1).await[0].id;
        let direct = asking(&all, &me, question("Direct?"));
        open(&all, &me, 2).await;
        all.questions().suspend_all();
        assert!(matches!(asked.await.unwrap(), Err(Error::Parked(_))));
        direct.abort();
        assert!(direct.await.is_err());
        store.flush().await.unwrap();
        id
    });
    drop((runtime, store, all));
    let (runtime, store, all) = life();
    let wake = runtime.block_on(async {
        let left = open(&all, &me, 1).await;
        assert_eq!((left[0].id, left[0].run_id), (id, Some(run)));
        all.respond(&me, id, json!({"answer": "that"})).await.unwrap().1
    });
    assert_eq!(wake, Some(SuspendedRun { user: me.user(), run }));
    drop((runtime, store, all));
    // Killed again, before the run was resumed.
    let (runtime, _store, all) = life();
    runtime.block_on(async {
        assert!(all.list(&me, ListFilter::In(State::Pending), None, 9).unwrap().is_empty());
        assert_eq!(all.ask(&call, question("Which?")).await.unwrap(), json!({"answer": "that"}));
    });
}

#[tokio::test]
async fn what_nobody_answers_in_time_ends_and_its_run_is_woken() {
    let store = Store::in_memory().unwrap();
    let all = interactions(&store, 0, 0);
    let (me, run) = (cx(), Id::new());
    let call = in_run(&me, run, "call_1");
    let parked = all.ask(&call, question("Which?")).await;
    assert!(matches!(parked, Err(Error::Parked(_))), "{parked:?}");
    let id = all.list(&me, ListFilter::In(State::Expired), None, 9).unwrap()[0].id;
    assert_eq!(all.questions().sweep().unwrap(), [SuspendedRun { user: me.user(), run }]);
    assert!(matches!(all.respond(&me, id, json!({"answer": "x"})).await, Err(Error::Unavailable(_))));
    store.flush().await.unwrap();
    assert_eq!(all.questions().sweep().unwrap(), []);
    let refused = all.ask(&call, question("Which?")).await;
    assert!(
        matches!(&refused, Err(Error::Denied(text)) if text.contains("within 0 hours")),
        "not asked again: {refused:?}"
    );
}

#[tokio::test]
async fn there_is_an_end_to_what_waits_and_to_what_is_kept() {
    let (store, all) = house(0);
    let me = cx();
    // Runs of five questions each, two of them in a conversation.
    let (run, conversation) = (Id::new(), Id::from_bytes([7; 16]));
    for n in 0..50 {
        let (run, conversation) = match n {
            0..5 => (run, conversation),
            _ => (Id::from_bytes([n / 5; 16]), Id::from_bytes([100 + n / 10; 16])),
        };
        let bounds = Bounds { model_call: Some(n.to_string().into()), ..Bounds::default() };
        let call = me.in_run(run, conversation, CancellationToken::new()).bounded(bounds);
        let parked = all.ask(&call, question("Which?")).await;
        assert!(matches!(parked, Err(Error::Parked(_))), "{parked:?}");
        if n == 4 {
            let refused = all.ask(&in_run(&me, run, "one more"), question("Which?")).await;
            assert!(matches!(&refused, Err(Error::Unavailable(text)) if text.contains("5 questions")), "{refused:?}");
        }
    }
    let full = all.ask(&me, question("One more?")).await;
    assert!(matches!(&full, Err(Error::Unavailable(text)) if text.contains("50 questions")), "{full:?}");
    assert!(
        matches!(all.ask(&somebody(), question("Mine?")).await, Err(Error::Unavailable(text)) if text.contains("nobody"))
    );
    for one in open(&all, &me, 50).await.drain(..) {
        all.dismiss(&me, one.id).await.unwrap();
    }
    for _ in 0..460 {
        assert!(all.ask(&me, question("Which?")).await.is_err());
    }
    store.flush().await.unwrap();
    for _ in 0..2 {
        all.questions().sweep().unwrap();
        store.flush().await.unwrap();
    }
    assert_eq!(all.list(&me, ListFilter::All, None, 1000).unwrap().len(), 500);
}

#[tokio::test]
async fn a_run_hears_what_it_asks_and_says_and_a_schedule_tells_by_notice() {
    let (_store, all) = house(60);
    let notes = Arc::new(Notes::default());
    let ports = Ports { dispatch: notes.clone(), ..ports() };
    let me = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Page));
    let run = Id::new();
    let heard = Arc::new(Mutex::new(vec![]));
    let into = heard.clone();
    let watching = all.watch(run, move |told| {
        into.lock().unwrap().push(match told {
            InteractionEvent::Asked(shown) => shown.question.clone().unwrap_or_default(),
            InteractionEvent::Message(text) => text.to_owned(),
        });
    });
    let caller = in_run(&me, run, "call_1");
    assert_eq!(call(&all, &caller, "send_message", json!({"text": " on it "})).await.unwrap(), json!({"ok": true}));
    asking(&all, &caller, question("Which?"));
    open(&all, &me, 1).await;
    // It is stored before anybody hears of it.
    while heard.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(notes.0.lock().unwrap().is_empty());
    for _ in 1..50 {
        call(&all, &caller, "send_message", json!({"text": "more"})).await.unwrap();
    }
    let told = message(call(&all, &caller, "send_message", json!({"text": "more"})).await);
    assert!(told.contains("50 messages already"), "{told}");
    assert!(call(&all, &in_run(&me, Id::new(), "1"), "send_message", json!({"text": "more"})).await.is_ok());
    drop(watching);
    let all_heard = heard.lock().unwrap().clone();
    assert_eq!((all_heard.len(), &all_heard[..2]), (51, &["on it".to_owned(), "Which?".into()][..]));
    // A schedule's run has no person at the other end: a notice is left, and the run is suspended at once.
    let machine = Cx::root(ports, Principal::owner(), Via::direct(Channel::Machine));
    for _ in 0..2 {
        let parked = all.ask(&in_run(&machine, run, "call_2"), question("Water the ficus?")).await;
        assert!(matches!(parked, Err(Error::Parked(_))), "{parked:?}");
    }
    let noted = notes.0.lock().unwrap().clone();
    assert_eq!(noted, [("notify".to_owned(), json!({"title": "Hob asks you something", "text": "Water the ficus?"}))]);
}

#[tokio::test]
async fn only_the_persons_own_words_are_vouched_for() {
    let (_store, all) = house(60);
    let url = "https://example.org/x";
    let field = |kind: &str, more: Value| {
        let mut field = json!({"name": "a", "label": "A", "type": kind});
        field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"blocks": [{"type": "form", "submitLabel": "Go", "fields": [field]}]})
    };
    let submit = json!({"action": "submit", "data": {"a": url}});
    for (name, args, answer, theirs) in [
        ("ask_user", json!({"question": "Where?"}), json!({"answer": url}), true),
        ("ask_user", json!({"question": "Where?", "options": [url]}), json!({"answer": url}), false),
        ("render_blocks", field("text", json!({})), submit.clone(), true),
        ("render_blocks", field("text", json!({"default": url})), submit.clone(), false),
        ("render_blocks", field("select", json!({"options": [url]})), submit, false),
        ("render_and_wait", json!({"code": "x"}), json!({"action": "go", "at": url}), false),
    ] {
        // The calls of a run share what it knows.
        let me = cx();
        let caller = in_run(&me, Id::new(), "call");
        let (house, at) = (all.clone(), caller.clone());
        let tool = name.to_owned();
        let waits = tokio::spawn(async move { call(&house, &at, &tool, args).await });
        let shown = open(&all, &me, 1).await.remove(0);
        all.respond(&me, shown.id, answer).await.unwrap();
        waits.await.unwrap().unwrap();
        assert_eq!(caller.knows(url), theirs, "{name}");
    }
}

#[tokio::test]
async fn tools_ask_through_the_port_and_rights_are_asked_elsewhere() {
    let (_store, all) = house(60);
    let asks = Arc::new(Asks::new(Unconnected, all.clone()));
    let me = Cx::root(Ports { ask: asks, ..ports() }, Principal::owner(), Via::direct(Channel::Api));
    let caller = in_run(&me, Id::new(), "call_1");
    let at = caller.clone();
    let waits =
        tokio::spawn(async move { at.ask(Question { text: "Sure?".into(), choices: vec!["yes".into()] }).await });
    let shown = open(&all, &me, 1).await.remove(0);
    all.respond(&me, shown.id, json!({"answer": "yes"})).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap().0, "yes");
    let consult = |ask| Consult {
        tool: "t".into(),
        version: 0,
        action: "fetch",
        details: json!({}),
        risk: tool::Risk::Send,
        ask,
        about: String::new(),
        reason: "no".into(),
    };
    assert!(me.ports().ask.consult(me.clone(), consult(false)).await.is_ok());
    assert_eq!(me.ports().ask.consult(me.clone(), consult(true)).await, Err(Error::Denied("no".into())));
}

#[test]
fn the_schemas_are_short_and_name_every_type() {
    let tools = family(house(0).1).into_parts().tools;
    let of = |name: &str| tools.iter().find(|t| &*t.name == name).unwrap();
    let blocks = of("render_blocks").parameters().clone();
    let types: Vec<&Value> = blocks["properties"]["blocks"]["items"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["properties"]["type"]["const"])
        .collect();
    assert_eq!(types, ["markdown", "table", "chart", "form", "code", "image", "alert", "json"]);
    assert!(blocks.to_string().len() < 4500, "{}", blocks.to_string().len());
    assert!(
        tools.iter().all(|t| t.risk == tool::Risk::Observe && !t.examples.is_empty() && t.label == tool::Label::Own)
    );
}

#[tokio::test]
async fn what_is_kept_has_no_secrets_and_who_waits_is_given_them() {
    let (_store, all) = house(60);
    let (me, secret) = (cx(), format!("sk-ant-api03-{}", "aB3dE6gH9jK2mN5pQ8".repeat(4)));
    let asked = asking(&all, &me, question(&format!("Is it {secret}?")));
    let id = open(&all, &me, 1).await[0].id;
    let (shown, _) = all.respond(&me, id, json!({"answer": secret})).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), json!({"answer": secret}), "the call is given it as it is");
    let kept = all.get(&me, id).unwrap();
    assert_eq!(kept, shown);
    assert!(!serde_json::to_string(&kept).unwrap().contains(&secret), "{kept:?}");
    assert!(kept.question.is_some_and(|q| q.starts_with("Is it ")));
    // Deleting a conversation deletes all its interactions, finished ones included.
    let call = in_run(&me, Id::new(), "call_1");
    assert_eq!(all.list(&me, ListFilter::All, None, 9).unwrap().len(), 1);
    let asked = asking(&all, &call, question("And?"));
    let id = open(&all, &me, 1).await[0].id;
    all.respond(&me, id, json!({"answer": "so"})).await.unwrap();
    asked.await.unwrap().unwrap();
    all.questions().forget_conversation(me.user(), Id::from_bytes([7; 16])).await.unwrap();
    assert_eq!(all.list(&me, ListFilter::All, None, 9).unwrap().len(), 1);
}
