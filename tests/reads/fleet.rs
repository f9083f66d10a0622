//! The data: three sites of twenty sensors, written through the store as a flush
//! writes it. One sensor has a month of readings, one a minute; the others have
//! its last two hours.

use hourglass::bucket::{Merge, RecentList};
use hourglass::model::{
    BucketKey, HourRange, HourStart, MeasureName, Micros, SensorDetails, SensorId, Site, SiteId,
    Tags,
};
use hourglass::store::mongodb::MongoStore;
use hourglass::store::{
    BucketVersion, BucketWrite, Expect, RecentWrite, RecordVersion, SensorPut, SensorTold, SitePut,
    Store, WriteOutcome,
};

pub(super) const SITES: usize = 3;
pub(super) const SENSORS_A_SITE: usize = 20;
pub(super) const MONTH_HOURS: i32 = 720;
/// Readings an hour.
pub(super) const READINGS: usize = 60;
/// 2026-05-01T00 in hours since the epoch.
pub(super) const FIRST_HOUR: i32 = 493_776;

pub(super) fn sensor(number: usize) -> SensorId {
    SensorId::new(&format!("S{number:03}")).unwrap()
}

pub(super) fn site(number: usize) -> SiteId {
    SiteId::new(&format!("site-{number}")).unwrap()
}

/// All sensors, those of a site together.
pub(super) fn sensors() -> Vec<SensorId> {
    (0..SITES * SENSORS_A_SITE).map(sensor).collect()
}

/// The month.
pub(super) fn month() -> HourRange {
    HourRange {
        from: HourStart::from_hours(FIRST_HOUR),
        to: HourStart::from_hours(FIRST_HOUR + MONTH_HOURS),
    }
}

/// The hours in which a sensor has readings.
pub(super) fn hours_of(number: usize) -> std::ops::Range<i32> {
    let end = FIRST_HOUR + MONTH_HOURS;
    match number {
        0 => FIRST_HOUR..end,
        _ => end - 2..end,
    }
}

/// The instants and values of an hour.
pub(super) fn readings_of(hour: i32) -> impl Iterator<Item = (Micros, f64)> {
    (0..READINGS).map(move |minute| {
        let at = HourStart::from_hours(hour).at(minute as u32 * 60_000_000);
        (at, 20.0 + minute as f64 / 10.0)
    })
}

/// When a sensor was last heard of: one more of each site is silent with every
/// hour.
pub(super) fn last_seen(number: usize) -> Micros {
    let silent_hours = (number % SENSORS_A_SITE) as i32;
    HourStart::from_hours(FIRST_HOUR + MONTH_HOURS - silent_hours).start()
}

/// Its attributes: five, two of which the questions are about.
pub(super) fn attributes(number: usize) -> Tags {
    let firmware = ["2.0", "2.1", "2.2", "2.10"][number % 4];
    let room = format!("{}b", number % 5);
    let serial = format!("SN-{number:06}");
    Tags::new([
        ("firmware", firmware),
        ("room", &room),
        ("serial", &serial),
        ("vendor", "acme"),
        ("line", "north"),
    ])
}

/// Writes all of it.
pub(super) async fn fill(store: &MongoStore) {
    for number in 0..SITES {
        let put = SitePut {
            site: Site {
                id: site(number),
                name: Some(format!("Plant {number}").into()),
                city: Some("Bern".into()),
                address: Some("Main Street 1".into()),
                position: None,
                contacts: Vec::new(),
                time_zone: Some("Europe/Zurich".into()),
                notes: None,
                retention: hourglass::model::Retention::default(),
            },
            expect: None,
            target: RecordVersion { rev: 1, by: 1 },
            rewrite_copies: false,
        };
        let outcome = store.put_site(&put).await.unwrap();
        assert!(matches!(outcome, WriteOutcome::Stored));
    }
    let mut by = 1;
    for number in 0..SITES * SENSORS_A_SITE {
        let (writes, recent) = buckets(number, &mut by);
        for writes in writes.chunks(1000) {
            let outcomes = store.write(writes).await.unwrap();
            assert!(outcomes.iter().all(|o| matches!(o, WriteOutcome::Stored)));
        }
        let told = SensorTold {
            sensor: sensor(number),
            last_seen: Some(last_seen(number)),
            attributes: attributes(number),
            recent: Some(RecentWrite {
                expect: None,
                target: RecordVersion { rev: 1, by: 1 },
                readings: recent.readings(),
            }),
        };
        let outcomes = store.touch(&[told]).await.unwrap();
        assert!(matches!(outcomes[0], WriteOutcome::Stored));
    }
    let puts: Vec<SensorPut> = (0..SITES * SENSORS_A_SITE).map(put).collect();
    let outcomes = store.put_sensors(&puts).await.unwrap();
    assert!(outcomes.iter().all(|o| matches!(o, WriteOutcome::Stored)));
}

fn put(number: usize) -> SensorPut {
    let site_number = number / SENSORS_A_SITE;
    let copy = hourglass::model::SiteCopy {
        id: site(site_number),
        name: Some(format!("Plant {site_number}").into()),
        city: Some("Bern".into()),
        rev: 1,
    };
    SensorPut {
        id: sensor(number),
        expect: None,
        target: RecordVersion { rev: 1, by: 1 },
        details: SensorDetails {
            name: Some(format!("Boiler {number}").into()),
            model: Some("SHT31".into()),
            site: Some(copy),
            ..SensorDetails::default()
        },
        attributes_removed: Vec::new(),
    }
}

fn buckets(number: usize, by: &mut i64) -> (Vec<BucketWrite>, RecentList) {
    let temp = MeasureName::new("temp").unwrap();
    let mut recent = RecentList::new(20);
    let mut writes = Vec::new();
    for hour in hours_of(number) {
        let mut merge = Merge::default();
        for (at, value) in readings_of(hour) {
            merge.add(at.offset(), [(&temp, value)]);
            recent.put(at, [(&temp, value)]);
        }
        *by += 1;
        writes.push(BucketWrite {
            key: BucketKey {
                sensor: sensor(number),
                hour: HourStart::from_hours(hour),
            },
            expect: Expect::Absent,
            target: BucketVersion {
                part: 0,
                rev: 1,
                by: *by,
            },
            elements: merge.elements().clone(),
            computed: merge.computed(0, merge.elements().len()),
        });
    }
    (writes, recent)
}
