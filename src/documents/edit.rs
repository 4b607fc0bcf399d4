//! Edit a text: replace all of it, or one piece without repeating the rest.

use text_kit::truncate;

/// The maximum length of a quotation in an error, in characters.
const PIECE: usize = 160;

/// One edit of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replace the whole text.
    Replace(String),
    /// Replace a piece.
    FindReplace {
        /// The text to find.
        find: String,
        /// Its replacement.
        replace: String,
        /// Replace every occurrence instead of the first.
        all: bool,
    },
    /// Add at the end.
    Append(String),
    /// Add at the beginning.
    Prepend(String),
    /// Delete the first occurrence.
    Delete(String),
}

impl Edit {
    /// Its name in the history.
    pub fn operation(&self) -> &'static str {
        match self {
            Edit::Replace(_) => "replace",
            Edit::FindReplace { .. } => "find_replace",
            Edit::Append(_) => "append",
            Edit::Prepend(_) => "prepend",
            Edit::Delete(_) => "delete",
        }
    }

    /// Whether the edit preserves any of the old text.
    pub fn keeps_old_text(&self) -> bool {
        !matches!(self, Edit::Replace(_))
    }

    /// Apply the edit.
    ///
    /// # Errors
    /// A sentence with the nearest line when the text to find is missing.
    pub fn apply_to(&self, text: &str) -> Result<String, String> {
        match self {
            Edit::Replace(whole) => Ok(whole.clone()),
            Edit::Append(more) => Ok(join_pieces(text, more)),
            Edit::Prepend(more) => Ok(join_pieces(more, text)),
            Edit::FindReplace { find, replace, all } => {
                check_contains("find", text, find)?;
                Ok(if *all { text.replace(find, replace) } else { text.replacen(find, replace, 1) })
            }
            Edit::Delete(piece) => {
                check_contains("content", text, piece)?;
                Ok(text.replacen(piece, "", 1))
            }
        }
    }
}

/// Join two texts with a line break unless white space separates them.
fn join_pieces(first: &str, second: &str) -> String {
    let apart = first.is_empty()
        || second.is_empty()
        || first.ends_with(char::is_whitespace)
        || second.starts_with(char::is_whitespace);
    let between = if apart { "" } else { "\n" };
    format!("{first}{between}{second}")
}

fn check_contains(field: &str, text: &str, piece: &str) -> Result<(), String> {
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

/// The line that shares the most words with a piece, else the first; `None` for an empty text.
fn nearest(text: &str, piece: &str) -> Option<String> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let wanted = words(piece);
    let shared = |line: &str| words(line).iter().filter(|word| wanted.contains(word)).count();
    // Prefer the first of equals; `max_by_key` returns the last.
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
            assert_eq!(edit.apply_to(text).as_deref(), Ok(expected), "{}", edit.operation());
        }
        assert_eq!(Edit::Append("a".into()).apply_to("").as_deref(), Ok("a"));
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
            let why = edit.apply_to(text).unwrap_err();
            assert!(why.contains(first) && why.contains(second), "{why}");
        }
        assert!(Edit::Delete("x".into()).apply_to("").unwrap_err().contains("empty"));
        let long = Edit::Delete("ü".repeat(5000)).apply_to(&"ä".repeat(5000)).unwrap_err();
        assert!(long.chars().count() < 600, "{long}");
    }
}
