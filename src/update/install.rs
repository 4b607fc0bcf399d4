//! The engine of installations: receives a bundle, fills the other slot, tries it, and commits or falls back.

use crate::{
    bundle::{self, Head},
    disk::Disk,
    error::{Error, Result},
    journal::{Journal, JournalFile, Outcome, Phase, Release},
    keys::{Keyring, Origin},
    manifest::{Device, Payload},
    recover,
    slots::{Restart, SlotKind, SlotManifest, SlotName, Slots},
    upload::{Plan, Progress, SharedProgress, Upload},
};
use semver::Version;
use serde::Serialize;
use std::{
    io::{self, Read},
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

/// The most channels whose serials are stored.
const MAX_CHANNELS: usize = 8;

/// The settings of an updater.
#[derive(Clone)]
pub struct Config {
    /// The folder of the journal and of the head of an upload.
    pub state: PathBuf,
    /// The trusted keys, but for an announced one, which the journal has.
    pub keys: Keyring,
    /// This device.
    pub device: Device,
}

/// A slot for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotStatus {
    /// The slot.
    pub slot: SlotName,
    /// Its version.
    pub version: String,
    /// Its serial.
    pub serial: u64,
    /// Whether it is a whole system.
    pub system: bool,
}

/// The state of the updater.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `idle`, `writing`, `staged`, `trying`, `committed` or `failed`.
    pub state: &'static str,
    /// The release that state is about.
    pub release: Option<Release>,
    /// The version that runs.
    pub running: SlotStatus,
    /// Whether this start is a trial that waits for `confirm`.
    pub trial: bool,
    /// The complete version in the other slot.
    pub other: Option<SlotStatus>,
    /// How the slots work.
    pub kind: SlotKind,
    /// The board.
    pub board: String,
    /// The lowest serial that may be installed.
    pub floor: u64,
    /// How far the upload has come, while one is open.
    pub progress: Option<Progress>,
    /// The end of the last installation.
    pub last_outcome: Option<Outcome>,
}

/// The file of the head of an open upload, in the state folder.
const HEAD_FILE: &str = "incoming.head";

/// Installs bundles. All methods block on the disk: call them on a blocking thread.
pub struct Updater {
    slots: Arc<dyn Slots>,
    disk: Arc<dyn Disk>,
    config: Config,
    file: JournalFile,
    /// Locked while a step of an installation runs, which may take minutes. Locked before the journal.
    upload: Mutex<Option<Upload>>,
    /// Locked for a moment at a time.
    journal: Mutex<Journal>,
    progress: SharedProgress,
    /// Names this start of the machine, or of the program where a supervisor starts it: a trial is one such attempt.
    attempt: String,
}

/// The name of this start. Unknown it is empty, and equal to none.
fn this_attempt(kind: SlotKind) -> String {
    match kind {
        SlotKind::Dir => {
            static ATTEMPT: LazyLock<String> = LazyLock::new(|| {
                let mut bytes = [0; 16];
                let random = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
                random.map_or_else(|_| String::new(), |()| format!("{:032x}", u128::from_le_bytes(bytes)))
            });
            ATTEMPT.clone()
        }
        SlotKind::Uboot | SlotKind::PiTryboot => {
            let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
            id.trim().to_owned()
        }
    }
}

fn trying() -> Error {
    Error::Busy("a new version is being tried: confirm it or roll back, then install".into())
}

impl Updater {
    /// Opens the journal and brings it in line with the slots: after a fallback it says why, after a cut commit it says committed.
    ///
    /// # Errors
    /// `Disk`.
    pub fn open(disk: Arc<dyn Disk>, slots: Arc<dyn Slots>, config: Config) -> Result<Self> {
        let attempt = this_attempt(slots.kind());
        Self::open_in(disk, slots, config, attempt)
    }

