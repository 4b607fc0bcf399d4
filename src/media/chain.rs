//! A job goes along the chain of its task until a provider has done it.

use crate::{
    Endpoint, Media, anthropic,
    api::Api,
    catalogue::{self, Link, Price, Provider, Usage, Wire},
    dashscope, edge, elevenlabs,
    failure::Failure,
    gemini,
    job::{Answer, Draw, Job, Made, MadeFile, Task},
    minimax, openai,
    poll::Progress,
    suno, wav,
};
use futures::future::BoxFuture;
use std::time::Duration;
use tool::{Consult, Cx, Error, Label, Result, Risk, prelude::json};
use wyoming::Format;

/// The pause before a busy provider is asked once more, where no other follows.
const AGAIN: Duration = Duration::from_secs(2);

/// How a job is done.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the tool.
    pub tool: &'static str,
    /// Only this one: `provider` or `provider/model`.
    pub only: Option<String>,
    /// Whether a person is asked before something is sent in a run that has read from outside.
    pub asks: bool,
}

/// What was made, by whom, and for how much.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    pub made: Made,
    /// The display name of the provider.
    pub provider: String,
    /// As `provider/model`.
    pub model: String,
    /// In US dollars, where it is known; 0 where nothing was paid.
    pub cost: Option<f64>,
    /// Providers that were asked before and failed, each with the reason.
    pub failed: Vec<String>,
    /// Why fewer were made than asked for.
    pub short: Option<String>,
}

struct Notes<'a>(&'a Cx);

impl Progress for Notes<'_> {
    fn note(&self, note: &str) {
        self.0.progress(note);
    }
}

impl Media {
    /// Does a job.
    ///
    /// # Errors
    /// `BadArgs` for a provider that does not do the task; `Unavailable` where none is set up, all fail, or the budget is spent;
    /// `Failed` where the content is refused; `Denied` by a rule.
    pub async fn run(&self, cx: &Cx, task: Task, job: Job, options: Options) -> Result<Done> {
        let settings = cx.ports().settings.clone();
        // The error of a provider taints the run, but what the next one is sent was written before.
        let options = Options { asks: options.asks && cx.label() == Label::Outside, ..options };
        let chain = match &options.only {
            Some(only) => vec![catalogue::link(task, only.trim()).map_err(Error::bad_args)?],
            None => catalogue::chain(task, &*settings).map_err(Error::failed)?,
        };
        let ready = |link: Link| Some((self.endpoint(&*settings, &link.provider)?, link));
        let ready: Vec<(Endpoint, Link)> = chain.into_iter().filter_map(ready).collect();
        let is_long = matches!(task, Task::Music | Task::Effect | Task::Video);
        let turn = if is_long { self.0.long_turns.acquire() } else { self.0.turns.acquire() };
        let _turn = tokio::select! {
            () = cx.cancel().cancelled() => return Err(stopped()),
            turn = turn => turn.map_err(|_| stopped())?,
        };
        let mut failures: Vec<(String, Failure)> = vec![];
        let last = ready.len().saturating_sub(1);
        for (at, (endpoint, link)) in ready.iter().enumerate() {
            match self.try_link(cx, (endpoint, link), &job, &options, at == last).await? {
                Ok(mut done) => {
                    let failed = failures.iter().filter(|(_, failure)| !matches!(failure, Failure::Absent(_)));
                    done.failed = failed.map(|(name, failure)| format!("{name} {}", failure.words())).collect();
                    return Ok(done);
                }
                Err(failure) => {
                    if failure.quotes() {
                        cx.taint(Label::Outside);
                    }
                    let ends = matches!(failure, Failure::Refused(_) | Failure::Unfinished(_));
                    let is_absent = |failure: &Failure| matches!(failure, Failure::Absent(_));
                    // A server that nobody has is no failure beside others.
                    if !is_absent(&failure) || failures.is_empty() {
                        failures.retain(|(_, before)| !is_absent(before));
                        failures.push((endpoint.provider.name.clone(), failure));
                    }
                    if ends {
                        break;
                    }
                }
            }
        }
        Err(give_up(task, &options, failures))
    }

