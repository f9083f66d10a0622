//! Where settings come from, in order of rising precedence: the defaults, a
//! file, environment variables, flags.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::{Dict, Value};

use super::error::{ConfigError, Problem};
use super::known::{Known, Layer};
use super::settings::{RawSettings, Settings};
use super::wrong_type::wrong_type;

/// Variables with this prefix are settings. Others that begin with `HOURGLASS_`
/// are not ours to judge: container platforms set `HOURGLASS_PORT` and the like
/// for a service of that name.
const VARIABLE_PREFIX: &str = "HOURGLASS__";

/// The name under which the TOML library hands on a date that is not quoted.
const DATETIME_FIELD: &str = "$__toml_private_datetime";

/// What to read settings from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The TOML file, if any.
    pub file: Option<PathBuf>,
    /// Environment variables; those with another prefix are passed over.
    pub variables: Vec<(OsString, OsString)>,
    /// Flags.
    pub flags: Vec<Flag>,
}

/// A flag that sets a key.
#[derive(Debug, Clone)]
pub struct Flag {
    /// As typed: `--listen`.
    pub name: &'static str,
    /// The key it sets: `server.listen`.
    pub key: &'static str,
    /// The value as typed.
    pub value: String,
}

impl Settings {
    /// Reads and proves settings.
    ///
    /// # Errors
    /// [`ConfigError`]: the file cannot be read, or something in file, variables
    /// or flags does not do.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let defaults = Layer::of_defaults();
        let known = Known::of(&defaults);
        let mut problems = Vec::new();
        let mut figment = Figment::from(defaults);
        for layer in layers(sources, &known, &mut problems)? {
            known.find_strangers(&layer, &mut problems);
            figment = figment.merge(layer);
        }
        if !problems.is_empty() {
            return Err(ConfigError::Problems(problems));
        }
        let raw: RawSettings = figment
            .extract()
            .map_err(|error| ConfigError::Problems(error.into_iter().map(wrong_type).collect()))?;
        let source_of = |key: &str| {
            figment.find_metadata(key).map_or_else(
                || "an unknown source".to_owned(),
                |metadata| metadata.name.to_string(),
            )
        };
        raw.check(&source_of).map_err(ConfigError::Problems)
    }
}

fn layers(
    sources: &Sources,
    known: &Known,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    if let Some(path) = &sources.file {
        layers.push(Layer {
            source: format!("file {}", path.display()),
            dict: read_file(path)?,
        });
    }
    for (name, value) in &sources.variables {
        let name = name.to_string_lossy();
        let Some(path) = name.strip_prefix(VARIABLE_PREFIX) else {
            continue;
        };
        let key = path.to_ascii_lowercase().replace("__", ".");
        let source = format!("environment variable {name}");
        match value.to_str() {
            Some(value) => layers.push(known.layer(source, &key, value)),
            None => problems.push(Problem::BadValue {
                key,
                source,
                value: "not UTF-8".to_owned(),
                expected: "UTF-8".to_owned(),
            }),
        }
    }
    for flag in &sources.flags {
        layers.push(known.layer(format!("flag {}", flag.name), flag.key, &flag.value));
    }
    Ok(layers)
}

fn read_file(path: &Path) -> Result<Dict, ConfigError> {
    let text = fs::read_to_string(path).map_err(|reason| ConfigError::Unreadable {
        path: path.to_owned(),
        reason,
    })?;
    let dict: Dict = toml::from_str(&text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start);
        let before = text.get(..before).unwrap_or(&text);
        ConfigError::Syntax {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            reason: error.message().replace('\n', ", "),
        }
    })?;
    Ok(dict
        .into_iter()
        .map(|(key, value)| (key, unquoted_dates_as_text(value)))
        .collect())
}

