//! The tools of a request: made once, shared by all copies of the request, and written once for each wire format.

use crate::{Endpoint, ToolDefinition, Wire};
use serde_json::Value;
use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Tools that a request offers to a model; a slice of them. Copies share one set.
#[derive(Clone, Default)]
pub struct Tools(Option<Arc<Set>>);

struct Set {
    offered: Vec<ToolDefinition>,
    callable: Arc<[ToolDefinition]>,
    sizes: OnceLock<Vec<usize>>,
    /// The texts so far; a set meets two or three forms.
    written: Mutex<Vec<(WireForm, Arc<str>)>>,
}

/// The form of a text: everything it depends on beside the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireForm {
    pub wire: Wire,
    /// Whether schemas are reduced to the least that servers accept.
    pub stripped: bool,
    /// Whether the last tool ends a part to be cached.
    pub marked: bool,
}

impl WireForm {
    pub fn of(endpoint: &Endpoint, marked: bool) -> Self {
        Self { wire: endpoint.wire, stripped: endpoint.quirks.strip_schema, marked }
    }
}

impl Tools {
    /// A set that offers `offered`. A call written as text may also use `callable`: tools whose names models know, and offered
    /// ones with parameters that the request does not show.
    pub fn new(offered: Vec<ToolDefinition>, callable: Vec<ToolDefinition>) -> Self {
        Self::with_callable(offered, callable.into())
    }

    fn with_callable(offered: Vec<ToolDefinition>, callable: Arc<[ToolDefinition]>) -> Self {
        let is_empty = offered.is_empty() && callable.is_empty();
        let set = || Set { offered, callable, sizes: OnceLock::new(), written: Mutex::default() };
        Self((!is_empty).then(|| Arc::new(set())))
    }

    /// The same set with more offered tools.
    pub fn with(&self, more: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.offering(self.iter().cloned().chain(more).collect())
    }

    /// The same set with other offered tools, such as shorter ones.
    pub(crate) fn offering(&self, offered: Vec<ToolDefinition>) -> Self {
        Self::with_callable(offered, self.0.as_ref().map(|set| set.callable.clone()).unwrap_or_default())
    }

    /// The tool of this name that a call written as text may use, with all its parameters.
    pub(crate) fn callable(&self, name: &str) -> Option<&ToolDefinition> {
        self.all_callable().find(|tool| tool.name == name)
    }

    /// Every tool that a call written as text may use; some twice.
    pub(crate) fn all_callable(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.0.iter().flat_map(|set| set.callable.iter().chain(&set.offered))
    }

    /// The length of each offered tool: name, description and schema, in bytes.
    pub fn sizes(&self) -> &[usize] {
        let size = |t: &ToolDefinition| t.name.len() + t.description.len() + t.parameters.to_string().len();
        self.0.as_ref().map_or(&[], |set| set.sizes.get_or_init(|| set.offered.iter().map(size).collect()))
    }

    /// The JSON text of the set in a wire format, written by `write` the first time.
    pub(crate) fn written(&self, form: WireForm, write: impl FnOnce(&[ToolDefinition]) -> Value) -> Arc<str> {
        let Some(set) = &self.0 else { return write(&[]).to_string().into() };
        let mut written = set.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = written.iter().find(|(other, _)| *other == form) {
            return text.clone();
        }
        let text: Arc<str> = write(&set.offered).to_string().into();
        written.push((form, text.clone()));
        text
    }
}

impl Deref for Tools {
    type Target = [ToolDefinition];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().map_or(&[], |set| &set.offered)
    }
}

impl From<Vec<ToolDefinition>> for Tools {
    fn from(offered: Vec<ToolDefinition>) -> Self {
        Self::new(offered, vec![])
    }
}

impl FromIterator<ToolDefinition> for Tools {
    fn from_iter<T: IntoIterator<Item = ToolDefinition>>(offered: T) -> Self {
        offered.into_iter().collect::<Vec<_>>().into()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Tools {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Adds a field that is written already to the text of a JSON object that has fields.
pub(crate) fn with_field(mut object: String, name: &str, text: &str) -> String {
    object.truncate(object.len().saturating_sub(1));
    object.reserve(name.len() + text.len() + 5);
    for part in [",\"", name, "\":", text, "}"] {
        object.push_str(part);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition { name: name.into(), description: "d".into(), parameters: json!({"a": 1}) }
    }

    #[test]
    fn a_set_is_written_once_for_each_form_and_shared_by_copies() {
        let tools: Tools = vec![tool("one"), tool("two")].into();
        let form = |wire| WireForm { wire, stripped: false, marked: false };
        let names = |tools: &[ToolDefinition]| tools.iter().map(|t| t.name.clone()).collect::<Vec<_>>().into();
        let first = tools.written(form(Wire::OpenAi), names);
        assert_eq!(&*first, r#"["one","two"]"#);
        let again = tools.clone().written(form(Wire::OpenAi), |_| panic!("written twice"));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(&*tools.written(form(Wire::Gemini), |tools| tools.len().into()), "2");
        assert_eq!(&*tools.written(WireForm { stripped: true, ..form(Wire::OpenAi) }, |_| json!({})), "{}");
        assert_eq!(tools.sizes(), [3 + 1 + 7, 3 + 1 + 7]);
        let shorter = tools.offering(vec![tool("three")]);
        assert_eq!(&*shorter.written(form(Wire::OpenAi), names), r#"["three"]"#, "another set is written anew");
    }

    #[test]
    fn callable_tools_are_not_offered() {
        let tools = Tools::new(vec![tool("shown")], vec![tool("known")]);
        assert_eq!((tools.len(), tools[0].name.as_str()), (1, "shown"));
        let callable = |tools: &Tools| ["shown", "known", "other"].map(|name| tools.callable(name).is_some());
        assert_eq!(callable(&tools), [true, true, false]);
        assert_eq!(callable(&tools.offering(vec![])), [false, true, false]);
        assert_eq!((Tools::default().len(), Tools::from(vec![]).sizes().len()), (0, 0));
    }

    #[test]
    fn a_written_field_is_added_to_an_object() {
        for object in [json!({"a": {"b": {}}}), json!({"a": "}"}), json!({"a": "\\\"}"})] {
            let text = with_field(object.to_string(), "tools", r#"[{"c":{}}]"#);
            let mut expected = object;
            expected["tools"] = json!([{"c": {}}]);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        }
    }
}
