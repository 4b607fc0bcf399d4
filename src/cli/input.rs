//! Reads what a person types in a chat: with a line editor where the terminal is able to show one, else as plain lines.

use super::{
    editor::LineEditor,
    screen::{AbovePrinter, Screen},
    terminal::{print, put},
};
use anyhow::{Context, Result};
use futures::FutureExt;
use std::{
    io::{BufRead, IsTerminal},
    sync::{Arc, OnceLock},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

/// A line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted {
        /// Whether nothing was typed yet.
        at_empty: bool,
    },
    /// Ctrl-D, or the end of the input.
    End,
}

/// The outcome of a question that a person was asked in the middle of an answer.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Asked {
    /// The question is answered.
    Settled,
    /// It stays open, for another way to answer.
    Open,
    /// Ctrl-C: the run should stop.
    Interrupted,
}

/// The person's keyboard.
pub struct Input {
    pub screen: Screen,
    editor: Option<LineEditor>,
    /// Lines of a terminal without an editor, or of a file or a pipe; the reader starts with the first line that is asked for.
    lines: Option<mpsc::Receiver<String>>,
    interrupts: Signal,
}

impl Input {
    /// From now on Ctrl-C ends the process only where nothing handles it: `interrupted` and `read` return it.
    pub fn new() -> Result<Self> {
        let interrupts = signal(SignalKind::interrupt()).context("could not listen for Ctrl-C")?;
        let term = std::env::var("TERM").unwrap_or_default();
        // Some terminals cannot move the cursor, and say so by their name; one without a name may be any.
        let is_rich = !["", "dumb", "cons25", "emacs", "unknown"].contains(&term.as_str());
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        // Without an editor lines are read as they come.
        let editor = (is_rich && is_terminal).then(LineEditor::new).and_then(Result::ok);
        Ok(Self { screen: Screen::new(), editor, lines: None, interrupts })
    }

    /// Prints lines above the line that is being edited; `None` without an editor.
    pub fn above(&mut self) -> Option<AbovePrinter> {
        self.editor.as_mut()?.above()
    }

    /// The words that Tab completes, once they are known.
    pub fn completions(&self) -> Option<Arc<OnceLock<Vec<String>>>> {
        Some(self.editor.as_ref()?.completions())
    }

    /// Loads the lines of earlier chats.
    pub fn load_history(&mut self) {
        if let Some(editor) = &mut self.editor {
            editor.load_history();
        }
    }

    /// Stores a line for later chats.
    pub fn store(&mut self, line: &str) {
        if let Some(editor) = &mut self.editor {
            editor.store(line);
        }
    }

    /// Reads a message.
    pub async fn read_message(&mut self, prompt: &str) -> Result<Line> {
        if self.editor.is_none() {
            put(format_args!("{prompt}"))?;
        }
        self.read(prompt, true).await
    }

    /// Reads the answer to a question, without white space around it.
    pub async fn read_answer(&mut self, prompt: &str) -> Result<Line> {
        if self.editor.is_none() {
            print(format_args!("{prompt}"));
        }
        Ok(match self.read(prompt, false).await? {
            Line::Text(text) => Line::Text(text.trim().to_owned()),
            other => other,
        })
    }

    async fn read(&mut self, prompt: &str, is_message: bool) -> Result<Line> {
        self.screen.typing(Some(prompt));
        let line = match self.editor.take() {
            Some(mut editor) => {
                let prompt = prompt.to_owned();
                let read = move || (editor.read(&prompt, is_message), editor);
                let (line, editor) = tokio::task::spawn_blocking(read).await?;
                self.editor = Some(editor);
                line
            }
            None => self.read_plain().await,
        };
        self.screen.typing(None);
        line
    }

    async fn read_plain(&mut self) -> Result<Line> {
        let lines = self.lines.get_or_insert_with(lines_of_stdin);
        tokio::select! {
            line = lines.recv() => Ok(line.map_or(Line::End, Line::Text)),
            _ = self.interrupts.recv() => Ok(Line::Interrupted { at_empty: true }),
        }
    }

    /// Waits for Ctrl-C while nothing is being read.
    pub async fn interrupted(&mut self) {
        if self.interrupts.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Forgets a Ctrl-C that came too late for the last answer.
    pub fn forget_interrupts(&mut self) {
        while let Some(Some(())) = self.interrupts.recv().now_or_never() {}
    }
}

/// Reads standard input in a thread of its own, which ends with the process.
fn lines_of_stdin() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            let mut bytes = vec![];
            match std::io::stdin().lock().read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.blocking_send(String::from_utf8_lossy(&bytes).into_owned()).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    lines
}
