//! The directives of Perl itself: the interpreter, its switches, its options, and what is loaded
//! before the workers are forked.

use super::handlers::is_package;
use super::row::*;
use crate::environment::required_file;
use crate::preload::PreloadStage;
use crate::team::Own;
use crate::{perl_option, ForkLint, Phase, Preload, Rung, WarmupUrl};

pub const GROUP: Group = Group {
    title: "Perl",
    rows: &[
        Directive::server(
            "PerlInterpreter",
            words("PROGRAM", 1, 1),
            "The perl that runs the site's code: a name on PATH, or a file.",
            interpreter,
        )
        .default("perl")
        .example("/usr/bin/perl", "\"\"")
        .of_pool(),
        Directive::server(
            "PerlSwitches",
            words("SWITCH...", 1, ANY),
            "Command line switches for perl: -w, -T, -I, -M.",
            switches,
        )
        .example("-w -I/srv/lib", "w")
        .of_perl(),
        Directive::server(
            "PerlTaintCheck",
            Shape::Flag,
            "On means `PerlSwitches -T`.",
            |target, arguments| add_switch(target, arguments, "-T"),
        )
        .otherwise("Off")
        .of_perl(),
        Directive::server(
            "PerlWarn",
            Shape::Flag,
            "On means `PerlSwitches -w`.",
            |target, arguments| add_switch(target, arguments, "-w"),
        )
        .otherwise("Off")
        .of_perl(),
        Directive::server(
            "PerlForkLint",
            Shape::Choice(&["Warn", "Refuse", "Off"]),
            "What happens if Perl has sockets, database handles, event loops, threads, timers or \
             child processes just before the first worker is forked. Warn: a line in the log. \
             Refuse: the server does not start.",
            |target, arguments| {
                target.team.perl.fork_lint = Some(match arguments.choice()? {
                    "Refuse" => ForkLint::Refuse,
                    "Off" => ForkLint::Off,
                    _ => ForkLint::Warn,
                });
                Ok(())
            },
        )
        .default("Warn")
        .of_perl(),
        Directive::server(
            "MergeWorkerMemory",
            Shape::Flag,
            "Whether the kernel merges memory pages with equal content among the workers (KSM, \
             Linux 6.4 or later). The kernel's merging must be switched on: `echo 1 > \
             /sys/kernel/mm/ksm/run`.",
            |target, arguments| {
                target.team.perl.merges_memory = Some(arguments.flag()?);
                Ok(())
            },
        )
        .default("Off")
        .of_perl(),
        Directive::server(
            "ZygoteWarmup",
            words("URL...", 1, ANY),
            "Requests that the server runs itself before it forks the first worker. Each is a URL \
             path, or a URL with the name of a host. All workers share what these requests load, \
             compile and cache. No client's request sees data of these requests.",
            warm_up,
        )
        .example("/ /search?q=a http://shop.example/", "search")
        .of_perl(),
        Directive::server(
            "ZygoteWarmupRounds",
            Shape::Number {
                least: 1,
                most: 1000,
            },
            "How many times the requests of ZygoteWarmup run. The log compares the first and the \
             last round.",
            |target, arguments| {
                target.team.perl.warmup.rounds = Some(arguments.number_u32()?);
                Ok(())
            },
        )
        .default("2")
        .of_perl(),
        Directive::server(
            "ZygoteWarmupTimeout",
            Shape::Time {
                least: 1,
                most: 3600,
            },
            "How long all requests of ZygoteWarmup may take together.",
            |target, arguments| {
                target.team.perl.warmup.timeout = Some(arguments.time()?);
                Ok(())
            },
        )
        .default("60")
        .unit("seconds")
        .of_perl(),
        Directive::server(
            "ZygoteWarmupFailure",
            Shape::Choice(&["Warn", "Refuse"]),
            "What happens if a request of ZygoteWarmup gets a status from 500 on, ends the \
             process or takes too long. Warn: a line in the log. Refuse: the server does not \
             start. With Warn, after an ended process or a timeout, the workers start without a \
             warm-up.",
            |target, arguments| {
                target.team.perl.warmup.refuses = Some(arguments.choice()? == "Refuse");
                Ok(())
            },
        )
        .default("Warn")
        .of_perl(),
        Directive::host(
            "PerlModule",
            words("MODULE...", 1, ANY),
            "Modules that are loaded before the workers are forked.",
            modules,
        )
        .example("CGI DBI", "not-a-module")
        .of_pool(),
        Directive::host(
            "PerlLoadModule",
            words("MODULE...", 1, ANY),
            "Like PerlModule, but the module is loaded at once. It may define directives for the \
             lines that follow (Apache2::Module::add).",
            modules,
        )
        .example("CGI", "not-a-module"),
        Directive::everywhere(
            "Perl",
            words("CODE", 1, ANY),
            "One line of Perl, as in a `<Perl>` section.",
            |_, _| Ok(()),
        )
        .example("our $ServerAdmin = 'me@example.org';", "}"),
        Directive::host(
            "PerlRequire",
            words("FILE...", 1, ANY),
            "Perl files that run before the workers are forked. They lie below ServerRoot or in \
             @INC.",
            |target, arguments| require(target, arguments, PreloadStage::Require),
        )
        .example("startup.pl", "\"\"")
        .of_pool(),
        Directive::host(
            "PerlConfigRequire",
            words("FILE...", 1, ANY),
            "Like PerlRequire. These files run before those of PerlRequire and the modules of \
             PerlModule.",
            |target, arguments| require(target, arguments, PreloadStage::ConfigRequire),
        )
        .example("startup.pl", "\"\"")
        .of_pool(),
        Directive::host(
            "PerlPostConfigRequire",
            words("FILE...", 1, ANY),
            "Like PerlRequire. These files run after the modules are loaded.",
            |target, arguments| require(target, arguments, PreloadStage::PostConfigRequire),
        )
        .example("startup.pl", "\"\"")
        .of_pool(),
        Directive::host(
            "PerlPreloadScript",
            words("registry|perlrun|fork|rewind|auto FILE...", 2, ANY),
            "Scripts that are compiled before the workers are forked. The first argument is the \
             rung on which they will run.",
            scripts,
        )
        .example("registry /srv/www/hello.pl", "cgi /srv/www/hello.pl")
        .of_pool(),
        Directive::everywhere(
            "PerlOptions",
            words("[+|-]OPTION...", 1, ANY),
            "ParseHeaders: what a script prints begins with header fields. SetupEnv: %ENV is \
             filled. GlobalRequest: `Apache2::RequestUtil->request` returns the request. \
             MergeHandlers: a section's handlers run after the handlers of outer sections and do \
             not replace them. Outside of sections, -Enable switches Perl off, and the name of a \
             phase switches this phase off, such as -Authen. In a `<VirtualHost>`, +Clone gives \
             the host its own workers. +Parent gives it its own workers and its own Perl, which \
             loads only what this host names. +InheritSwitches gives that Perl the main server's \
             PerlSwitches.",
            options,
        )
        .htaccess(crate::overrides::ALL)
        .otherwise("None")
        .example("+ParseHeaders +SetupEnv", "+ParseHeader"),
        Directive::everywhere(
            "PerlSendHeader",
            Shape::Flag,
            "On means `PerlOptions +ParseHeaders`.",
            |target, arguments| switch(target, arguments, perl_option::PARSE_HEADERS),
        )
        .htaccess(crate::overrides::ALL)
        .otherwise("Off"),
        Directive::everywhere(
            "PerlSetupEnv",
            Shape::Flag,
            "Off means `PerlOptions -SetupEnv`.",
            |target, arguments| switch(target, arguments, perl_option::SETUP_ENV),
        )
        .htaccess(crate::overrides::ALL)
        .otherwise("On for perl-script, Off for modperl"),
    ],
};

