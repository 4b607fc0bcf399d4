//! The people a message is for: its author, somebody by name, or everyone.

use tool::{Cx, Error, Result, UserId};

/// The word for everybody, as it is stored and shown.
pub const EVERYONE: &str = "everyone";

/// The addressee of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee {
    /// The caller.
    Caller,
    /// One other person.
    Person(UserId),
    /// Everybody in the household.
    Everyone,
}

impl Addressee {
    /// Reads a name, an id, `me` or `everyone`; without a text it is the caller.
    ///
    /// # Errors
    /// `BadArgs` with the names if nobody is called so; `Failed` if the people cannot be read.
    pub fn read(cx: &Cx, person: Option<&str>) -> Result<Self> {
        let wanted = person.unwrap_or_default().trim().to_lowercase();
        match &*wanted {
            "" | "me" | "myself" | "i" => return Ok(Self::Caller),
            EVERYONE | "everybody" | "all" | "us" | "the household" | "the family" => return Ok(Self::Everyone),
            _ => {}
        }
        let people = cx.ports().people.everybody()?;
        let found = people.iter().find(|(id, name)| id.0.to_string() == wanted || name.to_lowercase() == wanted);
        match found {
            Some((id, _)) if *id == cx.user() => Ok(Self::Caller),
            Some((id, _)) => Ok(Self::Person(*id)),
            None => {
                let names: Vec<&str> = people.iter().map(|(_, name)| &**name).collect();
                let wanted: String = person.unwrap_or_default().trim().chars().take(64).collect();
                Err(Error::bad_args(format!(
                    "nobody here is called “{wanted}”: name one of {}, or `{EVERYONE}`",
                    if names.is_empty() { "the household".to_owned() } else { names.join(", ") }
                )))
            }
        }
    }

    /// Its stored form, which survives a new name; `None` for the caller.
    pub fn stored(self) -> Option<String> {
        match self {
            Self::Caller => None,
            Self::Person(id) => Some(id.0.to_string()),
            Self::Everyone => Some(EVERYONE.to_owned()),
        }
    }

    /// The people it means.
    ///
    /// # Errors
    /// `Failed` if the people cannot be read.
    pub fn people(self, cx: &Cx) -> Result<Vec<UserId>> {
        match self {
            Self::Caller => Ok(vec![cx.user()]),
            Self::Person(id) => Ok(vec![id]),
            Self::Everyone => {
                let mut all: Vec<UserId> = cx.ports().people.everybody()?.into_iter().map(|(id, _)| id).collect();
                if !all.contains(&cx.user()) {
                    all.push(cx.user());
                }
                Ok(all)
            }
        }
    }

    /// The name for a stored form: "Anna", "everyone"; "somebody who has left" for a person who is gone.
    pub fn shown(cx: &Cx, stored: &str) -> String {
        match stored.parse().ok().map(|id| cx.ports().people.name_of(UserId(id))) {
            Some(Some(name)) => name,
            Some(None) => "somebody who has left".to_owned(),
            None => stored.to_owned(),
        }
    }
}
