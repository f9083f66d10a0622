//! One item at a time: what its fields say, until it is accepted or refused.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::columns::{self, Columns, Measure, Sensor};
use super::decimal::Decimal;
use super::decoded::{Fault, excerpt};
use super::line_protocol::{NamedSensor, Series};
use super::measure_value::parse_number;
use super::timestamp::{TimeText, older_than_retention, read_integer_time, read_time};
use super::{DecodeContext, Decoded, Gate, ItemForm, Refused, Rejections, TextOnly};
use crate::model::{
    MEASURES_PER_READING_MAX, MEASURES_PER_SENSOR_MAX, Micros, Origin, RejectCode, Rejection,
};

/// Collects the items of a body. Nothing of an item outlives it but what the
/// batch holds.
pub(super) struct Items<'a, 'c> {
    context: &'c DecodeContext,
    gate: &'c mut dyn Gate,
    columns: Columns,
    items: u64,
    text_fields_skipped: u64,
    tags_left_out: u64,
    rejections: Rejections,
    refused: Refused,
    /// The form of the items to come.
    form: ItemForm,
    /// The place of the body at hand, and how many items were before it.
    body: (usize, u64),
    item: Item<'a>,
    /// To whoever sends text alone.
    advice: &'static str,
    /// No name is twice in an item, by the format.
    names_differ: bool,
}

/// The item at hand.
#[derive(Default)]
struct Item<'a> {
    sensor: Option<Sensor>,
    origin: Option<columns::From>,
    tags_left_out: u64,
    time: Option<Time>,
    /// The field that said so, where it has one name.
    time_field: Option<&'static str>,
    measures_seen: bool,
    text_fields: u64,
    values: Vec<(Measure, f64)>,
    names: Names<'a>,
}

#[derive(Clone, Copy)]
enum Time {
    At(Micros),
    /// Microseconds before receipt.
    Age(i64),
}

impl<'a, 'c> Items<'a, 'c> {
    pub(super) fn new(context: &'c DecodeContext, gate: &'c mut dyn Gate) -> Self {
        let refused = Refused::new(gate.refused_bytes_max());
        Self {
            context,
            gate,
            refused,
            form: ItemForm::Json,
            body: (0, 0),
            columns: Columns::default(),
            items: 0,
            text_fields_skipped: 0,
            tags_left_out: 0,
            rejections: Rejections::default(),
            item: Item::default(),
            advice: "send numbers unquoted",
            names_differ: false,
        }
    }

    /// Items that are rows of a table, whose names are all different; `advice` is
    /// for whoever sends text alone.
    pub(super) fn of_table(
        context: &'c DecodeContext,
        gate: &'c mut dyn Gate,
        advice: &'static str,
    ) -> Self {
        Self {
            advice,
            names_differ: true,
            form: ItemForm::Csv,
            ..Self::new(context, gate)
        }
    }

    pub(super) fn finish(self) -> Decoded {
        Decoded {
            batch: self.columns.finish(),
            items: self.items,
            text_fields_skipped: self.text_fields_skipped,
            tags_left_out: self.tags_left_out,
            rejections: self.rejections,
            refused: self.refused,
        }
    }

    /// Begins the body at `place` of several.
    pub(super) fn begin_body(&mut self, place: usize) {
        self.body = (place, self.items);
    }

    /// The items to come are in `form`.
    pub(super) fn set_form(&mut self, form: ItemForm) {
        self.form = form;
    }

    /// Takes the header along that the rows so far belong to.
    pub(super) fn set_header(&mut self, header: &[u8]) {
        self.refused.set_header(header);
    }

    /// Forgets the item before.
    pub(super) fn begin_item(&mut self) {
        self.item.sensor = None;
        self.item.origin = None;
        self.item.tags_left_out = 0;
        self.item.time = None;
        self.item.time_field = None;
        self.item.measures_seen = false;
        self.item.text_fields = 0;
        self.item.values.clear();
        self.item.names.clear();
    }

    /// How many items were refused so far.
    pub(super) fn refused(&self) -> u64 {
        self.rejections.total()
    }

