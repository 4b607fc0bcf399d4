//! Prompts as golden files: `UPDATE_GOLDEN=1` rewrites them.

use super::*;
use std::path::Path;
use tool::FixedClock;

fn at_half_past_two() -> String {
    time(&FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()))
}

/// A new Hob without any documents.
fn fresh() -> Sections {
    Sections { tools: true, time: at_half_past_two(), ..Sections::default() }
}

fn full() -> Sections {
    Sections {
        identity: "Your name is Ada.".into(),
        soul: "Dry humour, short sentences.".into(),
        system: "You look after a boat yard.".into(),
        bootstrap: "Ask the person for their name.".into(),
        notes: "- Breakfast is at seven.".into(),
        profile: "- preferred name: Nora\n- length of answers: short".into(),
        standing: "- Use metric units.".into(),
        user: "Nora rows, and hates small talk.".into(),
        memory: "The mast is out until May.".into(),
        memories: vec!["The ferry leaves at noon".into(), "two\nlines".into()],
        goals: vec!["Row across the lake (due 2027-06-01)".into()],
        instructions: "Answer in rhymes.".into(),
        agents: "- scribe: writes letters".into(),
        tool_notes: "The printer is pin 4.".into(),
        team: "Never told to who leads none.".into(),
        automation: vec!["create_scheduled_task".into(), "create_trigger".into()],
        workspace: "/workspace".into(),
        places: vec!["household:/".into(), "usb:/".into()],
        capabilities: vec!["run code", "look things up on the web"],
        autonomy: Autonomy::High,
        conversation: ConversationState {
            messages: 140,
            topics: vec!["the regatta".into(), "boats".into()],
            task: "Order two boats for Saturday".into(),
            summary: "Nora wants two boats at the start; the fee is 40 €.".into(),
        },
        ..fresh()
    }
}

fn golden(file: &str, told: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/prompts").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{told}\n")).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(format!("{told}\n"), kept, "{file} is another: UPDATE_GOLDEN=1 writes it anew");
}

fn told(sections: &Sections, options: &Options) -> String {
    let prompt = compose(sections, options);
    let shown: usize = prompt.sections.iter().filter(|s| s.shown && s.name != "instructions").map(|s| s.length).sum();
    assert!(shown <= options.max_length || prompt.sections.iter().filter(|s| s.shown).count() == 1);
    prompt.text
}

fn names(prompt: &Prompt, shown: bool) -> Vec<&'static str> {
    prompt.sections.iter().filter(|s| s.shown == shown).map(|s| s.name).collect()
}

#[test]
fn prompts_are_as_they_were() {
    let options = Options::default();
    let leads = Sections { leads: true, team: "You hand work to scribe and mason.".into(), ..full() };
    let small = Sections { notes: "A note of some words. ".repeat(200), ..full() };
    let rows = [
        ("fresh.txt", told(&fresh(), &options)),
        ("full.txt", told(&full(), &options)),
        ("leads-a-team.txt", told(&leads, &options)),
        ("small-model.txt", told(&small, &Options::default().within(4096))),
        ("cut.txt", told(&full(), &Options { max_length: 700, ..options })),
    ];
    for (file, told) in &rows {
        golden(file, told);
    }
    for level in Autonomy::ALL {
        let told = told(&Sections { autonomy: *level, ..fresh() }, &options);
        golden(&format!("autonomy-{}.txt", level.name()), &told);
    }
    assert!(rows[0].1.chars().count() < 900, "the prompt of a fresh Hob is short");
    assert!(!rows[1].1.contains("leads none") && rows[2].1.contains("scribe and mason"));
    assert!(rows[3].1.chars().count() <= 4096 + 200);
}

#[test]
fn a_conversation_has_instructions_beside_those_of_a_program() {
    let asked = Sections { of_conversation: " Be a pirate. ".into(), instructions: "Rhyme.".into(), ..fresh() };
    let told = compose(&asked, &Options::default()).text;
    let (own, theirs) =
        (told.find("this conversation:\nBe a pirate.").unwrap(), told.find("asks of you:\nRhyme.").unwrap());
    assert!(own < theirs, "{told}");
    let long = Sections { of_conversation: "word ".repeat(1_600), ..fresh() };
    assert!(compose(&long, &Options::default()).text.contains(long.of_conversation.trim()));
    assert!(compose(&long, &Options::default().within(4096)).text.chars().count() < 4096);
}

