//! Up to which message each watched account was told of, so that a restart tells nothing anew.

use serde::{Deserialize, Serialize};
use store::{Collection, Key, Level, Listing, Record, Stamp, Store};
use tool::{Label, Result, Scope};

/// The last message of an account that was told of. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WatchedMailbox {
    /// The label of the account.
    pub account: String,
    /// Whose mailbox it is, and where: another one begins anew.
    pub mailbox: String,
    /// The numbering of its messages.
    pub validity: u32,
    /// The number of the message.
    pub uid: u32,
}

impl Record for WatchedMailbox {
    const NAME: &'static str = "mail-seen";
    const WORD: &'static str = "mailbox";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.account)]
    }
}

/// All of them; cheap to clone.
#[derive(Clone)]
pub(crate) struct SeenMail(Collection<WatchedMailbox>);

impl SeenMail {
    pub fn new(store: &Store) -> Self {
        Self(store.collection())
    }

    /// What was told of an account. Cheap: there are as many as accounts.
    pub fn get(&self, account: &str) -> Result<Option<WatchedMailbox>> {
        let all = self.0.list_in(Scope::Household, &Listing::default())?;
        Ok(all.into_iter().map(|entry| entry.value).find(|seen| seen.account == account))
    }

    /// Stores it; it is on the disk afterwards.
    pub async fn set(&self, seen: WatchedMailbox) -> Result<()> {
        let all = self.0.list_in(Scope::Household, &Listing::default())?;
        match all.into_iter().find(|entry| entry.value.account == seen.account) {
            Some(entry) => {
                let replace = move |stored: &mut WatchedMailbox| {
                    stored.clone_from(&seen);
                    Ok(())
                };
                self.0.update_in(Scope::Household, Label::Own, entry.id, replace).await?;
            }
            None => drop(self.0.insert_as(Stamp::household("mail"), seen).await?),
        }
        Ok(())
    }

    /// Forgets accounts that are not among these.
    pub async fn retain(&self, accounts: &[String]) -> Result<()> {
        for entry in self.0.list_in(Scope::Household, &Listing::default())? {
            if !accounts.contains(&entry.value.account) {
                self.0.delete_in(Scope::Household, entry.id).await?;
            }
        }
        Ok(())
    }
}
