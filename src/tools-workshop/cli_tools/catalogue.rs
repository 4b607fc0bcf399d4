//! The command-line tools that Hob knows and those that an admin added, their risk, and their policy.

use crate::registry::host_of;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};
use store::{Coded, Key, Level, Record};
use tool::{
    Error, Result,
    prelude::{JsonSchema, schemars},
};

/// The longest texts of a tool.
const TITLE: usize = 60;
const ABOUT: usize = 300;
const HOSTS: usize = 20;

/// How much harm a tool can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    /// It reads.
    Low,
    /// It changes files.
    Medium,
    /// It runs code of a project, or reaches any server.
    #[default]
    High,
    /// It reaches beyond the workspace.
    Critical,
}

/// Whether a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolPolicy {
    /// It runs.
    Allowed,
    /// A person approves each call that they do not make by hand.
    Prompt,
    /// It does not run.
    Blocked,
}

impl Coded for RiskLevel {
    const ALL: &'static [Self] = &[RiskLevel::Low, RiskLevel::Medium, RiskLevel::High, RiskLevel::Critical];
    const UNKNOWN: Self = RiskLevel::Critical;
}

/// A policy as an admin set it; [`SetPolicy::ByRisk`] is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SetPolicy {
    #[default]
    ByRisk,
    Set(ToolPolicy),
}

impl Coded for SetPolicy {
    const ALL: &'static [Self] = &[
        SetPolicy::ByRisk,
        SetPolicy::Set(ToolPolicy::Allowed),
        SetPolicy::Set(ToolPolicy::Prompt),
        SetPolicy::Set(ToolPolicy::Blocked),
    ];
    const UNKNOWN: Self = SetPolicy::Set(ToolPolicy::Blocked);
}

impl RiskLevel {
    /// The policy of a tool whose policy nobody set.
    pub fn policy(self) -> ToolPolicy {
        match self {
            RiskLevel::Low => ToolPolicy::Allowed,
            RiskLevel::Medium | RiskLevel::High => ToolPolicy::Prompt,
            RiskLevel::Critical => ToolPolicy::Blocked,
        }
    }

    fn points(self) -> u32 {
        match self {
            RiskLevel::Low => 10,
            RiskLevel::Medium => 40,
            RiskLevel::High => 70,
            RiskLevel::Critical => 95,
        }
    }

    fn of_points(points: u32) -> Self {
        match points {
            0..30 => RiskLevel::Low,
            30..60 => RiskLevel::Medium,
            60..90 => RiskLevel::High,
            _ => RiskLevel::Critical,
        }
    }
}

/// Arguments that raise the risk of a call, and by how much.
const RISKY: &[(&str, u32)] = &[
    ("--force", 30),
    ("-f", 10),
    ("--fix", 20),
    ("--write", 20),
    ("-w", 10),
    ("-i", 15),
    ("--in-place", 20),
    ("--delete", 40),
    ("delete", 40),
    ("remove", 30),
    ("rm", 40),
    ("drop", 40),
    ("prune", 40),
    ("publish", 50),
    ("push", 40),
    ("deploy", 50),
    ("install", 30),
    ("exec", 40),
    ("-exec", 50),
    ("-x", 15),
    ("--exec", 50),
    ("--pre", 50),
    ("--eval", 40),
    ("-e", 20),
    ("--upload-file", 40),
    ("-T", 30),
    ("-d", 20),
    ("--data", 30),
    ("-X", 20),
    ("-o", 10),
    ("--output", 10),
    ("sudo", 80),
];

/// The risk of a call, 0 to 100, and its level.
pub(super) fn score(level: RiskLevel, args: &[String]) -> (u32, RiskLevel) {
    let points = |arg: &String| {
        let name = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
        RISKY.iter().find(|(risky, _)| *risky == name).map_or(0, |(_, points)| *points)
    };
    let raised = args.iter().map(points).max().unwrap_or(0);
    let all = (level.points() + raised).min(100);
    (all, RiskLevel::of_points(all))
}

