//! Report the state of the device.

use board::{Device, State};
use jiff::Timestamp;
use std::net::{IpAddr, Ipv4Addr};
use text_kit::{join_and, rough_duration_words};
use tool::prelude::*;

/// The version of Hob: all crates have the same.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Get system information: version of Hob, network addresses, model, operating system, processors and load, memory, disk,
/// temperature, throttling, storage wear, Wi-Fi signal, uptime. Sizes are in bytes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Info {
    /// The subjects of the summary (default: the health of the device).
    #[serde(default)]
    about: Vec<About>,
}

/// A part of the state that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum About {
    Temperature,
    Disk,
    Memory,
    Uptime,
    Version,
    Address,
}

/// The state with durations in words for a model.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceReport<'a> {
    #[serde(flatten)]
    state: &'a State,
    version: &'static str,
    addresses: &'a [IpAddr],
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    concerns: Vec<String>,
}

pub(crate) async fn info(device: Device, _: Cx, Info { about }: Info) -> Result<Output> {
    let state = device.state().await?;
    let concerns = concerns(&state);
    let addresses = discovery::addresses(IpAddr::V4(Ipv4Addr::UNSPECIFIED), discovery::IGNORED);
    let sentence = match about.as_slice() {
        [] => sentence(&state, &concerns),
        about => about.iter().map(|about| part(*about, &state, &addresses)).collect::<Vec<_>>().join(" "),
    };
    let started_at = i64::try_from(state.boot_time).ok().and_then(|s| Timestamp::from_second(s).ok());
    Ok(Output::json(DeviceReport { state: &state, version: VERSION, addresses: &addresses, started_at, concerns })?
        .say(sentence))
}

/// Below this, a Wi-Fi connection loses packets.
const WEAK_DBM: i32 = -78;

/// Problems that a person should fix.
fn concerns(state: &State) -> Vec<String> {
    let mut all = Vec::new();
    if percent(state.memory.available, state.memory.total) < 10 {
        all.push("memory is nearly full".to_owned());
    }
    if state.disk.as_ref().is_some_and(|disk| percent(disk.free, disk.total) < 5) {
        all.push("the disk is nearly full".to_owned());
    }
    // A Raspberry Pi throttles from 80 °C.
    if state.temperature.is_some_and(|t| t >= 80.0) {
        all.push("the processor is too hot".to_owned());
    }
    if let Some(throttling) = state.throttling {
        if throttling.under_voltage {
            all.push("the power supply is too weak".to_owned());
        }
        if throttling.throttled {
            all.push("the processor is slowed down".to_owned());
        }
    }
    if state.wear.as_ref().is_some_and(|wear| wear.used_percent >= 90 || wear.near_end) {
        all.push("the storage is nearly worn out".to_owned());
    }
    if state.wifi.as_ref().is_some_and(|wifi| wifi.signal_dbm < WEAK_DBM) {
        all.push("the Wi-Fi signal is weak".to_owned());
    }
    if state.load[1] > 2.0 * state.cpus as f64 {
        all.push("the processor is overloaded".to_owned());
    }
    all
}

fn sentence(state: &State, concerns: &[String]) -> String {
    let mut parts = vec![format!("{}% of memory is in use", 100 - percent(state.memory.available, state.memory.total))];
    if let Some(disk) = &state.disk {
        parts.push(format!("{} of disk space are free", size(disk.free)));
    }
    if let Some(t) = state.temperature {
        parts.push(format!("it is {t:.0} °C warm"));
    }
    let uptime = i64::try_from(state.uptime).unwrap_or(i64::MAX);
    parts.push(format!("{} has been on for {}", state.hostname, rough_duration_words(uptime)));
    let details = join_and(&parts);
    match concerns {
        [] => format!("All is well: {details}."),
        some => format!("Careful, {}: {details}.", join_and(some)),
    }
}

/// A sentence about one part of the state.
fn part(about: About, state: &State, addresses: &[IpAddr]) -> String {
    match about {
        About::Temperature => match state.temperature {
            Some(t) if t >= 80.0 => format!("My processor is at {t:.0} °C, which is too hot."),
            Some(t) => format!("My processor is at {t:.0} °C, which is fine."),
            None => "I cannot measure how warm I am: this device has no sensor for it.".to_owned(),
        },
        About::Disk => match &state.disk {
            Some(disk) => {
                let used = 100 - percent(disk.free, disk.total);
                format!("{} of {} of disk space are free: it is {used}% full.", size(disk.free), size(disk.total))
            }
            None => "I cannot see how full the disk is.".to_owned(),
        },
        About::Memory => {
            let used = 100 - percent(state.memory.available, state.memory.total);
            format!("{used}% of {} of memory are in use.", size(state.memory.total))
        }
        About::Uptime => {
            let uptime = i64::try_from(state.uptime).unwrap_or(i64::MAX);
            format!("{} has been on for {}.", state.hostname, rough_duration_words(uptime))
        }
        About::Version => format!("This is Hob {VERSION}."),
        About::Address => match addresses {
            [] => "I have no address on a network right now.".to_owned(),
            [one] => format!("My address on the network is {one}."),
            several => {
                let all: Vec<String> = several.iter().map(IpAddr::to_string).collect();
                format!("My addresses on the network are {}.", join_and(&all))
            }
        },
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100) / whole.max(1)
}

