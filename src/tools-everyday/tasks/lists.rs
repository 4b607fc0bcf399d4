//! Lists as wholes: which there are, and clearing, renaming, tidying and sharing one.

use super::{
    CATEGORY,
    household::{self, Summary},
    item::Item,
    list_name,
    record::Task,
};
use records::{Change, RecordStore, join_list, names, quote, required_text};
use std::collections::BTreeSet;
use store::{Audience, Entry, Store};
use text_kit::{capitalized, counted, counted_one, listing};
use tool::prelude::*;

/// Lists with a name. Their items are tasks with that category.
pub fn family(store: &Store) -> Family<RecordStore<Task>> {
    Family::new("lists", "Shopping and other lists, which the household shares.", RecordStore::new(store))
        .phrases(include_str!("../lists.en"))
        .area(Area::Memory)
        .tool("list_lists", Risk::Observe, all)
        .tags("lists shopping checklist which names overview")
        .tool("clear_list", Risk::Destroy, clear)
        .tags("empty wipe delete remove all items done bought shopping checklist")
        .tool("rename_list", Risk::Write, rename)
        .tags("change name shopping checklist")
        .persists_instructions()
        .tool("tidy_list", Risk::Write, tidy)
        .tags("merge duplicates doubles clean up shopping checklist")
        .idempotent()
        .tool("share_list", Risk::Write, share)
        .tags("private household family everybody hide show shopping checklist")
        .idempotent()
}

/// List the lists with their numbers of open and completed items, and whether the household sees them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct All {}

async fn all(tasks: RecordStore<Task>, cx: Cx, _: All) -> Result<Output> {
    let lists = household::all(&tasks, &cx)?;
    let mut views = vec![];
    for list in &lists {
        let sharing = household::sharing(&tasks, &cx, &list.name)?;
        views.push(json!({
            "list": list.name,
            "open": list.open,
            "done": list.done,
            "shared": sharing.shared,
            "byOthers": list.others,
        }));
    }
    let sentence = match lists.len() {
        0 => "There are no lists yet. Say “add milk to the shopping list” to begin one.".to_owned(),
        n => {
            let all: Vec<String> = lists.iter().map(|list| format!("{} ({})", list.name, items_left(list))).collect();
            listing(&format!("There {} {}", if n == 1 { "is" } else { "are" }, counted_one(n, "list")), &all, false)
        }
    };
    Ok(Output::json(json!({"count": views.len(), "lists": views}))?.say(sentence))
}

fn items_left(list: &Summary) -> String {
    if list.open == 0 { "all done".to_owned() } else { counted(list.open, "thing") }
}

/// Delete the items of a list: all of them, or only the completed ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Clear {
    /// The name of the list.
    list: String,
    /// Whether only completed items are deleted.
    #[serde(default)]
    done: bool,
}

async fn clear(tasks: RecordStore<Task>, cx: Cx, args: Clear) -> Result<Output> {
    let given = required_text("name of the list", &args.list, CATEGORY)?;
    let (list, found) = household::existing(&tasks, &cx, &given)?;
    let called = list_name(&list);
    let gone: Vec<Entry<Task>> = found.into_iter().filter(|entry| !args.done || entry.value.status.is_over()).collect();
    if gone.is_empty() {
        let content = json!({"list": list, "deleted": 0});
        return Ok(Output::json(content)?.say(format!("Nothing is ticked off on {called}.")));
    }
    let (names, count) = (names(&gone), gone.len());
    // A list that was private before stays so while it is empty.
    let sharing = household::sharing(&tasks, &cx, &list)?;
    let (marks, user, name) = (household::marks(&tasks), cx.user(), list.clone());
    let also = move |tx: &store::Tx| {
        if sharing.unmarked { household::mark(tx, &marks, user, &name, true) } else { Ok(()) }
    };
    tasks.change_several(&cx, gone.into_iter().map(Change::Remove).collect(), also).await?;
    let names = join_list(&names, false);
    let sentence = match args.done {
        true => format!("I took what is done off {called}: {names}."),
        false => format!("I cleared {called}: {names}."),
    };
    Ok(Output::json(json!({"list": list, "deleted": count, "items": names}))?.say(sentence))
}

/// Rename a list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rename {
    /// The name of the list.
    list: String,
    /// The new name.
    name: String,
}

async fn rename(tasks: RecordStore<Task>, cx: Cx, args: Rename) -> Result<Output> {
    let given = required_text("name of the list", &args.list, CATEGORY)?;
    let name = required_text("new name", &args.name, CATEGORY)?;
    let (list, found) = household::existing(&tasks, &cx, &given)?;
    let name = household::canonical(&tasks, &cx, &name)?;
    if name.is_empty() {
        return Err(Error::bad_args("the new name is empty: write something"));
    }
    if !name.eq_ignore_ascii_case(&list) && !household::items(&tasks, &records::untainted(&cx), &name)?.is_empty() {
        let text = format!("there is a list {} already: choose another name, or move the items there", quote(&name));
        return Err(Error::bad_args(text));
    }
    let sharing = household::sharing(&tasks, &cx, &list)?;
    let renamed = |entry: Entry<Task>| {
        let value = Task { category: Some(name.clone()), ..entry.value.clone() };
        Change::Set(entry, value)
    };
    let count = found.len();
    let (marks, user, old, new) = (household::marks(&tasks), cx.user(), list.clone(), name.clone());
    let also = move |tx: &store::Tx| {
        household::mark(tx, &marks, user, &old, false)?;
        household::mark(tx, &marks, user, &new, !sharing.shared)
    };
    tasks.change_several(&cx, found.into_iter().map(renamed).collect(), also).await?;
    let sentence = format!("{} is {} now.", capitalized(&list_name(&list)), list_name(&name));
    Ok(Output::json(json!({"list": name, "was": list, "items": count}))?.say(sentence))
}

