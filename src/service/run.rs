//! The running service.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::known_sensors::learn_known_sensors;
use super::query_patience::QueryPatience;
use super::silence::count_silent;
use super::store_watch::watch_store;
use super::udp::{self, Udp};
use super::{DataDir, DataDirError, open_store, recorder};
use crate::api::{ApiParts, Phase, router};
use crate::apply::{Applier, Progress};
use crate::buffer::Buffer;
use crate::clock::{Clock, SystemClock};
use crate::config::Settings;
use crate::deletion::{DeletionTask, Deletions};
use crate::flush::{Flusher, FlusherParts, StoreHealth, low_water};
use crate::idempotency::{Saver, SaverThread};
use crate::ingest::Ingest;
use crate::journal::disk::{Disk, FsDisk};
use crate::journal::{Journal, KeyedWatch, LogError, Recovered, WriterThread};
use crate::metrics::Ledger;
use crate::quarantine::{Quarantine, QuarantineThread};
use crate::query::Query;
use crate::receive::{BodyBudget, ConnectionLimits, OpenConnections, serve_http};
use crate::registry::{Copies, CopiesTask, Registry};
use crate::retention::RetentionTable;
use crate::store::{DeadlineStore, Store, StoreError, WriterId};
use crate::sweep::{PassParts, Sweep, Sweeper};

/// How long open connections may take to end once everything else has stopped.
const CLOSE_CONNECTIONS_MAX: Duration = Duration::from_secs(2);

