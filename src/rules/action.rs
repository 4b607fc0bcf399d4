//! The action of a schedule or trigger: call a tool, give the agent a prompt, or notify the person.

use records::Addressee;
use registry::Registry;
use text_kit::prefix;
use tool::{PreauthorizedCall, prelude::*};

/// The tool that runs prompts.
pub(crate) const PROMPT: &str = "run_prompt";
/// The tool that notifies a person.
pub(crate) const NOTIFY: &str = "notify";
/// Maximum length of a prompt or message, in characters, and of arguments, in bytes of JSON.
const LONGEST_PROMPT: usize = 8000;
const LONGEST_MESSAGE: usize = 2000;
pub(crate) const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// The action, as an object.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
// Field aliases are not in the schema.
#[schemars(extend("additionalProperties" = true))]
pub struct ActionObject {
    /// The kind of action; inferred from the other fields if omitted.
    #[serde(rename = "type")]
    kind: Option<ActionKind>,
    /// The name of the tool to call.
    #[serde(alias = "name", alias = "toolName")]
    tool: Option<String>,
    /// Arguments for the tool.
    #[serde(alias = "args", alias = "parameters")]
    arguments: Option<Value>,
    /// The task for the agent.
    prompt: Option<String>,
    /// The message to the person.
    #[serde(alias = "text")]
    message: Option<String>,
    /// For a message: the person it is for, by name, or `everyone`.
    #[serde(alias = "for", alias = "to")]
    person: Option<String>,
    /// For a prompt: the conversation to continue; a new one if omitted.
    conversation_id: Option<Id>,
}

/// The kinds of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// Call a tool.
    Tool,
    /// Prompt the agent.
    Prompt,
    /// Notify the person.
    Notify,
}

/// The action as tool parameters: one of `tool`, `prompt`, `message` and `action`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActionArgs {
    pub tool: Option<String>,
    pub arguments: Option<Value>,
    pub prompt: Option<String>,
    pub message: Option<String>,
    pub person: Option<String>,
    pub action: Option<ActionObject>,
}

/// An action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Call a tool.
    Tool { name: String, arguments: Value },
    /// Prompt the agent, in a conversation or a new one.
    Prompt { text: String, conversation: Option<Id> },
    /// Notify the person, or the one named.
    Notify { text: String, person: Option<String> },
}

impl ActionArgs {
    /// The chosen action; `None` if the parameters name none.
    ///
    /// # Errors
    /// `BadArgs` if they name more than one, or one that is empty or too long.
    pub fn parse(self) -> Result<Option<Action>> {
        let Self { mut tool, mut arguments, mut prompt, mut message, mut person, action } = self;
        let (mut kind, mut conversation) = (None, None);
        if let Some(object) = action {
            if tool.is_some() || prompt.is_some() || message.is_some() || arguments.is_some() {
                return Err(Error::bad_args("give the action either in `action` or beside it, not both"));
            }
            (kind, conversation) = (object.kind, object.conversation_id);
            (tool, arguments, prompt, message) = (object.tool, object.arguments, object.prompt, object.message);
            person = object.person.or(person);
        }
        match kind {
            // Callers often confuse `prompt` and `message`.
            Some(ActionKind::Prompt) if prompt.is_none() => prompt = message.take(),
            Some(ActionKind::Notify) if message.is_none() => message = prompt.take(),
            _ => {}
        }
        let chosen = match (tool, prompt, message) {
            (None, None, None) if arguments.is_some() => {
                return Err(Error::bad_args("`arguments` need a `tool`: name it"));
            }
            (None, None, None) if person.is_some() => {
                return Err(Error::bad_args("a `person` needs a `message`: say what to tell them"));
            }
            (None, None, None) if kind.is_none() => return Ok(None),
            (Some(name), None, None) => Action::Tool { name, arguments: arguments.take().unwrap_or_else(|| json!({})) },
            (None, Some(text), None) => Action::Prompt { text, conversation },
            (None, None, Some(text)) => Action::Notify { text, person: person.take() },
            _ => {
                return Err(Error::bad_args("give exactly one of `tool` (with `arguments`), `prompt` and `message`"));
            }
        };
        if arguments.is_some() {
            return Err(Error::bad_args("`arguments` need a `tool`; a prompt or message takes none"));
        }
        if person.is_some_and(|person| !person.trim().is_empty()) {
            return Err(Error::bad_args("only a `message` is for a `person`: a tool or prompt runs in your own name"));
        }
        let fits = matches!(
            (kind, &chosen),
            (None, _)
                | (Some(ActionKind::Tool), Action::Tool { .. })
                | (Some(ActionKind::Prompt), Action::Prompt { .. })
                | (Some(ActionKind::Notify), Action::Notify { .. })
        );
        if !fits {
            return Err(Error::bad_args("the action's `type` does not match its fields"));
        }
        chosen.checked().map(Some)
    }
}

