//! Requests without a body that nobody has to be asked about: their work begins as soon as they are read.

use super::body::Gathered;
use super::connection::{Connection, Current};
use super::head::Framing;
use crate::dispatch::Dispatch;
use crate::gate;
use crate::request::path_of;
use crate::socket::Stream;
use crate::work::Work;

impl<S: Stream, D: Dispatch> Connection<S, D> {
    /// `None`: the gate has to be asked, or something waited for.
    pub(super) fn work_at_once(&self, turn: &mut Current) -> Option<Work<D>> {
        if self.head.framing != Framing::None {
            return None;
        }
        let path = path_of(self.head.target(self.input.bytes()));
        let route = gate::open_route(&self.shared, turn.host, path)?;
        turn.note_route(&self.shared, &route);
        self.enter_work();
        Some(self.begin(turn, &route, Gathered::Empty))
    }
}
