//! Questions without a model: one stored fact answers, or nothing does; secrets only by name; search over everything.

use crate::{everyday::Person, harness::Hob};
use serde_json::{Value, json};

/// What a household has told Hob.
const MEMORIES: &[&str] = &[
    "Marta serviced the boiler on 3 October",
    "the wifi password is sunflower-99",
    "the garage code is 4711",
    "the alarm code is 5512",
    "Anna's shoe size is 38",
    "Tom is allergic to peanuts",
    "the spare key is under the blue flower pot",
    "the bins go out on Monday evening",
    "the paint in the hall is RAL 9010",
    "Our internet contract with Vodafone ends in March",
    "Der Ersatzreifen liegt bei Frau Gruber im Keller",
    "To reset the router, hold the button on the back for ten seconds",
];

fn household(hob: &Hob) -> Person<'_> {
    let person = Person::new(hob, "anna", "admin");
    for content in MEMORIES {
        person.result("remember", json!({"content": content}));
    }
    person.result(
        "add_contact",
        json!({"name": "Ben Huber", "phone": "+43 664 1234567", "relationship": "friend", "birthday": "--05-14"}),
    );
    person.result("add_calendar_event", json!({"title": "Dentist", "startTime": "2031-05-02T15:00"}));
    person.result(
        "add_note",
        json!({"title": "Ferry", "content": "It leaves at noon from pier 4.\nBring the blue bag."}),
    );
    person.result("add_bookmark", json!({"url": "https://example.org/ferries", "title": "Ferry timetable"}));
    person.result("add_task", json!({"title": "Book the ferry", "dueDate": "2031-05-01"}));
    person
}

/// What the person is told.
fn told(person: &Person<'_>, question: &str) -> String {
    let answer = person.say(question);
    let text = answer["response"].as_str().or_else(|| answer["message"].as_str());
    text.unwrap_or_else(|| panic!("{question}: {answer}")).to_owned()
}

#[test]
fn a_question_is_answered_with_one_fact_or_not_at_all() {
    let hob = Hob::start();
    let person = household(&hob);
    for (question, answer) in [
        ("who looked after the heating?", "Marta serviced the boiler on 3 October."),
        ("where is the spare key?", "The spare key is under the blue flower pot."),
        ("when do the bins go out?", "The bins go out on Monday evening."),
        ("which paint did we use for the hall?", "The paint in the hall is RAL 9010."),
        ("what is Anna's shoe size?", "Anna's shoe size is 38."),
        ("Wo liegt der Ersatzreifen?", "Der Ersatzreifen liegt bei Frau Gruber im Keller."),
        ("how do I reset the router?", "To reset the router, hold the button on the back for ten seconds."),
    ] {
        let found = person.result("answer_question", json!({"question": question}));
        assert_eq!((&found["found"], &found["kind"]), (&json!(true), &json!("memory")), "{question}: {found}");
        assert_eq!(
            found["answer"].as_str().unwrap().to_lowercase(),
            answer.to_lowercase().trim_end_matches('.'),
            "{question}"
        );
    }
    assert_eq!(told(&person, "who looked after the heating?"), "Marta serviced the boiler on 3 October.");
    for (question, reason) in [
        ("what is Tom's shoe size?", "not told"),
        ("what is my shoe size?", "not told"),
        ("who painted our fence?", "not told"),
        ("where is my passport?", "not told"),
        ("who wrote Hamlet?", "unknown"),
        ("what is the capital of Portugal?", "unknown"),
        ("how far is the moon?", "unknown"),
        ("how do I clean an oven?", "unknown"),
        ("what does a router cost?", "unknown"),
    ] {
        let found = person.result("answer_question", json!({"question": question}));
        assert_eq!(found, json!({"found": false, "reason": reason}), "{question}");
    }
    assert_eq!(told(&person, "where is my passport?"), "You haven't told me that yet.");
    let unknown = told(&person, "who wrote Hamlet?");
    assert!(unknown.starts_with("I don't know that. I could with a model"), "{unknown}");
}

#[test]
fn records_answer_as_memories_do() {
    let hob = Hob::start();
    let person = household(&hob);
    for (question, kind, part) in [
        ("what is Ben's phone number?", "contact", "+43 664 1234567"),
        ("when is Ben's birthday?", "contact", "14 May"),
        ("when is the dentist?", "event", "15:00"),
        ("when does the ferry leave?", "note", "noon"),
    ] {
        let found = person.result("answer_question", json!({"question": question}));
        assert_eq!(found["kind"], kind, "{question}: {found}");
        assert!(found["answer"].as_str().unwrap().contains(part), "{question}: {found}");
        assert!(told(&person, question).contains(part), "{question}");
    }
    let nobody = person.result("answer_question", json!({"question": "what is Lena's phone number?"}));
    assert_eq!(nobody["found"], false, "{nobody}");
    // Somebody else's private records answer nobody.
    let ben = Person::new(&hob, "ben", "member");
    for question in ["what is Ben's phone number?", "where is the spare key?", "when is the dentist?"] {
        assert_eq!(ben.result("answer_question", json!({"question": question}))["found"], false, "{question}");
    }
}

