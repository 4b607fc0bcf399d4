//! Reads ZIP files that come from anywhere: every size is checked before anything is unpacked, and nothing is written here.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

const END: u32 = 0x0605_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;
/// The record at the end, and the longest comment after it.
const END_LENGTH: usize = 22;
const COMMENT: usize = 65_535;

/// The limits of an archive.
pub struct Limits {
    /// How many files.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: usize,
}

/// Unpacks all files of an archive; folders and the files that macOS adds are left out.
///
/// # Errors
/// A sentence with the reason why it is refused.
pub fn unpack(archive: &[u8], limits: &Limits) -> Result<Vec<(String, Vec<u8>)>, String> {
    let broken = || "the ZIP file is damaged: pack it again".to_owned();
    let end = find_end(archive).ok_or_else(broken)?;
    let (count, mut at) =
        (u16_at(archive, end + 10).ok_or_else(broken)?, u32_at(archive, end + 16).ok_or_else(broken)?);
    if count == u16::MAX || at == u32::MAX {
        return Err("the ZIP file has the large format (ZIP64): pack it without".into());
    }
    // Folders count as well.
    if usize::from(count) > limits.files * 3 {
        return Err(too_many(limits));
    }
    let (mut files, mut total) = (Vec::<(String, Vec<u8>)>::new(), 0);
    for _ in 0..count {
        let entry = Entry::read(archive, at as usize).ok_or_else(broken)?;
        at = u32::try_from(entry.next).map_err(|_| broken())?;
        let name = str::from_utf8(entry.name).map_err(|_| "the ZIP file has a name that is not UTF-8: rename it")?;
        if name.ends_with('/') || is_litter(name) {
            continue;
        }
        let shown = text_kit::truncate(&name.escape_debug().to_string(), 80);
        if entry.flags & 1 != 0 {
            return Err(format!("`{shown}` in the ZIP file is encrypted: pack it without a password"));
        }
        if entry.kind() == SYMLINK {
            return Err(format!("`{shown}` in the ZIP file is a symbolic link: pack the file itself"));
        }
        if !matches!(entry.kind(), 0 | REGULAR) {
            return Err(format!("`{shown}` in the ZIP file is no regular file: leave it out"));
        }
        if files.len() >= limits.files {
            return Err(too_many(limits));
        }
        // The stated size may be a lie: the rest of the limit bounds unpacking.
        let room = limits.bytes - total;
        if entry.size as usize > room {
            return Err(too_large(limits));
        }
        let data = entry.data(archive).ok_or_else(broken)?;
        let bytes = match entry.method {
            0 if data.len() <= room => data.to_vec(),
            8 => decompress_to_vec_with_limit(data, room).map_err(|error| match error.status {
                miniz_oxide::inflate::TINFLStatus::HasMoreOutput => too_large(limits),
                _ => broken(),
            })?,
            0 => return Err(too_large(limits)),
            _ => return Err(format!("`{shown}` in the ZIP file is packed by an unusual method: pack it with deflate")),
        };
        if bytes.len() != entry.size as usize || crc32(&bytes) != entry.crc {
            return Err(broken());
        }
        if files.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(format!("the ZIP file contains `{shown}` twice: pack it again"));
        }
        total += bytes.len();
        files.push((name.to_owned(), bytes));
    }
    Ok(files)
}

fn too_many(limits: &Limits) -> String {
    format!("the ZIP file contains more than {} files: leave some out", limits.files)
}

fn too_large(limits: &Limits) -> String {
    format!("the files are larger than {} KB together: leave some out", limits.bytes / 1024)
}

/// Files that macOS adds to archives.
fn is_litter(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name.rsplit('/').next() == Some(".DS_Store")
}

const SYMLINK: u32 = 0o12;
const REGULAR: u32 = 0o10;

/// An entry of the central directory.
struct Entry<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
    attributes: u32,
    local: u32,
    name: &'a [u8],
    /// The offset of the next entry.
    next: usize,
}

impl<'a> Entry<'a> {
    fn read(archive: &'a [u8], at: usize) -> Option<Self> {
        if u32_at(archive, at)? != CENTRAL {
            return None;
        }
        let length = |offset| u16_at(archive, at + offset).map(usize::from);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        Some(Self {
            flags: u16_at(archive, at + 8)?,
            method: u16_at(archive, at + 10)?,
            crc: u32_at(archive, at + 16)?,
            packed: u32_at(archive, at + 20)?,
            size: u32_at(archive, at + 24)?,
            attributes: u32_at(archive, at + 38)?,
            local: u32_at(archive, at + 42)?,
            name: archive.get(at + 46..at + 46 + name)?,
            next: at + 46 + name + extra + comment,
        })
    }

    /// The kind of file in the mode of Unix; 0 where it was packed on another system.
    fn kind(&self) -> u32 {
        self.attributes >> 28
    }

