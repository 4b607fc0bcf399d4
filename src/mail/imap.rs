//! A client of IMAP servers: one connection, signed in.

mod names;
mod response;

pub use names::{Folder, Folders};
pub use response::Fetched;

use crate::{Error, Result, Security, Server, error::quoted, wire::Wire};
use base64::{Engine, engine::general_purpose::STANDARD};
use names::{decoded, encoded};
use response::{Token, announcement, code, fetched, largest, tokens};
use std::time::Duration;

/// How long an exchange may take, and one that moves a whole message.
const EXCHANGE: Duration = Duration::from_secs(45);
const TRANSFER: Duration = Duration::from_secs(240);
/// The longest line, in bytes; of the answer of a search, which names each hit.
const LINE: usize = 64 * 1024;
const SEARCH_LINE: usize = 2 << 20;
/// What a word of an answer takes in memory, about.
const TOKEN: usize = 48;
/// How much an exchange may bring beside what was asked for.
const TALK: usize = 512 * 1024;
/// How much of the headers of one message is read.
const HEADERS: usize = 16 * 1024;
/// The most folders that are read.
const FOLDERS: usize = 1000;
/// The headers that lists show, and that answers and threads need.
const FIELDS: &str = "DATE FROM TO CC REPLY-TO SUBJECT MESSAGE-ID REFERENCES IN-REPLY-TO CONTENT-TYPE";

/// A connection to an IMAP server.
pub struct Imap {
    wire: Wire,
    tag: u32,
    /// What the server can do, in capitals.
    abilities: Vec<String>,
    /// Whether answers may have lines as long as those of a search.
    searching: bool,
    /// Whether the server told of more messages since the folder was opened, or since IDLE told last.
    grown: bool,
}

/// The folder that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Opened {
    /// How many messages it has.
    pub exists: u32,
    /// Changes when the numbers of messages are given anew.
    pub validity: u32,
    /// The number that the next message gets, where the server says it.
    pub next: Option<u32>,
}

/// What is looked for. All of it must be so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// Pairs of a search key (`TEXT`, `FROM`, `TO`, `SUBJECT`, `SINCE`, `BEFORE`, `HEADER MESSAGE-ID`) and its value.
    pub terms: Vec<(&'static str, String)>,
    /// Only what was not read yet.
    pub unread: bool,
    /// Only messages with a larger number.
    pub after: Option<u32>,
}

/// A command in pieces: before each but the first, the server has to ask for more.
struct Command(Vec<Vec<u8>>);

impl Command {
    fn new(text: impl Into<String>) -> Self {
        Self(vec![text.into().into_bytes()])
    }
    fn push(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(last) => last.extend_from_slice(bytes),
            None => self.0.push(bytes.to_vec()),
        }
    }
    fn with(mut self, text: &str) -> Self {
        self.push(text.as_bytes());
        self
    }
    /// A blank and a text: quoted, or as a literal where that is not allowed.
    fn text(mut self, text: &str) -> Self {
        if text.len() < 1000 && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            return self.with(&format!(" \"{escaped}\""));
        }
        self.literal(text.as_bytes());
        self
    }
    fn literal(&mut self, bytes: &[u8]) {
        self.push(format!(" {{{}}}", bytes.len()).as_bytes());
        self.0.push(bytes.to_vec());
    }
}

/// An answer without a tag.
enum Untagged {
    Tokens(Vec<Token>),
    /// The line of a search.
    Hits(Vec<u8>),
}

enum Answer {
    Untagged(Untagged),
    Continue,
    Done(Vec<u8>),
}

/// What a command brought.
#[derive(Default)]
struct Brought {
    untagged: Vec<Untagged>,
    /// The text after `OK`.
    text: String,
}

