//! Tests the rung `rewind`: one process serves many requests of a script, and its state is restored
//! after each request.
//!
//! tests/isolation.rs compares the responses with those of a new perl process over the whole
//! corpus. The tests here check the rest: the process stays the same, some events end the process,
//! some scripts move to the rung `fork`, and random bytes never repeat.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Request, Rung, Server};
use std::collections::HashSet;

/// A script that prints its process number without asking the kernel for it.
const WHO: &str =
    "open my $f, '<', '/proc/self/stat' or die; (my $who) = split ' ', <$f>; print $who;";

/// The requests of a script on `auto` before its picture is taken (process/template.c).
const BEFORE_PICTURE: usize = 3;

fn server(scripts: &[(&str, &str)]) -> Server {
    let mut builder = Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule POSIX Time::HiRes\n")
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("scripts/who.pl", &plain(WHO));
    for (name, body) in scripts {
        builder = builder.file(&format!("scripts/{name}"), &plain(body));
    }
    builder.start()
}

fn get(server: &Server, script: &str) -> String {
    server.get(&Rung::Rewind.url(script)).expect(200)
}

/// Checks the log: the server compares all memory after each rewind, and logs differences.
#[track_caller]
fn all_memory_was_put_back(server: &Server) {
    assert_eq!(server.log.count("not as they were"), 0);
}

#[test]
fn one_process_serves_many_requests_and_remembers_none_of_them() {
    let server = server(&[(
        "count.pl",
        "our ($n, @kept); push @kept, 'x' x (5000 + $_) for 1 .. 50; $ENV{LEFT} = 1; print ++$n, scalar @kept; open our $left, '<', '/dev/null'; chdir '/'; umask 0;",
    )]);
    let who = get(&server, "who.pl");
    for _ in 0..50 {
        assert_eq!(get(&server, "count.pl"), "150");
        assert_eq!(get(&server, "who.pl"), who);
    }
    all_memory_was_put_back(&server);
}

