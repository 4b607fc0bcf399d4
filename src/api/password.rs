//! Passwords: Argon2id, one at a time, so that many who try cost little more memory than one.

use crate::envelope::Failure;
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

/// What one check costs: 19 MiB and two passes, as OWASP has it.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// The shortest and longest password, in characters.
const LENGTH: std::ops::RangeInclusive<usize> = 10..=256;

/// How many strangers may wait for a check.
const WAITING: usize = 16;

/// Who wants a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckSource {
    /// Anybody.
    Stranger,
    /// Somebody who is known, or at a browser that is.
    Known,
}

/// One check at a time for strangers, and one for those who are known: no crowd keeps them waiting.
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

/// One less waits when this goes.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The one form that each text has, whichever keyboard it was typed on.
fn form(password: &str) -> String {
    password.nfc().collect()
}

fn argon() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

impl Passwords {
    /// What is kept in the place of a password.
    ///
    /// # Errors
    /// 400 when it is too short or too long.
    pub async fn hash(&self, by: CheckSource, password: &str) -> Result<String, Failure> {
        if !LENGTH.contains(&password.chars().count()) || password.trim().is_empty() {
            let text = format!("a password has {} to {} characters", LENGTH.start(), LENGTH.end());
            return Err(Failure::new(400, "bad_args", text));
        }
        let password = form(password);
        let hashed =
            self.aside(by, move || argon().hash_password(password.as_bytes()).map(|hash| hash.to_string())).await?;
        hashed.map_err(|e| Failure::new(422, "failed", format!("the password could not be kept: {e}")))
    }

    /// Whether a password is the one behind `kept`. Without one it takes as long and is wrong, so that nobody learns
    /// from the clock who has one.
    pub async fn fits(&self, by: CheckSource, password: &str, kept: &str) -> Result<bool, Failure> {
        let (password, kept) = (form(&password.chars().take(*LENGTH.end() + 1).collect::<String>()), kept.to_owned());
        let check = move || match PasswordHash::new(&kept) {
            Ok(hash) => argon().verify_password(password.as_bytes(), &hash).is_ok(),
            Err(_) => {
                let _ = argon().hash_password(password.as_bytes());
                false
            }
        };
        self.aside(by, check).await
    }

    /// Runs on a thread of its own kind: it would hold up everybody else. Its turn lasts as long as the work does, also
    /// when whoever asked is gone.
    async fn aside<T: Send + 'static>(
        &self,
        by: CheckSource,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let broken = || Failure::new(422, "failed", "the password could not be checked: try again");
        let (turns, _waiting) = match by {
            CheckSource::Known => (&self.known, None),
            CheckSource::Stranger => {
                let waiting = Waiting(&self.waiting);
                if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING {
                    let text = "too many people sign in at once: wait a moment and try again";
                    return Err(Failure::new(429, "too_many_tries", text).retry_after(5));
                }
                (&self.strangers, Some(waiting))
            }
        };
        let turn = turns.clone().acquire_owned().await.map_err(|_| broken())?;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_fit_their_hash_alone() {
        let passwords = Passwords::default();
        let kept = passwords.hash(CheckSource::Known, "correct horse").await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(kept, passwords.hash(CheckSource::Known, "correct horse").await.unwrap(), "salted");
        let rows = [("correct horse", true), ("Correct horse", false), ("", false), ("correct horse ", false)];
        for (password, fits) in rows {
            assert_eq!(passwords.fits(CheckSource::Stranger, password, &kept).await.unwrap(), fits, "{password}");
        }
        let umlaut = passwords.hash(CheckSource::Known, "K\u{fc}che und Bad").await.unwrap();
        assert!(passwords.fits(CheckSource::Known, "Ku\u{308}che und Bad", &umlaut).await.unwrap());
        assert!(!passwords.fits(CheckSource::Stranger, "correct horse", "").await.unwrap());
        for bad in ["short", &"x".repeat(257), &" ".repeat(20)] {
            assert!(passwords.hash(CheckSource::Stranger, bad).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_crowd_of_strangers_waits_and_the_known_do_not() {
        let passwords = Passwords::default();
        let crowd = (0..3 * WAITING).map(|_| passwords.fits(CheckSource::Stranger, "guess", ""));
        let known = passwords.fits(CheckSource::Known, "guess", "");
        let (crowd, known) = futures::join!(futures::future::join_all(crowd), known);
        assert!(known.is_ok());
        assert_eq!(crowd.iter().filter(|told| told.is_ok()).count(), WAITING);
        assert_eq!(passwords.waiting.load(Ordering::Relaxed), 0);
    }
}
