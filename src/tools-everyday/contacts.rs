//! Contacts: people and how to reach them.

mod record;
#[cfg(test)]
mod tests;

use record::{BY_COMPANY, BY_NAME, BY_RELATIONSHIP, Contact, FAVORITES, SHORT, digits};
use records::{
    RecordKind, RecordStore, contains_all_words, day_words,
    kind::{Add, Args, Update, add_all, delete, page_output},
    names, optional_text, page_params, passes, quote, truncate, untainted,
};
use store::{Store, Walk, Words, order};
use text_kit::{counted_one, listing};
use tool::{Label, prelude::*};

/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);
/// How many people of one name are listed with their details.
const TOLD: usize = 4;

/// People and how to reach them.
pub fn family(store: &Store) -> Family<RecordStore<Contact>> {
    Family::new("contacts", "People and how to reach them.", RecordStore::new(store))
        .phrases(include_str!("contacts.en"))
        .area(Area::Memory)
        .tool("add_contact", Risk::Write, add_or_complete)
        .additive()
        .tags("person friend address book phone email birthday new create save")
        .example(
            json!({"name": "Ben Huber", "phone": "+43 664 1234567", "relationship": "friend", "birthday": "--05-14"}),
        )
        .tool("batch_add_contacts", Risk::Write, add_all)
        .additive()
        .tags("people friends address book several new create import")
        .tool("list_contacts", Risk::Observe, list)
        .page(LISTED)
        .tags("people who phone number email birthday address find search show address book")
        .tool("update_contact", Risk::Write, update)
        .tags("edit change correct person phone email birthday address")
        .persists_instructions()
        .tool("delete_contact", Risk::Destroy, delete)
        .tags("remove erase person address book")
}

/// The names, addresses and numbers of everybody's contacts, for a text in which none of them may be.
///
/// # Errors
/// As every read.
pub fn contact_names(store: &Store) -> Result<Vec<String>> {
    let mut names = vec![];
    store.collection::<Contact>().scan(|entry| {
        let Contact { name, email, phone, company, .. } = entry.value;
        names.push(name);
        names.extend([email, phone, company].into_iter().flatten());
    })?;
    Ok(names)
}

/// Adds somebody, or completes the one contact of that name: "mum's birthday is 12 March" is about the mum who is there. What is
/// known already is never replaced, and a run that read from outside only adds.
async fn add_or_complete(contacts: RecordStore<Contact>, cx: Cx, args: Args<Contact, Add>) -> Result<Output> {
    let (new, shared) = args.checked(&contacts, &cx)?;
    let known = contacts.find_own(&untainted(&cx), &new.name).ok().filter(|known| {
        let same = known.value.name.to_lowercase() == new.name.to_lowercase() && known.owner == cx.user();
        same && shared.is_none() && cx.label() == Label::Own && known.label == Label::Own
    });
    let completed = known.and_then(|known| Some((known.id, known.value.completed(&new)?)));
    let Some((id, completed)) = completed else {
        let added = contacts.add(&cx, "add_contact", new, shared.unwrap_or(false)).await?;
        return Ok(Output::json(Contact::view(&cx, &added))?.say(added.value.added(&cx)));
    };
    let change = move |record: &mut Contact| {
        *record = completed.clone();
        Ok(())
    };
    let changed = contacts.change(&cx, &id.to_string(), None, change).await?;
    let sentence = format!("I added that to {} in your contacts.", truncate(&changed.value.name, 80));
    Ok(Output::json(Contact::view(&cx, &changed))?.say(sentence))
}

/// List contacts by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Words in the name, the email address, the phone number, the company, the job or the relationship.
    search: Option<String>,
    /// Only people with this relationship to the person.
    relationship: Option<String>,
    /// Only those of this company.
    company: Option<String>,
    /// Only favorites (true), or only others (false).
    is_favorite: Option<bool>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(contacts: RecordStore<Contact>, cx: Cx, args: List) -> Result<Output> {
    let relationship = optional_text("relationship", args.relationship.as_deref(), SHORT)?;
    let company = optional_text("company", args.company.as_deref(), SHORT)?;
    let search = optional_text("search", args.search.as_deref(), SHORT)?;
    let walk = match (&relationship, &company, args.is_favorite) {
        (_, Some(company), _) => Walk::prefix(BY_COMPANY, order::text(company)),
        (Some(relationship), _, _) => Walk::prefix(BY_RELATIONSHIP, order::text(relationship)),
        (_, _, Some(true)) => Walk::prefix(FAVORITES, []),
        _ => Walk::prefix(BY_NAME, []),
    };
    let words = search.as_deref().map(words_of);
    let find = |search: Option<&str>, words: Option<&Words>| {
        contacts.search_page(&cx, &walk, words, page_params(args.offset, args.limit, LISTED), |entry| {
            let it = &entry.value;
            passes(relationship.as_deref(), it.relationship.as_deref())
                && passes(company.as_deref(), it.company.as_deref())
                && args.is_favorite.is_none_or(|wanted| wanted == it.is_favorite)
                && search.is_none_or(|search| is_match(it, search))
        })
    };
    let mut page = find(search.as_deref(), words.as_ref())?;
    // "daves number", "doctor Patel".
    if let (true, Some(bare)) = (page.entries.is_empty(), search.as_deref().and_then(respelled)) {
        page = find(Some(&bare), Some(&words_of(&bare)))?;
    }
    let sentence = match page.entries.as_slice() {
        [] => match (&search, args.is_favorite) {
            (Some(search), _) => format!("I found nobody called {} in your contacts.", quote(search)),
            (None, Some(true)) => "No contact is a favourite.".to_owned(),
            (None, _) => "You have no contacts yet.".to_owned(),
        },
        [one] if !page.more => spoken(&cx, &one.value, search.is_some()),
        // "what's Sam's number" with two of that name: each with what is known.
        several if search.is_some() && !page.more && several.len() <= TOLD => {
            let all: Vec<String> = several.iter().map(|entry| spoken(&cx, &entry.value, true)).collect();
            listing(&counted_one(all.len(), "contact"), &all, false)
        }
        all if page.more => listing("Your contacts", &names(all), true),
        all => listing(&format!("You have {}", counted_one(all.len(), "contact")), &names(all), false),
    };
    page_output(&cx, &page, sentence)
}

