//! Tests `mehari inspect` and the console's page of it: what it shows of a Perl process, that the
//! process goes on as before, and what it says when there is nothing to show.

use mehari_harness::scripts::{is_well, plain, simple, workers, UNTIL_LET_GO};
use mehari_harness::{binary, eventually, needs, processes, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Child, Command, Stdio};

/// A module with a closure, a known sub for each view, hostile names, and a variable whose class
/// has an operator that dies.
const SHOP: &str = r#"package Shop;
our $VERSION = '1.5';
our %stock = map { $_ => "item $_" } 1 .. 100;
my $secret = 'twelve bytes';
sub price {
    my ($of) = @_;
    return length($secret) + $of;
}
{ no strict 'refs'; *{"Shop::<img src=x>\e[31m"} = sub { 1 } }
sub DESTROY { warn "destroyed in $$\n" }
our $object = bless {};
{ package Shop::Odd; use overload bool => sub { die 'asked' } }
our $odd = 7;
bless \$odd, 'Shop::Odd';
END { warn "end block in $$\n" }
1;
"#;

const STARTUP: &str = r#"use Apache2::Status ();
Apache2::Status->menu_item('orders', 'Orders <b>', sub { ["<p>3 &lt; 4\e[2J</p><script>bad()</script>"] });
require Shop;
1;
"#;

fn server(count: u32) -> Server {
    simple(count)
        .conf("PerlSwitches -I@ROOT@/lib\nPerlRequire @ROOT@/startup.pl\nAlias /other/ @ROOT@/scripts/\n")
        .conf("<Location /other/>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nOptions +ExecCGI\nRequire all granted\n</Location>\n")
        .file("lib/Shop.pm", SHOP)
        .file("startup.pl", STARTUP)
        .file("scripts/waits.pl", &plain("print wait, ' ', $main::children // 'none'; $SIG{CHLD} = sub { $main::children++ };"))
        .file("scripts/stays.pl", &plain(UNTIL_LET_GO))
        .start()
}

