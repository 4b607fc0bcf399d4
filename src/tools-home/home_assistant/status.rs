//! How the connection is, and what is on the network.

use super::Ha;
use home_assistant::Connection;
use tool::prelude::*;

/// Get the state of the connection to Home Assistant: version, number of entities, areas. Where there is none, what to do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {}

pub(super) async fn status(ha: Ha, _: Cx, _: Status) -> Result<Output> {
    let state = ha.client.connection();
    let settings = ha.client.settings();
    let mut content = json!({"state": state.word(), "url": settings.as_ref().map(|settings| &settings.url)});
    if state == Connection::Connected {
        let (facts, areas) = (ha.client.facts(), ha.client.areas());
        let count = ha.client.entities().len();
        content["version"] = facts.version.clone().into();
        content["name"] = text_kit::truncate(&text_kit::one_line(&facts.location_name), 100).into();
        content["entities"] = count.into();
        content["areas"] = areas.iter().map(|area| area.name.clone()).take(50).collect();
        let sentence = format!(
            "Home Assistant {} is connected, with {}.",
            facts.version,
            text_kit::counted(count as u64, "entity")
        );
        return Ok(Output::json(content)?.say(sentence));
    }
    let mut sentence = format!("{}.", state.sentence());
    content["hint"] = state.sentence().into();
    if let Connection::CertificateRefused { fingerprint, .. } = &state {
        content["fingerprint"] = fingerprint.as_str().into();
    }
    if matches!(state, Connection::Lost { .. } | Connection::Off) {
        let found = (ha.finder)().await;
        // It may have moved. Offer the new address; the token goes only to the configured one.
        let others: Vec<_> =
            found.into_iter().filter(|f| settings.as_ref().is_none_or(|settings| settings.url != f.url)).collect();
        if let Some(first) = others.first() {
            sentence = format!("{sentence} One was found at {}.", first.url);
        }
        let rows: Vec<Value> = others.iter().map(|f| json!({"name": f.name, "url": f.url})).collect();
        content["found"] = rows.into();
    }
    // Names on the network are anybody's.
    Ok(Output::json(content)?.say(sentence).from_outside())
}
