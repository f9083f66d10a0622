//! The real readings on the embedded store.

use super::for_every_claim;
use crate::support::site::Site;

for_every_claim!(Site::embedded);
