//! What cannot be served is told before anything is: everything wrong at once, each with the line to mend.

use mehari_harness::Server;

/// A module with this body, and the 1 that Perl wants.
fn module(name: &str, body: &str) -> String {
    format!("package {name};\nuse strict;\n{body}\n1;\n")
}

#[test]
fn everything_that_does_not_load_is_told_at_once() {
    let broken = module("Site::Broken", "sub handler { my $r = ; }");
    let refused = Server::builder()
        .file("lib/Site/Broken.pm", &broken)
        .file("lib/Site/Sound.pm", &module("Site::Sound", "sub handler { 0 }"))
        .file("startup.pl", "die 'no camels today';\n")
        .conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Site::Missing\nPerlRequire @ROOT@/startup.pl\n\
             PerlTransHandler Site::Broken Site::Sound Site::Sound::absent\n\
             <Location /a>\nSetHandler modperl\nPerlResponseHandler Site::Broken\n</Location>\n\
             <Location /b>\nSetHandler modperl\nPerlResponseHandler -Site::Late\nPerlFixupHandler $Site::object->ask\n\
             PerlLogHandler 'sub { nonsense( }'\n</Location>\n",
        )
        .try_start();
    let log = refused.err().expect("the start is refused");
    log.expect("5 of what is preloaded failed");
    let module =
        log.expect("module Site::Missing cannot be loaded: Can't locate Site/Missing.pm in @INC");
    assert!(
        module.contains("httpd.conf:") && !module.contains("Zygote.pm"),
        "{module}"
    );
    log.expect("startup.pl cannot be loaded: no camels today at ");
    let handler = log.expect("handler module Site::Broken cannot be loaded: syntax error at ");
    assert!(handler.contains("lib/Site/Broken.pm line 3"), "{handler}");
    assert_eq!(log.count("handler module Site::Broken cannot be loaded"), 1);
    log.expect(
        "handler `Site::Sound::absent`: the module Site::Sound loads but defines no sub `absent`",
    );
    log.expect("handler `sub { nonsense( }` does not compile");
    assert_eq!(log.count("Site::Late"), 0);
}
