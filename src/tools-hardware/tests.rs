//! Tests of who may take the guard from a pin, and of what a refusing board makes of settings.

use crate::{
    Pins,
    record::{BY_PIN, PinName},
};
use board::{Board, BoardKind, Pin, PinsConfig, SimConfig};
use std::sync::Arc;
use store::Store;
use tool::{AgentId, Channel, Ports, Principal, Role, Scope, SystemClock, Tool, UserId, Via, prelude::*};

struct Home {
    board: Board,
    pins: Pins,
    tools: Vec<Tool>,
}

impl Home {
    fn new(named: &[(&str, u8)]) -> Self {
        let mut config = PinsConfig::default();
        for (name, pin) in named {
            config.named.insert((*name).to_owned(), serde_json::from_value(json!(pin)).unwrap());
        }
        let board = Board::with_config(BoardKind::Sim, config, &SimConfig::default());
        let pins = Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap();
        let tools = crate::gpio(pins.clone()).into_parts().tools;
        Self { board, pins, tools }
    }

    async fn call(&self, role: Role, tool: &str, args: Value) -> Result<Output> {
        let principal = match role {
            Role::Admin => Principal::owner(),
            role => Principal { user: UserId(Id::new()), role, agent: AgentId::GENERAL },
        };
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        let tool = self.tools.iter().find(|one| &*one.name == tool).unwrap();
        (tool.run)(Cx::root(ports, principal, Via::direct(Channel::Api)), args).await
    }

    /// Calls as an admin.
    async fn set(&self, tool: &str, args: Value) {
        self.call(Role::Admin, tool, args.clone()).await.unwrap_or_else(|why| panic!("{tool} {args}: {why}"));
    }

    fn opens(&self, tool: &str, args: Value) -> bool {
        let tool = self.tools.iter().find(|one| &*one.name == tool).unwrap();
        tool.opens.as_ref().is_some_and(|opens| opens(&args))
    }
}

#[tokio::test]
async fn a_member_does_not_take_the_guard_from_a_door_and_an_admin_does() {
    let home = Home::new(&[("gate", 9)]);
    home.set("name_pin", json!({"pin": 22, "name": "garage door"})).await;
    home.set("name_pin", json!({"pin": 23, "name": "Front door"})).await;
    home.set("name_pin", json!({"pin": 24, "name": "Back entrance"})).await;
    home.set("configure_pin", json!({"pin": 24, "kind": "cover"})).await;
    home.set("name_pin", json!({"pin": 25, "name": "House alarm"})).await;
    home.set("configure_pin", json!({"pin": 25, "kind": "alarm", "interlock": "house"})).await;
    let attacks = [
        ("configure_pin", json!({"pin": 22, "kind": "light"})),
        ("name_pin", json!({"pin": 22, "name": "garage door", "sensor": true})),
        ("name_pin", json!({"pin": 22, "name": ""})),
        ("name_pin", json!({"pin": 23, "name": "desk lamp two"})),
        ("configure_pin", json!({"pin": 23, "direction": "input"})),
        ("configure_pin", json!({"pin": 24, "boot": "on"})),
        ("configure_pin", json!({"pin": 24, "fail_safe": "on"})),
        ("configure_pin", json!({"pin": 24, "active_low": true})),
        ("configure_pin", json!({"pin": 24, "reset": ["kind"]})),
        ("configure_pin", json!({"pin": 25, "max_on_seconds": 1})),
        ("configure_pin", json!({"pin": 26, "interlock": "house", "interlock_switches": true})),
        ("configure_pin", json!({"pin": 27, "kind": "lock", "boot": "on"})),
        // The name of hob.toml.
        ("name_pin", json!({"pin": 9, "name": "back gate"})),
        ("configure_pin", json!({"pin": 9, "kind": "switch"})),
    ];
    let before = home.pins.names.now();
    for (tool, args) in attacks.clone() {
        let why = home.call(Role::Member, tool, args.clone()).await.unwrap_err();
        assert!(matches!(&why, Error::Denied(text) if text.contains("an admin has to ")), "{tool} {args}: {why:?}");
        assert_eq!(home.pins.names.now(), before, "{tool} {args}");
    }
    // More guard, or another setting, is not an admin's alone.
    for (tool, args) in [
        ("name_pin", json!({"pin": 22, "name": "Big garage door"})),
        ("configure_pin", json!({"pin": 22, "max_on_seconds": 2})),
        ("configure_pin", json!({"pin": 24, "fail_safe": "off"})),
        ("name_pin", json!({"pin": 17, "name": "Gate motor"})),
        ("configure_pin", json!({"pin": 18, "kind": "light", "boot": "on"})),
    ] {
        let done = home.call(Role::Member, tool, args.clone()).await;
        assert!(done.is_ok(), "{tool} {args}: {done:?}");
    }
    for (tool, args) in attacks {
        home.set(tool, args).await;
    }
    assert_eq!((home.pins.names.opens_at(22), home.pins.names.opens_at(23)), (None, None));
}

