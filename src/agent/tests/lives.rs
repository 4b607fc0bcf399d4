//! A house that loses power: its runtime is dropped at any point, and another is built over the same store.

use crate::{Agent, ChatRequest, Config, Parts, RunDetails, RunEvent, RunHandle, State, Watch, WhileBusy};
use documents::VirtualFiles;
use embed::Embedder;
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use interaction::Interactions;
use llm::{Delta, Error as ModelError, Message, Provider, Request, ToolCall, Usage};
use memory::Memories;
use persona::Documents;
use questions::Timeouts;
use registry::{Registry, Terms};
use skills::Skills;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use store::Store;
use tokio::runtime::Runtime;
use tool::{Channel, Id, People, Ports, Principal, Role, SystemClock, UserId, Via, prelude::*};
use uploads::Uploads;

/// The next output of the model.
pub enum Does {
    /// Says this.
    Says(&'static str),
    /// Requests these calls: id, tool, argument.
    Calls(Vec<(&'static str, &'static str, &'static str)>),
    /// Says this, and then never ends.
    Hangs(&'static str),
    /// Any deltas.
    Gives(Vec<Result<Delta, ModelError>>),
}

pub use Does::{Calls, Gives, Hangs, Says};

struct Script {
    acts: Mutex<VecDeque<Does>>,
    asked: Arc<Mutex<Vec<Request>>>,
    by_word: bool,
}

pub fn done() -> Result<Delta, ModelError> {
    Ok(Delta::Done { cut: false, usage: Usage { total_tokens: 1, ..Usage::default() } })
}

impl Provider for Script {
    fn model(&self) -> String {
        "test/script".into()
    }
    fn acts_by_word(&self) -> bool {
        self.by_word
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.asked.lock().unwrap().push(request);
        let text = |text: &str| Ok(Delta::Text(text.to_owned()));
        match self.acts.lock().unwrap().pop_front() {
            None => stream::iter(vec![Err(ModelError::Broken("the script is over".into()))]).boxed(),
            Some(Says(words)) => stream::iter(vec![text(words), done()]).boxed(),
            Some(Gives(deltas)) => stream::iter(deltas).boxed(),
            Some(Hangs(words)) => stream::iter(vec![text(words)]).chain(stream::pending()).boxed(),
            Some(Calls(calls)) => {
                let call = |(id, name, with): (&str, &str, &str)| {
                    let arguments = json!({"name": with}).to_string();
                    Ok(Delta::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments }))
                };
                stream::iter(calls.into_iter().map(call).chain([done()]).collect::<Vec<_>>()).boxed()
            }
        }
    }
}

/// Do it.
#[derive(Deserialize, JsonSchema)]
pub struct Named {
    /// The text.
    name: String,
}

/// The effects of all lives, in order.
pub type Effects = Arc<Mutex<Vec<String>>>;

async fn mark(effects: Effects, _: Cx, args: Named) -> Result<String> {
    effects.lock().unwrap().push(args.name.clone());
    Ok(format!("did {}", args.name))
}
async fn hang(effects: Effects, _: Cx, args: Named) -> Result<String> {
    effects.lock().unwrap().push(args.name);
    std::future::pending().await
}
/// Hangs when it is called for the first time.
async fn slow(effects: Effects, _: Cx, args: Named) -> Result<String> {
    let before = {
        let mut effects = effects.lock().unwrap();
        let before = effects.contains(&args.name);
        effects.push(args.name.clone());
        before
    };
    if !before {
        std::future::pending::<()>().await;
    }
    Ok(format!("did {}", args.name))
}
async fn read(_: Effects, _: Cx, _: Named) -> Result<Output> {
    Ok(Output::text("a stranger's words").from_outside())
}

/// Everybody has this role.
struct Household(Result<Option<Role>>);

impl People for Household {
    fn role_of(&self, _: UserId) -> Result<Option<Role>> {
        self.0.clone()
    }
}

/// The state that outlasts a life.
#[derive(Clone)]
pub struct World {
    pub store: Store,
    pub effects: Effects,
    pub asked: Arc<Mutex<Vec<Request>>>,
    pub config: Config,
    pub waits: Timeouts,
    /// The person's role; `None` when they are gone.
    pub role: Result<Option<Role>>,
    pub by_word: bool,
}

impl World {
    pub fn new() -> Self {
        Self {
            store: Store::in_memory().unwrap(),
            effects: Effects::default(),
            asked: Arc::default(),
            config: Config { max_turns: 20, max_tool_calls: 20, ..Config::default() },
            waits: Timeouts::default(),
            role: Ok(Some(Role::Admin)),
            by_word: false,
        }
    }

    /// The effects so far.
    pub fn done(&self) -> Vec<String> {
        self.effects.lock().unwrap().clone()
    }

    /// The messages of the last request without the system prompt: `>` before messages of the person, `!` before
    /// results.
    pub fn shown(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let told = |m: &Message| match m {
            Message::System(_) => None,
            Message::User(said) => Some(format!("> {}", said.text())),
            Message::Assistant(turn) if turn.tool_calls.is_empty() => Some(turn.content.clone()),
            Message::Assistant(turn) => {
                Some(turn.tool_calls.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join("+"))
            }
            Message::Tool(result) => Some(format!("! {}", result.content)),
        };
        asked.last().unwrap().messages.iter().filter_map(told).collect()
    }

    pub fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Starts a life in which the model behaves like this.
    pub fn lives(&self, acts: Vec<Does>) -> Life {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let _in = runtime.enter();
        let terms = Terms { waits: self.waits, ..Terms::default() };
        let registry = Registry::open(&self.store, terms, scrub::Scrubber::default()).unwrap();
        let store = self.store.clone();
        let keep = move |effects, cx, args| {
            let store = store.clone();
            async move {
                store.flush().await?;
                hang(effects, cx, args).await
            }
        };
        let family = Family::new("test", "", self.effects.clone())
            .tool("keep", Risk::Write, keep)
            .tool("later", Risk::Write, slow)
            .tool("mark", Risk::Write, mark)
            .tool("hang", Risk::Actuate, hang)
            .tool("slow", Risk::Write, slow)
            .idempotent()
            .tool("wipe", Risk::Destroy, mark)
            .tool("read", Risk::Observe, read);
        registry.add(family).unwrap();
        let questions = registry.questions().unwrap().clone();
        let interactions = Interactions::open(&questions, scrub::Scrubber::default()).unwrap();
        registry.add(interaction::family(interactions.clone())).unwrap();
        let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        ports.dispatch = Arc::new(registry.clone());
        ports.people = Arc::new(Household(self.role.clone()));
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        let by_word = self.by_word;
        let provider = Arc::new(Script { acts: Mutex::new(acts.into()), asked: self.asked.clone(), by_word });
        let parts = Parts {
            memories: Memories::new(&self.store, Embedder::new(Duration::from_secs(60))),
            documents: Documents::new(&self.store),
            files: VirtualFiles::new(
                &self.store,
                Embedder::new(Duration::from_secs(60)),
                Arc::new(Documents::new(&self.store)),
            ),
            skills: Skills::open(
                &self.store,
                Embedder::new(Duration::from_secs(60)),
                std::path::Path::new("/nonexistent"),
            ),
            interactions,
            questions,
            uploads: Uploads::new(&self.store, std::env::temp_dir().join(format!("hob-lives-{}", std::process::id()))),
            workspaces: workspace::Workspaces::open(&self.store, &std::env::temp_dir(), workspace::Config::default())
                .unwrap(),
            registry,
        };
        let agent = Agent::new(self.config.clone(), &self.store, parts, provider);
        drop(_in);
        Life { agent, cx, runtime }
    }

    /// The same after a power cut: interrupted runs are resumed.
    pub fn recovers(&self, acts: Vec<Does>) -> Life {
        let life = self.lives(acts);
        life.recover();
        life
    }
}

pub struct Life {
    pub agent: Agent,
    pub cx: Cx,
    pub runtime: Runtime,
}

impl Life {
    pub fn recover(&self) {
        let _in = self.runtime.enter();
        self.agent.recover(self.cx.ports()).unwrap();
    }

    pub fn begin(&self, text: &str) -> RunHandle {
        self.say(ChatRequest { message: text.into(), ..ChatRequest::default() }).unwrap()
    }
    pub fn say(&self, say: ChatRequest) -> Result<RunHandle> {
        self.runtime.block_on(self.agent.chat(&self.cx, say))
    }
    pub fn queue(&self, text: &str, conversation: Option<Id>) -> Result<RunHandle> {
        self.say(ChatRequest {
            message: text.into(),
            conversation,
            while_busy: WhileBusy::Queue,
            ..ChatRequest::default()
        })
    }
    /// Reads the steps of a run to its end, and returns the last.
    pub fn end(&self, mut running: RunHandle) -> RunEvent {
        self.runtime.block_on(async {
            let mut last = None;
            while let Some(step) = running.steps.recv().await {
                last = Some(step);
            }
            last.unwrap()
        })
    }
    /// Waits for a step that matches.
    pub fn until(&self, running: &mut RunHandle, is: impl Fn(&RunEvent) -> bool) {
        self.runtime.block_on(async { while !is(&running.steps.recv().await.expect("more steps")) {} });
    }
    /// Waits until the condition holds.
    pub fn wait(&self, what: &str, is: impl Fn() -> bool) {
        for _ in 0..2000 {
            if is() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("never came: {what}");
    }
    pub fn run(&self, run: Id) -> RunDetails {
        self.agent.run(&self.cx, run).unwrap()
    }
    /// Waits until the run is in this state.
    pub fn comes_to(&self, run: Id, state: State) -> RunDetails {
        for _ in 0..2000 {
            let found = self.run(run);
            if found.run.state == state && !self.agent.queue.runs_of(self.cx.user()).iter().any(|r| r.0 == run) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("never {state:?}: {:?}", self.run(run));
    }
    /// The stored texts, calls and results of a conversation.
    pub fn kept(&self, conversation: Id) -> Vec<String> {
        let all = self.agent.conversation(&self.cx, conversation).unwrap().messages;
        let told = |m: crate::StoredMessage| match (m.tool_results.first(), m.tool_calls.is_empty()) {
            (Some(result), _) => format!("! {}", result.content),
            (None, false) => m.tool_calls.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join("+"),
            _ => m.content,
        };
        all.into_iter().map(told).collect()
    }
    /// Cuts the power.
    pub fn killed(self) {
        self.runtime.shutdown_timeout(Duration::from_millis(500));
    }
}

pub fn error(step: &RunEvent) -> (&'static str, String) {
    match step {
        RunEvent::Error { code, message } => (code, message.clone()),
        other => panic!("{other:?}"),
    }
}
pub fn response(step: &RunEvent) -> String {
    match step {
        RunEvent::Done(answer) => answer.response.clone(),
        other => panic!("{other:?}"),
    }
}

/// Never lets a call be made.
pub struct Holds;

impl Watch for Holds {
    fn before_tool_call<'a>(&'a self, _: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::pending())
    }
}
