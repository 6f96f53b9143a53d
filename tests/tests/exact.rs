//! `mehari profile --exact`: subs and lines of chosen requests are counted exactly in a process of
//! their own, nothing but the owner's secret begins a profile, and a dying profiled process harms
//! nobody.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{binary, eventually, needs, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};

const PACKAGE: &str = "libdevel-nytprof-perl";

/// `leaf` runs 35 times: five times in each of seven branches.
const TREE: &str = "sub leaf { my $sum = 0; $sum += $_ for 1 .. 50; return $sum }
sub branch { leaf() for 1 .. 5 }
sub root { branch() for 1 .. 7 }
root();
print 'grown';";

const WHERE: &str = "print $INC{'Devel/NYTProf.pm'} ? 'profiled' : 'plain';
print ' ', $ENV{HTTP_MEHARI_PROFILE} // '-', ' ', $ENV{NYTPROF} // '-';";

const HANDLER: &str = "package My::Tree;
use Apache2::RequestRec (); use Apache2::RequestIO ();
sub leaf { return 1 } sub branch { leaf() for 1 .. 5 }
sub handler { my $r = shift; branch() for 1 .. 7; $r->content_type('text/plain'); $r->print('grown'); return 0 }
1;";

const APPLICATION: &str = "sub leaf { return 1 } sub branch { leaf() for 1 .. 5 }
sub { branch() for 1 .. 7; [200, ['Content-Type' => 'text/plain'], ['grown']] };";

const PLACES: &str = "PerlSwitches -I@ROOT@/lib
<Location /tree>
    SetHandler modperl
    PerlResponseHandler My::Tree
</Location>
<Location /psgi>
    SetHandler psgi
    PSGIApp @ROOT@/app.psgi
</Location>
";

fn server() -> mehari_harness::Builder {
    Server::builder()
        .ladder()
        .conf(PLACES)
        .conf(&workers(1))
        .file("lib/My/Tree.pm", HANDLER)
        .file("app.psgi", APPLICATION)
        .file("scripts/tree.pl", &plain(TREE))
        .file("scripts/where.pl", &plain(WHERE))
        .file(
            "scripts/die.pl",
            &plain("kill KILL => $$ if $INC{'Devel/NYTProf.pm'}; print 'alive';"),
        )
        .file("htdocs/file.txt", "file")
}

fn url(server: &Server, target: &str) -> String {
    format!("http://127.0.0.1:{}{target}", server.port())
}

fn exact(server: &Server, target: &str, folder: &str, more: &[&str]) -> Output {
    let (url, folder) = (url(server, target), server.site.path(folder));
    let folder = folder.to_str().expect("text");
    let mut words = vec!["profile", "--exact", &url, "-o", folder];
    words.extend(more);
    server.control(&words)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the calls of a sub in the table of subs: exclusive, inclusive, calls, name.
fn calls(report: &str, sub: &str) -> u64 {
    let words = report.lines().map(|line| line.split_whitespace().collect());
    let mut rows = words.filter_map(|words: Vec<&str>| match words[..] {
        [own, all, calls, name, ..] if name.ends_with(sub) => {
            let times: [f64; 2] = [own.parse().ok()?, all.parse().ok()?];
            assert!(times[0] <= times[1], "{report}");
            calls.parse().ok()
        }
        _ => None,
    });
    rows.next().unwrap_or_else(|| panic!("no {sub}: {report}"))
}

/// An order on the control socket, as the command gives it.
struct Order {
    stream: BufReader<UnixStream>,
    reply: Value,
}

impl Order {
    fn begin(server: &Server, words: &str) -> Order {
        let mut stream = UnixStream::connect(server.site.path("control")).expect("a server");
        writeln!(stream, "exact {words}").expect("it reads");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).expect("a reply");
        let reply = serde_json::from_str(&line).expect("JSON");
        Order { stream, reply }
    }

    fn secret(&self) -> String {
        self.reply["secret"].as_str().expect("a secret").to_owned()
    }

    /// Ends the order; returns how many profiles have come, and the last line.
    fn end(mut self) -> (usize, Value) {
        self.stream.get_ref().write_all(b"end\n").expect("it reads");
        let mut profiles = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("a line");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if line["end"] == true {
                return (profiles, line);
            }
            let mut profile = Vec::new();
            let length = line["bytes"].as_u64().expect("a number");
            let mut body = (&mut self.stream).take(length);
            body.read_to_end(&mut profile).expect("a profile");
            assert!(profile.starts_with(b"NYTProf "), "{line}");
            profiles += 1;
        }
    }
}

