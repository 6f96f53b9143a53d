//! The rules of the response cache for one location, and the stores of the cache. Most of the
//! directives are mod_cache's.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CacheRules {
    /// URL paths, and whether their responses are cached. If a request is below a cached and an
    /// uncached path, its response is not cached.
    pub places: Vec<(String, bool)>,
    /// The lifetime of a response that has a validator but no lifetime of its own, if its age is
    /// not known.
    pub default_expire: Duration,
    pub max_expire: Duration,
    pub min_expire: Duration,
    /// `CacheLastModifiedFactor`: the fraction of a response's age (since its Last-Modified) for
    /// which the response is fresh.
    pub modified_factor: f64,
    /// Whether a client's Cache-Control is ignored.
    pub ignore_cache_control: bool,
    /// Whether responses with neither a Last-Modified nor an ETag are kept.
    pub ignore_no_last_mod: bool,
    pub ignore_query: bool,
    pub store_private: bool,
    pub store_no_store: bool,
    pub store_expired: bool,
    /// Fields that are not stored, in lower case.
    pub ignore_headers: Vec<String>,
    /// `CacheHeader`: whether responses have an `X-Cache` field.
    pub tell: bool,
    /// `CacheLock`: one request runs the handler, and other requests for the same response wait at
    /// most this long. `None`: each request runs the handler.
    pub lock: Option<Duration>,
    pub stale_on_error: bool,
    /// How long a stale response may be sent while a new response is made, unless the response
    /// itself has `stale-while-revalidate`.
    pub stale_while_revalidate: Duration,
    /// The longest body that is stored, in bytes.
    pub max_size: u64,
    pub min_size: u64,
}

impl Default for CacheRules {
    fn default() -> CacheRules {
        CacheRules {
            places: Vec::new(),
            default_expire: Duration::from_secs(3600),
            max_expire: Duration::from_secs(86_400),
            min_expire: Duration::ZERO,
            modified_factor: 0.1,
            ignore_cache_control: false,
            ignore_no_last_mod: false,
            ignore_query: false,
            store_private: false,
            store_no_store: false,
            store_expired: false,
            ignore_headers: Vec::new(),
            tell: false,
            lock: Some(Duration::from_secs(5)),
            stale_on_error: true,
            stale_while_revalidate: Duration::ZERO,
            max_size: 1_000_000,
            min_size: 1,
        }
    }
}

impl CacheRules {
    pub fn is_off(&self) -> bool {
        self.places.is_empty()
    }

    pub fn covers(&self, path: &[u8]) -> bool {
        let lies_below = |place: &str| {
            let rest = path.strip_prefix(place.as_bytes());
            rest.is_some_and(|rest| place.ends_with('/') || rest.is_empty() || rest[0] == b'/')
        };
        let says = |cached: bool| {
            let mut places = self.places.iter();
            places.any(|(place, known)| *known == cached && lies_below(place))
        };
        says(true) && !says(false)
    }

    pub(crate) fn change(&mut self, change: &CacheChange) {
        match change.clone() {
            // A setting of an inner section for all paths replaces the settings of outer sections.
            CacheChange::Place(place, cached) => {
                self.places.retain(|(known, _)| *known != place);
                self.places.push((place, cached));
            }
            CacheChange::DefaultExpire(time) => self.default_expire = time,
            CacheChange::MaxExpire(time) => self.max_expire = time,
            CacheChange::MinExpire(time) => self.min_expire = time,
            CacheChange::ModifiedFactor(factor) => self.modified_factor = factor,
            CacheChange::IgnoreCacheControl(on) => self.ignore_cache_control = on,
            CacheChange::IgnoreNoLastMod(on) => self.ignore_no_last_mod = on,
            CacheChange::IgnoreQuery(on) => self.ignore_query = on,
            CacheChange::StorePrivate(on) => self.store_private = on,
            CacheChange::StoreNoStore(on) => self.store_no_store = on,
            CacheChange::StoreExpired(on) => self.store_expired = on,
            CacheChange::IgnoreHeaders(names) => self.ignore_headers = names,
            CacheChange::Tell(on) => self.tell = on,
            CacheChange::Lock(on) => {
                let limit = self.lock.unwrap_or(Duration::from_secs(5));
                self.lock = on.then_some(limit);
            }
            CacheChange::LockMaxAge(time) => self.lock = self.lock.map(|_| time),
            CacheChange::StaleOnError(on) => self.stale_on_error = on,
            CacheChange::StaleWhileRevalidate(time) => self.stale_while_revalidate = time,
            CacheChange::MaxSize(bytes) => self.max_size = bytes,
            CacheChange::MinSize(bytes) => self.min_size = bytes,
        }
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum CacheChange {
    Place(String, bool),
    DefaultExpire(Duration),
    MaxExpire(Duration),
    MinExpire(Duration),
    ModifiedFactor(f64),
    IgnoreCacheControl(bool),
    IgnoreNoLastMod(bool),
    IgnoreQuery(bool),
    StorePrivate(bool),
    StoreNoStore(bool),
    StoreExpired(bool),
    IgnoreHeaders(Vec<String>),
    Tell(bool),
    Lock(bool),
    LockMaxAge(Duration),
    StaleOnError(bool),
    StaleWhileRevalidate(Duration),
    MaxSize(u64),
    MinSize(u64),
}

/// The stores of the response cache.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CacheStore {
    /// `CacheSize`: the size of the store in memory, in bytes.
    pub memory: u64,
    /// `CacheRoot`: the folder of the store on disk, and the limit of its size in bytes
    /// (`CacheDiskSize`).
    pub folder: Option<PathBuf>,
    pub disk: u64,
    /// `CacheRedis`.
    pub redis: Option<crate::RedisServer>,
}

impl Default for CacheStore {
    fn default() -> CacheStore {
        CacheStore {
            memory: 64 << 20,
            folder: None,
            disk: 1 << 30,
            redis: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_not_cached_outweighs_one_that_is() {
        let mut rules = CacheRules::default();
        assert!(!rules.covers(b"/"));
        for (place, cached) in [("/news", true), ("/shop/", true), ("/news/edit", false)] {
            rules.change(&CacheChange::Place(place.into(), cached));
        }
        let rows = [
            ("/news", true),
            ("/news/today", true),
            ("/newspaper", false),
            ("/shop/a", true),
            ("/news/edit/1", false),
            ("/other", false),
        ];
        for (path, covered) in rows {
            assert_eq!(rules.covers(path.as_bytes()), covered, "{path}");
        }
        rules.change(&CacheChange::Place("/news".into(), false));
        assert!(!rules.covers(b"/news/today"));
    }
}
