//! The directives of the response cache. Most have the names of `mod_cache`.

use super::row::*;
use crate::{CacheChange, RedisServer};
use std::time::Duration;

pub const GROUP: Group = Group {
    title: "Response cache",
    rows: &[
        Directive::everywhere(
            "CacheEnable",
            words("disk|mem|memory|socache [/URL-PATH] | /URL-PATH", 1, 2),
            "Caches responses to GET requests as RFC 9111 allows. If there is no path, the line \
             applies to its whole section or server. All keywords mean the same: responses are \
             kept in memory, and in CacheRoot if it is set.",
            enable,
        )
        .example("disk /", "disk news"),
        Directive::everywhere(
            "CacheDisable",
            words("/URL-PATH|on", 1, 1),
            "Switches the cache off below the path, or in the section (on).",
            |target, arguments| {
                let word = arguments.filled(0)?;
                let place = if word.eq_ignore_ascii_case("on") {
                    "/".to_string()
                } else {
                    path(arguments, 0)?
                };
                push(target, CacheChange::Place(place, false))
            },
        )
        .example("/private", "private"),
        Directive::everywhere(
            "CacheDefaultExpire",
            SECONDS,
            "The lifetime of a response that has an ETag, but neither freshness information nor a \
             Last-Modified in the past.",
            |target, arguments| push(target, CacheChange::DefaultExpire(arguments.time()?)),
        )
        .default("3600")
        .unit("s"),
        Directive::everywhere(
            "CacheMaxExpire",
            SECONDS,
            "The longest lifetime of any response.",
            |target, arguments| push(target, CacheChange::MaxExpire(arguments.time()?)),
        )
        .default("86400")
        .unit("s"),
        Directive::everywhere(
            "CacheMinExpire",
            SECONDS,
            "The shortest lifetime of a response without freshness information.",
            |target, arguments| push(target, CacheChange::MinExpire(arguments.time()?)),
        )
        .default("0")
        .unit("s"),
        Directive::everywhere(
            "CacheLastModifiedFactor",
            words("NUMBER (0 to 10)", 1, 1),
            "The lifetime of a response with only a Last-Modified, as a fraction of the time \
             since it was modified.",
            |target, arguments| {
                let word = arguments.filled(0)?;
                let factor = word.parse::<f64>().ok();
                let factor = factor.filter(|factor| (0.0..=10.0).contains(factor));
                let factor = factor.ok_or_else(|| {
                    arguments.fault(0, format!("expected a number from 0 to 10, not `{word}`"))
                })?;
                push(target, CacheChange::ModifiedFactor(factor))
            },
        )
        .default("0.1")
        .example("0.1", "some"),
        Directive::everywhere(
            "CacheIgnoreCacheControl",
            Shape::Flag,
            "On: the cache ignores it when a client asks for a fresh response (reload).",
            |target, arguments| push(target, CacheChange::IgnoreCacheControl(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheIgnoreNoLastMod",
            Shape::Flag,
            "On: the cache also keeps responses that have neither Last-Modified nor ETag nor \
             expiry time. Their lifetime is CacheDefaultExpire.",
            |target, arguments| push(target, CacheChange::IgnoreNoLastMod(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheIgnoreQueryString",
            Shape::Flag,
            "On: the cache keeps one response for each path, whatever the query.",
            |target, arguments| push(target, CacheChange::IgnoreQuery(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheStorePrivate",
            Shape::Flag,
            "On: the cache keeps responses with `Cache-Control: private`. Other users then get \
             these responses.",
            |target, arguments| push(target, CacheChange::StorePrivate(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheStoreNoStore",
            Shape::Flag,
            "On: the cache keeps responses with `Cache-Control: no-store`.",
            |target, arguments| push(target, CacheChange::StoreNoStore(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheStoreExpired",
            Shape::Flag,
            "On: the cache keeps responses that are already stale, and revalidates them.",
            |target, arguments| push(target, CacheChange::StoreExpired(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheIgnoreHeaders",
            words("NAME...|None", 1, ANY),
            "Fields that the cache does not store. If Set-Cookie is in the list, a response that \
             sets a cookie is kept without the cookie.",
            |target, arguments| {
                let names = arguments
                    .words
                    .iter()
                    .map(|word| word.text.to_ascii_lowercase());
                let names: Vec<String> = names.filter(|name| name != "none").collect();
                let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
                let wrong = names
                    .iter()
                    .position(|name| name.is_empty() || !name.chars().all(is_token));
                match wrong {
                    Some(at) => {
                        Err(arguments.fault(at, "expected the names of header fields, or None"))
                    }
                    None => push(target, CacheChange::IgnoreHeaders(names)),
                }
            },
        )
        .otherwise("None")
        .example("Set-Cookie", "Set:Cookie"),
        Directive::everywhere(
            "CacheHeader",
            Shape::Flag,
            "Whether responses have an X-Cache field: HIT, MISS, REVALIDATE, STALE.",
            |target, arguments| push(target, CacheChange::Tell(arguments.flag()?)),
        )
        .default("Off"),
        Directive::everywhere(
            "CacheLock",
            Shape::Flag,
            "On: if several requests ask for a page at once, one of them asks the program and the \
             others wait.",
            |target, arguments| push(target, CacheChange::Lock(arguments.flag()?)),
        )
        .default("On"),
        Directive::everywhere(
            "CacheLockMaxAge",
            Shape::Time { least: 1, most: 60 },
            "How long requests wait for a page that another request has asked for. After that, \
             one of them asks the program too.",
            |target, arguments| push(target, CacheChange::LockMaxAge(arguments.time()?)),
        )
        .default("5")
        .unit("s"),
        Directive::everywhere(
            "CacheStaleOnError",
            Shape::Flag,
            "On: if the program fails with 5xx, the cache answers with a stale response, unless \
             the response forbids it.",
            |target, arguments| push(target, CacheChange::StaleOnError(arguments.flag()?)),
        )
        .default("On"),
        Directive::everywhere(
            "CacheStaleWhileRevalidate",
            SECONDS,
            "How long a stale response may be used while a fresh one is made. A time in the \
             response itself counts first.",
            |target, arguments| push(target, CacheChange::StaleWhileRevalidate(arguments.time()?)),
        )
        .default("0")
        .unit("s"),
        Directive::everywhere(
            "CacheMaxFileSize",
            Shape::Number {
                least: 1,
                most: 1 << 30,
            },
            "The longest body that is kept.",
            |target, arguments| push(target, CacheChange::MaxSize(arguments.number()?)),
        )
        .default("1000000")
        .unit("bytes"),
        Directive::everywhere(
            "CacheMinFileSize",
            Shape::Number {
                least: 0,
                most: 1 << 30,
            },
            "The shortest body that is kept.",
            |target, arguments| push(target, CacheChange::MinSize(arguments.number()?)),
        )
        .default("1")
        .unit("bytes"),
        Directive::server(
            "CacheSize",
            Shape::Number {
                least: 0,
                most: u64::MAX,
            },
            "The memory for responses. The least recently used response is removed first.",
            |target, arguments| {
                target.site.stores.cache.memory = arguments.number()?;
                Ok(())
            },
        )
        .default("67108864")
        .unit("bytes"),
        Directive::server(
            "CacheRoot",
            Shape::Path,
            "A folder in which responses are kept too. They survive restarts. The server creates \
             the folder if its parent exists.",
            |target, arguments| {
                let folder = arguments.path(0, &target.site.server_root)?;
                target.site.stores.cache.folder = Some(folder);
                Ok(())
            },
        )
        .example("/var/cache/mehari/pages", "/one /two"),
        Directive::server(
            "CacheDiskSize",
            Shape::Number {
                least: 1 << 20,
                most: u64::MAX,
            },
            "The most bytes that CacheRoot may hold. The least recently used response is removed \
             first.",
            |target, arguments| {
                target.site.stores.cache.disk = arguments.number()?;
                Ok(())
            },
        )
        .default("1073741824")
        .unit("bytes"),
        Directive::server(
            "CacheRedis",
            words(
                "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER] | unix:///PATH[?db=NUMBER]",
                1,
                1,
            ),
            "A Redis or Valkey server in which responses are kept too. Several machines may share \
             it.",
            |target, arguments| {
                let server = RedisServer::parse(arguments.filled(0)?);
                let server = server.ok_or_else(|| arguments.fault(0, RedisServer::EXPECTED))?;
                target.site.stores.cache.redis = Some(server);
                Ok(())
            },
        )
        .example("redis://127.0.0.1:6379/1", "127.0.0.1:6379"),
        Directive::ignored("CacheDirLevels", OWN_NAMES),
        Directive::ignored("CacheDirLength", OWN_NAMES),
        Directive::ignored("CacheLockPath", "the lock needs no file"),
        Directive::ignored("CacheReadSize", "responses are kept whole"),
        Directive::ignored("CacheReadTime", "responses are kept whole"),
        Directive::ignored(
            "CacheDetailHeader",
            "`%{cache}Q` in a log format shows the cache's result",
        ),
        Directive::ignored(
            "CacheQuickHandler",
            "access rules always apply before the cache",
        ),
        Directive::ignored(
            "CacheIgnoreURLSessionIdentifiers",
            "each URL has its own entry",
        ),
        Directive::ignored("CacheKeyBaseURL", "each host has its own entries"),
    ],
};

const OWN_NAMES: &str = "the cache names its files itself";

const SECONDS: Shape = Shape::Time {
    least: 0,
    most: Duration::from_secs(10 * 365 * 86_400).as_secs(),
};

fn push(target: &mut Target, change: CacheChange) -> Applied {
    target.changes.push(Change::Cache(change));
    Ok(())
}

fn enable(target: &mut Target, arguments: &Arguments) -> Applied {
    const KINDS: &[&str] = &["disk", "mem", "memory", "socache"];
    let mut place = "/".to_string();
    for (index, word) in arguments.words.iter().enumerate() {
        let is_kind = KINDS
            .iter()
            .any(|kind| kind.eq_ignore_ascii_case(&word.text));
        if index > 0 || !is_kind {
            if !word.text.starts_with('/') && index == 0 {
                let message = format!(
                    "expected disk, mem, memory, socache or a URL path, not `{}`",
                    word.text
                );
                return Err(arguments
                    .fault(index, message)
                    .or_nearest(&word.text, KINDS.iter().copied()));
            }
            place = path(arguments, index)?;
        }
    }
    push(target, CacheChange::Place(place, true))
}

fn path(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let word = arguments.filled(index)?;
    if word.starts_with('/') {
        Ok(word.to_string())
    } else {
        Err(arguments.fault(
            index,
            format!("expected a URL path such as /news, not `{word}`"),
        ))
    }
}
