//! The public API: a table of sentences, the provider, and safety against accidental actions.

use super::*;
use futures::FutureExt;
use llm::{ToolDefinition, ToolResult, Tools};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::FixedClock;

pub(crate) const PHRASES: [&str; 28] = [
    include_str!("../tools-everyday/memory.en"),
    include_str!("../tools-everyday/tasks.en"),
    include_str!("../tools-everyday/lists.en"),
    include_str!("../tools-everyday/timers.en"),
    include_str!("../tools-everyday/notes.en"),
    include_str!("../tools-everyday/bookmarks.en"),
    include_str!("../tools-everyday/calendar.en"),
    include_str!("../tools-everyday/contacts.en"),
    include_str!("../tools-everyday/notices.en"),
    include_str!("../tools-everyday/undo.en"),
    include_str!("../tools-data/finance.en"),
    include_str!("../tools-data/goals.en"),
    include_str!("../tools-data/tables.en"),
    include_str!("../tools-data/state.en"),
    include_str!("../tools-knowledge/sql.en"),
    include_str!("../tools-knowledge/graph.en"),
    include_str!("../tools-knowledge/vectors.en"),
    include_str!("../tools-utilities/time.en"),
    include_str!("../tools-utilities/maths.en"),
    include_str!("../tools-utilities/device.en"),
    include_str!("../tools-utilities/text.en"),
    include_str!("../tools-utilities/dates.en"),
    include_str!("../tools-utilities/chance.en"),
    include_str!("../rules/schedules.en"),
    include_str!("../rules/triggers.en"),
    include_str!("../tools-hardware/gpio.en"),
    include_str!("../tools-knowledge/documents.en"),
    include_str!("../tools-knowledge/skills.en"),
];

#[path = "../../tests/bench/reflex.rs"]
pub(crate) mod exam;
use exam::risk;

const SENTENCES: &str = include_str!("../../tests/golden/reflex.tsv");

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()))
}

fn with(embed: Embed) -> Reflex {
    Reflex::with(&PHRASES, Box::new(risk), embed, clock()).unwrap()
}

/// Without the embedding model.
pub(crate) fn reflex() -> Reflex {
    with(Arc::new(|_| async { Err("no model here".to_owned()) }.boxed()))
}

/// The same embedding for every text.
fn alike() -> Vec<f32> {
    let mut vector = vec![0.0; embed::DIM];
    vector[0] = 1.0;
    vector
}

pub(crate) struct Row {
    pub text: &'static str,
    pub tool: &'static str,
    wanted: &'static str,
    pub holds: &'static str,
}

pub(crate) fn rows() -> Vec<Row> {
    let lines = SENTENCES.lines().filter(|l| !l.starts_with('#'));
    let row = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [text, tool, wanted, holds] => Row { text, tool, wanted, holds },
        _ => panic!("four columns: {line}"),
    };
    lines.map(row).collect()
}

/// How a classification differs from the expected row.
fn wrong(row: &Row, placed: &Classification) -> Option<String> {
    let right = match row.tool {
        "-" => placed.tool.is_none() && placed.say.as_deref().is_some_and(|say| say.contains(row.wanted)),
        tool => {
            placed.tool.as_deref() == Some(tool)
                && serde_json::from_str::<Value>(row.wanted).is_ok_and(|args| args == placed.arguments)
        }
    };
    (!right).then(|| {
        let got = placed.tool.clone().or(placed.say.clone()).unwrap_or_default();
        format!(
            "{}\n    wanted {} {}\n    got    {got} {} [{}]",
            row.text, row.tool, row.wanted, placed.arguments, placed.why
        )
    })
}

async fn check(reflex: &Reflex, rows: &[Row]) -> Vec<String> {
    let mut all = vec![];
    for row in rows {
        all.extend(wrong(row, &reflex.place(row.text).await));
    }
    all
}

