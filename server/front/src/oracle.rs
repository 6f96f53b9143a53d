//! What a path would be here, for handlers that ask within a request: `$r->lookup_uri`, a PerlTransHandler that
//! changed the URI, an internal redirect that stays in its worker.

use crate::dispatch::Dispatch;
use crate::handler::perl;
use crate::request::{path_of, Peer, Protocol, Request};
use crate::route;
use crate::shared::Shared;
use mehari_config::Rung;
use mehari_pool::{Body, Call, Question, Task};

/// Gives the call that a GET of the target would be. What does not concern the target (who asks, with which fields)
/// is left empty: the worker knows it. A refusal is a call whose `access_status` says it.
pub fn answer<D: Dispatch>(
    shared: &Shared<D>,
    question: Question<'_>,
    give: &mut dyn FnMut(Call<'_>),
) {
    let site = shared.site();
    let path = path_of(question.target);
    let found = match question.file {
        None => route::find(&site, &shared.htaccess, question.server, path),
        Some(file) => route::find_file(&site, &shared.htaccess, question.server, path, file),
    };
    let Ok(route) = found else {
        return;
    };
    let peer = Peer::default();
    let request = Request {
        method: b"GET",
        target: question.target,
        resource: question.target,
        redirect: None,
        protocol: Protocol::Http11,
        fields: &[],
        host: b"",
        virtual_host: question.server,
        peer: &peer,
        notes: None,
        id: 0,
    };
    perl::with_call(&request, &route, &site, Body::Empty, |mut call| {
        if let Task::Script {
            rung: Rung::Cgi,
            file,
        } = call.task
        {
            call.task = Task::Front { file };
        }
        give(call);
    });
}
