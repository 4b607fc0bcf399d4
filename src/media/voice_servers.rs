//! The Wyoming servers: those that an admin entered in the Config Center, else those that announce themselves on the network.

use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tool::{Cx, Error, Result, Settings};
use wyoming::Info;

/// The service of the Config Center; its field `address`.
pub const SERVICE: &str = "wyoming";
/// How long a look holds; without any server it is repeated sooner.
const FRESH: Duration = Duration::from_secs(300);
const NONE_FRESH: Duration = Duration::from_secs(30);
/// The most servers that are asked, and the most voices of one.
const SERVERS: usize = 8;
const VOICES: usize = 200;

/// Finds the addresses of Wyoming servers on the local network.
pub type Finder = Arc<dyn Fn() -> BoxFuture<'static, Vec<SocketAddr>> + Send + Sync>;

/// A server, and what it offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    pub address: String,
    pub voices: Vec<String>,
    hears: bool,
    speaks: bool,
}

/// The servers; cheap to clone.
#[derive(Clone)]
pub struct VoiceServers(Arc<Inner>);

struct Inner {
    find: Finder,
    known: Mutex<Option<Known>>,
    /// Held while servers are looked for: those who ask meanwhile share the result.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Known {
    at: Instant,
    /// The configured addresses at that time.
    configured: Vec<String>,
    servers: Vec<Server>,
}

impl VoiceServers {
    /// Servers on the network are found by `find`.
    pub fn new(find: Finder) -> Self {
        Self(Arc::new(Inner { find, known: Mutex::default(), looking: tokio::sync::Mutex::default() }))
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, configured: &[String]) -> Option<Vec<Server>> {
        let known = self.known().clone()?;
        let fresh = if known.servers.is_empty() { NONE_FRESH } else { FRESH };
        (known.at.elapsed() < fresh && known.configured == configured).then_some(known.servers)
    }

    /// The servers that answer, as of the last minutes.
    async fn servers(&self, settings: &dyn Settings) -> Vec<Server> {
        let configured: Vec<String> = settings
            .entries(SERVICE)
            .iter()
            .filter_map(|(_, entry)| entry.get("address").and_then(Value::as_str))
            .map(|address| address.trim().trim_start_matches("tcp://").trim_end_matches('/').to_owned())
            .filter(|address| !address.is_empty())
            .take(SERVERS)
            .collect();
        if let Some(servers) = self.fresh(&configured) {
            return servers;
        }
        let _looking = self.0.looking.lock().await;
        if let Some(servers) = self.fresh(&configured) {
            return servers;
        }
        // An address that an admin entered excludes those that strangers announce.
        let addresses = match configured.is_empty() {
            false => configured.clone(),
            true => found((self.0.find)().await),
        };
        let asked = addresses.into_iter().map(|address| async move {
            let info = wyoming::describe(&address).await;
            info.map(|info| server(address.clone(), &info)).map_err(|error| {
                tracing::debug!(address, %error, "a Wyoming server did not answer");
            })
        });
        let servers: Vec<Server> = join_all(asked).await.into_iter().flatten().collect();
        *self.known() = Some(Known { at: Instant::now(), configured, servers: servers.clone() });
        servers
    }

    /// Whether there is a server that hears, and one that speaks.
    pub async fn offers(&self, settings: &dyn Settings) -> (bool, bool) {
        let servers = self.servers(settings).await;
        (servers.iter().any(|server| server.hears), servers.iter().any(|server| server.speaks))
    }

    pub(crate) async fn hearing(&self, cx: &Cx) -> Result<Server> {
        let servers = self.servers(&*cx.ports().settings).await;
        servers
            .into_iter()
            .find(|server| server.hears)
            .ok_or_else(|| none("speech to text", "Whisper", "faster-whisper"))
    }

    pub(crate) async fn speaking(&self, cx: &Cx) -> Result<Server> {
        let servers = self.servers(&*cx.ports().settings).await;
        servers.into_iter().find(|server| server.speaks).ok_or_else(|| none("text to speech", "Piper", "piper"))
    }

    /// The result of a request. After one that failed, servers are looked for again: this one may have another address now.
    pub(crate) fn used<T>(&self, server: &Server, result: wyoming::Result<T>) -> Result<T> {
        result.map_err(|error| {
            *self.known() = None;
            Error::unavailable(format!("the voice server at {} did not do it: {error}; try again", server.address))
        })
    }
}

