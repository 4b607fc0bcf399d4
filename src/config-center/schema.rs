//! The schema of entries: typed fields, their validation, and the destinations of secrets.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use store::Coded;
use tool::{
    Error, Result,
    prelude::{JsonSchema, schemars},
};

/// The maximum number of fields of a service, and of options of a field.
const FIELDS: usize = 40;
const OPTIONS: usize = 100;
/// The maximum size of a value, and of all plain or all secret values of an entry, in bytes.
const VALUE: usize = 8 * 1024;
const ENTRY: usize = 16 * 1024;
/// The maximum number of additional hosts of an entry.
const HOSTS: usize = 20;

/// Fields of every entry in addition to its schema: additional hosts for its secrets, and whether tools get its
/// secrets unmasked.
pub(crate) const OTHER_HOSTS: &str = "hosts";
pub(crate) const RAW: &str = "raw";

/// The values of an entry by field name.
pub(crate) type Values = Map<String, Value>;

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text.
    #[default]
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A URL, such as `https://api.example.org`.
    Url,
    /// Encrypted, write-only text.
    Secret,
    /// One of the options.
    Select,
}

/// A field of a service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// A letter, then letters, digits and underscores; 64 at most.
    pub name: String,
    /// The name for people; defaults to `name`.
    #[serde(default)]
    pub label: String,
    /// The type; defaults to text.
    #[serde(default, rename = "type")]
    pub kind: Kind,
    /// Whether every entry needs it.
    #[serde(default)]
    pub required: bool,
    /// Whether it is secret; same as the type `secret`.
    #[serde(default)]
    pub secret: bool,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default value in new entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The options of the type `select`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
}

impl Field {
    fn new(name: &str, label: &str, kind: Kind) -> Self {
        Self { name: name.into(), label: label.into(), kind, secret: kind == Kind::Secret, ..Self::default() }
    }

    /// Guess a field from its name and value in a file.
    fn of(name: &str, value: &Value) -> Option<Self> {
        let kind = match value {
            Value::Number(_) => Kind::Number,
            Value::Bool(_) => Kind::Boolean,
            Value::String(text) if text.starts_with("http://") || text.starts_with("https://") => Kind::Url,
            Value::String(_) => Kind::String,
            _ => return None,
        };
        let kind = if tool::sounds_secret(name) { Kind::Secret } else { kind };
        Self::new(name, name, kind).checked().ok()
    }

    /// Validate and normalize the field.
    fn checked(mut self) -> Result<Self> {
        let shown: String = self.name.chars().take(80).collect();
        let bad = |what: &str| Err(Error::bad_args(format!("the field `{shown}` {what}")));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !self.name.starts_with(|c: char| c.is_ascii_alphabetic())
            || self.name.len() > 64
            || !self.name.chars().all(plain)
        {
            return bad("is not a valid name: begin with a letter, then letters, digits and underscores, 64 at most");
        }
        if [OTHER_HOSTS, RAW].contains(&self.name.as_str()) {
            return bad("is reserved: every entry has it");
        }
        if self.secret && ![Kind::String, Kind::Secret].contains(&self.kind) {
            return bad("is secret but has another type: omit the type");
        }
        if self.secret {
            self.kind = Kind::Secret;
        }
        self.secret = self.kind == Kind::Secret;
        if self.label.trim().is_empty() {
            self.label.clone_from(&self.name);
        }
        check_length("a field's label", &self.label, 100)?;
        check_length("a field's description", self.description.as_deref().unwrap_or_default(), 500)?;
        let options = self.options.as_deref().unwrap_or_default();
        if self.kind == Kind::Select {
            let fit = |o: &String| !o.is_empty() && o.len() <= 200;
            if options.is_empty() || options.len() > OPTIONS || !options.iter().all(fit) {
                return bad("is of the type `select`: pass `options`, 1 to 100 of them with up to 200 characters");
            }
        } else if !options.is_empty() {
            return bad("has options, but its type is not `select`");
        }
        if self.secret && self.default.is_some() {
            return bad("is secret and cannot have a default, which everybody could read");
        }
        if let Some(default) = self.default.take() {
            self.default = self.read(&default)?;
        }
        Ok(self)
    }

