//! Encodes a request's variables for SCGI and for uwsgi.

use super::variables;
use crate::handlers::cgi::Cgi;
use crate::request::Request;
use crate::routing::Route;
use mehari_config::Site;
use mehari_http::problem::Problem;
use mehari_observe::Decimal;
use mehari_pool::Body;

const TOO_LARGE: Problem =
    Problem::refused(431, "the request does not fit uwsgi's 64 KiB of variables");

/// Writes a netstring of names and values. A NUL follows each name and each value. CONTENT_LENGTH
/// comes first (SCGI's specification of 2006).
pub fn scgi(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: &Body<'_>,
    cgi: &Cgi,
) -> Vec<u8> {
    let mut block = Vec::with_capacity(2048);
    let mut add = |name: &[u8], value: &[u8]| {
        // A NUL would end the value early. Requests contain no NUL, but a configured variable may.
        let value = value.split(|&byte| byte == 0).next().unwrap_or_default();
        for part in [name, b"\0", value, b"\0"] {
            block.extend_from_slice(part);
        }
    };
    let length = Decimal::new(variables::length(body));
    add(b"CONTENT_LENGTH", length.text());
    add(b"SCGI", b"1");
    variables::each(request, route, site, cgi, &mut add);
    let mut head = format!("{}:", block.len()).into_bytes();
    head.append(&mut block);
    head.push(b',');
    head
}

/// Writes a header of four bytes, then names and values. The length of each name and each value
/// precedes it in two bytes, low byte first.
pub fn uwsgi(
    request: &Request<'_>,
    route: &Route,
    site: &Site,
    body: &Body<'_>,
    cgi: &Cgi,
) -> Result<Vec<u8>, Problem> {
    const HEADER: usize = 4;
    let mut packet = vec![0; HEADER];
    let mut fits = true;
    let mut add = |name: &[u8], value: &[u8]| {
        for part in [name, value] {
            let length = u16::try_from(part.len());
            fits &= length.is_ok();
            packet.extend_from_slice(&length.unwrap_or_default().to_le_bytes());
            packet.extend_from_slice(part);
        }
    };
    let length = Decimal::new(variables::length(body));
    add(b"CONTENT_LENGTH", length.text());
    variables::each(request, route, site, cgi, &mut add);
    match u16::try_from(packet.len() - HEADER) {
        Ok(size) if fits => {
            packet[1..3].copy_from_slice(&size.to_le_bytes());
            Ok(packet)
        }
        _ => Err(TOO_LARGE),
    }
}
