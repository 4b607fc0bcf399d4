//! New mail as events: one connection for each watched account, which waits by IDLE, or looks now and then.

use crate::{
    EmailId, Error, Fetched, Headers, Imap, ImapAccount, Opened, Result, Search,
    account::{IMAP, users, watched},
    seen::{SeenMail, WatchedMailbox},
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use store::Store;
use tokio::{sync::Notify, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tool::Ports;

/// The topic of the event: `{account, emailId, from, name, subject}`.
pub const MAIL_RECEIVED: &str = "mail:received";
/// The folder that is watched.
const INBOX: &str = "INBOX";
/// How many messages are told of at once; of more, the newest.
const TOLD: usize = 50;
/// How long one IDLE lasts: routers forget silent connections, and servers end it after half an hour.
const IDLE: Duration = Duration::from_secs(9 * 60);
/// How long is waited after the server told of new mail.
const SETTLE: Duration = Duration::from_millis(500);
/// The pause after a failure: doubled each time, up to a maximum. A server that refuses the password is asked rarely, because
/// some lock out who asks too often.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(15 * 60);
const REFUSED_PAUSE: Duration = Duration::from_secs(30 * 60);
/// A connection that lasted this long starts the pauses from the beginning.
const LASTED: Duration = Duration::from_secs(60);
/// How many accounts are watched.
const ACCOUNTS: usize = 10;

/// Watches accounts; cheap to clone.
#[derive(Clone)]
pub struct MailWatch(Arc<Inner>);

struct Inner {
    ports: Ports,
    seen: SeenMail,
    changed: Notify,
}

impl MailWatch {
    /// Over the accounts that `ports` know; it begins with [`MailWatch::run`].
    pub fn new(store: &Store, ports: Ports) -> Self {
        Self(Arc::new(Inner { ports, seen: SeenMail::new(store), changed: Notify::new() }))
    }

    /// The accounts may have changed.
    pub fn reload(&self) {
        self.0.changed.notify_one();
    }

    /// Watches until `closing`.
    pub async fn run(self, closing: CancellationToken) {
        let mut running: BTreeMap<String, (ImapAccount, Watching)> = BTreeMap::new();
        loop {
            let mut accounts = watched(&*self.0.ports.settings);
            accounts.truncate(ACCOUNTS);
            running.retain(|_, (known, _)| accounts.contains(known));
            let labels: Vec<String> = self.0.ports.settings.entries(IMAP).into_iter().map(|(label, _)| label).collect();
            if let Err(error) = self.0.seen.retain(&labels).await {
                tracing::warn!(%error, "what was told of removed mail accounts could not be deleted");
            }
            for account in accounts {
                if !running.contains_key(&account.label) {
                    let task = tokio::spawn(self.clone().follow(account.clone()));
                    running.insert(account.label.clone(), (account, Watching(task)));
                }
            }
            tokio::select! {
                () = closing.cancelled() => return,
                () = self.0.changed.notified() => {}
            }
        }
    }

    /// Stays connected to one account.
    async fn follow(self, account: ImapAccount) {
        let mut failures = 0u32;
        loop {
            let begun = Instant::now();
            let Err(error) = self.session(&account).await;
            if begun.elapsed() >= LASTED {
                failures = 0;
            }
            let pause = match &error {
                Error::Login(_) | Error::BadArgs(_) => REFUSED_PAUSE,
                _ => (FIRST_PAUSE * 2u32.saturating_pow(failures.min(10))).min(MAX_PAUSE),
            };
            failures = failures.saturating_add(1);
            // Hobs of one home that lost the network at once come back one after another.
            let mut random = [0u8; 1];
            let _ = getrandom::fill(&mut random);
            let pause = pause.mul_f64(1.0 + f64::from(random[0]) / 1024.0);
            tracing::info!(account = account.label, seconds = pause.as_secs(), "new mail is not seen: {error}");
            tokio::time::sleep(pause).await;
        }
    }

    /// One connection, until it fails.
    async fn session(&self, account: &ImapAccount) -> Result<std::convert::Infallible> {
        let mut imap = Imap::connect(&account.server).await?;
        let mut opened = imap.open(INBOX, true).await?;
        loop {
            self.look(account, &mut imap, opened).await?;
            if imap.can_idle() {
                while !imap.idle(IDLE).await? {}
                // More may come with it; and no server makes this loop spin.
                tokio::time::sleep(SETTLE).await;
            } else {
                tokio::time::sleep(account.poll).await;
                // Opening it again also tells of what this connection would not see.
                opened = imap.open(INBOX, true).await?;
            }
        }
    }

    /// Tells of messages that came since the last look.
    async fn look(&self, account: &ImapAccount, imap: &mut Imap, opened: Opened) -> Result<()> {
        let mailbox = format!("{}@{}", account.server.username, account.server.host);
        let stored = self.0.seen.get(&account.label).map_err(unstored)?;
        let known = stored.filter(|seen| seen.mailbox == mailbox && seen.validity == opened.validity);
        let Some(known) = known else {
            // What is there already is no news.
            let newest = match opened.next {
                Some(next) => next.saturating_sub(1),
                None => imap.search(&Search::default(), 1).await?.0.first().copied().unwrap_or_default(),
            };
            return self.remember(account, mailbox, opened.validity, newest).await;
        };
        let search = Search { after: Some(known.uid), ..Search::default() };
        let (mut new, _) = imap.search(&search, TOLD).await?;
        let Some(newest) = new.first().copied() else { return Ok(()) };
        new.reverse();
        let mut all = imap.headers_of(&new).await?;
        all.sort_by_key(|one| one.uid);
        all.retain(|one| new.contains(&one.uid));
        // Stored before it is told: after a power cut nothing is told twice.
        self.remember(account, mailbox, opened.validity, newest).await?;
        for one in &all {
            self.tell(account, opened.validity, one);
        }
        Ok(())
    }

    async fn remember(&self, account: &ImapAccount, mailbox: String, validity: u32, uid: u32) -> Result<()> {
        let seen = WatchedMailbox { account: account.label.clone(), mailbox, validity, uid };
        self.0.seen.set(seen).await.map_err(unstored)
    }

    fn tell(&self, account: &ImapAccount, validity: u32, mail: &Fetched) {
        let headers = Headers::read(&mail.bytes);
        let sender = headers.sender().cloned().unwrap_or_default();
        let id = EmailId { account: account.label.clone(), folder: INBOX.to_owned(), validity, uid: mail.uid };
        let data = json!({
            "account": account.label,
            "emailId": id.to_string(),
            "from": sender.address.to_lowercase(),
            "name": sender.name,
            "subject": headers.subject,
        });
        match users(&*self.0.ports.people, &account.people) {
            Ok(people) => {
                people.into_iter().for_each(|user| self.0.ports.bus.publish(MAIL_RECEIVED, Some(user), data.clone()))
            }
            Err(error) => tracing::warn!(%error, "new mail could not be told of"),
        }
    }
}

fn unstored(error: tool::Error) -> Error {
    Error::Unavailable(format!("which mail is new could not be stored ({error})"))
}

/// Ends the task with its owner.
struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}