    /// Asks one provider, and again where it makes fewer results at once than are asked for.
    async fn try_link(
        &self,
        cx: &Cx,
        (endpoint, link): (&Endpoint, &Link),
        job: &Job,
        options: &Options,
        is_last: bool,
    ) -> Result<Result<Done, Failure>> {
        if let Some(file) = job.files().iter().find(|file| file.bytes.len() as u64 > link.largest) {
            let (size, most) = (file.bytes.len() >> 20, link.largest >> 20);
            return Ok(Err(Failure::Unable(format!("takes files of up to {most} MB, and this one has {size} MB"))));
        }
        ask(cx, endpoint, options).await?;
        let wanted = if let Job::Draw(draw) = job { draw.count.max(1) } else { 1 };
        let expected = usage(job, wanted);
        let price = link.price.filter(|_| !job.is_begun());
        let hold = match &price {
            Some(price) => match self.0.deps.costs.reserve(price.expected(&expected)).await {
                Ok(hold) => Some(hold),
                // What costs nothing may still do it.
                Err(sentence) => return Ok(Err(Failure::Spent(sentence))),
            },
            None => None,
        };
        if endpoint.provider.is_service() {
            cx.progress(&format!("Asking {}", endpoint.provider.name));
        }
        let mut done: Option<Done> = None;
        loop {
            let made = done.as_ref().map_or(0, |done| count(&done.made));
            let part = match job {
                Job::Draw(draw) => Job::Draw(Draw { count: (wanted - made).min(link.most), ..draw.clone() }),
                other => other.clone(),
            };
            let answered = tokio::select! {
                biased;
                () = cx.cancel().cancelled() => {
                    self.book(link, price, None, &expected);
                    return Err(stopped());
                }
                answered = self.ask_patiently(cx, (endpoint, link), &part, is_last) => answered,
            };
            match (answered, &mut done) {
                (Ok((answer, name)), done) => {
                    let used = Usage { tokens: answer.tokens, ..usage(job, count(&answer.made)) };
                    let cost = self.book(link, price, Some(&used), &expected);
                    add(done, answer, (endpoint, link, name), cost);
                }
                (Err(failure), None) => {
                    if failure.may_cost() {
                        self.book(link, price, None, &expected);
                    }
                    return Ok(Err(failure));
                }
                (Err(failure), Some(done)) => {
                    if failure.quotes() {
                        cx.taint(Label::Outside);
                    }
                    done.short = Some(format!("{} {}", endpoint.provider.name, failure.words()));
                }
            }
            if let Some(done) = done.take_if(|done| done.short.is_some() || count(&done.made) >= wanted) {
                drop(hold);
                return Ok(Ok(done));
            }
        }
    }

    /// Counts what a request used; of one without an answer the expected usage is counted. Returns its cost.
    fn book(&self, link: &Link, price: Option<Price>, used: Option<&Usage>, expected: &Usage) -> Option<f64> {
        let Some(price) = price else { return Some(0.0) };
        let used = used.unwrap_or(expected);
        let cost = price.cost(used);
        let model = format!("{}/{}", link.provider, link.model);
        self.0.deps.costs.book(&model, used.tokens.unwrap_or_default(), cost);
        cost
    }

    async fn ask_patiently(
        &self,
        cx: &Cx,
        (endpoint, link): (&Endpoint, &Link),
        job: &Job,
        is_last: bool,
    ) -> Result<(Answer, Option<String>), Failure> {
        match self.call(cx, (endpoint, link), job).await {
            // A job that may have begun is not begun twice.
            Err(Failure::Busy(_)) if is_last && !matches!(job, Job::Film(_) | Job::Compose(_)) => {
                tokio::time::sleep(AGAIN).await;
                self.call(cx, (endpoint, link), job).await
            }
            other => other,
        }
    }

