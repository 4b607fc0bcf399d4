//! A household as large as the aims suppose: 300 tools with schemas as real ones have them, and a policy of 300 entries.
//!
//! Thirty things a household keeps times ten things one does with them. Names, descriptions and schemas are about as long
//! as those of Hob's own tools; every third tool has another name.

use crate::Result;
use policy::{Grant, Names, Pattern, Policy};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use tool::{Alias, Area, Id, Output, Owner, Risk, Signature, Tool, UserId};

/// The person whose calls are measured.
pub const MARTA: UserId = UserId(Id::from_bytes([7; 16]));

/// One of a thing, several, what belongs to it, and words it is also found by.
const THINGS: &[(&str, &str, &str, &str)] = &[
    ("task", "tasks", "title, due date and priority", "todo reminder chore deadline"),
    ("note", "notes", "title, text and notebook", "memo write jot text"),
    ("bookmark", "bookmarks", "address, title and folder", "link url favourite page"),
    ("contact", "contacts", "name, telephone number and address", "person people phone address book"),
    ("calendar_event", "calendar_events", "beginning, end and place", "appointment meeting date schedule"),
    ("expense", "expenses", "amount, currency and shop", "money spending budget receipt cost"),
    ("goal", "goals", "aim, steps and progress", "plan milestone habit target"),
    ("email", "emails", "sender, subject and body", "mail message inbox letter"),
    ("photo", "photos", "date, place and people in it", "picture image album camera"),
    ("song", "songs", "title, artist and album", "music audio track playlist play"),
    ("video", "videos", "title, length and resolution", "film movie clip watch"),
    ("recipe", "recipes", "ingredients, steps and time it takes", "cook food meal kitchen dish"),
    ("shopping_item", "shopping_items", "article, amount and shop", "groceries buy supermarket list"),
    ("device", "devices", "room, kind and state", "hardware appliance socket smart"),
    ("light", "lights", "room, brightness and colour", "lamp bulb bright dim turn on off"),
    ("sensor", "sensors", "unit, place and last value", "temperature humidity measure reading"),
    ("room", "rooms", "floor, devices and temperature", "kitchen bedroom heating place"),
    ("plant", "plants", "species, place and last watering", "garden flower water green"),
    ("pet", "pets", "name, food and next visit to the vet", "dog cat animal feed"),
    ("invoice", "invoices", "number, sum and date it is due", "bill payment pay customer"),
    ("document", "documents", "title, pages and language", "pdf paper file scan read"),
    ("contract", "contracts", "partner, term and notice period", "insurance agreement subscription cancel"),
    ("package", "packages", "carrier, number and day of arrival", "parcel delivery post shipment track"),
    ("trip", "trips", "destination, days and bookings", "travel holiday flight hotel"),
    ("vehicle", "vehicles", "plate, mileage and next inspection", "car bicycle fuel garage"),
    ("workflow", "workflows", "trigger, steps and last run", "automation rule schedule cron"),
    ("repository", "repositories", "branch, remote and last commit", "git code source version"),
    ("dataset", "datasets", "columns, rows and source", "csv table data statistics"),
    (
        "language_card",
        "language_cards",
        "word, translation and next repetition",
        "vocabulary learn translate flashcard",
    ),
    ("medicine", "medicines", "dose, hour and supply left", "pill health doctor prescription"),
];

/// What is done with them: the name, the description, the risk, and words it is also found by. `$1` stands for one of
/// them, `$n` for several, `$d` for what belongs to one, as words; `$_` is `$1` and `$N` is `$n` as a name.
const ACTIONS: &[(&str, &str, Risk, &str)] = &[
    ("add_$_", "Keep a new $1 with its $d. What is not given can be added later.", Risk::Write, "create new insert"),
    ("batch_add_$N", "Keep several $n in one go, each with its own $d.", Risk::Write, "create many import bulk"),
    ("list_$N", "List $n with $d, the newest first, by state or tag where wanted.", Risk::Observe, "show all overview"),
    ("get_$_", "Everything that is known about one $1: $d, and when it was changed.", Risk::Observe, "show details"),
    ("update_$_", "Change a $1 in place; of its $d, what is not given stays as it is.", Risk::Write, "edit modify"),
    ("delete_$_", "Delete a $1 for good. It cannot be brought back; say so first.", Risk::Destroy, "remove erase"),
    ("search_$N", "Find $n by words in their $d, best first, within a span of time.", Risk::Observe, "find query"),
    ("export_$N", "Write $n with their $d into a file of the workspace.", Risk::Write, "save download backup csv"),
    ("share_$_", "Send a $1 with its $d to somebody, by mail or to an address.", Risk::Send, "forward publish give"),
    ("summarize_$N", "How many $n there are, and in a few sentences what stands out.", Risk::Observe, "report count"),
];

