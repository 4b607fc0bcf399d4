//! `/v1/embeddings`: turns texts into vectors with the embedded model.

use super::{EMBEDDING, OpenAiJson, Refusal, options};
use crate::AppState;
use axum::extract::State;
use base64::{Engine, engine::general_purpose::STANDARD};
use embed::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tool::prelude::{JsonSchema, schemars};

/// The most texts of a request.
const INPUTS: usize = 2048;

/// Texts to be embedded.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Body {
    /// `all-MiniLM-L6-v2`, or `hob`.
    model: String,
    /// A text, or a list of texts.
    #[schemars(with = "Input")]
    input: Value,
    /// `float` (the default) or `base64`.
    encoding_format: Option<String>,
    /// 384, which is what the model gives.
    dimensions: Option<u64>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

/// One text or several.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Input {
    One(String),
    Several(Vec<String>),
}

/// Vectors of length 1, in the order of the texts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Embeddings {
    /// `list`.
    object: &'static str,
    data: Vec<Embedding>,
    model: &'static str,
    usage: Usage,
}

/// One vector.
#[derive(Serialize, JsonSchema)]
struct Embedding {
    /// `embedding`.
    object: &'static str,
    index: usize,
    /// Numbers, or their little-endian bytes in base64.
    embedding: Value,
}

/// Tokens used.
#[derive(Serialize, JsonSchema)]
struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

/// Embeds texts.
pub(crate) async fn embed(
    State(house): State<AppState>,
    OpenAiJson(body): OpenAiJson<Body>,
) -> Result<axum::Json<Embeddings>, Refusal> {
    options::known(&body.rest, &["user"])?;
    if ![EMBEDDING, embed::MODEL, super::HOB].contains(&body.model.as_str()) {
        return Err(super::no_model(&body.model, &[EMBEDDING.to_owned()]));
    }
    let base64 = match body.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(_) => return Err(Refusal::of("encoding_format", "`encoding_format` is `float` or `base64`")),
    };
    if body.dimensions.is_some_and(|n| n != embed::DIM as u64) {
        let text = format!("the vectors of this model have {} dimensions: leave `dimensions` out", embed::DIM);
        return Err(Refusal::of("dimensions", text).code("unsupported_value"));
    }
    let texts = texts_of(body.input)?;
    let (mut data, mut tokens) = (Vec::with_capacity(texts.len()), 0);
    for (index, text) in texts.iter().enumerate() {
        let at = if texts.len() == 1 { "input".to_owned() } else { format!("input[{index}]") };
        let (vector, counted) = house.embedder.embed_whole(text).await.map_err(|e| refused(&at, e))?;
        tokens += counted;
        let embedding = match base64 {
            true => STANDARD.encode(vector.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>()).into(),
            false => json!(vector),
        };
        data.push(Embedding { object: "embedding", index, embedding });
    }
    let usage = Usage { prompt_tokens: tokens, total_tokens: tokens };
    Ok(axum::Json(Embeddings { object: "list", data, model: EMBEDDING, usage }))
}

fn texts_of(input: Value) -> Result<Vec<String>, Refusal> {
    let wrong = |text: &str| Refusal::of("input", text);
    let many = match input {
        Value::String(one) => return Ok(vec![one]),
        Value::Array(many) if many.is_empty() => return Err(wrong("`input` is an empty list: give at least one text")),
        Value::Array(many) => many,
        _ => return Err(wrong("`input` is a text, or a list of texts")),
    };
    if many.len() > INPUTS {
        return Err(wrong("`input` has more than 2048 texts: send them in several requests"));
    }
    if many.iter().any(|one| one.is_number() || one.is_array()) {
        let text = "tokens mean something to their own model alone: send `input` as text (in LangChain: \
                    `check_embedding_ctx_length=False`)";
        return Err(wrong(text).code("unsupported_value"));
    }
    let text = |one| match one {
        Value::String(text) => Some(text),
        _ => None,
    };
    many.into_iter().map(text).collect::<Option<_>>().ok_or_else(|| wrong("`input` is a text, or a list of texts"))
}

fn refused(at: &str, error: Error) -> Refusal {
    match error {
        Error::Empty => Refusal::of(at, format!("{error}")),
        Error::TooLong(_) => Refusal::of(at, format!("{error}")).code("context_length_exceeded"),
        other => Refusal::new(axum::http::StatusCode::CONFLICT, "unavailable", other.to_string()),
    }
}
