//! What people say of sensors, beside what the sensors send.

use hourglass::model::{ATTRIBUTES_MAX, HourRange, SensorDetails, SiteCopy, Tags};
use hourglass::store::{RecentWrite, SensorFilter, SensorHoursRange};

use super::draft::{hour, sensor, unique_by, word};
use super::records::{
    all_details, attributed, next, paged, put, put_one, record, site_id, tell, told, wrong,
};
use crate::store_conformance::Fixture;

pub(crate) async fn what_people_put_comes_back_and_survives_reopening(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let all = put("S1", None, all_details(), &[]);
    let nothing = put("S2", None, SensorDetails::default(), &[]);
    let outcomes = store.put_sensors(&[all.clone(), nothing.clone()]).await;
    let outcomes: Vec<_> = outcomes.unwrap().iter().map(word).collect();
    assert_eq!(outcomes, ["stored"; 2]);
    assert!(store.put_sensors(&[]).await.unwrap().is_empty());
    drop(store);

    let store = fixture.open().await;
    for put in [&all, &nothing] {
        let stored = record(&*store, put.id.as_str()).await.unwrap();
        assert_eq!(stored.details, put.details);
        assert_eq!(stored.attributes, put.details.attributes);
        assert_eq!(stored.version, Some(put.target));
        assert_eq!(stored.last_seen, None);
        assert_eq!(stored.recent.version, None);
        assert_eq!(stored.raw_dropped_before, None);
        let listed = paged(&*store, &SensorFilter::default(), 9).await;
        assert!(listed.contains(&stored));
    }
}

pub(crate) async fn a_put_replaces_what_was_said_and_leaves_what_was_sent(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let mut heard = told("S1", 5, &[("fw", "1.0"), ("room", "sent"), ("x", "7")]);
    heard.recent = Some(RecentWrite {
        expect: None,
        target: next(None),
        readings: Vec::new(),
    });
    tell(&*store, &[heard.clone()]).await;
    let dropped = SensorHoursRange {
        sensor: sensor("S1"),
        hours: HourRange {
            from: hour(1),
            to: hour(2),
        },
    };
    store.drop_readings(&[dropped], unique_by()).await.unwrap();
    let before = record(&*store, "S1").await.unwrap();
    assert_eq!(before.version, None);

    let first = put("S1", None, all_details(), &["x", "never there"]);
    assert_eq!(put_one(&*store, &first).await, "stored");
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.details, first.details);
    let mut both = first.details.attributes.clone();
    both.merge(&Tags::new([("room", "sent")]), ATTRIBUTES_MAX);
    assert_eq!(stored.attributes, both);
    assert_eq!(stored.last_seen, before.last_seen);
    assert_eq!(stored.recent, before.recent);
    assert_eq!(stored.raw_dropped_before, Some(hour(2)));

    // A tag never changes what people set, also where it comes with others.
    let tags = [("fw", "9.9"), ("n", "1"), ("room", "5c"), ("x", "8")];
    tell(&*store, &[told("S1", 9, &tags)]).await;
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.details, first.details);
    let at = |key| stored.attributes.get(key);
    assert_eq!([at("fw"), at("n")], [Some("2.1"), Some("-0")]);
    assert_eq!([at("room"), at("x")], [Some("5c"), Some("8")]);
    assert_eq!(stored.version, Some(first.target));

    // What is not said any more is gone; so is a tag that people take over.
    let second = put("S1", stored.version, attributed(&[("room", "set")]), &[]);
    assert_eq!(put_one(&*store, &second).await, "stored");
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.details, second.details);
    assert_eq!(stored.attributes, Tags::new([("room", "set"), ("x", "8")]));
    assert_eq!(stored.raw_dropped_before, Some(hour(2)));

    // A key that people leave alone again is the sensor's.
    let third = put("S1", stored.version, SensorDetails::default(), &[]);
    assert_eq!(put_one(&*store, &third).await, "stored");
    tell(&*store, &[told("S1", 9, &[("room", "5c")])]).await;
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.attributes, Tags::new([("room", "5c"), ("x", "8")]));
    assert_eq!(stored.details, SensorDetails::default());
    assert_eq!(stored.version, Some(third.target));
}

