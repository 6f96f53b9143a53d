//! Prints requests and replies for `--print-request` and `--print-reply`. Each line of a head or
//! body follows the number of its call.

use super::options::{Options, Print};
use crate::console::Console;
use mehari_load::{ObservedExchange, Sample};
use std::collections::{HashMap, VecDeque};

/// Prints requests and replies. Calls are numbered in sending order, and the replies of a
/// connection come in the order of its calls.
pub struct Printer {
    console: Console,
    request: Option<Print>,
    reply: Option<Print>,
    requests: Vec<Vec<u8>>,
    next: u64,
    /// The numbers of the calls without a reply, by connection.
    waiting: HashMap<u64, VecDeque<u64>>,
    /// The start of an incomplete body line, by connection.
    unfinished: HashMap<u64, Vec<u8>>,
}

impl Printer {
    /// Returns a printer, or `None` if the options ask for no printing.
    pub fn wanted(options: &Options, console: Console, requests: Vec<Vec<u8>>) -> Option<Printer> {
        (options.print_request.is_some() || options.print_reply.is_some()).then(|| Printer {
            console,
            request: options.print_request,
            reply: options.print_reply,
            requests,
            next: 0,
            waiting: HashMap::new(),
            unfinished: HashMap::new(),
        })
    }

    pub fn sent(&mut self, exchange: &ObservedExchange) {
        let id = self.next;
        self.next += 1;
        self.waiting
            .entry(exchange.connection)
            .or_default()
            .push_back(id);
        let (Some(print), Some(bytes)) = (self.request, self.requests.get(exchange.request)) else {
            return;
        };
        let end = head_length(bytes);
        let (head, body) = bytes.split_at(end);
        if print.header() {
            self.lines("SH", id, head);
        }
        if print.body() {
            self.lines("SB", id, body);
        }
        let (head, body) = (head.len(), body.len());
        self.console
            .out(format!("SS{id}: header {head} content {body}\n"));
    }

    fn call(&self, connection: u64) -> u64 {
        let waiting = self.waiting.get(&connection);
        waiting
            .and_then(|calls| calls.front())
            .copied()
            .unwrap_or(0)
    }

    pub fn head(&mut self, exchange: &ObservedExchange, head: &[u8]) {
        if self.reply.is_some_and(Print::header) {
            self.lines("RH", self.call(exchange.connection), head);
        }
    }

    /// Prints the complete lines of a piece of a body. The rest of the piece waits for the next
    /// piece.
    pub fn body(&mut self, exchange: &ObservedExchange, piece: &[u8]) {
        if !self.reply.is_some_and(Print::body) {
            return;
        }
        let mut text = self
            .unfinished
            .remove(&exchange.connection)
            .unwrap_or_default();
        text.extend(piece);
        let end = text.iter().rposition(|&byte| byte == b'\n');
        let rest = text.split_off(end.map_or(0, |end| end + 1));
        self.lines("RB", self.call(exchange.connection), &text);
        if !rest.is_empty() {
            self.unfinished.insert(exchange.connection, rest);
        }
    }

    pub fn completed(&mut self, sample: &Sample) {
        let id = self.call(sample.connection);
        if let Some(rest) = self.unfinished.remove(&sample.connection) {
            self.lines("RB", id, &rest);
        }
        if let Some(calls) = self.waiting.get_mut(&sample.connection) {
            calls.pop_front();
            if calls.is_empty() {
                self.waiting.remove(&sample.connection);
            }
        }
        if self.reply.is_some() {
            self.console.out(format!(
                "RS{id}: header {} content {} footer {}\n",
                sample.head_bytes, sample.body_bytes, sample.framing_bytes
            ));
        }
    }

    /// Prints each line after `prefix`. Like httperf, keeps the carriage return at the end of a
    /// line.
    fn lines(&self, prefix: &str, id: u64, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            return;
        }
        for line in bytes.split(|&byte| byte == b'\n') {
            let opening = format!("{prefix}{id}:");
            self.console.out([opening.as_bytes(), line, b"\n"].concat());
        }
    }
}

fn head_length(bytes: &[u8]) -> usize {
    bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .map_or(bytes.len(), |at| at + 4)
}