fn interpreter(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.filled(0)?;
    target.team.perl.interpreter = if text.contains('/') {
        target.site.server_root.join(text)
    } else {
        text.into()
    };
    Ok(())
}

fn switches(target: &mut Target, arguments: &Arguments) -> Applied {
    let mut takes_next = false;
    for (index, word) in arguments.words.iter().enumerate() {
        let text = word.text.as_str();
        if !takes_next && text == "+inherit" {
            server_option(target, arguments, index, "InheritSwitches", true)?;
            continue;
        }
        let flags = text.strip_prefix('-').unwrap_or("");
        if !takes_next && !flags.is_empty() && flags.chars().all(|flag| "wWXTt".contains(flag)) {
            let flags = flags.chars().map(|flag| format!("-{flag}"));
            target.team.perl.switches.extend(flags);
            continue;
        }
        let known = ["-I", "-M", "-m", "-C"]
            .iter()
            .any(|start| text.starts_with(start));
        if !known && !takes_next {
            let message = format!(
                "expected -w, -W, -X, -T, -t, -Ifolder, -Mmodule, -mmodule or -C, not `{text}`"
            );
            return Err(arguments.fault(index, message));
        }
        takes_next = ["-I", "-M", "-m"].contains(&text);
        target.team.perl.switches.push(text.to_string());
    }
    if takes_next {
        Err(Fault::new(
            arguments.end,
            "expected a value behind the last switch",
        ))
    } else {
        Ok(())
    }
}

