//! Compares record files instead of running a load.

use std::path::PathBuf;

use mehari_record::versus::{versus_many, versus_records};
use mehari_record::Record;
use serde_json::json;

use super::{report, Failure};

pub fn compare(
    a: &[PathBuf],
    b: &[PathBuf],
    threshold: f64,
    as_json: bool,
) -> Result<String, Failure> {
    let (records_a, records_b) = (read(a)?, read(b)?);
    let result = match (&records_a[..], &records_b[..]) {
        ([a], [b]) => versus_records(a, b, threshold),
        _ => versus_many(&records_a, &records_b, threshold),
    };
    let result = result.map_err(|cause| Failure::Usage(cause.to_string()))?;
    if as_json {
        let value = json!({ "a": a, "b": b, "threshold": threshold, "result": result });
        return Ok(format!("{value:#}\n"));
    }
    let mut text = String::new();
    for (name, records) in [("A", &records_a), ("B", &records_b)] {
        for record in records {
            text.push_str(&format!(
                "{name}: {} ({})\n",
                record.plan.words, record.verdict.judgement
            ));
        }
    }
    text.push_str(&report::findings(&result));
    text.push_str(&report::cautions(&result));
    text.push_str(&report::conclusion(&result, threshold));
    Ok(text)
}

fn read(paths: &[PathBuf]) -> Result<Vec<Record>, Failure> {
    paths
        .iter()
        .map(|path| Record::read(path).map_err(|cause| Failure::Usage(cause.to_string())))
        .collect()
}
