//! A family of tools: plain async functions over one typed state, and every fact about them in one chain.
//!
//! Facts of a tool follow its [`Family::tool`]; facts of the family stand anywhere in the chain and hold for all its tools.

use crate::{
    Additive, Alias, Area, Cx, Error, Offer, Opens, Owner, PageSize, Result, Risk, Run, Signature, Start, Tool,
    ToolGroup, output::IntoOutput, schema::WriteSchema,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// A family under construction: its tools over a state `S` that each call receives as a clone.
pub struct Family<S> {
    state: S,
    draft: Box<Draft>,
}

/// A finished family.
pub struct FamilyParts {
    /// Its groups, its own first.
    pub groups: Vec<ToolGroup>,
    /// The sentences people say for its tools.
    pub phrases: &'static str,
    /// Its tools.
    pub tools: Vec<Tool>,
}

/// The part of a family that does not depend on the type of its state.
struct Draft {
    group: ToolGroup,
    more_groups: Vec<ToolGroup>,
    category: Option<Arc<str>>,
    phrases: &'static str,
    area: Option<Area>,
    tools: Vec<DraftTool>,
}

struct DraftTool {
    tool: Tool,
    area: Option<Area>,
}

impl<S: Clone + Send + Sync + 'static> Family<S> {
    /// A family and its group `id`, with one sentence about it. The name of the group and the category of its tools are the
    /// id with a capital letter.
    pub fn new(id: &'static str, about: &'static str, state: S) -> Self {
        let group = ToolGroup::new(id, about);
        let draft = Draft { group, more_groups: vec![], category: None, phrases: "", area: None, tools: vec![] };
        Self { state, draft: Box::new(draft) }
    }

    /// The name of its group for people.
    pub fn title(self, name: &str) -> Self {
        self.group(|group| group.name(name))
    }
    /// Whether its group is on as long as nobody switches it.
    pub fn start(self, start: Start) -> Self {
        self.group(|group| group.start(start))
    }
    /// The services its tools need one of: its group is on once one is set up.
    pub fn services(self, any: &'static [&'static str]) -> Self {
        self.start(Start::With(any))
    }
    /// Groups that must be on too.
    pub fn needs(self, groups: &'static [&'static str]) -> Self {
        self.group(|group| group.needs(groups))
    }
    /// Groups whose tools its group includes in a list.
    pub fn with(self, groups: &'static [&'static str]) -> Self {
        self.group(|group| group.with(groups))
    }
    /// Another group, for tools of several families; see [`Family::in_group`] and [`Family::also_in`].
    pub fn shared_group(mut self, group: ToolGroup) -> Self {
        self.draft.more_groups.push(group);
        self
    }
    /// The category of its tools, where that is not the id.
    pub fn category(mut self, category: &str) -> Self {
        self.draft.category = Some(category.into());
        self
    }
    /// The sentences people say for these tools (see `reflex` for the notation), one file per language.
    pub fn phrases(mut self, phrases: &'static str) -> Self {
        self.draft.phrases = phrases;
        self
    }
    /// The part of the world its tools touch, where their risk does not say it. [`Family::own_area`] is for a single tool.
    pub fn area(mut self, area: Area) -> Self {
        self.draft.area = Some(area);
        self
    }

    /// Adds a tool: the doc of the argument struct is its description, the fields are its parameters.
    pub fn tool<A, R, F, Fut>(mut self, name: &'static str, risk: Risk, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoOutput,
        F: Fn(S, Cx, A) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
    {
        let state = self.state.clone();
        // Only what depends on the types of the tool is in here: it is compiled once for each.
        let run: Run = Arc::new(move |cx, args| {
            let (state, function) = (state.clone(), function.clone());
            Box::pin(async move {
                let args = serde_json::from_value(args).map_err(|error| misfit(name, &error))?;
                function(state, cx, args).await?.into_output()
            })
        });
        self.draft.add(name, risk, A::json_schema, run);
        self
    }

    /// The group the last tool is listed with, where that is not the one of its family.
    pub fn in_group(self, id: &str) -> Self {
        self.last(|t| t.group = id.into())
    }
    /// Other groups the last tool belongs to: they switch it too, except those that only gather tools.
    pub fn also_in(self, ids: &'static [&'static str]) -> Self {
        self.last(|t| t.also_in = ids)
    }
    /// Another name for the last tool.
    pub fn alias(self, name: &str) -> Self {
        self.last(|t| t.aliases.push(Alias { name: name.into(), adapt: None }))
    }
    /// Another name for the last tool, with arguments of another form: `adapt` converts them. It must leave unknown fields
    /// alone, because arguments in the tool's own form are accepted under the alias too.
    pub fn alias_with(self, name: &str, adapt: fn(Value) -> Value) -> Self {
        self.last(|t| t.aliases.push(Alias { name: name.into(), adapt: Some(adapt) }))
    }
    /// Search words of the last tool, separated by spaces.
    pub fn tags(self, words: &'static str) -> Self {
        self.last(|t| t.tags = words)
    }
    /// The part of the world the last tool touches, where it is not that of its family.
    pub fn own_area(mut self, area: Area) -> Self {
        if let Some(last) = self.draft.tools.last_mut() {
            last.area = Some(area);
        }
        self
    }
    /// A person should be asked before the last tool runs.
    pub fn confirm(self) -> Self {
        self.last(|t| t.requires_confirmation = true)
    }
    /// The last tool stores text that a model later follows, or replaces what a person wrote: a tainted run asks first.
    pub fn persists_instructions(self) -> Self {
        self.last(|t| t.persists_instructions = true)
    }
    /// The last tool only adds; it changes, hides or replaces nothing: a tainted run may call it without asking. A tool of
    /// [`Risk::Execute`] that says for which calls this holds asks in a tainted run for all others.
    pub fn additive(self) -> Self {
        self.last(|t| t.additive = Some(Arc::new(|_, _| true)))
    }
    /// The same for those calls of the last tool for which `only_adds` is true. It must not taint the run.
    pub fn additive_where(self, only_adds: impl Fn(&S, &Cx, &Value) -> bool + Send + Sync + 'static) -> Self {
        let state = self.state.clone();
        let additive: Additive = Arc::new(move |cx, args| only_adds(&state, cx, args));
        self.last(|t| t.additive = Some(additive))
    }
    /// Calls of the last tool for which `opens` is true open, unlock or disarm something: a person approves each one that they
    /// do not make by hand. What the last tool then calls to do it is not asked about again.
    pub fn opens_where(self, opens: impl Fn(&S, &Value) -> bool + Send + Sync + 'static) -> Self {
        let state = self.state.clone();
        let opens: Opens = Arc::new(move |args| opens(&state, args));
        self.last(|t| t.opens = Some(opens))
    }
    /// Calls of the last tool for which `destroys` is true delete something that cannot be restored: they are judged as those of
    /// a tool of [`Risk::Destroy`].
    pub fn destroys_where(self, destroys: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.last(|t| t.destroys = Some(Arc::new(move |_, args| destroys(args))))
    }
    /// The same where it depends on what is there for the caller. It must not taint the run.
    pub fn destroys_here(self, destroys: impl Fn(&S, &Cx, &Value) -> bool + Send + Sync + 'static) -> Self {
        let state = self.state.clone();
        self.last(|t| t.destroys = Some(Arc::new(move |cx, args| destroys(&state, cx, args))))
    }
    /// The last tool runs the scripts of the pages it opens: the fragment of a URL counts as sent.
    pub fn runs_pages(self) -> Self {
        self.last(|t| t.runs_pages = true)
    }
    /// The last tool returns digests, checksums or ids: long hex in its output is no secret.
    pub fn returns_digests(self) -> Self {
        self.last(|t| t.returns_digests = true)
    }
    /// The last tool returns a secret it has just made (a password): the scrubber leaves it in.
    pub fn returns_secret(self) -> Self {
        self.last(|t| t.returns_secret = true)
    }
    /// A repeated call of the last tool with the same arguments has the same effect as one: it may be repeated after a power
    /// cut.
    pub fn idempotent(self) -> Self {
        self.last(|t| t.idempotent = true)
    }
    /// A repeated call of the last tool has a further effect, although it only observes: it is not repeated after a power cut.
    pub fn not_idempotent(self) -> Self {
        self.last(|t| t.idempotent = false)
    }
    /// A call of the last tool starts work that continues after it returns.
    pub fn detached(self) -> Self {
        self.last(|t| t.detached = true)
    }
    /// The last tool waits for the answer of a person.
    pub fn asks_person(self) -> Self {
        self.last(|t| t.asks_person = true)
    }
    /// The last tool makes calls or schedules happen later: a schedule or trigger must not call it, or one would make another,
    /// and that a third.
    pub fn automates(self) -> Self {
        self.last(|t| t.automates = true)
    }
    /// The system prompt names the last tool for doing something later.
    pub fn plans_ahead(self) -> Self {
        self.last(|t| t.plans_ahead = true)
    }
    /// The ability the last tool gives an agent, as the system prompt says it: `look things up on the web`.
    pub fn ability(self, ability: &'static str) -> Self {
        self.last(|t| t.ability = ability)
    }
    /// Models reach all other tools through the last one.
    pub fn meta(self) -> Self {
        self.last(|t| t.meta = true)
    }
    /// Every request to a model offers the last tool.
    pub fn everyday(self) -> Self {
        self.last(|t| t.offer = Offer::Always)
    }
    /// Requests to a model offer the last tool while this holds.
    pub fn everyday_while(self, holds: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        let state = self.state.clone();
        self.last(|t| t.offer = Offer::While(Arc::new(move || holds(&state))))
    }
    /// Requests to a model offer the last tool where this section of the system prompt, which says the same, is left out.
    pub fn everyday_without(self, section: &'static str) -> Self {
        self.last(|t| t.offer = Offer::Without(section))
    }
    /// Models know the name of the last tool although no request offers it.
    pub fn known(self) -> Self {
        self.last(|t| t.offer = Offer::Known)
    }
    /// The optional parameters of the last tool that a request to a model shows. It takes all others too.
    pub fn shows(self, parameters: &'static [&'static str]) -> Self {
        self.last(|t| t.shows = parameters)
    }
    /// Names that other APIs give parameters of the last tool, each with the parameter that is meant: `("cwd", "workingDir")`.
    pub fn synonyms(self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.last(|t| t.synonyms = names)
    }
    /// The parameters of the last tool that hold no path, although policies take their names (`from`, `to`, `target`) for paths'.
    pub fn not_paths(self, parameters: &'static [&'static str]) -> Self {
        self.last(|t| t.not_paths = parameters)
    }
    /// The last tool calls these in its own name: a policy entry that names it covers them too.
    pub fn facade_for(self, tools: &'static [&'static str]) -> Self {
        self.last(|t| t.facade_for = tools)
    }
    /// How many results a call of the last tool returns by default and at most, by its parameter `limit`.
    pub fn page(self, (default, max): (u32, u32)) -> Self {
        self.page_by("limit", (default, max))
    }
    /// The same by another parameter. Its description is made from the numbers unless the field has one.
    pub fn page_by(self, parameter: &'static str, (default, max): (u32, u32)) -> Self {
        self.last(|t| t.page = Some(PageSize { parameter, default, max }))
    }
    /// How many calls of the last tool one person may make in a minute.
    pub fn per_minute(self, calls: u32) -> Self {
        self.last(|t| t.per_minute = Some(calls))
    }
    /// Example arguments of the last tool, for its help.
    pub fn example(self, arguments: Value) -> Self {
        self.last(|t| t.examples.push(arguments))
    }
    /// How long a call of the last tool may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.last(|t| t.timeout = timeout)
    }

    fn group(mut self, change: impl FnOnce(ToolGroup) -> ToolGroup) -> Self {
        self.draft.group = change(self.draft.group);
        self
    }
    fn last(mut self, change: impl FnOnce(&mut Tool)) -> Self {
        if let Some(last) = self.draft.tools.last_mut() {
            change(&mut last.tool);
        }
        self
    }

    /// Its groups, phrases and tools, with the facts of the family applied to each tool.
    pub fn into_parts(self) -> FamilyParts {
        self.draft.finish()
    }
}

