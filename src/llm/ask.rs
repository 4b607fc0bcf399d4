//! One request to a server: sends it in the endpoint's wire format and reads the response as deltas.

use crate::{
    Delta, Endpoint, Error, Facts, Provider, Quirks, Request, Wire, anthropic,
    error_response::{ErrorResponse, Failure},
    gemini,
    learned_limits::{self, LearnedLimit},
    openai,
    reader::Reader,
    responses,
    sampling::{self, OptionRefused},
    sse::Events,
    surrogate_pairs::Halves,
    tools::with_field,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http_client::{ModelHttp, Streaming};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Maximum size of a non-streamed response; an image takes most of it.
const WHOLE_ANSWER: usize = 12 << 20;
/// Maximum length of a response with reasoning and arguments, in bytes: an endless response must not fill the device.
const LONGEST_ANSWER: usize = 1 << 20;
/// Maximum total size of the media in one response, in bytes.
const MOST_MEDIA: usize = 24 << 20;
/// How often a rejected request is adapted and sent again.
const MAX_ADAPTATIONS: usize = 4;

/// A model at a server, asked once for each request.
pub(crate) struct Model {
    endpoint: Endpoint,
    /// Limits learned from earlier rejections.
    learned: Learned,
    http: ModelHttp,
}

/// Learned quirks and facts of a server and model, shared by all clients.
type Learned = Arc<Mutex<(Quirks, Facts)>>;

impl Model {
    pub fn new(endpoint: Endpoint) -> Self {
        let learned = Arc::new(Mutex::new((endpoint.quirks, endpoint.facts)));
        let http = ModelHttp::new(endpoint.patience);
        Self { endpoint, learned, http }
    }
}

impl Provider for Model {
    fn model(&self) -> String {
        format!("{}/{}", self.endpoint.provider, self.endpoint.model)
    }

    fn facts(&self) -> Facts {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (endpoint, http, learned) = (self.endpoint.clone(), self.http.clone(), self.learned.clone());
        let key = endpoint.key.clone();
        stream::once(ask(endpoint, learned, http, request))
            .flat_map(|begun| match begun {
                Ok(answer) => answer,
                Err(error) => stream::once(async { Err(error) }).boxed(),
            })
            // Servers tend to repeat the API key in errors.
            .map(move |said| said.map_err(|error| error.without(key.as_deref())))
            .boxed()
    }
}

/// The text of the request body. Its tools are written once for all requests that share them, and OpenAI's messages directly:
/// they are most of it.
pub(crate) fn text(endpoint: &Endpoint, request: &Request) -> String {
    type Write = (fn(&Endpoint, &Request) -> Value, fn(&Endpoint, &Request) -> Arc<str>);
    let (body, tools): Write = match endpoint.wire {
        Wire::OpenAi => (openai::body, openai::tools),
        Wire::Responses => (responses::body, responses::tools),
        Wire::Anthropic => (anthropic::body, anthropic::tools),
        Wire::Gemini => (gemini::body, gemini::tools),
    };
    let mut body = body(endpoint, request).to_string();
    if endpoint.wire == Wire::OpenAi {
        body = with_field(body, "messages", &openai::messages(endpoint, request));
    }
    if request.tools.is_empty() { body } else { with_field(body, "tools", &tools(endpoint, request)) }
}

/// The request body as it is sent.
#[cfg(test)]
pub(crate) fn body(endpoint: &Endpoint, request: &Request) -> Value {
    serde_json::from_str(&text(endpoint, request)).expect("a body is JSON")
}

/// The response reader for the wire format.
pub(crate) fn reader(endpoint: &Endpoint) -> Box<dyn Reader> {
    match endpoint.wire {
        Wire::OpenAi => Box::new(openai::Pieces::new(endpoint)),
        Wire::Responses => Box::new(responses::Items::new(endpoint)),
        Wire::Anthropic => Box::new(anthropic::Blocks::new(endpoint)),
        Wire::Gemini => Box::new(gemini::Parts::new(endpoint)),
    }
}

async fn ask(
    mut endpoint: Endpoint,
    learned: Learned,
    http: ModelHttp,
    mut request: Request,
) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    (endpoint.quirks, endpoint.facts) = *learned.lock().unwrap_or_else(PoisonError::into_inner);
    let (url, headers) = (endpoint.address(), endpoint.headers());
    for mended in 0.. {
        sampling::check(&endpoint, &request)?;
        let text = text(&endpoint, &sampling::instructed(&endpoint, &request));
        let answer =
            http.post_stream(&url, &headers, text).await.map_err(|e| connection_error(&endpoint.provider, e))?;
        if answer.is_success() {
            remember(&learned, &endpoint);
            return read(&endpoint, answer).await;
        }
        let refusal = ErrorResponse::read(answer, endpoint.key.as_deref()).await;
        let lesson = Some(&refusal)
            .filter(|_| mended < MAX_ADAPTATIONS)
            .and_then(|r| learned_limits::of(&endpoint, &request, r));
        match lesson {
            Some(LearnedLimit::Quirks(quirks)) => endpoint.quirks = quirks,
            Some(LearnedLimit::Blind) => endpoint.facts.images = false,
            Some(LearnedLimit::WithoutTools) => {
                // `text::fitted` reads this fact and falls back to calls as text.
                learned.lock().unwrap_or_else(PoisonError::into_inner).1.tools = false;
                let (who, model, says) = (&endpoint.provider, &endpoint.model, refusal.failure.text);
                return Err(Error::Refused(format!("the model `{model}` of `{who}` calls no tools (it says: {says})")));
            }
            Some(LearnedLimit::Context(context)) => {
                // The next attempt is fitted to this size.
                learned.lock().unwrap_or_else(PoisonError::into_inner).1.context = context;
                return Err(Error::TooLong(format!(
                    "this is too long for the model `{}` of `{}` ({context} tokens): say it in fewer words, begin a new \
                     conversation, or choose a model that reads more",
                    endpoint.model, endpoint.provider
                )));
            }
            Some(LearnedLimit::WithoutKept) => learned_limits::drop_provider_state(&mut request, &endpoint.provider),
            Some(LearnedLimit::Option(OptionRefused::Learned(quirks))) => endpoint.quirks = quirks,
            Some(LearnedLimit::Option(OptionRefused::Unsupported(option))) => {
                return Err(sampling::unsupported(&endpoint, option, &refusal.failure.text));
            }
            None => return Err(refusal.into_error(&endpoint)),
        }
        tracing::info!(provider = endpoint.provider, status = refusal.status, "the request is mended and made again");
    }
    Err(Error::Refused(format!("the model server `{}` takes the request in no form", endpoint.provider)))
}

