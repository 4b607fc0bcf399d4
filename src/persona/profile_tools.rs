//! The tools that read and change the profile of the person who asks.

use crate::{Documents, ProfileChange, ProfileSection, ProfileSource, ProfileText};
use records::join_list;
use text_kit::counted_one;
use tool::prelude::*;

/// How many entries a sentence names.
const NAMED: usize = 8;
/// The confidence of a model that states none.
const LIKELY: f32 = 0.7;
/// The confidence of the person's own sentence.
const SAID: f32 = 0.95;

/// Read the profile of the person you speak with: who they are, how they want to be answered, facts, preferences, interests,
/// goals and standing instructions, each with its source.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadProfile {}

pub(crate) async fn read_profile(documents: Documents, cx: Cx, ReadProfile {}: ReadProfile) -> Result<Output> {
    let profile = documents.profile().read(&cx)?;
    let all: Vec<String> = profile
        .entries()
        .map(|entry| match label(&entry.key) {
            "" => entry.value.clone(),
            label => format!("{label}: {}", entry.value),
        })
        .collect();
    let sentence = match all.as_slice() {
        [] => "I know nothing about you yet. Tell me, or write it on the page, under Device, About you.".to_owned(),
        some => format!(
            "I know this about you: {}.",
            join_list(&some.iter().take(NAMED).cloned().collect::<Vec<_>>(), some.len() > NAMED)
        ),
    };
    Ok(Output::json(profile)?.say(sentence))
}

fn label(key: &str) -> &'static str {
    let all = [ProfileSection::Identity, ProfileSection::Style].map(ProfileSection::keys);
    all.into_iter().flatten().find(|(known, _)| *known == key).map_or("", |(_, label)| label)
}

/// An entry with its new value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewValue {
    /// The id of the entry, as `read_profile` shows it.
    id: String,
    /// The new value; the same value confirms the entry.
    value: String,
}

/// Change the profile of the person you speak with, when they tell you something lasting about themselves or about how they
/// want to be answered. What is not given stays as it is; an empty value clears one. Facts about the home or other people
/// belong in memory.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct UpdateProfile {
    /// Their full name.
    name: Option<String>,
    /// The name they want to be called.
    preferred_name: Option<String>,
    /// Their pronouns, such as they/them.
    pronouns: Option<String>,
    /// Their birthday.
    birthday: Option<String>,
    /// The language to answer in.
    language: Option<String>,
    /// Their time zone, such as Europe/Vienna.
    time_zone: Option<String>,
    /// The place they live in.
    place: Option<String>,
    /// How long answers should be: short, or detailed.
    answer_length: Option<String>,
    /// The tone of answers: casual, formal, dry …
    tone: Option<String>,
    /// Facts to add, such as "vegetarian".
    facts: Vec<String>,
    /// Preferences to add, such as "tea rather than coffee".
    preferences: Vec<String>,
    /// Interests to add.
    interests: Vec<String>,
    /// Goals to add.
    goals: Vec<String>,
    /// Instructions for every answer to add, in the person's words.
    instructions: Vec<String>,
    /// Entries to change.
    change: Vec<NewValue>,
    /// Ids of entries to remove.
    remove: Vec<String>,
    /// How sure you are, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f32>,
    /// The person's words that you learned it from.
    quote: Option<String>,
}

pub(crate) async fn update_profile(documents: Documents, cx: Cx, args: UpdateProfile) -> Result<Output> {
    let source = match () {
        () if cx.is_in_person() => ProfileSource::Person,
        () if cx.is_by_model() => ProfileSource::Model,
        () => ProfileSource::Conversation,
    };
    let confidence = match source {
        ProfileSource::Person => 1.0,
        ProfileSource::Conversation => args.confidence.unwrap_or(SAID).clamp(0.0, 1.0),
        // Only a person is certain.
        ProfileSource::Model => args.confidence.unwrap_or(LIKELY).clamp(0.0, SAID),
    };
    let change = change_of(args, source, confidence)?;
    let told = sentence(&change);
    let applied = documents.profile().apply(&cx, change).await?;
    if applied.written + applied.removed > 0 {
        cx.ports().bus.publish("profile:changed", Some(cx.user()), json!({}));
    }
    let sentence = match (applied.written, applied.removed) {
        (0, 0) => "I know that already.".to_owned(),
        (0, n) => format!("I removed {} from your profile.", counted_one(n, "entry")),
        _ => told,
    };
    let content = json!({"written": applied.written, "removed": applied.removed});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

fn change_of(args: UpdateProfile, source: ProfileSource, confidence: f32) -> Result<ProfileChange> {
    let keyed = [
        ("name", args.name),
        ("preferredName", args.preferred_name),
        ("pronouns", args.pronouns),
        ("birthday", args.birthday),
        ("language", args.language),
        ("timeZone", args.time_zone),
        ("place", args.place),
        ("answerLength", args.answer_length),
        ("tone", args.tone),
    ];
    let lists = [
        (ProfileSection::Facts, args.facts),
        (ProfileSection::Preferences, args.preferences),
        (ProfileSection::Interests, args.interests),
        (ProfileSection::Goals, args.goals),
        (ProfileSection::Instructions, args.instructions),
    ];
    let section = |key: &str| match ProfileSection::Style.keys().iter().any(|(known, _)| *known == key) {
        true => ProfileSection::Style,
        false => ProfileSection::Identity,
    };
    let mut texts = vec![];
    for (key, value) in keyed {
        texts.extend(value.map(|value| ProfileText {
            section: section(key),
            key: key.into(),
            value: value.trim().into(),
        }));
    }
    for (section, values) in lists {
        texts.extend(values.into_iter().map(|value| ProfileText { section, key: String::new(), value }));
    }
    let change = args.change.into_iter().map(|new| Ok((new.id.trim().parse()?, new.value))).collect::<Result<_>>()?;
    let remove = args.remove.iter().map(|id| id.trim().parse()).collect::<Result<_>>()?;
    Ok(ProfileChange { texts, change, remove, source: Some(source), confidence, quote: args.quote.unwrap_or_default() })
}

/// The sentence about a change.
fn sentence(change: &ProfileChange) -> String {
    match change.texts.as_slice() {
        [one] if change.change.is_empty() && change.remove.is_empty() && !one.value.is_empty() => {
            let value = one.value.trim_end_matches('.');
            match (one.section, one.key.as_str()) {
                (_, "preferredName") => format!("I will call you {value}."),
                (_, "language") => {
                    format!("I noted that you want answers in {value}. Without a model I answer in English.")
                }
                (ProfileSection::Instructions, _) => format!("I noted it for every answer: {value}."),
                (_, "") => format!("I noted about you: {value}."),
                (_, key) => format!("I noted your {}: {value}.", label(key)),
            }
        }
        _ => "I changed your profile.".to_owned(),
    }
}
