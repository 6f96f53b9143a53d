//! Sending what a program says: its head checked, its body streamed, its faults answered.

use super::connection::{Connection, Current, Gone};
use super::reply::{self, Length, Reply};
use super::stream::Stream as Body;
use crate::cache::{self, Lease};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::filter;
use crate::handed_back;
use crate::handler::{printed, send_file, Backend, Fault, Said};
use crate::lines::{self, Lines};
use crate::request::{Protocol, Request};
use crate::socket::Stream;
use crate::spool::Spooled;
use crate::work::{self, Work};
use mehari_pool::{Head, Passed};
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a client that half-closed while its request waits may keep its place in the queue.
const PATIENCE: Duration = Duration::from_millis(250);
/// Bytes moved for one client before others have their turn.
const AT_ONCE: usize = 1024 * 1024;

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// Sends what a program says. Work instead of `None`: something else has to answer.
    pub(super) async fn send_backend(
        &mut self,
        turn: &mut Current,
        backend: &mut Backend<D::Exchange>,
    ) -> Result<Option<Work<D>>, Gone> {
        let lease = turn.lease.take();
        let said = self.backend_head(turn, backend).await?;
        let lease = match lease {
            None => None,
            Some(lease) => match self.rescued(turn, lease, &said) {
                Ok(work) => return Ok(Some(work)),
                Err(lease) => Some(lease),
            },
        };
        let mut head = match said {
            Ok(Said::Response(head)) => head,
            Ok(Said::Elsewhere(target)) => return Ok(Some(Work::Elsewhere(target, 200))),
            Ok(Said::Answered(answer)) => return Ok(Some(Work::Answer(*answer))),
            Ok(Said::Page(status)) => return Ok(Some(self.page(turn, status))),
            Ok(Said::Upgrade(head)) => {
                return self.tunnel(turn, backend, head).await.map(|()| None)
            }
            Ok(Said::Passed(mut passed, body)) => {
                turn.note_passed(&mut passed);
                return Ok(Some(self.hand_back(turn, *passed, body)));
            }
            Err(fault) => {
                turn.credit(backend);
                self.log(turn, &fault.to_string());
                return Ok(Some(self.page(turn, fault.status())));
            }
        };
        head.status = turn.status_for(head.status);
        match lines::examine(&head.lines) {
            Ok(mut lines) if (200..=999).contains(&head.status) => {
                if !lines.purge.is_empty() {
                    self.with_request(turn, |request| {
                        self.shared.cache.purge_said(request, &head.lines, &lines)
                    });
                }
                if let Some(lease) = lease {
                    let work = self.with_request(turn, |request| {
                        let response = (&mut head, &lines);
                        cache::receive(&self.shared, turn, request, lease, response, backend)
                    });
                    if work.is_some() {
                        return Ok(work);
                    }
                }
                if lines.send_file.is_some() {
                    if let Some(work) = self.sent_file(turn, &head, &lines) {
                        return Ok(Some(work));
                    }
                }
                if lines.has_validator() && head.may_be_conditional {
                    let settle =
                        |request: &Request<'_>| printed::settle(request, &mut head, &mut lines);
                    if !self.with_request(turn, settle) {
                        return Ok(Some(self.page(turn, 412)));
                    }
                }
                if turn.is_seen_by_scripts() {
                    return self.send_scripted(turn, backend, head).await;
                }
                self.send_program(turn, backend, head, lines).await?;
                Ok(None)
            }
            other => {
                let problem = other.err().unwrap_or("a status outside 200 to 999");
                let text = format!("the program's response has {problem}; answered 500");
                self.log(turn, &text);
                Ok(Some(self.page(turn, 500)))
            }
        }
    }

    /// The same, once scripts have seen the head.
    async fn send_scripted(
        &mut self,
        turn: &mut Current,
        backend: &mut Backend<D::Exchange>,
        mut head: Head,
    ) -> Result<Option<Work<D>>, Gone> {
        let said = self.scripted(turn, head.status, [&head.lines, &[]]).await;
        if let Some(response) = said {
            if let Some(answer) = response.instead {
                return Ok(Some(Work::Answer(answer)));
            }
            (head.status, head.lines) = (response.status, response.lines);
        }
        match lines::examine(&head.lines) {
            Ok(lines) => {
                self.send_program(turn, backend, head, lines).await?;
                Ok(None)
            }
            Err(_) => Ok(Some(self.page(turn, 500))),
        }
    }

    /// What the response cache has where the program failed; else the lease, to go on with.
    fn rescued(
        &self,
        turn: &mut Current,
        mut lease: Box<Lease>,
        said: &Result<Said, Fault>,
    ) -> Result<Work<D>, Box<Lease>> {
        lease.restore_fields(turn);
        let failed = match said {
            Err(fault) => Some(fault.status()),
            Ok(Said::Page(status)) if *status >= 500 => Some(*status),
            Ok(_) => None,
        };
        let work = failed.and_then(|status| {
            self.with_request(turn, |request| {
                cache::rescue(&self.shared, turn, request, &lease, status)
            })
        });
        work.ok_or(lease)
    }

    fn hand_back(&self, turn: &Current, passed: Passed, body: Option<Box<Spooled>>) -> Work<D> {
        self.with_request(turn, |request| {
            handed_back::work(
                &self.shared,
                request,
                turn.settings.as_deref(),
                passed,
                body,
            )
        })
    }

    /// What comes of a head that names a file, where that is allowed.
    fn sent_file(&self, turn: &Current, head: &Head, lines: &Lines) -> Option<Work<D>> {
        let settings = turn.settings.as_deref()?;
        let site = self.shared.site();
        let files = &self.shared.files;
        let answer = self.with_request(turn, |request| {
            send_file::answer(request, site.host(turn.host), settings, head, lines, files)
        });
        Some(match answer? {
            Ok(answer) => Work::Answer(answer),
            Err(problem) => {
                self.log(turn, problem.reason);
                self.page(turn, problem.status)
            }
        })
    }

    fn page(&self, turn: &Current, status: u16) -> Work<D> {
        self.with_request(turn, |request| {
            work::refusal(&self.shared, request, turn.settings.as_deref(), status)
        })
    }

    /// A 1xx head of the program's, for clients that know such a thing (RFC 9110 section 15.2).
    fn push_interim(&mut self, turn: &Current, head: &Head) {
        let known = turn.protocol == Protocol::Http11 && (102..200).contains(&head.status);
        if known && lines::examine(&head.lines).is_ok() {
            reply::push_status_line(head.status, &mut self.output.bytes);
            self.output.bytes.extend_from_slice(&head.lines);
            self.output.bytes.extend_from_slice(b"\r\n");
        }
    }

    /// Waits for the head; earlier answers leave meanwhile, and a client that goes ends it all.
    async fn backend_head(
        &mut self,
        turn: &Current,
        backend: &mut Backend<D::Exchange>,
    ) -> Result<Result<Said, Fault>, Gone> {
        let mut ended = self.client_ended;
        poll_fn(|cx| {
            let said = backend.poll_head(cx);
            while let Some(head) = backend.take_interim() {
                self.push_interim(turn, &head);
            }
            if let Poll::Ready(head) = said {
                return Poll::Ready(Ok(head));
            }
            if let Poll::Ready(Err(_)) = self.output.poll_write(cx, &mut self.socket) {
                return Poll::Ready(Err(Gone));
            }
            if self.socket.is_unwatched() && self.seat.poll_alarm(cx) == Some(Alarm::Late) {
                if self.socket.watch().is_err() {
                    return Poll::Ready(Err(Gone));
                }
                self.seat
                    .enter(&self.shared.clock, Phase::Work, Duration::MAX);
            }
            if let Err(gone) = self.poll_client(cx) {
                return Poll::Ready(Err(gone));
            }
            if self.client_ended && !std::mem::replace(&mut ended, true) {
                self.seat.enter(&self.shared.clock, Phase::Work, PATIENCE);
            }
            match self.seat.poll_alarm(cx) {
                Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
                // Still in the queue: most likely nobody waits for it any more.
                Some(Alarm::Late) if backend.waits() => Poll::Ready(Err(Gone)),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// What the output filters of its place do to a response.
    fn filter_plan(&self, turn: &Current, head: &Head, lines: &Lines) -> Option<filter::Plan> {
        let settings = turn.settings.as_deref()?;
        if settings.compression.is_off() {
            return None;
        }
        let length = lines.content_length.or(head.content_length);
        self.with_request(turn, |request| {
            filter::plan(request, settings, head.status, &head.lines, length)
        })
    }

    async fn send_program(
        &mut self,
        turn: &mut Current,
        backend: &mut Backend<D::Exchange>,
        mut head: Head,
        mut lines: Lines,
    ) -> Result<(), Gone> {
        turn.status = head.status;
        if let Some(plan) = self.filter_plan(turn, &head, &lines) {
            filter::apply(plan, turn.is_head, &mut head, &mut lines, backend).await;
        }
        let length = lines.content_length.or(head.content_length);
        let mut stream = Body::new(turn, &head, length, &self.shared.unsent);
        poll_fn(|cx| {
            let mut scratch = self.shared.scratch.borrow_mut();
            stream.learn_length(cx, backend, &mut scratch);
            Poll::Ready(())
        })
        .await;
        turn.keep &= stream.length != Length::Close;
        let mut store = Vec::new();
        let mut kept = lines.kept(&head.lines, &mut store);
        let changed = self.changed_lines(turn, head.status, kept);
        if let Some(changed) = &changed {
            kept = [changed, &[]];
        }
        let reply = Reply {
            status: head.status,
            lines: [kept[0], kept[1], turn.own_lines(&self.peer)],
            has_date: head.has_date,
            has_server: head.has_server,
            length: stream.length,
            protocol: turn.protocol,
            keep: turn.keep,
            time: turn.time,
        };
        let start = self.output.bytes.len();
        reply.push(&self.shared.clock, &mut self.output.bytes);
        turn.turn
            .note_head(&self.shared, &self.output.bytes[start..]);
        stream.push_known(
            &mut self.shared.scratch.borrow_mut(),
            &mut self.output.bytes,
        );
        let result = poll_fn(|cx| self.poll_stream(cx, turn, &mut stream, backend)).await;
        turn.sent = stream.delivered();
        if let Some(remark) = stream.remark() {
            turn.credit(backend);
            self.log(turn, &remark);
        }
        result?;
        if stream.is_cut_off() {
            turn.keep = false;
            self.flush().await?;
            if stream.length == Length::Close {
                // The connection's normal end would say that this was all.
                self.socket.reset_when_closed();
            }
            return Err(Gone);
        }
        self.flush_if_large().await
    }

    /// Moves bytes from the program to the client until there are no more. A slow client has them
    /// kept for it; a program that pauses has what it said delivered.
    fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
        turn: &Current,
        stream: &mut Body,
        backend: &mut Backend<D::Exchange>,
    ) -> Poll<Result<(), Gone>> {
        let mut moved = 0;
        loop {
            let count = stream.poll_move(cx, backend, &mut self.output);
            if let Some(warning) = stream.take_warning() {
                self.log(turn, &warning);
            }
            if stream.is_done() {
                return Poll::Ready(Ok(()));
            }
            let wrote = match self.output.pending() > 0 {
                true => self.output.poll_write(cx, &mut self.socket),
                false => Poll::Pending,
            };
            moved += count;
            match wrote {
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Ready(Ok(_)) => stream.stalled = false,
                Poll::Pending if count > 0 => {}
                Poll::Pending => return self.poll_pause(cx, stream),
            }
            if moved > AT_ONCE {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Nothing moves: the client or the program has to do something.
    fn poll_pause(&mut self, cx: &mut Context<'_>, stream: &mut Body) -> Poll<Result<(), Gone>> {
        if self.socket.watch().is_err() {
            return Poll::Ready(Err(Gone));
        }
        if let Err(gone) = self.poll_client(cx) {
            return Poll::Ready(Err(gone));
        }
        if self.output.pending() > 0 {
            return self.poll_stalled(cx, &mut stream.stalled);
        }
        let clock = &self.shared.clock;
        self.seat.enter(clock, Phase::Work, Duration::MAX);
        match self.seat.poll_alarm(cx) {
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }
}
