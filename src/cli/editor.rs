//! The line editor of `hob chat`: keys, history, and Tab for names of tools.

use super::{history, input::Line, screen::AbovePrinter};
use anyhow::Result;
use rustyline::{
    Config, Context, Editor, ExternalPrinter, Helper,
    completion::Completer,
    config::{BellStyle, CompletionType},
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::Validator,
};
use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The most lines that are stored.
const HISTORY: usize = 1000;
/// The words before the name of a tool.
const BEFORE_A_TOOL: &[&str] = &["call", "use", "run", "tool", "explain"];

pub struct LineEditor {
    editor: Editor<Assistant, FileHistory>,
    /// `None` where lines are not stored.
    file: Option<PathBuf>,
}

impl LineEditor {
    pub fn new() -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_dups(true)?
            .completion_type(CompletionType::List)
            .bell_style(BellStyle::None)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistant::default()));
        Ok(Self { editor, file: None })
    }

    /// Prints lines above the line that is being edited.
    pub fn above(&mut self) -> Option<AbovePrinter> {
        let mut printer = self.editor.create_external_printer().ok()?;
        // A line that cannot be printed is lost: the terminal is gone.
        Some(Box::new(move |line| drop(printer.print(line))))
    }

    /// The names that Tab completes.
    pub fn completions(&self) -> Arc<OnceLock<Vec<String>>> {
        self.editor.helper().map(|assistant| assistant.tools.clone()).unwrap_or_default()
    }

    /// Loads the lines of earlier chats. A file that cannot be read, or does not exist yet, counts as empty.
    pub fn load_history(&mut self) {
        self.file = history::file();
        if let Some(file) = &self.file {
            let _ = self.editor.load_history(file);
        }
    }

    /// Adds a line to the history. A history that cannot be written is no failure of the chat.
    pub fn store(&mut self, line: &str) {
        let _ = self.editor.add_history_entry(line);
        let Some(file) = &self.file else { return };
        if let Some(folder) = file.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        // A damaged file cannot be appended to.
        if self.editor.append_history(file).is_err() {
            let _ = self.editor.save_history(file);
        }
    }

    /// Reads a line. Tab completes names only in messages.
    pub fn read(&mut self, prompt: &str, is_message: bool) -> Result<Line> {
        if let Some(assistant) = self.editor.helper() {
            assistant.completes.store(is_message, Relaxed);
            assistant.is_empty.store(true, Relaxed);
        }
        match self.editor.readline(prompt) {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {
                let at_empty = self.editor.helper().is_none_or(|assistant| assistant.is_empty.load(Relaxed));
                Ok(Line::Interrupted { at_empty })
            }
            // The terminal was closed.
            Err(ReadlineError::Io(_) | ReadlineError::Errno(_)) => Ok(Line::End),
            Err(error) => Err(error.into()),
        }
    }
}

/// Completes names of tools, and notes whether anything is typed.
#[derive(Default)]
struct Assistant {
    tools: Arc<OnceLock<Vec<String>>>,
    completes: AtomicBool,
    is_empty: AtomicBool,
}

impl Helper for Assistant {}
impl Highlighter for Assistant {}
impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;

    /// Shows nothing: the editor calls this with each change of the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.is_empty.store(line.is_empty(), Relaxed);
        None
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        if !self.completes.load(Relaxed) {
            return Ok((at, vec![]));
        }
        let tools = self.tools.get().map(Vec::as_slice).unwrap_or_default();
        Ok(completions(tools, line.get(..at).unwrap_or_default()))
    }
}

/// The tools whose names begin like the last word of a text, where a name is likely: as its first word, after "call", or with
/// an underscore. With the place of that word.
fn completions(tools: &[String], before: &str) -> (usize, Vec<String>) {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let (lead, word) = before.split_at(start);
    let previous = lead.split_whitespace().next_back().map(str::to_lowercase);
    let is_likely = previous.is_none_or(|previous| BEFORE_A_TOOL.contains(&previous.as_str())) || word.contains('_');
    let fits = |tool: &&String| !word.is_empty() && is_likely && tool.starts_with(word);
    (start, tools.iter().filter(fits).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_where_one_is_likely() {
        let tools = ["set_timer", "set_state", "gpio_read"].map(str::to_owned);
        for (before, start, found) in [
            ("set", 0, vec!["set_timer", "set_state"]),
            ("call set_t", 5, vec!["set_timer"]),
            ("please Use gp", 11, vec!["gpio_read"]),
            ("what does gpio_", 10, vec!["gpio_read"]),
            ("what does set", 10, vec![]),
            ("call ", 5, vec![]),
            ("", 0, vec![]),
            ("zzz", 0, vec![]),
        ] {
            assert_eq!(
                completions(&tools, before),
                (start, found.into_iter().map(str::to_owned).collect()),
                "{before}"
            );
        }
    }
}
