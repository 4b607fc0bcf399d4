//! Timer tools: countdowns that everybody in the household sees, hears and stops.

mod length;
mod pick;
mod sentences;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use pick::{Op, pick};
use records::{optional_text, rejected, untainted};
use scheduler::{Timer, TimerState, Timers};
use sentences::{left, spoken, status};
use store::Entry;
use text_kit::{join_and, listing};
use tool::prelude::*;

/// The most characters of a name.
const NAME: usize = 60;
/// The longest timer, in milliseconds: a day.
const LONGEST: i64 = 86_400_000;
/// The answer where there is no timer.
const NONE: &str = "No timer is running.";
/// How long a ringing timer is snoozed by default, in milliseconds.
const SNOOZE: i64 = 300_000;

/// Countdowns of the household.
pub fn family(timers: Timers) -> Family<Timers> {
    Family::new("timers", "Countdowns that everybody in the household sees.", timers)
        .phrases(include_str!("timers.en"))
        .area(Area::Memory)
        .tool("set_timer", Risk::Write, set)
        .additive_where(|timers, cx, args| {
            let name = args["name"].as_str().map(pick::plain_name).unwrap_or_default();
            let all = timers.list(&untainted(cx)).unwrap_or_default();
            args["timer"].is_null() && (name.is_empty() || pick::named(&all, &name).is_none())
        })
        .tags("timer countdown start minutes seconds hours kitchen egg alarm remind")
        .example(json!({"duration": "PT12M", "name": "Pizza"}))
        .tool("list_timers", Risk::Observe, list)
        .tags("timer timers countdown left remaining running how long")
        .tool("cancel_timer", Risk::Write, cancel)
        .tags("timer countdown delete remove end abort stop")
        .tool("pause_timer", Risk::Write, pause)
        .tags("timer countdown hold wait")
        .tool("resume_timer", Risk::Write, resume)
        .tags("timer countdown continue unpause go on")
        .tool("adjust_timer", Risk::Write, adjust)
        .tags("timer countdown add extend longer shorter more less minutes")
        .example(json!({"timer": "Pizza", "duration": "PT5M"}))
        .example(json!({"duration": "-PT2M"}))
        .tool("snooze_timer", Risk::Write, snooze)
        .tags("timer ringing later again minutes")
        .tool("stop_timer", Risk::Write, stop)
        .tags("timer ringing silence quiet off alarm")
}

/// Start a countdown that rings when it is over. Several run at once. A name that a timer has already sets that one to the
/// new length.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Set {
    /// Length, from 1 second to 24 hours: `PT10M`, `PT1H30M`.
    duration: String,
    /// Short name, such as Pizza.
    name: Option<String>,
    /// An existing timer to set to this length, instead of a new one: its id, name or length.
    timer: Option<String>,
}

async fn set(timers: Timers, cx: Cx, args: Set) -> Result<Output> {
    let length = within(length::read(&args.duration)?)?;
    let name = pick::plain_name(&optional_text("name", args.name.as_deref(), NAME)?.unwrap_or_default());
    let all = timers.list(&untainted(&cx))?;
    let again = match args.timer.as_deref().map(str::trim).filter(|which| !which.is_empty()) {
        Some(which) => Some(pick(&cx, &all, Some(which), Op::Any)?),
        None => pick::named(&all, &name).cloned().filter(|_| !name.is_empty()),
    };
    let renamed = again.is_some();
    let timer = timers.set(&cx, again.map(|timer| timer.id), name, length).await?;
    let length = spoken(length);
    let sentence = match (renamed, timer.value.name.is_empty()) {
        (true, _) => format!("{} set again, now for {length}.", timer.value.title()),
        (false, false) => format!("{} set: {length}.", timer.value.title()),
        (false, true) => format!("Timer set: {length}."),
    };
    output(&timers, &timer, sentence)
}

/// List the timers with the time that is left.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

async fn list(timers: Timers, cx: Cx, List {}: List) -> Result<Output> {
    let all = timers.list(&cx)?;
    let clock = &*cx.ports().clock;
    let views: Vec<Value> = all.iter().map(|timer| timers.view(timer, timer.value.state.word())).collect();
    let said: Vec<String> = all.iter().map(|timer| status(&timer.value, clock)).collect();
    let sentence = match said.as_slice() {
        [] => NONE.to_owned(),
        [one] => format!("{one}."),
        several => listing(&format!("{} timers are set", several.len()), several, false),
    };
    let now = clock.now().to_string();
    Ok(Output::json(json!({"count": views.len(), "timers": views, "now": now}))?.say(sentence))
}

