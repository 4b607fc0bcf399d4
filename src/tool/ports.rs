//! The ports: what lower layers may ask of upper ones, as traits the assembly fills.

use crate::{Bus, Clock, Cx, Label, Output, Result, Risk, Role, UserId};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is told about a tool to those who may call it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct ToolInfo {
    /// The canonical name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub parameters: Value,
    /// The worst it can do.
    pub risk: Risk,
    /// Where the description and the parameters are from; not told.
    #[serde(skip)]
    pub label: Label,
}

/// Calling a tool by name: the one verb upward.
pub trait Dispatch: Send + Sync + 'static {
    /// Finds, checks, decides, runs and records one call.
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>>;
    /// The tools this caller could call.
    fn list(&self, cx: &Cx) -> Vec<ToolInfo>;
}

/// A question for the person behind a call.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Question {
    /// The question, in plain words.
    pub text: String,
    /// Answers to choose from; empty for a free answer.
    pub choices: Vec<String>,
}

/// What the person answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(pub String);

/// Something a tool wants to do while it runs, which its arguments need not show: to reach a host, say.
#[derive(Debug, Clone, PartialEq)]
pub struct Consult {
    /// The tool's canonical name.
    pub tool: String,
    /// Its version: a standing yes is for one.
    pub version: u32,
    /// One word for what it wants: `fetch`.
    pub action: &'static str,
    /// The particulars, as an object: `{"host": "example.org"}`. A standing yes is for these.
    pub details: Value,
    /// How bad it can be.
    pub risk: Risk,
    /// Whether a person has to say yes; otherwise only the rules are asked.
    pub ask: bool,
    /// What would be done, in a sentence.
    pub about: String,
    /// Why a person is asked; also the error where nobody can be. Empty where nobody has to be.
    pub reason: String,
}

/// Asking the person behind a call.
pub trait Ask: Send + Sync + 'static {
    /// Judges by the rules and, where a person has to say yes, asks and waits. `Denied` when a rule or the person says
    /// no, or nobody answers in time.
    fn consult(&self, _: Cx, consult: Consult) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move { if consult.ask { Err(crate::Error::Denied(consult.reason)) } else { Ok(()) } })
    }
    /// Asks and waits. `Unavailable` where nobody can be asked.
    fn ask(&self, cx: Cx, question: Question) -> BoxFuture<'static, Result<Answer>>;
}

/// Words in the names of fields that hold a secret.
const SECRET: &[&str] = &["key", "token", "secret", "pass", "credential", "auth"];

/// Whether the name of a field sounds like that of a secret: what is gone by where nobody said.
pub fn sounds_secret(field: &str) -> bool {
    let field = field.to_lowercase();
    SECRET.iter().any(|word| field.contains(word))
}

/// Looking up services people set up (keys, addresses), by service name.
pub trait Settings: Send + Sync + 'static {
    /// The names of all services people set up.
    fn services(&self) -> Vec<String> {
        vec![]
    }
    /// All entries of a service, the default first; empty when nobody set it up.
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)>;

    /// One entry: the named one, else the default.
    fn entry(&self, service: &str, label: Option<&str>) -> Option<Map<String, Value>> {
        self.entries(service).into_iter().find(|(name, _)| label.is_none_or(|wanted| wanted == name)).map(|e| e.1)
    }
    /// One field of an entry.
    fn field(&self, service: &str, field: &str, label: Option<&str>) -> Option<Value> {
        self.entry(service, label)?.remove(field)
    }
    /// Whether a field of a service holds a secret: what its schema says, else what its name does.
    fn is_secret(&self, _service: &str, field: &str) -> bool {
        sounds_secret(field)
    }
}

/// Looking up the people of the household.
pub trait People: Send + Sync + 'static {
    /// The role of a person today, for work done in their name; `None` when they are gone.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    fn role_of(&self, user: UserId) -> Result<Option<Role>>;
}

/// The ports a call carries.
#[derive(Clone)]
pub struct Ports {
    /// Calling tools.
    pub dispatch: Arc<dyn Dispatch>,
    /// Asking people.
    pub ask: Arc<dyn Ask>,
    /// Looking up services.
    pub settings: Arc<dyn Settings>,
    /// Looking up people.
    pub people: Arc<dyn People>,
    /// Telling what happened.
    pub bus: Bus,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// Ports with nothing behind them: no tool is found, nobody can be asked, nothing is set up.
pub struct Unconnected;

impl Dispatch for Unconnected {
    fn call(&self, _: Cx, name: &str, _: Value) -> BoxFuture<'static, Result<Output>> {
        let text = format!("there is no tool called `{name}`");
        Box::pin(async { Err(crate::Error::NotFound(text)) })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}

impl Ask for Unconnected {
    fn ask(&self, _: Cx, _: Question) -> BoxFuture<'static, Result<Answer>> {
        Box::pin(async { Err(crate::Error::unavailable("nobody can be asked through this door yet")) })
    }
}

impl Settings for Unconnected {
    fn entries(&self, _: &str) -> Vec<(String, Map<String, Value>)> {
        vec![]
    }
}

impl People for Unconnected {
    /// The owner is an admin, and everybody else a member.
    fn role_of(&self, user: UserId) -> Result<Option<Role>> {
        Ok(Some(if user == UserId::OWNER { Role::Admin } else { Role::Member }))
    }
}

impl Ports {
    /// Ports with nothing behind them, to be filled one by one; lower layers test with them.
    pub fn unconnected(clock: Arc<dyn Clock>) -> Self {
        let nothing = Arc::new(Unconnected);
        Self {
            dispatch: nothing.clone(),
            ask: nothing.clone(),
            settings: nothing.clone(),
            people: nothing,
            bus: Bus::default(),
            clock,
        }
    }
}
