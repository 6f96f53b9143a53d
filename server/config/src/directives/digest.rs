//! The directives of `AuthType Digest`, with the names of mod_auth_digest.

use super::access::auth;
use super::row::*;
use crate::overrides::AUTH;
use crate::{AuthWord, DigestAlgorithm, DigestWord};

const LONGEST: i64 = 31_536_000;

pub const GROUP: Group = Group {
    title: "Digest authentication",
    rows: &[
        Directive::everywhere(
            "AuthDigestProvider",
            Shape::Choice(&["file"]),
            "Where users are looked up. `file` means AuthUserFile. `htdigest` writes this file, \
             with `user:realm:hash` on each line.",
            |_, arguments| arguments.choice().map(drop),
        )
        .htaccess(AUTH)
        .otherwise("file"),
        Directive::everywhere(
            "AuthDigestAlgorithm",
            words("MD5|SHA-256 [MD5|SHA-256]", 1, 2),
            "The hash algorithms, the preferred one first. A hash of 64 digits in the file is a \
             SHA-256 hash.",
            |target, arguments| {
                let mut all = Vec::new();
                for index in 0..arguments.words.len() {
                    let name = arguments.filled(index)?;
                    let names = DigestAlgorithm::ALL.map(DigestAlgorithm::name);
                    let named = DigestAlgorithm::named(name).filter(|one| !all.contains(one));
                    all.push(named.ok_or_else(|| {
                        let message = format!("expected MD5 or SHA-256, each once, not `{name}`");
                        arguments
                            .fault(index, message)
                            .or_nearest(name, names.into_iter())
                    })?);
                }
                digest(target, DigestWord::Algorithms(all))
            },
        )
        .htaccess(AUTH)
        .otherwise("MD5")
        .example("SHA-256 MD5", "MD5-sess"),
        Directive::everywhere(
            "AuthDigestQop",
            Shape::Choice(&["auth", "none"]),
            "The quality of protection (qop). auth: the hash covers the request line. none: the \
             older form of RFC 2069, without counts of requests.",
            |target, arguments| {
                let without = arguments.choice()? == "none";
                digest(target, DigestWord::WithoutQuality(without))
            },
        )
        .htaccess(AUTH)
        .otherwise("auth"),
        Directive::everywhere(
            "AuthDigestNonceLifetime",
            words("SECONDS", 1, 1),
            "How long a nonce is valid. After that the client gets a new nonce. 0: a nonce is \
             valid for one request. -1: a nonce is valid for ever.",
            |target, arguments| {
                let text = arguments.filled(0)?;
                let seconds = text.parse::<i64>().ok();
                let seconds = seconds.filter(|seconds| (-1..=LONGEST).contains(seconds));
                let seconds = seconds.ok_or_else(|| {
                    let message = format!("expected seconds from -1 to {LONGEST}, not `{text}`");
                    arguments.fault(0, message)
                })?;
                digest(target, DigestWord::NonceLifetime(seconds))
            },
        )
        .htaccess(AUTH)
        .otherwise("300")
        .example("600", "soon"),
        Directive::everywhere(
            "AuthDigestNcCheck",
            Shape::Flag,
            "Whether the server accepts each count of a nonce only once, which prevents replays. \
             Up to 32 counts may arrive out of order.",
            |target, arguments| {
                let uncounted = !arguments.flag()?;
                digest(target, DigestWord::Uncounted(uncounted))
            },
        )
        .htaccess(AUTH)
        .otherwise("On"),
        Directive::everywhere(
            "AuthDigestDomain",
            words("URI...", 1, ANY),
            "Other places where the same user and password apply: paths, or URLs of other servers \
             with the same users.",
            |target, arguments| {
                let mut all = Vec::new();
                for index in 0..arguments.words.len() {
                    let uri = arguments.filled(index)?;
                    let strange =
                        |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\\';
                    if uri.contains(strange) {
                        let message =
                            format!("expected a path that begins with / or a URL, not `{uri}`");
                        return Err(arguments.fault(index, message));
                    }
                    if !(uri.starts_with('/') || uri.contains("://")) {
                        target
                            .environment
                            .remark("clients follow paths that begin with / and URLs only");
                    }
                    all.push(uri.to_string());
                }
                digest(target, DigestWord::Domain(all))
            },
        )
        .htaccess(AUTH)
        .example(
            "/private/ https://mirror.example.org/private/",
            "\"two words\"",
        ),
        Directive::ignored(
            "AuthDigestShmemSize",
            "all nonces are in one process, which needs no shared memory",
        ),
    ],
};

fn digest(target: &mut Target, word: DigestWord) -> Applied {
    auth(target, AuthWord::Digest(word))
}
