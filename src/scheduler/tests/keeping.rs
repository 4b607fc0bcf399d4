//! Create, find, change and delete; schedules of other records; isolation between people.

use super::*;

#[tokio::test]
async fn nobody_sees_finds_changes_or_deletes_anothers() {
    let life = Life::new();
    let id = life.add("bins", "every hour", "note").await;
    life.scheduler.fire_now(&life.cx(), "bins", Duration::from_secs(5)).await.unwrap();
    let other = life.other();
    for which in ["bins", &id.to_string()] {
        assert!(matches!(life.scheduler.find(&other, which), Err(Error::NotFound(_))), "{which}");
        assert!(matches!(life.scheduler.update(&other, which, Change::default()).await, Err(Error::NotFound(_))));
        assert!(matches!(life.scheduler.delete(&other, which).await, Err(Error::NotFound(_))));
        assert!(matches!(life.scheduler.fire_now(&other, which, Duration::ZERO).await, Err(Error::NotFound(_))));
    }
    assert!(life.scheduler.list(&other, |_| true).unwrap().is_empty());
    assert!(life.scheduler.history(&other, id, 9).unwrap().is_empty());
    assert_eq!(life.scheduler.list(&life.cx(), |_| true).unwrap().len(), 1);
}

#[tokio::test]
async fn a_schedule_is_found_by_its_name_or_words_of_it() {
    let life = Life::new();
    let bins = life.add("Take out the bins", "every monday at 19:00", "note").await;
    let paper = life.add("Take out the paper", "every hour", "note").await;
    for (which, wanted) in [("take out the BINS", bins), ("bins", bins), ("paper take", paper), (" the bins ", bins)] {
        assert_eq!(life.scheduler.find(&life.cx(), which).unwrap().id, wanted, "{which}");
    }
    for (which, word) in
        [("take out", "2 scheduled tasks fit"), ("", "say which"), ("glass", "there is no"), ("!?", "there is no")]
    {
        let error = life.scheduler.find(&life.cx(), which).unwrap_err();
        assert!(error.message().contains(word), "{which}: {error}");
    }
    // A finished schedule is found only if no other one fits.
    let again = life.add("bins", "in 1 minute", "note").await;
    assert_eq!(life.scheduler.find(&life.cx(), "bins").unwrap().id, again);
    let nil = Id::new().to_string();
    assert!(matches!(life.scheduler.find(&life.cx(), &nil), Err(Error::NotFound(_))));
}

#[tokio::test]
async fn a_change_counts_from_now() {
    let life = Life::new().started();
    let id = life.add("bins", "in 1 minute", "note").await;
    let recurrence = |when: &str| Some((when.to_owned(), parse(&json!(when), None, &*life.clock).unwrap()));
    let change = |change: Change| async { life.scheduler.update(&life.cx(), &id.to_string(), change).await };
    change(Change { recurrence: recurrence("in 5 minutes"), name: Some("glass".into()), ..Change::default() })
        .await
        .unwrap();
    life.forward(60);
    life.rest().await;
    assert!(life.runs(id).is_empty());
    assert_eq!(life.scheduler.find(&life.cx(), "glass").unwrap().id, id);
    assert!(life.scheduler.find(&life.cx(), "bins").is_err());

    change(Change { enabled: Some(false), ..Change::default() }).await.unwrap();
    life.forward(600);
    life.rest().await;
    assert!(life.runs(id).is_empty(), "it rests");
    let late = change(Change { enabled: Some(true), ..Change::default() }).await;
    assert!(matches!(&late, Err(Error::BadArgs(text)) if text.contains("has passed")), "{late:?}");
    assert!(!life.get(id).enabled, "nothing is half changed");
    change(Change { enabled: Some(true), recurrence: recurrence("every minute"), ..Change::default() }).await.unwrap();
    life.forward(60);
    life.until_runs(id, &["ok@14:42"]).await;
    change(Change { max_runs: Some(2), ..Change::default() }).await.unwrap();
    life.forward(60);
    life.until_runs(id, &["ok@14:42", "ok@14:43"]).await;
    life.until("it is over", |l| l.get(id).is_over()).await;
    // A finished schedule that gets another time runs then.
    let moved = change(Change { max_runs: Some(0), recurrence: recurrence("in 1 minute"), ..Change::default() }).await;
    assert!(moved.unwrap().value.enabled);
    life.forward(60);
    life.until_runs(id, &["ok@14:42", "ok@14:43", "ok@14:44"]).await;
}

