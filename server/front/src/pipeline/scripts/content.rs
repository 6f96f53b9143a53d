//! Makes a script's body of texts and parts of files.

use crate::content::body::FileBody;
use crate::content::{Content, Files};
use mehari_edge::{Failure, Piece, Pieces};
use mehari_http::range::RangePart;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::take;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

/// The most bytes that are read into memory if a body has several files. Only the largest file is
/// not read into memory.
const READ: u64 = 8 * 1024 * 1024;

/// One part of a body. A file is open.
enum Open {
    Bytes(Vec<u8>),
    File {
        file: Arc<File>,
        start: u64,
        length: u64,
    },
}

/// Makes the content of these parts.
pub async fn of(files: &Files, mut pieces: Pieces) -> Result<Content, Failure> {
    match &mut pieces[..] {
        [] => Ok(Content::empty()),
        [Piece::Bytes(bytes)] => Ok(Content::Bytes(take(bytes))),
        _ => mixed(files, pieces).await,
    }
}

async fn mixed(files: &Files, pieces: Pieces) -> Result<Content, Failure> {
    let pieces: Vec<Open> = pieces.into_iter().map(open).collect::<Result<_, _>>()?;
    let length = |piece: &Open| match piece {
        Open::Bytes(_) => 0,
        Open::File { length, .. } => *length,
    };
    let largest = (0..pieces.len()).max_by_key(|at| length(&pieces[*at]));
    let all: u64 = pieces.iter().map(length).sum();
    let most = pieces.iter().map(length).max().unwrap_or(0);
    if all - most > READ {
        return Err(Failure {
            status: 500,
            text: "a script sends more than one large file at once".into(),
        });
    }
    let (mut text, mut sent) = (Vec::new(), None);
    for (at, piece) in pieces.into_iter().enumerate() {
        match piece {
            Open::Bytes(bytes) => text.extend_from_slice(&bytes),
            Open::File {
                file,
                start,
                length,
            } if Some(at) == largest => {
                let text = take(&mut text);
                sent = Some((
                    file,
                    RangePart {
                        text,
                        start,
                        length,
                    },
                ));
            }
            Open::File {
                file,
                start,
                length,
            } => {
                let read = files.readers.read(&file, start, length as usize, 0);
                let read = read.await.and_then(|bytes| {
                    if bytes.len() as u64 == length {
                        Ok(bytes)
                    } else {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    }
                });
                text.extend_from_slice(&read.map_err(|error| failed("a file", &error))?);
            }
        }
    }
    let Some((file, part)) = sent else {
        return Ok(Content::Bytes(text));
    };
    let behind = RangePart {
        text,
        start: 0,
        length: 0,
    };
    let body = FileBody::new(file, vec![part, behind], None, files);
    Ok(Content::File(Box::new(body)))
}

fn open(piece: Piece) -> Result<Open, Failure> {
    let (path, start, end) = match piece {
        Piece::Bytes(bytes) => return Ok(Open::Bytes(bytes)),
        Piece::File { path, start, end } => (path, start, end),
    };
    let shown = path.escape_ascii().to_string();
    let mut options = OpenOptions::new();
    // A pipe must not block the event loop.
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(OsStr::from_bytes(&path));
    let file = file.map_err(|error| failed(&shown, &error))?;
    let metadata = file.metadata().map_err(|error| failed(&shown, &error))?;
    if !metadata.is_file() {
        return Err(failed(&shown, &io::Error::other("not a regular file")));
    }
    let end = end.unwrap_or(metadata.len());
    if start > end || end > metadata.len() {
        let size = metadata.len();
        let text = format!("{shown}: a script sends bytes {start} to {end} of {size}");
        return Err(Failure { status: 500, text });
    }
    Ok(Open::File {
        file: Arc::new(file),
        start,
        length: end - start,
    })
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure {
        status: match error.kind() {
            io::ErrorKind::NotFound => 404,
            io::ErrorKind::PermissionDenied => 403,
            _ => 500,
        },
        text: format!("{what}: the file that a script sends cannot be read: {error}"),
    }
}
