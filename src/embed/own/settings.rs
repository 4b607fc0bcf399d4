//! The settings of a model, from the files beside it: those of Hugging Face and sentence-transformers, and `hob.json` for the rest.

use super::{
    centre::SENTENCES,
    family::{self, Family},
    fingerprint::add_file,
    is_onnx, name_of,
    pooling::Pooling,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The longest files that are read.
const MOST_JSON: u64 = 1 << 20;
const MOST_TOKENIZER: u64 = 64 << 20;
const MOST_MODEL: u64 = 1 << 30;
/// The longest text that is embedded as a whole, in tokens: attention takes time and memory by its square.
const MOST_TOKENS: usize = 512;
/// That length for a model that does not declare its own.
const TOKENS: usize = 256;
/// The most numbers of a vector.
pub const MOST_DIMENSIONS: usize = 4096;
/// The longest prefix, in characters.
const MOST_PREFIX: usize = 200;

/// `hob.json`: overrides the other files.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct HobJson {
    file: Option<String>,
    output: Option<String>,
    pooling: Option<Pooling>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    max_tokens: Option<usize>,
    dimensions: Option<usize>,
}

/// One entry of `modules.json`.
#[derive(Debug, Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    path: String,
}

/// How a model is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of its folder.
    pub name: String,
    /// Recorded beside stored vectors: the name and a fingerprint of everything that changes vectors.
    pub id: Arc<str>,
    pub onnx: PathBuf,
    pub tokenizer: PathBuf,
    /// The output with the vectors; `None` is the one with the usual name, or the first.
    pub output: Option<String>,
    pub pooling: Pooling,
    pub query_prefix: String,
    pub passage_prefix: String,
    pub max_tokens: usize,
    pub dimensions: usize,
}

impl Settings {
    /// Reads the settings of the model in a folder, and not the model itself.
    ///
    /// # Errors
    /// The missing or unusable file, and what to do.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let given: HobJson = json(&folder.join("hob.json"))?.unwrap_or_default();
        let config: Value = json(&folder.join("config.json"))?.unwrap_or_default();
        let name = name_of(folder);
        let family = family::of(config["_name_or_path"].as_str().unwrap_or_default()).or_else(|| family::of(&name));
        let pooling = match given.pooling {
            Some(pooling) => pooling,
            None => declared_pooling(folder)?.or(family.map(|family| family.pooling)).ok_or_else(|| {
                format!(
                    "{} does not say how vectors of tokens become one: put the model's 1_Pooling/config.json there, or write a \
                     hob.json with {{\"pooling\": \"mean\"}} (or \"cls\", \"max\", \"none\")",
                    folder.display()
                )
            })?,
        };
        let (query_prefix, passage_prefix) = prefixes(folder, &given, family)?;
        let onnx = onnx_file(folder, given.file.as_deref())?;
        let tokenizer = tokenizer_file(folder, &onnx)?;
        let max_tokens = match given.max_tokens {
            Some(tokens) => tokens,
            None => declared_tokens(folder, &config)?,
        };
        let dimensions = match given.dimensions {
            Some(dimensions) => dimensions,
            None => declared_dimensions(folder, &config)?,
        };
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(format!("vectors of {dimensions} numbers are not supported: 1 to {MOST_DIMENSIONS} are"));
        }
        if max_tokens < 8 {
            return Err(format!("a model that reads {max_tokens} tokens cannot embed sentences: check the settings"));
        }
        let mut settings = Self {
            name,
            id: Arc::from(""),
            onnx,
            tokenizer,
            output: given.output,
            pooling,
            query_prefix,
            passage_prefix,
            max_tokens: max_tokens.min(MOST_TOKENS),
            dimensions,
        };
        let print = settings.fingerprint().map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
        settings.id = format!("{}#{print}", settings.name).into();
        Ok(settings)
    }

    /// Of everything that changes vectors.
    fn fingerprint(&self) -> std::io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        let Self { output, pooling, query_prefix, passage_prefix, max_tokens, dimensions, .. } = self;
        let parts = format!("{:?}", (output, pooling, query_prefix, passage_prefix, max_tokens, dimensions, SENTENCES));
        hasher.update(parts.as_bytes());
        add_file(&mut hasher, &self.onnx)?;
        add_file(&mut hasher, &self.tokenizer)?;
        Ok(hasher.finalize().to_hex().chars().take(16).collect())
    }
}

/// A JSON file, if it is there.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    if !path.exists() {
        return Ok(None);
    }
    check_file(path, MOST_JSON)?;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_JSON).read_to_string(&mut text));
    read.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    serde_json::from_str(&text).map(Some).map_err(|error| format!("{} is not usable: {error}", path.display()))
}

/// That a path is a regular file of at most so many bytes.
fn check_file(path: &Path, most: u64) -> Result<(), String> {
    let found = path.metadata().map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    if !found.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let (size, most) = (found.len().div_ceil(1 << 20), most >> 20);
    match size > most {
        true => {
            Err(format!("{} has {size} MB, more than the {most} MB that are read: use a smaller model", path.display()))
        }
        false => Ok(()),
    }
}

