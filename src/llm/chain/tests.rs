//! Fallback between models.

use super::*;
use crate::{
    Content, Facts, Kind, Media, Metered, Part, Price, Source, ToolCall, ToolDefinition, ToolResult, Turn,
    scripted::{Said, Script, done, keep, text},
};
use futures::TryStreamExt;
use std::time::Duration;

fn err(kind: &str) -> Said {
    let text = kind.to_owned();
    Err(match kind {
        "network" => Error::Network(text),
        "timeout" => Error::Timeout(text),
        "busy" => Error::Busy { text, after: None },
        "server" => Error::Server { text, after: None },
        "refused" => Error::Refused(text),
        "spent" => Error::Spent(text),
        _ => Error::Broken(text),
    })
}

fn script(name: &'static str, answer: Vec<Said>) -> Script {
    Script::new(name, [answer])
}

fn good(name: &'static str) -> Script {
    script(name, vec![text(name), done(1, 1)])
}

fn link(script: &Arc<Script>) -> Link {
    Link { provider: script.clone(), price: Price::Unknown, quality: None, speed: None }
}

fn reflex(sure: bool, understood: bool) -> Script {
    let answer = vec![text("reflex"), keep("reflex"), done(0, 0)];
    Script { confidence: (sure, understood), by_word: true, ..Script::new("reflex", [answer]) }
}

/// A request of a person, with tools.
fn asked() -> Request {
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), parameters: serde_json::json!({}) };
    Request {
        messages: vec![Message::System("s".into()), Message::user("hi")].into(),
        tools: vec![tool].into(),
        ..Request::default()
    }
}

/// The answering model according to the stream, the text, and the error: `by gpt: words!error`.
async fn told(chain: &Chain, request: Request) -> String {
    let (mut told, mut stream) = (String::new(), chain.stream(request));
    loop {
        match stream.try_next().await {
            Ok(Some(Delta::By { model, by_word })) => {
                told += &format!("by {model}{}: ", if by_word { " (word)" } else { "" });
            }
            Ok(Some(Delta::Text(text))) => told += &text,
            Ok(Some(_)) => {}
            Ok(None) => return told,
            Err(error) => return format!("{told}!{error}"),
        }
    }
}

#[tokio::test]
async fn in_the_middle_of_a_models_work_a_failure_is_told() {
    let call = ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
    let result = ToolResult { call_id: "c".into(), name: "t".into(), content: "{}".into(), say: None, is_error: false };
    let mut request = asked();
    request.messages.extend([Message::calls("", vec![call]), Message::Tool(result)]);
    for (kind, why) in [("server", "!server"), ("spent", "!spent"), ("network", "!network")] {
        let one = script("one", vec![err(kind)]).shared();
        let chain = Chain::new(vec![link(&one)], reflex(true, true).shared(), true);
        assert_eq!(told(&chain, request.clone()).await, why);
    }
}

#[tokio::test]
async fn who_answers_when_others_fail() {
    type Answers = Vec<Vec<Said>>;
    let rows: Vec<(&str, Answers, bool, &str)> = vec![
        // Each link's response; whether reflex understood; the expected text.
        ("the first answers", vec![vec![text("one"), done(1, 1)], vec![text("two")]], true, "one"),
        ("no connection", vec![vec![err("network")], vec![text("two"), done(1, 1)]], true, "by two: two"),
        ("silence", vec![vec![err("timeout")], vec![text("two")]], true, "by two: two"),
        ("too often", vec![vec![err("busy")], vec![text("two")]], true, "by two: two"),
        ("its own failure", vec![vec![err("server")], vec![text("two")]], true, "by two: two"),
        (
            "broken before a word",
            vec![vec![text(""), keep("one"), err("broken")], vec![text("two")]],
            true,
            "by two: two",
        ),
        ("nothing at all", vec![vec![], vec![text("two")]], true, "by two: two"),
        ("broken after a word", vec![vec![text("one"), err("broken")], vec![text("two")]], true, "one!broken"),
        ("any failure after a word", vec![vec![text("one"), err("network")], vec![text("two")]], true, "one!network"),
        ("the first refuses", vec![vec![err("refused")], vec![text("two")]], true, "!refused"),
        ("a spent budget", vec![vec![err("spent")], vec![text("two")]], true, "by two: two"),
        ("spent, and nothing free", vec![vec![err("spent")], vec![err("spent")]], false, "!spent"),
        ("spent, and reflex", vec![vec![err("spent")], vec![err("spent")]], true, "by reflex (word): reflex"),
        (
            "who stands in refuses",
            vec![vec![err("server")], vec![err("refused")], vec![text("three")]],
            true,
            "by three: three",
        ),
        ("refused at last", vec![vec![err("server")], vec![err("refused")]], false, "!server"),
        ("refused at last, reflex", vec![vec![err("server")], vec![err("refused")]], true, "by reflex (word): reflex"),
        ("all fail", vec![vec![err("server")], vec![err("timeout")]], false, "!server"),
        ("all fail, reflex", vec![vec![err("server")], vec![err("timeout")]], true, "by reflex (word): reflex"),
        ("one fails, reflex", vec![vec![err("network")]], true, "by reflex (word): reflex"),
        ("no link", vec![], false, "reflex"),
    ];
    for (what, answers, understood, expected) in rows {
        let names = ["one", "two", "three"];
        let links = answers.into_iter().zip(names).map(|(answer, name)| link(&script(name, answer).shared())).collect();
        let chain = Chain::new(links, reflex(false, understood).shared(), false);
        assert_eq!(told(&chain, asked()).await, expected, "{what}");
    }
}

