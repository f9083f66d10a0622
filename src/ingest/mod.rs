//! The accept path: decoded readings -> admission -> journal durable -> applied.

mod answer;
mod datagrams;
mod keyed;
mod measure_cap;
mod preview;
mod sensor_cap;

pub use datagrams::DatagramThread;
pub use keyed::{KeyedOutcome, KeyedRequest};
pub use measure_cap::{MeasureCap, NewMeasures};
pub use preview::{Preview, PreviewedReading};
pub use sensor_cap::{Admission, SensorCap};

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::clock::{Clock, ReceiptStamps};
use crate::config::{IngestSettings, LineProtocolSettings};
use crate::decode::{
    BodyError, CsvColumns, DecodeContext, Decoded, Gate, LineMapping, LineOptions, TextOnly,
    TimeUnit,
};
use crate::idempotency::{IdempotencyKey, Keys};
use crate::journal::bytes::Malformed;
use crate::journal::record::DIGEST_BYTES;
use crate::journal::{Journal, JournalError, KeyedAnswer, Record};
use crate::metrics::{Ledger, Refusal};
use crate::model::{MEASURES_PER_SENSOR_MAX, MeasureName, Micros, RejectCode, Rejection, SensorId};
use crate::quarantine::{Quarantine, Source};
use crate::retention::RetentionTable;

/// Bytes of a body from which on it is decoded apart: a worker that decodes
/// keeps others waiting, some 5 ms a MiB.
const DECODE_APART_BYTES: usize = 256 << 10;

/// What became of a body.
#[derive(Debug)]
pub struct Outcome {
    /// Items made durable.
    pub accepted: u64,
    /// Items refused.
    pub rejected: u64,
    /// The first rejections, at most 100.
    pub rejections: Vec<Rejection>,
    /// All rejections by code.
    pub rejected_by_code: Vec<(RejectCode, u64)>,
    /// This clock's time.
    pub server_time: Micros,
}

/// Why a body was refused as a whole.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The body is not what its type says.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The idempotency key belongs to another request.
    #[error(
        "the idempotency key was used for another body, or for one that was read otherwise; \
         nothing of this one was taken: give it a key of its own"
    )]
    KeyReused,
    /// The answer that is remembered cannot be read.
    #[error(
        "what was sent with this idempotency key was taken, but its answer cannot be read ({0}); \
         a newer hourglass may have written it"
    )]
    Answer(#[source] Malformed),
}

/// The format of a body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/json`.
    Json,
    /// `application/x-ndjson`.
    NdJson,
    /// `text/csv`.
    Csv(Arc<CsvColumns>),
    /// Line protocol.
    LineProtocol(TextOnly),
}

/// How a body is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Intake {
    /// Its format.
    pub format: Format,
    /// The unit of numeric times; by magnitude where absent.
    pub unit: Option<TimeUnit>,
    /// The parameter that says so, named in messages.
    pub unit_parameter: &'static str,
    /// The path where it came in, for whoever looks at what was refused.
    pub source: &'static str,
    /// Who sent it, as far as the connection says.
    pub peer: Option<IpAddr>,
}

impl Intake {
    /// Everything that decides what a body means, in a form that stays the same
    /// from version to version: digests on disk depend on it. Two bodies of the
    /// same bytes are the same request only where it is the same.
    pub(crate) fn stable_form(&self) -> String {
        let Self {
            format,
            unit,
            // Names the parameter in messages, no more.
            unit_parameter: _,
            source: _,
            peer: _,
        } = self;
        let format = match format {
            Format::Json => "json".to_owned(),
            Format::NdJson => "ndjson".to_owned(),
            Format::Csv(columns) => columns.stable_form(),
            Format::LineProtocol(TextOnly::Refuse) => "line".to_owned(),
            Format::LineProtocol(TextOnly::Skip) => "line, text skipped".to_owned(),
        };
        match unit {
            None => format,
            Some(unit) => format!("{format}; unit={}", unit.as_str()),
        }
    }
}

/// The accept path; cheap to clone.
#[derive(Clone)]
pub struct Ingest {
    journal: Journal,
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    stamps: Arc<ReceiptStamps>,
    cap: Arc<SensorCap>,
    measure_cap: Arc<MeasureCap>,
    keys: Arc<Keys>,
    settings: IngestSettings,
    mapping: Arc<LineMapping>,
    retention: Arc<RetentionTable>,
    quarantine: Arc<Quarantine>,
}

