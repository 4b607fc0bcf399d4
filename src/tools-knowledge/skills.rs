//! Tools that find, read and publish skills.

use ::skills::{MANIFEST, Match, Package, Skills, Target, Whose};
use std::collections::BTreeMap;
use text_kit::{More, counted_one, listing, truncate};
use tool::{Label, prelude::*};
use uploads::Uploads;

/// The default and the largest number of results.
const PAGE: (u32, u32) = (5, 20);
/// The maximum length of a skill's text in an answer, in characters.
const CHARACTERS: usize = 60_000;
/// How many files of a skill an answer lists.
const FILES: usize = 100;

/// The state of the tools.
#[derive(Clone)]
pub struct SkillTools {
    skills: Skills,
    uploads: Uploads,
}

/// Tools for skills.
pub fn family(skills: Skills, uploads: Uploads) -> Family<SkillTools> {
    Family::new("skills", "Use skills, and publish them.", SkillTools { skills, uploads })
        .phrases(include_str!("skills.en"))
        .area(Area::Memory)
        .tool("skill_search", Risk::Observe, search)
        .in_group("knowledge")
        .page_by("maxResults", PAGE)
        .tags("find skills abilities instructions how to know can do guide")
        .example(json!({"query": "write a formal letter"}))
        .tool("use_skill", Risk::Observe, use_skill)
        .tags("load read follow activate skill instructions guide")
        .example(json!({"name": "formal-letters"}))
        .tool("publish_skill", Risk::Write, publish)
        .confirm()
        .persists_instructions()
        .tags("install add create upload save skill SKILL.md zip folder")
        .example(
            json!({"path": "formal-letters/SKILL.md", "content": "---\nname: formal-letters\ndescription: …\n---\n…"}),
        )
}

/// Search the installed skills: instructions for particular tasks. Read a fitting one with use_skill before the task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Search {
    /// The task, in a few words.
    query: String,
    max_results: Option<u32>,
}

async fn search(tools: SkillTools, cx: Cx, args: Search) -> Result<Output> {
    let limit = args.max_results.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let found = tools.skills.search(&cx, &args.query, limit).await?;
    let named: Vec<String> = found.iter().filter_map(named).collect();
    let sentence = match named.len() {
        0 => format!("No skill is about “{}”.", truncate(args.query.trim(), 60)),
        n => listing(&format!("I found {}", counted_one(n, "skill")), &named, More::None),
    };
    let results: Vec<Value> = found.iter().filter_map(view).collect();
    Ok(Output::json(json!({"count": results.len(), "results": results}))?.say(sentence))
}

fn named(found: &Match) -> Option<String> {
    Some(format!("{}: {}", found.skill.slug, truncate(&found.skill.usable()?.description, 100)))
}

fn view(found: &Match) -> Option<Value> {
    let manifest = found.skill.usable()?;
    let score = (f64::from(found.score) * 1000.0).round() / 1000.0;
    Some(json!({"name": found.skill.slug, "description": manifest.description, "tags": manifest.tags, "score": score}))
}

/// Read the instructions of a skill, and follow them for this task. With `file`, read one of its further files instead.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Use {
    /// Name of the skill, as skill_search returns it.
    name: String,
    /// Path of one of its files.
    file: Option<String>,
}