fn misfit(tool: &str, error: &serde_json::Error) -> Error {
    Error::bad_args(format!("the arguments of `{tool}` do not fit: {error}"))
}

impl Draft {
    fn add(&mut self, name: &str, risk: Risk, write: WriteSchema, run: Run) {
        let tool = Tool::new(name, risk, Owner::Core, self.group.id, run);
        let tool = Tool { signature: Signature::written_by(write), ..tool };
        self.tools.push(DraftTool { tool, area: None });
    }

    fn finish(self) -> FamilyParts {
        let Self { group, mut more_groups, category, phrases, area, tools } = self;
        let category = category.unwrap_or_else(|| ToolGroup::new(group.id, "").name.into());
        let finished = tools.into_iter().map(|DraftTool { tool, area: own }| {
            let area = own.or(area).unwrap_or(tool.area);
            Tool { area, category: category.clone(), ..tool }
        });
        let tools = finished.collect();
        more_groups.insert(0, group);
        FamilyParts { groups: more_groups, phrases, tools }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Nothing {}

    /// List things.
    #[derive(serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct List {
        limit: Option<u32>,
        /// How many of the best.
        top_k: Option<u32>,
    }

    async fn nothing(_: (), _: Cx, _: Nothing) -> Result<Value> {
        Ok(Value::Null)
    }
    async fn list(_: (), _: Cx, _: List) -> Result<Value> {
        Ok(Value::Null)
    }

