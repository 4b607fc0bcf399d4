//! Mail accounts: entries of the services `imap` and `smtp` in the Config Center. Entries with the same label are one account.

use crate::{Error, Person, Result, address::parse_person};
use http_client::{Fingerprint, Trust};
use serde_json::{Map, Value, json};
use std::{ops::RangeInclusive, time::Duration};
use tool::{Cx, People, Role, Settings, UserId};

/// The services' names in the Config Center.
pub const IMAP: &str = "imap";
pub const SMTP: &str = "smtp";
/// In `people`: every member of the household.
const EVERYBODY: &str = "everybody";

/// After how many seconds is looked for new mail where the server does not tell by itself: by default, and the choice.
const POLL: u16 = 120;
const POLLS: RangeInclusive<u16> = 10..=3600;

/// Whether and when a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// From the start.
    Tls,
    /// After the server agreed, and before anything else is said.
    StartTls,
    /// Never: only for servers on this device or in the home.
    None,
}

/// A server and how to sign in there.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Encryption.
    pub security: Security,
    /// Which certificates are accepted.
    pub trust: Trust,
    /// User name; empty where the server asks for none.
    pub username: String,
    /// Password.
    pub password: String,
}

/// An account one reads from.
#[derive(Clone, PartialEq, Eq)]
pub struct ImapAccount {
    /// Its label in the Config Center.
    pub label: String,
    /// The server.
    pub server: Server,
    /// The folders for deleted and for sent mail, where they are not found by themselves.
    pub trash: Option<String>,
    pub sent: Option<String>,
    /// Whether new mail is an event.
    pub watch: bool,
    /// How often is looked for it where the server does not tell by itself.
    pub poll: Duration,
    /// Who may use it, as it was entered.
    pub people: String,
}

/// An account one sends from.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpAccount {
    /// Its label in the Config Center.
    pub label: String,
    /// The server.
    pub server: Server,
    /// The sender.
    pub from: Person,
    /// Whether what is sent is also put into the folder for sent mail.
    pub copy: bool,
    /// Who may use it, as it was entered.
    pub people: String,
}

/// The services as the Config Center lists them, in the form of `required_api_keys`.
pub fn services() -> Value {
    let field = |name: &str, label: &str, kind: &str, about: &str| json!({"name": name, "label": label, "type": kind, "description": about});
    let with = |mut field: Value, key: &str, value: Value| {
        field[key] = value;
        field
    };
    let server = |port: &str| {
        vec![
            with(field("host", "Server", "string", "Its name, such as mail.example.org."), "required", true.into()),
            field("port", "Port", "number", port),
            with(
                with(
                    field("security", "Encryption", "select", "`none` only for a server in the home."),
                    "options",
                    json!(["tls", "starttls", "none"]),
                ),
                "default",
                "tls".into(),
            ),
            field("username", "User name", "string", "Often the address itself."),
            field(
                "password",
                "Password",
                "secret",
                "Encrypted and never shown again. Gmail, iCloud and the like need a password for apps, made on their pages.",
            ),
            field(
                "people",
                "Who may use it",
                "string",
                "Names of people of this Hob, separated by commas, or `everybody`. Where left out: its admins.",
            ),
            field(
                "ca",
                "Certificate",
                "string",
                "Of an authority of your own, or the server's self-signed one, in PEM.",
            ),
            field(
                "fingerprint",
                "Certificate fingerprint",
                "string",
                "Only for a certificate that no authority signed: its SHA-256, as the error shows it; compare it with the server's.",
            ),
        ]
    };
    let mut imap = server("993, or 143 with starttls, where left out.");
    imap.push(with(
        field("watch", "Tell of new mail", "boolean", "New mail can start rules and triggers."),
        "default",
        true.into(),
    ));
    imap.push(field(
        "poll",
        "Look for new mail every … seconds",
        "number",
        "Where the server does not tell of it by itself: from 10 to 3600, and 120 where left out.",
    ));
    imap.push(field("trash", "Folder for deleted mail", "string", "Found by itself on most servers."));
    imap.push(field("sent", "Folder for sent mail", "string", "Found by itself on most servers."));
    let mut smtp = server("465, or 587 with starttls, where left out.");
    smtp.insert(1, with(field("from", "Sender", "string", "The address, or Name <address>."), "required", true.into()));
    smtp.push(with(
        field(
            "copy",
            "Keep a copy",
            "boolean",
            "In the folder for sent mail of the imap entry with the same label; off for Gmail and Outlook, which do so themselves.",
        ),
        "default",
        true.into(),
    ));
    json!([
        {"name": IMAP, "displayName": "Mail: reading", "category": "Mail", "multiEntry": true, "configSchema": imap,
         "description": "Mailboxes to read, by IMAP. An entry with the same label under smtp sends for the same account."},
        {"name": SMTP, "displayName": "Mail: sending", "category": "Mail", "multiEntry": true, "configSchema": smtp,
         "description": "Servers to send mail through, by SMTP."},
    ])
}

