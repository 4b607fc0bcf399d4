//! Table tests of every ask rule: taint, URLs, custom tools, confirmation, lists, autonomy, grants and approvals.

use crate::{samples::*, *};
use Verdict::*;
use serde_json::{Value, json};
use tool::{AgentId, Owner, Risk, Role, UserId};

/// One plain tool of each risk.
const BY_RISK: [(&str, Risk); 7] = [
    ("list_notes", Risk::Observe),
    ("add_note", Risk::Write),
    ("gpio_write", Risk::Actuate),
    ("send_mail", Risk::Send),
    ("execute_python", Risk::Execute),
    ("delete_file", Risk::Destroy),
    ("set_clock", Risk::Admin),
];

#[test]
fn autonomy_and_risk() {
    // Observe, Write, Actuate, Send, Execute, Destroy, Admin.
    for (autonomy, asks) in [
        (Autonomy::None, [true; 7]),
        (Autonomy::Low, [false, true, true, true, true, true, true]),
        (Autonomy::Medium, [false, false, false, true, false, true, true]),
        (Autonomy::High, [false, false, false, false, false, true, true]),
        (Autonomy::Full, [false; 7]),
    ] {
        for ((name, risk), asks) in BY_RISK.into_iter().zip(asks) {
            assert_eq!((tool(name).risk, autonomy.asks(risk)), (risk, asks));
            let (verdict, rule) = if asks { (Ask, "autonomy") } else { (Allow, "default") };
            let row = format!("{autonomy:?} {name}");
            let policy = json!({"users": {"ME": {"autonomy": autonomy}}});
            check(&row, policy.clone(), &call(name), verdict, rule);
            check(&row, json!({"autonomy": autonomy}), &call(name), verdict, rule);
            // No approval for literal commands, manual calls and the person's own tools.
            check(&row, policy.clone(), &call(name).by_word(), Allow, "default");
            check(&row, policy.clone(), &call(name).direct(), Allow, "default");
            check(&row, policy.clone(), &call(name).direct().maker(Owner::Person(ME)), Allow, "default");
            // Approval for tools written by a model or by another person.
            check(&row, policy.clone(), &call(name).direct().maker(Owner::Person(OTHER)), verdict, rule);
            check(&row, policy, &call(name).direct().maker(Owner::Model(ME)), verdict, rule);
        }
        assert_eq!(serde_json::to_value(autonomy).unwrap(), autonomy.name());
        assert!(autonomy.about().ends_with('.'));
    }
    assert!(Autonomy::ALL.is_sorted() && Autonomy::ALL.len() == 5);
    check("meta", json!({"autonomy": "none"}), &call("use_tool"), Allow, "meta");
}

#[test]
fn a_call_that_destroys_is_judged_as_one() {
    let write = || call("add_note");
    check("as it is", json!({}), &write(), Allow, "default");
    check("destroys", json!({}), &write().destroying(), Ask, "autonomy");
    check("by hand", json!({}), &write().destroying().direct(), Allow, "default");
    check("tainted", json!({"autonomy": "full"}), &write().destroying().tainted(), Ask, "tainted");
    check("full", json!({"autonomy": "full"}), &write().destroying(), Allow, "default");
}

#[test]
fn whose_autonomy() {
    let general = AgentId::GENERAL;
    for (household, own, agent, expected) in [
        (None, None, None, Autonomy::Medium),
        (Some("low"), None, None, Autonomy::Low),
        (Some("low"), Some("full"), None, Autonomy::Full),
        (Some("full"), Some("none"), None, Autonomy::None),
        (None, Some("high"), Some("low"), Autonomy::Low),
        (None, Some("low"), Some("full"), Autonomy::Low),
        (Some("high"), None, Some("full"), Autonomy::High),
        (None, None, Some("none"), Autonomy::None),
    ] {
        let doc = json!({"autonomy": household, "users": {"ME": {"autonomy": own}}, "agents": {"general": {"autonomy": agent}}});
        let rules = Rules::compile(&policy(doc), &[], &Catalogue).0;
        assert_eq!(rules.autonomy(ME, general), expected, "{household:?} {own:?} {agent:?}");
    }
}

