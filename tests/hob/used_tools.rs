//! A first request shows few tools and few of their parameters. Here recorded calls show that nothing is used less rightly for
//! it: calls as models make them, with parameters that are not shown, defaults, aliases and mistakes, have the same results as
//! with the requests that showed everything; each argument is in what is shown or one search away; and tools that are no longer
//! shown are found by the words of the request.
//!
//! The calls (`tests/golden/used-tools.json`) follow the seeds' documentation and the habits of models, not the schemas. Their
//! results (`used-tools-results.json`) were recorded with the last Hob that showed everything: `HOB_BIN=… RECORD_RESULTS=1`.

use crate::{
    harness::Hob,
    model::with_model,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// The most matches of a search among which a tool has to be.
const FIRST: usize = 3;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(golden(name)).unwrap()).unwrap()
}

/// A text without what differs in every run: ids, times, and how near memories are.
fn without_chance(text: &str) -> String {
    let (mut clean, mut word) = (String::new(), String::new());
    // A space at the end ends the last word.
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || "-+:.".contains(c) && !word.is_empty() {
            word.push(c);
            continue;
        }
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        clean.push_str(match () {
            () if word.len() == 36 && word.matches('-').count() == 4 => "ID",
            () if word.len() >= 16 && word.starts_with("202") && word.contains('T') => "MOMENT",
            () if word.len() == 13 && is_number(&word) => "MILLIS",
            () if ["\"score\":", "\"uses\":"].iter().any(|key| clean.ends_with(key)) && is_number(&word) => "0",
            () => &word,
        });
        clean.push(c);
        word.clear();
    }
    clean
}

/// Lets a model make the calls of a trace one after another: the results, and the tools of the first request.
fn play(hob: &Hob, server: &ModelServer, trace: &Value) -> (Vec<String>, Vec<Value>) {
    let wanted = trace["calls"].as_array().unwrap();
    let turn = |call: &Value| calls(&[(call["tool"].as_str().unwrap(), call["arguments"].clone())]);
    server.script(wanted.iter().map(turn).chain([says("Done.")]).collect());
    server.asked();
    hob.say(trace["asks"].as_str().unwrap());
    let asked = server.asked();
    let results = asked.last().unwrap().messages("tool");
    let texts: Vec<String> = results[results.len() - wanted.len()..]
        .iter()
        .map(|result| without_chance(result["content"].as_str().unwrap()))
        .collect();
    (texts, asked[0].body["tools"].as_array().unwrap().clone())
}

/// The tools that a call names, with their arguments: its own, and those it calls through it.
fn used(call: &Value) -> Vec<(String, Value)> {
    let parsed =
        |value: &Value| value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value.clone());
    let arguments = parsed(&call["arguments"]);
    let one = |call: &Value| {
        let field = |names: [&str; 3]| names.iter().map(|name| &call[*name]).find(|v| !v.is_null()).cloned();
        let name = field(["tool_name", "toolName", "tool"])?.as_str()?.to_owned();
        Some((name, parsed(&field(["arguments", "args", "parameters"]).unwrap_or(json!({})))))
    };
    match call["tool"].as_str().unwrap() {
        "use_tool" => one(&arguments).into_iter().collect(),
        "batch_use_tool" => arguments["operations"].as_array().unwrap().iter().filter_map(one).collect(),
        name => vec![(name.to_owned(), arguments)],
    }
}

