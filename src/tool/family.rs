//! A family of tools: plain async functions over one typed state.

use crate::{Area, Cx, Error, Label, Output, Owner, Result, Risk, output::IntoOutput, schema_of};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// What runs when a tool is called; dispatch has already checked the arguments against the schema.
pub type Run = Arc<dyn Fn(Cx, Value) -> BoxFuture<'static, Result<Output>> + Send + Sync>;

/// Whether a call of a tool leaves alone what is there.
pub type Additive = Arc<dyn Fn(&Cx, &Value) -> bool + Send + Sync>;

/// How long a call may take unless the tool says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Another name a tool answers to.
#[derive(Clone)]
pub struct Alias {
    /// The name, by the rules of all names.
    pub name: Arc<str>,
    /// Makes arguments as the other name documents them into those of the tool; without one they are the same.
    pub adapt: Option<fn(Value) -> Value>,
}

/// One tool, as the catalogue keeps it.
#[derive(Clone)]
pub struct Tool {
    /// The canonical name: a letter, then letters, digits and underscores, 64 at most.
    pub name: Arc<str>,
    /// What it does, for models and people.
    pub description: Arc<str>,
    /// Parameters as an inlined JSON Schema object.
    pub parameters: Value,
    /// The worst it can do.
    pub risk: Risk,
    /// Who made it.
    pub owner: Owner,
    /// The heading it stands under.
    pub category: Arc<str>,
    /// The family it belongs to; families are switched as a whole.
    pub group: Arc<str>,
    /// Other names it answers to.
    pub aliases: Vec<Alias>,
    /// Words it is found by; never shown to a model.
    pub tags: Vec<Arc<str>>,
    /// The part of the world it touches.
    pub area: Area,
    /// Raised when what it does changes: a standing yes is for one version. Hob's own tools have 0.
    pub version: u32,
    /// Whether a person should be asked first.
    pub requires_confirmation: bool,
    /// Whether it stores what a model will later follow (prompts, notes, skills, tools, rules, schedules), or puts something
    /// in the place of what a person wrote: a run that read from outside asks first.
    pub persists_instructions: bool,
    /// Whether a call with these arguments only adds something, and changes, hides or replaces nothing that is there. A tool
    /// of [`Risk::Write`] without it, or of which it is false, asks first in a run that read from outside.
    pub additive: Option<Additive>,
    /// Whether what it answers are digests, checksums or ids: long hex there is no secret.
    pub returns_digests: bool,
    /// Whether what it answers is a new secret that the caller asked for: it is told, and not taken for a leak.
    pub returns_secret: bool,
    /// Whether calling it twice with the same arguments is as good as once, as it is for all that only look.
    pub idempotent: bool,
    /// Arguments as an example, for help; one is made from the schema where there are none.
    pub examples: Vec<Value>,
    /// Off tools are listed and answer with how to turn them on.
    pub enabled: bool,
    /// The group that keeps it off, where that is not `group`.
    pub off_by: Option<Arc<str>>,
    /// Where its description and parameters are from: those of a stranger taint whoever is shown them.
    pub label: Label,
    /// How long a call may take.
    pub timeout: Duration,
    /// The function.
    pub run: Run,
}

impl Tool {
    /// Whether all it changes is in the store, so that a call without a mark there has changed nothing. What the calls it
    /// makes through other tools change is theirs.
    pub fn is_confined(&self) -> bool {
        self.owner == Owner::Core && matches!(self.risk, Risk::Write | Risk::Destroy)
    }
}

/// A family under construction: its tools over a state `S` that each call receives as a clone.
pub struct Family<S> {
    name: Arc<str>,
    about: Arc<str>,
    category: Arc<str>,
    phrases: &'static str,
    area: Option<Area>,
    state: S,
    tools: Vec<Tool>,
    /// For each tool, whether it has an area of its own.
    own_areas: Vec<bool>,
}

