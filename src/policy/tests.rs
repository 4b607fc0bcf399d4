//! Table tests of every deny and allow rule, and tests of the document.

use crate::{samples::*, *};
use serde_json::{Value, json};
use tool::{AgentId, Label, Level, Owner, Principal, Risk, Role, Subagent};
use {Role::*, Verdict::*};

#[test]
fn roles_and_risks() {
    for (name, risk, least) in [
        ("list_notes", Risk::Observe, Viewer),
        ("add_note", Risk::Write, Member),
        ("gpio_write", Risk::Actuate, Member),
        ("send_mail", Risk::Send, Member),
        ("execute_python", Risk::Execute, Member),
        ("delete_file", Risk::Destroy, Member),
        ("set_clock", Risk::Admin, Role::Admin),
    ] {
        assert_eq!(tool(name).risk, risk);
        for role in [Viewer, Member, Role::Admin] {
            let call = call(name).direct().role(role);
            let (verdict, rule) = if role < least { (Deny, "role") } else { (Allow, "default") };
            check(name, json!({}), &call, verdict, rule);
            // A policy never extends a role.
            let user = json!({"users": {"ME": {"preset": "permissive", "allowedTools": ["*"]}}, "alsoAllow": ["*"]});
            check(name, user, &call.role(role), verdict, rule);
        }
    }
}

#[test]
fn levels() {
    let needs = [
        ("list_notes", Level::Read),
        ("add_note", Level::Write),
        ("send_mail", Level::Write),
        ("delete_file", Level::Write),
        ("gpio_write", Level::Execute),
        ("execute_python", Level::Execute),
        ("set_clock", Level::Admin),
    ];
    for (name, needs) in needs {
        for level in [Level::None, Level::Read, Level::Write, Level::Execute, Level::Admin] {
            let (verdict, rule) = if level < needs { (Deny, "level") } else { (Allow, "default") };
            let policy = json!({"users": {"ME": {"level": level}}});
            check(&format!("{name} {level:?}"), policy, &call(name).direct(), verdict, rule);
        }
    }
}

#[test]
fn areas() {
    let in_area = [
        ("read_file", "file_read"),
        ("write_file", "file_write"),
        ("delete_file", "file_delete"),
        ("execute_python", "code_execute"),
        ("fetch_web_page", "network_read"),
        ("send_mail", "network_write"),
        ("execute_shell", "system"),
        ("add_note", "memory"),
        ("persons", "custom"),
        ("gpio_write", "actuate"),
        ("light_set", "home"),
    ];
    assert_eq!(in_area.len(), tool::Area::ALL.len());
    for (name, area) in in_area {
        for (_, open) in in_area {
            let (verdict, rule) = if area == open { (Allow, "default") } else { (Deny, "area") };
            let policy = json!({"users": {"ME": {"areas": [open]}}});
            check(&format!("{name} {open}"), policy, &call(name).direct(), verdict, rule);
        }
    }
}

#[test]
fn presets() {
    // By preset: observe, change a note, fetch, read a file, administer.
    for (preset, rules) in [
        (json!({"preset": "readonly"}), ["default", "level", "default", "default", "level"]),
        (json!({"preset": "restrictive"}), ["default", "level", "area", "default", "level"]),
        (json!({"preset": "permissive"}), ["default"; 5]),
        // Explicit fields override the preset.
        (json!({"preset": "readonly", "level": "write"}), ["default", "default", "default", "default", "level"]),
        (json!({"preset": "restrictive", "areas": ["network_read"]}), ["area", "level", "default", "area", "level"]),
        (json!({"preset": "restrictive", "level": "admin"}), ["default", "default", "area", "default", "area"]),
    ] {
        for (name, rule) in ["list_notes", "add_note", "fetch_web_page", "read_file", "set_clock"].iter().zip(rules) {
            let verdict = if rule == "default" { Allow } else { Deny };
            check(&format!("{preset} {name}"), json!({"users": {"ME": preset}}), &call(name).direct(), verdict, rule);
        }
    }
    assert_eq!(Policy::preset("readonly").map(|p| p.level), Some(Some(Level::Read)));
    assert_eq!(Policy::preset("permissive").and_then(|p| p.areas).map(|a| a.len()), Some(tool::Area::ALL.len()));
    assert_eq!(Policy::preset("other"), None);
}

