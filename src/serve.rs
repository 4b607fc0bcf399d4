//! The daemon: build the house, open its doors, wait for the end.

use crate::{
    config::{COMMENTED, Config, Network},
    house,
    restart::Doors,
};
use anyhow::{Context, Result, bail};
use api::{AppState, Certificate, Listeners, Tls, bracketed};
use discovery::{Announced, Announcer};
use identity::ClaimConfig;
use scrub::Scrubber;
use std::{
    io::Write,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// The local socket's name in the data folder.
pub const SOCKET: &str = "hob.sock";
/// The file in it that holds the claim code, as long as nobody has claimed the device.
const CODE: &str = "claim-code";
/// The usual port of the encrypted door.
const TLS: u16 = 4621;
/// The longest file with one line of text, in bytes.
const SHORT: u64 = 4096;
/// How many crash files are kept.
const CRASHES: usize = 20;
/// The thread that writes one, and how long whoever crashed waits for it.
const CRASH: &str = "crash";
const WRITING: Duration = Duration::from_secs(1);
/// When a start is over, and most of what it needed is not needed again.
const SETTLED: Duration = Duration::from_secs(8);
/// How long runs that wait for a person may take to come to rest.
const RESTING: Duration = Duration::from_millis(50);
/// How long runs may take to stop before the doors close.
const STOPPING: Duration = Duration::from_secs(2);

/// Runs until told to stop (SIGTERM, SIGINT), or to start again: then it answers at which doors.
pub async fn daemon(config: Config, data: &Path, scrubber: Scrubber) -> Result<Option<Doors>> {
    let stop_signal = stop_requested();
    let (listen, doors, outside) = (config.listen.clone(), config.doors.clone(), config.network.clone());
    let lifetime = Duration::from_secs(doors.claim_seconds);
    let claiming = ClaimConfig { lifetime, preset: chosen_code()?, file: Some(data.join(CODE)) };
    let entry = house::Entry { token: token()?, claiming, scrubber: scrubber.clone() };
    let (mut house, settings, clockwork) = house::build(config, data, entry)?;
    house.lasting = true;
    keep_crashes(data.join("crash"), scrubber);
    write_commented_config(data);
    remove_half_copies(data);
    let socket = open_socket(data)?;
    let tcp = bind(&listen, "--listen").await?;
    let at = tcp.local_addr()?;
    let tls = encrypted(&doors.tls, at, listen.ends_with(":0"), &house).await?;
    let door = match &tls {
        Some((listener, certificate)) => {
            Some(Tls { port: listener.local_addr()?.port(), fingerprint: certificate.fingerprint() })
        }
        None => None,
    };
    let tls_at = tls.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?;
    house.network.opened(at, door.clone());
    let (closing, agent, registry) = (house.closing.clone(), house.agent.clone(), house.registry.clone());
    let (interactions, restart) = (house.interactions.clone(), house.restart.clone());
    // Heard to the end: who is told to stop while it closes to start again stops.
    let stop = CancellationToken::new();
    let told_to_stop = stop.clone();
    tokio::spawn(async move {
        stop_signal.await;
        told_to_stop.cancel();
    });
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = asked.cancelled() => {}
            () = restart.asked() => {}
        }
        tracing::info!("closing");
        // Runs first: their listeners hear how they end, and then the doors close. Those that wait for a person rest.
        registry.rest();
        interactions.rest();
        tokio::time::sleep(RESTING).await;
        agent.stop_all(STOPPING).await;
        closing.cancel();
    });
    let listeners = Listeners { tcp: Some(tcp), tls, socket };
    // What was under way has its place again before anybody can say anything.
    house.agent.recover(&house.ports)?;
    let serving = tokio::spawn(api::serve(house.clone(), listeners)?);
    api::go_on_with_answered(&house);
    let calling = clockwork.start(&house.closing)?;
    tell_doors(&house, data, at, door.as_ref());
    // Whether anybody reads this is their affair.
    let _ = writeln!(std::io::stdout(), "hob ready {}", local_link(at)).and_then(|()| std::io::stdout().flush());
    tracing::info!(data = %data.display(), model = house.agent.model(), tools = house.registry.tools().len(), "ready");
    tokio::spawn(house.closing.clone().run_until_cancelled_owned(async {
        tokio::time::sleep(SETTLED).await;
        embed::let_go_of_code();
    }));
    let announcer = announce(&house, &outside, at, door);
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
    tokio::join!(serving, leaving).0.context("the doors broke")?;
    let _ = calling.await;
    // Before the data is let go: after that a successor may have made a socket of its own.
    let _ = std::fs::remove_file(data.join(SOCKET));
    let again = house.restart.is_asked();
    house::close(house).await;
    let again = again && !stop.is_cancelled();
    Ok(again.then_some(Doors { listen: at, tls: tls_at }))
}

/// Tells on the console how to come in: by which links while nobody has claimed the device, and by which certificate the
/// encrypted door is known.
fn tell_doors(house: &AppState, data: &Path, at: SocketAddr, door: Option<&Tls>) {
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
        let known = house.settings.addresses().into_iter().take(3);
        links.extend(known.map(|ip| format!("https://{}:{}", bracketed(ip), door.port)));
    }
    house.identity.show_claim_code(links);
    tokio::spawn(house.closing.clone().run_until_cancelled_owned(house.identity.clone().renew_claim_code()));
}

