//! Walks through the files below a folder by handle, on several threads: links are not followed, and names that do not exist for
//! the caller are not seen.

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat},
    io::Errno,
};
use std::{
    fs::File,
    io::Read,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// How deep folders are entered.
const DEEPEST: usize = 200;
/// How many entries are looked at.
const ENTRIES: u64 = 2_000_000;
/// How many files one thread takes at once.
const BATCH: usize = 128;
/// Threads at most.
const THREADS: usize = 4;
/// The longest file of ignore rules that is read, in bytes, and their names; a later one wins.
const RULES: u64 = 64 * 1024;
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Which names and folders do not exist for the caller.
pub(crate) trait Unseen: Sync {
    /// Whether a name does not exist.
    fn hides(&self, name: &str) -> bool;
    /// Whether a folder does not exist, whatever its name.
    fn guards(&self, folder: &OwnedFd, stat: &Stat) -> bool;
}

/// What to walk through.
pub(crate) struct Plan<'a> {
    /// The folder that paths begin at, such as that of a place.
    pub root: &'a OwnedFd,
    /// The folder to walk through, as a path from there; empty for all.
    pub start: &'a str,
    pub unseen: &'a dyn Unseen,
    /// The only name of the folder that counts, if one does.
    pub only: Option<&'a str>,
    /// Whether to enter names that begin with a dot.
    pub hidden: bool,
    /// Whether to enter what `.gitignore` and `.ignore` exclude.
    pub ignored: bool,
    /// Ends the walk early.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// A file that the walk came to.
pub(crate) struct Visited<'a> {
    /// The folder it is in.
    pub folder: &'a OwnedFd,
    pub name: &'a str,
    /// Its path from the root.
    pub path: &'a str,
}

/// What to do with files.
pub(crate) trait Visitor: Sync {
    /// The state of one thread.
    type Local;
    fn local(&self) -> Self::Local;
    /// Whether anything at or below this path can matter still.
    fn matters(&self, path: &str) -> bool;
    fn visit(&self, local: &mut Self::Local, file: &Visited);
}

/// What a walk did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub files: u64,
    /// Folders that could not be read.
    pub unreadable: u64,
    /// Whether it ended before it had seen all: it was stopped, or there is too much.
    pub ended_early: bool,
}

/// The order in which a walk comes to paths: folder by folder.
pub(crate) fn order(path: &str) -> Vec<u8> {
    path.bytes().map(|byte| if byte == b'/' { 0 } else { byte }).collect()
}

impl Visited<'_> {
    /// Opens it for reading if it is a plain file with one name; never waits.
    pub fn open(&self) -> Option<(File, Stat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat(self.folder, self.name, flags, Mode::empty()).ok()?;
        let stat = fstat(&opened).ok()?;
        let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1;
        plain.then(|| (opened.into(), stat))
    }

    pub fn stat(&self) -> Option<Stat> {
        statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

/// Walks through all files; returns when every thread is done.
pub(crate) fn walk<V: Visitor>(plan: &Plan, visitor: &V) -> Walked {
    let Some((rules, depth)) = rules_above(plan) else { return Walked::default() };
    let walker = Walker {
        plan,
        visitor,
        queue: Mutex::new(Queue {
            tasks: vec![Task::Folder { path: plan.start.to_owned(), depth, rules }],
            working: 0,
        }),
        changed: Condvar::new(),
        entries: AtomicU64::new(0),
        files: AtomicU64::new(0),
        unreadable: AtomicU64::new(0),
        ended: AtomicBool::new(false),
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| walker.work());
        }
        walker.work();
    });
    Walked {
        files: walker.files.into_inner(),
        unreadable: walker.unreadable.into_inner(),
        ended_early: walker.ended.into_inner(),
    }
}

enum Task {
    Folder { path: String, depth: usize, rules: Option<Arc<Rules>> },
    Files { folder: Arc<OwnedFd>, path: Arc<str>, names: Vec<String> },
}

struct Queue {
    tasks: Vec<Task>,
    /// How many threads work on a task, and may add more.
    working: usize,
}

struct Walker<'a, V> {
    plan: &'a Plan<'a>,
    visitor: &'a V,
    queue: Mutex<Queue>,
    changed: Condvar,
    entries: AtomicU64,
    files: AtomicU64,
    unreadable: AtomicU64,
    ended: AtomicBool,
}

/// Rules of ignored files in one folder, and those of the folders above it.
struct Rules {
    /// The length of the folder's path with its separator.
    within: usize,
    matcher: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    fn excludes(&self, path: &str, is_folder: bool) -> bool {
        let mut rules = Some(self);
        while let Some(these) = rules {
            match these.matcher.matched(&path[these.within..], is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = these.above.as_deref(),
            }
        }
        false
    }
}

/// Whether a walk leaves out a name that begins with a dot.
fn is_dotted(name: &str) -> bool {
    name.starts_with('.')
}

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder below the root without any link on the way.
pub(crate) fn open_below(root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return openat(root, ".", OPEN, Mode::empty());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, OPEN, Mode::empty(), resolve)
}

