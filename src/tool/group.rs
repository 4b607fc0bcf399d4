//! Groups of tools: switched on and off as one, and named `group:ID` in the lists of a policy.

/// Whether a group is on as long as nobody switches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// On, and it cannot be turned off.
    Always,
    /// On.
    On,
    /// Off.
    Off,
    /// On once one of these services is set up.
    With(&'static [&'static str]),
    /// It only gathers tools of other groups under one name for lists; those groups switch them.
    Gathers,
}

/// A group as its family defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGroup {
    /// Its id: in lists after `group:`, and in the API.
    pub id: &'static str,
    /// Its name for people.
    pub name: String,
    /// The purpose of its tools, in one sentence.
    pub about: &'static str,
    /// Whether it is on as long as nobody switches it.
    pub start: Start,
    /// Groups that must be on too.
    pub needs: &'static [&'static str],
    /// Groups whose tools it includes in a list.
    pub with: &'static [&'static str],
}

impl ToolGroup {
    /// A group that is on by default. Its name is the id with a capital letter.
    pub fn new(id: &'static str, about: &'static str) -> Self {
        let mut name = id.to_owned();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self { id, name, about, start: Start::On, needs: &[], with: &[] }
    }
    /// Its name, where that is not the id.
    pub fn name(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }
    /// Whether it is on as long as nobody switches it.
    pub fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }
    /// Groups that must be on too.
    pub fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }
    /// Groups whose tools it includes in a list.
    pub fn with(self, with: &'static [&'static str]) -> Self {
        Self { with, ..self }
    }
}
