//! What a service's entries are made of: typed fields, how they are checked, and where secrets may be sent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use store::Coded;
use tool::{
    Error, Result,
    prelude::{JsonSchema, schemars},
};

/// How many fields a service may have, and how many options a field.
const FIELDS: usize = 40;
const OPTIONS: usize = 100;
/// The longest value, and all plain or all secret values of an entry, in bytes.
const VALUE: usize = 8 * 1024;
const ENTRY: usize = 16 * 1024;
/// How many other hosts an entry may name.
const HOSTS: usize = 20;

/// What every entry may have beside the fields of its schema: other hosts its secrets may be sent to, and whether tools
/// are told its secrets as they are.
pub(crate) const OTHER_HOSTS: &str = "hosts";
pub(crate) const RAW: &str = "raw";

/// The values of an entry, by the names of their fields.
pub(crate) type Values = Map<String, Value>;

/// What a field holds.
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
    /// An address, such as `https://api.example.org`.
    Url,
    /// Text that is sealed, and never told again.
    Secret,
    /// One of the options.
    Select,
}

/// A field of a service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// A letter, then letters, digits and underscores; 64 at most.
    pub name: String,
    /// How it is called for people; its name when left out.
    #[serde(default)]
    pub label: String,
    /// What it holds; text when left out.
    #[serde(default, rename = "type")]
    pub kind: Kind,
    /// Whether an entry must have it.
    #[serde(default)]
    pub required: bool,
    /// Whether it is a secret; the same as the type `secret`.
    #[serde(default)]
    pub secret: bool,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a new entry has where nothing else is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What can be chosen, for the type `select`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
}

impl Field {
    fn new(name: &str, label: &str, kind: Kind) -> Self {
        Self { name: name.into(), label: label.into(), kind, secret: kind == Kind::Secret, ..Self::default() }
    }

    /// A field of this name, guessed from a value it has in a file.
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

    /// The field as it can be kept.
    fn checked(mut self) -> Result<Self> {
        let shown: String = self.name.chars().take(80).collect();
        let bad = |what: &str| Err(Error::bad_args(format!("the field `{shown}` {what}")));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !self.name.starts_with(|c: char| c.is_ascii_alphabetic())
            || self.name.len() > 64
            || !self.name.chars().all(plain)
        {
            return bad("cannot be called so: begin with a letter, then letters, digits and underscores, 64 at most");
        }
        if [OTHER_HOSTS, RAW].contains(&self.name.as_str()) {
            return bad("need not be declared: every entry may have it");
        }
        if self.secret && ![Kind::String, Kind::Secret].contains(&self.kind) {
            return bad("is secret and has another type: a secret is text, so leave the type out");
        }
        if self.secret {
            self.kind = Kind::Secret;
        }
        self.secret = self.kind == Kind::Secret;
        if self.label.trim().is_empty() {
            self.label.clone_from(&self.name);
        }
        short("a field's label", &self.label, 100)?;
        short("a field's description", self.description.as_deref().unwrap_or_default(), 500)?;
        let options = self.options.as_deref().unwrap_or_default();
        if self.kind == Kind::Select {
            let fit = |o: &String| !o.is_empty() && o.len() <= 200;
            if options.is_empty() || options.len() > OPTIONS || !options.iter().all(fit) {
                return bad("is a choice: give its `options`, 1 to 100 words of 200 characters at most");
            }
        } else if !options.is_empty() {
            return bad("has options, and its type is not `select`");
        }
        if self.secret && self.default.is_some() {
            return bad("is a secret, so it cannot have a default that everybody reads");
        }
        if let Some(default) = self.default.take() {
            self.default = self.read(&default)?;
        }
        Ok(self)
    }

    /// A value as it is kept; `None` for null and the empty text, which mean that there is none. What is meant is taken
    /// where it is clear: a number or a yes in a text. No error tells the value, which may be a secret.
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
            // What came with a copied key is not part of it.
            (Kind::Secret, Some(secret), _) => secret.into(),
            (Kind::String | Kind::Secret, None, Value::Number(number)) => number.to_string().into(),
            (Kind::String | Kind::Secret, ..) => return bad("text"),
        };
        Ok(Some(read))
    }
}

