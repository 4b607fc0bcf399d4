//! Runs that are interrupted by a power cut or a stop, and resumed.

use super::lives::*;
use crate::{CallState, ChatRequest, RunEvent, RunStep, State};
use std::sync::Arc;
use tool::{Id, Role};

const CUT: &str =
    "! Error: it was cut short while `hang` ran: it is not known whether it was done; look before doing it again";

fn begins(step: &RunEvent) -> bool {
    matches!(step, RunEvent::ToolStart { .. })
}

const UNKNOWN: &str = "! Error: the device lost power while `hang` ran: it is not known whether it was done; \
                       look before doing it again";

#[test]
fn an_answer_half_said_is_asked_for_again() {
    let world = World::new();
    let life = world.lives(vec![Hangs("half an")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    let life = world.recovers(vec![Says("all of it")]);
    let run = life.comes_to(running.run, State::Done).run;
    assert_eq!((run.resumed, run.turns, run.error.is_none()), (1, 1, true));
    assert_eq!(life.kept(running.conversation.unwrap()), ["go", "all of it"]);
    assert_eq!(world.shown(), ["> go"]);
    life.killed();
    let asked = world.asked();
    let life = world.recovers(vec![]);
    life.wait("nothing under way", || life.agent.queue.runs_of(life.cx.user()).is_empty());
    assert_eq!(world.asked(), asked, "what is done is left alone");
}

#[test]
fn what_was_done_is_not_done_again_and_what_is_not_known_is_said() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "mark", "one"), ("b", "hang", "two"), ("c", "slow", "three")])]);
    let running = life.begin("go");
    life.wait("all three", || world.done().len() == 3);
    life.wait("the first result", || life.kept(running.conversation.unwrap()).len() == 3);
    let steps = life.run(running.run).steps;
    let states: Vec<CallState> =
        steps.iter().filter_map(|s| if let RunStep::Call { state, .. } = s { Some(*state) } else { None }).collect();
    assert_eq!(states, [CallState::Done, CallState::Begun, CallState::Begun]);
    life.killed();
    let life = world.recovers(vec![Says("well")]);
    life.comes_to(running.run, State::Done);
    // Only the idempotent call was repeated.
    let mut done = world.done();
    done.sort();
    assert_eq!(done, ["one", "three", "three", "two"]);
    assert_eq!(world.shown(), ["> go", "mark+hang+slow", "! did one", UNKNOWN, "! did three"]);
}

#[test]
fn the_store_knows_which_calls_have_changed_it() {
    let world = World::new();
    // One writes before it hangs, and one hangs before it writes.
    let life = world.lives(vec![Calls(vec![("a", "keep", "one"), ("b", "later", "two")])]);
    let running = life.begin("go");
    life.wait("both", || world.done().len() == 2);
    life.killed();
    let life = world.recovers(vec![Says("well")]);
    life.comes_to(running.run, State::Done);
    let mut done = world.done();
    done.sort();
    assert_eq!(done, ["one", "two", "two"]);
    let shown = world.shown();
    assert!(shown[2].starts_with("! this was done right before Hob was interrupted"), "{shown:?}");
    assert_eq!((shown[1].as_str(), shown[3].as_str()), ("keep+later", "! did two"));
    let key = store::effect_key(running.run, "a");
    assert_eq!(world.store.effect(key).unwrap(), None, "the mark goes with the result");
}

#[test]
fn what_had_not_begun_is_made() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "mark", "one"), ("b", "wipe", "two")])]);
    let say = ChatRequest { message: "go".into(), watch: Some(Arc::new(Holds)), ..ChatRequest::default() };
    let mut running = life.say(say).unwrap();
    life.until(&mut running, begins);
    life.killed();
    assert!(world.done().is_empty());
    let mut world = world;
    // A call that the person requested literally needs no approval.
    world.by_word = true;
    let life = world.recovers(vec![Says("well")]);
    life.wait("the call", || world.done() == ["one"]);
    // But this one was requested by a model.
    let open = || life.agent.parts.registry.approvals().unwrap().list(None, |_| true, None, 9).unwrap();
    life.wait("the question", || open().len() == 1);
    assert_eq!(open()[0].tool, "wipe");
}

