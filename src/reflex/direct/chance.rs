//! Chance in any words: coins, dice, numbers, one of several, passwords.

use super::{Reading, pattern};
use crate::{sentence::Sentence, slots::number};
use serde_json::json;

const OTHERS: &[&str] = &[
    "remind", "list", "add", "buy", "remember", "calendar", "timer", "note", "saved", "forgot", "whats", "expired",
    "expires", "my", "our", "is",
];

pub(super) fn read(s: &Sentence) -> Option<Reading> {
    coin(s).or_else(|| dice(s)).or_else(|| between(s)).or_else(|| one_of(s)).or_else(|| password(s))
}

/// "heads Jean makes the tea, tails it's me", "flip for who's sweeping up".
fn coin(s: &Sentence) -> Option<Reading> {
    let asks = pattern::any(
        s,
        &[
            "_ heads _ tails _",
            "_ flip|toss|spin|chuck|throw a|the|another|that|me|us? coin _",
            "flip|toss for _",
            "coin toss|flip _",
            "heads or tails _",
        ],
    ) && !s.mentions(&["bought", "collection", "remind", "list"]);
    asks.then(|| Reading::Call("random_number", json!({"min": 0, "max": 1})))
}

/// "we've lost the dice, you'll have to throw for us", "roll 2d6 for catan", "2 d 20 please".
fn dice(s: &Sentence) -> Option<Reading> {
    let sided = |word: &str| -> Option<(Option<u32>, u32)> {
        let (count, sides) = word.split_once('d')?;
        let sides: u32 = sides.parse().ok().filter(|n| (2..=1000).contains(n))?;
        Some((count.parse().ok(), sides))
    };
    let call = |count: u32, sides: u32| {
        let mut arguments = json!({"min": 1, "max": sides});
        if count > 1 {
            arguments["count"] = json!(count.min(20));
        }
        Reading::Call("random_number", arguments)
    };
    let rolls = s.mentions(&["roll", "throw", "dice", "die", "rolling", "chuck"]);
    for at in 0..s.len() {
        // "2d6" is one word, or its number and "d6".
        let before = at.checked_sub(1).and_then(|at| number::whole(s, at)).map(|(_, n)| n);
        if let Some((count, sides)) = sided(s.word(at)).filter(|_| rolls || s.len() <= 3) {
            return Some(call(count.or(before).unwrap_or(1), sides));
        }
    }
    let throws = pattern::any(
        s,
        &[
            "_ roll|throw|chuck|shake|cast _ dice|die|dices _",
            "_ roll|throw|chuck|shake|cast _ dice|die|dices",
            "_ dice|die _ roll|throw _",
            "dice|die _",
        ],
    );
    if !throws || s.mentions(&["bought", "buy", "list", "remind", "onion", "onions"]) {
        return None;
    }
    let counted = (0..s.len()).filter(|at| ["dice", "die", "dices"].contains(&s.word(*at))).find_map(|at| {
        let begin = at.checked_sub(if s.word(at.wrapping_sub(1)) == "more" { 2 } else { 1 })?;
        number::whole(s, begin).map(|(_, n)| n).filter(|n| (1..=20).contains(n))
    });
    Some(call(counted.unwrap_or(1), 6))
}

/// "random number 0-255", "number between 1 and 30 for the raffle", "pick a page from 1 to 400".
fn between(s: &Sentence) -> Option<Reading> {
    let asks = pattern::any(
        s,
        &[
            "random _ number|page|card|one|integer _",
            "_ random number|integer _",
            "number between|from _",
            "pick|choose|draw|give|think _ number|page|card|chapter _",
            "pick|choose|draw between|from _",
        ],
    );
    if !asks || s.mentions(&["phone", "telephone", "house", "order"]) {
        return None;
    }
    let mut numbers = vec![];
    let mut at = 0;
    while at < s.len() {
        match number::whole(s, at) {
            Some((count, n)) => {
                numbers.push(f64::from(n));
                at += count;
            }
            None => at += 1,
        }
    }
    let (min, max) = match numbers[..] {
        [a, b] if a < b => (a, b),
        [b] if s.mentions(&["to", "under", "below", "than"]) && b > 1.0 => (1.0, b),
        [] if s.mentions(&["random"]) => (1.0, 100.0),
        _ => return None,
    };
    Some(Reading::Call("random_number", json!({"min": number::json(min), "max": number::json(max)})))
}

