//! Tests `User` and `Group`: a server that root starts runs no code of the site as root.

use mehari_harness::binary::is_open_to_others;
use mehari_harness::scripts::plain;
use mehari_harness::{eventually, needs, needs_machine, Builder, Server, PATIENCE};
use rustix::process::Signal;
use std::fs::{set_permissions, Permissions};
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::sync::Mutex;

const USER: &str = "www-data";

/// A script that prints its process's identity as the kernel reports it: the real, effective, saved
/// and file-system user and group, and the capabilities.
const WHO: &str = r#"
    open my $status, '<', '/proc/self/status' or die $!;
    print grep /^(?:Uid|Gid|Groups|CapEff|CapPrm)/, <$status>;
    print "perl $< $> ", $( + 0, "\nid ", `id -u`, "groups ", `id -G`;
    print "secret ", (open(my $file, '<', "@ROOT@/secret") ? 'read' : "$!"), "\n";
"#;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

const ROOT_ALONE: &str = "only root can start a server that becomes another user";
const CLOSED: &str = "the checkout lies where other users may not go";

fn number(of: &str) -> String {
    let output = std::process::Command::new("id").args([of, USER]).output();
    let text = output.expect("id is part of every Debian system").stdout;
    String::from_utf8(text).expect("numbers").trim().to_owned()
}

fn who(builder: Builder) -> Builder {
    let root = builder.folder_of(".").display().to_string();
    let secret = builder.folder_of("secret");
    let builder = builder
        .file("scripts/who.pl", &plain(&WHO.replace("@ROOT@", &root)))
        .file("secret", "for root alone");
    set_permissions(secret, Permissions::from_mode(0o600)).expect("own file");
    builder
}

#[track_caller]
fn check_status(text: &str, of: &str) {
    let (user, group) = (number("-u"), number("-g"));
    let field = |name: &str| -> Vec<&str> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{of} has no {name}: {text}"))
            .split_whitespace()
            .collect()
    };
    assert_eq!(field("Uid:"), [user.as_str(); 4], "{of}");
    assert_eq!(field("Gid:"), [group.as_str(); 4], "{of}");
    let groups: Vec<String> = number("-G").split(' ').map(str::to_owned).collect();
    let (mut known, mut wanted) = (field("Groups:"), groups);
    known.sort();
    wanted.sort();
    assert_eq!(known, wanted, "{of}");
    assert_eq!(field("CapPrm:"), ["0000000000000000"], "{of}");
    assert_eq!(field("CapEff:"), ["0000000000000000"], "{of}");
}

fn status_of(path: &std::path::Path) -> String {
    std::fs::read_to_string(path.join("status")).unwrap_or_default()
}

#[track_caller]
fn check_everybody(server: &Server) {
    for rung in ["cgi", "fork", "perlrun", "registry"] {
        let text = server.get(&format!("/{rung}/who.pl")).expect(200);
        check_status(&text, rung);
        let (user, group) = (number("-u"), number("-g"));
        let told = format!(
            "perl {user} {user} {group}\nid {user}\ngroups {}\n",
            number("-G")
        );
        assert!(text.contains(&told), "{rung}: {text}");
        assert!(text.contains("secret Permission denied"), "{rung}: {text}");
    }
    let processes = server.zygotes().into_iter().chain(server.workers());
    for pid in processes.chain([server.pid()]) {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
        for task in tasks.flatten() {
            check_status(&status_of(&task.path()), &format!("{:?}", task.path()));
        }
    }
}

#[test]
fn server_that_root_starts_becomes_its_user_and_goes_on_as_before() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let mut server = who(Server::builder().folder("logs").folder("run"))
        .ladder()
        .conf(&format!(
            "User {USER}\nGroup {USER}\nPidFile own.pid\nCustomLog logs/access.log common\nErrorLog logs/error.log\n\
             CustomLog \"|$id -u > @ROOT@/run/program; exec cat > /dev/null\" common\n"
        ))
        .start();
    check_everybody(&server);
    let pid = format!("{}\n", server.pid());
    assert_eq!(server.site.read("own.pid"), pid);
    let user: u32 = number("-u").parse().expect("a number");
    let came = eventually(PATIENCE, || server.site.read("run/program").ends_with('\n'));
    assert!(came, "the log's program is not there");
    assert_eq!(server.site.read("run/program").trim(), user.to_string());

    let access = server.site.path("logs/access.log");
    std::fs::rename(&access, server.site.path("logs/access.old")).expect("own file");
    server.signal(Signal::Usr1);
    assert!(eventually(PATIENCE, || access.exists()), "not reopened");
    assert_eq!(access.metadata().expect("a log").uid(), user);

    let output = server.control(&["reload"]);
    assert!(output.status.success(), "{output:?}");
    check_everybody(&server);
    assert!(server.status()["pid"].as_u64() == Some(u64::from(server.pid().unsigned_abs())));

    server.signal(Signal::Term);
    assert!(server.wait().is_some_and(|status| status.success()));
    // The folder belongs to root, so the server itself cannot write there.
    assert!(!server.site.path("own.pid").exists());
    assert!(!server.site.path("control").exists());
    assert!(server
        .site
        .read("logs/access.log")
        .contains("/registry/who.pl"));
}