async fn update(contacts: RecordStore<Contact>, cx: Cx, args: Args<Contact, Update>) -> Result<Output> {
    let (favorite, phone) = (args.only("isFavorite").and_then(Value::as_bool), args.only("phone").is_some());
    let changed = args.apply(&contacts, &cx).await?;
    let (it, name) = (&changed.value, truncate(&changed.value.name, 80));
    let sentence = match (favorite, it.phone.as_deref().filter(|_| phone)) {
        (Some(true), _) => format!("{name} is a favourite contact now."),
        (Some(false), _) => format!("{name} is no favourite contact any more."),
        (None, Some(phone)) => format!("{name} has the number {phone} now."),
        (None, None) => it.changed(),
    };
    Ok(Output::json(Contact::view(&cx, &changed))?.say(sentence))
}

/// A search without possessive endings, "daves", and with titles as they are written, "doctor Patel"; `None` if it is the same.
fn respelled(search: &str) -> Option<String> {
    let bare = |word: &str| match word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .or_else(|| word.strip_suffix('s'))
    {
        Some(rest) if rest.chars().count() > 2 => rest.to_owned(),
        _ => word.to_owned(),
    };
    let titled = |word: &str| match word.to_lowercase().as_str() {
        "doctor" => "Dr".to_owned(),
        "professor" => "Prof".to_owned(),
        "dr" | "prof" => word.to_owned(),
        _ => bare(word),
    };
    let stripped = search.split_whitespace().map(titled).collect::<Vec<_>>().join(" ");
    (stripped != search).then_some(stripped)
}

/// Whether a search fits: by words, or by the digits of a phone number.
fn is_match(contact: &Contact, search: &str) -> bool {
    let has_number = |wanted: String| contact.phone.as_deref().is_some_and(|phone| digits(phone).contains(&wanted));
    number(search).is_some_and(has_number) || contains_all_words(search, &contact.searched())
}

/// The digits of a search for a phone number.
fn number(search: &str) -> Option<String> {
    let digits = digits(search);
    // Leading zeros are prefixes of countries and towns, which are written in several ways.
    let wanted = digits.trim_start_matches('0');
    let is_number = !wanted.is_empty() && search.chars().all(|c| c.is_ascii_digit() || " +-()./".contains(c));
    is_number.then(|| wanted.to_owned())
}

/// The words to look up in the index.
fn words_of(search: &str) -> Words {
    let words = Words::all(search);
    match number(search) {
        Some(number) => words.or(Words::all(&number)),
        None => words,
    }
}

/// A contact as a sentence: `Ben Huber (friend): phone 0664 1234567, birthday on 14 May.`
fn spoken(cx: &Cx, contact: &Contact, asked: bool) -> String {
    let today = cx.ports().clock.local().date();
    // The year is obvious.
    let birthday = contact.next_birthday(today).map(|day| match day_words(day, today) {
        words if words.starts_with("on ") => day.strftime("on %-d %B").to_string(),
        words => words,
    });
    let known = [
        ("phone", contact.phone.clone()),
        ("email", contact.email.clone()),
        ("birthday", birthday),
        ("works at", contact.company.clone()),
        ("address", contact.address.clone()),
    ];
    let known: Vec<String> = known.into_iter().filter_map(|(what, text)| Some(format!("{what} {}", text?))).collect();
    let who = contact.relationship.as_deref().map(|who| format!(" ({who})")).unwrap_or_default();
    let name = format!("{}{who}", truncate(&contact.name, 80));
    match known.as_slice() {
        [] if asked => format!("{name} is in your contacts, but you have not told me more."),
        [] => format!("{name} is in your contacts."),
        known => format!("{name}: {}.", known.join(", ")),
    }
}