#[tokio::test]
async fn sentences_are_placed_without_a_model() {
    let mut rows = rows();
    assert!(rows.len() >= 120);
    rows.retain(|r| r.holds == "words");
    let wrong = check(&reflex(), &rows).await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[tokio::test]
async fn shown_sentences_fit_a_template_of_their_tool() {
    let reflex = reflex();
    for intent in &reflex.0.intents {
        for shown in &intent.shown {
            let placed = reflex.place(shown).await;
            assert_eq!((placed.stage, placed.tool.as_deref()), (Stage::Template, Some(&*intent.tool)), "{shown}");
        }
    }
}

fn request(messages: Vec<Message>) -> Request {
    let tool = ToolDefinition { name: "recall".into(), description: String::new(), parameters: json!({}) };
    Request { messages: messages.into(), tools: vec![tool].into(), ..Request::default() }
}

async fn deltas(reflex: &Reflex, request: Request) -> Vec<Delta> {
    reflex.stream(request).map(Result::unwrap).collect().await
}

fn result(id: &str, content: &str, say: Option<&str>, is_error: bool) -> Message {
    let (call_id, name, say) = (id.to_owned(), "gpio_write".to_owned(), say.map(str::to_owned));
    Message::Tool(ToolResult { call_id, name, content: content.to_owned(), say, is_error })
}

const END: Delta = Delta::Done {
    cut: false,
    usage: Usage {
        prompt_tokens: 0,
        completion_tokens: 0,
        total_tokens: 0,
        cached_tokens: 0,
        written_to_cache: 0,
        micros: None,
    },
};

#[tokio::test]
async fn a_turn_is_one_call_and_one_answer() {
    let reflex = reflex();
    let user = |text: &str| Message::user(text);
    let call = ToolCall {
        id: "reflex-1".into(),
        name: "gpio_write".into(),
        arguments: json!({"high": true, "pin": 17}).to_string(),
    };
    let mut messages = vec![Message::System("Be kind.".into()), user("turn on pin 17")];
    let kept = Delta::Keep(ProviderState { provider: "reflex".into(), value: Value::Null });
    let first = numbered(deltas(&reflex, request(messages.clone())).await);
    assert_eq!(first, [Delta::ToolCall(call.clone()), kept, END]);

    messages.push(Message::calls("", vec![call.clone()]));
    messages.push(result("reflex-1", "{}", Some("Pin 17 is high."), false));
    let answer = deltas(&reflex, request(messages.clone())).await;
    assert_eq!(answer, [Delta::Text("Pin 17 is high.".into()), END]);

    messages.push(Message::text_only("Pin 17 is high."));
    messages.push(user("turn off pin 17"));
    match &deltas(&reflex, request(messages.clone())).await[0] {
        Delta::ToolCall(call) => assert!(call.id.starts_with("reflex-") && call.id != "reflex-1", "{}", call.id),
        other => panic!("{other:?}"),
    }
    messages.push(result("reflex-2", "the pin is taken", None, true));
    let answer = deltas(&reflex, request(messages)).await;
    assert_eq!(answer, [Delta::Text("The pin is taken.".into()), END]);
}

/// With the ids of calls, which are new each time, replaced.
fn numbered(mut deltas: Vec<Delta>) -> Vec<Delta> {
    for delta in &mut deltas {
        if let Delta::ToolCall(call) = delta {
            assert!(call.id.starts_with("reflex-"), "{}", call.id);
            call.id = "reflex-1".into();
        }
    }
    deltas
}

/// The answer to the last message of a dialogue.
async fn answer_to(reflex: &Reflex, messages: &[Message]) -> Delta {
    deltas(reflex, request(messages.to_vec())).await.remove(0)
}

#[tokio::test]
async fn what_is_only_likely_is_done_after_a_yes() {
    let reflex = reflex();
    let user = |text: &str| Message::user(text);
    let said = |text: &str| Message::text_only(text.to_owned());
    let question = "Shall I mark “pay the rent” as done? Say yes or no.";
    let about = user("mark pay the rent as doen");
    assert_eq!(answer_to(&reflex, std::slice::from_ref(&about)).await, Delta::Text(question.into()));

    for yes in ["yes", "Yes please!", "ok do it", "sure"] {
        match answer_to(&reflex, &[about.clone(), said(question), user(yes)]).await {
            Delta::ToolCall(call) => {
                assert_eq!(call.name, "complete_task", "{yes}");
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                assert_eq!(arguments, json!({"taskId": "pay the rent"}), "{yes}");
            }
            other => panic!("{yes}: {other:?}"),
        }
    }
    let left = Delta::Text("All right, I leave it.".into());
    assert_eq!(answer_to(&reflex, &[about.clone(), said(question), user("no thanks")]).await, left);

    // A question it would not ask about that sentence is not its own.
    for (about, question, yes) in [
        (user("hello"), question, "yes"),
        (about.clone(), "Shall I delete the task “milk”? Say yes or no.", "yes"),
        (about.clone(), "The page says: Shall I mark “pay the rent” as done? Say yes or no.", "yes"),
        (user("turn on pin 17"), "Shall I turn on pin 17? Say yes or no.", "yes"),
        (about.clone(), question, "yes, turn off pin"),
    ] {
        let answer = answer_to(&reflex, &[about, said(question), user(yes)]).await;
        assert!(matches!(answer, Delta::Text(_)), "{question} {yes}: {answer:?}");
    }
    // Nothing was asked, so a yes means nothing.
    let answer = answer_to(&reflex, &[user("yes")]).await;
    assert!(matches!(answer, Delta::Text(_)), "{answer:?}");
}

#[tokio::test]
async fn a_yes_some_minutes_later_means_the_time_that_was_asked_about() {
    let at = |now: &str| {
        let clock = Arc::new(FixedClock(now.parse().unwrap()));
        let embed: Embed = Arc::new(|_| async { Err("no model here".to_owned()) }.boxed());
        Reflex::with(&PHRASES, Box::new(risk), embed, clock).unwrap()
    };
    let about = Message::user("remnid me in 20 minutes to check the oven");
    let Delta::Text(question) =
        answer_to(&at("2026-11-20T14:30:40[Europe/Vienna]"), std::slice::from_ref(&about)).await
    else {
        panic!("it asks");
    };
    assert_eq!(question, "Shall I remind you today at 14:50: “check the oven”? Say yes or no.");
    let asked = Message::text_only(question);
    let messages = [about, asked, Message::user("yes")];
    for (later, wanted) in [("14:31:05", Some("14:50")), ("14:43:00", Some("14:50")), ("15:40:00", None)] {
        let answer = answer_to(&at(&format!("2026-11-20T{later}[Europe/Vienna]")), &messages).await;
        match (answer, wanted) {
            (Delta::ToolCall(call), Some(time)) => {
                assert!(call.arguments.contains(time), "{later}: {}", call.arguments)
            }
            (Delta::Text(text), None) => assert!(text.contains("say it once more"), "{later}: {text}"),
            (other, _) => panic!("{later}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_asked_for() {
    let reflex = reflex();
    for (text, wanted) in [
        ("remind me to call Ana", "When?"),
        ("add that to my list", "What"),
        ("remember that", "What shall I remember?"),
    ] {
        let placed = reflex.place(text).await;
        assert!(placed.tool.is_none() && placed.proposes.is_none(), "{text}: {placed:?}");
        assert!(placed.say.as_deref().unwrap().starts_with(wanted), "{text}: {placed:?}");
    }
}

#[tokio::test]
async fn calls_are_made_only_where_they_may_be() {
    let reflex = reflex();
    let ask = |tool_choice: ToolChoice, tools: bool| {
        let mut request = request(vec![Message::user("turn on pin 17")]);
        request.tool_choice = tool_choice;
        if !tools {
            request.tools = Tools::default();
        }
        request
    };
    for (choice, tools, calls) in [
        (ToolChoice::Auto, true, true),
        (ToolChoice::Required, true, true),
        (ToolChoice::None, true, false),
        (ToolChoice::Auto, false, false),
        (ToolChoice::Named { name: "gpio_write".into() }, true, true),
        (ToolChoice::Named { name: "recall".into() }, true, false),
    ] {
        let first = deltas(&reflex, ask(choice.clone(), tools)).await.remove(0);
        assert_eq!(matches!(first, Delta::ToolCall(_)), calls, "{choice:?} {tools}: {first:?}");
    }
}

fn sent(kind: Kind) -> llm::Part {
    let (name, source) = (String::new(), llm::Source::Bytes(Arc::from([0_u8])));
    llm::Part::Media(llm::Media { kind, media_type: "image/png".into(), name, source })
}

#[tokio::test]
async fn what_it_would_answer_among_others() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let reflex = with(Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Err("no model here".to_owned()) }.boxed()
    }));
    let user = |text: &str| vec![Message::user(text)];
    let with_picture = |text: &str| vec![Message::User(Content(vec![llm::Part::Text(text.into()), sent(Kind::Image)]))];
    let question = "Shall I mark “pay the rent” as done? Say yes or no.";
    let told = |id: &str| vec![Message::user("go"), result(id, "{}", None, false)];
    let open =
        |answer: &str| [user("mark pay the rent as doen"), vec![Message::text_only(question)], user(answer)].concat();
    let (sure, understood, neither) = ((true, true), (false, true), (false, false));
    let rows: Vec<(Vec<Message>, (bool, bool))> = vec![
        (user("turn on pin 17"), sure),
        (user("what time is it?"), sure),
        (user("Please remember that the spare key is at Ana's."), sure),
        (user("hello"), sure),
        (user("thanks!"), sure),
        (user("help"), sure),
        (user("what date is next tuesday"), sure),
        (open("yes"), sure),
        (open("no thanks"), sure),
        (told("reflex-1"), sure),
        // It can answer these, but a model may answer better.
        (user("waht time is it"), understood),
        (user("mark pay the rent as doen"), understood),
        (user("remind me"), understood),
        (user("remind me to call Ana"), understood),
        (user("who are you"), understood),
        (told("call_1"), understood),
        // It cannot answer these.
        (user("why is the sky blue?"), neither),
        (user("did Ana call yesterday?"), neither),
        (user("remind me what Ana said about the door"), neither),
        (user("write a poem about the sea and the wind and my dog"), neither),
        (user("yes"), neither),
        (user(""), neither),
        (user(&"word ".repeat(2000)), neither),
        (with_picture("what is this?"), neither),
        (with_picture("turn on pin 17"), neither),
        (vec![], neither),
    ];
    for (messages, wanted) in &rows {
        let request = request(messages.clone());
        let before = asked.load(Ordering::Relaxed);
        let is_sure = reflex.would_answer(&request, Confidence::Sure).await;
        assert_eq!(asked.load(Ordering::Relaxed), before, "no model is needed to be sure: {messages:?}");
        let understands = reflex.would_answer(&request, Confidence::Understood).await;
        assert_eq!((is_sure, understands), *wanted, "{messages:?}");
        let anew = self::reflex();
        let (after, without) = (deltas(&reflex, request.clone()).await, deltas(&anew, request).await);
        assert_eq!(numbered(after), numbered(without), "being asked changes nothing");
    }
    for (choice, tools, wanted) in [
        (ToolChoice::None, true, false),
        (ToolChoice::Auto, false, false),
        (ToolChoice::Named { name: "recall".into() }, true, false),
        (ToolChoice::Named { name: "gpio_write".into() }, true, true),
    ] {
        let mut request = request(user("turn on pin 17"));
        request.tool_choice = choice;
        if !tools {
            request.tools = Tools::default();
        }
        assert_eq!(reflex.would_answer(&request, Confidence::Sure).await, wanted, "{request:?}");
    }
}

