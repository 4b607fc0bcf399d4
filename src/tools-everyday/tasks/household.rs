//! Which list a name means, who sees it, and the lists there are. Lists with a name belong to the household unless somebody
//! made theirs private; a list that was begun before lists were shared stays as it is.

use super::record::{Task, on_lists};
use records::{RecordStore, untainted};
use serde::{Deserialize, Serialize};
use store::{Audience, Collection, Entry, Key, Level, Record, Tx, Visit, Walk, order};
use tool::{Cx, Error, Id, Result, Scope, UserId};

/// The most items that one change of a list reaches.
const ITEMS: usize = 2000;
const BY_NAME: u8 = 1;

/// A list of one person that others do not see. Lists without such a mark are the household's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PrivateList {
    name: String,
}

impl Record for PrivateList {
    const NAME: &'static str = "private-lists";
    const WORD: &'static str = "private list";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_NAME, order::text(&self.name))]
    }
}

pub(super) fn marks(tasks: &RecordStore<Task>) -> Collection<PrivateList> {
    tasks.records().store().collection()
}

/// Within a write: marks a list as private, or removes the mark.
pub(super) fn mark(
    tx: &Tx,
    marks: &Collection<PrivateList>,
    user: UserId,
    list: &str,
    private: bool,
) -> store::Result<()> {
    let scope = Scope::User(user);
    let found = marks.find(tx, scope, BY_NAME, &order::text(list))?;
    if !private {
        return found.iter().try_for_each(|mark| marks.remove(tx, scope, mark.id).map(drop));
    }
    if found.is_empty() {
        let stamp = store::Stamp {
            scope,
            owner: user,
            audience: Audience::Private,
            label: tool::Label::Own,
            source: "share_list".into(),
        };
        marks.put(tx, Id::new(), &stamp, &PrivateList { name: list.to_owned() })?;
    }
    Ok(())
}

fn is_marked(tasks: &RecordStore<Task>, cx: &Cx, list: &str) -> Result<bool> {
    let walk = Walk::prefix(BY_NAME, order::text(list));
    Ok(!marks(tasks).walk_in(Scope::User(cx.user()), &walk, |_| Visit::Yes)?.is_empty())
}

/// The visibility of items added to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sharing {
    pub shared: bool,
    /// Whether there was nothing on the list.
    pub is_new: bool,
    /// Whether it is private only because it was so before lists were shared: a mark keeps it so when it is emptied.
    pub unmarked: bool,
}

/// The visibility of an item this person adds to a list: their choice for the list, else that of their items on it, else shared.
pub(super) fn sharing(tasks: &RecordStore<Task>, cx: &Cx, list: &str) -> Result<Sharing> {
    if is_marked(tasks, cx, list)? {
        return Ok(Sharing { shared: false, is_new: false, unmarked: false });
    }
    let (mut is_new, mut own, mut shared, mut seen) = (true, false, false, 0);
    tasks.records().walk(&untainted(cx), &on_lists(Some(list)), |entry| {
        (is_new, seen) = (false, seen + 1);
        if entry.owner == cx.user() {
            own = true;
            shared |= entry.audience == Audience::Household;
        }
        if shared || seen > ITEMS { Visit::Stop } else { Visit::No }
    })?;
    Ok(Sharing { shared: shared || !own, is_new, unmarked: own && !shared })
}

/// The name of a list without what people say around it: `shopping` for "our shopping list".
fn bare(name: &str) -> &str {
    let mut name = name.trim();
    let cut = |name: &str, word: &str| {
        name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)).then_some(word.len())
    };
    for word in ["the ", "my ", "our ", "a "] {
        if let Some(at) = cut(name, word) {
            name = name[at..].trim_start();
            break;
        }
    }
    let end = name.len().saturating_sub(" list".len());
    match name.get(end..) {
        Some(last) if end > 0 && last.eq_ignore_ascii_case(" list") => name[..end].trim_end(),
        _ => name,
    }
}

/// The list that a name means: one with exactly this name, else the one without the words around it.
pub(super) fn canonical(tasks: &RecordStore<Task>, cx: &Cx, name: &str) -> Result<String> {
    let stripped = bare(name);
    let there = |name: &str| -> Result<Option<String>> {
        let mut found = None;
        tasks.records().walk(&untainted(cx), &on_lists(Some(name)), |entry| {
            found.clone_from(&entry.value.category);
            Visit::Stop
        })?;
        Ok(found)
    };
    if stripped == name.trim() {
        return Ok(stripped.to_owned());
    }
    match there(name.trim())? {
        Some(_) => Ok(name.trim().to_owned()),
        None => Ok(stripped.to_owned()),
    }
}

/// The items of a list that this caller sees, open ones first.
pub(super) fn items(tasks: &RecordStore<Task>, cx: &Cx, list: &str) -> Result<Vec<Entry<Task>>> {
    let mut count = 0;
    let found = tasks.records().walk(cx, &on_lists(Some(list)), |_| {
        count += 1;
        if count > ITEMS { Visit::Stop } else { Visit::Yes }
    })?;
    if count > ITEMS {
        return Err(Error::bad_args(format!("this list has more than {ITEMS} items: delete some of them first")));
    }
    Ok(found)
}

/// The items of a list that must exist.
pub(super) fn existing(tasks: &RecordStore<Task>, cx: &Cx, given: &str) -> Result<(String, Vec<Entry<Task>>)> {
    let list = canonical(tasks, cx, given)?;
    let found = items(tasks, cx, &list)?;
    let name = found.first().and_then(|entry| entry.value.category.clone()).unwrap_or(list);
    if found.is_empty() {
        let is_private = is_marked(tasks, cx, &name)?;
        let called = super::list_name(&name);
        let plain = called.trim_start_matches("the ");
        return Err(match is_private {
            true => Error::not_found(format!("there is nothing on {called}")),
            false => Error::not_found(format!("there is no {plain}: `list_lists` shows the lists there are"))
                .say(format!("There is no {plain} yet.")),
        });
    }
    Ok((name, found))
}

/// A list as people see it.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub name: String,
    pub open: usize,
    pub done: usize,
    pub shared: usize,
    /// Items that others added.
    pub others: usize,
}

/// The lists this caller sees, by name.
pub(super) fn all(tasks: &RecordStore<Task>, cx: &Cx) -> Result<Vec<Summary>> {
    let mut all: Vec<Summary> = vec![];
    // Counted and not collected; the names of lists are words of their members.
    tasks.records().walk(&untainted(cx), &on_lists(None), |entry| {
        let Some(name) = &entry.value.category else { return Visit::No };
        cx.taint(entry.label);
        if all.last().is_none_or(|last| order::text(&last.name) != order::text(name)) {
            all.push(Summary { name: name.clone(), ..Summary::default() });
        }
        if let Some(last) = all.last_mut() {
            let over = entry.value.status.is_over();
            last.open += usize::from(!over);
            last.done += usize::from(over);
            last.shared += usize::from(entry.audience == Audience::Household);
            last.others += usize::from(entry.owner != cx.user());
        }
        Visit::No
    })?;
    Ok(all)
}
