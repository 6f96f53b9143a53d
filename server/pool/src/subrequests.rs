//! Answers the workers' questions about requests within their requests. A worker waits for the
//! answer. The front cannot answer at once if its rules ask a program, and the other workers'
//! records are read meanwhile.

use crate::call::{SubrequestQuestion, SubrequestResolver};
use crate::frame::{asker, encode};
use crate::inner::{Inner, Pool};
use crate::open_questions::OpenQuestion;
use crate::payload::{question, Broken, RecordRefusal};
use tokio::task::spawn_local;

impl Inner {
    /// Answers a worker's question with a request frame, or later. An answer of length 0 says that
    /// there is no frame.
    pub fn answer_question(
        &mut self,
        index: usize,
        server: u16,
        payload: &[u8],
        resolver: Option<SubrequestResolver>,
    ) -> Result<(), Broken> {
        let question = match question(server, payload) {
            Ok(question) => Some(question),
            Err(RecordRefusal::Record(broken)) => return Err(broken),
            Err(RecordRefusal::Head(why)) => {
                self.log
                    .error(format_args!("a request within a request is refused: {why}"));
                None
            }
        };
        let Some(worker) = self.worker(index) else {
            return Ok(());
        };
        let length = worker.held.front().map_or(0, |held| held.frame_length);
        let frame = worker.mailbox.first_slot()[..length].to_vec();
        let asker = asker(&frame).ok_or(Broken("over the request it was given"))?;
        let room = worker.mailbox.answer_room();
        room[..4].fill(0);
        let held = worker.held.front();
        // The client has gone. Without this refusal, a request that redirects to itself would never
        // end.
        let held = held.filter(|held| !held.owed.arrived().left_early);
        if let (Some(resolver), Some(question), Some(held)) = (resolver, question, held) {
            let question = SubrequestQuestion { asker, ..question };
            let later = resolver.resolve(question, &mut |call| {
                if encode(&call, room).is_err() {
                    room[..4].fill(0);
                }
            });
            if let Some(later) = later {
                let open = OpenQuestion {
                    exchange: held.owed.exchange(),
                    worker: index,
                    server,
                    payload: payload.into(),
                };
                self.open_questions.open(open, later);
                return Ok(());
            }
        }
        worker.mailbox.answer();
        Ok(())
    }

    /// Answers a question that had to wait, if its worker still waits.
    fn answer_open(&mut self, open: &OpenQuestion, resolver: SubrequestResolver) {
        let OpenQuestion {
            exchange,
            worker: index,
            server,
            payload,
        } = open;
        let held = self.worker(*index).and_then(|worker| worker.held.front());
        if !held.is_some_and(|held| held.owed.is_to(exchange)) {
            return;
        }
        let answered = self.answer_question(*index, *server, payload, Some(resolver));
        if let Err(Broken(what)) = answered {
            self.kill_broken(*index, what);
        }
    }
}

impl Pool {
    /// Answers the questions that had to wait. Runs until the pool ends.
    pub(crate) async fn answer_open_questions(self) {
        let opened = self.borrow().open_questions.opened.clone();
        loop {
            opened.notified().await;
            let new = self.borrow().open_questions.take();
            for (open, later) in new {
                let pool = self.clone();
                spawn_local(async move {
                    let resolver = later.await;
                    pool.borrow().answer_open(&open, resolver);
                });
            }
        }
    }
}
