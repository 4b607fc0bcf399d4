//! Looks for model servers on this device and on the household's machines, because a person asked.
//!
//! Only machines that are known already are asked, at the usual ports of model servers, and without a key.

use crate::Models;
use futures::{StreamExt, future::BoxFuture, stream};
use llm::{Endpoint, Preset};
use serde::Serialize;
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};
use tool::prelude::{JsonSchema, schemars};

/// The usual ports, and whose they are.
const PORTS: [(u16, &str); 6] =
    [(11434, "ollama"), (1234, "lmstudio"), (8080, "llamacpp"), (8000, "custom"), (1337, "custom"), (5001, "custom")];
/// A machine of the household that is on answers at once.
const CONNECT: Duration = Duration::from_millis(600);
/// How long a list of models may take.
const LIST: Duration = Duration::from_secs(4);
/// How many connections are tried at a time.
const AT_ONCE: usize = 32;
/// The most machines that are asked.
const MOST_HOSTS: usize = 64;
/// The most models of a server in the answer.
const MOST_MODELS: usize = 200;

/// A machine of the household.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHost {
    /// Its address.
    pub address: IpAddr,
    /// Its name, where it has announced one.
    pub name: Option<String>,
}

/// Finds the machines that this device knows of.
pub type KnownHosts = Arc<dyn Fn() -> BoxFuture<'static, Vec<KnownHost>> + Send + Sync>;

/// A model server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelServer {
    /// The provider for it, as in `provider/model`.
    pub provider: String,
    /// Its display name, such as `Ollama`.
    pub name: String,
    /// The name or address of its machine; empty for this device.
    pub host: String,
    /// Its address, for the provider.
    pub url: String,
    /// The models it offers.
    pub models: Vec<String>,
    /// The one to begin with; null if none of them chats.
    pub suggested: Option<String>,
}

/// The model servers that were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundServers {
    /// Those on this device first.
    pub servers: Vec<ModelServer>,
    /// How many machines were asked, this device included.
    pub machines: usize,
}

/// An address to try.
struct Candidate {
    preset: &'static Preset,
    host: String,
    url: String,
}

impl Models {
    /// Asks this device and the known machines for model servers.
    pub async fn find_servers(&self) -> FoundServers {
        let mut hosts = (self.0.deps.hosts)().await;
        hosts.truncate(MOST_HOSTS);
        let machines = hosts.len() + 1;
        let here = KnownHost { address: Ipv4Addr::LOCALHOST.into(), name: Some(String::new()) };
        let mut knocks: Vec<BoxFuture<'static, Option<Candidate>>> = vec![];
        for host in [here].into_iter().chain(hosts) {
            let presets = PORTS.iter().filter_map(|(port, id)| Some((*port, llm::preset(id)?)));
            knocks.extend(presets.map(|(port, preset)| Box::pin(knock(host.clone(), port, preset)) as _));
        }
        let open: Vec<Option<Candidate>> = stream::iter(knocks).buffered(AT_ONCE).collect().await;
        // A person may have moved a server to another port.
        let configured = llm::PRESETS.iter().filter(|preset| preset.local).filter_map(|preset| {
            let url = self.provider_view(preset).url;
            let host = url::Url::parse(&url).ok()?.host_str()?.to_owned();
            let host = if ["127.0.0.1", "localhost", "[::1]"].contains(&&*host) { String::new() } else { host };
            Some(Candidate { preset, host, url })
        });
        let mut seen = BTreeSet::new();
        let candidates = configured.chain(open.into_iter().flatten()).filter(|one| seen.insert(one.url.clone()));
        let looks: Vec<BoxFuture<'static, Option<ModelServer>>> =
            candidates.map(|one| Box::pin(self.clone().look_at(one)) as _).collect();
        let answers: Vec<Option<ModelServer>> = stream::iter(looks).buffered(AT_ONCE).collect().await;
        let mut servers: Vec<ModelServer> = answers.into_iter().flatten().collect();
        servers.sort_by_key(|server| !server.host.is_empty());
        FoundServers { servers, machines }
    }

    async fn look_at(self, candidate: Candidate) -> Option<ModelServer> {
        let Candidate { preset, host, url } = candidate;
        let endpoint: Endpoint = preset.endpoint("any", &url, None);
        let mut models = llm::models_within(&endpoint, LIST).await.ok()?;
        let suggested = self.suggest(preset, &models);
        models.truncate(MOST_MODELS);
        let name = if preset.id == "custom" { "Model server" } else { preset.name };
        Some(ModelServer { provider: preset.id.to_owned(), name: name.to_owned(), host, url, models, suggested })
    }
}

/// Whether somebody listens at that port.
async fn knock(host: KnownHost, port: u16, preset: &'static Preset) -> Option<Candidate> {
    let address = SocketAddr::new(host.address, port);
    timeout(CONNECT, TcpStream::connect(address)).await.ok()?.ok()?;
    let host = host.name.unwrap_or_else(|| address.ip().to_string());
    Some(Candidate { preset, host, url: format!("http://{address}/v1") })
}
