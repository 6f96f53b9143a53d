//! swish.cgi of swish-e: search over an index.

use super::{run, scripts_of, walk};
use mehari_harness::{needs, Builder, Request};

fn site() -> Builder {
    let site = scripts_of("/usr/lib/swish-e")
        .file("cgi/.swishcgi.conf", CONF)
        .fill_in(
            &["cgi/.swishcgi.conf", "cgi/swish.cgi"],
            // A path, because perl no longer looks for modules in the working folder.
            &[("'.swishcgi.conf'", "'@ROOT@/cgi/.swishcgi.conf'")],
        )
        .file(
            "data/docs/one.html",
            &page("One page", "The camel is an animal of the desert."),
        )
        .file(
            "data/docs/two.html",
            &page("Two <b>", "Perl is a language, the camel its animal."),
        );
    let data = site.folder_of("data");
    run(
        "/usr/bin/swish-e",
        &["-i", "docs", "-f", "index.swish-e", "-v", "0"],
        &data,
    );
    run(
        "/usr/bin/touch",
        &["-d", "@1700000000", "docs/one.html", "docs/two.html"],
        &data,
    );
    site
}

const CONF: &str = "return { title => 'Pages', swish_binary => '/usr/bin/swish-e',\n\
    swish_index => '@ROOT@/data/index.swish-e' };\n";

fn page(title: &str, text: &str) -> String {
    format!("<html><head><title>{title}</title></head><body><p>{text}</p></body></html>\n")
}

#[test]
#[ignore = "its packages are large: make programs"]
fn swish_cgi_finds_the_same_pages() {
    needs!("swish-e");
    let mut requests: Vec<Request> = QUERIES
        .iter()
        .map(|query| Request::get(&format!("/swish.cgi?{query}")))
        .collect();
    requests.push(Request::form("/swish.cgi", "query=animal&submit=Search"));
    walk(site, VARYING, &requests, "One page");
}

const QUERIES: &[&str] = &[
    "query=camel",
    "",
    "query=perl+or+desert",
    "query=none",
    "query=%3Cb%3E",
    "query=(",
    "query=camel;submit=Search!;metaname=swishtitle;sort=swishtitle",
];

/// Times of the search.
const VARYING: &[(&str, &str)] = &[(r"[\d.]+ (?:seconds|secs?)", "(seconds)")];
