//! The set-up after the claim: its steps, the home's name, time zone and units, and invitations of people.

use crate::{
    harness::{Hob, Setup},
    model::with_model,
    model_server::says,
    visitor::{Visitor, code},
};
use serde_json::{Value, json};

fn unclaimed() -> Hob {
    Hob::with(Setup { claimed: false, config: "time_zone = \"UTC\"\n".into(), ..Setup::default() })
}

fn steps(owner: &Visitor) -> Vec<String> {
    let found = owner.get("/arrival").data(200);
    let states = found["steps"].as_array().unwrap().iter();
    states.map(|s| format!("{} {}", s["step"].as_str().unwrap(), s["state"].as_str().unwrap())).collect()
}

#[test]
fn the_set_up_is_resumed_where_it_was_left() {
    let mut hob = unclaimed();
    let mut owner = Visitor::owner(&hob);
    assert_eq!(owner.get("/session").data(200)["arriving"], true);
    assert_eq!(steps(&owner), ["you open", "home open", "people open", "model open"]);
    let put = |owner: &Visitor, body: Value| owner.send("PATCH", "/arrival", body);
    put(&owner, json!({"step": "you", "state": "done"})).data(200);
    put(&owner, json!({"step": "home", "state": "passed"})).data(200);
    for wrong in [
        json!({"step": "kitchen", "state": "done"}),
        json!({"step": "you", "state": "maybe"}),
        json!({"step": "you"}),
        json!({"state": "done"}),
        json!({"open": "yes"}),
        json!({"shut": true}),
        json!([]),
    ] {
        let refused = put(&owner, wrong.clone());
        assert!((400..=422).contains(&refused.status), "{wrong}: {}", refused.status);
    }
    let expected = ["you done", "home passed", "people open", "model open"];
    assert_eq!(steps(&owner), expected);
    hob.kill();
    hob.start_again();
    owner.port = hob.port;
    assert_eq!(steps(&owner), expected, "it survives a power cut");
    put(&owner, json!({"open": false})).data(200);
    assert_eq!(owner.get("/session").data(200)["arriving"], false);
    put(&owner, json!({"open": true, "step": "home", "state": "open"})).data(200);
    assert_eq!(steps(&owner)[1], "home open");
    // Only the owner sees it, and only an admin changes it.
    let token = hob.token("mia", "member");
    let mia = |method: &str| hob.request(method, "/api/v1/arrival").bearer(&token).json(&json!({"open": false})).send();
    mia("GET").refusal(403, "denied");
    mia("PATCH").refusal(403, "denied");
    assert_eq!(hob.request("GET", "/api/v1/session").bearer(&token).send().data(200)["arriving"], false);
    hob.assert_alive();
}

#[test]
fn a_hob_with_a_token_or_that_was_claimed_before_has_no_set_up_open() {
    let hob = Hob::start();
    assert_eq!(hob.get("/api/v1/session").data(200)["arriving"], false);
    assert_eq!(hob.get("/api/v1/arrival").data(200)["open"], false);
}