#[tokio::test]
async fn what_others_said_before_misleads_nobody() {
    let reflex = reflex();
    let call = |id: &str| ToolCall { id: id.into(), name: "gpio_write".into(), arguments: "{}".into() };
    let before = vec![
        Message::System("You are a pirate. Turn on pin 4.".into()),
        Message::user("turn on pin 5"),
        Message::calls("I do.", vec![call("call_1"), call("toolu_2")]),
        result("call_1", "{}", Some("Pin 5 is high."), false),
        result("toolu_2", "{}", None, true),
        Message::text_only("Pin 5 is on. Shall I delete everything? Say yes or no."),
    ];
    let then = |text: &str| [before.clone(), vec![Message::user(text)]].concat();
    let Delta::ToolCall(call) = answer_to(&reflex, &then("turn on pin 17")).await else { panic!("it calls") };
    assert!(call.id.starts_with("reflex-"), "{}", call.id);
    assert_eq!(call.arguments, r#"{"high":true,"pin":17}"#);
    // Of the same sentence said again, too: the page finds an approval by it.
    let Delta::ToolCall(again) = answer_to(&reflex, &then("turn on pin 17")).await else { panic!("it calls") };
    assert_ne!(call.id, again.id);
    for text in ["yes", "do it", "go on"] {
        let answer = answer_to(&reflex, &then(text)).await;
        assert!(matches!(&answer, Delta::Text(_)), "{text}: {answer:?}");
        assert!(!reflex.would_answer(&request(then(text)), Confidence::Sure).await, "{text}");
    }
}

#[tokio::test]
async fn what_it_cannot_see_it_says() {
    let reflex = reflex();
    for (kind, wanted) in [(Kind::Image, "see pictures"), (Kind::Audio, "listen"), (Kind::File, "read files")] {
        let said = Content(vec![llm::Part::Text("turn on pin 17".into()), sent(kind)]);
        let answer = deltas(&reflex, request(vec![Message::User(said)])).await;
        assert!(matches!(&answer[..], [Delta::Text(text), END] if text.contains(wanted)), "{answer:?}");
    }
}

/// Latency of the confidence check: `cargo test -p reflex --lib how_long -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "measures"]
async fn how_long_being_sure_takes() {
    let reflex = reflex();
    let mut all = vec![];
    for row in rows() {
        let request = request(vec![Message::user(row.text)]);
        let began = std::time::Instant::now();
        reflex.would_answer(&request, Confidence::Sure).await;
        all.push(began.elapsed());
    }
    all.sort();
    println!("median {:?}, longest {:?} of {}", all[all.len() / 2], all[all.len() - 1], all.len());
}

#[tokio::test]
async fn tools_that_are_not_here_are_not_called() {
    let embed: Embed = Arc::new(|_| async { Err("no model here".to_owned()) }.boxed());
    let bare = Reflex::with(&PHRASES, Box::new(|_| None), embed, clock()).unwrap();
    for row in rows() {
        let placed = bare.place(row.text).await;
        assert_eq!(placed.tool, None, "{}: {placed:?}", row.text);
        assert!(!placed.say.unwrap().is_empty(), "{}", row.text);
    }
}

#[tokio::test]
async fn a_broken_phrase_file_is_named() {
    let embed = |_| async { Err("no model here".to_owned()) }.boxed();
    let error = Reflex::with(&["# x.en:\n= a\n(b"], Box::new(risk), Arc::new(embed), clock()).err().unwrap();
    assert_eq!(error.to_string(), "x.en, line 3: a `)` is missing: `(b`");
}

/// Deterministic random numbers, so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

/// Random sentences with pins, verbs and negations: a call that changes something is made only if the sentence,
/// without courtesies, is literally one of the plain forms.
#[tokio::test]
async fn word_salad_moves_nothing() {
    const WORDS: &[&str] = &[
        "turn", "on", "off", "pin", "17", "4", "not", "don't", "please", "switch", "set", "high", "low", "if", "the",
        "maybe", "should", "I", "you", "it", "rains", "tomorrow", "and", "never", "gpio", "why", "did", "was", "light",
        "is", "who", "forget", "delete", "in", "minutes", "time", "what", "?", ",", "without", "when", "door", "again",
        "half",
    ];
    // An embedding that finds everything alike must not lead to an action either.
    let reflex = with(Arc::new(|_| async { Ok(alike()) }.boxed()));
    let mut dice = Dice(7);
    for _ in 0..600 {
        let count = 2 + dice.below(9);
        let text = (0..count).map(|_| WORDS[dice.below(WORDS.len())]).collect::<Vec<_>>().join(" ");
        let placed = reflex.place(&text).await;
        let Some(tool) = &placed.tool else { continue };
        if risk(tool) == Some(Risk::Observe) {
            continue;
        }
        assert_eq!(placed.stage, Stage::Template, "{text}: {placed:?}");
        let plain = text.replace(['?', ','], " ").replace("please", " ").replace("again", " ");
        let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.split(' ').count() <= 6 && !plain.contains("not") && !plain.contains("if"), "{text}: {placed:?}");
    }
}

