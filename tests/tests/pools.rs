//! Tests `<PerlPool>`: applications with their own Perl, workers, user and generation beside one
//! another. Some tests need root, because only root can start a process of another user.

use mehari_harness::binary::is_open_to_others;
use mehari_harness::scripts::plain;
use mehari_harness::{
    eventually, needs, needs_machine, processes, Builder, Connection, Request, Server, PATIENCE,
};
use rustix::process::Signal;
use std::fs::{set_permissions, Permissions};
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::path::Path;

/// Users that every Debian system has: the server's, and one for each pool.
const SERVER: &str = "www-data";
const SHOP: &str = "backup";
const WIKI: &str = "list";

const ROOT_ALONE: &str = "only root can start processes of other users";
const CLOSED: &str = "the checkout lies where other users may not go";

/// A script that says which process, user and groups it has, what it can read, and what it reaches.
const WHO: &str = r#"
    open my $status, '<', '/proc/self/status' or die $!;
    print grep /^(?:Uid|Gid|Groups|CapEff|CapPrm)/, <$status>;
    print "pid $$\nparent ", getppid, "\n";
    for my $whose (qw(shop wiki root)) {
        print "$whose ", (open(my $file, '<', "@ROOT@/of-$whose") ? 'read' : "$!"), "\n";
    }
    use Socket;
    socket my $socket, PF_UNIX, SOCK_STREAM, 0 or die $!;
    print 'control ', (connect($socket, sockaddr_un('@ROOT@/control')) ? 'reached' : "$!"), "\n";
    if (my ($other) = ($ENV{QUERY_STRING} // '') =~ /(\d+)/) {
        my @open = grep { open my $file, '+<', "/proc/$other/fd/$_" } 0 .. 30;
        print "descriptors ", scalar @open, "\nmemory ",
            (open(my $memory, '<', "/proc/$other/mem") ? 'open' : "$!"), "\n",
            "signal ", (kill(TERM => $other) ? 'sent' : "$!"), "\n";
    }
    my ($bell) = grep { (readlink("/proc/self/fd/$_") // '') =~ /mehari-bell/ } 0 .. 100;
    my $file; # a shortened bell would end the front
    print 'bell ', (!defined $bell ? 'closed' : open($file, '+<', "/proc/self/fd/$bell") && truncate($file, 0) ? 'shortened' : "$!"), "\n";
"#;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn number(of: &str, user: &str) -> String {
    let output = std::process::Command::new("id").args([of, user]).output();
    let text = output.expect("id is part of every Debian system").stdout;
    String::from_utf8(text).expect("numbers").trim().to_owned()
}

fn user_number(user: &str) -> u32 {
    number("-u", user).parse().expect("a number")
}

/// Returns a location that runs the scripts of the site in a pool.
fn scripts_of(pool: &str) -> String {
    format!(
        "Alias /{pool}/ @ROOT@/scripts/\n<Location /{pool}/>\nPerlPool {pool}\n\
         SetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlSendHeader On\n\
         Options +ExecCGI\n</Location>\n"
    )
}

fn pool(name: &str, lines: &str) -> String {
    format!("<PerlPool {name}>\nStartServers 1\nMaxRequestWorkers 1\n{lines}</PerlPool>\n")
}

/// Returns a site with the pools `shop` and `wiki`, and the location `/main/` of the main server.
fn two_pools(shop: &str, wiki: &str) -> Builder {
    let builder = Server::builder();
    let root = builder.folder_of(".").display().to_string();
    let main = scripts_of("main").replace("PerlPool main\n", "");
    builder
        .file("scripts/who.pl", &plain(&WHO.replace("@ROOT@", &root)))
        .conf("StartServers 1\nMaxClients 1\n")
        .conf(&pool("shop", shop))
        .conf(&pool("wiki", wiki))
        .conf(&(main + &scripts_of("shop") + &scripts_of("wiki")))
}

/// Returns the rest of the line that begins with a word.
#[track_caller]
fn told(text: &str, word: &str) -> String {
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    found
        .unwrap_or_else(|| panic!("no {word}: {text}"))
        .to_owned()
}

#[track_caller]
fn pid_of(server: &Server, pool: &str) -> i32 {
    let text = server.get(&format!("/{pool}/who.pl")).expect(200);
    told(&text, "pid").parse().expect("a number")
}

fn write_for(path: &Path, user: &str) {
    std::fs::write(path, "a secret").expect("written");
    set_permissions(path, Permissions::from_mode(0o600)).expect("own file");
    let (user, group) = (user_number(user), number("-g", user));
    chown(path, Some(user), group.parse().ok()).expect("root may");
}

#[track_caller]
fn check_identity(text: &str, user: &str) {
    let field = |name: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    let (own, group) = (number("-u", user), number("-g", user));
    assert_eq!(field("Uid:"), [own.as_str(); 4], "{user}");
    assert_eq!(field("Gid:"), [group.as_str(); 4], "{user}");
    let mut groups: Vec<String> = number("-G", user).split(' ').map(str::to_owned).collect();
    let mut known = field("Groups:");
    groups.sort();
    known.sort();
    assert_eq!(known, groups, "{user}");
    assert_eq!(field("CapPrm:"), ["0000000000000000"], "{user}");
    assert_eq!(field("CapEff:"), ["0000000000000000"], "{user}");
}

fn team(server: &Server, name: &str) -> serde_json::Value {
    let status = server.status();
    let teams = status["pool"]["teams"].as_array().expect("teams").clone();
    let found = teams.into_iter().find(|team| team["host"] == name);
    found.unwrap_or_else(|| panic!("no team {name}: {status}"))
}

fn with_users() -> Server {
    let user = |name: &str| format!("User {name}\n");
    let builder = two_pools(&user(SHOP), &user(WIKI)).conf(&user(SERVER));
    write_for(&builder.folder_of("of-shop"), SHOP);
    write_for(&builder.folder_of("of-wiki"), WIKI);
    write_for(&builder.folder_of("of-root"), "root");
    builder.start()
}

#[track_caller]
fn check_users(server: &Server) {
    let text = server.get("/shop/who.pl").expect(200);
    check_identity(&text, SHOP);
    let of_shop = told(&text, "pid");
    let zygote = told(&text, "parent");
    let status = std::fs::read_to_string(format!("/proc/{zygote}/status")).expect("a zygote");
    check_identity(&status, SHOP);
    let reads = |text: &str| ["shop", "wiki", "root"].map(|whose| told(text, whose) == "read");
    assert_eq!(reads(&text), [true, false, false], "{text}");
    let text = server.get(&format!("/wiki/who.pl?{of_shop}")).expect(200);
    check_identity(&text, WIKI);
    assert_eq!(reads(&text), [false, true, false], "{text}");
    for (word, answer) in [
        ("control", "Permission denied"),
        ("descriptors", "0"),
        ("memory", "Permission denied"),
        ("signal", "Operation not permitted"),
    ] {
        assert_eq!(told(&text, word), answer, "{word}: {text}");
    }
    assert_ne!(told(&text, "bell"), "shortened", "{text}");
    assert_eq!(
        told(&server.get("/shop/who.pl").expect(200), "pid"),
        of_shop
    );
    let text = server.get("/main/who.pl").expect(200);
    check_identity(&text, SERVER);
    assert_eq!(reads(&text), [false, false, false], "{text}");
}

#[test]
fn each_pool_runs_as_its_user_and_reaches_nothing_of_the_others() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let mut server = with_users();
    check_users(&server);
    let page = server.control(&["status"]);
    let page = String::from_utf8_lossy(&page.stdout);
    assert!(page.contains(&format!("pool shop as {SHOP} (")), "{page}");
    // The launchers read the memory of processes into which the front may not look.
    let has_memory = || {
        let status = server.status();
        let workers = status["pool"]["workers"]
            .as_array()
            .expect("workers")
            .clone();
        workers.len() >= 3
            && workers
                .iter()
                .all(|it| it["memory"]["pss"].as_u64() > Some(1 << 20))
    };
    assert!(eventually(PATIENCE, has_memory), "{}", server.status());
    let output = server.control(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    check_users(&server);
    let output = server.control(&["reload", "--pool", "wiki"]);
    assert!(output.status.success(), "{output:?}");
    check_users(&server);
    server.signal(Signal::Term);
    assert!(server.wait().is_some_and(|status| status.success()));
}

#[test]
fn killed_zygote_of_another_user_is_started_again_and_overdue_workers_are_killed() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = two_pools(&format!("User {SHOP}\n"), "")
        .conf(&format!("User {SERVER}\nTimeout 1\n"))
        .file("scripts/sleep.pl", &plain("sleep 1 while 1;"))
        .start();
    let worker = pid_of(&server, "shop");
    let zygote = processes::process(worker).expect("a worker").parent;
    processes::signal(zygote, Signal::Kill);
    server
        .log
        .expect("the zygote of generation 1 of shop is back");
    assert_eq!(pid_of(&server, "shop"), worker);
    // The front may not signal this worker. The launcher does.
    server.get("/shop/sleep.pl").expect(504);
    let replaced = eventually(PATIENCE, || !processes::is_alive(worker));
    assert!(replaced, "{}", server.log.text());
    assert_ne!(pid_of(&server, "shop"), worker);
    let owner = |pid: i32| {
        Path::new(&format!("/proc/{pid}"))
            .metadata()
            .expect("a process")
            .uid()
    };
    assert_eq!(owner(pid_of(&server, "shop")), user_number(SHOP));
}

#[test]
fn one_pool_is_reloaded_and_the_others_keep_their_processes() {
    let module = |word: &str| format!("package Version; our $VERSION = '{word}'; 1;\n");
    let script = plain("print \"$Version::VERSION $$\";");
    let with_module = "PerlSwitches -I@ROOT@/lib\nPerlModule Version\n";
    let server = two_pools(with_module, with_module)
        .file("lib/Version.pm", &module("old"))
        .file("scripts/version.pl", &script)
        .start();
    let ask = |pool: &str| {
        let text = server.get(&format!("/{pool}/version.pl")).expect(200);
        let (word, pid) = text.split_once(' ').expect("two words");
        (word.to_owned(), pid.to_owned())
    };
    let (shop, wiki) = (ask("shop"), ask("wiki"));
    let main = pid_of(&server, "main");
    server.site.write("lib/Version.pm", &module("new"));
    let output = server.control(&["reload", "--pool", "shop"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "generation 2 of the pool serves");
    assert_eq!(ask("shop").0, "new");
    assert_ne!(ask("shop").1, shop.1);
    assert_eq!(ask("wiki"), wiki);
    assert_eq!(pid_of(&server, "main"), main);
    let generation = |name: &str| team(&server, name)["generation"].as_u64();
    assert_eq!((generation("shop"), generation("wiki")), (Some(2), Some(1)));
    let gone = || !processes::is_alive(shop.1.parse().expect("a number"));
    assert!(eventually(PATIENCE, gone), "the old worker stays");
    // The pool's old zygote ends too.
    let three = || server.zygotes().len() == 3;
    assert!(eventually(PATIENCE, three), "{:?}", server.zygotes());
    // A module that does not load leaves the old generation.
    server
        .site
        .write("lib/Version.pm", "package Version; die 'half an edit';\n");
    let output = server.control(&["reload", "--pool", "shop"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("half an edit"));
    assert_eq!(ask("shop").0, "new");
    // A reload of everything replaces the processes of all pools.
    server.site.write("lib/Version.pm", &module("newest"));
    let output = server.control(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        (ask("shop").0, ask("wiki").0),
        ("newest".to_owned(), "newest".to_owned())
    );
    assert_ne!(ask("wiki").1, wiki.1);
    assert!(eventually(PATIENCE, three), "{:?}", server.zygotes());
}

#[test]
fn unknown_pool_of_a_reload_is_refused_with_the_nearest_name() {
    let server = two_pools("", "").start();
    for (name, told) in [
        ("shpo", "there is no pool `shpo`; did you mean `shop`?"),
        ("blog", "there is no pool `blog`; expected shop, wiki"),
    ] {
        let output = server.control(&["reload", "--pool", name]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.trim(), format!("mehari reload: {told}"));
    }
    assert_eq!(server.status()["pool"]["generation"], 1);
}

#[test]
fn requests_under_way_end_in_the_old_generation_of_a_reloaded_pool() {
    let gate = "open my $f, '>', \"$ENV{DOCUMENT_ROOT}/begun\" or die $!; close $f;\n\
        for (1 .. 6_000) { last if -e \"$ENV{DOCUMENT_ROOT}/go\"; select undef, undef, undef, 0.01 }\n\
        print \"passed $$\";";
    let server = two_pools("", "")
        .file("scripts/gate.pl", &plain(gate))
        .folder("htdocs")
        .start();
    let before = pid_of(&server, "shop");
    let mut waiting = server.connect();
    waiting.write(&Request::get("/shop/gate.pl").bytes());
    let begun = || server.site.path("htdocs/begun").exists();
    assert!(eventually(PATIENCE, begun), "{}", server.log.text());
    let output = server.control(&["reload", "--pool", "shop"]);
    assert!(output.status.success(), "{output:?}");
    assert_ne!(pid_of(&server, "shop"), before);
    server.site.write("htdocs/go", "");
    let answer = waiting.read_answer("GET").expect("an answer");
    assert_eq!(answer.expect(200), format!("passed {before}"));
}

#[test]
fn pool_whose_zygote_cannot_start_gets_503_alone_and_comes_back() {
    let mut server = two_pools("PerlRequire @ROOT@/start.pl\n", "")
        .file("start.pl", "kill KILL => $$;\n")
        .conf(
            "<Location /ready>\nSetHandler health-ready\n</Location>\n\
               <Location /metrics>\nSetHandler metrics\n</Location>\n",
        )
        .start();
    assert_eq!(server.get("/wiki/who.pl").status, 200);
    assert_eq!(server.get("/main/who.pl").status, 200);
    let refused = server.get("/shop/who.pl");
    assert_eq!(refused.status, 503, "{}", server.log.text());
    let after: u64 = refused
        .field("Retry-After")
        .expect("a field")
        .parse()
        .expect("seconds");
    assert!((1..=30).contains(&after), "{after}");
    let in_a_row = || {
        team(&server, "shop")["crash_loop"]["in_a_row"]
            .as_u64()
            .unwrap_or(0)
    };
    assert!(
        eventually(PATIENCE, || in_a_row() >= 4),
        "{}",
        server.log.text()
    );
    let crash_loop = &team(&server, "shop")["crash_loop"];
    assert_eq!(crash_loop["what"], "zygote");
    assert!(team(&server, "wiki")["crash_loop"].is_null());
    let page = server.control(&["status"]);
    let page = String::from_utf8_lossy(&page.stdout);
    assert!(page.contains("crash loop: "), "{page}");
    let metrics = server.get("/metrics").expect(200);
    let count = |pool: &str| {
        let name = format!("mehari_crash_loop{{host=\"{pool}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.and_then(|count| count.parse::<u32>().ok())
            .expect("a count")
    };
    assert!(count("shop") >= 4, "{metrics}");
    assert_eq!(count("wiki"), 0);
    assert!(
        metrics.contains("mehari_requests_refused_total{reason=\"crash_loop\"} 1"),
        "{metrics}"
    );
    server.get("/ready").expect(200);
    server
        .log
        .expect("the pool of shop does not start: its requests get 503");
    // The pauses double.
    server.log.expect("the next try comes after 0.2 s");
    server.log.expect("the next try comes after 0.4 s");
    server.site.write("start.pl", "1;\n");
    let serves = || server.get("/shop/who.pl").status == 200;
    assert!(eventually(PATIENCE, serves), "{}", server.log.text());
    assert!(team(&server, "shop")["crash_loop"].is_null());
    server
        .log
        .expect("the zygote of generation 1 of shop is back");
    server.rebase();
}

#[test]
fn pool_whose_workers_die_at_once_gets_503_alone() {
    // Each new worker ends while the file `crash` exists.
    let start = "use Apache2::ServerUtil ();\nuse Apache2::ServerRec ();\n\
        my $server = Apache2::ServerUtil->server;\n\
        $server->push_handlers(PerlChildInitHandler => sub {\n\
            kill KILL => $$ if -e '@ROOT@/crash';\n\
            return 0;\n\
        });\n1;\n";
    let builder = two_pools("PerlRequire @ROOT@/start.pl\n", "");
    let root = builder.folder_of(".").display().to_string();
    let server = builder
        .file("start.pl", &start.replace("@ROOT@", &root))
        .start();
    let before = pid_of(&server, "shop");
    server.site.write("crash", "");
    processes::signal(before, Signal::Kill);
    let is_loop = || team(&server, "shop")["crash_loop"]["what"] == "worker";
    assert!(eventually(PATIENCE, is_loop), "{}", server.log.text());
    let refused = || {
        let answer = server.get("/shop/who.pl");
        (answer.status == 503).then(|| answer.field("Retry-After").expect("a field"))
    };
    let mut after = None;
    let is_refused = || {
        after = refused();
        after.is_some()
    };
    assert!(eventually(PATIENCE, is_refused), "{}", server.log.text());
    assert_eq!(server.get("/wiki/who.pl").status, 200);
    assert!(team(&server, "wiki")["crash_loop"].is_null());
    std::fs::remove_file(server.site.path("crash")).expect("own file");
    let serves = || server.get("/shop/who.pl").status == 200;
    assert!(eventually(PATIENCE, serves), "{}", server.log.text());
    assert!(team(&server, "shop")["crash_loop"].is_null());
}

#[test]
fn pool_that_serves_is_not_lost_by_a_reload_of_a_broken_application() {
    let server = two_pools("PerlRequire @ROOT@/start.pl\n", "")
        .file("start.pl", "1;\n")
        .start();
    let before = pid_of(&server, "shop");
    server.site.write("start.pl", "die 'no licence';\n");
    let output = server.control(&["reload"]);
    assert!(!output.status.success());
    assert_eq!(pid_of(&server, "shop"), before);
    server.site.write("start.pl", "1;\n");
    assert!(server.control(&["reload"]).status.success());
    assert_ne!(pid_of(&server, "shop"), before);
}

#[test]
fn pool_in_a_crash_loop_does_not_stop_the_reload_of_the_others() {
    let server = two_pools("PerlRequire @ROOT@/start.pl\n", "")
        .file("start.pl", "die 'no licence';\n")
        .start();
    server.log.expect("no licence");
    let before = pid_of(&server, "wiki");
    let output = server.control(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    assert_ne!(pid_of(&server, "wiki"), before);
    assert_eq!(server.get("/shop/who.pl").status, 503);
}

#[test]
fn busy_pool_leaves_the_workers_of_the_others_alone() {
    let gate = "for (1 .. 6_000) { last if -e \"$ENV{DOCUMENT_ROOT}/go\"; select undef, undef, undef, 0.01 }\nprint 'passed';";
    let server = two_pools("WorkerQueue 3\n", "")
        .file("scripts/gate.pl", &plain(gate))
        .folder("htdocs")
        .start();
    let ask = |_| {
        let mut connection = server.connect();
        connection.write(&Request::get("/shop/gate.pl").bytes());
        connection
    };
    // One request runs, three wait, and the others are refused.
    let mut waiting: Vec<Connection> = (0..1).map(ask).collect();
    let is_busy = || team(&server, "shop")["busy"] == 1;
    assert!(eventually(PATIENCE, is_busy), "{}", server.status());
    waiting.extend((0..20).map(ask));
    for _ in 0..200 {
        server.get("/wiki/who.pl").expect(200);
        server.get("/main/who.pl").expect(200);
    }
    assert_eq!(team(&server, "shop")["busy"], 1);
    server.site.write("htdocs/go", "");
    let mut statuses: Vec<u16> = waiting
        .iter_mut()
        .map(|connection| connection.read_answer("GET").expect("an answer").status)
        .collect();
    statuses.sort_unstable();
    let passed = statuses.iter().filter(|status| **status == 200).count();
    assert!(passed >= 4, "{statuses:?}");
    assert!(statuses.contains(&503), "{statuses:?}");
}

#[test]
fn pool_has_its_own_perl_and_environment() {
    let builder = two_pools(
        "PerlInterpreter @ROOT@/other-perl\nPerlSetEnv NAME shop\n",
        "PerlSetEnv NAME wiki\n",
    );
    let other = builder.folder_of("other-perl");
    let folder = builder.folder_of("of-the-other").display().to_string();
    let server = builder
        .file(
            "other-perl",
            &format!("#!/bin/sh\nexec perl -Mlib={folder} \"$@\"\n"),
        )
        .file(
            "scripts/inc.pl",
            &plain("print join ' ', $ENV{NAME}, @INC;"),
        )
        .conf("PerlSetEnv NAME main\n");
    set_permissions(other, Permissions::from_mode(0o755)).expect("own file");
    let server = server.start();
    for name in ["shop", "wiki", "main"] {
        let text = server.get(&format!("/{name}/inc.pl")).expect(200);
        assert!(text.starts_with(&format!("{name} ")), "{text}");
        assert_eq!(text.contains(&folder), name == "shop", "{name}: {text}");
    }
}

#[test]
fn pool_joins_its_cgroup() {
    needs_machine!(is_root(), ROOT_ALONE);
    let Some(hierarchy) = cgroup_hierarchy() else {
        needs_machine!(false, "no cgroup v2 is mounted");
        return;
    };
    let name = format!("mehari-test-{}", std::process::id());
    let folder = Path::new(&hierarchy).join(&name);
    let made = std::fs::create_dir(&folder);
    needs_machine!(made.is_ok(), "no cgroup can be made here");
    let lines = format!("PerlPoolCgroup /{name}/shop\n");
    let server = two_pools(&lines, "").start();
    let worker = pid_of(&server, "shop");
    let members = std::fs::read_to_string(folder.join("shop/cgroup.procs")).expect("a cgroup");
    assert!(
        members.lines().any(|line| line == worker.to_string()),
        "{members}"
    );
    let other = pid_of(&server, "wiki").to_string();
    assert!(!members.lines().any(|line| line == other), "{members}");
    drop(server);
    let removed = || std::fs::remove_dir(folder.join("shop")).is_ok();
    assert!(
        eventually(PATIENCE, removed),
        "processes stay in the cgroup"
    );
    std::fs::remove_dir(&folder).expect("an empty cgroup");
}

fn cgroup_hierarchy() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|words| words.get(2) == Some(&"cgroup2"))?;
    Some(found[1].to_owned())
}

#[test]
fn exact_profile_of_a_pool_of_another_user_is_refused_and_starts_none_of_its_code() {
    needs!("libdevel-nytprof-perl");
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = with_users();
    let url = format!("http://127.0.0.1:{}/shop/who.pl", server.port());
    let folder = server.site.path("profile");
    let folder = folder.to_str().expect("text");
    let output = server.control(&["profile", "--exact", &url, "-o", folder]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("the request is for <PerlPool shop>"),
        "{told}"
    );
    assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1));
    check_users(&server);
}

#[test]
fn check_describes_each_pool() {
    let builder = Server::builder().file(
        "check.conf",
        "<PerlPool shop>\nUser backup\nGroup daemon\nMaxRequestWorkers 3\n\
         PerlPoolCgroup shop pids.max=9\n</PerlPool>\n\
         <VirtualHost *>\nServerName a.example\nPerlPool shop\n</VirtualHost>\n",
    );
    let output = std::process::Command::new(mehari_harness::binary::mehari())
        .args(["check", "--all", "--text-only", "-f"])
        .arg(builder.folder_of("check.conf"))
        .output()
        .expect("mehari runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        text.contains("<PerlPool shop> user backup, group daemon cgroup shop pids.max=9"),
        "{text}"
    );
    assert!(text.contains("workers at most 3"), "{text}");
    assert!(text.contains("workers of pool shop"), "{text}");
}

#[test]
fn bad_users_and_cgroups_are_refused_with_their_line() {
    needs_machine!(is_root(), ROOT_ALONE);
    for (lines, told) in [
        (
            "User no-such-user\n",
            "httpd.conf:5:1: <PerlPool shop>: User no-such-user: there is no such user; expected a \
             name of /etc/passwd or #NUMBER",
        ),
        (
            "User backup\nGroup no-such-group\n",
            "httpd.conf:5:1: <PerlPool shop>: Group no-such-group: there is no such group",
        ),
        (
            "User root\n",
            "httpd.conf:5:1: <PerlPool shop>: User root: expected a user other than root",
        ),
        (
            "PerlPoolCgroup /no-such-controller nothing.max=1\n",
            "httpd.conf:5:1: <PerlPool shop>: PerlPoolCgroup /no-such-controller: ",
        ),
    ] {
        let conf = format!("<PerlPool shop>\nStartServers 1\n{lines}</PerlPool>\n");
        let log = Server::builder().conf(&conf).try_start();
        let text = log.err().expect("it does not start").text();
        assert!(text.contains(told), "{lines}{text}");
    }
}
