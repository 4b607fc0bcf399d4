"""What a release is made of: crates, C inside crates, packages of the page, the model, the fonts, Rust's library, Debian's packages.

`parts(targets)` lists all but the last; `of_image(file)` reads the packages of an image.
"""

import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {"arm64": "aarch64-unknown-linux-gnu", "amd64": "x86_64-unknown-linux-gnu"}
# Switches on the one dependency that is never compiled for the device: its C sources become the JavaScript engine.
QUICKJS = {"CARGO_ENCODED_RUSTFLAGS": "--cfg\x1fquickjs_sources"}
# Packages that leave a helper of theirs in the page they build.
HELPERS = ("vite", "rolldown")
# C of another project, by the crate that brings and compiles it.
FOREIGN_C = {"boringssl": "ring", "sqlite": "libsqlite3-sys", "zstd": "zstd-sys"}
C_VERSIONS = {
    # It is changed in ring, and has no version of its own.
    "boringssl": lambda part: f"in-ring-{part.version}",
    "sqlite": lambda part: re.search(r'#define SQLITE_VERSION +"([0-9.]+)"',
                                     (part.folder / "sqlite3/sqlite3.h").read_text())[1],
    "zstd": lambda part: ".".join(re.findall(r"#define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE) +(\d+)",
                                             (part.folder / "zstd/lib/zstd.h").read_text())),
}


@dataclass(frozen=True)
class Part:
    """One thing that is inside a release, or that a part of it was made with."""

    kind: str
    name: str
    version: str
    licence: str
    purl: str
    # Where its licence texts are, and their names if these are not found by name.
    folder: Path | None = None
    texts: tuple[Path, ...] = ()
    # Whose notice goes before a standard text, if it brings none of its own.
    holders: tuple[str, ...] = ()
    sha256: str = ""
    description: str = ""
    # Whether its code is in the program; else it only helped to build it.
    inside: bool = True
    architectures: tuple[str, ...] = ()
    uses: tuple[str, ...] = field(default=(), compare=False)

    @property
    def key(self):
        return f"{self.kind}:{self.name}@{self.version}"


