//! Programs that show pages and take forms.

use super::{run, script, scripts_of, walk};
use mehari_harness::{needs, Builder, Request};
use std::fmt::Write;

/// lightsquid with the reports of a day in the log of a proxy.
fn lightsquid() -> Builder {
    let mut log = String::new();
    for at in 0..20 {
        let (time, bytes) = (1_704_450_000 + at * 60, 1_000 * (at + 1));
        let (client, site, user) = (at % 3 + 1, at % 4, at % 2);
        let _ = writeln!(
            log,
            "{time}.123    200 192.0.2.{client} TCP_MISS/200 {bytes} GET \
             http://site{site}.example/page user{user} HIER_DIRECT/192.0.2.9 text/html"
        );
    }
    let paths = [
        ("/var/lib/lightsquid/report", "@ROOT@/data"),
        ("/var/log/squid3", "@ROOT@/log"),
        ("/usr/share/lightsquid", "@ROOT@/share"),
    ];
    let site = scripts_of("/usr/lib/cgi-bin/lightsquid")
        .copied("/usr/share/lightsquid", "share")
        .file("log/access.log", &log)
        .fill_in(&["cgi/lightsquid.cfg", "share/lightsquid.cfg"], &paths);
    run(
        "/usr/bin/perl",
        &["lightparser.pl", "20240105"],
        &site.folder_of("share"),
    );
    site
}

#[test]
#[ignore = "its packages are large: make programs"]
fn lightsquid_reports_the_use_of_a_proxy() {
    needs!("lightsquid", "libgd-perl");
    let day = "year=2024&month=01&day=05";
    let pages = [
        "/index.cgi?year=2024&month=01".to_owned(),
        "/index.cgi?year=2024&month=all".to_owned(),
        format!("/day_detail.cgi?{day}"),
        format!("/user_detail.cgi?{day}&user=user1"),
        format!("/user_time.cgi?{day}&user=user1"),
        "/user_month.cgi?year=2024&month=01&user=user1".to_owned(),
        format!("/topsites.cgi?{day}"),
        format!("/bigfiles.cgi?{day}"),
        format!("/group_detail.cgi?{day}"),
        "/month_detail.cgi?year=2024&month=01".to_owned(),
        "/whousesite.cgi?year=2024&month=01&site=site1.example".to_owned(),
        "/graph.cgi?year=2024&month=01&mode=all".to_owned(),
        "/graph.cgi?year=2024&month=01&mode=all&png=1".to_owned(),
        "/get.cgi?css=report".to_owned(),
        "/get.cgi?png=graph".to_owned(),
        "/get.cgi?png=../../none".to_owned(),
    ];
    let requests = pages.map(|page| Request::get(&page));
    walk(lightsquid, &[], &requests, "LightSquid");
}

/// monitorix, whose daemon has not run yet.
fn monitorix() -> Builder {
    scripts_of("/var/lib/monitorix/www/cgi")
        .copied("/etc/monitorix", "etc")
        .folder("data/imgs")
        .file("cgi/monitorix.conf.path", "@ROOT@/etc/monitorix.conf\n")
        .fill_in(
            &["cgi/monitorix.conf.path", "etc/monitorix.conf"],
            &[
                ("= /var/lib/monitorix/www/", "= @ROOT@/data/"),
                ("= /etc/monitorix/conf.d", "= @ROOT@/etc/conf.d"),
                (
                    "<httpd_builtin>\n\tenabled = y",
                    "<httpd_builtin>\n\tenabled = n",
                ),
            ],
        )
}

#[test]
#[ignore = "its packages are large: make programs"]
fn monitorix_shows_its_pages() {
    needs!("monitorix", "librrds-perl");
    let pages = [
        "?mode=localhost&graph=all&when=1day&color=black",
        "?mode=localhost&graph=_system1&when=1week&color=white",
        "?mode=localhost&graph=_none&when=1month&color=%3Cb%3E",
        "?mode=multihost&val=all&graph=all&when=1day",
        "",
    ];
    let requests = pages.map(|page| Request::get(&format!("/monitorix.cgi{page}")));
    walk(
        monitorix,
        &[(r"\w{3} \w{3} +\d+ [\d:]{8} \w+ \d{4}", "(date)")],
        &requests,
        "System load average",
    );
}

/// The form of analog, over a log of the test.
fn analog() -> Builder {
    let mut log = String::new();
    for at in 0..30 {
        let (client, page, minute) = (at % 4, at % 5, at);
        let _ = writeln!(
            log,
            "192.0.2.{client} - - [05/Jan/2024:12:{minute:02}:00 +0000] \
             \"GET /page{page}.html HTTP/1.1\" 200 {} \"-\" \"A browser\"",
            at * 100
        );
    }
    script(
        "/usr/share/analog/anlgform.pl",
        &[("'/path/to/analog'", "'/usr/bin/analog'")],
    )
    .file("data/access.log", &log)
}

#[test]
#[ignore = "its packages are large: make programs"]
fn form_of_analog_runs_analog() {
    needs!("analog", "libcgi-pm-perl");
    let requests = [
        Request::form("/anlgform.pl", "LOGFILE=x&GENERAL=ON"),
        Request::get("/anlgform.pl?qv=1&DAILYREP=ON"),
        Request::get("/anlgform.pl"),
    ];
    walk(analog, ANALOG_VARIES, &requests, "");
}

const ANALOG_VARIES: &[(&str, &str)] = &[(r"\d\d:\d\d(?::\d\d)?", "(clock)")];
