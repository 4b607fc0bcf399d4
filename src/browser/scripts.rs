//! What is asked of a document by `seen.js` and `page.js`, one function, which runs in a world of its own: the page's scripts do not see or change it.

use crate::{Area, Browser, Error, Result, browser::ANSWER, state::State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const SCRIPT: &str = concat!(include_str!("seen.js"), include_str!("page.js"));
/// The name of the world.
const WORLD: &str = "hob";
/// How often a document is looked at that goes away.
const TRIES: u32 = 4;

/// An element that was found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Element {
    /// The name of its tag, in small letters.
    pub tag: String,
    /// Its text or label; with what it is called for readers of the screen where that is something else.
    pub text: String,
    /// A CSS selector that leads to it.
    pub selector: String,
    /// Where a link leads, or a form is sent.
    #[serde(default)]
    pub leads_to: String,
    /// The form that is sent.
    #[serde(default)]
    pub form: Option<Form>,
    /// A field for a password or the like.
    #[serde(default)]
    pub is_secret: bool,
}

/// A form as it would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Form {
    pub method: String,
    /// What is sent of fields that nobody sees, as `name = value`.
    pub hidden: Vec<String>,
    /// All that is sent, to compare.
    pub data: String,
    /// It is too much to be compared.
    pub is_large: bool,
}

/// What is meant to be done with an element, which decides what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Aim {
    Click,
    /// Text without Enter.
    Type,
    /// Text and Enter, which may send a form.
    Enter,
}

/// What was found by a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// This element; it is held for what is done next.
    Element(Element),
    /// Nothing. With what could have been meant.
    Nothing {
        /// It is no CSS selector.
        is_invalid: bool,
        near: Vec<Element>,
    },
}

/// Where an element can be clicked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Whether it has a size at all.
    pub has_size: bool,
    /// What would be clicked instead: it lies over it, or is a part of it that leads to somewhere else.
    #[serde(default)]
    pub covered_by: Option<Element>,
    /// Whether that is a part of it.
    #[serde(default)]
    pub is_within: bool,
    /// The element as it is now.
    pub element: Element,
}

/// What has become of a text that was typed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Typed {
    /// The field holds what was typed.
    pub is_as_typed: bool,
    /// What it holds, in short, and not where it is secret; `None` where the page has removed it.
    pub holds: Option<String>,
}

/// What kind of field an element is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Field {
    /// Text can be typed.
    Text { multiline: bool },
    /// One of these is chosen.
    Select { options: Vec<String> },
    /// It takes a value of a form of its own, such as a date.
    Value { of: String },
    /// It takes no more than so many characters.
    Short { most: u32 },
    /// It cannot be changed now.
    Disabled,
    /// It takes no text.
    Other,
}

/// A part of a document as HTML.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Serialized {
    pub html: String,
    /// Whether something is missing at the end.
    pub is_cut: bool,
    /// How many parts were left out because nobody sees them.
    #[serde(default)]
    pub hidden: usize,
}

impl Browser {
    /// The address and title of the current page.
    ///
    /// # Errors
    /// `NoPage`, and as all of these functions: `Ended`, `Crashed`, `Silent`; `Failed` where the page changes meanwhile.
    pub async fn place(&self) -> Result<(String, String)> {
        let place = self.script("place", json!({})).await?;
        let text = |name: &str| place[name].as_str().unwrap_or_default().to_owned();
        Ok((text("url"), text("title")))
    }

    /// Finds an element by a CSS selector, or else by its visible text or label, and holds it.
    pub async fn find(&self, selector: &str) -> Result<Lookup> {
        let mut found = self.script("find", json!({"selector": selector})).await?;
        if found["element"].is_object() {
            return Ok(Lookup::Element(read(found["element"].take())?));
        }
        Ok(Lookup::Nothing { is_invalid: found["invalid"] == true, near: read(found["near"].take())? })
    }

    /// The element that is held, as it is now, with what it leads to; `None` where the page has removed or replaced it.
    pub async fn held(&self, aim: Aim) -> Result<Option<Element>> {
        read(self.script("held", json!({"aim": aim})).await?)
    }

    /// Scrolls to the held element.
    pub async fn point(&self) -> Result<Point> {
        read(self.script("point", json!({})).await?)
    }

