//! Applies an update bundle of a real binary to `dir` slots: time, CPU and peak memory, in a process of its own.

use crate::{Result, Watch};
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};
use update::{
    Config, Updater, builder,
    bundle::head_length,
    disk::RealDisk,
    fetch::take_file,
    keys::{Keyring, Origin, Protection, SigningKey, generate},
    manifest::{Device, Payload},
    slots::{SlotName, dir::DirSlots},
    testing::contents,
};

const FILE: &str = "bench.hobupdate";

/// Builds the bundle of `hob`, with deltas to `old` unless that is `-`.
pub fn build(hob: &Path, old: &str, folder: &Path) -> Result<Value> {
    fs::create_dir_all(folder)?;
    let keys = generate(Protection::None)?;
    fs::write(folder.join("key.pub"), &keys.public)?;
    let mut about = contents(Payload::App, 2);
    about.images = vec![hob.to_owned()];
    about.level = builder::LEVEL;
    if old != "-" {
        about.bases = vec![("hob".into(), old.into())];
    }
    let watch = Watch::start();
    let built = builder::build(&about, &[SigningKey::read(&keys.secret, None)?], &folder.join(FILE))?;
    Ok(json!({"imageBytes": fs::metadata(hob)?.len(), "bundleBytes": built.length, "headBytes": built.head,
              "chunks": built.chunks, "fromOldBytes": built.from_bases.first(), "cpuMs": watch.cpu_ms()}))
}

/// Applies it on a machine whose running slot has nothing in common with it (`whole`), or has `old`.
pub fn apply(name: &str, old: &str, folder: &Path, machine: &Path) -> Result<Value> {
    let running = machine.join("slots/a");
    fs::create_dir_all(&running)?;
    match name {
        "whole" => fs::write(running.join("hob"), b"#!/bin/sh")?,
        _ => {
            fs::copy(old, running.join("hob"))?;
        }
    }
    let mut keys = Keyring::default();
    keys.add(&fs::read_to_string(folder.join("key.pub"))?, Origin::Configured)?;
    let slots = Arc::new(DirSlots::new(Arc::new(RealDisk), machine.to_owned(), SlotName::A));
    let config = Config { state: machine.to_owned(), keys, device: Device::this("1.0.0")? };
    let updater = Updater::open(Arc::new(RealDisk), slots, config)?;
    let idle = memory("VmRSS:")?;
    let watch = Watch::start();
    let plan = take_file(&updater, &folder.join(FILE))?;
    updater.stage(&plan.id)?;
    let (seconds, cpu) = (watch.seconds(), watch.cpu_ms());
    let peak = memory("VmHWM:")?.saturating_sub(idle);
    let bundle = fs::read(folder.join(FILE))?;
    let fetched = plan.needed_bytes + head_length(&bundle)? as u64;
    Ok(json!({"seconds": seconds, "cpuMs": cpu, "peakBytes": peak, "fetched": fetched}))
}

/// A line of `/proc/self/status`, in bytes.
fn memory(name: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    Ok(value.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
