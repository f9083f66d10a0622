//! Lines a second of each decoder on one core, beside what else reads the same
//! bytes: `cargo bench --bench decode`.
//!
//! The peers do less: they build no batch, look up no sensor and judge no value.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use hourglass::decode::{
    CsvColumns, DecodeContext, Gate, LineMapping, LineOptions, TextOnly, TimeUnit,
};
use hourglass::model::{MeasureName, Micros, SensorId};

const LINES: usize = 5000;
const SENSORS: usize = 1000;
/// 2026-05-01T10:00:00Z.
const NOW_SECONDS: usize = 1_777_629_600;

fn main() {
    divan::main();
}

struct Open;

impl Gate for Open {
    fn next(&mut self) -> Micros {
        Micros::MIN
    }

    fn admit(&mut self, _: &SensorId) -> Result<(), usize> {
        Ok(())
    }

    fn admit_measures(
        &mut self,
        _: &SensorId,
        _: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        Ok(())
    }
}

fn context(unit: Option<TimeUnit>) -> DecodeContext {
    DecodeContext {
        received_at: Micros::MIN,
        min_time: Micros::MIN,
        max_time: Micros::MAX,
        unit,
        unit_parameter: "unit",
    }
}

const NAMES: [&str; 3] = ["temp", "humidity", "pressure"];

fn value(line: usize, measure: usize) -> f64 {
    ((line * 7 + measure * 13) % 1000) as f64 / 10.0
}

/// `LINES` readings, each sensor in turn, once a second.
fn body(measures: usize, line: impl Fn(usize, usize, &[(&str, f64)]) -> String) -> String {
    let lines = (0..LINES).map(|n| {
        let values: Vec<_> = (0..measures).map(|m| (NAMES[m], value(n, m))).collect();
        line(n % SENSORS, NOW_SECONDS + n / SENSORS, &values)
    });
    lines.collect()
}

fn join(values: &[(&str, f64)], form: impl Fn(&str, f64) -> String) -> String {
    let values: Vec<String> = values.iter().map(|(name, v)| form(name, *v)).collect();
    values.join(",")
}

fn lines_body(measures: usize) -> String {
    body(measures, |sensor, at, values| {
        let fields = join(values, |name, value| format!("{name}={value}"));
        format!("weather,sensor=S{sensor},room=4b {fields} {at}000000000\n")
    })
}

fn json_item(sensor: usize, at: usize, values: &[(&str, f64)]) -> String {
    let fields = join(values, |name, value| format!("\"{name}\":{value}"));
    format!("{{\"sensorId\":\"S{sensor}\",\"ts\":{at},{fields}}}")
}

fn ndjson_body(measures: usize) -> String {
    body(measures, |sensor, at, values| {
        json_item(sensor, at, values) + "\n"
    })
}

fn json_body(measures: usize) -> String {
    let items = body(measures, |sensor, at, values| {
        json_item(sensor, at, values) + ","
    });
    format!("[{}]", items.trim_end_matches(','))
}

#[divan::bench(args = [1, 3])]
fn line_protocol(bencher: Bencher<'_, '_>, measures: usize) {
    let body = lines_body(measures);
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    let context = context(Some(TimeUnit::Nanos));
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let read =
            |body: &[u8]| hourglass::decode::line_protocol(body, &context, options, &mut Open);
        let decoded = read(black_box(body.as_bytes()));
        assert_eq!(decoded.batch.len(), LINES);
        decoded
    });
}

#[divan::bench(args = [1, 3])]
fn line_protocol_peer_influxdb_line_protocol(bencher: Bencher<'_, '_>, measures: usize) {
    let body = lines_body(measures);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let lines = influxdb_line_protocol::parse_lines(black_box(&body));
        let fields: usize = lines
            .map(|line| line.map_or(0, |l| l.field_set.len()))
            .sum();
        assert_eq!(fields, LINES * measures);
    });
}

#[divan::bench(args = [1, 3])]
fn json_array(bencher: Bencher<'_, '_>, measures: usize) {
    let body = json_body(measures);
    let context = context(None);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let decoded = hourglass::decode::json(black_box(body.as_bytes()), &context, &mut Open);
        let decoded = decoded.expect("the body is sound");
        assert_eq!(decoded.batch.len(), LINES);
        decoded
    });
}

#[divan::bench(args = [1, 3])]
fn ndjson(bencher: Bencher<'_, '_>, measures: usize) {
    let body = ndjson_body(measures);
    let context = context(None);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let decoded = hourglass::decode::ndjson(black_box(body.as_bytes()), &context, &mut Open);
        assert_eq!(decoded.batch.len(), LINES);
        decoded
    });
}

fn table_body(measures: usize) -> String {
    let header = format!("sensor,ts,{}\n", NAMES[..measures].join(","));
    header
        + &body(measures, |sensor, at, values| {
            let cells = join(values, |_, value| value.to_string());
            format!("S{sensor},{at},{cells}\n")
        })
}

#[divan::bench(args = [1, 3])]
fn csv(bencher: Bencher<'_, '_>, measures: usize) {
    let body = table_body(measures);
    let columns = CsvColumns::by_name();
    let context = context(None);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let read = |body: &[u8]| hourglass::decode::csv(body, &context, &columns, &mut Open);
        let decoded = read(black_box(body.as_bytes())).expect("the header is sound");
        assert_eq!(decoded.batch.len(), LINES);
        decoded
    });
}

#[divan::bench(args = [1, 3])]
fn csv_peer_csv(bencher: Bencher<'_, '_>, measures: usize) {
    let body = table_body(measures);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let mut reader = ::csv::Reader::from_reader(black_box(body.as_bytes()));
        let mut record = ::csv::StringRecord::new();
        let mut cells = 0;
        while reader.read_record(&mut record).expect("the body is sound") {
            cells += record.len();
        }
        assert_eq!(cells, LINES * (measures + 2));
    });
}

/// An item as a program that knows its fields would read it.
#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Item<'a> {
    #[serde(rename = "sensorId")]
    sensor_id: &'a str,
    ts: i64,
    temp: f64,
    humidity: Option<f64>,
    pressure: Option<f64>,
}

#[divan::bench(args = [1, 3])]
fn json_array_peer_serde_json(bencher: Bencher<'_, '_>, measures: usize) {
    let body = json_body(measures);
    bencher.counter(ItemsCount::new(LINES)).bench_local(|| {
        let items: Vec<Item<'_>> =
            serde_json::from_str(black_box(&body)).expect("the body is sound");
        assert_eq!(items.len(), LINES);
        items.len()
    });
}
