//! Power cuts during model runs: nothing is done twice, and nothing is left out.
//!
//! `cargo test` cuts the power 12 times; `KILLS=200` (part of `make proof`) as often as given. The seed is printed,
//! and `SEED=…` repeats a run as far as the machine's timing allows.

use crate::{
    approvals::{autonomy, decide, questions},
    harness::{Dice, Hob, until},
    hijack::make,
    model::with_model,
    model_server::{Answer, Asked, ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread::sleep,
    time::Duration,
};

const CONFIG: &str = "[approvals]\nin_call_seconds = 60\n[limits]\ncalls = 0\n";
const STEPS: u64 = 10;

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

/// Random numbers whose seed is printed on failure.
pub fn dice(what: &str) -> Dice {
    let dice = number("SEED").map_or_else(Dice::fresh, Dice);
    println!("{what}: SEED={}", dice.0);
    dice
}

fn title(chain: &str, step: u64) -> String {
    format!("step {step} of {chain}")
}

/// The action of a step: each stores one thing, in different ways.
fn does(chain: &str, step: u64) -> (&'static str, Value) {
    let title = title(chain, step);
    let used = |tool: &str, arguments: Value| json!({"tool_name": tool, "arguments": arguments});
    match step % 5 {
        1 => ("add_task", json!({"title": title})),
        2 => ("use_tool", used("add_note", json!({"title": title, "content": "kept"}))),
        // A tool of a person's own, which calls another.
        3 => ("keep_step", json!({"title": title})),
        4 => ("use_tool", used("add_expense", json!({"amount": step, "category": "food", "description": title}))),
        _ => ("batch_use_tool", json!({"operations": [{"tool": "add_task", "args": {"title": title}}]})),
    }
}

/// Where a step is looked for. No two looks are the same, or they would count as going in circles.
fn looks(chain: &str, step: u64, count: usize) -> (&'static str, Value) {
    let tool = match step % 5 {
        2 | 3 => "list_notes",
        4 => "query_expenses",
        _ => "list_tasks",
    };
    ("use_tool", json!({"tool_name": tool, "arguments": {"search": chain, "limit": 20 + count % 30}}))
}

/// How far a conversation has come, for a model that can only read it.
#[derive(Default)]
struct Read {
    done: BTreeSet<u64>,
    /// Steps of which it is not known whether they were done.
    open: BTreeSet<u64>,
    looks: usize,
    strange: Vec<String>,
}

fn read(asked: &Asked, chain: &str) -> Read {
    let mut read = Read::default();
    let mut wanted = HashMap::<String, String>::new();
    for message in asked.body["messages"].as_array().unwrap() {
        let text = message["content"].as_str().unwrap_or_default();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            wanted.insert(id, call["function"]["arguments"].as_str().unwrap().to_owned());
        }
        if message["role"] != "tool" {
            continue;
        }
        let call = wanted.remove(message["tool_call_id"].as_str().unwrap()).expect("a result belongs to a call");
        let of = |step: &u64| call.contains(&format!("{}\"", title(chain, *step)));
        match (1..=STEPS).find(of) {
            Some(step) if text.contains("not known whether") => drop(read.open.insert(step)),
            Some(_) if text.starts_with("Error: ") || text.contains("\"success\":false") => {
                read.strange.push(text.to_owned())
            }
            Some(step) => drop(read.done.insert(step)),
            None if text.starts_with("Error: ") => {
                // A look that was cut short is looked once more.
                read.looks += 1;
            }
            None => {
                read.looks += 1;
                let kind = |step: u64| looks(chain, step, 0).1["tool_name"].clone();
                let seen = |step: &u64| call.contains(kind(*step).as_str().unwrap());
                for step in read.open.clone().iter().filter(|step| seen(step)) {
                    read.open.remove(step);
                    if text.contains(&format!("{}\"", title(chain, *step))) {
                        read.done.insert(*step);
                    }
                }
            }
        }
    }
    read
}

