//! Measures how much the server writes to its logs for each request.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::bytes;

/// The least bytes of a request in the error log that are worth a change.
const LEAST_BYTES: f64 = 80.0;
const LEAST_REQUESTS: f64 = 20.0;
/// The least share of the requests in which a line writes, and the most lines.
const LEAST_SHARE: f64 = 0.3;
const MOST: usize = 3;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let requests = server.span.requests();
    let Some(written) = server.span.error_log_bytes else {
        return Verdict::Unmeasured("the error log is no file".to_owned());
    };
    if requests < LEAST_REQUESTS {
        return Verdict::Unmeasured(format!(
            "{requests} requests came, and {LEAST_REQUESTS} are needed"
        ));
    }
    let each = written as f64 / requests;
    let told = format!(
        "the error log grew by {} in {requests} requests, {} a request",
        bytes(written as f64),
        bytes(each)
    );
    let mut advice = Vec::new();
    let is_talkative = |text: &str| {
        let mut words = text.split_whitespace().skip(1);
        words.any(|word| {
            let level = word.rsplit(':').next().unwrap_or_default();
            level.eq_ignore_ascii_case("debug") || level.to_ascii_lowercase().starts_with("trace")
        })
    };
    let lines = examination.configuration.all("LogLevel");
    if let Some(line) = lines.into_iter().find(|line| is_talkative(&line.text)) {
        if each >= LEAST_BYTES {
            let new = "LogLevel warn";
            advice.push(Advice {
                what: format!("`{}` writes to the error log at each request", line.text),
                measured: told.clone(),
                figures: vec![figure("error log", each, "bytes a request")],
                change: ProposedChange::replace(&line.file, line.number, &line.text, new),
                gain: gain::of_lines(examination, &[new], &examination.example()),
            });
        }
    }
    if each >= LEAST_BYTES {
        let frequent = server.span.errors.iter();
        let frequent = frequent.filter(|error| error.count >= requests * LEAST_SHARE);
        advice.extend(frequent.take(MOST).map(|error| Advice {
            what: format!(
                "a line of Perl writes to the error log at most requests: {}",
                error.message
            ),
            measured: format!("{} messages in {requests} requests; {told}", error.count),
            figures: vec![
                figure("messages", error.count / requests, "a request"),
                figure("error log", each, "bytes a request"),
            ],
            change: ProposedChange::code(&error.file, error.line, "warn only of what is wrong"),
            gain: gain::of_records(examination, &examination.example()),
        }));
    }
    advice_or(advice, told)
}
