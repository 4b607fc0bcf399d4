//! The commands of a program that may run. Everything that is not listed is refused.
//!
//! One line permits one command: its words, then its flags, then how many further arguments it takes.
//!
//! ```text
//! issue list --state=open|closed --json= -R=    these flags, each with a value, and no further argument
//! !issue create --title=TEXT --body=TEXT        `!`: it changes something; TEXT: any text
//! ?s3 ls <1>                                    `?`: its names may be anybody's, who sees what is asked for; also `?--project=`
//! pods <2>                                      two further arguments at most; `<*>` any number
//! *                                             every command with every flag
//! ```

use std::fmt::Write;
use tool::{Error, Result};

/// The longest line, and the most lines of a program.
const LINE: usize = 2000;
const LINES: usize = 200;
/// The most arguments of a call, and the longest in bytes.
const ARGUMENTS: usize = 100;
const ARGUMENT: usize = 32 * 1024;
/// The most commands that a refusal names.
const NAMED: usize = 40;
/// Operators of a shell. Nothing here is run by one, but a call that contains them expects it.
const OPERATORS: [&str; 6] = [";", "|", "&&", ">", "<", "$("];
/// Places whose content belongs to the process itself, such as its environment.
const OF_THE_PROCESS: [&str; 4] = ["/proc/", "/dev/fd", "/dev/stdin", "/run/hob"];

/// A permitted command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
    flags: Vec<Flag>,
    /// How many further arguments it takes; `None` for any number.
    arguments: Option<usize>,
    changes: bool,
    /// Whether what it names may belong to anybody, who then sees its arguments.
    reaches_others: bool,
    /// Whether every flag is permitted.
    any: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Flag {
    name: String,
    /// As that of the command.
    reaches_others: bool,
    value: FlagValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FlagValue {
    /// It takes none.
    Switch,
    /// A word.
    Word,
    /// Any text, also with what a shell would read as operators.
    Text,
    /// One of these.
    OneOf(Vec<String>),
}

/// A call that is permitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Permitted {
    /// Its arguments, each flag with its value in one argument, so that the program reads them as they were checked.
    pub args: Vec<String>,
    /// The same without free texts, for patterns.
    pub shown: Vec<String>,
    /// Whether it changes something.
    pub changes: bool,
    /// Whether what it names may belong to anybody, who then sees its arguments.
    pub reaches_others: bool,
}

/// The permitted commands of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Commands(Vec<Command>);

impl Commands {
    /// Reads the lines. `common` are flags that every command takes.
    ///
    /// # Errors
    /// `BadArgs` for a line that cannot be read, and for too many.
    pub fn read<T: AsRef<str>>(lines: &[T], common: &str) -> Result<Self> {
        if lines.is_empty() || lines.len() > LINES {
            return Err(Error::bad_args(format!(
                "`commands` must list 1 to {LINES} commands, such as \"issue list --state=open|closed\""
            )));
        }
        let common = common.split_whitespace().map(flag).collect::<Result<Vec<_>>>()?;
        let commands = lines.iter().map(|line| {
            let mut command = command(line.as_ref())?;
            command.flags.extend(common.iter().cloned());
            Ok(command)
        });
        commands.collect::<Result<_>>().map(Self)
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// `BadArgs` where they are too many or no text; `Denied` where they are not permitted.
    pub fn check(&self, args: &[String]) -> Result<Permitted> {
        if args.len() > ARGUMENTS || args.iter().any(|arg| arg.len() > ARGUMENT) {
            return Err(Error::bad_args(format!(
                "at most {ARGUMENTS} arguments of {ARGUMENT} bytes are passed: shorten them"
            )));
        }
        if args.iter().any(|arg| arg.contains('\0')) {
            return Err(Error::bad_args("an argument contains a zero byte: leave it out"));
        }
        let is_this = |command: &&Command| args.len() >= command.words.len() && args.starts_with(&command.words);
        match self.0.iter().filter(is_this).max_by_key(|command| command.words.len()) {
            Some(command) => command.check(&args[command.words.len()..]),
            None => Err(self.unknown(args)),
        }
    }

    /// The commands, for people and models.
    pub fn names(&self) -> Vec<String> {
        let name = |c: &Command| if c.any && c.words.is_empty() { "any command".to_owned() } else { c.words.join(" ") };
        self.0.iter().map(name).collect()
    }

    fn unknown(&self, args: &[String]) -> Error {
        let begin: Vec<&str> = args.iter().take(3).map(String::as_str).collect();
        let mut names = self.names();
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let mut text = format!(
            "`{}` is not one of the permitted commands. Begin the arguments with the command, flags after it. Permitted: {}",
            short(&begin.join(" ")),
            names.join(", ")
        );
        if more > 0 {
            let _ = write!(text, " and {more} more");
        }
        text.push_str("; an admin can permit others");
        Error::denied(text)
    }
}

impl Command {
    fn check(&self, rest: &[String]) -> Result<Permitted> {
        let Self { changes, reaches_others, .. } = *self;
        let mut permitted = Permitted { args: self.words.clone(), shown: self.words.clone(), changes, reaches_others };
        let (mut rest, mut count) = (rest.iter(), 0);
        while let Some(arg) = rest.next() {
            if !self.any && arg.starts_with('-') && arg.len() > 1 {
                let (flag, joined) = self.flag(arg)?;
                permitted.reaches_others |= flag.reaches_others;
                self.take(flag, joined, &mut rest, &mut permitted)?;
                continue;
            }
            plain(arg)?;
            count += 1;
            if self.arguments.is_some_and(|most| count > most) {
                return Err(Error::denied(format!(
                    "`{}` takes {} arguments here besides its flags, and `{}` is one more",
                    self.words.join(" "),
                    self.arguments.unwrap_or_default(),
                    short(arg)
                )));
            }
            permitted.args.push(arg.clone());
            permitted.shown.push(arg.clone());
        }
        Ok(permitted)
    }