impl Brought {
    fn tokens(&mut self) -> impl Iterator<Item = &mut Vec<Token>> {
        self.untagged.iter_mut().filter_map(|one| match one {
            Untagged::Tokens(tokens) => Some(tokens),
            Untagged::Hits(_) => None,
        })
    }
    /// The value of a response code, wherever it came.
    fn code(&mut self, name: &str) -> Option<String> {
        if let Some(value) = code(&self.text, name) {
            return Some(value.to_owned());
        }
        self.tokens().find_map(|tokens| {
            let is_ok = tokens.first()?.is("OK");
            let text = tokens.get(1).filter(|_| is_ok)?.text();
            code(&text, name).map(str::to_owned)
        })
    }
}

impl Imap {
    /// Connects and signs in.
    ///
    /// # Errors
    /// `Login` where the server refuses the credentials; `Unavailable`; `BadArgs` for settings that would send a password in the
    /// clear out of the home.
    pub async fn connect(server: &Server) -> Result<Self> {
        let wire = Wire::connect(server).await?;
        let mut imap = Self { wire, tag: 0, abilities: vec![], searching: false, grown: false };
        imap.wire.allow(EXCHANGE, TALK);
        let greeting = imap.wire.line(LINE).await?;
        if !greeting.starts_with(b"* OK") && !greeting.starts_with(b"* PREAUTH") {
            let said = quoted(&greeting);
            return Err(Error::Unavailable(format!("{} does not greet as an IMAP server: “{said}”", imap.wire.host())));
        }
        if server.security == Security::StartTls {
            imap.run(Command::new("STARTTLS"), "encrypt the connection").await?;
            imap.wire = imap.wire.secured(server).await?;
        }
        imap.ask_abilities().await?;
        imap.sign_in(server).await?;
        imap.ask_abilities().await?;
        Ok(imap)
    }

    async fn sign_in(&mut self, server: &Server) -> Result<()> {
        let (user, password) = (&server.username, &server.password);
        let result = if self.can("AUTH=PLAIN") {
            let response = STANDARD.encode(format!("\0{user}\0{password}"));
            self.run(Command(vec![b"AUTHENTICATE PLAIN".to_vec(), response.into_bytes()]), "sign in").await
        } else {
            self.run(Command::new("LOGIN").text(user).text(password), "sign in").await
        };
        let host = self.wire.host();
        result.map(drop).map_err(|error| match error {
            Error::Refused(text) => Error::Login(format!(
                "{host} refuses the user name or the password of this account ({text}): an admin can change them in the Config \
                 Center; some providers need a password for apps"
            )),
            other => other,
        })
    }

    async fn ask_abilities(&mut self) -> Result<()> {
        let mut brought = self.run(Command::new("CAPABILITY"), "say what it can do").await?;
        let told = brought.tokens().find(|tokens| tokens.first().is_some_and(|first| first.is("CAPABILITY")));
        self.abilities = told.into_iter().flatten().skip(1).map(|word| word.text().to_ascii_uppercase()).collect();
        Ok(())
    }

    fn can(&self, ability: &str) -> bool {
        self.abilities.iter().any(|known| known == ability)
    }

    /// Opens a folder, for reading only or not.
    ///
    /// # Errors
    /// `NotFound` where there is none with this name; `Unavailable`.
    pub async fn open(&mut self, folder: &str, read_only: bool) -> Result<Opened> {
        let word = if read_only { "EXAMINE" } else { "SELECT" };
        let mut brought = match self.run(Command::new(word).text(&encoded(folder)), "open the folder").await {
            Err(Error::Refused(why)) => {
                let folder = text_kit::truncate(folder, 80);
                return Err(Error::NotFound(format!("the folder `{folder}` cannot be opened ({why})")));
            }
            other => other?,
        };
        let number = |value: Option<String>| value.and_then(|value| value.trim().parse().ok());
        self.grown = false;
        let (validity, next) = (number(brought.code("UIDVALIDITY")), number(brought.code("UIDNEXT")));
        let exists = brought.tokens().filter(|tokens| tokens.get(1).is_some_and(|word| word.is("EXISTS")));
        let exists = exists.filter_map(|tokens| tokens[0].number()).last().unwrap_or_default();
        let host = self.wire.host();
        let validity = validity.ok_or_else(|| {
            Error::Unavailable(format!("{host} gives messages no lasting numbers, so they cannot be named"))
        })?;
        Ok(Opened { exists, validity, next })
    }

