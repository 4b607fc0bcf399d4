//! The end of a run: retries after failures, stored results, and runs started by hand.

use super::*;

#[tokio::test]
async fn what_went_wrong_is_tried_again_later_and_later() {
    let life = Life::new().started();
    *life.tools.fails.lock().unwrap() = 2;
    let id = life.add_with("mends", "in 1 minute", "fail", |new| new.retries = 3).await;
    life.forward(60);
    life.until_runs(id, &["failed@14:31"]).await;
    life.until("another try is planned", |l| l.get(id).retry_ms.is_some()).await;
    assert!(life.get(id).enabled, "it is not over yet");
    life.forward(59);
    life.rest().await;
    assert_eq!(life.runs(id).len(), 1);
    life.forward(1);
    life.until_runs(id, &["failed@14:31", "failed@14:31 try 2"]).await;
    life.forward(119);
    life.rest().await;
    assert_eq!(life.runs(id).len(), 2, "twice as long");
    life.forward(1);
    life.until_runs(id, &["failed@14:31", "failed@14:31 try 2", "ok@14:31 try 3"]).await;
    let ended = life.get(id);
    assert_eq!((ended.enabled, ended.failures, ended.runs, ended.last_status()), (false, 0, 1, Some(Status::Ok)));
    let history = life.scheduler.history(&life.cx(), id, 9).unwrap();
    assert_eq!((&*history[0].value.result, &*history[2].value.error), ("mended", "it broke"));
}

#[tokio::test]
async fn tries_have_an_end_and_some_failures_have_none() {
    let life = Life::new().started();
    *life.tools.fails.lock().unwrap() = 99;
    let fails = life.add_with("fails", "in 1 minute", "fail", |new| new.retries = 1).await;
    let wrong = life.add_with("wrong", "in 1 minute", "wrong", |new| new.retries = 5).await;
    let breaks = life.add_with("breaks", "in 1 minute", "panic", |new| new.retries = 0).await;
    life.forward(60);
    life.until_runs(wrong, &["failed@14:31"]).await;
    life.until_runs(breaks, &["failed@14:31"]).await;
    life.until("another try is planned", |l| l.get(fails).retry_ms.is_some()).await;
    life.forward(60);
    life.until_runs(fails, &["failed@14:31", "failed@14:31 try 2"]).await;
    life.until("it is over", |l| !l.get(fails).enabled).await;
    for id in [fails, wrong, breaks] {
        let ended = life.get(id);
        assert_eq!((ended.enabled, ended.failures, ended.retry_ms), (false, 1, None), "{}", ended.name);
    }
}

#[tokio::test]
async fn its_next_time_comes_in_the_place_of_another_try() {
    let life = Life::new().started();
    *life.tools.fails.lock().unwrap() = 1;
    let id =
        life.add_with("often", "every minute", "fail", |new| (new.retries, new.retry_delay_ms) = (9, 90_000)).await;
    life.forward(60);
    life.until_runs(id, &["failed@14:31"]).await;
    life.rest().await;
    assert_eq!(life.get(id).retry_ms, None);
    life.forward(60);
    life.until_runs(id, &["failed@14:31", "ok@14:32"]).await;
}

#[tokio::test]
async fn too_many_calls_a_minute_put_a_run_off() {
    let life = Life::new().started();
    *life.tools.fails.lock().unwrap() = 1;
    let id = life.add("put off", "in 1 minute", "crowded").await;
    life.forward(60);
    life.until_runs(id, &["failed@14:31"]).await;
    life.until("another try is planned", |l| l.get(id).retry_ms.is_some()).await;
    life.forward(30);
    life.until_runs(id, &["failed@14:31", "ok@14:31"]).await;
    assert_eq!(life.get(id).failures, 0);
}

