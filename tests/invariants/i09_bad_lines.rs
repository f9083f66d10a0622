//! I9 for line protocol: a damaged line costs no other its place.
//!
//! Method: good lines, some of them damaged; a body must come to what its lines
//! come to one by one. Damage makes no quotes: a text may hold line ends, so two
//! stray quotes in two lines can be one sound text.

use hourglass::decode::{Decoded, LineMapping, LineOptions, TextOnly, line_protocol};
use proptest::collection::vec;
use proptest::prelude::*;

use super::cases;
use super::i09_bad_input::{Damage, compare, context, damage_by, gate, rows};
use simulation::action::EPOCH;

fn read(body: &[u8]) -> Decoded {
    let mapping = LineMapping {
        dimension_tags: vec!["core".into()],
        ..LineMapping::default()
    };
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    line_protocol(body, &context(), options, &mut gate())
}

fn good() -> impl Strategy<Value = String> {
    let series = prop::sample::select(vec![
        "m,sensor=S1",
        "m,sensor=S1,core=0,room=4b",
        r"c\ pu,device=a\=b\,c",
        "m",
        "m,host=h,a=é",
    ]);
    let fields = prop::sample::select(vec![
        "temp=24.1",
        "temp=1e-3,humidity=50i",
        r"t\ x=t,sec=-0.0",
        "state=\"a, b\",é=7u",
        "state=\"text\"",
    ]);
    let time = prop_oneof![
        Just(String::new()),
        (0..3600_i64).prop_map(|second| format!(" {}", EPOCH / 1_000_000 - second)),
        Just(format!(" {EPOCH}000")),
        Just(" 5".to_owned()),
    ];
    (series, fields, time).prop_map(|(s, f, t)| format!("{s} {f}{t}"))
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let tokens = b",=\\ #-+0e.itu\t\xff\xc3\r".to_vec();
    let byte = prop_oneof![
        3 => prop::sample::select(tokens),
        1 => any::<u8>().prop_filter("no quote", |byte| *byte != b'"'),
    ];
    let damage = prop_oneof![
        2 => Just(Vec::new()),
        1 => vec((any::<usize>(), 0..3_u8, byte), 1..4),
    ];
    (good(), damage).prop_map(|(line, damage): (String, Damage)| {
        // A text that lost a quote is damage of the other kind.
        let line = if damage.is_empty() {
            line
        } else {
            line.replace('"', "")
        };
        damage_by(line.into_bytes(), damage)
    })
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i09_a_damaged_line_of_line_protocol_costs_no_other_its_place(
        lines in vec(damaged(), 1..12),
    ) {
        let is_item = |line: &&Vec<u8>| {
            let text = line.iter().find(|byte| !b" \t\r\0".contains(byte));
            text.is_some_and(|first| *first != b'#')
        };
        let lines: Vec<&Vec<u8>> = lines.iter().filter(is_item).collect();
        let alone: Vec<Decoded> = lines.iter().map(|line| read(line)).collect();
        let body: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
        compare(&read(&body), &alone)?;
    }

    #[test]
    fn c20_a_cut_costs_no_line_before_it(lines in vec(good(), 1..6)) {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let whole = rows(&read(body.as_bytes()));
        for cut in 0..=body.len() {
            let complete = body.as_bytes()[..cut].iter().filter(|b| **b == b'\n').count();
            let before: usize = lines[..complete].iter().map(|line| line.len() + 1).sum();
            let expected = rows(&read(&body.as_bytes()[..before]));
            let read = rows(&read(&body.as_bytes()[..cut]));
            prop_assert!(read.starts_with(&expected));
            prop_assert!(whole.starts_with(&expected));
        }
    }
}