#[test]
fn taint_and_risk() {
    for (name, risk) in BY_RISK {
        let asks = matches!(risk, Risk::Actuate | Risk::Send | Risk::Destroy | Risk::Admin);
        let (verdict, rule) = if asks { (Ask, "tainted") } else { (Allow, "default") };
        let full = || json!({"autonomy": "full"});
        check(name, full(), &call(name).tainted(), verdict, rule);
        check(name, full(), &call(name).tainted().by_word(), verdict, rule);
        check(name, full(), &call(name).tainted().direct(), verdict, rule);
        check(name, full(), &call(name).tainted().direct().maker(Owner::Person(ME)), verdict, rule);
    }
    check("stores instructions", json!({}), &call("cron").tainted(), Ask, "tainted");
    check("… untainted", json!({}), &call("cron"), Allow, "default");
    check("changes what is there", json!({}), &call("update_note").tainted(), Ask, "tainted");
    check("… by hand", json!({}), &call("update_note").direct(), Allow, "default");
    // Code that says for which calls it changes no file asks for all others.
    for (changes, verdict, rule) in [(true, Ask, "tainted"), (false, Allow, "default")] {
        let mut code = call("execute_python");
        code.tool.additive = Some(std::sync::Arc::new(move |_, _| !changes));
        code.additive = !changes;
        check("code that says so", json!({}), &code, Allow, "default");
        check("code that says so, tainted", json!({}), &code.tainted(), verdict, rule);
    }
    // Ordinary use needs no approval: search, read a page that the search returned, note it.
    let page = "https://example.org/a";
    check("search", json!({}), &call("search_web").tainted().args(json!({"query": "weather"})), Allow, "default");
    let read = call("fetch_web_page").tainted().knows(page).args(json!({"url": page}));
    check("read", json!({}), &read, Allow, "default");
    check("note", json!({}), &call("add_note").tainted().args(json!({"text": page})), Allow, "default");
}

/// Words of another member of the household taint for what that member may not do, and only where a model follows them.
#[test]
fn words_of_a_member() {
    let full = || json!({"autonomy": "full"});
    let after = |name: &str, role| call(name).after_words_of(MIA, role);
    for (name, risk) in BY_RISK {
        let asks = matches!(risk, Risk::Send | Risk::Destroy | Risk::Admin);
        let (verdict, rule) = if asks { (Ask, "members-words") } else { (Allow, "default") };
        check(name, full(), &after(name, Role::Member), verdict, rule);
        check(name, full(), &after(name, Role::Admin), Allow, "default");
        check(name, full(), &after(name, Role::Member).by_word(), Allow, "default");
        check(name, full(), &after(name, Role::Member).direct(), Allow, "default");
        let asks = risk != Risk::Observe;
        let (verdict, rule) = if asks { (Ask, "members-words") } else { (Allow, "default") };
        check(name, full(), &after(name, Role::Viewer), verdict, rule);
        check(name, full(), &after(name, Role::Viewer).direct(), Allow, "default");
    }
    // A child may write and not switch; whoever it was may have been the child.
    let child = json!({"autonomy": "full", "users": {MIA.to_string(): {"level": "write"}}});
    let pin = |author| call("gpio_write").after_words_of(author, Role::Member);
    check("a child's words", child.clone(), &pin(MIA), Ask, "members-words");
    check("somebody's words", child.clone(), &pin(UserId::SOMEBODY), Ask, "members-words");
    check("somebody else's words", child.clone(), &pin(UserId::OWNER), Allow, "default");
    check("a note", child, &call("update_note").after_words_of(MIA, Role::Member), Ask, "members-words");
    // Instructions that stay would be followed with the reader's rights.
    check("an admin's schedule", full(), &after("cron", Role::Member), Ask, "members-words");
    check("an equal's schedule", full(), &after("cron", Role::Member).role(Role::Member), Ask, "members-words");
    // Both at once are as bad as the worse.
    check("with a page", full(), &pin(MIA).tainted(), Ask, "tainted");
}

#[test]
fn addresses_nobody_gave() {
    let known = ["https://known.org/a", "http://plain.org"];
    let rows: &[(&str, Value, bool)] = &[
        ("fetch_web_page", json!({"url": "https://known.org/a"}), false),
        ("fetch_web_page", json!({"url": "https://known.org/a?leak=1"}), true),
        ("fetch_web_page", json!({"urls": ["https://known.org/a", "https://evil.org"]}), true),
        ("fetch_web_page", json!({"url": "plain.org"}), false),
        ("fetch_web_page", json!({"url": "evil.org"}), true),
        ("fetch_web_page", json!({"baseUrl": "https://known.org/a", "endpoint": "/leak"}), true),
        ("fetch_web_page", json!({"url": "https://known.org/a", "params": {"leak": "1"}}), true),
        ("fetch_web_page", json!({"url": "https://known.org/a", "query": {"leak": "1"}}), true),
        ("fetch_web_page", json!({"url": "https://known.org/a", "params": {}}), false),
        ("fetch_web_page", json!({"url": "https://known.org/a", "query": "which price"}), false),
        ("fetch_web_page", json!({"request": {"what": "see (HTTPS://evil.org/x)."}}), true),
        ("fetch_web_page", json!({"what": "see (https://known.org/a)."}), false),
        ("search_web", json!({"query": "evil.org"}), false),
        ("add_note", json!({"url": "https://evil.org"}), false),
    ];
    for (name, args, asks) in rows {
        let mut call = call(name).args(args.clone());
        call.known = known.iter().map(|k| (*k).to_owned()).collect();
        check("untainted", json!({}), &call, Allow, "default");
        let (verdict, rule) = if *asks { (Ask, "composed-url") } else { (Allow, "default") };
        check(&args.to_string(), json!({}), &call.tainted(), verdict, rule);
    }
}

