//! Runs that are suspended on a person while the conversation continues, is deleted, or loses its person.

use super::lives::*;
use crate::{ChatRequest, Persistence, Preset, RunEvent, RunHandle, State};
use futures::FutureExt;
use llm::{Delta, ToolCall};
use registry::Approval;
use tool::{Id, prelude::json};

/// A house in which calls do not wait for an answer.
fn impatient() -> World {
    let mut world = World::new();
    world.waits.in_call_seconds = 0;
    world
}

fn wipes(name: &'static str) -> Does {
    Calls(vec![("a", "wipe", name)])
}

/// All approvals, in any state.
fn asked(life: &Life) -> Vec<Approval> {
    life.agent.parts.registry.approvals().unwrap().list(None, |_| true, None, 99).unwrap()
}

fn open(life: &Life) -> Vec<Approval> {
    asked(life).into_iter().filter(|a| a.state == registry::State::Pending).collect()
}

/// Waits until the run is suspended; returns its id and its conversation's.
fn rests(life: &Life, running: RunHandle) -> (Id, Id) {
    let (run, conversation) = (running.run, running.conversation.unwrap());
    let end = life.end(running);
    assert!(matches!(&end, RunEvent::Done(answer) if answer.waiting.len() == 1), "{end:?}");
    life.comes_to(run, State::Waiting);
    (run, conversation)
}

fn more(life: &Life, text: &str, conversation: Id) {
    life.end(
        life.say(ChatRequest { message: text.into(), conversation: Some(conversation), ..ChatRequest::default() })
            .unwrap(),
    );
}

/// Approves the only open question.
fn agrees(life: &Life) {
    let answer = serde_json::from_value(json!({"decision": "allow_once"})).unwrap();
    let id = open(life)[0].id;
    let (_, resume) = life.runtime.block_on(life.agent.parts.registry.settle(&life.cx, id, answer)).unwrap();
    let _in = life.runtime.enter();
    life.agent.wake(life.cx.ports(), resume.unwrap());
}

/// Starts a request and drops it before it is done.
fn leaves<T>(life: &Life, asking: impl Future<Output = T>) {
    life.runtime.block_on(async { drop(asking.now_or_never()) });
}

#[test]
fn a_call_that_was_agreed_to_is_told_of_also_when_the_answer_is_cut_short() {
    for by_error in [false, true] {
        let world = impatient();
        let mut acts = vec![wipes("one"), Says("fine")];
        if !by_error {
            acts.push(Hangs("one is"));
        }
        let life = world.lives(acts);
        let (run, conversation) = rests(&life, life.begin("go"));
        more(&life, "and you?", conversation);
        agrees(&life);
        let life = match by_error {
            true => {
                life.comes_to(run, State::Failed);
                life.killed();
                let life = world.lives(vec![Says("one is gone")]);
                let _in = life.runtime.enter();
                life.runtime.block_on(life.agent.resume(&life.cx, run)).unwrap();
                drop(_in);
                life
            }
            false => {
                life.wait("the third answer", || world.asked() == 3);
                life.killed();
                world.recovers(vec![Says("one is gone")])
            }
        };
        life.comes_to(run, State::Done);
        assert_eq!(life.kept(conversation), ["go", "wipe", "and you?", "fine", "! did one", "one is gone"]);
        assert_eq!(world.done(), ["one"]);
    }
}

#[test]
fn a_model_that_tells_of_a_late_result_sees_it() {
    let all: &[&str] = &["> and you?", "fine", "> go", "wipe", "! did one"];
    for (max_messages, shown) in [(100, all), (2, &all[2..])] {
        let mut world = impatient();
        world.config.max_messages = max_messages;
        let mut acts = vec![wipes("one"), Says("fine"), Says("well")];
        if max_messages == 2 {
            acts.insert(1, Says("a summary"));
        }
        let life = world.lives(acts);
        let (run, conversation) = rests(&life, life.begin("go"));
        more(&life, "and you?", conversation);
        agrees(&life);
        life.comes_to(run, State::Done);
        assert_eq!(world.shown(), shown, "{max_messages}");
        assert_eq!(life.kept(conversation).last().unwrap(), "well");
    }
}

#[test]
fn what_acts_by_word_tells_of_a_late_result_too() {
    let mut world = impatient();
    let life = world.lives(vec![wipes("one"), Says("fine")]);
    let (run, conversation) = rests(&life, life.begin("go"));
    more(&life, "and you?", conversation);
    life.killed();
    world.by_word = true;
    let life = world.recovers(vec![Says("one is gone")]);
    agrees(&life);
    life.comes_to(run, State::Done);
    assert_eq!(life.kept(conversation).last().unwrap(), "one is gone");
}

