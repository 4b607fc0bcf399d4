//! A program with a credential, as an admin sets it up: what is stored, and what of it is sealed.

use crate::{
    credentialed::{
        commands::Commands,
        presets::{Preset, preset},
    },
    gate::is_host,
    verify,
};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use store::{Coded, Key, Level, Record};
use tool::{
    Error, Result,
    prelude::{JsonSchema, schemars},
};

/// The bounds of a program's settings.
const PATTERNS: usize = 50;
const PATTERN: usize = 300;
const TIPS: usize = 600;
const VARIABLES: usize = 20;
const VALUE: usize = 8 * 1024;
const HOSTS: usize = 20;
/// Shorter secrets also occur in ordinary text, so that hiding them in an output would not be reliable.
const SECRET: usize = 8;
const TIMEOUT: u32 = 30;
const LONGEST: u32 = 600;

/// Whether a program sees the caller's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Files {
    /// It sees none.
    #[default]
    None,
    /// It reads them.
    Read,
    /// It reads and changes them.
    Write,
}

impl Coded for Files {
    const ALL: &'static [Self] = &[Files::None, Files::Read, Files::Write];
    const UNKNOWN: Self = Files::None;
}

/// The settings of a program, as an admin gives them. What is left out is that of the preset.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BinarySettings {
    /// The preset: `gh`, `gcloud`, `aws`, `kubectl` or `terraform`; by default the one of the same name, if there is one. An
    /// empty text is none.
    pub preset: Option<String>,
    /// The absolute path of the program; by default it is looked for in the system's folders.
    pub path: Option<String>,
    /// The secrets by the names of their variables, such as `GH_TOKEN`. Left out, those that are there stay.
    #[serde(alias = "encrypted_env", alias = "encryptedEnv")]
    pub secrets: Option<BTreeMap<String, String>>,
    /// Variables that are no secrets, such as `AWS_DEFAULT_REGION`.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The commands that may run, one a line, such as `issue list --state=open|closed --limit=`, or `!issue close <1>` for one
    /// that changes something; `*` permits everything.
    pub commands: Option<Vec<String>>,
    /// Regular expressions: arguments that match one are refused.
    #[serde(alias = "deny_args")]
    pub deny_args: Option<Vec<String>>,
    /// Flags that are refused because the program would print its credential.
    #[serde(alias = "deny_verbose")]
    pub deny_verbose: Option<Vec<String>>,
    /// How long a call may take, in seconds; 600 at most.
    #[serde(alias = "timeout_seconds")]
    pub timeout_seconds: Option<u32>,
    /// How to use it, for models.
    pub tips: Option<String>,
    /// The hosts that it may reach, such as `api.example.org` or `*.example.org`.
    pub hosts: Option<Vec<String>>,
    /// Whether it sees the caller's files.
    pub files: Option<Files>,
    /// Whether members may use it, and not only admins.
    #[serde(default)]
    pub members: bool,
    /// Whether it may be used at all.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// The stored settings of a program, without its secrets. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Binary {
    pub name: String,
    /// Empty where there is none.
    pub preset: String,
    /// Empty where it is looked for by name.
    pub path: String,
    pub secrets: Vec<String>,
    pub settings: BTreeMap<String, String>,
    /// Empty where they are those of the preset.
    pub commands: Vec<String>,
    pub deny_args: Vec<String>,
    pub deny_verbose: Vec<String>,
    pub timeout_seconds: u32,
    pub tips: String,
    pub hosts: Vec<String>,
    #[serde(with = "store::coded")]
    pub files: Files,
    pub members: bool,
    pub enabled: bool,
}

impl Record for Binary {
    const NAME: &'static str = "credentialed-binaries";
    const WORD: &'static str = "program with a credential";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}

/// The sealed part: the secrets, and what they were entered for. A record that was changed behind Hob's back leads them nowhere
/// else.
#[derive(Serialize, Deserialize)]
pub(super) struct Sealed {
    pub secrets: BTreeMap<String, String>,
    path: String,
    hosts: BTreeSet<String>,
    files: Files,
}

impl Sealed {
    pub fn new(secrets: BTreeMap<String, String>, binary: &Binary) -> Self {
        Self {
            secrets,
            path: binary.path.clone(),
            hosts: binary.all_hosts().into_iter().collect(),
            files: binary.files,
        }
    }

