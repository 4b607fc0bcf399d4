//! The clients against hostile and broken servers on the loopback.

use crate::{Error, Imap, Search, Security, Server, Smtp};
use http_client::Trust;
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

/// What a scripted server does with a line: bytes to send, and whether it hangs up then.
type Script = fn(&str) -> Option<Vec<u8>>;

/// A server that greets with `greeting` and then answers each line by the script, until that returns nothing.
async fn server(greeting: &'static [u8], script: Script) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut lines = BufReader::new(read).lines();
                let _ = write.write_all(greeting).await;
                while let Ok(Some(line)) = lines.next_line().await {
                    let Some(answer) = script(&line) else { return };
                    if write.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Server {
        host: "127.0.0.1".into(),
        port,
        security: Security::None,
        trust: Trust::System,
        username: "nora".into(),
        password: "pass word\"\\".into(),
    }
}

const HELLO: &[u8] = b"* OK hello\r\n";

/// Signs in, and answers the command after that with `then`; `TAG` in it is the tag of that command.
fn imap_until(line: &str, then: &[u8]) -> Option<Vec<u8>> {
    let (tag, command) = line.split_once(' ')?;
    let ok = |before: &str| Some(format!("{before}{tag} OK done\r\n").into_bytes());
    match command.split(' ').next()? {
        "CAPABILITY" => ok("* CAPABILITY IMAP4rev1 IDLE MOVE UIDPLUS\r\n"),
        "LOGIN" if command == r#"LOGIN "nora" "pass word\"\\""# => ok(""),
        "SELECT" => ok("* 3 EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n* OK [UIDNEXT 12] next\r\n"),
        "LOGOUT" => None,
        _ => Some(String::from_utf8_lossy(then).replace("TAG", tag).into_bytes()),
    }
}

async fn opened(script: Script) -> Imap {
    let server = server(HELLO, script).await;
    let mut imap = Imap::connect(&server).await.unwrap();
    let opened = imap.open("INBOX", false).await.unwrap();
    assert_eq!((opened.exists, opened.validity, opened.next), (3, 7, Some(12)));
    imap
}

fn unavailable<T>(result: Result<T, Error>, says: &str) {
    match result {
        Err(Error::Unavailable(text)) => assert!(text.contains(says), "{text}"),
        Err(other) => unreachable!("{other:?}"),
        Ok(_) => unreachable!("it was accepted"),
    }
}

#[tokio::test]
async fn hostile_answers_end_the_connection() {
    let mut huge = opened(|line| imap_until(line, b"* 1 FETCH (UID 3 BODY[] {4294967296}\r\nabc")).await;
    unavailable(huge.message(3, 1000).await, "more than was asked for");
    let mut endless = opened(|line| imap_until(line, &[b'x'; 3 << 20])).await;
    unavailable(endless.search(&Search::default(), 10).await, "a line of more than");
    let mut flood = opened(|line| imap_until(line, "* 1 EXPUNGE\r\n".repeat(100_000).as_bytes())).await;
    unavailable(flood.folders().await, "more than was asked for");
    // Short lines take more in memory than on the way.
    let mut short = opened(|line| imap_until(line, "* 1 FETCH (UID 1)\r\n".repeat(200_000).as_bytes())).await;
    unavailable(short.message(3, 8 << 20).await, "more than was asked for");
    let mut cut = opened(|line| match line.contains("FETCH") {
        true => None,
        false => imap_until(line, b""),
    })
    .await;
    unavailable(cut.message(3, 1000).await, "closed the connection");
    let mut half =
        opened(|line| imap_until(line, b"* 1 FETCH (UID 3 BODY[] {100}\r\nabc\r\nTAG OK\r\n* BYE\r\n")).await;
    tokio::time::pause();
    unavailable(half.message(3, 1000).await, "did not answer in time");
    tokio::time::resume();
    let mut other = opened(|line| imap_until(line, b"HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    unavailable(other.folders().await, "does not speak IMAP");
    let mut empty = opened(|line| imap_until(line, b"* 9 FETCH (UID 4 BODY[] \"x\")\r\nTAG OK\r\n")).await;
    assert!(matches!(empty.message(3, 1000).await, Err(Error::NotFound(_))), "another message than was asked for");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let mut silent = opened(|line| imap_until(line, b"")).await;
    tokio::time::pause();
    unavailable(silent.folders().await, "did not answer in time");
}

#[tokio::test]
async fn a_wrong_password_says_so() {
    let wrong = |line: &str| match line.contains("LOGIN") {
        true => Some(format!("{} NO [AUTHENTICATIONFAILED] \x1b[31mno\x07\r\n", line.split(' ').next()?).into_bytes()),
        false => imap_until(line, b""),
    };
    let server = server(HELLO, wrong).await;
    match Imap::connect(&server).await {
        Err(Error::Login(text)) => {
            assert!(
                text.contains("password") && !text.contains(['\x1b', '\x07']) && !text.contains("pass word"),
                "{text}"
            );
        }
        _ => unreachable!(),
    }
    let refused = Server { port: 1, ..server };
    unavailable(Imap::connect(&refused).await, "cannot be reached");
    let nowhere = Server { host: "no-such-host.invalid".into(), ..refused };
    unavailable(Imap::connect(&nowhere).await, "was not found");
}

#[tokio::test]
async fn answers_before_the_encryption_are_no_answers() {
    let injected = |line: &str| {
        let tag = line.split(' ').next()?;
        Some(format!("{tag} OK begin\r\n* CAPABILITY IMAP4rev1\r\nH2 OK done\r\n").into_bytes())
    };
    let server = Server { security: Security::StartTls, ..server(HELLO, injected).await };
    unavailable(Imap::connect(&server).await, "before the encryption began");
    let refuses = |line: &str| Some(format!("{} BAD no\r\n", line.split(' ').next()?).into_bytes());
    let server = Server { security: Security::StartTls, ..self::server(HELLO, refuses).await };
    unavailable(Imap::connect(&server).await, "could not encrypt");
}

#[tokio::test]
async fn what_grew_meanwhile_is_not_missed() {
    let mut imap = opened(|line| imap_until(line, b"* 4 EXISTS\r\n* LIST () \"/\" INBOX\r\nTAG OK\r\n")).await;
    imap.folders().await.unwrap();
    assert!(imap.idle(Duration::from_secs(3600)).await.unwrap(), "without asking the server again");
}

fn smtp_until(line: &str, command: &str, then: &'static str) -> Option<Vec<u8>> {
    if line.starts_with(command) {
        return Some(then.into());
    }
    let answer = match line.split(' ').next()? {
        "EHLO" => "250-hello\r\n250-AUTH LOGIN PLAIN\r\n250 SIZE 1000\r\n",
        "AUTH" => "235 yes\r\n",
        "QUIT" => "221 bye\r\n",
        "DATA" => "354 go on\r\n",
        "." => "250 taken\r\n",
        "MAIL" | "RCPT" => "250 ok\r\n",
        // The text.
        _ => "",
    };
    Some(answer.into())
}

async fn sent(script: Script) -> Result<(), Error> {
    let server = server(b"220 hello\r\n", script).await;
    Smtp::connect(&server).await?.send("a@b.example", &["c@d.example"], b"Subject: x\r\n\r\n.hidden dot\r\n").await
}

#[tokio::test]
async fn refusals_say_what_was_refused() {
    sent(|line| smtp_until(line, "nothing", "")).await.unwrap();
    /// What the server says, a part of the error, and its kind.
    type Row = (Script, &'static str, fn(&Error) -> bool);
    let rows: [Row; 6] = [
        (|l| smtp_until(l, "AUTH", "535 5.7.8 no\r\n"), "password", |e| matches!(e, Error::Login(_))),
        (|l| smtp_until(l, "RCPT", "550 no such user\r\n"), "c@d.example", |e| matches!(e, Error::Refused(_))),
        (|l| smtp_until(l, "MAIL", "552 quota exceeded\r\n"), "no room", |e| matches!(e, Error::Refused(_))),
        (|l| smtp_until(l, ".", "552 5.3.4 too big\r\n"), "attach less", |e| matches!(e, Error::Refused(_))),
        (|l| smtp_until(l, "RCPT", "451 later\r\n"), "try again later", |e| matches!(e, Error::Unavailable(_))),
        (|l| smtp_until(l, "EHLO", "250 SIZE 10\r\n"), "PLAIN, LOGIN", |e| matches!(e, Error::Unavailable(_))),
    ];
    for (script, says, kind) in rows {
        let error = sent(script).await.unwrap_err();
        assert!(kind(&error) && error.to_string().contains(says), "{says}: {error:?}");
    }
    let large = server(b"220 hello\r\n", |line| smtp_until(line, "nothing", "")).await;
    let error = Smtp::connect(&large).await.unwrap().send("a@b.example", &["c@d.example"], &[b'x'; 1001]).await;
    assert!(matches!(error, Err(Error::Refused(text)) if text.contains("1001 bytes")));
}

#[tokio::test]
async fn a_hostile_smtp_server_is_given_up() {
    unavailable(sent(|_| Some(vec![b'x'; 1 << 20])).await, "a line of more than");
    unavailable(sent(|_| Some("250-x\r\n".repeat(5000).into_bytes())).await, "too long an answer");
    unavailable(sent(|_| Some(b"SSH-2.0-x\r\n".to_vec())).await, "does not speak SMTP");
    unavailable(
        sent(|line| if line == "." { None } else { smtp_until(line, "nothing", "") }).await,
        "not known whether",
    );
    let server = server(b"220 hello\r\n", |line| smtp_until(line, "nothing", "")).await;
    let smuggled =
        Smtp::connect(&server).await.unwrap().send("a@b.example", &["c@d.example>\r\nRCPT TO:<x@y.example"], b"x");
    assert!(matches!(smuggled.await, Err(Error::BadArgs(_))));
}
