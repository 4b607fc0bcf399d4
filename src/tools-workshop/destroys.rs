//! Whether a command deletes or overwrites something, judged by its words before it runs.
//!
//! The words do not show what a program does within itself (a script, a makefile, a compiled program). Such a program
//! changes only what can be restored: see `Workspaces::after_program`.

use crate::words::{self, Command, Input, Word};

/// How deep commands within commands are judged.
const DEPTH: usize = 6;

/// Programs that delete or empty what they are given.
const DELETE: &[&str] = &["rm", "rmdir", "unlink", "shred", "srm", "wipe", "truncate", "rimraf", "del", "mkfs"];
/// Programs that run the command in their arguments, with their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-C", "-D", "-p", "-h"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C"]),
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
    ("choom", &["-n"]),
    ("linux32", &[]),
    ("linux64", &[]),
    ("prlimit", &[]),
    ("setarch", &[]),
    ("setpriv", &[]),
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

/// Whether a text of shell commands, with this as its standard input, deletes or overwrites something.
pub fn command_destroys(text: &str, input: &str, existing: &dyn Existing) -> bool {
    let judge = Judge { existing, folders: vec![String::new()], is_lost: false, source: text, input, is_fed: false };
    judge.whole()
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
    /// The whole text, and what it gets as its standard input.
    source: &'a str,
    input: &'a str,
    /// Whether a command in it, or around it, reads something else.
    is_fed: bool,
}

