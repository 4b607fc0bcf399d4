//! A scripted HTTP server for the tests of this crate: real sockets, answers byte by byte.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixListener},
    task::AbortHandle,
};

/// A server on loopback that answers each request with the pieces its script makes of it.
pub(crate) struct Server {
    pub(crate) port: u16,
    hits: Arc<AtomicUsize>,
    task: AbortHandle,
}

/// A script that maps the text of a request to response pieces, sent 50 ms apart; the connection then stays open.
type Pieces = Vec<Vec<u8>>;

impl Server {
    pub(crate) async fn start(script: impl Fn(String) -> Pieces + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (hits, script) = (Arc::new(AtomicUsize::new(0)), Arc::new(script));
        let counted = hits.clone();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (script, counted) = (script.clone(), counted.clone());
                tokio::spawn(async move {
                    talk(socket, &|request| {
                        counted.fetch_add(1, Ordering::SeqCst);
                        script(request)
                    })
                    .await
                });
            }
        });
        Self { port, hits, task: task.abort_handle() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// Stops it and gives the address nobody answers at any more.
    pub(crate) fn stop(self) -> String {
        self.task.abort();
        self.url("/")
    }
}

/// The same on a unix socket.
pub(crate) fn serve_unix(path: &Path, script: impl Fn(String) -> Pieces + Send + Sync + 'static) {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            talk(socket, &script).await;
        }
    });
}

async fn talk(mut socket: impl AsyncRead + AsyncWrite + Unpin, script: &(impl Fn(String) -> Pieces + Sync)) {
    while let Some(request) = read_request(&mut socket).await {
        for (i, piece) in script(request).into_iter().enumerate() {
            if i > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            if socket.write_all(&piece).await.is_err() {
                return;
            }
        }
    }
}

/// One request with its body, or nothing when the other side is done.
async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match socket.read(&mut buffer).await {
            Ok(n) if n > 0 => text.push_str(std::str::from_utf8(&buffer[..n]).unwrap()),
            _ => return None,
        }
    }
}

/// A whole answer in one piece; `headers` end with a line break each.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Pieces {
    vec![format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()]
}

/// A folder of this test's own.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hob-http-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
