//! The times of a request before its head was complete, which the connection has noted.

use crate::request::Peer;
use mehari_observe::trace::{now, Trace};

/// Returns the time at which a request began: with its connection, with the first bytes of its
/// head, or now.
pub fn began(peer: &Peer) -> u64 {
    let Some(times) = &peer.times else {
        return now();
    };
    match (times.accepted.get(), times.head.get()) {
        (0, 0) => now(),
        (0, head) => head,
        (accepted, _) => accepted,
    }
}

/// Forgets the times of a request that nobody wants, so that they do not count for the next one.
pub fn forget_arrival(peer: &Peer) {
    if let Some(times) = &peer.times {
        times.accepted.set(0);
        times.secured.set(0);
        times.head.set(0);
    }
}

/// Notes the parts before the head was complete.
pub fn mark_arrival(trace: &Trace, peer: &Peer) {
    let Some(times) = &peer.times else {
        return;
    };
    if times.accepted.take() > 0 {
        match times.secured.take() {
            0 => {}
            secured => trace.mark_at("TLS handshake", secured),
        }
        match times.head.get() {
            0 => {}
            head => trace.mark_at("wait for the head", head),
        }
    }
    times.head.set(0);
    trace.mark("head");
}
