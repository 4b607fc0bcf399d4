//! Hob from outside: the real binary, its doors, its data, and everything that can go wrong around it.

// What tests may do anywhere; clippy sees only the functions marked as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvals;
mod cli;
mod clockwork;
mod config_center;
mod conversation_settings;
mod custom_tools;
mod data;
mod doors;
mod edges;
mod events;
mod everyday;
mod explain;
mod files;
mod frame;
mod harness;
mod hijack;
mod hostile;
mod http;
mod interactions;
mod keys;
mod killed;
mod locks;
mod metrics;
mod model;
mod model_server;
mod models;
mod money;
mod ollama;
mod openai;
mod parked;
mod persona;
mod pins;
mod policy;
mod restore;
mod runs;
mod scrubbing;
mod seed_names;
mod tables;
mod talk;
mod toolsystem;
mod trace_fixtures;
mod traces;
mod visitor;
mod wires;
