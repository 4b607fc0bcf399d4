//! `GET /metrics` in Prometheus's text format. Counters are updated where events happen, collected here on request,
//! and start at zero with each start.

use crate::{
    AppState,
    describe::{DescribeOutput, Operation, Routes, Schemas, get},
    document::middleware_failures,
    envelope::Failure,
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use identity::TokenScope;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt::{Display, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The content type.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/metrics", get(serve, "Metrics in Prometheus's text format."))
        .scope(TokenScope::Device)
        .all(middleware_failures)
}

/// Route pattern, method and status class: a bounded set of labels.
type Kind = (String, &'static str, &'static str);

/// Requests since the start, by kind; cheap to clone.
#[derive(Clone, Default)]
pub struct RequestCounts(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    all: BTreeMap<Kind, u64>,
    /// When somebody last asked for something, besides probes of the service.
    used: Option<Instant>,
}

/// Routes that programs ask at all times, whether anybody uses Hob or not.
const PROBES: [&str; 2] = ["/healthz", "/metrics"];

impl RequestCounts {
    fn all(&self) -> BTreeMap<Kind, u64> {
        self.lock().all.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long ago a request last ended, besides probes of the service; `None` when there was none.
    pub fn unused_for(&self) -> Option<Duration> {
        self.lock().used.map(|at| at.elapsed())
    }
}

/// Counts each request by its result.
pub(crate) async fn count(State(counts): State<RequestCounts>, request: Request, next: Next) -> Response {
    // Files of the page have no route.
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let method = method_word(request.method());
    let response = next.run(request).await;
    let class = ["1xx", "2xx", "3xx", "4xx", "5xx"][usize::from(response.status().as_u16() / 100).clamp(1, 5) - 1];
    let mut counts = counts.lock();
    if !PROBES.contains(&&*route) {
        counts.used = Some(Instant::now());
    }
    *counts.all.entry((route, method, class)).or_default() += 1;
    drop(counts);
    response
}

/// Clients can send any method.
fn method_word(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|word| *word == method.as_str()).unwrap_or("other")
}

/// Metrics as text.
pub(crate) struct Metrics(String);

impl IntoResponse for Metrics {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, TEXT)], self.0).into_response()
    }
}

impl DescribeOutput for Metrics {
    fn describe(_: &mut Schemas, operation: &mut Operation) {
        operation.answer(200, "Metrics in the text format 0.0.4.", "text/plain", json!({"type": "string"}));
    }
}

pub(crate) async fn serve(State(house): State<AppState>) -> Result<Metrics, Failure> {
    let mut page = Page::default();
    page.gauge("hob_build_info", "The running version; always 1.");
    page.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("hob_start_time_seconds", "When this Hob was started, in seconds since 1970.");
    page.sample(&[], house.started.millis() as f64 / 1000.0);
    let up = tool::Id::new().millis().saturating_sub(house.started.millis());
    page.gauge("hob_uptime_seconds", "How long this Hob has been running.");
    page.sample(&[], up as f64 / 1000.0);
    requests(&mut page, &house);
    runs(&mut page, &house);
    calls(&mut page, &house);
    models(&mut page, &house)?;
    store(&mut page, &house)?;
    machine(&mut page, &house).await;
    Ok(Metrics(page.text))
}

fn requests(page: &mut Page, house: &AppState) {
    page.counter("hob_http_requests_total", "HTTP requests by route, method and class of status.");
    for ((route, method, status), count) in house.requests.all() {
        page.sample(&[("route", &route), ("method", method), ("status", status)], count);
    }
}

fn runs(page: &mut Page, house: &AppState) {
    let stats = house.agent.run_stats();
    page.gauge("hob_runs_running", "Runs under way.");
    page.sample(&[], stats.running);
    page.gauge("hob_runs_queued", "Runs waiting for their conversation to be free.");
    page.sample(&[], stats.queued);
    page.counter("hob_runs_total", "Runs that ended, by outcome.");
    for (outcome, count) in stats.ended {
        page.sample(&[("outcome", outcome)], count);
    }
}

fn calls(page: &mut Page, house: &AppState) {
    page.counter(
        "hob_tool_calls_total",
        "Tool calls by tool (custom for those people and models made), risk and outcome.",
    );
    for (key, count) in house.registry.call_counts() {
        page.sample(&[("tool", &key.tool), ("risk", &key.risk_word()), ("outcome", &key.outcome)], count);
    }
    let stats = house.registry.stats();
    page.gauge("hob_tools", "Tools there are.");
    page.sample(&[], stats.total);
}

