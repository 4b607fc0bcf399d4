//! Finds files by name and by content: the first matches in the order of paths, whatever the number of threads.

use crate::walk::{Plan, Visited, Visitor, Walked, order, walk};
use globset::{Glob, GlobBuilder, GlobMatcher};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The longest line in a result, in bytes; what is around the match is shown.
const WIDTH: usize = 300;
/// The longest line that is searched, in bytes; a file with a longer one is searched up to it.
const LONGEST: usize = 8 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const PATTERN: usize = 4 * 1024 * 1024;
/// The longest pattern, in bytes.
const WRITTEN: usize = 4096;

/// What to look for.
pub(crate) struct Query {
    matcher: RegexMatcher,
    /// Whether names of files count.
    names: bool,
    /// Whether lines of files count.
    content: bool,
    /// Only files whose path matches.
    only: Option<FileGlob>,
    /// Lines to show around a match.
    context: usize,
    /// How many results.
    most: usize,
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct How {
    pub regex: bool,
    /// Without it, case counts if the pattern has a capital letter.
    pub case_sensitive: Option<bool>,
    pub names: bool,
    pub content: bool,
    pub context: usize,
    pub most: usize,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1.
    pub number: u64,
    pub text: String,
    /// The lines before it and after it, where they were asked for.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// A file that matches: by its name if it has no lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hit {
    pub path: String,
    pub by_name: bool,
    pub lines: Vec<Line>,
}

impl Hit {
    fn count(&self) -> usize {
        usize::from(self.by_name) + self.lines.len()
    }
}

/// The results of a search, in the order of paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hits {
    pub files: Vec<Hit>,
    /// Whether there may be more than were asked for.
    pub more: bool,
    pub walked: Walked,
}

impl Query {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(pattern: &str, only: Option<&str>, how: How) -> Result<Self, String> {
        if pattern.is_empty() || pattern.len() > WRITTEN {
            return Err(format!("the text to search for is empty or longer than {WRITTEN} bytes"));
        }
        if !how.regex && pattern.contains('\n') {
            return Err("lines are searched one by one: leave out the line break".into());
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.fixed_strings(!how.regex).size_limit(PATTERN).dfa_size_limit(PATTERN).multi_line(true).crlf(true);
        match how.case_sensitive {
            Some(sensitive) => builder.case_insensitive(!sensitive),
            None => builder.case_smart(true),
        };
        let matcher = builder.build(pattern).map_err(|why| pattern_error(&why))?;
        let only = only.map(FileGlob::new).transpose()?;
        Ok(Self { matcher, names: how.names, content: how.content, only, context: how.context, most: how.most.max(1) })
    }

    /// Searches the files of a walk.
    pub fn run(&self, plan: &Plan) -> Hits {
        let within = if plan.start.is_empty() { 0 } else { plan.start.len() + 1 };
        let finder = Finder {
            query: self,
            within,
            stop: plan.stop,
            found: Mutex::default(),
            full: AtomicBool::new(false),
            cut: AtomicBool::new(false),
        };
        let walked = walk(plan, &finder);
        let found = finder.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut files, mut room, mut more) = (vec![], self.most, finder.cut.into_inner() || walked.ended_early);
        for mut hit in found.files.into_values() {
            if room == 0 {
                more = true;
                break;
            }
            let lines = room - usize::from(hit.by_name);
            more |= hit.lines.len() > lines;
            hit.lines.truncate(lines);
            room -= hit.count();
            files.push(hit);
        }
        Hits { files, more, walked }
    }
}

fn pattern_error(why: &grep_regex::Error) -> String {
    let text = why.to_string();
    let reason = text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(text.trim());
    format!(
        "the pattern cannot be used: {}; write it in the syntax of ripgrep, or search without `regex`",
        text_kit::truncate(reason, 200)
    )
}

/// The files found so far, by the order of their paths, and how many results they are.
#[derive(Default)]
struct FoundFiles {
    files: BTreeMap<Vec<u8>, Hit>,
    results: usize,
}

struct Finder<'a> {
    query: &'a Query,
    /// The length of the start of paths that globs do not see.
    within: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    found: Mutex<FoundFiles>,
    /// Whether enough was found, so that only paths before the last of them matter.
    full: AtomicBool,
    /// Whether something was passed over.
    cut: AtomicBool,
}

impl Finder<'_> {
    fn keep(&self, hit: Hit) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.results += hit.count();
        found.files.insert(order(&hit.path), hit);
        while let Some(last) = found.files.last_entry() {
            let count = last.get().count();
            if found.results - count < self.query.most {
                break;
            }
            found.files.pop_last();
            found.results -= count;
            self.cut.store(true, Ordering::Relaxed);
        }
        if found.results >= self.query.most {
            self.full.store(true, Ordering::Relaxed);
        }
    }
}

