//! Layer 2: care of the device. Scheduled backups, checks in plain words, the budget of what is written to the card, a clean
//! end before the power is gone, the last lines of the log, and the support bundle.
//!
//! Nothing here decides who may ask: the doors do. What this crate cannot know by itself is given to it: the copying of the
//! data ([`Backups`]), the names of people ([`support::Input`]), checks of other parts ([`Checks::add`]).

mod backups;
mod checks;
mod disk;
mod logs;
mod mask;
mod plan;
mod power;
mod shutdown;
pub mod support;
mod writes;

pub use backups::{BackupView, Backups, Copying};
pub use checks::{Check, Checks, Clockwork, Facts, ModelFacts, NetworkFacts, Outcome};
pub use disk::DiskIo;
pub use logs::LogRing;
pub use plan::{Every, PlanChange, PlanView};
pub use power::{Power, PowerConfig};
pub use writes::{OwnWrites, WriteReport, Writes};

use tool::{Channel, Cx, Ports, Principal, Via};

/// Tells everybody in the household something that a person should do.
async fn tell_household(ports: &Ports, title: &str, text: &str) {
    let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Machine));
    let arguments = |text: &str| tool::prelude::json!({"title": title, "text": text, "person": "everyone"});
    if let Err(error) = cx.call("notify", arguments(text)).await {
        tracing::warn!(%error, %title, "the household could not be notified");
    }
}
