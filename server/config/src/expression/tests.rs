//! Tests expressions against one request with a few fixed variables.

use super::Expression;
use crate::text::{Piece, VariableSource};

struct Request;

impl VariableSource for Request {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        let text = match piece {
            Piece::Variable(name) if name == "HTTP_HOST" => "www.example.com",
            Piece::Variable(name) if name == "REMOTE_ADDR" => "10.1.2.3",
            Piece::Variable(name) if name == "REQUEST_URI" => "/a/b.html",
            Piece::Environment(name) if name == "N" => "12",
            Piece::Field(name) if name.eq_ignore_ascii_case("accept") => "text/html",
            _ => "",
        };
        into.extend_from_slice(text.as_bytes());
    }
}

#[test]
fn expressions_hold_as_in_apache() {
    for (text, expected) in [
        ("true", true),
        ("!true || false", false),
        ("%{HTTP_HOST} == 'www.example.com'", true),
        ("%{HTTP_HOST} = \"example.com\"", false),
        ("%{HTTP_HOST} =~ /^WWW\\./i", true),
        ("%{REQUEST_URI} =~ m#^/a/(\\w+)# && $1 == 'b'", true),
        ("%{REQUEST_URI} !~ /\\.html$/", false),
        ("%{REMOTE_ADDR} -ipmatch '10.0.0.0/8'", true),
        ("-R '10.1.0.0/16'", true),
        ("-z %{QUERY_STRING}", true),
        ("-n %{QUERY_STRING}", false),
        ("-d '/' && ! -f '/'", true),
        ("%{ENV:N} -gt 9", true),
        ("reqenv('N') lt 9", false),
        ("%{ENV:N} < '9'", true),
        ("%{HTTP_HOST} in {'a', 'www.example.com'}", true),
        ("tolower('ABC') == 'abc'", true),
        ("%{HTTP_HOST} -strmatch '*.example.com'", true),
        (
            "(%{HTTP_HOST} == 'x' || req('Accept') =~ /html/) && true",
            true,
        ),
        ("'a%{HTTP_HOST}' == 'awww.example.com'", true),
        ("%{req:Accept} . 'x' == 'text/htmlx'", true),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(expression.holds(&Request), expected, "{text}");
    }
}

#[test]
fn an_invalid_expression_is_refused_with_the_expected_text() {
    for text in [
        "",
        "%{HTTP_HOST}",
        "%{HTTP_HOST} ==",
        "%{SERVR_NAME} == 'x'",
        "(true",
        "true true",
        "'a' =~ b",
        "'a' =~ /(/",
        "-q 'x'",
        "'a' in 'b'",
    ] {
        let why = Expression::parse(text).expect_err(text);
        assert!(why.contains("expected"), "{text}: {why}");
    }
    assert!(Expression::parse(&"(".repeat(10_000)).is_err());
    assert!(Expression::parse(&"!".repeat(10_000)).is_err());
}
