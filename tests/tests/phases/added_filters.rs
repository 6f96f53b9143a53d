//! Tests filters that code adds while it responds, and filters that make requests or change the
//! head, beside mod_perl.

use mehari_harness::{Builder, Pair, Request, Server};

const FILTERS: &str = "package Filters;\nuse strict; use warnings;\n\
    use parent 'Apache2::Filter'; use Apache2::Filter (); use Apache2::RequestRec ();\n\
    use Apache2::RequestIO (); use Apache2::SubRequest (); use Apache2::Response ();\n\
    sub upper : FilterRequestHandler { my $f = shift; while ($f->read(my $part)) { $f->print(uc $part) } 0 }\n\
    sub types : FilterRequestHandler { my $f = shift; $f->r->content_type('text/x-filtered') unless $f->ctx; $f->ctx(1); \
        while ($f->read(my $part)) { $f->print($part) } 0 }\n\
    sub foot : FilterRequestHandler { my $f = shift; while ($f->read(my $part)) { $f->print($part) } \
        $f->r->lookup_uri('/foot.txt')->run if $f->seen_eos; 0 }\n\
    sub dies : FilterRequestHandler { die \"not this body\\n\" }\n\
    sub body { my $r = shift; my $text = ''; while ($r->read(my $part, 4096)) { $text .= $part } $text }\n\
    sub adds { my $r = shift; $r->content_type('text/plain'); $r->add_input_filter(\\&upper); $r->print('[', body($r), ']'); 0 }\n\
    sub adds_late { my $r = shift; $r->content_type('text/plain'); $r->read(my $first, 3); \
        $r->add_input_filter(\\&upper); $r->print(\"[$first\", body($r), ']'); 0 }\n\
    sub of_sub { my $r = shift; $r->content_type('text/plain'); my $sub = $r->lookup_uri('/foot.txt'); \
        $sub->add_output_filter(\\&upper); $r->print('main '); $sub->run if $r->args; $r->print(' end'); 0 }\n\
    1;\n";

fn site() -> Builder {
    let mut conf = String::from(
        "PerlSwitches -I@ROOT@/lib\nPerlModule Filters\nAlias /perl/ @ROOT@/perl/\n\
         <Location /perl/>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
         PerlOptions +ParseHeaders\nOptions +ExecCGI\n</Location>\n\
         <Location /perl/typed.pl>\nPerlOutputFilterHandler Filters::types\n</Location>\n\
         <Location /perl/footed.pl>\nPerlOutputFilterHandler Filters::foot\n</Location>\n\
         <Location /perl/reads.pl>\nPerlInputFilterHandler Filters::dies\n</Location>\n",
    );
    for name in ["adds", "adds_late", "of_sub"] {
        conf += &format!(
            "<Location /{name}>\nSetHandler modperl\nPerlResponseHandler Filters::{name}\n</Location>\n"
        );
    }
    let page =
        "print \"Status: 404 Gone Away\\nContent-Type: text/plain\\nX-Own: 1\\n\\nbody\\n\";\n";
    Server::builder()
        .file("lib/Filters.pm", FILTERS)
        .file("htdocs/foot.txt", "foot")
        .file("perl/typed.pl", page)
        .file("perl/footed.pl", page)
        .file(
            "perl/reads.pl",
            "print \"Content-Type: text/plain\\n\\n\"; my $got = read STDIN, my $body, 100; print \"$got: $body\";\n",
        )
        .conf(&conf)
}

#[test]
fn input_filter_that_the_response_handler_adds_changes_the_rest_of_the_body() {
    let mut pair = Pair::start(site);
    for (path, expected) in [("/adds", "[HELLO THERE]"), ("/adds_late", "[helLO THERE]")] {
        let answer = pair.form(path, "hello there");
        assert_eq!(answer.expect(200), expected, "{path}");
    }
}

#[test]
fn filter_of_a_sub_request_filters_only_the_sub_request() {
    let mut pair = Pair::start(site);
    assert_eq!(pair.get("/of_sub").expect(200), "main  end");
    assert_eq!(pair.get("/of_sub?run").expect(200), "main FOOT end");
}

#[test]
fn filter_that_sets_the_type_leaves_the_head_to_the_script() {
    let mut pair = Pair::start(site);
    let answer = pair.get("/perl/typed.pl");
    assert_eq!(answer.expect(404), "body\n");
    assert_eq!(
        answer.field("content-type").as_deref(),
        Some("text/x-filtered")
    );
    assert_eq!(answer.field("x-own").as_deref(), Some("1"));
}

#[test]
fn sub_request_of_a_filter_follows_what_the_filter_has_printed() {
    let mut pair = Pair::start(site);
    assert_eq!(pair.get("/perl/footed.pl").expect(404), "body\nfoot");
}

#[test]
fn script_cannot_read_the_body_that_an_input_filter_has_refused() {
    let pair = Pair::start(site);
    for server in pair.servers() {
        let request = Request::form("/perl/reads.pl", "name=value");
        server.send(&request).expect(500);
    }
}