fn unquoted_dates_as_text(value: Value) -> Value {
    match value {
        Value::Dict(tag, dict) => match dict.get(DATETIME_FIELD) {
            Some(Value::String(_, text)) => Value::String(tag, text.clone()),
            _ => Value::Dict(
                tag,
                dict.into_iter()
                    .map(|(key, value)| (key, unquoted_dates_as_text(value)))
                    .collect(),
            ),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn load_variables(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        Settings::load(&Sources {
            variables: variables(pairs),
            ..Sources::default()
        })
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn load_file(text: &str) -> Result<Settings, ConfigError> {
        let file = file(text);
        Settings::load(&Sources {
            file: Some(file.path().to_owned()),
            ..Sources::default()
        })
    }

    fn refusal(result: Result<Settings, ConfigError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn without_sources_the_defaults_hold() {
        assert_eq!(load_variables(&[]).unwrap(), Settings::default());
        assert_eq!(load_file("").unwrap(), Settings::default());
    }

    #[test]
    fn a_flag_wins_over_a_variable_and_that_over_the_file() {
        let file = file("[server]\nlisten = '127.0.0.1:1'\ninsecure = true\n[data]\ndir = 'f'");
        let mut sources = Sources {
            file: Some(file.path().to_owned()),
            ..Sources::default()
        };
        let settings = Settings::load(&sources).unwrap();
        assert_eq!(settings.server.listen.port(), 1);

        sources.variables = variables(&[("HOURGLASS__SERVER__LISTEN", "127.0.0.1:2")]);
        let settings = Settings::load(&sources).unwrap();
        assert_eq!(settings.server.listen.port(), 2);

        sources.flags.push(Flag {
            name: "--listen",
            key: "server.listen",
            value: "127.0.0.1:3".to_owned(),
        });
        let settings = Settings::load(&sources).unwrap();
        assert_eq!(settings.server.listen.port(), 3);
        assert_eq!(
            settings.data.dir,
            Path::new("f"),
            "what nobody overrides stays"
        );
        assert!(settings.server.insecure);
    }

    #[test]
    fn a_directory_may_be_named_by_a_number() {
        let settings = load_variables(&[("HOURGLASS__DATA__DIR", "1")]).unwrap();
        assert_eq!(settings.data.dir, Path::new("1"));
    }

    #[test]
    fn variables_of_container_platforms_are_passed_over() {
        let settings = load_variables(&[("HOURGLASS_PORT", "tcp://10.0.0.1:80"), ("HOME", "/")]);
        assert_eq!(settings.unwrap(), Settings::default());
    }

    #[test]
    fn a_date_needs_no_quotes() {
        let settings = load_file("[ingest]\nmin_time = 2020-05-01T00:00:00Z").unwrap();
        assert_eq!(settings.ingest.min_time.to_string(), "2020-05-01T00:00:00Z");
    }

    #[test]
    fn an_unknown_key_in_a_file_names_the_nearest_and_the_file() {
        let file = file("[server]\nlisen = 'x'\n[flsh]\nage_max = '1s'\n[jurnal]");
        let message = refusal(Settings::load(&Sources {
            file: Some(file.path().to_owned()),
            ..Sources::default()
        }));
        let path = file.path().display();
        for line in [
            format!("server.lisen (from file {path}) is no known key, did you mean server.listen?"),
            format!("flsh.age_max (from file {path}) is no known key, did you mean flush.age_max?"),
            format!("jurnal (from file {path}) is no known key, did you mean journal?"),
        ] {
            assert!(message.contains(&line), "{message}");
        }
    }

    #[test]
    fn an_unknown_key_in_a_variable_names_the_nearest_and_the_variable() {
        let message = refusal(load_variables(&[
            ("HOURGLASS__STORE__URI", "mongodb://u:hidden@h"),
            ("HOURGLASS__LISTEN", "x"),
        ]));
        assert!(
            message.contains(
                "store.uri (from environment variable HOURGLASS__STORE__URI) is no known key, \
                 did you mean store.url?"
            ),
            "{message}"
        );
        assert!(message.contains("did you mean server.listen?"), "{message}");
        assert!(!message.contains("hidden"), "{message}");
    }

    #[test]
    fn a_wrong_type_names_key_value_source_and_what_would_do() {
        let cases = [
            (
                "[server]\ninsecure = 'yes'",
                r#"server.insecure is "yes" (from "#,
                "expected true or false",
            ),
            (
                "[server]\nrequest_timeout = 60",
                "server.request_timeout is 60 ",
                "expected a duration",
            ),
            (
                "[server]\nbody_bytes_max = 'much'",
                r#"server.body_bytes_max is "much" "#,
                "expected a count of bytes",
            ),
            (
                "[flush]\nreadings_max = 1.5",
                "flush.readings_max is 1.5 ",
                "expected a whole number",
            ),
            (
                "[data]\ndir = []",
                "data.dir is a list ",
                "expected a text in quotes",
            ),
            ("server = 5", "server is a value ", "expected a section"),
        ];
        for (text, value, expected) in cases {
            let message = refusal(load_file(text));
            assert!(
                message.contains(value) && message.contains(expected),
                "{message}"
            );
            assert!(message.contains("(from file "), "{message}");
        }
        let message = refusal(load_variables(&[("HOURGLASS__QUERY__SENSORS_MAX", "many")]));
        assert!(
            message.contains(r#"query.sensors_max is "many" (from environment"#),
            "{message}"
        );
    }

    #[test]
    fn values_out_of_range_are_all_told_with_their_bounds() {
        let message = refusal(load_file(
            "[server]\nlisten = 'localhost'\ncors_origins = ['https://a/b']\n\
             body_ratio_max = 0\nbody_idle_timeout = '1ms'\n\
             [ingest]\nmin_time = 'yesterday'\n\
             [data]\ndir = ' '\n\
             [journal]\nsegment_bytes = '64MiB'\nbytes_max = '100MiB'\n\
             [buffer]\nbytes_max = -1\n\
             [flush]\nin_flight_max = 65\nretry_min = '20s'\n\
             [store]\nurl = 'postgres://u:hidden@h'\npart_bytes_max = '16MiB'\n\
             [log]\nformat = 'jsn'\nfilter = 'a=b=c'",
        ));
        for line in [
            r#"server.listen is "localhost""#,
            r#"server.cors_origins is "https://a/b""#,
            "server.body_ratio_max is 0 (from file ",
            "expected 1 to 1000000",
            "server.body_idle_timeout is 1ms",
            r#"ingest.min_time is "yesterday""#,
            r#"data.dir is " ""#,
            "journal.bytes_max is 100MiB",
            "expected at least twice journal.segment_bytes (64MiB)",
            "buffer.bytes_max is -1B",
            "flush.in_flight_max is 65",
            "expected 1 to 64",
            "flush.retry_max is 10s (from the defaults), expected at least flush.retry_min (20s)",
            r#"store.url is "postgres://u:***@h""#,
            "store.part_bytes_max is 16MiB",
            "expected 64KiB to 8MiB",
            "did you mean json?",
            r#"log.filter is "a=b=c""#,
        ] {
            assert!(message.contains(line), "{line} in {message}");
        }
    }

    #[test]
    fn a_file_that_is_not_toml_names_its_line_and_shows_none_of_it() {
        let message = refusal(load_file("[store]\nurl = 'mongodb://u:hidden@h\n"));
        assert!(message.contains("line 2"), "{message}");
        assert!(!message.contains("hidden"), "{message}");
    }

    #[test]
    fn a_missing_file_is_told_by_its_path() {
        let message = refusal(Settings::load(&Sources {
            file: Some(PathBuf::from("/no/such/file.toml")),
            ..Sources::default()
        }));
        assert!(message.contains("/no/such/file.toml"), "{message}");
    }
}
