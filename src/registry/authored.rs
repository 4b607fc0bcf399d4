//! Tools that people and models write: who wrote one, its status and how that changes, who sees and manages it, and its place in
//! the catalogue, which follows each change at once. A family of them ([`Author`]) has its own records and runs its own tools.

use crate::{Registry, check_schema};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Coded, Collection, Entry, Key, Listing, Record, Store};
use text_kit::truncate;
use tokio::sync::{Mutex, MutexGuard};
use tool::{
    Cx, Error, Id, Label, Output, Owner, Result, Role, Run, Scope, Tool, UserId,
    prelude::{JsonSchema, schemars},
};

/// The group of all of them.
pub const GROUP: &str = "custom";
/// The maximum length of a description, in characters.
const DESCRIPTION: usize = 2_000;
/// The maximum size of a parameter schema, in bytes of JSON.
const SCHEMA: usize = 32 * 1024;

/// The author of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Created {
    /// A person.
    #[default]
    User,
    /// A model.
    Llm,
}

/// The status of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Active.
    #[default]
    Active,
    /// Disabled by a person.
    Disabled,
    /// Created by a model; a person must review it.
    PendingApproval,
    /// Rejected by a person.
    Rejected,
}

// Numbers in stored records; unknown ones map to the least privilege.
impl Coded for Created {
    const ALL: &'static [Self] = &[Created::User, Created::Llm];
    const UNKNOWN: Self = Created::Llm;
}
impl Coded for Status {
    const ALL: &'static [Self] = &[Status::Active, Status::Disabled, Status::PendingApproval, Status::Rejected];
    const UNKNOWN: Self = Status::Rejected;
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Disabled => "disabled",
            Status::PendingApproval => "waiting for approval",
            Status::Rejected => "rejected",
        }
    }
}

/// A change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Activate.
    Enable,
    /// Deactivate.
    Disable,
    /// Approve a model's tool that is pending or was rejected.
    Approve,
    /// Reject a model's pending tool.
    Reject,
}

impl Change {
    fn from(self, status: Status, name: &str) -> Result<Status> {
        use Status::{Active, Disabled, PendingApproval, Rejected};
        match (self, status) {
            (Change::Approve, PendingApproval | Rejected) => Ok(Active),
            (Change::Reject, PendingApproval) => Ok(Rejected),
            (Change::Approve | Change::Reject, _) => {
                Err(Error::bad_args(format!("`{name}` is not waiting for approval: it is {}", status.word())))
            }
            (Change::Enable, PendingApproval | Rejected) => Err(Error::bad_args(format!(
                "`{name}` is {}: only a person's approval can make it usable",
                status.word()
            ))),
            (Change::Enable, _) => Ok(Active),
            (Change::Disable, PendingApproval | Rejected) => {
                Err(Error::bad_args(format!("`{name}` is {} and cannot be used anyway", status.word())))
            }
            (Change::Disable, _) => Ok(Disabled),
        }
    }
}

/// The first fields of a stored tool. Nothing is ever added here: it is stored, and other fields follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The 8 bytes of its id.
    pub handle: [u8; 8],
    /// Its name.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// Its parameters: the text of a JSON Schema.
    pub parameters: String,
}

impl Head {
    /// Validates the parts of a new tool. `word` is what it is, such as "custom tool".
    ///
    /// # Errors
    /// `BadArgs` with what is wrong.
    pub fn checked(word: &str, name: String, description: &str, parameters: Value) -> Result<Self> {
        check_name(word, &name)?;
        let description = description.trim();
        match description.chars().count() {
            0 => return Err(Error::bad_args("`description` is empty: say what the tool does and when to use it")),
            n if n > DESCRIPTION => {
                return Err(Error::bad_args(format!(
                    "`description` has {n} characters, and the maximum is {DESCRIPTION}"
                )));
            }
            _ => {}
        }
        let parameters = check_parameters(parameters)?.to_string();
        let mut handle = [0; 8];
        handle.copy_from_slice(&Id::new().as_bytes()[8..]);
        Ok(Self { handle, name, description: description.to_owned(), parameters })
    }

