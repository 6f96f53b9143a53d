//! What a program says, on its stream: its head checked, its body kept while the client is slow.

use super::flow::Flow;
use super::head::Head;
use super::send::{fields_of, push_length};
use super::stream::{Gone, Stream};
use crate::backlog::Backlog;
use crate::cache::{self, Lease};
use crate::deadline::{Alarm, Phase};
use crate::dispatch::Dispatch;
use crate::filter;
use crate::handed_back;
use crate::handler::{printed, send_file, Backend, Fault, Said};
use crate::lines::{self, Lines};
use crate::request::Request;
use crate::spool::Spooled;
use crate::status;
use crate::turn::Turn;
use crate::work::{self, Work};
use http::Response;
use mehari_pool::Passed;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

/// Bytes moved for one stream before others have their turn.
const AT_ONCE: usize = 1024 * 1024;

impl<D: Dispatch> Stream<D> {
    /// Sends what a program says. Work instead of `None`: something else has to answer.
    pub(super) async fn send_backend(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        backend: &mut Backend<D::Exchange>,
    ) -> Result<Option<Work<D>>, Gone> {
        let lease = turn.lease.take();
        let said = poll_fn(|cx| self.poll_head(cx, backend)).await?;
        let lease = match lease {
            None => None,
            Some(lease) => match self.rescued(turn, head, lease, &said) {
                Ok(work) => return Ok(Some(work)),
                Err(lease) => Some(lease),
            },
        };
        let mut said = match said {
            Ok(Said::Response(said)) => said,
            Ok(Said::Elsewhere(target)) => return Ok(Some(Work::Elsewhere(target, 200))),
            Ok(Said::Answered(answer)) => return Ok(Some(Work::Answer(*answer))),
            Ok(Said::Page(status)) => return Ok(Some(self.page(turn, head, status))),
            // Nothing was asked to change its protocol here.
            Ok(Said::Upgrade(_)) => return Ok(Some(self.page(turn, head, 502))),
            Ok(Said::Passed(mut passed, body)) => {
                turn.note_passed(&mut passed);
                return Ok(Some(self.hand_back(turn, head, *passed, body)));
            }
            Err(fault) => {
                turn.credit(backend);
                self.log(turn, head, &fault.to_string());
                return Ok(Some(self.page(turn, head, fault.status())));
            }
        };
        said.status = turn.status_for(said.status);
        match lines::examine(&said.lines) {
            Ok(mut lines) if (200..=999).contains(&said.status) => {
                if !lines.purge.is_empty() {
                    self.with_request(turn, head, |request| {
                        self.shared.cache.purge_said(request, &said.lines, &lines)
                    });
                }
                if let Some(lease) = lease {
                    let work = self.with_request(turn, head, |request| {
                        let response = (&mut said, &lines);
                        cache::receive(&self.shared, turn, request, lease, response, backend)
                    });
                    if work.is_some() {
                        return Ok(work);
                    }
                }
                if lines.send_file.is_some() {
                    if let Some(work) = self.sent_file(turn, head, &said, &lines) {
                        return Ok(Some(work));
                    }
                }
                if lines.has_validator() && said.may_be_conditional {
                    let settle =
                        |request: &Request<'_>| printed::settle(request, &mut said, &mut lines);
                    if !self.with_request(turn, head, settle) {
                        return Ok(Some(self.page(turn, head, 412)));
                    }
                }
                if turn.is_seen_by_scripts() {
                    return self.send_scripted(turn, head, backend, said).await;
                }
                self.send_program(turn, head, backend, said, lines).await?;
                Ok(None)
            }
            other => {
                let problem = other.err().unwrap_or("a status outside 200 to 999");
                let text = format!("the program's response has {problem}; answered 500");
                self.log(turn, head, &text);
                Ok(Some(self.page(turn, head, 500)))
            }
        }
    }

    /// The same, once scripts have seen the head.
    async fn send_scripted(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        backend: &mut Backend<D::Exchange>,
        mut said: mehari_pool::Head,
    ) -> Result<Option<Work<D>>, Gone> {
        let lines = [&said.lines[..], &[]];
        if let Some(response) = self.scripted(turn, head, said.status, lines).await {
            if let Some(answer) = response.instead {
                return Ok(Some(Work::Answer(answer)));
            }
            (said.status, said.lines) = (response.status, response.lines);
        }
        match lines::examine(&said.lines) {
            Ok(lines) => {
                self.send_program(turn, head, backend, said, lines).await?;
                Ok(None)
            }
            Err(_) => Ok(Some(self.page(turn, head, 500))),
        }
    }

