//! Lists the names of httperf's options, and makes the messages of `getopt_long` for other names.

use crate::getopt::{Long, LongError, Takes};

const fn required_argument(name: &'static str) -> Long {
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

const fn optional_argument(name: &'static str) -> Long {
    Long {
        name,
        takes: Takes::Perhaps,
    }
}

/// The options in httperf's order. The message about an ambiguous prefix lists them in this order.
/// httperf has `runtime` since 0.9.1.
pub const TABLE: &[Long] = &[
    required_argument("add-header"),
    required_argument("burst-length"),
    required_argument("client"),
    flag("close-with-reset"),
    required_argument("debug"),
    required_argument("failure-status"),
    flag("help"),
    flag("hog"),
    required_argument("http-version"),
    required_argument("max-connections"),
    required_argument("max-piped-calls"),
    required_argument("method"),
    flag("no-host-hdr"),
    required_argument("num-calls"),
    required_argument("num-conns"),
    required_argument("period"),
    required_argument("port"),
    optional_argument("print-reply"),
    optional_argument("print-request"),
    required_argument("rate"),
    required_argument("recv-buffer"),
    flag("retry-on-failure"),
    required_argument("runtime"),
    required_argument("send-buffer"),
    required_argument("server"),
    required_argument("server-name"),
    flag("session-cookies"),
    flag("ssl"),
    required_argument("ssl-ciphers"),
    flag("ssl-no-reuse"),
    required_argument("think-timeout"),
    required_argument("timeout"),
    required_argument("uri"),
    flag("verbose"),
    flag("version"),
    required_argument("wlog"),
    required_argument("wsess"),
    required_argument("wsesslog"),
    required_argument("wsesspage"),
    required_argument("wset"),
];

pub const LETTERS: &[(char, &str)] = &[
    ('d', "debug"),
    ('h', "help"),
    ('v', "verbose"),
    ('V', "version"),
];

/// Returns the message of `getopt_long` for an error.
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
