//! Channels and bundles over HTTP: ranges, servers without ranges, interruptions, wrong files.

use super::world::{IMAGES, KEYS, Kind, new_bundle, updater};
use crate::{
    Error, Updater,
    bundle::Head,
    channel::{Channel, ChannelRelease},
    fetch::{check, download, take_file},
    manifest::Payload,
    sim_disk::SimDisk,
    slots::SlotName,
    testing::{Folder, head_of},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A server of files on loopback.
#[derive(Clone)]
struct Server(Arc<Files>);

struct Files {
    files: Mutex<HashMap<String, Vec<u8>>>,
    ranges: bool,
    /// Connections are closed after so many bytes of a body.
    cut: Option<usize>,
    sent: Mutex<u64>,
    port: u16,
}

impl Server {
    async fn start(ranges: bool, cut: Option<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self(Arc::new(Files { files: Mutex::default(), ranges, cut, sent: Mutex::default(), port }));
        let served = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(served.clone().answer(socket));
            }
        });
        server
    }

    fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.0.files.lock().unwrap().insert(name.to_owned(), bytes.into());
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.0.port)
    }

    fn sent(&self) -> u64 {
        *self.0.sent.lock().unwrap()
    }

    async fn answer(self, mut socket: TcpStream) {
        let mut text = vec![];
        while !text.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if socket.read_exact(&mut byte).await.is_err() {
                return;
            }
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).unwrap().to_lowercase();
        let name = text.split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
        let found = self.0.files.lock().unwrap().get(&name).cloned();
        let range = text.lines().find_map(|line| line.strip_prefix("range: bytes="));
        let (status, body) = match (found, range) {
            (None, _) => ("404 Not Found", vec![]),
            (Some(bytes), Some(range)) if self.0.ranges => {
                let (from, to) = range.split_once('-').unwrap();
                ("206 Partial Content", bytes[from.parse().unwrap()..=to.parse().unwrap()].to_vec())
            }
            (Some(bytes), _) => ("200 OK", bytes),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        let _ = socket.write_all(head.as_bytes()).await;
        let body = &body[..body.len().min(self.0.cut.unwrap_or(usize::MAX))];
        *self.0.sent.lock().unwrap() += body.len() as u64;
        let _ = socket.write_all(body).await;
    }

    /// Publishes version 1.0.2 in a channel that expires at `expires`.
    fn publish(&self, expires: &str) {
        let bundle = new_bundle(Payload::App);
        let head = head_of(bundle).unwrap();
        let release = ChannelRelease::of(&Head::read_unsigned(head).unwrap(), head, "files/app.hobupdate".into());
        let channel = Channel {
            kind: Channel::TYPE.into(),
            channel: "stable".into(),
            serial: 7,
            issued: "2020-01-01T00:00:00Z".into(),
            expires: expires.into(),
            releases: vec![release],
        };
        let (text, signature) = channel.sign(&KEYS.signing()).unwrap();
        self.put("stable.json", text);
        self.put("stable.json.minisig", signature);
        self.put("files/app.hobupdate", bundle);
    }
}

fn machine() -> (SimDisk, Arc<Updater>) {
    let disk = Kind::Dir.machine();
    let updater = updater(&disk, Kind::Dir.slots(&disk, SlotName::A, 1)).unwrap();
    (disk, Arc::new(updater))
}

const LATER: &str = "2999-01-01T00:00:00Z";

#[tokio::test]
async fn only_the_ranges_that_are_missing_travel() {
    for ranges in [true, false] {
        let server = Server::start(ranges, None).await;
        server.publish(LATER);
        let (disk, updater) = machine();
        let offer = check(&updater, &server.url("stable.json")).await.unwrap().unwrap();
        assert_eq!((offer.release.serial, offer.url.as_str()), (2, server.url("files/app.hobupdate").as_str()));
        let before = server.sent();
        let plan = download(&updater, &offer).await.unwrap();
        let sent = server.sent() - before;
        let whole = new_bundle(Payload::App).len() as u64;
        match ranges {
            true => {
                assert!(sent < plan.needed_bytes + offer.release.head_length + 40_000 && sent < whole / 2, "{sent}")
            }
            false => assert!(sent <= 2 * whole, "{sent}"),
        }
        updater.stage(&plan.id).unwrap();
        assert_eq!(disk.content("/root/slots/b/hob").unwrap(), IMAGES.hob[1]);
        // Downloaded again it is there.
        download(&updater, &offer).await.unwrap();
    }
}

