//! Tests requests with more parts than a worker's arrays of fixed size hold: field names, passed
//! variables, a large `%ENV`. `make sanitize` runs these tests too and reports each write beyond an
//! array.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Request, Rung, Server};

/// A script that prints every variable made from a field, sorted.
const FIELDS: &str =
    "print join ' ', map { qq{$_=$ENV{$_}} } sort grep /^(?:HTTP_X_|CONTENT_LENGTH)/, keys %ENV;";

fn named(prefix: &str, count: usize) -> Vec<(String, String)> {
    (100..100 + count)
        .map(|number| (format!("X-{prefix}-{number}"), format!("{prefix}{number}")))
        .collect()
}

fn with_fields(url: &str, fields: &[(String, String)]) -> Request {
    let mut request = Request::post(url, "body");
    for (name, value) in fields {
        request = request.field(name, value);
    }
    request
}

fn as_variables(fields: &[(String, String)]) -> String {
    let variable = |name: &str| format!("HTTP_{}", name.to_uppercase().replace('-', "_"));
    let mut pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={value}", variable(name)))
        .collect();
    pairs.push("CONTENT_LENGTH=4".to_owned());
    pairs.sort();
    pairs.join(" ")
}

#[test]
fn more_field_names_than_a_worker_keeps_still_become_variables() {
    let server = Server::builder()
        .file("scripts/fields.pl", &plain(FIELDS))
        .ladder()
        .conf(&workers(1))
        .conf("LimitRequestFields 400\n")
        .start();
    let kinds = [named("First", 80), named("Second", 80), named("Third", 300)];
    for rung in Rung::ALL {
        for fields in kinds.iter().chain(&kinds) {
            let answer = server.send(&with_fields(&rung.url("fields.pl"), fields));
            assert_eq!(answer.expect(200), as_variables(fields), "{rung:?}");
        }
    }
}

#[test]
fn more_field_names_than_a_worker_keeps_still_become_keys_of_psgi() {
    let application = FIELDS.replace("$ENV", "$env->").replace("%ENV", "%$env");
    let application = application.replace("print", "my @said =");
    let server = Server::builder()
        .file(
            "scripts/fields.psgi",
            &format!("sub {{ my $env = shift; {application} [200, ['Content-Type', 'text/plain'], [@said]] }}"),
        )
        .conf("<Location />\n    SetHandler psgi\n    PSGIApp @ROOT@/scripts/fields.psgi\n</Location>\n")
        .conf(&workers(1))
        .conf("LimitRequestFields 400\n")
        .start();
    let kinds = [named("First", 80), named("Second", 80), named("Third", 300)];
    for fields in kinds.iter().chain(&kinds) {
        let answer = server.send(&with_fields("/", fields));
        assert_eq!(answer.expect(200), as_variables(fields));
    }
}

#[test]
fn any_number_of_passed_variables_is_kept() {
    let script = plain("print scalar grep /^PASSED_/, keys %ENV; $ENV{OF_A_REQUEST} = 1;");
    let mut builder = Server::builder()
        .file("scripts/passed.pl", &script)
        .ladder()
        .conf(&workers(1));
    for number in 0..200 {
        let name = format!("PASSED_{number}");
        builder = builder
            .env(&name, "yes")
            .conf(&format!("PerlPassEnv {name}\n"));
    }
    let server = builder.start();
    for rung in Rung::ALL {
        // Like Apache, Mehari passes PerlPassEnv's variables only to programs that Perl runs.
        let expected = if rung == Rung::Cgi { "0" } else { "200" };
        for _ in 0..3 {
            let answer = server.get(&rung.url("passed.pl"));
            assert_eq!(answer.expect(200), expected, "{rung:?}");
        }
    }
}

/// A tied hash with any number of keys.
const TIED: &str = "\
package Endless; sub TIEHASH { bless {} } sub FETCH { 'tied' } sub STORE {} sub FIRSTKEY { 1 }\n\
sub NEXTKEY { $_[1] < 5000 ? $_[1] + 1 : undef } sub EXISTS { 1 } sub DELETE {}\n\
package main; tie %ENV, 'Endless'; $| = 1;\n\
system 'echo $REQUEST_METHOD'; print $ENV{ANY};";

#[test]
fn child_gets_the_real_environment_when_env_is_tied() {
    let server = Server::builder()
        .file("scripts/tied.pl", &plain(TIED))
        .file("scripts/method.pl", &plain("print $ENV{REQUEST_METHOD};"))
        .ladder()
        .conf(&workers(1))
        .start();
    for rung in [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::Registry,
        Rung::PerlRun,
    ] {
        let answer = server.get(&rung.url("tied.pl"));
        assert_eq!(answer.expect(200), "GET\ntied", "{rung:?}");
        let next = server.get(&rung.url("method.pl"));
        assert_eq!(
            next.expect(200),
            "GET",
            "{rung:?}: a tie outlived its request"
        );
    }
}
