//! The classification of a sentence: the call it means, or the reply.

use serde_json::Value;

/// The classification of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The tool to call; `None` if reflex replies itself.
    pub tool: Option<String>,
    /// The arguments, a JSON object.
    pub arguments: Value,
    /// Further calls of the same sentence, made together with the first.
    pub more: Vec<(String, Value)>,
    /// The reply, if no tool is called.
    pub say: Option<String>,
    /// The tool and arguments the reply asks to confirm; called after a yes.
    pub proposes: Option<(String, Value)>,
    /// The stage that found it.
    pub stage: Stage,
    /// Confidence from 0 to 1; 1 for a template.
    pub confidence: f32,
    /// The template or rule that decided.
    pub why: String,
    /// Whether this is exactly what was meant: a template matches the whole sentence, and the reply asks for nothing
    /// more.
    pub sure: bool,
}

/// The stages of classification, most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A template matches the whole sentence.
    Template,
    /// A template matches after spelling correction.
    Words,
    /// A tool is likely by words and meaning.
    Meaning,
    /// A tool that changes something is likely: ask for confirmation.
    Asked,
    /// Likewise, but a required argument is missing.
    Missing,
    /// A question about something else: search memory.
    Question,
    /// Close to something that moves or destroys things: explain how to phrase it plainly.
    Plainly,
    /// Not understood.
    Unknown,
}

/// Why a rule is proposed that needs the position of the home.
pub(crate) const BY_SUN: &str = "a rule by the sun";

/// Why nothing is done about what will not take place.
pub(crate) const CALLED_OFF: &str = "it will not take place";

impl Classification {
    /// Whether nothing is changed, since something will not take place.
    pub(crate) fn is_called_off(&self) -> bool {
        self.why == CALLED_OFF
    }

    /// Without a reply: it is a call.
    pub(crate) fn speechless(self) -> Self {
        Self { say: None, ..self }
    }
}

/// A sentence of its own.
pub(crate) fn fixed_reply(say: &str, why: &str) -> Classification {
    let (say, why) = (Some(say.to_owned()), why.to_owned());
    let (stage, arguments) = (Stage::Template, Value::Null);
    Classification { tool: None, arguments, more: vec![], say, proposes: None, stage, confidence: 1.0, why, sure: true }
}

/// An answer of its own to a sentence that a template fits.
pub(crate) fn spoken_reply(say: String, why: String) -> Classification {
    Classification { stage: Stage::Template, confidence: 1.0, ..unknown(say, &why) }
}

/// What is answered to a sentence that nothing was found for.
pub(crate) fn unknown(say: String, why: &str) -> Classification {
    let (stage, arguments, why) = (Stage::Unknown, Value::Null, why.to_owned());
    let say = Some(say);
    Classification {
        tool: None,
        arguments,
        more: vec![],
        say,
        proposes: None,
        stage,
        confidence: 0.0,
        why,
        sure: false,
    }
}

/// Whether a sentence comes to something that is done or asked about.
pub(crate) fn acts(placed: &Classification) -> bool {
    (placed.tool.is_some() || placed.proposes.is_some()) && placed.stage != Stage::Question
}

/// What a classification plans to be asked at a time.
pub(crate) fn prompt_of(placed: &Classification) -> Option<String> {
    let planned = placed.tool.as_deref() == Some("create_scheduled_task");
    let proposed = placed.proposes.as_ref().filter(|(tool, _)| tool == "create_scheduled_task").map(|(_, of)| of);
    let arguments = planned.then_some(&placed.arguments).or(proposed)?;
    arguments["prompt"].as_str().map(str::to_owned)
}
