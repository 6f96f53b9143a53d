//! Programs that draw graphs of databases of rrdtool.

use super::{run, script, scripts_of, walk};
use mehari_harness::{needs, Builder, Request};
use std::path::Path;

/// A graph has the time of its drawing in it, and is drawn again after minutes only. Both servers
/// share this folder of graphs, so they send the same one.
fn graphs_of_both(name: &str) -> String {
    let folder = std::env::temp_dir().join(format!("mehari-graphs-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of the test");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&folder, mode).expect("own folder");
    folder.to_string_lossy().into_owned()
}

/// Writes log lines of this minute, and lets the package's program make databases of them.
fn count_log(program: &str, lines: &str, data: &Path) {
    let script = format!(
        "now=$(LC_ALL=C date '+%b %e %H:%M:%S'); sed \"s/^/$now host /\" > log <<'END'\n{lines}END\n\
         {program} --cat --logfile \"$PWD/log\" --daemon-rrd \"$PWD\" && chmod a+rw *"
    );
    run("/bin/sh", &["-c", &script], data);
}

fn mailgraph() -> Builder {
    let images = graphs_of_both("mailgraph");
    let site = script(
        "/usr/share/mailgraph/mailgraph.cgi",
        &[
            (
                "$tmp_dir = '/var/lib/mailgraph'",
                &format!("$tmp_dir = '{images}'"),
            ),
            ("/var/lib/mailgraph/", "@ROOT@/data/"),
        ],
    );
    let lines =
        "postfix/smtp[1]: 4F5A1B: to=<a@example.org>, relay=mx[192.0.2.1]:25, status=sent (ok)\n\
                 amavis[2]: (1-1) Blocked INFECTED (Eicar)\n\
                 postgrey[3]: action=greylist, reason=new, client_name=x\n";
    count_log("/usr/sbin/mailgraph", lines, &site.folder_of("data"));
    site
}

#[test]
#[ignore = "its packages are large: make programs"]
fn mailgraph_draws_the_same_graphs() {
    needs!("mailgraph");
    let pages = ["", "?0-n", "?1-e", "?3-g", "?0-n", "?x", "?9-n"];
    let requests = pages.map(|page| Request::get(&format!("/mailgraph.cgi{page}")));
    walk(mailgraph, &[], &requests, "Mail statistics");
    std::fs::remove_dir_all(graphs_of_both("mailgraph")).expect("own folder");
}

fn couriergraph() -> Builder {
    let images = graphs_of_both("couriergraph");
    let site = script(
        "/usr/lib/cgi-bin/couriergraph.cgi",
        &[
            ("/var/cache/couriergraph", &images),
            ("/var/lib/couriergraph/", "@ROOT@/data/"),
        ],
    );
    let lines = "pop3d: LOGIN, user=a, ip=[::1]\nimapd-ssl: LOGIN, user=a, ip=[::1]\n";
    count_log("/usr/sbin/couriergraph.pl", lines, &site.folder_of("data"));
    site
}

#[test]
#[ignore = "its packages are large: make programs"]
fn couriergraph_draws_the_same_graphs() {
    needs!("couriergraph");
    let pages = ["", "?0-n", "?3-n", "?0-n", "?x"];
    let requests = pages.map(|page| Request::get(&format!("/couriergraph.cgi{page}")));
    walk(couriergraph, &[], &requests, "Courier Login Statistics");
    std::fs::remove_dir_all(graphs_of_both("couriergraph")).expect("own folder");
}

