//! One process: the parts that the service wires together, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use hourglass::apply::{Applier, Progress, Turn};
use hourglass::buffer::Buffer;
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::BufferSettings;
use hourglass::decode::{self, DecodeContext, Decoded, LineMapping, LineOptions, TextOnly};
use hourglass::flush::low_water;
use hourglass::journal::disk::Disk;
use hourglass::journal::tail::{Tail, TailRecord};
use hourglass::journal::{AppendError, Log, Record, Recovered, Space};
use hourglass::metrics::Ledger;
use hourglass::model::{Batch, Micros};
use hourglass::query::Query;
use hourglass::store::Store;
use hourglass::store::WriterId;
use tokio::sync::oneshot;

use super::action::{Body, Item, Setup};
use super::naive::RECENT_READINGS;
use crate::support::gate::OpenGate;
use crate::support::sim_disk::SimDisk;
use crate::support::sim_store::SimStore;

type Answer = Result<u64, AppendError>;

pub(crate) struct Process {
    pub(crate) log: Log,
    pub(crate) tail: Arc<Tail>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) query: Query,
    pub(crate) recovered: Recovered,
    applier: Applier,
    held: Option<TailRecord>,
    waiting: BTreeMap<u64, oneshot::Receiver<Answer>>,
    clock: Arc<ManualClock>,
}

/// A body through the decoder: as JSON, or as line protocol, where readings come
/// under measurements and tags that the naive model knows nothing of, as they
/// change nothing that is stored.
pub(crate) fn decoded(body: &Body, received_at: Micros) -> Decoded {
    let text = |item: &Item| match item {
        Item::Reading { sensor, at, values } => {
            let fields = values.iter().map(|(m, v)| format!(",\"{m}\":{v:?}"));
            let fields: String = fields.collect();
            format!("{{\"sensorId\":\"{sensor}\",\"ts\":{at}{fields}}}")
        }
        Item::Bad => "{\"temp\":1}".to_owned(),
    };
    let line = |item: &Item| match item {
        Item::Reading { sensor, at, values } => {
            let fields = values.iter().map(|(m, v)| format!("{m}={v:?}"));
            let fields: Vec<String> = fields.collect();
            // Neighbours, and copies of a reading with other values, differ in
            // their tags.
            let core = (fields.concat().len() + *at as usize) % 3;
            let measurement = ["cpu", "mem"][fields.len() % 2];
            let fields = fields.join(",");
            format!("{measurement},sensor={sensor},core={core} {fields} {at}")
        }
        Item::Bad => "cpu,sensor=S1 temp=".to_owned(),
    };
    let context = DecodeContext {
        received_at,
        min_time: Micros::new(0).unwrap(),
        max_time: Micros::MAX,
        unit: None,
        unit_parameter: "unit",
    };
    if body.len().is_multiple_of(3) {
        let lines: Vec<String> = body.iter().map(line).collect();
        let options = LineOptions {
            mapping: &LineMapping::default(),
            text_only: TextOnly::Refuse,
        };
        let body = lines.join("\n");
        return decode::line_protocol(
            body.as_bytes(),
            &context,
            options,
            &mut OpenGate(received_at),
        );
    }
    let items: Vec<String> = body.iter().map(text).collect();
    if items.len().is_multiple_of(2) {
        decode::ndjson(
            items.join("\n").as_bytes(),
            &context,
            &mut OpenGate(received_at),
        )
    } else {
        let body = format!("[{}]", items.join(","));
        decode::json(body.as_bytes(), &context, &mut OpenGate(received_at)).unwrap()
    }
}

