//! What an attacker tried against the workspace: renames above the data folder, and programs while they run.

use super::*;

fn begin(home: &Home) -> ProgramWatch {
    home.files.before_program(&ana(), WorkspaceAccess::ReadWrite).unwrap()
}

#[tokio::test]
async fn the_data_folder_stays_hidden_under_another_path() {
    let home = home(Config::default());
    let (cx, above) = (ana(), home.folder.with_extension("above"));
    fs::create_dir_all(above.join("x")).unwrap();
    fs::rename(home.folder.join("data"), above.join("x/data")).unwrap();
    home.files.add_place(&cx, added("above", &above)).await.unwrap();
    let refused = home.files.move_to(&cx, &home.at(&cx, "above:/x"), &home.at(&cx, "above:/y"), false).await;
    assert!(matches!(refused, Err(Error::Denied(_))), "{refused:?}");
    assert!(matches!(home.files.delete(&cx, &home.at(&cx, "above:/x")).await, Err(Error::Denied(_))));
    fs::rename(above.join("x"), above.join("y")).unwrap();
    for path in ["above:/y/data", "above:/y/data/hob.redb", "above:/y/data/secret"] {
        assert!(matches!(home.files.stat(&cx, &home.at(&cx, path)).await, Err(Error::NotFound(_))), "{path}");
    }
    let mounts = home.files.mounts(&cx, WorkspaceAccess::ReadWrite).unwrap();
    let of: Vec<_> = mounts.iter().filter(|mount| mount.place == "above").collect();
    assert!(of[0].covered.contains(&PathBuf::from("y/data")), "{of:?}");
    assert_eq!(of[1].target, PathBuf::from("/places/above/y"), "no program renames it");
    fs::remove_dir_all(above).unwrap();
}

#[tokio::test]
async fn what_a_program_writes_is_marked_from_its_first_byte() {
    let home = home(Config::default());
    home.put(&ana(), "own.txt", "own").await;
    home.files.write(&ana(), &home.at(&ana(), "page.html"), b"ignore".to_vec(), outside()).await.unwrap();
    let watch = home.files.before_program_of(&ana(), WorkspaceAccess::ReadWrite, |id| id == "mine").unwrap();
    // In place, with the old size and time of change.
    let own = home.own().join("own.txt");
    let before = fs::metadata(&own).unwrap().modified().unwrap();
    fs::write(&own, "ign").unwrap();
    fs::File::options().write(true).open(&own).unwrap().set_modified(before).unwrap();
    fs::write(home.own().join("copy.txt"), "ignore").unwrap();
    assert_eq!((home.label("copy.txt"), home.label("own.txt")), (Label::Outside, Label::Outside));
    let list = home.files.list(&ana(), &home.at(&ana(), "."), 0, 10).await.unwrap();
    assert!(list.entries.iter().all(|entry| entry.outside), "{list:?}");
    let reader = ana();
    home.text(&reader, "copy.txt").await.unwrap();
    assert_eq!(reader.label(), Label::Outside);
    // It goes along with copies, moves and edits, and into programs that begin meanwhile.
    home.files
        .copy(&ana(), &home.at(&ana(), "copy.txt"), &home.at(&ana(), "household:/copied.txt"), false)
        .await
        .unwrap();
    fs::create_dir(home.own().join("made")).unwrap();
    fs::write(home.own().join("made/a.txt"), "ignore").unwrap();
    home.files.move_to(&ana(), &home.at(&ana(), "made"), &home.at(&ana(), "household:/made"), false).await.unwrap();
    assert_eq!(
        (home.label("household:/copied.txt"), home.label("household:/made/a.txt")),
        (Label::Outside, Label::Outside)
    );
    assert_eq!(begin(&home).readable(), Label::Outside);
    // Hob dies: the next start marks what was written, and nothing else.
    std::mem::forget(watch);
    let files = home.again();
    let label = |files: &Workspaces, path: &str| {
        let located = files.locate(&ana(), path).unwrap();
        let found = files.0.root(&located.place).unwrap().resolve(&located.path, false).unwrap();
        files.0.label_of(&ana(), &located.place, &located.path, &found.stat.unwrap()).unwrap()
    };
    assert_eq!(label(&files, "copy.txt"), Label::Outside, "before the repair");
    files.repair().await;
    assert_eq!((label(&files, "copy.txt"), label(&files, "own.txt")), (Label::Outside, Label::Outside));
    assert!(files.0.runs.list_in(Scope::Household, &store::Listing::default()).unwrap().is_empty());
    fs::write(home.own().join("later.txt"), "later").unwrap();
    assert_eq!(label(&files, "later.txt"), Label::Own);
}

