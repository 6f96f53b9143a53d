//! Tests which logs get the line of a request: `CustomLog` and `GlobalLog` of the main server and
//! of hosts, and logs with a condition. Each log must have the lines that it has in Apache.

use mehari_harness::{apache, eventually, Builder, Request, Server, PATIENCE};

fn site() -> Builder {
    Server::builder()
        .folder("logs")
        .file("htdocs/page.html", "a page")
        .conf(
            "ServerName main\nLogFormat \"%{Host}i %U\" short\n\
             SetEnvIf Request_URI quiet quiet\n\
             <VirtualHost *:*>\nServerName with\nCustomLog logs/own short\n</VirtualHost>\n\
             <VirtualHost *:*>\nServerName without\n</VirtualHost>\n\
             <VirtualHost *:*>\nServerName silent\nCustomLog /dev/null short\n</VirtualHost>\n\
             CustomLog logs/main short\nGlobalLog logs/all short\n\
             GlobalLog logs/loud short env=!quiet\n\
             <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n",
        )
}

const LOGS: [(&str, usize); 4] = [("own", 2), ("main", 2), ("all", 6), ("loud", 3)];

#[test]
fn logs_of_all_hosts_have_the_lines_that_they_have_in_apache() {
    let mut found = Vec::new();
    for server in apache::beside(site) {
        for host in ["with", "without", "silent"] {
            for target in ["/page.html", "/quiet.html"] {
                let answer = server.send(&Request::get(target).host(host));
                assert!([200, 404].contains(&answer.status), "{target}");
            }
        }
        let lines = |name: &str| {
            let text = server.site.read(&format!("logs/{name}"));
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        for (name, count) in LOGS {
            let has = eventually(PATIENCE, || lines(name).len() >= count);
            assert!(has, "{name}: {:?}", lines(name));
        }
        found.push(LOGS.map(|(name, _)| (name, lines(name))));
    }
    for (number, logs) in found.iter().enumerate() {
        assert_eq!(*logs, found[0], "server {number}");
    }
    for ((_, lines), (name, count)) in found[0].iter().zip(LOGS) {
        assert_eq!(lines.len(), count, "{name}: {lines:?}");
    }
}

#[test]
fn a_log_of_all_hosts_cannot_stand_in_a_host() {
    let conf = "<VirtualHost *:*>\nGlobalLog logs/all combined\n</VirtualHost>\n";
    let builder = || Server::builder().folder("logs").conf(conf);
    let log = builder().try_start().err().expect("a problem").text();
    assert!(
        log.contains("GlobalLog cannot stand in <VirtualHost>"),
        "{log}"
    );
    if mehari_harness::needs::packages(&apache::PACKAGES) {
        assert!(builder().on_apache().try_start().is_err());
    }
}
