//! Tests virtual hosts with their own workers and their own Perl.

use super::*;

const HOSTS: &str = "\
StartServers 3\nMaxClients 9\nPerlSwitches -w -I/main\nPerlModule Shared\nPerlSetEnv WHO main\n\
<VirtualHost *>\nServerName a.example\nPerlModule OfA Shared\nPerlSetEnv A 1\n</VirtualHost>\n\
<VirtualHost *>\nServerName b.example\nPerlOptions +Clone\nPerlInterpMax 2\nPerlModule OfB\n</VirtualHost>\n\
<VirtualHost *>\nServerName c.example\nPerlOptions +Parent\nPerlSwitches -Mlib=/c\nPerlModule OfC Shared\nPerlSetEnv C 1\nMaxRequestsPerChild 7\n</VirtualHost>\n\
<VirtualHost 10.0.0.1:80 [::1]:80>\nPerlOptions +Parent +InheritSwitches\n</VirtualHost>\n";

#[test]
fn a_host_inherits_the_settings_that_it_does_not_set() {
    let site = site(HOSTS);
    let preloads = |perl: usize| -> Vec<String> {
        let all = site.perls[perl].preloads.iter();
        all.map(|one| one.what.to_string()).collect()
    };
    assert_eq!(site.perls.len(), 3);
    assert_eq!(preloads(0), ["module Shared", "module OfA", "module OfB"]);
    assert_eq!(preloads(1), ["module OfC", "module Shared"]);
    assert!(preloads(2).is_empty());
    let switches = |perl: usize| site.perls[perl].switches.join(" ");
    assert_eq!(
        [0, 1, 2].map(switches),
        ["-w -I/main", "-Mlib=/c", "-w -I/main"]
    );
    let environment = |perl: usize| -> Vec<&str> {
        let all = site.perls[perl].set_env.iter();
        all.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(environment(0), ["WHO", "A"]);
    assert_eq!(environment(1), ["WHO", "C"]);
    let teams: Vec<_> = (site.teams.iter())
        .map(|team| {
            let policy = site.policy(team);
            (
                team.name.as_str(),
                team.perl,
                policy.start,
                policy.max,
                policy.max_requests,
            )
        })
        .collect();
    assert_eq!(
        teams,
        [
            ("", 0, Some(3), Some(9), Some(0)),
            ("b.example", 0, Some(3), Some(2), Some(0)),
            ("c.example", 1, Some(3), Some(9), Some(7)),
            ("10.0.0.1:80 [::1]:80", 2, Some(3), Some(9), Some(0)),
        ]
    );
    let served: Vec<_> = site.all_hosts().map(|host| host.team).collect();
    let marks: Vec<_> = site.teams.iter().map(|team| team.mark).collect();
    assert_eq!(served, [marks[0], marks[0], marks[1], marks[2], marks[3]]);
}

#[test]
fn a_team_mark_does_not_depend_on_the_hosts_before_it() {
    let of = |text: &str| site(text).teams.last().map(|team| team.mark);
    let host = "<VirtualHost *>\nServerName c.example\nPerlOptions +Clone\n</VirtualHost>\n";
    let other = "<VirtualHost *>\nServerName d.example\nPerlOptions +Parent\n</VirtualHost>\n";
    assert_eq!(of(host), of(&format!("{other}{host}")));
    let twice = site(&format!("{host}{host}"));
    assert_ne!(twice.teams[1].mark, twice.teams[2].mark);
}

#[test]
fn worker_lines_need_a_host_with_its_own_workers() {
    let inside = |lines: &str| format!("<VirtualHost *>\n{lines}</VirtualHost>\n");
    let told = problems(&inside("MaxClients 3\nPerlSwitches -w\n"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("2:1: MaxRequestWorkers has no effect"),
        "{told:?}"
    );
    assert!(
        told[0].ends_with("expected `PerlOptions +Clone` or `+Parent` in it"),
        "{told:?}"
    );
    assert!(
        told[1].ends_with("expected `PerlOptions +Parent` in it"),
        "{told:?}"
    );
    let told = problems(&inside(
        "PerlOptions +Clone\nPerlSwitches -w\nMaxClients 3\n",
    ));
    assert_eq!(told.len(), 1, "{told:?}");
    // The order of the lines does not matter, and an option that a later line removes has no
    // effect.
    site(&inside(
        "PerlSwitches -w\nPerlModule A\nPerlOptions +Parent\n",
    ));
    let told = problems(&inside(
        "PerlOptions +Parent\nPerlOptions -Parent\nStartServers 1\n",
    ));
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn spare_worker_limits_of_a_host_are_compared_too() {
    let told = problems(
        "MinSpareServers 4\n<VirtualHost *>\nPerlOptions +Clone\nMaxSpareServers 2\n</VirtualHost>\n",
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("4:1: expected MaxSpareServers to be at least"),
        "{told:?}"
    );
}

#[test]
fn limits_of_workers_that_contradict_one_another_are_refused() {
    for (lines, told) in [
        (
            "MaxWorkerMemory 20000000\nMaxUnsharedMemory 30000000\n",
            "2:1: expected MaxUnsharedMemory to be less than MaxWorkerMemory, which is 20000000, \
             not 30000000: a worker would always reach MaxWorkerMemory first",
        ),
        (
            "MinSharedMemory 20000000\nMaxWorkerMemory 20000000\n",
            "2:1: expected MinSharedMemory to be less than MaxWorkerMemory, which is 20000000, \
             not 20000000: every worker would be beyond one of the two",
        ),
        (
            "MaxWorkerMemory 20000000\n<VirtualHost *>\nPerlOptions +Clone\n\
             MinSharedMemory 30000000\n</VirtualHost>\n",
            "4:1: expected MinSharedMemory to be less than MaxWorkerMemory, which is 20000000, \
             not 30000000: every worker would be beyond one of the two",
        ),
        (
            "WorkerIdleTimeout 300 All\nWorkerQueue 0\n",
            "2:1: expected a WorkerQueue of at least 1 beside `WorkerIdleTimeout ... All`: a \
             request waits in the queue while its worker is forked",
        ),
        (
            "WorkerIdleTimeout 300 Al\n",
            "1:23: expected All or nothing, not `Al`",
        ),
        (
            "WorkerIdleTimeout 0\n",
            "1:19: expected seconds, 1 to 2592000 (or 90s, 2min), not `0`",
        ),
    ] {
        assert_eq!(problems(lines), [told], "{lines}");
    }
    let limits = site("WorkerIdleTimeout 2min all\n").workers().limits;
    assert_eq!(
        limits.idle.map(|idle| (idle.time.as_secs(), idle.ends_all)),
        Some((120, true))
    );
    let lines = "MinSharedMemory 2000000\nMaxUnsharedMemory 10000000\nMaxWorkerMemory 20000000\n\
         MaxWorkerLifetime 1h\nWorkerIdleTimeout 90\n";
    let limits = site(lines).workers().limits;
    assert_eq!(limits.memory, Some(20_000_000));
    assert_eq!(limits.lifetime.map(|time| time.as_secs()), Some(3600));
    assert_eq!(
        limits.idle.map(|idle| (idle.time.as_secs(), idle.ends_all)),
        Some((90, false))
    );
}
