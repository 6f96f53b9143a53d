//! Generates load. One driver serves all modes; a mode is a combination of schedule, stop rule and
//! connection.
//!
//! A command builds a [`Plan`] and makes an [`Observer`] for each thread. [`run`] carries the plan
//! out:
//!
//! ```no_run
//! use mehari_load::{run, Control, Moment, Plan, Recorder, Request, Schedule, Stop};
//! let requests = vec![Request::get("http://127.0.0.1:8080/")?];
//! let schedule = Schedule::Closed { connections: 32 };
//! let plan = Plan::new(requests, schedule, Stop::after_requests(100_000));
//! let outcome = run(&plan, &Control::new(), |_thread| Recorder::new(Moment::NEVER))?;
//! println!("{} answered in {:?}", outcome.totals().completed, outcome.elapsed);
//! # Ok::<(), mehari_load::PlanError>(())
//! ```
//!
//! The driver counts, times and classifies requests and failures. The observer decides which of
//! these results to keep, and the command decides which to print.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod address;
mod arrivals;
mod crossing;
mod driver;
pub mod live;
mod measure;
mod moment;
mod observe;
mod outcome;
mod plan;
mod plan_error;
mod random;
mod recorder;
pub mod report;
mod request;
pub mod response;
pub mod script;
mod sentence;
mod session;
mod url;
mod verdict;
mod words;

pub use address::{first_that_answers, Address};
pub use arrivals::Timetable;
pub use crossing::nanoseconds_between_cores;
pub use driver::{run, Control};
pub use measure::{measure, Measurement};
pub use moment::{nanoseconds, Clock, Moment};
pub use observe::{
    Closed, ConnectTimes, Connected, Failure, FailureKind, ObservedExchange, Observer, Sample,
    SessionEnd, TlsFacts,
};
pub use outcome::{RunOutcome, ThreadOutcome, Totals};
pub use plan::{
    Arrivals, Connection, Identity, Pick, Plan, Schedule, Sources, Stage, Stop, TlsPolicy,
    TlsVersions,
};
pub use plan_error::PlanError;
pub use random::Random;
pub use recorder::Recorder;
pub use request::{Builder, Fields, Request};
pub use session::{Burst, OnFailure, Session};
pub use url::{Endpoint, Url};