#[test]
fn turns_with_the_same_ids_are_told_apart() {
    let world = World::new();
    let again = |with| Calls(vec![("call_0", "mark", with)]);
    let life = world.lives(vec![again("one"), again("two"), Calls(vec![("call_0", "hang", "three")])]);
    let running = life.begin("go");
    life.wait("the third", || world.done().len() == 3);
    life.killed();
    let life = world.recovers(vec![again("four"), Says("well")]);
    let run = life.comes_to(running.run, State::Done);
    assert_eq!((run.run.turns, run.run.tool_calls), (5, 4));
    assert_eq!(world.done(), ["one", "two", "three", "four"]);
    let shown = world.shown();
    assert_eq!(shown[2..], ["! did one", "mark", "! did two", "hang", UNKNOWN, "mark", "! did four"]);
}

#[test]
fn what_cuts_it_short_again_and_again_is_given_up() {
    let world = World::new();
    let life = world.lives(vec![Hangs("")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    for n in 1..crate::conversation::KILLS {
        let life = world.recovers(vec![Hangs("")]);
        let asked = n as usize + 1;
        life.wait("the model to be asked", || world.asked() == asked);
        // An orderly shutdown does not count.
        if n == 2 {
            life.runtime.block_on(life.agent.stop_all(std::time::Duration::from_secs(5)));
            life.killed();
            let life = world.recovers(vec![Hangs("")]);
            life.wait("the model to be asked", || world.asked() == asked + 1);
            world.asked.lock().unwrap().pop();
            life.killed();
            continue;
        }
        life.killed();
    }
    let life = world.recovers(vec![Says("never")]);
    let run = life.comes_to(running.run, State::Failed).run;
    assert!(run.error.unwrap().message.contains("five times"));
    // A person may try again.
    life.runtime.block_on(life.agent.resume(&life.cx, running.run)).unwrap();
    life.comes_to(running.run, State::Done);
    assert_eq!(life.kept(running.conversation.unwrap()), ["go", "never"]);
}

#[test]
fn a_shutdown_interrupts_runs_until_the_next_start() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "mark", "one"), ("b", "hang", "two")])]);
    let mut running = life.begin("go");
    life.until(&mut running, begins);
    life.wait("both", || world.done().len() == 2);
    life.wait("a result", || life.kept(running.conversation.unwrap()).len() == 3);
    life.runtime.block_on(life.agent.stop_all(std::time::Duration::from_secs(5)));
    assert!(life.say(ChatRequest { message: "more".into(), ..ChatRequest::default() }).is_err(), "it is shutting down");
    let (code, message) = error(&life.end(running_again(&mut running)));
    assert!(code == "closing" && message.contains("continues by itself"), "{code}: {message}");
    assert_eq!(life.run(running.run).run.state, State::Running);
    assert_eq!(life.kept(running.conversation.unwrap()).len(), 3, "no result of what was cut short");
    life.killed();
    let life = world.recovers(vec![Says("well")]);
    life.comes_to(running.run, State::Done);
    assert_eq!(world.shown(), ["> go", "mark+hang", "! did one", CUT]);
    assert_eq!(world.done(), ["one", "two"]);
}

/// The same run, for another reader of its steps.
fn running_again(running: &mut crate::RunHandle) -> crate::RunHandle {
    let (_, nothing) = tokio::sync::mpsc::unbounded_channel();
    let steps = std::mem::replace(&mut running.steps, nothing);
    let (run, conversation) = (running.run, running.conversation);
    let (model, status) = (String::new(), Default::default());
    crate::RunHandle { run, conversation, model, queued: false, status, steps, message: None }
}

