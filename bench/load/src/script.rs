//! Reads files of requests: `--urls` lists and `--session` scripts. docs/reference/bench.md
//! describes both formats.

use std::time::Duration;

use crate::plan_error::PlanError;
use crate::request::{Builder, Request};
use crate::session::{Burst, OnFailure, Session};
use crate::url::Url;

/// Reads a list with one request per line: `[WEIGHT] [METHOD] URL`. Blank lines and `#` lines are
/// skipped.
///
/// # Errors
///
/// [`PlanError`] with file and line if a request is faulty, and [`PlanError`] if the list is empty.
pub fn read_list(text: &str, file: &str, builder: &Builder) -> Result<Vec<Request>, PlanError> {
    let mut requests = Vec::new();
    for (number, line) in lines(text) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let weight = words[0].parse::<u32>().ok();
        if weight.is_some() {
            words.remove(0);
        }
        let at = |why: String| PlanError::new(format!("{file}:{number}: {why}"));
        let (method, url) = match words[..] {
            [url] => (None, url),
            [method, url] => (Some(method), url),
            _ => return Err(at(format!("expected [WEIGHT] [METHOD] URL, not `{line}`"))),
        };
        let mut request =
            build(builder, method, url, None).map_err(|error| at(error.to_string()))?;
        request.weight = weight.unwrap_or(1);
        requests.push(request);
    }
    if requests.is_empty() {
        Err(PlanError::new(format!("{file}: there is no URL in it")))
    } else {
        Ok(requests)
    }
}

/// Reads session scripts. A line has one of these forms:
///
/// ```text
/// session [WEIGHT] [cookies] [go-on]     begins another script
/// think TIME                             before the next call
/// METHOD PATH-or-URL [body]              a call
/// + METHOD PATH-or-URL [body]            a call sent together with the one before
/// ```
///
/// Paths are relative to the URL of the command line.
///
/// # Errors
///
/// [`PlanError`] with file and line if a line is faulty, and [`PlanError`] if a script has no call.
pub fn read(
    text: &str,
    file: &str,
    urls: &[String],
    builder: &Builder,
) -> Result<(Vec<Request>, Vec<Session>), PlanError> {
    let base = match urls {
        [] => None,
        [url] => Some(Url::parse(url)?),
        _ => {
            return Err(PlanError::new(
                "with --session there is at most one URL, the base of its paths",
            ))
        }
    };
    let mut script = Script {
        base,
        builder,
        requests: Vec::new(),
        sessions: Vec::new(),
        think: Duration::ZERO,
    };
    for (number, line) in lines(text) {
        script
            .take(line)
            .map_err(|why| PlanError::new(format!("{file}:{number}: {why}")))?;
    }
    if script
        .sessions
        .iter()
        .all(|session| session.bursts.is_empty())
    {
        return Err(PlanError::new(format!("{file}: there is no call in it")));
    }
    Ok((script.requests, script.sessions))
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(place, line)| (place + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

struct Script<'a> {
    base: Option<Url>,
    builder: &'a Builder,
    requests: Vec<Request>,
    sessions: Vec<Session>,
    think: Duration,
}

impl Script<'_> {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "session" => self.begin(rest.trim()),
            "think" => {
                self.think += seconds(rest.trim())?;
                Ok(())
            }
            "+" => self.call(rest.trim(), true),
            _ => self.call(line, false),
        }
    }

    fn begin(&mut self, options: &str) -> Result<(), String> {
        let mut session = empty();
        for option in options.split_whitespace() {
            match (option, option.parse::<u32>()) {
                (_, Ok(weight)) => session.weight = weight,
                ("cookies", _) => session.cookies = true,
                ("go-on", _) => session.on_failure = OnFailure::GoOn,
                _ => {
                    return Err(format!(
                        "expected `session [WEIGHT] [cookies] [go-on]`, not `{option}`"
                    ))
                }
            }
        }
        self.sessions.push(session);
        self.think = Duration::ZERO;
        Ok(())
    }

    fn call(&mut self, text: &str, together: bool) -> Result<(), String> {
        let mut words = text.splitn(3, char::is_whitespace);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(format!(
                "expected METHOD PATH, `think TIME` or `session`, not `{text}`"
            ));
        };
        let body = words.next().map(str::trim);
        let url = self.resolve(target)?;
        let request =
            build(self.builder, Some(method), &url, body).map_err(|error| error.to_string())?;
        let call = self.requests.len();
        self.requests.push(request);
        if self.sessions.is_empty() {
            self.sessions.push(Session {
                cookies: true,
                ..empty()
            });
        }
        let think = std::mem::take(&mut self.think);
        let bursts = &mut self
            .sessions
            .last_mut()
            .expect("a burst was just pushed")
            .bursts;
        match (together, bursts.last_mut()) {
            (true, Some(burst)) => burst.calls.push(call),
            (true, None) => return Err("there is no call before this one to send it with".into()),
            (false, _) => bursts.push(Burst {
                calls: vec![call],
                think,
                not_before: None,
            }),
        }
        Ok(())
    }

    fn resolve(&self, target: &str) -> Result<String, String> {
        match (&self.base, target.starts_with('/')) {
            (Some(base), true) => {
                let scheme = if base.endpoint.tls { "https" } else { "http" };
                Ok(format!("{scheme}://{}{target}", base.endpoint.authority()))
            }
            (None, true) => Err(format!(
                "`{target}` needs a URL on the command line to belong to"
            )),
            (_, false) => Ok(target.to_string()),
        }
    }
}

