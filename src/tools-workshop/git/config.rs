//! The configuration of a repository, reduced to keys that only describe it.
//!
//! A repository's own configuration can name programs (filters, hooks, editors, signers), other files and other
//! repositories. It is never given to git: git reads the text of [`Described::text`] instead, which holds the keys of
//! [`KEYS`] and nothing else.

use tool::{Error, Result};

/// The maximum size of a configuration that is read, in bytes.
pub const MAX: usize = 256 * 1024;
/// The maximum number of settings that are taken over.
const SETTINGS: usize = 5_000;

/// The keys that describe a repository and cannot name a program, a file or an address: section, key, and whether the
/// section has a name of its own, as in `branch.main.merge`.
const KEYS: &[(&str, &str, bool)] = &[
    ("core", "repositoryformatversion", false),
    ("core", "filemode", false),
    ("core", "symlinks", false),
    ("core", "ignorecase", false),
    ("core", "precomposeunicode", false),
    ("core", "autocrlf", false),
    ("core", "eol", false),
    ("core", "logallrefupdates", false),
    ("core", "sparsecheckout", false),
    ("core", "sparsecheckoutcone", false),
    ("extensions", "objectformat", false),
    ("extensions", "refstorage", false),
    ("extensions", "preciousobjects", false),
    ("extensions", "noop", false),
    ("branch", "remote", true),
    ("branch", "merge", true),
    ("remote", "fetch", true),
];

/// Extensions that may be left out, because all they do is refer to other places.
const LEFT_OUT: &[&str] = &["partialclone", "worktreeconfig", "relativeworktrees"];

/// A setting as it was written.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    section: String,
    name: Option<String>,
    key: String,
    value: String,
}

/// The reduced configuration of a repository.
#[derive(Debug, PartialEq)]
pub struct Described {
    /// The text of a configuration file.
    pub text: String,
}

/// Reduce a configuration.
///
/// # Errors
/// `Failed` when it cannot be read, or when the repository needs an extension that is not known here.
pub fn describe(config: &str) -> Result<Described> {
    let settings = parse(config).ok_or_else(|| {
        Error::failed("`.git/config` is not a valid git configuration: correct or remove the line in it")
    })?;
    let known = |s: &Setting| {
        KEYS.iter().any(|(section, key, named)| s.section == *section && s.key == *key && s.name.is_some() == *named)
    };
    let unknown = settings.iter().find(|s| s.section == "extensions" && !known(s) && !LEFT_OUT.contains(&&*s.key));
    if let Some(unknown) = unknown {
        return Err(Error::failed(format!(
            "the repository uses the git extension `{}`, which is not supported here: clone it again without it",
            text_kit::truncate(&unknown.key, 40)
        )));
    }
    let mut text = String::from("[core]\n\tbare = false\n");
    for setting in settings.iter().filter(|s| known(s)) {
        setting.write(&mut text);
    }
    Ok(Described { text })
}

impl Setting {
    fn write(&self, out: &mut String) {
        let name = match &self.name {
            Some(name) => format!(" \"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
            None => String::new(),
        };
        let value = self.value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
        *out += &format!("[{}{name}]\n\t{} = \"{value}\"\n", self.section, self.key);
    }
}

/// The settings of a configuration in order; nothing when a line is not valid.
fn parse(config: &str) -> Option<Vec<Setting>> {
    let mut rest = Reader { text: config.strip_prefix('\u{feff}').unwrap_or(config), at: 0 };
    let mut section: Option<(String, Option<String>)> = None;
    let mut settings = vec![];
    loop {
        rest.skip(|c| c.is_whitespace());
        match rest.peek() {
            None => return Some(settings),
            Some('#' | ';') => drop(rest.take(|c| c != '\n')),
            Some('[') => section = Some(rest.section()?),
            Some(c) if c.is_ascii_alphabetic() => {
                let (section, name) = section.clone()?;
                let key = rest.take(|c| c.is_ascii_alphanumeric() || c == '-').to_ascii_lowercase();
                rest.skip(|c| c == ' ' || c == '\t');
                let value = match rest.peek() {
                    Some('=') => rest.value()?,
                    None | Some('\n' | '\r' | '#' | ';') => {
                        rest.take(|c| c != '\n');
                        "true".to_owned()
                    }
                    Some(_) => return None,
                };
                if settings.len() >= SETTINGS {
                    return None;
                }
                settings.push(Setting { section, name, key, value });
            }
            Some(_) => return None,
        }
    }
}

/// Reads a text by characters.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
    fn skip(&mut self, belongs: impl Fn(char) -> bool) {
        self.take(belongs);
    }

