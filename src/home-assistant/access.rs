//! The permissions of Hob in Home Assistant, as patterns of entity ids.

/// Patterns such as `light`, `light.*`, `sensor.outside_*` and `!switch.pump`: an id fits when one of them matches it, and
/// none with an exclamation mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    matching: Vec<String>,
    except: Vec<String>,
}

impl Patterns {
    /// Parses patterns that are separated by commas or white space.
    pub fn parse(text: &str) -> Self {
        let all = text.split(|c: char| c == ',' || c.is_whitespace()).map(str::trim).filter(|p| !p.is_empty());
        let (mut matching, mut except) = (vec![], vec![]);
        for pattern in all.take(500) {
            let (list, pattern) = match pattern.strip_prefix('!') {
                Some(rest) => (&mut except, rest),
                None => (&mut matching, pattern),
            };
            let pattern = pattern.to_ascii_lowercase();
            // A domain by itself is all of it.
            list.push(if pattern.contains(['.', '*']) { pattern } else { format!("{pattern}.*") });
        }
        // Only exceptions: everything else.
        if matching.is_empty() && !except.is_empty() {
            matching.push("*".into());
        }
        Self { matching, except }
    }

    /// Whether an id fits.
    pub fn fit(&self, id: &str) -> bool {
        let any = |list: &[String]| list.iter().any(|pattern| matches(pattern, id));
        any(&self.matching) && !any(&self.except)
    }
}

/// Whether a text matches a pattern in which `*` is anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The domains Hob acts on unless an admin says otherwise.
const ACT: &str = "light switch fan cover valve climate water_heater humidifier media_player vacuum lawn_mower scene script \
                   button siren lock alarm_control_panel input_boolean input_button input_number input_select \
                   input_datetime input_text number select timer counter";
/// The entities a person is asked about before anything is done with them.
const ASK: &str = "";
/// The types of events Hob fires.
const EVENTS: &str = "hob_*";

/// The permissions of Hob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Entities it reads.
    pub read: Patterns,
    /// Entities it acts on, and domains whose services it calls.
    pub act: Patterns,
    /// Entities a person is asked about each time, besides what opens, unlocks or disarms something.
    pub ask: Patterns,
    /// Types of events it fires.
    pub events: Patterns,
}

impl Access {
    /// From the texts of the settings; an empty one is the default.
    pub fn parse(read: &str, act: &str, ask: &str, events: &str) -> Self {
        let or = |text: &str, default: &str| Patterns::parse(if text.trim().is_empty() { default } else { text });
        Self { read: or(read, "*"), act: or(act, ACT), ask: or(ask, ASK), events: event_types(events) }
    }
}

/// Types of events have no dot: each pattern stands for itself.
fn event_types(text: &str) -> Patterns {
    let text = if text.trim().is_empty() { EVENTS } else { text };
    let split = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|p| !p.is_empty());
    let matching = split.take(200).map(str::to_ascii_lowercase).collect();
    Patterns { matching, except: vec![] }
}

impl Default for Access {
    fn default() -> Self {
        Self::parse("", "", "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_entities() {
        for (patterns, id, fits) in [
            ("light", "light.hall", true),
            ("light", "lighthouse.x", false),
            ("light.hall, switch.*", "switch.a", true),
            ("light.hall", "light.kitchen", false),
            ("*", "anything.at_all", true),
            ("* !switch.pump", "switch.pump", false),
            ("!switch.pump", "light.hall", true),
            ("!switch", "switch.a", false),
            ("sensor.outside_*", "sensor.outside_temperature", true),
            ("sensor.*_temperature", "sensor.outside_humidity", false),
            ("", "light.hall", false),
        ] {
            assert_eq!(Patterns::parse(patterns).fit(id), fits, "{patterns:?} {id}");
        }
    }

    #[test]
    fn the_defaults_act_on_what_a_home_has() {
        let access = Access::default();
        for id in ["light.hall", "lock.door", "scene.evening", "input_boolean.guests"] {
            assert!(access.act.fit(id) && access.read.fit(id), "{id}");
        }
        for id in ["shell_command.x", "homeassistant.stop", "automation.alarm", "notify.phone", "update.core"] {
            assert!(!access.act.fit(id), "{id}");
        }
        assert!(access.events.fit("hob_button") && !access.events.fit("mobile_app_notification_action"));
        assert!(!access.ask.fit("light.hall"));
    }
}
