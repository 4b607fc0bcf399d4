//! `hob tools --explain`: names the deciding rule, which then also decides.

use crate::{
    approvals::{decide, keep, questions, that_waits},
    harness::{Hob, TOKEN},
    hijack::make,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};

const OWNER: &str = "00000000-0000-7000-8000-000000000001";

fn explained(hob: &Hob, tool: &str, query: &str) -> Value {
    hob.get(&format!("/api/v1/tools/{tool}/explain?{query}")).data(200)
}

/// Bytes as they stand in a query.
fn escaped(value: &Value) -> String {
    value.to_string().bytes().map(|b| format!("%{b:02X}")).collect()
}

/// Rule and verdict of the newest logged call of this tool.
fn logged(hob: &Hob, tool: &str) -> (String, String) {
    let entry = hob.get(&format!("/api/v1/audit?tool={tool}&limit=1")).data(200)["entries"][0].take();
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("rule"))
}

/// Lets a model call the tool and returns the deciding rule from the question or the log.
fn decided(hob: &Hob, server: &ModelServer, tool: &str, arguments: &Value) -> (String, String) {
    server.script(vec![calls(&[(tool, arguments.clone())]), says("done")]);
    let mut events = hob.stream(json!({"message": "x"}));
    let (name, told) = events.find(|(name, _)| name == "approval" || name == "tool_end").unwrap();
    if name == "approval" {
        decide(hob, &told, "deny");
        assert_eq!(events.last().unwrap().0, "done");
        return ("ask".to_owned(), told["rule"].as_str().unwrap().to_owned());
    }
    assert_eq!(events.last().unwrap().0, "done");
    logged(hob, tool)
}

