//! `package_manager`: packages for Python and Node, from the registries of pip and npm only, into the workspace.

use crate::{
    Program, Workshop,
    exec::{AROUND, code_limits, seconds},
    gate,
    registry::PackageManager as Known,
    result::{Form, answer},
    words,
};
use process_sandbox::{Limits, Network};
use std::time::Duration;
use tool::prelude::*;

/// How long it may take by default and at most, in seconds.
const TIME: (u32, u32) = (30, 300);

/// A package manager: which of its commands may run, and with which options.
struct Manager {
    known: Known,
    names: &'static [&'static str],
    program: &'static str,
    /// Words before the command.
    prefix: &'static [&'static str],
    /// Commands that reach the registry.
    online: &'static [&'static str],
    /// Commands that do not.
    offline: &'static [&'static str],
    /// Of these, those that remove something.
    removes: &'static [&'static str],
    /// Options that name another source, or run something.
    refused: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// The variable with the address of the registry.
    index: &'static str,
}

const MANAGERS: &[Manager] = &[
    Manager {
        known: Known::Pip,
        names: &["pip", "pip3"],
        program: "python3",
        prefix: &["-m", "pip"],
        online: &["install", "download", "index", "wheel"],
        offline: &["uninstall", "list", "show", "freeze", "check", "help"],
        removes: &["uninstall"],
        refused: &[
            "-i",
            "--index-url",
            "--extra-index-url",
            "-f",
            "--find-links",
            "--trusted-host",
            "--proxy",
            "--target",
            "-t",
            "--root",
            "--prefix",
            "--python",
            "--log",
            "--cert",
            "--client-cert",
            "--config-settings",
            "--global-option",
            "--editable",
            "-e",
        ],
        env: &[
            ("PIP_USER", "1"),
            ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
            ("PIP_NO_INPUT", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("PIP_NO_CACHE_DIR", "1"),
            ("PIP_CONFIG_FILE", "/dev/null"),
        ],
        index: "PIP_INDEX_URL",
    },
    Manager {
        known: Known::Npm,
        names: &["npm"],
        program: "npm",
        prefix: &[],
        online: &["install", "i", "add", "ci", "view", "info", "show", "search", "outdated", "update"],
        offline: &["uninstall", "remove", "rm", "un", "ls", "list", "ll", "init", "pkg", "explain", "root", "help"],
        removes: &["uninstall", "remove", "rm", "un"],
        refused: &[
            "--registry",
            "--prefix",
            "-g",
            "--global",
            "--location",
            "--userconfig",
            "--globalconfig",
            "--proxy",
            "--https-proxy",
            "--ignore-scripts",
            "--script-shell",
            "--node-options",
            "--git",
            "--cafile",
            "--foreground-scripts",
        ],
        env: &[
            ("npm_config_cache", "/tmp/npm"),
            ("npm_config_ignore_scripts", "true"),
            ("npm_config_update_notifier", "false"),
            ("npm_config_fund", "false"),
            ("npm_config_audit", "false"),
            ("npm_config_yes", "true"),
        ],
        index: "npm_config_registry",
    },
];

pub(crate) fn with_packages(family: Family<Workshop>) -> Family<Workshop> {
    family
        .tool("package_manager", Risk::Execute, package_manager)
        .destroys_where(|args| {
            parsed(args["manager"].as_str(), args["command"].as_str().unwrap_or_default()).is_ok_and(|p| p.removes())
        })
        .additive_where(|_, _, args| {
            let parsed = parsed(args["manager"].as_str(), args["command"].as_str().unwrap_or_default());
            parsed.is_ok_and(|p| p.only_looks())
        })
        .synonyms(&[
            ("cmd", "command"),
            ("cwd", "workingDir"),
            ("workingDirectory", "workingDir"),
            ("working_directory", "workingDir"),
            ("timeoutSeconds", "timeout"),
            ("timeout_seconds", "timeout"),
            ("packageManager", "manager"),
        ])
        .shows(&["workingDir"])
        .per_minute(3)
        .timeout(Duration::from_secs(TIME.1 as u64) + AROUND)
        .tags("pip npm install packages modules libraries dependencies python node")
        .example(json!({"command": "pip install requests"}))
}

/// Run a command of pip or npm, such as `pip install requests`. Packages are installed into the workspace; a person has to approve
/// what reaches a registry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PackageManager {
    /// The command, with or without the name of the manager: `npm install lodash`.
    command: String,
    /// pip or npm, where the command does not say.
    manager: Option<String>,
    /// Packages to add to the command.
    #[serde(default)]
    packages: Vec<String>,
    /// Folder to run it in, relative to the workspace.
    working_dir: Option<String>,
    /// Seconds it may take: 30 by default, 300 at most.
    timeout: Option<f64>,
}

async fn package_manager(workshop: Workshop, cx: Cx, args: PackageManager) -> Result<Output> {
    let Parsed { manager, mut rest, verb } = parsed(args.manager.as_deref(), &args.command)?;
    rest.extend(args.packages);
    manager.check(&rest)?;
    let program = workshop.find(manager.program)?;
    let mut env: Vec<(String, String)> =
        manager.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut network = Network::None;
    if manager.online.contains(&&*verb) {
        let registry = workshop.registry(manager.known).await?;
        let shown = format!("{} {}", manager.names[0], rest.join(" "));
        workshop.approve_network(&cx, "package_manager", &shown).await?;
        network = gate::network(&workshop, &cx, "package_manager", registry.hosts.clone());
        env.push((manager.index.to_owned(), registry.index.clone()));
    }
    let wall = seconds(args.timeout, TIME, false);
    // pip asks before it removes something, and a person has approved it already.
    let confirms = manager.removes.contains(&&*verb) && manager.names[0] == "pip";
    let words =
        manager.prefix.iter().map(|word| (*word).to_owned()).chain(rest).chain(confirms.then(|| "-y".to_owned()));
    let program = Program {
        env,
        folder: args.working_dir,
        limits: Limits { wall, cpu: wall, ..code_limits(&workshop, None) },
        network,
        ..Program::new(program, words)
    };
    Ok(answer(&workshop.run(&cx, program).await?, Form::Code))
}