impl<S: Clone + Send + Sync + 'static> Family<S> {
    /// A family called `name` (its group), with one sentence about it.
    pub fn new(name: &str, about: &str, state: S) -> Self {
        let mut category = name.to_owned();
        if let Some(first) = category.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self {
            name: name.into(),
            about: about.into(),
            category: category.into(),
            phrases: "",
            area: None,
            state,
            tools: vec![],
            own_areas: vec![],
        }
    }

    /// The heading its tools stand under, where that is not the name.
    pub fn category(mut self, category: &str) -> Self {
        self.category = category.into();
        self.tools.iter_mut().for_each(|t| t.category = category.into());
        self
    }

    /// The sentences people say for these tools (see `reflex` for the notation), one file per language.
    pub fn phrases(mut self, phrases: &'static str) -> Self {
        self.phrases = phrases;
        self
    }

    /// The part of the world its tools touch, where their risk does not say it; for all of them, wherever this stands among
    /// the calls. [`Family::own_area`] sets that of a single tool.
    pub fn area(mut self, area: Area) -> Self {
        self.area = Some(area);
        let family = self.tools.iter_mut().zip(&self.own_areas).filter(|(_, own)| !**own);
        family.for_each(|(tool, _)| tool.area = area);
        self
    }

    /// Adds a tool: the argument struct's doc is its description, its fields are the parameters.
    pub fn tool<A, R, F, Fut>(mut self, name: &str, risk: Risk, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoOutput,
        F: Fn(S, Cx, A) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
    {
        let (description, parameters) = schema_of::<A>();
        let (state, tool) = (self.state.clone(), Arc::<str>::from(name));
        let run: Run = Arc::new(move |cx, args| {
            let (state, function, tool) = (state.clone(), function.clone(), tool.clone());
            Box::pin(async move {
                let args = serde_json::from_value(args)
                    .map_err(|e| Error::bad_args(format!("the arguments of `{tool}` do not fit: {e}")))?;
                function(state, cx, args).await?.into_output()
            })
        });
        self.own_areas.push(false);
        self.tools.push(Tool {
            name: name.into(),
            description: description.into(),
            parameters,
            risk,
            owner: Owner::Core,
            category: self.category.clone(),
            group: self.name.clone(),
            aliases: vec![],
            tags: vec![],
            area: self.area.unwrap_or_else(|| risk.area()),
            version: 0,
            requires_confirmation: false,
            persists_instructions: false,
            additive: None,
            returns_digests: false,
            returns_secret: false,
            idempotent: risk == Risk::Observe,
            examples: vec![],
            enabled: true,
            off_by: None,
            label: Label::Own,
            timeout: TIMEOUT,
            run,
        });
        self
    }

    /// Another name for the tool just added.
    pub fn alias(self, name: &str) -> Self {
        self.last(|t| t.aliases.push(Alias { name: name.into(), adapt: None }))
    }
    /// Another name for the tool just added, whose arguments are documented differently: `adapt` makes them into its own.
    /// It must leave alone what it does not know; arguments in the tool's own form are taken under the other name too.
    pub fn alias_with(self, name: &str, adapt: fn(Value) -> Value) -> Self {
        self.last(|t| t.aliases.push(Alias { name: name.into(), adapt: Some(adapt) }))
    }
    /// Words the tool just added is found by, separated by spaces.
    pub fn tags(self, words: &str) -> Self {
        self.last(|t| t.tags.extend(words.split_whitespace().map(Arc::from)))
    }
    /// The part of the world the tool just added touches, where it is not that of its family.
    pub fn own_area(mut self, area: Area) -> Self {
        if let Some(own) = self.own_areas.last_mut() {
            *own = true;
        }
        self.last(|t| t.area = area)
    }
    /// A person should be asked before the tool just added runs.
    pub fn confirm(self) -> Self {
        self.last(|t| t.requires_confirmation = true)
    }
    /// The tool just added stores what a model will later follow, or puts something in the place of what a person wrote: a
    /// run that read from outside asks first.
    pub fn persists_instructions(self) -> Self {
        self.last(|t| t.persists_instructions = true)
    }
    /// The tool just added only adds: it changes, hides or replaces nothing that is there, so a run that read from outside
    /// may call it unasked.
    pub fn additive(self) -> Self {
        self.last(|t| t.additive = Some(Arc::new(|_, _| true)))
    }
    /// The same for those calls of the tool just added that `only_adds` says yes to. It must not taint the run.
    pub fn additive_where(self, only_adds: impl Fn(&S, &Cx, &Value) -> bool + Send + Sync + 'static) -> Self {
        let state = self.state.clone();
        self.last(|t| t.additive = Some(Arc::new(move |cx, args| only_adds(&state, cx, args))))
    }
    /// The tool just added answers digests, checksums or ids: long hex there is no secret.
    pub fn returns_digests(self) -> Self {
        self.last(|t| t.returns_digests = true)
    }
    /// The tool just added answers a secret it has just made (a password): scrubbing leaves it to the caller.
    pub fn returns_secret(self) -> Self {
        self.last(|t| t.returns_secret = true)
    }
    /// Calling the tool just added twice with the same arguments is as good as once: after a power cut it may be called again.
    pub fn idempotent(self) -> Self {
        self.last(|t| t.idempotent = true)
    }
    /// Calling the tool just added twice is more than once, although it only looks: after a power cut it is not called again.
    pub fn not_idempotent(self) -> Self {
        self.last(|t| t.idempotent = false)
    }
    /// Arguments of the tool just added, as an example for its help.
    pub fn example(self, arguments: Value) -> Self {
        self.last(|t| t.examples.push(arguments))
    }
    /// How long a call of the tool just added may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.last(|t| t.timeout = timeout)
    }

    fn last(mut self, change: impl FnOnce(&mut Tool)) -> Self {
        if let Some(tool) = self.tools.last_mut() {
            change(tool);
        }
        self
    }

    /// The family's name, the sentence about it, its phrases and its tools.
    pub fn into_parts(self) -> (Arc<str>, Arc<str>, &'static str, Vec<Tool>) {
        (self.name, self.about, self.phrases, self.tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Nothing {}

    async fn nothing(_: (), _: Cx, _: Nothing) -> Result<Value> {
        Ok(Value::Null)
    }

    #[test]
    fn an_area_holds_wherever_it_stands() {
        let areas = |family: Family<()>| family.into_parts().3.iter().map(|tool| tool.area).collect::<Vec<_>>();
        let family = || Family::new("test", "", ());
        let look = |family: Family<()>| family.tool("look", Risk::Observe, nothing);
        let drop = |family: Family<()>| family.tool("drop", Risk::Destroy, nothing);
        assert_eq!(areas(drop(look(family()))), [Area::Memory, Area::FileDelete], "what the risk says");
        for chain in [
            drop(look(family().area(Area::Custom))),
            drop(look(family()).area(Area::Custom)),
            drop(look(family())).area(Area::Custom),
        ] {
            assert_eq!(areas(chain), [Area::Custom, Area::Custom]);
        }
        for chain in [
            drop(look(family().area(Area::Custom)).own_area(Area::System)),
            drop(look(family()).own_area(Area::System)).area(Area::Custom),
        ] {
            assert_eq!(areas(chain), [Area::System, Area::Custom]);
        }
    }
}
