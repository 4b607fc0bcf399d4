//! Sentences that strangers wrote, in homes read from a file when the test runs: see `tests/bench/strangers_home.py`.

use super::super::super::tests::reflex;
use serde_json::{Value, json};
use std::sync::Arc;
use things::{Address, AreaOfSource, Command, PlannedCall, Source, State, Thing, Things};

struct Home {
    things: Arc<[Thing]>,
    areas: Vec<AreaOfSource>,
}

impl Source for Home {
    fn id(&self) -> &'static str {
        "demo"
    }
    fn things(&self) -> Arc<[Thing]> {
        self.things.clone()
    }
    fn plan(&self, _: &Thing, _: &Command) -> tool::Result<PlannedCall> {
        Err(tool::Error::unavailable("nothing is done here"))
    }
    fn areas(&self) -> Vec<AreaOfSource> {
        self.areas.clone()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn home(described: &Value) -> Things {
    let thing = |one: &Value| Thing {
        address: Address::new("demo", text(&one["key"])),
        name: text(&one["name"]),
        aliases: vec![],
        area: text(&one["area"]),
        kind: serde_json::from_value(one["kind"].clone()).unwrap(),
        verbs: serde_json::from_value(one["verbs"].clone()).unwrap(),
        state: State {
            value: text(&one["state"]),
            active: one["active"].as_bool(),
            unit: one["unit"].as_str().map(str::to_owned),
            temperature: one["temperature"].as_f64(),
            ..State::default()
        },
        guarded: one["kind"] == "lock",
        class: text(&one["class"]),
    };
    let area = |one: &Value| AreaOfSource { name: text(&one["name"]), aliases: vec![], parent: text(&one["parent"]) };
    let things = Things::default();
    things.add(Arc::new(Home {
        things: described["things"].as_array().unwrap().iter().map(thing).collect(),
        areas: described["areas"].as_array().unwrap().iter().map(area).collect(),
    }));
    things
}

#[tokio::test]
#[ignore = "needs the file that tests/bench/strangers_home.py makes"]
async fn strangers_are_placed_at_home() {
    let rows = std::env::var("HOME_ROWS").expect("HOME_ROWS names the file");
    let homes: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(rows).unwrap()).unwrap();
    let mut placed = vec![];
    for described in homes {
        let things = home(&described);
        let reflex = reflex().at_home(move || things.home());
        for row in described["rows"].as_array().unwrap() {
            let said = text(&row["text"]);
            let found = reflex.place(&said).await;
            let first = found.tool.map(|tool| json!([tool, found.arguments]));
            let more = found.more.into_iter().map(|(tool, arguments)| json!([tool, arguments]));
            let calls: Vec<Value> = first.into_iter().chain(more).collect();
            placed.push(json!({"text": said, "calls": calls, "say": found.say, "why": found.why}));
        }
    }
    let to = std::env::var("HOME_PLACED").expect("HOME_PLACED names the result");
    std::fs::write(to, serde_json::to_string(&placed).unwrap()).unwrap();
}
