//! Who runs Perl, as the front sees it: `mehari_pool` in the server, a stand-in in the front's own tests.

use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Call, Fault, Head, Named, Outcome};
use std::task::{Context, Poll};
use std::time::Duration;

pub trait Dispatch: Clone + 'static {
    type Exchange: Exchange;

    fn submit(&self, call: Call<'_>) -> Self::Exchange;

    /// What its workers are doing; `None`: there are none to speak of.
    fn status(&self) -> Option<mehari_pool::PoolStatus> {
        None
    }
}

/// The meaning of each function is `mehari_pool::Exchange`'s.
pub trait Exchange: Unpin + 'static {
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>>;
    fn take_interim(&mut self) -> Option<Head>;
    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>>;
    fn is_complete(&self) -> bool;
    fn worker(&self) -> Option<u32>;
    fn queued(&self) -> Duration;

    fn listens(&self) -> bool {
        false
    }

    fn take_user(&mut self) -> Option<Box<Named>> {
        None
    }

    fn tell(self, _: Outcome<'_>)
    where
        Self: Sized,
    {
    }
}

impl Dispatch for mehari_pool::Pool {
    type Exchange = mehari_pool::Exchange;

    fn submit(&self, call: Call<'_>) -> mehari_pool::Exchange {
        mehari_pool::Pool::submit(self, call)
    }

    fn status(&self) -> Option<mehari_pool::PoolStatus> {
        Some(mehari_pool::Pool::status(self))
    }
}

impl Exchange for mehari_pool::Exchange {
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        mehari_pool::Exchange::poll_head(self, cx)
    }

    fn take_interim(&mut self) -> Option<Head> {
        mehari_pool::Exchange::take_interim(self)
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        mehari_pool::Exchange::poll_body(self, cx, into, room)
    }

    fn is_complete(&self) -> bool {
        mehari_pool::Exchange::is_complete(self)
    }

    fn worker(&self) -> Option<u32> {
        mehari_pool::Exchange::worker(self)
    }

    fn queued(&self) -> Duration {
        mehari_pool::Exchange::queued(self)
    }

    fn listens(&self) -> bool {
        mehari_pool::Exchange::listens(self)
    }

    fn take_user(&mut self) -> Option<Box<Named>> {
        mehari_pool::Exchange::take_user(self)
    }

    fn tell(self, outcome: Outcome<'_>) {
        mehari_pool::Exchange::tell(self, outcome)
    }
}
