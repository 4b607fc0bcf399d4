//! Fits a request into the model's context: the least important parts go first.

use super::driven::{DIVIDER, first_sentence, section};
use crate::{
    Content, Error, Facts, Message, Part, Request, ToolChoice, ToolDefinition, ToolResult,
    parts::{self, MediaForm},
    provider_state,
};
use serde_json::Value;

/// Tokens reserved for the answer if the model's limit is unknown.
const ANSWER: usize = 1024;
/// In contexts up to this size tools are always described briefly: a stable prompt is cached.
const SMALL: usize = 8192;
/// Length of a shortened result, for older ones and for the last one, in bytes.
const STUB: usize = 200;
const LAST_RESULT: usize = 2000;
const SHORTENED: &str = "\n[shortened: call again if it matters]";
/// Assumed tokens of an image, audio or file.
const MEDIA: usize = 1500;
/// Overhead of each message, call and result, in tokens.
const AROUND: usize = 4;
const AROUND_CALL: usize = 18;

/// Fits a request into the context of the model, named `provider/model`, leaving room for the answer. In this order:
/// tool descriptions are shortened; system prompt sections are dropped from the end until it is a quarter of the
/// context; older results are shortened; the oldest exchanges are dropped; then more sections, the first steps of the
/// current run, and tools. The first section and the person's last message always stay whole.
///
/// # Errors
/// [`Error::TooLong`] if even these are too long.
pub(super) fn fit(request: Request, facts: &Facts, model: &str) -> Result<Request, Error> {
    let context = facts.context as usize;
    if context == 0 {
        return Ok(request);
    }
    let room = context - reserve(&request, facts);
    // The instruction is only added when the request is sent.
    let room = room.saturating_sub(words(request.format.instruction().len()));
    let mut fitting = Fitting::new(request, facts, model, room);
    if context <= SMALL || fitting.over() > 0 {
        fitting.shorten_tools();
    }
    if fitting.over() > 0 {
        fitting.drop_sections(context / 4);
        fitting.shorten_results(fitting.last_turn(), STUB);
        fitting.drop_exchanges();
        fitting.drop_sections(0);
        fitting.shorten_results(usize::MAX, LAST_RESULT);
        fitting.drop_rounds();
        fitting.shorten_results(usize::MAX, STUB);
        fitting.drop_tools();
    }
    if fitting.over() > 0 {
        return Err(Error::TooLong(format!(
            "this is too long for this model ({context} tokens): say it in fewer words, or choose a model that reads more"
        )));
    }
    let free = context - fitting.total().min(context);
    let mut request = fitting.request;
    for most in [&mut request.max_tokens, &mut request.sampling.max_tokens].into_iter().flatten() {
        *most = (*most).min(u32::try_from(free).unwrap_or(u32::MAX));
    }
    Ok(request)
}

/// Tokens reserved for the answer.
fn reserve(request: &Request, facts: &Facts) -> usize {
    let most = match (request.most_tokens(), facts.output) {
        (Some(most), _) => most as usize,
        (None, 0) => ANSWER,
        (None, output) => output as usize,
    };
    most.min(facts.context as usize / 4)
}

/// A request being fitted.
struct Fitting<'a> {
    request: Request,
    facts: Facts,
    model: &'a str,
    room: usize,
    /// Tokens of each message.
    costs: Vec<usize>,
    tools: usize,
}

impl<'a> Fitting<'a> {
    fn new(request: Request, facts: &Facts, model: &'a str, room: usize) -> Self {
        let costs = request.messages.iter().map(|message| tokens_of(message, facts, model)).collect();
        let mut fitting = Self { request, facts: *facts, model, room, costs, tools: 0 };
        fitting.count_tools();
        fitting
    }

    fn count_tools(&mut self) {
        let Request { tools, tool_choice, .. } = &self.request;
        self.tools = match self.facts.tools {
            true => tools.sizes().iter().map(|size| json(*size) + AROUND_CALL).sum(),
            false => words(section(tools, tool_choice).len() + DIVIDER.len()) + AROUND,
        };
    }

    fn total(&self) -> usize {
        self.tools + self.costs.iter().sum::<usize>()
    }

    /// By how many tokens it is too long.
    fn over(&self) -> usize {
        self.total().saturating_sub(self.room)
    }

    fn recount(&mut self, at: usize) {
        self.costs[at] = tokens_of(&self.request.messages[at], &self.facts, self.model);
    }

    /// Index of the model's last turn: the results after it are about to be read.
    fn last_turn(&self) -> usize {
        self.request.messages.iter().rposition(|m| matches!(m, Message::Assistant(_))).unwrap_or(0)
    }

