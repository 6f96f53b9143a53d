//! Reads the arguments of httperf's options. Malformed arguments get httperf's messages.

use super::options::{Arrival, Uris, Workload};
use crate::number::{leading_integer, leading_number};

#[derive(Debug, PartialEq, Eq)]
pub enum ParseError {
    /// `--help`: not an error, but the end of parsing.
    Help,
    /// httperf's message, without the name before it.
    Wrong(String),
}

fn wrong<T>(text: String) -> Result<T, ParseError> {
    Err(ParseError::Wrong(text))
}

/// Reads a whole number. Text after the number is an error.
pub fn count(text: &str, what: &str) -> Result<u64, ParseError> {
    match leading_integer(text) {
        Some((value, "")) => Ok(value),
        _ => wrong(format!("{what} {text}")),
    }
}

pub fn at_least(text: &str, least: u64, what: &str) -> Result<u64, ParseError> {
    match count(text, what)? {
        value if value >= least => Ok(value),
        _ => wrong(format!("{what} {text}")),
    }
}

pub fn port(text: &str) -> Result<u16, ParseError> {
    let what = "illegal port number";
    u16::try_from(count(text, what)?).or_else(|_| wrong(format!("{what} {text}")))
}

pub fn seconds(text: &str, what: &str) -> Result<f64, ParseError> {
    match leading_number(text) {
        Some((value, "")) => Ok(value),
        _ => wrong(format!("{what} {text}")),
    }
}

/// `--http-version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpVersion {
    pub major: u32,
    pub minor: u32,
}

/// `--client=I/N`: this process is number `I` of `N` that share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientShare {
    pub number: u64,
    pub clients: u64,
}

pub fn http_version(text: &str) -> Result<HttpVersion, ParseError> {
    let parts = text.split_once('.').and_then(|(major, minor)| {
        let (major, rest) = leading_integer(major)?;
        let (minor, _) = leading_integer(minor)?;
        rest.is_empty().then_some(HttpVersion {
            major: major as u32,
            minor: minor as u32,
        })
    });
    parts.map_or_else(|| wrong(format!("illegal version number {text}")), Ok)
}

/// Reads the value `I/N` of `--client`.
pub fn client(text: &str) -> Result<ClientShare, ParseError> {
    let Some((number, rest)) = leading_integer(text) else {
        return wrong(format!("bad client id (rest: `{text}')"));
    };
    let Some(count) = rest.strip_prefix('/') else {
        return wrong(format!("client id not followed by `/' (rest: `{rest}')"));
    };
    match leading_integer(count) {
        Some((clients, _)) if number < clients => Ok(ClientShare { number, clients }),
        _ => wrong(format!("bad number of clients (rest: `{count}')")),
    }
}

/// Reads a rate per second. Zero or less means that each connection or session starts when the
/// previous one has ended.
pub fn rate(text: &str) -> Result<Arrival, ParseError> {
    let rate = seconds(text, "illegal request rate")?;
    Ok(if rate > 0.0 {
        Arrival::Every(1.0 / rate)
    } else {
        Arrival::Sequential
    })
}

/// Reads the value `[d|u|e|v]T1[,T2...]` of `--period`: intervals in seconds.
pub fn period(text: &str) -> Result<Arrival, ParseError> {
    let (kind, rest) = match text.chars().next() {
        Some(first) if !first.is_ascii_digit() => (first, &text[first.len_utf8()..]),
        _ => ('d', text),
    };
    match kind.to_ascii_lowercase() {
        'd' => Ok(match mean(rest)? {
            between if between > 0.0 => Arrival::Every(between),
            _ => Arrival::Sequential,
        }),
        'e' => Ok(match mean(rest)? {
            between if between > 0.0 => Arrival::Exponential(between),
            _ => Arrival::Sequential,
        }),
        'u' => uniform(rest),
        'v' => variable(rest),
        _ => wrong(format!(
            "illegal interarrival distribution '{kind}' in {text}"
        )),
    }
}

fn mean(text: &str) -> Result<f64, ParseError> {
    match leading_number(text) {
        Some((value, "")) if value >= 0.0 => Ok(value),
        _ => wrong(format!("illegal mean interarrival time {text}")),
    }
}

fn minimum(text: &str) -> Result<(f64, &str), ParseError> {
    leading_number(text)
        .filter(|(value, _)| *value >= 0.0)
        .map_or_else(
            || wrong(format!("illegal minimum interarrival time {text}")),
            Ok,
        )
}

