//! The files of a skill, from a ZIP file, a folder or a text, checked before anything is stored.

use crate::{
    manifest::{self, Manifest},
    zip,
};
use std::{collections::BTreeMap, fs, io::Read, path::Path};

/// The maximum number of files of a skill, and of their bytes.
pub const FILES: usize = 100;
pub const BYTES: usize = 2 << 20;
/// The maximum length of a path, in bytes, and its levels.
const PATH: usize = 160;
const LEVELS: usize = 6;
/// The file that makes a folder a skill.
pub const MANIFEST: &str = "SKILL.md";

/// A checked skill that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its `SKILL.md`.
    pub manifest: Manifest,
    /// Its files by path, `SKILL.md` among them.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The name of the folder it was packed in; empty without one.
    pub folder: String,
}

impl Package {
    /// From the bytes of a ZIP file or of a `SKILL.md`.
    ///
    /// # Errors
    /// A sentence with the reason why it is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(b"PK") {
            let files = zip::unpack(bytes, &zip::Limits { files: FILES, bytes: BYTES })?;
            return Self::from_files(files);
        }
        let text = str::from_utf8(bytes).map_err(|_| "this is neither a ZIP file nor a text: pack the skill as ZIP")?;
        Self::from_files(vec![(MANIFEST.to_owned(), text.as_bytes().to_vec())])
    }

    /// From a folder, a ZIP file or a `SKILL.md` on the disk.
    ///
    /// # Errors
    /// As [`Package::from_bytes`].
    pub fn from_path(path: &Path) -> Result<Self, String> {
        if path.is_dir() { Self::from_folder(path) } else { Self::from_bytes(&read_file(path, BYTES)?) }
    }

    /// From a folder on the disk.
    ///
    /// # Errors
    /// As [`Package::from_bytes`].
    pub fn from_folder(folder: &Path) -> Result<Self, String> {
        let mut files = vec![];
        read_folder(folder, "", &mut files)?;
        let mut package = Self::from_files(files)?;
        if package.folder.is_empty() {
            package.folder = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        }
        Ok(package)
    }

    /// From files that were checked before.
    pub(crate) fn of(files: Vec<(String, Vec<u8>)>) -> Result<Self, String> {
        Self::from_files(files)
    }

    fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self, String> {
        // Archives usually contain one folder.
        let mut folder = files.first().and_then(|(path, _)| path.split_once('/')).map_or("", |(top, _)| top).to_owned();
        let inside = |path: &str| path.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/'));
        if files.iter().any(|(path, _)| path == MANIFEST) || !files.iter().all(|(path, _)| inside(path)) {
            folder.clear();
        }
        let skip = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let mut checked = BTreeMap::new();
        for (path, bytes) in files {
            checked.insert(check_path(path.get(skip..).unwrap_or_default())?, bytes);
        }
        if checked.len() > FILES || checked.values().map(Vec::len).sum::<usize>() > BYTES {
            return Err(format!("a skill has at most {FILES} files with {} KB: leave some out", BYTES / 1024));
        }
        let text = checked.get(MANIFEST).ok_or("there is no SKILL.md: a skill is a folder with that file in it")?;
        let text = str::from_utf8(text).map_err(|_| "SKILL.md is not UTF-8: save it in that encoding")?;
        let manifest = Manifest::parse(text)?;
        Ok(Self { manifest, files: checked, folder })
    }

    /// The slug it is installed under, unless another is chosen: from its name, or its folder.
    pub fn slug(&self) -> String {
        let slug = manifest::slug_of(&self.manifest.name);
        if slug.is_empty() { manifest::slug_of(&self.folder) } else { slug }
    }
}

/// Checks a path within a skill.
///
/// # Errors
/// A sentence with the reason why it is refused.
pub fn check_path(path: &str) -> Result<String, String> {
    let shown = text_kit::truncate(&path.escape_debug().to_string(), 80);
    let parts: Vec<&str> = path.split('/').collect();
    let is_plain = |part: &&str| {
        let fits =
            part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '(' | ')' | '+' | ','));
        !part.is_empty() && fits && !part.starts_with(['.', ' ']) && !part.ends_with(['.', ' '])
    };
    if path.len() > PATH || parts.len() > LEVELS {
        return Err(format!("the path `{shown}` has more than {PATH} bytes or {LEVELS} levels: shorten it"));
    }
    if !parts.iter().all(|part| is_plain(part)) {
        return Err(format!(
            "the path `{shown}` is refused: names consist of letters, digits, and - _ . ( ) + , and do not begin with a dot"
        ));
    }
    Ok(path.to_owned())
}

