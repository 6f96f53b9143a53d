//! Turns a worker's ring records into the front's view of a response. The worker is not trusted: an
//! invalid record ends the worker and answers 502. A head that cannot be sent is the program's
//! mistake, so the answer is 500 and the worker goes on.

use crate::call::{Fault, Fetch, Head, ResponseOutcome};
use crate::deferral::is_call;
use crate::false_starts::FalseStarts;
use crate::frame::task_of;
use crate::inner::Inner;
use crate::parts::part;
use crate::payload::{head, read_lines, split_lines, Broken, RecordRefusal};
use crate::script_head::Malformed;
use crate::tap::{Header, TapRequest, Unread};
use crate::worker::origin;
use mehari_config::LogLevel;
use mehari_wire::layout::record;
use mehari_wire::Record;
use rustix::fs::FileType;
use std::time::{Duration, Instant};

/// While this many bytes of a body wait for the client, the pool does not read the worker's ring,
/// so the worker waits too.
pub const BODY_AHEAD: usize = 256 * 1024;

/// The largest number of records read from one worker before the other workers' records are read.
const RECORDS_AT_ONCE: usize = 4096;

impl Inner {
    /// Reads every mailbox that may hold records. Returns true if a record had arrived.
    pub fn scan(&mut self) -> bool {
        let mut any = false;
        self.for_each_holding(|inner, index| any |= inner.drain_worker(index));
        any
    }

    pub fn drain_worker(&mut self, index: usize) -> bool {
        let mut records = 0;
        while records < RECORDS_AT_ONCE && self.take_record(index) {
            records += 1;
        }
        if records == RECORDS_AT_ONCE {
            self.bell.ring();
        }
        let any = records > 0;
        if any {
            if let Some(worker) = self.worker(index) {
                worker.mailbox.release();
            }
        }
        any
    }

    fn take_record(&mut self, index: usize) -> bool {
        let Some(worker) = self.workers[index].as_mut() else {
            return false;
        };
        let ahead = worker
            .held
            .front()
            .map_or(0, |held| held.owed.arrived().body.len());
        if ahead >= BODY_AHEAD {
            return false;
        }
        let mut payload = std::mem::take(&mut self.scratch);
        payload.clear();
        let outcome = match worker.mailbox.next_record(&mut payload) {
            Ok(None) => {
                self.scratch = payload;
                return false;
            }
            Ok(Some(record)) => self.accept(index, record, &payload),
            Err(_) => Err(Broken("a record of impossible length")),
        };
        self.scratch = payload;
        if let Err(Broken(what)) = outcome {
            self.kill_broken(index, what);
            return false;
        }
        true
    }

    fn accept(&mut self, index: usize, record: Record, payload: &[u8]) -> Result<(), Broken> {
        if record.kind == record::DONE {
            return self.finish_head(index, record.detail);
        }
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let pid = worker.pid;
        let Some(held) = worker.held.front_mut() else {
            return Err(Broken("a record without a request"));
        };
        if record.kind == record::LOG {
            let origin = origin(held, pid);
            let level = level(record.detail);
            let request = if level <= LogLevel::Warn {
                worker.running_request()
            } else {
                None
            };
            let Some(request) = request else {
                self.log.log_bytes(level, origin, payload);
                return Ok(());
            };
            let named = format!("{} {}", request.method, request.target);
            let asked = match request.client.as_str() {
                "" => named.clone(),
                client => format!("client {client}] [{named}"),
            };
            self.log.log_of_request(level, origin, &asked, payload);
            let number = origin.request.unwrap_or_default();
            self.log.groups().name_request(number, &named);
            return Ok(());
        }
        if record.kind == record::RUNG {
            return self.rewound.record_report(pid, payload);
        }
        if record.kind == record::MODULES {
            return self.learn_modules(payload);
        }
        if record.kind == record::PART {
            let part = part(record.detail, payload)?;
            // The trace of a request whose client has gone may be over.
            if let Some(trace) = &held.owed.arrived().trace {
                trace.add(part);
            }
            return Ok(());
        }
        if record.kind == record::DEFER {
            return self.take_defer(index, record.detail, payload);
        }
        if matches!(record.kind, record::ASK | record::PAGE) && held.has_open_question {
            return Err(Broken("a question while an earlier one is open"));
        }
        if record.kind == record::ASK {
            let resolver = self.resolver.clone();
            return self.answer_question(index, record.detail, payload, resolver);
        }
        if record.kind == record::PAGE {
            return self.answer_page(index, record.detail, payload);
        }
        held.expects(record.kind)?;
        let taken = match record.kind {
            record::TAP => self.open_tap(index, record.detail, payload),
            record::FETCH => self.take_fetch(index, record, payload),
            _ => held.take(record, payload),
        };
        match taken {
            Ok(()) => {}
            Err(RecordRefusal::Record(broken)) => return Err(broken),
            Err(RecordRefusal::Head(why)) => {
                self.refuse_head(index, &why);
                let worker = self.worker(index);
                let held = worker.and_then(|worker| worker.held.front());
                if let Some(exchange) = held.map(|held| held.owed.exchange()) {
                    self.answer_rules(&exchange, None);
                }
            }
        }
        let worker = self.worker(index);
        let Some(held) = worker.and_then(|worker| worker.held.front_mut()) else {
            return Ok(());
        };
        held.has_taken(record.kind);
        if held.owed.arrived().gone {
            let exchange = held.owed.exchange();
            self.report_outcome(&exchange, ResponseOutcome::default());
            self.answer_rules(&exchange, None);
        }
        Ok(())
    }

    fn learn_modules(&mut self, payload: &[u8]) -> Result<(), Broken> {
        for module in self.learned.record(payload)? {
            self.log.info(format_args!(
                "{}: each request loads {}; after the next reload the module is loaded once",
                module.script, module.file
            ));
        }
        Ok(())
    }