#[test]
fn nothing_is_used_less_rightly_because_less_is_shown() {
    let (hob, server) = with_model("");
    let traces = read("used-tools.json");
    assert!(traces.len() >= 30);
    if std::env::var_os("RECORD_RESULTS").is_some() {
        let results: Vec<Vec<String>> = traces.iter().map(|trace| play(&hob, &server, trace).0).collect();
        let text = serde_json::to_string_pretty(&results).unwrap();
        return fs::write(golden("used-tools-results.json"), format!("{text}\n")).unwrap();
    }
    let (mut wrong, mut same, mut hidden) = (vec![], 0, 0);
    for (trace, recorded) in traces.iter().zip(read("used-tools-results.json")) {
        let asks = trace["asks"].as_str().unwrap();
        let (results, shown) = play(&hob, &server, trace);
        for (result, recorded) in results.iter().zip(recorded.as_array().unwrap()) {
            let recorded = recorded.as_str().unwrap();
            let is_same = match () {
                // The answer is the present moment.
                () if trace["moment"] == true => result.contains("dayOfWeek") && recorded.contains("dayOfWeek"),
                () if trace["help"] == true => result.contains("\"parameters\"") && recorded.contains("\"parameters\""),
                () => result == recorded,
            };
            match is_same {
                true => same += 1,
                false => wrong.push(format!("{asks}: {result}\n  was {recorded}")),
            }
        }
        let search =
            |query: &str| hob.result("search_tools", json!({"query": query}))["tools"].as_array().unwrap().clone();
        // The matches of each search that a model would make.
        let words = trace["words"].as_array().into_iter().flatten().chain(Some(&trace["words"]));
        let searches: Vec<Vec<Value>> = words.filter_map(Value::as_str).map(search).collect();
        let unknown = trace["unknown"].as_array().cloned().unwrap_or_default();
        for (name, arguments) in trace["calls"].as_array().unwrap().iter().flat_map(used) {
            let canonical = hob.get(&format!("/api/v1/tools/{name}")).data(200)["name"].as_str().unwrap().to_owned();
            let offered = shown.iter().map(|tool| &tool["function"]).find(|tool| tool["name"] == *canonical);
            let found = searches.iter().find_map(|all| all.iter().take(FIRST).find(|tool| tool["name"] == *canonical));
            if offered.is_none() && found.is_none() {
                wrong.push(format!("{asks}: {canonical} is not among the first {FIRST} of {}", trace["words"]));
            }
            let by_name = search(&canonical);
            assert_eq!(by_name[0]["name"], *canonical);
            for argument in arguments.as_object().into_iter().flatten().map(|(name, _)| name) {
                let has =
                    |tool: Option<&Value>| tool.is_some_and(|t| t["parameters"]["properties"].get(argument).is_some());
                if has(offered) || unknown.contains(&json!(argument)) {
                    continue;
                }
                hidden += 1;
                let learnt = if offered.is_some() { by_name.first() } else { found };
                if !has(learnt) {
                    wrong.push(format!("{asks}: nothing shows `{argument}` of {canonical}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same > 35 && hidden > 30, "{same} results, {hidden} arguments that are not shown");
}

#[test]
fn the_first_request_is_small_and_shows_pins_once_they_are_used() {
    let (hob, server) = with_model("");
    let first = || {
        server.script(vec![says("pong")]);
        server.asked();
        hob.say("ping");
        let asked = server.asked().remove(0);
        // The time is a little longer in September.
        let time = asked.messages("system")[0]["content"].as_str().unwrap().rsplit_once("It is ").unwrap().1.len();
        (asked.body.to_string().len() - time, asked.tools())
    };
    let everyday = ["search_tools", "use_tool", "remember", "recall", "calculate"];
    let (bytes, tools) = first();
    assert_eq!(tools, everyday);
    assert!(bytes <= 3000, "{bytes}");
    hob.result("gpio_read", json!({"pin": 4}));
    let (bytes, tools) = first();
    assert_eq!(tools, [&everyday[..], &["gpio_read", "gpio_write"]].concat());
    assert!(bytes <= 3660, "{bytes}");
}

#[test]
fn a_prompt_without_the_time_offers_the_clock() {
    let (hob, server) = with_model("[agent.sections]\ntime = false\n");
    server.script(vec![says("pong")]);
    hob.say("ping");
    assert!(server.asked()[0].tools().contains(&"get_current_datetime".to_owned()));
}
