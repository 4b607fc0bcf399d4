//! The claim code with which the first person claims the device: shown on the console and in a file, valid once and
//! for a limited time.

use crate::{Error, Result, random_bytes};
use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Letters and digits without lookalikes; 32 of them, so five bits each.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The fewest letters and digits of a preset code: 12 of ours are 60 bits.
const SHORTEST: usize = 12;

/// How the claim code is made and where it is shown.
#[derive(Debug, Clone)]
pub struct ClaimConfig {
    /// How long a code is valid; then a new one replaces it.
    pub lifetime: Duration,
    /// A preset code, which does not expire.
    pub preset: Option<String>,
    /// The file that holds the code until the device is claimed.
    pub file: Option<PathBuf>,
}

impl Default for ClaimConfig {
    fn default() -> Self {
        Self { lifetime: Duration::from_secs(3600), preset: None, file: None }
    }
}

/// The current code and the previous one.
#[derive(Debug, Clone)]
pub(crate) struct ClaimCode {
    code: String,
    expires: Option<Instant>,
    previous: Option<String>,
    /// The base URLs of the links, such as `http://127.0.0.1:4620`.
    base_urls: Vec<String>,
    config: ClaimConfig,
}

impl ClaimCode {
    /// The preset code, or a random one.
    ///
    /// # Errors
    /// `BadArgs` when the preset code is too short; `Unavailable` without randomness.
    pub fn new(config: ClaimConfig) -> tool::Result<Self> {
        if let Some(code) = config.preset.clone() {
            let code = normalize(&code);
            let different: std::collections::BTreeSet<char> = code.chars().collect();
            if code.len() < SHORTEST || different.len() < SHORTEST / 2 {
                return Err(tool::Error::bad_args(format!(
                    "the claim code that was chosen is too easy: use at least {SHORTEST} letters and digits, and not always the same"
                )));
            }
            return Ok(Self { code, expires: None, previous: None, base_urls: vec![], config });
        }
        let expires = Some(Instant::now() + config.lifetime);
        Ok(Self { code: random_code()?, expires, previous: None, base_urls: vec![], config })
    }

    /// How long the code is still valid; `None` until the device is claimed.
    pub fn remaining(&self) -> Option<Duration> {
        self.expires.map(|expires| expires.saturating_duration_since(Instant::now()))
    }

    /// Replaces an expired code and shows the new one.
    pub fn renew(&mut self) {
        if self.remaining().is_none_or(|left| !left.is_zero()) {
            return;
        }
        match random_code() {
            Ok(code) => {
                self.previous = Some(std::mem::replace(&mut self.code, code));
                self.expires = Some(Instant::now() + self.config.lifetime);
                self.show(self.base_urls.clone());
            }
            Err(error) => tracing::error!(%error, "no new claim code could be made"),
        }
    }

    /// Writes the code as links to standard error and to the file.
    pub fn show(&mut self, base_urls: Vec<String>) {
        self.base_urls = base_urls;
        let links: Vec<String> = self.base_urls.iter().map(|url| format!("{url}/#claim={}", self.code)).collect();
        let shown = links.join("\n  or, from another device:            ");
        // A write error on the console must not stop the daemon.
        let _ = writeln!(std::io::stderr(), "\n  Open this link to claim this Hob:  {shown}\n");
        let Some(file) = &self.config.file else { return };
        let temporary = file.with_extension("new");
        let _ = std::fs::remove_file(&temporary);
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut open| open.write_all(format!("{}\n{}\n", self.code, links.join("\n")).as_bytes()))
            .and_then(|()| std::fs::rename(&temporary, file));
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "the claim code could not be written to its file");
        }
    }

    /// Deletes the file: the device is claimed.
    pub fn delete_file(&self) {
        if let Some(file) = &self.config.file {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Checks a typed code; dashes, blanks and case do not matter.
    pub fn check(&self, typed: &str) -> Result<()> {
        // Comparing blake3 hashes takes constant time.
        let same = |code: &str| blake3::hash(normalize(typed).as_bytes()) == blake3::hash(normalize(code).as_bytes());
        let expired = self.remaining().is_some_and(|left| left.is_zero());
        match (same(&self.code), self.previous.as_deref().is_some_and(same)) {
            (true, _) if !expired => Ok(()),
            (true, _) | (_, true) => Err(Error::CodeExpired),
            _ => Err(Error::WrongCode),
        }
    }
}

/// The letters and digits of a typed code.
pub(crate) fn normalize(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

/// 60 random bits, in three groups of four characters.
fn random_code() -> tool::Result<String> {
    random_groups::<12>()
}

/// `N` random letters and digits of five bits each, in groups of four.
pub(crate) fn random_groups<const N: usize>() -> tool::Result<String> {
    let mut bytes = [0u8; N];
    random_bytes(&mut bytes)?;
    let letter = |b: &u8| ALPHABET[usize::from(b % 32)] as char;
    let groups: Vec<String> = bytes.chunks(4).map(|g| g.iter().map(letter).collect()).collect();
    Ok(groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_long_readable_and_forgiving() {
        let claim = ClaimCode::new(ClaimConfig::default()).unwrap();
        assert_eq!(claim.code.len(), 14);
        assert_eq!(claim.check(&claim.code), Ok(()));
        assert_eq!(claim.check(&claim.code.to_lowercase().replace('-', " ")), Ok(()));
        for wrong in ["", "0000-0000-0000", &claim.code[..13]] {
            assert_eq!(claim.check(wrong), Err(Error::WrongCode), "{wrong}");
        }
        assert_ne!(claim.code, ClaimCode::new(ClaimConfig::default()).unwrap().code);
    }

    #[test]
    fn a_code_expires_and_the_next_one_is_valid() {
        let mut claim = ClaimCode::new(ClaimConfig { lifetime: Duration::ZERO, ..ClaimConfig::default() }).unwrap();
        let old = claim.code.clone();
        assert_eq!(claim.check(&old), Err(Error::CodeExpired));
        claim.config.lifetime = Duration::from_secs(60);
        claim.renew();
        assert_eq!(claim.check(&old), Err(Error::CodeExpired));
        assert_eq!(claim.check(&claim.code), Ok(()));
    }

    #[test]
    fn a_preset_code_must_be_long() {
        let preset = |code: &str| ClaimCode::new(ClaimConfig { preset: Some(code.into()), ..ClaimConfig::default() });
        assert!(preset("short-code").is_err() && preset("AAAA-AAAA-AAAA").is_err());
        let claim = preset("the cat sat on the mat").unwrap();
        assert_eq!((claim.check("THECATSATONTHEMAT"), claim.remaining()), (Ok(()), None));
    }
}
