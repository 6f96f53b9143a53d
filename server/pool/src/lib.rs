//! Runs zygotes and workers: starts them, gives them requests, keeps spare workers, replaces worn
//! workers, reloads the site and enforces limits.
//!
//! The pool lives on the front's single thread. The front calls [`Pool::submit`] with a complete
//! request and polls the [`WorkerExchange`] that the call returns. The pool knows no HTTP.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod affinity;
mod arrived;
mod call;
mod configurator;
mod contention;
mod crash_loop;
mod deadline;
mod deferral;
mod deferred;
mod deliver;
mod dispatch;
mod ends;
mod exact;
mod exchange;
mod explain;
mod explanation;
mod exported;
mod false_starts;
mod first_workers;
mod frame;
mod generation;
mod holding;
mod hooks;
mod inner;
mod inspect;
pub mod launcher;
mod learned;
mod loading;
mod logged;
mod measure;
mod memory;
mod merging;
mod open_questions;
mod overload;
mod packing;
mod page;
mod parts;
mod payload;
mod perl_side;
mod plan;
mod policy;
pub mod probe;
mod program;
mod queued;
mod readiness;
mod records;
mod refusals;
mod replacement;
mod reports;
mod rewound;
mod rollover;
mod roster;
mod script;
pub mod script_head;
mod shedding;
mod status;
mod stop;
mod subrequests;
mod table_marks;
mod take_over;
mod tap;
mod team;
mod template_limit;
mod timer;
pub mod variables;
mod warmup;
mod warmup_report;
mod worker;
mod worn;
mod zygote;

pub use call::{
    AccessResult, Asker, Body, Call, ConnectionFacts, Declined, Fault, Fetch, Head,
    InternalRedirect, LaterResolver, Login, MappedPath, MethodChanges, Named, NamedContent, Origin,
    PerlSettings, Reason, RequestChanges, RequestLine, RequestNews, ResponseOutcome,
    RunningRequest, ScriptEnvironment, SubrequestQuestion, SubrequestResolver, Task, TimeLimits,
    WarmupResolver,
};
pub use configurator::Configurator;
pub use crash_loop::CrashLoop;
pub use deferral::{DeferredStatus, DeferredTotals};
pub use exchange::WorkerExchange;
pub use explain::explain_unserved;
pub use explanation::{
    Demand, Effect, ExplainError, Explanation, Finding, Recompiled, RewindCheck,
};
pub use hooks::runtime;
pub use inner::Pool;
pub use inspect::{InspectError, Inspected};
pub use learned::LearnedModule;
pub use loading::{try_loading, LoadError};
pub use logged::{LogChanges, LogReport};
pub use mehari_wire::layout::{file_mark, fixups, left, record::FETCH_FOLLOWS};
pub use memory::{MemoryFiles, PoolMemory, ProcessMemory, WorkerMemory};
pub use page::{NextActions, OwnedQuestion, PageAction, PageRenderer, RenderedPage};
pub use perl_side::PerlSide;
pub use plan::Plan;
pub use refusals::Refusals;
pub use rewound::RewoundScript;
pub use shedding::LoadStatus;
pub use status::{PoolStatus, TeamStatus, WorkerStatus};
pub use table_marks::{HeadTable, TableMarks, UNMARKED};
pub use tap::held_open;
pub use warmup_report::WarmupReport;
pub use worn::Replacements;
