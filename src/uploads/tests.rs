//! Files of people, with the real store.

use super::*;
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
    uploads.tidy();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(uploads.load(&ana, kept.id).await.is_ok());
    fs::remove_file(folder.join(kept.id.to_string())).unwrap();
    assert!(matches!(uploads.load(&ana, kept.id).await, Err(Error::Failed(_))), "told, and no panic");
    let _ = fs::remove_dir_all(folder);
}