#[tokio::test]
async fn a_run_by_hand_is_besides_its_times() {
    let life = Life::new();
    let id = life.add_with("by hand", "every hour", "note", |new| new.max_runs = 1).await;
    let before = life.get(id).next_ms;
    let run = life.scheduler.fire_now(&life.cx(), "by hand", Duration::from_secs(5)).await.unwrap().value;
    assert_eq!((run.status, run.by_hand, &*run.result), (Status::Ok, true, "RunResult."));
    let after = life.get(id);
    assert_eq!((after.next_ms, after.runs, after.running, after.enabled), (before, 0, None, true));

    // Started by hand over a connection that others can read, the call is made over that connection.
    for clear in [true, false] {
        let via = Via { clear, ..life.cx().via().clone() };
        let cx = Cx::root(life.scheduler.0.ports.clone(), Principal::owner(), via);
        life.scheduler.fire_now(&cx, "by hand", Duration::from_secs(5)).await.unwrap();
        assert_eq!(life.tools.clear.load(Ordering::Relaxed), clear);
    }

    let slow = life.add("slow", "every hour", "slow").await;
    let waiting = life.scheduler.fire_now(&life.cx(), "slow", Duration::from_millis(10)).await.unwrap().value;
    assert_eq!(waiting.status, Status::Started);
    let twice = life.scheduler.fire_now(&life.cx(), "slow", Duration::ZERO).await;
    assert!(matches!(&twice, Err(Error::Unavailable(text)) if text.contains("running already")), "{twice:?}");
    life.tools.gate.add_permits(1);
    life.until_runs(slow, &["ok@14:30"]).await;
    *life.tools.fails.lock().unwrap() = 1;
    let fails = life.add_with("fails", "every hour", "fail", |new| new.retries = 3).await;
    let failed = life.scheduler.fire_now(&life.cx(), "fails", Duration::from_secs(5)).await.unwrap().value;
    assert_eq!((failed.status, &*failed.error, life.get(fails).retry_ms), (Status::Failed, "it broke", None));
    assert!(matches!(life.scheduler.fire_now(&life.other(), "slow", Duration::ZERO).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn the_latest_hundred_runs_are_kept_for_a_month() {
    let life = Life::new();
    let id = life.add("often", "every minute", "note").await;
    let (runs, stamp) = (life.scheduler.0.runs.clone(), life.scheduler.0.runs.stamp(&life.cx(), "test"));
    let blank =
        move |n: i64| Run { schedule: id, scheduled_ms: n * 1000, status: Status::Ok, ..crate::transitions::blank() };
    let put = life
        .scheduler
        .0
        .runs
        .store()
        .write(move |tx| (0..180).try_for_each(|n| runs.put(tx, Id::new(), &stamp, &blank(n)).map(drop)));
    put.await.unwrap();
    // A run by hand is run number zero, at which pruning is attempted.
    life.scheduler.fire_now(&life.cx(), "often", Duration::from_secs(5)).await.unwrap();
    let kept = life.scheduler.history(&life.cx(), id, 999).unwrap();
    assert_eq!((kept.len(), kept[0].value.by_hand, kept[99].value.scheduled_ms), (100, true, 81_000));

    let over = life.add("over", "in 1 minute", "note").await;
    life.scheduler.update(&life.cx(), "over", Change { enabled: Some(false), ..Change::default() }).await.unwrap();
    let clear = move |schedule: &mut Schedule| {
        schedule.next_ms = None;
        true
    };
    life.scheduler.change_all(vec![(over, UserId::OWNER)], clear).await.unwrap();
    life.scheduler.forget_before(Id::new().millis() - 60_000).await.unwrap();
    assert_eq!(life.scheduler.history(&life.cx(), id, 999).unwrap().len(), 100, "none is so old");
    tokio::time::sleep(Duration::from_millis(2)).await;
    life.scheduler.forget_before(Id::new().millis() + 1).await.unwrap();
    assert_eq!(life.scheduler.history(&life.cx(), id, 999).unwrap().len(), 0);
    assert!(matches!(life.scheduler.find(&life.cx(), "over"), Err(Error::NotFound(_))));
    assert!(life.get(id).enabled, "what still runs stays");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_a_deleted_schedule_leaves_nothing() {
    let life = Life::new().started();
    let id = life.add("slow", "in 1 minute", "slow").await;
    life.forward(60);
    life.until("it runs", |l| l.tools.called("slow").len() == 1).await;
    life.scheduler.delete(&life.cx(), "slow").await.unwrap();
    life.tools.gate.add_permits(1);
    life.rest().await;
    assert!(matches!(life.scheduler.find(&life.cx(), &id.to_string()), Err(Error::NotFound(_))));
    assert!(life.scheduler.history(&life.cx(), id, 9).unwrap().is_empty());

    let long =
        life.add_with("long", "every hour", "note", |new| new.action.args = json!({"n": "ä".repeat(5000)})).await;
    life.scheduler.fire_now(&life.cx(), "long", Duration::from_secs(5)).await.unwrap();
    let kept = life.scheduler.history(&life.cx(), long, 1).unwrap();
    assert!(kept[0].value.result.len() <= 2048);
}
