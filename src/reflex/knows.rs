//! What reflex knows of the home: pins and things are named in sentences.

use crate::{Device, Reflex};
use std::sync::Arc;

impl Reflex {
    /// The same, with what is connected to the pins: it is then switched by name.
    #[must_use]
    pub fn knowing(self, devices: impl Fn() -> Vec<Device> + Send + Sync + 'static) -> Self {
        let _ = self.0.devices.set(Box::new(devices));
        self
    }

    /// The same, with what is in the home: it is then seen and controlled by name, area and kind.
    #[must_use]
    pub fn at_home(self, home: impl Fn() -> Arc<things::Home> + Send + Sync + 'static) -> Self {
        let _ = self.0.home.set(Box::new(home));
        self
    }
}
