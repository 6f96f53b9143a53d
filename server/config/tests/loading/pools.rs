//! Tests `<PerlPool>`: its settings, who is assigned to it, and what is refused.

use super::*;

const POOLS: &str = "\
PerlSetEnv WHO main\nPerlSetEnv SHARED main\nPerlModule Main\nMaxClients 9\nWorkerQueue 50\n\
<PerlPool shop>\nUser shop\nGroup www\nPerlInterpreter /opt/perl\nPerlSwitches -Mlib=/shop\nPerlModule Shop\n\
PerlSetEnv WHO shop\nPerlSetEnv KEY 1\nMaxClients 3\nWorkerQueue 7\nPerlPoolCgroup shop memory.max=2G\n</PerlPool>\n\
<PerlPool wiki>\nPerlSetEnv WHO wiki\n</PerlPool>\n\
<Location /wiki>\nPerlPool wiki\nSetHandler psgi\nPSGIApp wiki.psgi\n</Location>\n\
<VirtualHost *>\nServerName a.example\nPerlPool shop\nPerlModule OfA\nPerlSetEnv SHARED host\n\
<Location /wiki2>\nPerlPool wiki\n</Location>\n</VirtualHost>\n";

#[test]
fn a_pool_has_its_own_perl_workers_user_and_cgroup() {
    let site = site(POOLS);
    let names: Vec<&str> = site.teams.iter().map(|team| team.name.as_str()).collect();
    assert_eq!(names, ["", "shop", "wiki"]);
    let (shop, pool) = site.pools().next().expect("a pool");
    assert_eq!(
        (pool.user.as_deref(), pool.group.as_deref()),
        (Some("shop"), Some("www"))
    );
    let cgroup = pool.cgroup.clone().expect("a cgroup");
    assert_eq!(cgroup.path, Path::new("shop"));
    assert_eq!(cgroup.values, [("memory.max".to_owned(), "2G".to_owned())]);
    let policy = site.policy(shop);
    assert_eq!((policy.max, policy.longest_queue()), (Some(3), 7));
    assert_eq!(site.workers().longest_queue(), 50);
    let preloads = |perl: usize| -> Vec<String> {
        let all = site.perls[perl].preloads.iter();
        all.map(|one| one.what.to_string()).collect()
    };
    assert_eq!(preloads(0), ["module Main"]);
    assert_eq!(preloads(1), ["module Shop", "module OfA"]);
    assert!(preloads(2)[0].ends_with("wiki.psgi"), "{:?}", preloads(2));
    assert_eq!(site.perls[1].interpreter, Path::new("/opt/perl"));
    assert_eq!(site.perls[2].interpreter, Path::new("perl"));
    assert_eq!(site.perls[1].switches, ["-Mlib=/shop"]);
    assert_eq!(site.owner_of(2), Some("wiki"));
    assert_eq!((site.host_of_perl(1), site.host_of_perl(2)), (1, 0));
}

