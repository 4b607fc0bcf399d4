//! The tools that add tasks. On a list, an item that is there already is not added again.

use super::{
    household::{self, Sharing},
    item::Item,
    list_name,
    record::Task,
};
use records::{
    Change, RecordKind, RecordStore, join_list,
    kind::{Add, Args, Batch},
    names, quote, truncate,
};
use std::collections::{HashMap, HashSet};
use store::{Audience, Entry};
use text_kit::capitalized;
use tool::{Label, prelude::*};

/// The fate of one task of a call.
enum Outcome {
    Added(Entry<Task>),
    /// An open item is the same.
    There(Entry<Task>),
    /// An open item is the same in another quantity, which it has now.
    Counted(Entry<Task>),
}

impl Outcome {
    fn entry(&self) -> &Entry<Task> {
        match self {
            Self::Added(entry) | Self::There(entry) | Self::Counted(entry) => entry,
        }
    }
}

pub(super) async fn add(tasks: RecordStore<Task>, cx: Cx, args: Args<Task, Add>) -> Result<Output> {
    let new = args.checked(&tasks, &cx)?;
    let (mut outcomes, begun) = store_all(&tasks, &cx, "add_task", vec![new]).await?;
    let outcome = outcomes.pop().ok_or_else(|| Error::failed("the task was not saved: try again"))?;
    let mut view = Task::view(&cx, outcome.entry());
    let sentence = match &outcome {
        Outcome::Added(entry) => {
            let said = entry.value.added(&cx);
            let seen = entry.audience == Audience::Household
                && entry.value.category.as_ref().is_some_and(|c| begun.contains(c));
            if seen && !is_shopping(entry) { format!("{} Everybody here sees this list.", said) } else { said }
        }
        other => {
            view["alreadyOnList"] = true.into();
            there(other)
        }
    };
    Ok(Output::json(view)?.say(sentence))
}

pub(super) async fn add_all(tasks: RecordStore<Task>, cx: Cx, args: Args<Task, Batch>) -> Result<Output> {
    let new = args.checked(&tasks, &cx)?;
    let (outcomes, _) = store_all(&tasks, &cx, "batch_add_tasks", new).await?;
    let (mut added, mut known) = (vec![], vec![]);
    for outcome in outcomes {
        match outcome {
            Outcome::Added(entry) => added.push(entry),
            other => known.push(other),
        }
    }
    let mut sentences: Vec<String> = known.iter().map(there).collect();
    if !added.is_empty() {
        sentences.insert(0, all_added(&added));
    }
    let views = |entries: &mut dyn Iterator<Item = &Entry<Task>>| {
        entries.map(|entry| Task::brief(&cx, entry)).collect::<Vec<_>>()
    };
    let mut content = json!({"added": added.len(), "tasks": views(&mut added.iter())});
    if !known.is_empty() {
        content["alreadyOnList"] = views(&mut known.iter().map(Outcome::entry)).into();
    }
    Ok(Output::json(content)?.say(sentences.join(" ")))
}

/// The household expects of these that everybody sees them.
fn is_shopping(entry: &Entry<Task>) -> bool {
    entry
        .value
        .category
        .as_deref()
        .is_some_and(|list| ["shopping", "groceries", "grocery"].contains(&&*list.to_lowercase()))
}

/// Items of one list are named with the list, other tasks counted.
fn all_added(added: &[Entry<Task>]) -> String {
    let list = added.first().and_then(|first| first.value.category.as_deref());
    let one_list = added.iter().all(|entry| entry.value.category.as_deref() == list);
    match list.filter(|_| one_list) {
        Some(list) => format!("I added {} to {}.", join_list(&names(added), false), list_name(list)),
        None => Task::all_added(added),
    }
}

fn there(outcome: &Outcome) -> String {
    let task = &outcome.entry().value;
    let list = list_name(task.category.as_deref().unwrap_or_default());
    let name = capitalized(&truncate(&task.title, 60));
    match outcome {
        Outcome::Counted(_) => format!("It was on {list} already; now it says {}.", quote(&task.title)),
        _ => format!("{name} is already on {list}."),
    }
}

