//! The modules of each crate depend on one another in one direction only.
//!
//! A node is a module of a crate's root, with all its submodules; the root itself (`lib.rs`, `main.rs`) is the parent of all and
//! no node. An edge is a path from one module's code, outside tests, into another, also through a re-export of the root. A
//! circle means that neither module can be read, tested or moved without the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Circles that stay: crate, modules that may be in one, reason.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[(
    "tool",
    &["bounds", "cx", "definition", "ports"],
    "a context carries the ports, and each port and each tool's function takes the context of a call",
)];

/// Module → modules it uses → one place where it does.
type Graph = BTreeMap<String, BTreeMap<String, PathBuf>>;

#[test]
fn frame_modules_of_a_crate_have_no_circles() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut crates = vec![("hob".to_owned(), src.join("main.rs"))];
    for entry in fs::read_dir(&src).unwrap().map(|e| e.unwrap().path()) {
        let root = entry.join("lib.rs");
        if root.exists() {
            crates.push((entry.file_name().unwrap().to_string_lossy().into_owned(), root));
        }
    }
    crates.sort();
    assert!(crates.len() > 20, "found only {} crates", crates.len());
    let (mut found, mut needed, mut modules, mut edges) = (vec![], vec![false; EXCEPTIONS.len()], 0, 0);
    for (name, root) in &crates {
        let graph = graph_of(root);
        modules += graph.len();
        edges += graph.values().map(BTreeMap::len).sum::<usize>();
        for circle in circles(&graph) {
            let excepted =
                EXCEPTIONS.iter().position(|(of, may, _)| of == name && circle.iter().all(|m| may.contains(m)));
            match excepted {
                Some(at) => needed[at] = true,
                None => {
                    let uses = circle.iter().flat_map(|module| {
                        let used = graph[*module].iter().filter(|(other, _)| circle.contains(&other.as_str()));
                        used.map(move |(other, file)| format!("  {module} → {other} in {}", file.display()))
                    });
                    found.push(format!("{name}: {circle:?}\n{}", uses.collect::<Vec<_>>().join("\n")));
                }
            }
        }
    }
    println!("{} crates, {modules} modules, {edges} edges", crates.len());
    assert!(modules > 200 && edges > 200, "the parser finds {modules} modules and {edges} edges: it misses some");
    assert!(found.is_empty(), "modules use each other in circles:\n{}", found.join("\n"));
    let stale: Vec<_> = EXCEPTIONS.iter().zip(needed).filter(|(_, needed)| !needed).map(|(e, _)| e).collect();
    assert!(stale.is_empty(), "delete these exceptions, which are not needed: {stale:?}");
}

/// The modules of a crate's root and their edges.
fn graph_of(root: &Path) -> Graph {
    let (folder, text) = (root.parent().unwrap(), code_of(root));
    let modules: Vec<String> =
        statements(&text, "mod").into_iter().filter(|name| !files_of(folder, name).is_empty()).collect();
    let is_module = |name: &str| modules.iter().any(|module| module == name);
    // Names that the root takes from its modules are visible as `crate::Name`.
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for path in statements(&text, "use").iter().flat_map(|tree| paths(tree)) {
        let start = usize::from(matches!(path[0].as_str(), "crate" | "self"));
        if let (Some(first), Some(last)) = (path.get(start).filter(|first| is_module(first)), path.last()) {
            names.insert(last.clone(), first.clone());
        }
    }
    let target = |name: &String| if is_module(name) { Some(name.clone()) } else { names.get(name).cloned() };
    let mut graph = Graph::new();
    for module in &modules {
        let uses = graph.entry(module.clone()).or_default();
        for (file, depth) in files_of(folder, module) {
            let code = code_of(&file);
            let in_use: Vec<String> = statements(&code, "use");
            let of_use = in_use.iter().flat_map(|tree| paths(tree));
            for path in of_use.chain(inline_paths(&code)) {
                let start = match path[0].as_str() {
                    "crate" => 1,
                    "super" => path.iter().take_while(|part| *part == "super").count(),
                    _ => continue,
                };
                let reaches_root = path[0] == "crate" || start >= depth;
                let Some(other) = path.get(start).filter(|_| reaches_root).and_then(&target) else {
                    continue;
                };
                if other != *module {
                    uses.entry(other).or_insert_with(|| file.strip_prefix(folder).unwrap().to_owned());
                }
            }
        }
    }
    graph
}

/// The files of a module of the root, each with the number of `super` that leads to the root.
fn files_of(folder: &Path, module: &str) -> Vec<(PathBuf, usize)> {
    let mut files: Vec<(PathBuf, usize)> = Some(folder.join(format!("{module}.rs")))
        .filter(|file| file.exists())
        .into_iter()
        .map(|file| (file, 1))
        .collect();
    let mut folders = vec![(folder.join(module), 2)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(|e| e.unwrap().path()) {
            let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
            if name == "tests" || name.ends_with("_tests") {
            } else if entry.is_dir() {
                folders.push((entry, depth + 1));
            } else if entry.extension().is_some_and(|e| e == "rs") {
                files.push((entry, if name == "mod" { depth - 1 } else { depth }));
            }
        }
    }
    files
}

