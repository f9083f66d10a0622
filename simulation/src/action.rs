//! What can happen, generated over small domains so that collisions are
//! frequent.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::store::Trouble;

/// 2026-05-01T10:00:00Z, the first of the hours that readings fall into.
pub const EPOCH: i64 = 1_777_629_600_000_000;

pub const SENSORS: [&str; 3] = ["S1", "a|b", "S1|2026-05-01T10"];
pub const MEASURES: [&str; 3] = ["temp", "humidity", "sec"];

/// Hours that readings fall into, from [`EPOCH`] on.
pub const HOURS: i64 = 3;

/// Values of all measures; the last two are one number.
const VALUES: [f64; 4] = [1.5, -3.25e5, 0.0, -0.0];

/// One item of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Reading {
        sensor: &'static str,
        at: i64,
        values: Vec<(&'static str, f64)>,
    },
    /// Not acceptable, for want of a sensor.
    Bad,
}

/// Readings of one sensor from an instant to before another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deletion {
    pub sensor: &'static str,
    pub from: i64,
    pub to: i64,
}

/// Items that are sent, and become durable, as one.
pub type Body = Vec<Item>;

/// What the disk does to a group commit.
#[derive(Debug, Clone, Copy)]
pub enum DiskTrouble {
    /// It is full after so many bytes.
    NoRoom(usize),
    /// The bytes are written, the sync fails (or never ends).
    SyncFails,
    /// Nothing can be written.
    AppendFails,
    /// No segment can be begun for want of room.
    CreateNoRoom,
    /// The name of the next segment cannot be made durable.
    SyncNamesFails,
    /// The power goes, or the process ends, in the sync after so many others.
    PowerFails(u64),
    /// The power goes in the call after so many others that change the disk.
    PowerFailsAt(u64),
}

/// What is found of the unsynced after a power cut.
#[derive(Debug, Clone)]
pub enum Cut {
    /// Of each file the beginning: choices say how much.
    Prefix(Vec<usize>),
    /// Of each file some sectors: the seed of the choices.
    Sectors(u64),
}

/// What hinders the start after a crash; it then goes down and starts again.
#[derive(Debug, Clone, Copy)]
pub enum StartTrouble {
    /// The power goes in the call after so many others that change the disk.
    PowerFailsAt(u64),
    /// A read fails.
    ReadFails,
}

#[derive(Debug, Clone, Copy)]
pub enum Question {
    Readings {
        descending: bool,
    },
    Hourly,
    Latest,
    /// The newest readings on a sensor's page.
    Recent,
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub enum Action {
    /// Bodies that one group commit takes.
    Ingest(Vec<Body>, Option<DiskTrouble>),
    /// Seconds pass.
    Advance(u64),
    /// The wall clock steps by so many seconds, to either side.
    ClockSteps(i64),
    /// Turns of the applier.
    Apply(usize),
    /// A flush round begins.
    Flush {
        buckets_max: usize,
        everything: bool,
        trouble: Option<Trouble>,
    },
    /// A query begins.
    Ask(usize, Question),
    /// Something under way (a round or a query) goes on to its next pause.
    Step(usize),
    /// All that is under way goes on to its end.
    Finish,
    Evict {
        idle_seconds: u64,
    },
    Release,
    /// Another process takes a body and begins to flush it.
    OtherProcess(Body),
    /// The store goes away or comes back.
    Away(bool),
    DelayedArrives,
    /// Somebody deletes the readings of a sensor.
    Delete(Deletion),
    /// The task of deletions begins the next one, or goes on to its next pause.
    MakeDeletions(usize, Option<Trouble>),
    /// The next read of the disk fails.
    ReadFails,
    /// A clean stop, and the next start.
    Stop,
    Kill(Option<StartTrouble>),
    /// The power is cut.
    PowerCut(Cut, Option<StartTrouble>),
}

/// What a run may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    pub crashes: bool,
    pub other_process: bool,
    pub queries: bool,
    /// Whether an instant may come with different values.
    pub conflicts: bool,
    pub deletions: bool,
}

