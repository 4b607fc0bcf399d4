//! XML as a stream of elements and text. Entities of its own, external ones and deep nesting are refused.

use crate::fault::{Fault, Result, broken};
use quick_xml::{XmlVersion, events::Event};
use std::borrow::Cow;

/// The deepest nesting of elements.
const DEEPEST: usize = 256;

/// Reads XML piece by piece.
pub(crate) struct Xml<'a> {
    reader: quick_xml::Reader<&'a [u8]>,
    depth: usize,
}

/// A piece. Names are without their prefix.
#[derive(Debug)]
pub(crate) enum Node {
    Open(String, Attributes),
    Close(String),
    Text(String),
}

/// The attributes of an element, by their names without prefix.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<(String, String)>);

impl Attributes {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// All of that name, with different prefixes.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.trim().parse().ok()
    }

    /// A switch of Office: there, and not off.
    pub fn is_on(&self) -> bool {
        !matches!(self.get("val"), Some("0" | "false" | "off" | "none"))
    }
}

/// The bytes of an XML file as text.
pub(crate) fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let little = bytes[0] == 0xFF;
        let pairs = bytes[2..].chunks_exact(2).map(|two| {
            let two = [two[0], two[1]];
            if little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }
        });
        return Ok(Cow::Owned(char::decode_utf16(pairs).map(|c| c.unwrap_or('\u{fffd}')).collect()));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    Ok(String::from_utf8_lossy(bytes))
}

impl<'a> Xml<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut reader = quick_xml::Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self { reader, depth: 0 }
    }

    /// The next piece; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Node>> {
        loop {
            let event = self
                .reader
                .read_event()
                .map_err(|_| Fault::Broken("the XML in it is damaged: save the document again".into()))?;
            return Ok(Some(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return broken(format!("its XML is nested deeper than {DEEPEST} levels"));
                    }
                    let mut attributes = vec![];
                    for attribute in start.attributes().with_checks(false).flatten() {
                        let value = attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|_| entities())?;
                        attributes.push((local(attribute.key.local_name().as_ref()), value.into_owned()));
                    }
                    Node::Open(local(start.local_name().as_ref()), Attributes(attributes))
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::Close(local(end.local_name().as_ref()))
                }
                Event::Text(text) => Node::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Node::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(name) => Node::Text(match name.resolve_char_ref() {
                    Ok(Some(c)) => c.to_string(),
                    _ => match name.into_inner().as_ref() {
                        "amp" => "&".into(),
                        "lt" => "<".into(),
                        "gt" => ">".into(),
                        "quot" => "\"".into(),
                        "apos" => "'".into(),
                        _ => return Err(entities()),
                    },
                }),
                // A declaration alone defines nothing; entities are defined in its brackets.
                Event::DocType(text) if text.xml10_content().contains('[') => return Err(entities()),
                // Elements without content come as two.
                Event::Empty(_) | Event::DocType(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::Eof if self.depth > 0 => return broken("the XML in it breaks off: save the document again"),
                Event::Eof => return Ok(None),
            }));
        }
    }

    /// Skips to the end of the element that was opened last.
    pub fn skip(&mut self) -> Result<()> {
        let outside = self.depth - 1;
        while self.depth > outside {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The text up to the end of the element that was opened last.
    pub fn text(&mut self) -> Result<String> {
        let (outside, mut all) = (self.depth - 1, String::new());
        while self.depth > outside {
            match self.next()? {
                Some(Node::Text(text)) => all.push_str(&text),
                Some(_) => {}
                None => break,
            }
        }
        Ok(all)
    }
}

fn local(name: impl AsRef<str>) -> String {
    name.as_ref().to_owned()
}

fn entities() -> Fault {
    Fault::Broken(
        "its XML defines or uses entities of its own, which are not expanded: the document is made to do harm".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<String> {
        let (mut xml, mut out) = (Xml::new(text), String::new());
        while let Some(node) = xml.next()? {
            match node {
                Node::Open(name, attributes) => out.push_str(&format!("<{name}{}>", attributes.get("a").unwrap_or(""))),
                Node::Close(name) => out.push_str(&format!("</{name}>")),
                Node::Text(text) => out.push_str(&text),
            }
        }
        Ok(out)
    }

    #[test]
    fn pieces_come_in_order_and_entities_are_refused() {
        assert_eq!(
            all("<?xml version='1.0'?><w:x w:a='1&amp;2'>a &lt; &#x42;<y/></w:x>").unwrap(),
            "<x1&2>a < B<y></y></x>"
        );
        for hostile in [
            "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>",
            "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><x>&a;</x>",
            "<x>&none;</x>",
            "<x a=\"&none;\"/>",
            "<x>",
            "<x></y>",
            &"<x>".repeat(1000),
        ] {
            assert!(matches!(all(hostile), Err(Fault::Broken(_))), "{hostile}");
        }
    }
}
