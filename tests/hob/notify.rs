//! Hob under a service manager such as systemd: it says that it is ready, alive and stopping.

use crate::harness::{Folder, Hob, Setup};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

#[test]
fn notify_tells_ready_alive_and_stopping() {
    let folder = Folder::new();
    let path = folder.path("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let next = || {
        let mut message = [0; 64];
        let length = manager.recv(&mut message).expect("the daemon says nothing");
        String::from_utf8_lossy(&message[..length]).into_owned()
    };
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "300000")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut hob = Hob::with(Setup { environment, ..Setup::default() });

    let mut heard = vec![next()];
    while heard.iter().filter(|message| *message == "WATCHDOG=1").count() < 3 || !heard.contains(&"READY=1".to_owned())
    {
        heard.push(next());
    }
    assert_eq!(heard.iter().filter(|message| *message == "READY=1").count(), 1, "{heard:?}");
    hob.stop();
    let last = std::iter::repeat_with(next).find(|message| message != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
}