/// A host of collectd with two hours of values, which end at a fixed time.
fn fill(data: &Path) {
    let script = "use RRDs; use File::Path 'make_path'; my $end = 1700000000;
        for (['load/load', qw(shortterm midterm longterm)], ['interface-eth0/if_octets', qw(rx tx)],
            ['cpu-0/cpu-user', 'value'], ['cpu-0/cpu-idle', 'value']) {
            my ($name, @sources) = @$_;
            make_path('one.example/' . $name =~ s{/.*}{}r);
            my $file = \"one.example/$name.rrd\";
            RRDs::create($file, '--start', $end - 7200, '--step', 10,
                (map { \"DS:$_:GAUGE:20:0:U\" } @sources),
                map { \"RRA:$_:0.5:1:720\" } qw(AVERAGE MIN MAX));
            for my $time (map { $end - 7200 + 10 * $_ } 1 .. 720) {
                RRDs::update($file, join ':', $time, map { $time / 10 % 17 + $_ } 1 .. @sources);
            }
            die RRDs::error if RRDs::error;
        }";
    run("/usr/bin/perl", &["-e", script], data);
    run("/bin/chmod", &["-R", "a+rX", "."], data);
}

fn collection() -> Builder {
    let site = script(
        "/usr/share/doc/collectd-core/examples/collection.cgi",
        &[("/etc/collectd/collection.conf", "@ROOT@/collection.conf")],
    )
    .file("collection.conf", "DataDir: \"@ROOT@/data/\"\n")
    .fill_in(&["collection.conf"], &[]);
    fill(&site.folder_of("data"));
    site
}

#[test]
#[ignore = "its packages are large: make programs"]
fn collection_of_collectd_lists_hosts_and_plugins() {
    needs!("collectd-core", "librrds-perl", "libhtml-parser-perl");
    let pages = [
        "",
        "?action=show_host;host=one.example",
        "?action=show_plugin;host=one.example;plugin=load",
        "?action=show_type;host=one.example;plugin=load;type=load;timespan=hour",
        "?action=show_plugin;host=one.example;plugin=cpu",
        "?action=show_plugin;host=none.example;plugin=load",
        "?action=nonsense",
    ];
    let requests = pages.map(|page| Request::get(&format!("/collection.cgi{page}")));
    walk(collection, &[], &requests, "one.example");
}

fn collection3() -> Builder {
    let site = scripts_of("/usr/share/doc/collectd-core/examples/collection3").fill_in(
        &["cgi/etc/collection.conf"],
        &[(
            "#DataDir \"/var/lib/collectd/rrd\"",
            "DataDir \"@ROOT@/data\"",
        )],
    );
    fill(&site.folder_of("data"));
    site
}

#[test]
#[ignore = "its packages are large: make programs"]
fn collection3_of_collectd_draws_graphs_of_a_fixed_time() {
    needs!(
        "collectd-core",
        "librrds-perl",
        "libconfig-general-perl",
        "libhtml-parser-perl"
    );
    let time = "begin=1699994000;end=1700000000";
    let of = |kind: &str| format!("hostname=one.example;plugin={kind}");
    let pages = [
        "/index.cgi".to_owned(),
        format!("/index.cgi?action=show_selection;{}", of("load")),
        format!("/graph.cgi?{};type=load;{time}", of("load")),
        format!(
            "/graph.cgi?{};plugin_instance=eth0;type=if_octets;{time}",
            of("interface")
        ),
        format!("/graph.cgi?{};plugin_instance=0;type=cpu;{time}", of("cpu")),
        format!("/graph.cgi?{};type=load;{time};format=SVG", of("load")),
        "/graph.cgi?hostname=none.example;plugin=load;type=load".to_owned(),
    ];
    let requests = pages.map(|page| Request::get(&format!("/bin{page}")));
    walk(collection3, &[], &requests, "one.example");
}

/// smokeping after one round of pings of this machine.
fn smokeping() -> Builder {
    let site = script(
        "/usr/share/smokeping/smokeping.cgi",
        &[("/etc/smokeping/config", "@ROOT@/config")],
    )
    .file("config", SMOKEPING)
    .fill_in(&["config"], &[]);
    let root = site.folder_of("");
    run(
        "/usr/sbin/smokeping",
        &["--config=config", "--debug"],
        &root,
    );
    run("/bin/chmod", &["-R", "a+rwX", "data"], &root);
    site
}

/// The package's configuration with the folders of the site.
const SMOKEPING: &str = "*** General ***\nowner = A Tester\ncontact = tester@example.org\n\
    mailhost = mail.example.org\ncgiurl = http://www.example.org/smokeping.cgi\n\
    imgcache = @ROOT@/data\nimgurl = /images\ndatadir = @ROOT@/data\npiddir = @ROOT@/data\n\
    dyndir = @ROOT@/data\nsmokemail = /etc/smokeping/smokemail\ntmail = /etc/smokeping/tmail\n\
    @include /etc/smokeping/config.d/Alerts\n\
    *** Database ***\nstep = 300\npings = 3\nAVERAGE 0.5 1 100\n\
    @include /etc/smokeping/config.d/Presentation\n@include /etc/smokeping/config.d/Probes\n\
    @include /etc/smokeping/config.d/Targets\n";

#[test]
#[ignore = "its packages are large: make programs"]
fn smokeping_shows_its_targets() {
    needs!("smokeping", "fping");
    let pages = [
        "",
        "?target=Local",
        "?target=Local.LocalMachine",
        "?target=_charts.Median",
        "?filter=Local",
        "?target=None.Such",
        "?displaymode=n;start=2026-01-01%2000:00;end=now;target=Local.LocalMachine",
    ];
    let requests = pages.map(|page| Request::get(&format!("/smokeping.cgi{page}")));
    walk(
        smokeping,
        SMOKEPING_VARIES,
        &requests,
        "Network Latency Grapher",
    );
}

/// Dates, names of graphs with the time in them, and the round trip times of each server's own
/// pings.
const SMOKEPING_VARIES: &[(&str, &str)] = &[
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?", "(date)"),
    (r"\d+\.\d+(?:e-\d+)? seconds", "(seconds)"),
    (r"__navcache/[\d_]+", "(graph)"),
];
