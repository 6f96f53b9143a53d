//! Takes reports about processes: a zygote's messages, a worker's end, and the standard error of
//! both.

use crate::inner::Pool;
use crate::readiness::readable;
use crate::team::Of;
use crate::zygote::{next_message, Zygote};
use mehari_config::LogLevel;
use mehari_observe::{ErrorLog, Origin};
use mehari_wire::layout::control;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};

/// The pause between two attempts to watch a process.
const NEXT_ATTEMPT: Duration = Duration::from_millis(100);

/// Reads a zygote's reports. Starts another zygote if this one ends while its generation serves.
pub async fn listen(pool: Pool, number: u32, perl: usize, zygote: Rc<Zygote>) {
    while let Ok(Some(message)) = next_message(&zygote.control).await {
        match message.head.kind {
            control::FORKED => {
                let index = message.head.slot as usize;
                let pid = pool.borrow().forked(index, &message);
                if let Some(pid) = pid {
                    tokio::task::spawn_local(watch_process(pool.clone(), pid));
                }
            }
            control::ENDED => {
                if let Ok(pid) = u32::try_from(message.head.pid) {
                    pool.borrow().report_end(pid, message.head.status);
                }
            }
            control::EXPLAINED => pool.borrow().questions.learn(&message),
            _ => {}
        }
        pool.borrow().flush_wakes();
        pool.0.changed.notify_waiters();
    }
    zygote_is_gone(pool, number, perl).await;
}

async fn zygote_is_gone(pool: Pool, number: u32, perl: usize) {
    let (site, of) = {
        let mut inner = pool.borrow();
        let (current, stopping) = (inner.current, inner.stopping);
        let Some(generation) = inner.generation(number) else {
            return;
        };
        let site = generation.site.clone();
        if let Some(loaded) = generation.zygotes.get_mut(perl) {
            loaded.zygote = None;
            loaded.failed_forks += 1;
        }
        let of = Of(site.owner_of(perl).unwrap_or_default()).to_string();
        if stopping || number != current {
            drop(inner);
            pool.0.changed.notify_waiters();
            return;
        }
        inner
            .log
            .error(format_args!("the zygote of generation {number}{of} is gone: its workers go on, another zygote is started"));
        (site, of)
    };
    let mut pause = Duration::from_millis(100);
    loop {
        match Box::pin(pool.start_zygote(number, perl, &site)).await {
            Ok(()) => break,
            Err(error) => pool.borrow().log.error(format_args!(
                "the zygote{of} could not be started again: {error}"
            )),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(10));
        let still_wanted = {
            let mut inner = pool.borrow();
            !inner.stopping && inner.current == number && inner.generation(number).is_some()
        };
        if !still_wanted {
            return;
        }
    }
    let mut inner = pool.borrow();
    if let Some(loaded) = inner.loaded(number, perl) {
        loaded.failed_forks = 0;
    }
    inner.log.notice(format_args!(
        "the zygote of generation {number}{of} is back"
    ));
}

/// Notices a worker's end even without the zygote's report.
async fn watch_process(pool: Pool, pid: u32) {
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let is_known = || pool.borrow().index_of(pid).is_some();
    wait_for_end(is_known, || pidfd_open(process, PidfdFlags::empty())).await;
    // The zygote's report says why the process ended and usually comes at once, so it is awaited
    // first.
    for _ in 0..3 {
        if pool.borrow().index_of(pid).is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut inner = pool.borrow();
    if let Some(index) = inner.index_of(pid) {
        inner.worker_ended(index);
        inner.flush_wakes();
    }
    drop(inner);
    pool.0.changed.notify_waiters();
}

/// Waits until the process that `open` opens has ended, or until `is_known` is false because the
/// end has been reported. If the front has no descriptor left, `open` fails although the process
/// lives, so this function tries again later.
async fn wait_for_end(is_known: impl Fn() -> bool, open: impl Fn() -> Result<OwnedFd, Errno>) {
    while is_known() {
        match open() {
            Ok(handle) => {
                if let Ok(watch) = readable(handle) {
                    let _ = watch.readable().await;
                    return;
                }
            }
            Err(Errno::SRCH) => return,
            Err(_) => {}
        }
        tokio::time::sleep(NEXT_ATTEMPT).await;
    }
}

/// Keeps the bell's event registered. A worker that rings the bell wakes the runtime, which then
/// reads the rings.
pub async fn watch_bell(pool: Pool) {
    let event = pool.borrow().bell.event_file().try_clone_to_owned();
    let Ok(event) = event else { return };
    if let Ok(_registered) = readable(event) {
        std::future::pending::<()>().await;
    }
}

/// Copies the standard error of the zygote and its workers to the error log.
pub async fn copy_lines(stderr: tokio::process::ChildStderr, log: ErrorLog, origin: Origin) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        log.log_bytes(LogLevel::Error, origin, line.trim_ascii_end());
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::{poll_fn, Future};
    use std::pin::pin;
    use std::process::{Command, Stdio};
    use tokio::sync::Notify;

    /// A front without free descriptors must not take a living worker for a dead one.
    #[test]
    fn a_process_that_cannot_be_watched_yet_has_not_ended() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat runs");
        let process = Pid::from_child(&child);
        let (attempts, is_open) = (Cell::new(0), Notify::new());
        let open = || {
            attempts.set(attempts.get() + 1);
            if attempts.get() < 3 {
                return Err(Errno::MFILE);
            }
            is_open.notify_one();
            pidfd_open(process, PidfdFlags::empty())
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut end = pin!(wait_for_end(|| true, open));
            let mut watched = pin!(is_open.notified());
            poll_fn(|cx| {
                assert!(end.as_mut().poll(cx).is_pending(), "the process runs");
                watched.as_mut().poll(cx)
            })
            .await;
            child.kill().expect("a signal");
            end.await;
            child.wait().expect("an end");
            wait_for_end(|| true, || Err(Errno::SRCH)).await;
            wait_for_end(|| false, || Err(Errno::MFILE)).await;
        });
    }
}
