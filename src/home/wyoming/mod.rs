//! The Wyoming server: Hob as a conversation agent of Home Assistant and of voice satellites.
//!
//! Anybody may ask what this is (`describe`). A sentence (`transcript`) is acted on only when a person has approved the address
//! it comes from; until then the address waits in a list that people see. An approved sentence goes to the agent as
//! [`tool::Principal::voice`], which owns nothing private and for which the policy has rules of its own.

mod answers;
mod conversations;
mod limits;
mod plain;
mod server;
mod session;

pub use server::{Parts, clear, serve};
