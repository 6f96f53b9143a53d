//! Back ends: the choice of a member, its connections, and the waiting requests.
//!
//! A [`Group`] is a balancer with its members. A request [`Group::seek`]s a [`Lease`] of a member,
//! takes or opens a [`Connection`], and returns both. A member that becomes free goes to the oldest
//! waiting request. The caller speaks the protocol; this crate knows no client's HTTP. One thread,
//! so cells instead of locks.

mod batch;
mod choose;
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
pub use group::{Group, Lease, Seeking, Wish};
pub use member::Member;
pub use report::Report;
pub use socket::Socket;
pub use status::{GroupStatus, MemberStatus};
pub use trust::Trust;
pub use upstreams::{is_secure, Upstreams};
