//! The channel: read when somebody asks and now and then; people are notified of a new version once. Nothing is installed by itself.

use super::service::{UpdateService, door_error};
use ::update::{
    Error as UpdateError,
    fetch::{Offer, check, download},
};
use api::{UpdateAvailable, UpdateChannel};
use std::{sync::PoisonError, time::Duration};
use tool::{Channel, Cx, Error, Id, Ports, Principal, Result, Via};

/// The first look after a start comes up to so many times later than at the earliest; many devices that start together do not ask
/// together.
const FIRST_SPREAD: u64 = 6;
/// Of the interval, a tenth more or less.
const SPREAD: u64 = 10;
/// How soon a channel that could not be read is read again, unless the interval is shorter.
const AGAIN_SECONDS: u64 = 3600;

/// The last answer of the channel.
#[derive(Default)]
pub(super) struct ChannelState {
    /// Milliseconds since 1970.
    checked_at: Option<i64>,
    problem: Option<String>,
    available: Option<Offer>,
}

impl UpdateService {
    /// The version that the channel offers beyond the running version.
    pub(super) fn offered(&self) -> Option<Offer> {
        self.0.channel.lock().unwrap_or_else(PoisonError::into_inner).available.clone()
    }

    pub(super) fn channel_view(&self) -> Option<UpdateChannel> {
        let url = self.without_secrets(&self.0.config.channel);
        let state = self.0.channel.lock().unwrap_or_else(PoisonError::into_inner);
        (!url.is_empty()).then(|| UpdateChannel {
            url,
            checked_at: state.checked_at,
            problem: state.problem.clone(),
            available: state.available.as_ref().map(|offer| UpdateAvailable {
                version: offer.release.version.to_string(),
                notes: offer.release.notes.clone(),
                bytes: offer.release.bytes,
            }),
        })
    }

    /// A text about the channel without the user, the password and the query of its address: everybody who may see the device
    /// reads it.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in [login(&self.0.config.channel), query(&self.0.config.channel)].into_iter().flatten() {
            text = text.replace(secret, "");
        }
        text
    }

    /// Reads the channel, and publishes a new version.
    ///
    /// # Errors
    /// `Unavailable` when there is none; `Failed` when it cannot be read, or is not to be trusted.
    pub(super) async fn check_channel(&self) -> Result<()> {
        if self.0.config.channel.is_empty() {
            return Err(Error::unavailable("no channel is set up: give its address as `update.channel` in hob.toml"));
        }
        let found = check(&self.updater()?, &self.0.config.channel).await;
        {
            let mut state = self.0.channel.lock().unwrap_or_else(PoisonError::into_inner);
            state.problem = found.as_ref().err().map(|error| self.without_secrets(&error.to_string()));
            match &found {
                Ok(available) => {
                    state.checked_at = Some(Id::new().millis() as i64);
                    state.available.clone_from(available);
                }
                // A channel that is not to be trusted offers nothing; one that does not answer may have offered something before.
                Err(UpdateError::Network(_)) => {}
                Err(_) => state.available = None,
            }
        }
        match found {
            Ok(Some(Offer { release, .. })) => {
                let data = serde_json::json!({"version": release.version.to_string(), "notes": release.notes});
                self.0.bus.publish("update:available", None, data);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => Err(door_error(error)),
        }
    }

    /// Fetches what the channel offers into the other slot, and returns the id of the upload.
    pub(super) async fn download(&self) -> Result<String> {
        let offer = self.offered().ok_or_else(|| Error::unavailable("the channel offers nothing newer"))?;
        let updater = self.updater()?;
        let runtime = tokio::runtime::Handle::current();
        // On a thread of its own: the compiler cannot prove that this future may change threads.
        let fetched = tokio::task::spawn_blocking(move || runtime.block_on(download(&updater, &offer))).await;
        let fetched = fetched.map_err(|_| Error::failed("the download broke off: the log has more"))?;
        Ok(fetched.map_err(door_error)?.id)
    }

    /// Reads the channel now and then, for as long as it is polled.
    pub async fn follow_channel(self, ports: Ports) {
        let hours = self.0.config.check_hours;
        if self.0.config.channel.is_empty() || hours == 0 || self.0.updater.is_err() {
            return;
        }
        let mut wait = first_wait(self.0.config.first_check_seconds, random);
        loop {
            tokio::time::sleep(wait).await;
            let checked = self.check_channel().await;
            match &checked {
                Ok(()) => self.tell_of_offers(&ports).await,
                Err(error) => tracing::info!(%error, "the update channel could not be read"),
            }
            wait = next_wait(hours, checked.is_ok(), random);
        }
    }

    /// A notice for the owner, once for each version, from wherever it can be installed.
    pub(super) async fn tell_of_offers(&self, ports: &Ports) {
        let told = self.0.notes.get();
        if let Some(offer) = self.offered() {
            let version = offer.release.version.to_string();
            let text = format!("Hob {version} is available. Install it under Device, Updates.");
            if told.told_version != version && tell(ports, "Update", &text).await {
                self.0.notes.change(|content| content.told_version = version);
            }
        }
        if let Some((file, content)) = self.newest_found() {
            let text = format!(
                "Hob {} is in {}. Install it under Device, Updates, or with `hob update install`.",
                content.version,
                file.display()
            );
            if told.told_found != content.id && tell(ports, "Update", &text).await {
                self.0.notes.change(|notes| notes.told_found = content.id);
            }
        }
    }
}