    fn data(&self, archive: &'a [u8]) -> Option<&'a [u8]> {
        let at = self.local as usize;
        if u32_at(archive, at)? != LOCAL {
            return None;
        }
        let start = at + 30 + usize::from(u16_at(archive, at + 26)?) + usize::from(u16_at(archive, at + 28)?);
        archive.get(start..start.checked_add(self.packed as usize)?)
    }
}

fn find_end(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END_LENGTH)?;
    (last.saturating_sub(COMMENT)..=last).rev().find(|at| u32_at(archive, *at) == Some(END))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    let table: [u32; 256] = std::array::from_fn(|n| (0..8).fold(n as u32, step));
    !bytes.iter().fold(u32::MAX, |crc, byte| (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { files: 3, bytes: 100_000 };

    /// An archive of these files: name, mode of Unix, content.
    pub(crate) fn packed(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let (mut out, mut central) = (vec![], vec![]);
        for (name, mode, content) in files {
            let (data, at) = (compress_to_vec(content, 6), out.len() as u32);
            let shared = |out: &mut Vec<u8>| {
                out.extend([20, 0, 0, 0, 8, 0, 0, 0, 0, 0]);
                out.extend(crc32(content).to_le_bytes());
                out.extend((data.len() as u32).to_le_bytes());
                out.extend((content.len() as u32).to_le_bytes());
                out.extend((name.len() as u16).to_le_bytes());
                out.extend([0, 0]);
            };
            out.extend(LOCAL.to_le_bytes());
            shared(&mut out);
            out.extend(name.bytes());
            out.extend(&data);
            central.extend(CENTRAL.to_le_bytes());
            central.extend([20, 3]);
            shared(&mut central);
            central.extend([0; 6]);
            central.extend((mode << 16).to_le_bytes());
            central.extend(at.to_le_bytes());
            central.extend(name.bytes());
        }
        let (start, length, count) = (out.len() as u32, central.len() as u32, files.len() as u16);
        out.extend(central);
        out.extend(END.to_le_bytes());
        out.extend([0; 4]);
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend([0, 0]);
        out
    }

    #[test]
    fn files_are_unpacked() {
        let archive = packed(&[("a/", 0o40755, b""), ("a/SKILL.md", 0o100644, b"hi"), ("__MACOSX/x", 0, b"x")]);
        assert_eq!(unpack(&archive, &LIMITS), Ok(vec![("a/SKILL.md".to_owned(), b"hi".to_vec())]));
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(unpack(&packed(&[]), &LIMITS), Ok(vec![]));
    }

    #[test]
    fn what_could_do_harm_is_refused() {
        let bomb = vec![0; 200_000];
        let rows: [(&str, Vec<u8>); 5] = [
            ("symbolic link", packed(&[("a", 0o120777, b"/etc/passwd")])),
            ("no regular file", packed(&[("a", 0o020666, b"")])),
            ("larger than", packed(&[("a", 0o100644, &bomb)])),
            ("more than 3 files", packed(&[("a", 0, b""), ("b", 0, b""), ("c", 0, b""), ("d", 0, b"")])),
            ("twice", packed(&[("a", 0, b"1"), ("A", 0, b"2")])),
        ];
        for (expected, archive) in rows {
            let why = unpack(&archive, &LIMITS).unwrap_err();
            assert!(why.contains(expected), "{expected}: {why}");
        }
        // A bomb that states a small size.
        let mut liar = packed(&[("a", 0o100644, &bomb)]);
        let size = liar.len() - END_LENGTH - 46 - 1 + 24;
        liar[size..size + 4].copy_from_slice(&10_u32.to_le_bytes());
        let why = unpack(&liar, &LIMITS).unwrap_err();
        assert!(why.contains("larger than"), "{why}");
        let mut encrypted = packed(&[("a", 0o100644, b"x")]);
        let flags = encrypted.len() - END_LENGTH - 46 - 1 + 8;
        encrypted[flags] |= 1;
        assert!(unpack(&encrypted, &LIMITS).unwrap_err().contains("encrypted"));
        for archive in [&b""[..], b"PK", b"no zip file at all, only a longer text"] {
            assert!(unpack(archive, &LIMITS).unwrap_err().contains("damaged"));
        }
    }

    proptest! {
        #[test]
        fn a_damaged_archive_is_refused_or_read_as_it_was(at in 0_usize..400, byte: u8, cut in 0_usize..400) {
            let archive = packed(&[("a/SKILL.md", 0o100644, b"hello hello hello"), ("b", 0o100644, b"x")]);
            let whole = unpack(&archive, &LIMITS).unwrap();
            let mut damaged = archive.clone();
            let at = at % damaged.len();
            damaged[at] = byte;
            if let Ok(files) = unpack(&damaged, &LIMITS) {
                prop_assert!(files.iter().all(|(_, bytes)| whole.iter().any(|(_, known)| known == bytes)));
            }
            let _ = unpack(&archive[..cut.min(archive.len())], &LIMITS);
        }
    }
}
