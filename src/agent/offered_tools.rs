//! The tools that requests offer, described once: requests that offer the same tools share one description.

use llm::{ToolDefinition, Tools};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tool::{Offer, Tool};

/// How many sets are remembered: people with different rights are offered different tools.
const REMEMBERED: usize = 4;

/// The last sets.
#[derive(Default)]
pub(crate) struct OfferedTools(Mutex<Vec<Described>>);

/// A set, and the tools it describes: a changed tool is another one. Weak, because tools hold the parts that a shutdown releases.
struct Described {
    offered: Vec<Weak<Tool>>,
    known: Vec<Weak<Tool>>,
    tools: Tools,
}

impl OfferedTools {
    /// Describes tools that a request offers, and others whose names models know.
    pub fn describe(&self, offered: &[Arc<Tool>], known: &[Arc<Tool>]) -> Tools {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.iter().find(|set| are(&set.offered, offered) && are(&set.known, known)) {
            return set.tools.clone();
        }
        let partly_shown = offered.iter().filter(|tool| !tool.shows.is_empty());
        let callable = partly_shown.chain(known).map(|tool| full(tool)).collect();
        let tools = Tools::new(offered.iter().map(|tool| definition_of(tool)).collect(), callable);
        let weak = |tools: &[Arc<Tool>]| tools.iter().map(Arc::downgrade).collect();
        sets.truncate(REMEMBERED - 1);
        sets.insert(0, Described { offered: weak(offered), known: weak(known), tools: tools.clone() });
        tools
    }
}

/// Whether these are the same tools; a weak reference keeps its address from being used again.
fn are(these: &[Weak<Tool>], those: &[Arc<Tool>]) -> bool {
    these.len() == those.len() && these.iter().zip(those).all(|(this, that)| this.as_ptr() == Arc::as_ptr(that))
}

/// A tool as a request declares it: briefly where requests offer it unasked.
fn definition_of(tool: &Tool) -> ToolDefinition {
    match tool.offer {
        Offer::Found => full(tool),
        _ => ToolDefinition { parameters: tool.shown_parameters(), ..full(tool) },
    }
}

fn full(tool: &Tool) -> ToolDefinition {
    let (name, description) = (tool.name.to_string(), tool.description().to_owned());
    ToolDefinition { name, description, parameters: tool.parameters().clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tool::{Owner, Risk, Signature};

    fn tool(name: &str, offer: Offer, shows: &'static [&'static str]) -> Arc<Tool> {
        let run: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(tool::Output::default()) }));
        let field = |max: u32| json!({"type": "integer", "maximum": max});
        let parameters = json!({"type": "object", "properties": {"a": field(1), "b": field(2)}, "required": ["a"]});
        let signature = Signature::given("Does it.", parameters);
        Arc::new(Tool { signature, offer, shows, ..Tool::new(name, Risk::Observe, Owner::Core, "test", run) })
    }

    #[test]
    fn the_same_tools_are_described_once() {
        let sets = OfferedTools::default();
        let (one, two) = (tool("one", Offer::Always, &[]), tool("two", Offer::Known, &[]));
        let [ones, twos] = [[one.clone()], [two.clone()]];
        let address = |tools: &Tools| tools.as_ptr();
        let first = sets.describe(&ones, &twos);
        assert_eq!(address(&first), address(&sets.describe(&ones, &twos)));
        let both = sets.describe(&[one.clone(), two], &[]);
        assert_eq!((first.len(), both.len()), (1, 2));
        let changed = Arc::new(Tool { signature: Signature::given("Otherwise.", Value::Null), ..(*one).clone() });
        assert_eq!(sets.describe(&[changed], &twos)[0].description, "Otherwise.");
        assert_eq!(address(&first), address(&sets.describe(&ones, &twos)));
        drop(ones);
        for n in 0..9 {
            sets.describe(&[tool(&format!("t{n}"), Offer::Always, &[])], &[]);
        }
        assert_eq!(sets.0.lock().unwrap().len(), REMEMBERED);
        assert_eq!(Arc::strong_count(&one), 1, "nothing is held after a shutdown");
    }

    #[test]
    fn a_tool_offered_unasked_is_shown_in_part_and_a_found_one_in_full() {
        let sets = OfferedTools::default();
        let integer = json!({"type": "integer"});
        for (offer, shows, expected) in [
            (Offer::Always, &["c"][..], json!({"a": integer})),
            (Offer::Always, &[], json!({"a": integer, "b": integer})),
            (Offer::Found, &[], tool("t", Offer::Found, &[]).parameters()["properties"].clone()),
        ] {
            let tools = sets.describe(&[tool("t", offer, shows)], &[]);
            assert_eq!(tools[0].parameters["properties"], expected);
        }
    }
}