/// The rules of the folders above the start, and how deep it is; `None` where the start is excluded by nothing but a link.
fn rules_above(plan: &Plan) -> Option<(Option<Arc<Rules>>, usize)> {
    let names: Vec<&str> = plan.start.split('/').filter(|name| !name.is_empty()).collect();
    let (mut rules, mut path) = (None, String::new());
    for name in &names {
        let folder = open_below(plan.root, &path).ok()?;
        rules = rules_in(&folder, &path, rules, plan);
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(name);
    }
    Some((rules, names.len()))
}

/// The rules of a folder with those above it.
fn rules_in(folder: &OwnedFd, path: &str, above: Option<Arc<Rules>>, plan: &Plan) -> Option<Arc<Rules>> {
    if plan.ignored {
        return None;
    }
    let mut builder = GitignoreBuilder::new("");
    let mut any = false;
    for name in RULE_FILES {
        let Some((file, _)) = (Visited { folder, name, path }).open() else { continue };
        let mut text = vec![];
        if file.take(RULES).read_to_end(&mut text).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&text).lines() {
            // A rule that cannot be read excludes nothing.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    if !any {
        return above;
    }
    let Ok(matcher) = builder.build() else { return above };
    let within = if path.is_empty() { 0 } else { path.len() + 1 };
    Some(Arc::new(Rules { within, matcher, above }))
}

impl<V: Visitor> Walker<'_, V> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut local = self.visitor.local();
        while let Some(task) = self.next() {
            if !self.ended.load(Ordering::Relaxed) && (self.plan.stop)() {
                self.ended.store(true, Ordering::Relaxed);
            }
            let more = if self.ended.load(Ordering::Relaxed) { vec![] } else { self.run(task, &mut local) };
            let mut queue = self.queue();
            // The last is taken first.
            queue.tasks.extend(more.into_iter().rev());
            queue.working -= 1;
            drop(queue);
            self.changed.notify_all();
        }
    }

    /// The next task; `None` when there is none and none can come.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        loop {
            if let Some(task) = queue.tasks.pop() {
                queue.working += 1;
                return Some(task);
            }
            if queue.working == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does a task and returns those that follow from it, in order.
    fn run(&self, task: Task, local: &mut V::Local) -> Vec<Task> {
        match task {
            Task::Folder { path, depth, rules } if self.visitor.matters(&path) => {
                self.folder(&path, depth, rules, local)
            }
            Task::Folder { .. } => vec![],
            Task::Files { folder, path, names } => {
                self.files(&folder, &path, &names, local);
                vec![]
            }
        }
    }

    fn files(&self, folder: &OwnedFd, path: &str, names: &[String], local: &mut V::Local) {
        for name in names {
            if self.ended.load(Ordering::Relaxed) || (self.plan.stop)() {
                self.ended.store(true, Ordering::Relaxed);
                return;
            }
            let path = join(path, name);
            self.files.fetch_add(1, Ordering::Relaxed);
            if self.visitor.matters(&path) {
                self.visitor.visit(local, &Visited { folder, name, path: &path });
            }
        }
    }

    fn folder(&self, path: &str, depth: usize, above: Option<Arc<Rules>>, local: &mut V::Local) -> Vec<Task> {
        let unreadable = || {
            self.unreadable.fetch_add(1, Ordering::Relaxed);
            vec![]
        };
        let Ok(folder) = open_below(self.plan.root, path) else { return unreadable() };
        match fstat(&folder) {
            Ok(stat) if self.plan.unseen.guards(&folder, &stat) => return vec![],
            Ok(_) => {}
            Err(_) => return unreadable(),
        }
        let rules = rules_in(&folder, path, above, self.plan);
        let Ok(entries) = Dir::read_from(&folder) else { return unreadable() };
        let (mut names, mut folders) = (vec![], vec![]);
        for entry in entries {
            let Ok(entry) = entry else { break };
            // Names that are no text cannot be asked for.
            let Ok(name) = entry.file_name().to_str() else { continue };
            let is_other = self.plan.only.is_some_and(|only| only != name);
            if is_other
                || matches!(name, "." | "..")
                || self.plan.unseen.hides(name)
                || is_dotted(name) && !self.plan.hidden
            {
                continue;
            }
            if self.entries.fetch_add(1, Ordering::Relaxed) >= ENTRIES {
                self.ended.store(true, Ordering::Relaxed);
                return vec![];
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            let is_folder = kind == FileType::Directory;
            if !is_folder && kind != FileType::RegularFile {
                continue;
            }
            if rules.as_ref().is_some_and(|rules| rules.excludes(&join(path, name), is_folder)) {
                continue;
            }
            if is_folder { &mut folders } else { &mut names }.push(name.to_owned());
        }
        if self.plan.only.is_some() {
            folders.clear();
        }
        names.sort_unstable();
        folders.sort_unstable();
        let mut tasks = vec![];
        if names.len() <= BATCH {
            self.files(&folder, path, &names, local);
        } else {
            let (folder, path): (_, Arc<str>) = (Arc::new(folder), path.into());
            let batch =
                |names: &[String]| Task::Files { folder: folder.clone(), path: path.clone(), names: names.to_vec() };
            tasks.extend(names.chunks(BATCH).map(batch));
        }
        if depth >= DEEPEST && !folders.is_empty() {
            self.unreadable.fetch_add(folders.len() as u64, Ordering::Relaxed);
            return tasks;
        }
        let below = |name: &String| Task::Folder { path: join(path, name), depth: depth + 1, rules: rules.clone() };
        tasks.extend(folders.iter().map(below));
        tasks
    }
}

pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, path::PathBuf};

    /// A folder of files that is deleted with its owner.
    pub(crate) struct Sandbox(pub PathBuf);

    impl Sandbox {
        pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("hob-walk-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            for (path, text) in files {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(folder)
        }
        pub fn fd(&self) -> OwnedFd {
            rustix::fs::open(&self.0, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
        }
    }

    impl Drop for Sandbox {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Hides one name.
    pub(crate) struct Hides(pub &'static str);

    impl Unseen for Hides {
        fn hides(&self, name: &str) -> bool {
            name == self.0
        }
        fn guards(&self, _: &OwnedFd, _: &Stat) -> bool {
            false
        }
    }

    #[derive(Default)]
    struct Paths(Mutex<Vec<String>>);

    impl Visitor for Paths {
        type Local = ();
        fn local(&self) {}
        fn matters(&self, _: &str) -> bool {
            true
        }
        fn visit(&self, _: &mut (), file: &Visited) {
            self.0.lock().unwrap().push(file.path.to_owned());
        }
    }

    fn seen(sandbox: &Sandbox, start: &str, hidden: bool, ignored: bool) -> Vec<String> {
        let (root, paths) = (sandbox.fd(), Paths::default());
        let plan = Plan { root: &root, start, unseen: &Hides("secret"), only: None, hidden, ignored, stop: &|| false };
        walk(&plan, &paths);
        let mut paths = paths.0.into_inner().unwrap();
        paths.sort_by_key(|path| order(path));
        paths
    }

    #[test]
    fn files_are_seen_once_and_what_is_excluded_is_not() {
        let sandbox = Sandbox::new(
            "seen",
            &[
                ("b.txt", ""),
                ("a/x.rs", ""),
                ("a/target/out", ""),
                ("a/keep.log", ""),
                ("a/b/deep.log", ""),
                ("a/b/.ignore", "!deep.log\n"),
                ("a/.gitignore", "target/\n*.log\n!keep.log\n/anchored\n"),
                ("a/b/anchored", ""),
                ("a/anchored", ""),
                ("a.txt", ""),
                (".hidden/x", ""),
                ("secret/key", ""),
                ("a/secret", ""),
            ],
        );
        symlink("/etc", sandbox.0.join("etc")).unwrap();
        symlink("b.txt", sandbox.0.join("link")).unwrap();
        let all = ["a/b/anchored", "a/b/deep.log", "a/keep.log", "a/x.rs", "a.txt", "b.txt"];
        assert_eq!(seen(&sandbox, "", false, false), all);
        assert_eq!(seen(&sandbox, "a/b", false, false), ["a/b/anchored", "a/b/deep.log"], "rules above the start hold");
        assert_eq!(seen(&sandbox, "etc", false, false), [""; 0], "a link is not followed");
        assert_eq!(seen(&sandbox, "..", false, false), [""; 0]);
        let everything = seen(&sandbox, "", true, true);
        assert_eq!(everything.len(), 11, "{everything:?}");
        assert!(!everything.iter().any(|path| path.contains("secret")));
    }

    #[test]
    fn many_files_and_deep_folders_come_to_an_end() {
        let sandbox = Sandbox::new("many", &[("x", "")]);
        for number in 0..1000 {
            fs::write(sandbox.0.join(format!("{number}")), "").unwrap();
        }
        let mut deep = sandbox.fd();
        for _ in 0..300 {
            rustix::fs::mkdirat(&deep, "d", Mode::from_raw_mode(0o700)).unwrap();
            deep = openat(&deep, "d", OPEN, Mode::empty()).unwrap();
        }
        assert_eq!(seen(&sandbox, "", false, false).len(), 1001);
        let (root, paths) = (sandbox.fd(), Paths::default());
        let plan = Plan {
            root: &root,
            start: "",
            unseen: &Hides(""),
            only: None,
            hidden: false,
            ignored: false,
            stop: &|| true,
        };
        assert!(walk(&plan, &paths).ended_early);
    }

    #[test]
    fn the_order_is_folder_by_folder() {
        let mut paths = ["a.txt", "a/b", "a/b/c", "a-b/c", "b"];
        paths.sort_by_key(|path| order(path));
        assert_eq!(paths, ["a/b", "a/b/c", "a-b/c", "a.txt", "b"]);
    }
}
