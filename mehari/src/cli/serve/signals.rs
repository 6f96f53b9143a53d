//! Handles signals: TERM and QUIT stop the server gracefully, INT stops it at once, HUP reloads,
//! USR1 reopens the logs, USR2 replaces the program. During the start there is no request to
//! finish, so TERM, QUIT and INT end the start at once.

use super::journal::Logs;
use super::keeper::Keeper;
use super::upgrade::Upgrader;
use mehari_front::Stop;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch::Sender;

/// The signals that the server handles. They no longer end the process by themselves. A HUP, USR1
/// or USR2 during the start takes effect when the server serves.
pub struct Caught {
    term: Signal,
    quit: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
    usr2: Signal,
}

/// Starts to catch the signals. Must be called before the server creates files that it removes at
/// its end.
pub fn catch() -> Result<Caught, String> {
    let caught =
        |kind| signal(kind).map_err(|error| format!("a signal cannot be handled: {error}"));
    Ok(Caught {
        term: caught(SignalKind::terminate())?,
        quit: caught(SignalKind::quit())?,
        int: caught(SignalKind::interrupt())?,
        hup: caught(SignalKind::hangup())?,
        usr1: caught(SignalKind::user_defined1())?,
        usr2: caught(SignalKind::user_defined2())?,
    })
}

impl Caught {
    /// Waits for a signal that ends the server. Returns the name of the signal.
    pub async fn end(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "TERM",
            _ = self.quit.recv() => "QUIT",
            _ = self.int.recv() => "INT",
        }
    }

    pub async fn handle(mut self, upgrader: Rc<Upgrader>) {
        let Upgrader {
            reloader,
            logs,
            stop,
            keeper,
            ..
        } = &*upgrader;
        loop {
            tokio::select! {
                _ = self.term.recv() => begin_stop(logs, stop, "TERM"),
                _ = self.quit.recv() => begin_stop(logs, stop, "QUIT"),
                _ = self.int.recv() => { let _ = stop.send(Stop::Now); }
                _ = self.hup.recv() => reloader.ask("HUP"),
                _ = self.usr1.recv() => reopen(logs, keeper.as_deref()).await,
                _ = self.usr2.recv() => upgrader.ask("USR2"),
            }
        }
    }
}

async fn reopen(logs: &Logs, keeper: Option<&Keeper>) {
    let complain = |text| logs.error.error(text);
    let opened = match keeper {
        Some(keeper) => keeper.open_logs(complain).await,
        None => BTreeMap::new(),
    };
    logs.reopen(&opened);
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
