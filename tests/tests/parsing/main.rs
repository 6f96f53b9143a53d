//! Request parsing as tables: the bytes sent, and the expected reply.
//!
//! The cases come from other servers' suites (lighttpd's request tests, the requirements of RFC
//! 9110 and 9112, request smuggling); each has one expected answer. `malformed` sends similar
//! requests to scripts on every rung; the tests here check the connection itself.

mod bodies;
mod conditions;
mod fields;
mod lines;
mod ranges;

use mehari_harness::Server;

/// The expected reply. `""` as a text: any.
pub enum Then {
    /// A refusal with this status, and the end of the connection.
    Refused(u16),
    /// Status and body; the next request on the connection is answered as well.
    Keeps(u16, &'static str),
    /// Status and body, and the connection ends.
    Closes(u16, &'static str),
    /// Several answers, one after the other, and the connection ends.
    Answers(&'static [(u16, &'static str)]),
}

pub type Row = (&'static str, &'static [u8], Then);

const AFTERWARDS: &[u8] = b"GET /ten.txt?afterwards HTTP/1.1\r\nHost: x\r\n\r\n";
pub const TEN: &str = "0123456789";

/// Prints the request it received.
const SAY: &str = r#"#!/usr/bin/perl
read STDIN, my $body, $ENV{CONTENT_LENGTH} || 0;
print "Content-type: text/plain\n\n", join '|', map { defined ? $_ : '-' } @ENV{qw(REQUEST_METHOD QUERY_STRING HTTP_HOST HTTP_X_A)}, $body;
"#;

pub fn server() -> Server {
    Server::builder()
        .file("scripts/say", SAY)
        .file("htdocs/ten.txt", TEN)
        .ladder()
        .conf("<Location />\n    Require all granted\n</Location>\n")
        .start()
}

/// Sends every row on a connection of its own.
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
