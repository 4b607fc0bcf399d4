//! Figures of two real binaries: `OLD=… NEW=… cargo test -p update --lib -- --ignored --nocapture figures`.

use super::world::{KEYS, device};
use crate::{
    Config, Updater, builder,
    bundle::head_length,
    disk::RealDisk,
    fetch::take_file,
    manifest::Payload,
    slots::{SlotName, dir::DirSlots},
    testing::{Folder, contents},
};
use std::{fs, sync::Arc, time::Instant};

fn memory(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "needs two binaries"]
fn figures() {
    let (old, new) = (std::env::var("OLD").unwrap(), std::env::var("NEW").unwrap());
    let level = std::env::var("LEVEL").map_or(builder::LEVEL, |level| level.parse().unwrap());
    let folder = Folder::new("figures").unwrap();
    for deltas in [false, true] {
        let mut about = contents(Payload::App, 2);
        about.images = vec![new.clone().into()];
        about.level = level;
        if deltas {
            about.bases = vec![("hob".into(), old.clone().into())];
        }
        let file = folder.0.join("x.hobupdate");
        let begun = Instant::now();
        let built = builder::build(&about, &[KEYS.signing()], &file).unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        for present in [false, true] {
            let machine = folder.0.join("machine");
            let _ = fs::remove_dir_all(&machine);
            fs::create_dir_all(machine.join("slots/a")).unwrap();
            match present {
                true => drop(fs::copy(&old, machine.join("slots/a/hob")).unwrap()),
                false => fs::write(machine.join("slots/a/hob"), b"x").unwrap(),
            }
            fs::write("/proc/self/clear_refs", "5").unwrap();
            let idle = memory("VmRSS:");
            let slots = Arc::new(DirSlots::new(Arc::new(RealDisk), machine.clone(), SlotName::A));
            let config = Config { state: machine.clone(), keys: KEYS.ring(), device: device(1) };
            let updater = Updater::open(Arc::new(RealDisk), slots, config).unwrap();
            let begun = Instant::now();
            let plan = take_file(&updater, &file).unwrap();
            let taken = begun.elapsed().as_secs_f64();
            updater.stage(&plan.id).unwrap();
            let all = begun.elapsed().as_secs_f64();
            let peak = memory("VmHWM:").saturating_sub(idle);
            assert!(fs::read(machine.join("slots/b/hob")).unwrap() == fs::read(&new).unwrap());
            let fetched = plan.needed_bytes + head_length(&fs::read(&file).unwrap()).unwrap() as u64;
            let size = fs::metadata(&new).unwrap().len();
            println!(
                "deltas {deltas}, old version present {present}: {built:?} in {seconds:.1} s; fetched {fetched} = {:.2} % of the bundle; \
                 applied {:.1} MB in {taken:.2} s, staged after {all:.2} s = {:.1} MB/s; peak {:.1} MB over idle",
                fetched as f64 * 100.0 / built.length as f64,
                size as f64 / 1e6,
                size as f64 / 1e6 / all,
                peak as f64 / 1e6,
            );
        }
    }
}
