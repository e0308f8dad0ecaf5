//! The rules for addresses. No connection is made: names are resolved by the test, and judging is all that is done.

use std::cell::RefCell;
use std::io;
use std::net::IpAddr;

use taco_trace::target::address::{AddressClass, class_of, pin};
use taco_trace::target::{AddressError, Pinned};

/// The addresses of the names of this test; every other name is not there.
const NAMES: [(&str, &[&str]); 20] = [
    ("agent.example.com", &["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]),
    ("loopback.example.com", &["127.0.0.1"]),
    ("loopback6.example.com", &["::1"]),
    ("private.example.com", &["10.1.2.3"]),
    ("private172.example.com", &["172.31.255.255"]),
    ("private192.example.com", &["192.168.0.1"]),
    ("unique-local.example.com", &["fd12:3456::1"]),
    ("metadata.example.com", &["169.254.169.254"]),
    ("link-local6.example.com", &["fe80::1"]),
    ("provider.example.com", &["100.64.0.1"]),
    ("multicast.example.com", &["224.0.0.251"]),
    ("documentation.example.com", &["203.0.113.9"]),
    ("unspecified.example.com", &["0.0.0.0"]),
    ("mapped.example.com", &["::ffff:10.0.0.1"]),
    ("mapped-public.example.com", &["::ffff:93.184.216.34"]),
    ("nat64.example.com", &["64:ff9b::a00:1"]),
    ("nat64-public.example.com", &["64:ff9b::5db8:d822"]),
    ("6to4.example.com", &["2002:7f00:1::"]),
    ("one-of-two.example.com", &["93.184.216.34", "192.168.0.1"]),
    ("none.example.com", &[]),
];

fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = NAMES.iter().find(|(known, _)| *known == name);
    let addresses = found.ok_or_else(|| io::Error::other("no such name"))?.1;
    Ok(addresses.iter().map(|address| address.parse().unwrap()).collect())
}

fn pinned(address: &str) -> Result<Pinned, AddressError> {
    pin(address, false, &resolve)
}

/// The code of what comes of an address; empty when it is taken.
fn code(address: &str) -> &'static str {
    pinned(address).map_or_else(|error| error.code(), |_| "")
}