fn add_switch(target: &mut Target, arguments: &Arguments, switch: &str) -> Applied {
    let switches = &mut target.team.perl.switches;
    if arguments.flag()? && !switches.iter().any(|known| known == switch) {
        switches.push(switch.to_string());
    }
    Ok(())
}

fn modules(target: &mut Target, arguments: &Arguments) -> Applied {
    for index in 0..arguments.words.len() {
        let name = arguments.filled(index)?;
        if !is_package(name) {
            let message = format!(
                "expected a module such as My::Module, not `{name}`; PerlRequire takes files"
            );
            return Err(arguments.fault(index, message));
        }
        let preload = Preload::Module(name.to_string());
        target.environment.preload(PreloadStage::Module, preload);
    }
    Ok(())
}

fn warm_up(target: &mut Target, arguments: &Arguments) -> Applied {
    for index in 0..arguments.words.len() {
        let text = arguments.filled(index)?;
        let url = WarmupUrl::parse(text).ok_or_else(|| {
            let expected = "expected a URL path such as /search?q=a, or http://HOST/PATH, not";
            arguments.fault(index, format!("{expected} `{text}`"))
        })?;
        target.team.perl.warmup.urls.push(url);
    }
    Ok(())
}

fn require(target: &mut Target, arguments: &Arguments, stage: PreloadStage) -> Applied {
    for index in 0..arguments.words.len() {
        let file = required_file(&target.site.server_root, arguments.filled(index)?);
        target.environment.preload(stage, Preload::Require(file));
    }
    Ok(())
}

fn scripts(target: &mut Target, arguments: &Arguments) -> Applied {
    let text = arguments.text(0)?;
    let rung = Rung::named(text).filter(|rung| *rung != Rung::Cgi);
    let Some(rung) = rung else {
        let message = format!("expected registry, perlrun, fork, rewind or auto, not `{text}`");
        let names = Rung::ALL.into_iter().map(Rung::name);
        return Err(arguments
            .fault(0, message)
            .or_nearest(text, names.filter(|name| *name != "cgi")));
    };
    for index in 1..arguments.words.len() {
        let file = arguments.path(index, &target.site.server_root)?;
        let preload = Preload::Script(rung, file);
        target.environment.preload(PreloadStage::Program, preload);
    }
    Ok(())
}