/// Bounds, small so that they are met.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub segment_bytes: u64,
    pub tail_bytes: usize,
    pub buffer_bytes: usize,
    pub part_bytes_max: Option<usize>,
}

pub fn setup() -> impl Strategy<Value = Setup> {
    (
        prop_oneof![Just(150_u64), Just(600), Just(1 << 20)],
        prop_oneof![Just(0_usize), Just(300), Just(1 << 20)],
        prop_oneof![Just(2500_usize), Just(1 << 20), Just(1 << 20)],
        prop::sample::select(vec![None, None, Some(500_usize), Some(620), Some(800)]),
    )
        .prop_map(
            |(segment_bytes, tail_bytes, buffer_bytes, part_bytes_max)| Setup {
                segment_bytes,
                tail_bytes,
                buffer_bytes,
                part_bytes_max,
            },
        )
}

/// Seconds of an hour that a short run has readings in, and one of
/// [`LONG_ACTIONS`].
const SECONDS: (i64, i64) = (6, 40);

/// From so many actions on there are more instants, or the later half of a run
/// would meet known ones alone.
const LONG_ACTIONS: usize = 200;

fn item(conflicts: bool, seconds: i64) -> impl Strategy<Value = Item> {
    let measures = prop::sample::subsequence(&MEASURES[..], 1..=2).prop_shuffle();
    // Most into one bucket, so that its parts fill up.
    let sensor = prop_oneof![2 => Just(SENSORS[0]), 1 => prop::sample::select(&SENSORS[..])];
    let reading = (
        sensor,
        prop_oneof![2 => Just(0), 1 => 0..HOURS],
        prop_oneof![0..seconds, Just(3599)],
        prop_oneof![4 => Just(0_i64), 1 => Just(1)],
        measures,
        vec(prop_oneof![5 => Just(0_usize), 1 => 1_usize..4], 2),
    )
        .prop_map(move |(sensor, hour, second, micros, measures, choices)| {
            let at = EPOCH + hour * 3_600_000_000 + second * 1_000_000 + micros;
            let own = (second + hour) as usize;
            let value = |choice: usize| VALUES[(own + choice) % VALUES.len()];
            let values = measures.into_iter().zip(choices);
            let values = values.map(|(m, c)| (m, value(if conflicts { c } else { 0 })));
            Item::Reading {
                sensor,
                at,
                values: values.collect(),
            }
        });
    prop_oneof![15 => reading, 1 => Just(Item::Bad)]
}

pub fn body(conflicts: bool) -> impl Strategy<Value = Body> {
    body_of(conflicts, SECONDS.0)
}

fn body_of(conflicts: bool, seconds: i64) -> impl Strategy<Value = Body> {
    vec(item(conflicts, seconds), 1..7)
}

fn disk_trouble() -> impl Strategy<Value = DiskTrouble> {
    prop_oneof![
        (0..200_usize).prop_map(DiskTrouble::NoRoom),
        Just(DiskTrouble::SyncFails),
        Just(DiskTrouble::AppendFails),
        Just(DiskTrouble::CreateNoRoom),
        Just(DiskTrouble::SyncNamesFails),
        (0..3_u64).prop_map(DiskTrouble::PowerFails),
        (0..8_u64).prop_map(DiskTrouble::PowerFailsAt),
    ]
}

fn trouble() -> impl Strategy<Value = Option<Trouble>> {
    prop_oneof![
        3 => Just(None),
        2 => prop::sample::select(vec![
            Trouble::ErrorBefore,
            Trouble::ReplyLost,
            Trouble::LostHalfWay,
            Trouble::Delayed,
            Trouble::FirstFails,
            Trouble::Refused,
            Trouble::Twice,
        ])
        .prop_map(Some),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    prop_oneof![
        any::<bool>().prop_map(|descending| Question::Readings { descending }),
        Just(Question::Hourly),
        Just(Question::Hourly),
        Just(Question::Latest),
        Just(Question::Recent),
    ]
}

fn start_trouble() -> impl Strategy<Value = Option<StartTrouble>> {
    prop_oneof![
        4 => Just(None),
        2 => (0..10_u64).prop_map(|steps| Some(StartTrouble::PowerFailsAt(steps))),
        1 => Just(Some(StartTrouble::ReadFails)),
    ]
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        vec(any::<usize>(), 0..6).prop_map(Cut::Prefix),
        any::<u64>().prop_map(Cut::Sectors),
    ]
}

