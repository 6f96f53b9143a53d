//! Sends the timelines of sampled requests to a collector of OpenTelemetry (`TraceExport`).
//!
//! The front puts a complete timeline into a bounded queue and goes on. A thread makes spans of the
//! timelines and sends them in batches. Spans that the queue cannot hold or that the collector does
//! not take are dropped and counted. No request waits.

mod collector;
mod identity;
mod json;
mod parts;
mod queue;
mod spans;
mod statement;
mod texts;

pub use identity::SpanIdentity;
pub use texts::{RequestTexts, TextParts};

use crate::trace::{FrontPart, Timeline, TraceContext};
use collector::{Collector, Refusal};
use mehari_config::TraceExport;
use queue::{NextBatch, Queue};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// How often a batch is tried, and the longest pause before the next try.
const TRIES: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a connection to the collector is kept while nothing is sent.
const KEPT: Duration = Duration::from_secs(5);

/// What a sampled request is, beyond its timeline.
#[derive(Debug, Clone)]
pub struct SampledRequest {
    pub identity: SpanIdentity,
    /// The client's `tracestate`.
    pub state: Option<String>,
    /// The bits of the field traceparent for programs and back ends.
    pub flags: u8,
    pub scheme: Scheme,
    pub version: HttpVersion,
    pub texts: RequestTexts,
    pub port: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    Http10,
    Http11,
    Http2,
}

/// Memory of a request whose spans were sent, for one that begins. Each piece of memory that one
/// thread takes and another one frees is dear.
#[derive(Debug, Default)]
pub struct SpareMemory {
    pub front: Vec<FrontPart>,
    pub texts: Vec<u8>,
}

impl SpareMemory {
    /// The most parts that are worth keeping.
    const MOST_PARTS: usize = 64;

    /// Takes the memory of a request. `None`: the memory is unusually large.
    fn of(request: ExportedRequest) -> Option<SpareMemory> {
        let mut front = request.timeline.front;
        front.clear();
        let texts = request.request.texts.into_memory();
        (front.capacity() <= Self::MOST_PARTS).then_some(SpareMemory { front, texts })
    }
}

impl SampledRequest {
    /// Returns the trace context for programs and back ends.
    pub fn context(&self) -> TraceContext {
        TraceContext {
            trace: self.identity.trace,
            span: self.identity.inner,
            flags: self.flags,
            state: self.state.clone(),
        }
    }
}

/// A sampled request that has ended.
pub struct ExportedRequest {
    /// Holds the texts of the request. Those of the timeline may be empty.
    pub request: SampledRequest,
    pub timeline: Timeline,
    /// When the last holder of the timeline has gone.
    pub ended: u64,
}

impl ExportedRequest {
    /// The number of spans.
    fn spans(&self) -> u64 {
        let timeline = &self.timeline;
        let parts = timeline.front.len() + timeline.queued.len() + timeline.perl.len();
        1 + parts as u64
    }

    /// About the bytes that the request takes in memory.
    fn bytes(&self) -> usize {
        const EACH: usize = 100;
        let names: usize = self.timeline.perl.iter().map(|part| part.name.len()).sum();
        EACH * (10 + self.spans() as usize) + names + self.request.texts.bytes()
    }
}

/// The numbers of spans since the start.
#[derive(Debug, Default)]
pub struct ExportCounts {
    /// The collector has taken the spans.
    pub sent: AtomicU64,
    /// The queue was full, or the request had too many parts.
    pub dropped: AtomicU64,
    /// The collector was not there, or it refused the spans.
    pub refused: AtomicU64,
}

impl ExportCounts {
    fn lost(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }
}

/// What the thread says, once for each trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportReport {
    /// The collector does not take spans.
    Failing { url: String, reason: String },
    /// Requests end faster than the collector takes their spans.
    Overrun { url: String },
    /// The trouble is over. So many spans were lost since the start of the trouble.
    Recovered { url: String, lost: u64 },
}

/// The way to one collector. When the exporter is dropped, the thread sends what waits and ends.
pub struct Exporter {
    settings: TraceExport,
    queue: Arc<Queue>,
    counts: Arc<ExportCounts>,
}

