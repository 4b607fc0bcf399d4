//! Hostile git repositories: nothing that they bring along runs, and nothing outside of their place is read.

use crate::{
    git_tools::{git, repository, try_git, workspace},
    harness::{Folder, Hob},
};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Files that only a program of a hostile repository makes.
pub fn markers(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("marker") {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(markers(&entry.path()));
        }
    }
    found
}

/// Leaves a marker in the folder of the repository, or beside it, whatever the working folder is.
const EVIL: &str =
    "#!/bin/sh\nif [ -d .git ]; then touch marker; else touch ../marker; fi\ncat 2>/dev/null\necho PWNED >&2\n";

/// A repository that would run `evil.sh` by one trick. The script is in it, executable.
fn hostile(folder: &Path, trick: &dyn Fn(&Path)) {
    repository(folder);
    fs::write(folder.join("evil.sh"), EVIL).unwrap();
    fs::set_permissions(folder.join("evil.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", "Second"]);
    git(folder, &["branch", "other"]);
    fs::write(folder.join("a.txt"), "two\n").unwrap();
    git(folder, &["commit", "--quiet", "--all", "--message", "Third"]);
    trick(folder);
    fs::write(folder.join("a.txt"), "one\nchanged\n").unwrap();
}

fn append(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    let before = fs::read_to_string(&file).unwrap_or_default();
    fs::write(file, before + text).unwrap();
}

fn settings(text: &'static str) -> Box<dyn Fn(&Path)> {
    Box::new(move |folder| append(folder, ".git/config", text))
}

/// Settings, and attributes for all files.
fn with_attributes(attributes: &'static str, text: &'static str) -> Box<dyn Fn(&Path)> {
    Box::new(move |folder| {
        append(folder, ".git/info/attributes", attributes);
        append(folder, ".git/config", text);
    })
}

type Trick = (&'static str, Box<dyn Fn(&Path)>);

/// Tricks that make git on this machine run something, in one of the commands below.
fn tricks() -> Vec<Trick> {
    let hooks = |folder: &Path, at: &str| {
        fs::create_dir_all(folder.join(at)).unwrap();
        for hook in [
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
        ] {
            fs::copy(folder.join("evil.sh"), folder.join(at).join(hook)).unwrap();
        }
    };
    vec![
        ("hooks", Box::new(move |folder| hooks(folder, ".git/hooks"))),
        (
            "hooksPath",
            Box::new(move |folder| {
                hooks(folder, "h");
                append(folder, ".git/config", "[core]\n\thooksPath = h\n");
            }),
        ),
        ("fsmonitor", settings("[core]\n\tfsmonitor = ./evil.sh\n")),
        ("clean", with_attributes("* filter=evil\n", "[filter \"evil\"]\n\tclean = ./evil.sh\n\trequired = true\n")),
        ("smudge", with_attributes("* filter=evil\n", "[filter \"evil\"]\n\tsmudge = ./evil.sh\n")),
        (
            "process",
            with_attributes("* filter=evil\n", "[filter \"evil\"]\n\tprocess = ./evil.sh\n\trequired = true\n"),
        ),
        ("external", settings("[diff]\n\texternal = ./evil.sh\n")),
        ("textconv", with_attributes("* diff=evil\n", "[diff \"evil\"]\n\ttextconv = ./evil.sh\n")),
        ("driver", with_attributes("* diff=evil\n", "[diff \"evil\"]\n\tcommand = ./evil.sh\n")),
        ("gpg", settings("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ./evil.sh\n[user]\n\tsigningKey = x\n")),
        (
            "ssh signer",
            settings(
                "[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tprogram = ./evil.sh\n[user]\n\tsigningKey = x\n",
            ),
        ),
        (
            "include",
            Box::new(|folder| {
                append(folder, "more", "[core]\n\tfsmonitor = ./evil.sh\n");
                append(folder, ".git/config", "[include]\n\tpath = ../more\n");
            }),
        ),
        (
            "includeIf",
            Box::new(|folder| {
                append(folder, "more", "[core]\n\tfsmonitor = ./evil.sh\n");
                append(folder, ".git/config", "[includeIf \"gitdir:**\"]\n\tpath = ../more\n");
            }),
        ),
        (
            "config.worktree",
            Box::new(|folder| {
                append(
                    folder,
                    ".git/config",
                    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
                );
                append(folder, ".git/config.worktree", "[core]\n\tfsmonitor = ./evil.sh\n");
            }),
        ),
        (
            "submodule",
            Box::new(|folder| {
                repository(&folder.join("sub"));
                git(folder, &["add", "sub"]);
                git(folder, &["commit", "--quiet", "--message", "Sub"]);
                fs::copy(folder.join("evil.sh"), folder.join("sub/evil.sh")).unwrap();
                append(folder, "sub/.git/config", "[core]\n\tfsmonitor = ./evil.sh\n");
                fs::write(folder.join("sub/a.txt"), "changed\n").unwrap();
            }),
        ),
        (
            "lazy fetch",
            Box::new(|folder| {
                append(
                    folder,
                    ".git/config",
                    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = \
                     ./nowhere\n\tpromisor = true\n\tuploadpack = touch marker; false\n",
                );
                let blob = git(folder, &["rev-parse", "other:a.txt"]);
                let (start, rest) = blob.split_at(2);
                fs::remove_file(folder.join(".git/objects").join(start).join(rest)).unwrap();
            }),
        ),
    ]
}

#[test]
fn no_trick_of_a_hostile_repository_runs_anything() {
    let hob = Hob::start();
    let own = workspace(&hob);
    let outside = Folder::new();
    for (at, (name, trick)) in tricks().into_iter().enumerate() {
        // The same commands on this machine run it: the trick is one.
        let control = outside.path(&format!("control-{at}")).join("repository");
        hostile(&control, &trick);
        let commands = [
            &["status"][..],
            &["diff"],
            &["add", "a.txt"],
            &["commit", "--message", "Fourth"],
            &["log", "-1", "-p"],
            &["checkout", "--force", "other"],
        ];
        // While another test starts a program, the script may be busy.
        for _ in 0..3 {
            if markers(control.parent().unwrap()).is_empty() {
                try_git(&control, &["checkout", "--force", "main"]);
                fs::write(control.join("a.txt"), "one\nchanged\n").unwrap();
                commands.iter().for_each(|words| drop(try_git(&control, words)));
            }
        }
        assert!(!markers(control.parent().unwrap()).is_empty(), "{name}: the control ran nothing");

        let folder = own.join(format!("hostile-{at}/repository"));
        hostile(&folder, &trick);
        let path = format!("hostile-{at}/repository");
        let mut answers = String::new();
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_diff", json!({})),
            ("git_diff", json!({"from": "other"})),
            ("git_add", json!({"files": ["a.txt"]})),
            ("git_diff", json!({"staged": true})),
            ("git_commit", json!({"message": "Fourth", "all": true})),
            ("git_log", json!({})),
            ("git_branch", json!({"action": "create", "name": "new"})),
            ("git_checkout", json!({"target": "other", "force": true})),
            ("git_checkout", json!({"target": "HEAD", "files": ["a.txt"]})),
            ("git_branch", json!({"action": "delete", "name": "new", "force": true})),
            ("git_branch", json!({})),
        ] {
            let mut arguments = arguments;
            arguments["path"] = path.clone().into();
            let reply = hob.call(tool, arguments);
            assert!(reply.status < 500, "{name}, {tool}: {}", reply.text());
            // What is missing in a partial clone is missing.
            assert!(reply.status == 200 || name == "lazy fetch", "{name}, {tool}: {}", reply.text());
            answers += &reply.text();
        }
        assert_eq!(markers(&own), Vec::<PathBuf>::new(), "{name}");
        assert!(!answers.contains("PWNED\\n") || answers.contains("echo PWNED"), "{name}: {answers}");
        let config = fs::read_to_string(folder.join(".git/config")).unwrap();
        assert!(config.contains("[core]"), "{name}: the repository's own configuration was replaced: {config}");
    }
}

