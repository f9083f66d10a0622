//! What a pass drops, and what it leaves.

use hourglass::model::{
    HourRange, HourStart, Keep, Retention, SensorDetails, Site, SiteId, TimeRange,
};
use hourglass::store::{RecordVersion, SensorPut, SitePut, WriteOutcome};

use super::builders::{HOUR, Process, batch, hours, keeping, key, now, run_turn, sensor};

const ALL: [i32; 6] = [
    HOUR - 2000,
    HOUR - 100,
    HOUR - 49,
    HOUR - 48,
    HOUR - 5,
    HOUR,
];

/// Which of [`ALL`] are there, and which of these have readings.
async fn left(process: &Process, id: &str) -> (Vec<i32>, Vec<i32>) {
    let (mut there, mut raw) = (Vec::new(), Vec::new());
    for hour in ALL {
        if let Some(bucket) = process.load(&key(id, hour)).await {
            there.push(hour - HOUR);
            assert_eq!(bucket.parts[0].computed.count, 2);
            if !bucket.parts[0].raw_dropped {
                assert_eq!(bucket.parts[0].elements.len(), 2);
                raw.push(hour - HOUR);
            }
        }
    }
    (there, raw)
}

async fn filled(process: &Process, sensors: &[&str]) {
    for (seq, id) in sensors.iter().enumerate() {
        process.apply(seq as u64, &batch(id, ALL));
    }
    process.flush().await;
}

#[tokio::test]
async fn both_tiers_drop_what_is_older_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(hours(1000), hours(48)), 1);
    // As if it had come in before the setting.
    let before = Process::over(
        std::sync::Arc::clone(&process.store),
        &keeping(Keep::Forever, Keep::Forever),
        2,
    );
    filled(&before, &["S1", "S2"]).await;
    let all = TimeRange::ALL.hours();
    let kept = HourRange {
        from: HourStart::from_hours(HOUR - 1000),
        ..all
    };
    let ids = [sensor("S1"), sensor("S2")];
    let answer = |hours| {
        let store = std::sync::Arc::clone(&process.store);
        let ids = ids.clone();
        async move {
            let answer = store.hours(&ids, hours).await.unwrap();
            let fields = answer.into_iter().map(|hour| (hour.key, hour.computed));
            fields.collect::<Vec<_>>()
        }
    };
    let fields = answer(kept).await;

    let dropped = process.sweep(now()).await;
    assert_eq!(
        (dropped.hours, dropped.readings, dropped.refused),
        (2, 4, 0)
    );
    for id in ["S1", "S2"] {
        let (there, raw) = left(&process, id).await;
        assert_eq!(there, [-100, -49, -48, -5, 0]);
        assert_eq!(raw, [-48, -5, 0]);
    }
    assert_eq!(answer(all).await, fields, "computed fields stay the same");
    let again = process.sweep(now()).await;
    assert_eq!((again.hours, again.readings), (0, 0));

    let records = process.store.sensors(&ids).await.unwrap();
    for record in records {
        let oldest = record.recent.readings.last().unwrap().at;
        assert_eq!(oldest.hour().hours(), HOUR - 48);
        assert_eq!(record.recent.readings.len(), 6);
        let dropped = record.raw_dropped_before.unwrap();
        assert_eq!(dropped.hours(), HOUR - 48);
    }
}

#[tokio::test]
async fn the_sensor_and_its_site_say_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, Keep::Forever), 1);
    filled(&process, &["S1", "S2", "S3"]).await;
    let version = RecordVersion { rev: 1, by: 77 };
    let id = SiteId::new("plant").unwrap();
    let site = Site {
        id: id.clone(),
        name: None,
        city: None,
        address: None,
        position: None,
        contacts: Vec::new(),
        time_zone: None,
        notes: None,
        retention: Retention {
            hours: Some(hours(60)),
            readings: Some(hours(50)),
        },
    };
    let put = SitePut {
        site: site.clone(),
        expect: None,
        target: version,
        rewrite_copies: false,
    };
    let outcome = process.store.put_site(&put).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored));
    let put = |id: &str, readings| SensorPut {
        id: sensor(id),
        expect: None,
        target: version,
        details: SensorDetails {
            site: Some(site.copy(1)),
            retention: Retention {
                hours: None,
                readings,
            },
            ..SensorDetails::default()
        },
        attributes_removed: Vec::new(),
    };
    let puts = [put("S2", None), put("S3", Some(hours(6)))];
    for outcome in process.store.put_sensors(&puts).await.unwrap() {
        assert!(matches!(outcome, WriteOutcome::Stored));
    }
    process.sweep(now()).await;
    let (there, raw) = left(&process, "S1").await;
    assert_eq!((there.len(), raw.len()), (6, 6));
    let (there, raw) = left(&process, "S2").await;
    assert_eq!(there, [-49, -48, -5, 0]);
    assert_eq!(raw, [-49, -48, -5, 0]);
    let (there, raw) = left(&process, "S3").await;
    assert_eq!(there, [-49, -48, -5, 0]);
    assert_eq!(raw, [-5, 0]);
    // What each takes is what each keeps.
    let oldest = |id: &str| process.table.oldest_kept(&sensor(id)).hours() - HOUR;
    assert_eq!(oldest("S2"), -50);
    assert_eq!(oldest("S3"), -6);
    assert!(oldest("S1") < -1_000_000);
}

