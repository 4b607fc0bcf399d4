//! Prometheus metrics.

use crate::{
    harness::Hob,
    model::with_model,
    model_server::{calls, says},
};
use serde_json::json;

/// The value of a sample, by its name and labels as they are written.
fn sample(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn what_happens_is_counted() {
    let (hob, server) = with_model("");
    server.script(vec![
        calls(&[("calculate", json!({"expression": "6*7"})), ("calculate", json!({"expression": "("}))]),
        says("42"),
    ]);
    hob.say("6*7?");
    hob.call("gpio_read", json!({"pin": 5})).data(200);
    hob.call("remember", json!({"content": "Marta serviced the boiler"})).data(200);
    hob.get("/api/v1/conversations/nonsense");
    hob.get("/api/v1/conversations/other-nonsense");
    hob.get("/no/such/page");
    hob.request("GET", "/healthz").send();
    let reply = hob.get("/metrics");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    let text = reply.text();
    let is = |name: &str, value: f64| assert_eq!(sample(&text, name), Some(value), "{name}\n{text}");
    let positive = |name: &str| assert!(sample(&text, name).is_some_and(|v| v > 0.0), "{name}\n{text}");
    is("hob_http_requests_total{route=\"/api/v1/conversations/{id}\",method=\"GET\",status=\"4xx\"}", 2.0);
    is("hob_http_requests_total{route=\"/api/v1/chat\",method=\"POST\",status=\"2xx\"}", 1.0);
    is("hob_http_requests_total{route=\"/healthz\",method=\"GET\",status=\"2xx\"}", 1.0);
    is("hob_http_requests_total{route=\"other\",method=\"GET\",status=\"4xx\"}", 1.0);
    is("hob_runs_total{outcome=\"ok\"}", 1.0);
    is("hob_runs_running", 0.0);
    is("hob_tool_calls_total{tool=\"calculate\",risk=\"observe\",outcome=\"ok\"}", 1.0);
    is("hob_tool_calls_total{tool=\"calculate\",risk=\"observe\",outcome=\"bad_args\"}", 1.0);
    is("hob_tool_calls_total{tool=\"remember\",risk=\"write\",outcome=\"ok\"}", 1.0);
    is("hob_model_requests_total{model=\"custom/test-model\"}", 2.0);
    for kind in ["input", "output"] {
        positive(&format!("hob_model_tokens_total{{model=\"custom/test-model\",kind=\"{kind}\"}}"));
    }
    is(&format!("hob_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0);
    is("hob_store_records{collection=\"memories\"}", 1.0);
    for name in [
        "hob_store_size_bytes",
        "hob_store_commits_total",
        "hob_store_written_bytes_total",
        "process_resident_memory_bytes",
        "hob_uptime_seconds",
        "hob_tools",
    ] {
        positive(name);
    }
    // Each sample is of a metric that is described once.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        assert_eq!(text.matches(&format!("# TYPE {name} ")).count(), 1, "{line}");
    }
}

#[test]
fn a_run_under_way_is_seen() {
    let (hob, server) = with_model("");
    server.script(vec![crate::model_server::Answer::HangsAfter("well".into())]);
    let mut events = hob.stream(json!({"message": "what do you think of baroque music"}));
    events.find(|(name, _)| name == "text").unwrap();
    assert_eq!(sample(&hob.get("/metrics").text(), "hob_runs_running"), Some(1.0));
}

#[test]
fn whatever_is_asked_there_are_not_more_series() {
    let hob = Hob::start();
    let series = |hob: &Hob| hob.get("/metrics").text().lines().filter(|l| l.starts_with("hob_http")).count();
    hob.get("/metrics");
    let ask = |n: usize| {
        for path in ["/x", "/api/v1/tools/x", "/api/v1/x", "/v1/x", "/api/x", "/api/v1/files/x"] {
            hob.admin(&format!("{}{n}", if n.is_multiple_of(2) { "BREW" } else { "GET" }), &format!("{path}{n}"))
                .send();
            hob.get(&format!("{path}{n}/y"));
        }
    };
    (0..4).for_each(ask);
    let before = series(&hob);
    (4..40).for_each(ask);
    assert_eq!(series(&hob), before, "{}", hob.get("/metrics").text());
}

#[test]
fn only_who_may_look_at_the_device_reads_them() {
    let hob = Hob::start();
    hob.request("GET", "/metrics").send().refusal(401, "unauthorized");
    for (scope, status) in [("device", 200), ("chat", 403)] {
        let token = hob.cli(&["token", "new", "owner", "--scope", scope]).ok();
        for method in ["GET", "HEAD"] {
            let reply = hob.request(method, "/metrics").bearer(&token).send();
            assert_eq!((reply.status, method == "HEAD" && !reply.body.is_empty()), (status, false), "{scope} {method}");
        }
        // The same root: the head of what may be looked at may be looked at.
        let reply = hob.request("HEAD", "/api/v1/device").bearer(&token).send();
        assert_eq!(reply.status, status, "{scope}");
    }
    assert_eq!(hob.admin("POST", "/metrics").json(&json!({})).send().status, 405);
}
