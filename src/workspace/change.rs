//! Changes of files and folders by people and tools: write, make, move, delete, vouch.

use crate::{
    Located, Shared, Workspaces,
    access::{finish, require_writable},
    entry::{Entry, EntryKind, kind_of, version_of},
    journal::{Before, spot},
    marks,
    path::check_new_name,
    records::{HeldKind, HeldRecord, MarkRecord, Spot},
    resolve::{error, missing},
    staging::Staged,
    step::Plan,
};
use rustix::{
    fs::{Mode, Stat, mkdirat},
    io::Errno,
};
use serde::Serialize;
use std::sync::Arc;
use store::Tx;
use tool::{
    Cx, Error, Id, Label, Result,
    prelude::{JsonSchema, json, schemars},
};

/// What must be there for a write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expect {
    /// Anything, or nothing.
    #[default]
    Any,
    /// Nothing.
    Absent,
    /// Some version.
    Present,
    /// This version.
    Version(String),
}

/// How a file is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// What must be there.
    pub expect: Expect,
    /// Whether folders that are missing are made.
    pub parents: bool,
    /// Whether the new content has some of the old in it, whose label it then has too.
    pub keeps_content: bool,
    /// A label beside that of the run: [`Label::Outside`] for a download or an upload.
    pub label: Label,
    /// Permissions of a new file; those of the old one stay by default.
    pub mode: Option<u32>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    #[serde(flatten)]
    pub entry: Entry,
    /// Whether there was no such file before.
    pub created: bool,
}

impl Workspaces {
    /// Writes a file at once: readers see the old content or the new. What was there can be brought back.
    ///
    /// # Errors
    /// `BadArgs` where `expect` is not so, or a folder stands there; `Denied`; `Unavailable` where the quota or disk is full.
    pub async fn write(&self, cx: &Cx, located: &Located, content: Vec<u8>, options: WriteOptions) -> Result<Written> {
        let staged = self.stage(cx, located).await?;
        let staged = staged.receive(content.into()).await?;
        self.write_staged(cx, located, staged, options).await
    }

    /// The same with content that was received before; see [`Workspaces::stage`].
    ///
    /// # Errors
    /// As [`Workspaces::write`].
    pub async fn write_staged(
        &self,
        cx: &Cx,
        located: &Located,
        staged: Staged,
        options: WriteOptions,
    ) -> Result<Written> {
        require_writable(cx, located)?;
        let (shared, cx, located) = (self.0.clone(), cx.clone(), located.clone());
        finish(async move { shared.write_staged(&cx, &located, staged, options).await }).await
    }

    /// Makes a folder, and those above it; `false` where it is there already.
    ///
    /// # Errors
    /// `BadArgs` where a file stands there; `Denied`.
    pub async fn create_folder(&self, cx: &Cx, located: &Located) -> Result<(Entry, bool)> {
        require_writable(cx, located)?;
        let (shared, cx, located) = (self.0.clone(), cx.clone(), located.clone());
        finish(async move {
            let _changing = shared.changes().await;
            let made = shared.make_folders(&cx, &located).await?;
            let entry = shared.on_disk({
                let (cx, located) = (cx.clone(), located.clone());
                move |shared| shared.stat(&cx, &located)
            });
            let entry = entry.await?;
            if made {
                shared.announce(&cx, &located, "added");
            }
            Ok((entry, made))
        })
        .await
    }

    /// Moves or renames a file or folder. `overwrite` puts what is there into the trash.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where something is there, or a folder would go into itself; `Denied`.
    pub async fn move_to(&self, cx: &Cx, from: &Located, to: &Located, overwrite: bool) -> Result<Entry> {
        require_writable(cx, from)?;
        require_writable(cx, to)?;
        let (shared, cx, from, to) = (self.0.clone(), cx.clone(), from.clone(), to.clone());
        finish(async move { shared.move_to(&cx, &from, &to, overwrite).await }).await
    }