#[test]
fn without_a_policy_of_their_own() {
    // A policy without level and areas leaves those of the role.
    for user in [json!({}), json!({"ME": {"autonomy": "full"}})] {
        let policy = json!({"users": user});
        check("viewer", policy.clone(), &call("list_notes").direct().role(Viewer), Allow, "default");
        check("member", policy.clone(), &call("execute_python").direct().role(Member), Allow, "default");
        check("member, clock", policy.clone(), &call("set_clock").direct().role(Member), Deny, "role");
        check("admin", policy, &call("set_clock").direct(), Allow, "default");
    }
}

#[test]
fn what_denies() {
    let none = json!({});
    let branch = |name| call(name).sub(Subagent::Branch);
    let leaf = |name| call(name).sub(Subagent::Leaf);
    let me = |user: Value| json!({"users": {"ME": user}});
    let general = |agent: Value| json!({"agents": {"general": agent}});
    let rows: Vec<(&str, Value, Call, Verdict, &str)> = vec![
        ("a group that is off", none.clone(), call("parked"), Deny, "group-off"),
        ("… beats all allows", json!({"alsoAllow": ["*"]}), call("parked").consented(), Deny, "group-off"),
        ("a model's tool for another", none.clone(), call("models_other").direct(), Deny, "model-made-for-another"),
        ("a model's tool for me", none.clone(), call("models").direct(), Allow, "default"),
        ("a person's tool for all", none.clone(), call("persons").direct(), Allow, "default"),
        ("denied to the user", me(json!({"deniedTools": ["add_note"]})), call("add_note"), Deny, "denied-user"),
        ("… by hand too", me(json!({"deniedTools": ["add_note"]})), call("add_note").direct(), Deny, "denied-user"),
        ("… by its alias", me(json!({"deniedTools": ["notes"]})), call("list_notes"), Deny, "denied-user"),
        ("… by its group", me(json!({"deniedTools": ["group:notes"]})), call("add_note"), Deny, "denied-user"),
        ("… all", me(json!({"deniedTools": ["group:all"]})), call("use_tool"), Deny, "denied-user"),
        (
            "allowed and denied",
            me(json!({"allowedTools": ["add_note"], "deniedTools": ["add_note"]})),
            call("add_note"),
            Deny,
            "denied-user",
        ),
        ("denied to all", json!({"deny": ["add_note"]}), call("add_note").direct(), Deny, "denied"),
        ("… by the name of a facade", json!({"deny": ["cron"]}), call("create_scheduled_task"), Deny, "denied"),
        ("… called by its alias", json!({"deny": ["create_scheduled_task"]}), call("cron"), Deny, "denied"),
        ("… by a composite group", json!({"deny": ["group:memory"]}), call("memory_search"), Deny, "denied"),
        ("… but the meta-tool goes", json!({"deny": ["add_note"]}), call("use_tool"), Allow, "meta"),
        ("… unless it is denied", json!({"deny": ["use_tool"]}), call("use_tool"), Deny, "denied"),
        ("… a yes does not help", json!({"deny": ["wipe"]}), call("wipe").consented(), Deny, "denied"),
        ("… nor a grant", json!({"deny": ["wipe"]}), call("wipe").granted(3, json!("*")), Deny, "denied"),
        ("… nor also-allow", json!({"deny": ["wipe"], "alsoAllow": ["wipe"]}), call("wipe"), Deny, "denied"),
        ("denied to the agent", general(json!({"deny": ["notes"]})), call("list_notes"), Deny, "denied-agent"),
        ("… not to its person", general(json!({"deny": ["notes"]})), call("list_notes").direct(), Allow, "default"),
        (
            "… also-allow does not help",
            general(json!({"deny": ["notes"], "alsoAllow": ["notes"]})),
            call("list_notes"),
            Deny,
            "denied-agent",
        ),
        ("a subagent", none.clone(), branch("memory_search"), Deny, "denied-subagent"),
        ("… status", none.clone(), branch("session_status"), Deny, "denied-subagent"),
        ("… a schedule by its real name", none.clone(), branch("create_scheduled_task"), Deny, "denied-subagent"),
        ("… at a leaf too", none.clone(), leaf("cron"), Deny, "denied-subagent"),
        ("… more", json!({"subagents": {"deny": ["notes"]}}), branch("list_notes"), Deny, "denied-subagent"),
        ("… also-allow does not help", json!({"alsoAllow": ["*"]}), branch("cron"), Deny, "denied-subagent"),
        ("… not above", none.clone(), call("memory_search"), Allow, "default"),
        ("a branch may spawn", none.clone(), branch("spawn"), Allow, "default"),
        ("a leaf may not", none.clone(), leaf("spawn"), Deny, "denied-leaf"),
        ("… nor list", none.clone(), leaf("sessions_list"), Deny, "denied-leaf"),
        ("… but read", none.clone(), leaf("list_notes"), Allow, "default"),
        (
            "an allowed tool skips level",
            me(json!({"level": "read", "allowedTools": ["add_note"]})),
            call("add_note"),
            Allow,
            "allowed-tool",
        ),
        (
            "… and area",
            me(json!({"areas": ["file_read"], "allowedTools": ["group:notes"]})),
            call("add_note"),
            Allow,
            "allowed-tool",
        ),
        ("… and only itself", me(json!({"level": "read", "allowedTools": ["notes"]})), call("add_note"), Deny, "level"),
        ("… needs no skipping", me(json!({"allowedTools": ["notes"]})), call("notes"), Allow, "default"),
        (
            "… never paths",
            me(json!({"level": "read", "allowedTools": ["write_file"], "allowedPaths": ["/tmp"]})),
            call("write_file").args(json!({"path": "/etc/x"})),
            Deny,
            "path",
        ),
        (
            "… never hosts",
            me(json!({"allowedTools": ["*"], "allowedHosts": ["a.org"]})),
            call("fetch_web_page").args(json!({"url": "https://b.org"})),
            Deny,
            "host",
        ),
        ("no level, yet the meta-tools", me(json!({"level": "none", "areas": []})), call("use_tool"), Allow, "meta"),
    ];
    for (row, policy, call, verdict, rule) in rows {
        check(row, policy, &call, verdict, rule);
    }
    for name in names().into_iter().filter(|name| tool(name).meta) {
        let nothing = json!({"profile": "minimal", "allow": [], "autonomy": "none", "ask": ["*"], "users": {"ME": {"level": "none"}}});
        check(name, nothing, &call(name).only(&[]).tainted(), Allow, "meta");
        // Only built-in tools.
        let mut other = call(name);
        other.tool.owner = Owner::Person(ME);
        check(name, json!({"allow": []}), &other, Deny, "allow");
    }
    let mut old = Policy { deny: vec!["later".into()], ..Policy::default() };
    let mut call = call("add_note");
    call.tool.aliases = tool("notes").aliases;
    call.tool.aliases[0].name = "later".into();
    assert_eq!(call.under(&old).0.rule, "denied", "an alias that came after the rules were compiled");
    old.deny = vec!["group:later".into()];
    call.tool.group = "later".into();
    assert_eq!(call.under(&old).0.rule, "denied", "a group likewise");
}

