//! The directives of access control: `Require`, the older `Order`, `Allow` and `Deny`, and basic
//! authentication.

use super::row::*;
use crate::overrides::{AUTH, LIMIT};
use crate::{
    AuthWord, Authorizer, Expression, From, Merging, NameLookups, NameTest, Network, Order,
    Requirement,
};

const USAGE: &str = "[not] all granted|denied|ip ADDRESS...|host NAME...|forward-dns NAME...|local|env NAME...|method NAME...|user NAME...|group NAME...|valid-user|ssl|ssl-verify-client|expr EXPRESSION";

pub const GROUP: Group = Group {
    title: "Access",
    rows: &[
        Directive::everywhere(
            "Require",
            words(USAGE, 1, ANY),
            "The clients that may make requests. If a section has several Require lines, one that \
             is true is enough. `<RequireAll>` and its like change this. `host` matches the end \
             of the client's name, and this name must resolve to the client's address. \
             `forward-dns` matches the addresses of a name.",
            require,
        )
        .htaccess(AUTH)
        .otherwise("all granted")
        .example("all denied", "valid-usr"),
        Directive::everywhere(
            "Order",
            words("Deny,Allow|Allow,Deny", 1, 2),
            "The order in which Allow and Deny are evaluated. The last one decides.",
            order,
        )
        .htaccess(LIMIT)
        .otherwise("Deny,Allow")
        .example("Allow,Deny", "Allow"),
        Directive::everywhere(
            "Allow",
            words("from all|ADDRESS...|NAME...|env=[!]NAME", 2, ANY),
            "The clients to admit.",
            |target, arguments| {
                for from in sources(arguments)? {
                    target.changes.push(Change::Allow(None, from));
                }
                Ok(())
            },
        )
        .htaccess(LIMIT)
        .example("from 10.0.0.0/8 .example.org env=LET_ME_IN", "example.com"),
        Directive::everywhere(
            "Deny",
            words("from all|ADDRESS...|NAME...|env=[!]NAME", 2, ANY),
            "The clients to refuse.",
            |target, arguments| {
                for from in sources(arguments)? {
                    target.changes.push(Change::Deny(None, from));
                }
                Ok(())
            },
        )
        .htaccess(LIMIT)
        .example("from all", "from exam/ple"),
        Directive::everywhere(
            "Satisfy",
            Shape::Choice(&["All", "Any"]),
            "Whether a client must pass both Require and Allow (All), or one of them (Any).",
            |target, arguments| {
                let any = arguments.choice()? == "Any";
                target.changes.push(Change::Satisfy(None, any));
                Ok(())
            },
        )
        .htaccess(AUTH)
        .otherwise("All"),
        Directive::everywhere(
            "AllowMethods",
            words("reset|METHOD...", 1, ANY),
            "The methods that clients may use. Requests with other methods get 405. GET includes \
             HEAD. `reset` allows all methods again.",
            allow_methods,
        )
        .otherwise("reset")
        .example("GET POST", "GTE"),
        Directive::everywhere(
            "HostnameLookups",
            Shape::Choice(&["Off", "On", "Double"]),
            "Whether the server looks up every client's name, for REMOTE_HOST and for `%h` in log \
             formats. Double: the name must resolve to the client's address. `Require host` works \
             with every value.",
            |target, arguments| {
                let lookups = match arguments.choice()? {
                    "On" => NameLookups::On,
                    "Double" => NameLookups::Double,
                    _ => NameLookups::Off,
                };
                target.changes.push(Change::NameLookups(lookups));
                Ok(())
            },
        )
        .otherwise("Off"),
        Directive::everywhere(
            "AuthType",
            words("Basic|Digest|None|NAME", 1, 1),
            "How users authenticate. The server itself implements Basic and Digest. Other names \
             are for Perl handlers.",
            |target, arguments| {
                let kind = arguments.filled(0)?;
                let fits = |c: char| c.is_alphanumeric() || "-_:".contains(c);
                if kind.eq_ignore_ascii_case("form") || !kind.chars().all(fits) {
                    return Err(arguments.fault(
                        0,
                        format!(
                            "expected Basic, Digest, or a name for a Perl handler, not `{kind}`"
                        ),
                    ));
                }
                auth(target, AuthWord::Kind(kind.to_string()))
            },
        )
        .htaccess(AUTH)
        .otherwise("None")
        .example("Basic", "Form"),
        Directive::everywhere(
            "AuthName",
            words("REALM", 1, 1),
            "The realm that the browser shows when it asks for a password.",
            |target, arguments| {
                let realm = arguments.filled(0)?.to_string();
                auth(target, AuthWord::Realm(realm))
            },
        )
        .htaccess(AUTH)
        .example("\"Members only\"", "\"\""),
        Directive::everywhere(
            "AuthUserFile",
            Shape::Path,
            "The file of users and their passwords. For Basic, `htpasswd` writes it, with hashes \
             of bcrypt, apr1, SHA-1 or crypt. For Digest, `htdigest` writes it.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                auth(target, AuthWord::UserFile(file))
            },
        )
        .htaccess(AUTH),
        Directive::everywhere(
            "AuthGroupFile",
            Shape::Path,
            "The file of groups. Each line is `name: user user ...`.",
            |target, arguments| {
                let file = arguments.path(0, &target.site.server_root)?;
                auth(target, AuthWord::GroupFile(file))
            },
        )
        .htaccess(AUTH),
        Directive::everywhere(
            "AuthBasicProvider",
            words("file|NAME", 1, ANY),
            "What checks passwords. `file` means AuthUserFile. Other names are those of \
             PerlAddAuthnProvider.",
            super::providers::of_passwords,
        )
        .htaccess(AUTH)
        .otherwise("file")
        .example("file", "ldap"),
        Directive::everywhere(
            "AuthBasicFake",
            words("Off|USER [PASSWORD]", 1, 2),
            "The user and the password that a back end gets in the field Authorization. Both may \
             be expressions, such as `%{SSL_CLIENT_S_DN_Email}`. The default of PASSWORD is \
             `password`. If one of them is empty, the back end gets no such field.",
            super::headers::fake,
        )
        .htaccess(AUTH)
        .otherwise("Off")
        .example("demo secret", "%{FROB}"),
        Directive::everywhere(
            "AuthBasicAuthoritative",
            Shape::Flag,
            "Accepted, but without effect. About users who are not in the file, Perl handlers \
             decide with On and with Off.",
            |_, _| Ok(()),
        )
        .htaccess(AUTH)
        .otherwise("On"),
        Directive::everywhere(
            "AuthMerging",
            Shape::Choice(&["Off", "And", "Or"]),
            "How the Require lines of a section relate to those of outer sections. Off: the \
             section's lines replace the outer lines. And: a client must pass both. Or: a client \
             must pass one of the two.",
            |target, arguments| {
                let merging = match arguments.text(0)?.to_ascii_lowercase().as_str() {
                    "and" => Some(Merging::And),
                    "or" => Some(Merging::Or),
                    _ => None,
                };
                target.changes.push(Change::AuthMerging(merging));
                Ok(())
            },
        )
        .htaccess(AUTH)
        .otherwise("Off"),
        Directive::everywhere(
            "AuthzSendForbiddenOnFailure",
            Shape::Flag,
            "The answer to an authenticated user who lacks the right. On: 403. Off: 401, so the \
             browser asks for another user.",
            |target, arguments| auth(target, AuthWord::ForbidsOnFailure(arguments.flag()?)),
        )
        .htaccess(AUTH)
        .default("Off"),
    ],
};

