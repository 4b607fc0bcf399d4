//! Layer 3: tools that ask the world something: the weather.
//!
//! Each asks services that work without a key, or that a person set up in the Config Center (`services`), through the guard of
//! `http_client`. What they answer is from outside.

mod api;
mod cache;
mod services;
mod weather;

pub use self::{
    services::register,
    weather::{Home, family as weather},
};
