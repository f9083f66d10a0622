//! The real readings on MongoDB.

use super::for_every_claim;
use crate::support::site::Site;

for_every_claim!(Site::mongodb);
