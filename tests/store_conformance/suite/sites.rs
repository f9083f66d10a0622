//! Records of sites.

use hourglass::model::{Position, Site, SiteId};
use hourglass::store::{CopiesProgress, Store, StoredSite};

use super::records::{awkward_ids, named, next, put_of, put_site, site_id, whole_site, wrong};
use crate::store_conformance::Fixture;

async fn stored(store: &dyn Store, id: &str) -> Option<StoredSite> {
    store.site(&site_id(id)).await.unwrap()
}

pub(crate) async fn a_site_comes_back_as_it_was_put_and_survives_reopening(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    assert_eq!(stored(&*store, "$site|1").await, None);
    let whole = put_of(whole_site("$site|1"), None, false);
    let empty = Site {
        name: None,
        // Whole degrees, which a shell may write as integers.
        position: Some(Position {
            latitude: 47.0,
            longitude: 8.0,
        }),
        ..named("b", "")
    };
    let empty = put_of(empty, None, false);
    for put in [&whole, &empty] {
        assert_eq!(put_site(&*store, put).await, "stored");
    }
    drop(store);
    let store = fixture.open().await;
    for put in [&whole, &empty] {
        let expected = StoredSite {
            site: put.site.clone(),
            version: put.target,
            copies: None,
        };
        let found = stored(&*store, put.site.id.as_str()).await;
        assert_eq!(found, Some(expected));
    }
    // The next one replaces all of it.
    let bare = put_of(named("$site|1", "bare"), Some(whole.target), false);
    assert_eq!(put_site(&*store, &bare).await, "stored");
    let found = stored(&*store, "$site|1").await.unwrap();
    assert_eq!(found.site, bare.site);
    assert_eq!(found.version, bare.target);
}

pub(crate) async fn sites_are_paged_by_id(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.sites(None, 9).await.unwrap(), []);
    let mut ids: Vec<SiteId> = awkward_ids().map(|id| site_id(id.as_str())).to_vec();
    for id in &ids {
        let put = put_of(named(id.as_str(), "x"), None, false);
        assert_eq!(put_site(&*store, &put).await, "stored");
    }
    ids.sort_unstable();
    for limit in [1, 2, 9, 100] {
        let mut paged: Vec<SiteId> = Vec::new();
        loop {
            let page = store.sites(paged.last(), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            paged.extend(page.into_iter().map(|found| found.site.id));
        }
        assert_eq!(paged, ids);
    }
    assert_eq!(store.sites(None, 0).await.unwrap(), []);
    let behind = store.sites(Some(&site_id("a c")), 1).await.unwrap();
    assert_eq!(behind[0].site.id, site_id("ab"));
}

pub(crate) async fn a_site_is_fenced_by_its_version(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let early = put_of(named("s", "early"), Some(next(None)), false);
    assert_eq!(put_site(&*store, &early).await, "fenced");
    assert_eq!(stored(&*store, "s").await, None);
    let first = put_of(named("s", "first"), None, false);
    // The second time its reply was lost.
    assert_eq!(put_site(&*store, &first).await, "stored");
    assert_eq!(put_site(&*store, &first).await, "stored");
    let before = stored(&*store, "s").await;
    for expect in wrong(first.target) {
        let wrong = put_of(named("s", "wrong"), expect, true);
        assert_eq!(put_site(&*store, &wrong).await, "fenced");
        assert_eq!(stored(&*store, "s").await, before);
    }
    let second = put_of(named("s", "second"), Some(first.target), false);
    assert_eq!(put_site(&*store, &second).await, "stored");
    assert_eq!(put_site(&*store, &first).await, "fenced");
    assert_eq!(stored(&*store, "s").await.unwrap().site, second.site);

    // Of those who change one version one is there first.
    let puts: Vec<_> = (0..6)
        .map(|n| put_of(named("s", &format!("{n}")), Some(second.target), false))
        .collect();
    let outcomes = puts.iter().map(|put| put_site(&*store, put));
    let outcomes = futures_util::future::join_all(outcomes).await;
    let won: Vec<_> = (0..6).filter(|at| outcomes[*at] == "stored").collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    let found = stored(&*store, "s").await.unwrap();
    assert_eq!(found.version, puts[won[0]].target);
    assert_eq!(found.site, puts[won[0]].site);
}

/// Noted with the change itself, and begun anew by the next one.
pub(crate) async fn a_site_notes_that_its_copies_are_to_be_rewritten(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut version = None;
    for (rewrite, expected) in [
        (false, None),
        (true, Some(CopiesProgress::default())),
        (false, Some(CopiesProgress::default())),
        (true, Some(CopiesProgress::default())),
    ] {
        let put = put_of(whole_site("s"), version, rewrite);
        assert_eq!(put_site(&*store, &put).await, "stored");
        version = Some(put.target);
        let found = stored(&*store, "s").await.unwrap();
        assert_eq!(found.copies, expected);
        assert_eq!(found.version, put.target);
        let listed = store.sites(None, 9).await.unwrap();
        assert_eq!(listed, [found]);
    }
}