impl Action {
    /// Checks the lengths of its texts.
    ///
    /// # Errors
    /// `BadArgs` where one is empty or too long.
    pub fn checked(self) -> Result<Self> {
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
            Self::Notify { text, person } => {
                Self::Notify { text: records::required_text("message", &text, LONGEST_MESSAGE)?, person }
            }
        })
    }

    /// Turns the action into a pre-authorized tool call, judged for this caller and for running unattended. `title`
    /// is its name for people, `about` when it runs: "every day at 07:00".
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
            Self::Notify { text, person } => {
                let mut arguments = json!({"text": text});
                if text != title {
                    arguments["title"] = title.into();
                }
                if let Some(person) = Addressee::read(cx, person.as_deref())?.stored() {
                    arguments["person"] = person.into();
                }
                (NOTIFY.to_owned(), arguments)
            }
        };
        let armed = registry.arm(cx, &name, arguments, about).await?;
        if registry.get(&armed.tool).is_some_and(|tool| tool.automates) {
            let text = format!("`{}` cannot be scheduled: give the action itself", armed.tool);
            return Err(Error::bad_args(text));
        }
        Ok(armed)
    }
}

/// A pre-authorized call as JSON: `{"type": "tool", "tool", "arguments"}`, `{"type": "prompt", "prompt"}` or
/// `{"type": "notify", "message", "person"?}`.
pub(crate) fn action_json(cx: &Cx, armed: &PreauthorizedCall) -> Value {
    let text = |field: &str| armed.args.get(field).and_then(Value::as_str);
    match (&*armed.tool, text("prompt"), text("text")) {
        (PROMPT, Some(prompt), _) => {
            let mut told = json!({"type": "prompt", "prompt": prompt});
            if let Some(conversation) = text("conversationId") {
                told["conversationId"] = conversation.into();
            }
            told
        }
        (NOTIFY, _, Some(message)) => {
            let mut told = json!({"type": "notify", "message": message});
            if let Some(person) = text("person") {
                told["person"] = Addressee::shown(cx, person).into();
            }
            told
        }
        _ => json!({"type": "tool", "tool": armed.tool, "arguments": armed.args}),
    }
}

/// Whether it is a message to people.
pub(crate) fn reminds(armed: &PreauthorizedCall) -> bool {
    &*armed.tool == NOTIFY && armed.args["text"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::House;

    fn parse(args: Value) -> Result<Option<Action>> {
        let field = |name: &str| args.get(name).cloned();
        let text = |name: &str| field(name).and_then(|v| v.as_str().map(str::to_owned));
        ActionArgs {
            tool: text("tool"),
            arguments: field("arguments"),
            prompt: text("prompt"),
            message: text("message"),
            person: text("person"),
            action: field("action").map(|a| serde_json::from_value(a).unwrap()),
        }
        .parse()
    }

    #[test]
    fn one_thing_is_chosen() {
        let tool = |arguments| Some(Action::Tool { name: "ping".into(), arguments });
        let prompt = || Some(Action::Prompt { text: "say hi".into(), conversation: None });
        let notify = || Some(Action::Notify { text: "hi".into(), person: None });
        let for_anna = || Some(Action::Notify { text: "hi".into(), person: Some("Anna".into()) });
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
            (json!({"message": "hi", "person": "Anna"}), for_anna()),
            (json!({"action": {"type": "notify", "message": "hi", "person": "Anna"}}), for_anna()),
            (json!({"action": {"type": "notify", "prompt": "hi"}}), notify()),
        ];
        for (args, wanted) in rows {
            assert_eq!(parse(args.clone()).unwrap(), wanted, "{args}");
        }
        let (long, huge) = ("x".repeat(LONGEST_PROMPT + 1), "x".repeat(LONGEST_ARGUMENTS));
        for (args, word) in [
            (json!({"tool": "ping", "prompt": "x"}), "exactly one"),
            (json!({"message": "m", "prompt": "x"}), "exactly one"),
            (json!({"person": "Anna"}), "say what to tell them"),
            (json!({"person": "Anna", "prompt": "x"}), "in your own name"),
            (json!({"person": "Anna", "tool": "ping"}), "in your own name"),
            (json!({"tool": "ping", "action": {"tool": "ping"}}), "not both"),
            (json!({"arguments": {}}), "name it"),
            (json!({"prompt": "x", "arguments": {}}), "takes none"),
            (json!({"action": {"type": "tool", "prompt": "x"}}), "does not match its fields"),
            (json!({"action": {"type": "tool"}}), "exactly one"),
            (json!({"tool": " "}), "empty"),
            (json!({"prompt": ""}), "empty"),
            (json!({"message": "  "}), "empty"),
            (json!({"prompt": long}), "longer than"),
            (json!({"message": long}), "longer than"),
            (json!({"tool": "ping", "arguments": {"x": huge}}), "64 KB"),
        ] {
            let error = parse(args).unwrap_err();
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
            (Action::Notify { text: "hi".into(), person: None }, json!({"type": "notify", "message": "hi"})),
            (
                Action::Notify { text: "hi".into(), person: Some("Everybody".into()) },
                json!({"type": "notify", "message": "hi", "person": "everyone"}),
            ),
        ] {
            let armed = action.clone().arm(&cx, &house.registry, "greeting", "daily").await.unwrap();
            assert_eq!(action_json(&cx, &armed), wanted, "{action:?}");
        }
        let nobody = Action::Notify { text: "hi".into(), person: Some("Nobody".into()) };
        let refused = nobody.arm(&cx, &house.registry, "x", "daily").await.unwrap_err();
        assert!(refused.message().contains("nobody here is called “Nobody”"), "{refused}");
        let unknown = Action::Tool { name: "no_such".into(), arguments: json!({}) };
        assert!(matches!(unknown.arm(&cx, &house.registry, "x", "daily").await, Err(Error::NotFound(_))));
    }
}
