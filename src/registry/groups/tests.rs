//! Groups as a person and a policy see them.

use super::*;
use crate::catalogue::Catalogue;
use policy::Names;
use serde_json::Value;
use tool::{Family, Id, Risk, Start, ToolGroup, UserId};

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

async fn nothing(_: (), _: tool::Cx, _: Nothing) -> Result<Value> {
    Ok(Value::Null)
}

fn add(family: Family<()>, name: &'static str) -> Family<()> {
    family.tool(name, Risk::Observe, nothing)
}

fn family(id: &'static str, names: &[&'static str]) -> Family<()> {
    names.iter().fold(Family::new(id, "For tests.", ()), |family, name| add(family, name))
}

fn brought(group: &str, name: &str, owner: Owner) -> Tool {
    Tool::new(name, Risk::Observe, owner, group, Arc::new(|_, _| Box::pin(async { Ok(tool::Output::default()) })))
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let core = ToolGroup::new("core", "The essentials.").name("Essentials");
    let utilities = family("utilities", &["system_info"]).shared_group(core);
    let utilities = add(utilities, "get_current_datetime").in_group("core").also_in(&["automation"]).alias("datetime");
    let utilities = add(add(utilities, "calculate").in_group("core"), "generate_uuid").in_group("core");
    let files = add(family("filesystem", &[]), "read_file").also_in(&["fs"]);
    for family in [
        family("system", &["search_tools", "use_tool"]).start(Start::Always),
        utilities.also_in(&["generation"]),
        family("generation", &[]).title("Random things"),
        family("memory", &["remember", "update_memory", "recall"]).alias("memory_recall").with(&["memoryDocs"]),
        add(files, "list_directory").also_in(&["fs"]),
        family("files", &["stat_file"]),
        family("git", &["git_status", "git_blame"]).needs(&["filesystem"]),
        family("webFetch", &["search_web"]).also_in(&["web"]).alias("web_search"),
        family("codeExecution", &["execute_shell"]).start(Start::Off),
        family("runtime", &["exec"]),
        family("knowledge", &[]),
        family("skills", &[]),
        family("memoryDocs", &[]),
        family("vectorSearch", &[]),
        family("email", &["send_email"]).services(&["smtp", "imap"]),
        family("pdf", &[]).start(Start::Off).needs(&["filesystem"]),
    ] {
        catalogue.add_families(vec![family.into_parts()]).unwrap();
    }
    let tools = [
        brought("custom", "tally", Owner::Person(UserId(Id::new()))),
        brought("mcp", "mcp_home_lamp", Owner::McpServer("home".into())),
        brought("plugin", "sudoku", Owner::Plugin("games".into())),
    ];
    catalogue.add_all(tools.into()).unwrap();
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
    let catalogue = catalogue();
    let groups = &catalogue.groups;
    let mut ids = BTreeSet::new();
    for group in &groups.defined {
        assert!(ids.insert(group.id), "{} is there twice", group.id);
        assert!(group.about.ends_with('.'), "{}", group.id);
        for other in group.needs.iter().chain(group.with) {
            assert!(groups.get(other).is_some(), "{} names the unknown group {other}", group.id);
        }
        // No circles: no group is left after as many steps as there are groups.
        let mut front: Vec<&str> = group.needs.to_vec();
        for _ in 0..groups.defined.len() {
            front = front.iter().flat_map(|id| groups.needs(id)).copied().collect();
        }
        assert!(front.is_empty(), "{} needs itself", group.id);
    }
}

#[test]
fn a_family_defines_its_group_once() {
    let mut catalogue = catalogue();
    let names = |catalogue: &Catalogue| catalogue.groups().into_iter().map(|g| g.id).collect::<Vec<_>>();
    let before = names(&catalogue);
    assert_eq!(before[..5], ["system", "utilities", "core", "generation", "memory"], "families come first");
    let email = group(&catalogue, "email");
    assert_eq!((&*email.name, &*email.description), ("Email", "For tests."), "in place of the table's");
    let again = family("git", &["git_log"]).title("Other").start(Start::Off);
    catalogue.add_families(vec![again.into_parts()]).unwrap();
    assert_eq!(names(&catalogue), before);
    assert_eq!((&*group(&catalogue, "git").name, group(&catalogue, "git").tools.len()), ("Git", 3));
    assert_eq!(group(&catalogue, "generation").name, "Random things");
    let taken = family("more", &["git_log"]).phrases("x");
    assert!(catalogue.add_families(vec![taken.into_parts()]).is_err());
    assert!(catalogue.phrases.is_empty() && names(&catalogue) == before, "nothing of it is added");
}

