//! Execution of due schedules: order, one at a time, ends, people who are gone, many schedules.

use super::*;

#[tokio::test]
async fn each_runs_at_its_time_and_once() {
    let life = Life::new().started();
    let second = life.add("second", "in 2 minutes", "note").await;
    let first = life.add("first", "in 1 minute", "note").await;
    let often = life.add("often", "every minute", "note").await;
    assert!(life.tools.calls.lock().unwrap().is_empty());
    life.forward(59);
    life.rest().await;
    assert!(life.tools.calls.lock().unwrap().is_empty(), "a second too early");
    life.forward(1);
    life.until_runs(first, &["ok@14:31"]).await;
    life.until_runs(often, &["ok@14:31"]).await;
    life.forward(60);
    life.until_runs(second, &["ok@14:32"]).await;
    life.until_runs(often, &["ok@14:31", "ok@14:32"]).await;
    life.rest().await;
    let called: HashSet<String> = life.tools.called("note").iter().map(ToString::to_string).collect();
    assert_eq!((called.len(), life.tools.called("note").len()), (3, 4));
    let (over, goes_on) = (life.get(first), life.get(often));
    assert!(over.is_over() && !over.enabled && over.next_ms.is_none());
    assert_eq!((over.runs, over.failures, over.last_status()), (1, 0, Some(Status::Ok)));
    assert_eq!(goes_on.next_ms, Some(life.clock.now().as_millisecond() + 60_000));
    assert_eq!(life.scheduler.history(&life.cx(), first, 9).unwrap()[0].value.result, "RunResult.");
}

#[tokio::test]
async fn the_owner_hears_what_ran() {
    let life = Life::new().started();
    let mut heard = life.scheduler.0.ports.bus.listen(None);
    let id = life.add("bins", "in 1 minute", "note").await;
    life.forward(60);
    let mut all = vec![];
    while all.len() < 2 {
        let Some(tool::BusEvent::Event(event)) = heard.next().await else { panic!("the bus is gone") };
        assert_eq!(event.to, Some(UserId::OWNER));
        all.push((event.topic.clone(), event.data.clone()));
    }
    assert_eq!(all[0], ("schedules:changed".into(), json!({"id": id, "change": "added"})));
    assert_eq!(all[1].0, "schedule:ran");
    assert_eq!(
        (&all[1].1["id"], &all[1].1["name"], &all[1].1["status"], &all[1].1["result"]),
        (&json!(id), &json!("bins"), &json!("ok"), &json!("RunResult."))
    );
}

#[tokio::test]
async fn a_schedule_runs_one_at_a_time() {
    let life = Life::new().started();
    let skips = life.add("skips", "every minute", "slow").await;
    let waits = life.add_with("waits", "every minute", "slow", |new| new.missed = Missed::All).await;
    life.forward(60);
    life.until("both run", |l| l.tools.called("slow").len() == 2).await;
    life.forward(60);
    life.until_runs(skips, &["started@14:31", "skipped@14:32"]).await;
    life.until_runs(waits, &["started@14:31"]).await;
    life.tools.gate.add_permits(2);
    life.until_runs(skips, &["ok@14:31", "skipped@14:32"]).await;
    life.until_runs(waits, &["ok@14:31", "started@14:32"]).await;
    life.tools.gate.add_permits(1);
    life.until_runs(waits, &["ok@14:31", "ok@14:32"]).await;
}

#[tokio::test]
async fn many_at_once_wait_for_their_turn_and_prompts_keep_nobody_waiting() {
    let life = Life::new().started();
    for n in 0..30 {
        life.add(&format!("slow {n}"), "in 1 minute", "slow").await;
    }
    life.forward(60);
    life.until("as many run as may", |l| l.tools.called("slow").len() == 12).await;
    life.rest().await;
    assert_eq!(life.tools.called("slow").len(), 12);
    // A prompt has its own slot, and finishes.
    let prompt = life.add("prompt", "in 1 second", "run_prompt").await;
    life.forward(1);
    life.until_runs(prompt, &["ok@14:31:01"]).await;
    assert_eq!(life.get(prompt).conversation, Some(Id::NIL));
    let waiting = life.scheduler.list(&life.cx(), |s| s.name.starts_with("slow")).unwrap();
    assert_eq!(waiting.iter().filter(|s| s.value.running.is_some()).count(), 30, "all are claimed");
    life.tools.gate.add_permits(30);
    life.until("all have run", |l| l.scheduler.list(&l.cx(), |s| s.enabled).unwrap().is_empty()).await;
    assert_eq!(life.tools.called("slow").len(), 30);
}

#[tokio::test]
async fn it_ends_when_it_is_to() {
    let life = Life::new().started();
    let ends = life.clock.now().as_millisecond() + 150_000;
    let until = life.add_with("until", "every minute", "note", |new| new.ends_ms = Some(ends)).await;
    let twice = life.add_with("twice", "every minute", "note", |new| new.max_runs = 2).await;
    for _ in 0..5 {
        life.pass(60, &[until, twice]).await;
    }
    life.until_runs(until, &["ok@14:31", "ok@14:32"]).await;
    life.until_runs(twice, &["ok@14:31", "ok@14:32"]).await;
    assert!(life.get(until).is_over() && life.get(twice).is_over());
    let never = New { ends_ms: Some(ends + 150_000), ..life.new_schedule("never", "tomorrow at 7:00", "note") };
    let error = life.scheduler.create(&life.cx(), never).await.unwrap_err();
    assert!(matches!(&error, Error::BadArgs(text) if text.contains("before its first time")), "{error}");
}

