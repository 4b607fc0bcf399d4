//! Copies of files and folders, and moves from one disk to another.

use crate::{
    Located, Shared, Workspaces,
    access::{finish, require_writable},
    entry::{Entry, EntryKind, kind_of, version_of},
    journal::Before,
    path::{DEEPEST, check_new_name},
    records::{HeldKind, Spot},
    resolve::{error, missing},
    staging::{Staged, held_name},
    step::Plan,
    tree::{self, Copying, MOST_COPIED, NotCopied},
};
use rustix::{
    fs::{Stat, fstat},
    io::Errno,
};
use std::{os::fd::OwnedFd, sync::Arc};
use tool::{Cx, Error, Label, Result};

impl Workspaces {
    /// Copies a file or folder; the copy has its marks. `overwrite` puts what is there into the trash.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` where something is there, or a folder would go into itself; `Denied`; `Unavailable` where the
    /// quota or disk is full.
    pub async fn copy(&self, cx: &Cx, from: &Located, to: &Located, overwrite: bool) -> Result<Entry> {
        require_writable(cx, to)?;
        let (shared, cx, from, to) = (self.0.clone(), cx.clone(), from.clone(), to.clone());
        finish(async move { shared.copy_to(&cx, &from, &to, overwrite).await }).await
    }
}

impl Shared {
    async fn copy_to(self: &Arc<Self>, cx: &Cx, from: &Located, to: &Located, overwrite: bool) -> Result<Entry> {
        let (source, there) = self.look(from, true).await?;
        let Some(stat) = there else { return Err(missing(&from.display())) };
        let mut target = to.clone();
        if self.has_folder(&target).await? {
            let name =
                source.name().ok_or_else(|| Error::bad_args("a whole place is not copied: name something in it"))?;
            target = target.join(name);
        }
        let is_within = target.place.key == source.place.key && target.path.is_in(&source.path);
        if is_within {
            let text =
                format!("`{}` cannot be copied into itself, or onto itself: choose another name", from.display());
            return Err(Error::bad_args(text));
        }
        target.name().map_or(Ok(()), check_new_name)?;
        let staged = self.stage_copy(cx, &source, &target).await?;
        let _changing = self.changes().await;
        if let Some(parent) = target.parent() {
            self.make_folders(cx, &parent).await?;
        }
        let (target, there) = self.look(&target, false).await?;
        if let Some(old) = &there {
            if !overwrite {
                return Err(error(Errno::EXIST, &target.display()));
            }
            self.put_away(cx, &target, old, HeldKind::Trash).await?;
        }
        let now = self.place_copy(cx, &source, &target, staged, &stat).await?;
        self.announce(cx, &target, "added");
        let label = self.label_of(cx, &target.place, &target.path, &now)?;
        Ok(Entry::new(target.name().unwrap_or_default(), target.path.text(), &now, label == Label::Outside))
    }

    /// Copies a tree to where it gets its name from.
    async fn stage_copy(self: &Arc<Self>, cx: &Cx, source: &Located, target: &Located) -> Result<Staged> {
        let (source, target, cancel) = (source.clone(), target.clone(), cx.cancel().clone());
        self.on_disk(move |shared| {
            let shown = source.display();
            let mut staged = shared.stage_tree(&target.place)?;
            let found = shared.root(&source.place)?.resolve(&source.path, false)?;
            if found.stat.is_some_and(|stat| kind_of(&stat) == EntryKind::File) {
                // The reasons why a file is not read are those of reading.
                found.open_file(&shown)?;
            }
            let how =
                Copying { denied: &source.place.denied, guard: &shared.guard, cancel: &cancel, most: staged.room()? };
            let copied = tree::copy(&found.folder, &found.name, staged.folder(), &held_name(staged.id), &how);
            let size = copied.map_err(|why| match why {
                NotCopied::Failed(e) => error(e, &shown),
                NotCopied::TooLarge => shared.full(&target.place),
                NotCopied::TooMany => {
                    Error::bad_args(format!("`{shown}` has more than {MOST_COPIED} files: copy its folders one by one"))
                }
                NotCopied::TooDeep => Error::bad_args(format!(
                    "`{shown}` has more than {DEEPEST} folders within one another, and no path leads to what is in the deeper ones: \
                     nothing was copied. Move these up by a program first"
                )),
                NotCopied::Linked(name) => Error::denied(format!(
                    "`{name}` in `{shown}` is a hard link, and its other names may be files of others: nothing was copied"
                )),
                NotCopied::Cancelled => Error::failed("the copy was cancelled"),
            })?;
            staged.set_size(size)?;
            staged.finish(None)?;
            Ok(staged)
        })
        .await
    }

