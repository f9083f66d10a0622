//! The task that makes passes, and what is known of the last one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{counter, gauge, histogram};

use super::{Dropped, Pass, PassParts, PassTurn};
use crate::clock::Clock;
use crate::config::RetentionSettings;
use crate::metrics::names;
use crate::model::{HourStart, Micros, SensorId};
use crate::retention::Keeps;
use crate::store::StoreError;

/// Before a turn is made again that found the store away.
const AWAY_PAUSE: Duration = Duration::from_secs(2);

/// A pass that went through all sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastPass {
    /// When it began.
    pub at: Micros,
    /// How long it took.
    pub took: Duration,
    /// What it dropped.
    pub dropped: Dropped,
}

/// What the API and the task share; cheap to clone.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub(super) parts: PassParts,
    last: Arc<Mutex<Option<LastPass>>>,
}

impl Sweep {
    /// Over `parts`; no pass was made yet.
    #[must_use]
    pub fn new(parts: PassParts) -> Self {
        Self {
            parts,
            last: Arc::default(),
        }
    }

    /// The last pass since the start that went through all sensors.
    #[must_use]
    pub fn last(&self) -> Option<LastPass> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds where neither sensor nor site says anything.
    #[must_use]
    pub fn setting(&self) -> Keeps {
        self.parts.table.setting()
    }

    /// The first instant of which readings of `sensor` are kept; `None` where all
    /// are.
    #[must_use]
    pub fn raw_from(&self, sensor: &SensorId) -> Option<Micros> {
        let oldest = self.parts.table.oldest_kept(sensor);
        (oldest > HourStart::MIN).then(|| oldest.start())
    }

    fn note(&self, pass: LastPass) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass);
    }
}

/// The task. Runs until it is dropped.
pub struct Sweeper {
    sweep: Sweep,
    clock: Arc<dyn Clock>,
    every: Duration,
}

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper").finish_non_exhaustive()
    }
}

impl Sweeper {
    /// Passes over what `sweep` names.
    #[must_use]
    pub fn new(sweep: Sweep, clock: Arc<dyn Clock>, settings: &RetentionSettings) -> Self {
        Self {
            sweep,
            clock,
            every: settings.every,
        }
    }

    /// Makes a pass at once, after each pause, and when what sensors or sites say
    /// has changed.
    pub async fn run(self) {
        let table = Arc::clone(&self.sweep.parts.table);
        loop {
            self.run_pass().await;
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = table.changed() => {}
            }
        }
    }

    async fn run_pass(&self) {
        let (at, started) = (self.clock.now(), self.clock.elapsed());
        let mut pass = Pass::new(self.sweep.parts.clone(), at);
        let ended = self.run_turns(&mut pass).await;
        let took = self.clock.elapsed().saturating_sub(started);
        let dropped = pass.dropped();
        let outcome = match &ended {
            Ok(()) if dropped.refused == 0 => "complete",
            Ok(()) => "incomplete",
            Err(error) => {
                tracing::error!(%error, "a pass of retention ends before all sensors were looked at; the next one begins anew");
                "broken"
            }
        };
        counter!(names::RETENTION_PASSES_TOTAL, "outcome" => outcome).increment(1);
        histogram!(names::RETENTION_PASS_SECONDS).record(took);
        if outcome == "complete" {
            let at = self.clock.now().get() as f64 / 1e6;
            gauge!(names::RETENTION_LAST_SUCCESS_TIMESTAMP_SECONDS).set(at);
        }
        if ended.is_ok() {
            self.sweep.note(LastPass { at, took, dropped });
        }
        if dropped.hours > 0 || dropped.readings > 0 {
            tracing::info!(
                buckets = dropped.hours,
                buckets_of_readings = dropped.readings,
                refused = dropped.refused,
                seconds = took.as_secs_f64(),
                "retention: what is older than it is kept was dropped"
            );
        }
    }

    async fn run_turns(&self, pass: &mut Pass) -> Result<(), StoreError> {
        loop {
            match pass.turn().await {
                PassTurn::More => tokio::task::yield_now().await,
                PassTurn::Done => return Ok(()),
                PassTurn::Broken(error) => return Err(error),
                PassTurn::Away(error) => {
                    tracing::debug!(%error, "retention waits for the store");
                    tokio::time::sleep(AWAY_PAUSE).await;
                    // What is admitted goes by the clock meanwhile.
                    self.sweep.parts.table.refresh(self.clock.now());
                }
            }
        }
    }
}