#[test]
fn the_rule_that_is_named_is_the_rule_that_decides() {
    let (hob, server) = that_waits(20, "");
    let id = keep(&hob, "kept");
    make(&hob, "seven", "return 7;", &[]);
    let made = json!({"name": "eight", "description": "x", "parameters": {"type": "object"}, "code": "return 8;",
                      "createdBy": "llm"});
    hob.post("/api/v1/custom-tools", made).data(201);
    let forget = json!({"memoryId": id});
    let create = json!({"name": "nine", "description": "x", "parameters": {"type": "object"}, "code": "return 9;"});
    let (none, word) = (json!({}), json!({"content": "x"}));
    let own = |rights: Value| json!({"users": {OWNER: rights}});
    // In a run of the owner's, by a model of the provider `custom`.
    let rows = [
        (none.clone(), "calculate", json!({"expression": "1"}), "allow", "default"),
        (none.clone(), "search_tools", json!({"query": "x"}), "allow", "meta"),
        (none.clone(), "forget", forget.clone(), "ask", "autonomy"),
        (none.clone(), "create_tool", create, "ask", "confirmation"),
        (none.clone(), "eight", none.clone(), "ask", "model-made"),
        (none.clone(), "seven", none.clone(), "allow", "default"),
        (json!({"ask": ["memory_store"]}), "remember", word.clone(), "ask", "ask-list"),
        (own(json!({"ask": ["*"]})), "remember", word.clone(), "ask", "ask-list"),
        (own(json!({"autonomy": "low"})), "remember", word.clone(), "ask", "autonomy"),
        (json!({"deny": ["memory_store"]}), "remember", word.clone(), "deny", "denied"),
        (own(json!({"deniedTools": ["remember"]})), "remember", word.clone(), "deny", "denied-user"),
        (json!({"agents": {"general": {"deny": ["remember"]}}}), "remember", word.clone(), "deny", "denied-agent"),
        (own(json!({"level": "read"})), "remember", word.clone(), "deny", "level"),
        (own(json!({"areas": ["actuate"]})), "remember", word.clone(), "deny", "area"),
        (
            own(json!({"level": "read", "allowedTools": ["remember"]})),
            "remember",
            word.clone(),
            "allow",
            "allowed-tool",
        ),
        (json!({"profile": "minimal"}), "remember", word.clone(), "deny", "profile"),
        (json!({"allow": []}), "remember", word.clone(), "deny", "allow"),
        (json!({"allow": [], "alsoAllow": ["remember"]}), "remember", word.clone(), "allow", "also-allow"),
        (
            json!({"byProvider": {"custom": {"profile": "minimal"}}}),
            "remember",
            word.clone(),
            "deny",
            "provider-profile",
        ),
        (json!({"byProvider": {"custom": {"allow": []}}}), "remember", word.clone(), "deny", "provider-allow"),
        (json!({"agents": {"general": {"allow": []}}}), "remember", word.clone(), "deny", "agent-allow"),
        (
            json!({"agents": {"general": {"byProvider": {"custom": {"allow": []}}}}}),
            "remember",
            word.clone(),
            "deny",
            "agent-provider-allow",
        ),
        // Two rules apply: the first in order is named.
        (json!({"deny": ["forget"], "ask": ["forget"]}), "forget", forget.clone(), "deny", "denied"),
        (json!({"deny": ["remember"], "allow": []}), "remember", word.clone(), "deny", "denied"),
    ];
    for (policy, tool, arguments, verdict, rule) in &rows {
        hob.admin("PUT", "/api/v1/policy").json(policy).send().data(200);
        let query = format!("agent=general&user=owner&provider=custom&arguments={}", escaped(arguments));
        let told = explained(&hob, tool, &query);
        let said = (told["verdict"].as_str().unwrap(), told["rule"].as_str().unwrap());
        assert_eq!(said, (*verdict, *rule), "{policy} {tool}: {told}");
        assert_eq!((&told["user"], &told["agent"], &told["tool"]), (&json!("owner"), &json!("general"), &json!(tool)));
        assert_eq!(told["reason"] == "", *verdict == "allow", "{told}");
        // The trail goes through every rule, and ends with the one that decided.
        let trail = told["trail"].as_array().unwrap();
        let end = trail.last().unwrap();
        assert!(trail.len() > 20 && end["rule"] == *rule, "{trail:?}");
        let first = trail.iter().position(|h| h["says"] != "does not apply").unwrap();
        assert!(*verdict == "allow" || trail[first]["rule"] == *rule, "{trail:?}");
        let begins = match *verdict {
            "allow" => "allowed",
            "ask" => "asks",
            _ => "denied",
        };
        assert!(end["says"].as_str().unwrap().starts_with(begins), "{end}");
        assert_eq!(
            decided(&hob, &server, tool, arguments),
            ((*verdict).to_owned(), (*rule).to_owned()),
            "{policy} {tool}"
        );
        assert_eq!(logged(&hob, tool), ((*verdict).to_owned(), (*rule).to_owned()), "the log of {tool} under {policy}");
        // An alias is explained as the tool behind it.
        if *tool == "remember" {
            assert_eq!(explained(&hob, "memory_store", &query), told);
        }
    }
    hob.admin("PUT", "/api/v1/policy").json(&none).send().data(200);
    // What reads from outside, what nobody asks for in a run, what was allowed for good.
    for (tool, query, verdict, rule) in [
        ("gpio_write", "tainted=true", "ask", "tainted"),
        ("gpio_write", "tainted=false", "allow", "default"),
        ("create_tool", "tainted=true", "ask", "tainted"),
        ("remember", "tainted=true", "allow", "default"),
        ("forget", "inRun=false", "allow", "default"),
        ("forget", "inRun=true", "ask", "autonomy"),
    ] {
        let told = explained(&hob, tool, query);
        assert_eq!((told["verdict"].as_str(), told["rule"].as_str()), (Some(verdict), Some(rule)), "{tool} {query}");
    }
    server.script(vec![calls(&[("forget", json!({"memoryId": "x"}))]), says("done")]);
    let mut events = hob.stream(json!({"message": "x"}));
    let question = events.find(|(name, _)| name == "approval").unwrap().1;
    decide(&hob, &question, "allow_always");
    assert_eq!(events.last().unwrap().0, "done");
    for (arguments, rule) in [(json!({"memoryId": "x"}), "grant"), (json!({"memoryId": "y"}), "autonomy")] {
        let told = explained(&hob, "forget", &format!("arguments={}", escaped(&arguments)));
        assert_eq!(told["rule"], rule, "{arguments}");
    }
    assert!(questions(&hob, "pending").is_empty());
}

