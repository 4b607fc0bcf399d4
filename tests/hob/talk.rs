//! Chat without a model.

use crate::harness::{Folder, Hob, Setup, hob, hob_with};
use jiff::{Timestamp, ToSpan, civil::Date, civil::Weekday, tz::TimeZone};
use serde_json::{Value, json};

/// A daemon whose household lives in a zone that differs from the machine's.
fn in_auckland() -> Hob {
    Hob::with(Setup { config: "time_zone = \"Pacific/Auckland\"".into(), ..Setup::default() })
}

fn auckland() -> Date {
    Timestamp::now().to_zoned(TimeZone::get("Pacific/Auckland").unwrap()).date()
}

fn response(answer: &Value) -> &str {
    answer["response"].as_str().unwrap()
}

/// The names of the tools that were called.
fn called(answer: &Value) -> Vec<&str> {
    answer["toolCalls"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect()
}

#[test]
fn a_memory_outlives_a_power_cut_and_is_found_by_meaning() {
    let mut hob = Hob::start();
    let told = hob.cli(&["chat", "remember that Marta serviced the boiler on 3 October"]).ok();
    assert_eq!(told, "I will remember: Marta serviced the boiler on 3 October.");
    hob.cli(&["chat", "remember", "that", "the", "spare", "key", "is", "at", "Ana's"]).ok();
    hob.kill();
    hob.start_again();
    assert_eq!(hob.cli(&["chat", "who looked after the heating?"]).ok(), "Marta serviced the boiler on 3 October.");
    assert!(hob.cli(&["chat", "where did I put the spare key?"]).ok().contains("at Ana's"));
    hob.assert_alive();
}

#[test]
fn the_first_phrases_are_understood() {
    let hob = in_auckland();
    let table: &[(&str, &[&str], &str)] = &[
        ("remember that the meter is behind the stairs", &["remember"], "I will remember: the meter is behind"),
        ("what do you know about the meter?", &["recall"], "The meter is behind the stairs."),
        ("what do you remember?", &["list_memories"], "the meter is behind the stairs."),
        ("what time is it in Tokyo?", &["get_current_datetime"], " in Tokyo, on "),
        ("what is 12 * 12?", &["calculate"], "144"),
        ("what is 15 percent of 80?", &["calculate"], "12"),
        ("convert 20 °C to °F", &["convert_units"], "68"),
        ("5 miles in km", &["convert_units"], "8.04"),
        ("is pin 17 on?", &["gpio_read"], "Pin 17 is off."),
        ("turn on pin 17", &["gpio_write"], "Pin 17 is on."),
        ("is pin 17 on?", &["gpio_read"], "Pin 17 is on."),
        ("turn off pin 17", &["gpio_write"], "Pin 17 is off."),
        ("what can you do?", &["search_tools"], "I can do "),
        ("how are you?", &["system_info"], " of memory is in use"),
        ("help", &[], "set a timer for 10 minutes"),
        ("who are you?", &[], "I am Hob"),
    ];
    for (text, tools, part) in table {
        let answer = hob.say(text);
        assert_eq!(called(&answer), *tools, "{text}: {answer}");
        assert!(response(&answer).contains(part), "{text}: {answer}");
        assert_eq!(answer["model"], "reflex");
    }
    let (before, told, after) = (auckland(), hob.say("what day is it today?"), auckland());
    let dated = |day: Date| response(&told).contains(&day.strftime("%A %-d %B %Y").to_string());
    assert!(dated(before) || dated(after), "{told}");
}

#[test]
fn dates_in_a_memory_are_worked_out() {
    let hob = in_auckland();
    let stored = |text: &str| {
        let answer = hob.say(text);
        answer["toolCalls"][0]["arguments"]["content"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (before, content, after) = (auckland(), stored("remember the plumber comes tomorrow at 9 am"), auckland());
    let tomorrow = |day: Date| format!("the plumber comes tomorrow at 9 am ({} 09:00)", day + 1.day());
    assert!(content == tomorrow(before) || content == tomorrow(after), "{content}");

    let content = stored("remember to water the plants next tuesday at 7");
    let date =
        content.strip_prefix("water the plants next tuesday at 7 (").and_then(|rest| rest.strip_suffix(" 07:00)"));
    let date: Date = date.unwrap_or_else(|| panic!("{content}")).parse().unwrap();
    assert_eq!(date.weekday(), Weekday::Tuesday);
    assert!(date > before && date <= before + 15.days(), "{date} seen from {before}");
}

#[test]
fn nothing_is_moved_or_deleted_on_a_guess() {
    let hob = Hob::start();
    hob.say("remember that the cat is called Miez");
    for text in [
        "should I turn on pin 4?",
        "don't turn on pin 4",
        "maybe you could have turned on pin 4",
        "turn on pin 4 if it rains",
        "turn on pin 4 tomorrow",
        "turn on pin 4 and pin 5 unless somebody is home",
        "what would happen if you turned on pin 4",
        "why did pin 4 go off last night?",
        "turn on pin 4711",
        "turn on the light",
        "somebody should really switch pin 4 on one day",
        "forget everything",
        "forget the cat",
        "delete all memories",
        "please erase what you know about Miez",
    ] {
        let answer = hob.say(text);
        for tool in called(&answer) {
            assert!(
                ["recall", "answer_question", "remember", "gpio_read", "list_memories"].contains(&tool),
                "{text}: {answer}"
            );
        }
        assert!(!response(&answer).is_empty(), "{text}");
    }
    let pins = hob.result("gpio_list", json!({}));
    let touched: Vec<&Value> = pins["pins"].as_array().unwrap().iter().filter(|p| p["driven"] == true).collect();
    assert!(touched.is_empty(), "{touched:?}");
    assert!(hob.say("what is the cat called?")["response"].as_str().unwrap().contains("Miez"));
}

#[test]
fn what_is_not_understood_is_searched_for_or_met_with_what_hob_can_do() {
    let hob = Hob::start();
    for text in ["flurble the gronk", "asdf qwer zxcv", "!?", "漢字 漢字"] {
        let answer = hob.say(text);
        assert!(response(&answer).contains("“help”"), "{text}: {answer}");
    }
    hob.say("remember that the hall is painted in RAL 9010");
    let answer = hob.say("which paint did we use for the hall?");
    assert_eq!(called(&answer), ["answer_question"]);
    assert!(response(&answer).contains("RAL 9010"), "{answer}");
    let empty = hob.post("/api/v1/chat", json!({"message": " \n"})).refusal(400, "bad_args");
    assert!(empty.contains("write something"), "{empty}");
}

#[test]
fn a_conversation_goes_on() {
    let hob = Hob::start();
    let first = hob.say("turn on pin 3");
    let id = first["conversationId"].as_str().unwrap();
    let second = hob.post("/api/v1/chat", json!({"message": "is pin 3 on?", "conversationId": id})).data(200);
    assert_eq!((&second["conversationId"], response(&second)), (&json!(id), "Pin 3 is on."));
    assert_eq!(hob.cli(&["chat", "--conversation", id, "turn off pin 3"]).ok(), "Pin 3 is off.");

    let kept = hob.get(&format!("/api/v1/conversations/{id}")).data(200);
    let spoken = kept["messages"].as_array().unwrap().iter().filter(|m| m["role"] != "tool" && m["content"] != "");
    let spoken: Vec<(&str, &str)> =
        spoken.map(|m| (m["role"].as_str().unwrap(), m["content"].as_str().unwrap())).collect();
    assert_eq!(
        spoken,
        [
            ("user", "turn on pin 3"),
            ("assistant", "Pin 3 is on."),
            ("user", "is pin 3 on?"),
            ("assistant", "Pin 3 is on."),
            ("user", "turn off pin 3"),
            ("assistant", "Pin 3 is off."),
        ]
    );
    // Line by line on standard input is one conversation as well.
    let lines = hob_with(&hob.data(), &["chat"], &[], "what is 6 * 7?\n\nwhat is 6 * 8?\n").ok();
    assert!(lines.contains("42") && lines.contains("48"), "{lines}");
    let listed = hob.get("/api/v1/conversations").data(200);
    let titles: Vec<&str> =
        listed["conversations"].as_array().unwrap().iter().map(|c| c["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["what is 6 * 7?", "turn on pin 3"]);

    let path = format!("/api/v1/conversations/{id}");
    assert_eq!(hob.admin("DELETE", &path).send().data(200), json!({"deleted": true}));
    hob.get(&path).refusal(404, "not_found");
    let gone = hob.cli(&["chat", "--conversation", id, "hello"]).why(1);
    assert!(gone.contains("there is no conversation"), "{gone}");
}

#[test]
fn without_a_daemon_a_command_opens_the_data_itself() {
    let folder = Folder::new();
    let data = folder.path("data");
    hob(&data, &["chat", "remember that the well is 12 m deep"]).ok();
    assert_eq!(hob(&data, &["chat", "how deep is the well?"]).ok(), "The well is 12 m deep.");
    let daemon = Hob::over(folder, Setup::default());
    assert_eq!(daemon.cli(&["chat", "how deep is the well?"]).ok(), "The well is 12 m deep.");
}

#[test]
fn an_answer_is_streamed_as_it_comes() {
    let hob = Hob::start();
    let events: Vec<(String, Value)> = hob.stream(json!({"message": "turn on pin 5"})).collect();
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run", "tool_start", "tool_end", "text", "done"]);
    let (run, start, end, text, done) = (&events[0].1, &events[1].1, &events[2].1, &events[3].1, &events[4].1);
    assert_eq!(start["arguments"], json!({"pin": 5, "high": true}));
    assert_eq!(
        (&end["name"], &end["isError"], &end["callId"]),
        (&json!("gpio_write"), &json!(false), &start["callId"])
    );
    assert_eq!((&text["delta"], &done["response"]), (&json!("Pin 5 is on."), &json!("Pin 5 is on.")));
    assert_eq!((&run["runId"], &run["conversationId"]), (&done["runId"], &done["conversationId"]));
    let parts = json!([{"type": "text", "text": "is pin 5"}, {"type": "text", "text": "on?"}]);
    assert_eq!(hob.post("/api/v1/chat", json!({"message": parts})).data(200)["response"], "Pin 5 is on.");
}

#[test]
fn a_conversation_is_found_by_what_was_said() {
    let hob = Hob::start();
    hob.say("remember that Marta serviced the boiler");
    hob.say("what is 6 * 7?");
    let found = |query: &str| hob.get(&format!("/api/v1/conversations?{query}")).data(200);
    assert_eq!(found("")["count"], 2);
    let boiler = found("query=BOILER%20marta");
    assert_eq!((&boiler["count"], &boiler["conversations"][0]["messageCount"]), (&json!(1), &json!(4)));
    assert!(boiler["conversations"][0].get("excerpt").is_none(), "all of it is in the title");
    let answer = found("query=42&limit=1");
    assert_eq!((&answer["count"], &answer["conversations"][0]["excerpt"]), (&json!(1), &json!("6 × 7 = 42.")));
    assert_eq!(found("query=boiler%2042")["count"], 0);
    let stranger = hob.token("ben", "member");
    let theirs = hob.request("GET", "/api/v1/conversations?query=boiler").bearer(&stranger).send().data(200);
    assert_eq!(
        (&theirs["count"], &found("limit=1&offset=1")["conversations"][0]["title"]),
        (&json!(0), &json!("remember that Marta serviced the boiler"))
    );
}
