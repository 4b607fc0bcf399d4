//! Tools for what is in the home.

pub mod mqtt;
