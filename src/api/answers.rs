//! Forms that several answers share.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::bucket::Computed;
use crate::model::{HourStart, MeasureName, Micros, SensorId, Tags};
use crate::query::{Completeness, Latest, SensorHoursAnswer, SiteHour};

/// Says in a header what the JSON says in `complete`.
const COMPLETE_HEADER: HeaderName = HeaderName::from_static("hourglass-complete");

/// Whether an answer may miss acknowledged readings, and why.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Complete {
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete_reason: Option<&'static str>,
}

impl From<Completeness> for Complete {
    fn from(completeness: Completeness) -> Self {
        let incomplete_reason = match completeness {
            Completeness::Complete => None,
            Completeness::Backlog => Some("backlog"),
            Completeness::StoreAway => Some("store_unavailable"),
        };
        Self {
            complete: incomplete_reason.is_none(),
            incomplete_reason,
        }
    }
}

impl Complete {
    /// Whether it misses nothing.
    pub(super) fn is_complete(self) -> bool {
        self.complete
    }

    /// Puts what it says into the object of a body.
    pub(super) fn put(self, body: &mut Value) {
        if let Value::Object(members) = body {
            members.insert("complete".into(), self.complete.into());
            if let Some(reason) = self.incomplete_reason {
                members.insert("incompleteReason".into(), reason.into());
            }
        }
    }

    /// Sets the header.
    pub(super) fn mark(self, response: &mut Response) {
        let value = if self.complete { "true" } else { "false" };
        response
            .headers_mut()
            .insert(COMPLETE_HEADER, HeaderValue::from_static(value));
    }
}

/// A JSON answer that says whether it is complete.
pub(super) fn json(body: &impl Serialize, complete: Complete) -> Response {
    let text = serde_json::to_vec(body).expect("answers have text keys and finite numbers");
    let mut response = ([(header::CONTENT_TYPE, "application/json")], text).into_response();
    complete.mark(&mut response);
    response
}

/// Values by measure, as a JSON object.
#[derive(Debug)]
pub(super) struct Values<'a>(pub(super) &'a [(MeasureName, f64)]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name.as_str(), value)?;
        }
        map.end()
    }
}

/// Labels by key, as a JSON object.
#[derive(Debug)]
pub(super) struct Labels<'a>(pub(super) &'a Tags);

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter())
    }
}

/// A text of `Display`.
pub(super) fn text<S: Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// One reading.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadingBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sensor_id: Option<&'a str>,
    #[serde(serialize_with = "text")]
    pub(super) ts: Micros,
    pub(super) measures: Values<'a>,
}

/// The newest reading of a sensor, or `null`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LatestBody<'a> {
    sensor_id: &'a str,
    latest: Option<ReadingBody<'a>>,
}

impl<'a> LatestBody<'a> {
    pub(super) fn new(sensor: &'a SensorId, latest: Option<&'a Latest>) -> Self {
        Self {
            sensor_id: sensor.as_str(),
            latest: latest.map(|latest| ReadingBody {
                sensor_id: None,
                ts: latest.at,
                measures: Values(&latest.values),
            }),
        }
    }
}

/// The hours of a sensor.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HoursBody<'a> {
    sensor_id: &'a str,
    hours: Vec<HourBody<'a>>,
}

impl<'a> From<&'a SensorHoursAnswer> for HoursBody<'a> {
    fn from(answer: &'a SensorHoursAnswer) -> Self {
        Self {
            sensor_id: answer.sensor.as_str(),
            hours: answer
                .hours
                .iter()
                .map(|(hour, computed)| HourBody {
                    hour: *hour,
                    computed,
                })
                .collect(),
        }
    }
}

#[derive(Debug)]
struct HourBody<'a> {
    hour: HourStart,
    computed: &'a Computed,
}

impl Serialize for HourBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("hour", &self.hour.start().to_string())?;
        map.serialize_entry("count", &self.computed.count)?;
        map.serialize_entry("measures", &MeasuresBody(self.computed))?;
        map.end()
    }
}

/// An hour of a site.
#[derive(Debug)]
pub(super) struct SiteHourBody<'a> {
    hour: HourStart,
    total: &'a SiteHour,
}

impl<'a> From<(&'a HourStart, &'a SiteHour)> for SiteHourBody<'a> {
    fn from((hour, total): (&'a HourStart, &'a SiteHour)) -> Self {
        Self { hour: *hour, total }
    }
}

impl Serialize for SiteHourBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("hour", &self.hour.start().to_string())?;
        map.serialize_entry("sensors", &self.total.sensors)?;
        map.serialize_entry("count", &self.total.computed.count)?;
        map.serialize_entry("measures", &MeasuresBody(&self.total.computed))?;
        map.end()
    }
}

struct MeasuresBody<'a>(&'a Computed);

#[derive(Serialize)]
struct StatsBody {
    count: u64,
    sum: f64,
    avg: f64,
    min: f64,
    max: f64,
}

impl Serialize for MeasuresBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.measures.len()))?;
        for (name, stats) in &self.0.measures {
            let sum = stats.sum.value();
            let body = StatsBody {
                count: stats.count,
                sum,
                avg: sum / stats.count as f64,
                min: stats.min,
                max: stats.max,
            };
            map.serialize_entry(name.as_str(), &body)?;
        }
        map.end()
    }
}