fn action(mix: Mix, seconds: i64) -> BoxedStrategy<Action> {
    let conflicts = mix.conflicts;
    let body = move |conflicts| body_of(conflicts, seconds);
    let group = || vec(body(conflicts), 1..3);
    let flush = (1_usize..4, prop::bool::weighted(0.8), trouble()).prop_map(
        |(buckets_max, everything, trouble)| Action::Flush {
            buckets_max,
            everything,
            trouble,
        },
    );
    let usual = prop_oneof![
        10 => group().prop_map(|bodies| Action::Ingest(bodies, None)),
        1 => (1_u64..4000).prop_map(Action::Advance),
        1 => (-8000_i64..8000).prop_map(Action::ClockSteps),
        8 => (1_usize..4).prop_map(Action::Apply),
        8 => flush,
        16 => any::<usize>().prop_map(Action::Step),
        4 => Just(Action::Finish),
        4 => prop_oneof![2 => Just(0_u64), 1 => Just(600)]
            .prop_map(|idle_seconds| Action::Evict { idle_seconds }),
        3 => Just(Action::Release),
        1 => any::<bool>().prop_map(Action::Away),
        2 => Just(Action::Away(false)),
        1 => Just(Action::DelayedArrives),
    ];
    let mut all = vec![(56, usual.boxed())];
    if mix.queries {
        let ask = (0..SENSORS.len(), question());
        all.push((14, ask.prop_map(|(s, q)| Action::Ask(s, q)).boxed()));
    }
    if mix.other_process {
        all.push((4, body(conflicts).prop_map(Action::OtherProcess).boxed()));
    }
    if mix.deletions {
        let edit_trouble = prop_oneof![
            4 => Just(None),
            1 => prop::sample::select(vec![Trouble::ErrorBefore, Trouble::ReplyLost])
                .prop_map(Some),
        ];
        let make = (1_usize..12, edit_trouble);
        all.push((5, deletion().prop_map(Action::Delete).boxed()));
        all.push((
            8,
            make.prop_map(|(s, t)| Action::MakeDeletions(s, t)).boxed(),
        ));
    }
    if mix.crashes {
        let failing = (group(), disk_trouble());
        all.push((
            2,
            failing
                .prop_map(|(bodies, trouble)| Action::Ingest(bodies, Some(trouble)))
                .boxed(),
        ));
        all.push((1, Just(Action::ReadFails).boxed()));
        all.push((1, Just(Action::Stop).boxed()));
        all.push((2, start_trouble().prop_map(Action::Kill).boxed()));
        let cut = (cut(), start_trouble()).prop_map(|(c, t)| Action::PowerCut(c, t));
        all.push((2, cut.boxed()));
    }
    prop::strategy::Union::new_weighted(all).boxed()
}

fn deletion() -> impl Strategy<Value = Deletion> {
    // Whole hours, and ends within an hour; the last second is one of readings.
    let end = || {
        let second = prop_oneof![3 => Just(0_i64), 2 => 0..6_i64, 1 => Just(3599)];
        (0..=HOURS, second)
            .prop_map(|(hour, second)| EPOCH + hour * 3_600_000_000 + second * 1_000_000)
    };
    let sensor = prop_oneof![2 => Just(SENSORS[0]), 1 => prop::sample::select(&SENSORS[..])];
    (sensor, end(), end()).prop_map(|(sensor, a, b)| Deletion {
        sensor,
        from: a.min(b),
        to: a.max(b),
    })
}

/// A run of `actions` things.
pub fn actions(mix: Mix, actions: usize) -> impl Strategy<Value = Vec<Action>> {
    let seconds = match actions < LONG_ACTIONS {
        true => SECONDS.0,
        false => SECONDS.1,
    };
    vec(action(mix, seconds), 1..actions)
}
