//! Tests handlers: their names, several handlers of one phase, merging, and handlers that are set
//! during a request.

use super::*;

#[test]
fn handlers_are_named_in_all_of_mod_perls_ways() {
    let module = r#"
sub handler     { $_[0]->print('module'); 0 }
sub named       { $_[0]->print('sub'); 0 }
sub by_class    { my ($class, $r) = @_; $r->print("$class method"); 0 }
sub attributed : method { my ($class, $r) = @_; $r->print("$class attribute"); 0 }
our $object = bless { name => 'object' }, 'Ways';
sub by_object   { my ($self, $r) = @_; $r->print("$self->{name} method"); 0 }
"#;
    let mut conf = String::from("PerlModule Ways\n");
    let ways = [
        ("module", "Ways", "module"),
        ("sub", "Ways::named", "sub"),
        ("class", "Ways->by_class", "Ways method"),
        ("attribute", "Ways::attributed", "Ways attribute"),
        ("object", "$Ways::object->by_object", "object method"),
        (
            "anonymous",
            "\"sub { $_[0]->print('anonymous'); 0 }\"",
            "anonymous",
        ),
        ("plus", "+Ways::named", "sub"),
    ];
    for (place, written, _) in ways {
        conf.push_str(&format!(
            "<Location /{place}>\nSetHandler modperl\nPerlHandler {written}\n</Location>\n"
        ));
    }
    let server = one_worker(&[("Ways", module)], &conf).start();
    for (place, _, answer) in ways {
        assert_eq!(server.get(&format!("/{place}")).text(), answer, "{place}");
    }
}

#[test]
fn stacked_handlers_and_merging_follow_mod_perl() {
    let module = r#"
sub add  { my ($r, $what) = @_; my $n = $r->notes->get('seen') // ''; $r->notes->set(seen => "$n$what"); -1 }
sub a    { add(shift, 'a') }
sub b    { add(shift, 'b') }
sub c    { add(shift, 'c'); 0 }
sub push_c { my $r = shift; $r->push_handlers(PerlFixupHandler => \&c); add($r, 'p') }
sub set_b  { my $r = shift; $r->set_handlers(PerlResponseHandler => ['Stack::say', sub { die }]); add($r, 's') }
sub list   { my $r = shift; $r->print(join ',', map { ref || $_ } @{ $r->get_handlers('PerlFixupHandler') }); 0 }
sub say  { my $r = shift; $r->print($r->notes->get('seen') // 'none'); 0 }
sub decline { add($_[0], 'd') }
"#;
    let conf = "PerlModule Stack\n\
        PerlFixupHandler Stack::a\n\
        <Location />\nSetHandler modperl\nPerlResponseHandler Stack::say\n</Location>\n\
        <Location /two>\nPerlFixupHandler Stack::a Stack::b\nPerlFixupHandler Stack::c\n</Location>\n\
        <Location /merged>\nPerlOptions +MergeHandlers\nPerlFixupHandler Stack::b\n</Location>\n\
        <Location /pushed>\nPerlFixupHandler Stack::push_c Stack::b\n</Location>\n\
        <Location /set>\nPerlFixupHandler Stack::set_b\n</Location>\n\
        <Location /declined>\nPerlResponseHandler Stack::decline Stack::decline Stack::say\n</Location>\n\
        <Location /list>\nPerlFixupHandler Stack::push_c\nPerlResponseHandler Stack::list\n</Location>\n";
    let server = one_worker(&[("Stack", module)], conf).start();
    for (place, seen) in [
        ("/", "a"),
        ("/two", "abc"),
        ("/merged", "ab"),
        ("/pushed", "pbc"),
        ("/set", "s"),
        ("/declined", "add"),
        ("/list", "CODE,CODE"),
    ] {
        assert_eq!(server.get(place).expect(200), seen, "{place}");
    }
}

#[test]
fn handlers_decide_who_answers_at_run_time() {
    let module = r#"
sub fixup { my $r = shift; $r->handler('modperl'); $r->set_handlers(PerlResponseHandler => \&say); 0 }
sub other { my $r = shift; $r->filename($r->document_root . '/other.txt'); $r->headers_out->set('X-Other' => 'yes'); 0 }
sub typed { my $r = shift; $r->content_type('text/x-perl'); 0 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('said'); 0 }
sub deny  { my $r = shift; $r->err_headers_out->set('X-Why' => 'because'); $r->headers_out->set('X-Not' => 1); 403 }
sub away  { my $r = shift; $r->headers_out->set(Location => 'http://example.org/there'); 302 }
sub told  { my $r = shift; $r->custom_response(403, 'told in person'); 403 }
sub decline { -1 }
"#;
    let conf = "PerlModule Who\n\
        <Location /plain.txt>\nPerlFixupHandler Who::fixup\n</Location>\n\
        <Location /first.txt>\nPerlFixupHandler Who::other\n</Location>\n\
        <Location /typed.txt>\nPerlTypeHandler Who::typed\n</Location>\n\
        <Location /deny>\nPerlAccessHandler Who::deny\n</Location>\n\
        <Location /away>\nPerlAccessHandler Who::away\n</Location>\n\
        <Location /told>\nPerlAccessHandler Who::told\n</Location>\n\
        <Location /declined.txt>\nSetHandler modperl\nPerlResponseHandler Who::decline\n</Location>\n";
    let server = ["plain", "first", "typed", "other", "declined"]
        .iter()
        .fold(one_worker(&[("Who", module)], conf), |builder, name| {
            builder.file(&format!("htdocs/{name}.txt"), &format!("the {name}\n"))
        })
        .start();
    assert_eq!(server.get("/plain.txt").expect(200), "said");
    let other = server.get("/first.txt");
    assert_eq!(other.expect(200), "the other\n");
    assert_eq!(other.field("x-other").as_deref(), Some("yes"));
    let typed = server.get("/typed.txt");
    assert_eq!(typed.expect(200), "the typed\n");
    assert_eq!(typed.field("content-type").as_deref(), Some("text/x-perl"));
    let denied = server.get("/deny");
    assert_eq!(
        (denied.status, denied.field("x-why").as_deref()),
        (403, Some("because"))
    );
    assert_eq!(denied.field("x-not"), None);
    let away = server.get("/away");
    assert_eq!(away.status, 302);
    assert_eq!(
        away.field("location").as_deref(),
        Some("http://example.org/there")
    );
    assert_eq!(server.get("/told").expect(403), "told in person");
    assert_eq!(server.get("/declined.txt").expect(200), "the declined\n");
}
