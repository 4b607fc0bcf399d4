//! What the Config Center knows at a moment: what is kept, what tools need, what hob.toml has, and how these become one.

use crate::{
    schema::{self, Field, OTHER_HOSTS, Origin, RAW, Values},
    service::{About, DEFAULT, Entry, Required, Service, ServiceRecord},
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tool::{Id, Label, sounds_secret};

/// What a tool needs.
pub(crate) struct Need {
    /// The tool's name.
    pub shown: String,
    /// Where its author's words came from.
    pub label: Label,
    pub services: Vec<Required>,
}

pub(crate) struct State {
    pub kept: BTreeMap<String, ServiceRecord>,
    /// By the tool's id.
    pub needs: BTreeMap<String, Need>,
    pub file: BTreeMap<String, Values>,
}

impl State {
    pub fn names(&self) -> BTreeSet<String> {
        let needed = self.needs.values().flat_map(|need| &need.services).map(|s| &s.name);
        self.kept.keys().chain(self.file.keys()).chain(needed).cloned().collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.kept.contains_key(name) || self.file.contains_key(name) || self.needs_for(name).next().is_some()
    }

    /// Who needs a service, and how.
    fn needs_for<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Need, &'a Required)> {
        self.needs
            .values()
            .flat_map(|need| need.services.iter().map(move |s| (need, s)))
            .filter(move |n| n.1.name == name)
    }

    /// The fields of a service: what is kept, else what tools ask for, else what the file has, else the usual two; and
    /// what tools need besides.
    fn schema(&self, name: &str) -> Vec<Field> {
        let mut asked = self.needs_for(name).filter_map(|(_, s)| s.config_schema.as_deref()).peekable();
        let kept = self.kept.get(name);
        let mut fields = match (kept, asked.peek(), self.file.get(name)) {
            (Some(kept), ..) => kept.schema.clone(),
            (None, Some(_), _) => vec![],
            (None, None, Some(file)) => schema::schema_of(file),
            (None, None, None) => schema::default_schema(),
        };
        asked.for_each(|more| schema::join(&mut fields, more, kept.is_some()));
        fields
    }

    fn multi_entry(&self, name: &str) -> bool {
        match self.kept.get(name) {
            Some(kept) => kept.multi_entry || (kept.origin != Origin::Person && self.wants_many(name)),
            None => self.wants_many(name),
        }
    }

    fn wants_many(&self, name: &str) -> bool {
        self.needs_for(name).any(|(_, s)| s.multi_entry)
    }

    /// The service as it is kept, or would be from now on.
    pub fn to_keep(&self, name: &str) -> ServiceRecord {
        let (schema, multi_entry) = (self.schema(name), self.multi_entry(name));
        match self.kept.get(name) {
            Some(kept) => ServiceRecord { schema, multi_entry, ..kept.clone() },
            None => ServiceRecord {
                id: Id::new(),
                label: self.needs_for(name).map(|(need, _)| need.label).max().unwrap_or_default(),
                about: self.about(name),
                multi_entry,
                origin: if self.file.contains_key(name) { Origin::File } else { Origin::Tool },
                schema,
                entries: vec![],
            },
        }
    }

    fn about(&self, name: &str) -> About {
        let kept = self.kept.get(name).map(|kept| kept.about.clone()).unwrap_or_default();
        self.needs_for(name).fold(kept, |about, (_, s)| about.or(&s.about()))
    }

    /// The entry that hob.toml has. A person's own entry takes its place: of the same label, or where only one may be.
    fn in_file(&self, name: &str) -> Option<&Values> {
        let own = self.kept.get(name).map(|kept| &kept.entries[..]).unwrap_or_default();
        let replaced = own.iter().any(|e| e.label == DEFAULT) || (!own.is_empty() && !self.multi_entry(name));
        self.file.get(name).filter(|_| !replaced)
    }

    pub fn service(&self, name: &str) -> Option<Service> {
        if !self.has(name) {
            return None;
        }
        let (kept, about) = (self.kept.get(name), self.about(name));
        let said = |text: String| Some(text).filter(|t| !t.is_empty());
        let own = kept.into_iter().flat_map(|kept| &kept.entries).map(|e| Entry {
            label: e.label.clone(),
            is_default: false,
            fields: e.parts.plain.clone(),
            secrets_set: e.parts.secret.keys().cloned().collect(),
            from: Origin::Person,
        });
        let in_file = self.in_file(name).map(|values| {
            let (secret, plain): (Vec<_>, Vec<_>) = values.iter().partition(|(field, _)| self.is_secret(name, field));
            Entry {
                label: DEFAULT.into(),
                is_default: false,
                fields: plain.into_iter().map(|(k, v)| (k.clone(), self.without_secrets(v))).collect(),
                secrets_set: secret.into_iter().map(|(k, _)| k.clone()).collect(),
                from: Origin::File,
            }
        });
        let mut entries: Vec<Entry> = own.chain(in_file).collect();
        if let Some(first) = entries.first_mut() {
            first.is_default = true;
        }
        let needed: BTreeSet<&str> = self.needs_for(name).map(|(need, _)| need.shown.as_str()).collect();
        let labels = self.needs_for(name).map(|(need, _)| need.label).chain(kept.map(|kept| kept.label));
        let file = if self.file.contains_key(name) { Origin::File } else { Origin::Tool };
        Some(Service {
            name: name.to_owned(),
            display_name: said(about.display_name).unwrap_or_else(|| name.to_owned()),
            description: said(about.description),
            category: said(about.category),
            docs_url: said(about.docs_url),
            multi_entry: self.multi_entry(name),
            schema: self.schema(name),
            entries,
            needed_by: needed.into_iter().map(str::to_owned).collect(),
            from: kept.map_or(file, |kept| kept.origin),
            label: labels.max().unwrap_or_default(),
        })
    }

    /// All entries of a service with their secrets, the default first.
    pub fn entries(&self, name: &str) -> Vec<(String, Values)> {
        let own = self.kept.get(name).into_iter().flat_map(|kept| &kept.entries);
        let own = own.map(|e| (e.label.clone(), e.parts.whole()));
        own.chain(self.in_file(name).map(|values| (DEFAULT.to_owned(), values.clone()))).collect()
    }

    /// What the schema says; what it does not know, and what stands in the file, is secret when it sounds so.
    pub fn is_secret(&self, name: &str, field: &str) -> bool {
        if [OTHER_HOSTS, RAW].contains(&field) {
            return false;
        }
        let said =
            if self.has(name) { self.schema(name).iter().find(|f| f.name == field).map(|f| f.secret) } else { None };
        match said {
            Some(false) if self.in_file(name).is_some() => sounds_secret(field),
            Some(secret) => secret,
            None => sounds_secret(field),
        }
    }

    /// A value further down in a file, without what sounds like a secret.
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

    /// Whether a value of the file is to be known as a secret wherever it stands. Nobody may see a `keyword`, for it sounds
    /// like a key; but where only its name speaks for it, a word such as "boiler" must not vanish from every text.
    fn is_known(&self, name: &str, field: &str) -> bool {
        let kept = self.kept.get(name).filter(|kept| kept.origin != Origin::File).map(|kept| &kept.schema[..]);
        let asked = self.needs_for(name).filter_map(|(_, s)| s.config_schema.as_deref());
        let mut declared = kept.into_iter().chain(asked).flatten();
        declared.any(|f| f.name == field && f.secret) || (self.is_secret(name, field) && names_secret(field))
    }

    /// Every secret value there is, once.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        for entry in self.kept.values().flat_map(|kept| &kept.entries) {
            entry.parts.secret.values().for_each(|v| leaves(v, &mut found));
        }
        for (name, values) in &self.file {
            for (field, value) in values {
                match self.is_known(name, field) {
                    true => leaves(value, &mut found),
                    false => further_down(value, &mut found),
                }
            }
        }
        found.into_iter().filter(|secret| !secret.is_empty()).collect()
    }
}

/// Names of secrets that are also words; in a file of services they stand for nothing else.
const WORDS: &[&str] = &["key", "token", "secret", "password", "pass", "auth", "credential", "credentials"];

/// Whether the name of a field is that of a secret, and does not only sound so.
fn names_secret(field: &str) -> bool {
    scrub::is_secret_name(field) || WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// All texts and numbers in a value.
fn leaves(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Number(number) => drop(found.insert(number.to_string())),
        Value::Array(all) => all.iter().for_each(|v| leaves(v, found)),
        Value::Object(inner) => inner.values().for_each(|v| leaves(v, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// What is a secret by its name further down in a value.
fn further_down(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(inner) => {
            for (field, value) in inner {
                if names_secret(field) { leaves(value, found) } else { further_down(value, found) }
            }
        }
        Value::Array(all) => all.iter().for_each(|v| further_down(v, found)),
        _ => {}
    }
}