    /// The parameter schema, validated before it was stored.
    pub fn parameters(&self) -> Value {
        serde_json::from_str(&self.parameters).unwrap_or(Value::Null)
    }

    /// The index values of a record.
    pub fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name), Key::unique(2, self.handle)]
    }
}

/// The fields of a stored tool that its life changes. Nothing is ever added here: it is stored, and other fields may follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Its status.
    #[serde(with = "store::coded")]
    pub status: Status,
    /// Whether each call needs a person's approval.
    pub requires_approval: bool,
    /// Its author.
    #[serde(with = "store::coded")]
    pub created_by: Created,
    /// Incremented by each change of what it does.
    pub version: u32,
    /// The number of calls.
    pub usage_count: u32,
    /// Milliseconds since 1970; 0 means never.
    pub last_used_ms: u64,
}

impl Life {
    /// Of a new tool. Each call of a model's tool needs a person's approval.
    pub fn new(created_by: Created, status: Status, requires_approval: Option<bool>) -> Self {
        let requires_approval = created_by == Created::Llm || requires_approval.unwrap_or(false);
        Self { status, requires_approval, created_by, version: 1, usage_count: 0, last_used_ms: 0 }
    }

    /// After a change: of the new version only whether calls need approval is taken over.
    #[must_use]
    pub fn changed(&self, new: &Self, does_other: bool, waits: bool) -> Self {
        Self {
            status: if waits { Status::PendingApproval } else { self.status },
            requires_approval: new.requires_approval,
            version: self.version + u32::from(does_other),
            ..self.clone()
        }
    }

    /// The time of the last call (ISO 8601).
    pub fn last_used_at(&self) -> Option<String> {
        (self.last_used_ms > 0).then(|| iso(self.last_used_ms))
    }
}

/// A time in ISO 8601.
pub fn iso(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().to_string()
}

fn check_name(word: &str, name: &str) -> Result<()> {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if good {
        return Ok(());
    }
    Err(Error::bad_args(format!(
        "`{}` cannot be a {word}'s name: begin with a lower-case letter, then lower-case letters, digits and underscores, 64 at \
         most",
        truncate(name, 80)
    )))
}

/// The schema as an object; JSON text is parsed.
fn check_parameters(parameters: Value) -> Result<Value> {
    let parameters = match parameters {
        Value::String(text) => {
            serde_json::from_str(&text).map_err(|e| Error::bad_args(format!("`parameters` is not valid JSON: {e}")))?
        }
        other => other,
    };
    if parameters["type"] != "object" {
        let example = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        return Err(Error::bad_args(format!("`parameters` must be a JSON Schema of type object, such as {example}")));
    }
    if parameters.to_string().len() > SCHEMA {
        return Err(Error::bad_args(format!("`parameters` is longer than {SCHEMA} bytes: simplify it")));
    }
    check_schema(&parameters)?;
    Ok(parameters)
}

/// The record of a written tool.
pub trait Authored: Record {
    /// The beginning of its ids, such as `tool_`; 16 hex digits follow.
    const PREFIX: &'static str;
    /// Its first fields.
    fn head(&self) -> &Head;
    /// The fields that its life changes.
    fn life(&self) -> &Life;
    /// The same, to be changed.
    fn life_mut(&mut self) -> &mut Life;

    /// The permanent id, independent of the name.
    fn id(&self) -> String {
        format!("{}{:016x}", Self::PREFIX, u64::from_be_bytes(self.head().handle))
    }
}

/// The records of a family of written tools, and the catalogue they are published to. Cheap to clone.
#[derive(Clone)]
pub struct AuthoredTools<T: Authored> {
    /// The records.
    pub records: Collection<T>,
    /// The catalogue.
    pub registry: Registry,
    changing: Arc<Mutex<()>>,
}

