//! Switching for a while: the way back is a schedule, so that it survives a restart and is shown with the others.

use jiff::{SignedDuration, Span, SpanRelativeTo, Zoned};
use text_kit::duration_words;
use tool::{Channel, prelude::*};

/// The longest time.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 7);
/// How a moment is written, without its offset.
const MOMENT: &str = "%Y-%m-%dT%H:%M:%S";
/// How many schedules of a person are looked through.
const LOOKED_THROUGH: u32 = 50;

/// The call that leads back, and the name of its schedule.
#[derive(Debug)]
pub struct WayBack<'a> {
    pub title: String,
    pub tool: &'a str,
    pub arguments: Value,
}

/// Reads a span such as `PT10M`.
///
/// # Errors
/// `BadArgs` when it is no span, not positive, or longer than seven days.
pub fn read(text: &str) -> Result<SignedDuration> {
    let wrong = || Error::bad_args(format!("`for` is `{text}`: give a time up to seven days, as `PT10M`"));
    let span: Span = text.parse().map_err(|_| wrong())?;
    let lasts = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    (lasts > SignedDuration::ZERO && lasts <= LONGEST).then_some(lasts).ok_or_else(wrong)
}

/// Schedules the way back, and returns its moment, such as `2026-11-23T09:20:00`.
///
/// # Errors
/// `BadArgs` beyond the calendar; otherwise those of `create_scheduled_task`.
pub async fn plan(cx: &Cx, back: WayBack<'_>, lasts: SignedDuration) -> Result<String> {
    let beyond = |error: jiff::Error| Error::bad_args(format!("`for` is too long: {error}"));
    let at = cx.ports().clock.local().checked_add(lasts).map_err(beyond)?;
    let moment = at.strftime(MOMENT).to_string();
    let WayBack { title, tool, arguments } = back;
    let task = json!({"name": title, "schedule": exact(&at), "tool": tool, "arguments": arguments});
    cx.call("create_scheduled_task", task).await?;
    Ok(moment)
}

/// A moment with its offset: in the hour that comes twice in autumn, the time alone would be the first of the two.
fn exact(at: &Zoned) -> String {
    format!("{}{}", at.strftime(MOMENT), at.strftime("%:z"))
}

/// Takes back earlier ways back, those with one of these `titles`: a person who switches now decides again. A schedule itself
/// is no such decision. `search` is a part of the titles of all of them. Returns whether any schedule has that part; `None` if
/// that was not looked up.
pub async fn forget(cx: &Cx, search: &str, titles: &[String]) -> Option<bool> {
    if cx.channel() == Channel::Machine {
        return None;
    }
    let query = json!({"search": search, "enabled": true, "limit": LOOKED_THROUGH});
    let found = cx.call("list_scheduled_tasks", query).await.ok()?;
    let tasks = found.content["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    for task in tasks.iter().filter(|task| titles.iter().any(|title| task["name"] == title.as_str())) {
        // A model may pause, and deletes nothing unasked; by voice nothing is deleted at all.
        let (tool, args) = match cx.is_by_model() || cx.is_by_voice() {
            true => ("update_scheduled_task", json!({"taskId": task["id"], "enabled": false})),
            false => ("delete_scheduled_task", json!({"taskId": task["id"]})),
        };
        if let Err(error) = cx.call(tool, args).await {
            tracing::warn!(%error, "an earlier way back could not be taken back");
        }
    }
    Some(!tasks.is_empty())
}

/// "for 10 minutes, until 09:10".
#[must_use]
pub fn words(lasts: SignedDuration, moment: &str) -> String {
    let time = moment.split_once('T').map_or(moment, |(_, time)| time);
    let until = time.get(..5).map(|time| format!(", until {time}")).filter(|_| lasts.as_secs() >= 120);
    format!("for {}{}", duration_words(lasts.as_secs()), until.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_clear_in_the_hour_that_comes_twice() {
        let now: Zoned = "2026-10-25T02:55:00+02:00[Europe/Vienna]".parse().unwrap();
        let at = now.checked_add(SignedDuration::from_mins(10)).unwrap();
        assert_eq!(exact(&at), "2026-10-25T02:05:00+01:00");
        assert_eq!(exact(&at).parse::<jiff::Timestamp>().unwrap(), at.timestamp());
    }

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
