//! What a caller is told of a file: kind, size, times, version.

use rustix::fs::{FileType, Stat};
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Hash, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    File,
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its name; empty for the place itself.
    pub name: String,
    /// Its path in its place.
    pub path: String,
    pub kind: EntryKind,
    /// Bytes; 0 for what is no file.
    pub size: u64,
    /// When it was last changed: milliseconds since 1970.
    pub modified: u64,
    /// Its media type by its name; none for what is no file.
    pub media_type: Option<String>,
    /// Whether its content came from outside, so that it may have instructions of a stranger in it.
    pub outside: bool,
    /// Changes with its content.
    pub version: String,
    /// The permissions of a Unix file, such as `755`.
    pub mode: String,
}

pub(crate) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(crate) fn kind_of(stat: &Stat) -> EntryKind {
    match file_type(stat) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

/// Nanoseconds since 1970 of the last change of the content.
pub(crate) fn modified_ns(stat: &Stat) -> i64 {
    nanoseconds(stat.st_mtime, stat.st_mtime_nsec)
}

/// Nanoseconds since 1970 of the last change of the content or of permissions and the like.
pub(crate) fn changed_ns(stat: &Stat) -> i64 {
    nanoseconds(stat.st_ctime, stat.st_ctime_nsec)
}

fn nanoseconds(seconds: i64, nanoseconds: u64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(nanoseconds).unwrap_or(0))
}

/// The version of what is there: of a folder it is which folder.
pub(crate) fn version_of(stat: &Stat) -> String {
    version_of_parts(stat.st_ino, kind_of(stat), modified_ns(stat), size_of(stat))
}

pub(crate) fn version_of_parts(ino: u64, kind: EntryKind, modified_ns: i64, size: u64) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&ino.to_le_bytes());
    if kind != EntryKind::Folder {
        hash.update(&modified_ns.to_le_bytes());
        hash.update(&size.to_le_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

pub(crate) fn size_of(stat: &Stat) -> u64 {
    if kind_of(stat) == EntryKind::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 }
}

impl Entry {
    pub(crate) fn new(name: &str, path: String, stat: &Stat, outside: bool) -> Self {
        let kind = kind_of(stat);
        Self {
            name: name.to_owned(),
            path,
            kind,
            size: size_of(stat),
            modified: u64::try_from(modified_ns(stat) / 1_000_000).unwrap_or(0),
            media_type: (kind == EntryKind::File).then(|| media_type_of(name).to_owned()),
            outside,
            version: version_of(stat),
            mode: format!("{:03o}", stat.st_mode & 0o777),
        }
    }
}

/// Media types by the ends of names.
const TYPES: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("avif", "image/avif"),
    ("bash", "text/x-shellscript"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cfg", "text/plain"),
    ("conf", "text/plain"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("diff", "text/x-diff"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ini", "text/plain"),
    ("ipynb", "application/x-ipynb+json"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("jsx", "text/jsx"),
    ("kt", "text/x-kotlin"),
    ("log", "text/plain"),
    ("lua", "text/x-lua"),
    ("m4a", "audio/mp4"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("patch", "text/x-diff"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("png", "image/png"),
    ("ps1", "text/plain"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rst", "text/x-rst"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("ts", "text/typescript"),
    ("tsx", "text/tsx"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Names of text files without an end.
const PLAIN: &[&str] = &[
    "makefile",
    "dockerfile",
    "readme",
    "license",
    "licence",
    "gemfile",
    "procfile",
    ".gitignore",
    ".editorconfig",
    ".env",
];

/// The media type of a file by its name.
pub fn media_type_of(name: &str) -> &'static str {
    let name = name.to_lowercase();
    let by_end = name.rsplit_once('.').and_then(|(_, end)| TYPES.iter().find(|(known, _)| *known == end));
    match by_end {
        Some((_, media_type)) => media_type,
        None if PLAIN.contains(&name.as_str()) => "text/plain",
        None => "application/octet-stream",
    }
}
