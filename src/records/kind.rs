//! The tools `add_*`, `batch_add_*`, `update_*` and `delete_*` of a [`RecordKind`]: functions that a family registers, with
//! arguments whose schemas follow from the record.

use crate::{BATCH, NamedRecord, Page, RecordStore, batch, join_list, quote, rejected, view};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use std::{borrow::Cow, marker::PhantomData};
use store::Entry;
use text_kit::counted_one;
use tool::{
    Cx, Error, Output, Result,
    prelude::{
        JsonSchema, Value, json,
        schemars::{Schema, SchemaGenerator, json_schema},
    },
};

/// Fields or parameters by their names in JSON.
pub type Fields = serde_json::Map<String, Value>;

/// The description of the parameter `shared`.
const SHARED: &str = "Whether everybody in the household sees it.";

/// A record that tools add, change and delete. A record whose stored form is also its arguments and its result is its own
/// [`RecordKind::Input`]: a new field goes last in its struct, and into [`RecordKind::read`] when it has limits.
pub trait RecordKind: NamedRecord {
    /// The arguments of `add_*`. Its `description` is that of the tool; the docs of its fields are those of the parameters.
    type Input: DeserializeOwned + JsonSchema + 'static;
    /// The parameter that names one record: `bookmarkId`.
    const ID: &'static str;
    /// The field of lists and batches: `bookmarks`.
    const PLURAL: &'static str;
    /// The field of the name: `title`.
    const TITLE: &'static str;
    /// Parameters of `update_*` that are no fields, with their descriptions: texts that [`RecordKind::merge`] takes out.
    const MORE_CHANGES: &'static [(&'static str, &'static str)] = &[];

    /// The description of `shared` where records are not private by default.
    const SHARED_UNLESS: Option<&'static str> = None;

    /// Checks arguments, and brings them into the form in which they are stored.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong and how to write it.
    fn read(records: &RecordStore<Self>, cx: &Cx, input: Self::Input) -> Result<Self>;

    /// The arguments that would add this record.
    fn fields(&self) -> Value {
        json!(self)
    }

    /// The result for one record.
    fn view(cx: &Cx, entry: &Entry<Self>) -> Value {
        view(cx, entry, entry.value.fields())
    }

    /// The result for one of several records.
    fn brief(cx: &Cx, entry: &Entry<Self>) -> Value {
        Self::view(cx, entry)
    }

    /// The sentence after one record was added.
    fn added(&self, _: &Cx) -> String {
        format!("I saved the {} {}.", Self::WORD, quote(self.name()))
    }

    /// The sentence after several were added.
    fn all_added(added: &[Entry<Self>]) -> String {
        format!("I saved {}: {}.", counted_one(added.len(), Self::WORD), join_list(&names(added), false))
    }

    /// The sentence after it was changed.
    fn changed(&self) -> String {
        format!("I changed the {} {}.", Self::WORD, quote(self.name()))
    }

    /// The sentence after it was deleted.
    fn deleted(&self) -> String {
        format!("I deleted the {} {}.", Self::WORD, quote(self.name()))
    }

    /// Puts changes into the fields of a record.
    ///
    /// # Errors
    /// `BadArgs` for a change that cannot be made.
    fn merge(fields: &mut Fields, changes: Fields) -> Result<()> {
        fields.extend(changes);
        Ok(())
    }
}

/// The names of records, for a sentence.
pub fn names<T: NamedRecord>(entries: &[Entry<T>]) -> Vec<String> {
    entries.iter().map(|entry| entry.value.name().to_owned()).collect()
}

/// The result of a `list_*` tool; a page of one record shows it in full.
///
/// # Errors
/// As [`Output::json`].
pub fn page_output<T: RecordKind>(cx: &Cx, page: &Page<T>, sentence: String) -> Result<Output> {
    let view = if page.entries.len() == 1 { T::view } else { T::brief };
    let views: Vec<Value> = page.entries.iter().map(|entry| view(cx, entry)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, T::PLURAL: views}))?.say(sentence))
}

/// The arguments of a tool by name; `S` derives their schema from [`RecordKind::Input`].
pub struct Args<T, S>(Fields, PhantomData<fn() -> (T, S)>);

/// Derives the schema of arguments.
pub trait Shape {
    /// The prefix of the schema's name.
    const NAME: &'static str;
    /// The schema for records of a type.
    fn schema<T: RecordKind>(generator: &mut SchemaGenerator) -> Schema;
}

impl<'de, T, S> Deserialize<'de> for Args<T, S> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Fields::deserialize(d).map(Self::new)
    }
}

