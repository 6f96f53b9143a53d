//! Keeps four times of each request (connect, processing, waiting, total) and summarises them for
//! the report.
//!
//! Histograms hold the times in constant memory. Count, sum and extremes are exact; percentiles are
//! within 0.1 %. A row for each request is kept only if `-g` prints all rows or if
//! `--bug-compatible` asks for ab's own arithmetic.

use hdrhistogram::Histogram;

/// One hour in microseconds. Percentiles count a longer time as one hour. Extremes and means stay
/// exact.
const LONGEST: u64 = 3_600_000_000;

/// One request with its times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Microseconds since 1970.
    pub started: u64,
    pub connect: u64,
    pub total: u64,
    pub waiting: u64,
}

impl Row {
    fn of(&self, time: Time) -> u64 {
        match time {
            Time::Connect => self.connect,
            Time::Processing => self.total.saturating_sub(self.connect),
            Time::Waiting => self.waiting,
            Time::Total => self.total,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    Connect,
    Processing,
    Waiting,
    Total,
}

impl Time {
    pub const ALL: [Time; 4] = [Time::Connect, Time::Processing, Time::Waiting, Time::Total];

    pub fn label(self) -> &'static str {
        match self {
            Time::Connect => "Connect:",
            Time::Processing => "Processing:",
            Time::Waiting => "Waiting:",
            Time::Total => "Total:",
        }
    }

    /// Returns the name of the time in ab's warnings.
    pub fn in_words(self) -> &'static str {
        match self {
            Time::Connect => "the initial connection time",
            Time::Processing => "the processing time",
            Time::Waiting => "the waiting time",
            Time::Total => "the total time",
        }
    }
}

/// The summary of one of the four times, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    pub min: u64,
    pub mean: f64,
    pub deviation: f64,
    pub median: u64,
    pub max: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Right,
    /// ab's median, percentile ranks and integer means.
    AsAb,
}

#[derive(Debug)]
pub struct Times {
    arithmetic: Arithmetic,
    columns: [Column; 4],
    rows: Option<Vec<Row>>,
}

impl Times {
    pub fn new(arithmetic: Arithmetic, keep_rows: bool) -> Times {
        Times {
            arithmetic,
            columns: std::array::from_fn(|_| Column::new()),
            rows: (keep_rows || arithmetic == Arithmetic::AsAb).then(Vec::new),
        }
    }

    pub fn add(&mut self, row: Row) {
        for time in Time::ALL {
            self.columns[time as usize].add(row.of(time));
        }
        if let Some(rows) = &mut self.rows {
            rows.push(row);
        }
    }

    pub fn count(&self) -> u64 {
        self.columns[0].histogram.len()
    }

    pub fn summary(&self, time: Time) -> Summary {
        match (self.arithmetic, &self.rows) {
            (Arithmetic::AsAb, Some(rows)) => summary_as_ab(rows, time),
            _ => self.columns[time as usize].summary(),
        }
    }

    /// Returns the microseconds within which `percent` of the requests were served, for the
    /// report's table.
    pub fn percentile(&self, percent: u32) -> u64 {
        let rank = self.count() * u64::from(percent) / 100;
        self.ranked(percent, rank)
    }

    /// Returns the microseconds within which `percent` of the requests were served, for the CSV
    /// file. ab rounds the ranks of the CSV file differently.
    pub fn csv_percentile(&self, percent: u32) -> u64 {
        let rank = (0.5 + self.count() as f64 * f64::from(percent) / 100.0) as u64;
        self.ranked(percent, rank)
    }

    fn ranked(&self, percent: u32, rank_as_ab: u64) -> u64 {
        match (self.arithmetic, percent) {
            (_, 0) => self.columns[Time::Total as usize].min(),
            (_, 100..) => self.columns[Time::Total as usize].max(),
            (Arithmetic::AsAb, _) => {
                let sorted = sorted(self.rows(), Time::Total);
                let last = sorted.len().saturating_sub(1);
                sorted
                    .get((rank_as_ab as usize).min(last))
                    .copied()
                    .unwrap_or(0)
            }
            (Arithmetic::Right, _) => self.columns[Time::Total as usize].quantile(percent),
        }
    }

    /// Returns the rows in the order in which the requests ended.
    pub fn rows(&self) -> &[Row] {
        self.rows.as_deref().unwrap_or_default()
    }
}

