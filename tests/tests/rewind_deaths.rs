//! The process that serves a script's requests for a worker is killed between any two of its
//! effects (see `mehari_harness::stepping`), and so is its template, or the worker. Whatever the
//! process had done by then: each client gets its own answer, no request runs twice, and the
//! server's other processes go on.
#![cfg(target_arch = "x86_64")]

use mehari_harness::processes::{self, Pid};
use mehari_harness::scripts::{plain, workers};
use mehari_harness::stepping::{Stepper, Steps};
use mehari_harness::{eventually, Connection, Request, Rung, Server, PATIENCE};

/// What follows `getppid` runs one instruction at a time, up to the first `open`. Each script notes
/// its request and its template.
const ECHO: &str =
    "my $template = getppid; open my $f, '>>', \"$ENV{SCRIPT_FILENAME}.runs\" or die; \
    syswrite $f, \"$ENV{QUERY_STRING} $template\\n\"; local $/; \
    print \"$ENV{QUERY_STRING} \", length(<STDIN> // '');";
/// Head and body are records of their own.
const STREAMS: &str = "$| = 1; my $template = getppid; print \"$ENV{QUERY_STRING} \"; print 0; \
    open my $f, '>>', \"$ENV{SCRIPT_FILENAME}.runs\" or die; \
    syswrite $f, \"$ENV{QUERY_STRING} $template\\n\";";
/// The response goes through a pipe, because another process may print too.
const SPAWNS: &str = "my $template = getppid; system 'true'; print \"$ENV{QUERY_STRING} 0\"; \
    open my $f, '>>', \"$ENV{SCRIPT_FILENAME}.runs\" or die; \
    syswrite $f, \"$ENV{QUERY_STRING} $template\\n\";";
const SCRIPTS: [(&str, &str); 4] = [
    ("one.pl", ECHO),
    ("two.pl", ECHO),
    ("streams.pl", STREAMS),
    ("spawns.pl", SPAWNS),
];
/// A body of this length comes through a file.
const LARGE: usize = 300_000;

/// Who is killed after an effect of the process that serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    TheProcess,
    ItsTemplate,
    ItsWorker,
}

struct Case {
    rung: Rung,
    victim: Victim,
    /// The script whose waiting process is traced.
    script: &'static str,
    /// Asked just before. If this is the same script, its process has the worker's mailbox;
    /// otherwise the process waits for an order.
    last: &'static str,
    /// Asked while the process is traced.
    asked: &'static str,
    body: usize,
}

/// A server with one worker.
fn server(rung: Rung) -> Server {
    let mut builder = Server::builder().ladder().conf(&format!(
        "{}WorkerQueueTimeout 60\nWorkerQueueTarget Off\n",
        workers(1)
    ));
    for (name, body) in SCRIPTS {
        builder = builder.file(&format!("scripts/{name}"), &plain(body));
    }
    let server = builder.start();
    for (name, _) in SCRIPTS {
        server.get(&rung.url(name)).expect(200);
    }
    server
}