/// Why the service did not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The listener.
    #[error("cannot listen on {address}: {source}; is another process there?")]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The UDP sockets or their threads.
    #[error("cannot take datagrams on udp://{address}: {source}; is another process there?")]
    ListenUdp {
        /// Where.
        address: std::net::SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The journal's directory.
    #[error("the journal's directory cannot be used: {0}")]
    JournalDir(#[source] io::Error),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] LogError),
    /// The directory of the log of keys.
    #[error("the directory of the log of idempotency keys cannot be used: {0}")]
    KeysDir(#[source] io::Error),
    /// The log of keys.
    #[error(
        "the log of idempotency keys in {}: {source}; without it, what is sent again with a key \
         of the last day may be stored twice", .dir.display()
    )]
    Keys {
        /// Its directory.
        dir: std::path::PathBuf,
        /// Why.
        source: LogError,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A durable record could not be read back.
    #[error(
        "a durable journal record cannot be read back: {0}; nothing is skipped, so hourglass stops; \
         start it again, and it says what is damaged and what to do"
    )]
    Applier(#[source] io::Error),
    /// A part of the service ended though nobody stopped it.
    #[error("the {0} ended unexpectedly; hourglass stops, the journal keeps what was accepted")]
    Died(&'static str),
}

/// Everything that runs.
struct Running {
    parts: ApiParts,
    store: Arc<dyn Store>,
    applier: JoinHandle<io::Result<()>>,
    flusher: JoinHandle<()>,
    sensors: JoinHandle<()>,
    store_watch: JoinHandle<()>,
    copies: JoinHandle<()>,
    silence: JoinHandle<()>,
    deletion: JoinHandle<()>,
    sweeper: JoinHandle<()>,
    http: JoinHandle<()>,
    udp: Udp,
    writer: WriterThread,
    saver: SaverThread,
    quarantine: QuarantineThread,
    stop_flusher: CancellationToken,
    stop_http: CancellationToken,
    deadline: CancellationToken,
    _data: DataDir,
}

/// Runs the service until `stop` resolves, then stops it in order.
///
/// # Errors
/// [`ServiceError`]: it did not start, or a part of it failed.
pub async fn serve(settings: Settings, stop: impl Future<Output = ()>) -> Result<(), ServiceError> {
    let mut running = start(settings).await?;
    let failure = tokio::select! {
        () = stop => None,
        ended = &mut running.applier => Some(match ended {
            Ok(Err(error)) => ServiceError::Applier(error),
            _ => ServiceError::Died("applier"),
        }),
        _ = &mut running.flusher => Some(ServiceError::Died("flusher")),
        _ = &mut running.store_watch => Some(ServiceError::Died("watch of the store")),
        _ = &mut running.sensors => Some(ServiceError::Died("list of sensors")),
        _ = &mut running.deletion => Some(ServiceError::Died("deletion of readings")),
        _ = &mut running.silence => Some(ServiceError::Died("count of silent sensors")),
        _ = &mut running.copies => Some(ServiceError::Died("rewriting of copies")),
        _ = &mut running.sweeper => Some(ServiceError::Died("passes of retention")),
        () = running.saver.ended() => Some(ServiceError::Died("log of idempotency keys")),
        died = running.udp.died() => Some(died),
        _ = &mut running.http => Some(ServiceError::Died("HTTP listener")),
    };
    match failure {
        None => {
            running.stop().await;
            Ok(())
        }
        // What was accepted is in the journal; nothing behind it can be trusted
        // to be in order now.
        Some(error) => Err(error),
    }
}

async fn start(settings: Settings) -> Result<Running, ServiceError> {
    let prometheus = recorder::install();
    let data = DataDir::open(&settings.data.dir)?;
    let address = settings.server.listen;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| ServiceError::Listen { address, source })?;
    let address = listener.local_addr().unwrap_or(address);
    let udp = udp::bind(&settings.udp)?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let ledger = Arc::new(Ledger::default());
    let store = open_store(&settings.store, &data.store())?;
    let disk: Arc<dyn Disk> =
        Arc::new(FsDisk::open(data.journal()).map_err(ServiceError::JournalDir)?);
    let saver = open_keys(&settings, data.keys(), &clock).await?;
    let keys = Arc::clone(saver.keys());
    let (journal, recovered, writer) =
        open_journal(&settings, &disk, &ledger, keys.watch()).await?;
    let first_seq = recovered.first_seq.unwrap_or(recovered.end_seq);
    let progress = Progress::new(Arc::clone(journal.tail()), first_seq, recovered.end_seq);
    let retention = Arc::new(RetentionTable::new(&settings.retention, clock.now()));
    let buffer = Buffer::new(
        settings.buffer,
        Arc::clone(&ledger),
        WriterId::new(rand::random()),
        store.part_bytes_max(),
    );
    let buffer = Arc::new(buffer.with_retention(Arc::clone(&retention)));
    let applier = Applier::new(
        Arc::clone(journal.tail()),
        disk,
        Arc::clone(&buffer),
        Arc::clone(&clock),
        Arc::clone(&progress),
        recovered.deletions,
    );
    let health = Arc::new(StoreHealth::new(Arc::clone(&clock)));
    let flusher = Flusher::new(
        FlusherParts {
            buffer: Arc::clone(&buffer),
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            progress: Arc::clone(&progress),
            journal: journal.clone(),
            keys: Arc::clone(&keys),
            health: Arc::clone(&health),
        },
        settings.flush,
    );
    let ingest = Ingest::new(
        journal.clone(),
        Arc::clone(&keys),
        Arc::clone(&ledger),
        Arc::clone(&clock),
        settings.ingest,
        settings.line_protocol.clone(),
    );
    let quarantine = open_quarantine(&settings, data.quarantine(), &clock).await?;
    let ingest = ingest
        .with_retention(Arc::clone(&retention))
        .with_quarantine(Arc::clone(quarantine.quarantine()));
    let (limit, url) = (settings.query.store_timeout, &settings.store.url);
    let patience = QueryPatience::new(Arc::clone(&health), limit, url);
    let asked: Arc<dyn Store> = Arc::new(DeadlineStore::new(Arc::clone(&store), patience));
    let query = Query::new(
        Arc::clone(&buffer),
        Arc::clone(&asked),
        Arc::clone(&progress),
    );
    let deletions = Deletions::new(journal.clone(), Arc::clone(&buffer));
    let deletion_task = DeletionTask::new(
        deletions.clone(),
        Arc::clone(&buffer),
        Arc::clone(&store),
        WriterId::new(rand::random()),
        settings.flush,
    );
    let copies = Copies::new(settings.registry.copies_batch);
    let copies_task = CopiesTask::new(copies.clone(), Arc::clone(&store));
    let registry = Registry::new(
        Arc::clone(&store),
        Arc::clone(&buffer),
        Arc::clone(ingest.sensor_cap()),
        WriterId::new(rand::random()),
        copies,
    );
    let registry = registry
        .with_retention(Arc::clone(&retention))
        .with_queries_to(asked);
    let sweep = Sweep::new(PassParts {
        store: Arc::clone(&store),
        buffer: Arc::clone(&buffer),
        table: retention,
        writer: Arc::new(WriterId::new(rand::random())),
    });
    let sweeper = Sweeper::new(sweep.clone(), Arc::clone(&clock), &settings.retention);
    let udp = Udp::start(udp, &settings.udp, ingest.clone(), &ledger, &clock)?;
    let bodies = BodyBudget::new(settings.server.bodies_bytes_max);
    let parts = ApiParts {
        settings,
        ingest,
        keys,
        query,
        registry,
        deletions,
        sweep,
        quarantine: Arc::clone(quarantine.quarantine()),
        buffer,
        journal,
        progress,
        health,
        ledger,
        clock,
        phase: Arc::new(Phase::default()),
        bodies,
        connections: OpenConnections::default(),
        udp: udp.watch(),
        prometheus,
    };
    let (stop_flusher, stop_http, deadline) = (
        CancellationToken::new(),
        CancellationToken::new(),
        CancellationToken::new(),
    );
    let saver = saver.spawn().map_err(ServiceError::KeysDir)?;
    let applier = tokio::spawn(applier.run());
    let sensors = tokio::spawn(learn_known_sensors(
        Arc::clone(parts.ingest.sensor_cap()),
        Arc::clone(&store),
        Arc::clone(&parts.buffer),
        Arc::clone(&parts.progress),
    ));
    let store_watch = tokio::spawn(watch_store(Arc::clone(&store), Arc::clone(&parts.health)));
    let copies = tokio::spawn(copies_task.run());
    let silence = tokio::spawn(count_silent(
        parts.query.clone(),
        Arc::clone(&parts.progress),
        Arc::clone(&parts.clock),
        parts.settings.registry.silent_after,
    ));
    let deletion = tokio::spawn(deletion_task.run());
    let sweeper = tokio::spawn(sweeper.run());
    let flusher = tokio::spawn(flusher.run(stop_flusher.clone(), deadline.clone()));
    let routes = router(Arc::new(parts.clone()));
    let http = tokio::spawn(serve_http(
        listener,
        routes,
        ConnectionLimits {
            connections_max: parts.settings.server.connections_max,
            head_timeout: parts.settings.server.head_timeout,
        },
        parts.connections.clone(),
        stop_http.clone(),
    ));
    tracing::info!(
        listen = %address,
        store = %parts.settings.store.url,
        data_dir = %parts.settings.data.dir.display(),
        version = env!("CARGO_PKG_VERSION"),
        "hourglass is listening on http://{address}"
    );
    Ok(Running {
        parts,
        store,
        applier,
        flusher,
        sensors,
        store_watch,
        copies,
        silence,
        deletion,
        sweeper,
        http,
        udp,
        writer,
        saver,
        quarantine,
        stop_flusher,
        stop_http,
        deadline,
        _data: data,
    })
}

