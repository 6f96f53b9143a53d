//! Reads `<MDomainSet>`, and checks that the authority's terms are accepted.

use super::Reader;
use crate::arguments::{Arguments, Shape};
use crate::directive::Target;
use crate::directives::managed;
use crate::line::Word;
use crate::problem::{At, Fault};

const SHAPE: Shape = Shape::Words {
    usage: "NAME...>",
    least: 1,
    most: usize::MAX,
};

impl Reader<'_> {
    /// Opens an `<MDomainSet NAME...>`.
    pub(super) fn managed_set(&mut self, name: &Word, words: &[Word]) -> Result<(), Fault> {
        self.is_outermost(name)?;
        if self.host.is_some() {
            let message = format!("<{}> cannot stand in <VirtualHost>", name.text);
            return Err(Fault::new(name.at, message));
        }
        self.note_managed(name.at);
        let arguments = Arguments {
            name: "<MDomainSet",
            shape: &SHAPE,
            words,
            end: name.at,
        };
        arguments.word(0)?;
        let draft = &mut self.main;
        let mut target = Target {
            site: &mut self.site,
            host: &mut draft.host,
            team: &mut draft.team,
            changes: &mut draft.base,
            in_section: false,
            in_htaccess: false,
            is_conditional: false,
            scope: None,
            in_host: false,
            pool: None,
            environment: &mut self.environment,
        };
        managed::open_set(&mut target, &arguments)
    }

    /// Notes the place of the first managed domain.
    pub(super) fn note_managed(&mut self, at: At) {
        let file = &self.file;
        let first = &mut self.unchecked.managed;
        first.get_or_insert_with(|| (file.clone(), at));
    }

    /// Reports that nobody has accepted the authority's terms of service.
    pub(super) fn check_agreement(&mut self) {
        let Some((file, at)) = self.unchecked.managed.take() else {
            return;
        };
        if !self.site.managed.authority.is_agreed {
            self.file = file;
            let message = "a managed domain needs the authority's terms of service; expected \
                           `MDCertificateAgreement accepted` outside of sections";
            self.refuse(Fault::new(at, message));
        }
    }
}