/// "pick one of callum reece ellie to do the bacon run", "whose turn is it, tom or nadia, pick".
fn one_of(s: &Sentence) -> Option<Reading> {
    const PICKS: &[&str] = &["pick", "choose", "decide", "select", "draw"];
    const ENDS: &[&str] = &[
        "to", "for", "who", "please", "will", "that", "gets", "has", "so", "she", "he", "can", "at", "pick", "choose",
        "decide", "random",
    ];
    let word = |at: usize| s.word(at);
    let at = (0..s.len()).find(|at| PICKS.contains(&word(*at)) && word(at + 1) != "up" && word(at + 1) != "me")?;
    if s.mentions(&["list", "remind", "number", "add", "color", "remember", "mind"]) {
        return None;
    }
    // The names follow "of", a colon, or "between"; else they come before with "or".
    let of = (at + 1..s.len()).find(|i| ["of", "between", "from"].contains(&word(*i)));
    let broken = (at + 1..s.len()).rev().find(|i| {
        let before = s.tokens[*i - 1].end;
        s.text[before..s.tokens[*i].start].contains(':')
    });
    let joined = |begin: usize, end: usize| -> Vec<String> {
        let mut names: Vec<String> = vec![];
        let mut open = begin;
        let listed =
            (begin..end).any(|i| ["or", "and", "n"].contains(&word(i)) || i > begin && s.tokens[i].after_break);
        for i in begin..=end {
            let cut =
                i == end || ["or", "and", "n"].contains(&word(i)) || i > open && (s.tokens[i].after_break || !listed);
            if cut {
                let name = s.slice(open, i.max(open)).trim();
                if i > open && !name.is_empty() {
                    names.push(name.to_owned());
                }
                open = i + usize::from(i < end && ["or", "and", "n"].contains(&word(i)));
            }
        }
        names
    };
    let until = |begin: usize| (begin..s.len()).find(|i| ENDS.contains(&word(*i))).unwrap_or(s.len());
    let names = match (broken, of) {
        (Some(begin), _) => joined(begin, until(begin)),
        (None, Some(of)) if !["these", "them", "us", "those"].contains(&word(of + 1)) => joined(of + 1, until(of + 1)),
        (None, Some(of)) => joined(of + 2, until(of + 2)),
        (None, None) if (at + 1..s.len()).any(|i| word(i) == "or") => {
            let begin = at + 1 + usize::from(["one", "either"].contains(&word(at + 1)));
            joined(begin, until(begin))
        }
        (None, None) if (0..at).any(|i| word(i) == "or") => {
            let or = (0..at).find(|i| word(*i) == "or")?;
            let begin =
                (0..or).rev().find(|i| s.tokens[*i].after_break || ["do", "dash", "-", "between"].contains(&word(*i)));
            let dash = (1..or).rev().find(|i| s.text[s.tokens[*i - 1].end..s.tokens[*i].start].contains(" - "));
            let begin = dash.or(begin).unwrap_or(or.saturating_sub(1));
            joined(begin, at)
        }
        _ => return None,
    };
    let fits = (2..=20).contains(&names.len()) && names.iter().all(|name| name.split(' ').count() <= 4);
    fits.then(|| Reading::Call("array_operations", json!({"array": names, "operation": "sample", "size": 1})))
}

/// "pw 16 chars w symbols", "a new password for the BT with sixteen letters, no funny symbols".
fn password(s: &Sentence) -> Option<Reading> {
    let asks = pattern::any(
        s,
        &[
            "_ generate|make|create|give|need|want|invent|suggest|think _ password|pw|passcode|passphrase _",
            "pw|password|passcode _ char|chars|characters|letters|digits|long|symbols _",
            "_ new|random|strong|secure|char|chars|character|characters|letter password|pw _",
            "new|random|another password|pw",
        ],
    );
    if !asks || s.mentions(OTHERS) || s.mentions(&["what", "where", "change", "note", "told"]) {
        return None;
    }
    let length = (0..s.len()).find_map(|at| number::whole(s, at)).map(|(_, n)| n).filter(|n| (8..=128).contains(n));
    let mut arguments = json!({});
    if let Some(length) = length {
        arguments["length"] = json!(length);
    }
    let without = pattern::any(
        s,
        &[
            "_ no|without|minus any|funny|special|weird|odd|fancy? symbols|symbol|characters|punctuation|signs _",
            "_ letters and|n numbers|digits only|just? _",
            "_ alphanumeric _",
            "_ only letters|numbers _",
        ],
    );
    if without {
        arguments["symbols"] = json!(false);
    }
    Some(Reading::Call("generate_password", arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_asked_in_many_ways() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("heads Jean makes the tea, tails it's me, go on", json!({"min": 0, "max": 1})),
            ("flip for who's sweeping up heads is me", json!({"min": 0, "max": 1})),
            ("we've lost the dice out the Ludo so you'll have to throw for us", json!({"min": 1, "max": 6})),
            ("roll 2 dice we lost ours down the sofa", json!({"min": 1, "max": 6, "count": 2})),
            ("roll 2d6 for catan", json!({"min": 1, "max": 6, "count": 2})),
            ("random number 0-255", json!({"min": 0, "max": 255})),
            ("number between 1 and 30 for the raffle", json!({"min": 1, "max": 30})),
            (
                "pick one of callum reece ellie to do the bacon run",
                json!({"array": ["callum", "reece", "ellie"], "operation": "sample", "size": 1}),
            ),
            (
                "pick one of us to go shop: priya cal zosh",
                json!({"array": ["priya", "cal", "zosh"], "operation": "sample", "size": 1}),
            ),
            (
                "whose turn to do bath - tom or nadia, pick",
                json!({"array": ["tom", "nadia"], "operation": "sample", "size": 1}),
            ),
            (
                "Pick for her will you, she can't decide: rice pudding, jello or a banana",
                json!({"array": ["rice pudding", "jello", "a banana"], "operation": "sample", "size": 1}),
            ),
            ("generate a 20 char password w/ symbols", json!({"length": 20})),
            ("pw 16 chars w symbols", json!({"length": 16})),
            ("I want a password with sixteen characters, no funny symbols", json!({"length": 16, "symbols": false})),
        ] {
            let Some(Reading::Call(_, arguments)) = read(&Sentence::read(text)) else {
                wrong.push(text.to_owned());
                continue;
            };
            if arguments != wanted {
                wrong.push(format!("{text}: {:?}", arguments));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        for text in [
            "pick up milk",
            "add dice to the list",
            "what is my wifi password",
            "pick me up at 5",
            "the phone number of Ben",
        ] {
            assert_eq!(read(&Sentence::read(text)), None, "{text}");
        }
    }
}
