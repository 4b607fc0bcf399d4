//! Parts of the store's journal: what there was before a change of a file.

use crate::Located;
use serde::{Deserialize, Serialize};
use store::Part;
use tool::Id;

/// The kind of these parts of changes.
pub const UNDO_TABLE: &str = "workspace-files";

/// Begins the version of a folder that was made empty: it goes only while it still is.
pub(crate) const EMPTY: &[u8] = b"+";

/// What there was before a change. Its shape never changes: it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Before {
    /// Another content, or something that was deleted: it is held.
    Held(Id),
    /// The same under another path.
    Moved { place: String, path: String },
    /// Something that is not held, so that nothing brings it back.
    Lost,
}

impl Before {
    /// The part of a change after which this version is at a path.
    pub fn part(located: &Located, before: Option<Before>, after: &str) -> Part {
        let before = before.and_then(|before| postcard::to_stdvec(&before).ok());
        part(located, before, after.as_bytes().to_vec())
    }

    /// The part of a change that made an empty folder.
    pub fn made_folder(located: &Located, after: &str) -> Part {
        part(located, None, [EMPTY, after.as_bytes()].concat())
    }

    /// The part of a change that deleted what was at a path.
    pub fn deleted(located: &Located, held: Id) -> Part {
        part(located, postcard::to_stdvec(&Before::Held(held)).ok(), vec![])
    }
}

fn part(located: &Located, before: Option<Vec<u8>>, after: Vec<u8>) -> Part {
    Part {
        table: UNDO_TABLE.into(),
        key: [located.place.key.as_bytes(), &[0], located.path.text().as_bytes()].concat(),
        before,
        after,
        title: text_kit::truncate(&located.path.text(), 80),
        list: String::new(),
        shared: located.place.shared,
    }
}

/// The place and path of a part.
pub(crate) fn spot(part: &Part) -> Option<(&str, &str)> {
    let at = part.key.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&part.key[..at]).ok()?, std::str::from_utf8(&part.key[at + 1..]).ok()?))
}
