//! Tests when rules begin to see the variables of `SetEnv` and `PerlSetEnv`. As in Apache, `SetEnv`
//! sets its variables after all rules that lead to the response, and `PerlSetEnv` sets its
//! variables when the first Perl handler of the place runs.

use super::*;
use mehari_harness::Pair;

const MODULE: &str = r#"
sub decline { -1 }
sub authen { my $r = shift; $r->user('ann'); 0 }
sub forget { my $r = shift; $r->subprocess_env->unset('X'); -1 }
sub say { my $r = shift; $r->content_type('text/plain'); $r->print("said\n"); 0 }
"#;

const SETS: [(&str, &str); 2] = [("set", "SetEnv X 1"), ("perl", "PerlSetEnv X 1")];

const HANDLERS: [(&str, &str); 10] = [
    ("none", ""),
    ("parser", "PerlHeaderParserHandler Sees::decline"),
    ("forgetting", "PerlHeaderParserHandler Sees::forget"),
    ("access", "PerlAccessHandler Sees::decline"),
    (
        "asked",
        "PerlAuthenHandler Sees::authen\nAuthType Basic\nAuthName x",
    ),
    ("unasked", "PerlAuthenHandler Sees::authen"),
    ("type", "PerlTypeHandler Sees::decline"),
    ("fixup", "PerlFixupHandler Sees::decline"),
    (
        "response",
        "SetHandler modperl\nPerlResponseHandler Sees::say",
    ),
    ("log", "PerlLogHandler Sees::decline"),
];

/// The rules that read the variable. `asked` has rules of its own, which ask for a user.
const RULES: [(&str, &str); 18] = [
    ("deny", "Order allow,deny\nAllow from all\nDeny from env=X"),
    ("allow", "Order deny,allow\nDeny from all\nAllow from env=X"),
    (
        "not",
        "<RequireAll>\nRequire all granted\nRequire not env X\n</RequireAll>",
    ),
    ("env", "Require env X"),
    ("expression", "Require expr \"%{ENV:X} == '1'\""),
    ("function", "Require expr \"reqenv('X') == '1'\""),
    ("valid", "Require valid-user"),
    (
        "user-not",
        "<RequireAll>\nRequire valid-user\nRequire not env X\n</RequireAll>",
    ),
    (
        "user-and",
        "<RequireAll>\nRequire valid-user\nRequire env X\n</RequireAll>",
    ),
    (
        "user-or",
        "<RequireAny>\nRequire user bob\nRequire env X\n</RequireAny>",
    ),
    (
        "set-if",
        "SetEnvIf X 1 Y=1\nHeader set X-Y \"%{Y}e\"\nRequire env Y",
    ),
    (
        "set-expr",
        "SetEnvIfExpr \"reqenv('X') == '1'\" Y=1\nRequire env Y",
    ),
    (
        "if",
        "<If \"reqenv('X') == '1'\">\nRequire all denied\n</If>",
    ),
    (
        "rewrite",
        "RewriteEngine On\nRewriteCond %{ENV:X} 1\nRewriteRule ^ - [G]",
    ),
    (
        "redirect",
        "<If \"true\">\nRedirect 302 /found/%{reqenv:X}\n</If>",
    ),
    ("header", "Header set X-Seen yes env=X"),
    (
        "condition",
        "Header set X-Seen yes \"expr=reqenv('X') == '1'\"",
    ),
    (
        "field",
        "RequestHeader set X-Seen yes env=X\nHeader set X-Seen \"expr=%{req:X-Seen}\"",
    ),
];

fn site(of_server: &'static str) -> Builder {
    let mut conf = format!(
        "PerlModule Sees\n{of_server}\n<Directory @ROOT@>\nOptions FollowSymLinks\nRequire all granted\n</Directory>\n"
    );
    let mut files = Vec::new();
    for (sets, variable) in SETS {
        for (runs, handler) in HANDLERS {
            for (reads, rule) in RULES {
                let folder = format!("htdocs/{sets}/{runs}/{reads}");
                conf += &format!(
                    "<Directory @ROOT@/{folder}>\n{variable}\n{handler}\n{rule}\n</Directory>\n"
                );
                files.push(format!("{folder}/page.html"));
            }
        }
    }
    let builder = one_worker(&[("Sees", MODULE)], &conf);
    let with_file = |builder: Builder, file: &String| builder.file(file, "a page\n");
    files.iter().fold(builder, with_file)
}

/// Requests a page of each folder. Returns the differences from Apache.
fn differences(of_server: &'static str) -> String {
    let mut pair = Pair::start(|| site(of_server));
    let mut found = String::new();
    for (sets, _) in SETS {
        for (runs, _) in HANDLERS {
            for (reads, _) in RULES {
                let asks_user = reads.starts_with("user") || reads == "valid";
                if asks_user != (runs == "asked") {
                    continue;
                }
                let request = Request::get(&format!("/{sets}/{runs}/{reads}/page.html"));
                if let Err(difference) = pair.compare(&request) {
                    found += &format!("{difference}\n");
                }
            }
        }
    }
    found
}

#[test]
fn rules_see_variables_as_soon_as_their_directive_sets_them() {
    let found = differences("");
    assert!(found.is_empty(), "\n{found}");
}

/// A handler that runs before the place is known sets the server's variables only.
#[test]
fn rules_see_the_variables_of_the_server_after_its_handlers() {
    for of_server in [
        "PerlSetEnv X 1\nPerlTransHandler Sees::decline",
        "PerlSetEnv Y 1\nPerlTransHandler Sees::decline",
        "PerlSetEnv X 1\nPerlMapToStorageHandler Sees::decline",
        "SetEnv X 1",
    ] {
        let found = differences(of_server);
        assert!(found.is_empty(), "{of_server}\n{found}");
    }
}
