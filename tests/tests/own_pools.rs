//! Tests `PerlOptions +Clone` and `+Parent`: virtual hosts with workers of their own and a Perl of
//! their own.

use mehari_harness::{
    eventually, processes, Answer, Builder, Connection, Request, Server, PATIENCE,
};
use rustix::process::Signal;

/// Returns a host `NAME.example` with a Perl of its own and the modules of the folder NAME.
fn parent(name: &str, more: &str) -> String {
    format!(
        "<VirtualHost *:80>\n\
            ServerName {name}.example\n\
            PerlOptions +Parent\n\
            PerlSwitches -Mlib=@ROOT@/{name}\n\
            PerlModule Version\n\
            <Location /version>\n\
                SetHandler modperl\n\
                PerlResponseHandler Version\n\
            </Location>\n\
            {more}\n\
        </VirtualHost>\n"
    )
}

/// Returns a module that prints `word` and its process number. With `wait=NAME` in the query, it
/// first waits for the file `NAME.go`.
fn version(word: &str) -> String {
    format!(
        "package Version;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
         our $VERSION = '{word}';\nour @begun;\n\
         sub begin {{ push @begun, $_[1]->server_hostname; return 0 }}\n\
         sub handler {{\n\
             my $r = shift;\n\
             my ($wait) = ($r->args // '') =~ /\\Await=(.+)/;\n\
             if ($wait) {{\n\
                 open my $note, '>', \"$wait.begun\" or die $!;\n\
                 for (1 .. 3000) {{ last if -e \"$wait.go\"; select undef, undef, undef, 0.01 }}\n\
             }}\n\
             $r->content_type('text/plain');\n\
             $r->print(\"{word} $$ @begun\");\n\
             return 0;\n\
         }}\n1;\n"
    )
}

fn two_versions() -> Builder {
    Server::builder()
        .file("one/Version.pm", &version("one"))
        .file("two/Version.pm", &version("two"))
        .conf("StartServers 1\nMaxClients 1\n")
}

fn of(server: &Server, host: &str) -> Answer {
    server.send(&Request::get("/version").host(&format!("{host}.example")))
}

/// Returns the word and the process number in a response.
fn answered(server: &Server, host: &str) -> (String, i32) {
    let text = of(server, host).expect(200);
    let mut words = text.split(' ').map(str::to_string);
    let word = words.next().unwrap_or_default();
    let pid = words.next().and_then(|pid| pid.parse().ok());
    (word, pid.expect("a process id"))
}

fn word(server: &Server, host: &str) -> String {
    let answer = of(server, host);
    let text = answer.text();
    match answer.status {
        200 => text.split(' ').next().unwrap_or_default().to_string(),
        status => status.to_string(),
    }
}

/// Returns the zygote with this process name.
fn zygote(server: &Server, name: &str) -> Option<i32> {
    let all = processes::descendants(server.pid());
    let title = format!("mehari zygote{name}");
    let line = |pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_named = |pid| line(pid).trim_end_matches(['\0', ' ']) == title;
    all.iter().map(|one| one.pid).find(|pid| is_named(*pid))
}

#[test]
fn two_hosts_have_two_versions_of_one_module() {
    let server = two_versions()
        .conf(&parent("one", "PerlChildInitHandler Version::begin"))
        .conf(&parent("two", ""))
        .start();
    assert_eq!(word(&server, "one"), "one");
    assert_eq!(word(&server, "two"), "two");
    let begun = of(&server, "one").expect(200);
    assert!(begun.ends_with(" one.example"), "{begun}");
    let begun = of(&server, "two").expect(200);
    assert!(!begun.contains("example"), "{begun}");
    for name in ["", " of one.example", " of two.example"] {
        assert!(zygote(&server, name).is_some(), "no zygote{name}");
    }
}

#[test]
fn workers_of_a_host_that_wait_hold_up_no_other_host() {
    let clone = |name: &str, limit: &str| {
        format!(
            "<VirtualHost *:80>\nServerName {name}.example\nPerlOptions +Clone\n{limit} \
             1\n</VirtualHost>\n"
        )
    };
    let server = two_versions()
        .conf("PerlSwitches -I@ROOT@/one\nPerlModule Version\n")
        .conf("<Location /version>\nSetHandler modperl\nPerlResponseHandler Version\n</Location>\n")
        .conf("<VirtualHost *:80>\nServerName main.example\n</VirtualHost>\n")
        .conf(&clone("one", "MaxClients"))
        .conf(&clone("two", "PerlInterpMax"))
        .start();
    let root = server.site.root().display().to_string();
    let mut waiting: Vec<Connection> = Vec::new();
    for number in 0..3 {
        let target = format!("/version?wait={root}/{number}");
        let mut connection = server.connect();
        connection.write(&Request::get(&target).host("one.example").closing().bytes());
        waiting.push(connection);
    }
    let begun = || (0..3).any(|number| server.site.path(&format!("{number}.begun")).exists());
    assert!(eventually(PATIENCE, begun), "{}", server.log.text());
    // One request runs and two wait for its worker. The other hosts have other workers.
    for host in ["two", "main", "two", "main"] {
        assert_eq!(word(&server, host), "one", "{host}");
    }
    let status = server.control(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    let teams = status["pool"]["teams"].as_array().expect("pools");
    let told: Vec<(&str, u64, u64)> = (teams.iter())
        .map(|team| {
            let number = |value: &serde_json::Value| value.as_u64().expect("a number");
            let host = team["host"].as_str().expect("a host");
            (host, number(&team["plan"]["max"]), number(&team["busy"]))
        })
        .collect();
    assert_eq!(told[1..], [("one.example", 1, 1), ("two.example", 1, 0)]);
    let page = server.control(&["status"]);
    let page = String::from_utf8_lossy(&page.stdout);
    assert!(page.contains("one.example (1 busy, 0 idle, "), "{page}");
    for number in 0..3 {
        std::fs::write(server.site.path(&format!("{number}.go")), "").expect("written");
    }
    for connection in &mut waiting {
        let answer = connection.read_answer("GET").expect("an answer");
        assert!(answer.expect(200).starts_with("one "));
    }
}

#[test]
fn workers_of_a_host_are_replaced_after_its_own_number_of_requests() {
    let server = two_versions()
        .conf(&parent("one", "MaxRequestsPerChild 2\nMaxClients 1"))
        .conf(&parent("two", "MaxClients 1"))
        .start();
    let (_, first) = answered(&server, "one");
    let (_, of_two) = answered(&server, "two");
    let replaced = eventually(PATIENCE, || answered(&server, "one").1 != first);
    assert!(replaced, "{}", server.log.text());
    assert_eq!(answered(&server, "two").1, of_two);
}

#[test]
fn module_that_does_not_load_stops_the_start_and_the_message_names_the_host() {
    let log = two_versions()
        .file("one/Broken.pm", "package Broken;\ndie 'no licence';\n")
        .conf(&parent("one", "PerlModule Broken"))
        .conf(&parent("two", "PerlModule Missing::Module"))
        .try_start()
        .err()
        .expect("it does not start");
    let text = log.text();
    assert!(
        text.contains("in the Perl of one.example: module Broken cannot be loaded: no licence"),
        "{text}"
    );
    assert!(
        text.contains("in the Perl of two.example: module Missing::Module"),
        "{text}"
    );
}

#[test]
fn reload_replaces_all_hosts_or_none() {
    let server = two_versions()
        .conf(&parent("one", ""))
        .conf(&parent("two", ""))
        .start();
    let write = |file: &str, text: &str| {
        std::fs::write(server.site.path(file), text).expect("written");
    };
    write("one/Version.pm", &version("newer"));
    write("two/Version.pm", "package Version;\ndie 'half an edit';\n");
    server.signal(Signal::Hup);
    server.log.expect("the new generation is dropped");
    assert_eq!(word(&server, "one"), "one");
    assert_eq!(word(&server, "two"), "two");
    write("two/Version.pm", &version("newest"));
    server.signal(Signal::Hup);
    server.log.expect("generation 3 serves");
    assert_eq!(word(&server, "one"), "newer");
    assert_eq!(word(&server, "two"), "newest");
}

#[test]
fn hosts_come_and_go_with_a_reload() {
    let server = two_versions()
        .conf(&parent("one", ""))
        .conf(&parent("two", ""))
        .start();
    assert_eq!(word(&server, "two"), "two");
    let conf = server.site.path("httpd.conf");
    let text = std::fs::read_to_string(&conf).expect("the configuration");
    // The first host is removed, so the second host becomes the first.
    let (before, rest) = text.split_once("<VirtualHost").expect("a host");
    let (_, after) = rest.split_once("</VirtualHost>").expect("its end");
    std::fs::write(&conf, format!("{before}{after}")).expect("written");
    server.signal(Signal::Hup);
    server.log.expect("generation 2 serves");
    assert_eq!(word(&server, "two"), "two");
    let gone = || zygote(&server, " of one.example").is_none();
    assert!(
        eventually(PATIENCE, gone),
        "the zygote of a host that is gone stays"
    );
    assert!(zygote(&server, " of two.example").is_some());
    std::fs::write(&conf, text).expect("written");
    server.signal(Signal::Hup);
    server.log.expect("generation 3 serves");
    assert_eq!(word(&server, "one"), "one");
    assert_eq!(word(&server, "two"), "two");
}

#[test]
fn killed_zygote_of_a_host_is_started_again_and_its_workers_go_on() {
    let server = two_versions()
        .conf(&parent("one", "MaxClients 1"))
        .conf(&parent("two", ""))
        .start();
    let (_, before) = answered(&server, "one");
    let killed = zygote(&server, " of one.example").expect("a zygote");
    processes::signal(killed, Signal::Kill);
    server
        .log
        .expect("the zygote of generation 1 of one.example is gone");
    assert_eq!(answered(&server, "one"), ("one".to_string(), before));
    assert_eq!(word(&server, "two"), "two");
    server
        .log
        .expect("the zygote of generation 1 of one.example is back");
    processes::signal(before, Signal::Kill);
    let replaced = || of(&server, "one").status == 200 && answered(&server, "one").1 != before;
    assert!(eventually(PATIENCE, replaced), "{}", server.log.text());
    assert_eq!(word(&server, "one"), "one");
}

#[test]
fn perl_sections_and_start_up_files_of_a_host_run_in_its_own_perl() {
    let startup = "use Apache2::ServerUtil ();\nuse Apache2::ServerRec ();\n\
        Apache2::ServerUtil->server->push_handlers(PerlChildInitHandler => sub { $Version::VERSION .= '+init'; return 0 });\n\
        package Said; our $count;\nsub handler { $_[0]->content_type('text/plain'); $_[0]->print($Version::VERSION . ' ' . ++$count); return 0 }\n1;\n";
    let more = "PerlRequire @ROOT@/startup.pl\n\
        <Perl>\n$Location{'/said'} = { SetHandler => 'modperl', PerlResponseHandler => 'Said', PerlSetVar => \"Of $Version::VERSION\" };\n</Perl>";
    let server = two_versions()
        .file("startup.pl", startup)
        .conf(&parent("one", more))
        .conf(&parent("two", more))
        .start();
    for host in ["one", "two"] {
        let said = server.send(&Request::get("/said").host(&format!("{host}.example")));
        assert_eq!(said.expect(200), format!("{host}+init 1"));
    }
}
