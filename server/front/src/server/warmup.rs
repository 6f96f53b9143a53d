//! Routes the requests of `ZygoteWarmup`, before their generation serves.

use crate::pipeline::subrequest::{self, MapAnswers};
use crate::routing::Silent;
use crate::shared::{PerlPool, Shared, StandIn, StandInExchange};
use mehari_cgi::{Cgi, Limits};
use mehari_config::{Site, Stores};
use mehari_observe::ErrorLog;
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Asker, Call, Fault, Head, RequestNews, SubrequestQuestion, WarmupResolver};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The client of such a request: this machine.
const CLIENT: &[u8] = b"127.0.0.1";

/// Returns a function that turns a warm-up's request into a call for Perl. The site's rules apply
/// to the request, as to a client's request from this machine.
pub fn warmup_resolver(log: ErrorLog) -> WarmupResolver {
    Rc::new(move |site, host, url, give| {
        let shared = apart(site, log.clone());
        let after_colon = |address: &str| address.rsplit_once(':')?.1.parse::<u16>().ok();
        let mut listens = site.listen.iter();
        let port = listens.find_map(|listen| after_colon(&listen.address));
        let named = url.host.as_deref().unwrap_or_default();
        let question = SubrequestQuestion {
            server: host,
            method: b"GET",
            target: url.target.as_bytes(),
            file: None,
            asker: Asker {
                scheme: b"http",
                method: b"GET",
                target: url.target.as_bytes(),
                remote_addr: CLIENT,
                server_addr: CLIENT,
                server_port: port.unwrap_or(80),
                request_id: 0,
                fields: vec![(b"Host", named.as_bytes())],
            },
            news: RequestNews::default(),
        };
        subrequest::answer(&shared, question, &MapAnswers::none(), give);
    })
}

/// Returns a state for a site that does not serve yet. The state shares nothing with the running
/// server.
fn apart(site: &Arc<Site>, log: ErrorLog) -> Shared {
    let mut site = Site::clone(site);
    site.stores = Stores::default();
    let limits = Limits {
        processes: 1,
        queue: 0,
        queue_timeout: Duration::ZERO,
    };
    let cgi = Cgi::new(limits, "", log);
    let pool = PerlPool::StandIn(Rc::new(NoWorkers));
    Shared::new(Arc::new(site), pool, cgi, Rc::new(Silent))
}

/// A pool that refuses everything.
struct NoWorkers;

impl StandIn for NoWorkers {
    fn submit(&self, _: Call<'_>) -> Box<dyn StandInExchange> {
        Box::new(NoWorkers)
    }
}

impl StandInExchange for NoWorkers {
    fn poll_head(&mut self, _: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        Poll::Ready(Err(Fault::NotReady))
    }

    fn take_interim(&mut self) -> Option<Head> {
        None
    }

    fn poll_body(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Vec<u8>,
        _: usize,
    ) -> Poll<Result<bool, Fault>> {
        Poll::Ready(Err(Fault::NotReady))
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn worker(&self) -> Option<u32> {
        None
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }
}