#[test]
fn repositories_that_refer_to_other_places_are_refused() {
    let hob = Hob::start();
    let own = workspace(&hob);
    let outside = Folder::new();
    let secret = outside.path("secret");
    repository(&secret);
    fs::write(secret.join("a.txt"), "a word of somebody else").unwrap();
    git(&secret, &["commit", "--quiet", "--all", "--message", "Secret"]);
    let target = secret.join(".git");
    let target = target.to_str().unwrap();
    type Reference<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);
    let references: Vec<Reference> = vec![
        ("gitdir", Box::new(|f| fs::write(f.join(".git"), format!("gitdir: {target}\n")).unwrap())),
        ("link", Box::new(|f| symlink(target, f.join(".git")).unwrap())),
        (
            "commondir",
            Box::new(|f| {
                repository(f);
                fs::write(f.join(".git/commondir"), target).unwrap();
            }),
        ),
        (
            "alternates",
            Box::new(|f| {
                repository(f);
                fs::write(f.join(".git/objects/info/alternates"), format!("{target}/objects\n")).unwrap();
            }),
        ),
        (
            "objects",
            Box::new(|f| {
                repository(f);
                fs::remove_dir_all(f.join(".git/objects")).unwrap();
                symlink(format!("{target}/objects"), f.join(".git/objects")).unwrap();
            }),
        ),
        (
            "refs",
            Box::new(|f| {
                repository(f);
                fs::remove_dir_all(f.join(".git/refs")).unwrap();
                symlink(format!("{target}/refs"), f.join(".git/refs")).unwrap();
            }),
        ),
        (
            "config",
            Box::new(|f| {
                repository(f);
                fs::remove_file(f.join(".git/config")).unwrap();
                symlink("/etc/passwd", f.join(".git/config")).unwrap();
            }),
        ),
    ];
    for (name, refer) in references {
        let folder = own.join(name);
        fs::create_dir(&folder).unwrap();
        refer(&folder);
        for (tool, arguments) in
            [("git_log", json!({})), ("git_status", json!({})), ("git_commit", json!({"message": "x", "all": true}))]
        {
            let mut arguments = arguments;
            arguments["path"] = name.into();
            let reply = hob.call(tool, arguments);
            assert!(
                reply.status >= 400 && reply.status < 500 || reply.text().contains("error"),
                "{name}, {tool}: {}",
                reply.text()
            );
            assert!(!reply.text().contains("Secret") && reply.status != 200, "{name}, {tool}: {}", reply.text());
        }
    }
    // A bare repository within another one is only files.
    let folder = own.join("outer");
    repository(&folder);
    git(&folder, &["init", "--quiet", "--bare", "inner"]);
    append(&folder, "inner/config", "[core]\n\tfsmonitor = touch marker\n");
    assert_eq!(hob.result("git_status", json!({"path": "outer/inner"}))["repository"], "outer");
    assert_eq!(markers(&own), Vec::<PathBuf>::new());
}
