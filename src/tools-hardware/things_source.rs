//! Named pins as things of the home.

use crate::{pins::Pins, record::PinName};
use board::{Pin, PinKind};
use futures::FutureExt;
use std::sync::{Arc, Mutex, PoisonError};
use things::{Address, Command, Kind, PlannedCall, Source, State, Thing, Verb};
use tool::prelude::*;

/// The id of the source.
const ID: &str = "pin";

/// Every named pin is a thing, whose address is `pin:` and its BCM number.
pub fn pin_source(pins: &Pins) -> Arc<dyn Source> {
    Arc::new(PinSource { pins: pins.clone(), kept: Mutex::default() })
}

struct PinSource {
    pins: Pins,
    kept: Mutex<Option<MadeThings>>,
}

/// The things, and the versions of names and levels they were made from.
struct MadeThings {
    version: (u64, u64),
    things: Arc<[Thing]>,
}

impl Source for PinSource {
    fn id(&self) -> &'static str {
        ID
    }

    fn things(&self) -> Arc<[Thing]> {
        let version = (self.pins.names.version(), self.pins.board.version());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = kept.as_ref().filter(|made| made.version == version) {
            return made.things.clone();
        }
        let named = self.pins.names.now().into_values().filter(|named| !named.name.is_empty());
        let things: Arc<[Thing]> = named.filter_map(|named| self.thing(&named)).collect();
        *kept = Some(MadeThings { version, things: things.clone() });
        things
    }

    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall> {
        let pin: u8 =
            thing.address.key.parse().map_err(|_| Error::not_found(format!("{} is no pin", thing.address)))?;
        let high = match command.verb {
            Verb::Toggle => return Ok(PlannedCall { tool: "gpio_toggle", args: json!({"pin": pin}) }),
            Verb::TurnOn | Verb::Open | Verb::Unlock | Verb::Arm => true,
            Verb::TurnOff | Verb::Close | Verb::Lock | Verb::Disarm => false,
            Verb::SetLevel if thing.verbs.contains(&Verb::SetLevel) => {
                let percent = command.level.ok_or_else(|| Error::bad_args("`level` is missing: it says how bright"))?;
                let hertz = self.pins.names.now().get(&pin).and_then(PinName::dims);
                return Ok(match percent {
                    0 => PlannedCall { tool: "gpio_write", args: json!({"pin": pin, "high": false}) },
                    _ => PlannedCall {
                        tool: "pwm_write",
                        args: json!({"pin": pin, "percent": percent.min(100), "hertz": hertz}),
                    },
                });
            }
            _ => return Err(self.cannot(thing)),
        };
        if !thing.verbs.contains(&command.verb) {
            return Err(self.cannot(thing));
        }
        Ok(PlannedCall { tool: "gpio_write", args: json!({"pin": pin, "high": high}) })
    }
}

impl PinSource {
    fn cannot(&self, thing: &Thing) -> Error {
        if thing.verbs.is_empty() {
            return Error::bad_args(format!("{} is only read", thing.name));
        }
        Error::bad_args(format!("{} is a pin, which cannot do that: it is switched on or off", thing.name))
    }

    fn thing(&self, named: &PinName) -> Option<Thing> {
        let pin = Pin::new(named.pin.into())?;
        let kind = kind_of(named);
        // A level that was never reported is read, which does not wait for anything.
        let look = || self.pins.board.read(pin).now_or_never()?.ok().map(|level| level.high);
        let high = self.pins.board.last_level(pin).or_else(look);
        let mut verbs = verbs(kind);
        let mut state = state(kind, named.kind(), high);
        if named.dims().is_some() && matches!(kind, Kind::Light | Kind::Fan) {
            verbs.push(Verb::SetLevel);
            if high == Some(true) {
                let wave = self.pins.board.read(pin).now_or_never().and_then(|level| level.ok()?.pwm);
                state.level = Some(wave.map_or(100, |wave| wave.percent().round() as u8));
            }
        }
        Some(Thing {
            address: Address::new(ID, pin),
            name: named.name.clone(),
            aliases: vec![],
            area: String::new(),
            kind,
            verbs,
            state,
            guarded: named.opens_at().is_some(),
            class: String::new(),
        })
    }
}

fn kind_of(named: &PinName) -> Kind {
    match named.kind() {
        Some(PinKind::Light) => Kind::Light,
        Some(PinKind::Switch) => Kind::Switch,
        Some(PinKind::Fan) => Kind::Fan,
        Some(PinKind::Cover) => Kind::Cover,
        Some(PinKind::Lock) => Kind::Lock,
        Some(PinKind::Alarm) => Kind::Alarm,
        Some(PinKind::Contact | PinKind::Sensor | PinKind::Button) => Kind::Contact,
        None if named.sensor => Kind::Contact,
        None if is_lamp(&named.name) || named.dims().is_some() => Kind::Light,
        None => Kind::Switch,
    }
}

/// Whether a name is that of a lamp, so that "turn on all the lights" finds it.
fn is_lamp(name: &str) -> bool {
    const LAMPS: &[&str] = &["lamp", "light", "lantern", "bulb", "spotlight", "chandelier", "led"];
    let name = name.to_lowercase();
    let word = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    name.split(|c: char| !c.is_alphanumeric()).map(word).any(|word| LAMPS.contains(&word.as_str()))
}

fn verbs(kind: Kind) -> Vec<Verb> {
    match kind {
        Kind::Cover => vec![Verb::Open, Verb::Close, Verb::Toggle],
        Kind::Lock => vec![Verb::Lock, Verb::Unlock],
        Kind::Alarm => vec![Verb::Arm, Verb::Disarm],
        Kind::Contact => vec![],
        _ => vec![Verb::TurnOn, Verb::TurnOff, Verb::Toggle],
    }
}

