//! Backups under a passphrase.

use crate::{BackupOptions, Error, Store, restore, restore_with};
use std::{fs, path::PathBuf};

/// A folder that is deleted with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("hob-sealed-{}", tool::Id::new()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn store_with(folder: &Folder, secrets: &[(&str, &str)]) -> Store {
    let store = Store::open(&folder.path("data")).unwrap();
    for (name, secret) in secrets {
        store.seal(name, secret.as_bytes()).await.unwrap();
    }
    store
}

fn secret(store: &Store, name: &str) -> Option<String> {
    store.unseal(name).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
}

#[tokio::test]
async fn another_device_gets_the_secrets_and_keeps_its_own_certificate() {
    let (one, two, fresh) = (Folder::new(), Folder::new(), Folder::new());
    let store = store_with(&one, &[("config/a", "of a"), ("device-certificate", "of one")]).await;
    let file = one.path("backup.hob");
    let sealed = || BackupOptions::sealed("correct horse".into());
    let size = store.backup_with(file.clone(), sealed()).await.unwrap().size;
    assert_eq!(size, fs::metadata(&file).unwrap().len());
    let left = |folder: &Folder| {
        let names = fs::read_dir(folder.path("data")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".part")).collect::<Vec<_>>()
    };
    assert!(left(&one).is_empty() && !one.path("backup.hob.part").exists());
    assert!(store.backup_with(file.clone(), sealed()).await.is_err_and(|e| e.to_string().contains("exists")));
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n") && !bytes.windows(4).any(|w| w == b"redb"));

    let other = store_with(&two, &[("config/b", "of b"), ("device-certificate", "of two")]).await;
    drop(other);
    for (passphrase, error) in
        [(None, Error::NoPassphrase), (Some(""), Error::NoPassphrase), (Some("wrong"), Error::WrongPassphrase)]
    {
        assert_eq!(restore_with(&two.path("data"), &file, passphrase), Err(error));
    }
    assert_eq!(restore(&two.path("data"), &file), Err(Error::NoPassphrase));
    let other = Store::open(&two.path("data")).unwrap();
    assert_eq!(secret(&other, "config/b").as_deref(), Some("of b"), "nothing was changed");
    drop(other);
    restore_with(&two.path("data"), &file, Some("correct horse")).unwrap();
    restore_with(&fresh.path("data"), &file, Some("correct horse")).unwrap();
    assert!(left(&two).is_empty() && left(&fresh).is_empty());
    for (folder, certificate) in [(&two, "of two"), (&fresh, "of one")] {
        let restored = Store::open(&folder.path("data")).unwrap();
        assert_eq!(secret(&restored, "config/a").as_deref(), Some("of a"));
        assert_eq!(secret(&restored, "device-certificate").as_deref(), Some(certificate));
        assert_eq!(secret(&restored, "config/b"), None, "everything is as it was when the backup was made");
        assert!(!restored.stats().unwrap().records.contains_key("backup-secrets"));
    }
}

#[tokio::test]
async fn a_running_device_prepares_a_backup_for_its_next_start() {
    let (one, two) = (Folder::new(), Folder::new());
    let store = store_with(&one, &[("config/a", "of a")]).await;
    let (file, ready) = (one.path("backup.hob"), two.path("ready"));
    store.backup_with(file.clone(), BackupOptions::sealed("correct horse".into())).await.unwrap();
    let other = store_with(&two, &[("config/b", "of b")]).await;
    assert_eq!(other.prepare_restore(&file, &ready, Some("no")), Err(Error::WrongPassphrase));
    fs::remove_file(&ready).unwrap();
    other.prepare_restore(&file, &ready, Some("correct horse")).unwrap();
    drop(other);
    // The file for the next start shows no secret, and is of no use to another device.
    let bytes = fs::read(&ready).unwrap();
    assert!(!bytes.windows(4).any(|w| w == b"of a") && !bytes.windows(7).any(|w| w == b"HOB-KEY"));
    restore(&two.path("data"), &ready).unwrap();
    let restored = Store::open(&two.path("data")).unwrap();
    assert_eq!((secret(&restored, "config/a").as_deref(), secret(&restored, "config/b")), (Some("of a"), None));
}

#[tokio::test]
async fn a_newer_or_a_decrypted_file_is_told_apart() {
    let (one, two) = (Folder::new(), Folder::new());
    let store = store_with(&one, &[("config/a", "of a")]).await;
    let (file, plain) = (one.path("backup.hob"), one.path("plain"));
    store.backup_with(file.clone(), BackupOptions::sealed("correct horse".into())).await.unwrap();
    let mut content = vec![];
    let sealed = fs::read(&file).unwrap();
    crate::age::decrypt("correct horse", &mut &sealed[..], &mut content).unwrap();
    // Decrypted by hand, as `age -d` does.
    fs::write(&plain, &content).unwrap();
    restore(&two.path("data"), &plain).unwrap();
    assert_eq!(secret(&Store::open(&two.path("data")).unwrap(), "config/a").as_deref(), Some("of a"));
    *content.last_mut().unwrap() += 1;
    let mut newer = vec![];
    crate::age::encrypt("correct horse", &mut &content[..], &mut newer).unwrap();
    fs::write(&plain, newer).unwrap();
    let why = restore_with(&two.path("data"), &plain, Some("correct horse")).unwrap_err();
    assert!(matches!(why, Error::Newer { found: 2, ours: 1, .. }), "{why}");
}
