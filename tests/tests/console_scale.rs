//! Tests the console's pages in Chromium with 1,000 workers and 10,000 places, on screens of all
//! widths, and with a keyboard. A made-up server answers the console's questions.

use mehari_harness::{binary, needs, Browser, View};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

const WORKERS: u32 = 1_000;
const PLACES: u32 = 10_000;
/// No process has a number above the kernel's limit.
const FIRST_PID: u32 = 1 << 30;

const PAGES: [&str; 9] = [
    "now",
    "where",
    "memory",
    "errors",
    "back-ends",
    "inside",
    "profiles",
    "machine",
    "history",
];

fn watch(workers: u32) -> Value {
    let worker = |number: u32| {
        let is_busy = number.is_multiple_of(3);
        let request = json!({ "method": "GET", "client": "192.0.2.7",
            "target": format!("/shop/list.pl?item={number}") });
        json!({ "pid": FIRST_PID + number, "team": 0, "generation": 1, "held": u32::from(is_busy),
            "state": if is_busy { "busy" } else { "idle" }, "request_id": number,
            "request": if is_busy { request } else { Value::Null }, "running_ms": number,
            "last_us": 700 + number, "served": number * 7, "limit": null, "age_s": 60 + number,
            "memory": null })
    };
    let watched = json!({ "counted_ms": 60_000, "requests": 5, "bytes": 50,
        "classes": [0, 5, 0, 0, 0], "latency_us": [[127, 5]], "queue_wait_us": [[3, 5]] });
    let front = json!({ "open_connections": 3, "active_requests": 1, "connections": 9,
        "requests": 5, "bytes": 50, "cache": { "keys": 0, "bytes": 0, "hits": 1, "misses": 3,
        "stale": 0, "revalidated": 0 } });
    let pool = json!({ "generation": 1, "plan": { "reasoning": "made up" },
        "teams": [{ "host": "" }], "limit": workers, "queue": 0, "active_requests": 1,
        "busy": workers / 3, "idle": workers - workers / 3, "memory": { "formula": 0, "pss": 0 },
        "workers": (0..workers).map(worker).collect::<Vec<_>>() });
    json!({ "ok": true, "pid": FIRST_PID, "front": front, "pool": pool, "back_ends": [],
        "watched": watched })
}

fn places(count: u32) -> Value {
    let place = |number: u32| {
        json!({ "host": "", "path": format!("/shop/article/{number}/of/a-longer-name.html"),
            "requests": number + 1, "bytes": number * 100, "client_errors": 0,
            "server_errors": number % 2, "cache_hits": 0, "took_us": number * 11,
            "queued_us": number, "p50_us": 900, "p99_us": 4_000 })
    };
    json!({ "ok": true, "places": (0..count).map(place).collect::<Vec<_>>() })
}

/// The command `mehari console` beside a made-up server.
struct MadeUp {
    console: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl MadeUp {
    fn start() -> MadeUp {
        LazyLock::force(&WATCH);
        LazyLock::force(&PLACES_TOLD);
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("control");
        let listener = UnixListener::bind(&socket).expect("a socket");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream);
            }
        });
        let (console, url) = console(&socket);
        MadeUp {
            console,
            url,
            _folder: folder,
        }
    }
}

impl Drop for MadeUp {
    fn drop(&mut self) {
        let _ = self.console.kill();
        let _ = self.console.wait();
    }
}

fn answer(mut stream: UnixStream) {
    let mut line = String::new();
    let copy = stream.try_clone().expect("a copy of a descriptor");
    let _ = BufReader::new(copy).read_line(&mut line);
    let now = 1_000_000_u64;
    let told = match line.trim_end() {
        "watch" => return send(&mut stream, &WATCH),
        "places" => return send(&mut stream, &PLACES_TOLD),
        "errors" => errors(now),
        "history" => history(now),
        "reports" => reports(now),
        _ => json!({ "ok": true, "pid": FIRST_PID, "title": "Made up",
            "columns": [{ "name": "Name" }], "rows": [["one"], ["two"]] }),
    };
    send(&mut stream, &told.to_string());
}

/// The long answers are written once, because a debug build takes longer to write them than the
/// page takes to load.
static WATCH: LazyLock<String> = LazyLock::new(|| watch(WORKERS).to_string());
static PLACES_TOLD: LazyLock<String> = LazyLock::new(|| places(PLACES).to_string());

fn send(stream: &mut UnixStream, answer: &str) {
    // The console may have ended already.
    let _ = stream.write_all(answer.as_bytes());
}

fn errors(now: u64) -> Value {
    let error = json!({ "level": "error", "place": "/srv/a.pl:7", "message": "<b>no</b>",
        "count": 3, "first": now, "last": now, "request": "GET /a.pl", "request_id": 5,
        "worker": 7 });
    json!({ "ok": true, "errors": [error] })
}

