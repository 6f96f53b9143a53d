//! A sampling profiler for perl that works from outside the process.
//!
//! [`Sampler`] reads the call stacks of Perl processes at a rate, with process_vm_readv(2), and
//! never stops a process. [`Profile`] is what it saw; [`output`] writes a profile as text. The
//! places of perl's structures come from perl's own headers ([`layout`]). The command `mehari
//! profile` chooses the processes.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod activity;
mod builtin;
mod clock;
mod code_place;
mod difference;
mod error;
mod exact;
mod filter;
mod grouping;
mod image;
mod kept;
pub mod layout;
pub mod memory;
mod names;
mod other_perl;
pub mod output;
mod process;
mod profile;
mod promptness;
mod ring;
mod sampler;
mod stack;
mod subject;
mod switches;
mod tree;

pub use code_place::CodePlaces;
pub use difference::{Clock, Difference, DifferenceRow};
pub use error::ProfileError;
pub use exact::{ExactLine, ExactProfile, ExactSub};
pub use filter::RequestFilter;
pub use grouping::Grouping;
pub use kept::{read, Damage, PartEncoder};
pub use process::{HeapVariables, InterpreterVariables, PerlProcess};
pub use profile::{FrameKind, FrameLabel, Observation, Profile, SamplingFacts};
pub use ring::{kept_between, kept_since, SampleRing};
pub use sampler::{Sampler, SamplingPlan};
