//! The daemon: builds the application, listens, and runs until it is asked to stop.

use super::{
    factory_reset::{self, AtStart},
    notify,
    restart::{self, Listened},
    voice,
};
use crate::{
    config::{COMMENTED, Config, Network},
    house,
};
use anyhow::{Context, Result, bail};
use api::{AppState, Certificate, Leave, Listeners, Tls, bracketed};
use discovery::{Announced, Announcer};
use identity::ClaimConfig;
use scrub::Scrubber;
use std::{
    io::Write,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// The local socket's name in the data folder.
pub const SOCKET: &str = "hob.sock";
/// The file in it that holds the claim code until the device is claimed.
const CODE: &str = "claim-code";
/// The default TLS port.
const TLS: u16 = 4621;
/// Maximum size of a file with one line of text, in bytes.
const MAX_LINE_FILE: u64 = 4096;
/// Maximum number of crash files.
const MAX_CRASH_FILES: usize = 20;
/// Name of the thread that writes a crash file, and how long the panicking thread waits for it.
const CRASH_THREAD: &str = "crash";
const CRASH_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay after which the code that only a start needs is dropped from memory.
const START_OVER_AFTER: Duration = Duration::from_secs(8);
/// Time for runs that wait for a person to be suspended.
const SUSPEND_TIMEOUT: Duration = Duration::from_millis(50);
/// Time for runs to stop before the listeners close.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The exit code after switching off, and that asks the image to do so: see `firmware-image/root/etc/hob/serve`.
const OFF: u8 = ::update::POWER_OFF_CODE;

/// How the daemon ended.
#[derive(Debug)]
enum End {
    /// It received a stop signal.
    Stopped,
    /// Nothing is to start it again: the device is switched off, or the image is to do that, which Hob's user may not.
    Off,
    /// The same program is to start again, at these addresses.
    Again(Listened),
    /// The same program is to start again as it was started.
    Anew,
    /// The program of the slot whose turn it is starts: by the supervisor, or by a command that restarts the machine.
    Switch(Vec<String>),
}

/// `hob serve`: a factory reset, if one was asked for, then the daemon, and what follows it.
///
/// # Errors
/// When the daemon cannot start, or not start again.
pub async fn serve(data: &Path, config: impl Fn() -> Result<Config>, scrubber: Scrubber) -> Result<ExitCode> {
    if std::env::var_os(::update::SLOTS_VARIABLE).is_some() {
        ::update::supervise::end_with_supervisor();
    }
    // From here on, because a reset, a button that is held and restoring a large backup take long.
    tokio::spawn(notify::keep_alive());
    let mut is_reset = false;
    let config = loop {
        // Before the configuration is read: it goes, too.
        match factory_reset::finish_at_start(data)? {
            AtStart::None => {}
            AtStart::Done => is_reset = true,
            AtStart::Restart => {
                tracing::warn!("the machine restarts, which completes the factory reset");
                return Ok(ExitCode::from(super::update::SWITCH));
            }
        }
        let config = config()?;
        if is_reset {
            factory_reset::use_up_file(&config);
        }
        // Once in a start: the button may be held longer.
        if is_reset || !factory_reset::asked_at_start(&config, data).await? {
            break config;
        }
    };
    match daemon(config, data, scrubber).await? {
        End::Stopped => Ok(ExitCode::SUCCESS),
        End::Off => Ok(ExitCode::from(OFF)),
        End::Again(addresses) => restart::start_again(Some(addresses)).map(|()| ExitCode::SUCCESS),
        End::Anew => restart::start_again(None).map(|()| ExitCode::SUCCESS),
        End::Switch(command) => {
            if let Some((program, arguments)) = command.split_first() {
                let ran = std::process::Command::new(program).args(arguments).status();
                ran.with_context(|| format!("could not restart the device by `{}`: restart it", command.join(" ")))?;
            }
            Ok(ExitCode::from(super::update::SWITCH))
        }
    }
}

/// Runs until SIGTERM or SIGINT, or until a restart is requested.
async fn daemon(config: Config, data: &Path, scrubber: Scrubber) -> Result<End> {
    let stop_signal = stop_requested();
    let (listen, doors, outside) = (config.listen.clone(), config.doors.clone(), config.network.clone());
    let voice = config.wyoming.listen.clone();
    let lifetime = Duration::from_secs(doors.claim_seconds);
    let claiming = ClaimConfig { lifetime, preset: chosen_code()?, file: Some(data.join(CODE)) };
    let entry = house::Entry { token: token()?, claiming, scrubber: scrubber.clone() };
    let (mut parts, settings, background) = house::build(config, data, entry)?;
    parts.lasting = true;
    let house = AppState::from(parts);
    write_panics(data.join("crash"), scrubber);
    write_commented_config(data);
    remove_partial_backups(data);
    let socket = open_socket(data)?;
    let tcp = bind(&listen, "--listen").await?;
    let at = tcp.local_addr()?;
    let tls = bind_tls(&doors.tls, at, listen.ends_with(":0"), &house).await?;
    let door = match &tls {
        Some((listener, certificate)) => {
            Some(Tls { port: listener.local_addr()?.port(), fingerprint: certificate.fingerprint() })
        }
        None => None,
    };
    let tls_at = tls.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?;
    house.network.opened(at, door.clone());
    let voice = voice::bind(&voice, at, listen.ends_with(":0")).await?;
    let (closing, agent) = (house.closing.clone(), house.agent.clone());
    let (questions, restart) = (house.interactions.questions().clone(), house.restart.clone());
    // A stop signal during a restart wins over the restart.
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        stop_signal.await;
        signalled.cancel();
    });
    let (asked, power) = (stop.clone(), house.care.power.clone());
    let end_of_power = power.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = asked.cancelled() => notify::stopping(),
            () = restart.asked() => {}
            () = end_of_power.asked() => asked.cancel(),
        }
        tracing::info!("closing");
        // Runs end first, so that their listeners receive the last event. Runs that wait for a person are suspended.
        questions.suspend_all();
        tokio::time::sleep(SUSPEND_TIMEOUT).await;
        agent.stop_all(STOP_TIMEOUT).await;
        closing.cancel();
    });
    let listeners = Listeners { tcp: Some(tcp), tls, socket };
    home::wyoming::clear(&house.agent, &house.ports).await?;
    // Recovered runs take their place in the queue before the first request.
    house.agent.recover(&house.ports)?;
    let serving = tokio::spawn(api::serve(house.clone(), listeners)?);
    let reached = house.settings.clone();
    background.start_updates(at, move || !reached.addresses().is_empty(), &house.closing);
    let updates = background.updates.clone();
    let calling = background.start(&house.closing)?;
    print_access(&house, data, at, door.as_ref());
    // Ignore write errors.
    let _ = writeln!(std::io::stdout(), "hob ready {}", local_link(at)).and_then(|()| std::io::stdout().flush());
    notify::ready();
    tracing::info!(data = %data.display(), model = house.agent.model(), tools = house.registry.tools().len(), "ready");
    tokio::spawn(house.closing.clone().run_until_cancelled_owned(async {
        tokio::time::sleep(START_OVER_AFTER).await;
        embed::release_code_pages();
    }));
    let voice_port = voice::serve(voice, &house)?;
    let announcer = announce(&house, &outside, at, door, voice_port);
    settings.announce_with(announcer.clone());
    let (mut names, network) = (announcer.names(), house.network.clone());
    tokio::spawn(async move {
        loop {
            if let Some(name) = names.borrow_and_update().clone() {
                network.announced(&name);
            }
            if names.changed().await.is_err() {
                return;
            }
        }
    });
    let closing = &house.closing;
    let serving = async {
        let served = serving.await;
        closing.cancel();
        served
    };
    let leaving = async {
        closing.cancelled().await;
        announcer.stop().await;
    };
    tokio::join!(serving, leaving).0.context("the listeners failed")?;
    let _ = calling.await;
    // Before the data is released: after that, a new process may have created its own socket.
    let _ = std::fs::remove_file(data.join(SOCKET));
    let leave = house.restart.leave();
    house::close(house).await;
    let (is_supervised, is_off) = (std::env::var_os(::update::SLOTS_VARIABLE).is_some(), power.finish());
    if power.is_asked() && (is_supervised || !is_off && factory_reset::is_image(data)) {
        return Ok(End::Off);
    }
    Ok(match leave.filter(|_| !stop.is_cancelled()) {
        None => End::Stopped,
        Some(Leave::Again) => End::Again(Listened { listen: at, tls: tls_at }),
        Some(Leave::Anew) => End::Anew,
        Some(Leave::Switch) => End::Switch(updates.switch_command()),
    })
}