#[derive(Debug)]
struct Column {
    histogram: Histogram<u64>,
    mean: f64,
    /// The sum of the squared distances from the mean (Welford's algorithm).
    squares: f64,
    min: u64,
    max: u64,
}

impl Column {
    fn new() -> Column {
        Column {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("HdrHistogram accepts an hour with three digits"),
            mean: 0.0,
            squares: 0.0,
            min: u64::MAX,
            max: 0,
        }
    }

    fn add(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        let before = value as f64 - self.mean;
        self.mean += before / self.histogram.len() as f64;
        self.squares += before * (value as f64 - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn min(&self) -> u64 {
        self.min.min(self.max)
    }

    fn max(&self) -> u64 {
        self.max
    }

    /// Returns the value at `percent` by nearest rank.
    fn quantile(&self, percent: u32) -> u64 {
        self.histogram
            .value_at_quantile(f64::from(percent) / 100.0)
            .clamp(self.min(), self.max)
    }

    fn summary(&self) -> Summary {
        let count = self.histogram.len();
        let deviation = match count {
            0 | 1 => 0.0,
            _ => (self.squares / (count - 1) as f64).sqrt(),
        };
        Summary {
            min: self.min(),
            mean: self.mean,
            deviation,
            median: self.quantile(50),
            max: self.max,
        }
    }
}

fn sorted(rows: &[Row], time: Time) -> Vec<u64> {
    let mut values: Vec<u64> = rows.iter().map(|row| row.of(time)).collect();
    values.sort_unstable();
    values
}

/// Computes a summary as ab does. The mean is cut to whole microseconds, and the deviation is
/// computed from the cut mean. The median of an odd count is the average of the middle value and
/// the next value.
fn summary_as_ab(rows: &[Row], time: Time) -> Summary {
    let values = sorted(rows, time);
    let Some((&min, &max)) = values.first().zip(values.last()) else {
        return Summary::default();
    };
    let count = values.len();
    let mean = values.iter().sum::<u64>() / count as u64;
    let squares: f64 = values
        .iter()
        .map(|&value| (value as f64 - mean as f64).powi(2))
        .sum();
    let middle = count / 2;
    let median = if count > 1 && count % 2 == 1 {
        (values[middle] + values[middle + 1]) / 2
    } else {
        values[middle]
    };
    let deviation = match count {
        1 => 0.0,
        _ => (squares / (count - 1) as f64).sqrt(),
    };
    Summary {
        min,
        mean: mean as f64,
        deviation,
        median,
        max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arithmetic: Arithmetic, totals: &[u64]) -> Times {
        let mut times = Times::new(arithmetic, false);
        for (at, &total) in totals.iter().enumerate() {
            times.add(Row {
                started: at as u64,
                connect: 0,
                total,
                waiting: total / 2,
            });
        }
        times
    }

    #[test]
    fn the_median_is_the_middle_value_and_ab_takes_another_value() {
        let totals = [1000, 2000, 9000];
        assert_eq!(
            times(Arithmetic::Right, &totals)
                .summary(Time::Total)
                .median,
            2000
        );
        assert_eq!(
            times(Arithmetic::AsAb, &totals).summary(Time::Total).median,
            5500
        );
    }

    #[test]
    fn the_99th_percentile_of_a_hundred_times_is_not_the_longest_time() {
        let totals: Vec<u64> = (1..=100).collect();
        assert_eq!(times(Arithmetic::Right, &totals).percentile(99), 99);
        assert_eq!(times(Arithmetic::AsAb, &totals).percentile(99), 100);
        assert_eq!(times(Arithmetic::Right, &totals).percentile(100), 100);
    }

    #[test]
    fn the_csv_ranks_do_not_exceed_the_number_of_requests() {
        let times = times(Arithmetic::AsAb, &[5, 6]);
        assert_eq!(times.csv_percentile(99), 6);
        assert_eq!(times.csv_percentile(0), 5);
    }

    #[test]
    fn one_request_has_no_deviation() {
        for arithmetic in [Arithmetic::Right, Arithmetic::AsAb] {
            let summary = times(arithmetic, &[700]).summary(Time::Total);
            assert_eq!((summary.min, summary.median, summary.max), (700, 700, 700));
            assert_eq!((summary.mean, summary.deviation), (700.0, 0.0));
        }
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_sample() {
        let summary = times(Arithmetic::Right, &[2, 4, 4, 4, 5, 5, 7, 9]).summary(Time::Total);
        assert_eq!(summary.mean, 5.0);
        assert!((summary.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
