//! The meta-tools through the whole dispatch, as a model uses them.

use super::*;
use std::sync::Arc;
use tool::{Alias, Channel, Owner, Ports, Principal, Role, SystemClock, UserId, Via};

/// Say a text back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// The text to repeat.
    text: String,
    /// How often.
    times: Option<u8>,
}

async fn echo(_: (), _: Cx, args: Echo) -> Result<String> {
    Ok(args.text.repeat(args.times.unwrap_or(1).into()))
}

/// Search the web.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Web {
    /// The purpose.
    query: String,
    /// How many.
    max_results: Option<u32>,
    /// Which kind.
    #[serde(default)]
    kind: WebKind,
}

#[derive(Deserialize, Serialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
enum WebKind {
    #[default]
    Page,
    Image,
}

async fn web(_: (), _: Cx, args: Web) -> Result<Value> {
    Ok(json!({"for": args.query, "max": args.max_results, "kind": args.kind}))
}
async fn fetch(_: (), _: Cx, _: Nothing) -> Result<Output> {
    Ok(Output::text("from somewhere").from_outside())
}
async fn explode(_: (), _: Cx, _: Nothing) -> Result<Value> {
    panic!("on purpose")
}
async fn sleep(_: (), _: Cx, _: Nothing) -> Result<Value> {
    tokio::time::sleep(Duration::from_secs(600)).await;
    Ok(Value::Null)
}
/// Comes back when another of it runs beside it.
async fn meet(both: Arc<tokio::sync::Barrier>, _: Cx, _: Nothing) -> Result<Value> {
    both.wait().await;
    Ok("met".into())
}
async fn deeper(_: (), cx: Cx, _: Nothing) -> Result<Output> {
    cx.call("deeper", json!({})).await
}
/// Nothing.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `q` is what others call the text.
fn from_question(mut args: Value) -> Value {
    if let Some(text) = args.as_object_mut().and_then(|a| a.remove("q")) {
        args["text"] = text;
    }
    args
}

