//! Routes that describe themselves: what a handler takes and answers is read from its types, when somebody asks.

use axum::{
    Extension, Router,
    extract::{Request, State},
    handler::Handler,
    http::{HeaderMap, Method, Uri},
    response::sse::Sse,
    routing::{MethodFilter, MethodRouter},
};
use serde_json::{Map, Value, json};
use tool::prelude::{
    JsonSchema,
    schemars::{SchemaGenerator, generate::SchemaSettings},
};

/// The schemas that answers share. What a request looks like stands in its place: nobody else needs it, and what a type
/// takes is not always what it gives.
pub(crate) struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Self {
        let dialect = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.meta_schema = None;
            settings
        };
        let (mut taken, mut given) = (dialect().for_deserialize(), dialect().for_serialize());
        taken.inline_subschemas = true;
        given.definitions_path = "/components/schemas".into();
        Self { taken: taken.into_generator(), given: given.into_generator() }
    }
}

impl Schemas {
    /// What a type takes.
    pub fn input_schema<T: JsonSchema>(&mut self) -> Value {
        self.taken.subschema_for::<T>().to_value()
    }

    /// What a type gives, as a reference.
    pub fn output_schema<T: JsonSchema>(&mut self) -> Value {
        self.given.subschema_for::<T>().to_value()
    }

    /// The words a type is described with.
    pub fn about<T: JsonSchema>(&mut self) -> String {
        let schema = self.output_schema::<T>();
        let named = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let whole = named.and_then(|name| self.given.definitions().get(name));
        whole.unwrap_or(&schema)["description"].as_str().unwrap_or_default().to_owned()
    }
}

/// One method of one address.
#[derive(Default)]
pub(crate) struct Operation {
    query: Vec<Value>,
    /// What a piece of the path looks like; text, unless the handler says more.
    pub in_path: Option<Value>,
    /// Its type and what it looks like.
    body: Option<(&'static str, Value)>,
    answers: Map<String, Value>,
}

impl Operation {
    /// An answer of this status, as one kind of content; others may be added.
    pub fn answer(&mut self, status: u16, about: &str, kind: &str, schema: Value) {
        let answer = self.answers.entry(status.to_string());
        let answer = answer.or_insert_with(|| json!({"description": about, "content": {}}));
        if answer["content"].get(kind).is_none() {
            answer["content"][kind] = json!({"schema": schema});
        }
    }

    /// A body of JSON.
    pub fn takes(&mut self, schema: Value) {
        self.body = Some(("application/json", schema));
    }

    /// A body of any bytes.
    pub fn takes_bytes(&mut self) {
        self.body = Some((
            "application/octet-stream",
            json!({"type": "string", "contentMediaType": "application/octet-stream"}),
        ));
    }

    /// The fields of an object as parameters behind the question mark.
    pub fn asks(&mut self, object: &Value) {
        let required = object["required"].as_array().cloned().unwrap_or_default();
        for (name, schema) in object["properties"].as_object().into_iter().flatten() {
            let mut schema = schema.clone();
            // Addresses cannot say null: what may be left out is left out.
            if let Some(types) = schema["type"].as_array() {
                let left: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
                schema["type"] = if let [one] = &left[..] { one.clone() } else { left.into() };
            }
            if let Some(any) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
                any.retain(|branch| branch["type"] != "null");
            }
            let required = required.iter().any(|r| r == name);
            self.query.push(json!({"name": name, "in": "query", "required": required, "schema": schema}));
        }
    }

    fn finish(self, method: &str, path: &str, about: &str) -> Value {
        let names = path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
        let text = self.in_path.unwrap_or_else(|| json!({"type": "string"}));
        let in_path = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": text});
        let parameters: Vec<Value> = names.map(in_path).chain(self.query).collect();
        let words: Vec<&str> = path.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let mut shown = json!({
            "operationId": format!("{method}_{}", words.join("_")),
            "summary": about,
            "responses": self.answers,
        });
        if !parameters.is_empty() {
            shown["parameters"] = parameters.into();
        }
        if let Some((kind, body)) = self.body {
            shown["requestBody"] = json!({"required": true, "content": {kind: {"schema": body}}});
        }
        shown
    }
}