/// The lines that the script has noted.
fn notes(server: &Server, script: &str) -> String {
    let path = server.site.path(&format!("scripts/{script}.runs"));
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The template of the script's last request.
fn template(server: &Server, script: &str) -> Pid {
    let text = notes(server, script);
    let last = text.trim_end().rsplit([' ', '\n']).next();
    let number = last.and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no template of {script}: {text}"))
}

/// The process of the template that waits for the script's next request.
fn waiting_child(server: &Server, template: Pid) -> Pid {
    let mut found = None;
    let waits = eventually(PATIENCE, || {
        let all = processes::descendants(server.pid());
        let mut children = all.iter().filter(|it| it.parent == template);
        found = children.find(|it| it.state == 'S').map(|it| it.pid);
        found.is_some()
    });
    assert!(waits, "no process of {template}");
    found.expect("it waits")
}

fn ask(server: &Server, case: &Case, script: &str, query: &str) -> Connection {
    let url = format!("{}?{query}", case.rung.url(script));
    let mut request = match case.body {
        0 => Request::get(&url),
        length => Request::post(&url, vec![b'a'; length]),
    };
    server.address(&mut request);
    let mut connection = server.connect();
    connection.write(&request.bytes());
    connection
}

fn runs(server: &Server, script: &str, query: &str) -> usize {
    let text = notes(server, script);
    let is_it = |line: &&str| line.split_once(' ').is_some_and(|(of, _)| of == query);
    text.lines().filter(is_it).count()
}

/// Reads the answers of the asked requests. Returns what is wrong.
fn judge(server: &Server, case: &Case, asked: Vec<(&str, String, Connection)>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut failed = 0;
    for (script, query, mut connection) in asked {
        let runs = runs_after(&mut connection, &query, case, &mut failed);
        let ran = self::runs(server, script, &query);
        match runs {
            Ok(least) if (least..=1).contains(&ran) => {}
            Ok(_) => wrong.push(format!("{script}?{query} ran {ran} times")),
            Err(why) => wrong.push(format!("{script}?{query}: {why}")),
        }
    }
    if failed > 1 {
        wrong.push(format!("{failed} requests failed"));
    }
    wrong
}

/// Reads one answer. Returns how often the request has run at least.
fn runs_after(
    connection: &mut Connection,
    query: &str,
    case: &Case,
    failed: &mut usize,
) -> Result<usize, String> {
    let answer = connection
        .read_answer("GET")
        .map_err(|error| error.to_string())?;
    match answer.status {
        200 if !answer.complete => {
            *failed += 1;
            Ok(0)
        }
        200 if answer.text() == format!("{query} {}", case.body) => Ok(1),
        500 | 502 => {
            *failed += 1;
            Ok(0)
        }
        status => Err(format!("{status} {:?}", answer.text())),
    }
}

/// Kills the case's victim after the process's effect with this number.
fn kill_at(server: &Server, case: &Case, effect: usize) -> (Steps, Vec<String>) {
    server.get(&case.rung.url(case.script)).expect(200);
    server.get(&case.rung.url(case.last)).expect(200);
    let (workers, lines) = (server.workers(), server.log.lines().len());
    let template = template(server, case.script);
    let process = waiting_child(server, template);
    let victim = match case.victim {
        Victim::TheProcess => process,
        Victim::ItsTemplate => template,
        Victim::ItsWorker => workers[0],
    };
    let stepper = Stepper::kill_after(process, effect, victim);
    let asked: Vec<_> = [case.asked, "two.pl", "one.pl"]
        .into_iter()
        .enumerate()
        .map(|(number, script)| {
            let query = format!("{effect}-{number}");
            let connection = ask(server, case, script, &query);
            (script, query, connection)
        })
        .collect();
    let mut wrong = judge(server, case, asked);
    let steps = stepper.finish();
    let new_lines = || server.log.lines().split_off(lines);
    let is_told = || {
        new_lines()
            .iter()
            .any(|it| it.contains("was ended by signal 9"))
    };
    if case.victim == Victim::ItsWorker && steps != Steps::Finished {
        assert!(eventually(PATIENCE, is_told), "{:#?}", new_lines());
    } else if case.victim == Victim::TheProcess && server.workers() != workers {
        wrong.push(format!("the worker was replaced: {:#?}", new_lines()));
    }
    let broken = new_lines();
    let broken = broken
        .iter()
        .filter(|line| line.contains("and is replaced"));
    wrong.extend(broken.cloned());
    (steps, wrong)
}

/// Kills the victim after each of the process's effects in turn, until the process has no more.
fn kill_everywhere(case: &Case) {
    let server = server(case.rung);
    let mut wrong = Vec::new();
    let mut effect = 0;
    loop {
        effect += 1;
        let (steps, faults) = kill_at(&server, case, effect);
        let place = format!("effect {effect}, {steps:?}");
        println!("{place}: {faults:?}");
        wrong.extend(faults.into_iter().map(|fault| format!("{place}: {fault}")));
        if steps == Steps::Finished {
            break;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(effect > 3, "only {effect} effects");
}

/// A case on the rung `rewind` without a body, in which the process dies.
fn rewound(script: &'static str, last: &'static str, asked: &'static str) -> Case {
    Case {
        rung: Rung::Rewind,
        victim: Victim::TheProcess,
        script,
        last,
        asked,
        body: 0,
    }
}

/// Kills this victim in each state in which the process may be.
fn kill_in_each_state(victim: Victim) {
    for case in [
        rewound("one.pl", "one.pl", "one.pl"),
        rewound("one.pl", "one.pl", "two.pl"),
        rewound("one.pl", "two.pl", "one.pl"),
        rewound("streams.pl", "streams.pl", "streams.pl"),
    ] {
        kill_everywhere(&Case { victim, ..case });
    }
}

#[test]
fn template_may_die_at_any_effect_of_its_process() {
    kill_in_each_state(Victim::ItsTemplate);
}

#[test]
fn worker_may_die_at_any_effect_of_the_process_that_serves_for_it() {
    kill_in_each_state(Victim::ItsWorker);
}

#[test]
fn process_that_has_the_mailbox_may_die_anywhere() {
    kill_everywhere(&rewound("one.pl", "one.pl", "one.pl"));
}

#[test]
fn process_may_die_while_it_streams() {
    kill_everywhere(&rewound("streams.pl", "streams.pl", "streams.pl"));
}

#[test]
fn process_may_die_while_its_script_has_processes() {
    kill_everywhere(&rewound("spawns.pl", "spawns.pl", "spawns.pl"));
}

#[test]
fn process_may_die_while_it_gives_the_mailbox_back() {
    kill_everywhere(&rewound("one.pl", "one.pl", "two.pl"));
}

#[test]
fn process_may_die_while_it_takes_an_order() {
    kill_everywhere(&rewound("one.pl", "two.pl", "one.pl"));
}

#[test]
fn process_of_one_request_may_die_anywhere() {
    let case = rewound("one.pl", "two.pl", "one.pl");
    kill_everywhere(&Case {
        rung: Rung::Fork,
        ..case
    });
}

#[test]
fn process_with_a_large_body_may_die_anywhere() {
    for last in ["one.pl", "two.pl"] {
        let case = rewound("one.pl", last, "one.pl");
        kill_everywhere(&Case {
            body: LARGE,
            ..case
        });
    }
}
