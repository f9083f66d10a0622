//! `GET /v1/sites/{id}/hourly`.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;

use super::answers::{Complete, SiteHourBody, json};
use super::hourly::hours_of_many;
use super::params::Params;
use super::registry::SitePath;
use super::{ApiState, Problem};
use crate::registry::RegistryError;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteHoursBody<'a> {
    site_id: &'a str,
    sensors: usize,
    hours: Vec<SiteHourBody<'a>>,
    #[serde(flatten)]
    complete: Complete,
}

pub(super) async fn get(
    State(state): State<ApiState>,
    SitePath(site): SitePath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["from", "to"])?;
    let hours = hours_of_many(&state, &params)?;
    if state.registry.site(&site).await?.is_none() {
        let (what, id) = ("site", site.to_string());
        return Err(RegistryError::Unknown { what, id }.into());
    }
    let hours_max = state.settings.query.hours_max;
    let of_range = i64::from(hours.to.hours()) - i64::from(hours.from.hours());
    let of_range = u64::try_from(of_range).unwrap_or(0).max(1);
    let sensors_max = usize::try_from(hours_max / of_range).unwrap_or(usize::MAX);
    let sensors = state.query.sensors_of_site(&site, sensors_max).await?;
    if sensors.len() > sensors_max {
        return Err(Problem::parameter(format!(
            "more than {sensors_max} sensors over {of_range} hours are more hours than \
             {hours_max} (query.hours_max); ask for a shorter range"
        )));
    }
    let answer = state.query.site_hourly(&sensors, hours).await?;
    let complete = Complete::from(answer.completeness);
    let body = SiteHoursBody {
        site_id: site.as_str(),
        sensors: answer.sensors,
        hours: answer.hours.iter().map(SiteHourBody::from).collect(),
        complete,
    };
    Ok(json(&body, complete))
}