#[test]
fn the_home_has_a_name_a_clock_and_units() {
    let mut hob = unclaimed();
    let mut owner = Visitor::owner(&hob);
    let home = |owner: &Visitor| owner.get("/home").data(200);
    assert_eq!(home(&owner), json!({"name": "", "timeZone": "UTC", "units": "metric"}));
    let put = |owner: &Visitor, body: Value| owner.send("PATCH", "/home", body);
    let full = json!({"name": "  The  Old Mill ", "timeZone": "Asia/Tokyo", "units": "imperial"});
    let expected = json!({"name": "The Old Mill", "timeZone": "Asia/Tokyo", "units": "imperial"});
    assert_eq!(put(&owner, full).data(200), expected);
    for (wrong, part) in [
        (json!({"timeZone": "Mars/Olympus"}), "not a time zone"),
        (json!({"timeZone": "../etc/passwd"}), "not a time zone"),
        (json!({"name": "Elsewhere", "timeZone": "Europe"}), "not a time zone"),
        (json!({"name": ""}), "1 to 64"),
        (json!({"name": "   "}), "1 to 64"),
        (json!({"name": "x".repeat(65)}), "1 to 64"),
        (json!({"name": "a\u{7}b"}), "control"),
        (json!({"units": "furlongs"}), "`metric` or `imperial`"),
        (json!({"zone": "UTC"}), "zone"),
    ] {
        let refused = put(&owner, wrong.clone());
        assert!((400..=422).contains(&refused.status), "{wrong}");
        let text = refused.text();
        assert!(text.contains(part), "{wrong}: {text}");
    }
    assert_eq!(home(&owner), expected, "a refused change changes nothing");
    assert_eq!(owner.get("/session").data(200)["home"], expected);
    let token = hob.token("mia", "member");
    let mia =
        |method: &str| hob.request(method, "/api/v1/home").bearer(&token).json(&json!({"units": "metric"})).send();
    assert_eq!(mia("GET").data(200), expected);
    mia("PATCH").refusal(403, "denied");
    hob.kill();
    hob.start_again();
    owner.port = hob.port;
    assert_eq!(home(&owner), expected, "it survives a power cut");
    // An old name of a zone, as browsers report it.
    assert!(
        put(&owner, json!({"timeZone": "Asia/Calcutta"})).data(200)["timeZone"].as_str().unwrap().starts_with("Asia/")
    );
    // Back to that of hob.toml.
    assert_eq!(put(&owner, json!({"timeZone": ""})).data(200)["timeZone"], "UTC");
}

#[test]
fn another_zone_moves_every_answer_and_every_schedule() {
    let hob = unclaimed();
    let owner = Visitor::owner(&hob);
    let run = |tool: &str, arguments: Value| {
        let reply = owner.send("POST", &format!("/tools/{tool}/execute"), json!({"arguments": arguments}));
        reply.data(200)["result"].clone()
    };
    let task = run(
        "create_scheduled_task",
        json!({"name": "wake", "schedule": "0 7 * * *", "tool": "system_info", "arguments": {}}),
    );
    let next = || run("list_scheduled_tasks", json!({}))["tasks"][0].to_string();
    assert!(next().contains("T07:00:00+00:00"), "{task} {}", next());
    owner.send("PATCH", "/home", json!({"timeZone": "Asia/Tokyo"})).data(200);
    assert_eq!(run("get_current_time", json!({}))["timezone"], "Asia/Tokyo");
    assert!(next().contains("T07:00:00+09:00"), "{}", next());
    let said = owner.send("POST", "/chat", json!({"message": "remind me tomorrow at 8 to water the plants"})).data(200);
    assert!(said["response"].as_str().unwrap().contains("08:00"), "{said}");
    assert!(run("list_scheduled_tasks", json!({})).to_string().contains("T08:00:00+09:00"));
}

#[test]
fn a_model_knows_the_home() {
    let (hob, server) = with_model("home = \"The Mill\"\n");
    let prompt = |hob: &Hob| {
        server.script(vec![says("hello")]);
        hob.say("hi");
        server.asked().last().unwrap().messages("system")[0]["content"].as_str().unwrap().to_owned()
    };
    let before = prompt(&hob);
    assert!(before.contains("This home is called \"The Mill\".") && !before.contains("imperial"), "{before}");
    hob.admin("PATCH", "/api/v1/home").json(&json!({"units": "imperial", "name": "Ridge 4"})).send().data(200);
    let after = prompt(&hob);
    assert!(after.contains("This home is called \"Ridge 4\". People here use imperial units"), "{after}");
}

