//! Custom steps in the chain, through the real dispatch.

use super::*;
use crate::Registry;
use std::sync::{Arc, Mutex};
use tool::{
    Bus, BusEvent, Channel, Cx, Family, Ports, Principal, Risk, SystemClock, Topics, Via,
    prelude::{Deserialize, JsonSchema, schemars},
};

/// Say a text back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// The text to repeat.
    text: String,
}

async fn echo(_: (), _: Cx, args: Echo) -> Result<Output> {
    Ok(Output::text(args.text))
}

/// Records that a call passed, and changes it.
struct Step {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    before: fn(&mut Call) -> Result<()>,
    after: fn(Result<Output>) -> Result<Output>,
}

impl Middleware for Step {
    fn name(&self) -> &'static str {
        self.name
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        self.log.lock().unwrap().push(format!("before {}", self.name));
        Box::pin(ready((self.before)(call)))
    }
    fn after<'a>(&'a self, _: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        self.log.lock().unwrap().push(format!("after {}", self.name));
        Box::pin(ready((self.after)(result)))
    }
}

fn house() -> (Registry, Cx, Arc<Mutex<Vec<String>>>) {
    let registry = Registry::new().unwrap();
    registry.scrubber().add("hunter2-hunter2");
    registry.add(Family::new("test", "", ()).tool("echo", Risk::Observe, echo)).unwrap();
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.dispatch = Arc::new(registry.clone());
    ports.bus = Bus::default();
    (registry, Cx::root(ports, Principal::owner(), Via::direct(Channel::Api)), Arc::default())
}

fn says(text: &str) -> Value {
    json!({ "text": text })
}

#[tokio::test]
async fn a_step_changes_arguments_and_results_and_stops_calls() {
    let (registry, cx, log) = house();
    let step = |name, before, after| registry.add_middleware(Arc::new(Step { name, log: log.clone(), before, after }));
    step(
        "first",
        |call| {
            // Also text that the tool's schema does not accept: arguments are checked after this step.
            call.args["text"] = format!("{}!", call.args["text"].as_str().unwrap_or_default()).into();
            Ok(())
        },
        |result| result.map(|output| Output::text(format!("<{}>", output.model_text()))),
    );
    step(
        "second",
        |call| match call.args["text"].as_str() {
            Some(text) if text.starts_with("stop") => Err(Error::denied("not today")),
            _ => Ok(()),
        },
        |result| result,
    );
    assert_eq!(cx.call("echo", says("hello")).await.unwrap().model_text(), "<hello!>");
    assert_eq!(*log.lock().unwrap(), ["before first", "before second", "after second", "after first"]);
    log.lock().unwrap().clear();

    let mut heard = cx.ports().bus.listen_to(None, Topics::parse("tool:*").unwrap());
    assert_eq!(cx.call("echo", says("stop it")).await.unwrap_err(), Error::denied("not today"));
    // The step that stopped a call does not see it again; those before it do.
    assert_eq!(*log.lock().unwrap(), ["before first", "before second", "after first"]);
    cx.call("echo", says("go on")).await.unwrap();
    let Some(BusEvent::Event(event)) = heard.next().await else { panic!("nothing was told") };
    assert_eq!(
        (event.topic.as_str(), &event.data["tool"]),
        ("tool:before", &json!("echo")),
        "a stopped call never began"
    );

    // A step's output is scrubbed like any other, and its arguments are checked.
    step("third", |_| Ok(()), |result| result.map(|_| Output::text("it is hunter2-hunter2")));
    assert_eq!(cx.call("echo", says("x")).await.unwrap().model_text(), "<it is [REDACTED]>");
    step(
        "fourth",
        |call| {
            call.args["more"] = 1.into();
            Ok(())
        },
        |result| result,
    );
    assert!(cx.call("echo", says("x")).await.unwrap_err().message().contains("more"));
}

