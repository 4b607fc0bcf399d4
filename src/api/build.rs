//! Says what to do when the page was not built yet: it is embedded in the binary.

fn main() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/index.html");
    println!("cargo::rerun-if-changed={}", concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist"));
    if !std::path::Path::new(page).exists() {
        println!("cargo::error=the page is not built yet: run `make web` first (it needs Node 20)");
    }
}
