//! Tests that axe-core finds nothing on the pages that Mehari makes: the console, the demo, the
//! documents, error pages, reports. They are examined in light and in dark colours, on a phone and
//! on a desktop.

use mehari_harness::binary::{self, workspace};
use mehari_harness::scripts::{nap, plain, simple};
use mehari_harness::{
    eventually, needs, needs_machine, Browser, Request, Rung, Server, View, PATIENCE,
};
use serde_json::Value;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

const VIEWS: [View; 4] = [
    view(375, false),
    view(375, true),
    view(1280, false),
    view(1280, true),
];

const fn view(width: u32, is_dark: bool) -> View {
    let height = 800;
    View {
        width,
        height,
        is_dark,
    }
}

/// Where `packaging/install-axe` has put axe-core.
fn axe() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| workspace().join("target"));
    target.join("axe/node_modules/axe-core/axe.min.js")
}

/// Ends the test as skipped without Chromium or axe-core. Not even `CI` makes axe-core a must,
/// because it comes from a registry that may be out of reach.
macro_rules! needs_axe {
    () => {
        needs!("chromium");
        needs_machine!(
            axe().is_file(),
            "axe-core is not there (packaging/install-axe)"
        );
    };
}

/// A browser, and what axe-core has found.
struct Examiner {
    browser: Browser,
    axe: String,
    found: Vec<String>,
    examined: usize,
}

impl Examiner {
    fn start() -> Examiner {
        Examiner {
            browser: Browser::start(),
            axe: std::fs::read_to_string(axe()).expect("axe-core"),
            found: Vec::new(),
            examined: 0,
        }
    }

    /// Opens a page and examines it in each view.
    fn page(&mut self, name: &str, url: &str, views: &[View]) {
        self.open(url);
        for view in views {
            self.look(name, *view);
        }
    }

    fn file(&mut self, name: &str, file: &Path, views: &[View]) {
        self.page(name, &format!("file://{}", file.display()), views);
    }

    fn open(&mut self, url: &str) {
        self.browser.go(url);
        self.browser.evaluate(&self.axe);
    }

    /// Examines the page that is open.
    fn look(&mut self, name: &str, view: View) {
        self.browser.view(view);
        let told = self.browser.evaluate(RUN);
        let colours = if view.is_dark { "dark" } else { "light" };
        for one in told.as_array().expect("a list") {
            let width = view.width;
            self.found.push(format!(
                "{name}, {width} {colours}: {}",
                one.as_str().unwrap_or_default()
            ));
        }
        self.examined += 1;
    }

    fn has_found_nothing(&self, least: usize) {
        assert!(
            self.examined >= least,
            "only {} examinations",
            self.examined
        );
        let count = self.found.len();
        assert!(self.found.is_empty(), "{count}:\n{}", self.found.join("\n"));
    }
}

/// All rules of axe-core run, when the page has followed the new size. Animations have ended,
/// because a colour on its way is no colour.
const RUN: &str = "(async () => {
    const frame = () => new Promise(done => requestAnimationFrame(done));
    await frame();
    await frame();
    for (const animation of document.getAnimations()) animation.finish();
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, help, nodes }) => nodes.slice(0, 3).map(
        node => `${id} (${help}): ${node.target.join(' ')}: ${node.failureSummary}`));
})()";

#[test]
fn console_has_no_fault() {
    needs_axe!();
    let rules = "<Location /console/>\nSetHandler mehari-console\nRequire local\n</Location>\n";
    let mut server = simple(3)
        .file("scripts/warns.pl", &plain("warn 'seen'; print 'ok';"))
        .conf(rules)
        .conf("<Proxy balancer://two>\nBalancerMember http://127.0.0.1:9\n</Proxy>\nProxyPass /two balancer://two\n")
        .start();
    let shows = || server.get("/console/").status == 200;
    assert!(eventually(PATIENCE, shows), "{}", server.log.text());
    // The console's process belongs to the server from now on.
    server.rebase();
    server.get("/registry/warns.pl").expect(200);
    let (_running, pid) = nap(&server, Rung::Registry, "shown");
    let report = format!(
        "exact-report {{\"about\":\"/shop\",\"profiles\":1,\"folder\":{:?}}}\n",
        server.site.path("htdocs")
    );
    let mut control = UnixStream::connect(server.site.path("control")).expect("the socket");
    control.write_all(report.as_bytes()).expect("sent");
    let mut examiner = Examiner::start();
    examiner.open(&format!("http://{}/console/", server.address));
    examiner
        .browser
        .await_true("document.querySelectorAll('.tile').length === 3");
    for page in [
        "now",
        "where",
        "memory",
        "errors",
        "back-ends",
        "inside",
        "profiles",
        "machine",
        "history",
    ] {
        examiner
            .browser
            .evaluate(&format!("location.hash = '{page}'"));
        examiner.browser.await_true(
            "document.querySelector('main tbody tr[aria-rowindex], main .chart path[d]') !== null",
        );
        VIEWS.iter().for_each(|view| examiner.look(page, *view));
    }
    examiner.browser.evaluate("location.hash = 'inside'");
    examiner
        .browser
        .await_true("document.querySelector('form select option[value=source]') !== null");
    let choose = "const [, view] = document.querySelectorAll('form select'); view.value = 'source'; \
                  view.dispatchEvent(new Event('change')); document.querySelector('form input').value = 'Mehari::Handler::resolve'; \
                  document.querySelector('form .plain').click()";
    examiner.browser.evaluate(choose);
    examiner
        .browser
        .await_true("document.querySelector('pre.source') !== null");
    VIEWS.iter().for_each(|view| examiner.look("source", *view));
    examiner.browser.evaluate("location.hash = 'now'");
    examiner
        .browser
        .await_true("document.querySelector('.tile') !== null");
    examiner.browser.evaluate(&format!(
        "[...document.querySelectorAll('.tile')].find(it => it.title.startsWith('{pid} ')).click()"
    ));
    examiner
        .browser
        .await_true("document.querySelectorAll('dialog h2').length === 4");
    VIEWS.iter().for_each(|view| examiner.look("worker", *view));
    assert_eq!(examiner.browser.errors(), Vec::<String>::new());
    examiner.has_found_nothing(40);
}