pub(crate) async fn a_put_is_fenced_by_the_version_of_its_record(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let early = put("S1", Some(next(None)), all_details(), &[]);
    assert_eq!(put_one(&*store, &early).await, "fenced");
    assert_eq!(record(&*store, "S1").await, None);

    let first = put("S1", None, all_details(), &[]);
    // The second time its reply was lost.
    assert_eq!(put_one(&*store, &first).await, "stored");
    assert_eq!(put_one(&*store, &first).await, "stored");
    let before = record(&*store, "S1").await.unwrap();
    for expect in wrong(first.target) {
        let wrong = put("S1", expect, attributed(&[("fw", "3")]), &["n"]);
        assert_eq!(put_one(&*store, &wrong).await, "fenced");
        assert_eq!(record(&*store, "S1").await.unwrap(), before);
    }
    // One sensor's fence holds nobody else up.
    let right = put("S1", Some(first.target), attributed(&[("fw", "3")]), &[]);
    let gone = put("S2", Some(first.target), all_details(), &[]);
    let other = put("S3", None, all_details(), &[]);
    let round = [gone, right.clone(), other];
    let outcomes = store.put_sensors(&round).await.unwrap();
    let outcomes: Vec<_> = outcomes.iter().map(word).collect();
    assert_eq!(outcomes, ["fenced", "stored", "stored"]);
    assert_eq!(record(&*store, "S2").await, None);
    // Late: another one is in.
    assert_eq!(put_one(&*store, &first).await, "fenced");
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.details, right.details);
}

pub(crate) async fn of_many_who_put_one_sensor_none_loses_what_others_said(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let adds = async |key: String| loop {
        let stored = record(&*store, "S1").await;
        let expect = stored.as_ref().and_then(|stored| stored.version);
        let mut details = stored.map_or_else(SensorDetails::default, |stored| stored.details);
        let one = Tags::new([(key.as_str(), "1")]);
        details.attributes.merge(&one, ATTRIBUTES_MAX);
        // Two that make one sensor at one moment may be told to come again.
        let put = put("S1", expect, details, &[]);
        let outcomes = store.put_sensors(&[put]).await;
        if outcomes.is_ok_and(|outcomes| word(&outcomes[0]) == "stored") {
            return;
        }
    };
    let sends = async |from: i64| {
        for n in from..from + 8 {
            let told = told("S1", n, &[(&format!("sent{n}"), "1.5")]);
            while store.touch(std::slice::from_ref(&told)).await.is_err() {}
        }
    };
    let people = (0..8).map(|n| adds(format!("set{n}")));
    tokio::join!(futures_util::future::join_all(people), sends(10), sends(20));
    let stored = record(&*store, "S1").await.unwrap();
    let set: Vec<String> = (0..8).map(|n| format!("set{n}")).collect();
    let set = Tags::new(set.iter().map(|key| (key.as_str(), "1")));
    assert_eq!(stored.details.attributes, set);
    assert_eq!(stored.version.map(|version| version.rev), Some(8));
    assert_eq!(stored.attributes.len(), 8 + 16);
}

/// Those that people set have their place, whatever the sensor sends.
pub(crate) async fn at_64_attributes_those_that_people_set_stay(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let keys = |prefix: &str, count: usize| {
        let keys: Vec<String> = (0..count).map(|n| format!("{prefix}{n:02}")).collect();
        Tags::new(keys.iter().map(|key| (key.as_str(), "2.5")))
    };
    let mut full = told("S1", 1, &[]);
    full.attributes = keys("m", ATTRIBUTES_MAX);
    tell(&*store, &[full]).await;
    let mut details = attributed(&[]);
    details.attributes = keys("z", 4);
    let put = put("S1", None, details, &[]);
    assert_eq!(put_one(&*store, &put).await, "stored");

    let mut expected = put.details.attributes.clone();
    expected.merge(&keys("m", ATTRIBUTES_MAX - 4), ATTRIBUTES_MAX);
    let stored = record(&*store, "S1").await.unwrap();
    assert_eq!(stored.attributes, expected);
    assert_eq!(stored.details, put.details);
    // No room for those that went, known ones are updated.
    tell(&*store, &[told("S1", 1, &[("m00", "x"), ("m63", "x")])]).await;
    let stored = record(&*store, "S1").await.unwrap();
    expected.merge(&Tags::new([("m00", "x")]), ATTRIBUTES_MAX);
    assert_eq!(stored.attributes, expected);
}

/// A copy that was rewritten while it was on its way into the sensor again.
pub(crate) async fn a_put_never_takes_a_newer_copy_of_its_site_back(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let at = |id: &str, rev: i64| SensorDetails {
        site: Some(SiteCopy {
            id: site_id(id),
            name: Some(format!("$name {rev}").into()),
            city: None,
            rev,
        }),
        ..attributed(&[("fw", "1")])
    };
    let mut version = None;
    for (copy, kept) in [
        (at("s", 3), at("s", 3)),
        (at("s", 2), at("s", 3)),
        (at("s", 4), at("s", 4)),
        (at("t", 1), at("t", 1)),
        (attributed(&[]), attributed(&[])),
        (at("s", 1), at("s", 1)),
    ] {
        let put = put("S1", version, copy, &[]);
        assert_eq!(put_one(&*store, &put).await, "stored");
        version = Some(put.target);
        assert_eq!(record(&*store, "S1").await.unwrap().details, kept);
    }
}
