//! Runs from seeds: the same seed is the same run, whenever and wherever.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::World;
use crate::action::{Action, Mix, Question, SENSORS, Setup, actions, setup};
use crate::invariants;

/// What may happen, by turns: another process and its conflicts, deletions, a
/// calm life in which versions decide.
pub const MIXES: [Mix; 3] = [
    Mix {
        crashes: true,
        other_process: true,
        queries: true,
        conflicts: true,
        deletions: false,
    },
    Mix {
        crashes: true,
        other_process: false,
        queries: true,
        conflicts: true,
        deletions: true,
    },
    Mix {
        crashes: false,
        other_process: false,
        queries: true,
        conflicts: true,
        deletions: false,
    },
];

/// The journal is tried as a start would find it after one action of so many.
const JOURNAL_EVERY: usize = 8;

/// Tries to make a failing schedule smaller at most.
const SHRINKS_MAX: usize = 4000;

/// What happens in a run.
#[derive(Debug, Clone)]
pub struct Schedule {
    pub seed: u64,
    pub mix: Mix,
    pub setup: Setup,
    pub actions: Vec<Action>,
}

/// A schedule in which an invariant does not hold.
#[derive(Debug, Clone)]
pub struct Failure {
    pub schedule: Schedule,
    /// Which invariant, and what shows it.
    pub reason: String,
    /// Number of the action behind which it showed, from 0; that of all actions
    /// where it was at rest.
    pub at: usize,
}

impl Schedule {
    /// The schedule of a seed, of fewer than `operations` actions.
    #[must_use]
    pub fn of(seed: u64, operations: usize) -> Self {
        let (mix, mut tree) = tree(seed, operations);
        Self::current(seed, mix, &mut tree)
    }

    fn current(seed: u64, mix: Mix, tree: &mut Tree) -> Self {
        let (setup, actions) = tree.current();
        Self {
            seed,
            mix,
            setup,
            actions,
        }
    }

    /// Lets it happen; invariants are checked after every action and at rest.
    /// A panic of the code under test is a failure too.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn run(&self) -> Result<(), Box<Failure>> {
        let mut at = 0;
        let run = std::panic::AssertUnwindSafe(|| self.steps(&mut at));
        let ended = std::panic::catch_unwind(run);
        let ended = ended.unwrap_or_else(|panic| Err(format!("a panic: {}", message(&*panic))));
        ended.map_err(|reason| {
            Box::new(Failure {
                schedule: self.clone(),
                reason,
                at,
            })
        })
    }

    fn steps(&self, at: &mut usize) -> Result<(), String> {
        let mut world = World::new(self.setup)?;
        for action in &self.actions {
            world.act(action)?;
            invariants::after_action(&world, self.mix)?;
            let of_the_journal = self.seed.wrapping_add(*at as u64);
            if of_the_journal.is_multiple_of(JOURNAL_EVERY as u64) {
                let choice = of_the_journal.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8;
                invariants::of_the_journal(&world, self.mix, choice)?;
            }
            *at += 1;
        }
        world.drain()?;
        invariants::at_rest(&world, self.mix)?;
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
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("of no text").to_owned()
}

type Tree = Box<dyn ValueTree<Value = (Setup, Vec<Action>)>>;

fn tree(seed: u64, operations: usize) -> (Mix, Tree) {
    let mix = MIXES[(seed % MIXES.len() as u64) as usize];
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = (setup(), actions(mix, operations));
    let tree = strategy
        .new_tree(&mut runner)
        .expect("nothing of it is rejected");
    (mix, Box::new(tree))
}

/// The smallest failure that follows from one of a seed by leaving out and
/// simplifying.
#[must_use]
pub fn shrink(failure: Failure, operations: usize) -> Failure {
    let (mix, mut tree) = tree(failure.schedule.seed, operations);
    let mut smallest = failure;
    for _ in 0..SHRINKS_MAX {
        let seed = smallest.schedule.seed;
        let moved = match Schedule::current(seed, mix, &mut tree).run() {
            Err(failure) => {
                smallest = *failure;
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
        if !moved {
            break;
        }
    }
    smallest
}