    /// Ends an item: accepts it, or refuses it for its first fault. `text` is
    /// what it was read from, where that is at hand.
    pub(super) fn end_item(
        &mut self,
        fields: Result<(), Fault>,
        line: Option<u64>,
        text: Option<&[u8]>,
    ) {
        let index = self.items;
        self.items += 1;
        let Err(fault) = fields.and_then(|()| self.accept()) else {
            return;
        };
        if !self.refused.has_room() {
            return self.rejections.add(fault.code, || fault.at(index, line));
        }
        let rejection = fault.at(index, line);
        let (place, before) = self.body;
        let in_body = Rejection {
            index: index - before,
            ..rejection.clone()
        };
        self.refused.push(in_body, self.form, text, place);
        self.rejections.add(rejection.code, || rejection);
    }

    /// Ends an item that is a line of line protocol; the sensor and the origin of
    /// an accepted one.
    pub(super) fn end_line(
        &mut self,
        fields: Result<(), Fault>,
        line: u64,
        text_only: TextOnly,
        text: &[u8],
    ) -> Option<(u32, Option<u32>)> {
        let is_text_only = self.item.values.is_empty() && self.item.text_fields > 0;
        if fields.is_ok() && is_text_only && text_only == TextOnly::Skip {
            self.text_fields_skipped += self.item.text_fields;
            return None;
        }
        let rejected = self.rejections.total();
        self.end_item(fields, Some(line), Some(text));
        (self.rejections.total() == rejected)
            .then(|| self.columns.last())
            .flatten()
    }

    fn accept(&mut self) -> Result<(), Fault> {
        let Some(sensor) = self.item.sensor.take() else {
            let detail = "the item has no sensorId; add it";
            return Err(Fault::new(
                RejectCode::MissingSensorId,
                Some("sensorId"),
                detail,
            ));
        };
        if self.item.values.is_empty() {
            self.text_fields_skipped += self.item.text_fields;
            let detail = match self.item.text_fields {
                0 => "the item has no measure; add a field with a number".to_owned(),
                skipped => format!(
                    "the item has no measure, only text ({skipped} skipped); {}",
                    self.advice
                ),
            };
            return Err(Fault::new(RejectCode::NoMeasures, None, detail));
        }
        let at = match self.item.time {
            Some(Time::At(at)) => at,
            None => self.gate.next(),
            Some(Time::Age(age)) => {
                let stamp = self.gate.next();
                stamp
                    .get()
                    .checked_sub(age)
                    .and_then(|micros| Micros::new(micros).ok())
                    .filter(|at| *at >= self.context.min_time)
                    .ok_or_else(|| {
                        let detail = format!(
                            "ageMs reaches back before {} (ingest.min_time)",
                            self.context.min_time
                        );
                        Fault::new(RejectCode::TooOld, Some("ageMs"), detail)
                    })?
            }
        };
        if self.item.time.is_some() {
            let oldest = self.gate.oldest_kept(self.columns.id(&sensor));
            if at < oldest {
                let detail = older_than_retention(at, oldest, self.context);
                let field = self.item.time_field;
                return Err(Fault::new(RejectCode::OlderThanRetention, field, detail));
            }
        }
        if let Sensor::New(id) = &sensor
            && let Err(sensors_max) = self.gate.admit(id)
        {
            let detail = format!(
                "there are {sensors_max} sensors already, the most that are taken; if this one \
                 is meant, raise ingest.sensors_max"
            );
            return Err(Fault::new(
                RejectCode::TooManySensors,
                Some("sensorId"),
                detail,
            ));
        }
        if self.columns.is_new(&sensor, &self.item.values) {
            let columns = &self.columns;
            let mut names = self.item.values.iter().map(|(m, _)| columns.name(m));
            let admitted = self.gate.admit_measures(columns.id(&sensor), &mut names);
            if let Err(position) = admitted {
                let (measure, _) = &self.item.values[position];
                let detail = format!(
                    "the sensor has {MEASURES_PER_SENSOR_MAX} measures already, the most that one \
                     may have; put what varies into values or sensor ids, not into names"
                );
                let name = columns.name(measure).as_str();
                return Err(Fault::new(RejectCode::TooManyMeasures, Some(name), detail));
            }
        }
        self.text_fields_skipped += self.item.text_fields;
        self.tags_left_out += self.item.tags_left_out;
        let origin = self.item.origin.take();
        self.columns
            .push(sensor, at, origin, self.item.values.drain(..));
        Ok(())
    }