@cache
def metadata(target):
    line = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    environment = {**os.environ, **QUICKJS}
    # A fresh clone has to download the crates; later the network is not asked.
    done = subprocess.run([*line, "--offline"], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


@cache
def checksums():
    text = (ROOT / "Cargo.lock").read_text()
    found = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', text)
    return {(name, version): checksum for name, version, checksum in found}


def reached(graph, packages, start):
    """The packages that a build of `start` needs, each with whether its code ends up in the program."""
    inside, waiting = {start: True}, [start]
    while waiting:
        here = waiting.pop()
        for dependency in graph[here]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if kinds == {"dev"}:
                continue
            package = dependency["pkg"]
            is_macro = any("proc-macro" in target["kind"] for target in packages[package]["targets"])
            linked = inside[here] and None in kinds and not is_macro
            if package not in inside or linked and not inside[package]:
                inside[package] = linked
                waiting.append(package)
    return inside


def crates(arch):
    """The crates of others that the program for `arch` is made of."""
    data = metadata(TARGETS[arch])
    packages = {package["id"]: package for package in data["packages"]}
    graph = {node["id"]: node for node in data["resolve"]["nodes"]}
    hob = next(package["id"] for package in data["packages"] if package["name"] == "hob")
    inside = reached(graph, packages, hob)
    key = {ident: f"crate:{packages[ident]['name']}@{packages[ident]['version']}" for ident in inside}

    def uses(ident):
        return {key[d["pkg"]] for d in graph[ident]["deps"] if d["pkg"] in inside and packages[d["pkg"]]["source"]}

    found = []
    for ident, linked in inside.items():
        package = packages[ident]
        if package["source"] is None:
            continue
        name, version = package["name"], package["version"]
        found.append(Part(
            "crate", name, version, (package["license"] or "").replace("/", " OR "), f"pkg:cargo/{name}@{version}",
            folder=Path(package["manifest_path"]).parent, holders=tuple(package["authors"]),
            sha256=checksums()[name, version], description=" ".join((package["description"] or "").split()),
            inside=linked and name != "rquickjs-sys", architectures=(arch,), uses=tuple(sorted(uses(ident)))))
    return found


def direct():
    """The keys of the crates that Hob's own crates name."""
    data = metadata(TARGETS["arm64"])
    packages = {package["id"]: package for package in data["packages"]}
    nodes = [node for node in data["resolve"]["nodes"] if packages[node["id"]]["source"] is None]
    used = {d["pkg"] for node in nodes for d in node["deps"] if {k["kind"] for k in d["dep_kinds"]} != {"dev"}}
    return {f"crate:{packages[i]['name']}@{packages[i]['version']}" for i in used if packages[i]["source"]}


def c_sources(all_crates):
    """C and assembler that crates bring and that is another project's: what is known of it."""
    folders = {part.name: part for part in all_crates}
    texts = ROOT / "cross/release/texts"
    apache, llvm = ROOT / "models/LICENSE", texts / "LLVM-exception.txt"
    found = []
    if shell := folders.get("rquickjs-sys"):
        header = (shell.folder / "quickjs/quickjs.h").read_text()
        version = ".".join(re.findall(r"#define QJS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        found.append(Part("c", "quickjs-ng", version, "MIT", f"pkg:generic/quickjs-ng@{version}",
                          texts=(shell.folder / "quickjs/LICENSE",), sha256="", architectures=tuple(TARGETS),
                          description="The JavaScript engine, compiled to wasm, inside the program.", uses=("c:wasi-libc@24",)))
        notice = (shell.folder / "vendor/wasi-libc/NOTICE.md").read_text()
        release = re.search(r"wasi-sdk-(\d+)", notice)[1]
        found.append(Part("c", "wasi-libc", release, "(MIT OR Apache-2.0 WITH LLVM-exception) AND MIT AND BSD-2-Clause",
                          f"pkg:generic/wasi-libc@{release}", texts=(texts / "MIT.txt", texts / "BSD-2-Clause.txt", apache, llvm),
                          holders=("2005-2020 Rich Felker, et al. (musl)", "2015-2016 Nuxi, https://nuxi.nl/ (cloudlibc)"),
                          architectures=tuple(TARGETS), description="The C library of the JavaScript engine, from wasi-sdk."))
        found.append(Part("c", "compiler-rt", "19", "Apache-2.0 WITH LLVM-exception", "pkg:generic/compiler-rt@19",
                          texts=(apache, llvm), holders=("2009-2019 the contributors to LLVM",), architectures=tuple(TARGETS),
                          description="The compiler's runtime for wasm in the JavaScript engine."))
    for name, crate in FOREIGN_C.items():
        if bringing := folders.get(crate):
            version = C_VERSIONS[name](bringing)
            found.append(Part("c", name, version, bringing.licence, f"pkg:generic/{name}@{version}", folder=bringing.folder,
                              architectures=tuple(TARGETS), description=f"C and assembler in the crate {crate}."))
    return found


def npm():
    """What is in the page: the packages it imports, and the tools that leave a helper in it."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    found = []
    for place, package in lock.items():
        name = place.removeprefix("node_modules/")
        if not place or package.get("dev") and name not in HELPERS:
            continue
        digest = package["integrity"].split("-", 1)
        found.append(Part(
            "npm", name, package["version"], package["license"], f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
            folder=ROOT / "web" / place, sha256=f"{digest[0]}:{digest[1]}", architectures=tuple(TARGETS),
            description="A helper of it is in the page." if name in HELPERS else "In the page.",
            uses=tuple(f"npm:{used}@{lock['node_modules/' + used]['version']}" for used in package.get("dependencies", {})
                       if f"node_modules/{used}" in lock and not lock[f"node_modules/{used}"].get("dev"))))
    return found


def model():
    """The embedding model, from its own folder."""
    name = "all-MiniLM-L6-v2"
    digest = hashlib.sha256((ROOT / f"models/{name}.int8.onnx").read_bytes()).hexdigest()
    return [Part("model", name, digest[:12], "Apache-2.0", f"pkg:generic/{name}@{digest[:12]}", sha256=digest,
                 texts=(ROOT / "models/LICENSE",), architectures=tuple(TARGETS),
                 description="The embedding model inside the program, quantized to 8 bits.")]


def fonts(all_crates):
    """The letters of PDF files that Hob makes; the build takes them out of the crate `dejavu`."""
    bringing = next(part for part in all_crates if part.name == "dejavu")
    folder = next(bringing.folder.glob("assets/dejavu-fonts-ttf-*"))
    version = folder.name.rpartition("-")[2]
    return [Part("font", "dejavu-fonts", version, "Bitstream-Vera", f"pkg:generic/dejavu-fonts@{version}", texts=(folder / "LICENSE",),
                 sha256="", architectures=tuple(TARGETS), description="The fonts inside the program, with fewer letters.")]


def toolchain(target):
    """The compiler for the target: rustup's, or Debian's beside it (as in cross/tools.sh)."""
    for rustc in ("rustc", "/usr/bin/rustc"):
        try:
            sysroot = Path(subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip())
        except (OSError, subprocess.CalledProcessError):
            continue
        if (sysroot / "lib/rustlib" / target / "lib").is_dir():
            version = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
            return version, sysroot
    return None


def standard_library(arch):
    """Rust's own library, which every program carries, with its notices: rustup's page, or Debian's file."""
    found = toolchain(TARGETS[arch])
    if found is None:
        raise SystemExit(f"no Rust here can build for {TARGETS[arch]}: .ci/setup aarch64")
    version, sysroot = found
    texts = [sysroot / "share/doc/rust/COPYRIGHT-library.html", *sorted(Path("/usr/share/doc").glob("libstd-rust*-dev/copyright"))]
    text = next((path for path in texts if path.exists()), None)
    if text is None:
        raise SystemExit(f"the notices of Rust's library are not beside {sysroot}: install Rust's documentation")
    return Part("rust", "rust-std", version, "MIT OR Apache-2.0", f"pkg:generic/rust-std@{version}", texts=(text,),
                architectures=(arch,), description="Rust's standard library, inside the program.")


def parts(architectures=tuple(TARGETS)):
    """Everything that is in the program for these architectures, or that a part of it was made with."""
    merged = {}
    for arch in architectures:
        for part in [*crates(arch), standard_library(arch)]:
            before = merged.get(part.key)
            if before is not None:
                part = replace(part, inside=part.inside or before.inside, architectures=before.architectures + part.architectures,
                               uses=tuple(sorted({*part.uses, *before.uses})))
            merged[part.key] = part
    own = [*c_sources(merged.values()), *npm(), *model(), *fonts(merged.values())]
    return sorted([*merged.values(), *own], key=lambda part: part.key)
