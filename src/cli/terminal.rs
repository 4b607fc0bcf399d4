//! Standard output and text that is safe on a terminal.

use std::io::Write;

/// Writes to standard output and flushes it.
///
/// # Errors
/// `BrokenPipe` when the reader has gone, which `main` treats as success.
pub fn put(text: std::fmt::Arguments) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_fmt(text)?;
    out.flush()
}

/// Replaces control and invisible characters, which could move the cursor, set colours or reverse the text.
pub fn plain(text: &str) -> String {
    let unsafe_char = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if unsafe_char(c) { '\u{fffd}' } else { c }).collect()
}
