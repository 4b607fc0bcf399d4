//! How a text is edited: the whole of it, or a piece, so that a small change does not need all of it written anew.

use text_kit::truncate;

/// The longest piece of a text that an error shows, in characters.
const PIECE: usize = 160;

/// One change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Another text in its place.
    Replace(String),
    /// Another piece in the place of one that is there.
    FindReplace {
        /// What is there.
        find: String,
        /// What comes in its place.
        replace: String,
        /// Wherever it stands, and not only where it stands first.
        all: bool,
    },
    /// More at the end.
    Append(String),
    /// More at the beginning.
    Prepend(String),
    /// Without this piece, where it stands first.
    Delete(String),
}

impl Edit {
    /// Its word, as in the history.
    pub fn operation(&self) -> &'static str {
        match self {
            Edit::Replace(_) => "replace",
            Edit::FindReplace { .. } => "find_replace",
            Edit::Append(_) => "append",
            Edit::Prepend(_) => "prepend",
            Edit::Delete(_) => "delete",
        }
    }

    /// Whether anything of the old text is left.
    pub fn keeps(&self) -> bool {
        !matches!(self, Edit::Replace(_))
    }

    /// The text after the change.
    ///
    /// # Errors
    /// A sentence when the piece is not there, with what comes nearest to it.
    pub fn made_to(&self, text: &str) -> Result<String, String> {
        match self {
            Edit::Replace(whole) => Ok(whole.clone()),
            Edit::Append(more) => Ok(joined(text, more)),
            Edit::Prepend(more) => Ok(joined(more, text)),
            Edit::FindReplace { find, replace, all } => {
                found("find", text, find)?;
                Ok(if *all { text.replace(find, replace) } else { text.replacen(find, replace, 1) })
            }
            Edit::Delete(piece) => {
                found("content", text, piece)?;
                Ok(text.replacen(piece, "", 1))
            }
        }
    }
}

/// Both, with a line break between them where nothing divides them.
fn joined(first: &str, second: &str) -> String {
    let apart = first.is_empty()
        || second.is_empty()
        || first.ends_with(char::is_whitespace)
        || second.starts_with(char::is_whitespace);
    let between = if apart { "" } else { "\n" };
    format!("{first}{between}{second}")
}

fn found(field: &str, text: &str, piece: &str) -> Result<(), String> {
    if text.contains(piece) {
        return Ok(());
    }
    let piece = truncate(piece, PIECE);
    Err(match nearest(text, &piece) {
        None => format!("`{field}` is not in the text, which is empty: use `append` or `replace`"),
        Some(near) => format!(
            "`{field}` is not in the text, nothing was changed: it must stand there letter by letter. Looked for: {piece}\n\
             The nearest that is there: {near}"
        ),
    })
}

/// The line that shares the most words with a piece, else the first; `None` of an empty text.
fn nearest(text: &str, piece: &str) -> Option<String> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let wanted = words(piece);
    let shared = |line: &str| words(line).iter().filter(|word| wanted.contains(word)).count();
    // Of equals the first: `max_by_key` would take the last.
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.rev().max_by_key(|line| shared(line)).map(|line| truncate(line.trim(), PIECE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(find: &str, replace: &str, all: bool) -> Edit {
        Edit::FindReplace { find: find.into(), replace: replace.into(), all }
    }

    #[test]
    fn the_five_operations() {
        let text = "Be brief.\nBe brief, and warm.";
        let rows = [
            (Edit::Replace("Be a cat.".into()), "Be a cat."),
            (Edit::Replace(String::new()), ""),
            (swap("Be brief", "Be long", false), "Be long.\nBe brief, and warm."),
            (swap("Be brief", "Be long", true), "Be long.\nBe long, and warm."),
            (swap("\nBe brief, and warm.", "", false), "Be brief."),
            (Edit::Append("Sing.".into()), "Be brief.\nBe brief, and warm.\nSing."),
            (Edit::Append(" Sing.".into()), "Be brief.\nBe brief, and warm. Sing."),
            (Edit::Prepend("You sing.".into()), "You sing.\nBe brief.\nBe brief, and warm."),
            (Edit::Delete("Be brief".into()), ".\nBe brief, and warm."),
        ];
        for (edit, expected) in rows {
            assert_eq!(edit.made_to(text).as_deref(), Ok(expected), "{}", edit.operation());
        }
        assert_eq!(Edit::Append("a".into()).made_to("").as_deref(), Ok("a"));
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is_near() {
        let text = "You are Hob.\n\nAnswer in German, always.\nAnswer late.";
        let rows = [
            (swap("answer in german", "x", false), "`find` is not in the text", "there: Answer in German, always."),
            (Edit::Delete("Speak".into()), "`content` is not in the text", "there: You are Hob."),
            (swap("answer", "x", true), "Looked for: answer", "there: Answer in German"),
        ];
        for (edit, first, second) in rows {
            let why = edit.made_to(text).unwrap_err();
            assert!(why.contains(first) && why.contains(second), "{why}");
        }
        assert!(Edit::Delete("x".into()).made_to("").unwrap_err().contains("empty"));
        let long = Edit::Delete("ü".repeat(5000)).made_to(&"ä".repeat(5000)).unwrap_err();
        assert!(long.chars().count() < 600, "{long}");
    }
}
