//! Makes the page of a status: the `ErrorDocument`, or the server's own page.
//!
//! Every stage that responds with only a status uses it.

use crate::content::{page, Answer, Content, FileTarget, Files};
use crate::handlers::HandlerOutcome;
use crate::pipeline::{development, ClientStream, RequestContext, RequestSource};
use crate::request::variables::ExpressionVariables;
use crate::request::Request;
use crate::shared::traffic::Refusal;
use crate::shared::Shared;
use mehari_config::{Phase, Settings, Text};
use mehari_http::problem::Problem;
use mehari_http::status;

/// Returns the configured page of a status, or, for a developer, what the error log says. If the
/// error document itself fails, the client gets the server's own page for the original error.
pub fn refusal(
    shared: &Shared,
    request: &Request<'_>,
    settings: Option<&Settings>,
    status: u16,
) -> HandlerOutcome {
    let status = status::of_page(status);
    if status >= 500 && request.error().is_none() {
        if let Some(answer) = development::page(shared, request, status) {
            return HandlerOutcome::Answer(answer);
        }
    }
    let (configured, status) = match request.error() {
        Some(before) => (None, before),
        None => (document(shared, request, settings, status), status),
    };
    configured.unwrap_or_else(|| {
        let mut answer = page::answer(status, request.field("accept"));
        let noted = request.rule_state.map_or(&[][..], |state| &state.lines);
        if memchr::memmem::find(noted, b"Retry-After: ").is_some() {
            page::remove_retry_after(&mut answer);
        }
        HandlerOutcome::Answer(answer)
    })
}

/// Returns the response for the `ErrorDocument` of a status. `None`: none is configured, or it
/// cannot be used.
fn document(
    shared: &Shared,
    request: &Request<'_>,
    settings: Option<&Settings>,
    status: u16,
) -> Option<HandlerOutcome> {
    let site = shared.site();
    let host = site.host(request.virtual_host);
    let settings = settings.unwrap_or(&host.base);
    let documents = &settings.error_documents;
    let (_, document) = documents.iter().find(|(known, _)| *known == status)?;
    if !document.contains(['%', '$']) {
        return Some(document_work(status, document));
    }
    let text = Text::expression(document).ok()?;
    let maps = &shared.lookups.maps;
    let mut variables = ExpressionVariables::new(request, host, request.rule_state, maps);
    variables.status = status;
    variables.set_env = &settings.programs.set_env;
    variables.perl_env = host.perl_env(settings, Phase::Fixup);
    let written = evaluated(document, &text.of(&variables));
    Some(document_work(status, &written))
}

/// Returns an error document whose variables have these values. As in Apache, the document is a
/// text, a path or an address by what is written in the configuration. Bytes that no path and no
/// header line may have are encoded in a path or an address.
fn evaluated(written: &str, bytes: &[u8]) -> String {
    if !is_place(written) {
        let text = written.strip_prefix('"').map_or(bytes, |_| &bytes[1..]);
        return format!("\"{}", String::from_utf8_lossy(text));
    }
    let mut place = String::new();
    for byte in bytes {
        match byte {
            b'!'..=b'~' => place.push(char::from(*byte)),
            _ => place.push_str(&format!("%{byte:02X}")),
        }
    }
    place
}

/// Whether an error document is a local path or an address, and not a text.
fn is_place(document: &str) -> bool {
    document.starts_with('/') || document.starts_with("http://") || document.starts_with("https://")
}

/// Returns the response for an error document: an external address, a text or a local path. The
/// local path is answered like any other path, by the rules of its own place.
pub fn document_work(status: u16, document: &str) -> HandlerOutcome {
    if document.starts_with('/') {
        return HandlerOutcome::Elsewhere(document.into(), status);
    }
    HandlerOutcome::Answer(if is_place(document) {
        page::redirect(302, document.as_bytes())
    } else {
        let text = document.strip_prefix('"').unwrap_or(document);
        page::configured(status, text)
    })
}

/// Returns a file as an error page. As in Apache, the page has all fields of the file. It is always
/// sent whole, whatever conditions and ranges the client sent.
pub fn file_of_error(
    target: &FileTarget,
    settings: &Settings,
    files: &Files,
    status: u16,
) -> Result<Answer, Problem> {
    let resource = target.resource(None, settings, files)?;
    let content = if resource.is_cached() {
        Content::Shared(resource.bytes())
    } else {
        Content::File(Box::new(resource.whole(files)?))
    };
    let mut lines = resource.lines().to_vec();
    if resource.media_type().is_none() {
        lines.extend_from_slice(b"Content-Type: text/html\r\n");
    }
    Ok(Answer {
        status,
        lines,
        content,
    })
}

/// Returns a file's answer. An error is replaced by its `ErrorDocument`. Like in Apache, a 412
/// stays as it is.
pub fn file_or_document(
    shared: &Shared,
    request: &Request<'_>,
    settings: &Settings,
    answer: Answer,
) -> HandlerOutcome {
    let refused =
        Some(answer.status).filter(|status| matches!(status, 300 | 405 | 406 | 416 | 501));
    let document = |status| document(shared, request, Some(settings), status);
    refused
        .and_then(document)
        .unwrap_or(HandlerOutcome::Answer(answer))
}

/// Returns the page for a client that should come back later. An error document elsewhere gets the
/// time too.
pub fn retry_later<C: ClientStream>(
    client: &C,
    context: &mut RequestContext,
    refusal: Refusal,
) -> HandlerOutcome {
    let Refusal {
        status,
        retry_after,
    } = refusal;
    let (request, settings) = (client.request(context), context.settings.as_deref());
    // If the error document itself fails, the answer is that of the original error.
    let is_for_error_page = request.error().is_some();
    let mut page = self::refusal(client.shared(), &request, settings, status);
    match &mut page {
        HandlerOutcome::Answer(answer) if !is_for_error_page => {
            page::set_retry_after(answer, retry_after);
        }
        HandlerOutcome::Elsewhere(..) => {
            context.note_lines(page::retry_after_line(retry_after).as_bytes());
        }
        _ => {}
    }
    page
}
