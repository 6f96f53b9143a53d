//! Asks the corpus while processes are killed, the site is reloaded and clients leave.

use crate::dealer::{Dealer, Turn};
use crate::dice::{number_of, Dice};
use crate::figures::Figures;
use crate::pages::{request, serve, DirtyPage};
use mehari_harness::{processes, Answer, Server};
use rustix::process::Signal;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: usize = 4;
/// The requests of a run that is not told when to end.
const SHORT: usize = 1_000;
/// The times in seconds of the first disturbance of a kind, and from each to the next.
const KILLS: (f64, f64) = (0.3, 1.0);
const RELOADS: (f64, f64) = (1.0, 15.0);
const REPORTS: (f64, f64) = (10.0, 30.0);

/// When a run ends, and where it begins.
struct Extent {
    requests: Option<usize>,
    seconds: f64,
    skipped: usize,
    /// Whether someone waits for the end of the run and may stop it.
    is_long: bool,
}

impl Extent {
    fn wanted() -> Extent {
        let requests = number_of("MEHARI_TEST_REQUESTS").map(|it| it as usize);
        let seconds = number_of("MEHARI_TEST_SECONDS").map(|it| it as f64);
        Extent {
            requests: requests.or(seconds.is_none().then_some(SHORT)),
            seconds: seconds.unwrap_or(f64::INFINITY),
            skipped: number_of("MEHARI_TEST_SKIP").unwrap_or(0) as usize,
            is_long: requests.is_some() || seconds.is_some(),
        }
    }
}

/// What the clients share.
struct Run<'a> {
    server: &'a Server,
    pages: &'a [DirtyPage],
    dealer: Mutex<Dealer>,
    figures: Figures,
    stop: Arc<AtomicBool>,
}

impl Run<'_> {
    fn client(&self) {
        while !self.stops() {
            let turn = self.dealer.lock().expect("no panic").deal();
            let Some(turn) = turn else { return };
            for at in 0..turn.times {
                if self.stops() {
                    return;
                }
                self.ask(&turn, at);
                self.figures.requests.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn ask(&self, turn: &Turn, at: usize) {
        let page = &self.pages[turn.page];
        let request = request(&page.name, turn.rung).closing();
        let mut connection = self.server.connect();
        if let Some((_, within)) = turn.leaves.filter(|(leaves, _)| *leaves == at) {
            let bytes = request.bytes();
            let sent = if within { bytes.len() / 2 } else { bytes.len() };
            connection.write(&bytes[..sent]);
            self.figures.gone.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let begun = Instant::now();
        let answer = connection.send(&request);
        let seconds = begun.elapsed().as_secs_f64();
        self.figures.took(seconds, &page.name);
        self.judge(page, turn, answer);
    }

    fn judge(&self, page: &DirtyPage, turn: &Turn, answer: io::Result<Answer>) {
        let is_lost = match &answer {
            Ok(answer) if page.fresh.allows(answer) => return,
            Ok(answer) => !answer.complete || matches!(answer.status, 500 | 502),
            Err(_) => true,
        };
        if is_lost && self.figures.loses() {
            return;
        }
        let got = answer.map(|answer| answer.essence());
        let fresh = page.fresh.essence();
        let (name, rung) = (&page.name, turn.rung.name());
        let script = self.server.site.read(&format!("scripts/{name}"));
        self.figures.wrong(format!(
            "{name} on {rung}\n  fresh: {fresh:?}\n  server: {got:?}\n{script}"
        ));
    }
}

/// Kills one process that serves: a worker, a template or a template's child. A script's own
/// processes live on: what they would have printed is missing without an error.
fn kill_one(run: &Run, dice: &mut Dice) {
    let all = processes::descendants(run.server.pid());
    let zygotes: Vec<_> = all.iter().filter(|it| is_called(it, "zygote")).collect();
    let serving = |it: &&processes::Process| {
        let parent = all.iter().find(|other| other.pid == it.parent);
        let is_of_zygote = |pid| zygotes.iter().any(|zygote| zygote.pid == pid);
        let serves = is_called(it, "worker") || is_called(it, "template");
        let is_child =
            parent.is_some_and(|it| is_called(it, "template") && is_of_zygote(it.parent));
        serves && it.state != 'Z' && (is_of_zygote(it.parent) || is_child)
    };
    let serving: Vec<_> = all.iter().filter(serving).collect();
    if !serving.is_empty() {
        // A client may notice the death at once.
        run.figures.deaths.fetch_add(1, Ordering::Relaxed);
        processes::signal(serving[dice.below(serving.len())].pid, Signal::Kill);
    }
}

fn is_called(process: &processes::Process, name: &str) -> bool {
    process.command.strip_prefix("mehari-") == Some(name)
}

/// Returns true each time when a moment of this kind has come.
fn is_due(next: &mut f64, every: f64, now: f64) -> bool {
    let is_due = now >= *next;
    if is_due {
        *next = now + every;
    }
    is_due
}

fn disturb(run: &Run, extent: &Extent, is_over: impl Fn() -> bool) {
    // The order of the requests must not depend on the time, so the victims have their own dice.
    let mut dice = Dice::with_seed(std::process::id().into());
    let (mut kill, mut reload, mut report) = (KILLS.0, RELOADS.0, REPORTS.0);
    while !is_over() {
        let now = run.figures.seconds();
        if is_due(&mut kill, KILLS.1, now) {
            kill_one(run, &mut dice);
        }
        if is_due(&mut reload, RELOADS.1, now) {
            run.server.signal(Signal::Hup);
            run.figures.reloads.fetch_add(1, Ordering::Relaxed);
        }
        if is_due(&mut report, REPORTS.1, now) {
            println!("{}", run.figures);
        }
        if now >= extent.seconds {
            run.stop.store(true, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Lets INT and TERM end a long run with its report. A second such signal ends the program.
fn stop_on_signals(stop: &Arc<AtomicBool>) {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .expect("the signal may be caught");
    }
}

#[test]
fn corpus_answers_like_fresh_processes_while_processes_die_and_clients_leave() {
    let (mut dice, extent) = (Dice::thrown(), Extent::wanted());
    let stop = Arc::new(AtomicBool::new(false));
    if extent.is_long {
        stop_on_signals(&stop);
    }
    let (server, pages) = serve(&mut dice);
    let run = Run {
        server: &server,
        pages: &pages,
        dealer: Mutex::new(Dealer::new(
            dice,
            pages.len(),
            extent.skipped,
            extent.requests,
        )),
        figures: Figures::new(),
        stop,
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| run.client())).collect();
        disturb(&run, &extent, || {
            clients.iter().all(|client| client.is_finished())
        });
    });
    let asked = extent.skipped + run.figures.requests.load(Ordering::Relaxed);
    let wrong_pages = server.log.count("not as they were");
    println!(
        "{}; {wrong_pages} times wrong memory after a rewind",
        run.figures
    );
    println!("The requests after these: MEHARI_TEST_SKIP={asked}");
    run.figures.judge();
    assert_eq!(wrong_pages, 0);
}
