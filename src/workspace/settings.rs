//! Folders that admins add, and how places are shown.

use crate::{
    Shared, Workspaces,
    config::{AddedFolder, HOME_DENY, MOST_ADDED},
    path::DeniedNames,
    places::{Place, PlaceKind, PlaceRef, Source, inside},
    records::PlaceRecord,
    resolve::{has_files, open_host_folder},
};
use std::sync::{Arc, PoisonError};
use store::{Listing, Stamp, Tx};
use tool::{Cx, Error, Id, Result, Role, Scope};

impl From<PlaceRecord> for AddedFolder {
    fn from(record: PlaceRecord) -> Self {
        let PlaceRecord { name, path, read_only, deny, admins_only, trusted } = record;
        Self { name, path, read_only, deny, admins_only, trusted }
    }
}

impl Shared {
    /// Reads which folders are added: those of the configuration, and those of the page.
    pub(crate) fn load_added(&self) -> Result<()> {
        let mut added: Vec<Arc<PlaceRef>> = vec![];
        let mut add = |folder: &AddedFolder, configured: bool| {
            if !added.iter().any(|place| place.id == folder.name) {
                added.push(Arc::new(PlaceRef::added(folder, configured, self.denied_in(folder))));
            }
        };
        self.config.places.iter().for_each(|folder| add(folder, true));
        if self.config.home
            && let Some(home) = std::env::home_dir().and_then(|home| home.canonicalize().ok())
            && let Some(home) = home.to_str()
        {
            let deny = HOME_DENY.iter().map(|name| (*name).to_owned()).collect();
            add(
                &AddedFolder {
                    name: "home".into(),
                    path: home.into(),
                    deny,
                    admins_only: true,
                    trusted: true,
                    read_only: false,
                },
                true,
            );
        }
        if self.config.tmp {
            add(
                &AddedFolder { name: "tmp".into(), path: "/tmp".into(), admins_only: true, ..Default::default() },
                true,
            );
        }
        for entry in self.places.list_in(Scope::Household, &Listing::default())? {
            add(&entry.value.into(), false);
        }
        *self.added.write().unwrap_or_else(PoisonError::into_inner) = added;
        Ok(())
    }

    fn denied_in(&self, folder: &AddedFolder) -> DeniedNames {
        DeniedNames::new(self.config.deny.iter().chain(&folder.deny).map(String::as_str))
    }

    /// A place as a caller sees it.
    pub(crate) fn view(&self, cx: &Cx, place: &PlaceRef, first: bool) -> Place {
        let opened = self.root(place);
        let is_admin = cx.principal().role == Role::Admin;
        let path = match &place.source {
            Source::Own(folder) => self.folder.join(folder),
            Source::Host(path) => path.clone(),
        };
        let quota = (place.is_counted() && self.config.quota_mb > 0).then_some(self.config.quota_mb << 20);
        Place {
            id: place.id.clone(),
            name: place.name.clone(),
            kind: place.kind,
            read_only: place.read_only || cx.principal().role == Role::Viewer,
            available: opened.is_ok(),
            reason: opened.err().map(|why| why.message().to_owned()),
            inside: inside(&place.id, first).display().to_string(),
            path: is_admin.then(|| path.display().to_string()),
            trusted: place.trusted,
            removable: place.kind == PlaceKind::Added && !place.configured,
            used_bytes: place.is_counted().then(|| self.usage.known(&place.key)).flatten(),
            quota_bytes: quota,
        }
    }

    fn require_admin(cx: &Cx) -> Result<()> {
        match cx.principal().role == Role::Admin && !cx.is_by_voice() {
            true => Ok(()),
            false => Err(Error::denied("only an admin adds and removes folders of this machine")),
        }
    }
}

