//! Passwords: Argon2id, one at a time, so that many who try cost no more memory than one.

use crate::envelope::Failure;
use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::sync::Semaphore;

/// What one check costs: 19 MiB and two passes, as OWASP has it.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// The shortest and longest password, in characters.
const LENGTH: std::ops::RangeInclusive<usize> = 10..=256;

/// One check at a time.
pub(crate) struct Passwords(Semaphore);

impl Default for Passwords {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
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
    pub async fn hash(&self, password: &str) -> Result<String, Failure> {
        if !LENGTH.contains(&password.chars().count()) {
            let text = format!("a password has {} to {} characters", LENGTH.start(), LENGTH.end());
            return Err(Failure::new(400, "bad_args", text));
        }
        let password = password.to_owned();
        let hashed =
            self.aside(move || argon().hash_password(password.as_bytes()).map(|hash| hash.to_string())).await?;
        hashed.map_err(|e| Failure::new(422, "failed", format!("the password could not be kept: {e}")))
    }

    /// Whether a password is the one behind `kept`. Without one it takes as long and is wrong, so that nobody learns
    /// from the clock who has one.
    pub async fn fits(&self, password: &str, kept: &str) -> Result<bool, Failure> {
        let (password, kept) = (password.chars().take(*LENGTH.end() + 1).collect::<String>(), kept.to_owned());
        let check = move || match PasswordHash::new(&kept) {
            Ok(hash) => argon().verify_password(password.as_bytes(), &hash).is_ok(),
            Err(_) => {
                let _ = argon().hash_password(password.as_bytes());
                false
            }
        };
        self.aside(check).await
    }

    /// Runs on a thread of its own kind: it would hold up everybody else.
    async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
        let broken = || Failure::new(422, "failed", "the password could not be checked: try again");
        let _place = self.0.acquire().await.map_err(|_| broken())?;
        tokio::task::spawn_blocking(work).await.map_err(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_fit_their_hash_alone() {
        let passwords = Passwords::default();
        let kept = passwords.hash("correct horse").await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(kept, passwords.hash("correct horse").await.unwrap(), "salted");
        let rows = [("correct horse", true), ("Correct horse", false), ("", false), ("correct horse ", false)];
        for (password, fits) in rows {
            assert_eq!(passwords.fits(password, &kept).await.unwrap(), fits, "{password}");
        }
        assert!(!passwords.fits("correct horse", "").await.unwrap());
        for bad in ["short", &"x".repeat(257)] {
            assert!(passwords.hash(bad).await.is_err());
        }
    }
}