    /// A person has looked at a file and vouches for it: it counts as the household's own until it changes. For a folder, the
    /// marks of all that is in it go.
    ///
    /// # Errors
    /// `NotFound`; `Denied` to anybody but a person.
    pub async fn vouch(&self, cx: &Cx, located: &Located) -> Result<Entry> {
        require_writable(cx, located)?;
        if !cx.is_in_person() || cx.is_by_voice() {
            return Err(Error::denied("only a person vouches for a file, on the page"));
        }
        let (shared, cx, located) = (self.0.clone(), cx.clone(), located.clone());
        finish(async move { shared.vouch(&cx, &located).await }).await
    }
}

impl Shared {
    pub(crate) async fn on_disk<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Shared>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|e| Err(Error::failed(format!("the disk could not be used: {e}"))))
    }

    pub(crate) fn announce(&self, cx: &Cx, located: &Located, change: &str) {
        let to = (!located.place.shared).then(|| cx.user());
        let data = json!({"place": located.place.id, "path": located.path.text(), "change": change});
        cx.ports().bus.publish("workspace:changed", to, data);
    }

    /// What is at a path, with its last name as it is there; a link at the end of a file that is written is followed.
    pub(crate) async fn look(self: &Arc<Self>, located: &Located, follow: bool) -> Result<(Located, Option<Stat>)> {
        let located = located.clone();
        self.on_disk(move |shared| {
            let found = shared.root(&located.place)?.resolve(&located.path, follow)?;
            Ok((located.at(found.path), found.stat))
        })
        .await
    }

    /// Whether a folder is at a path. Nothing is where its own folder is missing.
    pub(crate) async fn has_folder(self: &Arc<Self>, located: &Located) -> Result<bool> {
        match self.look(located, true).await {
            Ok((_, there)) => Ok(there.is_some_and(|stat| kind_of(&stat) == EntryKind::Folder)),
            Err(Error::NotFound(_)) => Ok(false),
            Err(why) => Err(why),
        }
    }

    async fn write_staged(
        self: &Arc<Self>,
        cx: &Cx,
        asked: &Located,
        staged: Staged,
        options: WriteOptions,
    ) -> Result<Written> {
        let _changing = self.changes().await;
        let asked = asked.clone();
        if asked.path.is_root() {
            return Err(Error::bad_args(format!("`{}` is a folder: name a file in it", asked.display())));
        }
        if options.parents
            && let Some(parent) = asked.parent()
        {
            self.make_folders(cx, &parent).await?;
        }
        let (located, there) = self.look(&asked, true).await?;
        check_expected(&asked, there.as_ref(), &options.expect)?;
        if there.is_none() {
            located.name().map_or(Ok(()), check_new_name)?;
        }
        let (mode, id, size) =
            (options.mode.or(there.as_ref().map(|stat| stat.st_mode & 0o777)), staged.id, staged.size());
        let staged = self
            .on_disk(move |_| {
                let mut staged = staged;
                staged.finish(mode)?;
                Ok(staged)
            })
            .await?;
        let mut label = self.written_label(cx, &located.place).max(options.label);
        if let Some(stat) = &there
            && options.keeps_content
        {
            label = label.max(self.stored_label(&located, stat)?);
        }
        let held = there
            .as_ref()
            .map(|stat| (id, self.held_record(cx, &located, HeldKind::Version, stat, crate::entry::size_of(stat))));
        let plan = Plan {
            exchange: there.is_some(),
            held,
            label,
            ..Plan::of(
                (located.place.clone(), Spot::held(&located.place, id)),
                (located.place.clone(), Spot::at(&located.place, &located.path)),
            )
        };
        let (part, created) = (located.clone(), there.is_none());
        let stat = self
            .apply(plan, move |stat| {
                vec![Before::part(&part, (!created).then_some(Before::Held(id)), &version_of(stat))]
            })
            .await?;
        debug_assert_eq!(size, crate::entry::size_of(&stat));
        staged.place();
        self.announce(cx, &asked, if created { "added" } else { "changed" });
        let name = asked.name().unwrap_or_default();
        let outside = self.label_of(cx, &located.place, &located.path, &stat)? == Label::Outside;
        Ok(Written { entry: Entry::new(name, asked.path.text(), &stat, outside), created })
    }

    /// The label of a file as it is stored, with the words of every member.
    pub(crate) fn stored_label(&self, located: &Located, stat: &Stat) -> Result<Label> {
        let (running, version) =
            (self.running_label(&located.place.key, &located.path.text(), Some(stat))?, version_of(stat));
        let mut label = self.label_above(None, &located.place, &located.path)?.max(running);
        for (_, mark) in self.mark_tree(&located.place.key, &located.path.text())? {
            if mark.path == located.path.text() {
                if mark.label == Label::Own && mark.version == version {
                    return Ok(running);
                }
                label = label.max(mark.stored_label());
            }
        }
        Ok(label)
    }

    pub(crate) fn held_record(&self, cx: &Cx, located: &Located, kind: HeldKind, stat: &Stat, size: u64) -> HeldRecord {
        HeldRecord {
            place: located.place.key.clone(),
            path: located.path.text(),
            kind,
            is_folder: kind_of(stat) == EntryKind::Folder,
            size,
            at_ms: Id::now_ms(),
            by: cx.user(),
        }
    }

    /// Makes a folder and those above it; `false` where it was there. The caller holds `changing`.
    pub(crate) async fn make_folders(self: &Arc<Self>, cx: &Cx, located: &Located) -> Result<bool> {
        let asked = located.clone();
        let made = self.on_disk(move |shared| {
            let root = shared.root(&asked.place)?;
            let (mut made, mut path) = (vec![], crate::RelPath::default());
            for name in asked.path.names() {
                path = path.join(name);
                let found = root.resolve(&path, true)?;
                match found.stat {
                    Some(stat) if kind_of(&stat) == EntryKind::Folder => {}
                    Some(_) => {
                        return Err(Error::bad_args(format!(
                            "`{}` is a file and no folder: choose another name",
                            path.text()
                        )));
                    }
                    None => {
                        check_new_name(name)?;
                        match mkdirat(&found.folder, &found.name, Mode::from_raw_mode(0o755)) {
                            Ok(()) => made.push(found.path.clone()),
                            Err(Errno::EXIST) => {}
                            Err(e) => return Err(error(e, &path.text())),
                        }
                        crate::staging::sync_folder(&found.folder).map_err(|e| error(e, &path.text()))?;
                    }
                }
                // Links are followed here once, so that the next name is looked for where they lead.
                path = found.path;
            }
            let mut parts = vec![];
            for path in made {
                let stat = root.resolve(&path, false)?.stat.ok_or_else(|| missing(&path.text()))?;
                parts.push(Before::made_folder(&asked.at(path), &version_of(&stat)));
            }
            Ok(parts)
        });
        let parts = made.await?;
        if parts.is_empty() {
            return Ok(false);
        }
        parts.iter().filter_map(spot).for_each(|(place, path)| self.programs.touch(place, path));
        // A name may be words of somebody too.
        let label = self.written_label(cx, &located.place);
        let (shared, place, path) = (self.clone(), located.place.key.clone(), located.path.text());
        let note = move |tx: &Tx| {
            marks::worsen(&shared.marks, tx, &place, &path, label)?;
            parts.iter().for_each(|part| tx.note_outside(part.clone()));
            Ok(())
        };
        self.store.write(note).await?;
        Ok(true)
    }

    async fn move_to(self: &Arc<Self>, cx: &Cx, from: &Located, to: &Located, overwrite: bool) -> Result<Entry> {
        if let (_, Some(stat)) = self.look(from, false).await? {
            self.refuse_around_data(&stat, &from.display())?;
        }
        if self.is_over_disks(from, to).await? {
            return self.move_over_disks(cx, from, to, overwrite).await;
        }
        let _changing = self.changes().await;
        let ((source, there), mut target) = (self.look(from, false).await?, to.clone());
        if there.is_none() {
            return Err(missing(&from.display()));
        }
        if source.path.is_root() {
            return Err(Error::bad_args("a place itself cannot be moved: name something in it"));
        }
        // Into a folder under its own name, as `mv` does.
        if self.has_folder(&target).await? && !(overwrite && target.name() == source.name()) {
            target = target.join(source.name().unwrap_or_default());
        }
        if let Some(parent) = target.parent() {
            self.make_folders(cx, &parent).await?;
        }
        let (target, there) = self.look(&target, false).await?;
        if target.place.key == source.place.key && target.path.is_in(&source.path) {
            let text = format!("`{}` cannot be moved into itself, or onto itself: choose another name", from.display());
            return Err(Error::bad_args(text));
        }
        target.name().map_or(Ok(()), check_new_name)?;
        if let Some(old) = &there {
            if !overwrite {
                return Err(error(Errno::EXIST, &target.display()));
            }
            self.put_away(cx, &target, old, HeldKind::Trash).await?;
        }
        let plan = Plan {
            label: self.moved_label(cx, &source.place, &target.place),
            ..Plan::of(
                (source.place.clone(), Spot::at(&source.place, &source.path)),
                (target.place.clone(), Spot::at(&target.place, &target.path)),
            )
        };
        let (before, part) =
            (Before::Moved { place: source.place.key.clone(), path: source.path.text() }, target.clone());
        let stat = self.apply(plan, move |stat| vec![Before::part(&part, Some(before), &version_of(stat))]).await?;
        if source.place.key != target.place.key {
            self.usage.forget(&source.place.key);
            self.usage.forget(&target.place.key);
        }
        self.announce(cx, from, "deleted");
        self.announce(cx, &target, "added");
        let outside = self.label_of(cx, &target.place, &target.path, &stat)? == Label::Outside;
        Ok(Entry::new(target.name().unwrap_or_default(), target.path.text(), &stat, outside))
    }

    async fn vouch(self: &Arc<Self>, cx: &Cx, asked: &Located) -> Result<Entry> {
        let _changing = self.changes().await;
        let (located, there) = self.look(asked, true).await?;
        let Some(stat) = there else { return Err(missing(&asked.display())) };
        let stale = self.mark_tree(&located.place.key, &located.path.text())?;
        let is_folder = kind_of(&stat) == EntryKind::Folder;
        let mut mark = MarkRecord::new(&located.place.key, &located.path.text(), Label::Own);
        mark.version = version_of(&stat);
        let above = self.label_above(None, &located.place, &located.path)?;
        if is_folder && above != Label::Own {
            let text = "all that is in its folder counts as from outside: vouch for that folder, or have an admin trust the place";
            return Err(Error::bad_args(text));
        }
        let shared = self.clone();
        let vouch = move |tx: &Tx| {
            marks::remove(&shared.marks, tx, &stale)?;
            if above != Label::Own && !is_folder { marks::put(&shared.marks, tx, None, &mark) } else { Ok(()) }
        };
        self.store.write(vouch).await?;
        self.announce(cx, asked, "changed");
        Ok(Entry::new(asked.name().unwrap_or_default(), asked.path.text(), &stat, false))
    }
}

fn check_expected(located: &Located, there: Option<&Stat>, expect: &Expect) -> Result<()> {
    let shown = located.display();
    let now = there.map(version_of);
    match (expect, there) {
        (_, Some(stat)) if kind_of(stat) != EntryKind::File => {
            let what = if kind_of(stat) == EntryKind::Folder { "a folder" } else { "no plain file" };
            Err(Error::bad_args(format!("`{shown}` is {what}: choose another name")))
        }
        (Expect::Absent, Some(_)) => {
            Err(Error::bad_args(format!("`{shown}` exists already: choose another name, or change it")))
        }
        (Expect::Version(_) | Expect::Present, None) => {
            Err(Error::bad_args(format!("`{shown}` was deleted or moved meanwhile: write it again as a new file")))
        }
        (Expect::Version(version), Some(_)) if now.as_ref() != Some(version) => Err(Error::bad_args(format!(
            "`{shown}` was changed meanwhile: read it again, and make the change in what is there now"
        ))),
        _ => Ok(()),
    }
}
