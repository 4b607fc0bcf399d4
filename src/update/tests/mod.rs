//! Tests of whole installations, on simulated and real disks.

mod cuts;
mod fetching;
mod fuzz;
mod journeys;
mod measure;
mod refusals;
mod supervised;
mod switches;
mod world;
