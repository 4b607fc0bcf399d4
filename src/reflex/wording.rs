//! The words around what somebody wants kept: separators, reasons, asides and afterthoughts.

use crate::sentence::Sentence;

/// The text without a reason at its end: "wine, we have guests", "a lightbulb because the hall is dark".
pub(crate) fn without_reason(text: &str) -> &str {
    reason(text).map_or(text, |(before, _)| before)
}

/// The text before its reason, and the reason.
pub(crate) fn reason(text: &str) -> Option<(&str, &str)> {
    const BECAUSE: &[&str] = &["because", "cos", "coz", "cuz", "'cause", "'cos", "seeing"];
    const WHO: &[&str] = &[
        "i", "we", "he", "she", "they", "it", "there", "that", "you", "im", "ive", "weve", "theyre", "theyve", "its",
        "thats", "hes", "shes", "someone", "somebody", "everyone", "nobody",
    ];
    const STARTS: &[&str] = &["so", "as", "since", "or", "before", "for"];
    let s = Sentence::whole(text);
    let says =
        |at: usize| WHO.contains(&s.word(at)) || WHO.contains(&s.word(at).split('\'').next().unwrap_or_default());
    let at = (1..s.len()).find(|at| {
        let (word, broken) = (s.word(*at), s.tokens[*at].after_break);
        let more = s.len() > at + 1;
        BECAUSE.contains(&word) && more
            || STARTS[..3].contains(&word) && says(at + 1) && s.len() > at + 2 && s.word(0) != word
            || STARTS.contains(&word) && broken && s.len() > at + 2 && (says(at + 1) || word != "for")
            || broken && says(*at) && s.len() > at + 2
            || broken && ["apparently", "dont", "otherwise"].contains(&word)
    })?;
    let (end, start) = (s.tokens.get(at - 1)?.end, s.tokens.get(at)?.start);
    let before = text.get(..end)?.trim();
    let after = text.get(start..)?.trim().trim_end_matches(['.', '!']);
    (!before.is_empty()).then_some((before, after))
}

/// The text without a reason behind it, then without an interjection or a reason in front: "Ocado's come, wipe the list".
pub(crate) fn without_asides(text: &str) -> Vec<&str> {
    const INTERJECTIONS: &[&str] = &[
        "oh",
        "oh no",
        "no",
        "nooo",
        "noo",
        "noooo",
        "oops",
        "whoops",
        "argh",
        "ah",
        "aha",
        "wait",
        "hang on",
        "sorry",
        "lol",
        "right then",
        "actually",
        "ugh",
        "damn",
        "bother",
        "silly me",
        "oh silly me",
        "oh dear",
        "never mind",
    ];
    let mut all = vec![];
    all.extend(reason(text).map(|(before, _)| before));
    all.extend(after_label(text, INTERJECTIONS).map(|(rest, _)| rest));
    if let Some((first, last)) = text.split_once(", ")
        && (1..=6).contains(&first.split(' ').count())
        && !last.contains(", ")
        && !is_condition(first)
    {
        all.push(last);
    }
    all.retain(|part| part.split_whitespace().count() > 1 || *part == "undo");
    all
}

/// Whether words in front of a command say when, whether or to whom it holds: then it is not to be done now. "When the doorbell
/// rings, everything off" is no reason with a command behind it.
fn is_condition(first: &str) -> bool {
    const WORDS: &[&str] = &[
        "if",
        "when",
        "whenever",
        "unless",
        "once",
        "until",
        "till",
        "after",
        "before",
        "while",
        "during",
        "every",
        "case",
        "soon",
        "suppose",
        "supposing",
        "imagine",
        "provided",
        "assuming",
        "whether",
        "tell",
        "say",
        "says",
        "said",
        "saying",
        "told",
        "ask",
        "asks",
        "asked",
        "shout",
        "shouts",
        "wrote",
        "writes",
    ];
    first.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| WORDS.contains(&word))
}