impl Workspaces {
    /// The places that this caller sees, with the bytes in them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn places_counted(&self, cx: &Cx) -> Result<Vec<Place>> {
        let (this, cx) = (self.clone(), cx.clone());
        self.blocking(move |shared| {
            for place in shared.visible(&cx).iter().filter(|place| place.is_counted()) {
                shared.used(place)?;
            }
            this.places(&cx)
        })
        .await
    }

    /// Adds a folder of this machine, for admins. Links in its path are followed once, now.
    ///
    /// # Errors
    /// `BadArgs` where it is no folder that can be added; `Denied` to others.
    pub async fn add_place(&self, cx: &Cx, mut folder: AddedFolder) -> Result<Place> {
        Shared::require_admin(cx)?;
        folder.check().map_err(Error::bad_args)?;
        let shared = self.0.clone();
        let asked = folder.path.clone();
        let real = tokio::task::spawn_blocking(move || shared.real_folder(&asked)).await;
        folder.path = real.map_err(|e| Error::failed(format!("the folder could not be looked at: {e}")))??;
        let _changing = self.0.changes().await;
        let there = self.0.added.read().unwrap_or_else(PoisonError::into_inner).clone();
        if there.len() >= MOST_ADDED {
            return Err(Error::bad_args(format!("there are {MOST_ADDED} added folders already: remove one first")));
        }
        if there.iter().any(|place| place.id == folder.name) {
            return Err(Error::bad_args(format!("there is a folder `{}` already: choose another name", folder.name)));
        }
        let AddedFolder { name, path, read_only, deny, admins_only, trusted } = folder.clone();
        let (records, record) =
            (self.0.places.clone(), PlaceRecord { name, path, read_only, deny, admins_only, trusted });
        let put = move |tx: &Tx| records.put(tx, Id::new(), &Stamp::household("workspace"), &record).map(drop);
        self.0.store.write(put).await?;
        self.0.load_added()?;
        let found = self.places(cx)?.into_iter().find(|place| place.id == folder.name);
        found.ok_or_else(|| Error::failed("the folder was added and is not there: look at the list"))
    }

    /// Removes an added folder, for admins. Its files stay where they are.
    ///
    /// # Errors
    /// `NotFound`; `Denied` to others, and for one of hob.toml.
    pub async fn remove_place(&self, cx: &Cx, id: &str) -> Result<()> {
        Shared::require_admin(cx)?;
        let _changing = self.0.changes().await;
        let found = self.0.places.list_in(Scope::Household, &Listing::default())?;
        let Some(entry) = found.into_iter().find(|entry| entry.value.name == id) else {
            let id = text_kit::truncate(id, 40);
            return Err(match self.0.visible(cx).iter().any(|place| place.id == id) {
                true => Error::denied(format!("`{id}` is set in hob.toml or belongs to Hob: it is removed there")),
                false => Error::not_found(format!("there is no added folder `{id}`: list the places")),
            });
        };
        self.0.places.delete_in(Scope::Household, entry.id).await?;
        self.0.load_added()
    }
}

impl Shared {
    /// The real path of a folder that can be added.
    fn real_folder(&self, path: &str) -> Result<String> {
        let wrong = |why: &str| Error::bad_args(format!("`{}` cannot be added: {why}", text_kit::truncate(path, 200)));
        let real = std::fs::canonicalize(path).map_err(|e| wrong(&e.to_string()))?;
        let fd = open_host_folder(&real).map_err(|_| wrong("it is no folder"))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| wrong(&e.to_string()))?;
        self.guard.refresh();
        if real == std::path::Path::new("/") {
            return Err(wrong("it is the whole disk: add a folder of it"));
        }
        if self.guard.has(&stat) || real.starts_with(&self.data) || real.starts_with(&self.folder) {
            return Err(wrong("it belongs to Hob's own data"));
        }
        if !has_files(&fd) || ["/proc", "/sys", "/dev"].iter().any(|odd| real.starts_with(odd)) {
            return Err(wrong("it holds no files of people"));
        }
        let text = real.to_str().ok_or_else(|| wrong("its name is no text"))?;
        Ok(text.to_owned())
    }
}
