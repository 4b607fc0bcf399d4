//! Paths of virtual files: how they are checked, and where each one is routed.

use std::fmt;
use tool::{Error, Result};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The maximum length of a path, in bytes.
pub const LONGEST: usize = 200;
/// The maximum number of folders in a path, the file included.
const DEEPEST: usize = 8;
/// The name of the folder of memory documents.
pub const MEMORY_FOLDER: &str = "memory";
/// The folder of memory documents.
pub(crate) const FOLDER: &str = "memory/";

/// One of the files that define an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextFile {
    /// `SOUL.md`
    Soul,
    /// `IDENTITY.md`
    Identity,
    /// `AGENTS.md`
    Agents,
    /// `TOOLS.md`
    Tools,
    /// `USER.md`
    User,
    /// `BOOTSTRAP.md`
    Bootstrap,
    /// `MEMORY.md`
    Memory,
}

impl ContextFile {
    /// All of them.
    pub const ALL: [ContextFile; 7] = [
        ContextFile::Soul,
        ContextFile::Identity,
        ContextFile::Agents,
        ContextFile::Tools,
        ContextFile::User,
        ContextFile::Bootstrap,
        ContextFile::Memory,
    ];

    /// Its path.
    pub fn path(self) -> &'static str {
        match self {
            ContextFile::Soul => "SOUL.md",
            ContextFile::Identity => "IDENTITY.md",
            ContextFile::Agents => "AGENTS.md",
            ContextFile::Tools => "TOOLS.md",
            ContextFile::User => "USER.md",
            ContextFile::Bootstrap => "BOOTSTRAP.md",
            ContextFile::Memory => "MEMORY.md",
        }
    }
}

/// The owners of an agent's context files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentType {
    /// Everybody shares them; only `USER.md` and what is remembered are personal.
    #[default]
    Predefined,
    /// Each person has their own, and the agent's where they have none.
    Open,
}

impl AgentType {
    /// Whether each person has their own version of a context file.
    pub fn is_personal(self, file: ContextFile) -> bool {
        self == AgentType::Open || matches!(file, ContextFile::User | ContextFile::Memory)
    }
}

/// The versions of a file that are tried in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// The caller's own, then the agent's. A write makes the caller's own.
    OwnThenAgents,
    /// The agent's alone.
    Agents,
}

/// The owner of a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The caller's own.
    Own,
    /// The agent's, for everybody.
    Agents,
}

/// The place of a file, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A context file.
    Context(ContextFile, Versions),
    /// A memory document.
    Memory(Versions),
    /// Not here: a file of the workspace.
    Workspace,
}

/// Decides where the file of a path is. The only place that knows.
pub fn route(path: &VirtualPath, of: AgentType) -> Route {
    let personal = |personal| if personal { Versions::OwnThenAgents } else { Versions::Agents };
    match path.as_str() {
        // One document under both names: two that differ only in case would be mixed up.
        "memory.md" => Route::Context(ContextFile::Memory, personal(of.is_personal(ContextFile::Memory))),
        text if text.starts_with(FOLDER) => Route::Memory(Versions::OwnThenAgents),
        text => match ContextFile::ALL.into_iter().find(|file| file.path() == text) {
            Some(file) => Route::Context(file, personal(of.is_personal(file))),
            None => Route::Workspace,
        },
    }
}

