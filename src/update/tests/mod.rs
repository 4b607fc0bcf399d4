//! Tests of whole installations, on simulated and real disks.

mod cuts;
mod fetching;
mod fuzz;
mod journeys;
mod measure;
mod refusals;
mod slot_content;
mod supervised;
mod switches;
mod world;
