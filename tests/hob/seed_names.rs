//! Every tool named in the seeds: built ones work when called as the seeds call them, others are absent.

use crate::{
    harness::{Hob, Setup},
    hijack::Page,
    interactions::call_and_answer,
    media_server::{MediaServer, answer_to_all},
    model::with_model,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Name, category, required parameters, whether it is built; for all tools of the seeds.
const SEEDS: &str = include_str!("../golden/seed-tools.tsv");

/// What the seeds say of groups and tools, built or not: `group` ID NAMES, `off` ID, `needs` ID IDS, `alias` NAME TOOL,
/// `page` TOOL PARAMETER DEFAULT MAX, `rate` TOOL CALLS; `ability` TOOL TEXT and `automation` TOOL for the system prompt.
const FACTS: &str = include_str!("../golden/seed-facts.tsv");

/// A call of every built tool, in an order in which each finds what it needs. `"$tool/path"` is a part of that tool's latest
/// answer. Parameters after `|` are not required by the seeds: without them there would be nothing to do.
pub const CALLS: &[(&str, &str)] = &[
    ("add_task", r#"{"title": "Water the ficus"}"#),
    ("batch_add_tasks", r#"{"tasks": [{"title": "Book the ferry", "priority": "high"}, {"title": "Sell the bike"}]}"#),
    ("list_tasks", "{}"),
    ("update_task | notes", r#"{"taskId": "$add_task/id", "notes": "Not too much."}"#),
    ("complete_task", r#"{"taskId": "Book the ferry"}"#),
    ("delete_task", r#"{"taskId": "Sell the bike"}"#),
    ("add_bookmark", r#"{"url": "https://example.org/ferries"}"#),
    ("batch_add_bookmarks", r#"{"bookmarks": [{"url": "https://example.org/a", "title": "A"}]}"#),
    ("list_bookmarks", "{}"),
    ("delete_bookmark", r#"{"bookmarkId": "$add_bookmark/id"}"#),
    ("add_note", r#"{"title": "Ferry", "content": "Leaves at noon."}"#),
    ("batch_add_notes", r#"{"notes": [{"title": "Tyres", "content": "2.4 bar"}]}"#),
    ("list_notes", "{}"),
    ("update_note | content", r#"{"noteId": "Tyres", "content": "2.5 bar"}"#),
    ("delete_note", r#"{"noteId": "$add_note/id"}"#),
    ("add_calendar_event", r#"{"title": "Optician", "startTime": "2031-03-05T16:00"}"#),
    ("batch_add_calendar_events", r#"{"events": [{"title": "Regatta", "startTime": "2031-06-01"}]}"#),
    ("list_calendar_events", "{}"),
    ("delete_calendar_event", r#"{"eventId": "Optician"}"#),
    ("add_contact", r#"{"name": "Nora Quist"}"#),
    ("batch_add_contacts", r#"{"contacts": [{"name": "Olu Bright", "phone": "+44 20 7946 0018"}]}"#),
    ("list_contacts", "{}"),
    ("update_contact | email", r#"{"contactId": "Nora Quist", "email": "nora@example.org"}"#),
    ("delete_contact", r#"{"contactId": "Olu Bright"}"#),
    ("create_custom_table", r#"{"table": "wines", "columns": [{"name": "label", "type": "text"}]}"#),
    ("list_custom_tables", "{}"),
    ("describe_custom_table", r#"{"table": "wines"}"#),
    ("add_custom_record", r#"{"table": "wines", "data": {"label": "Blaufränkisch"}}"#),
    ("batch_add_custom_records", r#"{"table": "wines", "records": [{"label": "Zweigelt"}, {"label": "Furmint"}]}"#),
    ("list_custom_records", r#"{"table": "wines"}"#),
    ("search_custom_records", r#"{"table": "wines", "query": "zwei"}"#),
    ("get_custom_record", r#"{"table": "wines", "recordId": "$add_custom_record/id"}"#),
    ("update_custom_record", r#"{"table": "wines", "recordId": "$add_custom_record/id", "data": {"label": "Rosé"}}"#),
    ("delete_custom_record", r#"{"table": "wines", "recordId": "$add_custom_record/id"}"#),
    ("delete_custom_table", r#"{"table": "wines"}"#),
    ("delete_custom_table | confirm", r#"{"table": "wines", "confirm": true}"#),
    ("knowledge_graph_search", r#"{"query": "Nora"}"#),
    ("create_vector_collection", r#"{"name": "manuals"}"#),
    ("create_embedding", r#"{"text": "The boiler hums."}"#),
    ("similarity_score", r#"{"text1": "The boiler hums.", "text2": "The heating is loud."}"#),
    (
        "upsert_vectors",
        r#"{"collection": "manuals", "vectors": [{"id": "hum", "text": "A humming boiler needs service."}]}"#,
    ),
    ("semantic_search", r#"{"query": "noise", "collection": "manuals"}"#),
    ("list_vector_collections", "{}"),
    ("delete_vectors", r#"{"collection": "manuals", "ids": ["hum"]}"#),
    ("add_expense", r#"{"amount": 12.5, "category": "food", "description": "lunch"}"#),
    ("batch_add_expenses", r#"{"expenses": [{"amount": 3, "category": "transport", "description": "tram"}]}"#),
    ("query_expenses", "{}"),
    ("export_expenses", r#"{"format": "csv"}"#),
    ("expense_summary", "{}"),
    ("delete_expense", r#"{"expenseId": "$add_expense/id"}"#),
    ("create_scheduled_task", r#"{"name": "Bins", "schedule": "0 20 * * 2"}"#),
    ("list_scheduled_tasks", "{}"),
    ("update_scheduled_task | enabled", r#"{"taskId": "Bins", "enabled": false}"#),
    ("trigger_task", r#"{"taskId": "$create_scheduled_task/id"}"#),
    ("get_task_history", r#"{"taskId": "Bins"}"#),
    ("cron", r#"{"action": "list"}"#),
    ("delete_scheduled_task", r#"{"taskId": "Bins"}"#),
    ("remember", r#"{"content": "the ferry leaves at noon", "type": "fact"}"#),
    ("memory_store", r#"{"content": "the regatta is in june"}"#),
    ("batch_remember", r#"{"memories": [{"content": "Nora rows"}]}"#),
    ("recall", r#"{"query": "ferry"}"#),
    ("memory_recall", r#"{"query": "regatta"}"#),
    ("list_memories", "{}"),
    ("boost_memory", r#"{"memoryId": "$remember/id"}"#),
    ("memory_stats", "{}"),
    ("memory_search", r#"{"query": "ferry"}"#),
    ("memory_get", r#"{"path": "MEMORY.md"}"#),
    (
        "publish_skill | content",
        r#"{"path": "ferry/SKILL.md", "content": "---\nname: ferry\ndescription: Book the ferry.\n---\nCall the harbour."}"#,
    ),
    ("skill_search", r#"{"query": "ferry"}"#),
    ("use_skill", r#"{"name": "ferry"}"#),
    ("forget", r#"{"memoryId": "$remember/id"}"#),
    ("create_goal", r#"{"title": "Row across the lake"}"#),
    ("list_goals", "{}"),
    ("update_goal | priority", r#"{"goalId": "Row across the lake", "priority": 8}"#),
    ("decompose_goal", r#"{"goalId": "Row across the lake"}"#),
    ("decompose_goal | steps", r#"{"goalId": "$create_goal/id", "steps": ["Buy a boat", "Learn to row"]}"#),
    ("get_next_actions", "{}"),
    ("complete_step", r#"{"stepId": "Buy a boat"}"#),
    ("get_goal_details", r#"{"goalId": "Row across the lake"}"#),
    ("goal_stats", "{}"),
    ("set_state", r#"{"key": "lake.depth", "value": {"metres": 12}}"#),
    ("get_state", r#"{"key": "lake.depth"}"#),
    ("list_state_keys", "{}"),
    ("delete_state", r#"{"key": "lake.depth"}"#),
    ("db_sql", r#"{"sql": "CREATE TABLE boats (name TEXT)"}"#),
    ("db_schema", "{}"),
    ("read_system_prompt", "{}"),
    ("edit_system_prompt | content", r#"{"operation": "append", "content": "Speak of the lake."}"#),
    ("read_learned_notes", "{}"),
    ("edit_learned_notes | content", r#"{"operation": "append", "content": "The ferry leaves at noon."}"#),
    ("search_tools", r#"{"query": "ferry"}"#),
    ("get_tool_help", r#"{"tool_name": "regex"}"#),
    ("use_tool", r#"{"tool_name": "calculate", "arguments": {"expression": "6*7"}}"#),
    ("batch_use_tool", r#"{"operations": [{"tool": "calculate", "args": {"expression": "6*7"}}]}"#),
    (
        "create_tool",
        r#"{"name": "twice", "description": "Doubles.", "parameters": {"type": "object"}, "code": "return 2;"}"#,
    ),
    (
        "create_tool",
        r#"{"name": "thrice", "description": "Triples.", "parameters": {"type": "object"}, "code": "return 3;"}"#,
    ),
    ("list_custom_tools", "{}"),
    ("list_tools", "{}"),
    ("toggle_custom_tool", r#"{"name": "twice", "enabled": false}"#),
    ("enable_tool", r#"{"name": "twice"}"#),
    ("disable_tool", r#"{"name": "twice"}"#),
    ("delete_custom_tool | confirm", r#"{"name": "twice", "confirm": true}"#),
    ("delete_tool | confirm", r#"{"name": "thrice", "confirm": true}"#),
    ("ask_user", r#"{"question": "When does the ferry leave?"}"#),
    ("send_message", r#"{"text": "The ferry is late."}"#),
    ("render_blocks", r#"{"blocks": [{"type": "markdown", "content": "**Noon**"}]}"#),
    ("render_and_wait | code", r#"{"code": "function Component() { return h('p', null, 'Noon'); }"}"#),
    ("get_current_datetime", "{}"),
    ("get_current_time", "{}"),
    ("datetime", "{}"),
    ("date_diff", r#"{"date1": "2026-11-20", "date2": "2026-12-25"}"#),
    ("date_add", r#"{"date": "2026-11-20", "amount": 3, "unit": "weeks"}"#),
    ("add_to_date", r#"{"date": "2026-11-20", "amount": -1, "unit": "months"}"#),
    ("format_date", r#"{"date": "2026-11-20"}"#),
    ("calculate", r#"{"expression": "6 * 7"}"#),
    ("statistics", r#"{"numbers": [1, 2, 3, 4]}"#),
    ("calculate_statistics", r#"{"numbers": [1, 2, 3, 4]}"#),
    ("calculate_percentage", r#"{"value": 80, "percent": 15}"#),
    ("convert_units", r#"{"value": 3, "from": "m", "to": "ft"}"#),
    ("generate_uuid", "{}"),
    ("generate_password", "{}"),
    ("random_number", r#"{"min": 1, "max": 6}"#),
    ("hash_text", r#"{"text": "lake"}"#),
    ("encode_decode", r#"{"text": "lake", "operation": "encode"}"#),
    ("count_text", r#"{"text": "The lake is deep."}"#),
    ("count_words", r#"{"text": "The lake is deep."}"#),
    ("extract_from_text", r#"{"text": "see https://example.org", "pattern": "urls"}"#),
    ("extract_urls", r#"{"text": "see https://example.org"}"#),
    ("extract_emails", r#"{"text": "write to nora@example.org"}"#),
    ("extract_numbers", r#"{"text": "12 boats and 3 oars"}"#),
    ("transform_text", r#"{"text": "lake", "operation": "uppercase"}"#),
    ("compare_text", r#"{"text1": "lake", "text2": "lakes"}"#),
    ("regex", r#"{"pattern": "l(a)ke", "text": "a lake"}"#),
    ("test_regex", r#"{"pattern": "^a", "text": "a lake"}"#),
    ("format_json", r#"{"json": "{\"a\":1}"}"#),
    ("parse_csv", r#"{"csv": "a,b\n1,2\n"}"#),
    ("generate_csv", r#"{"data": [{"a": 1, "b": 2}]}"#),
    ("array_operations", r#"{"array": [3, 1, 2], "operation": "sort"}"#),
    ("sort_list", r#"{"array": [3, 1, 2]}"#),
    ("deduplicate", r#"{"array": [3, 1, 3]}"#),
    ("create_table", r#"{"data": [{"a": 1, "b": 2}]}"#),
    ("validate", r#"{"value": "nora@example.org", "type": "email"}"#),
    ("validate_email", r#"{"value": "nora@example.org"}"#),
    ("validate_url", r#"{"value": "https://example.org"}"#),
    ("workspace_dir", "{}"),
    ("create_folder", r#"{"path": "boats"}"#),
    ("write_file", r#"{"path": "boats/log.md", "content": "The ferry leaves at noon.\nThe lake is calm.\n"}"#),
    ("read_file", r#"{"path": "boats/log.md"}"#),
    ("edit_file | oldText newText", r#"{"path": "boats/log.md", "oldText": "noon", "newText": "one"}"#),
    ("edit | oldText newText", r#"{"path": "boats/log.md", "oldText": "calm", "newText": "rough"}"#),
    ("list_directory", r#"{"path": "boats"}"#),
    ("list_files", "{}"),
    ("search_files", r#"{"query": "ferry"}"#),
    ("search", r#"{"pattern": "lake is r\\w+"}"#),
    ("glob", r#"{"pattern": "**/*.md"}"#),
    ("file_info", r#"{"path": "boats/log.md"}"#),
    ("read_document", r#"{"path": "boats/log.md"}"#),
    ("create_pdf", r##"{"content": "# Ferries\n\nThey leave at noon.", "outputPath": "boats/plan.pdf"}"##),
    ("read_pdf", r#"{"path": "$create_pdf/path"}"#),
    ("parse_receipt", r#"{"image": "ferries.pdf"}"#),
    ("resize_image", r#"{"image": "ferry.png", "width": 4, "height": 4}"#),
    ("pdf_info", r#"{"path": "ferries.pdf"}"#),
    ("copy_file", r#"{"source": "boats/log.md", "destination": "household:/log.md"}"#),
    ("move_file", r#"{"source": "household:/log.md", "destination": "household:/ferry.md"}"#),
    ("delete_file", r#"{"path": "household:/ferry.md"}"#),
    ("download_file", r#"{"url": "$page/url", "path": "boats/timetable.html"}"#),
    ("http_request", r#"{"url": "$page/url", "method": "GET"}"#),
    ("fetch_url", r#"{"url": "$page/url"}"#),
    ("fetch_web_page", r#"{"url": "$page/url"}"#),
    ("web_fetch", r#"{"url": "$page/url"}"#),
    ("json_api", r#"{"url": "$page/url"}"#),
    ("search_web", r#"{"query": "ferry"}"#),
    ("web_search", r#"{"query": "ferry timetable"}"#),
    ("system_info", "{}"),
    ("text_to_speech", r#"{"text": "The boat is ready."}"#),
    ("speech_to_text", r#"{"audio": "$text_to_speech/file"}"#),
    ("tts", r#"{"text": "The boat is ready."}"#),
    ("read_audio", r#"{"path": "$text_to_speech/file"}"#),
    ("translate_audio", r#"{"audio": "$text_to_speech/file"}"#),
    ("audio_info", r#"{"path": "$text_to_speech/file"}"#),
    ("split_audio", r#"{"path": "$text_to_speech/file", "splitPoints": [0.05]}"#),
    ("generate_image", r#"{"prompt": "A ferry at noon"}"#),
    ("create_image", r#"{"prompt": "A ferry at noon"}"#),
    ("analyze_image", r#"{"image": "$generate_image/path"}"#),
    ("read_image", r#"{"path": "$generate_image/path"}"#),
    ("edit_image", r#"{"image": "$generate_image/path", "prompt": "In fog."}"#),
    ("image_variation", r#"{"image": "$generate_image/path"}"#),
    ("create_audio", r#"{"prompt": "A shanty"}"#),
    ("create_video", r#"{"prompt": "The ferry leaves"}"#),
    ("read_video", r#"{"path": "$create_video/path"}"#),
    ("exec", r#"{"command": "echo noon"}"#),
    ("execute_javascript", r#"{"code": "return 6 * 7"}"#),
    ("execute_python", r#"{"code": "print(6 * 7)"}"#),
    ("execute_shell", r#"{"command": "echo noon"}"#),
    ("exec", r#"{"command": "git init --quiet --initial-branch=main . && echo noon > ferry.txt"}"#),
    ("git_status", "{}"),
    ("git_add", r#"{"files": ["ferry.txt"]}"#),
    ("git_commit", r#"{"message": "When the ferry leaves"}"#),
    ("git_diff", "{}"),
    ("git_log", "{}"),
    ("git_branch", "{}"),
    ("git_checkout", r#"{"target": "main"}"#),
    ("compile_code", r#"{"code": "int main(void) { return 0; }", "language": "c"}"#),
    ("package_manager", r#"{"command": "pip list"}"#),
    ("credentialed_exec", r#"{"binary": "gh", "args": ["issue", "list"]}"#),
    ("list_cli_tools", "{}"),
    ("run_cli_tool | args timeout", r#"{"name": "tar", "args": ["--version"], "timeout": 20000}"#),
    ("install_cli_tool", r#"{"name": "greet"}"#),
    (
        "run_coding_task | timeout_seconds",
        r#"{"provider": "custom:script", "prompt": "Write the sum.", "timeout_seconds": 60}"#,
    ),
    ("list_coding_agents", "{}"),
    ("get_task_result", r#"{"resultId": "$run_coding_task/resultId"}"#),
    ("list_task_results", "{}"),
    ("run_sandbox_code", r#"{"code": "return 6 * 7"}"#),
    ("get_weather", r#"{"location": "Graz"}"#),
    ("get_weather_forecast", r#"{"location": "Graz"}"#),
    ("translate_text", r#"{"text": "The ferry leaves at noon.", "targetLanguage": "de"}"#),
    ("batch_translate", r#"{"texts": ["The ferry leaves at noon."], "targetLanguage": "German"}"#),
    ("detect_language", r#"{"text": "The ferry leaves at noon."}"#),
    ("list_languages", "{}"),
    (
        "extract_structured_data",
        r#"{"text": "Ferry: noon", "schema": {"type": "object", "properties": {"ferry": {"type": "string"}}}}"#,
    ),
    ("extract_entities", r#"{"text": "Nora pays 20 EUR to nora@example.org."}"#),
    ("extract_table_data", r#"{"text": "Boat;Seats\nferry;80"}"#),
    ("summarize_text", r#"{"text": "The ferry leaves at noon. It is late."}"#),
    ("openai_compat_call", r#"{"endpoint": "/models"}"#),
    ("send_email", r#"{"to": "olu@example.org", "subject": "Ferry", "body": "It leaves at noon."}"#),
    ("list_emails", "{}"),
    ("read_email", r#"{"emailId": "$list_emails/emails/0/emailId"}"#),
    ("search_emails", r#"{"query": "ferry"}"#),
    ("reply_email", r#"{"emailId": "$list_emails/emails/0/emailId", "body": "Noon suits us."}"#),
    ("delete_email", r#"{"emailId": "$list_emails/emails/0/emailId"}"#),
    ("browser_navigate", r#"{"url": "$page/url"}"#),
    ("browser_screenshot", "{}"),
    ("browser_extract_text", "{}"),
    ("browser_extract_html", "{}"),
    ("browser_evaluate", r#"{"code": "document.body.innerHTML = '<button>Go</button><input>'"}"#),
    ("browser_click", r#"{"selector": "button"}"#),
    ("browser_type", r#"{"selector": "input", "text": "noon"}"#),
    ("browser_close", "{}"),
];

/// Name → required parameters, of the built tools and of the others.
fn seeds() -> [BTreeMap<&'static str, BTreeSet<&'static str>>; 2] {
    let mut seeds = [BTreeMap::new(), BTreeMap::new()];
    for line in SEEDS.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, _, required, built] = columns[..] else { panic!("four columns: {line}") };
        let at = ["yes", "no"].iter().position(|word| *word == built).unwrap_or_else(|| panic!("yes or no: {line}"));
        assert!(seeds[at].insert(name, required.split(' ').filter(|r| !r.is_empty()).collect()).is_none(), "{name}");
    }
    seeds
}

/// The names and aliases that `hob tools --json` tells.
fn names(hob: &Hob) -> BTreeSet<String> {
    let tools: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json"]).ok()).unwrap();
    let of = |tool: &Value| {
        let aliases = tool["aliases"].as_array().unwrap().iter();
        aliases.chain([&tool["name"]]).map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    tools.iter().flat_map(of).collect()
}

/// Puts parts of earlier answers in the place of `"$tool/path"`.
fn filled(value: Value, answers: &BTreeMap<String, Value>) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$').and_then(|reference| reference.split_once('/')) {
            Some((tool, path)) => {
                let part = answers.get(tool).and_then(|answer| answer.pointer(&format!("/{path}")));
                part.cloned().unwrap_or_else(|| format!("what {tool} did not answer").into())
            }
            None => text.into(),
        },
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, filled(value, answers))).collect(),
        other => other,
    }
}

#[test]
fn the_table_is_whole() {
    let [built, rest] = seeds();
    assert_eq!(built.len() + rest.len(), 256);
    let called: BTreeSet<&str> = CALLS.iter().map(|(name, _)| name.split(" | ").next().unwrap()).collect();
    assert_eq!(called, built.keys().copied().collect(), "each built tool is called, and no other");
    for (head, arguments) in CALLS {
        let (name, ours) = head.split_once(" | ").unwrap_or((head, ""));
        let given: Value = serde_json::from_str(arguments).unwrap();
        let given: BTreeSet<&str> = given.as_object().unwrap().keys().map(String::as_str).collect();
        let wanted = built[name].iter().copied().chain(ours.split(' ').filter(|o| !o.is_empty()));
        assert_eq!(given, wanted.collect(), "{name} is called with what is required and nothing else");
    }
}

#[test]
fn what_is_built_is_listed_and_nothing_else_is() {
    let hob = Hob::start();
    let (names, [built, rest]) = (names(&hob), seeds());
    let missing: Vec<&str> = built.keys().copied().filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "not listed: {missing:?}");
    let early: Vec<&str> = rest.keys().copied().filter(|name| names.contains(*name)).collect();
    assert!(early.is_empty(), "built now: say `yes` in seed-tools.tsv, and call them here: {early:?}");
    for name in rest.keys() {
        hob.call(name, json!({})).refusal(404, "not_found");
    }
}

#[test]
fn built_tools_have_the_facts_of_the_seeds() {
    // Only a model has a prompt.
    let (hob, _server) = with_model("[limits]\ncalls = 0");
    let tools: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json"]).ok()).unwrap();
    let built: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let facts: Vec<[&str; 3]> = FACTS.lines().map(|l| l.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect();
    let aliases: BTreeMap<&str, &str> = facts.iter().filter(|f| f[0] == "alias").map(|f| (f[1], f[2])).collect();
    let shown = hob.get("/api/v1/tool-groups").data(200);
    crate::exec::switch_on(&hob);
    let group = |id: &str| shown["groups"].as_array().unwrap().iter().find(|g| g["id"] == id).unwrap();
    let help = |tool: &str| hob.result("get_tool_help", json!({"tool_name": tool}));
    let prompt = hob.get("/api/v1/prompt?message=hello").data(200)["prompt"].to_string();
    let mut checked = BTreeMap::<&str, u32>::new();
    for [kind, name, about] in facts {
        let words: Vec<&str> = about.split(' ').filter(|word| !word.is_empty()).collect();
        match kind {
            "group" => {
                let tools = group(name)["tools"].as_array().unwrap();
                let canonical = words.iter().map(|word| aliases.get(word).unwrap_or(word));
                for tool in canonical.filter(|tool| built.contains(*tool)) {
                    assert!(tools.contains(&json!(tool)), "`{tool}` is not in the group `{name}`");
                    *checked.entry(kind).or_default() += 1;
                }
                continue;
            }
            "off" => assert_eq!(group(name)["defaultEnabled"], false, "{name}"),
            "needs" => assert_eq!(group(name)["dependsOn"], json!(words), "{name}"),
            "alias" if built.contains(about) => assert_eq!(help(name)["name"], about, "{name}"),
            "page" if built.contains(name) => {
                let [parameter, default, max] = words[..] else { panic!("{name}: {about}") };
                let numbers = [("default", default), ("max", max)].map(|(key, n)| (key, n.parse::<u32>().unwrap()));
                assert_eq!(help(name)["limits"], json!({parameter: BTreeMap::from(numbers)}), "{name}");
            }
            "ability" if built.contains(name) => assert!(prompt.contains(about), "{about}"),
            "automation" if built.contains(name) => assert!(prompt.contains(name), "{name}"),
            "rate" if built.contains(name) => assert_eq!(help(name)["callsPerMinute"].to_string(), about, "{name}"),
            _ => continue,
        }
        *checked.entry(kind).or_default() += 1;
    }
    assert!(checked["group"] > 100 && checked["alias"] > 10 && checked["page"] > 10, "{checked:?}");
}

#[test]
fn every_built_tool_works_as_the_seeds_call_it() {
    let page = Page::at("127.0.0.1", "The ferry leaves at noon.");
    let voice = crate::voice::server();
    let engine = crate::web_search::searxng();
    let packages = crate::harness::Folder::new();
    let registry = crate::cli_tools::registry(&packages);
    let mail = crate::mail_servers::MailServers::start();
    mail.deliver("From: Olu <olu@example.org>\r\nSubject: The ferry\r\n\r\nWhen does it leave?\r\n");
    let media = MediaServer::start();
    let (link, own) = (media.url("/video.mp4"), format!("127.0.0.1:{}", media.port));
    media.answers(move |got| answer_to_all(got, &link));
    let world = crate::world::kind();
    let mut config = format!(
        "[http]\nallow = [{:?}, {registry:?}, {own:?}]\n[services.wyoming]\naddress = \"{voice}\"\n\
         [services.searxng]\nbase_url = \"http://{}\"\n{}{}",
        page.host,
        engine.host,
        crate::world::config(&world),
        mail.config()
    );
    for provider in ["openai", "gemini", "minimax"] {
        let url = media.url(&format!("/{provider}"));
        config += &format!("[services.{provider}]\napi_key = \"of-{provider}-4711\"\nbase_url = \"{url}\"\n");
    }
    let mut hob = Hob::with(Setup { config, ..Setup::default() });
    crate::credentialed::ready(&hob);
    crate::cli_tools::ready(&hob, &registry);
    crate::coding_agents::ready(&hob);
    crate::exec::switch_on(&hob);
    crate::document_tools::ready(&hob);
    let memory = json!({"text": "The ferry leaves at noon."});
    hob.admin("PUT", "/api/v1/memory-documents/MEMORY.md").json(&memory).send().data(200);
    let mut answers = BTreeMap::from([("page".to_owned(), json!({"url": page.url()}))]);
    let mut wrong = vec![];
    for (head, arguments) in CALLS {
        let name = head.split(" | ").next().unwrap();
        let arguments = filled(serde_json::from_str(arguments).unwrap(), &answers);
        // Some wait for a person.
        let reply = match name {
            "ask_user" => call_and_answer(&hob, name, arguments.clone(), json!({"answer": "Noon"})),
            "render_blocks" | "render_and_wait" | "parse_receipt" => {
                call_and_answer(&hob, name, arguments.clone(), json!({"action": "dismiss"}))
            }
            "publish_skill" => hob.allowing(|| hob.call(name, arguments.clone())).0,
            _ => hob.call(name, arguments.clone()),
        };
        let json = reply.json();
        if reply.status != 200 {
            wrong.push(format!("{name} {arguments}: {} {}", reply.status, json["error"]));
            continue;
        }
        let (result, say) = (&json["data"]["result"], json["data"]["say"].as_str().unwrap_or_default());
        if result.is_null() {
            wrong.push(format!("{name} {arguments}: no result"));
        }
        if say.contains("null") || say.contains("  ") || say.chars().count() > 1000 {
            wrong.push(format!("{name} says: {say}"));
        }
        answers.insert(name.to_owned(), result.clone());
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CALLS.len(), wrong.join("\n"));
    hob.assert_alive();
}
