//! Lines in `hob chat` about what happens elsewhere: a timer rings, a notice comes, a run of another door asks something.

use super::{answer::question_text, client::Client, consent::approval_text, screen::Screen, terminal::plain};
use futures::StreamExt;
use http_client::Local;
use serde_json::Value;
use std::{
    sync::mpsc::Sender,
    time::{Duration, Instant},
};
use text_kit::percent_encode;
use tokio::task::JoinSet;

/// The event stream of these topics.
const EVENTS: &str = "/api/v1/events?topics=timer,notice:new,approval:asked,interaction:pending";
/// How long to wait before listening again after the daemon went away, and at first.
const RETRY: Duration = Duration::from_secs(5);
/// The longest event, and the longest question that is looked up, in bytes.
const LONGEST: usize = 256 << 10;

/// Sends a line to `lines` for each of these events, until the result is dropped.
pub fn announce(client: &Client, screen: &Screen, lines: Sender<String>) -> JoinSet<()> {
    let (socket, screen) = (client.socket(), screen.clone());
    let mut listening = JoinSet::new();
    listening.spawn(async move {
        loop {
            let begun = Instant::now();
            if let Ok(response) = socket.request("GET", EVENTS, None).await {
                let (mut chunks, mut buffer) = (response.into_stream().boxed(), Vec::new());
                while let Some(Ok(chunk)) = chunks.next().await {
                    buffer.extend_from_slice(&chunk);
                    while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
                        let event: Vec<u8> = buffer.drain(..end + 2).collect();
                        let Some(event) = parse(&String::from_utf8_lossy(&event)) else { continue };
                        if let Some(line) = line(&socket, &screen, &event).await
                            && lines.send(line).is_err()
                        {
                            return;
                        }
                    }
                    if buffer.len() > LONGEST {
                        break;
                    }
                }
            }
            tokio::time::sleep(RETRY.saturating_sub(begun.elapsed())).await;
        }
    });
    listening
}

/// Parses the data of a server-sent event.
fn parse(event: &str) -> Option<Value> {
    let data = event.lines().find_map(|line| line.strip_prefix("data:"))?;
    serde_json::from_str(data.trim()).ok()
}

/// The line about an event. The questions of the run that is answered here are asked in the middle of its answer instead.
async fn line(socket: &Local, screen: &Screen, event: &Value) -> Option<String> {
    let (topic, data) = (event["topic"].as_str()?, &event["data"]);
    let (id, run) = (data["id"].as_str(), data["runId"].as_str());
    match topic {
        "timer" => ringing(data),
        "notice:new" => notice(data),
        _ if screen.is_answering(run) => None,
        "approval:asked" => {
            let (id, approval) = (id?, get(socket, "approvals", id?).await?);
            let how = match screen.is_conversation(data["conversationId"].as_str()) {
                true => "say yes or no".to_owned(),
                false => format!("answer with `hob approve {id}` or `hob deny {id}`"),
            };
            Some(format!("? {}\n  {how}", approval_text(&approval)))
        }
        "interaction:pending" => {
            let (id, asked) = (id?, get(socket, "interactions", id?).await?);
            match asked["kind"].as_str()? {
                "ask" => Some(format!("{}\n  answer with `hob answer {id} TEXT`", question_text(&asked))),
                _ => Some("? Hob shows something on its page, or see `hob interactions`".to_owned()),
            }
        }
        _ => None,
    }
}

/// An approval or interaction with all its details.
async fn get(socket: &Local, kind: &str, id: &str) -> Option<Value> {
    let path = format!("/api/v1/{kind}/{}", percent_encode(id));
    let response = socket.request("GET", &path, None).await.ok()?;
    let mut body: Value = serde_json::from_slice(&response.bytes(LONGEST).await.ok()?).ok()?;
    Some(body["data"].take()).filter(Value::is_object)
}

/// The line about a timer, if it rings.
fn ringing(timer: &Value) -> Option<String> {
    let title = plain(timer["title"].as_str().filter(|_| timer["state"] == "ringing")?);
    Some(format!("· {title} is done. Say “stop the timer” or “snooze the timer”."))
}

fn notice(notice: &Value) -> Option<String> {
    let text = |name: &str| plain(notice[name].as_str().unwrap_or_default().trim());
    let (title, text) = (text("title"), text("text"));
    match (title.is_empty(), text.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("· {text}")),
        (false, true) => Some(format!("· {title}")),
        (false, false) => Some(format!("· {title}: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_ringing_timer_has_a_line() {
        let event = |state: &str| {
            let data = json!({"topic": "timer", "data": {"title": "Pizza\u{1b} timer", "state": state}});
            parse(&format!("event: timer\ndata: {data}\n\n"))
        };
        let of = |event: Option<Value>| event.and_then(|event| ringing(&event["data"]));
        let wanted = "· Pizza\u{fffd} timer is done. Say “stop the timer” or “snooze the timer”.";
        assert_eq!(of(event("ringing")).as_deref(), Some(wanted));
        for other in [event("running"), event("stopped"), parse(": heartbeat\n\n"), parse("data: {\n\n")] {
            assert_eq!(of(other), None);
        }
    }

    #[test]
    fn a_notice_is_a_line() {
        for (title, text, line) in [
            ("Bins", "Put them out.", Some("· Bins: Put them out.")),
            ("", "Put\u{1b} them out. ", Some("· Put\u{fffd} them out.")),
            ("Bins", "", Some("· Bins")),
            ("", " ", None),
        ] {
            assert_eq!(notice(&json!({"title": title, "text": text})).as_deref(), line);
        }
    }
}
