//! `--matrix`: measures a row for each combination of parameters, in several passes over all rows.
//! The tables look like the benchmarks of the mod_perl guide.

use std::str::FromStr;

use mehari_record::versus::Run;
use mehari_record::{Latency, Record};

use super::runs::{plan_of, Doubts, Generator, Progress};
use super::side::Side;
use super::{bench, table, Failure, Options};

/// A parameter: its name and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub values: Vec<Value>,
}

/// A value `LABEL->TEXT`. The table shows the label, and the template gets the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub label: String,
    pub text: String,
}

/// One combination and the results of its runs.
pub struct Row {
    pub labels: Vec<String>,
    pub side: Side,
    pub url: String,
    pub load: bench::arguments::Arguments,
    pub runs: Vec<Run>,
    pub completed: u64,
    pub failed: u64,
    pub response: Latency,
    pub unended: Latency,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Parameter, String> {
        let expected = || format!("expected NAME=A,B,C, got `{text}`");
        let (name, values) = text.split_once('=').ok_or_else(expected)?;
        let is_name = |mark: char| mark.is_ascii_alphanumeric() || "_-".contains(mark);
        if name.is_empty() || !name.chars().all(is_name) || values.is_empty() {
            return Err(expected());
        }
        let values = values
            .split(',')
            .map(|value| {
                let (label, text) = value.split_once("->").unwrap_or((value, value));
                Value {
                    label: label.to_owned(),
                    text: text.to_owned(),
                }
            })
            .collect();
        Ok(Parameter {
            name: name.to_owned(),
            values,
        })
    }
}

pub fn run(options: &Options) -> Result<String, Failure> {
    let mut rows = rows(options)?;
    for row in &rows {
        plan_of(&row.side, &row.load, None)?;
    }
    let progress = Progress::new(options, options.blocks * rows.len());
    let mut generator = Generator::new(options)?;
    let mut doubts = Doubts::default();
    'passes: for pass in 0..options.blocks {
        for step in 0..rows.len() {
            // The order alternates, so a steady drift affects the first rows as much as the last.
            let place = if pass % 2 == 0 {
                step
            } else {
                rows.len() - 1 - step
            };
            let row = &mut rows[place];
            progress.say(&format!(
                "pass {} of {}, {}",
                pass + 1,
                options.blocks,
                row.labels.join(" ")
            ));
            let record = generator.run(&row.side, &row.load, &row.url)?;
            if generator.is_interrupted() {
                break 'passes;
            }
            progress.step();
            doubts.add(&record);
            row.add(&record)?;
        }
    }
    progress.finish();
    let names: Vec<&str> = options.matrix.iter().map(|p| p.name.as_str()).collect();
    let mut rows: Vec<Row> = rows
        .into_iter()
        .filter(|row| !row.runs.is_empty())
        .collect();
    rows.sort_by(|a, b| a.response.mean().total_cmp(&b.response.mean()));
    Ok(if options.load.json {
        table::json(&names, &rows, &doubts)
    } else {
        table::text(&names, &rows, &doubts, options)
    })
}

fn rows(options: &Options) -> Result<Vec<Row>, Failure> {
    let [template] = &options.load.urls[..] else {
        return Err(Failure::Usage(format!(
            "with --matrix give one template to compare by its parameters, not {}",
            options.load.urls.len()
        )));
    };
    let mut combinations: Vec<Vec<(&str, &Value)>> = vec![Vec::new()];
    for parameter in &options.matrix {
        combinations = combinations
            .iter()
            .flat_map(|chosen| extended(chosen, parameter))
            .collect();
    }
    combinations
        .iter()
        .map(|chosen| row(options, template, chosen))
        .collect()
}

/// Extends a combination by another parameter. Returns one combination for each value.
fn extended<'p>(
    chosen: &[(&'p str, &'p Value)],
    parameter: &'p Parameter,
) -> Vec<Vec<(&'p str, &'p Value)>> {
    parameter
        .values
        .iter()
        .map(|value| [chosen, &[(parameter.name.as_str(), value)]].concat())
        .collect()
}

