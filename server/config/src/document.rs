//! Prints the directive table as documentation: docs/reference/directives.md and `mehari directives
//! --json`.

use serde_json::{json, Value};

use crate::{Directive, DirectivePlace, Group, Shape, DIRECTIVES, FOREIGN, REFUSED, SECTIONS};

/// Describes every directive with all its properties. A property that does not apply is null.
pub fn directives_json() -> Value {
    let mut all = Vec::new();
    for group in DIRECTIVES {
        for row in group.rows {
            all.push(directive_json(group.title, row));
        }
    }
    json!({ "directives": all, "sections": SECTIONS })
}

fn directive_json(group: &str, row: &Directive) -> Value {
    let said = |text: &str| match text {
        "" => Value::Null,
        text => text.into(),
    };
    let (kind, least, most) = match row.shape {
        Shape::Flag => ("flag", None, None),
        Shape::Number { least, most } => ("number", Some(least), Some(most)),
        Shape::Time { least, most } => ("time", Some(least), Some(most)),
        Shape::Choice(_) => ("choice", None, None),
        Shape::Path => ("path", None, None),
        Shape::Only { .. } => ("value", None, None),
        Shape::Words { .. } => ("words", None, None),
    };
    json!({
        "name": row.name,
        "aliases": row.aliases,
        "group": group,
        "place": row.place,
        "htaccess": said(&crate::overrides::class_names(row.overrides)),
        "usage": row.usage(),
        "kind": kind,
        "least": least,
        "most": most,
        "default": said(row.default),
        "otherwise": said(row.otherwise),
        "unit": said(row.unit),
        "about": said(row.about),
        "tune": row.tune.map(|(least, most)| json!({ "least": least, "most": most })),
        "ignored": row.ignored,
        "example": said(row.example),
    })
}

/// Returns the page docs/reference/directives.md.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for kind in SECTIONS {
        page.push_str(&row(&[&code(kind.usage), kind.about]));
    }
    for group in DIRECTIVES {
        page.push_str(&format!("\n## {}\n", group.title));
        add_effective(&mut page, group);
        add_ignored(&mut page, group);
    }
    add_refused(&mut page);
    page
}

const HEAD: &str = "\
# Directives

This page lists every directive of the configuration with its meaning, its default and the sections
in which it may stand. [configuration.md](configuration.md) says how files are read. Upper and lower
case are equal in the names of directives. `mehari directives --markdown` writes this page from the
table of directives in the program.

Every directive may stand outside of all sections, unless its cell says \"only\". The column
\"Sections\" says where else it may stand:

* An empty cell: nowhere else.
* `<VirtualHost>`: also in a virtual host.
* \"yes\": also in a virtual host and in every section, such as `<Directory>` and `<Location>`.
* Other cells name the sections, and the conditions if there are any.

The column \".htaccess\" has the classes of `AllowOverride` that allow the directive in a .htaccess
file. \"any\" stands for all classes. If the cell is empty, the directive may not stand there.

Some words on this page are Mehari's own:

* The front is the process that owns all connections.
* A worker is a Perl process that serves one request at a time.
* The zygote is the process that loads the site's modules and then forks the workers. The directives
  whose names begin with Zygote concern this process.
* A rung is the way in which a script runs, such as `cgi`, `fork` or `registry`.
* A deferred call is Perl code that runs after the response (`$r->after_response`).

\"Trial values\" are values that are worth a trial when you look for the best setting.

## Sections

| Section | Meaning |
|---|---|
";

const REASONS: &str = "| Directive | Reason, or what to use instead |\n|---|---|\n";