#[test]
fn the_command_line_explains_for_whoever_is_named() {
    let (hob, _server) = that_waits(20, "");
    let made = hob.post("/api/v1/people", json!({"name": "Ben", "role": "member"})).data(201);
    let (ben, viewer) = (hob.token("Ben", "member"), hob.token("Vera", "viewer"));
    let all = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["tools", "--explain"].iter().chain(arguments).copied().collect();
        hob.cli(&arguments)
    };
    let text = all(&["forget", "--agent", "general", "--user", "owner"]).ok();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "forget: ask, by the rule `autonomy`");
    assert!(
        lines[1].contains("delete things permanently") && lines[2] == "for owner through the agent general:",
        "{text}"
    );
    assert!(text.contains("would ask: ") && text.contains("asks: nothing denies it"), "{text}");
    assert!(lines.last().unwrap().contains("others do not apply: ") && text.contains(" denied-user,"), "{text}");
    // By name in any case, by id, and by alias.
    let id = made["id"].as_str().unwrap();
    for (tool, user, verdict, rule, canonical) in [
        ("config_set_entry", "Ben", "deny", "role", "config_set_entry"),
        ("config_set_entry", "ben", "deny", "role", "config_set_entry"),
        ("config_set_entry", id, "deny", "role", "config_set_entry"),
        ("memory_store", "Vera", "deny", "role", "remember"),
        ("datetime", "Vera", "allow", "default", "get_current_datetime"),
        ("use_tool", "Vera", "allow", "meta", "use_tool"),
        ("memory_store", OWNER, "allow", "default", "remember"),
    ] {
        let told: Value = serde_json::from_str(&all(&[tool, "--user", user, "--json"]).ok()).unwrap();
        let said = (told["verdict"].as_str().unwrap(), told["rule"].as_str().unwrap(), told["tool"].as_str().unwrap());
        assert_eq!(said, (verdict, rule, canonical), "{tool} for {user}");
    }
    for (arguments, part) in [
        (&["no_such_tool"][..], "there is no tool called `no_such_tool`"),
        (&["forget", "--user", "nobody"], "there is nobody called `nobody`"),
        (&["forget", "--agent", "butler"], "only the agent `general`"),
    ] {
        let why = all(arguments).why(1);
        assert!(why.contains(part), "{why}");
    }
    hob.cli(&["tools", "--user", "owner"]).why(2);
    // Others than admins may ask about themselves alone.
    let ask = |token: &str, query: &str| {
        hob.request("GET", &format!("/api/v1/tools/forget/explain?{query}")).bearer(token).send()
    };
    assert_eq!(ask(&ben, "").data(200)["user"], "Ben");
    assert_eq!(ask(&ben, "user=ben").data(200)["verdict"], "ask");
    assert_eq!(ask(&viewer, "").data(200)["rule"], "role");
    for query in ["user=owner", "user=Vera", "user=nobody"] {
        ask(&ben, query).refusal(403, "denied");
    }
    for query in ["arguments=%7B", "tainted=maybe", "inRun=2"] {
        ask(TOKEN, query).refusal(400, "bad_args");
    }
    let off = hob.admin("PUT", "/api/v1/tool-groups/gpio").json(&json!({"enabled": false})).send();
    off.data(200);
    let told = explained(&hob, "gpio_write", "");
    assert_eq!((told["verdict"].as_str(), told["rule"].as_str()), (Some("deny"), Some("group-off")));
}
