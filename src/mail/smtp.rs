//! A client of SMTP servers: one connection, signed in, which sends one message.

use crate::{Error, Result, Security, Server, error::quoted, wire::Wire};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{net::IpAddr, time::Duration};

/// How long an exchange may take; the transfer of a message; and its acceptance, in which a server may look for viruses.
const EXCHANGE: Duration = Duration::from_secs(45);
const TRANSFER: Duration = Duration::from_secs(240);
/// The longest line of an answer, the most lines of one, and how much an exchange may bring.
const LINE: usize = 4096;
const LINES: usize = 100;
const TALK: usize = 64 * 1024;
/// How much of a message is sent at once.
const BLOCK: usize = 64 * 1024;

/// A connection to an SMTP server.
pub struct Smtp {
    wire: Wire,
    /// What the server can do, in capitals: `AUTH PLAIN LOGIN`, `SIZE 1000000`.
    abilities: Vec<String>,
}

struct Reply {
    code: u16,
    lines: Vec<Vec<u8>>,
}

impl Reply {
    fn is_good(&self) -> bool {
        (200..400).contains(&self.code)
    }
    fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().take(3).map(|line| quoted(line)).collect();
        text_kit::truncate(&format!("{} {}", self.code, lines.join(" ")), 200)
    }
}

impl Smtp {
    /// Connects and signs in.
    ///
    /// # Errors
    /// `Login` where the server refuses the credentials; `Unavailable`; `BadArgs` for settings that would send a password in the
    /// clear out of the home.
    pub async fn connect(server: &Server) -> Result<Self> {
        let mut smtp = Self { wire: Wire::connect(server).await?, abilities: vec![] };
        smtp.wire.allow(EXCHANGE, TALK);
        let greeting = smtp.reply().await?;
        if greeting.code != 220 {
            return Err(smtp.unavailable("did not greet", &greeting));
        }
        smtp.greet().await?;
        if server.security == Security::StartTls {
            let agreed = smtp.command("STARTTLS").await?;
            if !agreed.is_good() {
                return Err(smtp.unavailable("does not encrypt", &agreed));
            }
            smtp.wire = smtp.wire.secured(server).await?;
            smtp.greet().await?;
        }
        if !server.username.is_empty() {
            smtp.sign_in(server).await?;
        }
        Ok(smtp)
    }

    async fn greet(&mut self) -> Result<()> {
        let name = match self.wire.local() {
            Some(IpAddr::V4(ip)) => format!("[{ip}]"),
            Some(IpAddr::V6(ip)) => format!("[IPv6:{ip}]"),
            None => "[127.0.0.1]".to_owned(),
        };
        let reply = self.command(&format!("EHLO {name}")).await?;
        if !reply.is_good() {
            return Err(self.unavailable("did not accept the greeting", &reply));
        }
        let ability = |line: &Vec<u8>| String::from_utf8_lossy(line).trim().to_ascii_uppercase();
        self.abilities = reply.lines.iter().skip(1).map(ability).collect();
        Ok(())
    }

    async fn sign_in(&mut self, server: &Server) -> Result<()> {
        let offers = |way: &str| {
            let mut auth = self.abilities.iter().filter_map(|line| line.strip_prefix("AUTH"));
            auth.any(|ways| ways.split([' ', '=']).any(|offered| offered == way))
        };
        let (user, password) = (&server.username, &server.password);
        let reply = if offers("PLAIN") {
            self.command(&format!("AUTH PLAIN {}", STANDARD.encode(format!("\0{user}\0{password}")))).await?
        } else if offers("LOGIN") {
            let mut reply = self.command("AUTH LOGIN").await?;
            for answer in [user, password] {
                if reply.code == 334 {
                    reply = self.command(&STANDARD.encode(answer)).await?;
                }
            }
            reply
        } else {
            let host = self.wire.host();
            return Err(Error::Unavailable(format!(
                "{host} offers no way to sign in that is known here (PLAIN, LOGIN): check the port and `security`"
            )));
        };
        match reply.code {
            235 => Ok(()),
            // 4xx: not now.
            400..500 => Err(self.unavailable("cannot check the password at the moment", &reply)),
            _ => Err(Error::Login(format!(
                "{} refuses the user name or the password of this account (“{}”): an admin can change them in the Config Center; \
                 some providers need a password for apps",
                self.wire.host(),
                reply.text()
            ))),
        }
    }

