//! One process: the parts that the service wires together, driven by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use hourglass::apply::{Applier, Progress, Turn};
use hourglass::buffer::Buffer;
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::{BufferSettings, JournalSettings};
use hourglass::decode::{self, DecodeContext, Decoded, LineMapping, LineOptions, TextOnly};
use hourglass::flush::low_water;
use hourglass::journal::disk::Disk;
use hourglass::journal::tail::{Tail, TailRecord};
use hourglass::journal::{
    Answer, Append, AppendError, GroupCommit, Log, LogError, Record, Recovered, Space,
};
use hourglass::metrics::Ledger;
use hourglass::model::Micros;
use hourglass::query::Query;
use hourglass::store::Store;
use hourglass::store::WriterId;

use crate::action::{Body, Item, Setup};
use crate::disk::SimDisk;
use crate::gate::OpenGate;
use crate::naive::RECENT_READINGS;
use crate::store::SimStore;

/// Far above what a run fills.
const JOURNAL_BYTES_MAX: u64 = 1 << 40;

pub struct Process {
    pub tail: Arc<Tail>,
    pub ledger: Arc<Ledger>,
    pub buffer: Arc<Buffer>,
    pub progress: Arc<Progress>,
    pub query: Query,
    pub recovered: Recovered,
    commit: GroupCommit,
    space: Arc<Space>,
    applier: Applier,
    held: Option<TailRecord>,
    waiting: BTreeMap<u64, Answer>,
    clock: Arc<ManualClock>,
}

/// A body through the decoder: as JSON, or as line protocol, where readings come
/// under measurements and tags that the naive model knows nothing of, as they
/// change nothing that is stored.
pub fn decoded(body: &Body, received_at: Micros) -> Decoded {
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
    pub fn start(
        disk: &SimDisk,
        store: &SimStore,
        clock: &Arc<ManualClock>,
        setup: Setup,
        number: u32,
    ) -> Result<Self, LogError> {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let ledger = Arc::new(Ledger::default());
        let space = Space::new(JOURNAL_BYTES_MAX);
        let settings = JournalSettings {
            segment_bytes: setup.segment_bytes,
            bytes_max: JOURNAL_BYTES_MAX,
            queue_bytes_max: setup.tail_bytes,
        };
        let (commit, recovered) = GroupCommit::open(
            Arc::clone(&disk),
            Arc::clone(&space),
            &settings,
            Arc::clone(&ledger),
            Arc::new(|_, _, _| ()),
        )?;
        let tail = Arc::clone(commit.tail());
        let first_seq = recovered.first_seq.unwrap_or(recovered.end_seq);
        let progress = Progress::new(Arc::clone(&tail), first_seq, recovered.end_seq);
        let settings = BufferSettings {
            bytes_max: setup.buffer_bytes,
            conflicts_kept: 1000,
            conflicts_age_max: std::time::Duration::from_secs(86_400),
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
            tail,
            ledger,
            buffer,
            progress,
            query,
            recovered,
            commit,
            space,
            applier,
            held: None,
            waiting: BTreeMap::new(),
            clock: Arc::clone(clock),
        })
    }

    /// The accept path up to the journal and the commit of one group, as
    /// `ingest` and the journal's writer thread do them. Answers which bodies
    /// were committed, or that the group was not.
    pub fn ingest(&mut self, bodies: &[Body]) -> Result<Result<Vec<usize>, AppendError>, String> {
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
            true => Ok(Ok(places)),
            false => Ok(self.append(group)?.map(|_| places)),
        }
    }

    /// Commits a group, as the journal's writer thread does it; its first
    /// sequence, or why it is refused.
    ///
    /// # Errors
    /// What was answered is not so.
    pub fn append(&mut self, group: Vec<Record>) -> Result<Result<u64, AppendError>, String> {
        let first = self.log().next_seq();
        let (mut appends, mut answers) = (Vec::new(), Vec::new());
        for record in group {
            let encoded = record.encode();
            let room = self.space.reserve(encoded.len() as u64).unwrap();
            let (append, answer) = Append::new(record, encoded, room);
            appends.push(append);
            answers.push(answer);
        }
        let end = first + answers.len() as u64;
        self.commit.commit(appends);
        if self.log().next_seq() == end {
            self.waiting.extend((first..).zip(answers));
            return Ok(Ok(first));
        }
        let mut refused = None;
        for mut answer in answers {
            match answer.said() {
                Some(Err(error)) => refused = Some(error),
                said => return Err(format!("I1: what is not durable was answered {said:?}")),
            }
        }
        Ok(Err(refused.ok_or("a group of nothing was refused")?))
    }

    pub fn log(&self) -> &Log {
        self.commit.log()
    }

    /// One turn of the applier; the sequence of the record it moved.
    pub fn apply(&mut self) -> Result<(Turn, u64), String> {
        let seq = self.progress.applied_end();
        let turn = self.applier.turn(&mut self.held);
        let turn = turn.map_err(|error| format!("I1: the applier cannot read on: {error}"))?;
        Ok((turn, seq))
    }

    /// Sequences that were acknowledged since the last call.
    pub fn acknowledged(&mut self) -> Result<Vec<u64>, String> {
        let mut acknowledged = Vec::new();
        for (seq, answer) in &mut self.waiting {
            match answer.said() {
                Some(Ok(told)) if told == *seq => acknowledged.push(*seq),
                Some(other) => return Err(format!("record {seq} was answered {other:?}")),
                None => {}
            }
        }
        self.waiting.retain(|seq, _| !acknowledged.contains(seq));
        Ok(acknowledged)
    }

    /// Gives the journal back what is confirmed.
    pub fn release(&mut self) {
        let low_water = low_water(&self.progress, &self.buffer);
        // A disk without power cannot; the segments stay.
        self.commit.release(low_water);
    }

    /// The last act of a clean stop.
    pub fn finish(&mut self) {
        let low_water = low_water(&self.progress, &self.buffer);
        self.commit.finish(low_water);
    }
}
