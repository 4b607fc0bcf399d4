//! The workspace over real folders and the real store.

mod attacks;

use super::*;
use records::{HeldKind, HeldRecord, Spot, StepRecord};
use std::{fs, os::unix::fs::symlink};
use store::{ChangeSource, Part, Stamp};
use tool::{Channel, Id, Label, Ports, Principal, Role, Scope, SystemClock, UserId, Via};

struct Home {
    folder: PathBuf,
    store: Store,
    files: Workspaces,
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn of(user: UserId, role: Role) -> Cx {
    let clock = Arc::new(SystemClock::new(Some("UTC")).unwrap());
    let principal = Principal { user, role, ..Principal::owner() };
    Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Page))
}

fn ana() -> Cx {
    of(UserId::OWNER, Role::Admin)
}

fn home(config: Config) -> Home {
    let folder = std::env::temp_dir().canonicalize().unwrap().join(format!("hob-workspace-{}", Id::new()));
    fs::create_dir_all(folder.join("data/secret")).unwrap();
    fs::write(folder.join("data/hob.redb"), "the data").unwrap();
    let store = Store::in_memory().unwrap();
    let files = Workspaces::open(&store, &folder.join("data"), config).unwrap();
    Home { folder, store, files }
}

fn added(name: &str, path: &Path) -> AddedFolder {
    AddedFolder { name: name.into(), path: path.to_str().unwrap().into(), trusted: true, ..AddedFolder::default() }
}

impl Home {
    fn again(&self) -> Workspaces {
        Workspaces::open(&self.store, &self.folder.join("data"), self.files.0.config.clone()).unwrap()
    }

    fn own(&self) -> PathBuf {
        self.folder.join("data/workspace/people").join(UserId::OWNER.to_string())
    }

    fn at(&self, cx: &Cx, path: &str) -> Located {
        self.files.locate(cx, path).unwrap()
    }

    async fn put(&self, cx: &Cx, path: &str, text: &str) -> Written {
        let options = WriteOptions { parents: true, ..WriteOptions::default() };
        self.files.write(cx, &self.at(cx, path), text.into(), options).await.unwrap()
    }

