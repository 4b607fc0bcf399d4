//! A job that runs, from Hob's side.

use crate::{
    Error, Result,
    explain::explain,
    frame::{Frame, source},
    inside::NAME,
    job::{Access, Chunk, Ended, Finished, Job, LayerState, Network, Stdin, Stream, TerminalSize},
    network, sys,
    wire::{self, MountSpec, Report, STOP, Spec},
};
use futures::future::Either;
use rustix::{
    fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    io,
    net::TcpListener,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream as StdStream},
    },
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest, unix::AsyncFd},
    net::{UnixStream, unix::pipe},
    process::{Child, Command},
    runtime::Handle,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// For the namespaces, the mounts and the program's start.
const START: Duration = Duration::from_secs(20);
/// Between asking for the end and forcing it.
const GRACE: Duration = Duration::from_secs(2);
const CHUNK: usize = 16 << 10;

/// A running program. Dropping it ends the program and all that it started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    control: Arc<Control>,
    received: Vec<u8>,
    out: Option<pipe::Receiver>,
    err: Option<pipe::Receiver>,
    terminal: Option<AsyncFd<OwnedFd>>,
    stdin: Option<pipe::Sender>,
    /// Stopped with the process: the proxy, the writer of the input, and the clock.
    tasks: Vec<JoinHandle<()>>,
    began: Instant,
    output: u64,
    output_limit: u64,
    truncated: bool,
    ended: Option<(Ended, Duration)>,
}

/// Ends a process from elsewhere.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Control>);

impl Stopper {
    pub fn stop(&self) {
        self.0.stop(Ended::Stopped);
    }
}

#[derive(Debug)]
struct Control {
    socket: UnixStream,
    /// The first process, by a handle that never names another one.
    outer: OwnedFd,
    /// Why Hob ended it, the first time.
    reason: Mutex<Option<Ended>>,
}

impl Control {
    fn stop(self: &Arc<Self>, reason: Ended) {
        {
            let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_some() {
                return;
            }
            *first = Some(reason);
        }
        // A job that has ended hears nothing.
        let _ = wire::send(&self.socket, &[STOP], &[]);
        let Ok(runtime) = Handle::try_current() else { return self.kill() };
        let control = self.clone();
        runtime.spawn(async move {
            sleep(GRACE).await;
            control.kill();
        });
    }

    fn kill(&self) {
        let _ = pidfd_send_signal(&self.outer, Signal::KILL);
    }

