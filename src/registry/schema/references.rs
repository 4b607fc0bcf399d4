//! Resolves the references of a JSON Schema within its document.

use serde_json::{Map, Value};
use std::cell::OnceCell;
use url::Url;

/// A part of a document, and the resource it belongs to.
pub(crate) type Part<'a> = (&'a Value, &'a Value);

/// The address of a document that has no `$id`.
const UNNAMED: &str = "json-schema:///";

/// The target of a reference.
pub(crate) enum Target<'a> {
    /// A part of the document.
    Part(Part<'a>),
    /// A meta-schema of json-schema.org: any valid schema fits it.
    MetaSchema,
}

/// The references of one document.
pub(crate) struct References<'a> {
    root: &'a Value,
    /// All objects of the document; collected when a reference is not a plain pointer.
    parts: OnceCell<Vec<Part<'a>>>,
    /// The resources of the document with their addresses.
    resources: OnceCell<Vec<(Url, &'a Value)>>,
}

impl<'a> References<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, parts: OnceCell::new(), resources: OnceCell::new() }
    }

    /// Resolves `$ref`, or the static part of `$dynamicRef` and `$recursiveRef`, in the resource `base`.
    pub(crate) fn resolve(&self, reference: &str, base: &'a Value) -> Option<Target<'a>> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decode_percent(fragment);
        let resource = match address {
            "" => base,
            _ => {
                let url = self.address_of(base)?.join(address).ok()?;
                match self.resources().iter().find(|(known, _)| *known == url) {
                    Some((_, resource)) => resource,
                    None => return is_meta_schema(&url).then_some(Target::MetaSchema),
                }
            }
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            return at(resource, &fragment).map(Target::Part);
        }
        let old_anchor = |part: &'a Value| ids(part).any(|id| id.strip_prefix('#') == Some(&*fragment));
        let found = self.parts().iter().copied().find(|(part, of)| {
            std::ptr::eq(*of, resource)
                && (part["$anchor"] == *fragment || part["$dynamicAnchor"] == *fragment || old_anchor(part))
        });
        found.map(Target::Part)
    }

    /// The part that carries a `$dynamicAnchor` in a resource.
    pub(crate) fn dynamic_anchor(&self, name: &str, resource: &'a Value) -> Option<Part<'a>> {
        self.dynamic_anchors(name).find(|(_, of)| std::ptr::eq(*of, resource))
    }

    /// Every part that carries this `$dynamicAnchor`.
    pub(crate) fn dynamic_anchors(&self, name: &str) -> impl Iterator<Item = Part<'a>> {
        self.parts().iter().copied().filter(move |(part, _)| part["$dynamicAnchor"] == *name)
    }

    /// Every resource with `$recursiveAnchor`.
    pub(crate) fn recursive_anchors(&self) -> impl Iterator<Item = Part<'a>> {
        self.parts().iter().copied().filter(|(part, of)| std::ptr::eq(*part, *of) && part["$recursiveAnchor"] == true)
    }

    pub(crate) fn parts(&self) -> &[Part<'a>] {
        self.parts.get_or_init(|| {
            let mut parts = vec![];
            collect(self.root, self.root, &mut parts);
            parts
        })
    }

    fn resources(&self) -> &[(Url, &'a Value)] {
        self.resources.get_or_init(|| {
            let mut found = vec![];
            if let Ok(unnamed) = Url::parse(UNNAMED) {
                name_resources(self.root, &unnamed, &mut found);
                if !found.iter().any(|(_, part)| std::ptr::eq(*part, self.root)) {
                    found.push((unnamed, self.root));
                }
            }
            found
        })
    }

    fn address_of(&self, resource: &'a Value) -> Option<&Url> {
        self.resources().iter().find(|(_, part)| std::ptr::eq(*part, resource)).map(|(url, _)| url)
    }
}

fn is_meta_schema(url: &Url) -> bool {
    url.host_str() == Some("json-schema.org")
}

fn name_resources<'a>(part: &'a Value, base: &Url, found: &mut Vec<(Url, &'a Value)>) {
    let own = ids(part).find(|id| !id.starts_with('#')).and_then(|id| base.join(id).ok()).map(|mut url| {
        url.set_fragment(None);
        url
    });
    let base = own.as_ref().unwrap_or(base);
    if own.is_some() {
        found.push((base.clone(), part));
    }
    children(part).for_each(|child| name_resources(child, base, found));
}

fn collect<'a>(part: &'a Value, base: &'a Value, found: &mut Vec<Part<'a>>) {
    let base = base_of(part, base);
    if part.is_object() {
        found.push((part, base));
    }
    children(part).for_each(|child| collect(child, base, found));
}

fn children(part: &Value) -> impl Iterator<Item = &Value> {
    let fields = part.as_object().map(Map::values).into_iter().flatten();
    fields.chain(part.as_array().into_iter().flatten())
}

fn ids(part: &Value) -> impl Iterator<Item = &str> {
    ["$id", "id"].into_iter().filter_map(|key| part.as_object()?.get(key)?.as_str())
}

/// The resource a part belongs to: a schema with an id is a resource of its own.
pub(crate) fn base_of<'a>(part: &'a Value, base: &'a Value) -> &'a Value {
    if ids(part).any(|id| !id.starts_with('#')) { part } else { base }
}

/// The part at a JSON pointer in a resource, and the resource it belongs to.
fn at<'a>(resource: &'a Value, pointer: &str) -> Option<Part<'a>> {
    let (mut part, mut base) = (resource, resource);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        part = match part {
            Value::Object(fields) => fields.get(&token)?,
            Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
            _ => return None,
        };
        base = base_of(part, base);
    }
    Some((part, base))
}

/// Decodes `%25` and the like.
fn decode_percent(fragment: &str) -> String {
    let mut bytes = vec![];
    let mut rest = fragment.as_bytes();
    while let [first, more @ ..] = rest {
        let code = (*first == b'%').then(|| std::str::from_utf8(more.get(..2)?).ok()).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
