//! Back ends: who of them answers, over which connection, and who waits meanwhile.
//!
//! A [`Group`] is a balancer and its members. A request [`Group::seek`]s a [`Lease`] of a member, takes
//! or opens a [`Connection`] with it, and gives both back: what a member becomes free for goes to the
//! request that waited longest. What is said over the connection is the caller's business: nothing
//! here knows HTTP's clients. One thread, so cells instead of locks.

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
