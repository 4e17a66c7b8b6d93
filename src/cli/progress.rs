//! A sign of life on a terminal when work takes longer than a second.

use super::common::Common;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The one that runs, if one does.
static RUNNING: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

/// Begin, where somebody watches.
pub(crate) fn start(common: &Common) {
    let watched = io::stderr().is_terminal() && std::env::var_os("CI").is_none();
    if common.quiet || !watched {
        return;
    }
    let (stop, stopped) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut wait = Duration::from_secs(1);
        let mut frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"].iter().cycle();
        let mut shown = false;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = Duration::from_millis(100);
            shown = true;
            let frame = frames.next().unwrap_or(&"");
            let _ = write!(io::stderr(), "\r{frame} reading the repository");
        }
        if shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    });
    if let Ok(mut running) = RUNNING.lock() {
        *running = Some((stop, thread));
    }
}

/// End, before anything else is printed.
pub(crate) fn stop() {
    let running = RUNNING.lock().ok().and_then(|mut running| running.take());
    if let Some((stop, thread)) = running {
        drop(stop);
        let _ = thread.join();
    }
}