#[test]
fn addresses_are_taken_or_refused_by_the_rule_that_they_break() {
    let rows = [
        // Taken.
        ("https://agent.example.com", ""),
        ("https://agent.example.com/", ""),
        ("https://agent.example.com:443/agent?x=1#y", ""),
        ("HTTPS://AGENT.Example.COM/", ""),
        ("https://agent.example.com./", ""),
        ("  https://agent.example.com/  ", ""),
        ("https://nat64-public.example.com/", ""),
        // Another scheme or port.
        ("http://agent.example.com/", "address_scheme"),
        ("ftp://agent.example.com/", "address_scheme"),
        ("ws://agent.example.com/", "address_scheme"),
        ("file:///etc/passwd", "address_unreadable"),
        ("https://agent.example.com:8443/", "address_port"),
        ("https://agent.example.com:80/", "address_port"),
        ("https://agent.example.com:442/", "address_port"),
        ("https://agent.example.com:444/", "address_port"),
        ("https://agent.example.com:99999/", "address_unreadable"),
        // No address.
        ("", "address_unreadable"),
        ("agent.example.com", "address_unreadable"),
        ("https:agent.example.com", "address_unreadable"),
        ("https:///agent.example.com", "address_unreadable"),
        ("https://", "address_unreadable"),
        ("https://agent.example .com/", "address_unreadable"),
        ("https://agent.exam\nple.com/", "address_unreadable"),
        ("https:\\\\agent.example.com", "address_unreadable"),
        ("https://agent.example.com\\@10.0.0.1/", "address_unreadable"),
        // User information.
        ("https://user@agent.example.com/", "address_user_info"),
        ("https://user:word@agent.example.com/", "address_user_info"),
        ("https://@agent.example.com/", "address_user_info"),
        ("https://:@agent.example.com/", "address_user_info"),
        ("https://agent.example.com@127.0.0.1/", "address_user_info"),
        // IPv4 in all spellings.
        ("https://93.184.216.34/", "address_ip"),
        ("https://127.0.0.1/", "address_ip"),
        ("https://127.0.0.1./", "address_ip"),
        ("https://127.0.0.1:443/", "address_ip"),
        ("https://10.0.0.1/", "address_ip"),
        ("https://2130706433/", "address_ip"),
        ("https://0x7f000001/", "address_ip"),
        ("https://017700000001/", "address_ip"),
        ("https://0177.0.0.1/", "address_ip"),
        ("https://0x7f.0.0.1/", "address_ip"),
        ("https://127.1/", "address_ip"),
        ("https://127.0.1/", "address_ip"),
        ("https://0/", "address_ip"),
        ("https://%31%32%37.0.0.1/", "address_ip"),
        ("https://127%2e0%2e0%2e1/", "address_ip"),
        ("https://１２７.0.0.1/", "address_ip"),
        ("https://127。0。0。1/", "address_ip"),
        ("https://256.0.0.1/", "address_unreadable"),
        ("https://1.2.3.4.5/", "address_unreadable"),
        // IPv6 in all spellings.
        ("https://[2606:2800:220:1:248:1893:25c8:1946]/", "address_ip"),
        ("https://[::1]/", "address_ip"),
        ("https://[::1]:443/", "address_ip"),
        ("https://[0:0:0:0:0:0:0:1]/", "address_ip"),
        ("https://[::ffff:127.0.0.1]/", "address_ip"),
        ("https://[::ffff:7f00:1]/", "address_ip"),
        ("https://[::]/", "address_ip"),
        ("https://[fe80::1%25eth0]/", "address_unreadable"),
        // Names that are not public.
        ("https://localhost/", "address_name"),
        ("https://localhost./", "address_name"),
        ("https://agent.localhost/", "address_name"),
        ("https://agent/", "address_name"),
        ("https://agent.local/", "address_name"),
        ("https://agent.internal/", "address_name"),
        ("https://printer.home.arpa/", "address_name"),
        ("https://agent.test/", "address_name"),
        ("https://agent.example.com../", "address_name"),
        ("https://.example.com/", "address_name"),
        ("https://agent..example.com/", "address_name"),
        ("https://-agent.example.com/", "address_name"),
        // Names that lead to what is not public.
        ("https://loopback.example.com/", "address_not_public"),
        ("https://loopback6.example.com/", "address_not_public"),
        ("https://private.example.com/", "address_not_public"),
        ("https://private172.example.com/", "address_not_public"),
        ("https://private192.example.com/", "address_not_public"),
        ("https://unique-local.example.com/", "address_not_public"),
        ("https://metadata.example.com/", "address_not_public"),
        ("https://link-local6.example.com/", "address_not_public"),
        ("https://provider.example.com/", "address_not_public"),
        ("https://multicast.example.com/", "address_not_public"),
        ("https://documentation.example.com/", "address_not_public"),
        ("https://unspecified.example.com/", "address_not_public"),
        ("https://mapped.example.com/", "address_not_public"),
        ("https://mapped-public.example.com/", "address_not_public"),
        ("https://nat64.example.com/", "address_not_public"),
        ("https://6to4.example.com/", "address_not_public"),
        ("https://one-of-two.example.com/", "address_not_public"),
        // Names that lead nowhere.
        ("https://none.example.com/", "address_unresolved"),
        ("https://unknown.example.com/", "address_unresolved"),
    ];
    assert!(rows.len() >= 40);
    for (address, expected) in rows {
        assert_eq!(code(address), expected, "{address}: {:?}", pinned(address));
    }
}

/// What was judged is where connections go: the name as it is asked, its addresses, the port.
#[test]
fn a_name_is_resolved_once_and_pinned() {
    let asked = RefCell::new(Vec::new());
    let resolve = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        resolve(name)
    };
    let found = pin("https://Agent.Example.com./a/b?c=d#e", false, &resolve).unwrap();
    assert_eq!(*asked.borrow(), ["agent.example.com"]);
    assert_eq!(found.url().as_str(), "https://agent.example.com/a/b?c=d");
    assert_eq!((found.host(), found.is_lifted()), ("agent.example.com", false));
    let addresses: Vec<String> = found.addresses().iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["93.184.216.34:443", "[2606:2800:220:1:248:1893:25c8:1946]:443"]);
    asked.borrow_mut().clear();
    for address in ["http://agent.example.com/", "https://10.0.0.1/", "https://agent/", "https://u@agent.example.com/"]
    {
        pin(address, false, &resolve).unwrap_err();
    }
    assert_eq!(*asked.borrow(), [""; 0], "what is refused by its text is not even resolved");
}