/// A file without comments, texts and tests.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let (mut code, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find(['/', '"', '\'']) {
        code.push_str(&rest[..at]);
        let from = &rest[at..];
        let skipped = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with("/*") {
            from.find("*/").map_or(from.len(), |end| end + 2)
        } else if from.starts_with('"') {
            // A raw text ends at its own number of #.
            let hashes = code.len() - code.trim_end_matches('#').len();
            let raw = code.trim_end_matches('#').ends_with('r');
            text_end(from, if raw { Some(hashes) } else { None })
        } else if let Some(inner) = from.strip_prefix('\'') {
            // A character; a lifetime has no end.
            let escaped = inner.starts_with('\\');
            let end = from.char_indices().skip(if escaped { 3 } else { 2 }).take(if escaped { 8 } else { 1 });
            end.into_iter().find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
        } else {
            code.push('/');
            1
        };
        rest = &from[skipped..];
    }
    code.push_str(rest);
    without_tests(code)
}

/// Where a text that starts with `"` ends; `raw` is the number of # of a raw text.
fn text_end(text: &str, raw: Option<usize>) -> usize {
    let mut from = 1;
    loop {
        let Some(at) = text[from..].find('"').map(|at| from + at) else { return text.len() };
        let backslashes = text[..at].len() - text[..at].trim_end_matches('\\').len();
        let ends = match raw {
            Some(hashes) => text[at + 1..].starts_with(&"#".repeat(hashes)),
            None => backslashes.is_multiple_of(2),
        };
        if ends {
            return at + 1 + raw.unwrap_or_default();
        }
        from = at + 1;
    }
}

fn without_tests(mut code: String) -> String {
    const TEST: &str = "#[cfg(test)]";
    while let Some(from) = code.find(TEST) {
        let mut depth = 0_i32;
        let end = code[from + TEST.len()..].char_indices().find(|(_, c)| {
            depth += i32::from("([{".contains(*c)) - i32::from(")]}".contains(*c));
            depth < 0 || depth == 0 && ";},".contains(*c)
        });
        code.replace_range(from..end.map_or(code.len(), |(at, _)| from + TEST.len() + at + 1), "");
    }
    code
}

/// What stands between a keyword and its `;`.
fn statements(code: &str, keyword: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code.match_indices(keyword).map(|(at, _)| at);
    let whole = starts
        .filter(|at| !code[..*at].ends_with(is_word) && code[at + keyword.len()..].starts_with(char::is_whitespace));
    whole
        .filter_map(|at| {
            let text = code[at + keyword.len()..].split(';').next()?;
            // Of `mod name { … }` the body is part of the same file.
            (keyword != "mod" || !text.contains('{')).then(|| text.trim().to_owned())
        })
        .collect()
}

/// The paths of a `use` tree, each with its alias as the last part.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let parts = |path: &str| -> Vec<String> {
        path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let Some((prefix, list)) = tree.split_once('{') else {
        let path =
            tree.split_once(" as ").map_or_else(|| parts(tree), |(path, alias)| [parts(path), parts(alias)].concat());
        return if path.is_empty() { vec![] } else { vec![path] };
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut from, mut trees) = (0_i32, 0, vec![]);
    for (at, c) in list.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            trees.push(&list[from..at]);
            from = at + 1;
        }
    }
    trees.push(&list[from..]);
    let under = |path: Vec<String>| [parts(prefix), path].concat();
    trees.into_iter().flat_map(paths).map(under).collect()
}

/// Paths in code that begin at the root or above.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let words = code.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
    let starts = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    starts.map(|path| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()).collect()
}

/// The modules that a module uses, directly or through others.
fn reachable<'g>(graph: &'g Graph, from: &'g str) -> BTreeSet<&'g str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        let used = graph.get(module).into_iter().flat_map(|uses| uses.keys());
        next.extend(used.map(String::as_str).filter(|used| reached.insert(*used)));
    }
    reached
}

/// Groups of modules that reach each other.
fn circles(graph: &Graph) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph.keys().map(|m| (m.as_str(), reachable(graph, m))).collect();
    let mut found: Vec<Vec<&str>> = vec![];
    for (module, reaches) in &reached {
        if reaches.contains(module) && !found.iter().any(|circle| circle.contains(module)) {
            let same = reaches.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)));
            found.push(same.copied().collect());
        }
    }
    found
}

#[test]
fn frame_the_parser_of_modules_sees_paths_and_skips_tests() {
    let tree = "crate::{ Agent, calls::{self, CallOutcome as Outcome}, run::Run }";
    assert_eq!(
        paths(tree),
        [
            vec!["crate", "Agent"],
            vec!["crate", "calls", "self"],
            vec!["crate", "calls", "CallOutcome", "Outcome"],
            vec!["crate", "run", "Run"]
        ]
    );
    let code = "use a::b; mod c; mod d { mod e; } fn f() { crate::g::h(); super::super::i }";
    assert_eq!(
        (statements(code, "use"), statements(code, "mod")),
        (vec!["a::b".to_owned()], vec!["c".into(), "e".into()])
    );
    assert_eq!(inline_paths(code), [vec!["crate", "g", "h"], vec!["super", "super", "i"]]);
    let tests = "#[cfg(test)] use x::y; #[cfg(test)]\nmod tests { fn f() { a[1]; } } #[cfg(test)] fn g() { } fn h() {}";
    assert_eq!(without_tests(tests.into()).trim(), "fn h() {}");
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry(to.to_string()).or_default();
            graph.entry(from.to_string()).or_default().insert(to.to_string(), PathBuf::new());
        }
        graph
    };
    let looped = graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]);
    assert_eq!(circles(&looped), [["b", "c"]]);
    assert!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
}
