//! Problems of the process inside, in words.

use crate::{Error, wire::Problem};
use std::fs;

/// Says a problem in words.
pub fn explain(problem: Problem, program: &str) -> Error {
    match problem {
        Problem::Job(text) => Error::BadJob(text),
        Problem::Exec(number) => Error::NotExecutable {
            program: program.to_owned(),
            problem: match number {
                libc::ENOENT => "it, or the interpreter it names, is not in the sandbox".into(),
                libc::EACCES => "it is no executable file, or may not be executed there".into(),
                libc::ENOEXEC => "it is no program for this machine; name its interpreter".into(),
                libc::E2BIG => "its arguments and environment are too long".into(),
                _ => std::io::Error::from_raw_os_error(number).to_string(),
            },
        },
        Problem::Step(step, number) => {
            let error = std::io::Error::from_raw_os_error(number);
            Error::Failed(format!(
                "programs cannot be run safely here: the step \"{step}\" failed ({error}). {}",
                advice(number)
            ))
        }
    }
}

/// What to do where the kernel refuses.
fn advice(number: i32) -> &'static str {
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor keeps programs from making user namespaces: set kernel.apparmor_restrict_unprivileged_userns=0 with sysctl, or \
         give Hob a profile with `userns`"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "Set kernel.unprivileged_userns_clone=1 with sysctl"
    } else if is("/proc/sys/user/max_user_namespaces", "0") || number == libc::ENOSPC {
        "Set user.max_user_namespaces=10000 with sysctl"
    } else {
        "Hob needs a kernel from 5.12 on with user namespaces, and a service or container that lets it make them"
    }
}
