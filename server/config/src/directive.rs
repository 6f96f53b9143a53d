//! One row of the directive table.
//!
//! The rows are in [`crate::DIRECTIVES`]. The parser, the defaults, `mehari directives`,
//! docs/reference/directives.md and the tuner read them, so each directive is described in one
//! place.

use crate::arguments::{Arguments, Shape};
use crate::environment::Environment;
use crate::problem::Fault;
use crate::team::TeamDraft;
use crate::{Change, Host, PerlPool, Site};

/// A group of related directives, which have one heading in the documentation.
pub struct Group {
    pub title: &'static str,
    pub rows: &'static [Directive],
}

/// Where a directive may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectivePlace {
    /// Outside of sections only.
    Server,
    /// Like `Server`. In a `<VirtualHost>` the directive is accepted, as in Apache, but has no
    /// effect there: the main server's line applies to all hosts.
    Shared,
    /// Outside of sections and in `<VirtualHost>`.
    Host,
    /// Like `Host`, but only in a host with its own workers: `PerlOptions +Clone` or `+Parent`.
    Team,
    /// Like `Host`, but only in a host with its own Perl: `PerlOptions +Parent`.
    Perl,
    /// In `<PerlPool>` only.
    Pool,
    /// In `<VirtualHost>` and in sections, but not outside of them.
    Inside,
    /// Outside and inside sections.
    Everywhere,
}

impl DirectivePlace {
    /// Returns the place in words, for documents and messages.
    pub fn describe(self) -> &'static str {
        match self {
            DirectivePlace::Server => "outside of sections",
            DirectivePlace::Shared => "outside of sections; in <VirtualHost> it does nothing",
            DirectivePlace::Host => "outside of sections and in <VirtualHost>",
            DirectivePlace::Team => {
                "outside of sections; in <VirtualHost> with PerlOptions +Clone or +Parent; in \
                 <PerlPool>"
            }
            DirectivePlace::Perl => {
                "outside of sections; in <VirtualHost> with PerlOptions +Parent; in <PerlPool>"
            }
            DirectivePlace::Pool => "in <PerlPool>",
            DirectivePlace::Inside => "in <VirtualHost> and in sections",
            DirectivePlace::Everywhere => "outside of and inside sections",
        }
    }
}

/// What a directive may change while it is applied: the site for settings of the server, and
/// `changes` for settings of a section.
pub(crate) struct Target<'a> {
    pub site: &'a mut Site,
    /// The main server, or the virtual host of the line.
    pub host: &'a mut Host,
    /// The host's Perl and worker settings.
    pub team: &'a mut TeamDraft,
    pub changes: &'a mut Vec<Change>,
    pub in_section: bool,
    pub in_htaccess: bool,
    /// Whether the line is in an `<If>`.
    pub is_conditional: bool,
    /// The scope of the line's section.
    pub scope: Option<crate::Scope>,
    /// Whether the line is in a `<VirtualHost>`.
    pub in_host: bool,
    /// The `<PerlPool>` of the line.
    pub pool: Option<&'a mut PerlPool>,
    pub environment: &'a mut Environment,
}

pub(crate) type Apply = fn(&mut Target, &Arguments) -> Result<(), Fault>;

/// One directive.
#[derive(Clone, Copy)]
pub struct Directive {
    pub name: &'static str,
    /// Other names of the directive, such as older names.
    pub aliases: &'static [&'static str],
    pub place: DirectivePlace,
    /// Whether the directive may also stand in `<PerlPool>`, whatever its place.
    pub in_pool: bool,
    pub shape: Shape,
    /// The default arguments. Empty: the directive has no default.
    pub default: &'static str,
    /// The default behaviour in words, if it cannot be expressed by an argument.
    pub otherwise: &'static str,
    pub unit: &'static str,
    pub about: &'static str,
    /// The `AllowOverride` classes that allow the directive in a .htaccess, as bits. 0: no class
    /// allows it.
    pub overrides: u8,
    /// The least and the greatest value that a tuner may try.
    pub tune: Option<(u64, u64)>,
    /// Why the directive has no effect here.
    pub ignored: Option<&'static str>,
    /// Valid arguments, for the documentation and the row's test.
    pub example: &'static str,
    /// Invalid arguments, for the row's test.
    pub wrong: &'static str,
    pub(crate) apply: Apply,
}

impl Directive {
    pub(crate) const fn server(
        name: &'static str,
        shape: Shape,
        about: &'static str,
        apply: Apply,
    ) -> Directive {
        Directive {
            name,
            aliases: &[],
            place: DirectivePlace::Server,
            in_pool: false,
            shape,
            default: "",
            otherwise: "",
            unit: "",
            about,
            overrides: 0,
            tune: None,
            ignored: None,
            example: shape.example(),
            wrong: shape.wrong(),
            apply,
        }
    }