/// Makes the device known, unless it was told not to.
fn announce(house: &AppState, outside: &Network, at: SocketAddr, door: Option<Tls>) -> Announcer {
    if !outside.announce {
        return Announcer::off("it was told not to be found, by --no-mdns or hob.toml");
    }
    let announced = Announced {
        name: house.settings.name(),
        id: house.store.device_id().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        port: at.port(),
        tls: door.map(|door| discovery::Tls { port: door.port, fingerprint: door.fingerprint }),
        claimed: house.identity.is_claimed(),
        listens: at.ip(),
    };
    let announcer = Announcer::start(announced, outside.ignore.clone());
    if let Some(why) = announcer.why() {
        tracing::info!("not announced on the network: {why}");
    }
    announcer
}

/// The encrypted door: where it was configured, else at the same address on its usual port. Where another program has that
/// port any other will do, and so where any port was asked for: the page, the log and the network tell which.
async fn encrypted(
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

/// A claim code that was chosen beforehand, in the file HOB_CLAIM_FILE names: for devices without a console.
fn chosen_code() -> Result<Option<String>> {
    let Some(file) = std::env::var_os("HOB_CLAIM_FILE").filter(|f| !f.is_empty()) else { return Ok(None) };
    let text = short_text("HOB_CLAIM_FILE", Path::new(&file))?;
    Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
}

/// A file that holds a line of text. What is no plain file, such as a pipe, is not waited for.
fn short_text(variable: &str, file: &Path) -> Result<String> {
    let shown = file.display();
    let about = std::fs::metadata(file).with_context(|| format!("could not read {variable} {shown}"))?;
    if !about.is_file() || about.len() > SHORT {
        bail!("{variable} {shown} is not a file with one line of text");
    }
    std::fs::read_to_string(file).with_context(|| format!("could not read {variable} {shown}"))
}

/// An admin token for unattended set-up.
fn token() -> Result<Option<String>> {
    if let Some(file) = std::env::var_os("HOB_TOKEN_FILE").filter(|f| !f.is_empty()) {
        let file = PathBuf::from(file);
        return Ok(Some(short_text("HOB_TOKEN_FILE", &file)?.trim().to_owned()));
    }
    Ok(std::env::var("HOB_TOKEN").ok().filter(|t| !t.is_empty()).map(|t| t.trim().to_owned()))
}

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

/// A link that works from this device, also when Hob listens on all of its addresses.
fn local_link(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("http://127.0.0.1:{}", address.port()),
        false => format!("http://{address}"),
    }
}

/// Resolves at the first SIGTERM or SIGINT. The handlers are installed by this call and not by the first poll, so a signal
/// that arrives before anything polls still closes Hob cleanly.
fn stop_requested() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut int)) = signals else {
            tracing::error!("signals cannot be received; only SIGKILL stops this process");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
}

/// A new data folder gets the commented configuration to edit.
fn write_commented_config(data: &Path) {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(data.join("hob.toml"));
    if let Ok(mut file) = file {
        let _ = file.write_all(COMMENTED.as_bytes());
    }
}

/// Removes copies of the data that a power cut left half made, and backups that were not all sent: plain files of exactly the
/// names they are made under.
fn remove_half_copies(data: &Path) {
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

/// A panic is written to `DATA/crash`, without secrets, and to standard error, and nowhere else.
fn keep_crashes(dir: PathBuf, scrubber: Scrubber) {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A file that is no backup broke what reads it.
        if std::thread::current().name() == Some(store::VERIFYING) {
            return;
        }
        let text =
            format!("hob {}\n{panic}\n{}", env!("CARGO_PKG_VERSION"), std::backtrace::Backtrace::force_capture());
        // On a thread of its own, which nobody waits for long: what broke may be the scrubber, and this thread hold its lock.
        if std::thread::current().name() != Some(CRASH) {
            let (dir, scrubber) = (dir.clone(), scrubber.clone());
            let write = move || write_crash(&dir, &scrubber.text(&text, scrub::How::All));
            if let Ok(writing) = std::thread::Builder::new().name(CRASH.into()).spawn(write) {
                let began = std::time::Instant::now();
                while !writing.is_finished() && began.elapsed() < WRITING {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        told(panic);
    }));
}

fn write_crash(dir: &Path, text: &str) {
    let _ = std::fs::create_dir_all(dir);
    let _ = std::fs::write(dir.join(format!("{}.txt", tool::Id::new())), text);
    let mut kept: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|f| f.path()).collect();
    // Names begin with the time.
    kept.sort();
    kept.iter().rev().skip(CRASHES).for_each(|old| drop(std::fs::remove_file(old)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_kept_without_secrets_and_the_oldest_goes() {
        let dir = std::env::temp_dir().join(format!("hob-crash-{}", tool::Id::new()));
        let scrubber = Scrubber::default();
        scrubber.add("of-the-vault-7714");
        keep_crashes(dir.clone(), scrubber.clone());
        let panics = |text: String| {
            let _ = std::thread::spawn(move || std::panic::panic_any(text)).join();
        };
        panics("it broke at of-the-vault-7714".into());
        let files = || std::fs::read_dir(&dir).unwrap().map(|f| f.unwrap().path()).collect::<Vec<_>>();
        let text = std::fs::read_to_string(&files()[0]).unwrap();
        assert!(text.contains("it broke at [REDACTED]") && !text.contains("7714"), "{text}");
        (0..CRASHES).for_each(|n| panics(format!("again {n}")));
        let _ = std::panic::take_hook();
        assert_eq!(files().len(), CRASHES);
        assert!(files().iter().all(|f| !std::fs::read_to_string(f).unwrap().contains("it broke")));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
