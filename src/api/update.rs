//! `/api/v1/update`: which version runs, and installing another. The root implements [`Updates`].
//!
//! A bundle's head comes first and is verified whole. The answer names the ranges of the file that the device lacks, and only these
//! are sent, piece by piece; each chunk is verified as it arrives. An upload resumes by its head.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    envelope::{Accepted, Answer, Created, Deleted, Failure, Json, PathText, Raw, ok},
    query::Query,
};
use axum::{Extension, extract::State};
use futures::future::BoxFuture;
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use tool::{
    Result,
    prelude::{JsonSchema, schemars},
};

/// The largest head of a bundle, and the largest piece of an upload, in bytes.
pub const MAX_HEAD: usize = 4 << 20;
pub const MAX_PIECE: usize = 1 << 20;

/// A slot and what is in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSlot {
    /// `a` or `b`; left out where there is only one copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    pub version: String,
    /// Whether it is a whole system, and not Hob alone.
    pub system: bool,
}

/// How far an update has come.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateProgress {
    /// Bytes that are in the slot, or checks that passed.
    pub done: u64,
    /// All of them.
    pub total: u64,
}

/// How the last update ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateOutcome {
    /// `committed`, `failed`, `rolled_back` or `cancelled`.
    pub what: String,
    /// The reason, in a sentence.
    pub why: String,
    /// When: milliseconds since 1970.
    pub at: i64,
    pub version: String,
}

/// A version that a channel offers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateAvailable {
    pub version: String,
    /// The release notes.
    pub notes: String,
    /// The size of its bundle in bytes; less of it travels.
    pub bytes: u64,
}

/// The channel of hob.toml.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateChannel {
    pub url: String,
    /// When it was last read: milliseconds since 1970.
    pub checked_at: Option<i64>,
    /// Why it could not be read last time.
    pub problem: Option<String>,
    /// A newer version than the one that runs.
    pub available: Option<UpdateAvailable>,
}

/// A bundle in a folder that is looked at, such as that of a USB stick.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateFound {
    /// To install it; null when it cannot be.
    pub id: Option<String>,
    /// The file.
    pub path: String,
    pub bytes: u64,
    pub version: Option<String>,
    /// The release notes.
    pub notes: Option<String>,
    /// Whether it is newer than the version that runs.
    pub newer: bool,
    /// Why it cannot be installed.
    pub problem: Option<String>,
}

/// The version that a person wants to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// A complete upload, by its id.
    Upload(String),
    /// A bundle in a folder, by its id.
    Found(String),
}

/// The state of updates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateView {
    /// `idle`, `writing`, `staged`, `trying`, `committed` or `failed`.
    pub state: String,
    /// The version that this is about.
    pub version: Option<String>,
    pub running: UpdateSlot,
    /// The complete version in the other slot.
    pub other: Option<UpdateSlot>,
    /// How the two copies are stored: `dir`, `uboot`, `pi-tryboot`, or `none`.
    pub kind: String,
    pub board: String,
    /// The lowest serial that may be installed.
    pub floor: u64,
    pub progress: Option<UpdateProgress>,
    /// The upload that is open or complete.
    pub upload: Option<OpenUpload>,
    pub last_outcome: Option<UpdateOutcome>,
    pub channel: Option<UpdateChannel>,
    /// Bundles in the folder of hob.toml, or on the image's card and sticks; the state of the last look.
    pub found: Vec<UpdateFound>,
    /// Whether an update can be installed now.
    pub can_install: bool,
    /// Why not.
    pub why_not: Option<String>,
    /// Whether there is a version to go back to.
    pub can_roll_back: bool,
    /// Whether an update is being fetched or verified, to be started then.
    pub preparing: bool,
    /// Why the last one could not be installed.
    pub problem: Option<String>,
    /// Whether Hob is about to restart into another version.
    pub restarting: bool,
}

/// An upload that is not installed yet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenUpload {
    pub id: String,
    pub version: String,
    /// Bytes that are missing, of those that the device lacked at first; null after a restart, until it is continued.
    pub needed_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
}

/// A range of a bundle's file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ByteRange {
    pub offset: u64,
    pub length: u64,
}

/// An upload, and what it needs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleUpload {
    /// The same for the same bundle.
    pub id: String,
    pub version: String,
    /// The release notes.
    pub notes: String,
    /// The ranges that the device lacks, in order.
    pub needed: Vec<ByteRange>,
    pub needed_bytes: u64,
    /// The size of the whole bundle in bytes.
    pub total_bytes: u64,
}

/// How far an upload is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PieceTaken {
    /// Bytes that are missing.
    pub needed_bytes: u64,
}

/// That Hob restarts into another version, as soon as that is complete and verified.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Switching {
    /// True: Hob is away for a moment.
    pub restarting: bool,
    /// The version that is started.
    pub version: String,
}