/// Returns a port below 1024 that is free. Tests that run side by side get different ports.
/// Logs in a folder in which only root can make files, as in Debian's /var/log/apache2.
#[test]
fn logs_in_a_folder_of_root_are_opened_again_after_a_rotation() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = server_of_root(Server::builder().folder("logs"));
    let folder = server.site.path("logs");
    chown(&folder, Some(0), Some(0)).expect("root");
    set_permissions(&folder, Permissions::from_mode(0o700)).expect("own file");
    for round in 0..3 {
        for name in ["access", "error"] {
            let log = server.site.path(&format!("logs/{name}.log"));
            let old = server.site.path(&format!("logs/{name}.{round}"));
            std::fs::rename(&log, old).expect("own file");
        }
        server.signal(Signal::Usr1);
        let access = server.site.path("logs/access.log");
        assert!(eventually(PATIENCE, || access.exists()), "not reopened");
        let page = format!("/registry/who.pl?{round}");
        server.get(&page).expect(200);
        let is_there = || server.site.read("logs/access.log").contains(&page);
        assert!(
            eventually(PATIENCE, is_there),
            "the old file is still in use"
        );
        assert!(server.site.path("logs/error.log").exists());
    }
    std::fs::remove_dir_all(&folder).expect("own folder");
    std::fs::create_dir(&folder).expect("own folder");
    server.signal(Signal::Usr1);
    let is_there = || server.site.path("logs/access.log").exists();
    assert!(
        eventually(PATIENCE, is_there),
        "not opened in the new folder"
    );
}

/// Root opens no file where the server's user could put a link in its place.
#[test]
fn logs_in_a_folder_of_another_user_are_not_opened_by_root() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = server_of_root(Server::builder().folder("logs"));
    let folder = server.site.path("logs");
    let user: u32 = number("-u").parse().expect("a number");
    chown(&folder, Some(user), None).expect("root");
    let access = server.site.path("logs/access.log");
    let secret = server.site.path("only-root");
    std::fs::write(&secret, "").expect("a file");
    set_permissions(&secret, Permissions::from_mode(0o600)).expect("own file");
    std::fs::remove_file(&access).expect("own file");
    std::os::unix::fs::symlink(&secret, &access).expect("a link");
    server.signal(Signal::Usr1);
    let told = "access.log as root: somebody other than root can write to its folder";
    let is_told = || server.site.read("logs/error.log").contains(told);
    assert!(
        eventually(PATIENCE, is_told),
        "{}",
        server.site.read("logs/error.log")
    );
    server.get("/registry/who.pl").expect(200);
    assert_eq!(server.site.read("only-root"), "");
}

fn port_of_root() -> u16 {
    static LAST: Mutex<u16> = Mutex::new(1024);
    let mut last = LAST.lock().expect("no test panics here");
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = (700..*last).rev();
    *last = ports.find(free).expect("a free port below 1024");
    *last
}

fn make_certificate(pem: &std::path::Path) {
    let made = std::process::Command::new(mehari_harness::binary::mehari())
        .args(["certificate", "--out"])
        .arg(pem)
        .args(["localhost", "127.0.0.1"])
        .output();
    assert!(made.expect("mehari runs").status.success());
    set_permissions(pem, Permissions::from_mode(0o600)).expect("own file");
}

/// A server that root starts, on a port that only root may bind, with a key that only root may
/// read.
fn server_of_root(builder: Builder) -> Server {
    make_certificate(&builder.folder_of("secret.pem"));
    who(builder)
        .ladder()
        .without_listen()
        .args(&["--listen", &format!("127.0.0.1:{}", port_of_root())])
        .args(&["--listen", "https://127.0.0.1:0"])
        .conf(&format!(
            "User {USER}\nGroup {USER}\nPidFile own.pid\nSSLCertificateFile secret.pem\n\
             CustomLog logs/access.log common\nErrorLog logs/error.log\n"
        ))
        .start()
}

