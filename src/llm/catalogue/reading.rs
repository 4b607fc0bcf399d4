//! Parses a catalogue entry by entry, so that a broken entry is skipped alone and a large document needs little
//! memory.

use super::{Catalogue, Model, name};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{fmt, sync::Arc};
use tool::{Error, Result};

/// Maximum document size in bytes. models.dev's has about two million.
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of models.
const MOST: usize = 5000;
/// Maximum length of a name.
const LONGEST_NAME: usize = 200;
/// Maximum plausible price, in US dollars per million tokens.
const MAX_PRICE: f64 = 100_000.0;

/// A parsed document; can be serialized in Hob's own format.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    models: Vec<RawModel>,
    as_of: String,
    /// Number of invalid entries.
    #[serde(skip)]
    pub skipped: usize,
}

/// One model as the document describes it; `None` and 0 for omitted facts.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawModel {
    /// Alternative to `model`, together with `name`.
    #[serde(skip_serializing)]
    provider: Option<String>,
    model: String,
    name: String,
    context: u32,
    output: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audio: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<u8>,
}

impl RawModel {
    /// Merges over known facts: omitted ones stay, and unknown ones keep optimistic defaults.
    fn over(self, old: Option<&Model>) -> Model {
        let known = old.map(Model::facts).unwrap_or_default();
        let said = |said: u32, known: u32| if said > 0 { said } else { known };
        let mut model = Model {
            context: said(self.context, known.context),
            output: said(self.output, known.output),
            tools: self.tools.unwrap_or(known.tools),
            images: self.images.unwrap_or(known.images),
            audio: self.audio.unwrap_or(known.audio),
            files: self.files.unwrap_or(known.files),
            quality: self.quality.or(old.and_then(|old| old.quality)),
            speed: self.speed.or(old.and_then(|old| old.speed)),
            input_price: self.input_price,
            cached_price: self.cached_price,
            cache_write_price: self.cache_write_price,
            output_price: self.output_price,
            model: self.model,
            name: self.name,
        };
        if let Some(old) = old.filter(|_| model.input_price.is_none() && model.output_price.is_none()) {
            (model.input_price, model.cached_price, model.cache_write_price, model.output_price) =
                (old.input_price, old.cached_price, old.cache_write_price, old.output_price);
        }
        model
    }
}

impl Document {
    /// Without a base catalogue.
    pub fn alone(self) -> Catalogue {
        self.over(Catalogue::default())
    }

    /// Merged over a base catalogue.
    pub fn over(self, mut known: Catalogue) -> Catalogue {
        for said in self.models {
            let old = known.get(&said.model);
            let model = said.over(old);
            Arc::make_mut(&mut known.models).insert(model.model.clone(), model);
        }
        if !self.as_of.is_empty() {
            known.as_of = self.as_of;
        }
        known
    }

    fn take(&mut self, model: Option<RawModel>) {
        match model {
            Some(model) if self.models.len() < MOST => self.models.push(model),
            _ => self.skipped += 1,
        }
    }
}

/// Parses a document of either format.
///
/// # Errors
/// `BadArgs` if it has neither format, is empty, or is too large.
pub(super) fn document(bytes: &[u8]) -> Result<Document> {
    if bytes.len() > MAX_BYTES {
        let mb = MAX_BYTES >> 20;
        return Err(Error::bad_args(format!(
            "the catalogue of models is larger than {mb} MB: give one that is smaller"
        )));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = Top.deserialize(&mut json).and_then(|document| json.end().map(|()| document));
    let document = read.map_err(|e| {
        Error::bad_args(format!("the catalogue of models cannot be read ({e}): give one like models.dev/api.json"))
    })?;
    if document.models.is_empty() {
        return Err(Error::bad_args(format!(
            "no model in this catalogue is of use ({} entries make no sense): give one like models.dev/api.json",
            document.skipped
        )));
    }
    Ok(document)
}

/// `{"asOf": …, "models": [ours, …]}` or `{provider: {"models": {id: theirs, …}}, …}`.
struct Top;

impl<'de> DeserializeSeed<'de> for Top {
    type Value = Document;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Document, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top {
    type Value = Document;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("models by provider")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), name::provider(&key)) {
                ("asOf", _) => document.as_of = map.next_value::<String>()?.chars().take(40).collect(),
                ("models", _) => map.next_value_seed(OwnModels(&mut document))?,
                (_, Some(provider)) => map.next_value_seed(ModelsDevProvider { document: &mut document, provider })?,
                (_, None) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(document)
    }
}

