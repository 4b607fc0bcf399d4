//! The queue in front of the model: one OS thread that loads it when needed and drops it when idle.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::model::Model;
use crate::own::{self, Centres, Purpose, Session, Settings};
use crate::{DIM, Error, MODEL, Quantized, allocator};

/// After a failed load of a household's model the next attempt: reading a large file again for each text would occupy the device.
const LOAD_AGAIN: Duration = Duration::from_secs(300);
/// The longest wait for a household's model, with those before in the queue: a graph may have a loop without end.
const PATIENCE: Duration = Duration::from_secs(180);

/// Turns texts into vectors; a clone shares the same thread and model.
///
/// Nothing runs and nothing is loaded until the first call. Calls are answered one after another,
/// in the order they came. The thread ends with the last clone.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

struct Shared {
    idle: Duration,
    source: Arc<Source>,
    /// Set by the thread alone.
    loaded: Arc<AtomicBool>,
    /// The way to the thread, from the first call on.
    queue: Mutex<Option<Sender<Job>>>,
}

/// The model that makes the vectors.
enum Source {
    BuiltIn,
    Own(Box<OwnModel>),
    /// The household's model cannot be used, for this reason.
    Unusable(String),
}

/// A model that a household brought.
struct OwnModel {
    settings: Settings,
    /// Measured when the model is loaded for the first time.
    centres: OnceLock<Option<Centres>>,
    /// The last failure, and when the model may be loaded again.
    failure: Mutex<Option<(Error, Instant)>>,
}

/// A model in memory.
enum Loaded {
    BuiltIn(Model),
    Own(Box<Session>),
}

/// One text and where its vector goes.
struct Job {
    text: String,
    purpose: Purpose,
    /// Whether all of the text counts, and not its beginning alone.
    whole: bool,
    reply: oneshot::Sender<Result<(Vec<f32>, usize), Error>>,
}

impl Embedder {
    /// `idle` is how long after the last call the model stays loaded: 2 MB, and the pages of the program that
    /// hold its weights. Loading it again takes some milliseconds.
    pub fn new(idle: Duration) -> Self {
        Self::of(Source::BuiltIn, idle)
    }

    /// The embedder with the model that a household chose: that of this name in the folder `models`, the only one there if the
    /// name is empty, or the built-in one if there is none or the name is `built-in`.
    ///
    /// A model that cannot be used is no error here: each call then fails, and [`Embedder::problem`] has the reason. `idle` is
    /// as in [`Embedder::new`]; such a model takes its file's size and more, and seconds to load.
    pub fn chosen(idle: Duration, models: &Path, name: &str) -> Self {
        let source = match own::find(models, name) {
            Ok(None) => Source::BuiltIn,
            Ok(Some(settings)) => {
                Source::Own(Box::new(OwnModel { settings, centres: OnceLock::new(), failure: Mutex::default() }))
            }
            Err(why) => Source::Unusable(why),
        };
        Self::of(source, idle)
    }

    fn of(source: Source, idle: Duration) -> Self {
        let loaded = Arc::new(AtomicBool::new(false));
        Self { shared: Arc::new(Shared { idle, source: Arc::new(source), loaded, queue: Mutex::new(None) }) }
    }

    /// The model's name, to be recorded beside stored vectors: vectors of different models cannot be compared. No model that
    /// cannot be used has made a vector, so its name is empty.
    pub fn model(&self) -> &str {
        match &*self.shared.source {
            Source::BuiltIn => MODEL,
            Source::Own(own) => &own.settings.id,
            Source::Unusable(_) => "",
        }
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        match &*self.shared.source {
            Source::Own(own) => own.settings.dimensions,
            Source::BuiltIn | Source::Unusable(_) => DIM,
        }
    }

    /// Whether this is the model inside the program.
    pub fn is_built_in(&self) -> bool {
        matches!(*self.shared.source, Source::BuiltIn)
    }

    /// Why the household's model cannot be used, as of the last attempt.
    pub fn problem(&self) -> Option<String> {
        match &*self.shared.source {
            Source::BuiltIn => None,
            Source::Own(own) => own.failure().as_ref().map(|(error, _)| error.to_string()),
            Source::Unusable(why) => Some(why.clone()),
        }
    }