#[test]
fn who_is_gone_has_nothing_done_any_more() {
    let mut world = World::new();
    let life = world.lives(vec![Hangs("well")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    world.role = Ok(None);
    let life = world.recovers(vec![Says("never")]);
    let run = life.comes_to(running.run, State::Failed).run;
    assert!(run.error.unwrap().message.contains("was removed"));
    assert_eq!(world.asked(), 1);
    life.killed();
    // A role that was lowered meanwhile counts.
    world.role = Ok(Some(Role::Admin));
    let life = world.lives(vec![Calls(vec![("a", "mark", "one")])]);
    let say = ChatRequest { message: "go".into(), watch: Some(Arc::new(Holds)), ..ChatRequest::default() };
    let mut running = life.say(say).unwrap();
    life.until(&mut running, begins);
    life.killed();
    world.role = Ok(Some(Role::Viewer));
    let life = world.recovers(vec![Says("I may not")]);
    life.comes_to(running.run, State::Done);
    assert!(world.done().is_empty());
}

#[test]
fn what_was_read_from_outside_stays_read() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "read", "x")]), Hangs("so")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    let life = world.recovers(vec![Says("well")]);
    life.comes_to(running.run, State::Done);
    let entry = life.agent.conversations.all(&life.cx, running.conversation.unwrap()).unwrap().pop().unwrap();
    assert_eq!((entry.value.content.as_str(), entry.label), ("well", tool::Label::Outside));
}

#[test]
fn a_question_is_not_asked_twice_and_a_yes_is_good_for_one_call() {
    for (answered_before_the_cut, decision, told) in [
        (false, "allow_once", "! did one"),
        (true, "allow_once", "! did one"),
        (true, "deny", "! Error: the person was asked and said no: do not try again, and go on without it"),
    ] {
        let mut world = World::new();
        world.waits.in_call_seconds = 0;
        let life = world.lives(vec![Calls(vec![("a", "wipe", "one")])]);
        let running = life.begin("go");
        life.comes_to(running.run, State::Waiting);
        let approvals = |life: &Life| life.agent.parts.registry.approvals().unwrap().clone();
        let question = |life: &Life| approvals(life).list(None, |_| true, None, 9).unwrap();
        let id = question(&life)[0].id;
        let answer = || serde_json::from_value(serde_json::json!({"decision": decision})).unwrap();
        life.killed();
        let mut acts = vec![];
        if answered_before_the_cut {
            // Answered, and a power cut comes before the run resumes.
            let life = world.lives(vec![]);
            life.runtime.block_on(life.agent.parts.registry.settle(&life.cx, id, answer())).unwrap();
            life.killed();
            acts.push(Says("well"));
        } else {
            let life = world.recovers(vec![]);
            let run = life.comes_to(running.run, State::Waiting);
            assert!(run.steps.iter().any(|s| matches!(s, RunStep::Call { state: CallState::Waiting, .. })));
            life.killed();
            acts.push(Says("well"));
        }
        let life = world.recovers(acts);
        if !answered_before_the_cut {
            assert_eq!(question(&life).len(), 1);
            let (_, resume) = life.runtime.block_on(life.agent.parts.registry.settle(&life.cx, id, answer())).unwrap();
            let _in = life.runtime.enter();
            life.agent.wake(life.cx.ports(), resume.unwrap());
        }
        life.comes_to(running.run, State::Done);
        assert_eq!(question(&life).len(), 1, "asked once");
        assert_eq!(world.shown(), ["> go", "wipe", told]);
        assert_eq!(world.done().len(), usize::from(decision != "deny"));
        life.killed();
        let _life = world.recovers(vec![]);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(world.done().len(), usize::from(decision != "deny"), "and done once");
    }
}

