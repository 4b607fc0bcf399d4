//! Power cuts while schedules and triggers write: every due time is handled exactly once.
//!
//! `cargo test` cuts the power 12 times; `KILLS=200` as often as given. `SEED=…` repeats a run.

use crate::{
    harness::{Hob, Setup, until},
    hijack::make,
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

/// How many schedules are due at the same moment.
const TOGETHER: u64 = 32;

fn start() -> Hob {
    Hob::with(Setup { config: "[limits]\ncalls = 0\n".into(), ..Setup::default() })
}

/// What the `n`th schedule of a round does: a write, by ways as different as there are.
fn does(round: u64, n: u64) -> Value {
    let title = format!("round{round} {n}");
    match n % 6 {
        0 | 1 => {
            json!({"tool": "add_expense", "arguments": {"amount": n + 1, "category": "food", "description": title}})
        }
        2 => json!({"tool": "add_note", "arguments": {"title": title, "content": "kept"}}),
        3 => json!({"tool": "use_tool", "arguments": {"tool_name": "add_task", "arguments": {"title": title}}}),
        4 => json!({"tool": "batch_add_tasks", "arguments": {"tasks": [{"title": title}]}}),
        _ => json!({"message": title}),
    }
}

/// How often each of a round is there.
fn counts(hob: &Hob, round: u64) -> Vec<usize> {
    let search = format!("round{round}");
    let looks = [
        ("query_expenses", "expenses", "description"),
        ("list_notes", "notes", "title"),
        ("list_tasks", "tasks", "title"),
        ("list_notices", "notices", "text"),
    ];
    let mut found: Vec<String> = vec![];
    for (tool, all, name) in looks {
        let arguments = match tool {
            "list_notices" => json!({"limit": 50}),
            _ => json!({"search": search, "limit": 50}),
        };
        let listed = hob.result(tool, arguments);
        let listed = listed[all].as_array().unwrap_or_else(|| panic!("no {all}: {listed}")).clone();
        found.extend(listed.iter().filter_map(|one| one[name].as_str().map(str::to_owned)));
    }
    (0..TOGETHER).map(|n| found.iter().filter(|title| **title == format!("round{round} {n}")).count()).collect()
}

#[test]
fn scheduled_writes_happen_once_however_often_the_power_fails() {
    let kills = number("KILLS").unwrap_or(12);
    let (mut hob, mut dice) = (start(), dice("schedules"));
    let (mut killed, mut round, mut lost_answers) = (0, 0, 0);
    // For all of a round to be made before they are due: on a busy machine it takes longer.
    let mut ahead = Duration::from_secs(3);
    while killed < kills {
        let begun = Instant::now();
        let due = jiff::Timestamp::now() + jiff::SignedDuration::try_from(ahead).unwrap();
        for n in 0..TOGETHER {
            let mut task = does(round, n);
            (task["name"], task["schedule"]) = (json!(format!("task{round} {n}")), json!(due.to_string()));
            hob.call("create_scheduled_task", task).data(200);
        }
        ahead = (begun.elapsed() * 3).max(Duration::from_millis(1500));
        let wait = (due - jiff::Timestamp::now()).total(jiff::Unit::Millisecond).unwrap().max(0.0) as u64;
        sleep(Duration::from_millis(wait) + Duration::from_micros(dice.below(90_000)));
        // What is made up for after a start is cut short as well.
        for _ in 0..=dice.below(3) {
            hob.kill();
            killed += 1;
            hob.start_again();
            sleep(Duration::from_micros(dice.below(40_000)));
        }
        until("all is done", || counts(&hob, round).iter().all(|count| *count > 0));
        let runs = |n: u64| hob.result("get_task_history", json!({"taskId": format!("task{round} {n}")}));
        until("all has ended", || (0..TOGETHER).all(|n| runs(n).to_string().contains("\"ok\"")));
        for (n, count) in counts(&hob, round).into_iter().enumerate() {
            let history = runs(n as u64).to_string();
            assert_eq!(count, 1, "round {round}, schedule {n}: {history}");
            assert!(!history.contains("\"interrupted\"") && !history.contains("\"failed\""), "{history}");
            lost_answers += u64::from(history.contains("answer is lost"));
        }
        // Notices are listed fifty at a time.
        hob.call("dismiss_notice", json!({"noticeId": "all"}));
        round += 1;
    }
    // Nothing is made up for later.
    hob.kill();
    hob.start_again();
    sleep(Duration::from_millis(300));
    for round in 0..round {
        let doubled = counts(&hob, round).into_iter().any(|count| count > 1);
        assert!(!doubled, "round {round}: {:?}", counts(&hob, round));
    }
    println!("{killed} cuts, {} schedules, {lost_answers} done whose answer was lost", round * TOGETHER);
    hob.assert_alive();
}

#[test]
fn what_moves_something_or_runs_code_is_told_and_not_done_again() {
    let mut hob = start();
    // It writes, and then goes on for as long as it may.
    let code = "await utils.callTool('add_note', {title: args.title, content: 'kept'}); \
                const end = Date.now() + 4000; while (Date.now() < end) {} return 1;";
    make(&hob, "write_and_wait", code, &[]);
    hob.result(
        "create_scheduled_task",
        json!({"name": "Half", "schedule": "in 1 second", "tool": "write_and_wait", "arguments": {"title": "half done"}}),
    );
    let notes = |hob: &Hob| hob.result("list_notes", json!({"search": "half done"}))["notes"].as_array().unwrap().len();
    until("it has written", || notes(&hob) == 1);
    hob.kill();
    hob.start_again();
    let history = |hob: &Hob| hob.result("get_task_history", json!({"taskId": "Half"})).to_string();
    until("it is told", || history(&hob).contains("\"interrupted\""));
    assert!(history(&hob).contains("add_note"), "what was done is named: {}", history(&hob));
    until("the person is told", || {
        let notices = hob.result("list_notices", json!({"unseen": true})).to_string();
        notices.contains("was interrupted during")
    });
    assert_eq!(notes(&hob), 1);
    hob.assert_alive();
}

#[test]
fn what_a_trigger_does_happens_once_however_often_the_power_fails() {
    let kills = number("KILLS").map_or(8, |kills| kills / 4);
    let (mut hob, mut dice) = (start(), dice("triggers"));
    let trigger = json!({"name": "Echo", "type": "event", "config": {"topic": "tasks:changed", "match": {"change": "added"}},
                         "tool": "add_note", "arguments": {"title": "echo of {{data.id}}", "content": "kept"},
                         "cooldownSeconds": 0, "maxPerHour": 1000});
    hob.result("create_trigger", trigger);
    let mut tasks = vec![];
    for n in 0..kills {
        tasks.push(hob.result("add_task", json!({"title": format!("task {n}")}))["id"].clone());
        sleep(Duration::from_micros(dice.below(25_000)));
        hob.kill();
        hob.start_again();
    }
    let firings = |hob: &Hob| hob.result("get_trigger_history", json!({"triggerId": "Echo", "limit": 50}));
    until("all firings have ended", || {
        firings(&hob)["firings"].as_array().unwrap().iter().all(|firing| firing["status"] != "interrupted")
    });
    let fired = firings(&hob);
    assert!(fired["firings"].as_array().unwrap().iter().all(|firing| firing["status"] == "ok"), "{fired}");
    let mut echoes = 0;
    for id in &tasks {
        let found = hob.result("list_notes", json!({"search": id.as_str().unwrap()}));
        let count = found["notes"].as_array().unwrap().len();
        assert!(count <= 1, "{id} was echoed {count} times: {fired}");
        echoes += count;
    }
    // An event that nobody had noted when the power went is gone; what was noted is done.
    assert_eq!(fired["count"].as_u64().unwrap().min(50), (echoes as u64).min(50), "{fired}");
    println!("{kills} cuts, {echoes} firings");
    hob.assert_alive();
}