    fn family() -> Family<()> {
        Family::new("test", "Tests.", ())
    }
    fn look(family: Family<()>) -> Family<()> {
        family.tool("look", Risk::Observe, nothing)
    }
    fn drop(family: Family<()>) -> Family<()> {
        family.tool("drop", Risk::Destroy, nothing)
    }

    #[test]
    fn family_modifiers_hold_anywhere_in_the_chain() {
        type Modifier = fn(Family<()>) -> Family<()>;
        let modifiers: [Modifier; 3] =
            [|f| f.area(Area::Custom), |f| f.category("Things"), |f| f.title("All things").needs(&["files"])];
        for modify in modifiers {
            let seen = |family: Family<()>| {
                let FamilyParts { groups, tools, .. } = family.into_parts();
                (groups, tools.iter().map(|t| (t.area, t.category.clone())).collect::<Vec<_>>())
            };
            let first = seen(drop(look(modify(family()))));
            assert_eq!(first, seen(drop(modify(look(family())))));
            assert_eq!(first, seen(modify(drop(look(family())))));
            assert_ne!(first, seen(drop(look(family()))));
        }
    }

    #[test]
    fn a_tools_own_area_wins_over_that_of_its_family() {
        let areas = |family: Family<()>| family.into_parts().tools.iter().map(|t| t.area).collect::<Vec<_>>();
        assert_eq!(areas(drop(look(family()))), [Area::Memory, Area::FileDelete], "what the risk says");
        for chain in [
            drop(look(family().area(Area::Custom)).own_area(Area::System)),
            drop(look(family()).own_area(Area::System)).area(Area::Custom),
        ] {
            assert_eq!(areas(chain), [Area::System, Area::Custom]);
        }
    }

