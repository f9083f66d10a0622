//! A strict reader of the Prometheus text format, version 0.0.4.
//!
//! Strict, as a scraper must not guess: names are checked, the lines of a
//! family stand together, a type stands once and before its samples, and no
//! series appears twice.

use std::collections::{BTreeMap, BTreeSet};

/// A page that is not in the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the metrics page: {why}")]
pub struct ExpositionError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// The labels of a series.
pub type Labels = BTreeMap<String, String>;

/// A page of samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposition {
    samples: BTreeMap<String, BTreeMap<Labels, f64>>,
}

impl Exposition {
    /// Reads a page.
    ///
    /// # Errors
    /// The first line that is not in the format.
    pub fn parse(page: &str) -> Result<Self, ExpositionError> {
        let mut reader = Reader::default();
        if !page.is_empty() && !page.ends_with('\n') {
            let line = page.lines().count();
            return Err(ExpositionError {
                line,
                why: "the last line has no end",
            });
        }
        for (index, line) in page.lines().enumerate() {
            reader.line(line).map_err(|why| ExpositionError {
                line: index + 1,
                why,
            })?;
        }
        Ok(reader.page)
    }

    /// The sum of all series of a name; none where there is no series.
    #[must_use]
    pub fn total(&self, name: &str) -> Option<f64> {
        Some(self.samples.get(name)?.values().sum())
    }

    /// The series of a name by the value of one label, those without it left out.
    #[must_use]
    pub fn by_label(&self, name: &str, label: &str) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for (labels, value) in self.samples.get(name).into_iter().flatten() {
            if let Some(label) = labels.get(label) {
                *sums.entry(label.as_str()).or_default() += value;
            }
        }
        sums
    }
}

#[derive(Default)]
struct Reader {
    page: Exposition,
    family: String,
    seen: BTreeSet<String>,
    types: BTreeMap<String, String>,
    helped: BTreeSet<String>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        match line.strip_prefix('#') {
            _ if line.trim().is_empty() => Ok(()),
            Some(comment) => self.comment(comment),
            None => self.sample(line),
        }
    }

    fn comment(&mut self, comment: &str) -> Result<(), &'static str> {
        let mut words = comment.trim_start().splitn(3, [' ', '\t']);
        let keyword = words.next().unwrap_or_default();
        if keyword != "TYPE" && keyword != "HELP" {
            return Ok(());
        }
        let name = words.next().ok_or("a name is missing")?;
        if !is_name(name, true) {
            return Err("the name of the family is not a metric name");
        }
        self.enter(name)?;
        if keyword == "HELP" {
            let new = self.helped.insert(name.to_owned());
            return new.then_some(()).ok_or("a second help of one family");
        }
        let kind = words.next().ok_or("a type is missing")?.trim();
        if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
            return Err("the type is none of the format's");
        }
        if self
            .page
            .samples
            .keys()
            .any(|sample| self.family_of(sample) == name)
        {
            return Err("the type stands after a sample");
        }
        let old = self.types.insert(name.to_owned(), kind.to_owned());
        old.is_none()
            .then_some(())
            .ok_or("a second type of one family")
    }

    fn sample(&mut self, line: &str) -> Result<(), &'static str> {
        let end = line.find(['{', ' ', '\t']).ok_or("a value is missing")?;
        let (name, rest) = line.split_at(end);
        if !is_name(name, true) {
            return Err("the name is not a metric name");
        }
        let (labels, rest) = match rest.trim_start().strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Labels::new(), rest),
        };
        let mut words = rest.split_ascii_whitespace();
        let value = number(words.next().ok_or("a value is missing")?)?;
        if let Some(time) = words.next() {
            time.parse::<i64>()
                .map_err(|_| "the time is not an integer")?;
        }
        if words.next().is_some() {
            return Err("something follows the sample");
        }
        let family = self.family_of(name).to_owned();
        self.enter(&family)?;
        let series = self.page.samples.entry(name.to_owned()).or_default();
        let old = series.insert(labels, value);
        old.is_none().then_some(()).ok_or("a series appears twice")
    }

    /// The family a sample belongs to: histograms and summaries have several
    /// names.
    fn family_of<'a>(&self, sample: &'a str) -> &'a str {
        for suffix in ["_bucket", "_sum", "_count"] {
            let Some(family) = sample.strip_suffix(suffix) else {
                continue;
            };
            let kind = self.types.get(family).map(String::as_str);
            if kind == Some("histogram") || kind == Some("summary") {
                return family;
            }
        }
        sample
    }

    fn enter(&mut self, family: &str) -> Result<(), &'static str> {
        if self.family == family {
            return Ok(());
        }
        family.clone_into(&mut self.family);
        let new = self.seen.insert(family.to_owned());
        new.then_some(())
            .ok_or("the lines of one family do not stand together")
    }
}