/// What a memory is about: "the thing about the key", "what I told you about the alarm company".
pub(crate) fn without_pointing(text: &str) -> &str {
    const FRONT: &[&str] = &[
        "the thing about",
        "thing about",
        "that thing about",
        "the things about",
        "everything about",
        "all about",
        "what i said about",
        "what i told you about",
        "what we told you about",
        "what you know about",
        "the bit about",
        "that bit about",
        "about",
        "the fact about",
        "the fact that",
        "anything about",
        "that",
        "the one about",
    ];
    let about = FRONT.iter().filter_map(|front| {
        let rest = text.get(front.len()..).filter(|_| text.to_ascii_lowercase().starts_with(front))?;
        rest.starts_with(' ').then(|| rest.trim_start())
    });
    about.min_by_key(|rest| rest.len()).filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// A task without "get round to": "round to descaling the kettle sometime" is "descale the kettle" to be done.
pub(crate) fn without_round(title: &str) -> String {
    const ROUND: &[&str] = &["get round to ", "get around to ", "round to ", "around to ", "remember to "];
    let title = trimmed(title, &["sometime", "some time", "at some point", "one of these days", "one day"]);
    let rest = ROUND.iter().find_map(|round| title.strip_prefix(round));
    rest.unwrap_or(title).to_owned()
}

/// The text without words that only ask for it to be kept: "… please", "… can you keep that", "… hang on to that".
pub(crate) fn without_request(text: &str) -> &str {
    const ENDS: &[&str] = &[
        "please",
        "pls",
        "plz",
        "thanks",
        "ta",
        "cheers",
        "thank you",
        "would you",
        "will you",
        "could you",
        "can you",
        "ok",
        "okay",
        "for me",
        "dear",
        "love",
        "mate",
        "lol",
        "would you dear",
        "would you please",
    ];
    trimmed(text, ENDS)
}

/// The text without one of these endings, each after a blank or a comma; repeatedly.
pub(crate) fn trimmed<'t>(text: &'t str, ends: &[&str]) -> &'t str {
    let mut text = text.trim();
    loop {
        let bare = text.trim_end_matches(['.', ',', ';', '!', ' ', '-', '–', '—', ':']);
        let lower = bare.to_ascii_lowercase();
        let cut = ends.iter().filter_map(|end| {
            let begin = lower.strip_suffix(end)?;
            (begin.ends_with([' ', ',', '.', ';']) && !begin.trim().is_empty()).then_some(begin.len())
        });
        match cut.min() {
            Some(at) => text = bare[..at].trim_end(),
            None => return bare,
        }
    }
}

/// The text after one of these beginnings and whatever separates it, and whether a sign does; the longest fits.
pub(crate) fn after_label<'t>(text: &'t str, labels: &[&str]) -> Option<(&'t str, bool)> {
    let lower = text.to_ascii_lowercase();
    let fits = labels.iter().filter(|label| lower.starts_with(**label));
    let end = fits.map(|label| label.len()).filter(|end| {
        lower.get(*end..).is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’'))
    });
    let rest = text.get(end.max()?..)?;
    let signs = |c: char| [':', '-', '–', '—', '=', ',', '.', ';', '>'].contains(&c);
    let body = rest.trim_start_matches(|c: char| c.is_whitespace() || signs(c));
    let between = rest.get(..rest.len() - body.len())?;
    // "-5 degrees" and "to-do" are no separators.
    let separated = between.contains([':', '=', '–', '—', '\n', '>'])
        || between.contains(" - ")
        || between.contains("- ")
        || between.contains(", ")
        || between.contains(". ");
    let tied = !between.contains(char::is_whitespace) && !separated;
    (!body.is_empty() && !tied).then_some((body, separated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cut_off() {
        for (text, wanted) in [
            ("wine because we have guests", "wine"),
            ("wine, we have guests on friday", "wine"),
            ("cat litter cos the cat is at the vet", "cat litter"),
            ("oat milk so we have enough", "oat milk"),
            ("chorizo, it's off", "chorizo"),
            ("prunes, she asked for the ones with no pits", "prunes"),
            ("milk, eggs and bread", "milk, eggs and bread"),
            ("a card for Tom", "a card for Tom"),
            ("whatever we need", "whatever we need"),
            ("as many eggs as we need", "as many eggs as we need"),
        ] {
            assert_eq!(without_reason(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_condition_is_no_aside() {
        for text in [
            "when the bell is pressed long, everything off",
            "if it is dark, turn off the hall lamp",
            "unless it rains, turn on the hall lamp",
            "as soon as mum is here, turn on the lamp",
            "after the film, turn off the lamp",
            "she said, turn on the hall lamp",
        ] {
            assert!(without_asides(text).is_empty(), "{text}: {:?}", without_asides(text));
        }
        assert_eq!(without_asides("Ocado's come, wipe the list"), ["wipe the list"]);
        assert_eq!(without_asides("dad's at the shop, what do we need"), ["what do we need"]);
    }

    #[test]
    fn labels_are_told_from_what_follows() {
        for (text, labels, wanted) in [
            ("todo: call Ana", &["todo"][..], Some(("call Ana", true))),
            ("todo - call Ana", &["todo"], Some(("call Ana", true))),
            ("todo call Ana", &["todo"], Some(("call Ana", false))),
            ("Shopping list: milk", &["shopping", "shopping list"], Some(("milk", true))),
            ("todos are long", &["todo"], None),
            ("todo", &["todo"], None),
            ("task-force meeting", &["task"], None),
        ] {
            assert_eq!(after_label(text, labels), wanted, "{text}");
        }
        assert_eq!(without_request("the bread, would you please."), "the bread");
    }
}
