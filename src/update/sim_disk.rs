//! A disk for tests: it has what was synced, and at a power cut drops and tears the rest, sector by sector.

use crate::disk::{Disk, DiskFile, Mode};
use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const SECTOR: usize = 512;

#[derive(Clone, Default)]
struct File {
    synced: Vec<u8>,
    /// The content as programs see it.
    now: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone)]
enum Name {
    Link(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

type Names = BTreeMap<PathBuf, usize>;

#[derive(Default)]
struct State {
    dice: u64,
    files: Vec<File>,
    names: Names,
    synced_names: Names,
    unsynced_names: Vec<Name>,
    /// Steps until the power cut.
    left: Option<u64>,
    off: bool,
    steps: u64,
    /// Folders and files that were written to, for tests that expect none.
    written: Vec<PathBuf>,
}

/// The disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimDisk")
    }
}

fn apply(names: &mut Names, change: &Name) {
    match change {
        Name::Link(path, file) => drop(names.insert(path.clone(), *file)),
        Name::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Name::Remove(path) => drop(names.remove(path)),
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    let length = bytes.len().max(offset + new.len());
    bytes.resize(length, 0);
    bytes[offset..offset + new.len()].copy_from_slice(new);
}

impl State {
    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.dice >> 33) % sides
    }

    /// Counts a step; the last one before the cut takes effect in memory and fails.
    fn step(&mut self, path: &Path) -> io::Result<()> {
        self.is_on()?;
        self.steps += 1;
        if self.written.last().is_none_or(|last| last != path) {
            self.written.push(path.to_owned());
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            self.off = *left == 0;
        }
        Ok(())
    }

    fn is_on(&self) -> io::Result<()> {
        match self.off {
            true => Err(io::Error::other("the power is off")),
            false => Ok(()),
        }
    }
}

impl SimDisk {
    /// A disk with files that are synced.
    pub fn with(files: &[(&str, &[u8])]) -> Self {
        let disk = Self::default();
        let mut state = disk.state();
        for (path, bytes) in files {
            let file = state.files.len();
            state.files.push(File { synced: bytes.to_vec(), now: bytes.to_vec(), unsynced: vec![] });
            state.names.insert(path.into(), file);
            state.synced_names.insert(path.into(), file);
        }
        drop(state);
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the power at the step with this number, counted from one.
    pub fn cut_at(&self, step: u64) {
        self.state().left = Some(step);
    }

    /// Whether the power was cut.
    pub fn is_off(&self) -> bool {
        self.state().off
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    /// Paths written to so far.
    pub fn written(&self) -> Vec<PathBuf> {
        self.state().written.clone()
    }

    /// Content of a file as programs see it.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(Path::new(path)).map(|file| state.files[*file].now.clone())
    }

    /// Replaces a file.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        let mut state = self.state();
        let file = state.files.len();
        state.files.push(File { synced: bytes.to_vec(), now: bytes.to_vec(), unsynced: vec![] });
        state.names.insert(path.into(), file);
        state.synced_names.insert(path.into(), file);
    }

    /// The disk after the power came back: of what was not synced, some is there and some is not.
    pub fn after_cut(&self, seed: u64) -> Self {
        let mut state = self.state();
        state.dice = seed;
        let mut names = state.synced_names.clone();
        let unsynced = state.unsynced_names.len() as u64;
        let survive = state.roll(unsynced + 1) as usize;
        for change in &state.unsynced_names[..survive] {
            apply(&mut names, change);
        }
        let mut files = vec![];
        for at in 0..state.files.len() {
            let File { mut synced, unsynced, .. } = state.files[at].clone();
            for change in unsynced {
                match change {
                    Change::Length(length) => {
                        if state.roll(2) == 0 {
                            synced.resize(length, 0);
                        }
                    }
                    Change::Write(offset, bytes) => {
                        let mut done = 0;
                        while done < bytes.len() {
                            let until = (SECTOR - (offset + done) % SECTOR).min(bytes.len() - done);
                            if state.roll(2) == 0 {
                                write(&mut synced, offset + done, &bytes[done..done + until]);
                            }
                            done += until;
                        }
                    }
                }
            }
            files.push(File { now: synced.clone(), synced, unsynced: vec![] });
        }
        Self(Arc::new(Mutex::new(State { files, names: names.clone(), synced_names: names, ..State::default() })))
    }
}

struct SimFile {
    disk: SimDisk,
    file: usize,
    path: PathBuf,
}

impl DiskFile for SimFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        state.is_on()?;
        let rest = state.files[self.file].now.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step(&self.path)?;
        let file = &mut state.files[self.file];
        write(&mut file.now, offset as usize, bytes);
        file.unsynced.push(Change::Write(offset as usize, bytes.to_vec()));
        state.is_on()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step(&self.path)?;
        let file = &mut state.files[self.file];
        file.now.resize(length as usize, 0);
        file.unsynced.push(Change::Length(length as usize));
        state.is_on()
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.disk.state();
        state.is_on()?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step(&self.path)?;
        state.is_on()?;
        let file = &mut state.files[self.file];
        file.synced = file.now.clone();
        file.unsynced.clear();
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        state.is_on()?;
        let file = match (state.names.get(path).copied(), mode) {
            (Some(file), _) => file,
            (None, Mode::Create | Mode::CreateProgram) => {
                state.step(path)?;
                let file = state.files.len();
                state.files.push(File::default());
                state.names.insert(path.to_owned(), file);
                state.unsynced_names.push(Name::Link(path.to_owned(), file));
                state.is_on()?;
                file
            }
            (None, Mode::Read | Mode::Write) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Box::new(SimFile { disk: self.clone(), file, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step(to)?;
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let change = Name::Rename(from.to_owned(), to.to_owned());
        apply(&mut state.names, &change);
        state.unsynced_names.push(change);
        state.is_on()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.is_on()?;
        if state.names.contains_key(path) {
            state.step(path)?;
            let change = Name::Remove(path.to_owned());
            apply(&mut state.names, &change);
            state.unsynced_names.push(change);
        }
        state.is_on()
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        self.state().is_on()
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step(path)?;
        state.is_on()?;
        let is_inside = |change: &Name| {
            let (Name::Link(of, _) | Name::Rename(_, of) | Name::Remove(of)) = change;
            of.parent() == Some(path)
        };
        let (synced, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.unsynced_names).into_iter().partition(is_inside);
        for change in &synced {
            apply(&mut state.synced_names, change);
        }
        state.unsynced_names = left;
        Ok(())
    }

    fn free_space(&self, _folder: &Path) -> io::Result<u64> {
        Ok(1 << 40)
    }
}
