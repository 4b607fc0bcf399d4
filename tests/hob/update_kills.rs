//! Power cuts at random moments of an update: Hob always starts again, tells the truth, and has its data.

use crate::{
    harness::Dice,
    supervised::{Signer, Start, Supervised, UPDATE, ranges},
};
use serde_json::json;
use std::{thread, time::Duration};

/// How many cuts; `UPDATE_KILLS` asks for more.
fn rounds() -> u64 {
    std::env::var("UPDATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

#[test]
fn whenever_the_power_goes_the_old_or_the_new_version_runs_with_all_data() {
    let mut dice = Dice::fresh();
    eprintln!("dice {}", dice.0);
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let mut words = vec![];
    let (mut committed, mut fell_back) = (0, 0);
    let mut floor = 0;
    for round in 0..rounds() {
        let word = format!("word{round:03}");
        it.remember(&word);
        words.push(word);
        let before = it.view();
        let running = before["running"]["version"].as_str().unwrap().to_owned();
        let (version, serial) = (format!("1.0.{round}"), round + 1);
        let bundle = signer.good(&version, serial);
        // During the upload, the verification, the switch, the trial, the commit.
        let wait = Duration::from_millis(match round % 4 {
            0 => dice.below(60),
            1 => dice.below(400),
            2 => dice.below(2000),
            _ => 800 + dice.below(2500),
        });
        let (port, head) = (it.port(), update::bundle::head_length(&bundle).unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                // The daemon may be gone at any step.
                let ask = |method: &str, path: &str, body: Vec<u8>| {
                    let request = crate::http::Request::new(port, method, path).bearer(crate::harness::TOKEN);
                    let request = request.header("Content-Type", "application/json").body(body);
                    request.try_send().ok().filter(|reply| reply.status < 300)
                };
                let upload = ask("POST", "/api/v1/update/uploads", bundle[..head].to_vec())?.data(201);
                let id = upload["id"].as_str().unwrap().to_owned();
                for (offset, length) in ranges(&upload) {
                    for at in (offset..offset + length).step_by(50_000) {
                        let end = (at + 50_000).min(offset + length);
                        let path = format!("/api/v1/update/uploads/{id}?offset={at}");
                        ask("PUT", &path, bundle[at as usize..end as usize].to_vec())?;
                    }
                }
                ask("POST", &format!("{UPDATE}/install"), json!({"uploadId": id}).to_string().into_bytes())
            });
            thread::sleep(wait);
            it.cut_power();
        });
        it.start_again();
        let view = it.wait_view("the end of a trial", |view| view["state"] != "trying" && view["restarting"] == false);
        let now = view["running"]["version"].as_str().unwrap().to_owned();
        assert!(now == running || now == version, "round {round}: {now} runs after {running} to {version}: {view:#}");
        // What the state says is what runs.
        let state = view["state"].as_str().unwrap();
        let about = view["version"].as_str().unwrap_or_default();
        let outcome = &view["lastOutcome"];
        match state {
            "committed" => assert_eq!(about, now, "{view:#}"),
            "failed" => assert!(about != now && outcome["what"] == "failed" && outcome["version"] == about, "{view:#}"),
            "writing" | "staged" => assert!(about == version && now == running, "{view:#}"),
            "idle" => assert_eq!(now, "0.1.0", "{view:#}"),
            _ => panic!("round {round}: {view:#}"),
        }
        let new_floor = view["floor"].as_u64().unwrap();
        if now == version {
            committed += 1;
            assert_eq!(new_floor, serial, "{view:#}");
        } else {
            fell_back += 1;
            assert_eq!(new_floor, floor, "the floor rises only with a commit: {view:#}");
        }
        floor = new_floor;
        assert_eq!(it.remembered(), words, "round {round}");
    }
    eprintln!("{committed} committed, {fell_back} not");
    // It can be updated as ever.
    it.install(&signer.good("2.0.0", 1000));
    assert_eq!(it.wait_outcome("2.0.0")["lastOutcome"]["what"], "committed");
    assert_eq!(it.remembered(), words);
}
