//! Identifies the contents of large files from a part of them: a model of 500 MB is not read at each start.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

/// Files up to this size are read completely.
const WHOLE: u64 = 4 << 20;
/// How much of both ends of a larger one is read, and how many blocks of this size between them.
const END: u64 = 256 << 10;
const BLOCK: u64 = 4 << 10;
const BLOCKS: u64 = 128;

/// Adds a file to the hash: its length, and all of it or evenly spread parts. Another training or another quantization changes
/// nearly every number of a model, so it changes these.
///
/// # Errors
/// Those of reading.
pub fn add_file(hasher: &mut blake3::Hasher, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    hasher.update(&length.to_le_bytes());
    if length <= WHOLE {
        let mut bytes = vec![];
        file.by_ref().take(WHOLE).read_to_end(&mut bytes)?;
        hasher.update(&bytes);
        return Ok(());
    }
    let mut part = |start: u64, size: u64| -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        hasher.update(&bytes);
        Ok(())
    };
    part(0, END)?;
    part(length - END, END)?;
    let step = (length - 2 * END - BLOCK) / BLOCKS;
    (0..BLOCKS).try_for_each(|n| part(END + n * step, BLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_contents_have_another_fingerprint() {
        let folder = std::env::temp_dir().join(format!("hob-fingerprint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut hasher = blake3::Hasher::new();
            add_file(&mut hasher, &path).unwrap();
            *hasher.finalize().as_bytes()
        };
        let mut large = vec![7; 5 << 20];
        let (small, before) = (of(b"abc"), of(&large));
        assert_eq!(of(&large), before);
        assert_ne!(of(b"abd"), small);
        *large.last_mut().unwrap() = 8;
        assert_ne!(of(&large), before, "its end counts");
        large.pop();
        assert_ne!(of(&large), before, "its length counts");
        // Every number, as another training changes them.
        large.push(7);
        large[300 << 10..].iter_mut().for_each(|byte| *byte = 9);
        large[(5 << 20) - (256 << 10)..].iter_mut().for_each(|byte| *byte = 7);
        assert_ne!(of(&large), before, "the middle counts");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
