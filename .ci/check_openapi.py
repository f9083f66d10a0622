"""Checks docs/openapi.json by the schema of OpenAPI 3.1. That it is the interface as
it is, the tests check. Needs what .ci/requirements.txt lists."""

import json
import pathlib

from openapi_spec_validator import OpenAPIV31SpecValidator

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    OpenAPIV31SpecValidator(document).validate()
    print("docs/openapi.json is right by schema")


if __name__ == "__main__":
    main()
