//! Layer 0: the types and ports every other crate speaks.
//!
//! A tool is one async function and one argument struct, gathered in a [`Family`]. What a call may know is
//! its [`Cx`]; what it answers is an [`Output`] or an [`Error`]; what it may do is its [`Risk`]. The traits in
//! [`ports`] are the only way upward: lower layers call them, the assembly in `src/main.rs` fills them.

mod armed;
mod bounds;
mod bus;
mod clock;
mod cx;
mod error;
mod family;
mod id;
mod number;
mod output;
pub mod ports;
mod principal;
mod risk;
mod schema;
mod when;

pub use armed::PreauthorizedCall;
pub use bounds::{Begins, Bounds, Consent, Pause, Subagent};
pub use bus::{Bus, BusEvent, Event, Listener, Topics};
pub use clock::{Clock, FixedClock, SystemClock};
pub use cx::{Cx, MAX_DEPTH};
pub use error::{Error, Result};
pub use family::{Additive, Alias, Family, Run, Tool};
pub use id::Id;
pub use number::{as_shortest, shortest};
pub use output::Output;
pub use ports::{
    Answer, Ask, Consult, Dispatch, People, Ports, Question, Settings, ToolInfo, Unconnected, sounds_secret,
};
pub use principal::{AgentId, Channel, Label, Owner, Peer, Principal, Role, Scope, UserId, Via};
pub use risk::{Area, Level, Risk};
pub use schema::schema_of;
pub use when::When;

/// Everything the file of a tool family needs.
pub mod prelude {
    pub use crate::{Area, Cx, Error, Family, Id, Output, Result, Risk};
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
}