/// A list of models in Hob's own format.
struct OwnModels<'a>(&'a mut Document);

impl<'de> DeserializeSeed<'de> for OwnModels<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OwnModels<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of models")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(entry) = list.next_element::<Value>()? {
            self.0.take(serde_json::from_value(entry).ok().and_then(ours));
        }
        Ok(())
    }
}

/// A provider of models.dev.
struct ModelsDevProvider<'a> {
    document: &'a mut Document,
    provider: &'static str,
}

impl<'de> DeserializeSeed<'de> for ModelsDevProvider<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ModelsDevProvider<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a provider with its models")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key != "models" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            for (id, entry) in map.next_value::<serde_json::Map<String, Value>>()? {
                let model = serde_json::from_value(entry)
                    .ok()
                    .and_then(|theirs: ModelsDevModel| theirs.model(self.provider, id));
                match model {
                    Some(None) => {}
                    model => self.document.take(model.flatten()),
                }
            }
        }
        Ok(())
    }
}

/// A model in Hob's own format: named by `model`, or by `provider` and `name`.
fn ours(mut said: RawModel) -> Option<RawModel> {
    if let Some(provider) = said.provider.take() {
        said.model = format!("{provider}/{}", said.name);
    }
    said.quality = said.quality.map(|q| q.min(100));
    said.speed = said.speed.map(|s| s.min(100));
    sensible(said)
}

/// A models.dev model, with the fields Hob uses.
#[derive(Deserialize)]
struct ModelsDevModel {
    cost: Option<Cost>,
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    modalities: Modalities,
    tool_call: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cost {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Limit {
    context: u32,
    output: u32,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Modalities {
    input: Option<Vec<String>>,
    output: Vec<String>,
}

impl ModelsDevModel {
    /// `None` if invalid, `Some(None)` if it is not a chat model.
    fn model(self, provider: &str, id: String) -> Option<Option<RawModel>> {
        let Self { cost, limit, modalities: Modalities { input, output }, tool_call: tools } = self;
        if !output.is_empty() && !output.iter().any(|kind| kind == "text") {
            return Some(None);
        }
        let reads = |kind: &str| input.as_ref().map(|input| input.iter().any(|i| i == kind));
        let cost = cost.unwrap_or_default();
        sensible(RawModel {
            model: format!("{provider}/{id}"),
            name: id,
            context: limit.context,
            output: limit.output,
            input_price: cost.input,
            cached_price: cost.cache_read,
            cache_write_price: cost.cache_write,
            output_price: cost.output,
            tools,
            images: reads("image"),
            audio: reads("audio"),
            files: reads("pdf"),
            ..RawModel::default()
        })
        .map(Some)
    }
}

/// The model if its name and prices are plausible.
fn sensible(model: RawModel) -> Option<RawModel> {
    let named = model.model.strip_suffix(model.name.as_str()).is_some_and(|p| p.len() > 1 && p.ends_with('/'));
    let clean = model.model.len() <= LONGEST_NAME && !model.name.is_empty() && !model.model.contains(char::is_control);
    let prices = [model.input_price, model.cached_price, model.cache_write_price, model.output_price];
    let priced = prices.into_iter().flatten().all(|price| (0.0..=MAX_PRICE).contains(&price));
    (named && clean && priced).then_some(model)
}
