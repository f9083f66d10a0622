//! What `docs/influxdb.md` shows of clients runs as it stands there.

use serde_json::json;

use super::builders::{reading, readings, started};
use super::javascript::FOLDER;
use crate::support::node::node;
use crate::support::python::{INFLUXDB_CLIENTS, python};
use crate::support::script::Script;

/// The address in the documents.
const ADDRESS: &str = "127.0.0.1:8080";

/// The blocks of `language` in the document.
fn blocks(language: &str) -> Vec<String> {
    let path = format!("{}/docs/influxdb.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let begin = format!("```{language}\n");
    let blocks = text.split(&begin).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.collect()
}

#[tokio::test]
async fn the_clients_in_the_documentation_write_what_they_say() {
    let (_dir, hourglass) = started();
    let (_, port) = hourglass.address().split_once(':').unwrap();
    let blocks_of = |language| {
        let blocks = blocks(language).into_iter();
        let here = |block: String| {
            let block = block.replace(ADDRESS, hourglass.address());
            block.replace("port=8080", &format!("port={port}"))
        };
        blocks.map(here).collect::<Vec<_>>()
    };
    let python_blocks = blocks_of("python");
    assert_eq!(python_blocks.len(), 2, "version 2, version 1");
    for block in python_blocks {
        Script::start(python(INFLUXDB_CLIENTS).args(["-c", &block])).end();
    }
    let js_blocks = blocks_of("js");
    assert_eq!(js_blocks.len(), 1);
    for block in js_blocks {
        Script::start(node(FOLDER).args(["-e", &block])).end();
    }
    for sensor in ["python-2", "python-1", "javascript"] {
        assert_eq!(
            readings(&hourglass, sensor).await,
            [reading("2026-05-01T10:00:00Z", json!({ "temp": 24.25 }))],
            "{sensor}"
        );
    }
}
