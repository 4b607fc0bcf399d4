//! The end of an output: what came before a bound is dropped, and offsets stay what they were.

/// The last `most` bytes of a text, and the offset at which they begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ring {
    text: String,
    start: u64,
    most: usize,
}

/// A part of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    pub text: String,
    /// The offset of its first byte: later than asked for where that is no longer there.
    pub from: u64,
    /// The offset after its last byte, where the next part begins.
    pub next: u64,
}

impl Ring {
    pub fn new(most: usize) -> Self {
        Self { text: String::new(), start: 0, most }
    }

    /// One that was stored.
    pub fn restored(text: String, start: u64) -> Self {
        let most = text.len();
        Self { text, start, most }
    }

    pub fn push(&mut self, more: &str) {
        self.text.push_str(more);
        // Dropped in pieces, so that not every line moves all others.
        if self.text.len() > self.most + self.most / 4 {
            let cut = self.text.ceil_char_boundary(self.text.len() - self.most);
            self.text.drain(..cut);
            self.start += cut as u64;
        }
    }

    /// The offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }

    /// At most `most` bytes from an offset on.
    pub fn part(&self, from: u64, most: usize) -> Part {
        let skip = from.saturating_sub(self.start).min(self.text.len() as u64) as usize;
        let begin = self.text.ceil_char_boundary(skip);
        let end = self.text.floor_char_boundary(begin.saturating_add(most).min(self.text.len()));
        let text = self.text[begin..end.max(begin)].to_owned();
        let from = self.start + begin as u64;
        Part { next: from + text.len() as u64, text, from }
    }

    /// The last `most` bytes, to be stored.
    pub fn tail(&self, most: usize) -> Part {
        self.part(self.end().saturating_sub(most as u64), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_end_and_counts_all() {
        let mut ring = Ring::new(8);
        for _ in 0..1000 {
            ring.push("äb");
        }
        assert_eq!(ring.end(), 3000);
        assert!(ring.text.len() <= 12, "{ring:?}");
        let part = ring.part(0, 100);
        assert_eq!((part.text.len() as u64, part.next), (part.next - part.from, 3000));
        assert_eq!(ring.part(3000, 9), Part { text: String::new(), from: 3000, next: 3000 });
        assert_eq!(ring.part(9999, 9).text, "");
        // In the middle of a character it begins with the next one.
        assert_eq!(ring.part(2998, 9).text, "b");
        assert_eq!(ring.tail(3).text, "äb");
    }
}
