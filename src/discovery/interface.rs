//! Which network interfaces are the household's: not loopback, not a tunnel, not a container's bridge.

use std::net::IpAddr;

/// Interfaces that are left out unless the configuration says otherwise: containers, virtual machines, tunnels.
/// A `*` at the end matches any ending.
pub const IGNORED: &[&str] = &[
    "docker*",
    "veth*",
    "br-*",
    "virbr*",
    "vnet*",
    "vmnet*",
    "vboxnet*",
    "cni*",
    "podman*",
    "lxc*",
    "lxdbr*",
    "incusbr*",
    "flannel*",
    "cali*",
    "kube*",
    "tailscale*",
    "zt*",
    "wg*",
    "tun*",
    "tap*",
];

/// One address of this machine and the interface it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Such as `eth0`.
    pub name: &'a str,
    /// Of this interface; there may be others.
    pub address: IpAddr,
    /// Whether it leads to one other machine only: a tunnel, a modem.
    pub point_to_point: bool,
}

/// Whether a Hob that listens at `listens` announces an address to the household.
pub fn fit(interface: Interface<'_>, listens: IpAddr, ignored: &[impl AsRef<str>]) -> bool {
    let Interface { name, address, point_to_point } = interface;
    // An interface counts as the household's by its kind; the list holds exceptions.
    if point_to_point || address.is_loopback() || address.is_unspecified() || address.is_multicast() {
        return false;
    }
    let heard = match listens {
        IpAddr::V4(any) if any.is_unspecified() => address.is_ipv4(),
        IpAddr::V6(any) if any.is_unspecified() => true,
        // An explicit listen address selects its interface, whatever its name.
        one => return address == one,
    };
    heard && !is_ignored(name, ignored)
}

/// Whether an interface is one of the ignored ones.
pub(crate) fn is_ignored(name: &str, ignored: &[impl AsRef<str>]) -> bool {
    ignored.iter().any(|pattern| matches(pattern.as_ref(), name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// The addresses of this machine at which the household reaches a Hob that listens at `listens`; IPv4 first.
pub fn addresses(listens: IpAddr, ignored: &[impl AsRef<str>]) -> Vec<IpAddr> {
    let all = if_addrs::get_if_addrs().unwrap_or_default();
    let fitting = all
        .iter()
        .filter(|i| i.is_oper_up())
        .filter(|i| fit(Interface { name: &i.name, address: i.ip(), point_to_point: i.is_p2p() }, listens, ignored));
    let mut found: Vec<IpAddr> = fitting.map(|i| i.ip()).collect();
    found.sort();
    found.dedup();
    found
}

/// Every address of this machine, also those that are not announced.
pub(crate) fn own() -> Vec<IpAddr> {
    if_addrs::get_if_addrs().unwrap_or_default().iter().map(|i| i.ip()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_of_the_household_are_told_from_others() {
        for (name, address, point_to_point, listens, expected) in [
            ("eth0", "192.168.1.5", false, "0.0.0.0", true),
            ("wlan0", "10.0.0.7", false, "0.0.0.0", true),
            ("br0", "192.168.1.5", false, "0.0.0.0", true),
            ("bridge0", "192.168.1.5", false, "0.0.0.0", true),
            ("eth0", "169.254.3.4", false, "0.0.0.0", true),
            ("eth0", "fe80::1", false, "0.0.0.0", false),
            ("eth0", "fe80::1", false, "::", true),
            ("eth0", "192.168.1.5", false, "::", true),
            ("lo", "127.0.0.1", false, "0.0.0.0", false),
            ("lo", "::1", false, "::", false),
            ("ppp0", "10.8.0.2", true, "0.0.0.0", false),
            ("wg0", "10.8.0.2", false, "0.0.0.0", false),
            ("tailscale0", "100.64.0.1", false, "0.0.0.0", false),
            ("docker0", "172.17.0.1", false, "0.0.0.0", false),
            ("br-0a1b2c", "172.18.0.1", false, "0.0.0.0", false),
            ("veth12ab", "169.254.1.1", false, "::", false),
            ("virbr0", "192.168.122.1", false, "0.0.0.0", false),
            ("cni0", "10.42.0.1", false, "0.0.0.0", false),
            ("podman0", "10.88.0.1", false, "0.0.0.0", false),
            ("lxcbr0", "10.0.3.1", false, "0.0.0.0", false),
            // One address: that one, and no other.
            ("eth0", "192.168.1.5", false, "192.168.1.5", true),
            ("eth0", "192.168.1.6", false, "192.168.1.5", false),
            ("wlan0", "192.168.2.5", false, "192.168.1.5", false),
            ("docker0", "172.17.0.1", false, "172.17.0.1", true),
            ("lo", "127.0.0.1", false, "127.0.0.1", false),
        ] {
            let interface = Interface { name, address: address.parse().unwrap(), point_to_point };
            let told = fit(interface, listens.parse().unwrap(), IGNORED);
            assert_eq!(told, expected, "{name} {address} when listening at {listens}");
        }
    }

    #[test]
    fn the_list_is_the_callers() {
        let fits = |name, ignored: &[&str]| {
            let interface = Interface { name, address: "10.0.0.1".parse().unwrap(), point_to_point: false };
            fit(interface, "0.0.0.0".parse().unwrap(), ignored)
        };
        assert!(fits("docker0", &[]));
        assert!(!fits("eth1", &["eth1"]));
        assert!(fits("eth10", &["eth1"]));
        assert!(!fits("eth10", &["eth1*"]));
    }
}
