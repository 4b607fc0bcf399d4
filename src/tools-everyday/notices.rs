//! Notices: what Hob tells a person at a time of its own choosing, such as reminders and timers. The newest are kept.

#[cfg(test)]
mod tests;

use records::{Item, Shelf, Told, clip, listed, optional, said, told, window};
use store::{Entry, Key, Level, Record, Store, Tx, Walk, order};
use tool::{Scope, prelude::*};

/// The most characters of a title and a text.
const TITLE: usize = 200;
const TEXT: usize = 2000;
/// How many are kept for a person.
const KEPT: usize = 200;
/// How much of a text is its name, in characters.
const NAME: usize = 80;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

const BY_NAME: u8 = 1;
const ALL: u8 = 2;
const UNSEEN: u8 = 3;

/// What Hob tells a person at a time of its own choosing.
pub fn family(store: &Store) -> Family<Shelf<Notice>> {
    Family::new("notices", "What Hob tells a person at a time of its own choosing.", Shelf::new(store))
        .phrases(include_str!("notices.en"))
        .area(Area::Memory)
        .tool("notify", Risk::Write, notify)
        .tags("notice notification alert tell reminder message")
        .example(json!({"text": "The washing machine is done."}))
        .tool("list_notices", Risk::Observe, list)
        .tags("notifications alerts reminders missed unseen show")
        .tool("dismiss_notice", Risk::Write, dismiss)
        .tags("notification alert seen clear read close")
}

/// Something a person was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    title: Option<String>,
    text: String,
    seen: bool,
}

impl Record for Notice {
    const NAME: &'static str = "notices";
    const WORD: &'static str = "notice";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let name = [order::text(self.name()), vec![self.seen.into()]].concat();
        let mut keys = vec![Key::many(BY_NAME, name), Key::many(ALL, [])];
        keys.extend((!self.seen).then(|| Key::many(UNSEEN, [])));
        keys
    }
}

impl Item for Notice {
    const LISTED_BY: &'static str = "list_notices";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        let text = self.title.as_deref().unwrap_or(&self.text);
        text.char_indices().nth(NAME).map_or(text, |(end, _)| text[..end].trim_end())
    }
    fn is_over(&self) -> bool {
        self.seen
    }
    fn likely() -> Walk {
        Walk::prefix(ALL, []).down()
    }
}

/// Tell the person something now: they see it at the page, and it stays until they have seen it. For a later time use
/// create_scheduled_task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Notify {
    /// What to tell, in a sentence or two.
    #[schemars(length(min = 1, max = 2000))]
    text: String,
    /// What it is about, in a few words.
    #[schemars(length(max = 200))]
    title: Option<String>,
}

async fn notify(notices: Shelf<Notice>, cx: Cx, args: Notify) -> Result<Output> {
    let notice = Notice {
        title: optional("title", args.title.as_deref(), TITLE)?,
        text: said("text", &args.text, TEXT)?,
        seen: false,
    };
    let (records, scope) = (notices.records().clone(), Scope::User(cx.user()));
    let forget_old = move |tx: &Tx, _: &Entry<Notice>| {
        let mut all = records.find(tx, scope, ALL, &[])?;
        all.sort_unstable_by_key(|notice| std::cmp::Reverse(notice.id));
        all.iter().skip(KEPT).try_for_each(|old| records.remove(tx, scope, old.id).map(drop))
    };
    let mut added = notices.add_all_with(&cx, "notify", vec![(notice, false)], forget_old).await?;
    let added = added.pop().ok_or_else(|| Error::failed("the notice was not kept: try again"))?;
    let it = &added.value;
    let data = json!({"id": added.id, "title": it.title, "text": it.text});
    cx.ports().bus.publish("notice:new", Some(cx.user()), data);
    let sentence = it.text.clone();
    Ok(Output::json(view(&cx, &added))?.say(sentence))
}

/// List what the person was told of late, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only those they have not seen yet (true), or only those they have (false).
    unseen: Option<bool>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(notices: Shelf<Notice>, cx: Cx, args: List) -> Result<Output> {
    let index = if args.unseen == Some(true) { UNSEEN } else { ALL };
    let place = window(args.offset, args.limit, LISTED);
    let walk = Walk::prefix(index, []).down();
    let page = notices.page(&cx, &walk, place, |entry| args.unseen.is_none_or(|unseen| unseen != entry.value.seen))?;
    let texts: Vec<String> = page.entries.iter().map(|notice| spoken(&notice.value)).collect();
    let sentence = match texts.as_slice() {
        [] if args.unseen == Some(true) => "There is nothing new.".to_owned(),
        [] => "There are no notices.".to_owned(),
        [one] if !page.more => format!("One notice: {one}."),
        all => format!("The latest notices: {}.", listed(all, page.more)),
    };
    let views: Vec<View> = page.entries.iter().map(|notice| view(&cx, notice)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "notices": views}))?.say(sentence))
}

/// Mark a notice as seen, or all of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Dismiss {
    /// Its id, or its title or text; `all` for all of them.
    notice_id: String,
}

async fn dismiss(notices: Shelf<Notice>, cx: Cx, args: Dismiss) -> Result<Output> {
    if args.notice_id.trim().eq_ignore_ascii_case("all") {
        return dismiss_all(&notices, &cx).await;
    }
    // Of several of one text the last is as good as any: all of them are seen already.
    let which = match notices.last_over(&cx, &args.notice_id)? {
        Some(seen) => seen.id.to_string(),
        None => args.notice_id,
    };
    let seen = |notice: &mut Notice| {
        notice.seen = true;
        Ok(())
    };
    let changed = notices.change(&cx, &which, None, seen).await?;
    let answer = json!({"dismissed": 1, "notices": [view(&cx, &changed)]});
    Ok(Output::json(answer)?.say(format!("Dismissed: {}.", spoken(&changed.value))))
}

async fn dismiss_all(notices: &Shelf<Notice>, cx: &Cx) -> Result<Output> {
    let (records, scope, label) = (notices.records().clone(), Scope::User(cx.user()), cx.label());
    let changed = notices.records().store().write(move |tx| {
        let unseen = records.find(tx, scope, UNSEEN, &[])?;
        let seen = |notice: Entry<Notice>| {
            let mut see = |notice: &mut Notice| {
                notice.seen = true;
                Ok(())
            };
            records.change(tx, scope, label, notice.id, &mut see)
        };
        unseen.into_iter().map(seen).collect::<store::Result<Vec<_>>>()
    });
    let changed = changed.await?;
    changed.iter().for_each(|notice| records::tell(cx, notice, "changed"));
    let sentence = match changed.len() {
        0 => "There was nothing new.".to_owned(),
        1 => "I dismissed one notice.".to_owned(),
        n => format!("I dismissed {n} notices."),
    };
    Ok(Output::json(json!({"dismissed": changed.len(), "notices": []}))?.say(sentence))
}

/// A notice, as it is answered.
#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    told: Told,
    title: Option<&'a str>,
    text: &'a str,
    seen: bool,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Notice>) -> View<'a> {
    let it = &entry.value;
    View { told: told(entry, &cx.ports().clock.zone()), title: it.title.as_deref(), text: &it.text, seen: it.seen }
}

/// A notice within a sentence.
fn spoken(notice: &Notice) -> String {
    clip(notice.text.trim_end_matches(['.', '!']), NAME)
}
