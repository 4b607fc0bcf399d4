//! Answers as models write them, whole and cut at every byte.

use super::{known::KnownTools, reader::Reader};
use crate::{Delta, ToolDefinition, Tools};
use serde_json::Value;

mod driving;

/// The tools whose names models know although `tests/golden/ping.json` does not show them, and two of which it shows a part.
const CALLABLE: [&str; 7] = [
    include_str!("../../../tests/golden/tools/search_tools.json"),
    include_str!("../../../tests/golden/tools/remember.json"),
    include_str!("../../../tests/golden/tools/recall.json"),
    include_str!("../../../tests/golden/tools/get_tool_help.json"),
    include_str!("../../../tests/golden/tools/get_current_datetime.json"),
    include_str!("../../../tests/golden/tools/gpio_read.json"),
    include_str!("../../../tests/golden/tools/gpio_write.json"),
];

/// The tools of a request, as in `tests/golden/ping.json`.
pub(super) fn everyday() -> Tools {
    let request: Value = serde_json::from_str(include_str!("../../../tests/golden/ping.json")).unwrap();
    let tool = |tool: &Value| ToolDefinition {
        name: tool["name"].as_str().unwrap().to_owned(),
        description: tool["description"].as_str().unwrap().to_owned(),
        parameters: tool["parameters"].clone(),
    };
    let offered = request["tools"].as_array().unwrap().iter().map(|one| tool(&one["function"])).collect();
    let callable = CALLABLE.iter().map(|text| tool(&serde_json::from_str(text).unwrap())).collect();
    Tools::new(offered, callable)
}

/// Text, reasoning and calls of an answer received in pieces.
#[derive(Debug, PartialEq, Default)]
struct Heard {
    words: String,
    thoughts: String,
    calls: Vec<(String, String)>,
}

fn hear(deltas: impl IntoIterator<Item = Delta>) -> Heard {
    let mut heard = Heard::default();
    for delta in deltas {
        match delta {
            Delta::Text(text) => heard.words += &text,
            Delta::Thinking(text) => heard.thoughts += &text,
            Delta::ToolCall(call) => heard.calls.push((call.name, call.arguments)),
            other => panic!("{other:?}"),
        }
    }
    heard
}

fn read<'t>(pieces: impl IntoIterator<Item = &'t str>, calls_end: bool, cut: bool) -> Heard {
    let mut reader = Reader::new(KnownTools { tools: everyday(), found: vec![] }, calls_end);
    let mut deltas: Vec<Delta> = pieces.into_iter().flat_map(|piece| reader.take(piece)).collect();
    deltas.extend(reader.end(cut));
    hear(deltas)
}

