//! Names the modules that requests or workers load, although the zygote could load them once.

use crate::cli::doctor::advice::{figure, Advice, CostFigure, Verdict};
use crate::cli::doctor::examination::{pid_of, Examination, ExaminedServer};
use crate::cli::doctor::gain;
use crate::cli::doctor::measuring::{bytes, MeasuredMean};
use mehari_memory::{ModuleLoad, ModuleTrial, TriedModule};
use mehari_record::statistics::mean_and_deviation;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// A module that costs less than both is not worth a line.
const LEAST_US: f64 = 300.0;
const LEAST_BYTES: f64 = 64.0 * 1024.0;
/// The most modules that are measured.
const MOST: usize = 12;

/// Who loads a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Loader {
    /// Each request of this script.
    Request(String),
    /// Each of this number of workers.
    Worker(usize),
    /// These scripts of a configuration that is not served.
    Scripts(Vec<String>),
}

pub fn check(examination: &Examination) -> Verdict {
    let loaded = match &examination.server {
        Some(server) => loaded_by_server(examination, server),
        None => Ok(used_by_scripts(examination)),
    };
    let Loaded {
        by: mut loaded,
        folders,
    } = match loaded {
        Ok(loaded) => loaded,
        Err(why) => return Verdict::Unmeasured(why),
    };
    if loaded.is_empty() {
        return Verdict::Fine("no request and no worker loads a module".to_owned());
    }
    let trial = trial(examination).with_folders(folders.into_iter().collect());
    drop_what_others_load(&trial, &mut loaded);
    let count = loaded.len();
    let mut advice = Vec::new();
    let mut failures = Vec::new();
    for (module, loader) in loaded.into_iter().take(MOST) {
        match measured(&trial, &module, examination.rounds) {
            Ok(cost) if cost.load.mean >= LEAST_US || cost.bytes >= LEAST_BYTES => {
                advice.push((cost.load.mean, advise(examination, &module, &loader, &cost)));
            }
            Ok(_) => {}
            Err(why) => failures.push(why),
        }
    }
    advice.sort_by(|one, other| other.0.total_cmp(&one.0));
    let advice: Vec<Advice> = advice.into_iter().map(|(_, advice)| advice).collect();
    match (advice.is_empty(), failures.is_empty()) {
        (false, _) => Verdict::Advice(advice),
        (true, false) => Verdict::Unmeasured(failures.join("; ")),
        (true, true) => Verdict::Fine(format!(
            "{count} modules are loaded after the fork, none of {:.1} ms or {}",
            LEAST_US / 1e3,
            bytes(LEAST_BYTES)
        )),
    }
}

/// The modules by their packages, and the folders in which the server has found them.
#[derive(Default)]
struct Loaded {
    by: BTreeMap<String, Loader>,
    folders: BTreeSet<PathBuf>,
}

impl Loaded {
    fn add(&mut self, module: &str, file: Option<&str>, loader: Loader) {
        if !is_of_site(module) {
            return;
        }
        let name = format!("/{}.pm", module.replace("::", "/"));
        let folder = file.and_then(|file| file.strip_suffix(&name));
        self.folders.extend(folder.map(PathBuf::from));
        self.by.insert(module.to_owned(), loader);
    }
}

fn trial(examination: &Examination) -> ModuleTrial {
    let configuration = &examination.configuration;
    ModuleTrial::new(configuration.perl().to_owned()).with_folders(configuration.perl_folders())
}

/// Returns the modules that the server has seen requests or workers load.
fn loaded_by_server(examination: &Examination, server: &ExaminedServer) -> Result<Loaded, String> {
    let mut loaded = Loaded::default();
    let zygote = modules_of(server, "zygote")?;
    let served = server
        .workers()
        .filter(|worker| worker["served"].as_u64() > Some(0));
    let served = served.count().max(1);
    let most = server
        .workers()
        .max_by_key(|worker| worker["served"].as_u64());
    if let Some(pid) = most.and_then(pid_of) {
        for (module, file) in modules_of(server, &pid.to_string())? {
            if !zygote.contains_key(&module) {
                loaded.add(&module, Some(&file), Loader::Worker(served));
            }
        }
    }
    for learned in server.pool_list("learned") {
        let (script, name) = (learned["script"].as_str(), learned["name"].as_str());
        if let (Some(script), Some(name)) = (script, name) {
            let loader = Loader::Request(script.to_owned());
            loaded.add(&package(name), learned["file"].as_str(), loader);
        }
    }
    for page in &examination.pages {
        for part in page.parts("load") {
            let name = package(&part.name);
            if !zygote.contains_key(&name) {
                loaded.add(&name, None, Loader::Request(page.url.clone()));
            }
        }
    }
    Ok(loaded)
}

