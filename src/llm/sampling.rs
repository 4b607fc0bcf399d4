//! Options of an answer: sampling and format.
//!
//! A provider honours each of them or rejects the request with [`Error::Unsupported`]; none is dropped. Configured
//! defaults are [`Request::max_tokens`] and [`Request::temperature`], which these override.

use crate::{Endpoint, Error, Message, Quirks, Request, Wire};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Maximum number of stop sequences sent to a provider; longer lists are left to [`crate::StopFilter`].
const NATIVE_STOPS: usize = 4;
/// The minimum output limit of OpenAI's Responses.
const LEAST_OUTPUT: u32 = 16;
/// Separator of system prompt sections.
const DIVIDER: &str = "\n\n---\n\n";

/// Sampling options of one request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sampling {
    /// Maximum output tokens.
    pub max_tokens: Option<u32>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    pub top_p: Option<f64>,
    /// Sample from this many most likely tokens.
    pub top_k: Option<u32>,
    /// The answer ends before any of these. The reader applies [`crate::StopFilter`] as well: some providers have no
    /// stop sequences, and models with tools as text must not stop within a call.
    pub stop: Vec<String>,
    /// Makes answers repeatable as far as the provider can.
    pub seed: Option<i64>,
    /// -2 to 2.
    pub presence_penalty: Option<f64>,
    /// -2 to 2.
    pub frequency_penalty: Option<f64>,
}

/// The format of the final answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ResponseFormat {
    /// Plain text.
    #[default]
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that matches a schema.
    JsonSchema {
        /// The caller's name for it.
        name: String,
        /// The JSON Schema.
        schema: Value,
        /// Whether the provider enforces it while sampling.
        strict: bool,
    },
}

impl ResponseFormat {
    /// Whether the answer is JSON.
    pub fn is_json(&self) -> bool {
        *self != ResponseFormat::Text
    }

    /// The instruction for a model whose provider does not enforce the format.
    pub fn instruction(&self) -> String {
        match self {
            ResponseFormat::Text => String::new(),
            ResponseFormat::JsonObject => {
                "Your final answer must be a single JSON object and nothing else: no prose, no code fence.".to_owned()
            }
            ResponseFormat::JsonSchema { schema, .. } => format!(
                "Your final answer must be a single JSON value that is valid against this JSON Schema, and nothing else: no \
                 prose, no code fence.\n{schema}"
            ),
        }
    }
}

/// The effective temperature: the caller's, else the configured one if the server accepts any. Rounded to three
/// digits, since 0.7 is 0.699999988 as a float.
pub(crate) fn temperature(endpoint: &Endpoint, request: &Request) -> Option<Value> {
    let configured = || {
        request.temperature.filter(|t| t.is_finite() && !endpoint.quirks.no_temperature).map(|t| round(f64::from(t)))
    };
    request.sampling.temperature.or_else(configured).map(Value::from)
}

fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// The stop sequences to send.
pub(crate) fn stops(endpoint: &Endpoint, request: &Request) -> Option<Vec<String>> {
    let stop = &request.sampling.stop;
    // Anthropic rejects blank ones.
    let sendable = |s: &String| endpoint.wire != Wire::Anthropic || !s.trim().is_empty();
    let native = !endpoint.quirks.no_stop && stop.len() <= NATIVE_STOPS && stop.iter().all(sendable);
    (native && !stop.is_empty()).then(|| stop.clone())
}

/// Writes each option that is set under this format's name.
pub(crate) fn write(into: &mut Value, options: [(&str, Option<Value>); 5]) {
    for (name, value) in options {
        if let Some(value) = value {
            into[name] = value;
        }
    }
}

/// Whether the server enforces the format itself.
pub(crate) fn enforces_format(endpoint: &Endpoint, request: &Request) -> bool {
    let known = match endpoint.wire {
        Wire::OpenAi | Wire::Responses => true,
        Wire::Anthropic => false,
        // Older models reject it together with functions.
        Wire::Gemini => request.tools.is_empty(),
    };
    known && request.format.is_json() && !endpoint.quirks.no_response_format
}

/// Adds the format as an instruction if the server does not enforce it. Always for `json_object`: OpenAI rejects it
/// unless a message mentions JSON.
pub(crate) fn instructed<'a>(endpoint: &Endpoint, request: &'a Request) -> Cow<'a, Request> {
    let told = request.format == ResponseFormat::JsonObject || !enforces_format(endpoint, request);
    if !request.format.is_json() || !told {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    let instruction = request.format.instruction();
    match request.messages.first_mut() {
        Some(Message::System(prompt)) => *prompt = format!("{prompt}{DIVIDER}{instruction}"),
        _ => request.messages.insert(0, Message::System(instruction)),
    }
    Cow::Owned(request)
}

/// `{type, json_schema}` of OpenAI's chat completions.
pub(crate) fn openai_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            let schema = json!({"name": name, "schema": schema, "strict": strict});
            Some(json!({"type": "json_schema", "json_schema": schema}))
        }
    }
}

