//! The merged state of stored services, requirements of tools, and hob.toml.

use crate::{
    schema::{self, Field, OTHER_HOSTS, Origin, RAW, Values},
    service::{About, DEFAULT, Entry, Required, Service, ServiceRecord},
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tool::{Id, Label, sounds_secret};

/// The requirements of a tool.
pub(crate) struct Need {
    /// The tool's name.
    pub tool_name: String,
    /// The label of its author's text.
    pub label: Label,
    pub services: Vec<Required>,
}

pub(crate) struct State {
    pub stored: BTreeMap<String, ServiceRecord>,
    /// By the tool's id.
    pub needs: BTreeMap<String, Need>,
    pub file: BTreeMap<String, Values>,
}

impl State {
    pub fn names(&self) -> BTreeSet<String> {
        let needed = self.needs.values().flat_map(|need| &need.services).map(|s| &s.name);
        self.stored.keys().chain(self.file.keys()).chain(needed).cloned().collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.stored.contains_key(name) || self.file.contains_key(name) || self.needs_for(name).next().is_some()
    }

    /// The requirements of all tools for a service.
    fn needs_for<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Need, &'a Required)> {
        self.needs
            .values()
            .flat_map(|need| need.services.iter().map(move |s| (need, s)))
            .filter(move |n| n.1.name == name)
    }

    /// The fields of a service: stored, else required by tools, else guessed from the file, else the default; plus
    /// all fields that tools require.
    fn schema(&self, name: &str) -> Vec<Field> {
        let mut asked = self.needs_for(name).filter_map(|(_, s)| s.config_schema.as_deref()).peekable();
        let record = self.stored.get(name);
        let mut fields = match (record, asked.peek(), self.file.get(name)) {
            (Some(record), ..) => record.schema.clone(),
            (None, Some(_), _) => vec![],
            (None, None, Some(file)) => schema::schema_of(file),
            (None, None, None) => schema::default_schema(),
        };
        asked.for_each(|more| schema::add_required_fields(&mut fields, more, record.is_some()));
        fields
    }

    fn multi_entry(&self, name: &str) -> bool {
        match self.stored.get(name) {
            Some(record) => record.multi_entry || (record.origin != Origin::Person && self.wants_many(name)),
            None => self.wants_many(name),
        }
    }

    fn wants_many(&self, name: &str) -> bool {
        self.needs_for(name).any(|(_, s)| s.multi_entry)
    }

    /// The record of a service, current or new.
    pub fn to_record(&self, name: &str) -> ServiceRecord {
        let (schema, multi_entry) = (self.schema(name), self.multi_entry(name));
        match self.stored.get(name) {
            Some(record) => ServiceRecord { schema, multi_entry, ..record.clone() },
            None => ServiceRecord {
                id: Id::new(),
                label: self.needs_for(name).map(|(need, _)| need.label).fold(Label::Own, Label::max),
                about: self.about(name),
                multi_entry,
                origin: if self.file.contains_key(name) { Origin::File } else { Origin::Tool },
                schema,
                entries: vec![],
            },
        }
    }

    fn about(&self, name: &str) -> About {
        let about = self.stored.get(name).map(|record| record.about.clone()).unwrap_or_default();
        self.needs_for(name).fold(about, |about, (_, s)| about.or(&s.about()))
    }

    /// The entry of hob.toml. A person's entry overrides it: with the same label, or if only one entry is allowed.
    fn file_entry(&self, name: &str) -> Option<&Values> {
        let own = self.stored.get(name).map(|record| &record.entries[..]).unwrap_or_default();
        let replaced = own.iter().any(|e| e.label == DEFAULT) || (!own.is_empty() && !self.multi_entry(name));
        self.file.get(name).filter(|_| !replaced)
    }

    pub fn service(&self, name: &str) -> Option<Service> {
        if !self.has(name) {
            return None;
        }
        let (record, about) = (self.stored.get(name), self.about(name));
        let non_empty = |text: String| Some(text).filter(|t| !t.is_empty());
        let own = record.into_iter().flat_map(|record| &record.entries).map(|e| Entry {
            label: e.label.clone(),
            is_default: false,
            fields: e.parts.plain.clone(),
            secrets_set: e.parts.secret.keys().cloned().collect(),
            from: Origin::Person,
        });
        let file_entry = self.file_entry(name).map(|values| {
            let (secret, plain): (Vec<_>, Vec<_>) = values.iter().partition(|(field, _)| self.is_secret(name, field));
            Entry {
                label: DEFAULT.into(),
                is_default: false,
                fields: plain.into_iter().map(|(k, v)| (k.clone(), self.without_secrets(v))).collect(),
                secrets_set: secret.into_iter().map(|(k, _)| k.clone()).collect(),
                from: Origin::File,
            }
        });
        let mut entries: Vec<Entry> = own.chain(file_entry).collect();
        if let Some(first) = entries.first_mut() {
            first.is_default = true;
        }
        let needed: BTreeSet<&str> = self.needs_for(name).map(|(need, _)| need.tool_name.as_str()).collect();
        let labels = self.needs_for(name).map(|(need, _)| need.label).chain(record.map(|record| record.label));
        let file = if self.file.contains_key(name) { Origin::File } else { Origin::Tool };
        Some(Service {
            name: name.to_owned(),
            display_name: non_empty(about.display_name).unwrap_or_else(|| name.to_owned()),
            description: non_empty(about.description),
            category: non_empty(about.category),
            docs_url: non_empty(about.docs_url),
            multi_entry: self.multi_entry(name),
            schema: self.schema(name),
            entries,
            needed_by: needed.into_iter().map(str::to_owned).collect(),
            from: record.map_or(file, |record| record.origin),
            label: labels.fold(Label::Own, Label::max),
        })
    }

    /// All entries of a service with their secrets, the default first.
    pub fn entries(&self, name: &str) -> Vec<(String, Values)> {
        let own = self.stored.get(name).into_iter().flat_map(|record| &record.entries);
        let own = own.map(|e| (e.label.clone(), e.parts.merged()));
        own.chain(self.file_entry(name).map(|values| (DEFAULT.to_owned(), values.clone()))).collect()
    }

    /// Whether a field is secret by schema. Unknown fields and those of the file are secret if named like one.
    pub fn is_secret(&self, name: &str, field: &str) -> bool {
        if [OTHER_HOSTS, RAW].contains(&field) {
            return false;
        }
        let declared =
            if self.has(name) { self.schema(name).iter().find(|f| f.name == field).map(|f| f.secret) } else { None };
        match declared {
            Some(false) if self.file_entry(name).is_some() => sounds_secret(field),
            Some(secret) => secret,
            None => sounds_secret(field),
        }
    }

    /// A nested value of a file without fields named like secrets.
    fn without_secrets(&self, value: &Value) -> Value {
        match value {
            Value::Object(inner) => {
                let plain = inner.iter().filter(|(field, _)| !sounds_secret(field));
                Value::Object(plain.map(|(f, v)| (f.clone(), self.without_secrets(v))).collect::<Map<_, _>>())
            }
            Value::Array(all) => all.iter().map(|v| self.without_secrets(v)).collect(),
            plain => plain.clone(),
        }
    }

    /// Whether to register a value of the file with the scrubber. A `keyword` is hidden because it is named like a
    /// key, but a word such as "boiler" must not be removed from every text because of a name alone.
    fn is_scrubbed(&self, name: &str, field: &str) -> bool {
        let record =
            self.stored.get(name).filter(|record| record.origin != Origin::File).map(|record| &record.schema[..]);
        let asked = self.needs_for(name).filter_map(|(_, s)| s.config_schema.as_deref());
        let mut declared = record.into_iter().chain(asked).flatten();
        declared.any(|f| f.name == field && f.secret) || (self.is_secret(name, field) && is_certain_secret_name(field))
    }

    /// Every secret value, once.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        for entry in self.stored.values().flat_map(|record| &record.entries) {
            entry.parts.secret.values().for_each(|v| collect_texts(v, &mut found));
        }
        for (name, values) in &self.file {
            for (field, value) in values {
                match self.is_scrubbed(name, field) {
                    true => collect_texts(value, &mut found),
                    false => collect_nested_secrets(value, &mut found),
                }
            }
        }
        found.into_iter().filter(|secret| !secret.is_empty()).collect()
    }
}

/// Names of secrets that are also words; in a file of services they mean nothing else.
const WORDS: &[&str] = &["key", "token", "secret", "password", "pass", "auth", "credential", "credentials"];

/// Whether a field name certainly names a secret.
fn is_certain_secret_name(field: &str) -> bool {
    scrub::is_secret_name(field) || WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// Collect all texts and numbers in a value.
fn collect_texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Number(number) => drop(found.insert(number.to_string())),
        Value::Array(all) => all.iter().for_each(|v| collect_texts(v, found)),
        Value::Object(inner) => inner.values().for_each(|v| collect_texts(v, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Collect the nested values that are secret by name.
fn collect_nested_secrets(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(inner) => {
            for (field, value) in inner {
                if is_certain_secret_name(field) {
                    collect_texts(value, found)
                } else {
                    collect_nested_secrets(value, found)
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|v| collect_nested_secrets(v, found)),
        _ => {}
    }
}
