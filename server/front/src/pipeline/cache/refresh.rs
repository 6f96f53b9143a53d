//! Renews a page in the background after the client got the stale page (stale-while-revalidate, RFC
//! 5861).

use super::receive::{receive, Received};
use crate::cache::fill_lock::FillLock;
use crate::handlers::{BackendHead, HandlerOutcome};
use crate::pipeline::{start, RequestContext};
use crate::request::owned::OwnedRequest;
use crate::request::{Protocol, Request};
use crate::shared::Shared;
use mehari_http::header_block;
use mehari_pool::Body;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// The most bytes that are read from the program at a time.
const ROOM: usize = 64 * 1024;

pub fn begin(shared: &Rc<Shared>, request: &Request<'_>, fill_lock: Box<FillLock>) {
    let owned = OwnedRequest::of(request, fill_lock.fields(request));
    let shared = shared.clone();
    tokio::task::spawn_local(async move {
        // The renewal counts as a request while it runs, because it may use a worker.
        let mut context = RequestContext::begin(&shared, Protocol::Http11, false);
        context.address = owned.request().peer.remote_addr;
        context.settings = Some(fill_lock.route.settings.clone());
        run(&shared, &context, &owned, fill_lock).await;
        shared.stats.request_ends(0);
    });
}

async fn run(
    shared: &Rc<Shared>,
    context: &RequestContext,
    owned: &OwnedRequest,
    fill_lock: Box<FillLock>,
) {
    let route = fill_lock.route.clone();
    let work = start::begin(shared, &owned.request(), &route, Body::Empty);
    let HandlerOutcome::Backend(mut backend) = work else {
        return;
    };
    let Ok(BackendHead::Response(mut head)) = poll_fn(|cx| backend.poll_head(cx)).await else {
        return;
    };
    let Ok(lines) = header_block::validate(&head.lines) else {
        return;
    };
    let request = owned.request();
    let received = Received {
        head: &mut head,
        lines: &lines,
        backend: &mut backend,
    };
    let answered = receive(shared, context, &request, fill_lock, received);
    if answered.is_some() {
        return;
    }
    let mut body = Vec::new();
    poll_fn(|cx| loop {
        body.clear();
        match backend.poll_body(cx, &mut body, ROOM) {
            Poll::Ready(Ok(true)) => {}
            Poll::Ready(_) => return Poll::Ready(()),
            Poll::Pending => return Poll::Pending,
        }
    })
    .await;
}