#[test]
fn the_named_switch_lifts_the_rules_but_for_user_information() {
    let lifted = |address: &str| pin(address, true, &resolve);
    for (address, to) in [
        ("http://127.0.0.1:8765/", "127.0.0.1:8765"),
        ("http://10.0.0.1/", "10.0.0.1:80"),
        ("https://[::1]/", "[::1]:443"),
        ("http://private.example.com:8080/agent", "10.1.2.3:8080"),
        ("https://metadata.example.com/", "169.254.169.254:443"),
        ("http://2130706433:1/", "127.0.0.1:1"),
    ] {
        let found = lifted(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        assert!(found.is_lifted());
        assert_eq!(found.addresses().iter().map(ToString::to_string).collect::<Vec<_>>(), [to], "{address}");
    }
    for (address, code) in [
        ("ftp://127.0.0.1/", "address_scheme"),
        ("http://u:p@127.0.0.1/", "address_user_info"),
        ("http://unknown.example.com/", "address_unresolved"),
        ("127.0.0.1", "address_unreadable"),
    ] {
        assert_eq!(lifted(address).unwrap_err().code(), code, "{address}");
    }
}

/// Each block: its first and its last address, and its neighbours that are public.
#[test]
fn blocks_begin_and_end_where_the_registries_say() {
    use AddressClass::{
        Benchmarking, Documentation, Embedded, LinkLocal, Loopback, Multicast, Private, Reserved, Shared, Unspecified,
    };
    let class = |address: &str| class_of(address.parse().unwrap());
    for (first, last, is) in [
        ("0.0.0.0", "0.255.255.255", Unspecified),
        ("10.0.0.0", "10.255.255.255", Private),
        ("100.64.0.0", "100.127.255.255", Shared),
        ("127.0.0.0", "127.255.255.255", Loopback),
        ("169.254.0.0", "169.254.255.255", LinkLocal),
        ("172.16.0.0", "172.31.255.255", Private),
        ("192.0.0.0", "192.0.0.255", Reserved),
        ("192.0.2.0", "192.0.2.255", Documentation),
        ("192.88.99.0", "192.88.99.255", Reserved),
        ("192.168.0.0", "192.168.255.255", Private),
        ("198.18.0.0", "198.19.255.255", Benchmarking),
        ("198.51.100.0", "198.51.100.255", Documentation),
        ("203.0.113.0", "203.0.113.255", Documentation),
        ("224.0.0.0", "239.255.255.255", Multicast),
        ("240.0.0.0", "255.255.255.255", Reserved),
        ("::", "::", Unspecified),
        ("::1", "::1", Loopback),
        ("::2", "::ffff:ffff", Embedded),
        ("::ffff:0:0", "::ffff:ffff:ffff", Embedded),
        ("64:ff9b::7f00:0", "64:ff9b::7fff:ffff", Embedded),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Reserved),
        ("100::", "100::ffff:ffff:ffff:ffff", Reserved),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", Embedded),
        ("2001:1::", "2001:1::1", Reserved),
        ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", Benchmarking),
        ("2001:1ff::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Reserved),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Documentation),
        ("2002:a00::", "2002:aff:ffff::", Embedded),
        ("2002:c0a8::", "2002:c0a8:ffff:ffff:ffff:ffff:ffff:ffff", Embedded),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Documentation),
        ("4000::", "fbff:ffff::", Reserved),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Multicast),
        ("2606:2800::5efe:10.0.0.1", "2606:2800::200:5efe:10.0.0.1", Embedded),
    ] {
        assert_eq!((class(first), class(last)), (Some(is), Some(is)), "{first} to {last}");
    }
    for public in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::1",
        "2001:db7::1",
        "2001:db9::1",
        "2002:808:808::1",
        "2003::1",
        "3ffe::1",
        "3fff:1000::1",
        "64:ff9b::808:808",
    ] {
        assert_eq!(class(public), None, "{public}");
    }
}
