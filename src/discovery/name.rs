//! Hob's name on the network: the configured one, unless it is taken.

/// The longest label of a name.
const LABEL: usize = 63;
/// How many numbers are tried before the device's id settles it.
const NUMBERS: u32 = 30;

/// The name for the `attempt`-th try (from 1): `kitchen`, `kitchen-2`, … and in the end one with part of the device id.
pub(crate) fn numbered(base: &str, attempt: u32, id: &str) -> String {
    let with = |ending: &str| {
        let room = LABEL.saturating_sub(ending.len());
        let start: String = base.chars().take(room).collect();
        format!("{}{ending}", start.trim_end_matches('-'))
    };
    match attempt {
        0 | 1 => with(""),
        2..=NUMBERS => with(&format!("-{attempt}")),
        _ => {
            // Ids begin with the time they were made at: their ends differ more.
            let tail: String = id.chars().rev().filter(char::is_ascii_alphanumeric).take(6).collect();
            let again = if attempt > NUMBERS + 1 { format!("-{}", attempt - NUMBERS) } else { String::new() };
            with(&format!("-{}{again}", tail.chars().rev().collect::<String>().to_lowercase()))
        }
    }
}

/// The device's name as a label: in lower case, of letters, digits and dashes. Only one responder may answer for a name; where
/// another program answers for the machine's own name, Hob takes a different one.
pub(crate) fn base(name: &str, machine: &str, other_responder: bool) -> String {
    let label = label(name);
    let machine = machine.split('.').next().unwrap_or_default();
    match other_responder && label.eq_ignore_ascii_case(machine) {
        true => format!("{label}-hob"),
        false => label,
    }
}

fn label(name: &str) -> String {
    let plain: String =
        name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(LABEL).collect();
    match plain.trim_matches('-') {
        "" => "hob".to_owned(),
        plain => plain.to_owned(),
    }
}

/// The machine's host name.
pub(crate) fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether an avahi-daemon runs here: it answers for the machine's name.
pub(crate) fn other_responder() -> bool {
    // The file outlives a killed daemon; its process id shows whether it runs.
    let pid = std::fs::read_to_string("/run/avahi-daemon/pid").ok();
    pid.and_then(|text| text.trim().parse().ok()).is_some_and(is_alive)
}

/// Whether there is a process with this id. Not by /proc: a service may not see the processes of others there.
fn is_alive(pid: i32) -> bool {
    use rustix::{io::Errno, process};
    // The file may hold any number; negative ones are no processes.
    let pid = (pid > 0).then(|| process::Pid::from_raw(pid)).flatten();
    pid.is_some_and(|pid| matches!(process::test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ended() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(is_alive(pid) && is_alive(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(pid) && !is_alive(0) && !is_alive(-1));
    }

    #[test]
    fn names_are_numbered_and_stay_labels() {
        let long = "x".repeat(63);
        for (base, attempt, expected) in [
            ("kitchen", 1, "kitchen".to_owned()),
            ("kitchen", 2, "kitchen-2".to_owned()),
            ("kitchen", 30, "kitchen-30".to_owned()),
            ("kitchen", 31, "kitchen-c3d4e5".to_owned()),
            ("kitchen", 32, "kitchen-c3d4e5-2".to_owned()),
            ("kitchen-2", 2, "kitchen-2-2".to_owned()),
            (&long, 1, long.clone()),
            (&long, 12, format!("{}-12", "x".repeat(60))),
        ] {
            let name = numbered(base, attempt, "01-A2B3C3D4E5");
            assert_eq!(name, expected);
            assert!(name.len() <= LABEL);
        }
    }

    #[test]
    fn the_machines_own_name_is_left_to_its_responder() {
        for (name, machine, other, expected) in [
            ("Kitchen", "raspberrypi", true, "kitchen"),
            ("raspberrypi", "raspberrypi", true, "raspberrypi-hob"),
            ("RaspberryPi", "raspberrypi.lan", true, "raspberrypi-hob"),
            ("raspberrypi", "raspberrypi", false, "raspberrypi"),
            ("Küche oben", "x", false, "k-che-oben"),
            ("-", "x", false, "hob"),
            ("", "x", true, "hob"),
        ] {
            assert_eq!(base(name, machine, other), expected, "{name} on {machine}");
        }
    }
}
