//! Stored forms: marks of content, what is in the trash, steps that are under way, and added places.

use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, coded};
use tool::{Id, Label, UserId};

/// Index of marks by place and path.
pub(crate) const BY_PATH: u8 = 1;
/// Index of held files by place.
pub(crate) const BY_PLACE: u8 = 1;

/// The value of a path in an index; that of a folder with `/` begins those of what is in it.
pub(crate) fn path_key(place: &str, path: &str, end: u8) -> Vec<u8> {
    let mut key = Vec::with_capacity(place.len() + path.len() + 2);
    key.extend_from_slice(place.as_bytes());
    key.push(0);
    key.extend_from_slice(path.as_bytes());
    key.push(end);
    key
}

/// The origin of a file's content. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkRecord {
    pub place: String,
    pub path: String,
    #[serde(with = "coded")]
    pub label: Label,
    /// The member whose words they are; [`Id::NIL`] for none or several.
    pub author: Id,
    /// Whether it counts for all that is in the folder.
    pub whole: bool,
    /// The version that a person vouched for; empty for marks of other labels.
    pub version: String,
}

impl MarkRecord {
    pub fn new(place: &str, path: &str, label: Label) -> Self {
        let author = match label {
            Label::Member(author) => author.0,
            _ => Id::NIL,
        };
        Self { place: place.into(), path: path.into(), label, author, whole: false, version: String::new() }
    }

    /// Its label for a reader.
    pub fn label_for(&self, reader: UserId) -> Label {
        match self.label {
            Label::Member(_) if self.author == reader.0 => Label::Own,
            Label::Member(_) => Label::Member(UserId(self.author)),
            label => label,
        }
    }

    /// Its label for nobody in particular.
    pub fn stored_label(&self) -> Label {
        match self.label {
            Label::Member(_) => Label::Member(UserId(self.author)),
            label => label,
        }
    }
}

impl Record for MarkRecord {
    const NAME: &'static str = "workspace-marks";
    const WORD: &'static str = "mark of a file";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_PATH, path_key(&self.place, &self.path, 0))]
    }
}

/// Why something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HeldKind {
    /// An earlier content, for undoing.
    #[default]
    Version,
    /// It was deleted.
    Trash,
}

impl Coded for HeldKind {
    const ALL: &'static [Self] = &[Self::Version, Self::Trash];
    const UNKNOWN: Self = Self::Trash;
}

/// Something in the trash, or an earlier content of a file. Its file is named by its id. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldRecord {
    pub place: String,
    /// Where it was.
    pub path: String,
    #[serde(with = "coded")]
    pub kind: HeldKind,
    pub is_folder: bool,
    /// Its bytes, with all that is in it.
    pub size: u64,
    /// When: milliseconds since 1970.
    pub at_ms: u64,
    /// Who did it.
    pub by: UserId,
}

impl Record for HeldRecord {
    const NAME: &'static str = "workspace-held";
    const WORD: &'static str = "deleted file";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_PLACE, path_key(&self.place, "", 0))]
    }
}

/// A path of a place, or of what is held for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub place: String,
    /// Whether it is the name of something held.
    pub held: bool,
    pub path: String,
}

impl Spot {
    /// The place of its marks: what is held has its own.
    pub fn marks_place(&self) -> String {
        if self.held { format!("{}\u{1}held", self.place) } else { self.place.clone() }
    }
}

/// A rename that is under way: stored before it, removed after it. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub from: Spot,
    pub to: Spot,
    /// Whether what was at `to` takes the name `from`.
    pub exchange: bool,
    /// What was at `from`: inode, time of its last change in nanoseconds, and size.
    pub moved: (u64, i64, u64),
    /// What is held when it is done: the id, and the record.
    pub held: Option<(Id, HeldRecord)>,
    /// What is held no more when it is done.
    pub released: Option<Id>,
}

impl Record for StepRecord {
    const NAME: &'static str = "workspace-steps";
    const WORD: &'static str = "change of a file";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// A program that runs and may write: what it writes has its label. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunningRecord {
    pub reader: UserId,
    /// The places that it can read, and those that it can write.
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    #[serde(with = "coded")]
    label: Label,
    /// The member whose words it could read; [`Id::NIL`] for none or several.
    author: Id,
    /// When it began: nanoseconds since 1970.
    pub since_ns: i64,
}

impl RunningRecord {
    pub fn new(reader: UserId, reads: Vec<String>, writes: Vec<String>, label: Label, since_ns: i64) -> Self {
        let author = match label {
            Label::Member(author) => author.0,
            _ => Id::NIL,
        };
        Self { reader, reads, writes, label, author, since_ns }
    }

    pub fn stored_label(&self) -> Label {
        match self.label {
            Label::Member(_) => Label::Member(UserId(self.author)),
            label => label,
        }
    }
}

impl Record for RunningRecord {
    const NAME: &'static str = "workspace-programs";
    const WORD: &'static str = "program";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// A folder that an admin added on the page. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceRecord {
    pub name: String,
    pub path: String,
    pub read_only: bool,
    pub deny: Vec<String>,
    pub admins_only: bool,
    pub trusted: bool,
}

impl Record for PlaceRecord {
    const NAME: &'static str = "workspace-places";
    const WORD: &'static str = "folder";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}
