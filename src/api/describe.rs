//! Routes that describe themselves: the handler's types give its OpenAPI description, and its definition declares who
//! may call it.

use axum::{
    Extension, Router,
    extract::{MatchedPath, Request, State},
    handler::Handler,
    http::{HeaderMap, Method, Uri},
    response::{Response, sse::Sse},
    routing::{MethodFilter, MethodRouter},
};
use futures::future::BoxFuture;
use identity::TokenScope;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tool::prelude::{
    JsonSchema,
    schemars::{SchemaGenerator, generate::SchemaSettings},
};

/// The schemas that responses share. Schemas of requests are inlined: no other route needs them, and a type's input schema
/// can differ from its output schema.
pub(crate) struct Schemas {
    inputs: SchemaGenerator,
    outputs: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Self {
        let dialect = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.meta_schema = None;
            settings
        };
        let (mut inputs, mut outputs) = (dialect().for_deserialize(), dialect().for_serialize());
        inputs.inline_subschemas = true;
        outputs.definitions_path = "/components/schemas".into();
        Self { inputs: inputs.into_generator(), outputs: outputs.into_generator() }
    }
}

impl Schemas {
    /// The schema of a type in requests.
    pub fn input_schema<T: JsonSchema>(&mut self) -> Value {
        self.inputs.subschema_for::<T>().to_value()
    }

    /// The schema of a type in responses, as a reference.
    pub fn output_schema<T: JsonSchema>(&mut self) -> Value {
        self.outputs.subschema_for::<T>().to_value()
    }

    /// The description of a type.
    pub fn about<T: JsonSchema>(&mut self) -> String {
        let schema = self.output_schema::<T>();
        let named = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let whole = named.and_then(|name| self.outputs.definitions().get(name));
        whole.unwrap_or(&schema)["description"].as_str().unwrap_or_default().to_owned()
    }
}

/// One method of one address.
#[derive(Default)]
pub(crate) struct Operation {
    query: Vec<Value>,
    /// The schema of a path parameter; text by default.
    pub in_path: Option<Value>,
    /// Content type and schema.
    body: Option<(&'static str, Value)>,
    answers: Map<String, Value>,
}

impl Operation {
    /// Adds a response of this status with one content type; others may be added.
    pub fn answer(&mut self, status: u16, about: &str, kind: &str, schema: Value) {
        let answer = self.answers.entry(status.to_string());
        let answer = answer.or_insert_with(|| json!({"description": about, "content": {}}));
        if answer["content"].get(kind).is_none() {
            answer["content"][kind] = json!({"schema": schema});
        }
    }

    /// Takes a JSON body.
    pub fn takes(&mut self, schema: Value) {
        self.body = Some(("application/json", schema));
    }

    /// Takes a body of any bytes.
    pub fn takes_bytes(&mut self) {
        self.body = Some((
            "application/octet-stream",
            json!({"type": "string", "contentMediaType": "application/octet-stream"}),
        ));
    }

