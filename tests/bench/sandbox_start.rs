//! The start of `true` in the sandbox for programs up to its end, beside bubblewrap and runc where they are installed.

use crate::Result;
use process_sandbox::{Config, Ended, Job, ProcessSandbox};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

const BUBBLEWRAP: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "/usr/bin/true",
];

/// The medians of `rounds` starts of each, in turns.
pub fn measure(rounds: usize, folder: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let sandbox = ProcessSandbox::probe(Config::default());
    if let Some(reason) = sandbox.refusal() {
        return Err(reason.into());
    }
    let bundle = bundle(folder)?;
    let (mut hob, mut bwrap, mut runc) = (vec![], vec![], vec![]);
    for round in 0..rounds {
        let began = Instant::now();
        let done = runtime.block_on(sandbox.run(Job::new("/usr/bin/true"), &CancellationToken::new()))?;
        if done.ended != Ended::Exited(0) {
            return Err(format!("it ended by {:?}", done.ended).into());
        }
        hob.push(began.elapsed().as_secs_f64() * 1e3);
        bwrap.extend(time(Command::new("bwrap").args(BUBBLEWRAP))?);
        if bundle {
            let name = format!("hob-bench-{}-{round}", std::process::id());
            runc.extend(time(Command::new("runc").args(["run", "--bundle"]).arg(folder).arg(name))?);
        }
    }
    let mut found = json!({"hobMs": median(hob)});
    for (name, times) in [("bwrapMs", bwrap), ("runcMs", runc)] {
        if !times.is_empty() {
            found[name] = json!(median(times));
        }
    }
    Ok(found)
}

/// How long it took in milliseconds; `None` where it is not installed.
fn time(command: &mut Command) -> Result<Option<f64>> {
    let began = Instant::now();
    match command.stdin(Stdio::null()).stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(Some(began.elapsed().as_secs_f64() * 1e3)),
        Ok(status) => Err(format!("{:?} ended with {status}", command.get_program()).into()),
        Err(_) => Ok(None),
    }
}

/// Makes a bundle for runc with the same file system as bubblewrap's; `false` where it is not installed.
fn bundle(folder: &Path) -> Result<bool> {
    let root = folder.join("rootfs");
    fs::create_dir_all(&root)?;
    for (name, to) in [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
        std::os::unix::fs::symlink(to, root.join(name))?;
    }
    let Ok(made) = Command::new("runc").args(["spec", "--bundle"]).arg(folder).status() else { return Ok(false) };
    if !made.success() {
        return Ok(false);
    }
    let file = folder.join("config.json");
    let mut spec: Value = serde_json::from_slice(&fs::read(&file)?)?;
    spec["process"]["terminal"] = json!(false);
    spec["process"]["args"] = json!(["/usr/bin/true"]);
    spec["root"]["readonly"] = json!(false);
    let usr = json!({"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]});
    spec["mounts"].as_array_mut().ok_or("runc made no mounts")?.push(usr);
    fs::write(&file, serde_json::to_vec(&spec)?)?;
    Ok(true)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
