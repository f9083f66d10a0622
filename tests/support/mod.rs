//! What tests need around the product: processes, servers, disks, data.

pub(crate) mod hourglass;
pub(crate) mod machine_temperature;
pub(crate) mod mongod;
pub(crate) mod refusing_store;
pub(crate) mod sim_disk;
pub(crate) mod sim_store;
pub(crate) mod until;
