//! `mehari doctor`: each advice has a measured cost, a line and a command; a site without the fault
//! gets no such advice, and wrong words get one line.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{binary, Request, Server};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Runs `mehari doctor` in a folder.
fn doctor(words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(binary::mehari());
    command.arg("doctor").args(words).current_dir(folder);
    command.output().expect("mehari can be run")
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Returns the advice of a check, or what the check said instead.
fn advice(report: &Value, check: &str) -> Result<Vec<Value>, String> {
    let findings = report["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no check {check}: {report}"));
    match found["advice"].as_array() {
        Some(advice) => Ok(advice.clone()),
        None => Err(found.to_string()),
    }
}

/// Asserts that an advice has a figure above 0, and returns its change.
fn change_of(advice: &Value) -> &Value {
    let figures = advice["figures"].as_array().expect("a list");
    let is_measured = |figure: &Value| figure["value"].as_f64().is_some_and(|value| value > 0.0);
    assert!(figures.iter().any(is_measured), "{advice}");
    assert_ne!(advice["measured"], "", "{advice}");
    &advice["change"]
}

const HEAVY: &str =
    "package Shop::Heavy;\nour @table = map { 'x' x (100 + ($_ & 1)) } 1 .. 20_000;\n1;\n";

const CONF: &str = "Listen 127.0.0.1:0
DocumentRoot htdocs
PerlSwitches -I@ROOT@/lib
PerlModule POSIX
HostnameLookups On
<Files \"*.pl\">
    SetHandler          perl-script
    PerlResponseHandler ModPerl::Registry
    PerlOptions         +ParseHeaders
    Options             +ExecCGI
</Files>
";

/// A folder with a configuration that nobody serves.
fn unserved(conf: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
    };
    let root = folder.path().to_string_lossy().into_owned();
    write("httpd.conf", &conf.replace("@ROOT@", &root));
    write("lib/Shop/Heavy.pm", HEAVY);
    write(
        "htdocs/list.pl",
        &plain("use Shop::Heavy; use POSIX; print scalar @Shop::Heavy::table;"),
    );
    folder
}

#[test]
fn configuration_is_examined_without_a_server_and_the_command_of_the_gain_runs() {
    let folder = unserved(CONF);
    let report = json(&doctor(&["-f", "httpd.conf", "--json"], folder.path()));
    let modules = advice(&report, "modules").expect("the script loads a module");
    assert_eq!(modules.len(), 1, "POSIX is loaded already: {modules:?}");
    let change = change_of(&modules[0]);
    assert_eq!(change["new"], "PerlModule Shop::Heavy");
    assert_eq!(
        (&change["line"], &change["kind"]),
        (&4.into(), &"insert".into())
    );
    let lookups = advice(&report, "name lookups").expect("the names are looked up");
    let change = change_of(&lookups[0]);
    assert_eq!(
        (&change["line"], &change["new"]),
        (&5.into(), &"HostnameLookups Off".into())
    );
    for check in [
        "slow pages",
        "growing workers",
        "workers",
        "memory limits",
        "logs",
    ] {
        let said = advice(&report, check).expect_err("there is no server");
        assert!(said.contains("needs a running server"), "{said}");
    }
    let gain = modules[0]["gain"].as_str().expect("a command");
    let program = binary::mehari();
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).expect("made");
    std::os::unix::fs::symlink(program, bin.join("mehari")).expect("a link");
    let compared = Command::new("sh")
        .args(["-c", &format!("{gain} -n 20 -c 1 --blocks 2")])
        .env("PATH", format!("{}:{path}", bin.display()))
        .current_dir(folder.path())
        .output()
        .expect("sh runs");
    let said = String::from_utf8_lossy(&compared.stdout);
    let errors = String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{gain}\n{said}{errors}");
    assert!(said.contains("Noise floor"), "{said}");
}

#[test]
fn configuration_that_needs_no_change_gets_no_advice() {
    let healthy = CONF
        .replace("HostnameLookups On\n", "")
        .replace("PerlModule POSIX", "PerlModule POSIX Shop::Heavy");
    let folder = unserved(&healthy);
    let output = doctor(&["-f", "httpd.conf"], folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("\nnothing to advise\n"), "{text}");
    assert!(
        text.contains("  name lookups: the server looks up no client's name"),
        "{text}"
    );
}

#[test]
fn module_for_debugging_is_measured_in_the_site_s_perl() {
    let watch = "package Devel::Watch;\nBEGIN { $^P |= 2; $DB::single = 1 }\nsub DB::DB { $DB::count++ }\n1;\n";
    let conf = CONF.replace("PerlModule POSIX", "PerlSwitches -MDevel::Watch");
    let folder = unserved(&conf);
    std::fs::create_dir(folder.path().join("lib/Devel")).expect("made");
    std::fs::write(folder.path().join("lib/Devel/Watch.pm"), watch).expect("written");
    let report = json(&doctor(&["-f", "httpd.conf", "--json"], folder.path()));
    let found = advice(&report, "debugging").expect("each statement calls DB::DB");
    let change = change_of(&found[0]);
    assert_eq!((&change["line"], &change["new"]), (&4.into(), &"".into()));
    let slowing = found[0]["figures"][0]["value"].as_f64();
    assert!(slowing > Some(1.1), "{slowing:?}");
}

