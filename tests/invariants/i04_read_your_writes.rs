//! I4: what was acknowledged is in every query of this process that covers it,
//! once, flushed or not, in mid-flight too; or the answer says that it may be
//! incomplete.
//!
//! Method: queries begin at any moment and stop at every step they take at the
//! store, while rounds, arrivals, another process and outages go on. Each hour
//! of an answer must be what a naive reader would have seen at some moment
//! since the query began.

use proptest::prelude::*;

use super::cases;
use simulation::World;
use simulation::action::{Action, EPOCH, Item, Mix, Question, SENSORS, Setup, actions, setup};

const MIX: Mix = Mix {
    crashes: true,
    other_process: true,
    queries: true,
    conflicts: true,
    deletions: false,
};

/// The same without what makes most hours be loaded: here versions decide.
const CALM: Mix = Mix {
    crashes: false,
    other_process: false,
    ..MIX
};

fn run(world: &mut World, actions: &[Action]) -> Result<(), String> {
    for action in actions {
        world.act(action)?;
    }
    world.drain()?;
    for sensor in 0..SENSORS.len() {
        for question in [
            Question::Readings { descending: false },
            Question::Readings { descending: true },
            Question::Hourly,
            Question::Latest,
            Question::Recent,
        ] {
            world.act(&Action::Ask(sensor, question))?;
            world.act(&Action::Finish)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn i04_every_query_shows_what_was_acknowledged(
        setup in setup(),
        actions in actions(MIX, 80),
    ) {
        let run = || run(&mut World::new(setup)?, &actions);
        prop_assert_eq!(run(), Ok(()));
    }

    #[test]
    fn i04_queries_among_flushes_show_each_reading_once(
        setup in setup(),
        actions in actions(CALM, 80),
    ) {
        let run = || run(&mut World::new(setup)?, &actions);
        prop_assert_eq!(run(), Ok(()));
    }
}

/// Late data for a forgotten bucket: the query has the computed fields and
/// loads the bucket when the store goes away.
#[test]
fn i04_an_outage_in_the_middle_of_a_query_is_told_as_incomplete() {
    let setup = Setup {
        segment_bytes: 1 << 20,
        tail_bytes: 1 << 20,
        buffer_bytes: 1 << 20,
        part_bytes_max: None,
    };
    let ingest = |second: i64| {
        let reading = Item::Reading {
            sensor: SENSORS[0],
            at: EPOCH + second * 1_000_000,
            values: vec![("temp", 1.5)],
        };
        Action::Ingest(vec![vec![reading]], None)
    };
    let flush = Action::Flush {
        buckets_max: 1,
        everything: true,
        trouble: None,
    };
    let mut world = World::new(setup).unwrap();
    let prelude = [ingest(0), Action::Apply(1), flush, Action::Finish];
    let late = [
        Action::Evict { idle_seconds: 0 },
        ingest(1),
        Action::Apply(1),
        Action::Ask(0, Question::Hourly),
    ];
    let outage = [
        Action::Step(0),
        Action::Step(0),
        Action::Away(true),
        Action::Finish,
    ];
    for action in prelude.iter().chain(&late).chain(&outage) {
        world.act(action).unwrap();
    }
    assert_eq!(world.answered, 1);
}
