//! A terminal for `hob`: a pseudo-terminal with a screen that is read as a person would.

use crate::harness::binary;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// How long a screen may take to show something.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process at a terminal of its own; killed with its owner.
pub struct Terminal {
    line: File,
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts `hob` with these arguments in a terminal of this size. `home` has the state of its user.
    pub fn start(home: &Path, data: &Path, arguments: &[&str], size: (u16, u16), term: &str) -> Self {
        let master: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, vec![]).unwrap().into_string().unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let slave = open();
        let (rows, columns) = size;
        tcsetwinsize(&slave, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        // Makes it the controlling terminal, so that Ctrl-C is a signal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(binary()).arg("--data").arg(data).args(arguments).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", home).env("TERM", term);
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(slave));
        let child = command.spawn().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 1000)));
        let line = File::from(master);
        let (mut from, shown) = (line.try_clone().unwrap(), screen.clone());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { line, child, screen }
    }

    /// Types keys: text, and sequences such as `\x03`.
    pub fn keys(&mut self, keys: &str) {
        self.line.write_all(keys.as_bytes()).unwrap();
    }

    /// The lines of the screen, without white space at their ends.
    pub fn lines(&self) -> Vec<String> {
        let screen = self.screen.lock().unwrap();
        let (_, columns) = screen.screen().size();
        let mut lines: Vec<String> = screen.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// The row and column of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.screen.lock().unwrap().screen().cursor_position()
    }

    /// Waits until the screen shows what `shows` looks for.
    pub fn until(&self, what: &str, shows: impl Fn(&[String]) -> bool) {
        let begun = Instant::now();
        while !shows(&self.lines()) {
            assert!(begun.elapsed() < PATIENCE, "{what} is not on the screen:\n{}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a text anywhere on the screen.
    pub fn sees(&self, text: &str) {
        self.until(text, |lines| lines.join("\n").contains(text));
    }

    /// Waits for this last line, such as a prompt with what is typed.
    pub fn ends_with(&self, line: &str) {
        self.until(line, |lines| lines.last().is_some_and(|last| last == line));
    }

    /// Waits until what is typed is shown, or is not.
    pub fn until_echo(&self, on: bool) {
        let echoes = || {
            let modes = rustix::termios::tcgetattr(&self.line).unwrap().local_modes;
            modes.contains(rustix::termios::LocalModes::ECHO)
        };
        let begun = Instant::now();
        while echoes() != on {
            assert!(begun.elapsed() < PATIENCE, "the terminal has the wrong echo:\n{}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the process is still there.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The exit code, once the process ends.
    pub fn code(&mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it still runs:\n{}", self.text());
    }

    /// Changes the size of the window.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.screen.lock().unwrap().screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.line, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
