//! Parameters that make no sense are refused, and the message says which.

use super::answers::expect_problem;
use crate::support::site::Site;

/// What is taken as an instant.
const FORMS: &str = "is RFC 3339 (2026-05-01T10:00:00Z), an epoch number, now, or -24h";

#[tokio::test]
async fn a_bad_parameter_is_named_with_what_is_taken() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let not_rfc3339 = "is not an RFC 3339 time such as 2026-05-01T10:00:00Z; times since 1970 \
                       must be numbers";
    for (query, detail) in [
        (
            "from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z",
            "`from` (2026-05-02T00:00:00Z) is after `to` (2026-05-01T00:00:00Z)".to_owned(),
        ),
        (
            "from=yesterday",
            format!("`from` {FORMS}; `yesterday` {not_rfc3339}"),
        ),
        (
            "to=2026-05-01T10:00:00",
            format!(
                "`to` {FORMS}; `2026-05-01T10:00:00` has no offset from UTC; add Z or an \
                 offset such as +02:00"
            ),
        ),
        (
            "limit=0",
            "`limit` is a whole number from 1 on, not `0`".to_owned(),
        ),
        (
            "limit=ten",
            "`limit` is a whole number from 1 on, not `ten`".to_owned(),
        ),
        (
            "order=newest",
            "`order` is asc or desc, not `newest`".to_owned(),
        ),
        (
            "format=parquet",
            "`format` is json, ndjson or csv, not `parquet`".to_owned(),
        ),
        (
            "limit=1&limit=2",
            "the parameter `limit` may be given once".to_owned(),
        ),
        (
            "since=-1h",
            "the parameter `since` is unknown; known here are from, to, measure, limit, order, \
             cursor, format"
                .to_owned(),
        ),
        (
            "measure=",
            "`measure`: a measure name must not be blank".to_owned(),
        ),
    ] {
        let path = format!("/v1/sensors/S1/readings?{query}");
        let request = hourglass.http().get(hourglass.url(&path));
        expect_problem(request, 400, "invalid_parameter", &detail).await;
    }
}

#[tokio::test]
async fn a_path_that_takes_no_parameter_says_so() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let request = hourglass
        .http()
        .get(hourglass.url("/v1/sensors/S1/latest?at=now"));
    let detail = "the parameter `at` is unknown; none is taken here";
    expect_problem(request, 400, "invalid_parameter", detail).await;
}

#[tokio::test]
async fn many_sensors_must_be_named_and_their_range_begun() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let name = "name the sensors: ?sensor=S1&sensor=S2, one parameter each";
    for (path, detail) in [
        ("/v1/latest", name),
        ("/v1/hourly?from=-1h", name),
        (
            "/v1/hourly?sensor=S1",
            "say `from` when asking for many sensors: ?from=-24h",
        ),
        (
            "/v1/latest?sensor=S1&sensor=..",
            "sensor `..`: the sensor ids `.` and `..` cannot be named in a URL; choose another",
        ),
        (
            "/v1/hourly?sensor=S1&from=-1h&to=-2h&to=-1h",
            "the parameter `to` may be given once",
        ),
    ] {
        let request = hourglass.http().get(hourglass.url(path));
        expect_problem(request, 400, "invalid_parameter", detail).await;
    }
}
