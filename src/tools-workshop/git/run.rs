//! Running git so that nothing a repository brings along runs with it.
//!
//! Three layers, each of which would do alone for most tricks:
//!
//! 1. The sandbox: no network, nothing but the place the repository is in, and that read-only unless the call changes it.
//! 2. The configuration: over the repository's own lies a copy that only describes it (see [`super::config`]), read-only.
//!    Filters, drivers, hooks, signers, aliases, includes and addresses are not in it.
//! 3. Environment and settings that win over every file: no hooks, no file system monitor, no editor, pager, signer or
//!    credential helper, no transport of any kind, no submodules, no configuration of the system or a home folder.

use crate::{Workshop, output, program::sandbox_error};
use process_sandbox::{Ended, Finished, Job, Limits, Stdin};
use std::time::Duration;
use text_kit::truncate;
use tool::{Cx, Error, Result};

/// How long git waits for its turn while too many programs run.
const TURN: Duration = Duration::from_secs(30);

/// Whether a command of git changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// All it sees is read-only.
    Read,
    /// It writes the repository and its files.
    Write,
}

/// Settings on the command line, which win over those of every file.
const SETTINGS: &[(&str, &str)] = &[
    ("advice.detachedHead", "false"),
    ("branch.autoSetupMerge", "false"),
    ("color.ui", "false"),
    ("commit.gpgSign", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.editor", "false"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.quotePath", "false"),
    ("core.sshCommand", "false"),
    ("core.untrackedCache", "false"),
    ("credential.helper", ""),
    ("diff.ignoreSubmodules", "all"),
    ("gc.auto", "0"),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("safe.directory", "*"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("tag.gpgSign", "false"),
];

/// The environment, which also wins over the settings of every file.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_EDITOR", "false"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C.UTF-8"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS", "false"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
];

/// The limits of one command.
fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(60),
        cpu: Duration::from_secs(60),
        memory: 1 << 30,
        output: 8 << 20,
        file_size: 1 << 30,
        ..Limits::default()
    }
}

/// The environment of a command over a repository whose folder inside is `top`.
pub fn environment(cx: &Cx, top: &str, access: Access) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut set = |name: &str, value: String| all.push((name.to_owned(), value));
    set("GIT_DIR", format!("{top}/.git"));
    set("GIT_WORK_TREE", top.to_owned());
    set("GIT_CEILING_DIRECTORIES", top.to_owned());
    if access == Access::Read {
        set("GIT_OPTIONAL_LOCKS", "0".into());
    }
    let (name, email) = author(cx);
    for role in ["AUTHOR", "COMMITTER"] {
        set(&format!("GIT_{role}_NAME"), name.clone());
        set(&format!("GIT_{role}_EMAIL"), email.clone());
    }
    // The zone of the household, in a form that needs no file.
    let offset = cx.ports().clock.local().offset().seconds();
    let (sign, minutes) = (if offset < 0 { '+' } else { '-' }, offset.abs() / 60);
    set("TZ", format!("<LOC>{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    set("GIT_CONFIG_COUNT", SETTINGS.len().to_string());
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned());
        set(&format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned());
    }
    all
}

/// Who commits: the person, by their name, with an address that reaches nobody.
fn author(cx: &Cx) -> (String, String) {
    let known = cx.ports().people.name_of(cx.user()).unwrap_or_default();
    let plain: String = known.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
    let name = match truncate(plain.trim(), 100) {
        name if name.chars().any(char::is_alphanumeric) => name,
        _ => "Hob".to_owned(),
    };
    let mut mailbox = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            c if c.is_ascii_alphanumeric() => mailbox.push(c),
            _ if mailbox.ends_with('.') || mailbox.is_empty() => {}
            _ => mailbox.push('.'),
        }
    }
    let mailbox = match mailbox.trim_matches('.') {
        "" => "someone",
        mailbox => mailbox,
    };
    (name, format!("{mailbox}@hob.invalid"))
}

/// A command of git that ended.
pub struct Ran {
    ended: Ended,
    pub out: Vec<u8>,
    err: Vec<u8>,
    truncated: bool,
}

/// Runs a job of git.
pub async fn run(tools: &Workshop, cx: &Cx, mut job: Job, input: &[u8]) -> Result<Ran> {
    job.limits = limits();
    if !input.is_empty() {
        job.stdin = Stdin::Bytes(input.to_vec());
    }
    let turn = tokio::time::timeout(TURN, tools.turns.acquire()).await;
    let Ok(Ok(_turn)) = turn else {
        return Err(Error::unavailable("too many programs run at once: try again in a minute"));
    };
    let finished: Finished = tools.sandbox.run(job, cx.cancel()).await.map_err(sandbox_error)?;
    Ok(Ran { ended: finished.ended, out: finished.out, err: finished.err, truncated: finished.truncated })
}

impl Ran {
    /// Whether git says that it succeeded.
    pub fn is_ok(&self) -> bool {
        self.ended == Ended::Exited(0)
    }

    /// Fails with what git says, unless it succeeded.
    pub fn check(self, tools: &Workshop) -> Result<Self> {
        let why = match self.ended {
            Ended::Exited(0) => return Ok(self),
            // What was written so far is enough; `whole` and `text` say that there was more.
            Ended::OutputLimit => return Ok(Self { truncated: true, ..self }),
            Ended::TimedOut => "it took longer than a minute: name fewer files",
            Ended::OutOfMemory => "it needs more memory than programs get here",
            Ended::DiskFull => "it wrote more than programs may here",
            Ended::Stopped => return Err(Error::failed("git was stopped")),
            Ended::Exited(_) | Ended::Signaled(_) => "",
        };
        if !why.is_empty() {
            return Err(Error::failed(format!("git did not finish: {why}")));
        }
        let said = [&self.err[..], &self.out[..]].concat();
        let said = output::finished(&said, output::breaks_off(self.ended), &tools.scrubber);
        let lines: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
            .take(12)
            .collect();
        let said = truncate(&lines.join("\n"), 1500);
        Err(Error::failed(match said.as_str() {
            "" => "git failed and gave no reason".to_owned(),
            said => format!("git refused: {said}"),
        }))
    }

    /// Its output, if all of it is there.
    pub fn whole(&self, what: &str) -> Result<&[u8]> {
        if self.truncated {
            return Err(Error::failed(format!(
                "{what} is longer than git may print here: name a folder or fewer files"
            )));
        }
        Ok(&self.out)
    }

    /// Its output as text without secrets, and whether that is all of it.
    pub fn text(&self, tools: &Workshop, most: usize) -> Result<(String, bool)> {
        let text = output::finished(&self.out, output::breaks_off(self.ended), &tools.scrubber);
        if text.len() <= most {
            return Ok((text, !self.truncated));
        }
        let end = text[..text.floor_char_boundary(most)].rfind('\n').map_or(0, |at| at + 1);
        Ok((text[..end].to_owned(), false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_environment_name_each_thing_once() {
        for names in [SETTINGS, ENVIRONMENT] {
            let mut sorted: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            sorted.dedup();
            assert_eq!(sorted.len(), names.len());
            assert!(sorted.is_sorted());
        }
    }
}
