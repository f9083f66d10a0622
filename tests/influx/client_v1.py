"""InfluxDB's own client of version 1, as its users write with it.

Arguments: host and port, what to do, and a prefix of the sensors' ids; for `udp`
the UDP port instead of the TCP one."""

import json
import sys

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError, InfluxDBServerError

SECONDS = 1777629600
PRECISIONS = {
    "n": SECONDS * 10**9,
    "u": SECONDS * 10**6,
    "ms": SECONDS * 10**3,
    "s": SECONDS,
    "m": SECONDS // 60,
    "h": SECONDS // 3600,
}


def point(sensor, time=None):
    fields = {"temp": 24.25, "n": 5, "on": True, "note": "text"}
    point = {"measurement": "plant", "tags": {"sensor": sensor}, "fields": fields}
    return point if time is None else point | {"time": time}


def values(client, prefix):
    for precision, time in PRECISIONS.items():
        sent = client.write_points(
            [point(f"{prefix}-{precision}", time)],
            time_precision=precision,
            retention_policy="autogen",
            consistency="any",
        )
        assert sent is True
    client.write_points([point(f"{prefix}-text", "2026-05-01T10:00:00Z")])
    client.write_points([point(f"{prefix}-untimed")])
    many = [point(f"{prefix}-many", SECONDS + n) for n in range(1000)]
    client.write_points(many, time_precision="s", batch_size=300)


def surroundings(client):
    client.create_database("plant")
    told = {"ping": client.ping(), "databases": client.get_list_database()}
    print(json.dumps(told))
    try:
        client.query("SELECT mean(temp) FROM plant GROUP BY time(1h)")
    except InfluxDBClientError as error:
        print(json.dumps({"code": error.code, "content": json.loads(error.content)}))


def fault(client, prefix):
    lines = [f"plant,sensor={prefix}-part temp=24.25 {SECONDS}", f"plant,sensor={prefix}-part temp=NaN 1"]
    try:
        client.write_points(lines, time_precision="s", protocol="line")
    except InfluxDBClientError as error:
        print(json.dumps({"code": error.code, "content": json.loads(error.content)}))


def unavailable(client, prefix):
    """This client leaves it to its user to try again after a 503."""
    points = [point(f"{prefix}-again", SECONDS)]
    while True:
        try:
            client.write_points(points, time_precision="s")
            break
        except InfluxDBServerError as error:
            print(json.dumps(json.loads(error.args[0])))
            # The test says when there is room again.
            sys.stdin.readline()
    print("written")


def main():
    host, port, what, prefix = sys.argv[1:]
    if what == "udp":
        client = InfluxDBClient(host=host, use_udp=True, udp_port=int(port))
        for time, number in ((SECONDS, 0), (SECONDS + 1, 1)):
            client.write_points([point(f"{prefix}-udp{number}", time * 10**9)])
        return
    client = InfluxDBClient(host=host, port=int(port), database="plant", gzip=what == "gzip")
    match what:
        case "values" | "gzip":
            values(client, prefix)
        case "surroundings":
            surroundings(client)
        case "fault":
            fault(client, prefix)
        case "unavailable":
            unavailable(client, prefix)
    client.close()


main()