#[test]
fn the_pipeline() {
    let general = |agent: Value| json!({"agents": {"general": agent}});
    let rows: Vec<(&str, Value, Call, Verdict, &str)> = vec![
        ("1 full", json!({"profile": "full"}), call("add_note"), Allow, "default"),
        ("1 coding has files", json!({"profile": "coding"}), call("read_file"), Allow, "default"),
        ("1 … both memories", json!({"profile": "coding"}), call("memory_search"), Allow, "default"),
        ("1 … and remembering", json!({"profile": "coding"}), call("remember"), Allow, "default"),
        ("1 … no mail", json!({"profile": "coding"}), call("send_mail"), Deny, "profile"),
        ("1 messaging has the web", json!({"profile": "messaging"}), call("search_web"), Allow, "default"),
        ("1 … no files", json!({"profile": "messaging"}), call("read_file"), Deny, "profile"),
        ("1 minimal", json!({"profile": "minimal"}), call("session_status"), Allow, "default"),
        ("1 … no more", json!({"profile": "minimal"}), call("sessions_list"), Deny, "profile"),
        ("1 … a person by hand", json!({"profile": "minimal"}), call("add_note").direct(), Allow, "default"),
        (
            "1 an agent's in its place, wider",
            json!({"profile": "minimal", "agents": {"general": {"profile": "full"}}}),
            call("add_note"),
            Allow,
            "default",
        ),
        (
            "1 … and narrower",
            json!({"profile": "full", "agents": {"general": {"profile": "coding"}}}),
            call("add_note"),
            Deny,
            "profile",
        ),
        (
            "1 another agent's is none of it",
            json!({"agents": {"01010101-0101-0101-0101-010101010101": {"profile": "minimal", "deny": ["*"]}}}),
            call("add_note"),
            Allow,
            "default",
        ),
        ("2", json!({"byProvider": {"openai": {"profile": "minimal"}}}), call("add_note"), Deny, "provider-profile"),
        ("2 another's", json!({"byProvider": {"other": {"profile": "minimal"}}}), call("add_note"), Allow, "default"),
        ("3", json!({"allow": ["group:fs"]}), call("add_note"), Deny, "allow"),
        ("3 on it by its alias", json!({"allow": ["notes"]}), call("list_notes"), Allow, "default"),
        ("3 on it by its group", json!({"allow": ["group:notes"]}), call("list_notes"), Allow, "default"),
        ("3 all", json!({"allow": ["*"]}), call("list_notes"), Allow, "default"),
        ("3 empty", json!({"allow": []}), call("list_notes"), Deny, "allow"),
        ("3 a person by hand", json!({"allow": []}), call("list_notes").direct(), Allow, "default"),
        ("4", json!({"byProvider": {"openai": {"allow": ["add_note"]}}}), call("notes"), Deny, "provider-allow"),
        ("4 on it", json!({"byProvider": {"openai": {"allow": ["notes"]}}}), call("notes"), Allow, "default"),
        ("5", general(json!({"allow": ["add_note"]})), call("notes"), Deny, "agent-allow"),
        ("5 on it", general(json!({"allow": ["notes"]})), call("notes"), Allow, "default"),
        (
            "6",
            general(json!({"byProvider": {"openai": {"allow": ["add_note"]}}})),
            call("notes"),
            Deny,
            "agent-provider-allow",
        ),
        ("6 on it", general(json!({"byProvider": {"openai": {"allow": ["notes"]}}})), call("notes"), Allow, "default"),
        ("7", json!({"chats": {"c": {"allow": ["add_note"]}}}), call("notes").chat("c"), Deny, "chat-allow"),
        ("7 on it", json!({"chats": {"c": {"allow": ["notes"]}}}), call("notes").chat("c"), Allow, "default"),
        ("7 elsewhere", json!({"chats": {"c": {"allow": []}}}), call("notes").chat("d"), Allow, "default"),
        ("all narrow", json!({"profile": "coding", "allow": ["notes", "read_file"]}), call("notes"), Deny, "profile"),
        (
            "… together",
            json!({"profile": "coding", "allow": ["notes", "read_file"]}),
            call("read_file"),
            Allow,
            "default",
        ),
        ("also", json!({"allow": [], "alsoAllow": ["notes"]}), call("list_notes"), Allow, "also-allow"),
        ("also needs no help", json!({"alsoAllow": ["notes"]}), call("list_notes"), Allow, "default"),
        (
            "the agent's also",
            json!({"profile": "minimal", "agents": {"general": {"alsoAllow": ["group:notes"]}}}),
            call("list_notes"),
            Allow,
            "also-allow",
        ),
        ("a request's own", json!({}), call("notes").only(&["group:fs", "add_note"]), Deny, "request-allow"),
        ("… by alias", json!({}), call("list_notes").only(&["notes"]), Allow, "default"),
        ("… by group", json!({}), call("memory_search").only(&["group:memory"]), Allow, "default"),
        ("… all", json!({}), call("list_notes").only(&["group:all"]), Allow, "default"),
        ("… comes last", json!({"alsoAllow": ["notes"]}), call("notes").only(&[]), Deny, "request-allow"),
        ("… meta-tools go", json!({}), call("search_tools").only(&[]), Allow, "meta"),
    ];
    for (row, policy, call, verdict, rule) in rows {
        check(row, policy, &call, verdict, rule);
    }
}

