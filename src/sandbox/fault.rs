//! How a call can fail, in words for the author of the tool.

use std::time::Duration;

/// The longest text of a thrown error that is passed on, in bytes.
const TEXT: usize = 4 << 10;

/// Why a call returned no result. The text says what happened and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The tool threw, or could not be compiled: `name: message`, with the position in the tool's code.
    #[error("{0}")]
    Thrown(String),
    #[error("the tool used more than {} of CPU: look for a loop that does not end, or do less in one call", span(.0))]
    Cpu(Duration),
    #[error("the tool took longer than {}: wait for less, or run independent operations together with Promise.all", span(.0))]
    Wall(Duration),
    #[error("the tool used more than {} of memory: work on less data at a time", size(.0))]
    Memory(usize),
    #[error("the tool's calls are nested too deeply: look for a recursion that does not end, or use a loop")]
    Stack,
    #[error("the tool waits for a promise that nothing will settle: every `new Promise` must call resolve or reject")]
    NeverSettles,
    #[error("the tool returned more than {} of JSON: return less, or a summary", size(.0))]
    TooMuchOutput(usize),
    /// Other calls hold the memory that all share, and none became free in time.
    #[error("{}", busy(*.memory, *.started))]
    Busy {
        /// The memory all calls share, in bytes.
        memory: usize,
        /// Whether some of the tool's code ran before.
        started: bool,
    },
    /// A defect of the sandbox or of its host, not of the tool.
    #[error("the sandbox failed: {0}")]
    Internal(String),
}

impl Fault {
    /// From what the guest reports: `name: message`, a zero byte, the stack. A value that is no error is its JSON.
    pub(crate) fn thrown(report: &str, memory: usize) -> Fault {
        let Some((text, stack)) = report.rsplit_once('\0') else {
            if report == OUT_OF_MEMORY {
                return Fault::Memory(memory);
            }
            return Fault::Thrown(format!("the tool threw {}", shorten(report)));
        };
        if text == OUT_OF_MEMORY {
            return Fault::Memory(memory);
        }
        let text = shorten(text);
        Fault::Thrown(match position(stack) {
            Some((line, column)) => format!("{text} (line {line}, column {column})"),
            None => text,
        })
    }
}

const OUT_OF_MEMORY: &str = "InternalError: out of memory";

/// The innermost frame in the tool's own code, such as `at tool (tool:3:14)` or `at tool:1:5`. The tool's
/// first line is the second there, below the head of the function that is put around it.
fn position(stack: &str) -> Option<(u32, u32)> {
    stack.lines().find_map(|frame| {
        let place = frame.rsplit(['(', ' ']).next()?.trim_end_matches(')');
        let (line, column) = place.strip_prefix("tool:")?.split_once(':')?;
        let line: u32 = line.parse().ok()?;
        Some((line.checked_sub(1)?.max(1), column.parse().ok()?))
    })
}

fn shorten(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT)])
}

fn busy(memory: usize, started: bool) -> String {
    let shared = size(&memory);
    match started {
        false => format!(
            "other tools use all of the {shared} of memory that tools share, so it was not started: try again in a moment"
        ),
        true => format!("it was stopped halfway: other tools use all of the {shared} of memory that tools share"),
    }
}

fn span(time: &Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{} ms", time.as_millis()) }
}

pub(crate) fn size(bytes: &usize) -> String {
    match *bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_become_sentences() {
        let thrown = |text: &str| Fault::Thrown(text.to_owned());
        for (report, fault) in [
            (
                "TypeError: no\0    at helper (tool:3:14)\n    at tool (tool:9:1)",
                thrown("TypeError: no (line 2, column 14)"),
            ),
            ("Error: no\0    at fetch (sandbox:1:1)\n    at tool (tool:2:7)", thrown("Error: no (line 1, column 7)")),
            ("SyntaxError: no\0    at tool:4:2\n", thrown("SyntaxError: no (line 3, column 2)")),
            ("Error: no\0", thrown("Error: no")),
            ("Error: no\0 at tool:x:y", thrown("Error: no")),
            ("{\"code\":7}", thrown("the tool threw {\"code\":7}")),
            ("InternalError: out of memory\0    at tool (tool:1:1)", Fault::Memory(1)),
            ("InternalError: out of memory", Fault::Memory(1)),
        ] {
            assert_eq!(Fault::thrown(report, 1), fault, "{report}");
        }
    }

    #[test]
    fn texts_name_the_limit() {
        for (fault, part) in [
            (Fault::Cpu(Duration::from_secs(5)), "more than 5 s of CPU"),
            (Fault::Wall(Duration::from_millis(1500)), "longer than 1500 ms"),
            (Fault::Memory(50 << 20), "more than 50 MB of memory"),
            (Fault::TooMuchOutput(64 << 10), "more than 64 KB of JSON"),
        ] {
            assert!(fault.to_string().contains(part), "{fault}");
        }
    }
}
