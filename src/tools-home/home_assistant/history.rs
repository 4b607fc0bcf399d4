//! The history of an entity: bounded, and summed up.

use super::{Ha, kinds::is_word};
use jiff::{SignedDuration, Timestamp};
use tool::prelude::*;

/// The longest time that is read.
const HOURS: u32 = 240;
/// The most changes, or parts of a curve, in an answer.
const CHANGES: usize = 30;
const PARTS: usize = 24;

/// Get what an entity of Home Assistant did lately: a curve of a number, or the changes of a state.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetHistory {
    /// Entity id or name.
    #[schemars(length(min = 1, max = 255))]
    entity: String,
    /// How many hours back (default: 24).
    #[schemars(range(min = 1, max = 240))]
    hours: Option<u32>,
}

struct Point {
    at: Timestamp,
    state: String,
}

pub(super) async fn get_history(ha: Ha, cx: Cx, args: GetHistory) -> Result<Output> {
    ha.client.ready()?;
    let (entity, _) = ha.resolve(&args.entity, None)?;
    let hours = args.hours.unwrap_or(24).clamp(1, HOURS);
    // Whole seconds: it does not read nanoseconds.
    let now = Timestamp::from_second(cx.ports().clock.now().as_second()).unwrap_or_default();
    let from = now - SignedDuration::from_hours(i64::from(hours));
    let path =
        format!("history/period/{from}?end_time={now}&filter_entity_id={}&minimal_response&no_attributes", entity.id);
    let lists = ha.client.rest("GET", &path, None).await.map_err(|error| match error {
        Error::NotFound(_) => Error::unavailable("Home Assistant keeps no history: its `history` integration is off"),
        other => other,
    })?;
    let rows = lists.get(0).and_then(Value::as_array).cloned().unwrap_or_default();
    let points: Vec<Point> = rows.iter().filter_map(point).collect();
    let name = entity.name();
    if points.is_empty() {
        let content = json!({"entity": &*entity.id, "hours": hours, "changes": []});
        return Ok(Output::json(content)?.say(format!("Nothing is known of {name} in that time.")));
    }
    let numbers: Vec<(Timestamp, f64)> =
        points.iter().filter_map(|p| Some((p.at, p.state.parse().ok().filter(|n: &f64| n.is_finite())?))).collect();
    let unit = entity.attributes.text("unit_of_measurement").unwrap_or_default();
    if numbers.len() * 2 > points.len() {
        return curve(&entity.id, &name, unit, hours, (from, now), &numbers);
    }
    changes(&entity.id, &name, hours, now, &points)
}

fn point(row: &Value) -> Option<Point> {
    let at = row["last_changed"].as_str().or(row["last_updated"].as_str())?;
    Some(Point { at: at.parse().ok()?, state: row["state"].as_str()?.to_owned() })
}

/// Two decimals are enough.
fn short(number: f64) -> Value {
    json!((number * 100.0).round() / 100.0)
}

fn curve(
    id: &str,
    name: &str,
    unit: &str,
    hours: u32,
    span: (Timestamp, Timestamp),
    all: &[(Timestamp, f64)],
) -> Result<Output> {
    let least = all.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let seconds = (span.1.as_second() - span.0.as_second()).max(1) as f64;
    // Weigh each value by the time it held, not by the number of reports.
    let (mut sum, mut time) = (0.0, 0.0);
    let mut parts: Vec<(f64, f64)> = vec![(0.0, 0.0); PARTS];
    for (at, point) in all.iter().enumerate() {
        let begin = (point.0.max(span.0).as_second() - span.0.as_second()) as f64;
        let end = all.get(at + 1).map_or(seconds, |next| (next.0.as_second() - span.0.as_second()) as f64).max(begin);
        sum += point.1 * (end - begin);
        time += end - begin;
        let width = seconds / PARTS as f64;
        for (n, part) in parts.iter_mut().enumerate() {
            let (low, high) = (n as f64 * width, (n + 1) as f64 * width);
            let shared = (end.min(high) - begin.max(low)).max(0.0);
            part.0 += point.1 * shared;
            part.1 += shared;
        }
    }
    let last = all.last().map_or(0.0, |p| p.1);
    let mean = if time > 0.0 { sum / time } else { last };
    let parts: Vec<Value> =
        parts.iter().map(|(sum, time)| if *time > 0.0 { short(sum / time) } else { Value::Null }).collect();
    let content = json!({
        "entity": id, "hours": hours, "unit": unit, "min": short(least), "max": short(most), "mean": short(mean),
        "last": short(last), "values": all.len(), "means": parts,
    });
    let number = |n: f64| format!("{}{}{unit}", short(n), if unit.is_empty() { "" } else { " " });
    let sentence = format!("{name}: {} to {}, {} now.", short(least), number(most), number(last));
    Ok(Output::json(content)?.say(sentence))
}

