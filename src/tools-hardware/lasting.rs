//! Switching for a while: the way back is a schedule, so that it survives a restart and is shown with the others.

use crate::pins::Pins;
use board::Pin;
use jiff::{SignedDuration, Span};
use text_kit::duration_words;
use tool::{Channel, prelude::*};

/// The longest time.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 7);

/// Reads `PT10M`.
pub(crate) fn read(text: &str) -> Result<SignedDuration> {
    let wrong = || Error::bad_args(format!("`for` is `{text}`: give a time up to seven days, as `PT10M`"));
    let span: Span = text.parse().map_err(|_| wrong())?;
    let lasts = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    (lasts > SignedDuration::ZERO && lasts <= LONGEST).then_some(lasts).ok_or_else(wrong)
}

/// The name of the schedule that switches back.
fn title(name: &str, high: bool) -> String {
    format!("{name} {} again", if high { "on" } else { "off" })
}

/// Plans the way back, and returns its moment.
pub(crate) async fn plan(
    pins: &Pins,
    cx: &Cx,
    (pin, name): (Pin, &str),
    high: bool,
    lasts: SignedDuration,
) -> Result<String> {
    let beyond = |error: jiff::Error| Error::bad_args(format!("`for` is too long: {error}"));
    let at = cx.ports().clock.local().checked_add(lasts).map_err(beyond)?;
    let moment = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let arguments = json!({
        "name": title(name, high),
        "schedule": moment,
        "tool": "gpio_write",
        "arguments": {"pin": pin, "high": high},
    });
    pins.plans(cx.user(), true);
    cx.call("create_scheduled_task", arguments).await?;
    Ok(moment)
}

/// Takes back an earlier plan for this pin: a person who switches it now decides again. The plan itself is no such decision.
pub(crate) async fn forget(pins: &Pins, cx: &Cx, name: &str) {
    if cx.channel() == Channel::Machine || !pins.may_have_plans(cx.user()) {
        return;
    }
    let titles = [title(name, true), title(name, false)];
    let Ok(found) = cx.call("list_scheduled_tasks", json!({"search": "again", "enabled": true, "limit": 50})).await
    else {
        return;
    };
    let tasks = found.content["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    pins.plans(cx.user(), !tasks.is_empty());
    for task in tasks {
        if titles.iter().any(|title| task["name"] == title.as_str()) {
            // A model may pause, and deletes nothing unasked.
            let (tool, args) = match cx.is_by_model() {
                true => ("update_scheduled_task", json!({"taskId": task["id"], "enabled": false})),
                false => ("delete_scheduled_task", json!({"taskId": task["id"]})),
            };
            if let Err(error) = cx.call(tool, args).await {
                tracing::warn!(%error, "an earlier plan for a pin could not be taken back");
            }
        }
    }
}

/// "for 10 minutes, until 09:10".
pub(crate) fn words(lasts: SignedDuration, moment: &str) -> String {
    let time = moment.split_once('T').map_or(moment, |(_, time)| time);
    let until = time.get(..5).map(|time| format!(", until {time}")).filter(|_| lasts.as_secs() >= 120);
    format!("for {}{}", duration_words(lasts.as_secs()), until.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [("PT10M", 600), ("PT1M30S", 90), ("P1D", 86_400)] {
            assert_eq!(read(text).unwrap().as_secs(), seconds, "{text}");
        }
        for text in ["", "10", "PT0S", "-PT5M", "P30D"] {
            assert!(matches!(read(text), Err(Error::BadArgs(_))), "{text}");
        }
        let said = |text| words(read(text).unwrap(), "2026-11-23T09:20:30");
        assert_eq!(
            (said("PT20M"), said("PT90S")),
            ("for 20 minutes, until 09:20".into(), "for 1 minute and 30 seconds".into())
        );
    }
}