    /// Waits for the head; a stream that the client resets ends it all.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        backend: &mut Backend<D::Exchange>,
    ) -> Poll<Result<Result<Said, Fault>, Gone>> {
        let said = backend.poll_head(cx);
        while let Some(interim) = backend.take_interim() {
            self.send_interim(&interim)?;
        }
        if let Poll::Ready(said) = said {
            return Poll::Ready(Ok(said));
        }
        let reset = self.respond.poll_reset(cx).is_ready();
        match self.seat().poll_alarm(cx) {
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            _ if reset => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }

    fn send_interim(&mut self, interim: &mehari_pool::Head) -> Result<(), Gone> {
        if !(102..200).contains(&interim.status) || lines::examine(&interim.lines).is_err() {
            return Ok(());
        }
        let mut response = Response::new(());
        *response.status_mut() = http::StatusCode::from_u16(interim.status).map_err(|_| Gone)?;
        lines::push_fields(response.headers_mut(), &interim.lines);
        self.respond.send_informational(response).map_err(|_| Gone)
    }

    /// What the response cache has where the program failed; else the lease, to go on with.
    fn rescued(
        &self,
        turn: &mut Turn,
        head: &Head,
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
            self.with_request(turn, head, |request| {
                cache::rescue(&self.shared, turn, request, &lease, status)
            })
        });
        work.ok_or(lease)
    }

    fn hand_back(
        &self,
        turn: &Turn,
        head: &Head,
        passed: Passed,
        body: Option<Box<Spooled>>,
    ) -> Work<D> {
        self.with_request(turn, head, |request| {
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
    fn sent_file(
        &self,
        turn: &Turn,
        head: &Head,
        said: &mehari_pool::Head,
        lines: &Lines,
    ) -> Option<Work<D>> {
        let settings = turn.settings.as_deref()?;
        let site = self.shared.site();
        let files = &self.shared.files;
        let answer = self.with_request(turn, head, |request| {
            send_file::answer(request, site.host(turn.host), settings, said, lines, files)
        });
        Some(match answer? {
            Ok(answer) => Work::Answer(answer),
            Err(problem) => {
                self.log(turn, head, problem.reason);
                self.page(turn, head, problem.status)
            }
        })
    }

    pub(super) fn page(&self, turn: &Turn, head: &Head, status: u16) -> Work<D> {
        self.with_request(turn, head, |request| {
            work::refusal(&self.shared, request, turn.settings.as_deref(), status)
        })
    }

    /// What the output filters of its place do to a response.
    fn filter_plan(
        &self,
        turn: &Turn,
        head: &Head,
        said: &mehari_pool::Head,
        lines: &Lines,
    ) -> Option<filter::Plan> {
        let settings = turn.settings.as_deref()?;
        if settings.compression.is_off() {
            return None;
        }
        let length = lines.content_length.or(said.content_length);
        self.with_request(turn, head, |request| {
            filter::plan(request, settings, said.status, &said.lines, length)
        })
    }

    async fn send_program(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        backend: &mut Backend<D::Exchange>,
        mut said: mehari_pool::Head,
        mut lines: Lines,
    ) -> Result<(), Gone> {
        turn.status = said.status;
        if let Some(plan) = self.filter_plan(turn, head, &said, &lines) {
            filter::apply(plan, turn.is_head, &mut said, &mut lines, backend).await;
        }
        let mut kept = Vec::new();
        lines.push_kept(&said.lines, &mut kept);
        let changed = self.changed_lines(turn, head, said.status, [kept.as_slice(), &[]]);
        let kept = changed.unwrap_or(kept);
        let mut response = self.response(turn, fields_of(&kept), said.has_date, said.has_server)?;
        let bodiless = status::has_no_body(said.status);
        let length = lines
            .content_length
            .or(said.content_length)
            .filter(|_| !bodiless);
        push_length(&mut response, length);
        let silent = bodiless || turn.is_head;
        let stream = self
            .respond
            .send_response(response, silent)
            .map_err(|_| Gone)?;
        let share = self.outgoing.share.clone();
        let backlog = Backlog::new(&self.shared.unsent, Some(share));
        let outgoing = self.outgoing.clone();
        let mut flow = Flow::new((stream, outgoing), backlog, length, silent);
        let result = poll_fn(|cx| self.poll_flow(cx, turn, head, &mut flow, backend)).await;
        turn.sent = flow.sent;
        if let Some(remark) = flow.remark() {
            turn.credit(backend);
            self.log(turn, head, &remark);
        }
        result
    }

    /// Moves the body until there is no more. A slow client has it kept for it, as long as it grants
    /// something within the write limit's time.
    fn poll_flow(
        &self,
        cx: &mut Context<'_>,
        turn: &Turn,
        head: &Head,
        flow: &mut Flow,
        backend: &mut Backend<D::Exchange>,
    ) -> Poll<Result<(), Gone>> {
        let mut moved = 0;
        loop {
            let taken = flow.poll_take(cx, backend);
            let sent = flow.poll_send(cx)?;
            if let Some(warning) = flow.take_warning() {
                self.log(turn, head, &warning);
            }
            if flow.is_done() {
                return Poll::Ready(flow.end());
            }
            if sent > 0 || flow.client_takes_others() {
                flow.stalled = false;
            }
            if taken + sent == 0 {
                return self.poll_pause(cx, flow);
            }
            moved += taken + sent;
            if moved > AT_ONCE {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Nothing moves: the client has to grant a window, or the program to say more.
    fn poll_pause(&self, cx: &mut Context<'_>, flow: &mut Flow) -> Poll<Result<(), Gone>> {
        let waits = flow.waits_for_client();
        if !waits {
            let clock = &self.shared.clock;
            self.seat().enter(clock, Phase::Work, Duration::MAX);
        } else if !flow.stalled {
            let limit = self.shared.site().limits.write_timeout;
            self.seat().enter(&self.shared.clock, Phase::Write, limit);
        }
        flow.stalled = waits;
        match self.seat().poll_alarm(cx) {
            Some(Alarm::Abandon) => Poll::Ready(Err(Gone)),
            Some(Alarm::Late) if waits => Poll::Ready(Err(Gone)),
            _ if flow.poll_reset(cx) => Poll::Ready(Err(Gone)),
            _ => Poll::Pending,
        }
    }
}
