"""Reads a page of metrics from standard input as Prometheus does and prints
each family as a line of JSON: name, type, help, samples (name and labels)."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    samples = [[sample.name, sample.labels] for sample in family.samples]
    print(
        json.dumps(
            {
                "name": family.name,
                "type": family.type,
                "help": family.documentation,
                "samples": samples,
            }
        )
    )