#[test]
fn an_invitation_lets_one_person_in_once() {
    let mut hob = unclaimed();
    let mut owner = Visitor::owner(&hob);
    owner.send("PATCH", "/home", json!({"name": "The Mill"})).data(200);
    let ida = owner.send("POST", "/people", json!({"name": "Ida", "role": "member"})).data(201);
    let path = format!("/people/{}/invitation", ida["id"].as_str().unwrap());
    let first = owner.send("POST", &path, json!({})).data(201)["code"].as_str().unwrap().to_owned();
    let invited = owner.send("POST", &path, json!({})).data(201);
    let code = invited["code"].as_str().unwrap().to_owned();
    let people = |owner: &Visitor| owner.get("/people").data(200)["people"][1].clone();
    assert_eq!(people(&owner)["invitedUntil"], invited["expiresAt"]);
    hob.kill();
    hob.start_again();
    owner.port = hob.port;
    let check = |code: &str| hob.request("POST", "/api/v1/join/check").json(&json!({"code": code})).send();
    assert_eq!(check(&code.to_lowercase()).data(200), json!({"person": "Ida", "home": "The Mill"}));
    assert!(check(&first).refusal(404, "no_invitation").contains("new link"), "only the newest is open");
    let mut guest = Visitor::new(&hob);
    let join =
        |password: &str| hob.request("POST", "/api/v1/join").json(&json!({"code": code, "password": password})).send();
    join("short").refusal(400, "bad_args");
    let session = guest.join(&json!({"code": code, "password": "told at breakfast"})).data(200);
    assert_eq!(
        (&session["person"], &session["role"], &session["arriving"]),
        (&json!("Ida"), &json!("member"), &json!(false))
    );
    assert!(guest.is_in());
    join("another long one").refusal(404, "no_invitation");
    assert_eq!((&people(&owner)["hasPassword"], &people(&owner)["invitedUntil"]), (&json!(true), &Value::Null));
    let mut again = Visitor::new(&hob);
    again.sign_in(&json!({"person": "ida", "password": "told at breakfast"})).data(200);
    // Members invite nobody; the owner and strangers cannot be invited.
    guest.send("POST", &path, json!({})).refusal(403, "denied");
    let owner_id = owner.get("/session").data(200)["user"].as_str().unwrap().to_owned();
    owner.send("POST", &format!("/people/{owner_id}/invitation"), json!({})).refusal(400, "bad_args");
    owner.send("POST", "/people/0197f3a2-0000-7000-8000-000000000000/invitation", json!({})).refusal(404, "not_found");
    owner.send("POST", "/people/x/invitation", json!({})).refusal(400, "bad_args");
    // Guesses are limited; the session stays.
    let mut last = 0;
    for n in 0..6 {
        last = check(&format!("AAAA-AAAA-AAAA-AAAA-AAA{n}")).status;
    }
    assert_eq!(last, 429);
    assert!(guest.is_in());
    // Whoever is removed is not let in by an old link.
    let late = owner.send("POST", &path, json!({})).data(201)["code"].as_str().unwrap().to_owned();
    owner.send("DELETE", &format!("/people/{}", ida["id"].as_str().unwrap()), json!({})).data(200);
    assert!(!guest.is_in());
    hob.kill();
    hob.start_again();
    hob.request("POST", "/api/v1/join")
        .json(&json!({"code": late, "password": "told at breakfast"}))
        .send()
        .refusal(404, "no_invitation");
    hob.assert_alive();
}

#[test]
fn nobody_joins_before_the_claim() {
    let hob = unclaimed();
    let join =
        hob.request("POST", "/api/v1/join").json(&json!({"code": code(&hob), "password": "told at breakfast"})).send();
    assert!(join.status == 403 || join.status == 404, "{}", join.status);
    assert!(!Visitor::new(&hob).is_in());
}

#[test]
fn a_token_is_no_person() {
    let hob = Hob::start();
    hob.token("thermometer", "member");
    let people = || hob.get("/api/v1/people").data(200)["people"].as_array().unwrap().clone();
    let flag = |name: &str| people().iter().find(|p| p["name"] == name).unwrap()["program"].clone();
    assert_eq!(flag("thermometer"), true);
    let mia = hob.post("/api/v1/people", json!({"name": "Mia", "role": "member"})).data(201);
    hob.token("mia", "member");
    assert_eq!(
        (mia["program"].clone(), flag("Mia")),
        (json!(false), json!(false)),
        "a token of a person leaves her one"
    );
    let id = people().iter().find(|p| p["name"] == "thermometer").unwrap()["id"].as_str().unwrap().to_owned();
    hob.admin("PATCH", &format!("/api/v1/people/{id}"))
        .json(&json!({"password": "told at breakfast"}))
        .send()
        .data(200);
    assert_eq!(flag("thermometer"), false, "whoever has a password is somebody");
}
