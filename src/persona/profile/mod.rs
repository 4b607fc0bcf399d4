//! Profiles of the people who speak with Hob: identity, style of answers, facts, preferences, interests, goals and
//! standing instructions. Each entry has its source, and a person sees, changes and deletes all of them.

mod apply;
mod entry;
mod prompt;
mod statements;
#[cfg(test)]
mod tests;

pub use apply::{ProfileChange, ProfileText};
pub use entry::{ProfileEntry, ProfileSection, ProfileSource, ProfileView};
pub(crate) use prompt::{ProfileText as PromptText, prompt_text};
pub use statements::{Statement, sentence_count, statements};

use entry::Stored;
use store::{Collection, Entry, Store};
use tool::{Cx, Label, Result, Scope};

/// The profiles of all people; cheap to clone.
#[derive(Clone)]
pub struct Profile {
    entries: Collection<Stored>,
}

impl Profile {
    /// The profiles in `store`.
    pub fn new(store: &Store) -> Self {
        Self { entries: store.collection() }
    }

    /// This person's entries, the oldest first.
    fn stored(&self, cx: &Cx) -> Result<Vec<Entry<Stored>>> {
        let mut all = vec![];
        self.entries.walk_in(Scope::User(cx.user()), &store::Walk::prefix(entry::ALL, []), |entry| {
            all.push(entry.clone());
            store::Visit::No
        })?;
        all.sort_unstable_by_key(|entry| entry.id);
        Ok(all)
    }

    /// This person's profile. Entries from outside taint the run.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn read(&self, cx: &Cx) -> Result<ProfileView> {
        let all = self.stored(cx)?;
        all.iter().for_each(|entry| cx.taint(entry.label));
        Ok(ProfileView::of(&all))
    }

    /// The parts for the prompt, bounded. Entries from outside are left out: they would taint every run.
    pub(crate) fn for_prompt(&self, cx: &Cx) -> PromptText {
        match self.stored(cx) {
            Ok(all) => prompt_text(all.iter().filter(|entry| entry.label == Label::Own).map(|entry| &entry.value)),
            Err(error) => {
                tracing::warn!(%error, "the profile could not be read for the prompt");
                PromptText::default()
            }
        }
    }
}
