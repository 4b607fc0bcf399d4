//! `complete_task`: ticks off what is meant, and asks where something else could be.

use super::{
    household,
    item::{Fit, Item},
    list_name,
    record::{Status, Task},
};
use records::{NamedRecord, RecordKind, RecordStore, can_change, join_list, optional_text, quote, truncate, untainted};
use store::{Entry, Visit};
use text_kit::which_one;
use tool::prelude::*;

/// The most tasks that are looked through.
const SCANNED: usize = 5000;

/// Mark a task as done; unlike delete_task, this keeps it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Complete {
    /// Its id, or its title.
    task_id: String,
    /// The list it is on.
    category: Option<String>,
}

pub(super) async fn complete(tasks: RecordStore<Task>, cx: Cx, args: Complete) -> Result<Output> {
    let list = optional_text("category", args.category.as_deref(), super::CATEGORY)?;
    let list = list.map(|list| household::canonical(&tasks, &cx, &list)).transpose()?;
    let found = find(&tasks, &cx, &args.task_id, list.as_deref())?;
    if found.value.status == Status::Completed {
        let sentence = format!("{} was done already.", quote(&found.value.title));
        return Ok(Output::json(Task::view(&cx, &found))?.say(sentence));
    }
    let now_ms = cx.ports().clock.now().as_millisecond();
    let finish = move |task: &mut Task| {
        task.set_status(Status::Completed, now_ms);
        Ok(())
    };
    let done = tasks.change(&cx, &found.id.to_string(), None, finish).await?;
    Ok(Output::json(Task::view(&cx, &done))?.say(format!("Done: {}.", quote(&done.value.title))))
}

/// The task that is meant. An open one of that name comes first, then one that is the same thing, then a finished one of
/// that name, then an open one that contains the words; what may be something else is asked about.
fn find(tasks: &RecordStore<Task>, cx: &Cx, which: &str, list: Option<&str>) -> Result<Entry<Task>> {
    let said = Item::read(which);
    if which.trim().is_empty() || which.trim().parse::<Id>().is_ok() || which.chars().nth(super::TITLE).is_some() {
        return tasks.find_own(cx, which);
    }
    let (mut seen, mut found) = (0, vec![]);
    let walk = match list {
        Some(list) => super::record::on_lists(Some(list)),
        None => Task::likely(),
    };
    // Only what is returned taints the run.
    let all = tasks.records().walk(&untainted(cx), &walk, |entry| {
        seen += 1;
        if seen > SCANNED {
            return Visit::Stop;
        }
        let fit = Item::read(&entry.value.title).fit(&said, entry.value.category.is_some());
        let Some(fit) = fit.filter(|_| can_change(cx, entry)) else { return Visit::No };
        found.push((rank(fit, entry.value.is_finished()), fit));
        Visit::Yes
    })?;
    let Some(best) = found.iter().map(|(rank, _)| *rank).min() else {
        return match list {
            Some(list) => Err(Error::not_found(format!("{} is not on {}", quote(which.trim()), list_name(list)))),
            None => tasks.find_own(cx, which),
        };
    };
    let fits = all.into_iter().zip(found).filter(|(_, (rank, _))| *rank == best);
    let mut fits: Vec<(Entry<Task>, Fit)> = fits.map(|(entry, (_, fit))| (entry, fit)).collect();
    fits.iter().for_each(|(entry, _)| cx.taint(entry.label));
    let near = fits.iter().any(|(_, fit)| *fit == Fit::Near);
    if near {
        let names: Vec<String> = fits.iter().map(|(entry, _)| quote(&entry.value.title)).collect();
        let (names, wanted) = (join_list(&names, false), quote(which.trim()));
        let text =
            format!("nothing was ticked off: there is {names}, but no {wanted}; say the whole name if you mean that");
        let said =
            format!("Nothing is ticked off: there is {names}, but no {wanted}. Say the whole name to tick it off.");
        return Err(Error::bad_args(text).say(said));
    }
    // Of finished ones the last, and of equal ones any.
    let first = fits.remove(0).0;
    let is_equal = |other: &Entry<Task>| {
        (&other.value.category, &other.value.due) == (&first.value.category, &first.value.due)
            && first.value.category.is_some()
            && other.value.title.eq_ignore_ascii_case(&first.value.title)
    };
    if first.value.is_finished() || fits.iter().all(|(other, _)| is_equal(other)) {
        return Ok(first);
    }
    let named = |entry: &Entry<Task>| match &entry.value.category {
        Some(list) => format!("{} on {}", truncate(&entry.value.title, 60), list_name(list)),
        None => truncate(&entry.value.title, 60),
    };
    let names: Vec<String> = std::iter::once(&first).chain(fits.iter().map(|(entry, _)| entry)).map(named).collect();
    let (all, which) = (join_list(&names, false), truncate(which.trim(), 80));
    let text = format!("{} tasks fit `{which}`: {all}; say which", names.len());
    Err(Error::bad_args(text).say(which_one("one", &names)))
}

fn rank(fit: Fit, is_finished: bool) -> u8 {
    match (fit, is_finished) {
        (Fit::Name, false) => 0,
        (Fit::Thing, false) => 1,
        (Fit::Name, true) => 2,
        (Fit::Part, false) => 3,
        (Fit::Thing, true) => 4,
        (Fit::Part, true) => 5,
        (Fit::Near, false) => 6,
        (Fit::Near, true) => 7,
    }
}
