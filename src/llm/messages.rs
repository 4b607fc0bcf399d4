//! The messages of a request, shared by all copies of it: each provider of a chain gets one.

use crate::Message;
use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Messages in order. A copy is changed without the others; as long as there is one alone, nothing is copied.
#[derive(Clone, Default, PartialEq)]
pub struct Messages(Arc<Vec<Message>>);

impl Deref for Messages {
    type Target = Vec<Message>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(Arc::new(messages))
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<T: IntoIterator<Item = Message>>(messages: T) -> Self {
        messages.into_iter().collect::<Vec<_>>().into()
    }
}

impl PartialEq<Vec<Message>> for Messages {
    fn eq(&self, other: &Vec<Message>) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_copy_is_its_own_and_a_change_of_the_last_one_copies_nothing() {
        let mut first: Messages = vec![Message::user("a")].into();
        let mut second = first.clone();
        assert!(std::ptr::eq(first.as_ptr(), second.as_ptr()), "copies share the messages");
        second.push(Message::user("b"));
        assert_eq!((first.len(), second.len()), (1, 2));
        drop(second);
        let before = first.as_ptr();
        first[0] = Message::user("c");
        assert_eq!((first.as_ptr(), &first[0]), (before, &Message::user("c")));
    }
}
