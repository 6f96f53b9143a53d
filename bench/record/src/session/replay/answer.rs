//! Sends one user's requests and reads the answers. A request uses a kept connection that is free,
//! or opens a new connection.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::header::HeaderMap;
use hyper::{Request, Uri};

use super::script::Step;
use crate::session::client::connect;
use crate::session::{Target, Trust};

/// Why a whole answer is missing: the failure class for records, and the reason in words.
pub struct NoAnswer {
    pub class: &'static str,
    pub why: String,
}

impl NoAnswer {
    fn reset(why: String) -> NoAnswer {
        NoAnswer {
            class: "reset",
            why,
        }
    }
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

pub struct Connections {
    trust: Trust,
    free: std::sync::Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl Connections {
    pub fn new(trust: Trust) -> Connections {
        Connections {
            trust,
            free: std::sync::Mutex::default(),
        }
    }

    pub async fn fetch(
        &self,
        target: &Target,
        step: &Step,
        cookies: &str,
    ) -> Result<Answer, NoAnswer> {
        let mut request = render(step, cookies).map_err(|why| NoAnswer {
            class: "other",
            why,
        })?;
        // The server may have closed a kept connection. The next connection is then tried.
        while let Some(mut sender) = self.take() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return self.finish(sender, response).await,
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => {
                        let why = format!("broken off: {}", error.error());
                        return Err(NoAnswer::reset(why));
                    }
                },
            }
        }
        let connected = connect(target, &self.trust).await.map_err(|why| NoAnswer {
            class: "connect",
            why,
        })?;
        let mut sender = connected.sender;
        let response = sender
            .send_request(request)
            .await
            .map_err(|cause| NoAnswer::reset(format!("broken off: {cause}")))?;
        self.finish(sender, response).await
    }

    async fn finish(
        &self,
        sender: SendRequest<Full<Bytes>>,
        response: hyper::Response<hyper::body::Incoming>,
    ) -> Result<Answer, NoAnswer> {
        let (parts, body) = response.into_parts();
        let body = body
            .collect()
            .await
            .map_err(|cause| NoAnswer::reset(format!("the body broke off: {cause}")))?;
        if !sender.is_closed() {
            self.lock().push(sender);
        }
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.to_bytes().to_vec(),
        })
    }

    fn take(&self) -> Option<SendRequest<Full<Bytes>>> {
        self.lock().pop()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.free
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn render(step: &Step, cookies: &str) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::new(Full::from(step.body.clone()));
    *request.method_mut() = step.method.clone();
    *request.uri_mut() = step
        .path
        .parse::<Uri>()
        .map_err(|cause| format!("`{}` cannot be sent: {cause}", step.path))?;
    *request.headers_mut() = step.headers.clone();
    if !cookies.is_empty() {
        let value = cookies
            .parse()
            .map_err(|_| "a cookie holds a character that cannot be sent".to_owned())?;
        request.headers_mut().insert(hyper::header::COOKIE, value);
    }
    Ok(request)
}