/// The wait before the first look.
fn first_wait(least: u64, random: impl Fn(u64) -> u64) -> Duration {
    Duration::from_secs(least + random(FIRST_SPREAD * least))
}

/// The wait before the next one: the interval, or an hour after one that failed, a tenth more or less.
fn next_wait(hours: u64, well: bool, random: impl Fn(u64) -> u64) -> Duration {
    let every = if well { hours * 3600 } else { AGAIN_SECONDS.min(hours * 3600) };
    let spread = every / SPREAD;
    Duration::from_secs(every - spread + random(2 * spread))
}

/// A notice for the owner.
pub(super) async fn tell(ports: &Ports, title: &str, text: &str) -> bool {
    let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Machine));
    match cx.call("notify", serde_json::json!({"title": title, "text": text})).await {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(%error, "the owner could not be told about an update");
            false
        }
    }
}

/// User and password in an address, with the `@` after them.
fn login(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    host.rfind('@').and_then(|at| host.get(..=at))
}

/// The query of an address, with the `?` before it.
fn query(url: &str) -> Option<&str> {
    let url = url.split('#').next()?;
    url.find('?').and_then(|at| url.get(at..)).filter(|query| query.len() > 1)
}

/// A number below `most`.
fn random(most: u64) -> u64 {
    let bytes = *Id::new().as_bytes();
    let last =
        u64::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]]);
    last.checked_rem(most).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_is_read_once_a_day_and_sooner_after_a_failure() {
        let (least, most) = (|_: u64| 0, |most: u64| most.saturating_sub(1));
        let seconds = Duration::from_secs;
        assert_eq!((first_wait(120, least), first_wait(120, most)), (seconds(120), seconds(839)));
        assert_eq!(first_wait(0, random), seconds(0));
        assert_eq!((next_wait(24, true, least), next_wait(24, true, most)), (seconds(77_760), seconds(95_039)));
        assert_eq!((next_wait(24, false, least), next_wait(24, false, most)), (seconds(3_240), seconds(3_959)));
        assert_eq!(next_wait(1, true, least), seconds(3_240));
    }

    #[test]
    fn user_password_and_query_of_an_address_are_found() {
        for (url, expected) in [
            ("https://example.org/hob/stable.json", None),
            ("https://me:pass@example.org/a@b.json", Some("me:pass@")),
            ("https://me:p@ss@example.org?x=@", Some("me:p@ss@")),
            ("https://example.org/?to=me@home", None),
            ("nothing@all", None),
        ] {
            assert_eq!(login(url), expected, "{url}");
        }
        assert_eq!(query("https://example.org/hob/stable.json?token=abc#x"), Some("?token=abc"));
        assert_eq!((query("https://example.org/stable.json"), query("https://example.org/?")), (None, None));
    }
}