impl Judge<'_> {
    fn whole(mut self) -> bool {
        self.text(self.source, 0)
    }

    fn text(&mut self, text: &str, depth: usize) -> bool {
        let script = words::read(text);
        self.is_fed |= script.is_fed;
        script.is_unclear
            || depth > DEPTH
            || script.commands.iter().any(|command| {
                command.writes.iter().any(|write| !write.appends && self.overwrites(&write.target))
                    || self.words(&command.words, &Fed { command, documents: &script.documents }, depth)
            })
    }

    fn words(&mut self, words: &[Word], fed: &Fed, depth: usize) -> bool {
        if depth > DEPTH {
            return true;
        }
        let words = match unwrapped(words) {
            Started::Words(words) => words,
            Started::Text(text) => return !text.is_plain || self.text(&text.text, depth + 1),
        };
        let Some((first, rest)) = words.split_first() else { return false };
        if !first.is_plain {
            // The name of the program is computed.
            return true;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default().to_lowercase();
        let has = |options: &[&str]| rest.iter().any(|word| options.contains(&&*word.text));
        if SHELLS.contains(&&*name) {
            return self.shell(rest, fed, depth);
        }
        if is_interpreter(&name) {
            return self.interpreter(rest, fed);
        }
        match &*name {
            "eval" | "." | "source" if rest.iter().any(|word| !word.is_plain) => true,
            "eval" => self.text(&joined(rest), depth + 1),
            "trap" => rest.first().is_some_and(|code| self.text(&code.text, depth + 1)),
            // The name may stand for it from then on.
            "alias" => rest.iter().any(|word| {
                let code = word.text.split_once('=').map_or("", |(_, code)| code);
                !word.is_plain || self.text(&format!("{code} x"), depth + 1)
            }),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(&joined(rest), depth),
            "sort" => {
                let to = rest
                    .windows(2)
                    .find(|pair| matches!(&*pair[0].text, "-o" | "--output"))
                    .map(|pair| pair[1].clone());
                let to =
                    to.or_else(|| rest.iter().find_map(|word| strip(word, "--output=").or_else(|| strip(word, "-o"))));
                to.is_some_and(|file| self.overwrites(&file))
            }
            "cd" | "pushd" | "chdir" => {
                self.moves(rest.iter().find(|word| !word.text.starts_with('-')));
                false
            }
            "find" | "fd" => self.find(rest, fed, depth),
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

    /// Whether a shell deletes something by its code, or by what it reads.
    fn shell(&mut self, words: &[Word], fed: &Fed, depth: usize) -> bool {
        let mut words = words;
        while let Some((option, rest)) = words.split_first() {
            if !option.is_plain {
                return true;
            }
            let Some(letters) = option.text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
            words = rest;
            if letters.starts_with('-') {
                // `--rcfile FILE`, `--init-file FILE`.
                words = if letters.ends_with("file") { words.get(1..).unwrap_or_default() } else { words };
            } else if let Some((_, code)) = letters.split_once('c') {
                // `-c CODE`, and `-cCODE` as some shells read it.
                let attached = !code.is_empty() && self.text(code, depth + 1);
                return attached || words.first().is_none_or(|code| !code.is_plain || self.text(&code.text, depth + 1));
            } else if letters.contains('s') {
                return self.reads_commands(fed, depth);
            } else if letters.ends_with(['o', 'O']) {
                words = words.get(1..).unwrap_or_default();
            }
        }
        match words.first() {
            Some(script) if !matches!(&*script.text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => {
                !script.is_plain
            }
            _ => self.reads_commands(fed, depth),
        }
    }

    /// Whether commands that a shell reads as its input delete something, or cannot be known.
    fn reads_commands(&mut self, fed: &Fed, depth: usize) -> bool {
        match &fed.command.input {
            Input::Inherited if self.is_fed => true,
            Input::Inherited => self.text(self.input, depth + 1),
            Input::Piped => true,
            Input::Text(text) => !text.is_plain || self.text(&text.text, depth + 1),
            Input::Document => fed.documents.iter().any(|document| self.text(document, depth + 1)),
        }
    }

    /// Whether an interpreter deletes something by code in its arguments, or in what it reads.
    fn interpreter(&self, words: &[Word], fed: &Fed) -> bool {
        if words.iter().any(|word| word.text.starts_with('-') && word.text.len() > 1) && code_destroys(&joined(words)) {
            return true;
        }
        let reads = words.iter().all(|word| word.text.starts_with('-'));
        reads
            && match &fed.command.input {
                Input::Inherited if !self.is_fed => code_destroys(self.input),
                Input::Document => fed.documents.iter().any(|document| code_destroys(document)),
                _ => code_destroys(self.source),
            }
    }

    /// Whether a program for awk runs a command that deletes something: commands are texts in it.
    fn awk(&mut self, program: &str, depth: usize) -> bool {
        let runs = program.contains("system(") || program.contains('|');
        runs && program.split('"').skip(1).step_by(2).any(|text| self.text(text, depth + 1))
            || program.split("system(").skip(1).any(|call| !call.trim_start().starts_with('"'))
    }

    fn find(&mut self, words: &[Word], fed: &Fed, depth: usize) -> bool {
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        words.iter().enumerate().any(|(at, word)| {
            matches!(&*word.text, "-delete" | "-fprint" | "-fprintf" | "-fls")
                || runs.contains(&&*word.text) && {
                    let rest = &words[at + 1..];
                    let end = rest.iter().position(|w| matches!(&*w.text, ";" | "+")).unwrap_or(rest.len());
                    self.words(&rest[..end], fed, depth + 1)
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
        // What a program leaves elsewhere is gone at its end.
        let leaves =
            |path: &str| path.starts_with('/') && !["/workspace", "/places"].iter().any(|own| path.starts_with(own));
        if !target.is_plain || self.is_lost || name == "mv" && leaves(&target.text) {
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

/// A command as it stands in a text: with what it reads.
struct Fed<'a> {
    command: &'a Command,
    documents: &'a [String],
}

/// What a command starts.
enum Started<'a> {
    Words(&'a [Word]),
    /// A text with a command in it.
    Text(Word),
}

/// The command without assignments before it and programs that only start it.
fn unwrapped(words: &[Word]) -> Started<'_> {
    let mut words = words;
    loop {
        let Some((first, rest)) = words.split_first() else { return Started::Words(words) };
        let is_assignment = first.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+".contains(&b))
        });
        if is_assignment {
            words = rest;
            continue;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let Some((name, options)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name && first.is_plain) else {
            return Started::Words(words);
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
            // `env -S 'COMMAND'`, also attached.
            let splits = option.text.strip_prefix("--split-string").map(|text| text.trim_start_matches('='));
            let splits =
                splits.or_else(|| option.text.strip_prefix('-')?.trim_start_matches(['i', 'v', '0']).strip_prefix('S'));
            if let Some(attached) = splits.filter(|_| *name == "env") {
                let is_plain = option.is_plain && rest.iter().all(|word| word.is_plain);
                return Started::Text(Word { text: format!("{attached} {}", joined(rest)), is_plain });
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
mod tests;