    /// The flag of an argument, with the value in the same argument.
    fn flag<'a>(&self, arg: &'a str) -> Result<(&Flag, Option<&'a str>)> {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg, None),
        };
        if let Some(flag) = self.flags.iter().find(|flag| flag.name == name) {
            return Ok((flag, value));
        }
        // `-R value` written as `-Rvalue`.
        let joined = (!arg.starts_with("--")).then(|| arg.char_indices().nth(2)).flatten();
        if let Some((at, _)) = joined
            && let Some(flag) = self.flags.iter().find(|f| f.name == arg[..at] && f.value != FlagValue::Switch)
        {
            return Ok((flag, Some(arg[at..].trim_start_matches('='))));
        }
        let mut names: Vec<&str> = self.flags.iter().map(|flag| flag.name.as_str()).collect();
        names.dedup();
        let known =
            if names.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", names.join(", ")) };
        Err(Error::denied(format!(
            "the flag `{}` of `{}` is not permitted here: {known}",
            short(name),
            self.words.join(" ")
        )))
    }

    fn take<'a>(
        &self,
        flag: &Flag,
        joined: Option<&str>,
        rest: &mut impl Iterator<Item = &'a String>,
        permitted: &mut Permitted,
    ) -> Result<()> {
        let name = &flag.name;
        if flag.value == FlagValue::Switch {
            let arg = match joined {
                None => name.clone(),
                Some(value @ ("true" | "false")) => format!("{name}={value}"),
                Some(_) => return Err(Error::bad_args(format!("`{name}` takes no value: leave it out"))),
            };
            permitted.args.push(arg.clone());
            permitted.shown.push(arg);
            return Ok(());
        }
        let value = match joined {
            Some(value) => value,
            None => rest.next().ok_or_else(|| Error::bad_args(format!("`{name}` needs a value after it")))?,
        };
        match &flag.value {
            FlagValue::OneOf(options) if !options.iter().any(|option| option == value) => {
                return Err(Error::denied(format!(
                    "`{name}` can be {} here, and not `{}`",
                    options.join(", "),
                    short(value)
                )));
            }
            FlagValue::Text => inside(value)?,
            _ => plain(value)?,
        }
        // In one argument no program reads the value as another flag.
        let is_short = name.len() == 2;
        let arg = if is_short { format!("{name}{value}") } else { format!("{name}={value}") };
        permitted.shown.push(if flag.value == FlagValue::Text { name.clone() } else { arg.clone() });
        permitted.args.push(arg);
        Ok(())
    }
}

/// Refuses what only a shell would understand, and control characters.
fn plain(arg: &str) -> Result<()> {
    if let Some(operator) = OPERATORS.iter().find(|operator| arg.contains(*operator)) {
        return Err(with_operator(operator));
    }
    if arg.contains('`') || arg == "&" {
        return Err(with_operator(if arg == "&" { "&" } else { "`…`" }));
    }
    if arg.chars().any(char::is_control) {
        return Err(Error::denied("an argument contains a control character: pass plain text"));
    }
    inside(arg)
}

fn with_operator(operator: &str) -> Error {
    Error::denied(format!(
        "the arguments contain `{operator}`, which only a shell understands, and no shell runs here: call the program once for \
         each command, with one argument for each word"
    ))
}