    /// As [`Updater::open`], in an attempt of this name.
    pub(crate) fn open_in(disk: Arc<dyn Disk>, slots: Arc<dyn Slots>, config: Config, attempt: String) -> Result<Self> {
        let file = JournalFile::new(disk.clone(), &config.state)?;
        let running = slots.running()?;
        let loaded = file.load()?;
        let known = loaded.is_some();
        let mut journal = loaded.unwrap_or_default();
        if !known {
            // Without a journal the floor is the version that starts by default.
            journal.floor = slots.manifest(slots.active()?)?.map_or(0, |about| about.serial);
        }
        if slots.manifest(running.slot)?.is_none() {
            // A machine that was flashed: its first version is a way back as well.
            slots.describe(running.slot, &SlotManifest::of_version(config.device.version.clone()))?;
        }
        let before = journal.clone();
        recover::settle(&*slots, running, &mut journal, &attempt)?;
        if !known || journal != before {
            file.save(&journal)?;
        }
        if !matches!(journal.phase, Phase::Trying(_)) && slots.next_trial()?.is_some() {
            slots.set_trial(None)?;
        }
        let (upload, journal, progress) = (Mutex::default(), Mutex::new(journal), SharedProgress::default());
        Ok(Self { slots, disk, config, file, upload, journal, progress, attempt })
    }

