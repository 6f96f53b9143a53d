//! Tests the loading of Perl's directives: handlers, preloads, options, variables.

use super::*;

#[test]
fn perl_response_handler_names_a_rung_or_a_module() {
    for (name, rung) in [
        ("ModPerl::Registry", Rung::Registry),
        ("ModPerl::RegistryPrefork", Rung::Registry),
        ("ModPerl::RegistryBB", Rung::Registry),
        ("Apache::Registry", Rung::Registry),
        ("ModPerl::Registry::handler", Rung::Registry),
        ("ModPerl::PerlRun", Rung::PerlRun),
        ("ModPerl::PerlRunPrefork", Rung::PerlRun),
        ("Apache::PerlRun", Rung::PerlRun),
        ("Mehari::Fork", Rung::Fork),
        ("Mehari::Rewind", Rung::Rewind),
        ("Mehari::Auto", Rung::Auto),
    ] {
        let site = site(&format!(
            "SetHandler perl-script\nPerlResponseHandler {name}\n"
        ));
        assert_eq!(
            at(&site, "/x").handlers.set,
            Some(Handler::Script(rung)),
            "{name}"
        );
    }
    for (set, perl_script) in [("perl-script", true), ("modperl", false)] {
        let site = site(&format!("SetHandler {set}\nPerlHandler My::App->run\n"));
        let name = "My::App->run".to_string();
        assert_eq!(
            at(&site, "/x").handlers.set,
            Some(Handler::Perl { name, perl_script })
        );
    }
    let site = site("SetHandler perl-script\n");
    assert_eq!(
        at(&site, "/x").handlers.set,
        Some(Handler::Script(Rung::Auto))
    );
}

#[test]
fn a_response_handler_and_an_application_reach_the_sections_inside() {
    let site = site(
        "PerlResponseHandler My::App\nPSGIApp /srv/app.psgi\n\
         <Location /a>\nSetHandler modperl\n</Location>\n<Location /b>\nSetHandler psgi\n</Location>\n\
         <Location /b/own>\nPSGIApp /srv/own.psgi\n</Location>\n\
         <Location /b/files>\nSetHandler None\n</Location>\n\
         <Location /c>\nAddHandler perl-script .pl\nPerlResponseHandler ModPerl::PerlRun\n</Location>\n",
    );
    let handler = |url| at(&site, url).handlers.set.clone();
    assert!(
        matches!(handler("/a"), Some(Handler::Perl { name, perl_script: false }) if name == "My::App")
    );
    assert_eq!(handler("/b"), Some(Handler::Psgi("/srv/app.psgi".into())));
    assert_eq!(
        handler("/b/own"),
        Some(Handler::Psgi("/srv/own.psgi".into()))
    );
    assert_eq!(handler("/b/files/x"), None);
    assert_eq!(
        at(&site, "/c").handlers.by_suffix,
        [("pl".to_string(), Handler::Script(Rung::PerlRun))]
    );
    let apps = [
        Preload::Psgi("/srv/app.psgi".into()),
        Preload::Psgi("/srv/own.psgi".into()),
    ];
    assert_eq!(preloads(&site)[1..], apps);
}

#[test]
fn handlers_are_preloaded_except_rungs_objects_and_deferred_handlers() {
    let site = site(
        "PerlTransHandler My::Trans +My::Other::look\n<Location /a>\nSetHandler modperl\n\
         PerlResponseHandler My::App->answer ModPerl::Registry $My::object->answer -My::Late\n\
         PerlLogHandler My::Trans 'sub { 0 }'\n</Location>\nPerlModule First\n",
    );
    let handler = |name: &str| Preload::Handler(name.to_string());
    assert_eq!(
        preloads(&site),
        [
            Preload::Module("First".into()),
            handler("My::Trans"),
            handler("+My::Other::look"),
            handler("My::App->answer"),
            handler("sub { 0 }"),
        ]
    );
    let place = &site.perl().preloads[3].place;
    assert_eq!((place.line, place.column), (4, 1));
}