pub(super) fn auth(target: &mut Target, word: AuthWord) -> Applied {
    target.changes.push(Change::Auth(word));
    Ok(())
}

fn require(target: &mut Target, arguments: &Arguments) -> Applied {
    let negated = arguments.text(0)?.eq_ignore_ascii_case("not");
    let requirement = requirement(target, arguments, usize::from(negated))?;
    target
        .changes
        .push(Change::Require(match (negated, &requirement) {
            (false, _) => requirement,
            (true, Requirement::All(granted)) => Requirement::All(!granted),
            (true, _) => Requirement::Not(Box::new(requirement)),
        }));
    Ok(())
}

/// Parses the requirement that begins at the word with index `at`.
fn requirement(target: &Target, arguments: &Arguments, at: usize) -> Result<Requirement, Fault> {
    const KINDS: &[&str] = &[
        "all",
        "ip",
        "host",
        "forward-dns",
        "local",
        "env",
        "method",
        "user",
        "group",
        "valid-user",
        "ssl",
        "ssl-verify-client",
        "expr",
    ];
    let over_tls = |text| Expression::parse(text).map_err(|why| arguments.fault(at, why));
    let kind = arguments.filled(at)?;
    if let Some(handler) = target.environment.authorizers.get(kind) {
        return Ok(Requirement::Perl(Authorizer {
            handler: handler.clone(),
            words: if arguments.words.len() > at + 1 {
                arguments.written(at + 1)
            } else {
                String::new()
            },
        }));
    }
    let rest = || -> Result<Vec<String>, Fault> {
        arguments.filled(at + 1)?;
        let words = arguments.words[at + 1..].iter();
        Ok(words.map(|word| word.text.clone()).collect())
    };
    Ok(match kind.to_ascii_lowercase().as_str() {
        "all" => match arguments.text(at + 1)?.to_ascii_lowercase().as_str() {
            "granted" => Requirement::All(true),
            "denied" => Requirement::All(false),
            _ => return Err(arguments.fault(at + 1, "expected `all granted` or `all denied`")),
        },
        "ip" => Requirement::Addresses(networks(arguments, at + 1)?),
        "host" => Requirement::Named(NameTest::Host(names(arguments, at + 1)?)),
        "forward-dns" => Requirement::Named(NameTest::ForwardDns(names(arguments, at + 1)?)),
        "local" => Requirement::Local,
        "env" => Requirement::Environment(rest()?),
        "method" => Requirement::Method(methods(arguments, at + 1)?),
        "user" => Requirement::User(rest()?),
        "group" => Requirement::Group(rest()?),
        "valid-user" => Requirement::ValidUser,
        "ssl" => Requirement::Expression(over_tls("%{HTTPS} == 'on'")?),
        "ssl-verify-client" => {
            Requirement::Expression(over_tls("%{SSL_CLIENT_VERIFY} == 'SUCCESS'")?)
        }
        "expr" => {
            arguments.filled(at + 1)?;
            let text = arguments.written(at + 1);
            let expression = Expression::parse(&text);
            Requirement::Expression(expression.map_err(|why| arguments.fault(at + 1, why))?)
        }
        _ => {
            let message = format!("expected {}, not `{kind}`", KINDS.join(", "));
            return Err(arguments
                .fault(at, message)
                .or_nearest(kind, KINDS.iter().copied()));
        }
    })
}