/// Stores the quirks that made a request succeed. The context size and tool support may have been learned by another
/// client meanwhile.
fn remember(learned: &Learned, endpoint: &Endpoint) {
    let mut learned = learned.lock().unwrap_or_else(PoisonError::into_inner);
    let Facts { tools, context, .. } = learned.1;
    *learned = (endpoint.quirks, Facts { tools, context, ..endpoint.facts });
}

/// Reads a successful response.
async fn read(endpoint: &Endpoint, answer: Streaming) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    let who = &endpoint.provider;
    let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with("application/json") {
        // Some servers never stream.
        return whole(endpoint, answer).await;
    }
    if kind.starts_with("text/html") {
        return Err(Error::Refused(format!(
            "the model server `{who}` answered with a web page, so it is no model server: check its address"
        )));
    }
    Ok(streamed(endpoint, answer.into_stream().boxed()))
}

async fn whole(endpoint: &Endpoint, answer: Streaming) -> Result<BoxStream<'static, Result<Delta, Error>>, Error> {
    let who = &endpoint.provider;
    let bytes = answer.bytes(WHOLE_ANSWER).await.map_err(|e| connection_error(who, e))?;
    let deltas = whole_document(who, endpoint.key.as_deref(), reader(endpoint).as_mut(), &bytes)?;
    Ok(stream::iter(deltas.into_iter().map(Ok)).boxed())
}

/// A server error without a retry delay.
fn server(text: String) -> Error {
    Error::Server { text, after: None }
}

/// Reads a response that arrived as a single JSON document.
fn whole_document(who: &str, key: Option<&str>, reader: &mut dyn Reader, bytes: &[u8]) -> Result<Vec<Delta>, Error> {
    let broken =
        |e| server(format!("the model server `{who}` sent an answer that is not JSON ({e}): check its address"));
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&Halves::default().joined(&String::from_utf8_lossy(bytes))).map_err(broken)?,
    };
    let mut deltas = reader.whole(value).map_err(|failure| failure.in_stream(who, key, false))?;
    let rest = reader.finish().map_err(|failure| failure.in_stream(who, key, false))?;
    deltas.extend(rest.ok_or_else(|| server(format!("the model server `{who}` sent an empty answer")))?);
    Ok(deltas)
}

/// A response body stream.
pub(crate) type Body = BoxStream<'static, http_client::Result<http_client::Bytes>>;

struct Reading {
    who: String,
    key: Option<String>,
    body: Body,
    events: Events,
    reader: Box<dyn Reader>,
    halves: Halves,
    /// The bytes so far if the body turned out to be a single JSON document.
    whole: Option<Vec<u8>>,
    touched: bool,
    ready: VecDeque<Delta>,
    failed: Option<Error>,
    ended: bool,
    begun: bool,
    media: usize,
}

/// The deltas of an event stream.
pub(crate) fn streamed(endpoint: &Endpoint, body: Body) -> BoxStream<'static, Result<Delta, Error>> {
    let reading = Reading {
        who: endpoint.provider.clone(),
        key: endpoint.key.clone(),
        body,
        events: Events::default(),
        reader: reader(endpoint),
        halves: Halves::default(),
        whole: None,
        touched: false,
        ready: VecDeque::new(),
        failed: None,
        ended: false,
        begun: false,
        media: 0,
    };
    stream::unfold(Some(reading), |reading| async {
        let mut reading = reading?;
        loop {
            if let Some(delta) = reading.ready.pop_front() {
                return Some((Ok(delta), Some(reading)));
            }
            // Deltas before the failure in the same chunk come first.
            if let Some(error) = reading.failed.take() {
                return Some((Err(error), None));
            }
            if reading.ended {
                return None;
            }
            reading.failed = reading.read_on().await.err();
        }
    })
    .boxed()
}

