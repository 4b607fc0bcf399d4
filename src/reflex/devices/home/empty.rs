//! Commands and questions about lamps and the like where no thing is known yet: what to do to get one.

use super::grammar::in_command;
use crate::{
    classification::{Classification, fixed_reply},
    sentence::Sentence,
    stance::opens_question,
};
use things::{Kind, kind_word};

/// Longer sentences are about something else.
const MOST: usize = 12;
/// How many words may be names that nobody gave yet.
const NAMES: usize = 3;
const KINDS: &[Kind] = &[Kind::Light, Kind::Switch, Kind::Fan, Kind::Cover, Kind::Climate, Kind::Lock, Kind::Media];
const VERBS: &[&str] = &[
    "turn",
    "switch",
    "dim",
    "brighten",
    "open",
    "close",
    "shut",
    "lock",
    "unlock",
    "raise",
    "lower",
    "activate",
    "deactivate",
    "toggle",
    "put",
    "light",
    "illuminate",
];
const STATES: &[&str] = &["on", "off", "open", "closed", "locked", "unlocked"];
/// Kinds by words that mean other things too.
const OF_MANY_USES: &[&str] = &["cover", "covers", "player", "shade", "shades", "switch", "lock", "radio", "speaker"];

/// The reply to a sentence about a kind of things, of which there are none.
pub(super) fn reply(s: &Sentence) -> Option<Classification> {
    if s.len() > MOST || s.mentions(&["not", "never", "if", "when", "remind", "pin", "should", "why"]) {
        return None;
    }
    let asks = (opens_question(s) || s.asks) && !s.requests;
    let kind = |at: usize| {
        let found = kind_word(&[s.word(at)]).filter(|_| !OF_MANY_USES.contains(&s.word(at)))?;
        found.kinds.first().copied().filter(|kind| KINDS.contains(kind))
    };
    let verb = VERBS.contains(&s.word(0));
    let at = (usize::from(verb)..s.len()).find(|at| kind(*at).is_some())?;
    let has_state = s.mentions(STATES);
    let unknown = (0..s.len()).filter(|other| kind(*other).is_none() && !in_command(s.word(*other))).count();
    let fits = match asks {
        true => has_state && ["is", "are", "which", "what"].contains(&s.word(0)) && unknown <= NAMES,
        // "lights on in the kitchen", and not "the light is on".
        false => (verb || has_state && at <= 2 && !s.mentions(&["is", "are", "was", "were"])) && unknown <= NAMES,
    };
    let many = kind(at).filter(|_| fits)?.word(2);
    let say = format!(
        "I know no {many} here yet. If one is wired to a pin of this box, name it, as in “call pin 17 the hall lamp”. Those of \
         Home Assistant or an MQTT broker are here once you connect it: on the page under Device, Services."
    );
    Some(fixed_reply(&say, "there are no things yet"))
}