#[track_caller]
fn answers_over_tls(server: &Server) {
    let url = format!("{}registry/who.pl", server.urls()[1]);
    let output = std::process::Command::new("curl")
        .args(["-s", "-k", "--max-time", "20", &url])
        .output()
        .expect("curl runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("secret Permission denied"), "{url}: {text}");
}

#[test]
fn upgrade_of_a_server_that_root_started_serves_as_its_user_again() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    needs!("curl");
    let mut server = server_of_root(Server::builder().folder("logs"));
    assert!(server.port() < 1024);
    for round in 0..2 {
        if round == 0 {
            let output = server.control(&["upgrade"]);
            assert!(output.status.success(), "{output:?}");
        } else {
            server.signal(Signal::Usr2);
        }
        server.follow_upgrade();
        check_everybody(&server);
        answers_over_tls(&server);
        assert_eq!(server.site.read("own.pid"), format!("{}\n", server.pid()));
        assert!(!server.site.path("control.new").exists());
    }
    let access = server.site.path("logs/access.log");
    std::fs::rename(&access, server.site.path("logs/access.old")).expect("own file");
    server.signal(Signal::Usr1);
    assert!(eventually(PATIENCE, || access.exists()), "not reopened");
    let user: u32 = number("-u").parse().expect("a number");
    assert_eq!(access.metadata().expect("a log").uid(), user);
    assert!(server.control(&["reload"]).status.success());
    check_everybody(&server);
    server.signal(Signal::Term);
    assert!(server.successor_ends());
    for name in ["own.pid", "control"] {
        let path = server.site.path(name);
        assert!(eventually(PATIENCE, || !path.exists()), "{name} is left");
    }
}

#[test]
fn upgrade_that_fails_as_root_leaves_the_running_server_alone() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    needs!("curl");
    let server = server_of_root(Server::builder().folder("logs"));
    let good = server.site.read("httpd.conf");
    let (pid, number) = (server.pid(), server.site.read("own.pid"));
    for (more, told) in [
        ("NoSuchDirective on\n", "NoSuchDirective"),
        ("PerlModule No::Such::Module\n", "No/Such/Module.pm"),
        ("SSLCertificateFile none.pem\n", "none.pem"),
    ] {
        let text = format!("{good}\n{more}");
        server.site.replace("httpd.conf", &text);
        let output = server.control(&["upgrade"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(told), "{said}");
        assert!(said.contains(&format!("process {pid} goes on")), "{said}");
        assert_eq!(server.status()["pid"], pid);
        assert_eq!(server.site.read("own.pid"), number);
        assert!(!server.site.path("control.new").exists(), "{said}");
        check_everybody(&server);
    }
}

/// Returns the process that keeps root's rights for a server.
fn keeper_of(server: &Server) -> i32 {
    let all = mehari_harness::processes::descendants(server.pid());
    let is_keeper = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words
            .split(|byte| *byte == 0)
            .any(|word| word == b"keeper-process")
    };
    let found = all.into_iter().map(|process| process.pid).find(is_keeper);
    found.expect("the server has a keeper")
}

#[test]
fn upgrade_without_the_keeper_is_refused_in_one_line() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = server_of_root(Server::builder().folder("logs"));
    mehari_harness::processes::signal(keeper_of(&server), Signal::Kill);
    let output = server.control(&["upgrade"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let pid = server.pid();
    let line = format!(
        "the process that keeps root's rights has ended; expected a restart; process {pid} goes on"
    );
    assert!(said.contains(&line), "{said}");
    check_everybody(&server);
}

#[test]
fn keeper_is_started_by_the_server_alone() {
    for words in [&[][..], &["", "control", "control", "", "/bin/true"]] {
        let output = std::process::Command::new(mehari_harness::binary::mehari())
            .arg("keeper-process")
            .args(words)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("mehari runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the server starts this itself"), "{said}");
    }
}

#[test]
fn user_and_group_may_be_given_as_numbers() {
    needs_machine!(is_root(), ROOT_ALONE);
    needs_machine!(is_open_to_others(), CLOSED);
    let server = who(Server::builder())
        .ladder()
        .conf("User #4000000\nGroup #4000001\n")
        .start();
    let text = server.get("/registry/who.pl").expect(200);
    assert!(text.contains("perl 4000000 4000000 4000001\n"), "{text}");
    assert!(text.contains("groups 4000001\n"), "{text}");
}

#[test]
fn unknown_user_is_reported_in_one_line() {
    needs_machine!(is_root(), ROOT_ALONE);
    for (conf, told) in [
        (
            "User no-such-user\n",
            "User no-such-user: there is no such user",
        ),
        (
            "User www-data\nGroup no-such-group\n",
            "Group no-such-group: there is no such group",
        ),
        (
            "User #4000000\n",
            "User #4000000 has no account to take the group from",
        ),
        ("Group www-data\n", "Group needs User"),
    ] {
        let Err(log) = Server::builder().conf(conf).try_start() else {
            panic!("it started with {conf}");
        };
        assert!(log.text().contains(told), "{conf}: {}", log.text());
        assert_eq!(log.text().lines().count(), 1, "{}", log.text());
    }
}
