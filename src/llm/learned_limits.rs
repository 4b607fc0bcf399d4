//! Learns from rejections how a request must be changed for this server.

use crate::{
    Endpoint, Kind, Media, Message, Quirks, Request, Wire,
    error_response::ErrorResponse,
    sampling::{self, OptionRefused},
};

/// How to change the request before retrying.
#[derive(Debug, PartialEq)]
pub(crate) enum LearnedLimit {
    /// Apply these quirks from now on.
    Quirks(Quirks),
    /// Drop the provider state of earlier turns: it belongs to another model or account.
    WithoutKept,
    /// The model turned out not to support images.
    Blind,
    /// The model turned out not to support native tool calls.
    WithoutTools,
    /// An option of the request is unsupported.
    Option(OptionRefused),
    /// The model turned out to have this context size, in tokens.
    Context(u32),
}

/// Phrases before the context size in error messages: OpenAI and vLLM, llama.cpp, LM Studio, Anthropic, Google.
const READS: [&str; 5] = [
    "maximum context length is ",
    "available context size (",
    "context length of only ",
    " tokens > ",
    "maximum number of tokens allowed (",
];
/// Minimum plausible context size, in tokens.
const LEAST: u32 = 512;

/// The limit that a rejection reveals; `None` if it would change nothing, so each limit is learned once.
pub(crate) fn of(endpoint: &Endpoint, request: &Request, refusal: &ErrorResponse) -> Option<LearnedLimit> {
    let says = refusal.failure.text.to_lowercase();
    let says = |word: &str| says.contains(word);
    if endpoint.facts.images && has_pictures(request) && reports_no_images(refusal.status, says) {
        return Some(LearnedLimit::Blind);
    }
    if endpoint.facts.tools && !request.tools.is_empty() && reports_no_tools(refusal.status, says) {
        return Some(LearnedLimit::WithoutTools);
    }
    if let Some(context) = reported_context(refusal, endpoint.facts.context) {
        return Some(LearnedLimit::Context(context));
    }
    let kept = ["thinking", "signature", "reasoning", "encrypted", "not persisted", "initialized field"];
    if kept.into_iter().any(says) && refusal.status == 404 && has_kept(request, &endpoint.provider) {
        return Some(LearnedLimit::WithoutKept);
    }
    // llama.cpp rejects a format with 500.
    let is_option = [400, 422, 500, 501].contains(&refusal.status);
    if let Some(option) =
        sampling::refused_option(endpoint, request, &refusal.failure.text.to_lowercase()).filter(|_| is_option)
    {
        return Some(LearnedLimit::Option(option));
    }
    if ![400, 422].contains(&refusal.status) {
        return None;
    }
    let known = endpoint.quirks;
    let mut quirks = known;
    let chat = endpoint.wire == Wire::OpenAi;
    quirks.max_completion_tokens |= chat && says("max_completion_tokens");
    quirks.no_stream_options |= chat && says("stream_options");
    quirks.no_temperature |= request.temperature.is_some() && says("temperature");
    quirks.reasoning_back |= chat && says("reasoning_content");
    quirks.no_encrypted_reasoning |=
        endpoint.wire == Wire::Responses && says("encrypted content") && says("not supported");
    quirks.no_tool_choice_required |=
        request.tool_choice.demands_call() && (says("tool_choice") || says("tool choice"));
    // Gemini's schemas are basic already.
    quirks.strip_schema |= endpoint.wire != Wire::Gemini && !request.tools.is_empty() && says("schema");
    if quirks != known {
        return Some(LearnedLimit::Quirks(quirks));
    }
    (kept.into_iter().any(says) && has_kept(request, &endpoint.provider)).then_some(LearnedLimit::WithoutKept)
}

/// Whether the server says that its model does not support images at all, as opposed to a large or broken image.
fn reports_no_images(status: u16, says: impl Fn(&str) -> bool + Copy) -> bool {
    const PICTURES: [&str; 5] = ["image", "vision", "multimodal", "multi-modal", "mmproj"];
    const NOT: [&str; 5] = ["not support", "unsupported", "unknown variant", "mmproj", "no endpoints found"];
    const OTHER: [&str; 6] = ["format", "media type", "large", "size", "dimension", "decode"];
    // llama.cpp answers 500, OpenRouter 404.
    [400, 404, 415, 422, 500, 501].contains(&status)
        && PICTURES.into_iter().any(says)
        && NOT.into_iter().any(says)
        && !OTHER.into_iter().any(says)
}