    fn last_words(&self) -> Option<usize> {
        self.request.messages.iter().rposition(|m| matches!(m, Message::User(_)))
    }

    fn shorten_tools(&mut self) {
        let mut tools = self.request.tools.to_vec();
        for tool in &mut tools {
            tool.description = first_sentence(&tool.description).to_owned();
            forget_descriptions(&mut tool.parameters, true);
        }
        self.offer(tools);
    }

    /// Drops sections from the end, except the first, while the prompt is longer than `least` tokens.
    fn drop_sections(&mut self, least: usize) {
        while self.over() > 0 && self.costs.first().is_some_and(|cost| *cost > least) {
            let Some(Message::System(prompt)) = self.request.messages.first_mut() else { return };
            let Some(end) = prompt.rfind(DIVIDER) else { return };
            prompt.truncate(end);
            self.recount(0);
        }
    }

    /// Shortens results before message `end` to `least` bytes, oldest first.
    fn shorten_results(&mut self, end: usize, least: usize) {
        for at in 0..self.request.messages.len().min(end) {
            if self.over() == 0 {
                return;
            }
            let Message::Tool(ToolResult { content, .. }) = &mut self.request.messages[at] else { continue };
            if content.len() > least + SHORTENED.len() {
                content.truncate(content.floor_char_boundary(least));
                content.push_str(SHORTENED);
                self.recount(at);
            }
        }
    }

    fn drop_messages(&mut self, range: std::ops::Range<usize>) {
        self.request.messages.drain(range.clone());
        self.costs.drain(range);
    }

    /// Drops the oldest exchanges, each from one user message to the next.
    fn drop_exchanges(&mut self) {
        while self.over() > 0 {
            let messages = &self.request.messages;
            let first = messages.iter().position(|m| !matches!(m, Message::System(_))).unwrap_or(messages.len());
            let next = (first + 1..messages.len()).find(|at| matches!(messages[*at], Message::User(_)));
            let Some(next) = next else { return };
            self.drop_messages(first..next);
        }
    }

    /// Drops the current run's calls, oldest first; the last calls and their results stay.
    fn drop_rounds(&mut self) {
        while self.over() > 0 {
            let Some(said) = self.last_words() else { return };
            let turns = |from: usize| {
                (from..self.request.messages.len())
                    .find(|at| matches!(self.request.messages[*at], Message::Assistant(_)))
            };
            let Some(first) = turns(said + 1) else { return };
            let Some(second) = turns(first + 1) else { return };
            self.drop_messages(first..second);
        }
    }

    /// Drops tools from the end; a required one stays.
    fn drop_tools(&mut self) {
        let named = match &self.request.tool_choice {
            ToolChoice::Named { name } => Some(name.clone()),
            _ => None,
        };
        while self.over() > 0 {
            let Some(at) = self.request.tools.iter().rposition(|tool| Some(&tool.name) != named.as_ref()) else {
                return;
            };
            let mut tools = self.request.tools.to_vec();
            tools.remove(at);
            if tools.is_empty() {
                self.request.tool_choice = ToolChoice::Auto;
            }
            self.offer(tools);
        }
    }

    fn offer(&mut self, tools: Vec<ToolDefinition>) {
        self.request.tools = self.request.tools.offering(tools);
        self.count_tools();
    }
}

