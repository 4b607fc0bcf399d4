//! What follows an exchange: the next call of an errand after its results, and the weather of another day or place.

use crate::{
    IDS, NAME, Reflex,
    classification::{Classification, fixed_reply},
    deltas, last_words, reply,
    talkback::exchange::Exchange,
    world::{self, Next},
};
use jiff::Zoned;
use llm::{Content, Delta, Request, ToolResult};

/// The most results after which an errand goes on.
const MOST_RESULTS: usize = 6;

fn call((tool, arguments): world::Call, why: &str) -> Classification {
    Classification { tool: Some(tool.to_owned()), arguments, ..fixed_reply("", why) }.speechless()
}

/// "and tomorrow?" after the weather.
pub(crate) fn weather(
    text: &str,
    exchanges: &[Exchange],
    now: &Zoned,
    has: &dyn Fn(&str) -> bool,
) -> Option<Classification> {
    let next = world::after(text, exchanges, now).filter(|(tool, _)| has(tool))?;
    Some(call(next, "the weather of another day or place"))
}

impl Reflex {
    /// The next call of an errand, or the answer.
    pub(crate) fn after_results(&self, results: &[&ToolResult], request: &Request) -> Vec<Delta> {
        let own = results.len() < MOST_RESULTS && results.iter().all(|result| result.call_id.starts_with(IDS));
        let said = last_words(request).filter(|_| own).map(Content::text).unwrap_or_default();
        match world::next(&said, results, &|tool| (self.0.risk)(tool).is_some()) {
            Some(Next::Call(next)) => {
                // What is sent was looked up, so it is not the person's own word: the policy asks as for a model.
                let by = Delta::By { model: NAME.to_owned(), by_word: false };
                std::iter::once(by).chain(deltas(call(next, "an errand goes on"), request)).collect()
            }
            Some(Next::Say(text)) => vec![Delta::Text(text)],
            None => vec![Delta::Text(reply::sentence(results))],
        }
    }
}
