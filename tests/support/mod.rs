//! What tests need around the product: processes, servers, disks, data.

pub(crate) mod cut_proxy;
pub(crate) mod eventually;
pub(crate) mod false_sum;
pub(crate) mod hourglass;
pub(crate) mod machine_temperature;
pub(crate) mod mongod;
pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod refusing_store;
pub(crate) mod replica_set;
pub(crate) mod script;
pub(crate) mod seed;
pub(crate) mod site;
pub(crate) mod small_disk;
pub(crate) mod until;

pub(crate) use simulation::{disk as sim_disk, gate};
