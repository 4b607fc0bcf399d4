//! Configuration: one TOML file, validated at start and passed by value; `runtime_settings` are the settings an admin changes later,
//! which override it.

pub mod settings;
pub mod support;
mod update;

pub use self::update::{FactoryReset, Update};

use anyhow::{Context, Result, bail};
use board::{BoardKind, PinsConfig, SimConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    io::Read,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The commented file for a new data folder; a test compares it with the defaults.
pub const COMMENTED: &str = include_str!("config/hob.toml");
/// Default address of the page.
const LISTEN: &str = "127.0.0.1:4620";

/// The configuration; `hob.toml` documents every key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub name: String,
    pub listen: String,
    pub home: String,
    pub time_zone: String,
    /// The position of the home in degrees, for sunrise and sunset.
    pub latitude: Degrees,
    pub longitude: Degrees,
    pub units: models::Units,
    pub board: BoardKind,
    pub pins: PinsConfig,
    pub sim: SimConfig,
    pub serial: board::SerialConfig,
    /// Rules, which the rule engine reads.
    pub rules: Vec<serde_json::Map<String, serde_json::Value>>,
    pub model: models::Config,
    pub agent: agent::Config,
    pub doors: Doors,
    pub network: Network,
    pub wyoming: Wyoming,
    pub http: Http,
    pub bookmarks: Bookmarks,
    pub limits: registry::PerMinute,
    pub approvals: questions::Timeouts,
    pub storage: Storage,
    pub memory: Memory,
    pub workspace: ::workspace::Config,
    pub power: care::PowerConfig,
    pub workshop: tools_workshop::Config,
    pub browser: browser::Config,
    pub update: Update,
    pub factory_reset: FactoryReset,
    pub services: Services,
    /// Whether the name was given with `--name`, which overrides everything.
    #[serde(skip)]
    pub name_is_fixed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Doors {
    pub tls: String,
    pub hosts: Vec<String>,
    pub claim_seconds: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    pub announce: bool,
    pub ignore: Vec<String>,
}

/// The voice door.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wyoming {
    pub listen: String,
}

/// The model that finds texts by meaning.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    pub model: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    pub compact_hours: String,
    pub daily_write_mb: u64,
}

impl Storage {
    /// The hours of the day in which the data file may be compacted, the end excluded; `None` is never.
    ///
    /// # Errors
    /// When the text is no range of hours.
    pub fn hours(&self) -> Result<Option<(i8, i8)>> {
        if self.compact_hours == "off" {
            return Ok(None);
        }
        let hour = |text: &str| text.trim().parse::<i8>().ok().filter(|hour| (0..=24).contains(hour));
        match self.compact_hours.split_once('-').map(|(from, to)| (hour(from), hour(to))) {
            Some((Some(from), Some(to))) if from != to => Ok(Some((from, to))),
            _ => bail!("`storage.compact_hours` is not a range of hours: write it as \"2-5\", or \"off\""),
        }
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self { compact_hours: "2-5".into(), daily_write_mb: 0 }
    }
}

impl Default for Doors {
    fn default() -> Self {
        Self { tls: String::new(), hosts: vec![], claim_seconds: 3600 }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self { announce: true, ignore: discovery::IGNORED.iter().map(|i| i.to_string()).collect() }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    pub allow: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bookmarks {
    /// Whether a bookmark that is added without a title is named after its page.
    pub page_titles: bool,
}

impl Default for Bookmarks {
    fn default() -> Self {
        Self { page_titles: true }
    }
}

/// An angle in degrees; an empty text is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Degrees {
    Number(f64),
    Text(String),
}

impl Default for Degrees {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Degrees {
    /// The angle, if it is one of at most `most`; `None` where none is given.
    fn read(&self, key: &str, most: f64) -> Result<Option<f64>> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) if text.trim().is_empty() => return Ok(None),
            Self::Text(text) => text.trim().parse().ok(),
        };
        match number.filter(|number| number.abs() <= most) {
            Some(number) => Ok(Some(number)),
            None => bail!("`{key}` is no angle from -{most} to {most} degrees: write it as {key} = 48.2"),
        }
    }
}