/// Adds the tasks that are not on their list yet, in one commit, and returns what became of each, with the lists that were
/// begun.
async fn store_all(
    tasks: &RecordStore<Task>,
    cx: &Cx,
    source: &str,
    new: Vec<(Task, Option<bool>)>,
) -> Result<(Vec<Outcome>, HashSet<String>)> {
    let mut lists: HashMap<String, (Sharing, Vec<Entry<Task>>)> = HashMap::new();
    // The position of each task among those to add, or the item it is.
    let (mut to_add, mut outcomes, mut counted) = (vec![], vec![], vec![]);
    let mut begun = HashSet::new();
    for (mut task, shared) in new {
        task.via = via(cx);
        let Some(given) = task.category.take() else {
            outcomes.push(Err(to_add.len()));
            to_add.push((task, shared.unwrap_or(false)));
            continue;
        };
        let list = household::canonical(tasks, cx, &given)?;
        let key = list.to_lowercase();
        if !lists.contains_key(&key) {
            let sharing = household::sharing(tasks, cx, &list)?;
            lists.insert(key.clone(), (sharing, open_items(tasks, cx, &list)?));
        }
        let Some((sharing, open)) = lists.get(&key) else { continue };
        let shared = shared.unwrap_or(sharing.shared);
        if sharing.is_new && shared {
            begun.insert(list.clone());
        }
        task.category = Some(list);
        let item = Item::read(&task.title);
        let same = |title: &str| Item::read(title).is_same_thing(&item);
        let twice = to_add.iter().position(|(other, with): &(Task, bool)| {
            *with == shared && other.category == task.category && other.due == task.due && other.title == task.title
        });
        if let (Some(first), None) = (twice, &task.notes) {
            outcomes.push(Err(first));
            continue;
        }
        let found = open.iter().find(|entry| {
            let there = &entry.value;
            let visible = (entry.audience == Audience::Household) == shared;
            visible && there.due == task.due && task.notes.is_none() && same(&there.title)
        });
        match found {
            None => {
                outcomes.push(Err(to_add.len()));
                to_add.push((task, shared));
            }
            Some(entry) if item.quantity.is_empty() || Item::read(&entry.value.title).quantity == item.quantity => {
                cx.taint(entry.label);
                outcomes.push(Ok(Outcome::There(entry.clone())));
            }
            // A run that read from outside only adds (invariant 3).
            Some(_) if cx.label() == Label::Outside => {
                outcomes.push(Err(to_add.len()));
                to_add.push((task, shared));
            }
            Some(entry) => {
                let mut now = entry.clone();
                now.value.title.clone_from(&task.title);
                counted.push(Change::Set(entry.clone(), now.value.clone()));
                outcomes.push(Ok(Outcome::Counted(now)));
            }
        }
    }
    let unmarked: Vec<String> =
        lists.iter().filter(|(_, (sharing, _))| sharing.unmarked).map(|(list, _)| list.clone()).collect();
    let (marks, user) = (household::marks(tasks), cx.user());
    let keep_private =
        move |tx: &store::Tx| unmarked.iter().try_for_each(|list| household::mark(tx, &marks, user, list, true));
    if !counted.is_empty() {
        tasks.change_several(cx, counted, |_| Ok(())).await?;
    }
    let added = tasks.add_all_with(cx, source, to_add, move |tx, _| keep_private(tx)).await?;
    let outcomes = outcomes.into_iter().filter_map(|outcome| match outcome {
        Ok(known) => Some(known),
        Err(at) => added.get(at).cloned().map(Outcome::Added),
    });
    // An item given twice is added once.
    let mut seen = HashSet::new();
    let once = outcomes.filter(|outcome| !matches!(outcome, Outcome::Added(entry) if !seen.insert(entry.id)));
    Ok((once.collect(), begun))
}

/// The open items of a list. Does not taint the run: only what is answered does.
fn open_items(tasks: &RecordStore<Task>, cx: &Cx, list: &str) -> Result<Vec<Entry<Task>>> {
    let mut found = household::items(tasks, &records::untainted(cx), list)?;
    found.retain(|entry| !entry.value.status.is_over());
    Ok(found)
}

/// The name of the token of this call: a token is no person, though it acts for one.
fn via(cx: &Cx) -> Option<String> {
    let token = cx.via().token.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
    Some(truncate(token, 60))
}
