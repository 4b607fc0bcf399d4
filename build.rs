//! Tells the linker to make the release small: equal functions are folded into one, relocations are packed. It also writes a
//! map of what takes how much room, which `tests/weight` reads.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // rustc links this target with its own lld. zig, which links for ARM, does not know these options.
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        if let Ok(out) = env::var("OUT_DIR") {
            println!("cargo:rustc-link-arg-bins=-Wl,-Map={out}/hob.map");
        }
    }
}