    /// Answers 500 because the program's head cannot be sent. The worker is not at fault.
    fn refuse_head(&mut self, index: usize, why: &Malformed) {
        let log = self.log.clone();
        let Some(worker) = self.worker(index) else {
            return;
        };
        let Some(held) = worker.held.front() else {
            return;
        };
        held.owed.arrived().fail(Fault::BadHeader);
        let (origin, length) = (origin(held, worker.pid), held.frame_length);
        let task = task_of(&worker.mailbox.first_slot()[..length]).unwrap_or_default();
        log.log(
            LogLevel::Error,
            origin,
            format_args!(
                "the response of {} is refused: {why}",
                String::from_utf8_lossy(task)
            ),
        );
    }

    /// Takes the pipe that carries the rest of the response to the worker's first request.
    fn open_tap(&mut self, index: usize, detail: u16, payload: &[u8]) -> Result<(), RecordRefusal> {
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let pid = worker.pid;
        let Some(request) = worker.held.front().map(|held| held.request_id) else {
            return Ok(());
        };
        let file = worker
            .receive_file(request)
            .map_err(|_| Broken("of a pipe and sent none"))?;
        let Some(held) = worker.held.front_mut() else {
            return Ok(());
        };
        let (lines, name) = split_lines(payload)?;
        let status = detail & !record::TAP_PARSE;
        let header = if detail & record::TAP_PARSE != 0 {
            let mut beside = Head {
                status,
                ..Head::default()
            };
            read_lines(&mut beside, lines)?;
            Header::InPipe(beside)
        } else {
            Header::Apart(head(status, lines)?)
        };
        let mut arrived = held.owed.arrived();
        if arrived.gone {
            return Ok(());
        }
        arrived.tap = Some(Box::new(Unread {
            file,
            header,
            about: TapRequest {
                log: self.log.clone(),
                origin: origin(held, pid),
                file: name.to_vec(),
                timeout: held.timeout.hard,
            },
        }));
        arrived.tapped = true;
        Ok(())
    }

    /// Notes that the worker's filters wait for the front's response to the worker's first request.
    fn take_fetch(
        &mut self,
        index: usize,
        record: Record,
        payload: &[u8],
    ) -> Result<(), RecordRefusal> {
        const NONE: Broken = Broken("of a socket or body and sent none");
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let Some(request) = worker.held.front().map(|held| held.request_id) else {
            return Ok(());
        };
        let socket = worker.receive_file(request).map_err(|_| NONE)?;
        let body = if record.detail & record::FETCH_BODY != 0 {
            let file = worker.receive_file(request).map_err(|_| NONE)?;
            let about = rustix::fs::fstat(&file).map_err(|_| NONE)?;
            if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
                return Err(NONE.into());
            }
            Some((file, u64::try_from(about.st_size).map_err(|_| NONE)?))
        } else {
            None
        };
        let Some(held) = worker.held.front_mut() else {
            return Ok(());
        };
        held.take(record, payload)?;
        let mut arrived = held.owed.arrived();
        if !arrived.gone {
            arrived.fetch = Some(Box::new(Fetch { socket, body }));
        }
        Ok(())
    }

    /// Handles that the worker has finished its first request and the cleanup after this request.
    fn finish_head(&mut self, index: usize, detail: u16) -> Result<(), Broken> {
        let Some(worker) = self.workers[index].as_mut() else {
            return Ok(());
        };
        let Some(mut held) = worker.held.pop_front() else {
            return Err(Broken("an end without a request"));
        };
        if worker.held.is_empty() {
            self.holding.remove(index);
        }
        worker.served += 1;
        let (place, pid) = (worker.team, worker.pid);
        let team = self.teams.get_mut(place);
        if let Some(team) = team.filter(|team| team.false_starts.in_a_row > 0) {
            team.false_starts = FalseStarts::default();
        }
        let now = Instant::now();
        let deferring = std::mem::take(&mut held.deferring);
        let took = now.saturating_duration_since(worker.head_since);
        worker.last_took = deferring.served_in.unwrap_or(took);
        let is_request = !is_call(held.request_id);
        if let Some(team) = self.teams.get_mut(place).filter(|_| is_request) {
            team.overload.note_service(worker.last_took);
        }
        worker.head_since = now;
        worker.warned = None;
        worker.told_slow = false;
        worker.waited = Duration::ZERO;
        let again = detail & record::DONE_AGAIN != 0 && !held.has_begun();
        let frame = again.then(|| worker.mailbox.first_slot()[..held.frame_length].to_vec());
        worker.mailbox.finish_first();
        if let Some(frame) = frame {
            held.tries.put_back += 1;
            self.put_back(place, held, frame);
            self.forget_deferred(deferring);
        } else {
            held.owed.fail(Fault::BadResponse);
            self.release_deferred(place, pid, deferring);
        }
        self.after_request(index, detail);
        self.worker_is_free(index);
        Ok(())
    }

    pub fn kill_broken(&mut self, index: usize, what: &'static str) {
        let Some(worker) = self.worker(index) else {
            return;
        };
        let pid = worker.pid;
        worker.killed = true;
        worker.kill();
        self.log
            .error(format_args!("worker {pid} wrote {what} and is replaced"));
        self.worker_ended(index);
    }
}

pub(crate) fn level(detail: u16) -> LogLevel {
    match detail {
        0 => LogLevel::Emerg,
        1 => LogLevel::Alert,
        2 => LogLevel::Crit,
        4 => LogLevel::Warn,
        5 => LogLevel::Notice,
        6 => LogLevel::Info,
        7 => LogLevel::Debug,
        _ => LogLevel::Error,
    }
}
