//! Traces: messages, scripted model replies, and expected outcomes. The fixtures are in tests/traces; each file is
//! played against a daemon of its own, each trace by a person of its own.
//!
//! A trace is a list of steps, and a step does one thing: `say` (a message), `tool` (a call over HTTP), `request`
//! (any address), `decide` or `respond` (answers a pending question), or `cut` (a power cut). Anything unexpected
//! fails the trace: a call that is not under `calls`, a question that is not under `asked`, an unused reply of the
//! script, or a request too many.
//!
//! Strings may contain `{conversation}`, `{run}`, `{url}` and `{second}` (the two model servers), `{page}` and
//! `{host}` (a stranger's page), `{long}` and `{some}` (48 KB and 1.6 KB of words), `{png}` (a picture), `{n}` (the
//! number of the trace), and names from `save`. An expected text that begins with `~` has to be part of the actual
//! one.

use crate::{
    harness::{Hob, Setup, until},
    hijack::Page,
    http::{Events, Reply},
    model_server::{Asked, ModelServer},
    trace_fixtures::{Scripted, Shown, Step, filled, fixtures, folder, lacking, laid_over, texts},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// What every daemon is started with, unless its file says otherwise: what has to come comes at once, also on a busy machine.
const CONFIG: &str = "
[model]
retries = 1
retry_delay_ms = 10
first_word_seconds = 10
silence_seconds = 10
answer_seconds = 20
[approvals]
in_call_seconds = 20
[limits]
calls = 0
";

/// A picture of one red dot.
const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A trace being played.
struct Player<'a> {
    hob: &'a mut Hob,
    servers: [&'a ModelServer; 2],
    token: String,
    names: BTreeMap<String, String>,
    /// What is not as it should be.
    wrong: Vec<String>,
}

/// What came of a step.
#[derive(Default)]
struct Came {
    events: Vec<(String, Value)>,
    /// The answer's data, or the error's.
    end: Value,
    failed: bool,
    status: u16,
    asked: Vec<String>,
}

impl Player<'_> {
    fn play(&mut self, step: &Step) {
        for (server, script) in self.servers.iter().zip([&step.model, &step.second]) {
            server.script(script.iter().map(Scripted::answer).collect());
            server.asked();
        }
        let came = self.act(step);
        if let Some(then) = &step.then {
            self.wait_for(then);
        }
        let asked = self.servers.map(|server| (server.asked(), server.left()));
        for (which, ((asked, left), script)) in asked.iter().zip([&step.model, &step.second]).enumerate() {
            if *left > 0 || asked.len() != script.len() {
                let (count, of) = (asked.len(), script.len());
                self.wrong(format!("model server {which} was asked {count} times, and its script has {of} replies"));
            }
        }
        self.judge(step, &came);
        for shown in &step.shown {
            let asked = &asked[usize::from(shown.second)].0;
            match asked.get(shown.request) {
                Some(asked) => self.judge_shown(shown, asked),
                None => self.wrong(format!("there was no request {} to the model", shown.request)),
            }
        }
    }

    fn act(&mut self, step: &Step) -> Came {
        if let Some(message) = &step.say {
            return self.say(step, message);
        }
        if step.cut {
            self.hob.kill();
            self.hob.start_again();
            return Came::default();
        }
        if let Some(decision) = &step.decide {
            let open = self.send("GET", "/api/v1/approvals?state=pending", None).data(200);
            let question = &open["approvals"][0];
            self.decide(question, decision);
            return Came { asked: vec![question["tool"].as_str().unwrap_or_default().into()], ..Came::default() };
        }
        if let Some(answer) = &step.respond {
            let open = self.send("GET", "/api/v1/interactions?state=pending", None).data(200);
            self.respond(&open["interactions"][0]["id"], answer);
            return Came::default();
        }
        let reply = match (&step.tool, &step.request) {
            (Some(tool), _) => {
                let arguments = if step.arguments.is_null() { json!({}) } else { step.arguments.clone() };
                self.send("POST", &format!("/api/v1/tools/{tool}/execute"), Some(&json!({"arguments": arguments})))
            }
            (_, Some(request)) => {
                let (method, path) = request.split_once(' ').expect("METHOD /path");
                self.send(method, path, step.body.as_ref())
            }
            _ => panic!("a step does something"),
        };
        self.whole(step, &reply)
    }

    /// What came with an answer that is no stream.
    fn whole(&mut self, step: &Step, reply: &Reply) -> Came {
        let body = reply.json();
        // The doors that speak others' formats have no envelope.
        let data = if body.get("success").is_some() { &body["data"] } else { &body };
        let failed = reply.status >= 400;
        let end = if failed { &body["error"] } else { data };
        let end = if step.tool.is_some() && !failed { &end["result"] } else { end };
        for (name, pointer) in &step.save {
            match end.pointer(pointer).filter(|v| !v.is_null()) {
                Some(Value::String(text)) => drop(self.names.insert(name.clone(), text.clone())),
                Some(other) => drop(self.names.insert(name.clone(), other.to_string())),
                None => self.wrong(format!("there is no {pointer} in {end}")),
            }
        }
        Came { end: end.clone(), failed, status: reply.status, ..Came::default() }
    }

    fn say(&mut self, step: &Step, message: &Value) -> Came {
        let mut body = json!({"message": message});
        if let Some(conversation) = self.names.get("conversation").filter(|_| !step.new) {
            body["conversationId"] = conversation.as_str().into();
        }
        for (name, value) in &step.with {
            body[name] = value.clone();
        }
        if step.status.is_some() {
            let reply = self.send("POST", "/api/v1/chat", Some(&body));
            return self.whole(step, &reply);
        }
        body["stream"] = true.into();
        let events = self.hob.request("POST", "/api/v1/chat").bearer(&self.token).json(&body).events();
        self.listen(step, events)
    }

    /// Hears a run to its end, and answers what it asks.
    fn listen(&mut self, step: &Step, events: Events) -> Came {
        let mut came = Came { status: 200, ..Came::default() };
        let (mut decisions, mut answers) = (step.decisions.iter(), step.answers.iter());
        for (name, data) in events {
            match name.as_str() {
                "run" => {
                    for (name, field) in [("conversation", "conversationId"), ("run", "runId")] {
                        self.names.insert(name.into(), data[field].as_str().unwrap_or_default().into());
                    }
                }
                "approval" => {
                    came.asked.push(data["tool"].as_str().unwrap_or_default().into());
                    decisions.next().inspect(|decision| self.decide(&data, decision));
                }
                "ask" | "ui" => {
                    answers.next().inspect(|answer| self.respond(&data["id"], answer));
                }
                "done" | "error" => (came.end, came.failed) = (data.clone(), name == "error"),
                _ => {}
            }
            if step.cancel_at.as_ref().is_some_and(|at| data.to_string().contains(at)) {
                let path = format!("/api/v1/runs/{}/cancel", self.names["run"]);
                self.send("POST", &path, Some(&json!({})));
            }
            came.events.push((name, data));
        }
        if decisions.len() + answers.len() > 0 {
            self.wrong(format!("{} decisions and answers were not asked for", decisions.len() + answers.len()));
        }
        came
    }

    fn decide(&self, question: &Value, decision: &str) {
        let path = format!("/api/v1/approvals/{}/decide", question["id"].as_str().unwrap_or("none"));
        self.send("POST", &path, Some(&json!({"decision": decision, "nonce": question["nonce"]}))).data(200);
    }

    fn respond(&self, id: &Value, answer: &Value) {
        let (verb, body) = match answer {
            Value::String(text) if text == "dismiss" => ("dismiss", json!({})),
            Value::String(text) => ("respond", json!({"answer": text})),
            other => ("respond", other.clone()),
        };
        let path = format!("/api/v1/interactions/{}/{verb}", id.as_str().unwrap_or("none"));
        self.send("POST", &path, Some(&body)).data(200);
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let request = self.hob.request(method, path).bearer(&self.token);
        match body {
            // A document that `save` has named.
            Some(Value::String(text)) => request.text(text),
            Some(body) => request.json(body),
            None => request,
        }
        .send()
    }

    fn wait_for(&mut self, last: &str) {
        let path = format!("/api/v1/conversations/{}", self.names["conversation"]);
        until(last, || {
            let kept = self.send("GET", &path, None).data(200);
            let messages = kept["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
            messages.last().is_some_and(|m| lacking(&json!(last), &m["content"], "").is_none())
        });
    }

    fn judge(&mut self, step: &Step, came: &Came) {
        self.judge_end(step, came);
        if step.asked != came.asked && step.decide.is_none() {
            self.wrong(format!(
                "a person was asked about {:?}, and should have been about {:?}",
                came.asked, step.asked
            ));
        }
        let waiting = came.end["waiting"].as_array().map_or(0, Vec::len);
        if waiting != step.waiting {
            self.wrong(format!("the run rests on {waiting} questions, and not on {}", step.waiting));
        }
        let mut names = came.events.iter().map(|(name, _)| name);
        if let Some(missing) = step.events.iter().find(|wanted| !names.any(|name| name == *wanted)) {
            let all: Vec<&String> = came.events.iter().map(|(name, _)| name).collect();
            self.wrong(format!("the event `{missing}` did not come in its place: {all:?}"));
        }
        let made = calls_of(&came.events);
        if made.len() != step.calls.len() {
            let names: Vec<&str> = made.iter().map(|(start, _)| start["name"].as_str().unwrap_or_default()).collect();
            self.wrong(format!("{} calls were made, and not {}: {names:?}", made.len(), step.calls.len()));
        }
        for (at, (call, (start, end))) in step.calls.iter().zip(&made).enumerate() {
            let outcome = match end {
                None => "none",
                Some(end) if end["isError"] == true => "error",
                Some(_) => "ok",
            };
            let is = json!({"tool": start["name"], "arguments": start["arguments"], "outcome": outcome});
            let expected = json!({"tool": call.tool, "arguments": call.arguments, "outcome": call.outcome});
            let told = end.map(|end| texts(&end["result"])).unwrap_or_default();
            let differs = lacking(&expected, &is, &format!("call {at}"));
            self.wrong.extend(differs.map(|d| format!("{d}; it gave {told}")));
            self.judge_text(&format!("call {at}"), &told, &call.has, &call.lacks);
        }
    }

    /// The end of a run, or the answer to a request.
    fn judge_end(&mut self, step: &Step, came: &Came) {
        let status = step.status.unwrap_or(if step.error.is_some() && step.say.is_none() { 0 } else { 200 });
        if came.status >= 300 && status != 0 && came.status != status || step.status.is_some_and(|s| s != came.status) {
            self.wrong(format!("the status is {}, and not {status}: {}", came.status, came.end));
        }
        match &step.error {
            Some(error) => {
                if !came.failed || came.end["code"] != error.code.as_str() {
                    self.wrong(format!("it did not end with the error `{}`: {}", error.code, came.end));
                }
                self.judge_text("the error", &texts(&came.end["message"]), &error.has, &[]);
            }
            None if came.failed && step.status.is_none() => self.wrong(format!("it failed: {}", came.end)),
            None => {}
        }
        let response = texts(&came.end["response"]);
        if let Some(answer) = &step.answer {
            let differs = lacking(&json!(answer), &came.end["response"], "the answer");
            self.wrong.extend(differs);
        }
        self.judge_text("the answer", &response, &step.answer_has, &step.answer_lacks);
        if let Some(result) = &step.result {
            let differs = lacking(result, &came.end, "the result");
            self.wrong.extend(differs);
        }
        self.judge_text("the result", &texts(&came.end), &step.has, &step.lacks);
    }

    fn judge_shown(&mut self, shown: &Shown, asked: &Asked) {
        let text = match &shown.role {
            Some(role) => texts(&asked.messages(role).into()),
            None => texts(&asked.body["messages"]),
        };
        let what =
            format!("request {}{}", shown.request, shown.role.as_ref().map(|r| format!(", {r}")).unwrap_or_default());
        self.judge_text(&what, &text, &shown.has, &shown.lacks);
        let tools = asked.tools();
        for (name, wanted) in shown.tools.iter().map(|t| (t, true)).chain(shown.no_tools.iter().map(|t| (t, false))) {
            if tools.contains(name) != wanted {
                self.wrong(format!("{what}: `{name}` among the tools is not {wanted}: {tools:?}"));
            }
        }
        if let Some(count) = shown.tool_count.filter(|count| *count != tools.len()) {
            self.wrong(format!("{what}: there are {} tools, and not {count}: {tools:?}", tools.len()));
        }
        self.wrong.extend(lacking(&shown.body, &asked.body, &what));
        if let Some(roles) = &shown.roles {
            let all = asked.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
            let first = |m: &Value| m["role"].as_str().unwrap_or("?")[..1].to_owned();
            let is: Vec<String> = all.iter().filter(|m| m["role"] != "system").map(first).collect();
            if is.join(" ") != *roles {
                self.wrong(format!("{what}: the roles are {}, and not {roles}", is.join(" ")));
            }
        }
    }

    fn judge_text(&mut self, what: &str, text: &str, has: &[String], lacks: &[String]) {
        for (part, wanted) in has.iter().map(|p| (p, true)).chain(lacks.iter().map(|p| (p, false))) {
            if text.contains(part.as_str()) != wanted {
                let verb = if wanted { "lacks" } else { "has" };
                self.wrong(format!("{what} {verb} {part:?}: {text}"));
            }
        }
    }

    fn wrong(&mut self, text: String) {
        self.wrong.push(text);
    }
}

/// The calls of a run, each with its end where it has one. Ids repeat from turn to turn.
fn calls_of(events: &[(String, Value)]) -> Vec<(&Value, Option<&Value>)> {
    let mut calls: Vec<(&Value, Option<&Value>)> = vec![];
    for (name, data) in events {
        match name.as_str() {
            "tool_start" => calls.push((data, None)),
            "tool_end" => {
                let own =
                    |(start, end): &&mut (&Value, Option<&Value>)| end.is_none() && start["callId"] == data["callId"];
                calls.iter_mut().find(own).into_iter().for_each(|(_, end)| *end = Some(data));
            }
            _ => {}
        }
    }
    calls
}

/// Plays a file; the panic names every trace that fails, its steps and what was different.
fn play(file: &str) {
    let fixtures = fixtures(file);
    let (first, second) = (ModelServer::start(), ModelServer::start());
    let page = Page::at("127.0.0.1", Box::leak(fixtures.page.clone().into_boxed_str()));
    let long = "a long text ".repeat(4000);
    let known = [
        ("url", first.url()),
        ("second", second.url()),
        ("page", page.url()),
        ("host", page.host.clone()),
        ("long", long),
        ("png", PNG.into()),
        ("some", "some words more ".repeat(100)),
    ];
    let known = BTreeMap::from(known.map(|(name, value)| (name.to_owned(), value)));
    let mut config: Value = toml::from_str(CONFIG).expect("TOML");
    laid_over(&mut config, &json!({"model": {"name": "custom/test-model", "url": first.url()}}));
    laid_over(&mut config, &filled(&fixtures.config, &known));
    let key = ("HOB_LLM_KEY".to_owned(), "sk-test".to_owned());
    let fill = |(name, value): (&String, &String)| (name.clone(), texts(&filled(&json!(value), &known)));
    let environment = fixtures.environment.iter().map(fill).chain([key]).collect();
    let config = toml::to_string(&config).expect("TOML");
    let mut hob = Hob::with(Setup { config, environment, ..Setup::default() });

    // `TRACE=words` plays only those with the words in their name.
    let only = std::env::var("TRACE").unwrap_or_default();
    let mut failed = vec![];
    for (at, trace) in fixtures.trace.iter().enumerate().filter(|(_, t)| t.name.contains(&only)) {
        let token = hob.token(&format!("person{at}"), &trace.role);
        let servers = [&first, &second];
        let mut player = Player { hob: &mut hob, servers, token, names: known.clone(), wrong: vec![] };
        player.names.insert("n".into(), at.to_string());
        for (at, step) in trace.step.iter().enumerate() {
            let read = |names: &_| serde_json::from_value(filled(step, names)).expect("read before");
            let step: Step = read(&player.names);
            let played = catch_unwind(AssertUnwindSafe(|| player.play(&step)));
            let panic = played.err().map(|p| match p.downcast::<String>() {
                Ok(text) => *text,
                Err(p) => p.downcast_ref::<&str>().unwrap_or(&"it broke").to_string(),
            });
            player.wrong.extend(panic);
            if !player.wrong.is_empty() {
                failed.push(format!("`{}`, step {at}:\n    {}", trace.name, player.wrong.join("\n    ")));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{} of {} in {file} failed:\n{}", failed.len(), fixtures.trace.len(), failed.join("\n"));
    hob.assert_alive();
}

/// A test for each file, so that they are played side by side.
macro_rules! files {
    ($($name:ident),* $(,)?) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { play(stringify!($name)) })*
    };
}

files![
    answers,
    approvals,
    asking,
    budget,
    compaction,
    conversations,
    failures,
    fallback,
    handover,
    injection,
    limits,
    openai,
    persona,
    pictures,
    resting,
    tools,
    written_calls
];

#[test]
fn every_file_is_played_and_no_two_traces_have_one_name() {
    let mut there: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    there.sort();
    assert_eq!(there, FILES);
    let mut names: Vec<String> = there.iter().flat_map(|f| fixtures(f).trace).map(|t| t.name).collect();
    let count = names.len();
    println!("{count} traces");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "two traces have the same name");
    assert!(count >= 60, "{count} traces");
}