fn state(kind: Kind, own: Option<PinKind>, high: Option<bool>) -> State {
    let Some(high) = high else { return State { value: "unavailable".into(), ..State::default() } };
    let (on, off) = match (kind, own) {
        (Kind::Cover, _) => ("open", "closed"),
        (Kind::Lock, _) => ("unlocked", "locked"),
        (Kind::Alarm, _) => ("armed", "disarmed"),
        // Of a motion detector or a button nothing is open.
        (Kind::Contact, Some(PinKind::Sensor | PinKind::Button)) => ("on", "off"),
        (Kind::Contact, _) => ("open", "closed"),
        _ => ("on", "off"),
    };
    State { value: if high { on } else { off }.into(), active: Some(high), ..State::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Board, BoardKind};
    use store::Store;
    use tool::{Channel, Ports, Principal, SystemClock, Via};

    #[tokio::test]
    async fn a_pin_with_pwm_is_a_lamp_that_is_dimmed() {
        let board = Board::open(BoardKind::Sim);
        let pins = Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap();
        let source = pin_source(&pins);
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        let tools = crate::gpio(pins.clone()).into_parts().tools;
        let call = async |name: &str, args: Value| {
            let tool = tools.iter().find(|tool| &*tool.name == name).unwrap();
            (tool.run)(cx.clone(), args).await
        };
        call("name_pin", json!({"pin": 18, "name": "Desk"})).await.unwrap();
        assert!(!source.things()[0].verbs.contains(&Verb::SetLevel));
        call("configure_pin", json!({"pin": 18, "pwm_hertz": 800})).await.unwrap();
        let told = async |verb, level| {
            let thing = source.things()[0].clone();
            let planned = source.plan(&thing, &Command { level, ..Command::new(verb) }).unwrap();
            call(planned.tool, planned.args).await.unwrap();
            let thing = source.things()[0].clone();
            let wave = board.simulator().unwrap().wave(Pin::new(18).unwrap());
            (thing.kind, thing.state.value, thing.state.level, wave.map(|wave| (wave.period_ns, wave.percent())))
        };
        let wave = |percent: f64| Some((1_250_000, percent));
        assert_eq!(told(Verb::SetLevel, Some(30)).await, (Kind::Light, "on".into(), Some(30), wave(30.0)));
        assert_eq!(told(Verb::SetLevel, Some(60)).await, (Kind::Light, "on".into(), Some(60), wave(60.0)));
        assert_eq!(told(Verb::TurnOff, None).await, (Kind::Light, "off".into(), None, None));
        assert_eq!(told(Verb::TurnOn, None).await, (Kind::Light, "on".into(), Some(100), None));
        assert_eq!(told(Verb::SetLevel, Some(0)).await, (Kind::Light, "off".into(), None, None));
        call("configure_pin", json!({"pin": 18, "reset": ["pwm_hertz"]})).await.unwrap();
        assert_eq!((source.things()[0].kind, source.things()[0].verbs.len()), (Kind::Switch, 3));
        let why = call("configure_pin", json!({"pin": 18, "kind": "button", "pwm_hertz": 800})).await.unwrap_err();
        assert!(why.message().contains("cannot be dimmed"), "{why}");
    }

    #[tokio::test]
    async fn named_pins_are_things() {
        let board = Board::open(BoardKind::Sim);
        let pins = Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap();
        let source = pin_source(&pins);
        assert!(source.things().is_empty());
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        let tools = crate::gpio(pins.clone()).into_parts().tools;
        let call = async |name: &str, args: Value| {
            let tool = tools.iter().find(|tool| &*tool.name == name).unwrap();
            (tool.run)(cx.clone(), args).await.unwrap()
        };
        call("name_pin", json!({"pin": 17, "name": "Hall lamp"})).await;
        call("name_pin", json!({"pin": 4, "name": "Door", "sensor": true})).await;
        call("name_pin", json!({"pin": 22, "name": "Gate"})).await;
        call("configure_pin", json!({"pin": 22, "kind": "cover"})).await;
        let shown = || -> Vec<String> {
            let one = |t: &Thing| format!("{} {} {:?} {} {}", t.address, t.name, t.kind, t.state.value, t.guarded);
            source.things().iter().map(one).collect()
        };
        let expected =
            ["pin:4 Door Contact closed false", "pin:17 Hall lamp Light off false", "pin:22 Gate Cover closed true"];
        assert_eq!(shown(), expected);
        assert!(Arc::ptr_eq(&source.things(), &source.things()), "from memory");
        call("gpio_write", json!({"pin": 17, "high": true})).await;
        board.simulator().unwrap().set(Pin::new(4).unwrap(), true);
        assert_eq!(shown()[..2], ["pin:4 Door Contact open false", "pin:17 Hall lamp Light on false"]);
        let things = source.things();
        let plan = |n: usize, verb| source.plan(&things[n], &Command::new(verb)).map(|call| (call.tool, call.args));
        assert_eq!(plan(1, Verb::TurnOff).unwrap(), ("gpio_write", json!({"pin": 17, "high": false})));
        assert_eq!(plan(1, Verb::Toggle).unwrap(), ("gpio_toggle", json!({"pin": 17})));
        assert_eq!(plan(2, Verb::Open).unwrap(), ("gpio_write", json!({"pin": 22, "high": true})));
        for (n, verb, part) in
            [(0, Verb::TurnOn, "only read"), (1, Verb::Play, "switched on or off"), (1, Verb::Lock, "cannot")]
        {
            let why = plan(n, verb).unwrap_err();
            assert!(matches!(&why, Error::BadArgs(text) if text.contains(part)), "{why}");
        }
    }
}
