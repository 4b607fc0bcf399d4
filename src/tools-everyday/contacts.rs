//! Contacts: people and how to reach them.

mod record;
#[cfg(test)]
mod tests;

use record::{BY_COMPANY, BY_NAME, BY_RELATIONSHIP, Birthday, Contact, FAVORITES, birthday, digits, email, phone};
use records::{
    RecordMeta, RecordStore, batch, contains_all_words, day_words, join_list, optional_text, page_params, patch_text,
    quote, record_meta, required_text, truncate,
};
use store::{Entry, Store, Walk, order};
use tool::prelude::*;

/// The most characters of a name and other short texts, of an address, and of notes.
const SHORT: usize = 200;
const ADDRESS: usize = 500;
const NOTES: usize = 10_000;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

/// People and how to reach them.
pub fn family(store: &Store) -> Family<RecordStore<Contact>> {
    Family::new("contacts", "People and how to reach them.", RecordStore::new(store))
        .phrases(include_str!("contacts.en"))
        .area(Area::Memory)
        .tool("add_contact", Risk::Write, add)
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

/// Add somebody to the contacts.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// The whole name.
    name: String,
    /// The email address.
    email: Option<String>,
    /// The phone number.
    phone: Option<String>,
    /// Where they work.
    company: Option<String>,
    /// What they do there.
    job_title: Option<String>,
    /// What they are to the person: friend, sister, dentist.
    relationship: Option<String>,
    /// 1990-05-14, or --05-14 without the year.
    birthday: Option<String>,
    /// Where they live.
    address: Option<String>,
    /// More about them.
    notes: Option<String>,
    /// Whether they are a favorite.
    #[serde(default)]
    is_favorite: bool,
    /// Whether everybody in the household sees it.
    #[serde(default)]
    shared: bool,
}

impl Add {
    fn read(self, cx: &Cx) -> Result<(Contact, bool)> {
        let short = |what, text: &Option<String>| optional_text(what, text.as_deref(), SHORT);
        let contact = Contact {
            name: required_text("name", &self.name, SHORT)?,
            email: email(self.email.as_deref().unwrap_or_default())?,
            phone: phone(self.phone.as_deref().unwrap_or_default())?,
            company: short("company", &self.company)?,
            job_title: short("jobTitle", &self.job_title)?,
            relationship: short("relationship", &self.relationship)?,
            birthday: birthday(cx, self.birthday.as_deref().unwrap_or_default())?,
            address: optional_text("address", self.address.as_deref(), ADDRESS)?,
            notes: optional_text("text in notes", self.notes.as_deref(), NOTES)?,
            favorite: self.is_favorite,
        };
        Ok((contact, self.shared))
    }
}

async fn add(contacts: RecordStore<Contact>, cx: Cx, args: Add) -> Result<Output> {
    let (contact, shared) = args.read(&cx)?;
    let added = contacts.add(&cx, "add_contact", contact, shared).await?;
    let sentence = format!("I added {} to your contacts.", truncate(&added.value.name, 80));
    Ok(Output::json(view(&cx, &added))?.say(sentence))
}

/// Add several people at once: all of them, or none when one is wrong.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddAll {
    /// The contacts, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    contacts: Vec<Add>,
}

async fn add_all(contacts: RecordStore<Contact>, cx: Cx, args: AddAll) -> Result<Output> {
    let read = batch("contact", args.contacts, |contact| contact.read(&cx))?;
    let added = contacts.add_all(&cx, "batch_add_contacts", read).await?;
    let sentence = format!("I added {} to your contacts.", join_list(&names(&added), false));
    let views: Vec<View> = added.iter().map(|contact| view(&cx, contact)).collect();
    Ok(Output::json(json!({"added": views.len(), "contacts": views}))?.say(sentence))
}

