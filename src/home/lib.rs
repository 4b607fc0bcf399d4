//! How a home reaches Hob: the Wyoming server, and Hob as a device in Home Assistant by MQTT discovery.

pub mod mqtt;
pub mod wyoming;
