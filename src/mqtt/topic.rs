//! Topics and filters of MQTT.

/// The longest topic or filter, in bytes. MQTT allows more; devices use far less.
pub const MAX_TOPIC: usize = 256;

/// Whether messages can be published to this topic.
pub fn is_topic(text: &str) -> bool {
    is_filter(text) && !text.contains(['+', '#'])
}

/// Whether this is a topic or a filter: `+` stands for one level, `#` at the end for all others.
pub fn is_filter(text: &str) -> bool {
    if text.is_empty() || text.len() > MAX_TOPIC || text.chars().any(char::is_control) {
        return false;
    }
    let levels = text.split('/').count();
    text.split('/').enumerate().all(|(at, level)| match level {
        "+" => true,
        "#" => at + 1 == levels,
        other => !other.contains(['+', '#']),
    })
}

/// Whether a filter covers a topic. Wildcards at the beginning do not cover topics of the broker itself (`$SYS/…`).
pub fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (mut filter, mut topic) = (filter.split('/'), topic.split('/'));
    loop {
        match (filter.next(), topic.next()) {
            (Some("#"), _) => return true,
            (Some("+"), Some(_)) => {}
            (Some(wanted), Some(level)) if wanted == level => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

/// A text as one level of a topic: lower-case letters, digits, `_` and `-`, 40 at most; `hob` where nothing is left.
pub fn topic_word(text: &str) -> String {
    let mut word = String::new();
    for c in text.trim().chars().flat_map(char::to_lowercase).take(120) {
        match c {
            'a'..='z' | '0'..='9' | '_' | '-' => word.push(c),
            _ if word.ends_with('_') || word.is_empty() => {}
            _ => word.push('_'),
        }
    }
    word.truncate(40);
    let word = word.trim_matches('_');
    if word.is_empty() { "hob".to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_cover_topics_as_the_standard_says() {
        for (filter, topic, covers) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/+", "a/b", true),
            ("a/+", "a", false),
            ("a/+", "a/", true),
            ("a/#", "a", true),
            ("a/#", "a/b/c", true),
            ("a/#", "ab", false),
            ("#", "a/b", true),
            ("#", "$SYS/load", false),
            ("+/load", "$SYS/load", false),
            ("$SYS/#", "$SYS/load", true),
            ("+/+", "/a", true),
            ("/+", "/a", true),
            ("+", "/a", false),
        ] {
            assert_eq!(matches(filter, topic), covers, "{filter} {topic}");
        }
    }

    #[test]
    fn topics_and_filters_are_told_apart() {
        let long = "x".repeat(MAX_TOPIC + 1);
        for (text, topic, filter) in [
            ("a/b", true, true),
            ("a/+/b", false, true),
            ("a/#", false, true),
            ("#/a", false, false),
            ("a+/b", false, false),
            ("a/b#", false, false),
            ("", false, false),
            ("a\nb", false, false),
            ("a\0", false, false),
            (long.as_str(), false, false),
        ] {
            assert_eq!((is_topic(text), is_filter(text)), (topic, filter), "{text:?}");
        }
    }

    #[test]
    fn any_name_becomes_one_level() {
        for (name, word) in
            [("Kitchen Pi", "kitchen_pi"), (" Küche/+# ", "k_che"), ("", "hob"), ("++", "hob"), ("hob-2", "hob-2")]
        {
            assert_eq!(topic_word(name), word, "{name}");
        }
        assert!(is_topic(&topic_word(&"é".repeat(500))));
    }
}