#[test]
fn paths() {
    let rows: &[(&str, Value, Option<&[&str]>, bool)] = &[
        ("read_file", json!({"path": "../x"}), None, false),
        ("read_file", json!({"path": "a/../../x"}), None, false),
        ("read_file", json!({"path": "a/../x"}), None, true),
        ("read_file", json!({"path": "/etc/passwd"}), None, true),
        ("read_file", json!({}), None, true),
        ("read_file", json!({"path": "/tmp/a"}), Some(&["/tmp/a"]), true),
        ("read_file", json!({"path": "/tmp/a/b"}), Some(&["/tmp/a/"]), true),
        ("read_file", json!({"path": "/tmp/ab"}), Some(&["/tmp/a"]), false),
        ("read_file", json!({"path": "/tmp"}), Some(&["/tmp/a"]), false),
        ("read_file", json!({"path": "/tmp/a/../b"}), Some(&["/tmp/a"]), false),
        ("read_file", json!({"path": "//tmp//./a/x"}), Some(&["/tmp/a"]), true),
        ("read_file", json!({"path": "/../tmp/a"}), Some(&["/tmp/a"]), true),
        ("read_file", json!({"path": "tmp/a"}), Some(&["/tmp/a"]), false),
        ("read_file", json!({"path": "/notes/a"}), Some(&["notes"]), false),
        ("read_file", json!({"path": "notes/a"}), Some(&["notes"]), true),
        ("read_file", json!({"path": "./notes/a"}), Some(&["notes"]), true),
        ("read_file", json!({"path": "anything/a"}), Some(&["."]), true),
        ("read_file", json!({"path": "~/x"}), Some(&["."]), false),
        ("read_file", json!({"path": " /tmp/a"}), Some(&["/tmp"]), false),
        ("read_file", json!({"path": "file:///etc/passwd"}), Some(&["."]), false),
        ("read_file", json!({"path": "file:///tmp/a"}), Some(&["/tmp"]), true),
        ("read_file", json!({"path": "FILE:/etc/passwd"}), Some(&["."]), false),
        ("read_file", json!({"path": "file://host/a"}), Some(&["."]), false),
        ("read_file", json!({"path": "http:/../secret"}), Some(&["notes"]), false),
        ("read_file", json!({"path": ""}), Some(&["/tmp"]), false),
        ("read_file", json!({}), Some(&["/tmp"]), false),
        ("read_file", json!({}), Some(&["."]), true),
        ("read_file", json!({"path": "x"}), Some(&[]), false),
        ("write_file", json!({"path": "a", "content": "/etc/passwd ../.."}), Some(&["."]), true),
        ("write_file", json!({"files": [{"path": "a/b", "content": "x"}, {"path": "/etc/x"}]}), Some(&["a"]), false),
        ("write_file", json!({"paths": ["a/b", "c"]}), Some(&["a"]), false),
        ("write_file", json!({"source": "a/b", "destination": "c/d"}), Some(&["a"]), false),
        ("write_file", json!({"outputPath": "c"}), Some(&["a"]), false),
        ("write_file", json!({"output_path": "c"}), Some(&["a"]), false),
        ("write_file", json!({"path": "a/x", "profile": "fast"}), Some(&["a"]), true),
        ("write_file", json!({"url": "https://example.org/x", "path": "a/x"}), Some(&["a"]), true),
        ("write_file", json!({"source": "https://example.org/x", "path": "a/x"}), Some(&["a"]), true),
        ("delete_file", json!({"path": "b"}), Some(&["a"]), false),
        ("delete_file", json!({"id": "7"}), Some(&["a"]), true),
        ("add_note", json!({"path": "/etc/passwd"}), Some(&["a"]), true),
        ("execute_python", json!({"code": "print(1)"}), Some(&["a"]), false),
        ("execute_python", json!({"code": "print(1)", "workingDir": "a"}), Some(&["a"]), false),
        ("execute_python", json!({"code": "print(1)"}), Some(&["."]), true),
        ("execute_python", json!({"code": "print(1)"}), None, true),
    ];
    for (name, args, allowed, fits) in rows {
        let mut user = json!({});
        if let Some(allowed) = allowed {
            user["allowedPaths"] = json!(allowed);
        }
        let (verdict, rule) = if *fits { (Allow, "default") } else { (Deny, "path") };
        let call = call(name).direct().args(args.clone());
        check(&format!("{args} {allowed:?}"), json!({"users": {"ME": user}}), &call, verdict, rule);
    }
}

