//! Tests the store of Mehari::State: all workers use Apache::ASP's sessions in it, across kills,
//! reloads and restarts.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{eventually, needs, processes, Redis, Request, Rung, Server, PATIENCE};
use rustix::process::Signal;

const SITE: &str = "\
PerlModule Apache::ASP
<Location /asp>
    SetHandler perl-script
    PerlHandler Apache::ASP
    PerlSetVar Global @ROOT@/htdocs/asp
    PerlSetVar StateDir @ROOT@/state
    PerlSetVar StateDB Mehari::State
</Location>
";

const COUNT: &str = "\
<% $Session->{n}++; $Session->{seen} = { %{$Session->{seen} || {}}, $Session->{n} => 1 }; $Application->Lock; $Application->{n}++; $Application->UnLock; %>\
session <%= $Session->{n} %> of <%= scalar keys %{$Session->{seen} || {}} %> in all <%= $Application->{n} %> by <%= $$ %>.";

fn server() -> Server {
    Server::builder()
        .file("htdocs/asp/count.asp", COUNT)
        .file("htdocs/asp/global.asa", "")
        .conf(&workers(3))
        .conf(SITE)
        .start()
}

/// Sends a first request and returns the session's cookie.
fn begin(server: &Server) -> String {
    let answer = server.get("/asp/count.asp");
    let text = answer.expect(200);
    assert!(
        text.starts_with("session 1 "),
        "{text}\n{}",
        server.log.text()
    );
    let cookie = answer.field("Set-Cookie").expect("a session");
    cookie.split(';').next().unwrap_or_default().to_string()
}

fn again(server: &Server, cookie: &str) -> String {
    let request = Request::get("/asp/count.asp").field("Cookie", cookie);
    server.send(&request).expect(200)
}

/// Checks that the session's next page begins with `expected`.
#[track_caller]
fn goes_on(server: &Server, cookie: &str, expected: &str) {
    let text = again(server, cookie);
    assert!(text.starts_with(expected), "{text}");
}

/// Returns the number after `word` in a page.
fn number(text: &str, word: &str) -> u32 {
    let mut words = text.split_whitespace().skip_while(|&each| each != word);
    words.nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn session_of_apache_asp_lives_through_kill_reload_and_other_workers() {
    let server = server();
    let cookie = begin(&server);
    goes_on(&server, &cookie, "session 2 ");
    let killed = server.workers();
    for worker in &killed {
        processes::signal(*worker, Signal::Kill);
    }
    let is_fresh = |workers: &[_]| workers.iter().all(|worker| !killed.contains(worker));
    let fresh = eventually(PATIENCE, || {
        let workers = server.workers();
        workers.len() == 3 && is_fresh(&workers)
    });
    assert!(fresh, "{}", server.log.text());
    goes_on(&server, &cookie, "session 3 of 3 ");
    assert!(server.control(&["reload"]).status.success());
    goes_on(&server, &cookie, "session 4 of 4 ");
    let files = std::fs::read_dir(server.site.path("state")).expect("the folder of the state");
    let mut names: Vec<_> = files.flatten().map(|file| file.file_name()).collect();
    names.sort();
    assert_eq!(names, ["mehari.state", "mehari.state.locks"]);
}

#[test]
fn updates_under_the_application_lock_are_all_counted() {
    let server = server();
    let cookie = begin(&server);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..25 {
                    server.get("/asp/count.asp").expect(200);
                }
            });
        }
    });
    assert_eq!(number(&again(&server, &cookie), "all"), 152);
}

const PART: &str = "\
use Mehari::Cache;
my $cache = Mehari::Cache->new(folder => \"$ENV{DOCUMENT_ROOT}/..\", size => '1M');
print $cache->compute('part', ttl => 600, sub { \"made by $$\" });
";

#[test]
fn cached_value_made_on_one_rung_is_used_on_every_other() {
    let server = Server::builder()
        .file("scripts/part.pl", &plain(PART))
        .ladder()
        .conf(&workers(2))
        .start();
    // On the rung `cgi` a program finds Mehari's modules only if the environment says where they
    // are: see docs/reference/state.md.
    let rungs = Rung::ALL.into_iter().filter(|&rung| rung != Rung::Cgi);
    let parts: Vec<_> = rungs
        .map(|rung| server.get(&rung.url("part.pl")).expect(200))
        .collect();
    assert!(parts[0].starts_with("made by "), "{parts:?}");
    assert!(parts.iter().all(|part| part == &parts[0]), "{parts:?}");
}

#[test]
fn sessions_may_be_in_redis() {
    needs!("redis-server");
    let redis = Redis::start();
    let store = format!(
        "PerlSetVar StateStore unix://{}\n</Location>",
        redis.socket().display()
    );
    let server = Server::builder()
        .file("htdocs/asp/count.asp", COUNT)
        .file("htdocs/asp/global.asa", "")
        .conf(&workers(3))
        .conf(&SITE.replace("</Location>", &store))
        .start();
    let cookie = begin(&server);
    for run in 2..6 {
        goes_on(
            &server,
            &cookie,
            &format!("session {run} of {run} in all {run} by "),
        );
    }
    let file = server.site.path("state/mehari.state");
    assert!(!file.exists(), "nothing is in {}", file.display());
}