/// The pooling that the files of sentence-transformers declare.
fn declared_pooling(folder: &Path) -> Result<Option<Pooling>, String> {
    let modules: Vec<Module> = json(&folder.join("modules.json"))?.unwrap_or_default();
    let mut place = "1_Pooling".to_owned();
    for module in &modules {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" | "Normalize" => {}
            "Pooling" => place.clone_from(&module.path),
            other => {
                return Err(format!(
                    "its modules.json has a layer \"{other}\" behind the transformer, which Hob does not run: use a model \
                     without it, or an ONNX file that includes it (and \"pooling\": \"none\" in hob.json)"
                ));
            }
        }
    }
    if place.is_empty() || place.contains(['/', '\\']) || place.starts_with('.') {
        return Err("its modules.json has no plain name for the folder of the pooling: write it into hob.json".into());
    }
    let path = folder.join(place).join("config.json");
    let Some(config) = json::<Value>(&path)? else { return Ok(None) };
    let modes = [
        ("pooling_mode_cls_token", Pooling::Cls),
        ("pooling_mode_mean_tokens", Pooling::Mean),
        ("pooling_mode_max_tokens", Pooling::Max),
    ];
    let named = config["pooling_mode"].as_str().and_then(|mode| match mode {
        "mean" => Some(Pooling::Mean),
        "cls" => Some(Pooling::Cls),
        "max" => Some(Pooling::Max),
        _ => None,
    });
    let on = config
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| key.starts_with("pooling_mode_") && value.as_bool() == Some(true));
    let on: Vec<&str> = on.map(|(key, _)| key.as_str()).collect();
    let known = || match on[..] {
        [one] => modes.iter().find(|(key, _)| *key == one).map(|(_, pooling)| *pooling),
        _ => None,
    };
    named.or_else(known).map(Some).ok_or_else(|| {
        format!("{} asks for a pooling that Hob does not have: mean, cls and max are supported", path.display())
    })
}

/// The prefixes of queries and passages: of `hob.json`, of the model's prompts, of its family.
fn prefixes(folder: &Path, given: &HobJson, family: Option<Family>) -> Result<(String, String), String> {
    let prompts: Value = json(&folder.join("config_sentence_transformers.json"))?.unwrap_or_default();
    let prompt = |names: &[&str]| {
        let found = names.iter().find_map(|name| prompts["prompts"][name].as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let query = given
        .query_prefix
        .clone()
        .or_else(|| prompt(&["query"]))
        .unwrap_or_else(|| family.map_or("", |family| family.query).to_owned());
    let passage = given
        .passage_prefix
        .clone()
        .or_else(|| prompt(&["passage", "document"]))
        .unwrap_or_else(|| family.map_or("", |family| family.passage).to_owned());
    match [&query, &passage].iter().any(|text| text.chars().count() > MOST_PREFIX) {
        true => Err(format!(
            "a prefix of the model has more than {MOST_PREFIX} characters: write a shorter one into hob.json"
        )),
        false => Ok((query, passage)),
    }
}

/// The ONNX file: the named one, the only one, or `model.onnx`; in the folder or in its folder `onnx`.
fn onnx_file(folder: &Path, named: Option<&str>) -> Result<PathBuf, String> {
    let path = match named {
        Some(named) => {
            let plain = Path::new(named).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if !plain || !folder.join(named).is_file() {
                return Err(format!("hob.json names the file \"{named}\", which is not in {}", folder.display()));
            }
            folder.join(named)
        }
        None => {
            let mut found = vec![];
            for place in [folder.to_owned(), folder.join("onnx")] {
                let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().map(|entry| entry.path());
                found.extend(entries.filter(|path| is_onnx(path) && path.is_file()));
            }
            found.sort();
            let usual = found.iter().find(|path| path.ends_with("model.onnx"));
            match (&found[..], usual) {
                ([one], _) | ([_, _, ..], Some(one)) => one.clone(),
                ([], _) => return Err(format!("there is no ONNX file in {}: put the model there", folder.display())),
                (many, None) => {
                    let names = many.iter().filter_map(|path| path.strip_prefix(folder).ok()?.to_str());
                    return Err(format!(
                        "there are several ONNX files in {}: write a hob.json with {{\"file\": …}}, one of {}",
                        folder.display(),
                        names.collect::<Vec<_>>().join(", ")
                    ));
                }
            }
        }
    };
    check_file(&path, MOST_MODEL)?;
    Ok(path)
}

/// `tokenizer.json` in the folder, or beside the ONNX file.
fn tokenizer_file(folder: &Path, onnx: &Path) -> Result<PathBuf, String> {
    let places = [Some(folder), onnx.parent()];
    let found = places.into_iter().flatten().map(|place| place.join("tokenizer.json")).find(|path| path.exists());
    let Some(path) = found else {
        return Err(format!("there is no tokenizer.json in {}: put the model's own there", folder.display()));
    };
    check_file(&path, MOST_TOKENIZER)?;
    Ok(path)
}

/// The length of the model's input in tokens.
fn declared_tokens(folder: &Path, config: &Value) -> Result<usize, String> {
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let sentence: Value = json(&folder.join("sentence_bert_config.json"))?.unwrap_or_default();
    let tokenizer: Value = json(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
    // RoBERTa and its relatives number positions from the padding's id on: two more than they have.
    let roberta = config["model_type"].as_str().is_some_and(|kind| kind.contains("roberta"));
    let positions = number(&config["max_position_embeddings"]).map(|n| n.saturating_sub(if roberta { 2 } else { 0 }));
    let own = number(&sentence["max_seq_length"]).or(number(&tokenizer["model_max_length"]));
    Ok(match (own, positions) {
        (Some(own), Some(positions)) => own.min(positions),
        (own, positions) => own.or(positions).unwrap_or(TOKENS),
    })
}

/// How many numbers a vector has.
fn declared_dimensions(folder: &Path, config: &Value) -> Result<usize, String> {
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let pooling: Value = json(&folder.join("1_Pooling/config.json"))?.unwrap_or_default();
    number(&pooling["word_embedding_dimension"])
        .or_else(|| ["hidden_size", "dim", "d_model"].iter().find_map(|key| number(&config[*key])))
        .ok_or_else(|| {
            format!(
                "{} does not say how many numbers a vector has: put the model's config.json there, or write a hob.json with \
                 {{\"dimensions\": 384}}",
                folder.display()
            )
        })
}
