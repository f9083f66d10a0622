//! A mongod without hourglass: one document per reading, or a native time series
//! collection.

use std::time::{Duration, Instant};

use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::{Acknowledgment, IndexOptions, WriteConcern};
use mongodb::{Collection, Database, IndexModel};
use serde::Deserialize;

use super::CompareError;
use super::load::{Batches, Form, Load};
use super::mongod::Mongod;
use super::peer::{Peer, Stored};
use super::question::{Kind, Question, Row};
use super::write::{Acknowledged, Writer, Written, write_all};
use crate::cpu::Usage;

const DATABASE: &str = "bench";
const COLLECTION: &str = "readings";
/// All of an answer in its first part: no second way to the server.
const BATCH_SIZE: u32 = 1_000_000;

/// How the collection keeps readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// One document per reading.
    OneDocument,
    /// A time series collection, written sorted by sensor or in order of time.
    Native { grouped: bool },
}

/// The server and how it is written to.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) mongod: Mongod,
    pub(super) load: Load,
    pub(super) keep: Keep,
    pub(super) majority: bool,
    pub(super) connections: usize,
    pub(super) is_new: bool,
}

struct CollectionWriter {
    collection: Collection<RawDocumentBuf>,
    concern: WriteConcern,
}

impl Writer for CollectionWriter {
    type Batch = Vec<RawDocumentBuf>;

    async fn write(&mut self, batch: &Self::Batch) -> Result<Acknowledged, String> {
        let insert = self.collection.insert_many(batch).ordered(false);
        let inserted = insert.write_concern(self.concern.clone()).await;
        let inserted = inserted.map_err(|error| error.to_string())?;
        match inserted.inserted_ids.len() {
            readings if readings == batch.len() => Ok(Acknowledged {
                readings: readings as u64,
                retries: 0,
            }),
            readings => Err(format!("of {} readings {readings}", batch.len())),
        }
    }
}

impl Documents {
    fn database(&self) -> Result<Database, CompareError> {
        Ok(self.mongod.client()?.database(DATABASE))
    }

    async fn create(&self) -> Result<(), CompareError> {
        let database = self.database()?;
        if matches!(self.keep, Keep::Native { .. }) {
            let series = doc! {
                "timeField": "ts", "metaField": "sensorId", "granularity": "seconds",
            };
            let create = doc! { "create": COLLECTION, "timeseries": series };
            database.run_command(create).await?;
        }
        let index = IndexModel::builder()
            .keys(doc! { "sensorId": 1, "ts": 1 })
            .options(IndexOptions::default())
            .build();
        let collection = database.collection::<Document>(COLLECTION);
        collection.create_index(index).await?;
        Ok(())
    }

    /// The stages that answer a question.
    fn pipeline(&self, question: &Question) -> Vec<Document> {
        let measure = self.load.fleet.measures.first().map_or("", String::as_str);
        let value = format!("${measure}");
        let ids = question.ids(&self.load);
        let sensor = match ids.as_slice() {
            [id] => doc! { "$eq": id },
            ids => doc! { "$in": ids },
        };
        let at = |micros: i64| DateTime::from_millis(micros / 1000);
        let range = doc! { "$gte": at(question.from), "$lt": at(question.to) };
        let matching = doc! { "$match": { "sensorId": sensor.clone(), "ts": range } };
        let hour = doc! { "$dateTrunc": { "date": "$ts", "unit": "hour" } };
        match question.kind {
            Kind::Hourly | Kind::HourlyMany => vec![
                matching,
                doc! { "$group": {
                    "_id": { "s": "$sensorId", "t": hour },
                    "n": { "$sum": 1 },
                    "v": { "$avg": value },
                } },
                doc! { "$project": { "_id": 0, "s": "$_id.s", "t": "$_id.t", "n": 1, "v": 1 } },
            ],
            Kind::Raw => vec![
                matching,
                doc! { "$sort": { "ts": 1 } },
                doc! { "$project": { "_id": 0, "s": "$sensorId", "t": "$ts", "v": value } },
            ],
            // The index backwards, from sensor to sensor (DISTINCT_SCAN).
            Kind::Latest => {
                let of_some = doc! { "$match": { "sensorId": sensor } };
                let newest = [
                    doc! { "$sort": { "sensorId": -1, "ts": -1 } },
                    doc! { "$group": { "_id": "$sensorId", "v": { "$first": value } } },
                    doc! { "$project": { "_id": 0, "s": "$_id", "v": 1 } },
                ];
                let first = (!question.is_all).then_some(of_some);
                first.into_iter().chain(newest).collect()
            }
        }
    }