    /// The unit vector of `text`, [`Embedder::dimensions`] floats.
    ///
    /// Only the first 256 tokens count, some 190 English words; of a household's model as many as it reads, 512 at most. A text without a single token
    /// (empty, blanks) is [`Error::Empty`]. The future may be dropped: a text whose turn has not
    /// come is then skipped.
    pub async fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        self.ask(text, Purpose::Passage, false).await.map(|(vector, _)| vector)
    }

    /// The unit vector of a text that is searched for, to be compared with those of [`Embedder::embed`]: some models embed
    /// questions in another way than answers.
    pub async fn embed_query(&self, text: &str) -> Result<Vec<f32>, Error> {
        self.ask(text, Purpose::Query, false).await.map(|(vector, _)| vector)
    }

    /// The vector of [`Embedder::embed`] in bytes, for storing.
    ///
    /// # Errors
    /// As there; `NotAVector` when the model returned numbers that are none.
    pub async fn embed_quantized(&self, text: &str) -> Result<Quantized, Error> {
        self.embed(text).await.and_then(|vector| Quantized::quantize(&vector))
    }

    /// The vector of [`Embedder::embed_query`] in bytes, for comparing.
    ///
    /// # Errors
    /// As [`Embedder::embed_quantized`].
    pub async fn embed_query_quantized(&self, text: &str) -> Result<Quantized, Error> {
        self.embed_query(text).await.and_then(|vector| Quantized::quantize(&vector))
    }

    /// The unit vector of all of `text`, and how many tokens the model reads for it.
    ///
    /// A text longer than the model's input is the mean of its pieces, weighted by their length; one of more than 8192 tokens
    /// is [`Error::TooLong`].
    pub async fn embed_whole(&self, text: &str) -> Result<(Vec<f32>, usize), Error> {
        self.ask(text, Purpose::Passage, true).await
    }

    /// As [`Embedder::embed_whole`], of a text that is searched for.
    pub async fn embed_whole_query(&self, text: &str) -> Result<(Vec<f32>, usize), Error> {
        self.ask(text, Purpose::Query, true).await
    }

    async fn ask(&self, text: &str, purpose: Purpose, whole: bool) -> Result<(Vec<f32>, usize), Error> {
        let own = match &*self.shared.source {
            Source::BuiltIn => None,
            Source::Own(own) => Some(&**own),
            Source::Unusable(why) => return Err(Error::Unavailable(why.clone())),
        };
        if let Some(error) = own.and_then(OwnModel::not_yet) {
            return Err(error);
        }
        let (reply, answer) = oneshot::channel();
        self.submit(Job { text: text.to_owned(), purpose, whole, reply })?;
        let answered = match own {
            None => answer.await,
            Some(own) => match tokio::time::timeout(PATIENCE, answer).await {
                Ok(answered) => answered,
                Err(_) => return Err(own.give_up()),
            },
        };
        answered.unwrap_or_else(|_| {
            Err(Error::Unavailable(
                "the embedding thread ended before it answered: try again, and report the crash it left".into(),
            ))
        })
    }

    /// The vectors of `texts`, in their order; the first error ends it.
    ///
    /// Each text queues on its own, so that a question asked meanwhile waits for one of them and
    /// not for all.
    pub async fn embed_all(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        for text in &texts {
            vectors.push(self.embed(text).await?);
        }
        Ok(vectors)
    }

    /// Whether the model is in memory now.
    pub fn loaded(&self) -> bool {
        self.shared.loaded.load(Ordering::Relaxed)
    }

    /// Hands a job to the thread, which is started if there is none or the last one crashed.
    fn submit(&self, job: Job) -> Result<(), Error> {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match &*queue {
            Some(queue) => queue.send(job),
            None => Err(SendError(job)),
        };
        let Err(SendError(job)) = sent else { return Ok(()) };
        let (sender, jobs) = mpsc::channel();
        let (idle, loaded, source) = (self.shared.idle, self.shared.loaded.clone(), self.shared.source.clone());
        let thread = thread::Builder::new().name("embed".into());
        thread.spawn(move || serve(&source, &jobs, idle, &loaded)).map_err(|error| {
            Error::Unavailable(format!("the embedding thread did not start ({error}): free some memory and try again"))
        })?;
        // The thread holds the other end until this sender is gone, so this cannot fail; if it
        // did, the dropped reply would tell the caller.
        let _ = sender.send(job);
        *queue = Some(sender);
        Ok(())
    }
}