    /// Gives a staged copy its name, with the marks of its source. The caller holds `changing`.
    async fn place_copy(
        self: &Arc<Self>,
        cx: &Cx,
        source: &Located,
        target: &Located,
        staged: Staged,
        of: &Stat,
    ) -> Result<Stat> {
        let held = Spot::held(&target.place, staged.id);
        // The marks of the source become those of the staged copy, and go with it.
        let marks = self.mark_tree(&source.place.key, &source.path.text())?;
        let label = self.stored_label(source, of)?;
        // What a program writes into it while it is copied is in the copy.
        let now = self.look(source, false).await.ok().and_then(|(_, now)| now);
        let now = now.filter(|stat| kind_of(stat) != EntryKind::Folder);
        let running = self.running_label(&source.place.key, &source.path.text(), now.as_ref())?;
        let rest = self.label_above(None, &source.place, &source.path)?;
        let (shared, from, to) = (self.clone(), Spot::at(&source.place, &source.path), held.clone());
        let vouched_for = label == Label::Own && rest != Label::Own;
        let rest = if vouched_for { Label::Own } else { rest }.max(running);
        let bad: Vec<_> = marks.into_iter().filter(|(_, mark)| mark.label != Label::Own).collect();
        if !bad.is_empty() || rest != Label::Own {
            let copy = move |tx: &store::Tx| crate::marks::copy(&shared.marks, tx, &bad, (&from, &to), rest);
            store::without_change(self.store.write(copy)).await?;
        }
        let plan = Plan {
            label: self.moved_label(cx, &source.place, &target.place),
            ..Plan::of((target.place.clone(), held), (target.place.clone(), Spot::at(&target.place, &target.path)))
        };
        let part = target.clone();
        let stat = self.apply(plan, move |stat| vec![Before::part(&part, None, &version_of(stat))]).await?;
        staged.place();
        Ok(stat)
    }

    /// Whether a move leads from one disk to another, so that it is a copy.
    pub(crate) async fn is_over_disks(self: &Arc<Self>, from: &Located, to: &Located) -> Result<bool> {
        let (from, to) = (from.clone(), to.clone());
        self.on_disk(move |shared| {
            // Of folders alone: some file systems show other devices for files.
            let device = |folder: &OwnedFd| fstat(folder).map(|stat| stat.st_dev).map_err(|e| error(e, &to.display()));
            let source = device(&shared.root(&from.place)?.resolve(&from.path, false)?.folder)?;
            let root = shared.root(&to.place)?;
            // The nearest folder above that exists is where it goes.
            let mut at = Some(to.path.clone());
            while let Some(path) = at {
                match root.resolve(&path, true) {
                    Ok(found) if found.stat.as_ref().is_some_and(|stat| kind_of(stat) == EntryKind::Folder) => {
                        return Ok(device(&found.open_folder(&to.display())?)? != source);
                    }
                    Ok(found) => return Ok(device(&found.folder)? != source),
                    Err(Error::NotFound(_)) => at = path.parent(),
                    Err(why) => return Err(why),
                }
            }
            Ok(false)
        })
        .await
    }

    /// Moves from one disk to another: the copy is whole before the original goes into its trash.
    pub(crate) async fn move_over_disks(
        self: &Arc<Self>,
        cx: &Cx,
        from: &Located,
        to: &Located,
        overwrite: bool,
    ) -> Result<Entry> {
        let entry = self.copy_to(cx, from, to, overwrite).await?;
        let _changing = self.changes().await;
        if let (source, Some(stat)) = self.look(from, false).await? {
            self.put_away(cx, &source, &stat, HeldKind::Trash).await?;
            self.announce(cx, from, "deleted");
        }
        Ok(entry)
    }
}
