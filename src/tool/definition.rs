//! One tool: its name, its schema, every fact about it, and the function that runs it.

use crate::{
    Area, Cx, Label, Output, Owner, Result, Risk,
    signature::{self, PageSize, Signature},
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The function behind a tool; dispatch has already checked the arguments against the schema.
pub type Run = Arc<dyn Fn(Cx, Value) -> BoxFuture<'static, Result<Output>> + Send + Sync>;

/// Whether a call with these arguments only adds something.
pub type Additive = Arc<dyn Fn(&Cx, &Value) -> bool + Send + Sync>;

/// Whether a call with these arguments opens, unlocks or disarms something.
pub type Opens = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// Whether a call with these arguments destroys something.
pub type Destroys = Arc<dyn Fn(&Cx, &Value) -> bool + Send + Sync>;

/// How long a call may take unless the tool says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Another name of a tool.
#[derive(Clone)]
pub struct Alias {
    /// The name.
    pub name: Arc<str>,
    /// Converts arguments in the form of the alias to those of the tool; `None` where they are the same.
    pub adapt: Option<fn(Value) -> Value>,
}

/// When a request to a model offers a tool.
#[derive(Clone, Default)]
pub enum Offer {
    /// Once the model has found it with `search_tools`.
    #[default]
    Found,
    /// Never, but models know its name: a call of it that is written as text is read as a call.
    Known,
    /// Always.
    Always,
    /// While this holds; models know its name meanwhile.
    While(Arc<dyn Fn() -> bool + Send + Sync>),
    /// If this section of the system prompt is left out; models know its name otherwise.
    Without(&'static str),
}

impl Offer {
    /// Whether requests offer it; `has_section` says whether the system prompt has a section.
    pub fn is_due(&self, has_section: impl FnOnce(&str) -> bool) -> bool {
        match self {
            Offer::Found | Offer::Known => false,
            Offer::Always => true,
            Offer::While(holds) => holds(),
            Offer::Without(section) => !has_section(section),
        }
    }
}

/// One tool, as the catalogue stores it.
#[derive(Clone)]
pub struct Tool {
    /// The canonical name: a letter, then letters, digits and underscores, 64 at most.
    pub name: Arc<str>,
    /// Its description and parameters.
    pub signature: Signature,
    /// The worst it can do.
    pub risk: Risk,
    /// The maker of the tool.
    pub owner: Owner,
    /// The heading in lists of tools.
    pub category: Arc<str>,
    /// The group it is listed with, which switches it.
    pub group: Arc<str>,
    /// Other groups it belongs to. They switch it too, except those that only gather tools.
    pub also_in: &'static [&'static str],
    /// Other names.
    pub aliases: Vec<Alias>,
    /// Search words, separated by spaces; never shown to a model.
    pub tags: &'static str,
    /// The part of the world it touches.
    pub area: Area,
    /// Raised when its behaviour changes: a grant covers one version. Built-in tools have 0.
    pub version: u32,
    /// Whether a person should be asked first.
    pub requires_confirmation: bool,
    /// Whether a call with these arguments opens, unlocks or disarms something: a person approves each such call that they do
    /// not make by hand.
    pub opens: Option<Opens>,
    /// Whether a call with these arguments destroys something: it is then judged as one of [`Risk::Destroy`].
    pub destroys: Option<Destroys>,
    /// Whether it stores text that a model later follows (prompts, notes, skills, tools, rules, schedules), or replaces what
    /// a person wrote: a tainted run asks first.
    pub persists_instructions: bool,
    /// Whether a call with these arguments only adds something, and changes, hides or replaces nothing. In a tainted run, a
    /// tool of [`Risk::Write`] without it, or for which it is false, asks first; so does one of [`Risk::Execute`] that has it and
    /// for which it is false.
    pub additive: Option<Additive>,
    /// Whether it runs the scripts of the pages it opens: these also read the fragment of a URL, which no request sends.
    pub runs_pages: bool,
    /// Whether it returns digests, checksums or ids: long hex in its output is no secret.
    pub returns_digests: bool,
    /// Whether it returns a new secret that the caller asked for: the scrubber leaves it in.
    pub returns_secret: bool,
    /// Whether a repeated call with the same arguments has the same effect as one call.
    pub idempotent: bool,
    /// Whether the call starts work that continues after it returns.
    pub detached: bool,
    /// Whether it waits for the answer of a person.
    pub asks_person: bool,
    /// Whether it makes calls or schedules happen later: nothing that happens later may call it.
    pub automates: bool,
    /// Whether the system prompt names it for doing something later.
    pub plans_ahead: bool,
    /// The ability it gives an agent, for the system prompt; empty where it needs no mention.
    pub ability: &'static str,
    /// Whether models reach all other tools through it: only a role and a deny stop it, because each call it makes is judged
    /// by itself.
    pub meta: bool,
    /// When a request to a model offers it.
    pub offer: Offer,
    /// The parameters that a request shows beside the required ones; all where it is empty.
    pub shows: &'static [&'static str],
    /// Names that other APIs give its parameters, each with the parameter that is meant: `("cwd", "workingDir")`. Calls may use
    /// them, also within the objects of a list.
    pub synonyms: &'static [(&'static str, &'static str)],
    /// The parameters that hold no path, although their names are those of paths: commits, languages.
    pub not_paths: &'static [&'static str],
    /// The tools it calls in its own name: a policy entry that names it covers them too.
    pub facade_for: &'static [&'static str],
    /// How many results a call may ask for.
    pub page: Option<PageSize>,
    /// How many calls one person may make in a minute.
    pub per_minute: Option<u32>,
    /// Example arguments for help; generated from the schema where there are none.
    pub examples: Vec<Value>,
    /// A disabled tool is listed, and a call of it says how to turn it on.
    pub enabled: bool,
    /// The group that keeps it off, where that is not `group`.
    pub off_by: Option<Arc<str>>,
    /// The origin of its description and parameters: those of a stranger taint whoever reads them.
    pub label: Label,
    /// How long a call may take.
    pub timeout: Duration,
    /// The function.
    pub run: Run,
}