    /// `sensorId`, unescaped.
    pub(super) fn sensor_id(&mut self, id: Option<&str>) -> Result<(), Fault> {
        let field = Some("sensorId");
        if self.item.sensor.is_some() {
            return Err(duplicate("sensorId"));
        }
        let Some(id) = id else {
            let detail = "sensorId must be a string; put it in quotes";
            return Err(Fault::new(RejectCode::InvalidSensorId, field, detail));
        };
        let sensor = self.columns.sensor(id);
        let sensor =
            sensor.map_err(|error| Fault::new(RejectCode::InvalidSensorId, field, error))?;
        self.item.sensor = Some(sensor);
        Ok(())
    }

    /// A series that an item before had; see [`Items::end_line`].
    pub(super) fn known_series(&mut self, sensor: u32, origin: Option<u32>) {
        self.item.sensor = Some(Sensor::Known(sensor));
        self.item.origin = origin.map(columns::From::Known);
    }

    /// A series that no accepted item had as it stands here.
    pub(super) fn new_series(
        &mut self,
        sensor: &NamedSensor<'_>,
        series: &Series<'_>,
    ) -> Result<(), Fault> {
        let known = self.columns.sensor(&sensor.id).map_err(|error| {
            let field = sensor.tag.map(|tag| &*series.tags[tag].0);
            Fault::new(RejectCode::InvalidSensorId, field, error)
        })?;
        self.item.sensor = Some(known);
        let tags = series.tags.iter().enumerate();
        let tags = tags.filter(|(place, _)| sensor.tag != Some(*place));
        let tags = tags.map(|(_, (key, value))| (&**key, &**value));
        let (origin, left_out) = Origin::new(&series.measurement, tags);
        self.item.tags_left_out = left_out as u64;
        self.item.origin = Some(columns::From::New(Arc::new(origin)));
        Ok(())
    }

    /// A time that was read.
    pub(super) fn time(&mut self, at: Micros) {
        self.item.time = Some(Time::At(at));
    }

    /// A whole number as the item's time.
    pub(super) fn timestamp(&mut self, text: &str) -> Result<(), Fault> {
        let at = read_integer_time(text, self.context);
        let at = at.map_err(|(code, detail)| Fault::new(code, Some("timestamp"), detail))?;
        self.item.time = Some(Time::At(at));
        self.item.time_field = Some("timestamp");
        Ok(())
    }

    /// `ts`.
    pub(super) fn ts(&mut self, raw: Option<TimeText<'_>>) -> Result<(), Fault> {
        self.expect_no_time(matches!(self.item.time, Some(Time::At(_))), "ts")?;
        let Some(raw) = raw else {
            let detail = "ts must be an RFC 3339 text or a number; without one, leave it out to \
                          have the time of receipt";
            return Err(Fault::new(RejectCode::InvalidTime, Some("ts"), detail));
        };
        let at = read_time(raw, self.context);
        let at = at.map_err(|(code, detail)| Fault::new(code, Some("ts"), detail))?;
        self.item.time = Some(Time::At(at));
        self.item.time_field = Some("ts");
        Ok(())
    }

    /// `ageMs`, a number's text.
    pub(super) fn age_ms(&mut self, raw: Option<&str>) -> Result<(), Fault> {
        self.expect_no_time(matches!(self.item.time, Some(Time::Age(_))), "ageMs")?;
        let number = raw.and_then(Decimal::parse);
        let Some(number) = number.filter(|number| !number.is_negative()) else {
            let detail = "ageMs must be a number of milliseconds, 0 or more";
            return Err(Fault::new(RejectCode::InvalidTime, Some("ageMs"), detail));
        };
        // Milliseconds to microseconds; what overflows is older than any bound.
        let age = number.floor_scaled(3).unwrap_or(i64::MAX);
        self.item.time = Some(Time::Age(age));
        self.item.time_field = Some("ageMs");
        Ok(())
    }

