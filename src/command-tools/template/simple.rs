//! Simple commands: which program they run, and whether a value may be among its arguments.

use text_kit::truncate;
use tool::{Error, Result};

/// Commands of the shell that read an argument as code, as an assignment or as a name.
const SHELL: &[&str] = &[
    ".",
    "[[",
    "alias",
    "bind",
    "compgen",
    "complete",
    "declare",
    "enable",
    "eval",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "source",
    "trap",
    "typeset",
    "unset",
];
/// Programs that run their arguments, or read them as statements.
const RUN_ARGUMENTS: &[&str] = &[
    "at", "batch", "crontab", "expect", "flock", "gdb", "mariadb", "mysql", "parallel", "psql", "script", "sqlite3",
    "ssh", "su", "tmux", "watch",
];
/// Programs whose first argument without a dash is code.
const CODE_FIRST: &[&str] = &["awk", "gawk", "mawk", "nawk", "sed"];
/// Interpreters, which read code after an option such as `-c` or `-e`.
const INTERPRETERS: &[&str] = &[
    "R", "Rscript", "ash", "bash", "bun", "busybox", "dash", "deno", "fish", "guile", "ksh", "lua", "luajit", "node",
    "nodejs", "octave", "perl", "php", "python", "ruby", "sh", "tclsh", "zsh",
];
/// Programs that run the command that follows.
const WRAPPERS: &[&str] = &[
    "builtin", "busybox", "chrt", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "sudo", "time", "timeout", "xargs",
];
/// Words after which a command begins.
const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{"];

/// The simple command that is being read.
#[derive(Debug, Clone, Default)]
pub struct Simple {
    /// The program, without its folder.
    program: Option<String>,
    /// Whether the next word may be the program that this one runs.
    is_wrapper: bool,
    /// Whether some word before was such a program.
    is_wrapped: bool,
    /// The text of the word being read, without quotes and places.
    pub word: String,
    pub in_word: bool,
    pub has_place: bool,
    /// Whether options end here (`--`).
    pub dashes: bool,
    /// Whether an option came that takes code.
    code_option: bool,
    /// Whether an argument without a dash came.
    first_argument: bool,
}

impl Simple {
    /// The word is complete.
    pub fn end_word(&mut self) {
        if !self.in_word {
            return;
        }
        let (word, has_place) = (std::mem::take(&mut self.word), std::mem::take(&mut self.has_place));
        self.in_word = false;
        if self.program.is_none() || self.is_wrapper {
            let is_keyword = self.program.is_none() && !has_place && KEYWORDS.contains(&&*word);
            let is_argument =
                self.is_wrapper && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
            if !(is_keyword || is_argument || is_assignment(&word)) {
                self.runs(&word);
            }
            return;
        }
        let name = program_of(&word);
        let may_run = self.is_wrapped || self.program.as_deref() == Some("find");
        if word == "--" && !has_place {
            self.dashes = true;
        } else if is_interpreter(name)
            || may_run && [SHELL, RUN_ARGUMENTS, CODE_FIRST].iter().any(|list| list.contains(&name))
        {
            self.runs(&word);
        } else if word.starts_with('-') && !self.dashes {
            self.code_option |= is_code_option(&word);
        } else if !(self.reads_code_first() && is_assignment(&word)) {
            self.first_argument = true;
        }
    }

    /// A word is the program, or one that the program runs.
    fn runs(&mut self, word: &str) {
        let name = program_of(word);
        self.is_wrapper = WRAPPERS.contains(&name);
        self.is_wrapped |= self.is_wrapper;
        (self.code_option, self.first_argument) = (false, false);
        self.program = Some(name.to_owned());
    }

    fn reads_code_first(&self) -> bool {
        self.program.as_deref().is_some_and(|program| CODE_FIRST.contains(&program))
    }

    /// Whether a value may be where the reader is.
    pub fn check_place(&self, name: &str) -> Result<()> {
        let refuse = |why: &str| Err(Error::bad_args(format!("`{{{{{}}}}}` {why}", truncate(name, 60))));
        let Some(program) = self.program.as_deref() else {
            return match is_assignment(&self.word) {
                true => Ok(()),
                false => refuse("is where the program stands: write the program itself into the command"),
            };
        };
        if self.is_wrapper {
            let is_part = is_assignment(&self.word) || (self.word.starts_with('-') && program != "env");
            return match is_part {
                true => Ok(()),
                false => refuse(&format!(
                    "is where `{program}` expects a program: write the program itself into the command"
                )),
            };
        }
        if SHELL.contains(&program) {
            return refuse(&format!("is an argument of `{program}`, which can run code in it: do without `{program}`"));
        }
        if RUN_ARGUMENTS.contains(&program) {
            return refuse(&format!(
                "is an argument of `{program}`, which can run it: put what you need into a script, and pass it to that"
            ));
        }
        let is_variable = program != "sed" && is_assignment(&self.word);
        if self.reads_code_first() && !self.first_argument && !is_variable {
            return refuse(&format!("is in the code that `{program}` runs: pass it after the code"));
        }
        let in_option = self.word.starts_with('-') && is_code_option(&self.word);
        if is_interpreter(program) && (self.code_option || in_option) {
            return refuse(&format!(
                "is in code for `{program}`: put the code into a script, and pass the value to that"
            ));
        }
        Ok(())
    }
}

/// The name of a program without its folder.
fn program_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether it is an interpreter, with or without a version: `python3.12`.
fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-'))
}

/// Whether a word is `NAME=…`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_variable(name))
}

/// Whether an option may bring code for an interpreter.
fn is_code_option(word: &str) -> bool {
    const LONG: &[&str] = &["--command", "--eval", "--exec", "--expression", "--init-command", "--print", "--run"];
    match word.starts_with("--") {
        true => LONG.iter().any(|option| word.starts_with(option)),
        false => word.contains(['c', 'e', 'E', 'r', 'p', 'B', 'R', 'M']),
    }
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