/// Every tool, each doing nothing.
pub fn tools() -> Vec<Arc<Tool>> {
    let both = THINGS.iter().flat_map(|thing| ACTIONS.iter().map(move |action| (thing, action)));
    both.enumerate().map(|(at, (thing, action))| tool(at, thing, action).into()).collect()
}

fn tool(at: usize, thing: &(&str, &str, &str, &str), action: &(&str, &str, Risk, &str)) -> Tool {
    let (&(one, several, details, words), &(name, about, risk, more)) = (thing, action);
    let written = |text: &str| text.replace("$_", one).replace("$N", several);
    let name = written(name);
    let verb = name.split('_').next().unwrap_or_default().to_owned();
    let about = about.replace("$1", &one.replace('_', " ")).replace("$n", &several.replace('_', " "));
    let alias = at.is_multiple_of(3).then(|| Alias { name: format!("{several}_{verb}").into(), adapt: None });
    let mut category = several.replace('_', " ");
    category[..1].make_ascii_uppercase();
    let area = match verb.as_str() {
        "export" => Area::FileWrite,
        "share" => Area::NetworkWrite,
        _ => Area::Memory,
    };
    let run: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(Output::text("done")) }));
    Tool {
        signature: Signature::given(&about.replace("$d", details), parameters(&verb, &one.replace('_', " "))),
        category: category.into(),
        aliases: alias.into_iter().collect(),
        // As built-in tools have them: for as long as the program runs.
        tags: format!("{words} {more}").leak(),
        area,
        idempotent: false,
        ..Tool::new(&name, risk, Owner::Core, several, run)
    }
}

fn parameters(verb: &str, one: &str) -> Value {
    let text = |about: String| json!({"type": "string", "description": about});
    let tags = json!({"type": "array", "items": {"type": "string"}, "description": "Words it is found by."});
    let fields = json!({
        "title": text(format!("What the {one} is called, in a few words.")),
        "content": text(format!("All there is to say about the {one}, as plain text.")),
        "importance": {"type": "number", "minimum": 0, "maximum": 1, "description": "0 to 1, higher = more important."},
        "due": text("The day it is for, such as 2026-01-30.".into()),
        "shared": {"type": "boolean", "description": "Whether everybody in the household may see it."},
        "tags": tags,
    });
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most."});
    let state =
        json!({"type": "string", "enum": ["open", "done", "archived"], "description": "Only those in this state."});
    let id = text(format!("The id of the {one}, as lists show it."));
    let (properties, required) = match verb {
        "add" => (fields, json!(["title"])),
        "batch" => {
            let item = json!({"type": "object", "properties": fields, "required": ["title"]});
            let items =
                json!({"type": "array", "items": item, "minItems": 1, "maxItems": 100, "description": "Each one."});
            (json!({"items": items}), json!(["items"]))
        }
        "list" => {
            (json!({"limit": limit, "status": state, "tag": text("Only those with this tag.".into())}), json!([]))
        }
        "update" => {
            let mut fields = fields;
            fields["id"] = id;
            (fields, json!(["id"]))
        }
        "search" => {
            let (from, to) = (text("Not before this day.".into()), text("Not after this day.".into()));
            (json!({"query": text("Words.".into()), "limit": limit, "from": from, "to": to}), json!(["query"]))
        }
        "export" => {
            let format = json!({"type": "string", "enum": ["csv", "json", "markdown"], "description": "The format."});
            (
                json!({"path": text("Where the file goes, inside the workspace.".into()), "format": format}),
                json!(["path"]),
            )
        }
        "share" => {
            let to = json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "To whom."});
            let url = text("An address to post it to, instead of mail.".into());
            (json!({"id": id, "to": to, "url": url, "message": text("What to say with it.".into())}), json!(["id"]))
        }
        "summarize" => (json!({"from": text("Not before this day.".into()), "status": state}), json!([])),
        _ => (json!({"id": id}), json!(["id"])),
    };
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

