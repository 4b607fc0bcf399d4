//! Layer 0: the types and ports that every other crate uses.
//!
//! A tool is one async function and one argument struct, in a [`Family`] that states every fact about it. A call receives
//! its context as a [`Cx`] and returns an [`Output`] or an [`Error`]; its [`Risk`] is what policy is written in. The traits
//! in [`ports`] are the only way upward: lower layers call them, the assembly in the root implements them.

mod blocking;
mod bounds;
mod bus;
mod clock;
mod cx;
mod definition;
mod error;
mod family;
mod group;
mod id;
mod number;
mod output;
pub mod ports;
mod preauthorized;
mod principal;
mod risk;
mod schema;
mod signature;
mod when;
mod zone;

pub use blocking::blocking;
pub use bounds::{Begins, Bounds, Consent, Pause, Subagent};
pub use bus::{Bus, BusEvent, Event, Listener, Topics};
pub use clock::{Clock, FixedClock, SystemClock};
pub use cx::{Cx, MAX_DEPTH};
pub use definition::{Additive, Alias, Destroys, Offer, Opens, Run, Tool};
pub use error::{Error, ErrorText, Result};
pub use family::{Family, FamilyParts};
pub use group::{Start, ToolGroup};
pub use id::Id;
pub use number::{as_shortest, shortest};
pub use output::Output;
pub use ports::{
    Answer, Ask, Consult, Dispatch, People, Ports, Question, Settings, ToolInfo, Unconnected, sounds_secret,
};
pub use preauthorized::PreauthorizedCall;
pub use principal::{AgentId, Channel, Label, Owner, Peer, Principal, Role, Scope, UserId, Via};
pub use risk::{Area, Level, Risk};
pub use schema::schema_of;
pub use signature::{PageSize, Signature};
pub use when::When;
pub use zone::zone;

/// Everything the file of a tool family needs.
pub mod prelude {
    pub use crate::{Area, Cx, Error, Family, Id, Output, Result, Risk};
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
}
