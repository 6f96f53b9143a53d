//! What each signal does: TERM and QUIT stop gracefully, INT at once, HUP reloads, USR1 reopens logs.

use super::journal::Logs;
use super::reload::Reloader;
use mehari_front::Stop;
use std::future::Future;
use std::rc::Rc;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch::Sender;

/// The signals are caught from the call on, before the future is first polled: a HUP that comes right after
/// the line of readiness must not end the server.
pub fn handle(
    reloader: Rc<Reloader>,
    stop: Sender<Stop>,
    logs: Rc<Logs>,
) -> impl Future<Output = ()> {
    let caught = [
        SignalKind::terminate(),
        SignalKind::quit(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::user_defined1(),
    ]
    .map(|kind| {
        signal(kind).map_err(|error| {
            logs.error
                .error(format_args!("a signal cannot be handled: {error}"))
        })
    });
    async move {
        if let [Ok(term), Ok(quit), Ok(int), Ok(hup), Ok(usr1)] = caught {
            obey([term, quit, int, hup, usr1], reloader, stop, logs).await;
        }
    }
}

async fn obey(caught: [Signal; 5], reloader: Rc<Reloader>, stop: Sender<Stop>, logs: Rc<Logs>) {
    let [mut term, mut quit, mut int, mut hup, mut usr1] = caught;
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
