//! Tests recording and replaying with a target behind TLS.
#![allow(clippy::unwrap_used)]

mod session;

use mehari_record::session::replay::Settings;
use mehari_record::session::{proxy, Trust};
use session::*;

#[tokio::test]
async fn secured_target_is_recorded_and_replayed_when_its_certificate_is_accepted() {
    let port = secured_site().await.port();
    let target = format!("https://localhost:{port}");
    for (insecure, status) in [(false, "502"), (true, "200")] {
        let settings = proxy::Settings {
            target: target.parse().unwrap(),
            trust: Trust::new(insecure),
            body_limit: 1_000,
        };
        let recording = record_with(settings).await;
        let answer = exchange(recording.address, "GET /news HTTP/1.1", b"").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert_eq!(answer.contains("UnknownIssuer"), !insecure, "{answer}");
        let archive = recording.end().await;
        if let [entry] = &archive.log.entries[..] {
            assert!(insecure && entry.timings.ssl > 0.0);
            assert!(entry.timings.connect >= entry.timings.ssl);
            assert_eq!(entry.request.url, format!("{target}/news"));
            let trusting = Settings {
                trust: Trust::new(true),
                ..settings_of(1)
            };
            assert!(replay(&archive, trusting).await.is_good());
            assert_eq!(replay(&archive, settings_of(1)).await.failed, 1);
        } else {
            assert!(!insecure && archive.log.entries.is_empty());
        }
    }
}
