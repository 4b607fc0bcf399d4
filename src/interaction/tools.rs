//! The tools: ask a question, show blocks or a component, send a message.

use crate::{Block, Interactions, Request};
use serde_json::Map;
use tool::prelude::*;

/// The longest message, in bytes.
const MESSAGE: usize = 16 * 1024;

/// The tools that ask and show. Their risk is *observe*: nobody is asked whether they may be asked.
pub fn family(interactions: Interactions) -> Family<Interactions> {
    Family::new("interaction", "Ask the person, and show forms and views.", interactions)
        .title("Questions and forms")
        .area(Area::Memory)
        .tool("ask_user", Risk::Observe, ask_user)
        .asks_person()
        .tags("question choose choice confirm clarify input answer reply options person")
        .example(json!({"question": "Which room do you mean?", "options": ["Kitchen", "Workshop"]}))
        .tool("send_message", Risk::Observe, send_message)
        .tags("tell say progress update status note inform person chat")
        .not_idempotent()
        .example(json!({"text": "Found the manual, reading it now."}))
        .tool("render_blocks", Risk::Observe, render_blocks)
        .asks_person()
        .tags("show display table chart form view picture alert list input fill ui")
        .example(json!({"title": "Guests", "blocks": [
            {"type": "table", "columns": [{"key": "name", "label": "Name"}], "data": [{"name": "Nora"}]},
        ]}))
        .example(json!({"title": "Party", "blocks": [
            {"type": "form", "submitLabel": "Send", "fields": [
                {"name": "guests", "label": "How many guests?", "type": "number", "required": true},
                {"name": "when", "label": "When?", "type": "date"},
            ]},
        ]}))
        .tool("render_and_wait", Risk::Observe, render_and_wait)
        .asks_person()
        .tags("show display component custom interactive view canvas ui widget")
        .example(json!({
            "title": "Rate it",
            "code": "function Component({ callTool }) { return h('button', { onClick: () => callTool('rated', { stars: 5 }) }, 'Great'); }",
        }))
}

/// Ask the person a question and wait for the reply; the run is suspended until they answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskUser {
    /// The question to ask.
    question: String,
    /// Choices, shown as buttons; without them the person answers in words.
    #[serde(default)]
    options: Vec<String>,
}

async fn ask_user(interactions: Interactions, cx: Cx, args: AskUser) -> Result<Output> {
    let answer = interactions.ask(&cx, Request::Ask { question: args.question, options: args.options }).await?;
    let say = format!("You answered: {}", answer["answer"].as_str().unwrap_or_default());
    Ok(Output { content: answer, ..Output::default() }.say(say))
}

/// Send the person a message while you keep working, such as your progress.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessage {
    /// The message; markdown is fine.
    text: String,
}

async fn send_message(interactions: Interactions, cx: Cx, args: SendMessage) -> Result<Output> {
    let text = args.text.trim();
    if text.is_empty() || text.len() > MESSAGE {
        return Err(Error::bad_args(format!("`text`: expected 1 to {MESSAGE} bytes of text")));
    }
    interactions.send(&cx, text)?;
    Ok(Output { content: json!({"ok": true}), ..Output::default() }.say("Sent."))
}

/// Show tables, charts, forms and other blocks to the person and wait until they have submitted the form
/// (`{action: "submit", data: {field: value}}`) or dismissed it (`{action: "dismiss"}`). For a remark use send_message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenderBlocks {
    /// The blocks, from top to bottom.
    blocks: Vec<Block>,
    /// The title above them.
    title: Option<String>,
}

async fn render_blocks(interactions: Interactions, cx: Cx, args: RenderBlocks) -> Result<Output> {
    let answer = interactions.ask(&cx, Request::Blocks { title: args.title, blocks: args.blocks }).await?;
    Ok(answer_output(answer))
}

/// Show an interactive component to the person and wait until it calls `callTool(action, payload)`; the answer is
/// `{action, …payload}`. Give exactly one of component and code. For tables, charts and forms use render_blocks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenderAndWait {
    /// The name of a stored component.
    component: Option<String>,
    /// Plain JavaScript with a function `Component({ props, callTool })` that returns `h(tag, attributes, …children)`; no
    /// JSX, no imports, no network.
    code: Option<String>,
    /// The props of the component.
    props: Option<Map<String, Value>>,
    /// The title above it.
    title: Option<String>,
}

async fn render_and_wait(interactions: Interactions, cx: Cx, args: RenderAndWait) -> Result<Output> {
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.trim().is_empty());
    match (is_set(&args.component), is_set(&args.code)) {
        (true, true) => return Err(Error::bad_args("give `component` or `code`, not both")),
        (false, false) => return Err(Error::bad_args("give `code`, or the name of a stored `component`")),
        (true, false) => {
            let name: String = args.component.unwrap_or_default().chars().take(64).collect();
            return Err(Error::not_found(format!(
                "no component `{name}` is stored, for components cannot be stored yet: give its `code` instead"
            )));
        }
        (false, true) => {}
    }
    let (code, props) = (args.code.unwrap_or_default(), args.props.unwrap_or_default());
    let answer = interactions.ask(&cx, Request::Component { title: args.title, code, props }).await?;
    Ok(answer_output(answer))
}

/// The result of a call that showed something.
fn answer_output(answer: Value) -> Output {
    let say = match answer["action"].as_str() {
        Some("submit") => "You sent the form.".to_owned(),
        Some("dismiss") | None => "You put it aside.".to_owned(),
        Some(action) => format!("You answered: {}", action.chars().take(80).collect::<String>()),
    };
    Output { content: answer, ..Output::default() }.say(say)
}