/// Refuses the places whose content belongs to the process itself.
fn inside(arg: &str) -> Result<()> {
    match OF_THE_PROCESS.iter().find(|place| arg.contains(*place)) {
        Some(place) => Err(Error::denied(format!("the arguments name `{place}`, which is not read here"))),
        None => Ok(()),
    }
}

/// Splits a command line into arguments as a shell would, where a caller passed one text.
///
/// # Errors
/// `Denied` for operators of a shell outside of quotes; `BadArgs` for a quote that is not closed.
pub(super) fn split(line: &str) -> Result<Vec<String>> {
    let (mut args, mut current, mut quote) = (vec![], None::<String>, None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => current.get_or_insert_default().push(c),
            (_, '\\') => match chars.next() {
                Some(next) => current.get_or_insert_default().push(next),
                None => return Err(Error::bad_args("the arguments end with a backslash: leave it out")),
            },
            (Some(_), '$') if chars.peek() == Some(&'(') => return Err(with_operator("$(")),
            (_, '`') => return Err(with_operator("`…`")),
            (Some(_), _) => current.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                current.get_or_insert_default();
                quote = Some(c);
            }
            (None, ';' | '|' | '&' | '<' | '>' | '\n') => {
                return Err(with_operator(c.escape_default().to_string().as_str()));
            }
            (None, '$') if chars.peek() == Some(&'(') => return Err(with_operator("$(")),
            (None, _) if c.is_whitespace() => args.extend(current.take()),
            (None, _) => current.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(Error::bad_args(
            "a quote in the arguments is not closed: pass a list with one argument for each word",
        ));
    }
    args.extend(current);
    Ok(args)
}

fn short(text: &str) -> String {
    text_kit::truncate(text, 60)
}

fn command(line: &str) -> Result<Command> {
    let bad = |why: &str| Err(Error::bad_args(format!("the command `{}` {why}", short(line))));
    if line.len() > LINE || line.chars().any(|c| c.is_control()) {
        return bad("is too long, or contains control characters: write it in one line");
    }
    let line = line.trim();
    let (changes, reaches_others) = (line.starts_with('!'), line.starts_with('?'));
    let rest = if changes || reaches_others { &line[1..] } else { line };
    let mut command = Command { words: vec![], flags: vec![], arguments: Some(0), changes, reaches_others, any: false };
    for word in rest.split_whitespace() {
        let count = word.strip_prefix('<').and_then(|word| word.strip_suffix('>'));
        match (word, count) {
            (_, Some("*")) => command.arguments = None,
            (_, Some(count)) => match count.parse() {
                Ok(count) => command.arguments = Some(count),
                Err(_) => return bad("has no number in `<…>`: write <2> or <*>"),
            },
            ("*", _) => (command.any, command.arguments) = (true, None),
            (flagged, _) if flagged.trim_start_matches('?').starts_with('-') => command.flags.push(flag(flagged)?),
            (word, _) if command.flags.is_empty() && command.arguments == Some(0) => {
                command.words.push(word.to_owned())
            }
            _ => return bad("has a word after its flags: write the words first"),
        }
    }
    // Nothing is known of what any command would do.
    command.changes |= command.any;
    if command.words.is_empty() && !command.any {
        return bad("has no word: begin with the command, such as `issue list`, or permit everything with `*`");
    }
    Ok(command)
}