    /// Whether the secrets were entered for a program at this path with these hosts.
    pub fn fits(&self, binary: &Binary) -> bool {
        self.path == binary.path
            && (binary.files == self.files || binary.files == Files::None)
            && binary.all_hosts().iter().all(|host| self.hosts.contains(host))
    }
}

/// The name under which the secrets of a program are sealed.
pub(super) fn sealed_name(binary: &str) -> String {
    format!("credentialed-binary/{binary}")
}

/// Checks the name of a program.
///
/// # Errors
/// `BadArgs` for anything but a file name.
pub(super) fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    if name.is_empty()
        || name.len() > 64
        || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !name.chars().all(fits)
    {
        let name = text_kit::truncate(name, 40);
        return Err(Error::bad_args(format!(
            "`{name}` is not the name of a program: use letters, digits, dots, dashes and underscores, such as `gh`"
        )));
    }
    Ok(())
}

impl Binary {
    /// Reads the settings of an admin.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong.
    pub fn read(name: &str, given: &BinarySettings) -> Result<Self> {
        check_name(name)?;
        let wanted = given.preset.as_deref().map(str::trim);
        let of = match wanted {
            Some("") => None,
            Some(wanted) => Some(preset(wanted).ok_or_else(|| {
                Error::bad_args(format!(
                    "there is no preset `{}`: there are gh, gcloud, aws, kubectl and terraform",
                    text_kit::truncate(wanted, 40)
                ))
            })?),
            None => preset(name),
        };
        let list = |own: &Option<Vec<String>>, preset: fn(&Preset) -> &Vec<String>| {
            own.clone().unwrap_or_else(|| of.map(preset).cloned().unwrap_or_default())
        };
        let path = given.path.as_deref().unwrap_or_default().trim();
        let binary = Self {
            name: name.to_owned(),
            preset: of.map(|preset| preset.name.clone()).unwrap_or_default(),
            path: if path.is_empty() { String::new() } else { verify::program(path)?.display().to_string() },
            secrets: vec![],
            settings: given.settings.clone(),
            commands: given.commands.clone().unwrap_or_default(),
            deny_args: list(&given.deny_args, |preset| &preset.deny_args),
            deny_verbose: list(&given.deny_verbose, |preset| &preset.deny_verbose),
            timeout_seconds: given.timeout_seconds.or(of.map(|preset| preset.timeout_seconds)).unwrap_or(TIMEOUT),
            tips: given.tips.clone().unwrap_or_else(|| of.map(|preset| preset.tips.clone()).unwrap_or_default()),
            hosts: list(&given.hosts, |preset| &preset.hosts),
            files: given.files.or(of.map(|preset| preset.workspace)).unwrap_or_default(),
            members: given.members,
            enabled: given.enabled,
        };
        binary.check(of)?;
        Ok(binary)
    }

    fn check(&self, of: Option<&Preset>) -> Result<()> {
        let bad = |text: String| Err(Error::bad_args(text));
        if self.commands.is_empty() && of.is_none() {
            return bad(format!(
                "`{}` has no preset, so `commands` must list what may run, such as [\"status\", \"!deploy --stage=test|live\"]",
                self.name
            ));
        }
        self.permitted()?;
        Patterns::read(&self.deny_args, &self.deny_verbose)?;
        if self.timeout_seconds == 0 || self.timeout_seconds > LONGEST {
            return bad(format!("`timeoutSeconds` must be 1 to {LONGEST}"));
        }
        if self.tips.chars().count() > TIPS || self.tips.chars().any(char::is_control) {
            return bad(format!("`tips` must be one line of {TIPS} characters at most"));
        }
        if self.settings.len() > VARIABLES {
            return bad(format!("at most {VARIABLES} variables can be set"));
        }
        for (variable, value) in &self.settings {
            check_variable(variable)?;
            let odd = |c: char| c.is_control() || "\"'\\{}".contains(c);
            if value.len() > VALUE || value.contains(odd) {
                return bad(format!(
                    "the value of `{variable}` is too long, or contains quotes, braces or line breaks"
                ));
            }
            if let Some(of) = of.filter(|of| !of.settings.contains(variable)) {
                return bad(format!(
                    "`{variable}` is not a setting of {}: there are {}",
                    of.name,
                    of.settings.join(", ")
                ));
            }
        }
        if self.hosts.len() > HOSTS {
            return bad(format!("at most {HOSTS} hosts can be listed"));
        }
        match self.all_hosts().iter().find(|host| !is_host(host)) {
            Some(wrong) => bad(format!(
                "`{}` is not a host: write `api.example.org`, `*.example.org` or `host:port`, without scheme or path",
                text_kit::truncate(wrong, 60)
            )),
            None => Ok(()),
        }
    }

