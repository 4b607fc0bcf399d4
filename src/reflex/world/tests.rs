//! Sentences about the world, as people say them, and sentences that are about something else.

use super::*;
use serde_json::json;

/// Friday.
fn now() -> Zoned {
    "2026-11-20T14:30[Europe/Vienna]".parse().unwrap()
}

/// The first call, with `→` and the tool that follows; a reply; nothing.
fn told(text: &str) -> String {
    match read(&Sentence::read(text), &now()) {
        None => String::new(),
        Some(Ask::Say(say)) => say.split(' ').take(4).collect::<Vec<_>>().join(" "),
        Some(Ask::Calls { first, then }) => {
            let calls: Vec<String> = first.iter().map(|(tool, arguments)| format!("{tool} {arguments}")).collect();
            then.iter().fold(calls.join(" + "), |calls, then| format!("{calls} → {then}"))
        }
    }
}

fn check(rows: &[(&str, String)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, wanted)| {
            let got = told(text);
            (got != *wanted).then(|| format!("{text}\n    wanted {wanted}\n    got    {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_weather_is_asked_by_day_and_place() {
    let today = |place: &str| match place {
        "" => "get_weather {}".to_owned(),
        place => format!("get_weather {}", json!({"location": place})),
    };
    let days = |days: u32, place: &str| match place {
        "" => format!("get_weather_forecast {}", json!({"days": days})),
        place => format!("get_weather_forecast {}", json!({"days": days, "location": place})),
    };
    check(&[
        ("weather", today("")),
        ("weather tomorrow", days(2, "")),
        ("Weather for tomorrow?", days(2, "")),
        ("what's the weather in Bonn", today("Bonn")),
        ("whats the weather like in bonn", today("bonn")),
        ("whats the weather like in paris", today("paris")),
        ("What will the weather be like in New York tomorrow?", days(2, "New York")),
        ("how's the weather today", today("")),
        ("tomorrow's weather please", days(2, "")),
        ("weather on sunday in Graz", days(3, "Graz")),
        ("weather forecast", "get_weather_forecast {}".into()),
        ("forecast for the weekend", days(3, "")),
        ("give me the forecast for the next 3 days", days(4, "")),
        ("the weather this week", days(7, "")),
        ("is it going to rain tomorrow", days(2, "")),
        ("will it snow in Oslo on monday", days(4, "Oslo")),
        ("do I need an umbrella", today("")),
        ("should i take an umbrella tomorrow morning", days(2, "")),
        ("how cold is it outside", today("")),
        ("how cold will it get tonight", today("")),
        ("is it windy", today("")),
        ("what's the temperature in Vienna", today("Vienna")),
        ("Bonn weather", today("Bonn")),
        ("weather Bonn tomorrow", days(2, "Bonn")),
        ("could you tell me what the weather is like right now", today("")),
        ("weather in Graz the day after tomorrow", days(3, "Graz")),
        ("the weather in july", "I know the weather".into()),
        ("what was the weather like yesterday", "I know the weather".into()),
    ]);
}

#[test]
fn what_is_about_something_else_is_not_the_weather() {
    let nothing = String::new;
    check(
        &[
            "the weather is nice",
            "it's raining cats and dogs",
            "lovely weather isn't it",
            "is it cold in here",
            "is it warm in the bedroom",
            "what's the temperature in the living room",
            "what is the temperature",
            "how hot is the oven",
            "is the soup hot",
            "remind me to bring an umbrella tomorrow",
            "what did I note about the weather",
            "add an umbrella to the shopping list",
            "if it rains tomorrow remind me to take the washing in",
            "we had such bad weather yesterday",
            "is there a tool for the weather?",
            "turn the heating on when it is cold outside",
            "is dinner hot",
            "I lent my umbrella to Joan",
        ]
        .map(|text| (text, nothing())),
    );
}

#[test]
fn words_are_translated() {
    let into =
        |text: &str, language: &str| format!("translate_text {}", json!({"text": text, "targetLanguage": language}));
    check(&[
        ("translate good morning into German", into("good morning", "German")),
        ("Translate “Where is the station?” to French", into("Where is the station?", "French")),
        ("translate into German: the train is late", into("the train is late", "German")),
        ("translate this into Spanish: see you on Monday", into("see you on Monday", "Spanish")),
        ("please translate thank you very much in Polish", into("thank you very much", "Polish")),
        ("how do you say thank you in Japanese", into("thank you", "Japanese")),
        ("How do I say 'does this hurt' in Polish?", into("'does this hurt'", "Polish")),
        ("how do I say happy birthday in portugese", into("happy birthday", "Portuguese")),
        ("whats german for hedgehog", into("hedgehog", "German")),
        ("what's the Italian word for bread", into("bread", "Italian")),
        ("translate hello into brazilian portuguese", into("hello", "pt-BR")),
        ("translate the note into German", "Give me the words,".into()),
        ("translate this into German", "Give me the words,".into()),
        ("translate good morning", String::new()),
        ("what is the time in german", String::new()),
        ("do you speak Turkish", String::new()),
        ("translate 5 miles to km", String::new()),
        ("say hello to Anna", String::new()),
    ]);
}

#[test]
fn pages_documents_and_searches_are_read() {
    let page = |url: &str| format!("fetch_web_page {}", json!({"url": url}));
    let file = |path: &str| format!("read_document {}", json!({"path": path}));
    let search = |query: &str| format!("search_web {}", json!({"query": query}));
    check(&[
        ("what does this page say: https://example.org/a?b=c", page("https://example.org/a?b=c")),
        ("What does example.org say?", page("https://example.org")),
        ("read me the article at www.example.com/news.html", page("https://www.example.com/news.html")),
        ("what's on https://example.org", page("https://example.org")),
        ("tell me what the site example.org is about", page("https://example.org")),
        ("read report.pdf", file("report.pdf")),
        ("what does letters/bank.pdf say", file("letters/bank.pdf")),
        ("What's in “notes.md”?", file("notes.md")),
        ("read the file Budget 2026.xlsx", String::new()),
        ("search the web for garden sheds", search("garden sheds")),
        ("google best soft play near walthamstow", search("best soft play near walthamstow")),
        ("look up tide times Bude online", search("tide times Bude")),
        ("search for flights to Rome on the internet", search("flights to Rome")),
        ("search the web", String::new()),
        ("open https://example.com", String::new()),
        ("save https://example.com", String::new()),
        ("remember that example.org says no", String::new()),
        ("read the headlines", String::new()),
        ("search everything for the spare key", String::new()),
        ("look up Anna's number", String::new()),
    ]);
}

#[test]
fn pages_and_documents_are_summarized() {
    check(&[
        (
            "summarize https://example.org/long",
            format!("fetch_web_page {} → summarize_text", json!({"url": "https://example.org/long", "maxChars": 5000})),
        ),
        ("sum up report.pdf for me", format!("read_document {} → summarize_text", json!({"path": "report.pdf"}))),
        ("summarise this article", String::new()),
        ("summarize my expenses", String::new()),
    ]);
}

#[test]
fn mail_is_listed() {
    let list = |unread: bool| match unread {
        true => format!("list_emails {}", json!({"limit": 10, "unreadOnly": true})),
        false => format!("list_emails {}", json!({"limit": 10})),
    };
    check(&[
        ("any new mail?", list(true)),
        ("read my mail", list(false)),
        ("have I got any new emails", list(true)),
        ("do we have mail", list(false)),
        ("check my inbox", list(false)),
        ("show me the unread mails", list(true)),
        ("new mail?", list(true)),
        (
            "any mail from Anna Berger",
            format!("search_emails {}", json!({"query": "*", "from": "Anna Berger", "limit": 10})),
        ),
        ("mail", String::new()),
        ("what is Anna's email", String::new()),
        ("Vera's email is vera@example.org", String::new()),
        ("check whether ana@example.com is a valid email", String::new()),
        ("read the mail to grandma", String::new()),
    ]);
}

#[test]
fn mail_is_sent_after_a_look() {
    let contact = |name: &str| format!("list_contacts {}", json!({"search": name, "limit": 10}));
    let items = |list: &str| format!("list_tasks {}", json!({"status": "pending", "limit": 30, "category": list}));
    let the_list = |name: &str| format!("{} + list_lists {{}} → send_email", contact(name));
    let shopping = |name: &str| format!("{} + {} → send_email", contact(name), items("shopping"));
    let words = |name: &str| format!("{} → send_email", contact(name));
    check(&[
        ("mail Anna the list", the_list("Anna")),
        ("email anna the list please", the_list("anna")),
        ("mail the list to Anna", the_list("Anna")),
        ("Mail mum the shopping list", shopping("mum")),
        ("send Anna Berger the shopping list by email", shopping("Anna Berger")),
        ("send the groceries list to Tom by mail", shopping("Tom")),
        ("send a mail with the shopping list to Anna", shopping("Anna")),
        ("send Anna an email with the shopping list", shopping("Anna")),
        (
            "mail Ben my to-do list",
            format!("{} + list_tasks {} → send_email", contact("Ben"), json!({"status": "pending", "limit": 30})),
        ),
        ("email Tom that I am late", words("Tom")),
        ("send an email to Tom saying dinner is at 7", words("Tom")),
        ("mail ana@example.com: the key is under the mat", words("ana@example.com")),
        ("email the landlord the mould pics by 5", String::new()),
        ("email Tina the address", String::new()),
        ("send Tom an email", String::new()),
        ("send the list to Anna", String::new()),
        ("remind me to mail Anna the list", String::new()),
        ("don't mail Anna the list", String::new()),
        ("mail me the list", String::new()),
    ]);
}

fn result(tool: &str, content: Value, say: &str, is_error: bool) -> ToolResult {
    let (call_id, say) = ("reflex-1".to_owned(), Some(say.to_owned()));
    ToolResult { call_id, name: tool.to_owned(), content: content.to_string(), say, is_error }
}

fn follows(said: &str, results: &[ToolResult]) -> Option<Next> {
    next(said, &results.iter().collect::<Vec<_>>(), &|_| true)
}

#[test]
fn what_is_sent_was_looked_up() {
    const SAID: &str = "mail Anna the list";
    let contacts = |all: Value| result("list_contacts", json!({"count": 1, "contacts": all}), "I found nobody.", false);
    let lists = |all: Value| result("list_lists", json!({"count": 1, "lists": all}), "", false);
    let anna = json!({"name": "Anna Berger", "email": "anna@example.org"});
    let shopping = json!({"list": "shopping", "open": 2});
    let say = |next: Option<Next>| match next {
        Some(Next::Say(text)) => text,
        other => panic!("{other:?}"),
    };
    let both =
        [contacts(json!([anna])), lists(json!([shopping, {"list": "camping", "open": 1}, {"list": "old", "open": 0}]))];
    let Some(Next::Call(call)) = follows(SAID, &both) else { panic!("the items") };
    assert_eq!(call, ("list_tasks", json!({"status": "pending", "limit": 30, "category": "shopping"})));
    let tasks = result(
        "list_tasks",
        json!({"tasks": [{"title": "milk"}, {"title": "eggs\nBcc: x"}], "hasMore": true}),
        "",
        false,
    );
    let [one, two] = both;
    let all = [one, two, tasks];
    let Some(Next::Call((tool, arguments))) = follows(SAID, &all) else { panic!("it sends") };
    assert_eq!(tool, "send_email");
    assert_eq!(arguments["to"], json!(["anna@example.org"]));
    assert_eq!(arguments["subject"], "Shopping list");
    assert_eq!(arguments["body"], "- milk\n- eggs Bcc: x\n- … and more");
    let [one, two, tasks] = all;
    let sent = result("send_email", json!({}), "I sent it.", false);
    assert_eq!(say(follows(SAID, &[one, two, tasks, sent])), "I sent it.");

    // Nobody, nobody with an address, several; no list, and several.
    let only = |all: Value| say(follows(SAID, &[contacts(all), lists(json!([shopping]))]));
    assert_eq!(only(json!([])), "I found nobody.");
    assert!(only(json!([{"name": "Anna", "email": null}])).contains("no mail address of Anna"));
    let huber = json!({"name": "Anna Huber", "email": "huber@example.org"});
    assert!(only(json!([anna, huber])).starts_with("Which Anna: Anna Berger (anna@example.org) or Anna Huber"));
    let bakery = json!({"name": "Bakery", "company": "Anna's", "email": "b@example.org"});
    assert!(matches!(follows(SAID, &[contacts(json!([anna, bakery])), lists(json!([shopping]))]), Some(Next::Call(_))));
    assert_eq!(say(follows(SAID, &[contacts(json!([anna])), lists(json!([]))])), "There is nothing on any list.");
    let others = json!([{"list": "camping", "open": 1}, {"list": "garden", "open": 1}]);
    assert!(
        say(follows(SAID, &[contacts(json!([anna])), lists(others)])).starts_with("Which list: camping or garden?")
    );

    let Some(Next::Call((_, message))) = follows("email Anna that I'm late", &[contacts(json!([anna]))]) else {
        panic!()
    };
    assert_eq!((&message["subject"], &message["body"]), (&json!("I'm late"), &json!("I'm late.")));
    let error = result("list_contacts", json!({}), "The contacts are closed.", true);
    assert_eq!(say(follows(SAID, &[error])), "The contacts are closed.");
    assert_eq!(follows("turn on pin 17", &[]), None);
}

#[test]
fn a_cut_page_is_summarized_all_the_same() {
    let whole = json!({"title": "A", "content": "One \"two\".\nThree é and more", "url": "x"}).to_string();
    for (content, wanted) in [
        (whole.clone(), Some("One \"two\".\nThree é and more")),
        (
            format!("{}\n[cut: 99 bytes in all; ask for less]", &whole[..whole.find("and").unwrap()]),
            Some("One \"two\".\nThree é "),
        ),
        ("no such thing".to_owned(), None),
    ] {
        let page = ToolResult { content, ..result("fetch_web_page", json!({}), "", false) };
        let next = next("summarize example.org", &[&page], &|_| true);
        let text = match &next {
            Some(Next::Call((_, arguments))) => arguments["text"].as_str(),
            _ => None,
        };
        assert_eq!(text, wanted);
    }
}

#[test]
fn the_weather_goes_on() {
    let before = |tool: &str, arguments: Value| Exchange {
        said: "weather".to_owned(),
        answered: "It is 4 °C.",
        calls: vec![crate::talkback::exchange::Call {
            tool: tool.to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
            content: json!({}),
            failed: false,
        }],
    };
    let weather = before("get_weather", json!({"location": "Graz"}));
    let forecast = before("get_weather_forecast", json!({"days": 2}));
    for (text, last, wanted) in [
        ("and tomorrow?", &weather, Some(("get_weather_forecast", json!({"days": 2, "location": "Graz"})))),
        ("what about sunday", &weather, Some(("get_weather_forecast", json!({"days": 3, "location": "Graz"})))),
        ("and in Oslo?", &forecast, Some(("get_weather_forecast", json!({"days": 2, "location": "Oslo"})))),
        ("how about Vienna", &weather, Some(("get_weather", json!({"location": "Vienna"})))),
        ("and eggs", &weather, None),
        ("and add milk", &weather, None),
        ("tomorrow", &weather, None),
    ] {
        assert_eq!(after(text, std::slice::from_ref(last), &now()), wanted, "{text}");
    }
    assert_eq!(after("and tomorrow?", &[before("list_tasks", json!({}))], &now()), None);
}

#[test]
fn pages_are_opened_and_pictured_and_recordings_cut() {
    let open = |url: &str| format!("browser_navigate {}", json!({"url": url}));
    let picture = |url: &str| format!("{} → browser_screenshot", open(url));
    let cut = |path: &str, points: &[&str]| format!("split_audio {}", json!({"path": path, "splitPoints": points}));
    check(&[
        ("open example.org in the browser", open("https://example.org")),
        ("Please open https://example.org/a?b=c in your browser.", open("https://example.org/a?b=c")),
        ("show me the page example.org in a browser", open("https://example.org")),
        ("take a screenshot of example.org", picture("https://example.org")),
        ("screenshot of the page https://example.org/a", picture("https://example.org/a")),
        ("split song.mp3 at 1:30", cut("song.mp3", &["1:30"])),
        (
            "Cut the recording talks/one.m4a at 0:45, 2:10 and 1:02:03",
            cut("talks/one.m4a", &["0:45", "2:10", "1:02:03"]),
        ),
        ("split song.mp3", String::new()),
        ("split song.mp3 at noon", String::new()),
        ("split report.pdf at 1:30", String::new()),
        ("split the bill at 1:30", String::new()),
        ("take a screenshot of example.org every day", String::new()),
        ("take a screenshot", String::new()),
        ("remind me to open example.org in the browser", String::new()),
        ("open example.org in the browser tomorrow", String::new()),
    ]);
    let opened = result("browser_navigate", json!({"url": "https://example.org"}), "“Example” is open.", false);
    const SAID: &str = "take a screenshot of example.org";
    assert_eq!(follows(SAID, std::slice::from_ref(&opened)), Some(Next::Call(("browser_screenshot", json!({})))));
    let taken =
        result("browser_screenshot", json!({"path": "a.png"}), "I saved a picture of the page as a.png.", false);
    let told = Next::Say("I saved a picture of the page as a.png.".to_owned());
    assert_eq!(follows(SAID, &[opened, taken]), Some(told));
    let failed = result("browser_navigate", json!({}), "There is no browser here.", true);
    assert_eq!(follows(SAID, &[failed]), Some(Next::Say("There is no browser here.".to_owned())));
}
