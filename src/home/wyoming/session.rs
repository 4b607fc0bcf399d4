//! One connection: what is asked, and the answers.

use super::{
    answers::{Answers, Spoken},
    limits::Limits,
    server::Parts,
};
use ::wyoming::{Error, Event, EventReader, write};
use identity::VoiceStatus;
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

/// How long a connection may be silent; Home Assistant opens one for each sentence.
const SILENCE: Duration = Duration::from_secs(120);
/// How long the other side may take to read an answer.
const SENDING: Duration = Duration::from_secs(10);
/// The longest sentence, in characters, and the longest name of a conversation, in bytes.
const SENTENCE: usize = 1_000;
const CONVERSATION: usize = 64;
/// How much of an echo a ping gets back, in bytes.
const PING: usize = 200;

const WAITS: &str = "Hob does not know this device yet. Approve it on Hob's page, under Home, and say that again.";
const DENIED: &str = "This device may not speak to Hob.";
const TOO_OFTEN: &str = "That were too many requests within a minute. Wait a little, and say that again.";

/// One connection of an address.
pub(crate) struct Session {
    pub parts: Parts,
    pub answers: Answers,
    pub limits: Limits,
    pub address: IpAddr,
}

impl Session {
    /// Answers until the other side closes the connection, is silent for too long or sends something malformed.
    pub async fn run(self, reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin) {
        let mut reader = EventReader::new(reader, ::wyoming::Limits::SERVER);
        loop {
            let event = match timeout(SILENCE, reader.read()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) | Err(_) => return,
                Ok(Err(Error::Io(_))) => return,
                Ok(Err(error)) => {
                    tracing::debug!(address = %self.address, %error, "a connection by voice was malformed");
                    let told = Event::new("error", json!({"text": error.to_string(), "code": "malformed"}));
                    let _ = timeout(SENDING, write(&mut writer, &told)).await;
                    return;
                }
            };
            let Some(answer) = self.answer(event).await else { continue };
            if !matches!(timeout(SENDING, write(&mut writer, &answer)).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// The answer to an event; `None` where the protocol has none.
    async fn answer(&self, event: Event) -> Option<Event> {
        let may_ask = self.limits.take(self.address);
        match event.kind.as_str() {
            "transcript" if !may_ask => Some(not_handled(TOO_OFTEN)),
            _ if !may_ask => Some(Event::new("error", json!({"text": TOO_OFTEN, "code": "too-many-requests"}))),
            "describe" => Some(Event::new("info", info(&(self.parts.name)(), self.parts.agent.writes_json()))),
            "ping" => {
                let echo: String = event.text("text").unwrap_or_default().chars().take(PING).collect();
                Some(Event::new("pong", if echo.is_empty() { json!({}) } else { json!({"text": echo}) }))
            }
            "transcript" => Some(self.transcript(&event).await),
            // Audio and other parts of a pipeline are not for a program that handles sentences.
            _ => None,
        }
    }

    async fn transcript(&self, event: &Event) -> Event {
        match self.parts.identity.hear_voice_client(self.address).await {
            Ok((VoiceStatus::Approved, _)) => {}
            Ok((VoiceStatus::Pending, new)) => {
                if new {
                    tracing::info!(address = %self.address, "an unknown address wants to speak: `hob voice` lists it");
                    let data = json!({"address": self.address.to_string()});
                    self.parts.ports.bus.publish("voice:request", None, data);
                }
                return not_handled(WAITS);
            }
            Ok((VoiceStatus::Denied, _)) => return not_handled(DENIED),
            Err(error) => {
                tracing::warn!(%error, "whether an address may speak could not be read");
                return not_handled("Hob cannot look up whether this device may speak. See its log.");
            }
        }
        let text = event.text("text").unwrap_or_default().trim();
        if text.is_empty() || text.chars().count() > SENTENCE {
            return not_handled("I did not catch that.");
        }
        let context = event.data.get("context").and_then(Value::as_object);
        let conversation = context.and_then(|context| context.get("conversation_id")).and_then(Value::as_str);
        let conversation = conversation.filter(|id| id.len() <= CONVERSATION).unwrap_or_default().to_owned();
        let Spoken { text, handled } = self.answers.answer((self.address, conversation), text).await;
        match (handled, event.data.get("context")) {
            (false, _) => not_handled(&text),
            (true, Some(context @ Value::Object(_))) => {
                Event::new("handled", json!({"text": text, "context": context}))
            }
            (true, _) => Event::new("handled", json!({"text": text})),
        }
    }
}

fn not_handled(text: &str) -> Event {
    Event::new("not-handled", json!({"text": text}))
}

/// The description of this program, which handles sentences. A model understands many languages; without one Hob understands English.
fn info(name: &str, has_model: bool) -> Value {
    const LANGUAGES: &[&str] =
        &["en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "nb", "fi", "cs", "uk", "tr", "ja", "zh", "ko"];
    let languages = if has_model { LANGUAGES } else { &LANGUAGES[..1] };
    let about = "An always-on agent for the home.";
    let artifact = |name: &str| {
        json!({"name": name, "description": about, "installed": true, "version": env!("CARGO_PKG_VERSION"),
            "attribution": {"name": "Hob", "url": ""}})
    };
    let (mut program, mut model) = (artifact(name), artifact("agent"));
    model["languages"] = json!(languages);
    program["models"] = json!([model]);
    json!({"asr": [], "tts": [], "handle": [program], "intent": [], "wake": []})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_what_clients_require() {
        for (has_model, first, more) in [(false, "en", false), (true, "en", true)] {
            let info = info("kitchen", has_model);
            let program = &info["handle"][0];
            assert_eq!((&program["name"], &program["installed"]), (&json!("kitchen"), &json!(true)));
            for part in [program, &program["models"][0]] {
                for field in ["name", "attribution", "installed", "description", "version"] {
                    assert!(part.get(field).is_some(), "{field}");
                }
            }
            let languages = program["models"][0]["languages"].as_array().unwrap();
            assert_eq!((&languages[0], languages.len() > 1), (&json!(first), more));
        }
    }
}