fn house() -> (Registry, Cx) {
    let registry = Registry::new().unwrap();
    let family = Family::new("test", "For tests.", ())
        .shared_group(tool::ToolGroup::new("codeExecution", "Run programs.").start(tool::Start::Off))
        .tool("echo", Risk::Observe, echo)
        .alias("say_back")
        .alias_with("say_it", from_question)
        .tags("repeat parrot")
        .tool("search_web", Risk::Observe, web)
        .in_group("webFetch")
        .page_by("maxResults", (10, 20))
        .per_minute(20)
        .tool("explode", Risk::Observe, explode)
        .tool("sleep", Risk::Observe, sleep)
        .timeout(Duration::from_millis(50))
        .tool("deeper", Risk::Observe, deeper)
        .tool("execute_shell", Risk::Execute, echo)
        .in_group("codeExecution")
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
        ("say_it", json!({"q": "asked"}), Ok("asked")),
        ("say_it", json!("{\"text\":\"in its own form\"}"), Ok("in its own form")),
        ("echo", json!({"q": "asked"}), Err("`text` is missing")),
        ("echo", json!("{\"text\":\"written as a string\"}"), Ok("written as a string")),
        ("echo", json!({"text": 1, "times": "2"}), Ok("11")),
        ("echo", json!({"Text": "b", "times": null}), Ok("b")),
        ("echo", json!({}), Err("`text` is missing")),
        ("echo", json!({"text": {}}), Err("`text`: expected string, got an object")),
        ("echo", json!({"text": "a", "volume": 1}), Err("It takes text (string), times? (integer).")),
        ("echo", json!([1]), Err("must be a JSON object")),
        ("ecoh", json!({}), Err("did you mean `echo`")),
        ("zzzzz", json!({}), Err("search_tools")),
        ("explode", json!({}), Err("broke inside")),
        ("sleep", json!({}), Err("was stopped")),
        ("deeper", json!({}), Err("nested deeper than 8")),
        ("execute_shell", json!({"text": "ls"}), Err("codeExecution")),
        ("use_tool", json!({"tool_name": "echo", "arguments": {"text": "b"}}), Ok("b")),
        ("use_tool", json!({"tool_name": "echo", "arguments": "{\"text\":\"c\"}"}), Ok("c")),
        ("use_tool", json!({"toolName": "echo", "arguments": {"text": "d"}}), Ok("d")),
        ("use_tool", json!({"tool_name": "echo", "arguments": {}}), Err("Parameters of echo: {")),
        ("use_tool", json!({"tool_name": "say_it", "arguments": {}}), Err("Parameters of echo: {")),
        ("use_tool", json!({"tool_name": "ecko"}), Err("did you mean `echo`")),
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
async fn what_was_put_right_is_told_beside_the_result() {
    let (_, cx) = house();
    let output =
        cx.call("use_tool", json!({"tool_name": "search_web", "arguments": {"query": 7, "max_results": "99"}})).await;
    let output = output.unwrap();
    assert_eq!(output.content, json!({"for": "7", "max": 20, "kind": "page"}));
    let corrected = output.meta["corrected"].to_string();
    for part in ["99 and became 20", "`max_results` was taken for `maxResults`", "`query` was a number"] {
        assert!(corrected.contains(part), "{part}: {corrected}");
    }
    let plain = cx.call("search_web", json!({"query": "x"})).await.unwrap();
    assert_eq!((&plain.content["max"], plain.meta.get("corrected")), (&json!(10), None), "the default says nothing");
}

#[tokio::test]
async fn search_finds_by_every_word() {
    let (registry, cx) = house();
    let names = |q: &str| registry.search(q, None).iter().map(|t| t.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names("parrot"), ["echo"]);
    assert_eq!(names("say text"), ["echo", "wipe", "execute_shell"], "those that are off come last");
    assert_eq!(names("parrot database"), [] as [&str; 0]);
    assert_eq!(names("all").len(), registry.tools().len());
    assert!(names("all").is_sorted_by(|a, b| a <= b || b == "execute_shell"));
    let none = cx.call("search_tools", json!({"query": "xyzzy"})).await.unwrap();
    assert!(none.model_text().contains("use fewer"));

    let found =
        cx.call("search_tools", json!({"query": "search the web", "include_params": true})).await.unwrap().content;
    assert_eq!(found["count"], 1);
    let tool = &found["tools"][0];
    assert_eq!((&tool["name"], &tool["by"]), (&json!("search_web"), &json!("words")));
    assert!(tool["parameters"]["properties"]["maxResults"].is_object() && tool.get("enabled").is_none());
    for (query, include, expected) in [
        ("say", json!(null), vec![true, true, true]),
        ("say", json!(false), vec![false; 3]),
        ("all", json!(null), vec![false; 11]),
        ("all", json!(true), vec![true; 11]),
    ] {
        let found = cx.call("search_tools", json!({"query": query, "include_params": include})).await.unwrap().content;
        let with: Vec<bool> =
            found["tools"].as_array().unwrap().iter().map(|t| t.get("parameters").is_some()).collect();
        assert_eq!(with, expected, "{query} {include}");
    }
    // A name finds its tool first, also by an alias.
    for (name, canonical) in [("wipe", "wipe"), (" say_back ", "echo"), ("use_tool", "use_tool")] {
        assert_eq!(
            registry.search(name, None).first().map(|t| t.name.to_string()).as_deref(),
            Some(canonical),
            "{name}"
        );
    }
    let off = cx.call("search_tools", json!({"query": "shell"})).await.unwrap().content;
    assert_eq!((&off["tools"][0]["enabled"], &off["tools"][0]["group"]), (&json!(false), &json!("codeExecution")));
    for (category, count) in [("System", 4), ("system", 4), ("webFetch", 1), ("Test", 7), ("none", 0)] {
        let found = cx.call("search_tools", json!({"query": "all", "category": category})).await.unwrap().content;
        assert_eq!(found["count"], count, "{category}");
    }
}

#[test]
fn everyday_tools_come_in_the_order_they_were_added() {
    let registry = Registry::new().unwrap();
    let family =
        Family::new("late", "", ()).tool("zoom", Risk::Observe, echo).everyday().tool("zip", Risk::Observe, echo);
    registry.add(family.tool("aim", Risk::Observe, echo).everyday()).unwrap();
    let names: Vec<_> = registry.everyday().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["search_tools", "get_tool_help", "use_tool", "zoom", "aim"]);
}

