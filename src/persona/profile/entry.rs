//! The entries of a profile: their stored form and their views.

use records::truncate;
use serde::{Deserialize, Serialize};
use store::{Coded, Entry, Key, Level, Record};
use tool::{
    Id, Label,
    prelude::{JsonSchema, schemars},
};

/// The index of all entries.
pub(super) const ALL: u8 = 1;
/// How many characters of an entry are its name in a change.
const TITLE: usize = 60;

/// The part of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProfileSection {
    /// Their identity: one value for each key.
    Identity,
    /// How answers should be: one value for each key.
    Style,
    /// Facts about them.
    Facts,
    /// Their preferences.
    Preferences,
    /// Their interests.
    Interests,
    /// Their goals.
    Goals,
    /// Instructions that apply to every answer.
    Instructions,
}

impl Coded for ProfileSection {
    const ALL: &'static [Self] = &[
        Self::Identity,
        Self::Style,
        Self::Facts,
        Self::Preferences,
        Self::Interests,
        Self::Goals,
        Self::Instructions,
    ];
    /// A fact instructs nobody.
    const UNKNOWN: Self = Self::Facts;
}

impl ProfileSection {
    /// The keys of a section that has one value for each.
    pub fn keys(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Identity => &[
                ("name", "name"),
                ("preferredName", "preferred name"),
                ("pronouns", "pronouns"),
                ("birthday", "birthday"),
                ("language", "language"),
                ("timeZone", "time zone"),
                ("place", "place"),
            ],
            Self::Style => &[("answerLength", "length of answers"), ("tone", "tone")],
            _ => &[],
        }
    }

    /// The most entries of a section without keys.
    pub fn most(self) -> usize {
        match self {
            Self::Identity | Self::Style => self.keys().len(),
            Self::Instructions => 20,
            _ => 40,
        }
    }

    /// The most characters of an entry.
    pub fn longest(self) -> usize {
        match self {
            Self::Identity | Self::Style => 100,
            Self::Instructions => 500,
            _ => 300,
        }
    }

    /// One entry of it, for sentences.
    pub fn word(self) -> &'static str {
        match self {
            Self::Identity | Self::Style => "entry",
            Self::Facts => "fact",
            Self::Preferences => "preference",
            Self::Interests => "interest",
            Self::Goals => "goal",
            Self::Instructions => "instruction",
        }
    }
}

/// The source of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProfileSource {
    /// The person wrote it into their profile.
    Person,
    /// The person stated it in a conversation.
    Conversation,
    /// A model concluded it from a conversation.
    Model,
}

impl Coded for ProfileSource {
    const ALL: &'static [Self] = &[Self::Person, Self::Conversation, Self::Model];
    const UNKNOWN: Self = Self::Model;
}

/// A stored entry. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(with = "store::coded")]
    pub section: ProfileSection,
    /// Empty in sections without keys.
    pub key: String,
    pub value: String,
    #[serde(with = "store::coded")]
    pub source: ProfileSource,
    pub confidence: f32,
    /// The person's words that it was learned from.
    pub quote: String,
    pub conversation: Option<Id>,
}

impl Record for Stored {
    const NAME: &'static str = "profile";
    const WORD: &'static str = "profile entry";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        let label = self.section.keys().iter().find(|(key, _)| *key == self.key).map(|(_, label)| *label);
        let value = truncate(&self.value, TITLE);
        label.map_or_else(|| value.clone(), |label| format!("{label}: {value}"))
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(ALL, [])]
    }
}

/// An entry of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileEntry {
    /// Its id.
    pub id: Id,
    /// The key, in the sections `identity` and `style`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The value.
    pub value: String,
    /// Its source.
    pub source: ProfileSource,
    /// How sure it is, 0 to 1; 1 where the person wrote it.
    #[serde(serialize_with = "tool::as_shortest")]
    pub confidence: f32,
    /// The person's words that it was learned from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// The conversation that it was learned in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Id>,
    /// When it was written, in milliseconds since 1970.
    pub updated_at: u64,
    /// Whether it came from outside: it is in no prompt until the person confirms it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
}

impl ProfileEntry {
    pub(super) fn of(entry: &Entry<Stored>) -> Self {
        let it = entry.value.clone();
        Self {
            id: entry.id,
            key: it.key,
            value: it.value,
            source: it.source,
            confidence: it.confidence,
            quote: it.quote,
            conversation_id: it.conversation,
            updated_at: entry.updated_ms,
            from_outside: entry.label != Label::Own,
        }
    }
}

/// A person's profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ProfileView {
    /// Their identity.
    pub identity: Vec<ProfileEntry>,
    /// How answers should be.
    pub style: Vec<ProfileEntry>,
    /// Facts about them.
    pub facts: Vec<ProfileEntry>,
    /// Their preferences.
    pub preferences: Vec<ProfileEntry>,
    /// Their interests.
    pub interests: Vec<ProfileEntry>,
    /// Their goals.
    pub goals: Vec<ProfileEntry>,
    /// Instructions that apply to every answer.
    pub instructions: Vec<ProfileEntry>,
}

impl ProfileView {
    pub(super) fn of(all: &[Entry<Stored>]) -> Self {
        let of = |section: ProfileSection| {
            let mut found: Vec<ProfileEntry> =
                all.iter().filter(|entry| entry.value.section == section).map(ProfileEntry::of).collect();
            let place = |key: &str| section.keys().iter().position(|(known, _)| *known == key);
            found.sort_by_key(|entry| place(&entry.key));
            found
        };
        Self {
            identity: of(ProfileSection::Identity),
            style: of(ProfileSection::Style),
            facts: of(ProfileSection::Facts),
            preferences: of(ProfileSection::Preferences),
            interests: of(ProfileSection::Interests),
            goals: of(ProfileSection::Goals),
            instructions: of(ProfileSection::Instructions),
        }
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &ProfileEntry> {
        let lists = [
            &self.identity,
            &self.style,
            &self.facts,
            &self.preferences,
            &self.interests,
            &self.goals,
            &self.instructions,
        ];
        lists.into_iter().flatten()
    }
}