/// A relative path that was checked: no way out of its folder, and nothing that only looks like another path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VirtualPath(String);

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl VirtualPath {
    /// Checks a path. Leading `./` are dropped.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let mut path = text.trim();
        let shown = text_kit::truncate(&path.escape_debug().to_string(), 80);
        let wrong = |why: &str| Err(Error::bad_args(format!("the path `{shown}` {why}")));
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        if path.is_empty() {
            return wrong("is empty: pass one like `memory/trips.md`");
        }
        if path.len() > LONGEST {
            return wrong(&format!("is longer than {LONGEST} bytes: use a shorter one"));
        }
        if path.contains('\\') {
            return wrong("contains a backslash: separate folders with `/`");
        }
        if path.starts_with('/') || path.starts_with('~') || is_drive(path) {
            return wrong("is absolute: name the file from the workspace on, such as `memory/trips.md`");
        }
        if let Some(c) = path.chars().find(|c| c.is_control() || is_invisible(*c)) {
            return wrong(&format!("contains an invisible character (U+{:04X}): leave it out", u32::from(c)));
        }
        if path.ends_with('/') {
            return wrong("names a folder: name a file in it");
        }
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > DEEPEST {
            return wrong(&format!("has more than {DEEPEST} levels: use fewer folders"));
        }
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return wrong("leads out of its folder or back into it: leave out `.` and `..`");
        }
        if parts.iter().any(|part| part.is_empty()) {
            return wrong("has an empty folder name: write a single `/` between names");
        }
        if parts.iter().any(|part| part.trim() != *part || part.ends_with('.')) {
            return wrong("has a name that begins or ends with a space, or ends with a dot: leave that out");
        }
        if !is_nfc(path) {
            return wrong("has letters that are composed of several characters: write it in the usual form (NFC)");
        }
        if let Some(meant) = resembles(path) {
            return wrong(&format!("only looks like `{meant}`: write that exactly"));
        }
        Ok(Self(path.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path in lower case, under which at most one document is stored.
    pub(crate) fn folded(&self) -> String {
        fold(&self.0)
    }
}

/// Whether a path in the workspace is that of a document or context file instead, or looks like one.
///
/// # Errors
/// `BadArgs` when it only looks like one, or cannot be a document's.
pub fn is_document(path: &str) -> Result<bool> {
    let looks: String = fold(path.strip_prefix("./").unwrap_or(path)).chars().map(latin).collect();
    let is_near = looks.starts_with(FOLDER)
        || looks == "memory.md"
        || ContextFile::ALL.iter().any(|file| file.path().to_lowercase() == looks);
    // A file of any other name may have what no document may: more levels, or letters in another form.
    Ok(is_near && route(&VirtualPath::parse(path)?, AgentType::default()) != Route::Workspace)
}

/// A path in lower case.
pub(crate) fn fold(path: &str) -> String {
    path.nfkc().collect::<String>().to_lowercase()
}

/// `C:` or a scheme such as `file:`.
fn is_drive(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| first.contains(':'))
}

/// Characters without a shape, and those that turn the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202f
        | 0x205f..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe0000..=0xe0fff)
}

/// The routed path that a path looks like without being it.
fn resembles(path: &str) -> Option<&'static str> {
    let looks: String = fold(path).chars().map(latin).collect();
    let meant = match () {
        () if looks == "memory.md" => match path {
            "MEMORY.md" | "memory.md" => return None,
            _ => "MEMORY.md",
        },
        () if looks.starts_with(FOLDER) => FOLDER,
        () => ContextFile::ALL.into_iter().map(ContextFile::path).find(|file| file.to_lowercase() == looks)?,
    };
    (path != meant && !(meant == FOLDER && path.starts_with(FOLDER))).then_some(meant)
}

