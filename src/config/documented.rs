//! Holds `config/hourglass.toml` and the variables to the keys there are.

use toml::{Table, Value};

use super::{Flag, Settings, Sources};

const DOCUMENTED: &str = include_str!("../../config/hourglass.toml");

fn keys(table: &Table) -> Vec<String> {
    let sections = table.iter().flat_map(|(section, values)| {
        let values = values.as_table().expect("a section");
        values.keys().map(move |key| format!("{section}.{key}"))
    });
    sections.collect()
}

fn load_file(text: &str) -> Settings {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Settings::load(&Sources {
        file: Some(file.path().to_owned()),
        ..Sources::default()
    })
    .unwrap()
}

fn defaults() -> Table {
    Settings::default().to_toml().parse().unwrap()
}

#[test]
fn the_documented_file_holds_every_key() {
    assert_eq!(keys(&DOCUMENTED.parse().unwrap()), keys(&defaults()));
}

#[test]
fn the_documented_file_equals_the_defaults() {
    assert_eq!(load_file(DOCUMENTED), Settings::default());
}

#[test]
fn every_key_of_the_documented_file_has_a_comment_above_it() {
    let mut above = "";
    for line in DOCUMENTED.lines() {
        if line.contains(" = ") && !line.starts_with('#') {
            assert!(above.starts_with("# "), "{line}");
        }
        above = line;
    }
}

/// A value of the key that is not its default.
fn other(key: &str, default: &Value) -> String {
    match (key, default) {
        ("server.listen", _) => "[::1]:9".to_owned(),
        ("udp.listen", _) => "::1".to_owned(),
        ("udp.allow", _) => "10.0.0.0/8,fd00::1".to_owned(),
        ("udp.unit", _) => "ms".to_owned(),
        ("server.cors_origins", _) => "https://a.example,http://b:1".to_owned(),
        ("ingest.min_time", _) => "2020-01-01T00:00:00Z".to_owned(),
        ("store.url", _) => "mongodb://a,b/?replicaSet=rs0".to_owned(),
        ("retention.hours" | "retention.readings", _) => "30d".to_owned(),
        ("log.format", _) => "json".to_owned(),
        ("data.dir" | "log.filter", _) => "debug".to_owned(),
        (_, Value::Array(_)) => "a,b".to_owned(),
        (_, Value::Boolean(_)) => "true".to_owned(),
        (_, Value::Integer(_)) => "7".to_owned(),
        (_, Value::String(text)) if text.ends_with('B') => "3MiB".to_owned(),
        (_, Value::String(_)) => "7s".to_owned(),
        _ => panic!("no other value for {key}"),
    }
}

#[test]
fn every_key_can_be_set_by_a_variable() {
    for (section, values) in defaults() {
        for (key, default) in values.as_table().unwrap() {
            let value = other(&format!("{section}.{key}"), default);
            let name = format!("HOURGLASS__{section}__{key}").to_ascii_uppercase();
            let mut sources = Sources {
                variables: vec![(name.clone().into(), value.into())],
                ..Sources::default()
            };
            // Bounds that must leave room for something smaller.
            let smaller = match key.as_str() {
                "bytes_max" if section == "journal" => Some("journal.segment_bytes"),
                "bodies_bytes_max" => Some("server.body_bytes_max"),
                _ => None,
            };
            sources.flags.extend(smaller.map(|key| Flag {
                name: "--test",
                key,
                value: "1MiB".to_owned(),
            }));
            let settings = Settings::load(&sources).unwrap();
            let effective: Table = settings.to_toml().parse().unwrap();
            assert_ne!(&effective[&section][key], default, "{name}");
        }
    }
}

#[test]
fn printed_settings_mask_the_password_and_read_back_as_the_same() {
    let settings = Settings::load(&Sources {
        variables: vec![(
            "HOURGLASS__STORE__URL".into(),
            "mongodb://u:hid%40den@h/db".into(),
        )],
        ..Sources::default()
    })
    .unwrap();
    assert!(
        !settings.to_toml().contains("hid"),
        "{}",
        settings.to_toml()
    );
    assert!(!format!("{settings:?}").contains("hid"), "{settings:?}");
    assert!(settings.to_toml().contains("mongodb://u:***@h/db"));

    let printed = Settings::default().to_toml();
    assert_eq!(load_file(&printed), Settings::default());
}