/// Opens the log of keys in `dir`. Before the journal: what it has need not be
/// held there.
async fn open_keys(
    settings: &Settings,
    dir: std::path::PathBuf,
    clock: &Arc<dyn Clock>,
) -> Result<Saver, ServiceError> {
    let disk = FsDisk::open(dir.clone()).map_err(ServiceError::KeysDir)?;
    let (settings, clock) = (settings.ingest, Arc::clone(clock));
    let open = move || Saver::open(Arc::new(disk), &settings, clock);
    let opened = tokio::task::spawn_blocking(open).await;
    let opened = opened.map_err(|_| ServiceError::Died("log of idempotency keys"))?;
    let (saver, recovered) = opened.map_err(|source| ServiceError::Keys { dir, source })?;
    if let Some(torn) = &recovered.torn {
        tracing::info!(
            segment = torn.segment,
            offset = torn.offset,
            bytes = torn.bytes,
            "the end of the log of idempotency keys was torn and is cut; the journal has what it lacks"
        );
    }
    Ok(saver)
}

/// Opens the quarantine in `dir`; its damage never stops the start.
async fn open_quarantine(
    settings: &Settings,
    dir: std::path::PathBuf,
    clock: &Arc<dyn Clock>,
) -> Result<QuarantineThread, ServiceError> {
    let (settings, clock) = (settings.quarantine, Arc::clone(clock));
    let open = move || Quarantine::start(&dir, &settings, clock);
    let opened = tokio::task::spawn_blocking(open).await;
    opened.map_err(|_| ServiceError::Died("quarantine of refused items"))
}