impl Exporter {
    /// Starts the thread. `tell` gets its reports.
    ///
    /// # Errors
    ///
    /// A text: the trusted authorities cannot be read, or the thread cannot be started.
    pub fn start(
        settings: TraceExport,
        counts: Arc<ExportCounts>,
        tell: impl Fn(ExportReport) + Send + 'static,
    ) -> Result<Exporter, String> {
        let queue = Arc::new(Queue::new(settings.queue));
        let sender = Sender {
            beginning: spans::beginning(&settings.service),
            collector: Collector::new(settings.clone())?,
            queue: queue.clone(),
            counts: counts.clone(),
            tell: Box::new(tell),
            trouble: None,
        };
        let thread = std::thread::Builder::new().name("trace export".into());
        let started = thread.spawn(move || sender.run());
        started.map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Exporter {
            settings,
            queue,
            counts,
        })
    }

    /// Checks what an exporter with these settings needs.
    ///
    /// # Errors
    ///
    /// A text: the trusted authorities cannot be read.
    pub fn check(settings: &TraceExport) -> Result<(), String> {
        let collector = Collector::new(settings.clone());
        let checked = collector.map_err(|reason| format!("TraceExport: {reason}"));
        checked.map(drop)
    }

    pub fn settings(&self) -> &TraceExport {
        &self.settings
    }

    /// Returns memory for a request that begins. The memory may be none.
    pub fn spare_memory(&self) -> SpareMemory {
        self.queue.take_spare()
    }

    /// Takes a request that has ended. Never waits.
    pub fn take(&self, request: ExportedRequest) {
        let (spans, left_out) = (request.spans(), request.timeline.left_out);
        let dropped = if self.queue.push(request) {
            left_out
        } else {
            spans + left_out
        };
        if dropped > 0 {
            self.counts.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Lets the thread send what waits, for at most this time.
    pub fn finish(&self, patience: Duration) {
        self.queue.close();
        self.queue.wait_for_end(patience);
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Something that was reported and is not over.
#[derive(PartialEq, Eq)]
enum Trouble {
    Failing { lost_before: u64 },
    Overrun { lost_before: u64 },
}

/// The thread.
struct Sender {
    /// The beginning of each document.
    beginning: Vec<u8>,
    collector: Collector,
    queue: Arc<Queue>,
    counts: Arc<ExportCounts>,
    tell: Box<dyn Fn(ExportReport) + Send>,
    trouble: Option<Trouble>,
}

impl Sender {
    fn run(mut self) {
        let mut lost = self.counts.lost();
        loop {
            let patience = self.collector.is_connected().then_some(KEPT);
            let batch = match self.queue.next(patience) {
                NextBatch::Ready(batch) => batch,
                NextBatch::Idle => {
                    self.collector.disconnect();
                    continue;
                }
                NextBatch::Closed => break,
            };
            let is_taken = self.send(&batch);
            self.queue.give_back(batch);
            let lost_now = self.counts.lost();
            if is_taken {
                self.note_success(lost, lost_now);
            }
            lost = lost_now;
        }
        self.queue.end();
    }

    /// Sends a batch, several times if the collector asks for it or is not there. Returns whether
    /// the collector has taken the batch.
    fn send(&mut self, batch: &[ExportedRequest]) -> bool {
        let spans = batch.iter().map(|request| request.spans()).sum();
        let document = spans::document(&self.beginning, batch);
        for attempt in 1..=TRIES {
            match self.collector.post(&document) {
                Ok(rejected) => {
                    let rejected = rejected.min(spans);
                    self.counts
                        .sent
                        .fetch_add(spans - rejected, Ordering::Relaxed);
                    self.counts.refused.fetch_add(rejected, Ordering::Relaxed);
                    return true;
                }
                Err(refusal) => {
                    let pause = pause(&refusal, attempt);
                    self.note_failure(refusal.reason);
                    let may_go_on = pause.is_some_and(|pause| self.queue.pause(pause));
                    if !may_go_on {
                        break;
                    }
                }
            }
        }
        self.counts.refused.fetch_add(spans, Ordering::Relaxed);
        false
    }

    fn note_failure(&mut self, reason: String) {
        if let Some(Trouble::Failing { .. }) = self.trouble {
            return;
        }
        let lost_before = self.counts.lost();
        self.trouble = Some(Trouble::Failing { lost_before });
        let url = self.collector.url();
        (self.tell)(ExportReport::Failing { url, reason });
    }

    /// Notes that the collector has taken a batch. `before`, `now`: the number of lost spans.
    fn note_success(&mut self, before: u64, now: u64) {
        let url = self.collector.url();
        let has_lost = now > before;
        match self.trouble.take() {
            None if has_lost => {
                let lost_before = before;
                self.trouble = Some(Trouble::Overrun { lost_before });
                (self.tell)(ExportReport::Overrun { url });
            }
            None => {}
            Some(Trouble::Overrun { lost_before }) if has_lost => {
                self.trouble = Some(Trouble::Overrun { lost_before });
            }
            Some(Trouble::Failing { lost_before } | Trouble::Overrun { lost_before }) => {
                let lost = now.saturating_sub(lost_before);
                (self.tell)(ExportReport::Recovered { url, lost });
            }
        }
    }
}

/// Returns how long to wait before the next try. `None`: there is none.
fn pause(refusal: &Refusal, attempt: u32) -> Option<Duration> {
    let own = Duration::from_secs(1 << attempt.min(TRIES));
    let pause = refusal.retry_after?.unwrap_or(own).min(LONGEST_PAUSE);
    (attempt < TRIES).then_some(pause)
}

#[cfg(test)]
mod tests;