fn served(server: &Server, secret: Option<&str>) -> String {
    let request = Request::get(&Rung::Registry.url("where.pl"));
    let request = match secret {
        Some(secret) => request.field("Mehari-Profile", secret),
        None => request,
    };
    server.send(&request).expect(200).to_string()
}

#[test]
fn subs_and_lines_of_every_rung_are_counted_exactly() {
    needs!(PACKAGE);
    let server = server().start();
    let before = server.workers();
    let scripts = [
        Rung::Registry,
        Rung::PerlRun,
        Rung::Fork,
        Rung::Rewind,
        Rung::Auto,
    ];
    let mut targets: Vec<String> = scripts.iter().map(|rung| rung.url("tree.pl")).collect();
    targets.extend(["/tree".to_owned(), "/psgi".to_owned()]);
    for (number, target) in targets.iter().enumerate() {
        let folder = format!("profile-{number}");
        let output = exact(&server, target, &folder, &["--rows", "1000"]);
        let report = text(&output.stdout);
        assert!(output.status.success(), "{target}: {output:?}");
        assert_eq!(calls(&report, "::leaf"), 35, "{target}: {report}");
        assert_eq!(calls(&report, "::branch"), 7, "{target}: {report}");
        let folder = server.site.path(&folder);
        let mode = folder.metadata().expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{target}");
        for file in ["index.html", "nytprof.out", "csv"] {
            assert!(folder.join(file).exists(), "{target}: {file}");
        }
    }
    // The three statements of `leaf` run in each of 35 calls.
    let report = text(&exact(&server, &targets[0], "lines", &["--rows", "1000"]).stdout);
    let rows = report.lines().map(|line| line.split_whitespace().collect());
    let mut rows = rows.filter_map(|words: Vec<&str>| match words[..] {
        [_, statements, place] if place.ends_with("/tree.pl:3") => Some(statements.parse()),
        _ => None,
    });
    assert_eq!(rows.next(), Some(Ok(35 * 3)), "{report}");
    assert_eq!(server.workers(), before, "the serving worker is untouched");
}

#[test]
fn first_requests_can_be_left_out_and_several_are_merged() {
    needs!(PACKAGE);
    let server = server().start();
    let target = Rung::Registry.url("tree.pl");
    let more = ["--count", "3", "--warm", "1", "--rows", "1000"];
    let output = exact(&server, &target, "merged", &more);
    let report = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(calls(&report, "::leaf"), 3 * 35, "{report}");
    assert!(
        report.contains("mehari profile: 3 profiles in "),
        "{report}"
    );
}

#[test]
fn console_is_told_of_each_report_and_shows_its_pages() {
    needs!(PACKAGE);
    let place = "<Location /console>\nSetHandler mehari-console\nRequire local\n</Location>\n";
    let mut server = server().conf(place).start();
    let shows = || server.get("/console/").status == 200;
    assert!(eventually(PATIENCE, shows), "{}", server.log.text());
    server.rebase();
    let target = Rung::Registry.url("tree.pl");
    let output = exact(&server, &target, "shown", &["--count", "2"]);
    assert!(output.status.success(), "{output:?}");
    let get = |path: &str| {
        let request = Request::get(&format!("/console/{path}"));
        server.send(&request.field("X-Mehari-Console", "1"))
    };
    let list: Value = serde_json::from_str(&get("api/reports").expect(200)).expect("JSON");
    let reports = list["reports"].as_array().expect("a list");
    assert_eq!(reports.len(), 1, "{list}");
    assert_eq!(reports[0]["about"], url(&server, &target));
    assert_eq!(reports[0]["profiles"], 2);
    let folder = server.site.path("shown");
    assert_eq!(reports[0]["folder"], folder.to_str().expect("text"));
    let page = |name: &str| get(&format!("reports/{}/{name}", reports[0]["id"]));
    assert!(page("index.html").expect(200).contains("leaf"));
    page("style.css").expect(200);
    page("js/jquery-min.js").expect(404);
    // Each page of a source file that the report links is there.
    let index = page("index.html").expect(200);
    let links = index.split("href=\"").skip(1);
    let links = links.filter_map(|rest| rest.split(['"', '#']).next());
    let pages: Vec<&str> = links.filter(|link| link.ends_with("-line.html")).collect();
    assert!(!pages.is_empty(), "{index}");
    for link in pages {
        page(link).expect(200);
    }
}