fn text(entry: &Map<String, Value>, field: &str) -> String {
    entry.get(field).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn yes(entry: &Map<String, Value>, field: &str) -> bool {
    match entry.get(field) {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) => !matches!(text.trim(), "false" | "no" | "off" | "0"),
        _ => true,
    }
}

/// A whole number, as the page or a file has it; `Some(None)` where it is left out.
fn number(entry: &Map<String, Value>, field: &str) -> Option<Option<u16>> {
    match entry.get(field) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) if text.trim().is_empty() => Some(None),
        Some(Value::String(text)) => text.trim().parse().ok().map(Some),
        Some(number) => {
            number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=65535.0).contains(n)).map(|n| Some(n as u16))
        }
    }
}

fn bad(service: &str, label: &str, why: &str) -> Error {
    let label = text_kit::truncate(label, 64);
    Error::BadArgs(format!("the entry `{label}` of `{service}` in the Config Center {why}: an admin can change it"))
}

/// `ports` are those with encryption from the start, and without.
fn server(service: &str, label: &str, entry: &Map<String, Value>, ports: (u16, u16)) -> Result<Server> {
    let bad = |why: &str| bad(service, label, why);
    let host = text(entry, "host");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || host.len() > 253 || !host.chars().all(plain) {
        return Err(bad("has no usable `host`, such as mail.example.org"));
    }
    let security = match text(entry, "security").as_str() {
        "" | "tls" => Security::Tls,
        "starttls" => Security::StartTls,
        "none" => Security::None,
        _ => return Err(bad("has a `security` that is not tls, starttls or none")),
    };
    let usual = if security == Security::Tls { ports.0 } else { ports.1 };
    let port = number(entry, "port").map(|port| port.unwrap_or(usual));
    let port = port.filter(|port| *port != 0).ok_or_else(|| bad("has a `port` that is none"))?;
    let trust = match (text(entry, "fingerprint"), text(entry, "ca")) {
        (pin, _) if !pin.is_empty() => {
            Trust::Pinned(pin.parse::<Fingerprint>().map_err(|why| bad(&format!("has a wrong `fingerprint` ({why})")))?)
        }
        (_, ca) if !ca.is_empty() => Trust::Authority(ca),
        _ => Trust::System,
    };
    let (username, password) = (text(entry, "username"), text(entry, "password"));
    if username.chars().chain(password.chars()).any(char::is_control) {
        return Err(bad("has a user name or password with control characters"));
    }
    Ok(Server { host, port, security, trust, username, password })
}

impl ImapAccount {
    /// From an entry of the service `imap`.
    ///
    /// # Errors
    /// `BadArgs` where something in it is unusable.
    pub fn read(label: &str, entry: &Map<String, Value>) -> Result<Self> {
        let folder = |field: &str| Some(text(entry, field)).filter(|name| !name.is_empty());
        let seconds = number(entry, "poll").map(|seconds| seconds.unwrap_or(POLL));
        let seconds = seconds.filter(|seconds| POLLS.contains(seconds)).ok_or_else(|| {
            let range = format!("from {} to {} seconds", POLLS.start(), POLLS.end());
            bad(IMAP, label, &format!("has a `poll` that is not {range}"))
        })?;
        Ok(Self {
            label: label.to_owned(),
            server: server(IMAP, label, entry, (993, 143))?,
            trash: folder("trash"),
            sent: folder("sent"),
            watch: yes(entry, "watch"),
            poll: Duration::from_secs(seconds.into()),
            people: text(entry, "people"),
        })
    }
}

