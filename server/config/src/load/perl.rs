//! Reads `<Perl>` sections. A section runs as soon as it is complete, and the directives that it
//! produces are read at its position.

use std::sync::Arc;

use super::Reader;
use crate::line::{self, Character, Lines};
use crate::preload::PreloadStage;
use crate::problem::{At, Fault};
use crate::{Errand, Ground, NoteKind, Preload, PreloadOrigin};

/// A `<Perl>` section whose lines are being collected.
pub(super) struct PerlBlock {
    pub at: At,
    pub code: String,
}

impl Reader<'_> {
    /// Takes one more line of the section.
    pub(super) fn collect_perl(&mut self, characters: &[Character]) {
        if let Some(block) = &mut self.perl_block {
            block.code.push_str(&line::text(characters));
            block.code.push('\n');
        }
    }

    /// Runs the complete section in the perl that reads the configuration. Every zygote runs the
    /// section again, in its order among the preloads.
    pub(super) fn run_perl(&mut self) {
        if let Some(block) = self.perl_block.take() {
            let name = format!("{}:{}", self.file.display(), block.at.line + 1);
            self.run_section(name, block.code, block.at);
        }
    }

    /// Runs code. `name` is FILE:LINE of its first line.
    pub(super) fn run_section(&mut self, name: String, code: String, at: At) {
        if let Err(fault) = self.load_pending(at) {
            return self.refuse(fault);
        }
        let errand = Errand::Section {
            name: &name,
            code: &code,
        };
        let made = self.run_errand(self.host_number(), errand, at);
        let preload = Preload::Section { name, code };
        let known = self.environment.preloads.len();
        self.place_environment();
        self.environment.preload(PreloadStage::Module, preload);
        self.place_preloads(known, at);
        self.perl_is_ahead();
        match made {
            Ok(lines) => self.read_perl_lines(&lines, at),
            Err(fault) => self.refuse(fault),
        }
    }

    /// Handles a preload that was just read. If perl already runs, the preload is loaded at once,
    /// as in mod_perl. Otherwise perl is started only for a file that produces directives.
    pub(super) fn handle_preload(&mut self, at: At, defines: bool) {
        let starts_perl = || {
            if defines {
                return self.interpreter.is_some();
            }
            let last = self.environment.preloads.last();
            last.is_some_and(|(_, last)| {
                let is_here = !self.is_loaded_in_pool(last.pool.as_deref(), last.host);
                is_here && makes_directives(&last.what)
            })
        };
        if self.environment.loaded_here > 0 || starts_perl() {
            if let Err(fault) = self.load_pending(at) {
                self.refuse(fault);
            }
        }
    }

    /// Records this line as the origin of all preloads after the first `known` preloads.
    pub(super) fn place_preloads(&mut self, known: usize, at: At) {
        for (_, preload) in self.environment.preloads.iter_mut().skip(known) {
            preload.place = PreloadOrigin {
                file: self.file.clone(),
                line: at.line,
                column: at.column,
            };
        }
    }

    /// Loads the preloads that are not loaded yet, and reads the directives that they produce.
    fn load_pending(&mut self, at: At) -> Result<(), Fault> {
        if self.environment.loaded_here == 0 {
            self.environment.preloads.sort_by_key(|(stage, _)| *stage);
        }
        while let Some((stage, preload)) =
            self.environment.preloads.get(self.environment.loaded_here)
        {
            let is_elsewhere = self.is_loaded_in_pool(preload.pool.as_deref(), preload.host);
            let (stage, host, preload) = (*stage, preload.host, preload.what.clone());
            self.environment.loaded_here += 1;
            if is_elsewhere {
                continue;
            }
            if stage >= PreloadStage::PostConfigRequire && !makes_directives(&preload) {
                continue;
            }
            let made = match &preload {
                Preload::Module(name) => self.run_errand(host, Errand::Module(name), at)?,
                Preload::Require(file) => {
                    self.run_errand(host, Errand::Require(&file.to_string_lossy()), at)?
                }
                _ => continue,
            };
            self.read_perl_lines(&made, at);
        }
        self.perl_is_ahead();
        Ok(())
    }

    /// Gives the preloads that perl has already loaded the first stage. Later preloads come behind
    /// them, in the order of their lines.
    fn perl_is_ahead(&mut self) {
        self.environment.loaded_here = self.environment.preloads.len();
        for (stage, _) in &mut self.environment.preloads {
            if *stage < PreloadStage::PostConfigRequire {
                *stage = PreloadStage::Loaded;
            }
        }
    }

    /// Runs the task in the Perl of this host.
    pub(super) fn run_errand(
        &mut self,
        host: u32,
        errand: Errand<'_>,
        at: At,
    ) -> Result<Vec<String>, Fault> {
        let (host, perl) = self.perl_of(host);
        let Some(interpreter) = &mut self.interpreter else {
            let message =
                "Perl cannot be run while this is read; expected a configuration without <Perl>";
            return Err(Fault::new(at, message));
        };
        let ground = Ground {
            host,
            perl: &perl,
            server_root: &self.site.server_root,
            defines: &self.environment.definitions.names,
        };
        let made = interpreter.run(&ground, errand);
        let made = made
            .map_err(|reason| Fault::new(at, format!("expected the Perl here to run: {reason}")))?;
        if made.is_unknown {
            self.environment.is_partly_unknown = true;
            let message = "its Perl is not run, so its directives are unknown".into();
            self.add_note("Perl", at, NoteKind::Remark, message);
        }
        let directives = made.directives.into_iter().map(Arc::new);
        self.environment.definitions.custom.extend(directives);
        Ok(made.lines)
    }

    /// Reads lines that Perl code produced. Problems are reported at the position `at`.
    pub(super) fn read_perl_lines(&mut self, lines: &[String], at: At) {
        let text = lines.join("\n");
        let outer = self.open.len();
        for mut characters in Lines::of(&text) {
            characters.iter_mut().for_each(|(_, place)| *place = at);
            let Some(content) = line::content(&characters) else {
                continue;
            };
            if let Err(fault) = self.read_line(content) {
                let message = format!("{} (in `{}`)", fault.message, line::text(content));
                self.refuse(Fault::new(at, message));
            }
        }
        while self.open.len() > outer {
            if let Some(open) = self.open.pop() {
                let message = format!(
                    "<{0}> is not closed; expected </{0}> in the same section",
                    open.name
                );
                self.refuse(Fault::new(at, message));
            }
        }
    }
}

fn makes_directives(preload: &Preload) -> bool {
    matches!(preload, Preload::Require(file) if mentions_add_config(file))
}

/// Tells whether a file produces directives. For other files perl need not be started.
fn mentions_add_config(file: &std::path::Path) -> bool {
    std::fs::read(file).is_ok_and(|text| text.windows(10).any(|word| word == b"add_config"))
}
