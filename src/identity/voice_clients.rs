//! The addresses that may speak to this Hob by voice. The protocol of voice programs has no authentication, so a person
//! approves each address; until then nothing that it sends is acted on.

use crate::{Error, Identity, Result, stamp};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use store::{Coded, Entry, Key, Level, Listing, Record};
use tool::{
    Id, Label, Scope,
    prelude::{JsonSchema, schemars},
};

/// The most addresses that wait for a person; a further one replaces the oldest.
const MAX_PENDING: usize = 16;
/// The most addresses that people have decided on.
const MAX_DECIDED: usize = 64;
/// How exactly the time of the last sentence is stored.
const SEEN_EVERY_MS: u64 = 3_600_000;
/// The longest name, in characters.
const NAME: usize = 64;

/// Whether an address may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoiceStatus {
    /// Nobody has decided yet.
    Pending,
    /// A person approved it.
    Approved,
    /// A person denied it.
    Denied,
}

impl Coded for VoiceStatus {
    const ALL: &'static [Self] = &[VoiceStatus::Pending, VoiceStatus::Approved, VoiceStatus::Denied];
    const UNKNOWN: Self = VoiceStatus::Denied;
}

/// An address that has spoken, or that a person decided on. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VoiceClient {
    pub address: String,
    #[serde(with = "store::coded")]
    pub status: VoiceStatus,
    pub name: String,
    /// To the hour: milliseconds since 1970; 0 is never.
    pub seen_ms: u64,
}

impl Record for VoiceClient {
    const NAME: &'static str = "voice-clients";
    const WORD: &'static str = "voice client";
    const LEVEL: Level = Level::Household;
    // A restored backup must not bring a revoked address back.
    const STAYS: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.address)]
    }
}

/// An address that speaks by voice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VoiceClientView {
    /// Its address.
    pub address: String,
    /// Whether it may speak.
    pub status: VoiceStatus,
    /// The name that a person gave it; empty without one.
    pub name: String,
    /// When it was first known: milliseconds since 1970.
    pub created_at: u64,
    /// When it last spoke, to the hour: milliseconds since 1970; null is never.
    pub last_seen_at: Option<u64>,
}

impl From<Entry<VoiceClient>> for VoiceClientView {
    fn from(client: Entry<VoiceClient>) -> Self {
        let VoiceClient { address, status, name, seen_ms } = client.value;
        let last_seen_at = Some(seen_ms).filter(|ms| *ms > 0);
        Self { address, status, name, created_at: client.id.millis(), last_seen_at }
    }
}

/// A person's decision about an address.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct VoiceClientPatch {
    /// `approved` or `denied`; left out, it stays.
    pub status: Option<VoiceStatus>,
    /// A name for it, such as `Home Assistant`, 64 characters at most; empty removes it.
    pub name: Option<String>,
}