/// The thread: sleeps without a model until a job comes, then works until none came for `idle`.
fn serve(source: &Source, jobs: &Receiver<Job>, idle: Duration, loaded: &AtomicBool) {
    while let Ok(job) = jobs.recv() {
        if job.reply.is_closed() {
            continue;
        }
        match Loaded::load(source) {
            Ok(model) => {
                let _flag = Flag::raise(loaded);
                work(&model, source, job, jobs, idle);
            }
            Err(error) => job.answer(Err(error)),
        }
        allocator::trim();
        if matches!(source, Source::BuiltIn) {
            Model::release_pages();
        }
    }
}

/// Runs jobs until none came for `idle` or all senders are gone.
fn work(model: &Loaded, source: &Source, first: Job, jobs: &Receiver<Job>, idle: Duration) {
    let mut next = Ok(first);
    while let Ok(job) = next {
        if !job.reply.is_closed() {
            let vector = model.run(&job);
            if let (Source::Own(own), Err(error @ Error::Unavailable(_))) = (source, &vector) {
                // The model stays loaded: another text may succeed.
                *own.failure() = Some((error.clone(), Instant::now()));
            } else if let (Source::Own(own), Ok(_)) = (source, &vector) {
                *own.failure() = None;
            }
            job.answer(vector);
        }
        next = jobs.recv_timeout(idle);
    }
}

impl OwnModel {
    fn failure(&self) -> std::sync::MutexGuard<'_, Option<(Error, Instant)>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last failure, while it is too early to try again.
    fn not_yet(&self) -> Option<Error> {
        self.failure().clone().filter(|(_, until)| Instant::now() < *until).map(|(error, _)| error)
    }

    /// Records that the model does not answer.
    fn give_up(&self) -> Error {
        let minutes = PATIENCE.as_secs() / 60;
        let error = own::unusable(&self.settings.name, format!("it did not answer within {minutes} minutes"));
        *self.failure() = Some((error.clone(), Instant::now() + LOAD_AGAIN));
        error
    }
}

impl Loaded {
    fn load(source: &Source) -> Result<Self, Error> {
        let own = match source {
            Source::BuiltIn => return Model::load().map(Self::BuiltIn),
            Source::Unusable(why) => return Err(Error::Unavailable(why.clone())),
            Source::Own(own) => own,
        };
        if let Some(error) = own.not_yet() {
            return Err(error);
        }
        let loaded = Session::load(&own.settings, &own.centres);
        *own.failure() = match &loaded {
            Ok(_) => None,
            Err(error) => {
                tracing::error!(%error, "texts are found by words only");
                Some((error.clone(), Instant::now() + LOAD_AGAIN))
            }
        };
        loaded.map(Box::new).map(Self::Own)
    }

    fn run(&self, job: &Job) -> Result<(Vec<f32>, usize), Error> {
        match (self, job.whole) {
            (Self::BuiltIn(model), true) => model.embed_whole(&job.text),
            (Self::BuiltIn(model), false) => model.embed(&job.text).map(|vector| (vector, 0)),
            (Self::Own(model), true) => model.embed_whole(&job.text, job.purpose),
            (Self::Own(model), false) => model.embed(&job.text, job.purpose).map(|vector| (vector, 0)),
        }
    }
}

impl Job {
    /// A caller that no longer waits is no failure.
    fn answer(self, answer: Result<(Vec<f32>, usize), Error>) {
        let _ = self.reply.send(answer);
    }
}

/// Says that the model is loaded as long as it lives, which a crash ends too.
struct Flag<'a>(&'a AtomicBool);