    /// Parse a value; `None` for null and empty text. Numbers and booleans in text are accepted. Errors never contain
    /// the value, which may be a secret.
    pub(crate) fn read(&self, value: &Value) -> Result<Option<Value>> {
        let name = &self.name;
        let bad = |what: &str| Err(Error::bad_args(format!("`{name}` must be {what}")));
        let text = match value {
            Value::Null => return Ok(None),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) if text.len() > VALUE => {
                return Err(Error::bad_args(format!("`{name}` is longer than {VALUE} bytes")));
            }
            Value::String(text) => Some(text.trim()),
            _ => None,
        };
        let read = match (self.kind, text, value) {
            (Kind::Number, _, Value::Number(_)) | (Kind::Boolean, _, Value::Bool(_)) => value.clone(),
            (Kind::Number, text, _) => match text.and_then(|t| serde_json::from_str::<Value>(t).ok()) {
                Some(number @ Value::Number(_)) => number,
                _ => return bad("a number"),
            },
            (Kind::Boolean, Some("true"), _) => true.into(),
            (Kind::Boolean, Some("false"), _) => false.into(),
            (Kind::Boolean, ..) => return bad("true or false"),
            (Kind::Url, Some(url), _) if is_url(url) => url.into(),
            (Kind::Url, ..) => {
                return bad("an address such as https://api.example.org, without a name or password in it");
            }
            (Kind::Select, Some(chosen), _) if self.options.iter().flatten().any(|o| o == chosen) => chosen.into(),
            (Kind::Select, ..) => {
                return bad(&format!(
                    "one of {}",
                    self.options.iter().flatten().cloned().collect::<Vec<_>>().join(", ")
                ));
            }
            (Kind::String, Some(_), _) => value.clone(),
            // White space from copying a key is not part of it.
            (Kind::Secret, Some(secret), _) => secret.into(),
            (Kind::String | Kind::Secret, None, Value::Number(number)) => number.to_string().into(),
            (Kind::String | Kind::Secret, ..) => return bad("text"),
        };
        Ok(Some(read))
    }
}

/// The default schema of a service.
pub(crate) fn default_schema() -> Vec<Field> {
    let key = Field { required: true, ..Field::new("api_key", "API key", Kind::Secret) };
    vec![key, Field::new("base_url", "Address", Kind::Url)]
}

/// Guess the schema of an entry in a file from its values.
pub(crate) fn schema_of(entry: &Values) -> Vec<Field> {
    let fields: Vec<Field> = entry
        .iter()
        .filter(|(name, _)| ![OTHER_HOSTS, RAW].contains(&name.as_str()))
        .filter_map(|(name, value)| Field::of(name, value))
        .take(FIELDS)
        .collect();
    if fields.is_empty() { default_schema() } else { fields }
}

/// Validate a schema.
pub(crate) fn checked_schema(fields: Vec<Field>) -> Result<Vec<Field>> {
    if fields.is_empty() || fields.len() > FIELDS {
        return Err(Error::bad_args(format!(
            "a schema has 1 to {FIELDS} fields, and this one has {}: omit it for `api_key` and `base_url`",
            fields.len()
        )));
    }
    let fields = fields.into_iter().map(Field::checked).collect::<Result<Vec<_>>>()?;
    let mut names = BTreeSet::new();
    match fields.iter().find(|f| !names.insert(f.name.as_str())) {
        Some(twice) => Err(Error::bad_args(format!("the field `{}` is declared twice", twice.name))),
        None => Ok(fields),
    }
}

