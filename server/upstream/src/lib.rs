//! Back ends: chooses members, keeps their connections, and lets requests wait.
//!
//! A [`Group`] is a balancer with its members. A request calls [`Group::seek`] for a [`Lease`] of a
//! member, takes or opens a [`Connection`], and returns both. A member that becomes free goes to
//! the oldest waiting request. The caller speaks the protocol, and this crate does not know the
//! client's HTTP. Only one thread uses the crate, so its types have cells instead of locks.
#![warn(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::missing_safety_doc
)]

mod batch;
mod choose;
mod chosen;
mod connection;
mod fault;
mod group;
mod hash;
mod health;
mod member;
mod program;
mod report;
mod scripts;
mod socket;
mod status;
mod trust;
mod upstreams;

pub use connection::{Connecting, Connection, Input};
pub use fault::Fault;
pub use group::{Group, Lease, Route, Seeking, Wish};
pub use member::Member;
pub use program::Answerer;
pub use report::Report;
pub use socket::Socket;
pub use status::{GroupStatus, MemberStatus};
pub use trust::Trust;
pub use upstreams::{is_secure, Upstreams};