#[test]
fn only_the_secret_of_the_running_profile_chooses_a_request() {
    needs!(PACKAGE);
    let server = server().start();
    let plain = "plain - -";
    assert_eq!(
        served(&server, Some("0123456789abcdef0123456789abcdef")),
        plain
    );
    let order = Order::begin(&server, "secret");
    let secret = order.secret();
    let zygotes = server.zygotes().len();
    let forged: [&str; 5] = [
        "",
        "0123456789abcdef0123456789abcdef",
        &secret[..31],
        &format!("{secret}0"),
        &secret
            .to_uppercase()
            .replace(|one: char| one.is_ascii_digit(), "g"),
    ];
    assert_eq!(served(&server, None), plain);
    for wrong in forged {
        assert_eq!(served(&server, Some(wrong)), plain, "{wrong}");
    }
    assert_eq!(served(&server, Some(&secret)), "profiled - -");
    let second = Order::begin(&server, "secret");
    assert_eq!(second.reply["ok"], false, "{}", second.reply);
    let (profiles, end) = order.end();
    assert_eq!((profiles, &end["taken"]), (1, &1.into()), "{end}");
    assert_eq!(served(&server, Some(&secret)), plain, "the profile is over");
    // An asker that leaves ends its profile.
    let left = Order::begin(&server, "secret");
    let secret = left.secret();
    drop(left);
    let is_over = || server.zygotes().len() < zygotes && served(&server, Some(&secret)) == plain;
    assert!(eventually(PATIENCE, is_over), "{:?}", server.zygotes());
}

#[test]
fn chosen_request_is_answered_although_the_asker_leaves() {
    needs!(PACKAGE);
    let waits = "open my $f, '>', \"$ENV{DOCUMENT_ROOT}/begun\"; close $f; \
        select undef, undef, undef, 0.01 until -e \"$ENV{DOCUMENT_ROOT}/go\"; print 'waited';";
    let server = server().file("scripts/wait.pl", &plain(waits)).start();
    let order = Order::begin(&server, "secret");
    let mut request = Request::get(&Rung::Registry.url("wait.pl"));
    request = request.field("Mehari-Profile", &order.secret());
    server.address(&mut request);
    let mut connection = server.connect();
    connection.write(&request.bytes());
    let begun = server.site.path("htdocs/begun");
    assert!(eventually(PATIENCE, || begun.exists()));
    drop(order);
    // Another profile can begin, so the server has noticed.
    let is_over = || Order::begin(&server, "secret").reply["ok"] == true;
    assert!(eventually(PATIENCE, is_over), "{}", server.log.text());
    server.site.write("htdocs/go", "");
    let answer = connection.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), "waited");
}

#[test]
fn bad_orders_are_refused_and_start_nothing() {
    let server = server().start();
    // A worker that has served has its own name.
    assert_eq!(served(&server, None), "plain - -");
    let zygotes = server.zygotes();
    for words in ["", "secrets", "one-in 0 /", "one-in 5 here", "one-in /"] {
        let order = Order::begin(&server, words);
        assert_eq!(order.reply["ok"], false, "{words}: {}", order.reply);
    }
    assert_eq!(server.zygotes(), zygotes);
}

#[test]
fn profile_goes_on_after_a_reload_and_ends_with_the_server() {
    needs!(PACKAGE);
    let builder = server().folder("temporary");
    let temporary = builder.folder_of("temporary");
    let mut server = builder
        .env("TMPDIR", temporary.to_str().expect("text"))
        .start();
    let left = || {
        let entries = temporary.read_dir().expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.starts_with("mehari-exact-"))
            .count()
    };
    let order = Order::begin(&server, "secret");
    let secret = order.secret();
    assert_eq!(left(), 1);
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(served(&server, None), "plain - -");
    assert_eq!(served(&server, Some(&secret)), "profiled - -");
    server.signal(Signal::Term);
    assert!(server.wait().expect("it ends").success());
    let mut rest = Vec::new();
    let mut stream = order.stream;
    stream.read_to_end(&mut rest).expect("the end");
    assert_eq!(left(), 0);
}

/// Profiles requests of other clients; returns once the server chooses them.
fn profile_location(server: &Server, more: &[&str], folder: &str) -> Child {
    let mut command = Command::new(binary::mehari());
    command
        .args(["profile", "--exact", "-d", "4m", "-o"])
        .arg(server.site.path(folder))
        .args(more)
        .arg("--control")
        .arg(server.site.path("control"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("mehari can be run");
    let mut line = Vec::new();
    let errors = child.stderr.as_mut().expect("it was piped");
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        errors.read_exact(&mut byte).expect("a line");
        line.push(byte[0]);
    }
    assert!(
        line.starts_with(b"mehari profile: waiting for "),
        "{}",
        text(&line)
    );
    child
}

fn interrupt(child: Child) -> Output {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::Int).expect("it runs");
    child.wait_with_output().expect("its end")
}

