//! Whether a command deletes or overwrites something, judged by its words before it runs.
//!
//! The words do not show what a program does within itself (a script, a makefile, a compiled program). Such a program
//! changes only what can be restored: see `Workspaces::after_program`.

use crate::words::{self, Command, Word};

/// How deep commands within commands are judged.
const DEPTH: usize = 6;

/// Programs that delete or empty what they are given.
const DELETE: &[&str] = &["rm", "rmdir", "unlink", "shred", "srm", "wipe", "truncate", "rimraf", "del", "mkfs"];
/// Programs that run the command in their arguments, with their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-C", "-D", "-p", "-h"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("nohup", &[]),
    ("time", &["-o", "-f"]),
    ("timeout", &["-s", "-k"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("setsid", &[]),
    ("command", &[]),
    ("builtin", &[]),
    ("exec", &["-a"]),
    ("busybox", &[]),
    ("toybox", &[]),
    ("chrt", &[]),
    ("taskset", &[]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"]),
    ("parallel", &["-j", "-a", "-I"]),
    ("watch", &["-n"]),
    ("flock", &["-w", "-E"]),
    ("unshare", &[]),
    ("strace", &["-o", "-e", "-p"]),
];
/// Shells, whose `-c` takes commands.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"];
/// Interpreters, whose `-c` or `-e` takes code.
const INTERPRETERS: &[&str] = &["python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua"];
/// Words in code that deletes or empties files.
const CODE: &[&str] = &[
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "os.truncate",
    "rmtree",
    ".unlink(",
    ".rmdir(",
    "unlink ",
    "unlink(",
    "rmdir ",
    "rmdir(",
    "rmsync",
    "unlinksync",
    "rmdirsync",
    "truncatesync",
    "fs.rm",
    "fspromises.rm",
    "file.delete",
    "dir.delete",
    "fileutils.rm",
    "fileutils.remove",
    "rimraf",
    ".delete()",
    "remove-item",
];

/// The files that are there already, for commands that overwrite them.
pub trait Existing {
    /// Whether something has this path, which is absolute or relative to the working directory.
    fn is_there(&self, path: &str) -> bool;
    /// Whether it is a folder.
    fn is_folder(&self, path: &str) -> bool;
}

/// Whether a text of shell commands deletes or overwrites something.
pub fn command_destroys(text: &str, existing: &dyn Existing) -> bool {
    Judge { existing, folders: vec![String::new()], is_lost: false }.text(text, 0)
}

/// Whether code in a language names a way to delete files. It may still delete in a way that has no name here.
pub fn code_destroys(code: &str) -> bool {
    let code = code.to_lowercase();
    CODE.iter().any(|word| code.contains(word))
}

struct Judge<'a> {
    existing: &'a dyn Existing,
    /// The folders that the commands may be in, relative to the working directory.
    folders: Vec<String>,
    /// Whether they may be in a folder that is not known.
    is_lost: bool,
}

impl Judge<'_> {
    fn text(&mut self, text: &str, depth: usize) -> bool {
        let script = words::read(text);
        script.is_unclear || depth > DEPTH || script.commands.iter().any(|command| self.command(command, depth))
    }

    fn command(&mut self, command: &Command, depth: usize) -> bool {
        command.writes.iter().any(|write| !write.appends && self.overwrites(&write.target))
            || self.words(&command.words, depth)
    }

    fn words(&mut self, words: &[Word], depth: usize) -> bool {
        if depth > DEPTH {
            return true;
        }
        let words = unwrapped(words);
        let Some((first, rest)) = words.split_first() else { return false };
        if !first.is_plain {
            // The name of the program is computed.
            return true;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default().to_lowercase();
        let has = |options: &[&str]| rest.iter().any(|word| options.contains(&&*word.text));
        if SHELLS.contains(&&*name) {
            return after_option(rest, 'c').is_some_and(|code| !code.is_plain || self.text(&code.text, depth + 1));
        }
        if is_interpreter(&name) {
            let code = ['c', 'e', 'r'].iter().find_map(|option| after_option(rest, *option));
            return code.is_some_and(|code| code_destroys(&code.text));
        }
        match &*name {
            "eval" | "." | "source" if rest.iter().any(|word| !word.is_plain) => true,
            "eval" => self.text(&joined(rest), depth + 1),
            "trap" => rest.first().is_some_and(|code| self.text(&code.text, depth + 1)),
            "cd" | "pushd" | "chdir" => {
                self.moves(rest.iter().find(|word| !word.text.starts_with('-')));
                false
            }
            "find" | "fd" => self.find(rest, depth),
            "git" => git(rest),
            "dd" => rest.iter().filter_map(|word| strip(word, "of=")).any(|file| self.overwrites(&file)),
            "mv" | "cp" | "install" | "ln" | "rename" => self.transfers(&name, rest),
            "tee" | "sponge" => {
                let files = || rest.iter().filter(|word| !word.text.starts_with('-'));
                !has(&["-a", "--append"]) && files().any(|file| self.overwrites(file))
            }
            "rsync" => rest
                .iter()
                .any(|w| w.text.starts_with("--delete") || w.text == "--remove-source-files" || w.text == "--inplace"),
            "tar" => has(&["--remove-files", "--overwrite", "--unlink-first", "--recursive-unlink", "-U"]),
            "unzip" | "7z" => has(&["-o", "-aoa"]),
            "sqlite3" | "psql" | "mysql" => rest.iter().any(|word| {
                let text = word.text.to_lowercase();
                ["delete from", "drop table", "drop database", "truncate "].iter().any(|sql| text.contains(sql))
            }),
            "crontab" => has(&["-r"]),
            name if name.starts_with("mkfs.") => true,
            name => DELETE.contains(&name) && !has(&["--help", "--version"]),
        }
    }

    fn find(&mut self, words: &[Word], depth: usize) -> bool {
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        words.iter().enumerate().any(|(at, word)| {
            matches!(&*word.text, "-delete" | "-fprint" | "-fprintf" | "-fls")
                || runs.contains(&&*word.text) && {
                    let rest = &words[at + 1..];
                    let end = rest.iter().position(|w| matches!(&*w.text, ";" | "+")).unwrap_or(rest.len());
                    self.words(&rest[..end], depth + 1)
                }
        })
    }

    /// Whether copying or moving overwrites what is at the target.
    fn transfers(&self, name: &str, words: &[Word]) -> bool {
        let has = |options: &[&str]| words.iter().any(|word| options.contains(&&*word.text));
        if has(&["-n", "--no-clobber", "--update=none", "--help", "--version"]) {
            return false;
        }
        if name == "ln" && !has(&["-f", "-sf", "-fs", "-sfn", "-snf", "-nsf", "--force"]) {
            return false;
        }
        let target = words.windows(2).find(|pair| matches!(&*pair[0].text, "-t")).map(|pair| pair[1].clone());
        let target = target.or_else(|| words.iter().find_map(|word| strip(word, "--target-directory=")));
        let files: Vec<&Word> = words.iter().filter(|word| !word.text.starts_with('-')).collect();
        let (target, sources) = match (target, files.split_last()) {
            (Some(target), _) => (target, files.as_slice()),
            (None, Some((last, sources))) if !sources.is_empty() => ((*last).clone(), sources),
            _ => return false,
        };
        if !target.is_plain || self.is_lost {
            return true;
        }
        if !self.any(&target.text, |existing, path| existing.is_folder(path)) {
            return self.overwrites(&target);
        }
        sources.iter().any(|source| {
            let text = source.text.trim_end_matches('/');
            let last = text.rsplit('/').next().unwrap_or_default();
            let into = format!("{}/{last}", target.text.trim_end_matches('/'));
            // With a pattern it is not known which names come.
            self.overwrites(&Word { text: into, is_plain: source.is_plain })
        })
    }

    fn moves(&mut self, to: Option<&Word>) {
        let Some(to) = to.filter(|to| to.is_plain) else {
            self.is_lost = true;
            return;
        };
        let known = self.folders.len();
        if known > 32 {
            self.is_lost = true;
            return;
        }
        for at in 0..known {
            let folder = joined_path(&self.folders[at], &to.text);
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    /// Whether rewriting a file destroys its content.
    fn overwrites(&self, file: &Word) -> bool {
        let path = &*file.text;
        if ["/tmp/", "/dev/", "/proc/self/fd/"].iter().any(|folder| path.starts_with(folder)) && !path.contains("..") {
            return false;
        }
        !file.is_plain
            || self.is_lost && !path.starts_with('/')
            || self.any(path, |existing, path| existing.is_there(path))
    }

    fn any(&self, path: &str, holds: impl Fn(&dyn Existing, &str) -> bool) -> bool {
        self.folders.iter().any(|folder| holds(self.existing, &joined_path(folder, path)))
    }
}

fn joined_path(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
}

fn strip(word: &Word, prefix: &str) -> Option<Word> {
    word.text.strip_prefix(prefix).map(|text| Word { text: text.to_owned(), is_plain: word.is_plain })
}

fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name)
}

/// The word after an option such as `-c`, also where it stands among others (`-lc`).
fn after_option(words: &[Word], option: char) -> Option<&Word> {
    let is = |word: &Word| {
        word.text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.ends_with(option))
            || option == 'e' && matches!(&*word.text, "--eval" | "-p" | "-pe" | "--print")
    };
    let at = words.iter().position(is)?;
    words.get(at + 1)
}

