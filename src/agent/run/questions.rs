//! Questions to people: events of approvals and interactions of a run, and notices about runs nobody listens to.

use super::Run;
use crate::events::RunEvent;
use interaction::{InteractionEvent, Kind};
use serde_json::{Map, Value, json};
use tool::Cx;

/// Maximum length of the text and title of a notice, in characters.
const MAX_TEXT: usize = 1900;
const MAX_TITLE: usize = 80;

impl Run {
    /// Sends events for the approvals and interactions of this run while the guard is held.
    pub(super) fn forward_questions(&self) -> impl Sized + use<> {
        let (events, watch) = (self.events.clone(), self.watch.clone());
        let send = move |event: RunEvent| {
            if let Some(watch) = &watch {
                watch.on_step(&event);
            }
            events.send(event);
        };
        let (send_approval, journal) = (send.clone(), self.journal.clone());
        let approvals = self.agent.parts.registry.approvals().map(|approvals| {
            approvals.watch(self.run, move |approval| {
                if let Some(journal) = &journal {
                    journal.ask();
                }
                send_approval(RunEvent::Approval { approval: Box::new(approval.clone()) })
            })
        });
        let interactions = self.agent.parts.interactions.watch(self.run, move |event| send(run_event(event)));
        (approvals, interactions)
    }

    /// Notifies the person of the outcome of a run without a listener.
    pub(super) async fn notify_person(&self, event: &RunEvent) {
        let text = match event {
            RunEvent::Done(answer) if answer.waiting.is_empty() => answer.response.as_str(),
            RunEvent::Error { code, message } if !["closing", "cancelled"].contains(code) => message.as_str(),
            _ => return,
        };
        if text.trim().is_empty() {
            return;
        }
        notify(&self.cx, &self.text, text).await;
    }
}

/// Notifies the person of the outcome of a run. A failure is only logged: the run is not repeated for it.
pub(crate) async fn notify(cx: &Cx, title: &str, text: &str) {
    let args = json!({"title": clip(title, MAX_TITLE), "text": clip(text, MAX_TEXT)});
    if let Err(error) = cx.call("notify", args).await {
        tracing::warn!(%error, "could not notify the person of the outcome of a run");
    }
}

fn run_event(event: InteractionEvent) -> RunEvent {
    let asked = match event {
        InteractionEvent::Message(text) => return RunEvent::Message { text: text.to_owned() },
        InteractionEvent::Asked(asked) => asked.clone(),
    };
    let (id, expires_at) = (asked.id, asked.expires_at);
    let mut shown = Map::new();
    let kind = match asked.kind {
        Kind::Ask => {
            let question = asked.question.unwrap_or_default();
            return RunEvent::Ask { id, question, options: asked.options, expires_at };
        }
        Kind::Blocks => {
            shown.insert("blocks".into(), asked.blocks.into());
            "blocks"
        }
        Kind::Component => {
            shown.insert("code".into(), asked.code.into());
            shown.insert("component".into(), asked.component.into());
            shown.insert("props".into(), asked.props.map_or(Value::Null, Value::Object));
            "component"
        }
    };
    RunEvent::Ui { id, kind: kind.into(), title: asked.title.unwrap_or_default(), shown, expires_at }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
