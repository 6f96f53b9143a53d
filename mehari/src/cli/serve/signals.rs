//! What each signal does: TERM and QUIT stop gracefully, INT at once, HUP reloads, USR1 reopens logs.

use super::journal::Logs;
use super::reload::Reloader;
use mehari_front::Stop;
use std::rc::Rc;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::watch::Sender;

pub async fn handle(reloader: Rc<Reloader>, stop: Sender<Stop>, logs: Rc<Logs>) {
    let listen = |kind| {
        signal(kind).map_err(|error| {
            logs.error
                .error(format_args!("a signal cannot be handled: {error}"))
        })
    };
    let (Ok(mut term), Ok(mut quit), Ok(mut int), Ok(mut hup), Ok(mut usr1)) = (
        listen(SignalKind::terminate()),
        listen(SignalKind::quit()),
        listen(SignalKind::interrupt()),
        listen(SignalKind::hangup()),
        listen(SignalKind::user_defined1()),
    ) else {
        return;
    };
    loop {
        tokio::select! {
            _ = term.recv() => begin_stop(&logs, &stop, "TERM"),
            _ = quit.recv() => begin_stop(&logs, &stop, "QUIT"),
            _ = int.recv() => { let _ = stop.send(Stop::Now); }
            _ = hup.recv() => reloader.ask("HUP"),
            _ = usr1.recv() => logs.reopen(),
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
