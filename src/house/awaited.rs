//! Subscriptions for rules: the MQTT topics and the events of Home Assistant that they wait for.

use home_assistant::HomeAssistant;
use mqtt::{Mqtt, Subscription};
use rules::Rules;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// How often is looked for new rules.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// When a topic that was refused is tried again: there may be a place for it by then.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// Keeps the subscriptions those of the rules; it never ends.
pub(super) async fn subscribe_for_rules(rules: Rules, mqtt: Mqtt, home_assistant: HomeAssistant) {
    let mut topics = Awaited::default();
    let mut events = BTreeSet::new();
    loop {
        topics.follow(&mqtt, &rules.awaited_topics(), Instant::now());
        let types = rules.awaited_home_events();
        if types != events {
            home_assistant.want_events("rules", types.iter().cloned());
            events = types;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The topics that rules wait for.
#[derive(Default)]
struct Awaited {
    subscriptions: BTreeMap<String, Subscription>,
    /// When those that were refused are tried again.
    refused: BTreeMap<String, Instant>,
}

impl Awaited {
    /// Subscribes to what is wanted now, and ends the other subscriptions.
    fn follow(&mut self, mqtt: &Mqtt, wanted: &BTreeSet<String>, now: Instant) {
        self.subscriptions.retain(|topic, _| wanted.contains(topic));
        self.refused.retain(|topic, _| wanted.contains(topic));
        for topic in wanted {
            if self.subscriptions.contains_key(topic) || self.refused.get(topic).is_some_and(|at| now < *at) {
                continue;
            }
            match mqtt.want(topic) {
                Ok(subscription) => {
                    self.refused.remove(topic);
                    self.subscriptions.insert(topic.clone(), subscription);
                }
                Err(error) => {
                    // One line for each topic, and not one for each attempt.
                    if self.refused.insert(topic.clone(), now + TRY_AGAIN).is_none() {
                        tracing::warn!(topic, %error, "a rule waits for an MQTT topic that cannot be subscribed to");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::Bus;

    #[test]
    fn a_topic_that_was_refused_is_tried_again() {
        let (mqtt, mut awaited) = (Mqtt::new(Bus::default()), Awaited::default());
        // So many that no place is left.
        let mut others = vec![];
        while let Ok(subscription) = mqtt.subscribe(&format!("other/{}", others.len())) {
            others.push(subscription);
        }
        let (wanted, now) = (BTreeSet::from(["button".to_owned()]), Instant::now());
        awaited.follow(&mqtt, &wanted, now);
        assert!(awaited.subscriptions.is_empty());
        let full = mqtt.status().subscriptions;
        drop(others.pop());
        awaited.follow(&mqtt, &wanted, now + TRY_AGAIN / 2);
        assert_eq!(mqtt.status().subscriptions, full - 1, "not at each look");
        awaited.follow(&mqtt, &wanted, now + TRY_AGAIN);
        assert!(awaited.subscriptions.contains_key("button") && awaited.refused.is_empty());
        awaited.follow(&mqtt, &BTreeSet::new(), now + TRY_AGAIN);
        assert_eq!(mqtt.status().subscriptions, full - 1);
    }
}