impl<T: Authored> AuthoredTools<T> {
    /// Those in `store`.
    pub fn new(store: &Store, registry: Registry) -> Self {
        Self { records: store.collection(), registry, changing: Arc::default() }
    }

    /// Held from a write until the catalogue is updated, so that both agree.
    pub async fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// All of them, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn all(&self) -> Result<Vec<Entry<T>>> {
        Ok(self.records.list_in(Scope::Household, &Listing::default())?)
    }

    /// The one with a name.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn named(&self, name: &str) -> Result<Option<Entry<T>>> {
        self.find_by(1, name.as_bytes())
    }

    /// The one with an id that this caller may manage.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none; `Denied`.
    pub fn managed(&self, cx: &Cx, id: &str) -> Result<Entry<T>> {
        let entry = self.seen(cx, id)?;
        may_manage(cx, &entry)?;
        Ok(entry)
    }

    /// The one with an id.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none.
    pub fn seen(&self, cx: &Cx, id: &str) -> Result<Entry<T>> {
        let digits = id.strip_prefix(T::PREFIX).filter(|digits| digits.len() == 16);
        let handle = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let found = match handle {
            Some(handle) => self.find_by(2, &handle.to_be_bytes())?,
            None => None,
        };
        found.filter(|entry| can_see(cx, entry)).ok_or_else(|| {
            let (word, prefix) = (T::WORD, T::PREFIX);
            let id = truncate(id, 40);
            Error::not_found(format!("there is no {word} with the id `{id}`: ids look like {prefix}0123456789abcdef"))
        })
    }

    fn find_by(&self, index: u8, value: &[u8]) -> Result<Option<Entry<T>>> {
        let listing = Listing { by: Some((index, value.to_vec())), limit: 1, before: None };
        Ok(self.records.list_in(Scope::Household, &listing)?.pop())
    }

    /// Takes a tool out of the catalogue that is gone from the store.
    pub fn withdraw(&self, cx: &Cx, entry: &Entry<T>) {
        self.registry.remove(GROUP, &entry.value.head().name);
        announce(cx, entry);
    }

    fn count_use(&self, id: Id) {
        let (records, now) = (self.records.clone(), Id::new().millis());
        self.records.store().write_later(move |tx| {
            let count = &mut |stored: &mut T| {
                let life = stored.life_mut();
                life.usage_count = life.usage_count.saturating_add(1);
                life.last_used_ms = now;
                Ok(())
            };
            match records.change(tx, Scope::Household, Label::Own, id, count) {
                Err(store::Error::Missing(_)) => Ok(()),
                other => other.map(drop),
            }
        });
    }
}

