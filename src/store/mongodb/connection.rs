//! The connection: made by the first call that needs it, and set up once; again
//! where it is found stuck.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::mongodb::bson::{Document, RawDocumentBuf, doc};
use ::mongodb::options::{
    Acknowledgment, ClientOptions, ConnectionString, DatabaseOptions, ReadConcern, ReadPreference,
    SelectionCriteria, WriteConcern,
};
use ::mongodb::{Client, Collection, Database};
use tokio::sync::Mutex;

use super::client_slot::ClientSlot;
use super::failure::{again, classify, has_code, refused, unavailable};
use super::settings::{Missing, MongoSettings};
use super::{NAME, indexes};
use crate::store::StoreError;

/// The database where the connection string names none.
const DATABASE_DEFAULT: &str = "hourglass";

/// `maxWireVersion` of MongoDB 6.0 (as the MongoDB driver specifications list).
const WIRE_VERSION_MIN: i32 = 17;

/// SnapshotUnavailable.
const SNAPSHOT_UNAVAILABLE: i32 = 246;

/// Before a snapshot is asked for again; the next commit of the majority,
/// within milliseconds, makes one.
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(5);

/// A server that was reached and has its collections and indexes.
pub(super) struct Ready {
    pub(super) database: Database,
    /// Parts of buckets, as raw documents.
    pub(super) buckets: Collection<RawDocumentBuf>,
    /// The registry of sensors.
    pub(super) sensors: Collection<Document>,
    replicated: bool,
}

/// The way to the server.
pub(super) struct Connection {
    uri: ConnectionString,
    settings: MongoSettings,
    slot: ClientSlot,
    /// The last failure of connecting; held while somebody tries.
    attempt: Mutex<Option<StoreError>>,
    /// Attempts that ended.
    attempts: AtomicU64,
}

impl Connection {
    /// Reads the connection string; contacts nobody.
    pub(super) fn new(uri: &str, settings: MongoSettings) -> Result<Self, StoreError> {
        let parsed = ConnectionString::parse(uri).map_err(|error| {
            // The driver quotes the part it could not read, which may be a piece
            // of a password with unescaped characters.
            let detail = if uri.contains('@') {
                "it holds credentials, so its text is not shown; user name and password must be \
                 percent-encoded, and every option be one of MongoDB's"
                    .to_owned()
            } else {
                error.kind.to_string()
            };
            refused(format!(
                "the connection string cannot be read: {detail}; \
                 it looks like mongodb://host:27017/hourglass?replicaSet=rs0"
            ))
        })?;
        Ok(Self {
            uri: parsed,
            slot: ClientSlot::new(settings.call_timeout / 2),
            settings,
            attempt: Mutex::new(None),
            attempts: AtomicU64::new(0),
        })
    }

    /// Name of the database.
    pub(super) fn database_name(&self) -> &str {
        self.uri
            .default_database
            .as_deref()
            .unwrap_or(DATABASE_DEFAULT)
    }

    /// The settings given.
    pub(super) fn settings(&self) -> &MongoSettings {
        &self.settings
    }

    /// The database, connected and set up by now. Who waits while another call
    /// tries shares its failure, so that callers do not queue up for one
    /// timeout each.
    pub(super) async fn ready(&self) -> Result<Arc<Ready>, StoreError> {
        if let Some(ready) = self.slot.ready() {
            return Ok(ready);
        }
        let seen = self.attempts.load(Ordering::Acquire);
        let mut last = self.attempt.lock().await;
        if let Some(ready) = self.slot.ready() {
            return Ok(ready);
        }
        if self.attempts.load(Ordering::Acquire) != seen
            && let Some(error) = &*last
        {
            return Err(again(error));
        }
        let outcome = self.set_up().await;
        self.attempts.fetch_add(1, Ordering::Release);
        match outcome {
            Ok(ready) => Ok(ready),
            Err(error) => {
                *last = Some(again(&error));
                Err(error)
            }
        }
    }

    /// Awaits a call of the driver, but not for ever.
    pub(super) async fn bounded<T>(
        &self,
        call: impl IntoFuture<
            Output = ::mongodb::error::Result<T>,
            IntoFuture: Future<Output = ::mongodb::error::Result<T>>,
        >,
    ) -> Result<T, StoreError> {
        let limit = self.settings.call_timeout;
        let (mut begun, is_silent) = self.slot.begin();
        if is_silent {
            warn_silent();
        }
        let answer = tokio::select! {
            biased;
            answer = tokio::time::timeout(limit, call.into_future()) => answer,
            () = begun.given_up() => {
                return Err(unavailable("its connection does not answer and is made anew"));
            }
        };
        if let Ok(answer) = answer {
            self.slot.answered();
            return answer.map_err(|error| classify(&error));
        }
        if self.slot.unanswered(&begun) {
            warn_silent();
        }
        Err(unavailable(format!("no answer within {limit:?}")))
    }

