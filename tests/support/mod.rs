//! What tests need around the product: processes, servers, data.

pub(crate) mod mongod;
