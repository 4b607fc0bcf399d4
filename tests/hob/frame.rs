//! The frame of the code base: layers, dependencies, file lengths, licences, and golden files.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Every crate and its layer. A crate uses only lower layers, never a sibling of its own.
const LAYERS: &[(&str, u8)] = &[
    ("text-kit", 0),
    ("tool", 0),
    ("board", 1),
    ("discovery", 1),
    ("embed", 1),
    ("html-text", 1),
    ("http-client", 1),
    ("language", 1),
    ("mqtt", 1),
    ("policy", 1),
    ("process-sandbox", 1),
    ("sandbox", 1),
    ("scrub", 1),
    ("store", 1),
    ("wyoming", 1),
    ("browser", 2),
    ("care", 2),
    ("config-center", 2),
    ("decoders", 2),
    ("documents", 2),
    ("graph", 2),
    ("home-assistant", 2),
    ("identity", 2),
    ("llm", 2),
    ("mail", 2),
    ("media", 2),
    ("memory", 2),
    ("questions", 2),
    ("records", 2),
    ("scheduler", 2),
    ("sql", 2),
    ("skills", 2),
    ("things", 2),
    ("update", 2),
    ("uploads", 2),
    ("vectors", 2),
    ("workspace", 2),
    ("interaction", 3),
    ("models", 3),
    ("persona", 3),
    ("registry", 3),
    ("tools-browser", 3),
    ("tools-data", 3),
    ("tools-documents", 3),
    ("tools-everyday", 3),
    ("tools-files", 3),
    ("tools-hardware", 3),
    ("tools-home", 3),
    ("tools-knowledge", 3),
    ("tools-mail", 3),
    ("tools-media", 3),
    ("tools-utilities", 3),
    ("tools-web", 3),
    ("tools-workshop", 3),
    ("tools-world", 3),
    ("agent", 4),
    ("command-tools", 4),
    ("custom", 4),
    ("reflex", 4),
    ("rules", 4),
    ("api", 5),
    ("home", 5),
    ("hob", 6),
];

/// Big dependencies and the one crate that uses each.
const ONE_USER: &[(&str, &str)] = &[
    ("anyhow", "hob"),
    ("argon2", "identity"),
    ("axum", "api"),
    ("brotli-decompressor", "tools-web"),
    ("chardetng", "html-text"),
    ("chacha20poly1305", "store"),
    ("clap", "hob"),
    ("croner", "scheduler"),
    ("fancy-regex", "registry"),
    ("fend-core", "tools-utilities"),
    ("flate2", "tools-web"),
    ("gpiocdev", "board"),
    ("globset", "tools-files"),
    ("grep-matcher", "tools-files"),
    ("grep-regex", "tools-files"),
    ("grep-searcher", "tools-files"),
    ("hayro-syntax", "decoders"),
    ("hkdf", "store"),
    ("hound", "media"),
    ("html5gum", "html-text"),
    ("hyper", "api"),
    ("if-addrs", "discovery"),
    ("ignore", "tools-files"),
    ("image", "decoders"),
    ("infer", "uploads"),
    ("mail-builder", "mail"),
    ("mail-parser", "mail"),
    ("mdns-sd", "discovery"),
    ("minisign", "update"),
    ("minisign-verify", "update"),
    ("pdf-writer", "decoders"),
    ("percent-encoding", "text-kit"),
    ("pulldown-cmark", "decoders"),
    ("quick-xml", "decoders"),
    ("rcgen", "api"),
    ("redb", "store"),
    ("reqwest", "http-client"),
    ("rppal", "board"),
    ("rumqttc-v4-next", "mqtt"),
    ("rusqlite", "sql"),
    ("rust-embed", "api"),
    ("rustls", "http-client"),
    ("rustls-platform-verifier", "http-client"),
    ("rustyline", "hob"),
    ("schemars", "tool"),
    ("scrypt", "store"),
    ("similar", "tools-utilities"),
    ("subsetter", "decoders"),
    ("sunrise", "rules"),
    ("sysinfo", "board"),
    ("tokenizers", "embed"),
    ("ttf-parser", "decoders"),
    ("tokio-tungstenite", "http-client"),
    ("tract-onnx", "embed"),
    ("wasmi", "sandbox"),
    ("whatlang", "language"),
    ("zstd", "update"),
];

