//! Exports a record for gnuplot: two data sets in one file (gnuplot's `index 0` and `index 1`), and
//! comments with the commands to plot them.

use crate::points::percentile_steps;
use crate::Record;

const HOW: &str = "\
# gnuplot -p -e \"set xlabel 'seconds'; set ylabel 'requests a second'; plot 'FILE' index 0 using 1:2 with lines title 'completed'\"
# gnuplot -p -e \"set logscale xy; set xlabel '1/(1-p)'; set ylabel 'ms'; plot 'FILE' index 1 using 2:3 with lines title 'response', '' index 1 using 2:4 with lines title 'service'\"
";

pub fn data(record: &Record) -> String {
    let mut text = format!("# {}\n{HOW}", record.plan.words.replace(['\n', '\r'], " "));
    text.push_str("\n# index 0: seconds completed/s failed/s p50_ms p90_ms p99_ms max_ms\n");
    for point in record.points() {
        let latency = match point.latency_ns {
            Some(values) => values.map(|ns| format!("{:.6}", ns as f64 / 1e6)).join(" "),
            // gnuplot's word for a missing value.
            None => "NaN NaN NaN NaN".to_owned(),
        };
        text.push_str(&format!(
            "{:.3} {:.3} {:.3} {latency}\n",
            point.seconds, point.completed_per_second, point.failed_per_second
        ));
    }
    text.push_str("\n\n# index 1: percentile 1/(1-p) response_ms service_ms\n");
    for percentile in percentile_steps(record.response.len()) {
        let ms = |ns: u64| ns as f64 / 1e6;
        text.push_str(&format!(
            "{percentile:.6} {:.6} {:.6} {:.6}\n",
            100.0 / (100.0 - percentile),
            ms(record.response.value_at_percentile(percentile)),
            ms(record.service.value_at_percentile(percentile)),
        ));
    }
    text
}
