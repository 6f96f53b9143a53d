//! Pages in Redis or Valkey (`CacheRedis`), the level of the cache that several machines share.
//!
//! The value of a key is a hash whose fields are the page's variants by `Vary`. A Redis server that
//! does not answer delays only the first request. Afterwards requests do not use the server for a
//! while, and programs respond.

mod link;

use super::key::Purge;
use super::Cache;
use link::{Link, Reply};
use mehari_cache::{decode, encode, hash, Page};
use mehari_config::{LogLevel, RedisServer};
use mehari_observe::Origin;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::{timeout, Instant};

/// The time limit of an exchange with the server.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long no request uses a server that has failed.
const REST: Duration = Duration::from_secs(2);
/// The most idle connections that stay open.
const IDLE: usize = 8;
/// How long an idle connection stays open.
const KEPT: Duration = Duration::from_secs(1);
/// How long a page with a validator is kept after its freshness lifetime.
const ASKABLE: Duration = Duration::from_secs(86_400);
const PREFIX: &[u8] = b"mehari:page:";

#[derive(Default)]
pub struct Redis {
    server: RefCell<Option<RedisServer>>,
    idle: RefCell<Vec<(Instant, Link)>>,
    /// Whether a task closes idle connections.
    closing: Cell<bool>,
    rests_until: Cell<Option<Instant>>,
}

impl Redis {
    pub fn configure(&self, server: &Option<RedisServer>) {
        if *self.server.borrow() != *server {
            self.server.replace(server.clone());
            self.idle.borrow_mut().clear();
            self.rests_until.set(None);
        }
    }

    /// Returns the server, unless none is configured or the server has just failed.
    fn awake(&self) -> Option<RedisServer> {
        let server = self.server.borrow().clone()?;
        match self.rests_until.get() {
            Some(until) if Instant::now() < until => None,
            _ => Some(server),
        }
    }

    /// Sends commands together and returns their replies.
    async fn ask(&self, server: &RedisServer, commands: &[Vec<&[u8]>]) -> io::Result<Vec<Reply>> {
        let idle = self.idle.borrow_mut().pop();
        let had_one = idle.is_some();
        let mut link = match idle {
            Some((_, link)) => link,
            None => Link::open(server).await?,
        };
        let replies = match link.exchange(commands).await {
            // The server may have closed the idle connection. In this case it has run no command.
            Err(_) if had_one => {
                link = Link::open(server).await?;
                link.exchange(commands).await?
            }
            replies => replies?,
        };
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE && self.server.borrow().as_ref() == Some(server) {
            idle.push((Instant::now(), link));
        }
        Ok(replies)
    }
}

impl Cache {
    /// Starts a task that closes connections that have been idle too long. The task ends when no
    /// connection is left.
    fn close_idle(self: &Rc<Cache>) {
        if self.redis.closing.replace(true) {
            return;
        }
        let cache = self.clone();
        tokio::task::spawn_local(async move {
            while !cache.redis.idle.borrow().is_empty() {
                tokio::time::sleep(KEPT).await;
                let mut idle = cache.redis.idle.borrow_mut();
                idle.retain(|(since, _)| since.elapsed() < KEPT);
            }
            cache.redis.closing.set(false);
        });
    }

