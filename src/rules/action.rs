//! What a schedule or a trigger does: it calls a tool, gives the agent a prompt, or tells the person something.

use registry::Registry;
use text_kit::prefix;
use tool::{PreauthorizedCall, prelude::*};

/// The tool a prompt is given to.
pub(crate) const PROMPT: &str = "run_prompt";
/// The tool that tells a person something.
pub(crate) const NOTIFY: &str = "notify";
/// Tools that act by what was agreed before, for another time or reason, and those that write down what acts later: one
/// schedule would make another, and that a third.
const FIRES: [&str; 7] = [
    "fire_trigger",
    "trigger_task",
    "cron",
    "create_scheduled_task",
    "update_scheduled_task",
    "create_trigger",
    "update_trigger",
];
/// The longest a prompt and a message may be, in characters, and arguments, in bytes of JSON.
const LONGEST_PROMPT: usize = 8000;
const LONGEST_MESSAGE: usize = 2000;
const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// What is to be done, as an object.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
// What is taken under other names is not in the schema.
#[schemars(extend("additionalProperties" = true))]
pub struct ActionObject {
    /// What it is; told by the other fields when left out.
    #[serde(rename = "type")]
    kind: Option<ActionKind>,
    /// The name of the tool to call.
    #[serde(alias = "name", alias = "toolName")]
    tool: Option<String>,
    /// What the tool is called with.
    #[serde(alias = "args", alias = "parameters")]
    arguments: Option<Value>,
    /// What the agent is asked to do.
    prompt: Option<String>,
    /// What the person is told.
    #[serde(alias = "text")]
    message: Option<String>,
    /// For a prompt: the conversation it goes on in; a new one when left out.
    conversation_id: Option<Id>,
}

/// The kinds of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// Call a tool.
    Tool,
    /// Ask the agent.
    Prompt,
    /// Tell the person.
    Notify,
}

/// What is to be done, as the parameters of a tool say it: one of `tool`, `prompt`, `message` and `action`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActionArgs {
    pub tool: Option<String>,
    pub arguments: Option<Value>,
    pub prompt: Option<String>,
    pub message: Option<String>,
    pub action: Option<ActionObject>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Call a tool.
    Tool { name: String, arguments: Value },
    /// Ask the agent, in a conversation or a new one.
    Prompt { text: String, conversation: Option<Id> },
    /// Tell the person.
    Notify(String),
}

impl ActionArgs {
    /// What was chosen; `None` when nothing was said.
    ///
    /// # Errors
    /// `BadArgs` when more than one thing was, or it is empty or too long.
    pub fn chosen(self) -> Result<Option<Action>> {
        let Self { mut tool, mut arguments, mut prompt, mut message, action } = self;
        let (mut kind, mut conversation) = (None, None);
        if let Some(object) = action {
            if tool.is_some() || prompt.is_some() || message.is_some() || arguments.is_some() {
                return Err(Error::bad_args("say what to do either in `action` or beside it, not both"));
            }
            (kind, conversation) = (object.kind, object.conversation_id);
            (tool, arguments, prompt, message) = (object.tool, object.arguments, object.prompt, object.message);
        }
        match kind {
            // A prompt or a message is easily written under the other's name.
            Some(ActionKind::Prompt) if prompt.is_none() => prompt = message.take(),
            Some(ActionKind::Notify) if message.is_none() => message = prompt.take(),
            _ => {}
        }
        let chosen = match (tool, prompt, message) {
            (None, None, None) if arguments.is_some() => {
                return Err(Error::bad_args("`arguments` are for a `tool`: name it"));
            }
            (None, None, None) if kind.is_none() => return Ok(None),
            (Some(name), None, None) => Action::Tool { name, arguments: arguments.take().unwrap_or_else(|| json!({})) },
            (None, Some(text), None) => Action::Prompt { text, conversation },
            (None, None, Some(text)) => Action::Notify(text),
            _ => {
                return Err(Error::bad_args(
                    "give exactly one of `tool` (with `arguments`), `prompt` and `message`: one thing is done",
                ));
            }
        };
        if arguments.is_some() {
            return Err(Error::bad_args("`arguments` are for a `tool`; a prompt or a message has none"));
        }
        let fits = matches!(
            (kind, &chosen),
            (None, _)
                | (Some(ActionKind::Tool), Action::Tool { .. })
                | (Some(ActionKind::Prompt), Action::Prompt { .. })
                | (Some(ActionKind::Notify), Action::Notify(_))
        );
        if !fits {
            return Err(Error::bad_args("the `type` of the action and what is in it do not go together"));
        }
        chosen.checked().map(Some)
    }
}

impl Action {
    fn checked(self) -> Result<Self> {
        Ok(match self {
            Self::Tool { name, arguments } if arguments.to_string().len() > LONGEST_ARGUMENTS => {
                return Err(Error::bad_args(format!(
                    "the arguments of `{}` are longer than 64 KB: shorten them",
                    prefix(&name, 64)
                )));
            }
            Self::Tool { name, .. } if name.trim().is_empty() => {
                return Err(Error::bad_args("`tool` is empty: name the tool to call"));
            }
            tool @ Self::Tool { .. } => tool,
            Self::Prompt { text, conversation } => {
                Self::Prompt { text: records::required_text("prompt", &text, LONGEST_PROMPT)?, conversation }
            }
            Self::Notify(text) => Self::Notify(records::required_text("message", &text, LONGEST_MESSAGE)?),
        })
    }

