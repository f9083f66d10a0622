//! `simulate`: runs schedules, seed after seed, and prints the one that fails.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use simulation::schedule::{Failure, Schedule, shrink};

/// How often the progress is told.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Runs the data path in a simulated world, one schedule a seed. Ends with 1
/// where an invariant does not hold.
#[derive(Debug, Parser)]
struct Args {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// A schedule has fewer actions than this.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(2..))]
    operations: u32,
    /// Threads; one for each processor unless said.
    #[arg(long)]
    threads: Option<usize>,
    /// Prints what happens in a schedule that fails as it is, not made small.
    #[arg(long)]
    whole: bool,
}

struct Hunt {
    args: Args,
    next: AtomicU64,
    done: AtomicU64,
    actions: AtomicU64,
    is_over: AtomicBool,
    /// That of the lowest seed so far.
    failure: Mutex<Option<Failure>>,
}

fn lock(failure: &Mutex<Option<Failure>>) -> MutexGuard<'_, Option<Failure>> {
    failure.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hunt {
    fn run(&self) {
        let end = self.args.from + self.args.seeds;
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= end || self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let schedule = Schedule::of(seed, self.args.operations as usize);
            self.actions
                .fetch_add(schedule.actions.len() as u64, Ordering::Relaxed);
            if let Err(failure) = schedule.run() {
                self.is_over.store(true, Ordering::Relaxed);
                let mut lowest = lock(&self.failure);
                let is_lower = |known: &Failure| known.schedule.seed > seed;
                if lowest.as_ref().is_none_or(is_lower) {
                    *lowest = Some(*failure);
                }
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn told(&self, started: Instant) -> String {
        format!(
            "{} schedules, {} actions, {:.0} s",
            self.done.load(Ordering::Relaxed),
            self.actions.load(Ordering::Relaxed),
            started.elapsed().as_secs_f64()
        )
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let threads = args.threads.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    });
    // A panic is a failure, told with its seed.
    std::panic::set_hook(Box::new(|_| ()));
    let hunt = Hunt {
        next: AtomicU64::new(args.from),
        args,
        done: AtomicU64::new(0),
        actions: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        for _ in 0..threads {
            let running = running.clone();
            let hunt = &hunt;
            scope.spawn(move || {
                hunt.run();
                drop(running);
            });
        }
        drop(running);
        // Nothing is sent: the channel ends with the last of them.
        while ended.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{}", hunt.told(started));
        }
    });
    println!("{}", hunt.told(started));
    let failure = lock(&hunt.failure).take();
    let Some(failure) = failure else {
        println!("every invariant holds");
        return ExitCode::SUCCESS;
    };
    print_failure(failure, &hunt.args);
    ExitCode::FAILURE
}

fn print_failure(failure: Failure, args: &Args) {
    let Failure {
        schedule,
        reason,
        at,
    } = &failure;
    println!("seed {}: action {at}: {reason}", schedule.seed);
    let shown = match args.whole {
        true => failure,
        false => shrink(failure, args.operations as usize),
    };
    let Schedule {
        seed, setup, mix, ..
    } = shown.schedule;
    println!("{setup:?}\n{mix:?}");
    for action in &shown.schedule.actions {
        println!("  {action:?}");
    }
    println!("action {}: {}", shown.at, shown.reason);
    println!(
        "again: simulate --from {seed} --seeds 1 --operations {}",
        args.operations
    );
}
