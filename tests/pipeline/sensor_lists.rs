//! Lists of sensors: whatever of them the store was told, is being told or was
//! not told yet, all pages together are what a naive filter finds among all that
//! was heard and said; and so is the count of silent ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hourglass::buffer::{Buffer, Told};
use hourglass::model::{Micros, SensorId, SiteCopy, SiteId, Tags};
use hourglass::query::{Completeness, Query};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{
    AttributeFilter, RecordVersion, SensorFilter, SensorPut, SensorTold, Store, StoredSensor,
    WriteOutcome,
};
use proptest::prelude::*;

use super::builders::{HOUR, Pipeline, Sizes, buffer, now, reading, under};

const SENSORS: [&str; 6] = ["a", "a b", "b", "c", "d", "é"];
const KEYS: [&str; 2] = ["fw", "room"];
const TEXTS: [&str; 5] = ["1", "1.5", "10", "2", "x"];
const SITES: [&str; 2] = ["here", "there"];

#[derive(Debug, Clone)]
enum Step {
    /// A reading of a sensor, under a tag perhaps, so many milliseconds later.
    Hear(usize, Option<(usize, usize)>, i64),
    /// People set an attribute and a site.
    Say(usize, (usize, usize), usize),
    /// The telling that is under way takes a step, or one begins of these sensors.
    Tell(u8),
    /// Everything is told; the next buffer knows nothing.
    Restart,
    /// All pages of that size. Tellings go on between them.
    Ask(SensorFilter, usize),
}

fn condition() -> impl Strategy<Value = AttributeFilter> {
    let bound = || proptest::option::of(0..3u8).prop_map(|bound| bound.map(f64::from));
    (0..KEYS.len(), 0..3, 0..TEXTS.len(), bound(), bound()).prop_map(
        |(key, kind, text, min, max)| {
            let key = KEYS[key].into();
            match kind {
                0 => AttributeFilter::Equals {
                    key,
                    text: TEXTS[text].into(),
                },
                1 => AttributeFilter::Prefix {
                    key,
                    prefix: TEXTS[text][..1].into(),
                },
                _ => AttributeFilter::Between { key, min, max },
            }
        },
    )
}