    /// The folders of the account.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn folders(&mut self) -> Result<Folders> {
        let special = if self.can("SPECIAL-USE") && self.can("LIST-EXTENDED") { " RETURN (SPECIAL-USE)" } else { "" };
        let mut brought = self.run(Command::new(format!("LIST \"\" \"*\"{special}")), "list its folders").await?;
        let read = |tokens: &mut Vec<Token>| {
            if !tokens.first()?.is("LIST") {
                return None;
            }
            let end = tokens.iter().position(|token| *token == Token::Close)?;
            let attributes: Vec<String> = tokens[..end].iter().skip(2).map(|word| word.text().into_owned()).collect();
            let delimiter = match tokens.get(end + 1)? {
                Token::Text(text) => std::str::from_utf8(text).ok()?.chars().next(),
                _ => None,
            };
            let name = decoded(&tokens.get(end + 2)?.text());
            let opens = !attributes.iter().any(|a| a.eq_ignore_ascii_case("\\Noselect"));
            // A name with what nobody sees in it cannot be asked for either.
            let is_plain = !name.chars().any(char::is_control);
            (opens && is_plain).then_some(Folder { name, delimiter, attributes })
        };
        Ok(Folders(brought.tokens().filter_map(read).take(FOLDERS).collect()))
    }

    /// The headers of the messages at these places of the open folder, 1 being the oldest.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn headers_at(&mut self, first: u32, last: u32) -> Result<Vec<Fetched>> {
        self.headers(format!("FETCH {first}:{last}"), last.saturating_sub(first) as usize + 1).await
    }

    /// The headers of the messages with these numbers, in the order of the server.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn headers_of(&mut self, uids: &[u32]) -> Result<Vec<Fetched>> {
        if uids.is_empty() {
            return Ok(vec![]);
        }
        let list: Vec<String> = uids.iter().map(u32::to_string).collect();
        self.headers(format!("UID FETCH {}", list.join(",")), uids.len()).await
    }

    async fn headers(&mut self, command: String, count: usize) -> Result<Vec<Fetched>> {
        let items = format!("{command} (UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS ({FIELDS})]<0.{HEADERS}>)");
        self.wire.allow(EXCHANGE, TALK + count * (HEADERS + 1024));
        let mut brought = self.exchange(Command::new(items), "list messages").await?;
        let mut all: Vec<Fetched> = brought.tokens().filter_map(|tokens| fetched(tokens)).take(count).collect();
        all.iter_mut().for_each(|one| one.bytes.truncate(HEADERS));
        Ok(all)
    }

    /// One message, or its first `most` bytes.
    ///
    /// # Errors
    /// `NotFound` where it is gone; `Unavailable`.
    pub async fn message(&mut self, uid: u32, most: usize) -> Result<Fetched> {
        let items = format!("UID FETCH {uid} (UID FLAGS RFC822.SIZE BODY.PEEK[]<0.{most}>)");
        self.wire.allow(TRANSFER, TALK + most);
        let mut brought = self.exchange(Command::new(items), "read the message").await?;
        let found = brought.tokens().filter_map(|tokens| fetched(tokens)).find(|one| one.uid == uid);
        found
            .filter(|one| !one.bytes.is_empty())
            .ok_or_else(|| Error::NotFound("this mail is not there any more: it was deleted or moved".to_owned()))
    }

    /// The numbers of the newest messages that fit, the newest first, and how many fit.
    ///
    /// # Errors
    /// `Unavailable`; `Refused` where the server does not search so.
    pub async fn search(&mut self, search: &Search, most: usize) -> Result<(Vec<u32>, usize)> {
        let plain = search.terms.iter().all(|(_, value)| value.is_ascii());
        let mut command = Command::new(if plain { "UID SEARCH" } else { "UID SEARCH CHARSET UTF-8" });
        if let Some(after) = search.after {
            command = command.with(&format!(" UID {}:*", after.saturating_add(1)));
        }
        command = command.with(if search.unread { " UNSEEN" } else { " ALL" });
        for (key, value) in &search.terms {
            command = command.with(&format!(" {key}"));
            command = match *key {
                "SINCE" | "BEFORE" => command.with(&format!(" {value}")),
                _ => command.text(value),
            };
        }
        self.searching = true;
        self.wire.allow(EXCHANGE, TALK + SEARCH_LINE);
        let brought = self.exchange(command, "search").await;
        self.searching = false;
        let (mut hits, mut count) = (vec![], 0);
        for one in brought?.untagged {
            if let Untagged::Hits(line) = one {
                let (some, more) = largest(&line, most);
                hits.extend(some);
                count += more;
            }
        }
        hits.sort_unstable_by(|a, b| b.cmp(a));
        hits.dedup();
        // With `N:*` the newest is among the hits even if its number is lower.
        hits.retain(|hit| search.after.is_none_or(|after| *hit > after));
        hits.truncate(most);
        Ok((hits, count))
    }

    /// Moves a message of the open folder. Returns its number there, where the server says it.
    ///
    /// # Errors
    /// `Refused` where the server does not; `Unavailable`.
    pub async fn move_to(&mut self, uid: u32, folder: &str) -> Result<Option<u32>> {
        let moves = self.can("MOVE");
        let word = if moves { "UID MOVE" } else { "UID COPY" };
        let command = Command::new(format!("{word} {uid}")).text(&encoded(folder));
        let mut brought = self.run(command, "move the message").await?;
        let copied = brought.code("COPYUID");
        let copied = copied.and_then(|value| value.rsplit(' ').next().and_then(|uid| uid.parse().ok()));
        if !moves {
            self.delete(uid).await?;
        }
        Ok(copied)
    }

    /// Deletes a message of the open folder for good.
    ///
    /// # Errors
    /// `Refused` where the server does not; `Unavailable`.
    pub async fn delete(&mut self, uid: u32) -> Result<()> {
        self.run(Command::new(format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)")), "delete the message").await?;
        // Without this ability others that are marked would go, too; then it goes with the next program that clears up.
        if self.can("UIDPLUS") {
            self.run(Command::new(format!("UID EXPUNGE {uid}")), "delete the message").await?;
        }
        Ok(())
    }

    /// Puts a message that was read into a folder.
    ///
    /// # Errors
    /// `Refused` where the server does not: no such folder, no room; `Unavailable`.
    pub async fn append(&mut self, folder: &str, message: &[u8]) -> Result<()> {
        let mut command = Command::new("APPEND").text(&encoded(folder)).with(" (\\Seen)");
        command.literal(message);
        self.wire.allow(TRANSFER, TALK);
        self.exchange(command, "keep the message").await.map(drop)
    }

    /// Waits until the open folder changes, by IDLE; `false` where nothing happens in this time.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn idle(&mut self, time: Duration) -> Result<bool> {
        if std::mem::take(&mut self.grown) {
            // It was told while something else was asked.
            return Ok(true);
        }
        self.wire.allow(EXCHANGE, TALK);
        let tag = self.begin(b"IDLE").await?;
        loop {
            match self.answer(&tag).await? {
                Answer::Continue => break,
                Answer::Untagged(_) => {}
                Answer::Done(text) => return Err(self.refused(&text, "wait for new mail")),
            }
        }
        while !self.grown && self.wire.is_coming(time).await? {
            self.wire.allow(EXCHANGE, TALK);
            if let Answer::Done(text) = self.answer(&tag).await? {
                return Err(self.refused(&text, "wait for new mail"));
            }
        }
        self.wire.allow(EXCHANGE, TALK);
        self.wire.send(b"DONE\r\n").await?;
        self.finish(&tag, "wait for new mail").await?;
        Ok(std::mem::take(&mut self.grown))
    }

    /// Whether the server tells of new mail by itself.
    pub fn can_idle(&self) -> bool {
        self.can("IDLE")
    }

    /// Says goodbye.
    pub async fn logout(mut self) {
        self.wire.allow(Duration::from_secs(3), TALK);
        let _ = self.exchange(Command::new("LOGOUT"), "end").await;
    }

    async fn run(&mut self, command: Command, what: &str) -> Result<Brought> {
        self.wire.allow(EXCHANGE, TALK);
        self.exchange(command, what).await
    }

    async fn begin(&mut self, first: &[u8]) -> Result<String> {
        self.tag += 1;
        let tag = format!("H{}", self.tag);
        let line = [tag.as_bytes(), b" ", first, b"\r\n"].concat();
        self.wire.send(&line).await?;
        Ok(tag)
    }

    async fn exchange(&mut self, command: Command, what: &str) -> Result<Brought> {
        let mut pieces = command.0.into_iter();
        let tag = self.begin(&pieces.next().unwrap_or_default()).await?;
        let mut brought = Brought::default();
        for piece in pieces {
            loop {
                match self.answer(&tag).await? {
                    Answer::Continue => break,
                    Answer::Untagged(one) => brought.untagged.push(one),
                    Answer::Done(text) => return Err(self.refused(&text, what)),
                }
            }
            self.wire.send(&piece).await?;
            self.wire.send(b"\r\n").await?;
        }
        let rest = self.finish(&tag, what).await?;
        brought.untagged.extend(rest.untagged);
        brought.text = rest.text;
        Ok(brought)
    }

    /// Everything up to the answer to the command with this tag.
    async fn finish(&mut self, tag: &str, what: &str) -> Result<Brought> {
        let mut brought = Brought::default();
        loop {
            match self.answer(tag).await? {
                Answer::Untagged(one) => brought.untagged.push(one),
                Answer::Continue => {}
                Answer::Done(text) => {
                    let Some(ok) = text.strip_prefix(b"OK") else { return Err(self.refused(&text, what)) };
                    brought.text = String::from_utf8_lossy(ok).trim().to_owned();
                    return Ok(brought);
                }
            }
        }
    }

    async fn answer(&mut self, tag: &str) -> Result<Answer> {
        let most = if self.searching { SEARCH_LINE } else { LINE };
        let line = self.wire.line(most).await?;
        if let Some(rest) = line.strip_prefix(tag.as_bytes()).and_then(|rest| rest.strip_prefix(b" ")) {
            return Ok(Answer::Done(rest.to_vec()));
        }
        if line.starts_with(b"+") {
            return Ok(Answer::Continue);
        }
        let Some(rest) = line.strip_prefix(b"* ") else {
            return Err(Error::Unavailable(format!("{} does not speak IMAP: “{}”", self.wire.host(), quoted(&line))));
        };
        if rest.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"SEARCH")) {
            return Ok(Answer::Untagged(Untagged::Hits(rest.to_vec())));
        }
        let (mut pieces, mut line) = (vec![], rest.to_vec());
        let mut total = line.len();
        while let Some((_, size)) = announcement(&line) {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let literal = self.wire.bytes(size).await?;
            pieces.push((line, Some(literal)));
            line = self.wire.line(LINE).await?;
            total += line.len();
            if total > LINE {
                return Err(Error::Unavailable(format!("{} sent too long an answer", self.wire.host())));
            }
        }
        pieces.push((line, None));
        let tokens = tokens(pieces);
        self.wire.charge((tokens.len() + 1) * TOKEN)?;
        self.grown |= tokens.get(1).is_some_and(|word| word.is("EXISTS"));
        Ok(Answer::Untagged(Untagged::Tokens(tokens)))
    }

    /// The error of a command that was not completed.
    fn refused(&self, text: &[u8], what: &str) -> Error {
        let (host, said) = (self.wire.host(), quoted(text));
        let capitals = said.to_ascii_uppercase();
        if capitals.contains("[OVERQUOTA]") {
            return Error::Refused(format!("the mailbox at {host} is full: delete some mail there first"));
        }
        if capitals.contains("[UNAVAILABLE]") || capitals.starts_with("BAD") || capitals.starts_with("BYE") {
            return Error::Unavailable(format!("{host} could not {what}: “{said}”"));
        }
        Error::Refused(format!("{host} did not {what}: “{said}”"))
    }
}