/// What is being written when the pass comes would come in behind it.
#[tokio::test]
async fn a_bucket_that_is_being_written_holds_the_pass_back() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(49)), 1);
    let before = Process::over(
        std::sync::Arc::clone(&process.store),
        &keeping(Keep::Forever, Keep::Forever),
        2,
    );
    filled(&before, &["S1"]).await;
    // Planned while its hour was still kept.
    process.apply(1, &batch("S1", [HOUR - 47]));
    process.apply(2, &batch("S1", [HOUR - 49]));
    let leases = process.lease();
    assert_eq!(leases.len(), 2);
    let later = now().saturating_add(2 * 3_600_000_000);
    assert_eq!(process.sweep(later).await.readings, 2);
    let (_, raw) = left(&process, "S1").await;
    assert_eq!(raw, [-49, -48, -5, 0], "from the one under way on all stay");
    process.write(leases).await;
    process.assert_balances();
    assert_eq!(process.sweep(later).await.readings, 2);
    let (there, raw) = left(&process, "S1").await;
    assert_eq!((there.len(), raw), (6, vec![-5, 0]));
}

/// A deletion makes the buffer forget an hour, but its write is still out.
#[tokio::test]
async fn a_forgotten_write_that_is_out_holds_the_pass_back() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(49)), 1);
    let before = Process::over(
        std::sync::Arc::clone(&process.store),
        &keeping(Keep::Forever, Keep::Forever),
        2,
    );
    filled(&before, &["S1"]).await;
    process.apply(1, &batch("S1", [HOUR - 49]));
    let leases = process.lease();
    let hour = HourStart::from_hours(HOUR - 49);
    let range = TimeRange {
        from: hour.start(),
        to: hour.next().start(),
    };
    process.buffer.delete(2, &sensor("S1"), range);
    let later = now().saturating_add(2 * 3_600_000_000);
    assert_eq!(process.sweep(later).await.readings, 2);
    process.write(leases).await;
    process.buffer.end_deletion(2);
    assert_eq!(process.sweep(later).await.readings, 2);
    let (_, raw) = left(&process, "S1").await;
    assert_eq!(raw, [-5, 0]);
}

#[tokio::test]
async fn a_sensor_without_buckets_and_an_empty_store_are_nothing_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(hours(10), hours(10)), 1);
    assert_eq!(process.sweep(now()).await.hours, 0);
    let mut pass = process.pass(now());
    let mut turns = 0;
    while run_turn(&mut pass).await {
        turns += 1;
    }
    assert!(turns < 5, "{turns}");
}

/// It was queued by what the sensor said before.
#[tokio::test]
async fn a_sensor_that_is_to_be_kept_longer_now_holds_back_a_pass_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let before = Process::on(dir.path(), &keeping(Keep::Forever, Keep::Forever), 1);
    filled(&before, &["S1", "S2", "S3"]).await;
    let settings = keeping(hours(1000), hours(48));
    for hold_all in [false, true] {
        let process = Process::over(std::sync::Arc::clone(&before.store), &settings, 2);
        let mut pass = process.pass(now());
        // The page, and where its buckets begin: all is queued, nothing is gone.
        assert!(run_turn(&mut pass).await && run_turn(&mut pass).await);
        assert_eq!((pass.dropped().hours, pass.dropped().readings), (0, 0));
        if hold_all {
            process.table.hold_all();
        } else {
            process.table.hold(&sensor("S2"));
        }
        while run_turn(&mut pass).await {}
        // The second time the others are gone already.
        let expected = if hold_all { (0, 0) } else { (2, 4) };
        let dropped = pass.dropped();
        assert_eq!((dropped.hours, dropped.readings), expected);
        let (there, raw) = left(&process, "S2").await;
        assert_eq!((there.len(), raw.len()), (6, 6));
        let kept_too = key("S2", HOUR - 2000).hour;
        assert!(process.table.oldest_kept(&sensor("S2")) <= kept_too);
    }
    // The next one looks at what is said now, which is nothing.
    let process = Process::over(std::sync::Arc::clone(&before.store), &settings, 3);
    process.table.hold_all();
    let dropped = process.sweep(now()).await;
    assert_eq!((dropped.hours, dropped.readings), (1, 2));
}
