//! Tests lengths and offsets outside a string. Each function refuses them with the message of perl
//! or of mod_perl, and neither reads nor writes.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{against_apache, Request, Rung, Server};

/// A call, and its expected result or `die` message.
type Row = (&'static str, &'static str);

/// Returns a script that makes each call of `rows` and prints one line for each.
fn script(rows: &[Row]) -> String {
    let mut text = String::from(
        "use strict; use warnings; no warnings 'uninitialized'; our @said = (); my $b; $| = 1;\n\
         sub said { my @got = eval { $_[0]->() }; push @said, $@ ? $@ =~ s/ at \\S+ line .*//sr : join '|', map { defined $_ ? $_ : 'undef' } @got }\n",
    );
    for (call, _) in rows {
        text.push_str(&format!("$b = 'abc'; said(sub {{ {call} }});\n"));
    }
    text + "print qq{\\n}, join qq{\\n}, @said;"
}

#[track_caller]
fn check(answer: &str, rows: &[Row]) {
    let (_, said) = answer.split_once('\n').expect("two parts");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), rows.len(), "{answer}");
    for (line, (call, expected)) in lines.iter().zip(rows) {
        assert_eq!(line, expected, "{call}");
    }
}

/// Calls of perl's operators, with the results that every rung must give.
const OPERATORS: &[Row] = &[
    ("syswrite STDOUT, 'secret', -1", "Negative length"),
    ("syswrite STDOUT, 'secret', -4, 2", "Negative length"),
    ("syswrite STDOUT, 'secret', 1, -7", "Offset outside string"),
    ("syswrite STDOUT, 'secret', 1, 7", "Offset outside string"),
    ("syswrite STDOUT, 'secret', 0", "0"),
    ("syswrite STDOUT, 'secret', undef", "0"),
    (
        "syswrite STDOUT, 'secret', 3, 9223372036854775807",
        "Offset outside string",
    ),
    ("syswrite STDOUT, 'a', 9, -1", "1"),
    ("&CORE::syswrite(\\*STDOUT, 'b')", "1"),
    ("sysread STDIN, $b, -1", "Negative length"),
    ("sysread STDIN, $b, 1, -4", "Offset outside string"),
    ("read STDIN, $b, -1", "Negative length"),
    ("read STDIN, $b, 1, -4", "Offset outside string"),
    ("(sysread STDIN, $b, 2, 4), $b =~ s/\\0/./gr", "2|abc.01"),
    ("(read STDIN, $b, 1, -1), $b", "1|ab2"),
    ("seek(STDIN, -1, 0) ? 1 : 0", "0"),
    ("seek(STDIN, 9223372036854775807, 1) ? 1 : 0", "0"),
    (
        "open my $f, '<', $0; sysread $f, $b, 10; sysseek($f, 0, 1)",
        "10",
    ),
];

#[test]
fn operators_refuse_lengths_and_offsets_as_perl_does() {
    let server = Server::builder()
        .file("scripts/lengths.pl", &plain(&script(OPERATORS)))
        .ladder()
        .conf(&workers(1))
        .start();
    // mod_perl's own STDIN and STDOUT do not keep all of perl's rules.
    let rungs = if against_apache() {
        &Rung::ISOLATED[..]
    } else {
        &Rung::ALL[..]
    };
    for rung in rungs {
        for _ in 0..2 {
            let answer = server.send(&Request::post(&rung.url("lengths.pl"), "0123456789"));
            let text = answer.expect(200);
            assert!(text.starts_with("ab\n"), "{rung:?}: {text}");
            check(&text, OPERATORS);
        }
    }
}

/// A call, its expected output with the result or `die` message, and whether mod_perl itself fails
/// in this row: reads outside of the string, crashes or returns nonsense.
type Method = (&'static str, &'static str, bool);

const LENGTH: &str =
    ";APR::Bucket::new: the length argument can't be bigger than the total buffer length minus offset";
const OFFSET: &str =
    ";APR::Bucket::new: the offset argument can't be bigger than the total buffer length";
const NOTHING: &str = ";The LENGTH argument can't be negative";
const SENDFILE: &str = ";sendfile: the offset and the length are not negative";

