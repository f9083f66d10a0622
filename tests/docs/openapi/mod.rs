//! `docs/openapi.json` is the interface as it is: routes, codes, answers.

mod answers;
mod codes;
mod routes;
mod schema;

use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn document() -> Value {
    serde_json::from_str(&super::read("docs/openapi.json")).unwrap()
}

/// Every operation: path, method.
fn operations(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().keys();
        methods
            .map(|method| (path.clone(), method.clone()))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}
