//! The state of the tools, and connections for one call.

use mail::{EmailId, Imap, ImapAccount, Opened};
use std::{sync::Arc, time::Duration};
use store::Store;
use tokio::sync::{Semaphore, SemaphorePermit};
use tool::{Label, prelude::*};
use workspace::Workspaces;

/// How many calls may be connected at once, and how many hold large messages.
const CONNECTED: usize = 4;
const LARGE: usize = 1;
/// How long a call waits for its turn.
const TURN: Duration = Duration::from_secs(20);

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct MailTools {
    pub(crate) workspaces: Workspaces,
    pub(crate) store: Store,
    turns: Arc<(Semaphore, Semaphore)>,
}

/// A connection to the server of an account, for one call.
pub(crate) struct Connected<'t> {
    pub account: ImapAccount,
    pub imap: Imap,
    _turn: SemaphorePermit<'t>,
}

impl MailTools {
    /// The tools over these parts.
    pub fn new(store: &Store, workspaces: Workspaces) -> Self {
        let turns = Arc::new((Semaphore::new(CONNECTED), Semaphore::new(LARGE)));
        Self { workspaces, store: store.clone(), turns }
    }

    /// Waits for a place among the calls that are connected.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        acquired(&self.turns.0).await
    }

    /// Waits for a place among the calls that hold a large message.
    pub(crate) async fn large(&self) -> Result<SemaphorePermit<'_>> {
        acquired(&self.turns.1).await
    }

    /// Connects to the account with this label, or the caller's first. From here on the run is tainted: even errors have words of
    /// a server in them.
    pub(crate) async fn connect(&self, cx: &Cx, label: Option<&str>) -> Result<Connected<'_>> {
        let account = mail::imap_account(cx, label)?;
        let turn = self.turn().await?;
        cx.taint(Label::Outside);
        let imap = tokio::select! {
            () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was cancelled")),
            imap = Imap::connect(&account.server) => imap?,
        };
        Ok(Connected { account, imap, _turn: turn })
    }

    /// Connects to the account of a mail, and opens its folder.
    pub(crate) async fn connect_to(&self, cx: &Cx, id: &EmailId, read_only: bool) -> Result<Connected<'_>> {
        let mut connected = self.connect(cx, Some(&id.account)).await?;
        let opened = connected.imap.open(&id.folder, read_only).await?;
        if opened.validity != id.validity {
            return Err(Error::not_found(
                "the server has numbered this folder anew, so the id means no mail any more: list or search the mails again",
            ));
        }
        Ok(connected)
    }
}

impl Connected<'_> {
    /// Opens a folder by the name that a person uses, for reading. Returns the name it has.
    pub async fn open(&mut self, folder: Option<&str>) -> Result<(String, Opened)> {
        let wanted = folder.map(str::trim).filter(|name| !name.is_empty()).unwrap_or("INBOX");
        let name = if wanted.eq_ignore_ascii_case("inbox") {
            "INBOX".to_owned()
        } else {
            let folders = self.imap.folders().await?;
            let meant = match wanted.to_lowercase().as_str() {
                "trash" => self.account.trash.as_deref().or(folders.trash()),
                "sent" => self.account.sent.as_deref().or(folders.sent()),
                _ => None,
            };
            let found = meant.or_else(|| folders.named(wanted)).map(str::to_owned);
            found.ok_or_else(|| {
                let names: Vec<String> = folders
                    .0
                    .iter()
                    .take(30)
                    .map(|folder| format!("`{}`", text_kit::truncate(&folder.name, 60)))
                    .collect();
                let wanted = text_kit::truncate(wanted, 60);
                Error::not_found(format!("there is no folder `{wanted}`: there are {}", names.join(", ")))
            })?
        };
        let opened = self.imap.open(&name, true).await?;
        Ok((name, opened))
    }
}

async fn acquired(semaphore: &Semaphore) -> Result<SemaphorePermit<'_>> {
    let busy = || Error::unavailable("other calls are busy with mail: try again in a moment");
    tokio::time::timeout(TURN, semaphore.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())
}
