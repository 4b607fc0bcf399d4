//! Transitions of a due schedule, without an engine around it.

use super::*;
use crate::{Recurrence, record::Kind};
use proptest::prelude::*;
use serde_json::json;
use tool::{AgentId, PreauthorizedCall};

fn schedule(recurrence: &Recurrence, next_ms: i64, missed: Missed) -> Schedule {
    let armed = PreauthorizedCall { tool: "t".into(), version: 0, args: json!({}), digest: [0; 32], consented: false };
    let mut schedule = Schedule::new("n".into(), "w".into(), recurrence, AgentId::GENERAL, &armed);
    (schedule.kind, schedule.missed, schedule.next_ms) = (Kind::Task, missed, Some(next_ms));
    schedule
}

fn vienna() -> TimeZone {
    TimeZone::get("Europe/Vienna").unwrap()
}

#[test]
fn a_schedule_that_cannot_be_read_any_more_comes_never() {
    let mut odd = schedule(&Recurrence::Once { at: 5, zone: None }, 5, Missed::Once);
    odd.sort = RecurrenceKind::Never;
    assert!(take(Id::new(), &mut odd, 10, &vienna(), true).is_empty());
    assert_eq!(odd.next_ms, None);
}

#[test]
fn nothing_is_taken_before_its_time_or_while_it_rests() {
    let every = Recurrence::Every { ms: 1000, anchor: 0 };
    let before = schedule(&every, 5000, Missed::Once);
    for change in [|_: &mut Schedule| {}, |s: &mut Schedule| (s.enabled, s.next_ms) = (false, Some(1000))] {
        let mut now = before.clone();
        change(&mut now);
        let as_it_was = now.clone();
        assert!(take(Id::new(), &mut now, 4999, &vienna(), true).is_empty());
        assert_eq!(now, as_it_was);
    }
}

#[test]
fn moments_at_the_edges_of_time_break_nothing() {
    for (ms, anchor, next, now) in [
        (1000, i64::MIN, i64::MIN, i64::MAX),
        (i64::MAX, 0, 1, i64::MAX),
        (1000, i64::MAX, i64::MAX, i64::MAX),
        (-5, 0, 1, 10_000),
    ] {
        for missed in [Missed::Once, Missed::Skip, Missed::All] {
            let mut odd = schedule(&Recurrence::Every { ms, anchor }, next, missed);
            take(Id::new(), &mut odd, now, &vienna(), true);
            replan(&mut odd, now, Some(i64::MIN), &vienna());
            resume(&mut odd, now, i64::MAX, false, &vienna());
        }
    }
}

fn recurrences() -> impl Strategy<Value = Recurrence> {
    let cron = |expression: &str| Recurrence::Cron { expression: expression.into(), zone: None };
    prop_oneof![
        (1000i64..10_000_000).prop_map(|ms| Recurrence::Every { ms, anchor: 1_795_000_000_000 }),
        Just(cron("*/5 * * * *")),
        Just(cron("30 2 * * *")),
        Just(cron("0 */3 * * 1-5")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// However long nothing ran, the recorded runs stand for every due time up to now, and the next one is later.
    #[test]
    fn every_time_is_accounted_for(recurrence in recurrences(), policy in 0u8..3, away in 0i64..40_000_000) {
        let (zone, start) = (vienna(), 1_795_000_000_000);
        let work = recurrence.compile(&zone).unwrap();
        let missed = [Missed::Once, Missed::Skip, Missed::All][usize::from(policy)];
        let first = work.next_after(start).unwrap();
        let now = first + away;
        let due = work.count(first, now);
        let mut s = schedule(&recurrence, first, missed);
        let (mut stood_for, mut taken) = (0, 0);
        while s.due().is_some_and(|due| due <= now) {
            let runs = take(Id::new(), &mut s, now, &zone, true);
            prop_assert!(!runs.is_empty());
            prop_assert!(runs.iter().filter(|(_, r)| r.status == Status::Started).count() <= 1);
            stood_for += runs.iter().map(|(_, r)| r.count).sum::<u32>();
            taken += 1;
            prop_assert!(taken <= MOST);
            s.running = None;
        }
        if due < crate::when::COUNTED {
            prop_assert_eq!(stood_for, due);
        }
        prop_assert_eq!(s.next_ms, work.next_after(work.latest(first, now)));
        prop_assert!(s.next_ms > Some(now) && s.enabled);
    }

    /// However the clock is set, planned times are in the future, and no wait is longer than the interval.
    #[test]
    fn a_set_clock_leaves_a_plan(recurrence in recurrences(), by in -100_000_000_000i64..100_000_000_000, ran in proptest::bool::ANY) {
        let (zone, before) = (vienna(), 1_795_000_000_000);
        let work = recurrence.compile(&zone).unwrap();
        let mut s = schedule(&recurrence, work.next_after(before).unwrap(), Missed::Once);
        s.taken_ms = ran.then_some(before - 1000);
        let now = before + by;
        replan(&mut s, now, (by < 0).then_some(by), &zone);
        let next = s.next_ms.unwrap();
        match &recurrence {
            Recurrence::Every { ms, .. } => prop_assert!(next - now <= *ms),
            _ if by < 0 => {
                prop_assert!(next > now && next - now <= REPEATS + 4 * 86_400_000);
                prop_assert!(s.taken_ms.is_none_or(|last| last - now > REPEATS || next > last), "nothing is repeated");
            }
            _ => {}
        }
    }
}
