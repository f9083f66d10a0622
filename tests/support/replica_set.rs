//! A replica set of three real servers on loopback, whose primary tests kill and
//! step down.

use std::time::Duration;

use mongodb::bson::doc;

use super::eventually::eventually;
use super::mongod::{Mongod, client};

/// Small, so that three of them fit beside the rest.
const MEMBER: [&str; 4] = ["--oplogSize", "64", "--wiredTigerCacheSizeGB", "0.25"];
const MEMBERS: usize = 3;
/// How long a member that stepped down stays away from elections.
const STEP_DOWN: Duration = Duration::from_secs(2);

/// The servers; killed when dropped.
pub(crate) struct ReplicaSet {
    members: Vec<Mongod>,
}

impl ReplicaSet {
    /// Starts it and waits for a primary.
    pub(crate) async fn start() -> Self {
        let mut members: Vec<_> = (0..MEMBERS).map(|_| Mongod::member(&MEMBER)).collect();
        for member in &mut members {
            member.run(None).await;
        }
        let hosts = members.iter().zip(0..);
        let hosts: Vec<_> = hosts
            .map(|(member, id)| doc! { "_id": id, "host": member.address() })
            .collect();
        let config = doc! {
            "_id": "rs0",
            "members": hosts,
            "settings": { "electionTimeoutMillis": 1000 },
        };
        let admin = client(&members[0].direct_uri()).await.database("admin");
        admin
            .run_command(doc! { "replSetInitiate": config })
            .await
            .unwrap();
        let set = Self { members };
        set.primary().await;
        set.all_follow().await;
        set
    }

    /// Connection string that names all members.
    pub(crate) fn uri_of(&self, database: &str) -> String {
        let hosts: Vec<_> = self.members.iter().map(Mongod::address).collect();
        format!("mongodb://{}/{database}?replicaSet=rs0", hosts.join(","))
    }

    /// The number of the primary, once there is one.
    pub(crate) async fn primary(&self) -> usize {
        eventually("there is a primary", async || {
            for (number, member) in self.members.iter().enumerate() {
                if self.state(member).await == Some(1) {
                    return Some(number);
                }
            }
            None
        })
        .await
    }

    /// Kills a member as `kill -9` does.
    pub(crate) fn kill(&mut self, member: usize) {
        self.members[member].kill();
    }

    /// Starts a killed member again, and waits until all follow the primary.
    pub(crate) async fn revive(&mut self, member: usize) {
        self.members[member].run(None).await;
        self.primary().await;
        self.all_follow().await;
    }

    /// Has the primary step down, and waits for the next one.
    pub(crate) async fn step_down(&self) {
        let old = self.primary().await;
        let admin = client(&self.members[old].direct_uri())
            .await
            .database("admin");
        let seconds = STEP_DOWN.as_secs() as i32;
        let command =
            doc! { "replSetStepDown": seconds, "secondaryCatchUpPeriodSecs": 1, "force": true };
        admin.run_command(command).await.unwrap();
        self.primary().await;
    }

    /// All members that run are primary or secondary.
    async fn all_follow(&self) {
        eventually("all members follow", async || {
            for member in &self.members {
                if !matches!(self.state(member).await, Some(1 | 2)) {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// The state of a member, as replSetGetStatus numbers it; `None` where it
    /// does not run or belongs to no set yet.
    async fn state(&self, member: &Mongod) -> Option<i32> {
        if !member.is_running() {
            return None;
        }
        let admin = client(&member.direct_uri()).await.database("admin");
        let status = admin.run_command(doc! { "replSetGetStatus": 1 }).await;
        status.ok()?.get_i32("myState").ok()
    }
}