    async fn text(&self, cx: &Cx, path: &str) -> Result<String> {
        let (_, bytes) = self.files.read(cx, &self.at(cx, path), 1 << 20).await?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Runs a change, and returns the parts that the journal has of it.
    async fn change<T>(&self, cx: &Cx, work: impl Future<Output = T>) -> (T, Vec<Part>) {
        let id = Id::new();
        let source = ChangeSource {
            id,
            user: cx.user(),
            tool: "test".into(),
            conversation: None,
            run: None,
            unattended: false,
            undoes: None,
        };
        let done = store::with_change(Some(source), work).await;
        let parts = self.store.change(cx.user(), id).unwrap().map(|change| change.parts).unwrap_or_default();
        (done, parts)
    }

    async fn undo(&self, cx: &Cx, parts: &[Part]) -> Vec<bool> {
        let mut done = vec![];
        for part in parts.iter().rev() {
            done.push(self.files.undo(cx, part).await.unwrap());
        }
        done
    }

    /// The names of what is held for the owner.
    fn held(&self) -> usize {
        let folder = self.folder.join("data/workspace/held").join(format!("user-{}", UserId::OWNER));
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    fn label(&self, path: &str) -> Label {
        let cx = ana();
        let located = self.at(&cx, path);
        let found = self.files.0.root(&located.place).unwrap().resolve(&located.path, false).unwrap();
        self.files.0.label_of(&cx, &located.place, &located.path, &found.stat.unwrap()).unwrap()
    }
}

fn outside() -> WriteOptions {
    WriteOptions { label: Label::Outside, parents: true, ..WriteOptions::default() }
}

#[tokio::test]
async fn each_person_has_files_of_their_own() {
    let home = home(Config::default());
    let (ana, ben) = (ana(), of(UserId(Id::new()), Role::Member));
    home.put(&ana, "notes/a.md", "of ana").await;
    home.put(&ana, "household:/menu.md", "for all").await;
    assert_eq!(home.text(&ana, "/workspace/notes/a.md").await.unwrap(), "of ana");
    assert_eq!(home.text(&ben, "household:/menu.md").await.unwrap(), "for all");
    assert!(matches!(home.text(&ben, "notes/a.md").await, Err(Error::NotFound(_))));
    assert!(fs::read_to_string(home.own().join("notes/a.md")).is_ok());
    let ids: Vec<String> = home.files.places(&ben).unwrap().into_iter().map(|place| place.id).collect();
    assert_eq!(ids, ["mine", "household"]);
    let viewer = of(UserId(Id::new()), Role::Viewer);
    let refused = home.files.write(&viewer, &home.at(&viewer, "a"), vec![], WriteOptions::default()).await;
    assert!(matches!(refused, Err(Error::Denied(_))), "{refused:?}");
    let entry = home.files.stat(&ana, &home.at(&ana, "notes/a.md")).await.unwrap();
    assert_eq!((entry.kind, entry.size, entry.media_type.as_deref()), (EntryKind::File, 6, Some("text/markdown")));
}

#[tokio::test]
async fn nothing_outside_a_place_is_reached() {
    let home = home(Config::default());
    let cx = ana();
    home.put(&cx, "in/a.txt", "a").await;
    let own = home.own();
    symlink("/etc", own.join("etc")).unwrap();
    symlink("../../../hob.redb", own.join("db")).unwrap();
    symlink("in/a.txt", own.join("fine")).unwrap();
    symlink("in/../in/a.txt", own.join("also-fine")).unwrap();
    symlink("loop", own.join("loop")).unwrap();
    fs::hard_link(home.folder.join("data/hob.redb"), own.join("hard")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(own.join("pipe")).status().unwrap();
    assert!(made.success());
    let short = std::env::temp_dir().join(format!("hob-{}", std::process::id()));
    let _socket = std::os::unix::net::UnixListener::bind(&short).unwrap();
    fs::rename(short, own.join("sock")).unwrap();
    for path in ["etc/passwd", "etc", "db", "loop", "hard", "pipe", "sock", "in", "in/a.txt/b", "no", "no/no"] {
        assert!(home.text(&cx, path).await.is_err(), "{path}");
    }
    for path in ["../x", "/etc/passwd", "~/x", "a\0b", "other:/../x"] {
        assert!(home.files.locate(&cx, path).is_err() || home.text(&cx, path).await.is_err(), "{path}");
    }
    assert_eq!(home.text(&cx, "fine").await.unwrap(), "a");
    assert_eq!(home.text(&cx, "also-fine").await.unwrap(), "a");
    // A write through a link that leads out is refused; one through a link within the place changes its target.
    let write =
        |path: &'static str| home.files.write(&cx, home.at(&cx, path).leak(), b"b".to_vec(), WriteOptions::default());
    assert!(write("etc/passwd").await.is_err() && write("db").await.is_err() && write("pipe").await.is_err());
    write("fine").await.unwrap();
    assert_eq!(fs::read_to_string(own.join("in/a.txt")).unwrap(), "b");
    assert_eq!(fs::read_to_string(home.folder.join("data/hob.redb")).unwrap(), "the data");
}

impl Located {
    fn leak(self) -> &'static Located {
        Box::leak(Box::new(self))
    }
}

#[tokio::test]
async fn the_data_folder_is_in_no_place() {
    let home = home(Config::default());
    let above = home.folder.clone();
    fs::write(above.join("beside.txt"), "beside").unwrap();
    let cx = ana();
    home.files.add_place(&cx, added("above", &above)).await.unwrap();
    assert_eq!(home.text(&cx, "above:/beside.txt").await.unwrap(), "beside");
    for path in ["above:/data", "above:/data/hob.redb", "above:/data/workspace", "above:/data/secret"] {
        assert!(matches!(home.files.stat(&cx, &home.at(&cx, path)).await, Err(Error::NotFound(_))), "{path}");
    }
    let list = home.files.list(&cx, &home.at(&cx, "above:/"), 0, 100).await.unwrap();
    assert_eq!(list.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["beside.txt"]);
    let walked = home.files.walk(&cx, &home.at(&cx, "above:/"), WalkOptions::default()).unwrap();
    assert_eq!(walked.map(|walked| walked.path.text()).collect::<Vec<_>>(), ["beside.txt"]);
    assert!(home.files.add_place(&cx, added("data", &home.folder.join("data/secret"))).await.is_err());
    let mounts = home.files.mounts(&cx, WorkspaceAccess::ReadWrite).unwrap();
    let mount = mounts.iter().find(|mount| mount.place == "above").unwrap();
    assert!(mount.covered.contains(&PathBuf::from("data")), "{:?}", mount.covered);
    let copied = home.files.copy(&cx, &home.at(&cx, "above:/data"), &home.at(&cx, "stolen"), false).await;
    assert!(copied.is_err());
}

#[tokio::test]
async fn a_place_that_became_a_link_or_went_away_says_so() {
    let home = home(Config::default());
    let (cx, stick) = (ana(), home.folder.join("stick"));
    fs::create_dir(&stick).unwrap();
    fs::write(stick.join("a.txt"), "a").unwrap();
    home.files.add_place(&cx, AddedFolder { trusted: false, ..added("usb", &stick) }).await.unwrap();
    assert_eq!(home.text(&cx, "usb:/a.txt").await.unwrap(), "a");
    assert_eq!(cx.label(), Label::Outside, "what is on a stick is from outside");
    let path = stick.join("a.txt");
    assert_eq!(home.files.locate(&cx, path.to_str().unwrap()).unwrap().display(), "usb:/a.txt");
    fs::remove_dir_all(&stick).unwrap();
    symlink("/etc", &stick).unwrap();
    assert!(matches!(home.text(&cx, "usb:/passwd").await, Err(Error::Unavailable(_))));
    let places = home.files.places(&cx).unwrap();
    let usb = places.iter().find(|place| place.id == "usb").unwrap();
    assert!(!usb.available && usb.reason.is_some() && usb.removable, "{usb:?}");
    home.files.remove_place(&cx, "usb").await.unwrap();
    assert!(home.files.remove_place(&cx, "household").await.is_err());
    let member = of(UserId(Id::new()), Role::Member);
    assert!(matches!(home.files.add_place(&member, added("x1", Path::new("/srv"))).await, Err(Error::Denied(_))));
}

#[tokio::test]
async fn read_only_places_and_denied_names_hold() {
    let outside = std::env::temp_dir().canonicalize().unwrap().join(format!("hob-ro-{}", Id::new()));
    fs::create_dir_all(outside.join("Private")).unwrap();
    fs::write(outside.join("Private/key"), "secret").unwrap();
    fs::write(outside.join("open.txt"), "open").unwrap();
    let place = AddedFolder { read_only: true, deny: vec!["private".into()], ..added("ro", &outside) };
    let home = home(Config { places: vec![place], ..Config::default() });
    let cx = ana();
    assert_eq!(home.text(&cx, "ro:/open.txt").await.unwrap(), "open");
    for path in ["ro:/Private/key", "ro:/Private", "ro:/PRIVATE/key", "ro:/private./key"] {
        assert!(matches!(home.text(&cx, path).await, Err(Error::NotFound(_))), "{path}");
    }
    let list = home.files.list(&cx, &home.at(&cx, "ro:/"), 0, 10).await.unwrap();
    assert_eq!(list.total, 1);
    let at = home.at(&cx, "ro:/open.txt");
    assert!(matches!(home.files.delete(&cx, &at).await, Err(Error::Denied(_))));
    assert!(matches!(home.files.move_to(&cx, &at, &home.at(&cx, "x"), false).await, Err(Error::Denied(_))));
    home.files.copy(&cx, &at, &home.at(&cx, "x"), false).await.unwrap();
    let mounts = home.files.mounts(&cx, WorkspaceAccess::ReadWrite).unwrap();
    let mount = mounts.iter().find(|mount| mount.place == "ro").unwrap();
    assert!(mount.read_only && mount.covered == [PathBuf::from("Private")], "{mount:?}");
    home.put(&cx, ".goclaw2/x", "x").await;
    let denied = home.files.write(&cx, &home.at(&cx, ".GoClaw/x"), vec![], outside_options()).await;
    assert!(denied.is_err());
    let _ = fs::remove_dir_all(outside);
}

fn outside_options() -> WriteOptions {
    outside()
}

#[tokio::test]
async fn a_write_expects_a_version() {
    let home = home(Config::default());
    let cx = ana();
    let first = home.put(&cx, "a.txt", "one").await;
    assert!(first.created);
    let write = async |text: &str, expect: Expect| {
        let options = WriteOptions { expect, ..WriteOptions::default() };
        home.files.write(&cx, &home.at(&cx, "a.txt"), text.into(), options).await
    };
    assert!(write("two", Expect::Absent).await.is_err());
    let second = write("two", Expect::Version(first.entry.version.clone())).await.unwrap();
    assert!(!second.created && second.entry.version != first.entry.version);
    let stale = write("three", Expect::Version(first.entry.version)).await.unwrap_err();
    assert!(stale.message().contains("changed meanwhile"), "{stale}");
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "two");
    fs::set_permissions(home.own().join("a.txt"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let third = write("three", Expect::Any).await.unwrap();
    assert_eq!(third.entry.mode, "755", "permissions stay");
}

#[tokio::test]
async fn every_change_is_undone_and_done_again() {
    let home = home(Config::default());
    let cx = ana();
    home.put(&cx, "a.txt", "one").await;
    let (_, edited) = home.change(&cx, home.put(&cx, "a.txt", "two")).await;
    let (done, moved) =
        home.change(&cx, home.files.move_to(&cx, &home.at(&cx, "a.txt"), &home.at(&cx, "sub/b.txt"), false)).await;
    done.unwrap();
    let (_, copied) = home.change(&cx, home.files.copy(&cx, &home.at(&cx, "sub"), &home.at(&cx, "copy"), false)).await;
    let (_, deleted) = home.change(&cx, home.files.delete(&cx, &home.at(&cx, "sub"))).await;
    assert!(home.text(&cx, "sub/b.txt").await.is_err());
    assert_eq!(home.undo(&cx, &deleted).await, [true]);
    assert_eq!(home.text(&cx, "sub/b.txt").await.unwrap(), "two");
    assert_eq!(home.undo(&cx, &copied).await, [true]);
    assert!(home.text(&cx, "copy/b.txt").await.is_err());
    // The folder was made for the move, and goes with it.
    assert_eq!(home.undo(&cx, &moved).await, [true, true], "{moved:?}");
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "two");
    assert!(home.files.stat(&cx, &home.at(&cx, "sub")).await.is_err());
    let (undone, again) = home.change(&cx, home.undo(&cx, &edited)).await;
    assert_eq!(undone, [true]);
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "one");
    assert_eq!(home.undo(&cx, &again).await, [true]);
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "two");
    // What was changed since is left alone.
    let (_, edited) = home.change(&cx, home.put(&cx, "a.txt", "three")).await;
    home.put(&cx, "a.txt", "four").await;
    assert_eq!(home.undo(&cx, &edited).await, [false]);
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "four");
}

