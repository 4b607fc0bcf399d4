//! A disk for tests: it keeps what was synced, and at a power cut drops, tears and reorders the rest, sector by sector.

use crate::{
    medium::{Backend, Medium},
    meta,
};
use redb::{Database, StorageBackend};
use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

const SECTOR: usize = 512;
/// redb's own header: it relies on a sector being written whole.
const HEADER_SECTORS: u64 = 8;

/// Random numbers from a seed.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    /// The content as programs see it.
    now: Vec<u8>,
    unsynced: Vec<Change>,
}

enum Change {
    Write(usize, Vec<u8>),
    Len(usize),
}

struct State {
    dice: Dice,
    files: BTreeMap<&'static str, File>,
    /// How many writes and syncs are left before the power cut.
    until_cut: Option<u64>,
    off: bool,
    /// The sizes of a new log and of one that has grown.
    log_sizes: (u64, u64),
    /// The most bytes of the data file.
    room: usize,
    /// How many of the next syncs of the log fail; what they should have synced is lost, although programs see it.
    failing_syncs: u32,
    /// The same for the data file, and whether the disk has all the same what they should have synced.
    failing_data_syncs: Range<u32>,
    data_syncs: u32,
    late: bool,
    /// Whether all writes are refused.
    read_only: bool,
    /// The block of the log that can be neither read nor written.
    bad_block: Option<usize>,
    /// Syncs so far.
    syncs: u64,
}

/// A disk with a data file and perhaps a log.
#[derive(Clone)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Write,
    Sync,
}

impl SimDisk {
    /// A disk with a new data file, and a log of one size.
    pub fn new(seed: u64, log_size: u64) -> Self {
        Self::with_log(seed, (log_size, log_size))
    }