#[tokio::test]
async fn undoing_takes_the_guard_from_no_pin() {
    let home = Home::new(&[]);
    home.set("name_pin", json!({"pin": 17, "name": "Hall lamp"})).await;
    home.set("name_pin", json!({"pin": 22, "name": "Garage door"})).await;
    let undo = async |pin: u8| {
        let (records, names) = (home.pins.store.collection::<PinName>(), home.pins.names.clone());
        let undone = home.pins.store.write(move |tx| {
            let named = records.find(tx, Scope::Household, BY_PIN, &[pin])?.pop().unwrap();
            records.remove(tx, Scope::Household, named.id)?;
            names.keeps_guards(tx)
        });
        undone.await
    };
    let why = undo(22).await.unwrap_err().to_string();
    assert!(why.contains("pin 22") && why.contains("an admin has to"), "{why}");
    undo(17).await.unwrap();
}

#[tokio::test]
async fn a_pin_that_switches_an_alarm_off_asks() {
    let home = Home::new(&[]);
    home.set("configure_pin", json!({"pin": 25, "kind": "alarm", "interlock": "house"})).await;
    home.set("configure_pin", json!({"pin": 26, "interlock": "house"})).await;
    let on = json!({"pin": 26, "high": true});
    assert!(!home.opens("gpio_write", on.clone()), "it is refused where the alarm is on");
    home.set("configure_pin", json!({"pin": 26, "interlock_switches": true})).await;
    assert!(home.opens("gpio_write", on.clone()) && home.opens("gpio_toggle", json!({"pin": 26})));
    assert!(!home.opens("gpio_write", json!({"pin": 26, "high": false})));
}

#[tokio::test]
async fn a_direction_that_fits_leaves_the_kind() {
    let home = Home::new(&[]);
    home.set("name_pin", json!({"pin": 5, "name": "Back entrance"})).await;
    home.set("configure_pin", json!({"pin": 5, "kind": "lock"})).await;
    home.set("configure_pin", json!({"pin": 5, "direction": "output"})).await;
    assert_eq!(home.pins.names.opens_at(5), Some(true));
    home.set("configure_pin", json!({"pin": 5, "kind": "cover"})).await;
    let table = home.pins.names.now()[&5].table().unwrap();
    assert_eq!(table.direction, Some(board::Direction::Output));
    home.set("configure_pin", json!({"pin": 5, "direction": "input"})).await;
    assert_eq!(home.pins.names.now()[&5].kind(), None, "a cover is not read");
    home.set("configure_pin", json!({"pin": 5, "kind": "light"})).await;
    assert_eq!(home.pins.names.now()[&5].table().unwrap().direction, None, "a light is not read either");
}

#[tokio::test]
async fn a_board_that_refuses_is_told_and_asked_again() {
    let home = Home::new(&[]);
    let (pin, sim) = (Pin::new(4).unwrap(), home.board.simulator().unwrap());
    sim.take(pin, true);
    let button = json!({"pin": 4, "kind": "button", "pull": "up"});
    for _ in 0..2 {
        let told = home.call(Role::Admin, "configure_pin", button.clone()).await.unwrap();
        let said = told.say.unwrap();
        assert!(said.contains("refused it: pin 4 could not be used: another program"), "{said}");
        assert!(told.content["warnings"].to_string().contains("another program"), "{}", told.content);
    }
    sim.take(pin, false);
    let said = home.call(Role::Admin, "configure_pin", button).await.unwrap().say.unwrap();
    assert!(!said.contains("refused"), "{said}");
    assert!(home.board.is_watched(pin));
}