#[test]
fn a_run_that_waits_can_be_stopped() {
    let mut world = World::new();
    world.waits.in_call_seconds = 0;
    let life = world.lives(vec![Calls(vec![("a", "wipe", "one")])]);
    let running = life.begin("go");
    let run = running.run;
    let end = life.end(running);
    assert!(matches!(&end, RunEvent::Done(answer) if answer.waiting.len() == 1), "{end:?}");
    assert_eq!(life.comes_to(run, State::Waiting).run.ended_at, None);
    assert!(life.runtime.block_on(life.agent.stop(&life.cx, run)).unwrap());
    assert!(!life.runtime.block_on(life.agent.stop(&life.cx, run)).unwrap(), "it is over");
    assert_eq!(life.run(run).run.state, State::Cancelled);
    let open = life.agent.parts.registry.approvals().unwrap().list(None, |s| s == registry::State::Pending, None, 9);
    assert!(open.unwrap().is_empty());
    let stranger = Id::new();
    assert!(life.agent.run(&life.cx, stranger).is_err());
}

#[test]
fn the_oldest_runs_are_forgotten_and_never_one_that_is_not_over() {
    let world = World::new();
    let life = world.lives(vec![]);
    let cx = &life.cx;
    let runs = life.agent.conversations.runs.clone();
    // These are older, and more than one pass deletes.
    let older: Vec<Id> = (0..600).map(|_| Id::new()).collect();
    let ids: Vec<Id> = (0..2003).map(|_| Id::new()).collect();
    let (all, open) = (ids.clone(), ids[1]);
    let stored = crate::conversation::StoredRun::new(cx, Id::new(), State::Done);
    let stamp = crate::conversation::run_stamp(cx.user());
    let (put, by, ended) = (runs.clone(), stamp.clone(), stored.clone());
    let write_older = move |tx: &store::Tx| older.iter().try_for_each(|id| put.put(tx, *id, &by, &ended).map(drop));
    life.runtime.block_on(world.store.write(write_older)).unwrap();
    let write = move |tx: &store::Tx| {
        all.iter().try_for_each(|id| {
            let mut stored = stored.clone();
            if *id == open {
                stored.state = State::Queued;
            }
            runs.put(tx, *id, &stamp, &stored).map(drop)
        })
    };
    life.runtime.block_on(world.store.write(write)).unwrap();
    let _in = life.runtime.enter();
    life.agent.maintain(cx.ports()).unwrap();
    life.runtime.block_on(world.store.flush()).unwrap();
    assert_eq!(world.store.stats().unwrap().records["runs"], 2103);
    life.agent.maintain(cx.ports()).unwrap();
    life.runtime.block_on(world.store.flush()).unwrap();
    let left: Vec<Id> =
        life.agent.runs(cx, &[], None, None, (0, usize::MAX)).unwrap().runs.into_iter().rev().map(|r| r.id).collect();
    assert_eq!((left.len(), left[0], left[1]), (2001, open, ids[3]));
}

#[test]
fn a_question_of_a_tool_waits_through_power_cuts_and_its_answer_is_told_once() {
    let mut world = World::new();
    world.waits.in_call_seconds = 0;
    let arguments = serde_json::json!({"question": "Which room?"}).to_string();
    let call = llm::ToolCall { id: "a".into(), name: "ask_user".into(), arguments };
    let life = world.lives(vec![Gives(vec![Ok(llm::Delta::ToolCall(call)), done()])]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Ask { question, .. } if question == "Which room?"));
    let steps = life.comes_to(running.run, State::Waiting).steps;
    assert!(steps.iter().any(|s| matches!(s, RunStep::Call { state: CallState::Waiting, .. })), "{steps:?}");
    life.killed();
    for _ in 0..2 {
        let life = world.recovers(vec![]);
        life.comes_to(running.run, State::Waiting);
        life.killed();
    }
    let life = world.recovers(vec![Says("the attic then")]);
    let interactions = life.agent.parts.interactions.clone();
    let open = interactions.list(&life.cx, interaction::ListFilter::In(interaction::State::Pending), None, 9).unwrap();
    assert_eq!(open.len(), 1, "asked once");
    let answer = serde_json::json!({"answer": "the attic"});
    let (_, wake) = life.runtime.block_on(interactions.respond(&life.cx, open[0].id, answer)).unwrap();
    let _in = life.runtime.enter();
    life.agent.wake(life.cx.ports(), wake.unwrap());
    life.comes_to(running.run, State::Done);
    let shown = world.shown();
    assert!(shown.len() == 3 && shown[2].contains("the attic"), "{shown:?}");
}

