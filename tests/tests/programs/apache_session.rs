//! Apache::Session: a visitor's basket is complete on the next page, in whichever worker that page
//! runs.

use mehari_harness::{needs, Builder, Pair, Request, Server};

fn site() -> Builder {
    Server::builder()
        .program_site("apache_session")
        .folder("state")
}

#[test]
fn basket_is_kept_by_every_store() {
    needs!("libapache-session-perl");
    for store in ["file", "flex"] {
        let mut user = Pair::start(site);
        let basket = format!("/perl/basket.pl?store={store}");
        assert_eq!(user.get(&basket).expect(200), "visit 1: \n");
        for (visit, item) in ["tea", "caf%C3%A9", "milk"].iter().enumerate() {
            let page = user.get(&format!("{basket}&add={item}")).expect(200);
            assert!(
                page.starts_with(&format!("visit {}: tea", visit + 2)),
                "{page}"
            );
        }
        user.form(&basket, &format!("store={store}&add=posted"))
            .expect(200);
        let page = user.get(&format!("{basket}&leave=1")).expect(200);
        assert!(page.contains("milk, posted"), "{page}");
        assert_eq!(user.get(&basket).expect(200), "visit 1: \n");
    }
}

#[test]
fn cookie_of_nobody_begins_a_new_session() {
    needs!("libapache-session-perl");
    let mut user = Pair::start(site);
    let stranger =
        Request::get("/perl/basket.pl").field("Cookie", "basket=0123456789abcdef0123456789abcdef");
    assert_eq!(user.send(&stranger).expect(200), "visit 1: \n");
}
