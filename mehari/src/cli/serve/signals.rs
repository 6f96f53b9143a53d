//! What each signal does: TERM and QUIT stop gracefully, INT at once, HUP reloads, USR1 reopens logs. Before the server
//! serves there is nothing to finish: each of the first three ends the start.

use super::journal::Logs;
use super::reload::Reloader;
use mehari_front::Stop;
use std::rc::Rc;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch::Sender;

/// Signals that end nothing by themselves any more. A HUP or USR1 of the time before is heeded once the server serves.
pub struct Caught {
    term: Signal,
    quit: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
}

/// To be called before there is a file on the disk that the end has to take away.
pub fn catch() -> Result<Caught, String> {
    let caught =
        |kind| signal(kind).map_err(|error| format!("a signal cannot be handled: {error}"));
    Ok(Caught {
        term: caught(SignalKind::terminate())?,
        quit: caught(SignalKind::quit())?,
        int: caught(SignalKind::interrupt())?,
        hup: caught(SignalKind::hangup())?,
        usr1: caught(SignalKind::user_defined1())?,
    })
}

impl Caught {
    /// Answers with the name of a signal that asks for the end.
    pub async fn end(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "TERM",
            _ = self.quit.recv() => "QUIT",
            _ = self.int.recv() => "INT",
        }
    }

    pub async fn obey(mut self, reloader: Rc<Reloader>, stop: Sender<Stop>, logs: Rc<Logs>) {
        loop {
            tokio::select! {
                _ = self.term.recv() => begin_stop(&logs, &stop, "TERM"),
                _ = self.quit.recv() => begin_stop(&logs, &stop, "QUIT"),
                _ = self.int.recv() => { let _ = stop.send(Stop::Now); }
                _ = self.hup.recv() => reloader.ask("HUP"),
                _ = self.usr1.recv() => logs.reopen(),
            }
        }
    }
}

fn begin_stop(logs: &Logs, stop: &Sender<Stop>, signal: &str) {
    logs.error
        .notice(format_args!("{signal}: finishing the requests under way"));
    stop.send_if_modified(|now| {
        let first = *now == Stop::No;
        if first {
            *now = Stop::Gracefully;
        }
        first
    });
}