#[test]
fn hosts_that_a_tool_reaches_while_it_runs() {
    let own = json!({"allowedHosts": ["Example.org", "*.example.net", "::1"], "allowedTools": ["*"]});
    let principal = |user| Principal { user, ..Principal::owner() };
    let rules = |user: Value| Rules::compile(&policy(json!({"users": {"ME": user}})), &[], &Catalogue).0;
    for (host, reached) in [
        ("example.org", true),
        ("example.org.", true),
        ("a.example.net", true),
        ("[::1]", true),
        ("example.net", false),
        ("notexample.org", false),
        ("", false),
    ] {
        let denied = rules(own.clone()).host_denied(&principal(ME), host);
        assert_eq!(denied.is_none(), reached, "{host}: {denied:?}");
        assert_eq!(rules(own.clone()).host_denied(&principal(OTHER), host), None, "others have no list");
        assert_eq!(rules(json!({"level": "read"})).host_denied(&principal(ME), host), None, "no list, no limit");
        assert!(rules(json!({"allowedHosts": []})).host_denied(&principal(ME), host).is_some(), "an empty one is one");
    }
}

#[test]
fn hosts() {
    let rows: &[(&str, Value, &[&str], bool)] = &[
        ("fetch_web_page", json!({"url": "https://example.org/a?b"}), &["example.org"], true),
        ("fetch_web_page", json!({"url": "HTTPS://Example.ORG:8443"}), &["EXAMPLE.org"], true),
        ("fetch_web_page", json!({"url": "https://example.org./"}), &["example.org"], true),
        ("fetch_web_page", json!({"url": "https://www.example.org"}), &["example.org"], false),
        ("fetch_web_page", json!({"url": "https://www.example.org"}), &["*.example.org"], true),
        ("fetch_web_page", json!({"url": "https://a.b.example.org"}), &["*.example.org"], true),
        ("fetch_web_page", json!({"url": "https://example.org"}), &["*.example.org"], false),
        ("fetch_web_page", json!({"url": "https://badexample.org"}), &["*.example.org"], false),
        ("fetch_web_page", json!({"url": "https://example.org.evil.net"}), &["example.org", "*.example.org"], false),
        ("fetch_web_page", json!({"url": "https://good.org@evil.org"}), &["good.org"], false),
        ("fetch_web_page", json!({"url": "https://good.org\\@evil.org"}), &["evil.org"], false),
        ("fetch_web_page", json!({"url": "https:\\\\evil.org"}), &["good.org"], false),
        ("fetch_web_page", json!({"url": "https:evil.org"}), &["good.org"], false),
        ("fetch_web_page", json!({"url": "ht\ttps://evil.org"}), &["good.org"], false),
        ("fetch_web_page", json!({"url": "http://[::1]:80/"}), &["::1"], true),
        ("fetch_web_page", json!({"url": "http://[0:0::1]/"}), &["[::1]"], true),
        ("fetch_web_page", json!({"url": "http://[::2]/"}), &["::1"], false),
        ("fetch_web_page", json!({"url": "http://[::ffff:1.2.3.4]/"}), &["::ffff:1.2.3.4"], true),
        ("fetch_web_page", json!({"url": "http://0x7f.1/"}), &["127.0.0.1"], true),
        ("fetch_web_page", json!({"url": "http://0x7f.1/"}), &["example.org"], false),
        ("fetch_web_page", json!({"url": "https://"}), &["example.org"], false),
        ("fetch_web_page", json!({"url": "https://exa mple.org"}), &["example.org"], false),
        ("fetch_web_page", json!({"url": ""}), &["example.org"], false),
        ("fetch_web_page", json!({"url": "https://anything.net"}), &["*"], true),
        ("fetch_web_page", json!({"url": "https://example.org"}), &[], false),
        ("fetch_web_page", json!({"url": "example.org/a"}), &["example.org"], true),
        ("fetch_web_page", json!({"urls": ["https://example.org", "https://evil.org"]}), &["example.org"], false),
        ("fetch_web_page", json!({"baseUrl": "https://evil.org"}), &["example.org"], false),
        ("fetch_web_page", json!({"base_url": "https://example.org", "endpoint": "/v1"}), &["example.org"], true),
        ("fetch_web_page", json!({"endpoint": "//evil.org/v1"}), &["example.org"], false),
        ("fetch_web_page", json!({"endpoint": "/\\evil.org/v1"}), &["example.org"], false),
        ("fetch_web_page", json!({"endpoint": "/\t/evil.org/v1"}), &["example.org"], false),
        ("fetch_web_page", json!({"host": "localhost:1883"}), &["localhost"], true),
        ("fetch_web_page", json!({"host": "nas.local"}), &["localhost"], false),
        ("fetch_web_page", json!({"request": {"url": "https://evil.org"}}), &["example.org"], false),
        ("fetch_web_page", json!({"page": "https://evil.org"}), &["example.org"], false),
        ("search_web", json!({"query": "evil.org"}), &["example.org"], true),
        ("send_mail", json!({"server": "evil.org", "body": "hello"}), &["example.org"], false),
        ("write_file", json!({"path": "a", "url": "https://evil.org/x"}), &["example.org"], false),
        ("write_file", json!({"path": "a", "source": "https://evil.org/x"}), &["example.org"], false),
        ("write_file", json!({"path": "a", "url": "https://example.org/x"}), &["example.org"], true),
        ("add_note", json!({"url": "https://evil.org"}), &["example.org"], true),
    ];
    for (name, args, allowed, fits) in rows {
        let (verdict, rule) = if *fits { (Allow, "default") } else { (Deny, "host") };
        let policy = json!({"users": {"ME": {"allowedHosts": allowed}}});
        let call = call(name).direct().args(args.clone());
        check(&format!("{args} {allowed:?}"), policy, &call, verdict, rule);
        // Without a list every host is reachable.
        check("no list", json!({}), &call, Allow, "default");
    }
}

