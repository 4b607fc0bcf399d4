//! The ports: traits through which lower layers call upper ones. The assembly in the root implements them.

use crate::{Bus, Clock, Cx, Label, Output, Result, Risk, Role, UserId};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A tool as listed to those who may call it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct ToolInfo {
    /// The canonical name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub parameters: Value,
    /// The worst it can do.
    pub risk: Risk,
    /// The origin of the description and the parameters; not serialized.
    #[serde(skip)]
    pub label: Label,
}

/// Calling a tool by name: the one verb upward.
pub trait Dispatch: Send + Sync + 'static {
    /// Finds the tool, checks the arguments, decides, runs and records one call.
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>>;
    /// The tools this caller may call.
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

/// The answer of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(pub String);

/// An action of a running tool that its arguments need not show, such as reaching a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Consult {
    /// The tool's canonical name.
    pub tool: String,
    /// Its version: a grant covers one version.
    pub version: u32,
    /// One word for the action: `fetch`.
    pub action: &'static str,
    /// Its details, as an object: `{"host": "example.org"}`; the rules judge `host` and `path`. A grant covers these.
    pub details: Value,
    /// The worst it can do.
    pub risk: Risk,
    /// Whether a person must approve it; otherwise only the rules decide.
    pub ask: bool,
    /// The action in a sentence.
    pub about: String,
    /// Why a person is asked; also the error where nobody can be asked. Empty where nobody must be.
    pub reason: String,
}

/// Asking the person behind a call.
pub trait Ask: Send + Sync + 'static {
    /// Decides by the rules and, where a person must approve, asks and waits. `Denied` when a rule or the person refuses, or
    /// nobody answers in time.
    fn consult(&self, _: Cx, consult: Consult) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move { if consult.ask { Err(crate::Error::Denied(consult.reason.into())) } else { Ok(()) } })
    }
    /// Asks and waits. `Unavailable` where nobody can be asked.
    fn ask(&self, cx: Cx, question: Question) -> BoxFuture<'static, Result<Answer>>;
}

/// Words in the names of fields that hold a secret.
const SECRET: &[&str] = &["key", "token", "secret", "pass", "credential", "auth"];

/// Whether the name of a field sounds like that of a secret: the fallback where no schema says.
pub fn sounds_secret(field: &str) -> bool {
    let field = field.to_lowercase();
    SECRET.iter().any(|word| field.contains(word))
}

/// Looks up services that people set up (keys, addresses), by name.
pub trait Settings: Send + Sync + 'static {
    /// The names of all services that are set up.
    fn services(&self) -> Vec<String> {
        vec![]
    }
    /// All entries of a service, the default first; empty when it is not set up.
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)>;

    /// One entry: the named one, else the default.
    fn entry(&self, service: &str, label: Option<&str>) -> Option<Map<String, Value>> {
        self.entries(service).into_iter().find(|(name, _)| label.is_none_or(|wanted| wanted == name)).map(|e| e.1)
    }
    /// One field of an entry.
    fn field(&self, service: &str, field: &str, label: Option<&str>) -> Option<Value> {
        self.entry(service, label)?.remove(field)
    }
    /// Whether a field of a service holds a secret: by its schema, else by its name.
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
    /// The name of a person; `None` when they are gone.
    fn name_of(&self, _user: UserId) -> Option<String> {
        None
    }
    /// Everybody, with their names.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    fn everybody(&self) -> Result<Vec<(UserId, String)>> {
        Ok(vec![])
    }
}

/// The ports a call carries.
#[derive(Clone)]
pub struct Ports {
    /// Calls tools.
    pub dispatch: Arc<dyn Dispatch>,
    /// Asks people.
    pub ask: Arc<dyn Ask>,
    /// Looks up services.
    pub settings: Arc<dyn Settings>,
    /// Looking up people.
    pub people: Arc<dyn People>,
    /// Telling what happened.
    pub bus: Bus,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// Ports without an implementation: no tool is found, nobody can be asked, no service is set up.
pub struct Unconnected;

impl Dispatch for Unconnected {
    fn call(&self, _: Cx, name: &str, _: Value) -> BoxFuture<'static, Result<Output>> {
        let text = format!("there is no tool called `{name}`");
        Box::pin(async { Err(crate::Error::NotFound(text.into())) })
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
    /// Ports without an implementation, to be replaced one by one; lower layers test with them.
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
