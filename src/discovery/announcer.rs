//! The announcer: what a Hob tells the network of itself, and the handle to change it.

use crate::{
    Result,
    announce_task::AnnounceTask,
    announced::{Announced, Voice},
    browse,
    found::DiscoveredService,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long what was found is good for others who ask.
const FRESH: Duration = Duration::from_secs(2);
/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// A handle to what is announced; cheap to clone. When the last is dropped, the network hears goodbye.
#[derive(Clone)]
pub struct Announcer(Arc<Inner>);

struct Inner {
    wanted: Option<watch::Sender<Announced>>,
    host: watch::Receiver<Option<String>>,
    why: Option<String>,
    may_look: bool,
    ignored: Vec<String>,
    voice: Arc<Voice>,
    looked: tokio::sync::Mutex<Option<(Instant, Vec<DiscoveredService>)>>,
    stop: CancellationToken,
    crier: Mutex<Option<JoinHandle<()>>>,
}

impl Announcer {
    /// Begins to announce, and returns at once; needs a tokio runtime. `ignored` are patterns of interface names, such
    /// as [`IGNORED`](crate::IGNORED). A Hob that listens on this device alone is not announced: [`Self::why`] says so.
    pub fn start(announced: Announced, ignored: Vec<String>) -> Self {
        if announced.listens.is_loopback() {
            let why = format!(
                "Hob listens at {} and can be reached from this device alone; `listen = \"0.0.0.0:{}\"` opens it to the network",
                announced.listens, announced.port
            );
            return Self::silent(why, true, ignored);
        }
        let (wanted, wants) = watch::channel(announced);
        let (tell, host) = watch::channel(None);
        let (voice, stop) = (Arc::<Voice>::default(), CancellationToken::new());
        let crier = AnnounceTask::new(wants, tell, ignored.clone(), voice.clone(), stop.clone());
        let crier = Mutex::new(Some(tokio::spawn(crier.run())));
        let (wanted, looked) = (Some(wanted), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { wanted, host, why: None, may_look: true, ignored, voice, looked, stop, crier }))
    }

    /// Announces nothing and asks nothing, for the reason given.
    pub fn off(why: &str) -> Self {
        Self::silent(why.to_owned(), false, vec![])
    }

    fn silent(why: String, may_look: bool, ignored: Vec<String>) -> Self {
        Self(Arc::new(Inner {
            wanted: None,
            host: watch::channel(None).1,
            why: Some(why),
            may_look,
            ignored,
            voice: Arc::default(),
            looked: tokio::sync::Mutex::default(),
            stop: CancellationToken::new(),
            crier: Mutex::new(None),
        }))
    }

    /// Why nothing is announced, if so.
    pub fn why(&self) -> Option<&str> {
        self.0.why.as_deref()
    }

    /// Whether [`Self::browse`] asks the network; after [`Self::off`] it finds nothing.
    pub fn may_look(&self) -> bool {
        self.0.may_look
    }

    /// The host name that is answered for now, such as `kitchen-2.local`. None while there is none.
    pub fn name(&self) -> Option<String> {
        self.0.host.borrow().clone()
    }

    /// Follows [`Self::name`]; a name changes when another device has it.
    pub fn names(&self) -> watch::Receiver<Option<String>> {
        self.0.host.clone()
    }

    /// Tells the network what changed.
    pub fn update(&self, change: impl FnOnce(&mut Announced)) {
        if let Some(wanted) = &self.0.wanted {
            wanted.send_if_modified(|announced| {
                let before = announced.clone();
                change(announced);
                *announced != before
            });
        }
    }

    /// Looks around for so long. Those who ask at the same time share one look.
    ///
    /// # Errors
    /// `Unusable` when the system has no place for multicast DNS.
    pub async fn browse(&self, how_long: Duration) -> Result<Vec<DiscoveredService>> {
        if !self.0.may_look {
            return Ok(vec![]);
        }
        let mut looked = self.0.looked.lock().await;
        if let Some((at, found)) = &*looked
            && at.elapsed() < FRESH
        {
            return Ok(found.clone());
        }
        let _turn = self.0.voice.turn.lock().await;
        let found = match self.0.voice.get() {
            Some(daemon) => browse::look(&daemon, how_long).await?,
            None => browse::browse(how_long, &self.0.ignored).await?,
        };
        *looked = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    /// Says goodbye, so that others forget this Hob at once, and ends. Takes a fifth of a second.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        let crier = self.0.crier.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(crier) = crier {
            let _ = timeout(GOODBYE, crier).await;
        }
    }
}