impl SmtpAccount {
    /// From an entry of the service `smtp`.
    ///
    /// # Errors
    /// `BadArgs` where something in it is unusable.
    pub fn read(label: &str, entry: &Map<String, Value>) -> Result<Self> {
        let from = parse_person(&text(entry, "from")).map_err(|why| {
            Error::BadArgs(format!(
                "the sender in the entry `{label}` of `{SMTP}` is unusable ({why}): an admin can change it"
            ))
        })?;
        Ok(Self {
            label: label.to_owned(),
            server: server(SMTP, label, entry, (465, 587))?,
            from,
            copy: yes(entry, "copy"),
            people: text(entry, "people"),
        })
    }
}

/// Whether a person may use an account with these `people`. A name that two people have is nobody's.
fn may_use(people: &dyn People, who: &str, user: UserId, role: Role) -> tool::Result<bool> {
    if user == UserId::VOICE {
        return Ok(false);
    }
    let names: Vec<&str> = who.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Ok(role >= Role::Admin);
    }
    if names.iter().any(|name| name.eq_ignore_ascii_case(EVERYBODY)) {
        return Ok(role >= Role::Member);
    }
    let all = people.everybody()?;
    Ok(names.iter().any(|name| {
        let mut called: Vec<UserId> =
            all.iter().filter(|(_, known)| known.to_lowercase() == name.to_lowercase()).map(|(id, _)| *id).collect();
        called.len() == 1 && called.pop() == Some(user)
    }))
}

/// The people who may use an account with these `people`.
///
/// # Errors
/// `Failed` where they cannot be read.
pub(crate) fn users(people: &dyn People, who: &str) -> tool::Result<Vec<UserId>> {
    let mut all: Vec<UserId> = people.everybody()?.into_iter().map(|(id, _)| id).collect();
    if !all.contains(&UserId::OWNER) {
        all.push(UserId::OWNER);
    }
    let mut may = vec![];
    for user in all {
        let role = people.role_of(user)?.or((user == UserId::OWNER).then_some(Role::Admin));
        if let Some(role) = role
            && may_use(people, who, user, role)?
        {
            may.push(user);
        }
    }
    Ok(may)
}

/// The entry of a service that this caller means, of those they may use: the named one, else the first.
fn entry(cx: &Cx, service: &str, label: Option<&str>) -> tool::Result<(String, Map<String, Value>)> {
    let all = cx.ports().settings.entries(service);
    let what = if service == IMAP { "read mail" } else { "send mail" };
    if all.is_empty() {
        return Err(tool::Error::unavailable(format!(
            "no account to {what} with is set up: an admin can add one in the Config Center, under `{service}`"
        )));
    }
    let mut own = vec![];
    for (name, values) in all {
        if may_use(&*cx.ports().people, &text(&values, "people"), cx.user(), cx.principal().role)? {
            own.push((name, values));
        }
    }
    let names: Vec<String> = own.iter().take(20).map(|(name, _)| format!("`{name}`")).collect();
    let wanted = label.map(str::trim).filter(|label| !label.is_empty());
    let chosen = own.into_iter().find(|(name, _)| wanted.is_none_or(|wanted| name.eq_ignore_ascii_case(wanted)));
    chosen.ok_or_else(|| match (wanted, names.is_empty()) {
        (_, true) => tool::Error::denied(format!(
            "none of the accounts to {what} with is yours: an admin can add your name to `people` of an entry of `{service}`"
        )),
        (Some(wanted), false) => {
            let wanted = text_kit::truncate(wanted, 64);
            tool::Error::not_found(format!("there is no account `{wanted}` to {what} with: there are {}", names.join(", ")))
        }
        (None, false) => tool::Error::not_found("there is no account"),
    })
}

/// The account this caller reads from: the named one, else the first they may use.
///
/// # Errors
/// `Unavailable` where none is set up; `Denied`; `NotFound`; `BadArgs` where its entry is unusable.
pub fn imap_account(cx: &Cx, label: Option<&str>) -> tool::Result<ImapAccount> {
    let (label, values) = entry(cx, IMAP, label)?;
    Ok(ImapAccount::read(&label, &values)?)
}

/// The account this caller sends from: the named one, else the first they may use.
///
/// # Errors
/// As [`imap_account`].
pub fn smtp_account(cx: &Cx, label: Option<&str>) -> tool::Result<SmtpAccount> {
    let (label, values) = entry(cx, SMTP, label)?;
    Ok(SmtpAccount::read(&label, &values)?)
}