#[test]
fn a_yes_counts_however_far_the_conversation_has_gone_on() {
    let mut world = impatient();
    (world.config.max_messages, world.config.max_tool_calls) = (3, 1);
    let mut acts = vec![wipes("one")];
    acts.extend((0..50).map(|_| Says("x")));
    let life = world.lives(acts);
    let (run, conversation) = rests(&life, life.begin("go"));
    (0..10).for_each(|_| more(&life, "and you?", conversation));
    agrees(&life);
    life.comes_to(run, State::Done);
    assert_eq!(
        (world.done(), world.shown()[..3].to_vec()),
        (vec!["one".into()], vec!["> go".to_owned(), "wipe".into(), "! did one".into()])
    );
}

#[test]
fn what_is_kept_no_longer_than_its_run_stays_while_another_waits_in_it() {
    let mut world = impatient();
    world.config.persistence = Persistence::None;
    let life = world.lives(vec![wipes("one"), Says("fine"), Says("one is gone")]);
    let (run, conversation) = rests(&life, life.begin("go"));
    more(&life, "and you?", conversation);
    assert_eq!((life.run(run).run.state, open(&life).len()), (State::Waiting, 1));
    agrees(&life);
    life.wait("the end of it", || life.agent.conversation(&life.cx, conversation).is_err());
    assert_eq!((world.done(), asked(&life).len()), (vec!["one".to_owned()], 0));
}

#[test]
fn a_run_goes_on_also_when_whoever_had_it_go_on_is_gone() {
    let world = World::new();
    let life = world.lives(vec![Gives(vec![Err(llm::Error::Broken("it stopped".into()))]), Says("all")]);
    let running = life.begin("go");
    let run = running.run;
    life.end(running);
    leaves(&life, life.agent.resume(&life.cx, run));
    life.comes_to(run, State::Done);
}

#[test]
fn what_is_deleted_emptied_or_stopped_asks_nothing_more_whoever_goes_away() {
    for reset in [false, true] {
        let life = impatient().lives(vec![wipes("one")]);
        let (_, conversation) = rests(&life, life.begin("go"));
        match reset {
            true => leaves(&life, life.agent.reset(&life.cx, conversation)),
            false => leaves(&life, life.agent.delete_conversation(&life.cx, conversation)),
        }
        let found = || life.agent.conversation(&life.cx, conversation);
        life.wait("it to be gone", || found().map_or(!reset, |found| found.messages.is_empty()));
        assert!(asked(&life).is_empty(), "reset: {reset}");
    }
    let life = impatient().lives(vec![wipes("one")]);
    let (run, _) = rests(&life, life.begin("go"));
    leaves(&life, life.agent.stop(&life.cx, run));
    life.comes_to(run, State::Cancelled);
    life.wait("nothing to be asked", || open(&life).is_empty());
}

