//! Notices: messages that Hob shows a person unasked, such as reminders. Only the newest are stored.

#[cfg(test)]
mod tests;

use records::{
    Addressee, Notice, RecordStore, optional_text, page_params, quote, required_text, tell_notice, truncate, view,
};
use store::{Audience, Entry, Stamp, Store, Tx, Walk};
use text_kit::{capitalized, end_sentence, listing};
use tool::{Label, Owner, Scope, prelude::*};

/// The most characters of a title and a text.
const TITLE: usize = 200;
const TEXT: usize = 2000;
/// How many characters of a text a sentence has.
const NAME: usize = 80;
/// The most notices of one run.
const PER_RUN: u32 = 10;
/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);

const ALL: u8 = Notice::ALL;
const UNSEEN: u8 = Notice::UNSEEN;

/// Messages that Hob shows a person unasked.
pub fn family(store: &Store) -> Family<RecordStore<Notice>> {
    Family::new("notices", "Notifications to a person, such as reminders.", RecordStore::new(store))
        .phrases(include_str!("notices.en"))
        .area(Area::Memory)
        .tool("notify", Risk::Write, notify)
        // A message to somebody else is more than a new record of the caller's.
        .additive_where(|_, _, args| args["person"].as_str().is_none_or(str::is_empty))
        .tags("notice notification alert tell reminder message")
        .example(json!({"text": "The washing machine is done."}))
        .tool("list_notices", Risk::Observe, list)
        .tags("notifications alerts reminders missed unseen show")
        .tool("dismiss_notice", Risk::Write, dismiss)
        .tags("notification alert seen clear read close")
}

/// Show the person a message now: it is on the page until they have seen it. For a later time use create_scheduled_task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Notify {
    /// The message, in a sentence or two.
    #[schemars(length(min = 1, max = 2000))]
    text: String,
    /// Title, in a few words.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// Its addressee: the name of somebody in the household, or `everyone`. Default: the person.
    person: Option<String>,
}

async fn notify(notices: RecordStore<Notice>, cx: Cx, args: Notify) -> Result<Output> {
    let notice = Notice {
        title: optional_text("title", args.title.as_deref(), TITLE)?,
        text: required_text("text", &args.text, TEXT)?,
        by_model: cx.is_by_model(),
        ..Notice::default()
    };
    // Calls from custom tools count too: they can call this tool many times.
    let counts = cx.is_by_model() || *cx.maker() != Owner::Core;
    if counts && !cx.try_count("notify", PER_RUN) {
        return Err(Error::denied(format!(
            "a run adds at most {PER_RUN} notices, and this one has: say the rest in your answer"
        )));
    }
    let to = Addressee::read(&cx, args.person.as_deref())?;
    if to != Addressee::Caller {
        return notify_others(&notices, &cx, notice, to).await.inspect_err(|_| {
            if counts {
                cx.uncount("notify");
            }
        });
    }
    let records = notices.records().clone();
    let forget_old = move |tx: &Tx, added: &Entry<Notice>| Notice::forget_old(tx, &records, added);
    let added = notices.add_all_with(&cx, "notify", vec![(notice, false)], forget_old).await;
    if counts && added.is_err() {
        cx.uncount("notify");
    }
    let mut added = added?;
    let added = added.pop().ok_or_else(|| Error::failed("the notice was not saved: try again"))?;
    tell_notice(&cx, &added);
    let sentence = capitalized(&end_sentence(&added.value.text));
    Ok(Output::json(to_json(&cx, &added))?.say(sentence))
}

/// Shows a message to other people: under the name of its author, and labelled as from outside, because
/// they are another person's words.
async fn notify_others(notices: &RecordStore<Notice>, cx: &Cx, notice: Notice, to: Addressee) -> Result<Output> {
    let people = &cx.ports().people;
    let author = people.name_of(cx.user()).unwrap_or_else(|| "somebody".to_owned());
    let title = match &notice.title {
        Some(title) => format!("{title} · from {author}"),
        None => format!("From {author}"),
    };
    let for_others = Notice { title: Some(title.chars().take(TITLE).collect()), ..notice.clone() };
    let (records, me, label) = (notices.records().clone(), cx.user(), cx.label());
    let receivers = to.people(cx)?;
    let names: Vec<String> = receivers.iter().filter_map(|user| people.name_of(*user)).collect();
    let added = notices.records().store().write(move |tx| {
        let mut added = vec![];
        for user in &receivers {
            let (value, label) = match *user == me {
                true => (&notice, label),
                false => (&for_others, label.max(Label::Member(me))),
            };
            let (scope, audience) = (Scope::User(*user), Audience::Private);
            let stamp = Stamp { scope, owner: *user, audience, label, source: "notify".into() };
            let entry = records.put(tx, Id::new(), &stamp, value)?;
            Notice::forget_old(tx, &records, &entry)?;
            added.push(entry);
        }
        Ok(added)
    });
    let added = added.await?;
    added.iter().for_each(|entry| tell_notice(cx, entry));
    let names = match to {
        Addressee::Everyone => records::EVERYONE.to_owned(),
        _ => names.join(", "),
    };
    let text = added.first().map(|entry| entry.value.text.clone()).unwrap_or_default();
    Ok(Output::json(json!({"notified": added.len(), "people": names}))?.say(format!("Told {names}: {text}")))
}