fn uniform(text: &str) -> Result<Arrival, ParseError> {
    let (least, rest) = minimum(text)?;
    let Some(most) = rest.strip_prefix(',') else {
        return wrong(format!(
            "minimum interarrival time not followed by `,MAX_IAT' (rest: `{rest}')"
        ));
    };
    match leading_number(most) {
        Some((value, "")) if value >= 0.0 => Ok(if least + value > 0.0 {
            Arrival::Uniform(least, value)
        } else {
            Arrival::Sequential
        }),
        _ => wrong(format!("illegal request period {most}")),
    }
}

fn variable(mut text: &str) -> Result<Arrival, ParseError> {
    let mut pairs = Vec::new();
    loop {
        let (between, rest) = minimum(text)?;
        let Some(duration) = rest.strip_prefix(',') else {
            return wrong(format!(
                "interarrival time not followed by `,duration' (rest: `{rest}')"
            ));
        };
        let Some((lasts, rest)) = leading_number(duration).filter(|(lasts, _)| *lasts >= 0.0)
        else {
            return wrong(format!("illegal duration {duration}"));
        };
        pairs.push((between, lasts));
        match rest.strip_prefix(',') {
            Some(next) => text = next,
            None => return Ok(Arrival::Variable(pairs)),
        }
    }
}

/// Reads comma-separated parameters. Error messages name the parameter as httperf's do.
struct Parameters<'a> {
    option: &'static str,
    rest: &'a str,
    first: bool,
}

impl<'a> Parameters<'a> {
    fn of(option: &'static str, text: &'a str) -> Parameters<'a> {
        Parameters {
            option,
            rest: text,
            first: true,
        }
    }

    fn bad<T>(&self, what: &str) -> Result<T, ParseError> {
        let (option, rest) = (self.option, self.rest);
        wrong(format!("{what} in --{option} arg (rest: `{rest}')"))
    }

    fn comma(&mut self, what: &str) -> Result<(), ParseError> {
        if !std::mem::take(&mut self.first) {
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => return self.bad(what),
            }
        }
        Ok(())
    }

    fn integer(&mut self, what: &str) -> Result<u64, ParseError> {
        self.comma(what)?;
        let Some((value, rest)) = leading_integer(self.rest) else {
            return self.bad(what);
        };
        self.rest = rest;
        Ok(value)
    }

    fn number(&mut self, what: &str) -> Result<f64, ParseError> {
        self.comma(what)?;
        match leading_number(self.rest) {
            Some((value, rest)) if value >= 0.0 => {
                self.rest = rest;
                Ok(value)
            }
            _ => self.bad(what),
        }
    }

    fn end(&self) -> Result<(), ParseError> {
        match self.rest {
            "" => Ok(()),
            _ => self.bad("extraneous parameter"),
        }
    }
}

const NUMBER_OF_SESSIONS: &str = "bad number of sessions (1st param)";

/// Reads the value `N1,N2,X` of `--wsess` or `--wsesspage`: sessions, calls or pages, think time.
pub fn sessions(text: &str, pages: bool) -> Result<Workload, ParseError> {
    let (option, second) = if pages {
        (
            "wsesspage",
            "bad number of user requests per session (2nd param)",
        )
    } else {
        ("wsess", "bad number of calls per session (2nd param)")
    };
    let mut parameters = Parameters::of(option, text);
    let workload = Workload::Sessions {
        sessions: parameters.integer(NUMBER_OF_SESSIONS)?,
        calls: parameters.integer(second)?,
        think: parameters.number("bad user think time (3rd param)")?,
        pages,
    };
    parameters.end()?;
    Ok(workload)
}

/// Reads the value `N,X,FILE` of `--wsesslog`: sessions, think time, file.
pub fn session_log(text: &str) -> Result<Workload, ParseError> {
    let mut parameters = Parameters::of("wsesslog", text);
    let sessions = parameters.integer(NUMBER_OF_SESSIONS)?;
    let think = parameters.number("bad user think time (2nd param)")?;
    parameters.comma("bad session filename (3rd param)")?;
    let (file, rest) = parameters
        .rest
        .split_once(',')
        .unwrap_or((parameters.rest, ""));
    let file = file.to_string();
    parameters.rest = rest;
    parameters.end()?;
    Ok(Workload::Log {
        sessions,
        think,
        file,
    })
}

/// Reads the value `N,X` of `--wset`: files and miss rate. The miss rate lies between 0 and 1.
pub fn working_set(text: &str) -> Result<Uris, ParseError> {
    let mut parameters = Parameters::of("wset", text);
    let files = parameters.integer("bad working set size (1st parameter)")?;
    let what = "bad target miss rate (2nd parameter)";
    let before = parameters.rest;
    let miss_rate = parameters.number(what)?;
    if miss_rate > 1.0 {
        parameters.rest = before.trim_start_matches(',');
        return parameters.bad(what);
    }
    parameters.end()?;
    Ok(Uris::Set { files, miss_rate })
}
