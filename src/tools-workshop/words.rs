//! A small reader of shell commands: the simple commands in a text, with their words and redirections, also those within
//! substitutions. It judges what a command would do before it runs; it runs nothing.

/// How deep substitutions and commands within commands are read.
const DEPTH: usize = 8;
/// How many simple commands of a text are read.
const COMMANDS: usize = 2000;

/// A word. `text` is its text without quotes; `is_plain` says that the shell changes nothing in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub text: String,
    pub is_plain: bool,
}

/// A redirection of output into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    pub target: Word,
    pub appends: bool,
}

/// What a command reads as its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    /// What the shell reads itself.
    #[default]
    Inherited,
    /// The output of the command before it, or a file.
    Piped,
    /// A text in the command (`<<<`).
    Text(Word),
    /// A here-document: one of [`Script::documents`].
    Document,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    pub words: Vec<Word>,
    pub writes: Vec<Redirection>,
    pub input: Input,
}

/// The commands of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    pub commands: Vec<Command>,
    /// Whether one of them reads another's output, a file or a text.
    pub is_fed: bool,
    /// The here-documents of all of them.
    pub documents: Vec<String>,
    /// Whether something in it could not be read: an open quote, or too much of it.
    pub is_unclear: bool,
}

/// Words that begin or join a compound command, after which another command follows.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "done", "fi", "!", "{", "}", "esac"];

/// Reads a text of shell commands.
pub fn read(text: &str) -> Script {
    let mut script = Script::default();
    Reader { text: text.as_bytes(), source: text, at: 0, depth: 0, here: vec![] }.script(&mut script, None);
    script
}