#[test]
fn demo_has_no_fault() {
    needs_axe!();
    let builder = Server::builder();
    let conf = builder.folder_of("demo").join("mehari.conf");
    let builder = builder.copied(workspace().join("demo"), "demo");
    let server = builder.args(&["-f", &conf.to_string_lossy()]).start();
    let mut examiner = Examiner::start();
    for page in [
        "/",
        "/ladder.html",
        "/psgi/",
        "/scripts/guestbook.pl",
        "/fork/page.pl",
        "/missing",
    ] {
        examiner.page(page, &format!("http://{}{page}", server.address), &VIEWS);
    }
    examiner.has_found_nothing(24);
}

#[test]
fn documents_have_no_fault() {
    needs_axe!();
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(binary::mehari());
    command.args(["docs", "-o"]).arg(folder.path());
    assert!(command
        .output()
        .expect("mehari can be run")
        .status
        .success());
    let mut pages = Vec::new();
    pages_below(folder.path(), &mut pages);
    let mut examiner = Examiner::start();
    for (number, page) in pages.iter().enumerate() {
        let name = page
            .strip_prefix(folder.path())
            .expect("below it")
            .display()
            .to_string();
        let views = match name.as_str() {
            "index.html" | "reference/bench.html" => &VIEWS[..],
            // One page on a phone in the dark, the next on a desktop in the light.
            _ => &VIEWS[1 + number % 2..][..1],
        };
        examiner.file(&name, page, views);
    }
    examiner.has_found_nothing(pages.len() + 6);
}

fn pages_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "html") {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn pages_of_the_server_itself_have_no_fault() {
    needs_axe!();
    let server = simple(2)
        .file("scripts/dies.pl", &plain("die 'planned';"))
        .file("htdocs/list/one.txt", "1")
        .conf("<Location /status>\nSetHandler server-status\n</Location>\n<Location /info>\nSetHandler server-info\n</Location>\n")
        .conf("<Location /list>\nOptions Indexes\n</Location>\n<Location /closed>\nRequire all denied\n</Location>\n")
        .start();
    let app = "sub { my ($env) = @_; die \"planned\\n\" }\n";
    let development = Server::builder()
        .file("app.psgi", app)
        .dir("app.psgi")
        .args(&["--watch"])
        .start();
    // The browser ends first, so that it leaves no connection.
    let mut examiner = Examiner::start();
    for page in [
        "/status",
        "/info",
        "/list/",
        "/missing",
        "/closed",
        "/registry/dies.pl",
    ] {
        examiner.page(page, &format!("http://{}{page}", server.address), &VIEWS);
    }
    examiner.page(
        "development page",
        &format!("http://{}/", development.address),
        &VIEWS,
    );
    examiner.has_found_nothing(28);
}

#[test]
fn reports_have_no_fault() {
    needs_axe!();
    let server = simple(2)
        .file("scripts/work.pl", &plain("sub spend { my $n = 0; $n += $_ for 1 .. 400_000; $n } spend() for 1 .. 10; print 'ok';"))
        .start();
    let url = |path: &str| format!("http://{}{path}", server.address);
    let file = |name: &str| server.site.path(name);
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (trace, compare, profile) = (
        file("trace.html"),
        file("compare.html"),
        file("profile.html"),
    );
    let hello = url("/registry/hello.pl");
    succeeds(server.control(&["trace", &hello, "-o", &text(&trace)]));
    let mut command = Command::new(binary::mehari());
    command.args([
        "compare",
        &hello,
        &url("/registry/pid.pl"),
        "-o",
        &text(&compare),
    ]);
    command.args(["-c", "2", "-n", "20", "--warm-up", "0s", "--no-ceiling"]);
    succeeds(command.output().expect("mehari can be run"));
    profile_of(&server, &text(&profile));
    let mut examiner = Examiner::start();
    for page in [&trace, &compare, &profile] {
        examiner.file(&text(page), page, &VIEWS);
    }
    examiner.has_found_nothing(12);
}

/// Writes a profile of a script that works until the profile is there.
fn profile_of(server: &Server, page: &str) {
    let profiled = || {
        let mut connection = server.connect();
        connection.write(&Request::get("/registry/work.pl").bytes());
        let output = server.control(&["profile", "-d", "1s", "-o", page]);
        output.status.success() && Path::new(page).is_file()
    };
    assert!(eventually(PATIENCE, profiled), "no profile");
}

fn succeeds(output: std::process::Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// A page with faults, to see that the examination finds some.
#[test]
fn faults_are_found() {
    needs_axe!();
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("faulty.html");
    let faulty = "<!doctype html><title>x</title><img src=a.png><p style='color:#eee;background:#fff'>pale</p>";
    std::fs::write(&page, faulty).expect("a file");
    let mut examiner = Examiner::start();
    examiner.file("faulty", &page, &VIEWS);
    for rule in ["image-alt", "color-contrast", "html-has-lang"] {
        let finds = examiner.found.iter().filter(|it| it.contains(rule));
        assert_eq!(finds.count(), VIEWS.len(), "{rule}: {:?}", examiner.found);
    }
    let value: Value = examiner.browser.evaluate("axe.version");
    assert!(value.is_string());
}