/// A family of written tools.
pub trait Author: Clone + Send + Sync + 'static {
    /// Its records.
    type Stored: Authored;
    /// The view of one for a caller.
    type View: From<Entry<Self::Stored>> + Serialize + JsonSchema + Send + 'static;
    /// A new one.
    type Draft: DeserializeOwned + JsonSchema + Send + 'static;
    /// A change of one; absent fields stay.
    type Patch: DeserializeOwned + JsonSchema + Send + 'static;

    /// The records.
    fn tools(&self) -> &AuthoredTools<Self::Stored>;

    /// The entry of a tool in the catalogue.
    ///
    /// # Errors
    /// `BadArgs` when the record does not make a tool, as one of another version of Hob.
    fn entry(&self, stored: &Self::Stored, owner: Owner, label: Label, run: Run) -> Result<Tool>;

    /// Create a tool. A model's tool may wait for a person's approval; others are active at once.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid or its name is taken.
    fn create(&self, cx: &Cx, draft: Self::Draft, by: Created) -> impl Future<Output = Result<Self::View>> + Send;

    /// Apply a patch; the next call uses the result.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the result is invalid or its new name is taken.
    fn update(&self, cx: &Cx, id: &str, patch: Self::Patch) -> impl Future<Output = Result<Self::View>> + Send;

    /// Delete a tool permanently.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    fn delete(&self, cx: &Cx, id: &str) -> impl Future<Output = Result<()>> + Send;

    /// Runs an active tool.
    fn run<'a>(&'a self, cx: &'a Cx, stored: &'a Self::Stored, args: Value) -> BoxFuture<'a, Result<Output>>;

    /// List the tools visible to this caller, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    fn list(&self, cx: &Cx) -> Result<Vec<Self::View>> {
        let all = self.tools().all()?;
        Ok(all.into_iter().filter(|entry| can_see(cx, entry)).map(Self::View::from).collect())
    }

    /// Find a tool by its id.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none.
    fn get(&self, cx: &Cx, id: &str) -> Result<Self::View> {
        Ok(self.tools().seen(cx, id)?.into())
    }

    /// Change the status of a tool. Only a person ends `pending_approval`, by approving or rejecting.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the transition is not possible.
    fn set_status(&self, cx: &Cx, id: &str, change: Change) -> impl Future<Output = Result<Self::View>> + Send {
        set_status(self, cx, id, change)
    }

    /// Publish an active tool to the catalogue.
    ///
    /// # Errors
    /// `BadArgs` when its name is taken there.
    fn publish(&self, entry: &Entry<Self::Stored>) -> Result<()> {
        let life = entry.value.life();
        if life.status != Status::Active {
            return Ok(());
        }
        let (this, id, version) = (self.clone(), entry.id, life.version);
        let run: Run = Arc::new(move |cx, args| {
            let this = this.clone();
            Box::pin(async move { call(&this, cx, id, version, args).await })
        });
        let owner = match life.created_by {
            Created::User => Owner::Person(entry.owner),
            Created::Llm => Owner::Model(entry.owner),
        };
        self.tools().registry.add_tool(self.entry(&entry.value, owner, entry.label, run)?)
    }

    /// Publish every active tool at start-up. Invalid ones are logged and skipped.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    fn publish_all(&self) -> Result<()> {
        for entry in self.tools().all()? {
            if let Err(error) = self.publish(&entry) {
                let word = Self::Stored::WORD;
                tracing::warn!(tool = %entry.value.head().name, %error, "a {word} could not be published to the catalogue");
            }
        }
        Ok(())
    }

    /// Publish a tool that was changed, and had this name before.
    ///
    /// # Errors
    /// As [`Author::publish`].
    fn republish(&self, cx: &Cx, old_name: &str, entry: Entry<Self::Stored>) -> Result<Self::View> {
        self.tools().registry.remove(GROUP, old_name);
        self.publish(&entry)?;
        announce(cx, &entry);
        Ok(entry.into())
    }

    /// Publish a new tool.
    ///
    /// # Errors
    /// As [`Author::publish`].
    fn publish_new(&self, cx: &Cx, entry: Entry<Self::Stored>) -> Result<Self::View> {
        self.publish(&entry)?;
        announce(cx, &entry);
        Ok(entry.into())
    }

    /// Run a tool once that is in no catalogue, dispatched like every call.
    fn call_once(
        &self,
        cx: &Cx,
        stored: &Self::Stored,
        args: Value,
        run: Run,
    ) -> impl Future<Output = Result<Output>> + Send {
        call_once(self, cx, self.entry(stored, Owner::Person(cx.user()), Label::Own, run), args)
    }
}

async fn set_status<A: Author>(author: &A, cx: &Cx, id: &str, change: Change) -> Result<A::View> {
    let tools = author.tools();
    let _changing = tools.changing().await;
    let entry = tools.managed(cx, id)?;
    change.from(entry.value.life().status, &entry.value.head().name)?;
    let set = move |stored: &mut A::Stored| {
        let status = change.from(stored.life().status, &stored.head().name);
        stored.life_mut().status = status.map_err(|e| store::Error::Conflict(e.to_string()))?;
        Ok(())
    };
    let entry = tools.records.update_in(Scope::Household, Label::Own, entry.id, set).await?;
    let name = entry.value.head().name.clone();
    author.republish(cx, &name, entry)
}