/// Applies a directive of mod_perl 1 that switches one option.
fn switch(target: &mut Target, arguments: &Arguments, bit: u8) -> Applied {
    let wanted = arguments.flag()?;
    if bit == perl_option::PARSE_HEADERS {
        target.changes.push(Change::ParseHeaders(wanted));
    }
    target.changes.push(if wanted {
        Change::PerlOptions { on: bit, off: 0 }
    } else {
        Change::PerlOptions { on: 0, off: bit }
    });
    Ok(())
}

/// Applies `PerlOptions`: the options of a location, and options of the server.
fn options(target: &mut Target, arguments: &Arguments) -> Applied {
    let signed = |text: &str| text.starts_with(['+', '-']);
    let replaces = arguments.words.iter().any(|word| !signed(&word.text));
    let (mut on, mut off) = (0, if replaces { perl_option::ALL } else { 0 });
    for (index, word) in arguments.words.iter().enumerate() {
        let name = word.text.strip_prefix(['+', '-']).unwrap_or(&word.text);
        let wanted = !word.text.starts_with('-');
        if let Some(bit) = perl_option::named(name) {
            if wanted {
                (on, off) = (on | bit, off & !bit)
            } else {
                (on, off) = (on & !bit, off | bit)
            }
            continue;
        }
        server_option(target, arguments, index, name, wanted)?;
    }
    if (on | off) & perl_option::PARSE_HEADERS != 0 {
        let parses = on & perl_option::PARSE_HEADERS != 0;
        target.changes.push(Change::ParseHeaders(parses));
    }
    target.changes.push(Change::PerlOptions { on, off });
    Ok(())
}

/// Applies an option of the server. `-Enable` and `-Authen` disable Perl in phases. `+Clone` and
/// `+Parent` give a virtual host its own workers or Perl. The other options have no effect.
fn server_option(
    target: &mut Target,
    arguments: &Arguments,
    index: usize,
    name: &str,
    wanted: bool,
) -> Applied {
    const SERVER: &[&str] = &[
        "None",
        "Enable",
        "Autoload",
        "Clone",
        "Parent",
        "InheritSwitches",
    ];
    const LOCATION: &[&str] = &["ParseHeaders", "SetupEnv", "GlobalRequest", "MergeHandlers"];
    let change = |phase| {
        if wanted {
            Change::PerlWith(phase)
        } else {
            Change::PerlWithout(phase)
        }
    };
    let phase = Phase::ALL
        .into_iter()
        .find(|phase| phase.option().eq_ignore_ascii_case(name));
    let known = SERVER.iter().any(|known| known.eq_ignore_ascii_case(name));
    if phase.is_none() && !known {
        let names = || LOCATION.iter().chain(SERVER).copied();
        let phases = || Phase::ALL.into_iter().map(Phase::option);
        let all: Vec<&str> = names().chain(["a phase such as Authen"]).collect();
        let message = format!("there is no option `{name}`; expected {}", all.join(", "));
        let fault = arguments.fault(index, message);
        return Err(fault.or_nearest(name, names().chain(phases())));
    }
    if target.in_section && !name.eq_ignore_ascii_case("None") {
        let message =
            format!("`{name}` is an option of the server; expected it outside of sections");
        return Err(arguments.fault(index, message));
    }
    if let Some(phase) = phase {
        target.changes.push(change(phase));
        return Ok(());
    }
    match name.to_ascii_lowercase().as_str() {
        "parent" => set_own(target, Own::Perl, wanted),
        "clone" => set_own(target, Own::Workers, wanted),
        "inheritswitches" => target.team.inherits_switches = wanted,
        "enable" => target.changes.extend(Phase::ALL.into_iter().map(change)),
        _ => {}
    }
    Ok(())
}

/// `+Parent` implies `+Clone`, so `-Clone` removes both.
fn set_own(target: &mut Target, what: Own, wanted: bool) {
    let own = &mut target.team.own;
    match (target.in_host, wanted) {
        (true, true) => *own = what.max(*own),
        (true, false) if *own >= what => *own = Own::Nothing,
        (true, false) => {}
        (false, _) => target
            .environment
            .remark("the main server always has workers and a Perl of its own"),
    }
}
