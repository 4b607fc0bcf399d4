//! Power cuts at random moments of an update: Hob always starts again, tells the truth, and has its data.

use crate::{
    harness::{Dice, TOKEN},
    http::Request,
    supervised::{Signer, Start, Supervised, UPDATE, UPLOADS, ranges},
    update_source::Server,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

/// How many cuts; `UPDATE_KILLS` asks for more.
fn rounds() -> u64 {
    std::env::var("UPDATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

/// The moments: a state of an update, and how many milliseconds after it at least and at most the power goes.
const MOMENTS: [(&str, u64, u64); 6] =
    [("any", 0, 20), ("writing", 0, 30), ("staged", 0, 40), ("trying", 0, 500), ("trying", 700, 900), ("any", 0, 2500)];
/// The pieces of an upload.
const PIECE: usize = 4_000;

/// A request of a client that the daemon may leave alone at any step.
fn ask(port: u16, method: &str, path: &str, body: Vec<u8>) -> Option<Value> {
    let request = Request::new(port, method, path).bearer(TOKEN).header("Content-Type", "application/json").body(body);
    let reply = request.try_send().ok().filter(|reply| reply.status < 300)?;
    reply.json().get("data").cloned()
}

/// Sends a bundle and installs it.
fn upload(port: u16, bundle: &[u8]) -> Option<Value> {
    let head = update::bundle::head_length(bundle).unwrap();
    let upload = ask(port, "POST", UPLOADS, bundle[..head].to_vec())?;
    let id = upload["id"].as_str()?.to_owned();
    for (offset, length) in ranges(&upload) {
        let range = &bundle[offset as usize..(offset + length) as usize];
        for (place, piece) in range.chunks(PIECE).enumerate() {
            let at = offset + (place * PIECE) as u64;
            ask(port, "PUT", &format!("{UPLOADS}/{id}?offset={at}"), piece.to_vec())?;
        }
    }
    ask(port, "POST", &format!("{UPDATE}/install"), json!({"uploadId": id}).to_string().into_bytes())
}

/// Installs what the channel offers.
fn fetch(port: u16) -> Option<Value> {
    ask(port, "POST", &format!("{UPDATE}/check"), b"{}".to_vec())?;
    ask(port, "POST", &format!("{UPDATE}/install"), b"{}".to_vec())
}

/// The tag of a round's word: the words of forty rounds are listed in one answer.
fn tag(round: u64) -> String {
    format!("rounds-{}", round / 40)
}

/// The words of all rounds until this one.
fn remembered(it: &Supervised, round: u64) -> Vec<String> {
    (0..=round / 40).flat_map(|group| it.remembered_as(&tag(group * 40))).collect()
}

#[test]
fn whenever_the_power_goes_the_old_or_the_new_version_runs_with_all_data() {
    let mut dice = Dice::fresh();
    eprintln!("dice {}", dice.0);
    let (signer, server) = (Signer::new(), Server::start());
    let config = format!("{}check_hours = 0\n", server.setting());
    let mut it = Supervised::start(&Start { keys: &[&signer.public], config: &config, ..Start::default() });
    let mut words = vec![];
    let (mut committed, mut fell_back) = (0, 0);
    let mut moments = BTreeMap::<String, u32>::new();
    let mut floor = 0;
    for round in 0..rounds() {
        let word = format!("word{round:03}");
        it.remember_as(&tag(round), &word);
        words.push(word);
        let before = it.view();
        let running = before["running"]["version"].as_str().unwrap().to_owned();
        let (version, serial) = (format!("1.0.{round}"), round + 1);
        let bundle = signer.good(&version, serial);
        let (moment, least, most) = MOMENTS[(round % MOMENTS.len() as u64) as usize];
        let wait = Duration::from_millis(least + dice.below(most - least));
        // By turns uploaded and fetched from the channel.
        let by_upload = (round / MOMENTS.len() as u64).is_multiple_of(2);
        if !by_upload {
            server.publish(&signer, serial, std::slice::from_ref(&bundle));
        }
        let port = it.port();
        thread::scope(|scope| {
            scope.spawn(|| if by_upload { upload(port, &bundle) } else { fetch(port) });
            let begun = Instant::now();
            let mut last = None;
            while moment != "any" && begun.elapsed() < Duration::from_secs(5) {
                last = it.try_view().and_then(|view| Some(view["state"].as_str()?.to_owned())).or(last);
                let is_ours = last.as_deref() == Some(moment) || last.as_deref() == Some("trying");
                if is_ours {
                    break;
                }
            }
            thread::sleep(wait);
            it.cut_power();
            *moments.entry(format!("{moment} + {least} to {most} ms")).or_default() += 1;
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
            // Before the new head arrived, it is still about the one before.
            "writing" | "staged" => {
                let is_before = before["state"] == state && before["version"] == about;
                assert!((about == version || is_before) && now == running, "{view:#}");
            }
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
        assert_eq!(remembered(&it, round), words, "round {round}");
    }
    eprintln!("{committed} committed, {fell_back} not; the power went at {moments:?}");
    assert!(committed > 0 && fell_back > 0, "{committed} committed, {fell_back} not");
    // It can be updated as ever.
    it.install(&signer.good("2.0.0", 1000));
    assert_eq!(it.wait_outcome("2.0.0")["lastOutcome"]["what"], "committed");
    assert_eq!(remembered(&it, rounds()), words);
}