/// End a timer before it rings, or all of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancel {
    /// Its id, its name, or its length such as `10 minutes`; may be left out when there is only one.
    timer: Option<String>,
    /// Whether to cancel all timers.
    all: Option<bool>,
}

async fn cancel(timers: Timers, cx: Cx, args: Cancel) -> Result<Output> {
    let all = timers.list(&untainted(&cx))?;
    if args.all != Some(true) {
        let timer = pick(&cx, &all, args.timer.as_deref(), Op::Any)?;
        return end(&timers, &cx, &[timer], "cancelled").await;
    }
    if args.timer.is_some_and(|which| !which.trim().is_empty()) {
        return Err(Error::bad_args("give either a timer to cancel, or `all`"));
    }
    if all.is_empty() {
        return Ok(Output::json(json!({"count": 0, "timers": []}))?.say(NONE));
    }
    end(&timers, &cx, &all, "cancelled").await
}

/// Ends timers and says so.
async fn end(timers: &Timers, cx: &Cx, which: &[Entry<Timer>], how: &str) -> Result<Output> {
    let ids: Vec<Id> = which.iter().map(|timer| timer.id).collect();
    let ended = timers.end(&ids, how).await?;
    ended.iter().for_each(|timer| cx.taint(label_for(which, timer)));
    let views: Vec<Value> = ended.iter().map(|timer| timers.view(timer, how)).collect();
    let sentence = match ended.as_slice() {
        [one] => format!("{} {how}.", one.value.title()),
        several => {
            let names: Vec<String> = several.iter().map(|timer| timer.value.short_title()).collect();
            format!("{} timers {how}: {}.", several.len(), join_and(&names))
        }
    };
    match views.as_slice() {
        [one] => Ok(Output::json(one.clone())?.say(sentence)),
        _ => Ok(Output::json(json!({"count": views.len(), "timers": views}))?.say(sentence)),
    }
}

/// The label of a timer as this caller sees it.
fn label_for(seen: &[Entry<Timer>], timer: &Entry<Timer>) -> tool::Label {
    seen.iter().find(|one| one.id == timer.id).map_or(timer.label, |one| one.label)
}

/// Pause a timer; it keeps the time that is left.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pause {
    /// Its id, its name, or its length such as `10 minutes`; may be left out when only one runs.
    timer: Option<String>,
}

async fn pause(timers: Timers, cx: Cx, args: Pause) -> Result<Output> {
    let found = pick(&cx, &timers.list(&untainted(&cx))?, args.timer.as_deref(), Op::Running)?;
    let now = now(&cx);
    let timer = timers.change(&cx, found.id, move |timer| {
        match timer.state {
            TimerState::Running => timer.pause(now),
            TimerState::Paused => {}
            TimerState::Ringing => return Err(rejected(rings(timer))),
        }
        Ok(())
    });
    let timer = timer.await?;
    let sentence = format!("{} paused with {} left.", timer.value.title(), left(&timer.value, now));
    output(&timers, &timer, sentence)
}

/// Continue a paused timer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resume {
    /// Its id, its name, or its length such as `10 minutes`; may be left out when only one is paused.
    timer: Option<String>,
}

async fn resume(timers: Timers, cx: Cx, args: Resume) -> Result<Output> {
    let found = pick(&cx, &timers.list(&untainted(&cx))?, args.timer.as_deref(), Op::Paused)?;
    let now = now(&cx);
    let timer = timers.change(&cx, found.id, move |timer| {
        match timer.state {
            TimerState::Running => {}
            TimerState::Paused => timer.run_for(timer.left_ms(now), now),
            TimerState::Ringing => return Err(rejected(rings(timer))),
        }
        Ok(())
    });
    let timer = timer.await?;
    let sentence = format!("{} is running: {} left.", timer.value.title(), left(&timer.value, now));
    output(&timers, &timer, sentence)
}

/// Add time to a timer, or take some off with a negative duration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Adjust {
    /// Its id, its name, or its length such as `10 minutes`; may be left out when there is only one.
    timer: Option<String>,
    /// The time to add, such as `PT5M`, or to take off, such as `-PT5M`.
    duration: String,
}

