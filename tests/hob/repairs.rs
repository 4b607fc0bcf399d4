//! Five small repositories with a failing test each: a scripted model reads, runs the test, edits, runs it again and commits; what
//! it changed is taken back file by file, and the commit stays.

use crate::{
    exec::switch_on,
    git_tools::{git, workspace},
    harness::Hob,
    model::with_model,
    model_server::{Answer, ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

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

fn passes(repository: &Repository, at: &Path) -> bool {
    let mut command = Command::new("sh");
    // No compiled files beside the sources: the next look would find an old one.
    command.args(["-c", repository.test]).current_dir(at).env("PYTHONDONTWRITEBYTECODE", "1");
    command.output().unwrap().status.success()
}

fn contents(repository: &Repository, at: &Path) -> Vec<String> {
    repository.files.iter().map(|(path, _)| fs::read_to_string(at.join(path)).unwrap()).collect()
}

/// What a model does that knows its trade: look around, run the test, read, edit, run the test again, commit.
fn script(repository: &Repository) -> Vec<Answer> {
    let path = |file: &str| format!("{}/{file}", repository.name);
    let run_test = || calls(&[("exec", json!({"command": repository.test, "cwd": repository.name}))]);
    let mut script = vec![
        calls(&[("list_directory", json!({"path": repository.name, "recursive": true}))]),
        calls(&[("search", json!({"pattern": repository.name, "path": repository.name, "context": 1}))]),
        run_test(),
    ];
    for (file, old, new) in repository.edits {
        script.push(calls(&[("read_file", json!({"path": path(file)}))]));
        script.push(calls(&[("edit_file", json!({"path": path(file), "old_string": old, "new_string": new}))]));
    }
    script.push(run_test());
    script.push(calls(&[("git_diff", json!({"path": repository.name}))]));
    let files: Vec<&str> = repository.edits.iter().map(|(file, ..)| *file).collect();
    script.push(calls(&[("git_add", json!({"path": repository.name, "files": files}))]));
    script.push(calls(&[("git_commit", json!({"path": repository.name, "message": "Repair it"}))]));
    script.push(says("The test passes now."));
    script
}

/// Lets the model repair a repository; returns its calls.
fn repair(hob: &Hob, server: &ModelServer, repository: &Repository) -> Vec<Value> {
    server.script(script(repository));
    let answer = hob.say(&format!("the test of {} fails: please repair it", repository.name));
    let calls = answer["toolCalls"].as_array().unwrap().clone();
    for call in &calls {
        assert_eq!(call["isError"], false, "{}: {call}", repository.name);
    }
    calls
}

#[test]
fn a_model_repairs_and_commits_in_five_repositories_and_each_file_comes_back() {
    let (hob, server) = with_model("[limits]\ncalls = 0\n[agent]\nmax_turns = 30");
    switch_on(&hob);
    let disk = workspace(&hob);
    for repository in REPOSITORIES {
        let at = disk.join(repository.name);
        for (path, text) in repository.files {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(&at, &["init", "--quiet", "--initial-branch=main"]);
        git(&at, &["add", "."]);
        git(&at, &["commit", "--quiet", "--message", "As it was found"]);
        let before = contents(repository, &at);
        assert!(!passes(repository, &at), "{} passes before it is repaired", repository.name);

        let calls = repair(&hob, &server, repository);
        let results = |tool: &str| -> Vec<&Value> {
            calls.iter().filter(|call| call["name"] == tool).map(|call| &call["result"]).collect()
        };
        let tests = results("exec");
        assert_eq!(tests.len(), 2, "{}", repository.name);
        assert!(tests[0]["exitCode"] != 0 && tests[1]["exitCode"] == 0, "{}: {tests:?}", repository.name);
        let (diff, made) = (results("git_diff")[0], results("git_commit")[0]);
        assert_eq!(
            (&diff["changedFiles"], &made["changedFiles"]),
            (&json!(repository.edits.len()), &diff["changedFiles"])
        );
        assert_eq!(git(&at, &["rev-parse", "HEAD"]), made["commit"].as_str().unwrap(), "{}", repository.name);
        assert_eq!(git(&at, &["status", "--porcelain"]), "", "{}", repository.name);
        assert!(passes(repository, &at), "{} fails after it was repaired", repository.name);

        for _ in repository.edits {
            let undone = hob.call("undo", json!({})).data(200);
            let sentence = undone["say"].as_str().unwrap();
            assert!(sentence.ends_with("What was committed stays in git."), "{sentence}");
        }
        assert_eq!(contents(repository, &at), before, "{}", repository.name);
        assert!(!passes(repository, &at));
        // The commit is still there, and git shows what differs from it.
        assert_eq!(git(&at, &["log", "-1", "--format=%H"]), made["commit"].as_str().unwrap());
        let status = hob.result("git_status", json!({"path": repository.name}));
        assert_eq!(status["unstaged"].as_array().unwrap().len(), repository.edits.len(), "{status}");
    }
    // Outside of a repository there is nothing to say about commits.
    hob.result("write_file", json!({"path": "plain.txt", "content": "x"}));
    let undone = hob.call("undo", json!({})).data(200);
    assert!(!undone["say"].as_str().unwrap().contains("git"), "{undone}");
}
