//! Advice about a tool's code before it is stored: names that do not exist in the sandbox and what to use instead.
//!
//! It reads tokens, so strings, the text of templates, comments and regular expressions are never matched. It is no
//! boundary: whatever slips through meets the sandbox.

use std::ops::Range;

/// A pattern that a tool's code must not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    pub pattern: &'static str,
    /// From 1.
    pub line: usize,
    pub why: &'static str,
}

/// When a name counts.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// As a variable, followed by one of these tokens (any, if none is given).
    Variable(&'static [&'static str]),
    /// Anywhere outside strings, also as a property, followed by one of these tokens.
    Anywhere(&'static [&'static str]),
}

const CALL: &[&str] = &["(", "?."];
const ACCESS: &[&str] = &[".", "?.", "["];
const MODULES: &str = "there are no modules: use utils, or utils.callTool";
const FROM_TEXT: &str = "code cannot be made from strings here: write it out, or use JSON.parse for data";
const GLOBAL: &str = "there is no global object: use local variables";
const PATHS: &str = "there is no file system: use utils.callTool";

/// (name, when it counts, how the pattern is called, why)
#[rustfmt::skip]
const PATTERNS: &[(&str, Use, &str, &str)] = &[
    ("process",     Use::Variable(&[]),     "process",      "there is no process here: use utils.getApiKey for keys and utils.getFieldValue for settings"),
    ("require",     Use::Variable(CALL),    "require(",     MODULES),
    ("import",      Use::Variable(CALL),    "import(",      MODULES),
    ("eval",        Use::Variable(CALL),    "eval(",        FROM_TEXT),
    ("Function",    Use::Variable(CALL),    "Function(",    FROM_TEXT),
    ("__dirname",   Use::Variable(&[]),     "__dirname",    PATHS),
    ("__filename",  Use::Variable(&[]),     "__filename",   PATHS),
    ("global",      Use::Variable(ACCESS),  "global.",      GLOBAL),
    ("globalThis",  Use::Variable(ACCESS),  "globalThis.",  GLOBAL),
    ("with",        Use::Variable(&["("]),  "with(",        "tools run in strict mode, which has no with"),
    ("__proto__",   Use::Anywhere(&[]),     "__proto__",    "prototypes of objects stay as they are: use Object.create or a Map"),
    ("constructor", Use::Anywhere(&["["]),  "constructor[", "reaching through constructors is refused"),
];

/// Finds the forbidden patterns in the body of a tool, in the order of its lines.
pub fn validate(code: &str) -> Result<(), Vec<Forbidden>> {
    let tokens = tokens(code);
    let found: Vec<Forbidden> = (0..tokens.len()).filter_map(|at| forbidden(&tokens, at)).collect();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The body of a tool without its comments: each becomes a space. Literals stay.
pub fn without_comments(code: &str) -> String {
    let mut lexer = Lexer::new(code);
    lexer.run();
    let (mut text, mut from) = (String::with_capacity(code.len()), 0);
    for comment in lexer.comments {
        text.push_str(&code[from..comment.start]);
        text.push(' ');
        from = comment.end;
    }
    text.push_str(&code[from..]);
    text
}

fn forbidden(tokens: &[Token], at: usize) -> Option<Forbidden> {
    let token = &tokens[at];
    let &(_, when, pattern, why) = PATTERNS.iter().find(|(name, ..)| *name == token.text)?;
    let next = tokens.get(at + 1).map_or("", |token| token.text);
    let followed = |by: &[&str]| by.is_empty() || by.contains(&next);
    let counts = match when {
        Use::Anywhere(by) => followed(by),
        Use::Variable(by) => followed(by) && is_variable(tokens, at) && !is_declared(tokens, token.text),
    };
    counts.then_some(Forbidden { pattern, line: token.line, why })
}

/// Neither a property (`args.process`) nor a key (`{process: 1}`).
fn is_variable(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| tokens[before].text);
    let next = tokens.get(at + 1).map_or("", |token| token.text);
    let key = next == ":" && matches!(before, "{" | ",");
    !matches!(before, "." | "?." | "#") && !key
}

/// The tool's own variable or function of that name.
fn is_declared(tokens: &[Token], name: &str) -> bool {
    tokens
        .windows(2)
        .any(|pair| pair[1].text == name && matches!(pair[0].text, "const" | "let" | "var" | "function" | "class"))
}