/// What the policy may name: these tools.
pub struct Catalogue(HashMap<Arc<str>, Arc<str>>, HashMap<Arc<str>, Vec<Arc<str>>>);

impl Catalogue {
    /// Of these tools.
    pub fn of(tools: &[Arc<Tool>]) -> Self {
        let (mut names, mut groups) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for tool in tools {
            names.insert(tool.name.clone(), tool.name.clone());
            names.extend(tool.aliases.iter().map(|a| (a.name.clone(), tool.name.clone())));
            groups.entry(tool.group.clone()).or_default().push(tool.name.clone());
        }
        Self(names, groups)
    }
}

impl Names for Catalogue {
    fn canonical(&self, name: &str) -> Option<Arc<str>> {
        self.0.get(name).cloned()
    }
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>> {
        self.1.get(id).cloned()
    }
    fn groups(&self) -> Vec<Arc<str>> {
        self.1.keys().cloned().collect()
    }
}

/// A policy of many entries, all of which name something there is, and how many they are. Every list has a part in it, so
/// that no step is skipped: what [`MARTA`] may still do has passed them all.
///
/// # Errors
/// When the policy makes no sense.
pub fn policy(tools: &[Arc<Tool>]) -> Result<(Policy, usize)> {
    let groups: BTreeSet<&str> = tools.iter().map(|t| &*t.group).collect();
    let groups: Vec<String> = groups.into_iter().map(|g| format!("group:{g}")).collect();
    let named = |verb: &str, n: usize| {
        let verb = format!("{verb}_");
        tools.iter().map(|t| t.name.to_string()).filter(move |name| name.starts_with(&verb)).take(n).collect::<Vec<_>>()
    };
    let user = |at: usize| {
        json!({
            "level": "execute",
            "areas": ["memory", "file_read", "file_write", "network_read", "network_write"],
            "allowedTools": named("delete", 2 + at % 3),
            "deniedTools": named("share", 30).into_iter().skip(at).step_by(7).collect::<Vec<_>>(),
            "allowedPaths": ["notes", "documents/2026", "exports", format!("people/{at}")],
            "allowedHosts": ["example.org", "*.example.org", format!("person-{at}.example.com"), "192.168.1.5"],
            "ask": named("export", 30).into_iter().skip(at + 2).step_by(6).collect::<Vec<_>>(),
            "autonomy": "medium",
        })
    };
    let mut users = serde_json::Map::new();
    users.insert(MARTA.to_string(), user(0));
    for at in 1..6u8 {
        users.insert(UserId(Id::from_bytes([at; 16])).to_string(), user(at.into()));
    }
    let document = json!({
        "autonomy": "medium",
        "allow": groups,
        "deny": named("batch", 30),
        "alsoAllow": named("summarize", 10),
        "ask": named("share", 15),
        "byProvider": {"openai": {"allow": groups}},
        "agents": {"general": {
            "allow": groups, "deny": named("get", 30).split_off(20), "byProvider": {"openai": {"allow": groups}},
        }},
        "chats": {"kitchen": {"allow": groups.iter().take(8).collect::<Vec<_>>()}},
        "subagents": {"deny": named("update", 5)},
        "users": users,
    });
    let policy: Policy = serde_json::from_value(document.clone())?;
    policy.check()?;
    Ok((policy, entries(&document)))
}

/// The members of all lists.
fn entries(document: &Value) -> usize {
    match document {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.values().map(entries).sum(),
        _ => 0,
    }
}

/// What people said yes to for good: for each of the first tools one pattern, and for `often` many.
///
/// # Errors
/// When a pattern makes no sense.
pub fn grants(tools: &[Arc<Tool>], often: &str) -> Result<Vec<Grant>> {
    let grant = |tool: &Arc<str>, pattern: &Value| {
        Ok(Grant { id: Id::new(), user: MARTA, tool: tool.clone(), version: 0, pattern: Pattern::parse(pattern)? })
    };
    let own =
        tools.iter().filter(|t| t.risk == Risk::Send).map(|t| grant(&t.name, &json!({"id": "*", "to": ["marta"]})));
    let name: Arc<str> = often.into();
    let many = (0..20).map(|at| grant(&name, &json!({"id": format!("{at}-*-*"), "url": "https://*.example.org/*"})));
    own.chain(many).collect()
}