impl<T: RecordKind, S: Shape> JsonSchema for Args<T, S> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}_{}", S::NAME, T::Input::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        S::schema::<T>(generator)
    }
}

impl<T, S> Args<T, S> {
    /// Drops nulls: null is the same as nothing.
    fn new(mut parameters: Fields) -> Self {
        parameters.retain(|_, value| !value.is_null());
        Self(parameters, PhantomData)
    }

    /// The value of this parameter, if no other changes anything.
    pub fn only(&self, name: &str) -> Option<&Value>
    where
        T: RecordKind,
    {
        self.0.get(name).filter(|_| self.0.keys().all(|key| key == name || key == T::ID))
    }

    /// Whether this parameter is given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

impl<T: RecordKind, S> Args<T, S> {
    /// Takes a parameter out.
    fn take<V: DeserializeOwned>(&mut self, name: &str) -> Result<Option<V>> {
        parse(self.0.remove(name).unwrap_or_default())
    }

    /// Takes out which record is meant.
    fn which(&mut self) -> Result<String> {
        let text = || format!("`{}` is missing: give an id or a name", T::ID);
        self.take(T::ID)?.ok_or_else(|| Error::bad_args(text()).say(format!("Which {}?", T::WORD)))
    }
}

/// Fields of a record, and whether it is shared.
pub enum Add {}

impl Shape for Add {
    const NAME: &'static str = "Add";
    fn schema<T: RecordKind>(generator: &mut SchemaGenerator) -> Schema {
        with_parameters(T::Input::json_schema(generator), |fields| {
            // An empty text is no useful default.
            fields.values_mut().filter(|field| field["default"] == "").for_each(without_default);
            let shared = match T::SHARED_UNLESS {
                Some(about) => json!({"type": "boolean", "description": about}),
                None => json!({"type": "boolean", "default": false, "description": SHARED}),
            };
            fields.insert("shared".into(), shared);
        })
    }
}

impl<T: RecordKind> Args<T, Add> {
    fn read(self, records: &RecordStore<T>, cx: &Cx) -> Result<(T, bool)> {
        self.checked(records, cx).map(|(record, shared)| (record, shared.unwrap_or(false)))
    }