#[derive(Debug)]
struct Parsed {
    manager: &'static Manager,
    rest: Vec<String>,
    verb: String,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.names[0])
    }
}

impl Parsed {
    fn removes(&self) -> bool {
        self.manager.removes.contains(&&*self.verb)
    }
    fn only_looks(&self) -> bool {
        [
            "list", "show", "freeze", "check", "help", "ls", "ll", "explain", "root", "view", "info", "search",
            "index", "outdated",
        ]
        .contains(&&*self.verb)
    }
}

/// Reads a command: one simple command without anything for a shell.
fn parsed(manager: Option<&str>, command: &str) -> Result<Parsed> {
    let script = words::read(command);
    let [single] = &script.commands[..] else {
        return Err(Error::bad_args("give one command of pip or npm, such as `pip install requests`"));
    };
    if script.is_unclear || !single.writes.is_empty() || command.contains(['<', '>', '|', ';', '&', '`', '$', '\n']) {
        let at = "the version of a package is written as `requests==2.31.0`";
        return Err(Error::bad_args(format!(
            "the command has something for a shell in it, and there is none here: leave it out; {at}"
        )));
    }
    let mut rest: Vec<String> = single.words.iter().map(|word| word.text.clone()).collect();
    let by_name = |name: &str| MANAGERS.iter().find(|m| m.names.contains(&name));
    let first = rest.first().cloned().unwrap_or_default();
    let found = match by_name(&first) {
        Some(found) => {
            rest.remove(0);
            Some(found)
        }
        None => by_name(manager.unwrap_or_default().trim().to_lowercase().as_str()),
    };
    let Some(found) = found else {
        let name = text_kit::truncate(manager.unwrap_or(&first), 40);
        return Err(Error::bad_args(format!("`{name}` is no package manager that is used here: use pip or npm")));
    };
    let verb = rest.first().cloned().unwrap_or_default();
    found.check(&rest)?;
    Ok(Parsed { manager: found, rest, verb })
}

impl Manager {
    fn check(&self, rest: &[String]) -> Result<()> {
        let verb = rest.first().map(String::as_str).unwrap_or_default();
        if !self.online.contains(&verb) && !self.offline.contains(&verb) {
            let all = [self.online, self.offline].concat().join(", ");
            return Err(Error::denied(format!(
                "`{} {}` is not run here: use one of {all}",
                self.names[0],
                text_kit::truncate(verb, 40)
            )));
        }
        let is_refused = |word: &&String| {
            let name = word.split('=').next().unwrap_or_default();
            self.refused.contains(&name)
                || self.refused.iter().any(|r| r.len() == 2 && !word.starts_with("--") && word.starts_with(r))
        };
        if let Some(word) = rest.iter().find(is_refused) {
            return Err(Error::denied(format!(
                "the option `{}` is not used here: leave it out",
                text_kit::truncate(word, 60)
            )));
        }
        // A package by address would come from somewhere else.
        if let Some(word) = rest
            .iter()
            .skip(1)
            .find(|word| word.contains("://") || word.starts_with("git+") || word.starts_with("github:"))
        {
            return Err(Error::denied(format!(
                "packages come from the registry of {} only: name `{}` instead of its address",
                self.names[0],
                text_kit::truncate(word, 60)
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_and_without_their_manager() {
        for (manager, command, name, verb) in [
            (None, "pip install requests", "pip", "install"),
            (None, "pip3 list", "pip", "list"),
            (Some("npm"), "install lodash", "npm", "install"),
            (Some("pip"), "npm ls", "npm", "ls"),
            (Some("PIP"), "show 'requests'", "pip", "show"),
        ] {
            let parsed = parsed(manager, command).unwrap();
            assert_eq!((parsed.manager.names[0], &*parsed.verb), (name, verb), "{command}");
        }
    }

    #[test]
    fn what_would_run_something_else_is_refused() {
        for (command, why) in [
            ("cargo install x", "no package manager"),
            ("pip install x; rm y", "one command"),
            ("pip install x > y", "for a shell"),
            ("pip install $x", "for a shell"),
            ("pip config set a b", "not run here"),
            ("npm exec x", "not run here"),
            ("npm run build", "not run here"),
            ("npm publish", "not run here"),
            ("pip install --index-url http://evil x", "not used here"),
            ("pip install -ihttp://evil x", "not used here"),
            ("pip install --index-url=http://evil x", "not used here"),
            ("npm install -g x", "not used here"),
            ("npm install --registry=http://evil x", "not used here"),
            ("npm install --ignore-scripts=false x", "not used here"),
            ("pip install git+https://x/y", "packages come from"),
            ("npm install https://x/y.tgz", "packages come from"),
            ("npm install github:a/b", "packages come from"),
            ("", "one command"),
        ] {
            let error = parsed(None, command).unwrap_err();
            assert!(error.message().contains(why), "{command}: {error}");
        }
    }

    #[test]
    fn removing_and_looking_are_told_apart() {
        let of = |command| parsed(None, command).unwrap();
        assert!(of("pip uninstall x").removes() && !of("pip install x").removes());
        assert!(of("npm ls").only_looks() && !of("npm i x").only_looks());
    }
}