    /// A disk with a new data file, and a log that grows at its first checkpoint.
    pub fn with_log(seed: u64, log_sizes: (u64, u64)) -> Self {
        let files = BTreeMap::from([(DATA, File::default())]);
        let state = State {
            dice: Dice(seed),
            files,
            until_cut: None,
            off: false,
            log_sizes,
            room: usize::MAX,
            failing_syncs: 0,
            failing_data_syncs: 0..0,
            data_syncs: 0,
            late: false,
            read_only: false,
            bad_block: None,
            syncs: 0,
        };
        let disk = Self(Arc::new(Mutex::new(state)));
        let db = Database::builder().create_with_backend(Handle { disk: disk.clone(), name: DATA }).unwrap();
        meta::found(&db).unwrap();
        drop(db);
        disk.power_cut();
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Cuts the power after this many writes and syncs.
    pub fn cut_after(&self, ops: u64) {
        self.state().until_cut = Some(ops);
    }

    pub fn is_off(&self) -> bool {
        self.state().off
    }

    pub fn set_room(&self, bytes: usize) {
        self.state().room = bytes;
    }

    pub fn fail_syncs_of_the_log(&self, count: u32) {
        self.state().failing_syncs = count;
    }

    /// Of the next syncs of the data file, those of these numbers fail. With `late` the disk has all the same what they should
    /// have synced.
    pub fn fail_syncs_of_the_data(&self, numbers: Range<u32>, late: bool) {
        let mut state = self.state();
        (state.failing_data_syncs, state.data_syncs, state.late) = (numbers, 0, late);
    }

    pub fn set_read_only(&self, read_only: bool) {
        self.state().read_only = read_only;
    }

    pub fn set_bad_block(&self, block: Option<usize>) {
        self.state().bad_block = block;
    }

    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The bytes of the data file.
    pub fn data_len(&self) -> usize {
        self.state().files[DATA].now.len()
    }

    /// The log as programs see it; `None` when there is none.
    pub fn log_bytes(&self) -> Option<Vec<u8>> {
        self.state().files.get(LOG).map(|log| log.now.clone())
    }

    /// Replaces the log; `None` removes it.
    pub fn set_log(&self, bytes: Option<Vec<u8>>) {
        let mut state = self.state();
        match bytes {
            Some(bytes) => drop(state.files.insert(LOG, File { synced: bytes.clone(), now: bytes, unsynced: vec![] })),
            None => drop(state.files.remove(LOG)),
        }
    }

    /// A copy of the disk as it is.
    pub fn copy(&self) -> Self {
        let state = self.state();
        let copied = |file: &File| File { synced: file.now.clone(), now: file.now.clone(), unsynced: vec![] };
        let files = state.files.iter().map(|(name, file)| (*name, copied(file))).collect();
        let failing_data_syncs = state.failing_data_syncs.clone();
        Self(Arc::new(Mutex::new(State {
            dice: Dice(1),
            files,
            until_cut: None,
            off: false,
            failing_data_syncs,
            ..*state
        })))
    }

    /// Ends the program alone: the system still has all that was written, and a power cut may yet take it.
    pub fn kill(&self) {
        let mut state = self.state();
        (state.off, state.until_cut) = (false, None);
    }

    /// Leaves the disk as a power cut does, and turns the power on again.
    pub fn power_cut(&self) {
        let mut state = self.state();
        let State { dice, files, .. } = &mut *state;
        for (name, file) in files.iter_mut() {
            file.synced = survivors(dice, file, *name == DATA);
            file.now = file.synced.clone();
            file.unsynced.clear();
        }
        (state.off, state.until_cut) = (false, None);
    }
}

/// Of each sector, one of the contents it had since the last sync, or garbage where it was being written.
fn survivors(dice: &mut Dice, file: &File, is_data: bool) -> Vec<u8> {
    let mut lengths = vec![file.synced.len()];
    let mut versions = BTreeMap::<u64, Vec<[u8; SECTOR]>>::new();
    for change in &file.unsynced {
        let (at, bytes) = match change {
            Change::Len(len) => {
                lengths.push(*len);
                continue;
            }
            Change::Write(at, bytes) => (*at, bytes),
        };
        let mut done = 0;
        while done < bytes.len() {
            let (sector, within) = ((at + done) / SECTOR, (at + done) % SECTOR);
            let part = (SECTOR - within).min(bytes.len() - done);
            let all = versions.entry(sector as u64).or_insert_with(|| {
                let mut old = [0; SECTOR];
                let there = file.synced.get(sector * SECTOR..).unwrap_or_default();
                let length = there.len().min(SECTOR);
                old[..length].copy_from_slice(&there[..length]);
                vec![old]
            });
            let mut new = all[all.len() - 1];
            new[within..within + part].copy_from_slice(&bytes[done..done + part]);
            all.push(new);
            done += part;
        }
    }
    let length = lengths[dice.roll(lengths.len() as u64) as usize];
    let mut left = file.synced.clone();
    left.resize(length, 0);
    // In most cuts many sectors got there, or few; each alone would hardly ever make a whole record.
    let luck = dice.roll(5);
    for (sector, all) in versions {
        let chosen = match dice.roll(4) {
            n if n < luck => all[all.len() - 1],
            _ => all[dice.roll(all.len() as u64) as usize],
        };
        let from = sector as usize * SECTOR;
        let Some(room) = left.get_mut(from..) else { continue };
        let part = room.len().min(SECTOR);
        room[..part].copy_from_slice(&chosen[..part]);
        if luck < 4 && dice.roll(16) == 0 && !(is_data && sector < HEADER_SECTORS) {
            room[..part].iter_mut().for_each(|byte| *byte = dice.roll(256) as u8);
        }
    }
    left
}

/// Makes changes to the bytes of a file.
fn apply(bytes: &mut Vec<u8>, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Len(len) => bytes.resize(*len, 0),
            Change::Write(at, data) => {
                if bytes.len() < at + data.len() {
                    bytes.resize(at + data.len(), 0);
                }
                bytes[*at..at + data.len()].copy_from_slice(data);
            }
        }
    }
}

impl State {
    fn check_block(&self, name: &str, from: usize, length: usize) -> io::Result<()> {
        let bad = self.bad_block.filter(|block| name == LOG && from <= block * 4096 && block * 4096 < from + length);
        if bad.is_some() { Err(io::Error::other("this block cannot be read")) } else { Ok(()) }
    }

