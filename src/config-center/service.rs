//! Services as they are shown, defined, asked for and kept.

use crate::schema::{self, Field, Origin, Parts, Values, short};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Key, Level, Record};
use tool::{
    Error, Id, Label, Result, Role,
    prelude::{JsonSchema, schemars},
};

/// The label of the entry that hob.toml has, and of the first one where nobody chose another.
pub const DEFAULT: &str = "default";
/// How many services one tool may need.
const NEEDS: usize = 10;

/// A service as it is shown: everything but the secrets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// What it is looked up by.
    pub name: String,
    /// How it is called for people.
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The heading it stands under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Where its documentation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    pub multi_entry: bool,
    /// The fields of its entries.
    pub schema: Vec<Field>,
    /// Its entries, the default first.
    pub entries: Vec<Entry>,
    /// The tools that ask for it.
    pub needed_by: Vec<String>,
    /// Who made it.
    pub from: Origin,
    /// Whether anything of it was written by a run that had read from outside.
    #[serde(skip)]
    pub label: Label,
}

impl Service {
    /// What a person of this role is told: viewers that it is there, and only admins who asks for it.
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

/// An entry as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What it is called.
    pub label: String,
    /// Whether it is taken where no label is asked for.
    pub is_default: bool,
    /// The values that are no secrets.
    pub fields: Map<String, Value>,
    /// The secrets that are set.
    pub secrets_set: Vec<String>,
    /// `person`, or `file` for what only hob.toml can change.
    pub from: Origin,
}

/// What is to be known about a service; what is left out stays as it is, and an empty text takes it out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// How it is called for people.
    pub display_name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The heading it stands under.
    pub category: Option<String>,
    /// Where its documentation is.
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    pub multi_entry: Option<bool>,
    /// The fields of its entries; `api_key` and `base_url` for a new service where they are left out.
    pub schema: Option<Vec<Field>>,
}

/// A service that a tool needs, as its author writes it down.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Required {
    /// What it is looked up by.
    pub name: String,
    /// How it is called for people.
    #[serde(default, alias = "display_name")]
    pub display_name: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The heading it stands under.
    #[serde(default)]
    pub category: Option<String>,
    /// Where its documentation is.
    #[serde(default, alias = "docs_url")]
    pub docs_url: Option<String>,
    /// Whether it may have several entries.
    #[serde(default, alias = "multi_entry")]
    pub multi_entry: bool,
    /// The fields of its entries; `api_key` and `base_url` where they are left out.
    #[serde(default, alias = "config_schema", alias = "schema")]
    pub config_schema: Option<Vec<Field>>,
}

impl Required {
    /// The list in `required_api_keys`; null is an empty one.
    ///
    /// # Errors
    /// `BadArgs` when it is no such list, or a service in it cannot be made.
    pub fn many(list: &Value) -> Result<Vec<Self>> {
        let bad = |why: String| Error::bad_args(format!("`required_api_keys` does not fit: {why}"));
        let list = match list {
            Value::Null => return Ok(vec![]),
            Value::Array(list) if list.len() <= NEEDS => list,
            _ => {
                return Err(bad(format!(
                    "it is a list of {NEEDS} services at most, such as [{{\"name\": \"weather\"}}]"
                )));
            }
        };
        let read = |one: &Value| {
            let mut one: Self = serde_json::from_value(one.clone()).map_err(|e| bad(e.to_string()))?;
            check_name(&one.name)?;
            one.about().check()?;
            one.config_schema = one.config_schema.map(schema::checked_of_tool).transpose()?;
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
    /// What it is called; `default` when left out.
    #[serde(default = "default_label")]
    pub label: String,
    /// Its values, secrets among them.
    pub fields: Map<String, Value>,
    /// Whether it is the default; the first one always is.
    #[serde(default)]
    pub default: bool,
}

fn default_label() -> String {
    DEFAULT.into()
}

/// What is to be changed in an entry.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntryPatch {
    /// Another label.
    pub label: Option<String>,
    /// Other values: null or an empty text takes one out, and what is not named stays.
    pub fields: Map<String, Value>,
    /// True makes it the default.
    pub default: bool,
}

/// What people read about a service. Empty is nothing.
#[derive(Clone, Default)]
pub(crate) struct About {
    pub display_name: String,
    pub description: String,
    pub category: String,
    pub docs_url: String,
}

impl About {
    pub fn check(&self) -> Result<()> {
        short("`displayName`", &self.display_name, 100)?;
        short("`description`", &self.description, 1000)?;
        short("`category`", &self.category, 60)?;
        short("`docsUrl`", &self.docs_url, 500)?;
        let web = |url: &str| url.starts_with("https://") || url.starts_with("http://");
        if !self.docs_url.is_empty() && !web(&self.docs_url) {
            return Err(Error::bad_args("`docsUrl` must begin with https://"));
        }
        Ok(())
    }

    /// What is not said here is taken from there.
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

/// A service that is kept. The first entry is the default.
#[derive(Clone)]
pub(crate) struct ServiceRecord {
    pub id: Id,
    pub label: Label,
    pub about: About,
    pub multi_entry: bool,
    pub origin: Origin,
    pub schema: Vec<Field>,
    pub entries: Vec<KeptEntry>,
}

#[derive(Clone, PartialEq)]
pub(crate) struct KeptEntry {
    pub label: String,
    pub parts: Parts,
}

/// A service as it is stored. New fields go last. Secrets are not in it.
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

/// An entry within the stored text.
#[derive(Serialize, Deserialize)]
struct InText {
    label: String,
    fields: Values,
}

impl ServiceRecord {
    pub fn stored(&self, name: &str) -> Result<Stored> {
        let entry = |e: &KeptEntry| InText { label: e.label.clone(), fields: e.parts.plain.clone() };
        let entries: Vec<InText> = self.entries.iter().map(entry).collect();
        let text = |json: serde_json::Result<String>| json.map_err(|e| Error::failed(format!("not kept: {e}")));
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

    /// The service again; `secrets` unseals what is sealed for an entry by its label.
    ///
    /// # Errors
    /// `Failed` when the stored text cannot be read; what `secrets` answers.
    pub fn of(
        id: Id,
        label: Label,
        stored: Stored,
        mut secrets: impl FnMut(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<(String, Self)> {
        let unreadable = |e: serde_json::Error| Error::failed(format!("the service `{}`: {e}", stored.name));
        let schema = serde_json::from_str(&stored.schema).map_err(unreadable)?;
        let entries: Vec<InText> = serde_json::from_str(&stored.entries).map_err(unreadable)?;
        let entry = |e: InText| {
            let (parts, lost) = Parts::opened(e.fields, secrets(&e.label)?.as_deref());
            if let Some(why) = lost {
                tracing::warn!(service = stored.name, entry = e.label, "the secrets of a service count no more: {why}");
            }
            Ok(KeptEntry { label: e.label, parts })
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

    /// What is to be sealed for each entry, by the name it is sealed under; `None` where nothing may be left.
    ///
    /// # Errors
    /// `Failed` when the secrets have no JSON form.
    pub fn sealed(&self, name: &str) -> Result<BTreeMap<String, Option<Vec<u8>>>> {
        let sealed = |e: &KeptEntry| Ok((sealed_name(name, &e.label), e.parts.sealed()?));
        self.entries.iter().map(sealed).collect()
    }
}

/// The name the secrets of an entry are sealed under. A service's name has no slash.
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
