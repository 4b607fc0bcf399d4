//! Talking back: what is said after an exchange, and what the records are then.

use crate::harness::{Hob, Setup};
use serde_json::{Value, json};

/// One conversation.
struct Talk<'h> {
    hob: &'h Hob,
    id: Option<String>,
}

impl Talk<'_> {
    fn say(&mut self, text: &str) -> String {
        let mut body = json!({"message": text});
        if let Some(id) = &self.id {
            body["conversationId"] = id.as_str().into();
        }
        let answer = self.hob.post("/api/v1/chat", body).data(200);
        self.id = answer["conversationId"].as_str().map(str::to_owned);
        answer["response"].as_str().unwrap().to_owned()
    }
}

fn talk(hob: &Hob) -> Talk<'_> {
    Talk { hob, id: None }
}

/// What the records of a list say, in order.
fn told(hob: &Hob, list: &str, arguments: Value, plural: &str, key: &str) -> Vec<String> {
    let found = hob.result(list, arguments);
    let mut all: Vec<String> =
        found[plural].as_array().unwrap().iter().map(|one| one[key].to_string().replace('"', "")).collect();
    all.sort();
    all
}

fn items(hob: &Hob, list: &str) -> Vec<String> {
    told(hob, "list_tasks", json!({"category": list, "status": "pending"}), "tasks", "title")
}

#[test]
fn a_list_is_put_right_by_talking() {
    let mut hob = Hob::start();
    let mut one = talk(&hob);
    one.say("add bread to the shopping list");
    one.say("not bread sorry, bagels");
    assert_eq!(items(&hob, "shopping"), ["bagels"]);
    one.say("and eggs");
    one.say("make it a dozen eggs");
    one.say("oh and butter too please");
    assert_eq!(items(&hob, "shopping"), ["a dozen eggs", "bagels", "butter"]);
    // The correction is undone, not the item.
    one.say("scratch that");
    assert_eq!(items(&hob, "shopping"), ["a dozen eggs", "bagels"]);
    one.say("what is on the shopping list");
    assert_eq!(one.say("how many is that?"), "2 tasks.");
    let asked = one.say("delete it");
    assert!(asked.starts_with("Which one: "), "{asked}");
    let asked = one.say("the bagels");
    assert!(asked.starts_with("Shall I delete the task “bagels”?"), "{asked}");
    assert_eq!(items(&hob, "shopping").len(), 2);
    one.say("yes");
    assert_eq!(items(&hob, "shopping"), ["a dozen eggs"]);
    one.say("bring it back");
    assert_eq!(items(&hob, "shopping"), ["a dozen eggs", "bagels"]);
    one.say("what is on the shopping list");
    one.say("the first two are done");
    assert!(items(&hob, "shopping").is_empty());
    hob.assert_alive();
}

#[test]
fn times_are_put_right_by_talking() {
    let mut hob = Hob::with(Setup { config: "time_zone = \"Europe/Vienna\"".into(), ..Setup::default() });
    let mut one = talk(&hob);
    one.say("wake me at 7");
    let said = one.say("no, I meant 6");
    assert!(said.contains("06:00"), "{said}");
    one.say("make that half past");
    let alarms = told(&hob, "list_scheduled_tasks", json!({}), "tasks", "schedule");
    assert!(alarms.len() == 1 && alarms[0].ends_with("T06:30"), "{alarms:?}");

    let mut two = talk(&hob);
    two.say("add dentist on 5 march 2031 at 3 pm to my calendar");
    two.say("it should be 4");
    two.say("remind me an hour before that");
    let events = told(&hob, "list_calendar_events", json!({"endDate": "2031-12-31"}), "events", "startTime");
    assert_eq!(events, ["2031-03-05T16:00:00+01:00"]);
    let reminders = told(&hob, "list_scheduled_tasks", json!({}), "tasks", "schedule");
    assert!(reminders.contains(&"2031-03-05T15:00".to_owned()), "{reminders:?}");

    let mut three = talk(&hob);
    three.say("set a pizza timer for 12 minutes");
    three.say("and the garlic bread, fourteen");
    three.say("no, 15");
    assert_eq!(told(&hob, "list_timers", json!({}), "timers", "name"), ["garlic bread", "pizza"]);
    let said = three.say("what timers are set?");
    assert!(said.contains("15 minutes left") || said.contains("14 minutes and 5"), "{said}");
    three.say("pause both of them");
    assert_eq!(told(&hob, "list_timers", json!({}), "timers", "state"), ["paused", "paused"]);
    hob.assert_alive();
}

#[test]
fn what_is_set_is_moved_ended_and_cancelled_by_talking() {
    let mut hob = Hob::with(Setup { config: "time_zone = \"Europe/Vienna\"".into(), ..Setup::default() });
    let mut one = talk(&hob);
    let schedules = || told(&hob, "list_scheduled_tasks", json!({}), "tasks", "schedule");
    one.say("remind me to call Bob on 5 march 2031 at 16:00");
    one.say("move it to 5");
    assert_eq!(schedules(), ["2031-03-05T17:00"]);
    one.say("half an hour earlier");
    assert_eq!(schedules(), ["2031-03-05T16:30"]);
    one.say("push the reminder back an hour");
    assert_eq!(schedules(), ["2031-03-05T17:30"]);
    one.say("remind me every day except sunday at 8 to take my pills");
    let said = one.say("cancel all my reminders");
    assert!(said.contains("I cancelled nothing yet"), "{said}");
    one.say("show my reminders");
    let asked = one.say("cancel all my reminders");
    assert!(asked.starts_with("Shall I delete “") && asked.contains("pills”"), "{asked}");
    assert_eq!(schedules(), ["0 8 * * 1,2,3,4,5,6", "2031-03-05T17:30"]);
    one.say("yes");
    assert!(schedules().is_empty());

    let mut two = talk(&hob);
    let events = || told(&hob, "list_calendar_events", json!({"endDate": "2031-12-31"}), "events", "title");
    two.say("put football on 5 march 2031 at 6 pm in the calendar");
    // It is on the day before.
    let said = two.say("no football on 6 march 2031");
    assert!(said.starts_with("I changed nothing."), "{said}");
    two.say("yes");
    assert_eq!(events(), ["football"]);
    two.say("what's on 5 march 2031");
    let asked = two.say("there's no football on 5 march 2031");
    assert!(asked.starts_with("Shall I take “football” out of the calendar?"), "{asked}");
    assert_eq!(events(), ["football"]);
    two.say("yes");
    assert!(events().is_empty());
    hob.assert_alive();
}