/// Removes descriptions from a schema, but not properties of that name.
fn forget_descriptions(schema: &mut Value, is_schema: bool) {
    match schema {
        Value::Object(map) => {
            if is_schema && map.get("description").is_some_and(Value::is_string) {
                map.remove("description");
            }
            for (key, value) in map {
                let inner = !is_schema || !matches!(key.as_str(), "properties" | "$defs" | "patternProperties");
                if key != "enum" && key != "default" && key != "const" || !is_schema {
                    forget_descriptions(value, inner);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| forget_descriptions(value, is_schema)),
        _ => {}
    }
}

/// Four bytes of text per token.
fn words(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// JSON is denser: 3.2 bytes per token.
fn json(bytes: usize) -> usize {
    (bytes * 5).div_ceil(16)
}

fn tokens_of(message: &Message, facts: &Facts, model: &str) -> usize {
    let tokens = match message {
        Message::System(text) => words(text.len()),
        Message::User(Content(parts)) => parts.iter().map(|part| tokens_of_part(part, facts)).sum(),
        Message::Assistant(turn) => {
            let calls = turn.tool_calls.iter().map(|c| json(c.name.len() + c.arguments.len()) + AROUND_CALL);
            // With tools as text, no provider state is sent.
            let kept = if facts.tools { provider_state::tokens(turn, model) } else { 0 };
            words(turn.content.len()) + calls.sum::<usize>() + kept
        }
        Message::Tool(ToolResult { name, content, .. }) => {
            let is_json = content.starts_with(['{', '[']);
            let content = if is_json { json(content.len()) } else { words(content.len()) };
            content + words(name.len()) + AROUND_CALL
        }
    };
    tokens + AROUND
}

fn tokens_of_part(part: &Part, facts: &Facts) -> usize {
    match part {
        Part::Text(text) => words(text.len()),
        Part::Media(media) => match parts::media_form(media, facts) {
            MediaForm::Words(bytes) => words(bytes),
            MediaForm::Itself => MEDIA,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{super::driven, *};
    use crate::{Kind, Media, ProviderState, Source, ToolCall, Tools, Turn};
    use serde_json::json;

    const MODEL: &str = "p/m";

    fn fit(request: Request, facts: &Facts) -> Result<Request, Error> {
        super::fit(request, facts, MODEL)
    }

    /// Deterministic random numbers, so that a failure can be reproduced.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, count: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % count
        }
        /// Mostly short, sometimes long.
        fn text(&mut self) -> String {
            let bytes = 1 << self.below(14);
            "word ".repeat(self.below(bytes + 1) / 5 + 1)
        }
    }

    fn estimate(request: &Request, facts: &Facts) -> usize {
        Fitting::new(request.clone(), facts, MODEL, 0).total()
    }

    fn tools(count: usize) -> Tools {
        let parameters =
            json!({"type": "object", "properties": {"description": {"type": "string", "description": "What it is."}}});
        let tool = |n| ToolDefinition {
            name: format!("tool_{n}"),
            description: "Does this. And explains at length.".into(),
            parameters: parameters.clone(),
        };
        (0..count).map(tool).collect()
    }

    fn result(content: String) -> Message {
        Message::Tool(ToolResult { call_id: "c".into(), name: "tool_0".into(), content, say: None, is_error: false })
    }

    fn rounds(dice: &mut Dice, messages: &mut Vec<Message>) {
        for _ in 0..dice.below(4) {
            let call = ToolCall { id: "c".into(), name: "tool_0".into(), arguments: "{\"description\":\"x\"}".into() };
            messages.extend([Message::calls("", vec![call]), result(dice.text())]);
        }
    }

    /// Base section and last exchange, with results as short as possible.
    fn alone(request: &Request) -> Request {
        let base = match &request.messages[0] {
            Message::System(text) => text.split(DIVIDER).next().unwrap_or_default().to_owned(),
            other => panic!("{other:?}"),
        };
        let last = request.messages.iter().rposition(|m| matches!(m, Message::User(_))).unwrap();
        let turn = request.messages.iter().rposition(|m| matches!(m, Message::Assistant(_))).filter(|at| *at > last);
        let mut messages = vec![Message::System(base), request.messages[last].clone()];
        for message in turn.map(|at| &request.messages[at..]).unwrap_or_default() {
            messages.push(match message {
                Message::Tool(r) => result("x".repeat(r.content.len().min(STUB + SHORTENED.len()))),
                other => other.clone(),
            });
        }
        Request { messages: messages.into(), ..Request::default() }
    }

    #[test]
    fn whatever_was_said_fits_or_is_refused() {
        let mut dice = Dice(3);
        let (mut fitted, mut refused) = (0, 0);
        for _ in 0..1500 {
            let context = [512, 1024, 2048, 4096, 8192, 32_768][dice.below(6)];
            let facts =
                Facts { context, output: [0, 512, 8192][dice.below(3)], tools: dice.below(2) == 0, ..Facts::default() };
            let prompt: Vec<String> = (0..1 + dice.below(6)).map(|_| dice.text()).collect();
            let mut messages = vec![Message::System(prompt.join(DIVIDER))];
            for _ in 0..dice.below(12) {
                messages.push(Message::user(dice.text()));
                rounds(&mut dice, &mut messages);
                messages.push(Message::text_only(dice.text()));
            }
            messages.push(Message::user(dice.text()));
            rounds(&mut dice, &mut messages);
            let request = Request { messages: messages.into(), tools: tools(dice.below(12)), ..Request::default() };
            let room = context as usize - reserve(&request, &facts);
            let fits = estimate(&alone(&request), &facts) <= room;
            match fit(request.clone(), &facts) {
                Ok(sent) => {
                    let words = request.messages.iter().rfind(|m| matches!(m, Message::User(_)));
                    assert!(estimate(&sent, &facts) <= room);
                    assert!(sent.messages.contains(words.unwrap()), "the last words are whole");
                    if !facts.tools {
                        let sent = driven::in_words(sent);
                        assert!(estimate(&sent, &Facts::default()) <= room, "also as it is sent");
                    }
                    fitted += 1;
                }
                Err(error) => {
                    assert!(!fits, "{error}: it fits when cut to its least");
                    let wanted = format!("too long for this model ({context} tokens)");
                    assert!(matches!(&error, Error::TooLong(text) if text.contains(&wanted)), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(fitted > 500 && refused > 50, "{fitted} {refused}");
    }

    #[test]
    fn files_count_for_what_is_sent_of_them() {
        let sees = Facts { images: true, files: true, audio: true, context: 8192, ..Facts::default() };
        let blind = Facts { images: false, files: false, audio: false, ..sees };
        let large = 900_000;
        for (kind, media_type, facts, least, most) in [
            (Kind::File, "text/plain", sees, 4096, 4300),
            (Kind::File, "application/json; charset=utf-8", blind, 4096, 4300),
            (Kind::File, "video/mp4", sees, 10, 100),
            (Kind::File, "application/zip", sees, 10, 100),
            (Kind::File, "application/pdf", sees, MEDIA, MEDIA),
            (Kind::File, "application/pdf", blind, 10, 100),
            (Kind::Image, "image/png", sees, MEDIA, MEDIA),
            (Kind::Image, "image/png", blind, 10, 100),
            (Kind::Audio, "audio/wav", blind, 10, 100),
        ] {
            let source = Source::Bytes(vec![b'x'; large].into());
            let media = Part::Media(Media { kind, media_type: media_type.into(), name: "a".into(), source });
            let counted = tokens_of_part(&media, &facts);
            assert!((least..=most).contains(&counted), "{media_type}: {counted}");
            let request = Request { messages: vec![Message::User(Content(vec![media]))].into(), ..Request::default() };
            assert!(fit(request, &facts).is_ok(), "{media_type}");
        }
    }

    #[test]
    fn what_goes_back_with_a_turn_takes_its_room() {
        for (model, tools, left) in [("m", true, 1), ("other", true, 3), ("m", false, 3)] {
            let facts = Facts { context: 4096, tools, ..Facts::default() };
            let kept =
                ProviderState { provider: "p".into(), value: json!({"model": model, "thoughts": "t".repeat(20_000)}) };
            let turn = Turn { content: "a".into(), kept: Some(kept), ..Turn::default() };
            let messages = vec![Message::user("old"), Message::Assistant(turn), Message::user("now")];
            let sent = fit(Request { messages: messages.into(), ..Request::default() }, &facts).unwrap();
            assert_eq!(sent.messages.len(), left, "{model} {tools}");
        }
    }

    #[test]
    fn what_matters_least_goes_first() {
        let facts = |context| Facts { context, ..Facts::default() };
        let section = |n: &str| format!("{n}{}", "s".repeat(400));
        let prompt = ["base", &section("profile"), &section("time")].join(DIVIDER);
        let mut messages = vec![Message::System(prompt.clone())];
        messages.extend([Message::user("old"), Message::text_only("a".repeat(400)), Message::user("now")]);
        let request = Request { messages: messages.into(), tools: tools(3), ..Request::default() };
        assert_eq!(
            fit(request.clone(), &facts(0)).unwrap().messages,
            request.messages,
            "nothing is known of its context"
        );
        let large = fit(request.clone(), &facts(100_000)).unwrap();
        assert_eq!((large.tools, large.messages.len()), (request.tools.clone(), 4));

        let small = fit(request.clone(), &facts(8192)).unwrap();
        assert_eq!(small.tools[0].description, "Does this.");
        assert_eq!(
            small.tools[0].parameters["properties"]["description"],
            json!({"type": "string"}),
            "a property stays"
        );
        assert_eq!(small.messages, request.messages);

        let tight = fit(request.clone(), &facts(520)).unwrap();
        let Message::System(told) = &tight.messages[0] else { panic!("{tight:?}") };
        assert!(told.starts_with("base") && !told.contains("time"), "{told}");
        assert_eq!(tight.messages.last(), Some(&Message::user("now")));
        let tiny = fit(request.clone(), &facts(64)).unwrap();
        assert_eq!(
            (tiny.messages.to_vec(), tiny.tools.len()),
            (vec![Message::System("base".into()), Message::user("now")], 0)
        );
        assert!(
            fit(Request { messages: vec![Message::user("x".repeat(500))].into(), ..request.clone() }, &facts(64))
                .is_err()
        );

        let most = Request { max_tokens: Some(50_000), ..request };
        assert!(
            fit(most, &facts(8192)).unwrap().max_tokens.unwrap() < 8192,
            "the answer has its room within the context"
        );
    }
}
