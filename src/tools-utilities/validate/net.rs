//! Validate email addresses, URLs, hosts and MAC addresses.

use super::{Valid, ValidationResult};
use std::net::IpAddr;
use text_kit::{check_email, check_host};
use tool::prelude::*;
use url::Url;

/// The accepted URL schemes.
const SCHEMES: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];

pub(super) fn email(text: &str) -> ValidationResult {
    check_email(text).map(Valid::new)
}

pub(super) fn url(text: &str) -> ValidationResult {
    let url = Url::parse(text).map_err(|why| match why {
        url::ParseError::RelativeUrlWithoutBase => "it does not begin with http:// or https://".to_owned(),
        url::ParseError::EmptyHost => "it has no host".to_owned(),
        other => format!("the host or another part is wrong ({other})"),
    })?;
    if !SCHEMES.contains(&url.scheme()) {
        return Err(format!("`{}` is not the scheme of a web address", super::excerpt(url.scheme())));
    }
    let details = json!({
        "scheme": url.scheme(), "host": url.host_str(), "port": url.port_or_known_default(), "path": url.path(),
        "query": url.query(), "fragment": url.fragment()
    });
    Ok(Valid::new(url.to_string()).with(details))
}

pub(super) fn ip(text: &str, fits: fn(&IpAddr) -> bool) -> ValidationResult {
    let ip: IpAddr = text.parse().map_err(|_| "it is not an IP address such as 192.0.2.1 or 2001:db8::1".to_owned())?;
    if !fits(&ip) {
        return Err("it is an address of the other IP version".to_owned());
    }
    let loopback = ip.is_loopback();
    let private = match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    };
    let version = if ip.is_ipv4() { 4 } else { 6 };
    Ok(Valid::new(ip.to_string()).with(json!({"version": version, "private": private, "loopback": loopback})))
}

/// A host name in lower case, without its final dot.
pub(super) fn hostname(text: &str) -> Result<String, String> {
    check_host(text, |c| c.is_ascii_alphanumeric())
}

/// Six pairs of hex digits with `:` or `-` between, three groups of four with dots, or twelve digits alone.
pub(super) fn mac(text: &str) -> ValidationResult {
    let marks: Vec<char> = text.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase()).collect();
    if digits.len() != 12 {
        return Err("it is not 12 hex digits".to_owned());
    }
    let size = match marks.as_slice() {
        [] => 12,
        [':', ..] | ['-', ..] if marks.len() == 5 => 2,
        ['.', '.'] => 4,
        _ => return Err("its digits must be in pairs separated by :".to_owned()),
    };
    if marks.iter().any(|mark| *mark != marks[0]) {
        return Err("it mixes separators between its digits".to_owned());
    }
    if text.split(|c: char| !c.is_ascii_hexdigit()).any(|group| group.len() != size) {
        return Err("its digits must be in pairs separated by :".to_owned());
    }
    let pairs: Vec<&str> = (0..6).filter_map(|at| digits.get(2 * at..2 * at + 2)).collect();
    Ok(Valid::new(pairs.join(":")))
}
