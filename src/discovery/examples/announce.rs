//! Announces while developing; goes away.
use discovery::*;
use std::time::Duration;
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arg: Vec<String> = std::env::args().skip(1).collect();
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let ignored: Vec<String> = IGNORED.iter().map(|s| s.to_string()).collect();
    if arg[0] == "discover" {
        println!("{:#?}", browse(Duration::from_millis(1500), &ignored).await);
        return;
    }
    let a = Announcer::start(
        Announced { name: arg[0].clone(), id: arg[1].clone(), version: "0.1.0".into(), port: arg[2].parse().unwrap(), tls: Some(Tls{port: 9, fingerprint: "AB:".repeat(31)+"AB"}), claimed: false, listens: arg[3].parse().unwrap() },
        ignored,
    );
    let mut names = a.names();
    tokio::spawn(async move { loop { eprintln!("NAME {:?}", *names.borrow_and_update()); if names.changed().await.is_err() { return } } });
    let (tx, mut rx) = tokio::sync::mpsc::channel(8);
    std::thread::spawn(move || for l in std::io::stdin().lines() { let _ = tx.blocking_send(l.unwrap()); });
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
    loop {
        tokio::select! {
            _ = term.recv() => break,
            Some(l) = rx.recv() => match l.as_str() {
                "claim" => a.update(|x| x.claimed = true),
                "browse" => eprintln!("{:#?}", a.browse(Duration::from_millis(1500)).await),
                "stop" => break,
                other => a.update(|x| x.name = other.to_owned()),
            }
        }
    }
    let t = std::time::Instant::now();
    a.stop().await;
    eprintln!("stopped in {:?}", t.elapsed());
}