async fn call_once<A: Author>(author: &A, cx: &Cx, tool: Result<Tool>, args: Value) -> Result<Output> {
    author.tools().registry.call_once(cx.clone(), Arc::new(tool?), args).await
}

/// Runs a call from the catalogue. The record is read again, so that recent changes apply; a decision about one version never runs
/// another.
async fn call<A: Author>(author: &A, cx: Cx, id: Id, version: u32, args: Value) -> Result<Output> {
    let gone = || Error::not_found(format!("this {} was deleted a moment ago", A::Stored::WORD));
    let entry = author.tools().records.get_in(Scope::Household, id)?.ok_or_else(gone)?;
    let (name, life) = (&entry.value.head().name, entry.value.life());
    if life.status != Status::Active {
        return Err(Error::unavailable(format!("`{name}` is not active: a person can enable it")));
    }
    if life.version != version {
        return Err(Error::unavailable(format!("`{name}` was changed a moment ago: call it again")));
    }
    // Content from outside taints the run.
    cx.taint(entry.label);
    let output = author.run(&cx, &entry.value, args).await;
    author.tools().count_use(id);
    output
}

/// A model's tool is visible to the person it was made for, and to admins, who are responsible for it.
pub fn can_see<T: Authored>(cx: &Cx, entry: &Entry<T>) -> bool {
    entry.value.life().created_by == Created::User || entry.owner == cx.user() || cx.principal().role == Role::Admin
}

/// Only its owner or an admin may change, switch or delete a tool.
///
/// # Errors
/// `Denied`.
fn may_manage<T: Authored>(cx: &Cx, entry: &Entry<T>) -> Result<()> {
    if entry.owner == cx.user() || cx.principal().role == Role::Admin {
        return Ok(());
    }
    let name = &entry.value.head().name;
    Err(Error::denied(format!("`{name}` belongs to another person: ask them or an admin to change it")))
}

/// The same for a call of a tool: a model may change only tools written by models.
///
/// # Errors
/// `Denied`.
pub fn may_change<T: Authored>(cx: &Cx, entry: &Entry<T>, verb: &str) -> Result<()> {
    may_manage(cx, entry)?;
    if author_of(cx) == Created::Llm && entry.value.life().created_by == Created::User {
        let name = &entry.value.head().name;
        return Err(Error::denied(format!(
            "`{name}` was written by a person, so a model cannot {verb} it: ask them to do it themselves"
        )));
    }
    Ok(())
}

/// The author of a tool that this call writes: a model where the call is in a run, or made by a tool that somebody wrote.
pub fn author_of(cx: &Cx) -> Created {
    if cx.run().is_some() || *cx.maker() != Owner::Core { Created::Llm } else { Created::User }
}

/// Whether an admin makes this call, by hand.
pub fn by_admin(cx: &Cx) -> bool {
    cx.principal().role == Role::Admin && *cx.maker() == Owner::Core
}

/// The answer of a tool that wrote another.
pub fn written(id: &str, name: &str, life: (u32, Status)) -> Output {
    let (version, status) = life;
    let next = match status {
        Status::PendingApproval => "It waits for a person's approval before it can be used.",
        _ => "It can be called by its name now.",
    };
    let content = json!({"id": id, "name": name, "version": version, "status": status, "note": next});
    Output { content, ..Output::default() }.say(format!("I made the tool {name}. {next}"))
}

/// Publishes that tools changed, without details; clients read them with their own access.
fn announce<T: Authored>(cx: &Cx, entry: &Entry<T>) {
    let to: Option<UserId> = (entry.value.life().created_by == Created::Llm).then_some(entry.owner);
    cx.ports().bus.publish("tools:changed", to, json!({"tool": entry.value.head().name}));
}
