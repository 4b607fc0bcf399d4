//! Groups as a person and a policy see them.

use super::*;
use policy::Names;
use serde_json::Value;
use tool::{Family, Id, Risk, UserId};

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

async fn nothing(_: (), _: tool::Cx, _: Nothing) -> Result<Value> {
    Ok(Value::Null)
}

fn tools(family: &str, names: &[&str], owner: Owner) -> Vec<Tool> {
    let mut made = Family::new(family, "", ());
    for name in names {
        made = made.tool(name, Risk::Observe, nothing);
    }
    let (_, _, _, mut tools) = made.into_parts();
    tools.iter_mut().for_each(|t| t.owner = owner.clone());
    tools
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (family, names, owner) in [
        ("system", &["search_tools", "use_tool"][..], Owner::Core),
        ("utilities", &["get_current_datetime", "calculate", "generate_uuid", "system_info"], Owner::Core),
        ("memory", &["remember", "recall", "update_memory"], Owner::Core),
        ("files", &["read_file", "list_directory", "stat_file"], Owner::Core),
        ("git", &["git_status", "git_blame"], Owner::Core),
        ("web", &["search_web"], Owner::Core),
        ("code", &["execute_shell"], Owner::Core),
        ("mail", &["send_email"], Owner::Core),
        ("custom", &["tally"], Owner::Person(UserId(Id::new()))),
        ("mcp", &["mcp_home_lamp"], Owner::McpServer("home".into())),
        ("plugin", &["sudoku"], Owner::Plugin("games".into())),
    ] {
        catalogue.add_all(tools(family, names, owner), "").unwrap();
    }
    catalogue
}

fn group(catalogue: &Catalogue, id: &str) -> Group {
    catalogue.groups().into_iter().find(|g| g.id == id).unwrap_or_else(|| panic!("no group {id}"))
}

fn enabled(catalogue: &Catalogue, name: &str) -> bool {
    catalogue.get(name).unwrap().enabled
}

#[test]
fn the_table_is_sound() {
    let mut ids = BTreeSet::new();
    for row in GROUPS {
        assert!(ids.insert(row.id), "{} is there twice", row.id);
        assert!(!row.about.is_empty() && row.about.ends_with('.'), "{}", row.id);
        for other in row.needs.iter().chain(row.with) {
            assert!(self::row(other).is_some(), "{} names the unknown group {other}", row.id);
        }
        // No circles: whatever is needed stands on its own after as many steps as there are groups.
        let mut front: Vec<&str> = row.needs.to_vec();
        for _ in 0..GROUPS.len() {
            front = front.iter().flat_map(|id| needs(id)).copied().collect();
        }
        assert!(front.is_empty(), "{} needs itself", row.id);
    }
    assert!(SYNONYMS.is_sorted_by(|a, b| a.0 < b.0));
    assert!(SYNONYMS.iter().all(|(_, to)| synonym(to).is_none()), "a synonym leads to a canonical name at once");
}

#[test]
fn a_tool_is_listed_with_the_group_that_names_it_or_its_family() {
    let catalogue = catalogue();
    for (name, group) in [
        ("use_tool", "system"),
        ("get_current_datetime", "core"),
        ("calculate", "core"),
        ("system_info", "utilities"),
        ("update_memory", "memory"),
        ("list_directory", "filesystem"),
        ("stat_file", "files"),
        ("git_blame", "git"),
        ("search_web", "webFetch"),
        ("execute_shell", "codeExecution"),
        ("tally", "custom"),
        ("mcp_home_lamp", "mcp:home"),
        ("sudoku", "plugin:games"),
    ] {
        assert_eq!(&*catalogue.get(name).unwrap().group, group, "{name}");
    }
    let files = group(&catalogue, "filesystem");
    assert_eq!(files.tools, ["read_file", "list_directory"]);
    assert!(files.missing.contains(&"edit_file".to_owned()) && files.enabled && files.switchable);
    assert_eq!(group(&catalogue, "memory").tools, ["remember", "recall", "update_memory"]);
    assert_eq!(group(&catalogue, "fs").tools, ["read_file", "list_directory"]);
    assert!(!group(&catalogue, "fs").switchable);
    assert_eq!(group(&catalogue, "mcp").tools, ["mcp_home_lamp"]);
    assert_eq!(group(&catalogue, "files").tools, ["stat_file"]);
    assert_eq!(group(&catalogue, "plugin:games").name, "Plugin games");
}

