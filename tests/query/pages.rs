//! Pages joined are the whole.

use serde_json::{Value, json};

use super::fixture::Site;

/// Follows `next` to the end: every reading, and the sizes of the pages.
async fn follow(site: &Site, query: &str) -> (Vec<Value>, Vec<usize>) {
    let (mut all, mut sizes) = (Vec::new(), Vec::new());
    let mut cursor = String::new();
    loop {
        let answer = site.readings(&format!("{query}{cursor}")).await;
        let page = answer["readings"].as_array().unwrap();
        sizes.push(page.len());
        all.extend(page.iter().cloned());
        match answer["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (all, sizes),
        }
        assert!(sizes.len() <= site.instants.len(), "{query} never ends");
    }
}

#[tokio::test]
async fn pages_of_any_size_are_the_whole_in_both_orders() {
    let site = Site::start().await;
    let whole = site.readings("").await["readings"].clone();
    let mut whole = whole.as_array().unwrap().clone();
    assert_eq!(whole.len(), 35);
    for order in ["asc", "desc"] {
        for limit in [1, 2, 5, 7, 34, 35, 36, 1000] {
            let query = format!("?order={order}&limit={limit}");
            let (joined, sizes) = follow(&site, &query).await;
            assert_eq!(joined, whole, "{query}");
            // No page is short but the last, and none is empty.
            let full = sizes.iter().take(sizes.len() - 1);
            assert!(
                full.clone().all(|size| *size == limit),
                "{query}: {sizes:?}"
            );
            assert_eq!(sizes.len(), 35_usize.div_ceil(limit), "{query}");
        }
        whole.reverse();
    }
}

#[tokio::test]
async fn pages_keep_to_the_range_and_the_measures() {
    let site = Site::start().await;
    let all = &site.instants;
    let range = format!("from={}&to={}", all[3], all[30]);
    for order in ["asc", "desc"] {
        let query = format!("?{range}&order={order}&measure=humidity");
        let whole = site.readings(&query).await["readings"].clone();
        assert_eq!(whole.as_array().unwrap().len(), 13);
        for limit in [1, 4, 13] {
            let (joined, sizes) = follow(&site, &format!("{query}&limit={limit}")).await;
            assert_eq!(Value::from(joined), whole);
            assert_eq!(sizes.len(), 13_usize.div_ceil(limit));
        }
    }
}

#[tokio::test]
async fn a_cursor_outside_the_range_neither_widens_nor_repeats_it() {
    let site = Site::start().await;
    let all = &site.instants;
    let range = format!("?from={}&to={}", all[10], all[20]);
    for (order, cursor, expected) in [
        ("asc", &all[2], &all[10..20]),
        ("asc", &all[25], &all[..0]),
        ("asc", &all[14], &all[15..20]),
        ("desc", &all[25], &all[10..20]),
        ("desc", &all[2], &all[..0]),
        ("desc", &all[14], &all[10..14]),
    ] {
        let query = format!("{range}&order={order}&cursor={cursor}");
        let mut found = site.instants(&query).await;
        if order == "desc" {
            found.reverse();
        }
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn lines_stop_at_the_limit_too() {
    let site = Site::start().await;
    for (format, head) in [("ndjson", 0), ("csv", 1)] {
        let path = format!("/v1/sensors/S1/readings?limit=10&order=desc&format={format}");
        let (status, text) = site.hourglass.get_text(&path).await;
        assert_eq!((status, text.lines().count()), (200, 10 + head), "{text}");
        let path = format!("/v1/sensors/S1/readings?format={format}");
        let (_, text) = site.hourglass.get_text(&path).await;
        assert_eq!(text.lines().count(), 35 + head);
    }
    let answer = site.readings("?limit=35").await;
    assert_eq!(answer["next"], json!(null));
}