    /// The answer of one provider, and the name of the model where that is not the link's.
    fn call<'a>(
        &'a self,
        cx: &'a Cx,
        place: (&'a Endpoint, &'a Link),
        job: &'a Job,
    ) -> BoxFuture<'a, Result<(Answer, Option<String>), Failure>> {
        // One type for the futures of all formats.
        Box::pin(self.call_one(cx, place, job))
    }

    async fn call_one(
        &self,
        cx: &Cx,
        (endpoint, link): (&Endpoint, &Link),
        job: &Job,
    ) -> Result<(Answer, Option<String>), Failure> {
        let api = Api::new(&self.0.http, link, endpoint);
        let notes = Notes(cx);
        let translate = link.task == Task::AudioTranslation;
        let answer = match (endpoint.provider.wire, job) {
            (Wire::Model, Job::Look(look)) => {
                let model = self.0.model.get().ok_or_else(|| Failure::Unable("is not there".into()))?;
                let (text, name) = model.look(cx.clone(), look.clone()).await.map_err(Failure::Own)?;
                return Ok((Answer::text(&text, None), Some(name)));
            }
            (Wire::Wyoming, job) => return self.by_voice_server(cx, job).await.map(|answer| (answer, None)),
            (Wire::OpenAi, Job::Look(look)) => openai::look(&api, "/chat/completions", look).await,
            (Wire::OpenAi, Job::Draw(draw)) => openai::draw(&api, draw).await,
            (Wire::OpenAi, Job::Speak(speak)) => openai::speak(&api, speak).await,
            (Wire::OpenAi, Job::Transcribe(job)) => openai::transcribe(&api, job, translate).await,
            (Wire::Chat, Job::Look(look)) => openai::look(&api, "/chat/completions", look).await,
            (Wire::Chat, Job::Draw(draw)) => openai::draw_in_chat(&api, draw).await,
            (Wire::Gemini, Job::Look(look)) => gemini::look(&api, look).await,
            (Wire::Gemini, Job::Draw(draw)) => gemini::draw(&api, draw).await,
            (Wire::Gemini, Job::Speak(speak)) => gemini::speak(&api, speak).await,
            (Wire::Gemini, Job::Transcribe(job)) => gemini::transcribe(&api, job, translate).await,
            (Wire::Anthropic, Job::Look(look)) => anthropic::look(&api, look).await,
            (Wire::DashScope, Job::Look(look)) => dashscope::look(&api, look).await,
            (Wire::DashScope, Job::Draw(draw)) => dashscope::draw(&api, draw).await,
            (Wire::MiniMax, Job::Draw(draw)) => minimax::draw(&api, draw).await,
            (Wire::MiniMax, Job::Speak(speak)) => minimax::speak(&api, speak).await,
            (Wire::MiniMax, Job::Compose(job)) => minimax::compose(&api, job).await,
            (Wire::MiniMax, Job::Film(film)) => minimax::film(&api, film, &notes).await,
            (Wire::ElevenLabs, Job::Speak(speak)) => elevenlabs::speak(&api, speak).await,
            (Wire::ElevenLabs, Job::Transcribe(job)) => elevenlabs::transcribe(&api, job).await,
            (Wire::ElevenLabs, Job::Compose(job)) if link.task == Task::Effect => elevenlabs::effect(&api, job).await,
            (Wire::ElevenLabs, Job::Compose(job)) => elevenlabs::compose(&api, job).await,
            (Wire::Edge, Job::Speak(speak)) => {
                edge::speak(&self.0.web, (endpoint, link), &*cx.ports().clock, speak).await
            }
            (Wire::Suno, Job::Compose(job)) => suno::compose(&api, job, &notes).await,
            _ => Err(Failure::Unable(format!("does not {}", link.task.words()))),
        };
        Ok((answer?, None))
    }

    async fn by_voice_server(&self, cx: &Cx, job: &Job) -> Result<Answer, Failure> {
        let voices = &self.0.deps.voices;
        match job {
            Job::Speak(speak) => {
                let server = voices.speaking(cx).await.map_err(Failure::Absent)?;
                if let Some(name) = &speak.voice
                    && !server.voices.is_empty()
                    && !server.voices.contains(name)
                {
                    let some: Vec<String> = server.voices.iter().take(10).map(|name| format!("`{name}`")).collect();
                    return Err(Failure::Own(Error::bad_args(format!(
                        "there is no voice `{name}`: choose one of {}",
                        some.join(", ")
                    ))));
                }
                let (voice, language) = (speak.voice.as_deref(), speak.language.as_deref());
                let spoken = wyoming::synthesize(&server.address, &speak.text, voice, language).await;
                let audio = voices.used(&server, spoken).map_err(Failure::Own)?;
                Ok(Answer::bytes(wav::encode(&audio).map_err(Failure::Own)?.0))
            }
            Job::Transcribe(job) => {
                let server = voices.hearing(cx).await.map_err(Failure::Absent)?;
                let bytes = job.audio.bytes.clone();
                // Resampling minutes of audio takes a while on a small board.
                let audio = tokio::task::spawn_blocking(move || wav::decode(&bytes, Format::SPEECH)).await;
                let audio = audio.map_err(|error| Failure::Unable(format!("could not read the audio: {error}")))?;
                let audio = audio.map_err(Failure::Own)?;
                let heard = wyoming::transcribe(&server.address, &audio, job.language.as_deref()).await;
                let text = voices.used(&server, heard).map_err(Failure::Own)?;
                Ok(Answer::text(&text, None))
            }
            _ => Err(Failure::Unable("only hear and speak".into())),
        }
    }
}

