//! Layer 3: tools that ask the world something: the weather, translations, servers of AI; and those that extract data from texts.
//!
//! Each asks services that work without a key, or that a person set up in the Config Center (`services`), through the guard of
//! `http_client`. What they answer is from outside.

mod api;
mod cache;
mod compat;
mod extraction;
mod languages;
mod model;
mod services;
mod weather;

pub use self::{
    compat::family as compat,
    extraction::{Check, family as extraction},
    languages::family as languages,
    services::register,
    weather::{Home, family as weather},
};