    /// Writes it down as a call of a tool, judged for this caller and for when they are not there. `title` is what it is
    /// called by people, `about` when it comes: "every day at 07:00".
    ///
    /// # Errors
    /// As [`Registry::arm`].
    pub async fn arm(self, cx: &Cx, registry: &Registry, title: &str, about: &str) -> Result<PreauthorizedCall> {
        let (name, arguments) = match self {
            Self::Tool { name, arguments } => (name, arguments),
            Self::Prompt { text, conversation } => {
                let mut arguments = json!({"prompt": text, "title": title});
                if let Some(conversation) = conversation {
                    arguments["conversationId"] = json!(conversation);
                }
                (PROMPT.to_owned(), arguments)
            }
            Self::Notify(text) if text == title => (NOTIFY.to_owned(), json!({"text": text})),
            Self::Notify(text) => (NOTIFY.to_owned(), json!({"text": text, "title": title})),
        };
        let armed = registry.arm(cx, &name, arguments, about).await?;
        match FIRES.contains(&&*armed.tool) {
            true => Err(Error::bad_args(format!(
                "`{}` cannot be what happens later: say what is to be done itself",
                armed.tool
            ))),
            false => Ok(armed),
        }
    }
}

/// What an armed call does, as it is told: `{"type": "tool", "tool", "arguments"}`, `{"type": "prompt", "prompt"}` or
/// `{"type": "notify", "message"}`.
pub(crate) fn action_json(armed: &PreauthorizedCall) -> Value {
    let text = |field: &str| armed.args.get(field).and_then(Value::as_str);
    match (&*armed.tool, text("prompt"), text("text")) {
        (PROMPT, Some(prompt), _) => {
            let mut told = json!({"type": "prompt", "prompt": prompt});
            if let Some(conversation) = text("conversationId") {
                told["conversationId"] = conversation.into();
            }
            told
        }
        (NOTIFY, _, Some(message)) => json!({"type": "notify", "message": message}),
        _ => json!({"type": "tool", "tool": armed.tool, "arguments": armed.args}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::House;

    fn chosen(args: Value) -> Result<Option<Action>> {
        let field = |name: &str| args.get(name).cloned();
        let text = |name: &str| field(name).and_then(|v| v.as_str().map(str::to_owned));
        ActionArgs {
            tool: text("tool"),
            arguments: field("arguments"),
            prompt: text("prompt"),
            message: text("message"),
            action: field("action").map(|a| serde_json::from_value(a).unwrap()),
        }
        .chosen()
    }

    #[test]
    fn one_thing_is_chosen() {
        let tool = |arguments| Some(Action::Tool { name: "ping".into(), arguments });
        let prompt = || Some(Action::Prompt { text: "say hi".into(), conversation: None });
        let notify = || Some(Action::Notify("hi".into()));
        let rows = [
            (json!({}), None),
            (json!({"tool": "ping"}), tool(json!({}))),
            (json!({"tool": "ping", "arguments": {"n": 1}}), tool(json!({"n": 1}))),
            (json!({"action": {"type": "tool", "name": "ping", "args": {"n": 1}}}), tool(json!({"n": 1}))),
            (json!({"action": {"tool": "ping"}}), tool(json!({}))),
            (json!({"prompt": " say hi "}), prompt()),
            (json!({"action": {"type": "prompt", "prompt": "say hi"}}), prompt()),
            (json!({"action": {"type": "prompt", "message": "say hi"}}), prompt()),
            (json!({"message": "hi"}), notify()),
            (json!({"action": {"type": "notify", "text": "hi"}}), notify()),
            (json!({"action": {"type": "notify", "prompt": "hi"}}), notify()),
        ];
        for (args, wanted) in rows {
            assert_eq!(chosen(args.clone()).unwrap(), wanted, "{args}");
        }
        let (long, huge) = ("x".repeat(LONGEST_PROMPT + 1), "x".repeat(LONGEST_ARGUMENTS));
        for (args, word) in [
            (json!({"tool": "ping", "prompt": "x"}), "exactly one"),
            (json!({"message": "m", "prompt": "x"}), "exactly one"),
            (json!({"tool": "ping", "action": {"tool": "ping"}}), "not both"),
            (json!({"arguments": {}}), "name it"),
            (json!({"prompt": "x", "arguments": {}}), "has none"),
            (json!({"action": {"type": "tool", "prompt": "x"}}), "do not go together"),
            (json!({"action": {"type": "tool"}}), "exactly one"),
            (json!({"tool": " "}), "empty"),
            (json!({"prompt": ""}), "empty"),
            (json!({"message": "  "}), "empty"),
            (json!({"prompt": long}), "longer than"),
            (json!({"message": long}), "longer than"),
            (json!({"tool": "ping", "arguments": {"x": huge}}), "64 KB"),
        ] {
            let error = chosen(args).unwrap_err();
            assert!(matches!(&error, Error::BadArgs(text) if text.contains(word)), "{word}: {error}");
        }
    }

    #[tokio::test]
    async fn an_action_is_armed_and_told() {
        let house = House::new();
        let cx = house.cx();
        let conversation = Id::new();
        for (action, wanted) in [
            (
                Action::Tool { name: "ping".into(), arguments: json!({"n": "3"}) },
                json!({"type": "tool", "tool": "ping", "arguments": {"n": 3}}),
            ),
            (
                Action::Prompt { text: "say hi".into(), conversation: Some(conversation) },
                json!({"type": "prompt", "prompt": "say hi", "conversationId": conversation}),
            ),
            (Action::Notify("hi".into()), json!({"type": "notify", "message": "hi"})),
        ] {
            let armed = action.clone().arm(&cx, &house.registry, "greeting", "daily").await.unwrap();
            assert_eq!(action_json(&armed), wanted, "{action:?}");
        }
        let unknown = Action::Tool { name: "no_such".into(), arguments: json!({}) };
        assert!(matches!(unknown.arm(&cx, &house.registry, "x", "daily").await, Err(Error::NotFound(_))));
    }
}