/// The Latin letter that a Cyrillic, Greek or Armenian one looks like, for the letters of the routed names.
fn latin(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'ь' | 'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | 'ҽ' => 'e',
        'ԍ' => 'g',
        'і' | 'ι' | 'ı' => 'i',
        'ӏ' => 'l',
        'м' | 'μ' | 'ϻ' => 'm',
        'п' | 'ո' | 'ν' => 'n',
        'о' | 'ο' | 'օ' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'г' | 'ʀ' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'у' | 'ү' | 'γ' => 'y',
        '․' | '。' | '．' => '.',
        '∕' | '⁄' | '／' => '/',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentType::{Open, Predefined};
    use Versions::{Agents, OwnThenAgents};

    #[test]
    fn paths_are_routed() {
        use ContextFile as File;
        let rows = [
            ("SOUL.md", Open, Route::Context(File::Soul, OwnThenAgents)),
            ("SOUL.md", Predefined, Route::Context(File::Soul, Agents)),
            ("IDENTITY.md", Open, Route::Context(File::Identity, OwnThenAgents)),
            ("IDENTITY.md", Predefined, Route::Context(File::Identity, Agents)),
            ("AGENTS.md", Open, Route::Context(File::Agents, OwnThenAgents)),
            ("AGENTS.md", Predefined, Route::Context(File::Agents, Agents)),
            ("TOOLS.md", Open, Route::Context(File::Tools, OwnThenAgents)),
            ("TOOLS.md", Predefined, Route::Context(File::Tools, Agents)),
            ("USER.md", Open, Route::Context(File::User, OwnThenAgents)),
            ("USER.md", Predefined, Route::Context(File::User, OwnThenAgents)),
            ("BOOTSTRAP.md", Open, Route::Context(File::Bootstrap, OwnThenAgents)),
            ("BOOTSTRAP.md", Predefined, Route::Context(File::Bootstrap, Agents)),
            ("MEMORY.md", Open, Route::Context(File::Memory, OwnThenAgents)),
            ("MEMORY.md", Predefined, Route::Context(File::Memory, OwnThenAgents)),
            ("memory.md", Predefined, Route::Context(File::Memory, OwnThenAgents)),
            ("./MEMORY.md", Open, Route::Context(File::Memory, OwnThenAgents)),
            ("memory/trips.md", Predefined, Route::Memory(OwnThenAgents)),
            ("memory/2026/März.txt", Open, Route::Memory(OwnThenAgents)),
            ("TEAM.md", Open, Route::Workspace),
            ("notes/SOUL.md", Open, Route::Workspace),
            ("memories/a.md", Open, Route::Workspace),
            ("Übersicht.md", Open, Route::Workspace),
            ("report.csv", Predefined, Route::Workspace),
        ];
        for (path, of, expected) in rows {
            assert_eq!(route(&VirtualPath::parse(path).unwrap(), of), expected, "{path} {of:?}");
        }
    }

    #[test]
    fn documents_are_told_from_files() {
        let deep = format!("src{}/a.rs", "/a".repeat(DEEPEST));
        for (path, expected) in [
            ("SOUL.md", Some(true)),
            ("memory/a.md", Some(true)),
            ("memory.md", Some(true)),
            ("notes/SOUL.md", Some(false)),
            ("memory", Some(false)),
            ("u\u{308}ber .md", Some(false)),
            (&deep, Some(false)),
            ("a\\b", Some(false)),
            ("soul.md", None),
            ("Memory/a.md", None),
            ("memory/a\u{200b}.md", None),
        ] {
            assert_eq!(is_document(path).ok(), expected, "{path:?}");
        }
    }

    #[test]
    fn unsafe_paths_are_refused_with_the_reason() {
        let long = format!("memory/{}.md", "x".repeat(LONGEST));
        let deep = format!("memory{}/a.md", "/a".repeat(DEEPEST));
        let rows = [
            ("", "empty"),
            ("  ", "empty"),
            ("./", "empty"),
            ("../etc/passwd", "leads out"),
            ("memory/../SOUL.md", "leads out"),
            ("memory/./a.md", "leads out"),
            ("memory/..", "leads out"),
            ("/etc/passwd", "absolute"),
            ("~/x", "absolute"),
            ("C:/x", "absolute"),
            ("file:///etc/passwd", "absolute"),
            ("memory\\a.md", "backslash"),
            ("memory/a\0.md", "U+0000"),
            ("memory/a\n.md", "U+000A"),
            ("memory/a\u{202e}dm.exe", "U+202E"),
            ("SOUL\u{200b}.md", "U+200B"),
            ("memory/", "names a folder"),
            ("memory//a.md", "empty folder"),
            ("memory/ a.md", "space"),
            ("memory/a.", "dot"),
            ("memory/u\u{308}ber.md", "NFC"),
            ("soul.md", "only looks like `SOUL.md`"),
            ("Memory.md", "only looks like `MEMORY.md`"),
            ("MEMORY/a.md", "only looks like `memory/`"),
            ("МЕМОRУ.md", "only looks like `MEMORY.md`"),
            ("mеmory/a.md", "only looks like `memory/`"),
            ("ＳＯＵＬ.md", "only looks like `SOUL.md`"),
            ("ТООLS.md", "only looks like `TOOLS.md`"),
            (&long, "longer than"),
            (&deep, "levels"),
        ];
        for (path, expected) in rows {
            let why = VirtualPath::parse(path).unwrap_err().to_string();
            assert!(why.contains(expected) && !why.contains('\0') && why.len() < 300, "{path:?}: {why}");
        }
    }
}
