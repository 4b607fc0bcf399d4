//! The meta-tools: how a model finds, learns and calls any tool without being shown them all.

use crate::{Registry, validate};
use tool::Tool;
use tool::prelude::*;

/// The tools a model is shown beside the meta-tools; everything else is found with `search_tools`.
pub const EVERYDAY: &[&str] = &[
    "search_tools",
    "get_tool_help",
    "use_tool",
    "remember",
    "recall",
    "get_current_datetime",
    "calculate",
    "gpio_read",
    "gpio_write",
];

/// How many matches are listed at most.
const MATCHES: usize = 40;

pub(crate) fn family(registry: Registry) -> Family<Registry> {
    Family::new("system", "Find, understand and call any tool.", registry)
        .tool("search_tools", Risk::Observe, search)
        .tags("find discover list tools capabilities what can you do")
        .tool("get_tool_help", Risk::Observe, get_help)
        .tags("schema parameters usage explain")
        .tool("use_tool", Risk::Observe, use_tool)
        .tags("call run execute invoke")
}

/// Find tools by keywords, all of which must match; `all` lists everything.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Keywords, or `all`.
    query: String,
    /// Only this category.
    category: Option<String>,
    /// Also give the parameters of each match.
    #[serde(default)]
    include_params: bool,
}

async fn search(registry: Registry, cx: Cx, args: Search) -> Result<Output> {
    let found: Vec<_> = registry
        .search(&args.query, args.category.as_deref())
        .into_iter()
        .filter(|t| t.enabled && Registry::visible(&cx, t))
        .collect();
    let tools: Vec<Value> = found
        .iter()
        .take(MATCHES)
        .map(|t| match args.include_params {
            true => json!({"name": t.name, "description": t.description, "parameters": t.parameters}),
            false => json!({"name": t.name, "description": t.description}),
        })
        .collect();
    let mut content = json!({"count": found.len(), "tools": tools});
    if found.is_empty() {
        content["hint"] = "Nothing matches all the words: use fewer, or `all`.".into();
    } else if found.len() > MATCHES {
        content["hint"] = format!("Only {MATCHES} are shown: add a word or a category.").into();
    }
    let names: Vec<&str> = found.iter().take(MATCHES).map(|t| &*t.name).collect();
    let say = match names.len() {
        0 => "I have no tool for that.".to_owned(),
        _ => format!("I have {} tools: {}.", found.len(), names.join(", ")),
    };
    Ok(Output { content, ..Output::default() }.say(say))
}

/// Learn a tool's parameters before calling it with use_tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetHelp {
    /// The exact name.
    tool_name: String,
}

async fn get_help(registry: Registry, cx: Cx, args: GetHelp) -> Result<Value> {
    Ok(help(registry.find(&cx, &args.tool_name)?.as_ref()))
}

/// What there is to know about a tool before calling it.
pub fn help(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "usage": validate::expects(&tool.parameters),
        "category": tool.category,
        "risk": tool.risk,
        "timeoutSeconds": tool.timeout.as_secs(),
    })
}

/// Call any tool by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Use {
    /// The exact name.
    tool_name: String,
    /// Its arguments, as an object.
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

