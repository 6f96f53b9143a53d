//! Wikis and a paste box: forms that change what later pages show.

use super::{run, script, scripts_of, walk};
use mehari_harness::{needs, Builder, Request};

/// usemod-wiki with its wrapper, as the package's example has it.
fn usemod() -> Builder {
    script(
        "/usr/share/doc/usemod-wiki/examples/wiki-wrapper.pl",
        &[("ConfigFile = \"config\"", "ConfigFile = \"@ROOT@/config\"")],
    )
    .file("config", "")
    .copied("/etc/usemod-wiki", "etc")
    .fill_in(&["etc/config"], &[("/var/lib/usemod-wiki", "@ROOT@/data")])
    .fill_in(&["cgi/wiki-wrapper.pl"], &[("/config\"", "/etc/config\"")])
}

#[test]
#[ignore = "its packages are large: make programs"]
fn usemod_wiki_keeps_pages_and_their_versions() {
    needs!("usemod-wiki", "libcgi-pm-perl");
    let get = |query: &str| Request::get(&format!("/wiki-wrapper.pl{query}"));
    let save = |title: &str, old: &str, text: &str| {
        Request::form(
            "/wiki-wrapper.pl",
            &format!("title={title}&oldtime={old}&oldconflict=0&text={text}&summary=a+%3Cb%3E+c&Save=Save"),
        )
    };
    let requests = [
        get(""),
        get("?action=edit&id=HomePage"),
        save(
            "HomePage",
            "",
            "Welcome+to+%5B%5BFirst+Page%5D%5D%0D%0A*+one%0D%0A*+two+%3Ci%3E",
        ),
        get("?HomePage"),
        save(
            "First_Page",
            "",
            "%27%27%27Bold%27%27%27+http%3A%2F%2Fexample.org%2F",
        ),
        get("?First_Page"),
        get("?RecentChanges"),
        get("?action=rss"),
        get("?action=history&id=HomePage"),
        get("?action=index"),
        get("?search=Welcome"),
        get("?action=editprefs"),
        get("?action=links"),
        get("?action=nonsense"),
        get("?../../etc/passwd"),
        get("?action=edit&id=Caf%C3%A9"),
    ];
    walk(usemod, USEMOD_VARIES, &requests, "Wiki");
}

const USEMOD_VARIES: &[(&str, &str)] = &[
    (r"\d\d?:\d\d (?:am|pm)", "(clock)"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:?\d*[+Z\d:]*", "(date)"),
    // The cookie is a hash in perl's order.
    (r"Wiki=\S+;", "(cookie)"),
];

fn openguides() -> Builder {
    let site = scripts_of("/usr/lib/cgi-bin/openguides")
        .copied("/etc/openguides/default", "etc")
        .fill_in(
            &["etc/wiki.conf"],
            &[
                ("/var/lib/openguides/sqlite/", "@ROOT@/data/"),
                ("/var/lib/openguides/indexes/default/", "@ROOT@/data/index/"),
                (
                    "http://localhost/cgi-bin/openguides/",
                    "http://www.example.org/guide/",
                ),
            ],
        )
        .folder("data/index");
    let root = site.folder_of("");
    let setup = "cp etc/wiki.conf cgi/wiki.conf && cd cgi && openguides-setup-db wiki.conf \
                 && chmod -R a+rwX ../data wiki.conf";
    run("/bin/sh", &["-c", setup], &root);
    site
}

#[test]
#[ignore = "the pages take a minute: make programs"]
fn openguides_describes_places() {
    needs!("openguides", "libdbd-sqlite3-perl");
    let commit = "id=A+Pub&content=A+%27%27%27good%27%27%27+pub&checksum=&edit_type=Normal+edit&\
                  username=Ann&comment=new&categories=Pubs&locales=London&os_x=&os_y=&Save=1&action=commit";
    let requests = [
        Request::get("/newpage.cgi"),
        Request::get("/wiki.cgi?id=A_Pub;action=edit"),
        Request::form("/wiki.cgi", commit),
        Request::get("/wiki.cgi?A_Pub"),
        Request::get("/wiki.cgi?id=A_Pub;format=rdf"),
        Request::get("/wiki.cgi?action=rss"),
        Request::get("/preferences.cgi?action=set;username=Ann;include_geocache_link=1"),
        Request::get("/search.cgi?search=pub"),
    ];
    walk(openguides, OPENGUIDES_VARIES, &requests, "OpenGuide");
}

const OPENGUIDES_VARIES: &[(&str, &str)] = &[
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", "(date)"),
    (r"\d\d:\d\d:\d\d", "(clock)"),
];

/// pnopaste with SQLite in place of MySQL.
fn pnopaste() -> Builder {
    let site = scripts_of("/usr/share/pnopaste")
        .file("cgi/conf/debiandb.pm", PNOPASTE_DATABASE)
        .fill_in(&["cgi/conf/debiandb.pm"], &[]);
    let root = site.folder_of("");
    let create = "use DBI; local $/; open my $file, '<', '/usr/share/dbconfig-common/data/pnopaste/install/mysql';
        my $text = <$file>;
        $text =~ s/`id` int\\(11\\) NOT NULL auto_increment/id INTEGER PRIMARY KEY/g;
        $text =~ s/,\\s*(?:PRIMARY )?KEY.*?\\n(?=\\) ;)/\\n/gs;
        my $dbh = DBI->connect('dbi:SQLite:data/paste:here', '', '', { RaiseError => 1 });
        $dbh->do($_) for grep { /CREATE/ } split /;/, $text;";
    run("/usr/bin/perl", &["-e", create], &root);
    run("/bin/chmod", &["-R", "a+rwX", "data", "cgi"], &root);
    site
}

const PNOPASTE_DATABASE: &str = "our ($dbuser, $dbpass, $basepath, $dbport) = ('', '', '', '');\n\
    our ($dbname, $dbserver, $dbtype) = ('@ROOT@/data/paste', 'here', 'SQLite');\n1;\n";

#[test]
#[ignore = "its packages are large: make programs"]
fn pnopaste_keeps_what_is_pasted() {
    needs!("pnopaste", "geoip-database", "libdbd-sqlite3-perl");
    let paste = "code=print+%22%3Cb%3E%22%3B%0D%0A%23+two&name=Ann&description=A+%26+b&language=Perl&expires=86400";
    let requests = [
        Request::get("/index.pl"),
        Request::form("/index.pl", paste),
        Request::get("/index.pl?1"),
        Request::get("/index.pl?1download"),
        Request::get("/index.pl?99"),
        Request::form("/index.pl", "code=x&name=&description=&language=None"),
        Request::form("/index.pl", "code="),
    ];
    walk(pnopaste, PNOPASTE_VARIES, &requests, "Perl Nopaste");
}

const PNOPASTE_VARIES: &[(&str, &str)] = &[
    (r"\d\d[.:/-]\d\d[.:/-]\d{4}", "(date)"),
    (r"\d\d:\d\d(?::\d\d)?", "(clock)"),
    (r"\d+\.\d+(?:e-\d+)? ?(?:s|sec|seconds)\b", "(seconds)"),
];
