//! Help: every sentence it shows is understood and done on a new household.

use crate::harness::Hob;
use serde_json::Value;

fn response(answer: &Value) -> String {
    answer["response"].as_str().unwrap().to_owned()
}

/// The sentences in quotation marks.
fn quoted(text: &str) -> Vec<String> {
    let parts = text.split('“').skip(1);
    parts.map(|part| part.split_once('”').unwrap().0.to_owned()).collect()
}

/// Says sentences one after the other to a new household; each must be done.
fn all_are_done(topic: &str, sentences: &[String]) {
    assert!(sentences.len() >= 3, "{topic}: {sentences:?}");
    let hob = Hob::start();
    for sentence in sentences {
        let answer = hob.say(sentence);
        let (said, calls) = (response(&answer), answer["toolCalls"].as_array().unwrap().clone());
        assert!(calls.iter().all(|call| call["isError"] == false), "{topic}: {sentence}: {answer}");
        // Days need no tool.
        assert!(!calls.is_empty() || said.contains(" is a "), "{topic}: {sentence}: {said}");
        for refusal in ["I did not understand", "I found no", "I don't know", "There is no ", "did not work", "Shall I"]
        {
            assert!(!said.contains(refusal), "{topic}: {sentence}: {said}");
        }
    }
}

#[test]
fn every_sentence_of_help_works_on_a_new_household() {
    let hob = Hob::start();
    let help = response(&hob.say("help"));
    let lines: Vec<&str> = help.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 8, "{help}");
    let mut topics = vec![];
    for line in lines {
        let (title, examples) = line[2..].split_once(": ").unwrap();
        assert_eq!(quoted(examples).len(), 3, "{line}");
        all_are_done(title, &quoted(examples));
        topics.push(title.to_owned());
    }
    let others = help.split_once("help with ").and_then(|(_, rest)| rest.split_once("help with ")).unwrap().1;
    let others = others.trim_end_matches('.').replace(" and ", ", ");
    topics.extend(others.split(", ").map(str::to_owned));
    assert!(topics.len() > 12, "{topics:?}");
    for topic in &topics {
        let more = response(&hob.say(&format!("help with {topic}")));
        let sentences: Vec<String> =
            more.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect();
        all_are_done(topic, &sentences);
    }
}

#[test]
fn one_can_ask_for_help_in_many_ways() {
    let hob = Hob::start();
    for (asked, wanted) in [
        ("help", "- Lists: "),
        ("help me please", "- Lists: "),
        ("help with timers", "- pause the pizza timer"),
        ("can you help me with my shopping list?", "- clear the shopping list"),
        ("what can you do with lists?", "- which lists do we have?"),
        ("how do reminders work?", "- when is my alarm?"),
        ("what can I say about the calendar?", "- am I free on friday?"),
        ("I need help with my lamps", "- turn on pin 17"),
    ] {
        let said = response(&hob.say(asked));
        assert!(said.contains(wanted), "{asked}: {said}");
    }
}