const METHODS: &[Method] = &[
    ("$r->write('secret', -2)", ";Negative length", true),
    ("$r->write('secret', -1)", "secret;6", false),
    ("$r->write('abc', 2, 1)", "bc;2", false),
    ("$r->write('abc', 9, 1)", "bc;2", true),
    ("$r->write('abc', 2, 5)", ";Offset outside string", true),
    ("$r->write('abc', 2, -1)", "c;1", true),
    ("$r->write('abc', 2, -4)", ";Offset outside string", true),
    ("$r->write('abc', -1, 1)", "bc;2", false),
    ("$r->write('abc', -1, 4)", ";Offset outside string", true),
    ("$r->write('abc', 0)", ";0", false),
    ("$r->write('abc', 0, 3)", ";0", false),
    ("$r->read($b, -1)", NOTHING, true),
    ("$r->read($b, 0), $b", NOTHING, false),
    ("$r->read($b, 1, -4)", ";Offset outside string", false),
    ("$r->read($b, 1, -1), $b", ";1|ab0", false),
    ("$r->read($b, 2, 4), $b =~ s/\\0/./gr", ";2|abc.01", false),
    (
        "$r->read($b, 4_000_000_000_000), $b",
        ";10|0123456789",
        true,
    ),
    ("$r->sendfile($file, -1)", SENDFILE, true),
    ("$r->sendfile($file, 0, -1)", SENDFILE, true),
    ("$r->sendfile($file, 2, 3)", "nte;0", false),
    ("$r->sendfile($file, 1000, 3)", ";0", true),
    ("$r->sendfile($file, 0, 1000)", "content;0", true),
    ("APR::Bucket->new($ba, 'abc', -1)->length", OFFSET, true),
    ("APR::Bucket->new($ba, 'abc', 0, -1)->length", LENGTH, false),
    ("APR::Bucket->new($ba, 'abc', 4)->length", OFFSET, true),
    ("APR::Bucket->new($ba, 'abc', 1, 3)->length", LENGTH, false),
    ("APR::Bucket->new($ba, 'abc', 3, 0)->length", ";0", false),
    ("brigade()->flatten($b, -1), $b", ";3|abc", false),
    ("brigade()->flatten($b, 2), $b", ";2|ab", false),
    ("brigade()->flatten($b, 0), $b", ";0|", false),
];

const BEFORE: &str = "\
    use Apache2::RequestIO (); use Apache2::RequestRec (); use APR::Bucket (); use APR::Brigade (); use APR::BucketAlloc ();\n\
    use Apache2::Connection (); use APR::Pool ();\n\
    my $r = shift; our $ba = $r->connection->bucket_alloc; my $file = $0 =~ s/[^\\/]*$/file.txt/r; my $b = 'abc';\n\
    sub brigade { my $bb = APR::Brigade->new(Apache2::RequestUtil->request->pool, $ba); $bb->insert_tail(APR::Bucket->new($ba, 'abc')); $bb }\n\
    sub said { my @got = eval { $_[0]->() }; $@ ? $@ =~ s/ at \\S+ line .*//sr : join '|', @got }\n";

/// Each call has a request of its own, because some of them end a worker of mod_perl.
#[test]
fn methods_refuse_lengths_and_offsets_as_mod_perl_does() {
    let mut text = BEFORE.to_owned();
    for (number, (call, ..)) in METHODS.iter().enumerate() {
        text.push_str(&format!(
            "if ($ENV{{QUERY_STRING}} == {number}) {{ my $said = said(sub {{ {call} }}); print ';', $said }}\n"
        ));
    }
    let server = Server::builder()
        .file("scripts/file.txt", "content")
        .file("scripts/lengths.pl", &plain(&text))
        .ladder()
        .conf(&workers(1))
        .start();
    for (number, (call, expected, is_better)) in METHODS.iter().enumerate() {
        if *is_better && against_apache() {
            continue;
        }
        let url = format!("/registry/lengths.pl?{number}");
        let answer = server.send(&Request::post(&url, "0123456789"));
        assert_eq!(answer.expect(200), *expected, "{call}");
    }
}
