//! The porcelain output of git as JSON.

use serde_json::{Map, Value, json};

/// The working tree's state, from `status --porcelain=v2 --branch -z`.
#[derive(Debug, Default, PartialEq)]
pub struct Status {
    /// The branch; nothing when none is checked out.
    pub branch: Option<String>,
    /// The checked-out commit; nothing before the first.
    pub commit: Option<String>,
    pub upstream: Option<String>,
    /// Commits ahead of and behind the upstream branch.
    pub ahead_behind: Option<(u64, u64)>,
    pub staged: Vec<Value>,
    pub unstaged: Vec<Value>,
    pub untracked: Vec<Value>,
    pub conflicted: Vec<Value>,
}

impl Status {
    pub fn is_clean(&self) -> bool {
        self.staged.is_empty() && self.unstaged.is_empty() && self.untracked.is_empty() && self.conflicted.is_empty()
    }
}

pub fn status(output: &[u8]) -> Status {
    let mut status = Status::default();
    let mut fields = records(output);
    while let Some(line) = fields.next() {
        let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match kind {
            "#" => header(&mut status, rest),
            "1" => changes(&mut status, rest, 7, None),
            "2" => changes(&mut status, rest, 8, fields.next()),
            "u" => {
                let mut parts = rest.splitn(10, ' ');
                let code = parts.next().unwrap_or_default();
                let change = match code {
                    "DD" => "deleted by both",
                    "AU" => "added by us",
                    "UD" => "deleted by them",
                    "UA" => "added by them",
                    "DU" => "deleted by us",
                    "AA" => "added by both",
                    _ => "modified by both",
                };
                let path = parts.last().unwrap_or_default();
                status.conflicted.push(json!({"path": path, "change": change}));
            }
            "?" => status.untracked.push(rest.into()),
            _ => {}
        }
    }
    status
}

fn header(status: &mut Status, line: &str) {
    let (name, value) = line.split_once(' ').unwrap_or((line, ""));
    match name {
        "branch.oid" => status.commit = Some(value.to_owned()).filter(|v| v != "(initial)"),
        "branch.head" => status.branch = Some(value.to_owned()).filter(|v| v != "(detached)"),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let number = |text: &str| text[1..].parse().ok();
            let pair = value.split_once(' ').filter(|(a, b)| a.starts_with('+') && b.starts_with('-'));
            status.ahead_behind = pair.and_then(|(a, b)| Some((number(a)?, number(b)?)));
        }
        _ => {}
    }
}

/// One changed path: `fields` stand before it, and the first is its two letters.
fn changes(status: &mut Status, rest: &str, fields: usize, from: Option<String>) {
    let mut parts = rest.splitn(fields + 1, ' ');
    let code = parts.next().unwrap_or_default().to_owned();
    let Some(path) = parts.nth(fields - 1) else { return };
    let mut letters = code.chars();
    for list in [&mut status.staged, &mut status.unstaged] {
        let letter = letters.next().unwrap_or('.');
        let Some(change) = change(letter) else { continue };
        let mut shown = json!({"path": path, "change": change});
        if let (Some(from), 'R' | 'C') = (&from, letter) {
            shown["from"] = from.as_str().into();
        }
        list.push(shown);
    }
}

fn change(letter: char) -> Option<&'static str> {
    Some(match letter {
        'M' => "modified",
        'T' => "type changed",
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        _ => return None,
    })
}

/// Changed files with their added and removed lines, from `diff --numstat -z`.
pub fn numstat(output: &[u8]) -> Vec<Value> {
    let (mut files, mut fields) = (vec![], records(output));
    while let Some(line) = fields.next() {
        let mut parts = line.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (path, from) = match path {
            "" => {
                let from = fields.next();
                (fields.next().unwrap_or_default(), from)
            }
            path => (path.to_owned(), None),
        };
        let mut file = Map::from_iter([("path".to_owned(), path.into())]);
        match (added.parse::<u64>(), removed.parse::<u64>()) {
            (Ok(added), Ok(removed)) => {
                file.insert("added".into(), added.into());
                file.insert("removed".into(), removed.into());
            }
            _ => drop(file.insert("binary".into(), true.into())),
        }
        if let Some(from) = from {
            file.insert("from".into(), from.into());
        }
        files.push(file.into());
    }
    files
}

/// The format of [`log`]: nine fields a commit, each ended by a NUL.
pub const LOG_FORMAT: &str = "--format=tformat:%H%x00%h%x00%an%x00%ae%x00%aI%x00%P%x00%D%x00%s%x00%b";
const LOG_FIELDS: usize = 9;

/// Commits, from `log -z` with [`LOG_FORMAT`].
pub fn log(output: &[u8]) -> Vec<Value> {
    let fields: Vec<String> = records_with_empty(output);
    let commit = |f: &[String]| {
        let parents: Vec<&str> = f[5].split_whitespace().collect();
        let refs: Vec<&str> = f[6].split(", ").filter(|r| !r.is_empty()).collect();
        let body = f[8].trim();
        let mut commit = json!({
            "commit": f[0], "short": f[1], "author": f[2], "email": f[3], "date": f[4], "subject": f[7],
        });
        if parents.len() > 1 {
            commit["parents"] = parents.into();
        }
        if !refs.is_empty() {
            commit["refs"] = refs.into();
        }
        if !body.is_empty() {
            commit["body"] = body.into();
        }
        commit
    };
    fields.chunks_exact(LOG_FIELDS).map(commit).collect()
}