/// What a handler takes.
pub(crate) trait DescribeInput {
    fn describe(_: &mut Schemas, _: &mut Operation) {}
}

/// What a handler answers.
pub(crate) trait DescribeOutput {
    fn describe(schemas: &mut Schemas, operation: &mut Operation);
}

impl<T> DescribeInput for State<T> {}
impl<T> DescribeInput for Extension<T> {}
impl DescribeInput for HeaderMap {}
impl DescribeInput for Method {}
impl DescribeInput for Uri {}
impl DescribeInput for Request {}

impl<T: DescribeOutput, E: DescribeOutput> DescribeOutput for Result<T, E> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        T::describe(schemas, operation);
        E::describe(schemas, operation);
    }
}

/// A server-sent event, as its fields.
pub(crate) fn event() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "properties": {"event": text, "data": text, "id": text}})
}

impl<S> DescribeOutput for Sse<S> {
    fn describe(_: &mut Schemas, operation: &mut Operation) {
        operation.answer(200, "Events as they happen.", "text/event-stream", event());
    }
}

impl<T: JsonSchema> DescribeOutput for axum::Json<T> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        let (about, schema) = (schemas.about::<T>(), schemas.output_schema::<T>());
        operation.answer(200, &about, "application/json", schema);
    }
}

/// A function whose types tell what it takes and answers.
pub(crate) trait DescribeHandler<I, O> {
    fn tell(schemas: &mut Schemas, operation: &mut Operation);
}

macro_rules! told {
    ($($part:ident),*) => {
        impl<F, A, $($part,)*> DescribeHandler<($($part,)*), A::Output> for F
        where
            F: FnOnce($($part),*) -> A,
            A: Future,
            A::Output: DescribeOutput,
            $($part: DescribeInput,)*
        {
            fn tell(schemas: &mut Schemas, operation: &mut Operation) {
                $($part::describe(schemas, operation);)*
                A::Output::describe(schemas, operation);
            }
        }
    };
}
told!();
told!(A1);
told!(A1, A2);
told!(A1, A2, A3);
told!(A1, A2, A3, A4);
told!(A1, A2, A3, A4, A5);

/// Adds to the description of an operation.
pub(crate) type DescribeFn = fn(&mut Schemas, &mut Operation);

struct Line {
    path: String,
    method: &'static str,
    about: &'static str,
    access: Access,
    /// Fields whose names sound like a secret and that are none; for the test that looks for routes that forgot `.secret()`.
    #[cfg_attr(not(test), allow(dead_code))]
    harmless: Vec<&'static str>,
    tell: Vec<DescribeFn>,
}

/// What the door has to know of one method of an address before it lets a request in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// Whether strangers may ask.
    pub open: bool,
    /// Whether a secret goes in or out: nobody may read along.
    pub secret: bool,
}

/// The access of every route by method and path template, as the router names it.
pub(crate) type RouteTable = std::collections::HashMap<(Method, String), Access>;

/// The methods of one address.
pub(crate) struct On<S> {
    router: MethodRouter<S>,
    lines: Vec<Line>,
}

macro_rules! methods {
    ($($name:ident $filter:ident),*) => {$(
        /// This method, with a sentence about what it does.
        #[allow(dead_code)] // Not every method begins a line of ours.
        pub(crate) fn $name<H, T, I, O, S>(handler: H, about: &'static str) -> On<S>
        where
            H: Handler<T, S> + DescribeHandler<I, O>,
            T: 'static,
            S: Clone + Send + Sync + 'static,
        {
            On { router: MethodRouter::new(), lines: vec![] }.$name(handler, about)
        }

        impl<S: Clone + Send + Sync + 'static> On<S> {
            /// This method too.
            pub fn $name<H, T, I, O>(mut self, handler: H, about: &'static str) -> Self
            where
                H: Handler<T, S> + DescribeHandler<I, O>,
                T: 'static,
            {
                self.router = self.router.on(MethodFilter::$filter, handler);
                let method = stringify!($name);
                self.lines.push(Line {
                    path: String::new(),
                    method,
                    about,
                    access: Access::default(),
                    harmless: vec![],
                    tell: vec![H::tell],
                });
                self
            }
        }
    )*};
}
methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE);

