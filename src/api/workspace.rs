//! `/api/v1/workspace`: places, folders, changes, trash and search of files. Contents: `workspace_files.rs`.

use crate::{
    AppState, Caller,
    describe::{Routes, delete, get, post},
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathId, PathText, ok},
    query::{Limit, Query},
    workspace_files::{as_change, require_allowed},
};
use ::workspace::{AddedFolder, Entry, FoundFiles, Located, Place, TrashEntry};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/places",
            get(places, "List the folders that the caller sees.")
                .post(add_place, "Add a folder or mount of this machine.")
                .admin()
                .scope(TokenScope::Admin),
        )
        .route(
            "/places/{id}",
            delete(remove_place, "Remove an added folder; its files stay.").admin().scope(TokenScope::Admin),
        )
        .route("/list", get(list, "List what is in a folder."))
        .route("/folders", post(create_folder, "Make a folder, and those above it."))
        .route("/move", post(move_to, "Move or rename a file or folder."))
        .route("/copy", post(copy, "Copy a file or folder."))
        .route("/delete", post(remove, "Put a file or folder into the trash."))
        .route(
            "/vouch",
            post(vouch, "Vouch for a file from outside: it counts as the household's own until it changes.")
                .scope(TokenScope::Admin),
        )
        .route("/trash", get(trash, "List the trash."))
        .route("/trash/{id}/restore", post(restore, "Bring something back from the trash."))
        .route("/trash/empty", post(empty_trash, "Remove what is in the trash for good.").scope(TokenScope::Admin))
        .route("/search", get(search, "Find files by words of their paths."))
        .scope(TokenScope::Tools)
}

/// The folders of the caller.
#[derive(Serialize, JsonSchema)]
struct Places {
    /// Relative paths begin in the first.
    places: Vec<Place>,
}

async fn places(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Places> {
    let (cx, workspaces) = (house.cx(&caller), house.workspaces.clone());
    Ok(ok(Places { places: workspaces.places_counted(&cx).await? }))
}

/// A folder or mount of this machine.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewPlace {
    /// Its name, with which paths begin: 2 to 32 small letters, digits and dashes.
    name: String,
    /// Its absolute path.
    path: String,
    /// Whether nothing is changed in it.
    #[serde(default)]
    read_only: bool,
    /// Names of files and folders that do not exist in it.
    #[serde(default)]
    deny: Vec<String>,
    /// Whether only admins reach it.
    #[serde(default)]
    admins_only: bool,
    /// Whether what is in it counts as the household's own words; otherwise as from outside.
    #[serde(default)]
    trusted: bool,
}

async fn add_place(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(new): Json<NewPlace>,
) -> Result<New<Place>, Failure> {
    let cx = house.cx(&caller);
    let NewPlace { name, path, read_only, deny, admins_only, trusted } = new;
    let folder = AddedFolder { name, path, read_only, deny, admins_only, trusted };
    let place = house.workspaces.add_place(&cx, folder).await?;
    house.registry.audit_change(&cx, "workspace folder added", &json!({"name": place.id, "path": place.path}));
    Ok(New(place))
}

async fn remove_place(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Deleted> {
    let cx = house.cx(&caller);
    house.workspaces.remove_place(&cx, &id).await?;
    house.registry.audit_change(&cx, "workspace folder removed", &json!({"name": id}));
    Ok(ok(Deleted::yes()))
}

/// A folder, and which of its entries.
#[derive(Deserialize, JsonSchema)]
struct Listed {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place; the place itself by default.
    #[serde(default)]
    path: String,
    /// How many entries to leave out.
    #[serde(default)]
    offset: usize,
    /// How many entries, 1000 at most.
    #[serde(default)]
    limit: Limit<200, 1000>,
}

/// Some of what is in a folder.
#[derive(Serialize, JsonSchema)]
struct FolderList {
    place: String,
    path: String,
    #[serde(flatten)]
    list: ::workspace::Listing,
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Listed>,
) -> Answer<FolderList> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &which.place, &which.path)?;
    require_allowed(&house, &cx, "list_directory", &json!({"path": at.display()}))?;
    let list = house.workspaces.list(&cx, &at, which.offset, which.limit.get()).await?;
    Ok(ok(FolderList { place: at.place_id().to_owned(), path: at.path().text(), list }))
}

/// A file or folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spot {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place.
    path: String,
}

/// A file or folder, and its target.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Transfer {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place.
    path: String,
    /// The id of the other place; the same by default.
    to_place: Option<String>,
    /// The path there; into a folder that exists, under its own name.
    to_path: String,
    /// Whether what is there goes into the trash.
    #[serde(default)]
    overwrite: bool,
}

/// An entry in its place.
#[derive(Serialize, JsonSchema)]
struct EntryInPlace {
    /// The id of its place.
    place: String,
    entry: Entry,
}

impl EntryInPlace {
    fn new(at: &Located, entry: Entry) -> Self {
        Self { place: at.place_id().to_owned(), entry }
    }
}

