//! A wrong parameter is told by its name, with what it may be.

use tempfile::TempDir;

use crate::support::hourglass::Start;

#[tokio::test]
async fn wrong_parameters_are_400_and_say_what_is_right() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("QUERY__SENSORS_MAX", "3")
        .set("QUERY__HOURS_MAX", "100")
        .start();
    let later = "from=2026-05-01T11:00:00Z&to=2026-05-01T10:00:00Z";
    for (path, told) in [
        (
            &*format!("/v1/sensors/S1/readings?{later}"),
            "`from` (2026-05-01T11:00:00Z) is after `to`",
        ),
        (&*format!("/v1/sensors/S1/hourly?{later}"), "is after `to`"),
        (&*format!("/v1/hourly?sensor=S1&{later}"), "is after `to`"),
        ("/v1/sensors/S1/readings?from=now&to=-1h", "is after `to`"),
        (
            "/v1/sensors/S1/readings?from=yesterday",
            "`from` is RFC 3339 (2026-05-01T10:00:00Z), an epoch number, now, or -24h; `yesterday` is not",
        ),
        ("/v1/sensors/S1/readings?to=2026-05-01", "`to` is RFC 3339"),
        (
            "/v1/sensors/S1/readings?from=2026-05-01T10:00:00",
            "has no offset from UTC",
        ),
        (
            "/v1/sensors/S1/readings?from=2026-02-30T10:00:00Z",
            "does not exist",
        ),
        ("/v1/sensors/S1/readings?from=", "`from` is RFC 3339"),
        ("/v1/sensors/S1/readings?to=-1y", "`to` is RFC 3339"),
        (
            "/v1/sensors/S1/readings?from=1&from=2",
            "`from` may be given once",
        ),
        (
            "/v1/sensors/S1/readings?limit=0",
            "`limit` is a whole number from 1 on, not `0`",
        ),
        (
            "/v1/sensors/S1/readings?limit=-5",
            "`limit` is a whole number from 1 on, not `-5`",
        ),
        ("/v1/sensors/S1/readings?limit=ten", "not `ten`"),
        (
            "/v1/sensors/S1/readings?limit=99999999999999999999",
            "`limit` is a whole number",
        ),
        (
            "/v1/sensors/S1/readings?order=newest",
            "`order` is asc or desc, not `newest`",
        ),
        (
            "/v1/sensors/S1/readings?cursor=next",
            "`cursor` is RFC 3339",
        ),
        ("/v1/sensors/S1/readings?measure=", "`measure`"),
        (
            "/v1/sensors/S1/readings?form=csv",
            "`form` is unknown; known here are from, to",
        ),
        ("/v1/sensors/S1/latest?from=now", "`from` is unknown"),
        ("/v1/sensors/%20/latest", "must not be blank"),
        ("/v1/latest", "?sensor=S1&sensor=S2"),
        ("/v1/latest?sensor=", "must not be blank"),
        (
            "/v1/latest?sensor=a&sensor=b&sensor=c&sensor=d",
            "4 sensors are more than the 3",
        ),
        ("/v1/hourly?sensor=a", "say `from`"),
        (
            "/v1/hourly?sensor=a&sensor=b&from=-60h",
            "(query.hours_max)",
        ),
        ("/v1/sensors?limit=0", "`limit` is a whole number"),
        ("/v1/sensors?order=desc", "`order` is unknown"),
        ("/v1/sensors?cursor=", "must not be blank"),
    ] {
        let response = hourglass
            .http()
            .get(hourglass.url(path))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 400, "{path}");
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json"
        );
        let problem: serde_json::Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "invalid_parameter", "{path}");
        assert_eq!(problem["status"], 400);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{path}: {detail}");
    }
    // The largest that are right.
    for path in [
        "/v1/latest?sensor=a&sensor=b&sensor=c&sensor=a",
        "/v1/hourly?sensor=a&sensor=b&from=-40h",
        "/v1/sensors/S1/readings?limit=9999999999",
        "/v1/sensors/S1/readings?from=-9999999w",
        "/v1/sensors?limit=9999999999",
    ] {
        let (status, answer) = hourglass.get(path).await;
        assert_eq!(status, 200, "{path}: {answer}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_404_and_another_method_405() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let (status, problem) = hourglass.get("/v1/nothing").await;
    assert_eq!((status, &problem["code"]), (404, &"not_found".into()));
    let (status, problem) = hourglass.get("/v1/readings").await;
    assert_eq!(
        (status, &problem["code"]),
        (405, &"method_not_allowed".into())
    );
}
