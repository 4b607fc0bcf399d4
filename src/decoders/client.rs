//! Hob's side: starts a process that decodes, streams the file into it, and takes its answer within the limits.

use crate::{
    fault::{Fault, Result},
    serve::{PART, header},
    task::{Answer, Task},
};
use process_sandbox::{Ended, Job, Limits, ProcessSandbox, Stdin, Stream};
use std::{fs::File, io::Read, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How many decode at once, and how long others wait for their turn.
const AT_ONCE: usize = 2;
const TURN: Duration = Duration::from_secs(30);
/// The largest file, in bytes.
pub(crate) const LARGEST: u64 = 32 << 20;
/// What a decoder may use: memory in bytes, time on processors, time on the clock, bytes of its answer.
const MEMORY: u64 = 256 << 20;
const CPU: Duration = Duration::from_secs(30);
const WALL: Duration = Duration::from_secs(90);
const ANSWER: u64 = 48 << 20;
/// How much of a file is sent at once.
const BLOCK: usize = 64 << 10;

/// The decoders. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Decoders {
    sandbox: ProcessSandbox,
    turns: Arc<Semaphore>,
}

/// What is decoded.
#[derive(Debug)]
pub enum Input {
    /// A file, from its beginning, with its size.
    File(File, u64),
    Bytes(Vec<u8>),
}

impl Input {
    /// In bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl Decoders {
    pub fn new(sandbox: ProcessSandbox) -> Self {
        Self { sandbox, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Does a task over a file, in a process of its own.
    ///
    /// # Errors
    /// [`Fault`]: what is wrong with the file or the question, or why nothing is decoded here.
    pub async fn run(&self, task: &Task, input: Input, cancel: &CancellationToken) -> Result<Answer> {
        if let Some(why) = self.sandbox.refusal() {
            return Err(Fault::Unavailable(format!(
                "documents and pictures are decoded only in a sandbox, and this device cannot make one: {why}"
            )));
        }
        let size = input.size();
        if size > LARGEST {
            let most = LARGEST >> 20;
            return Err(Fault::TooLarge(format!(
                "the file has {} MB, more than the {most} MB that are decoded: split it, or make it smaller",
                size.div_ceil(1 << 20)
            )));
        }
        let turn = tokio::time::timeout(TURN, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Fault::Unavailable("too many documents are decoded at once: try again in a minute".into()));
        };
        let limits = Limits { wall: WALL, cpu: CPU, memory: MEMORY, processes: 1, output: ANSWER, ..Limits::default() };
        let job = Job { limits, stdin: Stdin::Open, ..Job::part(PART.name) };
        let unavailable = |error: process_sandbox::Error| Fault::Unavailable(error.to_string());
        let mut process = self.sandbox.start(job).await.map_err(unavailable)?;
        let mut blocks = Blocks { first: Some(header(task)), input };
        while let Some((block, rest)) = blocks.next().await? {
            blocks = rest;
            let sent = tokio::select! {
                sent = process.write(&block) => sent,
                () = cancel.cancelled() => return Err(cancelled()),
            };
            // One that reads no more has ended; how, is known below.
            if sent.is_err() {
                break;
            }
        }
        process.close_stdin();
        let (mut answer, mut told) = (vec![], vec![]);
        loop {
            let chunk = tokio::select! {
                chunk = process.next() => chunk,
                () = cancel.cancelled() => return Err(cancelled()),
            };
            match chunk {
                Some(chunk) if chunk.stream == Stream::Err && told.len() < 1024 => told.extend(chunk.bytes),
                Some(chunk) if chunk.stream == Stream::Out => answer.extend(chunk.bytes),
                Some(_) => {}
                None => break,
            }
        }
        let ended = process.wait().await;
        outcome(ended, &answer, &String::from_utf8_lossy(&told))
    }
}

fn cancelled() -> Fault {
    Fault::Unavailable("decoding was cancelled".into())
}

/// What the end of the process means.
fn outcome(ended: Ended, answer: &[u8], told: &str) -> Result<Answer> {
    let memory = || {
        Fault::TooLarge(format!(
            "decoding it takes more than {} MB of memory, so it was stopped: the document is too large, or made to do harm",
            MEMORY >> 20
        ))
    };
    match ended {
        Ended::Exited(0) => postcard::from_bytes::<Result<Answer>>(answer)
            .unwrap_or_else(|_| Err(Fault::Broken("the decoder answered with nothing that can be read".into()))),
        Ended::OutOfMemory => Err(memory()),
        Ended::Signaled(_) if told.contains("memory allocation") => Err(memory()),
        Ended::TimedOut => Err(Fault::TooLarge(format!(
            "decoding it takes more than {} s, so it was stopped: ask for fewer pages; the document is very large, or made to do harm",
            CPU.as_secs()
        ))),
        Ended::OutputLimit => {
            Err(Fault::TooLarge("what it holds is too much for one answer: ask for less of it".into()))
        }
        // A stack that is full ends the process like this.
        Ended::Signaled(_) => Err(Fault::Broken(
            "the decoder broke off: the document is nested too deeply, damaged, or made to do harm".into(),
        )),
        Ended::Exited(_) | Ended::DiskFull | Ended::Stopped => {
            Err(Fault::Unavailable("decoding broke off: try again".into()))
        }
    }
}

/// What is sent, piece by piece.
struct Blocks {
    first: Option<Vec<u8>>,
    input: Input,
}

impl Blocks {
    async fn next(mut self) -> Result<Option<(Vec<u8>, Self)>> {
        if let Some(first) = self.first.take() {
            return Ok(Some((first, self)));
        }
        match self.input {
            Input::Bytes(bytes) if bytes.is_empty() => Ok(None),
            Input::Bytes(bytes) => Ok(Some((bytes, Self { first: None, input: Input::Bytes(vec![]) }))),
            Input::File(mut file, left) => {
                let read = tokio::task::spawn_blocking(move || {
                    let mut block = vec![0; BLOCK.min(usize::try_from(left).unwrap_or(BLOCK))];
                    let length = file.read(&mut block)?;
                    block.truncate(length);
                    std::io::Result::Ok((block, file))
                });
                let failed = |why: &dyn std::fmt::Display| {
                    Fault::Unavailable(format!(
                        "the file could not be read ({why}): look whether its disk is connected"
                    ))
                };
                let (block, file) = read.await.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
                // A file that grows meanwhile is read up to the size it had.
                let left = left - block.len() as u64;
                Ok((!block.is_empty()).then(|| (block, Self { first: None, input: Input::File(file, left) })))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_the_process_has_its_words() {
        let fault = |ended, told: &str| outcome(ended, b"", told).unwrap_err();
        let oom = "memory allocation of 99 bytes failed";
        assert!(matches!(fault(Ended::Signaled(6), oom), Fault::TooLarge(why) if why.contains("memory")));
        assert!(matches!(fault(Ended::OutOfMemory, ""), Fault::TooLarge(_)));
        assert!(matches!(fault(Ended::TimedOut, ""), Fault::TooLarge(why) if why.contains("30 s")));
        assert!(matches!(fault(Ended::Signaled(11), ""), Fault::Broken(why) if why.contains("nested")));
        assert!(matches!(fault(Ended::Exited(0), ""), Fault::Broken(_)));
        assert!(matches!(fault(Ended::Exited(2), ""), Fault::Unavailable(_)));
        let answer = postcard::to_stdvec(&Result::<Answer>::Err(Fault::NeedsPassword)).unwrap();
        assert_eq!(outcome(Ended::Exited(0), &answer, ""), Err(Fault::NeedsPassword));
    }
}
