//! The names of httperf's options, and the messages of `getopt_long` for other names.

use crate::getopt::{Long, LongError, Takes};

const fn takes(name: &'static str) -> Long {
    Long {
        name,
        takes: Takes::Argument,
    }
}

const fn flag(name: &'static str) -> Long {
    Long {
        name,
        takes: Takes::Nothing,
    }
}

const fn perhaps(name: &'static str) -> Long {
    Long {
        name,
        takes: Takes::Perhaps,
    }
}

/// The options in httperf's order, in which the message about an ambiguous prefix lists them.
/// `runtime` is from 0.9.1.
pub const TABLE: &[Long] = &[
    takes("add-header"),
    takes("burst-length"),
    takes("client"),
    flag("close-with-reset"),
    takes("debug"),
    takes("failure-status"),
    flag("help"),
    flag("hog"),
    takes("http-version"),
    takes("max-connections"),
    takes("max-piped-calls"),
    takes("method"),
    flag("no-host-hdr"),
    takes("num-calls"),
    takes("num-conns"),
    takes("period"),
    takes("port"),
    perhaps("print-reply"),
    perhaps("print-request"),
    takes("rate"),
    takes("recv-buffer"),
    flag("retry-on-failure"),
    takes("runtime"),
    takes("send-buffer"),
    takes("server"),
    takes("server-name"),
    flag("session-cookies"),
    flag("ssl"),
    takes("ssl-ciphers"),
    flag("ssl-no-reuse"),
    takes("think-timeout"),
    takes("timeout"),
    takes("uri"),
    flag("verbose"),
    flag("version"),
    takes("wlog"),
    takes("wsess"),
    takes("wsesslog"),
    takes("wsesspage"),
    takes("wset"),
];

pub const LETTERS: &[(char, &str)] = &[
    ('d', "debug"),
    ('h', "help"),
    ('v', "verbose"),
    ('V', "version"),
];

/// The message of `getopt_long`.
pub fn misuse(error: LongError) -> String {
    match error {
        LongError::Unrecognized(name) => format!("unrecognized option '--{name}'"),
        LongError::Ambiguous(name, names) => {
            let names: Vec<String> = names.iter().map(|name| format!("'--{name}'")).collect();
            format!(
                "option '--{name}' is ambiguous; possibilities: {}",
                names.join(" ")
            )
        }
        LongError::ArgumentMissing(name) => format!("option '--{name}' requires an argument"),
        LongError::ArgumentUnwanted(name) => format!("option '--{name}' doesn't allow an argument"),
        LongError::UnknownLetter(letter) => format!("invalid option -- '{letter}'"),
        LongError::LetterArgumentMissing(letter) => {
            format!("option requires an argument -- '{letter}'")
        }
    }
}
