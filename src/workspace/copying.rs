//! Copies of files and folders, and moves from one disk to another.

use crate::{
    Located, Shared, Workspaces,
    change::{finish, require_writable},
    entry::{Entry, EntryKind, kind_of, version_of},
    path::check_new_name,
    records::{HeldKind, Spot},
    resolve::{error, missing},
    staging::{Staged, held_name},
    step::Plan,
    tree::{self, Copying, MOST_COPIED, NotCopied},
    undo::Before,
};
use rustix::{fs::Stat, io::Errno};
use std::{ffi::CString, sync::Arc};
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
        if let (_, Some(stat)) = self.look(&target, true).await?
            && kind_of(&stat) == EntryKind::Folder
        {
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
        let _changing = self.changing.lock().await;
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
        let label = self.label_of(cx, &target.place, &target.path, &version_of(&now))?;
        Ok(Entry::new(target.name().unwrap_or_default(), target.path.text(), &now, label == Label::Outside))
    }

    /// Copies a tree to where it gets its name from.
    async fn stage_copy(self: &Arc<Self>, cx: &Cx, source: &Located, target: &Located) -> Result<Staged> {
        let (source, target, cancel) = (source.clone(), target.clone(), cx.cancel().clone());
        self.on_disk(move |shared| {
            let shown = source.display();
            let mut staged = shared.stage_tree(&target.place)?;
            let found = shared.root(&source.place)?.resolve(&source.path, false)?;
            let name = CString::new(found.name.clone()).map_err(|_| missing(&shown))?;
            if found.stat.is_some_and(|stat| kind_of(&stat) == EntryKind::File) {
                // The reasons why a file is not read are those of reading.
                found.open_file(&shown)?;
            }
            let how =
                Copying { denied: &source.place.denied, guard: &shared.guard, cancel: &cancel, most: staged.room() };
            let copied = tree::copy(&found.folder, &name, staged.folder(), &held_name(staged.id), &how);
            let size = copied.map_err(|why| match why {
                NotCopied::Failed(e) => error(e, &shown),
                NotCopied::TooLarge => shared.full(&target.place),
                NotCopied::TooMany => {
                    Error::bad_args(format!("`{shown}` has more than {MOST_COPIED} files: copy its folders one by one"))
                }
                NotCopied::Cancelled => Error::failed("the copy was cancelled"),
            })?;
            staged.set_size(size);
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
        let label = self.stored_label(source, &version_of(of))?;
        let rest = self.label_above(None, &source.place, &source.path)?;
        let (shared, from, to) = (self.clone(), Spot::at(&source.place, &source.path), held.clone());
        let vouched_for = label == Label::Own && rest != Label::Own;
        let rest = if vouched_for { Label::Own } else { rest };
        let bad: Vec<_> = marks.into_iter().filter(|(_, mark)| mark.label != Label::Own).collect();
        if !bad.is_empty() || rest != Label::Own {
            let copy = move |tx: &store::Tx| crate::marks::copy(&shared.marks, tx, &bad, (&from, &to), rest);
            store::without_change(self.store.write(copy)).await?;
        }
        let plan = Plan {
            label: self.written_label(cx, &target.place),
            ..Plan::of((target.place.clone(), held), (target.place.clone(), Spot::at(&target.place, &target.path)))
        };
        let part = target.clone();
        let stat = self.apply(plan, move |stat| vec![Before::part(&part, None, &version_of(stat))]).await?;
        staged.place();
        Ok(stat)
    }

    /// Moves from one disk to another: the copy is whole before the original goes into its trash. The caller holds `changing`.
    pub(crate) async fn move_over_disks(
        self: &Arc<Self>,
        cx: &Cx,
        source: &Located,
        target: &Located,
        stat: &Stat,
    ) -> Result<Stat> {
        let staged = self.stage_copy(cx, source, target).await?;
        let now = self.place_copy(cx, source, target, staged, stat).await?;
        self.put_away(cx, source, stat, HeldKind::Trash).await?;
        Ok(now)
    }
}