#[test]
fn groups_mean_canonical_names_in_lists() {
    let catalogue = catalogue();
    let names =
        |id: &str| Names::group(&catalogue, id).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(names("web").unwrap(), ["search_web", "fetch_web_page"]);
    assert_eq!(names("runtime").unwrap(), ["execute_shell", "credentialed_exec"]);
    assert_eq!(
        names("memory").unwrap(),
        [
            "remember",
            "batch_remember",
            "recall",
            "forget",
            "list_memories",
            "boost_memory",
            "memory_stats",
            "update_memory",
            "memory_search",
            "memory_get"
        ]
    );
    assert_eq!(names("automation").unwrap(), ["cron", "get_current_datetime"]);
    let goclaw = names("goclaw").unwrap();
    for name in
        ["edit_file", "search_files", "search_web", "spawn", "generate_image", "text_to_speech", "workspace_dir"]
    {
        assert!(goclaw.contains(&name.to_owned()), "{name}");
    }
    assert!(!goclaw.contains(&"remember".to_owned()) && !goclaw.contains(&"web_search".to_owned()));
    assert_eq!(names("mcp:home").unwrap(), ["mcp_home_lamp"]);
    assert_eq!(names("custom").unwrap(), ["tally"]);
    assert_eq!(names("delegation").unwrap(), [] as [&str; 0]);
    assert_eq!(names("all").unwrap().len(), catalogue.all().len());
    assert_eq!((names("nobody"), names("mcp:nobody")), (None, None));
    for (name, canonical) in [
        ("recall", Some("recall")),
        ("memory_recall", Some("recall")),
        ("web_fetch", Some("fetch_web_page")),
        ("datetime", Some("get_current_datetime")),
        ("cron", Some("cron")),
        ("tally", Some("tally")),
        ("nobody", None),
    ] {
        assert_eq!(Names::canonical(&catalogue, name).as_deref(), canonical, "{name}");
    }
    let ids = Names::groups(&catalogue);
    assert!(["fs", "tasks", "mcp:home"].iter().all(|id| ids.iter().any(|i| **i == **id)));
}

#[test]
fn groups_start_as_decided() {
    let mut catalogue = catalogue();
    for (id, on) in [
        ("core", true),
        ("filesystem", true),
        ("tasks", true),
        ("mathStats", true),
        ("gpio", true),
        ("vectorSearch", true),
        ("webFetch", true),
        ("git", true),
        ("weather", true),
        ("codeExecution", false),
        ("email", false),
        ("image", false),
        ("audio", false),
        ("pdf", false),
        ("translation", false),
        ("dataExtraction", false),
        ("mcp:home", true),
    ] {
        let group = group(&catalogue, id);
        assert_eq!((group.enabled, group.default_enabled), (on, on), "{id}");
    }
    assert!(
        enabled(&catalogue, "search_web")
            && !enabled(&catalogue, "execute_shell")
            && !enabled(&catalogue, "send_email")
    );
    // What needs a key is on when the key is there, unless somebody turned it off.
    catalogue.set_services(BTreeSet::from(["smtp".to_owned()]));
    assert!(enabled(&catalogue, "send_email"));
    catalogue.set_groups(BTreeMap::from([("email".to_owned(), false)]));
    assert!(!enabled(&catalogue, "send_email") && group(&catalogue, "email").default_enabled);
}

#[test]
fn switching_takes_along_what_is_needed() {
    let mut catalogue = catalogue();
    let mut switches = BTreeMap::new();
    assert_eq!(catalogue.switch(&mut switches, "filesystem", false).unwrap(), ["git"], "git needs files");
    catalogue.set_groups(switches.clone());
    assert!(
        !enabled(&catalogue, "read_file") && !enabled(&catalogue, "git_status") && enabled(&catalogue, "stat_file")
    );
    assert_eq!(catalogue.switch(&mut switches, "pdf", true).unwrap(), ["filesystem", "git"]);
    assert_eq!(switches, BTreeMap::from([("filesystem".to_owned(), true), ("pdf".to_owned(), true)]));
    catalogue.set_groups(switches.clone());
    assert!(enabled(&catalogue, "read_file") && enabled(&catalogue, "git_status") && group(&catalogue, "pdf").enabled);

    assert_eq!(catalogue.switch(&mut switches, "mcp", false).unwrap(), ["mcp:home"]);
    catalogue.set_groups(switches.clone());
    assert!(!enabled(&catalogue, "mcp_home_lamp"));
    // A tool that comes while its group is off is off.
    catalogue.add_all(tools("mcp", &["mcp_home_fan"], Owner::McpServer("home".into())), "").unwrap();
    assert!(!enabled(&catalogue, "mcp_home_fan"));

    for (id, part) in [("system", "always on"), ("fs", "`filesystem`"), ("nobody", "no group called `nobody`")] {
        let before = switches.clone();
        let error = catalogue.switch(&mut switches, id, false).unwrap_err();
        assert!(error.message().contains(part) && switches == before, "{id}: {error}");
    }
    // Nothing turns the meta-tools off, whatever is stored.
    catalogue.set_groups(BTreeMap::from([("system".to_owned(), false), ("fs".to_owned(), false)]));
    assert!(enabled(&catalogue, "use_tool") && enabled(&catalogue, "read_file"));
}