/// The command without assignments before it and programs that only start it.
fn unwrapped(words: &[Word]) -> &[Word] {
    let mut words = words;
    loop {
        let Some((first, rest)) = words.split_first() else { return words };
        let is_assignment = first.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+".contains(&b))
        });
        if is_assignment {
            words = rest;
            continue;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let Some((name, options)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name && first.is_plain) else {
            return words;
        };
        words = rest;
        while let Some((option, rest)) = words.split_first() {
            if option.text == "--" {
                words = rest;
                break;
            }
            if !option.text.starts_with('-') || option.text == "-" {
                break;
            }
            let skip = if options.contains(&&*option.text) { 1 } else { 0 };
            words = &rest[skip.min(rest.len())..];
        }
        // A duration, a priority, a mask, a lock.
        if matches!(*name, "timeout" | "chrt" | "taskset" | "flock") {
            words = &words[1.min(words.len())..];
        }
    }
}

/// Whether a git command throws away changes or commits.
fn git(words: &[Word]) -> bool {
    let mut words = words;
    while let Some((option, rest)) = words.split_first() {
        if !option.text.starts_with('-') {
            break;
        }
        let skip = usize::from(matches!(&*option.text, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace"));
        words = &rest[skip.min(rest.len())..];
    }
    let Some((verb, rest)) = words.split_first() else { return false };
    if !verb.is_plain {
        return true;
    }
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(&&*word.text));
    let short = |letter: char| {
        rest.iter().any(|word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter))
    };
    match &*verb.text {
        "clean" => !has(&["--dry-run"]) && !short('n'),
        "reset" => has(&["--hard", "--merge", "--keep"]),
        "checkout" => has(&["--", ".", "--force", "--ours", "--theirs"]) || short('f') || short('B'),
        "switch" => has(&["--force", "--discard-changes"]) || short('f') || short('C'),
        "restore" => !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]),
        "stash" => rest.first().is_some_and(|word| matches!(&*word.text, "drop" | "clear")),
        "branch" | "tag" => short('D') || short('d') || has(&["--delete", "--force"]) || short('f'),
        "rm" => !has(&["--cached"]),
        "push" => {
            has(&["--force", "--delete", "--mirror", "--prune"])
                || short('f')
                || short('d')
                || rest.iter().any(|word| {
                    word.text.starts_with("--force") || word.text.starts_with('+') || word.text.starts_with(':')
                })
        }
        "reflog" => rest.first().is_some_and(|word| matches!(&*word.text, "expire" | "delete")),
        "gc" | "prune" | "filter-branch" | "filter-repo" => true,
        "worktree" => rest.first().is_some_and(|word| word.text == "remove"),
        "update-ref" => short('d'),
        "submodule" => rest.first().is_some_and(|word| word.text == "deinit"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files `old` and `dir/old`, and the folder `dir`.
    struct Some;
    impl Existing for Some {
        fn is_there(&self, path: &str) -> bool {
            ["old", "dir", "dir/old", "./old", "/workspace/old", "dir/./old"].contains(&path)
        }
        fn is_folder(&self, path: &str) -> bool {
            ["dir", "dir/"].contains(&path)
        }
    }

    #[test]
    fn what_deletes_or_overwrites_is_found() {
        for command in [
            "rm x",
            "rmdir x",
            "unlink x",
            "shred x",
            "truncate -s 0 x",
            "/bin/rm x",
            "sudo -u me rm x",
            "env A=1 rm x",
            "A=1 rm x",
            "timeout 5 rm x",
            "timeout -k 1 5 rm x",
            "nice -n 5 rm x",
            "nohup rm x &",
            "busybox rm x",
            "ls | xargs rm",
            "ls | xargs -n 1 rm",
            "ls | xargs -I{} rm {}",
            "find . -name '*.o' -delete",
            "find . -type f -exec rm {} \\;",
            "find . -execdir /bin/rm {} +",
            "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
            "sh -c 'rm x'",
            "bash -lc 'cd y && rm x'",
            "sh -c \"$x\"",
            "eval 'rm x'",
            "eval \"$x\"",
            "$x y",
            "echo $(rm x)",
            "(rm x)",
            "if true; then rm x; fi",
            "for f in *; do rm \"$f\"; done",
            "trap 'rm x' EXIT",
            "git clean -fd",
            "git -C dir clean -f",
            "git reset --hard",
            "git checkout -- x",
            "git checkout .",
            "git restore x",
            "git stash drop",
            "git branch -D x",
            "git rm x",
            "git push --force",
            "git push origin +main",
            "dd of=old",
            "mv x old",
            "mv old dir",
            "mv -t dir old",
            "mv x \"$y\"",
            "cp x old",
            "cp *.c dir",
            "cp ./old dir/",
            "ln -sf x old",
            "echo x > old",
            "echo x >| old",
            "echo x &> old",
            "> old",
            "echo x > /workspace/old",
            "echo x > \"$y\"",
            "echo x | tee old",
            "cd dir && echo x > old",
            "cd \"$y\" && echo x > z",
            "cd nowhere; echo x > /workspace/old",
            "rsync -a --delete a/ b/",
            "python3 -c 'import os; os.remove(\"x\")'",
            "perl -e 'unlink \"x\"'",
            "node -e 'fs.unlinkSync(\"x\")'",
            "sqlite3 x 'DELETE FROM y'",
            "echo 'open",
            "cat <<E | sh\n$(rm x)\nE",
        ] {
            assert!(command_destroys(command, &Some), "{command}");
        }
    }

    #[test]
    fn what_only_reads_or_adds_is_not() {
        for command in [
            "ls -la",
            "echo rm x",
            "echo 'rm x; rm y'",
            "grep -r rm .",
            "cat old",
            "sort < old",
            "echo x > new",
            "echo x >> old",
            "echo x > /dev/null 2>&1",
            "echo x > /tmp/old",
            "make 2>&1 | tee -a old",
            "make | tee new",
            "mv old new",
            "mv -n x old",
            "mv x dir",
            "cp old new",
            "cp old dir/new",
            "ln -s old new",
            "git status",
            "git log --oneline",
            "git commit -m 'rm old'",
            "git checkout main",
            "git checkout -b topic",
            "git restore --staged x",
            "git rm --cached x",
            "git clean -n",
            "git stash",
            "git branch",
            "git push",
            "find . -name '*.rs' -exec wc -l {} +",
            "ls | xargs -n 1 wc -l",
            "sh -c 'ls'",
            "python3 script.py",
            "python3 -c 'print(1)'",
            "perl -ne 'print'",
            "dd of=new",
            "tar xf a.tar",
            "mkdir dir && cd dir && echo x > new",
            "for i in 1 2; do echo $i; done",
            "x=$(cat old); echo \"$x\"",
            "test -e old && echo yes",
            "[ -f old ] || touch new",
            "cat > new <<E\nrm x\nE",
            "cargo test && npm run build",
            "rm --help",
        ] {
            assert!(!command_destroys(command, &Some), "{command}");
        }
    }

    #[test]
    fn code_that_names_a_deletion_is_found() {
        for code in ["import os\nos.unlink('x')", "shutil.rmtree(p)", "Path('x').unlink()", "fs.rmSync('x')"] {
            assert!(code_destroys(code), "{code}");
        }
        for code in ["print('remove')", "x.remove(1)", "list.pop()"] {
            assert!(!code_destroys(code), "{code}");
        }
    }
}