/// Reads the files of a folder. Names that begin with a dot are left out; links are refused.
fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be read ({error})", shown(prefix));
    let mut entries = fs::read_dir(folder).and_then(|all| all.collect::<Result<Vec<_>, _>>()).map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().map_err(|_| "a file name is not UTF-8: rename it".to_owned())?;
        if name.starts_with('.') {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if path.split('/').count() >= LEVELS {
                return Err(format!("`{path}` has more than {LEVELS} levels: use fewer folders"));
            }
            read_folder(&entry.path(), &path, files)?;
        } else if !kind.is_file() {
            return Err(format!("`{path}` is a link or no regular file: put the file itself there"));
        } else if files.len() >= FILES {
            return Err(format!("a skill has at most {FILES} files: leave some out"));
        } else {
            let room = BYTES.saturating_sub(files.iter().map(|(_, bytes)| bytes.len()).sum());
            files.push((path, read_file(&entry.path(), room)?));
        }
    }
    Ok(())
}

fn shown(prefix: &str) -> &str {
    if prefix.is_empty() { "the folder" } else { prefix }
}

/// Reads a file, no link, of at most `room` bytes.
pub fn read_file(path: &Path, room: usize) -> Result<Vec<u8>, String> {
    use rustix::fs::{Mode, OFlags};
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("a file");
    // Does not follow a link, and does not wait for a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| format!("`{name}` cannot be read ({error})"))?;
    let mut bytes = vec![];
    let read = fs::File::from(file).take(room as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("`{name}` cannot be read ({error})"))?;
    if bytes.len() > room {
        return Err(format!("a skill has at most {} KB, and `{name}` is too large for it", BYTES / 1024));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip::tests::packed;

    const TEXT: &str = "---\nname: Bake Bread\ndescription: Bread at home.\n---\nMix.";

    #[test]
    fn a_skill_comes_as_zip_or_text() {
        let one = Package::from_bytes(TEXT.as_bytes()).unwrap();
        assert_eq!((one.slug().as_str(), one.files.len()), ("bake-bread", 1));
        for (path, other, folder) in
            [("SKILL.md", "ref/times.md", ""), ("bread/SKILL.md", "bread/ref/times.md", "bread")]
        {
            let zip = packed(&[(path, 0o100644, TEXT.as_bytes()), (other, 0o100644, b"1 h")]);
            let package = Package::from_bytes(&zip).unwrap();
            assert_eq!(package.files.keys().collect::<Vec<_>>(), ["SKILL.md", "ref/times.md"]);
            assert_eq!(package.folder, folder);
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in [
            "../SKILL.md",
            "a/../../x",
            "/etc/passwd",
            "a//b",
            "a\\b",
            ".hob.json",
            "a/.git/config",
            "a\0",
            "C:x",
            "x.",
        ] {
            let zip = packed(&[("SKILL.md", 0o100644, TEXT.as_bytes()), (path, 0o100644, b"x")]);
            let why = Package::from_bytes(&zip).unwrap_err();
            assert!(why.contains("refused") && !why.contains('\0'), "{path}: {why}");
        }
        for (zip, expected) in [
            (packed(&[("README.md", 0, b"x")]), "no SKILL.md"),
            (packed(&[]), "no SKILL.md"),
            (packed(&[("a/SKILL.md", 0, TEXT.as_bytes()), ("b/x", 0, b"")]), "no SKILL.md"),
            (packed(&[("SKILL.md", 0, b"\xff\xfe")]), "not UTF-8"),
        ] {
            let why = Package::from_bytes(&zip).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
        assert!(Package::from_bytes(&[0xff, 0xfe, 0]).unwrap_err().contains("neither a ZIP"));
    }
}