#[test]
fn the_document() {
    let full = policy(json!({
        "autonomy": "low", "profile": "coding", "allow": ["*"], "deny": ["group:fs"], "alsoAllow": ["x"], "ask": ["y"],
        "byProvider": {"openai": {"profile": "minimal", "allow": []}},
        "agents": {"general": {"profile": "full", "allow": [], "deny": [], "alsoAllow": [], "autonomy": "none",
            "byProvider": {"openai": {"allow": []}}}},
        "chats": {"c": {"allow": []}}, "subagents": {"deny": ["z"]},
        "users": {"ME": {"preset": "readonly", "level": "read", "areas": ["memory"], "allowedTools": [],
            "deniedTools": [], "allowedPaths": ["."], "allowedHosts": ["*"], "ask": [], "autonomy": "high"}},
    }));
    assert_eq!(full.check(), Ok(()));
    let again: Policy = serde_json::from_value(serde_json::to_value(&full).unwrap()).unwrap();
    assert_eq!(again, full);
    assert_eq!(policy(json!({})), Policy::default());
    assert_eq!(Policy::default().check(), Ok(()));
    for unknown in [
        json!({"denny": []}),
        json!({"profile": "other"}),
        json!({"autonomy": "some"}),
        json!({"users": {"me": {}}}),
        json!({"users": {"01010101-0101-0101-0101-010101010101": {"levle": "read"}}}),
        json!({"agents": {"general": {"autonomi": "low"}}}),
        json!({"chats": {"c": {"deny": []}}}),
    ] {
        assert!(serde_json::from_value::<Policy>(unknown.clone()).is_err(), "{unknown}");
    }
    for (wrong, place) in [
        (json!({"deny": [""]}), "deny"),
        (json!({"deny": ["group:"]}), "deny"),
        (json!({"allow": ["a b"]}), "allow"),
        (json!({"alsoAllow": ["mail*"]}), "alsoAllow"),
        (json!({"ask": ["a,b"]}), "ask"),
        (json!({"subagents": {"deny": [" "]}}), "subagents.deny"),
        (json!({"byProvider": {"p": {"allow": [""]}}}), "byProvider.p.allow"),
        (json!({"chats": {"c": {"allow": [""]}}}), "chats.c.allow"),
        (json!({"agents": {"someone": {}}}), "agents"),
        (json!({"agents": {"general": {}, AgentId::GENERAL.0.to_string(): {}}}), "agents"),
        (json!({"agents": {"general": {"deny": [""]}}}), "agents.general.deny"),
        (json!({"agents": {"general": {"byProvider": {"p": {"allow": [""]}}}}}), "agents.general.byProvider.p.allow"),
        (json!({"users": {"ME": {"allowedPaths": ["../x"]}}}), "allowedPaths"),
        (json!({"users": {"ME": {"allowedPaths": ["~/x"]}}}), "allowedPaths"),
        (json!({"users": {"ME": {"allowedHosts": ["a b"]}}}), "allowedHosts"),
        (json!({"users": {"ME": {"allowedHosts": ["a.*.org"]}}}), "allowedHosts"),
        (json!({"users": {"ME": {"allowedHosts": [""]}}}), "allowedHosts"),
        (json!({"users": {"ME": {"deniedTools": [""]}}}), "deniedTools"),
    ] {
        let said = policy(wrong.clone()).check().unwrap_err();
        assert!(said.contains(place), "{wrong}: {said}");
    }
}

