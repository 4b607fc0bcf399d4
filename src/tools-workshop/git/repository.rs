//! Finding the repository that a path is in, and running git over it.

use super::{
    config,
    run::{self, Access, Ran},
};
use crate::{Workshop, program::mounted};
use process_sandbox::{Job, Mount};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
};
use tool::{Cx, Error, Label, Output, Result};
use workspace::{Located, WorkspaceAccess};

/// A repository in the workspace.
#[derive(Clone)]
pub struct Repository {
    /// Its folder.
    top: Located,
    /// The folder that paths of the call are relative to, as programs see it.
    dir: PathBuf,
    /// The configuration that git reads.
    config: String,
    /// The worst label of what is in it.
    label: Label,
}

impl Repository {
    /// The repository that a folder is in. Looks for it from there up to the folder of the place, and never further.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Failed` when it is one that refers to other places.
    pub async fn find(tools: &Workshop, cx: &Cx, path: &str) -> Result<Self> {
        let (looking, caller, path) = (tools.clone(), cx.clone(), path.to_owned());
        let found = on_disk(move || Self::look(&looking, &caller, &path)).await?;
        // Git reads all of it, and not only the folder that was asked for.
        tools.workspaces.permit(cx, "git", &found.top).await?;
        Ok(found)
    }

    fn look(tools: &Workshop, cx: &Cx, path: &str) -> Result<Self> {
        let asked = tools.workspaces.locate(cx, path)?;
        let folder = match (tools.workspaces.open_dir(&asked), asked.parent()) {
            (Err(_), Some(parent)) if tools.workspaces.open_dir(&parent).is_ok() => parent,
            (opened, _) => opened.map(|_| asked.clone())?,
        };
        let mut top = folder.clone();
        loop {
            let opened = tools.workspaces.open_dir(&top)?;
            if let Some(config) = read_config(&opened)? {
                let label = tools.workspaces.label_below(cx, &top)?.max(cx.label());
                return Ok(Self { dir: folder.inside(), top, config, label });
            }
            top = top.parent().ok_or_else(|| {
                Error::not_found(format!(
                    "`{}` is in no git repository: pass the folder of one as `path`, or make one with `git init`",
                    text_kit::truncate(&asked.display(), 100)
                ))
            })?;
        }
    }

    /// Its folder, as the caller writes it.
    pub fn shown(&self) -> String {
        self.top.display()
    }

    /// An answer with what was read in it.
    pub fn output(&self, content: serde_json::Value) -> Output {
        Output { content, label: self.label, ..Output::default() }
    }

    /// Runs git and fails with what it says.
    pub async fn git(&self, tools: &Workshop, cx: &Cx, access: Access, words: &[&str]) -> Result<Ran> {
        self.try_git(tools, cx, access, words).await?.check(tools)
    }

    /// Runs git, which may fail.
    pub async fn try_git(&self, tools: &Workshop, cx: &Cx, access: Access, words: &[&str]) -> Result<Ran> {
        self.run(tools, cx, access, words, &[]).await
    }

    /// Runs git to change something: what it writes is marked like what it came from, and can be undone.
    pub async fn change(&self, tools: &Workshop, cx: &Cx, words: &[&str], input: &[u8]) -> Result<()> {
        if self.top.is_read_only() {
            return Err(Error::denied(format!("`{}` is in a place that is read-only: copy it first", self.shown())));
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (this, tools, cx, input) = (self.clone(), tools.clone(), cx.clone(), input.to_vec());
        // A task of its own: what git wrote is marked even if nobody waits for it any more.
        let work = async move {
            let (files, caller, place) = (tools.workspaces.clone(), cx.clone(), this.top.place_id().to_owned());
            let look = move || files.before_program_of(&caller, WorkspaceAccess::ReadWrite, |id| id == place);
            let watch = on_disk(look).await?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = this.run(&tools, &cx, Access::Write, &words, &input).await;
            // Also after a failure: it may have written something.
            tools.workspaces.after_program(watch, this.label).await?;
            ran?.check(&tools).map(drop)
        };
        let done = tokio::spawn(store::inherit_effect(work)).await;
        done.unwrap_or_else(|_| Err(Error::failed("running git broke inside; this is a fault of Hob")))
    }

    async fn run(&self, tools: &Workshop, cx: &Cx, access: Access, words: &[&str], input: &[u8]) -> Result<Ran> {
        let git = tools.find("git")?;
        let top = self.top.inside();
        let reduced = ConfigFile::new(&self.config)?;
        let mut job = Job::new(git).args(words);
        job.env = run::environment(cx, &top.to_string_lossy(), access);
        job.dir = self.dir.clone();
        let wanted = match access {
            Access::Read => WorkspaceAccess::ReadOnly,
            Access::Write => WorkspaceAccess::ReadWrite,
        };
        let (files, caller, place) = (tools.workspaces.clone(), cx.clone(), self.top.place_id().to_owned());
        let mounts = on_disk(move || files.mounts_of(&caller, wanted, |id| id == place)).await?;
        job.mounts = mounts.into_iter().map(mounted).collect();
        job.mounts.push(Mount {
            source: reduced.handle()?,
            target: top.join(".git/config"),
            access: process_sandbox::Access::ReadOnly,
            covered: vec![],
        });
        run::run(tools, cx, job, input).await
    }
}

/// Runs what waits for the disk on a thread of its own.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Error::failed("looking at the files broke inside")))
}

/// The reduced configuration as a file, which is deleted with this value.
struct ConfigFile(PathBuf);

