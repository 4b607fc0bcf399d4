//! The state that the tools of the pins share.

use crate::{names::PinNames, pin_use::PinUse};
use board::Board;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};
use store::Store;
use tool::UserId;

/// The header, and whether the household uses it.
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
    /// Whether this person may have a plan to switch a pin back.
    pub(crate) fn may_have_plans(&self, user: UserId) -> bool {
        self.without_plans.lock().is_ok_and(|all| !all.contains(&user))
    }

    /// Notes whether this person has such a plan.
    pub(crate) fn plans(&self, user: UserId, has: bool) {
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
