//! The last lines of the log, in memory: for the support bundle, as there is no file of them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many bytes of lines are kept, and of one line.
const BYTES: usize = 256 << 10;
const LINE: usize = 2000;

/// The last lines; cheap to clone. They come without secrets already.
#[derive(Clone, Default)]
pub struct LogRing(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LogRing {
    /// Adds lines; the oldest make room.
    pub fn push(&self, text: &str) {
        let mut kept = self.lines();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = text_kit::truncate(&without_colours(line), LINE);
            kept.bytes += line.len();
            kept.lines.push_back(line);
        }
        while kept.bytes > BYTES {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
    }

    /// The lines, the oldest first.
    pub fn all(&self) -> Vec<String> {
        self.lines().lines.iter().cloned().collect()
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line as it looks in a file: terminals get it with escape sequences for colours.
fn without_colours(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.retain(|c| !c.is_control() || c == '\t');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay_within_the_bound() {
        let ring = LogRing::default();
        ring.push("\u{1b}[2m2026\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m first\n\n");
        assert_eq!(ring.all(), ["2026  INFO first"]);
        for n in 0..20_000 {
            ring.push(&format!("line {n} {}", "x".repeat(n % 50)));
        }
        ring.push(&"y".repeat(10 * LINE));
        let all = ring.all();
        assert!(all.iter().map(String::len).sum::<usize>() <= BYTES && all.len() > 1000, "{}", all.len());
        assert!(all[0].starts_with("line ") && all.last().unwrap().chars().count() <= LINE + 1);
        assert!(all[all.len() - 2].starts_with("line 19999"));
    }
}