async fn use_skill(tools: SkillTools, cx: Cx, args: Use) -> Result<Output> {
    let slug = ::skills::slug_of(&args.name);
    let skill = tools.skills.get(&cx, if slug.is_empty() { &args.name } else { &slug }, None).await?;
    let name = &skill.slug;
    let manifest =
        skill.manifest.clone().map_err(|why| Error::unavailable(format!("the skill `{name}` is broken: {why}")))?;
    if !skill.enabled {
        return Err(Error::denied(format!("the skill `{name}` is switched off: a person can switch it on")));
    }
    // As read_file takes it.
    let base = format!("skills:/{name}");
    let resolved = |text: &str| text.replace("{baseDir}", &base).replace("${CLAUDE_SKILL_DIR}", &base);
    if let Some(file) = &args.file {
        let file = file.strip_prefix(&base).and_then(|rest| rest.strip_prefix('/')).unwrap_or(file);
        let text = resolved(&tools.skills.file(&cx, &skill, file).await?);
        let mut content = json!({"name": name, "file": file, "content": truncate(&text, CHARACTERS)});
        mark_cut(&mut content, &text);
        return Ok(Output::json(content)?.say(format!("I read {file} of the skill {name}.")));
    }
    cx.taint(skill.label());
    tools.skills.count_use(&cx, &skill);
    let files: BTreeMap<String, u64> = tools.skills.files(&cx, &skill).await?;
    let files: Vec<&String> = files.keys().filter(|path| *path != MANIFEST).take(FILES).collect();
    let text = resolved(&manifest.body);
    let mut content = json!({
        "name": name,
        "description": manifest.description,
        "version": skill.version(),
        "instructions": truncate(&text, CHARACTERS),
        "baseDir": base,
        "files": files,
    });
    mark_cut(&mut content, &text);
    if !manifest.allowed_tools.is_empty() {
        content["allowedTools"] = manifest.allowed_tools.clone().into();
    }
    if skill.label() == Label::Outside {
        content["note"] = "This skill comes from elsewhere, and nobody has vouched for it.".into();
    }
    Ok(Output::json(content)?.say(format!("I read the skill {name}.")))
}

/// Says of a text that was too long that its end is missing.
fn mark_cut(content: &mut Value, text: &str) {
    let count = text.chars().count();
    if count > CHARACTERS {
        content["truncated"] = format!("The first {CHARACTERS} of {count} characters.").into();
    }
}

/// Install a skill, or a new version of one: the id of an uploaded ZIP file or SKILL.md, or the text of a SKILL.md in `content`. A
/// person is asked first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Publish {
    /// Id of the uploaded file. With `content`: NAME/SKILL.md.
    path: String,
    /// Text of the SKILL.md: front matter with name and description, then the instructions.
    content: Option<String>,
    /// Name of its folder (default: from the skill's name).
    name: Option<String>,
    /// Whether the whole household gets it; only an admin may.
    #[serde(default)]
    shared: bool,
}

async fn publish(tools: SkillTools, cx: Cx, args: Publish) -> Result<Output> {
    let mut folder = args.name.clone();
    let (package, source) = match &args.content {
        Some(text) => {
            let named = args.path.trim_end_matches(MANIFEST).trim_end_matches('/').rsplit('/').next();
            folder = folder.or_else(|| named.map(::skills::slug_of).filter(|slug| !slug.is_empty()));
            (Package::from_bytes(text.as_bytes()), "text")
        }
        None => {
            let id = args.path.parse::<tool::Id>().map_err(|_| {
                Error::bad_args("`path` is no id of an uploaded file: pass one, or the text of a SKILL.md as `content`")
            })?;
            let (_, bytes) = tools.uploads.load(&cx, id).await?;
            let read = tokio::task::spawn_blocking(move || Package::from_bytes(&bytes)).await;
            let package = read.map_err(|error| Error::failed(format!("reading the skill stopped: {error}")))?;
            if package.is_err() {
                // The reason quotes a stranger's text.
                cx.taint(Label::Outside);
            }
            (package, "upload")
        }
    };
    let package = package.map_err(Error::bad_args)?;
    let outside = cx.label() != Label::Own || source == "upload";
    let whose = if args.shared { Whose::Household } else { Whose::Own };
    let target = Target { slug: folder.as_deref(), whose, outside, source };
    let skill = tools.skills.install(&cx, package, target).await?;
    let (slug, version) = (skill.slug.clone(), skill.version());
    let sentence = format!("The skill {slug} is installed: version {version}.");
    Ok(Output::json(json!({"name": slug, "version": version, "trusted": !outside}))?.say(sentence))
}