struct Reader<'a> {
    text: &'a [u8],
    source: &'a str,
    at: usize,
    depth: usize,
    /// The ends of here-documents that begin after this line, and whether tabs before them count.
    here: Vec<(String, bool)>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn starts(&self, with: &str) -> bool {
        self.text[self.at..].starts_with(with.as_bytes())
    }

    /// Reads commands until the end, or until `until` closes them.
    fn script(&mut self, into: &mut Script, until: Option<u8>) {
        let mut now = Command::default();
        let finish = |now: &mut Command, into: &mut Script| {
            let mut done = std::mem::take(now);
            while done.words.first().is_some_and(|word| word.is_plain && KEYWORDS.contains(&&*word.text)) {
                done.words.remove(0);
            }
            if done.words.is_empty() && done.writes.is_empty() {
                // A pipe may go on in the next line, or into a compound command.
                now.input = done.input;
                return;
            }
            if into.commands.len() < COMMANDS { into.commands.push(done) } else { into.is_unclear = true }
        };
        while let Some(c) = self.peek() {
            match c {
                c if Some(c) == until => {
                    self.at += 1;
                    finish(&mut now, into);
                    return;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.text.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                b'\n' => {
                    self.at += 1;
                    finish(&mut now, into);
                    self.skip_here_documents(into);
                }
                b';' | b'&' if !self.starts("&>") => {
                    self.at += 1;
                    finish(&mut now, into);
                }
                b'|' => {
                    let is_or = self.starts("||");
                    self.at += if is_or { 2 } else { 1 };
                    finish(&mut now, into);
                    now.input = if is_or { Input::Inherited } else { Input::Piped };
                    into.is_fed |= !is_or;
                }
                b'#' => {
                    while self.peek().is_some_and(|c| c != b'\n') {
                        self.at += 1;
                    }
                }
                b'(' => {
                    self.at += 1;
                    finish(&mut now, into);
                    self.deeper(into, Some(b')'));
                }
                // The end of a pattern in `case`, or one too many.
                b')' => {
                    self.at += 1;
                    now = Command::default();
                }
                b'<' | b'>' => self.redirection(&mut now, into),
                b'&' => {
                    self.at += 1;
                    self.redirection(&mut now, into);
                }
                _ => {
                    let start = self.at;
                    let word = self.word(into);
                    if self.at == start {
                        self.at += 1;
                        continue;
                    }
                    let is_number = word.is_plain && word.text.bytes().all(|b| b.is_ascii_digit());
                    // `2>` names a stream.
                    if !(is_number && matches!(self.peek(), Some(b'<' | b'>')) && !word.text.is_empty()) {
                        now.words.push(word);
                    }
                }
            }
        }
        into.is_unclear |= until.is_some();
        finish(&mut now, into);
    }

    fn deeper(&mut self, into: &mut Script, until: Option<u8>) {
        if self.depth >= DEPTH {
            into.is_unclear = true;
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        self.script(into, until);
        self.depth -= 1;
    }

    fn redirection(&mut self, now: &mut Command, into: &mut Script) {
        let reads = self.peek() == Some(b'<');
        let here = self.starts("<<") && !self.starts("<<<");
        let tabs = self.starts("<<-");
        let substitutes = self.starts("<(") || self.starts(">(");
        let appends = self.starts(">>");
        if substitutes {
            self.at += 2;
            now.words.push(Word::default());
            return self.deeper(into, Some(b')'));
        }
        let text = self.starts("<<<");
        while matches!(self.peek(), Some(b'<' | b'>' | b'|')) {
            self.at += 1;
        }
        if tabs {
            self.at += 1;
        }
        let duplicates = self.peek() == Some(b'&');
        if duplicates {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let target = self.word(into);
        into.is_fed |= reads;
        if here {
            now.input = Input::Document;
            self.here.push((target.text, tabs));
            return;
        }
        if reads {
            now.input = if text { Input::Text(target) } else { Input::Piped };
            return;
        }
        let is_stream = duplicates && (target.text == "-" || target.text.bytes().all(|b| b.is_ascii_digit()));
        if !is_stream {
            now.writes.push(Redirection { target, appends });
        }
    }

    fn skip_here_documents(&mut self, into: &mut Script) {
        for (end, tabs) in std::mem::take(&mut self.here) {
            let mut document = String::new();
            loop {
                if self.at >= self.text.len() {
                    into.is_unclear = true;
                    return;
                }
                let rest = &self.source[self.at..];
                let line = rest.split('\n').next().unwrap_or_default();
                self.at += (line.len() + 1).min(rest.len());
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
                document.push_str(line);
                document.push('\n');
                // An unquoted document runs what is substituted in it.
                let inner = expanded(line, self.depth + 1);
                into.is_unclear |= inner.is_unclear;
                into.is_fed |= inner.is_fed;
                into.commands.extend(inner.commands);
            }
            into.documents.push(document);
        }
    }

    fn word(&mut self, into: &mut Script) -> Word {
        let (mut text, mut plain) = (Vec::new(), true);
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'\n') => self.at += 1,
                        Some(c) => {
                            text.push(c);
                            self.at += 1;
                        }
                        None => {}
                    }
                }
                b'\'' => {
                    self.at += 1;
                    let start = self.at;
                    while self.peek().is_some_and(|c| c != b'\'') {
                        self.at += 1;
                    }
                    text.extend(&self.text[start..self.at]);
                    into.is_unclear |= self.peek().is_none();
                    self.at += 1;
                }
                b'"' => {
                    self.at += 1;
                    loop {
                        match self.peek() {
                            None => {
                                into.is_unclear = true;
                                break;
                            }
                            Some(b'"') => {
                                self.at += 1;
                                break;
                            }
                            Some(b'\\') => {
                                self.at += 1;
                                if let Some(c) = self.peek() {
                                    text.push(c);
                                    self.at += 1;
                                }
                            }
                            Some(b'$' | b'`') => plain &= self.expansion(&mut text, into),
                            Some(c) => {
                                text.push(c);
                                self.at += 1;
                            }
                        }
                    }
                }
                b'$' | b'`' => plain &= self.expansion(&mut text, into),
                b'*' | b'?' | b'[' | b'{' | b'~' => {
                    // A brace alone is a keyword, and a bracket alone a test.
                    let ends = matches!(self.text.get(self.at + 1), None | Some(b' ' | b'\n' | b'\t' | b'}'));
                    plain &= text.is_empty() && ends && matches!(c, b'{' | b'[')
                        || c == b'[' && (text == b"[" || self.starts("[[ "));
                    text.push(c);
                    self.at += 1;
                }
                c => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        Word { text: String::from_utf8_lossy(&text).into_owned(), is_plain: plain }
    }

    /// An expansion; returns whether it is none, such as a lone `$`.
    fn expansion(&mut self, text: &mut Vec<u8>, into: &mut Script) -> bool {
        let next = self.text.get(self.at + 1).copied();
        if self.peek() == Some(b'`') {
            let start = self.at + 1;
            let length = self.text[start.min(self.text.len())..].iter().position(|c| *c == b'`');
            let end = length.map_or(self.text.len(), |length| start + length);
            into.is_unclear |= length.is_none();
            let inner = read_at(&self.source[start.min(end)..end], self.depth + 1);
            into.is_unclear |= inner.is_unclear;
            into.is_fed |= inner.is_fed;
            into.commands.extend(inner.commands);
            self.at = (end + 1).min(self.text.len());
            return false;
        }
        match next {
            Some(b'(') => {
                self.at += 2;
                self.deeper(into, Some(b')'));
                false
            }
            Some(b'{') => {
                let mut open = 0;
                while let Some(c) = self.peek() {
                    self.at += 1;
                    match c {
                        b'{' => open += 1,
                        b'}' => {
                            open -= 1;
                            if open == 0 {
                                break;
                            }
                        }
                        b'`' => {
                            self.at -= 1;
                            self.expansion(text, into);
                        }
                        b'$' if self.peek() == Some(b'(') => {
                            self.at -= 1;
                            self.expansion(text, into);
                        }
                        _ => {}
                    }
                }
                into.is_unclear |= open != 0;
                false
            }
            Some(c) if c.is_ascii_alphanumeric() || b"_@*#?$!-".contains(&c) => {
                self.at += 1;
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_') {
                    self.at += 1;
                }
                if self.text.get(self.at - 1) == Some(&b'$') {
                    self.at += 1;
                }
                false
            }
            // A text with escapes of its own.
            Some(b'\'') => {
                self.at += 1;
                false
            }
            _ => {
                text.push(b'$');
                self.at += 1;
                true
            }
        }
    }
}