    /// Clicks the held element where it has no place of its own to be clicked at.
    pub async fn click_held(&self) -> Result<()> {
        let page = self.page()?;
        self.script("click", json!({})).await?;
        match self.events.with(|state| state.page(&page.session).is_some()) {
            true => self.settle_current().await,
            false => Ok(()),
        }
    }

    /// What kind of field the held element is, for a text of so many UTF-16 units that replaces what is there or follows it.
    pub async fn field(&self, length: usize, replaces: bool) -> Result<Field> {
        read(self.script("field", json!({"length": length, "all": replaces})).await?)
    }

    /// Puts a text into the held element, and into nothing else, in place of what is there or behind it. The page sees the events
    /// of an input. `false` where the element takes none now.
    pub async fn type_text(&self, text: &str, replaces: bool) -> Result<bool> {
        Ok(self.script("type", json!({"text": text, "all": replaces})).await? == true)
    }

    /// What the page has made of the text since.
    pub async fn typed(&self) -> Result<Typed> {
        read(self.script("typed", json!({})).await?)
    }

    /// Presses Enter in the held element, and in nothing else, and waits for what it leads to.
    pub async fn enter(&self) -> Result<()> {
        let page = self.page()?;
        self.events.with(|state| state.opening = false);
        let is_there = |state: &mut State| state.page(&page.session).is_some();
        let pressed = self.script("enter", json!({})).await;
        if !self.events.with(is_there) && matches!(pressed, Ok(_) | Err(Error::Failed(_) | Error::Crashed)) {
            // The page has closed itself upon it.
            return Ok(());
        }
        pressed?;
        self.settle(&page).await
    }

    /// Gives the held element a value; `false` where it takes none such.
    pub async fn set(&self, value: &str) -> Result<bool> {
        Ok(self.script("set", json!({"value": value})).await? == true)
    }

    /// The part of the held element, or of the whole page, that a reader sees.
    pub async fn visible_html(&self, is_held: bool, most: usize) -> Result<Serialized> {
        read(self.script("visible", json!({"held": is_held, "most": most})).await?)
    }

    /// The HTML of the held element, or of the body.
    pub async fn html(&self, is_held: bool, outer: bool, offset: usize, most: usize) -> Result<Serialized> {
        let args = json!({"held": is_held, "outer": outer, "offset": offset, "most": most});
        read(self.script("html", args).await?)
    }

    /// Where the held element is in the page.
    pub async fn area(&self) -> Result<Area> {
        let area = self.script("area", json!({})).await?;
        let number = |name: &str| area[name].as_f64().unwrap_or(0.0);
        Ok(Area { x: number("x"), y: number("y"), width: number("width"), height: number("height") })
    }

    async fn script(&self, what: &str, args: Value) -> Result<Value> {
        // A document may give way to another one at any moment; to look at the next one instead does no harm.
        let looks = matches!(what, "place" | "find" | "visible" | "html");
        for _ in 1..if looks { TRIES } else { 1 } {
            match self.script_once(what, args.clone()).await {
                Err(Error::Failed(_)) => self.settle_current().await?,
                done => return done,
            }
        }
        self.script_once(what, args).await
    }

    async fn script_once(&self, what: &str, args: Value) -> Result<Value> {
        let page = self.page()?;
        let world = json!({"frameId": page.target, "worldName": WORLD});
        let world = self.call(&page, "Page.createIsolatedWorld", world, ANSWER).await?;
        let call = json!({
            "functionDeclaration": SCRIPT,
            "executionContextId": world["executionContextId"],
            "arguments": [{"value": what}, {"value": args}],
            "returnByValue": true,
            // A key that a person presses may open a page.
            "userGesture": what == "enter",
        });
        let mut answer =
            self.call(&page, "Runtime.callFunctionOn", call, ANSWER).await.map_err(|error| match error {
                // The document in which it was to run has gone.
                Error::Failed(_) => changed(),
                other => other,
            })?;
        if let Some(problem) = answer.get("exceptionDetails") {
            let text = problem["exception"]["description"].as_str().unwrap_or_default();
            tracing::debug!(what, text, "the script of pages failed");
            return Err(changed());
        }
        Ok(answer["result"]["value"].take())
    }
}

fn changed() -> Error {
    Error::Failed("the page changed meanwhile: look at it again with browser_extract_text".into())
}

fn read<T: for<'a> Deserialize<'a>>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|_| changed())
}