impl Identity {
    /// The addresses that speak by voice: those that wait for a person first, then the latest.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn voice_clients(&self) -> Result<Vec<VoiceClientView>> {
        let mut all = self.0.voice_clients.list_in(Scope::Household, &Listing::default())?;
        all.sort_by_key(|client| (client.value.status != VoiceStatus::Pending, std::cmp::Reverse(client.id)));
        Ok(all.into_iter().map(VoiceClientView::from).collect())
    }

    /// Whether a person approved this address.
    pub fn may_speak(&self, address: IpAddr) -> bool {
        let known = self.voice_client(&address.to_canonical().to_string());
        known.is_ok_and(|known| known.is_some_and(|client| client.value.status == VoiceStatus::Approved))
    }

    /// Whether this address may speak. An unknown one is stored as pending, and is `new` then.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn hear_voice_client(&self, address: IpAddr) -> Result<(VoiceStatus, bool)> {
        let (address, inner, now) = (address.to_canonical().to_string(), self.0.clone(), Id::now_ms());
        if let Some(known) = self.voice_client(&address)?
            && now.saturating_sub(known.value.seen_ms) < SEEN_EVERY_MS
        {
            return Ok((known.value.status, false));
        }
        let hear = move |tx: &store::Tx| {
            let clients = &inner.voice_clients;
            if let Some(known) = clients.find(tx, Scope::Household, 1, address.as_bytes())?.pop() {
                let seen = &mut |client: &mut VoiceClient| {
                    client.seen_ms = now;
                    Ok(())
                };
                clients.change(tx, Scope::Household, Label::Own, known.id, seen)?;
                return Ok((known.value.status, false));
            }
            inner.make_room(tx)?;
            let client = VoiceClient {
                address: address.clone(),
                status: VoiceStatus::Pending,
                name: String::new(),
                seen_ms: now,
            };
            clients.put(tx, Id::new(), &stamp(), &client)?;
            Ok((VoiceStatus::Pending, true))
        };
        Ok(self.0.voice_clients.store().write(hear).await?)
    }

    /// Approves, denies or names an address; an unknown one is added.
    ///
    /// # Errors
    /// `BadArgs` when it is no IP address or the name is too long, `Unavailable` when the disk is full.
    pub async fn decide_voice_client(&self, address: &str, patch: VoiceClientPatch) -> Result<VoiceClientView> {
        let address = parse_address(address)?;
        if patch.status == Some(VoiceStatus::Pending) {
            return Err(Error::bad_args("`status` is `approved` or `denied`"));
        }
        let name = patch.name.map(|name| name.trim().to_owned());
        if name.as_ref().is_some_and(|name| name.chars().count() > NAME || name.contains(char::is_control)) {
            return Err(Error::bad_args("`name` has at most 64 characters, all on one line"));
        }
        let known = self.voice_clients()?;
        let decided = known.iter().filter(|one| one.status != VoiceStatus::Pending).count();
        if decided >= MAX_DECIDED && known.iter().all(|one| one.address != address) {
            return Err(Error::bad_args("there are 64 addresses already: remove one of them first"));
        }
        let inner = self.0.clone();
        let decide = move |tx: &store::Tx| {
            let clients = &inner.voice_clients;
            let change = &mut |client: &mut VoiceClient| {
                client.status = patch.status.unwrap_or(client.status);
                client.name = name.clone().unwrap_or_else(|| std::mem::take(&mut client.name));
                Ok(())
            };
            match clients.find(tx, Scope::Household, 1, address.as_bytes())?.pop() {
                Some(known) => clients.change(tx, Scope::Household, Label::Own, known.id, change),
                None => {
                    let status = patch.status.unwrap_or(VoiceStatus::Denied);
                    let name = name.clone().unwrap_or_default();
                    let client = VoiceClient { address: address.clone(), status, name, seen_ms: 0 };
                    clients.put(tx, Id::new(), &stamp(), &client)
                }
            }
        };
        Ok(self.0.voice_clients.store().write(decide).await?.into())
    }

    /// Forgets an address; when it speaks again, it waits for a person.
    ///
    /// # Errors
    /// `NotFound` when it is unknown.
    pub async fn forget_voice_client(&self, address: &str) -> Result<()> {
        let address = parse_address(address)?;
        let known = self.voice_client(&address)?;
        let known = known.ok_or_else(|| Error::not_found(format!("{address} has never spoken to this Hob")))?;
        self.0.voice_clients.delete_in(Scope::Household, known.id).await?;
        Ok(())
    }

    fn voice_client(&self, address: &str) -> Result<Option<Entry<VoiceClient>>> {
        let listing = Listing { by: Some((1, address.as_bytes().to_vec())), ..Listing::default() };
        Ok(self.0.voice_clients.list_in(Scope::Household, &listing)?.pop())
    }
}

impl crate::Inner {
    /// Removes the oldest pending addresses, so that a crowd of strangers fills no disk.
    fn make_room(&self, tx: &store::Tx) -> store::Result<()> {
        let mut pending = vec![];
        let all = self.voice_clients.list_in(Scope::Household, &Listing::default())?;
        pending.extend(all.into_iter().filter(|c| c.value.status == VoiceStatus::Pending).map(|client| client.id));
        pending.sort_unstable();
        let surplus = (pending.len() + 1).saturating_sub(MAX_PENDING);
        for old in pending.into_iter().take(surplus) {
            self.voice_clients.remove(tx, Scope::Household, old)?;
        }
        Ok(())
    }
}