/// What a service has whose makers say nothing more.
pub(crate) fn default_schema() -> Vec<Field> {
    let key = Field { required: true, ..Field::new("api_key", "API key", Kind::Secret) };
    vec![key, Field::new("base_url", "Address", Kind::Url)]
}

/// The schema that an entry of a file shows by what it has.
pub(crate) fn schema_of(entry: &Values) -> Vec<Field> {
    let fields: Vec<Field> = entry
        .iter()
        .filter(|(name, _)| ![OTHER_HOSTS, RAW].contains(&name.as_str()))
        .filter_map(|(name, value)| Field::of(name, value))
        .take(FIELDS)
        .collect();
    if fields.is_empty() { default_schema() } else { fields }
}

/// A schema as it can be kept.
pub(crate) fn checked(fields: Vec<Field>) -> Result<Vec<Field>> {
    if fields.is_empty() || fields.len() > FIELDS {
        return Err(Error::bad_args(format!(
            "a schema has 1 to {FIELDS} fields, and this one {}: leave it out for `api_key` and `base_url`",
            fields.len()
        )));
    }
    let fields = fields.into_iter().map(Field::checked).collect::<Result<Vec<_>>>()?;
    let mut names = BTreeSet::new();
    match fields.iter().find(|f| !names.insert(f.name.as_str())) {
        Some(twice) => Err(Error::bad_args(format!("the field `{}` is there twice", twice.name))),
        None => Ok(fields),
    }
}

/// A schema that a tool asks for: what sounds like a secret is one, whatever the tool's author says.
pub(crate) fn checked_of_tool(mut fields: Vec<Field>) -> Result<Vec<Field>> {
    for field in fields.iter_mut().filter(|f| f.kind == Kind::String && tool::sounds_secret(&f.name)) {
        field.secret = true;
        field.default = None;
    }
    checked(fields)
}

/// Adds the fields that a tool needs besides. What others fill in stays free of them: where the service is kept
/// already nothing is required, and no default slips into entries of people.
pub(crate) fn join(schema: &mut Vec<Field>, more: &[Field], kept: bool) {
    for field in more {
        if schema.len() < FIELDS && !schema.iter().any(|f| f.name == field.name) {
            let mut field = field.clone();
            if kept {
                field.required = false;
                field.default = None;
            }
            schema.push(field);
        }
    }
}

/// What is sealed for an entry.
#[derive(Serialize, Deserialize)]
struct Sealed {
    fields: Values,
    /// Where they may go.
    to: BTreeSet<String>,
}

/// An entry's values, what is secret apart from what is not.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Parts {
    pub plain: Values,
    pub secret: Values,
}

impl Parts {
    /// A new entry of these values, with the defaults of what is not given.
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