/// Merge duplicates on a list: open items that are the same thing become one, in the larger quantity.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tidy {
    /// The name of the list.
    list: String,
}

async fn tidy(tasks: RecordStore<Task>, cx: Cx, args: Tidy) -> Result<Output> {
    let given = required_text("name of the list", &args.list, CATEGORY)?;
    let (list, mut found) = household::existing(&tasks, &cx, &given)?;
    found.retain(|entry| !entry.value.status.is_over());
    // The first that was added stays.
    found.sort_by_key(|entry| entry.id);
    let (mut kept, mut merged): (Vec<(Entry<Task>, Task)>, Vec<String>) = (vec![], vec![]);
    let mut changes = vec![];
    for entry in found {
        let item = Item::read(&entry.value.title);
        let same = kept.iter_mut().find(|(first, now)| {
            first.audience == entry.audience
                && now.due == entry.value.due
                && Item::read(&now.title).is_same_thing(&item)
        });
        let Some((_, now)) = same else {
            let value = entry.value.clone();
            kept.push((entry, value));
            continue;
        };
        if item.count() > Item::read(&now.title).count() {
            now.title.clone_from(&entry.value.title);
        }
        now.notes = match (now.notes.take(), &entry.value.notes) {
            (Some(one), Some(other)) if one != *other => {
                Some(records::truncate(&format!("{one}\n{other}"), super::NOTES))
            }
            (one, other) => one.or_else(|| other.clone()),
        };
        now.priority =
            if weight(entry.value.priority) > weight(now.priority) { entry.value.priority } else { now.priority };
        if !merged.contains(&now.title) {
            merged.push(now.title.clone());
        }
        changes.push(Change::Remove(entry));
    }
    let (gone, called) = (changes.len(), list_name(&list));
    if gone == 0 {
        let content = json!({"list": list, "merged": 0});
        return Ok(Output::json(content)?.say(format!("There are no duplicates on {called}.")));
    }
    let reworded = kept.into_iter().filter(|(entry, now)| entry.value != *now);
    changes.extend(reworded.map(|(entry, now)| Change::Set(entry, now)));
    tasks.change_several(&cx, changes, |_| Ok(())).await?;
    let sentence = format!("I merged {} on {called}: {}.", counted_one(gone, "duplicate"), join_list(&merged, false));
    Ok(Output::json(json!({"list": list, "merged": gone, "items": merged}))?.say(sentence))
}

fn weight(priority: super::Priority) -> u8 {
    use super::Priority::{High, Low, Normal, Urgent};
    match priority {
        Low => 0,
        Normal => 1,
        High => 2,
        Urgent => 3,
    }
}

/// Share a list with the household, or make it private.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Share {
    /// The name of the list.
    list: String,
    /// Whether everybody in the household sees and edits it.
    shared: bool,
}

async fn share(tasks: RecordStore<Task>, cx: Cx, args: Share) -> Result<Output> {
    let given = required_text("name of the list", &args.list, CATEGORY)?;
    let (list, found) = household::existing(&tasks, &cx, &given)?;
    let called = list_name(&list);
    let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|entry| entry.owner == cx.user());
    if !args.shared && !others.is_empty() {
        let people: BTreeSet<String> =
            others.iter().filter_map(|entry| cx.ports().people.name_of(entry.owner)).collect();
        let who =
            if people.is_empty() { "others".into() } else { join_list(&people.into_iter().collect::<Vec<_>>(), false) };
        let text = format!(
            "{called} stays shared, because {} on it {} from {who}: delete those first, or begin another list",
            counted(others.len(), "item"),
            if others.len() == 1 { "is" } else { "are" },
        );
        return Err(Error::denied(text));
    }
    let audience = records::audience(args.shared);
    let (marks, user, name, private) = (household::marks(&tasks), cx.user(), list.clone(), !args.shared);
    let count = own.len();
    let changes =
        own.into_iter().filter(|entry| entry.audience != audience).map(|entry| Change::Share(entry, args.shared));
    let also = move |tx: &store::Tx| household::mark(tx, &marks, user, &name, private);
    tasks.change_several(&cx, changes.collect(), also).await?;
    let sentence = match audience {
        Audience::Household => format!("Everybody here sees {called} now."),
        Audience::Private => format!("{} is private now: only you see it.", capitalized(&called)),
    };
    Ok(Output::json(json!({"list": list, "shared": args.shared, "items": count + others.len()}))?.say(sentence))
}
