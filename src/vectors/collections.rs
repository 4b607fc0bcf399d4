//! Collections: created, found, listed and deleted.

use crate::{
    Vectors,
    records::{
        BY_NAME, COLLECTIONS, CollectionRecord, DIMENSIONS, Metric, NAME, PREFIX, THERE, VectorRecord, most_vectors,
    },
};
use serde::Serialize;
use store::{Audience, Entry, Listing, order, rejected};
use tool::{Cx, Error, Id, Result, Scope};

/// How many vectors of a deleted collection one write removes, so that other writes need not wait.
const AT_ONCE: usize = 500;
/// The most characters of a description.
const DESCRIPTION: usize = 500;

/// A collection to create.
#[derive(Debug, Clone, Default)]
pub struct NewCollection {
    pub name: String,
    pub description: String,
    /// Those of Hob's own model where it is not given.
    pub dimensions: Option<usize>,
    pub metric: Metric,
    /// The name of another model that makes the vectors.
    pub model: Option<String>,
    /// Whether the household reads it.
    pub shared: bool,
}

/// A collection as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionInfo {
    pub id: Id,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub dimensions: usize,
    pub metric: Metric,
    /// The model that makes the vectors.
    pub model: String,
    /// Whether Hob embeds texts for it.
    pub embeds_texts: bool,
    pub count: u64,
    /// How many it can have.
    pub max_count: usize,
    pub shared: bool,
    /// Whether the caller may change it.
    pub own: bool,
}

impl CollectionInfo {
    pub(crate) fn of(cx: &Cx, entry: &Entry<CollectionRecord>) -> Self {
        let it = &entry.value;
        Self {
            id: entry.id,
            name: it.name.clone(),
            description: it.description.clone(),
            dimensions: it.dimensions as usize,
            metric: it.metric,
            model: it.model.clone(),
            embeds_texts: it.embeds,
            count: it.count,
            max_count: most_vectors(it.dimensions as usize),
            shared: entry.audience == Audience::Household,
            own: entry.owner == cx.user(),
        }
    }
}

impl Vectors {
    /// Creates a collection.
    ///
    /// # Errors
    /// `BadArgs` for a name that is taken, dimensions out of range, or too many collections.
    pub async fn create(&self, cx: &Cx, new: NewCollection) -> Result<CollectionInfo> {
        self.sweep().await?;
        let (own_model, own_dimensions) = self.model();
        let name = new.name.trim().to_owned();
        if name.is_empty() || name.chars().count() > NAME || name.chars().any(char::is_control) {
            return Err(Error::bad_args(format!("`name` must have 1 to {NAME} characters in one line")));
        }
        if new.description.chars().count() > DESCRIPTION {
            return Err(Error::bad_args(format!("`description` has more than {DESCRIPTION} characters: shorten it")));
        }
        let other = new.model.map(|model| model.trim().to_owned()).filter(|model| !model.is_empty());
        if other.as_ref().is_some_and(|model| model.chars().count() > NAME) {
            return Err(Error::bad_args(format!("`model` has more than {NAME} characters: shorten it")));
        }
        let other = other.filter(|model| *model != own_model);
        if other.is_none()
            && own_model.is_empty()
            && let Some(problem) = self.embedder.problem()
        {
            return Err(Error::unavailable(format!("{problem}; a collection of your own vectors needs their `model`")));
        }
        let dimensions = match (new.dimensions, &other) {
            (Some(given), _) => given,
            (None, None) => own_dimensions,
            (None, Some(model)) => {
                return Err(Error::bad_args(format!(
                    "`dimensions` is missing: say how many numbers a vector of `{model}` has"
                )));
            }
        };
        if !(1..=DIMENSIONS).contains(&dimensions) {
            return Err(Error::bad_args(format!("`dimensions` must be 1 to {DIMENSIONS}")));
        }
        let embeds = other.is_none() && dimensions == own_dimensions;
        let model = other.unwrap_or_else(|| if embeds { own_model } else { "unnamed".into() });
        let record = CollectionRecord {
            name,
            description: new.description.trim().to_owned(),
            dimensions: dimensions as u32,
            metric: new.metric,
            model,
            embeds,
            count: 0,
            generation: 0,
            gone: false,
            behind: false,
            metadata: 0,
        };
        let audience = if new.shared { Audience::Household } else { Audience::Private };
        let stamp = self.collections.stamp(cx, "create_vector_collection").audience(audience);
        let (this, id) = (self.clone(), Id::new());
        let written = self.collections.store().write(move |tx| {
            if this.collections.find(tx, stamp.scope, THERE, &[])?.len() >= COLLECTIONS {
                return Err(rejected(format!(
                    "there are {COLLECTIONS} collections already: delete one that nobody needs"
                )));
            }
            if !this.collections.find(tx, stamp.scope, BY_NAME, &order::text(&record.name))?.is_empty() {
                return Err(rejected(format!(
                    "there is a collection `{}` already: use it, or choose another name",
                    record.name
                )));
            }
            this.collections.put(tx, id, &stamp, &record)
        });
        let entry = store::without_change(written).await?;
        Ok(CollectionInfo::of(cx, &entry))
    }

