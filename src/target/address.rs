//! Where a target may be: https, port 443, a public domain name all of whose addresses are public.
//!
//! A name is resolved once, every address of it is judged, and the connection goes to just these: a name that
//! answers otherwise the next time leads nowhere else. `allow_private` lifts the rules by name, for closed sites: http,
//! other ports and addresses that are not public are then allowed. User names in an address, and redirects, never are.
//!
//! Judging is pure; who asks hands in how names are resolved ([`system`] asks the system).

mod class;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use reqwest::Url;

pub use class::{AddressClass, class_of};

/// The port of https.
const HTTPS: u16 = 443;
/// Longest name, and longest part of one, in octets (RFC 1035).
const NAME_OCTETS: usize = 253;
const LABEL_OCTETS: usize = 63;
/// Last parts of names that are not public: RFC 6761, 6762, 7686, 8375, 9476, and what closed networks use.
const PRIVATE_ENDS: [&str; 16] = [
    "alt",
    "arpa",
    "corp",
    "domain",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "test",
];

/// Why an address is refused. No connection was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no address.
    #[error("no address: {0}")]
    NotAnAddress(String),
    /// Something else than https; without the rules, than http as well.
    #[error("scheme {0}")]
    Scheme(String),
    /// Another port than 443.
    #[error("port {0}")]
    Port(u16),
    /// A user name or a password stands in it.
    #[error("user information in the address")]
    UserInfo,
    /// An IP address instead of a name, however it is written.
    #[error("the IP address {0} instead of a name")]
    IpAddress(IpAddr),
    /// A name that is not public.
    #[error("{0} is no public domain name")]
    NotPublicName(String),
    /// The name cannot be resolved, or has no address.
    #[error("{name} cannot be resolved: {message}")]
    Unresolved {
        /// The name.
        name: String,
        /// What the resolver says.
        message: String,
    },
    /// The name has an address that is not public.
    #[error("{name} has the address {address}, which is {}", class.as_str())]
    NotPublicAddress {
        /// The name.
        name: String,
        /// The first such address.
        address: IpAddr,
        /// What it is.
        class: AddressClass,
    },
}

impl AddressError {
    /// Its code, as records and templates name it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnAddress(_) => "address_unreadable",
            Self::Scheme(_) => "address_scheme",
            Self::Port(_) => "address_port",
            Self::UserInfo => "address_user_info",
            Self::IpAddress(_) => "address_ip",
            Self::NotPublicName(_) => "address_name",
            Self::Unresolved { .. } => "address_unresolved",
            Self::NotPublicAddress { .. } => "address_not_public",
        }
    }
}

/// How names are resolved: the addresses of a name.
pub type Resolve<'r> = &'r dyn Fn(&str) -> io::Result<Vec<IpAddr>>;

/// An address that was judged, and the addresses that its name had then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    url: Url,
    host: String,
    addresses: Vec<SocketAddr>,
    is_lifted: bool,
}

impl Pinned {
    /// Where requests go.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The name, without a dot at its end; an IP address where the rules are lifted.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// To which addresses connections are made, and to no other.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether the rules were lifted for it: a report says so.
    #[must_use]
    pub fn is_lifted(&self) -> bool {
        self.is_lifted
    }
}

/// Judges an address, resolves its name, and judges what comes of that.
///
/// # Errors
/// The first rule that is broken; see [`AddressError`].
pub fn pin(address: &str, allow_private: bool, resolve: Resolve<'_>) -> Result<Pinned, AddressError> {
    let (url, host) = readable(address)?;
    if allow_private {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        }
    } else {
        judge_text(&url, &host)?;
    }
    let port = url.port_or_known_default().unwrap_or(HTTPS);
    let found = match literal(&host) {
        Some(ip) => vec![ip],
        None => resolved(&host, resolve)?,
    };
    if !allow_private && let Some((address, class)) = found.iter().find_map(|ip| Some((*ip, class_of(*ip)?))) {
        return Err(AddressError::NotPublicAddress { name: host, address, class });
    }
    let addresses = found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    Ok(Pinned { url, host, addresses, is_lifted: allow_private })
}

/// The address with its host; one dot at the end of a name is taken off, which says nothing else.
fn readable(address: &str) -> Result<(Url, String), AddressError> {
    let unreadable = |message: &str| AddressError::NotAnAddress(message.to_owned());
    // Spaces and line breaks within would be dropped by the parser, so that it reads another address than people do.
    let address = address.trim();
    if address.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(unreadable("white space, control characters or backslashes"));
    }
    // The parser takes `https:host` and `https:///host` for `https://host`.
    let (_, rest) = address.split_once("://").ok_or_else(|| unreadable("no ://"))?;
    if rest.starts_with('/') {
        return Err(unreadable("no host"));
    }
    let mut url = Url::parse(address).map_err(|error| AddressError::NotAnAddress(error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() || has_user_info(rest) {
        return Err(AddressError::UserInfo);
    }
    let Some(host) = url.host_str().map(str::to_owned).filter(|host| !host.is_empty()) else {
        return Err(unreadable("no host"));
    };
    let host = host.strip_suffix('.').map_or(host.clone(), str::to_owned);
    url.set_host(Some(&host)).map_err(|error| AddressError::NotAnAddress(error.to_string()))?;
    url.set_fragment(None);
    Ok((url, host))
}

/// Whether there is an `@` before the path: the parser forgets an empty user name.
fn has_user_info(rest: &str) -> bool {
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// The rules that need no resolver.
fn judge_text(url: &Url, host: &str) -> Result<(), AddressError> {
    if url.scheme() != "https" {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    if let Some(ip) = literal(host) {
        return Err(AddressError::IpAddress(ip));
    }
    if let Some(port) = url.port_or_known_default().filter(|port| *port != HTTPS) {
        return Err(AddressError::Port(port));
    }
    if is_public_name(host) { Ok(()) } else { Err(AddressError::NotPublicName(host.to_owned())) }
}

/// The IP address that a host is. The parser has put decimal, octal, hexadecimal and short forms into the usual one.
fn literal(host: &str) -> Option<IpAddr> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    host.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn is_public_name(host: &str) -> bool {
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c != '-');
        let is_plain = label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        is_plain && label.len() <= LABEL_OCTETS && edge(label.chars().next()) && edge(label.chars().next_back())
    };
    let end = labels.last().copied().unwrap_or_default();
    let is_number = end.chars().all(|c| c.is_ascii_digit());
    host.len() <= NAME_OCTETS
        && labels.len() > 1
        && labels.iter().all(is_label)
        && !is_number
        && !PRIVATE_ENDS.contains(&end)
}

fn resolved(host: &str, resolve: Resolve<'_>) -> Result<Vec<IpAddr>, AddressError> {
    let unresolved = |message: String| AddressError::Unresolved { name: host.to_owned(), message };
    let mut found = resolve(host).map_err(|error| unresolved(crate::outbound::one_line(&error.to_string())))?;
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err(unresolved("no address".to_owned())) } else { Ok(found) }
}

/// The addresses that the system knows of a name.
///
/// # Errors
/// That of the system.
pub fn system(name: &str) -> io::Result<Vec<IpAddr>> {
    Ok((name, HTTPS).to_socket_addrs()?.map(|address| address.ip()).collect())
}
