//! The registries of the installed package managers: each is asked for its own, in the sandbox and without network.

use crate::{Workshop, program::sandbox_error};
use process_sandbox::{Ended, Job, Limits};
use std::{sync::Arc, time::Duration};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tool::{Error, Result};

/// How long a package manager may take to answer, and how much it may print.
const PATIENCE: Duration = Duration::from_secs(60);
const OUTPUT: u64 = 64 * 1024;
/// The longest address of a registry.
const ADDRESS: usize = 200;
/// Prints the index that pip is set up with, else its default index and the host of the files there.
const ASK_PIP: &str = r#"
import subprocess, sys
asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
index = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
if index:
    print(index)
else:
    from pip._internal.models.index import PyPI
    print(PyPI.simple_url)
    print("https://%s/" % PyPI.file_storage_domain)
"#;

/// A package manager that has a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageManager {
    Pip,
    Npm,
}

/// Where a package manager finds its packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registry {
    /// The address of its index.
    pub index: String,
    /// The hosts of the index and of its files, each with its port.
    pub hosts: Vec<String>,
}

/// What the package managers answered, for as long as Hob runs.
#[derive(Clone, Default)]
pub(crate) struct Registries(Arc<Answers>);

#[derive(Default)]
struct Answers {
    pip: OnceCell<Registry>,
    npm: OnceCell<Registry>,
}

impl Workshop {
    /// The registry of a package manager, which is asked the first time.
    ///
    /// # Errors
    /// `Unavailable` where it is not installed, or names none.
    pub(crate) async fn registry(&self, of: PackageManager) -> Result<&Registry> {
        let Answers { pip, npm } = &*self.registries.0;
        let answer = if of == PackageManager::Pip { pip } else { npm };
        answer.get_or_try_init(|| self.ask_registry(of)).await
    }

    async fn ask_registry(&self, of: PackageManager) -> Result<Registry> {
        let (name, program, args) = match of {
            PackageManager::Pip => ("pip", "python3", vec!["-c", ASK_PIP]),
            PackageManager::Npm => ("npm", "npm", vec!["config", "get", "registry"]),
        };
        let mut job = Job::new(self.find(program)?).args(args);
        job.limits = Limits { wall: PATIENCE, cpu: PATIENCE, output: OUTPUT, ..self.limits() };
        let finished = self.sandbox.run(job, &CancellationToken::new()).await.map_err(sandbox_error)?;
        let named =
            if finished.ended == Ended::Exited(0) { read(&String::from_utf8_lossy(&finished.out)) } else { None };
        named.ok_or_else(|| {
            Error::unavailable(format!(
                "{name} does not name its registry of packages: an admin can install it (Debian: apt-get install {}), or correct \
                 its configuration",
                if of == PackageManager::Pip { "python3-pip" } else { "npm" }
            ))
        })
    }
}

/// The host of a registry's address, with its port; none where it is no plain address of the web.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (rest, port) = match url.strip_prefix("https://") {
        Some(rest) => (rest, 443),
        None => (url.strip_prefix("http://")?, 80),
    };
    let host = rest.split('/').next().unwrap_or_default();
    let plain = url.len() <= ADDRESS && url.chars().all(|c| c.is_ascii_alphanumeric() || ":/._-".contains(c));
    if !plain || !crate::gate::is_host(host) {
        return None;
    }
    let host = host.to_lowercase();
    Some(if host.contains(':') { host } else { format!("{host}:{port}") })
}

/// Reads an answer: one address a line, that of the index first.
fn read(answer: &str) -> Option<Registry> {
    let lines: Vec<&str> = answer.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let hosts: Option<Vec<String>> = lines.iter().map(|line| host_of(line)).collect();
    let index = (*lines.first()?).to_owned();
    Some(Registry { index, hosts: hosts? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_has_its_port() {
        for (url, host) in [
            ("https://packages.example.org/simple", Some("packages.example.org:443")),
            ("https://Packages.Example.org", Some("packages.example.org:443")),
            ("http://packages.example.org/", Some("packages.example.org:80")),
            ("http://127.0.0.1:4873/", Some("127.0.0.1:4873")),
            ("https://user:secret@packages.example.org/", None),
            ("https://packages.example.org/?x=1", None),
            ("https://*.example.org/", None),
            ("https:///x", None),
            ("file:///srv/packages", None),
            ("undefined", None),
            ("", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
        assert_eq!(host_of(&format!("https://a.org/{}", "x".repeat(ADDRESS))), None);
    }

    #[test]
    fn an_answer_is_addresses_and_nothing_else() {
        let two = read("https://index.example.org/simple\nhttps://files.example.org/\n").unwrap();
        assert_eq!(two.index, "https://index.example.org/simple");
        assert_eq!(two.hosts, ["index.example.org:443", "files.example.org:443"]);
        for answer in
            ["", "\n", "undefined\n", "npm warn something\nhttps://a.org/\n", "https://a.org/\nsh: not found\n"]
        {
            assert_eq!(read(answer), None, "{answer}");
        }
    }
}