    /// Returns the replies if they arrive within the time limit. After a failure no request uses
    /// the server for a while.
    async fn ask_redis(
        self: &Rc<Cache>,
        server: &RedisServer,
        commands: &[Vec<&[u8]>],
    ) -> Option<Vec<Reply>> {
        let asked = timeout(PATIENCE, self.redis.ask(server, commands)).await;
        let error = match asked {
            Ok(Ok(replies)) => {
                self.close_idle();
                return Some(replies);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {PATIENCE:?}"),
        };
        let rested = self.redis.rests_until.replace(Some(Instant::now() + REST));
        if rested.is_none() {
            let text =
                format!("CacheRedis: {server}: {error}; programs answer until it does (said once)");
            if let Some(journal) = &*self.journal.borrow() {
                journal.error(0, LogLevel::Warn, Origin::default(), &text);
            }
        }
        None
    }

    /// Loads the pages of a key from Redis into memory. `None`: no Redis is configured, or the
    /// server has just failed.
    pub fn fetch(self: &Rc<Cache>, key: &Rc<[u8]>) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let server = self.redis.awake()?;
        let (cache, key) = (self.clone(), key.clone());
        Some(Box::pin(async move {
            let name = name(&key);
            let fill = cache.fills.begin(&key);
            let commands = [vec![&b"HVALS"[..], &name]];
            let Some(replies) = cache.ask_redis(&server, &commands).await else {
                return;
            };
            if fill.is_void() {
                return;
            }
            let now = SystemTime::now();
            for file in replies.iter().flat_map(Reply::texts) {
                let page = decode(file, cache.store.next_number());
                let page =
                    page.filter(|(known, page)| known[..] == key[..] && !page.is_useless(now));
                if let Some((_, page)) = page {
                    cache.store.put(&key, Rc::new(page));
                }
            }
        }))
    }

    /// Stores a page in Redis.
    pub fn send(self: &Rc<Cache>, key: &Rc<[u8]>, page: &Rc<Page>) {
        let Some(server) = self.redis.awake() else {
            return;
        };
        let (cache, key, page) = (self.clone(), key.clone(), page.clone());
        tokio::task::spawn_local(async move {
            let terms = &page.terms;
            let mut more = terms.while_revalidate.max(terms.if_error);
            if terms.etag.is_some() || terms.modified.is_some() {
                more = more.max(ASKABLE);
            }
            let left = (terms.lifetime + more)
                .saturating_sub(terms.age)
                .as_millis();
            let (name, left) = (name(&key), left.max(1000).to_string());
            let field = hash(format!("{:?}", terms.vary).as_bytes()).to_be_bytes();
            let file = encode(&key, &page);
            let commands = [
                vec![&b"HSET"[..], &name, &field, &file],
                vec![&b"PEXPIRE"[..], &name, left.as_bytes()],
            ];
            cache.ask_redis(&server, &commands).await;
        });
    }

    /// Removes the pages of a key from Redis.
    pub fn forget(self: &Rc<Cache>, key: &[u8]) {
        let Some(server) = self.redis.awake() else {
            return;
        };
        let (cache, name) = (self.clone(), name(key));
        tokio::task::spawn_local(async move {
            cache
                .ask_redis(&server, &[vec![&b"UNLINK"[..], &name]])
                .await;
        });
    }

    /// Removes the pages that `purge` names from Redis.
    pub fn sweep(self: &Rc<Cache>, purge: Purge) {
        let Some(server) = self.redis.awake() else {
            return;
        };
        let cache = self.clone();
        tokio::task::spawn_local(async move {
            let pattern = [PREFIX, b"*"].concat();
            let mut cursor = b"0".to_vec();
            loop {
                let scan = vec![&b"SCAN"[..], &cursor, b"MATCH", &pattern, b"COUNT", b"1000"];
                let Some(replies) = cache.ask_redis(&server, &[scan]).await else {
                    return;
                };
                let Some((next, names)) = replies.first().and_then(Reply::page_of_names) else {
                    return;
                };
                let is_meant = |name: &&[u8]| {
                    name.strip_prefix(PREFIX)
                        .is_some_and(|key| purge.means(key))
                };
                let meant: Vec<&[u8]> = names.into_iter().filter(is_meant).collect();
                if !meant.is_empty() {
                    let unlink = [&[&b"UNLINK"[..]], &meant[..]].concat();
                    cache.ask_redis(&server, &[unlink]).await;
                }
                if next == b"0" {
                    return;
                }
                cursor = next.to_vec();
            }
        });
    }
}

fn name(key: &[u8]) -> Vec<u8> {
    [PREFIX, key].concat()
}
