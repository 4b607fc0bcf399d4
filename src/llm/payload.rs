//! Debug logging of model requests: sizes by section, never contents or keys.

use crate::{Message, Request};

/// The sizes of a request in bytes, by section.
#[derive(Debug, Default, PartialEq, Eq)]
struct Breakdown {
    system: usize,
    user: usize,
    assistant: usize,
    tool_calls: usize,
    tool_results: usize,
    tools: usize,
    messages: usize,
    media: usize,
}

impl Breakdown {
    fn of(request: &Request) -> Self {
        let mut sizes = Self { messages: request.messages.len(), ..Self::default() };
        for message in request.messages.iter() {
            match message {
                Message::System(text) => sizes.system += text.len(),
                Message::User(content) => {
                    sizes.user += content.text().len();
                    sizes.media += content.media().count();
                }
                Message::Assistant(turn) => {
                    sizes.assistant += turn.content.len();
                    sizes.tool_calls += turn.tool_calls.iter().map(|c| c.name.len() + c.arguments.len()).sum::<usize>();
                }
                Message::Tool(result) => sizes.tool_results += result.content.len(),
            }
        }
        sizes.tools = request.tools.sizes().iter().sum();
        sizes
    }
}

/// Logs the payload breakdown of a request at debug level; costs nothing at other levels.
pub(crate) fn log(model: &str, request: &Request, tokens: u64) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let Breakdown { system, user, assistant, tool_calls, tool_results, tools, messages, media } =
        Breakdown::of(request);
    let (offered, temperature, max_tokens) = (request.tools.len(), request.temperature, request.max_tokens);
    tracing::debug!(
        model,
        tokens,
        messages,
        system,
        user,
        assistant,
        tool_calls,
        tool_results,
        tools,
        offered,
        media,
        temperature,
        max_tokens,
        "model request"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ToolCall, ToolDefinition};

    #[test]
    fn sizes_by_section() {
        let call = ToolCall { id: "c".into(), name: "add".into(), arguments: "{}".into() };
        let tool = ToolDefinition { name: "add".into(), description: "sum".into(), parameters: serde_json::json!({}) };
        let request = Request {
            messages: vec![Message::System("four".into()), Message::user("hello"), Message::calls("ok", vec![call])]
                .into(),
            tools: vec![tool].into(),
            ..Request::default()
        };
        let expected = Breakdown {
            system: 4,
            user: 5,
            assistant: 2,
            tool_calls: 5,
            tools: 8,
            messages: 3,
            ..Breakdown::default()
        };
        assert_eq!(Breakdown::of(&request), expected);
    }
}
