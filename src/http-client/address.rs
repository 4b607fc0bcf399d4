//! Classifies addresses: public, in the house, this device, or never to be reached by a tool.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressClass {
    /// The internet.
    Outside,
    /// Another machine of the house: private, link-local, unique-local, shared (CGNAT).
    House,
    /// This device itself.
    Device,
    /// Metadata services, multicast, broadcast, reserved and documentation ranges.
    Nowhere,
}

impl AddressClass {
    /// Why a tool may not reach it.
    pub(crate) fn why(self) -> &'static str {
        match self {
            AddressClass::Outside => "is on the internet",
            AddressClass::House => "is an address inside the house",
            AddressClass::Device => "is this device itself",
            AddressClass::Nowhere => "is an address no tool has business with",
        }
    }
}

/// Cloud metadata services: they hand out keys to any client on the machine.
const METADATA: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// The network of `ip`, also through the IPv6 forms that carry an IPv4 address.
pub(crate) fn place(ip: IpAddr) -> AddressClass {
    match ip {
        IpAddr::V4(ip) => place4(ip),
        IpAddr::V6(ip) => place6(ip),
    }
}

fn place4(ip: Ipv4Addr) -> AddressClass {
    if METADATA.contains(&ip) {
        return AddressClass::Nowhere;
    }
    match ip.octets() {
        // Linux connects 0.0.0.0 to the device itself.
        [0, ..] | [127, ..] => AddressClass::Device,
        [10, ..] | [192, 168, ..] | [169, 254, ..] => AddressClass::House,
        [172, b, ..] if b & 0xf0 == 16 => AddressClass::House,
        [100, b, ..] if b & 0xc0 == 64 => AddressClass::House,
        // Protocol assignments, documentation, 6to4 relays, benchmarks (IANA special-purpose registry).
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => AddressClass::Nowhere,
        [198, 18 | 19, ..] => AddressClass::Nowhere,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => AddressClass::Nowhere,
        _ => AddressClass::Outside,
    }
}

fn place6(ip: Ipv6Addr) -> AddressClass {
    let s = ip.segments();
    let inner = Ipv4Addr::from(((s[6] as u32) << 16) | s[7] as u32);
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => AddressClass::Device,
        // ::ffff:a.b.c.d connects to a.b.c.d; 64:ff9b:: is how networks without IPv4 reach it (RFC 6052).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => place4(inner),
        // ::a.b.c.d is obsolete; where it still leads, it leads there. Never outside.
        [0, 0, 0, 0, 0, 0, ..] => match place4(inner) {
            AddressClass::Outside => AddressClass::Nowhere,
            place => place,
        },
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => AddressClass::Nowhere,
        [a, ..] if a & 0xfe00 == 0xfc00 => AddressClass::House,
        // Link-local, and site-local before it was abolished.
        [a, ..] if a & 0xff80 == 0xfe80 => AddressClass::House,
        // 6to4 carries an IPv4 address in its second and third groups; Teredo and others live in 2001::/23.
        [0x2002, ..] | [0x2001, 0..0x200, ..] => AddressClass::Nowhere,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => AddressClass::Nowhere,
        // Only 2000::/3 is handed out as global unicast.
        [a, ..] if a & 0xe000 == 0x2000 => AddressClass::Outside,
        _ => AddressClass::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::{AddressClass::*, *};

    #[test]
    fn every_range_is_told_apart() {
        let table = [
            ("8.8.8.8", Outside),
            ("1.1.1.1", Outside),
            ("93.184.216.34", Outside),
            ("9.255.255.255", Outside),
            ("11.0.0.0", Outside),
            ("172.15.255.255", Outside),
            ("172.32.0.0", Outside),
            ("192.167.1.1", Outside),
            ("192.169.1.1", Outside),
            ("100.63.255.255", Outside),
            ("100.128.0.0", Outside),
            ("169.253.1.1", Outside),
            ("223.255.255.255", Outside),
            ("2606:4700:4700::1111", Outside),
            ("2a00:1450:4001:81b::200e", Outside),
            ("::ffff:8.8.8.8", Outside),
            ("64:ff9b::808:808", Outside),
            ("10.0.0.1", House),
            ("10.255.255.255", House),
            ("172.16.0.1", House),
            ("172.31.255.255", House),
            ("192.168.0.1", House),
            ("192.168.255.255", House),
            ("169.254.0.1", House),
            ("100.64.0.1", House),
            ("100.127.255.255", House),
            ("fc00::1", House),
            ("fd12:3456:789a::1", House),
            ("fe80::1", House),
            ("febf::1", House),
            ("fec0::1", House),
            ("::ffff:192.168.1.1", House),
            ("::ffff:10.0.0.1", House),
            ("::192.168.1.1", House),
            ("64:ff9b::192.168.1.1", House),
            ("127.0.0.1", Device),
            ("127.255.255.254", Device),
            ("0.0.0.0", Device),
            ("0.1.2.3", Device),
            ("::", Device),
            ("::1", Device),
            ("::ffff:127.0.0.1", Device),
            ("::ffff:0.0.0.0", Device),
            ("::127.0.0.1", Device),
            ("64:ff9b::127.0.0.1", Device),
            ("169.254.169.254", Nowhere),
            ("::ffff:169.254.169.254", Nowhere),
            ("fd00:ec2::254", Nowhere),
            ("100.100.100.200", Nowhere),
            ("168.63.129.16", Nowhere),
            ("192.0.0.192", Nowhere),
            ("192.0.2.1", Nowhere),
            ("198.51.100.7", Nowhere),
            ("203.0.113.7", Nowhere),
            ("198.18.0.1", Nowhere),
            ("198.19.255.255", Nowhere),
            ("192.88.99.1", Nowhere),
            ("224.0.0.1", Nowhere),
            ("239.255.255.250", Nowhere),
            ("240.0.0.1", Nowhere),
            ("255.255.255.255", Nowhere),
            ("2002:7f00:1::", Nowhere),
            ("2002:c0a8:101::1", Nowhere),
            ("2001:0:4136:e378::1", Nowhere),
            ("2001:db8::1", Nowhere),
            ("3fff:fff::1", Nowhere),
            ("64:ff9b:1::1", Nowhere),
            ("::8.8.8.8", Nowhere),
            ("100::1", Nowhere),
            ("5f00::1", Nowhere),
            ("ff02::1", Nowhere),
            ("ff0e::1", Nowhere),
        ];
        for (text, expected) in table {
            assert_eq!(place(text.parse().unwrap()), expected, "{text}");
        }
    }
}