#[test]
fn what_nobody_knows_is_warned_about() {
    let odd = policy(json!({
        "deny": ["cron", "later", "group:fs", "group:later"], "subagents": {"deny": ["gone"]}, "agents": {"x": {}},
        "users": {"ME": {"deniedTools": ["none"], "allowedHosts": ["a b"]}},
    }));
    let (_, warnings) = Rules::compile(&odd, &[], &Catalogue);
    let about: Vec<bool> = ["`later`", "group `later`", "`gone`", "\"x\"", "\"a b\"", "`none`"]
        .iter()
        .map(|word| warnings.iter().any(|w| w.contains(word)))
        .collect();
    assert_eq!((warnings.len(), about), (6, vec![true; 6]), "{warnings:?}");
    // Unknown names in built-in lists are not reported.
    let profiles = policy(json!({"profile": "coding", "byProvider": {"p": {"profile": "messaging"}}}));
    assert_eq!(Rules::compile(&profiles, &[], &Catalogue).1, Vec::<String>::new());
}

#[test]
fn the_default_rules_need_no_catalogue() {
    let rules = Rules::default();
    assert_eq!(call("send_mail").by(&rules).0.rule, "autonomy");
    assert_eq!(call("cron").sub(Subagent::Branch).by(&rules).0.rule, "denied-subagent");
    assert_eq!(call("add_note").only(&["group:notes"]).by(&rules).0.rule, "default");
    assert_eq!(rules.autonomy(ME, AgentId::GENERAL), Autonomy::Medium);
}