/// An answer, its visible text, and its calls as name and arguments.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const KEYS: (&str, &str) = ("recall", r#"{"query":"keys"}"#);
const PIN: (&str, &str) = ("gpio_write", r#"{"high":true,"pin":17}"#);

/// Each family's form.
const FORMS: &[Row] = &[
    // Hermes, Qwen
    (r#"<tool_call>{"name": "recall", "arguments": {"query": "keys"}}</tool_call>"#, "", &[KEYS]),
    ("<tool_call>\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n</tool_call>", "", &[KEYS]),
    (
        "Let me look.\n\n<tool_call>\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n</tool_call>\n",
        "Let me look.",
        &[KEYS],
    ),
    (
        "<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}</tool_call>\n<tool_call>{\"name\":\"gpio_write\",\"arguments\":{\"pin\":17,\"high\":true}}</tool_call>",
        "",
        &[KEYS, PIN],
    ),
    (r#"<tool_call>{"name":"recall","arguments":"{\"query\":\"keys\"}"}</tool_call>"#, "", &[KEYS]),
    (
        r#"<tool_call>[{"name":"recall","arguments":{"query":"keys"}},{"name":"gpio_write","arguments":{"pin":17,"high":true}}]</tool_call>"#,
        "",
        &[KEYS, PIN],
    ),
    (r#"<tool_call>{"name":"recall","arguments":{"query":"keys"}}"#, "", &[KEYS]),
    (
        "<tool_call>\n{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}\n<tool_call>\n{\"name\":\"gpio_write\",\"arguments\":{\"pin\":17,\"high\":true}}\n",
        "",
        &[KEYS, PIN],
    ),
    (r#"<tool_call>{"name":"get_current_datetime"}</tool_call>"#, "", &[("get_current_datetime", "{}")]),
    (
        r#"<tool_call>{"name":"recall","arguments":{"query":"say </tool_call> twice"}}</tool_call>"#,
        "",
        &[("recall", r#"{"query":"say </tool_call> twice"}"#)],
    ),
    (
        r#"<tools>x</tools><tool_call>{"name":"recall","arguments":{"query":"keys"}}</tool_call>"#,
        "<tools>x</tools>",
        &[KEYS],
    ),
    ("```tool_call\n<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}</tool_call>\n```", "", &[KEYS]),
    ("<tool_call>\n```json\n{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}\n```\n</tool_call>", "", &[KEYS]),
    (
        r#"<function_call>{"name":"recall","arguments":{"query":"keys"}}</function_call> and so on"#,
        " and so on",
        &[KEYS],
    ),
    // Broken JSON in marks
    (r#"<tool_call>{'name': 'gpio_write', 'arguments': {'pin': 17, 'high': True,}}</tool_call>"#, "", &[PIN]),
    (r#"<tool_call>{name: "recall", arguments: {query: "keys"}}</tool_call>"#, "", &[KEYS]),
    (r#"<tool_call>{"name":"recall","arguments":{"query":"keys"}</tool_call>"#, "", &[KEYS]),
    (r#"<tool_call>{"name":"recall","arguments":{"query":"keys"}}}</tool_call>"#, "", &[KEYS]),
    (
        r#"<tool_call>{"name":"recall","arguments":{"query":the keys}}</tool_call>"#,
        "",
        &[("recall", "{\"query\":the keys}")],
    ),
    (
        r#"<tool_call>{"name":"recall","arguments":{"query":"a "quoted" word"}}</tool_call>"#,
        "",
        &[("recall", r#"{"query":"a "quoted" word"}"#)],
    ),
    // Llama, Qwen3-coder
    (r#"<function=recall>{"query": "keys"}</function>"#, "", &[KEYS]),
    (
        "<function=gpio_write>\n<parameter=pin>\n17\n</parameter>\n<parameter=high>\ntrue\n</parameter>\n</function>",
        "",
        &[PIN],
    ),
    ("<tool_call>\n<function=recall>\n<parameter=query>\nkeys\n</parameter>\n</function>\n</tool_call>", "", &[KEYS]),
    (
        "<function=remember>\n<parameter=content>\nline one\nline <b>two</b>\n</parameter>\n</function>",
        "",
        &[("remember", r#"{"content":"line one\nline <b>two</b>"}"#)],
    ),
    ("<function=recall><parameter=query>keys</function>", "", &[KEYS]),
    (r#"<function=recall>{'query': 'keys',}</function> Done."#, " Done.", &[KEYS]),
    (r#"<|python_tag|>{"name": "recall", "parameters": {"query": "keys"}}"#, "", &[KEYS]),
    (
        r#"<|python_tag|>{"name": "recall", "parameters": {"query": "keys"}}; {"name": "gpio_write", "parameters": {"pin": 17, "high": true}}<|eom_id|>"#,
        "",
        &[KEYS, PIN],
    ),
    (r#"<|python_tag|>recall.call(query="keys")"#, "", &[KEYS]),
    (r#"{"name": "recall", "parameters": {"query": "keys"}}"#, "", &[KEYS]),
    (r#"{"name": "recall", "parameters": {"query": "keys"}}<|eot_id|>"#, "", &[KEYS]),
    (r#"{"type": "function", "function": {"name": "recall", "arguments": {"query": "keys"}}}"#, "", &[KEYS]),
    (r#"{"name": "recall", "parameters": {"query": "keys"}"#, "", &[KEYS]),
    (r#"[recall(query="keys")]"#, "", &[KEYS]),
    (r#"[recall(query='keys'), gpio_write(pin=17, high=True)]"#, "", &[KEYS, PIN]),
    (r#"[recall("keys")]"#, "", &[KEYS]),
    (r#"[get_current_datetime()]"#, "", &[("get_current_datetime", "{}")]),
    // JSON alone
    (r#"{"tool": "recall", "query": "keys"}"#, "", &[KEYS]),
    (r#"{"tool": "recall", "arguments": {"query": "keys"}}"#, "", &[KEYS]),
    (
        r#"{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "recall", "arguments": "{\"query\": \"keys\"}"}}]}"#,
        "",
        &[KEYS],
    ),
    (
        r#"[{"name": "recall", "arguments": {"query": "keys"}}, {"name": "gpio_write", "arguments": {"pin": 17, "high": true}}]"#,
        "",
        &[KEYS, PIN],
    ),
    (r#"{"arguments": {"query": "keys"}, "name": "functions.recall"}"#, "", &[KEYS]),
    ("```json\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n```", "", &[KEYS]),
    (
        "I will look that up.\n\n```json\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n```\n",
        "I will look that up.",
        &[KEYS],
    ),
    (
        "Sure! I look it up:\n```\n{\"tool\": \"recall\", \"args\": {\"query\": \"keys\"}}\n```",
        "Sure! I look it up:",
        &[KEYS],
    ),
    ("```tool_code\nrecall(query=\"keys\")\n```", "", &[KEYS]),
    // Mistral
    (r#"[TOOL_CALLS][{"name": "recall", "arguments": {"query": "keys"}}]"#, "", &[KEYS]),
    (
        r#"[TOOL_CALLS] [{"name": "recall", "arguments": {"query": "keys"}}, {"name": "gpio_write", "arguments": {"pin": 17, "high": true}}]</s>"#,
        "",
        &[KEYS, PIN],
    ),
    (
        r#"[TOOL_CALLS]recall[ARGS]{"query": "keys"}[TOOL_CALLS]gpio_write[ARGS]{"pin": 17, "high": true}"#,
        "",
        &[KEYS, PIN],
    ),
    (r#"[TOOL_CALLS]recall[CALL_ID]abc123[ARGS]{"query": "keys"}"#, "", &[KEYS]),
    (r#"Looking. [TOOL_CALLS]recall{"query": "keys"}"#, "Looking.", &[KEYS]),
    // Tags with attributes
    ("<invoke name=\"recall\">\n<parameter name=\"query\">keys</parameter>\n</invoke>", "", &[KEYS]),
    (
        "I look.\n<function_calls>\n<invoke name=\"recall\">\n<parameter name=\"query\">keys</parameter>\n</invoke>\n<invoke name=\"gpio_write\">\n<parameter name=\"pin\">17</parameter>\n<parameter name=\"high\">true</parameter>\n</invoke>\n</function_calls>",
        "I look.",
        &[KEYS, PIN],
    ),
    (
        "<x:function_calls><x:invoke name=\"recall\"><x:parameter name=\"query\">keys</x:parameter></x:invoke></x:function_calls>",
        "",
        &[KEYS],
    ),
    ("<invoke name=\"get_current_datetime\"></invoke>", "", &[("get_current_datetime", "{}")]),
    // ReAct
    (
        "Thought: I should look.\nAction: recall\nAction Input: {\"query\": \"keys\"}",
        "Thought: I should look.",
        &[KEYS],
    ),
    (
        "Action: recall\nAction Input: {\"query\": \"keys\"}\nObservation: at Ana's\nFinal Answer: They are at Ana's.",
        "",
        &[KEYS],
    ),
    ("Action: recall\nAction Input: \"keys\"\nObservation: none", "", &[KEYS]),
    ("Action: get_current_datetime\nAction Input:\nObservation: 12:00", "", &[("get_current_datetime", "{}")]),
    // DeepSeek, Kimi
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>recall\n```json\n{\"query\": \"keys\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        "",
        &[KEYS],
    ),
    (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>recall<｜tool▁sep｜>{\"query\": \"keys\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>gpio_write<｜tool▁sep｜>{\"pin\": 17, \"high\": true}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "",
        &[KEYS, PIN],
    ),
    (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.recall:0<|tool_call_argument_begin|>{\"query\": \"keys\"}<|tool_call_end|><|tool_calls_section_end|>",
        "",
        &[KEYS],
    ),
    // gpt-oss
    (
        "<|channel|>commentary to=functions.recall <|constrain|>json<|message|>{\"query\": \"keys\"}<|call|>",
        "",
        &[KEYS],
    ),
    (
        "<|start|>assistant to=functions.recall<|channel|>commentary json<|message|>{\"query\": \"keys\"}<|call|>",
        "",
        &[KEYS],
    ),
    ("<|start|>assistant<|channel|>final<|message|>Good morning.<|return|>", "Good morning.", &[]),
    // GLM, Cohere, LM Studio, Granite, LFM
    (
        "<tool_call>gpio_write\n<arg_key>pin</arg_key>\n<arg_value>17</arg_value>\n<arg_key>high</arg_key>\n<arg_value>true</arg_value>\n</tool_call>",
        "",
        &[PIN],
    ),
    (
        r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "recall", "parameters": {"query": "keys"}}]<|END_ACTION|>"#,
        "",
        &[KEYS],
    ),
    (r#"[TOOL_REQUEST]{"name": "recall", "arguments": {"query": "keys"}}[END_TOOL_REQUEST]"#, "", &[KEYS]),
    (r#"<|tool_call|>[{"name": "recall", "arguments": {"query": "keys"}}]"#, "", &[KEYS]),
    (r#"<|tool_call_start|>[recall(query="keys")]<|tool_call_end|>"#, "", &[KEYS]),
    // Invented results are hidden, and so is what depends on them.
    (
        "<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}</tool_call>\n<tool_response>{\"found\": 1}</tool_response>\nThey are here.",
        "",
        &[KEYS],
    ),
];

/// Text that resembles a call and is none: all of it is visible.
const WORDS: &[&str] = &[
    "",
    "Hello.",
    "  Hello,\n\nhow are you?  \n",
    "a < b and b > c, so a<c; [1] {2} `3`",
    "See [the page](https://example.org) and <b>this</b>.",
    "<tool_call>{\"name\":\"launch_missiles\",\"arguments\":{}}</tool_call>",
    "<tool_call>not JSON at all</tool_call>",
    "<tool_call>",
    "<tool_ca",
    "A <tool_callous> word, <function> and <think> amid a line.",
    "Write `<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"x\"}}</tool_call>` to call it.",
    "For example, a call looks like this:\n\n```\n<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"x\"}}</tool_call>\n```\n\nThen you get a result.",
    "Here is an example of a call:\n```json\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n```",
    "It takes JSON.\n```json\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n```\nThat is all.",
    "There are many ways to do that. One is JSON, in which the name comes first.\n```json\n{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}\n```",
    "I would call {\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}}",
    "{\"name\": \"recall\", \"arguments\": {\"query\": \"keys\"}} is how it is called.",
    "{\"name\": \"Ana\", \"age\": 3}",
    "{\"name\": \"recall\", \"description\": \"finds things\"}",
    "{\"answer\": 42}",
    "{}",
    "[]",
    "{name} is a place for a name",
    "{\"name\"} {\"x\"}",
    "[recall, gpio_write]",
    "[recall(query=keys)]",
    "[forget(id=1)]",
    "[1, 2, 3]",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]forget{\"id\": 1}",
    "[TOOLS] and [T] and [THINKING]",
    "<function=forget>{\"id\": 1}</function>",
    "<function=recall>",
    "<invoke name=\"forget\"><parameter name=\"id\">1</parameter></invoke>",
    "<invoke>recall</invoke> <function_calls></function_calls>",
    "Action: forget\nAction Input: {\"id\": 1}",
    "Action: recall the ambassador.\nHe has said enough.",
    "Our plan. Action: recall\nAction Input: {\"query\": \"keys\"}",
    "Observation: it rains.",
    "```rust\nfn main() { let a = [1]; }\n```\nThat prints nothing.",
    "```json\n{\"port\": 80}\n```",
    "```\n[1, 2]\n```",
    "```xml\n<tool_call>{\"name\":\"forget\",\"arguments\":{}}</tool_call>\n```",
    "```\nopen, and never closed <tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"x\"}}</tool_call>",
    "A list:\n- [ ] milk\n- [x] eggs\n",
    "<|im_end|> ends a message there, and <|channel|> begins a header.",
    "x </think> y",
    "<｜tool▁calls▁begin｜>nothing",
    "<|channel|>commentary to=functions.forget<|message|>{}",
    "Größe: 5 < 6, naïve [Ärger] {ü} 漢字 🙂 <漢>",
];

/// Reasoning, and the visible rest.
const THOUGHTS: &[(&str, &str, &str)] = &[
    ("<think>Hm, keys.</think>\n\nHello.", "Hm, keys.", "\n\nHello."),
    ("\n<think>\nno end", "\nno end", ""),
    ("Keys were mentioned.</think>\n\nHello.", "", "Keys were mentioned.</think>\n\nHello."),
    ("Keys.\n</think>\n\nHello.", "", "Keys.\n\nHello."),
    ("<think>Rain?</think>\nObservation: it rains.\nTake a coat.", "Rain?", "\nObservation: it rains.\nTake a coat."),
    ("<think>Rain?</think><tool_result> is a tag.", "Rain?", "<tool_result> is a tag."),
    ("[THINK]a [b] c[/THINK]Hello.", "a [b] c", "Hello."),
    (
        "<think>If I said <tool_call>{\"name\":\"recall\",\"arguments\":{}}</tool_call></think>No.",
        "If I said <tool_call>{\"name\":\"recall\",\"arguments\":{}}</tool_call>",
        "No.",
    ),
    (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        "Hm.",
        "Hello.",
    ),
    ("<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>Hello.", "Hm.", "Hello."),
];

fn expected(words: &str, calls: &[(&str, &str)]) -> Heard {
    let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect();
    Heard { words: words.to_owned(), calls, ..Heard::default() }
}

/// Reads a text whole, byte by byte as far as characters allow, and in two pieces cut at every position.
fn check(text: &str, wanted: &Heard) {
    assert_eq!(&read([text], false, false), wanted, "{text}");
    let every: Vec<&str> = text.split("").filter(|c| !c.is_empty()).collect();
    assert_eq!(&read(every.iter().copied(), false, false), wanted, "by the letter: {text}");
    for (at, _) in text.char_indices() {
        let (one, two) = text.split_at(at);
        assert_eq!(&read([one, two], false, false), wanted, "cut after {one:?}");
    }
    for size in [2, 3, 5, 7, 11] {
        let pieces: Vec<String> = every.chunks(size).map(<[&str]>::concat).collect();
        assert_eq!(&read(pieces.iter().map(String::as_str), false, false), wanted, "in pieces of {size}: {text}");
    }
}

#[test]
fn each_form_is_read_however_it_comes() {
    assert!(FORMS.len() >= 60);
    for (text, words, calls) in FORMS {
        check(text, &expected(words, calls));
    }
}

#[test]
fn what_is_no_call_is_shown() {
    for text in WORDS {
        check(text, &expected(text, &[]));
    }
}

#[test]
fn reasoning_is_told_apart() {
    for (text, thoughts, words) in THOUGHTS {
        check(text, &Heard { thoughts: (*thoughts).to_owned(), ..expected(words, &[]) });
    }
    let both = "<think>Look.</think>\n<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}</tool_call>";
    check(both, &Heard { thoughts: "Look.".into(), ..expected("", &[KEYS]) });
    let alone = "<think>It asks for keys.</think>\n{\"name\": \"recall\", \"parameters\": {\"query\": \"keys\"}}";
    check(alone, &Heard { thoughts: "It asks for keys.".into(), ..expected("", &[KEYS]) });
}

#[test]
fn without_tools_nothing_is_a_call() {
    for (text, ..) in FORMS.iter().filter(|(text, ..)| !text.contains("<|start|>")) {
        let mut reader = Reader::new(KnownTools::default(), false);
        let mut deltas = reader.take(text);
        deltas.extend(reader.end(false));
        let heard = hear(deltas);
        assert_eq!((heard.words.as_str(), heard.calls.len()), (*text, 0));
    }
}

#[test]
fn what_was_cut_short_is_not_completed() {
    let begun = r#"<tool_call>{"name":"remember","arguments":{"content":"a","tags":["x""#;
    let arguments = r#"{"content":"a","tags":["x""#;
    assert_eq!(read([begun], false, true), expected("", &[("remember", arguments)]), "as it was written");
    assert_eq!(read([begun], false, false), expected("", &[("remember", r#"{"content":"a","tags":["x"]}"#)]));
    let amid = r#"<tool_call>{"name":"remember","arguments":{"content":"a"#;
    assert_eq!(read([amid], false, false), expected("", &[("remember", r#"{"content":"a"#)]));
}

#[test]
fn words_stream_and_are_held_back_no_longer_than_needed() {
    let mut reader = Reader::new(KnownTools { tools: everyday(), found: vec![] }, false);
    let mut said = |text: &str| hear(reader.take(text)).words;
    assert_eq!(said("Hello"), "Hello");
    assert_eq!(said(" world <"), " world");
    assert_eq!(said("b> and"), " <b> and");
    assert_eq!(said(" {\"name"), " {\"name");
    assert_eq!(said("\n```rust\nfn"), "\n```rust\nfn");
    assert_eq!(said("\n```\nthen `<tool_call>"), "\n```\nthen `<tool_call>");

    let mut reader = Reader::new(KnownTools { tools: everyday(), found: vec![] }, false);
    assert_eq!(hear(reader.take("{\"port\"")).words, "{\"port\"", "JSON that is no call");
    let mut reader = Reader::new(KnownTools { tools: everyday(), found: vec![] }, false);
    assert_eq!(hear(reader.take("{\"name\": \"Ana\"")).words, "{\"name\": \"Ana\"", "nor this");
}

#[test]
fn what_never_ends_is_let_go() {
    let long = format!("<tool_call>{{\"name\":\"recall\",\"arguments\":{{\"query\":\"{}", "x".repeat(70_000));
    let mut reader = Reader::new(KnownTools { tools: everyday(), found: vec![] }, false);
    let mut words = 0;
    for piece in long.as_bytes().chunks(7) {
        words += hear(reader.take(std::str::from_utf8(piece).unwrap())).words.len();
    }
    assert!(words >= 65_000, "{words}");
    let rest = hear(reader.end(false));
    assert_eq!((words + rest.words.len(), rest.calls.len()), (long.len(), 0));

    // Many unclosed forms cost no more than a few.
    let many = "<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"".repeat(20_000);
    assert_eq!(read([many.as_str()], false, false).words.len(), many.len());
    let spaces = format!("a{}b", " ".repeat(100_000));
    assert_eq!(read([spaces.as_str()], false, false).words, spaces);
}

#[test]
fn words_after_a_call_are_dropped_where_calls_end_a_turn() {
    let text =
        "I look.\n<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"keys\"}}</tool_call>\nThey are at Ana's.";
    assert_eq!(read([text], true, false), expected("I look.", &[KEYS]));
    assert_eq!(read([text], false, false).words, "I look.\nThey are at Ana's.");
}

/// Deterministic random numbers, so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

/// Fragments of all forms in random order: no panic, and the same result however it is cut.
#[test]
fn salad_is_read_alike_however_it_is_cut() {
    let mut dice = Dice(5);
    let texts: Vec<&str> = FORMS.iter().map(|(text, ..)| *text).chain(WORDS.iter().copied()).collect();
    let texts: Vec<&str> = texts.into_iter().chain(THOUGHTS.iter().map(|(text, ..)| *text)).collect();
    for _ in 0..4000 {
        let mut salad = String::new();
        for _ in 0..1 + dice.below(4) {
            let text = texts[dice.below(texts.len())];
            let from = text.floor_char_boundary(dice.below(text.len() + 1) * dice.below(2));
            let to = text.floor_char_boundary(from + dice.below(text.len() + 1 - from) * dice.below(3)).max(from);
            salad += if dice.below(3) == 0 { text } else { &text[from..to] };
            salad += ["", "", " ", "\n", "\n\n"][dice.below(5)];
        }
        let letters: Vec<&str> = salad.split("").filter(|c| !c.is_empty()).collect();
        let size = 1 + dice.below(9);
        let pieces: Vec<String> = letters.chunks(size).map(<[&str]>::concat).collect();
        let (calls_end, cut) = (dice.below(2) == 0, dice.below(4) == 0);
        let whole = read([salad.as_str()], calls_end, cut);
        let cut_up = read(pieces.iter().map(String::as_str), calls_end, cut);
        assert_eq!(whole, cut_up, "in pieces of {size}: {salad:?}");
    }
}