    /// The entry with these values changed; null or empty takes one out, and what is not named stays. Secrets that stay
    /// go nowhere they did not go before.
    pub fn changed(&self, schema: &[Field], given: &Values) -> Result<Self> {
        let mut new = self.clone();
        new.set(schema, given)?;
        let stays = new.secret.keys().find(|field| !given.contains_key(*field));
        let before = destinations(&self.plain);
        match (stays, destinations(&new.plain).difference(&before).next()) {
            (Some(secret), Some(place)) => Err(Error::bad_args(format!(
                "with this change `{secret}` could be sent to {place}: give `{secret}` again with it"
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
            return Err(Error::bad_args(format!("the entry is longer than {ENTRY} bytes: make it shorter")));
        }
        Ok(())
    }

    /// The same values under another schema; a value that was secret stays so.
    pub fn refitted(&self, schema: &[Field], label: &str) -> Result<Self> {
        let mut new = Self::default();
        let own = |name: &str| [OTHER_HOSTS, RAW].contains(&name);
        let values = self.plain.iter().map(|v| (v, false)).chain(self.secret.iter().map(|v| (v, true)));
        for ((name, value), secret) in values {
            let misfit = |what: &str| {
                Err(Error::bad_args(format!("the entry `{label}` has the field `{name}`, {what}: take it out first")))
            };
            match schema.iter().find(|f| f.name == *name) {
                None if !own(name) => return misfit("which the new schema has not"),
                Some(field) if secret && !field.secret => return misfit("which is a secret and would be one no more"),
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

    /// The secrets as they are sealed, with where they may go: a changed address beside them, in a restored backup or by a
    /// stranger's hand, then leads them nowhere else.
    pub fn sealed(&self) -> Result<Option<Vec<u8>>> {
        if self.secret.is_empty() {
            return Ok(None);
        }
        let sealed = Sealed { fields: self.secret.clone(), to: destinations(&self.plain) };
        let text = serde_json::to_vec(&sealed).map_err(|_| Error::failed("the secrets have no JSON form"))?;
        Ok(Some(text))
    }

    /// An entry with what was sealed for it, and why that counts no more.
    pub fn opened(plain: Values, sealed: Option<&[u8]>) -> (Self, Option<&'static str>) {
        let Some(text) = sealed else { return (Self { plain, secret: Values::new() }, None) };
        let (secret, why) = match serde_json::from_slice::<Sealed>(text) {
            Ok(sealed) if destinations(&plain).is_subset(&sealed.to) => (sealed.fields, None),
            Ok(_) => (Values::new(), Some("they were entered for another address; enter them again")),
            Err(_) => (Values::new(), Some("they cannot be read; enter them again")),
        };
        (Self { plain, secret }, why)
    }

    /// All values together, as tools look them up.
    pub fn whole(&self) -> Values {
        self.plain.iter().chain(&self.secret).map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

fn unknown(name: &str, schema: &[Field]) -> Error {
    let name: String = name.chars().take(40).collect();
    let known: Vec<&str> = schema.iter().map(|f| f.name.as_str()).chain([OTHER_HOSTS, RAW]).collect();
    Error::bad_args(format!("there is no field `{name}`: there are {}", known.join(", ")))
}

/// The hosts an entry's secrets may go to: of its `base_url`, and those listed in `hosts`.
pub fn hosts(entry: &Map<String, Value>) -> Vec<String> {
    let base = entry.get("base_url").and_then(Value::as_str).and_then(host_of);
    let listed = entry.get(OTHER_HOSTS).and_then(Value::as_array).into_iter().flatten();
    base.into_iter().chain(listed.filter_map(Value::as_str).map(str::to_lowercase)).collect()
}

/// Scheme, host and port of an address, in lower case.
pub fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/").to_lowercase()
}

/// Everywhere an entry's secrets may go: to its hosts, to its origin in the clear, and to tools as they are.
fn destinations(entry: &Values) -> BTreeSet<String> {
    let clear = entry.get("base_url").and_then(Value::as_str).map(origin).filter(|o| !o.starts_with("https://"));
    let raw = (entry.get(RAW) == Some(&Value::Bool(true))).then(|| "every tool".to_owned());
    hosts(entry).into_iter().chain(clear).chain(raw).collect()
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, h)| h);
    let host = if host.starts_with('[') { host.split(']').next()? } else { host.split(':').next()? };
    Some(host.trim_start_matches('[').to_lowercase())
}

/// Whether a text is an address without anything secret or confusing in it.
fn is_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && host_of(url).is_some_and(|host| !host.is_empty())
        && !authority.contains(['@', '\\'])
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// A list of hosts, or a text that separates them by commas or blanks.
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

/// That a text is not too long.
pub(crate) fn short(what: &str, text: &str, most: usize) -> Result<()> {
    match text.chars().count() {
        n if n > most => Err(Error::bad_args(format!("{what} has {n} characters, and {most} is the most"))),
        _ => Ok(()),
    }
}

/// Who made a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person defined it.
    Person,
    /// Tools ask for it.
    Tool,
    /// hob.toml has it.
    File,
}

impl Coded for Origin {
    const ALL: &'static [Self] = &[Origin::Person, Origin::Tool, Origin::File];
    // Never goes by itself.
    const UNKNOWN: Self = Origin::Person;
}
