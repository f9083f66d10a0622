//! The configured store.

use std::path::Path;
use std::sync::Arc;

use crate::config::{StoreSettings, StoreUrl};
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