#[test]
fn sections_and_hosts_are_assigned_to_pools_with_their_variables() {
    let site = site(POOLS);
    let settings = |host: u32, path: &str| site.host(host).settings(path, None);
    let told = |host: u32, path: &str| {
        let settings = settings(host, path);
        let programs = &settings.programs;
        let value = |name: &str| {
            let mut set = programs.perl_env.iter();
            set.find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        let pool = programs.pool.as_ref().map(|pool| pool.name.clone());
        let all = [pool, value("WHO"), value("SHARED"), value("KEY")];
        all.map(|one| one.unwrap_or_default()).join(" ")
    };
    assert_eq!(told(0, "/"), " main main ");
    assert_eq!(told(0, "/wiki/x"), "wiki wiki main ");
    assert_eq!(told(1, "/"), "shop shop host 1");
    // A section of another pool does not see the variables of the host's pool.
    assert_eq!(told(1, "/wiki2"), "wiki wiki host ");
    let host = site.host(1);
    assert_eq!((host.team, host.perl), (site.teams[1].mark, 1));
    let pool = settings(1, "/wiki2").programs.pool.clone().expect("a pool");
    assert_eq!(pool.mark, site.teams[2].mark);
}

#[test]
fn marks_of_pools_stay_when_others_come_before_them() {
    let mark = |text: &str| site(text).teams.last().expect("a team").mark;
    let alone = mark("<PerlPool b>\n</PerlPool>\n");
    assert_eq!(
        mark("<PerlPool a>\n</PerlPool>\n<PerlPool b>\n</PerlPool>\n"),
        alone
    );
}

#[test]
fn bad_input_about_pools_gets_one_line_with_its_position() {
    for (lines, told) in [
        (
            "<PerlPool shop>\n</PerlPool>\n<Location />\nPerlPool shpo\n</Location>\n",
            "4:10: there is no `<PerlPool shpo>`; expected one in this configuration; did you mean `shop`?",
        ),
        (
            "<PerlPool shop>\n</PerlPool>\n<PerlPool shop>\n</PerlPool>\n",
            "3:11: @:1 has <PerlPool shop> already; expected another name",
        ),
        (
            "<PerlPool a/b>\n</PerlPool>\n",
            "1:11: expected a name of letters, digits, `-`, `_` and `.`, at most 64, not `a/b`",
        ),
        ("<PerlPool>\n</PerlPool>\n", "1:2: expected `<PerlPool NAME>`"),
        (
            "<VirtualHost *>\n<PerlPool shop>\n</PerlPool>\n</VirtualHost>\n",
            "2:2: <PerlPool> cannot stand in another section",
        ),
        (
            "<Location />\n<PerlPool shop>\n</PerlPool>\n</Location>\n",
            "2:2: <PerlPool> cannot stand in another section",
        ),
        (
            "<PerlPool shop>\n<Location />\n</Location>\n</PerlPool>\n",
            "2:2: <Location> cannot stand in <PerlPool>",
        ),
        (
            "<PerlPool shop>\nGroup www\n</PerlPool>\n",
            "1:2: <PerlPool shop>: Group needs User; expected `User NAME` in this section",
        ),
        (
            "<PerlPool shop>\nMaxClients 2\nStartServers 3\n</PerlPool>\nStartServers 1\n",
            "3:1: expected MaxRequestWorkers to be at least StartServers, which is 3, not 2",
        ),
        (
            "<PerlPool shop>\nMaxWorkerMemory 20000000\nMaxUnsharedMemory 30000000\n</PerlPool>\n\
             MaxWorkerMemory 40000000\n",
            "3:1: expected MaxUnsharedMemory to be less than MaxWorkerMemory, which is 20000000, \
             not 30000000: a worker would always reach MaxWorkerMemory first",
        ),
        (
            "<PerlPool shop>\n</PerlPool>\nPerlPool shop\n",
            "3:1: PerlPool needs a section; expected it in <VirtualHost>, <Location>, <Directory> \
             or <Files>",
        ),
        (
            "PerlPoolCgroup shop\n",
            "1:1: PerlPoolCgroup needs a section; expected it in <PerlPool>",
        ),
        (
            "<PerlPool shop>\nPerlPoolCgroup shop memory=2G\n</PerlPool>\n",
            "2:21: expected FILE=VALUE such as memory.max=2G, not `memory=2G`",
        ),
        (
            "<PerlPool shop>\n</PerlPool>\n<VirtualHost *>\nPerlOptions +Clone\nPerlPool shop\n</VirtualHost>\n",
            "5:1: a <VirtualHost> has workers of its own (PerlOptions +Clone, +Parent) or those of \
             a PerlPool, not both",
        ),
        (
            "<PerlPool shop>\n</PerlPool>\n<VirtualHost *>\nPerlPool shop\nMaxClients 3\n</VirtualHost>\n",
            "5:1: MaxRequestWorkers has no effect in a <VirtualHost> with PerlPool; expected it in \
             the <PerlPool>",
        ),
        (
            "<PerlPool shop>\n<Perl>\n1;\n</Perl>\n</PerlPool>\n",
            "2:2: <Perl> cannot stand in <PerlPool>, because it runs while the configuration is \
             read; expected PerlModule or PerlRequire",
        ),
        (
            "<PerlPool shop>\n</PerlPool>\n<Location />\n<If \"true\">\nPerlPool shop\n</If>\n</Location>\n",
            "5:10: expected PerlPool in <Location>, <Directory> or <Files> itself, because the pool \
             must be known before the request is",
        ),
        (
            "<PerlPool shop>\nMaxClients 3\n",
            "1:1: <PerlPool> is not closed; expected </PerlPool> in the same file",
        ),
    ] {
        let found: Vec<String> = problems(lines).iter().map(|line| masked(line)).collect();
        assert_eq!(found, [told], "{lines}");
    }
}

/// Replaces the name of the file by `@`.
fn masked(line: &str) -> String {
    match (line.find('/'), line.find("httpd.conf:")) {
        (Some(from), Some(to)) if from < to => {
            format!("{}@{}", &line[..from], &line[to + "httpd.conf".len()..])
        }
        _ => line.to_owned(),
    }
}