#[test]
fn a_tool_is_listed_with_its_group() {
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
    assert_eq!(files.tools, ["list_directory", "read_file"]);
    assert!(files.enabled && files.switchable);
    assert_eq!(group(&catalogue, "memory").tools, ["recall", "remember", "update_memory"]);
    assert_eq!(group(&catalogue, "fs").tools, ["list_directory", "read_file"]);
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
    assert_eq!(names("web").unwrap(), ["search_web"]);
    assert_eq!(names("runtime").unwrap(), ["exec"]);
    assert_eq!(names("memory").unwrap(), ["recall", "remember", "update_memory"]);
    assert_eq!(names("automation").unwrap(), ["get_current_datetime"]);
    assert_eq!(names("goclaw").unwrap(), ["list_directory", "read_file", "exec", "search_web", "get_current_datetime"]);
    assert_eq!(names("mcp:home").unwrap(), ["mcp_home_lamp"]);
    assert_eq!(names("custom").unwrap(), ["tally"]);
    assert_eq!(names("delegation").unwrap(), [] as [&str; 0]);
    assert_eq!(names("all").unwrap().len(), catalogue.all().len());
    assert_eq!((names("nobody"), names("mcp:nobody")), (None, None));
    for (name, canonical) in [
        ("recall", Some("recall")),
        ("memory_recall", Some("recall")),
        ("web_search", Some("search_web")),
        ("datetime", Some("get_current_datetime")),
        ("tally", Some("tally")),
        ("nobody", None),
    ] {
        assert_eq!(Names::canonical(&catalogue, name).as_deref(), canonical, "{name}");
    }
    let ids = Names::groups(&catalogue);
    assert!(["fs", "pdf", "mcp:home"].iter().all(|id| ids.iter().any(|i| **i == **id)));
}

#[test]
fn groups_start_as_decided() {
    let mut catalogue = catalogue();
    for (id, on) in [
        ("core", true),
        ("filesystem", true),
        ("generation", true),
        ("vectorSearch", true),
        ("webFetch", true),
        ("git", true),
        ("codeExecution", false),
        ("email", false),
        ("pdf", false),
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
    // A group that needs a key is on when the key is there, unless somebody turned it off.
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
    // A tool added while its group is off is off.
    catalogue.add_all(vec![brought("mcp", "mcp_home_fan", Owner::McpServer("home".into()))]).unwrap();
    assert!(!enabled(&catalogue, "mcp_home_fan"));

    for (id, part) in [("system", "always on"), ("fs", "`filesystem`"), ("nobody", "no group called `nobody`")] {
        let before = switches.clone();
        let error = catalogue.switch(&mut switches, id, false).unwrap_err();
        assert!(error.message().contains(part) && switches == before, "{id}: {error}");
    }
    // The meta-tools cannot be turned off by any stored switch.
    catalogue.set_groups(BTreeMap::from([("system".to_owned(), false), ("fs".to_owned(), false)]));
    assert!(enabled(&catalogue, "use_tool") && enabled(&catalogue, "read_file"));
}

#[test]
fn an_explicit_off_wins() {
    let mut catalogue = catalogue();
    let text = family("textUtils", &["hash_text", "encode_decode"]).also_in(&["conversion"]);
    let text =
        text.shared_group(ToolGroup::new("conversion", "Units.")).shared_group(ToolGroup::new("validation", "Checks."));
    catalogue.add_families(vec![add(text, "validate").also_in(&["validation"]).into_parts()]).unwrap();
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
    // A switched-off group also turns off the groups that need it; a group that is off by default is not an explicit
    // off.
    catalogue.set_groups(BTreeMap::from([("filesystem".to_owned(), false)]));
    assert_eq!(off(&catalogue, "git_status").as_deref(), Some("git"));
    assert_eq!(off(&catalogue, "execute_shell").as_deref(), Some("codeExecution"));

    // A group whose tools are all turned off by others is off, and reports it; one that has other tools lists those
    // that are off.
    let mut switches = BTreeMap::new();
    catalogue.set_groups(switches.clone());
    assert_eq!(catalogue.switch(&mut switches, "textUtils", false).unwrap(), ["conversion", "validation"]);
    catalogue.set_groups(switches.clone());
    assert!(!group(&catalogue, "validation").enabled && off(&catalogue, "validate").as_deref() == Some("textUtils"));
    let stored = switches.clone();
    let error = catalogue.switch(&mut switches, "validation", true).unwrap_err();
    assert!(error.message().contains("also in `textUtils`, which was turned off") && switches == stored, "{error}");
    assert_eq!(catalogue.switch(&mut switches, "core", false).unwrap(), ["generation"]);
    catalogue.add_families(vec![family("more", &["random_number"]).in_group("generation").into_parts()]).unwrap();
    catalogue.set_groups(switches.clone());
    let generation = group(&catalogue, "generation");
    assert!(generation.enabled && enabled(&catalogue, "random_number"));
    assert_eq!((generation.tools.len(), generation.off_elsewhere), (2, vec!["generate_uuid".to_owned()]));
}

#[test]
fn tools_come_go_and_change() {
    let mut catalogue = catalogue();
    let before = catalogue.stats();
    assert_eq!((before.by_owner["core"], before.by_owner["plugin:games"], before.by_group["core"]), (18, 1, 3));
    assert_eq!((before.total, before.enabled), (21, 19));
    assert_eq!(catalogue.remove_owner(&Owner::Plugin("games".into())), 1);
    assert_eq!(catalogue.remove_owner(&Owner::Plugin("games".into())), 0);
    assert!(catalogue.get("sudoku").is_none());
    assert!(!catalogue.remove("memory", "tally") && catalogue.remove("custom", "tally"), "by its group");
    assert!(!catalogue.remove("utilities", "calculate") && catalogue.remove("core", "calculate"));

    // Another function; everything else stays.
    let other: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(tool::Output::text("other")) }));
    assert!(catalogue.replace("recall", other.clone()) && !catalogue.replace("nobody", other.clone()));
    let recall = catalogue.get("recall").unwrap();
    assert!(Arc::ptr_eq(&recall.run, &other) && &*recall.group == "memory" && recall.enabled);
}