#[test]
fn one_request_in_so_many_for_a_location_is_profiled() {
    needs!(PACKAGE);
    let server = server().start();
    let more = ["--location", "/registry", "--one-in", "3", "--rows", "1000"];
    let child = profile_location(&server, &more, "sampled");
    let mut profiled = 0;
    for _ in 0..9 {
        profiled += u32::from(served(&server, None).starts_with("profiled"));
        let other = server.get(&Rung::PerlRun.url("where.pl"));
        assert_eq!(other.expect(200), "plain - -");
    }
    assert_eq!(profiled, 3);
    let output = interrupt(child);
    let report = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        report.contains("mehari profile: 3 profiles in "),
        "{report}"
    );
}

#[test]
fn profiled_process_that_dies_harms_no_other_request() {
    needs!(PACKAGE);
    let server = server().start();
    let child = profile_location(&server, &["--location", "/registry"], "dying");
    server.get(&Rung::Registry.url("die.pl")).expect(502);
    for _ in 0..5 {
        let other = server.get(&Rung::PerlRun.url("die.pl"));
        assert_eq!(other.expect(200), "alive");
    }
    // The next process serves the next request.
    let target = Rung::Registry.url("tree.pl");
    assert_eq!(server.get(&target).expect(200), "grown");
    let output = interrupt(child);
    let told = text(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(
        told.contains("1 of the profiled processes ended before their profiles were complete"),
        "{told}"
    );
    let output = exact(&server, &Rung::Registry.url("die.pl"), "dead", &[]);
    let told = text(&output.stderr);
    assert!(
        told.contains("ended before its profile was complete"),
        "{told}"
    );
    assert!(!server.site.path("dead").exists());
    assert_eq!(
        server.get(&Rung::Registry.url("die.pl")).expect(200),
        "alive"
    );
}

#[test]
fn what_cannot_be_profiled_is_told_in_one_line() {
    needs!(PACKAGE);
    let server = server().start();
    server.site.write("taken/file", "");
    let taken = server.site.path("taken");
    let taken = taken.to_str().expect("text");
    let page = url(&server, "/file.txt");
    for (words, expected) in [
        (
            vec!["--exact"],
            "--exact: expected a URL, or --location PATH",
        ),
        (
            vec!["--exact", &page, "-o", "x.html"],
            "expected a folder, not x.html",
        ),
        (
            vec!["--exact", &page, "-o", taken],
            "taken exists: expected a new folder",
        ),
        (
            vec!["-o", "x.doc"],
            "-o x.doc: expected a name that ends with .html",
        ),
    ] {
        let mut all = vec!["profile"];
        all.extend(words);
        let mut command = Command::new(binary::mehari());
        command.args(&all).current_dir(server.site.path("."));
        command.arg("--control").arg(server.site.path("control"));
        let output = command.output().expect("it runs");
        let told = text(&output.stderr);
        assert!(
            told.contains(expected) && told.lines().count() == 1,
            "{all:?}: {told}"
        );
        assert!(!output.status.success(), "{all:?}");
    }
    for (target, expected) in [
        (
            "/file.txt",
            "no worker served the request (HTTP/1.1 200 OK)",
        ),
        ("/cgi/where.pl", "no worker served the request"),
        (
            "/missing",
            "no worker served the request (HTTP/1.1 404 Not Found)",
        ),
    ] {
        let output = exact(&server, target, "nothing", &[]);
        let told = text(&output.stderr);
        assert!(told.contains(expected), "{target}: {told}");
        assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1));
        assert!(!server.site.path("nothing").exists(), "{target}");
    }
}

#[test]
fn perl_without_the_profiler_names_the_package() {
    let hide = "package Hide; @INC = grep { ref || !-f \"$_/Devel/NYTProf.pm\" } @INC; 1;";
    let server = Server::builder()
        .file("lib/Hide.pm", hide)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .conf("PerlSwitches -I@ROOT@/lib -MHide\n")
        .ladder()
        .start();
    let output = exact(&server, &Rung::Registry.url("hello.pl"), "missing", &[]);
    let told = text(&output.stderr);
    assert!(
        told.contains(" has no Devel::NYTProf: install the package libdevel-nytprof-perl"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(
        server.get(&Rung::Registry.url("hello.pl")).expect(200),
        "Hello"
    );
}