/// Prints the certificate's fingerprint on the console and, until the device is claimed, links to claim it.
fn print_access(house: &AppState, data: &Path, at: SocketAddr, door: Option<&Tls>) {
    if let Some(door) = door {
        let (port, print) = (door.port, &door.fingerprint);
        let _ = writeln!(std::io::stderr(), "  https on port {port}, certificate SHA-256 {print}");
    }
    if house.identity.is_claimed() {
        let _ = std::fs::remove_file(data.join(CODE));
        return;
    }
    let mut links = vec![local_link(at)];
    if let Some(door) = door.filter(|_| !at.ip().is_loopback()) {
        let addresses = house.settings.addresses().into_iter().take(3);
        links.extend(addresses.map(|ip| format!("https://{}:{}", bracketed(ip), door.port)));
    }
    house.identity.show_claim_code(links);
    tokio::spawn(house.closing.clone().run_until_cancelled_owned(house.identity.clone().renew_claim_code()));
}

/// Announces the device over mDNS, unless that is turned off.
fn announce(house: &AppState, outside: &Network, at: SocketAddr, door: Option<Tls>, voice: Option<u16>) -> Announcer {
    if !outside.announce {
        return Announcer::off("announcing is turned off by --no-mdns or hob.toml");
    }
    let announced = Announced {
        name: house.settings.name(),
        id: house.store.device_id().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        port: at.port(),
        tls: door.map(|door| discovery::Tls { port: door.port, fingerprint: door.fingerprint }),
        voice,
        claimed: house.identity.is_claimed(),
        listens: at.ip(),
    };
    let announcer = Announcer::start(announced, outside.ignore.clone());
    if let Some(why) = announcer.why() {
        tracing::info!("not announced on the network: {why}");
    }
    announcer
}

