//! Changes a profile: all of a change in one commit, or nothing.

use super::{
    Profile,
    entry::{ALL, ProfileSection, ProfileSource, Stored},
};
use memory::{Relation, relation};
use records::{rejected, required_text, truncate};
use store::{Audience, Entry, Stamp, Tx};
use tool::{Cx, Error, Id, Label, Result, Scope, UserId};

/// The most characters of a quote.
const QUOTE: usize = 200;
/// The most parts of one change.
const MOST: usize = 60;

/// A text for a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileText {
    /// The section.
    pub section: ProfileSection,
    /// The key; empty in sections without keys.
    pub key: String,
    /// The value; empty to remove the value of a key.
    pub value: String,
}

/// A change of a profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileChange {
    /// Values to set, and entries to add.
    pub texts: Vec<ProfileText>,
    /// Entries with a new value; the same value confirms one.
    pub change: Vec<(Id, String)>,
    /// Entries to remove.
    pub remove: Vec<Id>,
    /// Its source.
    pub source: Option<ProfileSource>,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
    /// The words it was learned from.
    pub quote: String,
}

/// How many entries a change added or changed, and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    pub written: usize,
    pub removed: usize,
}

impl Profile {
    /// Changes this person's profile.
    ///
    /// # Errors
    /// `BadArgs` when a value is empty, too long, or one too many; `NotFound` when an entry is not theirs.
    pub(crate) async fn apply(&self, cx: &Cx, change: ProfileChange) -> Result<Applied> {
        let parts = change.texts.len() + change.change.len() + change.remove.len();
        if parts == 0 {
            return Err(Error::bad_args("nothing to change: pass a value, something to add, `change` or `remove`"));
        }
        if parts > MOST {
            return Err(Error::bad_args(format!("a change has at most {MOST} parts: make several calls")));
        }
        let mut change = change;
        for text in change.texts.iter_mut().filter(|text| !text.value.trim().is_empty() || text.key.is_empty()) {
            let what = if text.key.is_empty() { text.section.word() } else { &text.key };
            text.value = required_text(what, &text.value, text.section.longest())?;
        }
        for (_, value) in &mut change.change {
            *value = required_text("value", value, ProfileSection::Instructions.longest())?;
        }
        change.quote = truncate(change.quote.trim(), QUOTE);
        let (this, user, label, conversation) = (self.clone(), cx.user(), cx.label(), cx.conversation());
        let job = move |tx: &Tx| this.apply_in(tx, (user, label, conversation), &change);
        Ok(self.entries.store().write(job).await?)
    }

    fn apply_in(
        &self,
        tx: &Tx,
        (user, label, conversation): (UserId, Label, Option<Id>),
        change: &ProfileChange,
    ) -> store::Result<Applied> {
        let scope = Scope::User(user);
        let mut all = self.entries.find(tx, scope, ALL, &[])?;
        let mut applied = Applied::default();
        let source = change.source.unwrap_or(ProfileSource::Person);
        let stamp = Stamp { scope, owner: user, audience: Audience::Private, label, source: "update_profile".into() };
        let missing = |id: &Id| store::Error::Missing(format!("the profile has no entry {id}: read it again"));
        for id in &change.remove {
            let at = all.iter().position(|entry| entry.id == *id).ok_or_else(|| missing(id))?;
            all.remove(at);
            self.entries.remove(tx, scope, *id)?;
            applied.removed += 1;
        }
        let stored = |text: &ProfileText| Stored {
            section: text.section,
            key: text.key.clone(),
            value: text.value.clone(),
            source,
            confidence: change.confidence,
            quote: change.quote.clone(),
            conversation: conversation.filter(|_| source != ProfileSource::Person),
        };
        for (id, value) in &change.change {
            let at = all.iter().position(|entry| entry.id == *id).ok_or_else(|| missing(id))?;
            let Some(entry) = all.get_mut(at) else { continue };
            let text = ProfileText { section: entry.value.section, key: entry.value.key.clone(), value: value.clone() };
            if text.value.chars().count() > text.section.longest() {
                return Err(rejected(format!(
                    "the value is longer than {} characters: shorten it",
                    text.section.longest()
                )));
            }
            // A person who confirms an entry vouches for it, and the source stays; another value is theirs.
            let same = entry.value.value == text.value;
            let now =
                if same { Stored { confidence: change.confidence, ..entry.value.clone() } } else { stored(&text) };
            *entry = self.entries.put(tx, *id, &stamp, &now)?;
            applied.written += 1;
        }
        for text in &change.texts {
            let found = all.iter().position(|entry| self.is_same(&entry.value, text));
            let old = found.and_then(|at| all.get(at));
            if text.value.is_empty() {
                if let (Some(at), Some(id)) = (found, old.map(|entry| entry.id)) {
                    all.remove(at);
                    self.entries.remove(tx, scope, id)?;
                    applied.removed += 1;
                }
                continue;
            }
            if old.is_some_and(|entry| is_known(entry, text, label)) {
                continue;
            }
            if found.is_none()
                && all.iter().filter(|entry| entry.value.section == text.section).count() >= text.section.most()
            {
                let (most, word) = (text.section.most(), text.section.word());
                return Err(rejected(format!(
                    "a profile has at most {most} entries of this kind: remove a {word} first"
                )));
            }
            let id = old.map_or_else(Id::new, |entry| entry.id);
            let entry = self.entries.put(tx, id, &stamp, &stored(text))?;
            match found.and_then(|at| all.get_mut(at)) {
                Some(place) => *place = entry,
                None => all.push(entry),
            }
            applied.written += 1;
        }
        Ok(applied)
    }

    /// Whether a text takes the place of this entry: the same key, the same fact in other words, or one that replaces it.
    fn is_same(&self, entry: &Stored, text: &ProfileText) -> bool {
        let instructs = text.section == ProfileSection::Instructions;
        entry.section == text.section
            && match text.key.as_str() {
                "" if instructs => entry.value.to_lowercase() == text.value.to_lowercase(),
                "" => relation(&entry.value, &text.value) != Relation::Different,
                key => entry.key == key,
            }
    }
}

/// Whether an entry says this already, as surely as it can.
fn is_known(entry: &Entry<Stored>, text: &ProfileText, label: Label) -> bool {
    entry.value.value == text.value && (entry.label == Label::Own || label != Label::Own)
}