fn flag(written: &str) -> Result<Flag> {
    let text = written.trim_start_matches('?');
    let (name, value) = match text.split_once('=') {
        None => (text, FlagValue::Switch),
        Some((name, "")) => (name, FlagValue::Word),
        Some((name, "TEXT")) => (name, FlagValue::Text),
        Some((name, options)) => (name, FlagValue::OneOf(options.split('|').map(str::to_owned).collect())),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() < 2 || name == "--" || !name.starts_with('-') || !name.chars().all(fits) {
        return Err(Error::bad_args(format!("`{}` is not a flag: write --name, --name= or --name=a|b", short(text))));
    }
    Ok(Flag { name: name.to_owned(), reaches_others: written.starts_with('?'), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let lines = [
            "issue list --state=open|closed --web --limit=",
            "!issue create --title=TEXT",
            "get <2> -o=json|yaml",
            "fmt -check",
            "?ls <1>",
            "list ?--project= --zone=",
        ];
        Commands::read(&lines, "--repo= -R=").unwrap()
    }

    fn check(line: &[&str]) -> Result<Permitted> {
        commands().check(&line.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_listed_is_permitted_and_passed_as_it_was_checked() {
        let rows: &[(&[&str], &[&str], bool)] = &[
            (&["issue", "list"], &["issue", "list"], false),
            (
                &["issue", "list", "--limit", "--web", "--state=open"],
                &["issue", "list", "--limit=--web", "--state=open"],
                false,
            ),
            (&["issue", "list", "-R", "a/b", "--web"], &["issue", "list", "-Ra/b", "--web"], false),
            (&["issue", "list", "-Ra/b"], &["issue", "list", "-Ra/b"], false),
            (&["issue", "create", "--title", "a; `b` $(c) > d"], &["issue", "create", "--title=a; `b` $(c) > d"], true),
            (&["get", "pods", "x", "-o", "json"], &["get", "pods", "x", "-ojson"], false),
            (&["fmt", "-check"], &["fmt", "-check"], false),
        ];
        for (given, passed, changes) in rows {
            let permitted = check(given).unwrap_or_else(|error| panic!("{given:?}: {error}"));
            assert_eq!((permitted.args, permitted.changes), (passed.iter().map(|a| a.to_string()).collect(), *changes));
        }
        for (given, reaches) in
            [(["ls", "b/x"].as_slice(), true), (&["list", "--zone", "a"], false), (&["list", "--project", "a"], true)]
        {
            assert_eq!(check(given).unwrap().reaches_others, reaches, "{given:?}");
        }
        assert_eq!(check(&["issue", "create", "--title", "auth x"]).unwrap().shown, ["issue", "create", "--title"]);
    }

    #[test]
    fn what_is_not_listed_is_refused() {
        let rows: &[(&[&str], &str)] = &[
            (&[], "not one of the permitted"),
            (&["auth", "token"], "not one of the permitted"),
            (&["issue"], "not one of the permitted"),
            (&["--repo", "a/b", "issue", "list"], "not one of the permitted"),
            (&["issue", "list", "--jq", "env"], "`--jq` of `issue list` is not permitted"),
            (&["issue", "list", "--state", "all"], "can be open, closed"),
            (&["issue", "list", "--web=maybe"], "takes no value"),
            (&["issue", "list", "--", "x"], "not permitted"),
            (&["issue", "list", "x"], "takes 0 arguments"),
            (&["issue", "list", "--limit"], "needs a value"),
            (&["issue", "list", ";", "rm"], "only a shell"),
            (&["issue", "list", "--limit", "5|x"], "only a shell"),
            (&["get", "$(id)"], "only a shell"),
            (&["get", "`id`"], "only a shell"),
            (&["get", "a", "&&"], "only a shell"),
            (&["get", "/proc/self/environ"], "not read here"),
            (&["issue", "create", "--title=@/proc/self/environ"], "not read here"),
            (&["get", "a\u{1b}[2J"], "control character"),
            (&["get", "a", "b", "c"], "one more"),
            (&["get", "pods", "-ojsonpath"], "can be json, yaml"),
        ];
        for (given, why) in rows {
            let error = check(given).unwrap_err().to_string();
            assert!(error.contains(why), "{given:?}: {error}");
        }
    }

    #[test]
    fn everything_can_be_permitted_but_no_operators() {
        let all = Commands::read(&["*"], "").unwrap();
        let args = |line: &[&str]| line.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
        let permitted = all.check(&args(&["--any", "thing", "-x=1"])).unwrap();
        assert_eq!((permitted.args, permitted.changes), (args(&["--any", "thing", "-x=1"]), true));
        assert!(all.check(&args(&["a", "|", "b"])).is_err());
    }

    #[test]
    fn a_line_is_split_without_a_shell() {
        let rows: &[(&str, &[&str])] = &[
            ("issue list  --limit 3", &["issue", "list", "--limit", "3"]),
            ("create --title \"a; b\" --body 'x | $(y)'", &["create", "--title", "a; b", "--body", "x | $(y)"]),
            ("a\\ b ''", &["a b", ""]),
        ];
        for (line, args) in rows {
            assert_eq!(split(line).unwrap(), *args, "{line}");
        }
        for line in [
            "a; b",
            "a | b",
            "a && b",
            "a > b",
            "a < b",
            "a $(b)",
            "a `b`",
            "a \"$(b)\"",
            "a \"`b`\"",
            "a\nb",
            "a 'b",
            "a\\",
        ] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    #[test]
    fn lines_that_cannot_be_read_say_why() {
        for line in ["", "!", "--flag", "a --x b", "a <x>", "a --", "a --b$=", "a\nb", &"a".repeat(3000)] {
            assert!(Commands::read(&[line], "").is_err(), "{line}");
        }
        assert!(Commands::read::<&str>(&[], "").is_err());
    }
}
