//! Three real MongoDB servers on loopback that elect a primary, to kill at will.

use std::time::Duration;

use mongodb::bson::{Document, doc};

use super::eventually::eventually;
use super::mongod::{Mongod, client};

/// A member that is asked directly gives up soon.
const ASK_WITHIN: Duration = Duration::from_secs(5);

/// A replica set of three; a quarter of the usual election timeout.
pub(crate) struct ReplicaSet {
    members: Vec<Mongod>,
}

impl ReplicaSet {
    /// Starts three servers and waits for a primary and two secondaries.
    pub(crate) async fn start() -> Self {
        let mut members: Vec<Mongod> = (0..3).map(|_| Mongod::new()).collect();
        for member in &mut members {
            member.spawn(None);
        }
        let hosts = members.iter().zip(0..);
        let hosts: Vec<Document> = hosts
            .map(|(member, id)| doc! { "_id": id, "host": member.address() })
            .collect();
        let config = doc! {
            "_id": "rs0",
            "members": hosts,
            "settings": { "electionTimeoutMillis": 1000 },
        };
        let set = Self { members };
        for at in 0..3 {
            eventually("the servers answer", async || set.hello(at).await).await;
        }
        set.admin(0)
            .await
            .run_command(doc! { "replSetInitiate": config })
            .await
            .unwrap();
        set.whole().await;
        set
    }

    /// Connection string with a database.
    pub(crate) fn uri_of(&self, database: &str) -> String {
        let hosts: Vec<String> = self.members.iter().map(Mongod::address).collect();
        format!("mongodb://{}/{database}?replicaSet=rs0", hosts.join(","))
    }

    async fn admin(&self, at: usize) -> mongodb::Database {
        let address = self.members[at].address();
        let uri =
            format!("mongodb://{address}/?directConnection=true&serverSelectionTimeoutMS=1000");
        client(&uri).await.database("admin")
    }

    async fn hello(&self, at: usize) -> Option<Document> {
        let admin = self.admin(at).await;
        let hello = admin.run_command(doc! { "hello": 1 });
        tokio::time::timeout(ASK_WITHIN, hello).await.ok()?.ok()
    }

    /// The member that takes writes, once there is one.
    pub(crate) async fn primary(&self) -> usize {
        let is_primary = async || {
            for at in 0..self.members.len() {
                if !self.members[at].is_running() {
                    continue;
                }
                let hello = self.hello(at).await;
                if hello.is_some_and(|h| h.get_bool("isWritablePrimary").is_ok_and(|is| is)) {
                    return Some(at);
                }
            }
            None
        };
        eventually("a primary is elected", is_primary).await
    }

    /// Waits until there is a primary and the others follow it.
    pub(crate) async fn whole(&self) {
        self.primary().await;
        for at in 0..self.members.len() {
            let follows = async || {
                let hello = self.hello(at).await?;
                let is = |role: &str| hello.get_bool(role).is_ok_and(|is| is);
                (is("isWritablePrimary") || is("secondary")).then_some(())
            };
            eventually("every member is primary or secondary", follows).await;
        }
    }

    /// Kills the primary as `kill -9` does; its number.
    pub(crate) async fn kill_primary(&mut self) -> usize {
        let primary = self.primary().await;
        self.members[primary].kill();
        primary
    }

    /// Has the primary step down, so that another is elected.
    pub(crate) async fn step_down(&self) {
        let primary = self.primary().await;
        let admin = self.admin(primary).await;
        let command = doc! { "replSetStepDown": 10, "secondaryCatchUpPeriodSecs": 5 };
        admin.run_command(command).await.unwrap();
    }

    /// Starts a member that was killed.
    pub(crate) fn restart(&mut self, at: usize) {
        self.members[at].spawn(None);
    }
}
