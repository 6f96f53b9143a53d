use super::*;

type RequestFields = &'static [(&'static str, &'static str)];

fn now() -> SystemTime {
    date(b"Sun, 06 Nov 1994 12:00:00 GMT").expect("a date")
}

fn judge(asked: &[(&str, &str)], query: bool, status: u16, lines: &str) -> Result<Terms, Refusal> {
    judge_by(&CacheRules::default(), asked, query, status, lines)
}

fn judge_by(
    rules: &CacheRules,
    asked: &[(&str, &str)],
    query: bool,
    status: u16,
    lines: &str,
) -> Result<Terms, Refusal> {
    let asked: Vec<Field> = asked
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    let lines = lines.replace(" / ", "\r\n") + "\r\n";
    Terms::of(rules, &asked, query, status, lines.as_bytes(), arrival())
}

/// Returns an arrival three seconds after the request.
fn arrival() -> Arrival {
    Arrival {
        at: now(),
        delay: Duration::from_secs(3),
    }
}

#[test]
fn the_age_at_arrival_includes_the_delay() {
    for (lines, age) in [
        ("Cache-Control: max-age=60", 3),
        ("Cache-Control: max-age=60 / Age: 10", 13),
        ("Cache-Control: max-age=60 / Age: ten", 3),
        // A larger number counts as 2^31 (RFC 9111 section 1.2.2).
        (
            "Cache-Control: max-age=60 / Age: 99999999999999999999",
            (1 << 31) + 3,
        ),
        (
            "Cache-Control: max-age=60 / Date: Sun, 06 Nov 1994 11:59:58 GMT",
            3,
        ),
        (
            "Cache-Control: max-age=60 / Date: Sun, 06 Nov 1994 11:59:40 GMT / Age: 10",
            20,
        ),
    ] {
        let terms = judge(&[], false, 200, lines).expect(lines);
        assert_eq!(terms.age, Duration::from_secs(age), "{lines}");
    }
}

#[test]
fn a_refused_response_has_its_reason() {
    let login: RequestFields = &[("Authorization", "Basic x")];
    let cookie: RequestFields = &[("Cookie", "a=b")];
    let reload: RequestFields = &[("Cache-Control", "no-store")];
    let rows: [(RequestFields, u16, &str, Refusal); 14] = [
        (
            &[],
            200,
            "Cache-Control: public, s-maxage=9 / Set-Cookie: session=1",
            Refusal::Cookie,
        ),
        (&[], 206, "Cache-Control: max-age=9", Refusal::Status),
        (&[], 500, "Cache-Control: max-age=9", Refusal::Status),
        (
            &[],
            200,
            "Cache-Control: no-store, max-age=9",
            Refusal::NoStore,
        ),
        (reload, 200, "Cache-Control: max-age=9", Refusal::NoStore),
        (
            &[],
            200,
            "Cache-Control: private, max-age=9",
            Refusal::Private,
        ),
        (login, 200, "Cache-Control: max-age=9", Refusal::Authorized),
        (
            &[],
            200,
            "Cache-Control: max-age=9 / Set-Cookie: a=b",
            Refusal::Cookie,
        ),
        (
            &[],
            200,
            "Cache-Control: max-age=9 / Vary: Cookie, *",
            Refusal::VaryAny,
        ),
        (&[], 200, "Content-Type: text/html", Refusal::Unsaid),
        (cookie, 200, "ETag: \"a\"", Refusal::Unsaid),
        (&[], 302, "ETag: \"a\"", Refusal::Unsaid),
        (&[], 200, "Cache-Control: max-age=0", Refusal::Expired),
        (&[], 200, "Expires: 0", Refusal::Expired),
    ];
    for (asked, status, lines, expected) in rows {
        assert_eq!(judge(asked, false, status, lines), Err(expected), "{lines}");
    }
    assert_eq!(judge(&[], true, 200, "ETag: \"a\""), Err(Refusal::Unsaid));
}

#[test]
fn the_most_specific_lifetime_counts() {
    let login: RequestFields = &[("Authorization", "Basic x")];
    let rows: [(RequestFields, &str, u64); 10] = [
        (&[], "Cache-Control: max-age=60", 60),
        (&[], "Cache-Control: max-age=60, s-maxage=30", 30),
        (
            &[],
            "Cache-Control: max-age=60 / Expires: Sun, 06 Nov 1994 14:00:00 GMT",
            60,
        ),
        (&[], "Expires: Sun, 06 Nov 1994 12:05:00 GMT", 300),
        (
            &[],
            "Date: Sun, 06 Nov 1994 12:04:00 GMT / Expires: Sun, 06 Nov 1994 12:05:00 GMT",
            60,
        ),
        (&[], "Last-Modified: Sun, 06 Nov 1994 02:00:00 GMT", 3600),
        (&[], "ETag: \"a\"", 3600),
        (&[], "ETag: \"a\" / Cache-Control: no-cache", 0),
        (&[], "Cache-Control: max-age=999999999", 86_400),
        (login, "Cache-Control: public, max-age=9", 9),
    ];
    for (asked, lines, seconds) in rows {
        let terms = judge(asked, false, 200, lines).expect(lines);
        assert_eq!(terms.lifetime, Duration::from_secs(seconds), "{lines}");
    }
}

#[test]
fn a_sites_settings_overrule_the_response() {
    let rules = CacheRules {
        ignore_no_last_mod: true,
        default_expire: Duration::from_secs(5),
        ignore_headers: vec!["set-cookie".into()],
        stale_while_revalidate: Duration::from_secs(7),
        ..CacheRules::default()
    };
    let terms = judge_by(&rules, &[("Cookie", "a")], true, 200, "Set-Cookie: a=b");
    let terms = terms.expect("kept");
    assert_eq!(terms.lifetime, Duration::from_secs(5));
    assert_eq!(terms.while_revalidate, Duration::from_secs(7));
    assert_eq!(terms.if_error, IF_ERROR);
    let strict = judge_by(
        &rules,
        &[],
        false,
        200,
        "Cache-Control: max-age=9, must-revalidate",
    );
    let strict = strict.expect("kept");
    assert_eq!(
        (strict.while_revalidate, strict.if_error),
        (Duration::ZERO, Duration::ZERO)
    );
}

#[test]
fn a_request_that_differs_in_a_vary_field_does_not_fit() {
    let asked = [("Accept-Language", "de, en"), ("X", "1")];
    let lines = "Cache-Control: max-age=9 / Vary: accept-language, X-Other";
    let terms = judge(&asked, false, 200, lines).expect("kept");
    let fits = |fields: &[(&'static str, &'static str)]| {
        let fields: Vec<Field> = fields
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        terms.fits(&fields)
    };
    assert!(fits(&[("accept-language", "de,en"), ("X", "2")]));
    assert!(fits(&[
        ("accept-language", "de"),
        ("Accept-Language", "en")
    ]));
    assert!(!fits(&[("accept-language", "en")]));
    assert!(!fits(&[]));
    assert!(!fits(&[("accept-language", "de,en"), ("x-other", "y")]));
    assert!(!fits(&[("accept-language", "de,en"), ("x-other", "")]));
}
