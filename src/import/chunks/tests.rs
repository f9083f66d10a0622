//! Chunks of texts, fed in any pieces.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const CSV: Items = Items::Rows { delimiter: b',' };

fn cutter(items: Items) -> Cutter {
    Cutter {
        items,
        target_bytes: 12,
        look_bytes: 40,
        line_bytes_max: 60,
    }
}

/// The chunks of a text that is fed in these pieces, and whether the rest has a
/// line that is too long.
fn chunks_of(cutter: Cutter, pieces: &[&[u8]]) -> (Vec<Chunk>, bool) {
    let mut chunker = Chunker::new(cutter);
    let mut chunks = Vec::new();
    let drain = |chunker: &mut Chunker, is_end, chunks: &mut Vec<Chunk>| loop {
        match chunker.next_chunk(is_end) {
            Ok(Some(chunk)) => chunks.push(chunk),
            Ok(None) => return true,
            Err(_) => return false,
        }
    };
    for piece in pieces {
        chunker.feed(piece);
        if !drain(&mut chunker, false, &mut chunks) {
            return (chunks, true);
        }
    }
    let is_whole = drain(&mut chunker, true, &mut chunks);
    (chunks, !is_whole)
}

/// The chunks of a text as texts.
fn texts(items: Items, text: &str) -> Vec<String> {
    let (chunks, too_long) = chunks_of(cutter(items), &[text.as_bytes()]);
    assert!(!too_long);
    let texts = chunks.iter();
    texts
        .map(|chunk| String::from_utf8(chunk.bytes.clone()).unwrap())
        .collect()
}

#[test]
fn a_chunk_ends_with_the_line_in_which_it_is_large_enough() {
    let text = "first\nsecond\nthird, which is longer\n\nlast";
    let expected = ["first\nsecond\n", "third, which is longer\n", "\nlast"];
    assert_eq!(texts(Items::Lines, text), expected);
    assert_eq!(texts(Items::Lines, ""), [] as [&str; 0]);
    assert_eq!(texts(Items::Lines, "\n"), ["\n"]);
}

#[test]
fn a_chunk_knows_where_it_stood() {
    let text = b"sensor,x\na,1\n\"b\nb\",2\nc,3\nd,4\ne,5\n";
    let (chunks, _) = chunks_of(cutter(CSV), &[text]);
    let places: Vec<_> = chunks.iter().map(|c| (c.line, c.offset)).collect();
    assert_eq!(places, [(2, 9), (5, 21)]);
}

#[test]
fn a_cell_or_text_with_line_ends_is_not_cut() {
    let rows = "x,note\n1,\"a\nb\nc\nd\ne\nf\"\n2,\n3,ok ok ok\n4,\n";
    let expected = ["1,\"a\nb\nc\nd\ne\nf\"\n", "2,\n3,ok ok ok\n", "4,\n"];
    assert_eq!(texts(CSV, rows), expected);
    let lines = "m s=\"a\nb\nc\nd e=1\",x=1\nm x=2\nm x=3\n# \"comment\nm x=4\n";
    let expected = [
        "m s=\"a\nb\nc\nd e=1\",x=1\n",
        "m x=2\nm x=3\n",
        "# \"comment\nm x=4\n",
    ];
    assert_eq!(texts(Items::LineProtocol, lines), expected);
}

#[test]
fn a_stray_quote_stalls_nothing_and_costs_no_other_line_its_place() {
    for items in [CSV, Items::LineProtocol] {
        let stray = match items {
            Items::LineProtocol => "m s=\"a,x=1\n",
            _ => "1,\"a\n",
        };
        let text = format!("x,y\n{stray}{}", "2,b\n".repeat(30));
        let chunks = texts(items, &text);
        assert!(chunks.len() > 5, "{chunks:?}");
        assert!(chunks.iter().all(|chunk| chunk.len() <= 16), "{chunks:?}");
        assert!(chunks.iter().all(|chunk| chunk.ends_with('\n')));
    }
}