    fn expect_no_time(&self, same_field: bool, field: &str) -> Result<(), Fault> {
        match self.item.time {
            None => Ok(()),
            Some(_) if same_field => Err(duplicate(field)),
            Some(_) => {
                let detail = "the item has both ts and ageMs; send one of them";
                Err(Fault::new(RejectCode::InvalidTime, Some(field), detail))
            }
        }
    }

    /// `measures`, before its members.
    pub(super) fn measures(&mut self, is_object: bool) -> Result<(), Fault> {
        if std::mem::replace(&mut self.item.measures_seen, true) {
            return Err(duplicate("measures"));
        }
        if !is_object {
            let detail = "measures must be an object of names and numbers";
            return Err(Fault::new(
                RejectCode::NestedValue,
                Some("measures"),
                detail,
            ));
        }
        Ok(())
    }

    /// A measure, its value as it stands in the body.
    pub(super) fn measure(&mut self, name: Cow<'a, str>, value: &str) -> Result<(), Fault> {
        let measure = match value.as_bytes().first() {
            Some(b'"') => {
                self.item.text_fields += 1;
                None
            }
            Some(b'n') => None,
            Some(b't') => Some(self.valued(&name, 1.0)?),
            Some(b'f') => Some(self.valued(&name, 0.0)?),
            Some(b'[' | b'{') => {
                let detail = "a measure must be a number; send each inner value as a field of its \
                              own";
                return Err(Fault::new(RejectCode::NestedValue, Some(&name), detail));
            }
            _ => {
                let number = parse_number(value);
                let number =
                    number.map_err(|(code, detail)| Fault::new(code, Some(&name), detail))?;
                Some(self.valued(&name, number)?)
            }
        };
        self.item.values.extend(measure);
        self.name(name)
    }

    /// A measure whose value was read, or why it cannot be.
    pub(super) fn number(
        &mut self,
        name: Cow<'a, str>,
        value: Result<f64, (RejectCode, String)>,
    ) -> Result<(), Fault> {
        let value = value.map_err(|(code, detail)| Fault::new(code, Some(&name), detail))?;
        let measure = self.valued(&name, value)?;
        self.item.values.push(measure);
        self.name(name)
    }

    /// A field that holds text.
    pub(super) fn text_field(&mut self, name: Cow<'a, str>) -> Result<(), Fault> {
        self.item.text_fields += 1;
        self.name(name)
    }

    fn name(&mut self, name: Cow<'a, str>) -> Result<(), Fault> {
        if self.names_differ {
            return Ok(());
        }
        match self.item.names.insert(name) {
            None => Ok(()),
            Some(twice) => Err(duplicate(&twice)),
        }
    }

    fn valued(&self, name: &str, value: f64) -> Result<(Measure, f64), Fault> {
        let position = self.item.values.len();
        if position == MEASURES_PER_READING_MAX {
            let detail = format!(
                "the item has more than {MEASURES_PER_READING_MAX} measures; send the rest in \
                 another item of the same ts"
            );
            return Err(Fault::new(RejectCode::TooManyMeasures, Some(name), detail));
        }
        let measure = self.columns.measure(position, name);
        let measure = measure
            .map_err(|error| Fault::new(RejectCode::InvalidMeasureName, Some(name), error))?;
        Ok((measure, value))
    }
}

fn duplicate(field: &str) -> Fault {
    let detail = format!(
        "the field {} is in the item twice; send it once",
        excerpt(field)
    );
    Fault::new(RejectCode::DuplicateField, Some(field), detail)
}

/// The names of an item, to find one that is there twice. Few are compared one
/// by one; many are hashed, so that an item of many fields is not quadratic.
#[derive(Default)]
struct Names<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    const FEW: usize = 8;

    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    /// Adds `name`, or gives it back if it is there.
    fn insert(&mut self, name: Cow<'a, str>) -> Option<Cow<'a, str>> {
        if self.few.contains(&name) || self.many.contains(&name) {
            return Some(name);
        }
        if self.few.len() < Self::FEW {
            self.few.push(name);
        } else {
            self.many.insert(name);
        }
        None
    }
}
