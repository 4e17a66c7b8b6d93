//! Stacks that are deep enough for an [`Engine`](super::Engine): nested templates are nested
//! calls.

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};

/// How deep the stack of a run may grow. A system gives memory to what is used of it.
const STACK: usize = 1 << 30;

thread_local! {
    /// Whether the stack of this thread is that deep.
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Starts a thread whose stack is deep enough, or an ordinary one where the system has no
/// such thread: [`with_stack`] starts another there.
pub(crate) fn start_deep(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let waiting = Arc::new(Mutex::new(Some(run)));
    let start = |is_deep: bool| {
        let waiting = waiting.clone();
        move || {
            IS_DEEP.set(is_deep);
            let run = waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(run) = run {
                run();
            }
        }
    };
    let deep = Builder::new().stack_size(STACK).spawn(start(true));
    deep.or_else(|_| Builder::new().spawn(start(false))).map(drop)
}

/// Runs something that uses an engine where the stack is deep enough for it: here, if it is, for
/// to start a thread for each of many short runs takes as long as they do. Gives nothing where
/// the system has no such thread.
pub fn with_stack<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    if IS_DEEP.get() { Some(run()) } else { with_stack_while(run, || ()) }
}

/// As [`with_stack`], always on another thread, and something else here meanwhile.
pub(crate) fn with_stack_while<T: Send>(
    run: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(),
) -> Option<T> {
    thread::scope(|scope| {
        let run = || {
            IS_DEEP.set(true);
            run()
        };
        let thread = Builder::new().stack_size(STACK).spawn_scoped(scope, run).ok()?;
        meanwhile();
        // A panic is a bug here, too: it goes on where the thread was started.
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Runs one thing here and another beside it, as deep as this is; only the first where the
/// system has no such thread.
pub(crate) fn with_stack_beside<T>(here: impl FnOnce() -> T, beside: impl FnOnce() + Send) -> T {
    thread::scope(|scope| {
        // Its panic is a bug here, too: the scope goes on with it.
        let _ = Builder::new().stack_size(STACK).spawn_scoped(scope, beside);
        here()
    })
}

/// As [`with_stack`], on the stack of the moment where the text can't need more: of few
/// actions and parentheses, and of nothing that runs again, which nests values.
pub(crate) fn with_stack_for<T: Send>(text: &str, run: impl FnOnce() -> T + Send) -> Option<T> {
    const FEW: usize = 40;
    let nested = text.matches(['{', '(']).count();
    let runs_again = ["range", "define", "block"].iter().any(|word| text.contains(word));
    if nested <= FEW && !runs_again { Some(run()) } else { with_stack(run) }
}
