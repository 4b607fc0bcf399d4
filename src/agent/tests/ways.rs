//! The variants of a run: presets, watchers, queued turns, message parts, persistence, and copies of conversations.

use super::lives::*;
use crate::{CallRecord, ChatRequest, Conversation, Exported, Persistence, Preset, RunEvent, State, Watch, WhileBusy};
use futures::future::BoxFuture;
use llm::{Content, Delta, Kind, Media, Message, Part, Source, ToolCall};
use std::sync::{Arc, Mutex};
use tool::{Id, Label};

#[test]
fn an_orchestrator_goes_one_by_one_and_ends_with_what_was_said_last() {
    let calls = |n: usize| {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        Calls(vec![("x", "mark", names[n])])
    };
    let nothing = "[Max iterations reached]\n\nDone before that: `mark` 10 times.";
    for (last, told) in [(None, nothing), (Some("so far"), "so far")] {
        let world = World::new();
        let mut acts: Vec<Does> = (0..10).map(calls).collect();
        if let Some(last) = last {
            let call = ToolCall { id: "y".into(), name: "mark".into(), arguments: "{\"name\":\"y\"}".into() };
            acts[9] = Gives(vec![Ok(Delta::Text(last.into())), Ok(Delta::ToolCall(call)), done()]);
        }
        let life = world.lives(acts);
        let say = ChatRequest { message: "go".into(), preset: Preset::Orchestrator, ..ChatRequest::default() };
        let running = life.say(say).unwrap();
        let (run, conversation) = (running.run, running.conversation.unwrap());
        assert_eq!(response(&life.end(running)), told);
        let run = life.run(run).run;
        assert_eq!((world.asked(), world.done().len(), run.state, run.turns), (10, 10, State::Done, 10));
        let messages = life.agent.conversation(&life.cx, conversation).unwrap().messages;
        assert_eq!(messages.iter().filter(|m| m.content == told).count(), 1, "said once");
    }
    // In parallel the second would begin before the first has ended.
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "hang", "one"), ("b", "mark", "two")])]);
    let say = ChatRequest { message: "go".into(), preset: Preset::Orchestrator, ..ChatRequest::default() };
    let running = life.say(say).unwrap();
    life.wait("the first", || world.done() == ["one"]);
    assert!(life.agent.cancel(&life.cx, running.run));
    assert_eq!(error(&life.end(running)).0, "cancelled");
}

#[test]
fn a_model_that_says_nothing_is_told_from_one_that_only_thought() {
    for (cut, why) in [(false, "said nothing at all"), (true, "raise `max_tokens`")] {
        let end = Ok(Delta::Done { cut, usage: llm::Usage::default() });
        let life = World::new().lives(vec![Gives(vec![Ok(Delta::Thinking("Hm.".into())), end])]);
        let running = life.say(ChatRequest { message: "go".into(), ..ChatRequest::default() }).unwrap();
        let (code, told) = error(&life.end(running));
        assert!(code == "model" && told.contains(why), "{told}");
    }
}

#[derive(Default)]
struct Hears(Mutex<Vec<String>>);

impl Watch for Hears {
    fn before_tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        let verdict = if call.arguments.contains("bad") { Err("not that one".to_owned()) } else { Ok(()) };
        Box::pin(std::future::ready(verdict))
    }
    fn on_tool_start(&self, call: &ToolCall) {
        self.0.lock().unwrap().push(format!("start {}", call.id));
    }
    fn on_tool_end(&self, id: &str, record: &CallRecord) {
        self.0.lock().unwrap().push(format!("end {id} {}", record.is_error));
    }
    fn on_progress(&self, note: &str) {
        self.0.lock().unwrap().push(note.to_owned());
    }
    fn on_chunk(&self, delta: &str) {
        self.0.lock().unwrap().push(format!("says {delta}"));
    }
}

