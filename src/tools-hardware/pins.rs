//! The state that the tools of the pins share.

use crate::{names::PinNames, pin_use::PinUse};
use board::Board;
use store::Store;

/// The header, and whether the household uses it.
#[derive(Clone)]
pub struct Pins {
    pub(crate) board: Board,
    pub(crate) used: PinUse,
    pub(crate) names: PinNames,
    pub(crate) store: Store,
}

impl Pins {
    pub(crate) fn are_used(&self) -> bool {
        self.used.is_used() && self.board.has_driver()
    }
}
