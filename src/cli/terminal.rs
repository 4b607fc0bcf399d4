//! Standard output and text that is safe on a terminal.

use std::io::{IsTerminal, Write};

/// Narrower than this, breaking lines at words helps nobody.
const NARROWEST: usize = 16;

/// Writes to standard output and flushes it.
///
/// # Errors
/// `BrokenPipe` when the reader has gone, which `main` treats as success.
pub fn put(text: std::fmt::Arguments) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_fmt(text)?;
    out.flush()
}

/// Writes to standard error, where questions and notes go. Ignores write errors.
pub fn print(text: std::fmt::Arguments) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_fmt(text);
    let _ = err.flush();
}

/// Whether a person sits at the terminal.
pub fn has_person() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Columns of the terminal on standard output; `None` when it is a file or a pipe, or of an unknown width.
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= NARROWEST)
}

/// Replaces control and invisible characters, which could move the cursor, set colours or reverse the text.
pub fn plain(text: &str) -> String {
    let unsafe_char = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if unsafe_char(c) { '\u{fffd}' } else { c }).collect()
}
