//! Subscriptions for rules: the MQTT topics and the events of Home Assistant that they wait for.

use home_assistant::HomeAssistant;
use mqtt::{Mqtt, Subscription};
use rules::Rules;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// How often is looked for new rules.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps the subscriptions those of the rules; it never ends.
pub(super) async fn subscribe_for_rules(rules: Rules, mqtt: Mqtt, home_assistant: HomeAssistant) {
    let mut topics: BTreeMap<String, Subscription> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    let mut events = BTreeSet::new();
    loop {
        let wanted = rules.awaited_topics();
        topics.retain(|topic, _| wanted.contains(topic));
        refused.retain(|topic| wanted.contains(topic));
        for topic in wanted {
            if topics.contains_key(&topic) || refused.contains(&topic) {
                continue;
            }
            match mqtt.want(&topic) {
                Ok(subscription) => drop(topics.insert(topic, subscription)),
                Err(error) => {
                    tracing::warn!(topic, %error, "a rule waits for an MQTT topic that cannot be subscribed to");
                    refused.insert(topic);
                }
            }
        }
        let types = rules.awaited_home_events();
        if types != events {
            home_assistant.want_events("rules", types.iter().cloned());
            events = types;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