async fn use_tool(registry: Registry, cx: Cx, args: Use) -> Result<Output> {
    if args.tool_name == "use_tool" {
        return Err(Error::bad_args("use_tool cannot call itself: name the tool you want"));
    }
    let called = registry.find(&cx, &args.tool_name)?;
    match cx.call(&args.tool_name, Value::Object(args.arguments)).await {
        // With the parameters at hand a model can mend its call without asking first.
        Err(Error::BadArgs(text)) => {
            Err(Error::BadArgs(format!("{text}\nParameters of {}: {}", called.name, called.parameters)))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, time::Duration};
    use tool::{Channel, Owner, Ports, Principal, Role, SystemClock, UserId, Via};

    /// Say a text back.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Echo {
        /// What to say.
        text: String,
        /// How often.
        times: Option<u8>,
    }

    async fn echo(_: (), _: Cx, args: Echo) -> Result<String> {
        Ok(args.text.repeat(args.times.unwrap_or(1).into()))
    }
    async fn explode(_: (), _: Cx, _: Nothing) -> Result<Value> {
        panic!("on purpose")
    }
    async fn sleep(_: (), _: Cx, _: Nothing) -> Result<Value> {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok(Value::Null)
    }
    async fn deeper(_: (), cx: Cx, _: Nothing) -> Result<Output> {
        cx.call("deeper", json!({})).await
    }
    /// Nothing.
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn house() -> (Registry, Cx) {
        let registry = Registry::new().unwrap();
        let family = Family::new("test", "For tests.", ())
            .tool("echo", Risk::Observe, echo)
            .alias("say_back")
            .tags("repeat parrot")
            .tool("explode", Risk::Observe, explode)
            .tool("sleep", Risk::Observe, sleep)
            .timeout(Duration::from_millis(50))
            .tool("deeper", Risk::Observe, deeper)
            .tool("wipe", Risk::Destroy, echo);
        registry.add(family).unwrap();
        let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        ports.dispatch = Arc::new(registry.clone());
        (registry, Cx::root(ports, Principal::owner(), Via::direct(Channel::Api)))
    }

    #[tokio::test]
    async fn calls_and_what_they_answer() {
        let (_, cx) = house();
        let rows = [
            ("echo", json!({"text": "a"}), Ok("a")),
            ("say_back", json!({"text": "a", "times": 2}), Ok("aa")),
            ("echo", json!("{\"text\":\"written as a string\"}"), Ok("written as a string")),
            ("echo", json!({}), Err("\"text\" is a required property")),
            ("echo", json!({"text": 1}), Err("text: 1 is not of type")),
            ("echo", json!({"text": "a", "volume": 1}), Err("It takes text (string), times? (integer).")),
            ("echo", json!([1]), Err("must be a JSON object")),
            ("ecoh", json!({}), Err("did you mean `echo`")),
            ("zzzzz", json!({}), Err("search_tools")),
            ("explode", json!({}), Err("broke inside")),
            ("sleep", json!({}), Err("was stopped")),
            ("deeper", json!({}), Err("nested deeper than 8")),
            ("use_tool", json!({"tool_name": "echo", "arguments": {"text": "b"}}), Ok("b")),
            ("use_tool", json!({"tool_name": "echo", "arguments": "{\"text\":\"c\"}"}), Ok("c")),
            ("use_tool", json!({"tool_name": "echo", "arguments": {}}), Err("Parameters of echo")),
            ("use_tool", json!({"tool_name": "use_tool", "arguments": {}}), Err("cannot call itself")),
        ];
        for (name, args, expected) in rows {
            match (cx.call(name, args.clone()).await, expected) {
                (Ok(output), Ok(text)) => assert_eq!(output.model_text(), text, "{name} {args}"),
                (Err(e), Err(part)) => assert!(e.message().contains(part), "{name} {args}: {e}"),
                (got, _) => panic!("{name} {args}: {got:?}"),
            }
        }
    }

    #[tokio::test]
    async fn search_finds_by_every_word() {
        let (registry, cx) = house();
        let names = |q: &str| registry.search(q, None).iter().map(|t| t.name.to_string()).collect::<Vec<_>>();
        assert_eq!(names("parrot"), ["echo"]);
        assert_eq!(names("say text"), ["echo", "wipe"]);
        assert_eq!(names("parrot database"), [] as [&str; 0]);
        assert_eq!(names("all").len(), registry.tools().len());
        let none = cx.call("search_tools", json!({"query": "xyzzy"})).await.unwrap();
        assert!(none.model_text().contains("use fewer"));
    }

    #[tokio::test]
    async fn names_are_checked_and_taken_once() {
        let (registry, _) = house();
        for bad in ["", "1a", "a-b", "a b", &"a".repeat(65), "echo", "say_back"] {
            let added = registry.add(Family::new("x", "", ()).tool(bad, Risk::Observe, echo));
            assert!(added.is_err(), "{bad}");
        }
        assert!(!registry.remove("other", "echo") && registry.remove("test", "echo"));
        assert!(registry.get("say_back").is_none());
        registry.close();
        assert!(registry.tools().is_empty());
    }

    #[tokio::test]
    async fn a_viewer_may_only_look_and_others_models_tools_do_not_exist() {
        let (registry, cx) = house();
        let viewer = Principal { role: Role::Viewer, user: UserId(Id::new()), ..Principal::owner() };
        let viewer = Cx::root(cx.ports().clone(), viewer, Via::direct(Channel::Api));
        assert!(matches!(viewer.call("wipe", json!({"text": ""})).await, Err(Error::Denied(_))));
        let mut made = (*registry.get("echo").unwrap()).clone();
        (made.name, made.owner, made.aliases) = ("made".into(), Owner::Model(cx.user()), vec![]);
        registry.add_tool(made).unwrap();
        assert!(cx.call("made", json!({"text": "x"})).await.is_ok());
        assert!(matches!(viewer.call("made", json!({"text": "x"})).await, Err(Error::NotFound(_))));
    }

    #[tokio::test]
    async fn a_cancelled_run_ends_its_calls() {
        let (_, cx) = house();
        let cx = cx.in_run(Id::new(), Id::new(), Default::default());
        let call = cx.call("sleep", json!({}));
        cx.cancel().cancel();
        assert!(matches!(call.await, Err(Error::Unavailable(text)) if text.contains("stopped")));
    }
}
