//! What can be answered as soon as it is asked: a file in memory that no rule, program or phase has a say in. Such a
//! stream needs no task, no deadline and no memory of its own; all others go on in `stream`.

use super::head::Head;
use super::stream::{Gone, Next, Stream};
use crate::answer::{Answer, Content};
use crate::dispatch::Dispatch;
use crate::gate;
use crate::request::path_of;
use crate::route::Outcome;
use crate::turn::Turn;
use crate::work::{self, Work};
use bytes::Bytes;
use mehari_pool::Body;

impl<D: Dispatch> Stream<D> {
    /// `None`: the gate has to be asked, or something waited for.
    pub(super) fn plain_work(&self, turn: &mut Turn, head: &Head) -> Option<Work<D>> {
        let site = self.shared.site();
        let limits = &site.limits;
        let is_plain = head.target() != b"*"
            && head.check(limits).is_ok()
            && work::check_trust(&self.shared, &self.peer, turn.host).is_ok();
        if !is_plain {
            return None;
        }
        let route = gate::open_route(&self.shared, turn.host, path_of(head.target()))?;
        let settings = &route.settings;
        let is_plain = matches!(route.outcome, Outcome::File(_))
            && !settings.runs_phases()
            && !settings.filters_output();
        if !is_plain {
            return None;
        }
        turn.note_route(&self.shared, &route);
        Some(self.with_request(turn, head, |request| {
            work::begin(&self.shared, request, &route, Body::Empty)
        }))
    }

    /// Sends an answer whose body is in memory and fits the client's window. What is left to do, if anything is.
    pub(super) fn send_at_once(
        &mut self,
        turn: &mut Turn,
        head: &Head,
        answer: Answer,
    ) -> Result<Option<Next<D>>, Gone> {
        let bytes = match &answer.content {
            Content::Cached(resource) => resource.bytes(),
            Content::Shared(bytes) => bytes.clone(),
            Content::Bytes(bytes) => Bytes::copy_from_slice(bytes),
            Content::File(_) => return Ok(Some(Next::Work(Work::Answer(answer)))),
        };
        let Some(mut stream) = self.send_head(turn, head, &answer)? else {
            return Ok(None);
        };
        stream.reserve_capacity(bytes.len());
        if stream.capacity() < bytes.len() {
            return Ok(Some(Next::Rest(stream, bytes)));
        }
        turn.sent += bytes.len() as u64;
        stream.send_data(bytes, true).map_err(|_| Gone)?;
        Ok(None)
    }
}
