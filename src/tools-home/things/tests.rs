//! The tools over the demo home, whose calls really change it.

use super::{demo::*, family, undo, undoer};
use ::things::{Kind, Thing, Things, Verb};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};
use store::Store;
use tool::{Channel, Cx, Dispatch, Error, FixedClock, Peer, Ports, Principal, Tool, ToolInfo, Via, prelude::*};

/// Runs the tools of things and the demo home's own, and records every call.
pub(super) struct Home {
    pub things: Things,
    pub source: Arc<DemoSource>,
    pub store: Store,
    calls: Mutex<Vec<(String, Value)>>,
}

struct Calls(Arc<Home>);

impl Dispatch for Calls {
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>> {
        let (home, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            home.calls.lock().unwrap().push((name.clone(), args.clone()));
            match name.as_str() {
                "demo_call" if args["key"] == "coffee" => Err(Error::unavailable("the coffee machine does not answer")),
                "demo_call" => {
                    home.source.act(&args);
                    Output::json(json!({"ok": true}))
                }
                "create_scheduled_task" => Output::json(json!({"id": "t1"})),
                "list_scheduled_tasks" => Output::json(json!({"tasks": []})),
                _ => (home.tool(&name).run)(cx, args).await,
            }
        })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}

impl Home {
    pub fn new() -> Arc<Self> {
        Self::of(home())
    }
    fn of(all: Vec<Thing>) -> Arc<Self> {
        let store = Store::in_memory().unwrap();
        let (things, source) = (Things::new(&store), DemoSource::new(all));
        things.add(source.clone());
        Arc::new(Self { things, source, store, calls: Mutex::default() })
    }
    fn tool(&self, name: &str) -> Tool {
        let tools = family(self.things.clone()).into_parts().tools;
        tools.into_iter().find(|tool| &*tool.name == name).unwrap_or_else(|| panic!("no tool {name}"))
    }
    pub fn cx(self: &Arc<Self>, peer: Peer) -> Cx {
        let clock = Arc::new(FixedClock("2026-11-23T09:00[Europe/Vienna]".parse().unwrap()));
        let ports = Ports { dispatch: Arc::new(Calls(self.clone())), ..Ports::unconnected(clock) };
        Cx::root(ports, Principal::owner(), Via { peer, ..Via::direct(Channel::Api) })
    }
    /// As dispatch does it where nobody had to be asked, or somebody said yes.
    pub async fn call(self: &Arc<Self>, name: &str, args: Value) -> Result<Output> {
        let (tool, cx) = (self.tool(name), self.cx(Peer::Direct));
        let opens = tool.opens.as_ref().is_some_and(|opens| opens(&args));
        (tool.run)(if opens { cx.opening() } else { cx }, args).await
    }
    pub async fn said(self: &Arc<Self>, name: &str, args: Value) -> String {
        match self.call(name, args).await {
            Ok(output) => output.say.unwrap(),
            Err(error) => format!("! {}", error.said().unwrap_or(error.message())),
        }
    }
    fn opens(&self, args: &Value) -> bool {
        (self.tool("control_thing").opens.unwrap())(args)
    }
    fn value(&self, key: &str) -> String {
        self.things.get(&::things::Address::new("demo", key)).unwrap().state.value
    }
    fn calls(&self, name: &str) -> Vec<Value> {
        self.calls.lock().unwrap().iter().filter(|(call, _)| call == name).map(|(_, args)| args.clone()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn things_do_what_they_are_told_and_the_answer_says_so() {
    let home = Home::new();
    for (args, said) in [
        (json!({"thing": "hall lamp", "action": "turn_on"}), "Hall lamp is on."),
        (json!({"thing": "demo:hall_lamp", "action": "set_level", "level": 30}), "Hall lamp is at 30%."),
        (json!({"thing": "hall light", "action": "set_level", "by": 20}), "Hall lamp is at 50%."),
        (json!({"thing": "hall light", "action": "set_level", "by": -80}), "Hall lamp is at 1%."),
        (json!({"thing": "hall lamp", "action": "toggle"}), "Hall lamp is off."),
        (json!({"thing": "kitchen light", "action": "turn_on"}), "Kitchen ceiling and Worktop light are on."),
        (
            json!({"area": "kitchen", "action": "turn_off", "kind": "light"}),
            "Kitchen ceiling and Worktop light are off.",
        ),
        (json!({"area": "Living room", "action": "set_temperature", "temperature": 21}), "Thermostat is set to 21 °C."),
        (json!({"thing": "thermostat", "action": "set_temperature", "by": 2}), "Thermostat is set to 23 °C."),
        (
            json!({"thing": "thermostat", "action": "set_temperature", "temperature": 70, "unit": "fahrenheit"}),
            "Thermostat is set to 21 °C.",
        ),
        (
            json!({"thing": "thermostat", "action": "set_temperature", "by": -3, "unit": "fahrenheit"}),
            "Thermostat is set to 19.5 °C.",
        ),
        (
            json!({"thing": "thermostat", "action": "set_temperature", "temperature": 20, "unit": "celsius"}),
            "Thermostat is set to 20 °C.",
        ),
        (
            json!({"kind": "cover", "action": "close"}),
            "Kitchen blind, Curtain left, Curtain right and Garage door are closed.",
        ),
        (json!({"thing": "garage door", "action": "open"}), "Garage door is open."),
        (json!({"thing": "tv", "action": "pause"}), "TV is paused."),
        (json!({"thing": "tv", "action": "set_level", "level": 40}), "TV is at volume 40%."),
        (json!({"things": ["tv", "kitchen radio"], "action": "mute"}), "TV and Kitchen radio are muted."),
        (json!({"thing": "movie night", "action": "turn_on"}), "Movie night is activated."),
        (json!({"thing": "bedroom lamp", "action": "set_color", "text": "red"}), "Bedroom lamp is red."),
        (json!({"thing": "coffee machine", "action": "turn_on"}), "! the coffee machine does not answer"),
        (
            json!({"things": ["coffee machine", "hall lamp"], "action": "turn_on"}),
            "Hall lamp is on at 1%. Coffee machine did not follow: the coffee machine does not answer.",
        ),
        (json!({"thing": "garage motion", "action": "turn_on"}), "! I can only read Garage motion: it is a sensor."),
        (json!({"thing": "front door", "action": "turn_on"}), "! Front door can't do that."),
        (
            json!({"thing": "ceiling", "action": "set_color", "text": "red"}),
            "! Which one do you mean: Kitchen ceiling or Living room ceiling?",
        ),
        (json!({"thing": "pool pump", "action": "turn_on"}), "! I know nothing called “pool pump” in the home."),
        (json!({"area": "cellar", "action": "turn_on"}), "! I know no room or floor called “cellar”."),
        (json!({"action": "turn_on"}), "! Which thing do you mean?"),
    ] {
        assert_eq!(home.said("control_thing", args.clone()).await, said, "{args}");
    }
    let all = home.call("control_thing", json!({"area": "upstairs", "action": "turn_off"})).await.unwrap();
    assert_eq!((all.content["done"].as_u64(), home.value("bedroom_lamp").as_str()), (Some(3), "off"), "{all:?}");
    // Heating, locks and alarms stay.
    assert_eq!(
        home.said("control_thing", json!({"area": "everywhere", "action": "turn_off"})).await.split(' ').next(),
        Some("11")
    );
    assert_eq!((home.value("alarm"), home.value("living_climate")), ("armed_away".into(), "heat".into()));
}

#[tokio::test(start_paused = true)]
async fn a_thermostat_in_fahrenheit_understands_celsius() {
    let mut all = home();
    let thermostat = all.iter_mut().find(|thing| thing.name == "Thermostat").unwrap();
    (thermostat.state.unit, thermostat.state.target) = (Some("°F".into()), Some(68.0));
    let home = Home::of(all);
    for (args, said) in [
        (json!({"temperature": 21, "unit": "celsius"}), "Thermostat is set to 70 °F."),
        (json!({"by": 2, "unit": "celsius"}), "Thermostat is set to 74 °F."),
        (json!({"temperature": 71.5, "unit": "fahrenheit"}), "Thermostat is set to 71.5 °F."),
        (json!({"temperature": 72}), "Thermostat is set to 72 °F."),
    ] {
        let mut call = json!({"thing": "thermostat", "action": "set_temperature"});
        call.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        assert_eq!(home.said("control_thing", call).await, said, "{args}");
    }
}

#[tokio::test]
async fn opening_is_told_apart_whatever_it_is_called() {
    let home = Home::new();
    for (args, opens) in [
        (json!({"thing": "front door", "action": "unlock"}), true),
        (json!({"thing": "front door", "action": "lock"}), false),
        (json!({"things": ["hall lamp", "front door"], "action": "toggle"}), true),
        (json!({"area": "hall", "kind": "lock", "action": "unlock"}), true),
        (json!({"area": "everywhere", "action": "unlock"}), true),
        (json!({"thing": "garage door", "action": "open"}), true),
        (json!({"thing": "garage door", "action": "toggle"}), true),
        (json!({"thing": "garage door", "action": "set_level", "level": 10}), true),
        (json!({"thing": "garage door", "action": "close"}), false),
        (json!({"thing": "garage door", "action": "close", "for": "PT1M"}), true),
        (json!({"kind": "alarm", "action": "disarm"}), true),
        (json!({"thing": "house alarm", "action": "arm"}), false),
        (json!({"thing": "hall lamp", "action": "turn_on"}), false),
        (json!({"thing": "nothing like it", "action": "unlock"}), true),
        (json!({"thing": 7, "action": "turn_on"}), true),
    ] {
        assert_eq!(home.opens(&args), opens, "{args}");
    }
    // Without having been decided on, nothing opens.
    let error =
        (home.tool("control_thing").run)(home.cx(Peer::Direct), json!({"thing": "front door", "action": "unlock"}));
    assert!(matches!(error.await, Err(Error::Denied(_))));
    assert_eq!(home.value("front_door"), "locked");
    // A lock that somebody calls a lamp is still one.
    home.call("update_thing", json!({"thing": "front door", "kind": "switch", "name": "Porch"})).await.unwrap();
    assert!(home.opens(&json!({"thing": "porch", "action": "unlock"})));
    assert!(home.opens(&json!({"thing": "porch", "action": "turn_on"})));
}

#[tokio::test]
async fn the_voice_door_sees_no_locks_unless_it_may() {
    let home = Home::new();
    let voice = async |name: &str, args: Value| {
        let tool = home.tool(name);
        (tool.run)(home.cx(Peer::Voice).opening(), args).await.map(|output| output.say.unwrap_or_default())
    };
    let lock = || json!({"thing": "front door"});
    assert!(matches!(voice("get_thing", lock()).await, Err(Error::NotFound(_))));
    assert!(voice("control_thing", json!({"thing": "demo:front_door", "action": "unlock"})).await.is_err());
    assert_eq!(home.value("front_door"), "locked");
    assert_eq!(
        voice("control_thing", json!({"thing": "hall lamp", "action": "turn_on"})).await.unwrap(),
        "Hall lamp is on."
    );
    home.call("update_thing", json!({"thing": "front door", "voice": true})).await.unwrap();
    assert_eq!(voice("get_thing", lock()).await.unwrap(), "Front door is locked.");
    home.call("update_thing", json!({"thing": "hall lamp", "voice": false})).await.unwrap();
    assert!(voice("control_thing", json!({"thing": "hall lamp", "action": "turn_off"})).await.is_err());
}

#[tokio::test]
async fn for_a_while_plans_the_way_back() {
    let home = Home::new();
    let said = home.said("control_thing", json!({"thing": "bedroom lamp", "action": "turn_off", "for": "PT10M"})).await;
    assert_eq!(said, "Bedroom lamp is off for 10 minutes, until 09:10.");
    home.source.change("tv", |thing| thing.state.level = Some(35));
    home.said("control_thing", json!({"thing": "tv", "action": "set_level", "level": 80, "for": "PT1H"})).await;
    let plans: Vec<Value> =
        home.calls("create_scheduled_task").into_iter().map(|plan| plan["arguments"].clone()).collect();
    assert_eq!(
        plans,
        [
            json!({"thing": "demo:bedroom_lamp", "action": "turn_on"}),
            json!({"thing": "demo:tv", "action": "set_level", "level": 35}),
        ]
    );
    // Something that is on already goes off then.
    home.said("control_thing", json!({"thing": "sofa lamp", "action": "turn_on", "for": "PT5M"})).await;
    assert_eq!(home.calls("create_scheduled_task")[2]["arguments"]["action"], "turn_off");
    let error = home.said("control_thing", json!({"thing": "tv", "action": "next", "for": "PT5M"})).await;
    assert!(error.contains("cannot go back by itself"), "{error}");
    assert!(
        home.said("control_thing", json!({"thing": "tv", "action": "pause", "for": "soon"})).await.contains("PT10M")
    );
    assert_eq!(home.calls("create_scheduled_task").len(), 3);
}

#[tokio::test]
async fn undoing_brings_back_what_was_and_only_that() {
    let home = Home::new();
    let undoer = undoer(&home.things).1;
    let parts = |key: &str, told: Verb| {
        let before = home.things.get(&::things::Address::new("demo", key)).unwrap();
        let told = ::things::Command::new(told);
        (before.clone(), undo::way_back(&before.verbs, &before.state, &told))
    };
    for (key, told, back) in [
        ("hall_lamp", Verb::TurnOn, Some(Verb::TurnOff)),
        ("sofa", Verb::Toggle, Some(Verb::TurnOn)),
        ("front_door", Verb::Unlock, Some(Verb::Lock)),
        ("kitchen_blind", Verb::Close, Some(Verb::Open)),
        ("tv", Verb::Pause, Some(Verb::Play)),
        ("tv", Verb::Next, None),
        ("movie", Verb::Activate, None),
        ("bedroom_lamp", Verb::SetColor, None),
    ] {
        assert_eq!(parts(key, told).1.map(|back| back.verb), back, "{key} {told:?}");
    }
    home.call("control_thing", json!({"thing": "hall lamp", "action": "turn_on"})).await.unwrap();
    let snapshot = home.things.home();
    let at = snapshot.at(&::things::Address::new("demo", "hall_lamp")).unwrap();
    let part = undo::part(&snapshot.get(at), &::things::Command::new(Verb::TurnOff), snapshot.get(at).state);
    let cx = home.cx(Peer::Direct);
    assert!(undoer.outside(&cx, &part).await.unwrap());
    assert_eq!(home.value("hall_lamp"), "off");
    // It was changed since: it stays.
    assert!(!undoer.outside(&cx, &part).await.unwrap());
    assert!(home.store.version() < 1_000 && snapshot.get(at).kind == Kind::Light);
}
