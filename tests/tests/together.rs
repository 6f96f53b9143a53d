//! Tests features with one another: pools of their own user and generation, deferred calls, deaths
//! of workers, reloads of one pool and of all, and upgrades, under load.
//!
//! Each request defers a call that notes the request's number. A call of the pool `shop`, whose
//! workers are not killed, must be made exactly once. A call of the pool `wiki` is made at most
//! once, because a killed worker loses the call that it has begun.

use mehari_harness::scripts::plain;
use mehari_harness::{eventually, processes, Connection, Request, Server, PATIENCE};
use rustix::process::Signal;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;

const CLIENTS: usize = 4;
const ROUNDS: usize = 3;
/// So many requests are answered between two disturbances.
const BETWEEN: usize = 60;

const LATER: &str = "package My::Later;
sub note { open my $file, '>>', '@ROOT@/notes' or die $!; syswrite $file, \"$_[0]\\n\" }
1;
";

const DEFERS: &str = "use My::Later; my $r = shift;
    my $is_taken = $r->after_response('My::Later::note', $ENV{QUERY_STRING});
    print $is_taken ? 'deferred' : 'refused';";

fn pool(name: &str) -> String {
    format!(
        "<PerlPool {name}>\nStartServers 2\nMaxRequestWorkers 2\nPerlSwitches -I@ROOT@/lib\n</PerlPool>\n\
         Alias /{name}/ @ROOT@/scripts/\n<Location /{name}/>\nPerlPool {name}\n\
         SetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlSendHeader On\n\
         Options +ExecCGI\n</Location>\n"
    )
}

fn site() -> Server {
    let builder = Server::builder();
    let root = builder.folder_of("").display().to_string();
    builder
        .file(
            "lib/My/Later.pm",
            &LATER.replace("@ROOT@", root.trim_end_matches('/')),
        )
        .file("scripts/defers.pl", &plain(DEFERS))
        .conf(&(pool("shop") + &pool("wiki")))
        .start()
}

/// Ends the clients, even if the test panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Sends requests to both pools in turns. Returns what each number was answered.
fn ask(
    address: SocketAddr,
    next: &AtomicUsize,
    stop: &AtomicBool,
    answers: &Mutex<HashMap<String, String>>,
) {
    while !stop.load(Relaxed) {
        let number = next.fetch_add(1, Relaxed);
        let name = ["shop", "wiki"][number % 2];
        let request = Request::get(&format!("/{name}/defers.pl?{name}-{number}")).closing();
        let answer = Connection::open(address).send(&request);
        let answer = answer.unwrap_or_else(|error| panic!("{name} {number} is lost: {error}"));
        let text = match answer.status {
            200 => answer.text(),
            // A killed worker loses the request that it runs.
            502 if name == "wiki" => "killed".to_owned(),
            other => panic!("{name} {number}: {other} {}", answer.text()),
        };
        let mut answers = answers.lock().expect("no panic");
        answers.insert(format!("{name}-{number}"), text);
    }
}

fn kill_a_worker_of_wiki(server: &Server) {
    let status = server.status();
    let list = |what: &str| status["pool"][what].as_array().expect("a list").clone();
    let wiki = list("teams").iter().position(|team| team["host"] == "wiki");
    let workers = list("workers");
    let worker = workers
        .iter()
        .find(|worker| worker["team"].as_u64() == wiki.map(|it| it as u64));
    let Some(worker) = worker else {
        panic!("no worker of wiki: {status:#}");
    };
    let pid = worker["pid"].as_i64().expect("a number") as i32;
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    // The worker may have ended since.
    let _ = rustix::process::kill_process(pid, Signal::Kill);
}

#[track_caller]
fn told(server: &Server, words: &[&str]) {
    let output = server.control(words);
    assert!(
        output.status.success(),
        "{words:?}: {output:?}\n{}",
        server.log.text()
    );
}

#[test]
fn pools_keep_their_deferred_calls_through_deaths_reloads_and_upgrades() {
    let mut server = site();
    let address = SocketAddr::from(([127, 0, 0, 1], server.port()));
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for _ in 0..CLIENTS {
            scope.spawn(|| ask(address, &next, &stop, &answers));
        }
        let served = || answers.lock().expect("no panic").len();
        let go_on = || {
            let goal = served() + BETWEEN;
            assert!(eventually(PATIENCE, || served() >= goal), "{}", served());
        };
        for _ in 0..ROUNDS {
            go_on();
            told(&server, &["reload", "--pool", "shop"]);
            go_on();
            kill_a_worker_of_wiki(&server);
            go_on();
            told(&server, &["reload"]);
            go_on();
            kill_a_worker_of_wiki(&server);
            told(&server, &["upgrade"]);
            server.follow_upgrade();
        }
        go_on();
    });
    let last = server.pid();
    server.signal(Signal::Term);
    let has_ended = eventually(PATIENCE, || !processes::is_alive(last));
    assert!(has_ended, "{}", server.log.text());
    // The first process, whose work the last one has done.
    assert!(server.wait().is_some_and(|status| status.success()));
    check(&server, &answers.into_inner().expect("no panic"));
}

#[track_caller]
fn check(server: &Server, answers: &HashMap<String, String>) {
    let text = std::fs::read_to_string(server.site.path("notes")).expect("notes");
    let mut made: HashMap<&str, usize> = HashMap::new();
    for number in text.lines() {
        *made.entry(number).or_default() += 1;
    }
    let log = || server.log.text();
    for (number, answer) in answers {
        let times = made.get(number.as_str()).copied().unwrap_or(0);
        assert!(times <= 1, "{number} was made {times} times\n{}", log());
        let is_due = answer == "deferred" && number.starts_with("shop");
        assert!(!is_due || times == 1, "{number} was not made\n{}", log());
    }
    let deferred = answers.values().filter(|answer| *answer == "deferred");
    let count = deferred.count();
    assert!(count > answers.len() / 2, "{count} of {}", answers.len());
}