/// The commands that are substituted in a text as in double quotes.
fn expanded(text: &str, depth: usize) -> Script {
    let mut script = Script::default();
    let mut reader = Reader { text: text.as_bytes(), source: text, at: 0, depth, here: vec![] };
    while let Some(c) = reader.peek() {
        match c {
            b'\\' => reader.at += 2,
            b'$' | b'`' => _ = reader.expansion(&mut vec![], &mut script),
            _ => reader.at += 1,
        }
    }
    script
}

fn read_at(text: &str, depth: usize) -> Script {
    let mut script = Script::default();
    if depth > DEPTH {
        script.is_unclear = true;
        return script;
    }
    Reader { text: text.as_bytes(), source: text, at: 0, depth, here: vec![] }.script(&mut script, None);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The commands with a word between spaces each; `~` marks words that the shell changes, `>` and `>>` what is written.
    fn seen(text: &str) -> Vec<String> {
        let shown = |word: &Word| format!("{}{}", if word.is_plain { "" } else { "~" }, word.text);
        read(text)
            .commands
            .iter()
            .map(|command| {
                let words = command.words.iter().map(shown);
                let writes = command
                    .writes
                    .iter()
                    .map(|w| format!("{}{}", if w.appends { ">>" } else { ">" }, shown(&w.target)));
                words.chain(writes).collect::<Vec<_>>().join(" ")
            })
            .collect()
    }

    #[test]
    fn commands_are_found_where_a_shell_finds_them() {
        for (text, expected) in [
            ("ls -la", vec!["ls -la"]),
            ("a 'b c' \"d e\" f\\ g", vec!["a b c d e f g"]),
            ("a; b && c || d | e & f", vec!["a", "b", "c", "d", "e", "f"]),
            ("a # b; c\nd", vec!["a", "d"]),
            ("echo $(rm x) y", vec!["rm x", "echo ~ y"]),
            ("echo \"$(rm `cat y`)\"", vec!["cat y", "rm ~", "echo ~"]),
            ("(cd x; rm y)", vec!["cd x", "rm y"]),
            ("if true; then rm x; fi", vec!["true", "rm x"]),
            ("for f in *; do rm \"$f\"; done", vec!["for f in ~*", "rm ~"]),
            ("echo x > y 2>&1", vec!["echo x >y"]),
            ("echo x >> y 2>/dev/null", vec!["echo x >>y >/dev/null"]),
            ("a &> all", vec!["a >all"]),
            ("a 2>&-", vec!["a"]),
            ("> x", vec![" >x".trim_start()]),
            ("cat <<E\nrm x\nE\nls", vec!["cat", "ls"]),
            ("cat <<E\n$(rm x)\nE\nls", vec!["cat", "rm x", "ls"]),
            ("diff <(rm a) b", vec!["rm a", "diff ~ b"]),
            ("x=${y:-$(rm z)} ls", vec!["rm z", "~x= ls"]),
            ("case x in a) rm y;; esac", vec!["rm y"]),
            ("f() { rm x; }", vec!["f", "rm x"]),
            ("r\\m x; 'r'm y; $'rm' z", vec!["rm x", "rm y", "~rm z"]),
        ] {
            assert_eq!(seen(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_command_reads_is_known() {
        let input = |text: &str| read(text).commands.last().map(|command| command.input.clone()).unwrap();
        for text in ["a | b", "a |\nb", "a |& b", "b < x", "a | { b; }"] {
            assert_eq!(input(text), Input::Piped, "{text}");
        }
        for text in ["a || b", "a; b", "a | b; c", "b > x", "a | b && c"] {
            assert_eq!(input(text), Input::Inherited, "{text}");
        }
        assert_eq!(input("b <<< 'x y'"), Input::Text(Word { text: "x y".into(), is_plain: true }));
        let script = read("b <<'E' | c\none\ntwo\nE\n");
        assert_eq!(
            (&script.commands[0].input, &script.documents[..]),
            (&Input::Document, &["one\ntwo\n".to_owned()][..])
        );
    }

    #[test]
    fn what_it_cannot_read_it_says() {
        for text in ["echo 'x", "echo \"x", "echo $(x", "echo `x", "cat <<E\nx", &"$(".repeat(50)] {
            assert!(read(text).is_unclear, "{text}");
        }
        assert!(!read("echo \"a $b\" 'c' $(d)").is_unclear);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n]{0,200}", more in ".{0,40}") {
            let _ = read(&text);
            let _ = read(&more);
        }
    }
}
