//! Schedules and runs formatted as JSON for programs and models, and as sentences for people.

use crate::{action, sentences};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use registry::Registry;
use scheduler::{Recurrence, Run, Schedule, Status};
use store::Entry;
use text_kit::{More, duration_words, end_sentence, listing, moment_words, truncate};
use tool::{
    Clock,
    prelude::{Cx, Value, json},
};

/// How many schedules are listed by name.
const NAMED: usize = 10;
/// The name that `schedules.en` gives to alarms.
const ALARM: &str = "Alarm";
/// The messages of `schedules.en` for reminders without a subject.
const UNSAID: [&str; 2] = ["This is your reminder.", "You asked to be reminded again."];
/// Maximum length of a run's result in a sentence, in characters.
const MAX_RESULT: usize = 300;

/// A timestamp as `2026-11-20T14:30:00+01:00`, in `zone`.
fn moment(ms: i64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(ms).ok()?.to_zoned(zone.clone());
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

/// A schedule as JSON.
pub(crate) fn task(cx: &Cx, registry: &Registry, entry: &Entry<Schedule>) -> Value {
    let clock = &cx.ports().clock;
    let (schedule, household, local) = (&entry.value, clock.zone(), clock.local());
    let call = schedule.action();
    let recurrence = schedule.recurrence();
    let own = match &recurrence {
        Some(Recurrence::Cron { zone, .. } | Recurrence::Once { zone, .. }) => zone.clone(),
        _ => None,
    };
    let zone = own.as_deref().and_then(|zone| TimeZone::get(zone).ok()).unwrap_or_else(|| household.clone());
    let at = |ms: Option<i64>| ms.and_then(|ms| moment(ms, &zone));
    let text = recurrence.as_ref().map(|recurrence| recurrence.text(&local));
    let when = text.as_deref().unwrap_or("on an unknown schedule");
    // A moment is named with its day.
    let when = when.strip_prefix("once ").unwrap_or(when);
    let created = i64::try_from(entry.id.millis()).unwrap_or_default();
    json!({
        "id": entry.id,
        "name": schedule.name,
        "description": some(&schedule.description),
        "schedule": schedule.written,
        "scheduleText": text,
        "sentence": sentences::armed(cx, registry, when, &call),
        "choice": recurrence.and_then(|recurrence| recurrence.choice(&local)),
        "timezone": own.or_else(|| household.iana_name().map(str::to_owned)),
        "action": action::action_json(cx, &call),
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

/// "I will remind you today at 19:00: take out the bins." or "I will do that every day at 07:00."
pub(crate) fn created_sentence(cx: &Cx, schedule: &Schedule) -> String {
    let when = when(schedule, &cx.ports().clock.local());
    if !schedule.enabled {
        return format!("I have saved “{}”, {when}; it is paused.", schedule.name);
    }
    let action = action::action_json(cx, &schedule.action());
    match (action["message"].as_str(), action["person"].as_str()) {
        (Some(message), Some(person)) => format!("I will remind {person} {when}: {}", ended(message)),
        (Some(_), None) if schedule.name == ALARM => alarm(&when),
        (Some(message), None) if UNSAID.contains(&message) => format!("I will remind you {when}."),
        (Some(message), None) => format!("I will remind you {when}: {}", ended(message)),
        (None, _) => format!("I will do that {when}: {}", ended(&schedule.name)),
    }
}

fn alarm(when: &str) -> String {
    format!("Your alarm is set for {}.", when.strip_prefix("on ").unwrap_or(when))
}

/// "“Bins” comes every day at 08:00."
pub(crate) fn changed(schedule: &Schedule, now: &Zoned) -> String {
    match schedule.enabled {
        true if schedule.name == ALARM => alarm(&when(schedule, now)),
        true => format!("“{}” comes {}.", schedule.name, when(schedule, now)),
        false => format!("“{}” is paused.", schedule.name),
    }
}

/// The due time in words: "today at 19:00", "every day at 07:00".
fn when(schedule: &Schedule, now: &Zoned) -> String {
    let Some(recurrence) = schedule.recurrence() else { return "on an unknown schedule".into() };
    let text = recurrence.text(now);
    // Of an interval of days one wants to know the first.
    if let (Recurrence::Every { ms, .. }, Some(next)) = (&recurrence, schedule.next_ms)
        && *ms >= 86_400_000
        && let Ok(next) = Timestamp::from_millisecond(next)
    {
        return format!("{text}, next {}", moment_words(&next.to_zoned(now.time_zone().clone()), now));
    }
    let Recurrence::Once { at, zone: None } = &recurrence else { return text };
    let Ok(at) = Timestamp::from_millisecond(*at) else { return text };
    // Seconds are shown where they matter: "in 90 seconds".
    let near = at.as_second() - now.timestamp().as_second();
    if (0..120).contains(&near) && near % 60 != 0 {
        return format!("in {}", duration_words(near));
    }
    moment_words(&at.to_zoned(now.time_zone().clone()), now)
}

/// The next schedules by name, and the number of further ones.
pub(crate) fn listed(cx: &Cx, some: &[&Entry<Schedule>], all: usize) -> String {
    let now = &cx.ports().clock.local();
    let named: Vec<String> = some
        .iter()
        .take(NAMED)
        .map(|entry| match entry.value.enabled {
            true => format!("{}, {}{}", entry.value.name, when(&entry.value, now), addressee(cx, &entry.value)),
            false => {
                format!("{}, which is {}", entry.value.name, if entry.value.is_over() { "over" } else { "paused" })
            }
        })
        .collect();
    if !some.is_empty() && some.iter().all(|entry| entry.value.name == ALARM && entry.value.enabled) {
        let times: Vec<String> = some.iter().map(|entry| when(&entry.value, now)).collect();
        return match times.as_slice() {
            [one] => alarm(one),
            _ => listing(&format!("{all} alarms are set"), &times, More::Count(all - times.len())),
        };
    }
    let reminds = |entry: &&Entry<Schedule>| action::reminds(&entry.value.action());
    let (noun, set) = if some.iter().all(reminds) { ("reminder", "set") } else { ("thing", "planned") };
    match (all, named.as_slice()) {
        (_, []) => "No reminders are set.".into(),
        (1, [one]) => format!("One {noun} is {set}: {one}."),
        (_, named) => listing(&format!("{all} {noun}s are {set}"), named, More::Count(all - named.len())),
    }
}

/// ", for Anna", where its message is for another person.
fn addressee(cx: &Cx, schedule: &Schedule) -> String {
    let action = action::action_json(cx, &schedule.action());
    action["person"].as_str().map(|person| format!(", for {person}")).unwrap_or_default()
}

/// A sentence about the last run of a schedule.
pub(crate) fn ran(schedule: &Schedule, last: Option<&Run>, now: &Zoned) -> String {
    let name = &schedule.name;
    let (come, came) = if action::reminds(&schedule.action()) { ("come", "came") } else { ("run", "ran") };
    let Some(run) = last else { return format!("“{name}” has not {come} yet.") };
    let at = Timestamp::from_millisecond(run.scheduled_ms).unwrap_or_default().to_zoned(now.time_zone().clone());
    let at = moment_words(&at, now);
    match run.status {
        Status::Ok => format!("“{name}” last {came} {at}."),
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
        Status::Ok if run.result.is_empty() || run.result.eq_ignore_ascii_case(name) => format!("“{name}” has run."),
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
