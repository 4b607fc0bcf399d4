//! Services: views, definitions, requirements of tools, and records.

use crate::schema::{self, EntryValues, Field, Origin, Values, check_length};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Key, Level, Record};
use tool::{
    Error, Id, Label, Result, Role,
    prelude::{JsonSchema, schemars},
};

/// The label of the hob.toml entry, and the default label of a first entry.
pub const DEFAULT: &str = "default";
/// The maximum number of services that a tool may require.
const NEEDS: usize = 10;

/// A service without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// Its unique name.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The heading in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The URL of its documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    pub multi_entry: bool,
    /// The fields of its entries.
    pub schema: Vec<Field>,
    /// Its entries, the default first.
    pub entries: Vec<Entry>,
    /// The names of the tools that require it.
    pub needed_by: Vec<String>,
    /// Its origin.
    pub from: Origin,
    /// Whether a tainted run wrote any of it.
    #[serde(skip)]
    pub label: Label,
}

impl Service {
    /// The view for a role: viewers see that it exists, and only admins see the tools that require it.
    pub fn seen_by(mut self, role: Role) -> Self {
        if role < Role::Admin {
            self.needed_by.clear();
        }
        if role < Role::Member {
            self.schema.clear();
            self.entries.clear();
        }
        self
    }
}

/// An entry without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its label.
    pub label: String,
    /// Whether it is used when no label is given.
    pub is_default: bool,
    /// The values that are not secret.
    pub fields: Map<String, Value>,
    /// The names of the secrets that are set.
    pub secrets_set: Vec<String>,
    /// `person`, or `file` for an entry that only hob.toml can change.
    pub from: Origin,
}

/// A patch of a service: omitted fields stay, an empty text removes one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// The name for people.
    pub display_name: Option<String>,
    /// A description for people.
    pub description: Option<String>,
    /// The heading in lists.
    pub category: Option<String>,
    /// The URL of its documentation.
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    pub multi_entry: Option<bool>,
    /// The fields of its entries; a new service defaults to `api_key` and `base_url`.
    pub schema: Option<Vec<Field>>,
}

/// A service that a tool requires, as its author declares it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Required {
    /// Its unique name.
    pub name: String,
    /// The name for people.
    #[serde(default, alias = "display_name")]
    pub display_name: Option<String>,
    /// A description for people.
    #[serde(default)]
    pub description: Option<String>,
    /// The heading in lists.
    #[serde(default)]
    pub category: Option<String>,
    /// The URL of its documentation.
    #[serde(default, alias = "docs_url")]
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    #[serde(default, alias = "multi_entry")]
    pub multi_entry: bool,
    /// The fields of its entries; defaults to `api_key` and `base_url`.
    #[serde(default, alias = "config_schema", alias = "schema")]
    pub config_schema: Option<Vec<Field>>,
}

impl Required {
    /// Parse the list in `required_api_keys`; null is an empty list.
    ///
    /// # Errors
    /// `BadArgs` when it is not such a list, or a service in it is invalid.
    pub fn parse_list(list: &Value) -> Result<Vec<Self>> {
        let bad = |why: String| Error::bad_args(format!("`required_api_keys` does not fit: {why}"));
        let list = match list {
            Value::Null => return Ok(vec![]),
            Value::Array(list) if list.len() <= NEEDS => list,
            _ => {
                return Err(bad(format!(
                    "it must be a list of at most {NEEDS} services, such as [{{\"name\": \"weather\"}}]"
                )));
            }
        };
        let read = |one: &Value| {
            let mut one: Self = serde_json::from_value(one.clone()).map_err(|e| bad(e.to_string()))?;
            check_name(&one.name)?;
            one.about().check()?;
            one.config_schema = one.config_schema.map(schema::checked_tool_schema).transpose()?;
            Ok(one)
        };
        list.iter().map(read).collect()
    }

    pub(crate) fn about(&self) -> About {
        About {
            display_name: self.display_name.clone().unwrap_or_default(),
            description: self.description.clone().unwrap_or_default(),
            category: self.category.clone().unwrap_or_default(),
            docs_url: self.docs_url.clone().unwrap_or_default(),
        }
    }
}

/// A new entry.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEntry {
    /// Its label; defaults to `default`.
    #[serde(default = "default_label")]
    pub label: String,
    /// Its values, including secrets.
    pub fields: Map<String, Value>,
    /// Whether it is the default; the first one always is.
    #[serde(default)]
    pub default: bool,
}

fn default_label() -> String {
    DEFAULT.into()
}

/// A patch of an entry.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntryPatch {
    /// The new label.
    pub label: Option<String>,
    /// New values: null or an empty text removes one, omitted values stay.
    pub fields: Map<String, Value>,
    /// True makes it the default.
    pub default: bool,
}

/// The texts about a service for people; empty means none.
#[derive(Clone, Default)]
pub(crate) struct About {
    pub display_name: String,
    pub description: String,
    pub category: String,
    pub docs_url: String,
}

impl About {
    pub fn check(&self) -> Result<()> {
        check_length("`displayName`", &self.display_name, 100)?;
        check_length("`description`", &self.description, 1000)?;
        check_length("`category`", &self.category, 60)?;
        check_length("`docsUrl`", &self.docs_url, 500)?;
        let web = |url: &str| url.starts_with("https://") || url.starts_with("http://");
        if !self.docs_url.is_empty() && !web(&self.docs_url) {
            return Err(Error::bad_args("`docsUrl` must begin with https://"));
        }
        Ok(())
    }

