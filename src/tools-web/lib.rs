//! Layer 3: the web as tools. Every request goes through the guard, and everything that is read counts as from outside.

mod cache;
mod content;
mod family;
mod found;
mod inflate;
mod json_api;
mod page;
mod part;
mod read_page;
mod request;
mod search;
mod web;

pub use family::family;
pub use search::services;
pub use web::WebTools;