    fn reason(&self) -> Option<Ended> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a program, and says which layers hold.
pub async fn start(frame: Frame, job: Job) -> Result<(Process, Vec<LayerState>)> {
    let program = job.part.map_or_else(|| job.program.display().to_string(), str::to_owned);
    let spec = spec(frame, &job)?;
    let failed = |error: io::Error| Error::Failed(error.to_string());
    let (ours, theirs) = StdStream::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let pipes = Pipes::new(&job).map_err(failed)?;
    let mut child = Command::new("/proc/self/exe")
        .arg0(NAME)
        // A test binary that does not enter the sandbox lists its tests and ends, rather than running them.
        .arg("--list")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let pid = child
        .id()
        .and_then(|pid| Pid::from_raw(pid.cast_signed()))
        .ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let outer = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let control = Control { socket: UnixStream::from_std(ours).map_err(failed)?, outer, reason: Mutex::default() };

    let mut received = (Vec::new(), Vec::new());
    let report = timeout(START, async {
        send_all(&control.socket, &wire::encode(&spec)?, &pipes.theirs).await?;
        receive_one(&control.socket, &mut received.0, &mut received.1).await
    });
    let layers = match report.await {
        Ok(Ok(Report::Started(layers))) => layers,
        Ok(Ok(Report::Failed(problem))) => return Err(explain(problem, &program)),
        Ok(Ok(Report::Ended { .. })) => return Err(failed(io::ErrorKind::InvalidData.into())),
        Ok(Err(error)) => {
            let _ = child.start_kill();
            return Err(Error::Failed(format!("its first process ended without a word ({error})")));
        }
        Err(_) => return Err(Error::Failed(format!("it took more than {} seconds", START.as_secs()))),
    };
    let process = Process::new(child, control, job, pipes, received).map_err(failed)?;
    Ok((process, layers))
}

/// Both ends of what becomes the program's input and output. Nothing with a terminal, which comes from inside.
#[derive(Default)]
struct Pipes {
    theirs: Vec<OwnedFd>,
    stdin: Option<OwnedFd>,
    out: Option<OwnedFd>,
    err: Option<OwnedFd>,
}

impl Pipes {
    fn new(job: &Job) -> io::Result<Self> {
        if job.terminal.is_some() {
            return Ok(Self::default());
        }
        let (input, stdin) = match job.stdin {
            Stdin::Empty => (OwnedFd::from(std::fs::File::open("/dev/null")?), None),
            Stdin::Bytes(_) | Stdin::Open => {
                let (read, write) = io::pipe()?;
                (read.into(), Some(write.into()))
            }
        };
        let ((out, out_in), (err, err_in)) = (io::pipe()?, io::pipe()?);
        Ok(Self {
            theirs: vec![input, out_in.into(), err_in.into()],
            stdin,
            out: Some(out.into()),
            err: Some(err.into()),
        })
    }
}

fn spec(frame: Frame, job: &Job) -> Result<Spec> {
    let bad = |text: String| Error::BadJob(text);
    let mut env: Vec<(String, String)> = [
        ("PATH", frame.path.as_str()),
        ("HOME", "/tmp"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("USER", "hob"),
        ("LOGNAME", "hob"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    if job.terminal.is_some() {
        env.push(("TERM".into(), "xterm-256color".into()));
    }
    if matches!(job.network, Network::Guarded(_)) {
        env.extend(network::environment());
    }
    for (name, value) in &job.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(bad(format!("`{name}` is no name for the environment, or its value has a null byte")));
        }
        env.retain(|(other, _)| other != name);
        env.push((name.clone(), value.clone()));
    }
    if !job.dir.is_absolute() {
        return Err(bad(format!("the working folder {} is no absolute path", job.dir.display())));
    }
    let mut mounts = Vec::new();
    for mount in &job.mounts {
        let gone = || bad(format!("the folder for {} is gone", mount.target.display()));
        let stat = fstat(&mount.source).map_err(|_| gone())?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !kind.is_dir() && !kind.is_file() {
            return Err(bad(format!("only folders and files can be mounted at {}", mount.target.display())));
        }
        mounts.push(MountSpec {
            source: source(&mount.source)?.ok_or_else(gone)?,
            is_folder: kind.is_dir(),
            target: mount.target.as_os_str().as_bytes().to_vec(),
            read_only: mount.access == Access::ReadOnly,
            covered: mount.covered.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
        });
    }
    // A folder comes before what is mounted in it.
    mounts.sort_by_key(|mount| mount.target.iter().filter(|byte| **byte == b'/').count());
    Ok(Spec {
        program: job.program.as_os_str().as_bytes().to_vec(),
        part: job.part.map(str::to_owned),
        args: job.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env: env.into_iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect(),
        dir: job.dir.as_os_str().as_bytes().to_vec(),
        // Code that is there already reads no file.
        base: if job.part.is_some() { Vec::new() } else { frame.base },
        mounts,
        protected: frame.protected,
        mountable: frame.mountable,
        limits: job.limits.clone(),
        terminal: job.terminal,
        proxy: matches!(job.network, Network::Guarded(_)),
    })
}

async fn send_all(socket: &UnixStream, bytes: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    let (mut sent, mut beside) = (0, &fds[..]);
    while sent < bytes.len() {
        sent += socket.async_io(Interest::WRITABLE, || wire::send(socket, &bytes[sent..], beside)).await?;
        beside = &[];
    }
    Ok(())
}

async fn receive_one(socket: &UnixStream, buffer: &mut Vec<u8>, fds: &mut Vec<OwnedFd>) -> io::Result<Report> {
    loop {
        if let Some(report) = wire::decode(buffer)? {
            return Ok(report);
        }
        if socket.async_io(Interest::READABLE, || wire::receive(socket, buffer, fds)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

impl Process {
    fn new(
        child: Child,
        control: Control,
        job: Job,
        pipes: Pipes,
        received: (Vec<u8>, Vec<OwnedFd>),
    ) -> io::Result<Self> {
        let (received, fds) = received;
        let mut fds = fds.into_iter();
        let reader = |fd: Option<OwnedFd>| {
            fd.map(|fd| nonblocking(&fd).and_then(|()| pipe::Receiver::from_owned_fd(fd))).transpose()
        };
        let (out, err) = (reader(pipes.out)?, reader(pipes.err)?);
        let stdin =
            pipes.stdin.map(|fd| nonblocking(&fd).and_then(|()| pipe::Sender::from_owned_fd(fd))).transpose()?;
        let terminal = match job.terminal.and_then(|_| fds.next()) {
            Some(fd) => {
                nonblocking(&fd)?;
                Some(sys::watched(fd)?)
            }
            None => None,
        };
        let control = Arc::new(control);
        let mut process = Self {
            child,
            control: control.clone(),
            received,
            out,
            err,
            terminal,
            stdin,
            tasks: Vec::new(),
            began: Instant::now(),
            output: 0,
            output_limit: job.limits.output,
            truncated: false,
            ended: None,
        };
        if let (Network::Guarded(gate), Some(listener)) = (job.network, fds.next()) {
            process.tasks.push(tokio::spawn(network::serve(TcpListener::from(listener), gate)));
        }
        if let Stdin::Bytes(bytes) = job.stdin {
            process.feed(bytes)?;
        }
        let wall = job.limits.wall;
        process.tasks.push(tokio::spawn(async move {
            sleep(wall).await;
            control.stop(Ended::TimedOut);
        }));
        Ok(process)
    }

    /// Writes the whole input while the program runs.
    fn feed(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        let terminal = self.terminal.as_ref().map(|fd| sys::watched(fd.get_ref().try_clone()?)).transpose()?;
        let stdin = self.stdin.take();
        // A program that does not read all of its input does as it likes.
        self.tasks.push(tokio::spawn(async move {
            if let Some(terminal) = terminal {
                let _ = write_terminal(&terminal, &bytes).await;
            } else if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&bytes).await;
            }
        }));
        Ok(())
    }

    /// The next output. `None` when there will be no more; then [`Process::wait`] says how it ended. Can be cancelled.
    pub async fn next(&mut self) -> Option<Chunk> {
        loop {
            let mut chunk = self.read().await?;
            let room = self.output_limit.saturating_sub(self.output);
            self.output = self.output.saturating_add(chunk.bytes.len() as u64);
            if self.output > self.output_limit {
                self.truncated = true;
                self.control.stop(Ended::OutputLimit);
                chunk.bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            }
            if !chunk.bytes.is_empty() {
                return Some(chunk);
            }
        }
    }

    async fn read(&mut self) -> Option<Chunk> {
        let mut bytes = vec![0; CHUNK];
        if let Some(terminal) = &self.terminal {
            let read = |fd: &OwnedFd| Ok(rustix::io::read(fd, &mut bytes[..])?);
            // A terminal without a program is an error.
            let length = terminal.async_io(Interest::READABLE, read).await.unwrap_or(0);
            bytes.truncate(length);
            return (length > 0).then_some(Chunk { stream: Stream::Terminal, bytes });
        }
        loop {
            let (out, err) = (&mut self.out, &mut self.err);
            let mut other = vec![0; CHUNK];
            let got = match (out.as_mut(), err.as_mut()) {
                (None, None) => return None,
                (Some(out), None) => Either::Left(out.read(&mut bytes).await),
                (None, Some(err)) => Either::Right(err.read(&mut other).await),
                (Some(out), Some(err)) => tokio::select! {
                    got = out.read(&mut bytes) => Either::Left(got),
                    got = err.read(&mut other) => Either::Right(got),
                },
            };
            match got {
                Either::Left(Ok(length)) if length > 0 => {
                    bytes.truncate(length);
                    return Some(Chunk { stream: Stream::Out, bytes });
                }
                Either::Right(Ok(length)) if length > 0 => {
                    other.truncate(length);
                    return Some(Chunk { stream: Stream::Err, bytes: other });
                }
                Either::Left(_) => self.out = None,
                Either::Right(_) => self.err = None,
            }
        }
    }

    /// Writes to the standard input, or types into the terminal. An error if the program reads no more.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match (&self.terminal, &mut self.stdin) {
            (Some(terminal), _) => write_terminal(terminal, bytes).await,
            (None, Some(stdin)) => stdin.write_all(bytes).await,
            (None, None) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the standard input. A terminal has no end: type Ctrl-D (`\x04`) there.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Another size of the terminal, of which the program is told.
    pub fn resize(&self, size: TerminalSize) {
        if let Some(terminal) = &self.terminal {
            let _ = sys::set_terminal_size(terminal.get_ref().as_fd(), size.rows, size.columns);
        }
    }

    /// Ends the program and all that it started.
    pub fn stop(&self) {
        self.control.stop(Ended::Stopped);
    }

    /// Ends it from elsewhere, while another task waits for output.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.control.clone())
    }

    /// Whether output is missing because it was too much.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Processor time of all its processes. Known at the end.
    pub fn cpu(&self) -> Duration {
        self.ended.map_or(Duration::ZERO, |(_, cpu)| cpu)
    }

    /// Waits for the end. Output that was not read by then is dropped.
    pub async fn wait(&mut self) -> Ended {
        if let Some((ended, _)) = self.ended {
            return ended;
        }
        while self.next().await.is_some() {}
        let report = receive_one(&self.control.socket, &mut self.received, &mut Vec::new()).await.ok();
        self.control.kill();
        let _ = self.child.wait().await;
        let (how, cpu) = match report {
            Some(Report::Ended { how, cpu_ms }) => (how, Duration::from_millis(cpu_ms)),
            _ => (Ended::Stopped, Duration::ZERO),
        };
        let ended = match (how, self.control.reason()) {
            (Ended::Stopped, Some(reason)) => reason,
            (Ended::Stopped, None) => Ended::Signaled(libc::SIGKILL),
            _ if self.truncated => Ended::OutputLimit,
            (how, _) => how,
        };
        self.ended = Some((ended, cpu));
        ended
    }

    /// Collects the output up to the end.
    pub(crate) async fn collect(mut self, cancel: &CancellationToken) -> Result<Finished> {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            let chunk = tokio::select! {
                chunk = self.next() => chunk,
                () = cancel.cancelled(), if self.control.reason().is_none() => {
                    self.stop();
                    continue;
                }
            };
            match chunk {
                Some(Chunk { stream: Stream::Err, bytes }) => err.extend(bytes),
                Some(chunk) => out.extend(chunk.bytes),
                None => break,
            }
        }
        let stopper = self.stopper();
        let ended = tokio::select! {
            ended = self.wait() => ended,
            () = async { cancel.cancelled().await; stopper.stop(); std::future::pending().await } => Ended::Stopped,
        };
        Ok(Finished { ended, out, err, truncated: self.truncated, wall: self.began.elapsed(), cpu: self.cpu() })
    }
}

async fn write_terminal(terminal: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        written += terminal.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, &bytes[written..])?)).await?;
    }
    Ok(())
}

impl Drop for Process {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        // The end of the first process ends the namespaces.
        self.control.kill();
    }
}