/// The KiB of memory that a process has written and does not share, as `peers/run` counts them.
fn private_kib(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("smaps");
    let line = text.lines().find(|line| line.starts_with("Private_Dirty:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.expect("a number").parse().expect("a number")
}

/// Each script's picture holds only the pages that differ from the base picture. The comparison of
/// all memory would read all pages, so this server does not make it. A sanitizer's memory is not
/// that of a perl.
#[test]
fn process_shares_nearly_all_memory_with_those_of_other_scripts() {
    mehari_harness::needs!("libcgi-pm-perl", "libdbi-perl", "libdbd-sqlite3-perl");
    let server = Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule CGI DBI DBD::SQLite POSIX\n")
        .env("MEHARI_REWIND_COMPARE", "0")
        .file("scripts/who.pl", &plain(WHO))
        .file("scripts/other.pl", &plain(WHO))
        .start();
    for script in ["who.pl", "other.pl"] {
        let who = get(&server, script);
        for _ in 0..200 {
            assert_eq!(get(&server, script), who);
        }
        let kib = private_kib(&who);
        let is_small = kib < 1_500 || mehari_harness::is_sanitized();
        assert!(is_small, "{script}: {kib} KiB");
    }
}

#[test]
fn status_shows_the_rung_and_its_figures() {
    let server = server(&[("asks.pl", "print $$;")]);
    for _ in 0..4 {
        get(&server, "who.pl");
        get(&server, "asks.pl");
    }
    let status = server.status();
    let script = |name: &str| {
        let all = status["pool"]["scripts"].as_array().expect("scripts");
        let is_it = |it: &&serde_json::Value| {
            let path = it["script"].as_str().unwrap_or_default();
            path.ends_with(name)
        };
        all.iter().find(is_it).expect("told of").clone()
    };
    let who = script("/who.pl");
    assert_eq!(who["rung"], "rewind");
    assert_eq!(who["rewinds"], 3);
    // The picture holds only what differs from the base picture.
    let (own, shared) = (who["pages"].as_u64(), who["shared_pages"].as_u64());
    assert!(own > Some(0), "{who}");
    assert!(own < Some(500) || mehari_harness::is_sanitized(), "{who}");
    assert!(shared > Some(500), "{who}");
    assert!(
        who["hot_pages"].as_u64() > Some(0) && who["hot_pages"].as_u64() < Some(500),
        "{who}"
    );
    assert_eq!(script("/asks.pl")["rung"], "fork");
    let text = server.control(&["status"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("/asks.pl: it asks for the number of its process at "),
        "{text}"
    );
}

#[test]
fn auto_rewinds_what_it_can_and_has_room_for() {
    let scripts = |server: &Server| -> Vec<(String, String)> {
        let status = server.status();
        let all = status["pool"]["scripts"].as_array().cloned();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let told = all.unwrap_or_default().into_iter();
        told.map(|it| (text(&it["rung"]), text(&it["why"])))
            .collect()
    };
    let server = server(&[("asks.pl", "print $$;")]);
    let get = |script: &str| server.get(&Rung::Auto.url(script)).expect(200);
    let first: HashSet<String> = (0..BEFORE_PICTURE).map(|_| get("who.pl")).collect();
    assert_eq!(first.len(), BEFORE_PICTURE);
    assert_eq!(get("who.pl"), get("who.pl"));
    assert_eq!(scripts(&server)[0].0, "rewind");
    let numbers: HashSet<String> = (0..6).map(|_| get("asks.pl")).collect();
    assert_eq!(numbers.len(), 6);

    let tight = Server::builder()
        .ladder()
        .conf(&workers(1))
        .env("MEHARI_PICTURE_BYTES", "1000000")
        .file("scripts/who.pl", &plain(WHO))
        .start();
    let get = |rung: Rung| tight.get(&rung.url("who.pl")).expect(200);
    let numbers: HashSet<String> = (0..6).map(|_| get(Rung::Auto)).collect();
    assert_eq!(numbers.len(), 6);
    let (rung, why) = scripts(&tight).remove(0);
    assert_eq!(rung, "fork");
    assert!(why.contains("no room for its picture"), "{why}");
    assert_eq!(get(Rung::Rewind), get(Rung::Rewind));
    // The configuration does not name a rung, so the log has no line about the change.
    assert_eq!(tight.log.count("runs as on the rung `fork`"), 0);
}

/// Without enough templates, each request would start one, and end the template that has been
/// unused longest.
#[test]
fn workers_keep_the_processes_of_many_scripts() {
    const SCRIPTS: usize = 40;
    let mut builder = Server::builder().ladder().conf(&workers(4));
    for number in 0..SCRIPTS {
        builder = builder.file(&format!("scripts/{number}.pl"), &plain(WHO));
    }
    let server = builder.start();
    let round = || -> Vec<String> {
        let urls = (0..SCRIPTS).map(|number| Rung::Auto.url(&format!("{number}.pl")));
        urls.map(|url| server.get(&url).expect(200)).collect()
    };
    for _ in 0..BEFORE_PICTURE {
        round();
    }
    let first = round();
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), SCRIPTS);
    assert_eq!(round(), first);
}

#[test]
fn script_that_reads_its_process_number_gets_a_new_process_each_time() {
    let server = server(&[
        ("dollar.pl", "print $$;"),
        ("english.pl", "use English; print $PROCESS_ID;"),
        ("posix.pl", "use POSIX (); print POSIX::getpid();"),
        ("eval.pl", "print eval '$' . '$';"),
        (
            "compares.pl",
            &format!("{WHO} print 'not me' if $$ != $who;"),
        ),
        (
            "module.pl",
            "use lib '.'; require './asks.pm'; print Asks::number();",
        ),
    ]);
    server
        .site
        .write("scripts/asks.pm", "package Asks; sub number { $$ } 1;");
    for script in [
        "dollar.pl",
        "english.pl",
        "posix.pl",
        "eval.pl",
        "module.pl",
    ] {
        let numbers: Vec<String> = (0..6).map(|_| get(&server, script)).collect();
        let different: HashSet<&String> = numbers.iter().collect();
        assert_eq!(different.len(), numbers.len(), "{script}: {numbers:?}");
        server.log.expect(&format!(
            "{script}: runs as on the rung `fork`: it asks for the number of its process"
        ));
    }
    // A script compares its process number only to find out whether it runs in a child.
    assert_eq!(get(&server, "compares.pl"), get(&server, "compares.pl"));
    assert_eq!(get(&server, "who.pl"), get(&server, "who.pl"));
}

/// What a script does to its process, and the reason in the log if the script does this each time.
const SPOILERS: &[(&str, &str, &str)] = &[
    (
        "session.pl",
        "use POSIX (); POSIX::setsid(); print 'ok'",
        "standing of its process",
    ),
    (
        "child.pl",
        "if (!fork) { close STDOUT; sleep 2; exit } print 'ok'",
        "left a process that runs on",
    ),
    (
        "closes.pl",
        "for (3 .. 60) { open my $f, '<&=', $_; close $f if $f } print 'ok'",
        "closed descriptors that are not its own",
    ),
    (
        "maps.pl",
        "syscall 9, 0, 1 << 30, 3, 0x22, -1, 0; print 'ok'",
        "called the kernel itself",
    ),
    (
        "proc.pl",
        "open my $f, '>', '/proc/self/comm'; print $f 'left'; close $f; print 'ok'",
        "wrote to /proc",
    ),
    (
        "proc_flags.pl",
        "sysopen my $f, '/proc/self/oom_score_adj', 1; print $f 10; close $f; print 'ok'",
        "wrote to /proc",
    ),
    (
        "semaphore.pl",
        "my $id = semget 0, 1, 01600; semop $id, pack 's3', 0, 1, 0x1000; semctl $id, 0, 0, 0; print 'ok'",
        "only at the end of a process",
    ),
    (
        "leaves.pl",
        "use POSIX (); $| = 1; print 'ok'; POSIX::_exit(0)",
        "it ends its process",
    ),
];

#[test]
fn state_that_cannot_be_restored_ends_the_process_and_then_the_rung() {
    let scripts: Vec<_> = SPOILERS.iter().map(|it| (it.0, it.1)).collect();
    let server = server(&scripts);
    let who = get(&server, "who.pl");
    for (script, _, why) in SPOILERS {
        for _ in 0..5 {
            server.get(&Rung::Rewind.url(script));
            assert_eq!(get(&server, "who.pl"), who, "after {script}");
        }
        let line = server
            .log
            .expect(&format!("{script}: runs as on the rung `fork`: "));
        assert!(line.contains(why), "{line}");
    }
    all_memory_was_put_back(&server);
}

/// Left out under AddressSanitizer: the kernel would fill the terabytes that the sanitizer reserves
/// until the machine has no memory left.
const LOCKS: &str = "locks its memory in";

/// Scripts that damage their process. The request itself may fail, but the next request of the same
/// script must not be affected.
const HOSTILE: &[(&str, &str)] = &[
    ("signals", "$SIG{$_} = sub { exit } for grep !/KILL|STOP|NUM/, keys %SIG; kill USR1 => getppid if 0;"),
    ("exit in a handler", "$SIG{ALRM} = sub { exit }; require Time::HiRes; Time::HiRes::ualarm(1000); 1 while 1;"),
    ("timer", "require Time::HiRes; Time::HiRes::setitimer(Time::HiRes::ITIMER_REAL(), 0.05, 0.05);"),
    ("alarm", "alarm 1;"),
    ("alarm by reference", "&{\\&CORE::alarm}(1);"),
    ("deletes a handler", "delete $SIG{FPE}; local $SIG{PIPE} = 'IGNORE';"),
    ("ignores a signal", "$SIG{USR2} = 'IGNORE'; $SIG{RTMAX} = 'IGNORE';"),
    ("handles by POSIX", "POSIX::sigaction(POSIX::SIGUSR1(), POSIX::SigAction->new(sub { exit }));"),
    ("sets handlers for a while", "for my $name (grep !/KILL|STOP|NUM/, keys %SIG) { local $SIG{$name} = sub { } }"),
    ("deletes all handlers", "delete @SIG{keys %SIG};"),
    ("moves", "mkdir '/tmp/moved'; chdir '/tmp/moved'; umask 077;"),
    ("child without an operator", "my $pid = POSIX::fork(); if (defined $pid && !$pid) { sleep 1; POSIX::_exit(0) }"),
    ("dies in DESTROY at the end", "our $left = bless []; sub DESTROY { die 'at the end' }"),
    ("unmaps", "syscall 11, 0x1000, 1 << 46;"),
    ("protects", "my $page = unpack('J', pack 'p', my $text = 'x' x 8192); syscall 10, $page & ~4095, 4096, 1;"),
    ("closes all", "require POSIX; POSIX::close($_) for 0 .. 200;"),
    ("shrinks the heap", "syscall 12, 0x1000;"),
    ("exits in a handler that perl does not defer", "POSIX::sigaction(POSIX::SIGUSR1(), POSIX::SigAction->new(sub { exit })); kill USR1 => getpgrp; 1 while 1;"),
    ("masks signals", "require POSIX; POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(1 .. 31));"),
    ("fills memory", "my @all; push @all, 'x' x (1 << 20 | $_) for 1 .. 60; my $deep; $deep = sub { $_[0] and $deep->($_[0] - 1) }; no warnings; $deep->(20000);"),
    ("deep pattern", "('ab' x DEPTH) =~ /^(?:(a)|b)*$/;"),
    ("rounds up", "require POSIX; POSIX::fesetround(POSIX::FE_UPWARD());"),
    ("changes its user", "$> = 65534 unless $<; $0 = 'somebody else';"),
    ("changes its user for a while", "{ local $> = 65534 unless $<; local $0 = 'somebody else'; }"),
    ("changes its user by another variable", "delete @main::{'>', 0}; our $left = \\*{'<'}; ${'>'} = 65534 unless $<; ${'0'} = 'somebody else';"),
    ("changes its groups", "$) = '0 5 6' unless $<;"),
    ("opens by number", "require Fcntl; open my $f, '<', '/dev/null'; our @left = (fcntl($f, Fcntl::F_DUPFD(), 20), POSIX::open('/dev/null'), POSIX::dup(0), POSIX::pipe());"),
    ("opens the system's databases", "our @left = (getpwent, getgrent); opendir our $left, '/';"),
    ("reads a file of its arguments", "@ARGV = '/etc/passwd'; our $left = <>;"),
    ("undoes its handles", "undef *STDIN; undef *STDERR;"),
    ("segfaults", "kill SEGV => getpgrp; unpack 'P4', pack 'J', 1;"),
    ("unmaps the control region", "syscall 11, @$_[0, 1] for maps('/dev/zero');"),
    ("maps over the control region", "syscall 9, @$_[0, 1], 3, 0x32, -1, 0 for maps('/dev/zero');"),
    ("empties the control region", "syscall 28, @$_[0, 1], 9 for maps('/dev/zero');"),
    ("forbids the control region", "syscall 10, @$_[0, 1], 0 for maps('/dev/zero');"),
    ("locks the control region by a key", "my $key = syscall 330, 0, 3; $key < 0 or syscall 329, @$_[0, 1], 3, $key for maps('/dev/zero');"),
    ("unmaps the picture", "syscall 11, @$_[0, 1] for maps('mehari picture');"),
    ("unmaps the mailbox", "syscall 11, @$_[0, 1] for maps('mehari-mailbox');"),
    ("forbids writing", "syscall 10, @$_[0, 1], 1 for maps('rw-p');"),
    (LOCKS, "syscall 151, 3;"),
    ("closes by the kernel", "syscall 436, 3, 200, 0;"),
    ("replaces descriptors by the kernel", "syscall 33, 0, $_ for 3 .. 100;"),
    ("forbids itself the kernel", "syscall 157, 22, 1, 0, 0, 0;"),
    ("changes its root", "chroot $ENV{DOCUMENT_ROOT};"),
    ("forks by the kernel", "syscall(57) or do { sleep 1; POSIX::_exit(0) };"),
    ("gets every signal it catches", "my @all = grep !/KILL|STOP|NUM|ZERO/, keys %SIG; @SIG{@all} = (sub { our $caught++ }) x @all; kill $_ => getpgrp for @all;"),
    ("exits in each handler", "my @all = grep !/KILL|STOP|NUM|ZERO/, keys %SIG; @SIG{@all} = (sub { exit }) x @all; kill USR1 => getpgrp; kill TERM => getpgrp;"),
    ("dies in a handler", "$SIG{USR1} = sub { die 'in a handler' }; kill USR1 => getpgrp;"),
    ("ends in a handler", "$SIG{USR1} = sub { POSIX::_exit(4) }; kill USR1 => getpgrp; 1 while 1;"),
    ("ends at once", "POSIX::_exit(5);"),
    ("exits in DESTROY at the end", "our $left = bless []; sub DESTROY { exit 6 }"),
    ("ends in DESTROY at the end", "our $left = bless []; sub DESTROY { POSIX::_exit(7) }"),
    ("dies in END", "END { die 'at the end' if $ENV{QUERY_STRING} eq 'do' }"),
    ("ends in END", "END { POSIX::_exit(8) if $ENV{QUERY_STRING} eq 'do' }"),
    ("fills the address space", "for my $bits (reverse 12 .. 46) { 1 while syscall(9, 0, 1 << $bits, 0, 0x4022, -1, 0) != -1 && $bits > 14 } my @all; push @all, 'x' x (1 << 20 | $_) for 1 .. 60;"),
    ("limits its address space", "syscall 160, 9, pack 'QQ', (1 << 20) x 2; my @all; push @all, 'x' x (1 << 20 | $_) for 1 .. 60;"),
];

/// Finds mappings of the process by a pattern: their places and lengths.
const MAPS: &str = "sub maps { open my $maps, '<', '/proc/self/maps' or die; \
    map { /^(\\w+)-(\\w+) .*$_[0]/ ? [hex $1, hex($2) - hex $1] : () } <$maps> } ";

const PROBE: &str = "our $n; my @open = map { readlink } glob '/proc/self/fd/*'; open my $f, '<', '/proc/self/status'; my %is = map { /^(\\w+):\\s*(.*)/ } <$f>; \
    print join '|', ++$n, scalar(@open), readlink('/proc/self/cwd'), 1e300 + 1.1, $0, $> + $<, umask, alarm(0), waitpid(-1, 1), @is{qw(Name Threads Uid Gid Groups SigBlk SigIgn SigCgt)};";

#[test]
fn hostile_script_harms_its_own_request_at_most() {
    // Under a sanitizer perl needs a minute for the full depth: its malloc moves whatever grows.
    let depth = if mehari_harness::is_sanitized() {
        "2_000"
    } else {
        "200_000"
    };
    for (what, body) in HOSTILE {
        if *what == LOCKS && mehari_harness::is_sanitized() {
            continue;
        }
        println!("{what}");
        let body = body.replace("DEPTH", depth);
        let script = format!(
            "{MAPS} if ($ENV{{QUERY_STRING}} eq 'do') {{ print 'done'; {body} }} else {{ {PROBE} }}"
        );
        let server = server(&[("hostile.pl", &script)]);
        let url = Rung::Rewind.url("hostile.pl");
        let before = server.get(&url).expect(200);
        for _ in 0..3 {
            // Any response is allowed, even a broken one.
            let _ = server
                .connect()
                .send(&Request::get(&format!("{url}?do")).closing());
            for _ in 0..2 {
                assert_eq!(server.get(&url).expect(200), before, "after {what}");
            }
        }
        all_memory_was_put_back(&server);
    }
}

/// Perl knows nothing of the files that libsqlite3 opens, and IO.so has its functions looked up at
/// their first call.
#[test]
fn calls_of_libraries_are_noticed_and_what_they_open_is_closed() {
    mehari_harness::needs!("libdbi-perl", "libdbd-sqlite3-perl");
    let opens = "our $db = DBI->connect(\"dbi:SQLite:dbname=$ENV{DOCUMENT_ROOT}/left.db\"); \
        $db->do('create table if not exists t (x)'); $db->{InactiveDestroy} = 1; \
        our $left = \\(DBI->connect('dbi:SQLite:dbname=:memory:'));";
    let tells =
        format!("my @open = map {{ readlink }} glob '/proc/self/fd/*'; {WHO} print \" @open\";");
    let script = format!(
        "if ($ENV{{QUERY_STRING}}) {{ {opens} }} IO::Handle::blocking(\\*STDIN, 1); {tells}"
    );
    let server = Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule DBI DBD::SQLite IO::Handle\n")
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("scripts/opens.pl", &plain(&script))
        .start();
    let before = get(&server, "opens.pl");
    for _ in 0..5 {
        let with = server.get(&format!("{}?open", Rung::Rewind.url("opens.pl")));
        assert!(with.expect(200).contains("/left.db"));
        assert_eq!(get(&server, "opens.pl"), before);
    }
    all_memory_was_put_back(&server);
}

/// Only in a build with AddressSanitizer: after many rewinds of a process the sanitizer still knows
/// which memory may be used (perl/xs/rewind/shadow.c).
#[test]
fn sanitizer_finds_a_read_behind_a_value_in_a_rewound_process() {
    if !mehari_harness::is_sanitized() {
        return;
    }
    let reads = "my $address = unpack 'J', pack 'p', my $small = 'x' x 40; print 'ok'; \
        print length unpack 'P4000', pack 'J', $address if $ENV{QUERY_STRING};";
    let builder = Server::builder();
    let report = builder.folder_of("report").display().to_string();
    let server = builder
        .ladder()
        .conf(&workers(1))
        .file("scripts/reads.pl", &plain(reads))
        .conf(&format!("PerlSetEnv ASAN_OPTIONS log_path={report}\n"))
        .start();
    let url = Rung::Rewind.url("reads.pl");
    for _ in 0..20 {
        assert_eq!(server.get(&url).expect(200), "ok");
    }
    let rewinds = server.status()["pool"]["scripts"][0]["rewinds"].as_u64();
    assert!(rewinds > Some(8), "{rewinds:?}");
    assert_eq!(server.get(&format!("{url}?do")).status, 500);
    let files = std::fs::read_dir(server.site.root()).expect("the site");
    let texts = files.flatten().filter_map(|file| {
        let is_report = file.file_name().to_string_lossy().starts_with("report.");
        is_report.then(|| std::fs::read_to_string(file.path()).unwrap_or_default())
    });
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains("heap-buffer-overflow"), "{texts:?}");
}

