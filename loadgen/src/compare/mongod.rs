//! A mongod of the comparison's own: a replica set of one on the loopback, with a
//! cache of 1 GiB and an oplog of 990 MB.

use std::path::PathBuf;
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::ClientOptions;

use super::server::{Server, free_port};
use super::{CompareError, allocated};
use crate::cpu::Usage;

const NAME: &str = "mongod";
const SERVER_SELECTION_MAX: Duration = Duration::from_secs(5);

/// The server; stopped until it is started.
#[derive(Debug)]
pub(super) struct Mongod {
    program: PathBuf,
    folder: PathBuf,
    /// The same from start to start: it is in the configuration of the set.
    port: Option<u16>,
    running: Option<(Server, Client)>,
}

impl Mongod {
    pub(super) fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self {
            program,
            folder,
            port: None,
            running: None,
        }
    }

    /// Connection string of the set, with a database.
    pub(super) fn uri(&self, database: &str) -> String {
        let port = self.port.unwrap_or(0);
        format!("mongodb://127.0.0.1:{port}/{database}?replicaSet=rs0")
    }

    /// Starts it and waits until it is primary.
    pub(super) async fn start(&mut self) -> Result<(), CompareError> {
        let is_new = self.port.is_none();
        let port = match self.port {
            Some(port) => port,
            None => *self.port.insert(free_port()?),
        };
        let data = self.folder.join("mongod");
        std::fs::create_dir_all(&data).map_err(CompareError::file(&data))?;
        let arguments = [
            "--bind_ip=127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--dbpath={}", data.display()),
            "--replSet=rs0".to_owned(),
            "--wiredTigerCacheSizeGB=1".to_owned(),
            "--oplogSize=990".to_owned(),
            "--nounixsocket".to_owned(),
            "--setParameter=diagnosticDataCollectionEnabled=false".to_owned(),
            // At its stop it waits so long for others to take over; there are none.
            "--setParameter=shutdownTimeoutMillisForSignaledShutdown=100".to_owned(),
        ];
        let mut server = Server::start(NAME, &self.program, arguments, &[], &self.folder)?;
        let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
        let mut options = ClientOptions::parse(uri).await?;
        options.server_selection_timeout = Some(SERVER_SELECTION_MAX);
        let client = Client::with_options(options)?;
        let admin = client.database("admin");
        let answers = async || admin.run_command(doc! { "ping": 1 }).await.is_ok();
        server.wait_until_ready(answers).await?;
        if is_new {
            let config = doc! {
                "_id": "rs0",
                "members": [{ "_id": 0, "host": format!("127.0.0.1:{port}") }],
                "settings": { "electionTimeoutMillis": 1000 },
            };
            let initiate = doc! { "replSetInitiate": config };
            admin.run_command(initiate).await?;
        }
        let is_primary = async || {
            let hello = admin.run_command(doc! { "hello": 1 }).await;
            hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))
        };
        server.wait_until_ready(is_primary).await?;
        self.running = Some((server, client));
        Ok(())
    }

    /// The client of the running server.
    pub(super) fn client(&self) -> Result<&Client, CompareError> {
        let (_, client) = self.running()?;
        Ok(client)
    }

    /// CPU and memory of the server, with its name.
    pub(super) fn usage(&self) -> Result<(&'static str, Usage), CompareError> {
        let (server, _) = self.running()?;
        Ok((NAME, server.usage()?))
    }

    pub(super) async fn version(&self) -> Result<String, CompareError> {
        let admin = self.client()?.database("admin");
        let info = admin.run_command(doc! { "buildInfo": 1 }).await?;
        Ok(format!("mongod {}", info.get_str("version").unwrap_or("?")))
    }

    /// Bytes of a database's collections and indexes, after an fsync.
    pub(super) async fn stored(&self, database: &str) -> Result<u64, CompareError> {
        let client = self.client()?;
        let sync = doc! { "fsync": 1 };
        client.database("admin").run_command(sync).await?;
        let stats = doc! { "dbStats": 1 };
        let stats = client.database(database).run_command(stats).await?;
        Ok(number(&stats, "storageSize") + number(&stats, "indexSize"))
    }

    /// Bytes of all its files, journal and oplog among them.
    pub(super) fn files(&self) -> Result<u64, CompareError> {
        allocated(&self.folder.join("mongod"))
    }

    fn running(&self) -> Result<&(Server, Client), CompareError> {
        let running = self.running.as_ref();
        running.ok_or_else(|| CompareError::not_running(NAME))
    }

    pub(super) async fn stop(&mut self) -> Result<(), CompareError> {
        match self.running.take() {
            Some((server, client)) => {
                client.shutdown().await;
                server.stop().await
            }
            None => Ok(()),
        }
    }
}

/// A number of any type, as mongod answers them.
pub(super) fn number(document: &Document, key: &str) -> u64 {
    match document.get(key) {
        Some(Bson::Int32(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Int64(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Double(number)) => *number as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_are_read() {
        let document = doc! { "a": 1_i32, "b": 2_i64, "c": 3.0, "d": "4" };
        let numbers = ["a", "b", "c", "d", "e"].map(|key| number(&document, key));
        assert_eq!(numbers, [1, 2, 3, 0, 0]);
    }
}
