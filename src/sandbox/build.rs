//! Compiles the guest: quickjs-ng, its libc and guest/guest.c become `OUT_DIR/guest.wasm.z`
//! (zlib), which the crate embeds.
//!
//! The C sources come from the crate `rquickjs-sys`, pinned by Cargo.lock and never built for this machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
};

const TOOLS: &str = "run `make setup`, or `apt-get install clang-19 lld-19 libclang-rt-19-dev-wasm32` on Debian";

/// QuickJS takes its configuration for Emscripten, as `rquickjs-sys` does for this target.
const FLAGS: &[&str] = &[
    "--target=wasm32-unknown-unknown",
    "-O2",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-DEMSCRIPTEN=1",
    "-DFE_DOWNWARD=0",
    "-DFE_UPWARD=0",
    "-fno-math-errno",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-msign-ext",
    "-mmutable-globals",
];

/// The stack is first in memory, so that an overflow traps instead of running into data.
const LINK: &[&str] = &[
    "--target=wasm32-unknown-unknown",
    "-nostdlib",
    "-Wl,--no-entry",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=1048576",
    "-Wl,--strip-all",
    "-Wl,--gc-sections",
];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("the JavaScript sandbox cannot be built: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=guest/guest.c");
    println!("cargo:rerun-if-env-changed=CLANG");
    let sources = sources()?;
    println!("cargo:rerun-if-changed={}", sources.display());
    let out = PathBuf::from(variable("OUT_DIR")?);
    let clang = clang()?;
    let builtins = builtins(&clang)?;

    let quickjs = sources.join("quickjs");
    let shim = shim(&sources, &out)?;
    let mut files: Vec<PathBuf> =
        ["quickjs.c", "libregexp.c", "libunicode.c", "dtoa.c"].iter().map(|name| quickjs.join(name)).collect();
    files.extend([shim, PathBuf::from("guest/guest.c")]);
    let objects = compile(&clang, &sources, &files, &out)?;

    let mut link = Command::new(&clang);
    link.args(LINK).args(&objects).arg(format!("-L{}", sources.join("vendor/wasi-libc/lib").display())).arg("-lc");
    let wasm = out.join("guest.wasm");
    link.arg(builtins).arg("-o").arg(&wasm);
    run(&mut link)?;
    let bytes = fs::read(&wasm).map_err(|error| error.to_string())?;
    let level = if variable("PROFILE")? == "release" { 10 } else { 1 };
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, level);
    fs::write(out.join("guest.wasm.z"), compressed).map_err(|error| error.to_string())
}

/// Compiles in parallel. Sources outside this folder never change under one path, so their objects are reused.
fn compile(clang: &str, sources: &Path, files: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>, String> {
    let stamp = out.join("flags");
    let flags = format!("{clang} {FLAGS:?} {}", sources.display());
    let fresh = fs::read_to_string(&stamp).is_ok_and(|old| old == flags);
    let jobs: Vec<_> = files
        .iter()
        .map(|file| {
            let object = out.join(file.file_name().unwrap_or_default()).with_extension("o");
            let keep = fresh && file.starts_with(sources) && object.exists();
            let mut command = Command::new(clang);
            command.args(FLAGS).arg("-isystem").arg(sources.join("vendor/wasi-libc/include"));
            command.arg(format!("-I{}", sources.join("quickjs").display()));
            // Warnings are for our own file; the rest is another project's.
            command.arg(if file.starts_with("guest") { "-Wall" } else { "-w" });
            command.arg("-c").arg(file).arg("-o").arg(&object);
            thread::spawn(move || if keep { Ok(object) } else { run(&mut command).map(|_| object) })
        })
        .collect();
    let objects = jobs.into_iter().map(|job| job.join().map_err(|_| "a compiler thread died".to_owned())?).collect();
    fs::write(stamp, flags).map_err(|error| error.to_string())?;
    objects
}

/// The part of libc that would need a system, with its one import (the clock) under our host's name.
fn shim(sources: &Path, out: &Path) -> Result<PathBuf, String> {
    const CLOCK_IMPORT: &str = r#"import_module("env"), import_name("__rquickjs_host_now_us")"#;
    let text = fs::read_to_string(sources.join("wasm-shim/shim.c")).map_err(|error| error.to_string())?;
    if !text.contains(CLOCK_IMPORT) {
        return Err("wasm-shim/shim.c of rquickjs-sys no longer imports the clock as build.rs expects".to_owned());
    }
    let path = out.join("shim.c");
    fs::write(&path, text.replace(CLOCK_IMPORT, r#"import_module("host"), import_name("now_us")"#))
        .map_err(|error| error.to_string())?;
    Ok(path)
}

/// The folder of `rquickjs-sys` in cargo's registry: without the network if it is there already, else cargo fetches
/// it.
fn sources() -> Result<PathBuf, String> {
    let metadata = metadata(&["--offline"]).or_else(|_| metadata(&[]))?;
    let end = "\"manifest_path\":\"";
    let path = metadata.split(end).skip(1).filter_map(|rest| rest.split('"').next());
    let manifest = path.map(Path::new).find(|path| {
        path.parent().and_then(Path::file_name).is_some_and(|name| name.to_string_lossy().starts_with("rquickjs-sys"))
    });
    manifest.and_then(Path::parent).map(Path::to_owned).ok_or("cargo metadata does not list rquickjs-sys".to_owned())
}

fn metadata(more: &[&str]) -> Result<String, String> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &variable("TARGET")?]).args(more);
    // Switches the dependency on for this one question; see Cargo.toml.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "--cfg\u{1f}quickjs_sources");
    run(&mut cargo)
}

fn clang() -> Result<String, String> {
    let given = env::var("CLANG").ok();
    let known = ["clang-19", "clang"].map(str::to_owned);
    let found = given.into_iter().chain(known).find(|name| Command::new(name).arg("--version").output().is_ok());
    found.ok_or(format!("it needs clang; {TOOLS}"))
}

/// compiler-rt for wasm32, which Debian keeps under `wasi` and others under the target's name.
fn builtins(clang: &str) -> Result<PathBuf, String> {
    let folder = run(Command::new(clang).arg("-print-resource-dir"))?;
    let places = [
        "lib/wasi/libclang_rt.builtins-wasm32.a",
        "lib/wasip1/libclang_rt.builtins-wasm32.a",
        "lib/wasm32-unknown-unknown/libclang_rt.builtins.a",
        "lib/wasm32-unknown-wasi/libclang_rt.builtins.a",
    ];
    let found = places.iter().map(|place| Path::new(folder.trim()).join(place)).find(|path| path.exists());
    found.ok_or(format!("{clang} has no compiler-rt for wasm32; {TOOLS}"))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo did not set {name}"))
}

fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} does not start ({error}); {TOOLS}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|error| error.to_string());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let linker = errors.contains("wasm-ld") && errors.contains("unable to execute");
    Err(if linker { format!("{name} finds no wasm-ld; {TOOLS}") } else { format!("{name} failed:\n{errors}") })
}