    /// Takes the fields of an object as query parameters.
    pub fn asks(&mut self, object: &Value) {
        let required = object["required"].as_array().cloned().unwrap_or_default();
        for (name, schema) in object["properties"].as_object().into_iter().flatten() {
            let mut schema = schema.clone();
            // A query cannot hold null: an optional parameter is left out.
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

/// Describes an extractor.
pub(crate) trait DescribeInput {
    fn describe(_: &mut Schemas, _: &mut Operation) {}
}

/// Describes a response type.
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

/// The schema of a server-sent event.
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

/// A handler described by its types.
pub(crate) trait DescribeHandler<I, O> {
    fn describe(schemas: &mut Schemas, operation: &mut Operation);
}

macro_rules! describe_handler {
    ($($part:ident),*) => {
        impl<F, A, $($part,)*> DescribeHandler<($($part,)*), A::Output> for F
        where
            F: FnOnce($($part),*) -> A,
            A: Future,
            A::Output: DescribeOutput,
            $($part: DescribeInput,)*
        {
            fn describe(schemas: &mut Schemas, operation: &mut Operation) {
                $($part::describe(schemas, operation);)*
                A::Output::describe(schemas, operation);
            }
        }
    };
}
describe_handler!();
describe_handler!(A1);
describe_handler!(A1, A2);
describe_handler!(A1, A2, A3);
describe_handler!(A1, A2, A3, A4);
describe_handler!(A1, A2, A3, A4, A5);

/// Describes a part of an operation.
pub(crate) type DescribeFn = fn(&mut Schemas, &mut Operation);

/// One method of one address.
struct Route {
    path: String,
    method: &'static str,
    about: &'static str,
    facts: RouteFacts,
    /// Fields that are not secrets although their names sound like it; for the test that looks for routes that forgot
    /// `.secret()`.
    #[cfg_attr(not(test), allow(dead_code))]
    harmless: Vec<&'static str>,
    describe: Vec<DescribeFn>,
}

/// Facts that a route declares at its definition and the middleware enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteFacts {
    /// Whether it needs no credential.
    pub open: bool,
    /// Whether a secret goes in or out: never in clear text over the network.
    pub secret: bool,
    /// The token scope it needs. A route without one counts as `Admin`, and fails a test.
    pub scope: Option<TokenScope>,
    /// Whether only admins may use it.
    pub admin: bool,
    /// Whether `{name}` in its path is a tool that the scope `tool:NAME` may allow.
    pub one_tool: bool,
    /// The largest body in bytes; `None` where the handler reads the body as a stream and limits it itself.
    pub max_body: Option<usize>,
}

impl RouteFacts {
    const NEW: Self = Self {
        open: false,
        secret: false,
        scope: None,
        admin: false,
        one_tool: false,
        max_body: Some(DEFAULT_MAX_BODY),
    };
    /// No route: only a fallback answers, and every authenticated caller may learn that.
    pub const NO_ROUTE: Self = Self { scope: Some(TokenScope::Any), ..Self::NEW };

    pub fn body_limit(&self) -> usize {
        self.max_body.unwrap_or(DEFAULT_MAX_BODY)
    }
}

/// The largest body in bytes, unless the route sets another.
const DEFAULT_MAX_BODY: usize = 1 << 20;

/// The facts of every route by method and path template, as the router names it.
pub(crate) struct RouteTable(HashMap<(Method, String), RouteFacts>);

impl RouteTable {
    pub fn facts(&self, method: &Method, path: Option<&MatchedPath>) -> RouteFacts {
        // A GET handler answers HEAD too.
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        path.and_then(|path| self.get(&method, path.as_str())).unwrap_or(RouteFacts::NO_ROUTE)
    }

    pub fn get(&self, method: &Method, template: &str) -> Option<RouteFacts> {
        self.0.get(&(method.clone(), template.to_owned())).copied()
    }
}

/// The methods of one address.
pub(crate) struct On<S> {
    router: MethodRouter<S>,
    routes: Vec<Route>,
}

/// A handler without its types, so that axum's routing is compiled once and not for each handler.
struct ErasedHandler<S>(Arc<dyn Fn(Request, S) -> BoxFuture<'static, Response> + Send + Sync>);

impl<S> Clone for ErasedHandler<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Clone + Send + Sync + 'static> Handler<(), S> for ErasedHandler<S> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: S) -> Self::Future {
        (self.0)(request, state)
    }
}

macro_rules! methods {
    ($($name:ident $filter:ident),*) => {$(
        /// This method, with a sentence about what it does.
        #[allow(dead_code)] // Not every method comes first at an address.
        pub(crate) fn $name<H, T, I, O, S>(handler: H, about: &'static str) -> On<S>
        where
            H: Handler<T, S, Future = BoxFuture<'static, Response>> + DescribeHandler<I, O>,
            T: 'static,
            S: Clone + Send + Sync + 'static,
        {
            On { router: MethodRouter::new(), routes: vec![] }.$name(handler, about)
        }

        impl<S: Clone + Send + Sync + 'static> On<S> {
            /// Adds this method.
            pub fn $name<H, T, I, O>(mut self, handler: H, about: &'static str) -> Self
            where
                H: Handler<T, S, Future = BoxFuture<'static, Response>> + DescribeHandler<I, O>,
                T: 'static,
            {
                let erased = ErasedHandler(Arc::new(move |request, state| handler.clone().call(request, state)));
                self.router = self.router.on(MethodFilter::$filter, erased);
                let method = stringify!($name);
                self.routes.push(Route {
                    path: String::new(),
                    method,
                    about,
                    facts: RouteFacts::NEW,
                    harmless: vec![],
                    describe: vec![H::describe],
                });
                self
            }
        }
    )*};
}
methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE);

/// Facts about the last method.
impl<S> On<S> {
    fn last(mut self, change: impl FnOnce(&mut Route)) -> Self {
        self.routes.last_mut().map(change);
        self
    }

    /// It needs no credential.
    pub fn open(self) -> Self {
        self.last(|route| route.facts.open = true)
    }

    /// It accepts or returns a secret: it is served over TLS, loopback and the local socket only.
    pub fn secret(self) -> Self {
        self.last(|route| route.facts.secret = true)
    }

    /// Only admins may use it.
    pub fn admin(self) -> Self {
        self.last(|route| route.facts.admin = true)
    }

    /// The token scope it needs.
    pub fn scope(self, scope: TokenScope) -> Self {
        self.last(|route| route.facts.scope = Some(scope))
    }

    /// The tool `{name}` in its path may be allowed by the scope `tool:NAME`.
    pub fn one_tool(self) -> Self {
        self.last(|route| route.facts.one_tool = true)
    }

