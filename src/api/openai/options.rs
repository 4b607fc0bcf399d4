//! Parses the options of a request that change the answer. Unknown or unsupported options are refused by name.

use super::Refusal;
use llm::{ResponseFormat, Sampling};
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::prelude::{JsonSchema, schemars};

/// The most stop sequences, and the longest one in bytes.
const STOPS: usize = 16;
const STOP: usize = 1000;
/// The largest JSON Schema of an answer, in bytes.
const SCHEMA: usize = 64 * 1024;

/// Options of a chat completion beside its conversation.
#[derive(Deserialize, JsonSchema, Default)]
pub(crate) struct Options {
    /// 0 to 2.
    temperature: Option<f64>,
    /// 0 to 1.
    top_p: Option<f64>,
    /// Sample from the so many likeliest tokens, where the model's server can.
    top_k: Option<u32>,
    /// The most tokens of each turn of the model; the older name.
    max_tokens: Option<u32>,
    /// The most tokens of each turn of the model.
    max_completion_tokens: Option<u32>,
    /// A text, or a list of texts, before which the answer ends.
    #[serde(default)]
    #[schemars(with = "Option<Stops>")]
    stop: Value,
    seed: Option<i64>,
    /// -2 to 2.
    presence_penalty: Option<f64>,
    /// -2 to 2.
    frequency_penalty: Option<f64>,
    /// `{"type": "text"}`, `{"type": "json_object"}` or `{"type": "json_schema", "json_schema": {"name", "schema"}}`.
    #[serde(default)]
    #[schemars(with = "Option<Format>")]
    response_format: Value,
    /// Not more than 1.
    n: Option<u64>,
    #[schemars(skip)]
    logprobs: Option<bool>,
    #[schemars(skip)]
    top_logprobs: Option<u64>,
    #[schemars(skip)]
    modalities: Option<Vec<String>>,
    #[serde(default)]
    #[schemars(skip)]
    functions: Value,
    #[serde(default)]
    #[schemars(skip)]
    function_call: Value,
    #[serde(default)]
    #[schemars(skip)]
    logit_bias: Value,
    #[schemars(skip)]
    store: Option<bool>,
}

/// Stop sequences.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Stops {
    One(String),
    Several(Vec<String>),
}

/// The format of an answer.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)]
enum Format {
    Text,
    JsonObject,
    JsonSchema { json_schema: Schema },
}

/// A schema an answer has to fit.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct Schema {
    name: String,
    /// JSON Schema.
    schema: Map<String, Value>,
    /// Whether the model's server enforces it as well, where it can. Hob checks the answer in any case.
    strict: Option<bool>,
}

/// Parameters of chat completions that do not change the answer.
pub(super) const WITHOUT_EFFECT: &[&str] = &[
    "user",
    "metadata",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "prediction",
];

/// Refuses unknown parameters; null ones are ignored.
pub(super) fn known(rest: &Map<String, Value>, without_effect: &[&str]) -> Result<(), Refusal> {
    let unknown = rest.iter().find(|(name, value)| !value.is_null() && !without_effect.contains(&name.as_str()));
    let Some((name, _)) = unknown else { return Ok(()) };
    let name: String = name.chars().take(80).collect();
    let text = format!("Hob does not know the parameter `{name}`: leave it out");
    Err(Refusal::of(&name, text).code("unknown_parameter"))
}

impl Options {
    /// The options for the agent.
    ///
    /// # Errors
    /// Names the first option that is invalid or unsupported.
    pub fn read(self) -> Result<(Sampling, ResponseFormat), Refusal> {
        self.refuse_the_impossible()?;
        let format = match &self.response_format {
            Value::Null => ResponseFormat::Text,
            format => format_of(format, &format["json_schema"], "response_format")?,
        };
        let (max_tokens, named) = match (self.max_completion_tokens, self.max_tokens) {
            (Some(most), _) => (Some(most), "max_completion_tokens"),
            (None, most) => (most, "max_tokens"),
        };
        let sampling = Sampling {
            max_tokens: at_least_one(named, max_tokens)?,
            temperature: in_range("temperature", self.temperature, 0.0, 2.0)?,
            top_p: in_range("top_p", self.top_p, 0.0, 1.0)?,
            top_k: at_least_one("top_k", self.top_k)?,
            stop: stops_of(&self.stop)?,
            seed: self.seed,
            presence_penalty: in_range("presence_penalty", self.presence_penalty, -2.0, 2.0)?,
            frequency_penalty: in_range("frequency_penalty", self.frequency_penalty, -2.0, 2.0)?,
        };
        Ok((sampling, format))
    }