    /// Awaits the beginning of a read at one instant. That instant may lie
    /// before a change of the catalog (a collection was just made, an index
    /// added): the server then has no snapshot and asks to be asked again.
    pub(super) async fn bounded_read<T, C>(&self, call: impl Fn() -> C) -> Result<T, StoreError>
    where
        C: IntoFuture<
                Output = ::mongodb::error::Result<T>,
                IntoFuture: Future<Output = ::mongodb::error::Result<T>>,
            >,
    {
        self.bounded(async {
            loop {
                match call().await {
                    Err(error) if has_code(&error, SNAPSHOT_UNAVAILABLE) => {
                        tokio::time::sleep(SNAPSHOT_PAUSE).await;
                    }
                    answer => return answer,
                }
            }
        })
        .await
    }

    async fn set_up(&self) -> Result<Arc<Ready>, StoreError> {
        let client = self.client().await?;
        let options = DatabaseOptions::builder()
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .write_concern(
                WriteConcern::builder()
                    .w(Acknowledgment::Majority)
                    .journal(true)
                    .build(),
            )
            .build();
        let database = client.database_with_options(self.database_name(), options);
        let hello = self
            .bounded(database.run_command(doc! { "hello": 1 }))
            .await?;
        let wire_version = hello.get_i32("maxWireVersion").unwrap_or_default();
        if wire_version < WIRE_VERSION_MIN {
            return Err(refused(format!(
                "the server is older than MongoDB 6.0 \
                 (wire version {wire_version}, at least {WIRE_VERSION_MIN} is needed); upgrade it"
            )));
        }
        // A member names its set, a router says `isdbgrid`.
        let replicated =
            hello.contains_key("setName") || hello.get_str("msg").is_ok_and(|m| m == "isdbgrid");
        if !replicated {
            tracing::warn!(
                store = NAME,
                "the MongoDB server stands alone: nothing is replicated; use a replica set"
            );
        }
        let is_there = match self.settings.missing {
            Missing::Make => {
                self.bounded(async { indexes::create_missing(&database).await })
                    .await?;
                true
            }
            Missing::Refuse => {
                self.bounded(async { indexes::are_there(&database).await })
                    .await?
            }
            Missing::RefuseEmpty => {
                self.bounded(async { indexes::hold_documents(&database).await })
                    .await?
            }
        };
        if !is_there {
            return Err(refused(format!(
                "hourglass has stored nothing in the database `{}` there; give the name of the \
                 database in the connection string, mongodb://HOST/DATABASE",
                self.database_name()
            )));
        }
        let ready = Arc::new(Ready {
            buckets: database.collection(indexes::BUCKETS),
            sensors: database.collection(indexes::SENSORS),
            database,
            replicated,
        });
        self.slot.put_ready(&ready);
        Ok(ready)
    }

    async fn client(&self) -> Result<Client, StoreError> {
        if let Some(client) = self.slot.client() {
            return Ok(client);
        }
        // Resolves names of `mongodb+srv`, so it may fail while the net is away.
        let mut options = self.bounded(ClientOptions::parse(self.uri.clone())).await?;
        options
            .server_selection_timeout
            .get_or_insert(self.settings.server_selection_timeout);
        options
            .connect_timeout
            .get_or_insert(self.settings.server_selection_timeout);
        options
            .app_name
            .get_or_insert_with(|| "hourglass".to_owned());
        options.command_event_handler = self.settings.command_events.clone();
        let client = Client::with_options(options).map_err(|error| classify(&error))?;
        self.slot.put_client(&client);
        Ok(client)
    }
}

fn warn_silent() {
    tracing::warn!(
        store = NAME,
        "no call is answered though the server is thought to be there; connecting anew"
    );
}

impl Ready {
    /// Whether there are other members, so that a majority is more than one.
    pub(super) fn is_replicated(&self) -> bool {
        self.replicated
    }

    /// For one answer: all documents of one instant, held by a majority. A
    /// server that stands alone knows no such thing.
    pub(super) fn at_one_instant(&self) -> ReadConcern {
        if self.replicated {
            ReadConcern::snapshot()
        } else {
            ReadConcern::local()
        }
    }

    /// For lists, and for streams, which may outlive what a server keeps of a
    /// snapshot (five minutes by default).
    pub(super) fn majority(&self) -> ReadConcern {
        if self.replicated {
            ReadConcern::majority()
        } else {
            ReadConcern::local()
        }
    }
}