/// Returns the modules of a process with their files.
fn modules_of(server: &ExaminedServer, whom: &str) -> Result<BTreeMap<String, String>, String> {
    let answer = server.watched.inspect(whom, "modules", "")?;
    let rows = answer["rows"].as_array().into_iter().flatten();
    let row = |row: &serde_json::Value| {
        let (module, file) = (row[0].as_str()?, row[2].as_str()?);
        Some((module.to_owned(), file.to_owned()))
    };
    Ok(rows.filter_map(row).collect())
}

/// Returns the package of a name in `%INC`.
fn package(name: &str) -> String {
    name.trim_end_matches(".pm").replace('/', "::")
}

/// Whether a module is worth a `PerlModule`: it is no pragma and no part of the server.
fn is_of_site(module: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|mark| mark.is_ascii_alphanumeric() || mark == '_')
    };
    let own = [
        "Mehari::",
        "ModPerl::",
        "Apache2::",
        "APR::",
        "B::",
        "Apache::Registry",
    ];
    module.split("::").all(is_name)
        && module.starts_with(|first: char| first.is_ascii_uppercase())
        && module != "B"
        && !own.iter().any(|prefix| module.starts_with(prefix))
}

/// Reads which modules the scripts of a configuration name and the configuration does not load.
fn used_by_scripts(examination: &Examination) -> Loaded {
    let configuration = &examination.configuration;
    let trial = trial(examination);
    let mut preloaded = HashSet::new();
    for line in configuration.all("PerlModule") {
        for module in line.text.split_whitespace().skip(1) {
            preloaded.extend(trial.loads(module).unwrap_or_default());
        }
    }
    let mut used: BTreeMap<String, Loader> = BTreeMap::new();
    for file in super::rungs::scripts(examination) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for module in named_modules(&text) {
            if preloaded.contains(&module) || !is_of_site(&module) {
                continue;
            }
            let entry = used
                .entry(module)
                .or_insert_with(|| Loader::Scripts(Vec::new()));
            if let Loader::Scripts(scripts) = entry {
                scripts.push(file.display().to_string());
            }
        }
    }
    Loaded {
        by: used,
        folders: BTreeSet::new(),
    }
}

/// Returns what stands behind `use` and `require` at the begin of lines.
fn named_modules(text: &str) -> BTreeSet<String> {
    let code = text.split("\n__END__").next().unwrap_or_default();
    let module = |line: &str| {
        let line = line.trim_start();
        let rest = line
            .strip_prefix("use ")
            .or_else(|| line.strip_prefix("require "))?;
        let end = rest.find(|mark: char| !(mark.is_ascii_alphanumeric() || "_:".contains(mark)));
        let name = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
        (!name.is_empty()).then(|| name.to_owned())
    };
    code.lines().filter_map(module).collect()
}

/// Leaves out each module that another module of the list loads.
fn drop_what_others_load(trial: &ModuleTrial, loaded: &mut BTreeMap<String, Loader>) {
    let mut covered: HashSet<String> = HashSet::new();
    let mut reach: Vec<(String, HashSet<String>)> = Vec::new();
    for module in loaded.keys() {
        let loads = trial.loads(module).unwrap_or_default();
        reach.push((module.clone(), loads));
    }
    // The module that loads most comes first. Of two modules that load each other the first stays.
    reach.sort_by_key(|(_, loads)| std::cmp::Reverse(loads.len()));
    let mut kept = HashSet::new();
    for (module, loads) in reach {
        if !covered.contains(&module) {
            covered.extend(loads);
            kept.insert(module);
        }
    }
    loaded.retain(|module, _| kept.contains(module));
}

