//! What a server did, from its profiler.

use std::fmt;

use futures_util::TryStreamExt;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// What an action cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reads {
    /// Commands that read, batches of a cursor included.
    pub(super) round_trips: usize,
    pub(super) keys: i64,
    pub(super) documents: i64,
    /// Bytes of the answers.
    pub(super) bytes: i64,
    /// How each was found.
    pub(super) plans: Vec<String>,
}

impl Reads {
    /// Whether a collection was read from end to end, or documents were sorted.
    pub(super) fn is_scan(&self) -> bool {
        self.plans.iter().any(|plan| plan.contains("COLLSCAN"))
    }
}

/// `round trips, keys, documents`.
impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} / {} / {}",
            self.round_trips, self.keys, self.documents
        )
    }
}

/// Runs `action` with the profiler on; what it answers, and what it cost.
pub(super) async fn profiled<T>(
    database: &Database,
    action: impl Future<Output = T>,
) -> (T, Reads) {
    set_level(database, 0).await;
    let profile = database.collection::<Document>("system.profile");
    profile.drop().await.unwrap();
    set_level(database, 2).await;
    let answer = action.await;
    set_level(database, 0).await;
    let mut reads = Reads::default();
    let noted = profile.find(doc! {}).await.unwrap();
    for note in noted.try_collect::<Vec<_>>().await.unwrap() {
        add(&mut reads, &note);
    }
    (answer, reads)
}

async fn set_level(database: &Database, level: i32) {
    database
        .run_command(doc! { "profile": level })
        .await
        .unwrap();
}

fn add(reads: &mut Reads, note: &Document) {
    let is_read = match note.get_str("op").unwrap() {
        "query" | "getmore" => true,
        "command" => note.get_document("command").is_ok_and(|command| {
            let reads = ["aggregate", "count", "distinct"];
            reads.iter().any(|name| command.contains_key(*name))
        }),
        _ => false,
    };
    if !is_read || note.get_str("ns").unwrap().ends_with(".system.profile") {
        return;
    }
    let number = |name: &str| match note.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    reads.round_trips += 1;
    reads.keys += number("keysExamined");
    reads.documents += number("docsExamined");
    reads.bytes += number("responseLength");
    let plan = note.get_str("planSummary").unwrap_or_default();
    let sorts = if note.get_bool("hasSortStage").unwrap_or(false) {
        " SORT"
    } else {
        ""
    };
    reads.plans.push(format!("{plan}{sorts}"));
}
