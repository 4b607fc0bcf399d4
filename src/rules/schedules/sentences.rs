//! Schedules and runs formatted as JSON for programs and models, and as sentences for people.

use crate::action;
use jiff::{Timestamp, Zoned, tz::TimeZone};
use scheduler::{Recurrence, Run, Schedule, Status};
use store::Entry;
use text_kit::{end_sentence, truncate};
use tool::{
    Clock,
    prelude::{Value, json},
};

/// How many schedules are listed by name.
const NAMED: usize = 3;
/// Maximum length of a run's result in a sentence, in characters.
const MAX_RESULT: usize = 300;

/// A timestamp as `2026-11-20T14:30:00+01:00`, in `zone`.
fn moment(ms: i64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(ms).ok()?.to_zoned(zone.clone());
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

/// A schedule as JSON.
pub(crate) fn task(entry: &Entry<Schedule>, clock: &dyn Clock) -> Value {
    let (schedule, household, local) = (&entry.value, clock.zone(), clock.local());
    let recurrence = schedule.recurrence();
    let own = match &recurrence {
        Some(Recurrence::Cron { zone, .. } | Recurrence::Once { zone, .. }) => zone.clone(),
        _ => None,
    };
    let zone = own.as_deref().and_then(|zone| TimeZone::get(zone).ok()).unwrap_or_else(|| household.clone());
    let at = |ms: Option<i64>| ms.and_then(|ms| moment(ms, &zone));
    let created = i64::try_from(entry.id.millis()).unwrap_or_default();
    json!({
        "id": entry.id,
        "name": schedule.name,
        "description": some(&schedule.description),
        "schedule": schedule.written,
        "scheduleText": recurrence.map(|recurrence| recurrence.text(&local)),
        "timezone": own.or_else(|| household.iana_name().map(str::to_owned)),
        "action": action::action_json(&schedule.action()),
        "enabled": schedule.enabled,
        "missed": schedule.missed,
        "retries": schedule.retries,
        "retryDelaySeconds": schedule.retry_delay_ms / 1000,
        "endAt": at(schedule.ends_ms),
        "maxRuns": Some(schedule.max_runs).filter(|n| *n > 0),
        "nextRun": at(schedule.next_ms.filter(|_| schedule.enabled)),
        "nextTry": at(schedule.retry_ms.filter(|_| schedule.enabled)),
        "lastRun": at(schedule.last_ms),
        "lastStatus": schedule.last_status().map(Status::word),
        "running": schedule.running.is_some(),
        "runs": schedule.runs,
        "failures": schedule.failures,
        "stopped": some(&schedule.stopped),
        "conversationId": schedule.conversation,
        "createdAt": moment(created, &household),
        "updatedAt": moment(schedule.changed_ms, &household),
    })
}

/// A run as JSON.
pub(crate) fn run(entry: &Entry<Run>, clock: &dyn Clock) -> Value {
    let (run, zone) = (&entry.value, clock.zone());
    let at = |ms: Option<i64>| ms.and_then(|ms| moment(ms, &zone));
    json!({
        "runId": entry.id,
        "taskId": run.schedule,
        "scheduledFor": at(Some(run.scheduled_ms)),
        "startedAt": at(run.started_ms),
        "finishedAt": at(run.finished_ms),
        "status": run.status.word(),
        "attempt": run.attempt,
        "times": run.count,
        "byHand": run.by_hand,
        "result": some(&run.result),
        "error": some(&run.error),
    })
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// "I will remind you at 19:00 today: take out the bins." or "Done: every day at 07:00."
pub(crate) fn created_sentence(schedule: &Schedule, now: &Zoned) -> String {
    let when = when(schedule, now);
    if !schedule.enabled {
        return format!("I have saved “{}”, {when}; it is paused.", schedule.name);
    }
    match action::action_json(&schedule.action())["message"].as_str() {
        Some(message) => format!("I will remind you {when}: {}", ended(message)),
        None => format!("Done: {when}."),
    }
}

/// "“Bins” comes every day at 08:00 now."
pub(crate) fn changed(schedule: &Schedule, now: &Zoned) -> String {
    match schedule.enabled {
        true => format!("I have changed “{}”: {}.", schedule.name, when(schedule, now)),
        false => format!("“{}” is paused.", schedule.name),
    }
}

/// The due time in words: "at 19:00 today", "every day at 07:00".
fn when(schedule: &Schedule, now: &Zoned) -> String {
    let Some(recurrence) = schedule.recurrence() else { return "on an unknown schedule".into() };
    let text = recurrence.text(now);
    let (Recurrence::Once { at, zone: None }, Some(once)) = (&recurrence, text.strip_prefix("once ")) else {
        return text;
    };
    let Ok(at) = Timestamp::from_millisecond(*at) else { return text };
    let at = at.to_zoned(now.time_zone().clone());
    let time = once.rsplit_once(" at ").map_or(once, |(_, time)| time);
    match at.date() {
        day if day == now.date() => format!("at {time} today"),
        day if now.tomorrow().is_ok_and(|next| next.date() == day) => format!("at {time} tomorrow"),
        _ => once.to_owned(),
    }
}

/// The next schedules by name, and the number of further ones.
pub(crate) fn listed(some: &[&Entry<Schedule>], all: usize, now: &Zoned) -> String {
    let named: Vec<String> = some
        .iter()
        .take(NAMED)
        .map(|entry| match entry.value.enabled {
            true => format!("“{}” {}", entry.value.name, when(&entry.value, now)),
            false => {
                format!("“{}”, which is {}", entry.value.name, if entry.value.is_over() { "over" } else { "paused" })
            }
        })
        .collect();
    match (all, named.as_slice()) {
        (_, []) => "Nothing is scheduled.".into(),
        (1, [one]) => format!("One thing is scheduled: {one}."),
        (_, named) if all > named.len() => {
            format!("{all} things are scheduled: {}, and {} more.", named.join("; "), all - named.len())
        }
        (_, named) => format!("{all} things are scheduled: {}.", named.join("; ")),
    }
}

/// A sentence about the last run of a schedule.
pub(crate) fn ran(schedule: &Schedule, last: Option<&Run>, now: &Zoned) -> String {
    let name = &schedule.name;
    let Some(run) = last else { return format!("“{name}” has not run yet.") };
    let at = Timestamp::from_millisecond(run.scheduled_ms).unwrap_or_default().to_zoned(now.time_zone().clone());
    let at = match at.date() == now.date() {
        true => at.strftime("today at %H:%M"),
        false => at.strftime("on %-d %B at %H:%M"),
    };
    match run.status {
        Status::Ok => format!("“{name}” last ran {at} successfully."),
        Status::Failed => format!("“{name}” last ran {at} and failed: {}", ended(&run.error)),
        Status::Missed => format!("“{name}” was missed {at}, because I was off."),
        Status::Skipped => format!("“{name}” was skipped {at}, because it was still running."),
        Status::Interrupted => format!("“{name}” ran {at} and was interrupted."),
        Status::Waiting | Status::Started => format!("“{name}” is running."),
    }
}

/// A sentence about a run started by hand.
pub(crate) fn ran_by_hand(name: &str, run: &Run) -> String {
    match run.status {
        Status::Ok if run.result.is_empty() => format!("“{name}” has run."),
        Status::Ok => format!("“{name}” has run: {}", ended(&run.result)),
        Status::Waiting | Status::Started => format!("“{name}” is running; I will store its result."),
        _ => format!("“{name}” failed: {}", ended(&run.error)),
    }
}

/// The text as a sentence with final punctuation, truncated if long.
fn ended(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() > MAX_RESULT {
        return truncate(text, MAX_RESULT);
    }
    end_sentence(text)
}
