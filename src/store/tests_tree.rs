//! The files of the workspace in backups.

use super::*;
use std::{
    collections::BTreeMap,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
};

struct Scene {
    dir: PathBuf,
    db: Database,
}

impl Scene {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("hob-tree-{}", tool::Id::new()));
        fs::create_dir_all(dir.join("from/people/one")).unwrap();
        let db = Database::create(dir.join("db")).unwrap();
        Self { dir, db }
    }
    fn from(&self) -> PathBuf {
        self.dir.join("from")
    }
    fn to(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
    fn set(&self, table: &str, key: &[u8], value: Option<&[u8]>) {
        let tx = self.db.begin_write().unwrap();
        {
            let mut table = tx.open_table(Table::new(table)).unwrap();
            match value {
                Some(value) => drop(table.insert(key, value).unwrap()),
                None => drop(table.remove(key).unwrap()),
            }
        }
        tx.commit().unwrap();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The files below a folder, with their content.
fn content(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                folders.push(path);
            } else if about.is_file() {
                all.insert(path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn files_come_back_as_they_were_and_what_is_none_is_left_out() {
    let scene = Scene::new();
    let from = scene.from();
    for (n, size) in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * BYTES].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
        fs::write(from.join(format!("people/one/{n} ü.bin")), bytes).unwrap();
    }
    fs::create_dir_all(from.join("household/empty")).unwrap();
    fs::write(from.join("household/run.sh"), "#!/bin/sh").unwrap();
    fs::set_permissions(from.join("household/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(from.join("household/run.sh"), from.join("household/again.sh")).unwrap();
    let wanted = content(&from);
    // Neither is opened: a pipe without a writer would never answer.
    std::os::unix::fs::symlink("/etc", from.join("people/one/etc")).unwrap();
    std::os::unix::fs::symlink("run.sh", from.join("household/link")).unwrap();
    rustix::fs::mknodat(CWD, from.join("people/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(from.join("sock")).unwrap();
    let size = tree_size(&from).unwrap();
    let bytes = wanted.values().map(|bytes| bytes.len() as u64).sum();
    assert_eq!(size, TreeSize { files: wanted.len() as u64, bytes, skipped: 4 });
    assert_eq!(pack(&from, &scene.db).unwrap(), size);
    assert!(is_whole(&scene.db).unwrap());
    let to = scene.to("to");
    assert!(unpack(&scene.db, &to).unwrap());
    assert!(content(&to) == wanted && to.join("household/empty").is_dir());
    let (was, now) = (from.join("household/run.sh"), to.join("household/run.sh"));
    let (was, now) = (was.metadata().unwrap(), now.metadata().unwrap());
    assert_eq!((now.mode() & 0o777, now.mtime()), (0o700, was.mtime()));
    remove(&scene.db).unwrap();
    assert!(!unpack(&scene.db, &scene.to("none")).unwrap() && !scene.to("none").exists());
    // Nothing, a file or a link in its place is no workspace.
    let nothing = TreeSize::default();
    assert_eq!(
        (tree_size(&scene.to("none")).unwrap(), pack(&scene.to("none"), &scene.db).unwrap()),
        (nothing, nothing)
    );
    std::os::unix::fs::symlink(&from, scene.to("link")).unwrap();
    assert_eq!(pack(&scene.to("link"), &scene.db).unwrap(), nothing);
    assert!(!unpack(&scene.db, &scene.to("none")).unwrap());
    // An empty one is.
    fs::create_dir_all(scene.to("empty")).unwrap();
    pack(&scene.to("empty"), &scene.db).unwrap();
    assert!(unpack(&scene.db, &scene.to("none")).unwrap() && content(&scene.to("none")).is_empty());
}

#[test]
fn a_folder_of_any_depth_is_walked_as_far_as_it_is_copied() {
    let scene = Scene::new();
    let mut at = open_folder(CWD, scene.from()).unwrap();
    for _ in 0..2000 {
        sys::mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = open_folder(&at, "d").unwrap();
        drop(sys::openat(&at, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap());
    }
    let size = pack(&scene.from(), &scene.db).unwrap();
    assert!(size.skipped == 1 && (DEEPEST as u64 - 2..=DEEPEST as u64).contains(&size.files), "{size:?}");
    assert!(unpack(&scene.db, &scene.to("to")).unwrap());
    // The standard library removes no folder that deep.
    while let Ok(entry) = sys::openat(CWD, scene.from().join("d/d"), OFlags::PATH, Mode::empty()) {
        drop(entry);
        let id = tool::Id::new();
        fs::rename(scene.from().join("d/d"), scene.from().join(format!("{id}"))).unwrap();
        let _ = fs::remove_file(scene.from().join("d/f"));
        fs::remove_dir(scene.from().join("d")).unwrap();
        fs::rename(scene.from().join(format!("{id}")), scene.from().join("d")).unwrap();
    }
}

#[test]
fn what_a_program_closed_is_copied_all_the_same() {
    let scene = Scene::new();
    let from = scene.from();
    for folder in ["people/one/closed", "people/one/names"] {
        fs::create_dir_all(from.join(folder)).unwrap();
        fs::write(from.join(folder).join("f"), folder).unwrap();
    }
    let close = |path: &str, mode: u32| {
        fs::set_permissions(from.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    close("people/one/closed/f", 0);
    close("people/one/closed", 0);
    close("people/one/names", 0o600);
    let size = pack(&from, &scene.db).unwrap();
    assert_eq!((size.files, size.skipped), (2, 0));
    let mode = |path: &str| from.join(path).metadata().unwrap().mode() & 0o777;
    assert_eq!((mode("people/one/closed"), mode("people/one/names")), (0o700, 0o700));
    assert!(unpack(&scene.db, &scene.to("to")).unwrap());
    assert_eq!(content(&scene.to("to")), content(&from));
}

#[test]
fn a_damaged_or_hostile_backup_is_refused() {
    let scene = Scene::new();
    let from = scene.from();
    fs::write(from.join("people/one/large.bin"), vec![7; 3 * PIECE]).unwrap();
    pack(&from, &scene.db).unwrap();
    let number = 3_u64;
    let row =
        |name: &[u8], parent: u64| Entry { parent, kind: FILE, mode: 0o700, modified: (0, 0), size: 0, name }.bytes();
    let hostile: Vec<Vec<u8>> = vec![
        row(b"..", 0),
        row(b"../x", 0),
        row(b"/etc/x", 0),
        row(b"", 0),
        row(b"a\0b", 0),
        row(b"x", 77),
        row(&[b'x'; 256], 0),
        vec![1, 2, 3],
    ];
    for (n, row) in hostile.iter().enumerate() {
        scene.set(TABLE, &99_u64.to_be_bytes(), Some(row));
        let refused = unpack(&scene.db, &scene.to(&format!("hostile{n}"))).unwrap_err();
        assert!(matches!(&refused, Error::Damaged(text) if text.contains("not whole")), "{n}: {refused}");
        scene.set(TABLE, &99_u64.to_be_bytes(), None);
    }
    for missing in 0..3 {
        let piece = key(number, missing);
        let bytes = vec![7; PIECE];
        scene.set(PIECES, &piece, None);
        assert!(!is_whole(&scene.db).unwrap(), "{missing}");
        assert!(unpack(&scene.db, &scene.to(&format!("missing{missing}"))).is_err());
        scene.set(PIECES, &piece, Some(&bytes));
    }
    assert!(is_whole(&scene.db).unwrap() && unpack(&scene.db, &scene.to("whole")).unwrap());
}
