//! The state that the tools of the pins share.

use crate::{
    names::{COLLECTION, PinNames, UndoesNames, watch_sensors},
    pin_use::PinUse,
};
use board::{Board, Pin};
use jiff::SignedDuration;
use records::Undoer;
use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, Mutex},
};
use store::Store;
use things::lasting::{self, WayBack};
use tool::{Cx, Result, UserId};

/// The header, the names and settings of its pins, and whether the household uses it; cheap to clone.
#[derive(Clone)]
pub struct Pins {
    pub(crate) board: Board,
    pub(crate) used: PinUse,
    pub(crate) names: PinNames,
    pub(crate) store: Store,
    /// The people who have no plan to switch a pin back, as far as was looked.
    pub(crate) without_plans: Arc<Mutex<HashSet<UserId>>>,
}

impl Pins {
    /// Reads the names and settings of pins, and configures the board with them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn open(board: Board, store: &Store) -> Result<Self> {
        let (used, names) = (PinUse::open(store)?, PinNames::open(&board, store));
        Ok(Self { board, used, names, store: store.clone(), without_plans: Arc::default() })
    }

    /// Everything that has a name: its pin, its name, and whether it is only read.
    pub fn devices(&self) -> Vec<(u8, String, bool)> {
        let all = self.names.now().into_values().filter(|named| !named.name.is_empty());
        all.map(|named| (named.pin, named.name, named.sensor)).collect()
    }

    /// Reads sensors now and then whose changes the board does not report by itself.
    pub fn watch_sensors(&self) -> impl Future<Output = ()> + Send + 'static {
        watch_sensors(self.board.clone(), self.names.clone())
    }

    /// The collection of names and settings, and what configures the board again when a change of them is undone.
    pub fn undoer(&self) -> (&'static str, Arc<dyn Undoer>) {
        (COLLECTION, Arc::new(UndoesNames(self.names.clone())))
    }

    /// Whether driving a pin to this level opens, unlocks or disarms something, itself or by its interlock.
    pub(crate) fn opens(&self, pin: Option<Pin>, high: Option<bool>) -> bool {
        let Some(pin) = pin.map(Pin::number) else { return false };
        let itself = self.names.opens_at(pin).is_some_and(|level| high.is_none_or(|high| high == level));
        itself || high != Some(false) && self.names.switches_guarded_off(pin)
    }

    /// Schedules the way back of a pin, and returns its moment.
    pub(crate) async fn plan_way_back(
        &self,
        cx: &Cx,
        (pin, name): (Pin, &str),
        high: bool,
        lasts: SignedDuration,
    ) -> Result<String> {
        self.note_plans(cx.user(), true);
        let arguments = serde_json::json!({"pin": pin, "high": high});
        lasting::plan(cx, WayBack { title: way_back_title(name, high), tool: "gpio_write", arguments }, lasts).await
    }

    /// Takes back an earlier way back of this pin, unless a schedule asks.
    pub(crate) async fn forget_way_back(&self, cx: &Cx, name: &str) {
        let may_have_plans = self.without_plans.lock().is_ok_and(|all| !all.contains(&cx.user()));
        if !may_have_plans {
            return;
        }
        let titles = [way_back_title(name, true), way_back_title(name, false)];
        if let Some(has_plans) = lasting::forget(cx, "again", &titles).await {
            self.note_plans(cx.user(), has_plans);
        }
    }

    /// Notes whether this person has a plan to switch a pin back.
    fn note_plans(&self, user: UserId, has: bool) {
        if let Ok(mut all) = self.without_plans.lock() {
            if has {
                all.remove(&user)
            } else {
                all.insert(user)
            };
        }
    }

    pub(crate) fn are_used(&self) -> bool {
        self.used.is_used() && self.board.has_driver()
    }
}

/// The name of the schedule that switches a pin back.
fn way_back_title(name: &str, high: bool) -> String {
    format!("{name} {} again", if high { "on" } else { "off" })
}
