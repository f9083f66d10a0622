//! `GET /v1/retention`: how long readings are kept, and what a pass would drop.

use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Serialize, Serializer};

use super::answers::text;
use super::params::{Params, sensor};
use super::{ApiState, Problem};
use crate::model::{HourStart, Keep, Micros, keep_text};
use crate::sweep::{LastPass, SensorPreview, TierPreview};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetentionBody<'a> {
    hours: TierBody,
    readings: TierBody,
    sensors_looked_at: u64,
    whole: bool,
    by_sensor: Vec<SensorBody<'a>>,
    last_pass: Option<LastPassBody>,
}

/// A tier of the settings, and what would go of all.
#[derive(Serialize)]
struct TierBody {
    #[serde(serialize_with = "keep")]
    keep: Keep,
    before: Option<HourBody>,
    #[serde(flatten)]
    due: DueBody,
}

#[derive(Serialize)]
struct DueBody {
    sensors: u64,
    buckets: u64,
    readings: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SensorBody<'a> {
    sensor_id: &'a str,
    hours: SensorTierBody,
    readings: SensorTierBody,
}

#[derive(Serialize)]
struct SensorTierBody {
    before: Option<HourBody>,
    buckets: u64,
    readings: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastPassBody {
    #[serde(serialize_with = "text")]
    at: Micros,
    took_seconds: f64,
    buckets: u64,
    buckets_of_readings: u64,
    refused: u64,
}

/// The start of an hour.
struct HourBody(HourStart);

impl HourBody {
    /// `None` where everything stays.
    fn of(cutoff: HourStart) -> Option<Self> {
        (cutoff > HourStart::MIN).then_some(Self(cutoff))
    }
}

impl Serialize for HourBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.start())
    }
}

fn keep<S: Serializer>(keep: &Keep, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&keep_text(*keep))
}

impl From<TierPreview> for DueBody {
    fn from(tier: TierPreview) -> Self {
        Self {
            sensors: tier.sensors,
            buckets: tier.buckets,
            readings: tier.readings,
        }
    }
}

impl SensorTierBody {
    fn new(cutoff: HourStart, tier: TierPreview) -> Self {
        Self {
            before: HourBody::of(cutoff),
            buckets: tier.buckets,
            readings: tier.readings,
        }
    }
}

impl<'a> From<&'a SensorPreview> for SensorBody<'a> {
    fn from(preview: &'a SensorPreview) -> Self {
        Self {
            sensor_id: preview.sensor.as_str(),
            hours: SensorTierBody::new(preview.cutoffs.hours, preview.hours),
            readings: SensorTierBody::new(preview.cutoffs.readings, preview.readings),
        }
    }
}

impl From<LastPass> for LastPassBody {
    fn from(pass: LastPass) -> Self {
        Self {
            at: pass.at,
            took_seconds: pass.took.as_secs_f64(),
            buckets: pass.dropped.hours,
            buckets_of_readings: pass.dropped.readings,
            refused: pass.dropped.refused,
        }
    }
}

pub(super) async fn get(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["sensor"])?;
    let asked = params.one("sensor")?.map(sensor).transpose()?;
    let now = state.clock.now();
    let hours_max = state.settings.query.hours_max;
    let sweep = &state.sweep;
    let preview = sweep.preview(asked.as_ref(), hours_max, now).await?;
    let setting = sweep.setting();
    let cutoffs = setting.cutoffs(now);
    let body = RetentionBody {
        hours: TierBody {
            keep: setting.hours,
            before: HourBody::of(cutoffs.hours),
            due: preview.hours.into(),
        },
        readings: TierBody {
            keep: setting.readings,
            before: HourBody::of(cutoffs.readings),
            due: preview.readings.into(),
        },
        sensors_looked_at: preview.sensors,
        whole: preview.is_whole,
        by_sensor: preview.by_sensor.iter().map(SensorBody::from).collect(),
        last_pass: sweep.last().map(LastPassBody::from),
    };
    let body = serde_json::to_vec(&body).expect("the form has text keys and finite numbers");
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
