//! Switching for a while: the way back is a schedule, so that it survives a restart and is shown with the others.

use board::Pin;
use jiff::{SignedDuration, Span};
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
fn title(name: &str) -> String {
    format!("{name} again")
}

/// Plans the way back, and returns its moment.
pub(crate) async fn plan(cx: &Cx, (pin, name): (Pin, &str), high: bool, lasts: SignedDuration) -> Result<String> {
    let beyond = |error: jiff::Error| Error::bad_args(format!("`for` is too long: {error}"));
    let at = cx.ports().clock.local().checked_add(lasts).map_err(beyond)?;
    let moment = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let arguments = json!({
        "name": title(name),
        "schedule": moment,
        "tool": "gpio_write",
        "arguments": {"pin": pin, "high": high},
    });
    cx.call("create_scheduled_task", arguments).await?;
    Ok(moment)
}

/// Takes back an earlier plan for this pin: whoever switches it now decides anew. The plan itself is no such decision.
pub(crate) async fn forget(cx: &Cx, name: &str) {
    if cx.channel() == Channel::Machine {
        return;
    }
    let title = title(name);
    let Ok(found) = cx.call("list_scheduled_tasks", json!({"search": title, "enabled": true})).await else { return };
    for task in found.content["tasks"].as_array().into_iter().flatten() {
        if task["name"] == title.as_str() {
            let off = json!({"taskId": task["id"], "enabled": false});
            if let Err(error) = cx.call("update_scheduled_task", off).await {
                tracing::warn!(%error, "an earlier plan for a pin could not be taken back");
            }
        }
    }
}

/// The time of day of a moment, with seconds where they count.
pub(crate) fn clock(moment: &str) -> String {
    let time = moment.split_once('T').map_or(moment, |(_, time)| time);
    time.strip_suffix(":00").unwrap_or(time).to_owned()
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
        assert_eq!((clock("2026-11-23T09:20:00"), clock("2026-11-23T09:20:30")), ("09:20".into(), "09:20:30".into()));
    }
}