#[test]
fn an_explicit_off_wins() {
    let mut catalogue = catalogue();
    catalogue.add_all(tools("textUtils", &["validate", "encode_decode", "hash_text"], Owner::Core), "").unwrap();
    let off = |catalogue: &Catalogue, name: &str| {
        let tool = catalogue.get(name).unwrap();
        (!tool.enabled).then(|| tool.off_by.as_ref().unwrap_or(&tool.group).to_string())
    };
    // `generate_uuid` is in `core` and `generation`.
    for (switches, group) in [
        (vec![], None),
        (vec![("core", false)], Some("core")),
        (vec![("generation", false)], Some("generation")),
        (vec![("core", true), ("generation", false)], Some("generation")),
        (vec![("core", false), ("generation", true)], Some("core")),
        (vec![("core", true), ("generation", true)], None),
    ] {
        catalogue.set_groups(switches.iter().map(|(id, on)| ((*id).to_owned(), *on)).collect());
        assert_eq!(off(&catalogue, "generate_uuid").as_deref(), group, "{switches:?}");
        for (id, on) in switches {
            let listed = self::group(&catalogue, id);
            // `generation` has no other tool here.
            let empty = id == "generation" && group.is_some();
            assert_eq!(listed.enabled, on && !empty, "{id}");
        }
    }
    // What a group needs counts like itself, and what is off by default is no explicit off.
    catalogue.set_groups(BTreeMap::from([("filesystem".to_owned(), false)]));
    assert_eq!(off(&catalogue, "git_status").as_deref(), Some("git"));
    assert_eq!(off(&catalogue, "execute_shell").as_deref(), Some("codeExecution"));

    // A group whose tools are all off elsewhere is off, and says so; one that has others lists those that are off.
    let mut switches = BTreeMap::new();
    catalogue.set_groups(switches.clone());
    assert_eq!(catalogue.switch(&mut switches, "textUtils", false).unwrap(), ["conversion", "validation"]);
    catalogue.set_groups(switches.clone());
    assert!(!group(&catalogue, "validation").enabled && off(&catalogue, "validate").as_deref() == Some("textUtils"));
    let stored = switches.clone();
    let error = catalogue.switch(&mut switches, "validation", true).unwrap_err();
    assert!(error.message().contains("also in `textUtils`, which was turned off") && switches == stored, "{error}");
    assert_eq!(catalogue.switch(&mut switches, "core", false).unwrap(), ["generation"]);
    catalogue.add_all(tools("more", &["random_number"], Owner::Core), "").unwrap();
    catalogue.set_groups(switches.clone());
    let generation = group(&catalogue, "generation");
    assert!(generation.enabled && enabled(&catalogue, "random_number"));
    assert_eq!((generation.tools.len(), generation.off_elsewhere), (2, vec!["generate_uuid".to_owned()]));
}

#[test]
fn tools_come_go_and_change() {
    let mut catalogue = catalogue();
    let before = catalogue.stats();
    assert_eq!((before.by_owner["core"], before.by_owner["plugin:games"], before.by_group["core"]), (17, 1, 3));
    assert_eq!((before.total, before.enabled), (20, 18));
    assert_eq!(catalogue.remove_owner(&Owner::Plugin("games".into())), 1);
    assert_eq!(catalogue.remove_owner(&Owner::Plugin("games".into())), 0);
    assert!(catalogue.get("sudoku").is_none());
    assert!(!catalogue.remove("memory", "tally") && catalogue.remove("custom", "tally"), "by the family it came with");
    assert!(catalogue.remove("utilities", "calculate"), "whatever group lists it");

    // Another executor; the rest stays as it is.
    let other: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(tool::Output::text("other")) }));
    assert!(catalogue.replace("recall", other.clone()) && !catalogue.replace("nobody", other.clone()));
    let recall = catalogue.get("recall").unwrap();
    assert!(Arc::ptr_eq(&recall.run, &other) && &*recall.group == "memory" && recall.enabled);
}