/// Licences that only require their text.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "WTFPL",
    "Zlib",
];

/// Maximum lines of a source file.
const LINES: usize = 600;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn metadata() -> Value {
    let cargo = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--format-version", "1", "--locked"])
        .output();
    serde_json::from_slice(&cargo.unwrap().stdout).unwrap()
}

/// The packages of the workspace: name → names of what it normally depends on.
fn members(metadata: &Value) -> BTreeMap<String, Vec<String>> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let ours: Vec<String> = metadata["workspace_members"].as_array().unwrap().iter().map(text).collect();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| ours.contains(&text(&p["id"])))
        .map(|p| {
            let normal = p["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"].is_null());
            (text(&p["name"]), normal.map(|d| text(&d["name"])).collect())
        })
        .collect()
}

#[test]
fn frame_arrows_point_down() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let members = members(&metadata());
    assert_eq!(members.keys().map(String::as_str).collect::<Vec<_>>(), layers.keys().copied().collect::<Vec<_>>());
    for (name, uses) in &members {
        for used in uses.iter().filter_map(|u| layers.get_key_value(u.as_str())) {
            assert!(*used.1 < layers[name.as_str()], "`{name}` must not use `{}`: it is not in a lower layer", used.0);
        }
    }
}

#[test]
fn frame_big_dependencies_have_one_user() {
    let members = members(&metadata());
    for (dependency, user) in ONE_USER {
        let users: Vec<&String> =
            members.iter().filter(|(_, uses)| uses.iter().any(|u| u == dependency)).map(|m| m.0).collect();
        assert_eq!(users, [user], "`{dependency}` belongs to `{user}` alone");
    }
}

#[test]
fn frame_licences_and_sources_of_dependencies() {
    for package in metadata()["packages"].as_array().unwrap() {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        let fits = allowed(&licence.replace('/', " OR "));
        assert!(fits, "{name} has the licence `{licence}`");
        let source = package["source"].as_str();
        assert!(source.is_none_or(|s| s.starts_with("registry+")), "{name} comes from {source:?}");
    }
}

/// Whether an SPDX expression can be met: OR binds least, then AND; parentheses come first.
fn allowed(expression: &str) -> bool {
    let parts = |word: &str| -> Vec<String> {
        let (mut all, mut depth) = (vec![String::new()], 0);
        for token in expression.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
            depth += i32::from(token == "(") - i32::from(token == ")");
            match all.last_mut() {
                Some(last) if depth > 0 || token != word => *last += &format!(" {token}"),
                _ => all.push(String::new()),
            }
        }
        all
    };
    let (any, every) = (parts("OR"), parts("AND"));
    let plain = expression.trim();
    if any.len() > 1 {
        any.iter().any(|e| allowed(e))
    } else if every.len() > 1 {
        every.iter().all(|e| allowed(e))
    } else if let Some(inner) = plain.strip_prefix('(').and_then(|e| e.strip_suffix(')')) {
        allowed(inner)
    } else {
        LICENCES.contains(&plain)
    }
}

#[test]
fn frame_licence_expressions_are_read_right() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
        ("", false),
    ] {
        assert_eq!(allowed(expression), expected, "{expression}");
    }
}

/// Source files of our own, by their ending.
pub fn sources(dir: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            if !["target", "node_modules", "dist", ".venv", ".git", ".hob", "golden"].contains(&name.as_str()) {
                sources(&entry, endings, found);
            }
        } else if endings.iter().any(|e| name.ends_with(e)) && name != "openapi.ts" {
            // openapi.ts is generated.
            found.push(entry);
        }
    }
}