impl ConfigFile {
    fn new(text: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("hob-git-{}", tool::Id::new()));
        let file = Self(path);
        let written = File::options().write(true).create_new(true).open(&file.0);
        written
            .and_then(|mut f| f.write_all(text.as_bytes()))
            .map_err(|e| Error::unavailable(format!("git needs a temporary file, which could not be written: {e}")))?;
        Ok(file)
    }

    fn handle(&self) -> Result<OwnedFd> {
        rustix::fs::open(&self.0, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Error::unavailable(format!("git needs a temporary file, which could not be opened: {e}")))
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The reduced configuration of the repository in a folder; nothing where there is none.
fn read_config(folder: &OwnedFd) -> Result<Option<String>> {
    let refers = |what: &str| {
        Error::failed(format!(
            "this repository refers to another one ({what}), and only repositories that are whole are used here: clone it whole"
        ))
    };
    let git = match kind(folder, ".git") {
        None => return Ok(None),
        Some(FileType::Directory) => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(folder, ".git", flags, Mode::empty()).map_err(|_| refers("`.git` was replaced just now"))?
        }
        Some(_) => return Err(refers("`.git` is no folder, as in a linked work tree or a submodule")),
    };
    // A folder with this name need not be of git.
    if kind(&git, "HEAD").is_none() || kind(&git, "objects").is_none() {
        return Ok(None);
    }
    for name in ["objects", "refs", "info", "logs", "modules"] {
        if kind(&git, name).is_some_and(|kind| kind != FileType::Directory) {
            return Err(refers(&format!("`.git/{name}` is no folder")));
        }
    }
    for name in ["commondir", "gitdir"] {
        if kind(&git, name).is_some() {
            return Err(refers(&format!("`.git/{name}`")));
        }
    }
    if kind(&git, "objects/info").is_some_and(|kind| kind != FileType::Directory) {
        return Err(refers("`.git/objects/info` is no folder"));
    }
    for name in ["objects/info/alternates", "objects/info/http-alternates"] {
        if kind(&git, name).is_some() {
            return Err(refers(&format!("`.git/{name}`")));
        }
    }
    let text = read_file(&git, "config")?;
    config::describe(&text).map(|described| Some(described.text))
}

/// What kind of file is at a path; links are not followed at its end.
fn kind(folder: impl AsFd, name: &str) -> Option<FileType> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Reads the configuration, which must be a plain file.
fn read_file(git: &OwnedFd, name: &str) -> Result<String> {
    let odd = || {
        Error::failed(format!("`.git/{name}` of this repository is no plain file of {} KB at most", config::MAX >> 10))
    };
    // Devices and pipes are not even opened.
    if kind(git, name) != Some(FileType::RegularFile) {
        return Err(odd());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(git, name, flags, Mode::empty()).map_err(|_| odd())?;
    let stat = fstat(&opened).map_err(|_| odd())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size > config::MAX as i64 {
        return Err(odd());
    }
    let mut text = String::new();
    File::from(opened).take(config::MAX as u64).read_to_string(&mut text).map_err(|_| odd())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, path::Path};

    fn look(folder: &Path) -> Result<Option<String>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        read_config(&rustix::fs::open(folder, flags, Mode::empty()).unwrap())
    }

    #[test]
    fn only_whole_repositories_are_used() {
        let folder = std::env::temp_dir().join(format!("hob-git-test-{}", tool::Id::new()));
        let git = folder.join(".git");
        let fresh = || {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(git.join("objects/info")).unwrap();
            fs::create_dir_all(git.join("refs")).unwrap();
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(git.join("config"), "[core]\n\tfsmonitor = x\n\tfilemode = true\n").unwrap();
        };
        fresh();
        let config = look(&folder).unwrap().unwrap();
        assert!(config.contains("filemode") && !config.contains("fsmonitor"), "{config}");
        type Trick = fn(&Path);
        let tricks: [(&str, Trick); 9] = [
            ("commondir", |git| fs::write(git.join("commondir"), "/elsewhere").unwrap()),
            ("alternates", |git| fs::write(git.join("objects/info/alternates"), "/elsewhere").unwrap()),
            ("http", |git| fs::write(git.join("objects/info/http-alternates"), "/elsewhere").unwrap()),
            ("objects/info", |git| {
                fs::remove_dir(git.join("objects/info")).unwrap();
                symlink("/elsewhere", git.join("objects/info")).unwrap();
            }),
            ("objects", |git| {
                fs::remove_dir_all(git.join("objects")).unwrap();
                symlink("/elsewhere", git.join("objects")).unwrap();
            }),
            ("refs", |git| {
                fs::remove_dir(git.join("refs")).unwrap();
                symlink("/elsewhere", git.join("refs")).unwrap();
            }),
            ("config", |git| {
                fs::remove_file(git.join("config")).unwrap();
                symlink("/etc/passwd", git.join("config")).unwrap();
            }),
            ("config", |git| {
                fs::remove_file(git.join("config")).unwrap();
                rustix::fs::mknodat(rustix::fs::CWD, git.join("config"), FileType::Fifo, Mode::RWXU, 0).unwrap();
            }),
            (".git", |git| {
                fs::remove_dir_all(git).unwrap();
                fs::write(git, "gitdir: /elsewhere\n").unwrap();
            }),
        ];
        for (name, trick) in tricks {
            fresh();
            trick(&git);
            let why = look(&folder).unwrap_err().to_string();
            assert!(why.contains(name), "{name}: {why}");
        }
        fs::remove_file(&git).unwrap();
        assert_eq!(look(&folder).unwrap(), None);
        fs::create_dir(&git).unwrap();
        assert_eq!(look(&folder).unwrap(), None, "an empty folder of that name");
        fs::remove_dir_all(&folder).unwrap();
    }
}