#[test]
fn who_watches_hears_everything_and_may_reject_calls() {
    let world = World::new();
    let life = world.lives(vec![Calls(vec![("a", "mark", "bad")]), Calls(vec![("b", "mark", "good")]), Says("done")]);
    let hears = Arc::new(Hears::default());
    let say = ChatRequest { message: "go".into(), watch: Some(hears.clone()), ..ChatRequest::default() };
    let running = life.say(say).unwrap();
    assert_eq!(response(&life.end(running)), "done");
    let heard = hears.0.lock().unwrap().clone();
    let all = ["turn 1", "start a", "end a true", "turn 2", "start b", "end b false", "turn 3", "says done"];
    assert_eq!(heard, all);
    assert_eq!(world.done(), ["good"]);
    assert_eq!(world.shown()[2], "! Error: the call of `mark` was rejected and not made: not that one");
}

#[test]
fn messages_wait_for_their_turn() {
    let world = World::new();
    let life = world.lives(vec![Hangs("one"), Says("two"), Says("four")]);
    let mut first = life.begin("1");
    let conversation = first.conversation;
    life.until(&mut first, |s| matches!(s, RunEvent::Text { .. }));
    let waiting: Vec<_> = ["2", "3", "4"].iter().map(|text| life.queue(text, conversation).unwrap()).collect();
    assert!(waiting.iter().all(|w| w.queued) && !first.queued);
    assert_eq!(life.run(waiting[0].run).run.state, State::Queued);
    assert_eq!(life.kept(conversation.unwrap()), ["1"], "their messages are not said yet");
    for n in 5..10 {
        life.queue(&n.to_string(), conversation).unwrap();
    }
    let why = life.queue("too many", conversation).err().unwrap();
    assert!(why.message().contains("wait for this conversation already"), "{why}");
    let refused =
        ChatRequest { message: "now".into(), conversation, while_busy: WhileBusy::Refuse, ..ChatRequest::default() };
    assert!(life.say(refused).err().unwrap().message().contains("still answering"));
    let stop = |run: Id| life.runtime.block_on(life.agent.stop(&life.cx, run)).unwrap();
    let all = life.agent.runs(&life.cx, &[State::Queued], conversation, None, (0, 20)).unwrap().runs;
    assert_eq!(all.len(), 8);
    all.iter().filter(|r| ![waiting[0].run, waiting[2].run].contains(&r.id)).for_each(|r| assert!(stop(r.id)));
    assert!(stop(first.run));
    let ends: Vec<String> = waiting
        .into_iter()
        .map(|w| match life.end(w) {
            RunEvent::Done(answer) => answer.response,
            other => error(&other).0.to_owned(),
        })
        .collect();
    assert_eq!(ends, ["two", "cancelled", "four"]);
    assert_eq!(life.kept(conversation.unwrap()), ["1", "one", "2", "two", "4", "four"]);
    assert_eq!(world.shown(), ["> 1", "one", "> 2", "two", "> 4"]);
}

#[test]
fn what_waits_for_its_turn_outlives_a_power_cut() {
    let world = World::new();
    let life = world.lives(vec![Hangs("one")]);
    let mut first = life.begin("1");
    let conversation = first.conversation;
    life.until(&mut first, |s| matches!(s, RunEvent::Text { .. }));
    let (second, third) = (life.queue("2", conversation).unwrap().run, life.queue("3", conversation).unwrap().run);
    life.killed();
    let life = world.recovers(vec![Says("uno"), Says("due"), Says("tre")]);
    [first.run, second, third].iter().for_each(|run| drop(life.comes_to(*run, State::Done)));
    assert_eq!(life.kept(conversation.unwrap()), ["1", "uno", "2", "due", "3", "tre"]);
}

#[test]
fn a_run_that_failed_goes_on_from_its_last_step() {
    let world = World::new();
    let broke = Gives(vec![Ok(Delta::Text("half".into())), Err(llm::Error::Broken("it stopped".into()))]);
    let life = world.lives(vec![Calls(vec![("a", "mark", "one")]), broke, Says("all"), Says("next")]);
    let running = life.begin("go");
    let (run, conversation) = (running.run, running.conversation.unwrap());
    assert_eq!(error(&life.end(running)).0, "model");
    let failed = life.run(run).run;
    assert_eq!((failed.state, failed.error.unwrap().code.as_str()), (State::Failed, "model"));
    assert_eq!(life.kept(conversation), ["go", "mark", "! did one", "half"]);
    let resume = |run| life.runtime.block_on(life.agent.resume(&life.cx, run));
    resume(run).unwrap();
    let done = life.comes_to(run, State::Done).run;
    assert!(done.error.is_none() && done.resumed == 1);
    assert_eq!(life.kept(conversation), ["go", "mark", "! did one", "all"]);
    assert_eq!(world.done(), ["one"]);
    assert!(resume(run).err().unwrap().message().contains("has given its answer"));
    assert!(resume(Id::new()).is_err());
}

