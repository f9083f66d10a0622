//! Query parameters that are unknown, wrong, or there twice.

use super::answers::{expect_problem, expect_unharmed, started};

#[tokio::test]
async fn a_bad_parameter_of_a_post_is_named_and_nothing_taken() {
    let (_dir, hourglass) = started();
    for (query, parts) in [
        (
            "units=ms",
            [
                "the parameter `units` is unknown",
                "known here are format, unit",
            ],
        ),
        ("=", ["the parameter `` is unknown", "format, unit"]),
        ("%FF=1", ["the query string is not UTF-8 once decoded", ""]),
        (
            "unit=minutes",
            ["`unit` is ns, us, ms, s, m or h, not `minutes`", ""],
        ),
        ("unit=MS", ["`unit` is ns, us, ms, s, m or h, not `MS`", ""]),
        ("unit=", ["`unit` is ns, us, ms, s, m or h, not ``", ""]),
        (
            "unit=s&unit=ms",
            ["the parameter `unit` may be given once", ""],
        ),
        ("format=xml", ["`format` is ", "not `xml`"]),
        (
            "format=json&format=json",
            ["`format` may be given once", ""],
        ),
    ] {
        let url = hourglass.url(&format!("/v1/readings?{query}"));
        let request = hourglass.http().post(url);
        let request = request.header("content-type", "application/json");
        let request = request.body(r#"{"sensorId":"S1","temp":1}"#);
        expect_problem(request, 400, "invalid_parameter", &parts).await;
    }
    let (_, answer) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(answer["latest"], serde_json::json!(null));
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_bad_parameter_of_a_query_is_named() {
    let (_dir, hourglass) = started();
    let readings = "/v1/sensors/S1/readings";
    for (path, query, part) in [
        (
            readings,
            "form=2026-05-01T10:00:00Z",
            "`form` is unknown; known here are from, to",
        ),
        (readings, "from=yesterday", "`from` is RFC 3339"),
        (readings, "from=2026-05-01", "`2026-05-01` is not"),
        (readings, "to=", "`to` is RFC 3339"),
        (readings, "to=-1y", "`-1y` is not"),
        (readings, "from=1e400", "`1e400` is not"),
        (
            readings,
            "from=99999999999999999999999",
            "after the year 9999",
        ),
        (readings, "from=-99999999999999999999d", "is not"),
        (readings, "from=-99999999999w", "is not"),
        (readings, "from=2026-05-01T10:00:00é", "is not"),
        (readings, "from=%FF%FE", "the query string is not UTF-8"),
        (readings, "from=now&to=-1h", "is after `to`"),
        (readings, "from=now&from=now", "`from` may be given once"),
        (
            readings,
            "limit=0",
            "`limit` is a whole number from 1 on, not `0`",
        ),
        (readings, "limit=-1", "not `-1`"),
        (readings, "limit=1.5", "not `1.5`"),
        (
            readings,
            "limit=99999999999999999999999",
            "`limit` is a whole number",
        ),
        (readings, "order=up", "`order` is asc or desc, not `up`"),
        (
            readings,
            "format=xml",
            "`format` is json, ndjson or csv, not `xml`",
        ),
        (readings, "cursor=x", "`cursor` is RFC 3339"),
        (
            readings,
            "measure=",
            "`measure`: a measure name must not be blank",
        ),
        (
            "/v1/sensors/S1/hourly",
            "measure=temp",
            "`measure` is unknown",
        ),
        (
            "/v1/sensors/S1/latest",
            "at=now",
            "the parameter `at` is unknown",
        ),
        ("/v1/latest", "", "name the sensors: ?sensor=S1&sensor=S2"),
        ("/v1/latest", "sensor=", "a sensor id must not be blank"),
        ("/v1/latest", "sensor=..", "cannot be named in a URL"),
        ("/v1/hourly", "from=-1h", "name the sensors"),
        (
            "/v1/hourly",
            "sensor=S1",
            "say `from` when asking for many sensors",
        ),
        (
            "/v1/hourly",
            "sensor=S1&from=0001-01-01T00:00:00Z",
            "(query.hours_max)",
        ),
        ("/v1/sensors", "limit=x", "`limit` is a whole number"),
    ] {
        let url = hourglass.url(&format!("{path}?{query}"));
        let request = hourglass.http().get(url);
        expect_problem(request, 400, "invalid_parameter", &[part]).await;
    }
    let url = hourglass.url(readings);
    let request = hourglass.http().get(url).header("accept", "image/png");
    let parts = ["none of `image/png` can be had", "application/json"];
    expect_problem(request, 406, "not_acceptable", &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn the_ends_of_time_and_the_largest_numbers_are_answered() {
    let (_dir, hourglass) = started();
    for query in [
        "from=0001-01-01T00:00:00Z&to=9999-12-30T21:00:00Z",
        "from=-62135596800",
        "limit=18446744073709551615",
        "from=now&to=now",
        "order=desc&cursor=0001-01-01T00:00:00Z",
        "cursor=9999-12-30T21:00:00Z",
    ] {
        let path = format!("/v1/sensors/S1/readings?{query}");
        let (status, answer) = hourglass.get(&path).await;
        assert_eq!(status, 200, "{query}: {answer}");
        assert_eq!(answer["readings"], serde_json::json!([]));
    }
    expect_unharmed(&hourglass).await;
}
