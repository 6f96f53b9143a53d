use super::*;
use crate::content::resource::Description;

#[tokio::test]
async fn a_small_file_that_is_in_the_page_cache_after_all_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.txt");
    std::fs::write(&path, "few words").expect("written");
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).expect("a path");
    let files = Files::default();
    let description = Description {
        path: &path,
        coding: None,
        own_coding: None,
        language: None,
        varies: false,
        media_type: None,
        etag_parts: mehari_config::etag_part::SIZE,
        has_ranges: true,
        is_cold: true,
    };
    let loaded = Resource::load(description, &files);
    let resource = Rc::new(loaded.expect("a file"));
    assert!(resource.begins_cold() && !resource.is_cached());

    let mut body = resource.whole(&files).expect("open");
    let mut into = b"head".to_vec();
    assert!(!body.read(&mut into, WINDOW).await.expect("read"));
    assert_eq!(into, b"headfew words");
    assert_eq!(resource.body(), b"few words");
}
