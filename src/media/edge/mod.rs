//! Microsoft Edge's read-aloud voices. The service is free, needs no key and is not documented: what is known of it is what the
//! browser sends. So an admin switches it on, and whatever it answers that is not known here counts as a change of the service.

mod text;
mod wire;

use crate::{
    Endpoint,
    api::FILES,
    catalogue::Link,
    failure::Failure,
    job::{Answer, Speak},
};
use http_client::{Error as Http, Guarded, Message, SocketLimits, WebSocket};
use std::time::Duration;
use tokio::time::timeout;
use tool::{Clock, Error};

/// How long the handshake may take, and how long nothing may come while it speaks.
const QUIET: Duration = Duration::from_secs(15);
/// The largest message: a second of sound has 6 KB.
const MESSAGE: usize = 1 << 20;

/// Speaks a text, piece by piece, each over a connection of its own as the browser does. The sound of all is one MP3 stream.
pub(crate) async fn speak(
    web: &Guarded,
    (endpoint, link): (&Endpoint, &Link),
    clock: &dyn Clock,
    speak: &Speak,
) -> Result<Answer, Failure> {
    if let Some(other) = speak.format.as_deref().filter(|format| *format != "mp3") {
        return Err(Failure::Unable(format!("makes mp3 and not {other}")));
    }
    let voice = text::voice(speak)?;
    let mut service = Service {
        web: web.allowing(entered(endpoint)),
        base: &endpoint.url,
        clock,
        skew: None,
        sound: vec![],
        received: 0,
    };
    let speaking = async {
        for piece in text::pieces(&speak.text) {
            service.say(&text::ssml(&voice, speak.speed, &piece)).await?;
        }
        Ok::<(), Failure>(())
    };
    let late = |_| Failure::Silent(format!("was not done within {} s: try a shorter text", link.seconds));
    timeout(Duration::from_secs(link.seconds), speaking).await.map_err(late)??;
    if service.sound.is_empty() {
        let voice = match &speak.voice {
            Some(_) => format!(", and check whether there is a voice `{voice}`"),
            None => String::new(),
        };
        return Err(Failure::Own(Error::bad_args(format!(
            "the text has nothing that can be spoken: give it words{voice}"
        ))));
    }
    Ok(Answer::bytes(service.sound))
}

/// The host and port of an address that an admin entered, which may be in the house. The usual one must be on the internet.
fn entered(endpoint: &Endpoint) -> Option<String> {
    if endpoint.url == endpoint.provider.url {
        return None;
    }
    let url = url::Url::parse(&endpoint.url).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// The service during one job.
struct Service<'a> {
    web: Guarded,
    base: &'a str,
    clock: &'a dyn Clock,
    /// How many seconds its clock is ahead of ours, once it refused because of that.
    skew: Option<i64>,
    sound: Vec<u8>,
    /// The size of all messages in bytes.
    received: usize,
}

impl Service<'_> {
    /// Has one piece spoken.
    async fn say(&mut self, ssml: &str) -> Result<(), Failure> {
        let mut socket = self.connect().await?;
        let now = self.clock.now();
        socket.send(wire::config(now)).await?;
        socket.send(wire::speech(now, ssml)).await?;
        while let Some(message) = self.receive(&mut socket).await? {
            match message {
                Message::Text(text) if wire::is_end(&text)? => {
                    socket.close().await;
                    return Ok(());
                }
                Message::Text(_) => {}
                Message::Binary(bytes) => self.sound.extend_from_slice(wire::sound(&bytes)?),
            }
        }
        Err(Failure::Silent("closed the connection before it was done: try again".into()))
    }

    /// Connects, and once more by its own time where ours is wrong: its signature is of the time.
    async fn connect(&mut self) -> Result<WebSocket, Failure> {
        let limits = SocketLimits { handshake: QUIET, message: MESSAGE };
        loop {
            let now = self.clock.now().as_second();
            let url = wire::address(self.base, now.saturating_add(self.skew.unwrap_or_default()));
            let error = match self.web.web_socket(&url, wire::headers(), limits).await {
                Ok(socket) => return Ok(socket),
                Err(error) => error,
            };
            let theirs = match &error {
                Http::NotWebSocket { status: 403, date: Some(date), .. } => wire::seconds(date),
                _ => None,
            };
            match theirs {
                Some(theirs) if self.skew.is_none() => self.skew = Some(theirs.saturating_sub(now)),
                _ => return Err(unconnected(error)),
            }
        }
    }

    async fn receive(&mut self, socket: &mut WebSocket) -> Result<Option<Message>, Failure> {
        let silent = |_| Failure::Silent(format!("sent nothing more within {} s: try again later", QUIET.as_secs()));
        let message = match timeout(QUIET, socket.receive()).await.map_err(silent)? {
            Ok(message) => message,
            Err(Http::TooLarge { .. }) => return Err(wire::changed()),
            Err(error) => return Err(error.into()),
        };
        self.received += match &message {
            Some(Message::Text(text)) => text.len(),
            Some(Message::Binary(bytes)) => bytes.len(),
            None => 0,
        };
        match self.received > FILES {
            true => Err(Failure::Odd(format!("sent more than {} MB for this text", FILES >> 20))),
            false => Ok(message),
        }
    }
}

/// Why no connection came about.
fn unconnected(error: Http) -> Failure {
    match error {
        Http::NotWebSocket { status: status @ (401 | 403), .. } => Failure::Rejected(format!(
            "status {status}: it may have changed, or refuse this network; another `provider` can speak meanwhile"
        )),
        Http::NotWebSocket { status: status @ (429 | 500..), .. } => Failure::Busy(format!("status {status}")),
        Http::NotWebSocket { .. } => wire::changed(),
        Http::Blocked { host, why } => Failure::Unable(format!(
            "was not asked: `{host}` {why}. Where that is on purpose, an admin can enter the address under Services"
        )),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, job::Task};
    use tool::SystemClock;

    #[tokio::test]
    async fn only_an_address_that_was_entered_may_be_in_the_house() {
        let provider = catalogue::provider("edge").unwrap();
        let endpoint = |url: &str| Endpoint { provider, url: url.into(), key: None };
        assert_eq!(entered(&endpoint(&provider.url)), None);
        for (url, host) in [("http://nas/x", "nas:80"), ("https://[fd00::7]:8443/", "[fd00::7]:8443")] {
            assert_eq!(entered(&endpoint(url)).as_deref(), Some(host));
        }
        // As if the usual name led to this device.
        let usual = "http://127.0.0.1:9/".to_owned();
        let provider = Box::leak(Box::new(catalogue::Provider { url: usual.clone(), ..provider.clone() }));
        let endpoint = Endpoint { provider, url: usual, key: None };
        let link = catalogue::link(Task::Speech, "edge").unwrap();
        let job = Speak { text: "x".into(), ..Speak::default() };
        let clock = SystemClock::new(None).unwrap();
        let failure = speak(&Guarded::default(), (&endpoint, &link), &clock, &job).await.unwrap_err();
        assert!(matches!(&failure, Failure::Unable(why) if why.contains("was not asked: `127.0.0.1`")), "{failure:?}");
    }
}
