//! The databases of agents, one for each agent and person: calls wait for each other, run on a thread of their own, and store each
//! commit in one write.

use crate::{
    Answer, Query, TableInfo, TableList,
    connection::SQL_BYTES,
    deadline::Deadline,
    error::{Error, Result, of_sqlite},
    foreign::{ForeignTables, Named, tables},
    guard::Guard,
    intent::{Intent, Words},
    page_file::{Commit, PAGE, PageChanges, PageFile},
    run::{SECONDS, Session, with_session},
    transfer,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc as replies,
    },
    thread,
    time::{Duration, Instant},
};
use store::{Collection, Entry, Key, Level, Listing, Record, Store};
use tokio::sync::{Mutex as Exclusive, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tool::{Cx, Id, Label, Scope};

/// How many calls run at once, on a thread each.
const THREADS: usize = 2;
/// How many calls wait at most, and how long.
const WAITING: usize = 32;
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a file may be checked and converted.
const IMPORT: Duration = Duration::from_secs(120);
/// The pages of an import in one commit.
const PIECE: usize = 500;
/// The most parameters of a call.
const PARAMS: usize = 10_000;

const DAMAGED_RECORD: &str =
    "the record of this database is damaged, so its data cannot be found: restore a backup with `hob restore FILE`";

/// The database of an agent for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Database {
    /// The pages in the store.
    pages: Id,
    /// Raised with each commit.
    version: u64,
    bytes: u64,
}

impl Record for Database {
    const NAME: &'static str = "sql-databases";
    const WORD: &'static str = "database";
    const LEVEL: Level = Level::AgentUser;
    fn keys(&self) -> Vec<Key> {
        vec![]
    }
}

/// What is known of all databases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// A text for each damaged database.
    pub problems: Vec<String>,
    /// How many could not be checked for lack of time.
    pub unchecked: usize,
    /// How many databases have pages and no record.
    pub orphans: usize,
}

/// What a check of a database found.
#[derive(Clone)]
enum Checkup {
    Sound,
    Damaged(String),
    TooSlow,
}

/// The right to import a file: one at a time, because each takes its size of the disk several times.
pub struct ImportPermit(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

/// What an import brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub tables: TableList,
    pub bytes: u64,
}

/// All databases; cheap to clone.
#[derive(Clone)]
pub struct Databases(Arc<Inner>);

struct Inner {
    store: Store,
    records: Collection<Database>,
    foreign: Arc<dyn ForeignTables>,
    locks: Mutex<HashMap<Scope, Arc<Exclusive<()>>>>,
    threads: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// One import at a time.
    importing: Arc<Semaphore>,
    /// What the last check found, with the version it looked at, by database.
    checked: Mutex<HashMap<Id, (u64, Checkup)>>,
    /// The database that was checked last.
    last_checked: Mutex<Option<Id>>,
}

/// The right to use a database: nobody else does meanwhile.
struct DatabasePermit {
    _own: OwnedMutexGuard<()>,
    _thread: OwnedSemaphorePermit,
}

/// Changed pages on their way from the thread of SQLite to the task of the call.
struct CommitRequest {
    changes: PageChanges,
    reply: replies::SyncSender<store::Result<()>>,
}