/// Validate a tool's schema. A field named like a secret is one, whatever the tool's author declares.
pub(crate) fn checked_tool_schema(mut fields: Vec<Field>) -> Result<Vec<Field>> {
    for field in fields.iter_mut().filter(|f| f.kind == Kind::String && tool::sounds_secret(&f.name)) {
        field.secret = true;
        field.default = None;
    }
    checked_schema(fields)
}

/// Add the fields that a tool requires. If the service is stored, they are neither required nor get defaults, so that
/// existing entries stay valid.
pub(crate) fn add_required_fields(schema: &mut Vec<Field>, more: &[Field], stored: bool) {
    for field in more {
        if schema.len() < FIELDS && !schema.iter().any(|f| f.name == field.name) {
            let mut field = field.clone();
            if stored {
                field.required = false;
                field.default = None;
            }
            schema.push(field);
        }
    }
}

/// The encrypted part of an entry.
#[derive(Serialize, Deserialize)]
struct Sealed {
    fields: Values,
    /// Their permitted destinations.
    to: BTreeSet<String>,
}

impl Sealed {
    /// Whether they were entered for this server, or before servers were noted.
    fn knows(&self, server: &str) -> bool {
        self.to.contains(server) || !self.to.iter().any(|place| place.starts_with(SERVER))
    }

    /// Whether a server with this confirmed certificate may have them: any, where they were entered without one.
    fn trusts(&self, certificate: Option<&str>) -> bool {
        let own = self.to.iter().find(|place| place.starts_with(CERTIFICATE));
        own.is_none_or(|own| certificate == Some(own.as_str()))
    }
}

/// Marks a server among the places of sealed secrets.
const SERVER: &str = "the server ";
/// Marks the certificate that a person confirmed among them.
const CERTIFICATE: &str = "the certificate ";

/// The values of an entry, with secrets apart.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct EntryValues {
    pub plain: Values,
    pub secret: Values,
}

impl EntryValues {
    /// Create an entry from values, with defaults for missing ones.
    pub fn new(schema: &[Field], given: &Values) -> Result<Self> {
        let mut parts = Self::default();
        for field in schema {
            if let Some(default) = &field.default {
                parts.plain.insert(field.name.clone(), default.clone());
            }
        }
        parts.set(schema, given)?;
        Ok(parts)
    }

    /// Apply a patch: null or empty removes a value, omitted values stay. Retained secrets gain no new destination.
    pub fn patched(&self, schema: &[Field], given: &Values) -> Result<Self> {
        let mut new = self.clone();
        new.set(schema, given)?;
        let stays = new.secret.keys().find(|field| !given.contains_key(*field));
        let (before, after) = (places(&self.plain), places(&new.plain));
        let (confirmed, shown) = (certificate(&self.plain), certificate(&new.plain));
        // The first certificate is confirmed for what is there; after that it stays the only one.
        let mut added = after.difference(&before).filter(|place| confirmed.is_some() || Some(*place) != shown.as_ref());
        let added = added.next().cloned();
        let added = added.or_else(|| (confirmed.is_some() && shown.is_none()).then(|| "any certificate".to_owned()));
        match (stays, added) {
            (Some(secret), Some(place)) => Err(Error::bad_args(format!(
                "this change would allow sending `{secret}` to {place}: pass `{secret}` again with it"
            ))),
            _ => Ok(new),
        }
    }

