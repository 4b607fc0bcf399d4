//! Rules on a real store, registry, board and bus.

mod engine;
mod making;
mod restarts;

use crate::{
    Home, Rules, rule_tools,
    testing::{House, call},
};
use board::{Board, BoardKind, Pin};
use std::{path::PathBuf, sync::Arc, time::Duration};
use things::{Address, Command, Kind, PlannedCall, Source, State, Thing, Things, Verb};
use tokio_util::sync::CancellationToken;
use tool::prelude::*;

/// Things in memory.
struct Lamps(Vec<Thing>);

impl Source for Lamps {
    fn id(&self) -> &'static str {
        "ha"
    }
    fn things(&self) -> Arc<[Thing]> {
        self.0.clone().into()
    }
    fn plan(&self, _: &Thing, _: &Command) -> Result<PlannedCall> {
        Err(Error::bad_args("not here"))
    }
}

fn thing(key: &str, name: &str, area: &str, kind: Kind, value: &str, number: Option<f64>) -> Thing {
    let active = match value {
        "on" | "open" => Some(true),
        "off" | "closed" => Some(false),
        _ => None,
    };
    Thing {
        address: Address::new("ha", key),
        name: name.into(),
        aliases: vec![],
        area: area.into(),
        kind,
        verbs: vec![Verb::TurnOn],
        state: State { value: value.into(), active, number, ..State::default() },
        guarded: false,
        class: String::new(),
    }
}

/// Control a thing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Control {
    /// Its address.
    thing: String,
    /// The action.
    action: String,
    /// How long.
    #[serde(rename = "for")]
    lasts: Option<String>,
}

/// Write a pin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The pin.
    pin: u8,
    /// The level.
    high: bool,
}

/// Toggle a pin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Toggle {
    /// The pin.
    pin: u8,
}

/// Publish a message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Publish {
    /// The topic.
    topic: String,
    /// The payload.
    payload: Value,
}

/// A household with a simulated board, things, and rules that are watched.
struct At {
    house: House,
    rules: Rules,
    board: Board,
    closing: CancellationToken,
}

fn pin(number: u8) -> Pin {
    Pin::new(number.into()).unwrap()
}

fn home(board: &Board, place: Option<(f64, f64)>) -> Home {
    let things = Things::default();
    things.add(Arc::new(Lamps(vec![
        thing("light.hall", "Hall lamp", "hall", Kind::Light, "off", None),
        thing("light.porch", "Porch light", "outside", Kind::Light, "on", None),
        thing("sensor.bedroom", "Bedroom temperature", "bedroom", Kind::Sensor, "21.5", Some(21.5)),
        thing("binary_sensor.door", "Front door", "hall", Kind::Contact, "closed", None),
    ])));
    Home {
        board: board.clone(),
        things,
        pins: Arc::new(|| vec![(4, "Bell".to_owned()), (17, "Lamp".to_owned())]),
        place: Arc::new(move || place),
    }
}

impl At {
    fn new() -> Self {
        Self::over(House::new())
    }

    /// Nobody has said where the home is.
    fn nowhere() -> Self {
        Self::placed(House::new(), None)
    }

    fn over(house: House) -> Self {
        Self::placed(house, Some((48.2, 16.37)))
    }

