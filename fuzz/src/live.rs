//! Sends arbitrary input to a running server. The server must answer with HTTP or close the
//! connection soon, and serve other clients meanwhile.

use crate::corpus;
use crate::mutate::{mutate, Random};
use mehari_harness::scripts::plain;
use mehari_harness::{Connection, Server};
use std::time::{Duration, Instant};

/// The server must close an idle client's connection within this time.
const SOON: Duration = Duration::from_secs(8);
/// The number of connections between two checks that the server still serves others.
const ROUND: usize = 50;

fn server() -> Server {
    let echo = plain("my $b = ''; read STDIN, $b, $ENV{CONTENT_LENGTH} || 0; print length $b;");
    Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/echo.pl", &echo)
        .file("htdocs/file.txt", "text")
        .ladder()
        .conf("StartServers 2\nMinSpareServers 2\nMaxSpareServers 2\nMaxRequestWorkers 2\nKeepAliveTimeout 2\nRequestReadTimeout header=2 body=2\n")
        .start()
}

/// Sends input for the given time. Returns the number of connections, or the fault and the last
/// input. The harness checks for leaks when the server ends.
pub fn run(time: Duration, random: &mut Random) -> Result<usize, (String, Vec<u8>)> {
    let corpus = corpus::read("live");
    let server = server();
    let (begun, mut count) = (Instant::now(), 0);
    while count < corpus.len() || begun.elapsed() < time {
        let input = match corpus.get(count) {
            Some(input) => input.clone(),
            None => mutate(&corpus, random, 200_000),
        };
        visit(&server, &input, random).map_err(|why| (why, input.clone()))?;
        count += 1;
        if count % ROUND == 0 {
            is_well(&server).map_err(|why| (why, input))?;
        }
    }
    is_well(&server).map_err(|why| (why, Vec::new()))?;
    Ok(count)
}

fn visit(server: &Server, input: &[u8], random: &mut Random) -> Result<(), String> {
    let mut connection = Connection::try_open(server.address).map_err(|error| error.to_string())?;
    connection.patience(SOON);
    let cut = random.below(input.len() + 1);
    for piece in [&input[..cut], &input[cut..]] {
        connection.write(piece);
    }
    connection.half_close();
    let mut start = Vec::new();
    loop {
        match connection.fill() {
            Ok(0) => break,
            Ok(_) => {
                let unread = connection.unread().len();
                if start.len() < 16 {
                    start.extend_from_slice(connection.unread());
                }
                connection.forget(unread);
            }
            Err(error) => return Err(format!("kept for {SOON:?}: {error}")),
        }
    }
    // The answer must be HTTP/1, or HTTP/2 frames, which begin with a length below 16384.
    let speaks = start.is_empty() || start.starts_with(b"HTTP/1.") || start[0] == 0;
    if speaks {
        Ok(())
    } else {
        Err(format!("it said {}", start.escape_ascii()))
    }
}

fn is_well(server: &Server) -> Result<(), String> {
    for target in ["/registry/hello.pl", "/fork/hello.pl", "/file.txt"] {
        let answer = server.get(target);
        if answer.status != 200 {
            return Err(format!("{target} answers {}", answer.status));
        }
    }
    Ok(())
}