    #[test]
    fn groups_are_defined_by_the_family() {
        let shared = ToolGroup::new("core", "The essentials.").name("Essentials");
        let parts = look(family()).in_group("core").also_in(&["more"]).shared_group(shared).services(&["mail"]);
        let FamilyParts { groups, tools, .. } = drop(parts).into_parts();
        let shown: Vec<_> = groups.iter().map(|g| (g.id, &*g.name, g.about, g.start)).collect();
        let own = ("test", "Test", "Tests.", Start::With(&["mail"]));
        assert_eq!(shown, [own, ("core", "Essentials", "The essentials.", Start::On)]);
        let listed: Vec<_> = tools.iter().map(|t| (&*t.group, t.also_in, &*t.category)).collect();
        assert_eq!(listed, [("core", &["more"][..], "Test"), ("test", &[], "Test")]);
    }

    #[test]
    fn a_page_size_describes_its_parameter() {
        let parts = family().tool("list", Risk::Observe, list).page((20, 50)).into_parts();
        let tool = &parts.tools[0];
        assert_eq!(tool.page, Some(PageSize { parameter: "limit", default: 20, max: 50 }));
        assert_eq!(tool.parameters()["properties"]["limit"]["description"], "Max results (default: 20, max: 50).");
        let parts = family().tool("list", Risk::Observe, list).page_by("top_k", (10, 50)).into_parts();
        assert_eq!(parts.tools[0].parameters()["properties"]["top_k"]["description"], "How many of the best.");
    }
}