#[test]
fn preloads_are_loaded_once_in_mod_perls_order() {
    let site = site(
        "PSGIApp /srv/a.psgi\nPerlPostConfigRequire /srv/last.pl\nPerlModule A B\nPerlRequire /srv/start.pl\n\
         PerlPreloadScript registry /srv/x.pl\nPerlConfigRequire /srv/first.pl\nPerlModule B\n",
    );
    assert_eq!(
        preloads(&site),
        [
            Preload::Require("/srv/first.pl".into()),
            Preload::Require("/srv/start.pl".into()),
            Preload::Module("A".into()),
            Preload::Module("B".into()),
            Preload::Require("/srv/last.pl".into()),
            Preload::Psgi("/srv/a.psgi".into()),
            Preload::Script(Rung::Registry, "/srv/x.pl".into()),
        ]
    );
}

#[test]
fn variables_of_the_request_are_set_added_and_wiped_as_in_mod_perl() {
    let site = site(
        "PerlSetVar Colour red\nPerlAddVar Colour green blue\nSetEnv A outer\nSetEnv B outer\n\
         <Location /in>\nPerlAddVar Colour white\nSetEnv A inner\nUnsetEnv B\n</Location>\n\
         <Location /own>\nPerlSetVar Colour black\n</Location>\n",
    );
    let colours = |url| at(&site, url).programs.set_var[0].1.join(" ");
    assert_eq!(colours("/"), "red green blue");
    assert_eq!(colours("/in"), "red green blue white");
    assert_eq!(colours("/own"), "black");
    assert_eq!(
        at(&site, "/in").programs.set_env,
        [("A".to_string(), "inner".to_string())]
    );
}

#[test]
fn options_with_signs_add_or_remove_and_others_replace() {
    let site = site(
        "Options ExecCGI\n<Location /plus>\nOptions +Indexes\n</Location>\n<Location /minus>\nOptions -ExecCGI\n</Location>\n\
         <Location /list>\nOptions Indexes\n</Location>\n<Location /all>\nOptions All\n</Location>\n\
         <Location /last>\nOptions +ExecCGI -ExecCGI\n</Location>\n\
         <Location /again>\nOptions -ExecCGI +ExecCGI\n</Location>\n",
    );
    let allowed = |url| at(&site, url).handlers.exec_cgi;
    let urls = ["/plus", "/minus", "/list", "/all", "/last", "/again"];
    assert_eq!(urls.map(allowed), [true, false, false, true, false, true]);
}

#[test]
fn perl_options_turn_header_parsing_on_and_off_and_cgi_rungs_always_parse() {
    let site = site("PerlOptions +ParseHeaders +GlobalRequest\n<Location /x>\nPerlOptions SetupEnv\n</Location>\n");
    assert!(at(&site, "/").programs.parse_headers);
    let replaced = at(&site, "/x");
    assert!(!replaced.programs.parse_headers && !replaced.parses_headers(Rung::Registry));
    assert!(replaced.parses_headers(Rung::Auto) && replaced.parses_headers(Rung::Cgi));
}

#[test]
fn perl_isolation_reaches_handlers_and_is_refused_where_it_has_no_effect() {
    let text = site(
        "PerlIsolation rewind\nPSGIApp /srv/app.psgi\n<Location /a>\nSetHandler psgi\n</Location>\n\
         <Location /b>\nSetHandler modperl\nPerlResponseHandler My::App\nPerlIsolation None\n</Location>\n",
    );
    assert!(at(&text, "/a").programs.rewound);
    assert!(!at(&text, "/b").programs.rewound);
    let section = |lines: &str| {
        format!("<Location /a>\n{lines}\nPerlIsolation rewind\n</Location>\n<Location /b>\n</Location>\n")
    };
    for (lines, expected) in [
        (
            "SetHandler cgi-script",
            "PerlResponseHandler Mehari::Rewind",
        ),
        (
            "SetHandler perl-script\nPerlResponseHandler ModPerl::Registry",
            "PerlResponseHandler Mehari::Rewind",
        ),
        ("SetHandler default-handler", "expected `SetHandler psgi`"),
        (
            "SetHandler proxy:http://127.0.0.1:1/",
            "expected `SetHandler psgi`",
        ),
    ] {
        let found = problems(&section(lines));
        assert_eq!(found.len(), 1, "{lines}: {found:?}");
        assert!(
            found[0].contains("1:1: PerlIsolation has no effect"),
            "{found:?}"
        );
        assert!(found[0].contains(expected), "{found:?}");
    }
    let found = problems("PerlIsolation rewound\n");
    assert_eq!(
        found,
        ["1:15: expected rewind or none, not `rewound`; did you mean `rewind`?"]
    );
    assert_eq!(problems("PerlIsolation rewind none\n").len(), 1);
}
