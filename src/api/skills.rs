//! `/api/v1/skills`: list, read, upload, switch, vouch for, restore and delete skills.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathText, Raw, ok},
    query::Query,
};
use ::skills::{BYTES, Change, MANIFEST, Package, Skill, Target, Whose};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use tool::{
    Error, Label,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/",
            get(list, "List skills.")
                .post(upload, "Install a skill from a ZIP file or a SKILL.md.")
                .scope(TokenScope::Admin)
                .max_body(BYTES),
        )
        .route(
            "/{name}",
            get(one, "Get a skill, or one of its files.")
                .patch(change, "Switch a skill on or off, or vouch for it.")
                .scope(TokenScope::Admin)
                .delete(delete, "Delete a skill.")
                .scope(TokenScope::Admin),
        )
        .route(
            "/{name}/restore",
            post(restore, "Install an earlier version of a skill again.").scope(TokenScope::Admin),
        )
        .scope(TokenScope::Chat)
}

/// Skills, by name.
#[derive(Serialize, JsonSchema)]
struct SkillList {
    skills: Vec<SkillLine>,
}

/// A skill.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SkillLine {
    /// The name of its folder, by which it is used.
    name: String,
    /// Display name; empty where it is broken.
    title: String,
    /// Its purpose, and when to use it.
    description: String,
    tags: Vec<String>,
    /// The number of the installed version.
    version: u32,
    /// Whether it is everybody's, and not the caller's own.
    shared: bool,
    /// Whether models may use it.
    enabled: bool,
    /// Whether its text counts as the household's own: it was made here, or a person has vouched for it.
    trusted: bool,
    /// Its origin: `folder`, `upload`, `text`, `workspace` or `restore`.
    source: String,
    /// When it was installed: milliseconds since 1970; none for one that was put there by hand.
    installed_at: Option<u64>,
    /// How often it was used.
    uses: u32,
    /// Why it cannot be used.
    problem: Option<String>,
}

impl SkillLine {
    fn of(skill: &Skill) -> Self {
        let (manifest, problem) = match &skill.manifest {
            Ok(manifest) => (Some(manifest), None),
            Err(why) => (None, Some(why.clone())),
        };
        let facts = skill.facts.as_ref();
        Self {
            name: skill.slug.clone(),
            title: manifest.map(|m| m.name.clone()).unwrap_or_default(),
            description: manifest.map(|m| m.description.clone()).unwrap_or_default(),
            tags: manifest.map(|m| m.tags.clone()).unwrap_or_default(),
            version: skill.version(),
            shared: skill.whose == Whose::Household,
            enabled: skill.enabled,
            trusted: skill.label() == Label::Own,
            source: facts.map_or_else(|| "folder".to_owned(), |facts| facts.source.clone()),
            installed_at: facts.map(|facts| facts.at).filter(|at| *at > 0),
            uses: skill.uses,
            problem,
        }
    }
}

/// A file of a skill.
#[derive(Serialize, JsonSchema)]
struct SkillFile {
    path: String,
    /// Its length in bytes.
    size: u64,
}

/// A skill with its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SkillView {
    #[serde(flatten)]
    skill: SkillLine,
    /// The text of its SKILL.md, or of the file that was asked for.
    text: String,
    /// Its files.
    files: Vec<SkillFile>,
    /// The numbers of the earlier versions.
    versions: Vec<u32>,
    /// The tools it names.
    allowed_tools: Vec<String>,
}

fn view(house: &AppState, caller: &Caller, skill: &Skill, file: &str) -> Result<SkillView, Failure> {
    let cx = house.cx(caller);
    let files = house.skills.files(&cx, skill);
    let text = match house.skills.file(&cx, skill, file) {
        Ok(text) => text,
        // A broken skill is shown, with the reason.
        Err(_) if file == MANIFEST => String::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(SkillView {
        skill: SkillLine::of(skill),
        text,
        files: files.into_iter().map(|(path, size)| SkillFile { path, size }).collect(),
        versions: house.skills.versions(&cx, skill),
        allowed_tools: skill.manifest.as_ref().map(|m| m.allowed_tools.clone()).unwrap_or_default(),
    })
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<SkillList> {
    let skills = house.skills.list(&house.cx(&caller))?;
    Ok(ok(SkillList { skills: skills.iter().map(SkillLine::of).collect() }))
}

/// Which of two skills of one name, and which file.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// Everybody's (true), or the caller's own (false); the caller's own first by default.
    shared: Option<bool>,
    /// The file to show; SKILL.md by default.
    file: Option<String>,
}

fn whose(shared: Option<bool>) -> Option<Whose> {
    shared.map(|shared| if shared { Whose::Household } else { Whose::Own })
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Query(which): Query<Which>,
) -> Answer<SkillView> {
    let skill = house.skills.get(&house.cx(&caller), &name, whose(which.shared))?;
    Ok(ok(view(&house, &caller, &skill, which.file.as_deref().unwrap_or(MANIFEST))?))
}

/// The place of a new skill.
#[derive(Deserialize, JsonSchema)]
struct Where {
    /// The name of its folder; from the skill's name by default.
    name: Option<String>,
    /// For everybody; only an admin may.
    #[serde(default)]
    shared: bool,
    /// Vouch for it: its text then counts as the household's own.
    #[serde(default)]
    trusted: bool,
}

/// Installs a skill; the body is a ZIP file or the text of a SKILL.md.
async fn upload(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(to): Query<Where>,
    Raw(bytes): Raw,
) -> Result<New<SkillView>, Failure> {
    let read = tokio::task::spawn_blocking(move || Package::from_bytes(&bytes)).await;
    let package = read.map_err(|_| Failure::new(422, "failed", "the file could not be read: pack it again"))?;
    let package = package.map_err(Error::bad_args)?;
    let whose = if to.shared { Whose::Household } else { Whose::Own };
    let target = Target { slug: to.name.as_deref(), whose, outside: !to.trusted, source: "upload" };
    let skill = house.skills.install(&house.cx(&caller), package, target).await?;
    Ok(New(view(&house, &caller, &skill, MANIFEST)?))
}

/// Changes of a skill; omitted ones leave it as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Changed {
    /// Whether models may use it.
    enabled: Option<bool>,
    /// Whether a person vouches for its text.
    trusted: Option<bool>,
}

async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Query(which): Query<Which>,
    Json(changed): Json<Changed>,
) -> Answer<SkillView> {
    let change = Change { enabled: changed.enabled, trusted: changed.trusted };
    let skill = house.skills.change(&house.cx(&caller), &name, whose(which.shared), change).await?;
    Ok(ok(view(&house, &caller, &skill, MANIFEST)?))
}

/// The version to install again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Back {
    /// Its number.
    version: u32,
    /// Everybody's skill, and not the caller's own.
    #[serde(default)]
    shared: bool,
}

async fn restore(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(back): Json<Back>,
) -> Answer<SkillView> {
    let whose = if back.shared { Whose::Household } else { Whose::Own };
    let skill = house.skills.restore(&house.cx(&caller), &name, whose, back.version).await?;
    Ok(ok(view(&house, &caller, &skill, MANIFEST)?))
}

async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Query(which): Query<Which>,
) -> Answer<Deleted> {
    house.skills.delete(&house.cx(&caller), &name, whose(which.shared)).await?;
    Ok(ok(Deleted::yes()))
}