    pub(crate) const fn host(
        name: &'static str,
        shape: Shape,
        about: &'static str,
        apply: Apply,
    ) -> Directive {
        let mut row = Directive::server(name, shape, about, apply);
        row.place = DirectivePlace::Host;
        row
    }

    pub(crate) const fn everywhere(
        name: &'static str,
        shape: Shape,
        about: &'static str,
        apply: Apply,
    ) -> Directive {
        let mut row = Directive::server(name, shape, about, apply);
        row.place = DirectivePlace::Everywhere;
        row
    }

    /// Returns a directive that is accepted anywhere with any arguments and has no effect.
    pub(crate) const fn ignored(name: &'static str, reason: &'static str) -> Directive {
        const ANY: Shape = Shape::Words {
            usage: "...",
            least: 0,
            most: usize::MAX,
        };
        let mut row = Directive::everywhere(name, ANY, "", |_, _| Ok(()));
        row.ignored = Some(reason);
        row.overrides = crate::overrides::ALL;
        row
    }

    /// Returns a directive that is accepted anywhere with these values only. They say what Mehari
    /// always does. [`Self::of_host`] and [`Self::htaccess`] restrict the places to Apache's.
    pub(crate) const fn only(
        name: &'static str,
        values: &'static [&'static str],
        why: &'static str,
    ) -> Directive {
        let shape = Shape::Only { values, why };
        let mut row = Directive::everywhere(name, shape, why, |_, _| Ok(()));
        row.overrides = crate::overrides::ALL;
        row
    }

    /// Makes the directive apply to the whole server. In a virtual host the directive is ignored.
    pub(crate) const fn shared(mut self) -> Directive {
        self.place = DirectivePlace::Shared;
        self
    }

    /// Allows the directive outside of sections and in `<VirtualHost>`, and in no .htaccess.
    pub(crate) const fn of_host(mut self) -> Directive {
        self.place = DirectivePlace::Host;
        self.overrides = 0;
        self
    }

    /// Also allows the directive in a `<VirtualHost>` with its own workers.
    pub(crate) const fn of_team(mut self) -> Directive {
        self.place = DirectivePlace::Team;
        self
    }

    /// Also allows the directive in a `<VirtualHost>` with its own Perl.
    pub(crate) const fn of_perl(mut self) -> Directive {
        self.place = DirectivePlace::Perl;
        self
    }

    /// Also allows the directive in a `<PerlPool>`.
    pub(crate) const fn of_pool(mut self) -> Directive {
        self.in_pool = true;
        self
    }

    /// Allows the directive in a `<PerlPool>` only.
    pub(crate) const fn pool_only(mut self) -> Directive {
        self.place = DirectivePlace::Pool;
        self
    }

    /// Allows the directive in `<VirtualHost>` and in sections only.
    pub(crate) const fn inside_only(mut self) -> Directive {
        self.place = DirectivePlace::Inside;
        self
    }

    /// Whether the directive may stand in a `<PerlPool>`.
    pub fn is_for_pools(&self) -> bool {
        let of_workers = [
            DirectivePlace::Team,
            DirectivePlace::Perl,
            DirectivePlace::Pool,
        ];
        self.in_pool || of_workers.contains(&self.place)
    }

    /// Returns in words where the directive may stand.
    pub fn describe_place(&self) -> String {
        let place = self.place.describe();
        if self.in_pool {
            format!("{place}; in <PerlPool>")
        } else {
            place.to_owned()
        }
    }

    /// Also allows the directive in a .htaccess if `AllowOverride` names one of these classes.
    pub(crate) const fn htaccess(mut self, classes: u8) -> Directive {
        self.overrides = classes;
        self
    }

    pub(crate) const fn aliases(mut self, names: &'static [&'static str]) -> Directive {
        self.aliases = names;
        self
    }

    pub(crate) const fn default(mut self, arguments: &'static str) -> Directive {
        self.default = arguments;
        self.example = arguments;
        self
    }

    pub(crate) const fn otherwise(mut self, what_holds: &'static str) -> Directive {
        self.otherwise = what_holds;
        self
    }

    pub(crate) const fn unit(mut self, unit: &'static str) -> Directive {
        self.unit = unit;
        self
    }

    pub(crate) const fn tune(mut self, least: u64, most: u64) -> Directive {
        self.tune = Some((least, most));
        self
    }

    pub(crate) const fn example(mut self, right: &'static str, wrong: &'static str) -> Directive {
        self.example = right;
        self.wrong = wrong;
        self
    }

    /// Returns the directive's name and arguments as the documentation prints them.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.shape.usage())
    }

    /// Returns the name and the aliases of the directive.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}
