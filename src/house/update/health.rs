//! Whether this Hob works: its store, its page, and what worked with the version before.

use board::{Board, Pin};
use home_assistant::{Connection, HomeAssistant};
use mqtt::{Mqtt, Phase};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use store::Store;
use text_kit::join_and;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, sleep_until, timeout},
};
use tools_hardware::Pins;

/// How often the checks must succeed.
pub const PASSES: u32 = 3;
/// The time for one check of everything: longer is a hang.
const CHECK_TIMEOUT: Duration = Duration::from_secs(20);
/// Of the page's answer, this much is read, in bytes.
const ANSWER: usize = 64 * 1024;
/// The name of the secret that each check writes and reads.
const MARK: &str = "update-check";

/// Everything that worked with the version before, when this one was installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Baseline {
    /// The device had an address on the network.
    pub network: bool,
    /// Home Assistant was connected.
    pub home_assistant: bool,
    /// The MQTT broker was connected.
    pub mqtt: bool,
    /// The named pins that could be read, by BCM number.
    pub pins: Vec<i64>,
}

/// The parts that are checked.
#[derive(Clone)]
pub struct Probe {
    pub store: Store,
    /// The address of the page and the API.
    pub page: SocketAddr,
    /// Whether the device has an address on the network.
    pub network: Arc<dyn Fn() -> bool + Send + Sync>,
    pub home_assistant: HomeAssistant,
    pub mqtt: Mqtt,
    pub board: Board,
    pub pins: Pins,
}

impl Probe {
    /// Everything that works now.
    pub async fn baseline(&self) -> Baseline {
        let named: Vec<i64> = self.pins.devices().into_iter().map(|(pin, ..)| pin.into()).collect();
        let mut pins = vec![];
        for number in named {
            if self.can_read(number).await {
                pins.push(number);
            }
        }
        Baseline {
            network: (self.network)(),
            home_assistant: self.home_assistant.connection() == Connection::Connected,
            mqtt: self.mqtt.status().state == Phase::Connected,
            pins,
        }
    }

    /// One look at everything.
    ///
    /// # Errors
    /// A sentence about what does not work.
    pub async fn check(&self, before: &Baseline) -> Result<(), String> {
        let all = async {
            self.check_store().await?;
            self.check_page().await?;
            self.check_home(before).await
        };
        timeout(CHECK_TIMEOUT, all).await.unwrap_or_else(|_| Err("it hangs: a check did not end in time".into()))
    }

    /// Writes to the store, and reads it back.
    async fn check_store(&self) -> Result<(), String> {
        let mark = tool::Id::new().to_string();
        let failed = |error: store::Error| format!("the data cannot be used: {error}");
        self.store.seal(MARK, mark.as_bytes()).await.map_err(failed)?;
        let read = self.store.unseal(MARK).map_err(failed)?;
        let store = self.store.clone();
        self.store.write(move |tx| store.seal_in(tx, MARK, None)).await.map_err(failed)?;
        match read {
            Some(read) if read == mark.as_bytes() => Ok(()),
            _ => Err("the data cannot be used: what was written is not what is read".into()),
        }
    }

    /// Asks the page and the API as a browser would.
    async fn check_page(&self) -> Result<(), String> {
        for (path, part) in [("/healthz", "\"status\":\"ok\""), ("/", "<!doctype html")] {
            let answer = get(self.page, path).await.map_err(|error| format!("the page does not answer: {error}"))?;
            let is_fine = answer.starts_with("HTTP/1.1 200") && answer.to_ascii_lowercase().contains(part);
            if !is_fine {
                let first = answer.lines().next().unwrap_or("nothing");
                return Err(format!("the page does not answer as it should: {path} gives {first}"));
            }
        }
        Ok(())
    }