#[tokio::test]
async fn the_trash_gives_back_and_is_emptied() {
    let home = home(Config::default());
    let (cx, ben) = (ana(), of(UserId(Id::new()), Role::Member));
    home.put(&cx, "docs/deep/a.txt", "a").await;
    let gone = home.files.delete(&cx, &home.at(&cx, "docs")).await.unwrap();
    assert_eq!((gone.kind, gone.size, gone.name.as_str()), (EntryKind::Folder, 1, "docs"));
    assert!(home.files.trash(&ben).unwrap().is_empty());
    assert!(home.files.restore(&ben, gone.id).await.is_err());
    home.put(&cx, "docs/other.txt", "new").await;
    let (_, entry) = home.files.restore(&cx, gone.id).await.unwrap();
    assert_eq!(entry.path, "docs (2)");
    assert_eq!(home.text(&cx, "docs (2)/deep/a.txt").await.unwrap(), "a");
    assert!(home.files.restore(&cx, gone.id).await.is_err());
    home.files.delete(&cx, &home.at(&cx, "docs")).await.unwrap();
    assert_eq!(home.files.empty_trash(&cx, None).await.unwrap(), 1);
    assert!(home.files.trash(&cx).unwrap().is_empty());
    assert_eq!(home.held(), 0);
    assert!(home.files.delete(&cx, &home.at(&cx, ".")).await.is_err());
}

