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

/// A server with TLS and a certificate that it has made itself.
pub(crate) struct Secure {
    port: u16,
    fingerprint: String,
    hits: Arc<AtomicUsize>,
    script: Arc<dyn Fn(String) -> Pieces + Send + Sync>,
    task: tokio::task::JoinHandle<()>,
}

impl Secure {
    pub(crate) async fn start(script: impl Fn(String) -> Pieces + Send + Sync + 'static) -> Self {
        Self::start_at(0, Arc::new(script)).await
    }

    async fn start_at(port: u16, script: Arc<dyn Fn(String) -> Pieces + Send + Sync>) -> Self {
        use sha2::{Digest, Sha256};
        use tokio_rustls::rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
        let made = rcgen::generate_simple_self_signed(["ha.local".to_owned()]).unwrap();
        let digest = Sha256::digest(made.cert.der().as_ref());
        let fingerprint = digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(AtomicUsize::new(0));
        let (counted, answers) = (hits.clone(), script.clone());
        let task = tokio::spawn(async move {
            // With the task its connections end.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, answers, counted) = (acceptor.clone(), answers.clone(), counted.clone());
                connections.spawn(async move {
                    let Ok(socket) = acceptor.accept(socket).await else { return };
                    let count = |request| {
                        counted.fetch_add(1, Ordering::SeqCst);
                        answers(request)
                    };
                    talk(socket, &count).await;
                });
            }
        });
        Self { port, fingerprint, hits, script, task }
    }

    /// Another server at the same address, with another certificate.
    pub(crate) async fn replaced(self) -> Self {
        self.task.abort();
        let _ = self.task.await;
        Self::start_at(self.port, self.script).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// Stops it and gives the address nobody answers at any more.
    pub(crate) async fn stop(self) -> String {
        let url = self.url("/");
        self.task.abort();
        let _ = self.task.await;
        url
    }
}
