//! Tests PerlProcessConnectionHandler: a worker gets the client's socket.

use mehari_harness::{eventually, processes, Builder, Connection, Server, PATIENCE};
use rustix::process::Signal;

/// A handler that sends a first line and then echoes each line, until the client closes or sends
/// `bye`.
const ECHO: &str = r#"package Echo;
use strict;
use warnings;
use Apache2::Connection ();
use Apache2::Const -compile => qw(OK MODE_GETLINE);
use APR::Brigade ();
use APR::Bucket ();
use APR::Socket ();

sub by_socket {
    my $c = shift;
    my $socket = $c->client_socket;
    $socket->send("hello $$\n");
    while ($socket->recv(my $line, 1024)) {
        $socket->send($line);
        last if $line =~ /bye/;
    }
    return Apache2::Const::OK;
}

sub by_filters {
    my $c = shift;
    my ($out, $in) = map { APR::Brigade->new($c->pool, $c->bucket_alloc) } 1, 2;
    my $say = sub { $out->insert_tail(APR::Bucket->new($c->bucket_alloc, $_[0])); $c->output_filters->fflush($out) };
    $say->("hello $$\n");
    until ($c->input_filters->get_brigade($in, Apache2::Const::MODE_GETLINE, 0, 0)) {
        $in->flatten(my $line);
        $in->cleanup;
        $say->($line);
        last if $line =~ /bye/;
    }
    return Apache2::Const::OK;
}
1;
"#;

fn speaks(handler: &str) -> Builder {
    Server::builder().file("lib/Echo.pm", ECHO).conf(&format!(
        "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\nPerlSwitches -I@ROOT@/lib\n\
         PerlProcessConnectionHandler Echo::{handler}\n"
    ))
}

/// Reads until this text has arrived. Returns all text that has arrived.
#[track_caller]
fn read(connection: &mut Connection, words: &str) -> String {
    loop {
        let text = String::from_utf8_lossy(connection.unread()).into_owned();
        if text.contains(words) {
            return text;
        }
        let more = connection.fill().expect("a readable socket");
        assert!(more > 0, "the end before `{words}`: {text}");
    }
}

/// Opens a connection and waits for the handler's first line. Returns the connection and the
/// handler's process number.
#[track_caller]
fn greeted(server: &Server) -> (Connection, i32) {
    let mut connection = server.connect();
    let greeting = read(&mut connection, "\n");
    let pid = greeting.trim().strip_prefix("hello ").map(str::parse);
    let pid = pid.expect("a greeting").expect("a process id");
    connection.forget(greeting.len());
    (connection, pid)
}

/// Checks that the server closes the connection.
#[track_caller]
fn ends(connection: &mut Connection) {
    while connection.fill().expect("a readable socket") > 0 {}
}

#[test]
fn connections_leave_no_descriptor_in_their_worker() {
    for handler in ["by_socket", "by_filters"] {
        let server = speaks(handler).start();
        let converse = |count: usize| {
            for _ in 0..count {
                let (mut connection, _) = greeted(&server);
                connection.write(b"bye\n");
                ends(&mut connection);
            }
            let (_connection, pid) = greeted(&server);
            processes::descriptors(pid)
        };
        let before = converse(3);
        assert_eq!(converse(100), before, "{handler}");
    }
}

/// In this protocol the server sends first. A server that waited for the client's first byte would
/// wait for ever.
#[test]
fn silent_client_gets_the_first_line_and_is_closed_after_the_time_limit() {
    let server = speaks("by_socket").conf("Timeout 1\n").start();
    let (mut connection, _) = greeted(&server);
    ends(&mut connection);
    server.log.expect("The timeout specified has expired");
    let (mut next, _) = greeted(&server);
    next.write(b"still there\n");
    read(&mut next, "still there");
}

#[test]
fn killed_worker_ends_the_connection_that_it_had() {
    let server = speaks("by_socket").start();
    let (mut connection, pid) = greeted(&server);
    processes::signal(pid, Signal::Kill);
    ends(&mut connection);
    let (_, next) = greeted(&server);
    assert_ne!(next, pid);
    server.log.expect("signal 9");
}

#[test]
fn reload_leaves_a_connection_to_its_worker() {
    let server = speaks("by_socket").start();
    let (mut connection, old) = greeted(&server);
    server.signal(Signal::Hup);
    server.log.expect("generation 2 serves");
    let (_, new) = greeted(&server);
    assert_ne!(new, old);
    connection.write(b"as before\n");
    read(&mut connection, "as before");
    connection.write(b"bye\n");
    ends(&mut connection);
    let gone = eventually(PATIENCE, || !processes::is_alive(old));
    assert!(gone, "the worker of the generation before stays");
}

#[test]
fn stop_waits_for_a_connection_and_not_for_ever() {
    let mut server = speaks("by_socket")
        .conf("GracefulShutdownTimeout 1\n")
        .start();
    let (mut connection, _) = greeted(&server);
    server.signal(Signal::Term);
    server.log.expect("finishing the requests under way");
    connection.write(b"one more\n");
    read(&mut connection, "one more");
    let status = server.wait().expect("it stops");
    assert!(status.success(), "{status}: {}", server.log.text());
    ends(&mut connection);
}
