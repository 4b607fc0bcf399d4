//! `/api/v1/voice`: whether there are servers that hear and speak, and which addresses may speak to this Hob.

use crate::{
    AppState, Caller,
    describe::{Routes, get, put},
    envelope::{Answer, Deleted, Json, PathText, ok},
};
use axum::{Extension, extract::State};
use identity::{TokenScope, VoiceClientPatch, VoiceClientView};
use serde::Serialize;
use serde_json::json;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    let reads = Routes::new()
        .route("/voice", get(voice, "Look up whether speech to text, text to speech and the voice door are available."))
        .scope(TokenScope::Device);
    Routes::new()
        .route("/voice/clients", get(list, "List the addresses that speak to Hob by voice.").admin())
        .route(
            "/voice/clients/{address}",
            put(decide, "Approve, deny or name an address.").admin().delete(forget, "Forget an address.").admin(),
        )
        .scope(TokenScope::Admin)
        .merge(reads)
}

/// The services for voice.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Voice {
    /// Whether a server or provider turns speech into text.
    speech_to_text: bool,
    /// Whether a server or provider turns text into speech.
    text_to_speech: bool,
    /// The address and port at which Hob hears sentences; null where it does not.
    listens_on: Option<String>,
}

/// Looks for voice servers on the network at times; that takes a second or two.
async fn voice(State(house): State<AppState>) -> Answer<Voice> {
    let (speech_to_text, text_to_speech) = house.media.offers(&*house.ports.settings).await;
    let listens_on = house.network.voice().map(|at| at.to_string());
    Ok(ok(Voice { speech_to_text, text_to_speech, listens_on }))
}

/// The addresses that speak by voice.
#[derive(Debug, Serialize, JsonSchema)]
struct VoiceClients {
    count: usize,
    /// Those that wait for a person first.
    clients: Vec<VoiceClientView>,
}

async fn list(State(house): State<AppState>) -> Answer<VoiceClients> {
    let clients = house.identity.voice_clients()?;
    Ok(ok(VoiceClients { count: clients.len(), clients }))
}

async fn decide(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(address): PathText,
    Json(patch): Json<VoiceClientPatch>,
) -> Answer<VoiceClientView> {
    let decided = house.identity.decide_voice_client(&address, patch).await?;
    let audited = json!({"address": decided.address, "status": decided.status, "name": decided.name});
    house.registry.audit_change(&house.cx(&caller), "decide_voice_client", &audited);
    house.ports.bus.publish("voice:decided", None, json!({"address": decided.address}));
    Ok(ok(decided))
}

async fn forget(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(address): PathText,
) -> Answer<Deleted> {
    house.identity.forget_voice_client(&address).await?;
    house.registry.audit_change(&house.cx(&caller), "forget_voice_client", &json!({"address": address}));
    house.ports.bus.publish("voice:decided", None, json!({"address": address}));
    Ok(ok(Deleted::yes()))
}