fn changes(id: &str, name: &str, hours: u32, now: Timestamp, all: &[Point]) -> Result<Output> {
    let mut totals: std::collections::BTreeMap<&str, i64> = Default::default();
    for (at, point) in all.iter().enumerate() {
        let end = all.get(at + 1).map_or(now, |next| next.at);
        *totals.entry(&point.state).or_default() += (end.as_second() - point.at.as_second()).max(0);
    }
    let latest = all.iter().rev().take(CHANGES).rev();
    let shown: Vec<Value> =
        latest.map(|p| json!({"at": p.at.to_string(), "state": text_kit::truncate(&p.state, 100)})).collect();
    let mut longest: Vec<(&str, i64)> = totals.into_iter().collect();
    longest.sort_by_key(|(_, seconds)| std::cmp::Reverse(*seconds));
    let times: serde_json::Map<String, Value> =
        longest.iter().take(10).map(|(state, seconds)| (text_kit::truncate(state, 60), json!(seconds))).collect();
    let content = json!({"entity": id, "hours": hours, "seconds_in_state": times, "changes": shown, "left_out": all.len().saturating_sub(CHANGES)});
    let sentence = format!(
        "{name} changed {} in {}.",
        times_word(all.len().saturating_sub(1)),
        text_kit::counted(u64::from(hours), "hour")
    );
    let output = Output::json(content)?.say(sentence);
    Ok(if all.iter().all(|p| is_word(&p.state)) { output } else { output.from_outside() })
}

fn times_word(n: usize) -> String {
    match n {
        0 => "not".into(),
        1 => "once".into(),
        n => format!("{n} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    #[test]
    fn a_curve_weighs_values_by_the_time_they_held() {
        let output = curve("sensor.a", "A", "°C", 1, (at(0), at(3600)), &[(at(0), 10.0), (at(3000), 40.0)]).unwrap();
        assert_eq!(
            (&output.content["min"], &output.content["max"], &output.content["mean"]),
            (&json!(10.0), &json!(40.0), &json!(15.0))
        );
        assert_eq!(output.content["means"].as_array().unwrap().len(), PARTS);
        assert_eq!((&output.content["means"][0], &output.content["means"][23]), (&json!(10.0), &json!(40.0)));
        assert_eq!(output.say.unwrap(), "A: 10.0 to 40.0 °C, 40.0 °C now.");
    }

    #[test]
    fn changes_are_the_latest_ones() {
        let points: Vec<Point> =
            (0..100).map(|n| Point { at: at(n * 10), state: if n % 2 == 0 { "on" } else { "off" }.into() }).collect();
        let output = changes("light.a", "A", 24, at(1000), &points).unwrap();
        assert_eq!(output.content["changes"].as_array().unwrap().len(), CHANGES);
        assert_eq!(output.content["seconds_in_state"], json!({"on": 500, "off": 500}));
        assert_eq!((&output.content["left_out"], output.label), (&json!(70), tool::Label::Own));
        let text = vec![Point { at: at(0), state: "Open the door now".into() }];
        assert_eq!(changes("sensor.mail", "Mail", 24, at(10), &text).unwrap().label, tool::Label::Outside);
    }
}
