//! The process that decodes: reads one task and one file, answers, and ends.

use crate::{
    fault::{Fault, Result},
    make, pdf, picture, read,
    task::{Answer, Task},
};
use std::{
    io::{self, Read, Write},
    panic,
};

/// The part of Hob's binary that decodes; `main` passes it to [`process_sandbox::enter_with`].
pub const PART: process_sandbox::Part = process_sandbox::Part { name: "decoders", run: serve };

/// The longest task, in bytes.
const LONGEST_TASK: usize = 4 << 20;

fn serve() -> i32 {
    // Whoever reads the answer says what happened.
    panic::set_hook(Box::new(|_| {}));
    let outcome = match receive() {
        Ok((task, bytes)) => panic::catch_unwind(|| decode(&task, bytes)).unwrap_or_else(|_| {
            Err(Fault::Broken("the decoder stumbled over it: the document is damaged, or made to do harm".into()))
        }),
        Err(_) => return 2,
    };
    let answer = postcard::to_stdvec(&outcome).unwrap_or_default();
    match io::stdout().write_all(&answer).and_then(|()| io::stdout().flush()) {
        Ok(()) => 0,
        Err(_) => 3,
    }
}

/// The task behind its length, then the file up to the end.
fn receive() -> io::Result<(Task, Vec<u8>)> {
    let mut input = io::stdin().lock();
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_TASK {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut task = vec![0; length];
    input.read_exact(&mut task)?;
    let task = postcard::from_bytes(&task).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut bytes = vec![];
    input.read_to_end(&mut bytes)?;
    Ok((task, bytes))
}

/// What is sent before the file.
pub(crate) fn header(task: &Task) -> Vec<u8> {
    let task = postcard::to_stdvec(task).unwrap_or_default();
    let length = u32::try_from(task.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &task].concat()
}

/// Does a task. Pure: no files, no clock, no threads.
pub(crate) fn decode(task: &Task, bytes: Vec<u8>) -> Result<Answer> {
    match task {
        Task::Read(task) => read::read(task, bytes).map(Answer::Document),
        Task::PdfInfo { password } => pdf::info(bytes, password.as_deref()).map(Answer::PdfInfo),
        Task::Resize(task) => picture::resize(task, &bytes).map(Answer::Picture),
        Task::MakePdf(task) => make::make(task).map(Answer::MadePdf),
    }
}
