//! The client's part of a run: its own tools, instructions, sampling and format.

use super::{Run, reply::RunStatus};
use llm::{ResponseFormat, Sampling, ToolCall, ToolChoice, ToolDefinition};
use std::{collections::HashSet, sync::Arc};
use tool::Id;

/// The client's part of a request.
#[derive(Default)]
pub(crate) struct ClientTools {
    pub tools: Vec<ToolDefinition>,
    pub strict: Vec<String>,
    pub instructions: String,
    pub one_at_a_time: bool,
    pub sampling: Sampling,
    pub format: ResponseFormat,
    pub status: Arc<RunStatus>,
}

impl ClientTools {
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|t| t.name == name)
    }
}

/// A random id of nine letters and digits: some model servers accept no other form.
fn new_call_id() -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut tail = [0; 8];
    tail.copy_from_slice(&Id::new().as_bytes()[8..]);
    // Without the two bits of the UUID variant.
    let mut random = u64::from_be_bytes(tail) & (u64::MAX >> 2);
    let digit = |_| {
        let digit = DIGITS[(random % 62) as usize];
        random /= 62;
        char::from(digit)
    };
    (0..9).map(digit).collect()
}

impl Run {
    /// Whether the client makes a call of this tool.
    pub(super) fn is_client_tool(&self, name: &str) -> bool {
        self.tool_choice != ToolChoice::None && self.client.has(name)
    }

    /// Gives calls of the client's tools our own ids, which identify their results later: some servers repeat ids in every
    /// request. A client that makes one call at a time gets only the first.
    pub(super) fn assign_client_call_ids(&self, calls: &mut Vec<ToolCall>) {
        let mut count = 0;
        calls.retain_mut(|call| {
            if !self.is_client_tool(&call.name) {
                return true;
            }
            call.id = new_call_id();
            count += 1;
            count == 1 || !self.client.one_at_a_time
        });
    }
}

/// Replaces ids that this run has used before: calls that have begun or wait are identified by their ids.
pub(super) fn make_ids_unique(calls: &mut [ToolCall], ids: &mut HashSet<String>) {
    for call in calls {
        while !ids.insert(call.id.clone()) {
            call.id = new_call_id();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_calls_are_nine_characters_that_differ() {
        let ids: HashSet<String> = (0..1000).map(|_| new_call_id()).collect();
        assert!(
            ids.len() == 1000 && ids.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
        );
    }
}