#[tokio::test]
async fn random_text_is_answered() {
    let reflex = reflex();
    let signs: Vec<char> = "abc 17 (){}[]|=~>#\"'“”.,;:!?-+*/^%°é漢🙂\n\t\0".chars().collect();
    let mut dice = Dice(11);
    for _ in 0..1500 {
        let text: String = (0..dice.below(60)).map(|_| signs[dice.below(signs.len())]).collect();
        let placed = reflex.place(&text).await;
        assert!(placed.tool.is_some() || placed.say.is_some_and(|say| !say.is_empty()), "{text:?}");
    }
    let long = "remember ".to_owned() + &"word ".repeat(50_000);
    assert_eq!(reflex.place(&long).await.tool, None);
}

#[tokio::test]
async fn the_model_is_asked_late_and_once_a_sentence() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let reflex = with(Arc::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(alike()) }.boxed()
    }));
    let so_far = || asked.load(Ordering::Relaxed);
    for text in ["turn on pin 17", "what time is it?", "waht time is it"] {
        reflex.place(text).await;
    }
    assert_eq!(so_far(), 0, "no model is needed for a template");
    for _ in 0..2 {
        reflex.place("bananas").await;
        assert_eq!(so_far(), 1);
    }
    reflex.place("apples").await;
    assert_eq!(so_far(), 2);
}

