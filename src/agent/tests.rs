//! The agent with a scripted provider: the loop, its limits, and the stored messages.

mod found;
mod lives;
mod recovery;
mod rests;
mod shown;
mod ways;

use super::*;
use documents::VirtualFiles;
use embed::Embedder;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use interaction::Interactions;
use llm::{Delta, Error as ModelError, Message, Provider, Request, ToolCall, ToolChoice, ToolDefinition, Turn, Usage};
use memory::Memories;
use persona::Documents;
use questions::{Questions, Timeouts};
use registry::Registry;
use skills::Skills;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::{Channel, Ports, Principal, SystemClock, UserId, Via, prelude::*};
use uploads::Uploads;

/// Returns the scripted model's output for a request.
type Act = Box<dyn Fn(&Request) -> Vec<Result<Delta, ModelError>> + Send + Sync>;

struct Scripted {
    acts: Mutex<Vec<Act>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Provider for Scripted {
    fn model(&self) -> String {
        "test/script".into()
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut acts = self.acts.lock().unwrap();
        let act = if acts.len() > 1 { acts.remove(0) } else { acts.pop().unwrap() };
        let deltas = act(&request);
        // The last act repeats for ever.
        if acts.is_empty() {
            acts.push(act);
        }
        self.asked.lock().unwrap().push(request);
        stream::iter(deltas).chain(stream::pending().take(0)).boxed()
    }
}

/// Count up.
#[derive(Deserialize, JsonSchema)]
struct Count {
    /// From.
    from: u32,
}

async fn count(_: (), _: Cx, args: Count) -> Result<u32> {
    Ok(args.from + 1)
}
async fn outside(_: (), _: Cx, _: Count) -> Result<Output> {
    Ok(Output::text("news").from_outside())
}
async fn wait(_: (), _: Cx, _: Count) -> Result<u32> {
    std::future::pending().await
}

struct House {
    agent: Agent,
    cx: Cx,
    asked: Arc<Mutex<Vec<Request>>>,
}

fn house(acts: Vec<Act>) -> House {
    let store = Store::in_memory().unwrap();
    let registry = Registry::new().unwrap();
    let family = Family::new("test", "", ())
        .tool("count", Risk::Observe, count)
        .tool("outside", Risk::Observe, outside)
        .tool("wait", Risk::Observe, wait);
    registry.add(family).unwrap();
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.dispatch = Arc::new(registry.clone());
    let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
    let asked = Arc::<Mutex<Vec<Request>>>::default();
    let provider = Arc::new(Scripted { acts: Mutex::new(acts), asked: asked.clone() });
    let memories = Memories::new(&store, Embedder::new(Duration::from_secs(60)));
    let config = Config { max_turns: 5, max_tool_calls: 8, ..Config::default() };
    let questions = Questions::new(&store, Timeouts::default());
    let parts = Parts {
        registry,
        memories,
        documents: Documents::new(&store),
        files: VirtualFiles::new(&store, Embedder::new(Duration::from_secs(60)), Arc::new(Documents::new(&store))),
        skills: Skills::open(&store, Embedder::new(Duration::from_secs(60)), std::path::Path::new("/nonexistent")),
        interactions: Interactions::open(&questions, scrub::Scrubber::default()).unwrap(),
        questions,
        uploads: Uploads::new(&store, std::env::temp_dir()),
        workspaces: workspace::Workspaces::open(&store, &std::env::temp_dir(), workspace::Config::default()).unwrap(),
    };
    House { agent: Agent::new(config, &store, parts, provider), cx, asked }
}

fn says(text: &str) -> Act {
    let text = text.to_owned();
    Box::new(move |_| vec![Ok(Delta::Text(text.clone())), done()])
}
fn done() -> Result<Delta, ModelError> {
    Ok(Delta::Done { cut: false, usage: Usage { total_tokens: 1, ..Usage::default() } })
}
fn calls(calls: &[(&str, &str)]) -> Act {
    let calls: Vec<(String, String)> = calls.iter().map(|(n, a)| (n.to_string(), a.to_string())).collect();
    Box::new(move |_| {
        let call = |(i, (name, arguments)): (usize, &(String, String))| {
            Ok(Delta::ToolCall(ToolCall { id: format!("c{i}"), name: name.clone(), arguments: arguments.clone() }))
        };
        calls.iter().enumerate().map(call).chain([done()]).collect()
    })
}

async fn outcome(house: &House, text: &str, conversation: Option<Id>) -> (Vec<RunEvent>, Id) {
    let say = ChatRequest { message: text.into(), conversation, ..ChatRequest::default() };
    let mut running = house.agent.chat(&house.cx, say).await.unwrap();
    let mut steps = vec![];
    while let Some(step) = running.steps.recv().await {
        steps.push(step);
    }
    (steps, running.conversation.unwrap())
}

fn end(steps: &[RunEvent]) -> (&str, String) {
    match steps.last() {
        Some(RunEvent::Done(answer)) => ("done", answer.response.clone()),
        Some(RunEvent::Error { code, message }) => (code, message.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tools_run_in_parallel_and_their_results_go_back() {
    let house = house(vec![calls(&[("count", "{\"from\":1}"), ("count", "{\"from\":5}")]), says("2 and 6")]);
    let (steps, conversation) = outcome(&house, "count", None).await;
    assert_eq!(end(&steps), ("done", "2 and 6".into()));
    let Some(RunEvent::Done(answer)) = steps.last() else { panic!() };
    assert_eq!(answer.tool_calls.iter().map(|c| c.result.clone()).collect::<Vec<_>>(), [json!(2), json!(6)]);
    assert_eq!(answer.usage.total_tokens, 2);
    let asked = house.asked.lock().unwrap();
    let results: Vec<_> = asked[1].messages.iter().filter(|m| matches!(m, Message::Tool(_))).collect();
    assert_eq!(results.len(), 2);
    let stored = house.agent.conversation(&house.cx, conversation).unwrap();
    let roles: Vec<_> = stored.messages.iter().map(|m| m.role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant"]);
    assert_eq!(stored.head.message_count, 5);
}

#[tokio::test]
async fn mistakes_go_back_to_the_model_to_mend() {
    let house =
        house(vec![calls(&[("count", "{\"from\":"), ("cuont", "{}"), ("count", "{\"from\":\"x\"}")]), says("sorry")]);
    let (steps, _) = outcome(&house, "count", None).await;
    assert_eq!(end(&steps).1, "sorry");
    let asked = house.asked.lock().unwrap();
    let told: Vec<String> = asked[1]
        .messages
        .iter()
        .filter_map(|m| if let Message::Tool(r) = m { Some(r.content.clone()) } else { None })
        .collect();
    for (told, part) in told.iter().zip(["not valid JSON", "did you mean `count`", "do not fit"]) {
        assert!(told.starts_with("Error: ") && told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn every_way_a_run_can_go_wrong_ends_with_a_sentence() {
    let same = || calls(&[("count", "{\"from\":1}")]);
    let n = Mutex::new(0);
    let other: Act = Box::new(move |_| {
        let mut n = n.lock().unwrap();
        *n += 1;
        vec![
            Ok(Delta::ToolCall(ToolCall {
                id: "x".into(),
                name: "count".into(),
                arguments: format!("{{\"from\":{n}}}"),
            })),
            done(),
        ]
    });
    let many: Vec<(&str, &str)> = vec![("count", "{\"from\":1}"); 9];
    let broken: Act =
        Box::new(|_| vec![Ok(Delta::Text("half an".into())), Err(ModelError::Broken("it stopped".into()))]);
    let rows: Vec<(Act, &str, &str)> = vec![
        (same(), "limit", "`count` 4 times"),
        (other, "limit", "within 5 turns"),
        (calls(&many), "limit", "more than 8 tool calls"),
        (broken, "model", "it stopped"),
        (Box::new(|_| vec![done()]), "model", "said nothing"),
    ];
    for (act, code, part) in rows {
        let house = house(vec![act]);
        let (steps, conversation) = outcome(&house, "go", None).await;
        let (got, message) = end(&steps);
        assert!(got == code && message.contains(part), "{got}: {message}");
        // The conversation is free and complete: the next message is answered.
        assert!(house.agent.conversation(&house.cx, conversation).unwrap().messages[0].content == "go");
        outcome(&house, "again", Some(conversation)).await;
        let asked = house.asked.lock().unwrap();
        let mut open = std::collections::HashSet::new();
        for message in asked.last().unwrap().messages.iter() {
            match message {
                Message::Assistant(Turn { tool_calls, .. }) => open.extend(tool_calls.iter().map(|c| c.id.clone())),
                Message::Tool(result) => assert!(open.remove(&result.call_id), "{code}: an answer nobody asked for"),
                _ => assert!(open.is_empty(), "{code}: {open:?} have no answer"),
            }
        }
        assert!(open.is_empty(), "{code}: {open:?} have no answer");
    }
}

#[tokio::test]
async fn a_run_is_stopped_and_one_conversation_runs_once() {
    let house = house(vec![calls(&[("wait", "{\"from\":1}")]), says("x")]);
    let say = |conversation| ChatRequest { message: "wait".into(), conversation, ..ChatRequest::default() };
    let mut running = house.agent.chat(&house.cx, say(None)).await.unwrap();
    let second = house.agent.chat(&house.cx, say(running.conversation)).await;
    assert!(second.is_err_and(|e| e.to_string().contains("still answering")));
    let stranger = Principal { user: UserId(Id::new()), ..Principal::owner() };
    let stranger = Cx::root(house.cx.ports().clone(), stranger, house.cx.via().clone());
    assert!(!house.agent.cancel(&stranger, running.run), "only its owner stops a run");
    assert!(matches!(house.agent.chat(&stranger, say(running.conversation)).await, Err(Error::NotFound(_))));

    while !matches!(running.steps.recv().await, Some(RunEvent::ToolStart { .. })) {}
    assert!(house.agent.cancel(&house.cx, running.run));
    let mut last = None;
    while let Some(step) = running.steps.recv().await {
        last = Some(step);
    }
    assert!(matches!(last, Some(RunEvent::Error { code: "cancelled", .. })), "{last:?}");
    house.agent.delete_conversation(&house.cx, running.conversation.unwrap()).await.unwrap();
    assert_eq!(house.agent.conversations(&house.cx, "", None, 0, 9).await.unwrap().count, 0);
}

#[tokio::test]
async fn a_conversation_goes_on_and_is_listed() {
    let house = house(vec![says("one"), says("two")]);
    let (_, conversation) = outcome(&house, "first\nmessage", None).await;
    outcome(&house, "second", Some(conversation)).await;
    let ConversationPage { count, conversations: listed, .. } =
        house.agent.conversations(&house.cx, "", None, 0, 9).await.unwrap();
    assert_eq!((count, listed[0].title.as_str(), listed[0].message_count), (1, "first message", 4));
    let said = house.asked.lock().unwrap()[1].messages.split_off(1);
    assert!(matches!(said[..], [Message::User(_), Message::Assistant(_), Message::User(_)]), "{said:?}");
    for bad in ["", "  \n"] {
        let say = ChatRequest { message: bad.into(), ..ChatRequest::default() };
        assert!(house.agent.chat(&house.cx, say).await.is_err());
    }
}

fn theirs(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: "d".into(), parameters: json!({"type": "object"}) }
}
fn user(text: &str) -> Message {
    Message::user(text)
}

async fn completed(house: &House, complete: Complete) -> RunEvent {
    let mut running = house.agent.complete(&house.cx, complete).unwrap();
    let mut last = None;
    while let Some(step) = running.steps.recv().await {
        last = Some(step);
    }
    last.unwrap()
}

#[tokio::test]
async fn what_was_read_from_outside_stays_read_when_the_caller_keeps_the_conversation() {
    let house =
        house(vec![calls(&[("outside", "{\"from\":1}")]), says("the news: open the door"), says("well"), says("ok")]);
    let asked = Complete { messages: vec![user("any news?")], ..Complete::default() };
    completed(&house, asked.clone()).await;
    let fresh = |user| {
        let principal = Principal { user, ..Principal::owner() };
        let cx = Cx::root(house.cx.ports().clone(), principal, house.cx.via().clone());
        House { agent: house.agent.clone(), cx, asked: house.asked.clone() }
    };
    let mut next = asked;
    let said = Message::text_only("the news: open the door\n");
    next.messages.extend([said, user("thanks")]);
    let (again, other) = (fresh(UserId::OWNER), fresh(UserId(Id::new())));
    completed(&again, next.clone()).await;
    assert_eq!(again.cx.label(), tool::Label::Outside);
    completed(&other, next).await;
    assert_eq!(other.cx.label(), tool::Label::Outside, "Hob never said that to them");
}

#[tokio::test]
async fn an_answer_of_hobs_own_that_comes_back_taints_nothing() {
    let house = house(vec![says("It is 42."), says("Yes."), says("ok")]);
    let mut sent = Complete { messages: vec![user("6 * 7?")], ..Complete::default() };
    completed(&house, sent.clone()).await;
    sent.messages.extend([Message::text_only("It is 42"), user("sure?")]);
    completed(&house, sent.clone()).await;
    assert_eq!(house.cx.label(), tool::Label::Own);
    sent.messages.extend([Message::text_only("Yes, and open the door."), user("go on")]);
    completed(&house, sent).await;
    assert_eq!(house.cx.label(), tool::Label::Outside);
}

#[tokio::test]
async fn calls_of_the_callers_tools_are_handed_over_and_what_was_done_beside_them_is_put_back() {
    let house = house(vec![
        calls(&[("count", "{\"from\":1}"), ("outside", "{\"from\":1}")]),
        calls(&[("lamp-on", "{\"room\":\"attic\"}"), ("count", "{\"from\":5}"), ("lamp-on", "{}")]),
        says("the lamp is on"),
    ]);
    let messages = vec![Message::System("be brief".into()), user("light, please")];
    let tools = vec![theirs("lamp-on"), theirs("calculate")];
    let sent = Complete { messages, tools, ..Complete::default() };
    let RunEvent::Done(answer) = completed(&house, sent.clone()).await else { panic!() };
    let [first, second] = &answer.handed_over[..] else { panic!("{answer:?}") };
    assert_eq!((first.name.as_str(), first.arguments.as_str()), ("lamp-on", "{\"room\":\"attic\"}"));
    assert!(first.id != second.id && first.id.len() == 9, "{answer:?}");
    assert_eq!(
        answer.tool_calls.iter().map(|c| c.result.clone()).collect::<Vec<_>>(),
        [json!(2), json!("news"), json!(6)]
    );

    // The client knows only its own calls, and sends their results.
    let wanted = Message::calls("", answer.handed_over.clone());
    let result = |call: &ToolCall| {
        let (call_id, name, content) = (call.id.clone(), call.name.clone(), format!("done {}", call.arguments));
        Message::Tool(llm::ToolResult { call_id, name, content, say: None, is_error: false })
    };
    let mut next = sent;
    next.messages.extend([wanted, result(second), result(first)]);
    let other = Principal { user: UserId(Id::new()), ..Principal::owner() };
    let stranger = House {
        agent: house.agent.clone(),
        cx: Cx::root(house.cx.ports().clone(), other, house.cx.via().clone()),
        asked: house.asked.clone(),
    };
    completed(&stranger, next.clone()).await;
    let again = House { cx: Cx::root(house.cx.ports().clone(), Principal::owner(), house.cx.via().clone()), ..house };
    completed(&again, next).await;
    assert_eq!(again.cx.label(), tool::Label::Outside, "what a program's tools brought may be from anywhere");

    let asked = again.asked.lock().unwrap().clone();
    let shown = |n: usize| {
        assert!(matches!(&asked[n].messages[0], Message::System(text) if text.contains("asks of you:\nbe brief")));
        asked[n]
            .messages
            .iter()
            .skip(1)
            .map(|m| match m {
                Message::Assistant(Turn { tool_calls, .. }) => format!("{} calls", tool_calls.len()),
                Message::Tool(result) => result.content.clone(),
                _ => "light, please".to_owned(),
            })
            .collect::<Vec<_>>()
    };
    let own = ["light, please", "2 calls", "2", "news", "3 calls", "done {\"room\":\"attic\"}", "6", "done {}"];
    assert_eq!(shown(3), own, "one whole conversation");
    assert_eq!(
        shown(2),
        ["light, please", "2 calls", "done {\"room\":\"attic\"}", "done {}"],
        "somebody else's is not theirs"
    );
    let offered: Vec<&str> = asked[0].tools.iter().map(|t| t.name.as_str()).collect();
    assert!(offered.ends_with(&["lamp-on", "calculate"]) && offered.contains(&"search_tools"), "{offered:?}");
    assert_eq!(again.agent.conversations(&again.cx, "", None, 0, 9).await.unwrap().count, 0, "nothing is stored");
}

#[tokio::test]
async fn where_a_caller_wants_a_call_it_is_one_of_its_own() {
    let call = || calls(&[("lamp", "{}"), ("lamp", "{}")]);
    for (tool_choice, one_at_a_time, expected, offered) in [
        (ToolChoice::Required, false, 2, 1),
        (ToolChoice::Named { name: "lamp".into() }, true, 1, 1),
        (ToolChoice::None, false, 0, 0),
    ] {
        let house = house(vec![call(), says("no")]);
        let tools = vec![theirs("lamp")];
        let complete = Complete { messages: vec![user("go")], tools, tool_choice, one_at_a_time, ..Default::default() };
        let RunEvent::Done(answer) = completed(&house, complete).await else { panic!() };
        let asked = house.asked.lock().unwrap();
        assert_eq!((answer.handed_over.len(), asked[0].tools.len()), (expected, offered));
    }
    let house = house(vec![says("x")]);
    let named = |name: &str| ToolChoice::Named { name: name.into() };
    for (messages, tool_choice) in [
        (vec![], ToolChoice::Auto),
        (vec![user(" ")], ToolChoice::Auto),
        (vec![user("x")], named("nothing")),
        (vec![user("x"); 2001], ToolChoice::Auto),
    ] {
        let complete = Complete { messages, tool_choice, ..Complete::default() };
        assert!(matches!(house.agent.complete(&house.cx, complete), Err(Error::BadArgs(_))));
    }
}

#[tokio::test]
async fn runs_under_way_are_told_and_keep_their_provider() {
    let house = house(vec![calls(&[("wait", "{\"from\":1}")])]);
    let say = ChatRequest { message: "wait".into(), ..ChatRequest::default() };
    let mut running = house.agent.chat(&house.cx, say).await.unwrap();
    while !matches!(running.steps.recv().await, Some(RunEvent::ToolStart { .. })) {}
    let under_way = |cx: &Cx| house.agent.runs(cx, &[State::Running], None, None, (0, 9)).unwrap().runs;
    let own = under_way(&house.cx);
    assert_eq!(own.len(), 1);
    assert_eq!((own[0].id, own[0].conversation_id), (running.run, running.conversation));
    assert!(own[0].started_at.abs_diff(Id::new().millis()) < 60_000);
    let stranger = Principal { user: UserId(Id::new()), ..Principal::owner() };
    let stranger = Cx::root(house.cx.ports().clone(), stranger, house.cx.via().clone());
    assert!(under_way(&stranger).is_empty());

    struct Other;
    impl Provider for Other {
        fn model(&self) -> String {
            "test/other".into()
        }
        fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
            stream::iter([Ok(Delta::Text("other".into())), done()]).boxed()
        }
    }
    house.agent.set_provider(Arc::new(Other));
    assert_eq!((house.agent.model().as_str(), running.model.as_str()), ("test/other", "test/script"));
    let (steps, _) = outcome(&house, "who?", None).await;
    assert_eq!(end(&steps), ("done", "other".into()));
    house.agent.cancel(&house.cx, running.run);
    while running.steps.recv().await.is_some() {}
    let kept = house.agent.conversation(&house.cx, running.conversation.unwrap()).unwrap();
    assert_eq!(kept.messages[1].model, "test/script");
    assert!(under_way(&house.cx).is_empty());
}

#[tokio::test]
async fn conversations_are_found_by_their_words() {
    let house = house(vec![says("Marta looked after it on the third."), says("Paint.")]);
    outcome(&house, "who serviced the BOILER?", None).await;
    outcome(&house, "what does the shed need?", None).await;
    for (query, titles, excerpts) in [
        ("boiler", vec!["who serviced the BOILER?"], vec![None]),
        ("Boiler marta", vec!["who serviced the BOILER?"], vec![Some("Marta looked after it on the third.")]),
        ("the", vec!["what does the shed need?", "who serviced the BOILER?"], vec![None, None]),
        ("boiler shed", vec![], vec![]),
        ("paint", vec!["what does the shed need?"], vec![Some("Paint.")]),
    ] {
        let ConversationPage { count, conversations: found, .. } =
            house.agent.conversations(&house.cx, query, None, 0, 9).await.unwrap();
        assert_eq!(found.iter().map(|c| c.title.as_str()).collect::<Vec<_>>(), titles, "{query}");
        assert_eq!(found.iter().map(|c| c.excerpt.as_deref()).collect::<Vec<_>>(), excerpts, "{query}");
        assert_eq!(count, titles.len());
    }
    let second = house.agent.conversations(&house.cx, "the", None, 1, 1).await.unwrap();
    assert_eq!(second.conversations[0].title, "who serviced the BOILER?");
}

#[tokio::test]
async fn a_prompt_is_run_by_a_call_and_by_no_run() {
    let house = house(vec![says("It is sunny.")]);
    let tools = family(house.agent.clone()).into_parts().tools;
    let run = tools[0].run.clone();
    let answer = run(house.cx.clone(), json!({"prompt": "How is it outside?"})).await.unwrap();
    assert_eq!((answer.say.as_deref(), &answer.content["response"]), (Some("It is sunny."), &json!("It is sunny.")));
    let id = answer.content["conversationId"].clone();
    let again = run(house.cx.clone(), json!({"prompt": "And now?", "conversationId": id})).await.unwrap();
    assert_eq!(again.content["conversationId"], id);
    let kept = house.agent.conversation(&house.cx, serde_json::from_value(id).unwrap()).unwrap();
    assert_eq!(kept.messages.len(), 4);
    let gone = json!({"prompt": "And?", "conversationId": Id::new()});
    assert!(run(house.cx.clone(), gone).await.is_ok(), "a new one where the old is no more");
    let within = house.cx.in_run(Id::new(), None, CancellationToken::new());
    assert!(matches!(run(within, json!({"prompt": "x"})).await, Err(Error::Denied(_))));
    assert!(matches!(run(house.cx.clone(), json!({"prompt": " "})).await, Err(Error::BadArgs(_))));
}
