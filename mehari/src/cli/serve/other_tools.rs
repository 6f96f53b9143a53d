//! The options of plackup, Starman, uWSGI and Mojolicious' servers that `mehari serve` does not
//! have.

use crate::cli::foreign::Foreign;

const CONFIGURED: &str = "plackup and Starman";

pub const OTHER_TOOLS: &[Foreign] = &[
    ("-r", "plackup", "`--watch`"),
    ("--reload", "plackup", "`--watch`"),
    ("-R", "plackup", "`--watch`, which finds the files itself"),
    (
        "--Reload",
        "plackup",
        "`--watch`, which finds the files itself",
    ),
    ("-s", "plackup", "nothing: Mehari is the server"),
    ("--server", "plackup", "nothing: Mehari is the server"),
    ("-o", "plackup", "`--listen HOST:PORT`"),
    ("--host", CONFIGURED, "`--listen HOST:PORT`"),
    ("-S", CONFIGURED, "`--listen unix:/PATH`"),
    ("--socket", CONFIGURED, "`--listen unix:/PATH`"),
    ("-a", "plackup", "the file alone: `mehari serve FILE`"),
    ("--app", "plackup", "the file alone: `mehari serve FILE`"),
    ("-e", "plackup", "a file that holds the code"),
    ("-M", "plackup", "`use MODULE;` in the application"),
    (
        "-L",
        "plackup",
        "nothing: the application is loaded before the workers are forked",
    ),
    (
        "--loader",
        "plackup",
        "nothing: the application is loaded before the workers are forked",
    ),
    (
        "--preload-app",
        "Starman",
        "nothing: the application is loaded before the workers are forked",
    ),
    (
        "--no-default-middleware",
        "plackup",
        "nothing: Mehari adds no middleware",
    ),
    ("--path", "plackup", "`<Location /PATH>` in a configuration"),
    (
        "--daemonize",
        CONFIGURED,
        "a service of systemd (packaging/INSTALL.md)",
    ),
    (
        "--access-log",
        CONFIGURED,
        "`CustomLog FILE combined` in a configuration, or `2>FILE`",
    ),
    (
        "--error-log",
        "Starman",
        "`ErrorLog FILE` in a configuration, or `2>FILE`",
    ),
    (
        "--max-requests",
        "Starman",
        "`MaxConnectionsPerChild N` in a configuration",
    ),
    (
        "--backlog",
        "Starman",
        "`ListenBacklog N` in a configuration",
    ),
    (
        "--disable-keepalive",
        "Starman",
        "`KeepAlive Off` in a configuration",
    ),
    (
        "--keepalive-timeout",
        "Starman",
        "`KeepAliveTimeout TIME` in a configuration",
    ),
    (
        "--read-timeout",
        "Starman",
        "`RequestReadTimeout` in a configuration",
    ),
    ("--group", "Starman", "`Group NAME` in a configuration"),
    ("--pid", "Starman", "`PidFile FILE` in a configuration"),
    (
        "--ssl-cert",
        "Starman",
        "`--listen https://HOST:PORT --certificate FILE`",
    ),
    (
        "--ssl-key",
        "Starman",
        "`--certificate FILE` with both the certificate and the key",
    ),
    ("--enable-ssl", "Starman", "`--listen https://HOST:PORT`"),
    ("--psgi", "uWSGI", "the file alone: `mehari serve FILE`"),
    ("--http", "uWSGI", "`--listen HOST:PORT`"),
    ("--http-socket", "uWSGI", "`--listen HOST:PORT`"),
    ("--processes", "uWSGI", "`--workers N`"),
    ("-w", "morbo", "`--watch`, which finds the files itself"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{foreign, serve};
    use clap::CommandFactory;

    #[test]
    fn options_of_other_servers_get_a_hint_and_our_own_get_none() {
        for (line, words) in [
            (
                "app.psgi -r",
                "-r is an option of plackup; expected `--watch`",
            ),
            ("-Rlib,t app.psgi", "expected `--watch`"),
            ("-s Starman app.psgi", "Mehari is the server"),
            ("--host=127.0.0.1 app.psgi", "expected `--listen HOST:PORT`"),
            ("app.psgi --max-requests 100", "MaxConnectionsPerChild"),
        ] {
            let said = foreign::tests::hint(OTHER_TOOLS, line).expect(line);
            assert!(said.contains(words), "{said}");
        }
        for line in [
            "app.psgi -p 5000 -Ilib -E development",
            "-f httpd.conf -D x",
        ] {
            assert_eq!(foreign::tests::hint(OTHER_TOOLS, line), None, "{line}");
        }
        foreign::tests::none_is_our_own(OTHER_TOOLS, &serve::Options::command());
    }
}