/// What one body brought that is new.
#[derive(Debug, Default)]
struct Admitted {
    sensors: Admission,
    measures: NewMeasures,
}

struct IngestGate<'a> {
    stamps: &'a ReceiptStamps,
    clock: &'a dyn Clock,
    cap: &'a SensorCap,
    measure_cap: &'a MeasureCap,
    retention: &'a RetentionTable,
    refused_bytes_max: usize,
    admitted: Admitted,
}

impl Gate for IngestGate<'_> {
    fn next(&mut self) -> Micros {
        self.stamps.next(self.clock.now())
    }

    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize> {
        if self.cap.admit(sensor, &mut self.admitted.sensors) {
            Ok(())
        } else {
            Err(self.cap.sensors_max())
        }
    }

    fn refused_bytes_max(&self) -> usize {
        self.refused_bytes_max
    }

    fn oldest_kept(&mut self, sensor: &SensorId) -> Micros {
        self.retention.oldest_kept(sensor).start()
    }

    fn admit_measures(
        &mut self,
        sensor: &SensorId,
        measures: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        self.measure_cap
            .admit(sensor, measures, &mut self.admitted.measures)
    }
}

impl Ingest {
    /// An accept path into `journal`, which tells `keys` what is durable.
    #[must_use]
    pub fn new(
        journal: Journal,
        keys: Arc<Keys>,
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
        settings: IngestSettings,
        line_protocol: LineProtocolSettings,
    ) -> Self {
        Self {
            journal,
            ledger,
            quarantine: Quarantine::off(Arc::clone(&clock)),
            clock,
            stamps: Arc::new(ReceiptStamps::default()),
            cap: Arc::new(SensorCap::new(settings.sensors_max)),
            measure_cap: Arc::new(MeasureCap::new(MEASURES_PER_SENSOR_MAX)),
            keys,
            settings,
            mapping: Arc::new(LineMapping {
                sensor_tags: line_protocol.sensor_tags,
                dimension_tags: line_protocol.dimension_tags,
                measurement_prefix: line_protocol.measurement_prefix,
            }),
            retention: Arc::default(),
        }
    }

    /// The same, taking nothing that `retention` does not keep.
    #[must_use]
    pub fn with_retention(self, retention: Arc<RetentionTable>) -> Self {
        Self { retention, ..self }
    }

    /// The same, keeping what it refuses in `quarantine`.
    #[must_use]
    pub fn with_quarantine(self, quarantine: Arc<Quarantine>) -> Self {
        Self { quarantine, ..self }
    }

    /// The cap on distinct sensors.
    #[must_use]
    pub fn sensor_cap(&self) -> &Arc<SensorCap> {
        &self.cap
    }

    /// Takes a body: answers once every good item is durable and, unless the
    /// applier lags, queryable.
    ///
    /// # Errors
    /// [`IngestError`]: nothing of the body is durable.
    pub async fn accept(&self, body: Bytes, how: Intake) -> Result<Outcome, IngestError> {
        self.accept_as(body, how, None).await
    }

    async fn accept_as(
        &self,
        body: Bytes,
        how: Intake,
        key: Option<(IdempotencyKey, [u8; DIGEST_BYTES])>,
    ) -> Result<Outcome, IngestError> {
        let received_at = self.clock.now();
        let source = Source {
            name: how.source,
            unit: how.unit,
        };
        let peer = how.peer;
        let decoded = if body.len() < DECODE_APART_BYTES {
            self.decode(&body, &how, received_at)
        } else {
            let this = self.clone();
            let decode = move || this.decode(&body, &how, received_at);
            joined(tokio::task::spawn_blocking(decode)).await?
        };
        let (decoded, admitted) = decoded.inspect_err(|_| self.ledger.refuse(Refusal::BadBody))?;
        let taken = self.take(decoded, received_at, (source, peer), key).await;
        match &taken {
            Ok(_) => {
                self.cap.settle(&admitted.sensors);
                self.measure_cap.settle(admitted.measures);
            }
            Err(_) => self.cap.forget(&admitted.sensors),
        }
        taken.map_err(IngestError::from)
    }

    fn context(
        &self,
        received_at: Micros,
        unit: Option<TimeUnit>,
        unit_parameter: &'static str,
    ) -> DecodeContext {
        DecodeContext {
            received_at,
            min_time: self.settings.min_time,
            max_time: received_at.later_by(self.settings.max_future),
            unit,
            unit_parameter,
        }
    }

