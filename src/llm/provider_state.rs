//! Provider state: blocks sent back unchanged, at their original position within the turn.

use crate::{Endpoint, ProviderState, ToolCall, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Blocks and the model they belong to: another model of the same provider cannot read them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Blocks {
    model: String,
    blocks: Vec<PositionedBlock>,
}

/// A block and its position within the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PositionedBlock {
    /// Bytes of text before it.
    pub text: usize,
    /// Calls before it.
    pub calls: usize,
    /// The provider's own block.
    pub block: Value,
}

/// A piece of a turn, in original order.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnPiece<'a> {
    /// Text; never empty.
    Text(&'a str),
    /// A call.
    Call(&'a ToolCall),
    /// A block to send back.
    Kept(Value),
}

/// The provider state of an answer; `None` without blocks.
pub(crate) fn keep(provider: &str, model: &str, blocks: Vec<PositionedBlock>) -> Option<ProviderState> {
    if blocks.is_empty() {
        return None;
    }
    let value = serde_json::to_value(Blocks { model: model.to_owned(), blocks }).ok()?;
    Some(ProviderState { provider: provider.to_owned(), value })
}

/// The state of a turn, if it belongs to this model.
pub(crate) fn own<'a>(turn: &'a Turn, endpoint: &Endpoint) -> Option<&'a Value> {
    let kept = turn.kept.as_ref().filter(|kept| kept.provider == endpoint.provider)?;
    (kept.value["model"] == endpoint.model).then_some(&kept.value)
}

/// Approximate tokens of a turn's state that are sent back to that model, named `provider/model`.
pub(crate) fn tokens(turn: &Turn, model: &str) -> usize {
    let own = |kept: &&ProviderState| {
        model.split_once('/').is_some_and(|(who, model)| kept.provider == who && kept.value["model"] == model)
    };
    turn.kept.as_ref().filter(own).map_or(0, |kept| kept.value.to_string().len() / 4)
}

/// A turn in original order: text, calls and this model's state. Of other models' turns only text and calls.
pub(crate) fn in_original_order<'a>(turn: &'a Turn, endpoint: &Endpoint) -> Vec<TurnPiece<'a>> {
    let kept = own(turn, endpoint).and_then(|value| Blocks::deserialize(value).ok()).unwrap_or_default();
    let (mut strands, mut text, mut calls) = (vec![], 0, 0);
    let mut up_to = |strands: &mut Vec<TurnPiece<'a>>, to_text: usize, to_calls: usize| {
        // The text may have been truncated since; never split a character.
        let to_text = (text..=to_text.min(turn.content.len())).rev().find(|at| turn.content.is_char_boundary(*at));
        if let Some(said) = to_text.and_then(|to| turn.content.get(text..to)).filter(|said| !said.is_empty()) {
            strands.push(TurnPiece::Text(said));
            text += said.len();
        }
        let to_calls = to_calls.clamp(calls, turn.tool_calls.len());
        strands.extend(turn.tool_calls[calls..to_calls].iter().map(TurnPiece::Call));
        calls = to_calls;
    };
    for placed in kept.blocks {
        up_to(&mut strands, placed.text, placed.calls);
        strands.push(TurnPiece::Kept(placed.block));
    }
    up_to(&mut strands, usize::MAX, usize::MAX);
    strands
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_kept_stands_where_it_stood() {
        let endpoint = |provider: &str, model: &str| Endpoint {
            provider: provider.into(),
            model: model.into(),
            ..Endpoint::default()
        };
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
        let placed = |text, calls, block: &str| PositionedBlock { text, calls, block: json!(block) };
        let blocks = vec![placed(0, 0, "first"), placed(5, 0, "second"), placed(5, 1, "third"), placed(900, 9, "far")];
        let turn = Turn {
            content: "Grüße an alle".into(),
            tool_calls: vec![call("a"), call("b")],
            kept: keep("p", "m", blocks),
        };
        let show = |provider, model| {
            let word = |strand: &TurnPiece<'_>| match strand {
                TurnPiece::Text(text) => format!("\"{text}\""),
                TurnPiece::Call(call) => call.id.clone(),
                TurnPiece::Kept(block) => block.as_str().unwrap().to_owned(),
            };
            in_original_order(&turn, &endpoint(provider, model)).iter().map(word).collect::<Vec<_>>().join(" ")
        };
        // Byte five is within a character.
        assert_eq!(show("p", "m"), "first \"Grü\" second a third \"ße an alle\" b far");
        assert_eq!(show("p", "other"), "\"Grüße an alle\" a b");
        assert_eq!(show("q", "m"), "\"Grüße an alle\" a b");
        assert!(keep("p", "m", vec![]).is_none());
        assert!(tokens(&turn, "p/m") > 30 && tokens(&turn, "p/other") + tokens(&turn, "q/m") + tokens(&turn, "p") == 0);
    }
}