    /// `[section]`, `[section "name"]` or the old `[section.name]`.
    fn section(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let section = self.take(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.').to_ascii_lowercase();
        self.skip(|c| c == ' ' || c == '\t');
        let name = match self.next()? {
            ']' => None,
            '"' => {
                let mut name = String::new();
                loop {
                    match self.next()? {
                        '"' => break,
                        '\\' => name.push(self.next()?),
                        '\n' => return None,
                        c => name.push(c),
                    }
                }
                self.skip(|c| c == ' ' || c == '\t');
                (self.next()? == ']').then_some(())?;
                Some(name)
            }
            _ => return None,
        };
        if section.is_empty() {
            return None;
        }
        match (section.split_once('.'), name) {
            (Some((section, name)), None) => Some((section.to_owned(), Some(name.to_owned()))),
            (_, name) => Some((section, name)),
        }
    }

    /// The value behind `=`, to the end of the line.
    fn value(&mut self) -> Option<String> {
        self.next();
        self.skip(|c| c == ' ' || c == '\t');
        let (mut value, mut solid, mut quoted) = (String::new(), 0, false);
        loop {
            match self.next() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => break,
                Some('\r') if self.peek() == Some('\n') => {}
                Some('"') => quoted = !quoted,
                Some('#' | ';') if !quoted => {
                    self.take(|c| c != '\n');
                }
                Some('\\') => match self.next()? {
                    '\r' if self.peek() == Some('\n') => drop(self.next()),
                    '\n' => {}
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'b' => value.push('\u{8}'),
                    c @ ('\\' | '"') => value.push(c),
                    _ => return None,
                },
                Some(c) => value.push(c),
            }
            if quoted || !value.ends_with([' ', '\t']) {
                solid = value.len();
            }
        }
        value.truncate(solid);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str) -> Vec<(String, String)> {
        let dotted = |s: Setting| {
            let name = s.name.map(|n| format!(".{n}")).unwrap_or_default();
            (format!("{}{name}.{}", s.section, s.key), s.value)
        };
        parse(config).unwrap().into_iter().map(dotted).collect()
    }

    #[test]
    fn a_configuration_is_read_like_git_reads_it() {
        let config = "; c\n[Core]\n\tBare = false # no\n  fileMode\n[branch \"a \\\"b\\\" c\"] merge = \"refs/x;y\"  \n\
                      [remote.Origin]\nurl = a\\\n b \\\\ \\\"q\\\"\t\n\turl2=x y  \"  z \" ;c\n";
        let expected = [
            ("core.bare", "false"),
            ("core.filemode", "true"),
            ("branch.a \"b\" c.merge", "refs/x;y"),
            ("remote.origin.url", "a b \\ \"q\""),
            ("remote.origin.url2", "x y    z "),
        ];
        assert_eq!(read(config), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        for bad in ["x = 1", "[a", "[a \"b]\n", "[a]\nx = \"1\n", "[a]\nx = \\q", "[]\n", "[a]\n= 1", "[a]\nx y"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_a_description_is_left() {
        let hostile = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tworktree = /\n\tfsmonitor = touch x\n\
                       \thooksPath = h\n\tsshCommand = touch x\n\teditor = touch x\n\tpager = touch x\n\
                       \tattributesFile = x\n\texcludesFile = x\n\talternateRefsCommand = touch x\n\tautocrlf = input\n\
                       [include]\n\tpath = more\n[includeIf \"gitdir:/\"]\n\tpath = more\n[filter \"f\"]\n\tclean = touch x\n\
                       \tsmudge = touch x\n\tprocess = touch x\n\trequired = true\n[diff]\n\texternal = touch x\n\
                       [diff \"d\"]\n\ttextconv = touch x\n\tcommand = touch x\n[gpg]\n\tprogram = touch x\n\
                       [credential]\n\thelper = !touch x\n[alias]\n\tstatus = !touch x\n[submodule \"s\"]\n\tupdate = !touch x\n\
                       [merge \"m\"]\n\tdriver = touch x\n[hook \"h\"]\n\tcommand = touch x\n[extensions]\n\
                       \tpartialClone = origin\n\tworktreeConfig = true\n[remote \"origin\"]\n\turl = ext::touch x\n\
                       \tuploadpack = touch x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"m\\\"\\\\n\"]\n\
                       \tremote = origin\n\tmerge = refs/heads/m\n";
        let text = describe(hostile).unwrap().text;
        let left = read(&text);
        let expected = [
            ("core.bare", "false"),
            ("core.repositoryformatversion", "1"),
            ("core.autocrlf", "input"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.m\"\\n.remote", "origin"),
            ("branch.m\"\\n.merge", "refs/heads/m"),
        ];
        assert_eq!(left, expected.map(|(k, v)| (k.to_owned(), v.to_owned())), "{text}");
        assert!(describe("[extensions]\nnewformat = 1").unwrap_err().to_string().contains("newformat"));
        assert!(describe("[core").is_err());
    }

    #[test]
    fn a_value_cannot_become_another_setting() {
        let tricks = "[branch \"x\"]\n\tmerge = \"a\\n[core]\\nfsmonitor = touch x\"\n\tremote = \"\\\" \\\\\"\n";
        let text = describe(tricks).unwrap().text;
        let keys: Vec<String> = read(&text).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["core.bare", "branch.x.merge", "branch.x.remote"], "{text}");
    }
}