fn row(options: &Options, template: &str, chosen: &[(&str, &Value)]) -> Result<Row, Failure> {
    let mut load = options.load.clone();
    let (mut text, mut url) = (template.to_owned(), options.url_of(0).to_owned());
    for (name, value) in chosen {
        let mut used = false;
        let others = load.headers.iter_mut().map(|(_, value)| value);
        let places: Vec<&mut String> = [&mut text, &mut url]
            .into_iter()
            .chain(load.body.as_mut())
            .chain(others)
            .collect();
        for place in places {
            let filled = filled(place, name, &value.text).map_err(Failure::Usage)?;
            used |= filled != *place;
            *place = filled;
        }
        if !used {
            set_load(&mut load, name, &value.text).map_err(Failure::Usage)?;
        }
    }
    Ok(Row {
        labels: chosen
            .iter()
            .map(|(_, value)| value.label.clone())
            .collect(),
        side: Side::parse(&text)?,
        url,
        load,
        runs: Vec::new(),
        completed: 0,
        failed: 0,
        response: Latency::new(),
        unended: Latency::new(),
    })
}

/// Replaces `{name}` by the value, and `{name:query}` by a query string of this many bytes.
fn filled(template: &str, name: &str, value: &str) -> Result<String, String> {
    let as_query = format!("{{{name}:query}}");
    let filled = template.replace(&format!("{{{name}}}"), value);
    if !filled.contains(&as_query) {
        return Ok(filled);
    }
    let length: usize = value
        .parse()
        .ok()
        .filter(|length| *length <= 65_536)
        .ok_or_else(|| format!("{as_query} needs lengths from 0 to 65536, not `{value}`"))?;
    Ok(filled.replace(&as_query, &query(length)))
}

/// Returns a query of `length` bytes: `a=eeeeeeeeee&b=eeeeeeeeee&...`, as in the guide's script.
fn query(length: usize) -> String {
    let pairs = ('a'..='z')
        .cycle()
        .map(|name| format!("{name}=eeeeeeeeee&"));
    let mut text = String::new();
    for pair in pairs {
        if text.len() > length {
            break;
        }
        text.push_str(&pair);
    }
    text.truncate(length);
    text
}

/// Sets an option of the load. A parameter that is not in the template must name such an option.
fn set_load(load: &mut bench::arguments::Arguments, name: &str, value: &str) -> Result<(), String> {
    let expected = |what: &str| format!("`{name}` must be {what}, not `{value}`");
    match name {
        "concurrency" => load.connections = Some(value.parse().map_err(|_| expected("a number"))?),
        "requests" => load.requests = Some(value.parse().map_err(|_| expected("a number"))?),
        "rate" => load.rate = Some(bench::parse::rate(value)?),
        "keepalive" => {
            load.no_keep_alive = match value {
                "on" => false,
                "off" => true,
                _ => return Err(expected("on or off")),
            }
        }
        _ => {
            return Err(format!(
                "`{name}` is nowhere in the template: write {{{name}}} or {{{name}:query}} there (concurrency, requests, rate and keepalive set the load)"
            ))
        }
    }
    Ok(())
}

impl Row {
    fn add(&mut self, record: &Record) -> Result<(), Failure> {
        let run = Run::of(record);
        self.completed += record.counts.completed;
        self.failed += run.bad;
        self.runs.push(run);
        self.response
            .add(&record.response)
            .and_then(|()| self.unended.add(&record.unended))
            .map_err(|cause| Failure::Failed(cause.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_values_and_labels() {
        let parameter: Parameter = "name=light handler->/h,registry".parse().expect("good");
        assert_eq!(parameter.values[0].label, "light handler");
        assert_eq!(parameter.values[0].text, "/h");
        assert_eq!(parameter.values[1].text, "registry");
        for wrong in ["name", "=a", "name=", "na me=a"] {
            assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries_are_like_the_guides_and_have_the_wanted_length() {
        assert_eq!(query(25), "a=eeeeeeeeee&b=eeeeeeeeee");
        assert_eq!(query(337).len(), 337);
        assert!(query(337).ends_with("&z=eeeeeeeeee"));
        assert_eq!(query(0), "");
    }

    #[test]
    fn templates_take_values_and_leave_other_braces_alone() {
        let text = filled("http://a/{name}?{n:query}&{x}", "name", "b").expect("good");
        assert_eq!(text, "http://a/b?{n:query}&{x}");
        assert_eq!(filled("{n:query}", "n", "4").expect("good"), "a=ee");
        assert!(filled("{n:query}", "n", "many").is_err());
    }
}
