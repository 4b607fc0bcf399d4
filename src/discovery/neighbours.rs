//! The machines of the local network that this one has talked with lately: the kernel's table of neighbours.

use crate::interface::is_ignored;
use std::net::{IpAddr, Ipv4Addr};

/// Linux's table. Elsewhere there is none, and nothing is known.
const TABLE: &str = "/proc/net/arp";
/// The flag of an entry whose hardware address is known.
const COMPLETE: u32 = 0x2;

/// The addresses of the neighbours, except on ignored interfaces. Nothing is sent.
pub fn neighbours(ignored: &[impl AsRef<str>]) -> Vec<IpAddr> {
    parse(&std::fs::read_to_string(TABLE).unwrap_or_default(), ignored)
}

fn parse(table: &str, ignored: &[impl AsRef<str>]) -> Vec<IpAddr> {
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, _, _, interface] = fields[..] else { return None };
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        let address: Ipv4Addr = address.parse().ok()?;
        let is_fit = flags & COMPLETE != 0 && !is_ignored(interface, ignored);
        is_fit.then_some(IpAddr::V4(address))
    };
    let mut all: Vec<IpAddr> = table.lines().filter_map(entry).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_entries_of_the_households_interfaces_are_neighbours() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
                     192.168.1.20     0x1         0x2         02:fc:00:00:00:05     *        eth0\n\
                     192.168.1.5      0x1         0x2         02:fc:00:00:00:06     *        eth0\n\
                     192.168.1.9      0x1         0x0         00:00:00:00:00:00     *        eth0\n\
                     172.17.0.2       0x1         0x2         02:42:ac:11:00:02     *        docker0\n\
                     nonsense\n";
        let found: Vec<String> = parse(table, &["docker*"]).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["192.168.1.5", "192.168.1.20"]);
        assert_eq!(parse("", &["docker*"]), Vec::<IpAddr>::new());
    }
}