/// Binds the TLS listener: to the configured address, else to the default port of the same address. Takes any free port when
/// that port is in use, or `any` is set; the page, the log and mDNS tell which.
async fn bind_tls(
    configured: &str,
    at: SocketAddr,
    any: bool,
    house: &AppState,
) -> Result<Option<(TcpListener, Certificate)>> {
    let listener = match configured {
        "off" => return Ok(None),
        "" => {
            let usual = SocketAddr::new(at.ip(), if any { 0 } else { TLS });
            match TcpListener::bind(usual).await {
                Ok(listener) => listener,
                Err(error) => {
                    tracing::warn!(%error, "TLS cannot listen on its usual port {TLS} and takes another");
                    bind(&SocketAddr::new(at.ip(), 0).to_string(), "--tls").await?
                }
            }
        }
        address => bind(address, "--tls").await?,
    };
    let certificate = Certificate::of_device(&house.store, &house.settings.name()).await?;
    Ok(Some((listener, certificate)))
}

/// Reads the claim code from the file that HOB_CLAIM_FILE names: for devices without a console.
fn chosen_code() -> Result<Option<String>> {
    let Some(file) = std::env::var_os("HOB_CLAIM_FILE").filter(|f| !f.is_empty()) else { return Ok(None) };
    let text = read_line_file("HOB_CLAIM_FILE", Path::new(&file))?;
    Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
}

/// Reads a file of one line. Refuses pipes and the like instead of waiting for them.
fn read_line_file(variable: &str, file: &Path) -> Result<String> {
    let shown = file.display();
    let about = std::fs::metadata(file).with_context(|| format!("could not read {variable} {shown}"))?;
    if !about.is_file() || about.len() > MAX_LINE_FILE {
        bail!("{variable} {shown} is not a file with one line of text");
    }
    std::fs::read_to_string(file).with_context(|| format!("could not read {variable} {shown}"))
}

/// Reads the admin token for unattended set-up from HOB_TOKEN_FILE or HOB_TOKEN.
fn token() -> Result<Option<String>> {
    if let Some(file) = std::env::var_os("HOB_TOKEN_FILE").filter(|f| !f.is_empty()) {
        let file = PathBuf::from(file);
        return Ok(Some(read_line_file("HOB_TOKEN_FILE", &file)?.trim().to_owned()));
    }
    Ok(std::env::var("HOB_TOKEN").ok().filter(|t| !t.is_empty()).map(|t| t.trim().to_owned()))
}

/// Opens the local socket in the data folder.
pub fn open_socket(data: &Path) -> Result<tokio::net::UnixListener> {
    let path = data.join(SOCKET);
    Listeners::socket(&path).with_context(|| {
        format!(
            "could not open the local socket {}: a path of more than 100 characters is too long; choose another --data",
            path.display()
        )
    })
}

