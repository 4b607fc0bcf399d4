//! A reminder whose text still holds times was not heard whole: one dose of two would be lost. Nothing is made of it then.

use crate::{Classification, Stage};
use serde_json::Value;

/// The tools that remind, and the arguments that hold what is left of the sentence.
const REMINDS: &[&str] = &["create_scheduled_task", "set_timer"];
const TEXTS: [&str; 2] = ["message", "name"];
/// Words that no text ends with; what they introduced was taken out, or not read.
const OPEN: &[&str] = &["and", "at", "on", "or", "every", "each", "from", "until", "then"];
/// Words after which a time follows.
const AT: &[&str] = &["at", "by", "until"];
const REPEATS: &[&str] = &["every", "each", "daily", "twice", "thrice"];
/// Texts that are only the rest of a time.
const RESTS: &[&str] = &["times", "time", "day", "morning", "evening", "night", "noon", "half", "past"];

/// Replaces calls and proposals that lost a time by a reply that says how to say it.
pub(crate) fn only_whole(placed: Classification) -> Classification {
    let calls = placed.tool.iter().map(|tool| (&**tool, &placed.arguments));
    let more = placed.more.iter().chain(&placed.proposes).map(|(tool, arguments)| (&**tool, arguments));
    if !calls.chain(more).any(|(tool, arguments)| lost_a_time(tool, arguments)) {
        return placed;
    }
    let say = "I heard more than one time there, and did nothing. Say one reminder for each time, for example “remind me \
               every day at 8 to take my pills”, or write the times together: “every day at 8 and 18”.";
    Classification {
        tool: None,
        arguments: Value::Object(serde_json::Map::new()),
        more: vec![],
        say: Some(say.to_owned()),
        proposes: None,
        stage: Stage::Missing,
        sure: false,
        ..placed
    }
}

fn lost_a_time(tool: &str, arguments: &Value) -> bool {
    // The name of a call is not what is left of a sentence.
    REMINDS.contains(&tool)
        && arguments["tool"].is_null()
        && TEXTS.iter().filter_map(|name| arguments[*name].as_str()).any(|text| {
            let text = text.to_lowercase();
            let words: Vec<&str> =
                text.split(|c: char| !c.is_alphanumeric() && c != ':' && c != '\'').filter(|w| !w.is_empty()).collect();
            let Some(last) = words.last() else { return false };
            let timed = words.windows(2).any(|pair| AT.contains(&pair[0]) && is_clock(pair[1]));
            let again = words.iter().any(|word| REPEATS.contains(word));
            OPEN.contains(last)
                || words.iter().all(|word| RESTS.contains(word) || OPEN.contains(word) || REPEATS.contains(word))
                || timed && again
                || again && words.iter().any(|word| is_part_of_day(word))
        })
}

fn is_part_of_day(word: &str) -> bool {
    ["morning", "mornings", "afternoon", "evening", "evenings", "night", "nights", "noon"].contains(&word)
}

/// "8", "18:30", "eight", "half".
fn is_clock(word: &str) -> bool {
    const HOURS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "half",
        "quarter", "noon", "midnight",
    ];
    word.starts_with(|c: char| c.is_ascii_digit()) || HOURS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lost_time_is_noticed_and_an_ordinary_text_is_not() {
        let lost =
            |text: &str| lost_a_time("create_scheduled_task", &json!({"message": text, "schedule": "0 18 * * *"}));
        for text in [
            "take my pills every morning at eight o'clock and",
            "take my pills at 8am and",
            "every evening",
            "at",
            "times",
            "my pills each morning at half past eight and",
            "water tablet on",
        ] {
            assert!(lost(text), "{text}");
        }
        for text in [
            "call mum",
            "buy tickets for the show at 8",
            "put the bins out",
            "ask about every dish",
            "say good night to Leo",
            "time sheets",
            "be on time",
            "the morning meeting",
        ] {
            assert!(!lost(text), "{text}");
        }
    }
}