/// Updates of this device.
pub trait Updates: Send + Sync + 'static {
    /// The state.
    fn view(&self) -> BoxFuture<'_, Result<UpdateView>>;
    /// Whether a version is being tried.
    fn is_trying(&self) -> bool;
    /// Begins or resumes an upload.
    fn begin(&self, head: Vec<u8>) -> BoxFuture<'_, Result<BundleUpload>>;
    /// The upload, and what it still needs.
    fn upload(&self, id: String) -> BoxFuture<'_, Result<BundleUpload>>;
    /// Takes bytes of a needed range.
    fn put(&self, id: String, offset: u64, bytes: Vec<u8>) -> BoxFuture<'_, Result<PieceTaken>>;
    /// Gives up an upload.
    fn discard(&self, id: String) -> BoxFuture<'_, Result<()>>;
    /// Installs what was chosen, or else what the channel offers or a folder has, and restarts into it.
    fn install(&self, chosen: Option<InstallSource>) -> BoxFuture<'_, Result<Switching>>;
    /// Keeps the version on trial.
    fn confirm(&self) -> BoxFuture<'_, Result<()>>;
    /// Goes back to the other version, and restarts into it.
    fn rollback(&self) -> BoxFuture<'_, Result<Switching>>;
    /// Reads the channel, and looks into the folders.
    fn check(&self) -> BoxFuture<'_, Result<()>>;
}

pub(crate) fn routes() -> Routes<AppState> {
    let uploads = Routes::new()
        .route(
            "/update/uploads",
            post(begin, "Begin or resume the upload of a bundle: the body is its head.")
                .admin()
                .secret()
                .max_body(MAX_HEAD),
        )
        .route(
            "/update/uploads/{id}",
            get(upload, "What an upload still needs.")
                .admin()
                .secret()
                .put(put, "Send bytes of a needed range: at most 1 MB, from its begin or where the last piece ended.")
                .admin()
                .secret()
                // A piece that is too large is refused with the size of one.
                .max_body(MAX_PIECE + 1)
                .delete(discard, "Give up an upload.")
                .admin()
                .secret(),
        );
    let acts = Routes::new()
        .route(
            "/update/install",
            post(install, "Install an upload, a bundle in a folder, or what the channel offers, and restart.")
                .admin()
                .secret(),
        )
        .route("/update/confirm", post(confirm, "Keep the version that is being tried.").admin().secret())
        .route("/update/rollback", post(rollback, "Go back to the other version, and restart.").admin().secret())
        .route(
            "/update/check",
            post(check, "Read the channel, and look into the folders for bundles, now.").admin().secret(),
        );
    Routes::new()
        .route("/update", get(view, "Which version runs, and how far an update is.").scope(TokenScope::Device))
        .merge(uploads)
        .merge(acts)
        .scope(TokenScope::Admin)
}

pub(crate) async fn view(State(house): State<AppState>) -> Answer<UpdateView> {
    Ok(ok(house.updates.view().await?))
}

pub(crate) async fn begin(State(house): State<AppState>, Raw(head): Raw) -> Result<Created<BundleUpload>, Failure> {
    may_change(&house)?;
    Ok(Created(house.updates.begin(head).await?))
}

pub(crate) async fn upload(State(house): State<AppState>, PathText(id): PathText) -> Answer<BundleUpload> {
    Ok(ok(house.updates.upload(id).await?))
}

/// The place of the bytes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct At {
    /// Their first byte's place in the bundle.
    offset: u64,
}

pub(crate) async fn put(
    State(house): State<AppState>,
    PathText(id): PathText,
    Query(at): Query<At>,
    Raw(bytes): Raw,
) -> Answer<PieceTaken> {
    may_change(&house)?;
    Ok(ok(house.updates.put(id, at.offset, bytes).await?))
}

pub(crate) async fn discard(State(house): State<AppState>, PathText(id): PathText) -> Answer<Deleted> {
    house.updates.discard(id).await?;
    Ok(ok(Deleted::yes()))
}

/// The version to install.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Install {
    /// The id of a complete upload; left out: what the channel offers, or else the newest bundle in a folder.
    #[schemars(length(max = 100))]
    upload_id: Option<String>,
    /// The id of a bundle in a folder.
    #[schemars(length(max = 100))]
    found_id: Option<String>,
}

pub(crate) async fn install(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Install>,
) -> Result<Accepted<Switching>, Failure> {
    let cx = house.cx(&caller);
    may_change(&house)?;
    let chosen = match (body.upload_id, body.found_id) {
        (Some(_), Some(_)) => return Err(Failure::new(400, "bad_args", "name an upload or a found bundle, not both")),
        (Some(id), None) => Some(InstallSource::Upload(id)),
        (None, Some(id)) => Some(InstallSource::Found(id)),
        (None, None) => None,
    };
    let switching = house.updates.install(chosen).await?;
    house.registry.audit_change(&cx, "install_update", &serde_json::json!({"version": switching.version}));
    Ok(Accepted(switching))
}

pub(crate) async fn confirm(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<UpdateView> {
    may_change(&house)?;
    house.updates.confirm().await?;
    let view = house.updates.view().await?;
    let version = serde_json::json!({"version": view.running.version});
    house.registry.audit_change(&house.cx(&caller), "confirm_update", &version);
    Ok(ok(view))
}

pub(crate) async fn rollback(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Result<Accepted<Switching>, Failure> {
    let cx = house.cx(&caller);
    may_change(&house)?;
    let switching = house.updates.rollback().await?;
    house.registry.audit_change(&cx, "roll_back_update", &serde_json::json!({"version": switching.version}));
    Ok(Accepted(switching))
}

pub(crate) async fn check(State(house): State<AppState>) -> Answer<UpdateView> {
    house.updates.check().await?;
    Ok(ok(house.updates.view().await?))
}

/// Only the daemon changes versions: a process for one command ends too soon.
fn may_change(house: &AppState) -> Result<(), Failure> {
    match house.lasting {
        true => Ok(()),
        false => Err(Failure::new(409, "unavailable", "no daemon runs over this data: start it with `hob supervise`")),
    }
}
