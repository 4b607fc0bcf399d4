//! A demo home in memory for tests: six rooms on two floors, with everything a home has. Commands change it at once.

use ::things::{Address, Command, Kind, PlannedCall, Source, State, Thing, Verb};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tool::{Error, Result};

/// The source of the demo home. Its calls are `demo_call {key, command}`; [`DemoSource::act`] carries them out.
pub struct DemoSource(Mutex<Arc<[Thing]>>);

/// A thing of the demo home.
pub fn thing(key: &str, name: &str, area: &str, kind: Kind, value: &str) -> Thing {
    use Verb::*;
    let verbs: &[Verb] = match kind {
        Kind::Light => &[TurnOn, TurnOff, Toggle, SetLevel, SetColor],
        Kind::Switch => &[TurnOn, TurnOff, Toggle],
        Kind::Fan => &[TurnOn, TurnOff, Toggle, SetLevel],
        Kind::Cover => &[Open, Close, Stop, SetLevel],
        Kind::Climate => &[TurnOn, TurnOff, SetTemperature, SetMode],
        Kind::Media => &[TurnOn, TurnOff, Play, Pause, Next, Previous, SetLevel, Mute, Stop],
        Kind::Lock => &[Lock, Unlock],
        Kind::Alarm => &[Arm, Disarm],
        Kind::Vacuum => &[TurnOn, Stop, Pause, Return],
        Kind::Scene => &[Activate],
        Kind::Sensor | Kind::Contact => &[],
    };
    let number = value.parse::<f64>().ok();
    let active = match kind {
        Kind::Sensor | Kind::Scene => None,
        _ => Some(["on", "open", "unlocked", "playing", "heat", "cleaning", "detected"].contains(&value)),
    };
    let mut state = State { value: value.to_owned(), active, number, ..State::default() };
    if kind == Kind::Climate {
        (state.temperature, state.target, state.unit) = (Some(19.5), Some(20.0), Some("°C".to_owned()));
    }
    if kind == Kind::Media {
        state.level = Some(20);
    }
    if kind == Kind::Sensor {
        state.unit = Some("°C".to_owned());
    }
    Thing {
        address: Address::new("demo", key),
        name: name.to_owned(),
        aliases: vec![],
        area: area.to_owned(),
        kind,
        verbs: verbs.to_vec(),
        state,
        guarded: matches!(kind, Kind::Lock | Kind::Alarm),
        class: String::new(),
    }
}

/// The things of the demo home.
pub fn home() -> Vec<Thing> {
    use Kind::*;
    let mut all = vec![
        thing("kitchen_ceiling", "Kitchen ceiling", "Kitchen", Light, "off"),
        thing("worktop", "Worktop light", "Kitchen", Light, "off"),
        thing("coffee", "Coffee machine", "Kitchen", Switch, "off"),
        thing("kitchen_blind", "Kitchen blind", "Kitchen", Cover, "open"),
        thing("radio", "Kitchen radio", "Kitchen", Media, "playing"),
        thing("sofa", "Sofa lamp", "Living room", Light, "on"),
        thing("living_ceiling", "Living room ceiling", "Living room", Light, "off"),
        thing("tv", "TV", "Living room", Media, "playing"),
        thing("living_climate", "Thermostat", "Living room", Climate, "heat"),
        thing("curtain_left", "Curtain left", "Living room", Cover, "open"),
        thing("curtain_right", "Curtain right", "Living room", Cover, "closed"),
        thing("rover", "Rover", "Living room", Vacuum, "docked"),
        thing("hall_lamp", "Hall lamp", "Hall", Light, "off"),
        thing("front_door", "Front door", "Hall", Lock, "locked"),
        thing("alarm", "House alarm", "Hall", Alarm, "armed_away"),
        thing("garage_door", "Garage door", "Garage", Cover, "closed"),
        thing("bench", "Bench light", "Garage", Light, "off"),
        thing("garage_motion", "Garage motion", "Garage", Contact, "clear"),
        thing("bedroom_lamp", "Bedroom lamp", "Bedroom", Light, "on"),
        thing("bedroom_temperature", "Bedroom temperature", "Bedroom", Sensor, "18.5"),
        thing("bedroom_fan", "Ceiling fan", "Bedroom", Fan, "off"),
        thing("bedroom_climate", "Bedroom radiator", "Bedroom", Climate, "heat"),
        thing("office_lamp", "Desk lamp", "Office", Light, "off"),
        thing("movie", "Movie night", "", Scene, "scene"),
    ];
    all[5].aliases = vec!["Reading light".to_owned()];
    all
}

/// The floors: rooms by the floor they are on.
pub const FLOORS: &[(&str, &[&str])] =
    &[("Downstairs", &["Kitchen", "Living room", "Hall", "Garage"]), ("Upstairs", &["Bedroom", "Office"])];

impl DemoSource {
    /// With these things.
    pub fn new(things: Vec<Thing>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(things.into())))
    }

    /// Changes one thing.
    pub fn change(&self, key: &str, change: impl FnOnce(&mut Thing)) {
        let mut things = self.0.lock().unwrap();
        let mut all = things.to_vec();
        change(all.iter_mut().find(|thing| thing.address.key == key).unwrap());
        *things = all.into();
    }

    /// Carries out a planned call.
    pub fn act(&self, args: &serde_json::Value) {
        let command: Command = serde_json::from_value(args["command"].clone()).unwrap();
        self.change(args["key"].as_str().unwrap(), |thing| {
            let state = &mut thing.state;
            let was_on = state.active == Some(true);
            let mut set = |value: &str, active: bool| (state.value, state.active) = (value.to_owned(), Some(active));
            match command.verb {
                Verb::TurnOn => set("on", true),
                Verb::TurnOff => set("off", false),
                Verb::Toggle if was_on => set("off", false),
                Verb::Toggle => set("on", true),
                Verb::Open => set("open", true),
                Verb::Close => set("closed", false),
                Verb::Lock => set("locked", false),
                Verb::Unlock => set("unlocked", true),
                Verb::Arm => set("armed", false),
                Verb::Disarm => set("disarmed", true),
                Verb::Play => set("playing", true),
                Verb::Pause => set("paused", false),
                Verb::SetLevel if thing.kind == Kind::Light => set("on", command.level != Some(0)),
                Verb::SetMode => set(command.text.as_deref().unwrap_or_default(), true),
                _ => {}
            }
            if let Some(level) = command.level {
                thing.state.level = Some(level);
            }
            if let Some(by) = command.by {
                let level = i16::from(thing.state.level.unwrap_or(0)) + i16::from(by);
                thing.state.level = Some(level.clamp(0, 100) as u8);
            }
            if let Some(temperature) = command.temperature {
                thing.state.target = Some(temperature);
            }
        });
    }
}

impl Source for DemoSource {
    fn id(&self) -> &'static str {
        "demo"
    }
    fn things(&self) -> Arc<[Thing]> {
        self.0.lock().unwrap().clone()
    }
    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall> {
        if !thing.verbs.contains(&command.verb) {
            return Err(Error::bad_args(format!("{} cannot do that", thing.name)));
        }
        Ok(PlannedCall { tool: "demo_call", args: json!({"key": thing.address.key, "command": command}) })
    }
    fn areas(&self) -> Vec<::things::AreaOfSource> {
        let rooms = FLOORS.iter().flat_map(|(floor, rooms)| rooms.iter().map(move |room| (*room, *floor)));
        rooms
            .map(|(room, floor)| ::things::AreaOfSource { name: room.into(), aliases: vec![], parent: floor.into() })
            .collect()
    }
}