#[tokio::test]
async fn an_interrupted_download_resumes() {
    let server = Server::start(true, Some(9_000)).await;
    server.publish(LATER);
    let (disk, updater) = machine();
    let offer = check(&updater, &server.url("stable.json")).await.unwrap().unwrap();
    let mut tries = 0;
    let plan = loop {
        match download(&updater, &offer).await {
            Ok(plan) => break plan,
            Err(Error::Network(_)) if tries < 40 => tries += 1,
            Err(why) => panic!("{why}"),
        }
    };
    assert!(tries > 0);
    updater.stage(&plan.id).unwrap();
    assert_eq!(disk.content("/root/slots/b/hob").unwrap(), IMAGES.hob[1]);
}

#[tokio::test]
async fn channels_that_do_not_count_are_refused() {
    let server = Server::start(true, None).await;
    let (disk, updater) = machine();
    let url = server.url("stable.json");
    let steps = disk.steps();
    let error = check(&updater, &url).await.unwrap_err();
    assert!(matches!(&error, Error::Network(why) if why.contains("answers 404")), "{error}");
    server.publish("2020-02-01T00:00:00Z");
    let error = check(&updater, &url).await.unwrap_err();
    assert!(error.to_string().contains("expired"), "{error}");
    server.publish(LATER);
    server.put("stable.json.minisig", "untrusted comment: x\nx\ntrusted comment: x\nx\n");
    assert!(matches!(check(&updater, &url).await, Err(Error::Refused(_))));
    server.put("stable.json", vec![b' '; 1 << 20]);
    assert!(matches!(check(&updater, &url).await, Err(Error::Network(_))));
    assert!(matches!(check(&updater, "nonsense").await, Err(Error::BadRequest(_))));
    assert_eq!(disk.steps(), steps);
    // Once a serial was seen, an older file of the channel is a replay.
    server.publish(LATER);
    check(&updater, &url).await.unwrap();
    assert_eq!(updater.channel_serial(&url), 7);
    // A file that the same key signed for another channel does not count at this address.
    for file in [".json", ".json.minisig"] {
        let content = server.0.files.lock().unwrap()[&format!("stable{file}")].clone();
        server.put(&format!("beta{file}"), content);
    }
    let error = check(&updater, &server.url("beta.json")).await.unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("serves the channel `stable`")), "{error}");
    updater.note_channel_serial(&url, 8).unwrap();
    let error = check(&updater, &url).await.unwrap_err();
    assert!(error.to_string().contains("old copy"), "{error}");
}

#[tokio::test]
async fn a_bundle_that_the_channel_does_not_name_is_refused() {
    let server = Server::start(true, None).await;
    server.publish(LATER);
    let (disk, updater) = machine();
    let offer = check(&updater, &server.url("stable.json")).await.unwrap().unwrap();
    let steps = disk.steps();
    let mut other = new_bundle(Payload::App).to_vec();
    other[100] ^= 1;
    server.put("files/app.hobupdate", other);
    let error = download(&updater, &offer).await.unwrap_err();
    assert!(error.to_string().contains("not the one that the update channel names"), "{error}");
    assert_eq!(disk.steps(), steps);
}

#[test]
fn a_file_is_taken_from_a_stick() {
    let folder = Folder::new("stick").unwrap();
    let bundle = new_bundle(Payload::App);
    let path = folder.write("x.hobupdate", bundle).unwrap();
    let (disk, updater) = machine();
    let plan = take_file(&updater, &path).unwrap();
    updater.stage(&plan.id).unwrap();
    assert_eq!(disk.content("/root/slots/b/hob").unwrap(), IMAGES.hob[1]);
    let (_, updater) = machine();
    let path = folder.write("cut.hobupdate", &bundle[..bundle.len() - 10_000]).unwrap();
    let error = take_file(&updater, &path).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert!(matches!(take_file(&updater, &folder.0.join("none")), Err(Error::Disk(_))));
}