/// The sub that HTML::Entities compiles for CGI.pm is in the picture. A script's own string evals
/// have the same numbers as without it.
#[test]
fn escaping_of_cgi_pm_is_compiled_before_the_requests() {
    mehari_harness::needs!("libcgi-pm-perl", "libhtml-parser-perl");
    let evals = "sub evals { eval('__FILE__') =~ /(\\d+)/; $1 } my $first = evals();";
    let escapes = format!("{evals} print CGI::escapeHTML('<'), evals() - $first;");
    let server = |modules: &str| {
        Server::builder()
            .ladder()
            .conf(&workers(1))
            .conf(&format!("PerlModule {modules}\n"))
            .env("MEHARI_REWIND_COMPARE", "1")
            .file("scripts/escapes.pl", &plain(&escapes))
            .file(
                "scripts/first.pl",
                &plain(&format!("{evals} print $first;")),
            )
            .start()
    };
    let (with, without) = (server("CGI HTML::Entities"), server("CGI"));
    for rung in [Rung::Rewind, Rung::Auto, Rung::Fork] {
        let get = |server: &Server, name: &str| server.get(&rung.url(name)).expect(200);
        assert_eq!(get(&with, "escapes.pl"), "&lt;1");
        assert_eq!(get(&with, "first.pl"), get(&without, "first.pl"));
    }
    all_memory_was_put_back(&with);
}

