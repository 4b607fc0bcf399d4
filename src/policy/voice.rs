//! Calls by voice: anybody in the room can speak, nobody knows who did, and everybody there hears the answer.
//!
//! A sentence may be misheard, and a speaker or a television may say it. So only listed tools can be called, nothing is opened
//! or unlocked, and whatever would need an approval is refused: an approval cannot be given by voice. This holds for the
//! sentence and for a model that a sentence hijacked alike, and no policy document widens it.

use crate::case::Case;
use tool::{Owner, Peer, Risk, UserId};

/// Whether somebody speaks in a room.
pub(crate) fn is_by_voice(c: &Case) -> bool {
    c.asked.principal.user == UserId::VOICE || c.asked.via.peer == Peer::Voice
}

/// Denies by voice: tools that are not listed, those of other makers, and calls that open something. A listed tool may call
/// others to do its work, unless these destroy, administer, run code or open something.
pub(crate) fn not_by_voice(c: &Case) -> Option<String> {
    if !is_by_voice(c) || c.meta {
        return None;
    }
    let name = &c.tool.name;
    if c.asked.opens {
        return Some(format!("`{name}` would open, unlock or disarm something here, which nobody can do by voice"));
    }
    let is_listed = c.asked.inside || c.rules.voice.has(c.tool);
    let is_harmless = !matches!(c.risk(), Risk::Destroy | Risk::Admin | Risk::Execute) || c.rules.voice.has(c.tool);
    let is_ours = c.tool.owner == Owner::Core && *c.asked.maker == Owner::Core;
    (!(is_listed && is_harmless && is_ours) || c.tool.returns_secret)
        .then(|| format!("`{name}` is not available by voice: say that it can be done on the page of this Hob"))
}
