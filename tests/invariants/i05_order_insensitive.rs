//! I5: any permutation of conflict-free input gives the same buckets: instants,
//! values and computed fields; sums within 1e-12 of the sum of magnitudes.
//!
//! Method: the same readings, duplicates and late measures among them, go in
//! in two orders, among different flushes, evictions and crashes, into parts
//! of different sizes. Large magnitudes meet many small ones in a full bucket,
//! where an uncompensated sum breaks the bound.

use std::collections::BTreeMap;

use hourglass::bucket::{Computed, check};
use hourglass::model::BucketKey;
use proptest::collection::vec;
use proptest::prelude::*;

use super::cases;
use simulation::World;
use simulation::action::{Action, Body, EPOCH, Item, Mix, Setup, actions, body, setup};
use simulation::answer::same;
use simulation::naive::{Values, values_in};

const MIX: Mix = Mix {
    crashes: true,
    other_process: false,
    queries: false,
    conflicts: false,
    deletions: false,
};

/// Each bucket's values and stated computed fields, over its parts.
type Buckets = BTreeMap<BucketKey, (Values, Computed)>;

/// What is stored of `bodies` once all is at rest; something happens behind
/// each.
fn buckets(setup: Setup, bodies: &[Body], between: &[Action]) -> Result<Buckets, String> {
    let mut world = World::new(setup)?;
    let mut between = between.iter();
    for body in bodies {
        world.act(&Action::Ingest(vec![body.clone()], None))?;
        let mut next = between.next();
        // The input is the same for both orders, and nothing of it is refused.
        while let Some(Action::Ingest(..)) = next {
            next = between.next();
        }
        match next {
            Some(Action::Kill(_)) => world.act(&Action::Kill(None))?,
            Some(Action::PowerCut(cut, _)) => world.act(&Action::PowerCut(cut.clone(), None))?,
            Some(action) => world.act(action)?,
            None => {}
        }
    }
    world.drain()?;
    let stated = world.store.buckets().into_iter().map(|bucket| {
        let mut computed = Computed::default();
        for part in &bucket.parts {
            computed.merge(&part.computed);
        }
        let values = values_in(&bucket).into_iter().collect();
        (bucket.key, (values, computed))
    });
    Ok(stated.collect())
}

fn compare(one: &Buckets, other: &Buckets) -> Result<(), String> {
    if !one.keys().eq(other.keys()) {
        return Err(format!("I5: {:?} and {:?}", one.keys(), other.keys()));
    }
    for (key, (values, computed)) in one {
        let (other_values, other_computed) = &other[key];
        if !same(values, other_values) {
            return Err(format!("I5: {key}: {values:?} and {other_values:?}"));
        }
        let magnitude = |name: &hourglass::model::MeasureName| {
            let of = values.iter().filter(|((_, _, m), _)| m == name.as_str());
            of.map(|(_, value)| value.abs()).sum()
        };
        if let Some(difference) = check(computed, other_computed, magnitude).first() {
            return Err(format!("I5: {key}: {difference}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i05_any_order_gives_the_same_buckets(
        setups in (setup(), setup()),
        (bodies, shuffled) in vec(body(false), 1..20)
            .prop_flat_map(|bodies| (Just(bodies.clone()), Just(bodies).prop_shuffle())),
        between in (actions(MIX, 30), actions(MIX, 30)),
    ) {
        let run = || {
            let one = buckets(setups.0, &bodies, &between.0)?;
            compare(&one, &buckets(setups.1, &shuffled, &between.1)?)
        };
        prop_assert_eq!(run(), Ok(()));
    }
}

/// One large value among 36,000 small ones: a plain sum that meets it first
/// loses every small one, 3.6 times what the bound allows.
#[test]
fn i05_sums_of_a_full_bucket_keep_their_bound_in_any_order() {
    let item = |n: i64| Item::Reading {
        sensor: "S1",
        at: EPOCH + n * 100_000,
        values: vec![("temp", if n == 0 { 1e16 } else { 1.0 })],
    };
    let setup = Setup {
        segment_bytes: 1 << 20,
        tail_bytes: 64 << 20,
        buffer_bytes: 64 << 20,
        part_bytes_max: None,
    };
    let flush = [
        Action::Apply(1),
        Action::Flush {
            buckets_max: 1,
            everything: true,
            trouble: None,
        },
        Action::Finish,
    ];
    let sum_of = |order: Vec<i64>| {
        let mut world = World::new(setup).unwrap();
        for body in order.chunks(9001) {
            let body = body.iter().map(|n| item(*n)).collect();
            world.act(&Action::Ingest(vec![body], None)).unwrap();
            flush.iter().for_each(|action| world.act(action).unwrap());
        }
        let bucket = world.store.buckets().pop().unwrap();
        let computed = &bucket.parts[0].computed;
        let stats = computed.measures.values().next().unwrap();
        assert_eq!((computed.count, stats.count), (36_000, 36_000));
        stats.sum.value()
    };
    let exact = 1e16 + 35_999.0;
    for order in [(0..36_000).collect(), (0..36_000).rev().collect::<Vec<_>>()] {
        let error = (sum_of(order) - exact).abs();
        assert!(error <= 1e-12 * exact, "the error is {error}");
    }
}
