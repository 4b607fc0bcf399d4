//! Tools that undo changes and bring deleted records back.

use records::undo::Deleted;
use records::{Undo, iso, page_params, truncate};
use text_kit::{More, counted_one, listing};
use tool::prelude::*;

/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);
/// How many titles a sentence names.
const NAMED: usize = 5;

/// Undoing changes, and deleted records.
pub fn family(undo: Undo) -> Family<Undo> {
    Family::new("undo", "Undo changes, and bring deleted records back.", undo)
        .title("Undo")
        .phrases(include_str!("undo.en"))
        .area(Area::Memory)
        .tool("undo", Risk::Write, undo_change)
        .tags("undo revert back mistake wrong cancel oops restore last change")
        .tool("list_deleted", Risk::Observe, list)
        .page(LISTED)
        .tags("bin trash deleted removed restore recover undelete recycle")
        .tool("restore_deleted", Risk::Write, restore)
        .tags("bin trash deleted removed restore recover undelete bring back")
        .tool("empty_bin", Risk::Destroy, empty)
        .confirm()
        .tags("bin trash deleted purge erase for good permanently")
}

/// Undo a change: the person's last one, or the one with this id. Records are as they were before, if nobody changed them since.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct UndoChange {
    /// The id of the change; without it, the last one of this conversation, or of the last ten minutes.
    change_id: Option<String>,
}

async fn undo_change(undo: Undo, cx: Cx, args: UndoChange) -> Result<Output> {
    let given = args.change_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
    let id = given.map(str::parse::<Id>).transpose()?;
    let undone = undo.undo(&cx, id).await?;
    let titles = |parts: &[store::Part]| parts.iter().map(|part| part.title.clone()).collect::<Vec<_>>();
    let content = json!({
        "changeId": undone.change.id,
        "undone": true,
        "summary": undo.summary(&undone.change),
        "records": undone.done.len(),
        "leftAlone": titles(&undone.kept),
    });
    Ok(Output::json(content)?.say(undone.sentence))
}

/// List deleted records, the latest first. They are stored for 30 days.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only of this kind, such as task, note, calendar event, contact, expense, bookmark, goal or memory.
    kind: Option<String>,
    /// Words in the title.
    query: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(undo: Undo, cx: Cx, args: List) -> Result<Output> {
    let (offset, limit) = page_params(args.offset, args.limit, LISTED);
    let found = undo.deleted(&cx, args.kind.as_deref(), args.query.as_deref())?;
    let more = found.len() > offset.saturating_add(limit);
    let page: Vec<&Deleted> = found.iter().skip(offset).take(limit).collect();
    page.iter().for_each(|deleted| cx.taint(deleted.label()));
    let names: Vec<String> = page
        .iter()
        .take(NAMED)
        .map(|deleted| format!("the {} “{}”", deleted.kind, truncate(&deleted.title, 60)))
        .collect();
    let sentence = match page.len() {
        0 => "The bin is empty.".to_owned(),
        n if n <= NAMED && !more => listing(
            &format!("In the bin {} {}", if n == 1 { "is" } else { "are" }, counted_one(n, "thing")),
            &names,
            false,
        ),
        n if more => listing(&format!("In the bin are more than {n} things. The latest first"), &names, true),
        n => listing(&format!("In the bin are {n} things. The latest first"), &names, More::Count(n - NAMED)),
    };
    let zone = cx.ports().clock.zone();
    let view = |deleted: &&Deleted| {
        let at = i64::try_from(deleted.at_ms).unwrap_or_default();
        json!({
            "id": deleted.id,
            "kind": deleted.kind,
            "title": deleted.title,
            "list": Some(&deleted.list).filter(|list| !list.is_empty()),
            "deletedAt": iso(at, &zone),
        })
    };
    let records: Vec<Value> = page.iter().map(view).collect();
    Ok(Output::json(json!({"count": records.len(), "hasMore": more, "deleted": records}))?.say(sentence))
}

/// Bring a deleted record back, with its parts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Restore {
    /// Its id, as `list_deleted` shows it, or its title.
    id: String,
}

async fn restore(undo: Undo, cx: Cx, args: Restore) -> Result<Output> {
    if args.id.trim().is_empty() {
        return Err(Error::bad_args("say which record: by its id, which `list_deleted` shows, or by its title")
            .say("What shall I bring back? Say “what is in the bin?” to see it."));
    }
    let restored = undo.restore(&cx, &args.id).await?;
    let title = truncate(&restored.title, 80);
    let sentence = match restored.list.as_str() {
        "" => format!("The {} “{title}” is back.", restored.kind),
        list => format!("“{title}” is back on {list}."),
    };
    Ok(Output::json(json!({"restored": true, "id": restored.id, "kind": restored.kind, "title": restored.title}))?
        .say(sentence))
}

/// Delete everything in the bin for good. This cannot be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Empty {}

async fn empty(undo: Undo, cx: Cx, Empty {}: Empty) -> Result<Output> {
    let count = undo.empty_bin(&cx).await?;
    let sentence = match count {
        0 => "The bin was empty already.".to_owned(),
        1 => "The bin is empty. One thing is deleted for good.".to_owned(),
        n => format!("The bin is empty. {n} things are deleted for good."),
    };
    Ok(Output::json(json!({"deleted": count}))?.say(sentence))
}
