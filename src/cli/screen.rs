//! The terminal during a chat: the answer as it streams in, and lines about other events between its lines or above the line
//! that is being typed.

use super::{
    terminal::{print, width},
    wrap::{Wrapper, wrap},
};
use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

/// Prints lines above the line that is being typed.
pub type AbovePrinter = Box<dyn FnMut(String) + Send>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Screen(Arc<Mutex<State>>);

struct State {
    wrapper: Wrapper,
    /// The prompt at which a line is being typed.
    prompt: Option<String>,
    /// The run whose answer is being printed; empty until its id is known.
    answering: Option<String>,
    /// The conversation of the last answer.
    conversation: Option<String>,
}

impl Screen {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            wrapper: Wrapper::new(width()),
            prompt: None,
            answering: None,
            conversation: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints more of an answer. The last word may be held back until `end_line` or the next piece.
    pub fn text(&self, piece: &str) -> io::Result<()> {
        self.state().text(piece)
    }

    /// Ends a line that is not complete yet.
    pub fn end_line(&self) -> io::Result<()> {
        self.state().end_line()
    }

    /// Ends a line in the middle, without the word that is held back.
    pub fn cut(&self) -> io::Result<()> {
        let mut state = self.state();
        let is_mid_line = state.wrapper.is_mid_line();
        state.wrapper = Wrapper::new(width());
        write_out(if is_mid_line { "\n" } else { "" })
    }

    /// Ends the answer; an empty one is an empty line.
    pub fn end_answer(&self) -> io::Result<()> {
        let mut state = self.state();
        let rest = state.wrapper.flush();
        state.wrapper.start_line();
        write_out(&(rest + "\n"))
    }

    /// Prints a whole text on lines of its own.
    pub fn line(&self, text: &str) -> io::Result<()> {
        let mut state = self.state();
        state.end_line()?;
        state.text(text)?;
        state.end_line()
    }

    /// Prints a note or a question to standard error, on lines of its own.
    pub fn note(&self, text: &str) {
        self.state().note(text);
    }

    /// States that a line is being typed at this prompt, or that none is.
    pub fn typing(&self, prompt: Option<&str>) {
        let mut state = self.state();
        state.prompt = prompt.map(str::to_owned);
        state.wrapper.start_line();
    }

    /// States which run is being answered, or that none is.
    pub fn answering(&self, run: Option<&str>) {
        self.state().answering = run.map(str::to_owned);
    }

    /// Whether this run, or one whose id is not known yet, is being answered here.
    pub fn is_answering(&self, run: Option<&str>) -> bool {
        self.state().answering.as_ref().is_some_and(|own| own.is_empty() || Some(own.as_str()) == run)
    }

    /// Sets the conversation of the last answer.
    pub fn converses(&self, conversation: &str) {
        self.state().conversation = Some(conversation.to_owned());
    }

    /// Whether this is the conversation of the last answer.
    pub fn is_conversation(&self, id: Option<&str>) -> bool {
        id.is_some() && self.state().conversation.as_deref() == id
    }

    /// A channel for lines about other events. `above` prints them while a line is being edited; it may block.
    pub fn announcer(&self, above: Option<AbovePrinter>) -> mpsc::Sender<String> {
        let (sender, lines) = mpsc::channel::<String>();
        let (screen, mut above) = (self.clone(), above);
        thread::spawn(move || {
            for line in lines {
                let state = screen.state();
                match (&state.prompt, &mut above) {
                    (Some(_), Some(print_above)) => {
                        drop(state);
                        print_above(wrap(&line, width(), 0) + "\n");
                    }
                    (Some(prompt), None) if !prompt.is_empty() => print(format_args!("\n{line}\n{prompt}")),
                    _ => {
                        let mut state = state;
                        state.note(&line);
                    }
                }
            }
        });
        sender
    }
}

impl State {
    fn text(&mut self, piece: &str) -> io::Result<()> {
        self.wrapper.resize(width());
        let out = self.wrapper.push(piece);
        write_out(&out)
    }

    fn end_line(&mut self) -> io::Result<()> {
        let mut rest = self.wrapper.flush();
        if self.wrapper.is_mid_line() {
            rest.push('\n');
        }
        self.wrapper.start_line();
        write_out(&rest)
    }

    fn note(&mut self, text: &str) {
        // A file or a pipe gets the answer as it is.
        if io::stdout().is_terminal() && self.wrapper.is_mid_line() {
            self.wrapper.start_line();
            let _ = write_out("\n");
        }
        let width = width().filter(|_| io::stderr().is_terminal());
        print(format_args!("{}\n", wrap(text, width, 0)));
    }
}

fn write_out(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
