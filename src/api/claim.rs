//! The code by which a first person takes the device: shown on the console, kept in a file, good for one use and a while.

use crate::keys::random;
use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Letters and digits that are not mistaken for one another; 32 of them, so five bits each.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The fewest letters and digits of a code that was chosen beforehand: 12 of ours are 60 bits.
const SHORTEST: usize = 12;

/// How the code is made and where it is told.
#[derive(Debug, Clone)]
pub struct Claiming {
    /// How long a code is good; after that a new one takes its place.
    pub lasts: Duration,
    /// A code that was chosen beforehand; it does not expire.
    pub chosen: Option<String>,
    /// The file that holds the code as long as nobody has claimed the device.
    pub file: Option<PathBuf>,
}

impl Default for Claiming {
    fn default() -> Self {
        Self { lasts: Duration::from_secs(3600), chosen: None, file: None }
    }
}

/// Why a code does not open the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    Wrong,
    Expired,
}

/// The code that is good now, and the one before it.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    code: String,
    until: Option<Instant>,
    before: Option<String>,
    /// How the links begin: `http://127.0.0.1:4620`.
    at: Vec<String>,
    how: Claiming,
}

impl Claim {
    /// The chosen code, or a fresh one.
    ///
    /// # Errors
    /// `BadArgs` when the chosen code is too short; `Unavailable` when the system has no randomness to give.
    pub fn new(how: Claiming) -> tool::Result<Self> {
        if let Some(code) = how.chosen.clone() {
            let code = plain(&code);
            let different: std::collections::BTreeSet<char> = code.chars().collect();
            if code.len() < SHORTEST || different.len() < SHORTEST / 2 {
                return Err(tool::Error::bad_args(format!(
                    "the claim code that was chosen is too easy: use at least {SHORTEST} letters and digits, and not always the same"
                )));
            }
            return Ok(Self { code, until: None, before: None, at: vec![], how });
        }
        let until = Some(Instant::now() + how.lasts);
        Ok(Self { code: fresh()?, until, before: None, at: vec![], how })
    }

    /// How long the code is still good; `None` is as long as nobody claims the device.
    pub fn remaining(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Puts a new code in the place of one that has expired, and tells it.
    pub fn renew(&mut self) {
        if self.remaining().is_none_or(|left| !left.is_zero()) {
            return;
        }
        match fresh() {
            Ok(code) => {
                self.before = Some(std::mem::replace(&mut self.code, code));
                self.until = Some(Instant::now() + self.how.lasts);
                self.tell(self.at.clone());
            }
            Err(error) => tracing::error!(%error, "there is no new claim code"),
        }
    }

    /// Tells the code on standard error, and keeps it in the file.
    pub fn tell(&mut self, at: Vec<String>) {
        self.at = at;
        let links: Vec<String> = self.at.iter().map(|at| format!("{at}/#claim={}", self.code)).collect();
        let told = links.join("\n  or, from another device:            ");
        // A console that nobody reads must not stop the daemon.
        let _ = writeln!(std::io::stderr(), "\n  Open this link to claim this Hob:  {told}\n");
        let Some(file) = &self.how.file else { return };
        let aside = file.with_extension("new");
        let _ = std::fs::remove_file(&aside);
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)
            .and_then(|mut open| open.write_all(format!("{}\n{}\n", self.code, links.join("\n")).as_bytes()))
            .and_then(|()| std::fs::rename(&aside, file));
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "the claim code could not be kept in its file");
        }
    }

    /// The device is claimed: the file with the code goes.
    pub fn forget(&self) {
        if let Some(file) = &self.how.file {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Dashes, blanks and case do not matter.
    pub fn fits(&self, typed: &str) -> Result<(), Misfit> {
        // Hashes are compared, and blake3's comparison takes the same time wherever they differ.
        let same = |code: &str| blake3::hash(plain(typed).as_bytes()) == blake3::hash(plain(code).as_bytes());
        let expired = self.remaining().is_some_and(|left| left.is_zero());
        match (same(&self.code), self.before.as_deref().is_some_and(same)) {
            (true, _) if !expired => Ok(()),
            (true, _) | (_, true) => Err(Misfit::Expired),
            _ => Err(Misfit::Wrong),
        }
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

/// 60 random bits, in three groups of four characters.
fn fresh() -> tool::Result<String> {
    let mut bytes = [0u8; 12];
    random(&mut bytes)?;
    let letter = |b: &u8| ALPHABET[usize::from(b % 32)] as char;
    let groups: Vec<String> = bytes.chunks(4).map(|g| g.iter().map(letter).collect()).collect();
    Ok(groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_long_readable_and_forgiving() {
        let claim = Claim::new(Claiming::default()).unwrap();
        assert_eq!(claim.code.len(), 14);
        assert_eq!(claim.fits(&claim.code), Ok(()));
        assert_eq!(claim.fits(&claim.code.to_lowercase().replace('-', " ")), Ok(()));
        for wrong in ["", "0000-0000-0000", &claim.code[..13]] {
            assert_eq!(claim.fits(wrong), Err(Misfit::Wrong), "{wrong}");
        }
        assert_ne!(claim.code, Claim::new(Claiming::default()).unwrap().code);
    }

    #[test]
    fn a_code_expires_and_its_successor_opens() {
        let mut claim = Claim::new(Claiming { lasts: Duration::ZERO, ..Claiming::default() }).unwrap();
        let old = claim.code.clone();
        assert_eq!(claim.fits(&old), Err(Misfit::Expired));
        claim.how.lasts = Duration::from_secs(60);
        claim.renew();
        assert_eq!(claim.fits(&old), Err(Misfit::Expired));
        assert_eq!(claim.fits(&claim.code), Ok(()));
    }

    #[test]
    fn a_chosen_code_must_be_long() {
        let chosen = |code: &str| Claim::new(Claiming { chosen: Some(code.into()), ..Claiming::default() });
        assert!(chosen("short-code").is_err() && chosen("AAAA-AAAA-AAAA").is_err());
        let claim = chosen("the cat sat on the mat").unwrap();
        assert_eq!((claim.fits("THECATSATONTHEMAT"), claim.remaining()), (Ok(()), None));
    }
}
