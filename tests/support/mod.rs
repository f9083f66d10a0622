//! What tests need around the product: processes, servers, disks, data.

pub(crate) mod eventually;
pub(crate) mod gate;
pub(crate) mod hourglass;
pub(crate) mod machine_temperature;
pub(crate) mod mongod;
pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod refusing_store;
pub(crate) mod script;
pub(crate) mod seed;
pub(crate) mod sim_disk;
pub(crate) mod sim_store;
pub(crate) mod site;
pub(crate) mod until;