#[tokio::test]
async fn marks_go_with_their_files() {
    let home = home(Config::default());
    let cx = ana;
    let at = |path: &str| home.at(&cx(), path);
    home.files.write(&cx(), &at("in/page.html"), b"ignore".to_vec(), outside()).await.unwrap();
    home.put(&cx(), "in/own.txt", "own").await;
    assert_eq!((home.label("in/page.html"), home.label("in/own.txt")), (Label::Outside, Label::Own));
    let reader = cx();
    home.text(&reader, "in/page.html").await.unwrap();
    assert_eq!(reader.label(), Label::Outside);
    // Copied, moved, and moved with its folder.
    home.files.copy(&cx(), &at("in/page.html"), &at("copy.html"), false).await.unwrap();
    assert_eq!(home.label("copy.html"), Label::Outside);
    home.files.copy(&cx(), &at("in"), &at("tree"), false).await.unwrap();
    assert_eq!((home.label("tree/page.html"), home.label("tree/own.txt")), (Label::Outside, Label::Own));
    home.files.move_to(&cx(), &at("in"), &at("household:/moved"), false).await.unwrap();
    assert_eq!(
        (home.label("household:/moved/page.html"), home.label("household:/moved/own.txt")),
        (Label::Outside, Label::Own)
    );
    // The old path is free of it.
    home.put(&cx(), "in/page.html", "mine").await;
    assert_eq!(home.label("in/page.html"), Label::Own);
    // Edited: some of it stays. Written anew: nothing does, and the earlier content keeps its mark.
    let edit = WriteOptions { keeps_content: true, ..WriteOptions::default() };
    home.files.write(&cx(), &at("copy.html"), b"edited".to_vec(), edit).await.unwrap();
    assert_eq!(home.label("copy.html"), Label::Outside);
    let (_, anew) = home.change(&cx(), home.put(&cx(), "copy.html", "mine")).await;
    assert_eq!(home.label("copy.html"), Label::Own);
    assert_eq!(home.undo(&cx(), &anew).await, [true]);
    assert_eq!(home.label("copy.html"), Label::Outside);
    // Through the trash.
    let gone = home.files.delete(&cx(), &at("tree")).await.unwrap();
    home.put(&cx(), "tree/page.html", "mine").await;
    assert_eq!(home.label("tree/page.html"), Label::Own);
    home.files.restore(&cx(), gone.id).await.unwrap();
    assert_eq!(home.label("tree (2)/page.html"), Label::Outside);
    // A person vouches for it, until it changes by hand.
    home.files.vouch(&cx(), &at("copy.html")).await.unwrap();
    assert_eq!(home.label("copy.html"), Label::Own);
    // A tainted run marks all it writes.
    let tainted = cx();
    tainted.taint(Label::Outside);
    home.put(&tainted, "summary.md", "of a page").await;
    assert_eq!(home.label("summary.md"), Label::Outside);
}