#[test]
fn a_conversation_that_went_on_before_a_run_was_taken_up_is_left_alone() {
    let world = World::new();
    let life = world.lives(vec![Hangs("half")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    // A process for one command resumes nothing.
    let life = world.lives(vec![Says("fine")]);
    let conversation = running.conversation;
    life.end(life.say(ChatRequest { message: "how are you?".into(), conversation, ..ChatRequest::default() }).unwrap());
    life.killed();
    let life = world.recovers(vec![Says("never")]);
    let run = life.comes_to(running.run, State::Failed).run;
    assert!(run.error.unwrap().message.contains("gone on"));
    assert_eq!(life.kept(conversation.unwrap()), ["go", "how are you?", "fine"]);
}

#[test]
fn a_call_that_was_agreed_to_is_not_taken_for_one_of_another_run() {
    let mut world = World::new();
    world.waits.in_call_seconds = 0;
    let again = |tool, with| Calls(vec![("a", tool, with)]);
    let life = world.lives(vec![again("wipe", "one"), again("mark", "two"), Says("fine"), Says("well")]);
    let running = life.begin("go");
    let (run, conversation) = (running.run, running.conversation);
    life.end(running);
    life.comes_to(run, State::Waiting);
    life.end(life.say(ChatRequest { message: "and this".into(), conversation, ..ChatRequest::default() }).unwrap());
    let id = life.agent.parts.registry.approvals().unwrap().list(None, |_| true, None, 9).unwrap()[0].id;
    let answer = serde_json::from_value(serde_json::json!({"decision": "allow_once"})).unwrap();
    let (_, resume) = life.runtime.block_on(life.agent.parts.registry.settle(&life.cx, id, answer)).unwrap();
    let _in = life.runtime.enter();
    life.agent.wake(life.cx.ports(), resume.unwrap());
    life.comes_to(run, State::Done);
    assert_eq!(world.done(), ["two", "one"]);
    assert_eq!(world.shown(), ["> and this", "mark", "! did two", "fine", "> go", "wipe", "! did one"]);
}

#[test]
fn what_must_be_called_is_called_once_also_after_a_cut() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "mark", "one")]), Hangs("so")]);
    let say = ChatRequest { message: "go".into(), tool_choice: llm::ToolChoice::Required, ..ChatRequest::default() };
    let mut running = life.say(say).unwrap();
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.runtime.block_on(life.agent.stop(&life.cx, running.run)).unwrap();
    life.comes_to(running.run, State::Cancelled);
    life.killed();
    let life = world.lives(vec![Says("well")]);
    let _in = life.runtime.enter();
    life.runtime.block_on(life.agent.resume(&life.cx, running.run)).unwrap();
    life.comes_to(running.run, State::Done);
    let asked = world.asked.lock().unwrap();
    let choices: Vec<_> = asked.iter().map(|request| request.tool_choice.clone()).collect();
    use llm::ToolChoice::{Auto, Required};
    assert_eq!(choices, [Required, Auto, Auto]);
}

#[test]
fn a_message_is_not_sent_twice() {
    let world = World::new();
    let call = llm::ToolCall { id: "a".into(), name: "send_message".into(), arguments: "{\"text\":\"hi\"}".into() };
    let hang = llm::ToolCall { id: "b".into(), name: "hang".into(), arguments: "{\"name\":\"x\"}".into() };
    let acts = vec![Gives(vec![Ok(llm::Delta::ToolCall(call)), Ok(llm::Delta::ToolCall(hang)), done()])];
    let life = world.lives(acts);
    let running = life.begin("go");
    let begun = || life.agent.stored_run(&life.cx, running.run).map(|run| run.begun()).unwrap_or_default();
    life.wait("both to begin", || begun().len() == 2);
    assert!(begun().iter().any(|b| b.tool == "send_message" && !b.repeatable), "{:?}", begun());
}