fn server(address: String, info: &Info) -> Server {
    let voices = info.voices().map(|voice| voice.name.clone()).take(VOICES).collect();
    Server { address, voices, hears: info.hears(), speaks: info.speaks() }
}

/// Only machines of the local network: an announcement must not lead elsewhere.
fn found(addresses: Vec<SocketAddr>) -> Vec<String> {
    let is_local = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local() || ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback(),
    };
    addresses.into_iter().filter(|at| is_local(at.ip())).map(|at| at.to_string()).take(SERVERS).collect()
}

fn none(what: &str, addon: &str, package: &str) -> Error {
    Error::unavailable(format!(
        "there is no server for {what} on the network: install the {addon} add-on of Home Assistant, or `pip install \
         wyoming-{package}` on a machine here, or enter the address of one under Services, `{SERVICE}`, or there the key of a \
         provider such as `openai`"
    ))
    .say(format!(
        "I need a voice server for that, and there is none here. Home Assistant's {addon} add-on is one; it is found by \
         itself, or you enter its address under Services."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::net::TcpListener;
    use tool::{Channel, Ports, Principal, SystemClock, Via};
    use wyoming::{Event, EventReader, Limits, write};

    /// A server that offers to hear and to speak.
    async fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (reader, mut writer) = tokio::io::split(stream);
                    let mut reader = EventReader::new(reader, Limits::CLIENT);
                    while let Ok(Some(_)) = reader.read().await {
                        let model = json!({"name": "amy", "installed": true, "languages": ["en"]});
                        let program = json!([{"name": "x", "installed": true, "models": [model], "voices": [model]}]);
                        let info = Event::new("info", json!({"asr": program, "tts": program}));
                        write(&mut writer, &info).await.unwrap();
                    }
                });
            }
        });
        address
    }

    struct Configured(Vec<String>);

    impl Settings for Configured {
        fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
            let entry = |address: &String| Map::from_iter([("address".to_owned(), Value::from(address.clone()))]);
            if service == SERVICE { self.0.iter().map(|a| (a.clone(), entry(a))).collect() } else { vec![] }
        }
    }

    fn cx(configured: &[String]) -> Cx {
        let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        ports.settings = Arc::new(Configured(configured.to_vec()));
        Cx::root(ports, Principal::owner(), Via::direct(Channel::Page))
    }

    /// Finds `addresses`, and counts how often it was asked.
    fn finder(addresses: Vec<SocketAddr>) -> (VoiceServers, Arc<AtomicUsize>) {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = looks.clone();
        let find: Finder = Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let addresses = addresses.clone();
            Box::pin(async move { addresses })
        });
        (VoiceServers::new(find), looks)
    }

    #[tokio::test]
    async fn an_entered_address_is_used_and_no_other() {
        let (servers, looks) = finder(vec![server().await]);
        let there = server().await;
        let cx = cx(&[format!("tcp://{there}")]);
        assert_eq!(servers.speaking(&cx).await.unwrap().address, there.to_string());
        assert_eq!(looks.load(Ordering::Relaxed), 0);
        // A change counts at once.
        assert_eq!(servers.offers(&Configured(vec!["127.0.0.1:9".into()])).await, (false, false));
        assert_eq!(servers.offers(&Configured(vec![])).await, (true, true));
    }

    #[tokio::test]
    async fn a_server_that_moved_is_looked_for_again() {
        let (servers, looks) = finder(vec![server().await]);
        let stale = Server { address: "127.0.0.1:9".to_owned(), voices: vec![], hears: true, speaks: true };
        *servers.known() = Some(Known { at: Instant::now(), configured: vec![], servers: vec![stale.clone()] });
        let cx = cx(&[]);
        assert_eq!(servers.speaking(&cx).await.unwrap(), stale);
        let error = servers.used::<()>(&stale, Err(wyoming::Error::Closed)).unwrap_err();
        assert!(matches!(&error, Error::Unavailable(why) if why.contains("try again")), "{error}");
        assert_ne!(servers.speaking(&cx).await.unwrap(), stale);
        assert_eq!(looks.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn announcements_lead_nowhere_else() {
        let addresses = ["192.168.1.7:10300", "8.8.8.8:10300", "[fd00::7]:10300", "[2001:db8::1]:10300"];
        let found = found(addresses.iter().map(|at| at.parse().unwrap()).collect());
        assert_eq!(found, ["192.168.1.7:10300", "[fd00::7]:10300"]);
    }
}
