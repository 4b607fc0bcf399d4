//! temp
use crate::{chunks, delta, disk::*};
use std::collections::HashSet;
#[test]
#[ignore]
fn measure() {
    let old = std::env::var("OLD").unwrap(); let new = std::env::var("NEW").unwrap();
    let level: i32 = std::env::var("LEVEL").ok().and_then(|v| v.parse().ok()).unwrap_or(19);
    let disk = RealDisk;
    let f = disk.open(old.as_ref(), Mode::Read).unwrap();
    let mut have = HashSet::new();
    chunks::for_each_chunk(&*f, f.length().unwrap(), |_, c| { have.insert(*blake3::hash(c).as_bytes()); std::io::Result::Ok(()) }).unwrap();
    let mut base = delta::Base::new(std::fs::read(&old).unwrap());
    let f = disk.open(new.as_ref(), Mode::Read).unwrap();
    let (mut n, mut full, mut missing, mut missing_n, mut d) = (0, 0, 0, 0, 0);
    let mut all = vec![];
    chunks::for_each_chunk(&*f, f.length().unwrap(), |o, c| {
        n += 1;
        let z = zstd::bulk::compress(c, level).unwrap().len(); full += z;
        if !have.contains(blake3::hash(c).as_bytes()) { missing += z; missing_n += 1;
            let raw = base.encode(c, o);
            let e = zstd::bulk::compress(&raw, level).unwrap().len(); d += e.min(z);
            all.extend(raw);
        }
        std::io::Result::Ok(()) }).unwrap();
    let index = n * 54;
    println!("chunks {n} full {full} index {index} | missing {missing_n} chunks, {missing} bytes {:.2}% | deltas {d} {:.2}% | together {}", 100.0 * (missing + index) as f64 / (full + index) as f64, 100.0 * (d + index) as f64 / (full + index) as f64, zstd::bulk::compress(&all, level).unwrap().len());
}