/// A tool, of the catalogue or of an admin.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CliTool {
    pub name: String,
    pub title: String,
    pub category: String,
    pub risk: RiskLevel,
    pub about: String,
    /// The name of its file; that of the tool where it is empty.
    program: String,
    /// Its npm package; empty where there is none.
    pub package: String,
    /// The registry of its package; npm's where it is empty.
    pub registry: String,
    version: Vec<String>,
    pub hosts: Vec<String>,
    /// Whether it reaches the registry that npm names, too.
    pub npm_registry: bool,
    pub writes: bool,
    #[serde(skip)]
    pub custom: bool,
    #[serde(skip)]
    pub set: SetPolicy,
}

impl CliTool {
    /// The name of its file.
    pub fn program(&self) -> &str {
        if self.program.is_empty() { &self.name } else { &self.program }
    }

    /// The arguments with which it says its version.
    pub fn version_args(&self) -> Vec<String> {
        if self.version.is_empty() { vec!["--version".into()] } else { self.version.clone() }
    }

    /// Its policy.
    pub fn policy(&self) -> ToolPolicy {
        match self.set {
            SetPolicy::ByRisk => self.risk.policy(),
            SetPolicy::Set(policy) => policy,
        }
    }

    /// The policy of a call: arguments can raise the risk of a tool whose policy nobody set.
    pub fn policy_of(&self, args: &[String]) -> ToolPolicy {
        match self.set {
            SetPolicy::ByRisk => score(self.risk, args).1.policy().min(ToolPolicy::Prompt).max(self.risk.policy()),
            SetPolicy::Set(policy) => policy,
        }
    }
}

#[derive(Deserialize)]
struct Catalogue {
    tool: Vec<CliTool>,
}

static CATALOGUE: LazyLock<Vec<CliTool>> =
    LazyLock::new(|| match toml::from_str::<Catalogue>(include_str!("catalogue.toml")) {
        Ok(catalogue) => catalogue.tool,
        Err(error) => {
            tracing::error!(%error, "the catalogue of command-line tools cannot be read");
            vec![]
        }
    });

/// Whether the catalogue has a tool of this name.
pub(super) fn is_known(name: &str) -> bool {
    CATALOGUE.iter().any(|tool| tool.name == name)
}

/// The catalogue with what an admin changed and added, by name.
pub(super) fn merged(stored: &[StoredTool]) -> BTreeMap<String, CliTool> {
    let mut all: BTreeMap<String, CliTool> = CATALOGUE.iter().map(|tool| (tool.name.clone(), tool.clone())).collect();
    for own in stored {
        match all.get_mut(&own.name) {
            Some(tool) => tool.set = own.policy,
            None if own.custom => drop(all.insert(own.name.clone(), own.to_tool())),
            // It was set for a tool that the catalogue of an earlier version had.
            None => {}
        }
    }
    all
}

/// What an admin changes of a tool, or a tool that they add.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CliToolSettings {
    /// Whether it may run; by its risk where it is left out.
    pub policy: Option<ToolPolicy>,
    /// A new tool: its name for people.
    pub title: Option<String>,
    /// A new tool: the heading in lists.
    pub category: Option<String>,
    /// A new tool: how much harm it can do; `high` by default.
    pub risk_level: Option<RiskLevel>,
    /// A new tool: what it is for.
    pub about: Option<String>,
    /// A new tool: the name of its file in the system's folders or in the package; that of the tool by default.
    pub program: Option<String>,
    /// A new tool: its npm package, such as `prettier` or `@scope/name@1.2.3`.
    pub package: Option<String>,
    /// A new tool: the registry of its package; npm's by default.
    pub registry: Option<String>,
    /// A new tool: the hosts that it may reach; none by default.
    pub hosts: Option<Vec<String>>,
    /// A new tool: whether it may change files; true by default.
    pub writes: Option<bool>,
}

/// The stored settings of a tool. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredTool {
    pub name: String,
    #[serde(with = "store::coded")]
    pub policy: SetPolicy,
    pub custom: bool,
    title: String,
    category: String,
    #[serde(with = "store::coded")]
    risk: RiskLevel,
    about: String,
    program: String,
    package: String,
    registry: String,
    hosts: Vec<String>,
    writes: bool,
}