/// Runs `mehari inspect` and returns its answer.
#[track_caller]
fn inspect(server: &Server, words: &[&str]) -> Value {
    let output = server.control(&[&["inspect", "--json"], words].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {output:?}"))
}

/// Runs `mehari inspect`, which must fail, and returns its one line.
#[track_caller]
fn refusal(server: &Server, words: &[&str]) -> String {
    let output = server.control(&[&["inspect"], words].concat());
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{words:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{words:?}: {text}");
    text.trim_start_matches("mehari inspect: ")
        .trim()
        .to_owned()
}

#[track_caller]
fn row<'a>(answer: &'a Value, first: &str) -> &'a Value {
    let rows = answer["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row[0] == first);
    found.unwrap_or_else(|| panic!("no {first}: {answer:#}"))
}

#[test]
fn a_module_is_shown_with_its_version_file_load_time_and_bytes() {
    let server = server(1);
    for whom in ["any", "zygote"] {
        let modules = inspect(&server, &["modules", "--worker", whom]);
        let shop = row(&modules, "Shop");
        assert_eq!(shop[1], "1.5");
        let file = server.site.path("lib/Shop.pm");
        assert_eq!(shop[2].as_str(), file.to_str());
        assert!(shop[3].as_f64() > Some(0.0), "{shop}");
        // A hundred strings of at least six bytes, each with its head and key.
        assert!(shop[4].as_u64() > Some(100 * 60), "{shop}");
        // The module that answers is not among what the process has loaded.
        assert!(!modules["rows"].to_string().contains("Mehari::Inspect"));
    }
}

#[test]
fn a_script_under_two_urls_stands_once_with_both() {
    let server = server(1);
    server.get(&Rung::Registry.url("hello.pl")).expect(200);
    server.get("/other/hello.pl").expect(200);
    let scripts = inspect(&server, &["scripts"]);
    let rows = scripts["rows"].as_array().expect("rows");
    let file = server.site.path("scripts/hello.pl");
    let of_file: Vec<_> = rows
        .iter()
        .filter(|row| row[0].as_str() == file.to_str())
        .collect();
    assert_eq!(of_file.len(), 1, "{scripts:#}");
    assert_eq!(of_file[0][1], "/other/hello.pl /registry/hello.pl");
    let inode = of_file[0][2].as_str().expect("an inode");
    use std::os::unix::fs::MetadataExt;
    let number = std::fs::metadata(&file).expect("the file").ino();
    assert!(inode.ends_with(&format!(":{number}")), "{inode}");
}

#[test]
fn code_is_shown_as_source_ops_lexicals_and_bytes_of_lines() {
    let server = server(1);
    let source = inspect(&server, &["source", "Shop::price"]);
    let text = source["text"].as_str().expect("a text");
    assert!(text.contains("return length($secret) + $of;"), "{text}");
    let ops = inspect(&server, &["ops", "Shop::price"]);
    assert!(
        ops["text"]
            .as_str()
            .is_some_and(|it| it.contains("leavesub") && it.contains("add")),
        "{ops}"
    );
    let lexicals = inspect(&server, &["lexicals", "Shop::price"]);
    assert_eq!(row(&lexicals, "$of")[1], "my");
    let secret = row(&lexicals, "$secret");
    assert_eq!(
        (&secret[1], &secret[2]),
        (&"captured".into(), &"twelve bytes".into())
    );
    let lines = inspect(&server, &["sizes", "Shop::price"]);
    let file = server.site.path("lib/Shop.pm");
    let of_line = row(&lines, &format!("{}:7", file.display()));
    assert!(
        of_line[1].as_u64() >= Some(4) && of_line[2].as_u64() > Some(100),
        "{of_line}"
    );
    let subs = inspect(&server, &["sizes", "Shop"]);
    let price = row(&subs, "Shop::price");
    let sum: u64 = lines["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|it| it[2].as_u64())
        .sum();
    assert_eq!(price[3].as_u64(), Some(sum));
    let packages = inspect(&server, &["sizes"]);
    assert_eq!(row(&packages, "Shop")[1], 3);
    let symbols = inspect(&server, &["symbols", "Shop"]);
    assert_eq!(row(&symbols, "%Shop::stock")[1], "hash");
}

#[test]
fn the_process_is_shown_with_its_environment_limits_and_descriptors() {
    let server = server(1);
    let environment = inspect(&server, &["environment"]);
    let rows = environment["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row[0] == "%ENV" && row[1] == "PATH"));
    assert!(rows
        .iter()
        .any(|row| row[0] == "@INC" && row[2].as_str() == server.site.path("lib").to_str()));
    let limits = inspect(&server, &["limits"]);
    assert_eq!(row(&limits, "Max open files")[3], "files");
    let descriptors = inspect(&server, &["descriptors"]);
    let kinds = descriptors["rows"].to_string();
    assert!(
        kinds.contains("mehari-mailbox") && kinds.contains("socket"),
        "{kinds}"
    );
}

#[test]
fn database_handles_are_shown_with_their_statements() {
    if !needs::packages(&["libdbi-perl"]) {
        return;
    }
    let opens = "use DBI; our $h = DBI->connect('dbi:ExampleP:password=hidden', 'owner', ''); \
                 our $s = $h->prepare('SELECT name FROM /'); print 'open';";
    let server = Server::builder()
        .ladder()
        .conf(&workers(1))
        .file("scripts/opens.pl", &plain(opens))
        .start();
    server.get(&Rung::Registry.url("opens.pl")).expect(200);
    let handles = inspect(&server, &["databases"]);
    let database = row(&handles, "database");
    assert_eq!(database[3], "owner");
    assert!(!handles.to_string().contains("hidden"), "{handles}");
    assert_eq!(row(&handles, "statement")[6], "SELECT name FROM /");
}

#[test]
fn menu_items_of_applications_are_shown_as_text() {
    let server = server(1);
    assert_eq!(row(&inspect(&server, &["menu"]), "orders")[1], "Orders <b>");
    let output = server.control(&["inspect", "menu", "orders"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("3 < 4\\u{1b}[2J"), "{text}");
    assert!(
        !text.contains('\x1b') && !text.contains("<script>"),
        "{text}"
    );
    let symbols = server.control(&["inspect", "symbols", "Shop"]);
    let text = String::from_utf8(symbols.stdout).expect("UTF-8");
    assert!(text.contains("<img src=x>\\u{1b}[31m"), "{text}");
}

#[test]
fn an_inspected_worker_goes_on_as_if_nothing_had_happened() {
    let server = server(1);
    let before = server.workers();
    server.get(&Rung::Registry.url("waits.pl")).expect(200);
    for _ in 0..3 {
        let answer = inspect(&server, &["modules"]);
        assert_eq!(answer["pid"], before[0]);
    }
    let answer = server.get(&Rung::Registry.url("waits.pl"));
    assert_eq!(
        answer.expect(200),
        "-1 none",
        "the twins were children of the worker"
    );
    assert_eq!(server.workers(), before);
    let log = server.log.text();
    assert!(
        !log.contains("destroyed in") && !log.contains("end block in"),
        "{log}"
    );
}

#[test]
fn a_process_that_serves_one_script_again_and_again_lets_its_worker_be_inspected() {
    let server = server(1);
    server.get(&Rung::Rewind.url("hello.pl")).expect(200);
    server.get(&Rung::Rewind.url("hello.pl")).expect(200);
    row(&inspect(&server, &["modules"]), "Shop");
    server.get(&Rung::Rewind.url("hello.pl")).expect(200);
    is_well(&server);
}

#[test]
fn a_worker_that_dies_before_it_is_inspected_is_named() {
    let server = server(1);
    let pid = server.workers()[0];
    let mut connection = server.connect();
    let stays = Rung::Registry.url("stays.pl");
    connection.write(&Request::get(&stays).bytes());
    assert!(
        eventually(PATIENCE, || server.busy() == 1),
        "no busy worker"
    );
    // One of two orders waits, and the other is refused at once.
    let mut asking: Vec<Child> = (0..2).map(|_| ask_for(&server, pid)).collect();
    let is_refused = |it: &mut Child| it.try_wait().expect("a child").is_some();
    let one_is_refused = eventually(PATIENCE, || asking.iter_mut().any(is_refused));
    assert!(one_is_refused, "both orders wait");
    processes::signal(pid, Signal::Kill);
    let outputs = asking
        .into_iter()
        .map(|it| it.wait_with_output().expect("an end"));
    let mut lines: Vec<String> = outputs
        .map(|it| String::from_utf8_lossy(&it.stderr).trim().to_owned())
        .collect();
    lines.sort();
    let expected = [
        format!("mehari inspect: another inspection of worker {pid} waits already"),
        format!("mehari inspect: process {pid} ended before it could be inspected"),
    ];
    assert_eq!(lines, expected);
    connection
        .read_answer("GET")
        .expect("an answer")
        .expect(502);
}

fn ask_for(server: &Server, pid: i32) -> Child {
    Command::new(binary::mehari())
        .args(["inspect", "modules", "--worker", &pid.to_string()])
        .arg("--control")
        .arg(server.site.path("control"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("mehari can be run")
}

#[test]
fn what_does_not_exist_is_refused_in_one_line() {
    let server = server(1);
    for (words, expected) in [
        (
            &["symbols", "Nope"][..],
            "the process has no package `Nope`",
        ),
        (
            &["source", "Shop::nope"],
            "the package `Shop` has no sub `nope`",
        ),
        (&["ops", "Nope::nope"], "the process has no package `Nope`"),
        (
            &["source", "UNIVERSAL::isa"],
            "`UNIVERSAL::isa` is written in C (XS), so it has no Perl code",
        ),
        (&["source", "a b"], "expected the name of a sub, not `a b`"),
        (&["source"], "`source` needs a name: expected `source SUB`"),
        (&["limits", "x"], "`limits` takes no name"),
        (
            &["menu", "nope"],
            "no application has added the menu item `nope`",
        ),
        (
            &["modules", "--worker", "x"],
            "expected any, zygote or the number of a process, not `x`",
        ),
        (
            &["modules", "--worker", "1"],
            "expected the number of a worker or a zygote of this server, not 1",
        ),
        (
            &["limits", "--worker", "1"],
            "expected the number of a worker or a zygote of this server, not 1",
        ),
    ] {
        assert_eq!(refusal(&server, words), expected, "{words:?}");
    }
    is_well(&server);
}
