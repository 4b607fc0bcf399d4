//! The guarded network: what the gate lets through, and nothing else.

use super::{run, text};
use crate::{Connection, Gate, Job, Network};
use futures::future::BoxFuture;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Lets one name through, to a port of this test.
struct OneHost {
    port: u16,
    asked: Mutex<Vec<(String, u16)>>,
}

impl Gate for OneHost {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push((host.to_owned(), port));
            if host != "allowed.example" {
                return Err(io::Error::other(format!("{host} is not allowed")));
            }
            Ok(Box::new(TcpStream::connect(("127.0.0.1", self.port)).await?) as Box<dyn Connection>)
        })
    }
}

#[tokio::test]
async fn requests_go_through_the_gate() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gate = Arc::new(OneHost { port: server.local_addr().unwrap().port(), asked: Mutex::default() });
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            let mut head = vec![0; 4096];
            let length = client.read(&mut head).await.unwrap();
            let first = String::from_utf8_lossy(&head[..length]).lines().next().unwrap_or_default().to_owned();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{first}", first.len());
            client.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let code = r#"
import urllib.request, urllib.error, socket, os
print(urllib.request.urlopen('http://allowed.example/path?x=1').read().decode())
try: urllib.request.urlopen('http://denied.example/')
except urllib.error.HTTPError as e: print(e.code, e.read().decode().strip())
s = socket.create_connection(('127.0.0.1', int(os.environ['https_proxy'].rsplit(':', 1)[1])))
s.sendall(b'CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\n\r\nGET /inner HTTP/1.1\r\n\r\n')
print(s.makefile('rb').read().decode().split('\r\n\r\n')[-1])
s = socket.socket(); s.settimeout(2)
try: s.connect(('1.1.1.1', 80)); print('ESCAPED')
except OSError: print('closed')
"#;
    let job = Job { network: Network::Guarded(gate.clone()), ..Job::new("/usr/bin/python3").args(["-c", code]) };
    let done = run(job).await;
    let expected = "GET /path?x=1 HTTP/1.1\n403 denied.example is not allowed\nGET /inner HTTP/1.1\nclosed\n";
    assert_eq!(text(&done.out), expected, "{}", text(&done.err));
    let asked = gate.asked.lock().unwrap().clone();
    let expected = [("allowed.example", 80), ("denied.example", 80), ("allowed.example", 443)];
    assert_eq!(asked, expected.map(|(host, port)| (host.to_owned(), port)));
}
