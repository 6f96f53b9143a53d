//! `X-Sendfile` and similar fields: a program names a file, and the front sends the file. The front
//! evaluates ranges and conditions. The program is free for other requests meanwhile.
//!
//! The file must lie in a folder of `XSendFilePath` after links have been followed. The program's
//! header fields are kept, and the body that the program sends is dropped.

use super::file;
use crate::content::{Answer, Content, FileTarget, Files};
use crate::request::Request;
use mehari_config::{Host, Settings};
use mehari_http::header_block::{HeaderBlock, Named};
use mehari_http::path::Path as UrlPath;
use mehari_http::problem::Problem;
use mehari_pool::Head;
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const OUTSIDE: Problem = Problem::refused(403, "the program names a file outside of XSendFilePath");
const MISSING: Problem = Problem::refused(404, "the file that the program names does not exist");
const NO_PATH: Problem = Problem::refused(500, "the program's field for a file to send is empty");

/// Returns the answer if the head names a file. `None`: the head names no file, or the place does
/// not allow programs to name files.
pub fn answer(
    request: &Request<'_>,
    host: &Host,
    settings: &Settings,
    head: &Head,
    lines: &HeaderBlock,
    files: &Files,
) -> Option<Result<Answer, Problem>> {
    let (named, span) = lines
        .send_file
        .clone()
        .filter(|_| settings.proxy.send_file)?;
    let value = &head.lines[span];
    Some(find(host, settings, named, value).and_then(|target| {
        let request = Request {
            method: match request.method {
                b"HEAD" => b"HEAD",
                _ => b"GET",
            },
            ..*request
        };
        let answer = file::answer(&request, &target, settings, files)?;
        Ok(with_program_fields(answer, head, lines))
    }))
}

fn find(
    host: &Host,
    settings: &Settings,
    named: Named,
    value: &[u8],
) -> Result<FileTarget, Problem> {
    let path = match (value.first(), named) {
        (Some(b'/'), _) => UrlPath::decode(value).map_err(|_| NO_PATH)?.merged,
        (Some(_), Named::File) => {
            let rooted = [b"/", value].concat();
            let path = UrlPath::decode(&rooted).map_err(|_| NO_PATH)?.merged;
            path[1..].to_vec()
        }
        _ => return Err(NO_PATH),
    };
    let roots = roots(host, settings);
    let wanted = match named {
        Named::File => match roots.first() {
            Some(root) => root.join(OsStr::from_bytes(&path)),
            None => PathBuf::from(OsStr::from_bytes(&path)),
        },
        // The head names a URL path of this server. Clients need not have access to this path.
        Named::Path => host.mapping.map(&path).file,
    };
    let real = fs::canonicalize(&wanted).map_err(|_| MISSING)?;
    let inside = |root: &PathBuf| {
        let root = fs::canonicalize(root);
        root.is_ok_and(|root| real.starts_with(root))
    };
    if !roots.iter().any(inside) {
        return Err(OUTSIDE);
    }
    target(&real)
}

fn roots(host: &Host, settings: &Settings) -> Vec<PathBuf> {
    if settings.proxy.send_file_roots.is_empty() {
        vec![host.mapping.document_root.clone()]
    } else {
        settings.proxy.send_file_roots.clone()
    }
}

fn target(real: &Path) -> Result<FileTarget, Problem> {
    let name = CString::new(real.as_os_str().as_bytes()).map_err(|_| MISSING)?;
    let stat = rustix::fs::stat(name.as_c_str()).map_err(|_| MISSING)?;
    if crate::content::stat::is_file(&stat) {
        Ok(FileTarget::new(name, &stat))
    } else {
        Err(MISSING)
    }
}

/// Returns the file's answer with the program's header lines. If both have a field, the program's
/// field is sent.
fn with_program_fields(answer: Answer, head: &Head, lines: &HeaderBlock) -> Answer {
    let mut said = Vec::new();
    lines.push_kept(&head.lines, &mut said);
    let own = || each(&said).filter(|line| !names_file(line));
    let mut merged = Vec::with_capacity(said.len() + 256);
    for line in answer.lines().into_iter().flat_map(each) {
        if !own().any(|own| name(own).eq_ignore_ascii_case(name(line))) {
            merged.extend_from_slice(line);
        }
    }
    own().for_each(|line| merged.extend_from_slice(line));
    Answer {
        status: match answer.status {
            200 => head.status,
            status => status,
        },
        lines: merged,
        content: match answer.content {
            Content::Cached(resource) => Content::Bytes(resource.body().to_vec()),
            other => other,
        },
    }
}

fn each(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block.split_inclusive(|&byte| byte == b'\n')
}

fn name(line: &[u8]) -> &[u8] {
    let colon = memchr::memchr(b':', line).unwrap_or(line.len());
    &line[..colon]
}

fn names_file(line: &[u8]) -> bool {
    const NAMES: [&str; 3] = ["x-sendfile", "x-accel-redirect", "x-lighttpd-send-file"];
    let named = name(line);
    NAMES
        .iter()
        .any(|known| named.eq_ignore_ascii_case(known.as_bytes()))
}