fn parse_address(address: &str) -> Result<String> {
    let parsed = address.trim().parse::<IpAddr>();
    let parsed = parsed.map_err(|_| Error::bad_args("that is no IP address: write it as 192.168.1.7"))?;
    Ok(parsed.to_canonical().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimConfig;
    use store::Store;

    fn identity() -> Identity {
        Identity::open(&Store::in_memory().unwrap(), None, ClaimConfig::default()).unwrap()
    }

    fn patch(status: VoiceStatus) -> VoiceClientPatch {
        VoiceClientPatch { status: Some(status), name: None }
    }

    #[tokio::test]
    async fn an_address_waits_until_a_person_decides() {
        let identity = identity();
        let ip: IpAddr = "::ffff:192.168.1.7".parse().unwrap();
        assert!(!identity.may_speak(ip));
        assert_eq!(identity.hear_voice_client(ip).await.unwrap(), (VoiceStatus::Pending, true));
        assert_eq!(identity.hear_voice_client(ip).await.unwrap(), (VoiceStatus::Pending, false));
        assert!(!identity.may_speak(ip));
        let approved = identity.decide_voice_client("192.168.1.7", patch(VoiceStatus::Approved)).await.unwrap();
        assert_eq!((approved.address.as_str(), approved.status), ("192.168.1.7", VoiceStatus::Approved));
        assert_eq!(identity.hear_voice_client(ip).await.unwrap(), (VoiceStatus::Approved, false));
        assert!(identity.may_speak(ip));
        let named = VoiceClientPatch { status: None, name: Some(" Kitchen ".into()) };
        let named = identity.decide_voice_client("192.168.1.7", named).await.unwrap();
        assert_eq!((named.status, named.name.as_str()), (VoiceStatus::Approved, "Kitchen"));
        identity.forget_voice_client("192.168.1.7").await.unwrap();
        assert_eq!(identity.hear_voice_client(ip).await.unwrap(), (VoiceStatus::Pending, true));
        // Naming an address does not approve it.
        let named = VoiceClientPatch { status: None, name: Some("x".into()) };
        assert_eq!(identity.decide_voice_client("10.0.0.9", named).await.unwrap().status, VoiceStatus::Denied);
    }

    #[tokio::test]
    async fn decisions_are_checked() {
        let identity = identity();
        for (address, status, name, part) in [
            ("kitchen.local", Some(VoiceStatus::Approved), None, "no IP address"),
            ("192.168.1.0/24", Some(VoiceStatus::Approved), None, "no IP address"),
            ("192.168.1.7", Some(VoiceStatus::Pending), None, "`approved` or `denied`"),
            ("192.168.1.7", None, Some("x".repeat(65)), "at most 64"),
            ("192.168.1.7", None, Some("a\nb".into()), "on one line"),
        ] {
            let error = identity.decide_voice_client(address, VoiceClientPatch { status, name }).await.unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(identity.forget_voice_client("192.168.1.7").await.is_err());
        assert_eq!(identity.voice_clients().unwrap(), []);
    }

    #[tokio::test]
    async fn a_crowd_of_addresses_is_bounded() {
        let identity = identity();
        identity.decide_voice_client("10.0.0.1", patch(VoiceStatus::Approved)).await.unwrap();
        for n in 0..40u8 {
            let ip = IpAddr::from([10, 0, 1, n]);
            assert_eq!(identity.hear_voice_client(ip).await.unwrap(), (VoiceStatus::Pending, true));
        }
        let all = identity.voice_clients().unwrap();
        assert_eq!((all.len(), all[0].address.as_str()), (MAX_PENDING + 1, "10.0.1.39"));
        assert_eq!(all.last().unwrap().status, VoiceStatus::Approved);
        for n in 1..MAX_DECIDED as u8 {
            identity.decide_voice_client(&format!("10.0.2.{n}"), patch(VoiceStatus::Denied)).await.unwrap();
        }
        assert!(identity.decide_voice_client("10.0.3.1", patch(VoiceStatus::Approved)).await.is_err());
    }
}
