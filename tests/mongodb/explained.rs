//! Commands as the server explains them.

use std::collections::BTreeSet;

use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// What the server did for a command.
pub(super) struct Examined {
    pub(super) keys: i64,
    pub(super) documents: i64,
    /// Stages of the plan that was taken.
    pub(super) stages: Vec<String>,
    /// Indexes that it read.
    pub(super) indexes: BTreeSet<String>,
}

impl Examined {
    /// Whether a stage is in the plan.
    pub(super) fn has(&self, stage: &str) -> bool {
        self.stages.iter().any(|name| name == stage)
    }
}

/// Explains a command as it was sent, without what belongs to its sending.
pub(super) async fn explain(database: &Database, sent: &Document) -> Examined {
    let keep = |name: &str| {
        !name.starts_with('$') && !["lsid", "readConcern", "writeConcern"].contains(&name)
    };
    let command: Document = sent
        .iter()
        .filter(|(name, _)| keep(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // One statement at a time can be explained.
    for statements in ["updates", "deletes"] {
        if let Ok(statements) = command.get_array(statements) {
            assert_eq!(statements.len(), 1);
        }
    }
    let explained = database
        .run_command(doc! { "explain": command, "verbosity": "executionStats" })
        .await
        .unwrap();
    let mut examined = Examined {
        keys: 0,
        documents: 0,
        stages: Vec::new(),
        indexes: BTreeSet::new(),
    };
    collect(&Bson::Document(explained), &mut examined);
    examined
}

fn collect(value: &Bson, examined: &mut Examined) {
    match value {
        Bson::Document(document) => {
            let number = |name| match document.get(name) {
                Some(Bson::Int32(number)) => Some(i64::from(*number)),
                Some(Bson::Int64(number)) => Some(*number),
                _ => None,
            };
            if let (Some(keys), Some(documents)) =
                (number("totalKeysExamined"), number("totalDocsExamined"))
            {
                examined.keys += keys;
                examined.documents += documents;
            }
            if let Ok(stage) = document.get_str("stage") {
                examined.stages.push(stage.to_owned());
            }
            if let Ok(index) = document.get_str("indexName") {
                examined.indexes.insert(index.to_owned());
            }
            // Plans that were tried and not taken.
            let taken = document.iter().filter(|(name, _)| *name != "rejectedPlans");
            for (_, value) in taken {
                collect(value, examined);
            }
        }
        Bson::Array(values) => values.iter().for_each(|value| collect(value, examined)),
        _ => {}
    }
}