#[test]
fn the_exchange_is_talked_about() {
    let mut hob = Hob::start();
    let mut one = talk(&hob);
    assert_eq!(one.say("remember that the key is at Ana's"), "I will remember: the key is at Ana's.");
    assert_eq!(one.say("what did I just ask you?"), "You said: “remember that the key is at Ana's”.");
    one.say("remember that the bins go out on monday");
    let said = one.say("forget it");
    assert!(said.contains("stays"), "{said}");
    assert_eq!(told(&hob, "list_memories", json!({}), "memories", "content").len(), 2);
    one.say("what is 12 * 12?");
    assert_eq!(one.say("and divided by five?"), "144 / 5 = 28.8.".replace('/', "÷"));
    assert_eq!(one.say("say that again"), "144 ÷ 5 = 28.8.");
    assert_eq!(one.say("lovely, thank you"), "You are welcome.");
    // Nothing that was never shown is meant.
    let said = talk(&hob).say("delete them all");
    assert!(!said.starts_with("Shall I delete “"), "{said}");
    hob.assert_alive();
}

#[test]
fn a_question_of_hob_takes_the_answer() {
    let mut hob = Hob::start();
    let mut one = talk(&hob);
    for text in ["set a pizza timer for 12 minutes", "set a rice timer for 20 minutes"] {
        one.say(text);
    }
    let asked = one.say("pause the timer");
    assert!(asked.starts_with("Which timer: "), "{asked}");
    let said = one.say("the rice one");
    assert!(said.starts_with("Rice timer paused"), "{said}");
    assert_eq!(one.say("remind me to call Ana").split(' ').next(), Some("When?"));
    let said = one.say("tomorrow at 5");
    assert!(said.contains("call Ana") && said.contains("tomorrow"), "{said}");
    hob.assert_alive();
}

#[test]
fn what_an_attacker_said_changes_nothing_wrongly() {
    let mut hob = Hob::with(Setup { config: "time_zone = \"Europe/Vienna\"".into(), ..Setup::default() });
    // What was true before overwrites nothing.
    let mut one = talk(&hob);
    one.say("add a contact Anna phone 0664 1234567");
    for text in ["Anna's old number is 0664 9999999", "Anna used to have 0664 888888", "yes"] {
        one.say(text);
        assert_eq!(told(&hob, "list_contacts", json!({}), "contacts", "phone"), ["0664 1234567"], "{text}");
    }
    // A contradiction is no yes.
    one.say("add milk to the shopping list");
    for text in ["we don't need milk", "yes we do"] {
        one.say(text);
        assert_eq!(items(&hob, "shopping"), ["milk"], "{text}");
    }
    // Undo after a failure names what it would take back.
    one.say("delete the task zebra");
    let said = one.say("undo that");
    assert!(said.starts_with("Your last request changed nothing"), "{said}");
    assert_eq!(items(&hob, "shopping"), ["milk"]);
    one.say("undo");
    assert!(items(&hob, "shopping").is_empty());
    // One thing instead of another.
    one.say("add milk, eggs and bread to the shopping list");
    one.say("put butter on the shopping list instead of eggs");
    assert_eq!(items(&hob, "shopping"), ["bread", "butter", "milk"]);
    let said = talk(&hob).say("add oat milk instead of cream to the shopping list");
    assert!(said.starts_with("Is “cream” on the list already?"), "{said}");
    assert_eq!(items(&hob, "shopping"), ["bread", "butter", "milk"]);
    // A new list takes a name and items, and no questions.
    let mut two = talk(&hob);
    assert!(two.say("start a new list").starts_with("What is the new list called?"));
    two.say("what's the weather like");
    let mut three = talk(&hob);
    assert_eq!(three.say("make a new list for the garage"), "What goes on the garage list?");
    three.say("why is it cold");
    assert!(items(&hob, "garage").is_empty());
    // A currency that was named once is not the household's.
    let mut four = talk(&hob);
    four.say("I spent 12 dollars on lunch");
    four.say("I spent 5 on coffee");
    assert_eq!(told(&hob, "query_expenses", json!({}), "expenses", "currency"), ["EUR", "USD"]);
    // A reminder moves near its time.
    let mut five = talk(&hob);
    let schedules = || told(&hob, "list_scheduled_tasks", json!({}), "tasks", "schedule");
    five.say("remind me to call Ben on 5 march 2031 at 16:00");
    five.say("move the reminder to call Ben to 6");
    assert_eq!(schedules(), ["2031-03-05T18:00"]);
    five.say("move the reminder to call Ben an hour earlier");
    assert_eq!(schedules(), ["2031-03-05T17:00"]);
    let said = talk(&hob).say("move the reminder to call Ben to 6");
    assert!(said.starts_with("Shall I change the reminder “call Ben”"), "{said}");
    assert_eq!(schedules(), ["2031-03-05T17:00"]);
    hob.assert_alive();
}
