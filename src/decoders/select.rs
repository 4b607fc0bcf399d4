//! Takes the units of a document that are wanted, as far as there is room.

use crate::{
    fault::{Fault, Result},
    pages::Pages,
    task::{Part, ReadTask, Unit},
};

/// The units that are wanted of `count`.
pub(crate) fn numbers(task: &ReadTask, count: u32, unit: Unit) -> Result<Vec<u32>> {
    let numbers = Pages::numbers(task.pages.as_ref(), count);
    if numbers.is_empty() && count > 0 {
        let name = unit.name();
        return Err(Fault::BadArgs(format!(
            "the document has {}: name {name}s up to {count} in `pages`",
            text_kit::counted(count, name)
        )));
    }
    Ok(numbers)
}

/// Takes the text of units until there is no more room.
pub(crate) struct Collector {
    room: usize,
    skip: usize,
    parts: Vec<Part>,
    next: Option<(u32, usize)>,
}

impl Collector {
    pub fn new(task: &ReadTask) -> Self {
        Self { room: task.room, skip: task.offset, parts: vec![], next: None }
    }

    /// Adds the text of a unit; whether there is room for more.
    pub fn push(&mut self, number: u32, name: Option<String>, mut text: String) -> bool {
        let skipped = std::mem::take(&mut self.skip);
        if skipped > 0 {
            let at = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
            text.drain(..at);
        }
        if text.len() > self.room {
            if !self.parts.is_empty() {
                self.next = Some((number, 0));
                return false;
            }
            text.truncate(text.floor_char_boundary(self.room));
            // At the end of a line where there is one.
            if let Some(end) = text.rfind('\n').filter(|end| *end > text.len() / 2) {
                text.truncate(end + 1);
            }
            self.next = Some((number, skipped + text.chars().count()));
        }
        self.room = self.room.saturating_sub(text.len());
        self.parts.push(Part { number, name, text });
        self.next.is_none()
    }

    pub fn finish(self) -> (Vec<Part>, Option<(u32, usize)>) {
        (self.parts, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_where_room_ends_and_goes_on_there() {
        let task = |offset| ReadTask { room: 12, offset, ..ReadTask::default() };
        let mut first = Collector::new(&task(0));
        assert!(!first.push(1, None, "äöü-äöü-äöü".into()));
        assert_eq!(first.finish().1, Some((1, 6)));
        let mut second = Collector::new(&task(6));
        assert!(second.push(1, None, "äöü-äöü-äöü".into()));
        assert!(!second.push(2, None, "more text".into()));
        let (parts, next) = second.finish();
        assert_eq!((parts[0].text.as_str(), next), ("ü-äöü", Some((2, 0))));
        let mut past = Collector::new(&task(99));
        assert!(past.push(1, None, "short".into()));
        assert_eq!(past.finish().0[0].text, "");
    }
}