    fn placed(house: House, place: Option<(f64, f64)>) -> Self {
        let board = Board::open(BoardKind::Sim);
        let rules = Rules::new(
            &house.store,
            house.registry.clone(),
            house.scheduler.clone(),
            home(&board, place),
            house.ports.clone(),
        );
        let (calls, driven) = (house.calls.clone(), board.clone());
        let note = move |name: &str, args: Value| calls.lock().unwrap().push((name.to_owned(), args));
        let [control, write, toggle, publish] = [note.clone(), note.clone(), note.clone(), note];
        let (toggled, written) = (driven.clone(), driven);
        let family = Family::new("home", "For tests.", ())
            .tool("control_thing", Risk::Actuate, move |(), _: Cx, c: Control| {
                control("control_thing", json!({"thing": c.thing, "action": c.action, "for": c.lasts}));
                async { Ok(true) }
            })
            .tool("gpio_write", Risk::Actuate, move |(), _: Cx, w: Write| {
                let (note, board) = (write.clone(), written.clone());
                async move {
                    board.write(pin(w.pin), w.high).await.map_err(|error| Error::failed(error.to_string()))?;
                    note("gpio_write", json!({"pin": w.pin, "high": w.high}));
                    Ok(true)
                }
            })
            .idempotent()
            .tool("gpio_toggle", Risk::Actuate, move |(), _: Cx, t: Toggle| {
                let (note, board) = (toggle.clone(), toggled.clone());
                async move {
                    let high = board.read(pin(t.pin)).await.is_ok_and(|level| level.high);
                    board.write(pin(t.pin), !high).await.map_err(|error| Error::failed(error.to_string()))?;
                    note("gpio_toggle", json!({"pin": t.pin}));
                    Ok(true)
                }
            })
            .tool("mqtt_publish", Risk::Actuate, move |(), _: Cx, p: Publish| {
                publish("mqtt_publish", json!({"topic": p.topic, "payload": p.payload}));
                async { Ok(true) }
            });
        house.registry.add(family).ok();
        house.registry.add(rule_tools::family(rules.clone())).ok();
        house.registry.add(crate::triggers(rules.clone())).ok();
        let closing = CancellationToken::new();
        rules.watch(&closing).unwrap();
        Self { house, rules, board, closing }
    }

    async fn ask(&self, tool: &str, args: Value) -> Result<Output> {
        self.ask_as(&self.house.cx(), tool, args).await
    }

    async fn ask_as(&self, cx: &Cx, tool: &str, args: Value) -> Result<Output> {
        match tool.contains("trigger") {
            true => call(crate::triggers(self.rules.clone()), cx, tool, args).await,
            false => call(rule_tools::family(self.rules.clone()), cx, tool, args).await,
        }
    }

    async fn make(&self, args: Value) -> Value {
        match self.ask("create_rule", args.clone()).await {
            Ok(made) => made.content,
            Err(error) => panic!("{args}: {error}"),
        }
    }

    fn tell(&self, topic: &str, data: Value) {
        self.house.ports.bus.publish(topic, None, data);
    }

    async fn level(&self, number: u8, high: bool) {
        self.board.read(pin(number)).await.unwrap();
        let mut edges = self.board.edges();
        self.board.write(pin(number), high).await.unwrap();
        // The edge of a watched pin comes from a thread, for which a paused clock does not wait.
        for _ in 0..100 {
            if edges.try_recv().is_ok_and(|edge| edge.pin == pin(number) && edge.high == high) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until there are `n` calls.
    async fn calls(&self, n: usize) -> Vec<(String, Value)> {
        self.until(|| self.house.called().len() >= n).await;
        self.house.called()
    }

    async fn until(&self, mut done: impl FnMut() -> bool) {
        // Not tokio's clock, which may be paused.
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while std::time::Instant::now() < until {
            if done() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("it did not happen");
    }

    /// Lets everything that was caused so far happen: a rule for this event answers after all those before.
    async fn settle(&self) {
        let before = self.house.called().iter().filter(|(name, _)| name == "ping").count();
        self.tell("settle", json!({}));
        self.until(|| self.house.called().iter().filter(|(name, _)| name == "ping").count() > before).await;
    }

    async fn with_settling(self) -> Self {
        self.make(json!({"name": "settle", "triggers": {"type": "event", "topic": "settle"}, "mode": "queued",
                         "actions": {"tool": "ping"}}))
            .await;
        self
    }

    /// The calls except those of `settle`.
    fn called(&self) -> Vec<(String, Value)> {
        self.house.called().into_iter().filter(|(name, _)| name != "ping").collect()
    }

    async fn log(&self, rule: &str) -> Value {
        self.ask("rule_log", json!({"ruleId": rule, "limit": 50})).await.unwrap().content["log"].clone()
    }
}

impl Drop for At {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// A folder that is removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("hob-rules-{}", Id::new()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