/// Generators of random numbers. A start-up file loads them and draws a number from each, so the
/// picture contains seeded generators.
const GENERATORS: &[(&str, &str, &str)] = &[
    ("perl", "1", "rand() . rand()"),
    (
        "openssl",
        "require Crypt::OpenSSL::Random",
        "unpack 'H*', Crypt::OpenSSL::Random::random_bytes(8)",
    ),
    (
        "ssleay",
        "require Net::SSLeay",
        "do { Net::SSLeay::RAND_bytes(my $b, 8); unpack 'H*', $b }",
    ),
    (
        "cryptx",
        "require Crypt::PRNG",
        "unpack 'H*', Crypt::PRNG::random_bytes(8)",
    ),
    (
        "cryptx_object",
        "require Crypt::PRNG; our $prng = Crypt::PRNG->new",
        "unpack 'H*', $Generators::prng->bytes(8)",
    ),
    (
        "data_uuid",
        "require Data::UUID; our $uuid = Data::UUID->new",
        "$Generators::uuid->create_str",
    ),
    (
        "uuid",
        "require UUID",
        "do { UUID::generate_random(my $u); unpack 'H*', $u }",
    ),
    (
        "math_secure",
        "require Math::Random::Secure",
        "Math::Random::Secure::irand() . '-' . Math::Random::Secure::irand()",
    ),
    (
        "bytes_secure",
        "require Bytes::Random::Secure",
        "unpack 'H*', Bytes::Random::Secure::random_bytes(8)",
    ),
    (
        "session_token",
        "require Session::Token",
        "Session::Token->new->get",
    ),
    (
        "urandom",
        "require Crypt::URandom",
        "unpack 'H*', Crypt::URandom::urandom(8)",
    ),
    (
        "seed_object",
        "require Crypt::Random::Seed; our $seed = Crypt::Random::Seed->new(NonBlocking => 1)",
        "unpack 'H*', $Generators::seed->random_bytes(8)",
    ),
    (
        "bytes_object",
        "require Bytes::Random::Secure; our $bytes = Bytes::Random::Secure->new(Bits => 64)",
        "$Generators::bytes->bytes_hex(8)",
    ),
    (
        "isaac",
        "require Math::Random::ISAAC",
        "join '-', map $_->irand, (Math::Random::ISAAC->new(map int rand 2**32, 1 .. 4)) x 2",
    ),
    (
        "mersenne_twister",
        "require Math::Random::MT",
        "join '-', map $_->rand, (Math::Random::MT->new) x 2",
    ),
    (
        "uuid_urandom",
        "require UUID::URandom",
        "UUID::URandom::create_uuid_hex()",
    ),
    (
        "device",
        "open our $device, '<', '/dev/urandom' or die",
        "do { read $Generators::device, my $b, 8; unpack 'H*', $b }",
    ),
];

