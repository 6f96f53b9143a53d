use super::*;
use crate::content::resource::Description;
use crate::content::Files;
use std::io;
use std::sync::mpsc;
use tokio::task::{spawn_local, yield_now, LocalSet};

fn resource(path: &std::path::Path) -> Rc<Resource> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("a path");
    let description = Description {
        path: &path,
        coding: None,
        own_coding: None,
        language: None,
        varies: false,
        media_type: Some("text/plain"),
        etag_parts: mehari_config::etag_part::SIZE,
        has_ranges: true,
        is_cold: false,
    };
    let loaded = Resource::load(description, &Files::default());
    Rc::new(loaded.expect("a file"))
}

/// Occupies this many compression slots until the result is dropped.
async fn keep_busy(variants: &Variants) -> mpsc::Sender<()> {
    let (end, may_end) = mpsc::channel::<()>();
    let may_end = std::sync::Arc::new(std::sync::Mutex::new(may_end));
    for _ in 0..AT_ONCE {
        let (inner, may_end) = (variants.0.clone(), may_end.clone());
        let work = move || {
            may_end
                .lock()
                .map(|told| told.recv())
                .map_err(|_| io::ErrorKind::Other.into())
        };
        spawn_local(async move { inner.threads.0.run(work).await.is_ok() });
    }
    yield_now().await;
    end
}

#[tokio::test]
async fn four_files_are_compressed_at_a_time_and_the_fifth_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("page.txt");
    std::fs::write(&plain, "words ".repeat(1000)).expect("written");
    let resource = resource(&plain);
    let key = Key::new(&resource, Coding::Gzip, 6);
    let test = async {
        let variants = Variants::default();
        let busy = keep_busy(&variants).await;
        let made = spawn_local(variants.make(key.clone(), resource.clone()));
        // The pause is long enough for a thread that did not wait.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(matches!(variants.find(&key), VariantLookup::Nothing));
        assert!(!made.is_finished());
        drop(busy);
        let variant = made.await.expect("no panic").expect("smaller");
        assert!(variant.length < 1000, "{}", variant.length);
        assert!(matches!(variants.find(&key), VariantLookup::Variant(_)));

        // A noted variant has its coding and level, and is gone once it was dropped.
        let known = |coding, level| variants.known(&resource, coding, level).is_some();
        assert!(!known(Coding::Gzip, 6));
        resource.variants.note(Coding::Gzip, 6, &variant);
        drop(variant);
        assert!(known(Coding::Gzip, 6));
        assert!(!known(Coding::Gzip, 5) && !known(Coding::Brotli, 6));
        variants.configure(&VariantStore {
            memory: 0,
            ..VariantStore::default()
        });
        assert!(!known(Coding::Gzip, 6));
    };
    assert_eq!(AT_ONCE, 4);
    LocalSet::new().run_until(test).await;
}
