//! Hob from outside: the real binary, its doors, its data, and everything that can go wrong around it.

// What tests may do anywhere; clippy sees only the functions marked as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cli;
mod custom_tools;
mod data;
mod doors;
mod edges;
mod frame;
mod harness;
mod http;
mod keys;
mod locks;
mod model;
mod model_server;
mod openai;
mod pins;
mod talk;
mod visitor;