/// Adds the directives of a group that have an effect, or that are accepted with one value.
fn add_effective(page: &mut String, group: &Group) {
    let effective = group.rows.iter().filter(|row| row.ignored.is_none());
    let effective: Vec<&Directive> = effective.collect();
    let is_only = |row: &&Directive| matches!(row.shape, Shape::Only { .. });
    if effective.is_empty() {
        return;
    } else if effective.iter().all(is_only) {
        page.push_str(
            "\nThese directives are accepted where Apache accepts them, but only with the value \
             shown. The value says what\nMehari always does. A line with another value is a problem, and the message \
             gives the reason.\n\n",
        );
        page.push_str(REASONS);
    } else {
        page.push_str(
            "\n| Directive | Meaning | Default | Sections | .htaccess |\n|---|---|---|---|---|\n",
        );
    }
    for directive in effective {
        page.push_str(&match directive.shape {
            Shape::Only { why, .. } => row(&[&code(&directive.usage()), why]),
            _ => described(directive),
        });
    }
}

/// Adds the directives of a group that have no effect. Each has a row, which the search of the
/// documents finds by the name.
fn add_ignored(page: &mut String, group: &Group) {
    let mut ignored = group
        .rows
        .iter()
        .filter_map(|row| Some((row, row.ignored?)))
        .peekable();
    if ignored.peek().is_none() {
        return;
    }
    page.push_str(
        "\nThese directives of Apache are accepted anywhere with any arguments. They have no \
         effect.\n\n",
    );
    page.push_str(REASONS);
    for (directive, reason) in ignored {
        let names: Vec<String> = directive.names().map(code).collect();
        page.push_str(&row(&[&names.join(", "), reason]));
    }
}

fn add_refused(page: &mut String) {
    page.push_str(
        "\n## Apache's, not done here\n\nMehari refuses these directives of Apache and its modules. A \
         line with one of them is a problem, and the\nmessage gives the reason. A name that ends \
         with `...` stands for all names that begin with it.\n\n\
         | Module | Directives | Reason, or what to use instead |\n|---|---|---|\n",
    );
    for refused in REFUSED {
        let names: Vec<String> = refused.directives.iter().map(|name| code(name)).collect();
        page.push_str(&row(&[
            &code(refused.module),
            &names.join(", "),
            refused.why,
        ]));
    }
    for foreign in FOREIGN {
        let names = code(&format!("{}...", foreign.prefix));
        page.push_str(&row(&[&code(foreign.module), &names, foreign.why]));
    }
}

fn described(directive: &Directive) -> String {
    let mut about = directive.about.to_string();
    if !directive.aliases.is_empty() {
        let names: Vec<String> = directive.aliases.iter().map(|name| code(name)).collect();
        about.push_str(&format!(" Also written {}.", names.join(", ")));
    }
    if let Some((least, most)) = directive.tune {
        about.push_str(&format!(" Trial values: {least} to {most}."));
    }
    let default = match (directive.default, directive.unit) {
        ("", _) => directive.otherwise.to_string(),
        (value, "") => code(value),
        (value, unit) => format!("{} {unit}", code(value)),
    };
    let sections = sections(directive);
    let classes = match directive.overrides {
        crate::overrides::ALL => "any".to_owned(),
        classes => crate::overrides::class_names(classes),
    };
    row(&[
        &code(&directive.usage()),
        &about,
        &default,
        &sections,
        &classes,
    ])
}

/// Returns the sections in which a directive may stand.
fn sections(directive: &Directive) -> String {
    let sections = match directive.place {
        DirectivePlace::Server | DirectivePlace::Shared => "",
        DirectivePlace::Host => "`<VirtualHost>`",
        DirectivePlace::Team => {
            "`<VirtualHost>` with `PerlOptions +Clone` or `+Parent`, `<PerlPool>`"
        }
        DirectivePlace::Perl => "`<VirtualHost>` with `PerlOptions +Parent`, `<PerlPool>`",
        DirectivePlace::Pool => "only `<PerlPool>`",
        DirectivePlace::Inside => "only `<VirtualHost>` and sections",
        DirectivePlace::Everywhere => "yes",
    };
    match (directive.in_pool, sections) {
        (false, sections) => sections.to_owned(),
        (true, "") => "`<PerlPool>`".to_owned(),
        (true, sections) => format!("{sections}, `<PerlPool>`"),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
