//! Serves one stream: a request and the response.

use super::body_sending::Sending;
use super::head::Head;
use super::outgoing::Outgoing;
use super::Accepted;
use crate::content::{Answer, Content};
use crate::handlers::HandlerOutcome;
use crate::pipeline::{self, ClientStream, Gone, RequestContext, SentHead, TargetForm};
use crate::request::{Peer, Protocol};
use crate::shared::uploads::Upload;
use crate::shared::Shared;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::RecvStream;
use mehari_net::deadline::{ConnectionGuard, Phase};
use mehari_observe::Ending;
use std::cell::OnceCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

pub struct Stream {
    pub(super) shared: Rc<Shared>,
    pub(super) peer: Rc<Peer>,
    pub(super) guard: OnceCell<ConnectionGuard>,
    /// The count of outgoing bytes of all streams of the connection.
    pub(super) outgoing: Rc<Outgoing>,
    pub(super) head: Head,
    /// The request's body, until it is read or discarded.
    pub(super) body: Option<RecvStream>,
    pub(super) respond: SendResponse<Bytes>,
    /// The response, once its head has been sent.
    pub(super) sending: Option<Sending>,
    /// The upload whose progress is tracked.
    pub(super) tracked: Option<Rc<Upload>>,
}

/// A request that is being answered. Dropping the value writes the line of the access log.
struct Answering {
    stream: Stream,
    context: RequestContext,
}

impl Answering {
    fn end(mut self, ended: Result<(), Gone>) {
        match ended {
            Ok(()) => self.context.record.ends = Ending::Kept,
            Err(Gone) => self.stream.respond.send_reset(h2::Reason::CANCEL),
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Answering { stream, context } = self;
        let head = SentHead {
            line: Some((stream.head.method(), stream.head.target())),
            host: stream.head.host(),
            fields: stream.head.fields(),
        };
        context.end(&stream.shared, &stream.peer, head);
    }
}

/// The remaining work for a request.
enum Next {
    All,
    Outcome(HandlerOutcome),
    /// The head is sent, and this content is the body.
    Content(Content),
}

impl Stream {
    pub fn new(
        shared: Rc<Shared>,
        peer: Rc<Peer>,
        outgoing: Rc<Outgoing>,
        (request, respond): Accepted,
    ) -> Stream {
        let (parts, body) = request.into_parts();
        Stream {
            shared,
            peer,
            guard: OnceCell::new(),
            outgoing,
            head: Head::new(parts),
            body: Some(body),
            respond,
            sending: None,
            tracked: None,
        }
    }

    /// Returns the stream's own guard in the registry. A request that is answered at once needs no
    /// guard.
    pub(super) fn own_guard(&self) -> &ConnectionGuard {
        self.guard.get_or_init(|| {
            let guard = self.shared.connections.streams.enter(&self.shared.clock);
            guard.enter(&self.shared.clock, Phase::Work, Duration::MAX);
            guard
        })
    }

    /// Answers at once if possible, and otherwise returns the remaining work. A request that is
    /// answered at once needs no task, no deadline and no allocation for them.
    pub fn begin(self) -> Option<impl Future<Output = ()>> {
        let mut answering = Answering {
            stream: self,
            context: RequestContext::unbegun(),
        };
        let Answering { stream, context } = &mut answering;
        pipeline::begin(stream, context, Protocol::Http2);
        let is_for_path = matches!(pipeline::check(stream, context), Ok(TargetForm::Origin));
        let outcome = is_for_path.then(|| pipeline::at_once(stream, context));
        let next = match outcome.flatten() {
            None => Ok(Some(Next::All)),
            Some(HandlerOutcome::Answer(answer)) => stream.send_at_once(context, answer),
            Some(outcome) => Ok(Some(Next::Outcome(outcome))),
        };
        match next {
            Ok(Some(next)) => Some(async move {
                let Answering { stream, context } = &mut answering;
                let ended = stream.go_on(context, next).await;
                if ended.is_ok() && context.log_reports.wait() {
                    context.wait_for_log_handlers().await;
                }
                answering.end(ended);
            }),
            Ok(None) => {
                answering.end(Ok(()));
                None
            }
            Err(gone) => {
                answering.end(Err(gone));
                None
            }
        }
    }

    async fn go_on(&mut self, context: &mut RequestContext, next: Next) -> Result<(), Gone> {
        match next {
            Next::All => pipeline::run(self, context).await,
            Next::Outcome(work) => pipeline::finish(self, context, work).await,
            Next::Content(content) => self.send_content(context, content).await,
        }
    }

    /// Sends an answer whose body is in memory and fits the client's window. Returns the remaining
    /// work if the body does not fit or lies in a file.
    fn send_at_once(
        &mut self,
        context: &mut RequestContext,
        answer: Answer,
    ) -> Result<Option<Next>, Gone> {
        if matches!(answer.content, Content::File(_)) {
            return Ok(Some(Next::Outcome(HandlerOutcome::Answer(answer))));
        }
        pipeline::start_answer(self, context, &answer)?;
        let sending = self.sending.as_mut().ok_or(Gone)?;
        if sending.has_ended() {
            return Ok(None);
        }
        if !sending.has_room_for(answer.content.length() as usize) {
            return Ok(Some(Next::Content(answer.content)));
        }
        let bytes = match answer.content {
            Content::Cached(resource) => resource.bytes(),
            Content::Shared(bytes) => bytes,
            Content::Bytes(bytes) => bytes.into(),
            content @ Content::File(_) => return Ok(Some(Next::Content(content))),
        };
        context.record.sent += bytes.len() as u64;
        sending.send(bytes, true)?;
        Ok(None)
    }
}
