//! `/v1/sites` and `/v1/sites/{id}`.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::body::{SitePath, Whole, changed, json as json_body, precondition, record, site};
use crate::api::params::Params;
use crate::api::{ApiState, Problem};
use crate::registry::{PutSite, RegistryError, SiteForm};
use crate::store::{CopiesProgress, StoredSite};

/// Sites on a page where `limit` does not say.
const LIMIT_DEFAULT: usize = 100;
/// Sites on a page at most.
const LIMIT_MAX: usize = 1000;

pub(super) async fn list(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["limit", "cursor"])?;
    let limit = params.limit()?.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let after = params.one("cursor")?.map(site).transpose()?;
    let mut sites = state.registry.sites(after.as_ref(), limit + 1).await?;
    let has_more = sites.len() > limit;
    sites.truncate(limit);
    let next = sites.last().filter(|_| has_more);
    let next = next.map(|last| last.site.id.to_string());
    let sites: Vec<Value> = sites.iter().map(shown).collect();
    let body = json!({ "sites": sites, "next": next });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, body.to_string()).into_response())
}

pub(super) async fn get(
    State(state): State<ApiState>,
    SitePath(id): SitePath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let stored = state.registry.site(&id).await?;
    let stored = stored.ok_or_else(|| RegistryError::Unknown {
        what: "site",
        id: id.to_string(),
    })?;
    Ok(record(
        StatusCode::OK,
        Some(stored.version),
        &shown(&stored),
    ))
}

pub(super) async fn put(
    State(state): State<ApiState>,
    SitePath(id): SitePath,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (value, _token) = json_body(&state, &headers, body, Whole::Record).await?;
    let form = SiteForm::read(&value, &id).map_err(RegistryError::from)?;
    let put = state.registry.put_site(&id, &condition, &form).await?;
    Ok(answer(&put, &uri))
}

pub(super) async fn patch(
    State(state): State<ApiState>,
    SitePath(id): SitePath,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Params::read(query.as_deref(), &[])?;
    let condition = precondition(&headers)?;
    let (patch, _token) = json_body(&state, &headers, body, Whole::Patch).await?;
    let put = state.registry.patch_site(&id, &condition, &patch).await?;
    Ok(answer(&put, &uri))
}

/// 202 while copies of its sensors are still being rewritten.
fn answer(put: &PutSite, uri: &Uri) -> Response {
    let mut response = changed(put.is_new, uri, Some(put.site.version), &shown(&put.site));
    if put.site.copies.is_some() {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    response
}

fn shown(stored: &StoredSite) -> Value {
    let mut members = SiteForm::of(&stored.site).to_json();
    members.insert("siteId".into(), stored.site.id.as_str().into());
    let copies = match &stored.copies {
        None => json!({ "state": "current" }),
        Some(CopiesProgress { done, .. }) => json!({ "state": "rewriting", "done": done }),
    };
    members.insert("copies".into(), copies);
    Value::Object(members)
}
