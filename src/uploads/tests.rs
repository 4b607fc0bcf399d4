//! Uploads with the real store.

use super::*;
use std::os::unix::fs::PermissionsExt;
use tool::{Channel, Ports, Principal, SystemClock, UserId, Via};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn of(user: UserId) -> Cx {
    let clock = Arc::new(SystemClock::new(Some("UTC")).unwrap());
    let principal = Principal { user, ..Principal::owner() };
    Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Api))
}

fn place() -> (Uploads, PathBuf) {
    let folder = std::env::temp_dir().join(format!("hob-uploads-{}", Id::new()));
    (Uploads::new(&Store::in_memory().unwrap(), folder.clone()), folder)
}

#[tokio::test]
async fn a_file_is_its_persons_alone_and_gone_once_deleted() {
    let (uploads, folder) = place();
    let (ana, ben) = (of(UserId::OWNER), of(UserId(Id::new())));
    let kept = uploads.put(&ana, "../../etc/cat photo.png", "text/html", PNG.to_vec()).await.unwrap();
    assert_eq!(
        (kept.name.as_str(), kept.media_type.as_str(), kept.size),
        ("cat photo.png", "image/png", PNG.len() as u64)
    );
    let (same, bytes) = uploads.load(&ana, kept.id).await.unwrap();
    assert_eq!((&same, &bytes[..]), (&kept, PNG));
    let mode = fs::metadata(folder.join(kept.id.to_string())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(matches!(uploads.load(&ben, kept.id).await, Err(Error::NotFound(_))));
    assert!(matches!(uploads.delete(&ben, kept.id).await, Err(Error::NotFound(_))));
    uploads.delete(&ana, kept.id).await.unwrap();
    assert!(uploads.get(&ana, kept.id).is_err());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let _ = fs::remove_dir_all(folder);
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_and_what_is_left_over_is_tidied() {
    let (uploads, folder) = place();
    let ana = of(UserId::OWNER);
    assert!(matches!(uploads.put(&ana, "x", "", vec![]).await, Err(Error::BadArgs(_))));
    assert!(matches!(uploads.put(&ana, "x", "", vec![0; LARGEST + 1]).await, Err(Error::BadArgs(_))));
    let kept = uploads.put(&ana, "", "", b"words".to_vec()).await.unwrap();
    assert_eq!(kept.name, "text", "a file without a name has one");
    fs::write(folder.join(format!("{}.half", Id::new())), "left over").unwrap();
    fs::write(folder.join(Id::new().to_string()), "without a record").unwrap();
    fs::write(folder.join("README"), "of somebody else").unwrap();
    // Released without removal, as after a power cut between the record and its file.
    let gone = Id::new();
    uploads.records.store().write(move |tx| tx.release_file(gone)).await.unwrap();
    fs::write(folder.join(gone.to_string()), "released").unwrap();
    // Released although its record exists.
    uploads.records.store().write(move |tx| tx.release_file(kept.id)).await.unwrap();
    uploads.tidy();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "what nobody knows of stays");
    assert!(!folder.join(gone.to_string()).exists());
    uploads.records.store().flush().await.unwrap();
    assert_eq!(uploads.records.store().released_files().unwrap(), []);
    assert!(uploads.load(&ana, kept.id).await.is_ok());
    fs::remove_file(folder.join(kept.id.to_string())).unwrap();
    assert!(matches!(uploads.load(&ana, kept.id).await, Err(Error::Failed(_))), "told, and no panic");
    let _ = fs::remove_dir_all(folder);
}

/// A record that cannot be parsed as file metadata: its name is cut off.
#[derive(Clone, Serialize, Deserialize)]
struct Bent(u64);

impl Record for Bent {
    const NAME: &'static str = Stored::NAME;
    const WORD: &'static str = "file";
    const LEVEL: Level = Level::User;
}

#[tokio::test]
async fn what_cannot_be_read_is_not_tidied_away() {
    let (uploads, folder) = place();
    let ana = of(UserId::OWNER);
    let bent = uploads.records.store().collection::<Bent>().insert(&ana, "t", Bent(u64::MAX)).await.unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(bent.id.to_string()), "bytes").unwrap();
    assert!(uploads.get(&ana, bent.id).is_err(), "it is an error, and there");
    uploads.tidy();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let _ = fs::remove_dir_all(folder);
}

/// Start the work and drop it at its first wait, like a client that closes the connection.
fn leave(work: impl Future) {
    let mut now = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(work).poll(&mut now).is_pending());
}

#[tokio::test]
async fn whoever_leaves_in_the_middle_leaves_no_file_that_is_not_counted() {
    let (uploads, folder) = place();
    let ana = of(UserId::OWNER);
    leave(uploads.put(&ana, "a", "", b"broken off".to_vec()));
    // Uploads run one at a time, so this one follows the first.
    let second = uploads.put(&ana, "b", "", b"whole".to_vec()).await.unwrap();
    let known = || uploads.records.list_in(Scope::User(ana.user()), &Listing::default()).unwrap();
    assert_eq!((known().len(), fs::read_dir(&folder).unwrap().count()), (2, 2));

    leave(uploads.delete(&ana, second.id));
    let begun = std::time::Instant::now();
    while fs::read_dir(&folder).unwrap().count() > 1 {
        assert!(begun.elapsed().as_secs() < 20, "its bytes are still there");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(known().len(), 1);
    let _ = fs::remove_dir_all(folder);
}