fn reports(now: u64) -> Value {
    let report = json!({ "id": 1, "at": now, "about": "http://127.0.0.1:8080/shop?item=7",
        "profiles": 3, "folder": "/home/someone/profiles/of/the/shop/2026-05-01/shop-profile" });
    json!({ "ok": true, "reports": [report] })
}

fn history(now: u64) -> Value {
    let point = |minute: u64| {
        json!({ "at": now + 60 * minute, "requests": minute, "bytes": 0, "server_errors": 0,
            "connections": 1, "busy": 0, "idle": 2, "queue": 0, "memory": 1_048_576 })
    };
    json!({ "ok": true, "history": [point(0), point(1)] })
}

fn console(control: &Path) -> (Child, String) {
    let mut command = Command::new(binary::mehari());
    command
        .args(["console", "--no-browser", "--control"])
        .arg(control);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("mehari can be run");
    let mut line = String::new();
    let out = child.stdout.take().expect("it was piped");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let url = line
        .trim()
        .strip_prefix("mehari console: ")
        .expect("an address");
    (child, url.to_owned())
}

fn view(width: u32) -> View {
    let height = 900;
    let is_dark = false;
    View {
        width,
        height,
        is_dark,
    }
}

/// Opens the console and waits for the first figures.
fn shown(width: u32) -> (MadeUp, Browser) {
    let console = MadeUp::start();
    let browser = Browser::start();
    browser.view(view(width));
    browser.go(&console.url);
    browser.await_true("document.querySelectorAll('.tile').length > 0");
    (console, browser)
}

fn go_to(browser: &Browser, page: &str) {
    browser.evaluate(&format!("location.hash = '{page}'"));
    browser.await_true(&format!(
        "document.querySelector('nav a[aria-current]').hash === '#{page}'"
    ));
}

#[test]
fn document_holds_only_the_rows_in_sight_of_a_thousand_workers_and_ten_thousand_places() {
    needs!("chromium");
    let (_console, browser) = shown(1280);
    let count = |selector: &str| {
        let count = browser.evaluate(&format!("document.querySelectorAll('{selector}').length"));
        count.as_u64().expect("a number")
    };
    assert_eq!(count(".tile"), u64::from(WORKERS));
    assert!(count("tbody tr") < 100, "{}", count("tbody tr"));
    go_to(&browser, "where");
    let rows = PLACES + 1;
    browser.await_true(&format!(
        "document.querySelector('table')?.ariaRowCount === '{rows}'"
    ));
    assert!(count("tbody tr") < 100, "{}", count("tbody tr"));
    // The table is sorted by time downwards, so the place without any is the last.
    let scroll = "document.querySelector('.scroll')";
    browser.evaluate(&format!("{scroll}.scrollTop = 1e9"));
    browser.await_true("document.querySelector('tbody').innerText.includes('/article/0/')");
    let last = browser.evaluate("Math.max(...[...document.querySelectorAll('tr[aria-rowindex]')].map(row => row.ariaRowIndex))");
    assert_eq!(last, rows);
    assert!(count("tbody tr") < 100, "{}", count("tbody tr"));
    browser.evaluate("const only = document.querySelector('input[type=search]'); only.value = 'ARTICLE/9999/'; only.dispatchEvent(new Event('input'))");
    browser.await_true("document.querySelectorAll('tr[aria-rowindex]').length === 1");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn rows_that_stay_in_sight_are_kept_while_scrolling() {
    needs!("chromium");
    let (_console, browser) = shown(1280);
    go_to(&browser, "where");
    browser.await_true("document.querySelectorAll('tr[aria-rowindex]').length > 20");
    let kept = browser.evaluate(
        "(async () => {
            const scroll = document.querySelector('.scroll');
            const before = new Set(document.querySelectorAll('tr[aria-rowindex]'));
            scroll.scrollTop = 64;
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const after = [...document.querySelectorAll('tr[aria-rowindex]')];
            return after.filter(row => !before.has(row)).length;
        })()",
    );
    assert!(
        kept.as_u64() <= Some(2),
        "{kept} rows are new after two rows of scrolling"
    );
}