struct LoadCost {
    load: MeasuredMean,
    bytes: f64,
    stays_shared: Option<f64>,
}

fn measured(trial: &ModuleTrial, module: &str, rounds: usize) -> Result<LoadCost, String> {
    let failed = |error: mehari_memory::MemoryError| error.to_string();
    let tried = TriedModule::parse(&format!("{module} ()")).map_err(failed)?;
    let nothing = TriedModule::nothing();
    trial.once(&tried).map_err(failed)?; // reads the files from the disk
    let mut loads: Vec<ModuleLoad> = Vec::new();
    for _ in 0..rounds {
        let empty = trial.once(&nothing).map_err(failed)?;
        loads.push(trial.once(&tried).map_err(failed)?.beyond(&empty));
    }
    let each = |of: fn(&ModuleLoad) -> f64| loads.iter().map(of).collect::<Vec<f64>>();
    Ok(LoadCost {
        load: MeasuredMean::of(&each(|it| it.load_us)),
        bytes: mean_and_deviation(&each(|it| it.bytes)).0,
        stays_shared: loads.last().and_then(ModuleLoad::stays_shared),
    })
}

fn advise(examination: &Examination, module: &str, loader: &Loader, cost: &LoadCost) -> Advice {
    let (who, url) = match loader {
        Loader::Request(script) => (
            format!("each request of {script}"),
            if script.contains("://") {
                script.clone()
            } else {
                url_of(examination, Path::new(script))
            },
        ),
        Loader::Worker(_) => ("each worker".to_owned(), examination.example()),
        Loader::Scripts(scripts) => (
            scripts.join(", "),
            scripts.first().map_or_else(
                || examination.example(),
                |script| url_of(examination, Path::new(script)),
            ),
        ),
    };
    let line = format!("PerlModule {module}");
    let shared = match cost.stays_shared {
        Some(part) => format!(
            "; {:.0} % of the memory stay shared if the zygote loads it",
            100.0 * part
        ),
        None => String::new(),
    };
    let times = match loader {
        Loader::Worker(workers) => format!(
            ", {} in {workers} workers",
            bytes(cost.bytes * *workers as f64)
        ),
        _ => String::new(),
    };
    Advice {
        what: format!("{who} loads {module} after the fork"),
        measured: format!(
            "{:.1} ± {:.1} ms and {} for each load ({} loads){times}{shared}",
            cost.load.mean / 1e3,
            cost.load.interval / 1e3,
            bytes(cost.bytes),
            examination.rounds,
        ),
        figures: vec![
            CostFigure {
                interval: Some(cost.load.interval / 1e3),
                ..figure("load", cost.load.mean / 1e3, "ms a load")
            },
            figure("memory", cost.bytes, "bytes a load"),
        ],
        change: examination
            .configuration
            .add(&["PerlModule", "PerlRequire", "PerlSwitches"], &line),
        gain: gain::of_lines(examination, &[&line], &url),
    }
}

/// Returns the URL path of a script's file.
fn url_of(examination: &Examination, file: &Path) -> String {
    let places = mehari_front::places_of(&examination.configuration.site, file);
    let first = places.into_iter().next().map(|place| place.url_path);
    first.unwrap_or_else(|| examination.example())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_a_script_are_those_of_its_statements() {
        let text = "use strict;\nuse CGI qw(:all);\n  require Data::Dumper;\nuse 5.010;\n\
                    my $x = 'use Not::This';\nrequire 'file.pl';\n__END__\nuse Never;\n";
        let named: Vec<String> = named_modules(text)
            .into_iter()
            .filter(|it| is_of_site(it))
            .collect();
        assert_eq!(named, ["CGI", "Data::Dumper"]);
        assert_eq!(package("DBD/SQLite.pm"), "DBD::SQLite");
        assert!(!is_of_site("Mehari::Inspect") && !is_of_site("a.pl") && !is_of_site("strict"));
    }
}
