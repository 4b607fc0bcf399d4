//! Messages to systemd (sd_notify): ready, alive, stopping. Without `NOTIFY_SOCKET` in the environment nothing is sent.

use std::{
    ffi::OsString,
    io::Result,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    path::Path,
    time::Duration,
};

/// Says that the daemon answers requests.
pub fn ready() {
    send("READY=1");
}

/// Says that the daemon ends, on purpose. Not under a supervisor: its service goes on, perhaps with another version.
pub fn stopping() {
    if std::env::var_os(::update::SLOTS_VARIABLE).is_none() {
        send("STOPPING=1");
    }
}

/// Reports that the daemon is alive until the task is dropped, if the service manager watches it. As a task, because a runtime
/// whose threads hang runs none.
pub async fn keep_alive() {
    let variable = |name| std::env::var(name).ok();
    let own = [rustix::process::getpid().as_raw_pid(), rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid())];
    let Some(interval) = interval(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), &own) else { return };
    let Some(manager) = Manager::from_environment() else { return };
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        manager.send("WATCHDOG=1");
    }
}

fn send(message: &str) {
    if let Some(manager) = Manager::from_environment() {
        manager.send(message);
    }
}

/// The service manager's socket.
struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Manager {
    /// The service manager that started this process, if it asks for messages.
    fn from_environment() -> Option<Self> {
        let name = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty())?;
        Self::new(&name).inspect_err(|error| tracing::warn!(%error, "NOTIFY_SOCKET cannot be used")).ok()
    }

    /// `name` is a path, or a name of the kernel's own after an `@`.
    fn new(name: &OsString) -> Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(Path::new(name))?,
        };
        let socket = UnixDatagram::unbound()?;
        // A service manager that does not read must not stop the daemon.
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    fn send(&self, message: &str) {
        if let Err(error) = self.socket.send_to_addr(message.as_bytes(), &self.address) {
            tracing::debug!(%error, message, "the service manager was not told");
        }
    }
}

/// The time between two reports: a third of what the service manager waits, if it watches one of `processes`: this one, or the
/// supervisor that started it.
fn interval(microseconds: Option<String>, process: Option<String>, processes: &[i32]) -> Option<Duration> {
    let watched = process.is_none_or(|pid| pid.parse().is_ok_and(|pid| processes.contains(&pid)));
    let waits = microseconds?.parse().ok().filter(|microseconds| *microseconds > 0 && watched)?;
    Some((Duration::from_micros(waits) / 3).max(Duration::from_millis(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_for_this_process_or_its_supervisor() {
        for (microseconds, process, expected) in [
            (Some("90000000"), None, Some(30_000)),
            (Some("90000000"), Some("12"), Some(30_000)),
            (Some("90000000"), Some("11"), Some(30_000)),
            (Some("90000000"), Some("13"), None),
            (Some("90000000"), Some("twelve"), None),
            (Some("3"), None, Some(1)),
            (Some("0"), None, None),
            (Some("soon"), None, None),
            (None, Some("12"), None),
        ] {
            let interval = interval(microseconds.map(str::to_owned), process.map(str::to_owned), &[12, 11]);
            assert_eq!(interval, expected.map(Duration::from_millis), "{microseconds:?} {process:?}");
        }
    }

    #[test]
    fn messages_reach_a_path_and_an_abstract_name() {
        let name = format!("hob-notify-{}", tool::Id::new());
        let path = std::env::temp_dir().join(&name);
        let at_path = UnixDatagram::bind(&path).unwrap();
        let abstract_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (listener, address) in [(at_path, path.clone().into()), (abstract_name, format!("@{name}").into())] {
            Manager::new(&address).unwrap().send("READY=1");
            let mut message = [0; 64];
            let length = listener.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1");
        }
        std::fs::remove_file(path).unwrap();
        // Nobody listens any more: nothing happens.
        Manager::new(&format!("@{name}").into()).unwrap().send("READY=1");
    }
}
