//! Skills in a real folder over a real store.

use super::*;
use crate::zip::tests::packed;
use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tool::{Channel, Ports, Principal, SystemClock, Via};

pub(crate) struct House {
    data: PathBuf,
    pub store: Store,
    pub skills: Skills,
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.data);
    }
}

pub(crate) fn house() -> House {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("hob-skills-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let data = std::env::temp_dir().join(name);
    fs::create_dir_all(&data).unwrap();
    let store = Store::in_memory().unwrap();
    let skills = Skills::open(&store, Embedder::new(Duration::from_secs(60)), &data);
    House { data, store, skills }
}

fn person(role: Role) -> Cx {
    let user = if role == Role::Admin { UserId::OWNER } else { UserId(Id::new()) };
    let principal = Principal { user, role, agent: tool::AgentId::GENERAL };
    Cx::root(Ports::unconnected(Arc::new(SystemClock::new(None).unwrap())), principal, Via::direct(Channel::Api))
}

pub(crate) fn text(name: &str, about: &str) -> String {
    format!("---\nname: {name}\ndescription: {about}\n---\nDo it for {name}.")
}

fn package(name: &str, about: &str) -> Package {
    Package::from_bytes(text(name, about).as_bytes()).unwrap()
}

const OWN: Target<'static> = Target { slug: None, whose: Whose::Own, outside: false, source: "upload" };
const HOUSEHOLDS: Target<'static> = Target { whose: Whose::Household, ..OWN };

impl House {
    pub fn put(&self, path: &str, text: &str) {
        let path = self.data.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn names(&self, cx: &Cx) -> Vec<String> {
        self.skills.list(cx).await.unwrap().into_iter().map(|skill| skill.slug).collect()
    }
}

#[tokio::test]
async fn folders_are_seen_as_they_change() {
    let (house, cx) = (house(), person(Role::Member));
    assert_eq!(house.names(&cx).await, [] as [&str; 0]);
    house.put("skills/bread/SKILL.md", &text("Bread", "Bake bread."));
    house.put("skills/bread/times.md", "One hour.");
    house.put("skills/broken/SKILL.md", "no front matter");
    house.put("skills/empty/notes.md", "x");
    house.put("skills/Not A Slug/SKILL.md", &text("x", "y"));
    assert_eq!(house.names(&cx).await, ["bread", "broken", "empty"]);
    let skill = house.skills.get(&cx, "bread", None).await.unwrap();
    assert_eq!((skill.version(), skill.enabled, skill.label()), (1, true, Label::Own));
    assert_eq!(
        house.skills.files(&cx, &skill).await.unwrap().into_keys().collect::<Vec<_>>(),
        ["SKILL.md", "times.md"]
    );
    assert_eq!(house.skills.file(&cx, &skill, "times.md").await.unwrap(), "One hour.");
    for path in ["../broken/SKILL.md", "/etc/passwd", "none.md", ".hob.json"] {
        assert!(matches!(house.skills.file(&cx, &skill, path).await, Err(Error::NotFound(_))), "{path}");
    }
    let broken = house.skills.get(&cx, "broken", None).await.unwrap();
    assert!(broken.usable().is_none() && broken.manifest.unwrap_err().contains("does not begin with `---`"));
    house.put("skills/bread/SKILL.md", &text("Bread", "Bake rye bread."));
    assert_eq!(house.skills.get(&cx, "bread", None).await.unwrap().manifest.unwrap().description, "Bake rye bread.");
    // An own skill hides the household's.
    let mine = house.skills.install(&cx, package("Bread", "My bread."), OWN).await.unwrap();
    assert_eq!(
        (mine.whose, house.names(&cx).await.len(), house.names(&person(Role::Member)).await.len()),
        (Whose::Own, 3, 3)
    );
    assert_eq!(house.skills.get(&cx, "bread", None).await.unwrap().manifest.unwrap().description, "My bread.");
    let shared = house.skills.get(&cx, "bread", Some(Whose::Household)).await.unwrap();
    assert_eq!(shared.manifest.unwrap().description, "Bake rye bread.");
    fs::remove_dir_all(house.data.join("skills")).unwrap();
    assert_eq!(house.names(&cx).await, ["bread"]);
}

#[tokio::test]
async fn a_link_is_no_skill_and_no_file_of_one() {
    let (house, cx) = (house(), person(Role::Member));
    house.put("secret.txt", "secret");
    house.put("elsewhere/SKILL.md", &text("x", "y"));
    house.put("skills/bread/SKILL.md", &text("Bread", "Bake bread."));
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(house.data.join(to), house.data.join(from)).unwrap();
    link("secret.txt", "skills/bread/notes.md");
    link("elsewhere", "skills/linked");
    fs::create_dir_all(house.data.join("skills/two")).unwrap();
    link("elsewhere/SKILL.md", "skills/two/SKILL.md");
    assert_eq!(house.names(&cx).await, ["bread", "two"]);
    let skill = house.skills.get(&cx, "bread", None).await.unwrap();
    assert_eq!(house.skills.files(&cx, &skill).await.unwrap().len(), 1);
    assert!(house.skills.file(&cx, &skill, "notes.md").await.is_err());
    assert!(house.skills.get(&cx, "two", None).await.unwrap().manifest.is_err());
    assert!(Package::from_folder(&house.data.join("skills/bread")).unwrap_err().contains("link"));
}

#[tokio::test]
async fn versions_are_stored_and_come_back() {
    let (house, cx) = (house(), person(Role::Admin));
    let skills = &house.skills;
    for n in 1..=3 {
        let about = format!("Version {n}.");
        let skill = skills.install(&cx, package("Bread", &about), HOUSEHOLDS).await.unwrap();
        assert_eq!((skill.slug.as_str(), skill.version()), ("bread", n));
        assert_eq!(skill.manifest.unwrap().description, about);
    }
    let skill = skills.get(&cx, "bread", None).await.unwrap();
    assert_eq!(skills.versions(&cx, &skill).await.unwrap(), [1, 2]);
    let back = skills.restore(&cx, "bread", Whose::Household, 1).await.unwrap();
    assert_eq!((back.version(), back.manifest.unwrap().description.as_str()), (4, "Version 1."));
    assert!(matches!(skills.restore(&cx, "bread", Whose::Household, 77).await, Err(Error::NotFound(_))));
    skills.delete(&cx, "bread", None, None).await.unwrap();
    assert_eq!(house.names(&cx).await, [] as [&str; 0]);
    assert!(matches!(skills.delete(&cx, "bread", None, None).await, Err(Error::NotFound(_))));
    let back = skills.restore(&cx, "bread", Whose::Household, 4).await.unwrap();
    assert_eq!((back.version(), back.manifest.unwrap().description.as_str()), (5, "Version 1."));
    for _ in 0..15 {
        skills.install(&cx, package("Bread", "Again."), HOUSEHOLDS).await.unwrap();
    }
    let skill = skills.get(&cx, "bread", None).await.unwrap();
    assert_eq!((skills.versions(&cx, &skill).await.unwrap().len(), skill.version()), (10, 20));
    // A version that a person put there by hand is stored as well.
    house.put("skills/tea/SKILL.md", &text("Tea", "By hand."));
    assert_eq!(skills.install(&cx, package("Tea", "Installed."), HOUSEHOLDS).await.unwrap().version(), 2);
    let back = skills.restore(&cx, "tea", Whose::Household, 1).await.unwrap();
    assert_eq!((back.label(), back.manifest.unwrap().description.as_str()), (Label::Own, "By hand."));
    // So is one by hand after earlier versions, and one that cannot be installed again.
    fs::remove_dir_all(house.data.join("skills/tea")).unwrap();
    house.put("skills/tea/SKILL.md", &text("Tea", "By hand again."));
    assert_eq!(skills.get(&cx, "tea", None).await.unwrap().version(), 3);
    let trust = Change { trusted: Some(false), ..Change::default() };
    assert_eq!(skills.change(&cx, "tea", None, trust).await.unwrap().version(), 3);
    house.put("skills/tea/salt & pepper.md", "x");
    assert_eq!(skills.install(&cx, package("Tea", "Over it."), HOUSEHOLDS).await.unwrap().version(), 4);
    let tea = skills.get(&cx, "tea", None).await.unwrap();
    assert_eq!(skills.versions(&cx, &tea).await.unwrap(), [1, 2, 3]);
    assert_eq!(fs::read_to_string(house.data.join("skills/.versions/tea/3/salt & pepper.md")).unwrap(), "x");
    let why = skills.restore(&cx, "tea", Whose::Household, 3).await.unwrap_err().to_string();
    assert!(why.contains("salt & pepper"), "{why}");
    house.put("skills/tea/also & also.md", "x");
    skills.delete(&cx, "tea", None, Some(4)).await.unwrap();
    assert_eq!(fs::read_to_string(house.data.join("skills/.versions/tea/4/also & also.md")).unwrap(), "x");
}

#[tokio::test]
async fn a_change_is_of_the_version_that_was_seen() {
    let (house, cx) = (house(), person(Role::Member));
    let (skills, outside) = (&house.skills, Target { outside: true, ..OWN });
    for about in ["Harmless.", "Harmful."] {
        skills.install(&cx, package("Bread", about), outside).await.unwrap();
    }
    let trust = |version| Change { trusted: Some(true), version: Some(version), ..Change::default() };
    let why = skills.change(&cx, "bread", None, trust(1)).await.unwrap_err();
    assert!(matches!(&why, Error::Unavailable(_)) && why.to_string().contains("version 2"), "{why}");
    assert!(matches!(skills.delete(&cx, "bread", None, Some(1)).await, Err(Error::Unavailable(_))));
    assert_eq!(skills.get(&cx, "bread", None).await.unwrap().label(), Label::Outside);
    assert_eq!(skills.change(&cx, "bread", None, trust(2)).await.unwrap().label(), Label::Own);
    // Facts that cannot be read count as the cautious ones, whatever else is wrong with it.
    house.put(&format!("user-skills/{}/bread/.hob.json", cx.user()), "{");
    house.put(&format!("user-skills/{}/bread/SKILL.md", cx.user()), &"x".repeat(100_000));
    assert_eq!(skills.get(&cx, "bread", None).await.unwrap().label(), Label::Outside);
}

#[tokio::test]
async fn versions_make_room_and_skills_have_a_quota() {
    let (house, cx) = (house(), person(Role::Member));
    let large = |n: u8| {
        let filler = vec![b'a' + n % 26; BYTES - 4096];
        let about = text("Large", &format!("Number {n}."));
        Package::of(vec![(MANIFEST.into(), about.into_bytes()), ("filler.txt".into(), filler)]).unwrap()
    };
    let name = |n: u8| format!("large-{}", n % 4);
    for n in 0..40 {
        let slug = name(n);
        house.skills.install(&cx, large(n), Target { slug: Some(&slug), ..OWN }).await.unwrap();
    }
    let folder = house.data.join("user-skills").join(cx.user().to_string());
    let count = |slug: &str| fs::read_dir(folder.join(".versions").join(slug)).map_or(0, Iterator::count);
    let counts: Vec<usize> = (0..4).map(|n| count(&name(n))).collect();
    assert!(counts.iter().sum::<usize>() <= 28 && counts.iter().all(|count| *count > 5), "{counts:?}");
    house.put(&format!("user-skills/{}/large-0/huge.bin", cx.user()), &"x".repeat(64 << 20));
    let why = house.skills.install(&cx, package("Tea", "x"), OWN).await.unwrap_err().to_string();
    assert!(why.contains("64 MB"), "{why}");
    assert_eq!((0..4).map(|n| count(&name(n))).collect::<Vec<_>>(), counts, "nothing was removed in vain");
}

#[tokio::test]
async fn an_interrupted_installation_leaves_the_version_before() {
    let (house, cx) = (house(), person(Role::Admin));
    house.skills.install(&cx, package("Bread", "First."), HOUSEHOLDS).await.unwrap();
    house.put("skills/.staging/bread/SKILL.md", "half of the second");
    let again = Skills::open(&house.store, Embedder::new(Duration::from_secs(60)), &house.data);
    assert_eq!(again.get(&cx, "bread", None).await.unwrap().manifest.unwrap().description, "First.");
    assert!(!house.data.join("skills/.staging").exists());
    again.install(&cx, package("Bread", "Second."), HOUSEHOLDS).await.unwrap();
    assert_eq!(again.get(&cx, "bread", None).await.unwrap().manifest.unwrap().description, "Second.");
}

#[tokio::test]
async fn roles_and_names_are_checked() {
    let (house, viewer, member) = (house(), person(Role::Viewer), person(Role::Member));
    let skills = &house.skills;
    assert!(matches!(skills.install(&viewer, package("a", "b"), OWN).await, Err(Error::Denied(_))));
    assert!(matches!(skills.install(&member, package("a", "b"), HOUSEHOLDS).await, Err(Error::Denied(_))));
    for slug in ["../a", "A", "", ".staging", "a/b"] {
        let target = Target { slug: Some(slug), ..OWN };
        assert!(matches!(skills.install(&member, package("a", "b"), target).await, Err(Error::BadArgs(_))), "{slug}");
    }
    assert!(matches!(skills.install(&member, package("日本", "b"), OWN).await, Err(Error::BadArgs(_))));
    house.put("skills/bread/SKILL.md", &text("Bread", "Bake bread."));
    let off = Change { enabled: Some(false), ..Change::default() };
    assert!(matches!(skills.change(&member, "bread", None, off).await, Err(Error::Denied(_))));
    assert!(matches!(skills.delete(&member, "bread", None, None).await, Err(Error::Denied(_))));
    assert!(matches!(skills.restore(&member, "../bread", Whose::Own, 1).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn a_strangers_skill_taints_until_somebody_vouches() {
    let (house, cx) = (house(), person(Role::Member));
    let skills = &house.skills;
    let zip = packed(&[("SKILL.md", 0o100644, text("Gold", "Buy gold.").as_bytes()), ("a.md", 0o100644, b"at once")]);
    let outside = Target { outside: true, ..OWN };
    let skill = skills.install(&cx, Package::from_bytes(&zip).unwrap(), outside).await.unwrap();
    assert_eq!((skill.label(), skills.for_prompt(&cx).await.as_str()), (Label::Outside, ""));
    let fresh = || Cx::root(cx.ports().clone(), cx.principal().clone(), Via::direct(Channel::Api));
    let (reader, searcher) = (fresh(), fresh());
    skills.file(&reader, &skill, "a.md").await.unwrap();
    assert_eq!(skills.search(&searcher, "gold", 5).await.unwrap().len(), 1);
    assert_eq!((reader.label(), searcher.label()), (Label::Outside, Label::Outside));
    let trust = Change { trusted: Some(true), ..Change::default() };
    let skill = skills.change(&cx, "gold", None, trust).await.unwrap();
    assert_eq!((skill.label(), skill.version()), (Label::Own, 1));
    let reader = fresh();
    skills.file(&reader, &skill, "a.md").await.unwrap();
    assert_eq!(reader.label(), Label::Own);
    assert!(skills.for_prompt(&cx).await.contains("- gold: Buy gold."));
    // The next version is a stranger's again, and so is an old one that was.
    assert_eq!(skills.install(&cx, package("Gold", "More."), outside).await.unwrap().label(), Label::Outside);
}

#[tokio::test]
async fn skills_are_searched_by_words_and_meaning() {
    let (house, cx) = (house(), person(Role::Member));
    house.put("skills/bread/SKILL.md", &text("Bread", "Bake sourdough bread at home."));
    house.put("skills/letters/SKILL.md", &text("Letters", "Write formal letters to authorities."));
    house.put("skills/taxes/SKILL.md", &text("Taxes", "Prepare the yearly tax return."));
    let found = |query: &'static str| {
        let (skills, cx) = (house.skills.clone(), cx.clone());
        async move { skills.search(&cx, query, 5).await.unwrap().into_iter().map(|m| m.skill.slug).collect::<Vec<_>>() }
    };
    assert_eq!(found("sourdough").await, ["bread"]);
    assert_eq!(found("something with flour and an oven").await[0], "bread");
    assert_eq!(found("mail to the town hall").await[0], "letters");
    let off = Change { enabled: Some(false), ..Change::default() };
    let skill = house.skills.change(&person(Role::Admin), "bread", None, off).await.unwrap();
    assert!(!skill.enabled);
    assert_eq!(found("sourdough").await, [] as [&str; 0]);
    assert!(matches!(house.skills.search(&cx, " ", 5).await, Err(Error::BadArgs(_))));
    let prompt = house.skills.for_prompt(&cx).await;
    assert!(prompt.contains("- letters: Write formal") && !prompt.contains("bread"), "{prompt}");
    for n in 0..20 {
        house.put(&format!("skills/more-{n}/SKILL.md"), &text("More", "More of it."));
    }
    let prompt = house.skills.for_prompt(&cx).await;
    assert!(prompt.contains("22 skills") && prompt.contains("skill_search") && prompt.len() < 300, "{prompt}");
}

#[tokio::test]
async fn a_backup_brings_skills_back() {
    let (mut house, cx) = (house(), person(Role::Admin));
    // Lineages are those of files.
    house.store = Store::open(&house.data.join("first")).unwrap();
    house.skills = Skills::open(&house.store, Embedder::new(Duration::from_secs(60)), &house.data);
    let skills = &house.skills;
    skills.install(&cx, package("Bread", "Bake bread."), Target { outside: true, ..HOUSEHOLDS }).await.unwrap();
    house.put("skills/tea/SKILL.md", &text("Tea", "Make tea."));
    fs::write(house.data.join("skills/tea/picture.png"), [0xff, 0, 0xfe]).unwrap();
    skills.install(&cx, package("Mine", "Mine."), OWN).await.unwrap();
    skills.reconcile().await.unwrap();
    let file = house.data.join("backup");
    // A folder removed by hand is gone, and stays so.
    fs::remove_dir_all(house.data.join("skills/bread")).unwrap();
    house.store.backup(file.clone()).await.unwrap();
    skills.reconcile().await.unwrap();
    skills.reconcile().await.unwrap();
    assert_eq!(house.names(&cx).await, ["mine", "tea"]);
    // The backup, in another folder.
    let other = house.data.join("other");
    store::restore(&other, &file).unwrap();
    let store = Store::open(&other).unwrap();
    let again = Skills::open(&store, Embedder::new(Duration::from_secs(60)), &other);
    again.reconcile().await.unwrap();
    let names =
        async |skills: &Skills| skills.list(&cx).await.unwrap().into_iter().map(|skill| skill.slug).collect::<Vec<_>>();
    assert_eq!(names(&again).await, ["bread", "mine", "tea"]);
    assert_eq!(fs::read(other.join("skills/tea/picture.png")).unwrap(), [0xff, 0, 0xfe]);
    let bread = again.get(&cx, "bread", None).await.unwrap();
    assert_eq!((bread.label(), bread.whose), (Label::Outside, Whose::Household), "it is still a stranger's");
    assert_eq!(again.get(&cx, "mine", None).await.unwrap().whose, Whose::Own);
    again.delete(&cx, "tea", None, None).await.unwrap();
    again.reconcile().await.unwrap();
    assert_eq!(names(&again).await, ["bread", "mine"]);
}

/// A household's skill that was backed up with a further file, and the folder into which the backup was restored.
async fn restored() -> (House, PathBuf, Cx) {
    let (mut house, cx) = (house(), person(Role::Admin));
    house.store = Store::open(&house.data.join("first")).unwrap();
    house.skills = Skills::open(&house.store, Embedder::new(Duration::from_secs(60)), &house.data);
    house.put("skills/bread/SKILL.md", &text("Bread", "Of the backup."));
    house.put("skills/bread/steps.md", "One.");
    house.skills.reconcile().await.unwrap();
    // A file below the skill alone.
    house.put("skills/bread/steps.md", "Two.");
    house.skills.reconcile().await.unwrap();
    let (file, other) = (house.data.join("backup"), house.data.join("other"));
    house.store.backup(file.clone()).await.unwrap();
    store::restore(&other, &file).unwrap();
    (house, other, cx)
}

#[tokio::test]
async fn a_copy_that_cannot_be_restored_stays() {
    let (_house, other, cx) = restored().await;
    // Nothing can be written where the folder would be.
    fs::write(other.join("skills"), "in the way").unwrap();
    let store = Store::open(&other).unwrap();
    let skills = Skills::open(&store, Embedder::new(Duration::from_secs(60)), &other);
    for _ in 0..2 {
        assert!(skills.reconcile().await.is_err());
    }
    assert_eq!(store.stats().unwrap().records["skill-copies"], 1);
    fs::remove_file(other.join("skills")).unwrap();
    skills.reconcile().await.unwrap();
    assert_eq!(fs::read_to_string(other.join("skills/bread/steps.md")).unwrap(), "Two.");
    // An unreadable folder is not an empty one; a removed one is.
    fs::rename(other.join("skills"), other.join("away")).unwrap();
    fs::write(other.join("skills"), "in the way").unwrap();
    assert!(skills.reconcile().await.is_err() && skills.list(&cx).await.is_err());
    assert_eq!(store.stats().unwrap().records["skill-copies"], 1);
    fs::remove_file(other.join("skills")).unwrap();
    skills.reconcile().await.unwrap();
    assert_eq!(store.stats().unwrap().records.get("skill-copies").copied().unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_change_after_a_restore_is_of_the_restored_skill() {
    let (_house, other, cx) = restored().await;
    let store = Store::open(&other).unwrap();
    let skills = Skills::open(&store, Embedder::new(Duration::from_secs(60)), &other);
    skills.install(&cx, package("Bread", "New."), HOUSEHOLDS).await.unwrap();
    skills.reconcile().await.unwrap();
    let bread = skills.get(&cx, "bread", None).await.unwrap();
    assert_eq!(bread.manifest.clone().unwrap().description, "New.");
    assert_eq!(skills.versions(&cx, &bread).await.unwrap(), [1]);
    assert_eq!(fs::read_to_string(other.join("skills/.versions/bread/1/steps.md")).unwrap(), "Two.");
}