/// List recent notices to the person, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only those they have not seen yet (true), or only those they have (false).
    unseen: Option<bool>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(notices: RecordStore<Notice>, cx: Cx, args: List) -> Result<Output> {
    let index = if args.unseen == Some(true) { UNSEEN } else { ALL };
    let place = page_params(args.offset, args.limit, LISTED);
    let walk = Walk::prefix(index, []).down();
    let page = notices.page(&cx, &walk, place, |entry| args.unseen.is_none_or(|unseen| unseen != entry.value.seen))?;
    let texts: Vec<String> = page.entries.iter().map(|notice| spoken(&notice.value)).collect();
    let sentence = match texts.as_slice() {
        [] if args.unseen == Some(true) => "There is nothing new.".to_owned(),
        [] => "There are no notices.".to_owned(),
        [one] if !page.more => format!("There is one notice: {}.", capitalized(one)),
        all if page.more => listing("The latest notices", all, true),
        all => listing(&format!("There are {} notices", all.len()), all, false),
    };
    let views: Vec<Value> = page.entries.iter().map(|notice| to_json(&cx, notice)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "notices": views}))?.say(sentence))
}

/// Mark a notice as seen, or all of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Dismiss {
    /// Its id, or its title or text; `all` for all of them.
    notice_id: String,
}

async fn dismiss(notices: RecordStore<Notice>, cx: Cx, args: Dismiss) -> Result<Output> {
    if args.notice_id.trim().eq_ignore_ascii_case("all") {
        return dismiss_all(&notices, &cx).await;
    }
    // Among seen notices of one text any will do.
    let which = match notices.last_finished(&cx, &args.notice_id)? {
        Some(seen) => seen.id.to_string(),
        None => args.notice_id,
    };
    let by_person = is_by_person(&cx);
    let seen = move |notice: &mut Notice| {
        if !by_person && !notice.document.is_empty() {
            return Err(records::rejected(
                "this notice tells the person about a change you made to your own documents, so only they dismiss it",
            ));
        }
        notice.seen = true;
        Ok(())
    };
    let changed = notices.change(&cx, &which, None, seen).await?;
    let answer = json!({"dismissed": 1, "notices": [to_json(&cx, &changed)]});
    Ok(Output::json(answer)?.say(format!("Cleared: {}.", quote(&spoken(&changed.value)))))
}

async fn dismiss_all(notices: &RecordStore<Notice>, cx: &Cx) -> Result<Output> {
    let (records, scope, label) = (notices.records().clone(), Scope::User(cx.user()), cx.label());
    let by_person = is_by_person(cx);
    let changed = notices.records().store().write(move |tx| {
        let mut unseen = records.find(tx, scope, UNSEEN, &[])?;
        unseen.retain(|notice| by_person || notice.value.document.is_empty());
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
    changed.iter().for_each(|notice| records::publish_change(cx, notice, "changed"));
    let sentence = match changed.len() {
        0 => "There was nothing new.".to_owned(),
        1 => "I cleared one notice.".to_owned(),
        n => format!("I cleared {n} notices."),
    };
    Ok(Output::json(json!({"dismissed": changed.len(), "notices": []}))?.say(sentence))
}

/// Whether the person dismisses it, by hand or literally. A model does not hide its own changes of documents from them.
fn is_by_person(cx: &Cx) -> bool {
    cx.is_in_person() || cx.bounds().by_word
}

/// A notice as it is answered; with the change of a document it is about.
fn to_json(cx: &Cx, entry: &Entry<Notice>) -> Value {
    let it = &entry.value;
    let mut fields = json!({"title": it.title, "text": it.text, "seen": it.seen});
    if let Some(change) = it.document_change() {
        fields["document"] = json!(change);
    }
    view(cx, entry, fields)
}

/// A notice within a sentence.
fn spoken(notice: &Notice) -> String {
    truncate(notice.text.trim_end_matches(['.', '!']), NAME)
}
