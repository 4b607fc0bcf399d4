//! Stop sequences: truncates an answer at the first one, even across chunks.

/// Passes text on until a stop sequence or a length limit. A possible start of a stop sequence is held back.
#[derive(Debug, Default)]
pub struct StopFilter {
    stops: Vec<String>,
    held: String,
    /// Remaining bytes; unlimited if `None`.
    left: Option<usize>,
    end: Option<End>,
}

/// Why the filter ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A stop sequence.
    Stop,
    /// The length limit.
    Length,
}

impl StopFilter {
    /// A filter with these sequences and a length limit in bytes; empty sequences are ignored.
    pub fn new(stops: &[String], most: Option<usize>) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Self { stops, left: most, ..Self::default() }
    }

    /// Changes the remaining length.
    pub fn limit(&mut self, most: Option<usize>) {
        self.left = most;
    }

    /// Takes text and returns the part that may be shown.
    pub fn take(&mut self, text: &str) -> String {
        if self.end.is_some() {
            return String::new();
        }
        self.held.push_str(text);
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop)).min() {
            self.held.truncate(at);
            let shown = self.rest();
            self.end = self.end.or(Some(End::Stop));
            return shown;
        }
        let begun = |stop: &String| {
            (1..stop.len()).rev().find(|n| stop.is_char_boundary(*n) && self.held.ends_with(&stop[..*n]))
        };
        let held = self.stops.iter().filter_map(begun).max().unwrap_or(0);
        let shown: String = self.held.drain(..self.held.len() - held).collect();
        self.within(shown)
    }

    /// Returns what was held back, at the end of the answer.
    pub fn rest(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.within(held)
    }

    /// Why the filter ended, if it did.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    fn within(&mut self, mut text: String) -> String {
        if let Some(left) = &mut self.left {
            if text.len() > *left {
                text.truncate(text.floor_char_boundary(*left));
                self.end = Some(End::Length);
                self.held.clear();
            }
            *left -= text.len();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the text in pieces of so many characters.
    fn shown(stops: &[&str], most: Option<usize>, text: &str, size: usize) -> (String, Option<End>) {
        let stops: Vec<String> = stops.iter().map(|s| s.to_string()).collect();
        let mut filter = StopFilter::new(&stops, most);
        let letters: Vec<char> = text.chars().collect();
        let mut shown: String =
            letters.chunks(size).map(|piece| filter.take(&piece.iter().collect::<String>())).collect();
        shown += &filter.rest();
        (shown, filter.end())
    }

    #[test]
    fn an_answer_ends_before_the_first_stop_sequence_however_it_is_cut_up() {
        use End::*;
        for size in [1, 2, 3, 100] {
            for (stops, most, text, expected, end) in [
                (&[][..], None, "all of it", "all of it", None),
                (&["END"], None, "a END b", "a ", Some(Stop)),
                (&["END"], None, "a EN", "a EN", None),
                (&["ENDE", "EN"], None, "a ENDE", "a ", Some(Stop)),
                (&["aab"], None, "xaaab", "xa", Some(Stop)),
                (&["→→"], None, "a→b→→c", "a→b", Some(Stop)),
                (&[""], None, "abc", "abc", None),
                (&["z"], Some(4), "äbcdez", "äbc"[..4].trim_end(), Some(Length)),
                (&["c"], Some(4), "abc", "ab", Some(Stop)),
                (&[], Some(3), "abc", "abc", None),
            ] {
                assert_eq!(shown(stops, most, text, size), (expected.to_owned(), end), "{text} in pieces of {size}");
            }
        }
    }
}
