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
    "at",
    "batch",
    "chroot",
    "crontab",
    "dc",
    "ed",
    "emacs",
    "emacsclient",
    "entr",
    "ex",
    "expect",
    "fakeroot",
    "flock",
    "gdb",
    "gmake",
    "less",
    "ltrace",
    "make",
    "mariadb",
    "more",
    "mysql",
    "nsenter",
    "nvim",
    "parallel",
    "perf",
    "pkexec",
    "proot",
    "psql",
    "rlwrap",
    "runuser",
    "screen",
    "script",
    "setpriv",
    "socat",
    "sqlite3",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "systemd-run",
    "tmux",
    "unshare",
    "valgrind",
    "vi",
    "view",
    "vim",
    "watch",
];
/// Words in the names of long options that take a command, code or settings that name one.
const OPTION_WORDS: &[&str] = &[
    "checkpoint-action",
    "command",
    "config",
    "editor",
    "eval",
    "exec",
    "expression",
    "hook",
    "init-file",
    "pager",
    "plugin",
    "preload",
    "preprocessor",
    "program",
    "rcfile",
    "receive-pack",
    "rsh",
    "shell",
    "upload-pack",
];
/// Short options of the same kind.
const SHORT_OPTIONS: &[(&str, &[&str])] = &[
    ("curl", &["-K"]),
    ("rg", &["--pre"]),
    ("rsync", &["-e"]),
    ("tar", &["-F", "-I"]),
    ("wget", &["-e"]),
    ("zip", &["-TT"]),
];
/// Options of find after which a command begins.
const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Programs whose first argument without a dash is code.
const CODE_FIRST: &[&str] = &["awk", "gawk", "gojq", "jaq", "jq", "mawk", "nawk", "sed", "yq"];
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
    /// Whether the word before is an option whose value is code, a command or settings.
    takes_code: bool,
    /// Whether its input is code.
    reads_code: bool,
    /// Whether the word names a file that is read or written.
    pub is_redirection: bool,
    /// Whether it is `find`, or was before it came to a command that find runs.
    is_find: bool,
    /// Whether it is run by `xargs` with what it reads.
    by_xargs: bool,
    /// Whether a value is in it.
    pub has_value: bool,
    /// Whether it may read a value as its input.
    pub is_fed: bool,
    /// Whether its program is what a variable holds.
    pub is_by_variable: bool,
}

impl Simple {
    /// The word is complete.
    pub fn end_word(&mut self) {
        if !self.in_word {
            return;
        }
        let (word, has_place) = (std::mem::take(&mut self.word), std::mem::take(&mut self.has_place));
        self.in_word = false;
        self.has_value |= has_place;
        if std::mem::take(&mut self.is_redirection) {
            return;
        }
        let takes_code = std::mem::take(&mut self.takes_code);
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
        // A wrapper may have taken the value of an option for its program.
        let may_be_run = [SHELL, RUN_ARGUMENTS, CODE_FIRST].iter().any(|list| list.contains(&name)) && name != ".";
        let is_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&&*word);
        if word == "--" && !has_place {
            self.dashes = true;
        } else if self.is_find && FIND_RUNS.contains(&&*word) {
            (self.is_wrapper, self.is_wrapped) = (true, true);
        } else if is_interpreter(name) || self.is_wrapped && may_be_run {
            self.runs(&word);
        } else if is_input {
            self.reads_code |= takes_code;
        } else if word.starts_with('-') && !self.dashes {
            self.code_option |= is_code_option(&word);
            self.takes_code = self.is_taker(&word) && !word.contains('=');
        } else if !(self.reads_code_first() && is_assignment(&word)) {
            self.first_argument = true;
        }
    }

    /// A word is the program, or one that the program runs.
    fn runs(&mut self, word: &str) {
        let name = program_of(word);
        self.is_by_variable |= word.contains('$') && !word.starts_with("$HOME/");
        self.is_wrapper = WRAPPERS.contains(&name);
        self.is_wrapped |= self.is_wrapper;
        (self.code_option, self.first_argument) = (false, false);
        self.is_find |= name == "find";
        self.by_xargs |= name == "xargs";
        self.program = Some(name.to_owned());
    }

    fn reads_code_first(&self) -> bool {
        self.program.as_deref().is_some_and(|program| CODE_FIRST.contains(&program))
    }

    /// Whether an option of the program takes code, a command or settings.
    fn is_taker(&self, option: &str) -> bool {
        let program = self.program.as_deref().unwrap_or_default();
        if let Some(long) = option.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            if OPTION_WORDS.iter().any(|word| name.contains(word)) {
                return true;
            }
        } else if self.reads_code_first() {
            return option.contains(['e', 'f', 'i', 'l']);
        } else if program == "git" && !self.first_argument {
            return option.starts_with("-c");
        }
        let own = SHORT_OPTIONS.iter().find(|(name, _)| *name == program);
        own.is_some_and(|(_, options)| options.iter().any(|own| option.starts_with(own)))
    }

    /// The command is complete.
    ///
    /// # Errors
    /// `BadArgs` where a value before it becomes its commands.
    pub fn end(&self) -> Result<()> {
        let Some(program) = self.program.as_deref().filter(|_| self.is_fed) else { return Ok(()) };
        let reads_code =
            self.reads_code || is_interpreter(program) && (self.by_xargs || !self.first_argument && !self.code_option);
        let reads_statements =
            RUN_ARGUMENTS.contains(&program) || self.by_xargs && self.is_wrapper && program != "xargs";
        if reads_code || reads_statements {
            return Err(Error::bad_args(format!(
                "`{program}` would read a value as its commands: pass the value to a script as an argument"
            )));
        }
        Ok(())
    }

    /// Whether a value may be where the reader is.
    pub fn check_place(&self, name: &str) -> Result<()> {
        let refuse = |why: &str| Err(Error::bad_args(format!("`{{{{{}}}}}` {why}", truncate(name, 60))));
        if self.is_redirection {
            return Ok(());
        }
        let Some(program) = self.program.as_deref() else {
            return match is_assignment(&self.word) {
                true if may_name_code(&self.word) => {
                    refuse("is in a variable by which other code can run: write its value into the command")
                }
                true => Ok(()),
                false => refuse("is where the program stands: write the program itself into the command"),
            };
        };
        if self.is_wrapper {
            let is_value = is_assignment(&self.word) && !may_name_code(&self.word);
            let is_part = is_value || (self.word.starts_with('-') && program != "env");
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
        if self.takes_code || self.word.starts_with('-') && !self.dashes && self.is_taker(&self.word) {
            return refuse(&format!(
                "is in an option by which `{program}` can run it: write that option's value into the command"
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

/// Whether an assignment is to a variable from which the shell, the loader of programs or a program takes code or names of it.
fn may_name_code(word: &str) -> bool {
    const WHOLE: &[&str] = &[
        "BASH_ENV",
        "BROWSER",
        "EDITOR",
        "ENV",
        "HOME",
        "IFS",
        "LESSOPEN",
        "NODE_OPTIONS",
        "PAGER",
        "PATH",
        "PROMPT_COMMAND",
        "PS4",
        "RUBYLIB",
        "RUBYOPT",
        "SHELL",
        "SHELLOPTS",
        "VISUAL",
    ];
    const BEGINNINGS: &[&str] = &["BASH_FUNC", "GCONV_", "GIT_", "JAVA_", "LD_", "LUA_", "PERL", "PYTHON"];
    let name = word.split('=').next().unwrap_or_default();
    WHOLE.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
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