fn empty() -> Session {
    Session::of_calls([], Duration::ZERO)
}

fn build(
    builder: &Builder,
    method: Option<&str>,
    url: &str,
    body: Option<&str>,
) -> Result<Request, PlanError> {
    let mut builder = builder.clone();
    if let Some(method) = method {
        builder.method = method.to_string();
        if body.is_none() && matches!(method, "GET" | "HEAD") {
            builder.body.clear();
        }
    }
    if let Some(body) = body {
        builder.body = body.as_bytes().to_vec();
    }
    builder.build(&Url::parse(url)?)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let value = number.parse::<f64>().ok().map(|number| number * scale);
    value
        .and_then(|value| Duration::try_from_secs_f64(value).ok())
        .ok_or_else(|| format!("expected a time such as 500ms or 2s, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_weights_and_methods() {
        let text = "# mix\n5 http://a/x\n\nHEAD http://a/y\n";
        let requests = read_list(text, "f", &Builder::default()).expect("a good list");
        assert_eq!((requests[0].weight, requests[0].path().as_str()), (5, "/x"));
        assert!(requests[1].bodiless_response && requests[1].weight == 1);
        let error =
            read_list("http://a/\n5 a b c\n", "f", &Builder::default()).expect_err("three words");
        assert!(error.to_string().starts_with("f:2: expected"), "{error}");
    }

    #[test]
    fn a_script_has_sessions_bursts_and_think_times() {
        let text = "session 3 cookies\nGET /\n+ GET /style.css\nthink 1.5s\nPOST /login name=x\nsession go-on\nGET http://b/\n";
        let urls = ["http://a:81/".to_string()];
        let (requests, sessions) =
            read(text, "f", &urls, &Builder::default()).expect("a good script");
        assert_eq!(requests.len(), 4);
        assert_eq!(requests[2].body, b"name=x");
        assert_eq!(requests[0].endpoint.port, 81);
        let first = &sessions[0];
        assert!(first.cookies && first.weight == 3 && first.on_failure == OnFailure::End);
        assert_eq!(first.bursts[0].calls, [0, 1]);
        assert_eq!(first.bursts[1].think, Duration::from_millis(1500));
        assert_eq!(
            (sessions[1].on_failure, sessions[1].bursts.len()),
            (OnFailure::GoOn, 1)
        );
        for (wrong, place) in [
            ("GET", "f:1:"),
            ("\n+ GET /", "f:2:"),
            ("think soon", "f:1:"),
        ] {
            let error = read(wrong, "f", &urls, &Builder::default()).expect_err(wrong);
            assert!(error.to_string().starts_with(place), "{error}");
        }
    }
}