// ---- tokens ----

struct Token<'a> {
    /// A name, number or punctuation mark; `""` for strings, template text and regular expressions.
    text: &'a str,
    line: usize,
}

/// The kind of an open bracket.
enum Open {
    /// Whether a keyword such as `if` precedes the parenthesis, so that a statement follows it.
    Paren {
        head: bool,
    },
    Bracket,
    Brace,
    /// `${` inside a template.
    Template,
}

struct Lexer<'a> {
    code: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
    /// Byte ranges of comments.
    comments: Vec<Range<usize>>,
    open: Vec<Open>,
    /// Whether a `/` here begins a regular expression.
    regex: bool,
}

/// After these a value follows, so a `/` begins a regular expression.
const BEFORE_VALUE: &[&str] = &[
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "else",
    "do",
    "await",
    "yield",
    "instanceof",
];

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer::new(code);
    lexer.run();
    lexer.tokens
}

impl<'a> Lexer<'a> {
    fn new(code: &'a str) -> Self {
        Self { code, at: 0, line: 1, tokens: Vec::new(), comments: Vec::new(), open: Vec::new(), regex: true }
    }

    fn run(&mut self) {
        while let Some(c) = self.peek() {
            self.token(c);
        }
    }

    fn comment(&mut self, bytes: usize) {
        let from = self.at;
        self.skip(bytes);
        self.comments.push(from..self.at);
    }

    /// Whether no token is on this line yet.
    fn begins_line(&self) -> bool {
        self.tokens.last().is_none_or(|token| token.line < self.line)
    }

    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let end = (self.at + bytes).min(self.code.len());
        let text = &self.code[self.at..end];
        self.line += text.matches('\n').count();
        self.at = end;
        text
    }

    fn push(&mut self, text: &'a str, line: usize, regex: bool) {
        self.tokens.push(Token { text, line });
        self.regex = regex;
    }

    fn token(&mut self, c: char) {
        let line = self.line;
        let rest = self.rest();
        if c.is_whitespace() {
            self.skip(c.len_utf8());
        } else if rest.starts_with("//") || rest.starts_with("<!--") || (rest.starts_with("-->") && self.begins_line())
        {
            self.comment(rest.find('\n').unwrap_or(rest.len()));
        } else if let Some(comment) = rest.strip_prefix("/*") {
            self.comment(comment.find("*/").map_or(rest.len(), |end| end + 4));
        } else if c == '"' || c == '\'' {
            self.skip(quoted(rest, c));
            self.push("", line, false);
        } else if c == '`' {
            self.skip(1);
            self.template(line);
        } else if c == '/' && self.regex {
            self.skip(regex(rest));
            self.push("", line, false);
        } else if c.is_alphanumeric() || c == '_' || c == '$' {
            let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let text = self.skip(rest.find(|c| !word(c)).unwrap_or(rest.len()));
            let property = self.tokens.last().is_some_and(|token| matches!(token.text, "." | "?."));
            self.push(text, line, !property && BEFORE_VALUE.contains(&text));
        } else {
            self.punctuation(c, line);
        }
    }

    fn punctuation(&mut self, c: char, line: usize) {
        let mut regex = true;
        match c {
            '(' => {
                let head =
                    self.tokens.last().is_some_and(|token| matches!(token.text, "if" | "while" | "for" | "with"));
                self.open.push(Open::Paren { head });
            }
            '[' => self.open.push(Open::Bracket),
            '{' => self.open.push(Open::Brace),
            ')' => regex = matches!(self.open.pop(), Some(Open::Paren { head: true })),
            ']' => {
                self.open.pop();
                regex = false;
            }
            '}' => {
                if let Some(Open::Template) = self.open.pop() {
                    self.skip(1);
                    return self.template(line);
                }
            }
            _ => {}
        }
        // `?.` counts as one, but not in `a?.5:b`.
        let optional = self.rest().starts_with("?.") && !self.rest()[2..].starts_with(|c: char| c.is_ascii_digit());
        let counting = self.rest().starts_with("++") || self.rest().starts_with("--");
        let text = self.skip(if optional || counting { 2 } else { c.len_utf8() });
        // `i++ / 2` divides; `++ /re/` does not exist.
        self.push(text, line, regex && !counting);
    }

    /// The text of a template, to its end or to the next `${`.
    fn template(&mut self, line: usize) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'`' => {
                    self.skip(at + 1);
                    return self.push("", line, false);
                }
                b'$' if bytes.get(at + 1) == Some(&b'{') => {
                    self.skip(at + 2);
                    self.open.push(Open::Template);
                    return self.push("", line, true);
                }
                _ => {}
            }
            at += 1;
        }
        self.skip(rest.len());
    }
}

