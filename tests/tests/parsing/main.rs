//! Tests the parsing of requests with tables of sent bytes and expected responses.
//!
//! The cases come from RFC 9110 and 9112, from lighttpd's tests and from attacks by request
//! smuggling. Each has one expected response. tests/malformed.rs sends similar requests to scripts
//! on every rung. The tests here check the connection itself.

mod bodies;
mod conditions;
mod fields;
mod lines;
mod ranges;

use mehari_harness::Server;

/// The expected response. The text `""` stands for any body.
pub enum Then {
    /// A refusal with this status, and the connection ends.
    Refused(u16),
    /// The status and the body. The connection stays open for the next request.
    Keeps(u16, &'static str),
    /// The status and the body, and the connection ends.
    Closes(u16, &'static str),
    /// Several responses, one after the other, and the connection ends.
    Answers(&'static [(u16, &'static str)]),
}

pub type Row = (&'static str, &'static [u8], Then);

const AFTERWARDS: &[u8] = b"GET /ten.txt?afterwards HTTP/1.1\r\nHost: x\r\n\r\n";
pub const TEN: &str = "0123456789";

/// A script that prints the request that it has received.
const SAY: &str = r#"#!/usr/bin/perl
read STDIN, my $body, $ENV{CONTENT_LENGTH} || 0;
print "Content-type: text/plain\n\n", join '|', map { defined ? $_ : '-' } @ENV{qw(REQUEST_METHOD QUERY_STRING HTTP_HOST HTTP_X_A)}, $body;
"#;

pub fn server() -> Server {
    Server::builder()
        .file("scripts/say", SAY)
        .file("htdocs/ten.txt", TEN)
        .ladder()
        .conf(
            "<Location />\n    Require all granted\n</Location>\n\
             RewriteEngine On\nRewriteCond %{HTTP_HOST} =root\n\
             RewriteRule ^/$ /registry/say [PT]\n",
        )
        .start()
}

/// Sends every row on a connection of its own, and checks the responses.
pub fn hold(rows: &[Row]) {
    let server = server();
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(name, bytes, then)| {
            let wrong = judge(&server, bytes, then).err()?;
            Some(format!("{name}: {wrong}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn judge(server: &Server, bytes: &[u8], then: &Then) -> Result<(), String> {
    let mut connection = server.connect();
    connection.write(bytes);
    let method = if bytes.starts_with(b"HEAD") {
        "HEAD"
    } else {
        "GET"
    };
    let mut answer = |status: u16, text: &str| match connection.read_answer(method) {
        Ok(answer) if answer.status != status => {
            Err(format!("{} instead of {status}", answer.status))
        }
        Ok(answer) if !text.is_empty() && answer.text() != text => {
            Err(format!("{:?} instead of {text:?}", answer.text()))
        }
        Ok(answer) => Ok(answer),
        Err(error) => Err(format!("no answer: {error}")),
    };
    let ends = match then {
        Then::Refused(status) => answer(*status, "").map(|_| true)?,
        Then::Closes(status, text) => answer(*status, text).map(|_| true)?,
        Then::Keeps(status, text) => answer(*status, text).map(|_| false)?,
        Then::Answers(all) => {
            for (status, text) in *all {
                answer(*status, text)?;
            }
            true
        }
    };
    if ends {
        return if connection.is_closed_by_server() {
            Ok(())
        } else {
            Err("the connection stays".into())
        };
    }
    connection.write(AFTERWARDS);
    match connection.read_answer("GET") {
        Ok(answer) if answer.status == 200 && answer.text() == TEN => Ok(()),
        Ok(answer) => Err(format!(
            "the next request: {} {:?}",
            answer.status,
            answer.text()
        )),
        Err(error) => Err(format!("the next request: {error}")),
    }
}