/// A model that takes one step after the other, two at once, and checks where an outcome is unknown.
fn mind(asked: &Asked, chain: &str) -> (Answer, Vec<String>) {
    let read = read(asked, chain);
    let next = |step: &u64| !read.done.contains(step);
    let answer = match (read.open.first(), (1..=STEPS).find(next)) {
        (Some(step), _) => calls(&[looks(chain, *step, read.looks)]),
        (None, Some(step)) if step % 4 == 3 && step < STEPS && next(&(step + 1)) => {
            calls(&[does(chain, step), does(chain, step + 1)])
        }
        (None, Some(step)) => calls(&[does(chain, step)]),
        (None, None) => says(&format!("all of {chain} is done")),
    };
    (answer, read.strange)
}

/// A daemon whose power is cut, and its model server.
struct Scene {
    hob: Hob,
    server: ModelServer,
    /// How often the model was asked.
    asked: Arc<AtomicU64>,
    /// How often the model had to look, for nobody knew whether a call had been made.
    looked: Arc<AtomicU64>,
    /// Errors the model was told that no cut explains.
    strange: Arc<Mutex<Vec<String>>>,
    dice: Dice,
    killed: u64,
}

impl Scene {
    fn new(what: &str) -> Self {
        let (hob, server) = with_model(CONFIG);
        let code = "return await utils.callTool('add_note', {title: args.title, content: 'kept'});";
        make(&hob, "keep_step", code, &[]);
        Self {
            hob,
            server,
            asked: Arc::default(),
            looked: Arc::default(),
            strange: Arc::default(),
            dice: dice(what),
            killed: 0,
        }
    }

    /// Says something in a new conversation, and gives the run and the conversation.
    fn begin(&self, text: &str) -> (String, String) {
        let (name, run) = self.hob.stream(json!({"message": text})).next().unwrap();
        assert_eq!(name, "run");
        let id = |field: &str| run[field].as_str().unwrap().to_owned();
        (id("runId"), id("conversationId"))
    }

    /// Cuts the power some time from now, counted in milliseconds.
    fn cut(&mut self, within: u64) {
        sleep(Duration::from_micros(self.dice.below(within * 1000)));
        self.hob.kill();
        self.killed += 1;
        self.hob.start_again();
    }

    fn run(&self, run: &str) -> Value {
        self.hob.get(&format!("/api/v1/runs/{run}")).data(200)
    }

    fn is_over(&self, run: &str) -> bool {
        let run = self.run(run);
        !["queued", "running", "waiting"].contains(&run["state"].as_str().unwrap())
    }

    /// Waits until the model was asked so often, or the run is over.
    fn after(&self, requests: u64, run: &str) {
        let (from, mut over) = (self.asked.load(SeqCst), false);
        until("the run to go on", || {
            over = over || self.is_over(run);
            over || self.asked.load(SeqCst) >= from + requests
        });
    }

    /// Waits for the end of a run; one that was given up, because it was cut short too often, is told to go on.
    fn finished(&self, run: &str) -> Value {
        until("the run to end", || self.is_over(run));
        let ended = self.run(run);
        if ended["state"] == "failed" && ended["error"].to_string().contains("times") {
            self.hob.post(&format!("/api/v1/runs/{run}/resume"), json!({})).data(200);
            return self.finished(run);
        }
        assert_eq!(ended["state"], "done", "{ended}");
        ended
    }

    /// How often something of this name is there.
    fn count(&self, chain: &str, title: &str) -> usize {
        let looks = [
            ("list_tasks", "tasks", "title"),
            ("list_notes", "notes", "title"),
            ("query_expenses", "expenses", "description"),
        ];
        let of = |(tool, all, name): (&str, &str, &str)| {
            let found = self.hob.result(tool, json!({"search": chain, "limit": 50}));
            let found = found[all].as_array().unwrap_or_else(|| panic!("no {all}: {found}")).clone();
            found.iter().filter(|one| one[name] == title).count()
        };
        looks.into_iter().map(of).sum()
    }