    /// Counts the items of what is on its way to the journal, and those that were
    /// refused.
    fn count(&self, decoded: &Decoded) {
        self.ledger.receive(decoded.items);
        self.ledger.skip_text_fields(decoded.text_fields_skipped);
        self.ledger.refuse_attributes(decoded.tags_left_out);
        for (code, items) in decoded.rejections.by_code() {
            self.ledger.reject(code, items);
        }
    }

    fn decode(
        &self,
        body: &[u8],
        how: &Intake,
        received_at: Micros,
    ) -> Result<(Decoded, Admitted), BodyError> {
        let mut gate = self.gate(&self.stamps);
        match self.decode_through(&mut gate, body, how, received_at) {
            Ok(decoded) => Ok((decoded, gate.admitted)),
            Err(error) => {
                self.cap.forget(&gate.admitted.sensors);
                Err(error)
            }
        }
    }

    fn gate<'a>(&'a self, stamps: &'a ReceiptStamps) -> IngestGate<'a> {
        IngestGate {
            stamps,
            clock: &*self.clock,
            cap: &self.cap,
            measure_cap: &self.measure_cap,
            retention: &self.retention,
            refused_bytes_max: self.quarantine.room(),
            admitted: Admitted::default(),
        }
    }

    fn decode_through(
        &self,
        gate: &mut dyn Gate,
        body: &[u8],
        how: &Intake,
        received_at: Micros,
    ) -> Result<Decoded, BodyError> {
        let context = self.context(received_at, how.unit, how.unit_parameter);
        match &how.format {
            Format::Json => crate::decode::json(body, &context, gate),
            Format::NdJson => Ok(crate::decode::ndjson(body, &context, gate)),
            Format::Csv(columns) => crate::decode::csv(body, &context, columns, gate),
            Format::LineProtocol(text_only) => {
                let options = LineOptions {
                    mapping: &self.mapping,
                    text_only: *text_only,
                };
                Ok(crate::decode::line_protocol(body, &context, options, gate))
            }
        }
    }

    async fn take(
        &self,
        mut decoded: Decoded,
        received_at: Micros,
        (source, peer): (Source, Option<IpAddr>),
        key: Option<(IdempotencyKey, [u8; DIGEST_BYTES])>,
    ) -> Result<Outcome, JournalError> {
        let batch = std::mem::take(&mut decoded.batch);
        let refused = std::mem::take(&mut decoded.refused);
        let refused = self.quarantine.hold(refused, decoded.rejections.total());
        let accepted = batch.len() as u64;
        let count = || self.count(&decoded);
        let mut outcome = Outcome {
            accepted,
            rejected: decoded.rejections.total(),
            rejections: decoded.rejections.first().to_vec(),
            rejected_by_code: decoded.rejections.by_code().collect(),
            server_time: self.clock.now(),
        };
        let keyed = key.map(|(key, digest)| {
            Box::new(KeyedAnswer {
                key: key.as_str().into(),
                digest,
                answer: outcome.keep(),
            })
        });
        let is_keyed = keyed.is_some();
        if accepted == 0 && !is_keyed {
            count();
        } else {
            let record = Record::Batch {
                received_at,
                batch,
                keyed,
            };
            let encoded = record.encode();
            self.journal
                .append(record, encoded, count)
                .await
                .inspect_err(|error| self.ledger.refuse(refusal(error)))?;
        }
        // Only now: what the journal refused as a whole is sent again.
        refused.keep(source, received_at, |_| peer);
        if !is_keyed {
            // As late as can be: devices set their clocks by it.
            outcome.server_time = self.clock.now();
        }
        Ok(outcome)
    }
}

/// The result of a task that ends by itself; its panic goes on here.
async fn joined<T>(task: JoinHandle<T>) -> Result<T, JournalError> {
    task.await.map_err(|ended| match ended.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // Only the end of the runtime cancels it.
        Err(_) => JournalError::Stopping,
    })
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").finish_non_exhaustive()
    }
}

fn refusal(error: &JournalError) -> Refusal {
    match error {
        JournalError::TooLarge { .. } => Refusal::BadBody,
        JournalError::Full(_) | JournalError::Append(crate::journal::AppendError::NoRoom(_)) => {
            Refusal::JournalFull
        }
        JournalError::Append(_) => Refusal::JournalFailed,
        JournalError::Stopping => Refusal::Stopping,
    }
}
