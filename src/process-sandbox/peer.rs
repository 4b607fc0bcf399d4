//! Whether the other side of a local socket is a program of a sandbox.

use std::fs;

/// Whether this process is in namespaces below Hob's, so that it is a program of a job (or of another container) although the kernel
/// names the same user. Also true if the process has gone. 0 is a process outside of Hob's namespace, such as one of the host of
/// Hob's container.
pub fn is_inside_sandbox(pid: i32) -> bool {
    if pid == 0 {
        return false;
    }
    // One number for each process namespace, from that of /proc down to that of the process.
    let depth = |process: &str| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        Some(numbers.split_whitespace().count())
    };
    match (depth(&pid.to_string()), depth("self")) {
        (Some(peer), Some(own)) => peer > own,
        (None, Some(_)) => true,
        // No /proc, or an old kernel.
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_outside_and_one_that_is_gone_is_not_trusted() {
        assert!(!is_inside_sandbox(i32::try_from(std::process::id()).unwrap()));
        assert!(is_inside_sandbox(i32::MAX));
        assert!(!is_inside_sandbox(0));
    }
}
