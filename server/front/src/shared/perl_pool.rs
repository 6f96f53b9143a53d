//! The front's interface to Perl: `mehari_pool` in the server, a stand-in in the front's tests.

use mehari_pool::script_head::ScriptHead;
use mehari_pool::{
    Call, Fault, Fetch, Head, LogReport, Pool, PoolStatus, RequestNews, ResponseOutcome,
};
use rustix::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The workers, or a stand-in for them in the front's tests.
#[derive(Clone)]
pub enum PerlPool {
    Workers(Pool),
    StandIn(Rc<dyn StandIn>),
}

/// A request for Perl and its response.
pub enum PerlExchange {
    Workers(mehari_pool::WorkerExchange),
    StandIn(Box<dyn StandInExchange>),
}

/// A pool without workers, for the front's tests.
pub trait StandIn {
    fn submit(&self, call: Call<'_>) -> Box<dyn StandInExchange>;
}

/// Each function means the same as the function of this name of `mehari_pool::WorkerExchange`.
pub trait StandInExchange {
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
}

impl From<Pool> for PerlPool {
    fn from(pool: Pool) -> PerlPool {
        PerlPool::Workers(pool)
    }
}

impl PerlPool {
    pub fn submit(&self, call: Call<'_>) -> PerlExchange {
        match self {
            PerlPool::Workers(pool) => PerlExchange::Workers(pool.submit(call)),
            PerlPool::StandIn(pool) => PerlExchange::StandIn(pool.submit(call)),
        }
    }

    /// Waits until the workers have finished requests, cleanups and deferred calls.
    pub async fn finished_all(&self) {
        match self {
            PerlPool::Workers(pool) => pool.finished_all().await,
            PerlPool::StandIn(_) => {}
        }
    }

    /// Returns the state of the workers. `None`: there are no workers.
    pub fn status(&self) -> Option<PoolStatus> {
        match self {
            PerlPool::Workers(pool) => Some(pool.status()),
            PerlPool::StandIn(_) => None,
        }
    }
}

impl PerlExchange {
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        match self {
            PerlExchange::Workers(exchange) => exchange.poll_head(cx),
            PerlExchange::StandIn(exchange) => exchange.poll_head(cx),
        }
    }

    pub fn take_interim(&mut self) -> Option<Head> {
        match self {
            PerlExchange::Workers(exchange) => exchange.take_interim(),
            PerlExchange::StandIn(exchange) => exchange.take_interim(),
        }
    }

    pub fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Poll<Result<bool, Fault>> {
        match self {
            PerlExchange::Workers(exchange) => exchange.poll_body(cx, into, room),
            PerlExchange::StandIn(exchange) => exchange.poll_body(cx, into, room),
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            PerlExchange::Workers(exchange) => exchange.is_complete(),
            PerlExchange::StandIn(exchange) => exchange.is_complete(),
        }
    }

    pub fn worker(&self) -> Option<u32> {
        match self {
            PerlExchange::Workers(exchange) => exchange.worker(),
            PerlExchange::StandIn(exchange) => exchange.worker(),
        }
    }

    pub fn queued(&self) -> Duration {
        match self {
            PerlExchange::Workers(exchange) => exchange.queued(),
            PerlExchange::StandIn(exchange) => exchange.queued(),
        }
    }

    /// Whether the worker waits to be told the outcome of its request.
    pub fn awaits_outcome(&self) -> bool {
        match self {
            PerlExchange::Workers(exchange) => exchange.awaits_outcome(),
            PerlExchange::StandIn(_) => false,
        }
    }

    pub fn take_told(&mut self) -> Option<Box<RequestNews>> {
        match self {
            PerlExchange::Workers(exchange) => exchange.take_told(),
            PerlExchange::StandIn(_) => None,
        }
    }

    pub fn log_report(&self) -> Option<LogReport> {
        match self {
            PerlExchange::Workers(exchange) => exchange.log_report(),
            PerlExchange::StandIn(_) => None,
        }
    }

    pub fn answer_rules(&self, call: Option<Call<'_>>) {
        if let PerlExchange::Workers(exchange) = self {
            exchange.answer_rules(call);
        }
    }

    pub fn report_outcome(&self, outcome: ResponseOutcome<'_>) {
        if let PerlExchange::Workers(exchange) = self {
            exchange.report_outcome(outcome);
        }
    }

    /// Whether Perl's filters wait for the front's response.
    pub fn has_fetch(&self) -> bool {
        match self {
            PerlExchange::Workers(exchange) => exchange.has_fetch(),
            PerlExchange::StandIn(_) => false,
        }
    }

    /// Returns the worker's request to pass the front's response through Perl's filters. A second
    /// call returns `None`.
    pub fn take_fetch(&self) -> Option<Box<Fetch>> {
        match self {
            PerlExchange::Workers(exchange) => exchange.take_fetch(),
            PerlExchange::StandIn(_) => None,
        }
    }

    /// Returns the request's body after Perl's input filters.
    pub fn take_filtered_body(&self) -> Option<(OwnedFd, u64)> {
        match self {
            PerlExchange::Workers(exchange) => exchange.take_filtered_body(),
            PerlExchange::StandIn(_) => None,
        }
    }

    /// Tells the worker that the client has left.
    pub fn note_departure(&self) {
        if let PerlExchange::Workers(exchange) = self {
            exchange.note_departure();
        }
    }

    /// Tells the pool whether the worker waits because the client is slow.
    pub fn note_pause(&self, pauses: bool) {
        if let PerlExchange::Workers(exchange) = self {
            exchange.note_pause(pauses);
        }
    }
}
