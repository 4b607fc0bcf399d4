//! Hob.
fn main() {}
