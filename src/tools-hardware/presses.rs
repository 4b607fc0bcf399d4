//! Publishes how buttons are pressed: short, long or double.

use crate::pins::Pins;
use board::{Edge, Pin, PinKind, PinTable, Press, PressKind, PressTimes, Pull};
use std::{collections::BTreeMap, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tool::{Bus, prelude::*};

/// How long it sleeps where nothing is pressed.
const IDLE: Duration = Duration::from_secs(3600);

/// Publishes presses of buttons as `pin:press`, until the board is gone. It listens from the call on.
pub fn publish_presses(pins: &Pins, bus: Bus) -> impl Future<Output = ()> + Send + use<> {
    let (edges, pins) = (pins.board.edges(), pins.clone());
    async move {
        let mut presses = Presses { pins, bus, all: BTreeMap::new() };
        presses.run(edges).await;
    }
}

struct Presses {
    pins: Pins,
    bus: Bus,
    all: BTreeMap<Pin, Press>,
}

impl Presses {
    async fn run(&mut self, mut edges: Receiver<Edge>) {
        loop {
            let due = self.all.values().filter_map(Press::due).min();
            let wait = due.map_or(IDLE, |due| due.saturating_sub(board::monotonic()));
            tokio::select! {
                edge = edges.recv() => match edge {
                    Ok(edge) => self.edge(&edge),
                    // Edges were missed: what is half pressed is not known any more.
                    Err(RecvError::Lagged(_)) => self.all.clear(),
                    Err(RecvError::Closed) => return,
                },
                () = tokio::time::sleep(wait) => {
                    let now = board::monotonic();
                    let reported: Vec<_> = self.all.iter_mut().filter_map(|(pin, press)| Some((*pin, press.tick(now)?))).collect();
                    reported.into_iter().for_each(|(pin, kind)| self.publish(pin, kind));
                }
            }
        }
    }

    fn edge(&mut self, edge: &Edge) {
        let named = self.pins.names.now().remove(&edge.pin.number());
        let kind = named.as_ref().and_then(|named| named.kind());
        if edge.driven || matches!(kind, Some(PinKind::Contact | PinKind::Sensor)) {
            self.all.remove(&edge.pin);
            return;
        }
        let times = times(named.and_then(|named| named.table()).as_ref());
        let settings = self.pins.board.settings(edge.pin);
        // A button with a pull-up connects the pin to ground.
        let low = settings.pull == Some(Pull::Up) && !settings.active_low;
        let press = self.all.entry(edge.pin).or_insert_with(|| Press::new(times));
        let reported = press.edge(edge.high != low, Duration::from_nanos(edge.at_ns));
        if press.is_idle() {
            self.all.remove(&edge.pin);
        }
        if let Some(kind) = reported {
            self.publish(edge.pin, kind);
        }
    }

    fn publish(&self, pin: Pin, kind: PressKind) {
        self.bus.publish("pin:press", None, json!({"pin": pin, "kind": kind}));
    }
}

fn times(table: Option<&PinTable>) -> PressTimes {
    let default = PressTimes::default();
    let ms = |given: Option<u32>, default| given.map_or(default, |ms| Duration::from_millis(ms.into()));
    PressTimes {
        long: ms(table.and_then(|table| table.long_press_ms), default.long),
        double: ms(table.and_then(|table| table.double_press_ms), default.double),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Board, BoardKind, Direction, PinSettings};
    use store::Store;
    use tool::{BusEvent, Topics};

    #[tokio::test]
    async fn presses_are_published() {
        let board = Board::open(BoardKind::Sim);
        let pins = Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap();
        let pin = Pin::new(4).unwrap();
        let button = PinSettings { direction: Some(Direction::Input), pull: Some(Pull::Up), ..PinSettings::default() };
        board.configure(pin, button).unwrap();
        let bus = Bus::default();
        let mut heard = bus.listen_to(None, Topics::parse("pin:press").unwrap());
        tokio::spawn(publish_presses(&pins, bus));
        let sim = board.simulator().unwrap();
        let mut next = async || match heard.next().await {
            Some(BusEvent::Event(event)) => event.data.clone(),
            other => panic!("{other:?}"),
        };
        let (button, ms) = (sim.clone(), Duration::from_millis);
        tokio::task::spawn_blocking(move || button.press(pin, ms(60))).await.unwrap();
        assert_eq!(next().await, json!({"pin": 4, "kind": "short"}));
        let button = sim.clone();
        let held = tokio::task::spawn_blocking(move || button.press(pin, ms(1500)));
        assert_eq!(next().await, json!({"pin": 4, "kind": "long"}));
        held.await.unwrap();
    }
}
