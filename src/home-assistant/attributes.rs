//! The attributes of an entity, bounded.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;
use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// The most attributes of an entity, and the most bytes of one and of all of them.
const COUNT: usize = 60;
const ONE: usize = 1024;
const ALL: usize = 4096;
/// The members of a group or scene, and the most bytes of their list: whether one of them is a door is looked up there.
const MEMBERS: &str = "entity_id";
const MOST_MEMBERS: usize = 16 * 1024;
/// The most names that are shared by all entities.
const NAMES: usize = 4096;
/// Secrets, pictures, and what only a page needs.
const LEFT_OUT: &[&str] =
    &["access_token", "entity_picture", "entity_picture_local", "icon", "attribution", "editable"];

/// Names of attributes: thousands of entities share some dozens of them.
static SHARED: LazyLock<Mutex<HashSet<Arc<str>>>> = LazyLock::new(Mutex::default);

/// Attributes by name, in the order they came. What is too long is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(Vec<(Arc<str>, Value)>);

impl Attributes {
    /// One of them.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| **n == *name).map(|(_, value)| value)
    }
    /// One that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }
    /// One that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }
    /// The texts of one that is a list.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
    /// Sets some, and removes others.
    pub fn change(&mut self, set: Self, removed: &[String]) {
        self.0.retain(|(name, _)| !removed.iter().any(|r| **r == **name));
        let mut size = self.size();
        for (name, value) in set.0 {
            let at = self.0.iter().position(|(known, _)| *known == name);
            let (before, more) = (at.map_or(0, |at| counted(&name, &self.0[at].1)), counted(&name, &value));
            let is_free = at.is_some() || self.0.len() < COUNT || *name == *MEMBERS;
            let fits = is_free && size - before + more <= ALL;
            size = size - before + if fits { more } else { 0 };
            match at {
                Some(at) if fits => self.0[at].1 = value,
                Some(at) => drop(self.0.remove(at)),
                None if fits => self.0.push((name, value)),
                None => {}
            }
        }
    }
    /// The members of a group or scene; `None` where there are too many to know them.
    pub fn members(&self) -> Option<Vec<&str>> {
        match self.get(MEMBERS) {
            None => Some(vec![]),
            Some(Value::String(one)) => Some(one.split(',').map(str::trim).collect()),
            Some(Value::Array(_)) => Some(self.list(MEMBERS).collect()),
            Some(_) => None,
        }
    }
    fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| counted(name, value)).sum()
    }
}

/// The share of an attribute in the bytes of all; members have a limit of their own.
fn counted(name: &str, value: &Value) -> usize {
    if name == MEMBERS { 0 } else { weight(value) }
}

/// About how many bytes a value takes as text.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(all) => all.iter().map(|v| weight(v) + 1).sum::<usize>() + 2,
        Value::Object(all) => all.iter().map(|(k, v)| k.len() + weight(v) + 4).sum::<usize>() + 2,
        _ => 6,
    }
}

fn shared(name: &str) -> Arc<str> {
    let mut names = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let new: Arc<str> = name.into();
    if names.len() < NAMES {
        names.insert(new.clone());
    }
    new
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;
        impl<'de> Visitor<'de> for Bounded {
            type Value = Attributes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("attributes")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let (mut all, mut size) = (Vec::new(), 0);
                while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    let is_members = name == MEMBERS;
                    if LEFT_OUT.contains(&&*name) || name.len() > 64 || all.len() >= COUNT && !is_members {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let value: Value = map.next_value()?;
                    if is_members {
                        let known = weight(&value) <= MOST_MEMBERS;
                        all.push((shared(&name), if known { value } else { Value::Bool(true) }));
                        continue;
                    }
                    let more = weight(&value);
                    if more <= ONE && size + more <= ALL {
                        size += more;
                        all.push((shared(&name), value));
                    }
                }
                all.shrink_to_fit();
                Ok(Attributes(all))
            }
        }
        deserializer.deserialize_map(Bounded)
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Attributes {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn attributes_are_bounded_and_hold_no_secret() {
        let many: serde_json::Map<_, _> = (0..200).map(|n| (format!("a{n}"), json!(n))).collect();
        assert_eq!(read(Value::Object(many)).0.len(), COUNT);
        let long = read(json!({"a": "x".repeat(2000), "b": 1, "access_token": "s", "entity_picture": "/p?token=s"}));
        assert_eq!(serde_json::to_value(&long).unwrap(), json!({"b": 1}));
        let texts: serde_json::Map<_, _> = (0..20).map(|n| (format!("a{n}"), json!("x".repeat(1000)))).collect();
        assert!(read(Value::Object(texts)).size() <= ALL);
    }

    #[test]
    fn changes_set_and_remove() {
        let mut all = read(json!({"brightness": 1, "color": "red", "modes": ["a", "b"]}));
        all.change(read(json!({"brightness": 9, "effect": null})), &["color".into()]);
        assert_eq!(serde_json::to_value(&all).unwrap(), json!({"brightness": 9, "modes": ["a", "b"], "effect": null}));
        assert_eq!((all.number("brightness"), all.list("modes").count(), all.text("color")), (Some(9.0), 2, None));
        for n in 0..100 {
            all.change(read(json!({format!("a{n}"): "x".repeat(900)})), &[]);
        }
        assert!(all.size() <= ALL);
        // Nor do small ones that grow.
        let mut all = read((0..COUNT).map(|n| (format!("a{n}"), json!(1))).collect::<serde_json::Map<_, _>>().into());
        for n in 0..COUNT {
            all.change(read(json!({format!("a{n}"): "x".repeat(900)})), &[]);
        }
        assert!(all.size() <= ALL && all.0.len() <= COUNT, "{}", all.size());
    }

    #[test]
    fn members_are_known_or_known_to_be_too_many() {
        let ids = |n: usize| json!((0..n).map(|n| format!("light.lamp_number_{n}")).collect::<Vec<_>>());
        let many: serde_json::Map<_, _> = (0..200).map(|n| (format!("a{n}"), json!("x".repeat(500)))).collect();
        let mut scene = Value::Object(many);
        scene["entity_id"] = ids(200);
        assert_eq!(read(scene).members().unwrap().len(), 200);
        assert_eq!(read(json!({"entity_id": ids(5000)})).members(), None);
        assert_eq!(read(json!({"entity_id": "a.b, c.d"})).members().unwrap(), ["a.b", "c.d"]);
        assert_eq!(read(json!({})).members().unwrap(), [""; 0]);
    }
}