impl Tool {
    /// A tool of this group and owner without any special facts.
    pub fn new(name: &str, risk: Risk, owner: Owner, group: &str, run: Run) -> Self {
        Self {
            name: name.into(),
            signature: Signature::given("", Value::Null),
            risk,
            owner,
            category: group.into(),
            group: group.into(),
            also_in: &[],
            aliases: vec![],
            tags: "",
            area: risk.area(),
            version: 0,
            requires_confirmation: false,
            persists_instructions: false,
            additive: None,
            opens: None,
            destroys: None,
            runs_pages: false,
            returns_digests: false,
            returns_secret: false,
            idempotent: risk == Risk::Observe,
            detached: false,
            asks_person: false,
            automates: false,
            plans_ahead: false,
            ability: "",
            meta: false,
            offer: Offer::Found,
            shows: &[],
            synonyms: &[],
            not_paths: &[],
            facade_for: &[],
            page: None,
            per_minute: None,
            examples: vec![],
            enabled: true,
            off_by: None,
            label: Label::Own,
            timeout: TIMEOUT,
            run,
        }
    }

    /// The description for models and people.
    pub fn description(&self) -> &str {
        self.signature.description()
    }

    /// The risk of a call of this caller with these arguments.
    pub fn risk_of(&self, cx: &Cx, args: &Value) -> Risk {
        let destroys = self.destroys.as_ref().is_some_and(|destroys| destroys(cx, args));
        if destroys { Risk::Destroy } else { self.risk }
    }

    /// Parameters as an inlined JSON Schema object.
    pub fn parameters(&self) -> &Value {
        self.signature.parameters(self.page)
    }

    /// Parameters as a request to a model shows them. A call may use all of [`Tool::parameters`].
    pub fn shown_parameters(&self) -> Value {
        signature::shown(self.parameters(), self.shows)
    }

    /// Whether all it changes is in the store, so that a call without a mark there has changed nothing. Calls it makes
    /// through other tools count for those tools.
    pub fn is_confined(&self) -> bool {
        self.owner == Owner::Core && matches!(self.risk, Risk::Write | Risk::Destroy)
    }
}