impl Reading {
    async fn read_on(&mut self) -> Result<(), Error> {
        let next = self.body.next().await;
        if let Some(Ok(bytes)) = &next
            && self.is_whole(bytes)
        {
            return Ok(());
        }
        let who = &self.who;
        let data = match next {
            Some(Ok(bytes)) => self.events.feed(&bytes).ok_or_else(|| {
                Error::Broken(format!("the model server `{who}` sent something that is no event stream"))
            })?,
            Some(Err(error)) => {
                // Retrying is safe only before the first delta: half a response is never repeated.
                return Err(match connection_error(who, error) {
                    Error::Network(text) | Error::Timeout(text) if self.has_begun() => Error::Broken(text),
                    other => other,
                });
            }
            None if self.whole.is_some() => {
                self.ended = true;
                let bytes = self.whole.take().unwrap_or_default();
                self.ready.extend(whole_document(&self.who, self.key.as_deref(), self.reader.as_mut(), &bytes)?);
                return Ok(());
            }
            None => {
                self.ended = true;
                self.events.finish().into_iter().collect()
            }
        };
        for event in data {
            self.take(&event)?;
            if self.reader.ended() {
                self.ended = true;
                break;
            }
        }
        if self.ended {
            let begun = self.has_begun();
            let rest = self.reader.finish().map_err(|failure| self.failed(failure, begun))?;
            self.ready.extend(rest.ok_or_else(|| match begun {
                true => Error::Broken(format!(
                    "the model server `{}` stopped in the middle of its answer: ask again",
                    self.who
                )),
                // Nothing was emitted, so it may be retried at once.
                false => Error::Network(format!(
                    "the model server `{}` stopped before the first word of its answer: ask again",
                    self.who
                )),
            })?);
        }
        Ok(())
    }

    /// Whether this is a single JSON document, by its first character: no line of an event stream starts like that.
    fn is_whole(&mut self, bytes: &[u8]) -> bool {
        let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
        if let (false, Some(first)) = (self.touched, first) {
            self.touched = true;
            self.whole = b"{[".contains(first).then(Vec::new);
        }
        let Some(all) = &mut self.whole else { return false };
        if all.len() + bytes.len() > WHOLE_ANSWER {
            // As an event stream it would have no end.
            self.whole = None;
            return false;
        }
        all.extend_from_slice(bytes);
        true
    }

    fn failed(&self, failure: Failure, begun: bool) -> Error {
        failure.in_stream(&self.who, self.key.as_deref(), begun)
    }

    fn has_begun(&self) -> bool {
        self.begun || self.reader.holds()
    }

    fn take(&mut self, event: &str) -> Result<(), Error> {
        let event = event.trim();
        if event == "[DONE]" {
            self.ended = true;
            self.reader.on_done_marker();
            return Ok(());
        }
        if event.is_empty() {
            return Ok(());
        }
        let broken = |e| Error::Broken(format!("the model server `{}` sent an event that is not JSON ({e})", self.who));
        let value: Value = match serde_json::from_str(event) {
            Ok(value) => value,
            Err(_) => serde_json::from_str(&self.halves.joined(event)).map_err(broken)?,
        };
        let begun = self.has_begun();
        let said = self.reader.take(value).map_err(|failure| self.failed(failure, begun))?;
        self.begun |= !said.is_empty();
        self.media += said.iter().map(media_bytes).sum::<usize>();
        self.ready.extend(said);
        let too_long = |what: &str, limit: usize| {
            Err(Error::Broken(format!(
                "the {what} of the model server `{}` is longer than {} MB and was stopped: ask for less at once",
                self.who,
                limit >> 20
            )))
        };
        match (self.reader.held() > LONGEST_ANSWER, self.media > MOST_MEDIA) {
            (true, _) => too_long("answer", LONGEST_ANSWER),
            (_, true) => too_long("media", MOST_MEDIA),
            _ => Ok(()),
        }
    }
}

fn media_bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Media(crate::Media { source: crate::Source::Bytes(bytes), .. }) => bytes.len(),
        _ => 0,
    }
}

/// Maps a connection failure.
pub(crate) fn connection_error(who: &str, error: http_client::Error) -> Error {
    let text = format!("the model server `{who}` did not answer: {error}");
    match error {
        http_client::Error::TimedOut { what: "could not be connected to", .. } => Error::Unconnected(text),
        http_client::Error::TimedOut { .. } => Error::Timeout(text),
        http_client::Error::Unreachable { .. } | http_client::Error::Broken { .. } => Error::Network(text),
        _ => Error::Refused(text),
    }
}