/// Take a secret.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Enter {
    /// Values by name.
    #[schemars(extend("writeOnly" = true))]
    fields: std::collections::BTreeMap<String, Value>,
}

#[tokio::test]
async fn no_facade_takes_a_secret_where_others_read_along() {
    let (registry, here, log) = house();
    let ran = log.clone();
    let enter = move |_: (), _: Cx, args: Enter| {
        ran.lock().unwrap().push(format!("entered {}", args.fields.len()));
        async { Ok(Output::text("kept")) }
    };
    let family = Family::new("center", "", ()).tool("enter", Risk::Write, enter).alias("save_key");
    let make = |_: (), _: Cx, _: Echo| async { Ok(Output::text("a new password")) };
    registry.add(family.tool("make", Risk::Observe, make).returns_secret()).unwrap();
    let args = json!({"fields": {"api_key": "k"}});
    let calls = [
        ("enter", args.clone()),
        ("save_key", args.clone()),
        ("use_tool", json!({"tool_name": "enter", "arguments": args})),
        ("use_tool", json!({"tool_name": "save_key", "arguments": args.to_string()})),
        ("batch_use_tool", json!({"operations": [{"tool": "enter", "args": args}]})),
        ("make", says("x")),
        ("use_tool", json!({"tool_name": "make", "arguments": says("x")})),
    ];
    let clear = Via { clear: true, ..here.via().clone() };
    let there = Cx::root(here.ports().clone(), here.principal().clone(), clear);
    for (tool, args) in &calls {
        let text = match there.call(tool, args.clone()).await {
            Ok(output) => output.content.to_string(),
            Err(error) => error.message().to_owned(),
        };
        assert!(text.contains("others can read along"), "{tool} {args}: {text}");
    }
    assert!(log.lock().unwrap().is_empty(), "{log:?}");
    there.call("echo", says("no secret")).await.unwrap();
    for (tool, args) in calls {
        let output = here.call(tool, args).await.unwrap();
        assert!(!output.model_text().contains("read along"), "{tool}: {}", output.model_text());
    }
    assert_eq!(log.lock().unwrap().len(), 5);
}

#[test]
fn a_refusal_does_not_repeat_all_it_was_given() {
    let short = Error::not_found("there is no such thing: look elsewhere");
    assert_eq!(cap_refusal(short.clone()), short);
    for filler in ["x", "ä", "漢"] {
        let text = format!("`{}` is no unit: name one such as km", filler.repeat(REFUSAL_CAP));
        let cut = cap_refusal(Error::bad_args(text));
        assert!(matches!(cut, Error::BadArgs(_)) && cut.message().len() < REFUSAL_CAP, "{}", cut.message().len());
        assert!(cut.message().starts_with('`') && cut.message().ends_with("is no unit: name one such as km"));
    }
}

#[test]
fn what_is_long_is_cut_whatever_its_shape() {
    let short = Output::json(json!({"a": [1, 2, 3], "b": "text"})).unwrap();
    assert_eq!(cap(short.clone()), short);
    for content in [
        Value::String("ä".repeat(OUTPUT_CAP)),
        json!(vec![0; OUTPUT_CAP]),
        json!((0..OUTPUT_CAP / 8).map(|n| (n.to_string(), n)).collect::<std::collections::BTreeMap<_, _>>()),
        json!({"deep": {"deeper": ["x".repeat(2 * OUTPUT_CAP)]}}),
    ] {
        let whole = Output { content, ..Output::default() };
        let long = whole.model_text().len();
        let cut = cap(whole);
        assert!(cut.model_text().len() < OUTPUT_CAP + 64 && cut.model_text().ends_with("more bytes]"));
        assert!(cut.meta["cutBytes"].as_u64().unwrap() as usize + OUTPUT_CAP >= long);
    }
    // Many small values need more text than their size.
    let quotes = Output::json("\n".repeat(OUTPUT_CAP / 2)).unwrap();
    assert_eq!(cap(quotes.clone()), quotes);
}