impl<'a> Flag<'a> {
    fn raise(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{DIM, Quantized};

    const LONG: Duration = Duration::from_secs(600);

    async fn until_unloaded(loaded: &AtomicBool) {
        let start = Instant::now();
        while loaded.load(Ordering::Relaxed) {
            assert!(start.elapsed() < Duration::from_secs(20), "the model is still loaded");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn an_idle_model_is_dropped_and_comes_back() {
        let embedder = Embedder::new(Duration::from_millis(50));
        assert!(!embedder.loaded(), "nothing is loaded before the first call");
        let first = embedder.embed("the lamp in the garage").await.unwrap();
        until_unloaded(&embedder.shared.loaded).await;
        assert_eq!(embedder.embed("the lamp in the garage").await.unwrap(), first);
        until_unloaded(&embedder.shared.loaded).await;
    }

    #[tokio::test]
    async fn a_busy_model_stays_until_the_last_clone_is_gone() {
        let embedder = Embedder::new(LONG);
        embedder.embed("one").await.unwrap();
        assert!(embedder.loaded());
        assert_eq!(embedder.embed(" ").await, Err(Error::Empty));
        assert!(embedder.clone().loaded(), "a text that cannot be embedded does no harm");
        let loaded = embedder.shared.loaded.clone();
        drop(embedder);
        until_unloaded(&loaded).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_callers_get_their_own_vectors() {
        let embedder = Embedder::new(LONG);
        let texts: Vec<String> = (0..12).map(|i| format!("note number {i}: {}", "rain ".repeat(i))).collect();
        let calls: Vec<_> = texts
            .iter()
            .map(|text| {
                let (embedder, text) = (embedder.clone(), text.clone());
                tokio::spawn(async move { embedder.embed(&text).await })
            })
            .collect();
        let in_order = embedder.embed_all(texts).await.unwrap();
        assert_eq!(in_order.len(), calls.len());
        for (call, expected) in calls.into_iter().zip(&in_order) {
            assert_eq!(expected.len(), DIM);
            assert_eq!(&call.await.unwrap().unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_long_text_counts_to_its_end() {
        let embedder = Embedder::new(LONG);
        let short = "the boiler was serviced in October";
        let (vector, tokens) = embedder.embed_whole(short).await.unwrap();
        assert_eq!((vector, tokens), (embedder.embed(short).await.unwrap(), 8));
        let long = format!("{} the boiler was serviced", "rain ".repeat(400));
        let (vector, tokens) = embedder.embed_whole(&long).await.unwrap();
        assert_eq!(tokens, 404 + 4);
        assert!((vector.iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 1e-4);
        assert_ne!(vector, embedder.embed(&long).await.unwrap(), "its end counts");
        assert_eq!(embedder.embed_whole(" ").await, Err(Error::Empty));
        assert_eq!(embedder.embed_whole(&"rain ".repeat(9000)).await, Err(Error::TooLong(8192)));
    }

    #[tokio::test]
    async fn a_dropped_call_disturbs_nobody() {
        let embedder = Embedder::new(LONG);
        for _ in 0..3 {
            let call = embedder.embed("nobody waits for this");
            assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
        }
        assert_eq!(embedder.embed("somebody waits for this").await.unwrap().len(), DIM);
        assert_eq!(embedder.embed_all(Vec::new()).await.unwrap(), Vec::<Vec<f32>>::new());
    }

    #[tokio::test]
    async fn a_crashed_thread_is_replaced() {
        let embedder = Embedder::new(LONG);
        // As a crash leaves it: a sender without a receiver.
        *embedder.shared.queue.lock().unwrap() = Some(mpsc::channel().0);
        assert_eq!(embedder.embed("still here").await.unwrap().len(), DIM);
    }

    #[tokio::test]
    async fn stored_vectors_keep_what_is_near() {
        let embedder = Embedder::new(LONG);
        let rows: Vec<Quantized> = embedder
            .embed_all(
                ["who looked after the heating?", "Marta serviced the boiler on 3 October", "Paris is in France"]
                    .map(String::from)
                    .to_vec(),
            )
            .await
            .unwrap()
            .iter()
            .map(|vector| Quantized::quantize(vector).unwrap())
            .collect();
        let [question, right, wrong] = &rows[..] else { unreachable!() };
        assert!(question.dot(right) > question.dot(wrong) + 0.1);
        let bits = |row: &Quantized| question.signature().hamming(&row.signature());
        assert!(bits(right) < bits(wrong));
    }
}