/// "12.3 GB".
fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e12 => format!("{:.1} TB", b / 1e12),
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b => format!("{:.0} MB", b / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    fn state() -> State {
        State {
            model: None,
            os: "Linux".into(),
            kernel: "6".into(),
            arch: "aarch64".into(),
            hostname: "hob".into(),
            cpus: 4,
            load: [0.1; 3],
            memory: board::Memory { total: 1000, used: 400, available: 580 },
            own_memory: 1,
            disk: Some(board::Disk { path: "/".into(), total: 32_000_000_000, free: 12_340_000_000 }),
            temperature: Some(51.4),
            throttling: None,
            wear: None,
            wifi: None,
            uptime: 300_000,
            boot_time: 1_795_181_400,
        }
    }

    #[test]
    fn health_is_one_sentence() {
        let well = state();
        let mut bare = State { disk: None, temperature: None, uptime: 30, ..state() };
        bare.memory.available = 999;
        let mut ill = State { temperature: Some(83.0), load: [0.0, 9.0, 0.0], uptime: 7200, ..state() };
        ill.memory.available = 90;
        ill.disk.as_mut().unwrap().free = 400_000_000;
        let table = [
            (
                well,
                "All is well: 42% of memory is in use, 12.3 GB of disk space are free, it is 51 °C warm and hob has been \
                 on for 3 days.",
            ),
            (bare, "All is well: 1% of memory is in use and hob has been on for 1 minute."),
            (
                ill,
                "Careful, memory is nearly full, the disk is nearly full, the processor is too hot and the processor \
                 is overloaded: 91% of memory is in use, 400 MB of disk space are free, it is 83 °C warm and hob has \
                 been on for 2 hours.",
            ),
        ];
        for (state, expected) in table {
            assert_eq!(sentence(&state, &concerns(&state)), expected);
        }
    }

    #[test]
    fn a_weak_supply_worn_storage_and_a_weak_signal_are_concerns() {
        let throttling = board::Throttling { under_voltage: true, throttled: true, ..Default::default() };
        let wear = board::Wear { device: "mmcblk0".into(), used_percent: 100, near_end: false };
        let wifi = |signal_dbm| Some(board::Wifi { interface: "wlan0".into(), signal_dbm });
        let ill = State { throttling: Some(throttling), wear: Some(wear), wifi: wifi(-85), ..state() };
        let expected = [
            "the power supply is too weak",
            "the processor is slowed down",
            "the storage is nearly worn out",
            "the Wi-Fi signal is weak",
        ];
        assert_eq!(concerns(&ill), expected);
        let wear = board::Wear { device: "mmcblk0".into(), used_percent: 30, near_end: false };
        let well = State { throttling: Some(Default::default()), wear: Some(wear), wifi: wifi(-60), ..state() };
        assert!(concerns(&well).is_empty());
    }

    #[test]
    fn one_part_is_told_alone() {
        let (state, address) = (state(), "192.168.1.7".parse().unwrap());
        let bare = State { disk: None, temperature: None, ..self::state() };
        for (about, state, expected) in [
            (About::Temperature, &state, "My processor is at 51 °C, which is fine."),
            (About::Temperature, &bare, "I cannot measure how warm I am: this device has no sensor for it."),
            (About::Disk, &state, "12.3 GB of 32.0 GB of disk space are free: it is 62% full."),
            (About::Uptime, &state, "hob has been on for 3 days."),
            (About::Address, &state, "My address on the network is 192.168.1.7."),
        ] {
            assert_eq!(part(about, state, &[address]), expected);
        }
        assert_eq!(part(About::Address, &state, &[]), "I have no address on a network right now.");
        assert!(part(About::Version, &state, &[]).contains(VERSION));
    }

    #[tokio::test]
    async fn this_machine_answers() {
        let device = Device::new(std::env::temp_dir());
        let answer = call(crate::utilities(device), &cx(), "system_info", json!({})).await.unwrap();
        for field in
            ["os", "kernel", "arch", "hostname", "cpus", "load", "memory", "ownMemory", "disk", "uptime", "startedAt"]
        {
            assert!(!answer.content[field].is_null(), "{field} in {}", answer.content);
        }
        assert!(answer.say.unwrap().contains("% of memory is in use"));
    }
}