    fn upload(&self) -> MutexGuard<'_, Option<Upload>> {
        self.upload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        self.journal().phase.clone()
    }

    /// Changes the journal, on the disk first.
    fn change(&self, change: impl FnOnce(&mut Journal)) -> Result<()> {
        let mut current = self.journal();
        let mut journal = current.clone();
        change(&mut journal);
        self.file.save(&journal)?;
        *current = journal;
        Ok(())
    }

    /// Closes the upload that is open.
    fn close(&self, upload: &mut Option<Upload>) {
        *upload = None;
        self.progress.set(None);
    }

    fn head_file(&self) -> PathBuf {
        self.config.state.join(HEAD_FILE)
    }

    /// The trusted keys, an announced one included.
    pub fn keys(&self) -> Keyring {
        self.config.keys.with_announced(self.journal().announced_key.as_deref())
    }

    /// This device.
    pub fn device(&self) -> &Device {
        &self.config.device
    }

    /// The payload that the slots take.
    pub fn payload(&self) -> Payload {
        self.slots.payload()
    }

    /// The serial of the running version, or the floor where that is higher.
    ///
    /// # Errors
    /// `Disk`.
    pub fn newest_serial(&self) -> Result<u64> {
        let running = self.slots.manifest(self.slots.running()?.slot)?.map_or(0, |about| about.serial);
        Ok(running.max(self.journal().floor))
    }

    /// The running version, or the one below which nothing is installed where that is higher. A version that was flashed or came in
    /// a package has no serial: its version says what is newer.
    ///
    /// # Errors
    /// `Disk`.
    pub fn newest_version(&self) -> Result<Version> {
        let about = self.slots.manifest(self.slots.running()?.slot)?;
        let running = about.map_or_else(|| self.config.device.version.clone(), |about| about.version);
        Ok(self.journal().floor_version.iter().fold(running, |newest, floor| newest.max(floor.clone())))
    }

    /// The highest serial seen of the channel at a URL.
    pub fn channel_serial(&self, url: &str) -> u64 {
        self.journal().channel_serials.get(url).copied().unwrap_or_default()
    }

    /// Notes a channel's serial, so that no older file of it is taken.
    ///
    /// # Errors
    /// `Disk`.
    pub fn note_channel_serial(&self, url: &str, serial: u64) -> Result<()> {
        if self.journal().channel_serials.get(url).is_some_and(|known| *known >= serial) {
            return Ok(());
        }
        self.change(|journal| {
            // A device follows one channel; a few more may have been configured before it.
            while journal.channel_serials.len() >= MAX_CHANNELS && !journal.channel_serials.contains_key(url) {
                journal.channel_serials.pop_first();
            }
            journal.channel_serials.insert(url.to_owned(), serial);
        })
    }

    /// The state for people and programs.
    ///
    /// # Errors
    /// `Disk`.
    pub fn status(&self) -> Result<Status> {
        let running = self.slots.running()?;
        let describe = |slot, about: &SlotManifest| SlotStatus {
            slot,
            version: about.version.to_string(),
            serial: about.serial,
            system: self.slots.payload() == Payload::System,
        };
        let own = SlotManifest::of_version(self.config.device.version.clone());
        let about = self.slots.manifest(running.slot)?.unwrap_or(own);
        let other = self.slots.manifest(running.slot.other())?;
        let journal = self.journal().clone();
        Ok(Status {
            state: journal.phase.name(),
            release: journal.phase.release().cloned(),
            running: describe(running.slot, &about),
            trial: running.trial,
            other: other.map(|about| describe(running.slot.other(), &about)),
            kind: self.slots.kind(),
            board: self.config.device.board.clone(),
            floor: journal.floor,
            progress: self.progress.get(),
            last_outcome: journal.outcome,
        })
    }

    /// Whether the phase lets a new installation begin.
    ///
    /// # Errors
    /// `Busy` with the reason: a version is being tried.
    pub fn can_install(&self) -> Result<()> {
        match self.phase() {
            Phase::Trying(_) => Err(trying()),
            _ => Ok(()),
        }
    }

    /// Verifies the head of a bundle and answers what is needed of it. Begun again with the same head it resumes, also after a
    /// restart; another head replaces an unfinished upload. Reads the whole running slot.
    ///
    /// # Errors
    /// `Refused` before anything is written; `Busy` while a version is being tried.
    pub fn begin(&self, head: &[u8]) -> Result<Plan> {
        let keys = self.keys();
        let mut open = self.upload();
        if let Some(upload) = open.as_ref().filter(|upload| upload.head.id == bundle::head_id(head)) {
            return Ok(upload.plan());
        }
        let phase = self.phase();
        if matches!(phase, Phase::Trying(_)) {
            return Err(trying());
        }
        let verified = self.examine(head, &keys)?;
        let manifest = &verified.manifest;
        let running = self.slots.running()?;
        let release = Release {
            id: verified.id.clone(),
            version: manifest.version.clone(),
            serial: manifest.serial,
            slot: running.slot.other(),
            next_key: manifest.next_key.clone(),
            by_announced: verified.signer.origin == Origin::Announced,
        };
        if phase == Phase::Staged(release.clone()) {
            return Ok(Plan {
                id: release.id,
                version: release.version.to_string(),
                notes: manifest.notes.clone(),
                needed: vec![],
                needed_bytes: 0,
                total_bytes: manifest.bundle_length,
            });
        }
        if !self.slots.keeps_old_image() {
            // Whether it fits is known before the slot is given up.
            for image in &manifest.images {
                self.slots.writer(release.slot, &image.name, image.length)?;
            }
        }
        self.close(&mut open);
        let failed = |why: io::Error| Error::disk("the bundle's head cannot be written", &why);
        self.disk.replace(&self.head_file(), head).map_err(failed)?;
        self.change(|journal| journal.phase = Phase::Writing(release.clone()))?;
        let opened = self.open_upload(verified, release.slot);
        if let Err(Error::Refused(_)) = &opened {
            // It does not fit: nothing was written.
            self.change(|journal| journal.phase = Phase::Idle)?;
        }
        let upload = opened?;
        let plan = upload.plan();
        *open = Some(upload);
        Ok(plan)
    }

    /// Verifies the head of a bundle, and that it fits this device. Writes nothing.
    fn examine(&self, head: &[u8], keys: &Keyring) -> Result<Head> {
        let verified = Head::read(head, keys)?;
        let manifest = &verified.manifest;
        manifest.check_device(&self.config.device, self.slots.payload(), self.journal().floor)?;
        let running = self.slots.running()?;
        if self.slots.manifest(running.slot)?.is_some_and(|about| about.id == verified.id) {
            return Err(Error::Refused(format!(
                "version {} is running already: there is nothing to do",
                manifest.version
            )));
        }
        let floor = self.journal().floor_version.clone();
        if let Some(floor) = floor.filter(|floor| manifest.version < *floor) {
            return Err(Error::Refused(format!(
                "version {} is older than {floor}, which a package brought and which was confirmed here: get a newer bundle; to go \
                 back to the version before, use rollback",
                manifest.version
            )));
        }
        Ok(verified)
    }

    /// As [`Self::begin`] up to the point where it would write.
    ///
    /// # Errors
    /// `Refused`.
    pub fn verify(&self, head: &[u8]) -> Result<Head> {
        self.examine(head, &self.keys())
    }

    fn open_upload(&self, head: Head, slot: SlotName) -> Result<Upload> {
        self.slots.invalidate(slot)?;
        Upload::open(&*self.slots, head, slot.other(), self.progress.clone())
    }

    /// The upload that is open; after a restart it is opened again.
    fn with_upload<T>(&self, id: &str, act: impl FnOnce(&mut Upload) -> Result<T>) -> Result<T> {
        let none = || Error::NotFound("this upload is not open: begin again with the head of the bundle".into());
        let mut open = self.upload();
        if open.is_none() {
            let release = match self.phase() {
                Phase::Writing(release) if release.id == id => release,
                _ => return Err(none()),
            };
            let failed = |why: io::Error| Error::disk("the bundle's head cannot be read", &why);
            let head = self.disk.read(&self.head_file(), bundle::MAX_HEAD as u64).map_err(failed)?.ok_or_else(none)?;
            let head = Head::read(&head, &self.keys())?;
            if head.id != id {
                return Err(none());
            }
            *open = Some(self.open_upload(head, release.slot)?);
        }
        match open.as_mut().filter(|upload| upload.head.id == id) {
            Some(upload) => act(upload),
            None => Err(none()),
        }
    }

    /// The upload that is open, and what it still needs.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn plan(&self, id: &str) -> Result<Plan> {
        self.with_upload(id, |upload| Ok(upload.plan()))
    }

    /// Takes bytes of a needed range, from its begin or where the last piece ended; verifies each chunk and writes it.
    ///
    /// # Errors
    /// `BadRequest` at a wrong offset or beyond what is needed, `Refused` for wrong bytes, `NotFound`, `Disk`.
    pub fn put(&self, id: &str, offset: u64, bytes: &[u8]) -> Result<Progress> {
        self.with_upload(id, |upload| {
            upload.put(offset, bytes)?;
            Ok(upload.progress())
        })
    }

    /// Gives up an upload or a staged version.
    ///
    /// # Errors
    /// `NotFound`; `Busy` while it is being tried.
    pub fn discard(&self, id: &str) -> Result<()> {
        self.discard_from(&mut self.upload(), id)
    }

    fn discard_from(&self, open: &mut Option<Upload>, id: &str) -> Result<()> {
        let phase = self.phase();
        let is_complete = matches!(phase, Phase::Staged(_));
        let release = match phase {
            Phase::Writing(release) | Phase::Staged(release) if release.id == id => release,
            Phase::Trying(release) if release.id == id => return Err(trying()),
            _ => return Err(Error::NotFound("there is no such upload: it is finished or was given up".into())),
        };
        self.close(open);
        self.slots.discard(release.slot, is_complete)?;
        self.change(|journal| {
            journal.phase = Phase::Idle;
            journal.outcome = recover::outcome("cancelled", "The installation was cancelled.", &release.version);
        })?;
        self.disk.remove(&self.head_file()).map_err(|why| Error::disk("the bundle's head cannot be removed", &why))
    }

    /// Copies what is on the device already, reads the slot back, and declares it complete.
    ///
    /// # Errors
    /// `Busy` while bytes are missing; `Disk`, also when the slot reads back wrong.
    pub fn stage(&self, id: &str) -> Result<Release> {
        if let Phase::Staged(release) = self.phase()
            && release.id == id
        {
            return Ok(release);
        }
        self.with_upload(id, |upload| {
            upload.complete()?;
            let manifest = upload.head.manifest.clone();
            let (version, serial) = (manifest.version.clone(), manifest.serial);
            let about = SlotManifest { version, serial, id: id.to_owned(), bundle: Some(manifest) };
            self.slots.finish(upload.slot, &about)?;
            self.change(|journal| {
                if let Phase::Writing(release) = &journal.phase {
                    journal.phase = Phase::Staged(release.clone());
                }
            })
        })?;
        let mut open = self.upload();
        let release = match self.phase() {
            Phase::Staged(release) if release.id == id => release,
            _ => return Err(Error::Busy("the upload was replaced meanwhile: begin again".into())),
        };
        self.close(&mut open);
        let _ = self.disk.remove(&self.head_file());
        Ok(release)
    }

    /// Makes the next start try the staged version. The caller then restarts as returned.
    ///
    /// # Errors
    /// `Busy` when nothing is staged.
    pub fn try_staged(&self) -> Result<Restart> {
        let _open = self.upload();
        let release = match self.phase() {
            Phase::Staged(release) => release,
            Phase::Trying(_) => return Err(trying()),
            _ => return Err(Error::Busy("no version is ready to be tried: install a bundle first".into())),
        };
        let staged = self.slots.manifest(release.slot)?;
        if staged.is_none_or(|about| about.id != release.id) {
            return Err(Error::Disk(format!("slot {} lost its content: install the bundle again", release.slot)));
        }
        self.change(|journal| {
            journal.phase = Phase::Trying(release.clone());
            journal.trial_began = 0;
            journal.outcome = None;
        })?;
        if let Err(why) = self.slots.set_trial(Some(release.slot)) {
            self.change(|journal| journal.phase = Phase::Staged(release))?;
            return Err(why);
        }
        Ok(self.slots.restart(true))
    }

    /// The release whose trial is this start.
    fn trial(&self) -> Result<Release> {
        let running = self.slots.running()?;
        match self.phase() {
            Phase::Trying(release) if running.trial && running.slot == release.slot => Ok(release),
            Phase::Trying(release) => {
                Err(Error::Busy(format!("version {} was not started yet: restart, then confirm it", release.version)))
            }
            _ => Err(Error::Busy("no version is being tried: there is nothing to confirm".into())),
        }
    }

    /// Commits the version on trial: it starts by default from now on, and the floor rises to its serial.
    ///
    /// # Errors
    /// `Busy` when no trial runs.
    pub fn confirm(&self) -> Result<Release> {
        let _open = self.upload();
        let release = self.trial()?;
        let before = self.slots.manifest(release.slot.other())?;
        self.slots.commit(release.slot)?;
        self.change(|journal| recover::committed(journal, release.clone(), before))?;
        Ok(release)
    }

    /// Ends the trial that runs with a reason. The caller then restarts as returned, into the old version.
    ///
    /// # Errors
    /// `Busy` when no trial runs.
    pub fn fail(&self, why: &str) -> Result<Restart> {
        let _open = self.upload();
        self.end_trial(why)
    }

    fn end_trial(&self, why: &str) -> Result<Restart> {
        let release = self.trial()?;
        self.change(|journal| {
            journal.outcome = recover::tried_outcome(why, &release.version);
            journal.phase = Phase::Failed(release);
            journal.failed_in = self.attempt.clone();
            journal.replaced = None;
        })?;
        Ok(self.slots.restart(false))
    }

    /// The restart that a failed trial is still waiting for: this start should not go on.
    ///
    /// # Errors
    /// `Disk`.
    pub fn pending_fallback(&self) -> Result<Option<Restart>> {
        let running = self.slots.running()?;
        let journal = self.journal().clone();
        let failed = matches!(journal.phase, Phase::Failed(release) if release.slot == running.slot);
        let is_now = !self.attempt.is_empty() && journal.failed_in == self.attempt;
        Ok((failed && running.trial && is_now).then(|| self.slots.restart(false)))
    }

    /// Goes back by hand: ends a trial, or makes the other slot's complete version the active one. The caller then restarts.
    ///
    /// # Errors
    /// `NotFound` when the other slot has no complete version; `Busy` when its version was never confirmed.
    pub fn rollback(&self) -> Result<Restart> {
        let mut open = self.upload();
        let running = self.slots.running()?;
        let phase = self.phase();
        if matches!(phase, Phase::Trying(_)) && running.trial {
            return self.end_trial("A person went back to the version before.");
        }
        let target = running.slot.other();
        let about = self.slots.manifest(target)?;
        let about =
            about.ok_or_else(|| Error::NotFound("the other slot has no complete version to go back to".into()))?;
        let previous = self.journal().previous.clone();
        if previous.is_none_or(|previous| (&previous.id, &previous.version) != (&about.id, &about.version)) {
            return Err(Error::Busy(format!(
                "the other slot has version {}, which was never confirmed here: there is no earlier version to go back to",
                about.version
            )));
        }
        let left = self.slots.manifest(running.slot)?;
        if let Phase::Writing(release) = phase {
            self.discard_from(&mut open, &release.id)?;
        }
        self.change(|journal| journal.going_back = true)?;
        if let Err(why) = self.slots.commit(target) {
            let _ = self.change(|journal| journal.going_back = false);
            return Err(why);
        }
        self.change(|journal| recover::rolled_back(journal, &about.version, left))?;
        Ok(self.slots.restart(false))
    }
}
