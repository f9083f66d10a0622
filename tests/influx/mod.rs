//! InfluxDB's endpoints over real sockets: what is written is what is read, and
//! every answer makes the clients do what is right. Telegraf's requests are
//! imitated; InfluxDB's own clients for Python and JavaScript are run unchanged.

mod builders;
mod cuts;
mod grammar;
mod javascript;
mod keys;
mod outages;
mod python;
mod queries;
mod refusals;
mod secrets;
mod snippets;
mod surroundings;
mod telegraf;
mod times;
mod values;
mod writes;
