//! Five small repositories with a failing test each: a scripted model reads, edits, and the test passes; what it changed is taken
//! back file by file.

use crate::{
    harness::Hob,
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A repository: its files, the command that tests it, and the edits that repair it.
struct Repository {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    test: &'static str,
    /// Path, old text, new text.
    edits: &'static [(&'static str, &'static str, &'static str)],
}

const REPOSITORIES: &[Repository] = &[
    Repository {
        name: "median",
        files: &[
            (
                "median.py",
                "def median(numbers):\n    numbers = sorted(numbers)\n    return numbers[len(numbers) // 2]\n",
            ),
            (
                "test_median.py",
                "from median import median\nassert median([3, 1, 2]) == 2\nassert median([4, 1, 2, 3]) == 2.5\nprint('ok')\n",
            ),
        ],
        test: "python3 test_median.py",
        edits: &[(
            "median.py",
            "    return numbers[len(numbers) // 2]\n",
            "    middle = len(numbers) // 2\n    if len(numbers) % 2:\n        return numbers[middle]\n    return (numbers[middle - 1] + \
             numbers[middle]) / 2\n",
        )],
    },
    Repository {
        name: "slug",
        files: &[
            ("slug.js", "exports.slug = (text) => text.toLowerCase().replace(' ', '-');\n"),
            (
                "test.js",
                "const { slug } = require('./slug');\nconst assert = require('assert');\nassert.strictEqual(slug('One Two  Three'), \
                 'one-two-three');\n",
            ),
        ],
        test: "node test.js",
        edits: &[("slug.js", ".replace(' ', '-')", ".replace(/\\s+/g, '-')")],
    },
    Repository {
        name: "clamp",
        files: &[
            (
                "clamp.c",
                "#include \"clamp.h\"\nint clamp(int n, int low, int high) {\n\treturn n < low ? high : n > high ? low : n;\n}\n",
            ),
            ("clamp.h", "int clamp(int n, int low, int high);\n"),
            (
                "test.c",
                "#include \"clamp.h\"\nint main(void) {\n\treturn !(clamp(5, 1, 3) == 3 && clamp(0, 1, 3) == 1 && clamp(2, 1, 3) == 2);\n}\n",
            ),
        ],
        test: "gcc -o /tmp/hob-clamp clamp.c test.c && /tmp/hob-clamp",
        edits: &[("clamp.c", "n < low ? high : n > high ? low : n", "n < low ? low : n > high ? high : n")],
    },
    Repository {
        name: "totals",
        files: &[
            (
                "totals.sh",
                "#!/bin/sh\n# Sums the second column.\nawk -F, '{ total = $2 } END { print total }' \"$1\"\n",
            ),
            ("data.csv", "milk,2\neggs,3\nbread,4\n"),
            ("test.sh", "test \"$(sh totals.sh data.csv)\" = 9\n"),
        ],
        test: "sh test.sh",
        edits: &[("totals.sh", "total = $2", "total += $2")],
    },
    Repository {
        name: "inventory",
        files: &[
            ("shop/__init__.py", ""),
            (
                "shop/stock.py",
                "class Stock:\n    def __init__(self, items={}):\n        self.items = items\n\n    def add(self, name, count):\n        self.items[name] = self.items.get(name, 0) + count\n",
            ),
            (
                "shop/report.py",
                "def report(stock):\n    return ', '.join(f'{name}: {count}' for name, count in stock.items)\n",
            ),
            (
                "test_shop.py",
                "from shop.stock import Stock\nfrom shop.report import report\none, two = Stock(), Stock()\none.add('tea', 2)\nassert two.items == {}\nassert report(one) == 'tea: 2'\n",
            ),
        ],
        test: "python3 test_shop.py",
        edits: &[
            (
                "shop/stock.py",
                "items={}):\n        self.items = items",
                "items=None):\n        self.items = dict(items or {})",
            ),
            ("shop/report.py", "in stock.items)", "in stock.items.items())"),
        ],
    },
];

/// The folder of the owner's files.
fn folder(hob: &Hob) -> PathBuf {
    hob.result("write_file", json!({"path": ".first", "content": ""}));
    let found = fs::read_dir(hob.data().join("workspace/people")).unwrap().map(|entry| entry.unwrap().path());
    found.into_iter().find(|path| path.join(".first").exists()).unwrap()
}

fn passes(repository: &Repository, at: &Path) -> bool {
    let mut command = Command::new("sh");
    // No compiled files beside the sources: the next look would find an old one.
    command.args(["-c", repository.test]).current_dir(at).env("PYTHONDONTWRITEBYTECODE", "1");
    command.output().unwrap().status.success()
}

fn contents(repository: &Repository, at: &Path) -> Vec<String> {
    repository.files.iter().map(|(path, _)| fs::read_to_string(at.join(path)).unwrap()).collect()
}

/// What a model does that knows its trade: look for the failing name, read, edit.
fn script(repository: &Repository) -> Vec<Answer> {
    let path = |file: &str| format!("{}/{file}", repository.name);
    let mut script = vec![
        calls(&[("list_directory", json!({"path": repository.name, "recursive": true}))]),
        calls(&[("search", json!({"pattern": repository.name, "path": repository.name, "context": 1}))]),
    ];
    for (file, old, new) in repository.edits {
        script.push(calls(&[("read_file", json!({"path": path(file)}))]));
        script.push(calls(&[("edit_file", json!({"path": path(file), "old_string": old, "new_string": new}))]));
    }
    script.push(says("The test passes now."));
    script
}

fn repair(hob: &Hob, server: &ModelServer, repository: &Repository) {
    server.script(script(repository));
    let answer = hob.say(&format!("the test of {} fails: please repair it", repository.name));
    for call in answer["toolCalls"].as_array().unwrap() {
        assert_eq!(call["isError"], false, "{}: {call}", repository.name);
    }
}

#[test]
fn a_model_repairs_five_repositories_and_each_file_comes_back() {
    let (hob, server) = with_model("[limits]\ncalls = 0");
    let disk = folder(&hob);
    for repository in REPOSITORIES {
        let at = disk.join(repository.name);
        for (path, text) in repository.files {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let before = contents(repository, &at);
        assert!(!passes(repository, &at), "{} passes before it is repaired", repository.name);
        repair(&hob, &server, repository);
        assert!(passes(repository, &at), "{} fails after it was repaired", repository.name);
        for _ in repository.edits {
            hob.call("undo", json!({})).data(200);
        }
        assert_eq!(contents(repository, &at), before, "{}", repository.name);
        assert!(!passes(repository, &at));
    }
}