#[tokio::test]
async fn a_list_begins_with_what_comes_next() {
    let life = Life::new();
    life.add("later", "in 2 hours", "note").await;
    life.add_with("paused", "in 1 minute", "note", |new| new.enabled = false).await;
    life.add("soon", "in 5 minutes", "note").await;
    let names = |wanted: fn(&Schedule) -> bool| -> Vec<String> {
        life.scheduler.list(&life.cx(), wanted).unwrap().into_iter().map(|e| e.value.name).collect()
    };
    assert_eq!(names(|_| true), ["soon", "later", "paused"]);
    assert_eq!(names(|s| s.enabled), ["soon", "later"]);
}

#[tokio::test]
async fn a_reminder_belongs_to_its_record_and_goes_with_it() {
    let life = Life::new().started();
    let (key, other) = (Id::new(), Id::new());
    let remind = |key: Id, minutes: i64, text: &str| Reminder {
        user: UserId::OWNER,
        agent: AgentId::GENERAL,
        key,
        at: life.clock.now() + SignedDuration::from_mins(minutes),
        title: "Dentist".into(),
        text: text.into(),
        label: Label::Own,
    };
    let write = async |reminder: Reminder| {
        let scheduler = life.scheduler.clone();
        let store = life.scheduler.0.schedules.store();
        store.write(move |tx| scheduler.remind(tx, reminder.clone())).await.unwrap();
    };
    write(remind(key, 1, "first")).await;
    write(remind(key, 5, "second")).await;
    write(remind(other, 2, "third")).await;
    assert!(life.scheduler.list(&life.cx(), |_| true).unwrap().is_empty(), "nobody sees it among their own");
    assert!(life.scheduler.find(&life.cx(), &key.to_string()).is_err());
    life.forward(60);
    life.rest().await;
    assert!(life.tools.called("notify").is_empty(), "the later one took its place");
    let scheduler = life.scheduler.clone();
    life.scheduler.0.schedules.store().write(move |tx| scheduler.forget(tx, UserId::OWNER, other)).await.unwrap();
    life.forward(4 * 60);
    life.until("they are shown", |l| l.tools.called("notify").len() == 1).await;
    life.until("nothing is left of it", |l| {
        l.scheduler.0.schedules.get_in(tool::Scope::User(UserId::OWNER), key).unwrap().is_none()
    })
    .await;
    assert!(life.scheduler.history(&life.cx(), key, 9).unwrap().is_empty());
    // Deleting a missing schedule does nothing.
    let scheduler = life.scheduler.clone();
    life.scheduler.0.schedules.store().write(move |tx| scheduler.forget(tx, UserId::OWNER, Id::new())).await.unwrap();
    life.forward(3600);
    life.rest().await;
    assert_eq!(life.tools.called("notify").len(), 1);
}

#[tokio::test]
async fn a_write_that_is_undone_plans_nothing() {
    let life = Life::new().started();
    let key = Id::new();
    let (scheduler, at) = (life.scheduler.clone(), life.clock.now());
    let undone = life.scheduler.0.schedules.store().write(move |tx| {
        let (user, agent) = (UserId::OWNER, AgentId::GENERAL);
        let (title, text) = ("a".to_owned(), "b".to_owned());
        scheduler.remind(tx, Reminder { user, agent, key, at, title, text, label: Label::Own })?;
        Err::<(), _>(store::Error::Conflict("no".into()))
    });
    undone.await.unwrap_err();
    life.forward(60);
    life.rest().await;
    assert!(life.tools.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn changes_and_runs_at_the_same_time_lose_nothing() {
    let life = Life::new().started();
    let id = life.add("busy", "every second", "note").await;
    for n in 0..40 {
        let change = Change { description: Some(format!("{n}")), ..Change::default() };
        life.clock.forward(1);
        life.scheduler.0.changed.notify_one();
        life.scheduler.update(&life.cx(), "busy", change).await.unwrap();
    }
    life.until("all ran", |l| l.get(id).next_ms == Some(l.clock.now().as_millisecond() + 1000)).await;
    life.until("all ended", |l| l.get(id).running.is_none()).await;
    let runs = life.scheduler.history(&life.cx(), id, 99).unwrap();
    let stood_for: u32 = runs.iter().map(|r| r.value.count).sum();
    assert_eq!((stood_for, &*life.get(id).description), (40, "39"));
}