#[tokio::test]
async fn what_the_chosen_model_says_counts_whenever_it_is_asked() {
    let rows: [(_, [&str; 3], _, _); 6] = [
        // Each response in order of attempt: the second, the chosen one, the third; whether reflex understood.
        ("a cheaper one refuses", ["refused", "", ""], true, "one"),
        ("the chosen one refuses where another failed before", ["server", "refused", ""], true, "!refused"),
        ("all refuse", ["refused", "refused", "refused"], true, "!refused"),
        ("the chosen one's failure is told", ["busy", "server", "network"], false, "!server"),
        ("another's refusal is not told", ["refused", "server", "network"], false, "!server"),
        ("nor keeps it reflex out", ["refused", "server", "refused"], true, "by reflex (word): reflex"),
    ];
    for (what, [second, first, third], understood, expected) in rows {
        let priced = |name: &'static str, kind: &str, input| {
            let script = if kind.is_empty() { good(name) } else { script(name, vec![err(kind)]) };
            Link {
                price: Price::Known { input, cached: input, cache_write: input, output: input },
                ..link(&script.shared())
            }
        };
        let links = vec![priced("one", first, 2.0), priced("two", second, 1.0), priced("three", third, 3.0)];
        let chain = Chain::new(links, reflex(false, understood).shared(), false).strategy(Strategy::Cheapest);
        assert_eq!(told(&chain, asked()).await, expected, "{what}");
    }
}

#[tokio::test]
async fn reflex_comes_first_only_where_it_is_sure_of_a_fresh_command() {
    let plain = asked();
    let named = Request { tool_choice: ToolChoice::Named { name: "t".into() }, ..asked() };
    let none = Request { tool_choice: ToolChoice::None, ..asked() };
    let no_tools = Request { tools: vec![].into(), ..asked() };
    let results = Request { messages: after("openai", false).into(), ..asked() };
    let picture = Request { messages: vec![shown(Kind::Image)].into(), ..asked() };
    for (what, prefer, sure, request, first) in [
        ("preferred and sure", true, true, &plain, true),
        ("not sure", true, false, &plain, false),
        ("not preferred", false, true, &plain, false),
        ("a tool is demanded", true, true, &named, false),
        ("tools are forbidden", true, true, &none, false),
        ("no tools offered: a summary", true, true, &no_tools, false),
        ("results of a model's calls", true, true, &results, false),
        ("a picture", true, true, &picture, false),
    ] {
        let (model, reflex) = (good("model").shared(), reflex(sure, true).shared());
        let chain = Chain::new(vec![link(&model)], reflex.clone(), prefer);
        let expected = if first { "by reflex (word): reflex" } else { "model" };
        assert_eq!(told(&chain, request.clone()).await, expected, "{what}");
        assert_eq!((reflex.asked(), model.asked()), (usize::from(first), usize::from(!first)), "{what}");
    }
    // A failing reflex does not silence the models.
    let broken = Script { confidence: (true, true), ..script("reflex", vec![err("broken")]) };
    let chain = Chain::new(vec![link(&good("model").shared())], broken.shared(), true);
    assert_eq!(told(&chain, asked()).await, "model");
}