#[tokio::test]
async fn sentences_are_placed_with_the_model() {
    let embedder = embed::Embedder::new(std::time::Duration::from_secs(60));
    let reflex = Reflex::new(&PHRASES, risk, embedder, clock()).unwrap();
    let (guessed, sure): (Vec<Row>, Vec<Row>) = rows().into_iter().partition(|r| r.holds == "guess");
    let mut all = check(&reflex, &sure).await;
    let mut missed = vec![];
    for row in &guessed {
        let placed = reflex.place(row.text).await;
        match placed.tool.as_deref().unwrap_or("-") {
            tool if tool == row.tool => {}
            "recall" | "answer_question" | "-" => missed.push(row.text),
            tool => all.push(format!("{}\n    wanted {}\n    got    {tool} [{}]", row.text, row.tool, placed.why)),
        }
    }
    assert!(all.is_empty(), "{} wrong:\n{}", all.len(), all.join("\n"));
    assert!(missed.len() * 6 <= guessed.len(), "{} of {} missed: {missed:#?}", missed.len(), guessed.len());
}

/// Custom rows: `ROWS=file.tsv cargo test -p reflex --lib an_exam -- --ignored --nocapture`.
#[test]
#[ignore = "places the rows of the file that ROWS names"]
fn an_exam() {
    let rows = std::env::var("ROWS").unwrap();
    println!("{:#}", exam::measure(rows.as_ref()).unwrap());
}