#[test]
fn a_role_that_cannot_be_read_leaves_a_run_for_the_next_start() {
    let mut world = World::new();
    let life = world.lives(vec![Hangs("so")]);
    let mut running = life.begin("go");
    life.until(&mut running, |s| matches!(s, RunEvent::Text { .. }));
    life.killed();
    world.role = Err(tool::Error::failed("the disk"));
    let life = world.recovers(vec![Says("never")]);
    life.wait("nothing under way", || life.agent.queue.runs_of(life.cx.user()).is_empty());
    assert_eq!((life.run(running.run).run.state, world.asked()), (State::Running, 1));
    life.killed();
    world.role = Ok(Some(Role::Admin));
    let life = world.recovers(vec![Says("well")]);
    life.comes_to(running.run, State::Done);
}

#[test]
fn what_a_turn_cost_that_gave_nothing_counts() {
    let world = World::new();
    let life = world.lives(vec![Gives(vec![done()])]);
    let running = life.begin("go");
    let run = running.run;
    life.end(running);
    assert_eq!(life.comes_to(run, State::Failed).run.usage.total_tokens, 1);
}

#[test]
fn a_queued_message_does_not_bring_a_deleted_conversation_back() {
    let world = World::new();
    let life = world.lives(vec![Says("fine"), Says("never")]);
    let first = life.begin("go");
    let conversation = first.conversation;
    life.end(first);
    // A deletion is in progress, and the message is queued behind it.
    let user = life.cx.user();
    let busy =
        life.agent.enter(Id::new(), user, conversation, tokio_util::sync::CancellationToken::new(), false).unwrap();
    let second = life.queue("more", conversation).unwrap();
    assert!(second.queued);
    life.runtime.block_on(life.agent.conversations.empty(user, conversation.unwrap(), true)).unwrap();
    drop(busy);
    assert_eq!(error(&life.end(second)).0, "not_found");
    assert!(life.agent.conversation(&life.cx, conversation.unwrap()).is_err());
}

#[test]
fn what_was_brought_in_vouches_for_no_address() {
    let world = World::new();
    let life = world.lives(vec![Says("so")]);
    let first = life.begin("see https://own.example/x");
    let own = first.conversation.unwrap();
    life.end(first);
    let mut exported = life.agent.export(&life.cx, own).unwrap();
    exported.messages[0].content = "see https://evil.example/x".into();
    let brought = life.runtime.block_on(life.agent.import(&life.cx, exported)).unwrap().id;
    let copied = life.runtime.block_on(life.agent.fork(&life.cx, brought, None)).unwrap().id;
    for (conversation, source) in [(own, "chat"), (brought, "import"), (copied, "import")] {
        let lines = life.agent.conversations.all(&life.cx, conversation).unwrap();
        assert!(lines.iter().all(|e| e.source == source), "{source}");
        let cx = tool::Cx::root(life.cx.ports().clone(), tool::Principal::owner(), life.cx.via().clone());
        crate::conversation::vouch(&cx, &lines);
        assert_eq!(cx.knows("https://own.example/x"), source == "chat");
        assert!(!cx.knows("https://evil.example/x"));
    }
}

#[test]
fn what_is_kept_no_longer_than_its_run_goes_also_when_a_waiting_run_is_stopped() {
    let mut world = World::new();
    world.waits.in_call_seconds = 0;
    world.config.persistence = crate::Persistence::None;
    let life = world.lives(vec![Calls(vec![("a", "wipe", "one")])]);
    let running = life.begin("go");
    let (run, conversation) = (running.run, running.conversation.unwrap());
    life.end(running);
    life.comes_to(run, State::Waiting);
    assert!(life.agent.conversation(&life.cx, conversation).is_ok());
    assert!(life.runtime.block_on(life.agent.stop(&life.cx, run)).unwrap());
    assert!(life.agent.conversation(&life.cx, conversation).is_err());
    life.runtime.block_on(world.store.flush()).unwrap();
    let asked = life.agent.parts.registry.approvals().unwrap().list(None, |_| true, None, 9).unwrap();
    assert!(asked.is_empty(), "{asked:?}");
}