#[test]
fn frame_files_are_short_and_say_what_they_are() {
    let mut files = vec![];
    sources(root(), &[".rs", ".ts", ".tsx", ".mjs", ".js", ".css", ".py", ".c", ".sh"], &mut files);
    assert!(files.len() > 80, "the walk found only {} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().count();
        assert!(lines <= LINES, "{} has {lines} lines: split it by meaning", file.display());
        if file.extension().is_some_and(|e| e == "rs") {
            assert!(text.starts_with("//! "), "{} does not open with a sentence about itself", file.display());
        }
    }
}

#[test]
fn frame_no_reference_to_a_single_machine() {
    let mut files = vec![];
    let endings = [".rs", ".ts", ".tsx", ".mjs", ".py", ".toml", ".md", "Makefile", "run", "setup", ".json", ".html"];
    sources(root(), &endings, &mut files);
    let here = root().to_string_lossy().into_owned() + "/";
    for file in files.iter().filter(|f| !f.ends_with("Cargo.lock")) {
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains(&here), "{} names a path of this machine", file.display());
    }
}

/// Names that meant many things each and are gone; `shared/glossary.md` of the project has the terms that took their place.
const RETIRED_TYPES: &[&str] = &[
    "Armed", "Asides", "Busy", "Careful", "Crier", "Deed", "Desk", "Entering", "Found", "Given", "InText", "Lesson",
    "Mender", "Minds", "Placed", "Seat", "Seats", "Seen", "Shelf", "Standing", "Strand", "Surety", "Ticket", "Trouble",
    "Wanted",
];
const RETIRED_FUNCTIONS: &[&str] =
    &["goes_on", "keep_up", "laid_down", "made_to", "mend_later", "standing", "tell_pins", "tidy_often", "told_apart"];

#[test]
fn frame_retired_names_stay_retired() {
    let mut files = vec![];
    sources(&root().join("src"), &[".rs"], &mut files);
    let mut found = vec![];
    for file in &files {
        for line in fs::read_to_string(file).unwrap().lines() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for pair in words.windows(2) {
                let retired = match pair[0] {
                    "struct" | "enum" | "trait" => RETIRED_TYPES.contains(&pair[1]),
                    "fn" => RETIRED_FUNCTIONS.contains(&pair[1]),
                    _ => false,
                };
                if retired && !line.trim_start().starts_with("//") {
                    found.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "name these by the terms of the field:\n{}", found.join("\n"));
}

/// What models and programs see of each tool. After a change on purpose: `UPDATE_GOLDEN=1 make check`, and look at the diff.
#[test]
fn frame_tool_schemas_are_golden() {
    let data = std::env::temp_dir().join(format!("hob-golden-{}", std::process::id()));
    let listed = Command::new(env!("CARGO_BIN_EXE_hob"))
        .env_clear()
        .args(["--data", data.to_str().unwrap(), "tools", "--json"])
        .output()
        .unwrap();
    let _ = fs::remove_dir_all(&data);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let tools: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    let golden = root().join("tests/golden/tools");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&golden);
        fs::create_dir_all(&golden).unwrap();
        for tool in &tools {
            let file = golden.join(format!("{}.json", tool["name"].as_str().unwrap()));
            fs::write(file, format!("{tool:#}\n")).unwrap();
        }
        return;
    }
    let kept = fs::read_dir(&golden).unwrap().count();
    assert_eq!(kept, tools.len(), "tools came or went: UPDATE_GOLDEN=1 make check");
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let text = fs::read_to_string(golden.join(format!("{name}.json"))).unwrap_or_default();
        let kept: Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(*tool, kept, "`{name}` differs: if that is intended, UPDATE_GOLDEN=1 make check");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "`{name}` has no description");
    }
}