/// List contacts by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Words that occur in the name, the email address, the phone number, the company, the job or the relationship.
    search: Option<String>,
    /// Only those who are this to the person.
    relationship: Option<String>,
    /// Only those of this company.
    company: Option<String>,
    /// Only favorites (true), or only others (false).
    is_favorite: Option<bool>,
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(contacts: RecordStore<Contact>, cx: Cx, args: List) -> Result<Output> {
    let key =
        |what, text: Option<&str>| Ok::<_, Error>(optional_text(what, text, SHORT)?.map(|text| order::text(&text)));
    let relationship = key("relationship", args.relationship.as_deref())?;
    let company = key("company", args.company.as_deref())?;
    let search = optional_text("search", args.search.as_deref(), SHORT)?;
    let walk = match (&relationship, &company, args.is_favorite) {
        (_, Some(company), _) => Walk::prefix(BY_COMPANY, company),
        (Some(relationship), _, _) => Walk::prefix(BY_RELATIONSHIP, relationship),
        (_, _, Some(true)) => Walk::prefix(FAVORITES, []),
        _ => Walk::prefix(BY_NAME, []),
    };
    let same = |wanted: &Option<Vec<u8>>, text: &Option<String>| {
        wanted.as_ref().is_none_or(|wanted| text.as_deref().is_some_and(|text| order::text(text) == *wanted))
    };
    let page = contacts.page(&cx, &walk, page_params(args.offset, args.limit, LISTED), |entry| {
        let it = &entry.value;
        same(&relationship, &it.relationship)
            && same(&company, &it.company)
            && args.is_favorite.is_none_or(|wanted| wanted == it.favorite)
            && search.as_deref().is_none_or(|search| is_meant(it, search))
    })?;
    let sentence = match page.entries.as_slice() {
        [] => "I found nobody in your contacts.".to_owned(),
        [one] if !page.more => spoken(&cx, &one.value),
        all => format!("Your contacts: {}.", join_list(&names(all), page.more)),
    };
    let views: Vec<View> = page.entries.iter().map(|contact| view(&cx, contact)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "contacts": views}))?.say(sentence))
}

/// Whether a search finds them: by words, or by a number, however it is written.
fn is_meant(contact: &Contact, search: &str) -> bool {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (number, wanted) = (digits(&text(&contact.phone)), digits(search));
    // Zeros in front are those of a country or a town, which others write in another way.
    let wanted = wanted.trim_start_matches('0');
    let is_number = !wanted.is_empty() && search.chars().all(|c| c.is_ascii_digit() || " +-()./".contains(c));
    let texts = [&contact.email, &contact.phone, &contact.company, &contact.job_title, &contact.relationship].map(text);
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain([contact.name.as_str()]).collect();
    is_number && number.contains(wanted) || contains_all_words(search, &texts)
}

/// Change what is known of somebody; what is not given stays as it is, and an empty text clears.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Their id, or their name.
    contact_id: String,
    /// The new name.
    name: Option<String>,
    /// The email address.
    email: Option<String>,
    /// The phone number.
    phone: Option<String>,
    /// Where they work.
    company: Option<String>,
    /// What they do there.
    job_title: Option<String>,
    /// What they are to the person.
    relationship: Option<String>,
    /// 1990-05-14, or --05-14 without the year.
    birthday: Option<String>,
    /// Where they live.
    address: Option<String>,
    /// More about them, in place of what was there.
    notes: Option<String>,
    /// Whether they are a favorite.
    is_favorite: Option<bool>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(contacts: RecordStore<Contact>, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { contact_id: args.contact_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args("say what to change: the name, email, phone, birthday, or whatever else is kept"));
    }
    let short = |what, text: &Option<String>| patch_text(what, text.as_deref(), SHORT);
    let name = args.name.as_deref().map(|name| required_text("name", name, SHORT)).transpose()?;
    let (email, phone) = (args.email.as_deref().map(email).transpose()?, args.phone.as_deref().map(phone).transpose()?);
    let (company, job_title) = (short("company", &args.company)?, short("jobTitle", &args.job_title)?);
    let relationship = short("relationship", &args.relationship)?;
    let birthday = args.birthday.as_deref().map(|text| birthday(&cx, text)).transpose()?;
    let address = patch_text("address", args.address.as_deref(), ADDRESS)?;
    let notes = patch_text("text in notes", args.notes.as_deref(), NOTES)?;
    let changed = contacts.change(&cx, &args.contact_id, args.shared, move |it| {
        let set = |field: &mut Option<String>, to: &Option<Option<String>>| {
            if let Some(to) = to {
                field.clone_from(to);
            }
        };
        it.name = name.clone().unwrap_or_else(|| it.name.clone());
        set(&mut it.email, &email);
        set(&mut it.phone, &phone);
        set(&mut it.company, &company);
        set(&mut it.job_title, &job_title);
        set(&mut it.relationship, &relationship);
        set(&mut it.birthday, &birthday);
        set(&mut it.address, &address);
        set(&mut it.notes, &notes);
        it.favorite = args.is_favorite.unwrap_or(it.favorite);
        Ok(())
    });
    let changed = changed.await?;
    let sentence = format!("I changed the contact {}.", quote(&changed.value.name));
    Ok(Output::json(view(&cx, &changed))?.say(sentence))
}