    /// Every call of a conversation has one result, and its last words are these.
    fn is_whole(&self, conversation: &str, last: &str) {
        let kept = self.hob.get(&format!("/api/v1/conversations/{conversation}?limit=200")).data(200);
        let messages = kept["messages"].as_array().unwrap();
        let count = |field: &str| messages.iter().map(|m| m[field].as_array().map_or(0, Vec::len)).sum::<usize>();
        assert_eq!(count("toolCalls"), count("toolResults"), "{kept}");
        assert_eq!(messages.last().unwrap()["content"], last, "{kept}");
        assert_eq!(messages.iter().filter(|m| m["content"] == last).count(), 1, "said twice: {kept}");
    }
}

#[test]
fn ten_steps_are_each_done_once_however_often_the_power_fails() {
    let kills = number("KILLS").unwrap_or(12);
    let mut scene = Scene::new("ten steps");
    let (asked, looked, strange) = (scene.asked.clone(), scene.looked.clone(), scene.strange.clone());
    let pace = scene.dice.0;
    scene.server.thinks(move |request| {
        let message = request.messages("user").last().unwrap()["content"].as_str().unwrap().to_owned();
        let (answer, odd) = mind(request, message.split(' ').next_back().unwrap());
        strange.lock().unwrap().extend(odd);
        let looks = matches!(&answer, Answer::Calls(_, calls) if calls.iter().any(|(_, of)| of.contains("\"search\"")));
        looked.fetch_add(looks.into(), SeqCst);
        let nth = asked.fetch_add(1, SeqCst);
        sleep(Duration::from_millis(Dice(pace ^ nth).below(25)));
        answer
    });
    let mut chains = 0;
    while scene.killed < kills {
        chains += 1;
        let chain = format!("kette{chains}");
        let (run, conversation) = scene.begin(&format!("take the steps of {chain}"));
        while scene.killed < kills {
            // None at all: what goes on after a start is cut short as well.
            let requests = scene.dice.below(4);
            scene.after(requests, &run);
            if scene.is_over(&run) {
                break;
            }
            scene.cut(40);
        }
        let ended = scene.finished(&run);
        scene.is_whole(&conversation, &format!("all of {chain} is done"));
        for step in 1..=STEPS {
            let count = scene.count(&chain, &title(&chain, step));
            assert_eq!(count, 1, "step {step} of {chain} was done {count} times: {ended}");
        }
        assert_eq!(*scene.strange.lock().unwrap(), Vec::<String>::new());
    }
    let (cuts, requests, looks) = (scene.killed, scene.asked.load(SeqCst), scene.looked.load(SeqCst));
    println!("{cuts} cuts, {chains} runs of {STEPS} steps, {requests} requests, {looks} looks because nobody knew");
    scene.hob.assert_alive();
}

#[test]
fn an_approval_and_the_call_it_is_for_outlive_cuts_and_happen_once() {
    let kills = number("KILLS").map_or(3, |n| n / 10);
    let mut scene = Scene::new("approval");
    autonomy(&scene.hob, "low");
    scene.server.thinks(|request| {
        let chain = request.messages("user").last().unwrap()["content"].as_str().unwrap().to_owned();
        let read = read(request, &chain);
        match (read.open.first(), read.done.contains(&1)) {
            (Some(step), _) => calls(&[looks(&chain, *step, read.looks)]),
            (None, true) => says("done"),
            (None, false) => calls(&[does(&chain, 1)]),
        }
    });
    for round in 0..kills {
        let chain = format!("frage{round}");
        let (run, conversation) = scene.begin(&chain);
        let own = |scene: &Scene| questions(&scene.hob, "pending").into_iter().find(|q| q["runId"] == run.as_str());
        until("the question", || own(&scene).is_some());
        let asked = own(&scene).unwrap();
        scene.cut(20);
        assert_eq!(own(&scene), Some(asked.clone()), "the question is as it was");
        assert_eq!(scene.count(&chain, &title(&chain, 1)), 0);
        decide(&scene.hob, &asked, "allow_once");
        scene.cut(30);
        // Where nobody knows whether it was done, the model looks, and may ask again.
        until("the run to end", || {
            own(&scene).into_iter().for_each(|again| drop(decide(&scene.hob, &again, "allow_once")));
            scene.is_over(&run)
        });
        scene.finished(&run);
        assert_eq!(scene.count(&chain, &title(&chain, 1)), 1, "{chain}");
        scene.is_whole(&conversation, "done");
    }
    scene.hob.assert_alive();
}

