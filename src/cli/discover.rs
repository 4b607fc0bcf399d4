//! `hob discover`: lists devices on the network. Needs no data and no daemon.

use super::terminal::put;
use anyhow::Result;
use discovery::{DiscoveredService, Kind};
use std::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

/// Long enough for a second query, in case the first was lost.
const BROWSE_FOR: Duration = Duration::from_secs(2);

/// Browses the network and prints what it finds.
pub async fn discover(ignored: &[String], json: bool) -> Result<()> {
    let found = discovery::browse(BROWSE_FOR, ignored).await?;
    if json {
        put(format_args!("{:#}\n", serde_json::to_value(&found)?))?;
        return Ok(());
    }
    for each in &found {
        put(format_args!("{:<24} {:<40} {}\n", each.name, each.url, about(each)))?;
    }
    if found.is_empty() {
        let connected = !discovery::addresses(IpAddr::V6(Ipv6Addr::UNSPECIFIED), ignored).is_empty();
        put(format_args!("nothing was found: {}\n", if connected { ALONE } else { UNCONNECTED }))?;
    }
    Ok(())
}

const ALONE: &str = "a Hob is visible when it runs on the same network, listens on it (`--listen 0.0.0.0:4620`) and \
was not started with --no-mdns; check also whether a firewall blocks UDP port 5353, or the access point isolates its devices";
const UNCONNECTED: &str = "this machine has no network address; check `ip address`";

fn about(found: &DiscoveredService) -> String {
    let kind = match found.kind {
        Kind::Hob => "Hob",
        Kind::HomeAssistant => "Home Assistant",
        Kind::Wyoming => "Wyoming",
        Kind::Mqtt => "MQTT broker",
        Kind::Esphome => "ESPHome",
        Kind::Printer => "printer",
    };
    let version = found.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let claimed = match found.claimed {
        Some(true) => ", claimed",
        Some(false) => ", not claimed",
        None => "",
    };
    format!("{kind}{version}{claimed}")
}