async fn bind(listen: &str, flag: &str) -> Result<TcpListener> {
    let address: SocketAddr = listen
        .parse()
        .with_context(|| format!("`{listen}` is not an address to listen on: write it as 127.0.0.1:4620"))?;
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => {
            bail!("another program already listens on {address}: stop it, or choose another address with {flag}")
        }
        Err(e) => bail!("could not listen on {address} ({e}): choose another address with --listen"),
    }
}

/// A link for use on this device, also when Hob listens on all addresses.
fn local_link(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("http://127.0.0.1:{}", address.port()),
        false => format!("http://{address}"),
    }
}

/// Resolves at the first SIGTERM or SIGINT. Installs the handlers in this call, not at the first poll, so that an early signal
/// is not lost.
fn stop_requested() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut int)) = signals else {
            tracing::error!("cannot receive signals; only SIGKILL stops this process");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
}

/// Writes the commented configuration into a new data folder.
fn write_commented_config(data: &Path) {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(data.join("hob.toml"));
    if let Ok(mut file) = file {
        let _ = file.write_all(COMMENTED.as_bytes());
    }
}

/// Removes backups that a power cut or a broken upload left incomplete: plain files with exactly the names they are written
/// under.
fn remove_partial_backups(data: &Path) {
    let is_copy = |name: &str| {
        let id = name.strip_prefix("backup-").map(|name| name.strip_suffix(".part").unwrap_or(name));
        id.and_then(|name| name.strip_suffix(".tmp")).is_some_and(|id| id.parse::<tool::Id>().is_ok())
            || name.starts_with(api::UPLOAD.0) && name.ends_with(api::UPLOAD.1)
    };
    for file in std::fs::read_dir(data).into_iter().flatten().flatten() {
        if file.file_name().to_str().is_some_and(is_copy) && file.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// Writes panics to `dir`, without secrets, and to standard error.
fn write_panics(dir: PathBuf, scrubber: Scrubber) {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A damaged file may panic its reader, which reports it.
        if store::is_quiet() {
            return;
        }
        let text =
            format!("hob {}\n{panic}\n{}", env!("CARGO_PKG_VERSION"), std::backtrace::Backtrace::force_capture());
        // On a separate thread with a timeout: the scrubber may have panicked while this thread holds its lock.
        if std::thread::current().name() != Some(CRASH_THREAD) {
            let (dir, scrubber) = (dir.clone(), scrubber.clone());
            let write = move || write_crash(&dir, &scrubber.text(&text, scrub::How::All));
            if let Ok(writing) = std::thread::Builder::new().name(CRASH_THREAD.into()).spawn(write) {
                let began = std::time::Instant::now();
                while !writing.is_finished() && began.elapsed() < CRASH_TIMEOUT {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        default_hook(panic);
        // Any other thread goes on; without this one the daemon ends.
        if std::thread::current().name() == Some("main") {
            board::fail_safe_all();
        }
    }));
}

fn write_crash(dir: &Path, text: &str) {
    let _ = std::fs::create_dir_all(dir);
    let _ = std::fs::write(dir.join(format!("{}.txt", tool::Id::new())), text);
    let mut kept: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|f| f.path()).collect();
    // Names begin with the time.
    kept.sort();
    kept.iter().rev().skip(MAX_CRASH_FILES).for_each(|old| drop(std::fs::remove_file(old)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_kept_without_secrets_and_the_oldest_goes() {
        let dir = std::env::temp_dir().join(format!("hob-crash-{}", tool::Id::new()));
        let scrubber = Scrubber::default();
        scrubber.add("of-the-vault-7714");
        write_panics(dir.clone(), scrubber.clone());
        let panics = |text: String| {
            let _ = std::thread::spawn(move || std::panic::panic_any(text)).join();
        };
        // A full disk or a slow machine may keep a file waiting after the panic has passed.
        let soon = |so: &dyn Fn(&[PathBuf]) -> bool| {
            for _ in 0..3000 {
                let files: Vec<_> = std::fs::read_dir(&dir).into_iter().flatten().map(|f| f.unwrap().path()).collect();
                if so(&files) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("the crash files are not as expected after 30 seconds");
        };
        let has =
            |files: &[PathBuf], what| files.iter().any(|f| std::fs::read_to_string(f).is_ok_and(|t| t.contains(what)));
        panics("it broke at of-the-vault-7714".into());
        soon(&|files| has(files, "it broke at [REDACTED]") && !has(files, "7714"));
        (0..MAX_CRASH_FILES).for_each(|n| panics(format!("again {n}")));
        let _ = std::panic::take_hook();
        soon(&|files| files.len() == MAX_CRASH_FILES && !has(files, "it broke"));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
