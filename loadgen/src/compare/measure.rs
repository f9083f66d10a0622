//! One system in one round: filled, drained, at rest, asked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::CompareError;
use super::load::{GROUP_TICKS, Load};
use super::peer::{Peer, Stored};
use super::question::{Kind, Question, difference};
use super::report::{Agreement, Figures, Round};
use super::statistics::Latencies;
use super::write::Written;
use crate::cpu::Usage;

/// Readings encoded ahead where the time of writing is not looked at: some 100 MB
/// of documents.
const PIECE_READINGS: u64 = 1_000_000;

/// How much to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// Questions of each kind.
    pub(super) questions: u32,
    /// Time for all kinds together; of each kind at least one is asked.
    pub(super) time: Duration,
}

/// What writing took.
struct Cost {
    written: Written,
    acknowledged: Duration,
    stored: Duration,
    client: f64,
    servers: BTreeMap<&'static str, Usage>,
}

/// Writes all at once against the clock, then lets the system rest.
pub(super) async fn writes(peer: &mut impl Peer, load: &Load) -> Result<Round, CompareError> {
    peer.start().await?;
    let version = peer.version().await?;
    let cost = fill(peer, load, load.fleet.ticks()).await?;
    let stored = peer.rest().await?;
    let mut round = Round::new(version);
    count(&mut round, &cost);
    let readings = cost.written.readings.max(1) as f64;
    let figures = &mut round.figures;
    let per_second = |took: Duration| readings / took.as_secs_f64().max(1e-9);
    set(
        figures,
        "readings_per_second_acknowledged",
        per_second(cost.acknowledged),
    );
    set(
        figures,
        "readings_per_second_stored",
        per_second(cost.stored),
    );
    if let Some(latencies) = Latencies::of(cost.written.took) {
        set(figures, "batch_p50_ms", latencies.p50_ms);
        set(figures, "batch_p99_ms", latencies.p99_ms);
    }
    let millions = readings / 1e6;
    set(
        figures,
        "client_cpu_seconds_per_million",
        cost.client / millions,
    );
    let mut all = 0.0;
    for (name, usage) in &cost.servers {
        let name = name.replace('-', "_");
        let seconds = usage.cpu_seconds / millions;
        all += seconds;
        set(figures, &format!("{name}_cpu_seconds_per_million"), seconds);
    }
    set(figures, "servers_cpu_seconds_per_million", all);
    set_bytes(figures, stored, readings);
    Ok(round)
}

/// Writes without looking at the time, lets the system rest, starts it again and
/// asks.
pub(super) async fn queries(
    peer: &mut impl Peer,
    load: &Load,
    asking: Asking,
) -> Result<Round, CompareError> {
    peer.start().await?;
    let mut round = Round::new(peer.version().await?);
    let ticks = (PIECE_READINGS / u64::from(load.fleet.sensors)).max(1);
    let cost = fill(peer, load, ticks.next_multiple_of(GROUP_TICKS)).await?;
    count(&mut round, &cost);
    let readings = cost.written.readings.max(1) as f64;
    let stored = peer.rest().await?;
    set_bytes(&mut round.figures, stored, readings);
    peer.start().await?;
    let time = asking.time / u32::try_from(Kind::ALL.len()).unwrap_or(1);
    for kind in Kind::ALL {
        let question = Question::new(load, kind, 0);
        let (right, mut given) = (question.answer(load), peer.answer(&question).await?);
        super::question::sort(&mut given);
        let difference = difference(&right, &given);
        round.answers.push(Agreement {
            question: kind,
            rows: right.len(),
            agrees: difference.is_none(),
            difference,
        });
        let mut ways = vec![(false, "")];
        if peer.keeps_answers() && matches!(kind, Kind::Hourly | Kind::HourlyMany) {
            ways.push((true, "_cached"));
        }
        for (cached, suffix) in ways {
            let took = ask(peer, load, kind, cached, (asking.questions, time)).await?;
            if let Some(latencies) = Latencies::of(took) {
                let mut set = |what: &str, value| {
                    let name = format!("{}{suffix}_{what}", kind.name());
                    set(&mut round.figures, &name, value);
                };
                set("p50_ms", latencies.p50_ms);
                set("p99_ms", latencies.p99_ms);
                set("requests", latencies.requests as f64);
            }
        }
    }
    for (name, usage) in peer.usage()? {
        let name = format!("{}_rss_peak_mib_after_queries", name.replace('-', "_"));
        set(&mut round.figures, &name, mib(usage.rss_peak_bytes));
    }
    peer.stop().await?;
    Ok(round)
}

async fn ask(
    peer: &mut impl Peer,
    load: &Load,
    kind: Kind,
    cached: bool,
    (questions, time): (u32, Duration),
) -> Result<Vec<Duration>, CompareError> {
    let (mut took, begun) = (Vec::new(), Instant::now());
    for number in 0..questions {
        if number > 0 && begun.elapsed() > time {
            break;
        }
        // The first was asked to hold the answer to the right one.
        let question = Question::new(load, kind, number + 1);
        if cached {
            peer.ask(&question, cached).await?;
        }
        took.push(peer.ask(&question, cached).await?);
    }
    Ok(took)
}

/// Writes the whole load in pieces of so many ticks; encoding does not count.
async fn fill(peer: &mut impl Peer, load: &Load, ticks: u64) -> Result<Cost, CompareError> {
    let mut cost = Cost {
        written: Written::default(),
        acknowledged: Duration::ZERO,
        stored: Duration::ZERO,
        client: 0.0,
        servers: BTreeMap::new(),
    };
    let end = load.fleet.ticks();
    let mut from = 0;
    while from < end {
        let to = end.min(from + ticks);
        let batches = load.batches(peer.form(), from..to)?;
        let (before, own) = (peer.usage()?, Usage::own()?);
        let begun = Instant::now();
        let written = peer.write(batches).await?;
        cost.acknowledged += begun.elapsed();
        cost.client += Usage::own()?.cpu_seconds - own.cpu_seconds;
        peer.drain().await?;
        cost.stored += begun.elapsed();
        for ((name, before), (_, mut after)) in before.into_iter().zip(peer.usage()?) {
            after.cpu_seconds -= before.cpu_seconds;
            if let Some(sum) = cost.servers.get(name) {
                after.cpu_seconds += sum.cpu_seconds;
            }
            cost.servers.insert(name, after);
        }
        cost.written.merge(written);
        from = to;
    }
    Ok(cost)
}

fn count(round: &mut Round, cost: &Cost) {
    round.readings = cost.written.readings;
    round.retries = cost.written.retries;
    round.problems = cost.written.problems;
    round
        .problems_shown
        .clone_from(&cost.written.problems_shown);
    for (name, usage) in &cost.servers {
        let name = format!("{}_rss_peak_mib", name.replace('-', "_"));
        set(&mut round.figures, &name, mib(usage.rss_peak_bytes));
    }
}

fn set_bytes(figures: &mut Figures, stored: Stored, readings: f64) {
    for (name, bytes) in [
        ("bytes_per_reading_data", stored.data),
        ("bytes_per_reading_all_files", stored.all),
    ] {
        set(figures, name, bytes as f64 / readings);
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn set(figures: &mut Figures, name: &str, value: f64) {
    figures.insert(name.to_owned(), value);
}
