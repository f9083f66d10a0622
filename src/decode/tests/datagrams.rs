//! Datagrams: what each is, and that none costs another.

use std::cell::Cell;

use super::*;

fn read(texts: &[&[u8]]) -> DecodedDatagrams {
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    let texts = texts.iter().copied();
    datagrams(texts, &context(), options, &mut Counted(NOW))
}

fn codes(all: &DecodedDatagrams) -> Vec<(RejectCode, u64)> {
    all.decoded.rejections.by_code().collect()
}

#[test]
fn lines_and_json_come_into_one_batch() {
    let all = read(&[
        b"m,sensor=S1 x=1\nm,sensor=S2 x=2\n",
        br#" {"sensorId":"S1","x":3}"#,
        b"\xef\xbb\xbf[{\"sensorId\":\"S3\",\"x\":4},{\"sensorId\":\"S1\",\"y\":5}]",
        br#"{"readings":[{"sensorId":"S2","x":6}]}"#,
        b"m,sensor=S1 x=7",
    ]);
    let expected = [
        row("S1", 0, &[("x", 1.0)]),
        row("S2", 1, &[("x", 2.0)]),
        row("S1", 2, &[("x", 3.0)]),
        row("S3", 3, &[("x", 4.0)]),
        row("S1", 4, &[("y", 5.0)]),
        row("S2", 5, &[("x", 6.0)]),
        row("S1", 6, &[("x", 7.0)]),
    ];
    assert_eq!(rows(&all.decoded), expected);
    assert_eq!(all.decoded.batch.sensors().len(), 3);
    assert_eq!((all.datagrams, all.empty, all.faulty), (5, 0, 0));
    assert_eq!(all.decoded.items, 7);
}

#[test]
fn empty_ones_and_comments_are_no_items() {
    let all = read(&[b"", b" \r\n\t", b"# nothing\n", b"[]", b"\xef\xbb\xbf"]);
    assert_eq!((all.datagrams, all.empty, all.decoded.items), (5, 3, 0));
    assert_eq!(all.faulty, 0);
}

#[test]
fn json_that_breaks_off_is_one_item_of_which_nothing_is_taken() {
    let whole = br#"[{"sensorId":"S1","x":1},{"sensorId":"S2","x":2}]"#;
    for end in 1..whole.len() {
        let all = read(&[b"m,sensor=S1 x=0", &whole[..end], b"m,sensor=S1 x=9"]);
        assert_eq!(codes(&all), [(RejectCode::InvalidJson, 1)], "{end}");
        assert_eq!(all.decoded.items, 3);
        assert_eq!((all.faulty, all.first_faulty), (1, Some(1)));
        assert_eq!(all.decoded.batch.sensors().len(), 1, "{end}");
        let values: Vec<_> = rows(&all.decoded).into_iter().map(|row| row.2).collect();
        assert_eq!(values, [[("x".to_owned(), 0.0)], [("x".to_owned(), 9.0)]]);
    }
    for broken in [
        &b"{\"sensorId\":\"S1\",\"x\":1} {}"[..],
        b"{\"sensorId\":\"S1\",\"x\":1,}",
        b"[{\"sensorId\":\"S1\",\"x\":1}\xff]",
        br#"{"readings":[{"sensorId":"S1","x":1}],"other":1}"#,
    ] {
        let all = read(&[broken]);
        assert_eq!(codes(&all), [(RejectCode::InvalidJson, 1)], "{broken:?}");
        assert!(all.decoded.batch.is_empty());
    }
}

#[test]
fn a_bad_line_or_item_costs_no_other() {
    let all = read(&[
        b"m,sensor=S1 x=1\nbroken\nm,sensor=S1 x=2",
        b"m,sensor=S1 x=\"text\"",
        br#"[{"sensorId":"S1","x":3},{"x":4},7,{"sensorId":"S1","x":1e999},{"sensorId":"\ud800","x":1},{"sensorId":"S1","x":5}]"#,
        b"m,sensor=S1 x=6",
    ]);
    assert_eq!(all.decoded.batch.len(), 5);
    assert_eq!((all.faulty, all.first_faulty), (3, Some(0)));
    let first = &all.decoded.rejections.first()[0];
    assert_eq!((first.code, first.line), (RejectCode::InvalidLine, Some(2)));
    let expected = [
        (RejectCode::InvalidLine, 1),
        (RejectCode::NotAnObject, 1),
        (RejectCode::MissingSensorId, 1),
        (RejectCode::InvalidSensorId, 1),
        (RejectCode::NotFinite, 1),
        (RejectCode::NoMeasures, 1),
    ];
    assert_eq!(codes(&all), expected);
    assert_eq!(all.decoded.items, 11);
}

/// What [`Gate`] says may change from one datagram to the next.
#[test]
fn a_datagram_is_asked_for_when_the_one_before_is_done() {
    struct Following<'a>(&'a Cell<i64>);
    impl Gate for Following<'_> {
        fn next(&mut self) -> Micros {
            Micros::new(NOW + self.0.get()).unwrap()
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
    let receipt = Cell::new(0);
    let texts: [&[u8]; 2] = [b"m,sensor=S1 x=1", br#"{"sensorId":"S1","x":2}"#];
    let texts = texts.iter().enumerate().map(|(place, text)| {
        receipt.set(place as i64 * 100);
        *text
    });
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    let all = datagrams(texts, &context(), options, &mut Following(&receipt));
    let at: Vec<_> = rows(&all.decoded).iter().map(|row| row.1).collect();
    assert_eq!(at, [0, 100]);
}