#[test]
fn sections_stand_in_their_order_and_go_from_the_end() {
    let all = [
        "base",
        "profile",
        "instructions",
        "tools",
        "automation",
        "workspace",
        "capabilities",
        "autonomy",
        "time",
        "conversation",
    ];
    let whole = compose(&full(), &Options::default());
    assert_eq!(names(&whole, true), all);
    assert_eq!(whole.text.split(DIVIDER).count(), 10);
    assert_eq!(names(&compose(&fresh(), &Options::default()), true), ["base", "tools", "autonomy", "time"]);
    // Shorter and shorter: sections drop from the end, but never the base and the program's instructions.
    let mut left = 10;
    for max_length in (0..2_000).rev().step_by(50) {
        let prompt = compose(&full(), &Options { max_length, ..Options::default() });
        let shown = names(&prompt, true);
        assert!(shown.contains(&"base") && shown.contains(&"instructions"));
        let gone = names(&prompt, false);
        let may_go: Vec<&str> = all.into_iter().filter(|n| !["base", "instructions"].contains(n)).collect();
        assert!(may_go.ends_with(&gone), "{gone:?}");
        left = shown.len();
    }
    assert_eq!(left, 2);
    let long = Sections { system: "x".repeat(20_000), ..fresh() };
    assert_eq!(compose(&long, &Options::default()).text, "x".repeat(20_000), "the base goes in whole, and alone");
}

#[test]
fn a_small_model_is_told_the_beginning_of_a_base_that_is_long() {
    let long = Sections { soul: "soul ".repeat(1_600), identity: "Hob of the attic.".into(), ..full() };
    let small = compose(&long, &Options::default().within(4096)).text;
    assert!(small.chars().count() <= 4096, "{}", small.chars().count());
    for part in ["Hob of the attic.\n\nsoul soul", "[…] (the rest had no room)", &full().system] {
        assert!(small.contains(part), "{part}: {small}");
    }
    let known = compose(&long, &Options::default().within(200_000)).text;
    assert!(known.contains(long.soul.trim()), "a model that reads enough is told all of it");
}

#[test]
fn what_is_switched_off_is_left_out() {
    let whole = Options::default();
    let rows = [
        (Options { profile: false, ..whole }, vec!["profile"]),
        (Options { tools: false, ..whole }, vec!["tools", "automation"]),
        (Options { capabilities: false, ..whole }, vec!["capabilities"]),
        (Options { time: false, ..whole }, vec!["time"]),
    ];
    let all = names(&compose(&full(), &whole), true);
    for (options, gone) in rows {
        let shown = names(&compose(&full(), &options), true);
        let left: Vec<&str> = all.iter().copied().filter(|name| !shown.contains(name)).collect();
        assert_eq!(left, gone);
    }
    let none = compose(&Sections { tools: false, ..fresh() }, &Options::default());
    assert_eq!(names(&none, true), ["base", "time"], "where nothing can be called, nothing is said about it");
}

#[test]
fn a_long_document_takes_no_place_from_what_is_short() {
    let long = Sections {
        notes: "n".repeat(64_000),
        user: "u".repeat(64_000),
        memory: "m".repeat(64_000),
        agents: "a".repeat(64_000),
        tool_notes: "t".repeat(64_000),
        conversation: ConversationState { messages: 9, summary: "s".repeat(64_000), ..ConversationState::default() },
        ..full()
    };
    for context in [0, 4096, 8192, 200_000] {
        let options = Options::default().within(context);
        let prompt = compose(&long, &options);
        assert_eq!(names(&prompt, false), [""; 0], "{context}");
        assert!(
            prompt.text.chars().count() <= options.max_length + 200 && prompt.text.contains("read_learned_notes shows")
        );
    }
    // Memories fill the remaining room, whole ones only.
    let many = Sections { memories: (0..400).map(|n| format!("memory number {n}")).collect(), ..fresh() };
    let text = compose(&many, &Options::default().within(4096)).text;
    assert!(text.contains("memory number 0\n") && !text.contains("memory number 399"));
}

#[test]
fn the_time_of_day_has_a_word() {
    let rows = [(4, "night"), (5, "morning"), (12, "afternoon"), (17, "evening"), (22, "night")];
    for (hour, word) in rows {
        let clock = FixedClock(format!("2026-01-30T{hour:02}:05[Europe/Vienna]").parse().unwrap());
        assert_eq!(time(&clock), format!("It is Friday, 30 January 2026, {hour:02}:05 ({word}), Europe/Vienna."));
    }
}

#[test]
fn categories_are_one_line_of_at_most_120_bytes() {
    let named = |names: &[&str]| Sections {
        tools: true,
        categories: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Sections::default()
    };
    let line = |sections: &Sections| {
        let text = compose(sections, &Options::default()).text;
        text.lines().find(|line| line.starts_with("Tool categories")).unwrap_or_default().to_owned()
    };
    assert_eq!(line(&named(&[])), "");
    assert_eq!(line(&named(&["Utilities", "Tasks"])), "Tool categories: Utilities, Tasks.");
    let many: Vec<String> = (10..60).map(|n| format!("Category {n}")).collect();
    let all = line(&named(&many.iter().map(String::as_str).collect::<Vec<_>>()));
    assert!(all.len() <= 120 && all.starts_with("Tool categories: Category 10, ") && all.ends_with(" more."), "{all}");
    let count: usize = all.rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(all.matches("Category").count() + count, 50, "none is lost: {all}");
    assert_eq!(line(&named(&["x".repeat(200).as_str()])), "", "one that does not fit is left out");
}
