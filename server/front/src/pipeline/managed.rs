//! Answers the challenge http-01 of managed certificates, and redirects requests without TLS for
//! hosts with `MDRequireHttps`. Both come before every rule of the site.

use super::client::ClientStream;
use super::RequestContext;
use crate::content::{page, Answer, Content};
use crate::request::path_of;
use mehari_config::RequireHttps;

const FOLDER: &[u8] = b"/.well-known/acme-challenge/";

/// Returns the answer. `None`: the request goes on as any other.
pub fn answer<C: ClientStream>(client: &C, context: &RequestContext) -> Option<Answer> {
    let shared = client.shared();
    if !shared.managed.is_concerned.get() {
        return None;
    }
    let path = path_of(client.target());
    if let Some(token) = path.strip_prefix(FOLDER) {
        let is_read = matches!(client.method(), b"GET" | b"HEAD");
        let text = shared.managed.text_for(token).filter(|_| is_read);
        if let Some(text) = text {
            let mut answer = Answer::new(200, "Content-Type: application/octet-stream\r\n");
            answer.content = Content::Bytes(text.into_bytes());
            return Some(answer);
        }
    }
    if client.peer().tls.is_some() {
        return None;
    }
    let site = shared.site();
    let host = site.host(context.host);
    let status = match host.tls.require_https? {
        RequireHttps::Off => return None,
        RequireHttps::Temporary => 302,
        RequireHttps::Permanent => 301,
    };
    let name = host.names.certain(client.host())?;
    let target = client.target();
    let is_plain = target.starts_with(b"/") && target.iter().all(u8::is_ascii_graphic);
    let target = if is_plain { target } else { b"/" };
    let location = [b"https://", name.as_bytes(), target].concat();
    Some(page::redirect(status, &location))
}