impl Visitor for Finder<'_> {
    type Local = Searcher;

    fn local(&self) -> Searcher {
        SearcherBuilder::new()
            // As the matcher's, or nothing is searched.
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.query.context)
            .after_context(self.query.context)
            // A file that shrinks while it is mapped would end the process.
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST))
            .build()
    }

    fn matters(&self, path: &str) -> bool {
        if !self.full.load(Ordering::Relaxed) {
            return true;
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let matters = found.files.last_key_value().is_none_or(|(last, _)| order(path) < *last);
        if !matters {
            self.cut.store(true, Ordering::Relaxed);
        }
        matters
    }

    fn visit(&self, searcher: &mut Searcher, file: &Visited) {
        let query = self.query;
        if query.only.as_ref().is_some_and(|only| !only.has(&file.path[self.within..])) {
            return;
        }
        let by_name = query.names && query.matcher.is_match(file.name.as_bytes()).unwrap_or(false);
        let mut hit = Hit { path: file.path.to_owned(), by_name, lines: vec![] };
        if query.content
            && let Some((opened, _)) = file.open()
        {
            let mut lines = Lines { query, stop: self.stop, lines: vec![], before: vec![], binary: false };
            // A line beyond the limit or a fault of the disk ends the search in this file; what was found counts.
            let _ = searcher.search_file(&query.matcher, &opened, &mut lines);
            if !lines.binary {
                hit.lines = lines.lines;
            }
        }
        if hit.count() > 0 {
            self.keep(hit);
        }
    }
}

/// Collects the lines of one file.
struct Lines<'a> {
    query: &'a Query,
    stop: &'a (dyn Fn() -> bool + Sync),
    lines: Vec<Line>,
    before: Vec<String>,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or(0);
        for (index, line) in (0..).zip(found.lines()) {
            let at = self.query.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
            let before = std::mem::take(&mut self.before);
            self.lines.push(Line { number: number + index, text: around(line, at), before, after: vec![] });
        }
        Ok(self.lines.len() <= self.query.most && !(self.stop)())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = around(context.bytes(), 0);
        match (context.kind(), self.lines.last_mut()) {
            (SinkContextKind::After, Some(line)) => line.after.push(text),
            (SinkContextKind::Before, _) => self.before.push(text),
            _ => {}
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line as text: of a long one the part with the match.
fn around(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= WIDTH {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = at.saturating_sub(WIDTH / 3).min(line.len() - WIDTH);
    let end = start + WIDTH;
    let is_inner = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let start = (start..end).find(|at| !is_inner(*at)).unwrap_or(start);
    let end = (end..line.len()).find(|at| !is_inner(*at)).unwrap_or(line.len());
    let text = String::from_utf8_lossy(&line[start..end]);
    format!("{}{text}{}", if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" })
}

/// A glob of paths from the start of a search. Without `/` it is one of names, in whatever folder.
pub(crate) struct FileGlob {
    matcher: GlobMatcher,
}

impl FileGlob {
    /// Reads a glob.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.trim();
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        if plain.is_empty() || plain.len() > WRITTEN {
            return Err("the glob is empty or too long: write one such as `**/*.md`".into());
        }
        if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
            return Err(format!(
                "the glob `{}` leaves its folder: begin it in the folder that `path` names",
                text_kit::truncate(plain, 80)
            ));
        }
        // `./*.md` is in the folder itself.
        let anywhere = if pattern.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
        let glob: Result<Glob, _> =
            GlobBuilder::new(&anywhere).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
        let glob =
            glob.map_err(|why| format!("the glob `{}` cannot be used: {}", text_kit::truncate(plain, 80), why.kind()))?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    pub fn has(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

/// Finds files by a glob of their paths.
pub(crate) struct GlobSearch<'a> {
    glob: &'a FileGlob,
    /// The length of the start of paths that the glob does not see.
    within: usize,
    most: usize,
    found: Mutex<BTreeMap<Vec<u8>, Matched>>,
    full: AtomicBool,
    cut: AtomicBool,
}

/// A file that matches a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched {
    pub path: String,
    pub size: u64,
    /// Seconds since 1970.
    pub modified: i64,
}

/// The files that match a glob, in the order of paths; whether there may be more; and what was walked through.
pub(crate) fn glob(plan: &Plan, glob: &FileGlob, most: usize) -> (Vec<Matched>, bool, Walked) {
    let within = if plan.start.is_empty() { 0 } else { plan.start.len() + 1 };
    let search = GlobSearch {
        glob,
        within,
        most,
        found: Mutex::default(),
        full: AtomicBool::new(false),
        cut: AtomicBool::new(false),
    };
    let walked = walk(plan, &search);
    let found = search.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    (found.into_values().collect(), search.cut.into_inner() || walked.ended_early, walked)
}

impl Visitor for GlobSearch<'_> {
    type Local = ();

    fn local(&self) {}

    fn matters(&self, path: &str) -> bool {
        if !self.full.load(Ordering::Relaxed) {
            return true;
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let matters = found.last_key_value().is_none_or(|(last, _)| order(path) < *last);
        if !matters {
            self.cut.store(true, Ordering::Relaxed);
        }
        matters
    }

    fn visit(&self, (): &mut (), file: &Visited) {
        if !self.glob.has(&file.path[self.within..]) {
            return;
        }
        let Some(stat) = file.stat() else { return };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        #[allow(clippy::unnecessary_cast, reason = "the type differs between platforms")]
        let modified = stat.st_mtime as i64;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(order(file.path), Matched { path: file.path.to_owned(), size, modified });
        if found.len() > self.most {
            found.pop_last();
            self.cut.store(true, Ordering::Relaxed);
        }
        if found.len() >= self.most {
            self.full.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