/// Whether the server says that its model does not support tools at all, as opposed to one tool or option. The
/// phrases are those of Ollama, vLLM, OpenRouter, Groq, Google and llama.cpp, which answers 500.
fn reports_no_tools(status: u16, says: impl Fn(&str) -> bool) -> bool {
    const NONE: [&str; 7] = [
        "does not support tools",
        "--enable-auto-tool-choice",
        "no endpoints found that support tool use",
        "`tools` is not supported",
        "function calling is not enabled",
        "tools param requires --jinja",
        "unsupported param: tools",
    ];
    [400, 404, 422, 500, 501].contains(&status) && NONE.into_iter().any(says)
}

/// The context size according to the rejection. If it was known already, Hob's token estimate is too low for this
/// model, and a slightly smaller size is used.
fn reported_context(refusal: &ErrorResponse, known: u32) -> Option<u32> {
    let says = refusal.failure.text.to_lowercase();
    let after = READS
        .iter()
        .find_map(|words| says.split_once(words))
        .filter(|_| [400, 413, 422, 500].contains(&refusal.status))?
        .1;
    let number: String = after.chars().filter(|c| *c != ',').take_while(char::is_ascii_digit).collect();
    let told: u32 = number.parse().ok()?;
    let context = if known == 0 || told < known { told } else { known / 8 * 7 };
    (context >= LEAST && context > told / 2).then_some(context)
}

fn has_pictures(request: &Request) -> bool {
    let picture = |media: &Media| media.kind == Kind::Image;
    request.messages.iter().any(|m| matches!(m, Message::User(said) if said.media().any(picture)))
}

fn has_kept(request: &Request, provider: &str) -> bool {
    request.messages.iter().any(|m| matches!(m, Message::Assistant(turn) if is_kept(turn, provider)))
}

fn is_kept(turn: &crate::Turn, provider: &str) -> bool {
    turn.kept.as_ref().is_some_and(|kept| kept.provider == provider)
}