impl<S> On<S> {
    /// Strangers may ask the last method.
    pub fn open(mut self) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line.access.open = true;
        }
        self
    }

    /// The last method takes or answers a secret: it is served over TLS, loopback and the local socket only.
    pub fn secret(mut self) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line.access.secret = true;
        }
        self
    }

    /// What the last method may answer besides.
    pub fn also(mut self, tell: DescribeFn) -> Self {
        if let Some(line) = self.lines.last_mut() {
            line.tell.push(tell);
        }
        self
    }
}

/// A router and what it can tell of itself. Nothing is described before somebody asks.
pub(crate) struct Routes<S> {
    router: Router<S>,
    lines: Vec<Line>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub fn new() -> Self {
        Self { router: Router::new(), lines: vec![] }
    }

    pub fn route(mut self, path: &str, on: On<S>) -> Self {
        self.router = self.router.route(path, on.router);
        self.lines.extend(on.lines.into_iter().map(|line| Line { path: path.to_owned(), ..line }));
        self
    }

    pub fn nest(mut self, path: &str, inner: Routes<S>) -> Self {
        self.router = self.router.nest(path, inner.router);
        let under = |p: String| if p == "/" { path.to_owned() } else { format!("{path}{p}") };
        self.lines.extend(inner.lines.into_iter().map(|line| Line { path: under(line.path), ..line }));
        self
    }

    /// These fields of every address so far sound like secrets and are none.
    pub fn harmless(mut self, fields: &[&'static str]) -> Self {
        self.lines.iter_mut().for_each(|line| line.harmless.extend(fields));
        self
    }

    /// Other addresses beside these.
    pub fn merge(mut self, other: Routes<S>) -> Self {
        self.router = self.router.merge(other.router);
        self.lines.extend(other.lines);
        self
    }

    /// What every address so far may answer besides.
    pub fn all(mut self, tell: DescribeFn) -> Self {
        self.lines.iter_mut().for_each(|line| line.tell.push(tell));
        self
    }

    /// Changes the router: fallbacks and layers, which tell nothing.
    pub fn with(mut self, change: impl FnOnce(Router<S>) -> Router<S>) -> Self {
        self.router = change(self.router);
        self
    }

    pub fn into_router(self) -> Router<S> {
        self.router
    }

    /// What the door has to know of each route.
    pub fn access(&self) -> RouteTable {
        let method = |line: &Line| line.method.to_ascii_uppercase().parse().unwrap_or(Method::GET);
        self.lines.iter().map(|line| ((method(line), line.path.clone()), line.access)).collect()
    }

    /// The OpenAPI document. `frame` brings title, version and security.
    pub fn document(&self, mut frame: Value) -> Value {
        let (mut schemas, mut paths) = (Schemas::default(), Map::new());
        for line in &self.lines {
            let mut operation = Operation::default();
            line.tell.iter().for_each(|tell| tell(&mut schemas, &mut operation));
            let path = line.path.replace("{*", "{");
            let mut shown = operation.finish(line.method, &path, line.about);
            if line.access.open {
                shown["security"] = json!([]);
            }
            paths.entry(path).or_insert_with(|| json!({}))[line.method] = shown;
        }
        frame["openapi"] = "3.1.0".into();
        frame["paths"] = paths.into();
        frame["components"]["schemas"] = schemas.given.take_definitions(true).into();
        frame
    }
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
