//! `mehari profile`: every rung's Perl is seen, processes that die are no harm, and what is no
//! perl is refused in one line.

use mehari_harness::scripts::{is_well, plain, workers};
use mehari_harness::{binary, Rung, Server};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Computes for half a second of processor time in a sub named by the query, or ends as it says.
const WORK: &str = "use POSIX ();
sub spend { my $until = (times)[0] + 0.5; my $x = 0; while ((times)[0] < $until) { $x += $_ for 1 .. 500 } }
sub in_cgi { spend() } sub in_fork { spend() } sub in_rewind { spend() }
sub in_perlrun { spend() } sub in_registry { spend() } sub in_auto { spend() }
if ($ENV{QUERY_STRING} eq 'die') { kill KILL => $$ }
my $sub = 'in_' . $ENV{QUERY_STRING};
no strict 'refs';
&$sub();
print 'spent';";

struct Sampling {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Sampling {
    /// Starts to sample the server for much longer than the test needs.
    fn start(server: &Server, more: &[&str]) -> Sampling {
        let mut command = Command::new(binary::mehari());
        command
            .args(["profile", "-d", "5m", "--rate", "200", "--rows", "1000"])
            .args(more)
            .arg("--control")
            .arg(server.site.path("control"))
            .env("XDG_CACHE_HOME", server.site.path("cache"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("mehari can be run");
        let mut errors = BufReader::new(child.stderr.take().expect("it was piped"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("a line");
        assert!(line.starts_with("mehari profile: sampling "), "{line}");
        Sampling { child, errors }
    }

    /// Ends the sampling as Ctrl-C does; returns the report.
    fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::Int).expect("it runs");
        let mut report = String::new();
        let mut out = self.child.stdout.take().expect("it was piped");
        out.read_to_string(&mut report).expect("text");
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).expect("text");
        assert!(self.child.wait().expect("its end").success(), "{errors}");
        report
    }
}

fn server() -> mehari_harness::Builder {
    Server::builder()
        .ladder()
        .conf(&workers(2))
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/work.pl", &plain(WORK))
}

fn refusal(words: &[&str]) -> String {
    let output = Command::new(binary::mehari())
        .arg("profile")
        .args(words)
        .output();
    let output = output.expect("mehari can be run");
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn perl_of_every_rung_is_seen_by_its_sub_and_line() {
    let server = server().start();
    let sampling = Sampling::start(&server, &[]);
    for rung in Rung::ALL {
        let url = format!("{}?{}", rung.url("work.pl"), rung.name());
        assert_eq!(server.get(&url).expect(200), "spent");
    }
    let report = sampling.stop();
    for rung in Rung::ALL {
        let sub = format!("::in_{}\n", rung.name());
        assert!(report.contains(&sub), "{sub}{report}");
    }
    assert!(report.contains("/work.pl:4\n"), "{report}");
}

#[test]
fn location_and_url_choose_the_requests() {
    let server = server().start();
    for (option, value, taken) in [
        ("--location", "/registry", "in_registry"),
        ("--url", "http://127.0.0.1/fork/work.pl", "in_fork"),
    ] {
        let sampling = Sampling::start(&server, &[option, value]);
        for rung in [Rung::Registry, Rung::PerlRun, Rung::Fork] {
            let url = format!("{}?{}", rung.url("work.pl"), rung.name());
            assert_eq!(server.get(&url).expect(200), "spent");
        }
        let report = sampling.stop();
        for sub in ["in_registry", "in_perlrun", "in_fork"] {
            assert_eq!(
                report.contains(&format!("::{sub}\n")),
                sub == taken,
                "{sub} {report}"
            );
        }
        assert!(report.contains(" of other requests"), "{report}");
    }
}

#[test]
fn deaths_and_reloads_while_it_samples_harm_nobody() {
    let server = server().start();
    let sampling = Sampling::start(&server, &[]);
    for _ in 0..3 {
        server.get("/registry/work.pl?die").expect(502);
        server.control(&["reload"]);
        let answer = server.get("/fork/work.pl?fork");
        assert_eq!(answer.expect(200), "spent");
    }
    let report = sampling.stop();
    assert!(report.contains(" ended"), "{report}");
    assert!(report.contains("::in_fork\n"), "{report}");
    is_well(&server);
}

#[test]
fn what_cannot_be_profiled_is_refused_in_one_line() {
    let server = server().start();
    let own = std::process::id().to_string();
    let told = refusal(&["--pid", &own]);
    assert!(
        told.contains("is not a perl: it has no perl interpreter"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    let told = refusal(&["--pid", "99999999"]);
    assert_eq!(told, "mehari profile: there is no process 99999999\n");
    let control = server.site.path("control");
    let control = control.to_str().expect("UTF-8");
    let told = refusal(&["--worker", "1", "--control", control]);
    let workers = server.workers();
    let known = format!("{}, {}", workers[0], workers[1]);
    assert!(told.contains("has no worker 1; it has "), "{told}");
    assert!(
        known.split(", ").all(|pid| told.contains(pid)),
        "{told} {known}"
    );
    let told = refusal(&["--rate", "0"]);
    assert!(
        told.contains("expected samples a second from 0.1 to 10000"),
        "{told}"
    );
}

/// Runs `mehari profile` and returns its output.
fn profile(words: &[&str]) -> String {
    let output = Command::new(binary::mehari())
        .arg("profile")
        .args(words)
        .output();
    let output = output.expect("mehari can be run");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits for the sampling process.
fn sampler_of(server: &Server) -> Option<String> {
    let mut found = None;
    mehari_harness::eventually(mehari_harness::PATIENCE, || {
        found = sampler_now(server);
        found.is_some()
    });
    found
}

fn sampler_now(server: &Server) -> Option<String> {
    let front = server.pid();
    let children = std::fs::read_to_string(format!("/proc/{front}/task/{front}/children"));
    let children = children.expect("the server runs");
    let mut pids = children.split_ascii_whitespace();
    let is_sampler = |pid: &&str| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command
            .split(|&byte| byte == 0)
            .any(|word| word == b"sampler")
    };
    pids.find(is_sampler).map(str::to_owned)
}

#[test]
fn two_kept_profiles_are_compared_and_each_is_read_again() {
    let server = server().start();
    let folder = server.site.path("kept");
    std::fs::create_dir(&folder).expect("a folder");
    let mut files = Vec::new();
    for rung in [Rung::Registry, Rung::PerlRun] {
        let file = folder.join(format!("{}.profile", rung.name()));
        let file = file.to_str().expect("UTF-8").to_owned();
        let sampling = Sampling::start(&server, &["-o", &file]);
        for _ in 0..3 {
            let url = format!("{}?{}", rung.url("work.pl"), rung.name());
            assert_eq!(server.get(&url).expect(200), "spent");
        }
        sampling.stop();
        let sub = format!("::in_{}\n", rung.name());
        let read = profile(&["--read", &file, "--rows", "1000"]);
        assert!(read.contains(&sub), "{read}");
        files.push(file);
    }
    let (before, after) = (&files[0], &files[1]);
    let report = profile(&["--difference", before, after, "--rows", "1000"]);
    assert!(report.starts_with("before: "), "{report}");
    assert!(report.contains("\nafter: "), "{report}");
    for (rung, sign) in [("registry", "-"), ("perlrun", "+")] {
        let is_row = |line: &&str| line.ends_with("::spend") && line.to_lowercase().contains(rung);
        let row = report
            .lines()
            .find(is_row)
            .unwrap_or_else(|| panic!("{rung} {report}"));
        let words: Vec<&str> = row.split_ascii_whitespace().collect();
        assert!(words[2].starts_with(sign), "{row}");
        assert!(words.contains(&"yes"), "{row}");
    }
    let page = folder.join("difference.html");
    let page_name = page.to_str().expect("UTF-8");
    profile(&["--difference", before, after, "-o", page_name]);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("\"C\":") && page.contains("Difference of two profiles"));
    let script = server.site.path("scripts/work.pl");
    let script = script.to_str().expect("UTF-8");
    let told = refusal(&["--difference", before, script]);
    assert!(told.contains("expected a file that"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn samples_are_always_taken_and_outlive_reload_and_server() {
    let always = format!("{}\nProfileAlways 99\nProfileFolder kept\n", workers(2));
    let mut server = server().conf(&always).start();
    let sampler = sampler_of(&server).expect("a sampling process");
    server.control(&["reload"]);
    assert_eq!(sampler_of(&server), Some(sampler.clone()));
    let sockets = std::fs::read_dir(format!("/proc/{sampler}/fd")).expect("its descriptors");
    let is_socket = |name: &std::path::PathBuf| name.to_string_lossy().starts_with("socket:");
    let targets = sockets
        .flatten()
        .flat_map(|fd| std::fs::read_link(fd.path()));
    assert_eq!(targets.filter(is_socket).count(), 0);
    for _ in 0..4 {
        server.get("/registry/work.pl?registry").expect(200);
    }
    let folder = server.site.path("kept");
    let folder = folder.to_str().expect("UTF-8").to_owned();
    assert!(server.control(&["stop"]).status.success());
    assert!(server.wait().is_some_and(|status| status.success()));
    assert!(!std::path::Path::new(&format!("/proc/{sampler}")).exists());
    let report = profile(&["--from", "-10m", "--folder", &folder, "--rows", "1000"]);
    assert!(report.contains("::in_registry\n"), "{report}");
    let told = refusal(&["--from", "-20h", "--to", "-19h", "--folder", &folder]);
    assert!(told.contains("no samples from "), "{told}");
    assert!(told.contains("the oldest are of "), "{told}");
}

#[test]
fn folder_that_cannot_be_written_is_one_line_in_the_log() {
    let always = format!(
        "{}\nProfileAlways 99\nProfileFolder scripts/work.pl/kept\n",
        workers(1)
    );
    let mut server = server().conf(&always).start();
    sampler_of(&server);
    server.rebase();
    server.get("/registry/work.pl?registry").expect(200);
    server
        .log
        .expect("no samples are taken until the folder can be written");
    server.get("/registry/work.pl?registry").expect(200);
    assert_eq!(server.log.count("ProfileAlways: "), 1);
}
