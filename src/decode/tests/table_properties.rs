//! What holds for any table.

use ::csv::{ReaderBuilder, Terminator, WriterBuilder};
use proptest::collection::vec;
use proptest::prelude::*;

use super::tables::read;
use super::*;

/// Cells without spaces around them, which are not part of a cell.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "-?[0-9]{1,4}(\\.[0-9]{1,3})?",
        2 => "[a-c,;\"\n\ré ]{0,6}".prop_map(|text| text.trim_matches([' ', '\t']).to_owned()),
        1 => Just(String::new()),
    ]
}

const HEADER: [&str; 5] = ["sensor", "ts", "a", "b, \"c\"\n", "d"];

fn written(rows: &[Vec<String>], delimiter: u8, terminator: Terminator) -> Vec<u8> {
    let mut writer = WriterBuilder::new()
        .delimiter(delimiter)
        .terminator(terminator)
        .flexible(true)
        .from_writer(Vec::new());
    writer.write_record(HEADER).unwrap();
    for row in rows {
        writer.write_record(row).unwrap();
    }
    writer.into_inner().unwrap()
}

/// The rules once more, on cells that another reader found.
fn naive(cells: &[String]) -> Option<Row> {
    let sensor = cells[0].trim_matches([' ', '\t']);
    SensorId::new(sensor).ok()?;
    let at = cells[1].parse::<i64>().ok()? * 1_000_000;
    let mut values = Vec::new();
    for (name, cell) in HEADER[2..].iter().zip(&cells[2..]) {
        if let Ok(value) = cell.parse::<f64>() {
            values.push((name.trim_matches([' ', '\t']).to_owned(), value));
        }
    }
    (!values.is_empty()).then(|| (sensor.to_owned(), at - NOW, values))
}

fn table() -> impl Strategy<Value = Vec<Vec<String>>> {
    let sensor = prop_oneof![4 => "S[0-3]", 1 => "[S,\" ]{1,3}"];
    let time = (1_777_000_000_i64..1_777_629_600).prop_map(|at| at.to_string());
    let row = (sensor, time, vec(cell(), 3)).prop_map(|(sensor, time, cells)| {
        let mut row = vec![sensor.trim_matches([' ', '\t']).to_owned(), time];
        row.extend(cells);
        row
    });
    vec(row, 0..12)
}

/// The header with a name that is a measure.
fn parameters(delimiter: u8) -> Vec<(&'static str, &'static str)> {
    let delimiter = match delimiter {
        b'\t' => "tab",
        b';' => ";",
        _ => ",",
    };
    vec![
        ("delimiter", delimiter),
        ("a", "a"),
        ("b", HEADER[3]),
        ("d", "d"),
    ]
}

proptest! {
    #[test]
    fn a_table_that_the_csv_crate_writes_reads_back(
        rows_sent in table(),
        delimiter in prop::sample::select(vec![b',', b';', b'\t']),
        crlf in any::<bool>(),
    ) {
        let terminator = if crlf { Terminator::CRLF } else { Terminator::Any(b'\n') };
        let body = written(&rows_sent, delimiter, terminator);
        let decoded = read(&parameters(delimiter), &body).unwrap();
        let expected: Vec<Row> = rows_sent.iter().filter_map(|row| naive(row)).map(|mut row| {
            for (name, _) in &mut row.2 {
                if name.starts_with('b') {
                    "b".clone_into(name);
                }
            }
            row
        }).collect();
        prop_assert_eq!(rows(&decoded), expected);
        prop_assert_eq!(decoded.items, rows_sent.len() as u64);
        // A row is told by the line where it begins.
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(body.as_slice());
        let lines: Vec<u64> = reader
            .records()
            .skip(1)
            .map(|record| {
                let record = record.unwrap();
                let mut at = record.position().unwrap().byte() as usize;
                // The other reader has the LF of a CRLF before the next row.
                at += usize::from(body[at] == b'\n');
                1 + body[..at].iter().filter(|byte| **byte == b'\n').count() as u64
            })
            .collect();
        for rejection in decoded.rejections.first() {
            prop_assert_eq!(rejection.line, Some(lines[rejection.index as usize]));
        }
    }

    #[test]
    fn a_row_at_fault_costs_no_other(
        sound in table(),
        stray in "[S1,\"x\n]{1,12}",
        place in any::<prop::sample::Index>(),
    ) {
        // Rows on one line each, so that what is put between is between rows.
        let lines: Vec<String> = sound
            .iter()
            .filter(|row| row.iter().all(|cell| !cell.contains(['\n', '\r', '"', ','])))
            .map(|row| row.join(","))
            .collect();
        let place = place.index(lines.len() + 1);
        let body = |between: &str| {
            let (before, after) = lines.split_at(place);
            let header = "sensor,ts,a,b,d";
            [&[header.to_owned()][..], before, &[between.to_owned()], after].concat().join("\n")
        };
        let without = rows(&read(&[], body("")).unwrap());
        let with = rows(&read(&[], body(&stray)).unwrap());
        let mut rest = with.iter();
        for row in &without {
            prop_assert!(rest.any(|other| other == row), "{:?} is lost of {:?}", row, without);
        }
    }

    #[test]
    fn c20_a_cut_never_costs_an_earlier_row(rows_sent in table()) {
        let body = written(&rows_sent, b',', Terminator::Any(b'\n'));
        let whole = rows(&read(&parameters(b','), &body).unwrap());
        for cut in 0..body.len() {
            match read(&parameters(b','), &body[..cut]) {
                // All but the row that was cut.
                Ok(decoded) => {
                    let mut read = rows(&decoded);
                    read.pop();
                    let shorter = read.len().min(whole.len());
                    prop_assert_eq!(&read[..shorter], &whole[..shorter]);
                }
                Err(error) => prop_assert!(cut < 40, "{}", error),
            }
        }
    }

    #[test]
    fn i09_no_table_like_bytes_panic(
        parts in vec(
            prop::sample::select(vec![
                &b"\""[..], b"\"\"", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b" ", b"S1", b"ts",
                b"sensor", b"a", b"1", b"1777629600", b"nan", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf",
            ]),
            0..60,
        ),
    ) {
        for parameters in [&[][..], &[("sensorId", "S1")], &[("sensorId", "S1"), ("a", "a")]] {
            for body in [parts.concat(), [b"sensor,ts,a\n".to_vec(), parts.concat()].concat()] {
                if let Ok(decoded) = read(parameters, &body) {
                    let told = decoded.batch.len() as u64 + decoded.rejections.total();
                    prop_assert_eq!(decoded.items, told);
                }
            }
        }
    }
}
