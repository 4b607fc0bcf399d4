//! Named pins as things, read from memory.

use board::{Board, Pin};
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use things::{Address, Command, Kind, PlannedCall, Source, State, Thing, Verb};
use tool::{Error, Result, prelude::json};

/// The pins that have a name.
pub struct PinThings {
    store: Store,
    levels: Arc<Mutex<[Option<bool>; 28]>>,
}

impl PinThings {
    pub fn new(store: &Store, board: &Board) -> Self {
        let levels: Arc<Mutex<[Option<bool>; 28]>> = Arc::default();
        let (seen, mut changes, board) = (levels.clone(), board.changes(), board.clone());
        let note = move |pin: Pin, high: bool| {
            let mut levels = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(level) = levels.get_mut(usize::from(pin.number())) {
                *level = Some(high);
            }
        };
        tokio::spawn(async move {
            for level in board.levels().await.unwrap_or_default() {
                note(level.pin, level.high);
            }
            drop(board);
            while let Ok((pin, high)) = changes.recv().await {
                note(pin, high);
            }
        });
        Self { store: store.clone(), levels }
    }
}

impl Source for PinThings {
    fn id(&self) -> &'static str {
        "pin"
    }

    fn things(&self) -> Arc<[Thing]> {
        let levels = *self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let thing = |(pin, name, sensor): (u8, String, bool)| {
            let active = levels.get(usize::from(pin)).copied().flatten();
            let value = match active {
                Some(true) => "on",
                Some(false) => "off",
                None => "unknown",
            };
            Thing {
                address: Address::new("pin", pin),
                name,
                aliases: vec![],
                area: String::new(),
                kind: if sensor { Kind::Contact } else { Kind::Switch },
                verbs: if sensor { vec![] } else { vec![Verb::TurnOn, Verb::TurnOff, Verb::Toggle] },
                state: State { value: value.into(), active, ..State::default() },
                guarded: false,
            }
        };
        tools_hardware::devices(&self.store).into_iter().map(thing).collect()
    }

    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall> {
        let high = match command.verb {
            Verb::TurnOn => true,
            Verb::TurnOff => false,
            Verb::Toggle => thing.state.active != Some(true),
            _ => return Err(Error::bad_args(format!("{} can only be turned on and off", thing.name))),
        };
        let pin: u8 =
            thing.address.key.parse().map_err(|_| Error::not_found(format!("`{}` is no pin", thing.address)))?;
        Ok(PlannedCall { tool: "gpio_write", args: json!({"pin": pin, "high": high}) })
    }
}
