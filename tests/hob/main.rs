//! Hob from outside: the real binary, its doors, its data, and everything that can go wrong around it.

// What tests may do anywhere; clippy sees only the functions marked as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvals;
mod budgets;
mod circles;
mod clear_text;
mod cli;
mod clockwork;
mod config_center;
mod custom_tools;
mod damage;
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
mod model;
mod model_server;
mod models;
mod money;
mod openai;
mod openai_options;
mod openai_responses;
mod parked;
mod persona;
mod pins;
mod policy;
mod redirects;
mod routing;
mod runs;
mod scheduled_kills;
mod scrubbing;
mod seed_names;
mod tables;
mod taint;
mod talk;
mod tool_rules;
mod toolsystem;
mod trace_fixtures;
mod traces;
mod visitor;
mod wires;