/// Services by name, each with one entry, beside those of the Config Center.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Services(pub BTreeMap<String, Map<String, Value>>);

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "hob".into(),
            listen: LISTEN.into(),
            home: String::new(),
            time_zone: String::new(),
            latitude: Degrees::default(),
            longitude: Degrees::default(),
            units: models::Units::default(),
            board: BoardKind::Auto,
            pins: PinsConfig::default(),
            sim: SimConfig::default(),
            serial: board::SerialConfig::default(),
            rules: vec![],
            model: models::Config::default(),
            agent: agent::Config::default(),
            doors: Doors::default(),
            network: Network::default(),
            wyoming: Wyoming::default(),
            http: Http::default(),
            bookmarks: Bookmarks::default(),
            limits: registry::PerMinute::default(),
            approvals: questions::Timeouts::default(),
            storage: Storage::default(),
            memory: Memory::default(),
            workspace: ::workspace::Config::default(),
            power: care::PowerConfig::default(),
            workshop: tools_workshop::Config::default(),
            browser: browser::Config::default(),
            update: Update::default(),
            factory_reset: FactoryReset::default(),
            services: Services::default(),
            name_is_fixed: false,
        }
    }
}

impl Config {
    /// Reads `file`, or `hob.toml` in the data folder if it exists.
    pub fn load(file: Option<&Path>, data: &Path) -> Result<Self> {
        let path = file.map_or_else(|| data.join("hob.toml"), Path::to_path_buf);
        let read = || {
            let mut text = String::new();
            store::open_plain(&path)?.read_to_string(&mut text)?;
            Ok(text)
        };
        let text: String = match read() {
            Ok(text) => text,
            Err(e) if std::io::Error::kind(&e) == std::io::ErrorKind::NotFound && file.is_none() => {
                return Ok(Self::default());
            }
            Err(e) => bail!("could not read the configuration {}: {e}", path.display()),
        };
        Self::parse(&text).with_context(|| format!("{} is not usable", path.display()))
    }

    /// Parses a configuration; an unknown key is an error that suggests the nearest.
    fn parse(text: &str) -> Result<Self> {
        let table: toml::Table = toml::from_str(text)?;
        let known = toml::Table::try_from(Self::default())?;
        check_keys(&table, &known, "")?;
        let config: Self = toml::from_str(text)?;
        config.check()?;
        Ok(config)
    }

    /// The position of the home: latitude and longitude in degrees.
    pub fn place(&self) -> Option<(f64, f64)> {
        let latitude = self.latitude.read("latitude", 90.0).ok()??;
        Some((latitude, self.longitude.read("longitude", 180.0).ok()??))
    }

    /// Validates what types cannot express.
    pub fn check(&self) -> Result<()> {
        if self.agent.max_turns == 0 {
            bail!("`agent.max_turns` is 0, so no message could be answered: use at least 1");
        }
        if self.approvals.in_call_seconds == 0 || self.approvals.parked_hours == 0 {
            bail!("`approvals` has a 0, so nobody could answer in time: use at least 1");
        }
        if self.doors.claim_seconds == 0 {
            bail!("`doors.claim_seconds` is 0, so no claim code would be valid: use at least 1");
        }
        if !["", "off"].contains(&self.doors.tls.as_str()) && self.doors.tls.parse::<SocketAddr>().is_err() {
            bail!("`doors.tls` is not an address to listen on: write it as 0.0.0.0:4621, or \"off\"");
        }
        if !["", "off"].contains(&self.wyoming.listen.as_str()) && self.wyoming.listen.parse::<SocketAddr>().is_err() {
            bail!("`wyoming.listen` is not an address to listen on: write it as 0.0.0.0:10620, or \"off\"");
        }
        let named =
            |host: &String| !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        if let Some(odd) = self.doors.hosts.iter().find(|host| !named(host)) {
            bail!(
                "`doors.hosts` has `{odd}`, which is not a host name: write it without scheme, port or *, as hob.example.org"
            );
        }
        self.pins.check().map_err(anyhow::Error::msg)?;
        self.serial.check().map_err(anyhow::Error::msg)?;
        self.storage.hours()?;
        self.workspace.check().map_err(anyhow::Error::msg)?;
        self.power.check().map_err(anyhow::Error::msg)?;
        let twice = |pin: u8| self.pins.named.iter().find(|(_, named)| named.table.pin.number() == pin);
        if let Some((name, _)) = self.power.pins().find_map(twice) {
            bail!("`pins.{name}` is also a pin of `[power]`: use another pin for one of the two");
        }
        self.workshop.check().map_err(anyhow::Error::msg)?;
        self.browser.check().map_err(anyhow::Error::msg)?;
        self.update.check()?;
        self.factory_reset.check()?;
        if self.latitude.read("latitude", 90.0)?.is_some() != self.longitude.read("longitude", 180.0)?.is_some() {
            bail!("`latitude` and `longitude` belong together: give both, or neither");
        }
        self.model.check()?;
        check_name(&self.name)
    }
}

