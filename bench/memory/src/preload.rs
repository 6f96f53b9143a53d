//! Advises which modules to load before the fork: the modules that workers load themselves, with
//! the measured memory and time that each of these workers would save.

use crate::error::MemoryError;
use crate::heap::Heap;
use crate::modules::{ModuleLoad, ModuleTrial, TriedModule};
use mehari_profile::PerlProcess;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What loading a module before the fork would save.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreloadAdvice {
    /// The module's name, for `PerlModule`.
    pub module: String,
    /// The workers that have loaded the module after the fork.
    pub workers: usize,
    /// Memory that each of these workers would share with the others instead: means over the
    /// rounds.
    pub bytes: f64,
    /// Processor time that each of these workers would not spend, in milliseconds.
    pub ms: f64,
    /// Other modules of the workers that come with this one.
    pub brings: Vec<String>,
}

/// A module that saves less than both is not advised.
const LEAST_BYTES: f64 = 4096.0;
const LEAST_MS: f64 = 1.0;

/// The modules that workers have loaded and the process that forked them has not.
pub struct LatePreload {
    trial: ModuleTrial,
    /// The names of the modules, and how many workers have each.
    late: BTreeMap<String, usize>,
}

impl LatePreload {
    /// Compares the workers with the process that has forked them. `perl` loads the modules.
    ///
    /// # Errors
    /// A process cannot be read.
    pub fn of(original: u32, workers: &[u32], perl: PathBuf) -> Result<LatePreload, MemoryError> {
        let process = PerlProcess::open(original).map_err(|_| MemoryError::NotPerl(original))?;
        let there = Heap::of(&process)?;
        let given = there.loaded_files();
        let mut folders = there.search_folders();
        let mut late = BTreeMap::new();
        for &pid in workers {
            let worker = process.forked(pid).ok_or(MemoryError::NotForked(pid))?;
            let worker = Heap::of(&worker)?;
            for (file, path) in worker.loaded_files() {
                let Some(name) = name(&file).filter(|_| !given.contains_key(&file)) else {
                    continue;
                };
                *late.entry(name).or_insert(0) += 1;
                // The folder of a `use lib` may have left @INC since.
                let folder = path.strip_suffix(&file).map(|it| it.trim_end_matches('/'));
                let folder = folder.filter(|it| it.starts_with('/'));
                if let Some(folder) = folder.filter(|it| !folders.iter().any(|one| one == it)) {
                    folders.push(folder.to_owned());
                }
            }
        }
        let given = given.into_keys().filter(|file| name(file).is_some());
        let trial = ModuleTrial::new(perl).beside(given.collect(), folders);
        Ok(LatePreload { trial, late })
    }

    /// Measures each module in turns. A module that another one brings is not advised. The largest
    /// saving of time stands first. The second list: modules that cannot be loaded, and why.
    ///
    /// # Errors
    /// The perl cannot be run.
    pub fn measured(&self, rounds: u32) -> Result<(Vec<PreloadAdvice>, Vec<String>), MemoryError> {
        let mut failures = Vec::new();
        let mut loads: BTreeMap<&str, Vec<ModuleLoad>> = BTreeMap::new();
        let mut tried = Vec::new();
        for name in self.late.keys() {
            let module = TriedModule::parse(&format!("{name} ()"))?;
            match self.trial.once(&module) {
                Ok(load) => tried.push((&**name, module, load.brought)),
                Err(MemoryError::NotLoaded { reason, .. }) => {
                    failures.push(format!("{name}: {reason}"));
                }
                Err(error) => return Err(error),
            }
        }
        let alone = not_brought(&tried);
        tried.retain(|it| alone.contains(it.0));
        let nothing = TriedModule::nothing();
        for _ in 0..rounds {
            let empty = self.trial.once(&nothing)?;
            for (name, module, _) in &tried {
                let load = self.trial.once(module)?.beyond(&empty);
                loads.entry(*name).or_default().push(load);
            }
        }
        let each = tried
            .iter()
            .map(|it| self.advice(it.0, &loads[it.0], &it.2));
        let is_worth = |it: &PreloadAdvice| it.bytes >= LEAST_BYTES || it.ms >= LEAST_MS;
        let mut advice: Vec<PreloadAdvice> = each.filter(is_worth).collect();
        advice.sort_by(|one, other| other.ms.total_cmp(&one.ms));
        Ok((advice, failures))
    }

    fn advice(&self, module: &str, loads: &[ModuleLoad], brought: &[String]) -> PreloadAdvice {
        let mean = |of: fn(&ModuleLoad) -> f64| {
            loads.iter().map(of).sum::<f64>() / loads.len().max(1) as f64
        };
        let brings = brought.iter().filter_map(|file| name(file));
        PreloadAdvice {
            workers: self.late[module],
            bytes: mean(|it| (it.bytes - it.unshared).max(0.0)),
            ms: mean(|it| it.load_us) / 1e3,
            brings: brings
                .filter(|it| it != module && self.late.contains_key(it))
                .collect(),
            module: module.to_owned(),
        }
    }
}

/// Returns the modules that no other one brings. Of modules that bring each other, the first.
fn not_brought<'n>(tried: &[(&'n str, TriedModule, Vec<String>)]) -> BTreeSet<&'n str> {
    let brings = |one: usize, other: usize| {
        let mut names = tried[one].2.iter().filter_map(|file| name(file));
        names.any(|name| name == tried[other].0)
    };
    let all = 0..tried.len();
    let is_alone = |&other: &usize| {
        let mut rest = all
            .clone()
            .filter(|&one| one != other && brings(one, other));
        !rest.any(|one| one < other || !brings(other, one))
    };
    all.clone().filter(is_alone).map(|it| tried[it].0).collect()
}

/// Returns the module of a file of %INC. `None`: the file is no module.
fn name(file: &str) -> Option<String> {
    let name = file.strip_suffix(".pm")?.replace('/', "::");
    TriedModule::parse(&name).ok().map(|_| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_that_another_brings_is_left_out() {
        let tried = |name: &'static str, brought: &[&str]| {
            let module = TriedModule::parse(name).expect("a name");
            (
                name,
                module,
                brought.iter().map(|it| (*it).to_owned()).collect(),
            )
        };
        let all = [
            tried("A", &["A.pm", "B/C.pm"]),
            tried("B::C", &["B/C.pm"]),
            tried("D", &["D.pm", "E.pm"]),
            tried("E", &["E.pm", "D.pm"]),
        ];
        assert_eq!(not_brought(&all), BTreeSet::from(["A", "D"]));
        assert_eq!(name("auto/POSIX/x.al"), None);
        assert_eq!(name("/srv/x.pm"), None);
    }
}