/// Delete somebody from the contacts for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Their id, or their name.
    contact_id: String,
}

async fn delete(contacts: RecordStore<Contact>, cx: Cx, args: Delete) -> Result<Output> {
    let gone = contacts.remove(&cx, &args.contact_id).await?;
    let sentence = format!("I deleted the contact {}.", quote(&gone.value.name));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "name": gone.value.name}))?.say(sentence))
}

/// A contact, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    told: RecordMeta,
    name: &'a str,
    email: Option<&'a str>,
    phone: Option<&'a str>,
    company: Option<&'a str>,
    job_title: Option<&'a str>,
    relationship: Option<&'a str>,
    birthday: Option<&'a str>,
    next_birthday: Option<String>,
    address: Option<&'a str>,
    notes: Option<&'a str>,
    is_favorite: bool,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Contact>) -> View<'a> {
    let (it, today) = (&entry.value, cx.ports().clock.local().date());
    let next = it.birthday.as_deref().and_then(Birthday::read).and_then(|day| day.next(today));
    View {
        told: record_meta(entry, &cx.ports().clock.zone()),
        name: &it.name,
        email: it.email.as_deref(),
        phone: it.phone.as_deref(),
        company: it.company.as_deref(),
        job_title: it.job_title.as_deref(),
        relationship: it.relationship.as_deref(),
        birthday: it.birthday.as_deref(),
        next_birthday: next.map(|day| day.to_string()),
        address: it.address.as_deref(),
        notes: it.notes.as_deref(),
        is_favorite: it.favorite,
    }
}

/// One contact, read out: `Ben Huber (friend): phone 0664 1234567, birthday on 14 May.`
fn spoken(cx: &Cx, contact: &Contact) -> String {
    let today = cx.ports().clock.local().date();
    let birthday = contact.birthday.as_deref().and_then(Birthday::read).and_then(|day| day.next(today));
    // Which year it comes round is clear.
    let birthday = birthday.map(|day| match day_words(day, today) {
        words if words.starts_with("on ") => day.strftime("on %-d %B").to_string(),
        words => words,
    });
    let known = [
        ("phone", contact.phone.clone()),
        ("email", contact.email.clone()),
        ("birthday", birthday),
        ("company", contact.company.clone()),
        ("address", contact.address.clone()),
    ];
    let known: Vec<String> = known.into_iter().filter_map(|(what, text)| Some(format!("{what} {}", text?))).collect();
    let who = contact.relationship.as_deref().map(|who| format!(" ({who})")).unwrap_or_default();
    let name = format!("{}{who}", truncate(&contact.name, 80));
    if known.is_empty() { format!("{name} is in your contacts.") } else { format!("{name}: {}.", known.join(", ")) }
}

fn names(all: &[Entry<Contact>]) -> Vec<String> {
    all.iter().map(|contact| contact.value.name.clone()).collect()
}
