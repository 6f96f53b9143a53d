//! Tests scripts that answer the same on every rung.

use crate::{guide, ONE_WORKER};
use mehari_harness::{against_apache, needs, Request, Rung, Server};

/// A script with the same response on every rung, to the first and the second request.
struct Row {
    request: fn(url: String) -> Request,
    script: &'static str,
    content_type: &'static str,
    body: &'static str,
}

fn get(url: String) -> Request {
    Request::get(&url)
}

const HEREDOC: &str = "<HTML>\n<BODY BGCOLOR=\"black\">\n__END__\n<H1>$color</H1>\n\
                       <A HREF=\"foo.html\"> foo </A>\n</BODY>\n  </HTML>\n";

const SAME_EVERYWHERE: &[Row] = &[
    Row { request: get, script: "hello.pl", content_type: "text/plain", body: "Hello" },
    Row { request: get, script: "counter_my.pl", content_type: "text/plain; charset=ISO-8859-1", body: "counted 1\n" },
    Row { request: get, script: "cgi_oo.pl", content_type: "text/html; charset=ISO-8859-1", body: "<b>Hello</b>" },
    Row { request: get, script: "cgi_functions.pl", content_type: "text/html; charset=ISO-8859-1", body: "<b>Hello</b>" },
    Row {
        request: |url| Request::get(&format!("{url}?x=5")),
        script: "cgi_param.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "object 5\nfunction 5\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?x=six")),
        script: "cgi_param.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "object six\nfunction six\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?name=Adams&drink=tea&drink=more%20tea")),
        script: "form.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "GET\ndrink => tea, more tea\nname => Adams\n",
    },
    Row {
        request: |url| Request::form(&url, "name=Adams&drink=tea&drink=more+tea"),
        script: "form.pl",
        content_type: "text/plain; charset=ISO-8859-1",
        body: "POST\ndrink => tea, more tea\nname => Adams\n",
    },
    Row {
        request: |url| Request::get(&format!("{url}?a=1&b=two+words")),
        script: "form_by_hand.pl",
        content_type: "text/plain",
        body: "a => 1\nb => two words\n",
    },
    Row {
        request: |url| Request::form(&url, "a=1&b=%41"),
        script: "form_by_hand.pl",
        content_type: "text/plain",
        body: "a => 1\nb => A\n",
    },
    Row { request: get, script: "heredoc.pl", content_type: "text/html", body: HEREDOC },
    Row {
        request: get,
        script: "prints.pl",
        content_type: "text/html",
        body: "<BODY BGCOLOR=\"black\" TEXT=\"white\"><H1>Hello</H1><A HREF=\"foo.html\"> foo </A></BODY>",
    },
    Row {
        request: get,
        script: "fork_wait.pl",
        content_type: "text/plain",
        body: "Parent has finished, the child ended with 3\n",
    },
    Row { request: get, script: "fork_double.pl", content_type: "text/plain", body: "Parent has finished\n" },
];

fn answer_the_same(server: &Server, rungs: &[Rung], is_apache: bool) {
    for row in SAME_EVERYWHERE {
        for &rung in rungs {
            // mod_perl cuts a script at every line that begins with __END__, even inside a
            // here-document.
            if is_apache && Rung::SHARED.contains(&rung) && row.script == "heredoc.pl" {
                continue;
            }
            for time in 1..=2 {
                let answer = server.send(&(row.request)(rung.url(row.script)));
                let place = format!("{} on {}, time {time}", row.script, rung.name());
                assert_eq!(answer.expect(200), row.body, "{place}");
                assert_eq!(
                    answer.field("content-type").as_deref(),
                    Some(row.content_type),
                    "{place}"
                );
            }
        }
    }
}

#[test]
fn scripts_of_the_guide_answer_the_same_on_every_rung() {
    answer_the_same(&guide(), &Rung::ALL, against_apache());
}

#[test]
fn scripts_of_the_guide_answer_the_same_under_mod_perl() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    let rungs = [Rung::Cgi, Rung::PerlRun, Rung::Registry];
    let site = Server::builder().fixtures("guide").conf(ONE_WORKER);
    let folder = site.folder_of("scripts");
    let sections = rungs.map(|rung| rung.section(&folder)).concat();
    let apache = site.conf(&sections).on_apache().start();
    answer_the_same(&apache, &rungs, true);
}