    /// The largest body in bytes.
    pub fn max_body(self, bytes: usize) -> Self {
        self.last(|route| route.facts.max_body = Some(bytes))
    }

    /// The handler reads the body as a stream and limits it itself.
    pub fn streams_body(self) -> Self {
        self.last(|route| route.facts.max_body = None)
    }

    /// Adds to its description.
    pub fn also(self, describe: DescribeFn) -> Self {
        self.last(|route| route.describe.push(describe))
    }
}

/// Routes with their facts and descriptions. Descriptions are made on demand; the router is built once, at the end, because
/// each step that adds a router to another inserts all of its addresses again.
pub(crate) struct Routes<S> {
    methods: BTreeMap<String, MethodRouter<S>>,
    /// Routers that answer addresses without a route, by the path they are under.
    missing: Vec<(String, Router<S>)>,
    routes: Vec<Route>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub fn new() -> Self {
        Self { methods: BTreeMap::new(), missing: vec![], routes: vec![] }
    }

    pub fn route(mut self, path: &str, on: On<S>) -> Self {
        self.add(path.to_owned(), on.router);
        self.routes.extend(on.routes.into_iter().map(|route| Route { path: path.to_owned(), ..route }));
        self
    }

    pub fn nest(mut self, path: &str, inner: Routes<S>) -> Self {
        let under = |p: String| if p == "/" { path.to_owned() } else { format!("{path}{p}") };
        inner.methods.into_iter().for_each(|(at, methods)| self.add(under(at), methods));
        self.missing.extend(inner.missing.into_iter().map(|(at, router)| (under(at), router)));
        self.routes.extend(inner.routes.into_iter().map(|route| Route { path: under(route.path), ..route }));
        self
    }

    /// An address may get its methods in several steps.
    fn add(&mut self, path: String, methods: MethodRouter<S>) {
        let all = self.methods.remove(&path).unwrap_or_default();
        self.methods.insert(path, all.merge(methods));
    }

    /// Sets the token scope of every route so far that does not set its own.
    pub fn scope(mut self, scope: TokenScope) -> Self {
        self.routes.iter_mut().for_each(|route| {
            route.facts.scope.get_or_insert(scope);
        });
        self
    }

    /// Declares that these fields of every route so far sound like secrets but are none.
    pub fn harmless(mut self, fields: &[&'static str]) -> Self {
        self.routes.iter_mut().for_each(|route| route.harmless.extend(fields));
        self
    }

    /// Adds other routes.
    pub fn merge(mut self, other: Routes<S>) -> Self {
        other.methods.into_iter().for_each(|(at, methods)| self.add(at, methods));
        self.missing.extend(other.missing);
        self.routes.extend(other.routes);
        self
    }

    /// Adds to the description of every route so far.
    pub fn all(mut self, describe: DescribeFn) -> Self {
        self.routes.iter_mut().for_each(|route| route.describe.push(describe));
        self
    }

    /// Answers other methods of every route so far, and other addresses beside them.
    pub fn otherwise<A: 'static, B: 'static>(
        mut self,
        wrong_method: impl Handler<A, S>,
        no_such_path: impl Handler<B, S>,
    ) -> Self {
        let methods = self.methods.into_iter();
        self.methods = methods.map(|(at, methods)| (at, methods.fallback(wrong_method.clone()))).collect();
        self.missing.push(("/".to_owned(), Router::new().fallback(no_such_path)));
        self
    }

    pub fn into_router(self) -> Router<S> {
        let router = self.methods.into_iter().fold(Router::new(), |all, (path, methods)| all.route(&path, methods));
        self.missing.into_iter().fold(router, |all, (path, missing)| all.nest(&path, missing))
    }

    /// The facts of all routes, for the middleware.
    pub fn table(&self) -> RouteTable {
        let method = |route: &Route| route.method.to_ascii_uppercase().parse().unwrap_or(Method::GET);
        RouteTable(self.routes.iter().map(|route| ((method(route), route.path.clone()), route.facts)).collect())
    }

    /// The OpenAPI document. `frame` contains title, version and security.
    pub fn document(&self, mut frame: Value) -> Value {
        let (mut schemas, mut paths) = (Schemas::default(), Map::new());
        for route in &self.routes {
            let mut operation = Operation::default();
            route.describe.iter().for_each(|describe| describe(&mut schemas, &mut operation));
            let path = route.path.replace("{*", "{");
            let mut shown = operation.finish(route.method, &path, route.about);
            if route.facts.open {
                shown["security"] = json!([]);
            }
            paths.entry(path).or_insert_with(|| json!({}))[route.method] = shown;
        }
        frame["openapi"] = "3.1.0".into();
        frame["paths"] = paths.into();
        frame["components"]["schemas"] = schemas.outputs.take_definitions(true).into();
        frame
    }
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