/// `decide` over 300 rules stays far below what anybody could notice, in any build.
#[test]
fn many_rules_cost_little() {
    let many = |n: usize| (0..n).map(|i| format!("tool_{i}")).collect::<Vec<_>>();
    let mut policy = Policy { deny: many(100), ask: many(100), also_allow: many(50), ..Policy::default() };
    policy.allow = Some([many(49), vec!["add_note".into()]].concat());
    let rules = Rules::compile(&policy, &[], &Catalogue).0;
    let call = call("add_note").args(json!({"text": "hello"}));
    let principal = Principal { user: ME, ..call.principal.clone() };
    let asked = DecisionRequest {
        principal: &principal,
        via: &call.via,
        maker: &call.maker,
        in_run: true,
        bounds: &call.bounds,
        label: Label::Own,
        authors: &[],
        additive: false,
        opens: false,
        destroys: false,
        inside: false,
        knows: &|_| false,
        consented: false,
    };
    let begun = std::time::Instant::now();
    for _ in 0..10_000 {
        assert_eq!(std::hint::black_box(decide(&rules, &asked, &call.tool, &call.args)).rule, "default");
    }
    let each = begun.elapsed() / 10_000;
    println!("decide over 300 rules: {each:?}");
    assert!(each < std::time::Duration::from_micros(100), "{each:?}");
}
