//! Writes the report of `-w`: one HTML table with the attributes of `-x`, `-y` and `-z`.

use super::measured::Measured;
use super::options::{Html, Options};
use super::report::milliseconds;
use super::times::Time;

pub fn html(options: &Options, attributes: &Html, measured: &Measured) -> Vec<u8> {
    let mut table = Table {
        row: &attributes.row,
        cell: &attributes.cell,
        text: format!("\n\n<table {}>\n", attributes.table).into_bytes(),
    };
    counts(&mut table, options, measured);
    if measured.elapsed > 0.0 {
        rates(&mut table, options, measured);
    }
    if measured.times.count() > 0 {
        connection_times(&mut table, measured);
    }
    table.text.extend(b"</table>\n");
    table.text
}

struct Table<'a> {
    row: &'a str,
    cell: &'a str,
    text: Vec<u8>,
}

impl Table<'_> {
    fn fact(&mut self, label: &str, value: impl AsRef<[u8]>) {
        let (row, cell) = (self.row, self.cell);
        let head = format!("<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>");
        self.text
            .extend([head.as_bytes(), value.as_ref(), b"</td></tr>\n"].concat());
    }

    fn line(&mut self, text: String) {
        self.text.extend(text.into_bytes());
    }
}

fn counts(table: &mut Table, options: &Options, measured: &Measured) {
    table.fact("Server Software:", &measured.server_software);
    table.fact("Server Hostname:", &options.target.host);
    table.fact("Server Port:", options.target.port.to_string());
    table.fact("Document Path:", &options.target.path);
    if options.variable_length {
        table.fact("Document Length:", "Variable")
    } else {
        table.fact("Document Length:", bytes(measured.document_length))
    }
    table.fact("Concurrency Level:", options.concurrency.to_string());
    table.fact(
        "Time taken for tests:",
        format!("{:.3} seconds", measured.elapsed),
    );
    table.fact("Complete requests:", measured.complete.to_string());
    let failures = &measured.failures;
    table.fact("Failed requests:", failures.total.to_string());
    if failures.total > 0 {
        let (row, cell) = (table.row, table.cell);
        table.line(format!(
            "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})</td></tr>\n",
            failures.connect, failures.length, failures.exceptions
        ));
    }
    if measured.non_2xx > 0 {
        table.fact("Non-2xx responses:", measured.non_2xx.to_string());
    }
    if options.keep_alive {
        table.fact("Keep-Alive requests:", measured.kept_alive.to_string());
    }
    table.fact("Total transferred:", bytes(measured.bytes_read));
    if options.body.is_some() {
        table.fact("Total body sent:", measured.bytes_written.to_string());
    }
    table.fact("HTML transferred:", bytes(measured.body_bytes_read));
}

fn bytes(count: u64) -> String {
    format!("{count} bytes")
}

fn rates(table: &mut Table, options: &Options, measured: &Measured) {
    let (read, written) = (measured.bytes_read, measured.bytes_written);
    let rate = |bytes| measured.kilobytes_per_second(bytes);
    table.fact(
        "Requests per second:",
        format!("{:.2}", measured.per_second()),
    );
    table.fact("Transfer rate:", format!("{:.2} kb/s received", rate(read)));
    if options.body.is_some() {
        for (rate, what) in [(rate(written), "sent"), (rate(read + written), "total")] {
            let (row, cell) = (table.row, table.cell);
            table.line(format!(
                "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{rate:.2} kb/s {what}</td></tr>\n"
            ));
        }
    }
}

/// Adds ab's three rows Connect, Processing and Total. Processing is Total minus Connect.
fn connection_times(table: &mut Table, measured: &Measured) {
    let connect = measured.times.summary(Time::Connect);
    let total = measured.times.summary(Time::Total);
    let whole = |summary: &super::times::Summary| {
        [summary.min, summary.mean as u64, summary.max].map(milliseconds)
    };
    let (connect, total) = (whole(&connect), whole(&total));
    let between: Vec<u64> = total
        .iter()
        .zip(connect)
        .map(|(total, connect)| total.saturating_sub(connect))
        .collect();
    let (row, cell) = (table.row, table.cell);
    table.line(format!(
        "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>\n\
         <tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   <th {cell}>max</th></tr>\n"
    ));
    for (label, values) in [
        ("Connect:", &connect[..]),
        ("Processing:", &between[..]),
        ("Total:", &total[..]),
    ] {
        let cells: String = values
            .iter()
            .map(|value| format!("<td {cell}>{value:5}</td>"))
            .collect();
        table.line(format!("<tr {row}><th {cell}>{label}</th>{cells}</tr>\n"));
    }
}
