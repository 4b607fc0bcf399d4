//! Models that a household brings: found in a folder, described by their own files, run by tract.

mod centre;
mod family;
mod fingerprint;
mod pooling;
mod session;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tiny;

pub use centre::Centres;
pub use session::Session;
pub use settings::{MOST_DIMENSIONS, Settings};

use crate::Error;
use std::path::{Component, Path, PathBuf};

/// The name of the model inside this program, in the configuration.
pub const BUILT_IN: &str = "built-in";

/// Whether a text is searched for, or is one that is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Query,
    Passage,
}

/// The model to use: the folder of that name in `models`, or the only one there; `None` is the built-in one.
///
/// # Errors
/// Why there is no usable model, and what to do.
pub fn find(models: &Path, name: &str) -> Result<Option<Settings>, String> {
    let name = name.trim();
    match name {
        BUILT_IN => Ok(None),
        "" => match &folders(models)?[..] {
            [] => Ok(None),
            [one] => Settings::read(one).map(Some),
            many => Err(format!(
                "{} has several models ({}): name one of them in hob.toml, as `model` in `[memory]`",
                models.display(),
                many.iter().map(|folder| name_of(folder)).collect::<Vec<_>>().join(", ")
            )),
        },
        name => Settings::read(&named(models, name)?).map(Some),
    }
}

/// The folder that the configuration names.
fn named(models: &Path, name: &str) -> Result<PathBuf, String> {
    let path = Path::new(name);
    let plain = matches!(path.components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
    let folder = match (path.is_absolute(), plain) {
        (true, _) => path.to_owned(),
        (false, true) => models.join(path),
        (false, false) => {
            return Err(format!(
                "\"{name}\" is no name of a folder in {}: give that, or a full path",
                models.display()
            ));
        }
    };
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(format!("there is no folder {}: put the model's files there", folder.display())),
    }
}

/// The folders of models: those in `models`, or itself where the files are in it directly.
fn folders(models: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = match std::fs::read_dir(models) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(format!("{} cannot be read: {error}", models.display())),
    };
    let mut found = vec![];
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_file() && (path.ends_with("tokenizer.json") || is_onnx(&path)) {
            return Ok(vec![models.to_owned()]);
        }
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let empty = std::fs::read_dir(&path).map_or(true, |mut inside| inside.next().is_none());
        if path.is_dir() && !hidden && !empty {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn is_onnx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().chars().take(64).collect())
}

/// A failure of the model with this name.
pub fn unusable(name: &str, why: impl std::fmt::Display) -> Error {
    Error::Unavailable(format!("the embedding model \"{name}\" cannot be used: {why}"))
}
