//! Hashes and checks passwords with Argon2id, one at a time: concurrent sign-ins cost little more memory than one.

use crate::{Error, Result};
use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization;

/// The cost of one check: 19 MiB and two passes, as OWASP recommends.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// The shortest and longest password, in characters.
const LENGTH: std::ops::RangeInclusive<usize> = 10..=256;

/// Unknown clients that may wait for a check at once.
const WAITING: usize = 16;

/// The client that requests a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckSource {
    Stranger,
    /// An authenticated person, or a browser in which they have signed in before.
    Known,
}

/// Runs one check at a time for strangers and one for known clients, so that a crowd of strangers delays nobody else.
pub(crate) struct Passwords {
    strangers: Arc<Semaphore>,
    known: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Default for Passwords {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { strangers: one(), known: one(), waiting: AtomicUsize::new(0) }
    }
}

/// Decrements the count of waiting strangers when dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Unicode normalization (NFC): the same password from every keyboard.
fn normalize(password: &str) -> String {
    password.nfc().collect()
}

fn argon() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

impl Passwords {
    /// The hash to store in place of a password.
    ///
    /// # Errors
    /// `BadArgs` when it is too short or too long.
    pub async fn hash(&self, by: CheckSource, password: &str) -> Result<String> {
        if !LENGTH.contains(&password.chars().count()) || password.trim().is_empty() {
            let text = format!("a password has {} to {} characters", LENGTH.start(), LENGTH.end());
            return Err(Error::bad_args(text));
        }
        let password = normalize(password);
        let hashed = self
            .run_blocking(by, move || argon().hash_password(password.as_bytes()).map(|hash| hash.to_string()))
            .await?;
        hashed.map_err(|e| Error::failed(format!("the password could not be hashed: {e}")))
    }

    /// Whether a password matches `hash`. An empty hash takes as long and never matches, so that the time does not reveal
    /// who has a password.
    pub async fn matches(&self, by: CheckSource, password: &str, hash: &str) -> Result<bool> {
        let (password, hash) =
            (normalize(&password.chars().take(*LENGTH.end() + 1).collect::<String>()), hash.to_owned());
        let check = move || match PasswordHash::new(&hash) {
            Ok(hash) => argon().verify_password(password.as_bytes(), &hash).is_ok(),
            Err(_) => {
                let _ = argon().hash_password(password.as_bytes());
                false
            }
        };
        self.run_blocking(by, check).await
    }

    /// Runs on the blocking thread pool. The permit is held until the work is done, also when the caller is dropped.
    async fn run_blocking<T: Send + 'static>(
        &self,
        by: CheckSource,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let broken = || Error::failed("the password could not be checked: try again");
        let (semaphore, _waiting) = match by {
            CheckSource::Known => (&self.known, None),
            CheckSource::Stranger => {
                let waiting = Waiting(&self.waiting);
                if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING {
                    let message = "too many people sign in at once: wait a moment and try again".to_owned();
                    return Err(Error::TooManyAttempts { message, retry_after_seconds: 5 });
                }
                (&self.strangers, Some(waiting))
            }
        };
        let permit = semaphore.clone().acquire_owned().await.map_err(|_| broken())?;
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_matches_only_its_own_hash() {
        let passwords = Passwords::default();
        let hash = passwords.hash(CheckSource::Known, "correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash(CheckSource::Known, "correct horse").await.unwrap(), "salted");
        let rows = [("correct horse", true), ("Correct horse", false), ("", false), ("correct horse ", false)];
        for (password, expected) in rows {
            assert_eq!(
                passwords.matches(CheckSource::Stranger, password, &hash).await.unwrap(),
                expected,
                "{password}"
            );
        }
        let umlaut = passwords.hash(CheckSource::Known, "K\u{fc}che und Bad").await.unwrap();
        assert!(passwords.matches(CheckSource::Known, "Ku\u{308}che und Bad", &umlaut).await.unwrap());
        assert!(!passwords.matches(CheckSource::Stranger, "correct horse", "").await.unwrap());
        for bad in ["short", &"x".repeat(257), &" ".repeat(20)] {
            assert!(passwords.hash(CheckSource::Stranger, bad).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_crowd_of_strangers_waits_and_the_known_do_not() {
        let passwords = Passwords::default();
        let crowd = (0..3 * WAITING).map(|_| passwords.matches(CheckSource::Stranger, "guess", ""));
        let known = passwords.matches(CheckSource::Known, "guess", "");
        let (crowd, known) = futures::join!(futures::future::join_all(crowd), known);
        assert!(known.is_ok());
        assert_eq!(crowd.iter().filter(|result| result.is_ok()).count(), WAITING);
        assert_eq!(passwords.waiting.load(Ordering::Relaxed), 0);
    }
}
