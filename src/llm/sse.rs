//! Parses server-sent events from arbitrary chunks.

/// Maximum length of a line or event in bytes; those with an image are long.
const LONGEST: usize = 12 << 20;

/// Collects bytes into the data of complete events.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Option<String>,
    after_cr: bool,
    begun: bool,
}

impl Events {
    /// Takes bytes and returns the data of every completed event; `None` if one is too long.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Vec<String>> {
        let mut done = vec![];
        for &byte in bytes {
            match byte {
                // Second half of CR LF.
                b'\n' if std::mem::take(&mut self.after_cr) => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    done.extend(self.end_line());
                    if self.data.as_ref().is_some_and(|data| data.len() > LONGEST) {
                        return None;
                    }
                }
                _ => {
                    self.after_cr = false;
                    self.line.push(byte);
                    if self.line.len() > LONGEST {
                        return None;
                    }
                }
            }
        }
        Some(done)
    }

    /// The remainder at the end of the stream: some servers omit the last blank line.
    pub fn finish(&mut self) -> Option<String> {
        self.end_line().or_else(|| self.data.take())
    }

    /// Ends a line; a blank one ends the event and returns its data.
    fn end_line(&mut self) -> Option<String> {
        let mut line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if !std::mem::replace(&mut self.begun, true) && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        if line.is_empty() {
            return self.data.take();
        }
        if let Some(data) = line.strip_prefix("data:") {
            let data = data.strip_prefix(' ').unwrap_or(data);
            match &mut self.data {
                Some(all) => {
                    all.push('\n');
                    all.push_str(data);
                }
                None => self.data = Some(data.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_anywhere_it_is_the_same() {
        let text = "\u{feff}data: first\n\n: hello\r\ndata: {\"a\":\"ü\"}\r\n\r\nevent: x\ndata:one\ndata: two\n\n:ka\n\ndata: [DONE]";
        for size in 1..text.len() {
            let mut events = Events::default();
            let mut all: Vec<String> = vec![];
            for piece in text.as_bytes().chunks(size) {
                all.extend(events.feed(piece).unwrap());
            }
            all.extend(events.finish());
            assert_eq!(all, ["first", "{\"a\":\"ü\"}", "one\ntwo", "[DONE]"], "{size}");
        }
    }

    #[test]
    fn what_is_endless_ends() {
        assert!(Events::default().feed(&vec![b'x'; LONGEST + 1]).is_none());
        let mut events = Events::default();
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let taken = (0..20).take_while(|_| events.feed(line.as_bytes()).is_some()).count();
        assert_eq!(taken, 11, "many lines of one event");
    }
}
