//! What people say of sensors and sites: forms of JSON and CSV, checked, and the
//! changes of records that follow.
//!
//! - [`SensorForm`], [`SiteForm`]: what may be said, from and to JSON. Pure.
//! - [`merge_patch`]: RFC 7396. Pure.
//! - [`entity_tag`], [`Precondition`]: versions as HTTP has them. Pure.
//! - [`SensorList`]: the body of a bulk put, line by line. Pure.
//! - [`Registry`]: loads, builds, puts under the fence, and again where somebody
//!   else was there. Nothing is answered before the store has it.
//! - [`CopiesTask`]: goes on with the rewriting of copies that a start finds, or
//!   that took too long to wait for.

mod before;
mod bulk;
mod copies;
mod entity_tag;
mod error;
mod list;
mod members;
mod merge_patch;
mod sensor_form;
mod service;
mod site_form;
mod table;

pub use bulk::{BulkError, BulkOutcome};
pub use copies::{Copies, CopiesTask};
pub use entity_tag::{Precondition, entity_tag};
pub use error::{FieldError, RegistryError};
pub use list::{ListError, ListItem, ListPart, ListRejection, Place, SensorList};
pub use merge_patch::merge_patch;
pub use sensor_form::{SensorForm, shown};
pub use service::{PutSensor, PutSite, Registry};
pub use site_form::SiteForm;