    async fn documents(&self, question: &Question) -> Result<Vec<RawDocumentBuf>, CompareError> {
        let collection = self.database()?.collection::<Document>(COLLECTION);
        let aggregate = collection.aggregate(self.pipeline(question));
        let mut cursor = aggregate
            .batch_size(BATCH_SIZE)
            .with_type::<RawDocumentBuf>()
            .await?;
        let mut documents = Vec::new();
        while cursor.advance().await? {
            documents.push(cursor.current().to_owned());
        }
        Ok(documents)
    }
}

impl Peer for Documents {
    fn form(&self) -> Form {
        match self.keep {
            Keep::Native { grouped: true } => Form::GroupedDocuments,
            _ => Form::Documents,
        }
    }

    async fn start(&mut self) -> Result<(), CompareError> {
        self.mongod.start().await?;
        if std::mem::take(&mut self.is_new) {
            self.create().await?;
        }
        Ok(())
    }

    fn usage(&self) -> Result<Vec<(&'static str, Usage)>, CompareError> {
        Ok(vec![self.mongod.usage()?])
    }

    async fn version(&mut self) -> Result<String, CompareError> {
        self.mongod.version().await
    }

    async fn write(&mut self, batches: Batches) -> Result<Written, CompareError> {
        let Batches::Documents(batches) = batches else {
            return Err(CompareError::Nothing("mongod takes documents".to_owned()));
        };
        let database = self.database()?;
        let concern = match self.majority {
            true => Acknowledgment::Majority,
            false => Acknowledgment::Nodes(1),
        };
        let writer = || CollectionWriter {
            collection: database.collection(COLLECTION),
            concern: WriteConcern::from(concern.clone()),
        };
        let writers = (0..self.connections).map(|_| writer()).collect();
        Ok(write_all(writers, batches).await)
    }

    async fn drain(&mut self) -> Result<(), CompareError> {
        Ok(())
    }

    async fn rest(&mut self) -> Result<Stored, CompareError> {
        let data = self.mongod.stored(DATABASE).await?;
        self.mongod.stop().await?;
        let all = self.mongod.files()?;
        Ok(Stored { data, all })
    }

    async fn ask(&mut self, question: &Question, _cached: bool) -> Result<Duration, CompareError> {
        let begun = Instant::now();
        self.documents(question).await?;
        Ok(begun.elapsed())
    }

    async fn answer(&mut self, question: &Question) -> Result<Vec<Row>, CompareError> {
        let documents = self.documents(question).await?;
        documents.iter().map(row).collect()
    }

    async fn stop(&mut self) -> Result<(), CompareError> {
        self.mongod.stop().await
    }
}

#[derive(Deserialize)]
struct Found {
    s: String,
    t: Option<DateTime>,
    n: Option<i64>,
    v: f64,
}

fn row(document: &RawDocumentBuf) -> Result<Row, CompareError> {
    let found: Found = mongodb::bson::deserialize_from_slice(document.as_bytes())?;
    Ok(Row {
        sensor: found.s,
        at: found.t.map(|at| at.timestamp_millis() * 1000),
        count: found.n.and_then(|count| u64::try_from(count).ok()),
        value: found.v,
    })
}

#[cfg(test)]
mod tests {
    use mongodb::bson::rawdoc;

    use super::*;

    #[test]
    fn a_document_of_an_answer_becomes_a_row() {
        let at = DateTime::from_millis(1_777_593_600_000);
        let document = rawdoc! { "n": 60_i32, "v": 21.5, "s": "S7", "t": at };
        let row = row(&document).unwrap();
        assert_eq!((row.sensor.as_str(), row.count), ("S7", Some(60)));
        assert_eq!((row.at, row.value), (Some(1_777_593_600_000_000), 21.5));
    }
}
