//! What Hob and the process inside say to each other: frames of postcard over a socket, with file descriptors beside them.

use crate::job::{Ended, LayerState, Limits, TerminalSize};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// File descriptors in one message.
pub const MAX_FDS: usize = 4;
/// A frame is arguments and environment, and the kernel takes at most 2 MB of those.
const MAX_FRAME: usize = 8 << 20;

/// What is in a file system, whatever its path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

/// A path of the host, and what it has to lead to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    pub path: Vec<u8>,
    pub identity: Identity,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MountSpec {
    pub source: Source,
    pub is_folder: bool,
    pub target: Vec<u8>,
    pub read_only: bool,
    pub covered: Vec<Vec<u8>>,
}

/// The first frame, from Hob. With it come the standard input, output and error, unless there is a terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spec {
    pub program: Vec<u8>,
    pub part: Option<String>,
    pub args: Vec<Vec<u8>>,
    pub env: Vec<Vec<u8>>,
    pub dir: Vec<u8>,
    pub base: Vec<Vec<u8>>,
    pub mounts: Vec<MountSpec>,
    pub protected: Vec<Source>,
    pub mountable: Vec<Source>,
    pub limits: Limits,
    pub terminal: Option<TerminalSize>,
    pub proxy: bool,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Problem {
    /// The job asks for something that cannot be.
    Job(String),
    /// The program cannot be executed: the number of the error.
    Exec(i32),
    /// The step, and the number of the error.
    Step(String, i32),
}

/// Every other frame, from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The program runs. With it come the terminal and the proxy's socket, as far as there are any, in this order.
    Started(Vec<LayerState>),
    Failed(Problem),
    Ended {
        how: Ended,
        cpu_ms: u64,
    },
}

/// From Hob while the program runs, one byte.
pub const STOP: u8 = b'k';

/// Encodes a frame: its length, then postcard.
pub fn encode(frame: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(frame).map_err(|_| io::ErrorKind::InvalidData)?;
    let length =
        u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_FRAME).ok_or(io::ErrorKind::InvalidData)?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}

/// Takes a whole frame off the front of `buffer`, if there is one.
pub fn decode<T: DeserializeOwned>(buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some(head) = buffer.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(body) = buffer.get(4..4 + length) else { return Ok(None) };
    let frame = postcard::from_bytes(body).map_err(|_| io::ErrorKind::InvalidData)?;
    buffer.drain(..4 + length);
    Ok(Some(frame))
}

/// Sends some of the bytes, with descriptors beside the first of them.
pub fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL)?)
}

/// Sends a frame on a blocking socket.
pub fn send_all(socket: impl AsFd, frame: &impl Serialize, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = encode(frame)?;
    let mut sent = send(&socket, &bytes, fds)?;
    while sent < bytes.len() {
        sent += send(&socket, &bytes[sent..], &[])?;
    }
    Ok(())
}

/// Receives some bytes onto the end of `buffer`, and the descriptors beside them. 0 means that the other side has gone.
pub fn receive(socket: impl AsFd, buffer: &mut Vec<u8>, fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut chunk = [0; 16 << 10];
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut chunk)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    buffer.extend_from_slice(&chunk[..got.bytes]);
    Ok(got.bytes)
}

/// Receives one frame on a blocking socket.
pub fn receive_one<T: DeserializeOwned>(socket: impl AsFd, fds: &mut Vec<OwnedFd>) -> io::Result<T> {
    let mut buffer = Vec::new();
    loop {
        if let Some(frame) = decode(&mut buffer)? {
            return Ok(frame);
        }
        match receive(&socket, &mut buffer, fds) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