/// A device's name is a label of DNS.
pub fn check_name(name: &str) -> Result<()> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if name.is_empty() || name.len() > 63 || !plain || name.starts_with('-') || name.ends_with('-') {
        bail!("`name` must have 1 to 63 letters, digits and dashes: it becomes a name on the network");
    }
    Ok(())
}

/// From which likeness on a pin's name is taken for a misspelt key.
const MISSPELT: f64 = 0.9;

/// Whether a key of `[pins]` is the name of a pin: a number or a table, and not nearly one of the keys.
fn is_pin_name(path: &str, value: &toml::Value, likeness: f64) -> bool {
    path == "pins." && (value.is_table() || value.is_integer() && likeness < MISSPELT)
}

/// Checks that every key of `given` is in `known`, table by table, except the names of services and pins.
fn check_keys(given: &toml::Table, known: &toml::Table, path: &str) -> Result<()> {
    for (key, value) in given {
        let Some(default) = known.get(key) else {
            let nearest =
                known.keys().max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
            if is_pin_name(path, value, nearest.map_or(0.0, |nearest| strsim::jaro_winkler(key, nearest))) {
                continue;
            }
            let hint = nearest.map(|n| format!(": did you mean `{path}{n}`?")).unwrap_or_default();
            bail!("there is no key `{path}{key}`{hint}");
        };
        if let (toml::Value::Table(given), toml::Value::Table(known)) = (value, default)
            && key != "services"
        {
            check_keys(given, known, &format!("{path}{key}."))?;
        }
    }
    Ok(())
}

