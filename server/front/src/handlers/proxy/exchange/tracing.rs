//! Notes in the timeline of a traced request which member was asked, and how it responded.

use super::ProxyExchange;
use crate::handlers::BackendHead;
use mehari_config::{BackEnd, BackEndAddress, Speech};
use mehari_observe::trace::BackEndCall;
use mehari_upstream::{Fault as Trouble, Lease};

impl ProxyExchange {
    /// Notes the member that was chosen.
    #[inline]
    pub(super) fn note_call(&self, lease: &Lease) {
        if let Some(trace) = &self.asked.trace {
            let member = lease.member().settings();
            trace.note_call(self.call(&member));
        }
    }

    #[inline]
    pub(super) fn note_status(&self, said: &BackendHead) {
        if let Some(trace) = &self.asked.trace {
            match said {
                BackendHead::Response(head) | BackendHead::Upgrade(head) => {
                    trace.note_call_status(head.status);
                }
                _ => {}
            }
        }
    }

    #[inline]
    pub(super) fn note_failure(&self, trouble: Trouble) {
        if let Some(trace) = &self.asked.trace {
            trace.note_call_failure(trouble.name());
        }
    }

    #[cold]
    fn call(&self, member: &BackEnd) -> BackEndCall {
        let (address, port) = match &member.address {
            BackEndAddress::Tcp(host, port) => (host.clone(), Some(*port)),
            BackEndAddress::Unix(path) => (path.display().to_string(), None),
        };
        let asked = self
            .outgoing
            .asked()
            .filter(|_| member.speech == Speech::Http);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        BackEndCall {
            scheme: member.scheme(),
            address,
            port,
            method: asked.map(|(method, _)| text(method)).unwrap_or_default(),
            url: asked.map(|(_, path)| {
                let (scheme, host) = (member.scheme(), &member.host);
                format!("{scheme}://{host}{}{}", member.path, text(path))
            }),
            ..BackEndCall::default()
        }
    }
}
