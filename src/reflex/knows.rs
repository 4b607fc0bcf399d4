//! What reflex knows of the home: pins and things are named in sentences, and where it is on Earth.

use crate::{
    Device, Reflex,
    classification::{BY_SUN, Classification, fixed_reply},
};
use std::sync::{Arc, OnceLock};
use things::{Home, NO_PLACE};

/// Looks up what is connected to the pins.
type Devices = Box<dyn Fn() -> Vec<Device> + Send + Sync>;
/// Looks up what is in the home.
type AtHome = Box<dyn Fn() -> Arc<Home> + Send + Sync>;

/// What it was told of the home.
#[derive(Default)]
pub(crate) struct Known {
    devices: OnceLock<Devices>,
    home: OnceLock<AtHome>,
    /// The position of the home is unknown.
    nowhere: OnceLock<()>,
}

impl Known {
    pub fn devices(&self) -> Vec<Device> {
        self.devices.get().map(|devices| devices()).unwrap_or_default()
    }

    pub fn home(&self) -> Option<Arc<Home>> {
        self.home.get().map(|home| home())
    }

    pub fn is_placed(&self) -> bool {
        self.nowhere.get().is_none()
    }
}

/// What goes by the sun is not offered where the position of the home is unknown: `create_rule` would refuse it after the yes.
pub(crate) fn placed_only(placed: Classification, is_placed: bool) -> Classification {
    if is_placed || placed.why != BY_SUN || placed.proposes.is_none() {
        return placed;
    }
    fixed_reply(&format!("{NO_PLACE}. Then say it again."), "where the home is, is not known")
}

impl Reflex {
    /// The same, with what is connected to the pins: it is then switched by name.
    #[must_use]
    pub fn knowing(self, devices: impl Fn() -> Vec<Device> + Send + Sync + 'static) -> Self {
        let _ = self.0.known.devices.set(Box::new(devices));
        self
    }

    /// The same, with what is in the home: it is then seen and controlled by name, area and kind.
    #[must_use]
    pub fn at_home(self, home: impl Fn() -> Arc<Home> + Send + Sync + 'static) -> Self {
        let _ = self.0.known.home.set(Box::new(home));
        self
    }

    /// The same, where nobody said where the home is: nothing is offered by the sun then.
    #[must_use]
    pub fn nowhere(self) -> Self {
        let _ = self.0.known.nowhere.set(());
        self
    }
}