fn is_name(name: &str, colon: bool) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn number(text: &str) -> Result<f64, &'static str> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !plain && !["Inf", "NaN"].contains(&unsigned) {
        return Err("the value is not a number");
    }
    text.parse().map_err(|_| "the value is not a number")
}

fn labels(mut rest: &str) -> Result<(Labels, &str), &'static str> {
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, after) = rest.split_once('=').ok_or("a label has no value")?;
        let name = name.trim();
        if !is_name(name, false) {
            return Err("a label's name is not one");
        }
        let (value, after) = quoted(after.trim_start())?;
        if labels.insert(name.to_owned(), value).is_some() {
            return Err("a label appears twice");
        }
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.starts_with('}') => {}
            None => return Err("labels are not parted by commas"),
        }
    }
}

fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let text = text
        .strip_prefix('"')
        .ok_or("a label's value has no quotes")?;
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                _ => return Err("a label's value has an unknown escape"),
            },
            _ => value.push(c),
        }
    }
    Err("a label's value does not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_as_servers_write_it_is_read() {
        let page = "# HELP items Items received.\n# TYPE items counter\n\
                    items{code=\"a\\\"b\\\\\\n\",} 3 1395066363000\nitems{code=\"}\"} 4\n\n\
                    # any comment\n# TYPE wait histogram\nwait_bucket{le=\"+Inf\"} 2\n\
                    wait_sum 1.5e-3\nwait_count 2\n# TYPE up gauge\nup NaN\n";
        let page = Exposition::parse(page).unwrap();
        assert_eq!(page.total("items"), Some(7.0));
        assert_eq!(page.total("wait_sum"), Some(0.0015));
        assert!(page.total("up").unwrap().is_nan());
        assert_eq!(page.total("gone"), None);
    }

    #[test]
    fn a_page_that_is_not_in_the_format_says_line_and_reason() {
        for (page, line, why) in [
            ("a 1", 1, "the last line has no end"),
            ("a 1\n1a 2\n", 2, "the name is not a metric name"),
            ("a\n", 1, "a value is missing"),
            ("a one\n", 1, "the value is not a number"),
            ("a infinity\n", 1, "the value is not a number"),
            ("a 1 2 3\n", 1, "something follows the sample"),
            ("a 1 x\n", 1, "the time is not an integer"),
            ("a 1\na 2\n", 2, "a series appears twice"),
            (
                "a 1\nb 2\na{c=\"d\"} 3\n",
                3,
                "the lines of one family do not stand together",
            ),
            (
                "a 1\n# TYPE a counter\n",
                2,
                "the type stands after a sample",
            ),
            (
                "# TYPE a counter\n# TYPE a counter\n",
                2,
                "a second type of one family",
            ),
            ("# TYPE a number\n", 1, "the type is none of the format's"),
            ("a{b=c} 1\n", 1, "a label's value has no quotes"),
            ("a{b=\"c} 1\n", 1, "a label's value does not end"),
            (
                "a{b=\"\\t\"} 1\n",
                1,
                "a label's value has an unknown escape",
            ),
            ("a{b=\"c\",b=\"d\"} 1\n", 1, "a label appears twice"),
            (
                "a{b=\"c\"d=\"e\"} 1\n",
                1,
                "labels are not parted by commas",
            ),
            ("a{b:c=\"d\"} 1\n", 1, "a label's name is not one"),
        ] {
            assert_eq!(
                Exposition::parse(page),
                Err(ExpositionError { line, why }),
                "{page}"
            );
        }
    }
}
