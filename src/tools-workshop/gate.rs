//! A gate that leads a program to some hosts only.

use crate::Workshop;
use futures::future::BoxFuture;
use process_sandbox::{Connection, Gate, Network};
use std::{io, sync::Arc};
use tool::{Consult, Cx, Risk, prelude::json};

/// The ports that a host without one may be reached at.
const PORTS: [u16; 2] = [443, 80];

struct HostGate {
    hosts: Vec<String>,
    inner: Arc<dyn Gate>,
    cx: Cx,
    tool: &'static str,
}

impl Gate for HostGate {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            if !leads_to(&self.hosts, host, port) {
                let host = text_kit::truncate(host, 80);
                let why = format!("this program may not reach `{host}` at port {port}: an admin decides on its hosts");
                return Err(io::Error::other(why));
            }
            // What the caller may reach at all.
            let consult = Consult {
                tool: self.tool.to_owned(),
                version: 0,
                action: "fetch",
                details: json!({"host": host}),
                risk: Risk::Send,
                ask: false,
                about: String::new(),
                reason: String::new(),
            };
            self.cx.ports().ask.consult(self.cx.clone(), consult).await.map_err(|e| io::Error::other(e.to_string()))?;
            self.inner.connect(host, port).await
        })
    }
}

/// Network access of a program that `tool` runs, to these hosts: `name`, `name:port`, `*.name` for every name below, or `*` for
/// all. None where there are none.
pub(crate) fn network(workshop: &Workshop, cx: &Cx, tool: &'static str, hosts: Vec<String>) -> Network {
    if hosts.is_empty() {
        return Network::None;
    }
    Network::Guarded(Arc::new(HostGate { hosts, inner: workshop.gate.clone(), cx: cx.clone(), tool }))
}

/// Whether a text is a host as lists of hosts name it, without `*` for all.
pub(crate) fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let (name, port) = name.rsplit_once(':').map_or((name, None), |(name, port)| (name, Some(port)));
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !name.is_empty()
        && name.len() <= 253
        && name.chars().all(fits)
        && (!host.starts_with("*.") || name.contains('.'))
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn leads_to(hosts: &[String], host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    hosts.iter().any(|entry| {
        if entry == "*" {
            return true;
        }
        let (name, own) =
            entry.rsplit_once(':').map_or((entry.as_str(), None), |(name, port)| (name, port.parse().ok()));
        let at_port = own.map_or_else(|| PORTS.contains(&port), |own: u16| own == port);
        let name = name.to_ascii_lowercase();
        let is_it = match name.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            None => host == name,
        };
        at_port && is_it
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hosts_that_are_listed() {
        let hosts = ["api.github.com", "*.amazonaws.com", "k8s.local:6443"].map(str::to_owned);
        for (host, port, leads) in [
            ("api.github.com", 443, true),
            ("API.GitHub.com.", 443, true),
            ("api.github.com", 22, false),
            ("evil-api.github.com", 443, false),
            ("api.github.com.evil.example", 443, false),
            ("s3.eu-west-1.amazonaws.com", 443, true),
            ("amazonaws.com", 443, false),
            ("evilamazonaws.com", 443, false),
            (".amazonaws.com", 443, false),
            ("k8s.local", 6443, true),
            ("k8s.local", 443, false),
        ] {
            assert_eq!(leads_to(&hosts, host, port), leads, "{host}:{port}");
        }
        assert!(leads_to(&["*".to_owned()], "anything", 8080) && !leads_to(&[], "x", 443));
    }

    #[test]
    fn hosts_are_names_without_scheme_or_path() {
        for host in ["a.org", "*.a.org", "a.org:8443", "10.0.0.1", "nas"] {
            assert!(is_host(host), "{host}");
        }
        for host in ["", "*", "*.org", "https://a.org", "a.org/x", "a.org:0", "a.org:x", "a b", "u@a.org"] {
            assert!(!is_host(host), "{host}");
        }
    }
}