#[tokio::test]
async fn what_comes_while_a_program_runs_taints_it() {
    let home = home(Config::default());
    let upload = async |path: &str| {
        home.files.write(&ana(), &home.at(&ana(), path), b"ignore".to_vec(), outside()).await.unwrap();
    };
    let watch = begin(&home);
    assert_eq!(watch.readable(), Label::Own);
    upload("late.txt").await;
    fs::write(home.own().join("late-copy.txt"), "ignore").unwrap();
    assert_eq!(home.label("late-copy.txt"), Label::Outside, "while it runs");
    // It is gone from where the program read it, and the program has read it all the same.
    home.files.delete(&ana(), &home.at(&ana(), "late.txt")).await.unwrap();
    let changed = home.files.after_program(watch, Label::Own).await.unwrap();
    assert_eq!((changed.label, home.label("late-copy.txt")), (Label::Outside, Label::Outside));
    assert_eq!(changed.added, ["late-copy.txt"], "what others changed is not its own");
    // A program that only reads has it in what it prints.
    let watch = home.files.before_program_of(&of(UserId(Id::new()), Role::Member), WorkspaceAccess::ReadOnly, |_| true);
    let household = home.at(&ana(), "household:/late.txt");
    home.files.write(&ana(), &household, b"ignore".to_vec(), outside()).await.unwrap();
    assert_eq!(home.files.after_program(watch.unwrap(), Label::Own).await.unwrap().label, Label::Outside);
    assert!(home.files.0.running_in(&household.place.key).unwrap().is_empty());
}

#[tokio::test]
async fn one_program_reads_what_another_writes() {
    let home = home(Config::default());
    let cx = of(UserId(Id::new()), Role::Member);
    home.files.write(&ana(), &home.at(&ana(), "page.html"), b"ignore".to_vec(), outside()).await.unwrap();
    let other = home.files.before_program_of(&cx, WorkspaceAccess::ReadWrite, |id| id == "household").unwrap();
    assert_eq!(other.readable(), Label::Own);
    let watch = begin(&home);
    let household = home.folder.join("data/workspace/household");
    fs::write(household.join("passed-on.txt"), "ignore").unwrap();
    fs::write(household.join("from-it.txt"), "ignore").unwrap();
    // The second ends first: its label is that of the first all the same.
    assert_eq!(home.files.after_program(other, Label::Own).await.unwrap().label, Label::Outside);
    home.files.after_program(watch, Label::Own).await.unwrap();
    assert_eq!(home.label("household:/from-it.txt"), Label::Outside);
}

