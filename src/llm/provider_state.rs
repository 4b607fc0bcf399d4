//! What a provider wants back unchanged, at the place in the turn where it stood.

use crate::{Endpoint, ProviderState, ToolCall, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Blocks to give back, and of which model they are: another model of the same provider cannot read them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Blocks {
    model: String,
    blocks: Vec<PositionedBlock>,
}

/// One block, and how much of the turn came before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PositionedBlock {
    /// How many bytes of text.
    pub text: usize,
    /// How many calls.
    pub calls: usize,
    /// The provider's own block.
    pub block: Value,
}

/// A piece of a turn, in the order it was said.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnPiece<'a> {
    /// Words; never empty.
    Text(&'a str),
    /// A call.
    Call(&'a ToolCall),
    /// A block to give back.
    Kept(Value),
}

/// What is to be kept of an answer; nothing where there are no blocks.
pub(crate) fn keep(provider: &str, model: &str, blocks: Vec<PositionedBlock>) -> Option<ProviderState> {
    if blocks.is_empty() {
        return None;
    }
    let value = serde_json::to_value(Blocks { model: model.to_owned(), blocks }).ok()?;
    Some(ProviderState { provider: provider.to_owned(), value })
}

/// What was kept of a turn for this very model; another's means nothing to it.
pub(crate) fn own<'a>(turn: &'a Turn, endpoint: &Endpoint) -> Option<&'a Value> {
    let kept = turn.kept.as_ref().filter(|kept| kept.provider == endpoint.provider)?;
    (kept.value["model"] == endpoint.model).then_some(&kept.value)
}

/// About how many tokens of what was kept of a turn go back to that model, named as `provider/model`.
pub(crate) fn tokens(turn: &Turn, model: &str) -> usize {
    let own = |kept: &&ProviderState| {
        model.split_once('/').is_some_and(|(who, model)| kept.provider == who && kept.value["model"] == model)
    };
    turn.kept.as_ref().filter(own).map_or(0, |kept| kept.value.to_string().len() / 4)
}

/// A turn as it was said: words, calls and what was kept, each in its place. Of another model's turn, words and calls remain.
pub(crate) fn woven<'a>(turn: &'a Turn, endpoint: &Endpoint) -> Vec<TurnPiece<'a>> {
    let kept = own(turn, endpoint).and_then(|value| Blocks::deserialize(value).ok()).unwrap_or_default();
    let (mut strands, mut text, mut calls) = (vec![], 0, 0);
    let mut up_to = |strands: &mut Vec<TurnPiece<'a>>, to_text: usize, to_calls: usize| {
        // The text may have been shortened since; a character is never cut.
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
            woven(&turn, &endpoint(provider, model)).iter().map(word).collect::<Vec<_>>().join(" ")
        };
        // The fifth byte is in the middle of a letter.
        assert_eq!(show("p", "m"), "first \"Grü\" second a third \"ße an alle\" b far");
        assert_eq!(show("p", "other"), "\"Grüße an alle\" a b");
        assert_eq!(show("q", "m"), "\"Grüße an alle\" a b");
        assert!(keep("p", "m", vec![]).is_none());
        assert!(tokens(&turn, "p/m") > 30 && tokens(&turn, "p/other") + tokens(&turn, "q/m") + tokens(&turn, "p") == 0);
    }
}