/// The data folder: from the flag or `HOB_DATA` (clap reads both), else of the system, else of the user.
pub fn data_dir(given: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(dir) = given {
        return Ok(std::path::absolute(dir)?);
    }
    // systemd sets this for every unit it starts.
    if std::env::var_os("INVOCATION_ID").is_some() && rustix::process::getuid().is_root() {
        return Ok("/var/lib/hob".into());
    }
    let env = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    match (env("XDG_DATA_HOME"), env("HOME")) {
        (Some(xdg), _) if xdg.is_absolute() => Ok(xdg.join("hob")),
        (_, Some(home)) => Ok(home.join(".local/share/hob")),
        _ => bail!("there is no home folder for the data: choose one with --data DIR"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commented file with every key switched on, without the example service.
    fn uncommented() -> String {
        let example = COMMENTED.find("#[services.weather]").unwrap();
        COMMENTED[..example]
            .lines()
            .map(|l| l.strip_prefix('#').filter(|l| !l.starts_with([' ', '#'])).unwrap_or(l))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_position_is_two_angles() {
        let read = |text: &str| Config::parse(text).map(|config| config.place());
        assert_eq!(read("latitude = 48.2\nlongitude = \"16.37\"").unwrap(), Some((48.2, 16.37)));
        assert_eq!(read("").unwrap(), None);
        for wrong in ["latitude = 48.2", "latitude = 91\nlongitude = 1", "latitude = \"north\"\nlongitude = 1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_commented_file_documents_every_key_with_its_default() {
        let mut defaults = toml::Table::try_from(Config::default()).unwrap();
        // Written as empty: the text itself is long, and part of the agent.
        defaults["agent"]["prompt"] = toml::Value::String(String::new());
        // Documented by an example.
        assert_eq!(defaults.remove("rules"), Some(toml::Value::Array(vec![])));
        let documented: toml::Table = toml::from_str(&uncommented()).unwrap();
        assert_eq!(documented, defaults);
        assert!(Config::parse(COMMENTED).is_ok());
    }

    #[test]
    fn every_key_can_be_set() {
        fn nulls(value: &Value, path: &str) -> Vec<String> {
            match value {
                Value::Null => vec![path.to_owned()],
                Value::Object(fields) => fields.iter().flat_map(|(k, v)| nulls(v, &format!("{path}.{k}"))).collect(),
                _ => vec![],
            }
        }
        // TOML has no null: a key without a default is missing from the known keys, and refused.
        assert_eq!(nulls(&serde_json::to_value(Config::default()).unwrap(), ""), [""; 0]);
    }

    #[test]
    fn sampling_of_the_agent_is_read_and_checked() {
        let agent = |text: &str| Config::parse(&format!("[agent]\n{text}")).map(|c| c.agent);
        let read = agent("temperature = 0.3\nanswer_tokens = 512").unwrap();
        assert_eq!((read.temperature.value(), read.answer_tokens), (Some(0.3), 512));
        assert_eq!(agent("temperature = 2").unwrap().temperature.value(), Some(2.0));
        assert_eq!(agent("temperature = \"auto\"").unwrap().temperature.value(), None);
        for wrong in ["temperature = 2.1", "temperature = -1", "temperature = nan", "temperature = \"warm\""] {
            let error = format!("{:#}", agent(wrong).unwrap_err());
            assert!(error.contains("\"auto\" or a number from 0 to 2"), "{wrong}: {error}");
        }
        assert!(agent("answer_tokens = -1").is_err() && agent("answer_tokens = 1.5").is_err());
    }

    #[test]
    fn which_models_stand_in_is_auto_or_a_list() {
        use models::{Auto, Fallback};
        let fallback = |text: &str| Config::parse(&format!("[model]\nfallback = {text}")).map(|c| c.model.fallback);
        assert_eq!(fallback("\"auto\"").unwrap(), Fallback::Auto(Auto::Auto));
        assert_eq!(fallback("[]").unwrap(), Fallback::Models(vec![]));
        let error = format!("{:#}", fallback("\"none\"").unwrap_err());
        assert!(error.contains("\"auto\" or a list of models"), "{error}");
    }

    #[test]
    fn pins_have_names_and_settings() {
        let text = "[pins]\nburst = 3\nallow = [4, 17]\ndoor = 4\n[pins.\"hall lamp\"]\npin = 17\nkind = \"light\"\n\
                    max_on_seconds = 60\nfail_safe = \"off\"\n";
        let pins = Config::parse(text).unwrap().pins;
        assert_eq!((pins.rate.burst, pins.rate.switches_per_second, pins.allow.len()), (3, 4, 2));
        let names: Vec<_> = pins.named.iter().map(|(name, entry)| (name.as_str(), entry.table.pin.number())).collect();
        assert_eq!(names, [("door", 4), ("hall lamp", 17)]);
        let lamp = pins.named["hall lamp"].table.settings();
        assert_eq!((lamp.max_on.unwrap().as_secs(), lamp.fail_safe), (60, Some(board::Rest::Off)));
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        for (text, part) in [
            ("lisen = \"x\"", "`lisen`: did you mean `listen`?"),
            ("[model]\nretrys = 1", "`model.retrys`: did you mean `model.retries`?"),
            ("board = \"arduino\"", "arduino"),
            ("name = \"a b\"", "`name` must have"),
            ("[storage]\ncompact_hours = \"at night\"", "write it as \"2-5\""),
            ("[storage]\ncompact_hours = \"2-25\"", "write it as \"2-5\""),
            ("[storage]\ncompact_hours = \"3-3\"", "write it as \"2-5\""),
            ("[agent]\nmax_turns = 0", "at least 1"),
            ("[update]\nchannel = \"stable\"", "write it as https://"),
            ("[update]\nwindow_seconds = 0", "`update.window_seconds`"),
            ("[update]\nkeys = [\"abc\"]", "`update.keys`"),
            ("[factory_reset]\npin = 28", "`factory_reset.pin`"),
            ("[factory_reset]\nhold_seconds = 0", "`factory_reset.hold_seconds`"),
            ("[pins]\nburts = 3", "`pins.burts`: did you mean `pins.burst`?"),
            ("[pins]\ndoor = 28", "28 is not a pin"),
            ("[pins]\ndoor = \"four\"", "did you mean"),
            ("[pins]\ndoor = 4\nbell = 4", "are both pin 4"),
            ("[pins.pump]\npin = 4\nmax_on = 3", "max_on_seconds"),
            ("[pins.pump]\npin = 4\nmax_on_seconds = 999999", "more than 604800"),
            ("[pins.pump]\ndirection = \"output\"", "missing field `pin`"),
            ("[sim]\nscript = \"x\"", "`sim.script`: did you mean `sim.scenario`?"),
            ("[power]\nshutdown_pin = 40", "40 is not a pin"),
            ("[power]\nshutdown_pin = 4\n[pins]\nbell = 4", "`pins.bell` is also a pin of `[power]`"),
            ("[wyoming]\nlisten = \"kitchen\"", "0.0.0.0:10620"),
            ("x", "expected"),
        ] {
            let error = format!("{:#}", Config::parse(text).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Config::parse("[services.anything]\nat_all = 1").is_ok());
    }
}
