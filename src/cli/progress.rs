//! A sign of life on a terminal when work takes longer than a second.

use super::common::Common;
use crate::lang::text::counted;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The one that runs, if one does.
static RUNNING: Mutex<Option<(Sender<()>, JoinHandle<()>)>> = Mutex::new(None);

/// Whether somebody watches, and wants to.
fn is_watched(common: &Common) -> bool {
    !common.quiet && io::stderr().is_terminal() && std::env::var_os("CI").is_none()
}

/// Begin, where somebody watches.
pub(crate) fn start(common: &Common) {
    if !is_watched(common) {
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

/// How many of several charts are done: one line of the terminal, gone at the end.
pub(crate) struct Bar {
    total: usize,
    /// `None` where nobody watches.
    done: Option<Mutex<usize>>,
}

/// Characters between the brackets of a bar.
const BAR: usize = 20;

impl Bar {
    /// Of so many charts, none of them done.
    pub(crate) fn new(common: &Common, total: usize) -> Bar {
        stop();
        let bar = Bar { total, done: is_watched(common).then(Mutex::default) };
        if bar.done.is_some() {
            bar.draw(0);
        }
        bar
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        let Some(done) = &self.done else { return };
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        self.draw(*done);
    }

    fn draw(&self, done: usize) {
        let filled = (done * BAR).checked_div(self.total).unwrap_or(BAR).min(BAR);
        let bar = "#".repeat(filled);
        let _ = write!(io::stderr(), "\r\u{1b}[K[{bar:<BAR$}] {done} of {}", counted(self.total, "chart"));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.done.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
