//! Holds httperf's usage and version, and makes the line that repeats the effective options.

use super::options::{Arrival, Options, Print, Uris, Workload};
use super::parse::HttpVersion;
use crate::number::general;

/// The text of `--version`. Like httperf 0.9.0, Mehari then continues with the run.
pub const VERSION: &str = "httperf: httperf-0.9.0 compiled without DEBUG without TIME_SYSCALLS.\n";

/// Returns the text of `--help`, line for line.
pub fn usage() -> String {
    let lines = [
        "Usage: httperf [-hdvV] [--add-header S] [--burst-length N] [--client N/N]",
        "[--close-with-reset] [--debug N] [--failure-status N]",
        "[--help] [--hog] [--http-version S] [--max-connections N]",
        "[--max-piped-calls N] [--method S] [--no-host-hdr]",
        "[--num-calls N] [--num-conns N] [--period [d|u|e]T1[,T2]]",
        "[--port N] [--print-reply [header|body]] [--print-request [header|body]]",
        "[--rate X] [--recv-buffer N] [--retry-on-failure] [--send-buffer N]",
        "[--server S] [--server-name S] [--session-cookies]",
        "[--ssl] [--ssl-ciphers L] [--ssl-no-reuse]",
        "[--think-timeout X] [--timeout X] [--uri S] [--verbose] [--version]",
        "[--wlog y|n,file] [--wsess N,N,X] [--wsesslog N,X,file]",
        "[--wset N,X]",
    ];
    format!("{}\n", lines.join("\n\t"))
}

/// Returns the first line of every run: the effective options in httperf's order.
pub fn echo(options: &Options) -> String {
    let mut line = String::from("httperf");
    let mut say = |text: &str| {
        line.push_str(" --");
        line.push_str(text);
    };
    if options.verbose > 0 {
        say("verbose");
    }
    for (what, name) in [
        (options.print_reply, "print-reply"),
        (options.print_request, "print-request"),
    ] {
        match what {
            None => {}
            Some(Print::Header) => say(&format!("{name}=header")),
            Some(Print::Body) => say(&format!("{name}=body")),
            Some(Print::Both) => say(name),
        }
    }
    if options.hog {
        say("hog");
    }
    if options.close_with_reset {
        say("close-with-reset");
    }
    if options.think_timeout > 0.0 {
        say(&format!("think-timeout={}", general(options.think_timeout)));
    }
    if options.timeout > 0.0 {
        say(&format!("timeout={}", general(options.timeout)));
    }
    say_whom(options, &mut say);
    say_how(options, &mut say);
    say_what(options, &mut say);
    line.push('\n');
    line
}

fn say_whom(options: &Options, say: &mut impl FnMut(&str)) {
    say(&format!(
        "client={}/{}",
        options.client.number, options.client.clients
    ));
    say(&format!("server={}", options.server));
    if let Some(name) = &options.server_name {
        say(&format!("server_name={name}"));
    }
    if options.port() != 0 {
        say(&format!("port={}", options.port()));
    }
    say(&format!("uri={}", options.uri));
}

fn say_how(options: &Options, say: &mut impl FnMut(&str)) {
    if options.failure_status != 0 {
        say(&format!("failure-status={}", options.failure_status));
    }
    let HttpVersion { major, minor } = options.http_version;
    if (major, minor) != (1, 1) {
        say(&format!("http-version={major}.{minor}"));
    }
    if options.max_connections != 0 {
        say(&format!("max-connections={}", options.max_connections));
    }
    if options.max_piped_calls != 0 {
        say(&format!("max-piped-calls={}", options.max_piped_calls));
    }
    if let Some(arrival) = arrival(&options.arrival) {
        say(&arrival);
    }
    say(&format!("send-buffer={}", options.send_buffer));
    if options.retry_on_failure {
        say("retry-on-failure");
    }
    say(&format!("recv-buffer={}", options.receive_buffer));
    if options.session_cookies {
        say("session-cookies");
    }
    if options.ssl {
        say("ssl");
    }
    if let Some(ciphers) = &options.ssl_ciphers {
        say(&format!("ssl-ciphers={ciphers}"));
    }
    if options.ssl_no_reuse {
        say("ssl-no-reuse");
    }
}

fn arrival(arrival: &Arrival) -> Option<String> {
    Some(match arrival {
        Arrival::Sequential => return None,
        Arrival::Every(between) => format!("rate={}", general(1.0 / between)),
        Arrival::Uniform(least, most) => {
            format!("period=u{},{}", general(*least), general(*most))
        }
        Arrival::Exponential(mean) => format!("period=e{}", general(*mean)),
        Arrival::Variable(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(between, lasts)| format!("{},{}", general(*between), general(*lasts)))
                .collect();
            format!("period=v{}", pairs.join(","))
        }
    })
}

fn say_what(options: &Options, say: &mut impl FnMut(&str)) {
    if let Some(header) = &options.add_header {
        say(&format!("add-header='{}'", String::from_utf8_lossy(header)));
    }
    if let Some(method) = &options.method {
        say(&format!("method={method}"));
    }
    if options.runtime > 0.0 {
        say(&format!("runtime={}", general(options.runtime)));
    }
    match &options.workload {
        Workload::Log {
            sessions,
            think,
            file,
        } if *sessions > 0 => return say(&format!("wsesslog={sessions},{think:.3},{file}")),
        Workload::Sessions {
            sessions,
            calls,
            think,
            pages,
        } if *sessions > 0 => {
            let name = if *pages { "wsesspage" } else { "wsess" };
            say(&format!("{name}={sessions},{calls},{think:.3}"));
            if *pages {
                return;
            }
        }
        _ => {
            if options.num_conns > 0 {
                say(&format!("num-conns={}", options.num_conns));
            }
            if options.num_calls > 0 {
                say(&format!("num-calls={}", options.num_calls));
            }
        }
    }
    if options.burst_length != 1 {
        say(&format!("burst-length={}", options.burst_length));
    }
    if let Uris::Set { files, miss_rate } = options.uris {
        say(&format!("wset={files},{miss_rate:.3}"));
    }
}