#[tokio::test]
async fn who_is_gone_or_may_not_is_not_served_and_told_in_the_end() {
    let life = Life::new().started();
    let refused = life.add_with("refused", "every minute", "refuse", |new| new.retries = 5).await;
    let moved_out = life.other();
    let theirs = New {
        recurrence: parse(&json!("every minute"), None, &*life.clock).unwrap(),
        ..life.new_schedule("theirs", "every minute", "note")
    };
    let theirs = life.scheduler.create(&moved_out, theirs).await.unwrap().id;
    life.gone.lock().unwrap().insert(moved_out.user());
    for _ in 0..4 {
        life.pass(60, &[refused]).await;
        let waits = |l: &Life| l.scheduler.list(&moved_out, |s| s.running.is_some()).unwrap().is_empty();
        life.until("theirs is done too", waits).await;
        life.rest().await;
    }
    life.until_runs(refused, &["failed@14:31", "failed@14:32", "failed@14:33"]).await;
    let stopped = life.get(refused);
    assert!(!stopped.enabled && stopped.stopped.contains("you may not") && stopped.failures == 3, "{stopped:?}");
    life.until("they are shown", |l| l.tools.called("notify").len() == 1).await;
    let theirs = life.scheduler.find(&moved_out, &theirs.to_string()).unwrap();
    assert!(!theirs.value.enabled && theirs.value.stopped.contains("was removed"));
    assert!(life.tools.called("note").is_empty());
    // Enabled again, it starts afresh.
    let on = Change { enabled: Some(true), ..Change::default() };
    let again = life.scheduler.update(&life.cx(), &refused.to_string(), on).await.unwrap().value;
    assert!(again.enabled && again.stopped.is_empty() && again.refused == 0 && again.next_ms.is_some());
}

#[tokio::test]
async fn a_call_has_the_consent_and_the_label_it_was_written_down_with() {
    let life = Life::new().started();
    let tainted = life.cx();
    tainted.taint(Label::Outside);
    let new = life.new_schedule("tainted", "in 1 minute", "note");
    let id = life.scheduler.create(&tainted, new).await.unwrap().id;
    life.forward(60);
    life.until("it ran", |l| !l.tools.seen.lock().unwrap().is_empty()).await;
    let clean = life.add_with("clean", "in 1 minute", "outside", |new| new.action.consented = false).await;
    life.forward(60);
    life.until_runs(clean, &["ok@14:32"]).await;
    assert_eq!(*life.tools.seen.lock().unwrap(), [(true, Label::Outside), (false, Label::Own)]);
    // Results with content from outside taint their reader.
    let (reader, other) = (life.cx(), life.cx());
    life.scheduler.history(&reader, clean, 1).unwrap();
    life.scheduler.find(&other, &clean.to_string()).unwrap();
    assert_eq!((reader.label(), other.label()), (Label::Outside, Label::Own));
    let reader = life.cx();
    life.scheduler.find(&reader, &id.to_string()).unwrap();
    assert_eq!(reader.label(), Label::Outside);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_schedules_run_in_time() {
    let store = Store::in_memory().unwrap();
    let mut life = Life::over(&store, SetClock::new(), Arc::default());
    let all: Vec<(Id, Schedule)> = (0..10_000)
        .map(|n| {
            let when = Recurrence::Every { ms: 60_000, anchor: life.clock.now().as_millisecond() + n * 6 };
            let mut schedule =
                Schedule::new(format!("n {n}"), "every minute".into(), &when, AgentId::GENERAL, &armed("note", "x"));
            schedule.next_ms = Some(life.clock.now().as_millisecond() + n * 6);
            (Id::new(), schedule)
        })
        .collect();
    let (schedules, stamp) = (life.scheduler.0.schedules.clone(), life.scheduler.0.schedules.stamp(&life.cx(), "test"));
    let put = store.write(move |tx| all.iter().try_for_each(|(id, s)| schedules.put(tx, *id, &stamp, s).map(drop)));
    put.await.unwrap();
    life.start();
    let began = Instant::now();
    for n in 1..60 {
        life.forward(1);
        life.until("this second's have run", |l| l.tools.calls.lock().unwrap().len() >= n * 10_000 / 60).await;
    }
    // Not quite a minute: the first is not due again yet.
    *life.clock.0.lock().unwrap() += SignedDuration::from_millis(996);
    life.scheduler.0.changed.notify_one();
    life.until("all have run", |l| l.tools.calls.lock().unwrap().len() == 10_000).await;
    assert!(began.elapsed() < Duration::from_secs(40), "a minute's worth took {:?}", began.elapsed());
    life.rest().await;
    life.stop().await;
    assert_eq!(life.tools.calls.lock().unwrap().len(), 10_000, "each once");
    let ran = life.scheduler.list(&life.cx(), |s| s.runs == 1 && s.running.is_none()).unwrap();
    assert_eq!(ran.len(), 10_000);
}

#[tokio::test]
async fn an_idle_engine_wakes_when_something_is_planned() {
    let life = Life::new().started();
    life.rest().await;
    let id = life.add("soon", "in 1 second", "note").await;
    life.clock.forward(1);
    // Without a notification: the engine looks by itself, twice a second.
    life.until_runs(id, &["ok@14:30:01"]).await;
}