impl Record for StoredTool {
    const NAME: &'static str = "cli-tools";
    const WORD: &'static str = "command-line tool";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}

impl StoredTool {
    /// Reads the settings of an admin.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong.
    pub fn read(name: &str, given: CliToolSettings) -> Result<Self> {
        let bad = |text: String| Err(Error::bad_args(text));
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let is_name = |text: &str| {
            text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
        };
        if !is_name(name) {
            let name = text_kit::truncate(name, 40);
            return bad(format!(
                "`{name}` is not the name of a tool: use letters, digits, dots, dashes and underscores"
            ));
        }
        let policy = given.policy.map_or(SetPolicy::ByRisk, SetPolicy::Set);
        if is_known(name) {
            let more = given.title.is_some()
                || given.category.is_some()
                || given.risk_level.is_some()
                || given.about.is_some()
                || given.program.is_some()
                || given.package.is_some()
                || given.registry.is_some()
                || given.hosts.is_some()
                || given.writes.is_some();
            return match more {
                true => bad(format!(
                    "`{name}` is in the catalogue, where only `policy` can be set: add a tool of another name"
                )),
                false => Ok(Self { name: name.to_owned(), policy, ..Self::default() }),
            };
        }
        let text = |text: Option<String>| text.unwrap_or_default().trim().to_owned();
        let or_name = |text: String| if text.is_empty() { name.to_owned() } else { text };
        let tool = Self {
            name: name.to_owned(),
            policy,
            custom: true,
            title: or_name(text(given.title)),
            category: text(given.category),
            risk: given.risk_level.unwrap_or_default(),
            about: text(given.about),
            program: or_name(text(given.program)),
            package: text(given.package),
            registry: text(given.registry),
            hosts: given.hosts.unwrap_or_default(),
            writes: given.writes.unwrap_or(true),
        };
        let long = |text: &str, most: usize| text.chars().count() > most || text.chars().any(char::is_control);
        if long(&tool.title, TITLE) || long(&tool.category, TITLE) || long(&tool.about, ABOUT) {
            return bad(format!(
                "`title` and `category` have {TITLE} characters at most, and `about` {ABOUT}, in one line"
            ));
        }
        if !is_name(&tool.program) {
            return bad("`program` must be the name of a file, such as `prettier`, and no path".into());
        }
        if !tool.package.is_empty() && !is_package(&tool.package) {
            return bad("`package` must be an npm package, such as `prettier`, `prettier@3` or `@scope/name`".into());
        }
        if !tool.registry.is_empty() && host_of(&tool.registry).is_none() {
            return bad("`registry` must be an address such as https://npm.example.org/".into());
        }
        if tool.hosts.len() > HOSTS || !tool.hosts.iter().all(|host| host == "*" || crate::gate::is_host(host)) {
            return bad(format!("`hosts` lists at most {HOSTS} hosts, such as `api.example.org` or `*.example.org`"));
        }
        Ok(tool)
    }