async fn create_folder(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(spot): Json<Spot>,
) -> Answer<EntryInPlace> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &spot.place, &spot.path)?;
    require_allowed(&house, &cx, "create_folder", &json!({"path": at.display()}))?;
    let (entry, _) = as_change(&cx, "create_folder", house.workspaces.create_folder(&cx, &at)).await?;
    Ok(ok(EntryInPlace::new(&at, entry)))
}

async fn move_to(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Transfer>,
) -> Answer<EntryInPlace> {
    let cx = house.cx(&caller);
    let from = house.workspaces.locate_in(&cx, &body.place, &body.path)?;
    let to = house.workspaces.locate_in(&cx, body.to_place.as_deref().unwrap_or(&body.place), &body.to_path)?;
    let args = json!({"source": from.display(), "destination": to.display(), "overwrite": body.overwrite});
    require_allowed(&house, &cx, "move_file", &args)?;
    let entry = as_change(&cx, "move_file", house.workspaces.move_to(&cx, &from, &to, body.overwrite)).await?;
    Ok(ok(EntryInPlace::new(&to, entry)))
}

async fn copy(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Transfer>,
) -> Answer<EntryInPlace> {
    let cx = house.cx(&caller);
    let from = house.workspaces.locate_in(&cx, &body.place, &body.path)?;
    let to = house.workspaces.locate_in(&cx, body.to_place.as_deref().unwrap_or(&body.place), &body.to_path)?;
    let args = json!({"source": from.display(), "destination": to.display(), "overwrite": body.overwrite});
    require_allowed(&house, &cx, "copy_file", &args)?;
    let entry = as_change(&cx, "copy_file", house.workspaces.copy(&cx, &from, &to, body.overwrite)).await?;
    Ok(ok(EntryInPlace::new(&to, entry)))
}

async fn remove(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(spot): Json<Spot>,
) -> Answer<TrashEntry> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &spot.place, &spot.path)?;
    require_allowed(&house, &cx, "delete_file", &json!({"path": at.display()}))?;
    Ok(ok(as_change(&cx, "delete_file", house.workspaces.delete(&cx, &at)).await?))
}

async fn vouch(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(spot): Json<Spot>,
) -> Answer<EntryInPlace> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &spot.place, &spot.path)?;
    require_allowed(&house, &cx, "write_file", &json!({"path": at.display(), "content": ""}))?;
    let entry = house.workspaces.vouch(&cx, &at).await?;
    house.registry.audit_change(&cx, "file vouched for", &json!({"path": at.display()}));
    Ok(ok(EntryInPlace::new(&at, entry)))
}

/// The deleted files and folders.
#[derive(Serialize, JsonSchema)]
struct Trash {
    /// The latest first.
    entries: Vec<TrashEntry>,
}

async fn trash(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Trash> {
    let cx = house.cx(&caller);
    require_allowed(&house, &cx, "list_directory", &json!({"path": "."}))?;
    Ok(ok(Trash { entries: house.workspaces.trash(&cx)? }))
}

async fn restore(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<EntryInPlace> {
    let cx = house.cx(&caller);
    let lost = house.workspaces.trash(&cx)?.into_iter().find(|entry| entry.id == id);
    let path = lost.map(|entry| format!("{}:/{}", entry.place, entry.path)).unwrap_or_default();
    require_allowed(&house, &cx, "write_file", &json!({"path": path, "content": ""}))?;
    let (place, entry) = as_change(&cx, "restore_file", house.workspaces.restore(&cx, id)).await?;
    Ok(ok(EntryInPlace { place, entry }))
}

/// Which trash.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Emptied {
    /// The id of one place; all that the caller may change by default.
    place: Option<String>,
}

/// The number of removed entries.
#[derive(Serialize, JsonSchema)]
struct Removed {
    /// How many entries of the trash.
    removed: usize,
}

async fn empty_trash(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(which): Json<Emptied>,
) -> Answer<Removed> {
    let cx = house.cx(&caller);
    if !cx.is_in_person() {
        return Err(Failure::new(403, "denied", "only a person empties the trash"));
    }
    require_allowed(&house, &cx, "delete_file", &json!({"path": "."}))?;
    Ok(ok(Removed { removed: house.workspaces.empty_trash(&cx, which.place.as_deref()).await? }))
}

/// Words of a path.
#[derive(Deserialize, JsonSchema)]
struct Searched {
    /// Words that the path has.
    query: String,
    /// The id of one place; all by default.
    place: Option<String>,
    /// How many files, 200 at most.
    #[serde(default)]
    limit: Limit<50, 200>,
}

async fn search(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(searched): Query<Searched>,
) -> Answer<FoundFiles> {
    let cx = house.cx(&caller);
    require_allowed(
        &house,
        &cx,
        "search_files",
        &json!({"path": searched.place.as_deref().map(|place| format!("{place}:/"))}),
    )?;
    let found = house.workspaces.find_by_name(&cx, searched.place.as_deref(), &searched.query, searched.limit.get());
    Ok(ok(found.await?))
}