#[test]
fn a_run_that_is_over_asks_nobody_after_a_start() {
    let world = impatient();
    let call = |id: &str, name: &str, arguments: &str| {
        Ok(Delta::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }))
    };
    let both = vec![call("a", "wipe", r#"{"name":"one"}"#), call("b", "ask_user", r#"{"question":"Which?"}"#), done()];
    let life = world.lives(vec![Gives(both)]);
    let running = life.begin("go");
    let run = running.run;
    life.end(running);
    life.comes_to(run, State::Waiting);
    let asked = |life: &Life| life.agent.parts.questions.of_run(life.cx.user(), run).len();
    assert_eq!((open(&life).len(), asked(&life)), (1, 2));
    // A power cut comes after the stop is stored, and before its questions have ended.
    let ends = |run: &mut crate::conversation::StoredRun| run.ends(State::Cancelled, "cancelled", "stopped");
    life.runtime.block_on(life.agent.conversations.change_run(life.cx.user(), run, ends)).unwrap();
    life.killed();
    let life = world.recovers(vec![]);
    assert_eq!((open(&life).len(), asked(&life)), (0, 0));
}

#[test]
fn a_deletion_that_is_cut_short_leaves_a_run_that_asks_again() {
    let world = impatient();
    let life = world.lives(vec![wipes("one")]);
    let (run, conversation) = rests(&life, life.begin("go"));
    let (questions, first) = (life.agent.parts.questions.clone(), open(&life)[0].id);
    life.runtime.block_on(questions.forget_conversation(life.cx.user(), conversation)).unwrap();
    life.killed();
    let life = world.recovers(vec![Says("one is gone")]);
    life.wait("the question", || open(&life).len() == 1 && open(&life)[0].id != first);
    life.comes_to(run, State::Waiting);
    agrees(&life);
    life.comes_to(run, State::Done);
    assert_eq!(world.done(), ["one"]);
}

#[test]
fn a_late_yes_does_not_bring_back_what_was_deleted() {
    for head_too in [true, false] {
        let world = impatient();
        let life = world.lives(vec![wipes("one"), Says("never")]);
        let (_, conversation) = rests(&life, life.begin("go"));
        let user = life.cx.user();
        // Its question still exists.
        life.runtime.block_on(life.agent.conversations.empty(user, conversation, head_too)).unwrap();
        agrees(&life);
        life.wait("nothing under way", || life.agent.queue.runs_of(user).is_empty());
        assert_eq!(life.agent.runs(&life.cx, &[], None, None, (0, 9)).unwrap().count, 0, "{head_too}");
        assert_eq!((world.asked(), world.done().len()), (1, 0));
        life.killed();
        let life = world.recovers(vec![Says("never")]);
        assert_eq!((life.agent.queue.runs_of(user).len(), world.asked()), (0, 1));
    }
}

#[test]
fn what_was_asked_goes_with_the_conversations_of_a_session() {
    let mut world = impatient();
    world.config.persistence = Persistence::Session;
    let life = world.lives(vec![wipes("one"), Says("one is gone")]);
    let (run, conversation) = rests(&life, life.begin("go"));
    agrees(&life);
    life.comes_to(run, State::Done);
    assert_eq!(asked(&life).len(), 1);
    life.killed();
    let life = world.recovers(vec![]);
    life.wait("it to be gone", || life.agent.conversation(&life.cx, conversation).is_err());
    assert!(asked(&life).is_empty());
}

#[test]
fn a_message_that_was_stopped_as_its_turn_came_is_not_answered() {
    let world = World::new();
    let life = world.lives(vec![Says("fine"), Says("never")]);
    let first = life.begin("go");
    let (user, conversation) = (life.cx.user(), first.conversation);
    life.end(first);
    let token = tokio_util::sync::CancellationToken::new();
    let busy = life.agent.enter(Id::new(), user, conversation, token, false).unwrap();
    let second = life.queue("more", conversation).unwrap();
    let run = second.run;
    // Its turn has already come, so the queue does not notify it.
    let ends = |run: &mut crate::conversation::StoredRun| run.ends(State::Cancelled, "cancelled", "stopped");
    life.runtime.block_on(life.agent.conversations.change_run(user, run, ends)).unwrap();
    drop(busy);
    assert_eq!(error(&life.end(second)).0, "cancelled");
    assert_eq!(life.comes_to(run, State::Cancelled).steps.len(), 0);
    assert_eq!((life.kept(conversation.unwrap()), world.asked()), (vec!["go".to_owned(), "fine".into()], 1));
}

#[test]
fn calls_that_go_one_by_one_stay_behind_one_that_waits() {
    for cut in [false, true] {
        let world = impatient();
        let all = vec![("a", "mark", "one"), ("b", "wipe", "two"), ("c", "mark", "three"), ("d", "wipe", "four")];
        let mut life = world.lives(vec![Calls(all), Says("well")]);
        let say = ChatRequest { message: "go".into(), preset: Preset::Orchestrator, ..ChatRequest::default() };
        let (run, _) = rests(&life, life.say(say).unwrap());
        assert_eq!((world.done(), open(&life).len()), (vec!["one".to_owned()], 1));
        if cut {
            // A power cut comes before the suspension is stored.
            let runs = |run: &mut crate::conversation::StoredRun| run.state = State::Running;
            life.runtime.block_on(life.agent.conversations.change_run(life.cx.user(), run, runs)).unwrap();
            life.killed();
            life = world.recovers(vec![Says("well")]);
            life.comes_to(run, State::Waiting);
            assert_eq!((world.done(), open(&life).len()), (vec!["one".to_owned()], 1));
        }
        agrees(&life);
        life.wait("the next question", || open(&life).len() == 1);
        life.comes_to(run, State::Waiting);
        assert_eq!(world.done(), ["one", "two", "three"]);
        agrees(&life);
        life.comes_to(run, State::Done);
        assert_eq!(world.done(), ["one", "two", "three", "four"]);
    }
}
