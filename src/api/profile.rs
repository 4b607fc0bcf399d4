//! `/api/v1/profile`: what Hob knows about the caller, where it is from, and changing it.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, Failure, Json, ok},
    policy_routes::{NewAutonomy, choose_autonomy, unasked},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use persona::{ProfileSection, ProfileView};
use policy::Autonomy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    let about = "Get what Hob knows about the caller, each entry with its source.";
    Routes::new()
        .route("/profile", get(read, about).patch(change, "Change the caller's profile: all of a change, or nothing."))
        .scope(TokenScope::Tools)
}

/// The caller's profile.
#[derive(Serialize, JsonSchema)]
struct PersonProfile {
    #[serde(flatten)]
    profile: ProfileView,
    /// How much Hob does without asking.
    autonomy: ProfileAutonomy,
}

/// How much Hob does for the caller without asking.
#[derive(Serialize, JsonSchema)]
struct ProfileAutonomy {
    /// The level: 0 asks before everything, 4 never asks.
    level: usize,
    name: Autonomy,
    /// Its meaning, in a sentence.
    about: &'static str,
    /// The origin of the choice: `own`, `household` or `built-in`.
    from: &'static str,
}

async fn view(house: &AppState, caller: &Caller) -> Answer<PersonProfile> {
    let profile = house.documents.profile().read(&house.cx(caller))?;
    let now = unasked(house, caller);
    let level = Autonomy::ALL.iter().position(|level| *level == now.level).unwrap_or_default();
    let autonomy = ProfileAutonomy { level, name: now.level, about: now.level.about(), from: now.from };
    Ok(ok(PersonProfile { profile, autonomy }))
}

async fn read(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<PersonProfile> {
    view(&house, &caller).await
}

/// An entry to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewProfileEntry {
    /// A section without keys: `facts`, `preferences`, `interests`, `goals` or `instructions`.
    section: ProfileSection,
    value: String,
}

/// An entry with another value.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangedProfileEntry {
    id: Id,
    /// The new value; the same value confirms an entry from outside.
    value: String,
}

/// A change of the profile.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ProfilePatch {
    /// Values of identity and style by their keys: `name`, `preferredName`, `pronouns`, `birthday`, `language`, `timeZone`,
    /// `place`, `answerLength`, `tone`; an empty text clears one.
    set: BTreeMap<String, String>,
    /// Entries to add.
    add: Vec<NewProfileEntry>,
    /// Entries with another value.
    change: Vec<ChangedProfileEntry>,
    /// Entries to remove.
    remove: Vec<Id>,
    /// How much Hob does without asking; only the person themselves chooses.
    autonomy: Option<Autonomy>,
}

async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(patch): Json<ProfilePatch>,
) -> Answer<PersonProfile> {
    if patch.autonomy.is_some() && !caller.in_person {
        let text = "a token does not choose how much Hob does without asking: the person does, on the page";
        return Err(Failure::new(403, "denied", text));
    }
    let keyed = [ProfileSection::Identity, ProfileSection::Style].map(ProfileSection::keys);
    let known = |key: &str| keyed.iter().any(|keys| keys.iter().any(|(known, _)| *known == key));
    if let Some(key) = patch.set.keys().find(|key| !known(key)) {
        let key: String = key.chars().take(40).collect();
        let text =
            format!("a profile has no `{key}`: identity and style have the keys that `GET /api/v1/openapi.json` lists");
        return Err(Failure::new(400, "bad_args", text));
    }
    let mut args: Map<String, Value> = patch.set.into_iter().map(|(key, value)| (key, value.into())).collect();
    for entry in patch.add {
        if !entry.section.keys().is_empty() {
            let text = "`identity` and `style` have one value for each key: pass it in `set`";
            return Err(Failure::new(400, "bad_args", text));
        }
        let section = json!(entry.section).as_str().unwrap_or_default().to_owned();
        if let Some(list) = args.entry(section).or_insert_with(|| json!([])).as_array_mut() {
            list.push(entry.value.into());
        }
    }
    if !patch.change.is_empty() {
        args.insert("change".to_owned(), json!(patch.change));
    }
    if !patch.remove.is_empty() {
        args.insert("remove".to_owned(), json!(patch.remove));
    }
    // By the tool, so that the change is decided, audited and undone like any other.
    if !args.is_empty() || patch.autonomy.is_none() {
        house.cx(&caller).call("update_profile", args.into()).await?;
    }
    if let Some(level) = patch.autonomy {
        let chosen = Json(NewAutonomy { level });
        drop(choose_autonomy(State(house.clone()), Extension(caller.clone()), chosen).await?);
    }
    view(&house, &caller).await
}
