//! The daemon: build the house, open its doors, wait for the end.

use crate::{
    config::{COMMENTED, Config},
    house,
};
use anyhow::{Context, Result, bail};
use api::Listeners;
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

/// The local socket's name in the data folder.
pub const SOCKET: &str = "hob.sock";
/// How many crash files are kept.
const CRASHES: usize = 20;
/// How long runs may take to stop before the doors close.
const STOPPING: Duration = Duration::from_secs(2);

/// Runs until told to stop (SIGTERM, SIGINT).
pub async fn daemon(config: Config, data: &Path) -> Result<()> {
    let listen = config.listen.clone();
    let token = token()?;
    let house = house::build(config, data, token.as_deref())?;
    keep_crashes(data.join("crash"));
    write_commented_config(data);
    let socket = open_socket(data)?;
    let tcp = bind(&listen).await?;
    let at = shown(tcp.local_addr()?);
    if let Some(claim) = house.access.claim() {
        let _ = writeln!(std::io::stderr(), "\n  Open this link to claim this Hob:  {at}/#claim={}\n", claim.code());
    }
    let closing = house.closing.clone();
    let agent = house.agent.clone();
    tokio::spawn(async move {
        stop_asked().await;
        tracing::info!("closing");
        // Runs first: their listeners hear how they end, and then the doors close.
        agent.stop_all(STOPPING).await;
        closing.cancel();
    });
    let serving = tokio::spawn(api::serve(house.clone(), Listeners { tcp: Some(tcp), socket }));
    // Whether anybody reads this is their affair.
    let _ = writeln!(std::io::stdout(), "hob ready {at}").and_then(|()| std::io::stdout().flush());
    tracing::info!(data = %data.display(), model = house.agent.model(), tools = house.registry.tools().len(), "ready");
    serving.await?;
    // Before the data is let go: after that a successor may have made a socket of its own.
    let _ = std::fs::remove_file(data.join(SOCKET));
    house::close(house).await;
    Ok(())
}

/// An admin token for unattended set-up.
fn token() -> Result<Option<String>> {
    if let Some(file) = std::env::var_os("HOB_TOKEN_FILE").filter(|f| !f.is_empty()) {
        let file = PathBuf::from(file);
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("could not read HOB_TOKEN_FILE {}", file.display()))?;
        return Ok(Some(text.trim().to_owned()));
    }
    Ok(std::env::var("HOB_TOKEN").ok().filter(|t| !t.is_empty()))
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

async fn bind(listen: &str) -> Result<TcpListener> {
    let address: SocketAddr = listen
        .parse()
        .with_context(|| format!("`{listen}` is not an address to listen on: write it as 127.0.0.1:4620"))?;
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => {
            bail!("another program already listens on {address}: stop it, or choose another address with --listen")
        }
        Err(e) => bail!("could not listen on {address} ({e}): choose another address with --listen"),
    }
}

/// A link that works from this device, also when Hob listens on all of its addresses.
fn shown(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("http://127.0.0.1:{}", address.port()),
        false => format!("http://{address}"),
    }
}

async fn stop_asked() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        tracing::error!("signals cannot be heard; only SIGKILL will stop this process");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// A new data folder gets the commented configuration to edit.
fn write_commented_config(data: &Path) {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(data.join("hob.toml"));
    if let Ok(mut file) = file {
        let _ = file.write_all(COMMENTED.as_bytes());
    }
}

/// A panic is written to `DATA/crash` and to standard error, and nowhere else.
fn keep_crashes(dir: PathBuf) {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = std::fs::create_dir_all(&dir);
        let text =
            format!("hob {}\n{panic}\n{}", env!("CARGO_PKG_VERSION"), std::backtrace::Backtrace::force_capture());
        let _ = std::fs::write(dir.join(format!("{}.txt", tool::Id::new())), text);
        let mut kept: Vec<PathBuf> =
            std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|f| f.path()).collect();
        // Names begin with the time.
        kept.sort();
        kept.iter().rev().skip(CRASHES).for_each(|old| drop(std::fs::remove_file(old)));
        told(panic);
    }));
}
