//! Which elements a reader does not see: by attributes, by their style, and by simple rules of style sheets.

use crate::tree::Attributes;
use std::collections::HashMap;

/// The most rules of style sheets that are kept.
const RULES: usize = 5_000;
/// The most classes of one element that are looked up.
const CLASSES: usize = 50;

/// The selectors `.class`, `#id` and `element.class` whose rules hide, or show again.
#[derive(Debug, Default)]
pub(crate) struct Sheet(HashMap<String, bool>);

impl Sheet {
    /// Reads the rules at the top level: those for print, small screens and the like are conditional.
    pub fn of(css: &str) -> Self {
        let css = without_comments(css);
        let (mut rules, mut rest) = (HashMap::new(), &*css);
        while let Some(open) = rest.find('{') {
            let selectors = rest[..open].rsplit([';', '}']).next().unwrap_or_default().trim();
            let body = &rest[open + 1..];
            if selectors.starts_with('@') {
                rest = after_block(body);
                continue;
            }
            let close = body.find('}').unwrap_or(body.len());
            if let Some(hides) = verdict(&body[..close]) {
                for selector in selectors.split(',').map(str::trim).filter(|s| is_simple(s)) {
                    if rules.len() < RULES || rules.contains_key(selector) {
                        rules.insert(selector.to_owned(), hides);
                    }
                }
            }
            rest = body.get(close + 1..).unwrap_or_default();
        }
        Self(rules)
    }

    fn hides(&self, it: &Attributes) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let is = |selector: String| self.0.get(&selector).copied() == Some(true);
        !it.id.is_empty() && is(format!("#{}", it.id))
            || it.class.split_ascii_whitespace().take(CLASSES).any(|class| is(format!(".{class}")))
    }

    /// Whether the element is hidden with all within it.
    pub fn is_hidden(&self, it: &Attributes) -> bool {
        it.hidden || !it.style.is_empty() && verdict(&it.style) == Some(true) || self.hides(it)
    }
}

fn is_simple(selector: &str) -> bool {
    let mut characters = selector.chars();
    matches!(characters.next(), Some('.' | '#'))
        && selector.len() > 1
        && characters.all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// What follows a block that has begun.
fn after_block(body: &str) -> &str {
    let mut depth = 1;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &body[at + 1..];
        }
    }
    ""
}

fn without_comments(css: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(css.len()), css);
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        rest = rest[at + 2..].split_once("*/").map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

/// Whether declarations hide an element; `None` where they say nothing of it.
fn verdict(declarations: &str) -> Option<bool> {
    let mut style = Style::default();
    for declaration in declarations.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        let value = value.trim().to_ascii_lowercase();
        let value = value.strip_suffix("!important").unwrap_or(&value).trim();
        style.declare(&name.trim().to_ascii_lowercase(), value);
    }
    style.verdict()
}

/// The declarations of one element that hide it by themselves or together.
#[derive(Debug, Default)]
struct Style {
    hides: Option<bool>,
    is_placed: bool,
    is_away: bool,
    is_moved: bool,
    /// It is cut to nothing where it is placed.
    is_cut: bool,
    is_clipped: bool,
    is_empty: bool,
    color: Option<String>,
    background: Option<String>,
}

impl Style {
    fn declare(&mut self, name: &str, value: &str) {
        let mut says = |hides: bool| self.hides = Some(self.hides == Some(true) && name != "display" || hides);
        match name {
            "display" => says(value == "none"),
            "visibility" => says(matches!(value, "hidden" | "collapse")),
            "mso-hide" if value == "all" => says(true),
            "opacity" => says(number(value).is_some_and(|(n, unit)| n < if unit == "%" { 5.0 } else { 0.05 })),
            "font-size" if number(value).is_some_and(|(n, unit)| n < tiny(unit)) => says(true),
            "text-indent" if number(value).is_some_and(is_far) => says(true),
            "transform" if value.replace(' ', "").contains("scale(0)") => says(true),
            "transform" | "translate" => self.is_moved |= arguments(value).filter_map(number).any(is_far),
            "filter" => {
                let part = value.split("opacity(").nth(1).and_then(|rest| rest.split(')').next()).and_then(number);
                if part.is_some_and(|(n, unit)| n < if unit == "%" { 5.0 } else { 0.05 }) {
                    says(true);
                }
            }
            "content-visibility" => says(value == "hidden"),
            "clip-path" => {
                let value = value.replace(' ', "");
                let hides = ["inset(50%", "inset(100%", "circle(0", "polygon(00"].iter().any(|s| value.starts_with(s));
                if hides {
                    says(true);
                }
            }
            "clip" => {
                let inner = value.strip_prefix("rect(").and_then(|v| v.strip_suffix(')')).unwrap_or("auto");
                let mut sides = inner.split([',', ' ']).filter(|side| !side.is_empty());
                self.is_clipped |= sides.all(|side| number(side).is_some_and(|(n, _)| n.abs() <= 1.0));
                self.is_cut |= self.is_clipped && inner != "auto";
            }
            "position" => self.is_placed = matches!(value, "absolute" | "fixed"),
            "left" | "right" | "top" | "bottom" => self.is_away |= number(value).is_some_and(is_far),
            // These move whatever is placed or not.
            "margin-left" | "margin-top" => self.is_moved |= number(value).is_some_and(is_far),
            "width" | "height" | "max-height" | "max-width" => {
                self.is_empty |= number(value).is_some_and(|(n, unit)| n == 0.0 || n <= 1.0 && unit == "px");
            }
            "overflow" => self.is_clipped |= matches!(value, "hidden" | "clip"),
            "color" => {
                let is_through = |value: &str| {
                    (value.starts_with("rgba(") || value.starts_with("hsla("))
                        && arguments(value).nth(3).and_then(number).is_some_and(|(n, _)| n < 0.05)
                };
                if value == "transparent" || is_through(value) {
                    says(true);
                }
                self.color = color(value);
            }
            "background" | "background-color" => self.background = color(value),
            _ => {}
        }
    }