/// Tells the thread when the caller is gone.
struct Leaves(Arc<AtomicBool>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Databases {
    /// The databases in a store, with the tables that SQL may read beside them.
    pub fn new(store: &Store, foreign: Arc<dyn ForeignTables>) -> Self {
        Self(Arc::new(Inner {
            store: store.clone(),
            records: store.collection(),
            foreign,
            locks: Mutex::default(),
            threads: Arc::new(Semaphore::new(THREADS)),
            waiting: AtomicUsize::new(0),
            importing: Arc::new(Semaphore::new(1)),
            checked: Mutex::default(),
            last_checked: Mutex::default(),
        }))
    }

    /// Runs SQL on the caller's database, which is made with its first change.
    ///
    /// # Errors
    /// Those of the statements, with what to do; nothing is stored then, except what the caller committed before.
    pub async fn run(&self, cx: &Cx, source: &str, query: Query) -> Result<Answer> {
        if query.sql.len() > SQL_BYTES {
            let most = SQL_BYTES >> 10;
            return Err(Error::Sql(format!(
                "the SQL text is too long: {most} KB is the most; bind long values as parameters"
            )));
        }
        if query.params.len() > PARAMS {
            return Err(Error::Sql(format!("there are too many parameters: {PARAMS} is the most of one call")));
        }
        let words = Words::of(&query.sql);
        if words.begins_with("VACUUM") {
            return Err(Error::Refused(
                "VACUUM is not possible, and not needed: free pages are used again. To get a copy, export the database"
                    .into(),
            ));
        }
        let names = words.names();
        let mut named = self.0.foreign.list(cx)?;
        named.retain(|(table, _)| names.contains(&table.name.to_lowercase()));
        // SQL sees the columns without reading a row.
        named.iter().for_each(|(_, label)| cx.taint(*label));
        let named: Vec<_> = named.into_iter().map(|(table, _)| table).collect();
        let lower = named.iter().map(|table| table.name.to_lowercase()).collect();
        let guard = Guard::new(Intent::of(&query.sql), lower);
        let (here, caller) = (self.clone(), cx.clone());
        self.session(cx, source, guard, move |session| {
            let from = &*here.0.foreign;
            session.run(&query, Named { from, cx: &caller, tables: named, filled: BTreeSet::new() })
        })
        .await
    }

    /// The tables of the caller's database, and those that it can read beside them.
    ///
    /// # Errors
    /// As every read.
    pub async fn schema(&self, cx: &Cx) -> Result<(TableList, Vec<TableInfo>)> {
        let foreign = self.0.foreign.list(cx)?;
        foreign.iter().for_each(|(_, label)| cx.taint(*label));
        let foreign = foreign.into_iter().map(|(table, _)| table).collect();
        let guard = Guard::new(Intent::default(), BTreeSet::new());
        let own = self.session(cx, "db_schema", guard, |session| {
            session.guard.trusting(|| tables(session.connection)).map_err(|e| of_sqlite(&e))
        });
        Ok((own.await?, foreign))
    }

    fn scope(cx: &Cx) -> Scope {
        Scope::AgentUser(cx.agent(), cx.user())
    }

    /// The caller's database; taints the run with its label.
    fn find(&self, cx: &Cx) -> Result<Option<Entry<Database>>> {
        let found = self.0.records.list(cx, &Listing { limit: 1, ..Listing::default() })?.pop();
        self.whole(Self::scope(cx), found)
    }

    /// A damaged record must not count as none: a second one would hide the data.
    fn whole(&self, scope: Scope, found: Option<Entry<Database>>) -> Result<Option<Entry<Database>>> {
        if found.is_none() && !self.0.records.is_whole_in(scope)? {
            return Err(Error::Failed(DAMAGED_RECORD.into()));
        }
        Ok(found)
    }

    /// Waits until nobody uses the caller's database and a thread is free.
    async fn permit(&self, scope: Scope) -> Result<DatabasePermit> {
        let own = {
            let mut locks = self.0.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(scope).or_default().clone()
        };
        let busy = || Error::Busy("the database is busy with other calls: try again in a moment".into());
        if self.0.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING {
            self.0.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(busy());
        }
        let wait = async {
            let own = own.lock_owned().await;
            let thread = self.0.threads.clone().acquire_owned().await.map_err(|_| busy())?;
            Ok(DatabasePermit { _own: own, _thread: thread })
        };
        let _leaves = Waits(&self.0.waiting);
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| Err(busy()))
    }

    /// Runs `work` over the caller's database on a thread, and stores what it commits.
    async fn session<T: Send + 'static>(
        &self,
        cx: &Cx,
        source: &str,
        guard: Guard,
        work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permit(Self::scope(cx)).await?;
        let found = self.find(cx)?;
        let new = Database { pages: Id::new(), version: 0, bytes: 0 };
        let (id, mut now) = found.map_or((Id::new(), new), |found| (found.id, found.value));
        let (requests, mut inbox) = mpsc::channel::<CommitRequest>(1);
        let commit: Commit = Box::new(move |changes| {
            let gone = || store::Error::Io("the call was stopped before its changes were stored".into());
            let (reply, answer) = replies::sync_channel(1);
            requests.blocking_send(CommitRequest { changes, reply }).map_err(|_| gone())?;
            answer.recv().map_err(|_| gone())?
        });
        let gone = Arc::new(AtomicBool::new(false));
        let deadline = Deadline { at: Instant::now() + Duration::from_secs(SECONDS), gone: gone.clone() };
        let file = PageFile::new(&self.0.store, now.pages, commit);
        let (to, answer) = oneshot::channel();
        let started = thread::Builder::new().name("sql".into()).spawn(move || {
            let run = || with_session(file, &guard, &deadline, work);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            // Before the answer: the caller may end the process, or call again.
            drop(permit);
            let broke = || Err(Error::Failed("SQL broke inside; this is a fault of Hob, and the log has more".into()));
            drop(to.send(done.unwrap_or_else(|_| broke())));
        });
        started.map_err(|e| Error::Busy(format!("no thread could be started ({e}): try again in a moment")))?;
        let _leaves = Leaves(gone);
        while let Some(CommitRequest { changes, reply }) = inbox.recv().await {
            let stored = self.store_changes(cx, source, id, &mut now, changes).await;
            drop(reply.send(stored));
        }
        answer.await.unwrap_or_else(|_| Err(Error::Failed("SQL ended without an answer: try again".into())))
    }

    /// Stores the changes of one commit together with the record of the database.
    async fn store_changes(
        &self,
        cx: &Cx,
        source: &str,
        id: Id,
        now: &mut Database,
        changes: PageChanges,
    ) -> store::Result<()> {
        let mut next = Database { version: now.version + 1, ..now.clone() };
        let last = changes.pages.last_key_value().map(|(page, _)| u64::from(*page + 1) * PAGE as u64);
        next.bytes = changes.cut.map_or(next.bytes, |cut| u64::from(cut) * PAGE as u64).max(last.unwrap_or_default());
        let (records, stamp) = (self.0.records.clone(), self.0.records.stamp(cx, source));
        let (was, new) = (now.clone(), next.clone());
        let write = self.0.store.write(move |tx| {
            match records.read(tx, stamp.scope, id)? {
                Some(there) if there.value.pages == was.pages && there.value.version == was.version => {
                    records.change(tx, stamp.scope, stamp.label, id, &mut |database| {
                        *database = new.clone();
                        Ok(())
                    })?;
                }
                None if was.version == 0 => drop(records.put(tx, id, &stamp, &new)?),
                _ => {
                    let text = "the database was replaced meanwhile, so nothing was stored: try again";
                    return Err(store::Error::Conflict(text.into()));
                }
            }
            if let Some(cut) = changes.cut {
                tx.cut_pages(new.pages, cut)?;
            }
            changes.pages.iter().try_for_each(|(page, data)| tx.put_page(new.pages, *page, data))
        });
        write.await?;
        *now = next;
        Ok(())
    }

    /// Writes the caller's database into a new file that any program with SQLite opens; returns its size in bytes.
    ///
    /// # Errors
    /// `Missing` when there is none; `Failed` when the file cannot be written.
    pub async fn export(&self, cx: &Cx, file: PathBuf) -> Result<u64> {
        let permit = self.permit(Self::scope(cx)).await?;
        let Some(found) = self.find(cx)? else {
            return Err(Error::Missing("there is no database yet: it is made with its first table".into()));
        };
        let store = self.0.store.clone();
        let write = move || {
            let pages = store.pages(found.value.pages)?;
            // From here on it reads one state, whatever becomes of the database.
            drop(permit);
            transfer::write(&pages, &file)
        };
        let done = tokio::task::spawn_blocking(write).await;
        done.unwrap_or_else(|e| Err(Error::Failed(format!("the export stopped: {e}"))))
    }

    /// Takes the right to import a file, before it is written to the disk.
    ///
    /// # Errors
    /// `Busy` while another import runs.
    pub fn import_permit(&self) -> Result<ImportPermit> {
        let permit = self.0.importing.clone().try_acquire_owned();
        let busy = |_| Error::Busy("another database is being imported: try again in a moment".into());
        permit.map(ImportPermit).map_err(busy)
    }

    /// Replaces the caller's database by a file, which is checked first and whose header may be changed. All of it is replaced
    /// or nothing. The content counts as one from outside unless the person vouches for it.
    ///
    /// # Errors
    /// `Sql` when the file cannot be used; nothing is changed then.
    pub async fn import(
        &self,
        cx: &Cx,
        source: &str,
        file: PathBuf,
        (vouched, _alone): (bool, ImportPermit),
    ) -> Result<Imported> {
        let converted = file.with_extension(format!("{}.tmp", Id::new()));
        let pages = Id::new();
        let done = self.import_as(cx, source, pages, (file, &converted), vouched).await;
        let _ = std::fs::remove_file(&converted);
        if done.is_err() {
            // What is left now is removed at the next start.
            let _ = self.0.store.remove_pages(pages).await;
        }
        done
    }

    async fn import_as(
        &self,
        cx: &Cx,
        source: &str,
        pages: Id,
        (file, converted): (PathBuf, &Path),
        vouched: bool,
    ) -> Result<Imported> {
        let gone = Arc::new(AtomicBool::new(false));
        let deadline = Deadline { at: Instant::now() + IMPORT, gone: gone.clone() };
        let _leaves = Leaves(gone);
        let (to, until) = (converted.to_path_buf(), deadline.clone());
        let stopped = |e| Error::Failed(format!("the import stopped: {e}; nothing was changed"));
        tokio::task::spawn_blocking(move || transfer::convert(&file, &to, until)).await.map_err(stopped)??;
        let mut count = 0u32;
        for piece in transfer::pieces(converted, PIECE)? {
            let (piece, from) = (piece?, count);
            count += (piece.len() / PAGE) as u32;
            let write = self.0.store.write(move |tx| {
                let mut numbered = piece.chunks_exact(PAGE).zip(from..);
                numbered.try_for_each(|(data, page)| tx.put_page(pages, page, &data[..store::PAGE_BYTES]))
            });
            write.await?;
        }
        let tables = self.look(pages, deadline, |session| {
            quick_check(session)?;
            tables(session.connection).map_err(|e| of_sqlite(&e))
        });
        let tables = tables.await?;
        let old = self.switch(cx, source, (pages, u64::from(count) * PAGE as u64), vouched).await?;
        if let Some(old) = old
            && let Err(error) = self.0.store.remove_pages(old).await
        {
            tracing::warn!(%error, "the pages of a replaced database are removed at the next start");
        }
        Ok(Imported { tables, bytes: u64::from(count) * PAGE as u64 })
    }

    /// Makes pages those of the caller's database; returns the old ones.
    async fn switch(&self, cx: &Cx, source: &str, (pages, bytes): (Id, u64), vouched: bool) -> Result<Option<Id>> {
        let _permit = self.permit(Self::scope(cx)).await?;
        let label = if vouched { Label::Own } else { Label::Outside };
        let found = self.0.records.list_in(Self::scope(cx), &Listing { limit: 1, ..Listing::default() })?.pop();
        let found = self.whole(Self::scope(cx), found)?;
        let (records, mut stamp) = (self.0.records.clone(), self.0.records.stamp(cx, source));
        stamp.label = stamp.label.max(label);
        let id = found.as_ref().map_or_else(Id::new, |found| found.id);
        let write = self.0.store.write(move |tx| {
            let old = records.read(tx, stamp.scope, id)?.map(|old| old.value);
            let version = old.as_ref().map_or(0, |old| old.version) + 1;
            records.put(tx, id, &stamp, &Database { pages, version, bytes })?;
            Ok(old.map(|old| old.pages))
        });
        Ok(write.await?)
    }

    /// Runs `work`, which changes nothing, over pages on a thread where blocking is allowed.
    async fn look<T: Send + 'static>(
        &self,
        pages: Id,
        deadline: Deadline,
        work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let this = self.clone();
        let look = move || this.look_now(pages, &deadline, work);
        let done = tokio::task::spawn_blocking(look).await;
        done.unwrap_or_else(|e| Err(Error::Failed(format!("the check stopped: {e}"))))
    }

    fn look_now<T>(&self, pages: Id, deadline: &Deadline, work: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
        let refuse: Commit = Box::new(|_| Err(store::Error::Io("a check changes nothing".into())));
        let file = PageFile::new(&self.0.store, pages, refuse);
        let guard = Guard::default();
        with_session(file, &guard, deadline, |session| guard.trusting(|| work(session)))
    }

    /// Looks at databases that changed since the last time, as far as `within` allows, and goes on there the next time. Blocks.
    ///
    /// # Errors
    /// As every read of the store.
    pub fn check(&self, within: Duration) -> Result<Health> {
        let (until, mut all) = (Instant::now() + within, vec![]);
        self.0.records.scan(|found| all.push((found.value.pages, found.value.version)))?;
        let mut health = Health { orphans: self.orphans()?.len(), ..Health::default() };
        if self.records()? != all.len() as u64 {
            health.problems.push(DAMAGED_RECORD.into());
        }
        all.sort_unstable();
        let last = *self.0.last_checked.lock().unwrap_or_else(PoisonError::into_inner);
        let first = all.partition_point(|(pages, _)| last.is_some_and(|last| *pages <= last));
        all.rotate_left(first);
        for (pages, version) in all {
            let known = self.0.checked.lock().unwrap_or_else(PoisonError::into_inner).get(&pages).cloned();
            let known = known.filter(|known| known.0 == version).map(|(_, found)| found);
            let found = match known {
                Some(Checkup::TooSlow) | None if Instant::now() < until => {
                    let deadline = Deadline { at: until, gone: Arc::default() };
                    let found = match self.look_now(pages, &deadline, quick_check) {
                        Ok(()) => Checkup::Sound,
                        Err(Error::Busy(_)) => Checkup::TooSlow,
                        Err(error) => Checkup::Damaged(error.to_string()),
                    };
                    let mut checked = self.0.checked.lock().unwrap_or_else(PoisonError::into_inner);
                    checked.insert(pages, (version, found.clone()));
                    *self.0.last_checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(pages);
                    found
                }
                None => continue,
                Some(found) => found,
            };
            match found {
                Checkup::Sound => {}
                Checkup::Damaged(problem) => health.problems.push(problem),
                Checkup::TooSlow => health.unchecked += 1,
            }
        }
        Ok(health)
    }

    /// The number of records, with those that cannot be read.
    fn records(&self) -> Result<u64> {
        Ok(self.0.store.stats()?.records.get(Database::NAME).copied().unwrap_or_default())
    }

    /// Removes pages that belong to no database: of an import that a power cut ended, or of a replaced database.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn tidy(&self) -> Result<()> {
        for pages in self.orphans()? {
            self.0.store.remove_pages(pages).await?;
        }
        Ok(())
    }

    /// The pages that belong to no database. None while an import is under way, which removes those that it replaces.
    fn orphans(&self) -> Result<Vec<Id>> {
        let is_importing = || self.0.importing.available_permits() == 0;
        // Before the records: a new database has its record in the write of its first pages.
        let with_pages = if is_importing() { vec![] } else { self.0.store.databases_with_pages()? };
        let mut known = BTreeSet::new();
        self.0.records.scan(|found| {
            known.insert(found.value.pages);
        })?;
        if self.records()? != known.len() as u64 {
            tracing::warn!("the record of a database cannot be read: no pages are removed");
            return Ok(vec![]);
        }
        let orphans: Vec<Id> = with_pages.into_iter().filter(|pages| !known.contains(pages)).collect();
        if orphans.is_empty() || is_importing() {
            return Ok(vec![]);
        }
        // An import that is over has removed those of the database that it replaced.
        let now: BTreeSet<Id> = self.0.store.databases_with_pages()?.into_iter().collect();
        Ok(orphans.into_iter().filter(|pages| now.contains(pages)).collect())
    }
}

struct Waits<'w>(&'w AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn quick_check(session: &Session) -> Result<()> {
    let found: String =
        session.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(|e| of_sqlite(&e))?;
    if found == "ok" { Ok(()) } else { Err(Error::Failed(found)) }
}