    /// The checked record, and whether to share it where that is given.
    ///
    /// # Errors
    /// As [`RecordKind::read`].
    pub fn checked(mut self, records: &RecordStore<T>, cx: &Cx) -> Result<(T, Option<bool>)> {
        let shared = self.take("shared")?;
        Ok((T::read(records, cx, parse(self.0.into())?)?, shared))
    }
}

/// Adds a record.
///
/// # Errors
/// As [`RecordKind::read`] and [`RecordStore::add`].
pub async fn add<T: RecordKind>(records: RecordStore<T>, cx: Cx, args: Args<T, Add>) -> Result<Output> {
    let (record, shared) = args.read(&records, &cx)?;
    let added = records.add(&cx, &format!("add_{}", T::WORD), record, shared).await?;
    Ok(Output::json(T::view(&cx, &added))?.say(added.value.added(&cx)))
}

/// Several records in the form of [`Add`].
pub enum Batch {}

impl Shape for Batch {
    const NAME: &'static str = "Batch";
    fn schema<T: RecordKind>(generator: &mut SchemaGenerator) -> Schema {
        let items = Add::schema::<T>(generator);
        let about = format!("The {}s, {BATCH} at most.", T::WORD);
        let items = json!({"description": about, "type": "array", "items": items, "minItems": 1, "maxItems": BATCH});
        let about = format!("Add several {}s at once: all of them, or none when one is wrong.", T::WORD);
        object(&about, T::PLURAL, items)
    }
}

impl<T: RecordKind> Args<T, Batch> {
    /// The checked records of a batch, each with whether to share it where that is given.
    ///
    /// # Errors
    /// As [`batch`] and [`RecordKind::read`].
    pub fn checked(mut self, records: &RecordStore<T>, cx: &Cx) -> Result<Vec<(T, Option<bool>)>> {
        let items: Vec<Fields> = self.take(T::PLURAL)?.unwrap_or_default();
        batch(T::WORD, items, |item| Args::<T, Add>::new(item).checked(records, cx))
    }
}

/// Adds several records, or none when one of them is wrong.
///
/// # Errors
/// As [`batch`], [`RecordKind::read`] and [`RecordStore::add_all`].
pub async fn add_all<T: RecordKind>(records: RecordStore<T>, cx: Cx, mut args: Args<T, Batch>) -> Result<Output> {
    let items: Vec<Fields> = args.take(T::PLURAL)?.unwrap_or_default();
    let checked = batch(T::WORD, items, |item| Args::<T, Add>::new(item).read(&records, &cx))?;
    let added = records.add_all(&cx, &format!("batch_add_{}", T::PLURAL), checked).await?;
    let views: Vec<Value> = added.iter().map(|entry| T::brief(&cx, entry)).collect();
    Ok(Output::json(json!({"added": views.len(), T::PLURAL: views}))?.say(T::all_added(&added)))
}

/// Which record, and the fields that change: a merge patch in which null is the same as nothing.
pub enum Update {}

impl Shape for Update {
    const NAME: &'static str = "Update";
    fn schema<T: RecordKind>(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = with_parameters(T::Input::json_schema(generator), |fields| {
            fields.values_mut().for_each(without_default);
            for (name, about) in T::MORE_CHANGES {
                fields.insert((*name).into(), json!({"type": "string", "description": about}));
            }
            fields.insert("shared".into(), json!({"type": "boolean", "description": SHARED}));
            fields.insert(T::ID.into(), which_schema());
        });
        let about = "fields that are not given stay as they are, and an empty text clears.";
        schema.insert("description".into(), format!("Change {}; {about}", with_article(T::WORD)).into());
        schema.insert("required".into(), json!([T::ID]));
        schema
    }
}

impl<T: RecordKind> Args<T, Update> {
    /// Makes the change, and checks the record as if it were new.
    ///
    /// # Errors
    /// `BadArgs` when there is nothing to change; as [`RecordKind::read`] and [`RecordStore::change`].
    pub async fn apply(mut self, records: &RecordStore<T>, cx: &Cx) -> Result<Entry<T>> {
        let (which, shared) = (self.which()?, self.take("shared")?);
        let found = records.find_own(cx, &which)?;
        if self.0.is_empty() && shared.is_none() {
            let text = format!("say what to change: give at least one field of the {}", T::WORD);
            return Err(Error::bad_args(text).say(format!("What shall I change about the {}?", T::WORD)));
        }
        let (here, store, changes) = (cx.clone(), records.clone(), self.0);
        let changed = move |record: &T| -> Result<T> {
            let mut fields = parse(record.fields())?;
            T::merge(&mut fields, changes.clone())?;
            T::read(&store, &here, parse(fields.into())?)
        };
        let change = move |record: &mut T| {
            *record = changed(record).map_err(|e| rejected(e.message()))?;
            Ok(())
        };
        records.change(cx, &found.id.to_string(), shared, change).await
    }
}

/// Changes a record.
///
/// # Errors
/// As [`Args::apply`].
pub async fn update<T: RecordKind>(records: RecordStore<T>, cx: Cx, args: Args<T, Update>) -> Result<Output> {
    let changed = args.apply(&records, &cx).await?;
    Ok(Output::json(T::view(&cx, &changed))?.say(changed.value.changed()))
}

/// Which record.
pub enum Delete {}

impl Shape for Delete {
    const NAME: &'static str = "Delete";
    fn schema<T: RecordKind>(_: &mut SchemaGenerator) -> Schema {
        object(&format!("Delete {}. It can be restored for 30 days.", with_article(T::WORD)), T::ID, which_schema())
    }
}

/// Deletes a record.
///
/// # Errors
/// As [`RecordStore::remove`].
pub async fn delete<T: RecordKind>(records: RecordStore<T>, cx: Cx, mut args: Args<T, Delete>) -> Result<Output> {
    let gone = records.remove(&cx, &args.which()?).await?;
    let content = json!({"deleted": true, "id": gone.id, T::TITLE: gone.value.name()});
    Ok(Output::json(content)?.say(gone.value.deleted()))
}

fn parse<V: DeserializeOwned>(value: Value) -> Result<V> {
    V::deserialize(value).map_err(|e| Error::bad_args(format!("the arguments do not fit: {e}")))
}

/// The schema of arguments with one parameter.
fn object(about: &str, parameter: &str, schema: impl Into<Value>) -> Schema {
    json_schema!({
        "description": about,
        "type": "object",
        "properties": {parameter: schema.into()},
        "required": [parameter],
        "additionalProperties": false,
    })
}

fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

fn which_schema() -> Value {
    json!({"type": "string", "description": "Its id or its name."})
}

/// Changes the parameters of a schema.
fn with_parameters(mut schema: Schema, change: impl FnOnce(&mut Fields)) -> Schema {
    if let Some(Value::Object(parameters)) = schema.get_mut("properties") {
        change(parameters);
    }
    schema
}

fn without_default(field: &mut Value) {
    if let Some(field) = field.as_object_mut() {
        field.remove("default");
    }
}
