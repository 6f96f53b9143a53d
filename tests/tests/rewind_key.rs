//! A script overwrites memory that survives a rewind. Where the processor and the kernel have
//! protection keys, the write ends the process, and neither its template nor a later request
//! notices anything (perl/xs/rewind/key.c). Elsewhere the write is done, and the template and its
//! process are replaced.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{needs_machine, Request, Rung, Server};

/// Writes zeros to the first 4096 bytes of a mapping, by a plain store: an object of the module B
/// makes a string of the memory at any address.
const WRITE: &str = "
    sub address { unpack 'J', pack 'p', $_[0] }
    sub empty {
        our $body = pack 'J4', 0, 0, 4096, 4096;
        our $head = pack 'JLLJ', address($body), 1000, 0x4403, $_[0];
        my $string = bless(\\(my $at = address($head)), 'B::SV')->object_2svref;
        vec($$string, $_, 64) = 0 for 0 .. 511;
    }
    sub maps { open my $maps, '<', '/proc/self/maps' or die; \
        map { /^(\\w+)-.* .*$_[0]/ ? hex $1 : () } <$maps> }
";

/// With `MEMORY NUMBER` in the query, overwrites this mapping. Otherwise prints how often this code
/// has run, its template, and the number of mappings of each kind.
const SCRIPT: &str = "
    our $n;
    my ($memory, $number) = split /,/, $ENV{QUERY_STRING};
    if ($memory) { empty((maps($memory))[$number]); print 'done' }
    else { print join ' ', ++$n, getppid, scalar maps('/dev/zero'), scalar maps('r--p.*mehari.picture') }
";

/// Whether the kernel lets programs use the processor's protection keys.
fn has_keys() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").expect("the processors");
    text.split_whitespace().any(|word| word == "ospke")
}

fn server() -> Server {
    Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule B\n")
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("scripts/writes.pl", &plain(&format!("{WRITE}{SCRIPT}")))
        .start()
}

/// What the script prints: how often it has run, and three more numbers.
fn numbers(server: &Server) -> Vec<u64> {
    let text = server.get(&Rung::Rewind.url("writes.pl")).expect(200);
    let numbers: Option<_> = text.split(' ').map(|word| word.parse().ok()).collect();
    numbers.unwrap_or_else(|| panic!("another answer: {text}"))
}

/// Writes to each mapping of this kind three times. Returns what the script printed before and
/// after each write.
fn write_to_each(server: &Server, memory: &str, count: u64) -> Vec<(Vec<u64>, u16, Vec<u64>)> {
    let mut seen = Vec::new();
    for number in (0..count).flat_map(|number| [number; 3]) {
        let before = numbers(server);
        let url = format!("{}?{memory},{number}", Rung::Rewind.url("writes.pl"));
        let status = server.send(&Request::get(&url)).status;
        for _ in 0..3 {
            seen.push((before.clone(), status, numbers(server)));
        }
    }
    seen
}

#[test]
fn stray_write_to_what_survives_a_rewind_costs_only_its_own_request() {
    needs_machine!(cfg!(target_arch = "x86_64"), "the rung is of x86-64");
    let server = server();
    let mappings = numbers(&server)[2];
    assert!(mappings >= 3, "{mappings}");
    for (before, status, after) in write_to_each(&server, "/dev/zero", mappings) {
        assert_eq!(after[0], 1);
        if has_keys() {
            assert_eq!((status, &after), (500, &before), "{}", server.log.text());
        }
    }
    assert_eq!(server.log.count("not as they were"), 0);
    assert_eq!(server.log.count("signal 11") > 0, has_keys());
}

/// Pictures are read-only on every machine.
#[test]
fn stray_write_to_a_picture_costs_only_its_own_request() {
    needs_machine!(cfg!(target_arch = "x86_64"), "the rung is of x86-64");
    let server = server();
    let mappings = numbers(&server)[3];
    assert!(mappings >= 1, "{mappings}");
    for (before, status, after) in write_to_each(&server, "r--p.*mehari.picture", mappings) {
        assert_eq!((status, &after), (500, &before), "{}", server.log.text());
    }
    assert_eq!(server.log.count("not as they were"), 0);
}

/// The kernel closes all keys for signal handlers, and the server notes there that the script reads
/// its process number.
#[test]
fn number_of_the_process_is_read_in_a_handler_that_perl_does_not_defer() {
    let reads = "my $who; \
        POSIX::sigaction(POSIX::SIGUSR1(), POSIX::SigAction->new(sub { $who = \"$$\" })); \
        kill USR1 => getpgrp; print $who =~ /^\\d+$/ ? 'a number' : 'none';";
    let server = Server::builder()
        .ladder()
        .conf(&workers(1))
        .conf("PerlModule POSIX\n")
        .file("scripts/reads.pl", &plain(reads))
        .start();
    for _ in 0..3 {
        let answer = server.get(&Rung::Rewind.url("reads.pl"));
        assert_eq!(answer.expect(200), "a number");
    }
    server.log.expect("asks for the number of its process");
}