fn picture(bytes: &[u8]) -> Part {
    let source = Source::Bytes(bytes.into());
    Part::Media(Media { kind: Kind::Image, media_type: "image/png".into(), name: "cat.png".into(), source })
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000IHDR";

#[test]
fn pictures_are_kept_and_brought_to_the_model_the_newest_first() {
    let world = World::new();
    let made = Gives(vec![
        Ok(Delta::Text("look".into())),
        Ok(Delta::Media(Media {
            kind: Kind::Image,
            media_type: "image/png".into(),
            name: "drawn.png".into(),
            source: Source::Bytes(PNG.into()),
        })),
        done(),
    ]);
    let life = world.lives(vec![Says("I see"), made]);
    let parts = std::iter::once(Part::Text("what is this?".into())).chain((0..10).map(|_| picture(PNG)));
    let running = life.say(ChatRequest { message: Content(parts.collect()), ..ChatRequest::default() }).unwrap();
    let conversation = running.conversation.unwrap();
    life.end(running);
    let shown = |n: usize| {
        let asked = world.asked.lock().unwrap();
        let Some(Message::User(said)) = asked[n].messages.iter().find(|m| matches!(m, Message::User(_))) else {
            panic!()
        };
        let bytes = said.media().filter(|m| matches!(&m.source, Source::Bytes(b) if **b == *PNG)).count();
        (bytes, said.text().matches("[picture cat.png]").count())
    };
    assert_eq!(shown(0), (8, 2));
    let kept: Conversation = life.agent.conversation(&life.cx, conversation).unwrap();
    assert_eq!((kept.messages[0].media.len(), kept.messages[0].content.as_str()), (10, "what is this?"));
    assert!(kept.head.tokens.unwrap() > 10_000);
    let running = life.say(ChatRequest {
        message: "draw one".into(),
        conversation: Some(conversation),
        ..ChatRequest::default()
    });
    let RunEvent::Done(answer) = life.end(running.unwrap()) else { panic!() };
    assert_eq!(answer.media.len(), 1);
    assert_eq!(shown(1).0, 8, "they are brought again");
    let kept = life.agent.conversation(&life.cx, conversation).unwrap().messages;
    assert_eq!(kept.last().unwrap().media, answer.media);
    let load = life.agent.parts.uploads.load(&life.cx, answer.media[0].id);
    assert_eq!(&*life.runtime.block_on(load).unwrap().1, PNG);
    let strangers = Part::Media(Media {
        kind: Kind::Image,
        media_type: String::new(),
        name: String::new(),
        source: Source::Stored(Id::new()),
    });
    assert!(life.say(ChatRequest { message: Content(vec![strangers]), ..ChatRequest::default() }).is_err());
}

#[test]
fn who_answers_and_what_they_want_back_is_kept_with_the_answer() {
    let world = World::new();
    let kept = llm::ProviderState { provider: "other".into(), value: serde_json::json!({"signed": "x"}) };
    let act = Gives(vec![
        Ok(Delta::By { model: "other/model".into(), by_word: false }),
        Ok(Delta::Text("hello".into())),
        Ok(Delta::Keep(kept.clone())),
        done(),
    ]);
    let life = world.lives(vec![act, Says("again")]);
    let running = life.begin("hi");
    let conversation = running.conversation;
    let RunEvent::Done(answer) = life.end(running) else { panic!() };
    assert_eq!((answer.model.as_str(), answer.cost), ("other/model", None));
    life.end(life.say(ChatRequest { message: "more".into(), conversation, ..ChatRequest::default() }).unwrap());
    let asked = world.asked.lock().unwrap();
    let Message::Assistant(turn) = &asked[1].messages[2] else { panic!() };
    assert_eq!(turn.kept.as_ref(), Some(&kept));
    assert_eq!(asked[1].user, Some(life.cx.user()));
}

#[test]
fn conversations_are_kept_as_long_as_was_chosen() {
    for (persistence, after, next) in
        [(Persistence::Persistent, 1, 1), (Persistence::Session, 1, 0), (Persistence::None, 0, 0)]
    {
        let mut world = World::new();
        world.config.persistence = persistence;
        let life = world.lives(vec![Says("one"), Hangs("two")]);
        let listed =
            |life: &Life| life.runtime.block_on(life.agent.conversations(&life.cx, "", None, 0, 9)).unwrap().count;
        life.end(life.begin("1"));
        assert_eq!(listed(&life), after, "{persistence:?}");
        let mut second = life.begin("2");
        life.until(&mut second, |s| matches!(s, RunEvent::Text { .. }));
        life.killed();
        // An unfinished run is finished before its conversation is deleted.
        let life = world.recovers(vec![Says("end")]);
        life.wait("the end", || life.agent.queue.runs_of(life.cx.user()).is_empty());
        let left = match persistence {
            Persistence::None => 0,
            _ => next + 1,
        };
        life.wait("old ones to be gone", || listed(&life) == left);
    }
}

#[test]
fn conversations_are_copied_emptied_taken_along_and_brought_in() {
    let world = World::new();
    let life =
        world.lives(vec![Calls(vec![("a", "mark", "one")]), Says("two"), Says("four"), Says("five"), Says("six")]);
    let running = life.begin("first");
    let conversation = running.conversation.unwrap();
    life.end(running);
    let more = |text: &str, conversation| {
        life.end(
            life.say(ChatRequest { message: text.into(), conversation: Some(conversation), ..ChatRequest::default() })
                .unwrap(),
        )
    };
    more("three", conversation);
    let all = life.agent.conversation(&life.cx, conversation).unwrap();
    let (agent, cx) = (&life.agent, &life.cx);
    let copy = life.runtime.block_on(agent.fork(cx, conversation, Some(all.messages[3].id))).unwrap();
    assert_eq!((copy.forked_from, copy.message_count, copy.title.as_str()), (Some(conversation), 4, "first"));
    more("what then?", copy.id);
    assert_eq!(life.kept(copy.id), ["first", "mark", "! did one", "two", "what then?", "five"]);
    assert_eq!(life.kept(conversation).len(), 6, "the original is as it was");
    let ids = |id| agent.conversation(cx, id).unwrap().messages.into_iter().flat_map(|m| [m.id, m.run_id]);
    let original: std::collections::HashSet<Id> = ids(conversation).collect();
    assert!(ids(copy.id).all(|id| !original.contains(&id)));
    assert!(life.runtime.block_on(agent.fork(cx, conversation, Some(Id::new()))).is_err());

    let document = agent.export(cx, conversation).unwrap();
    let text = serde_json::to_string(&document).unwrap();
    let read: Exported = serde_json::from_str(&text).unwrap();
    let brought = life.runtime.block_on(agent.import(cx, read)).unwrap();
    assert_eq!(life.kept(brought.id), life.kept(conversation));
    let line = agent.conversations.all(cx, brought.id).unwrap().remove(0);
    assert_eq!(line.label, Label::Outside);
    more("go on", brought.id);
    let line = agent.conversations.all(cx, brought.id).unwrap().pop().unwrap();
    assert_eq!((line.value.content.as_str(), line.label), ("six", Label::Outside), "it was read");

    let emptied = life.runtime.block_on(agent.reset(cx, conversation)).unwrap();
    assert_eq!((emptied.id, emptied.message_count, emptied.title.as_str()), (conversation, 0, "first"));
    assert!(agent.runs(cx, &[], Some(conversation), None, (0, 9)).unwrap().runs.is_empty());
    life.runtime.block_on(agent.delete_conversation(cx, copy.id)).unwrap();
    assert!(agent.runs(cx, &[], Some(copy.id), None, (0, 9)).unwrap().runs.is_empty());
}