/// The length of the string literal at the start; it ends with its line at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the regular expression at the start; its flags are read as a name of their own and do no harm.
fn regex(text: &str) -> usize {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_found_with_its_line() {
        for (code, pattern, line) in [
            ("process.exit(1)", "process", 1),
            ("let a = 1;\nreturn process.env.KEY", "process", 2),
            ("return typeof process", "process", 1),
            ("f(a, process)", "process", 1),
            ("const fs = require('fs')", "require(", 1),
            ("require ('fs')", "require(", 1),
            ("/* a\n b */ await import('fs')", "import(", 2),
            ("`\n\n${eval('1')}`", "eval(", 3),
            ("eval?.('1')", "eval(", 1),
            ("return new Function('return 1')()", "Function(", 1),
            ("return __dirname", "__dirname", 1),
            ("return __filename", "__filename", 1),
            ("global.x = 1", "global.", 1),
            ("globalThis['x'] = 1", "globalThis.", 1),
            ("a.__proto__.b = 1", "__proto__", 1),
            ("({__proto__: a})", "__proto__", 1),
            ("''.constructor['constructor']", "constructor[", 1),
            ("with (a) b()", "with(", 1),
            ("if (x) /'/.test(y); process", "process", 1),
            ("a = b / c; eval('x') / d", "eval(", 1),
            ("a = i++ / 2; process; b = '/'", "process", 1),
            ("x = `a${ {b: `c`} }d`; process", "process", 1),
            ("return a[0] / 2 + process.pid / 3", "process", 1),
        ] {
            let found = validate(code).expect_err(code);
            assert_eq!(found.iter().map(|f| (f.pattern, f.line)).collect::<Vec<_>>(), [(pattern, line)], "{code}");
        }
    }

    #[test]
    fn comments_go_and_literals_stay() {
        for (code, left) in [
            ("a // evil.com\nb", "a  \nb"),
            ("a /* evil.com\n */ b", "a   b"),
            ("a <!-- evil.com\n  --> evil.com\nb", "a  \n   \nb"),
            ("`x ${ /* evil.com */ a } // b`", "`x ${   a } // b`"),
            ("fetch('https://a.com//b') // evil.com", "fetch('https://a.com//b')  "),
            ("/[/*]\\/\\/evil/.test(a) / 2 // c", "/[/*]\\/\\/evil/.test(a) / 2  "),
            ("if (a) /'/.test(b); /* evil.com", "if (a) /'/.test(b);  "),
            ("a\n/2//é", "a\n/2 "),
        ] {
            assert_eq!(without_comments(code), left, "{code}");
        }
    }

    #[test]
    fn harmless_code_passes() {
        for code in [
            "return args.process + args?.process",
            "return preprocess(args) + processed + $process",
            "return {process: 1, eval: 2}",
            "const process = x => x; return process(1)",
            "function process(x) { return x } return process(1)",
            "return 'process.exit(1)' + \"require('x')\"",
            "return `process ${args.a} eval(1) ${'}'} global.x`",
            "// process.exit\n/* eval(1) */ return 1",
            "return /process|eval\\(|[/'\"]require\\(/.test(args.text)",
            "return args.text.replace(/'/g, '').split(/[`]/)",
            "return [1,2].with(0, 3)",
            "return f instanceof Function || utils.eval(1)",
            "class A { #process = 1; get() { return this.#process } }",
            "return 'it\\'s process'",
            "return a\n  .require('x')",
            "return x.constructor.name",
            "return globalThing.a + myglobal.b",
            "x = a ? .5 : b; return 4 / 2 / 1",
            "const s = \"unterminated",
            "`unterminated ${",
            "é = 'ß'; /* open",
            "",
        ] {
            assert_eq!(validate(code), Ok(()), "{code}");
        }
    }
}