    fn set(&mut self, schema: &[Field], given: &Values) -> Result<()> {
        for (name, value) in given {
            let field = schema.iter().find(|f| f.name == *name);
            let read = match (field, name.as_str()) {
                (Some(field), _) => field.read(value)?,
                (None, OTHER_HOSTS) => read_hosts(value)?,
                (None, RAW) => Field::new(RAW, RAW, Kind::Boolean).read(value)?.filter(|raw| *raw == true),
                _ => return Err(unknown(name, schema)),
            };
            let part = if field.is_some_and(|f| f.secret) { &mut self.secret } else { &mut self.plain };
            match read {
                Some(value) => part.insert(name.clone(), value),
                None => part.remove(name),
            };
        }
        let has = |field: &Field| self.plain.contains_key(&field.name) || self.secret.contains_key(&field.name);
        if let Some(missing) = schema.iter().find(|f| f.required && !has(f)) {
            return Err(Error::bad_args(format!("`{}` is missing: every entry needs one", missing.name)));
        }
        let size = |values: &Values| values.iter().map(|(k, v)| k.len() + v.to_string().len()).sum::<usize>();
        if size(&self.plain).max(size(&self.secret)) > ENTRY {
            return Err(Error::bad_args(format!("the entry is longer than {ENTRY} bytes: shorten it")));
        }
        Ok(())
    }

    /// The same values under another schema; a secret value stays secret.
    pub fn with_schema(&self, schema: &[Field], label: &str) -> Result<Self> {
        let mut new = Self::default();
        let own = |name: &str| [OTHER_HOSTS, RAW].contains(&name);
        let values = self.plain.iter().map(|v| (v, false)).chain(self.secret.iter().map(|v| (v, true)));
        for ((name, value), secret) in values {
            let misfit = |what: &str| {
                Err(Error::bad_args(format!("the entry `{label}` has the field `{name}`, {what}: remove it first")))
            };
            match schema.iter().find(|f| f.name == *name) {
                None if !own(name) => return misfit("which is not in the new schema"),
                Some(field) if secret && !field.secret => return misfit("which is secret and would become readable"),
                Some(field) => {
                    let Ok(Some(value)) = field.read(value) else { return misfit("which does not fit the new schema") };
                    let part = if field.secret { &mut new.secret } else { &mut new.plain };
                    part.insert(name.clone(), value);
                }
                None => drop(new.plain.insert(name.clone(), value.clone())),
            }
        }
        Ok(new)
    }

    /// The secrets to encrypt, with their destinations: an address changed in a restored backup or by an attacker
    /// then leads them nowhere else.
    pub fn sealed(&self) -> Result<Option<Vec<u8>>> {
        if self.secret.is_empty() {
            return Ok(None);
        }
        let sealed = Sealed { fields: self.secret.clone(), to: places(&self.plain) };
        let text = serde_json::to_vec(&sealed).map_err(|_| Error::failed("the secrets cannot be serialized"))?;
        Ok(Some(text))
    }

    /// Combine plain and decrypted values. Also returns the reason if the secrets are ignored.
    pub fn unsealed(plain: Values, sealed: Option<&[u8]>) -> (Self, Option<&'static str>) {
        let Some(text) = sealed else { return (Self { plain, secret: Values::new() }, None) };
        let (secret, why) = match serde_json::from_slice::<Sealed>(text) {
            // Secrets of an older Hob name no servers.
            Ok(sealed)
                if destinations(&plain).is_subset(&sealed.to)
                    && servers(&plain).all(|at| sealed.knows(&at))
                    && sealed.trusts(certificate(&plain).as_deref()) =>
            {
                (sealed.fields, None)
            }
            Ok(_) => (Values::new(), Some("they were entered for another address; enter them again")),
            Err(_) => (Values::new(), Some("they cannot be read; enter them again")),
        };
        (Self { plain, secret }, why)
    }