/// The rules of the person decide about the host; where the run has read from outside, a person may have to.
async fn ask(cx: &Cx, endpoint: &Endpoint, options: &Options) -> Result<()> {
    if !endpoint.provider.is_service() {
        return Ok(());
    }
    let host = url::Url::parse(&endpoint.url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let host = host.ok_or_else(|| {
        let id = &endpoint.provider.id;
        Error::failed(format!(
            "the address of `{id}` is not a URL: an admin can correct it under Services, as https://host/path"
        ))
    })?;
    let reason = match options.asks {
        true => format!(
            "`{}` would send text of a run that has read content from outside to {host}, which needs a person's approval",
            options.tool
        ),
        false => String::new(),
    };
    let consult = Consult {
        tool: options.tool.into(),
        version: 0,
        action: "send",
        details: json!({"host": host}),
        risk: Risk::Send,
        ask: options.asks,
        about: format!("Send this to {}.", endpoint.provider.name),
        reason,
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

fn stopped() -> Error {
    Error::unavailable("it was stopped")
}

/// What a job uses when it brings so many results.
fn usage(job: &Job, pieces: u32) -> Usage {
    let (seconds, characters) = match job {
        Job::Speak(speak) => (None, speak.text.chars().count() as u64),
        Job::Transcribe(job) => (job.seconds, 0),
        Job::Compose(job) => (job.seconds, 0),
        Job::Look(_) | Job::Draw(_) | Job::Film(_) => (None, 0),
    };
    let pieces = if matches!(job, Job::Draw(_) | Job::Compose(_) | Job::Film(_)) { pieces } else { 0 };
    Usage { tokens: None, pieces, seconds, characters }
}

fn count(made: &Made) -> u32 {
    match made {
        Made::Text(_) => 1,
        Made::Files(files) => u32::try_from(files.len()).unwrap_or(u32::MAX),
    }
}

/// Adds an answer to those before.
fn add(
    done: &mut Option<Done>,
    answer: Answer,
    (endpoint, link, name): (&Endpoint, &Link, Option<String>),
    cost: Option<f64>,
) {
    match done {
        Some(done) => {
            if let (Made::Files(all), Made::Files(more)) = (&mut done.made, answer.made) {
                all.extend::<Vec<MadeFile>>(more);
            }
            done.cost = done.cost.zip(cost).map(|(a, b)| a + b);
        }
        None => {
            let named =
                if link.model.is_empty() { link.provider.clone() } else { format!("{}/{}", link.provider, link.model) };
            *done = Some(Done {
                made: answer.made,
                provider: endpoint.provider.name.clone(),
                model: name.unwrap_or(named),
                cost,
                failed: vec![],
                short: None,
            });
        }
    }
}

/// The error after the last failure.
fn give_up(task: Task, options: &Options, failures: Vec<(String, Failure)>) -> Error {
    let words = task.words();
    if let Some((name, Failure::Refused(_))) = failures.last() {
        let why = failures.last().map(|(_, failure)| failure.words()).unwrap_or_default();
        return Error::failed(format!("{name} {why}: ask for something else"))
            .say(format!("{name} refuses to do that."));
    }
    if let Some((name, Failure::Unfinished(id))) = failures.last() {
        return Error::unavailable(format!(
            "{name} is not done yet, and goes on with it: call {} again later with `task`: \"{id}\", which fetches it and is not \
             charged again",
            options.tool
        ))
        .say(format!("{name} is still at it. Ask me for it again in a few minutes."));
    }
    if let [(_, Failure::Absent(error) | Failure::Own(error))] = &failures[..] {
        return error.clone();
    }
    let spent =
        failures.iter().find_map(|(_, failure)| if let Failure::Spent(why) = failure { Some(why) } else { None });
    if let Some(sentence) = spent {
        return Error::unavailable(sentence.clone());
    }
    if failures.is_empty() {
        return not_set_up(task, options);
    }
    let each: Vec<String> = failures.iter().map(|(name, failure)| format!("{name} {}", failure.words())).collect();
    let each = each.join("; ");
    Error::unavailable(format!("no provider could {words}: {each}. Try again later, or check the keys under Services"))
        .say(format!("I could not {words}: {each}."))
}

/// The error where no provider of a task is set up: those with a key, and those that are switched on.
fn not_set_up(task: Task, options: &Options) -> Error {
    let words = task.words();
    let only = options.only.as_deref().map(|only| only.split('/').next().unwrap_or_default().trim());
    let services = catalogue::links(task).filter_map(|link| catalogue::provider(&link.provider));
    let mut services: Vec<&Provider> = services.filter(|provider| provider.is_service()).collect();
    if let Some(only) = services.iter().find(|provider| Some(provider.id.as_str()) == only) {
        services = vec![*only];
    }
    let (free, keyed): (Vec<&Provider>, Vec<&Provider>) = services.into_iter().partition(|provider| provider.keyless);
    let names = |all: &[&Provider]| all.iter().map(|p| format!("`{}`", p.id)).collect::<Vec<_>>().join(", ");
    let key = format!("enter a key under Services, for one of {}", names(&keyed));
    let (way, said) = match (keyed.is_empty(), free.is_empty()) {
        (true, _) => (format!("switch on {} under Services", names(&free)), "switch that on under Services"),
        (_, true) => (key, "add a key for that under Services"),
        _ => (format!("{key}, or switch on {} there", names(&free)), "add a key for that under Services"),
    };
    Error::unavailable(format!("nothing is set up here to {words}: an admin can {way}"))
        .say(format!("I cannot {words} yet. An admin can {said}."))
}
