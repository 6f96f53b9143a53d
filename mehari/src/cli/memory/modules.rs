//! Measures modules in turns and shows what each costs.

use super::MemoryOptions;
use crate::cli::status::size;
use mehari_memory::{ModuleLoad, ModuleTrial, TriedModule};
use mehari_record::statistics::{mean_and_deviation, t_quantile};
use serde::Serialize;
use serde_json::json;
use std::fmt::Write;

/// What a module costs beyond a trial without a module: means over the rounds.
#[derive(Serialize)]
struct ModuleCost {
    module: String,
    rounds: usize,
    #[serde(flatten)]
    mean: ModuleLoad,
    /// Half of the 95 % confidence interval of `load_us`.
    load_us_interval: f64,
    /// Null: the module takes no memory of its own.
    stays_shared: Option<f64>,
}

/// Returns the table, or the same figures as JSON.
pub fn shown(options: &MemoryOptions) -> Result<String, String> {
    let costs = measured(options).map_err(|error| error.to_string())?;
    if options.json {
        return Ok(format!("{:#}\n", json!({ "modules": costs })));
    }
    Ok(table(&costs))
}

/// Each round loads every module once, so that a disturbance meets all of them.
fn measured(options: &MemoryOptions) -> Result<Vec<ModuleCost>, mehari_memory::MemoryError> {
    let asked = options.module.iter().map(|text| TriedModule::parse(text));
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let nothing = TriedModule::nothing();
    let trial = ModuleTrial::new(options.perl.clone());
    for module in &asked {
        trial.once(module)?; // reads the files from the disk
    }
    let mut loads = vec![Vec::new(); asked.len()];
    for _ in 0..options.rounds {
        let empty = trial.once(&nothing)?;
        for (module, loads) in asked.iter().zip(&mut loads) {
            loads.push(trial.once(module)?.beyond(&empty));
        }
    }
    let each = asked.iter().zip(&loads);
    Ok(each
        .map(|(module, loads)| ModuleCost::of(module, loads))
        .collect())
}

impl ModuleCost {
    fn of(module: &TriedModule, loads: &[ModuleLoad]) -> ModuleCost {
        let both = |of: fn(&ModuleLoad) -> f64| {
            mean_and_deviation(&loads.iter().map(of).collect::<Vec<f64>>())
        };
        let mean = ModuleLoad {
            bytes: both(|it| it.bytes).0,
            load_us: both(|it| it.load_us).0,
            import_bytes: both(|it| it.import_bytes).0,
            import_us: both(|it| it.import_us).0,
            names: both(|it| it.names).0,
            unshared: both(|it| it.unshared).0,
            ops: both(|it| it.ops).0,
            subs: both(|it| it.subs).0,
            xs_subs: both(|it| it.xs_subs).0,
            brought: Vec::new(),
        };
        let count = loads.len() as f64;
        let error = both(|it| it.load_us).1 / count.sqrt();
        ModuleCost {
            module: module.text().to_owned(),
            rounds: loads.len(),
            load_us_interval: error * t_quantile(0.975, count - 1.0),
            stays_shared: mean.stays_shared(),
            mean,
        }
    }
}

fn table(costs: &[ModuleCost]) -> String {
    let longest = costs.iter().map(|cost| cost.module.len()).max();
    let width = longest.unwrap_or(0).max("use".len());
    let mut text = format!(
        "{:<width$} {:>10} {:>7} {:>6} {:>6} {:>16} {:>10} {:>10} {:>6} {:>10} {:>7}\n",
        "use", "memory", "ops", "subs", "in C", "load", "import", "", "names", "unshared", "shared"
    );
    for cost in costs {
        let mean = &cost.mean;
        let load = format!(
            "{:.1} ± {:.1} ms",
            mean.load_us / 1e3,
            cost.load_us_interval / 1e3
        );
        let shared = cost
            .stays_shared
            .map_or("-".to_owned(), |part| format!("{:.0} %", 100.0 * part));
        let _ = writeln!(
            text,
            "{:<width$} {:>10} {:>7.0} {:>6.0} {:>6.0} {load:>16} {:>10} {:>7.1} ms {:>6.0} {:>10} {shared:>7}",
            cost.module,
            bytes(mean.bytes),
            mean.ops,
            mean.subs,
            mean.xs_subs,
            bytes(mean.import_bytes),
            mean.import_us / 1e3,
            mean.names,
            bytes(mean.unshared),
        );
    }
    text
}

fn bytes(count: f64) -> String {
    size(&json!(count.round()))
}
