//! Serial ports (UART): a plain tty, with an allow-list. One transfer opens the port, writes, reads what comes back, and closes it.

use crate::{Error, Result};
use rppal::uart::{Error as UartError, Parity, Uart};
use serde::{Deserialize, Serialize};
use std::{
    io,
    time::{Duration, Instant},
};

/// The most bytes of one transfer in each direction.
pub const MAX_SERIAL: usize = 1024;
/// The longest wait for bytes that come back.
pub const MAX_SERIAL_WAIT: Duration = Duration::from_secs(10);
/// The speeds that every tty of Linux knows.
pub const BAUD_RATES: [u32; 14] =
    [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600, 1_000_000];
/// How often a port is asked for bytes; and after how long without another one an answer is over.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const QUIET: Duration = Duration::from_millis(60);

/// The section `[serial]` of hob.toml.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SerialConfig {
    /// The ports that may be used, such as `/dev/ttyUSB0`; none by default.
    pub allow: Vec<String>,
}

impl SerialConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// A sentence that names the port.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |port: &&String| !port.starts_with("/dev/") || port.contains("..") || port.len() > 100;
        match self.allow.iter().find(wrong) {
            Some(port) => {
                Err(format!("`serial.allow`: `{port}` is no port: write it as /dev/ttyUSB0 or /dev/serial/by-id/…"))
            }
            None => Ok(()),
        }
    }

    /// Whether a port may be used.
    ///
    /// # Errors
    /// `Refused`, with what to do.
    pub fn allows(&self, port: &str) -> Result<()> {
        if self.allow.iter().any(|allowed| allowed == port) {
            return Ok(());
        }
        Err(Error::Refused(match self.allow.as_slice() {
            [] => "no serial port may be used: list those that may in hob.toml, as `[serial]` with `allow = [\"/dev/ttyUSB0\"]`".into(),
            some => format!("this serial port may not be used: `serial.allow` of hob.toml has {}", some.join(", ")),
        }))
    }
}

/// A transfer on a serial port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerialTransfer {
    /// The port, as in the allow-list.
    pub port: String,
    /// Its speed: one of [`BAUD_RATES`].
    pub baud: u32,
    /// The bytes to send; may be empty.
    pub data: Vec<u8>,
    /// The most bytes to read; 0 reads none.
    pub read: usize,
    /// How long is waited for the first byte, and for all of them.
    pub wait: Duration,
    /// Whether reading ends with a line feed.
    pub line: bool,
}

/// Sends and reads on a tty. It blocks for as long as the transfer may take.
pub(crate) fn transfer(asked: &SerialTransfer) -> Result<Vec<u8>> {
    let failed = |error: UartError| failed(&asked.port, &error);
    let mut port = Uart::with_path(&asked.port, asked.baud, Parity::None, 8, 1).map_err(failed)?;
    let until = Instant::now() + asked.wait;
    let mut left = asked.data.as_slice();
    while !left.is_empty() {
        match port.write(left).map_err(failed)? {
            0 if Instant::now() >= until => {
                return Err(Error::Bus(format!(
                    "{} takes no bytes: look at its wires and its flow control",
                    asked.port
                )));
            }
            0 => std::thread::sleep(LOOK_EVERY),
            sent => left = left.get(sent..).unwrap_or_default(),
        }
    }
    let (mut back, mut heard, mut piece) = (vec![], None::<Instant>, [0; 256]);
    while back.len() < asked.read {
        let room = (asked.read - back.len()).min(piece.len());
        let got = port.read(&mut piece[..room]).map_err(failed)?;
        let new = piece.get(..got).unwrap_or_default();
        back.extend_from_slice(new);
        let now = Instant::now();
        if got > 0 {
            heard = Some(now);
        }
        let over = heard.is_some_and(|heard| !asked.line && now.duration_since(heard) >= QUIET);
        if over || now >= until || asked.line && new.contains(&b'\n') {
            break;
        }
        if got == 0 {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(back)
}

fn failed(port: &str, error: &UartError) -> Error {
    let UartError::Io(why) = error else { return Error::Bus(format!("{port}: {error}")) };
    match why.kind() {
        io::ErrorKind::NotFound => {
            Error::Unsupported(format!("there is no {port} here: look whether the device is plugged in"))
        }
        io::ErrorKind::PermissionDenied => Error::Unsupported(format!(
            "no permission for {port}: add Hob's user to the group `dialout` (`sudo usermod -aG dialout USER`) and start it again"
        )),
        _ => Error::Bus(format!("{port}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_of_the_list_are_allowed() {
        let config = |ports: &[&str]| SerialConfig { allow: ports.iter().map(|port| (*port).to_owned()).collect() };
        for (ports, port, part) in [
            (&[][..], "/dev/ttyUSB0", Some("`[serial]`")),
            (&["/dev/ttyUSB0"], "/dev/ttyUSB1", Some("/dev/ttyUSB0")),
            (&["/dev/ttyUSB0"], "/dev/../dev/ttyUSB0", Some("may not be used")),
            (&["/dev/ttyUSB0"], "/dev/ttyUSB0", None),
        ] {
            let said = config(ports).allows(port).err().map(|why| why.to_string());
            assert!(
                said.as_deref().map(|said| part.is_some_and(|part| said.contains(part))) != Some(false),
                "{said:?}"
            );
            assert_eq!(said.is_none(), part.is_none(), "{port}");
        }
        assert!(config(&["ttyUSB0"]).check().unwrap_err().contains("ttyUSB0"));
        assert!(config(&["/dev/../etc/passwd"]).check().is_err());
        config(&["/dev/serial/by-id/usb-1"]).check().unwrap();
    }

    #[test]
    fn a_port_that_is_not_there_is_named() {
        let asked = SerialTransfer {
            port: "/dev/hob-has-no-such-port".into(),
            baud: 9600,
            data: vec![1],
            read: 1,
            wait: Duration::from_millis(1),
            line: false,
        };
        let why = transfer(&asked).unwrap_err();
        assert!(matches!(&why, Error::Unsupported(text) if text.contains("plugged in")), "{why}");
    }

    #[test]
    fn a_terminal_is_written_and_its_answer_read() {
        use rustix::{
            fs::{Mode, OFlags},
            pty,
        };
        use std::{
            fs::File,
            io::{Read, Write},
        };
        let master = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
        pty::grantpt(&master).unwrap();
        pty::unlockpt(&master).unwrap();
        let name = pty::ptsname(&master, vec![]).unwrap().into_string().unwrap();
        // Held open, so that the terminal does not hang up between transfers.
        let _held = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let mut device = File::from(master);
        let answering = std::thread::spawn(move || {
            let mut heard = [0; 5];
            device.read_exact(&mut heard).unwrap();
            device.write_all(b"one\ntwo\n").unwrap();
            (heard, device)
        });
        let asked = SerialTransfer {
            port: name,
            baud: 115_200,
            data: b"PING\n".to_vec(),
            read: 4,
            wait: Duration::from_secs(10),
            line: true,
        };
        assert_eq!(transfer(&asked).unwrap(), b"one\n");
        assert_eq!(&answering.join().unwrap().0, b"PING\n");
    }
}
