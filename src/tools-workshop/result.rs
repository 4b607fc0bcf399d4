//! The answer of a call whose program has ended.

use crate::{output::shortened, program::Ran};
use process_sandbox::Ended;
use serde_json::{Map, Value, json};
use text_kit::{one_line, truncate};
use tool::Output;

/// The most bytes of a program's output and of its errors in an answer.
pub const STDOUT: usize = 64 * 1024;
pub const STDERR: usize = 16 * 1024;
/// How many changed files an answer lists.
const FILES: usize = 50;

/// The names of the fields that differ between tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `exitCode`, `stdout`, `stderr`, `durationMs`.
    Command,
    /// The same with `success`.
    Code,
}

/// The answer of a call.
pub fn answer(ran: &Ran, form: Form) -> Output {
    let (stdout, out_cut) = shortened(&ran.stdout, STDOUT);
    let (stderr, err_cut) = shortened(&ran.stderr, STDERR);
    let mut fields = Map::new();
    if form == Form::Code {
        fields.insert("success".into(), (ran.ended == Ended::Exited(0)).into());
    }
    let code = match ran.ended {
        Ended::Exited(code) => json!(code),
        Ended::Signaled(signal) => json!(128 + signal),
        _ => Value::Null,
    };
    fields.insert("exitCode".into(), code);
    fields.insert("stdout".into(), stdout.into());
    fields.insert("stderr".into(), stderr.into());
    fields.insert("durationMs".into(), (ran.wall.as_millis() as u64).into());
    if let Some(why) = ended_words(&ran.ended) {
        fields.insert("ended".into(), why.into());
    }
    if out_cut || err_cut || ran.is_cut {
        fields.insert("truncated".into(), true.into());
        fields.insert(
            "hint".into(),
            "the output is longer than what is here: write it to a file, and read the part that is needed".into(),
        );
    }
    let changed = [&ran.changed.added[..], &ran.changed.changed, &ran.changed.deleted].concat();
    if !changed.is_empty() {
        fields.insert("changedFiles".into(), changed.iter().take(FILES).cloned().collect::<Vec<_>>().into());
        if changed.len() > FILES {
            fields.insert("moreChangedFiles".into(), (changed.len() - FILES).into());
        }
        if ran.changed.not_undoable > 0 {
            fields.insert("notUndoable".into(), ran.changed.not_undoable.into());
            let lost: Vec<String> = ran.changed.lost.iter().take(FILES).cloned().collect();
            fields.insert("notUndoableFiles".into(), lost.into());
        }
    }
    let output = Output { content: Value::Object(fields), label: ran.label, ..Output::default() };
    output.say(sentence(ran))
}

/// How a program ended, unless it ended by itself.
pub fn ended_words(ended: &Ended) -> Option<&'static str> {
    Some(match ended {
        Ended::Exited(_) => return None,
        Ended::Signaled(_) => "a signal ended it, as a crash does",
        Ended::TimedOut => {
            "it took longer than it may, and was stopped: give it more time (`timeout`), or do less at once"
        }
        Ended::OutOfMemory => "it used more memory than it may, and was stopped",
        Ended::OutputLimit => "it printed more than it may, and was stopped",
        Ended::DiskFull => "it wrote more to the disk than it may, and was stopped",
        Ended::Stopped => "it was stopped",
    })
}

/// The sentence for a person.
fn sentence(ran: &Ran) -> String {
    let last = |text: &str| {
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        truncate(&one_line(line), 200)
    };
    match ran.ended {
        Ended::Exited(0) if ran.stdout.trim().is_empty() => "Done. It printed nothing.".into(),
        Ended::Exited(0) if ran.stdout.trim().lines().count() == 1 => format!("It printed: {}", last(&ran.stdout)),
        Ended::Exited(0) => format!("Done. It printed {} lines.", ran.stdout.trim().lines().count()),
        Ended::Exited(code) if ran.stderr.trim().is_empty() => format!("It failed, with exit code {code}."),
        Ended::Exited(code) => format!("It failed, with exit code {code}: {}", last(&ran.stderr)),
        Ended::Signaled(_) => "It crashed.".into(),
        Ended::TimedOut => "It took too long, so I stopped it.".into(),
        Ended::OutOfMemory => "It needed too much memory, so I stopped it.".into(),
        Ended::OutputLimit => "It printed too much, so I stopped it.".into(),
        Ended::DiskFull => "It wrote too much to the disk, so I stopped it.".into(),
        Ended::Stopped => "It was stopped.".into(),
    }
}
