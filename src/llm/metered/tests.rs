//! Usage accounting, and requests rejected by the budget.

use super::*;
use crate::scripted::{Said, Script, done, text};
use futures::TryStreamExt;
use std::time::Duration;
use store::Store;
use tool::SystemClock;

fn ledger() -> Arc<Ledger> {
    let clock = Arc::new(SystemClock::new(Some("UTC")).unwrap());
    Arc::new(Ledger::open(&Store::in_memory().unwrap(), clock).unwrap())
}

const DEAR: Price = Price::Known { input: 1e6, cached: 1e6, cache_write: 1e6, output: 1e6 };

fn request() -> Request {
    Request { messages: vec![crate::Message::user("x".repeat(400))].into(), ..Request::default() }
}

async fn ask(ledger: &Arc<Ledger>, price: Price, answer: Vec<Said>) -> Result<Vec<Delta>, Error> {
    let metered = Metered::new(Script::new("a/m", [answer]).shared(), ledger.clone(), price);
    assert_eq!(metered.model(), "a/m");
    metered.stream(request()).try_collect().await
}

#[tokio::test]
async fn answers_are_counted_as_told_or_else_by_their_length() {
    let broken = || Err(Error::Broken("cut".into()));
    type Row = (Vec<Said>, u64, (u64, u64), u64);
    let rows: Vec<Row> = vec![
        // Deltas; requests, input and output tokens, estimates.
        (vec![text("hi"), done(3, 2)], 1, (3, 2), 0),
        (vec![text("twelve chars"), done(0, 0)], 1, (104, 3), 1),
        (vec![text("twelve chars"), broken()], 1, (104, 3), 1),
        (vec![Err(Error::Network("down".into()))], 0, (0, 0), 0),
        (vec![Err(Error::Refused("no".into()))], 0, (0, 0), 0),
        // The input was read, and the model may have reasoned silently.
        (vec![Err(Error::Timeout("silence".into()))], 1, (104, 0), 1),
        (vec![broken()], 1, (104, 0), 1),
        (vec![Err(Error::Unconnected("no connection".into()))], 0, (0, 0), 0),
        (vec![done(5, 0)], 1, (5, 0), 0),
    ];
    for (i, (answer, requests, tokens, estimates)) in rows.into_iter().enumerate() {
        let ledger = ledger();
        let _ = ask(&ledger, DEAR, answer).await;
        let day = ledger.this_day().unwrap();
        assert_eq!((day.requests, (day.prompt_tokens, day.completion_tokens)), (requests, tokens), "row {i}");
        assert_eq!(day.models.iter().map(|m| m.estimated).sum::<u64>(), estimates, "row {i}");
        assert_eq!(day.cost, (tokens.0 + tokens.1) as f64, "row {i}");
    }
}

#[tokio::test]
async fn an_answer_nobody_waits_for_any_more_is_paid_for_as_well() {
    let ledger = ledger();
    let metered = Metered::new(Script::new("a/m", [vec![text("half"), done(9, 9)]]).shared(), ledger.clone(), DEAR);
    let mut answer = metered.stream(request());
    assert_eq!(answer.next().await, Some(text("half")));
    drop(answer);
    assert_eq!(ledger.this_day().unwrap().completion_tokens, 1);
    drop(metered.stream(request()));
    assert_eq!(ledger.this_day().unwrap().requests, 1, "nothing was sent");
}

#[tokio::test]
async fn what_goes_back_to_the_model_is_read_as_well() {
    for (model, read) in [("m", 104 + 4 + 106), ("other", 104 + 4)] {
        let ledger = ledger();
        let value = serde_json::json!({"model": model, "thoughts": "t".repeat(400)});
        let kept = Some(crate::ProviderState { provider: "a".into(), value });
        let mut request = request();
        request.messages.push(crate::Message::Assistant(crate::Turn { kept, ..crate::Turn::default() }));
        let silent = Script::new("a/m", [vec![Err(Error::Timeout("silence".into()))]]);
        let metered = Metered::new(silent.shared(), ledger.clone(), DEAR);
        assert!(metered.stream(request).try_collect::<Vec<_>>().await.is_err());
        assert_eq!(ledger.this_day().unwrap().prompt_tokens, read, "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_given_up_before_its_first_word_is_paid_for_as_well() {
    let ledger = ledger();
    let slow = Script { takes: Duration::from_secs(60), ..Script::new("a/m", [vec![text("late"), done(9, 9)]]) };
    let metered = Metered::new(slow.shared(), ledger.clone(), DEAR);
    let mut answer = metered.stream(request());
    assert!(tokio::time::timeout(Duration::from_secs(1), answer.next()).await.is_err());
    drop(answer);
    let day = ledger.this_day().unwrap();
    assert_eq!((day.requests, day.prompt_tokens, day.completion_tokens), (1, 104, 0));
    assert_eq!(day.models[0].estimated, 1);
}

#[tokio::test(start_paused = true)]
async fn many_at_once_do_not_each_spend_what_is_left() {
    let ledger = ledger();
    ledger.set_budget(Some(1.0));
    let answers = || (0..9).map(|_| vec![text("hi"), done(1, 1)]);
    let metered = Metered::new(Script::new("a/m", answers()).shared(), ledger.clone(), DEAR);
    let mut first = metered.stream(request());
    assert_eq!(first.next().await, Some(text("hi")));
    // The first answer is in progress and may use up the budget.
    let said = metered.stream(request()).next().await;
    assert!(matches!(&said, Some(Err(Error::Spent(s))) if s.contains("under way")), "{said:?}");
    drop(first);
    assert_eq!(ledger.this_day().unwrap().requests, 1);
    // If an answer costs less than reserved, waiting requests follow.
    let ledger = self::ledger();
    ledger.set_budget(Some(0.001));
    let price = Price::Known { input: 1.0, cached: 1.0, cache_write: 1.0, output: 1.0 };
    let slow = Script { takes: Duration::from_secs(1), ..Script::new("a/m", answers()) };
    let metered = Metered::new(slow.shared(), ledger.clone(), price);
    let all = futures::future::join_all((0..9).map(|_| metered.stream(request()).try_collect::<Vec<_>>())).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
}

#[tokio::test]
async fn a_spent_budget_refuses_what_costs() {
    let answer = || vec![text("hi"), done(1, 1)];
    let ledger = ledger();
    ledger.set_budget(Some(1.0));
    ask(&ledger, DEAR, answer()).await.unwrap();
    for (price, refused) in [(DEAR, true), (Price::Unknown, true), (Price::Free, false)] {
        let said = ask(&ledger, price, answer()).await;
        assert_eq!(matches!(said, Err(Error::Spent(_))), refused, "{price:?}: {said:?}");
    }
    assert!(!Error::Spent("".into()).worth_retrying());
    assert_eq!(ledger.this_day().unwrap().requests, 2, "what was refused is not counted");
    ledger.set_budget(None);
    ask(&ledger, Price::Unknown, answer()).await.unwrap();
    assert_eq!(ledger.this_day().unwrap().models[0].unpriced, 1);
    // Assumed costs count against the budget.
    let ledger = self::ledger();
    ledger.set_budget(Some(0.001));
    ask(&ledger, Price::Unknown, vec![text("hi"), done(1000, 0)]).await.unwrap();
    assert!(matches!(ask(&ledger, Price::Unknown, answer()).await, Err(Error::Spent(_))));
    ask(&ledger, Price::Free, answer()).await.unwrap();
}