    /// Its preset.
    pub fn of(&self) -> Option<&'static Preset> {
        preset(&self.preset)
    }

    /// Its permitted commands.
    ///
    /// # Errors
    /// As [`Commands::read`].
    pub fn permitted(&self) -> Result<Commands> {
        match self.of() {
            Some(preset) if self.commands.is_empty() => preset.permitted(),
            preset => Commands::read(&self.commands, preset.map_or("", |preset| &preset.flags)),
        }
    }

    /// The hosts that it may reach, also the one that a setting names.
    pub fn all_hosts(&self) -> Vec<String> {
        let setting = self.of().and_then(|preset| preset.host_of.as_ref()).and_then(|name| self.settings.get(name));
        let host = setting.map(|url| {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            rest.split(['/', '?', '#']).next().unwrap_or_default().to_lowercase()
        });
        self.hosts.iter().map(|host| host.to_lowercase()).chain(host).collect()
    }
}

/// Checks the secrets of a program.
///
/// # Errors
/// `BadArgs`; never with the value.
pub(super) fn check_secrets(binary: &Binary, secrets: &BTreeMap<String, String>) -> Result<()> {
    let bad = |text: String| Err(Error::bad_args(text));
    if secrets.is_empty() || secrets.len() > VARIABLES {
        return bad(format!("`secrets` must name 1 to {VARIABLES} variables, such as {{\"GH_TOKEN\": \"…\"}}"));
    }
    for (variable, value) in secrets {
        check_variable(variable)?;
        if value.chars().count() < SECRET || value.len() > VALUE || value.chars().any(char::is_control) {
            return bad(format!(
                "the secret `{variable}` must have {SECRET} to {VALUE} characters and no line breaks: shorter ones cannot be hidden \
                 in what the program prints"
            ));
        }
        if let Some(of) = binary.of().filter(|of| !of.secrets.contains(variable)) {
            return bad(format!("`{variable}` is not a secret of {}: there are {}", of.name, of.secrets.join(", ")));
        }
    }
    Ok(())
}

fn check_variable(name: &str) -> Result<()> {
    match verify::is_variable(name) {
        true => Ok(()),
        false => {
            let name = text_kit::truncate(name, 40);
            Err(Error::bad_args(format!(
                "`{name}` is not a variable that can be set here: use a name such as `GH_TOKEN`"
            )))
        }
    }
}

/// What is refused beyond the list of commands.
pub(super) struct Patterns {
    args: Vec<Regex>,
    verbose: Vec<String>,
}

impl Patterns {
    /// Reads the patterns of a program.
    ///
    /// # Errors
    /// `BadArgs` for one that is no regular expression, is too long, or one too many.
    pub fn read(args: &[String], verbose: &[String]) -> Result<Self> {
        if args.len() > PATTERNS || verbose.len() > PATTERNS || args.iter().chain(verbose).any(|p| p.len() > PATTERN) {
            return Err(Error::bad_args(format!("at most {PATTERNS} patterns of {PATTERN} characters can be listed")));
        }
        let compiled = args.iter().map(|pattern| {
            RegexBuilder::new(pattern).size_limit(1 << 18).build().map_err(|_| {
                let pattern = text_kit::truncate(pattern, 60);
                Error::bad_args(format!(
                    "`{pattern}` in `denyArgs` is not a regular expression: write one such as `^auth\\s`"
                ))
            })
        });
        Ok(Self { args: compiled.collect::<Result<_>>()?, verbose: verbose.to_vec() })
    }

