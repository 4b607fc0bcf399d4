//! The elements that matter here, by name.

macro_rules! tags {
    ($($tag:ident $name:literal),* $(,)?) => {
        /// An element; [`Tag::Other`] is any without a meaning here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Tag { Root, Text, Other, $($tag),* }

        impl Tag {
            /// How many there are.
            pub const COUNT: usize = 3 $(+ { let _ = Tag::$tag; 1 })*;

            /// The element of a name in lower case.
            pub fn of(name: &[u8]) -> Self {
                match std::str::from_utf8(name) {
                    $(Ok($name) => Tag::$tag,)*
                    _ => Tag::Other,
                }
            }
        }
    };
}

tags! {
    A "a", Abbr "abbr", Acronym "acronym", Address "address", Area "area", Article "article", Aside "aside", Audio "audio", B "b",
    Base "base", Bdo "bdo", Big "big", Blockquote "blockquote", Body "body", Br "br", Button "button", Canvas "canvas",
    Caption "caption", Center "center", Cite "cite", Code "code", Col "col", Colgroup "colgroup", Datalist "datalist", Dd "dd",
    Del "del", Details "details", Dialog "dialog", Dir "dir", Div "div", Dl "dl", Dt "dt", Em "em", Embed "embed",
    Fieldset "fieldset", Figcaption "figcaption", Figure "figure", Font "font", Footer "footer", Form "form", Frameset "frameset",
    H1 "h1", H2 "h2", H3 "h3", H4 "h4", H5 "h5", H6 "h6", Head "head", Header "header", Hgroup "hgroup", Hr "hr", Html "html",
    I "i", Iframe "iframe", Img "img", Input "input", Ins "ins", Kbd "kbd", Label "label", Legend "legend", Li "li", Link "link",
    Main "main", Mark "mark", Math "math", Menu "menu", Meta "meta", Nav "nav", Noembed "noembed", Noframes "noframes",
    Noscript "noscript", Object "object", Ol "ol", Optgroup "optgroup", OptionTag "option", P "p", Param "param",
    Plaintext "plaintext", Pre "pre", Progress "progress", Q "q", Rp "rp", Rt "rt", Ruby "ruby", S "s", Samp "samp", Script "script",
    Search "search", Section "section", Select "select", Small "small", Source "source", Span "span", Strike "strike",
    Strong "strong", Style "style", Sub "sub", Summary "summary", Sup "sup", Svg "svg", Table "table", Tbody "tbody", Td "td",
    Template "template", Textarea "textarea", Tfoot "tfoot", Th "th", Thead "thead", Time "time", Title "title", Tr "tr",
    Track "track", Tt "tt", U "u", Ul "ul", Var "var", Video "video", Wbr "wbr", Xmp "xmp",
}

impl Tag {
    /// Whether it has no content and no end tag.
    pub fn is_void(self) -> bool {
        use Tag::*;
        matches!(self, Area | Base | Br | Col | Embed | Hr | Img | Input | Link | Meta | Param | Source | Track | Wbr)
    }

    /// Whether its text is no text of the page: code, other media, parts of forms.
    pub fn is_skipped(self) -> bool {
        use Tag::*;
        matches!(
            self,
            Audio
                | Canvas
                | Datalist
                | Embed
                | Head
                | Iframe
                | Noembed
                | Noframes
                | Noscript
                | Object
                | OptionTag
                | Progress
                | Rp
                | Script
                | Select
                | Style
                | Svg
                | Template
                | Textarea
                | Title
                | Video
        )
    }

    /// Whether it begins on a line of its own.
    pub fn is_block(self) -> bool {
        use Tag::*;
        self.is_heading()
            || self.is_list()
            || self.is_row_part()
            || matches!(
                self,
                Root | Address
                    | Article
                    | Aside
                    | Blockquote
                    | Body
                    | Caption
                    | Center
                    | Dd
                    | Details
                    | Dialog
                    | Div
                    | Dl
                    | Dt
                    | Fieldset
                    | Figcaption
                    | Figure
                    | Footer
                    | Form
                    | Header
                    | Hgroup
                    | Hr
                    | Legend
                    | Li
                    | Main
                    | Nav
                    | P
                    | Plaintext
                    | Pre
                    | Search
                    | Section
                    | Summary
                    | Table
                    | Xmp
            )
    }

    pub fn is_heading(self) -> bool {
        use Tag::*;
        matches!(self, H1 | H2 | H3 | H4 | H5 | H6)
    }

    /// The level of a heading; 0 for any other element.
    pub fn level(self) -> usize {
        if self.is_heading() { usize::from(self as u8 - Tag::H1 as u8) + 1 } else { 0 }
    }

    pub fn is_list(self) -> bool {
        matches!(self, Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir)
    }

    /// A part of a table below it.
    pub fn is_row_part(self) -> bool {
        use Tag::*;
        matches!(self, Tbody | Thead | Tfoot | Tr | Td | Th)
    }

    pub fn is_cell(self) -> bool {
        matches!(self, Tag::Td | Tag::Th)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_elements() {
        for (name, tag) in [("h1", Tag::H1), ("option", Tag::OptionTag), ("wbr", Tag::Wbr), ("x-y", Tag::Other)] {
            assert_eq!(Tag::of(name.as_bytes()), tag);
        }
        assert_eq!((Tag::H1.level(), Tag::H6.level(), Tag::P.level()), (1, 6, 0));
        assert_eq!(Tag::Xmp as usize + 1, Tag::COUNT);
    }
}
