//! A simulated browser: stores cookies, and sends what the page would.

use crate::{
    harness::Hob,
    http::{Reply, Request},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Somebody at the page.
#[derive(Clone)]
pub struct Visitor {
    pub port: u16,
    pub cookies: BTreeMap<String, String>,
    pub csrf: String,
}

impl Visitor {
    /// Somebody who has never been here.
    pub fn new(hob: &Hob) -> Self {
        Self { port: hob.port, cookies: BTreeMap::new(), csrf: String::new() }
    }

    /// Whoever claims the device with the code on its console.
    pub fn owner(hob: &Hob) -> Self {
        let mut owner = Self::new(hob);
        owner.claim(&json!({"code": code(hob)})).data(200);
        owner
    }

    pub fn claim(&mut self, body: &Value) -> Reply {
        self.enter("/api/v1/claim", body)
    }

    pub fn sign_in(&mut self, body: &Value) -> Reply {
        self.enter("/api/v1/session", body)
    }

    pub fn join(&mut self, body: &Value) -> Reply {
        self.enter("/api/v1/join", body)
    }

    fn enter(&mut self, path: &str, body: &Value) -> Reply {
        let reply = self.request("POST", path).json(body).send();
        for (_, cookie) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
                assert!(cookie.contains(part), "{cookie}");
            }
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        if reply.status == 200 {
            self.csrf = reply.json()["data"]["csrfToken"].as_str().unwrap().to_owned();
        }
        reply
    }

    /// A request with the cookies and the token that shows it is the page's.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::new(self.port, method, path);
        if !cookies.is_empty() {
            request = request.header("Cookie", &cookies.join("; "));
        }
        if self.csrf.is_empty() { request } else { request.header("X-CSRF-Token", &self.csrf) }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", &format!("/api/v1{path}")).send()
    }

    pub fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        self.request(method, &format!("/api/v1{path}")).json(&body).send()
    }

    /// Whether they are still known.
    pub fn is_in(&self) -> bool {
        self.get("/session").status == 200
    }
}

/// The code in the last link on the console.
pub fn code(hob: &Hob) -> String {
    crate::harness::until("the link", || hob.log().contains("/#claim="));
    let log = hob.log();
    let code = log.rsplit_once("/#claim=").unwrap().1;
    code.lines().next().unwrap().to_owned()
}