#[test]
fn the_header_is_apart_with_its_quotes_and_what_stands_before_it() {
    for (text, header, rows) in [
        ("a,b\n1,2\n", "a,b\n", "1,2\n"),
        (
            "\u{feff}\n \r\n\"a\nb\",c\r\n1,2\n",
            "\u{feff}\n \r\n\"a\nb\",c\r\n",
            "1,2\n",
        ),
        ("a,b", "a,b\n", ""),
        ("a,\"b\n1,2\n", "a,\"b\n", "1,2\n"),
        ("", "", ""),
    ] {
        let mut chunker = Chunker::new(cutter(CSV));
        chunker.feed(text.as_bytes());
        let chunk = chunker.next_chunk(true).unwrap().unwrap();
        assert_eq!(chunker.header(), header.as_bytes(), "{text:?}");
        assert_eq!(chunk.bytes, rows.as_bytes(), "{text:?}");
        assert_eq!(chunker.next_chunk(true), Ok(None));
    }
}

#[test]
fn a_line_that_no_server_takes_is_told() {
    let (chunks, too_long) = chunks_of(
        cutter(Items::Lines),
        &[b"short\n", &[b'x'; 100], b"\nshort\n"],
    );
    assert!(too_long);
    assert_eq!(chunks.len(), 1);
    let (chunks, too_long) = chunks_of(cutter(Items::Lines), &[&[b'x'; 50], b"\nshort\n"]);
    assert!(!too_long);
    assert_eq!(chunks[0].bytes.len(), 51);
}

#[test]
fn a_chunk_is_halved_between_items() {
    let halves = |items, text: &'static str| {
        let halves = cutter(items).halves(text.as_bytes());
        halves.map(|(a, b)| {
            let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
            (text(a), text(b))
        })
    };
    let parts = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(
        halves(Items::Lines, "a\nb\nc\nd\n"),
        parts("a\nb\n", "c\nd\n")
    );
    assert_eq!(
        halves(Items::Lines, "a\nlonger\n"),
        parts("a\n", "longer\n")
    );
    assert_eq!(halves(Items::Lines, "a\nlonger"), parts("a\n", "longer"));
    assert_eq!(halves(Items::Lines, "alone\n"), None);
    assert_eq!(halves(CSV, "1,\"\n\n\n\"\n"), None);
    assert_eq!(
        halves(CSV, "1,\"\n\n\n\"\n2,\n"),
        parts("1,\"\n\n\n\"\n", "2,\n")
    );
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "\"",
        "\"\"",
        ",",
        "\n",
        "\n",
        "\r\n",
        " ",
        "a",
        "x=",
        "=\"",
        "\\",
        "#",
        "m ",
        "\u{feff}",
        "a long piece of text",
    ]);
    vec(part, 0..50).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    /// Of any text, at any split, for every kind.
    #[test]
    fn c20_the_chunks_are_the_same_however_the_text_is_fed(
        text in any_text(),
        splits in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        for items in [Items::Lines, CSV, Items::LineProtocol] {
            let whole = chunks_of(cutter(items), &[&text]);
            for at in 0..=text.len() {
                let (a, b) = text.split_at(at);
                prop_assert_eq!(&chunks_of(cutter(items), &[a, b]), &whole, "{:?} {}", items, at);
            }
            let mut ends: Vec<usize> = splits.iter().map(|s| s.index(text.len() + 1)).collect();
            ends.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for end in ends {
                pieces.push(&text[from..end]);
                from = end;
            }
            pieces.push(&text[from..]);
            prop_assert_eq!(&chunks_of(cutter(items), &pieces), &whole);
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            prop_assert_eq!(&chunks_of(cutter(items), &bytes), &whole);
        }
    }

    #[test]
    fn the_chunks_are_the_text_in_order_and_end_with_lines(text in any_text()) {
        for items in [Items::Lines, Items::LineProtocol] {
            let (chunks, too_long) = chunks_of(cutter(items), &[&text]);
            let mut at = 0;
            for chunk in &chunks {
                prop_assert_eq!(chunk.offset as usize, at);
                let before = text[..at].iter().filter(|byte| **byte == b'\n').count();
                prop_assert_eq!(chunk.line as usize, before + 1);
                prop_assert!(text[at..].starts_with(&chunk.bytes));
                at += chunk.bytes.len();
                prop_assert!(chunk.bytes.ends_with(b"\n") || at == text.len());
                prop_assert!(!chunk.bytes.is_empty());
            }
            prop_assert!(too_long || at == text.len());
        }
    }

    #[test]
    fn halves_are_the_whole(text in any_text()) {
        for items in [Items::Lines, CSV, Items::LineProtocol] {
            if let Some((a, b)) = cutter(items).halves(&text) {
                prop_assert!(!a.is_empty() && !b.is_empty() && a.ends_with(b"\n"));
                prop_assert_eq!([a, b].concat(), text.clone());
            }
        }
    }
}