/// The format of [`branches`]: six fields a line.
pub const BRANCH_FORMAT: &str = "--format=%(refname)%00%(objectname:short)%00%(HEAD)%00%(upstream:short)%00\
                                 %(upstream:track,nobracket)%00%(committerdate:iso-strict)%00%(contents:subject)";

/// Branches, from `for-each-ref` with [`BRANCH_FORMAT`].
pub fn branches(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    let branch = |line: &str| {
        let f: Vec<&str> = line.split('\0').collect();
        let [name, commit, head, upstream, track, date, subject] = f[..] else { return None };
        let (name, is_remote) = match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/remotes/")) {
            (Some(name), _) => (name, false),
            (_, Some(name)) => (name, true),
            _ => (name, false),
        };
        let mut branch =
            json!({"name": name, "commit": commit, "current": head == "*", "date": date, "subject": subject});
        if is_remote {
            branch["remote"] = true.into();
        }
        if !upstream.is_empty() {
            branch["upstream"] = upstream.into();
        }
        if !track.is_empty() {
            branch["compared"] = track.into();
        }
        Some(branch)
    };
    text.lines().filter_map(branch).collect()
}

/// The NUL-terminated records of an output.
fn records(output: &[u8]) -> impl Iterator<Item = String> {
    output.split(|b| *b == 0).filter(|r| !r.is_empty()).map(|r| String::from_utf8_lossy(r).into_owned())
}

/// The same, with empty ones.
fn records_with_empty(output: &[u8]) -> Vec<String> {
    let output = output.strip_suffix(b"\0").unwrap_or(output);
    if output.is_empty() {
        return vec![];
    }
    output.split(|b| *b == 0).map(|r| String::from_utf8_lossy(r).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let output = "# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
                      1 M. N... 100644 100644 100644 a b src/a b.rs\0\
                      1 AM N... 0 100644 100644 a b new\nline\0\
                      2 R. N... 100644 100644 100644 a b R100 to.txt\0from.txt\0\
                      u UU N... 1 1 1 1 a b c both.txt\0? un tracked\0! ignored\0";
        let read = status(output.as_bytes());
        assert_eq!((read.branch.as_deref(), read.commit.as_deref()), (Some("main"), Some("1234")));
        assert_eq!((read.upstream.as_deref(), read.ahead_behind), (Some("origin/main"), Some((2, 1))));
        let staged = json!([
            {"path": "src/a b.rs", "change": "modified"},
            {"path": "new\nline", "change": "added"},
            {"path": "to.txt", "change": "renamed", "from": "from.txt"},
        ]);
        assert_eq!(Value::from(read.staged.clone()), staged);
        assert_eq!(Value::from(read.unstaged.clone()), json!([{"path": "new\nline", "change": "modified"}]));
        assert_eq!(Value::from(read.conflicted.clone()), json!([{"path": "both.txt", "change": "modified by both"}]));
        assert_eq!(Value::from(read.untracked.clone()), json!(["un tracked"]));
        assert!(!read.is_clean());
        let fresh = status(b"# branch.oid (initial)\0# branch.head (detached)\0");
        assert_eq!(fresh, Status::default());
        assert!(fresh.is_clean());
        for broken in ["1 M.\0", "2 R. N...\0", "u\0", "# branch.ab x\0", "# branch.ab + -\0", "?\0", "\0\0"] {
            status(broken.as_bytes());
        }
    }

    #[test]
    fn changed_lines_are_counted() {
        let output = b"3\t1\ta b.txt\0-\t-\tpic.png\x000\t0\t\0old\0new\0";
        let expected = json!([
            {"path": "a b.txt", "added": 3, "removed": 1},
            {"path": "pic.png", "binary": true},
            {"path": "new", "added": 0, "removed": 0, "from": "old"},
        ]);
        assert_eq!(Value::from(numstat(output)), expected);
    }

    #[test]
    fn commits_are_read() {
        let output = b"aa\0a\0Eva\0e@x\x002026-01-01T00:00:00Z\0bb cc\0HEAD -> main, tag: v1\0Subject\0Body\n\n\0\
                       bb\0b\0Eva\0e@x\x002026-01-01T00:00:00Z\0\0\0First\0\0";
        let read = log(output);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0]["parents"], json!(["bb", "cc"]));
        assert_eq!((&read[0]["refs"], &read[0]["body"]), (&json!(["HEAD -> main", "tag: v1"]), &json!("Body")));
        assert_eq!((&read[1]["subject"], read[1].get("body")), (&json!("First"), None));
        assert_eq!(log(b""), Vec::<Value>::new());
    }

    #[test]
    fn branches_are_read() {
        let output = b"refs/heads/main\0aa\0*\0origin/main\0ahead 1\x002026-01-01T00:00:00Z\0First\n\
                       refs/remotes/origin/x\0bb\0 \0\0\x002026-01-01T00:00:00Z\0Other\n";
        let read = branches(output);
        assert_eq!(
            (&read[0]["name"], &read[0]["current"], &read[0]["compared"]),
            (&json!("main"), &json!(true), &json!("ahead 1"))
        );
        assert_eq!((&read[1]["name"], &read[1]["remote"]), (&json!("origin/x"), &json!(true)));
    }
}
