//! The response cache over real scripts: a page that counts its runs, for the tests of this folder.

mod keeping;
mod requested_again;
mod stores;
mod strangers;
mod waiting;

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Answer, Request, Server};

/// Counts its runs under the first word of the query, prints the other words as header lines, and
/// obeys files in its directory.
const PAGE: &str = r##"#!/usr/bin/perl
my ($name, @lines) = split /;/, $ENV{QUERY_STRING};
my $file = "$ENV{DOCUMENT_ROOT}/runs.$name";
open my $runs, '>>', $file or die $!;
syswrite $runs, ($ENV{HTTP_IF_NONE_MATCH} // '-') . "\n";
close $runs;
open $runs, '<', $file or die $!;
my $count = () = <$runs>;
select undef, undef, undef, 0.4 if -e "$ENV{DOCUMENT_ROOT}/slow.$name";
sleep 1 if $name eq 'late';
print "Status: 500\n" if -e "$ENV{DOCUMENT_ROOT}/fail.$name";
for (@lines) {
    s/\+/ /g;
    s/%(..)/chr hex $1/ge;
    print "$_\n";
    print "Status: 304\n" if /^ETag: (.*)/ && ($ENV{HTTP_IF_NONE_MATCH} // '') eq $1;
}
print "Content-type: text/plain\n\n$ENV{REQUEST_METHOD} run $count\n", 'word ' x 100;
"##;

fn start(conf: &str) -> Server {
    Server::builder()
        .file("scripts/page.pl", PAGE)
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .ladder()
        .conf(&workers(3))
        .conf("CacheEnable disk /fork\nCacheEnable disk /registry\nCacheHeader On\nCacheDisable /fork/hello.pl\n")
        .conf("LogFormat \"%r %{cache}Q\" cache\nCustomLog @ROOT@/access.log cache\n")
        .conf(conf)
        .start()
}

/// `page` and `lines` as the query of the script.
fn target(page: &str, lines: &[&str]) -> String {
    let lines: String = lines
        .iter()
        .map(|line| format!(";{}", line.replace(' ', "+").replace('"', "%22")))
        .collect();
    format!("/fork/page.pl?{page}{lines}")
}

fn asking(method: &str, target: &str) -> Request {
    let mut request = Request::get(target);
    request.method = method.into();
    request
}

#[track_caller]
fn check(answer: &Answer, run: u32, part: &str) {
    let text = answer.expect(200);
    let first = text.lines().next().unwrap_or_default();
    let told = answer.field("X-Cache").unwrap_or_default();
    assert_eq!(
        (first, told.split(' ').next().unwrap_or_default()),
        (format!("GET run {run}").as_str(), part),
    );
}

fn runs(server: &Server, page: &str) -> usize {
    server
        .site
        .read(&format!("htdocs/runs.{page}"))
        .lines()
        .count()
}

fn touch(server: &Server, name: &str) {
    let path = server.site.path(&format!("htdocs/{name}"));
    std::fs::write(path, "").expect("written");
}

fn part(answer: &Answer) -> String {
    let told = answer.field("X-Cache").unwrap_or_default();
    told.split(' ').next().unwrap_or_default().to_owned()
}
