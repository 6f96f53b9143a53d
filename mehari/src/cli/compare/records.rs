//! Compares record files instead of running a load.

use std::path::PathBuf;

use mehari_record::export::ComparisonPage;
use mehari_record::versus::words::conclusion;
use mehari_record::versus::{versus_many, versus_records, Versus};
use mehari_record::{wall_clock, Latency, Record};
use serde_json::json;

use super::outputs::{Forms, Outputs};
use super::{report, Failure};

pub fn compare(
    sides: [&[PathBuf]; 2],
    threshold: f64,
    as_json: bool,
    outputs: &Outputs,
) -> Result<String, Failure> {
    let records = [read(sides[0])?, read(sides[1])?];
    let result = match (&records[0][..], &records[1][..]) {
        ([a], [b]) => versus_records(a, b, threshold),
        (a, b) => versus_many(a, b, threshold),
    };
    let compared = Compared {
        sides,
        result: result.map_err(|cause| Failure::Usage(cause.to_string()))?,
        response: [merged(&records[0])?, merged(&records[1])?],
        records,
        threshold,
    };
    outputs.write(&compared)?;
    Ok(if as_json {
        compared.json()
    } else {
        compared.text()
    })
}

struct Compared<'p> {
    sides: [&'p [PathBuf]; 2],
    records: [Vec<Record>; 2],
    result: Versus,
    response: [Latency; 2],
    threshold: f64,
}

impl Compared<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, records) in ["A", "B"].iter().zip(&self.records) {
            for record in records {
                text.push_str(&format!(
                    "{name}: {} ({})\n",
                    record.plan.words, record.verdict.judgement
                ));
            }
        }
        text.push_str(&report::findings(&self.result));
        text.push_str(&report::cautions(&self.result));
        text.push_str(&format!("\n{}\n", conclusion(&self.result, self.threshold)));
        text
    }
}

impl Forms for Compared<'_> {
    fn html(&self) -> String {
        let names = self.sides.map(|paths| {
            let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
            paths.join(", ")
        });
        let loads = ["A", "B"].iter().zip(&self.records);
        let loads = loads.flat_map(|(name, records)| {
            records.iter().map(move |record| {
                let judgement = record.verdict.judgement;
                format!("{name}: {} ({judgement}).", record.plan.words)
            })
        });
        ComparisonPage {
            names: [&names[0], &names[1]],
            load: loads.collect::<Vec<_>>().join(" "),
            result: &self.result,
            threshold: self.threshold,
            blocks: &[],
            response: [&self.response[0], &self.response[1]],
            remarks: Vec::new(),
            written_unix_us: wall_clock::now(),
        }
        .html()
    }

    fn json(&self) -> String {
        let [a, b] = self.sides;
        let value = json!({ "a": a, "b": b, "threshold": self.threshold, "result": self.result });
        format!("{value:#}\n")
    }
}

fn read(paths: &[PathBuf]) -> Result<Vec<Record>, Failure> {
    paths
        .iter()
        .map(|path| Record::read(path).map_err(|cause| Failure::Usage(cause.to_string())))
        .collect()
}

fn merged(records: &[Record]) -> Result<Latency, Failure> {
    let mut all = Latency::new();
    for record in records {
        all.add(&record.response)
            .map_err(|cause| Failure::Usage(cause.to_string()))?;
    }
    Ok(all)
}
