//! Rules: from the edge of a simulated pin to the pin that a rule switches, through the whole engine with the store on disk;
//! and how many rules are evaluated in a second where 200 hear of every event and none of them runs.

use crate::{Result, Watch};
use board::{Board, BoardKind, Direction, Pin, PinRate, PinSettings, PinsConfig, SimConfig};
use futures::future::BoxFuture;
use registry::{PerMinute, Registry, Terms};
use rules::{Home, Rules};
use scheduler::{Scheduler, ToolFacts};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use store::Store;
use things::Things;
use tokio_util::sync::CancellationToken;
use tool::{Bus, BusEvent, Channel, Cx, Dispatch, Ports, Principal, SystemClock, Topics, Via};

/// How many rules hear of every event.
const RULES: usize = 200;
/// Between two edges: a line that is faster is coalesced.
const EVERY: Duration = Duration::from_millis(25);
/// Events that are published in a row; the bus keeps as many for a listener that is slow.
const EVENTS: usize = 500;

/// Makes `rounds` edges, and then evaluates rules for as many events.
///
/// # Errors
/// When a rule does not do what it should.
pub fn measure(rounds: usize, folder: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(folder)?;
        let terms = Terms { per_minute: PerMinute { calls: 0, session_calls: 0 }, ..Terms::default() };
        let registry = Registry::open(&store, terms, Default::default())?;
        let clock = Arc::new(SystemClock::new(Some("UTC"))?);
        let dispatch: Arc<dyn Dispatch> = Arc::new(registry.clone());
        let bus = Bus::default();
        let ports = Ports { dispatch, bus: bus.clone(), ..Ports::unconnected(clock) };
        let facts = Arc::new(|_: &str| ToolFacts { idempotent: true, detached: false });
        let scheduler = Scheduler::new(&store, ports.clone(), facts);
        let rate = PinRate { switches_per_second: 0, burst: 0 };
        let config = PinsConfig { rate, ..PinsConfig::default() };
        let board = Board::with_config(BoardKind::Sim, config, &SimConfig::default());
        let sim = board.simulator().ok_or("no simulator")?;
        let home = Home {
            board: board.clone(),
            things: Things::default(),
            pins: Arc::new(Vec::new),
            place: Arc::new(|| None),
        };
        let rules = Rules::new(&store, registry.clone(), scheduler, home, ports.clone());
        registry.add(tools_hardware::gpio(tools_hardware::Pins::open(board.clone(), &store)?))?;
        registry.add(rules::rules(rules.clone()))?;
        let closing = CancellationToken::new();
        rules.watch(&closing)?;
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        let call = |tool: &'static str, args: Value| -> BoxFuture<'static, tool::Result<tool::Output>> {
            let cx = cx.clone();
            Box::pin(async move { cx.call(tool, args).await })
        };
        let follow = json!({"name": "follow", "triggers": {"pin": 22, "edge": "rising"}, "actions": {"pin": 17, "high": true},
                            "maxPerHour": 36_000});
        call("create_rule", follow).await?;
        let pin = |number: i64| Pin::new(number).ok_or("there is no such pin");
        let (button, lamp) = (pin(22)?, pin(17)?);
        board.configure(button, PinSettings { direction: Some(Direction::Input), ..PinSettings::default() })?;
        board.read(button).await?;
        board.read(lamp).await?;
        let mut edges = board.edges();
        let mut fired = bus.listen_to(None, Topics::parse("rule:fired")?);
        let mut took = vec![];
        for _ in 0..rounds {
            let began = Instant::now();
            sim.set(button, true);
            let moved = async {
                loop {
                    let edge = edges.recv().await?;
                    if (edge.pin, edge.high) == (lamp, true) {
                        return Ok::<_, tokio::sync::broadcast::error::RecvError>(began.elapsed());
                    }
                }
            };
            match tokio::time::timeout(Duration::from_secs(5), moved).await {
                Ok(moved) => took.push(moved?),
                // The log of the rule says why it did not run, or what failed.
                Err(_) => {
                    let log = call("rule_log", json!({"ruleId": "follow"})).await?.content;
                    let (was, is) = (board.last_level(button), board.read(button).await?.high);
                    let counts = (board.edge_count(button), board.edge_count(lamp), board.last_level(lamp));
                    let which = format!("round {}: {was:?}, {is}, {counts:?}", took.len());
                    return Err(format!("the pin did not follow the edge ({which}): {log}").into());
                }
            }
            // The run ends when its record is stored; a rule in mode single runs once at a time.
            while !matches!(fired.next().await, Some(BusEvent::Event(_)) | None) {}
            sim.set(button, false);
            board.write(lamp, false).await?;
            tokio::time::sleep(EVERY).await;
        }
        took.sort_unstable();
        let at = |share: f64| took.get((took.len() as f64 * share) as usize).map_or(0.0, |one| one.as_secs_f64() * 1e3);

        for n in 0..RULES {
            let rule = json!({"name": format!("rule {n}"), "triggers": {"type": "event", "topic": "bench:event"},
                              "conditions": {"type": "pin", "pin": 5, "high": true}, "actions": {"pin": 6, "high": true}});
            call("create_rule", rule).await?;
        }
        let end = json!({"name": "end", "triggers": {"type": "event", "topic": "bench:end"}, "actions": {"pin": 7, "high": true},
                         "mode": "queued", "maxPerHour": 36_000});
        call("create_rule", end).await?;
        let (watch, events) = (Watch::start(), EVENTS * rounds.div_ceil(EVENTS));
        let began = Instant::now();
        for _ in 0..events / EVENTS {
            for n in 0..EVENTS {
                bus.publish("bench:event", None, json!({"n": n}));
            }
            bus.publish("bench:end", None, json!({}));
            while !matches!(fired.next().await, Some(BusEvent::Event(_)) | None) {}
        }
        let (wall, evaluated) = (began.elapsed().as_secs_f64(), (events * RULES) as f64);
        let cpu_us = watch.cpu_ms() * 1e3 / evaluated;
        closing.cancel();
        registry.close();
        Ok(json!({"edges": rounds, "p50Ms": at(0.5), "p99Ms": at(0.99), "maxMs": at(0.9999), "rules": RULES,
                  "evaluationsPerSecond": evaluated / wall, "cpuUsPerEvaluation": cpu_us}))
    })
}
