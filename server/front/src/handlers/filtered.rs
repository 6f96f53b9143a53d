//! Compresses, edits or renders the body of a program's response on its way to the client.
//!
//! Small pieces are processed on the event loop. A thread processes large pieces, and meanwhile no
//! output of the program is read. When the program pauses, the client gets everything that the
//! program has sent, except for the beginning of a line that is edited.

use crate::filters::{Editor, Encoder, LineTooLong, Transform, IN_PLACE};
use crate::handlers::ssi::Rendering;
use crate::handlers::{Backend, Fault};
use mehari_config::Coding;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::task::JoinHandle;

/// The number of bytes that are collected before a thread processes them.
const BATCH: usize = 256 * 1024;
/// The most bytes read from the program at a time.
const ROOM: usize = 64 * 1024;

pub struct Filtered {
    inner: Backend,
    stage: Stage,
    /// The program's output that is not processed yet.
    plain: Vec<u8>,
    /// The processed output. The client has taken the first `taken` bytes.
    ready: Vec<u8>,
    taken: usize,
    /// Whether the transform holds bytes that the client should get if the program pauses.
    unflushed: bool,
    /// How the program's body ended.
    end: Option<Result<(), Fault>>,
}

enum Stage {
    Working(Box<Transform>),
    /// The elements of server-side includes are processed.
    Rendering(Box<Rendering>),
    Away(JoinHandle<io::Result<Processed>>),
    /// Everything has been processed.
    Done,
}

/// The result of a step: the transform, unless it has finished, and the output of the step.
type Processed = (Option<Box<Transform>>, Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    More,
    Flush,
    Finish,
}

impl Filtered {
    /// Prepares the filter for a body that has not arrived yet.
    pub fn begin(coding: Coding, level: u32) -> io::Result<impl FnOnce(Backend) -> Filtered> {
        let encoder = Encoder::new(coding, level, None)?;
        Ok(|inner| Filtered::working(inner, Transform::Encode(encoder)))
    }

    /// Makes a filter that edits a body that has not arrived yet.
    pub fn editing(inner: Backend, editor: Editor) -> Filtered {
        Filtered::working(inner, Transform::Edit(editor))
    }

    /// Makes a filter that processes the elements in a body that has not arrived yet.
    pub fn rendering(inner: Backend, rendering: Rendering) -> Filtered {
        Filtered {
            stage: Stage::Rendering(Box::new(rendering)),
            ..Filtered::holding(inner, Vec::new())
        }
    }

    fn working(inner: Backend, transform: Transform) -> Filtered {
        Filtered {
            stage: Stage::Working(Box::new(transform)),
            ..Filtered::holding(inner, Vec::new())
        }
    }

    /// Makes a filter that holds a complete processed body.
    pub fn holding(inner: Backend, ready: Vec<u8>) -> Filtered {
        Filtered {
            inner,
            stage: Stage::Done,
            plain: Vec::new(),
            ready,
            taken: 0,
            unflushed: false,
            end: None,
        }
    }

    /// Gives the filter the program's complete body.
    pub fn fed(mut self, plain: Vec<u8>) -> Filtered {
        self.plain = plain;
        self.end = Some(Ok(()));
        self
    }

    pub fn inner(&self) -> &Backend {
        &self.inner
    }

    pub fn inner_mut(&mut self) -> &mut Backend {
        &mut self.inner
    }

    pub fn is_complete(&self) -> bool {
        match &self.stage {
            Stage::Done => true,
            Stage::Rendering(rendering) => rendering.is_complete(),
            Stage::Working(_) | Stage::Away(_) => false,
        }
    }

    /// Returns the remaining length of the processed body if the body is complete.
    pub fn held_length(&self) -> Option<u64> {
        let left = self.ready.len() - self.taken;
        matches!(self.stage, Stage::Done).then_some(left as u64)
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        loop {
            if self.taken < self.ready.len() {
                let end = self.ready.len().min(self.taken.saturating_add(room));
                into.extend_from_slice(&self.ready[self.taken..end]);
                self.taken = end;
                return Poll::Ready(Ok(true));
            }
            let stage = &mut self.stage;
            match stage {
                Stage::Done => {
                    return Poll::Ready(match self.end.take() {
                        Some(Err(fault)) => Err(fault),
                        _ => Ok(false),
                    })
                }
                Stage::Away(thread) => {
                    let processed = ready!(Pin::new(thread).poll(cx));
                    let processed = processed.map_err(io::Error::other);
                    self.put(processed.and_then(|done| done))?;
                }
                Stage::Rendering(rendering) => {
                    return rendering.poll_body(&mut self.inner, cx, into, room)
                }
                Stage::Working(_) => {
                    if let Poll::Ready(step) = self.gather(cx) {
                        self.process(step)?;
                    } else if self.plain.is_empty() && !self.unflushed {
                        return Poll::Pending;
                    } else {
                        self.process(Step::Flush)?;
                    }
                }
            }
        }
    }

    /// Takes the program's output and returns the next step. `Pending`: the program pauses.
    fn gather(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        while self.end.is_none() {
            match self.inner.poll_body(cx, &mut self.plain, ROOM) {
                Poll::Ready(Ok(true)) if self.plain.len() < BATCH => {}
                Poll::Ready(Ok(true)) => return Poll::Ready(Step::More),
                Poll::Ready(Ok(false)) => self.end = Some(Ok(())),
                Poll::Ready(Err(fault)) => self.end = Some(Err(fault)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(match self.end {
            // The coding is not finished, so the client can see that the body is incomplete.
            Some(Err(_)) => Step::Flush,
            _ => Step::Finish,
        })
    }

    fn process(&mut self, step: Step) -> Result<(), Fault> {
        let Stage::Working(transform) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return Ok(());
        };
        self.unflushed = step == Step::More;
        let plain = std::mem::take(&mut self.plain);
        if plain.len() <= IN_PLACE {
            return self.put(processed(transform, &plain, step));
        }
        let thread = tokio::task::spawn_blocking(move || processed(transform, &plain, step));
        self.stage = Stage::Away(thread);
        Ok(())
    }

    fn put(&mut self, processed: io::Result<Processed>) -> Result<(), Fault> {
        self.stage = Stage::Done;
        let (transform, bytes) = processed.map_err(|error| fault(&error))?;
        self.ready = bytes;
        self.taken = 0;
        if let (Some(transform), false) = (transform, matches!(self.end, Some(Err(_)))) {
            self.stage = Stage::Working(transform);
        }
        Ok(())
    }
}

/// Returns the fault of a filter that has failed.
pub fn fault(error: &io::Error) -> Fault {
    let inner = error.get_ref();
    if inner.is_some_and(|inner| inner.is::<LineTooLong>()) {
        Fault::LongLine
    } else {
        Fault::Filter
    }
}

fn processed(mut transform: Box<Transform>, plain: &[u8], step: Step) -> io::Result<Processed> {
    transform.write(plain)?;
    match step {
        Step::Finish => return Ok((None, transform.finish()?)),
        Step::Flush => transform.flush()?,
        Step::More => {}
    }
    let bytes = transform.take();
    Ok((Some(transform), bytes))
}
