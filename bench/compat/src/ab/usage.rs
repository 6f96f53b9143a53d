//! Holds ab's banner and usage. They equal the original's texts literally, because scripts may read
//! them.

const OPTIONS: &[(&str, &[&str])] = &[
    ("-n requests", &["Number of requests to perform"]),
    (
        "-c concurrency",
        &["Number of multiple requests to make at a time"],
    ),
    (
        "-t timelimit",
        &[
            "Seconds to max. to spend on benchmarking",
            "This implies -n 50000",
        ],
    ),
    (
        "-s timeout",
        &[
            "Seconds to max. wait for each response",
            "Default is 30 seconds",
        ],
    ),
    (
        "-b windowsize",
        &["Size of TCP send/receive buffer, in bytes"],
    ),
    (
        "-B address",
        &["Address to bind to when making outgoing connections"],
    ),
    (
        "-p postfile",
        &["File containing data to POST. Remember also to set -T"],
    ),
    (
        "-u putfile",
        &["File containing data to PUT. Remember also to set -T"],
    ),
    (
        "-T content-type",
        &[
            "Content-type header to use for POST/PUT data, eg.",
            "'application/x-www-form-urlencoded'",
            "Default is 'text/plain'",
        ],
    ),
    ("-v verbosity", &["How much troubleshooting info to print"]),
    ("-w", &["Print out results in HTML tables"]),
    ("-i", &["Use HEAD instead of GET"]),
    ("-x attributes", &["String to insert as table attributes"]),
    ("-y attributes", &["String to insert as tr attributes"]),
    (
        "-z attributes",
        &["String to insert as td or th attributes"],
    ),
    (
        "-C attribute",
        &["Add cookie, eg. 'Apache=1234'. (repeatable)"],
    ),
    (
        "-H attribute",
        &[
            "Add Arbitrary header line, eg. 'Accept-Encoding: gzip'",
            "Inserted after all normal header lines. (repeatable)",
        ],
    ),
    (
        "-A attribute",
        &[
            "Add Basic WWW Authentication, the attributes",
            "are a colon separated username and password.",
        ],
    ),
    (
        "-P attribute",
        &[
            "Add Basic Proxy Authentication, the attributes",
            "are a colon separated username and password.",
        ],
    ),
    ("-X proxy:port", &["Proxyserver and port number to use"]),
    ("-V", &["Print version number and exit"]),
    ("-k", &["Use HTTP KeepAlive feature"]),
    ("-d", &["Do not show percentiles served table."]),
    ("-S", &["Do not show confidence estimators and warnings."]),
    (
        "-q",
        &["Do not show progress when doing more than 150 requests"],
    ),
    (
        "-l",
        &["Accept variable document length (use this for dynamic pages)"],
    ),
    (
        "-g filename",
        &["Output collected data to gnuplot format file."],
    ),
    ("-e filename", &["Output CSV file with percentages served"]),
    ("-r", &["Don't exit on socket receive errors."]),
    ("-m method", &["Method name"]),
    ("-h", &["Display usage information (this message)"]),
    (
        "-I",
        &["Disable TLS Server Name Indication (SNI) extension"],
    ),
    (
        "-Z ciphersuite",
        &["Specify SSL/TLS cipher suite (See openssl ciphers)"],
    ),
    (
        "-f protocol",
        &[
            "Specify SSL/TLS protocol",
            "(SSL2, TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL)",
        ],
    ),
    (
        "-E certfile",
        &["Specify optional client certificate chain and private key"],
    ),
];

/// Returns the text of ab's `-h`, line for line.
pub fn usage() -> String {
    let mut text =
        String::from("Usage: ab [options] [http[s]://]hostname[:port]/path\nOptions are:\n");
    for (option, lines) in OPTIONS {
        for (at, line) in lines.iter().enumerate() {
            let option = if at == 0 { option } else { "" };
            text.push_str(&format!("    {option:<15} {line}\n"));
        }
    }
    text
}

/// Returns the text of `mehari ab --help`: ab's usage, Mehari's additional options, and an example.
pub fn help() -> String {
    format!(
        "{}Added by mehari:\n    {:<15} {}\n    {:<15} {}\n\nExample: mehari ab -n 1000 -c 10 http://127.0.0.1:8080/\n",
        usage(),
        "--bug-compatible",
        "Compute the figures as ab does, faults included",
        "--help",
        "Display this on standard output"
    )
}

/// Returns the three lines and the blank line at the start of every run.
pub fn banner(html: bool) -> String {
    let (name, owner, licence) = (
        "This is ApacheBench, Version 2.3",
        "Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/",
        "Licensed to The Apache Software Foundation, http://www.apache.org/",
    );
    if html {
        format!(
            "<p>\n {name} <i>&lt;$Revision$&gt;</i><br>\n {owner}<br>\n {licence}<br>\n</p>\n<p>\n"
        )
    } else {
        format!("{name} <$Revision$>\n{owner}\n{licence}\n\n")
    }
}
