//! The configured store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_dir::{DataDir, DataDirError, STORE_DIR};
use crate::config::{Settings, StorePlace, StoreSettings, StoreUrl};
use crate::journal::holds_records;
use crate::store::embedded::{EmbeddedSettings, EmbeddedStore};
use crate::store::mongodb::{Missing, MongoSettings, MongoStore};
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
            let mongo = mongo_settings(settings);
            Ok(Arc::new(MongoStore::connect(uri.reveal(), mongo)?))
        }
    }
}

/// Whether the configured store can be opened as far as that is known without
/// asking anybody.
///
/// # Errors
/// A connection string that the driver does not take.
pub fn check_store(settings: &StoreSettings) -> Result<(), StoreError> {
    match &settings.url {
        StoreUrl::Embedded => Ok(()),
        StoreUrl::Mongodb(uri) => {
            MongoStore::connect(uri.reveal(), mongo_settings(settings)).map(drop)
        }
    }
}

fn mongo_settings(settings: &StoreSettings) -> MongoSettings {
    MongoSettings {
        server_selection_timeout: settings.connect_timeout,
        part_bytes_max: settings.part_bytes_max,
        ..MongoSettings::default()
    }
}

/// A store that `migrate` or `verify` opened, and the lock of its data directory.
#[derive(Debug)]
pub struct OpenedPlace {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Which one it is, without secrets; the same from wherever it is called.
    pub name: String,
    /// Its data directory, where it has one.
    pub dir: Option<PathBuf>,
    _lock: Option<DataDir>,
}

/// Why a store cannot be migrated from or to, or verified.
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

/// Opens the store at `place` with these settings. It must answer; one to copy
/// from must be there, and hold all that its journal does: nothing is made there.
///
/// # Errors
/// [`PlaceOpenError`].
pub async fn open_place(
    place: &StorePlace,
    settings: &StoreSettings,
    is_source: bool,
) -> Result<OpenedPlace, PlaceOpenError> {
    let opened = match place {
        StorePlace::Mongodb(uri) => {
            let mongo = MongoSettings {
                missing: match is_source {
                    true => Missing::RefuseEmpty,
                    false => Missing::Make,
                },
                ..mongo_settings(settings)
            };
            OpenedPlace {
                store: Arc::new(MongoStore::connect(uri.reveal(), mongo)?),
                name: place.to_string(),
                dir: None,
                _lock: None,
            }
        }
        StorePlace::Embedded(dir) => open_data_dir(dir, settings, is_source)?,
    };
    opened.store.ping().await?;
    Ok(opened)
}

fn open_data_dir(
    dir: &Path,
    settings: &StoreSettings,
    is_source: bool,
) -> Result<OpenedPlace, PlaceOpenError> {
    if is_source {
        check_there_is_one(dir)?;
    }
    let data = DataDir::open(dir)?;
    if holds_unstored(dir, &data)? {
        return Err(PlaceOpenError::JournalHoldsRecords(dir.to_owned()));
    }
    open_locked(dir, data, settings)
}

fn holds_unstored(dir: &Path, data: &DataDir) -> Result<bool, PlaceOpenError> {
    holds_records(&data.journal()).map_err(|source| PlaceOpenError::Journal {
        dir: dir.to_owned(),
        source,
    })
}

fn open_locked(
    dir: &Path,
    data: DataDir,
    settings: &StoreSettings,
) -> Result<OpenedPlace, PlaceOpenError> {
    let embedded = StoreSettings {
        url: StoreUrl::Embedded,
        ..settings.clone()
    };
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    Ok(OpenedPlace {
        store: open_store(&embedded, &data.store())?,
        name: StorePlace::Embedded(whole).to_string(),
        dir: Some(dir.to_owned()),
        _lock: Some(data),
    })
}

/// There is nothing to read.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no store in {}; give the data directory that hourglass runs with, the one that \
     holds the directory `{STORE_DIR}`", .0.display()
)]
pub struct NoStore(PathBuf);

/// Opens the configured store to look at what is in it: it must be there, and
/// answer. The lock of its data directory keeps a service out of an embedded one; on
/// MongoDB one may run.
///
/// # Errors
/// [`PlaceOpenError`].
pub async fn open_to_verify(settings: &Settings) -> Result<OpenedPlace, PlaceOpenError> {
    let opened = match &settings.store.url {
        StoreUrl::Embedded => {
            let dir = &settings.data.dir;
            check_there_is_one(dir)?;
            let data = DataDir::open(dir)?;
            if holds_unstored(dir, &data)? {
                tracing::warn!(
                    data_dir = %dir.display(),
                    "the journal holds readings that may not be in the store yet, and they are not looked at; start hourglass there and stop it cleanly first"
                );
            }
            open_locked(dir, data, &settings.store)?
        }
        StoreUrl::Mongodb(uri) => {
            let mongo = MongoSettings {
                missing: Missing::Refuse,
                ..mongo_settings(&settings.store)
            };
            let store = MongoStore::connect(uri.reveal(), mongo)?;
            store.ping().await?;
            OpenedPlace {
                store: Arc::new(store),
                name: uri.to_string(),
                dir: None,
                _lock: None,
            }
        }
    };
    Ok(opened)
}

fn check_there_is_one(dir: &Path) -> Result<(), NoStore> {
    if EmbeddedStore::is_in(&dir.join(STORE_DIR)) {
        Ok(())
    } else {
        Err(NoStore(dir.to_owned()))
    }
}