#[tokio::test]
async fn changes_of_others_are_not_those_of_a_program() {
    let home = home(Config::default());
    home.put(&ana(), "moved.txt", "moved").await;
    home.put(&ana(), "gone.txt", "gone").await;
    home.put(&ana(), "both.txt", "before").await;
    let watch = begin(&home);
    home.put(&ana(), "person/new.txt", "by a person").await;
    home.files.delete(&ana(), &home.at(&ana(), "gone.txt")).await.unwrap();
    home.files.move_to(&ana(), &home.at(&ana(), "moved.txt"), &home.at(&ana(), "sub/x.txt"), false).await.unwrap();
    home.put(&ana(), "both.txt", "by a person").await;
    std::thread::sleep(std::time::Duration::from_millis(60));
    fs::write(home.own().join("both.txt"), "by the program").unwrap();
    fs::write(home.own().join("its.txt"), "by the program").unwrap();
    let (changed, parts) = home.change(&ana(), home.files.after_program(watch, Label::Own)).await;
    let changed = changed.unwrap();
    assert_eq!((&changed.added[..], &changed.changed[..]), (&["its.txt".to_owned()][..], &["both.txt".to_owned()][..]));
    assert!(changed.deleted.is_empty() && changed.lost == ["both.txt"], "{changed:?}");
    home.undo(&ana(), &parts).await;
    assert_eq!(home.text(&ana(), "person/new.txt").await.unwrap(), "by a person");
    assert!(home.files.stat(&ana(), &home.at(&ana(), "its.txt")).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_brought_back_is_named() {
    let home = home(Config::default());
    fs::create_dir_all(home.own().join("repo/.git/objects")).unwrap();
    fs::write(home.own().join("repo/.git/HEAD"), "ref").unwrap();
    home.put(&ana(), "w/big.bin", &"x".repeat(300 << 10)).await;
    home.put(&ana(), "w/small.txt", "small").await;
    let watch = begin(&home);
    fs::write(home.own().join("w/big.bin"), "in its place").unwrap();
    fs::remove_file(home.own().join("w/small.txt")).unwrap();
    fs::rename(home.own().join("repo/.git"), home.folder.join("taken")).unwrap();
    let (changed, parts) = home.change(&ana(), home.files.after_program(watch, Label::Own)).await;
    let changed = changed.unwrap();
    assert_eq!(changed.lost, ["repo/.git", "w/big.bin"], "{changed:?}");
    let named: Vec<String> = parts.iter().filter_map(|part| home.files.why_kept(part)).collect();
    assert!(named.len() == 2 && named[0].contains("repo/.git") && named[1].contains("w/big.bin"), "{named:?}");
    home.undo(&ana(), &parts).await;
    assert_eq!(home.text(&ana(), "w/small.txt").await.unwrap(), "small");
}

#[tokio::test]
async fn names_that_are_no_text_hide_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let outside = std::env::temp_dir().canonicalize().unwrap().join(format!("hob-bytes-{}", Id::new()));
    let odd = outside.join(std::ffi::OsStr::from_bytes(b"\xffz"));
    fs::create_dir_all(odd.join("Private")).unwrap();
    fs::write(odd.join("Private/s.txt"), "secret").unwrap();
    fs::write(odd.join("a.txt"), "a").unwrap();
    let place = AddedFolder { deny: vec!["private".into()], ..added("odd", &outside) };
    let home = home(Config { places: vec![place], ..Config::default() });
    let cx = ana();
    let mounts = home.files.mounts(&cx, WorkspaceAccess::ReadWrite).unwrap();
    let mount = mounts.iter().find(|mount| mount.place == "odd").unwrap();
    assert_eq!(mount.covered, [PathBuf::from(std::ffi::OsStr::from_bytes(b"\xffz/Private"))]);
    let list = home.files.list(&cx, &home.at(&cx, "odd:/"), 0, 10).await.unwrap();
    assert_eq!(list.entries[0].path, "\\xffz");
    assert_eq!(home.text(&cx, "odd:/\\xffz/a.txt").await.unwrap(), "a");
    assert!(home.text(&cx, "odd:/\\xffz/Private/s.txt").await.is_err());
    let walked = home.files.walk(&cx, &home.at(&cx, "odd:/"), WalkOptions::default()).unwrap();
    assert_eq!(walked.map(|walked| walked.path.text()).collect::<Vec<_>>(), ["\\xffz", "\\xffz/a.txt"]);
    let watch = home.files.before_program(&cx, WorkspaceAccess::ReadWrite).unwrap();
    fs::write(odd.join("a.txt"), "changed").unwrap();
    let (changed, parts) = home.change(&cx, home.files.after_program(watch, Label::Outside)).await;
    assert_eq!(changed.unwrap().changed, ["odd:/\\xffz/a.txt"]);
    assert_eq!(home.label("odd:/\\xffz/a.txt"), Label::Outside);
    assert_eq!(home.undo(&cx, &parts).await, [true]);
    assert_eq!(fs::read_to_string(odd.join("a.txt")).unwrap(), "a");
    let gone = home.files.delete(&cx, &home.at(&cx, "odd:/\\xffz/a.txt")).await.unwrap();
    home.files.restore(&cx, gone.id).await.unwrap();
    home.files.move_to(&cx, &home.at(&cx, "odd:/\\xffz"), &home.at(&cx, "odd:/plain"), false).await.unwrap();
    assert_eq!(home.text(&cx, "odd:/plain/a.txt").await.unwrap(), "a");
    fs::remove_dir_all(outside).unwrap();
}

#[tokio::test]
async fn many_small_files_are_watched_in_one_pass() {
    let home = home(Config::default());
    home.put(&ana(), "first.txt", "1").await;
    for n in 0..20_000 {
        if n % 1000 == 0 {
            fs::create_dir(home.own().join(format!("{}", n / 1000))).unwrap();
        }
        fs::write(home.own().join(format!("{}/{n}", n / 1000)), format!("{n}")).unwrap();
    }
    let watch = begin(&home);
    let (bytes, files, steps) = home.files.0.watched.counts();
    assert!(bytes > 50_000 && files == 20_000 && steps <= 2 * files, "{bytes} {files} {steps}");
    // A second one shares them.
    drop(begin(&home));
    assert_eq!(home.files.0.watched.counts().1, files);
    home.files.after_program(watch, Label::Own).await.unwrap();
    assert_eq!(home.files.0.watched.counts(), (0, 0, steps), "nothing stays");
    // A call that is cancelled looks no further.
    let cancelled = ana();
    cancelled.cancel().cancel();
    assert!(home.files.before_program(&cancelled, WorkspaceAccess::ReadWrite).is_err());
    assert!(home.files.mounts(&cancelled, WorkspaceAccess::ReadWrite).is_err());
}

#[tokio::test]
async fn a_folder_too_deep_for_denied_names_is_shut_and_nothing_else() {
    let home = home(Config::default());
    home.files.create_folder(&ana(), &home.at(&ana(), "deep")).await.unwrap();
    home.put(&ana(), "near.txt", "near").await;
    make_deep(&home.own().join("deep"), 230);
    let mounts = home.files.mounts(&ana(), WorkspaceAccess::ReadWrite).unwrap();
    assert_eq!(mounts[0].covered.len(), 1);
    assert_eq!(mounts[0].covered[0].components().count(), 200);
    // Too many names: it is said where they are.
    fs::create_dir_all(home.own().join("many/names")).unwrap();
    for n in 0..=crate::watch::WATCHED {
        fs::File::create(home.own().join(format!("many/names/{n}"))).unwrap();
    }
    let why = home.files.mounts(&ana(), WorkspaceAccess::ReadWrite).unwrap_err();
    assert!(why.message().contains("`mine:/many`: delete that"), "{why}");
}

#[tokio::test]
async fn what_is_staged_at_once_fits_together() {
    let home = home(Config { quota_mb: 3, ..Config::default() });
    let cx = ana();
    let mut staged = vec![];
    for n in 0..6 {
        let at = home.at(&cx, &format!("{n}"));
        let half = home.files.stage(&cx, &at).await.unwrap().receive(vec![b'x'; 1536 << 10].into()).await;
        staged.extend(half.ok().map(|half| (at, half)));
    }
    assert_eq!(staged.len(), 2);
    assert!(staged[0].1.check_room(1).is_err());
    for (at, half) in staged {
        home.files.write_staged(&cx, &at, half, WriteOptions::default()).await.unwrap();
    }
    home.files.0.usage.forget(&home.at(&cx, ".").place.key);
    assert_eq!(home.files.0.used(&home.at(&cx, ".").place).unwrap(), 3 << 20);
    // What was refused takes no room.
    home.files.delete(&cx, &home.at(&cx, "0")).await.unwrap();
    home.files.empty_trash(&cx, None).await.unwrap();
    home.files.write(&cx, &home.at(&cx, "new"), vec![b'x'; 1536 << 10], WriteOptions::default()).await.unwrap();
}

/// The parts of what a program does are undone together: nothing large is lost by moving, replacing or deleting it.
#[tokio::test]
async fn what_programs_move_replace_and_delete_comes_back() {
    let home = home(Config::default());
    let (cx, own) = (ana(), home.own());
    let large = |fill: &str| fill.repeat(400 << 10);
    for (path, text) in [
        ("photo.jpg", large("p")),
        ("replaced.bin", large("r")),
        ("deleted.bin", large("d")),
        ("written.bin", large("w")),
        ("new.txt", "new".to_owned()),
        ("old.txt", "old".to_owned()),
        ("pics/a.jpg", large("a")),
        ("pics/sub/b.txt", "b".to_owned()),
        ("mixed/c.txt", "c".to_owned()),
        ("mixed/d.txt", "d".to_owned()),
    ] {
        home.put(&cx, path, &text).await;
    }
    let before: Vec<(&str, String)> =
        ["photo.jpg", "replaced.bin", "deleted.bin", "pics/a.jpg", "pics/sub/b.txt", "new.txt", "old.txt"]
            .into_iter()
            .chain(["mixed/c.txt", "mixed/d.txt"])
            .map(|path| (path, fs::read_to_string(own.join(path)).unwrap()))
            .collect();
    fs::create_dir_all(own.join("pics/.git/refs")).unwrap();
    let watch = begin(&home);
    fs::create_dir(own.join("album")).unwrap();
    fs::rename(own.join("photo.jpg"), own.join("album/photo.jpg")).unwrap();
    fs::rename(own.join("pics"), own.join("album/pics")).unwrap();
    fs::write(own.join("tmp"), "z").unwrap();
    fs::rename(own.join("tmp"), own.join("replaced.bin")).unwrap();
    fs::remove_file(own.join("deleted.bin")).unwrap();
    fs::rename(own.join("new.txt"), own.join("old.txt")).unwrap();
    fs::rename(own.join("mixed"), own.join("other")).unwrap();
    fs::write(own.join("other/c.txt"), "C").unwrap();
    fs::write(own.join("other/more.txt"), "more").unwrap();
    fs::write(own.join("written.bin"), "short").unwrap();
    let (changed, parts) = home.change(&cx, home.files.after_program(watch, Label::Own)).await;
    let changed = changed.unwrap();
    assert_eq!((changed.not_undoable, &changed.lost[..]), (1, &["written.bin".to_owned()][..]), "{changed:?}");
    home.undo(&cx, &parts).await;
    for (path, text) in before {
        assert!(fs::read_to_string(own.join(path)).is_ok_and(|now| now == text), "{path}");
    }
    assert!(own.join("pics/.git/refs").is_dir(), "machinery goes along");
    for path in ["album", "other"] {
        assert!(!own.join(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn large_files_are_kept_within_half_of_what_the_quota_leaves() {
    for (quota_mb, kept) in [(1, false), (2, true)] {
        let home = home(Config { quota_mb, ..Config::default() });
        home.put(&ana(), "large.bin", &"x".repeat(700 << 10)).await;
        let watch = begin(&home);
        fs::remove_file(home.own().join("large.bin")).unwrap();
        let (changed, parts) = home.change(&ana(), home.files.after_program(watch, Label::Own)).await;
        let changed = changed.unwrap();
        assert_eq!((changed.lost.is_empty(), changed.full), (kept, None), "{quota_mb} MB");
        assert_eq!(home.undo(&ana(), &parts).await, [kept]);
    }
}

#[tokio::test]
async fn a_folder_too_deep_for_paths_is_not_copied_in_part() {
    let home = home(Config::default());
    let cx = ana();
    home.files.create_folder(&cx, &home.at(&cx, "deep")).await.unwrap();
    make_deep(&home.own().join("deep"), 300);
    let why = home.files.copy(&cx, &home.at(&cx, "deep"), &home.at(&cx, "copy"), false).await.unwrap_err();
    assert!(matches!(&why, Error::BadArgs(text) if text.contains("`deep` has more than 256 folders")), "{why}");
    assert!(!home.own().join("copy").exists());
}