/// All accounts that are watched for new mail. Unusable entries are skipped.
pub(crate) fn watched(settings: &dyn Settings) -> Vec<ImapAccount> {
    let read = |(label, values): (String, Map<String, Value>)| match ImapAccount::read(&label, &values) {
        Ok(account) => Some(account),
        Err(error) => {
            tracing::warn!(%error, "a mail account cannot be watched");
            None
        }
    };
    settings.entries(IMAP).into_iter().filter_map(read).filter(|account| account.watch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imap(entry: Value) -> Result<ImapAccount> {
        ImapAccount::read("home", entry.as_object().unwrap())
    }

    #[test]
    fn entries_are_read_with_defaults() {
        for (entry, port, security) in [
            (json!({"host": "m.example"}), 993, Security::Tls),
            (json!({"host": "m.example", "security": "starttls"}), 143, Security::StartTls),
            (json!({"host": "m.example", "security": "none", "port": "1143"}), 1143, Security::None),
            (json!({"host": "m.example", "port": 9933.0}), 9933, Security::Tls),
        ] {
            let account = imap(entry.clone()).ok().unwrap();
            assert_eq!(
                (account.server.port, account.server.security, account.watch),
                (port, security, true),
                "{entry}"
            );
        }
        for (poll, seconds) in [(json!(null), 120), (json!(""), 120), (json!("30"), 30), (json!(3600.0), 3600)] {
            let account = imap(json!({"host": "m.example", "poll": poll})).ok().unwrap();
            assert_eq!(account.poll, Duration::from_secs(seconds));
        }
        let sender = json!({"host": "m.example", "from": "Nora Quist <nora@example.org>", "copy": false});
        let account = SmtpAccount::read("home", sender.as_object().unwrap()).ok().unwrap();
        assert_eq!((account.server.port, account.copy, &*account.from.address), (465, false, "nora@example.org"));
        assert_eq!(account.from.name.as_deref(), Some("Nora Quist"));
    }

    #[test]
    fn unusable_entries_say_what_to_change() {
        for (entry, says) in [
            (json!({}), "host"),
            (json!({"host": "a b"}), "host"),
            (json!({"host": "m", "port": 0}), "port"),
            (json!({"host": "m", "port": 70000}), "port"),
            (json!({"host": "m", "security": "ssl"}), "security"),
            (json!({"host": "m", "fingerprint": "AB"}), "fingerprint"),
            (json!({"host": "m", "poll": 9}), "from 10 to 3600"),
            (json!({"host": "m", "poll": "often"}), "poll"),
            (json!({"host": "m", "poll": 1.5e9}), "poll"),
            (json!({"host": "m", "password": "a\r\nb"}), "control characters"),
        ] {
            let Err(Error::BadArgs(text)) = imap(entry.clone()) else { unreachable!("{entry}") };
            assert!(text.contains(says) && text.contains("admin"), "{text}");
        }
        for from in ["", "nobody", "a@b.example\r\nBcc: c@d.example"] {
            assert!(
                SmtpAccount::read("home", json!({"host": "m", "from": from}).as_object().unwrap()).is_err(),
                "{from}"
            );
        }
    }

    #[test]
    fn only_named_people_use_an_account() {
        struct Home;
        const ANNA: UserId = UserId(tool::Id::from_bytes([1; 16]));
        const BEN: UserId = UserId(tool::Id::from_bytes([2; 16]));
        const TWIN: UserId = UserId(tool::Id::from_bytes([3; 16]));
        const ADMIN: UserId = UserId(tool::Id::from_bytes([4; 16]));
        impl People for Home {
            fn role_of(&self, user: UserId) -> tool::Result<Option<Role>> {
                Ok(Some(if user == ADMIN { Role::Admin } else { Role::Member }))
            }
            fn everybody(&self) -> tool::Result<Vec<(UserId, String)>> {
                let name = |id, name: &str| (id, name.to_owned());
                Ok(vec![name(ANNA, "Anna"), name(BEN, "Ben"), name(TWIN, "ben"), name(ADMIN, "Eva")])
            }
        }
        for (people, expected) in [
            ("", [false, false, false, true]),
            ("anna", [true, false, false, false]),
            ("Eva, Anna", [true, false, false, true]),
            ("Ben", [false, false, false, false]),
            ("Everybody", [true, true, true, true]),
        ] {
            let may = users(&Home, people).unwrap();
            assert_eq!([ANNA, BEN, TWIN, ADMIN].map(|user| may.contains(&user)), expected, "{people}");
        }
        assert!(!may_use(&Home, "everybody", UserId::VOICE, Role::Member).unwrap());
    }
}
