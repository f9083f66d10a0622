"""InfluxDB's own client of version 2, as its users write with it.

Arguments: the address, what to do, and a prefix of the sensors' ids."""

import json
import sys
from datetime import datetime, timezone

from influxdb_client import InfluxDBClient, Point, WriteOptions, WritePrecision
from influxdb_client.client.write.retry import WritesRetry
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException

TEN = datetime(2026, 5, 1, 10, tzinfo=timezone.utc)
SECONDS = 1777629600
PRECISIONS = {
    WritePrecision.NS: 10**9,
    WritePrecision.US: 10**6,
    WritePrecision.MS: 10**3,
    WritePrecision.S: 1,
}


def point(sensor, value=24.25):
    return Point("plant").tag("sensor", sensor).field("temp", value)


def values(client, prefix):
    """Every precision, every kind of record, and a point without a time."""
    api = client.write_api(write_options=SYNCHRONOUS)
    for precision, factor in PRECISIONS.items():
        record = point(f"{prefix}-{precision}").time(SECONDS * factor, precision)
        api.write(bucket="plant", record=record, write_precision=precision)
    api.write(bucket="plant", record=point(f"{prefix}-datetime").time(TEN))
    api.write(bucket="plant", record=point(f"{prefix}-untimed"))
    api.write(bucket="plant", record=f"plant,sensor={prefix}-line temp=24.25 {SECONDS}000000000")
    fields = {"temp": 24.25, "n": 5, "on": True, "note": "text"}
    record = {"measurement": "plant", "tags": {"sensor": f"{prefix}-dict"}, "fields": fields, "time": TEN}
    api.write(bucket="plant", record=[record])
    api.write(bucket="plant", record=[])


def batches(client, prefix):
    """1,000 points in batches of 300, from a thread of the client."""
    faults = []
    written = []
    options = WriteOptions(batch_size=300, flush_interval=60_000, max_retries=0)
    with client.write_api(
        write_options=options,
        success_callback=lambda conf, data: written.append(data.count(b"\n") + 1),
        error_callback=lambda conf, data, error: faults.append(str(error)),
    ) as api:
        for n in range(1000):
            record = point(f"{prefix}-batched", n / 8).time(SECONDS + n, WritePrecision.S)
            api.write(bucket="plant", record=record, write_precision=WritePrecision.S)
    print(json.dumps({"written": sorted(written), "faults": faults}))


def surroundings(client):
    health = client.health()
    told = {
        "ping": client.ping(),
        "version": client.version(),
        "build": client.build(),
        "health": [health.name, health.status, health.message, health.version],
        "checks": [[check.name, check.status] for check in health.checks],
    }
    print(json.dumps(told))


def fault(client, prefix):
    """A partial write: what the exception says."""
    lines = [f"plant,sensor={prefix}-part temp=24.25 {SECONDS}", f"plant,sensor={prefix}-part temp=NaN 1"]
    try:
        client.write_api(write_options=SYNCHRONOUS).write(
            bucket="plant", record=lines, write_precision=WritePrecision.S
        )
    except ApiException as error:
        print(json.dumps({"status": error.status, "message": error.message}))


def unavailable(address, prefix):
    """Once without a second try, then with some."""
    record = point(f"{prefix}-again").time(TEN)
    with InfluxDBClient(url=address, token="t", org="acme", retries=False) as client:
        try:
            client.write_api(write_options=SYNCHRONOUS).write(bucket="plant", record=record)
        except ApiException as error:
            told = {"status": error.status, "retry_after": error.retry_after, "message": error.message}
            print(json.dumps(told))
    retries = WritesRetry(
        total=5, retry_interval=1, retry_callback=lambda error: print("again"), allowed_methods=["POST"]
    )
    with InfluxDBClient(url=address, token="t", org="acme", retries=retries) as client:
        client.write_api(write_options=SYNCHRONOUS).write(bucket="plant", record=record)
    print("written")


def main():
    address, what, prefix = sys.argv[1:]
    if what == "unavailable":
        unavailable(address, prefix)
        return
    with InfluxDBClient(url=address, token="t", org="acme", enable_gzip=what == "gzip") as client:
        match what:
            case "values" | "gzip":
                values(client, prefix)
            case "batches":
                batches(client, prefix)
            case "surroundings":
                surroundings(client)
            case "fault":
                fault(client, prefix)


main()
