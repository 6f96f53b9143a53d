//! Tests the rung `rewind` on kernels and in containers that refuse system calls, and with large
//! pages of memory forbidden.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{needs_machine, Request, Rung, Server};

/// Prints the number of its process without asking the kernel for it, after writing to memory of
/// all kinds.
const DIRTY: &str = "our (@kept, %kept); push @kept, 'x' x (5000 + $_) for 1 .. 50; \
    $kept{$_} = [$_] for 1 .. 2000; $ENV{LEFT} = 'x' x 300_000; \
    open my $f, '<', '/proc/self/stat' or die; (my $who) = split ' ', <$f>; \
    print scalar(@kept), ' ', scalar(keys %kept), ' ', $who;";

/// Makes the process refuse system calls, and executes the program in its arguments.
///
/// Each word before `--` names a system call by its number on x86-64. `NUMBER:BITS` refuses the
/// call only if its second argument has one of the bits.
const REFUSING: &str = r#"
my ($ALLOW, $EPERM, $LOAD, $IS, $HAS, $RETURN) = (0x7fff_0000, 0x0005_0001, 0x20, 0x15, 0x45, 0x06);
my $filter = pack 'SCCL', $LOAD, 0, 0, 0;
while ((my $word = shift) ne '--') {
    my ($call, $bits) = split /:/, $word;
    $filter .= defined $bits
        ? pack 'SCCLSCCLSCCLSCCLSCCL', $IS, 0, 4, $call, $LOAD, 0, 0, 24, $HAS, 0, 1, $bits, $RETURN, 0, 0, $EPERM, $LOAD, 0, 0, 0
        : pack 'SCCLSCCL', $IS, 0, 1, $call, $RETURN, 0, 0, $EPERM;
}
$filter .= pack 'SCCL', $RETURN, 0, 0, $ALLOW;
my $program = pack 'Sx6P', length($filter) / 8, $filter;
my ($PRCTL, $NO_NEW_PRIVILEGES, $SECCOMP, $BY_FILTER) = (157, 38, 22, 2);
syscall($PRCTL, $NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
syscall($PRCTL, $SECCOMP, $BY_FILTER, $program) == 0 or die "seccomp: $!";
exec @ARGV or die "exec: $!";
"#;

/// Forbids large pages to the process and its children, and executes the program.
const WITHOUT_LARGE_PAGES: &str = r#"
my ($PRCTL, $NO_LARGE_PAGES) = (157, 41);
syscall($PRCTL, $NO_LARGE_PAGES, 1, 0, 0, 0) == 0 or die "prctl: $!";
exec @ARGV or die "exec: $!";
"#;

/// A call that waits for page faults in user space, and calls on another process's memory. Docker's
/// default rules refuse them.
const REFUSED_IN_CONTAINERS: [&str; 4] = ["323", "440", "310", "311"];
/// memfd_create with MFD_ALLOW_SEALING: the picture's file. Other memory files are allowed.
const SEALED_MEMORY_FILES: &str = "319:2";

fn server(starter: &[&str]) -> Server {
    Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule POSIX\n")
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("scripts/first.pl", &plain(DIRTY))
        .file("scripts/second.pl", &plain(DIRTY))
        .started_by(starter)
        .start()
}

fn refusing(calls: &[&str]) -> Server {
    let words = ["perl", "-e", REFUSING];
    server(&[&words[..], calls, &["--"]].concat())
}

/// Returns how many processes answered twenty requests of a script. On `auto`, the picture is taken
/// after three requests, which do not count.
fn processes_of(server: &Server, rung: Rung, script: &str) -> usize {
    for _ in 0..3 {
        server.get(&rung.url(script)).expect(200);
    }
    let mut processes: Vec<String> = (0..20)
        .map(|_| {
            let answer = server.send(&Request::get(&rung.url(script))).expect(200);
            let who = answer.strip_prefix("50 2000 ");
            who.unwrap_or_else(|| panic!("another answer: {answer}"))
                .to_owned()
        })
        .collect();
    processes.sort_unstable();
    processes.dedup();
    processes.len()
}

#[test]
fn memory_is_put_back_without_large_pages() {
    needs_machine!(cfg!(target_arch = "x86_64"), "the numbers are of x86-64");
    let server = server(&["perl", "-e", WITHOUT_LARGE_PAGES]);
    for rung in [Rung::Rewind, Rung::Auto] {
        assert_eq!(processes_of(&server, rung, "first.pl"), 1);
    }
    assert_eq!(server.log.count("not as they were"), 0);
}

#[test]
fn container_that_refuses_userfaultfd_still_rewinds() {
    needs_machine!(cfg!(target_arch = "x86_64"), "the numbers are of x86-64");
    let server = refusing(&REFUSED_IN_CONTAINERS);
    for rung in [Rung::Rewind, Rung::Auto] {
        assert_eq!(processes_of(&server, rung, "first.pl"), 1);
    }
    assert_eq!(server.log.count("not as they were"), 0);
    assert_eq!(server.log.count("as on"), 0);
}

#[test]
fn container_that_refuses_the_picture_forks_and_the_log_says_so_once() {
    needs_machine!(cfg!(target_arch = "x86_64"), "the numbers are of x86-64");
    let server = refusing(&[SEALED_MEMORY_FILES]);
    for rung in [Rung::Rewind, Rung::Auto] {
        for script in ["first.pl", "second.pl"] {
            assert_eq!(processes_of(&server, rung, script), 20);
        }
    }
    let line = server.log.expect("does not allow the rung rewind");
    assert!(line.contains("no memory file can be made"), "{line}");
    assert_eq!(server.log.count("as on"), 1, "{}", server.log.text());
}