/// Returns a host name or the end of a host name. An impossible name is a fault, because no client
/// could match it.
/// The methods that Apache knows by name.
pub const METHODS: [&str; 27] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "VERSION-CONTROL",
    "CHECKOUT",
    "UNCHECKOUT",
    "CHECKIN",
    "UPDATE",
    "LABEL",
    "REPORT",
    "MKWORKSPACE",
    "MKACTIVITY",
    "BASELINE-CONTROL",
    "MERGE",
];

fn allow_methods(target: &mut Target, arguments: &Arguments) -> Applied {
    if arguments.words.len() == 1 && arguments.filled(0)?.eq_ignore_ascii_case("reset") {
        target.changes.push(Change::AllowMethod(None));
        return Ok(());
    }
    for method in methods(arguments, 0)? {
        target.changes.push(Change::AllowMethod(Some(method)));
    }
    Ok(())
}

/// Returns the methods from an argument on, HEAD as GET.
fn methods(arguments: &Arguments, from: usize) -> Result<Vec<String>, Fault> {
    arguments.filled(from)?;
    let method = |index: usize| {
        let name = arguments.filled(index)?;
        if METHODS.contains(&name) {
            return Ok(if name == "HEAD" { "GET" } else { name }.to_string());
        }
        let message = format!("expected a method such as GET or POST, not `{name}`");
        let fault = arguments.fault(index, message);
        Err(fault.or_nearest(name, METHODS.into_iter()))
    };
    (from..arguments.words.len()).map(method).collect()
}

fn name(arguments: &Arguments, index: usize) -> Result<String, Fault> {
    let name = arguments.filled(index)?;
    let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    // A name cannot end in a number, because addresses do.
    let last = name.trim_end_matches('.').rsplit('.').next();
    let is_number = last.is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if name.chars().all(fits) && !is_number {
        Ok(name.to_string())
    } else {
        let message = format!("expected an address or a name such as .example.org, not `{name}`");
        Err(arguments.fault(index, message))
    }
}

fn names(arguments: &Arguments, from: usize) -> Result<Vec<String>, Fault> {
    arguments.filled(from)?;
    (from..arguments.words.len())
        .map(|index| name(arguments, index))
        .collect()
}

fn networks(arguments: &Arguments, from: usize) -> Result<Vec<Network>, Fault> {
    arguments.filled(from)?;
    let mut networks = Vec::new();
    for index in from..arguments.words.len() {
        let text = arguments.filled(index)?;
        let network = Network::parse(text);
        networks.push(network.ok_or_else(|| {
            let message = format!(
                "expected an address such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32, not `{text}`"
            );
            arguments.fault(index, message)
        })?);
    }
    Ok(networks)
}

fn order(target: &mut Target, arguments: &Arguments) -> Applied {
    let words = arguments
        .words
        .iter()
        .map(|word| word.text.to_ascii_lowercase());
    let order = match words.collect::<String>().as_str() {
        "deny,allow" => Order::DenyAllow,
        "allow,deny" | "mutual-failure" => Order::AllowDeny,
        other => {
            return Err(arguments.fault(
                0,
                format!("expected Deny,Allow or Allow,Deny, not `{other}`"),
            ))
        }
    };
    target.changes.push(Change::Order(None, order));
    Ok(())
}

fn sources(arguments: &Arguments) -> Result<Vec<From>, Fault> {
    if !arguments.text(0)?.eq_ignore_ascii_case("from") {
        return Err(arguments.fault(0, "expected `from` and the clients"));
    }
    let mut all = Vec::new();
    for index in 1..arguments.words.len() {
        let text = arguments.filled(index)?;
        all.push(if text.eq_ignore_ascii_case("all") {
            From::All
        } else if let Some(name) = text.strip_prefix("env=") {
            From::Environment {
                name: name.trim_start_matches('!').to_string(),
                set: !name.starts_with('!'),
            }
        } else if let Some(network) = Network::parse(text) {
            From::Addresses(vec![network])
        } else {
            From::Named(NameTest::Host(vec![name(arguments, index)?]))
        });
    }
    Ok(all)
}