#[tokio::test]
async fn all_lists_everything_with_short_descriptions() {
    let (registry, cx) = house();
    for i in 0..60 {
        registry.add(Family::new("many", "", ()).tool(format!("many_{i}").leak(), Risk::Observe, echo)).unwrap();
    }
    let found = cx.call("search_tools", json!({"query": "all"})).await.unwrap().content;
    assert_eq!((&found["count"], found["tools"].as_array().unwrap().len(), found.get("more")), (&json!(71), 71, None));
    let full = cx.call("search_tools", json!({"query": "all", "include_params": true})).await.unwrap().content;
    let more: usize = full["more"].as_object().unwrap().values().map(|names| names.as_array().unwrap().len()).sum();
    assert_eq!((full["tools"].as_array().unwrap().len(), more), (40, 31));
    assert!(full["tools"][0]["parameters"].is_object());
    let described = |description: &str| {
        let mut tool = (*registry.get("echo").unwrap()).clone();
        tool.signature = tool::Signature::given(description, Value::Null);
        super::briefly(&tool)["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(described("Say it. And more.\nAnd more."), "Say it");
    assert_eq!(described("Say it, e.g.\nand more."), "Say it, e.g");
    assert_eq!(described(&"ä".repeat(200)), "ä".repeat(100) + "…");
}

#[tokio::test]
async fn help_says_all_there_is_to_know() {
    let (_, cx) = house();
    let help = |name: &'static str| {
        let cx = cx.clone();
        async move { cx.call("get_tool_help", json!({"tool_name": name})).await.unwrap().content }
    };
    let web = help("search_web").await;
    for (key, expected) in [
        ("limits", json!({"maxResults": {"max": 20, "default": 10}})),
        ("defaults", json!({"kind": "page", "maxResults": 10})),
        ("callsPerMinute", json!(20)),
        ("examples", json!([{"query": "the query"}])),
        ("group", json!("webFetch")),
        ("risk", json!("observe")),
        ("requiresConfirmation", json!(false)),
        ("usage", json!("It takes kind? (page|image), maxResults? (integer), query (string).")),
    ] {
        assert_eq!(web[key], expected, "{key}");
    }
    assert_eq!(help("use_tool").await["examples"][0]["tool_name"], "calculate", "its own example");
    assert!(!help("echo").await.to_string().contains("parrot"), "tags are for searching only");
    assert!(help("execute_shell").await["denied"].as_str().unwrap().contains("codeExecution"));
    let run = cx.in_run(Id::new(), None, Default::default());
    for (name, asks) in [("echo", false), ("wipe", true)] {
        let help = run.call("get_tool_help", json!({"tool_name": name})).await.unwrap().content;
        assert_eq!((&help["asksFirst"], help["asksBecause"].is_string()), (&json!(asks), asks), "{name}");
    }
    assert_eq!(help("wipe").await["asksFirst"], false, "a person who calls by hand is not asked");
    let unknown = cx.call("get_tool_help", json!({"tool_name": "serch_web"})).await.unwrap_err();
    assert!(unknown.message().contains("did you mean `search_web`"), "{unknown}");
}

#[test]
fn examples_fit_the_schema_they_are_made_from_or_are_not_given() {
    let rows = [
        (json!({"type": "object"}), Some(json!({}))),
        (
            json!({"type": "object", "properties": {
                "url": {"type": "string"}, "count": {"type": "integer", "minimum": 3}, "on": {"type": "boolean"},
                "kind": {"enum": ["b", "a"]}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "where": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
                "either": {"anyOf": [{"type": "number"}, {"type": "string"}]}, "optional": {"type": "string"}
            }, "required": ["url", "count", "on", "kind", "tags", "where", "either"]}),
            Some(json!({"url": "https://example.org", "count": 3, "on": true, "kind": "b", "tags": ["the tag"],
                        "where": {"date": "2026-01-30"}, "either": 1.5})),
        ),
        (
            json!({"type": "object", "properties": {"code": {"type": "string", "pattern": "^[0-9]{4}$"}}, "required": ["code"]}),
            None,
        ),
        (json!({"type": "object", "properties": {"me": {"$ref": "#"}}, "required": ["me"]}), None),
        (json!({"type": "nonsense"}), None),
    ];
    for (schema, expected) in rows {
        assert_eq!(example(&schema), expected, "{schema}");
    }
}

#[tokio::test]
async fn a_batch_runs_at_once_and_each_call_has_its_own_outcome() {
    let (registry, cx) = house();
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let meeting = Family::new("meeting", "", both).tool("meet", Risk::Observe, meet).timeout(Duration::from_secs(30));
    registry.add(meeting).unwrap();
    let operations = json!([
        {"tool": "meet"},
        {"tool": "echo", "args": {"text": 5}},
        {"tool_name": "echo", "arguments": {"text": "by the other names"}},
        {"tool": "echo", "args": "{\"text\":\"as text\"}"},
        {"tool": "echo", "args": {}},
        {"tool": "ecoh"},
        {"tool": "explode"},
        {"tool": "batch_use_tool", "args": {"operations": [{"tool": "meet"}]}},
        {"tool": "use_tool", "args": {"tool_name": "batch_use_tool", "arguments": {"operations": [{"tool": "meet"}]}}},
        {"tool": "use_tool", "args": {"tool_name": "echo", "arguments": {"text": "twice wrapped"}}},
        {"tool": "echo", "params": {"text": "x"}},
        {"args": {}},
        {"tool": "meet"}
    ]);
    let output = cx.call("batch_use_tool", json!({"operations": operations})).await.unwrap();
    let results = output.content["results"].as_array().unwrap();
    let rows: [std::result::Result<&str, (&str, &str)>; 13] = [
        Ok("met"),
        Ok("5"),
        Ok("by the other names"),
        Ok("as text"),
        Err(("bad_args", "Parameters of echo")),
        Err(("not_found", "did you mean `echo`")),
        Err(("failed", "broke inside")),
        Err(("bad_args", "cannot hold a batch")),
        Err(("bad_args", "cannot hold a batch")),
        Ok("twice wrapped"),
        Err(("bad_args", "`params` is not known")),
        Err(("bad_args", "`tool` is missing")),
        Ok("met"),
    ];
    assert_eq!(results.len(), rows.len());
    for (result, row) in results.iter().zip(rows) {
        match row {
            Ok(text) => assert_eq!((&result["success"], &result["result"]), (&json!(true), &json!(text)), "{result}"),
            Err((code, part)) => {
                assert_eq!((&result["success"], &result["error"]["code"]), (&json!(false), &json!(code)), "{result}");
                assert!(result["error"]["message"].as_str().unwrap().contains(part), "{result}");
            }
        }
    }
    assert_eq!(results[1]["corrected"].as_array().unwrap().len(), 1);
    assert_eq!((&output.content["succeeded"], &output.content["failed"]), (&json!(6), &json!(7)));
    assert_eq!(output.say.as_deref(), Some("6 of 13 calls worked."));

    for (operations, part) in [
        (json!([]), "at least 1 items"),
        (json!(vec![json!({"tool": "echo"}); 21]), "at most 20 items"),
        (json!("nothing"), "operations"),
    ] {
        let error = cx.call("batch_use_tool", json!({"operations": operations})).await.unwrap_err();
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!((output.label, cx.label()), (tool::Label::Own, tool::Label::Own));
    registry.add(Family::new("outside", "", ()).tool("fetch", Risk::Observe, fetch)).unwrap();
    let mixed = cx
        .call("batch_use_tool", json!({"operations": [{"tool": "echo", "args": {"text": "x"}}, {"tool": "fetch"}]}))
        .await
        .unwrap();
    assert_eq!((mixed.label, cx.label()), (tool::Label::Outside, tool::Label::Outside));

    // One call that is not in a list is a list of one.
    let one =
        cx.call("batch_use_tool", json!({"operations": {"tool": "echo", "args": {"text": "alone"}}})).await.unwrap();
    assert_eq!(one.content["results"][0]["result"], "alone");
}

#[tokio::test]
async fn names_are_checked_and_taken_once() {
    let (registry, _) = house();
    for bad in ["", "1a", "a-b", "a b", "a".repeat(65).leak(), "echo", "say_back"] {
        let added = registry.add(Family::new("x", "", ()).tool(bad, Risk::Observe, echo));
        assert!(added.is_err(), "{bad}");
        let aliased = registry.add(Family::new("x", "", ()).tool("fresh", Risk::Observe, echo).alias(bad));
        assert!(aliased.is_err() && registry.get("fresh").is_none(), "{bad}");
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
    made.aliases.push(Alias { name: "made_too".into(), adapt: None });
    registry.add_tool(made).unwrap();
    assert!(cx.call("made", json!({"text": "x"})).await.is_ok());
    for call in ["made", "made_too"] {
        assert!(matches!(viewer.call(call, json!({"text": "x"})).await, Err(Error::NotFound(_))));
    }
    let found = viewer.call("search_tools", json!({"query": "made"})).await.unwrap();
    assert_eq!(found.content["count"], 0);
}

#[tokio::test]
async fn a_cancelled_run_ends_its_calls() {
    let (_, cx) = house();
    let cx = cx.in_run(Id::new(), Id::new(), Default::default());
    let call = cx.call("sleep", json!({}));
    cx.cancel().cancel();
    assert!(matches!(call.await, Err(Error::Unavailable(text)) if text.contains("stopped")));
}