/// A text in JSON without its ids and times, whose digits are any.
fn words(text: &str) -> String {
    let is_word = |piece: &&str| piece.parse::<tool::Id>().is_err() && piece.parse::<jiff::Timestamp>().is_err();
    text.split('"').filter(is_word).collect::<Vec<_>>().join("\"")
}

#[test]
fn a_secret_is_told_only_to_a_question_that_names_it() {
    let hob = Hob::start();
    let person = household(&hob);
    let secrets = ["sunflower-99", "4711", "5512"];
    for (question, secret) in [
        ("what's the wifi password?", "sunflower-99"),
        ("what is the code for the garage?", "4711"),
        ("tell me the alarm code, what is it?", "5512"),
    ] {
        let found = person.result("answer_question", json!({"question": question}));
        let text = found["answer"].as_str().unwrap_or_else(|| panic!("{question}: {found}"));
        let all: Vec<&str> = secrets.into_iter().filter(|one| text.contains(one)).collect();
        assert_eq!(all, [secret], "{question}: {found}");
    }
    for question in [
        "what's my IP address?",
        "what is the code?",
        "what's the password?",
        "what is the safe code?",
        "what is my bank pin?",
        "what's the netflix password?",
        "how do I get into the garage?",
        "is the wifi fast?",
        "what do you know about the garage?",
        "what is the alarm?",
    ] {
        let direct = person.call("answer_question", json!({"question": question})).text();
        let said = told(&person, question);
        let searched = person.result("search_everything", json!({"query": question})).to_string();
        for secret in secrets {
            for text in [&direct, &said, &searched] {
                assert!(!words(text).contains(secret), "{question}: {text}");
            }
        }
    }
    let which = person.result("answer_question", json!({"question": "what is the code?"}));
    let mut named: Vec<&str> = which["secrets"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    named.sort_unstable();
    assert_eq!((&which["reason"], named), (&json!("which"), vec!["the alarm code", "the garage code"]), "{which}");
}

#[test]
fn one_search_goes_through_everything() {
    let hob = Hob::start();
    let person = household(&hob);
    let found = person.result("search_everything", json!({"query": "ferry"}));
    let results = found["results"].as_array().unwrap();
    let kinds: std::collections::BTreeSet<&str> = results.iter().filter_map(|hit| hit["kind"].as_str()).collect();
    assert!(["note", "bookmark", "task"].iter().all(|kind| kinds.contains(kind)), "{found}");
    for hit in results {
        assert!(
            ["kind", "id", "title", "snippet"].iter().all(|field| hit[field].as_str().is_some_and(|t| !t.is_empty())),
            "{hit}"
        );
    }
    let one = person.result("search_everything", json!({"query": "ferry", "limit": 1}));
    assert_eq!((&one["count"], &one["hasMore"]), (&json!(1), &json!(true)), "{one}");
    let notes = person.result("search_everything", json!({"query": "ferry", "kinds": ["note"], "since": "2020-01-01"}));
    assert!(notes["count"].as_u64() > Some(0), "{notes}");
    for hit in notes["results"].as_array().unwrap() {
        assert!(hit["kind"] == "note" && hit["why"].as_str().is_some_and(|why| why.contains("ferry")), "{hit}");
    }
    let old = person.result("search_everything", json!({"query": "ferry", "until": "2020-01-01"}));
    assert_eq!(old["count"], 0, "{old}");
    let door = |query: &str| hob.request("GET", &format!("/api/v1/search?{query}")).bearer(&person.token).send();
    let by_door = door("q=ferry&kinds=note,task&limit=1").data(200);
    assert_eq!(by_door["result"]["count"], 1, "{by_door}");
    assert_eq!(door("q=").status, 400);
    assert_eq!(door("q=ferry&kinds=zeppelin").status, 400);
    let secret = person.result("search_everything", json!({"query": "garage"})).to_string();
    assert!(secret.contains("garage code") && !secret.contains("4711"), "{secret}");
    let named = person.result("search_everything", json!({"query": "garage code"})).to_string();
    assert!(named.contains("4711"), "{named}");
    assert_eq!(person.result("search_everything", json!({"query": "zeppelin"}))["count"], 0);
    for (tool, bad) in [
        ("search_everything", json!({"query": " "})),
        ("search_everything", json!({"query": "ferry", "since": "whenever"})),
        ("search_everything", json!({"query": "ferry", "since": "2026-05-01", "until": "2026-04-01"})),
        ("search_everything", json!({"query": "ferry", "kinds": ["zeppelin"]})),
        ("answer_question", json!({"question": ""})),
        ("answer_question", json!({"question": "x".repeat(2000)})),
    ] {
        assert_eq!(person.call(tool, bad.clone()).status, 400, "{tool}");
    }
}
