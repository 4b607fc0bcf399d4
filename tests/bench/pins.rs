//! From an edge at the simulated board to what is done about it: until a task hears of it, and until that task has switched
//! another pin. And a line that flaps at 10 kHz: what it costs, and what others wait meanwhile.

use crate::{Result, Watch};
use board::{Board, BoardKind, Direction, Pin, PinRate, PinSettings, PinsConfig, SimConfig, Simulator, monotonic};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// Between two edges: a person is slower, and a line that is faster is coalesced.
const EVERY: Duration = Duration::from_millis(25);
const FLAPS: Duration = Duration::from_secs(5);

fn pin(number: i64) -> Result<Pin> {
    Pin::new(number).ok_or_else(|| "no pin".into())
}

fn microseconds(mut all: Vec<f64>) -> Value {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all.get(((all.len() - 1) as f64 * part) as usize).copied().unwrap_or_default();
    json!({"p50": at(0.5), "p99": at(0.99), "max": at(1.0), "count": all.len()})
}

/// Resident memory in KB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Measures so many edges.
///
/// # Errors
/// When an edge is not heard.
pub fn measure(rounds: usize) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let rate = PinRate { switches_per_second: 0, burst: 0 };
        let config = PinsConfig { rate, ..PinsConfig::default() };
        let board = Board::with_config(BoardKind::Sim, config, &SimConfig::default());
        let sim = board.simulator().ok_or("no simulator")?;
        let (bell, lamp, loose) = (pin(4)?, pin(17)?, pin(5)?);
        for input in [bell, loose] {
            board.configure(input, PinSettings { direction: Some(Direction::Input), ..PinSettings::default() })?;
        }
        let (reported, mut heard) = mpsc::channel::<(f64, f64)>(16);
        let (mut edges, acting) = (board.edges(), board.clone());
        tokio::spawn(async move {
            while let Ok(edge) = edges.recv().await {
                if edge.pin != bell {
                    continue;
                }
                let since = |at: u64| (monotonic().as_nanos() as u64).saturating_sub(at) as f64 / 1e3;
                let until_heard = since(edge.at_ns);
                if acting.write(lamp, edge.high).await.is_ok() {
                    let _ = reported.send((until_heard, since(edge.at_ns))).await;
                }
            }
        });
        let quiet = press(&sim, bell, rounds, &mut heard).await?;
        let (before, watch, flapping) = (resident()?, Watch::start(), sim.clone());
        let flaps = std::thread::spawn(move || flapping.flap(loose, 10_000, FLAPS));
        let meanwhile = press(&sim, bell, (FLAPS.as_millis() / EVERY.as_millis()) as usize - 10, &mut heard).await?;
        let changes = flaps.join().map_err(|_| "the flapping broke")?;
        let cpu = watch.cpu_ms() / watch.seconds() / 10.0;
        let count = board.edge_count(loose);
        Ok(json!({
            "heard": microseconds(quiet.iter().map(|(heard, _)| *heard).collect()),
            "acted": microseconds(quiet.iter().map(|(_, acted)| *acted).collect()),
            "actedWhileFlapping": microseconds(meanwhile.iter().map(|(_, acted)| *acted).collect()),
            "flapping": {
                "edges": changes, "reported": count.reported, "coalesced": count.coalesced,
                "cpuPercent": cpu, "grownKB": resident()?.saturating_sub(before),
            },
        }))
    })
}

async fn press(
    sim: &Simulator,
    bell: Pin,
    rounds: usize,
    heard: &mut mpsc::Receiver<(f64, f64)>,
) -> Result<Vec<(f64, f64)>> {
    let mut all = vec![];
    for n in 0..rounds {
        sim.set(bell, n % 2 == 0);
        let found = tokio::time::timeout(Duration::from_secs(5), heard.recv()).await?;
        all.push(found.ok_or("an edge was not heard")?);
        tokio::time::sleep(EVERY).await;
    }
    sim.set(bell, false);
    if rounds % 2 == 1 {
        heard.recv().await;
    }
    Ok(all)
}