#[tokio::test]
async fn words_of_members_are_theirs() {
    let home = home(Config::default());
    let ben = UserId(Id::new());
    home.put(&of(ben, Role::Member), "household:/ben.md", "by ben").await;
    let (reader, author) = (ana(), of(ben, Role::Member));
    home.text(&reader, "household:/ben.md").await.unwrap();
    assert_eq!(reader.label(), Label::Member(ben));
    home.text(&author, "household:/ben.md").await.unwrap();
    assert_eq!(author.label(), Label::Own);
}

#[tokio::test]
async fn quotas_hold_with_the_trash() {
    let home = home(Config { quota_mb: 1, ..Config::default() });
    let cx = ana();
    let write = async |path: &str, bytes: usize| {
        home.files.write(&cx, &home.at(&cx, path), vec![b'x'; bytes], WriteOptions::default()).await
    };
    write("a", 600 << 10).await.unwrap();
    assert!(matches!(write("b", 600 << 10).await, Err(Error::Unavailable(_))));
    assert_eq!(home.held(), 0, "what was refused is gone");
    home.files.delete(&cx, &home.at(&cx, "a")).await.unwrap();
    assert!(write("b", 600 << 10).await.is_err(), "the trash counts");
    home.files.empty_trash(&cx, Some("mine")).await.unwrap();
    write("b", 600 << 10).await.unwrap();
    let copied = home.files.copy(&cx, &home.at(&cx, "b"), &home.at(&cx, "c"), false).await;
    assert!(matches!(copied, Err(Error::Unavailable(_))), "{copied:?}");
    let places = home.files.places_counted(&cx).await.unwrap();
    assert_eq!((places[0].used_bytes, places[0].quota_bytes), (Some(600 << 10), Some(1 << 20)));
}

