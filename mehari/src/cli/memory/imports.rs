//! Measures what imports cost: the names and the memory that each package takes which imports from
//! a module, beside the same package without the import.

mod scripts;

use super::MemoryOptions;
use crate::cli::status::size;
use mehari_memory::{FurtherImport, MemoryError, ModuleTrial, TriedModule};
use mehari_record::statistics::{mean_and_deviation, t_quantile};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many packages import in one trial. Their memory is counted in whole pages.
const PACKAGES: u32 = 100;

/// What follows `use`, and how many scripts say so.
type AskedUse = (String, Option<usize>);

/// What each further importing package costs: means over the rounds.
#[derive(Serialize)]
struct ImportCost {
    module: String,
    rounds: usize,
    #[serde(flatten)]
    mean: FurtherImport,
    /// Half of the 95 % confidence interval of `bytes`.
    bytes_interval: f64,
    /// The bytes more than without the import. Null: this is without.
    beyond_none: Option<f64>,
    /// How many compiled scripts of the server say so. Null: the module was named.
    scripts: Option<usize>,
}

/// Returns the table, or the same figures as JSON.
pub fn shown(options: &MemoryOptions) -> Result<String, String> {
    let asked: Vec<AskedUse> = match &options.imports {
        Some(modules) if !modules.is_empty() => {
            modules.iter().map(|text| (text.clone(), None)).collect()
        }
        _ => {
            let found = scripts::of_server(options.control.clone())?;
            found
                .into_iter()
                .map(|(text, count)| (text, Some(count)))
                .collect()
        }
    };
    let costs = measured(options, &asked).map_err(|error| error.to_string())?;
    if options.json {
        let report = json!({ "packages": PACKAGES, "imports": costs });
        return Ok(format!("{report:#}\n"));
    }
    Ok(table(&costs))
}

/// Returns each module as it was asked for, followed by itself without the import.
fn pairs(asked: &[AskedUse]) -> Result<Vec<(TriedModule, Option<usize>)>, MemoryError> {
    let mut all: Vec<(TriedModule, Option<usize>)> = Vec::new();
    for (text, scripts) in asked {
        let asked = TriedModule::parse(text)?;
        let without = asked.without_import().map(|it| (it, None));
        for (module, scripts) in [Some((asked, *scripts)), without].into_iter().flatten() {
            if !all.iter().any(|(known, _)| known.is_same_use(&module)) {
                all.push((module, scripts));
            }
        }
    }
    Ok(all)
}

/// Each round measures every module once, so that a disturbance meets all of them. A module that a
/// script names and this perl does not find is left out.
fn measured(options: &MemoryOptions, asked: &[AskedUse]) -> Result<Vec<ImportCost>, MemoryError> {
    let mut modules = pairs(asked)?;
    let trial = ModuleTrial::new(options.perl.clone());
    let mut missing = BTreeSet::new();
    for (module, _) in &modules {
        // Reads the files from the disk.
        match trial.imports(module, 1) {
            Err(MemoryError::NotLoaded { .. }) if asked.iter().all(|(_, it)| it.is_some()) => {
                missing.insert(module.text().to_owned());
            }
            tried => drop(tried?),
        }
    }
    modules.retain(|(module, _)| !missing.contains(module.text()));
    let mut trials = vec![Vec::new(); modules.len()];
    for _ in 0..options.rounds {
        for ((module, _), trials) in modules.iter().zip(&mut trials) {
            trials.push(trial.imports(module, PACKAGES)?);
        }
    }
    let each = modules.iter().zip(&trials);
    let mut costs: Vec<ImportCost> = each
        .map(|((module, scripts), trials)| ImportCost::of(module, *scripts, trials))
        .collect();
    for index in 0..modules.len() {
        let without = modules[index].0.without_import();
        let place = without.and_then(|it| modules.iter().position(|one| one.0.is_same_use(&it)));
        let bytes = place.map(|place| costs[place].mean.bytes);
        costs[index].beyond_none = bytes.map(|none| costs[index].mean.bytes - none);
    }
    Ok(costs)
}

impl ImportCost {
    fn of(module: &TriedModule, scripts: Option<usize>, trials: &[FurtherImport]) -> ImportCost {
        let both = |of: fn(&FurtherImport) -> f64| {
            mean_and_deviation(&trials.iter().map(of).collect::<Vec<f64>>())
        };
        let count = trials.len() as f64;
        let (bytes, deviation) = both(|it| it.bytes);
        ImportCost {
            module: module.text().to_owned(),
            rounds: trials.len(),
            mean: FurtherImport {
                bytes,
                us: both(|it| it.us).0,
                names: both(|it| it.names).0,
            },
            bytes_interval: deviation / count.sqrt() * t_quantile(0.975, count - 1.0),
            beyond_none: None,
            scripts,
        }
    }
}

/// Without scripts, a column shows what ten packages take.
fn table(costs: &[ImportCost]) -> String {
    let longest = costs.iter().map(|cost| cost.module.len()).max();
    let width = longest.unwrap_or(0).max("use".len());
    let is_of_scripts = costs.iter().any(|cost| cost.scripts.is_some());
    let last = if is_of_scripts {
        "scripts, in all"
    } else {
        "10 packages"
    };
    let mut text = format!(
        "{:<width$} {:>6} {:>24} {:>13} {:>10} {last:>18}\n",
        "use", "names", "each package", "than with ()", "import"
    );
    for cost in costs {
        let each = format!(
            "{} ± {}",
            bytes(cost.mean.bytes),
            bytes(cost.bytes_interval)
        );
        let beyond = cost.beyond_none.map(|more| format!("+{}", bytes(more)));
        let all = match (cost.scripts, is_of_scripts) {
            (Some(scripts), _) => {
                let all = scripts as f64 * cost.mean.bytes;
                format!("{scripts}, {}", bytes(all))
            }
            (None, true) => String::new(),
            (None, false) => bytes(10.0 * cost.mean.bytes),
        };
        let _ = writeln!(
            text,
            "{:<width$} {:>6.0} {each:>24} {:>13} {:>7.2} ms {all:>18}",
            cost.module,
            cost.mean.names,
            beyond.unwrap_or_default(),
            cost.mean.us / 1e3,
        );
    }
    text
}

fn bytes(count: f64) -> String {
    size(&json!(count.max(0.0).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_import_stands_beside_the_module_without_it_once() {
        let asked = ["POSIX", "CGI ':standard'", "POSIX qw(floor)", "CGI ( )"];
        let asked = asked.map(|text| (text.to_owned(), None));
        let all = pairs(&asked).expect("modules");
        let told: Vec<&str> = all.iter().map(|(module, _)| module.text()).collect();
        assert_eq!(
            told,
            [
                "POSIX",
                "POSIX ()",
                "CGI ':standard'",
                "CGI ()",
                "POSIX qw(floor)"
            ]
        );
        assert!(pairs(&[("../x".to_owned(), None)]).is_err());
    }
}
