//! The configured store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_dir::STORE_DIR;
use crate::config::{Settings, StoreSettings, StoreUrl};
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