    async fn check_home(&self, before: &Baseline) -> Result<(), String> {
        if before.network && !(self.network)() {
            return Err("the network is gone, which was there before".into());
        }
        // A connection that is no longer set up is nobody's loss.
        if before.home_assistant && !matches!(self.home_assistant.connection(), Connection::Connected | Connection::Off)
        {
            return Err("Home Assistant is not connected, and was before".into());
        }
        if before.mqtt && !matches!(self.mqtt.status().state, Phase::Connected | Phase::Off) {
            return Err("the MQTT broker is not connected, and was before".into());
        }
        let named: Vec<i64> = self.pins.devices().into_iter().map(|(pin, ..)| pin.into()).collect();
        let mut lost = vec![];
        // A pin that lost its name meanwhile is nobody's loss.
        for pin in before.pins.iter().filter(|pin| named.contains(pin)) {
            if !self.can_read(*pin).await {
                lost.push(pin.to_string());
            }
        }
        match lost.is_empty() {
            true => Ok(()),
            false => Err(format!("pins that worked before cannot be read: {}", join_and(&lost))),
        }
    }

    async fn can_read(&self, number: i64) -> bool {
        match Pin::new(number) {
            Some(pin) => self.board.read(pin).await.is_ok(),
            None => false,
        }
    }
}

/// The answer to a request, with its head.
async fn get(at: SocketAddr, path: &str) -> std::io::Result<String> {
    let at = match at.ip().is_unspecified() {
        true if at.is_ipv6() => SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), at.port()),
        true => SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), at.port()),
        false => at,
    };
    let mut stream = TcpStream::connect(at).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = vec![];
    stream.take(ANSWER as u64).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The window of a trial: [`PASSES`] checks, one at the end of each part. One that fails is made again until the next part is over.
///
/// # Errors
/// The reason of the last failure.
pub async fn window<F>(length: Duration, mut check: impl FnMut() -> F, passed: impl Fn(u32)) -> Result<(), String>
where
    F: Future<Output = Result<(), String>>,
{
    let (begun, part) = (Instant::now(), length / PASSES);
    let pause = (part / 20).clamp(Duration::from_millis(50), Duration::from_secs(5));
    for pass in 1..=PASSES {
        let due = begun + part * pass;
        sleep_until(due).await;
        while let Err(why) = check().await {
            tracing::warn!(%why, pass, "a check of the new version failed");
            if Instant::now() >= due + part {
                return Err(why);
            }
            sleep(pause).await;
        }
        passed(pass);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    const LENGTH: Duration = Duration::from_secs(300);

    #[tokio::test(start_paused = true)]
    async fn three_checks_pass_at_the_end_of_each_part() {
        let (begun, at) = (Instant::now(), RefCell::new(vec![]));
        let done =
            window(LENGTH, async || Ok(()), |pass| at.borrow_mut().push((pass, begun.elapsed().as_secs()))).await;
        assert_eq!(done, Ok(()));
        assert_eq!(*at.borrow(), [(1, 100), (2, 200), (3, 300)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_back_in_time_passes_and_what_does_not_fails_with_its_reason() {
        let begun = Instant::now();
        let check = async || match begun.elapsed().as_secs() {
            150..230 => Err("Home Assistant is not connected".to_owned()),
            _ => Ok(()),
        };
        assert_eq!(window(LENGTH, check, |_| {}).await, Ok(()));
        let (begun, passes) = (Instant::now(), Cell::new(0));
        let check = async || match begun.elapsed().as_secs() {
            150.. => Err("the page does not answer".to_owned()),
            _ => Ok(()),
        };
        assert_eq!(window(LENGTH, check, |pass| passes.set(pass)).await, Err("the page does not answer".into()));
        assert_eq!(passes.get(), 1);
        assert!((300..320).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_listener_that_answers_something_else_is_no_page() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 512]).await;
                let _ = stream.write_all(b"HTTP/1.1 503 Busy\r\n\r\n").await;
            }
        });
        assert!(get(at, "/").await.unwrap().starts_with("HTTP/1.1 503"));
    }
}