/// A conversation whose last turn called a tool and has its result; with `and_more` the person wrote again since.
fn after(provider: &str, and_more: bool) -> Vec<Message> {
    let call = ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
    let kept = Some(crate::ProviderState { provider: provider.into(), value: serde_json::Value::Null });
    let turn = Turn { content: "".into(), tool_calls: vec![call], kept };
    let result = ToolResult { call_id: "c".into(), name: "t".into(), content: "1".into(), say: None, is_error: false };
    let mut messages = vec![Message::user("do"), Message::Assistant(turn), Message::Tool(result)];
    messages.extend(and_more.then(|| Message::user("and now?")));
    messages
}

#[tokio::test]
async fn what_reflex_called_is_told_by_reflex() {
    for (provider, and_more, expected) in
        [("reflex", false, "by reflex (word): reflex"), ("reflex", true, "model"), ("openai", false, "model")]
    {
        let chain = Chain::new(vec![link(&good("model").shared())], reflex(false, false).shared(), false);
        let request = Request { messages: after(provider, and_more).into(), ..asked() };
        assert_eq!(told(&chain, request).await, expected, "{provider} {and_more}");
    }
    // A model that took over continues.
    let mut messages = after("reflex", false);
    messages.extend(after("openai", false).drain(1..));
    let chain = Chain::new(vec![link(&good("model").shared())], reflex(false, false).shared(), true);
    assert_eq!(told(&chain, Request { messages: messages.into(), ..asked() }).await, "model");
}

#[tokio::test]
async fn a_summary_is_not_made_by_reflex() {
    let chain = Chain::new(vec![link(&script("one", vec![err("server")]).shared())], reflex(true, true).shared(), true);
    assert_eq!(told(&chain, Request { tools: vec![].into(), ..asked() }).await, "!server");
}

fn shown(kind: Kind) -> Message {
    let media = Media { kind, media_type: "x/y".into(), name: "".into(), source: Source::Bytes([].into()) };
    Message::User(Content(vec![Part::Text("look".into()), Part::Media(media)]))
}

#[tokio::test]
async fn pictures_go_to_who_sees_them() {
    let blind = Facts { images: false, ..Facts::default() };
    let chain = |second: Facts| {
        let one = Script { facts: blind, ..good("one") }.shared();
        let two = Script { facts: second, ..good("two") }.shared();
        Chain::new(vec![link(&one), link(&two)], reflex(false, false).shared(), false)
    };
    let picture = || Request { messages: vec![shown(Kind::Image)].into(), ..asked() };
    assert_eq!(told(&chain(Facts::default()), picture()).await, "by two: two");
    assert_eq!(told(&chain(blind), picture()).await, "one", "where none does, the chosen one says so");
    assert_eq!(told(&chain(Facts::default()), asked()).await, "one");
    assert_eq!(chain(Facts::default()).facts(), blind, "the chain goes by the chosen model");
    assert_eq!(chain(Facts::default()).model(), "one");
}

#[tokio::test(start_paused = true)]
async fn who_could_not_be_reached_is_left_alone_for_half_a_minute() {
    for (kind, rests) in [("network", true), ("timeout", true), ("server", false), ("busy", false)] {
        let (one, two) = (script("one", vec![err(kind)]).shared(), good("two").shared());
        let chain = Chain::new(vec![link(&one), link(&two)], reflex(false, false).shared(), false);
        for _ in 0..3 {
            assert_eq!(told(&chain, asked()).await, "by two: two");
        }
        assert_eq!(one.asked(), if rests { 1 } else { 3 }, "{kind}");
        tokio::time::advance(Duration::from_secs(31)).await;
        told(&chain, asked()).await;
        assert_eq!(one.asked(), if rests { 2 } else { 4 }, "{kind}, later");
    }
    // A single model is always asked, and so is the first when all others fail.
    let one = Script::new("one", [vec![err("network")], vec![text("back"), done(1, 1)]]).shared();
    let two = Script::new("two", [vec![text("two")], vec![err("server")]]).shared();
    let alone = Chain::new(vec![link(&one)], reflex(false, false).shared(), false);
    assert_eq!(told(&alone, asked()).await, "!network");
    let shared = Arc::new(Health::default());
    shared.failed("one");
    let both = Chain::new(vec![link(&one), link(&two)], reflex(false, false).shared(), false).health(shared);
    assert_eq!(told(&both, asked()).await, "by two: two");
    assert_eq!(told(&both, asked()).await, "back");
    // It answered, so it comes first again.
    assert_eq!(told(&both, asked()).await, "back");
}

