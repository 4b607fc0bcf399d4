//! Tool rules against the seeds: groups, areas, counting of calls, search, goals in steps.

use crate::{
    approvals::{keep, memories, that_waits},
    harness::{Hob, Setup},
    model::with_model,
    model_server::says,
    policy::{call, person, set},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const OWNER: &str = "00000000-0000-7000-8000-000000000001";

fn switch(hob: &Hob, group: &str, on: bool) -> Value {
    hob.admin("PUT", &format!("/api/v1/tool-groups/{group}")).json(&json!({"enabled": on})).send().data(200)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The group that keeps a tool off, as the error of a call names it; `None` when the call gets further.
fn off_by(hob: &Hob, tool: &str) -> Option<String> {
    let told = hob.get(&format!("/api/v1/tools/{tool}/explain")).data(200);
    if told["rule"] != "group-off" {
        return None;
    }
    let reason = told["reason"].as_str().unwrap();
    let group = reason.split("with its group `").nth(1).unwrap().split('`').next().unwrap().to_owned();
    assert!(reason.contains(&format!("PUT /api/v1/tool-groups/{group} {{\"enabled\": true}}")), "{reason}");
    Some(group)
}

/// Every group says of its tools what is true of them.
fn check_groups(shown: &Value) {
    let enabled: BTreeMap<&str, bool> = shown["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["enabled"] == true))
        .collect();
    for group in shown["groups"].as_array().unwrap() {
        let off = texts(&group["offElsewhere"]);
        for tool in texts(&group["tools"]) {
            let told = match group["switchable"] == true {
                true if group["enabled"] == true => !off.contains(&tool),
                // One that is on in another group too is on.
                true => {
                    enabled[tool]
                        && shown["groups"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .any(|other| other["enabled"] == true && texts(&other["tools"]).contains(&tool))
                }
                false => enabled[tool],
            };
            assert_eq!(told, enabled[tool], "{tool} in {group}");
        }
    }
}

#[test]
fn a_group_that_is_switched_off_is_off() {
    let hob = Hob::start();
    let look = || {
        let mut shown = hob.get("/api/v1/tool-groups").data(200);
        shown["tools"] = hob.get("/api/v1/tools").data(200)["tools"].take();
        check_groups(&shown);
        shown
    };
    look();
    // All that the seeds have on by default, and that share tools with another.
    for id in ["textUtils", "conversion", "generation", "extraction", "validation", "mathStats", "core"] {
        let shown = switch(&hob, id, false);
        let group = shown["groups"].as_array().unwrap().iter().find(|group| group["id"] == id).unwrap().clone();
        assert_eq!(group["enabled"], false, "{group}");
        look();
        let tools = texts(&group["tools"]);
        assert!(!tools.is_empty(), "{group}");
        for tool in tools {
            assert_eq!(off_by(&hob, tool).as_deref(), Some(id), "{tool}");
            let refused = hob.call(tool, json!({}));
            assert!([400, 409].contains(&refused.status), "{tool}: {}", refused.text());
        }
        // Another group that has the tools too does not bring them back; it says so.
        for tool in ["search_tools", "get_tool_help", "use_tool", "batch_use_tool"] {
            assert_eq!(off_by(&hob, tool), None);
        }
        switch(&hob, id, true);
        assert!(texts(&group["tools"]).iter().all(|tool| off_by(&hob, tool).is_none()), "{id}");
        look();
    }
    let uuid = |hob: &Hob| hob.call("generate_uuid", json!({})).status;
    switch(&hob, "core", false);
    switch(&hob, "generation", true);
    assert_eq!(uuid(&hob), 409, "an explicit off wins over an explicit on");
    switch(&hob, "core", true);
    assert_eq!(uuid(&hob), 200);
    switch(&hob, "textUtils", false);
    let refused = hob.admin("PUT", "/api/v1/tool-groups/validation").json(&json!({"enabled": true})).send();
    assert!(refused.refusal(400, "bad_args").contains("also in `textUtils`, which was turned off"));
}

/// The area of every tool that is not in `memory`, what the household keeps.
const AREAS: &[(&str, &str)] = &[
    ("config_get_service", "system"),
    ("config_list_services", "system"),
    ("config_set_entry", "system"),
    ("create_tool", "code_execute"),
    ("delete_custom_tool", "custom"),
    ("blink_pin", "actuate"),
    ("gpio_all_off", "actuate"),
    ("gpio_list", "actuate"),
    ("gpio_read", "actuate"),
    ("gpio_write", "actuate"),
    ("name_pin", "actuate"),
    ("configure_pin", "actuate"),
    ("gpio_toggle", "actuate"),
    ("gpio_pulse", "actuate"),
    ("gpio_watch", "actuate"),
    ("i2c_read", "actuate"),
    ("i2c_scan", "actuate"),
    ("i2c_write", "actuate"),
    ("pin_map", "actuate"),
    ("pwm_write", "actuate"),
    ("read_temperature_sensors", "actuate"),
    ("serial_transfer", "actuate"),
    ("servo_move", "actuate"),
    ("spi_transfer", "actuate"),
    ("list_custom_tools", "custom"),
    ("list_people", "system"),
    ("system_info", "system"),
    ("toggle_custom_tool", "custom"),
    ("control_thing", "home"),
    ("delete_area", "home"),
    ("get_thing", "home"),
    ("ha_call_service", "home"),
    ("ha_converse", "home"),
    ("ha_find_entities", "home"),
    ("ha_fire_event", "home"),
    ("ha_get_history", "home"),
    ("ha_get_state", "home"),
    ("ha_run", "home"),
    ("ha_status", "home"),
    ("list_areas", "home"),
    ("list_things", "home"),
    ("update_area", "home"),
    ("update_thing", "home"),
    ("add_mqtt_thing", "home"),
    ("delete_mqtt_thing", "home"),
    ("mqtt_publish", "home"),
    ("mqtt_read", "home"),
    ("mqtt_status", "home"),
    ("read_file", "file_read"),
    ("list_directory", "file_read"),
    ("search_files", "file_read"),
    ("glob", "file_read"),
    ("file_info", "file_read"),
    ("workspace_dir", "file_read"),
    ("git_status", "file_read"),
    ("git_diff", "file_read"),
    ("git_log", "file_read"),
    ("write_file", "file_write"),
    ("edit_file", "file_write"),
    ("copy_file", "file_write"),
    ("move_file", "file_write"),
    ("create_folder", "file_write"),
    ("download_file", "file_write"),
    ("git_add", "file_write"),
    ("git_commit", "file_write"),
    ("git_branch", "file_write"),
    ("git_checkout", "file_write"),
    ("delete_file", "file_delete"),
    ("exec", "code_execute"),
    ("list_processes", "code_execute"),
    ("read_process", "code_execute"),
    ("write_process", "code_execute"),
    ("stop_process", "code_execute"),
    ("execute_shell", "code_execute"),
    ("execute_javascript", "code_execute"),
    ("execute_python", "code_execute"),
    ("compile_code", "code_execute"),
    ("package_manager", "code_execute"),
    ("create_command_tool", "code_execute"),
    ("list_command_tools", "custom"),
    ("delete_command_tool", "custom"),
    ("credentialed_exec", "code_execute"),
    ("get_task_result", "code_execute"),
    ("install_cli_tool", "code_execute"),
    ("list_cli_tools", "code_execute"),
    ("list_coding_agents", "code_execute"),
    ("list_task_results", "code_execute"),
    ("run_cli_tool", "code_execute"),
    ("run_coding_task", "code_execute"),
    ("search_web", "network_read"),
    ("browser_navigate", "network_read"),
    ("browser_screenshot", "network_read"),
    ("browser_extract_text", "network_read"),
    ("browser_extract_html", "network_read"),
    ("browser_close", "network_read"),
    ("browser_click", "network_write"),
    ("browser_type", "network_write"),
    ("browser_evaluate", "network_write"),
    ("fetch_web_page", "network_read"),
    ("http_request", "network_read"),
    ("json_api", "network_read"),
    ("get_weather", "network_read"),
    ("get_weather_forecast", "network_read"),
    ("translate_text", "network_read"),
    ("batch_translate", "network_read"),
    ("list_emails", "network_read"),
    ("read_email", "network_read"),
    ("search_emails", "network_read"),
    ("read_document", "file_read"),
    ("parse_receipt", "file_read"),
    ("read_pdf", "file_read"),
    ("pdf_info", "file_read"),
    ("read_video", "file_read"),
    ("analyze_image", "file_read"),
    ("speech_to_text", "file_read"),
    ("translate_audio", "file_read"),
    ("audio_info", "file_read"),
    ("resize_image", "file_write"),
    ("create_pdf", "file_write"),
    ("create_video", "file_write"),
    ("generate_image", "file_write"),
    ("edit_image", "file_write"),
    ("image_variation", "file_write"),
    ("split_audio", "file_write"),
    ("create_audio", "file_write"),
    ("save_email_attachments", "file_write"),
    ("delete_email", "network_write"),
    ("send_email", "network_write"),
    ("reply_email", "network_write"),
    ("openai_compat_call", "network_write"),
];

#[test]
fn every_tool_is_in_its_area_and_a_right_to_the_memory_covers_forgetting() {
    let (hob, _server) = that_waits(20, "");
    let tools = hob.get("/api/v1/tools").data(200)["tools"].take();
    let tools: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.len() > 100 && AREAS.iter().all(|(tool, _)| tools.contains(tool)));
    set(&hob, json!({"users": {OWNER: {"areas": []}}}));
    for tool in tools {
        let told = hob.get(&format!("/api/v1/tools/{tool}/explain")).data(200);
        let said = told["trail"].as_array().unwrap().iter().find(|heard| heard["rule"] == "area").unwrap();
        let area = said["says"].as_str().unwrap().split_once("is in the area ").map(|(_, rest)| rest);
        let expected = AREAS.iter().find(|(name, _)| *name == tool).map_or("memory", |(_, area)| area);
        let meta = ["search_tools", "get_tool_help", "use_tool", "batch_use_tool"].contains(&tool);
        assert!(meta || area.is_some_and(|area| area.starts_with(&format!("{expected},"))), "{tool}: {said}");
    }

    let (ben, as_ben) = (person(&hob, "ben", "member"), hob.token("ben", "member"));
    let kept = |hob: &Hob| call(hob, &as_ben, "remember", json!({"content": "the key is under the mat"})).data(200);
    for (areas, status) in [(json!(["memory"]), 200), (json!(["file_delete", "actuate"]), 403)] {
        set(&hob, json!({}));
        let id = kept(&hob)["result"]["id"].clone();
        set(&hob, json!({"users": {ben.as_str(): {"areas": areas}}}));
        assert_eq!(call(&hob, &as_ben, "forget", json!({"memoryId": id})).status, status, "{areas}");
    }
}

#[test]
fn a_call_that_is_refused_costs_nothing_of_the_minute() {
    let hob = Hob::with(Setup { config: "[limits]\ncalls = 3\n".into(), ..Setup::default() });
    set(&hob, json!({"users": {OWNER: {"deniedTools": ["remember"]}}}));
    for _ in 0..6 {
        hob.call("remember", json!({"content": "x"})).refusal(403, "denied");
    }
    for _ in 0..3 {
        hob.call("calculate", json!({"expression": "1"})).data(200);
    }
    hob.call("calculate", json!({"expression": "1"})).refusal(429, "rate_limited");
    hob.call("remember", json!({"content": "x"})).refusal(403, "denied");
}

#[test]
fn an_error_behind_use_tool_tells_the_parameters() {
    let hob = Hob::start();
    let failing = json!({"name": "fails", "description": "x", "code": "throw new Error('no luck');",
                         "parameters": {"type": "object", "properties": {"pot": {"type": "string"}}}});
    hob.post("/api/v1/custom-tools", failing).data(201);
    set(&hob, json!({"users": {OWNER: {"deniedTools": ["add_note"]}}}));
    let id = "00000000-0000-7000-8000-00000000dead";
    for (tool, arguments, status, parameters) in [
        ("remember", json!({}), 400, Some("Parameters of remember: {")),
        ("delete_task", json!({"taskId": id}), 404, Some("Parameters of delete_task: It takes ")),
        ("fails", json!({}), 422, Some("Parameters of fails: It takes pot? (string).")),
        ("add_note", json!({"title": "x", "content": "x"}), 403, None),
    ] {
        let reply = hob.call("use_tool", json!({"tool_name": tool, "arguments": arguments}));
        let text = reply.text();
        assert!(reply.status == status || tool == "fails", "{tool}: {} {text}", reply.status);
        match parameters {
            Some(parameters) => assert!(text.contains(parameters), "{tool}: {text}"),
            None => assert!(!text.contains("Parameters of"), "{tool}: {text}"),
        }
    }
}

#[test]
fn the_seeds_words_find_the_seeds_tools() {
    let hob = Hob::start();
    let found = |query: &str| {
        let found = hob.result("search_tools", json!({"query": query}));
        let names = found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    for (query, first) in [
        ("todo", "add_task"),
        ("to-do", "add_task"),
        ("to do", "add_task"),
        ("To-Do", "add_task"),
        ("plan", "add_task"),
        ("checklist", "add_task"),
        ("assignment", "add_task"),
        ("store", "remember"),
        ("memorize", "remember"),
        ("appointment", "add_calendar_event"),
        ("meeting", "add_calendar_event"),
        ("cron", "cron"),
        ("random", "random_number"),
    ] {
        assert_eq!(found(query).first().map(String::as_str), Some(first), "{query}: {:?}", found(query));
    }
    for (query, tool) in [
        ("note", "remember"),
        ("record", "remember"),
        ("save", "remember"),
        ("reminder", "add_task"),
        ("to-do", "list_tasks"),
        ("to-do", "batch_add_tasks"),
    ] {
        assert!(found(query).iter().any(|name| name == tool), "{query}: {:?}", found(query));
    }
    for query in ["to-do", "to do", "plan", "assignment", "do"] {
        assert!(!found(query).iter().any(|name| name == "random_number"), "{query}: {:?}", found(query));
    }
    // Everything, with a short description of each.
    let all = hob.result("search_tools", json!({"query": "all"}));
    let tools = all["tools"].as_array().unwrap();
    assert_eq!((json!(tools.len()), all.get("more")), (all["count"].clone(), None));
    assert!(tools.len() > 100);
    for tool in tools {
        let description = tool["description"].as_str().unwrap();
        assert!((5..=101).contains(&description.chars().count()), "{tool}");
    }
    assert!(all.to_string().len() < 36_000, "{} bytes", all.to_string().len());
}

#[test]
fn a_goal_alone_is_broken_down() {
    let (hob, server) = with_model("");
    let titles = |told: &Value| -> Vec<String> {
        told["steps"].as_array().unwrap().iter().map(|step| step["title"].as_str().unwrap().to_owned()).collect()
    };
    hob.result("create_goal", json!({"title": "Paint the fence", "description": "Before the winter."}));
    server.script(vec![says("Sure, here are the steps:\n1. Buy **paint**\n2. Sand the boards\n3. Paint them")]);
    let told = hob.result("decompose_goal", json!({"goalId": "Paint the fence"}));
    assert_eq!(titles(&told), ["Buy paint", "Sand the boards", "Paint them"]);
    assert_eq!((&told["by"], &told["added"]), (&json!("model"), &json!(3)));
    let asked = server.asked();
    assert_eq!((asked.len(), asked[0].tools().len()), (1, 0));
    assert!(asked[0].body.to_string().contains("Before the winter"));
    assert_eq!(hob.get("/api/v1/conversations").data(200)["count"], 0, "nothing is kept of it");
    // What is there already is named, and not added again; a model that fails leaves it to the words.
    server.script(vec![says("- sand the boards\n- Oil the gate")]);
    let told = hob.result("decompose_goal", json!({"goalId": "Paint the fence"}));
    assert!(server.asked()[0].body.to_string().contains("Sand the boards"));
    assert_eq!(titles(&told), ["Oil the gate"]);

    // Without a model by the goal's own words, and not at all where those list nothing.
    let plain = Hob::start();
    plain.result("create_goal", json!({"title": "Sell the car and buy a bike"}));
    let told = plain.result("decompose_goal", json!({"goalId": "Sell the car and buy a bike"}));
    assert_eq!((titles(&told), &told["by"]), (vec!["Sell the car".to_owned(), "Buy a bike".into()], &json!("words")));
    plain.result("create_goal", json!({"title": "Be happy"}));
    let told = plain.result("decompose_goal", json!({"goalId": "Be happy"}));
    assert_eq!((&told["added"], titles(&told).len()), (&json!(0), 0));
    assert!(told["note"].as_str().unwrap().contains("call decompose_goal again with `steps`"), "{told}");
}

#[test]
fn importance_is_shown_as_it_was_given() {
    let hob = Hob::start();
    for importance in [0.8, 0.1, 0.33] {
        let kept = hob.result("remember", json!({"content": format!("worth {importance}"), "importance": importance}));
        assert_eq!(kept["importance"], json!(importance));
    }
    let id = keep(&hob, "worth a boost");
    assert_eq!(hob.result("boost_memory", json!({"memoryId": id, "amount": 0.3}))["importance"], json!(0.8));
    let listed = hob.get("/api/v1/tools/list_memories").status;
    assert_eq!((listed, memories(&hob).len()), (200, 4));
    let text = hob.call("list_memories", json!({})).text();
    assert!(text.contains("\"importance\":0.8") && !text.contains("000000") && !text.contains("99999"), "{text}");
    let hob = Hob::start();
    (0..3).for_each(|n| drop(hob.result("remember", json!({"content": format!("thing {n}"), "importance": 0.8}))));
    assert_eq!(hob.result("memory_stats", json!({}))["averageImportance"], json!(0.8));
}
