//! Tests the loading of access rules.

use super::*;

#[test]
fn both_access_syntaxes_work_and_the_inner_section_wins() {
    for (words, denied) in [
        ("Require all granted", false),
        ("Require all denied", true),
        ("Require all denied\nRequire all granted", false),
        ("Order deny,allow\nDeny from all", true),
        ("Order deny,allow\nDeny from all\nAllow from all", false),
        ("Order allow,deny\nAllow from all", false),
        ("Order allow,deny\nAllow from all\nDeny from all", true),
        ("Order allow,deny", true),
        ("Order Deny, Allow", false),
    ] {
        let site = site(&format!("<Location /x>\n{words}\n</Location>\n"));
        assert_eq!(at(&site, "/x").denied, denied, "{words}");
    }
    let site = site("Require all denied\n<Location /open>\nRequire all granted\n</Location>\n");
    assert!(at(&site, "/x").denied && !at(&site, "/open/x").denied);
}

#[test]
fn access_that_cannot_be_checked_is_refused_and_never_ignored() {
    for words in [
        "Require host exam/ple.com",
        "Require forward-dns 10.0.0",
        "Require ldap-user ann",
        "Require ip example.com",
        "Deny from 10.0.0.300",
        "AuthBasicProvider ldap",
        "Require expr %{HTTP_HOST}",
        "<Limit>\nRequire all denied\n</Limit>",
        "<RequireAll>\n</RequireAll>",
        "<Limit POST>\n<RequireAny>\n</RequireAny>\n</Limit>",
        "<RequireAll>\nAuthName A\n</RequireAll>",
        "<RequireAny>\nOrder allow,deny\nRequire all granted\n</RequireAny>",
        "<RequireAny>\n<Limit GET>\nOptions Indexes\nRequire all granted\n</Limit>\n</RequireAny>",
    ] {
        let found = problems(words);
        assert_eq!(found.len(), 1, "{words}: {found:?}");
    }
}

/// `apache2 -t` says the same of each of these.
#[test]
fn requirements_that_cannot_admit_anybody_are_refused() {
    for (words, is_refused) in [
        ("<RequireAll>\nRequire not ip 192.0.2.1\n</RequireAll>", true),
        ("<RequireAll>\n<Limit GET>\nRequire not ip 192.0.2.1\n</Limit>\n</RequireAll>", true),
        ("<RequireAny>\n<RequireAll>\nRequire not ip 192.0.2.1\n</RequireAll>\nRequire all granted\n</RequireAny>", true),
        ("<RequireAll>\n<RequireNone>\nRequire ip 192.0.2.1\n</RequireNone>\n</RequireAll>", true),
        ("<If true>\n<RequireAll>\nRequire not ip 192.0.2.1\n</RequireAll>\n</If>", true),
        ("<RequireAll>\n<RequireAll>\nRequire not ip 192.0.2.1\n</RequireAll>\nRequire all granted\n</RequireAll>", false),
        ("<RequireAll>\nRequire all granted\nRequire not ip 192.0.2.1\n</RequireAll>", false),
    ] {
        let text = format!("<Location /x>\n{words}\n</Location>\n");
        if is_refused {
            let found = problems(&text);
            assert_eq!(found.len(), 1, "{words}: {found:?}");
        } else {
            site(&text);
        }
    }
}

#[test]
fn a_constant_denial_is_known_without_a_request() {
    let site = site(
        "<Location /a>\nRequire all denied\n</Location>\n\
         <Location /b>\nRequire valid-user\n</Location>\n\
         <Location /c>\nOrder Deny,Allow\nDeny from all\nAllow from 10.0.0.0/8\n</Location>\n\
         <Location /d>\n<RequireAll>\nRequire all granted\nRequire not ip 10.0.0.1\n</RequireAll>\n</Location>\n\
         <Location /e>\n<Limit POST>\nRequire all denied\n</Limit>\n</Location>\n\
         <Location /a/again>\nRequire all granted\n</Location>\n",
    );
    for (url, denied, asked) in [
        ("/", false, false),
        ("/a", true, false),
        ("/a/again", false, false),
        ("/b", false, true),
        ("/c", false, true),
        ("/d", false, true),
        ("/e", false, true),
    ] {
        let settings = at(&site, url);
        assert_eq!(settings.denied, denied, "{url}");
        assert_eq!(settings.rules.is_checked_first(), asked, "{url}");
    }
}