    /// Checks arguments without their free texts.
    ///
    /// # Errors
    /// `Denied`.
    pub fn check(&self, args: &[String]) -> Result<()> {
        let line: String = args.iter().flat_map(|arg| [arg.as_str(), " "]).collect();
        if let Some(pattern) = self.args.iter().find(|pattern| pattern.is_match(&line)) {
            return Err(Error::denied(format!(
                "the arguments match the pattern `{}`, which is denied for this program",
                text_kit::truncate(pattern.as_str(), 60)
            )));
        }
        let repeated = |flag: &str, arg: &str| {
            // `-vvv` is `-v` three times.
            flag.len() == 2
                && arg.len() > 2
                && flag.starts_with('-')
                && arg[1..].bytes().all(|b| b == flag.as_bytes()[1])
        };
        let is_verbose = |arg: &str| {
            self.verbose.iter().any(|flag| {
                arg == flag
                    || arg.strip_prefix(flag.as_str()).is_some_and(|rest| rest.starts_with('='))
                    || repeated(flag, arg)
            })
        };
        match args.iter().find(|arg| is_verbose(arg)) {
            Some(arg) => Err(Error::denied(format!(
                "`{}` is denied for this program, because it could print the credential: leave it out",
                text_kit::truncate(arg, 40)
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, settings: serde_json::Value) -> Result<Binary> {
        Binary::read(name, &serde_json::from_value(settings).map_err(|e| Error::bad_args(e.to_string()))?)
    }

    #[test]
    fn a_preset_fills_what_is_left_out() {
        let gh = read("gh", json!({})).unwrap();
        assert_eq!((gh.preset.as_str(), gh.timeout_seconds, gh.files), ("gh", 30, Files::None));
        assert_eq!(gh.all_hosts(), ["api.github.com", "github.com"]);
        let own =
            read("gh", json!({"deny_args": ["^pr\\s"], "timeout_seconds": 5, "hosts": ["ghe.example.org"]})).unwrap();
        assert_eq!(
            (own.deny_args, own.timeout_seconds, own.hosts),
            (vec!["^pr\\s".into()], 5, vec!["ghe.example.org".into()])
        );
        let kube = read("kubectl", json!({"settings": {"KUBE_SERVER": "https://K8S.example.org:6443/x"}})).unwrap();
        assert_eq!(kube.all_hosts(), ["k8s.example.org:6443"]);
        let tool = read("mytool", json!({"commands": ["status"]})).unwrap();
        assert_eq!((tool.preset.as_str(), tool.hosts.len()), ("", 0));
    }

    #[test]
    fn settings_that_do_not_fit_are_refused() {
        for (name, settings) in [
            ("../gh", json!({})),
            ("", json!({})),
            ("mytool", json!({})),
            ("gh", json!({"preset": "git"})),
            ("gh", json!({"path": "bin/gh"})),
            ("gh", json!({"path": "/no/such/program"})),
            ("gh", json!({"denyArgs": ["("]})),
            ("gh", json!({"denyArgs": ["(a{1000}){1000}"]})),
            ("gh", json!({"timeoutSeconds": 0})),
            ("gh", json!({"timeoutSeconds": 601})),
            ("gh", json!({"hosts": ["https://x.org"]})),
            ("gh", json!({"hosts": ["*"]})),
            ("gh", json!({"hosts": ["*.org"]})),
            ("gh", json!({"settings": {"LD_PRELOAD": "/x"}})),
            ("aws", json!({"settings": {"AWS_PROFILE": "x"}})),
            ("kubectl", json!({"settings": {"KUBE_NAMESPACE": "a\", x: \""}})),
            ("mytool", json!({"commands": ["status"], "settings": {"PATH": "/x"}})),
            ("mytool", json!({"commands": ["status"], "settings": {"https_proxy": "x"}})),
            ("gh", json!({"unknown": 1})),
        ] {
            assert!(matches!(read(name, settings.clone()), Err(Error::BadArgs(_))), "{name} {settings}");
        }
    }

    #[test]
    fn secrets_belong_to_their_program_and_hosts() {
        let gh = read("gh", json!({})).unwrap();
        let secrets = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        assert!(check_secrets(&gh, &secrets("GH_TOKEN", "ghp_0123456789")).is_ok());
        for (name, value) in [("GH_TOKEN", "short"), ("OTHER", "ghp_0123456789"), ("GH_TOKEN", "a\nbcdefghij")] {
            assert!(check_secrets(&gh, &secrets(name, value)).is_err(), "{name}");
        }
        assert!(check_secrets(&gh, &BTreeMap::new()).is_err());
        let sealed = Sealed::new(secrets("GH_TOKEN", "ghp_0123456789"), &gh);
        assert!(sealed.fits(&gh) && sealed.fits(&Binary { hosts: vec!["github.com".into()], ..gh.clone() }));
        assert!(!sealed.fits(&Binary { path: "/tmp/gh".into(), ..gh.clone() }));
        assert!(!sealed.fits(&Binary { files: Files::Write, ..gh.clone() }));
        assert!(!sealed.fits(&Binary { hosts: vec!["evil.example".into()], ..gh }));
    }

    #[test]
    fn patterns_see_the_whole_line_and_verbose_flags_in_every_form() {
        let patterns =
            Patterns::read(&["auth\\s+".into(), "ssh-key".into()], &["--verbose".into(), "-v".into()]).unwrap();
        let check = |line: &str| patterns.check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).is_ok();
        for refused in ["auth login", "auth", "x ssh-key", "x --verbose", "x --verbose=1", "x -v", "x -vvv"] {
            assert!(!check(refused), "{refused}");
        }
        for fine in ["issue list", "author x", "x --verbosely", "x -w"] {
            assert!(check(fine), "{fine}");
        }
    }
}
