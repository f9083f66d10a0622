//! `GET /v1/sites/{id}/hourly`.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::answers::{Complete, SiteHourBody, json};
use super::params::Params;
use super::registry::SitePath;
use super::{ApiState, Problem};

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
    let hours = params.range(state.clock.now())?.hours();
    if state.registry.site(&site).await?.is_none() {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "unknown_site",
            format!("there is no site `{site}`"),
        ));
    }
    let hours_max = state.settings.query.hours_max;
    let of_range = i64::from(hours.to.hours()) - i64::from(hours.from.hours());
    let of_range = u64::try_from(of_range).unwrap_or(0).max(1);
    let sensors_max = usize::try_from(hours_max / of_range).unwrap_or(usize::MAX);
    let sensors = state.query.sensors_of_site(&site, sensors_max).await?;
    if sensors.len() > sensors_max {
        return Err(Problem::parameter(format!(
            "the site has more sensors than the {sensors_max} that a range of {of_range} hours \
             may have (query.hours_max, {hours_max} hours of sensors); ask for a shorter range"
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