#[test]
fn no_page_is_wider_than_the_screen() {
    needs!("chromium");
    let (_console, browser) = shown(1280);
    for width in [320, 375, 768, 1280, 3840] {
        for is_dark in [false, true] {
            let is_same = View {
                is_dark,
                ..view(width)
            };
            browser.view(is_same);
            for page in PAGES {
                go_to(&browser, page);
                let over = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
                assert!(over.as_i64() <= Some(0), "{page} at {width}: {over} pixels");
            }
        }
    }
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn tiles_are_reached_and_opened_by_the_keyboard() {
    needs!("chromium");
    let (_console, browser) = shown(1280);
    let focused = || browser.evaluate("document.activeElement.title || document.activeElement.id");
    let is_tile = || browser.evaluate("document.activeElement.classList.contains('tile')") == true;
    for _ in 0..60 {
        if is_tile() {
            break;
        }
        browser.press("Tab");
    }
    assert!(is_tile(), "{}", focused());
    let first = focused();
    browser.press("ArrowRight");
    assert_ne!(focused(), first);
    browser.press("End");
    let last = FIRST_PID + WORKERS - 1;
    assert!(
        focused().to_string().contains(&last.to_string()),
        "{}",
        focused()
    );
    browser.press("Enter");
    browser.await_true("document.getElementById('worker').open");
    browser.press("Escape");
    browser.await_true("!document.getElementById('worker').open");
    assert!(is_tile(), "{}", focused());
    browser.press("Tab");
    assert!(!is_tile(), "one key leaves the tiles");
}

#[test]
fn first_load_is_small() {
    needs!("chromium");
    let (_console, browser) = shown(1280);
    let received = browser.events("Network.loadingFinished");
    let bytes: f64 = received
        .iter()
        .filter_map(|it| it["encodedDataLength"].as_f64())
        .sum();
    assert!(!received.is_empty() && bytes < 150_000.0, "{bytes} bytes");
}

/// Prints how long a load takes, and what a frame of scrolling costs the page.
#[test]
#[ignore = "a measurement: cargo test -p mehari-tests --test console_scale -- --ignored --nocapture"]
fn measure_load_and_scrolling() {
    needs!("chromium");
    let (console, browser) = shown(1280);
    let mut loads: Vec<f64> = (0..15).map(|_| load(&browser, &console.url)).collect();
    loads.sort_by(f64::total_cmp);
    println!(
        "load until the first figures are drawn: {:.0} ms (of 15: {:.0} to {:.0})",
        loads[7], loads[0], loads[14]
    );
    for (page, container) in [("where", ".scroll"), ("now", ".scroll"), ("now", "html")] {
        go_to(&browser, page);
        browser.await_true("document.querySelectorAll('tr[aria-rowindex]').length > 20");
        let told = browser.evaluate(&SCROLLING.replace("CONTAINER", container));
        println!("{page} {container}: {told}");
    }
}

/// Prints what refreshes of an open page cost the console's process.
#[test]
#[ignore = "a measurement: cargo test -p mehari-tests --test console_scale -- --ignored --nocapture"]
fn measure_refreshes() {
    needs!("chromium");
    let (console, browser) = shown(1280);
    let looks = || {
        let names = "performance.getEntriesByType('resource').map(it => it.name)";
        let count = browser.evaluate(&format!("{names}.filter(it => it.endsWith('/now')).length"));
        count.as_u64().expect("a number")
    };
    let before = (looks(), processor_ms(console.console.id()));
    let time = std::time::Duration::from_secs(30);
    std::thread::sleep(time);
    let count = looks() - before.0;
    let spent = processor_ms(console.console.id()) - before.1;
    let share = 100.0 * spent / time.as_millis() as f64;
    println!("{count} refreshes in 30 s: {spent} ms, {share:.2} % of a core");
}

/// The processor time of a process and its threads in milliseconds.
fn processor_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(") ").expect("a name");
    let ticks = rest.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|it| it.parse::<u64>().ok()).sum();
    ticks as f64 * 1000.0 / rustix::param::clock_ticks_per_second() as f64
}

/// Returns the milliseconds from the start of a load to the first drawn tiles.
fn load(browser: &Browser, url: &str) -> f64 {
    browser.go("about:blank");
    browser.go(url);
    browser.await_true("document.querySelectorAll('.tile').length > 0");
    let at = browser.evaluate("performance.getEntriesByName('first figures')[0]?.startTime");
    at.as_f64().expect("the page notes its first figures")
}

/// Scrolls for 300 frames. A frame's work is the handler's and the layout's, without painting.
const SCROLLING: &str = "(async () => {
    const box = document.querySelector('CONTAINER');
    const frame = () => new Promise(done => requestAnimationFrame(done));
    const work = [], gaps = [];
    let last = await frame();
    for (let step = 0; step < 300; step += 1) {
        const began = performance.now();
        box.scrollTop += 45;
        box.dispatchEvent(new Event('scroll'));
        box.getBoundingClientRect();
        work.push(performance.now() - began);
        const now = await frame();
        gaps.push(now - last);
        last = now;
    }
    const sorted = list => [...list].sort((a, b) => a - b);
    const at = (list, share) => sorted(list)[Math.floor(share * (list.length - 1))].toFixed(2);
    const frames = 1000 * gaps.length / gaps.reduce((sum, one) => sum + one, 0);
    return `frames a second ${frames.toFixed(1)}; gap p50 ${at(gaps, 0.5)} p99 ${at(gaps, 0.99)} ms; work p50 ${at(work, 0.5)} p99 ${at(work, 0.99)} ms`;
})()";
