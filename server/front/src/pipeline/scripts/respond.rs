//! Runs the scripts after a handler. They see the head of the response before it is sent.

use super::visit::ScriptRequest;
use super::{content, outcome};
use crate::content::{page, Answer, Files};
use crate::pipeline::{ClientStream, RequestContext, RequestSource};
use mehari_config::LogLevel;
use mehari_edge::{ScriptDecision, Source, Stage, Visit};

/// A head, from the handler or changed by scripts.
pub struct Response {
    pub status: u16,
    /// Header lines, each `Name: value\r\n`.
    pub lines: Vec<u8>,
    /// The replacement for the handler's body.
    pub instead: Option<Answer>,
}

/// A handler's head before any script has seen it.
pub struct OriginalHead<'a> {
    pub status: u16,
    /// Header lines, each `Name: value\r\n`.
    pub lines: [&'a [u8]; 2],
}

/// Runs the scripts for a head and returns the head that they want. `None`: no script is
/// configured, or the scripts have run already.
pub async fn respond<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    head: OriginalHead<'_>,
) -> Option<Response> {
    let (shared, asked) = (client.shared(), client.target());
    let settings = context.settings.clone()?;
    let state = context.rule_state.get_or_insert_with(Default::default);
    if std::mem::replace(&mut state.edge.responded, true) {
        return None;
    }
    let mut response = Response {
        status: head.status,
        lines: head.lines.concat(),
        instead: None,
    };
    for file in settings.lua.response_start.iter() {
        let mut visit = shared.lua.new_visit(Stage::ResponseStart);
        visit.status = response.status;
        push_fields(&mut visit, &response.lines);
        let show = |what: &mut dyn FnMut(&dyn Source)| {
            let site = shared.site();
            let (host, route) = (site.host(context.host), context.route.as_deref());
            what(&ScriptRequest {
                request: client.request(context),
                host,
                route,
                body: context.small_body.as_deref(),
            });
        };
        let (ended, mut visit) = shared
            .lua
            .run(&shared.clock, file, &settings, visit, show)
            .await;
        for line in &visit.printed {
            let text = line.escape_ascii().to_string();
            context.log(shared, LogLevel::Notice, asked, &text);
        }
        let failure = match ended {
            Ok(ended) => take(&shared.content.files, &mut response, ended, &mut visit)
                .await
                .err(),
            Err(failure) => Some(failure),
        };
        if let Some(failure) = failure {
            context.log(shared, LogLevel::Error, asked, &failure.text);
            let answer = page::answer(failure.status, None);
            return Some(Response {
                status: failure.status,
                lines: answer.lines.clone(),
                instead: Some(answer),
            });
        }
    }
    if let Some(answer) = &mut response.instead {
        answer.status = response.status;
        answer.lines.clone_from(&response.lines);
    }
    Some(response)
}

async fn take(
    files: &Files,
    response: &mut Response,
    ended: ScriptDecision,
    visit: &mut Visit,
) -> Result<(), mehari_edge::Failure> {
    let pieces = visit.body.take();
    let refuses = pieces.is_none() && refuses(&ended, response.status);
    if pieces.is_some() || refuses {
        forget_body(response, visit);
    }
    if let ScriptDecision::Answer(status) = ended {
        response.status = status;
    }
    if refuses {
        visit.response.unset(b"content-type");
    }
    if visit.response.is_changed() {
        response.lines = outcome::lines(visit);
    }
    if refuses {
        let answer = page::answer(response.status, None);
        response.lines.extend_from_slice(&answer.lines);
        response.instead = Some(answer);
    }
    if let Some(pieces) = pieces {
        // The status and lines are final only after the last script.
        response.instead = Some(Answer {
            status: response.status,
            lines: Vec::new(),
            content: content::of(files, pieces).await?,
        });
    }
    Ok(())
}

/// Whether a script turns a successful response into an error. The handler's body is then dropped.
fn refuses(ended: &ScriptDecision, status: u16) -> bool {
    matches!(ended, ScriptDecision::Answer(said) if *said >= 400 && status < 400)
}

/// Drops the handler's fields about its body when the body is replaced. The script's own fields
/// stay.
fn forget_body(response: &mut Response, visit: &mut Visit) {
    const OF_BODY: [&[u8]; 6] = [
        b"content-encoding",
        b"content-range",
        b"accept-ranges",
        b"etag",
        b"last-modified",
        b"content-md5",
    ];
    if response.status == 206 {
        response.status = 200;
    }
    for line in response.lines.split(|byte| *byte == b'\n') {
        let Some((name, value)) = name_and_value(line) else {
            continue;
        };
        let is_of_body = OF_BODY.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is_of_body && visit.response.get(name) == Some(value) {
            visit.response.unset(name);
        }
    }
}

fn name_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b':', line)?;
    Some((&line[..at], line[at + 1..].trim_ascii()))
}

fn push_fields(visit: &mut Visit, lines: &[u8]) {
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some((name, value)) = name_and_value(line) {
            visit.response.push(name, value);
        }
    }
}
