//! Which IP addresses are not public, by the registries of special addresses (RFC 6890 and those that follow it).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is that is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// `10/8`, `172.16/12`, `192.168/16`, `fc00::/7`, `fec0::/10`.
    Private,
    /// `100.64.0.0/10`: between a provider and its customers.
    Shared,
    /// `169.254.0.0/16`, `fe80::/10`.
    LinkLocal,
    /// `224.0.0.0/4`, `ff00::/8`.
    Multicast,
    /// Of documents and examples.
    Documentation,
    /// `198.18.0.0/15`, `2001:2::/48`: of measurements.
    Benchmarking,
    /// IPv4 within IPv6: mapped, compatible, Teredo and ISATAP always, NAT64 and 6to4 when what they lead to is not
    /// public.
    Embedded,
    /// Anything else that is not given out for the public.
    Reserved,
}

impl AddressClass {
    /// Its name in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::LinkLocal => "link_local",
            Self::Multicast => "multicast",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Embedded => "embedded",
            Self::Reserved => "reserved",
        }
    }
}

/// What an address is; none when it is public.
#[must_use]
pub fn class_of(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => class_of_v4(address),
        IpAddr::V6(address) => class_of_v6(address),
    }
}

/// Blocks of IPv4: the first address as four octets, the length of the prefix, the class.
const V4: [([u8; 4], u32, AddressClass); 15] = [
    ([0, 0, 0, 0], 8, AddressClass::Unspecified),
    ([10, 0, 0, 0], 8, AddressClass::Private),
    ([100, 64, 0, 0], 10, AddressClass::Shared),
    ([127, 0, 0, 0], 8, AddressClass::Loopback),
    ([169, 254, 0, 0], 16, AddressClass::LinkLocal),
    ([172, 16, 0, 0], 12, AddressClass::Private),
    ([192, 0, 0, 0], 24, AddressClass::Reserved),
    ([192, 0, 2, 0], 24, AddressClass::Documentation),
    // Relays of 6to4, given up.
    ([192, 88, 99, 0], 24, AddressClass::Reserved),
    ([192, 168, 0, 0], 16, AddressClass::Private),
    ([198, 18, 0, 0], 15, AddressClass::Benchmarking),
    ([198, 51, 100, 0], 24, AddressClass::Documentation),
    ([203, 0, 113, 0], 24, AddressClass::Documentation),
    ([224, 0, 0, 0], 4, AddressClass::Multicast),
    ([240, 0, 0, 0], 4, AddressClass::Reserved),
];

fn class_of_v4(address: Ipv4Addr) -> Option<AddressClass> {
    let bits = u32::from(address);
    let is_in =
        |(first, length, _): &&([u8; 4], u32, AddressClass)| (bits ^ u32::from_be_bytes(*first)) >> (32 - *length) == 0;
    V4.iter().find(is_in).map(|(.., class)| *class)
}

fn class_of_v6(address: Ipv6Addr) -> Option<AddressClass> {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| class_of_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    let embedded = |class: Option<AddressClass>| class.map(|_| AddressClass::Embedded);
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(AddressClass::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(AddressClass::Loopback),
        // Compatible and mapped: no server in the world has such an address.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] => Some(AddressClass::Embedded),
        // NAT64, which networks without IPv4 answer with for every name.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(v4(high, low)),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(AddressClass::Private),
        [0xfe80..=0xfebf, ..] => Some(AddressClass::LinkLocal),
        [0xff00..=0xffff, ..] => Some(AddressClass::Multicast),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some(AddressClass::Documentation),
        [0x2001, 2, 0, ..] => Some(AddressClass::Benchmarking),
        [0x2001, 0, ..] => Some(AddressClass::Embedded),
        [0x2001, 0..=0x01ff, ..] => Some(AddressClass::Reserved),
        [0x2002, high, low, ..] => embedded(v4(high, low)),
        [_, _, _, _, 0 | 0x0200, 0x5efe, ..] => Some(AddressClass::Embedded),
        [0x2000..=0x3fff, ..] => None,
        _ => Some(AddressClass::Reserved),
    }
}