/// Rejects options this wire format does not have.
///
/// # Errors
/// [`Error::Unsupported`], which names the option.
pub(crate) fn check(endpoint: &Endpoint, request: &Request) -> Result<(), Error> {
    let Sampling { max_tokens, temperature, top_k, seed, presence_penalty, frequency_penalty, .. } = &request.sampling;
    let refused: &[(&'static str, bool)] = match endpoint.wire {
        Wire::OpenAi | Wire::Gemini => &[],
        Wire::Responses => &[
            ("seed", seed.is_some()),
            ("top_k", top_k.is_some()),
            ("presence_penalty", presence_penalty.is_some_and(|p| p != 0.0)),
            ("frequency_penalty", frequency_penalty.is_some_and(|p| p != 0.0)),
            ("max_tokens", max_tokens.is_some_and(|n| n < LEAST_OUTPUT)),
        ],
        Wire::Anthropic => &[
            ("seed", seed.is_some()),
            ("presence_penalty", presence_penalty.is_some_and(|p| p != 0.0)),
            ("frequency_penalty", frequency_penalty.is_some_and(|p| p != 0.0)),
            ("temperature", temperature.is_some_and(|t| t > 1.0)),
        ],
    };
    let fixed = endpoint.quirks.no_temperature && temperature.is_some_and(|t| t != 1.0);
    let refused = refused.iter().copied().chain([("temperature", fixed)]);
    match refused.into_iter().find(|(_, is)| *is) {
        Some((option, _)) => Err(unsupported(endpoint, option, "")),
        None => Ok(()),
    }
}

/// The error for an unsupported option, with the server's message.
pub(crate) fn unsupported(endpoint: &Endpoint, option: &'static str, says: &str) -> Error {
    let says = if says.is_empty() { String::new() } else { format!(" (it says: {says})") };
    let hint = match option {
        "temperature" if endpoint.wire == Wire::Anthropic => "give 0 to 1, or leave it out",
        "max_tokens" => "give 16 or more, or leave it out",
        "response_format" => "change the schema, or choose another model",
        _ => "leave it out, or choose another model",
    };
    let text = format!(
        "the model `{}` of `{}` does not take this `{option}`: {hint}{says}",
        endpoint.model, endpoint.provider
    );
    Error::Unsupported { option, text }
}

/// A rejected option.
#[derive(Debug, PartialEq)]
pub(crate) enum OptionRefused {
    /// The server never accepts it, and Hob handles it itself.
    Learned(Quirks),
    /// Only the server could honour it.
    Unsupported(&'static str),
}

/// The option a rejection (in lower case) is about, if any.
pub(crate) fn refused_option(endpoint: &Endpoint, request: &Request, says: &str) -> Option<OptionRefused> {
    const FORMATS: [&str; 8] = [
        "response_format",
        "response format",
        "json_schema",
        "text.format",
        "responsejsonschema",
        "response mime type",
        "response_mime_type",
        "grammar",
    ];
    let known = endpoint.quirks;
    let invalid = says.contains("invalid schema") && !says.contains("function");
    if enforces_format(endpoint, request) && (invalid || FORMATS.iter().any(|word| says.contains(word))) {
        // The server supports the format and rejects this schema: only the caller can change it.
        return Some(match invalid {
            true => OptionRefused::Unsupported("response_format"),
            false => OptionRefused::Learned(Quirks { no_response_format: true, ..known }),
        });
    }
    let names = |word: &str| says.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word);
    if stops(endpoint, request).is_some() && ["stop", "stop_sequences", "stopsequences"].into_iter().any(names) {
        return Some(OptionRefused::Learned(Quirks { no_stop: true, ..known }));
    }
    let Sampling { temperature, top_p, top_k, seed, presence_penalty, frequency_penalty, .. } = &request.sampling;
    let options: [(&'static str, &str, bool); 6] = [
        ("top_p", "topp", top_p.is_some()),
        ("top_k", "topk", top_k.is_some()),
        ("seed", "seed", seed.is_some()),
        ("presence_penalty", "presencepenalty", presence_penalty.is_some()),
        ("frequency_penalty", "frequencypenalty", frequency_penalty.is_some()),
        ("temperature", "temperature", temperature.is_some()),
    ];
    let about = |(name, camel, set): &&(&'static str, &str, bool)| *set && (names(name) || names(camel));
    options.iter().find(about).map(|(name, ..)| OptionRefused::Unsupported(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask;

    fn endpoint(wire: Wire) -> Endpoint {
        Endpoint { provider: "p".into(), model: "m".into(), wire, ..Endpoint::default() }
    }

    fn all() -> Request {
        let sampling = Sampling {
            max_tokens: Some(50),
            temperature: Some(0.3),
            top_p: Some(0.9),
            top_k: Some(7),
            stop: vec!["END".into()],
            seed: Some(42),
            presence_penalty: Some(0.5),
            frequency_penalty: Some(-0.5),
        };
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let format = ResponseFormat::JsonSchema { name: "n".into(), schema, strict: true };
        // Configured defaults are dropped.
        let configured = Request { max_tokens: Some(900), temperature: Some(1.5), ..Request::default() };
        Request { messages: vec![Message::user("hi")].into(), sampling, format, ..configured }
    }

    #[test]
    fn every_option_is_written_or_refused() {
        let request = all();
        let schema = match &request.format {
            ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
            other => panic!("{other:?}"),
        };
        let body = ask::body(&endpoint(Wire::OpenAi), &request);
        for (name, value) in [
            ("max_tokens", json!(50)),
            ("temperature", json!(0.3)),
            ("top_p", json!(0.9)),
            ("top_k", json!(7)),
            ("stop", json!(["END"])),
            ("seed", json!(42)),
            ("presence_penalty", json!(0.5)),
            ("frequency_penalty", json!(-0.5)),
            (
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": true}}),
            ),
        ] {
            assert_eq!(body[name], value, "{name}");
        }
        let config = &ask::body(&endpoint(Wire::Gemini), &request)["generationConfig"];
        let expected = json!({"maxOutputTokens": 50, "temperature": 0.3, "topP": 0.9, "topK": 7, "seed": 42,
            "stopSequences": ["END"], "presencePenalty": 0.5, "frequencyPenalty": -0.5,
            "responseMimeType": "application/json", "responseJsonSchema": schema});
        assert_eq!(*config, expected);

        let option = |wire, change: &dyn Fn(&mut Sampling)| {
            let mut request = Request { sampling: Sampling::default(), ..all() };
            change(&mut request.sampling);
            match check(&endpoint(wire), &request) {
                Ok(()) => None,
                Err(Error::Unsupported { option, .. }) => Some(option),
                Err(other) => panic!("{other}"),
            }
        };
        for wire in [Wire::Anthropic, Wire::Responses] {
            assert_eq!(option(wire, &|s| s.seed = Some(1)), Some("seed"));
            assert_eq!(option(wire, &|s| s.presence_penalty = Some(1.0)), Some("presence_penalty"));
            assert_eq!(option(wire, &|s| s.frequency_penalty = Some(1.0)), Some("frequency_penalty"));
            assert_eq!(option(wire, &|s| s.frequency_penalty = Some(0.0)), None);
            assert_eq!(option(wire, &|s| s.stop = vec!["x".into()]), None, "Hob stops by itself");
        }
        assert_eq!(option(Wire::Anthropic, &|s| s.temperature = Some(1.2)), Some("temperature"));
        assert_eq!(option(Wire::Responses, &|s| s.top_k = Some(1)), Some("top_k"));
        assert_eq!(option(Wire::Responses, &|s| s.max_tokens = Some(3)), Some("max_tokens"));
        assert_eq!(option(Wire::OpenAi, &|s| *s = all().sampling), None);

        let body = ask::body(&endpoint(Wire::Anthropic), &instructed(&endpoint(Wire::Anthropic), &all()));
        assert_eq!(
            (&body["top_p"], &body["top_k"], &body["stop_sequences"]),
            (&json!(0.9), &json!(7), &json!(["END"]))
        );
        assert!(body["system"].to_string().contains("JSON Schema"), "{body}");
        let body = ask::body(&endpoint(Wire::Responses), &instructed(&endpoint(Wire::Responses), &all()));
        assert_eq!((&body["top_p"], &body["max_output_tokens"]), (&json!(0.9), &json!(50)));
        assert_eq!(body["text"]["format"]["schema"], schema);
        assert_eq!(body.get("instructions"), None, "the server enforces it");
    }

    #[test]
    fn what_a_server_refuses_is_seen_to_or_named() {
        let open = endpoint(Wire::OpenAi);
        let quirks = |change: &dyn Fn(&mut Quirks)| {
            let mut quirks = Quirks::NONE;
            change(&mut quirks);
            Some(OptionRefused::Learned(quirks))
        };
        let rows = [
            ("unsupported parameter: 'stop' is not supported with this model", quirks(&|q| q.no_stop = true)),
            ("cannot use custom grammar constraints with tools", quirks(&|q| q.no_response_format = true)),
            (
                "invalid parameter: 'response_format' of type 'json_schema' is not supported",
                quirks(&|q| q.no_response_format = true),
            ),
            ("invalid schema for response_format 'n'", Some(OptionRefused::Unsupported("response_format"))),
            ("unknown field seed", Some(OptionRefused::Unsupported("seed"))),
            ("unsupported value: 'temperature' does not support 0.3", Some(OptionRefused::Unsupported("temperature"))),
            ("we stopped serving this model", None),
            ("no", None),
        ];
        for (says, expected) in rows {
            assert_eq!(refused_option(&open, &all(), says), expected, "{says}");
        }
        assert_eq!(refused_option(&open, &Request::default(), "stop seed temperature response_format"), None);
    }
}
