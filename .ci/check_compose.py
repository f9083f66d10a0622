"""Checks docker-compose.yml by the schema of compose files, and the relations in it
that the schema cannot know. Needs what .ci/requirements.txt lists."""

import importlib.metadata
import json
import pathlib

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compose_schema():
    files = importlib.metadata.files("docker-compose")
    [schema] = [file for file in files if file.name == "compose_spec.json"]
    return json.loads(schema.read_text())


def option(service, name):
    [value] = [
        argument.removeprefix(f"--{name}=")
        for argument in service["command"]
        if argument.startswith(f"--{name}=")
    ]
    return value


def main():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    jsonschema.validate(compose, compose_schema())
    services = compose["services"]

    for name, service in services.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} publishes {port} beyond this machine"
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            there = (ROOT / source).exists() if source.startswith(".") else source in compose["volumes"]
            assert there, f"{name} mounts {source}, which is not there"
        for other in service.get("depends_on", {}):
            assert "healthcheck" in services[other], f"{name} waits for {other}, which has no healthcheck"

    hourglass, mongo = services["hourglass"], services["mongo"]
    port = option(hourglass, "listen").rpartition(":")[2]
    assert any(published.endswith(f":{port}") for published in hourglass["ports"])
    data = option(hourglass, "data-dir")
    assert any(mount.endswith(f":{data}") for mount in hourglass["volumes"]), "data is not on a volume"

    host, _, rest = option(hourglass, "store").removeprefix("mongodb://").partition("/")
    replica_set = rest.partition("replicaSet=")[2]
    assert host.partition(":")[0] in services, f"no service {host}"
    assert replica_set in mongo["command"], f"mongod does not start as replica set {replica_set}"
    initiation = mongo["healthcheck"]["test"][-1]
    assert f'"{replica_set}"' in initiation and f'"{host}"' in initiation

    prometheus = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
    [job] = prometheus["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"hourglass:{port}"]}]
    assert job["metrics_path"] == "/metrics"
    print("docker-compose.yml is right by schema, and its services fit each other")


if __name__ == "__main__":
    main()
