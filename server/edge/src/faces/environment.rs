//! Implements `lighty.req_env`: environment variables for programs, in addition to the CGI
//! variables of the request.

use crate::attribute::Attribute;
use crate::native::{said, Refusal};
use crate::visit::{Source, Visit};

/// Returns the variable of this name: the one that was set, otherwise the CGI variable of the
/// request.
pub fn variable<'v>(
    visit: &'v mut Visit,
    name: &[u8],
    source: Option<&dyn Source>,
) -> Option<&'v [u8]> {
    if visit.environment.get(name).is_some() {
        return visit.environment.get(name);
    }
    let attribute = match name {
        b"REQUEST_METHOD" => Attribute::RequestMethod,
        b"REQUEST_URI" => Attribute::RequestOrigUri,
        b"QUERY_STRING" => Attribute::UriQuery,
        b"REQUEST_SCHEME" => Attribute::UriScheme,
        b"SERVER_PROTOCOL" => Attribute::RequestProtocol,
        b"SERVER_NAME" => Attribute::ServerName,
        b"SERVER_ADDR" => Attribute::ServerAddress,
        b"SERVER_PORT" => Attribute::ServerPort,
        b"REMOTE_ADDR" => Attribute::RemoteAddress,
        b"REMOTE_PORT" => Attribute::RemotePort,
        b"DOCUMENT_ROOT" => Attribute::PhysicalDocRoot,
        b"SCRIPT_FILENAME" => Attribute::PhysicalPath,
        b"PATH_INFO" => Attribute::RequestPathInfo,
        b"CONTENT_TYPE" => return visit.request.get(b"content-type"),
        _ => {
            let field = name.strip_prefix(b"HTTP_")?;
            let dash = |byte: &u8| if *byte == b'_' { b'-' } else { *byte };
            let dashed: Vec<u8> = field.iter().map(dash).collect();
            return visit.request.get(&dashed);
        }
    };
    visit.learn(attribute, source);
    visit.attribute(attribute)
}

pub fn check(name: &[u8], value: Option<&[u8]>) -> Result<(), Refusal> {
    let mut bytes = name.iter().chain(value.unwrap_or_default());
    if name.is_empty() || name.contains(&b'=') || bytes.any(|byte| *byte == 0) {
        let shown = name.escape_ascii();
        let text = format!("`{shown}` is not a variable, or its value has a NUL");
        return Err(said(text));
    }
    Ok(())
}