/// Drops that provider's state from the request.
pub(crate) fn drop_provider_state(request: &mut Request, provider: &str) {
    for message in request.messages.iter_mut() {
        if let Message::Assistant(turn) = message
            && is_kept(turn, provider)
        {
            turn.kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProviderState, ToolChoice, ToolDefinition, Turn, error_response::Failure};
    use serde_json::json;

    #[test]
    fn a_model_that_sees_nothing_is_told_from_a_bad_picture() {
        let picture = Media {
            kind: Kind::Image,
            media_type: "image/png".into(),
            name: "a".into(),
            source: crate::Source::Bytes([1][..].into()),
        };
        let sent = Message::user(crate::Content(vec![crate::Part::Media(picture)]));
        let request = Request { messages: vec![sent].into(), ..Request::default() };
        let endpoint = Endpoint::default();
        for (status, text, blind) in [
            (500, "image input is not supported - hint: you may need to provide the mmproj", true),
            (400, "Failed to deserialize: messages[0]: unknown variant `image_url`, expected `text`", true),
            (404, "No endpoints found that support image input", true),
            (400, "This model does not support image inputs", true),
            (400, "Unsupported image format: only png is supported", false),
            (400, "image is too large and not supported", false),
            (503, "image input is not supported", false),
            (400, "no", false),
        ] {
            let refusal = ErrorResponse { status, failure: Failure::of(&json!({"error": text})) };
            assert_eq!(of(&endpoint, &request, &refusal) == Some(LearnedLimit::Blind), blind, "{text}");
            assert_eq!(of(&endpoint, &Request::default(), &refusal), None, "{text}");
        }
    }

    #[test]
    fn a_server_tells_how_much_its_model_reads() {
        for (text, known, expected) in [
            ("This model's maximum context length is 8,192 tokens. However, you requested 9000 tokens", 0, Some(8192)),
            (
                "request (5200 tokens) exceeds the available context size (4096 tokens), try increasing it",
                0,
                Some(4096),
            ),
            ("the model is loaded with context length of only 4096 tokens", 32_768, Some(4096)),
            ("prompt is too long: 210000 tokens > 200000 maximum", 1_000_000, Some(200_000)),
            ("exceeds the maximum number of tokens allowed (1048576)", 1_048_576, Some(917_504)),
            ("maximum context length is 4096 tokens", 2600, Some(2275)),
            ("maximum context length is 4096 tokens", 2000, None),
            ("maximum context length is 12 tokens", 0, None),
            ("maximum context length is unknown", 0, None),
            ("max_tokens is too large", 0, None),
        ] {
            let endpoint =
                Endpoint { facts: crate::Facts { context: known, ..Default::default() }, ..Endpoint::default() };
            let refusal = ErrorResponse { status: 400, failure: Failure::of(&json!({"error": text})) };
            let lesson = of(&endpoint, &Request::default(), &refusal);
            assert_eq!(lesson, expected.map(LearnedLimit::Context), "{text}");
        }
    }

    #[test]
    fn each_lesson_is_learnt_once() {
        let kept = Some(ProviderState { provider: "p".into(), value: json!({}) });
        let mut request = Request {
            messages: vec![Message::Assistant(Turn { kept, ..Turn::default() })].into(),
            tools: vec![ToolDefinition { name: "t".into(), description: "".into(), parameters: json!({}) }].into(),
            tool_choice: ToolChoice::Required,
            temperature: Some(0.5),
            ..Request::default()
        };
        let none = Quirks::default();
        let rows = [
            (Wire::OpenAi, "Use 'max_completion_tokens' instead.", Quirks { max_completion_tokens: true, ..none }),
            (Wire::OpenAi, "unknown field stream_options", Quirks { no_stream_options: true, ..none }),
            (Wire::Anthropic, "`temperature` is deprecated for this model", Quirks { no_temperature: true, ..none }),
            (Wire::OpenAi, "The `reasoning_content` must be passed back", Quirks { reasoning_back: true, ..none }),
            (Wire::OpenAi, "tool_choice must be auto", Quirks { no_tool_choice_required: true, ..none }),
            (Wire::OpenAi, "Invalid schema for function 't'", Quirks { strip_schema: true, ..none }),
            (
                Wire::Responses,
                "Encrypted content is not supported with this model.",
                Quirks { no_encrypted_reasoning: true, ..none },
            ),
        ];
        let refused = |text: &str| ErrorResponse { status: 400, failure: Failure::of(&json!({"error": text})) };
        for (wire, text, quirks) in rows {
            let mut endpoint = Endpoint { provider: "p".into(), wire, ..Endpoint::default() };
            assert_eq!(of(&endpoint, &request, &refused(text)), Some(LearnedLimit::Quirks(quirks)), "{text}");
            endpoint.quirks = quirks;
            assert!(!matches!(of(&endpoint, &request, &refused(text)), Some(LearnedLimit::Quirks(_))), "{text}");
        }
        let endpoint = Endpoint { provider: "p".into(), wire: Wire::Anthropic, ..Endpoint::default() };
        let signature = refused("messages.1.content.0: Invalid `signature` in `thinking` block");
        assert_eq!(of(&endpoint, &request, &signature), Some(LearnedLimit::WithoutKept));
        let gone = ErrorResponse { status: 404, ..refused("Item with id 'rs_1' not found. Items are not persisted") };
        assert_eq!(of(&endpoint, &request, &gone), Some(LearnedLimit::WithoutKept));
        assert_eq!(of(&endpoint, &request, &ErrorResponse { status: 500, ..refused("temperature") }), None);
        assert_eq!(of(&endpoint, &request, &refused("no")), None);
        drop_provider_state(&mut request, "other");
        assert!(has_kept(&request, "p"));
        drop_provider_state(&mut request, "p");
        assert_eq!(of(&endpoint, &request, &signature), None);
    }
}