    fn verdict(&self) -> Option<bool> {
        let away = self.is_away && (self.is_placed || self.is_clipped);
        let away = away || self.is_moved || self.is_cut && self.is_placed;
        let empty = self.is_empty && self.is_clipped;
        let same = self.color.is_some() && self.color == self.background;
        if away || empty || same { Some(true) } else { self.hides }
    }
}

/// The colours of text and ground that an element sets; `Some(None)` where it sets one that is not known.
pub(crate) fn paint(it: &Attributes) -> [Option<Option<String>>; 2] {
    let mut paint = [(&it.color), (&it.background)].map(|value| (!value.is_empty()).then(|| color(value)));
    for declaration in it.style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        match &*name.trim().to_ascii_lowercase() {
            "color" => paint[0] = Some(color(value)),
            "background" | "background-color" => paint[1] = Some(color(value)),
            _ => {}
        }
    }
    paint
}

/// The arguments of a function in a value: `rgba(0, 0, 0, 0)`, `translate(-9999px, 0)`.
fn arguments(value: &str) -> impl Iterator<Item = &str> {
    let inner = value.split_once('(').and_then(|(_, rest)| rest.split(')').next()).unwrap_or(value);
    inner.split([',', ' ', '/']).filter(|part| !part.is_empty())
}

/// A number and its unit.
fn number(value: &str) -> Option<(f32, &str)> {
    let end = value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    Some((value[..end].parse().ok()?, value[end..].trim()))
}

/// Sizes below this are not read by people.
fn tiny(unit: &str) -> f32 {
    match unit {
        "em" | "rem" => 0.13,
        "%" => 13.0,
        "" => f32::MIN_POSITIVE,
        _ => 2.0,
    }
}

/// Whether a length leads out of the page.
fn is_far((n, unit): (f32, &str)) -> bool {
    n <= match unit {
        "em" | "rem" => -50.0,
        "%" => -100.0,
        "vw" | "vh" => -99.0,
        _ => -900.0,
    }
}

/// A colour in one form: `#rrggbb` or a name as it is.
fn color(value: &str) -> Option<String> {
    let value = value.trim().to_ascii_lowercase();
    let named = match &*value {
        "white" => "#ffffff",
        "black" => "#000000",
        "red" => "#ff0000",
        other => other,
    };
    if let Some(hex) = named.strip_prefix('#') {
        return match hex.len() {
            3 if hex.is_ascii() => Some(hex.chars().flat_map(|c| [c, c]).collect()),
            6 => Some(hex.to_owned()),
            _ => None,
        };
    }
    if let Some(inner) = named.strip_prefix("rgb(").and_then(|v| v.strip_suffix(')')) {
        let parts: Vec<u8> = inner.split([',', ' ']).filter_map(|n| n.trim().parse().ok()).collect();
        return (parts.len() == 3).then(|| parts.iter().map(|n| format!("{n:02x}")).collect());
    }
    let is_word = !named.is_empty() && named.chars().all(|c| c.is_ascii_alphabetic());
    (is_word && !matches!(named, "inherit" | "initial" | "unset" | "none" | "transparent" | "currentcolor"))
        .then(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_that_hide() {
        let hides =
            |style: &str| Sheet::default().is_hidden(&Attributes { style: style.into(), ..Attributes::default() });
        for style in [
            "display:none",
            "DISPLAY : None !important",
            "color:red;visibility: hidden",
            "opacity:0",
            "opacity: 0.01",
            "font-size:0",
            "font-size: 1px",
            "text-indent:-9999px",
            "color:rgba(0, 0, 0, 0)",
            "color: rgba(0 0 0 / 0%)",
            "filter: opacity(0)",
            "clip:rect(0,0,0,0);position:absolute",
            "margin-left:-10000px",
            "transform: translateX(-9999px)",
            "translate: -9999px 0",
            "content-visibility:hidden",
            "position:absolute; left:-10000px",
            "position:fixed;top:-200vh",
            "clip:rect(0,0,0,0);height:1px;width:1px;overflow:hidden",
            "max-height:0;overflow:hidden",
            "clip-path: inset(50%)",
            "transform: scale(0)",
            "color:#fff;background-color:#FFFFFF",
            "background: white; color: rgb(255, 255, 255)",
            "color: transparent",
            "mso-hide:all",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in [
            "",
            "display:block",
            "opacity:.9",
            "opacity:1",
            "font-size:12px",
            "font-size:0.8em",
            "text-indent:-1em",
            "color:rgba(0,0,0,0.8)",
            "filter:opacity(90%)",
            "clip:auto",
            "margin-left:-20px",
            "transform:translateX(-50%)",
            "position:absolute;left:-5px",
            "height:0",
            "overflow:hidden",
            "color:#fff;background:#000",
            "color:white",
            "left:-9999px",
            "display",
            ";;:",
        ] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn sheets_hide_by_class_and_id() {
        let sheet = Sheet::of(
            "/* .c{display:none} */ @import 'x'; .a, p > .x { display: none } #b{visibility:hidden}\n\
             @media print { .d { display: none } } .e{display:none} .e{display:block} .f{color:red",
        );
        let has = |class: &str, id: &str| {
            sheet.is_hidden(&Attributes { class: class.into(), id: id.into(), ..Attributes::default() })
        };
        assert!(has("x a", "") && has("", "b"));
        assert!(!has("c d e f x", "a"));
        let hostile = Sheet::of(&"@media{".repeat(100_000));
        assert!(hostile.0.is_empty());
    }
}
