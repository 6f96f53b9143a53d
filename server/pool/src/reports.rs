//! Takes reports about processes: a zygote's messages, a worker's end, and the standard error of
//! both.

use crate::deliver::level;
use crate::false_starts::FalseStarts;
use crate::inner::Pool;
use crate::readiness::{next_message, readable};
use crate::team::Of;
use crate::zygote::Zygote;
use mehari_config::LogLevel;
use mehari_observe::{ErrorLog, Origin};
use mehari_wire::layout::{control, LOG_MARK};
use mehari_wire::Bell;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

/// A zygote that has lived for longer has ended by chance.
const STEADY: Duration = Duration::from_secs(60);
/// The pause between two attempts to watch a process, or to start a zygote.
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
    {
        let mut inner = pool.borrow();
        inner.drop_unforked(number, perl);
        let serves = !inner.stopping && inner.serving_perl(perl) == number;
        let Some(generation) = inner.generation(number) else {
            return;
        };
        let of = Of(generation.site.owner_of(perl).unwrap_or_default()).to_string();
        let Some(loaded) = generation.zygotes.get_mut(perl) else {
            return;
        };
        loaded.zygote = None;
        loaded.failed_forks += 1;
        if !serves {
            drop(inner);
            pool.0.changed.notify_waiters();
            return;
        }
        let lived = loaded.ready_since.take().map(|since| since.elapsed());
        if lived.is_some_and(|lived| lived > STEADY) {
            loaded.restarts = FalseStarts::default();
        }
        let pause = loaded.restarts.add(Instant::now());
        let again = match pause {
            None => "another zygote is started".to_owned(),
            Some(pause) => format!(
                "it was the {}. in a row, and another zygote is started after {} s",
                loaded.restarts.in_a_row,
                pause.as_secs_f64()
            ),
        };
        inner.log.error(format_args!(
            "the zygote of generation {number}{of} is gone: its workers go on, {again}"
        ));
    }
    start_again(pool, number, perl).await;
}

impl Pool {
    /// Starts the zygote of a serving generation again, if it has none.
    pub(crate) fn start_again_if_gone(&self, number: u32, perl: usize) {
        let is_gone = {
            let mut inner = self.borrow();
            let loaded = inner.loaded(number, perl);
            loaded.is_some_and(|loaded| loaded.zygote.is_none())
        };
        if is_gone {
            tokio::task::spawn_local(start_again(self.clone(), number, perl));
        }
    }
}

/// Starts a zygote again, after pauses, until there is one or the generation serves no more.
async fn start_again(pool: Pool, number: u32, perl: usize) {
    loop {
        let pause = {
            let mut inner = pool.borrow();
            let loaded = inner.loaded(number, perl);
            loaded.map_or(Duration::ZERO, |it| it.restarts.left(Instant::now()))
        };
        tokio::time::sleep(pause).await;
        let site = {
            let mut inner = pool.borrow();
            let serves = !inner.stopping && inner.serving_perl(perl) == number;
            match inner.generation(number).filter(|_| serves) {
                Some(generation) => generation.site.clone(),
                None => return,
            }
        };
        let of = Of(site.owner_of(perl).unwrap_or_default()).to_string();
        let started = Box::pin(pool.start_zygote(number, perl, &site)).await;
        let pause = {
            let mut inner = pool.borrow();
            match (started, inner.loaded(number, perl)) {
                (Ok(()), loaded) => {
                    loaded.into_iter().for_each(|it| it.failed_forks = 0);
                    let line = format_args!("the zygote of generation {number}{of} is back");
                    inner.log.notice(line);
                    inner.adjust_workers(Instant::now());
                    return;
                }
                (Err(_), None) => return,
                (Err(error), Some(loaded)) => {
                    let pause = loaded.restarts.add(Instant::now());
                    let pause = pause.unwrap_or(NEXT_ATTEMPT);
                    inner.log.error(format_args!(
                        "the zygote{of} could not be started again: {error}; the next try comes \
                         after {} s",
                        pause.as_secs_f64()
                    ));
                    pause
                }
            }
        };
        if pause == NEXT_ATTEMPT {
            tokio::time::sleep(pause).await;
        }
    }
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
pub async fn watch_bell(bell: Rc<Bell>) {
    let event = bell.event_file().try_clone_to_owned();
    let Ok(event) = event else { return };
    if let Ok(_registered) = readable(event) {
        std::future::pending::<()>().await;
    }
}

/// Copies the standard error of the zygote and its workers to the error log.
pub async fn copy_lines(stderr: OwnedFd, log: ErrorLog, origin: Origin) {
    let Ok(stderr) = Receiver::from_owned_fd(stderr) else {
        return;
    };
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        for (level, text) in levelled(line.trim_ascii_end()) {
            log.log_bytes(level, origin, text);
        }
        line.clear();
    }
}

/// Returns the texts of a line and their levels. A text that names no level is an error. A text
/// that names its level may follow another text, which was printed without an end of line.
fn levelled(line: &[u8]) -> Vec<(LogLevel, &[u8])> {
    let is_mark = |at: &usize| matches!(line[*at..], [LOG_MARK, b'0'..=b'7', ..]);
    let marks = || (0..line.len()).filter(is_mark);
    let first = marks().next().unwrap_or(line.len());
    let ends = marks().skip(1).chain([line.len()]);
    let unmarked = (first > 0 || line.is_empty()).then_some((LogLevel::Error, &line[..first]));
    let marked = marks().zip(ends).map(|(start, end)| {
        let digit = line[start + 1] - b'0';
        (level(digit.into()), &line[start + 2..end])
    });
    unmarked.into_iter().chain(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::{poll_fn, Future};
    use std::pin::pin;
    use std::process::{Command, Stdio};
    use tokio::sync::Notify;

    #[test]
    fn line_of_a_zygote_has_the_level_that_it_names() {
        type Texts<'a> = &'a [(LogLevel, &'a [u8])];
        let rows: [(&[u8], Texts<'_>); 6] = [
            (b"\x1f7detail", &[(LogLevel::Debug, b"detail")]),
            (b"plain", &[(LogLevel::Error, b"plain")]),
            (b"\x1f9", &[(LogLevel::Error, b"\x1f9")]),
            (b"\x1f3", &[(LogLevel::Error, b"")]),
            (b"", &[(LogLevel::Error, b"")]),
            (
                b"printed\x1f4odd\x1f5new",
                &[
                    (LogLevel::Error, b"printed"),
                    (LogLevel::Warn, b"odd"),
                    (LogLevel::Notice, b"new"),
                ],
            ),
        ];
        for (line, texts) in rows {
            assert_eq!(levelled(line), texts, "{line:?}");
        }
    }

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