#[test]
fn a_question_to_the_person_and_its_answer_outlive_cuts() {
    let kills = number("KILLS").map_or(3, |n| n / 10);
    let mut scene = Scene::new("ask_user");
    scene.server.thinks(|request| {
        let chain = request.messages("user").last().unwrap()["content"].as_str().unwrap().to_owned();
        let (read, results) = (read(request, &chain), request.messages("tool"));
        let answered = results.iter().any(|r| r["content"].as_str().unwrap().contains("blue"));
        match (read.open.first(), read.done.contains(&1)) {
            (Some(step), _) => calls(&[looks(&chain, *step, read.looks)]),
            (None, true) => says("painted"),
            (None, false) if answered => calls(&[does(&chain, 1)]),
            (None, false) => calls(&[("ask_user", json!({"question": "Which colour?", "options": ["red", "blue"]}))]),
        }
    });
    for round in 0..kills {
        let chain = format!("farbe{round}");
        let (run, conversation) = scene.begin(&chain);
        let own = |scene: &Scene| {
            let open = scene.hob.get("/api/v1/interactions?state=pending").data(200);
            open["interactions"].as_array().unwrap().iter().find(|i| i["runId"] == run.as_str()).cloned()
        };
        until("the question", || own(&scene).is_some());
        let asked = own(&scene).unwrap();
        scene.cut(20);
        assert_eq!(own(&scene).map(|i| i["id"].clone()), Some(asked["id"].clone()), "the question is as it was");
        let answer = format!("/api/v1/interactions/{}/respond", asked["id"].as_str().unwrap());
        scene.hob.post(&answer, json!({"answer": "blue"})).data(200);
        scene.cut(30);
        scene.finished(&run);
        assert_eq!(own(&scene), None, "it is asked once");
        assert_eq!(scene.count(&chain, &title(&chain, 1)), 1, "{chain}");
        scene.is_whole(&conversation, "painted");
        scene.hob.post(&answer, json!({"answer": "red"})).refusal(409, "unavailable");
    }
    scene.hob.assert_alive();
}

#[test]
fn a_scheduled_prompt_that_is_cut_short_goes_on_and_is_not_begun_again() {
    for (by_force, ended) in [(true, "interrupted"), (false, "ok")] {
        let (mut hob, server) = with_model(CONFIG);
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        server.thinks(move |request| match (count.fetch_add(1, SeqCst), request.messages("tool").len()) {
            (0, _) => calls(&[("add_task", json!({"title": "Bins"}))]),
            (1, _) => Answer::HangsAfter("well".into()),
            (_, 0) => calls(&[("add_task", json!({"title": "Bins"}))]),
            _ => says("the bins are noted"),
        });
        let soon = json!({"name": "Evening", "schedule": "in 1 second", "prompt": "note the bins"});
        hob.result("create_scheduled_task", soon);
        until("the model to be asked again", || asked.load(SeqCst) == 2);
        if by_force {
            hob.kill();
        } else {
            assert_eq!(hob.stop(), Some(0));
        }
        hob.start_again();
        let runs = |hob: &Hob| hob.get("/api/v1/runs").data(200);
        until("the run to end", || runs(&hob)["runs"][0]["state"] == "done");
        let history = |hob: &Hob| hob.result("get_task_history", json!({"taskId": "Evening"})).to_string();
        until("the schedule to know", || history(&hob).contains(&format!("\"{ended}\"")));
        assert_eq!((&runs(&hob)["count"], asked.load(SeqCst)), (&json!(1), 3), "{}", runs(&hob));
        let tasks = hob.result("list_tasks", json!({"search": "Bins", "limit": 20}));
        assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1, "{tasks}");
        hob.assert_alive();
    }
}
