//! The words of the domain: sensors, measures, instants, hours, batches of
//! readings, rejections. Values only: no I/O, no clock, no async.

mod batch;
mod keep;
mod key;
mod measure;
mod origin;
mod rejection;
mod sensor;
mod sensor_id;
mod site;
mod tags;
mod time;

pub use batch::{Batch, ReadingRef};
pub use keep::{keep_text, read_keep};
pub use key::{
    BucketKey, escape_field, escape_id, is_sum_field, sum_field, unescape_field, unescape_id,
};
pub use measure::{MeasureName, MeasureNameError};
pub use origin::{ORIGIN_TAGS_MAX, Origin, TAG_KEY_BYTES_MAX, TAG_VALUE_BYTES_MAX};
pub use rejection::{RejectCode, Rejection};
pub use sensor::{Keep, RecentReading, Retention, SensorDetails, UNITS_MAX, attribute_number};
pub use sensor_id::{SensorId, SensorIdError};
pub use site::{Contact, Position, SITE_CONTACTS_MAX, Site, SiteCopy, SiteId, SiteIdError};
pub use tags::{ATTRIBUTES_MAX, MergedTags, Tags};
pub use time::{HourRange, HourStart, Micros, Order, TimeError, TimeRange};

/// Largest magnitude a value may have. Sums over a full bucket (3.6e9
/// microsecond instants) then stay below `f64::MAX`.
pub const VALUE_MAGNITUDE_MAX: f64 = 1e300;

/// Integers beyond 2^53 have no exact double; they are rejected, not rounded.
pub const EXACT_INTEGER_MAX: u64 = 1 << 53;

/// Most measures one reading may carry.
pub const MEASURES_PER_READING_MAX: usize = 256;

/// Most distinct measures one sensor may have in an hour's bucket.
pub const MEASURES_PER_SENSOR_MAX: usize = 1024;