impl Process {
    /// A start, as the service does it. `number` tells its writes from those
    /// of any other process.
    pub(crate) fn start(
        disk: &SimDisk,
        store: &SimStore,
        clock: &Arc<ManualClock>,
        setup: Setup,
        number: u32,
    ) -> Result<Self, String> {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let (log, recovered) = Log::open(
            Arc::clone(&disk),
            Space::new(u64::MAX / 2),
            setup.segment_bytes,
        )
        .map_err(|error| format!("I1: the journal does not open: {error}"))?;
        let ledger = Arc::new(Ledger::default());
        ledger.recover(recovered.values);
        let tail = Tail::new(setup.tail_bytes, log.next_seq());
        let first_seq = recovered.first_seq.unwrap_or(recovered.end_seq);
        let progress = Progress::new(Arc::clone(&tail), first_seq, recovered.end_seq);
        let settings = BufferSettings {
            bytes_max: setup.buffer_bytes,
            conflicts_kept: 1000,
            recent_readings: RECENT_READINGS,
        };
        let buffer = Arc::new(Buffer::new(
            settings,
            Arc::clone(&ledger),
            WriterId::new(2 * number),
            store.part_bytes_max(),
        ));
        let applier = Applier::new(
            Arc::clone(&tail),
            disk,
            Arc::clone(&buffer),
            Arc::clone(clock) as Arc<dyn Clock>,
            Arc::clone(&progress),
            recovered.deletions.clone(),
        );
        let query = Query::new(
            Arc::clone(&buffer),
            Arc::new(store.clone()),
            Arc::clone(&progress),
        );
        Ok(Self {
            log,
            tail,
            ledger,
            buffer,
            progress,
            query,
            recovered,
            applier,
            held: None,
            waiting: BTreeMap::new(),
            clock: Arc::clone(clock),
        })
    }

    /// The accept path up to the journal and the commit of one group, as
    /// `ingest` and the journal's writer thread do them. Answers which bodies
    /// were committed, or that the group was not.
    pub(crate) fn ingest(&mut self, bodies: &[Body]) -> Result<Vec<usize>, AppendError> {
        let received_at = self.clock.now();
        let mut group = Vec::new();
        let mut places = Vec::new();
        for (place, body) in bodies.iter().enumerate() {
            let decoded = decoded(body, received_at);
            self.ledger.receive(decoded.items);
            for (code, items) in decoded.rejections.by_code() {
                self.ledger.reject(code, items);
            }
            if !decoded.batch.is_empty() {
                let batch = decoded.batch;
                group.push(Record::Batch {
                    received_at,
                    batch,
                    keyed: None,
                });
                places.push(place);
            }
        }
        match group.is_empty() {
            true => Ok(places),
            false => self.append(group).map(|_| places),
        }
    }

    /// Commits a group, as the journal's writer thread does it; its first
    /// sequence.
    pub(crate) fn append(&mut self, group: Vec<Record>) -> Result<u64, AppendError> {
        let encoded: Vec<Vec<u8>> = group.iter().map(Record::encode).collect();
        let appended = self.log.append(encoded.iter().map(Vec::as_slice));
        let records = group.into_iter();
        match appended {
            Ok(first) => {
                let mut durable = Vec::new();
                for (record, seq) in records.zip(first..) {
                    let (items, values) = record.counts();
                    self.ledger.accept(items, values);
                    let (reply, answer) = oneshot::channel();
                    self.waiting.insert(seq, answer);
                    let reply = Some(reply);
                    let bytes = record.batch().map_or(1, Batch::bytes);
                    durable.push((TailRecord { seq, record, reply }, bytes));
                }
                self.tail.push(durable.into_iter());
                Ok(first)
            }
            Err(error) => {
                for record in records {
                    self.ledger.refuse_items(record.counts().0);
                }
                Err(error)
            }
        }
    }

    /// One turn of the applier; the sequence of the record it moved.
    pub(crate) fn apply(&mut self) -> Result<(Turn, u64), String> {
        let seq = self.progress.applied_end();
        let turn = self.applier.turn(&mut self.held);
        let turn = turn.map_err(|error| format!("I1: the applier cannot read on: {error}"))?;
        Ok((turn, seq))
    }

    /// Sequences that were acknowledged since the last call.
    pub(crate) fn acknowledged(&mut self) -> Result<Vec<u64>, String> {
        let mut acknowledged = Vec::new();
        for (seq, answer) in &mut self.waiting {
            match answer.try_recv() {
                Ok(Ok(told)) if told == *seq => acknowledged.push(*seq),
                Ok(other) => return Err(format!("record {seq} was answered {other:?}")),
                Err(_) => {}
            }
        }
        self.waiting.retain(|seq, _| !acknowledged.contains(seq));
        Ok(acknowledged)
    }

    /// Gives the journal back what is confirmed.
    pub(crate) fn release(&mut self) {
        let low_water = low_water(&self.progress, &self.buffer);
        // A disk without power cannot; the segments stay.
        drop(self.log.release(low_water));
    }
}
