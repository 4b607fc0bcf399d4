//! The voice door, and where voice servers are looked for.

use crate::config::Network;
use anyhow::{Context, Result};
use api::AppState;
use config_center::{ConfigCenter, Required};
use discovery::Kind;
use home::wyoming;
use media::{Finder, VOICE_SERVICE as SERVICE, VoiceServers};
use serde_json::json;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tool::Label;

/// The usual port.
const PORT: u16 = 10620;
/// How long to listen for announcements: a person waits.
const BROWSE: Duration = Duration::from_millis(1500);

/// Binds the listener for voice: the configured address, else the usual port of `at`, the address of the page, if that is open
/// to the network. Takes any free port when that one is in use, or `any` is set: mDNS announces it.
pub async fn bind(configured: &str, at: SocketAddr, any: bool) -> Result<Option<TcpListener>> {
    match configured {
        "off" => Ok(None),
        "" if at.ip().is_loopback() => Ok(None),
        "" => {
            let usual = SocketAddr::new(at.ip(), if any { 0 } else { PORT });
            match TcpListener::bind(usual).await {
                Ok(listener) => Ok(Some(listener)),
                Err(error) => {
                    tracing::warn!(%error, "voice cannot listen on its usual port {PORT} and takes another");
                    Ok(Some(TcpListener::bind(SocketAddr::new(at.ip(), 0)).await.context("voice cannot listen")?))
                }
            }
        }
        address => {
            let listener = TcpListener::bind(address).await;
            Ok(Some(listener.with_context(|| format!("`wyoming.listen`: voice cannot listen on {address}"))?))
        }
    }
}

/// Answers by voice until the application closes. Returns the port.
pub fn serve(listener: Option<TcpListener>, house: &AppState) -> Result<Option<u16>> {
    let Some(listener) = listener else { return Ok(None) };
    let at = listener.local_addr()?;
    house.network.voice_opened(at);
    let settings = house.settings.clone();
    let parts = wyoming::Parts {
        agent: house.agent.clone(),
        identity: house.identity.clone(),
        ports: house.ports.clone(),
        name: Arc::new(move || settings.name()),
    };
    tracing::info!(%at, "voice: Home Assistant and satellites speak to Hob here once they are approved");
    tokio::spawn(wyoming::serve(listener, parts, house.closing.clone()));
    // A listener on this device alone is not announced.
    Ok((!at.ip().is_loopback()).then_some(at.port()))
}

/// Lists the service under which people enter addresses of voice servers.
pub fn register(services: &ConfigCenter) -> Result<()> {
    let needs = Required::parse_list(&json!([{
        "name": SERVICE,
        "displayName": "Voice servers",
        "description": "Speech to text and text to speech by the Wyoming protocol, such as Whisper and Piper. Servers on the \
                        network are found without this.",
        "multiEntry": true,
        "configSchema": [{"name": "address", "label": "Address", "type": "string", "required": true,
            "description": "Host and port, such as 192.168.1.7:10300."}],
    }]));
    services.register(SERVICE, "text_to_speech", Label::Own, needs?)?;
    Ok(())
}

/// The servers for speech to text and text to speech, found by mDNS unless discovery is turned off.
pub fn servers(network: &Network) -> VoiceServers {
    let Network { announce, ignore } = network.clone();
    let find: Finder = Arc::new(move || {
        let ignore = ignore.clone();
        Box::pin(async move { if announce { look(&ignore).await } else { vec![] } })
    });
    VoiceServers::new(find)
}

async fn look(ignore: &[String]) -> Vec<SocketAddr> {
    let found = discovery::browse(BROWSE, ignore).await.unwrap_or_default();
    // A Hob has an id there, and neither hears nor speaks.
    let servers = found.into_iter().filter(|service| service.kind == Kind::Wyoming && service.id.is_none());
    servers.filter_map(|service| Some(SocketAddr::new(*service.addresses.first()?, service.port))).collect()
}