/// Makes a folder of many levels, which no path of the system can name at once.
fn make_deep(at: &Path, levels: usize) {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let mut folder = rustix::fs::open(at, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let file = openat(&folder, "leaf", OFlags::WRONLY | OFlags::CREATE, Mode::RWXU).unwrap();
    rustix::io::write(file, b"leaf").unwrap();
}

#[tokio::test]
async fn a_folder_of_thousands_of_levels_is_handled() {
    let home = home(Config::default());
    let cx = ana();
    home.files.create_folder(&cx, &home.at(&cx, "deep")).await.unwrap();
    make_deep(&home.own().join("deep"), 5_000);
    home.files.places_counted(&cx).await.unwrap();
    let walk = home.files.walk(&cx, &home.at(&cx, "."), WalkOptions::default()).unwrap();
    assert!(walk.count() < 200);
    let watch = home.files.before_program(&cx, WorkspaceAccess::ReadWrite).unwrap();
    home.files.after_program(watch, Label::Outside).await.unwrap();
    home.files.move_to(&cx, &home.at(&cx, "deep"), &home.at(&cx, "moved"), false).await.unwrap();
    let gone = home.files.delete(&cx, &home.at(&cx, "moved")).await.unwrap();
    home.files.restore(&cx, gone.id).await.unwrap();
    home.files.delete(&cx, &home.at(&cx, "moved")).await.unwrap();
    assert_eq!(home.files.empty_trash(&cx, None).await.unwrap(), 1);
    assert_eq!(home.held(), 0);
}

#[tokio::test]
async fn what_a_program_changed_is_marked_and_undone() {
    let home = home(Config::default());
    let cx = ana();
    for (path, text) in [("keep.txt", "keep"), ("edit.txt", "before"), ("gone.txt", "gone"), ("sub/x.txt", "x")] {
        home.put(&cx, path, text).await;
    }
    let watch = home.files.before_program(&cx, WorkspaceAccess::ReadWrite).unwrap();
    assert_eq!(watch.readable(), Label::Own);
    let own = home.own();
    fs::write(own.join("edit.txt"), "after!").unwrap();
    fs::remove_file(own.join("gone.txt")).unwrap();
    fs::create_dir(own.join("made")).unwrap();
    fs::write(own.join("made/new.txt"), "new").unwrap();
    let (changed, parts) = home.change(&cx, home.files.after_program(watch, Label::Outside)).await;
    let changed = changed.unwrap();
    assert_eq!(changed.added, ["made", "made/new.txt"]);
    assert_eq!((changed.changed, changed.deleted), (vec!["edit.txt".to_owned()], vec!["gone.txt".to_owned()]));
    assert_eq!((changed.count, changed.not_undoable), (4, 0));
    assert_eq!((home.label("edit.txt"), home.label("made/new.txt")), (Label::Outside, Label::Outside));
    assert_eq!(home.label("keep.txt"), Label::Own);
    assert_eq!(home.undo(&cx, &parts).await, [true; 4]);
    assert_eq!(home.text(&cx, "edit.txt").await.unwrap(), "before");
    assert_eq!(home.text(&cx, "gone.txt").await.unwrap(), "gone");
    assert!(home.files.stat(&cx, &home.at(&cx, "made")).await.is_err());
    // Whatever a later program writes may have been read from what is marked.
    home.files.write(&cx, &home.at(&cx, "page.html"), b"x".to_vec(), outside()).await.unwrap();
    let watch = home.files.before_program(&ana(), WorkspaceAccess::ReadWrite).unwrap();
    assert_eq!(watch.readable(), Label::Outside);
    fs::write(own.join("laundered.txt"), "x").unwrap();
    home.files.after_program(watch, Label::Own).await.unwrap();
    assert_eq!(home.label("laundered.txt"), Label::Outside);
}

#[tokio::test]
async fn many_changes_of_a_program_are_marked_as_a_folder() {
    let home = home(Config::default());
    home.put(&ana(), "own.txt", "own").await;
    let watch = home.files.before_program(&ana(), WorkspaceAccess::ReadWrite).unwrap();
    fs::create_dir_all(home.own().join("out/many")).unwrap();
    for n in 0..700 {
        fs::write(home.own().join(format!("out/many/{n}")), "x").unwrap();
    }
    let changed = home.files.after_program(watch, Label::Outside).await.unwrap();
    assert!(changed.count == 702 && changed.not_undoable > 0, "{}", changed.count);
    assert_eq!((home.label("out/many/9"), home.label("own.txt")), (Label::Outside, Label::Own));
    let at = home.at(&ana(), "out/many/9");
    home.files.move_to(&ana(), &at, &home.at(&ana(), "9"), false).await.unwrap();
    assert_eq!(home.label("9"), Label::Outside, "it takes the mark of its folder along");
}

#[tokio::test]
async fn a_start_finishes_or_takes_back_what_was_interrupted() {
    let home = home(Config::default());
    let cx = ana();
    home.put(&cx, "a.txt", "a").await;
    home.files.write(&cx, &home.at(&cx, "b.txt"), b"b".to_vec(), outside()).await.unwrap();
    let (shared, place) = (home.files.0.clone(), home.at(&cx, ".").place.clone());
    let held = home.folder.join("data/workspace/held").join(format!("user-{}", UserId::OWNER));
    // A deletion that was made, one that was not, and new content without a name.
    let (made, not_made, orphan) = (Id::new(), Id::new(), Id::new());
    let record = |path: &str| HeldRecord {
        place: place.key.clone(),
        path: path.into(),
        kind: HeldKind::Trash,
        is_folder: false,
        size: 1,
        at_ms: Id::now_ms(),
        by: UserId::OWNER,
    };
    for (id, path) in [(made, "a.txt"), (not_made, "b.txt")] {
        let stat = rustix::fs::stat(home.own().join(path)).unwrap();
        let step = StepRecord {
            from: Spot { place: place.key.clone(), held: false, path: path.into() },
            to: Spot::held(&place, id),
            exchange: false,
            moved: step::triple(&stat),
            held: Some((id, record(path))),
            released: None,
        };
        let steps = shared.steps.clone();
        let put = move |tx: &store::Tx| steps.put(tx, Id::new(), &Stamp::household("test"), &step).map(drop);
        home.store.write(put).await.unwrap();
    }
    fs::create_dir_all(&held).unwrap();
    fs::rename(home.own().join("a.txt"), held.join(made.to_string())).unwrap();
    fs::write(held.join(orphan.to_string()), "half").unwrap();
    let files = home.again();
    files.repair().await;
    assert!(!held.join(orphan.to_string()).exists());
    let trash = files.trash(&cx).unwrap();
    assert_eq!(trash.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(home.text(&cx, "b.txt").await.unwrap(), "b");
    assert_eq!(home.label("b.txt"), Label::Outside);
    assert!(shared.steps.list_in(Scope::Household, &store::Listing::default()).unwrap().is_empty());
    files.restore(&cx, made).await.unwrap();
    assert_eq!(home.text(&cx, "a.txt").await.unwrap(), "a");
}

#[tokio::test]
async fn old_trash_is_pruned() {
    let home = home(Config::default());
    let cx = ana();
    home.put(&cx, "a.txt", "a").await;
    let gone = home.files.delete(&cx, &home.at(&cx, "a.txt")).await.unwrap();
    home.files.prune().await;
    assert_eq!(home.files.trash(&cx).unwrap().len(), 1);
    let held = home.files.0.held.clone();
    let age = move |tx: &store::Tx| {
        held.change(tx, Scope::Household, Label::Own, gone.id, &mut |record| {
            record.at_ms -= 31 * 24 * 3600 * 1000;
            Ok(())
        })
        .map(drop)
    };
    home.store.write(age).await.unwrap();
    home.files.prune().await;
    assert!(home.files.trash(&cx).unwrap().is_empty());
    assert_eq!(home.held(), 0);
}

#[tokio::test]
async fn a_file_is_not_hidden_by_the_number_of_a_replaced_data_file() {
    let home = home(Config::default());
    let cx = ana();
    home.put(&cx, "a.txt", "a").await;
    // A disk gives the number of a file that was replaced to the next one that is made; a move keeps it for certain.
    let (temporary, b) = (home.folder.join("data/token.tmp"), home.own().join("b.txt"));
    fs::write(&temporary, "b").unwrap();
    assert!(home.text(&cx, "a.txt").await.is_ok());
    fs::rename(&temporary, &b).unwrap();
    assert_eq!(home.text(&cx, "b.txt").await.unwrap(), "b");
    // What is made in the data folder later is hidden too.
    fs::rename(&b, &temporary).unwrap();
    fs::hard_link(&temporary, &b).unwrap();
    assert!(home.text(&cx, "b.txt").await.unwrap_err().to_string().contains("there is no"));
}

#[tokio::test]
async fn taken_names_get_a_number() {
    let home = home(Config::default());
    for (name, expected) in
        [("bill.pdf", "bill (2).pdf"), ("bill", "bill (2)"), ("a.b.c", "a.b (2).c"), (".rc", ".rc (2)")]
    {
        let at = home.at(&ana(), &format!("in/{name}"));
        assert_eq!(home.files.free_name(&at).await.unwrap().display(), format!("in/{name}"));
        home.put(&ana(), &format!("in/{name}"), "x").await;
        assert_eq!(home.files.free_name(&at).await.unwrap().display(), format!("in/{expected}"));
    }
}