fn filter() -> impl Strategy<Value = SensorFilter> {
    let site = proptest::option::weighted(0.3, 0..SITES.len());
    let silent_for = proptest::option::of(1..60i64);
    let attributes = proptest::collection::vec(condition(), 0..3);
    (site, silent_for, attributes).prop_map(|(site, silent_for, attributes)| SensorFilter {
        site: site.map(|site| SiteId::new(SITES[site]).unwrap()),
        attributes,
        // Of the clock that stands still; steps move what is heard.
        silent_since: silent_for.map(|millis| now().saturating_add(millis * 1000)),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let attribute = || (0..KEYS.len(), 0..TEXTS.len());
    let tag = proptest::option::of(attribute());
    let hear = (0..SENSORS.len(), tag, 0..6i64);
    let say = (0..SENSORS.len(), attribute(), 0..SITES.len());
    prop_oneof![
        4 => hear.prop_map(|(sensor, tag, millis)| Step::Hear(sensor, tag, millis)),
        1 => say.prop_map(|(sensor, set, site)| Step::Say(sensor, set, site)),
        4 => any::<u8>().prop_map(Step::Tell),
        1 => Just(Step::Restart),
        6 => (filter(), 1..8usize).prop_map(|(filter, limit)| Step::Ask(filter, limit)),
    ]
}

struct World {
    pipeline: Pipeline,
    store: Arc<EmbeddedStore>,
    buffer: Arc<Buffer>,
    /// What is being told, and whether the store has it.
    telling: Option<(Vec<SensorTold>, bool)>,
    millis: i64,
    changes: i64,
    /// All that was heard and said.
    known: BTreeMap<SensorId, StoredSensor>,
    _dir: tempfile::TempDir,
}

fn id(sensor: usize) -> SensorId {
    SensorId::new(SENSORS[sensor]).unwrap()
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap();
        Self {
            pipeline: Pipeline::new(Sizes::default()),
            store: Arc::new(store),
            buffer: Arc::new(buffer(1 << 24)),
            telling: None,
            millis: 0,
            changes: 0,
            known: BTreeMap::new(),
            _dir: dir,
        }
    }

    fn known(&mut self, sensor: usize) -> &mut StoredSensor {
        let id = id(sensor);
        self.known
            .entry(id.clone())
            .or_insert(StoredSensor::blank(id))
    }

    fn hear(&mut self, sensor: usize, tag: Option<(usize, usize)>, millis: i64) {
        self.millis += millis;
        self.changes += 1;
        let offset = u32::try_from(self.changes).unwrap();
        let tag = tag.map(|(key, text)| (KEYS[key], TEXTS[text]));
        let batch = match tag {
            None => reading(SENSORS[sensor], HOUR, offset, 1.0),
            Some(tag) => under(SENSORS[sensor], HOUR, offset, &[("temp", 1.0)], &[tag]),
        };
        // Stores keep whole milliseconds; the rest is not to matter.
        let at = now().saturating_add(self.millis * 1000);
        let seq = u64::from(offset);
        self.buffer.apply(seq, at, &batch, Duration::ZERO);
        let known = self.known(sensor);
        known.last_seen = Some(Micros::new(at.get() / 1000 * 1000).unwrap());
        if let Some((key, text)) = tag
            && known.details.attributes.get(key).is_none()
        {
            known.attributes.merge(&Tags::new([(key, text)]), 64);
        }
    }

    async fn say(&mut self, sensor: usize, (key, text): (usize, usize), site: usize) {
        self.changes += 1;
        let by = self.changes;
        let set = Tags::new([(KEYS[key], TEXTS[text])]);
        let known = self.known(sensor);
        known.attributes.merge(&set, 64);
        known.details.attributes.merge(&set, 64);
        known.details.site = Some(SiteCopy {
            id: SiteId::new(SITES[site]).unwrap(),
            name: None,
            city: None,
            rev: 1,
        });
        let expect = known.version;
        let rev = expect.map_or(0, |version| version.rev) + 1;
        let target = RecordVersion { rev, by };
        known.version = Some(target);
        let put = SensorPut {
            id: id(sensor),
            expect,
            target,
            details: known.details.clone(),
            attributes_removed: Vec::new(),
        };
        let outcomes = self.store.put_sensors(&[put]).await.unwrap();
        assert!(matches!(outcomes[..], [WriteOutcome::Stored]));
        self.buffer.retell(&id(sensor));
    }

    async fn tell(&mut self, which: u8) {
        match self.telling.take() {
            None => {
                let ids = (0..SENSORS.len()).filter(|n| which >> n & 1 == 1).map(id);
                let untold = self.buffer.take_untold(&ids.collect::<Vec<_>>());
                assert_eq!(untold.stale, []);
                self.telling = Some((untold.told, false));
            }
            Some((told, false)) => {
                self.store.touch(&told).await.unwrap();
                self.telling = Some((told, true));
            }
            Some((told, true)) => {
                let told = told.into_iter().map(|told| (told, Told::Settled));
                let _again = self.buffer.settle(&told.collect::<Vec<_>>());
            }
        }
    }

    async fn restart(&mut self) {
        // To the end of one that is under way, then a whole one.
        for _ in 0..6 {
            self.tell(u8::MAX).await;
        }
        while self.telling.is_some() {
            self.tell(u8::MAX).await;
        }
        assert_eq!(self.buffer.seen_untold(None), []);
        self.buffer = Arc::new(buffer(1 << 24));
    }

    fn query(&self) -> Query {
        Query::new(
            Arc::clone(&self.buffer),
            Arc::clone(&self.store) as _,
            Arc::clone(&self.pipeline.progress),
        )
    }

    async fn ask(&mut self, filter: &SensorFilter, limit: usize) -> Vec<StoredSensor> {
        let mut found = Vec::new();
        let mut after = None;
        for page in 0u8.. {
            let answer = self.query().sensors(filter, after.as_ref(), limit).await;
            let answer = answer.unwrap();
            assert_eq!(answer.completeness, Completeness::Complete);
            assert!(answer.sensors.len() <= limit);
            found.extend(answer.sensors);
            after = answer.next;
            if after.is_none() {
                break;
            }
            self.tell(page.wrapping_mul(37)).await;
        }
        found
    }

    fn silent_since(&self, since: Micros) -> u64 {
        let known = self.known.values().filter_map(|known| known.last_seen);
        known.filter(|seen| *seen < since).count() as u64
    }

    fn expected(&self, filter: &SensorFilter) -> Vec<StoredSensor> {
        let passing = self.known.values().filter(|known| filter.matches(known));
        let mut passing: Vec<StoredSensor> = passing.cloned().collect();
        passing.sort_by_key(|known| {
            let seen = filter.silent_since.and(known.last_seen);
            (seen, known.id.clone())
        });
        passing
    }
}

/// Few, as each step of the store waits for the disk; `PROPTEST_CASES` says more.
fn cases() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 16;
    }
    config
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn all_pages_are_what_a_naive_filter_finds(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        runtime.unwrap().block_on(async {
            let mut world = World::new();
            for step in &steps {
                match step {
                    Step::Hear(sensor, tag, millis) => world.hear(*sensor, *tag, *millis),
                    Step::Say(sensor, set, site) => world.say(*sensor, *set, *site).await,
                    Step::Tell(which) => world.tell(*which).await,
                    Step::Restart => world.restart().await,
                    Step::Ask(filter, limit) => {
                        let found = world.ask(filter, *limit).await;
                        prop_assert_eq!(found, world.expected(filter), "{:?} by {}", filter, limit);
                        let since = filter.silent_since.unwrap_or(now());
                        let silent = world.query().count_silent(since).await.unwrap();
                        let expected = world.silent_since(since);
                        prop_assert_eq!(silent, Some(expected), "silent since {}", since);
                    }
                }
            }
            world.pipeline.stop().await;
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_silent_sensor_is_found_by_a_tag_that_only_the_buffer_knows() {
    let mut world = World::new();
    world.hear(0, None, 0);
    for _ in 0..3 {
        world.tell(u8::MAX).await;
    }
    world.hear(0, Some((0, 0)), 1);
    let filter = SensorFilter {
        site: None,
        attributes: vec![AttributeFilter::Equals {
            key: KEYS[0].into(),
            text: TEXTS[0].into(),
        }],
        silent_since: Some(now().saturating_add(5000)),
    };
    let found = world.ask(&filter, 3).await;
    assert_eq!(found, world.expected(&filter));
    assert_eq!(found.len(), 1);
    world.pipeline.stop().await;
}