/// A page that waits and grows, and one that is well.
const SICK: &str = "our @seen;\nsub keep { push @seen, 'x' x (500 + (@seen & 1)) }\nkeep();\n\
                    require Math::BigFloat;\nsub wait_here { select undef, undef, undef, 0.05 }\n\
                    wait_here() if $ENV{QUERY_STRING} eq 'slow';\nprint 'well ' x 1000;";

fn server() -> Server {
    Server::builder()
        .file("scripts/sick.pl", &plain(SICK))
        .conf("ErrorLog @ROOT@/logs/error.log\nLogLevel debug\n")
        .conf(&workers(1))
        .ladder()
        .start()
}

/// Clients that request a page until they are ended.
struct Visitors(Child);

impl Visitors {
    fn of(server: &Server, path: &str) -> Visitors {
        let url = format!("http://{}{path}", server.address);
        let mut bench = Command::new(binary::mehari());
        bench.args(["bench", "-c", "2", "-d", "10m", &url]);
        bench.stdout(Stdio::null()).stderr(Stdio::null());
        let child = bench.spawn().expect("mehari can be run");
        Visitors(child)
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn url_of_a_running_server_gets_its_line_its_modules_and_its_bytes() {
    let server = server();
    let url = format!("http://{}/registry/sick.pl?slow", server.address);
    let control = server.site.path("control").display().to_string();
    let words = ["--control", &control, "--json", "-d", "8s", &url];
    let report = json(&doctor(&words, server.site.root()));
    let script = server.site.path("scripts/sick.pl").display().to_string();
    let slow = advice(&report, "slow pages").expect("the page waits");
    let change = change_of(&slow[0]);
    assert_eq!(change["file"], script.as_str(), "{slow:?}");
    let line = line_of(&server, "sub wait_here");
    assert_eq!(change["line"], line, "{slow:?}");
    let grown = advice(&report, "growing workers").expect("the page keeps 500 bytes");
    let change = change_of(&grown[0]);
    assert_eq!(change["line"], line_of(&server, "push @seen"), "{grown:?}");
    let modules = advice(&report, "modules").expect("a worker has loaded Math::BigFloat");
    let added: Vec<&Value> = modules
        .iter()
        .map(|advice| &change_of(advice)["new"])
        .collect();
    assert!(
        added.contains(&&"PerlModule Math::BigFloat".into()),
        "{modules:?}"
    );
    let coded = advice(&report, "compression").expect("5000 equal bytes");
    let new = change_of(&coded[0])["new"].as_str().expect("a line");
    assert_eq!(new, "AddOutputFilterByType DEFLATE text/plain");
    let sizes = &coded[0]["figures"];
    assert!(
        sizes[0]["value"].as_f64() > sizes[1]["value"].as_f64(),
        "{sizes}"
    );
    let rungs = advice(&report, "rungs");
    let told = format!("{rungs:?}");
    assert!(
        told.contains("registry") && told.contains("perlrun"),
        "{told}"
    );
}

#[test]
fn requests_of_others_are_enough_to_name_the_slow_page() {
    let server = server();
    let visitors = Visitors::of(&server, "/registry/sick.pl?slow");
    let slow = "/registry/sick.pl?slow";
    server.send(&Request::get(slow)).expect(200);
    let control = server.site.path("control").display().to_string();
    let report = json(&doctor(
        &["--control", &control, "--json", "-d", "8s"],
        server.site.root(),
    ));
    drop(visitors);
    let slow = advice(&report, "slow pages").expect("the page waits");
    assert_eq!(
        change_of(&slow[0])["line"],
        line_of(&server, "sub wait_here"),
        "{slow:?}"
    );
    // More workers are advised only where this machine's cores are idle.
    match advice(&report, "workers") {
        Ok(waits) => {
            let new = change_of(&waits[0])["new"].as_str().unwrap_or_default();
            assert!(new.starts_with("MaxRequestWorkers "), "{waits:?}");
        }
        Err(said) => assert!(said.contains("the cores are the limit"), "{said}"),
    }
}

fn line_of(server: &Server, words: &str) -> u64 {
    let text = server.site.read("scripts/sick.pl");
    let line = text.lines().position(|line| line.contains(words));
    line.map_or(0, |line| line as u64 + 1)
}

#[test]
fn wrong_words_and_missing_servers_get_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.conf"), "HostnameLookup On\n").expect("written");
    for (words, status, expected) in [
        (
            &["-f", "missing.conf"][..],
            1,
            "missing.conf: cannot be read: ",
        ),
        (&["-f", "bad.conf"], 1, "did you mean `HostnameLookups`?"),
        (&["127.0.0.1:80/"], 2, "expected http://HOST[:PORT]/PATH"),
        (&["http://"], 2, "expected http://HOST[:PORT]/PATH"),
        (&["--rounds", "1"], 2, "expected 6 to 100"),
        (&["-D", "X"], 2, "-f <CONF>"),
        (&["--contro", "x"], 2, "'--control'"),
        (&["--control", "no.sock"], 1, "no server answers at no.sock"),
    ] {
        let output = doctor(words, folder.path());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.starts_with("mehari doctor: "), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
    }
}

#[test]
fn url_of_another_server_is_refused_in_one_line() {
    let server = server();
    let other = Server::builder()
        .file("htdocs/a.txt", "a")
        .dir("htdocs")
        .start();
    let control = server.site.path("control").display().to_string();
    let url = format!("http://{}/a.txt", other.address);
    let output = doctor(
        &["--control", &control, "-d", "1s", &url],
        server.site.root(),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("is this the address of the server at the control socket?"),
        "{said}"
    );
}