async fn adjust(timers: Timers, cx: Cx, args: Adjust) -> Result<Output> {
    let by = length::read_signed(&args.duration)?;
    let found = pick(&cx, &timers.list(&untainted(&cx))?, args.timer.as_deref(), Op::Any)?;
    let now = now(&cx);
    let timer = timers.change(&cx, found.id, move |timer| {
        let was = timer.left_ms(now);
        let is = was.saturating_add(by);
        if timer.state == TimerState::Ringing && by < 0 {
            return Err(rejected(rings(timer)));
        }
        if is < 1000 {
            let text = "that is all the time that is left, or more: take off less, or cancel it";
            return Err(rejected(format!("{} has {} left, and {text}", timer.title(), left(timer, now))));
        }
        if is > LONGEST {
            return Err(rejected("a timer runs for 24 hours at most: add less"));
        }
        match timer.state {
            TimerState::Paused => timer.paused_ms = is,
            // Time added to a ringing timer counts from now.
            TimerState::Running | TimerState::Ringing => timer.run_for(is, now),
        }
        Ok(())
    });
    let timer = timer.await?;
    let sentence = format!("{}: now {} left.", timer.value.title(), left(&timer.value, now));
    output(&timers, &timer, sentence)
}

/// Silence a ringing timer, and let it ring again later.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Snooze {
    /// Its id, its name, or its length such as `10 minutes`; may be left out when only one rings.
    timer: Option<String>,
    /// How much later. Default: PT5M.
    duration: Option<String>,
}

async fn snooze(timers: Timers, cx: Cx, args: Snooze) -> Result<Output> {
    let by = args.duration.as_deref().map_or(Ok(SNOOZE), |text| within(length::read(text)?))?;
    let found = pick(&cx, &timers.list(&untainted(&cx))?, args.timer.as_deref(), Op::Ringing)?;
    let now = now(&cx);
    let timer = timers.change(&cx, found.id, move |timer| {
        if timer.state != TimerState::Ringing {
            let left = left(timer, now);
            return Err(rejected(format!("{} is not ringing: it has {left} left", timer.title())));
        }
        timer.run_for(by, now);
        Ok(())
    });
    let timer = timer.await?;
    let sentence = format!("{} snoozed for {}.", timer.value.title(), spoken(by));
    output(&timers, &timer, sentence)
}

/// Stop a ringing timer. One that still runs is ended too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// Its id, its name, or its length such as `10 minutes`; left out, whatever rings stops.
    timer: Option<String>,
}

async fn stop(timers: Timers, cx: Cx, args: Stop) -> Result<Output> {
    let all = timers.list(&untainted(&cx))?;
    let named = args.timer.as_deref().is_some_and(|which| !pick::plain_name(which).is_empty());
    let ringing: Vec<Entry<Timer>> =
        all.iter().filter(|timer| timer.value.state == TimerState::Ringing).cloned().collect();
    if !named && ringing.len() > 1 {
        return end(&timers, &cx, &ringing, "stopped").await;
    }
    let timer = pick(&cx, &all, args.timer.as_deref(), Op::Ringing)?;
    end(&timers, &cx, &[timer], "stopped").await
}

fn output(timers: &Timers, timer: &Entry<Timer>, sentence: String) -> Result<Output> {
    Ok(Output::json(timers.view(timer, timer.value.state.word()))?.say(sentence))
}

fn rings(timer: &Timer) -> String {
    format!("{} is ringing: stop it, or snooze it", timer.title())
}

fn within(length: i64) -> Result<i64> {
    match length {
        ..1000 => Err(Error::bad_args("a timer runs for a second at least: give a longer duration")
            .say("A timer runs for at least a second. For how long shall I set it?")),
        1000..=LONGEST => Ok(length),
        _ => Err(Error::bad_args("a timer runs for 24 hours at most: for later, set a reminder").say(
            "A timer runs for 24 hours at most. For later I can remind you: “remind me on monday at 9 to call mum”.",
        )),
    }
}

fn now(cx: &Cx) -> i64 {
    cx.ports().clock.now().as_millisecond()
}

/// A duration in milliseconds.
fn millis(duration: SignedDuration) -> Option<i64> {
    i64::try_from(duration.as_millis()).ok()
}
