//! Tests what a script learns when a program to which it writes has ended. As under Apache's
//! prefork MPM, SIGPIPE is ignored in the script and in the programs that it starts.

use mehari_harness::scripts::plain;
use mehari_harness::{Builder, Pair, Request, Rung, Server};

/// Starts a program, and waits until it has ended.
const ENDED: &str =
    "open my $to, '|-', 'exec true' or die; select undef, undef, undef, 0.2; $to->autoflush; ";

/// Scripts for all rungs.
const SCRIPTS: &[(&str, &str)] = &[
    ("print", "my $done = print $to 'x' x 100_000; print $done ? 'written' : qq{failed: $!}; print ' ', close $to ? 'closed' : 'not closed'"),
    ("syswrite", "print syswrite($to, 'x') // qq{failed: $!}"),
    ("signal", "print $SIG{PIPE}"),
    ("handler", "local $SIG{PIPE} = sub { print 'handled ' }; print $to 'x'; print 'went on'"),
    ("shell", "print `sh -c '(seq 1 200000; echo status \\$? >&2) | head -1 >/dev/null' 2>&1`"),
    ("killed", "print system('sh', '-c', 'kill -PIPE $$; exit 7') >> 8"),
];

/// Scripts with a process of their own, whose children print too.
const PROGRAMS: &[(&str, &str)] = &[
    ("child", "my $pid = fork; if (!$pid) { my $done = print $to 'x'; exit($done ? 1 : 2) } waitpid $pid, 0; print $? >> 8"),
    ("reader", "my $pid = open my $from, '-|'; if (!$pid) { $| = 1; 1 while print 'x' x 100_000; exit 3 } read $from, my $some, 10; close $from; print qq{$some }, $? >> 8"),
    ("sysreader", "my $pid = open my $from, '-|'; if (!$pid) { $| = 1; 1 while syswrite STDOUT, 'x' x 100_000; exit 3 } read $from, my $some, 10; close $from; print qq{$some }, $? >> 8"),
    ("exec", "$| = 1; exec 'sh', '-c', q{(seq 1 200000; echo status $? >&2) 2>&1 | head -1; kill -PIPE $$; echo lives}"),
];

const OF_PROCESSES: [Rung; 4] = [Rung::Cgi, Rung::Fork, Rung::Rewind, Rung::Auto];

fn site(is_apache: bool) -> Builder {
    let mut builder = Server::builder();
    for (name, code) in SCRIPTS.iter().chain(PROGRAMS) {
        let text = plain(&format!("{ENDED}{code};"));
        builder = builder.file(&format!("scripts/{name}.pl"), &text);
    }
    let folder = builder.folder_of("scripts");
    let sections = Rung::ALL.map(|rung| {
        if is_apache && OF_PROCESSES.contains(&rung) {
            let program = Rung::Cgi.section(&folder);
            program.replace("/cgi/", &format!("/{}/", rung.name()))
        } else {
            rung.section(&folder)
        }
    });
    builder.conf(&sections.concat())
}

fn compare(pair: &mut Pair) {
    let mut differences = Vec::new();
    let all = SCRIPTS.iter().map(|script| (script, &Rung::ALL[..]));
    let own = PROGRAMS.iter().map(|script| (script, &OF_PROCESSES[..]));
    for ((name, _), rungs) in all.chain(own) {
        for rung in rungs {
            let request = Request::get(&rung.url(&format!("{name}.pl")));
            differences.extend(pair.compare(&request).err());
        }
    }
    let logs = pair.ends_of_logs();
    assert!(differences.is_empty(), "{}\n{logs}", differences.join("\n"));
}

#[test]
fn script_that_writes_to_an_ended_program_gets_an_error() {
    let mut sites = [true, false].into_iter();
    let mut pair = Pair::start_each(|| site(sites.next().unwrap_or_default()));
    compare(&mut pair);
    assert!(pair.get("/fork/signal.pl").text().contains("IGNORE"));
}

/// Such a program is started in another way (server/cgi).
#[test]
fn limited_program_ignores_broken_pipes_too() {
    let mut pair = Pair::start(|| {
        let text = plain(&format!("{ENDED}{};", SCRIPTS[0].1));
        let builder = Server::builder().file("scripts/print.pl", &text);
        let section = Rung::Cgi.section(&builder.folder_of("scripts"));
        builder.conf(&format!("{section}RLimitCPU 20\n"))
    });
    let answer = pair.get("/cgi/print.pl");
    assert!(answer.text().contains("failed: Broken pipe"));
}