#[test]
fn custom_tools_and_confirmation() {
    let full = || json!({"autonomy": "full"});
    let person = || Owner::Person(OTHER);
    let rows: Vec<(&str, Call, Verdict, &str)> = vec![
        ("a marked one by a model", call("persons_marked"), Ask, "marked-by-person"),
        ("… by the person's word", call("persons_marked").by_word(), Ask, "marked-by-person"),
        ("… by hand", call("persons_marked").direct(), Allow, "default"),
        ("… by a tool", call("persons_marked").direct().maker(person()), Ask, "marked-by-person"),
        ("… by a schedule", call("persons_marked").direct().machine(), Ask, "marked-by-person"),
        ("one's own", call("mine"), Allow, "default"),
        ("… by a schedule", call("mine").direct().machine(), Allow, "default"),
        ("… by a tool", call("mine").direct().maker(person()), Allow, "default"),
        ("somebody else's", call("persons"), Ask, "somebody-elses"),
        ("… by the person's word", call("persons").by_word(), Allow, "default"),
        ("… by hand", call("persons").direct(), Allow, "default"),
        ("… by a tool", call("persons").direct().maker(person()), Ask, "somebody-elses"),
        ("… by a schedule", call("persons").direct().machine(), Ask, "somebody-elses"),
        ("a model's by a model", call("models"), Ask, "model-made"),
        ("… by the person's word", call("models").by_word(), Allow, "default"),
        ("… by hand", call("models").direct(), Allow, "default"),
        ("… by a schedule", call("models").direct().machine(), Ask, "model-made"),
        ("… by word from a schedule", call("models").by_word().machine(), Ask, "model-made"),
        ("… by a tool", call("models").direct().maker(person()), Ask, "model-made"),
        ("Hob's own marked, by a model", call("wipe"), Ask, "confirmation"),
        ("… by the person's word", call("wipe").by_word(), Allow, "default"),
        ("… by hand", call("wipe").direct(), Allow, "default"),
        ("… by a tool", call("wipe").direct().maker(person()), Ask, "confirmation"),
        ("… by a tool, said by word", call("wipe").by_word().maker(person()), Ask, "confirmation"),
        ("what instructs, by a tool", call("create_scheduled_task").direct().maker(person()), Ask, "confirmation"),
        ("… by a model", call("create_scheduled_task"), Allow, "default"),
        ("a plugin's marked, by a model", call("plugins_marked"), Ask, "confirmation"),
        ("… by hand", call("plugins_marked").direct(), Allow, "default"),
    ];
    for (row, call, verdict, rule) in rows {
        check(row, full(), &call, verdict, rule);
        if verdict == Ask {
            check(row, full(), &call.clone().consented(), Allow, "approved");
        }
    }
}

#[test]
fn the_ask_list() {
    for policy in [json!({"ask": ["notes"]}), json!({"users": {"ME": {"ask": ["group:notes"]}}}), json!({"ask": ["*"]})]
    {
        check("by a model", policy.clone(), &call("list_notes"), Ask, "ask-list");
        check("by word", policy.clone(), &call("list_notes").by_word(), Ask, "ask-list");
        check("by a tool", policy.clone(), &call("list_notes").direct().maker(Owner::Person(ME)), Ask, "ask-list");
        check("by hand", policy.clone(), &call("list_notes").direct(), Allow, "default");
        check("meta", policy.clone(), &call("use_tool"), Allow, "meta");
        check("consented", policy, &call("list_notes").consented(), Allow, "approved");
    }
    check("another's", json!({"ask": ["add_note"]}), &call("list_notes"), Allow, "default");
}