fn models(page: &mut Page, house: &AppState) -> Result<(), Failure> {
    let models = house.models.since_start();
    page.counter("hob_model_requests_total", "Requests to models.");
    for model in &models {
        page.sample(&[("model", &model.model)], model.requests);
    }
    page.counter("hob_model_tokens_total", "Tokens by model and kind; cached ones are among the input.");
    for model in &models {
        let kinds =
            [("input", model.prompt_tokens), ("output", model.completion_tokens), ("cached", model.cached_tokens)];
        for (kind, count) in kinds {
            page.sample(&[("model", &model.model), ("kind", kind)], count);
        }
    }
    page.counter("hob_model_cost_dollars_total", "Money spent on models in US dollars, as far as prices are known.");
    for model in &models {
        page.sample(&[("model", &model.model)], model.cost);
    }
    let today = house.models.spending(1)?.today;
    page.gauge("hob_spent_today_dollars", "Money spent on models today, in US dollars.");
    page.sample(&[], today.cost);
    if let Some(budget) = today.budget {
        page.gauge("hob_daily_budget_dollars", "What may be spent on models in a day, in US dollars.");
        page.sample(&[], budget);
    }
    Ok(())
}

fn store(page: &mut Page, house: &AppState) -> Result<(), Failure> {
    let stats = house.store.stats()?;
    page.gauge("hob_store_size_bytes", "Size of the data file.");
    page.sample(&[], stats.size);
    page.gauge("hob_store_log_bytes", "Size of the writes that are only in the log yet.");
    page.sample(&[], stats.log.bytes);
    page.counter("hob_store_commits_total", "Durable commits.");
    page.sample(&[], stats.commits);
    page.counter("hob_store_written_bytes_total", "Bytes written to the data file and its log.");
    page.sample(&[], stats.bytes_written);
    page.gauge("hob_store_records", "Stored records by collection.");
    for (collection, count) in &stats.records {
        page.sample(&[("collection", collection)], *count);
    }
    Ok(())
}

/// Values that cannot be read are left out.
async fn machine(page: &mut Page, house: &AppState) {
    let state = match house.device.state().await {
        Ok(state) => state,
        Err(error) => return tracing::warn!(%error, "the machine's state is missing from the metrics"),
    };
    page.gauge("process_resident_memory_bytes", "Memory Hob holds.");
    page.sample(&[], state.own_memory);
    page.gauge("hob_load_average", "Load of the machine over 1, 5 and 15 minutes.");
    for (minutes, load) in ["1", "5", "15"].into_iter().zip(state.load) {
        page.sample(&[("minutes", minutes)], load);
    }
    page.gauge("hob_memory_total_bytes", "Memory of the machine.");
    page.sample(&[], state.memory.total);
    page.gauge("hob_memory_available_bytes", "Memory of the machine that is available.");
    page.sample(&[], state.memory.available);
    if let Some(disk) = &state.disk {
        page.gauge("hob_disk_total_bytes", "Size of the disk with the data.");
        page.sample(&[], disk.total);
        page.gauge("hob_disk_free_bytes", "Free space on the disk with the data.");
        page.sample(&[], disk.free);
    }
    if let Some(temperature) = state.temperature {
        page.gauge("hob_temperature_celsius", "Temperature of the processor.");
        page.sample(&[], temperature);
    }
}

/// The text: each metric's description, then its samples.
#[derive(Default)]
struct Page {
    text: String,
    /// The current metric.
    name: &'static str,
}

impl Page {
    fn counter(&mut self, name: &'static str, help: &str) {
        self.begin(name, "counter", help);
    }

    fn gauge(&mut self, name: &'static str, help: &str) {
        self.begin(name, "gauge", help);
    }

    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        // A metric without samples is described too.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Adds a sample of the current metric.
    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.text += self.name;
        let mut before = '{';
        for (label, text) in labels {
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(text));
            before = ',';
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_their_metric() {
        let mut page = Page::default();
        page.gauge("a", "One.");
        page.sample(&[], 1.5);
        page.counter("b_total", "Two.");
        page.sample(&[("x", "q\"b\\n\n"), ("y", "")], 2);
        page.sample(&[("x", "z"), ("y", "w")], 3);
        assert_eq!(
            page.text,
            "# HELP a One.\n# TYPE a gauge\na 1.5\n# HELP b_total Two.\n# TYPE b_total counter\n\
             b_total{x=\"q\\\"b\\\\n\\n\",y=\"\"} 2\nb_total{x=\"z\",y=\"w\"} 3\n"
        );
    }
}