    fn to_tool(&self) -> CliTool {
        CliTool {
            name: self.name.clone(),
            title: self.title.clone(),
            category: if self.category.is_empty() { "own".into() } else { self.category.clone() },
            risk: self.risk,
            about: self.about.clone(),
            program: self.program.clone(),
            package: self.package.clone(),
            registry: self.registry.clone(),
            version: vec![],
            hosts: self.hosts.clone(),
            npm_registry: false,
            writes: self.writes,
            custom: true,
            set: self.policy,
        }
    }
}

/// Whether a text names an npm package, perhaps with a version, and no file, address or repository.
fn is_package(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let is_name = |name: &str| {
        !name.is_empty() && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits)
    };
    let is_version = |version: &str| {
        !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-^~+".contains(c))
    };
    let (scope, rest) = match text.strip_prefix('@').map(|rest| rest.split_once('/')) {
        Some(Some((scope, rest))) => (Some(scope), rest),
        Some(None) => return false,
        None => (None, text),
    };
    let (name, version) = rest.split_once('@').map_or((rest, None), |(name, version)| (name, Some(version)));
    text.len() <= 120 && scope.is_none_or(is_name) && is_name(name) && version.is_none_or(is_version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn read(name: &str, settings: serde_json::Value) -> Result<StoredTool> {
        StoredTool::read(name, serde_json::from_value(settings).map_err(|e| Error::bad_args(e.to_string()))?)
    }

    #[test]
    fn the_catalogue_can_be_read() {
        let all = merged(&[]);
        assert_eq!(all.len(), CATALOGUE.len(), "a name is there twice");
        assert!(all.len() >= 40);
        for tool in all.values() {
            assert!(!tool.title.is_empty() && !tool.category.is_empty() && !tool.about.is_empty(), "{}", tool.name);
            assert!(tool.package.is_empty() || is_package(&tool.package), "{}", tool.name);
            assert!(tool.hosts.iter().all(|host| host == "*" || crate::gate::is_host(host)), "{}", tool.name);
        }
        assert_eq!(all["jq"].policy(), ToolPolicy::Allowed);
        assert_eq!(all["make"].policy(), ToolPolicy::Prompt);
        assert_eq!(all["docker"].policy(), ToolPolicy::Blocked);
    }

    #[test]
    fn arguments_raise_the_risk() {
        for (level, line, points, raised) in [
            (RiskLevel::Low, ".name data.json", 10, RiskLevel::Low),
            (RiskLevel::Low, "-x rm", 50, RiskLevel::Medium),
            (RiskLevel::Low, "--pre=evil x", 60, RiskLevel::High),
            (RiskLevel::Medium, "--write .", 60, RiskLevel::High),
            (RiskLevel::High, "-X POST --data x", 100, RiskLevel::Critical),
            (RiskLevel::Critical, "", 95, RiskLevel::Critical),
        ] {
            assert_eq!(score(level, &args(line)), (points, raised), "{line}");
        }
        let all = merged(&[]);
        assert_eq!(all["jq"].policy_of(&args(". x")), ToolPolicy::Allowed);
        assert_eq!(all["fd"].policy_of(&args("x -x rm")), ToolPolicy::Prompt);
        assert_eq!(all["curl"].policy_of(&args("-X POST --data x")), ToolPolicy::Prompt);
        assert_eq!(all["ssh"].policy_of(&args("host")), ToolPolicy::Blocked);
    }

    #[test]
    fn what_an_admin_sets_counts() {
        let stored = [
            read("docker", json!({"policy": "allowed"})).unwrap(),
            read("jq", json!({"policy": "blocked"})).unwrap(),
            read("greet", json!({"package": "greet@1.0.0", "registry": "http://127.0.0.1:4873/", "riskLevel": "low"}))
                .unwrap(),
        ];
        let all = merged(&stored);
        assert_eq!(all["docker"].policy_of(&args("rm x")), ToolPolicy::Allowed);
        assert_eq!(all["jq"].policy(), ToolPolicy::Blocked);
        let own = &all["greet"];
        assert_eq!((own.program(), own.policy(), own.custom), ("greet", ToolPolicy::Allowed, true));
        assert_eq!(host_of(&own.registry).as_deref(), Some("127.0.0.1:4873"));
    }

    #[test]
    fn settings_that_do_not_fit_are_refused() {
        for (name, settings) in [
            ("../x", json!({"policy": "allowed"})),
            ("jq", json!({"program": "sh"})),
            ("jq", json!({"policy": "maybe"})),
            ("own", json!({"program": "/bin/sh"})),
            ("own", json!({"package": "git+https://x/y"})),
            ("own", json!({"package": "../evil"})),
            ("own", json!({"package": "x@file:../y"})),
            ("own", json!({"package": "--registry=x"})),
            ("own", json!({"registry": "ftp://x"})),
            ("own", json!({"registry": "https://user@x/"})),
            ("own", json!({"hosts": ["http://x"]})),
            ("own", json!({"title": "a\nb"})),
        ] {
            assert!(matches!(read(name, settings.clone()), Err(Error::BadArgs(_))), "{name} {settings}");
        }
        for package in ["prettier", "prettier@3", "@scope/name", "@scope/name@1.2.3-beta.1", "x@^1"] {
            assert!(is_package(package), "{package}");
        }
    }
}