    fn op(&mut self, op: Op) -> io::Result<()> {
        if self.read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        if self.off {
            return Err(io::Error::other("the power is off"));
        }
        if let Some(left) = &mut self.until_cut {
            *left = left.saturating_sub(1);
            self.off = *left == 0;
        }
        // A write on its way when the power goes may get there in part; a sync has then not happened.
        if self.off && op == Op::Sync { Err(io::Error::other("the power went")) } else { Ok(()) }
    }
}

const DATA: &str = "data";
const LOG: &str = "log";

/// A file of the disk.
#[derive(Clone)]
struct Handle {
    disk: SimDisk,
    name: &'static str,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Handle {
    fn with<T>(&self, f: impl FnOnce(&mut State, &'static str) -> io::Result<T>) -> io::Result<T> {
        f(&mut self.disk.state(), self.name)
    }
}

fn file<'s>(state: &'s mut State, name: &str) -> io::Result<&'s mut File> {
    state.files.get_mut(name).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl StorageBackend for Handle {
    fn len(&self) -> io::Result<u64> {
        self.with(|state, name| Ok(file(state, name)?.now.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|state, name| {
            if state.off {
                return Err(io::Error::other("the power is off"));
            }
            let from = offset as usize;
            state.check_block(name, from, out.len())?;
            let there = file(state, name)?.now.get(from..from + out.len());
            out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state, name| {
            state.op(Op::Write)?;
            if len as usize > state.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let file = file(state, name)?;
            let before = file.now.len();
            file.now.resize(len as usize, 0);
            file.unsynced.push(Change::Len(len as usize));
            // Bytes beyond the old end are zeros, also where an earlier end was cut off.
            if len as usize > before && file.synced.len() > before {
                file.unsynced.push(Change::Write(before, vec![0; len as usize - before]));
            }
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state, name| {
            state.op(Op::Sync)?;
            state.syncs += 1;
            if name == LOG && state.failing_syncs > 0 {
                state.failing_syncs -= 1;
                file(state, name)?.unsynced.clear();
                return Err(io::Error::other("the disk failed"));
            }
            let fails = name == DATA && state.failing_data_syncs.contains(&state.data_syncs);
            state.data_syncs += u32::from(name == DATA);
            let late = state.late;
            let file = file(state, name)?;
            if fails && !late {
                file.unsynced.clear();
            }
            let unsynced = std::mem::take(&mut file.unsynced);
            apply(&mut file.synced, &unsynced);
            if fails { Err(io::Error::other("the disk failed")) } else { Ok(()) }
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|state, name| {
            state.op(Op::Write)?;
            let from = offset as usize;
            state.check_block(name, from, data.len())?;
            let file = file(state, name)?;
            let there = file.now.get_mut(from..from + data.len());
            there.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
            file.unsynced.push(Change::Write(from, data.to_vec()));
            Ok(())
        })
    }
}

impl Medium for SimDisk {
    fn data(&self) -> Result<Backend, redb::DatabaseError> {
        Ok(Box::new(Handle { disk: self.clone(), name: DATA }))
    }

    fn forget_cached(&self) {
        for file in self.state().files.values_mut() {
            file.now = file.synced.clone();
            apply(&mut file.now, &file.unsynced);
        }
    }

    fn log(&self) -> io::Result<Option<Backend>> {
        let there = self.state().files.contains_key(LOG);
        Ok(there.then(|| Box::new(Handle { disk: self.clone(), name: LOG }) as Backend))
    }

    fn make_log(&self, first: &[u8]) -> io::Result<Backend> {
        let mut state = self.state();
        let made = state.op(Op::Write);
        // It is renamed into place, so it is there whole or not at all.
        if made.is_ok() && (!state.off || state.dice.roll(2) == 0) {
            let mut bytes = first.to_vec();
            bytes.resize(state.log_sizes.0 as usize, 0);
            state.files.insert(LOG, File { synced: bytes.clone(), now: bytes, unsynced: vec![] });
            // Another file, elsewhere on the disk.
            state.bad_block = None;
        }
        made.map(|()| Box::new(Handle { disk: self.clone(), name: LOG }) as Backend)
    }

    fn new_log_size(&self) -> u64 {
        self.state().log_sizes.0
    }

    fn log_size(&self) -> u64 {
        self.state().log_sizes.1
    }

    fn path(&self) -> Option<&Path> {
        Some(Path::new("the simulated disk"))
    }
}