#[test]
fn what_opens_is_asked_about_unless_done_by_hand() {
    let free = || json!({"autonomy": "full"});
    check("by a model", free(), &call("unlock"), Ask, "opens");
    check("by word", free(), &call("unlock").by_word(), Ask, "opens");
    check("by a tool", free(), &call("unlock").direct().maker(Owner::Person(ME)), Ask, "opens");
    let mut later = call("unlock").direct();
    later.via = tool::Via::direct(tool::Channel::Machine);
    check("by a schedule", free(), &later, Ask, "opens");
    check("by hand", free(), &call("unlock").direct(), Allow, "default");
    check("approved", free(), &call("unlock").consented(), Allow, "approved");
    check("something that opens nothing", free(), &call("light_set"), Allow, "default");
}

#[test]
fn which_ask_is_named() {
    // Each row lacks the condition that the previous row was named for.
    let all = json!({"ask": ["*"], "autonomy": "none"});
    let mut marked = call("send_mail").tainted().args(json!({"url": "https://evil.org"}));
    marked.tool.requires_confirmation = true;
    marked.tool.owner = Owner::Person(ME);
    check("tainted", all.clone(), &marked, Ask, "tainted");
    marked.tool.risk = Risk::Write;
    marked.additive = true;
    check("composed-url", all.clone(), &marked, Ask, "composed-url");
    marked.args = json!({});
    check("marked-by-person", all.clone(), &marked, Ask, "marked-by-person");
    marked.tool.owner = Owner::Model(ME);
    check("model-made", all.clone(), &marked, Ask, "model-made");
    marked.tool.owner = Owner::Core;
    marked.opens = true;
    check("opens", all.clone(), &marked, Ask, "opens");
    marked.opens = false;
    check("confirmation", all.clone(), &marked, Ask, "confirmation");
    marked.tool.requires_confirmation = false;
    check("ask-list", all, &marked, Ask, "ask-list");
    check("autonomy", json!({"autonomy": "none"}), &marked, Ask, "autonomy");
}

#[test]
fn grants() {
    let args = json!({"to": "ann", "text": "hi"});
    let mail = || call("send_mail").args(args.clone());
    let some = json!({"to": "ann", "text": "*"});
    let rows: Vec<(&str, Call, Verdict, &str)> = vec![
        ("none", mail(), Ask, "autonomy"),
        ("any", mail().granted(3, json!("*")), Allow, "grant"),
        ("a pattern", mail().granted(3, some.clone()), Allow, "grant"),
        ("one of several", mail().granted(3, json!({})).granted(3, some.clone()), Allow, "grant"),
        ("exactly", mail().granted(3, args.clone()), Allow, "grant"),
        ("another pattern", mail().granted(3, json!({"to": "bob", "text": "*"})), Ask, "autonomy"),
        ("an older version", mail().granted(2, some.clone()), Ask, "autonomy"),
        ("another's", mail().granted_to(OTHER, 3, some.clone()), Ask, "autonomy"),
        ("tainted, a pattern", mail().tainted().granted(3, some.clone()), Ask, "tainted"),
        ("tainted, any", mail().tainted().granted(3, json!("*")), Ask, "tainted"),
        ("tainted, exactly", mail().tainted().granted(3, args.clone()), Allow, "grant"),
        ("tainted, a yes", mail().tainted().consented(), Allow, "approved"),
        ("not needed", mail().direct().granted(3, some), Allow, "default"),
        ("marked by a person", call("persons_marked").granted(3, json!("*")), Allow, "grant"),
        ("a model's", call("models").granted(3, json!("*")), Allow, "grant"),
        ("confirmation", call("wipe").granted(3, json!("*")), Allow, "grant"),
        ("a model's, tainted, any", call("models").tainted().granted(3, json!("*")), Ask, "model-made"),
        ("a model's, tainted, exactly", call("models").tainted().granted(3, json!({})), Allow, "grant"),
    ];
    for (row, call, verdict, rule) in rows {
        check(row, json!({}), &call, verdict, rule);
    }
    let url = json!({"url": "https://new.org"});
    let fetch = || call("fetch_web_page").tainted().args(url.clone());
    check("address, pattern", json!({}), &fetch().granted(3, json!({"url": "https://new.org*"})), Ask, "composed-url");
    check("address, exactly", json!({}), &fetch().granted(3, url.clone()), Allow, "grant");
    check("ask list", json!({"ask": ["notes"]}), &call("notes").granted(3, json!("*")), Allow, "grant");
    // A grant under an alias applies to the tool behind it.
    let mut call = mail().granted(3, json!("*"));
    call.grants[0].tool = "message".into();
    check("alias", json!({}), &call, Allow, "grant");
}
