//! Reports the progress of an upload as XML, as a script or as JSON. The XML is that of lighttpd
//! 1.4's mod_uploadprogress. The script is that of lighttpd 1.5, which nginx's module uses too.

use super::text;
use crate::content::Answer;
use crate::request::Request;
use crate::shared::uploads::{self, Progress};
use crate::shared::Shared;
use mehari_config::UploadFormat;

const FRESH: &[u8] = b"Pragma: no-cache\r\nExpires: Thu, 19 Nov 1981 08:52:00 GMT\r\n";

pub fn answer(shared: &Shared, request: &Request<'_>, format: UploadFormat) -> Answer {
    let Some(id) = uploads::id(request.fields.iter(), request.query()) else {
        let said = "expected X-Progress-ID, in the header or the query\n";
        return text(400, "text/plain; charset=utf-8", said.into());
    };
    let progress = shared.uploads.progress(id);
    let mut answer = match format {
        UploadFormat::Script => text(200, "text/javascript", script(progress)),
        UploadFormat::Xml => text(200, "text/xml", xml(progress)),
        UploadFormat::Json => text(200, "application/json", json(progress)),
    };
    answer.lines.extend_from_slice(FRESH);
    answer
}

fn script(progress: Progress) -> String {
    match progress {
        Progress::Starting => "new Object({ 'state' : 'starting' })\r\n".into(),
        Progress::Failed(status) => {
            format!("new Object({{ 'state' : 'error', 'status' : {status}}})\r\n")
        }
        Progress::Done(size) => format!("new Object({{ 'state' : 'done', 'size' : {size}}})\r\n"),
        Progress::Uploading(received, size) => {
            format!("new Object({{ 'state' : 'uploading', 'received' : {received}, 'size' : {size}}})\r\n")
        }
        Progress::Received(received, size) => {
            format!(
                "new Object({{ 'state' : 'done', 'received' : {received}, 'size' : {size}}})\r\n"
            )
        }
    }
}

fn xml(progress: Progress) -> String {
    let (received, size) = match progress {
        Progress::Uploading(received, size) | Progress::Received(received, size) => {
            (received, size)
        }
        Progress::Done(size) => (size, size),
        Progress::Starting | Progress::Failed(_) => return "starting".into(),
    };
    format!("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><upload><size>{size}</size><received>{received}</received></upload>")
}

fn json(progress: Progress) -> String {
    match progress {
        Progress::Starting => "{\"state\":\"starting\"}\n".into(),
        Progress::Failed(status) => format!("{{\"state\":\"error\",\"status\":{status}}}\n"),
        Progress::Done(size) => {
            format!("{{\"state\":\"done\",\"received\":{size},\"size\":{size}}}\n")
        }
        Progress::Uploading(received, size) => {
            format!("{{\"state\":\"uploading\",\"received\":{received},\"size\":{size}}}\n")
        }
        Progress::Received(received, size) => {
            format!("{{\"state\":\"done\",\"received\":{received},\"size\":{size}}}\n")
        }
    }
}