#[test]
fn random_bytes_never_repeat() {
    let mut startup = String::from("package Generators;\nour %draw;\n");
    for (name, load, draw) in GENERATORS {
        // Modules that are not installed are skipped. packaging/needs/test lists all modules.
        startup.push_str(&format!(
            "eval {{ {load}; 1 }} and $draw{{{name}}} = sub {{ {draw} }};\n"
        ));
    }
    startup.push_str("$_->() for values %draw;\n1;\n");
    let server = Server::builder()
        .ladder()
        .file("startup.pl", &startup)
        .file(
            "scripts/draw.pl",
            &plain("print map { \"$_ \" . $Generators::draw{$_}->() . \"\\n\" } sort keys %Generators::draw;"),
        )
        .conf(&workers(2))
        .conf("PerlRequire startup.pl\n")
        .start();
    let requests =
        std::env::var("MEHARI_TEST_DRAWS").map_or(100, |it| it.parse().expect("a number"));
    let mut drawn = HashSet::new();
    for _ in 0..requests {
        for line in get(&server, "draw.pl").lines() {
            assert!(drawn.insert(line.to_owned()), "`{line}` came twice");
        }
    }
    assert!(drawn.len() >= requests, "{} were drawn", drawn.len());
    assert_eq!(server.log.count("runs as on the rung `fork`"), 0);
}