    /// Sends a message to all recipients, or to none: their addresses were checked ([`crate::parse_people`]).
    ///
    /// # Errors
    /// `Refused` where the server does not take the message or one of the recipients: then nothing was sent; `Unavailable`.
    pub async fn send(mut self, from: &str, recipients: &[&str], message: &[u8]) -> Result<()> {
        let limit = self.abilities.iter().find_map(|line| line.strip_prefix("SIZE ")?.trim().parse::<usize>().ok());
        let size = message.len();
        if limit.is_some_and(|limit| limit > 0 && size > limit) {
            return Err(self.too_large(size));
        }
        let told = if limit.is_some() { format!(" SIZE={size}") } else { String::new() };
        let reply = self.command(&format!("MAIL FROM:<{from}>{told}")).await?;
        self.accepted(&reply, "the sender", size)?;
        for recipient in recipients {
            let reply = self.command(&format!("RCPT TO:<{recipient}>")).await?;
            self.accepted(&reply, &format!("the recipient {recipient}"), size)?;
        }
        let reply = self.command("DATA").await?;
        self.accepted(&reply, "the message", size)?;
        self.wire.allow(TRANSFER, TALK);
        self.transfer(message).await?;
        self.wire.allow(TRANSFER, TALK);
        let reply = self.reply().await.map_err(|error| {
            Error::Unavailable(format!(
                "it is not known whether the mail was sent ({error}): look whether it arrived before sending it again"
            ))
        })?;
        self.accepted(&reply, "the message", size)?;
        let _ = self.command("QUIT").await;
        Ok(())
    }

    /// The message with the ends of lines that SMTP wants; a line that begins with a dot gets another one.
    async fn transfer(&mut self, message: &[u8]) -> Result<()> {
        let mut block = Vec::with_capacity(BLOCK + LINE);
        for line in lines(message) {
            if line.starts_with(b".") {
                block.push(b'.');
            }
            block.extend_from_slice(line);
            block.extend_from_slice(b"\r\n");
            if block.len() >= BLOCK {
                self.wire.send(&block).await?;
                block.clear();
            }
        }
        block.extend_from_slice(b".\r\n");
        self.wire.send(&block).await
    }

    async fn command(&mut self, line: &str) -> Result<Reply> {
        // No value may end the line; all that come here were checked before.
        if line.contains(['\r', '\n', '\0']) {
            return Err(Error::BadArgs("an address has a line break in it".to_owned()));
        }
        self.wire.allow(EXCHANGE, TALK);
        self.wire.send(format!("{line}\r\n").as_bytes()).await?;
        self.reply().await
    }

    async fn reply(&mut self) -> Result<Reply> {
        let mut lines = vec![];
        loop {
            let line = self.wire.line(LINE).await?;
            let code = line.get(..3).and_then(|code| std::str::from_utf8(code).ok()?.parse::<u16>().ok());
            let Some(code) = code.filter(|_| matches!(line.get(3), None | Some(b' ' | b'-'))) else {
                let host = self.wire.host();
                return Err(Error::Unavailable(format!("{host} does not speak SMTP: “{}”", quoted(&line))));
            };
            let goes_on = line.get(3) == Some(&b'-');
            lines.push(line.get(4..).unwrap_or_default().to_vec());
            if !goes_on {
                return Ok(Reply { code, lines });
            }
            if lines.len() > LINES {
                return Err(Error::Unavailable(format!("{} sent too long an answer", self.wire.host())));
            }
        }
    }

    fn accepted(&self, reply: &Reply, what: &str, size: usize) -> Result<()> {
        if reply.is_good() {
            return Ok(());
        }
        let (host, text) = (self.wire.host(), reply.text());
        Err(match reply.code {
            452 | 552 if text.to_lowercase().contains("size") || text.contains(" 5.3.4") => self.too_large(size),
            452 | 552 => Error::Refused(format!("{host} has no room for this mail (“{text}”): nothing was sent")),
            530 | 535 => Error::Login(format!("{host} wants a user name and password for sending (“{text}”)")),
            400..500 => Error::Unavailable(format!(
                "{host} does not take {what} at the moment (“{text}”): nothing was sent; try again later"
            )),
            _ => Error::Refused(format!("{host} does not take {what} (“{text}”): nothing was sent")),
        })
    }

    fn too_large(&self, size: usize) -> Error {
        let host = self.wire.host();
        Error::Refused(format!(
            "the mail has {size} bytes, more than {host} takes: nothing was sent; attach less, or share the files another way"
        ))
    }

    fn unavailable(&self, what: &str, reply: &Reply) -> Error {
        Error::Unavailable(format!("{} {what} (“{}”)", self.wire.host(), reply.text()))
    }
}

/// The lines of a text, whatever ends them.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').flat_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.split(|byte| *byte == b'\r')
    })
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn every_end_of_a_line_is_one() {
        let all =
            |text: &str| lines(text.as_bytes()).map(|l| String::from_utf8_lossy(l).into_owned()).collect::<Vec<_>>();
        assert_eq!(all("a\r\n.\r\nb\n.c\r.\rd\r\n"), ["a", ".", "b", ".c", ".", "d"]);
        assert_eq!(all("a\n\nb"), ["a", "", "b"]);
    }
}