#[tokio::test(start_paused = true)]
async fn the_fastest_is_known_by_asking() {
    let slow = Script { takes: Duration::from_secs(9), ..good("slow") }.shared();
    let quick = good("quick").shared();
    let speeds = [(&slow, Some(100)), (&quick, Some(0))];
    let links = speeds.into_iter().map(|(script, speed)| Link { speed, ..link(script) }).collect();
    let chain = Chain::new(links, reflex(false, false).shared(), false).strategy(Strategy::Fastest);
    for _ in 0..3 {
        assert_eq!(told(&chain, asked()).await, "slow", "by the catalogue");
    }
    assert_eq!(told(&chain, asked()).await, "by quick: quick", "by what was measured");
}

#[tokio::test]
async fn a_spent_budget_leaves_what_costs_nothing() {
    let clock = Arc::new(tool::SystemClock::new(Some("UTC")).unwrap());
    let ledger = Arc::new(crate::Ledger::open(&store::Store::in_memory().unwrap(), clock).unwrap());
    let dear = Price::Known { input: 1e6, cached: 1e6, cache_write: 1e6, output: 1e6 };
    let metered = |script: Script, price| {
        let provider = Arc::new(Metered::new(script.shared(), ledger.clone(), price));
        Link { provider, price, quality: None, speed: None }
    };
    let links = vec![
        metered(good("dear"), dear),
        metered(good("also dear"), Price::Unknown),
        metered(good("home"), Price::Free),
    ];
    let with_home = Chain::new(links.clone(), reflex(false, false).shared(), false);
    let without = Chain::new(links[..2].to_vec(), reflex(false, false).shared(), false);
    ledger.set_budget(Some(1.5));
    assert_eq!(told(&with_home, asked()).await, "dear");
    assert_eq!(told(&with_home, asked()).await, "by home: home");
    let refusal = told(&without, asked()).await;
    assert!(refusal.starts_with("!today's budget of $1.50 for models is spent ($2.00)"), "{refusal}");
}

/// The routing of a request.
async fn routed(chain: &Chain) -> Routing {
    let mut stream = chain.stream(asked());
    match stream.next().await {
        Some(Ok(Delta::By { .. })) => {}
        Some(Ok(Delta::Routing(routing))) => return *routing,
        other => panic!("{other:?}"),
    }
    match stream.next().await {
        Some(Ok(Delta::Routing(routing))) => *routing,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_routing_names_who_was_tried_and_why_one_answered() {
    let shown = |routing: Routing| {
        let attempts: Vec<String> = routing
            .attempts
            .iter()
            .map(|a| format!("{} {}", a.model, a.code.as_deref().unwrap_or("answered")))
            .collect();
        (attempts.join(", "), routing.model, routing.reason)
    };
    let chain = |scripts: [Script; 2], understood: bool| {
        Chain::new(scripts.map(|s| link(&s.shared())).into(), reflex(false, understood).shared(), false)
    };
    let failing = |name: &'static str, kind: &str| script(name, vec![err(kind)]);

    let first = routed(&chain([good("one"), good("two")], true)).await;
    assert_eq!(first.strategy, Some(Strategy::Fallback));
    assert_eq!(shown(first), ("one answered".into(), Some("one".into()), "it is the first in order".into()));
    let second = routed(&chain([failing("one", "busy"), good("two")], true)).await;
    assert_eq!(second.attempts[0].error.as_deref(), Some("busy"));
    let why = "the one before it did not answer".to_owned();
    assert_eq!(shown(second), ("one busy, two answered".into(), Some("two".into()), why));
    let none = routed(&chain([failing("one", "server"), failing("two", "timeout")], false)).await;
    assert_eq!(shown(none), ("one server, two timeout".into(), None, String::new()));
    let reflexes = routed(&chain([failing("one", "server"), failing("two", "spent")], true)).await;
    let attempts = "one server, two spent, reflex answered".to_owned();
    assert_eq!(shown(reflexes), (attempts, Some("reflex".into()), "no model answered".into()));
    let refused = routed(&chain([failing("one", "refused"), good("two")], true)).await;
    assert_eq!(shown(refused), ("one refused".into(), None, String::new()));
    let alone = routed(&Chain::new(vec![], reflex(true, true).shared(), false)).await;
    assert_eq!((alone.strategy, alone.model.as_deref()), (None, Some("reflex")));
}
