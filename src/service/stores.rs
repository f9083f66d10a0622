//! The configured store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_dir::{DataDir, DataDirError, STORE_DIR};
use crate::config::{Settings, StorePlace, StoreSettings, StoreUrl};
use crate::journal::holds_records;
use crate::store::embedded::{EmbeddedSettings, EmbeddedStore};
use crate::store::mongodb::{MongoSettings, MongoStore};
use crate::store::{Store, StoreError};

/// Opens the configured store; `embedded_dir` is where the embedded one lies.
///
/// # Errors
/// [`StoreError`]; a MongoDB that is away is none.
pub fn open_store(
    settings: &StoreSettings,
    embedded_dir: &Path,
) -> Result<Arc<dyn Store>, StoreError> {
    match &settings.url {
        StoreUrl::Embedded => {
            let embedded = EmbeddedSettings {
                cache_bytes: settings.embedded_cache_bytes,
                ..EmbeddedSettings::default()
            };
            Ok(Arc::new(EmbeddedStore::open(embedded_dir, embedded)?))
        }
        StoreUrl::Mongodb(uri) => {
            let mongo = MongoSettings {
                server_selection_timeout: settings.connect_timeout,
                part_bytes_max: settings.part_bytes_max,
                ..MongoSettings::default()
            };
            Ok(Arc::new(MongoStore::connect(uri.reveal(), mongo)?))
        }
    }
}

/// A store that `migrate` opened, and the lock of its data directory.
#[derive(Debug)]
pub struct OpenedPlace {
    /// The store.
    pub store: Arc<dyn Store>,
    _lock: Option<DataDir>,
}

/// Why a store cannot be migrated from or to.
#[derive(Debug, thiserror::Error)]
pub enum PlaceOpenError {
    /// There is none.
    #[error(transparent)]
    None(#[from] NoStore),
    /// Its data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// It cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its journal cannot be looked at.
    #[error("the journal in {} cannot be read: {source}", .dir.display())]
    Journal {
        /// The data directory.
        dir: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Readings are not in the store yet.
    #[error(
        "the journal in {} holds readings that are not in the store yet; start hourglass there \
         and stop it cleanly (SIGTERM), then migrate", .0.display()
    )]
    JournalHoldsRecords(PathBuf),
}

/// Opens the store at `place` with these settings. One to copy from must be
/// there, and hold all that its journal does.
///
/// # Errors
/// [`PlaceOpenError`].
pub fn open_place(
    place: &StorePlace,
    settings: &StoreSettings,
    is_source: bool,
) -> Result<OpenedPlace, PlaceOpenError> {
    let with = |url| StoreSettings {
        url,
        ..settings.clone()
    };
    let dir = match place {
        StorePlace::Mongodb(uri) => {
            let settings = with(StoreUrl::Mongodb(uri.clone()));
            return Ok(OpenedPlace {
                store: open_store(&settings, Path::new(STORE_DIR))?,
                _lock: None,
            });
        }
        StorePlace::Embedded(dir) => dir,
    };
    if is_source && !dir.join(STORE_DIR).is_dir() {
        return Err(NoStore(dir.clone()).into());
    }
    let data = DataDir::open(dir)?;
    let holds = holds_records(&data.journal()).map_err(|source| PlaceOpenError::Journal {
        dir: dir.clone(),
        source,
    })?;
    if holds {
        return Err(PlaceOpenError::JournalHoldsRecords(dir.clone()));
    }
    Ok(OpenedPlace {
        store: open_store(&with(StoreUrl::Embedded), &data.store())?,
        _lock: Some(data),
    })
}

/// There is nothing to verify.
#[derive(Debug, thiserror::Error)]
#[error("there is no store in {}; is the data directory right?", .0.display())]
pub struct NoStore(PathBuf);

/// Whether an embedded store lies where `settings` say: opening it would make
/// one, and find it in order.
///
/// # Errors
/// [`NoStore`] where none does.
pub fn check_there_is_a_store(settings: &Settings) -> Result<(), NoStore> {
    let dir = &settings.data.dir;
    match settings.store.url {
        StoreUrl::Embedded if !dir.join(STORE_DIR).is_dir() => Err(NoStore(dir.clone())),
        StoreUrl::Embedded | StoreUrl::Mongodb(_) => Ok(()),
    }
}
