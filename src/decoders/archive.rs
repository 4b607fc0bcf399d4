//! ZIP files in memory: every size is checked before anything is unpacked, and all of them together are bounded.

use crate::fault::{Fault, Result, broken};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};
use std::{cell::Cell, collections::HashMap};

const END: u32 = 0x0605_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;
/// The record at the end, and the longest comment after it.
const END_LENGTH: usize = 22;
const COMMENT: usize = 65_535;
/// The most files, and the most bytes of one and of all that are unpacked.
const FILES: u16 = 20_000;
const FILE: usize = 48 << 20;
const ALL: usize = 96 << 20;

/// A ZIP file.
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    entries: HashMap<&'a str, Entry>,
    left: Cell<usize>,
}

#[derive(Clone, Copy)]
struct Entry {
    encrypted: bool,
    method: u16,
    packed: usize,
    size: usize,
    local: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn too_large() -> Fault {
    Fault::TooLarge(format!(
        "it unpacks to more than {} MB, so it was not unpacked: the document is too large, or made to do harm",
        FILE >> 20
    ))
}

impl<'a> Archive<'a> {
    /// Reads the list of files.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        Self::list(bytes).unwrap_or_else(|| broken("the ZIP archive in it is damaged: save the document again"))
    }

    fn list(bytes: &'a [u8]) -> Option<Result<Self>> {
        let start = bytes.len().checked_sub(END_LENGTH)?;
        let end = (start.saturating_sub(COMMENT)..=start).rev().find(|at| u32_at(bytes, *at) == Some(END))?;
        let (count, mut at) = (u16_at(bytes, end + 10)?, u32_at(bytes, end + 16)? as usize);
        if count > FILES {
            return Some(Err(Fault::TooLarge(format!("it holds more than {FILES} files, so it was not unpacked"))));
        }
        let mut entries = HashMap::with_capacity(count.into());
        for _ in 0..count {
            if u32_at(bytes, at)? != CENTRAL {
                return None;
            }
            let length = |offset| u16_at(bytes, at + offset).map(usize::from);
            let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
            let entry = Entry {
                encrypted: u16_at(bytes, at + 8)? & 1 != 0,
                method: u16_at(bytes, at + 10)?,
                packed: u32_at(bytes, at + 20)? as usize,
                size: u32_at(bytes, at + 24)? as usize,
                local: u32_at(bytes, at + 42)? as usize,
            };
            // A name that is not UTF-8 is none of those that are looked for.
            if let Ok(name) = str::from_utf8(bytes.get(at + 46..at + 46 + name)?) {
                entries.insert(name, entry);
            }
            at += 46 + name + extra + comment;
        }
        Some(Ok(Self { bytes, entries, left: Cell::new(ALL) }))
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// A file that may be missing.
    pub fn find(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.entries.get(name).map(|entry| self.unpack(*entry)).transpose()
    }

    /// A file that must be there.
    pub fn file(&self, name: &str) -> Result<Vec<u8>> {
        let missing =
            || Fault::Broken(format!("`{}` is missing in it: save the document again", text_kit::truncate(name, 80)));
        self.find(name)?.ok_or_else(missing)
    }

    fn unpack(&self, entry: Entry) -> Result<Vec<u8>> {
        if entry.encrypted {
            return Err(Fault::Unsupported(
                "it is encrypted in a way that is not decoded: save it without a password".into(),
            ));
        }
        // The stated size may be a lie: it bounds unpacking all the same.
        let room = self.left.get().min(FILE);
        if entry.size > room {
            return Err(too_large());
        }
        let damaged = || Fault::Broken("a file in it is damaged: save the document again".into());
        let data = self.data(entry).ok_or_else(damaged)?;
        let bytes = match entry.method {
            0 if data.len() <= room => data.to_vec(),
            0 => return Err(too_large()),
            8 => decompress_to_vec_with_limit(data, room).map_err(|error| match error.status {
                TINFLStatus::HasMoreOutput => too_large(),
                _ => damaged(),
            })?,
            _ => return Err(Fault::Unsupported("it is packed in an unusual way: save the document again".into())),
        };
        self.left.set(self.left.get() - bytes.len().min(self.left.get()));
        Ok(bytes)
    }

    fn data(&self, entry: Entry) -> Option<&'a [u8]> {
        let at = entry.local;
        if u32_at(self.bytes, at)? != LOCAL {
            return None;
        }
        let from = at + 30 + usize::from(u16_at(self.bytes, at + 26)?) + usize::from(u16_at(self.bytes, at + 28)?);
        self.bytes.get(from..from.checked_add(entry.packed)?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A ZIP file of these files, packed.
    pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut out, mut central) = (vec![], vec![]);
        for (name, bytes) in files {
            let packed = miniz_oxide::deflate::compress_to_vec(bytes, 6);
            let at = out.len() as u32;
            let sizes = [(packed.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
            let length = (name.len() as u16).to_le_bytes();
            out.extend(
                [&LOCAL.to_le_bytes()[..], &[20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0], &sizes, &length, &[0, 0]]
                    .concat(),
            );
            out.extend([name.as_bytes(), &packed].concat());
            central.extend(
                [&CENTRAL.to_le_bytes()[..], &[20, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0], &sizes, &length]
                    .concat(),
            );
            central.extend([&[0; 12][..], &at.to_le_bytes(), name.as_bytes()].concat());
        }
        let (count, size, at) = (files.len() as u16, central.len() as u32, out.len() as u32);
        out.extend(central);
        out.extend(
            [
                &END.to_le_bytes()[..],
                &[0; 4],
                &count.to_le_bytes(),
                &count.to_le_bytes(),
                &size.to_le_bytes(),
                &at.to_le_bytes(),
                &[0; 2],
            ]
            .concat(),
        );
        out
    }

    #[test]
    fn files_are_read_and_bombs_refused() {
        let bytes = zip(&[("a.txt", b"hello"), ("bomb", &vec![0; FILE + 1])]);
        let archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.file("a.txt").unwrap(), b"hello");
        assert!(matches!(archive.file("bomb"), Err(Fault::TooLarge(_))));
        assert!(matches!(archive.file("none"), Err(Fault::Broken(_))));
        // A size that lies is found out while it is unpacked.
        let mut lying = zip(&[("bomb", &vec![0; FILE + 1])]);
        let at = lying.windows(4).rposition(|four| four == CENTRAL.to_le_bytes()).unwrap();
        lying[at + 24..at + 28].copy_from_slice(&5_u32.to_le_bytes());
        assert!(matches!(Archive::open(&lying).unwrap().file("bomb"), Err(Fault::TooLarge(_))));
        for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(matches!(Archive::open(&bytes[..cut]), Err(Fault::Broken(_))), "{cut}");
        }
    }

    #[test]
    fn many_files_share_one_bound() {
        let big = vec![7; FILE - 1];
        let bytes = zip(&[("a", &big), ("b", &big), ("c", &big)]);
        let archive = Archive::open(&bytes).unwrap();
        assert!(archive.file("a").is_ok() && archive.file("b").is_ok());
        assert!(matches!(archive.file("c"), Err(Fault::TooLarge(_))));
    }
}
