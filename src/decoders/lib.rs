//! Layer 2: decoders of documents and pictures. Whatever a file holds is decoded in a process of its own, which sees no files and
//! no network, has bounded memory and time, and answers once.
//!
//! ```text
//! tool ─▶ client (Decoders) ─ task, bytes ▶ sandbox: part `decoders` (serve) ─▶ pdf · office · text · picture · make
//!                           ◀ answer ──────
//! ```
//!
//! The decoders themselves are pure functions over bytes; a fault of one ends its process and no other.

mod archive;
mod client;
mod fault;
mod make;
mod office;
mod pages;
mod pdf;
mod picture;
mod profile;
mod read;
mod select;
mod serve;
mod table;
mod task;
mod text;
mod whole;
mod xml;

pub use client::{Decoders, Input};
pub use fault::Fault;
pub use make::{Form, MadePdf, MakePdf};
pub use pages::{Pages, pages};
pub use picture::{Fit, Picture, PictureFormat, ResizeTask};
pub use serve::PART;
pub use task::{Answer, Document, Format, Part, PdfInfo, ReadTask, Task, Unit};
