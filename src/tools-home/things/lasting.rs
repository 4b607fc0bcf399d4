//! Controlling for a while: the way back is a schedule, so that it survives a restart and is shown with the others.

use jiff::{SignedDuration, Span};
use text_kit::duration_words;
use tool::{Channel, prelude::*};

/// The longest time.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 7);
/// The end of the names of such schedules.
const AGAIN: &str = "as before again";

/// Reads `PT10M`.
pub(super) fn read(text: &str) -> Result<SignedDuration> {
    let wrong = || Error::bad_args(format!("`for` is `{text}`: give a time up to seven days, as `PT10M`"));
    let span: Span = text.parse().map_err(|_| wrong())?;
    let lasts = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    (lasts > SignedDuration::ZERO && lasts <= LONGEST).then_some(lasts).ok_or_else(wrong)
}

fn title(name: &str) -> String {
    format!("{name}: {AGAIN}")
}

/// Plans the way back, and returns its moment.
pub(super) async fn plan(cx: &Cx, name: &str, back: Value, lasts: SignedDuration) -> Result<String> {
    let beyond = |error: jiff::Error| Error::bad_args(format!("`for` is too long: {error}"));
    let at = cx.ports().clock.local().checked_add(lasts).map_err(beyond)?;
    let moment = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let arguments = json!({"name": title(name), "schedule": moment, "tool": "control_thing", "arguments": back});
    cx.call("create_scheduled_task", arguments).await?;
    Ok(moment)
}

/// Takes back earlier plans for these things: a person who controls them now decides again. The plan itself is no such
/// decision.
pub(super) async fn forget(cx: &Cx, names: &[&str]) {
    if cx.channel() == Channel::Machine {
        return;
    }
    let search = json!({"search": AGAIN, "enabled": true, "limit": 50});
    let Ok(found) = cx.call("list_scheduled_tasks", search).await else { return };
    let tasks = found.content["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    for task in tasks.iter().filter(|task| names.iter().any(|name| task["name"] == title(name).as_str())) {
        // A model may pause, and deletes nothing unasked.
        let (tool, args) = match cx.is_by_model() {
            true => ("update_scheduled_task", json!({"taskId": task["id"], "enabled": false})),
            false => ("delete_scheduled_task", json!({"taskId": task["id"]})),
        };
        if let Err(error) = cx.call(tool, args).await {
            tracing::warn!(%error, "an earlier plan for a thing could not be taken back");
        }
    }
}

/// "for 10 minutes, until 09:10".
pub(super) fn words(lasts: SignedDuration, moment: &str) -> String {
    let time = moment.split_once('T').map_or(moment, |(_, time)| time);
    let until = time.get(..5).map(|time| format!(", until {time}")).filter(|_| lasts.as_secs() >= 120);
    format!("for {}{}", duration_words(lasts.as_secs()), until.unwrap_or_default())
}
