//! Reading an inconsistent file breaks assertions inside redb: that is damage of the file, no crash of Hob.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread reads a file that may be damaged, so that its panic is nothing to report.
#[must_use]
pub fn is_quiet() -> bool {
    QUIET.get()
}

/// Runs code that may panic on a damaged file, without printing the panic; `None` when it panicked.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    // Set once and then left: swapping hooks would lose the panics of other threads meanwhile.
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_quiet() {
                hook(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(outer);
    done.ok()
}