    /// Fill empty texts from another source.
    pub fn or(mut self, other: &About) -> Self {
        for (mine, theirs) in [
            (&mut self.display_name, &other.display_name),
            (&mut self.description, &other.description),
            (&mut self.category, &other.category),
            (&mut self.docs_url, &other.docs_url),
        ] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
        self
    }

    pub fn change(&mut self, new: &Definition) {
        for (mine, theirs) in [
            (&mut self.display_name, &new.display_name),
            (&mut self.description, &new.description),
            (&mut self.category, &new.category),
            (&mut self.docs_url, &new.docs_url),
        ] {
            if let Some(theirs) = theirs {
                *mine = theirs.trim().to_owned();
            }
        }
    }
}

/// A stored service. The first entry is the default.
#[derive(Clone)]
pub(crate) struct ServiceRecord {
    pub id: Id,
    pub label: Label,
    pub about: About,
    pub multi_entry: bool,
    pub origin: Origin,
    pub schema: Vec<Field>,
    pub entries: Vec<EntryRecord>,
}

#[derive(Clone, PartialEq)]
pub(crate) struct EntryRecord {
    pub label: String,
    pub parts: EntryValues,
}

/// The record of a service without secrets. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub category: String,
    pub docs_url: String,
    pub multi_entry: bool,
    #[serde(with = "store::coded")]
    pub origin: Origin,
    /// JSON text: the fields.
    pub schema: String,
    /// JSON text: `[{"label", "fields"}]`.
    pub entries: String,
}

impl Record for Stored {
    const NAME: &'static str = "config-services";
    const WORD: &'static str = "service";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}

/// An entry inside the record.
#[derive(Serialize, Deserialize)]
struct StoredEntry {
    label: String,
    fields: Values,
}

impl ServiceRecord {
    pub fn stored(&self, name: &str) -> Result<Stored> {
        let entry = |e: &EntryRecord| StoredEntry { label: e.label.clone(), fields: e.parts.plain.clone() };
        let entries: Vec<StoredEntry> = self.entries.iter().map(entry).collect();
        let text = |json: serde_json::Result<String>| json.map_err(|e| Error::failed(format!("not stored: {e}")));
        Ok(Stored {
            name: name.into(),
            display_name: self.about.display_name.clone(),
            description: self.about.description.clone(),
            category: self.about.category.clone(),
            docs_url: self.about.docs_url.clone(),
            multi_entry: self.multi_entry,
            origin: self.origin,
            schema: text(serde_json::to_string(&self.schema))?,
            entries: text(serde_json::to_string(&entries))?,
        })
    }

    /// Load a service; `secrets` decrypts the secrets of an entry by its label.
    ///
    /// # Errors
    /// `Failed` when the record cannot be parsed; errors of `secrets`.
    pub fn of(
        id: Id,
        label: Label,
        stored: Stored,
        mut secrets: impl FnMut(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<(String, Self)> {
        let unreadable = |e: serde_json::Error| Error::failed(format!("the service `{}`: {e}", stored.name));
        let schema = serde_json::from_str(&stored.schema).map_err(unreadable)?;
        let entries: Vec<StoredEntry> = serde_json::from_str(&stored.entries).map_err(unreadable)?;
        let entry = |e: StoredEntry| {
            let (parts, lost) = EntryValues::unsealed(e.fields, secrets(&e.label)?.as_deref());
            if let Some(why) = lost {
                tracing::warn!(service = stored.name, entry = e.label, "the secrets of a service are ignored: {why}");
            }
            Ok(EntryRecord { label: e.label, parts })
        };
        let kept = Self {
            id,
            label,
            about: About {
                display_name: stored.display_name,
                description: stored.description,
                category: stored.category,
                docs_url: stored.docs_url,
            },
            multi_entry: stored.multi_entry,
            origin: stored.origin,
            schema,
            entries: entries.into_iter().map(entry).collect::<Result<_>>()?,
        };
        Ok((stored.name, kept))
    }

    /// The secrets to encrypt for each entry, by storage name; `None` to remove them.
    ///
    /// # Errors
    /// `Failed` when the secrets cannot be serialized.
    pub fn sealed(&self, name: &str) -> Result<BTreeMap<String, Option<Vec<u8>>>> {
        let sealed = |e: &EntryRecord| Ok((sealed_name(name, &e.label), e.parts.sealed()?));
        self.entries.iter().map(sealed).collect()
    }
}

/// The storage name of an entry's secrets. Service names contain no slash.
pub(crate) fn sealed_name(service: &str, label: &str) -> String {
    format!("config/{service}/{label}")
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::bad_args(format!(
        "`{shown}` cannot be a service's name: use 1 to 64 lower-case letters, digits, `_` and `-`, as open-meteo"
    )))
}

pub(crate) fn check_label(label: &str) -> Result<String> {
    let label = label.trim();
    let fits = |c: char| !c.is_control() && c != '/';
    if !label.is_empty() && label.chars().count() <= 64 && label.chars().all(fits) {
        return Ok(label.to_owned());
    }
    let shown: String = label.chars().take(80).collect();
    Err(Error::bad_args(format!(
        "`{shown}` cannot be an entry's label: use 1 to 64 characters, and no slash, as `work`"
    )))
}