async fn open_journal(
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    ledger: &Arc<Ledger>,
    watch: KeyedWatch,
) -> Result<(Journal, Recovered, WriterThread), ServiceError> {
    let (disk, ledger, settings) = (Arc::clone(disk), Arc::clone(ledger), settings.journal);
    // Reading gigabytes back is not for an async worker.
    let open = move || Journal::open_watched(disk, settings, ledger, watch);
    let opened = tokio::task::spawn_blocking(open).await;
    let (journal, recovered, writer) = opened.map_err(|_| ServiceError::Died("journal"))??;
    if let Some(torn) = &recovered.torn {
        tracing::warn!(
            segment = torn.segment,
            offset = torn.offset,
            bytes = torn.bytes,
            "the journal's end was torn and is cut: a write that a crash cut off, never acknowledged, unless the disk damaged it since"
        );
    }
    if recovered.records > 0 {
        tracing::warn!(
            records = recovered.records,
            values = recovered.values,
            "recovering: the journal holds records of an earlier run"
        );
    } else {
        tracing::info!("the journal is empty: no recovery");
    }
    Ok((journal, recovered, writer))
}

impl Running {
    async fn stop(self) {
        let grace = self.parts.settings.shutdown.grace;
        tracing::info!(grace_seconds = grace.as_secs_f64(), "stopping");
        let deadline = self.deadline.clone();
        let timer = tokio::spawn({
            let deadline = deadline.clone();
            async move {
                tokio::time::sleep(grace).await;
                deadline.cancel();
            }
        });
        tokio::join!(
            or_deadline(&deadline, self.parts.phase.stop_ingest()),
            self.udp.stop(&deadline),
        );
        self.sensors.abort();
        self.copies.abort();
        self.silence.abort();
        self.sweeper.abort();
        self.stop_flusher.cancel();
        if self.flusher.await.is_err() {
            tracing::error!("the flusher died while stopping");
        }
        self.store_watch.abort();
        // It notes its end in the journal, which is still there.
        self.deletion.abort();
        self.saver.finish().await;
        self.quarantine.finish().await;
        let low_water = low_water(&self.parts.progress, &self.parts.buffer);
        let low_water = self.parts.keys.hold(low_water);
        let left = self.parts.journal.tail().durable_end() - low_water;
        self.parts.journal.finish(low_water).await;
        self.writer.join();
        self.applier.abort();
        if left == 0 {
            tracing::info!("everything accepted is in the store");
        } else if !deadline.is_cancelled() {
            tracing::warn!(
                records = left,
                "the store refuses some readings: the journal keeps what it does not have, and \
                 the next start recovers it"
            );
        } else {
            tracing::warn!(
                records = left,
                "the grace ran out: the journal keeps what the store does not have, and the next \
                 start recovers it"
            );
        }
        self.stop_http.cancel();
        let mut http = self.http;
        if tokio::time::timeout(CLOSE_CONNECTIONS_MAX, &mut http)
            .await
            .is_err()
        {
            http.abort();
        }
        timer.abort();
        drop(self.store);
        tracing::info!("stopped");
    }
}

/// Awaits `work`, but not past the deadline.
async fn or_deadline(deadline: &CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = deadline.cancelled() => {}
        () = work => {}
    }
}
