//! Answers the workers' questions about requests within their requests. A worker waits for the
//! answer. The front cannot answer at once if its rules ask a program, and the other workers'
//! records are read meanwhile.

use crate::arrived::Shared;
use crate::call::{SubrequestQuestion, SubrequestResolver};
use crate::frame::{asker, encode};
use crate::inner::{Inner, Pool};
use crate::open_questions::{FoundAnswer, OpenQuestion};
use crate::page::Pages;
use crate::payload::{page_step, question, Broken, RecordRefusal};
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::task::Poll;
use tokio::task::spawn_local;

const OVERWRITTEN: Broken = Broken("over the request it was given");

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
        let asker = asker(&frame).ok_or(OVERWRITTEN)?;
        let room = worker.mailbox.answer_room();
        room[..4].fill(0);
        let held = worker.held.front_mut();
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
                held.has_open_question = true;
                let later = async { FoundAnswer::Resolver(later.await) };
                self.open_questions.open(open, Box::pin(later));
                return Ok(());
            }
        }
        worker.mailbox.answer();
        Ok(())
    }

    /// Answers a step of a page that the front makes, or later. An answer of length 0 ends the
    /// page.
    pub fn answer_page(&mut self, index: usize, server: u16, payload: &[u8]) -> Result<(), Broken> {
        let Some(worker) = self.worker(index) else {
            return Ok(());
        };
        let length = worker.held.front().map_or(0, |held| held.frame_length);
        let frame = worker.mailbox.first_slot()[..length].to_vec();
        let step = match page_step(server, payload) {
            Ok(step) => Some(step.asked_by(&frame).ok_or(OVERWRITTEN)?),
            Err(RecordRefusal::Record(broken)) => return Err(broken),
            Err(RecordRefusal::Head(why)) => {
                self.log.error(format_args!("a page is refused: {why}"));
                None
            }
        };
        let renderer = self.page_renderer.clone();
        let Some(worker) = self.worker(index) else {
            return Ok(());
        };
        let held = worker.held.front_mut();
        let held = held.filter(|held| !held.owed.arrived().left_early);
        if let (Some(step), Some(renderer), Some(held)) = (step, renderer, held) {
            let mut pages = held.owed.arrived().pages.take().unwrap_or_default();
            if let Some(status) = pages.take(step, &renderer) {
                let open = OpenQuestion {
                    exchange: held.owed.exchange(),
                    worker: index,
                    server,
                    payload: Box::default(),
                };
                held.has_open_question = true;
                let exchange = open.exchange.clone();
                let later = async move {
                    go_on(&mut pages, status, &exchange).await;
                    FoundAnswer::Pages(pages)
                };
                self.open_questions.open(open, Box::pin(later));
                return Ok(());
            }
        }
        worker.mailbox.answer_room()[..4].fill(0);
        worker.mailbox.answer();
        Ok(())
    }

    /// Answers a question that had to wait, if its worker still waits.
    fn answer_open(&mut self, open: &OpenQuestion, found: FoundAnswer) {
        let OpenQuestion {
            exchange,
            worker: index,
            server,
            payload,
        } = open;
        let Some(worker) = self.worker(*index) else {
            return;
        };
        let held = worker.held.front_mut();
        let Some(held) = held.filter(|held| held.owed.is_to(exchange)) else {
            return;
        };
        held.has_open_question = false;
        match found {
            FoundAnswer::Resolver(resolver) => {
                let answered = self.answer_question(*index, *server, payload, Some(resolver));
                if let Err(Broken(what)) = answered {
                    self.kill_broken(*index, what);
                }
            }
            FoundAnswer::Pages(mut pages) => {
                let room = worker.mailbox.answer_room();
                room[..4].fill(0);
                if !held.owed.arrived().left_early {
                    pages.write(room);
                    exchange.borrow_mut().pages = Some(pages);
                }
                worker.mailbox.answer();
            }
        }
    }
}

/// Has the last page go on, until nobody waits for it any more.
async fn go_on(pages: &mut Pages, status: u16, exchange: &Shared) {
    let mut going = pin!(pages.go_on(status));
    poll_fn(|cx| {
        if exchange.borrow_mut().is_given_up(cx) {
            return Poll::Ready(());
        }
        going.as_mut().poll(cx)
    })
    .await;
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
                    let found = later.await;
                    pool.borrow().answer_open(&open, found);
                });
            }
        }
    }
}