    /// All values together, for tools.
    pub fn merged(&self) -> Values {
        self.plain.iter().chain(&self.secret).map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

fn unknown(name: &str, schema: &[Field]) -> Error {
    let name: String = name.chars().take(40).collect();
    let known: Vec<&str> = schema.iter().map(|f| f.name.as_str()).chain([OTHER_HOSTS, RAW]).collect();
    Error::bad_args(format!("there is no field `{name}`: there are {}", known.join(", ")))
}

/// The hosts that an entry's secrets may go to: the host of `base_url`, and those in `hosts`.
pub fn hosts(entry: &Map<String, Value>) -> Vec<String> {
    let base = entry.get("base_url").and_then(Value::as_str).and_then(host_of);
    let listed = entry.get(OTHER_HOSTS).and_then(Value::as_array).into_iter().flatten();
    base.into_iter().chain(listed.filter_map(Value::as_str).map(str::to_lowercase)).collect()
}

/// Scheme, host and port of a URL, in lower case.
pub fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/").to_lowercase()
}

/// All destinations of an entry's secrets: its hosts, its plain-HTTP origin, and tools with unmasked access.
fn destinations(entry: &Values) -> BTreeSet<String> {
    let clear = entry.get("base_url").and_then(Value::as_str).map(origin).filter(|o| !o.starts_with("https://"));
    let raw = (entry.get(RAW) == Some(&Value::Bool(true))).then(|| "every tool".to_owned());
    hosts(entry).into_iter().chain(clear).chain(raw).collect()
}

/// The servers of Hob's own services, such as Home Assistant and the MQTT broker, which an entry names by `url` or `host`.
fn servers(entry: &Values) -> impl Iterator<Item = String> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let (url, host) = (text("url").map(origin), text("host").map(str::to_lowercase));
    url.into_iter().chain(host).map(|at| format!("{SERVER}{at}"))
}

/// Everything that has to stay as it is for a secret that is not entered again.
fn places(entry: &Values) -> BTreeSet<String> {
    destinations(entry).into_iter().chain(servers(entry)).chain(certificate(entry)).collect()
}

/// The certificate of its server that a person confirmed by its `fingerprint`, however that is written.
fn certificate(entry: &Values) -> Option<String> {
    let text = entry.get("fingerprint")?.as_str()?;
    let digits = text.rsplit('=').next().unwrap_or(text).to_uppercase();
    let digits: String = digits.chars().filter(char::is_ascii_hexdigit).collect();
    (!digits.is_empty()).then(|| format!("{CERTIFICATE}{digits}"))
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, h)| h);
    let host = if host.starts_with('[') { host.split(']').next()? } else { host.split(':').next()? };
    Some(host.trim_start_matches('[').to_lowercase())
}

/// Whether a text is a URL without credentials or confusing parts.
fn is_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && host_of(url).is_some_and(|host| !host.is_empty())
        && !authority.contains(['@', '\\'])
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Parse a list of hosts, or a text separated by commas or spaces.
fn read_hosts(value: &Value) -> Result<Option<Value>> {
    let words: Option<Vec<&str>> = match value {
        Value::Null => Some(vec![]),
        Value::String(text) => Some(text.split([',', ' ']).collect()),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let named = |host: &str| host.len() <= 253 && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    let words: Option<Vec<&str>> = words.map(|all| all.into_iter().map(str::trim).filter(|w| !w.is_empty()).collect());
    match words.filter(|all| all.len() <= HOSTS && all.iter().all(|host| named(host))) {
        Some(none) if none.is_empty() => Ok(None),
        Some(all) => Ok(Some(all.into_iter().map(str::to_lowercase).collect())),
        None => Err(Error::bad_args(format!(
            "`hosts` must be a list of {HOSTS} host names at most, without scheme or path, such as [\"api.example.org\"]"
        ))),
    }
}

/// Check the length of a text.
pub(crate) fn check_length(what: &str, text: &str, most: usize) -> Result<()> {
    match text.chars().count() {
        n if n > most => Err(Error::bad_args(format!("{what} has {n} characters, and the maximum is {most}"))),
        _ => Ok(()),
    }
}

/// The origin of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person defined it.
    Person,
    /// Required by tools.
    Tool,
    /// Defined in hob.toml.
    File,
}

impl Coded for Origin {
    const ALL: &'static [Self] = &[Origin::Person, Origin::Tool, Origin::File];
    // The origin that is never removed automatically.
    const UNKNOWN: Self = Origin::Person;
}
