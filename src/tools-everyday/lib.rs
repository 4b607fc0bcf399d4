//! Memory, time, arithmetic, units, services people set up, and the device itself as tools.

mod arithmetic;
mod config;
mod device;
mod maths;
mod memory;
#[cfg(test)]
mod testing;
mod time;

use board::Device;
use tool::{Family, Risk, prelude::json};

pub use config::family as config;
pub use memory::family as memory;

/// Time, arithmetic, units, and how the device is.
pub fn utilities(device: Device) -> Family<Device> {
    Family::new("utilities", "Time, arithmetic, units, and how the device is.", device)
        .phrases(concat!(include_str!("time.en"), "\n", include_str!("maths.en"), "\n", include_str!("device.en")))
        .tool("get_current_datetime", Risk::Observe, time::now)
        .alias("datetime")
        .alias("get_current_time")
        .tags("clock date day weekday today timezone hour week")
        .tool("calculate", Risk::Observe, maths::calculate)
        .tags("maths arithmetic compute sum evaluate percent root")
        .tool("convert_units", Risk::Observe, maths::convert)
        .tags("unit conversion length weight temperature volume")
        .example(json!({"value": 20, "from": "°C", "to": "°F"}))
        .tool("system_info", Risk::Observe, device::info)
        .tags("device status health disk memory cpu temperature uptime hostname")
}