    /// The collections of this caller and those shared with them, by name.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx) -> Result<Vec<CollectionInfo>> {
        let by = Some((THERE, vec![]));
        let mut all = self.collections.list(cx, &Listing { by, ..Listing::default() })?;
        all.sort_by_key(|entry| entry.value.name.to_lowercase());
        Ok(all.iter().map(|entry| CollectionInfo::of(cx, entry)).collect())
    }

    /// The collection with a name or an id: the caller's own before a shared one.
    ///
    /// # Errors
    /// `NotFound` with the names there are.
    pub(crate) fn find(&self, cx: &Cx, which: &str) -> Result<Entry<CollectionRecord>> {
        let which = which.trim();
        let by = Some((BY_NAME, order::text(which)));
        let mut named = self.collections.list(cx, &Listing { by, ..Listing::default() })?;
        named.sort_by_key(|entry| entry.owner != cx.user());
        let found = match which.parse::<Id>() {
            Ok(id) if named.is_empty() => self.collections.get(cx, id)?.filter(|entry| !entry.value.gone),
            _ => named.into_iter().next(),
        };
        if let Some(entry) = found {
            return Ok(entry);
        }
        let names: Vec<String> = self.list(cx)?.into_iter().take(10).map(|info| format!("`{}`", info.name)).collect();
        let which: String = which.chars().take(80).collect();
        let there = match names.as_slice() {
            [] => "there are none yet: create one with `create_vector_collection`".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        Err(Error::not_found(format!("there is no vector collection `{which}`; {there}"))
            .say(format!("There is no vector collection called “{which}”.")))
    }

    /// The same, if it is the caller's own.
    pub(crate) fn find_own(&self, cx: &Cx, which: &str) -> Result<Entry<CollectionRecord>> {
        let entry = self.find(cx, which)?;
        if entry.owner != cx.user() {
            return Err(Error::denied(format!(
                "the collection `{}` belongs to another member: only they change it",
                entry.value.name
            )));
        }
        Ok(entry)
    }

    /// Facts about one collection.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn info(&self, cx: &Cx, which: &str) -> Result<CollectionInfo> {
        Ok(CollectionInfo::of(cx, &self.find(cx, which)?))
    }

    /// Deletes a collection with all of its vectors.
    ///
    /// # Errors
    /// `NotFound`, and `Denied` where it is another member's.
    pub async fn delete_collection(&self, cx: &Cx, which: &str) -> Result<CollectionInfo> {
        let entry = self.find_own(cx, which)?;
        let (this, id, scope, label) = (self.clone(), entry.id, Scope::User(entry.owner), cx.label());
        let written = self.collections.store().write(move |tx| {
            this.collections.change(tx, scope, label, id, &mut |collection| {
                collection.gone = true;
                Ok(())
            })
        });
        // Its vectors are too many for the journal of changes.
        store::without_change(written).await?;
        self.pool.drop_one(id);
        self.sweep().await?;
        Ok(CollectionInfo::of(cx, &entry))
    }

    /// Removes the vectors of deleted collections, then the collections; resumes after an interruption.
    pub(crate) async fn sweep(&self) -> Result<()> {
        let mut gone = vec![];
        self.collections.scan(|entry| {
            if entry.value.gone {
                gone.push((entry.owner, entry.id));
            }
        })?;
        for (owner, collection) in gone {
            loop {
                let page = self.page(Scope::User(owner), collection, None, AT_ONCE)?;
                let ids: Vec<Id> = page.iter().map(|entry| entry.id).collect();
                let (this, scope, last) = (self.clone(), Scope::User(owner), ids.len() < AT_ONCE);
                let written = self.vectors.store().write(move |tx| {
                    for id in &ids {
                        this.vectors.remove(tx, scope, *id)?;
                    }
                    if last { this.collections.remove(tx, scope, collection).map(drop) } else { Ok(()) }
                });
                store::without_change(written).await?;
                if last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Up to `limit` vectors of a collection with ids below `before`, the highest first.
    pub(crate) fn page(
        &self,
        scope: Scope,
        collection: Id,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Vec<Entry<VectorRecord>>> {
        let before = before.or_else(|| {
            let mut end = *collection.as_bytes();
            end[PREFIX..].fill(u8::MAX);
            Some(Id::from_bytes(end))
        });
        let mut page = self.vectors.list_in(scope, &Listing { by: None, before, limit })?;
        page.retain(|entry| entry.id.as_bytes()[..PREFIX] == collection.as_bytes()[..PREFIX]);
        Ok(page)
    }
}