    fn refuse_the_impossible(&self) -> Result<(), Refusal> {
        let refuse = |param: &str, text: &str| Err(Refusal::of(param, text).code("unsupported_parameter"));
        let set = |value: &Value| !value.is_null();
        if self.n.is_some_and(|n| n != 1) {
            let text = "Hob gives one answer: leave `n` out, or ask again for another";
            return Err(Refusal::of("n", text).code("unsupported_value"));
        }
        if self.logprobs == Some(true) {
            return refuse("logprobs", "Hob has no log probabilities: leave `logprobs` out");
        }
        if self.top_logprobs.is_some_and(|n| n > 0) {
            return refuse("top_logprobs", "Hob has no log probabilities: leave `top_logprobs` out");
        }
        if self.modalities.iter().flatten().any(|m| m != "text") {
            let text = "Hob answers in text only: leave `modalities` out";
            return Err(Refusal::of("modalities", text).code("unsupported_value"));
        }
        if set(&self.functions) {
            return refuse("functions", "`functions` is not understood any more: send them as `tools`");
        }
        if set(&self.function_call) {
            return refuse("function_call", "`function_call` is not understood any more: send `tool_choice`");
        }
        if self.logit_bias.as_object().is_some_and(|bias| !bias.is_empty()) {
            return refuse("logit_bias", "Hob cannot bias single tokens: leave `logit_bias` out");
        }
        if self.store == Some(true) {
            return refuse(
                "store",
                "Hob does not store completions, the program keeps the conversation: leave `store` out",
            );
        }
        Ok(())
    }
}

/// Checks that a number is in a range.
pub(crate) fn in_range(name: &str, value: Option<f64>, least: f64, most: f64) -> Result<Option<f64>, Refusal> {
    match value {
        Some(v) if !(least..=most).contains(&v) => {
            Err(Refusal::of(name, format!("`{name}` is {v}: give {least} to {most}, or leave it out")))
        }
        value => Ok(value),
    }
}

/// Checks that a count is not zero.
pub(super) fn at_least_one(name: &str, value: Option<u32>) -> Result<Option<u32>, Refusal> {
    match value {
        Some(0) => Err(Refusal::of(name, format!("`{name}` is 0: give 1 or more, or leave it out"))),
        value => Ok(value),
    }
}

pub(crate) fn stops_of(stop: &Value) -> Result<Vec<String>, Refusal> {
    let texts: Option<Vec<String>> = match stop {
        Value::Null => Some(vec![]),
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(several) => several.iter().map(|s| s.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let fits = |texts: &Vec<String>| texts.len() <= STOPS && texts.iter().all(|s| (1..=STOP).contains(&s.len()));
    texts.filter(fits).ok_or_else(|| {
        let text =
            format!("`stop` is a text or a list of up to {STOPS} texts, none of them empty or above {STOP} bytes");
        Refusal::of("stop", text)
    })
}

/// Parses the format of the answer; `named` holds name and schema.
pub(crate) fn format_of(format: &Value, named: &Value, param: &str) -> Result<ResponseFormat, Refusal> {
    match format["type"].as_str() {
        Some("text") => Ok(ResponseFormat::Text),
        Some("json_object") => Ok(ResponseFormat::JsonObject),
        Some("json_schema") => {
            let looks = "a schema is given as {\"name\": \"…\", \"schema\": {…}}, with a name of letters, digits, underscores and \
                         dashes, 64 at most";
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let name = named["name"].as_str().filter(|n| (1..=64).contains(&n.len()) && n.chars().all(letters));
            let schema = Some(&named["schema"]).filter(|s| s.is_object());
            let (name, schema) = name.zip(schema).ok_or_else(|| Refusal::of(param, looks))?;
            if schema.to_string().len() > SCHEMA {
                let text = format!("the schema is larger than {} KB: describe less of the answer", SCHEMA >> 10);
                return Err(Refusal::of(param, text));
            }
            registry::check_schema(schema).map_err(|e| Refusal::of(param, e.message()))?;
            let strict = named["strict"].as_bool().unwrap_or_default();
            Ok(ResponseFormat::JsonSchema { name: name.to_owned(), schema: schema.clone(), strict })
        }
        _ => {
            let text = format!("the type of `{param}` is `text`, `json_object` or `json_schema`");
            Err(Refusal::of(param, text))
        }
    }
}
